"""The least and the greatest power that pushing a part can take, over all pressures.

Power is the least ⟨|w|⟩ over motions that give way to the finger, for every pressure: a concave
function of it. Its greatest value is a saddle, min over motions of the greatest ⟨|w|⟩, a convex
problem in which only the corners of the hull bear load.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from stationary.solve.linear import extent
from stationary.solve.newton import shortened
from stationary.solve.pressure.bounds.finger import (
    End,
    Finger,
    keeps,
    power_of,
    slowest,
    velocities,
)
from stationary.solve.pressure.bounds.least import MANY, PATIENT, SHARE, least_power
from stationary.solve.pressure.duals.certificate import in_balance
from stationary.solve.pressure.envelope import field
from stationary.solve.pressure.extremes.polish import Summit, joined
from stationary.solve.pressure.pushed import Scene
from stationary.solve.pressure.region import Mode, hull
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
# Of the force of a finger: below this share of it along an edge of the cone it is at the other.
_EDGE = 1e-3
# Samples of a circle, from which its closest points are found.
_ROUND = 360


def power_ends(scene: Scene, prove: float | None = None) -> list[tuple[float, Mode, Summit]]:
    """Return the least and the greatest power over all pressures, in weights times speeds.

    With `prove` the least is proven to this share of it, if that can be done.
    """
    finger = Finger.of(scene.modes)
    share, many = (SHARE, MANY) if prove is None else (prove, PATIENT)
    ends = least_power(scene.rest, finger, share, many), greatest_power(scene.rest, finger)
    return [(power_of(summit), mode, summit) for mode, summit in ends]


def greatest_power(rest: Rest, finger: Finger) -> End:
    """Return the motion and the pressure of greatest power."""
    points = rest.columns
    if not rest.radius and len(rest.corners) > 2:
        points = hull(rest.corners)
    elif not rest.radius:
        points = rest.corners
    if not rest.radius and len(points) == len(extent(points)) + 1:
        return _only_power(points, finger)
    every, start = finger.every, finger.start(rest)
    z = np.linalg.lstsq(every.free, start - every.base, rcond=None)[0]
    twist, affine = start, np.zeros(3)
    masses, forces = np.zeros(len(points)), np.zeros(len(finger.rows))
    for turn in range(_TURNS if rest.radius else 1):
        affine, there, masses, forces = _central(finger, points, z)
        twist = every.base + every.free @ there
        counts = {int((masses > least).sum()): least for least in _BEARS}
        for mode in _likely(finger, forces):
            near = np.linalg.lstsq(mode.free, twist - mode.base, rcond=None)[0]
            for least, pivots in product(counts.values(), (False, True)):
                # What bears almost nothing on the path, or hardly moves, may do so at its end.
                bears = masses > least
                bearing = points[bears], masses[bears]
                settled = _saddle(rest, mode, points, bearing, affine, near, pivots)
                if settled is not None:
                    return mode, settled
        if rest.radius and turn < _TURNS - 1:
            points = np.vstack([points, _closest(rest, affine, twist)])
    bears = masses > _BEARS[0]
    mode = _likely(finger, forces)[0]
    return mode, Summit(twist, points[bears], masses[bears], affine, -twist, "power")


def _likely(finger: Finger, forces: np.ndarray) -> list[Mode]:
    """Return faces of motions in the order in which forces at the edges of the cone choose them."""
    *slide, stuck = finger.faces
    if not slide:
        return [stuck]
    named: dict[str, float] = dict(zip(("slides forward", "slides back"), forces.tolist()))
    slide.sort(key=lambda mode: -named[mode.name])
    sticks = forces.min() > _EDGE * forces.max()
    return [stuck, *slide] if sticks else [*slide, stuck]


def _central(
    finger: Finger, points: np.ndarray, z: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the least λ0 with λ0 + λ·x ≥ |w(x)| at points, with its motion, pressure and forces.

    Newton's method along the central path of these cones: it sees neither the unit of a direction
    nor how thin a part is, and corners that rest are like others. The multipliers of the cones are
    the pressure, those of the finger its forces along the edges of its own cone.
    """
    mode = finger.every
    P, Q, p, q = velocities(mode, points)
    A, count = np.hstack([np.ones((len(points), 1)), points]), len(points)
    slopes = np.hstack([A, 0 * p]), np.hstack([0 * A, p]), np.hstack([0 * A, q])
    walls = np.hstack([np.zeros((len(finger.rows), 3)), finger.rows @ mode.free])
    depth = finger.rows @ mode.base - finger.rates

    def cones(u: np.ndarray) -> tuple[np.ndarray, ...]:
        x, y, far = P + p @ u[3:], Q + q @ u[3:], A @ u[:3]
        speed = np.hypot(x, y)
        return far, x, y, np.where(far > speed, (far - speed) * (far + speed), -1.0)

    share = float(np.hypot(P + p @ z, Q + q @ z).max())
    u = np.concatenate([[2 * share, 0.0, 0.0], z])
    here, central = cones(u), (u, np.ones(count), np.ones(len(walls)))
    for _ in range(_STEPS):
        far, x, y, room = here
        beyond = walls @ u + depth
        # The slope and the bend of −log of the room in each cone, and beyond the faces.
        one, two, three = (k[:, None] * s * (2 / room)[:, None] for k, s in zip(here, slopes))
        g = two + three - one
        if len(walls):
            g = np.vstack([g, -walls / beyond[:, None]])
        bends = [(s.T * (2 / room)) @ s for s in slopes]
        H, fall = g.T @ g + bends[1] + bends[2] - bends[0], g.sum(axis=0)
        fall[0] += 1 / share
        scale = 1 / np.sqrt(np.maximum(np.diag(H), 1e-300))
        step = -scale * np.linalg.lstsq(H * scale * scale[:, None], scale * fall, rcond=1e-15)[0]
        gain = -float(fall @ step)
        near = count * share < _GAP * abs(u[0])
        if gain < _NEAR:
            central = u, far / room, 1 / beyond
            if near:
                break
            share /= _SHRINKS
            continue
        level = u[0] / share - np.log(room).sum() - np.log(beyond).sum()

        def lower(long: float) -> tuple[np.ndarray, tuple[np.ndarray, ...]] | None:
            new = u + long * step
            there, left = cones(new), walls @ new + depth
            if not min(there[3].min(), left.min(initial=1.0)) > 0:
                return None
            height = new[0] / share - np.log(there[3]).sum() - np.log(left).sum()
            return (new, there) if height < level - 0.1 * long * gain else None

        new, _ = shortened(lower, least=_SHORT)
        if new is None:
            break
        u, here = new
    u, masses, forces = central
    return u[:3], u[3:], masses / masses.sum(), forces


def _saddle(
    rest: Rest, mode: Mode, every: np.ndarray, bearing: tuple[np.ndarray, np.ndarray],
    affine: np.ndarray, z: np.ndarray, pivots: bool,
) -> Summit | None:  # fmt: skip
    """Take a pressure of greatest power on known points to rounding, by Newton's method.

    Its conditions: total and centre, a motion of least power, and a speed that is affine in the
    points, along a circle, too. A point that rests leaves no motion but the one about it. Nothing
    comes back where they lead to another pressure, or a finger out of its mode.
    """
    points, masses = bearing
    if rest.radius:
        order = np.argsort(-masses)
        points, masses = joined(points[order], masses[order], _ALIKE)
    speed = np.hypot(*field(mode.base + mode.free @ z, points).T)
    slow, size, count = int(speed.argmin()), len(z), len(points)
    pivots = pivots and bool(size)
    if pivots and not speed[slow] < _STILL * speed.max():
        return None
    if pivots:
        P, Q, p, q = velocities(mode, points[slow : slow + 1])
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

        def nearer(long: float) -> tuple[np.ndarray, np.ndarray] | None:
            new = u.copy()
            new[unknowns] -= long * step
            after = left(new)[unknowns]
            less = np.abs(after).max() < (1 - 0.1 * long) * np.abs(off).max()
            return (new, after) if less else None

        there, long = shortened(nearer, long, least=_SHORT, by=4)
        if there is not None:
            (u, off), long = there, min(4 * long, 1.0)
    low = float(np.abs(off).max())
    affine, z, masses = u[:3], u[3 : 3 + size], u[3 + size : 3 + size + count]
    if moves:
        points = _on(rest, u[-moves:])
        every = _closest(rest, affine, mode.base + mode.free @ z)
    twist = mode.base + mode.free @ z
    room = affine[0] + every @ affine[1:] - np.hypot(*field(twist, every).T)
    good = masses.min() >= 0 and room.min() >= -1e-9 * speed.max() and low <= 1e-9
    summit = Summit(twist, points, masses, affine, -twist, "power")
    good = good and bool(keeps(mode, twist[None])[0]) and in_balance(mode, summit)[1] < 1e-9
    return summit if good else None


def _only_power(points: np.ndarray, finger: Finger) -> End:
    """Return the motion and the pressure of corners that share the weight in one way only."""
    A = np.hstack([np.ones((len(points), 1)), points])
    masses = np.maximum(np.linalg.lstsq(A.T, np.array([1.0, 0.0, 0.0]), rcond=None)[0], 0.0)
    (twist,), (k,), _ = slowest(finger, points[None], masses[None])
    v = field(twist, points)
    affine = np.linalg.lstsq(A, np.hypot(v[:, 0], v[:, 1]), rcond=None)[0]
    return finger.faces[k], Summit(twist, points, masses, affine, -twist, "power")


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
