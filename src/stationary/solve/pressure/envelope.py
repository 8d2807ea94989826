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


def across(way: np.ndarray) -> np.ndarray:
    """Return vectors turned by a right angle."""
    turned = np.empty(way.shape)
    turned[..., 0], turned[..., 1] = -way[..., 1], way[..., 0]
    return turned


def centre_of(twist: np.ndarray) -> np.ndarray | None:
    """Return the point at rest, unless it is as good as infinitely far."""
    if abs(twist[2]) <= 1e-12 * np.hypot(twist[0], twist[1]):
        return None
    return np.array([-twist[1], twist[0]]) / twist[2]


def descended(rest: Rest, twist, witness, affine, edges, along, steps):
    """Go down along the border from points of it, by Newton's method, on both edges."""
    if rest.pieces > 1:
        # A corner belongs to two edges.
        corner = along == 0.0
        before = (edges[corner] - 1) % rest.pieces
        edges = np.concatenate([edges, before])
        along = np.concatenate([along, np.ones(len(before))])
        steps = np.concatenate([steps, rest.steps[np.searchsorted(rest.grid[0], before)]])
    for _ in range(3):
        slope, bend = slopes(rest, twist, witness, affine, edges, along)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(bend > 0, -slope / bend, -np.sign(slope) * steps)
        along = rest.moved(edges, along + np.clip(step, -steps, steps))
    return edges, along


def slopes(rest: Rest, twist, witness, affine, edges, along):
    """Return two derivatives of witness·v̂ − λ·x along the border."""
    x, dx, ddx = rest.at(edges, along)
    v, w = field(twist, x), field(witness, x)
    size = np.maximum(np.hypot(v[:, 0], v[:, 1]), 1e-300)[:, None]
    e = v / size
    a, aa = twist[2] * across(dx), twist[2] * across(ddx)
    p = (e * a).sum(axis=1, keepdims=True)
    de = (a - e * p) / size
    dde = (aa - e * (e * aa).sum(axis=1, keepdims=True) - 2 * p * de
           - e * (de * a).sum(axis=1, keepdims=True)) / size  # fmt: skip
    b, bb = witness[2] * across(dx), witness[2] * across(ddx)
    slope = (b * e + w * de).sum(axis=1) - dx @ affine[1:]
    bend = (bb * e + 2 * b * de + w * dde).sum(axis=1) - ddx @ affine[1:]
    return slope, bend


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
        edges, along = descended(
            rest, twist, witness, -affine, edges[chosen], along[chosen], steps[chosen]
        )
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
