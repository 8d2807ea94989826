"""What stands still for good: everything is held, and nothing that holds it changes with time."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from stationary.lower.touching import Touching
from stationary.solve.linear import rank_of
from stationary.solve.motion.ode import Piece
from stationary.solve.touch.at_state import RANK, Facts
from stationary.solve.touch.mode import Mode


def stands(kernel: Touching, look: Callable[[], Facts], mode: Mode, left: float) -> bool:
    """Tell whether a state stays where it is for as long as is left.

    All coordinates are held by constraints, closed contacts and what sticks, and at the rates that
    there are they do not come further than the rounding of where they are.
    """
    fixed = len(kernel.rows)
    rows = [*range(fixed), *(fixed + np.flatnonzero(mode.held)).tolist()]
    if len(rows) < kernel.size or np.any(mode.along) or not _steady(kernel):
        return False
    facts = look()
    if np.any(np.abs(facts.rate[rows]) * left > facts.value_rounding[rows]):
        return False
    size = np.sqrt(np.diag(facts.W)[rows])
    return rank_of(facts.W[np.ix_(rows, rows)] / size / size[:, None], RANK) == len(facts.v)


def at_rest(
    t: float, y: np.ndarray, end: float, energy: Callable[[float, np.ndarray], float]
) -> Piece:
    """Return a piece in which nothing moves: time alone may change the energy, and supplies it."""
    before = energy(t, y)

    def evaluate(times: np.ndarray) -> np.ndarray:
        states = np.tile(y, (len(times), 1))
        # The last two entries are what was supplied, and what friction has taken.
        states[:, -2] += [energy(float(time), y) - before for time in times]
        return states

    return Piece(np.array([t, end]), evaluate, evaluate(np.array([end]))[0], 1, exact=True)


@lru_cache(maxsize=64)
def _steady(kernel: Touching) -> bool:
    """Tell whether what holds a state is the same at all times; what loads it may vary."""
    rows = [kernel.touch.rows]
    if kernel.rows:
        rows.append(kernel.graph.constraints)
    # Arguments are the time, places, velocities, inputs and parameters.
    return not any(f.jac_sparsity(out, given).nnz()
                   for f in rows for out in range(f.n_out()) for given in (0, 3))  # fmt: skip
