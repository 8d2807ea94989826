"""A limit surface has for every twist the wrench that friction, as stated, makes of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stationary.derive.sliding import Sliding
from stationary.lower.engines.casadi import Numeric
from stationary.lower.kernel import graph_of
from stationary.model.system import System
from stationary.result.limits import LimitSurface
from stationary.solve.gate.finding import Finding
from stationary.solve.gate.state import State
from stationary.solve.linear import dense

# Twists times rates that are looked at together.
_TOGETHER = 400_000
# What moves slower than this share of the fastest may as well rest.
_RESTS = 1e-12


def surface(limit: LimitSurface, params: np.ndarray, rtol: float) -> list[Finding]:
    """Measure each wrench beside the friction at its twist, the moment by the size of the part."""
    part = limit.system
    alone = System(friction=[x for x in part.friction if x.table is not None],
                   coordinates=part.coordinates)  # fmt: skip
    names = {p.name: value for p, value in zip(part.parameters, params)}
    values = np.array([names[p.name] for p in alone.parameters])
    graph, zero, none = graph_of(alone), np.zeros(3), np.zeros(0)
    state = State(graph, 0.0, zero, zero, none, values, none)
    # Asked once: what makes many questions fast would cost more than the answer.
    slips = Numeric(Sliding(graph).slips, frozenset({2}))
    _, _, B, size, _ = slips(0.0, zero, none, values)
    B, starts = dense(B), state.terms[0]
    arm = max(float(np.abs(B[:, 2]).max(initial=0.0)), 1e-300)
    total = float(size[starts].sum())
    units, count = np.array([total, total, total * arm]), max(1, _TOGETHER // len(B))
    worst = Finding("the wrench is that of", "its twist", 0.0, rtol)
    for first in range(0, len(limit.twists), count):
        twists = limit.twists[first : first + count]
        rates = twists @ B.T
        speed = np.sqrt(np.add.reduceat(rates**2, starts, axis=1))
        moves = speed > _RESTS * speed.max(axis=1, keepdims=True)
        share = np.divide(size[starts], speed, out=np.zeros_like(speed), where=moves)
        widths = np.diff(np.append(starts, len(B)))
        pushed = (rates * np.repeat(share, widths, axis=1)) @ B
        # A point at rest resists with whatever is within its limit.
        idle = np.where(moves, 0.0, size[starts]).sum(axis=1) / total
        off = np.abs(limit.wrenches[first : first + count] - pushed) / units
        off = np.maximum(off.max(axis=1) - idle, 0.0)
        k = int(np.argmax(np.where(np.isfinite(off), off, np.inf)))
        if not off[k] <= worst.measured:
            worst = replace(worst, where=f"the twist {twists[k]}", measured=float(off[k]))
    return [worst]
