"""The motion as an initial value problem, phase by phase: what every kind of phase shares."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from stationary.solve.sliding.over_time.phase import AbstractPhase, Passed
from stationary.solve.sliding.over_time.runge import stage_by_stage
from stationary.solve.sliding.over_time.stretch import State, Stretch, located
from stationary.solve.sliding.problem.question import Question
from stationary.solve.sliding.telling.endings import Ended

# A step so short that velocities grow beyond all bounds, of the whole span.
_VANISHING = 1e-9
# Steps into which the span is cut at least, and looks at a doubtful one for the end of a mode.
_LEAST_STEPS, _LOOKS = 10, 8
# So close to the end of a mode, of the whole span, the rest of the way is straight.
_STRAIGHT = 2e-6
# What velocities add up to may be off by this share of the lengths.
_ADDS = 1e-8
# Velocities that leap go no farther in the span than so many lengths at work.
_SUDDEN = 1e3
# An energy beside which any is exact.
_ANY = 1e300
# Digits of a way that are none.
_DIGITS = 1e-13

#: States at times, one per column where these are many.
Dense = Callable[[Any], np.ndarray]


P = TypeVar("P", bound=AbstractPhase)


class AbstractFlow(ABC, Generic[P]):
    """The motion as an initial value problem, phase by phase."""

    # Changes this close are one; no motion takes more steps, nor so many that lead nowhere.
    apart, most_steps, pace, yields = 0.0, 20_000, 0.0, False
    # The longest step behind a change, of the whole span.
    first_step = 0.01

    def __init__(self, question: Question, span: tuple[float, float], rtol: float):
        self.question, self.rtol, self.known = question, rtol, question.known
        self.n, self.last = question.system.size, span[1]
        self.whole = span[1] - span[0]
        self.steps, self.h = 0, self.whole / 100
        #: Moves that matter, and energies; these have kinks where something turns round, which say
        #: nothing about the motion.
        self.lengths, self.energy = np.zeros(self.n), _ANY
        #: By how much rounding of places changes what they decide.
        self.digits = 0.0
        #: Where it is, in which phase.
        self.t, self.x = span[0], np.zeros(self.n + 2)
        self.phase: P
        #: Why it goes no further, if it does not.
        self._ended: Ended | None = None
        #: The length of the latest step, and what it was off by.
        self.before: tuple[float, float] | None = None

    @abstractmethod
    def latest(self) -> State | None:
        """Return the latest state that was reached, if its forces can be relied on."""

    @abstractmethod
    def change(self, t: float, x: np.ndarray, rate: np.ndarray) -> None:
        """Find the mode beyond the end of the present one, and where it begins."""

    @abstractmethod
    def jam(self, t: float, x: np.ndarray) -> Ended:
        """Return the end of a motion whose velocities grow without bound."""

    @property
    def until(self) -> float:
        """Up to where a step may lead: where what is stated in time switches or peaks."""
        return min(self.known.after(self.t)[0], self.last)

    @property
    def scale(self) -> float:
        """The time in which things change: the span, or less within a pulse."""
        return min(self.whole, _LEAST_STEPS * self.known.apart(self.t))

    def went(self) -> None:
        """Note that a step has ended in its mode."""

    def stretch(self, until: float) -> Stretch:
        """Take a step in the present mode, and find the next one where it ends; `until` is free."""
        if self._ended is not None:
            raise self._ended
        first, phase, planned = self.t, self.phase, self.h
        stop, switches = self.known.after(first)
        end, dense, self.h, ends = self._stretch(first, self.x)
        self.steps += 1
        known, change = phase.known, None
        self.t, self.x = end, self._onto(end, dense(end))
        x, rate, came = self.x, 0 * self.x, (end, self.x)
        if end >= stop:
            # The length of a step that ends at a time known before tells nothing of the next.
            self.h, self.before = max(self.h, planned), None
        if ends and end < self.last:
            rate = phase.last_rate(end, x)
        elif switches and end >= stop:
            # Over the switch on the way it went: beyond it another mode may hold.
            rate, over = phase.last_rate(end, x), 2 * self.known.room
            self.t, self.x = end, x = end + over, x + over * rate
            ends = phase.holds(end, x) < 0
            self.h = min(self.h, self.first_step * self.scale)
        if ends and end < self.last:
            try:
                self.change(end, x, rate)
                change = end if self.phase.mode != phase.mode else None
            except Ended as why:
                # No motion leads on from there: it has come as far as to there.
                (self.t, self.x), self.phase, self._ended = came, phase, why
                end, x = came
            self.before = None
            self.h = min(max(self.h, self.scale / 1000), self.first_step * self.scale)
        elif not ends:
            self.went()
        after = self.phase

        def at(times: np.ndarray) -> list[State]:
            # What was known where the step ended leads to any other time of it.
            phase.recall(known)
            return [told(*every) for every in zip(times.tolist(), dense(times).T)]

        def told(t: float, on_the_way: np.ndarray) -> State:
            if t <= came[0]:
                return phase.state(t, on_the_way)
            there = x + (t - end) * rate
            # At a switch itself the statement says on which side that is.
            before = t <= end and after.holds(t, there) < 0 <= phase.holds(t, there)
            return (phase if before else after).state(t, there)

        final = self._ended is not None
        return Stretch(first, self.t, at, change, known=True, final=final)

    def _stretch(self, t: float, x: np.ndarray) -> tuple[float, Dense, float, bool]:
        """Take a step in the present mode, up to its end; tell whether it ends there.

        Return its end, the states along it, the length of the next one, and that.
        """
        phase, last, h = self.phase, self.until, self.h
        scale, longest = self.scale, self.whole / _LEAST_STEPS
        while True:
            phase.least = np.inf
            try:
                left = phase.foreseen(t, x, h, scale)
                if left < _STRAIGHT * scale:
                    return self._straight(t, x, min(left, last - t))
                h = min(h, 0.95 * left)
                end, dense, ahead = self._step(t, x, min(h, last - t), longest)
            except Passed:
                left = phase.left(t, x, h, scale)
                if h < _VANISHING * scale:
                    return self._over_leap(t, x)
                if left < _STRAIGHT * scale:
                    return self._straight(t, x, min(left, last - t))
                h = min(h / 4, 0.95 * left)
                continue
            if ahead < _VANISHING * scale and end < last:
                if self.energy < _ANY:
                    # Forces that grow without bound may be all that does: they end a mode.
                    self.energy, h = _ANY, 2 * _VANISHING * scale
                    continue
                return self._over_leap(t, x)
            lasts = phase.least >= 0 and phase.holds(end, dense(end)) >= 0
            ends = None if lasts else self._located(t, end, dense)
            if ends is None:
                return end, dense, ahead, False
            there, smoothly = ends
            if smoothly:
                return there, dense, ahead, True
            # Stages beyond a jump have spoilt the step: up to it by shorter ones.
            left = min(there - t, phase.left(t, x, there - t, scale))
            if left < _STRAIGHT * scale:
                return self._straight(t, x, left)
            h = longest = 0.95 * left

    def _onto(self, t: float, x: np.ndarray) -> np.ndarray:
        """Move a state onto all that holds; beyond a jump that is somewhere else."""
        moved = self.phase.onto(t, x)
        off = np.abs(moved - x)[: self.n]
        small = max(self.rtol, _ADDS) * self.lengths + 1024 * np.spacing(np.abs(x[: self.n]))
        return moved if np.all(off <= small) else x

    def _smoothly(self, t: float, dense: Dense) -> bool:
        """Tell whether a mode that ends is still there beyond its end, as smooth as before."""
        later = t + 1e-9 * self.scale
        return -1e-6 < self.phase.holds(later, dense(later)) < 1e-6

    def _straight(self, t: float, x: np.ndarray, left: float) -> tuple[float, Dense, float, bool]:
        """Go the last bit of a mode, where speeds vanish and directions with them, on a line."""
        rate = self.phase.last_rate(t, x)

        def along(at: Any) -> np.ndarray:
            return (x + np.multiply.outer(at - t, rate)).T

        return t + max(left, 4e-16 * abs(t)), along, self.scale / 1000, True

    def _over_leap(self, t: float, x: np.ndarray) -> tuple[float, Dense, float, bool]:
        """Go up to a kink of the statement, beyond which all may be otherwise, or tell of a jam."""
        leap = self._leap(t, x)
        if leap is None:
            raise self.jam(t, x)
        return self._straight(t, x, leap - t)

    def _leap(self, t: float, x: np.ndarray) -> float | None:
        """Return the time at which velocities leap a moment later, as at a kink of the statement.

        None where they do not: where they grow without bound they do so by and by.
        """
        rate, high = self.phase.last_rate(t, x), t + _STRAIGHT * self.scale

        def off(at: float) -> float:
            try:
                ahead = self.phase.rate(at, x + (at - t) * rate)
            except Passed:
                return np.inf
            return float(np.max(np.abs(ahead - rate)[: self.n] / self.lengths))

        far, fast = off(high), float(np.max(np.abs(rate)[: self.n] / self.lengths))
        if not max(far, fast) * self.scale < _SUDDEN:
            # What is as fast is at the end of its reach.
            return None
        finest = max(4 * np.finfo(float).eps * max(abs(t), abs(high)), 1e-300)
        low = located(lambda at: far / 2 - off(at), t, high, finest)
        leaps = off(low + 2 * finest) > off(low) + far / 2
        return self._short_of(low, t) if leaps else None

    def _short_of(self, leap: float, first: float) -> float:
        """Return a time before a leap: at the last one rounding decides on which side of it."""
        return max(leap - self.known.room, first)

    def _step(
        self, t: float, x: np.ndarray, h: float, longest: float
    ) -> tuple[float, Dense, float]:
        """Take one step in the present mode; return its end, the states along it and the next h."""
        # Moves since the step began are judged beside lengths: how far the origin is, says nothing.
        near = 1e-2 * self.rtol * self.lengths + 8 * np.spacing(np.abs(x[: self.n]))
        energy = max(self.rtol, 16 * self.digits) * self.energy
        small = np.append(near, np.full(2, max(energy, 1e-300)))
        h, most = min(h, longest), 10.0
        while True:
            end = min(t + h, self.until)
            h = end - t
            step = self.phase.tried(t, x, h) or stage_by_stage(self.phase.rate, t, x, h)
            error = step.error(h, small + _DIGITS * np.abs(step.along(1.0)))
            growth = 0.9 * max(error, 1e-16) ** (-1 / 8)
            if error < 1:
                break
            h, most = h * max(1 / 3, growth if most > 1 else growth**2), 1.0
            if h < 10 * np.spacing(abs(t)):
                raise Passed
        if self.before is not None:
            # Steps that became shorter go on to.
            length, known = self.before
            growth *= min(1.0, h / length * (known / max(error, 1e-2)) ** (1 / 8))
        self.before = h, max(error, 1e-2)
        self.phase.accept(step)
        ahead = min(h * min(most, growth), longest)
        return end, lambda at: (x + step.along((at - t) / h)).T, ahead

    def _located(self, t: float, end: float, dense: Dense) -> tuple[float, bool] | None:
        """Return the time at which the mode ends on a step, and whether it does so smoothly.

        None where it does not end.
        """
        before = t
        for at in np.linspace(t, end, _LOOKS + 1)[1:]:
            left = self.phase.holds(float(at), dense(float(at)))
            if left < 0:
                return self._root(t, before, float(at), left, dense)
            before = float(at)
        return None

    def _root(
        self, first: float, low: float, high: float, left: float, dense: Dense
    ) -> tuple[float, bool]:
        """Return the first time at which the mode does not hold any more, and whether smoothly.

        It holds from the first time to the low one and has `left` less than nothing at the high
        one. Where it ends with a jump shorter steps lead closer, and its end is told roughly.
        """
        phase = self.phase
        finest = max(4 * np.finfo(float).eps * max(abs(low), abs(high)), 1e-300)
        holds = phase.holds(low, dense(low))
        if holds <= 0:
            return low, self._smoothly(low, dense)
        fall = holds - left
        while high - low > max(0.02 * (low - first), finest):
            middle = (low + high) / 2
            there = phase.holds(middle, dense(middle))
            if there >= 0:
                low, holds = middle, there
            else:
                high, left = middle, there
        # All the fall within next to no time is a jump.
        if left == -np.inf or holds - left > 0.5 * fall:
            return self._short_of(low, first), False
        root = located(lambda t: phase.holds(t, dense(t)), low, high, finest)
        return root, self._smoothly(root, dense)
