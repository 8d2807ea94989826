"""What is far and what is rounding, coordinate by coordinate, beside the lengths at work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stationary.solve.sliding.problem.numbers import Problem, largest
from stationary.solve.sliding.problem.question import Place, Question

# A move this much shorter than the lengths at work is none; nor is a way of what rubs.
_ROUNDING, _STILL = 1e-12, 1e-14


@dataclass(frozen=True)
class Measure:
    """How long moves are.

    Attributes
    ----------
    lengths : ndarray
        A move of each coordinate that matters.
    rounding : float
        What is less than this share of them is none.
    """

    lengths: np.ndarray
    rounding: float

    @classmethod
    def of(cls, question: Question, place: Place) -> Measure:
        """Return the measure of a question at a place, where coordinates have their last digits."""
        lengths = question.lengths(place)
        digits = float(np.max(np.spacing(np.abs(place.q)) / lengths, initial=0.0))
        return cls(lengths, max(_ROUNDING, 4 * digits))

    def far(self, move: np.ndarray) -> float:
        """Return how far a move goes, as a share of the lengths."""
        return float(np.max(np.abs(move) / self.lengths, initial=0.0))


@dataclass(frozen=True)
class Units:
    """A way that matters: of each coordinate, friction term, constraint and contact.

    A force that matters is an energy over it: so metres and radians come to the same.
    """

    moves: np.ndarray
    slips: np.ndarray
    rows: np.ndarray
    gaps: np.ndarray

    @classmethod
    def of(cls, place: Place, lengths: np.ndarray) -> Units:
        """Return the ways of a place where coordinates move by their lengths."""
        p, ways = place.problem, []
        for rows in (p.B, p.A, place.normals):
            way = np.asarray(abs(rows) @ lengths).ravel()
            # A row that nothing changes here is measured by the others.
            ways.append(np.where(way > 0, way, way.max(initial=0.0) or 1.0))
        slips = np.maximum.reduceat(ways[0], p.starts) if p.terms else ways[0]
        return cls(lengths, slips, *ways[1:])

    @property
    def all(self) -> tuple[np.ndarray, ...]:
        """The ways of coordinates, friction terms, constraints and contacts."""
        return self.moves, self.slips, self.rows, self.gaps

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


def rests(place: Place, measure: Measure) -> np.ndarray:
    """Return for each friction term a way that is none, by rounding."""
    p = place.problem
    rows = np.asarray(abs(p.B) @ measure.lengths).ravel()
    none = max(_STILL, 1e-2 * measure.rounding) * rows
    return np.maximum.reduceat(none, p.starts) if p.terms else none[:0]
