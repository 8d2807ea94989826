"""What is far and what is rounding, coordinate by coordinate, beside the lengths at work."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from stationary.solve.sliding.problem.numbers import Problem, largest
from stationary.solve.sliding.problem.question import Place, Question

# A move this much shorter than the lengths at work is none; nor is a way of what rubs.
_ROUNDING, _STILL = 1e-12, 1e-14


class Measure:
    """How long moves at a place are, and ways of friction terms, constraints and contacts.

    A force that matters is an energy over a way that matters: so metres and radians come to the
    same.

    Attributes
    ----------
    moves : ndarray
        A move of each coordinate that matters.
    rounding : float
        What is less than this share of them is none.
    """

    def __init__(self, question: Question, place: Place):
        self.place, self.moves = place, question.lengths(place)
        digits = float(np.max(np.spacing(np.abs(place.q)) / self.moves, initial=0.0))
        self.rounding = max(_ROUNDING, 4 * digits)

    def far(self, move: np.ndarray) -> float:
        """Return how far a move goes, as a share of the lengths."""
        return float(np.max(np.abs(move) / self.moves, initial=0.0))

    def _most(self, rows: Any) -> np.ndarray:
        return np.asarray(abs(rows) @ self.moves).ravel()

    def _ways(self, rows: Any) -> np.ndarray:
        # A row that nothing changes here is measured by the others.
        way = self._most(rows)
        return np.where(way > 0, way, way.max(initial=0.0) or 1.0)

    def _of_terms(self, ways: np.ndarray) -> np.ndarray:
        p = self.place.problem
        return np.maximum.reduceat(ways, p.starts) if p.terms else ways

    @cached_property
    def slips(self) -> np.ndarray:
        """A way of each friction term that matters."""
        return self._of_terms(self._ways(self.place.problem.B))

    @cached_property
    def rows(self) -> np.ndarray:
        """A way of each constraint that matters."""
        return self._ways(self.place.problem.A)

    @cached_property
    def gaps(self) -> np.ndarray:
        """A way of each contact that matters."""
        return self._ways(self.place.normals)

    @property
    def rests(self) -> np.ndarray:
        """A way of each friction term that is none, by rounding."""
        return max(_STILL, 1e-2 * self.rounding) * self._of_terms(self._most(self.place.problem.B))

    def energy(self, p: Problem, forces: tuple[np.ndarray, ...]) -> float:
        """Return the size of the energies at work, by forces known so far."""
        y, lam, mu = forces
        limits = (p.power == 0) & (np.ones(p.terms, bool) if p.follows is None else ~p.follows)
        parts = (
            p.f * self.moves, np.where(limits, p.size, 0.0) * self.slips, y * self.slips[p.term],
            lam * self.rows, mu * self.gaps,
        )  # fmt: skip
        energy = max(largest(x) for x in parts)
        return energy or largest(p.size * self.slips ** (p.power + 1)) or 1.0
