"""All pressures at one motion: a linear program whose columns are the points of the support.

For a given motion the wrench of friction is linear in the pressure. Written with ⟨·⟩ for the mean
over the pressure and v̂(x) for the direction in which x moves, the least of ⟨a·v̂⟩ over all pressures
with ⟨1⟩ = 1, ⟨x⟩ = 0 and ⟨w·v̂⟩ = 0, for fields a and w of rigid motions, is the value of the
convex envelope of a·v̂ − ν w·v̂ at the centre: an affine function below it everywhere, touching it at
the atoms of a pressure, proves it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stationary.solve.pressure.simplex import Vertex, solved
from stationary.solve.pressure.support import Rest

_ROUNDS = 12
_CIRCLE = np.stack([np.cos(np.arange(8) * np.pi / 4), np.sin(np.arange(8) * np.pi / 4)], axis=1)


def field(twist: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the velocities of points under a rigid motion (vx, vy, ω) of the origin."""
    x, y = points[..., 0], points[..., 1]
    return np.stack([twist[0] - twist[2] * y, twist[1] + twist[2] * x], axis=-1)


def across(way: np.ndarray) -> np.ndarray:
    """Return vectors turned by a right angle."""
    return np.stack([-way[..., 1], way[..., 0]], axis=-1)


def centre_of(twist: np.ndarray) -> np.ndarray | None:
    """Return the point at rest, unless it is as good as infinitely far."""
    if abs(twist[2]) <= 1e-12 * np.hypot(twist[0], twist[1]):
        return None
    return np.array([-twist[1], twist[0]]) / twist[2]


@dataclass(frozen=True)
class Claim:
    """What all pressures at a motion have in common: a least value, who attains it, and why."""

    value: float
    points: np.ndarray
    masses: np.ndarray
    ways: np.ndarray  # the unit vector along which friction acts at each atom
    still: np.ndarray  # which atoms are at the centre of rotation
    edges: np.ndarray
    along: np.ndarray
    affine: np.ndarray  # λ0, λx, λy of the affine function below
    dual: np.ndarray  # ν of the rows
    witness: np.ndarray  # the twist a − Σ ν w
    lowest: float  # how far below the affine function the other side gets: rounding
    twist: np.ndarray

    @property
    def feasible(self) -> bool:
        """Whether any pressure satisfies the rows."""
        return bool(np.isfinite(self.value))

    def slope(self, change: np.ndarray) -> float:
        """Return the derivative of the value when the twist changes."""
        speed = field(self.twist, self.points)
        size = np.hypot(speed[:, 0], speed[:, 1])
        moves = field(change, self.points)
        turn = across(self.ways)
        with np.errstate(divide="ignore", invalid="ignore"):
            swing = (moves * turn).sum(axis=1) / size
        seen = (field(self.witness, self.points) * turn).sum(axis=1)
        parts = np.where(self.still, 0.0, self.masses * swing * seen)
        total = float(np.nansum(parts))
        for k in np.flatnonzero(self.still):
            drift = across(moves[k]) / self.twist[2]
            turning = self.witness[2] * float(across(drift) @ self.ways[k])
            total += float(self.masses[k] * (turning - self.affine[1:] @ drift))
        return total


class Pressures:
    """All pressures on a support, asked at one motion after another."""

    def __init__(self, rest: Rest):
        self.rest = rest
        self.programs = 0

    def least(
        self,
        twist: np.ndarray,
        aim: np.ndarray,
        zero: tuple[np.ndarray, ...] = (),
        above: tuple[np.ndarray, ...] = (),
        near: Claim | None = None,
        rounds: int = _ROUNDS,
        grip: float = 1.0,
    ) -> Claim:
        """Return the least ⟨aim·v̂⟩ with ⟨w·v̂⟩ = 0 for `zero` and ≥ 0 for `above`.

        After the first of the `rounds` columns move to where they are best. What is at rest gives
        forces up to `grip` times its limit.
        """
        self.programs += 1
        rest = self.rest
        q = centre_of(twist)
        edges, along = rest.grid
        points, steps = rest.columns, rest.steps
        if q is not None:
            e, a, wide = rest.beside(q)
            if len(e):
                edges, along = np.concatenate([edges, e]), np.concatenate([along, a])
                points = np.concatenate([points, rest.at(e, a)[0]])
                steps = np.concatenate([steps, wide])
        grid = len(edges)
        sampled = edges, along, steps
        started = near is not None and near.feasible and not np.any(near.still)
        if started and near is not None:
            edges = np.concatenate([edges, near.edges])
            along = np.concatenate([along, near.along])
            points = np.concatenate([points, near.points])
        twists = (*zero, *above)
        inside = q is not None and rest.contains(q)
        rows = 3 + len(twists)
        b = np.zeros(rows)
        b[0] = 1.0

        def columns(points: np.ndarray, ways: np.ndarray) -> np.ndarray:
            made = np.empty((rows + 1, len(points)))
            made[0], made[1:3] = 1.0, points.T
            for k, w in enumerate((*twists, aim)):
                made[3 + k] = (field(w, points) * ways).sum(axis=1)
            return made

        ways = _directions(twist, points)
        made = columns(points, ways)
        still = np.zeros(len(points), dtype=bool)
        if inside and q is not None:
            spot = np.tile(q, (8, 1))
            made = np.hstack([made, columns(spot, grip * _CIRCLE)])
            points, ways = np.vstack([points, spot]), np.vstack([ways, grip * _CIRCLE])
            still = np.concatenate([still, np.ones(8, dtype=bool)])
            edges, along = np.append(edges, [-1] * 8), np.append(along, np.zeros(8))
        slack = np.zeros((rows + 1, len(above)))
        slack[3 + len(zero) : 3 + len(twists)] = -np.eye(len(above))
        count = len(above)
        A = np.hstack([slack, made])
        basis = None
        if started and near is not None and len(near.points) == rows:
            basis = count + grid + np.arange(rows)
        lowest, before = 0.0, np.inf
        vertex, affine, witness = Vertex(np.inf, np.zeros(0), b, b), b[:3], aim
        for turn in range(rounds):
            vertex = solved(A[:-1], b, A[-1], basis)
            basis = vertex.basis
            if not vertex.feasible:
                # A ray of the dual: with costs of zero the same columns are looked for.
                witness = -sum((d * w for d, w in zip(vertex.dual[3:], twists)), np.zeros(3))
            else:
                witness = aim - sum((d * w for d, w in zip(vertex.dual[3:], twists)), np.zeros(3))
            affine = vertex.dual[:3]
            if turn == rounds - 1 and rounds == 1:
                break
            new = self._better(twist, witness, affine, sampled, points[:grid], ways[:grid],
                               q if inside else None, grip)  # fmt: skip
            lowest, n_edges, n_along, n_points, n_ways, n_still = new
            if not len(n_edges) or lowest > -1e-10 or before - vertex.value < 1e-14:
                break
            before = vertex.value if vertex.feasible else np.inf
            more = columns(n_points, n_ways)
            A = np.hstack([A, more])
            edges, along = np.append(edges, n_edges), np.append(along, n_along)
            points, ways = np.vstack([points, n_points]), np.vstack([ways, n_ways])
            still = np.append(still, n_still)
            if not vertex.feasible or np.any(basis >= A.shape[1] - len(n_edges)):
                basis = None
        held = vertex.basis[(vertex.basis >= count) & (vertex.basis < A.shape[1])] - count
        order = {int(k): m for k, m in zip(vertex.basis, vertex.amounts)}
        masses = np.array([order[int(k) + count] for k in held])
        held = held[held < len(points)]
        return Claim(
            vertex.value, points[held], masses[: len(held)], ways[held], still[held], edges[held],
            along[held], affine, vertex.dual[3:], witness, lowest, twist,
        )  # fmt: skip

    def _better(self, twist, witness, affine, sampled, points, ways, q, grip=1.0):
        """Find points of the border, between those of the grid, that lower the value."""
        rest, first = self.rest, len(self.rest.columns)
        cost = (field(witness, points) * ways).sum(axis=1) - affine[0] - points @ affine[1:]
        edges, along, lowest = np.zeros(0, dtype=int), np.zeros(0), 0.0
        size = np.abs(cost).max(initial=0.0)
        chosen = np.zeros(0, dtype=int)
        if rest.pieces:
            even = cost[:first]
            valley = (even <= np.roll(even, 1)) & (even <= np.roll(even, -1))
            if len(rest.corners) == 2 and not rest.radius:
                valley[[0, -1]] = True
            chosen = np.flatnonzero(valley & (even < 0.05 * size))
            if len(cost) > first:
                chosen = np.append(chosen, first + np.argsort(cost[first:])[:3])
        if len(chosen):
            edges, along = self.descended(twist, witness, affine, *(x[chosen] for x in sampled))
            points = rest.at(edges, along)[0]
            ways = _directions(twist, points)
            value = (field(witness, points) * ways).sum(axis=1) - affine[0] - points @ affine[1:]
            good = value < -1e-14
            lowest = float(min(value.min(initial=0.0), 0.0))
            edges, along, points, ways = edges[good], along[good], points[good], ways[good]
        else:
            points, ways = points[:0], ways[:0]
        still = np.zeros(len(edges), dtype=bool)
        if q is not None:
            push = field(witness, q)
            size = float(np.hypot(*push))
            value = -grip * size - affine[0] - q @ affine[1:]
            if value < -1e-14 and size > 0:
                lowest = min(lowest, float(value))
                edges, along = np.append(edges, -1), np.append(along, 0.0)
                points, ways = np.vstack([points, q]), np.vstack([ways, -grip * push / size])
                still = np.append(still, True)
        return lowest, edges, along, points, ways, still

    def descended(self, twist, witness, affine, edges, along, steps):
        """Go down along the border from points of it, by Newton's method, on both edges."""
        rest = self.rest
        if rest.pieces > 1:
            # A corner belongs to two edges.
            corner = along == 0.0
            before = (edges[corner] - 1) % rest.pieces
            edges = np.concatenate([edges, before])
            along = np.concatenate([along, np.ones(len(before))])
            steps = np.concatenate([steps, rest.steps[np.searchsorted(rest.grid[0], before)]])
        for _ in range(3):
            slope, bend = self.slopes(twist, witness, affine, edges, along)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = np.where(bend > 0, -slope / bend, -np.sign(slope) * steps)
            along = rest.moved(edges, along + np.clip(step, -steps, steps))
        return edges, along

    def slopes(self, twist, witness, affine, edges, along):
        """Return two derivatives of witness·v̂ − λ·x along the border."""
        x, dx, ddx = self.rest.at(edges, along)
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


def _directions(twist: np.ndarray, points: np.ndarray) -> np.ndarray:
    v = field(twist, points)
    return v / np.maximum(np.hypot(v[:, 0], v[:, 1]), 1e-300)[:, None]
