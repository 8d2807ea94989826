"""What is known of loads before any push: what they sum up to, and where their resultant is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog, nnls

from stationary.solve.linear import null_rows

_ROUNDS = 6


@dataclass(frozen=True)
class Stated:
    """Rows that loads keep to: ``rows @ load = right``."""

    rows: np.ndarray
    right: np.ndarray

    @staticmethod
    def of(count: int, weight: float | None, moments: np.ndarray | None) -> Stated:
        """Return the rows of a weight, and of moments about the centre that are zero together."""
        rows, right = np.zeros((0, count)), np.zeros(0)
        if weight is not None:
            rows, right = np.ones((1, count)), np.array([weight])
        if moments is not None:
            rows, right = np.vstack([rows, moments.T]), np.append(right, np.zeros(2))
        return Stated(rows, right)

    def ways(self, columns: int) -> np.ndarray:
        """Return the changes of the unknowns that keep to it, one per column."""
        if not len(self.rows):
            return np.eye(columns)
        rows = np.pad(self.rows, ((0, 0), (0, columns - self.rows.shape[1])))
        return null_rows(rows, 1e-10).T

    def kept(self, load: np.ndarray, held: int | None = None) -> np.ndarray:
        """Return loads nearby that keep to it, shares of loads changed, all but one that is held.

        Where shares do not do, as where a load of zero must grow, the nearest positive ones.
        """
        if not len(self.rows):
            return load
        load, free = load.copy(), np.arange(len(load)) != held
        right = self.right - (0.0 if held is None else self.rows[:, held] * load[held])
        size = max(float(np.abs(self.right).max()), float(load.sum()))
        rows = self.rows[:, free]
        inner = load[free]
        for _ in range(_ROUNDS):
            gap = right - rows @ inner
            if np.abs(gap).max() <= 1e-14 * size:
                break
            share = np.linalg.pinv((rows * inner) @ rows.T, rcond=1e-12, hermitian=True) @ gap
            inner = np.maximum(inner * (1 + rows.T @ share), 0.0)
        if np.abs(right - rows @ inner).max() > 1e-9 * size:
            inner, _ = nnls(
                np.vstack([np.eye(len(inner)), 1e5 * rows]),
                np.concatenate([load[free], 1e5 * right]) / size,
            )
            inner = inner * size
        load[free] = inner
        return load

    def room(self, load: np.ndarray, k: int, way: float) -> float:
        """Return how far load k can go one way: the others make up for it."""
        if len(self.rows) > 1:
            cost = -way * (np.arange(len(load)) == k)
            size = float(load.sum())
            answer = linprog(cost, A_eq=self.rows, b_eq=self.right / size, method="highs")
            if answer.status == 0:
                return max(way * (answer.x[k] * size - load[k]), 0.0)
        if way < 0:
            return float(load[k])
        return (float(self.right.max(initial=0.0)) or np.inf) - float(load[k])
