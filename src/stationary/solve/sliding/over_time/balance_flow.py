"""The motion by the balance of forces, mode by mode: what follows where one ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stationary.result.status import Status
from stationary.solve.sliding.over_time.balance_equations import equations_of, sizes_of
from stationary.solve.sliding.over_time.by_balance import ByBalance, Numbers
from stationary.solve.sliding.over_time.flow import AbstractFlow
from stationary.solve.sliding.over_time.increment import at_rest
from stationary.solve.sliding.over_time.phase import Look, Passed
from stationary.solve.sliding.over_time.stretch import State
from stationary.solve.sliding.problem.question import evaluated
from stationary.solve.sliding.telling.endings import Ended, runaway

# How far beyond a change one looks for the next mode, of the whole span.
_AHEAD = (1e-7, 1e-6, 1e-5, 1e-4)
# How often what does not fit is turned into its opposite there.
_ROUNDS = 12
# No velocity leads farther over the whole span than so many lengths at work.
_FAST = 3.0
# What is full by so little as does not count is off its place by this many times that share.
_LEAP = 1e3
# Rows that depend on others but for this share do.
_DEPENDENT = 1e-9


class BalanceFlow(AbstractFlow[ByBalance]):
    """The motion by the balance of forces."""

    most_steps, first_step = 200_000, 0.05

    def enter(self, here: State, moving: bool = False) -> bool:
        """Find the mode at a state from which it goes on; tell whether there is one.

        All friction is to be dry, and constraints are to hold places. What is at rest may be held
        twice where it is known to be `moving`.
        """
        question = self.question
        dry = question.layout.holonomic.all() and question.system.dissipation.is_zero
        if not dry or equations_of(question) is None:
            return False
        self.lengths = question.lengths(here.place)
        self.energy = self._energy(here)
        entered = self._begin(here, moving)
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

    def _enter(self, phase: ByBalance, look: Look, energies: np.ndarray) -> None:
        self.phase, self.t = phase.begun(look), look.t
        self.x = np.concatenate([look.z[: self.n], energies])

    def latest(self) -> State | None:
        """Return where it is; velocities without bound say which way alone."""
        t, x = self.t, self.x
        try:
            self.phase.look(t, x[: self.n])
        except Passed:
            # Steps lead beyond where a rest is lost: back to what is in balance.
            look = self.phase.before(t)
            t, x = look.t, np.append(look.z[: self.n], x[self.n :])
        state = self.phase.state(t, x)
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
        there, wrong = self.phase.near(t, x[: self.n], near), None
        look = there or near
        if self.phase.shares and look.margin < 0:
            wrong, look = self.phase.misfits(look), self.phase.room(look)[0]
        changed = self._settled(look, self.phase.numbers, wrong)
        if changed is None:
            raise self.jam(t, x)
        phase, now = changed
        if there is None and phase.mode == self.phase.mode:
            # The same mode from where it was known last leads here again.
            raise self.jam(t, x)
        for _ in range(2):
            # Where a mode begins is where it leads away from the place that was reached.
            ways, off = (y[: self.n] / self.lengths for y in (now.rate, now.z - look.z))
            early = float(off @ ways) / max(float(ways @ ways), 1e-300)
            if abs(early) <= 1e-12 * self.whole or abs(early) > 1e-6 * self.whole:
                break
            begun = phase.near(now.t - early, look.z[: self.n], now)
            now = begun or now
        self._enter(phase, now, x[self.n :])

    def _phase(self, numbers: Numbers) -> ByBalance:
        return ByBalance(self.question, numbers, self.lengths, self.whole, self.energy, self.digits)

    def _begin(self, here: State, moving: bool) -> tuple[ByBalance, Look] | None:
        """Return the mode at the start, and the first look."""
        p, answer = here.place.problem, here.answer
        if answer is None or len(answer.mu) != len(here.place.gap):
            return None
        closed = here.place.gap <= self.question.closed(here.place)
        works = (answer.working & closed).astype(float)
        none, rubs = np.zeros(p.terms), p.size > 0
        z = np.concatenate([here.q, *answer.forces])
        z = np.append(z, np.zeros(sum(sizes_of(self.question.sliding)) - len(z)))
        start = Look(here.t, z, np.zeros(p.n + 2), np.inf, 0 * z)
        along = here.place.along.copy()
        numbers = Numbers(rubs.astype(float), none, works, along, none)
        phase = self._phase(numbers)
        self.digits = phase.measured(start)[1]
        phase = self._phase(numbers)
        first = phase.near(here.t, here.q, start) if phase.decides(start) else None
        if first is not None:
            moved = np.abs(first.z[: p.n] - here.q) > 1e-6 * self.lengths
            return None if moved.any() else self._settled(first, numbers, phase.misfits(first))
        slides = rubs & ~at_rest(self.question, here.place, answer)
        if not moving or not slides.any():
            return None
        ways = np.where(slides & (p.widths == 1), np.sign(answer.y[p.starts]), 0.0)
        numbers = Numbers((rubs & ~slides).astype(float), ways, works, along, none)
        return self._settled(start, numbers, None)

    def _settled(
        self, look: Look, numbers: Numbers, wrong: np.ndarray | None
    ) -> tuple[ByBalance, Look] | None:
        """Turn what does not fit a little later into its opposite, until all fits."""
        spare = None
        for share in _AHEAD:
            first, later = self._here(numbers, look), look.t + share * self.scale
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
                now = phase.near(look.t, look.z[: self.n], aimed[1]) if known else None
                then = None if now is None else phase.near(later, now.led(later)[: self.n], now)
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
                over = self._about_to_slip(phase, now) if spare is None else None
                if over is not None:
                    spare = phase, now
                    trials.insert(0, self._turned(trial, *over))
                    continue
                answer = phase.there(now)[0]
                off = np.abs(now.z - look.z)[: self.n]
                near = np.all(off <= _LEAP * phase.clear * self.lengths)
                stable = runaway(self.question, now.t, now.z[: self.n], answer) is None
                return (phase, now) if near and stable else spare
        return spare

    def _about_to_slip(self, phase: ByBalance, now: Look) -> tuple[Look, np.ndarray] | None:
        """Tell what is full where a mode begins and only rounding keeps from slipping at once."""
        full = np.zeros(len(now.margins), dtype=bool)
        terms = len(phase.numbers.stuck)
        full[:terms] = (phase.numbers.stuck > 0) & (now.margins[:terms] <= _LEAP * phase.clear)
        if phase.shares or not full.any():
            return None
        later = now.t + _AHEAD[-1] * self.scale
        then = phase.near(later, now.led(later)[: self.n], now)
        wrong = full & (then.margins < 0) if then is not None else full & False
        return (then, wrong) if then is not None and wrong.any() else None

    def _lasts(self, phase: ByBalance, now: Look) -> bool:
        """Tell whether what moves is not held by more than it can be but for this instant."""
        later = now.t + _AHEAD[-1] * self.scale
        if not phase.shares or not np.any(now.rate[: self.n]):
            return True
        return phase.near(later, now.led(later)[: self.n], now) is not None

    def _let_slide(self, phase: ByBalance, look: Look) -> list[Numbers]:
        """Return modes in which one line slides that others hold at this very instant alone."""
        starts, narrow, numbers = self.question.starts, self.question.narrow, phase.numbers
        sliding = []
        for k in np.flatnonzero(narrow & (numbers.stuck > 0)):
            one = np.arange(len(starts)) == k
            freed = replace(numbers, stuck=np.where(one, 0.0, numbers.stuck))
            slow = np.append(np.zeros(len(starts)), np.full(len(numbers.works), np.inf))
            if self._phase(freed).idle(look._replace(margins=slow))[k]:
                sliding += [
                    replace(freed, sign=np.where(one, w, numbers.sign)) for w in (1.0, -1.0)
                ]
        return sliding

    def _here(self, numbers: Numbers, look: Look) -> Numbers:
        """Return a mode in which what sticks does so here."""
        place = self.question.at(look.t, look.z[: self.n])
        grips = numbers.grips(self.question.rubs)[place.problem.term]
        return replace(numbers, along=np.where(grips, numbers.along, place.along))

    def _aimed(self, numbers: Numbers, look: Look, later: float) -> tuple[Numbers, Look] | None:
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
            rows = p.part(k)
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
        return replace(numbers, confined=confined), look._replace(z=z)

    def _turned(self, numbers: Numbers, look: Look, wrong: np.ndarray) -> Numbers:
        """Return the mode in which what does not fit does the opposite."""
        starts, narrow, terms = self.question.starts, self.question.narrow, len(numbers.stuck)
        slips, gaps = wrong[:terms], wrong[terms:]
        ways = np.where(narrow, np.sign(look.z[self.n + starts]), 0.0)
        return replace(
            numbers,
            stuck=np.where(slips, 1 - numbers.stuck, numbers.stuck),
            sign=np.where(slips, np.where(numbers.stuck > 0, ways, 0.0), numbers.sign),
            works=np.where(gaps, 1 - numbers.works, numbers.works),
        )
