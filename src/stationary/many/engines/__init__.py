"""What computes chunks: engines, each a file, found by a registry.

An engine says why it cannot take a question, if so, and computes consecutive runs of one it takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from stationary.many.chunk import Chunk
from stationary.many.engines import batches, compiled, cuda, plain, rests, slides
from stationary.many.question import Question


class Engine(Protocol):
    """A module that computes chunks."""

    def refuses(self, question: Question) -> str | None:
        """Say why it cannot take a question, or nothing."""
        ...

    def compute(self, question: Question, first: int, last: int) -> Chunk:
        """Compute the runs from the first to the last, the last one not included."""
        ...


#: Engines by name, those that are faster first.
ENGINES: dict[str, Engine] = {
    "batches": batches,
    "compiled": compiled,
    "rests": rests,
    "slides": slides,
    "plain": plain,
}  # pyright: ignore[reportAssignmentType]

#: Engines that are used when they are named.
NAMED: dict[str, Engine] = {"cuda": cuda}  # pyright: ignore[reportAssignmentType]


# What takes many runs of a verb together.
_TOGETHER = {
    "simulate": batches, "statics": rests, "minimum_power": slides, "minimum_dissipation": slides,
}  # fmt: skip


def why_alone(question: Question) -> str:
    """Tell why runs are asked one by one, where there is something faster for others."""
    faster = _TOGETHER.get(question.verb)
    return (faster and faster.refuses(question)) or ""


def compute(question: Question, engine: str, first: int, last: int) -> Chunk:
    """Compute a chunk on an engine."""
    return (ENGINES | NAMED)[engine].compute(question, first, last)


def chunks(question: Question, engine: str, todo: Sequence[tuple[int, int]]) -> Iterator[Chunk]:
    """Compute chunk after chunk, and the next ones meanwhile where an engine does so."""
    overlapped = getattr(ENGINES.get(engine), "chunks", None)
    if overlapped is not None:
        yield from overlapped(question, todo)
        return
    for first, last in todo:
        yield compute(question, engine, first, last)


def fastest(question: Question) -> str:
    """Return the first engine that takes a question."""
    return next(name for name, engine in ENGINES.items() if engine.refuses(question) is None)
