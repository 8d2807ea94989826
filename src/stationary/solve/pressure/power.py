"""The least and the greatest power that pushing a part can take, over all pressures.

Power is the least of ⟨|v|⟩ over the motions, for every pressure: a concave function of it. Its
greatest value is a saddle, min over motions of the greatest ⟨|v|⟩, a convex problem in which only
the corners of the hull bear load; its least value belongs to all weight at the centre.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize, nnls
from scipy.spatial import ConvexHull

from stationary.result.least_power import motions
from stationary.solve.pressure.envelope import field
from stationary.solve.pressure.polish import Summit
from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.simplex import solved
from stationary.solve.pressure.support import Rest


def greatest_power(rest: Rest, mode: Mode, start: np.ndarray) -> Summit:
    """Return the motion and the pressure of greatest power."""
    points = rest.columns
    if not rest.radius and len(rest.corners) > 2:
        flat = np.linalg.matrix_rank(rest.corners - rest.corners[0], tol=1e-9) < 2
        points = rest.corners if flat else rest.corners[ConvexHull(rest.corners).vertices]
    elif not rest.radius:
        points = rest.corners
    size = mode.free.shape[1]
    z = np.linalg.lstsq(mode.free, start - mode.base, rcond=None)[0] if size else np.zeros(0)
    affine, left = np.zeros(3), np.zeros(len(points))
    for turn in range(8 if rest.radius else 1):
        A = np.hstack([np.ones((len(points), 1)), points])

        def room(u: np.ndarray, A=A, points=points) -> np.ndarray:
            v = field(mode.base + mode.free @ u[3:], points)
            return A @ u[:3] - np.hypot(v[:, 0], v[:, 1])

        def slope(u: np.ndarray, A=A, points=points) -> np.ndarray:
            v = field(mode.base + mode.free @ u[3:], points)
            e = v / np.maximum(np.hypot(v[:, 0], v[:, 1]), 1e-300)[:, None]
            turned = [(field(w, points) * e).sum(axis=1) for w in mode.free.T]
            return np.hstack([A, -np.stack(turned, axis=1)]) if turned else A

        v = field(mode.base + mode.free @ z, points)
        top = float(np.hypot(v[:, 0], v[:, 1]).max())
        first = np.concatenate([[top, 0.0, 0.0], z])
        aim = np.eye(len(first))[0]
        found = minimize(
            lambda u: u[0], first, jac=lambda u: aim, method="SLSQP",
            constraints={"type": "ineq", "fun": room, "jac": slope},
            options={"maxiter": 200, "ftol": 1e-15},
        )  # fmt: skip
        affine, z, left = found.x[:3], found.x[3:], room(found.x)
        if not rest.radius or turn == 7:
            break
        # The circle between its samples: where the affine function is closest to the speed.
        order = np.argsort(left)[:6]
        angle = np.arctan2(*(points[order] - rest.middle).T[::-1])
        near = (angle[:, None] + np.linspace(-0.03, 0.03, 5) / 3.0**turn).ravel()
        more = rest.radius * np.stack([np.cos(near), np.sin(near)], axis=1) + rest.middle
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
    return Summit(twist, bearing[kept], masses[kept] / masses[kept].sum(), affine, np.zeros(3),
                  float(min(left.min(), 0.0)), 0.0)  # fmt: skip


def least_power(rest: Rest, mode: Mode) -> Summit:
    """Return the motion and the pressure of least power."""
    centre = np.zeros(2)
    if rest.contains(centre):
        points, masses = centre[None], np.ones(1)
        z, _ = motions(points, masses, mode.base[None], mode.free[None])
        twist = mode.base + mode.free @ z[0]
        return Summit(twist, points, masses, np.zeros(3), np.zeros(3), 0.0, 0.0)
    # The centre bears nothing: the best of extreme pressures, each with its own motion.
    grid = rest.columns
    A = np.vstack([np.ones(len(grid)), grid.T])
    best: Summit | None = None
    rng = np.random.default_rng(0)
    twist = mode.base
    for turn in range(24):
        v = field(twist, grid)
        cost = np.hypot(v[:, 0], v[:, 1]) if turn else rng.normal(size=len(grid))
        if turn % 6 == 5:
            cost = cost * rng.uniform(0.5, 1.5, len(grid))
        vertex = solved(A, np.array([1.0, 0.0, 0.0]), cost)
        points, masses = grid[vertex.basis], vertex.amounts
        z, _ = motions(points, masses, mode.base[None], mode.free[None])
        twist = mode.base + mode.free @ z[0]
        summit = Summit(twist, points, masses, np.zeros(3), np.zeros(3), 0.0, 0.0)
        if best is None or power_of(summit) < power_of(best):
            best = summit
    assert best is not None
    return best


def power_of(summit: Summit) -> float:
    """Return ⟨|v|⟩."""
    v = field(summit.twist, summit.points)
    return float(summit.masses @ np.hypot(v[:, 0], v[:, 1]))
