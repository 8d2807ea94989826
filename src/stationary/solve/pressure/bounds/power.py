"""The least and the greatest power that pushing a part can take, over all pressures.

Power is the least of ⟨|v|⟩ over the motions, for every pressure: a concave function of it. Its
greatest value is a saddle, min over motions of the greatest ⟨|v|⟩, a convex problem in which only
the corners of the hull bear load; its least value belongs to all weight at the centre.

A rough finger that slides pushes along an edge of its cone, and what it gives, to the table and to
its own friction, is its normal force times what it moves by along that edge: the normal force is
the least of ⟨|v|⟩ over motions v with f·v = 1, for every pressure, whichever way the finger goes.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import comb
from typing import Any

import numpy as np
from scipy.optimize import minimize

from stationary.result.least_power import motions
from stationary.solve.linear import extent, ways_across
from stationary.solve.pressure.duals.certificate import in_balance
from stationary.solve.pressure.envelope import field
from stationary.solve.pressure.extremes.climb import even
from stationary.solve.pressure.extremes.extremes import Extremes
from stationary.solve.pressure.extremes.polish import Summit, joined
from stationary.solve.pressure.extremes.vertices import EVERY, vertices
from stationary.solve.pressure.programs.programs import Programs, fields
from stationary.solve.pressure.programs.single import EXACT, Single
from stationary.solve.pressure.region import Mode, hull, spread_motion
from stationary.solve.pressure.support import WEIGHT, Rest

# Of the central path: how near it is gone along, by how much it shrinks, what is left of its value.
_NEAR, _SHRINKS, _GAP, _STEPS, _SHORT = 1e-3, 30.0, 1e-11, 400, 1e-6
# Shares of the weight that bear, and of the fastest speed that rest.
_BEARS, _STILL = (1e-7, 1e-5, 1e-3), 1e-4
# Atoms so close on a circle, in sizes of the part, are one.
_ALIKE = 0.1
# Steps of Newton's method that take a pressure from there to rounding.
_NEWTON = 20
# How often a circle is looked at between its samples.
_TURNS = 8
# Motions at which least power is looked for, those from which it goes down, and how often.
_TRIED, _STARTS, _DESCENTS = 300, 12, 6
# What is as good as least, in weights times speeds.
_SHARP = 1e-8
# Powers that agree in so many digits are the same.
_DIGITS = 12
# Samples of a circle, from which its closest points are found.
_ROUND = 360


def power_ends(scene: Any) -> list[tuple[float, Mode, Summit]]:
    """Return the least and the greatest power over all modes, in weights times speeds.

    Where the pressure of an end does not keep a rough finger in its mode, the end is an outer one:
    no pressure of that mode goes further.
    """
    rest, every = scene.rest, []
    for mode in scene.modes:
        shown, factor = mode, 1.0
        if mode.guard is not None and mode.force is not None:
            # Sliding: motions along the force of the finger, and what it gives for each of them.
            unit = mode.force / (mode.force @ mode.force)
            free = ways_across(mode.force)
            plane = mode.normal
            drives = plane, float(plane @ mode.base)
            shown = Mode(mode.name, unit, free, mode.force, drives=drives)
            factor = mode.gives
            if not factor > 0:
                continue
        plane = shown.force is not None and shown.free.shape[1] == 2
        start = even(rest, shown) if plane else spread_motion(rest, replace(shown, cone=()))
        ends = least_power(rest, shown), greatest_power(rest, shown, start)
        every.append((mode, shown, factor, ends))
    chosen, most = [], max(k[2] * power_of(k[3][1]) for k in every) or 1.0
    for side, sign in ((0, 1.0), (1, -1.0)):
        ends_of = []
        for mode, shown, factor, ends in every:
            keeps = mode is shown and not mode.cone or _kept(mode, ends[side])
            ends_of.append((factor * power_of(ends[side]), keeps, mode, shown, ends[side]))
        # Of modes with the same power one that is kept to attains it.
        ends_of.sort(key=lambda k, s=sign: (s * round(k[0] / most, _DIGITS), not k[1]))
        for power, keeps, mode, shown, summit in ends_of:
            if not keeps and len(every) > 1 and not _occurs(scene, mode):
                continue
            summit = summit if keeps else replace(summit, kind="outer")
            chosen.append((power, shown, summit))
            break
    return chosen


def _kept(mode: Mode, summit: Summit) -> bool:
    """Tell whether the motion and the forces of a pressure are those of a mode of the finger."""
    if mode.guard is not None:
        return bool(mode.guard @ summit.twist >= 0)
    return in_balance(mode, summit)[1] <= 1e-7


def _occurs(scene: Any, mode: Mode) -> bool:
    """Tell whether a search finds a pressure with this mode of the finger."""
    hunt = Extremes(scene.rest, mode)
    if hunt.plane:
        return len(hunt.known.every) > 0
    return hunt.greatest(np.array([0.0, 0.0, 1.0])) is not None


def greatest_power(rest: Rest, mode: Mode, start: np.ndarray) -> Summit:
    """Return the motion and the pressure of greatest power."""
    points = rest.columns
    if not rest.radius and len(rest.corners) > 2:
        points = hull(rest.corners)
    elif not rest.radius:
        points = rest.corners
    if not rest.radius and len(points) == len(extent(points)) + 1:
        return _only_power(points, mode)
    z = np.linalg.lstsq(mode.free, start - mode.base, rcond=None)[0]
    twist, affine, masses = start, np.zeros(3), np.zeros(len(points))
    for turn in range(_TURNS if rest.radius else 1):
        affine, z, masses = _central(mode, points, z)
        counts = {int((masses > least).sum()): least for least in _BEARS}
        for least, pivots in product(counts.values(), (False, True)):
            # What bears almost nothing on the path, or hardly moves, may do so at its end, or not.
            bears = masses > least
            settled = _saddle(rest, mode, points, points[bears], affine, z, masses[bears], pivots)
            if settled is not None:
                return settled
        twist = mode.base + mode.free @ z
        if rest.radius and turn < _TURNS - 1:
            points = np.vstack([points, _closest(rest, affine, twist)])
    bears = masses > _BEARS[0]
    return Summit(twist, points[bears], masses[bears], affine, -twist, "power")


def _central(
    mode: Mode, points: np.ndarray, z: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the least λ0 with λ0 + λ·x ≥ |v(x)| at points, with its motion and its pressure.

    Newton's method along the central path of these cones: it sees neither the unit of a direction
    nor how thin a part is, and corners that rest are like others. The multipliers of the cones are
    the pressure.
    """
    P, Q, p, q = _velocities(mode, points)
    A, count = np.hstack([np.ones((len(points), 1)), points]), len(points)
    slopes = np.hstack([A, 0 * p]), np.hstack([0 * A, p]), np.hstack([0 * A, q])

    def cones(u: np.ndarray) -> tuple[np.ndarray, ...]:
        x, y, far = P + p @ u[3:], Q + q @ u[3:], A @ u[:3]
        speed = np.hypot(x, y)
        return far, x, y, np.where(far > speed, (far - speed) * (far + speed), -1.0)

    share = float(np.hypot(P + p @ z, Q + q @ z).max())
    u = np.concatenate([[2 * share, 0.0, 0.0], z])
    here, central = cones(u), (u, np.ones(count))
    for _ in range(_STEPS):
        far, x, y, room = here
        # The slope and the bend of −log of the room in each cone.
        one, two, three = (k[:, None] * s * (2 / room)[:, None] for k, s in zip(here, slopes))
        g = two + three - one
        bends = [(s.T * (2 / room)) @ s for s in slopes]
        H, fall = g.T @ g + bends[1] + bends[2] - bends[0], g.sum(axis=0)
        fall[0] += 1 / share
        scale = 1 / np.sqrt(np.maximum(np.diag(H), 1e-300))
        step = -scale * np.linalg.lstsq(H * scale * scale[:, None], scale * fall, rcond=1e-15)[0]
        gain, long = -float(fall @ step), 1.0
        near = count * share < _GAP * abs(u[0])
        if gain < _NEAR:
            central = u, far / room
            if near:
                break
            share /= _SHRINKS
            continue
        level = u[0] / share - np.log(room).sum()
        while long > _SHORT:
            there = cones(u + long * step)
            if there[3].min() > 0 and (
                (u + long * step)[0] / share - np.log(there[3]).sum() < level - 0.1 * long * gain
            ):
                break
            long /= 2
        else:
            break
        u, here = u + long * step, there
    u, masses = central
    return u[:3], u[3:], masses / masses.sum()


def _velocities(mode: Mode, points: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return P, Q, p, q of velocities P + p z, Q + q z of points under motions base + free z."""
    P, Q = field(mode.base, points).T
    x, y, (a, b, turn) = *points.T[..., None], mode.free[:, None]
    return P, Q, a - turn * y, b + turn * x


def _saddle(
    rest: Rest, mode: Mode, every: np.ndarray, points: np.ndarray, affine: np.ndarray,
    z: np.ndarray, masses: np.ndarray, pivots: bool,
) -> Summit | None:  # fmt: skip
    """Take a pressure of greatest power on known points to rounding, by Newton's method.

    Its conditions: total and centre, a motion of least power, and a speed that is affine in the
    points, along a circle, too. A point that rests leaves no motion but the one about it. Nothing
    comes back where they lead to another pressure.
    """
    if rest.radius:
        order = np.argsort(-masses)
        points, masses = joined(points[order], masses[order], _ALIKE)
    speed = np.hypot(*field(mode.base + mode.free @ z, points).T)
    slow, size, count = int(speed.argmin()), len(z), len(points)
    pivots = pivots and bool(size)
    if pivots and not speed[slow] < _STILL * speed.max():
        return None
    if pivots:
        P, Q, p, q = _velocities(mode, points[slow : slow + 1])
        z = np.linalg.lstsq(np.vstack([p, q]), -np.append(P, Q), rcond=None)[0]
    first, arms = np.arctan2(*(points - rest.middle).T[::-1]), np.eye(3)[0]
    moves = count if rest.radius else 0

    def left(u: np.ndarray) -> np.ndarray:
        affine, z, masses = u[:3], u[3 : 3 + size], u[3 + size : 3 + size + count]
        x, y, dx, dy = *points.T, 0.0, 0.0
        if moves:
            dy, dx = rest.radius * np.cos(u[-moves:]), -rest.radius * np.sin(u[-moves:])
            x, y = rest.middle[0] + dy, rest.middle[1] - dx
        twist = mode.base + mode.free @ z
        a, b = twist[0] - twist[2] * y, twist[1] + twist[2] * x
        speed = np.sqrt(a * a + b * b)
        with np.errstate(divide="ignore", invalid="ignore"):
            a, b = np.where(speed == 0, 0, a / speed), np.where(speed == 0, 0, b / speed)
        wrench = np.array([masses @ a, masses @ b, masses @ (x * b - y * a)])
        loads = np.array([masses.sum(), masses @ x, masses @ y]) - arms
        rows = [loads, mode.free.T @ wrench, affine[0] + affine[1] * x + affine[2] * y - speed]
        if moves:
            rows.append(affine[1] * dx + affine[2] * dy - twist[2] * (b * dx - a * dy))
        return np.concatenate(rows)

    u = np.concatenate([affine, z, masses, first[:moves]])
    # About a point at rest the motion is known, and its force whatever is missing.
    unknowns = np.delete(np.arange(len(u)), 3 + np.arange(size * pivots))
    tiny, off, long = 1e-200, left(u)[unknowns], 1.0
    for _ in range(_NEWTON):
        if long <= _SHORT or np.abs(off).max() < 1e-15 * WEIGHT:
            break
        steps = 1j * tiny * np.eye(len(u))[unknowns]
        J = np.stack([np.imag(left(u + k)[unknowns]) / tiny for k in steps], axis=1)
        step = np.linalg.lstsq(J, off, rcond=1e-14)[0]
        while long > _SHORT:
            new = u.copy()
            new[unknowns] -= long * step
            after = left(new)[unknowns]
            if np.abs(after).max() < (1 - 0.1 * long) * np.abs(off).max():
                u, off, long = new, after, min(4 * long, 1.0)
                break
            long /= 4
    low = float(np.abs(off).max())
    affine, z, masses = u[:3], u[3 : 3 + size], u[3 + size : 3 + size + count]
    if moves:
        points = _on(rest, u[-moves:])
        every = _closest(rest, affine, mode.base + mode.free @ z)
    twist = mode.base + mode.free @ z
    room = affine[0] + every @ affine[1:] - np.hypot(*field(twist, every).T)
    good = masses.min() >= 0 and room.min() >= -1e-9 * speed.max() and low <= 1e-9
    summit = Summit(twist, points, masses, affine, -twist, "power")
    return summit if good and in_balance(replace(mode, cone=()), summit)[1] < 1e-9 else None


def _only_power(points: np.ndarray, mode: Mode) -> Summit:
    """Return the motion and the pressure of corners that share the weight in one way only."""
    A = np.hstack([np.ones((len(points), 1)), points])
    masses = np.maximum(np.linalg.lstsq(A.T, np.array([1.0, 0.0, 0.0]), rcond=None)[0], 0.0)
    z, _ = motions(points, masses, mode.base[None], mode.free[None])
    twist = mode.base + mode.free @ z[0]
    v = field(twist, points)
    affine = np.linalg.lstsq(A, np.hypot(v[:, 0], v[:, 1]), rcond=None)[0]
    return Summit(twist, points, masses, affine, -twist, "power")


def least_power(rest: Rest, mode: Mode) -> Summit:
    """Return the motion and the pressure of least power."""
    centre = np.zeros(2)
    if rest.contains(centre):
        points, masses = centre[None], np.ones(1)
        # It moves as little as it can; among motions that do so equally, by the least.
        z = -np.linalg.pinv(mode.free[:2]) @ mode.base[:2]
        return Summit(mode.base + mode.free @ z, points, masses, kind="least")
    # The centre bears nothing: the best of extreme pressures, each with its own motion.
    points, loads = vertices(rest)
    twists = _slowest(mode, points, loads)
    v = fields(twists, points)
    power = (loads * np.hypot(v[..., 0], v[..., 1])).sum(axis=1)
    if not rest.feet:
        return _descended(rest, mode, twists[power.argsort()])
    k = int(power.argmin())
    bears = loads[k] > 0
    rank = len(extent(rest.columns)) + 1
    kind = "vertex" if comb(len(rest.columns), rank) <= EVERY else "searched"
    return Summit(twists[k], points[k][bears], loads[k][bears], kind=kind, count=len(points))


def _slowest(mode: Mode, points: np.ndarray, loads: np.ndarray) -> np.ndarray:
    """Return the motions of least power of many pressures."""
    free = np.broadcast_to(mode.free, (len(points), *mode.free.shape))
    z, _ = motions(points, loads, np.tile(mode.base, (len(points), 1)), free)
    return mode.base + z @ mode.free.T


def _descended(rest: Rest, mode: Mode, twists: np.ndarray) -> Summit:
    """Return the least power of all pressures and motions: each in turn for the other.

    For a motion the best pressure is a program, with the dual |v(x)| ≥ λ0 + λ·x; for a pressure its
    motion is that of least power. Neither ever takes more, and where both stay the dual proves it.
    """
    chosen = twists[np.unique(np.linspace(0, len(twists) - 1, _TRIED).astype(int))]
    values = Programs(rest).least(chosen, chosen, np.zeros_like(chosen)).value
    best, least, single = None, np.inf, Single(rest)
    for twist in chosen[values.argsort()[:_STARTS]]:
        summit = _lightest(single, twist)
        power = power_of(summit)
        for _ in range(_DESCENTS):
            (twist,) = _slowest(mode, summit.points[None], summit.masses[None])
            summit, before = _lightest(single, twist), power
            power = power_of(summit)
            if not power < before - 1e-12 * WEIGHT:
                break
        if power < least - 1e-9 * WEIGHT:
            best, least = summit, power
    assert best is not None
    return _smooth(single, mode, best)


def _lightest(single: Single, twist: np.ndarray) -> Summit:
    """Return the pressure that takes least power at a motion, and its dual."""
    answer = single.least(twist, twist, np.zeros(3), rounds=EXACT)
    points, masses = joined(np.array(answer.points).T, np.array(answer.masses))
    return Summit(twist, points, masses, -answer.affine, twist, "less")


def _smooth(single: Single, mode: Mode, best: Summit) -> Summit:
    """Go down where atoms move along edges with the motion: both at once, by secants."""
    if in_balance(replace(mode, cone=()), best)[1] <= _GAP:
        return best

    def power(z: np.ndarray) -> tuple[float, np.ndarray]:
        summit = _lightest(single, mode.base + mode.free @ z)
        v = field(summit.twist, summit.points)
        speed = np.hypot(v[:, 0], v[:, 1])
        e = summit.masses[:, None] * v / np.maximum(speed, 1e-300)[:, None]
        (x, y), (a, b) = summit.points.T, e.T
        wrench = np.array([a.sum(), b.sum(), x @ b - y @ a])
        return float(summit.masses @ speed), mode.free.T @ wrench

    z = np.linalg.lstsq(mode.free, best.twist - mode.base, rcond=None)[0]
    lowest = minimize(power, z, jac=True, method="BFGS", options={"gtol": _GAP})
    summit = _lightest(single, mode.base + mode.free @ lowest.x)
    tried = [best, summit]
    for x, y in summit.points.tolist():
        # What is as good as at rest is so: it bends the power.
        P, Q, p, q = _velocities(mode, np.array([[x, y]]))
        z = np.linalg.lstsq(np.vstack([p, q]), -np.append(P, Q), rcond=None)[0]
        tried.append(_lightest(single, mode.base + mode.free @ z))
    most = min(map(power_of, tried)) + _SHARP * WEIGHT
    tried = [k for k in tried if power_of(k) <= most]
    return min(tried, key=lambda k: in_balance(replace(mode, cone=()), k)[1])


def _closest(rest: Rest, affine: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Return the points of a circle at which an affine function is closest to the speed."""

    def left(angle: np.ndarray) -> np.ndarray:
        v = field(twist, _on(rest, angle))
        return affine[0] + _on(rest, angle) @ affine[1:] - np.hypot(v[..., 0], v[..., 1])

    angle = np.arange(_ROUND) * (2 * np.pi / _ROUND)
    value, wide = left(angle), 2 * np.pi / _ROUND
    near = angle[(value <= np.roll(value, 1)) & (value <= np.roll(value, -1))]
    for _ in range(4):
        a, b, c = left(near - wide), left(near), left(near + wide)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = 0.5 * wide * (a - c) / (a - 2 * b + c)
        near = near + np.clip(np.nan_to_num(step), -wide, wide)
        wide /= 20
    return _on(rest, near)


def _on(rest: Rest, angle: np.ndarray) -> np.ndarray:
    return rest.radius * np.stack([np.cos(angle), np.sin(angle)], axis=-1) + rest.middle


def power_of(summit: Summit) -> float:
    """Return ⟨|v|⟩."""
    v = field(summit.twist, summit.points)
    return float(summit.masses @ np.hypot(v[:, 0], v[:, 1]))
