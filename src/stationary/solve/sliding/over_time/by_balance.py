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

import numpy as np
from scipy.linalg import lstsq
from scipy.linalg.lapack import dgetrf, dgetrs

from stationary.solve.sliding.convex.judge import roomiest, several
from stationary.solve.sliding.over_time.balance_equations import equations_of, sizes_of
from stationary.solve.sliding.over_time.phase import AbstractPhase, Look, Passed
from stationary.solve.sliding.over_time.runge import NODES, Tried, looked
from stationary.solve.sliding.over_time.stretch import State
from stationary.solve.sliding.problem.mode import Mode
from stationary.solve.sliding.problem.numbers import Answer
from stationary.solve.sliding.problem.question import Place, Question

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
# Shorter steps, of the whole span, are integrated.
_SHORT = 1e-4
# Up to so many unknowns one looks whether forces are shared; rows that depend on others but for
# this share do, and what has less room left than that is full.
_FEW_UNKNOWNS, _DEPENDENT, _FULL = 120, 1e-9, 1e-6


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
        contacts = np.arange(question.sliding.gaps)
        stuck, works = numbers.stuck > 0, numbers.works > 0
        super().__init__(question, numbers.value, stuck, works, contacts)
        self.numbers, self.lengths, self.digits = numbers, lengths, digits
        self.whole, self.clear = whole, max(_CLEAR, _DIGITS * digits)
        self._still = _ROUNDING * lengths / whole
        self._equations = equations_of(question)
        given = (numbers.stuck, numbers.sign, numbers.works, numbers.along, numbers.confined)
        self._given = np.concatenate([*given, lengths, [whole, self.clear, energy]])
        #: The sign of the slope, which turns where a rest is lost.
        self.turns = 0.0
        #: Whether nothing is free in its plane: what the balance decides at any time by itself.
        free = ~question.narrow & (numbers.stuck == 0) & (numbers.confined == 0)
        self.placed = not free.any()
        self._factors: tuple[np.ndarray, np.ndarray] | None = None
        self._sign, self._order = 0.0, np.arange(sum(sizes_of(question.sliding)))

    def begun(self, look: Look) -> ByBalance:
        """Go on from a look in this mode."""
        self.known, self.turns = [look], look.turns
        return self

    # -- one time ---------------------------------------------------------------------------------

    def near(self, t: float, q: np.ndarray, near: Look) -> Look | None:
        """Find place, forces and velocity at a time, from a place and from forces nearby.

        What slides in a plane is at that place but for how far it is along its force.
        """
        question, n = self.question, self.n
        z = near.led(t)
        assert self._equations is not None
        equations, weighed, shifts, aims = self._equations
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
        changes = -units * change
        if (np.abs(changes[:n]) <= self._still).all():
            changes[:n] = 0.0
        evidence = weighed(t, z, *fixed, changes)[0]
        if not isfinite(np.add.reduce(evidence)):
            return None
        least = float(np.minimum.reduce(evidence[2:], initial=np.inf))
        rate = np.concatenate([changes[:n], evidence[:2]])
        return Look(t, z, rate, least, changes, evidence[2:], self._sign)

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
        answer, place = self.there(look)
        # Friction that follows pressure is not shared, nor where it is about to.
        rubbing = (self.question.rubs >= 0) & (place.problem.size > 0)
        follows = bool(np.any(self.numbers.works[self.question.rubs[rubbing]] > 0))
        self.shares = not follows and several(answer)
        return self.shares

    def there(self, look: Look) -> tuple[Answer, Place]:
        """Return a look as an answer where it is."""
        place = self.place(look.t, look.z[: self.n])
        return self.answer(look, place), place

    def room(self, look: Look) -> tuple[Look, float]:
        """Return a look with forces shared so that all has most room left, and that room."""
        best, room = roomiest(self.there(look)[0])
        forces = np.concatenate(best.forces)
        z = np.concatenate([look.z[: self.n], forces, look.z[self.n + len(forces) :]])
        return look._replace(z=z), room

    def search(self, t: float, q: np.ndarray) -> Look:
        """Look at a time and a place, from what is known nearest."""
        look = self.near(t, q, min(self.known, key=lambda look: abs(look.t - t)))
        if look is None or look.turns != self.turns:
            raise Passed
        if look.margin >= 0 or self.shares:
            # Beyond its end a mode may have answers that do not belong to it.
            self.remember(look)
        return look

    @property
    def decided(self) -> bool:
        """Whether place and forces at a time are the same wherever one looks from."""
        return self.placed and not self.shares

    def margin(self, look: Look, q: np.ndarray | None = None) -> float:
        """Return by how much the mode holds at a look, by whatever forces."""
        if not self.shares or look.margin >= 0:
            return look.margin
        # What slides and what is open have margins that no sharing of forces changes.
        numbers = self.numbers
        rest = look.margins[np.append(numbers.stuck == 0, numbers.works == 0)]
        return min(self.room(look)[1], float(rest.min(initial=np.inf)))

    def full(self, look: Look, answer: Answer) -> bool:
        """Tell whether forces that are shared are to be shared otherwise at a look."""
        return look.margin < 0

    def misfits(self, look: Look) -> np.ndarray:
        """Tell which terms and contacts do not fit the mode at a look.

        Where forces are shared, what is full however that is done does not stick.
        """
        wrong = look.margins < 0
        if self.shares and look.margin < 0:
            best, room = self.room(look)
            answer = self.there(best)[0]
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

    def tried(self, t: float, x: np.ndarray, h: float) -> Tried | None:
        """Try a step over which places are known by their balance: energies alone add up.

        None where it would be short, as where velocities grow without bound, or lead elsewhere.
        """
        if not self.decided or h < _SHORT * self.whole:
            return None
        times = t + h * (1 + NODES) / 2
        looks, near = [], x[: self.n]
        for at, ahead in zip(times, np.diff(times, append=times[-1])):
            looks.append(self.look(float(at), near))
            near = looks[-1].z[: self.n] + ahead * looks[-1].rate[: self.n]
        moves = np.array([look.z[: self.n] for look in looks]) - x[: self.n]
        step, led = looked(moves, np.array([look.rate for look in looks]), h)
        # What velocities add up to tells of leaps.
        least = min(look.margin for look in looks)
        return replace(step, margin=least) if self.close(led - moves) else None

    # -- states -----------------------------------------------------------------------------------

    def onto(self, t: float, x: np.ndarray) -> np.ndarray:
        """Return the state in balance, which velocities are to have led to."""
        try:
            look = self.look(t, x[: self.n])
        except Passed:
            return x
        place = look.z[: self.n]
        # From there one sees the same.
        self.see(look, t, place)
        return np.concatenate([place, x[self.n :]])

    def told(self, look: Look, t: float, x: np.ndarray, tells: bool = False) -> State:
        """Return a look as a state where it is: with its place and its time all balances."""
        return super().told(look, look.t, np.append(look.z[: self.n], x[self.n :]), tells)

    def reaches(self, t: float, x: np.ndarray) -> bool:
        """Tell whether a state is in balance: what velocities add up to tells of leaps."""
        return self.close((self.onto(t, x) - x)[: self.n])

    def close(self, off: np.ndarray) -> bool:
        """Tell whether differences of places, one set per row, are none."""
        return bool(np.all(np.abs(off) <= (_ADDS + _DIGITS * self.digits) * self.lengths))


def _square(entries: np.ndarray) -> np.ndarray:
    """Return a matrix whose columns come one after the other."""
    size = isqrt(len(entries))
    return entries.reshape(size, size).T
