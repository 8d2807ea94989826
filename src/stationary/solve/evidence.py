"""Whether a motion can be trusted: its constraints hold, its energy balances."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

from stationary.errors import say
from stationary.lower.kernel import numeric, sampled
from stationary.result.motion import Motion
from stationary.result.status import Status
from stationary.result.trajectory import AbstractMotion
from stationary.solve.intervals import Enclosure, NoEnclosure
from stationary.solve.ode import BlowUp
from stationary.solve.scales import scales_of

# The energy is balanced at this many times, or once in so many steps where that is more often and
# so many times are told: twice as often would cost a tenth of a run of the smallest systems.
_LOOKS = 16
_ONCE_IN = 4

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


def with_evidence(motion: Motion, rtol: float) -> Motion:
    """Mark a motion whose energy does not balance: something went wrong that nobody noticed."""
    if motion.status in ("singular", "blow-up", "jump", "chatter", "stiff"):
        return _trimmed(motion)
    few = _few(len(motion.t), motion.steps)
    broken = _broken(motion, few)
    if broken:
        return replace(motion, status=Status("violated", broken))
    if motion.status not in ("done", "event"):
        return motion
    energies = _sampled(motion, "energies", few)
    level = float(np.abs(energies[:, 1:3]).max())
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
    if error <= allowed * scale:
        return motion
    largest, rounding = _passed(motion)
    scale = max(scale, largest)
    if error <= allowed * scale + rounding + _rounding_of_energy(motion, few):
        return motion
    worst = error / scale
    message = f"the energy balance is violated by {worst:.1e} of the largest energy"
    return replace(motion, status=Status("inaccurate", message))


def _passed(motion: Motion) -> tuple[float, float]:
    """Return the largest energy where most of the balance is lost, and how it is rounded there.

    What falls past a centre of force, or snaps over, has for an instant many times the energy that
    it has before and after, and errors are relative to that. Where a force is steep, the last
    digits of a place are many of the energy.
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
            inside: Any = motion.at(np.linspace(first, last, _CLOSELY))
        except BlowUp:
            break
        arguments = (inside.t[None, :], inside.q.T, inside.v.T, inside.u.T, inside.params)
        force = np.asarray(motion.kernel.graph.dynamics(*arguments)[1]).reshape(-1, _CLOSELY)
        turned = float(np.abs(force * inside.q.T).sum(axis=0).max())
        change = inside.potential - inside.potential[0]
        largest = max(largest, float(np.abs([inside.kinetic, change, inside.work]).max()))
        rounding = max(rounding, _LAST_DIGITS * _EPS * turned)
        k = int(np.argmax(np.abs(np.diff(inside.balance))))
        first, last = inside.t[max(k - 1, 0)], inside.t[min(k + 2, _CLOSELY - 1)]
    # What is narrow may be passed again and again, and takes its digits every time.
    return largest, rounding * float(lost.sum() / max(lost.max(), 1e-300))


def _rounding_of_energy(motion: Motion, few: np.ndarray) -> float:
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


def _few(count: int, steps: int) -> np.ndarray:
    """Return which of so many times are looked at; functions of few different numbers are made."""
    looks = _LOOKS << max(0, (min(count, steps // _ONCE_IN) // _LOOKS).bit_length() - 1)
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


def _broken(motion: Motion, few: np.ndarray) -> str:
    """Say which constraints a motion leaves, if any: such as agreed only at the start."""
    layout = motion.kernel.layout
    if not layout.multipliers:
        return ""
    R = np.abs(_sampled(motion, "constraints", few)).max(axis=0)
    q, v = motion.q[few], motion.v[few]
    u = motion.inputs_at(motion.t[:1], motion.y[:1])[0]
    A = abs(numeric(motion.kernel.graph, "constraints")(
        motion.t[0], q[0], v[0], u, motion.params)[2])  # fmt: skip
    far = A @ np.abs(q - q[0]).max(axis=0)
    bad = np.flatnonzero(R > _BROKEN * far)
    if len(bad):
        # What hardly moves has sizes all the same: those of its statement.
        sizes = scales_of(
            motion.kernel.graph, motion.params, motion.t[0], q[0], v=v[0], u=u,
            span=motion.t[-1] - motion.t[0],
        )  # fmt: skip
        bad = np.flatnonzero(R > np.maximum(_BROKEN * far, sizes.small(A, _BROKEN)))
    if not len(bad):
        return ""
    names = [layout.row_name(int(i)) for i in bad]
    several = (
        f"constraints {', '.join(map(repr, names[:4]))} are"
        if len(names) > 1
        else (f"constraint {names[0]!r} is")
    )
    told = ": they agreed at the start alone" if set(names) & set(motion.redundant) else ""
    return f"{several} violated by up to {R.max():.1e}{told}"


def failure(motion: AbstractMotion, last: float) -> str:
    """Say in three parts why a motion cannot be trusted, or ends early."""
    reason = motion.status.message[0].upper() + motion.status.message[1:]
    if motion.status in ("inaccurate", "violated", "refuted"):
        return say(
            "the motion cannot be trusted.",
            f"{reason}; the motion is error.solution.",
            "Take a shorter step or another method; throw=False returns it as it is."
            if motion.fixed_step and motion.status != "violated"
            else "Tighten rtol and atol, or take another method; throw=False returns it as it is."
            if motion.status == "inaccurate"
            else "Start elsewhere, or remove a constraint; throw=False returns it as it is.",
        )
    if motion.status == "stiff":
        return say(
            f"the motion ends at t = {motion.t[-1]:.6g}, before {last:g}.",
            f"{reason}; the last good state is error.solution.at(error.solution.t[-1]).",
            'Take method=st.BDF(), or "auto", which changes to it where that pays; throw=False '
            "returns what there is.",
        )
    if motion.status == "singular":
        return say(
            f"the motion ends at t = {motion.t[-1]:.6g}, before {last:g}.",
            f"{reason}; the last good state is error.solution.at(error.solution.t[-1]).",
            "No velocity chooses how it goes on, or it is not known well enough: start with more, "
            "or a little aside; throw=False returns what there is.",
        )
    if motion.status in ("jump", "chatter"):
        return say(
            f"the motion ends at t = {motion.t[-1]:.6g}, before {last:g}.",
            f"{reason}; the last good state is error.solution.at(error.solution.t[-1]).",
            "Let it change over a short time, or give two motions, one from the end of the other."
            if motion.status == "jump"
            else "End the motion before, or smooth what switches, as st.tanh(x/small) for "
            "st.sign(x); throw=False returns what there is.",
        )
    if "reaches zero" in reason:
        return say(
            f"the motion ends at t = {motion.t[-1]:.6g}, before {last:g}.",
            f"{reason}; the last good state is error.solution.at(error.solution.t[-1]).",
            "Keep it away from there by a start, a stop or a constraint, or round the edge off, as "
            "st.sqrt(x**2 + small**2) for x; throw=False returns what there is.",
        )
    if "steps become too small" in reason:
        return say(
            f"the motion ends at t = {motion.t[-1]:.6g}, before {last:g}.",
            f"{reason}; the last good state is error.solution.at(error.solution.t[-1]).",
            'Widen what is narrow there, or take method="auto"; throw=False returns what there is.',
        )
    return say(
        f"the motion ends at t = {motion.t[-1]:.6g}, before {last:g}.",
        f"{reason}; the last good state is error.solution.at(error.solution.t[-1]).",
        "Check the signs of the energies, or ask for a shorter span; throw=False returns what "
        "there is.",
    )
