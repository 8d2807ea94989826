"""Phases in which velocities decide: those of least power, smooth until something changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from stationary.result.status import Status
from stationary.solve.sliding.convex.judge import roomiest, several
from stationary.solve.sliding.convex.reduced import in_mode, margin, overheld
from stationary.solve.sliding.instant.least_power import solved
from stationary.solve.sliding.over_time.flow import AbstractFlow
from stationary.solve.sliding.over_time.phase import AbstractPhase, Look, Passed
from stationary.solve.sliding.over_time.power_equations import InMode, equations_of
from stationary.solve.sliding.over_time.runge import Tried
from stationary.solve.sliding.over_time.stretch import State, onto, powers_at
from stationary.solve.sliding.problem.mode import Mode
from stationary.solve.sliding.problem.numbers import Answer, largest
from stationary.solve.sliding.problem.question import Place, Question
from stationary.solve.sliding.telling.endings import Ended, conflict
from stationary.solve.sliding.telling.step import status_of

# A moment as short is none, of the whole span.
_NO_TIME = 1e-12
# How far ahead of a change one looks for what comes next, of the whole span: at first, at most, and
# where something else comes that starts slowly.
_THINNEST, _THICKEST, _LATEST = 1e-10, 1e-7, 1e-5
# What is slower than this share of the speeds at work may be about to rest.
_SLOW = 0.2
# What slides slower than this share has no clear direction yet.
_BEGINS = 1e-8
# What has less room than that, as a share of its limit, is full.
_FULL = 1e-9
# So often in a row what seems to change may stay as it is.
_STAYS = 30


class ByPower(AbstractPhase):
    """A phase of least power."""

    def __init__(self, question: Question, near: Answer, place: Place):
        mode = Mode.of(near, place.touching)
        super().__init__(question, mode, near.stuck, near.working, place.touching)
        self.near, self.shares = near, several(near)
        #: Its equations, where they are few enough to be compiled.
        self.compiled = None
        if (equations := equations_of(question.sliding)) is not None:
            self.compiled = InMode(question, place, near, not self.shares, equations)
        self.tells = self.compiled is not None and equations is not None and equations.dry
        #: The answer where the present step began.
        self.anchor: Answer | None = None
        self._place = place

    # -- velocities -------------------------------------------------------------------------------

    @property
    def latest(self) -> Look:
        """What is known of the latest time."""
        return self.known[-1] if self.known else self._look(self.near, self._place)

    def search(self, t: float, q: np.ndarray) -> Look:
        """Look at a time and a place: by compiled equations, or else by a search from nearby."""
        look = self._quick(t, q)
        if look is not None:
            return look
        place = self.place(t, q)
        for near in self._starts(place):
            answer = in_mode(place.problem, near, lines=True)
            if answer is not None:
                look = self._look(answer, place)
                if self.compiled is None:
                    self.remember(look)
                return look
        raise Passed

    def _quick(self, t: float, q: np.ndarray) -> Look | None:
        """Look by compiled equations, if these do."""
        if self.compiled is None:
            return None
        look = None
        for guess in self._guesses(t):
            look = self.compiled.at(t, q, guess)
            if look is not None and look.margin >= 0:
                # Beyond its end a mode may have answers that do not belong to it.
                self.remember(look)
                break
        return look

    def _guesses(self, t: float) -> Iterator[np.ndarray]:
        """Guess unknowns by those at the nearest times."""
        if not self.known:
            yield self.latest.z if self.compiled is None else self.compiled.start
            return
        apart = [abs(x.t - t) for x in self.known]
        last = self.known[nearest := apart.index(min(apart))]
        if len(apart) > 1:
            apart[nearest] = np.inf
            first = self.known[apart.index(min(apart))]
            if first.t != last.t and abs(t - last.t) <= 3 * abs(last.t - first.t):
                yield last.z + (t - last.t) / (last.t - first.t) * (last.z - first.z)
        yield last.z

    def _starts(self, place: Place) -> list[Answer]:
        """Return answers nearby from which to search; what is known at the nearest times leads."""
        latest = self.answer(self.latest, place)
        if self.compiled is not None:
            # Where compiled equations fail there is little hope.
            return [latest]
        z = next(self._guesses(place.t))
        led = self.answer(self.latest._replace(z=z, rate=z), place)
        return [led, latest, *([] if self.anchor is None else [self.anchor]), self.near]

    def _look(self, answer: Answer, place: Place) -> Look:
        """Return an answer at a place as a look."""
        powers, mu = powers_at(self.question, place, answer.v, answer.forces), 0 * place.gap
        mu[place.touching] = answer.mu
        unknowns = np.concatenate([answer.v, answer.y, answer.lam, mu])
        rate = np.concatenate([answer.v, powers])
        return Look(place.t, unknowns, rate, self._left(answer, place))

    def tried(self, t: float, x: np.ndarray, h: float) -> Tried | None:
        """Try a step all at once, where its equations are compiled."""
        if self.compiled is None or not self.compiled.steps:
            return None
        return self.compiled.step(t, x, h, next(self._guesses(t)))

    # -- how long it lasts ------------------------------------------------------------------------

    def _left(self, answer: Answer, place: Place) -> float:
        """Return by how much the mode of an answer holds, with these forces."""
        left = margin(answer, rooms=not self.shares)
        if len(self.touching) < len(place.gap):
            shares = (place.gap + place.digits) / self.question.apart(place)
            left = min(left, float(np.delete(shares, self.touching).min()))
        if self.compiled is None and self.anchor is not None:
            # What turns round at once in a plane, as all does where what drives it does, has been
            # at rest: forces tell ways that are too slow to be told.
            p, before = answer.problem, self.anchor
            wide = (p.widths > 1) & (p.power == 0) & ~answer.stuck
            sizes = np.maximum(answer.resists * before.resists, 1e-300)
            left = min(left, (p.sums(answer.y * before.y) / sizes)[wide].min(initial=np.inf))
        return left

    def margin(self, look: Look, q: np.ndarray) -> float:
        """Return by how much the mode holds at a look from a place, by whatever forces."""
        answer = self.answer(look, self.place(look.t, q)) if self.shares else None
        if answer is None or not self.full(look, answer):
            return look.margin
        return min(look.margin, roomiest(answer)[1] + _FULL)

    def full(self, look: Look, answer: Answer) -> bool:
        """Tell whether forces that are shared are to be shared otherwise at a look."""
        return margin(answer) < 0

    def slow(self, answer: Answer, share: float) -> bool:
        """Tell whether something that slides in a plane is slower than a share of the speeds."""
        p = answer.problem
        wide = (p.widths > 1) & (p.power == 0) & (p.size > 0) & ~answer.stuck
        return bool(np.any(answer.speeds[wide] < share * answer.speed))

    def begins(self, t: float, x: np.ndarray) -> bool:
        """Tell whether the mode can be followed from a state: all that slides shows how.

        Compiled equations have no corner where it is slow.
        """
        try:
            look = self.look(t, x[: self.n])
        except Passed:
            return False
        searched = self.compiled is None
        return not searched or not self.slow(self.answer(look, self.place(t, x[: self.n])), _BEGINS)

    def goes_on(self, t: float, x: np.ndarray) -> bool:
        """Tell whether compiled equations show that the mode holds at a state."""
        quick = None if self.shares else self._quick(t, x[: self.n])
        return quick is not None and quick.margin >= 0

    def lasts(self, t: float, x: np.ndarray) -> bool:
        """Tell whether the mode is there a moment later, where it holds more than can move."""
        return not overheld(self.near) or self.holds(t, x) > -np.inf

    def closed(self, place: Place) -> np.ndarray:
        """Tell which of the touching contacts have not opened."""
        far = place.gap > 10 * self.question.closed(place)
        return self.working | ~far[self.touching]

    # -- states -----------------------------------------------------------------------------------

    def onto(self, t: float, x: np.ndarray) -> np.ndarray:
        """Move a state onto the constraints and the contacts that hold: by rounding's worth."""
        q = onto(self.question, t, x[: self.n], self.touching[self.working])
        assert q is not None
        return np.concatenate([q, x[self.n :]])

    # -- what comes to rest -----------------------------------------------------------------------

    def foreseen(self, t: float, x: np.ndarray, h: float, whole: float) -> float:
        """Begin a step; return how long the mode lasts if something in it is about to rest.

        Compiled equations have no corner there.
        """
        if self.compiled is not None:
            return np.inf
        self.anchor = self.answer(self.look(t, x[: self.n]), self.place(t, x[: self.n]))
        return self.left(t, x, h, whole) if self.slow(self.anchor, _SLOW) else np.inf

    def left(self, t: float, x: np.ndarray, h: float, whole: float) -> float:
        """Foresee how long the mode lasts where something in it comes to rest."""
        moment, p = min(h / 16, 1e-3 * whole), self.near.problem
        slides = (p.power < 1) & ~self.near.stuck
        while moment > _NO_TIME * whole:
            try:
                look, q, later = self.look(t, x[: self.n]), x[: self.n], t + moment
                here, q = self.answer(look, self.place(t, q)), q + moment * look.rate[: self.n]
                there = self.answer(self.look(later, q), self.place(later, q))
            except Passed:
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


class PowerFlow(AbstractFlow[ByPower]):
    """The motion by velocities of least power."""

    apart, pace = _THICKEST, 0.02

    def __init__(self, question: Question, span: tuple[float, float], rtol: float):
        super().__init__(question, span, rtol)
        #: How often nothing changed where something seemed to.
        self.stays = 0
        self.locked = False

    def begin(self, q: np.ndarray) -> State:
        """Find the mode at the start; return what is known there.

        A drive that sets off right now shows in a moment's time.
        """
        t, x = self.t, np.concatenate([q, [0.0, 0.0]])
        self.lengths = self.question.lengths(self.question.at(t, q))
        self.phase = self._begun(t, q, None, None)
        near = self.phase.near
        self.energy = near.strength * largest(self.lengths * near.problem.levers)
        state, moment = self.phase.state(t, x), 1e-9 * self.whole
        if not np.any(self.phase.near.v):
            later = self._begun(t + moment, q, None, None)
            if np.any(later.near.v):
                self.phase, self.t = later, t + moment
        self.x = self.phase.onto(self.t, x)
        return state

    def latest(self) -> State | None:
        """Return the latest state that was reached, if its forces can be relied on."""
        if not self.steps or self.locked:
            return None
        state = self.phase.state(self.t, self.x)
        return state if state.answer is not None and state.answer.right(1e-8) else None

    def went(self) -> None:
        """Forget contacts that have opened by themselves."""
        self.stays = 0
        self._let_go(self.t, self.x)

    # -- modes ------------------------------------------------------------------------------------

    def _begun(
        self, t: float, q: np.ndarray, touching: np.ndarray | None, near: Answer | None
    ) -> ByPower:
        """Find what sticks and what touches from here on."""
        place = self.question.at(t, q, viscous=True, touching=touching)
        outcome, pressed = solved(self.question, place, near)
        if outcome.word in ("accelerates", "jammed") or outcome.answer is None:
            # Where friction locks, forces have grown without bound.
            self.locked = outcome.locked
            status = status_of(self.question, pressed, outcome.word, outcome)
            raise Ended(status, outcome, pressed)
        return ByPower(self.question, outcome.answer, place)

    def change(self, t: float, x: np.ndarray, rate: np.ndarray) -> None:
        """Find the mode beyond the end of the present one, and where it begins.

        That shows a hair ahead, or a thicker one where changes are slow. If the new mode exists at
        its very beginning it begins there, else a hair later.
        """
        old, scale = self.phase, self.scale
        place = self.question.at(t, x[: self.n], touching=old.touching)
        closing = np.flatnonzero(place.gap <= self.question.closed(place))
        touching = np.union1d(old.touching[old.closed(place)], closing).astype(int)
        near, hair = old.near.about(old.touching, touching), _THINNEST * scale
        while True:
            ahead = x + hair * rate
            phase = self._begun(t + hair, ahead[: self.n], touching, near)
            changed, more = phase.mode != old.mode, 4 * hair
            later = max(more, _THICKEST * scale)
            if changed and later < _LATEST * scale and not phase.lasts(t + later, x + later * rate):
                # What holds at an instant only is no mode: another shows later.
                more = later
            elif changed:
                self.phase, self.stays = phase, 0
                if phase.begins(t, x):
                    return
                # What starts slowly shows what it is a little later.
                late = more > _LATEST * scale
                if late or (phase.near.right() and phase.begins(t + hair, ahead)):
                    self.t, self.x = t + hair, phase.onto(t + hair, ahead)
                    return
            elif phase.goes_on(t + hair, ahead) and phase.goes_on(
                t + _THICKEST * scale, x + _THICKEST * scale * rate
            ):
                break
            elif more > (_THICKEST if phase.holds(t + hair, ahead) >= 0 else _LATEST) * scale:
                # What has clearly ended, though that does not show yet, shows a little later.
                break
            hair = more
        # What seemed to end may go on: rounding ends nothing, nor do forces that may be others.
        self.phase = phase
        self.stays += 1
        if self.stays <= _STAYS and phase.holds(t + hair, ahead) >= 0:
            self.t, self.x = t + hair, phase.onto(t + hair, ahead)
            return
        message = f"found the same change again and again near t = {t:.6g}"
        raise Ended(Status("too many changes", f"{message}; increments follow better"))

    def _let_go(self, t: float, x: np.ndarray) -> None:
        """Forget contacts that have opened by themselves."""
        near, touching = self.phase.near, self.phase.touching
        if near.working.all():
            return
        place = self.question.at(t, x[: self.n], viscous=True, touching=touching)
        kept = self.phase.closed(place)
        if not kept.all():
            there = self.question.at(t, x[: self.n], viscous=True, touching=touching[kept])
            near = replace(near.about(touching, touching[kept]), problem=there.problem)
            self.phase = ByPower(self.question, near, there)

    def jam(self, t: float, x: np.ndarray) -> Ended:
        """Return the end of a motion whose velocities grow without bound."""
        touching = self.phase.touching
        place = self.question.at(t, x[: self.n], viscous=True, touching=touching)
        outcome = conflict(self.question, place)
        message = f"velocities grow without bound near t = {t:.6g}"
        if outcome is None:
            return Ended(Status("undecided", message))
        return Ended(status_of(self.question, place, "jammed", outcome), outcome, place)
