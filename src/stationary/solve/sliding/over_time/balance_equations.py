"""Places and forces of springs and dry friction as compiled equations, one set for every mode."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from stationary.derive.sliding import Sliding
from stationary.lower.engines.casadi import Numeric
from stationary.lower.inputs import SLOTS, Signature, lowered
from stationary.solve.sliding.problem.expressions import Expressions, Here, largest_of, some_of
from stationary.solve.sliding.problem.question import Question, terms_of

# Up to so many unknowns equations are compiled.
_MOST_UNKNOWNS = 400

#: What is left over with its slopes, what it says, and which unknowns are shifts and aims.
Compiled = tuple[Numeric, Numeric, slice, slice]


def equations_of(question: Question) -> Compiled | None:
    """Return the compiled equations of a question, or None where it has none."""
    return _equations(question.sliding, question.drives.signature)


@lru_cache(maxsize=64)
def _equations(sliding: Sliding, signature: Signature) -> Compiled | None:
    """Compile what is left over, with its slopes in the unknowns and in time; and what they say.

    The unknowns are places, all forces, and how far what is free in a plane is along its force from
    where it is said to be. Where something slides in a plane there are others: a way to go, which
    is an aim that is given, turned by forces of all that holds to where it may go; and those.
    What they say are powers and margins, at the rates of all unknowns. None where there are too
    many, or where friction is not dry.
    """
    graph = sliding.graph
    n, rates, rows, gaps = graph.system.size, sliding.rates, graph.layout.multipliers, sliding.gaps
    terms, sizes = len(terms_of(sliding)[0]), sizes_of(sliding)
    if sum(sizes) > _MOST_UNKNOWNS or not sliding.slips.is_a("SXFunction"):
        return None
    t, z, rate = ca.SX.sym("t"), ca.SX.sym("z", sum(sizes)), ca.SX.sym("rate", sum(sizes))
    q, y, lam, mu, shift, way, *keeps = ca.vertsplit(z, np.cumsum([0, *sizes]).tolist())
    aim = ca.SX.sym("aim", sizes[5])
    p, origin = ca.SX.sym("p", len(graph.system.parameters)), ca.SX.sym("origin", n)
    slots, at = (
        ca.SX.sym("slots", sum(SLOTS[kind] for kind, _ in signature)),
        ca.SX.sym("at", rates),
    )
    cuts = np.cumsum([0, terms, terms, gaps, rates, terms, n, 1, 1, 1]).tolist()
    given = ca.SX.sym("given", cuts[-1])
    stuck, sign, works, stays, confined, lengths, whole, clear, least = ca.vertsplit(given, cuts)

    def there(place: Any) -> Here:
        return t, place, lowered(signature, graph.layout, t, place, ca.SX.zeros(n), p, slots), p

    here = Expressions(sliding, there(q))
    c, B, b, A, gap, g, G = here.c, here.B, here.b, here.A, here.gap, here.g, here.G
    if not (here.powers.is_constant() and np.all(np.array(ca.DM(here.powers)) == 0)):
        return None
    widths = [part.stop - part.start for part in here.parts]
    wide = [k for k in range(terms) if widths[k] > 1]
    ways, far, apart = (some_of(ca.fabs(rows) @ lengths) for rows in (B, A, G))
    # In units of ways that matter, and of forces that make one energy of them, all is of size one.
    firsts = [part.start for part, contact in zip(here.parts, here.pressed) if contact < 0]
    constant = [here.sizes[first] * ways[first] for first in firsts]
    energy = largest_of(here.f * lengths, y * ways, lam * far, mu * apart, 1e-3 * least, *constant)
    v = rate[:n]
    w = here.rates(v)
    law, law_units, turns, turn_units, margins, shifts = [], [], [], [], [], []
    for k in range(terms):
        part, size, plane = here.parts[k], here.limit(k, mu), k in wide
        reach, held = largest_of(ways[part]), stuck[k] != 0
        if here.pressed[k] >= 0:
            held = ca.logic_and(held, works[here.pressed[k]] != 0)
        strain = reach / energy
        speed = reach / whole + largest_of(c[part])
        resists = ca.norm_2(y[part]) if plane else ca.fabs(y[part])
        if plane:
            line = confined[k] != 0
            moves = ca.logic_and(ca.logic_not(ca.logic_or(held, line)), size > 0)
            off = here.along[part] - at[part]
            s, freely = shift[wide.index(k)], rate[sum(sizes[:4]) + wide.index(k)]
            goes = B[part, :] @ (lengths * way) + c[part] * whole
            goes = confined[k] * goes / some_of(ca.norm_2(goes))
            slide = ca.if_else(line, y[part] - size * goes, off - s * y[part] / size)
            slide = ca.if_else(ca.logic_or(moves, line), slide, y[part])
            law.append(ca.if_else(held, off, slide))
            ahead = ca.if_else(line, ca.dot(goes, w[part]), freely)
            unit = ca.if_else(ca.logic_or(held, moves), 1 / reach, strain)
            turns.append(ca.if_else(moves, ca.sumsqr(y[part]) / size - size, s))
            turn_units.append(ca.if_else(moves, strain, 1 / reach))
            shifts.append(reach)
        else:
            law.append(ca.if_else(held, here.along[part] - at[part], y[part] - size * sign[k]))
            unit, ahead = ca.if_else(held, 1 / reach, strain), w[part] * sign[k]
        law_units.append(ca.repmat(unit, widths[k]))
        # Friction without a limit, as of what nothing presses, neither holds nor ends anything.
        room = (size - resists) / size + clear * ca.fmax(1, 1 / (strain * size))
        slides = ca.if_else(speed > 0, ahead / speed, 0) + clear
        if not plane:
            # What had no limit so far slides nowhere yet.
            slides = ca.if_else(sign[k] != 0, slides, -1)
        margins.append(ca.if_else(size > 0, ca.if_else(stuck[k] != 0, room, slides), 1))
    contacts = ca.if_else(works != 0, gap, mu)
    leads = []
    sticks = ca.vertcat(*(ca.repmat(stuck[k], widths[k]) for k in range(terms)))
    # What nothing presses holds nothing.
    presses = [works[contact] if contact >= 0 else 1 for contact in here.pressed]
    grips = [ca.repmat(stuck[k] * presses[k], widths[k]) for k in range(terms)]
    if wide:
        turned, holds = way - aim, (ca.SX.ones(rows), works, ca.vertcat(*grips))
        for keep, matrix, drift, reach, on in zip(
            keeps, (A, G, B), (b, g, c), (far, apart, ways), holds
        ):
            matrix = matrix @ ca.diag(lengths) / ca.repmat(reach, 1, n)
            turned += matrix.T @ keep
            leads.append(ca.if_else(on != 0, matrix @ way + drift * whole / reach, keep))
        leads = [turned, *leads]
    residual = ca.vertcat(here.unbalanced(y, lam, mu), *law, here.R, contacts, *turns, *leads)
    ones = ca.SX.ones(sum(sizes[5:]))
    units = ca.vertcat(lengths, energy / ways, energy / far, energy / apart, *shifts, ones)
    each = ca.vertcat(
        lengths / energy, *law_units, 1 / far, ca.if_else(works != 0, 1 / apart, apart / energy),
        *turn_units, ones,
    )  # fmt: skip
    margins.append(ca.if_else(works != 0, mu * apart / energy, gap / apart) + clear)
    slope = ca.diag(each) @ ca.jacobian(residual, z) @ ca.diag(units)
    outputs = [each * residual, ca.vec(slope), each * ca.jacobian(residual, t), units]
    # What slides in a plane starts from the place that is given; what sticks stays where it did.
    where = ca.if_else(sticks != 0, stays, sliding.slips(*there(origin))[0])
    outputs = ca.substitute([ca.densify(x) for x in outputs], [at], [where])
    arguments = [t, z, slots, p, given, origin, aim]
    equations = ca.Function("balance", arguments, outputs, {"cse": True})
    evidence = ca.densify(ca.vertcat(*here.account(v, (y, lam, mu)), *margins))
    weighed = ca.Function("weighed", [*arguments, rate], [evidence], {"cse": True})
    shifts, aims = (slice(sum(sizes[:k]), sum(sizes[: k + 1])) for k in (4, 5))
    return Numeric(equations), Numeric(weighed), shifts, aims


def sizes_of(sliding: Sliding) -> list[int]:
    """Return how many unknowns of each kind there are."""
    n, rows, gaps = sliding.graph.system.size, sliding.graph.layout.multipliers, sliding.gaps
    starts = terms_of(sliding)[0]
    wide = int(np.sum(np.diff(np.append(starts, sliding.rates)) > 1))
    forces = [sliding.rates, rows, gaps]
    return [n, *forces, wide, *([n, rows, gaps, sliding.rates] if wide else [0] * 4)]
