"""Equilibria in narrow valleys: along what is next to flat, forces are followed to where they end.

A rod stated as a stiff spring, or a light planet beside a heavy sun, leaves a curve along which
forces are many millions of times weaker than across it. Places on it are no zeros though next to
nothing pushes, and Newton's method crosses it at an angle; walked along, the weak force changes its
sign at every equilibrium.
"""

from __future__ import annotations

import numpy as np

from stationary.solve.rest.many_starts import Swarm

# How far one stride goes, beside the box, how many there are each way, and how often the last is
# halved.
_STRIDE, _MOST_STRIDES, _HALVES = 0.01, 600, 60

# A stride that is bent by more than this share of itself has left the valley.
_BENT = 0.3


def walked(swarm: Swarm, seeds: np.ndarray, inside) -> tuple[np.ndarray, np.ndarray]:
    """Return zeros along the valleys through some places, and all places that were passed."""
    zeros: list[np.ndarray] = []
    passed = [seeds]
    for side in (1.0, -1.0):
        here = seeds.copy()
        way, across = _frames(swarm, here)
        way = side * way
        force = _along(swarm, here, across)
        alive = np.ones(len(here), bool)
        for _ in range(_MOST_STRIDES):
            alive &= inside(here)
            work = np.flatnonzero(alive)
            if not len(work):
                break
            aim = here[work] + _STRIDE * way[work]
            there = swarm.corrected(aim, 12)
            off = np.abs(there - aim)[:, : swarm.n].max(axis=1)
            ahead, beside = _frames(swarm, there)
            ahead *= _sign(np.sum(ahead * way[work], axis=1))[:, None]
            beside *= _sign(np.sum(beside * across[work], axis=1))[:, None]
            push = _along(swarm, there, beside)
            good = (off <= _BENT * _STRIDE) & np.isfinite(push)
            for k in np.flatnonzero(good & (push * force[work] <= 0)):
                i = work[k]
                zeros.append(_between(swarm, here[i], there[k], across[i], float(force[i])))
            kept = work[good]
            here[kept], way[kept], across[kept] = there[good], ahead[good], beside[good]
            force[kept] = push[good]
            alive[work[~good]] = False
            # Once round, it is where it began.
            alive[work] &= np.abs(here[work] - seeds[work])[:, : swarm.n].max(axis=1) > _STRIDE / 2
            passed.append(here[kept].copy())
    return np.array(zeros).reshape(-1, seeds.shape[1]), np.vstack(passed)


def _between(swarm: Swarm, low, high, across, force: float) -> np.ndarray:
    """Return the zero between two places of a valley, by halves."""
    middle = high[None]
    for _ in range(_HALVES):
        middle = swarm.corrected(((low + high) / 2)[None], 12)
        _, beside = _frames(swarm, middle)
        beside *= _sign(np.sum(beside * across, axis=1))[:, None]
        push = float(_along(swarm, middle, beside)[0])
        if push * force > 0:
            low = middle[0]
        else:
            high = middle[0]
        if not push or np.all(np.abs(high - low) <= np.spacing(np.abs(middle[0]))):
            break
    return middle[0]


def _frames(swarm: Swarm, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the way along each valley, of one unit of the box, and the row that is weak there."""
    _, J = swarm.values(w)
    J[~np.all(np.isfinite(J), axis=(1, 2))] = 0.0
    left, _, rows = np.linalg.svd(J)
    way = rows[:, -1]
    size = np.abs(way[:, : swarm.n]).max(axis=1, keepdims=True)
    return way / np.maximum(size, 1e-300), left[:, :, -1]


def _along(swarm: Swarm, w: np.ndarray, across: np.ndarray) -> np.ndarray:
    return np.sum(swarm.values(w)[0] * across, axis=1)


def _sign(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, -1.0, 1.0)
