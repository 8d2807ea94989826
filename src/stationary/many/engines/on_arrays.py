"""What engines share that ask all runs of a chunk at once, on arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from stationary.errors import StationaryError
from stationary.lower.expressions import expression_of
from stationary.lower.many_places import evaluate
from stationary.many.motions import expressions
from stationary.many.question import Question
from stationary.model.layout import Layout

_Shared = TypeVar("_Shared")

# Fewer runs are asked one by one.
_FEWEST = 64


def shared_or_why(
    make: Callable[[Question], _Shared | str],
) -> Callable[[Question], _Shared | str]:
    """Return what makes, once, what all runs of a question share, or says why it cannot."""

    @lru_cache(maxsize=8)
    def shared(question: Question) -> _Shared | str:
        if len(question.design) < _FEWEST:
            return "there are few runs"
        try:
            return make(question)
        except StationaryError as error:
            return str(error).splitlines()[0]

    return shared


def varied(
    question: Question, layout: Layout, runs: np.ndarray, t: float, *vectors: np.ndarray
) -> list[np.ndarray]:
    """Return t, q, u and p of some runs, one row for each."""
    t_, q, u, p = (np.tile(x, (len(runs), 1)) for x in (np.array([t]), *vectors))
    parameters = [s.name for s in layout.system.parameters]
    inputs = [s.name for s in layout.system.inputs]
    for name, role in question.roles.items():
        rows = question.design.along(name, runs)
        if role == "t":
            t_[:, 0] = rows
        elif role == "params":
            p[:, parameters.index(name)] = rows
        elif role == "inputs":
            u[:, inputs.index(name)] = rows
        else:
            q[:, layout.resolve(name, "over")[0]] = rows
    return [t_, q, u, p]


def kept_expressions(layout: Layout, keep: Any, *at: np.ndarray) -> np.ndarray:
    """Return what is kept of t, q, v and p of all runs."""
    rows = [evaluate(expression_of(layout, e), *at)[:, 0] for e in expressions(keep.what)]
    return np.stack(rows, -1).reshape(-1, *(keep.shape or ()))
