"""The motion increment by increment: what springs and a great many changes need."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stationary.errors import StatementError
from stationary.result.status import Status
from stationary.solve.sliding.coulomb import limited
from stationary.solve.sliding.endings import Ended, Pace, ending, runaway
from stationary.solve.sliding.increment import (
    Failed,
    Increment,
    at_rest,
    everywhere,
    extrapolated,
    increment,
    stable,
)
from stationary.solve.sliding.principle import solved
from stationary.solve.sliding.problem import Answer, largest
from stationary.solve.sliding.question import Place, Question, evaluated
from stationary.solve.sliding.telling import status_of

_MOST_STEPS, _LONGEST_RUN = 200_000, 3600.0
# Change of a coordinate that halving an increment may make, relative to their size.
_COARSE = 1e-4
# So short an increment, of the whole span, is not cut any more; changes are located as closely.
_SHORTEST = 1e-9
# How far a change is passed over, of the whole span.
_HAIR = 1e-7
# An increment that goes so far, relative to the size of coordinates, may be a jump.
_LEAP = 1e-2
# What is extrapolated balances but for this share of the forces.
_BALANCED = 1e-5
# How far ahead, of the whole span, one looks for a reason where it ends.
_AHEAD = (1e-6, 1e-4)
# A start this close to a rest, relative to the size of coordinates, is one.
_CLOSE = 1e-6
# Up to so many coordinates changes are located.
_SMALL = 60
# So many changes are located; some of them tell how many there will be in all.
_MANY, _SOME = 50, 6


@dataclass(frozen=True)
class State:
    """Where it is, how fast it was, with what forces; and the energies up to there."""

    t: float
    q: np.ndarray
    v: np.ndarray
    answer: Answer | None
    place: Place
    lost: float
    given: float
    #: Forces of friction, of constraints and of contacts, where they are not those of the answer.
    forces: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None


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

    def __init__(
        self,
        question: Question,
        grid: np.ndarray,
        step: float | None,
        rtol: float,
        show: Callable[[float], None],
    ):
        self.question, self.grid, self.step, self.show = question, grid, step, show
        self.whole, self.coarse = float(grid[-1] - grid[0]), max(rtol, _COARSE)
        self.h = step or self.whole / max(100, len(grid) - 1)
        self.steps = self.cuts = 0
        self.shortest, self.changed, self.moment = np.inf, 0.0, 10 * _SHORTEST * self.whole
        self.events: list[float] = []
        #: Whether changes are located; what sticks, slides and touches, where that is known, and
        #: what did before the latest change; when it changes next; whether it has just changed.
        self.locates = step is None and question.system.size <= _SMALL
        self.mode: Any = None
        self.left: Any = None
        self.aim, self.fresh = np.inf, self.locates

    def begin(self, t: float, q: np.ndarray, lost: float, given: float) -> State:
        """Return the state at the start; it must be close to a rest."""
        place = self.question.at(t, q, viscous=True)
        outcome, _ = solved(self.question, place)
        near = outcome.answer if outcome.word in ("moves", "sticks") else None
        if outcome.word == "accelerates" and self._jumps(t, q):
            raise Ended(status_of(self.question, place, "accelerates", outcome), outcome, place)
        v = near.v if near is not None else np.zeros_like(q)
        answer = self._first(t, q) if near is None else everywhere(self.question, place, near)
        every = self.question.at(t, q, viscous=True, touching=np.arange(len(place.gap)))
        return State(t, q, v, answer, every, lost, given)

    def _first(self, t: float, q: np.ndarray) -> Answer | None:
        """Return the forces at a start that velocities do not tell: those a moment later."""
        try:
            return increment(self.question, t, _SHORTEST * self.whole, q, 0 * q, None).answer
        except Failed:
            return None

    def _jumps(self, t: float, q: np.ndarray) -> bool:
        """Tell whether a start that nothing holds is not even close to a rest."""
        moment = _SHORTEST * self.whole
        try:
            made = increment(self.question, t, moment, q, np.zeros_like(q), None)
        except Failed:
            return True
        return largest(made.q - q) > _CLOSE * max(1.0, largest(q))

    def run(self, here: State, k: int) -> Iterator[State]:
        """Yield the states at the times of the grid from the k-th on, and the last that is good."""
        pace, began = Pace(here.t, self.whole, 1e-3), time.monotonic()
        guess, v, kept = here.answer, here.v, here.t <= self.grid[k - 1]
        while k < len(self.grid):
            length = self._length(here.t, float(self.grid[k]))
            try:
                found = self._stride(here, length, v, guess)
            except Failed as why:
                self.cuts += 1
                if self.fresh:
                    # Past the change by a longer step, where a hair is not enough.
                    self.fresh, self.h = False, max(self.h, self.whole / 1000)
                elif length < 4 * _SHORTEST * self.whole:
                    if not kept:
                        yield here
                    raise self._ended(why, here) from None
                else:
                    self.h = length / 4
                # What it did before may mislead: every other time it is forgotten.
                known = self.cuts % 2 and here.answer is not None
                guess, v = (here.answer, here.v) if known else (None, np.zeros_like(v))
                continue
            if found is None or self._turns(here, length, found):
                continue
            here = self._after(here, found)
            guess, v, kept = here.answer, here.v, False
            self._located(here)
            if abs(here.t - self.grid[k]) <= 1e-12 * max(1.0, abs(here.t)):
                yield here
                k, kept = k + 1, True
            self.show(here.t)
            late = time.monotonic() - began > _LONGEST_RUN or self.steps > _MOST_STEPS
            if late or (self.step is None and pace.stalls(here.t)):
                if not kept:
                    yield here
                raise Ended(Status("too many steps", f"stopped after {self.steps} increments"))

    # -- one stride -------------------------------------------------------------------------------

    def _length(self, t: float, ahead: float) -> float:
        """Return the length of the next increment: equal parts of the way to the next stop."""
        if self.fresh:
            return min(_HAIR * self.whole, ahead - t)
        h = min(self.h, self.step or self.whole / 10)
        left = min(ahead, self.aim) - t
        return left / max(1.0, np.ceil(left / h - 1e-9))

    def _stride(
        self, here: State, length: float, v: np.ndarray, guess: Answer | None
    ) -> _Stride | None:
        """Take an increment, and two halves of it; None where these are too different."""
        question, t, q = self.question, here.t, here.q
        made = stable(question, t, length, q, v, guess)
        if self._leaps(here, made):
            raise Failed("too far")
        if self.step is not None:
            # After a cut the step that was asked for comes back by and by.
            self.h = 2 * length
            return _Stride(made, (made,))
        half = stable(question, t, length / 2, q, (made.q - q) / length, made.answer)
        rest = stable(question, half.t, length / 2, half.q, (half.q - q) / half.step, half.answer)
        size = max(1.0, largest(q))
        error = largest(rest.q - made.q) / size
        if error > self.coarse:
            if length < _SHORTEST * self.whole:
                raise Failed("too far")
            self.h, self.fresh = length * max(0.2, 0.8 * self.coarse / error), False
            return None
        if not self.fresh:
            growth = min(2.0, 0.8 * np.sqrt(self.coarse / max(error, 1e-300)))
            self.h = max(length * max(growth, 0.5), self.h if length < 0.5 * self.h else 0.0)
        self.changed += size * error
        better = extrapolated(question, q, made, half, rest)
        return _Stride(made, (half, rest), better)

    def _leaps(self, here: State, made: Increment) -> bool:
        """Tell whether it goes as far in almost no time: a rest far away that inertia leads to."""
        far, size = largest(made.q - here.q), max(1.0, largest(here.q))
        p = made.answer.problem
        damped = np.any(p.power > 0) or not self.question.system.dissipation.is_zero
        if damped or far <= max(_LEAP * size, 10 * made.step * largest(here.v)):
            return False
        if made.step <= _AHEAD[0] * self.whole:
            return True
        try:
            none = np.zeros_like(here.q)
            short = increment(self.question, here.t, 1e-3 * made.step, here.q, none, here.answer)
        except Failed:
            # From where it is no way leads there.
            return True
        return largest(short.q - here.q) > far / 2

    def _after(self, here: State, found: _Stride) -> State:
        """Return the state at the end of a stride, with the energies that it took and was given."""
        t, q, v, place, answer = here.t, here.q, here.v, here.place, here.answer
        taken = fed = 0.0
        for piece in found.pieces:
            self.steps += 1
            self.shortest = min(self.shortest, piece.step)
            shares = self._energies((t, q, place, answer), piece)
            taken, fed = taken + shares[0], fed + shares[1]
            v, q, t = (piece.q - q) / piece.step, piece.q, piece.t
            place, answer = piece.place, piece.answer
        forces, speed = None, v
        if found.better is not None and answer is not None:
            # All that balances at the ends of a whole increment and of its halves is extrapolated.
            speed = 2 * v - (found.whole.q - here.q) / found.whole.step
            forces = _ahead(answer, found.whole.answer)
            if not self._balances(replace(found.pieces[-1], q=found.better), speed, forces):
                forces = None
        if found.better is not None and forces is not None:
            v, q = speed, found.better
            whole = self._energies((here.t, here.q, here.place, here.answer), found.whole)
            # What drags is as coarse as the velocities, of order one; the rest is of order two.
            dry = self.question.system.dissipation.is_zero and not place.problem.drags
            share = 1 / 3 if dry else 1.0
            taken, fed = (x + share * (x - w) for x, w in zip((taken, fed), whole))
        return State(t, q, v, answer, place, here.lost + taken, here.given + fed, forces)

    def _balances(self, end: Increment, v: np.ndarray, forces: tuple[np.ndarray, ...]) -> bool:
        """Tell whether extrapolated forces balance, and keep to their limits, where they lead."""
        every = np.arange(len(end.place.gap))
        place = self.question.at(end.t, end.q, viscous=True, touching=every)
        problem = limited(place.problem, self.question.rubs, forces[2])
        made = replace(end.answer, problem=problem, v=v, y=forces[0], lam=forces[1], mu=forces[2])
        return max(made.residual["force"], made.residual["friction"]) <= _BALANCED

    def _energies(self, start: tuple, piece: Increment) -> tuple[float, float]:
        """Return what friction took over an increment, and what loads and drives gave."""
        t, q, place, before = start
        after = piece.answer
        moved, p = piece.q - q, after.problem
        r = p.speeds(p.rates(after.v))
        dry = p.power == 0
        size = (
            p.size if before is None else np.where(dry, (p.size + before.problem.size) / 2, p.size)
        )
        taken = float(np.sum(size * r ** (p.power + 1)))
        if piece.place.problem.viscous is not None and not self.question.system.dissipation.is_zero:
            taken += float(self._damped(piece, moved / piece.step) @ moved)
        ends = [(piece.t, piece.q, piece.place.u, after)]
        if before is not None:
            ends.append((t, q, place.u, before))
        return taken, float(np.mean([self._given(*end, moved, piece.step) for end in ends]))

    def _damped(self, piece: Increment, v: np.ndarray) -> np.ndarray:
        given = (piece.t, piece.q, piece.place.u, self.question.params)
        return evaluated(self.question.sliding, "viscous")(*given, v)[1]

    def _given(
        self, t: float, q: np.ndarray, u: np.ndarray, a: Answer, moved: np.ndarray, h: float
    ) -> float:
        """Return what loads, pushers and conveyors give on a way, by their forces at a place."""
        sliding, here = self.question.sliding, (t, q, u, self.question.params)
        power = evaluated(sliding, "power")(*here, moved)[0]
        _, c, _, _, _ = evaluated(sliding, "slips")(*here)
        _, b, _, _, g, _ = evaluated(sliding, "holds")(*here)
        drive = float(a.y @ c - a.lam @ b - a.mu @ g) * h
        pumped = float(evaluated(sliding, "pumped")(*here)[0][0]) * h
        return float(power[1:].sum()) + drive + pumped

    # -- changes ----------------------------------------------------------------------------------

    def _turns(self, here: State, length: float, found: _Stride) -> bool:
        """Aim at the time where something starts or stops to slide or to touch, if it does."""
        if self.mode is None or self.aim < np.inf:
            return False
        end = found.pieces[-1]
        same = all(_mode(piece.answer) == self.mode for piece in (*found.pieces, found.whole))
        if same and not self._turned(end.t, end.q, (end.q - here.q) / length, end.answer):
            return False
        if self._too_many(here.t):
            self.locates, self.mode = False, None
            return False
        low, high = 0.0, length
        while high - low > _SHORTEST * self.whole:
            middle = (low + high) / 2
            low, high = (middle, high) if self._keeps(here, middle) else (low, middle)
        self.aim = here.t + low
        if low <= 2 * _SHORTEST * self.whole:
            self._arrive(here.t)
        return True

    def _keeps(self, here: State, length: float) -> bool:
        """Tell whether nothing changes over an increment, nor in a moment after it."""
        question, t, q = self.question, here.t, here.q
        try:
            made = increment(question, t, length, q, here.v, here.answer, same=True)
            if _mode(made.answer) != self.mode:
                return False
            v = (made.q - q) / length
            made = increment(question, made.t, self.moment, made.q, v, made.answer, same=True)
        except Failed:
            return False
        stable = runaway(question, made.t, made.q, made.answer) is None
        return stable and _mode(made.answer) == self.mode

    def _turned(self, t: float, q: np.ndarray, v: np.ndarray, answer: Answer) -> bool:
        """Tell whether something that slides along a line has turned, as a moment after it shows.

        Over an increment only where it leads counts, and not that it went farther meanwhile.
        """
        try:
            made = increment(self.question, t, self.moment, q, v, answer, same=True)
        except Failed:
            return False
        return _mode(made.answer)[1] != self.mode[1]

    def _too_many(self, t: float) -> bool:
        """Tell whether changes are too many to be located, or crowd at one place."""
        known, done = len(self.events), (t - float(self.grid[0])) / self.whole
        crowd = known > 2 and t - self.events[-3] < 1000 * _HAIR * self.whole
        return crowd or known >= _MANY or (known >= _SOME and known > 2 * _MANY * done)

    def _arrive(self, t: float) -> None:
        # What turns stops for a moment: one change.
        if not self.events or t - self.events[-1] > 10 * _HAIR * self.whole:
            self.events.append(t)
        self.left, self.mode, self.aim, self.fresh = self.mode, None, np.inf, True

    def _located(self, here: State) -> None:
        """Note a change that is reached, or what is new behind one."""
        fresh, self.fresh = self.fresh, False
        if here.t >= self.aim - 1e-14 * max(1.0, abs(here.t)):
            self._arrive(here.t)
        elif self.mode is None and self.locates:
            found = _mode(here.answer)
            # What starts too slowly to be seen in a hair is seen after a whole step.
            self.mode = None if fresh and found == self.left else found

    # -- endings ----------------------------------------------------------------------------------

    def _ended(self, found: Failed, here: State) -> Ended:
        """Return why no increment is found any more: by what holds, and by what brings it back."""
        question, t, q = self.question, here.t, here.q
        there = None
        for share in _AHEAD:
            moment = share * self.whole
            ahead = q + moment * here.v
            if largest(ahead - q) < _COARSE * max(1.0, largest(q)):
                there = solved(question, question.at(t + moment, ahead, viscous=True))
                if there[0].word in ("jammed", "accelerates"):
                    break
        if there is None:
            there = solved(question, question.at(t, q, viscous=True))
        soon = q + _AHEAD[0] * self.whole * here.v
        told = there if there[0].word == "jammed" else None
        if told is None and here.answer is not None:
            told = ending(question, t, q, soon, here.answer)
        known = found.outcome is not None and found.outcome.word not in ("moves", "sticks")
        if told is None and not known and there[0].word == "accelerates":
            told = there
        outcome, place = told or ((found.outcome, found.place) if known else (None, None))
        if outcome is not None and place is not None:
            verdict = outcome.verdict
            moved = largest(here.v) * self.whole > _CLOSE * max(1.0, largest(q))
            if moved and verdict is not None and verdict.stiffness and verdict.ray is not None:
                # It runs away the way it went.
                ray = verdict.ray * (-1.0 if verdict.ray @ here.v < 0 else 1.0)
                outcome = replace(outcome, verdict=replace(verdict, ray=ray))
            return Ended(status_of(question, place, outcome.word, outcome), outcome, place)
        if isinstance(found.__cause__, StatementError):
            raise found.__cause__
        words = {
            "too far": "the next rest is far away: it jumps, which only inertia can follow",
            "too many steps": "the minimum over an increment was not reached",
        }
        word = found.word
        return Ended(Status(word, words.get(word, f"the solver stopped: {word}")))


def _ahead(halves: Answer, whole: Answer) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the forces to which ever shorter increments lead; what slides has its limit."""
    y, lam, mu = (
        2 * a - b for a, b in ((halves.y, whole.y), (halves.lam, whole.lam), (halves.mu, whole.mu))
    )
    p, mu = halves.problem, np.where(halves.working, np.maximum(mu, 0.0), 0.0)
    size = 2 * halves.resists - whole.resists
    far = p.speeds(y)
    slides = ~at_rest(halves) & (p.power == 0) & (far > 0)
    share = np.divide(size, far, out=np.ones(len(far)), where=slides)
    # What sticks stays within its limit.
    full = ~slides & (p.power == 0) & (far > p.size)
    share = np.divide(p.size, far, out=share, where=full)
    return y * share[p.term], lam, mu


def _mode(answer: Answer | None) -> Any:
    """Return what sticks, which way the rest slides along lines, and what touches."""
    if answer is None:
        return None
    p = answer.problem
    slides = (p.size > 0) & ~at_rest(answer)
    along = np.where(answer.rates[p.starts] > 0, 1, -1) * (slides & (p.widths == 1))
    return slides.tobytes(), along.tobytes(), answer.working.tobytes()
