"""Velocities and forces in a mode as one compiled set of equations, for systems of few unknowns.

All forces are unknowns beside the velocities, so that one graph serves every mode: what sticks
holds its rate, and what slides along a line has the sign of its mode; what holds keeps its gap,
what does not has no force. In a plane the rate is along the force, w = ρ y, and the force is as
large as it can be, |y| = a: with ρ as one more unknown nothing has a corner where w comes to rest,
and beyond, where ρ is below zero, the mode has ended.
"""

from __future__ import annotations

from functools import cached_property, lru_cache, reduce
from math import isfinite
from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg import lstsq

from stationary.derive.sliding import Sliding
from stationary.lower.engines.casadi import Numeric
from stationary.solve.linear import dense
from stationary.solve.sliding.convex.reduced import NONE, ways_along
from stationary.solve.sliding.over_time.phase import JUMP, Look
from stationary.solve.sliding.over_time.runge import (
    OFF,
    PATH,
    TIMES,
    WEIGHTS,
    Tried,
    foreseen,
    led_along,
    weighted,
)
from stationary.solve.sliding.problem.expressions import Expressions, largest_of, some_of, symbols
from stationary.solve.sliding.problem.numbers import ROLLS, Answer, largest
from stationary.solve.sliding.problem.question import Place, Question

# Up to so many unknowns equations are compiled.
_MOST_UNKNOWNS = 160
_MOST_STEPS = 12
# What is off by this share of forces and speeds at work is rounding; what is more is no answer.
_ROUNDING, _RIGHT = 1e-13, 1e-11
# What holds twice is shared by forces that change least: so soft are rows, relative to the rest.
_SOFT = 1e-8
# Rows that depend on others but for this share do.
_DEPENDENT = 1e-9
# No time, speed or force is as large.
_FAR = 1e300
# Equations of one size each are singular where nothing but this is left of one.
_SINGULAR = 1e-14


#: Unknowns, and what they say.
Solved = tuple[np.ndarray, np.ndarray]


class InMode:
    """The mode of an answer, ready to be followed by compiled equations."""

    def __init__(
        self, question: Question, place: Place, near: Answer, rooms: bool, equations: Equations
    ):
        """Take the mode of an answer at a place; `near` is about the contacts that touch there.

        What sticks may be beyond its limit unless `rooms` count.
        """
        self.question, self.near, self.touching = question, near, place.touching
        self._equations, wide = equations, equations.wide
        p, gaps = place.problem, len(place.gap)
        lines, signs = ways_along(p, near)
        sign, mu = np.zeros(p.terms), np.zeros(gaps)
        sign[lines] = signs
        works, touches = np.zeros(gaps), np.zeros(gaps)
        mu[place.touching], touches[place.touching] = near.mu, 1.0
        works[place.touching] = near.working
        # What is slower than rounding beside the motion that is asked about does not move.
        natural = largest(question.lengths(place) * p.levers) / (question.span or 1.0)
        speed, force = near.moving or natural or 1.0, near.strength
        sides = works, touches, place.digits, question.apart(place)
        self._mode = np.concatenate([near.stuck, sign, *sides, [rooms, NONE * natural]])
        along = near.speeds / np.where(near.problem.size > 0, near.problem.size, np.inf)
        self.start = np.concatenate([near.v, near.y, near.lam, mu, along[wide]])
        # Metres beside radians and beside forces: in these units all unknowns are of one size.
        sizes = [speed / p.levers, np.full(len(p.c), force), force / p.row_sizes,
                 np.full(gaps, force), np.full(len(wide), speed / force)]  # fmt: skip
        self._units = np.concatenate(sizes)
        #: None where forces are shared.
        self._scales = self._scaled(place, speed) if rooms else None
        #: Whether steps can be tried: nothing is read from tables, and no forces are shared.
        self.steps = rooms and not question.system.inputs

    def _scaled(self, place: Place, speed: float) -> np.ndarray:
        """Return units of unknowns, sizes of equations, and what is soft, for all of a mode."""
        given = (place.t, place.q, place.u, self.question.params)
        _, slope, _ = self._equations.every(*given, self.start, self._mode)
        sizes = np.abs(slope.reshape(len(self.start), -1).T * self._units).max(axis=1)
        sizes = np.where(sizes > 0, sizes, 1.0)
        return np.concatenate([self._units, 1 / sizes, _softness(place, self.near, speed)])

    def at(self, t: float, q: np.ndarray, z: np.ndarray) -> Look | None:
        """Find velocities and forces at a place from a guess, or None where that fails."""
        given = self.question.given(t, q)
        solved = self._shared(given, z) if self._scales is None else self._newton(given, z)
        if solved is None:
            return None
        z, evidence = solved
        return Look(t, z, np.concatenate([z[: len(q)], evidence[2:]]), evidence[1])

    def _newton(self, given: tuple, z: np.ndarray) -> Solved | None:
        """Find velocities and forces by compiled steps of Newton."""
        for _ in range(2):
            solved = self._equations.newton.checked(*given, z, self._mode, self._scales)
            if solved is None or not isfinite(solved[1][0] + solved[1][2] + solved[1][3]):
                return None
            z, evidence = solved
            if evidence[0] <= _RIGHT:
                return z, evidence
        return None

    def _shared(self, given: tuple, z: np.ndarray) -> Solved | None:
        """Find velocities and forces of which some are shared: these change least."""
        best = np.inf
        for _ in range(_MOST_STEPS):
            left, slope, evidence = self._equations.every(*given, z, self._mode)
            error = evidence[0]
            # The largest of numbers passes over what is none.
            if not (error < _FAR and isfinite(np.add.reduce(left) + evidence[2] + evidence[3])):
                return None
            if error <= _ROUNDING or (error <= _RIGHT and error >= 0.1 * best):
                return np.where(np.abs(z) < NONE * self._units, 0.0, z), evidence
            best, slope = min(best, error), slope.reshape(len(z), len(z)).T * self._units
            sizes = np.abs(slope).max(axis=1)
            rows = 1 / np.where(sizes > 0, sizes, 1.0)
            move = lstsq(slope * rows[:, None], left * rows, cond=_DEPENDENT)[0]
            z = z - self._units * move
        return None

    def step(self, t: float, x: np.ndarray, h: float, z: np.ndarray) -> Tried | None:
        """Try a step of Runge and Kutta, or return None where it leads beyond a jump."""
        given = (t, h, x, self.question.params, z, self._mode, self._scales)
        tried = self._equations.runge.checked(*given)
        if tried is None:
            return None
        path, off, stages, evidence = tried
        stages, evidence = stages.reshape(len(TIMES), -1), evidence.reshape(len(TIMES), 4)
        path, off, margins = path.reshape(-1, len(x)), off.reshape(2, len(x)), evidence[:, 1]
        wrong = np.flatnonzero(~(evidence[:, 0] <= _RIGHT))
        if not isfinite(np.add.reduce(evidence, axis=None)):
            return None
        if len(wrong) and margins[wrong[0]] < -JUMP:
            return None
        rates = np.concatenate([stages[:, : len(x) - 2], evidence[:, 2:]], axis=1)
        looks = zip((t + h * TIMES).tolist(), stages, rates, margins.tolist())
        known = [Look(*look) for look in looks if look[3] >= 0]
        return Tried(led_along(path), off, float(margins.min()), known, not len(wrong))


def _softness(place: Place, near: Answer, speed: float) -> np.ndarray:
    """Return for each force how much its row gives way to it: next to nothing of a speed."""
    p = place.problem
    arms = np.where(p.arms > 0, p.arms, np.inf)
    rows = np.vstack([*p.matrices[:2], dense(place.normals)]) if p.n else np.zeros((0, 0))
    soft = _SOFT / near.strength * (np.abs(rows) @ (np.abs(near.v) + speed / arms))
    # What slides has its force, and what is open has none.
    held = np.concatenate([near.stuck[p.term], np.ones(len(p.b)), np.zeros(len(place.gap))])
    held[len(held) - len(place.gap) :][place.touching] = near.working
    return np.where(held > 0, soft, 0.0)


class Equations:
    """Compiled equations of a mode, and what follows from them by Newton's steps.

    Attributes
    ----------
    every : Numeric
        What is left over, its slope, and what velocities and forces say.
    wide : list of int
        The terms of dry friction in a plane.
    forces : slice
        Which unknowns are forces: of friction, of constraints and of all contacts.
    dry : bool
        Whether no force grows with velocity.
    """

    def __init__(self, function: ca.Function, forces: slice, wide: list[int], dry: bool):
        self.every, self.wide, self.dry = Numeric(function), wide, dry
        self._function, self.forces = function, forces

    @cached_property
    def newton(self) -> Numeric:
        """Unknowns by some steps of Newton from a guess, and what they say."""
        return Numeric(self._newton)

    @cached_property
    def _newton(self) -> ca.Function:
        """State Newton's steps: two, and twice two more where these are not enough.

        Beside the arguments of all equations it has units of unknowns, sizes of equations and
        what is soft.
        """
        f, of_forces = self._function, self.forces
        symbols = [ca.SX.sym(f.name_in(k), f.sparsity_in(k)) for k in range(f.n_in())]
        z, size = symbols[4], f.size1_in(4)
        left, _, evidence = f(*symbols)
        units, sizes = ca.SX.sym("units", size), ca.SX.sym("sizes", size)
        soft = ca.SX.sym("soft", of_forces.stop - of_forces.start)
        gives = ca.vertcat(ca.SX(of_forces.start, 1), soft, ca.SX(size - of_forces.stop, 1))
        slope = ca.jacobian(left, z) - ca.diag(ca.sparsify(gives))
        slope = ca.mtimes([ca.diag(sizes), slope, ca.diag(units)])
        given = [*symbols, ca.vertcat(units, sizes, soft)]
        equations = ca.Function("equations", given, [sizes * left, slope], {"cse": True})
        weighed = ca.Function("weighed", given, [evidence], {"cse": True})
        here = [ca.MX.sym(f"i{k}", equations.sparsity_in(k)) for k in range(len(given))]
        at = here[4]
        for _ in range(2):
            left, slope = equations(*here[:4], at, *here[5:])
            at = at - here[6][:size] * ca.solve(slope, left, "qr", {"eps": _SINGULAR})
        twice = ca.Function("twice", here, [at, weighed(*here[:4], at, *here[5:])])
        evidence = ca.MX.sym("evidence", 4)
        stays = ca.Function("stays", [*here, evidence], [here[4], evidence])
        again = ca.Function("again", [*here, evidence], list(twice(*here)))
        more = ca.Function.if_else("more", again, stays)
        after = twice(*here)
        for _ in range(2):
            after = more(after[1][0] > _ROUNDING, *here[:4], after[0], *here[5:], after[1])
        # Beside all that is at work a last digit of it is none.
        none = ca.fabs(after[0]) < NONE * here[6][:size]
        return ca.Function("newton", here, [ca.if_else(none, 0, after[0]), after[1]])

    @cached_property
    def runge(self) -> Numeric:
        """Compile a step of Runge and Kutta: its path, what it is off by, and its stages."""
        newton = self._newton
        n = newton.size1_in(1)
        t, h, x = ca.MX.sym("t"), ca.MX.sym("h"), ca.MX.sym("x", n + 2)
        p, z, mode = (ca.MX.sym(f"i{k}", newton.sparsity_in(k)) for k in (3, 4, 5))
        scales = ca.MX.sym("scales", newton.sparsity_in(6))
        rates, stages, evidence = [], [], []
        for k, at in enumerate(TIMES):
            moved = h * weighted(WEIGHTS[k, :k], rates) if k else ca.MX(n + 2, 1)
            guess = weighted(foreseen(TIMES[:k], at), stages) if k else z
            q = x[:n] + moved[:n]
            unknowns, weighed = newton(t + at * h, q, ca.MX(0, 1), p, guess, mode, scales)
            rates.append(ca.vertcat(unknowns[:n], weighed[2:]))
            stages.append(unknowns)
            evidence.append(weighed)
        path = [h * weighted(row, rates) for row in PATH]
        off = [weighted(row, rates) for row in OFF]
        outputs = [ca.vertcat(*parts) for parts in (path, off, stages, evidence)]
        return Numeric(ca.Function("runge", [t, h, x, p, z, mode, scales], outputs))


@lru_cache(maxsize=64)
def equations_of(sliding: Sliding) -> Equations | None:
    """Compile what is left over, its slope, and what velocities and forces say; None if too many.

    The arguments are t, q, u, p, unknowns and the mode: what sticks, signs along lines, what holds,
    what touches, by how much gaps may be off, which are wide, whether limits of what sticks count,
    and which speed is next to none.
    """
    graph = sliding.graph
    n, rates, rows, gaps = graph.system.size, sliding.rates, graph.layout.multipliers, sliding.gaps
    if n + rates + rows + gaps > _MOST_UNKNOWNS or not sliding.slips.is_a("SXFunction"):
        return None
    v, y = ca.SX.sym("v", n), ca.SX.sym("y", rates)
    lam, mu = ca.SX.sym("lam", rows), ca.SX.sym("mu", gaps)
    here = symbols(sliding)
    at = Expressions(sliding, here)
    A, G, arms, terms = at.A, at.G, at.arms, len(at.parts)
    sizes = [at.sizes[part.start] for part in at.parts]
    powers = [at.powers[part.start] for part in at.parts]
    stuck, sign = ca.SX.sym("stuck", terms), ca.SX.sym("sign", terms)
    works, touches = ca.SX.sym("works", gaps), ca.SX.sym("touches", gaps)
    digits, apart = ca.SX.sym("digits", gaps), ca.SX.sym("apart", gaps)
    rooms, least = ca.SX.sym("rooms"), ca.SX.sym("least")
    w, opening = at.rates(v), G @ v + at.g
    damps = not graph.system.dissipation.is_zero
    slope = sliding.viscous(*here, v)[1] if damps else ca.SX.zeros(n)
    slopes = ca.vertcat(*(largest_of(A[:, j], G[:, j]) for j in range(n)))
    levers = some_of(arms, some_of(slopes))
    drags = [k for k in range(terms) if not _is_zero(powers[k])]
    limits = [sizes[k] for k in range(terms) if at.pressed[k] < 0 and k not in drags]
    # A coefficient of drag is no force, but where there is no other.
    dragging = largest_of(*(sizes[k] for k in drags))
    force = some_of(some_of(largest_of(at.f / levers, *limits), dragging))
    dragged = (y[at.parts[k].start] for k in drags)
    strength = largest_of(force, lam, mu, slope / levers, *dragged)
    speed = at.speed(v, ROLLS, least)
    law, off, margin, along, turns, wide = [], [], [ca.SX(_FAR)], [], [], []
    for k in range(terms):
        part, size, power = at.parts[k], at.limit(k, mu), powers[k]
        plane, held = part.stop - part.start > 1, stuck[k] != 0
        if at.pressed[k] >= 0:
            # What nothing presses holds nothing.
            pressed = works[at.pressed[k]] != 0
            held, size = ca.logic_and(held, pressed), ca.if_else(pressed, size, 0)
        r = ca.norm_2(w[part]) if plane else ca.fabs(w[part])
        if power.is_constant() and float(power) == 0:
            moves = ca.logic_and(stuck[k] == 0, size != 0)
            left, unit, ahead = y[part] - size * sign[k], force, w[part] * sign[k]
            if plane:
                rho = ca.SX.sym("rho")
                turn = ca.if_else(moves, ca.sumsqr(y[part]) / size - size, rho)
                left = ca.if_else(size != 0, w[part] - rho * y[part], y[part])
                unit, ahead = ca.if_else(size != 0, speed, force), rho * size
                off.append(ca.if_else(moves, ca.fabs(turn) / force, 0))
                along, turns, wide = [*along, rho], [*turns, turn], [*wide, k]
            margin.append(ca.if_else(moves, ahead / speed + 1e-11, _FAR))
            room = size * (1 + 1e-9) + 1e-13 * force - ca.norm_2(y[part])
            margin.append(ca.if_else(ca.logic_and(held, rooms != 0), room / force, _FAR))
        else:
            # Drag that what sticks keeps at rest resists with nothing.
            left, unit, slides = (
                y[part] - size * r ** (power - 1) * w[part],
                strength,
                stuck[k] == 0,
            )
            left, held = ca.if_else(ca.logic_and(r > 0, slides), left, y[part]), ca.SX(0)
        law.append(ca.if_else(held, w[part], left))
        off.append(largest_of(ca.if_else(held, w[part] / speed, left / unit)))
    balance = at.unbalanced(y, lam, mu) - slope
    held = A @ v + at.b
    contacts = ca.if_else(works != 0, opening, mu)
    moves = ca.fabs(v) + ca.if_else(arms > 0, speed / arms, 0)
    off.append(largest_of(balance / levers) / strength)
    off.append(_shares(held, A, moves, at.b))
    off.append(_shares(ca.if_else(works != 0, opening, 0), G, moves, at.g))
    margin.append(_least(ca.if_else(works != 0, mu / strength, opening / speed) + 1e-11, touches))
    margin.append(_least((at.gap + digits) / apart, 1 - touches))
    z = ca.vertcat(v, y, lam, mu, *along)
    residual = ca.vertcat(balance, *law, held, contacts, *turns)
    powers = at.account(v, (y, lam, mu), slope)
    evidence = ca.vertcat(largest_of(*off), reduce(ca.fmin, margin), *powers)
    mode = ca.vertcat(stuck, sign, works, touches, digits, apart, rooms, least)
    outputs = [ca.densify(x) for x in (residual, ca.vec(ca.jacobian(residual, z)), evidence)]
    function = ca.Function("in_mode", [*here, z, mode], outputs, {"cse": True})
    forces = slice(n, n + rates + rows + gaps)
    return Equations(function, forces, wide, not (damps or drags))


def _is_zero(x: Any) -> bool:
    return bool(x.is_constant() and float(x) == 0)


def _least(values: Any, where: Any) -> Any:
    """Return the least of some values."""
    some = ca.if_else(where != 0, values, _FAR)
    return reduce(ca.fmin, ca.densify(some).elements(), ca.SX(_FAR))


def _shares(off: Any, rows: Any, moves: Any, rate: Any) -> Any:
    """Return what is off of rates, as the largest share of what adds up in them."""
    whole = ca.fabs(rows) @ moves + ca.fabs(rate)
    return largest_of(ca.if_else(whole > 0, off / whole, 0))
