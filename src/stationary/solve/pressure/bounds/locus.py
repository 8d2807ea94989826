"""The locus: every point that a part can turn about, over all pressures."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

from stationary.solve.pressure.envelope import centre_of
from stationary.solve.pressure.extremes.climb import even_load, moved
from stationary.solve.pressure.extremes.extremes import Extremes
from stationary.solve.pressure.programs.programs import Answers, Programs
from stationary.solve.pressure.region import Mode, spread_motion
from stationary.solve.pressure.support import Rest


def locus_of(scene: Any, count: int, known: Any) -> np.ndarray:
    """Return the border of the locus as a polygon, in sizes of the part, from its centre.

    The set of motions is looked at from one inside, in `count` directions; motions of the plane and
    centres of rotation correspond line by line, so that the polygon is that of the centres.
    """
    centres: list[np.ndarray] = []
    single = len(scene.modes) == 1
    for mode in scene.modes:
        hunt = Extremes(scene.rest, mode)
        if mode.free.shape[1] == 1:
            edges = [hunt.greatest(sign * mode.free[:, 0]) for sign in (-1.0, 1.0)]
            twists = [edge.twist for edge in edges if edge is not None]
        else:
            rays = count if single else max(count // 2, 8)
            angles = np.arange(rays) * (2 * np.pi / rays)
            border = Border(hunt.programs, mode, inner_motion(scene.rest, mode))
            twists = [t for t in border.motions(angles) if mode.allows(t)]
        centres += [q for q in map(centre_of, twists) if q is not None]
    for _, summit in known:
        q = centre_of(summit.twist)
        if q is not None and len(centres) > 2 and single:
            # The extremes are exact: they take their place among their neighbours.
            near = int(np.argmin([np.hypot(*(p - q)) for p in centres]))
            centres.insert(near + 1, q)
    border = np.array(centres)
    if not single and len(border) > 2:
        border = border[ConvexHull(border).vertices]
    return border


# -- rays to the border ----------------------------------------------------------------------------


_FAR = 1e6
# What rests is held in any direction: columns of as many as tell an end to half a percent.
_TURN = np.arange(32) * (np.pi / 16)
_AROUND = np.stack([np.cos(_TURN), np.sin(_TURN)], axis=1)
# Rays are halved, at most so often, until columns tell an end to a part of itself; columns that
# move may reach farther by some more, and so on, by steps that grow.
_HALVES, _NEAR, _MORE, _ONWARD = 18, 4e-3, 2e-2, 20
# How often columns move while an end is enclosed, and while secants, so many at most, lead to it
# until the last one changes it by this part only.
_ROUGH, _FULL, _STEPS, _CLOSE = 2, 4, 10, 3e-5


class Border:
    """Where the motions of a mode end, seen from one of them: rays, all at once.

    Along a ray in the plane of motions the program min ⟨way·v̂⟩ with ⟨other·v̂⟩ = 0 is negative while
    some pressure goes further, and positive beyond the end of the set.
    """

    def __init__(self, programs: Programs, mode: Mode, start: np.ndarray):
        self.programs, self.mode, self.start = programs, mode, start

    def _ask(self, angles: np.ndarray, reach: np.ndarray, near=None, rounds=0) -> Answers:
        c, s = np.cos(angles)[:, None], np.sin(angles)[:, None]
        first, last = self.mode.free.T
        way, other = c * first + s * last, c * last - s * first
        twists = self.start + reach[:, None] * way
        force = self.mode.force
        assert force is not None
        drive = twists @ force
        # A finger that would have to pull does not push: as good as far outside.
        drive = np.where(drive > 0, drive, np.inf)
        way, other = (w - (w @ force / drive)[:, None] * twists for w in (way, other))
        more = self.programs.passing(twists)
        if rounds:
            return self.programs.refined(twists, way, other, rounds=rounds, more=more)
        grips = np.broadcast_to(_AROUND, (len(angles), *_AROUND.shape))
        return self.programs.least(twists, way, other, near, more, grips)

    def reach(self, angles: np.ndarray) -> np.ndarray:
        """Return how far the set goes along rays."""
        low, high = np.zeros(len(angles)), np.full(len(angles), 0.5)
        value, near = np.full(len(angles), -1e-3), None
        for _ in range(40):
            answers = self._ask(angles, high, near)
            near, inside = answers.basis, (answers.value < 0) & (high < _FAR)
            if not inside.any():
                break
            low, value = np.where(inside, high, low), np.where(inside, answers.value, value)
            high = np.where(inside, 2 * high, high)
        for _ in range(_HALVES):
            if np.all(high - low < _NEAR * high):
                break
            middle = (low + high) / 2
            answers = self._ask(angles, middle, near)
            near, inside = answers.basis, answers.value < 0
            low, value = np.where(inside, middle, low), np.where(inside, answers.value, value)
            high = np.where(inside, high, middle)
        # Columns that move reach a little further; secants compare what the same columns say.
        value = np.minimum(value, self._values(angles, low[None])[0])
        ends = self._enclosed(angles, low, value, high - low + _MORE * (high + 1e-3))
        return self._roots(angles, ends)

    def _values(self, angles: np.ndarray, tried: np.ndarray) -> np.ndarray:
        """Return what programs say at reaches (n, rays)."""
        if not tried.size:
            return tried
        answers = self._ask(np.tile(angles, len(tried)), tried.ravel(), rounds=_ROUGH)
        return np.minimum(answers.value.reshape(tried.shape), 1.0)

    def _enclosed(self, angles, low, value, wide) -> np.ndarray:
        """Return ends of rays from reaches inside: reach and value inside, and outside."""
        ends = np.stack([low, value, low, np.ones(len(low))])
        left = np.arange(len(angles))
        for turn in range(_ONWARD):
            if not len(left):
                break
            x, f = ends[:2, left]
            y, z = tried = x + 2**turn * wide[left] * np.array([[0.5], [1.0]])
            g, h = self._values(angles[left], tried)
            goes, half = h < 0, g < 0
            ends[:, left] = np.where(
                goes, [z, h, z, 1 + 0 * z], np.where(half, [y, g, z, h], [x, f, y, g])
            )
            left = left[goes & (z < _FAR)]
        return ends

    def _roots(self, angles: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Return where programs change their sign, by secants and the Illinois rule.

        Values jump where a centre of rotation leaves the part: an end that stays counts half.
        """
        roots = ends[0].copy()
        left = np.flatnonzero(ends[2] > ends[0])
        side = np.zeros(len(angles))
        for _ in range(_STEPS):
            if not len(left):
                break
            x, f, y, g = ends[:, left]
            root = x - f * (y - x) / (g - f)
            h = np.minimum(self._ask(angles[left], root, rounds=_FULL).value, 1.0)
            inside = h < 0
            again = np.where(side[left] == np.where(inside, 1, 2), 0.5, 1.0)
            ends[:, left] = np.where(inside, [root, h, y, g * again], [x, f * again, root, h])
            side[left] = np.where(inside, 1, 2)
            moved = np.abs(root - roots[left])
            roots[left] = root
            left = left[moved > _CLOSE * root]
        return roots

    def motions(self, angles: np.ndarray) -> np.ndarray:
        """Return the motions at the ends of rays."""
        way = np.cos(angles)[:, None] * self.mode.free[:, 0]
        way = way + np.sin(angles)[:, None] * self.mode.free[:, 1]
        return self.start + self.reach(angles)[:, None] * way


def inner_motion(rest: Rest, mode: Mode) -> np.ndarray:
    """Return a motion around which others are possible: that under a pressure of no large atoms.

    Where one atom bears much of the load, the part turns about it: at the border of what it can do.
    """
    twist = moved(*even_load(rest), mode)
    return twist if mode.allows(twist) else spread_motion(rest, mode)
