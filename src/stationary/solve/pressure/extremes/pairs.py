"""Pressures of two atoms, one of which rests: motions that are always there.

The part turns about the one that rests; the other, on the border, moves. The force on the first is
what the finger gives and the second does not take: where it is less than friction can give, the
motion is that of a pressure, and so are all motions near it.
"""

from __future__ import annotations

import numpy as np

from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.support import Rest

# The load on the one that moves, as a share of the weight.
_SHARES = np.linspace(0.01, 0.65, 24)
_LEVERS = np.linspace(0.05, 2.0, 40)


def pairs(rest: Rest, mode: Mode) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the motions of many of them, one per row, and for each its column and its share."""
    assert mode.force is not None
    lever = abs(mode.force[2]) / float(np.hypot(mode.force[0], mode.force[1]))
    # The fastest have about half the lever as their share.
    share = np.concatenate([_SHARES, lever * _LEVERS]) if lever < 0.05 else _SHARES
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
    assert mode.force is not None
    lever = abs(mode.force[2]) / float(np.hypot(mode.force[0], mode.force[1]))
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
