"""Equations have slopes at a state: no kink, no jump, one linear equation on all its sides."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.derive.graph import Graph
from stationary.errors import DerivationError
from stationary.lower.instructions import KINKS, operations
from stationary.lower.kernel import numeric
from stationary.solve.gate.finding import Finding
from stationary.solve.scales import Scales, scales_of

# Directions in which forces are looked at; a kink shows in nearly all of them.
_WAYS = 6
# How far they are looked at, in lengths at work, and how many times nearer for a second look.
_NEAR, _NEARER = 1e-7, 16.0
_LEAST = 1e-100
# Slopes of both sides, a smaller part of each other apart than this when looked at nearer, agree.
_AGREE = 0.5
# The part of forces by which sides may differ all the same.
_ALLOWED = 1e-6
# Last digits of forces that are rounding.
_ROUNDINGS = 256 * np.finfo(float).eps


def slopes(
    graph: Graph, at: tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray], scales: Scales
) -> list[Finding]:
    """Measure how much of the difference between both sides is left when looked at nearer.

    `at` are t, q, v, u and parameters. Beside a smooth point slopes of both sides differ the less
    the nearer one looks, at a kink as much as before, and at a jump slopes grow.
    """
    if not operations(graph.dynamics) & KINKS.keys():
        return []
    t, q, v, u, params = at
    # A kink has no size: where nothing else has one, it is seen at the least distance.
    lengths = np.where(scales.length > 0, scales.length, np.where(q != 0, np.abs(q), _LEAST))
    speeds = np.where(v != 0, np.abs(v), lengths)
    forces = numeric(graph, "dynamics")
    here = np.asarray(forces(t, q, v, u, params)[1]).ravel()
    rng, n = np.random.default_rng(0), len(q)
    worst, where = 0.0, 0
    for _ in range(_WAYS):
        way = rng.uniform(0.5, 1.0, 2 * n) * rng.choice([-1.0, 1.0], 2 * n)

        def away(h: float, way: Any = way) -> np.ndarray:
            moved = q + h * lengths * way[:n], v + h * speeds * way[n:]
            return np.asarray(forces(t, *moved, u, params)[1]).ravel() - here

        (f, b), (fn, bn) = ((away(h), -away(-h)) for h in (_NEAR, _NEAR / _NEARER))
        rounding = _ROUNDINGS * (np.abs(here) + np.abs(f) + np.abs(b))
        apart, nearer = np.abs(f - b), _NEARER * np.abs(fn - bn)
        left = np.where(nearer > _NEARER * rounding, nearer - _AGREE * apart, 0.0)
        grown = np.where(np.abs(fn) > rounding, np.abs(fn) - _AGREE * np.abs(f), 0.0)
        off = np.maximum(np.maximum(left, grown), 0.0)
        share = off / np.maximum(np.abs(f) + np.abs(b), 1e-300)
        if not np.all(np.isfinite(share)):
            continue
        i = int(np.argmax(share))
        if share[i] > worst:
            worst, where = float(share[i]), i
    name = graph.layout.name(where)
    return [Finding("both sides have one slope:", f"'{name}'", worst, _ALLOWED)]


def require_slopes(
    graph: Graph, at: tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]
) -> None:
    """Refuse a state at which small motions follow no linear equation."""
    t, q, v, u, params = at
    scales = scales_of(graph, params, t, q, v=v, u=u)
    for finding in slopes(graph, at, scales):
        if not finding.holds:
            raise DerivationError(
                "small motions about this state follow no linear equation.",
                f"Found a kink or a jump in the forces on {finding.where}: they change otherwise "
                "to one side than to the other.",
                "Move the point to either side, or round it off, as st.sqrt(x**2 + small**2) for "
                "st.Abs(x).",
            )
