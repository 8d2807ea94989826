"""Which of many motions take about as many steps: those are moved side by side."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from stationary.many.motions import Motions
from stationary.many.observations import energies

# As they come; by their energy; or near each other in all that varies.
_GIVEN, _ENERGY, NEAR = "given", "energy", "near"

# Groups of motions, at least, that tell which way is the best.
_ENOUGH = 32


class Order:
    """Some motions, of which those that are `sound` are put in order."""

    def __init__(
        self, motions: Motions, span: np.ndarray, y: np.ndarray, p: np.ndarray, sound: np.ndarray,
        width: int,
    ):  # fmt: skip
        self._motions, self._width, self._runs = motions, width, np.flatnonzero(sound)
        self._span, self._y, self._p = span[sound], y[sound], p[sound]

    def by(self, way: str) -> np.ndarray:
        """Return them in one of the orders."""
        if way == _GIVEN or len(self._runs) <= self._width:
            return self._runs
        energy = np.nan_to_num(energies(self._motions, self._span[:, 0], self._y, self._p))
        if way == _ENERGY:
            return self._runs[np.argsort(energy, kind="stable")]
        every = np.column_stack([self._y, self._p, self._span, energy]) / 2
        low, high = every.min(axis=0), every.max(axis=0)
        varies = high > low
        if not varies.any():
            return self._runs
        shares = (every - low)[:, varies] / (high - low)[varies]
        return self._runs[cKDTree(shares, leafsize=self._width).indices]

    def best(self, steps: np.ndarray) -> str | None:
        """Return the order in which fewest steps would have been taken, if they are enough."""
        count = len(self._runs) // self._width
        if count < _ENOUGH:
            return None

        def taken(way: str) -> int:
            order = self.by(way)[: count * self._width]
            return int(steps[order].reshape(count, -1).max(axis=1).sum())

        return min((NEAR, _ENERGY, _GIVEN), key=taken)
