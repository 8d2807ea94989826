"""Extreme pressures of as few points as bear the weight, and the motions of many pressures."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from stationary.result.least_power import motions
from stationary.solve.linear import extent, ways_across
from stationary.solve.pressure.programs.programs import fields
from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.support import REACH, WEIGHT, Rest

#: As many extreme pressures are all looked at.
EVERY = 20000


def vertices(rest: Rest, tried: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    """Return points (B, n, 2) and loads (B, n) of extreme pressures: all, or some tried."""
    grid, level = rest.columns, extent(rest.columns)
    rank = len(level) + 1
    if comb(len(grid), rank) <= EVERY:
        chosen = np.array(list(combinations(range(len(grid)), rank)))
    else:
        rng = np.random.default_rng(0)
        chosen = rng.random((10 * tried, len(grid))).argpartition(rank, axis=1)[:, :rank]
    points = grid[chosen]
    rows = np.concatenate([np.ones((len(points), 1, rank)), level @ points.transpose(0, 2, 1)], 1)
    good = np.abs(np.linalg.det(rows)) > 1e-12 * REACH ** (rank - 1)
    points, loads = points[good], np.linalg.inv(rows[good])[:, :, 0]
    good = loads.min(axis=1) >= -1e-12
    return points[good], np.maximum(loads[good], 0.0)


def driven(mode: Mode, points: np.ndarray, loads: np.ndarray) -> np.ndarray:
    """Return the motions of pressures that are in balance, or about a foot that holds."""
    count = len(loads)
    assert mode.force is not None
    unit = mode.force / (mode.force @ mode.force)
    free = ways_across(mode.force)
    z, resting = motions(points, loads, np.tile(unit, (count, 1)), np.tile(free, (count, 1, 1)))
    twists = unit + z @ free.T
    e = fields(twists, points)
    e /= np.maximum(np.linalg.norm(e, axis=2, keepdims=True), 1e-300)
    turn = points[..., 0] * e[..., 1] - points[..., 1] * e[..., 0]
    wrench = np.stack([(loads * k).sum(axis=1) for k in (e[..., 0], e[..., 1], turn)], 1)
    off = np.abs(wrench @ free).max(axis=1) > 1e-9 * WEIGHT
    twists[off & (resting < 0)] = np.nan
    plane = mode.normal
    with np.errstate(divide="ignore", invalid="ignore"):
        return twists * ((plane @ mode.base) / (twists @ plane))[:, None]
