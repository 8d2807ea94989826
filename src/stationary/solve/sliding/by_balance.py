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
from math import isfinite
from typing import Any

import numpy as np
from scipy.linalg import lstsq
from scipy.linalg.lapack import dgetrf, dgetrs

from stationary.result.status import Status
from stationary.solve.sliding.along import Told
from stationary.solve.sliding.balance_equations import equations_of, sizes_of
from stationary.solve.sliding.coulomb import limited
from stationary.solve.sliding.endings import Ended, runaway
from stationary.solve.sliding.flow import AbstractFlow, AbstractPhase, Passed
from stationary.solve.sliding.judge import roomiest, several
from stationary.solve.sliding.mode import Mode
from stationary.solve.sliding.problem import Answer
from stationary.solve.sliding.question import Question, evaluated
from stationary.solve.sliding.stretch import State

_MOST_STEPS = 8
# From so many unknowns on equations are solved by factors of a slope nearby, refined so often.
_REFINED, _REFINEMENTS = 40, 4
# What is off by this share of the forces and lengths at work is rounding; what is more is no place.
_ROUNDING, _RIGHT = 1e-14, 1e-11
# What sticks may be fuller than its limit, slide back or pull by this share, or by so many times
# the rounding of the places.
_CLEAR, _DIGITS = 1e-10, 16
# How far beyond a change one looks for the next mode, of the whole span.
_AHEAD = (1e-7, 1e-6, 1e-5, 1e-4)
# How often what does not fit is turned into its opposite there.
_ROUNDS = 12
# What velocities add up to over a step may differ from the place by this share of the lengths.
_ADDS = 1e-8
# No velocity leads farther over the whole span than so many lengths at work.
_FAST = 3.0
# Up to so many unknowns one looks whether forces are shared; rows that depend on others but for
# this share do, and what has less room left than that is full.
_FEW_UNKNOWNS, _DEPENDENT, _FULL = 120, 1e-9, 1e-6
# At so many times, as many as a step looks at, unknowns are remembered.
_KNOWN = 16


@dataclass(frozen=True)
class _Numbers:
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
class _Look:
    """A time in a mode: unknowns, their rates, margins, powers, and the sign of the slope."""

    t: float
    z: np.ndarray
    rate: np.ndarray
    margins: np.ndarray
    taken: float
    given: float
    turns: float

    def led(self, t: float) -> np.ndarray:
        """Return where unknowns would be at another time."""
        return self.z + (t - self.t) * self.rate

    @property
    def least(self) -> float:
        """The least margin: below zero the mode has ended."""
        return float(self.margins.min(initial=np.inf))


class ByBalance(AbstractPhase):
    """A phase in which places and forces follow from their balance."""

    def __init__(
        self,
        question: Question,
        numbers: _Numbers,
        lengths: np.ndarray,
        whole: float,
        energy: float,
        digits: float,
    ):
        self.question, self.numbers, self.mode = question, numbers, numbers.value
        self.n, self.lengths, self.digits = question.system.size, lengths, digits
        self.whole, self.clear = whole, max(_CLEAR, _DIGITS * digits)
        self._equations = equations_of(question)
        given = (numbers.stuck, numbers.sign, numbers.works, numbers.along, numbers.confined)
        self._given = np.concatenate([*given, lengths, [whole, self.clear, energy]])
        #: Looks at the latest times, and the sign of the slope, which turns where a rest is lost.
        self.known: list[_Look] = []
        self.turns = 0.0
        #: Whether several forces would hold what holds and sticks: then it is held as long as any.
        self.shares = False
        self._factors: tuple[np.ndarray, np.ndarray] | None = None
        self._sign, self._order = 0.0, np.arange(sum(sizes_of(question.sliding)))
        self._latest: tuple[float, np.ndarray, _Look] | None = None

    def begun(self, look: _Look) -> ByBalance:
        """Go on from a look in this mode."""
        self.known, self.turns = [look], look.turns
        return self

    # -- one time ---------------------------------------------------------------------------------

    def look(self, t: float, q: np.ndarray, near: _Look) -> _Look | None:
        """Find place, forces and velocity at a time, from a place and from forces nearby.

        What slides in a plane is at that place but for how far it is along its force.
        """
        question, n = self.question, self.n
        z = near.led(t)
        assert self._equations is not None
        equations, says, shifts, aims = self._equations
        z[:n], z[shifts], best = q, 0.0, np.inf
        aim = near.z[aims] / max(float(np.abs(near.z[aims]).max(initial=0.0)), 1e-300)
        fixed = (question.drives.slots(t), question.params, self._given, q, aim)
        # What is held twice is held where modes end: a little apart.
        right = 2 * self.clear if self.shares else max(_RIGHT, 4 * self.digits)
        for _ in range(_MOST_STEPS):
            left, slope, by_time, units = equations(t, z, *fixed)
            error = float(np.abs(left).max(initial=0.0))
            if not isfinite(error):
                return None
            if error <= _ROUNDING or (error <= right and error >= 0.1 * best):
                break
            best, move = min(best, error), self._solved(slope, left)
            if move is None:
                return None
            z = z - units * move
        else:
            return None
        change = self._solved(slope, by_time)
        if change is None:
            return None
        rate = -units * change
        if np.all(np.abs(rate[:n]) * self.whole <= _ROUNDING * self.lengths):
            rate[:n] = 0.0
        told = says(t, z, *fixed, rate)[0]
        if not isfinite(told.sum()):
            return None
        return _Look(t, z, rate, told[2:], float(told[0]), float(told[1]), self._sign)

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

    def measured(self, look: _Look) -> tuple[np.ndarray, float]:
        """Return the slope, and by how much rounding of places changes what they decide."""
        assert self._equations is not None
        fixed = (self.question.drives.slots(look.t), self.question.params, self._given)
        q, aim = look.z[: self.n], look.z[self._equations[3]]
        _, slope, by_time, units = self._equations[0](look.t, look.z, *fixed, q, aim)
        off = np.abs(slope[:, : self.n]) @ (np.spacing(np.abs(q)) / units[: self.n])
        off = off + np.abs(by_time) * np.spacing(abs(look.t))
        return slope, float(np.max(off, initial=0.0))

    def decides(self, look: _Look) -> bool:
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

    def room(self, look: _Look) -> tuple[_Look, float]:
        """Return a look with forces shared so that all has most room left, and that room."""
        answer = self.state_of(look).answer
        assert answer is not None
        best, room = roomiest(answer)
        z = look.z.copy()
        forces = np.concatenate([best.y, best.lam, best.mu])
        z[self.n : self.n + len(forces)] = forces
        return replace(look, z=z), room

    def _seen(self, t: float, x: np.ndarray) -> _Look:
        """Look at a state, from what is known nearest; a second time it is known."""
        latest = self._latest
        if latest is not None and latest[0] == t and np.array_equal(latest[1], x[: self.n]):
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

    def rate(self, t: float, x: np.ndarray) -> np.ndarray:
        """Return the rate of a state."""
        look = self._seen(t, x)
        self.least = min(self.least, look.least)
        return self._rate(look)

    def latest_rate(self, t: float, x: np.ndarray) -> np.ndarray:
        """Return the rate at the latest look."""
        return self._rate(self.known[-1])

    def _rate(self, look: _Look) -> np.ndarray:
        return np.concatenate([look.rate[: self.n], [look.taken, look.given]])

    def holds(self, t: float, x: np.ndarray) -> float:
        """Return by how much the mode holds at a state: below zero it has ended."""
        try:
            return self.margin(self._seen(t, x))
        except Passed:
            return -np.inf

    def margin(self, look: _Look) -> float:
        """Return by how much the mode holds at a look, by whatever forces."""
        return self.room(look)[1] if self.shares and look.least < 0 else look.least

    def misfits(self, look: _Look) -> np.ndarray:
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

    def idle(self, look: _Look) -> np.ndarray:
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
        off = np.abs(self.onto(t, x) - x)[: self.n]
        return bool(np.all(off <= (_ADDS + _DIGITS * self.digits) * self.lengths))

    def state(self, t: float, x: np.ndarray) -> State:
        """Return what is told of a state."""
        try:
            look = self._seen(t, x)
        except Passed:
            look = self.known[-1]
        if self.shares and look.least < 0:
            look = self.room(look)[0]
        return self.state_of(look, *x[self.n :])

    def told(self, t: np.ndarray, x: np.ndarray) -> Told | None:
        """Return what is told of many states at once, where no forces are shared."""
        if self.shares:
            return None
        looks: list[_Look | None] = []
        for a, one in zip(t.tolist(), x):
            try:
                looks.append(self._seen(a, one))
            except Passed:
                looks.append(None)
        some = self.known[-1]
        fine = np.array([look is not None for look in looks])
        z, rate = (np.array([getattr(look or some, k) for look in looks]) for k in ("z", "rate"))
        at = self.question.many(t, z[:, : self.n])
        if at is None:
            return None
        forces = z[:, self.n : sum(sizes_of(self.question.sliding)[:4])]
        return Told.of(self.question, at, rate[:, : self.n], forces, x[:, self.n :], fine)

    def state_of(self, look: _Look, lost: float = 0.0, given: float = 0.0) -> State:
        """Return a look as a state, with its answer."""
        question, numbers = self.question, self.numbers
        q, y, lam, mu, *_ = np.split(look.z, np.cumsum(sizes_of(question.sliding)))
        v = look.rate[: self.n]
        every = np.arange(len(numbers.works))
        place = question.at(look.t, q, viscous=True, touching=every)
        problem = limited(place.problem, question.rubs, mu)
        answer = Answer(
            problem, v, y, lam, mu, numbers.stuck > 0, numbers.works > 0, "Newton"
        )  # fmt: skip
        return State(look.t, q, v, answer, place, lost, given)

    def remembered(self) -> Any:
        """Return what leads on from where it is."""
        return self.known

    def recall(self, known: Any) -> None:
        """Go back to where something was known."""
        self.known = known


class BalanceFlow(AbstractFlow[ByBalance]):
    """The motion by the balance of forces."""

    most_steps, first_step = 200_000, 0.05

    def enter(self, here: State) -> bool:
        """Find the mode at a state from which it goes on; tell whether there is one.

        All friction is to be dry, and constraints are to hold places.
        """
        question = self.question
        dry = question.holonomic.all() and question.system.dissipation.is_zero
        if not dry or equations_of(question) is None:
            return False
        self.lengths, self.digits = question.lengths(here.place), 0.0
        self.energy = self._energy(here)
        entered = self._begin(here)
        if entered is not None:
            self._enter(*entered, np.array([here.lost, here.given]))
        return entered is not None

    def _energy(self, here: State) -> float:
        """Return the size of the energies at work: forces at any time and springs, over lengths."""
        p, question = here.place.problem, self.question
        pushes, tangent = (evaluated(question.sliding, name) for name in ("pushes", "tangent"))
        K = tangent(here.t, here.q, here.place.u, question.params)[0]
        forces = [np.abs(p.f), abs(K) @ self.lengths]
        if question.rubs.max(initial=-1) < 0:
            forces.append(np.asarray(abs(p.B).T @ p.size[p.term]).ravel())
        for t in np.linspace(here.t, self.last, 9)[1:]:
            given = here.q, question.inputs(t, here.q), question.params
            forces.append(np.abs(pushes(t, *given)[0]))
        most = [float(np.max(np.nan_to_num(x) * self.lengths, initial=0.0)) for x in forces]
        return max(most) or 1.0

    def _enter(self, phase: ByBalance, look: _Look, energies: np.ndarray) -> None:
        self.phase, self.t = phase.begun(look), look.t
        self.x = np.concatenate([look.z[: self.n], energies])

    def latest(self) -> State | None:
        """Return where it is; velocities without bound say which way alone."""
        state = self.phase.state(self.t, self.x)
        far = float(np.max(np.abs(state.v) * self.whole / self.lengths, initial=0.0))
        return replace(state, v=state.v * min(1.0, _FAST / max(far, _FAST)))

    def jam(self, t: float, x: np.ndarray) -> Ended:
        """Return that no mode leads on."""
        return Ended(Status("undecided", "the place follows from no mode any more"))

    def _step(self, t: float, x: np.ndarray, h: float, longest: float) -> Any:
        end, dense, ahead = super()._step(t, x, h, longest)
        if not self.phase.reaches(end, dense(end)):
            raise Passed
        return end, dense, ahead

    # -- modes ------------------------------------------------------------------------------------

    def change(self, t: float, x: np.ndarray, rate: np.ndarray) -> None:
        """Find the mode that begins where the present one ends."""
        near = self.phase.known[-1]
        look, wrong = self.phase.look(t, x[: self.n], near) or near, None
        if self.phase.shares and look.least < 0:
            wrong, look = self.phase.misfits(look), self.phase.room(look)[0]
        changed = self._settled(look, self.phase.numbers, wrong)
        if changed is None:
            raise self.jam(t, x)
        phase, now = changed
        for _ in range(2):
            # Where a mode begins is where it leads away from the place that was reached.
            ways, off = (y[: self.n] / self.lengths for y in (now.rate, now.z - look.z))
            early = float(off @ ways) / max(float(ways @ ways), 1e-300)
            if abs(early) <= 1e-12 * self.whole or abs(early) > 1e-6 * self.whole:
                break
            begun = phase.look(now.t - early, look.z[: self.n], now)
            now = begun or now
        self._enter(phase, now, x[self.n :])

    def _phase(self, numbers: _Numbers) -> ByBalance:
        return ByBalance(self.question, numbers, self.lengths, self.whole, self.energy, self.digits)

    def _begin(self, here: State) -> tuple[ByBalance, _Look] | None:
        """Return the mode at the start, and the first look."""
        p, answer = here.place.problem, here.answer
        if answer is None or len(answer.mu) != len(here.place.gap):
            return None
        closed = here.place.gap <= self.question.closed(here.place)
        works = (answer.working & closed).astype(float)
        none, sticks = np.zeros(p.terms), (p.size > 0).astype(float)
        numbers = _Numbers(sticks, none, works, here.place.along.copy(), none)
        phase = self._phase(numbers)
        z = np.concatenate([here.q, answer.y, answer.lam, answer.mu])
        z = np.append(z, np.zeros(sum(sizes_of(self.question.sliding)) - len(z)))
        start = _Look(here.t, z, 0 * z, np.zeros(0), 0.0, 0.0, 0.0)
        self.digits = phase.measured(start)[1]
        phase = self._phase(numbers)
        first = phase.look(here.t, here.q, start) if phase.decides(start) else None
        if first is None:
            return None
        moved = np.abs(first.z[: p.n] - here.q) > 1e-6 * self.lengths
        return None if moved.any() else self._settled(first, numbers, phase.misfits(first))

    def _settled(
        self, look: _Look, numbers: _Numbers, wrong: np.ndarray | None
    ) -> tuple[ByBalance, _Look] | None:
        """Turn what does not fit a little later into its opposite, until all fits."""
        for share in _AHEAD:
            first, later = self._here(numbers, look), look.t + share * self.whole
            trials, seen = [first if wrong is None else self._turned(first, look, wrong)], []
            while trials and len(seen) < _ROUNDS:
                trial = trials.pop(0)
                if trial.value in seen:
                    continue
                seen.append(trial.value)
                aimed = self._aimed(trial, look, later)
                if aimed is None:
                    continue
                phase = self._phase(aimed[0])
                known = phase.decides(aimed[1])
                now = phase.look(look.t, look.z[: self.n], aimed[1]) if known else None
                then = None if now is None else phase.look(later, now.led(later)[: self.n], now)
                if now is None or then is None or not self._lasts(phase, now):
                    trials += self._let_slide(phase, look)
                    continue
                # What is at its limit now has room or speed left a little later, to rounding.
                idle = phase.idle(then)
                if phase.margin(then) < 0 or idle.any():
                    fits = phase.room(then)[0] if phase.shares else then
                    # What slides by name alone has a force that is not its own.
                    misfits = idle if idle.any() else phase.misfits(then)
                    trials.insert(0, self._turned(trial, fits, misfits))
                    continue
                answer = phase.state_of(now).answer
                assert answer is not None
                near = np.all(np.abs(now.z - look.z)[: self.n] <= 1e-7 * self.lengths)
                stable = runaway(self.question, now.t, now.z[: self.n], answer) is None
                return (phase, now) if near and stable else None
        return None

    def _lasts(self, phase: ByBalance, now: _Look) -> bool:
        """Tell whether what moves is not held by more than it can be but for this instant."""
        later = now.t + _AHEAD[-1] * self.whole
        if not phase.shares or not np.any(now.rate[: self.n]):
            return True
        return phase.look(later, now.led(later)[: self.n], now) is not None

    def _let_slide(self, phase: ByBalance, look: _Look) -> list[_Numbers]:
        """Return modes in which one line slides that others hold at this very instant alone."""
        starts, numbers = self.question.starts, phase.numbers
        narrow = np.diff(np.append(starts, self.question.sliding.rates)) == 1
        sliding = []
        for k in np.flatnonzero(narrow & (numbers.stuck > 0)):
            one = np.arange(len(starts)) == k
            others = replace(numbers, stuck=np.where(one, 0.0, numbers.stuck))
            slow = np.append(np.zeros(len(starts)), np.full(len(numbers.works), np.inf))
            if self._phase(others).idle(replace(look, margins=slow))[k]:
                sliding += [
                    replace(others, sign=np.where(one, w, numbers.sign)) for w in (1.0, -1.0)
                ]
        return sliding

    def _here(self, numbers: _Numbers, look: _Look) -> _Numbers:
        """Return a mode in which what sticks does so here."""
        place = self.question.at(look.t, look.z[: self.n])
        grips = numbers.grips(self.question.rubs)[place.problem.term]
        return replace(numbers, along=np.where(grips, numbers.along, place.along))

    def _aimed(self, numbers: _Numbers, look: _Look, later: float) -> tuple[_Numbers, _Look] | None:
        """Find what slides in a plane but can go one way alone, and which; aim along its force.

        None where some of it can go one way alone beside where it is taken anyway.
        """
        question, equations = self.question, equations_of(self.question)
        assert equations is not None
        gaps = len(numbers.works)
        place = question.at(later, look.z[: self.n], touching=np.arange(gaps))
        p = place.problem
        confined, z = np.zeros(p.terms), look.z.copy()
        wide = np.flatnonzero((p.widths > 1) & (numbers.stuck == 0) & (p.size > 0))
        if not len(wide):
            return replace(numbers, confined=confined), look
        B, A, G = (x * self.lengths for x in p.matrices)
        works, sticks = numbers.works > 0, numbers.grips(question.rubs)[p.term]
        y = z[self.n : self.n + len(p.c)]
        held = np.vstack([A, G[works], B[sticks]])
        size = np.maximum(np.linalg.norm(held, axis=1), 1e-300)
        over = np.linalg.pinv(held / size[:, None], _DEPENDENT)
        led = -over @ (np.concatenate([p.b, p.g[works], p.c[sticks]]) / size) * self.whole
        aim = B.T @ np.where(sticks, 0.0, y)
        aim = aim / max(np.abs(aim).max(initial=0.0), 1e-300)
        aim = aim - over @ (held / size[:, None]) @ aim
        free = B - (B @ over) @ (held / size[:, None])
        small = _DEPENDENT + 64 * self.digits
        for k in wide:
            rows = slice(p.starts[k], p.starts[k] + p.widths[k])
            reach = max(float(np.linalg.norm(B[rows])), 1e-300)
            taken = B[rows] @ led + p.c[rows] * self.whole
            _, values, ways = np.linalg.svd(free[rows].T)
            several_ways = int(np.sum(values > small * reach))
            across = taken - (ways[0] @ taken) * ways[0] if several_ways == 1 else taken
            if several_ways == p.widths[k]:
                continue
            if several_ways > 1 or (several_ways and np.linalg.norm(across) > small * reach):
                return None
            confined[k] = np.sign(y[rows] @ (free[rows] @ aim + taken)) or 1.0
        z[equations[3]] = aim
        return replace(numbers, confined=confined), replace(look, z=z)

    def _turned(self, numbers: _Numbers, look: _Look, wrong: np.ndarray) -> _Numbers:
        """Return the mode in which what does not fit does the opposite."""
        starts, terms = self.question.starts, len(numbers.stuck)
        narrow = np.diff(np.append(starts, self.question.sliding.rates)) == 1
        slips, gaps = wrong[:terms], wrong[terms:]
        ways = np.where(narrow, np.sign(look.z[self.n + starts]), 0.0)
        return replace(
            numbers,
            stuck=np.where(slips, 1 - numbers.stuck, numbers.stuck),
            sign=np.where(slips, np.where(numbers.stuck > 0, ways, 0.0), numbers.sign),
            works=np.where(gaps, 1 - numbers.works, numbers.works),
        )
