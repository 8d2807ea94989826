"""Springs and friction along lines: in a mode the place at every time follows from its balance.

Nothing has to be integrated: what sticks stays where it is, what slides has a force that is known,
and one set of compiled equations tells place, forces and velocity at any time. A mode ends where
what sticks is full, what slides stops, what holds pulls or what is open closes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import isfinite
from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg.lapack import dgetrf, dgetrs

from stationary.derive.sliding import Sliding
from stationary.lower.engines.casadi import Numeric
from stationary.result.status import Status
from stationary.solve.sliding.compiled import largest_of
from stationary.solve.sliding.coulomb import limited
from stationary.solve.sliding.endings import Ended, runaway
from stationary.solve.sliding.mode import Mode
from stationary.solve.sliding.problem import Answer
from stationary.solve.sliding.question import Question, terms_of
from stationary.solve.sliding.stretch import State, Stretch, located

# Up to so many unknowns equations are compiled.
_MOST_UNKNOWNS = 400
_MOST_STEPS = 8
# What is off by this share of the forces and lengths at work is rounding; what is more is no place.
_ROUNDING, _RIGHT = 1e-14, 1e-11
# What sticks may be fuller than its limit, slide back or pull by this share.
_CLEAR = 1e-10
# How far beyond a change one looks for the next mode, of the whole span.
_AHEAD = (1e-7, 1e-6, 1e-5, 1e-4)
# How often what does not fit is turned into its opposite there.
_ROUNDS = 12
# Steps into which the span is cut at least, and how short one may be, of the whole.
_LEAST_STEPS, _SHORTEST = 64, 1e-9
# What velocities add up to over a step may differ from the way by this share of the lengths.
_ADDS = 1e-10
# No velocity leads farther over the whole span than so many lengths at work.
_FAST = 3.0
# Lobatto's nodes and weights on a step of length one: of order six.
_NODES = ((5 - np.sqrt(5)) / 10, (5 + np.sqrt(5)) / 10, 1.0)
_WEIGHTS = (1 / 12, 5 / 12, 5 / 12, 1 / 12)


@dataclass(frozen=True)
class _Mode:
    """What sticks and where, which way the rest slides, and what holds; as numbers."""

    stuck: np.ndarray
    sign: np.ndarray
    works: np.ndarray
    along: np.ndarray

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

    @property
    def least(self) -> float:
        """The least margin: below zero the mode has ended."""
        return float(self.margins.min(initial=np.inf))


class Places:
    """The motion of springs and friction along lines over a grid of times."""

    # All changes that are located are told. No motion takes more steps.
    apart, most_steps, pace = 0.0, 200_000, 0.0

    def __init__(self, question: Question, whole: float):
        self.question, self.whole = question, whole
        self.steps, self.h = 0, whole / _LEAST_STEPS
        self._equations = _equations(question.sliding)
        #: Where it is, in which mode, and the energies up to there.
        self.look: _Look
        self.mode: _Mode
        self.lost = self.given = 0.0

    # -- one time ---------------------------------------------------------------------------------

    def _look(self, t: float, mode: _Mode, near: _Look) -> _Look | None:
        """Find place, forces and velocity at a time, from a look nearby."""
        question, n = self.question, self.question.system.size
        z, best = near.z + (t - near.t) * near.rate, np.inf
        assert self._equations is not None
        equations, says = self._equations
        given = (mode.stuck, mode.sign, mode.works, mode.along, self._lengths, self.whole)
        for _ in range(_MOST_STEPS):
            u = question.inputs(t, z[:n])
            left, slope, by_time, units = equations(t, z, u, question.params, *given)
            error = float(np.abs(left).max(initial=0.0))
            if not isfinite(error):
                return None
            factors, pivots, singular = dgetrf(slope)
            if singular:
                return None
            if error <= _ROUNDING or (error <= _RIGHT and error >= 0.1 * best):
                break
            best = min(best, error)
            z = z - units * dgetrs(factors, pivots, left)[0]
        else:
            return None
        rate = -units * dgetrs(factors, pivots, by_time)[0]
        told = says(t, z, u, question.params, *given, rate[:n])[0]
        if not isfinite(told.sum()):
            return None
        swaps = np.count_nonzero(pivots != np.arange(len(pivots)))
        turns = float(np.prod(np.sign(np.diag(factors)))) * (-1.0) ** swaps
        return _Look(t, z, rate, told[2:], float(told[0]), float(told[1]), turns)

    # -- all times --------------------------------------------------------------------------------

    def enter(self, here: State) -> bool:
        """Find the mode at a state from which it goes on; tell whether there is one.

        All friction is to be dry and along lines, and constraints are to hold places.
        """
        question = self.question
        dry = question.holonomic.all() and question.system.dissipation.is_zero
        if not dry or self._equations is None:
            return False
        self._lengths = question.lengths(here.place)
        self.lost, self.given = here.lost, here.given
        found = self._begin(here)
        if found is not None:
            self.mode, self.look = found
        return found is not None

    def latest(self) -> State | None:
        """Return where it is; velocities without bound say which way alone."""
        state = self._state(self.look, self.mode, self.lost, self.given)
        far = float(np.max(np.abs(state.v) * self.whole / self._lengths, initial=0.0))
        return replace(state, v=state.v * min(1.0, _FAST / max(far, _FAST)))

    def stretch(self, until: float) -> Stretch:
        """Go to a time, to a change, or as far as one step leads."""
        first, look, mode = self.look.t, self.look, self.mode
        before = self.lost, self.given
        while True:
            left = until - first
            parts = max(1.0, np.ceil(left / min(self.h, self.whole / _LEAST_STEPS) - 1e-9))
            end = until if parts == 1 else first + left / parts
            looks = self._step(look, end, mode)
            if looks is not None:
                break
            self.h = (end - first) / 4
            if self.h < _SHORTEST * self.whole:
                raise _gave_up()
        self.steps, self.h = self.steps + 1, 2 * self.h
        ends = next((i for i, x in enumerate(looks[1:], 1) if x.least < 0), None)
        if ends is not None:
            there = self._located(looks[ends - 1], looks[ends].t, mode)
            looks = self._step(look, there.t, mode) if there.t > first else [look] * 4
            if looks is None:
                raise _gave_up()
        self.look, (self.lost, self.given) = looks[-1], _added(before, looks)
        change = None
        if ends is not None:
            changed = self._settled(self.look, mode, None)
            if changed is None:
                raise _gave_up()
            change = self.look.t if changed[0].value != mode.value else None
            self.mode, self.look = changed
        last = self.look, self.mode, self.lost, self.given

        def at(t: float) -> State:
            between = self._step(look, t, mode) if first < t < last[0].t else None
            if between is None:
                return self._state(*last)
            return self._state(between[-1], mode, *_added(before, between))

        return Stretch(first, self.look.t, at, change, known=True)

    def _step(self, look: _Look, end: float, mode: _Mode) -> list[_Look] | None:
        """Look at the nodes of a step; None where one does not follow from others."""
        looks, h, n = [look], end - look.t, len(self._lengths)
        for node in _NODES:
            after = self._look(end if node == 1 else look.t + node * h, mode, looks[-1])
            # Where the slope turns round a rest is lost.
            if after is None or after.turns != look.turns:
                return None
            looks.append(after)
        # Places are known: what velocities add up to tells of leaps, and how well powers do.
        went = h * sum(w * x.rate[:n] for w, x in zip(_WEIGHTS, looks))
        off = np.abs(looks[-1].z[:n] - look.z[:n] - went)
        none = _ADDS * self._lengths + 8 * np.spacing(np.abs(look.z[:n]))
        return looks if np.all(off <= none) else None

    def _located(self, look: _Look, end: float, mode: _Mode) -> _Look:
        """Return the last time at which the mode holds."""
        near = look

        def least(t: float) -> float:
            nonlocal near
            found = self._look(t, mode, near)
            if found is None:
                return -1.0
            near = found
            return found.least - clear

        if look.least <= 0:
            return look
        # What is clearly over by now was over where nothing was left.
        clear = _CLEAR if look.least > 2 * _CLEAR else 0.0
        finest = max(4 * np.spacing(max(abs(look.t), abs(end))), 1e-15 * self.whole)
        t = located(least, look.t, end, finest)
        return self._look(t, mode, near) or look

    # -- modes ------------------------------------------------------------------------------------

    def _begin(self, here: State) -> tuple[_Mode, _Look] | None:
        """Return the mode at the start, and the first look."""
        p, answer = here.place.problem, here.answer
        gaps = len(here.place.gap)
        if answer is None or len(answer.mu) != gaps:
            return None
        closed = here.place.gap <= self.question.closed(here.place)
        works = (answer.working & closed).astype(float)
        stuck = np.ones(p.terms)
        mode = _Mode(stuck, np.zeros(p.terms), works, here.place.along.copy())
        z = np.concatenate([here.q, answer.y, answer.lam, answer.mu])
        first = self._look(here.t, mode, _Look(here.t, z, 0 * z, np.zeros(0), 0.0, 0.0, 0.0))
        if first is None:
            return None
        moved = np.abs(first.z[: p.n] - here.q) > 1e-6 * self._lengths
        return None if moved.any() else self._settled(first, mode, first.margins)

    def _settled(
        self, look: _Look, mode: _Mode, margins: np.ndarray | None
    ) -> tuple[_Mode, _Look] | None:
        """Turn what does not fit a little later into its opposite, until all fits."""
        for share in _AHEAD:
            trial, seen = self._here(mode, look), []
            if margins is not None and margins.min(initial=0.0) < 0:
                trial = self._turned(trial, look, margins < 0)
            for _ in range(_ROUNDS):
                if trial.value in seen:
                    break
                seen.append(trial.value)
                now = self._look(look.t, trial, look)
                if now is None:
                    break
                then = self._look(look.t + share * self.whole, trial, now)
                if then is None:
                    break
                # What is at its limit now has room or speed left a little later, to rounding.
                if then.least >= 0:
                    if not self._stable(now, trial):
                        return None
                    near = np.abs(now.z - look.z)[: len(self._lengths)]
                    return (trial, now) if np.all(near <= 1e-7 * self._lengths) else None
                trial = self._turned(trial, then, then.margins < 0)
        return None

    def _here(self, mode: _Mode, look: _Look) -> _Mode:
        """Return a mode in which what sticks does so here."""
        place = self.question.at(look.t, look.z[: self.question.system.size])
        along = np.where(mode.stuck > 0, mode.along, place.along)
        return _Mode(mode.stuck, mode.sign, mode.works, along)

    def _turned(self, mode: _Mode, look: _Look, wrong: np.ndarray) -> _Mode:
        """Return the mode in which what does not fit does the opposite."""
        n, terms = self.question.system.size, len(mode.stuck)
        y = look.z[n : n + terms]
        slips, gaps = wrong[:terms], wrong[terms:]
        starts = slips & (mode.stuck > 0)
        stuck = np.where(slips, 1 - mode.stuck, mode.stuck)
        sign = np.where(starts, np.sign(y), np.where(slips, 0.0, mode.sign))
        works = np.where(gaps, 1 - mode.works, mode.works)
        return _Mode(stuck, sign, works, mode.along)

    def _stable(self, look: _Look, mode: _Mode) -> bool:
        state = self._state(look, mode)
        assert state.answer is not None
        return runaway(self.question, state.t, state.q, state.answer) is None

    def _state(self, look: _Look, mode: _Mode, lost: float = 0.0, given: float = 0.0) -> State:
        """Return a look as a state, with its answer."""
        question = self.question
        sizes = [question.system.size, len(mode.stuck), len(question.holonomic)]
        q, y, lam, mu = np.split(look.z, np.cumsum(sizes))
        v = look.rate[: sizes[0]]
        every = np.arange(len(mode.works))
        place = question.at(look.t, q, viscous=True, touching=every)
        problem = limited(place.problem, question.rubs, mu)
        stuck, works = mode.stuck > 0, mode.works > 0
        answer = Answer(problem, v, y, lam, mu, stuck, works, "Newton")
        return State(look.t, q, v, answer, place, lost, given)


def _gave_up() -> Ended:
    return Ended(Status("undecided", "the place follows from no mode any more"))


def _added(energies: tuple[float, float], looks: list[_Look]) -> tuple[float, float]:
    """Add what friction took and what drives gave on a step."""
    h = looks[-1].t - looks[0].t
    lost, given = energies
    lost += h * sum(w * x.taken for w, x in zip(_WEIGHTS, looks))
    given += h * sum(w * x.given for w, x in zip(_WEIGHTS, looks))
    return lost, given


@lru_cache(maxsize=64)
def _equations(sliding: Sliding) -> tuple[Numeric, Numeric] | None:
    """Compile what is left over, with its slopes in the unknowns and in time; and what they say.

    The unknowns are places and all forces. What they say are powers and margins, at velocities.
    None where there are too many, or where friction is not dry and along lines.
    """
    graph = sliding.graph
    n, rates, rows, gaps = graph.system.size, sliding.rates, graph.layout.multipliers, sliding.gaps
    starts, pressed, _ = terms_of(sliding)
    if len(starts) != rates or n + rates + rows + gaps > _MOST_UNKNOWNS:
        return None
    if not sliding.slips.is_a("SXFunction"):
        return None
    t, z = ca.SX.sym("t"), ca.SX.sym("z", n + rates + rows + gaps)
    v = ca.SX.sym("v", n)
    u, p = ca.SX.sym("u", len(graph.system.inputs)), ca.SX.sym("p", len(graph.system.parameters))
    q, y, lam, mu = ca.vertsplit(z, np.cumsum([0, n, rates, rows, gaps]).tolist())
    here = (t, q, u, p)
    along, c, B, sizes, powers = sliding.slips(*here)
    if not (powers.is_constant() and np.all(np.array(ca.DM(powers)) == 0)):
        return None
    R, b, A, gap, g, G = sliding.holds(*here)
    f = sliding.pushes(*here)
    stuck, sign = ca.SX.sym("stuck", rates), ca.SX.sym("sign", rates)
    works, at = ca.SX.sym("works", gaps), ca.SX.sym("at", rates)
    lengths, whole = ca.SX.sym("lengths", n), ca.SX.sym("whole")
    size = ca.vertcat(
        *(sizes[k] * mu[int(pressed[k])] if pressed[k] >= 0 else sizes[k] for k in range(rates))
    )
    balance = f - B.T @ y + A.T @ lam + G.T @ mu
    law = ca.if_else(stuck != 0, along - at, y - size * sign)
    contacts = ca.if_else(works != 0, gap, mu)
    residual = ca.vertcat(balance, law, R, contacts)
    ways, far, apart = (_some(ca.fabs(rows) @ lengths) for rows in (B, A, G))
    # In units of ways that matter, and of forces that make one energy of them, all is of size one.
    limits = [sizes[k] * ways[k] for k in range(rates) if pressed[k] < 0]
    energy = _some(largest_of(f * lengths, y * ways, lam * far, mu * apart, *limits))
    units = ca.vertcat(lengths, energy / ways, energy / far, energy / apart)
    each = ca.vertcat(
        lengths / energy, ca.if_else(stuck != 0, 1 / ways, ways / energy), 1 / far,
        ca.if_else(works != 0, 1 / apart, apart / energy),
    )  # fmt: skip
    w, speed = B @ v + c, ways / whole + ca.fabs(c)
    rooms = ca.if_else(size > 0, (size - ca.fabs(y)) / size, 0) + _CLEAR
    slides = ca.if_else(speed > 0, w * sign / speed, 0) + _CLEAR
    # Friction without a limit, as of what nothing presses, neither holds nor ends anything.
    ahead = ca.if_else(size > 0, ca.if_else(stuck != 0, rooms, slides), 1)
    open_ = ca.if_else(works != 0, mu * apart / energy, gap / apart) + _CLEAR
    taken = ca.dot(y, w)
    given = ca.dot(y, c) - ca.dot(lam, b) - ca.dot(mu, g)
    if graph.fed:
        given += ca.sum1(sliding.power(*here, v)[1:]) + sliding.pumped(*here)
    told = ca.densify(ca.vertcat(taken, given, ahead, open_))
    arguments = [t, z, u, p, stuck, sign, works, at, lengths, whole]
    slope = ca.diag(each) @ ca.jacobian(residual, z) @ ca.diag(units)
    by_time = ca.densify(each * ca.jacobian(residual, t))
    outputs = [ca.densify(each * residual), slope, by_time, ca.densify(units)]
    equations = ca.Function("places", arguments, outputs, {"cse": True})
    says = ca.Function("says", [*arguments, v], [told], {"cse": True})
    return Numeric(equations, frozenset({1}), dense=True), Numeric(says)


def _some(sizes: Any) -> Any:
    """Return sizes, or one where there is none."""
    return ca.if_else(sizes > 0, sizes, 1)
