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
from stationary.solve.sliding.compiled import Held, InMode
from stationary.solve.sliding.endings import Ended, Pace, conflict
from stationary.solve.sliding.judge import roomiest, several
from stationary.solve.sliding.mode import Mode
from stationary.solve.sliding.principle import solved
from stationary.solve.sliding.problem import Answer
from stationary.solve.sliding.question import Place, Question, evaluated
from stationary.solve.sliding.reduced import in_mode, least_move, margin
from stationary.solve.sliding.settle import Outcome
from stationary.solve.sliding.telling import status_of

# A step so short that velocities grow beyond all bounds, of the whole span.
_VANISHING = 1e-9
# No motion takes more steps than this.
_MOST_STEPS = 20_000
# How far ahead of a change one looks for what comes next, of the whole span: at first, at most, and
# where something else comes that starts slowly.
_THINNEST, _THICKEST, _LATEST = 1e-10, 1e-7, 1e-5
# Steps into which the span is cut at least, and looks at a doubtful one for the end of a mode.
_LEAST_STEPS, _LOOKS = 10, 8
# So close to the end of a mode, of the whole span, the rest of the way is straight.
_STRAIGHT = 2e-6
# What is slower than this share of the speeds at work may be about to rest.
_SLOW = 0.2
# What slides slower than this share has no clear direction yet.
_BEGINS = 1e-8
# What has less room than that, as a share of its limit, is full.
_FULL = 1e-9
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
    place: Place


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
        #: Where the present mode began, what touches in it, its compiled equations, and their
        #: unknowns at the latest two times.
        self.place: Place
        self.touching = np.zeros(0, dtype=int)
        self.compiled: InMode | None = None
        #: Whether several forces would hold what holds and sticks: then it is held as long as any.
        self.shares = False
        self.known: list[tuple[float, np.ndarray]] = []
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
        quick = self._quick(t, q)
        if quick is None:
            return self._searched(t, q)
        assert self.compiled is not None
        place = self.question.at(t, q, viscous=True, touching=self.touching)
        self.last, place = self.compiled.answer(quick, place)
        return self.last, place

    def _quick(self, t: float, q: np.ndarray) -> Held | None:
        """Return velocities and forces in the present mode by compiled equations, if these do."""
        if self.compiled is None:
            return None
        held = self.compiled.at(t, q, self._guessed(t))
        if held is not None:
            self.known = [*self.known[-1:], (t, held.z)]
        return held

    def _guessed(self, t: float) -> np.ndarray | None:
        """Guess the unknowns of the compiled equations by the latest two."""
        if len(self.known) < 2:
            return self.known[0][1] if self.known else None
        (a, first), (b, last) = self.known
        near = a != b and abs(t - b) <= 3 * abs(b - a)
        return last + (t - b) / (b - a) * (last - first) if near else last

    def _searched(self, t: float, q: np.ndarray) -> tuple[Answer, Place]:
        """Return the answer in the present mode by a search, from one or another nearby."""
        place = self.question.at(t, q, viscous=True, touching=self.touching)
        starts = [near for near in (self.last, self.anchor, self.mode) if near is not None]
        # Where compiled equations fail there is little hope.
        for near in starts if self.compiled is None else starts[:1]:
            answer = in_mode(place.problem, near, lines=True)
            if answer is not None:
                self.last = answer
                return answer, replace(place, problem=answer.problem)
        raise _Passed

    def _rate(self, t: float, x: np.ndarray) -> np.ndarray:
        quick = self._quick(t, x[: self.n])
        if quick is not None:
            self.least = min(self.least, quick.margin)
            return np.concatenate([quick.z[: self.n], [quick.taken, quick.given]])
        answer, place = self._searched(t, x[: self.n])
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
        left = margin(answer, rooms=not self.shares)
        if len(self.touching) < len(place.gap):
            left = min(left, float(np.delete(place.gap + place.digits, self.touching).min()))
        return left

    def _holds(self, t: float, x: np.ndarray) -> float:
        """Return by how much the present mode holds at a state; endlessly less where it is none."""
        try:
            quick = None if self.shares else self._quick(t, x[: self.n])
            if quick is not None:
                return quick.margin
            answer, place = self._held(t, x[: self.n])
            left = self._margin(answer, place)
            if self.shares and margin(answer) < 0:
                left = min(left, roomiest(answer)[1] + _FULL)
            return left
        except _Passed:
            return -np.inf

    def _enter(self, near: Answer, place: Place) -> None:
        self.near, self.place, self.touching = near, place, place.touching
        self.last, self.anchor, self.known = None, None, []
        self.shares = several(near)
        self.compiled = InMode.of(self.question, place, near, not self.shares)

    # -- modes ------------------------------------------------------------------------------------

    def _found(
        self, t: float, q: np.ndarray, touching: np.ndarray | None, near: Answer | None
    ) -> tuple[Answer, Place]:
        """Find what sticks and what touches from here on."""
        place = self.question.at(t, q, viscous=True, touching=touching)
        outcome, pressed = solved(self.question, place, near)
        if outcome.word in ("accelerates", "jammed") or outcome.answer is None:
            status = status_of(self.question, pressed, outcome.word, outcome)
            raise Ended(status, outcome, pressed)
        return outcome.answer, place

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
        old, rate = Mode.of(self.mode, self.touching), self._last_rate(t, x)
        place = self.question.at(t, x[: self.n], touching=self.touching)
        closing = np.flatnonzero(place.gap <= self.question.closed(place))
        touching = np.union1d(self.touching[self._closed(place)], closing).astype(int)
        near, hair = self._carried(touching), _THINNEST * self.whole
        while True:
            ahead = x + hair * rate
            answer, there = self._found(t + hair, ahead[: self.n], touching, near)
            changed, more = Mode.of(answer, there.touching) != old, 4 * hair
            if changed:
                self._enter(answer, there)
                self.stays = 0
                if self._begins(t, x):
                    return t, x
                # What starts slowly shows what it is a little later.
                late = more > _LATEST * self.whole
                if late or (answer.right() and self._begins(t + hair, ahead)):
                    return t + hair, self._onto(t + hair, ahead)
            elif more > _THICKEST * self.whole:
                break
            hair = more
        # What seemed to end may go on: rounding ends nothing, nor do forces that may be others.
        self._enter(answer, there)
        self.stays += 1
        if self.stays <= _STAYS and self._holds(t + hair, x + hair * rate) >= 0:
            return t + hair, self._onto(t + hair, x + hair * rate)
        message = f"found the same change again and again near t = {t:.6g}"
        raise Ended(Status("too many changes", f"{message}; increments follow better"))

    def _begins(self, t: float, x: np.ndarray) -> bool:
        """Tell whether the present mode can be followed from a state: all that slides shows how."""
        try:
            return not self._slow(self._held(t, x[: self.n])[0], _BEGINS)
        except _Passed:
            return False

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
            self.pieces.append(_Piece(t, end, dense, self.mode, self.place))
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
                h = min(max(h, self.whole / 1000), self.whole / 100)
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
                if self._slow(self.anchor, _SLOW):
                    # What comes to rest is foreseen.
                    left = self._left(t, x, h)
                    if left < _STRAIGHT * self.whole:
                        return self._straight(t, x, min(left, last - t))
                    h = min(h, 0.95 * left)
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
                ends = self._turned(t, end, dense)
            else:
                ends = self._located(t, end, dense)
            if ends is None:
                return end, dense, ahead, False
            located, smoothly = ends
            if smoothly:
                return located, dense, ahead, True
            # Stages beyond a jump have spoilt the step: up to it by shorter ones.
            left = min(located - t, self._left(t, x, located - t))
            if left < _STRAIGHT * self.whole:
                return self._straight(t, x, left)
            h = longest = 0.95 * left

    def _slow(self, answer: Answer, share: float) -> bool:
        """Tell whether something that slides in a plane is slower than a share of the speeds."""
        p = answer.problem
        wide = (p.widths > 1) & (p.power == 0) & (p.size > 0) & ~answer.stuck
        return bool(np.any(answer.speeds[wide] < share * answer.speed))

    def _smoothly(self, t: float, dense: Any) -> bool:
        """Tell whether a mode that ends is still there beyond its end, as smooth as before."""
        later = t + 1e-9 * self.whole
        return -1e-6 < self._holds(later, dense(later)) < 1e-6

    def _left(self, t: float, x: np.ndarray, h: float) -> float:
        """Foresee how long the mode lasts where something in it comes to rest."""
        p, moment = self.mode.problem, min(h / 16, 1e-3 * self.whole)
        slides = (p.power < 1) & ~self.mode.stuck
        while moment > 1e-3 * _VANISHING * self.whole:
            try:
                rate = self._rate(t, x)
                here = self._held(t, x[: self.n])[0]
                there = self._held(t + moment, (x + moment * rate)[: self.n])[0]
            except _Passed:
                moment /= 16
                continue
            if np.any(p.sums(here.rates * there.rates)[slides] < 0):
                # What has turned round has been at rest before.
                moment /= 16
                continue
            before, after = here.speeds[slides], there.speeds[slides]
            slows = after < before * (1 - 1e-12)
            if not slows.any():
                return h
            return float((before[slows] * moment / (before - after)[slows]).min())
        return 0.0

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

    def _located(self, t: float, end: float, dense: Any) -> tuple[float, bool] | None:
        """Return the time at which the mode ends on a step, and whether it does so smoothly.

        None where it does not end.
        """
        before = t
        for at in np.linspace(t, end, _LOOKS + 1)[1:]:
            left = self._holds(float(at), dense(float(at)))
            if left < 0:
                return self._root(t, before, float(at), left, dense)
            before = float(at)
        return None

    def _root(
        self, first: float, low: float, high: float, left: float, dense: Any
    ) -> tuple[float, bool]:
        """Return the first time at which the mode does not hold any more, and whether smoothly.

        It holds from the first time to the low one and has `left` less than nothing at the high
        one. Where it ends with a jump shorter steps lead closer, and its end is told roughly.
        """
        finest = max(4 * np.finfo(float).eps * max(abs(low), abs(high)), 1e-300)
        holds = self._holds(low, dense(low))
        if holds <= 0:
            return low, self._smoothly(low, dense)
        fall = holds - left
        while high - low > max(0.02 * (low - first), finest):
            middle = (low + high) / 2
            there = self._holds(middle, dense(middle))
            if there >= 0:
                low, holds = middle, there
            else:
                high, left = middle, there
        # All the fall within next to no time is a jump.
        if left == -np.inf or holds - left > 0.5 * fall:
            return low, False
        root: Any = brentq(
            lambda t: max(self._holds(t, dense(t)), -1.0), low, high, xtol=finest, rtol=1e-15
        )
        return root, self._smoothly(root, dense)

    def _turned(self, t: float, end: float, dense: Any) -> tuple[float, bool] | None:
        """Return the time at which something in a plane turns round at once, if it does.

        What goes round a curve turns by and by: then halves of the way turn by less.
        """
        wide = (self.mode.problem.widths > 1) & (self.mode.problem.power == 0) & ~self.mode.stuck
        if not wide.any():
            return None

        def ways(at: float) -> np.ndarray:
            q = dense(at)[: self.n]
            quick = self._quick(at, q)
            if quick is None:
                return self._searched(at, q)[0].y
            return quick.z[self.n : self.n + len(self.mode.y)]

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
        return low, self._smoothly(low, dense)

    def _let_go(self, t: float, x: np.ndarray) -> None:
        """Forget contacts that have opened by themselves."""
        if self.mode.working.all():
            return
        place = self.question.at(t, x[: self.n], viscous=True, touching=self.touching)
        kept = self._closed(place)
        if not kept.all():
            there = self.question.at(t, x[: self.n], viscous=True, touching=self.touching[kept])
            near = self.mode
            mu, working = near.mu[kept], near.working[kept]
            self._enter(replace(near, problem=there.problem, mu=mu, working=working), there)

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
            if self.shares and margin(answer) < 0:
                answer = roomiest(answer)[0]
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
        self._enter(piece.near, piece.place)
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
