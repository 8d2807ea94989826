"""How far a mode is from its end at a state, and how much of that is rounding."""

from __future__ import annotations

import numpy as np

from stationary.solve.touch.at_state import Facts
from stationary.solve.touch.crossings import Fresh
from stationary.solve.touch.laws import ROUNDING
from stationary.solve.touch.mode import Mode

# Roundings within which the place where an acceleration vanishes is found.
ROUNDINGS = 100.0


def first_of(leaves: np.ndarray, count: int) -> np.ndarray:
    """Return the same of all margins, of which contacts are the first."""
    return np.concatenate([leaves, np.zeros(count - len(leaves), dtype=bool)])


def acceleration_rounding(facts: Facts, row: int, z: np.ndarray) -> float:
    """Return how much of the acceleration of a row is rounding."""
    summed = ROUNDING * float(facts.sums[row] + np.abs(facts.W[row]) @ np.abs(z))
    return summed + float(facts.pull_rounding(z)[row])


def strength(facts: Facts, mode: Mode, z: np.ndarray) -> float:
    """Return the largest force that acts, in the metric of the masses; friction up to its limit."""
    size = np.abs(z)
    for j, rub in enumerate(facts.touch.rubs):
        if mode.sticks[j]:
            rows = [facts.fixed + facts.touch.gaps + k for k in rub.entries]
            limit = float(facts.rest[rub.entries[0]])
            size[rows] = limit if rub.gap is None else limit * size[facts.fixed + rub.gap]
    forces = float(np.max(size * np.sqrt(np.diag(facts.W)), initial=0.0))
    return max(float(np.sqrt(abs(facts.force @ facts.free))), forces)


def stray(facts: Facts, mode: Mode, decay: float) -> float:
    """Return the energy of what is held where it is off by rounding, which decays at a rate."""
    rows = [*range(facts.fixed), *(facts.fixed + np.flatnonzero(mode.held)).tolist()]
    rates = (facts.rate_rounding + decay * facts.value_rounding)[rows]
    return float(np.sum(rates**2 / np.maximum(np.diag(facts.W)[rows], 1e-300)))


def rates_rounding(facts: Facts, z: np.ndarray, strong: float, decay: float) -> np.ndarray:
    """Return how much of ẏ = f is rounding, as large forces that cancel leave it.

    Forces of contacts follow from each other: in the metric of the masses, rounding of the largest,
    `strong`, is everywhere. What it does to velocities adds up until it decays.
    """
    sums = strong * np.sqrt(np.diag(facts.inverse))
    moving = np.abs(facts.C) @ (np.abs(facts.v) + decay * sums) + np.abs(facts.drive)
    power = np.abs(z) @ (ROUNDING * moving)
    return np.concatenate([np.zeros(len(facts.q)), ROUNDING * sums, [power, power]])


def standing(facts: Facts, mode: Mode, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the margins of a mode, and how much of each is rounding."""
    touch = facts.touch
    strength = np.abs(z)
    if mode.closed.any() or mode.sticks.any():
        pulls = facts.sums + facts.pull_rounding(z) / ROUNDING
        strength = strength + pulls / np.maximum(np.diag(facts.W), 1e-300)
    closed = mode.closed > 0
    rounding = facts.value_rounding[facts.gaps]
    noise = np.where(closed, ROUNDING * strength[facts.gaps], rounding).tolist()
    values = np.where(closed, z[facts.gaps], facts.value[facts.gaps]).tolist()
    for j, rub in enumerate(touch.rubs):
        rows = [facts.fixed + touch.gaps + k for k in rub.entries]
        force, rest = z[rows], float(facts.rest[rub.entries[0]])
        limit, strong = rest, float(strength[rows].max())
        if rub.gap is not None:
            g = facts.fixed + rub.gap
            limit, strong = rest * z[g], strong + rest * strength[g]
        several = len(rows) > 1
        if mode.sticks[j]:
            strong *= ROUNDING
            noise += [strong * (limit + strong) if several else strong] * 2
            values += (
                [limit**2 - force @ force, 1.0] if several else [limit - force[0], limit + force[0]]
            )
        else:
            noise += [float(np.linalg.norm(facts.rate_rounding[rows])), 0.0]
            way = mode.along[list(rub.entries)]
            values += [float(way @ facts.rate[rows]) if way.any() else 1.0, 1.0]
    return np.array(values, dtype=float), np.array(noise, dtype=float)


def beginning(facts: Facts, mode: Mode, i: int, z: np.ndarray, leaves: bool) -> Fresh:
    """Return how a margin begins that is zero: a rebound, a lift, a slip, or something else."""
    gaps = facts.touch.gaps
    if leaves:
        return Fresh(1)
    if i < gaps and not mode.closed[i]:
        row = facts.fixed + i
        # It lifts where its acceleration is zero, as well as that was found.
        room = acceleration_rounding(facts, row, z)
        begins = float(facts.pulled[row] + facts.W[row] @ z)
        return Fresh(2, float(facts.rate[row]), max(room, min(2 * abs(begins), ROUNDINGS * room)))
    if i >= gaps:
        rub = facts.touch.rubs[(i - gaps) // 2]
        if not mode.sticks[(i - gaps) // 2]:
            rows = [facts.fixed + gaps + k for k in rub.entries]
            return Fresh(1, 0.0, max(acceleration_rounding(facts, row, z) for row in rows))
    return Fresh()
