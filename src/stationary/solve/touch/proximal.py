"""The law of one step where an active set goes in circles: Newton's method, and proximal points.

Every contact and rub projects what its impulse and its rate say together onto Coulomb's cone (P.
Alart & A. Curnier, Comput. Methods Appl. Mech. Engrg. 92 (1991) 353). Newton's steps go as far as
projections take back less. Where they get stuck rows give way to changes of their impulses, and
less with every point that is found (R. T. Rockafellar, SIAM J. Control Optim. 14 (1976) 877).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stationary.solve.newton import shortened
from stationary.solve.touch.step_law import GIVE, SLIDE, STICK, Guess, Law, of_guess, slips_of

# Newton's steps for one point, if rows do not give way and if they do, and points.
_FIRM, _SOFT, _POINTS = 10, 15, 40

# How far the first rows give way, of what they answer; by how much less after a point that is
# found, and more after one that is not; and within what.
_FIRST, _LESS, _MORE, _LEAST, _MOST = 1e-2, 0.1, 30.0, 1e-8, 10.0

# A point is found where so much of what the one before missed is left.
_NEAR = 1e-2

# The shortest part of a step that is tried, and how many steps before may have missed less.
_SHORTEST, _MEMORY = 0.5**8, 5


@dataclass(frozen=True, eq=False)
class _Point:
    """Velocities, impulses, what is seen there, and what projections take back, of each row."""

    v: np.ndarray
    z: np.ndarray
    shown: Guess
    off: np.ndarray

    @property
    def size(self) -> float:
        return float(np.linalg.norm(self.off))


def followed(
    law: Law, v: np.ndarray, z: np.ndarray, weights: np.ndarray, close: float
) -> tuple[np.ndarray, np.ndarray, Guess] | None:
    """Return velocities, impulses and the set, if the law is met within `close` velocities."""
    point, give = _seen(law, v, z, weights, 0.0, z), 0.0
    for _ in range(_POINTS):
        left = np.abs(point.off).max()
        if left <= close:
            return _clean(law, point, weights, close)
        new, missed = _newton(law, point, weights, give, max(close / 10, 0.1 * _NEAR * left))
        if missed <= max(close / 10, _NEAR * left):
            point = _seen(law, new.v, new.z, weights, 0.0, new.z)
            give = max(_LESS * give, _LEAST) if give else 0.0
        else:
            give = min(_MORE * give, _MOST) if give else _FIRST
    return None


def _clean(
    law: Law, point: _Point, weights: np.ndarray, close: float
) -> tuple[np.ndarray, np.ndarray, Guess] | None:
    """Return what the set that is seen says by itself, if that is as good."""
    try:
        v, z = of_guess(law, point.shown, GIVE * weights, law.c)
    except np.linalg.LinAlgError:
        return point.v, point.z, point.shown
    clean = _seen(law, v, z, weights, 0.0, z)
    best = clean if np.abs(clean.off).max() <= close else point
    return best.v, best.z, best.shown


def _newton(
    law: Law, start: _Point, weights: np.ndarray, give: float, close: float
) -> tuple[_Point, float]:
    """Return a point near the start and what it misses, with rows that give way to changes."""
    last = start.z
    c = law.c - give * weights * last
    point = _seen(law, start.v, last, weights, give, last)
    best, sizes = point, [point.size]
    for _ in range(_SOFT if give else _FIRM):
        if np.abs(best.off).max() <= close:
            break
        try:
            v, z = of_guess(law, point.shown, max(give, GIVE) * weights, c)
        except np.linalg.LinAlgError:
            break
        allowed, tried = max(sizes[-_MEMORY:]), []

        def trial(part: float) -> _Point | None:
            tried.append(_seen(law, point.v + part * (v - point.v), point.z + part * (z - point.z),
                               weights, give, last))  # fmt: skip
            return tried[-1] if tried[-1].size < (1 - 1e-4 * part) * allowed else None

        shortened(trial, least=_SHORTEST / 2)
        point = min(tried, key=lambda each: each.size)
        sizes.append(point.size)
        best = point if point.size < best.size else best
    return best, float(np.abs(best.off).max())


def _seen(
    law: Law, v: np.ndarray, z: np.ndarray, weights: np.ndarray, give: float, last: np.ndarray
) -> _Point:
    """Return what projections say of velocities and impulses."""
    w, n = np.maximum(weights, 1e-300), law.normal
    u = law.C @ v + law.c
    if give:
        u = u + give * weights * (z - last)
    off, aim = u.copy(), z - u / w
    closed = aim[n] > 0
    off[n] = w[n] * (z[n] - np.maximum(aim[n], 0.0))
    does, along = np.full(len(law.first), STICK), np.zeros(len(law.c))
    if len(does):
        rows, unit = slips_of(law)
        # Rates of one unit have one weight: it is a length that is projected.
        aim[rows] = z[rows] - u[rows] / w[law.first][unit]
        push = np.where(law.owner >= 0, np.maximum(aim[n[law.owner]], 0.0) if len(n) else 0.0, 1.0)
        limit = law.grip * push
        wide = np.sqrt(np.bincount(unit, aim[rows] ** 2, len(does)))
        does[(wide > limit) | (law.grip <= 0)] = SLIDE
        part = np.minimum(limit / np.maximum(wide, 1e-300), 1.0)
        off[rows] = w[law.first][unit] * (z[rows] - part[unit] * aim[rows])
        along[rows] = -aim[rows] / np.maximum(wide, 1e-300)[unit]
    return _Point(v, z, Guess(closed, does, along), off)
