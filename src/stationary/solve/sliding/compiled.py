"""Velocities and forces in a mode as one compiled set of equations, for systems of few unknowns.

All forces are unknowns beside the velocities, so that one graph serves every mode: what sticks
holds its rate, and what slides along a line has the sign of its mode; what holds keeps its gap,
what does not has no force. In a plane the rate is along the force, w = ρ y, and the force is as
large as it can be, |y| = a: with ρ as one more unknown nothing has a corner where w comes to rest,
and beyond, where ρ is below zero, the mode has ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from math import isfinite
from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg import lstsq
from scipy.linalg.lapack import dgesv

from stationary.derive.sliding import Sliding
from stationary.lower.engines.casadi import Numeric
from stationary.solve.linear import dense
from stationary.solve.sliding.coulomb import limited
from stationary.solve.sliding.problem import Answer
from stationary.solve.sliding.question import Place, Question, terms_of
from stationary.solve.sliding.reduced import ways_along

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


@dataclass(frozen=True)
class Held:
    """Velocities and forces in a mode, and what they say.

    Attributes
    ----------
    z : ndarray
        Velocities, forces of friction, of constraints and of all contacts, and ρ, in this order.
    margin : float
        By how much the mode holds: below zero it has ended.
    taken, given : float
        The powers of friction and of what drives.
    """

    z: np.ndarray
    margin: float
    taken: float
    given: float


class InMode:
    """The mode of an answer, ready to be followed by compiled equations."""

    def __init__(self, question: Question, place: Place, near: Answer, rooms: bool):
        """Take the mode of an answer at a place; `near` is about the contacts that touch there.

        What sticks may be beyond its limit unless `rooms` count.
        """
        self.question, self.near, self.touching = question, near, place.touching
        equations = _equations(question.sliding)
        assert equations is not None
        self._equations, wide = equations
        p, gaps = place.problem, len(place.gap)
        lines, signs = ways_along(p, near)
        sign, mu = np.zeros(p.terms), np.zeros(gaps)
        sign[lines] = signs
        works, touches = np.zeros(gaps), np.zeros(gaps)
        mu[place.touching], touches[place.touching] = near.mu, 1.0
        works[place.touching] = near.working
        self._mode = np.concatenate([near.stuck, sign, works, touches, place.digits, [rooms]])
        along = near.speeds / np.where(near.problem.size > 0, near.problem.size, np.inf)
        self._start = np.concatenate([near.v, near.y, near.lam, mu, along[wide]])
        self._soft, total = _softness(place, near), len(self._start)
        self._forces = slice(p.n * (total + 1), (total - len(wide)) * (total + 1), total + 1)
        self._units = None
        if not (p.even and rooms):
            # Metres beside radians and beside forces: in these units all unknowns are of one size.
            speed, force = near.speed, near.strength
            sizes = [speed / p.levers, np.full(len(p.c), force), force / p.row_sizes,
                     np.full(gaps, force), np.full(len(wide), speed / force)]  # fmt: skip
            self._units = np.concatenate(sizes)
        self._shares = not rooms

    @classmethod
    def of(cls, question: Question, place: Place, near: Answer, rooms: bool) -> InMode | None:
        """Return the mode of an answer where its equations are few enough to be compiled."""
        return None if _equations(question.sliding) is None else cls(question, place, near, rooms)

    def at(self, t: float, q: np.ndarray, guess: np.ndarray | None = None) -> Held | None:
        """Find velocities and forces at a place, or None where that fails."""
        z: np.ndarray = self._start if guess is None else guess
        u, best = self.question.inputs(t, q), np.inf
        for _ in range(_MOST_STEPS):
            left, slope, told = self._equations(t, q, u, self.question.params, z, self._mode)
            error = told[0]
            # The largest of numbers passes over what is none.
            if not (error < _FAR and isfinite(np.add.reduce(left) + told[2] + told[3])):
                return None
            if error <= _ROUNDING or (error <= _RIGHT and error >= 0.1 * best):
                return Held(z, *told[1:])
            best = min(best, error)
            if not self._shares:
                slope[self._forces] -= self._soft
            move = self._move(slope.reshape(len(z), len(z)).T, left)
            if move is None:
                return None
            z = z + move
        return None

    def _move(self, slope: np.ndarray, left: np.ndarray) -> np.ndarray | None:
        """Return the next move of the unknowns; forces that are shared change least."""
        if self._units is None:
            *_, move, singular = dgesv(slope, -left, True, True)
            return None if singular else move
        slope = slope * self._units
        sizes = np.abs(slope).max(axis=1)
        rows = 1 / np.where(sizes > 0, sizes, 1.0)
        slope, left = slope * rows[:, None], left * rows
        if self._shares:
            return -self._units * lstsq(slope, left, cond=_DEPENDENT)[0]
        *_, move, singular = dgesv(slope, -left, True, True)
        return None if singular else self._units * move

    def answer(self, held: Held, place: Place) -> tuple[Answer, Place]:
        """Return what was found as an answer, at its place."""
        p, near = place.problem, self.near
        forces, lams, mus = p.n, p.n + len(p.c), p.n + len(p.c) + len(p.b)
        v, y, lam = held.z[:forces], held.z[forces:lams], held.z[lams:mus]
        mu = held.z[mus + self.touching]
        problem = p if p.pressed is None else limited(p, p.pressed, mu)
        answer = Answer(problem, v, y, lam, mu, near.stuck, near.working, "Newton")
        return answer, replace(place, problem=problem)


def _softness(place: Place, near: Answer) -> np.ndarray:
    """Return for each force how much its row gives way to it: next to nothing."""
    p = place.problem
    rows = np.vstack([*p.matrices[:2], dense(place.normals)]) if p.n else np.zeros((0, 0))
    soft = _SOFT / near.strength * (np.abs(rows) @ near.moves)
    # What slides has its force, and what is open has none.
    held = np.concatenate([near.stuck[p.term], np.ones(len(p.b)), np.zeros(len(place.gap))])
    held[len(held) - len(place.gap) :][place.touching] = near.working
    return np.where(held > 0, soft, 0.0)


@lru_cache(maxsize=64)
def _equations(sliding: Sliding) -> tuple[Numeric, list[int]] | None:
    """Compile what is left over, its slope, and what velocities and forces say; None if too many.

    Returns the terms of dry friction in a plane as well.

    The arguments are t, q, u, p, unknowns and the mode: what sticks, signs along lines, what holds,
    what touches, by how much gaps may be off, and whether limits of what sticks count.
    """
    graph = sliding.graph
    n, rates, rows, gaps = graph.system.size, sliding.rates, graph.layout.multipliers, sliding.gaps
    if n + rates + rows + gaps > _MOST_UNKNOWNS or not sliding.slips.is_a("SXFunction"):
        return None
    t, q = ca.SX.sym("t"), ca.SX.sym("q", n)
    u, p = ca.SX.sym("u", len(graph.system.inputs)), ca.SX.sym("p", len(graph.system.parameters))
    v, y = ca.SX.sym("v", n), ca.SX.sym("y", rates)
    lam, mu = ca.SX.sym("lam", rows), ca.SX.sym("mu", gaps)
    here = (t, q, u, p)
    _, c, B, sizes, powers = sliding.slips(*here)
    R, b, A, gap, g, G = sliding.holds(*here)
    f = sliding.pushes(*here)
    starts, pressed, _ = terms_of(sliding)
    terms = len(starts)
    ends = np.append(starts, rates)
    stuck, sign = ca.SX.sym("stuck", terms), ca.SX.sym("sign", terms)
    works, touches = ca.SX.sym("works", gaps), ca.SX.sym("touches", gaps)
    digits, rooms = ca.SX.sym("digits", gaps), ca.SX.sym("rooms")
    w, opening = B @ v + c, G @ v + g
    damps = not graph.system.dissipation.is_zero
    slope = sliding.viscous(*here, v)[1] if damps else ca.SX.zeros(n)
    arms = ca.vertcat(*(largest_of(B[:, j]) for j in range(n)))
    slopes = ca.vertcat(*(largest_of(A[:, j], G[:, j]) for j in range(n)))
    levers = ca.if_else(arms > 0, arms, ca.if_else(slopes > 0, slopes, 1))
    drags = [k for k in range(terms) if not _is_zero(powers[int(starts[k])])]
    limits = [k for k in range(terms) if pressed[k] < 0 and k not in drags]
    force = largest_of(f / levers, *(sizes[int(starts[k])] for k in limits))
    # A coefficient of drag is no force, but where there is no other.
    force = ca.if_else(force > 0, force, largest_of(*(sizes[int(starts[k])] for k in drags)))
    force = ca.if_else(force > 0, force, 1)
    dragged = (y[int(starts[k])] for k in drags)
    strength = largest_of(force, lam, mu, slope / levers, *dragged)
    speed = largest_of(w, 1e-5 * (ca.dot(arms, ca.fabs(v)) + largest_of(c)))
    speed = ca.if_else(speed > 0, speed, largest_of(v, b))
    speed = ca.if_else(speed > 0, speed, 1)
    law, off, margin, along, turns, wide = [], [], [ca.SX(_FAR)], [], [], []
    taken = ca.dot(slope, v)
    for k in range(terms):
        part = slice(int(starts[k]), int(ends[k + 1]))
        first, plane = int(starts[k]), int(ends[k + 1] - starts[k]) > 1
        size, power = sizes[first], powers[first]
        contact = int(pressed[k])
        if contact >= 0:
            size = size * mu[contact]
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
            margin.append(ca.if_else(stuck[k] * rooms != 0, room / force, _FAR))
        else:
            left, unit = y[part] - size * r ** (power - 1) * w[part], strength
            left = ca.if_else(r > 0, left, y[part])
        law.append(ca.if_else(stuck[k] != 0, w[part], left))
        off.append(largest_of(ca.if_else(stuck[k] != 0, w[part] / speed, left / unit)))
        taken += ca.dot(y[part], w[part])
    balance = f - B.T @ y - slope + A.T @ lam + G.T @ mu
    held = A @ v + b
    contacts = ca.if_else(works != 0, opening, mu)
    moves = ca.fabs(v) + ca.if_else(arms > 0, speed / arms, 0)
    off.append(largest_of(balance / levers) / strength)
    off.append(_shares(held, A, moves, b))
    off.append(_shares(ca.if_else(works != 0, opening, 0), G, moves, g))
    margin.append(_least(ca.if_else(works != 0, mu / strength, opening / speed) + 1e-11, touches))
    margin.append(_least(gap + digits, 1 - touches))
    given = ca.dot(y, c) - ca.dot(lam, b) - ca.dot(mu, g)
    if graph.fed:
        supplied = sliding.power(*here, v)
        given += ca.sum1(supplied[1:]) + sliding.pumped(*here)
    z = ca.vertcat(v, y, lam, mu, *along)
    residual = ca.vertcat(balance, *law, held, contacts, *turns)
    told = ca.vertcat(largest_of(*off), _smallest(margin), taken, given)
    mode = ca.vertcat(stuck, sign, works, touches, digits, rooms)
    outputs = [ca.densify(x) for x in (residual, ca.vec(ca.jacobian(residual, z)), told)]
    function = ca.Function("in_mode", [*here, z, mode], outputs, {"cse": True})
    return Numeric(function), wide


def _is_zero(x: Any) -> bool:
    return bool(x.is_constant() and float(x) == 0)


def largest_of(*parts: Any) -> Any:
    """Return the largest size of any entry."""
    entries: list[Any] = [e for x in parts for e in ca.densify(ca.SX(x)).elements()]
    return reduce(ca.fmax, (ca.fabs(e) for e in entries), ca.SX(0))


def _smallest(parts: list[Any]) -> Any:
    return reduce(ca.fmin, parts)


def _least(values: Any, where: Any) -> Any:
    """Return the least of some values."""
    some = ca.if_else(where != 0, values, _FAR)
    return reduce(ca.fmin, ca.densify(some).elements(), ca.SX(_FAR))


def _shares(off: Any, rows: Any, moves: Any, rate: Any) -> Any:
    """Return what is off of rates, as the largest share of what adds up in them."""
    whole = ca.fabs(rows) @ moves + ca.fabs(rate)
    return largest_of(ca.if_else(whole > 0, off / whole, 0))
