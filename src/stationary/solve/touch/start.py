"""Starts: outside of every body, or moved there by the little that rounded numbers ask for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stationary.errors import StatementError, say
from stationary.solve.touch.facts import Facts

# A start is mended that is inside a body by less than these parts of what its coordinates make of
# the gap, and of the way that they would make.
_TYPED, _WAY = 1e-2, 1e-3

# Newton steps out of a body.
_STEPS = 8


def outside(
    look: Callable[[np.ndarray], Facts], y: np.ndarray, span: float, repair: bool
) -> tuple[np.ndarray, float]:
    """Return a state that is inside no body, and how far it was moved.

    Numbers that were rounded when they were typed leave contacts a little closed: these are opened
    by the smallest move. A start that is further inside is refused.
    """
    facts = look(y)
    _refuse(facts, _near(facts, span) if repair else 0.0)
    n, moved = len(facts.q), 0.0
    shut = facts.value[facts.gaps] < -facts.value_rounding[facts.gaps]
    if not shut.any():
        return y, moved
    rows = [*range(facts.fixed), *(facts.fixed + np.flatnonzero(shut)).tolist()]
    start = y
    for _ in range(_STEPS):
        G, value = facts.C[rows], facts.value[rows]
        lengths = np.linalg.solve(facts.M, G.T)
        step = -lengths @ np.linalg.lstsq(G @ lengths, value, rcond=1e-11)[0]
        y = np.concatenate([y[:n] + step, y[n:]])
        facts = look(y)
        if np.all(np.abs(facts.value[rows]) <= facts.value_rounding[rows]):
            break
    _refuse(facts, 0.0)
    way = y[:n] - start[:n]
    return y, float(np.sqrt(way @ facts.M @ way / 2))


def _near(facts: Facts, span: float) -> np.ndarray:
    """Return how far inside a start may be to be mended."""
    G = np.abs(facts.C[facts.gaps])
    way = np.abs(facts.v) * span + np.abs(facts.free) * span**2
    return np.minimum(_TYPED * (G @ np.abs(facts.q)), _WAY * (G @ way))


def _refuse(facts: Facts, near: np.ndarray | float) -> None:
    """Refuse a start inside a body."""
    value = facts.value[facts.gaps]
    deep = np.flatnonzero(value < -np.maximum(facts.value_rounding[facts.gaps], near))
    if len(deep):
        i = int(deep[np.argmin(value[deep])])
        raise StatementError(
            say(
                f"the start is inside a body: contact '{facts.touch.names[i]}' is closed too far.",
                f"Found a gap of {value[i]:.6g}, expected zero or more.",
                "Start where every gap is open, or just closed.",
            )
        )
