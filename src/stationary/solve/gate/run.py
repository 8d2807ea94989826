"""A run keeps its constraints and balances its energy, to what its method promises of its steps."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from stationary.lower.kernel import numeric, sampled
from stationary.result.motion import Motion
from stationary.result.status import Status
from stationary.solve.gate.finding import Finding, refuted, worst
from stationary.solve.gate.sides import sides
from stationary.solve.intervals import Enclosure, NoEnclosure
from stationary.solve.motion.ode import BlowUp
from stationary.solve.motion.stabilize import cancelled
from stationary.solve.scales import scales_of

# The energy is balanced at this many times, of methods without series at up to so many, or once in
# so many steps where that is more often and so many times are told.
_LOOKS = 16
_MANY_LOOKS, _ONCE_IN = 1024, 4

# It is balanced to this many tolerances and so many for every step: errors add up along the way,
# and what exceeds even that is no error of integration but a failure.
_BALANCE = 100.0
_BALANCE_OF_A_STEP = 0.1
_OF_A_CROSSING = 10.0

# What series miss at most, and what a fixed step misses that is far too long.
_BALANCE_OF_SERIES = 1e-11
_BALANCE_OF_FIXED_STEPS = 0.1

# Last digits of places, and of energies, that rounding takes.
_LAST_DIGITS = 16
_EPS = float(np.finfo(float).eps)

# Looks at the interval between two output times in which most of the balance is lost.
_CLOSELY = 2001

# So often the looks go nearer, to where most of it is lost between two of them.
_NEARER = 3

# A last state whose energy is off by more than this part of the largest is no good one.
_KEPT = 1e-6

# A constraint violated by more than this is broken.
_BROKEN = 1e-7

# So many moves of that size tell what rows without a slope change by.
_ASIDE = 4


def proven(motion: Motion, rtol: float) -> Motion:
    """Return a run with the status that it deserves; last states that are no good are taken off."""
    if motion.status in ("singular", "blow-up", "jump", "chatter", "stiff", "endless"):
        return _trimmed(motion)
    few = _few(motion)
    broken = worst(kept(motion, few))
    if broken is not None:
        return replace(motion, status=Status("violated", _constraints_left(motion, few)))
    if motion.status not in ("done", "event"):
        return motion
    off = worst(accounted(motion, rtol, few))
    if off is None:
        astray = worst(sides(motion, rtol))
        return motion if astray is None else replace(motion, status=refuted(astray))
    message = f"the energy balance is violated by {off.measured:.1e} of the largest energy"
    if not np.isfinite(off.measured):
        message = "energies are too large for numbers, so that nothing proves it: use larger units"
    return replace(motion, status=Status("inaccurate", message))


def accounted(motion: Motion, rtol: float, few: np.ndarray | None = None) -> list[Finding]:
    """Measure what is missing of the energy, beside the largest that was at work.

    What its method promises of every step adds up along the way.
    """
    few = _few(motion) if few is None else few
    energies = _sampled(motion, "energies", few)
    level = float(np.abs(energies[:, 1:3]).max())
    if not np.isfinite(level):
        return [Finding("energy", "balances", np.inf, 0.0)]
    energies[:, 1:3] -= energies[0, 1:3]
    done = 0.0
    if motion.kernel.graph.fed or motion.struck:
        work = motion.work[few]
        energies[:, 2] -= work - work[0]
        done = float(np.abs(work).max())
    # From where a potential is counted says nothing but how it is rounded.
    kinetic, potential, error, _ = np.abs(energies).max(axis=0).tolist()
    scale = max(kinetic, potential, done, 1e-300)
    error = max(0.0, error - _LAST_DIGITS * _EPS * level)
    # Series promise rounding at every step; other methods their tolerance, a fixed step none.
    allowed = (
        _BALANCE_OF_SERIES + _LAST_DIGITS * _EPS * motion.steps + _OF_A_CROSSING * motion.crossed
    )
    if motion.method != "Taylor":
        allowed += (_BALANCE + _BALANCE_OF_A_STEP * motion.steps) * rtol
    if motion.fixed_step:
        allowed = _BALANCE_OF_FIXED_STEPS
    if not error <= allowed * scale:
        largest, rounding = _passed(motion)
        scale = max(scale, largest)
        allowed += (rounding + rounding_of_energy(motion, few)) / scale
    return [Finding("energy", "balances", error / scale, allowed)]


def _passed(motion: Motion) -> tuple[float, float]:
    """Return the largest energy where most of the balance is lost, and how it is rounded there.

    What falls past a centre of force, or snaps over, has for an instant many times the energy that
    it has before and after, and errors are relative to that. Where a force is steep, the last
    digits of a place are many of the energy, and where power is high, those of time.
    """
    lost = np.abs(np.diff(motion.balance))
    k = int(np.argmax(lost))
    first, last = motion.t[k], motion.t[k + 1]
    largest = rounding = 0.0
    # Nearer and nearer: what is narrow is passed between two looks.
    for _ in range(_NEARER):
        if last - first <= _CLOSELY * np.spacing(abs(last)):
            break
        try:
            times = np.linspace(first, last, _CLOSELY)
            # What is integrated again up to the end ends elsewhere, by its own rounding.
            times[-1] = np.nextafter(last, first)
            inside: Any = motion.at(times)
        except BlowUp:
            break
        arguments = (inside.t[None, :], inside.q.T, inside.v.T, inside.u.T, inside.params)
        force = np.asarray(motion.kernel.graph.dynamics(*arguments)[1]).reshape(-1, _CLOSELY)
        turned = float(np.abs(force * inside.q.T).sum(axis=0).max())
        turned += float(np.abs(inside.power * inside.t).max())
        change = inside.potential - inside.potential[0]
        largest = max(largest, float(np.abs([inside.kinetic, change, inside.work]).max()))
        drifted = float((np.abs(force).T @ _drift(motion)).max())
        rounding = max(rounding, _LAST_DIGITS * _EPS * turned + drifted)
        k = int(np.argmax(np.abs(np.diff(inside.balance))))
        first, last = inside.t[max(k - 1, 0)], inside.t[min(k + 2, _CLOSELY - 1)]
    # What is narrow may be passed again and again, and takes its digits every time.
    return largest, rounding * float(lost.sum() / max(lost.max(), 1e-300))


def _drift(motion: Motion) -> np.ndarray:
    """Return how far last digits of what rows hold carry what may not move at all."""
    if not motion.kernel.rows:
        return np.zeros(motion.kernel.size)
    p = np.concatenate([motion.params, motion.drives.slots(motion.t[0]), [motion.alpha]])
    left = cancelled(motion.kernel, motion.t[0], motion.y[0], p)
    return left * (motion.t[-1] - motion.t[0]) ** 2


def rounding_of_energy(motion: Motion, few: np.ndarray) -> float:
    """Return how much of the energy is rounding: large terms that cancel leave it few digits."""
    energies, y = motion.kernel.graph.energies, motion.y[few]
    n = motion.kernel.size
    u = motion.inputs_at(motion.t[few], y)
    params = np.tile(motion.params, (len(few), 1))
    states = np.hstack([motion.t[few, None], y[:, : 2 * n], u, params])
    z = ca.SX.sym("z", states.shape[1])
    parts = ca.vertsplit(z, np.cumsum([0, *(energies.numel_in(i) for i in range(5))]).tolist())
    try:
        energy = ca.Function("energy", [z], [ca.densify(energies(*parts)[2])], {"cse": True})
        low, high, _ = Enclosure(energy)(states, states)
    except NoEnclosure:
        return 0.0
    width = float(np.max(high - low))
    return width if np.isfinite(width) else 0.0


def _trimmed(motion: Motion) -> Motion:
    """Take off last states, close to where a motion breaks off, whose energy does not balance."""
    scale = np.abs([motion.kinetic, motion.potential, motion.work]).max(axis=0)
    good = np.abs(motion.balance) <= _KEPT * np.maximum.accumulate(np.maximum(scale, 1e-300))
    count = max(1, int(np.max(np.flatnonzero(good), initial=0)) + 1)
    return motion if count == len(good) else replace(motion, t=motion.t[:count], y=motion.y[:count])


def _few(motion: Motion) -> np.ndarray:
    """Return which output times are looked at; functions of few different numbers are made."""
    count, steps = len(motion.t), motion.steps
    if motion.method == "Taylor" and not motion.kernel.rows:
        # Every step has proven itself when it was taken.
        return _spread(count, _LOOKS)
    most = min(count, max(steps // _ONCE_IN, _MANY_LOOKS))
    looks = _LOOKS << max(0, (most // _LOOKS).bit_length() - 1)
    return _spread(count, looks)


@cache
def _spread(count: int, looks: int) -> np.ndarray:
    return np.unique(np.linspace(0, count - 1, looks).astype(int))


def _sampled(motion: Motion, name: str, few: np.ndarray) -> np.ndarray:
    """Evaluate the first output of a function of the graph at a few times, one row each."""
    n, y = motion.kernel.size, motion.y[few]
    u = motion.inputs_at(motion.t[few], y)
    f = sampled(motion.kernel.graph, name, 0, len(few))
    q, v = y[:, :n].ravel(), y[:, n : 2 * n].ravel()
    return f(motion.t[few], q, v, u.ravel(), motion.params)[0].reshape(len(few), -1)


def kept(motion: Motion, few: np.ndarray | None = None) -> list[Finding]:
    """Measure R beside what it changes by on the way, or over the statement's own lengths."""
    layout = motion.kernel.layout
    if not layout.multipliers:
        return []
    few = _few(motion) if few is None else few
    R, allowed = _violations(motion, few)
    return [
        Finding("constraint holds:", f"'{layout.row_name(i)}'", float(r), float(most))
        for i, (r, most) in enumerate(zip(R, allowed))
    ]


def _violations(motion: Motion, few: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest |R| of each row, and how large it may be."""
    R = np.abs(_sampled(motion, "constraints", few)).max(axis=0)
    q, v = motion.q[few], motion.v[few]
    u = motion.inputs_at(motion.t[:1], motion.y[:1])[0]
    constraints = numeric(motion.kernel.graph, "constraints")
    rows, _, A, *_ = constraints(motion.t[0], q[0], v[0], u, motion.params)
    A, way = abs(A), np.abs(q - q[0]).max(axis=0)
    allowed = _BROKEN * (A @ way)
    if not np.all(R <= allowed):
        # What hardly moves has sizes all the same: those of its statement.
        sizes = scales_of(
            motion.kernel.graph, motion.params, motion.t[0], q[0], v=v[0], u=u,
            span=motion.t[-1] - motion.t[0],
        )  # fmt: skip
        allowed = np.maximum(allowed, sizes.small(A, _BROKEN))
        allowed = np.maximum(allowed, A @ _drift(motion))
        # A square has no slope where it vanishes: what such a move makes of it is no less small.
        aside = _BROKEN * np.maximum(way, sizes.length)
        for signs in np.random.default_rng(0).choice([-1.0, 1.0], (_ASIDE, len(aside))):
            moved = constraints(motion.t[0], q[0] + signs * aside, v[0], u, motion.params)[0]
            allowed = np.maximum(allowed, np.abs(moved - rows))
    return R, allowed


def _constraints_left(motion: Motion, few: np.ndarray) -> str:
    """Say which constraints a motion leaves: such as agreed only at the start."""
    R, allowed = _violations(motion, few)
    names = [motion.kernel.layout.row_name(int(i)) for i in np.flatnonzero(~(R <= allowed))]
    several = (
        f"constraints {', '.join(map(repr, names[:4]))} are"
        if len(names) > 1
        else (f"constraint {names[0]!r} is")
    )
    when = ": they agreed at the start alone" if set(names) & set(motion.redundant) else ""
    return f"{several} violated by up to {R[~(R <= allowed)].max():.1e}{when}"
