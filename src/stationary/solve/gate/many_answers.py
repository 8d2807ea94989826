"""Many answers of one question at once: which of them forces, velocities and curvatures bear out.

One row for each answer. What is not borne out is asked by itself, and judged as a single answer.
"""

from __future__ import annotations

import numpy as np

# So many last digits of places and forces are rounding.
_ROUNDINGS = 64 * np.finfo(float).eps


def rest(
    force: np.ndarray, stiffness: np.ndarray, q: np.ndarray, way: np.ndarray, rtol: float
) -> np.ndarray:
    """Tell which places are minima: what is left of forces beside what bends springs on the way.

    Shapes (runs, n), (runs, n, n), (runs, n), (runs, n).
    """
    stiff = np.abs(stiffness)
    allowed = rtol * (stiff @ np.abs(way)[..., None]) + _ROUNDINGS * (stiff @ np.abs(q)[..., None])
    with np.errstate(invalid="ignore"):
        balanced = np.all(np.abs(force) <= allowed[..., 0], axis=1)
    finite = np.asarray(np.isfinite(stiffness).all(axis=(1, 2)))
    values = np.linalg.eigvalsh(np.where(finite[:, None, None], stiffness, 0.0))
    return balanced & finite & (values[:, 0] > 0)


def sliding(
    rows: tuple[np.ndarray, np.ndarray], slips: tuple[np.ndarray, np.ndarray], limit: np.ndarray,
    force: np.ndarray, free: np.ndarray, v: np.ndarray, rtol: float,
) -> np.ndarray:  # fmt: skip
    """Tell which velocities obey their rows, A v + b = 0, and leave friction and forces balanced.

    `slips` are B and c of shapes (runs, terms, width, n) and (runs, terms, width), `free` the
    motions that rows leave free, one per column.
    """
    (A, b), (B, c) = rows, slips
    left = (A @ v[..., None])[..., 0] + b
    terms = (np.abs(A) @ np.abs(v)[..., None])[..., 0] + np.abs(b)
    obeys = np.all(np.abs(left) <= rtol * np.maximum(terms, 1e-300), axis=1)
    n = v.shape[1]
    slope = B.reshape(len(v), -1, n)
    slip = (slope @ v[..., None]).reshape(c.shape) + c
    speed = np.linalg.norm(slip, axis=2, keepdims=True)
    held = (limit[..., None] * slip / np.where(speed > 0, speed, 1.0)).reshape(len(v), -1, 1)
    most = np.repeat(limit, c.shape[2], axis=1)[..., None]
    pull = force[..., None] - slope.transpose(0, 2, 1) @ held
    ways = free.transpose(0, 2, 1)
    at_work = np.abs(ways @ slope.transpose(0, 2, 1)) @ most + np.abs(ways @ force[..., None])
    return obeys & np.all(np.abs(ways @ pull) <= rtol * at_work, axis=(1, 2))
