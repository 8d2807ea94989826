"""The evidence of a state over time, at many times by compiled expressions."""

from __future__ import annotations

from functools import lru_cache
from math import isfinite

import casadi as ca
import numpy as np

from stationary.derive.sliding import Sliding
from stationary.lower.engines.casadi import Numeric
from stationary.solve.sliding.problem.energies import driven
from stationary.solve.sliding.problem.expressions import Expressions, largest_of, some_of, symbols
from stationary.solve.sliding.problem.numbers import ROLLS
from stationary.solve.sliding.problem.question import Question


def evidence_at(
    question: Question, t: float, q: np.ndarray, v: np.ndarray, forces: tuple[np.ndarray, ...]
) -> tuple[float, float, float] | None:
    """Return the power of dry friction, what is left over of the forces, and the duality gap.

    `forces` are those of friction, constraints and all contacts. None where a limit is below zero
    or nothing is a number: such a state is to be told by itself.
    """
    here = *question.given(t, q), v, np.concatenate(forces), question.levers
    power, (left, gap), least = _numeric(question.sliding)(*here)
    known = least[0] >= 0 and isfinite(power[0] + left + gap)
    return (float(power[0]), float(left), float(gap)) if known else None


@lru_cache(maxsize=64)
def _numeric(sliding: Sliding) -> Numeric:
    return Numeric(evidence_of(sliding))


@lru_cache(maxsize=64)
def evidence_of(sliding: Sliding) -> ca.Function:
    """State the power of dry friction, what is left over of forces and the duality gap.

    The last two are beside what is at work. The arguments are a time and a place, velocities,
    forces and levers; the least limit of friction is told as well.
    """
    here = symbols(sliding)
    n, rates, rows = here[1].numel(), sliding.rates, sliding.graph.layout.multipliers
    v, levers = ca.SX.sym("v", n), ca.SX.sym("levers", n)
    forces = ca.SX.sym("forces", rates + rows + sliding.gaps)
    y, lam, mu = ca.vertsplit(forces, [0, rates, rates + rows, forces.numel()])
    at = Expressions(sliding, here)
    w, terms = at.rates(v), range(len(at.parts))
    sizes = [at.limit(k, ca.fmax(mu, 0)) for k in terms]
    slips = sum((sizes[k] * ca.norm_2(w[at.parts[k]]) for k in terms), ca.SX(0))
    pushed = ca.dot(at.f, v)
    value = slips - pushed
    row_sizes = ca.vertcat(*(largest_of(at.A[i, :].T / levers) for i in range(rows)))
    held = lam * some_of(row_sizes) if rows else lam
    limits = [sizes[k] for k in terms if at.pressed[k] < 0]
    strength = largest_of(some_of(largest_of(at.f / levers, *limits)), held, mu)
    left = largest_of(at.unbalanced(y, lam, mu) / levers) / strength
    scale = slips + ca.fabs(pushed) + ca.fabs(value) + strength * at.speed(v, ROLLS)
    evidence = ca.vertcat(left, ca.fabs(value - driven(at, y, lam, mu)) / scale)
    least = ca.mmin(ca.densify(at.sizes)) if sizes else ca.SX(0)
    outputs = [ca.densify(x) for x in (ca.dot(y, w), evidence, least)]
    return ca.Function("evidence", [*here, v, forces, levers], outputs, {"cse": True})
