"""Times known before a motion: where what is stated in time switches or peaks.

No step leads over one of these, however short a pulse is; what is stated in time is smooth between
any two of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np

from stationary.derive.sliding import Sliding
from stationary.lower.inputs import SLOTS, Drives, Signature, lowered
from stationary.lower.switches import Course, Switches
from stationary.solve.motion.instants import known_instants

# Peaks wider than this share of the span are seen by any step.
_BROAD = 0.1
# A switch is known but for so many floating point numbers of time.
_ROUNDING = 64


@dataclass(frozen=True)
class KnownTimes:
    """Where what is stated in time switches, where steps end at all, and how well that is known."""

    switches: np.ndarray
    stops: np.ndarray
    room: float

    def after(self, t: float) -> tuple[float, bool]:
        """Return the next time at which a step ends, and whether something switches there."""
        k = int(np.searchsorted(self.stops, t + self.room, "right"))
        if k == len(self.stops):
            return np.inf, False
        stop = float(self.stops[k])
        # Up to a switch, not onto it: on which side it counts is the statement's own affair.
        return (stop - self.room, True) if stop in self.switches else (stop, False)

    def apart(self, t: float) -> float:
        """Return how far the stops before and after a time are from each other."""
        if not len(self.stops):
            return np.inf
        ends = np.concatenate([[-np.inf], self.stops, [np.inf]])
        k = int(np.searchsorted(ends, t, "right"))
        return float(ends[k] - ends[k - 1])


def known_times(
    sliding: Sliding, drives: Drives, params: np.ndarray, first: float, last: float
) -> KnownTimes:
    """Look at what is stated in time."""
    knots = drives.knots(first, last)
    courses = _courses(sliding, drives.signature)
    switches = peaks = np.zeros(0)
    if courses:
        ends = np.concatenate([[first], knots, [last]])

        def values(t: float) -> np.ndarray:
            return np.concatenate([params, drives.slots(t)])

        broad, count = _BROAD * (last - first), len(params)
        switches, peaks = known_instants(courses, values, ends, broad, count)
    switches = np.union1d(switches, knots)
    room = _ROUNDING * float(np.spacing(max(abs(first), abs(last))))
    inside = [x[(x > first + 2 * room) & (x < last - 2 * room)] for x in (switches, peaks)]
    return KnownTimes(inside[0], np.union1d(*inside), room)


@lru_cache(maxsize=64)
def _courses(sliding: Sliding, signature: Signature) -> tuple[Course, ...]:
    """Return what depends on time alone in all that pushes, holds and rubs, and in inputs."""
    return tuple(c for stated in _stated(sliding, signature) for c in Switches(stated).courses)


def _stated(sliding: Sliding, signature: Signature) -> Iterator[ca.Function]:
    """State what depends on time, element by element, of t, a state and p, with slots of inputs."""
    graph = sliding.graph
    n, system = graph.system.size, graph.system
    q, v = ca.SX.sym("q", n), ca.SX.sym("v", n)
    slots = ca.SX.sym("s", sum(SLOTS[kind] for kind, _ in signature))
    for e in graph.whole.elements:
        p = ca.vertcat(e.p, slots)
        parts = ca.vertcat(e.slip, e.slip_size, e.R, e.drive, e.gap, e.pushes, e.D)
        if system.inputs:
            u = lowered(signature, graph.layout, e.t, q, v, e.p, slots)
            parts = ca.substitute(parts, e.u, u)
        if parts.nnz() and ca.depends_on(parts, e.t):
            state = ca.vertcat(e.z, e.w, e.d, q, v)
            yield ca.Function("stated", [e.t, state, p], [ca.densify(parts)], {"cse": True})
