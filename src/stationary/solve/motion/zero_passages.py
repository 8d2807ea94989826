"""Where an expression of time passes through zero: every passage, located to rounding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: An expression as a function of sorted times, and of the states there if they are known.
Course = Callable[..., np.ndarray]

# An interval is seen through if what its neighbours predict inside it is wrong by less than this
# part of the values at its ends; halved until then, but not more often than this, nor into more
# intervals than that.
_PART = 0.1
_MOST_HALVINGS = 40
MOST_INTERVALS = 200_000
# What has come down to this part of its size where it ends, as a root does, is zero there.
_FADED = 1e-4


def passages(course: Course, times: np.ndarray, g: np.ndarray, direction: int = 0) -> np.ndarray:
    """Return when an expression passes through zero, upwards (1), downwards (−1) or both (0).

    It is known at some times. A zero that it leaves is no passage, one that it reaches is, also
    where it is no number beyond, as a root.
    """
    times, g = _seen_through(course, times, g)
    before, after = np.isnan(g[:-1]), np.isnan(g[1:])
    at = np.flatnonzero((g[:-1] != 0) & (np.sign(g[:-1]) != np.sign(g[1:])) & ~before)
    if direction:
        at = at[(g[at] < 0) == (direction > 0)]
    ends, at = at[after[at]], at[~after[at]]
    passed = zeros(course, times[at], times[at + 1]) if len(at) else np.empty(0)
    if not len(ends):
        return passed
    scale = np.nanmax(np.abs(g))
    last = [_last(course, *map(float, (times[k], times[k + 1], g[k]))) for k in ends]
    return np.sort([*passed, *(t for t, value in last if abs(value) <= _FADED * scale)])


def _last(course: Course, low: float, high: float, value: float) -> tuple[float, float]:
    """Return the last instant at which an expression is a number, and its value there."""
    while low < (middle := (low + high) / 2) < high:
        at = float(course(np.array([middle]))[0])
        if np.isnan(at):
            high = middle
        else:
            low, value = middle, at
    return low, value


def zeros(course: Course, a: np.ndarray, b: np.ndarray, *given: np.ndarray) -> np.ndarray:
    """Return the zeros between pairs of instants with values of opposite signs, all at once.

    What is given for each pair is handed on to the course.
    """
    # Imported where it is used: SciPy's root finders take longer to load than this package.
    from scipy.optimize.elementwise import find_root

    eps = np.finfo(float).eps
    nearest = {"xatol": eps * float(np.min(b - a)), "xrtol": 2 * eps, "fatol": 0.0, "frtol": 0.0}
    with np.errstate(all="ignore"):
        places = np.asarray(find_root(course, (a, b), args=given, tolerances=nearest).x)
    return np.where(np.isfinite(places), places, b)


def _seen_through(
    course: Course, times: np.ndarray, g: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Add instants until no change of sign can hide between two of them.

    Inside every interval that is not seen through the expression is looked at once more: where a
    parabola through its surroundings comes closest to zero, or else somewhere near the middle, at
    another place in each, so that no oscillation keeps step with the looks. The cubic through the
    four instants around must foretell what is found there.
    """
    scale = np.abs(g[np.isfinite(g)]).max(initial=0.0)
    unseen = np.ones(len(times) - 1, dtype=bool)
    for _ in range(_MOST_HALVINGS):
        at = np.flatnonzero(unseen & (np.diff(times) > 64 * np.spacing(np.abs(times[1:]))))
        if not len(at) or len(times) < 4 or len(times) > MOST_INTERVALS:
            break
        probes = _probes(times, g, at)
        values = course(probes)
        scale = max(scale, np.abs(values[np.isfinite(values)]).max(initial=0.0))
        expected = _cubic(times, g, at, probes)
        ends = np.abs(np.stack([g[at], g[at + 1], values]))
        crosses = (np.sign(g[at]) != np.sign(values)) | (np.sign(values) != np.sign(g[at + 1]))
        room = np.where(crosses, ends.max(axis=0), ends.min(axis=0))
        with np.errstate(invalid="ignore"):
            wrong = np.abs(values - expected) > _PART * room + 1e-12 * scale
        # A dip towards zero is followed down, in case it passes through.
        dips = ~crosses & (ends[2] < 0.5 * np.minimum(ends[0], ends[1])) & (ends[2] > 1e-12 * scale)
        again = np.zeros(len(times) - 1, dtype=bool)
        again[at] = wrong | dips
        # What is wrong here throws doubt on what is foretold next door.
        doubt = again.copy()
        doubt[1:] |= again[:-1]
        doubt[:-1] |= again[1:]
        halves = 1 + np.isin(np.arange(len(doubt)), at)
        unseen = np.repeat(doubt, halves)
        times, g = np.insert(times, at + 1, probes), np.insert(g, at + 1, values)
    return times, g


def _probes(times: np.ndarray, g: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return one instant inside each of these intervals."""
    a, b = times[at], times[at + 1]
    # Multiples of the golden ratio keep step with nothing.
    usual = a + (b - a) * (0.35 + 0.3 * ((at * 0.6180339887498949) % 1.0))
    third = np.where(at + 2 < len(times), at + 2, at - 1)
    c = times[third]
    with np.errstate(all="ignore"):
        first, second = (g[at + 1] - g[at]) / (b - a), (g[third] - g[at + 1]) / (c - b)
        bend = (second - first) / (c - a)
        turn = (a + b) / 2 - first / (2 * bend)
    # However close to an end it turns: a parabola that all looks confirm may dip between them.
    towards = (np.sign(g[at]) == np.sign(g[at + 1])) & (bend * g[at] > 0)
    return np.where(towards & (turn > a) & (turn < b), turn, usual)


def _cubic(times: np.ndarray, g: np.ndarray, at: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return what the cubic through the four instants around an interval says inside it."""
    first = np.clip(at - 1, 0, len(times) - 4)
    nodes = [times[first + i] for i in range(4)]
    value = np.zeros(len(at))
    for i in range(4):
        weight = np.ones(len(at))
        for j in range(4):
            if j != i:
                weight *= (wanted - nodes[j]) / (nodes[i] - nodes[j])
        value += weight * g[first + i]
    return value
