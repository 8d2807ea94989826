"""Newton's method on the balance of forces under constraints.

Nothing here knows a unit: steps are accepted where the functions behave as their linear or
quadratic models say, and lengths come from the statement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sparse

from stationary.solve.linear import (
    DENSE_UP_TO,
    SOFTEST,
    Rows,
    Saddle,
    independent_rows,
)

# Steps before another method is tried.
MOST_STEPS = 200

# Steps that no longer improve anything, until the best of them is taken.
_PATIENCE = 3

# Steps after which it is looked whether all that is left is rounding.
_LOST = (10, 50)

# Shares of a step below which it leads nowhere.
CREEP = 1e-8

# The share of a step at which it is looked whether it is straight.
_PROBE = 1 / 64

# Where a step divides what is left by a small number, and not by a large one, the point has next to
# no stiffness: its forces are small long before it is near.
_SLOW, _STUCK = 0.02, 0.9

# What is this many times the statement's own lengths away has nothing to rest at.
FAR = 1e8


Z = TypeVar("Z")
There = TypeVar("There")


class Ending(StrEnum):
    """How a search for rest ended; its value is the message."""

    def __new__(cls, word: str, message: str):
        """Make an ending that compares as its word."""
        ending = str.__new__(cls, word)
        ending._value_ = message
        return ending

    BALANCED = "balanced", "all forces balance"
    SADDLE = "saddle", "forces balance, but the energy has no minimum there"
    STALLED = "stalled", "Newton's method stopped making progress"
    TOO_MANY_STEPS = "too many steps", "Newton's method took too many steps"
    UNBOUNDED = "unbounded", "the energy goes down for ever"
    INFEASIBLE = "infeasible", "contacts cannot all stay open or closed"
    OFF = "stalled", "the constraints cannot be satisfied near the start"
    NOT_FINITE = "not finite", "forces or constraints are not finite"


def iterated(
    z: Z,
    step: Callable[[Z], Z | None],
    ended: Callable[[Z, Any], bool] | None = None,
    *,
    most: int = MOST_STEPS,
) -> tuple[Z, int, Ending]:
    """Take steps from z: return the last place, the number of steps, and how they ended.

    `step` returns the next place, or none where it is not to go on; `ended` tells whether a place
    and the move that led to it are those of the last digits.
    """
    for count in range(most):
        there: Any = step(z)
        if there is None:
            return z, count, Ending.STALLED
        before, z = z, there
        if ended is not None and ended(z, there - before):
            return z, count + 1, Ending.BALANCED
    return z, most, Ending.TOO_MANY_STEPS


def shortened(
    trial: Callable[[float], There | None],
    share: float = 1.0,
    *,
    least: float = CREEP,
    by: float = 2,
) -> tuple[There | None, float]:
    """Divide a share of a step until it leads on: return where to, and the share.

    `trial` returns where a share leads to, or none where nothing is better there.
    """
    while share > least:
        there = trial(share)
        if there is not None:
            return there, share
        share /= by
    return None, share


def iterated_together(
    work: np.ndarray, step: Callable[[np.ndarray], np.ndarray], *, most: int = MOST_STEPS
) -> None:
    """Take steps from many places at once.

    `step` moves the places of these numbers, and tells which of them are to go on.
    """
    for _ in range(most):
        if not len(work):
            return
        work = work[step(work)]


class Place:
    """A configuration with its multipliers, and what is out of balance there."""

    def __init__(self, question: Any, q: np.ndarray, lam: np.ndarray, active: np.ndarray):
        self.question, self.q, self.lam, self.active = question, q, lam, active

    @cached_property
    def force(self) -> np.ndarray:
        """∂(U − W)/∂q less the loads."""
        return self.question.forces(self.q)[0]

    @property
    def energy(self) -> float:
        """U − W."""
        return self.question.forces(self.q)[1]

    @cached_property
    def _limits(self) -> tuple[np.ndarray, Any]:
        return self.question.limits(self.q, self.active)

    @property
    def c(self) -> np.ndarray:
        """What is violated."""
        return self._limits[0]

    @property
    def A(self) -> Any:
        """Its gradients."""
        return self._limits[1]

    @property
    def finite(self) -> bool:
        """Whether forces and constraints are numbers there."""
        return bool(
            np.all(np.isfinite(self.force))
            and np.all(np.isfinite(self.c))
            and np.all(np.isfinite(self.A.data))
        )

    @cached_property
    def left(self) -> np.ndarray:
        """Forces that nothing balances."""
        return self.force - self.A.T @ self.lam

    @cached_property
    def H(self) -> Any:
        """The stiffness, with what the multipliers add to it."""
        return self.question.hessian(self.q, self.lam, self.active)

    @cached_property
    def frame(self) -> Frame:
        """The constraints, linearized."""
        return Frame(self.A, self.question.metric)

    def with_multipliers(self) -> Place:
        """Return the same place with the multipliers that balance the forces best."""
        self.lam = self.frame.multipliers(self.force)
        self.__dict__.pop("left", None)
        self.__dict__.pop("H", None)
        return self

    def moved(self, d: np.ndarray, lam: np.ndarray) -> Place:
        """Return another place with the same rows."""
        return Place(self.question, self.question.moved(self.q, d), lam, self.active)


class Frame:
    """What rows of constraints hold and what they leave free, small or large."""

    def __init__(self, A: Any, lengths: np.ndarray):
        self.m, self.n = A.shape
        self.A, self.lengths = A, lengths
        self.small = self.n + self.m <= DENSE_UP_TO

    @cached_property
    def rows(self) -> Rows:
        """Rows taken apart; for small systems."""
        return Rows(self.A, self.lengths)

    @cached_property
    def kept(self) -> np.ndarray:
        """Which rows are independent."""
        return independent_rows(self.A, self.lengths) if self.m else np.zeros(0, dtype=int)

    @cached_property
    def independent(self) -> Any:
        """Rows that are independent."""
        return self.A if len(self.kept) == self.m else self.A.tocsr()[self.kept]

    @cached_property
    def _normal(self) -> Saddle:
        return Saddle(sparse.diags(1 / self.lengths**2, format="csc"), self.independent)

    def correction(self, c: np.ndarray) -> np.ndarray:
        """Return the least move d with A d = −c."""
        if not self.m:
            return np.zeros(self.n)
        if self.small:
            return self.rows.correction(c)
        return self._normal.solve(np.zeros(self.n), -c[self.kept])[0]

    def multipliers(self, force: np.ndarray) -> np.ndarray:
        """Return multipliers for which Aᵀλ is nearest to a force."""
        lam = np.zeros(self.m)
        if not self.m:
            return lam
        if self.small:
            return self.rows.multipliers(force)
        lam[self.kept] = self._normal.solve(force, np.zeros(len(self.kept)))[1]
        return lam


class Linearized:
    """The conditions of balance at a place, linearized."""

    def __init__(self, place: Place):
        self.place, self.frame = place, place.frame

    @cached_property
    def _stiffness(self) -> np.ndarray:
        Z = self.frame.rows.tangent
        return Z.T @ (self.place.H @ Z)

    @cached_property
    def saddle(self) -> Saddle:
        """The matrix of a step, of large systems."""
        return Saddle(self.place.H, self.frame.independent)

    def step(self, left: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return changes of coordinates and multipliers that take away what is left over."""
        frame, H = self.frame, self.place.H
        if not frame.small:
            d, minus = self.saddle.solve(-left, -c[frame.kept])
            change = np.zeros(frame.m)
            change[frame.kept] = -minus
            return d, change
        rows = frame.rows
        d = rows.correction(c) if frame.m else np.zeros(frame.n)
        Z = rows.tangent
        if Z.shape[1]:
            d = d + Z @ _least(self._stiffness, -Z.T @ (left + H @ d))
        return d, rows.multipliers(left + H @ d) if frame.m else np.zeros(0)


def _least(K: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Solve, and leave alone what has no stiffness that could be told from rounding."""
    size = np.sqrt(np.abs(K).sum(axis=1))
    size = np.where(size > 0, size, 1.0)
    if not np.all(np.isfinite(K)):
        return np.full(len(known), np.nan)
    scaled = K / np.outer(size, size)
    return np.linalg.lstsq(scaled, known / size, rcond=SOFTEST)[0] / size


# -- balance ---------------------------------------------------------------------------------------


@dataclass
class Balancing:
    """Newton's method for any equilibrium near the start, on the path that Newton's method means.

    A step is shortened until the next one, with the same matrix, is shorter than it (Deuflhard,
    Newton Methods for Nonlinear Problems, section 3.3): that depends neither on the units of forces
    nor on where the forces are large. `whole` steps are not shortened: where the path follows a
    narrow valley round a bend, as a ring that hardly slopes, they go across. `lost` tells whether
    what is left at a place is what its terms lose by rounding: where it begins at rest, no way to
    there tells lengths by which more would be accepted.
    """

    lengths: np.ndarray
    accepted: Callable[[Place], float]
    reached: Callable[[np.ndarray, np.ndarray], bool]
    tick: Callable[[], None]
    lost: Callable[[Place], bool] = lambda place: False
    whole: bool = False

    def run(self, place: Place) -> tuple[Place, Ending]:
        """Return where it ends, and how."""
        place, ending = self._run(place)
        if len(place.lam) and place.finite:
            again = place.moved(np.zeros_like(place.q), place.lam).with_multipliers()
            if np.abs(again.lam).max() < 0.5 * np.abs(place.lam).max():
                # Rows that came to depend on each other left forces that balance alone.
                place, ending = self._run(again)
        stays = ending in (Ending.STALLED, Ending.TOO_MANY_STEPS)
        return place, Ending.BALANCED if stays and self.lost(place) else ending

    @np.errstate(over="ignore", invalid="ignore")
    def _run(self, place: Place) -> tuple[Place, Ending]:
        best, lowest, waited, start, reach, dusted = place, np.inf, 0, place.q, 0.0, False
        for count in range(MOST_STEPS):
            self.tick()
            if not place.finite or not np.all(np.isfinite(place.H.data)):
                return best, Ending.NOT_FINITE
            if self._size(place.q - start) > FAR * max(1.0, reach):
                return place, Ending.UNBOUNDED
            left = self.accepted(place)
            slow = _SLOW * lowest < left < _STUCK * lowest
            best, lowest, waited = (place, left, 0) if left < lowest else (best, lowest, waited + 1)
            if left == 0.0 or (lowest <= 1.0 and waited >= _PATIENCE and not slow):
                break
            if lowest > 1.0 and count in _LOST and self.lost(best):
                break
            linear = Linearized(place)
            d, change = linear.step(place.left, place.c)
            if not np.all(np.isfinite(d)):
                return best, Ending.BALANCED if lowest <= 1.0 else Ending.STALLED
            # A long row of springs gives way by many times what each of them does.
            reach = reach or self._size(d)
            if (
                np.all(np.abs(d) <= np.spacing(np.abs(place.q)))
                or slow
                and self.reached(place.q, d)
            ):
                break
            if not dusted and self._size(d) <= 64 * self._size(np.spacing(np.abs(place.q))):
                # Of a place known to its last digits some coordinates may be dust beside zero.
                dust = np.abs(place.q + d) <= np.spacing(self.lengths)
                there, dusted = place.moved(np.where(dust, -place.q, d), place.lam + change), True
            else:
                there = self._along(place, linear, d, change)
            if there is None:
                break
            place = there
        else:
            return best, Ending.BALANCED if lowest <= 1.0 else Ending.TOO_MANY_STEPS
        return best, Ending.BALANCED if lowest <= 1.0 else Ending.STALLED

    def _size(self, d: Any) -> float:
        return float(np.linalg.norm(d / self.lengths))

    def _along(self, place: Place, linear: Linearized, d, change) -> Place | None:
        """Shorten a step until the one after it is shorter."""
        if self.whole:
            return place.moved(d, place.lam + change)
        size, share = self._size(d), 1.0
        probe = place.moved(_PROBE * d, place.lam + _PROBE * change)
        if probe.finite:
            # The bend at the beginning foretells how far the step is straight.
            bend = self._bend(linear, probe, d, _PROBE)
            share = min(1.0, size * _PROBE**2 / bend) if 0 < bend < np.inf else 1.0

        def trial(share: float) -> Place | None:
            there = place.moved(share * d, place.lam + share * change)
            again = linear.step(there.left, there.c)[0] if there.finite else np.inf
            return there if self._size(again) <= (1 - share / 4) * size else None

        return shortened(trial, share)[0]

    def _bend(self, linear: Linearized, there: Place, d: np.ndarray, share: float) -> float:
        """Return by how much what is left differs from what is expected after a share of a step."""
        again, _ = linear.step(there.left, there.c)
        off = self._size(again - (1 - share) * d)
        # What is rounding of the step bends nothing.
        return off if off > 1e-8 * self._size(d) else 0.0
