"""Phases in which forces decide: springs with dry friction along lines and in planes.

In a mode what sticks stays where it is, what slides along a line has a force that is known, and
what slides in a plane has a force as large as it can be, along which it goes. Where all that holds
leaves it one way to go in the plane, that is a line, too. One set of compiled equations tells place
and forces at any time, and how they change; but for what is free in its plane nothing has to be
integrated. A mode ends where what sticks is full, what slides stops, what holds pulls or what is
open closes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite, isqrt
from typing import Any

import numpy as np
from scipy.linalg import lstsq
from scipy.linalg.lapack import dgetrf, dgetrs

from stationary.solve.sliding.convex.judge import roomiest, several
from stationary.solve.sliding.coulomb.pressed import limited
from stationary.solve.sliding.over_time.balance_equations import equations_of, sizes_of
from stationary.solve.sliding.over_time.flow import AbstractPhase, Passed
from stationary.solve.sliding.over_time.stretch import State
from stationary.solve.sliding.problem.mode import Mode
from stationary.solve.sliding.problem.numbers import Answer
from stationary.solve.sliding.problem.question import Question
from stationary.solve.sliding.telling.along import Kept, kept_of

_MOST_STEPS = 8
# From so many unknowns on equations are solved by factors of a slope nearby, refined so often.
_REFINED, _REFINEMENTS = 40, 4
# What is off by this share of the forces and lengths at work is rounding; what is more is no place.
_ROUNDING, _RIGHT = 1e-14, 1e-11
# What sticks may be fuller than its limit, slide back or pull by this share, or by so many times
# the rounding of the places.
_CLEAR, _DIGITS = 1e-10, 16
# What velocities add up to over a step may differ from the place by this share of the lengths.
_ADDS = 1e-8
# Up to so many unknowns one looks whether forces are shared; rows that depend on others but for
# this share do, and what has less room left than that is full.
_FEW_UNKNOWNS, _DEPENDENT, _FULL = 120, 1e-9, 1e-6
# At so many times, as many as a step looks at, unknowns are remembered.
_KNOWN = 16


@dataclass(frozen=True)
class Numbers:
    """A mode as numbers: what sticks and where, which way the rest slides, and what holds."""

    stuck: np.ndarray
    sign: np.ndarray
    works: np.ndarray
    along: np.ndarray
    #: What slides in a plane but can go one way alone: 1 or −1 as an aim of it leads.
    confined: np.ndarray

    def grips(self, rubs: np.ndarray) -> np.ndarray:
        """Tell which terms hold: what sticks, unless what presses it, by `rubs`, is open."""
        return (self.stuck > 0) & np.append(self.works > 0, True)[rubs]

    @property
    def value(self) -> Mode:
        """The mode itself, wherever it sticks."""
        return Mode(*(part.tobytes() for part in (self.stuck, self.sign, self.works)))


@dataclass(frozen=True)
class Look:
    """A time in a mode: unknowns, their rates, margins, powers, and the sign of the slope."""

    t: float
    z: np.ndarray
    rate: np.ndarray
    margins: np.ndarray
    taken: float
    given: float
    turns: float
    #: The least margin: below zero the mode has ended.
    least: float = np.inf

    def led(self, t: float) -> np.ndarray:
        """Return where unknowns would be at another time."""
        return self.z + (t - self.t) * self.rate


class ByBalance(AbstractPhase):
    """A phase in which places and forces follow from their balance."""

    def __init__(
        self,
        question: Question,
        numbers: Numbers,
        lengths: np.ndarray,
        whole: float,
        energy: float,
        digits: float,
    ):
        self.question, self.numbers, self.mode = question, numbers, numbers.value
        self.n, self.lengths, self.digits = question.system.size, lengths, digits
        self.whole, self.clear = whole, max(_CLEAR, _DIGITS * digits)
        self._still = _ROUNDING * lengths / whole
        self._equations = equations_of(question)
        given = (numbers.stuck, numbers.sign, numbers.works, numbers.along, numbers.confined)
        self._given = np.concatenate([*given, lengths, [whole, self.clear, energy]])
        #: Looks at the latest times, and the sign of the slope, which turns where a rest is lost.
        self.known: list[Look] = []
        self.turns = 0.0
        #: Whether several forces would hold what holds and sticks: then it is held as long as any.
        self.shares = False
        widths = np.diff(np.append(question.starts, question.sliding.rates))
        #: Whether nothing is free in its plane: what the balance decides at any time by itself.
        self.placed = not np.any((widths > 1) & (numbers.stuck == 0) & (numbers.confined == 0))
        self._factors: tuple[np.ndarray, np.ndarray] | None = None
        sizes = sizes_of(question.sliding)
        self._sign, self._order, self._last_force = 0.0, np.arange(sum(sizes)), sum(sizes[:4])
        self._latest: tuple[float, np.ndarray, Look] | None = None

    def begun(self, look: Look) -> ByBalance:
        """Go on from a look in this mode."""
        self.known, self.turns = [look], look.turns
        return self

    # -- one time ---------------------------------------------------------------------------------

    def look(self, t: float, q: np.ndarray, near: Look) -> Look | None:
        """Find place, forces and velocity at a time, from a place and from forces nearby.

        What slides in a plane is at that place but for how far it is along its force.
        """
        question, n = self.question, self.n
        z = near.led(t)
        assert self._equations is not None
        equations, says, shifts, aims = self._equations
        z[:n], z[shifts], best = q, 0.0, np.inf
        aim = near.z[aims]
        if len(aim):
            aim = aim / max(float(np.abs(aim).max()), 1e-300)
        fixed = (question.drives.slots(t), question.params, self._given, q, aim)
        # What is held twice is held where modes end: a little apart.
        right = 2 * self.clear if self.shares else max(_RIGHT, 4 * self.digits)
        for _ in range(_MOST_STEPS):
            left, slope, by_time, units = equations(t, z, *fixed)
            error = float(np.maximum.reduce(np.abs(left), initial=0.0))
            if not isfinite(error):
                return None
            if error <= _ROUNDING or (error <= right and error >= 0.1 * best):
                break
            best, move = min(best, error), self._solved(_square(slope), left)
            if move is None:
                return None
            z = z - units * move
        else:
            return None
        change = self._solved(_square(slope), by_time)
        if change is None:
            return None
        rate = -units * change
        if (np.abs(rate[:n]) <= self._still).all():
            rate[:n] = 0.0
        told = says(t, z, *fixed, rate)[0]
        if not isfinite(np.add.reduce(told)):
            return None
        least = float(np.minimum.reduce(told[2:], initial=np.inf))
        taken, given = told[:2].tolist()
        return Look(t, z, rate, told[2:], taken, given, self._sign, least)

    def _solved(self, slope: np.ndarray, left: np.ndarray) -> np.ndarray | None:
        """Solve equations with a slope; forces that are shared change least."""
        if self.shares:
            self._sign = 1.0
            return np.asarray(lstsq(slope, left, cond=max(_DEPENDENT, 64 * self.digits))[0])
        if self._factors is not None and len(left) > _REFINED:
            # Factors of a slope nearby lead there, which costs less than new ones.
            x = dgetrs(*self._factors, left)[0]
            for _ in range(_REFINEMENTS):
                off = left - slope @ x
                if np.abs(off).max() <= _ROUNDING * np.abs(left).max():
                    return x
                x = x + dgetrs(*self._factors, off)[0]
        factors, pivots, singular = dgetrf(slope)
        if singular:
            return None
        swaps = np.count_nonzero(pivots != self._order)
        self._sign = -1.0 if (swaps + np.count_nonzero(factors.diagonal() < 0)) % 2 else 1.0
        self._factors = factors, pivots
        return dgetrs(factors, pivots, left)[0]

    def measured(self, look: Look) -> tuple[np.ndarray, float]:
        """Return the slope, and by how much rounding of places changes what they decide."""
        assert self._equations is not None
        fixed = (self.question.drives.slots(look.t), self.question.params, self._given)
        q, aim = look.z[: self.n], look.z[self._equations[3]]
        _, slope, by_time, units = self._equations[0](look.t, look.z, *fixed, q, aim)
        slope = _square(slope)
        off = np.abs(slope[:, : self.n]) @ (np.spacing(np.abs(q)) / units[: self.n])
        off = off + np.abs(by_time) * np.spacing(abs(look.t))
        return slope, float(np.max(off, initial=0.0))

    def decides(self, look: Look) -> bool:
        """Tell whether the mode decides all forces at a look, or which of them are shared."""
        if not len(look.z) <= _FEW_UNKNOWNS:
            return True
        values = np.linalg.svd(self.measured(look)[0], compute_uv=False)
        if values[-1] > max(_DEPENDENT, 64 * self.digits) * values[0]:
            return True
        state = self.state_of(look)
        # Friction that follows pressure is not shared, nor where it is about to.
        rough = (self.question.rubs >= 0) & (state.place.problem.size > 0)
        follows = bool(np.any(self.numbers.works[self.question.rubs[rough]] > 0))
        self.shares = state.answer is not None and not follows and several(state.answer)
        return self.shares

    def room(self, look: Look) -> tuple[Look, float]:
        """Return a look with forces shared so that all has most room left, and that room."""
        answer = self.state_of(look).answer
        assert answer is not None
        best, room = roomiest(answer)
        z = look.z.copy()
        forces = np.concatenate(best.forces)
        z[self.n : self.n + len(forces)] = forces
        return replace(look, z=z), room

    def _seen(self, t: float, x: np.ndarray) -> Look:
        """Look at a state, from what is known nearest; a second time it is known."""
        latest, decided = self._latest, self.decided
        if latest is not None and latest[0] == t:
            if decided or np.array_equal(latest[1], x[: self.n]):
                return latest[2]
        near = min(self.known, key=lambda look: abs(look.t - t))
        look = self.look(t, x[: self.n], near)
        if look is None or look.turns != self.turns:
            raise Passed
        if look.least >= 0 or self.shares:
            # Beyond its end a mode may have answers that do not belong to it.
            self.known = [*self.known[1 - _KNOWN :], look]
        self._latest = t, x[: self.n], look
        return look

    @property
    def decided(self) -> bool:
        """Whether place and forces at a time are the same wherever one looks from."""
        return self.placed and not self.shares

    def rate(self, t: float, x: np.ndarray) -> np.ndarray:
        """Return the rate of a state."""
        return self.placed_rate(t, x)[1]

    def placed_rate(self, t: float, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the place in balance at a state, and the rate of the state."""
        look = self._seen(t, x)
        self.least = min(self.least, look.least)
        return look.z[: self.n], self._rate(look)

    def latest_rate(self, t: float, x: np.ndarray) -> np.ndarray:
        """Return the rate at the latest look."""
        return self._rate(self.known[-1])

    def _rate(self, look: Look) -> np.ndarray:
        return np.concatenate([look.rate[: self.n], [look.taken, look.given]])

    def holds(self, t: float, x: np.ndarray) -> float:
        """Return by how much the mode holds at a state: below zero it has ended."""
        try:
            return self.margin(self._seen(t, x))
        except Passed:
            return -np.inf

    def margin(self, look: Look) -> float:
        """Return by how much the mode holds at a look, by whatever forces."""
        return self.room(look)[1] if self.shares and look.least < 0 else look.least

    def misfits(self, look: Look) -> np.ndarray:
        """Tell which terms and contacts do not fit the mode at a look.

        Where forces are shared, what is full however that is done does not stick.
        """
        wrong = look.margins < 0
        if self.shares and look.least < 0:
            best, room = self.room(look)
            answer = self.state_of(best).answer
            assert answer is not None
            full = answer.resists >= answer.problem.size * (1 - max(-2 * room, _FULL))
            terms = len(self.numbers.stuck)
            wrong[:terms] = np.where(self.numbers.stuck > 0, full, wrong[:terms])
            wrong[terms:] &= self.numbers.works == 0
        return wrong

    def idle(self, look: Look) -> np.ndarray:
        """Tell which terms slide by name alone, since all that sticks and holds keeps them."""
        terms = len(self.numbers.stuck)
        idle = (self.numbers.stuck == 0) & (look.margins[:terms] <= 2 * self.clear)
        if not idle.any() or len(look.z) > _FEW_UNKNOWNS:
            return np.zeros(len(look.margins), dtype=bool)
        place = self.question.at(
            look.t, look.z[: self.n], touching=np.arange(len(look.margins) - terms)
        )
        B, A, G = (x * self.lengths for x in place.problem.matrices)
        term, works = place.problem.term, self.numbers.works > 0
        held = np.vstack([A, G[works], B[self.numbers.grips(self.question.rubs)[term]]])
        held = held / np.maximum(np.linalg.norm(held, axis=1), 1e-300)[:, None]
        rest = B - B @ np.linalg.pinv(held, _DEPENDENT) @ held
        free = np.linalg.norm(rest, axis=1) > 64 * (_DEPENDENT + self.digits) * np.linalg.norm(
            B, axis=1
        )
        moves = np.zeros(terms, dtype=bool)
        np.logical_or.at(moves, term, free)
        return np.append(idle & ~moves, np.zeros(len(look.margins) - terms, dtype=bool))

    # -- states -----------------------------------------------------------------------------------

    def onto(self, t: float, x: np.ndarray) -> np.ndarray:
        """Return the state in balance, which velocities are to have led to."""
        try:
            place = self._seen(t, x).z[: self.n]
        except Passed:
            return x
        return np.concatenate([place, x[self.n :]])

    def reaches(self, t: float, x: np.ndarray) -> bool:
        """Tell whether a state is in balance: what velocities add up to tells of leaps."""
        return self.near((self.onto(t, x) - x)[: self.n])

    def near(self, off: np.ndarray) -> bool:
        """Tell whether differences of places, one set per row, are none."""
        return bool(np.all(np.abs(off) <= (_ADDS + _DIGITS * self.digits) * self.lengths))

    def state(self, t: float, x: np.ndarray) -> State:
        """Return what is told of a state."""
        try:
            look = self._seen(t, x)
        except Passed:
            look = self.known[-1]
        if self.shares and look.least < 0:
            look = self.room(look)[0]
        return self.state_of(look, *x[self.n :])

    def kept(self, t: float, x: np.ndarray) -> Kept | None:
        """Return what is kept of a state, with its evidence, where no forces are shared."""
        if self.shares:
            return None
        try:
            look = self._seen(t, x)
        except Passed:
            return None
        q, v, forces = look.z[: self.n], look.rate[: self.n], look.z[self.n : self._last_force]
        return kept_of(self.question, t, np.concatenate([q, x[self.n :]]), v, forces)

    def state_of(self, look: Look, lost: float = 0.0, given: float = 0.0) -> State:
        """Return a look as a state, with its answer."""
        question, numbers = self.question, self.numbers
        q, y, lam, mu, *_ = np.split(look.z, np.cumsum(sizes_of(question.sliding)))
        v = look.rate[: self.n]
        place = question.with_all_contacts(look.t, q)
        problem = limited(place.problem, question.rubs, mu)
        answer = Answer(problem, v, y, lam, mu, numbers.stuck > 0, numbers.works > 0, "Newton")
        return State(look.t, q, v, answer, place, lost, given)

    def remembered(self) -> Any:
        """Return what leads on from where it is."""
        return self.known

    def recall(self, known: Any) -> None:
        """Go back to where something was known."""
        self.known = known


def _square(entries: np.ndarray) -> np.ndarray:
    """Return a matrix whose columns come one after the other."""
    size = isqrt(len(entries))
    return entries.reshape(size, size).T
