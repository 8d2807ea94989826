"""What a finger allows: the motions of a part, and a pressure to start from.

A push leaves a part a plane of motions (a smooth finger, one that slides) or a line of them (one
that sticks). A motion belongs to a pressure if friction balances it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import ConvexHull

from stationary.result.least_power import motions
from stationary.solve.linear import extent, ways_across
from stationary.solve.pressure.programs.simplex import solved
from stationary.solve.pressure.support import Rest


@dataclass(frozen=True)
class Mode:
    """One way in which a finger touches: which motions it allows and with which forces.

    Attributes
    ----------
    name : str
    base : ndarray
        One of the motions.
    free : ndarray, shape (3, n)
        How they differ from it.
    force : ndarray
        The wrench of the finger, up to its size; of none where `cone` is given.
    cone : tuple of ndarray
        Twists w with ⟨w·v̂⟩ ≥ 0: the force is inside the cone of friction.
    guard : ndarray or None
        A covector that is not negative on the twists of this mode: the side it slips to.
    gives : float
        The power of a sliding finger for each unit of its normal force.
    drives : tuple, optional
        A covector and its value on all motions, where `base` and `free` are up to a speed.
    """

    name: str
    base: np.ndarray
    free: np.ndarray
    force: np.ndarray | None = None
    cone: tuple[np.ndarray, ...] = ()
    guard: np.ndarray | None = None
    gives: float = 1.0
    drives: tuple[np.ndarray, float] | None = None

    @cached_property
    def normal(self) -> np.ndarray:
        """The covector that vanishes on all differences of motions, where they are a plane."""
        (a, p), (b, q), (c, r) = self.free.tolist()
        return np.array([b * r - c * q, c * p - a * r, a * q - b * p])

    @cached_property
    def lever(self) -> float:
        """How far the push passes by the centre, in sizes of the part."""
        assert self.force is not None
        return abs(float(self.force[2])) / float(np.hypot(self.force[0], self.force[1]))

    def balance(self, way: np.ndarray, twist: np.ndarray) -> np.ndarray:
        """Return the virtual motion along `way` on which the force of the finger does no work."""
        if self.force is None:
            return way
        return way - (self.force @ way) / (self.force @ twist) * twist

    def scaled(self, twist: np.ndarray) -> np.ndarray:
        """Return a motion at the speed at which the finger of this mode drives the part."""
        if self.drives is None:
            return twist
        row, rate = self.drives
        return twist * (rate / (row @ twist))

    def allows(self, twist: np.ndarray) -> bool:
        """Tell whether it slips to the right side, and the finger's force does not pull."""
        if self.force is not None and not self.force @ twist > 0:
            return False
        return self.guard is None or bool(self.guard @ twist >= -1e-10)


def spread_motion(rest: Rest, mode: Mode) -> np.ndarray:
    """Return the motion under a pressure that is spread over the support."""
    points, masses = spread(rest)
    base, free = mode.base, mode.free
    if mode.force is not None and free.shape[1] == 2:
        # The motion of least power for a finger that pushes along its force.
        unit, ways = mode.force / (mode.force @ mode.force), ways_across(mode.force)
        z, _ = motions(points, masses, unit[None], ways[None])
        twist = unit + ways @ z[0]
        row = np.cross(*free.T)
        return twist * ((row @ base) / (row @ twist))
    z, _ = motions(points, masses, base[None], free[None])
    return base + free @ z[0]


def hull(points: np.ndarray) -> np.ndarray:
    """Return the corners of the convex hull of points, in order; all of them where it is flat."""
    flat = len(points) < 3 or len(extent(points - points.mean(axis=0))) < 2
    return points if flat else points[ConvexHull(points).vertices]


def spread(rest: Rest) -> tuple[np.ndarray, np.ndarray]:
    """Return a pressure over all of the support with its resultant at the centre."""
    points = rest.corners if rest.feet else rest.columns
    # Nearest to even: weights 1/n + a·x that are positive, or a mixture of those that are extreme.
    A = np.vstack([np.ones(len(points)), points.T])
    total = np.zeros(len(points))
    rng = np.random.default_rng(0)
    b = np.array([1.0, 0.0, 0.0])
    for _ in range(8):
        vertex = solved(A, b, rng.normal(size=len(points)))
        held = vertex.basis < len(points)
        total[vertex.basis[held]] += vertex.amounts[held]
    return points, total / total.sum()
