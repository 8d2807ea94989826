"""The motion increment by increment: what springs and a great many changes need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from stationary.errors import StatementError
from stationary.result.status import Status
from stationary.solve.sliding.coulomb.pressed import limited
from stationary.solve.sliding.instant.least_power import solved
from stationary.solve.sliding.over_time.increment import (
    Failed,
    Increment,
    at_rest,
    everywhere,
    extrapolated,
    increment,
    stable,
)
from stationary.solve.sliding.over_time.stretch import Forces, State, Stretch, located, powers_at
from stationary.solve.sliding.problem.measure import Measure
from stationary.solve.sliding.problem.mode import Mode
from stationary.solve.sliding.problem.numbers import Answer, largest
from stationary.solve.sliding.problem.question import Place, Question
from stationary.solve.sliding.telling.endings import Ended, ending, runaway
from stationary.solve.sliding.telling.step import status_of

# Change of a coordinate that halving an increment may make, relative to the lengths at work.
_COARSE = 1e-4
# So short an increment, of the whole span, is not cut any more; changes are located as closely.
_SHORTEST = 1e-9
# How far a change is passed over, of the whole span.
_HAIR = 1e-7
# An increment that goes so far, relative to the lengths at work, may be a jump.
_LEAP = 1e-2
# What is extrapolated balances but for this share of the forces.
_BALANCED = 1e-5
# How far ahead, of the whole span, one looks for a reason where it ends.
_AHEAD = (1e-6, 1e-4)
# So near, relative to the lengths at work, what is ahead tells about where it is.
_NEAR = 1e-3
# A start this close to a rest, relative to the lengths at work, is one.
_CLOSE = 1e-6
# Up to so many coordinates changes are located.
_SMALL = 60
# So many changes are located; some of them tell how many there will be in all.
_MANY, _SOME = 50, 6
# A move of so many last digits is none.
_STILL = 16 * np.finfo(float).eps


@dataclass(frozen=True)
class _Stride:
    """A whole increment and its halves, or one alone; where ever shorter ones would lead."""

    whole: Increment
    pieces: tuple[Increment, ...]
    better: np.ndarray | None = None


class Strides:
    """Increments over a grid of times, of a length that was asked for or as long as they may be.

    Those of free length stop where something starts or stops to slide or to touch, while that
    happens a few times.
    """

    # Changes this close are one: what turns stops for a moment. No motion takes more steps.
    apart, most_steps = 10 * _HAIR, 200_000

    def __init__(
        self,
        question: Question,
        grid: np.ndarray,
        step: float | None,
        rtol: float,
        events: Sequence[float],
    ):
        self.question, self.step, self.events = question, step, events
        self.first, self.whole = float(grid[0]), float(grid[-1] - grid[0])
        self.coarse, self.pace = max(rtol, _COARSE), 1e-3 if step is None else 0.0
        self.h = step or self.whole / max(100, len(grid) - 1)
        self.steps = self.cuts = 0
        self.shortest, self.changed, self.moment = np.inf, 0.0, 10 * _SHORTEST * self.whole
        #: Where it is; and what it does, as far as that leads on.
        self.here: State
        self.guess: Answer | None = None
        self.v = np.zeros(0)
        #: Whether changes are located; what sticks, slides and touches, where that is known, and
        #: what did before the latest change; whether it has just changed.
        self.locates = step is None and question.system.size <= _SMALL
        self.mode: Mode | None = None
        self.left: Mode | None = None
        self.fresh = self.locates
        #: When another way of following it ended, until it shows whether something changed then.
        self.taken_over: float | None = None
        #: Whether increments have told how fast it is: where another way of following it ended,
        #: velocities may have grown without bound.
        self.paced = True
        #: Whether a mode has just become clear, so that another way may lead on.
        self.yields = False

    def begin(self, t: float, q: np.ndarray, lost: float, given: float) -> State:
        """Return the state at the start; it must be close to a rest."""
        place = self.question.at(t, q, viscous=True)
        outcome, _ = solved(self.question, place)
        near = outcome.answer if outcome.word in ("moves", "sticks") else None
        soon = self._soon(t, q) if near is None else None
        far = soon is None or Measure(self.question, soon.place).far(soon.q - q) > _CLOSE
        if outcome.word == "accelerates" and far:
            # A start that nothing holds is not even close to a rest.
            raise Ended(status_of(self.question, place, "accelerates", outcome), outcome, place)
        v, answer = np.zeros_like(q), soon and soon.answer
        if near is not None:
            v, answer = near.v, everywhere(self.question, place, near)
        place = self.question.with_all_contacts(t, q)
        return State(t, q, v, lost, given, lambda: (answer, place))

    def _soon(self, t: float, q: np.ndarray) -> Increment | None:
        """Return where a start leads in a moment, if that is found."""
        try:
            return increment(self.question, t, _SHORTEST * self.whole, q, 0 * q, None)
        except Failed:
            return None

    def enter(self, here: State, ended: bool = False) -> None:
        """Go on from a state; from one where another way of following it `ended`, in its mode."""
        self.here, self.guess, self.v, self.yields = here, here.answer, here.v, False
        self.paced = not ended
        if ended and self.locates and here.answer is not None:
            self.left, self.taken_over = self._mode(here), here.t
            self.mode, self.fresh = None, True

    def latest(self) -> State | None:
        """Return where it is."""
        return self.here

    def stretch(self, until: float) -> Stretch:
        """Take a stride: to a time, to a change, or as far as one may lead."""
        while True:
            here = self.here
            length = self._length(here.t, min(until, self.question.known.after(here.t)[0]))
            try:
                stride = self._stride(here, length, self.v, self.guess)
                change = self._turns(here, length, stride)
                if change is not None and change > here.t + 2 * _SHORTEST * self.whole:
                    stride = self._stride(here, change - here.t, self.v, self.guess)
                    change = None if stride is None else change
                elif change is not None:
                    stride = None
            except Failed as why:
                self._cut(length, why)
                continue
            if stride is not None:
                self.enter(self._after(here, stride))
            if stride is not None or change is not None:
                end, change = self.here, self._noted(change)
                return Stretch(here.t, end.t, lambda t: [end] * len(t), change)

    def _cut(self, length: float, why: Failed) -> None:
        """Go on by a shorter increment where one was not found, or end."""
        here = self.here
        self.cuts += 1
        if self.fresh:
            # Past the change by a longer step, where a hair is not enough.
            self.fresh, self.h = False, max(self.h, self.whole / 1000)
        elif length < 4 * _SHORTEST * self.whole:
            raise self._ended(why, here) from None
        else:
            self.h = length / 4
        # What it did before may mislead: every other time it is forgotten.
        known = self.cuts % 2 and here.answer is not None
        self.guess, self.v = (here.answer, here.v) if known else (None, np.zeros_like(here.v))

    # -- one stride -------------------------------------------------------------------------------

    def _length(self, t: float, ahead: float) -> float:
        """Return the length of the next increment: equal parts of the way to the next stop."""
        if self.fresh:
            return min(_HAIR * self.whole, ahead - t)
        h = min(self.h, self.step or self.whole / 10)
        return (ahead - t) / max(1.0, np.ceil((ahead - t) / h - 1e-9))

    def _stride(
        self, here: State, length: float, v: np.ndarray, guess: Answer | None
    ) -> _Stride | None:
        """Take an increment, and two halves of it; None where these are too different."""
        question, t, q = self.question, here.t, here.q
        whole = stable(question, t, length, q, v, guess)
        if self._leaps(here, whole):
            raise Failed("too far")
        if self.step is not None:
            # After a cut the step that was asked for comes back by and by.
            self.h = 2 * length
            return _Stride(whole, (whole,))
        half = stable(question, t, length / 2, q, (whole.q - q) / length, whole.answer)
        rest = stable(question, half.t, length / 2, half.q, (half.q - q) / half.step, half.answer)
        error = Measure(self.question, whole.place).far(rest.q - whole.q)
        if error > self.coarse:
            if length < _SHORTEST * self.whole:
                raise Failed("too far")
            self.h, self.fresh = length * max(0.2, 0.8 * self.coarse / error), False
            return None
        if not self.fresh:
            growth = min(2.0, 0.8 * np.sqrt(self.coarse / max(error, 1e-300)))
            self.h = max(length * max(growth, 0.5), self.h if length < 0.5 * self.h else 0.0)
        self.changed += largest(rest.q - whole.q)
        better = extrapolated(question, q, whole, half, rest)
        return _Stride(whole, (half, rest), better)

    def _leaps(self, here: State, step: Increment) -> bool:
        """Tell whether it goes as far in almost no time: a rest far away that inertia leads to."""
        measure = Measure(self.question, step.place)
        far = measure.far(step.q - here.q)
        p = step.answer.problem
        damped = np.any(p.power > 0) or not self.question.system.dissipation.is_zero
        pace = measure.far(here.v) if self.paced else 0.0
        if damped or far <= max(_LEAP, 10 * step.step * pace):
            return False
        if step.step <= _AHEAD[0] * self.whole:
            return True
        try:
            none = np.zeros_like(here.q)
            short = increment(self.question, here.t, 1e-3 * step.step, here.q, none, here.answer)
        except Failed:
            # From where it is no way leads there.
            return True
        return measure.far(short.q - here.q) > far / 2

    def _after(self, here: State, stride: _Stride) -> State:
        """Return the state at the end of a stride, with the energies that it took and was given."""
        t, q, v, place, answer = here.t, here.q, here.v, here.place, here.answer
        taken = fed = 0.0
        for piece in stride.pieces:
            self.steps += 1
            self.shortest = min(self.shortest, piece.step)
            there = self.question.with_all_contacts(piece.t, piece.q)
            shares = self._energies(q, place, answer, piece, there)
            taken, fed = taken + shares[0], fed + shares[1]
            v, q, t = (piece.q - q) / piece.step, piece.q, piece.t
            place, answer = there, piece.answer
        forces, speed = None, v
        if stride.better is not None and answer is not None:
            # All that balances at the ends of a whole increment and of its halves is extrapolated;
            # where several forces would hold what holds, these need not lead anywhere.
            speed = 2 * v - (stride.whole.q - here.q) / stride.whole.step
            sticks = at_rest(self.question, place, answer)
            tried = _ahead(answer, stride.whole.answer, sticks), answer.forces
            end = replace(stride.pieces[-1], q=stride.better)
            forces = next((x for x in tried if self._balances(end, speed, x)), None)
        if stride.better is not None and forces is not None:
            v, q = speed, stride.better
            place, end = (self.question.with_all_contacts(t, x) for x in (q, stride.whole.q))
            whole = self._energies(here.q, here.place, here.answer, stride.whole, end)
            # What drags is as coarse as the velocities, of order one; the rest is of order two.
            dry = self.question.system.dissipation.is_zero and not place.problem.drags
            share = 1 / 3 if dry else 1.0
            taken, fed = (x + share * (x - w) for x, w in zip((taken, fed), whole))
        # What has moved by rounding's worth has not.
        size = np.maximum(np.abs(q), self.question.lengths(place))
        v = np.where(np.abs(v) * stride.whole.step <= _STILL * size, 0.0, v)
        lost, given = here.lost + taken, here.given + fed
        return State(t, q, v, lost, given, lambda: (answer, place), forces)

    def _balances(self, end: Increment, v: np.ndarray, forces: Forces) -> bool:
        """Tell whether extrapolated forces balance, and keep to their limits, where they lead."""
        y, lam, mu = forces
        place = self.question.with_all_contacts(end.t, end.q)
        problem = limited(place.problem, self.question.rubs, mu)
        answer = replace(end.answer, problem=problem, v=v, y=y, lam=lam, mu=mu)
        return max(answer.residual["force"], answer.residual["friction"]) <= _BALANCED

    def _energies(
        self, q: np.ndarray, place: Place, before: Answer | None, piece: Increment, end: Place
    ) -> tuple[float, float]:
        """Return what friction took over an increment, and what loads and drives gave.

        The increment goes from a configuration, with the answer there, to the place at its end.
        """
        after, v = piece.answer, (piece.q - q) / piece.step
        p = after.problem
        size = p.size
        if before is not None:
            size = np.where(p.power == 0, (p.size + before.problem.size) / 2, p.size)
        taken = float(np.sum(size * after.speeds ** (p.power + 1)))
        if end.problem.viscous is not None:
            taken += float(end.problem.viscous(v)[1] @ v) * piece.step
        ends = [(end, after)] if before is None else [(end, after), (place, before)]
        given = [powers_at(self.question, x, v, a.forces)[1] for x, a in ends]
        return taken, float(np.mean(given)) * piece.step

    # -- changes ----------------------------------------------------------------------------------

    def _turns(self, here: State, length: float, stride: _Stride | None) -> float | None:
        """Return when something starts or stops to slide or to touch on a stride, if it does."""
        if self.mode is None or stride is None:
            return None
        end = stride.pieces[-1]
        same = all(self._mode(piece) == self.mode for piece in (*stride.pieces, stride.whole))
        if same and not self._turned(end.t, end.q, (end.q - here.q) / length, end.answer):
            return None
        if self._too_many(here.t):
            self.locates, self.mode = False, None
            return None
        return here.t + located(
            lambda h: 1.0 if not h or (h < length and self._keeps(here, h)) else -1.0,
            0.0, length, _SHORTEST * self.whole,
        )  # fmt: skip

    def _keeps(self, here: State, length: float) -> bool:
        """Tell whether nothing changes over an increment, nor in a moment after it."""
        question, t, q = self.question, here.t, here.q
        try:
            step = increment(question, t, length, q, here.v, here.answer, same=True)
            if self._mode(step) != self.mode:
                return False
            v = (step.q - q) / length
            step = increment(question, step.t, self.moment, step.q, v, step.answer, same=True)
        except Failed:
            return False
        stable = runaway(question, step.t, step.q, step.answer) is None
        return stable and self._mode(step) == self.mode

    def _turned(self, t: float, q: np.ndarray, v: np.ndarray, answer: Answer) -> bool:
        """Tell whether something that slides along a line has turned, as a moment after it shows.

        Over an increment only where it leads counts, and not that it went farther meanwhile.
        """
        try:
            step = increment(self.question, t, self.moment, q, v, answer, same=True)
        except Failed:
            return False
        return self.mode is not None and self._mode(step).along != self.mode.along

    def _too_many(self, t: float) -> bool:
        """Tell whether changes are too many to be located, or crowd at one place."""
        known, done = len(self.events), (t - self.first) / self.whole
        crowd = known > 2 and t - self.events[-3] < 1000 * _HAIR * self.whole
        return crowd or known >= _MANY or (known >= _SOME and known > 2 * _MANY * done)

    def _noted(self, change: float | None) -> float | None:
        """Note a change, or what is new behind one; return when it changed."""
        fresh, self.fresh = self.fresh, change is not None
        if change is not None:
            self.left, self.mode = self.mode, None
        elif self.mode is None and self.locates:
            mode = self._mode(self.here)
            # What starts too slowly to be seen in a hair is seen after a whole step.
            self.mode = None if fresh and mode == self.left else mode
            # Another way may lead on from here.
            self.yields = self.mode is not None and self.left is not None
            if self.taken_over is not None and self.mode is not None:
                change = self.taken_over if mode != self.left else None
                self.taken_over = None
        return change

    def _mode(self, end: Increment | State) -> Mode:
        """Return what sticks, which way the rest slides along lines, and what touches."""
        assert end.answer is not None
        return Mode.of(end.answer, sticks=at_rest(self.question, end.place, end.answer))

    # -- endings ----------------------------------------------------------------------------------

    def _ended(self, failed: Failed, here: State) -> Ended:
        """Return why no increment is found any more: by what holds, and by what brings it back."""
        question, t, q = self.question, here.t, here.q
        there = None
        for share in _AHEAD:
            moment = share * self.whole
            ahead = q + moment * here.v
            if Measure(self.question, here.place).far(ahead - q) < _NEAR:
                there = solved(question, question.at(t + moment, ahead, viscous=True))
                if there[0].word in ("jammed", "accelerates"):
                    break
        if there is None:
            there = solved(question, question.at(t, q, viscous=True))
        end = there if there[0].word == "jammed" else None
        for share in _AHEAD:
            soon = q + share * self.whole * here.v
            near = share == _AHEAD[0] or Measure(self.question, here.place).far(soon - q) < _NEAR
            if end is None and here.answer is not None and near:
                end = ending(question, t, q, soon, here.answer)
        known = failed.outcome is not None and failed.outcome.word in ("accelerates", "jammed")
        if end is None and not known and there[0].word == "accelerates":
            end = there
        outcome, place = end or ((failed.outcome, failed.place) if known else (None, None))
        if outcome is not None and place is not None:
            ray, far = outcome.ray, Measure(question, here.place).far(here.v * self.whole)
            if far > _CLOSE and outcome.stiffness and ray is not None:
                # It runs away the way it went.
                outcome = replace(outcome, ray=-ray if ray @ here.v < 0 else ray)
            return Ended(status_of(question, place, outcome.word, outcome), outcome, place)
        if isinstance(failed.__cause__, StatementError):
            raise failed.__cause__
        words = {
            "too far": "the next rest is far away: it jumps, which only inertia can follow",
            "too many steps": "the minimum over an increment was not reached",
        }
        word = failed.word
        return Ended(Status(word, words.get(word, f"the solver stopped: {word}")))


def _ahead(halves: Answer, whole: Answer, sticks: np.ndarray) -> Forces:
    """Return the forces to which ever shorter increments lead; what slides has its limit."""
    y, lam, mu = (2 * a - b for a, b in zip(halves.forces, whole.forces))
    p, mu = halves.problem, np.where(halves.working, np.maximum(mu, 0.0), 0.0)
    size = 2 * halves.resists - whole.resists
    far = p.speeds(y)
    slides = ~sticks & (p.power == 0) & (far > 0)
    share = np.divide(size, far, out=np.ones(len(far)), where=slides)
    # What sticks stays within its limit.
    full = ~slides & (p.power == 0) & (far > p.size)
    share = np.divide(p.size, far, out=share, where=full)
    return y * share[p.term], lam, mu
