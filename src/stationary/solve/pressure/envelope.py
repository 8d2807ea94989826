"""Rigid motions of a part, and what the dual function of a pressure does along its border."""

from __future__ import annotations

import numpy as np

from stationary.solve.pressure.support import Rest


def field(twist: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the velocities of points under a rigid motion (vx, vy, ω) of the origin."""
    u, v, turn = twist.tolist()
    velocities = np.empty(points.shape)
    velocities[..., 0], velocities[..., 1] = u - turn * points[..., 1], v + turn * points[..., 0]
    return velocities


def fields(twists: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return velocities (B, K, 2) of points (K, 2) or (B, K, 2) under motions (B, 3)."""
    u, v, turn = np.moveaxis(twists, -1, 0)[..., None]
    return np.stack([u - turn * points[..., 1], v + turn * points[..., 0]], -1)


def centres(twists: np.ndarray) -> np.ndarray:
    """Return the points at rest, infinitely far for a translation."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([-twists[:, 1], twists[:, 0]], axis=1) / twists[:, 2:]


def centre_of(twist: np.ndarray) -> np.ndarray | None:
    """Return the point at rest, unless it is as good as infinitely far."""
    if abs(twist[2]) <= 1e-12 * np.hypot(twist[0], twist[1]):
        return None
    return np.array([-twist[1], twist[0]]) / twist[2]


def descended(rest: Rest, twists, witness, affine, edges, along, far, steps):
    """Go down along the border from places of it, no further than `far`, by Newton's method."""
    for _ in range(steps):
        slope, bend = slopes(rest, twists, witness, affine, edges, along)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(bend > 0, -slope / bend, -np.sign(slope) * far)
        along = rest.moved(edges, along + np.clip(step, -far, far))
    return along


def slopes(rest: Rest, twists, witness, affine, edges, along):
    """Return two derivatives of witness·v̂ − λ·x along the border, for one motion or for many."""
    x, dx, ddx = (k.reshape(*edges.shape, 2) for k in rest.at(edges.ravel(), along.ravel()))
    v, w = fields(twists, x), fields(witness, x)
    size = np.maximum(np.sqrt((v**2).sum(axis=-1)), 1e-300)[..., None]
    e = v / size
    turn, swing = twists[..., 2, None, None], witness[..., 2, None, None]
    a, aa = turn * _across(dx), turn * _across(ddx)
    p = (e * a).sum(axis=-1, keepdims=True)
    de = (a - e * p) / size
    dde = (aa - e * (e * aa).sum(axis=-1, keepdims=True) - 2 * p * de
           - e * (de * a).sum(axis=-1, keepdims=True)) / size  # fmt: skip
    b, bb = swing * _across(dx), swing * _across(ddx)
    plain = affine[..., None, 1:]
    slope = (b * e + w * de - dx * plain).sum(axis=-1)
    bend = (bb * e + 2 * b * de + w * dde - ddx * plain).sum(axis=-1)
    return slope, bend


def _across(way: np.ndarray) -> np.ndarray:
    return np.stack([-way[..., 1], way[..., 0]], axis=-1)


def lowest_on(rest: Rest, twist, witness, affine):
    """Return the least value of λ0 + λ·x + W(x)·v̂(x) on the support, and where it is taken."""
    q = centre_of(twist)
    edges, along = rest.grid
    steps = rest.steps
    if q is not None:
        e, a, wide = rest.beside(q)
        edges, along = np.concatenate([edges, e]), np.concatenate([along, a])
        steps = np.concatenate([steps, wide])
    points = rest.at(edges, along)[0]

    def value(points: np.ndarray) -> np.ndarray:
        v = field(twist, points)
        e = v / np.maximum(np.hypot(v[:, 0], v[:, 1]), 1e-300)[:, None]
        return (field(witness, points) * e).sum(axis=1) + affine[0] + points @ affine[1:]

    values = value(points)
    if rest.pieces:
        # Between columns of an edge f may be lower than at any other.
        order = np.argsort(values)
        chosen = np.unique(
            np.append(order[:8], order[np.unique(edges[order], return_index=True)[1]])
        )
        edges, along, steps = edges[chosen], along[chosen], steps[chosen]
        if rest.pieces > 1:
            # A corner belongs to two edges.
            corner = along == 0.0
            before = (edges[corner] - 1) % rest.pieces
            edges = np.concatenate([edges, before])
            along = np.concatenate([along, np.ones(len(before))])
            steps = np.concatenate([steps, rest.steps[np.searchsorted(rest.grid[0], before)]])
        along = descended(rest, twist, witness, -affine, edges, along, steps, 3)
        values = value(rest.at(edges, along)[0])
    k = int(values.argmin())
    lowest, corner = float(values[k]), rest.feet or along[k] in (0.0, 1.0)
    where = ("fixed" if corner else "edge", int(edges[k]), float(along[k]), 0.0)
    if q is not None and rest.contains(q):
        push = field(witness, q)
        here = -float(np.hypot(*push)) + affine[0] + q @ affine[1:]
        if here < lowest:
            lowest, where = here, ("still", -1, 0.0, float(np.arctan2(-push[1], -push[0])))
    return lowest, where
