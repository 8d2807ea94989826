"""The velocity of least power as a differential equation, smooth between changes of what sticks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.integrate import DOP853
from scipy.optimize import brentq

from stationary.result.status import Status
from stationary.solve.sliding.endings import Ended, Pace, conflict
from stationary.solve.sliding.mode import Mode
from stationary.solve.sliding.principle import solved
from stationary.solve.sliding.problem import Answer
from stationary.solve.sliding.question import Place, Question, evaluated
from stationary.solve.sliding.reduced import in_mode, least_move, margin
from stationary.solve.sliding.settle import Outcome
from stationary.solve.sliding.told import status_of

# A step so short that velocities grow beyond all bounds, of the whole span.
_VANISHING = 1e-9
# No motion takes more steps than this.
_MOST_STEPS = 20_000
# How far ahead of a change one looks for what comes next, at first and at most, of the whole span.
_THINNEST, _THICKEST = 1e-10, 1e-7
# Steps into which the span is cut at least, and looks at a doubtful one for the end of a mode.
_LEAST_STEPS, _LOOKS = 10, 8
# So close to the end of a mode, of the whole span, the rest of the way is straight.
_STRAIGHT = 2e-6
# So often in a row what seems to change may stay as it is.
_STAYS = 30
# After some changes their number over the whole span is foreseen: how many times too many end it.
_SOME, _FAR_TOO_MANY = 10, 5


class _Passed(Exception):
    """A stage of a step where the present mode does not exist any more."""


@dataclass(frozen=True)
class _Piece:
    """A stretch of time between two steps, and the mode that held on it."""

    first: float
    last: float
    dense: Callable[[float], np.ndarray]
    near: Answer
    touching: np.ndarray


class Flow:
    """The motion as an initial value problem for q, the energy lost and the energy supplied."""

    def __init__(
        self, question: Question, rtol: float, show: Callable[[float], None] = lambda t: None
    ):
        self.question, self.rtol, self.show = question, rtol, show
        self.n = question.system.size
        self.steps = 0
        self.events: list[float] = []
        self.pieces: list[_Piece] = []
        self.near: Answer | None = None
        #: The latest answer, and the one where the present step began: both in the present mode.
        self.last: Answer | None = None
        self.anchor: Answer | None = None
        self.touching = np.zeros(0, dtype=int)
        self.whole, self.lengths = 1.0, np.ones(self.n)
        #: How often nothing changed where something seemed to.
        self.stays = 0
        #: The latest state that was reached.
        self.reached: tuple[float, np.ndarray] | None = None
        #: The least margin of the mode at any stage since it was last set.
        self.least = np.inf

    # -- velocities -------------------------------------------------------------------------------

    @property
    def mode(self) -> Answer:
        """An answer in the present mode."""
        assert self.near is not None
        return self.near

    def _held(self, t: float, q: np.ndarray) -> tuple[Answer, Place]:
        """Return the answer in the present mode."""
        place = self.question.at(t, q, viscous=True, touching=self.touching)
        found = None
        for near in (self.last, self.anchor, self.mode):
            found = None if near is None else in_mode(place.problem, near, lines=True)
            if found is not None:
                break
        else:
            raise _Passed
        self.last = found
        return found, replace(place, problem=found.problem)

    def _rate(self, t: float, x: np.ndarray) -> np.ndarray:
        answer, place = self._held(t, x[: self.n])
        self.least = min(self.least, self._margin(answer, place))
        return np.concatenate([answer.v, self._powers(answer, place)])

    def _powers(self, answer: Answer, place: Place) -> list[float]:
        """Return what friction takes and what is supplied."""
        p = place.problem
        taken = float(answer.y @ answer.rates)
        if p.viscous:
            taken += float(p.viscous(answer.v)[1] @ answer.v)
        given = float(answer.y @ p.c - answer.lam @ p.b - answer.mu @ p.g)
        if self.question.fed:
            here = (place.t, place.q, place.u, self.question.params)
            powers = evaluated(self.question.sliding, "power")(*here, answer.v)[0]
            given += float(powers[1:].sum())
            given += float(evaluated(self.question.sliding, "pumped")(*here)[0][0])
        return [taken, given]

    def _margin(self, answer: Answer, place: Place) -> float:
        """Return by how much the mode of an answer holds: below zero it has ended."""
        left = margin(answer)
        if len(self.touching) < len(place.gap):
            left = min(left, float(np.delete(place.gap + place.digits, self.touching).min()))
        return left

    def _holds(self, t: float, x: np.ndarray) -> float:
        """Return by how much the present mode holds at a state."""
        try:
            return self._margin(*self._held(t, x[: self.n]))
        except _Passed:
            return -1.0

    def _enter(self, near: Answer, touching: np.ndarray) -> None:
        self.near, self.touching = near, touching
        self.last = self.anchor = None

    # -- modes ------------------------------------------------------------------------------------

    def _found(
        self, t: float, q: np.ndarray, touching: np.ndarray | None, near: Answer | None
    ) -> tuple[Answer, np.ndarray]:
        """Find what sticks and what touches from here on."""
        place = self.question.at(t, q, viscous=True, touching=touching)
        outcome, place = solved(self.question, place, near)
        if outcome.word in ("accelerates", "jammed") or outcome.answer is None:
            status = status_of(self.question, place, outcome.word, outcome)
            raise Ended(status, outcome, place)
        return outcome.answer, place.touching

    def _begin(self, t: float, q: np.ndarray) -> tuple[float, tuple]:
        """Find the mode at the start; return where it begins, and what is kept of the first time.

        A drive that sets off right now shows in a moment's time.
        """
        first = self._found(t, q, None, None)
        self._enter(*first)
        x = np.concatenate([q, [0.0, 0.0]])
        kept = self._kept(t, x)
        if not np.any(first[0].v):
            moment = 1e-9 * self.whole
            later = self._found(t + moment, q, None, None)
            if np.any(later[0].v):
                self._enter(*later)
                return t + moment, kept
        return t, kept

    def _change(self, t: float, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Find the mode beyond the end of the present one; return where it begins.

        That shows a hair ahead, or a thicker one where changes are slow. If the new mode exists at
        its very beginning it begins there, else a hair later.
        """
        old, rate = (self.mode, self.touching), self._last_rate(t, x)
        place = self.question.at(t, x[: self.n], touching=self.touching)
        closing = np.flatnonzero(place.gap <= self.question.closed(place))
        touching = np.union1d(self.touching[self._closed(place)], closing).astype(int)
        near, hair = self._carried(touching), _THINNEST * self.whole
        found, touches = old
        while hair <= _THICKEST * self.whole:
            ahead = x + hair * rate
            found, touches = self._found(t + hair, ahead[: self.n], touching, near)
            if Mode.of(found, touches) != Mode.of(*old):
                self._enter(found, touches)
                self.stays = 0
                try:
                    self._held(t, x[: self.n])
                except _Passed:
                    return t + hair, self._onto(t + hair, ahead)
                return t, x
            hair = 4 * hair
        # What seemed to end may go on: rounding ends nothing, nor do forces that may be others.
        self._enter(found, touches)
        self.stays += 1
        if self.stays <= _STAYS and self._holds(t + hair, x + hair * rate) >= 0:
            return t + hair, self._onto(t + hair, x + hair * rate)
        message = f"found the same change again and again near t = {t:.6g}"
        raise Ended(Status("too many changes", f"{message}; increments follow better"))

    def _carried(self, touching: np.ndarray) -> Answer:
        """Return the present answer as one about other contacts that touch."""
        old, mode = self.touching, self.mode
        if np.array_equal(touching, old):
            return mode
        mu, working = np.zeros(len(touching)), np.zeros(len(touching), dtype=bool)
        places = np.searchsorted(touching, old)
        kept = np.isin(old, touching)
        mu[places[kept]], working[places[kept]] = mode.mu[kept], mode.working[kept]
        return replace(mode, mu=mu, working=working)

    def _last_rate(self, t: float, x: np.ndarray) -> np.ndarray:
        """Return the rate at the end of a mode; the latest known where it has just ended."""
        try:
            return self._rate(t, x)
        except _Passed:
            answer = self.last or self.mode
            place = self.question.at(t, x[: self.n], viscous=True, touching=self.touching)
            return np.concatenate([answer.v, self._powers(answer, place)])

    def _closed(self, place: Place) -> np.ndarray:
        """Tell which of the touching contacts have not opened."""
        far = place.gap > 10 * self.question.closed(place)
        return self.mode.working | ~far[self.touching]

    # -- steps ------------------------------------------------------------------------------------

    def run(self, q: np.ndarray, grid: np.ndarray, many: int) -> Iterator[tuple]:
        """Yield time, state, answer and place at every time of the grid."""
        t, last = float(grid[0]), float(grid[-1])
        self.whole = last - t
        x, k, h = np.concatenate([q, [0.0, 0.0]]), 0, self.whole / 100
        self.lengths = self.question.lengths(self.question.at(t, q))
        t, first = self._begin(t, q)
        yield first
        k, x = 1, self._onto(t, x)
        pace = Pace(t, self.whole, 0.02)
        while True:
            while k < len(grid) and grid[k] <= t + 1e-13 * self.whole:
                yield self._kept(float(grid[k]), x)
                k += 1
            if k >= len(grid):
                return
            end, dense, h, ends = self._stretch(t, x, last, h)
            self.steps += 1
            if self.steps > _MOST_STEPS or pace.stalls(end):
                raise Ended(Status("too many steps", f"stopped after {self.steps} steps"))
            self.show(t)
            self.pieces.append(_Piece(t, end, dense, self.mode, self.touching))
            while k < len(grid) and grid[k] <= end:
                yield self._kept(float(grid[k]), dense(float(grid[k])))
                k += 1
            t, x = end, self._onto(end, dense(end))
            self.reached = t, x
            if ends and t < last:
                before, old, at = self.near, self.touching, t
                t, x = self._change(t, x)
                if Mode.of(self.mode, self.touching) != Mode.of(before, old):  # pyright: ignore[reportArgumentType]
                    self._count(at, many, (t - float(grid[0])) / self.whole)
                h = min(max(h, 1e-6 * self.whole), self.whole / 100)
            elif not ends:
                self.stays = 0
                self._let_go(t, x)

    def _stretch(self, t: float, x: np.ndarray, last: float, h: float):
        """Take a step in the present mode, up to its end; tell whether it ends there."""
        longest = self.whole / _LEAST_STEPS
        while True:
            self.least = np.inf
            try:
                self.anchor = self._held(t, x[: self.n])[0]
                end, dense, ahead = self._step(t, x, last, min(h, last - t), longest)
            except _Passed:
                left = self._left(t, x, h)
                if h < _VANISHING * self.whole:
                    raise self._jam(t, x) from None
                if left < _STRAIGHT * self.whole:
                    return self._straight(t, x, min(left, last - t))
                h = min(h / 4, 0.95 * left)
                continue
            if ahead < _VANISHING * self.whole and end < last:
                raise self._jam(end, dense(end))
            if self.least >= 0 and self._holds(end, dense(end)) >= 0:
                located = self._turned(t, end, dense)
            else:
                located = self._located(t, end, dense)
            if located is None:
                return end, dense, ahead, False
            if self._smoothly(located, dense):
                return located, dense, ahead, True
            # Stages beyond a jump have spoilt the step: up to it by shorter ones.
            left = min(located - t, self._left(t, x, located - t))
            if left < _STRAIGHT * self.whole:
                return self._straight(t, x, left)
            h = longest = 0.95 * left

    def _smoothly(self, t: float, dense: Any) -> bool:
        """Tell whether a mode that ends is still there beyond its end, as smooth as before."""
        later = t + 1e-9 * self.whole
        return -1e-6 < self._holds(later, dense(later)) < 1e-6

    def _left(self, t: float, x: np.ndarray, h: float) -> float:
        """Foresee how long the mode lasts where something in it comes to rest."""
        rows: list[np.ndarray] = []
        moment = min(h / 16, 1e-3 * self.whole)
        while moment > 1e-3 * _VANISHING * self.whole:
            try:
                rate = self._rate(t, x)
                rows = [self._held(t, x[: self.n])[0].speeds]
                rows.append(self._held(t + moment, (x + moment * rate)[: self.n])[0].speeds)
                break
            except _Passed:
                moment /= 16
        if len(rows) < 2:
            return 0.0
        before, after = (r[(self.mode.problem.power < 1) & ~self.mode.stuck] for r in rows)
        slows = after < before * (1 - 1e-12)
        if not slows.any():
            return h
        return float((before[slows] * moment / (before - after)[slows]).min())

    def _straight(self, t: float, x: np.ndarray, left: float):
        """Go the last bit of a mode, where speeds vanish and directions with them, on a line."""
        rate = self._last_rate(t, x)

        def along(at: float) -> np.ndarray:
            return x + (at - t) * rate

        end = t + max(left, 4e-16 * abs(t))
        return end, along, self.whole / 1000, True

    def _step(self, t: float, x: np.ndarray, last: float, h: float, longest: float):
        """Take one step in the present mode; return its end, the states along it and the next h."""
        # Energies have kinks where something turns round, which say nothing about the motion.
        atol = np.append(1e-2 * self.rtol * self.lengths, [1e300, 1e300])
        solver = DOP853(
            self._rate, t, x, last, rtol=self.rtol, atol=atol, first_step=h, max_step=longest
        )
        if solver.step():
            raise _Passed
        return float(solver.t), solver.dense_output(), float(solver.h_abs)

    def _located(self, t: float, end: float, dense: Any) -> float | None:
        """Return the time at which the mode ends on a step, or None where it does not."""
        before = t
        for at in np.linspace(t, end, _LOOKS + 1)[1:]:
            if self._holds(float(at), dense(float(at))) < 0:
                return self._root(before, float(at), dense)
            before = float(at)
        return None

    def _root(self, low: float, high: float, dense: Any) -> float:
        """Return the first time at which the mode does not hold any more."""
        if self._holds(low, dense(low)) <= 0:
            return low
        finest = 4 * np.finfo(float).eps * max(abs(low), abs(high))
        root = brentq(
            lambda t: self._holds(t, dense(t)), low, high, xtol=max(finest, 1e-300), rtol=1e-15
        )
        return float(root)  # pyright: ignore[reportArgumentType]  # a number without full_output

    def _turned(self, t: float, end: float, dense: Any) -> float | None:
        """Return the time at which something in a plane turns round at once, if it does.

        What goes round a curve turns by and by: then halves of the way turn by less.
        """
        wide = (self.mode.problem.widths > 1) & (self.mode.problem.power == 0) & ~self.mode.stuck
        if not wide.any():
            return None

        def ways(at: float) -> np.ndarray:
            return self._held(at, dense(at)[: self.n])[0].y

        def opposed(a: np.ndarray, b: np.ndarray) -> bool:
            return bool(np.any(self.mode.problem.sums(a * b)[wide] < 0))

        try:
            low, high, a, b = t, end, ways(t), ways(end)
            if not opposed(a, b):
                return None
            while high - low > 1e-12 * self.whole:
                middle = (low + high) / 2
                c = ways(middle)
                if opposed(a, c):
                    high, b = middle, c
                elif opposed(c, b):
                    low, a = middle, c
                else:
                    return None
        except _Passed:
            return None
        return low

    def _let_go(self, t: float, x: np.ndarray) -> None:
        """Forget contacts that have opened by themselves."""
        if self.mode.working.all():
            return
        place = self.question.at(t, x[: self.n], viscous=True, touching=self.touching)
        kept = self._closed(place)
        if not kept.all():
            near, self.touching = self.mode, self.touching[kept]
            there = self.question.at(t, x[: self.n], viscous=True, touching=self.touching)
            self.near = replace(
                near, problem=there.problem, mu=near.mu[kept], working=near.working[kept]
            )
            self.last = self.anchor = None

    def _jam(self, t: float, x: np.ndarray) -> Ended:
        """Return the end of a motion whose velocities grow without bound."""
        place = self.question.at(t, x[: self.n], viscous=True, touching=self.touching)
        verdict = conflict(self.question, place)
        message = f"velocities grow without bound near t = {t:.6g}"
        if verdict is None:
            return Ended(Status("undecided", message))
        outcome = Outcome("jammed", verdict=verdict)
        return Ended(status_of(self.question, place, "jammed", outcome), outcome, place)

    def _count(self, t: float, many: int, done: float) -> None:
        """Note a change; end where they are too many."""
        # A rope need not be followed to its fiftieth link to see that it has more of them.
        changes = len(self.events)
        if changes >= many or (changes >= _SOME and changes > _FAR_TOO_MANY * many * done):
            message = f"found {changes} changes of what sticks up to t = {t:.6g}"
            raise Ended(Status("too many changes", f"{message}; increments follow better"))
        if not self.events or t - self.events[-1] > _THICKEST * self.whole:
            self.events.append(t)

    def _onto(self, t: float, x: np.ndarray) -> np.ndarray:
        """Move a state onto the constraints and the contacts that hold: by rounding's worth."""
        q = onto(self.question, t, x[: self.n], self.touching, self.mode.working)
        return np.concatenate([q, x[self.n :]])

    def _kept(self, t: float, x: np.ndarray) -> tuple:
        x = self._onto(t, x)
        try:
            answer, place = self._held(t, x[: self.n])
        except _Passed:
            place = self.question.at(t, x[: self.n], viscous=True, touching=self.touching)
            answer = self.last or self.mode
        return t, x, answer, place

    def end(self) -> tuple | None:
        """Return time, state, answer and place of the latest state, if any was reached."""
        return None if self.reached is None else self._kept(*self.reached)

    def at(self, t: float) -> tuple:
        """Return state, answer and place at any time of the motion."""
        ends = [piece.last for piece in self.pieces]
        piece = self.pieces[min(int(np.searchsorted(ends, t)), len(ends) - 1)]
        self._enter(piece.near, piece.touching)
        _, x, answer, place = self._kept(t, piece.dense(t))
        return x, answer, place


def _stacked(A: Any, G: Any) -> Any:
    return sparse.vstack([A, G], format="csr") if sparse.issparse(A) else np.vstack([A, G])


def onto(
    question: Question, t: float, q: np.ndarray, touching: np.ndarray, working: np.ndarray
) -> np.ndarray:
    """Move a configuration onto the constraints and the contacts that hold."""
    for _ in range(4):
        place = question.at(t, q, touching=touching)
        off = np.concatenate(
            [np.where(question.holonomic, place.R, 0.0), place.gap[touching][working]]
        )
        if not len(off):
            break
        p = place.problem
        rows, rates = _stacked(p.A, p.matrices[2][working]), np.append(p.b, p.g[working])
        if np.all(np.abs(off) <= question.digits(rows, t, q, rates) / 32):
            break
        q = q + least_move(p, working, off)
    return q
