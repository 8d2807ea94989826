"""Inertia may be left out up to a speed: the motions with it and without are what they claim."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from stationary.lower.kernel import graph_of, numeric
from stationary.result.speed_limit import SpeedLimit
from stationary.solve.gate.balance import balance
from stationary.solve.gate.constraints import rates
from stationary.solve.gate.finding import Finding, measured
from stationary.solve.gate.friction import friction
from stationary.solve.gate.state import State
from stationary.solve.linear import dense

# A speed is told to this share; what its error is, to rounding.
_SPEED, _TOLD = 0.0101, 1e-9
# Steps meet constraints but for what these bend over a change of velocity, of the way of a step.
_BENT = 1e-2


def inertia_beside(
    limit: SpeedLimit, within: tuple[float, float], rtol: float
) -> Iterator[Finding]:
    """Measure every step, both velocities, their difference, and where it reaches the level."""
    graph, beside = graph_of(limit.system), limit.beside
    count = graph.layout.rates
    rows, u = graph.layout.multipliers, np.zeros(0)
    lengths, largest = np.ptp(beside.q, axis=0), 0.0
    steps = np.diff(beside.t)
    yield from measured("steps are of one length", np.abs(steps - steps.mean()),
                        np.full(len(steps), rtol * steps.mean()), str)  # fmt: skip
    for k, (h, forces, slow) in enumerate(zip(steps, beside.forces, beside.still)):
        (t, q, v), (later, there, after) = (
            (beside.t[i], beside.q[i], beside.v[i]) for i in (k, k + 1)
        )
        name = graph.layout.name
        off, way = np.abs(there - q - h * after), np.abs(there - q) + rtol * lengths
        yield from measured("it goes where velocities lead:", off,
                            rtol * way + 64 * np.spacing(np.abs(there)), name)  # fmt: skip
        M, force = numeric(graph, "dynamics")(t, q, v, u, beside.params)
        inertia, y, lam = M @ (after - v) / h, forces[:count], forces[count:]
        state = State(graph, later, q + h * v, after, u, beside.params, lam, y)
        w, B, size, power = state.slips
        friction_force, held = B.T @ y, state.holds[2].T @ lam
        left = force - inertia - friction_force + held
        pulls = np.abs(force) + np.abs(inertia) + abs(B).T @ np.abs(y)
        pulls = pulls + abs(state.holds[2]).T @ np.abs(lam)
        yield from measured("forces and inertia balance on", np.abs(left), rtol * pulls, name)
        # Drag is among the forces of the beginning of a step.
        speeds = state.lengths(w)[state.terms[2]]
        with np.errstate(divide="ignore", invalid="ignore"):
            drags = np.where(speeds > 0, size * speeds ** (power - 1) * w, 0.0)
        yield from friction(replace(state, y=np.where(power > 0, drags, y)), rtol)
        end = replace(state, q=there)
        bent = _BENT * (abs(end.holds[2]) @ np.abs(there - q) + h * np.abs(end.holds[1]))
        off = end.holds[0].copy()
        off[rows:] = np.minimum(off[rows:], 0.0)
        yield from measured("constraint is met:", np.abs(off), bent + 1e-300, state.row_name)
        middle = State(
            graph, later - h / 2, there - h / 2 * after, slow, u, beside.params,
            beside.holding[k, count:], beside.holding[k, :count],
        )  # fmt: skip
        for claim in (balance, rates, friction):
            yield from claim(middle, rtol)
        inverse = np.linalg.inv(dense(M))
        for part, whole, metric in (
            (inertia, friction_force, inverse), (after - slow, slow, dense(M)),
        ):  # fmt: skip
            size_of = float(whole @ metric @ whole)
            share = np.sqrt(float(part @ metric @ part) / size_of) if size_of > 0 else 0.0
            largest = max(largest, float(share))
    yield Finding("the error is told", "", abs(largest - beside.error), _TOLD * max(largest, 1e-9))
    yield from _crossing(limit, within)


def _crossing(limit: SpeedLimit, within: tuple[float, float]) -> Iterator[Finding]:
    """Measure how far the level is from the errors at and around the speed that is told."""
    speeds, errors, level, beside = limit.speeds, limit.errors, limit.level, limit.beside
    at = int(np.argmin(np.abs(speeds - beside.speed)))
    yield Finding("the error belongs to its speed", "", abs(float(errors[at]) - beside.error),
                  _TOLD * beside.error)  # fmt: skip
    low, high = within
    if np.isinf(limit.speed):
        yield Finding("the error stays below its level", "", float(errors.max()), level)
        return
    yield Finding("the motion is the one at the speed", "", abs(limit.speed - beside.speed),
                  _TOLD * limit.speed)  # fmt: skip
    if abs(beside.error / level - 1) <= _SPEED:
        return
    below, above = speeds[errors < level], speeds[errors >= level]
    least = float(above.min()) if len(above) else high
    most = float(below[below <= least].max(initial=low)) if len(below) else low
    near = least / most <= 1 + _SPEED and most <= limit.speed <= least
    gap = 0.0 if near else least / most - 1
    yield Finding("the error reaches its level there", "", gap, _SPEED)
