"""Where a part may rest: the border of its outline, a circle, or feet, about its centre.

Everything is in the frame of a *scaled* part: the origin is the centre of friction and the farthest
point of the support is at distance one, its reach; loads are shares of the weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

# The sizes of a scaled part, beside which its lengths, and its loads and powers, are small.
REACH, WEIGHT = 1.0, 1.0

# Columns that a border is sampled by at first; the atoms of an answer then move along it.
_COLUMNS = 48
# Directions from a point to an edge beside it, evenly spread.
_TANGENTS = np.tan(np.radians([-86, -75, -60, -45, -30, -15, 0, 15, 30, 45, 60, 75, 86]))


def bearing_of(corners: np.ndarray, feet: bool) -> np.ndarray | None:
    """Return the corners that can bear load with the resultant at the origin.

    These are all, unless the origin is on the border of their hull: then all load is on that line.
    The two ends of an edge are a rod; none are left where one point bears everything. None comes
    back where the border of an outline has more than one piece on that line.
    """
    near = 1e-9 * REACH
    far = corners[np.hypot(*corners.T) > near]
    for way in far / np.hypot(*far.T)[:, None]:
        side = way[0] * corners[:, 1] - way[1] * corners[:, 0]
        if side.min() >= -near or side.max() <= near:
            break
    else:
        return corners
    on, place = np.abs(side) <= near, corners @ way
    if place[on].min() >= -near or place[on].max() <= near:
        # The origin is at an end of that line.
        return corners[:0]
    if feet:
        return corners[on]
    covered = on & np.roll(on, -1)
    length = np.abs(np.roll(place, -1) - place)[covered].sum()
    if length < np.ptp(place[on]) - near:
        return None
    return corners[[int(np.where(on, place, np.inf).argmin()),
                    int(np.where(on, place, -np.inf).argmax())]]  # fmt: skip


@dataclass(frozen=True)
class Rest:
    """The places where a scaled part can press on the table.

    A pressure in the inside of an outline counts no more than one on its border and at the centre
    of rotation: along a ray from that centre, what friction does is affine in the distance.
    """

    corners: np.ndarray  # of a polygon; two for a rod; none for a disc
    radius: float = 0.0
    middle: tuple[float, float] = (0.0, 0.0)
    feet: bool = False

    @cached_property
    def lows(self) -> dict[tuple[bytes, bytes, bytes], float]:
        """Lower bounds of dual functions that are known already."""
        return {}

    @cached_property
    def pieces(self) -> int:
        """How many edges the border has; feet have none."""
        return 0 if self.feet else 1 if self.radius or len(self.corners) == 2 else len(self.corners)

    @cached_property
    def grid(self) -> tuple[np.ndarray, np.ndarray]:
        """Edge numbers and places along them at which the border is sampled."""
        if self.feet:
            count = len(self.corners)
            return np.arange(count), np.zeros(count)
        if self.radius:
            return np.zeros(_COLUMNS, dtype=int), np.arange(_COLUMNS) / _COLUMNS
        if len(self.corners) == 2:
            return np.zeros(_COLUMNS // 2 + 1, dtype=int), np.linspace(0, 1, _COLUMNS // 2 + 1)
        long = np.linalg.norm(self._ways, axis=1)
        number = np.maximum(3, np.round(_COLUMNS * long / long.sum())).astype(int)
        edges = np.repeat(np.arange(len(long)), number)
        along = np.concatenate([np.arange(k) / k for k in number])
        return edges, along

    @cached_property
    def _ways(self) -> np.ndarray:
        return np.roll(self.corners, -1, axis=0) - self.corners

    @cached_property
    def lines(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where edges start, how they go on, and covectors that vanish on motions about them."""
        a, way, _ = self.at(np.arange(self.pieces), np.zeros(self.pieces))
        rows = np.stack([way[:, 0], way[:, 1], way[:, 1] * a[:, 0] - way[:, 0] * a[:, 1]], axis=1)
        return a, way, rows

    @cached_property
    def tangents(self) -> tuple[np.ndarray, ...]:
        """How long edges are, the directions in which they go, x and y, and where they start."""
        a, way, _ = self.lines
        long = np.hypot(way[:, 0], way[:, 1])
        return long, way[:, 0] / long, way[:, 1] / long, a[:, 0].copy(), a[:, 1].copy()

    @cached_property
    def sides(self) -> list[tuple[float, ...]]:
        """The same, edge by edge."""
        return list(zip(*(k.tolist() for k in self.tangents)))

    @cached_property
    def sense(self) -> float:
        """Whether edges go around counterclockwise, or clockwise: one or minus one."""
        (x, y), (u, v) = self.corners.T, self._ways.T
        return float(np.sign((x * v - y * u).sum()) or 1.0)

    def at(self, edge: np.ndarray, along: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return points of the border, and their first and second derivatives along it."""
        if self.radius:
            turn = 2 * np.pi * along
            out = self.radius * np.stack([np.cos(turn), np.sin(turn)], axis=1)
            slope = 2 * np.pi * np.stack([-out[:, 1], out[:, 0]], axis=1)
            return out + self.middle, slope, -((2 * np.pi) ** 2) * out
        way = np.zeros((len(edge), 2)) if self.feet else self._ways[edge]
        return self.corners[edge] + along[:, None] * way, way, np.zeros_like(way)

    @cached_property
    def columns(self) -> np.ndarray:
        """The points that the border is sampled by."""
        return self.at(*self.grid)[0]

    @cached_property
    def steps(self) -> np.ndarray:
        """How far it is from each of them to the next."""
        if self.feet:
            return np.ones(len(self.corners))
        return self.spacing[self.grid[0]]

    def contains(self, q: np.ndarray) -> bool:
        """Tell whether a point can carry load: inside, on the rod, or at a foot."""
        x, y = float(q[0]), float(q[1])
        if self.radius or self.feet or len(self.corners) == 2 or not abs(x) + abs(y) < np.inf:
            return bool(self.contain(q[None])[0])
        inside = False
        heights = self.corners[:, 1].tolist()
        for (a, b, u, v, square), end in zip(self.edges, heights[1:] + heights[:1]):
            across = u * (y - b) - v * (x - a)
            share = u * (x - a) + v * (y - b)
            if across * across <= 1e-24 * square:
                room = 1e-12 * sqrt(square)
                if -room <= share <= square + room:
                    return True
            if (b > y) != (end > y) and (across > 0) == (v > 0):
                inside = not inside
        return inside

    @cached_property
    def edges(self) -> list[list[float]]:
        """Where edges start, how they go on, and the squares of their lengths."""
        return np.hstack(
            [self.corners, self._ways, (self._ways**2).sum(axis=1, keepdims=True)]
        ).tolist()

    @cached_property
    def _tall(self) -> np.ndarray:
        """The same, one edge to a row."""
        return np.array(self.edges).T[..., None].copy()

    def contain(self, q: np.ndarray) -> np.ndarray:
        """Tell of points (B, 2) which can carry load."""
        near = 1e-12
        with np.errstate(invalid="ignore"):
            if self.radius:
                return np.hypot(*(q - self.middle).T) <= self.radius * (1 + near)
            if self.feet:
                return np.any(np.abs(self.corners - q[:, None]).max(axis=2) <= near, axis=1)
            # Edges in rows, points in columns: long rows are quick.
            a, b, u, v, square = self._tall
            x, y = q[:, 0], q[:, 1]
            p, r = x - a, y - b
            across, share = u * r - v * p, u * p + v * r
            room = near * np.sqrt(square)
            on = (np.abs(across) <= room) & (share >= -room) & (share <= square + room)
            if len(self.corners) == 2:
                return on.any(axis=0)
            above = b > y
            over = above != np.concatenate([above[1:], above[:1]])
            crossed = np.logical_xor.reduce(over & ((across > 0) == (v > 0)), axis=0)
        return on.any(axis=0) | crossed

    def beside(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return places on edges that pass close by a point, and how far apart they are.

        Around the centre of rotation directions change within that distance, however short.
        """
        none = np.zeros(0, dtype=int), np.zeros(0), np.zeros(0)
        if self.feet:
            return none
        if self.radius:
            arm = q - self.middle
            far = abs(np.hypot(*arm) - self.radius)
            if far > self.radius * 0.2:
                return none
            step = max(far, 1e-15) / (2 * np.pi * self.radius)
            along = np.arctan2(arm[1], arm[0]) / (2 * np.pi) + step * _TANGENTS
            return np.zeros(len(along), dtype=int), along % 1.0, np.full(len(along), step)
        way = self._ways[: self.pieces]
        square = (way**2).sum(axis=1)
        arm = q - self.corners[: self.pieces]
        share = (arm * way).sum(axis=1) / square
        far = np.abs(way[:, 0] * arm[:, 1] - way[:, 1] * arm[:, 0]) / square
        close = np.flatnonzero((far < self.spacing) & (share > -far) & (share < 1 + far))
        if not len(close):
            return none
        step = np.maximum(far[close], 1e-15)
        along = share[close, None] + step[:, None] * _TANGENTS
        on = (along > 0) & (along < 1)
        wide = np.broadcast_to(step[:, None], along.shape)
        return np.broadcast_to(close[:, None], along.shape)[on], along[on], wide[on]

    def passing(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return places on the two edges that pass closest by each of many points (B, 2).

        Seen from a point they are turned alike, so that they come as close as it does.
        """
        if self.radius:
            x, y = (q - self.middle).T
            far = np.abs(np.hypot(x, y) - self.radius) / (2 * np.pi * self.radius)
            along = np.arctan2(y, x)[:, None] / (2 * np.pi) + far[:, None] * _TANGENTS
            return np.zeros(along.shape, dtype=int), along % 1.0
        way = self._ways[: self.pieces]
        square = (way**2).sum(axis=1)
        arm = q[:, None] - self.corners[: self.pieces]
        share = (arm * way).sum(axis=2) / square
        off = arm - np.clip(share, 0, 1)[..., None] * way
        close = (off**2).sum(axis=2).argsort(axis=1)[:, :2]
        across = np.abs(way[:, 0] * arm[..., 1] - way[:, 1] * arm[..., 0]) / square
        share, across = (np.take_along_axis(k, close, 1)[..., None] for k in (share, across))
        along = np.clip(share + across * _TANGENTS, 0.0, 1.0).reshape(len(q), -1)
        return np.repeat(close, len(_TANGENTS), axis=1), along

    @cached_property
    def spacing(self) -> np.ndarray:
        """How far apart the columns of each edge are, as a share of it."""
        return 1.5 / np.bincount(self.grid[0], minlength=self.pieces)

    def moved(self, edge: np.ndarray, along: np.ndarray) -> np.ndarray:
        """Return places along edges that stay on them."""
        return along % 1.0 if self.radius else np.clip(along, 0.0, 1.0)
