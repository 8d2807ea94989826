"""The velocity of least power as a differential equation, smooth between changes of what sticks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stationary.result.status import Status
from stationary.solve.sliding.endings import Ended, Pace, conflict
from stationary.solve.sliding.modes import same_mode
from stationary.solve.sliding.principle import solved
from stationary.solve.sliding.problem import Answer
from stationary.solve.sliding.question import TOUCHING, Place, Question, evaluated
from stationary.solve.sliding.reduced import _mended, _newton, least_move
from stationary.solve.sliding.settle import Outcome
from stationary.solve.sliding.told import status_of

# The shortest step, and one so short that velocities grow beyond all bounds, of the whole span.
_SMALLEST, _VANISHING = 1e-13, 1e-9
# No motion takes more steps than this, no end of a mode more parts.
_MOST_STEPS, _MOST_PARTS = 20_000, 200
# How far a corner may be passed over, at first and at most, of the whole span.
_THINNEST, _THICKEST = 1e-10, 1e-7
# Steps into which the span is cut at least, and looks at each for the end of a mode.
_LEAST_STEPS, _LOOKS = 50, 4
# What is off by less than this share satisfies a law.
_LAW = 1e-10
# After some changes their number over the whole span is foreseen: how many times too many end it.
_SOME, _FAR_TOO_MANY = 10, 5


class _Passed(Exception):
    """A stage of a step where the present mode does not exist any more."""


@dataclass(frozen=True)
class _Piece:
    """A stretch of time between two steps, and the mode that held on it."""

    first: float
    last: float
    dense: Any
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
        self.last: Answer | None = None
        self.touching = np.zeros(0, dtype=int)
        self.scale = 1.0

    # -- velocities -------------------------------------------------------------------------------

    def _held(
        self, t: float, q: np.ndarray, near: Answer, touching: np.ndarray
    ) -> tuple[Answer, Place]:
        """Return the answer in a fixed mode."""
        place = self.question.at(t, q, viscous=True, touching=touching)
        if np.any(self.question.rubs >= 0):
            found = same_mode(place.problem, self.question.pressed(place), near)
            if found is not None:
                return found, replace(place, problem=found.problem)
            outcome, place = solved(self.question, place, near, thorough=False)
            if outcome.word != "moves" or outcome.answer is None:
                raise _Passed
            return outcome.answer, place
        found = _newton(place.problem, self._warm(near)) or _newton(place.problem, near)
        if found is None:
            raise _Passed
        self.last = found
        return found, place

    def _warm(self, near: Answer) -> Answer:
        """Return the latest answer in the same mode."""
        last = self.last
        same = last is not None and last.stuck is near.stuck and last.working is near.working
        return last if same else near  # pyright: ignore[reportReturnType]

    def _rate(self, t: float, x: np.ndarray) -> np.ndarray:
        assert self.near is not None
        answer, place = self._held(t, x[: self.n], self.near, self.touching)
        return np.concatenate([answer.v, self._powers(answer, place)])

    def _powers(self, answer: Answer, place: Place) -> list[float]:
        """Return what friction takes and what is supplied."""
        p = place.problem
        here = (place.t, place.q, place.u, self.question.params)
        given = evaluated(self.question.sliding, "power")(*here, answer.v)[0]
        pumped = float(evaluated(self.question.sliding, "pumped")(*here)[0][0])
        taken = float(answer.y @ p.rates(answer.v))
        if p.viscous:
            taken += float(p.viscous(answer.v)[1] @ answer.v)
        drive = float(answer.y @ p.c - answer.lam @ p.b - answer.mu @ p.g)
        return [taken, float(given[1:].sum()) + drive + pumped]

    def _fits(self, t: float, q: np.ndarray) -> bool:
        """Tell whether the present mode is still right."""
        near = self.near
        assert near is not None
        try:
            answer, place = self._held(t, q, near, self.touching)
        except _Passed:
            return False
        apart = np.setdiff1d(np.arange(len(place.gap)), self.touching)
        if np.any(place.gap[apart] < 0):
            return False
        if _mended(answer)[0]:
            return False
        if np.any(self.question.rubs >= 0):
            same = np.array_equal(answer.stuck, near.stuck) and answer.right(_LAW)
            return bool(same and np.array_equal(answer.working, near.working))
        # What slides must not have turned round meanwhile.
        dry = (near.problem.power == 0) & ~near.stuck
        return bool(np.all(near.problem.sums(answer.y * near.y)[dry] > 0))

    def _mode(self, t: float, q: np.ndarray, near: Answer | None) -> None:
        """Find what sticks and what touches from here on."""
        place = self.question.at(t, q, viscous=True)
        outcome, place = solved(self.question, place, near if self._same(near, place) else None)
        if outcome.word in ("accelerates", "jammed") or outcome.answer is None:
            status = status_of(self.question, place, outcome.word, outcome)
            raise Ended(status, outcome, place)
        self.near, self.touching = outcome.answer, place.touching

    def _same(self, near: Answer | None, place: Place) -> bool:
        return near is not None and np.array_equal(self.touching, place.touching)

    # -- steps ------------------------------------------------------------------------------------

    def run(self, q: np.ndarray, grid: np.ndarray, many: int) -> Iterator[tuple]:
        """Yield time, state, answer and place at every time of the grid."""
        t, last = float(grid[0]), float(grid[-1])
        x = np.concatenate([q, [0.0, 0.0]])
        # A drive that starts at this very moment shows in a moment's time.
        nudge = 1e-9 * (last - t)
        self._mode(t, q, None)
        k = 0
        if not np.any(self.near.v):  # pyright: ignore[reportOptionalMemberAccess]
            still = self.near, self.touching
            self._mode(t + nudge, q, None)
            if np.any(self.near.v):  # pyright: ignore[reportOptionalMemberAccess]
                # It sets off at once: the first moment is over before anything has moved.
                moving = self.near, self.touching
                self.near, self.touching = still
                yield self._kept(t, x)
                self.near, self.touching = moving
                k, t = 1, t + nudge
                x = self._onto(t, x)
        whole = last - float(grid[0])
        h, changes, hair = whole / 100, 0, _THINNEST * whole
        self.scale = max(1.0, float(np.abs(q).max(initial=0.0)))
        pace = Pace(t, whole, 0.02)
        while True:
            while k < len(grid) and grid[k] <= t + 1e-13 * whole:
                yield self._kept(float(grid[k]), x)
                k += 1
            if k >= len(grid):
                return
            try:
                end, dense, h = self._step(t, x, last, min(h, last - t), whole / _LEAST_STEPS)
            except _Passed:
                h = h / 8
                if h < _VANISHING * whole:
                    # The mode ends right here: past it by a hair, and by a thicker one if need be.
                    hair = max(4 * hair, 16 * h)
                    t, x = self._past(t, x, hair, whole)
                    self._change(t, x, changes, many, (t - float(grid[0])) / whole)
                    changes, h = changes + 1, whole / 1000
                continue
            end, changed = self._held_until(t, end, dense)
            if changed:
                # Stages beyond the end of the mode have spoilt the step: once more, up to it.
                dense = self._up_to(t, x, end, 1e-4) or self._up_to(t, x, end, 1e-3) or dense
            self.steps += 1
            if self.steps > _MOST_STEPS or pace.stalls(end):
                raise Ended(Status("too many steps", f"stopped after {self.steps} steps"))
            self.show(t)
            self.pieces.append(_Piece(t, end, dense, self.near, self.touching))  # pyright: ignore[reportArgumentType]
            while k < len(grid) and grid[k] <= end:
                yield self._kept(float(grid[k]), dense(float(grid[k])))
                k += 1
            x = self._onto(end, dense(end))
            stood, t = end - t <= 2 * hair, end
            self._let_go(t, x[: self.n])
            if changed:
                # Past the corner by a hair, and by a thicker one if the same change is found again.
                hair = 4 * hair if stood else _THINNEST * whole
                if stood:
                    t, x = self._past(t, x, hair, whole)
                self._change(t, x, changes, many, (t - float(grid[0])) / whole)
                changes, h = changes + 1, min(max(h, 1e-6 * whole), whole / 100)
            elif h < _VANISHING * whole and t < last:
                raise self._jam(t, x)

    def _step(self, t: float, x: np.ndarray, last: float, h: float, longest: float):
        """Take one step in the present mode; return its end, the states along it and the next h."""
        from scipy.integrate import DOP853

        # Energies have kinks where something turns round, which say nothing about the motion.
        atol = np.append(np.full(self.n, 1e-2 * self.rtol * self.scale), [1e300, 1e300])
        solver = DOP853(
            self._rate, t, x, last, rtol=self.rtol, atol=atol, first_step=h, max_step=longest
        )
        if solver.step():
            raise _Passed
        return float(solver.t), solver.dense_output(), float(solver.h_abs)

    def _up_to(self, t: float, x: np.ndarray, end: float, rest: float) -> Any:
        """Return the states up to the end of a mode from a step that does not look beyond it.

        The last bit, where speeds may vanish and directions with them, is a straight line.
        """
        short = end - rest * (end - t)
        if not t < short < end:
            return None
        ends, states, h = [t], [], short - t
        try:
            while ends[-1] < short:
                if len(states) > _MOST_PARTS:
                    return None
                reached, dense, h = self._step(ends[-1], x, short, min(h, short - ends[-1]), h)
                x = dense(reached)
                ends.append(reached)
                states.append(dense)
            rate = self._rate(short, x)
        except _Passed:
            return None

        def along(at: float) -> np.ndarray:
            if at > short:
                return x + (at - short) * rate
            return states[max(0, int(np.searchsorted(ends, at)) - 1)](at)

        return along

    def _past(self, t: float, x: np.ndarray, hair: float, whole: float):
        """Go past a corner by a hair; give up where a hair is not enough."""
        if hair > _THICKEST * whole:
            message = f"found the same change again and again near t = {t:.6g}"
            raise Ended(Status("too many changes", f"{message}; increments follow better"))
        assert self.near is not None
        return t + hair, x + hair * np.concatenate([self.near.v, [0.0, 0.0]])

    def _let_go(self, t: float, q: np.ndarray) -> None:
        """Forget contacts that have opened by themselves."""
        near = self.near
        assert near is not None
        if near.working.all():
            return
        gap = self.question.at(t, q, touching=self.touching).gap[self.touching]
        kept = near.working | (gap <= 10 * TOUCHING * max(1.0, np.abs(q).max(initial=0.0)))
        if not kept.all():
            self.touching = self.touching[kept]
            place = self.question.at(t, q, viscous=True, touching=self.touching)
            self.near = replace(
                near, problem=place.problem, mu=near.mu[kept], working=near.working[kept]
            )
            self.last = None

    def _held_until(self, t: float, end: float, dense: Any) -> tuple[float, bool]:
        """Look along a step for the end of the mode: return where, and whether it ends."""
        before = t
        for at in np.linspace(t, end, _LOOKS + 1)[1:]:
            if not self._fits(float(at), dense(float(at))[: self.n]):
                return self._located(before, float(at), dense), True
            before = float(at)
        return end, False

    def _jam(self, t: float, x: np.ndarray) -> Ended:
        """Return the end of a motion whose velocities grow without bound."""
        place = self.question.at(t, x[: self.n], viscous=True, touching=self.touching)
        verdict = conflict(place.problem)
        message = f"velocities grow without bound near t = {t:.6g}"
        if verdict is None:
            return Ended(Status("undecided", message))
        outcome = Outcome("jammed", verdict=verdict)
        return Ended(status_of(self.question, place, "jammed", outcome), outcome, place)

    def _change(self, t: float, x: np.ndarray, changes: int, many: int, done: float) -> None:
        # A rope need not be followed to its fiftieth link to see that it has more of them.
        if changes >= many or (changes >= _SOME and changes > _FAR_TOO_MANY * many * done):
            message = f"found {changes} changes of what sticks up to t = {t:.6g}"
            raise Ended(Status("too many changes", f"{message}; increments follow better"))
        self.events.append(t)
        self._mode(t, x[: self.n], None)

    def _located(self, t: float, end: float, dense: Any) -> float:
        """Return the last time at which the mode holds."""
        low, high = t, end
        for _ in range(60):
            middle = (low + high) / 2
            if high - low <= 4e-16 * max(abs(low), abs(high), 1e-3 * (end - t)):
                break
            if self._fits(middle, dense(middle)[: self.n]):
                low = middle
            else:
                high = middle
        return low if low > t else min(end, t + max(4e-16 * abs(t), _SMALLEST * (end - t)))

    def _onto(self, t: float, x: np.ndarray) -> np.ndarray:
        """Move a state onto the constraints and the contacts that hold: by rounding's worth."""
        q = x[: self.n].copy()
        near = self.near
        assert near is not None
        for _ in range(4):
            place = self.question.at(t, q, touching=self.touching)
            p = place.problem
            holonomic = np.zeros(len(p.b), dtype=bool)
            for rows in self.question.layout.rows:
                holonomic[rows.places] = rows.holonomic
            off = np.concatenate(
                [np.where(holonomic, place.R, 0.0), place.gap[self.touching][near.working]]
            )
            if np.abs(off).max(initial=0.0) <= 2e-16 * max(1.0, np.abs(q).max(initial=0.0)):
                break
            q = q + least_move(p, near.working, off)
        return np.concatenate([q, x[self.n :]])

    def _kept(self, t: float, x: np.ndarray) -> tuple:
        x = self._onto(t, x)
        assert self.near is not None
        try:
            answer, place = self._held(t, x[: self.n], self.near, self.touching)
        except _Passed:
            place = self.question.at(t, x[: self.n], viscous=True, touching=self.touching)
            answer = self.near
        return t, x, answer, place

    def at(self, t: float) -> tuple:
        """Return state, answer and place at any time of the motion."""
        ends = [piece.last for piece in self.pieces]
        piece = self.pieces[min(int(np.searchsorted(ends, t)), len(ends) - 1)]
        self.near, self.touching = piece.near, piece.touching
        _, x, answer, place = self._kept(t, piece.dense(t))
        return x, answer, place
