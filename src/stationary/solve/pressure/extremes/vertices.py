"""Extreme pressures of as few points as bear the weight, and the motions of many pressures."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np

from stationary.result.least_power import motions
from stationary.solve.linear import extent, ways_across
from stationary.solve.pressure.envelope import fields
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


# -- pairs, one of which rests ---------------------------------------------------------------------

# The load on the one that moves, as a share of the weight.
_SHARES = np.linspace(0.01, 0.65, 24)
_LEVERS = np.linspace(0.05, 2.0, 40)


def pairs(rest: Rest, mode: Mode) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return motions of pressures of two atoms, one of which rests, with its column and its share.

    The part turns about the one that rests; the other, on the border, moves. The force on the first
    is what the finger gives and the second does not take: where it is less than friction can give,
    the motion is that of a pressure, and so are all motions near it.
    """
    # The fastest have about half the lever as their share.
    share = np.concatenate([_SHARES, mode.lever * _LEVERS]) if mode.lever < 0.05 else _SHARES
    column = np.arange(0, len(rest.columns), max(1, len(rest.columns) // 30))
    column, share = np.repeat(column, len(share)), np.tile(share, len(column))
    x = rest.columns[column]
    twists, grip = resting(mode, x, share)
    good = grip <= 0.95
    good[good] = rest.contain(-x[good] * (share[good] / (1 - share[good]))[:, None])
    if mode.guard is not None:
        good &= twists @ mode.guard > 0
    return twists[good], column[good], share[good]


def last_pairs(rest: Rest, mode: Mode) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the same where what rests takes all that friction gives: there pairs go furthest."""
    lever = mode.lever
    share = np.concatenate([[1e-6 * lever], min(lever / 2, 1.0) * _LEVERS, _SHARES])
    share = np.sort(share[share < 1])
    count, many = len(rest.columns), len(share)
    x, m = np.repeat(rest.columns, many, axis=0), np.tile(share, count)
    # Beyond its limit by far says as little as none at all.
    over = np.minimum(resting(mode, x, m)[1], 10.0).reshape(count, many) - 1
    column, k = np.nonzero(over[:, :-1] * over[:, 1:] < 0)
    a, b = over[column, k], over[column, k + 1]
    m = share[k] + (share[k + 1] - share[k]) * (a / (a - b))
    x = rest.columns[column]
    twists, grip = resting(mode, x, m)
    good = np.isfinite(grip) & rest.contain(-x * (m / (1 - m))[:, None])
    if mode.guard is not None:
        good &= twists @ mode.guard > 0
    return twists[good], column[good], m[good]


def resting(mode: Mode, x: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return motions about the other atom of pairs, and the force on it, in shares of its limit."""
    force = mode.force
    assert force is not None
    (x0, x1), (f0, f1, f2) = x.T, force.tolist()
    share = m / (1 - m)
    a, b = -x1 * share, x0 * share  # q⊥, about which the part turns: v = ω (x − q)⊥
    plane = mode.normal
    p0, p1, p2 = (plane / (plane @ mode.base)).tolist()
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = 1 / (a * p0 + b * p1 + p2)
        drive = turn * (a * f0 + b * f1 + f2)
        u, v = turn * (a - x1), turn * (b + x0)
        speed = np.sqrt(u * u + v * v)
        push = m * speed / drive
        e0, e1 = push * f0 - m * u / speed, push * f1 - m * v / speed
        grip = np.sqrt(e0 * e0 + e1 * e1) / (1 - m)
        grip = np.where((drive > 0) & np.isfinite(turn), grip, np.inf)
    return np.stack([turn * a, turn * b, turn], axis=1), grip
