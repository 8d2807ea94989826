"""Newton's method on the balance of forces under constraints, and descent along the constraints.

Nothing here knows a unit: steps are accepted where the functions behave as their linear or
quadratic models say, and lengths come from the statement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse

from stationary.solve.linear import (
    DENSE_UP_TO,
    SOFTEST,
    Rows,
    Saddle,
    dense,
    independent_rows,
)

# Steps before another method is tried.
_MOST_STEPS = 200

# Steps that no longer improve anything, until the best of them is taken.
_PATIENCE = 3

# Shares of a step below which it leads nowhere.
_CREEP = 1e-8

# The share of a step at which it is looked whether it is straight.
_PROBE = 1 / 64

# Where a step divides what is left by a small number, and not by a large one, the point has next to
# no stiffness: its forces are small long before it is near.
_SLOW, _STUCK = 0.02, 0.9

# A step may change energy and slope by this much more or less than its quadratic model says: one
# that goes by luck to a lower place beyond the next hill does not.
_AGREES = 0.5
_LOOKS = (1.0, 0.5, 0.75, 0.25, 0.875, 0.625, 0.375, 0.125)

# A step may violate bent constraints by this share of what they change over their own radius, and
# every correction that brings it back is at most this share of the one before.
_BENDS = 0.5
_MOST_CORRECTIONS = 60

# Directions this many times as stiff as a step's own bend it as a rod does; by at most this share,
# and how often they are corrected.
_RIGID, _DRIFTS, _MOST_DRIFTS = 30.0, 0.5, 12

# Rounding of an energy, relative to what it is summed of.
_NOISE = 1e-13

# What is this many times the statement's own lengths away has nothing to rest at.
_FAR = 1e8


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
    z: np.ndarray,
    step: Callable[[np.ndarray], np.ndarray | None],
    ended: Callable[[np.ndarray, np.ndarray], bool] | None = None,
    *,
    most: int = _MOST_STEPS,
) -> tuple[np.ndarray, int, Ending]:
    """Take steps from z: return the last place, the number of steps, and how they ended.

    `step` returns the next place, or none where it is not to go on; `ended` tells whether a place
    and the move that led to it are those of the last digits.
    """
    for count in range(most):
        there = step(z)
        if there is None:
            return z, count, Ending.STALLED
        move, z = there - z, there
        if ended is not None and ended(z, move):
            return z, count + 1, Ending.BALANCED
    return z, most, Ending.TOO_MANY_STEPS


def iterated_together(
    work: np.ndarray, step: Callable[[np.ndarray], np.ndarray], *, most: int = _MOST_STEPS
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
    narrow valley round a bend, as a ring that hardly slopes, they go across.
    """

    lengths: np.ndarray
    accepted: Callable[[Place], float]
    reached: Callable[[np.ndarray, np.ndarray], bool]
    tick: Callable[[], None]
    whole: bool = False

    @np.errstate(over="ignore", invalid="ignore")
    def run(self, place: Place) -> tuple[Place, Ending]:
        """Return where it ends, and how."""
        best, lowest, waited, start, reach = place, np.inf, 0, place.q, 0.0
        for _ in range(_MOST_STEPS):
            self.tick()
            if not place.finite or not np.all(np.isfinite(place.H.data)):
                return best, Ending.NOT_FINITE
            if self._size(place.q - start) > _FAR * max(1.0, reach):
                return place, Ending.UNBOUNDED
            left = self.accepted(place)
            slow = _SLOW * lowest < left < _STUCK * lowest
            best, lowest, waited = (place, left, 0) if left < lowest else (best, lowest, waited + 1)
            if left == 0.0 or (lowest <= 1.0 and waited >= _PATIENCE and not slow):
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
            there = self._along(place, linear, d, change)
            if there is None:
                break
            place = there
        else:
            return best, Ending.BALANCED if lowest <= 1.0 else Ending.TOO_MANY_STEPS
        return best, Ending.BALANCED if lowest <= 1.0 else Ending.STALLED

    def _size(self, d: np.ndarray) -> float:
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
        while share > _CREEP:
            there = place.moved(share * d, place.lam + share * change)
            if there.finite:
                again, _ = linear.step(there.left, there.c)
                if self._size(again) <= (1 - share / 4) * size:
                    return there
            share /= 2
        return None

    def _bend(self, linear: Linearized, there: Place, d: np.ndarray, share: float) -> float:
        """Return by how much what is left differs from what is expected after a share of a step."""
        again, _ = linear.step(there.left, there.c)
        off = self._size(again - (1 - share) * d)
        # What is rounding of the step bends nothing.
        return off if off > 1e-8 * self._size(d) else 0.0


# -- descent ---------------------------------------------------------------------------------------


@dataclass
class Descent:
    """Newton's method for a minimum: down the energy, along the constraints.

    From a place that satisfies the constraints every step goes along their tangent and is brought
    back onto them. Negative curvature is turned round. A step is shortened where energy and slope
    are not as the quadratic model says, or where constraints bend more than a step can follow: what
    is found is where a slow descent from the start would come to rest.
    """

    lengths: np.ndarray
    rise: Callable[[np.ndarray, np.ndarray], float]
    settled: Callable[[Place], bool]
    bends: Callable[[Place], np.ndarray]
    reached: Callable[[np.ndarray, np.ndarray], bool]
    tick: Callable[[], None]
    #: What is added to the stiffness, and a large system's matrix of a step and its place.
    stiffer: float = 0.0
    model: Saddle | None = None
    at: Any = None

    @np.errstate(over="ignore", invalid="ignore")
    def run(self, place: Place) -> tuple[Place, Ending]:
        """Return where no descent is left that is more than rounding, and how that came."""
        start = place.q
        for _ in range(_MOST_STEPS):
            self.tick()
            if not place.finite or not np.all(np.isfinite(place.H.data)):
                return place, Ending.NOT_FINITE
            if np.linalg.norm((place.q - start) / self.lengths) > _FAR:
                return place, Ending.UNBOUNDED
            there = self._step(place.with_multipliers())
            if there is None:
                return place, Ending.BALANCED
            place = there
        return place, Ending.TOO_MANY_STEPS

    def _step(self, place: Place) -> Place | None:
        """Return a lower place, or None where nothing is lower by more than rounding."""
        ways = self._small(place) if place.frame.small else self._large(place)
        noise = self._noise(place)
        for d, modes in ways:
            if not np.all(np.isfinite(d)):
                continue
            slope = float(place.force @ d)
            if -slope <= 4 * noise or self.reached(place.q, d):
                return None
            if self._agrees(place, d, noise):
                there = self.onto(place, d)
            else:
                there = self._round_a_bend(place, d, modes, noise)
            if there is None:
                continue
            if self.rise(place.q, there) <= 1e-4 * slope + noise:
                return Place(place.question, there, place.lam, place.active)
        return None

    def _noise(self, place: Place) -> float:
        """Return the rounding of the energy."""
        at_work = np.abs(place.force) + abs(place.A).T @ np.abs(place.lam)
        return _NOISE * (abs(place.energy) + float(at_work @ np.abs(place.q)))

    def _small(self, place: Place):
        """Yield steps, the longest first; each by the stiffness it has along its own directions."""
        Z = place.frame.rows.tangent
        if not Z.shape[1]:
            return
        H = dense(place.H)
        reduced = Z.T @ H @ Z
        values, turned = np.linalg.eigh((reduced + reduced.T) / 2)
        vectors = Z @ turned
        slopes = vectors.T @ place.force
        floor = SOFTEST * (np.abs(H).sum(axis=0) @ vectors**2)
        stiff = np.maximum(np.abs(values), floor)
        # The least floor is that of steps as long as the statement's lengths, times a million.
        least = max(float(np.abs(slopes).max()) * 1e-6, 1e-300)
        stiff = np.maximum(stiff, least)
        self.stiffer = self.stiffer / 64 if self.stiffer > stiff.min() else 0.0
        for _ in range(60):
            yield -vectors @ (slopes / np.maximum(stiff, self.stiffer)), (stiff, vectors)
            self.stiffer = 4 * max(self.stiffer, float(stiff.min()))

    def _large(self, place: Place):
        """Yield steps, the longest first, by factors of the stiffness made positive."""
        frame, nothing = place.frame, np.zeros(len(place.frame.kept))
        saddle = Saddle(place.H, frame.independent)
        weights = 1 / self.lengths**2
        slope = place.force - place.A.T @ place.lam
        most = float(np.abs(slope * self.lengths).max())
        if not most:  # Nothing pushes: there is no way down, however soft it is made.
            return
        own = float((saddle.stiffness * self.lengths**2).max(initial=0.0))
        # What has no stiffness of its own is held by as little of the largest: factors exist.
        softest = SOFTEST * np.where(saddle.stiffness > 0, saddle.stiffness, own * weights)
        by = self.stiffer / 64
        if by < 1e-10 * max(own, most):
            by = 0.0
        for _ in range(40):
            extra = softest + by * weights
            trial = saddle.shifted(extra)
            if trial.negative == 0:
                d = trial.solve(-place.force, nothing)[0]
                self.stiffer, self.model, self.at = by, trial, place.q
                for _ in range(4):
                    yield d, None
                    d = d / 2
            by = 8 * by if by else max(1e-4 * own, 1e-6 * most)

    def _agrees(self, place: Place, d: np.ndarray, noise: float) -> bool:
        """Tell whether energy and slope along a step are as the quadratic model says."""
        first, second = float(place.left @ d), float(d @ (place.H @ d))
        bent = self.bends(place)
        for share in _LOOKS if place.frame.small else (1.0, 0.5):
            there = place.moved(share * d, place.lam)
            if not there.finite or np.any(np.abs(there.c - place.c) > _BENDS * bent):
                return False
            rise = self.rise(place.q, there.q) - float(place.lam @ (there.c - place.c))
            model = share * first + share**2 / 2 * second
            expected = share * abs(first) + share**2 / 2 * abs(second)
            if not abs(rise - model) <= _AGREES * expected + noise:
                return False
            slope, foretold = float(there.left @ d), first + share * second
            if not abs(slope - foretold) <= _AGREES * max(abs(first), abs(foretold)) + noise:
                return False
            # On the way it goes down: no hill is stepped over.
            if share < 1 and slope > max(foretold, 0.0) + noise:
                return False
        return True

    def _round_a_bend(self, place: Place, d: np.ndarray, modes, noise: float) -> np.ndarray | None:
        """Return where a step ends that keeps to a narrow valley, as one of a stiff rod's length.

        What is far stiffer than the step's own way is balanced again at its end. Along the whole of
        it energies are as the model says, so that no hill is stepped over.
        """
        if modes is None:
            return None
        first, second = float(place.left @ d), float(d @ (place.H @ d))
        rigid = modes[0] > _RIGID * max(-first, second) / float(np.sum((d / self.lengths) ** 2))
        if not rigid.any() or rigid.all():
            return None
        ends = None
        for share in (1.0, 0.5, 0.75, 0.25):
            there = self._followed(place, share * d, modes[0][rigid], modes[1][:, rigid])
            if there is None:
                return None
            rise, model = self.rise(place.q, there), share * first + share**2 / 2 * second
            expected = share * abs(first) + share**2 / 2 * abs(second)
            if not abs(rise - model) <= _AGREES * expected + noise:
                return None
            ends = there if ends is None else ends
        return ends

    def _followed(self, place: Place, d, stiff, vectors) -> np.ndarray | None:
        """Return the end of a step with what is stiff in balance there.

        None where corrections do not become shorter, or bend the step by too much.
        """
        longest, added = _DRIFTS * float(np.linalg.norm(d / self.lengths)), np.zeros_like(d)
        enough = 1e-3 * longest**2
        for _ in range(_MOST_DRIFTS):
            q = self.onto(place, d + added)
            there = None if q is None else Place(place.question, q, place.lam, place.active)
            if there is None or not there.finite:
                return None
            move = -vectors @ ((vectors.T @ there.with_multipliers().left) / stiff)
            size = float(np.linalg.norm(move / self.lengths))
            if not size <= longest:
                return None
            added, longest = added + move, _DRIFTS * size
            if size <= enough:
                return self.onto(place, d + added)
        return None

    def onto(self, place: Place, d: np.ndarray) -> np.ndarray | None:
        """Return where a step ends on the constraints; None where it does not follow their bend."""
        if not place.frame.m:
            return place.question.moved(place.q, d)
        q, back, fresh = place.question.moved(place.q, d), self._back(place), False
        longest = float(np.linalg.norm(d / self.lengths))
        for _ in range(_MOST_CORRECTIONS):
            there = Place(place.question, q, place.lam, place.active)
            if not np.all(np.isfinite(there.c)):
                return None
            if self.settled(there):
                return q
            move = back(there.c)
            size = float(np.linalg.norm(move / self.lengths))
            small = np.all(np.abs(move) <= np.spacing(np.abs(q)))
            if small or not size <= longest:
                # With the rows of that place: some may say something new there, or bend.
                if fresh or not there.finite:
                    return None
                back, fresh = self._back(there), True
                continue
            q, longest = place.question.moved(q, move), max(_BENDS * size, 1e-300)
            fresh = False
            if place.frame.small:
                back, fresh = self._back(Place(place.question, q, place.lam, place.active)), True
        return None

    def _back(self, place: Place) -> Callable[[np.ndarray], np.ndarray]:
        """Return the corrections of violations: least moves, or those that cost least energy."""
        frame = place.frame
        if frame.small or self.model is None:
            return frame.correction
        model = self.model if self.model.m == len(frame.kept) and place.q is self.at else None
        saddle = model or Saddle(self.model.H, frame.independent)
        return lambda c: saddle.solve(np.zeros(frame.n), -c[frame.kept])[0]
