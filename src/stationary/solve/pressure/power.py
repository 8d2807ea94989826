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
from itertools import combinations, islice
from math import comb
from typing import Any

import numpy as np
from scipy.optimize import minimize, nnls

from stationary.result.least_power import motions
from stationary.solve.linear import extent, ways_across
from stationary.solve.pressure.certificate import in_balance
from stationary.solve.pressure.climb import even
from stationary.solve.pressure.envelope import field
from stationary.solve.pressure.extremes import Extremes
from stationary.solve.pressure.polish import Summit
from stationary.solve.pressure.programs import fields
from stationary.solve.pressure.region import Mode, hull, spread_motion
from stationary.solve.pressure.support import REACH, Rest

# As many extreme pressures are all looked at; of more some are tried.
_CORNERS, _TRIED = 20000, 1500
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
    chosen = []
    for side, sign in ((0, 1.0), (1, -1.0)):
        order = sorted(every, key=lambda k, i=side, s=sign: s * k[2] * power_of(k[3][i]))
        for mode, shown, factor, ends in order:
            summit = ends[side]
            keeps = mode is shown and not mode.cone or _kept(mode, summit)
            if not keeps and len(every) > 1 and not _occurs(scene, mode):
                continue
            summit = summit if keeps else replace(summit, kind="outer")
            chosen.append((factor * power_of(summit), shown, summit))
            break
    return chosen


def _kept(mode: Mode, summit: Summit) -> bool:
    """Tell whether the motion and the forces of a pressure are those of a mode of the finger."""
    if mode.guard is not None:
        return bool(mode.guard @ summit.twist >= 0)
    return in_balance(mode, summit)[1] <= 1e-7


def _occurs(scene: Any, mode: Mode) -> bool:
    """Tell whether a search finds a pressure with this mode of the finger."""
    return Extremes(scene.rest, mode).greatest(np.array([0.0, 0.0, 1.0])) is not None


def greatest_power(rest: Rest, mode: Mode, start: np.ndarray) -> Summit:
    """Return the motion and the pressure of greatest power."""
    points = rest.columns
    if not rest.radius and len(rest.corners) > 2:
        points = hull(rest.corners)
    elif not rest.radius:
        points = rest.corners
    if not rest.radius and len(points) == len(extent(points)) + 1:
        return _only_power(points, mode)
    size = mode.free.shape[1]
    z = np.linalg.lstsq(mode.free, start - mode.base, rcond=None)[0] if size else np.zeros(0)
    affine, left = np.zeros(3), np.zeros(len(points))
    for turn in range(8 if rest.radius else 1):
        A = np.hstack([np.ones((len(points), 1)), points])
        P, Q, p, q = _velocities(mode, points)

        def room(u: np.ndarray, A=A, P=P, Q=Q, p=p, q=q) -> np.ndarray:
            return A @ u[:3] - np.hypot(P + p @ u[3:], Q + q @ u[3:])

        def slope(u: np.ndarray, A=A, P=P, Q=Q, p=p, q=q) -> np.ndarray:
            x, y = P + p @ u[3:], Q + q @ u[3:]
            speed = np.maximum(np.hypot(x, y), 1e-300)
            return np.hstack([A, -(x / speed)[:, None] * p - (y / speed)[:, None] * q])

        top = float(np.hypot(P + p @ z, Q + q @ z).max())
        first = np.concatenate([[top, 0.0, 0.0], z])
        aim = np.eye(len(first))[0]
        optimum = minimize(
            lambda u: u[0], first, jac=lambda u: aim, method="SLSQP",
            constraints={"type": "ineq", "fun": room, "jac": slope},
            options={"maxiter": 200, "ftol": 1e-15},
        )  # fmt: skip
        affine, z, left = optimum.x[:3], optimum.x[3:], room(optimum.x)
        if not rest.radius or turn == 7:
            break
        # The circle between its samples: where the affine function is closest to the speed.
        more = _closest(rest, affine, mode.base + mode.free @ z)
        points = np.vstack([points, more])
    twist = mode.base + mode.free @ z
    close = left <= left.min() + 1e-6
    bearing = points[close]
    v = field(twist, bearing)
    e = v / np.maximum(np.hypot(v[:, 0], v[:, 1]), 1e-300)[:, None]
    rows = [np.ones(len(bearing)), *bearing.T]
    rows += [(field(w, bearing) * e).sum(axis=1) for w in mode.free.T]
    masses, _ = nnls(np.array(rows), np.array([1.0] + [0.0] * (len(rows) - 1)))
    kept = masses > 1e-9
    bearing, masses = bearing[kept], masses[kept] / masses[kept].sum()
    affine, z, masses = _saddle(points, mode, bearing, affine, z, masses)
    twist = mode.base + mode.free @ z
    return Summit(twist, bearing, masses, affine, -twist, "power")


def _velocities(mode: Mode, points: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return P, Q, p, q of velocities P + p z, Q + q z of points under motions base + free z."""
    P, Q = field(mode.base, points).T
    x, y, (a, b, turn) = *points.T[..., None], mode.free[:, None]
    return P, Q, a - turn * y, b + turn * x


def _saddle(
    every: np.ndarray, mode: Mode, points: np.ndarray, affine: np.ndarray, z: np.ndarray,
    masses: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Take a pressure of greatest power on known points to rounding, by Newton's method.

    Its conditions: total and centre, a motion of least power, and a speed that is affine in the
    points. Where they lead to another pressure the given one stays.
    """
    (P, Q, p, q), A = _velocities(mode, points), np.hstack([np.ones((len(points), 1)), points])
    size, given, low = len(z), (affine, z, masses), np.inf
    speed = np.hypot(P + p @ z, Q + q @ z)
    small = 1e-9 * float(speed.max())
    for _ in range(6):
        x, y = (P + p @ z) / speed, (Q + q @ z) / speed
        along, across = x[:, None] * p + y[:, None] * q, x[:, None] * q - y[:, None] * p
        left = np.concatenate([A.T @ masses, along.T @ masses, A @ affine - speed])
        left[0] -= 1.0
        low, before = float(np.abs(left).max()), low
        if not speed.min() > small or not low < before:
            break
        J = np.zeros((len(left), len(left)))
        J[:3, 3 + size :], J[3 + size :, :3] = A.T, A
        J[3 : 3 + size, 3 : 3 + size] = across.T @ ((masses / speed)[:, None] * across)
        J[3 : 3 + size, 3 + size :], J[3 + size :, 3 : 3 + size] = along.T, -along
        step = np.linalg.lstsq(J, left, rcond=1e-12)[0]
        affine, z, masses = affine - step[:3], z - step[3 : 3 + size], masses - step[3 + size :]
        speed = np.hypot(P + p @ z, Q + q @ z)
    P, Q, p, q = _velocities(mode, every)
    room = affine[0] + every @ affine[1:] - np.hypot(P + p @ z, Q + q @ z)
    good = masses.min() >= 0 and room.min() >= -small and low <= 1e-3 * small
    return (affine, z, masses) if good else given


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
    grid, level = rest.columns, extent(rest.columns)
    rank = len(level) + 1
    every = comb(len(grid), rank) <= _CORNERS
    chosen = np.array(list(islice(combinations(range(len(grid)), rank), _CORNERS)))
    if not every:
        rng = np.random.default_rng(0)
        chosen = np.array([rng.choice(len(grid), rank, replace=False) for _ in range(_TRIED)])
    points = grid[chosen]
    rows = np.concatenate([np.ones((len(points), 1, rank)), level @ points.transpose(0, 2, 1)], 1)
    good = np.abs(np.linalg.det(rows)) > 1e-12 * REACH ** (rank - 1)
    loads = np.linalg.inv(rows[good])[:, :, 0]
    points = points[good][loads.min(axis=1) >= -1e-12]
    loads = np.maximum(loads[loads.min(axis=1) >= -1e-12], 0.0)
    size = mode.free.shape[1]
    free = np.broadcast_to(mode.free, (len(points), 3, size))
    z, _ = motions(points, loads, np.tile(mode.base, (len(points), 1)), free)
    twists = mode.base + z @ mode.free.T
    v = fields(twists, points)
    k = int((loads * np.hypot(v[..., 0], v[..., 1])).sum(axis=1).argmin())
    bears = loads[k] > 0
    kind = "vertex" if rest.feet and every else "searched"
    return Summit(twists[k], points[k][bears], loads[k][bears], kind=kind, count=len(points))


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
