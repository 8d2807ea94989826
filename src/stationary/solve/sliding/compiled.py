"""Velocities and forces in a mode as one compiled set of equations, for systems of few unknowns.

All forces are unknowns beside the velocities, so that one graph serves every mode: what sticks
holds its rate, what slides along a line has the sign of its mode, and in a plane r y = a w; what
holds keeps its gap, what does not has no force.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from math import isfinite
from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg.lapack import dgesv

from stationary.derive.sliding import Sliding
from stationary.lower.engines.casadi import Numeric
from stationary.solve.sliding.problem import STILL, Answer, Problem
from stationary.solve.sliding.question import Place, Question, terms_of
from stationary.solve.sliding.reduced import ways_along

# Up to so many unknowns equations are compiled.
_MOST_UNKNOWNS = 160
_MOST_STEPS = 12
# What is off by this share of forces and speeds at work is rounding; what is more is no answer.
_ROUNDING, _RIGHT = 1e-13, 1e-11
# What holds twice is shared by forces that change least: so soft are rows, relative to the rest.
_SOFT = 1e-8
# No time, speed or force is as large.
_FAR = 1e300


@dataclass(frozen=True)
class Held:
    """Velocities and forces in a mode, and what they say.

    Attributes
    ----------
    z : ndarray
        Velocities, forces of friction, of constraints and of all contacts, in this order.
    margin : float
        By how much the mode holds: below zero it has ended.
    taken, given : float
        The powers of friction and of what drives.
    slowest : float
        How fast the slowest sliding term in a plane is, relative to the speeds at work.
    """

    z: np.ndarray
    margin: float
    taken: float
    given: float
    slowest: float


class InMode:
    """The mode of an answer, ready to be followed by compiled equations."""

    def __init__(self, question: Question, place: Place, near: Answer, rooms: bool):
        """Take the mode of an answer at a place; `near` is about the contacts that touch there.

        What sticks may be beyond its limit unless `rooms` count.
        """
        self.question, self.near, self.touching = question, near, place.touching
        self._equations = _equations(question.sliding)
        p, gaps = place.problem, len(place.gap)
        lines, signs = ways_along(p, near)
        sign, mu = np.zeros(p.terms), np.zeros(gaps)
        sign[lines] = signs
        works, touches = np.zeros(gaps), np.zeros(gaps)
        mu[place.touching], touches[place.touching] = near.mu, 1.0
        works[place.touching] = near.working
        self._masks = near.stuck.astype(float), sign, works, touches
        self._start = np.concatenate([near.v, near.y, near.lam, mu])
        self._soft, total = _softness(place, near), len(self._start)
        self._forces = slice(p.n * (total + 1), None, total + 1)
        self._more = place.digits, float(rooms)

    @classmethod
    def of(cls, question: Question, place: Place, near: Answer, rooms: bool) -> InMode | None:
        """Return the mode of an answer where its equations are few enough to be compiled."""
        return None if _equations(question.sliding) is None else cls(question, place, near, rooms)

    def at(self, t: float, q: np.ndarray, z: np.ndarray | None = None) -> Held | None:
        """Find velocities and forces at a place, or None where that fails; `z` is a guess."""
        z = self._start if z is None else z
        u = self.question.inputs(t, q)
        # Multiplied by the speed the law has a false solution at rest, which it has not by itself.
        return self._newton(t, q, u, z, 0.0) or self._newton(t, q, u, z, 1.0)

    def _newton(
        self, t: float, q: np.ndarray, u: np.ndarray, z: np.ndarray, plain: float
    ) -> Held | None:
        assert self._equations is not None
        best, told = np.inf, None
        for _ in range(_MOST_STEPS):
            left, slope, told = self._equations(
                t, q, u, self.question.params, z, *self._masks, *self._more, plain
            )
            error = told[0]
            # The largest of numbers passes over what is none.
            if not (error < _FAR and isfinite(left.sum() + told[2] + told[3])):
                return None
            if error <= _ROUNDING or (error <= _RIGHT and error >= 0.1 * best):
                return None if told[4] < STILL else Held(z, *told[1:])
            best = min(best, error)
            slope.ravel(order="F")[self._forces] -= self._soft
            *_, move, singular = dgesv(slope, -left, True, True)
            if singular:
                return None
            z = z + move
        return None

    def answer(self, held: Held, place: Place) -> tuple[Answer, Place]:
        """Return what was found as an answer, at its place."""
        p, near = place.problem, self.near
        v, y, lam, mu = np.split(held.z, np.cumsum([p.n, len(p.c), len(p.b)]))
        mu = mu[self.touching]
        problem = p if p.pressed is None else _limits(p, mu)
        made = Answer(problem, v, y, lam, mu, near.stuck, near.working, "Newton")
        return made, replace(place, problem=problem)


def _limits(p: Problem, mu: np.ndarray) -> Problem:
    """Return the problem in which these forces press the contacts."""
    assert p.pressed is not None
    size = np.where(p.pressed == -2, 0.0, p.size)
    size[p.pressed >= 0] *= mu[p.pressed[p.pressed >= 0]]
    return replace(p, size=size, pressed=None)


def _softness(place: Place, near: Answer) -> np.ndarray:
    """Return for each force how much its row gives way to it: next to nothing."""
    p = place.problem
    normals = np.asarray(place.normals.toarray() if hasattr(place.normals, "toarray")
                         else place.normals)  # fmt: skip
    rows = np.vstack([*p.matrices[:2], normals]) if p.n else np.zeros((0, 0))
    soft = _SOFT / near.strength * (np.abs(rows) @ near.moves)
    # What slides has its force, and what is open has none.
    held = np.concatenate([near.stuck[p.term], np.ones(len(p.b)), np.zeros(len(place.gap))])
    held[len(held) - len(place.gap) :][place.touching] = near.working
    return np.where(held > 0, soft, 0.0)


@lru_cache(maxsize=64)
def _equations(sliding: Sliding) -> Any:
    """Compile what is left over, its slope, and what velocities and forces say; None if too many.

    The arguments are t, q, u, p, unknowns, what sticks, signs along lines, what holds, what
    touches, by how much gaps may be off, whether limits of what sticks count, and whether the law
    in a plane is plain, or multiplied by the speed.
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
    plain = ca.SX.sym("plain")
    w, opening = B @ v + c, G @ v + g
    damps = not graph.system.dissipation.is_zero
    slope = sliding.viscous(*here, v)[1] if damps else ca.SX.zeros(n)
    force = _largest(f, *(sizes[int(starts[k])] for k in range(terms) if pressed[k] < 0))
    force = ca.if_else(force > 0, force, 1)
    strength = _largest(force, lam, mu, slope)
    arms = ca.vertcat(*(_largest(B[:, j]) for j in range(n)))
    speed = _largest(w, 1e-5 * (ca.dot(arms, ca.fabs(v)) + _largest(c)))
    speed = ca.if_else(speed > 0, speed, _largest(v, b))
    speed = ca.if_else(speed > 0, speed, 1)
    law, off, slow, margin = [], [], [ca.SX(1)], [ca.SX(_FAR)]
    taken = ca.dot(slope, v)
    for k in range(terms):
        part = slice(int(starts[k]), int(ends[k + 1]))
        first, wide = int(starts[k]), int(ends[k + 1] - starts[k]) > 1
        size, power = sizes[first], powers[first]
        contact = int(pressed[k])
        if contact >= 0:
            size = size * mu[contact]
        r = ca.norm_2(w[part]) if wide else ca.fabs(w[part])
        dry = power.is_constant() and float(power) == 0
        if dry:
            # In a plane the force is along the rate; multiplied by the speed corners mislead less.
            left = y[part] - size * sign[k]
            if wide:
                left = ca.if_else(
                    plain, speed * (y[part] - size * w[part] / r), r * y[part] - size * w[part]
                )
            unit = (speed if wide else 1) * force
            moves = ca.logic_and(stuck[k] == 0, size != 0)
            if wide:
                slow.append(ca.if_else(moves, r / speed, 1))
            else:
                margin.append(ca.if_else(moves, w[part] * sign[k] / speed + 1e-11, _FAR))
            room = size * (1 + 1e-9) + 1e-13 * force - ca.norm_2(y[part])
            margin.append(ca.if_else(stuck[k] * rooms != 0, room / force, _FAR))
        else:
            left, unit = y[part] - size * r ** (power - 1) * w[part], strength
            left = ca.if_else(r > 0, left, y[part])
        law.append(ca.if_else(stuck[k] != 0, w[part], left))
        off.append(_largest(ca.if_else(stuck[k] != 0, w[part] / speed, left / unit)))
        taken += ca.dot(y[part], w[part])
    balance = f - B.T @ y - slope + A.T @ lam + G.T @ mu
    held = A @ v + b
    contacts = ca.if_else(works != 0, opening, mu)
    moves = ca.fabs(v) + ca.if_else(arms > 0, speed / arms, 0)
    off.append(_largest(balance) / strength)
    off.append(_shares(held, A, moves, b))
    off.append(_shares(ca.if_else(works != 0, opening, 0), G, moves, g))
    margin.append(_least(ca.if_else(works != 0, mu / strength, opening / speed) + 1e-11, touches))
    margin.append(_least(gap + digits, 1 - touches))
    given = ca.dot(y, c) - ca.dot(lam, b) - ca.dot(mu, g)
    if graph.fed:
        supplied = sliding.power(*here, v)
        given += ca.sum1(supplied[1:]) + sliding.pumped(*here)
    z = ca.vertcat(v, y, lam, mu)
    residual = ca.vertcat(balance, *law, held, contacts)
    told = ca.vertcat(_largest(*off), _smallest(margin), taken, given, _smallest(slow))
    arguments = [*here, z, stuck, sign, works, touches, digits, rooms, plain]
    outputs = [ca.densify(residual), ca.jacobian(residual, z), ca.densify(told)]
    function = ca.Function("in_mode", arguments, outputs, {"cse": True})
    return Numeric(function, frozenset({1}), dense=True)


def _largest(*parts: Any) -> Any:
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
    return _largest(ca.if_else(whole > 0, off / whole, 0))
