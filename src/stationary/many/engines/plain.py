"""The reference engine: every run is asked by itself, whatever the verb."""

from __future__ import annotations

from stationary.lower.engines.heyoka import reproducible
from stationary.many.chunk import Chunk, gathered, one
from stationary.many.question import Question


def refuses(question: Question) -> str | None:
    """Take everything."""
    return None


def compute(question: Question, first: int, last: int) -> Chunk:
    """Ask run after run."""
    with reproducible():
        return gathered(question, first, [one(question, run) for run in range(first, last)])
