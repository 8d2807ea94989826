"""What takes the power of a finger: motions that give way to every force of it.

Friction holds a wrench if no motion takes less of it than the wrench gives: the wrenches that a
pressure holds are a convex set, and mix as pressures do. A finger with the velocity u gives the
most that a force inside its cone can, F·u, of those that the pressure holds, whether it sticks or
slides: of a force beyond the cone the edge is left, and along it the part slips away. Turned round,

    power of a pressure = least ⟨|w|⟩ over motions w with F·w(P) ≥ F·u for every F of the cone,

and for a smooth finger the cone is its normal. The motions w have faces: both edges of the cone
give w what they give the finger, and it sticks; or one of them does, and the part slides with the
direction of w.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from stationary.result.least_power import motions
from stationary.solve.linear import ways_across
from stationary.solve.pressure.envelope import field, fields
from stationary.solve.pressure.extremes.climb import even
from stationary.solve.pressure.extremes.polish import Summit
from stationary.solve.pressure.region import Mode, spread_motion
from stationary.solve.pressure.support import Rest

# Shares of the two edges of a cone in forces between them.
_BETWEEN = np.stack([np.linspace(0, 1, 5), np.linspace(1, 0, 5)], axis=1)

End = tuple[Mode, Summit]


@dataclass(frozen=True)
class Finger:
    """The motions w that take the power of a finger, F·w(P) ≥ F·u, and their faces.

    Attributes
    ----------
    every : Mode
        All of them, or a plane or a line where nothing is rough.
    faces : tuple of Mode
        Where the least of them is: two to slide on, unless one takes power from the part, and the
        one that sticks.
    rows, rates : ndarray
        rows @ w ≥ rates: the edges of the cone, in the order of faces that slide.
    """

    every: Mode
    faces: tuple[Mode, ...]
    rows: np.ndarray
    rates: np.ndarray

    @staticmethod
    def of(modes: list[Mode]) -> Finger:
        """Return what the modes of a finger say together."""
        if len(modes) == 1:
            return Finger(modes[0], tuple(modes), np.zeros((0, 3)), np.zeros(0))
        stuck, *slide = modes
        faces, rows = [], np.zeros((0, 3))
        for mode in slide:
            assert mode.force is not None
            rows = np.vstack([rows, mode.force])
            # A finger that would take power from the part by sliding does not slide to that side.
            if mode.gives > 0:
                unit = mode.force * (mode.gives / (mode.force @ mode.force))
                drives = mode.normal, float(mode.normal @ mode.base)
                faces.append(replace(mode, base=unit, free=ways_across(mode.force), drives=drives))
        every = Mode("every", stuck.base, np.eye(3))
        return Finger(every, (*faces, stuck), rows, rows @ stuck.base)

    @cached_property
    def span(self) -> np.ndarray:
        """Directions that are as long as each other, of which the motions are sums, (3, n)."""
        return np.linalg.qr(np.column_stack([self.every.base, self.every.free])[:, :3])[0]

    @cached_property
    def forces(self) -> tuple[np.ndarray, np.ndarray]:
        """Forces F of the finger, edges of its cone and between, and what they give it, F·u."""
        rows, rates = self.rows, self.rates
        if not len(rows):
            base, free = self.every.base, self.every.free
            rows = (base - free @ (np.linalg.pinv(free) @ base))[None]
            rates = rows @ base
        elif len(rows) == 2:
            rows, rates = _BETWEEN @ rows, _BETWEEN @ rates
        return rows[rates > 0], rates[rates > 0]

    def speeds(self, twists: np.ndarray) -> np.ndarray:
        """Return by how much motions are faster where they give way: infinite if none does."""
        rows, rates = (self.rows, self.rates) if len(self.rows) else self.forces
        gives = twists @ rows.T
        with np.errstate(divide="ignore", invalid="ignore"):
            speeds = np.where(gives > 0, rates / gives, np.inf).max(
                axis=1, initial=0.0, where=rates > 0
            )
        short = np.any((speeds[:, None] * gives < rates * (1 + 1e-12)) & (rates <= 0), axis=1)
        return np.where(short, np.inf, speeds)

    def start(self, rest: Rest) -> np.ndarray:
        """Return one of the motions, off all faces."""
        mode = self.faces[-1]
        if mode.force is not None and mode.free.shape[1] == 2:
            return even(rest, mode)
        twist = spread_motion(rest, replace(mode, cone=()))
        if not len(self.rows):
            return twist
        # The motion that both edges of the cone give the same goes into the part.
        return twist + np.linalg.lstsq(self.rows, np.abs(self.rates).max() + 0 * self.rates)[0]


def keeps(mode: Mode, twists: np.ndarray) -> np.ndarray:
    """Tell which motions on a face slip to its side: no other edge of the cone gives them less."""
    return np.ones(len(twists), dtype=bool) if mode.guard is None else twists @ mode.guard >= 0


def slowest(
    finger: Finger, points: np.ndarray, loads: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the motions of least power of many pressures, their faces, and the power."""
    count = len(points)
    twists, faces = np.zeros((count, 3)), np.zeros(count, dtype=int)
    least = np.full(count, np.inf)
    for k, mode in enumerate(finger.faces):
        free = np.broadcast_to(mode.free, (count, *mode.free.shape))
        z, _ = motions(points, loads, np.tile(mode.base, (count, 1)), free)
        tried = mode.base + z @ mode.free.T
        v = fields(tried, points)
        power = (loads * np.hypot(v[..., 0], v[..., 1])).sum(axis=1)
        better = keeps(mode, tried) & (power < least)
        twists[better], faces[better], least[better] = tried[better], k, power[better]
    return twists, faces, least


def velocities(mode: Mode, points: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return P, Q, p, q of velocities P + p z, Q + q z of points under motions base + free z."""
    P, Q = field(mode.base, points).T
    x, y, (a, b, turn) = *points.T[..., None], mode.free[:, None]
    return P, Q, a - turn * y, b + turn * x


def power_of(summit: Summit) -> float:
    """Return ⟨|v|⟩."""
    v = field(summit.twist, summit.points)
    return float(summit.masses @ np.hypot(v[:, 0], v[:, 1]))
