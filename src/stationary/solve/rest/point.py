"""The stiffness of a point at which forces balance: signs and eigenvalues, with their rounding."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse

from stationary.lower.rounding import rounding_of_matrix
from stationary.solve.linear import (
    SOFTEST,
    Saddle,
    independent_rows,
    shared_multipliers,
)

# Beyond this many operations it is not looked what rounding leaves of each: it takes too long.
_MOST = 20_000

# Last digits by which a stiffness is known: sums of many terms lose a few.
_DIGITS = 16


@dataclass(frozen=True)
class AbstractPoint(ABC):
    """A point at which forces balance, and its stiffness."""

    search: Any
    q: np.ndarray
    stated_lam: np.ndarray
    active: np.ndarray

    @cached_property
    def limits(self) -> tuple[np.ndarray, Any]:
        """R and gaps, and the gradients of those that hold."""
        return self.search.levels(self.q), self.search.limits(self.q, self.active)[1]

    @cached_property
    def kept(self) -> np.ndarray:
        """Which of the rows that hold are independent."""
        rows = self.limits[1]
        if not len(self.active) or not np.all(np.isfinite(rows.data)):
            return np.arange(len(self.active))
        return independent_rows(rows, self.search.metric)

    @property
    def redundant(self) -> tuple[str, ...]:
        """Names of rows that say nothing new."""
        dropped = np.setdiff1d(np.arange(len(self.active)), self.kept)
        return tuple(self.search.row_name(int(self.active[i])) for i in dropped)

    @cached_property
    def lam(self) -> np.ndarray:
        """Multipliers of the active rows; redundant ones share the force, as small as possible."""
        if len(self.kept) == len(self.active):
            return self.stated_lam
        rows, metric = self.limits[1], self.search.metric
        return shared_multipliers(rows, self.stated_lam, self.kept, metric)

    @cached_property
    def hessian(self) -> Any:
        """The stiffness; not symmetric where a load follows the motion."""
        return self.search.hessian(self.q, self.lam, self.active)

    @cached_property
    def _moves(self) -> np.ndarray:
        """Moves of the coordinates that count alike, of the size of one."""
        metric = self.search.metric
        return metric / float(np.median(metric)) if len(metric) else metric

    @cached_property
    def _alike(self) -> bool:
        """Whether all coordinates count alike as they are."""
        return bool(np.all(self._moves == 1.0))

    @cached_property
    def stated(self) -> Saddle:
        """The conditions of balance, linearized: without rows that say nothing new."""
        H = self.hessian
        rows = self.limits[1]
        some = rows if len(self.kept) == len(self.active) else rows.tocsr()[self.kept]
        return Saddle((H + H.T) / 2, some, lengths=self.search.metric)

    @cached_property
    def saddle(self) -> Saddle:
        """The same in moves that count alike: metres beside radians cost its signs no digits."""
        if self._alike:
            return self.stated
        D = sparse.diags(self._moves)
        return Saddle((D @ self.stated.H @ D).tocsc(), self.stated.A @ D)

    @cached_property
    def smallest(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest stiffnesses in moves that count alike, and the ways that have them."""
        values, vectors = self.saddle.smallest
        return values, self._moves[:, None] * vectors

    @cached_property
    def rounding(self) -> np.ndarray:
        """Below which size each of the smallest eigenvalues is rounding.

        The stiffness is evaluated again with last digits of the coordinates and of the multipliers
        changed: what that changes is not known.
        """
        search, (values, vectors) = self.search, self.smallest
        rng, changes = np.random.default_rng(4), [np.zeros(len(values))]
        digit = _DIGITS * np.spacing(np.abs(self.q)) + 1e-14 * search.neighbourhood(self.q)
        for _ in range(3):
            q = self.q + digit * rng.uniform(-1, 1, len(self.q))
            lam = self.lam * (1 + _DIGITS * np.finfo(float).eps * rng.uniform(-1, 1, len(self.lam)))
            change = search.hessian(q, lam, self.active) - self.hessian
            changes.append(np.abs(np.sum(vectors * (change @ vectors), axis=0)))
        small = self.saddle.rounding(self.saddle.smallest[1]) + 8 * np.max(changes, axis=0)
        return small + np.sum(np.abs(vectors) * (self._lost @ np.abs(vectors)), axis=0)

    @property
    def _lost(self) -> Any:
        """How much of each entry of the stiffness is what rounding leaves of terms that cancel."""
        search, n = self.search, len(self.q)
        at = [search.t, self.q, search.inputs(self.q), search.params]
        lost = (
            rounding_of_matrix(search.balance, "tangent", at, _MOST) if self.saddle.dense else None
        )
        nothing = sparse.csc_matrix((n, n))
        return nothing if lost is None or not np.all(np.isfinite(lost.data)) else lost

    @cached_property
    def inertia(self) -> tuple[int, int, int]:
        """Number of positive, negative and zero eigenvalues of the stiffness on the tangent."""
        saddle = self.saddle
        values, free = saddle.smallest[0], saddle.n - len(self.kept)
        zero = int(np.sum(np.abs(values) <= self.rounding))
        negative = int(np.sum(values < -self.rounding))
        if len(values) < free and negative + zero == len(values):
            # There may be more of both than were looked for.
            unsure = 2 * np.max(self.rounding, initial=0.0)
            negative = saddle.shifted(unsure).negative
            above = saddle.shifted(-unsure - 2 * SOFTEST * saddle.stiffness).above
            zero = free - negative - above
        return free - negative - zero, negative, zero

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of the Hessian on the tangent, as stated; where bodies turn, by the angle."""
        saddle, moves = self.stated, self._moves
        if len(entries := self.search.layout.kinematics.quaternions):
            # A turn by a small angle moves a quaternion on its sphere by half of it.
            unit = np.ones(saddle.n)
            unit[entries] = 0.5
            S, moves = sparse.diags(unit), moves / unit
            H, A = (S @ saddle.H @ S).tocsc(), (saddle.A @ S).tocsc()
            saddle = Saddle(H, A, lengths=self.search.metric / unit)
        if self._alike:
            return saddle.smallest[0]
        # In metres and radians: one by one as exact as the stiffnesses it is made of.
        if saddle.dense:
            return saddle.graded_eigenvalues
        positive, negative, zero = self.inertia
        values = np.empty(0) if zero else self.saddle.graded_few(moves, negative)
        if not len(values):
            values = saddle.smallest[0]
            rising, falling = np.sum(values > 0), np.sum(values < 0)
            agree = rising <= positive + zero and falling <= negative + zero
            values = values if agree else np.empty(0)
        return values

    @cached_property
    def _unclear(self) -> np.ndarray:
        """Which of the smallest stiffnesses are rounding."""
        return np.abs(self.smallest[0]) <= self.rounding

    @cached_property
    def _crowd(self) -> bool:
        """Whether there are more flat ways than were looked for."""
        return self.inertia[2] > self._unclear.sum()
