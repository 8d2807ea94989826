"""The border of what pressures allow: rays from one motion, all at once.

Along a ray in the plane of motions the program min ⟨way·v̂⟩ with ⟨other·v̂⟩ = 0 is negative while
some pressure goes further, and positive beyond the end of the set.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import ConvexHull

from stationary.solve.pressure.programs import Answers, Programs
from stationary.solve.pressure.region import Mode

_HALVES = 18
_FAR = 1e6
# Rays that the hull of all ends exceeds by this factor are followed further, in so many samples and
# halvings; the hull is that of ends cut off at so many usual ones.
_NOTCH, _TRIED, _FINE, _LONG = 1.03, 3, 12, 1e3


class Border:
    """Where the motions of a mode end, seen from one of them."""

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
        if rounds:
            return self.programs.refined(twists, way, other, rounds=rounds)
        return self.programs.least(twists, way, other, near)

    def reach(self, angles: np.ndarray) -> np.ndarray:
        """Return how far the set goes along rays."""
        low, high = np.zeros(len(angles)), np.full(len(angles), 0.5)
        near = None
        for _ in range(40):
            answers = self._ask(angles, high, near)
            near = answers.basis
            inside = (answers.value < 0) & (high < _FAR)
            if not inside.any():
                break
            low, high = np.where(inside, high, low), np.where(inside, 2 * high, high)
        for _ in range(_HALVES):
            middle = (low + high) / 2
            answers = self._ask(angles, middle, near)
            near, inside = answers.basis, answers.value < 0
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        # Columns that move reach a little further.
        a, b = low, high + 2e-2 * (high + 1e-3)
        good, root = np.zeros(len(angles), dtype=bool), low
        for _ in range(2):
            tried = a + (b - a) * np.array([[0.0], [0.33], [0.67], [1.0]])
            count = len(tried)
            answers = self._ask(np.tile(angles, count), tried.ravel(), rounds=4)
            h = answers.value.reshape(count, -1)
            last = np.where(h < 0, np.arange(count)[:, None], -1).max(axis=0)
            last = np.clip(last, 0, count - 2)
            each = np.arange(len(angles))
            x, y = tried[last, each], tried[last + 1, each]
            f, g = h[last, each], h[last + 1, each]
            good = (f < 0) & (g > 0) & (g < 10)
            share = np.where(good, -f / np.where(good, g - f, 1.0), 0.0)
            root, wide = x + share * (y - x), (y - x) / 8
            a, b = np.where(good, np.maximum(root - wide, x), x), np.where(good, root + wide, y)
        return self._farther(angles, np.where(good, root, a))

    def _farther(self, angles: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Return how far rays go that end before their neighbours' ends, seen from outside.

        Where a centre of rotation crosses the border of the part, columns that stand still miss
        pressures: a ray may seem to end there. Further out columns that move decide.
        """
        ways = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        size = float(np.median(reach))
        if len(angles) < 4 or not size > 0:
            return reach
        sides = ConvexHull(np.minimum(reach, _LONG * size)[:, None] * ways).equations
        out = sides[:, :2] @ ways.T
        with np.errstate(divide="ignore"):
            far = np.where(out > 0, -sides[:, 2:] / out, np.inf).min(axis=0)
        short = np.flatnonzero(far > _NOTCH * reach)
        if not len(short):
            return reach
        a, b = reach[short], 1.02 * far[short]
        tried = a + (b - a) * np.linspace(0, 1, _TRIED + 1)[1:, None]
        h = self._ask(np.tile(angles[short], _TRIED), tried.ravel(), rounds=4).value
        last = np.where(h.reshape(tried.shape) < 0, np.arange(_TRIED)[:, None], -1).max(axis=0)
        some = last >= 0
        each = np.arange(len(short))[some]
        low = tried[last[some], each]
        high = tried[np.minimum(last[some] + 1, _TRIED - 1), each]
        for _ in range(_FINE if len(each) else 0):
            middle = (low + high) / 2
            inside = self._ask(angles[short][some], middle, rounds=4).value < 0
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        farther = reach.copy()
        farther[short[some]] = low
        return farther

    def motions(self, angles: np.ndarray) -> np.ndarray:
        """Return the motions at the ends of rays."""
        way = np.cos(angles)[:, None] * self.mode.free[:, 0]
        way = way + np.sin(angles)[:, None] * self.mode.free[:, 1]
        return self.start + self.reach(angles)[:, None] * way
