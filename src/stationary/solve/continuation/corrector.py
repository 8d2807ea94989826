"""Onto a curve and along it: the corrector of Newton's method and the tangent."""

from __future__ import annotations

from abc import ABC

import numpy as np
from scipy.linalg import svd

from stationary.solve.continuation.equilibrium_curve import AbstractCurve
from stationary.solve.linear import null_rows
from stationary.solve.newton import Ending, iterated

# The first step, in the scaled variables.
FIRST = 1e-3

# Where equations change by less than this, beside the most, a place does not stand alone.
ALONE = 1e-10

# Newton's steps inside a corrector, and how short they are where they are exact.
MOST_CORRECTIONS, _CLOSE = 8, 1e-9


class AbstractCorrector(ABC):
    """A curve, and directions in which all of it can be moved, one per row."""

    curve: AbstractCurve
    free: np.ndarray

    def families(
        self, w: np.ndarray, tangent: np.ndarray, beside: np.ndarray | None = None
    ) -> np.ndarray:
        """Return directions in which a branch can be moved and still rests, one per row.

        They are null directions a little further along it, too: at a crossing there are more.
        `beside` it all that is alone has been told from rounding.
        """
        rtol, w = (1e-9, w) if beside is None else (ALONE, beside)

        def step(place: np.ndarray) -> np.ndarray:
            F, J = self.curve.values(place)
            K = np.vstack([J, tangent])
            return place - np.linalg.lstsq(K, np.append(F, 0.0), rcond=1e-10)[0]

        place, _, _ = iterated(w + 10 * FIRST * tangent, step, most=MOST_CORRECTIONS)
        _, J = self.curve.values(place)
        plane = null_rows(J, rtol)
        if len(plane) < 2:
            return np.empty((0, len(w)))
        # What is left of the null space without the branch itself.
        ahead = plane.T @ (plane @ tangent)
        return np.array(without(plane, ahead / np.linalg.norm(ahead)))

    def bordered(self, J: np.ndarray, tangent: np.ndarray) -> np.ndarray:
        """Border J with the tangent and with free directions: regular at folds and in families."""
        f = len(self.free)
        if not f:
            return np.vstack([J, tangent])
        right = np.vstack([self.free.T[:-1] * 1.0, np.zeros((1 + f, f))])[: len(J) + 1 + f]
        left = np.vstack([J, tangent, self.free])
        return np.hstack([left, right])

    def solved(
        self, J: np.ndarray, tangent: np.ndarray, known: np.ndarray, least: bool = False
    ) -> np.ndarray | None:
        """Solve the bordered system; where it is singular, return the least solution or None."""
        K, known = self.bordered(J, tangent), np.append(known, np.zeros(len(self.free)))
        try:
            solution = np.linalg.solve(K, known)
        except np.linalg.LinAlgError:
            if not least:
                return None
            solution = np.linalg.lstsq(K, known, rcond=1e-12)[0]
        return solution[: len(tangent)] if np.all(np.isfinite(solution)) else None

    def correct(self, z: np.ndarray, tangent: np.ndarray) -> tuple[np.ndarray, int] | None:
        """Newton's method onto the curve, in the plane across the tangent."""
        anchor = z

        def step(z: np.ndarray) -> np.ndarray | None:
            F, J = self.curve.values(z)
            if not (np.all(np.isfinite(F)) and np.all(np.isfinite(J))):
                return None
            # Border with the tangent: at a fold ∂F/∂(q, λ) is singular, the bordered matrix is not.
            # Straight ahead of a point where several branches begin it may be.
            move = self.solved(J, tangent, -np.append(F, tangent @ (z - anchor)), least=True)
            return None if move is None else z + move

        sizes = [np.inf]

        def settled(z: np.ndarray, move: np.ndarray) -> bool:
            sizes.append(float(np.linalg.norm(move)))
            # So near, or where nothing is left, Newton's steps become far shorter, or are rounding.
            near = sizes[-2] < _CLOSE or self.curve.missed(z) <= 16 * np.spacing(np.abs(z).max())
            return ended(z, move) or near and sizes[-1] > sizes[-2] / 4

        z, count, ending = iterated(z, step, settled, most=MOST_CORRECTIONS)
        good = ending is not Ending.STALLED and (sizes[-1] <= 1e-13 or self.on_curve(z))
        return (z, count) if good else None

    def on_curve(self, z: np.ndarray) -> bool:
        """Tell whether a place is on the curve, as exactly as rounding lets."""
        return self.curve.missed(z) <= 1e-10 + 64 * np.spacing(np.abs(z).max())

    def tangent(self, z: np.ndarray, before: np.ndarray | None) -> np.ndarray:
        """Return the unit tangent of the curve, in the direction of the one before."""
        _, J = self.curve.values(z)
        if before is not None and not np.all(np.isfinite(J)):
            return before
        if before is None:
            # At a branch point there is a plane of directions: take that of the parameter.
            plane = null_rows(np.vstack([J, self.free]), 1e-9, least=1)
            along = plane[-1]
            if len(plane) > 1 and max(map(slope_of, plane)) > 1e-6:
                along = plane.T @ plane[:, -1]
                along /= np.linalg.norm(along)
            return along if along[-1] >= 0 else -along
        along = self.solved(J, before, np.append(np.zeros(len(J)), 1.0))
        if along is None:
            along = null_rows(np.vstack([J, self.free]), 0.0, least=1)[0]
        along = along / np.linalg.norm(along)
        return along if along @ before >= 0 else -along

    def crossing(self, z: np.ndarray, tangent: np.ndarray) -> float:
        """Return a number that changes sign where another branch crosses: det of the border."""
        _, J = self.curve.values(z)
        sign, size = np.linalg.slogdet(self.bordered(J, tangent))
        # The root keeps the zero and the sign, and tames the size.
        return float(sign * np.exp(np.clip(size / len(tangent), -200, 200)))


def ended(z: np.ndarray, move: np.ndarray) -> bool:
    """Tell whether a step is one of last digits: of the scaled variables, or of where they are."""
    return bool(np.all(np.abs(move) <= 1e-13 + 4 * np.spacing(np.abs(z))))


def slope_of(direction: np.ndarray) -> float:
    """Return which share of a direction is along the parameter."""
    return float(abs(direction[-1]) / np.linalg.norm(direction))


def without(plane: np.ndarray, along: np.ndarray) -> list[np.ndarray]:
    """Return an orthonormal basis of a plane without one direction."""
    rest = plane - np.outer(plane @ along, along)
    _, sizes, rows = svd(rest, full_matrices=False)
    return [row for row, size in zip(rows, sizes) if size > 0.5]
