"""How a part with known loads moves: the minimum of power for many pushes at once.

Each push allows the motions ``base + free @ z`` and the part takes the one of least power
Σ wₖ |v(xₖ)|. Near a foot that stays at rest the power has a kink; the minimum there is recognized
by the force that the foot would have to give.
"""

from __future__ import annotations

import numpy as np

_LEVELS = (0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9)


def jacobians(points: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return ∂v(xₖ)/∂z for pushes (B, 3, n) and points (K, 2) or (B, K, 2): (B, K, 2, n)."""
    x, y = points[..., 0, None], points[..., 1, None]
    turn = free[:, None, 2, :]
    first = free[:, None, 0, :] - y * turn
    return np.stack([first, free[:, None, 1, :] + x * turn], axis=2)


def motions(
    points: np.ndarray, weights: np.ndarray, base: np.ndarray, free: np.ndarray,
    levels: tuple[float, ...] = _LEVELS,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return z of the motions of least power (B, n), and which foot rests in each (−1: none).

    Points (K, 2) and weights (K,) are the same for all pushes, or have a row for each. Fewer levels
    of smoothing leave the motions rough.
    """
    weights = np.broadcast_to(weights, (len(base), points.shape[-2]))
    J = jacobians(points, free)
    v0 = jacobians(points, base[:, :, None])[..., 0]
    n = free.shape[2]
    speed = np.abs(v0).max(axis=(1, 2)) + 1e-300
    z = np.zeros((len(base), n))
    small = (speed / np.maximum(np.abs(J).max(axis=(1, 2, 3)), 1e-300))[:, None]

    def value(z: np.ndarray, eps: np.ndarray) -> np.ndarray:
        v = v0 + np.einsum("bkin,bn->bki", J, z)
        return (weights * np.sqrt((v**2).sum(axis=2) + eps[:, None] ** 2)).sum(axis=1)

    for level in levels:
        eps = level * speed
        for _ in range(6 if level > 1e-5 else 10):
            gradient, hessian = _bent(weights, J, v0, z, eps)
            step = -_solve(hessian, gradient, small)
            here = value(z, eps)
            share = np.ones(len(z))
            fall = (gradient * step).sum(axis=1)
            for _ in range(12):
                worse = value(z + share[:, None] * step, eps) > here + 1e-4 * share * fall + (
                    1e-15 * here
                )
                if not worse.any():
                    break
                share[worse] *= 0.4
            z = z + share[:, None] * step
            if np.all(np.abs(step) <= 1e-13 * small + 1e-3 * level * small):
                break
    if levels is not _LEVELS:
        return z, np.full(len(z), -1)
    return _snapped(points, weights, J, v0, z, speed, small)


def _bent(weights, J, v0, z, eps):
    v = v0 + np.einsum("bkin,bn->bki", J, z)
    size = np.sqrt((v**2).sum(axis=2) + eps[:, None] ** 2)
    e = v / size[..., None]
    gradient = np.einsum("bk,bki,bkin->bn", weights, e, J)
    along = np.einsum("bki,bkin->bkn", e, J)
    share = weights / size
    hessian = np.einsum("bk,bkin,bkim->bnm", share, J, J)
    return gradient, hessian - np.einsum("bk,bkn,bkm->bnm", share, along, along)


def _solve(hessian, gradient, small):
    n = hessian.shape[1]
    if n == 0:
        return gradient
    trace = np.einsum("bnn->b", hessian)
    ridge = (1e-14 * trace + 1e-300)[:, None, None] * np.eye(n)
    step = np.linalg.solve(hessian + ridge, gradient[..., None])[..., 0]
    size = np.abs(step).max(axis=1, keepdims=True)
    most = 5 * small
    return step * np.minimum(1.0, most / np.maximum(size, 1e-300))


def _snapped(points, weights, J, v0, z, speed, small):
    """Put motions on the kink where a foot holds; polish the others without smoothing."""
    count, n = z.shape
    still = np.full(count, -1)
    v = v0 + np.einsum("bkin,bn->bki", J, z)
    size = np.hypot(v[..., 0], v[..., 1])
    if n == 0:
        return z, still
    loaded = np.where(weights > 0, size, np.inf)
    slow = np.argmin(loaded, axis=1)
    rows = np.arange(count)
    near = loaded[rows, slow] < 1e-3 * speed
    for b in np.flatnonzero(near):
        k = int(slow[b])
        # Where v(xₖ) would vanish, and what the others ask of that foot there.
        spot, *_ = np.linalg.lstsq(J[b, k], -v0[b, k], rcond=None)
        moving = v0[b] + J[b] @ spot
        fast = np.hypot(moving[:, 0], moving[:, 1])
        rests = fast <= 1e-9 * speed[b]
        if not rests[k]:
            continue
        e = moving / np.maximum(fast, 1e-300)[:, None]
        pull = np.einsum("k,ki,kin->n", np.where(rests, 0.0, weights[b]), e, J[b])
        force, *_ = np.linalg.lstsq(J[b, k].T, -pull, rcond=None)
        held = np.abs(J[b, k].T @ force + pull).max() <= 1e-9 * (np.abs(pull).max() + 1e-300)
        if held and np.hypot(*force) <= weights[b][rests].sum() * (1 + 1e-12):
            z[b], still[b] = spot, k
    free = still < 0
    if free.any():
        for _ in range(4):
            nothing = np.zeros(int(free.sum()))
            with np.errstate(divide="ignore", invalid="ignore"):
                g, H = _bent(weights[free], J[free], v0[free], z[free], nothing)
            good = np.all(np.isfinite(H), axis=(1, 2)) & np.all(np.isfinite(g), axis=1)
            step = np.zeros_like(g)
            step[good] = -_solve(H[good], g[good], small[free][good])
            # Only what is close already: far steps belong to the smoothed power.
            step[np.abs(step).max(axis=1) > 1e-3 * small[free][:, 0]] = 0.0
            z[free] += step
    return z, still
