"""Forces that are not unique: of all that do the same, those furthest inside their limits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

# The smallest tolerance that the solver of linear programs takes: not a choice.
_SHARP = 1e-10

# This part of the room that there could be is enough.
_ENOUGH = 0.9

# Tangents of discs that are tried: each leaves a quarter of what the one before left outside.
_CUTS = 40


@dataclass(frozen=True, eq=False)
class Limit:
    """What forces x may be: |z| ≤ `most` + `push` · x with z = `slips` x; without slips z is 0."""

    slips: np.ndarray
    push: np.ndarray
    most: float

    def along(self, way: np.ndarray) -> np.ndarray:
        """Return the limit along one way of the slips: a row, and last what it may be."""
        return np.append(way @ self.slips - self.push, self.most)

    def nearer(self, x: np.ndarray, room: float) -> np.ndarray | None:
        """Return the limit that forces are nearer to than a room, if they are, along their way."""
        z = self.slips @ x
        size = float(np.linalg.norm(z))
        least = _ENOUGH * room if room > 0 else -4 * np.finfo(float).eps * size
        if len(z) < 2 or size == 0 or self.push @ x + self.most - size >= least:
            return None
        return self.along(z / size)


def limits_of(
    choices: Iterable[tuple[Any, Any]], held: list[int], scale: np.ndarray
) -> list[Limit]:
    """Return the limits of forces x of rows that are held, each times the scale of its row."""
    place, limits = {row: k for k, row in enumerate(held)}, []
    forces = np.diag(1 / scale)
    for unit, choice in choices:
        push = np.zeros(len(held))
        if unit.gap is not None and choice.kind != "open":
            push = forces[place[unit.gap]]
            limits.append(Limit(np.zeros((0, len(held))), push * scale[place[unit.gap]], 0.0))
        if choice.kind == "stick":
            rows = [place[row] for row in unit.slips]
            own = scale[rows[0]]
            most = unit.rest * own if unit.gap is None else 0.0
            limits.append(Limit(forces[rows] * own, unit.rest * own * push, most))
    return limits


def furthest_inside(limits: list[Limit], x: np.ndarray, loose: np.ndarray) -> np.ndarray:
    """Return forces that are x but for what is `loose`, as far inside their limits as can be."""
    rows = []
    for limit in limits:
        axes = np.eye(len(limit.slips))
        ways = [*axes, *-axes] if len(axes) else [np.zeros(0)]
        rows += [limit.along(way) for way in ways]
    inside = x
    for _ in range(_CUTS if rows else 0):
        inside, room = _met(np.array(rows), x, loose)
        # In a plane forces have a disc: where they come near to it, its tangent is one more limit.
        cuts = [cut for limit in limits if (cut := limit.nearer(inside, room)) is not None]
        # More limits leave no more room: where there is none, none is found.
        if not cuts or room < -_SHARP * float(np.abs(inside).max()):
            break
        rows += cuts
    return inside


def _met(rows: np.ndarray, x: np.ndarray, loose: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the forces that are furthest inside linear limits, and how far."""
    from scipy.optimize import linprog

    count, size = len(loose), max(float(np.abs(x).max()), 1e-300)
    A = np.hstack([rows[:, :-1] @ loose.T, np.ones((len(rows), 1))])
    known = (rows[:, -1] - rows[:, :-1] @ x) / size
    cost = np.zeros(count + 1)
    cost[-1] = -1.0
    bounds = [(None, None)] * count + [(None, 1.0)]
    sharp = {"primal_feasibility_tolerance": _SHARP, "dual_feasibility_tolerance": _SHARP}
    optimum = linprog(cost, A_ub=A, b_ub=known, bounds=bounds, method="highs", options=sharp)
    if optimum.x is None:
        return x, 0.0
    # The solver meets limits to its own tolerance: those that decide are met to rounding, and so
    # are those that are missed then. One that is near without deciding need not be met.
    best, met = optimum.x, optimum.ineqlin.marginals < 0
    for _ in range(len(rows)):
        best = best + np.linalg.lstsq(A[met], (known - A @ best)[met], rcond=None)[0]
        missed = (A @ best - known > np.finfo(float).eps) & ~met
        if not missed.any():
            break
        met = met | missed
    return x + size * (best[:count] @ loose), size * float(best[-1])
