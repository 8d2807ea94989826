"""How a part with known loads moves: the minimum of power for many pushes at once.

Each push allows the motions ``base + free @ z`` and the part takes the one of least power
Σ wₖ |v(xₖ)|. Near a foot that stays at rest the power has a kink; the minimum there is recognized
by the force that the foot would have to give.
"""

from __future__ import annotations

import numpy as np

# Feet few enough that each is asked whether it rests.
_FEW = 12
_LEVELS = (0.3, 0.1, 0.03, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9)


def jacobians(
    points: np.ndarray, free: np.ndarray, patch: np.ndarray | None = None
) -> np.ndarray:  # fmt: skip
    """Return ∂v(xₖ)/∂z for pushes (B, 3, n) and points (K, 2) or (B, K, 2): (B, K, 2, n).

    Points that stand for patches of an area have a third row: in the mean over a patch of radius
    `patch` a point is as fast as √(v² + (patch ω/2)²), up to the fourth order of its radius.
    """
    x, y = points[..., 0, None], points[..., 1, None]
    turn = free[:, None, 2, :]
    rows = [free[:, None, 0, :] - y * turn, free[:, None, 1, :] + x * turn]
    if patch is not None:
        rows.append(0.5 * patch[..., None] * turn)
    return np.stack(rows, axis=2)


def motions(
    points: np.ndarray, weights: np.ndarray, base: np.ndarray, free: np.ndarray,
    levels: tuple[float, ...] = _LEVELS, patch: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return z of the motions of least power (B, n), and which foot rests in each (−1: none).

    Points (K, 2) and weights (K,) are the same for all pushes, or have a row for each. Fewer levels
    of smoothing leave the motions rough. Points that are patches of an area never rest.
    """
    weights = np.broadcast_to(weights, (len(base), points.shape[-2]))
    J = jacobians(points, free, patch)
    v0 = jacobians(points, base[:, :, None], patch)[..., 0]
    n = free.shape[2]
    speed = np.abs(v0).max(axis=(1, 2)) + 1e-300
    z = np.zeros((len(base), n))
    small = (speed / np.maximum(np.abs(J).max(axis=(1, 2, 3)), 1e-300))[:, None]

    for level in levels:
        eps = level * speed
        for _ in range(6 if level > 1e-5 else 10):
            step, share, *_ = _lower(weights, J, v0, z, eps, small)
            z = z + share[:, None] * step
            if np.all(np.abs(step) <= 1e-13 * small + 1e-3 * level * small):
                break
    if levels is not _LEVELS:
        return z, np.full(len(z), -1)
    resting = np.full(len(z), -1)
    if n and patch is None:
        _rested(weights, J, v0, z, resting, speed)
    _polished(weights, J, v0, z, resting, small)
    return z, resting


def followed(
    points: np.ndarray, weights: np.ndarray, base: np.ndarray, free: np.ndarray, near: np.ndarray,
    patch: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return what `motions` does, from motions z that are close already.

    Points that are patches of an area never rest. What Newton's method does not reach from close
    by is asked of `motions`.
    """
    count, n = near.shape
    J = jacobians(points, free, patch)
    v0 = jacobians(points, base[:, :, None], patch)[..., 0]
    weights = np.broadcast_to(weights, (count, points.shape[-2]))
    speed = np.abs(v0).max(axis=(1, 2)) + 1e-300
    small = speed / np.maximum(np.abs(J).max(axis=(1, 2, 3)), 1e-300)
    z, resting = near.copy(), np.full(count, -1)
    if n == 0:
        return z, resting
    if patch is None:
        _rested(weights, J, v0, z, resting, speed)
    todo = np.flatnonzero(resting < 0)
    for k in range(25):
        if not len(todo):
            break
        some = (weights[todo], J[todo], v0[todo], z[todo], 1e-13 * speed[todo])
        step, share, gradient, here = _lower(*some, small[todo, None])
        z[todo] += share[:, None] * step
        moved = np.abs(step).max(axis=1)
        # Steps are short near any foot, at rest or not: there power falls still.
        falls = np.abs(gradient).max(axis=1) * small[todo] > 1e-7 * here
        done = (moved <= (1e-12 if k <= 8 else 1e-8) * small[todo]) & ~falls
        todo = todo[~done]
    if len(todo):
        given = (points, weights[todo], base[todo], free[todo])
        z[todo], resting[todo] = motions(*given, patch=patch)
    return z, resting


def _lower(weights, J, v0, z, eps, small):
    """Return Newton's steps, the shares of them that lead down, the slopes and powers at z."""
    gradient, hessian = _bent(weights, J, v0, z, eps)
    step = -_solve(hessian, gradient, small)
    here, fall = _power(weights, J, v0, z, eps), (gradient * step).sum(axis=1)
    share = np.ones(len(z))
    for _ in range(12):
        there = _power(weights, J, v0, z + share[:, None] * step, eps)
        worse = there > here + 1e-4 * share * fall + 1e-15 * here
        if not worse.any():
            break
        share[worse] *= 0.4
    return step, share, gradient, here


def _speeds(J, v0, z, eps):
    """Return the velocities of all points, and their sizes, smoothed."""
    count, points, rows, n = J.shape
    v = v0 + (J.reshape(count, points * rows, n) @ z[..., None]).reshape(v0.shape)
    square = sum(v[..., k] ** 2 for k in range(rows))
    return v, np.sqrt(square + eps[:, None] ** 2)


def _power(weights, J, v0, z, eps):
    return (weights[:, None] @ _speeds(J, v0, z, eps)[1][..., None])[:, 0, 0]


def _rested(weights, J, v0, z, resting, speed) -> None:
    """Find the pushes in which a foot rests: the others ask no more of it than it can give."""
    count, feet = weights.shape
    v = v0 + np.einsum("bkin,bn->bki", J, z)
    slow = np.argsort(np.hypot(v[..., 0], v[..., 1]), axis=1)[:, : feet if feet <= _FEW else 3]
    every = np.arange(count)
    for k in slow.T:
        Jk = J[every, k]
        back = _backwards(Jk)
        spot = -np.einsum("bni,bi->bn", back, v0[every, k])
        moving = v0 + np.einsum("bkin,bn->bki", J, spot)
        fast = np.hypot(moving[..., 0], moving[..., 1])
        rests = fast <= 1e-9 * speed[:, None]
        e = moving / np.maximum(fast, 1e-300)[..., None]
        pull = np.einsum("bk,bki,bkin->bn", np.where(rests, 0.0, weights), e, J)
        force = -np.einsum("bni,bn->bi", back, pull)
        left = np.abs(np.einsum("bin,bi->bn", Jk, force) + pull).max(axis=1)
        held = left <= 1e-9 * (np.abs(pull).max(axis=1) + 1e-300)
        most = np.where(rests, weights, 0.0).sum(axis=1) * (1 + 1e-12)
        held &= rests[every, k] & (np.hypot(force[:, 0], force[:, 1]) <= most) & (resting < 0)
        z[held], resting[held] = spot[held], k[held]


def _backwards(J: np.ndarray) -> np.ndarray:
    """Return the pseudoinverses of (B, 2, n); of zero where a foot cannot move in every way."""
    if J.shape[2] == 1:
        square = (J**2).sum(axis=1, keepdims=True)
        return J.transpose(0, 2, 1) / np.maximum(square, 1e-300)
    if J.shape[2] != 2:
        return np.linalg.pinv(J)
    (a, b), (c, d) = J[:, 0].T, J[:, 1].T
    size, det = (J**2).sum(axis=(1, 2)), a * d - b * c
    adjoint = np.stack([np.stack([d, -b], axis=1), np.stack([-c, a], axis=1)], axis=1)
    clear = np.abs(det) > 1e-14 * size
    return adjoint * np.divide(1.0, det, out=np.zeros_like(det), where=clear)[:, None, None]


def _bent(weights, J, v0, z, eps):
    v, size = _speeds(J, v0, z, eps)
    e, share = v / size[..., None], weights / size
    count, points, rows, n = J.shape
    # One product of matrices for each push: rows of all points together.
    flat = J.reshape(count, points * rows, n)
    gradient = ((weights[..., None] * e).reshape(count, 1, -1) @ flat)[:, 0]
    along = sum(e[:, :, k, None] * J[:, :, k] for k in range(rows))
    hessian = (share[..., None, None] * J).reshape(flat.shape).transpose(0, 2, 1) @ flat
    return gradient, hessian - (share[..., None] * along).transpose(0, 2, 1) @ along


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


def _polished(weights, J, v0, z, resting, small) -> None:
    """Take the last steps without smoothing, where no foot rests."""
    free = resting < 0
    if free.any() and z.shape[1]:
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
