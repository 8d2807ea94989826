"""Instants known before a motion: where what is stated in time switches or peaks.

What depends on time alone is looked at as a whole before anything is integrated, so that no step
leads over a pulse, however short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np

from stationary.errors import StatementError
from stationary.lower.switches import Course
from stationary.solve.motion.zero_passages import MOST_INTERVALS, passages

# Looks at a span to begin with; more follow where they are needed.
_LOOKS = 65

# A peak is met at these multiples of its width on either side: e⁻⁴⁰ is nothing, and within it no
# step is longer than what its own error can tell.
_REACH = np.array([1.0, 2.0, 3.5, 6.0, 12.0, 24.0, 40.0])
_REACH = np.concatenate([-_REACH[::-1], [0.0], _REACH])

# Widths down to this many halvings of the span are told, to so many parts of a halving.
_HALVINGS = 50
_PARTS = 3

# A phase is zero to so many last digits, which are less than this, as a change by one counts.
_LAST_DIGITS, _NOTHING = 4.0, 1e-3

# A statement that switches more often than this is not followed.
_MOST = 50_000


def known_instants(
    courses: Sequence[Course],
    values: Callable[[float], np.ndarray],
    knots: np.ndarray,
    broad: float,
    parameters: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return when borders are passed, and where narrow peaks are to be met with short steps.

    `knots` divide the span, the first and last time included, into stretches with values p of
    their own, the first of which, the parameters, are the same throughout. Peaks wider than
    `broad` need no care.
    """
    switches, stops = [], []
    # Only what depends on samples is looked at between any two of them.
    apart = [c for c in courses if len(knots) > 2 and _sampled(c, parameters)]
    whole = [c for c in courses if c not in apart]
    stretches = [(whole, knots[[0, -1]])]
    stretches += [(apart, knots[k : k + 2]) for k in range(len(knots) - 1) if apart]
    for some, ends in stretches:
        if some:
            passed = _stretch(some, values(float(ends[0])), float(ends[0]), float(ends[1]), broad)
            switches.append(passed[0])
            stops.append(passed[1])
            if sum(map(len, switches)) > _MOST:
                _refuse(float(ends[0]), float(ends[1]))
    return _inside(switches, knots), _inside(stops, knots)


def _sampled(course: Course, parameters: int) -> bool:
    """Tell whether a course depends on more than time and parameters."""
    t, p = course.value.sx_in()
    used = ca.which_depends(course.value(t, p), p, 1, False)
    return any(used[parameters:])


def _inside(parts: list[np.ndarray], knots: np.ndarray) -> np.ndarray:
    if not parts:
        return np.empty(0)
    every = np.unique(np.concatenate(parts))
    return every[(every > knots[0]) & (every < knots[-1])]


def _stretch(
    courses: Sequence[Course], p: np.ndarray, first: float, last: float, broad: float
) -> tuple[np.ndarray, np.ndarray]:
    """Look at courses in the order in which they are stated: later ones contain earlier ones."""
    looks = np.linspace(first, last, _LOOKS)
    switches, stops = np.empty(0), np.empty(0)
    for course in courses:
        value, rate = _on_times(course.value, p), _on_times(course.rate, p)
        zeros, turns = _critical(course, value, rate, looks)
        if course.border:
            switches = np.union1d(switches, zeros)
            # What holds between two of them is to be looked at, too.
            looks = np.unique(np.concatenate([looks, zeros, turns]))
            if len(zeros) > 1:
                looks = np.union1d(looks, (zeros[1:] + zeros[:-1]) / 2)
        else:
            centres = turns if course.power else np.union1d(zeros, turns)
            widths = _widths(value, centres, last - first)
            narrow = widths < broad
            if course.power:
                narrow &= _highest(value, centres, widths)
            near = (centres[narrow, None] + widths[narrow, None] * _REACH).ravel()
            near = near[(near > first) & (near < last)]
            stops, looks = np.union1d(stops, near), np.union1d(looks, near)
        if len(looks) > MOST_INTERVALS:
            _refuse(first, last)
    return switches, stops


def _critical(
    course: Course, value: Callable, rate: Callable, looks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the zeros of a course and its turning points."""
    with np.errstate(all="ignore"):
        if course.linear:
            start, slope = value(looks[:1])[0], rate(looks[:1])[0]
            zero = looks[0] - start / slope
            return np.array([zero] if looks[0] <= zero <= looks[-1] else []), np.empty(0)
        if not course.border:
            value = _but_for_rounding(value, looks)
        turns = _passages(rate, looks)
        return _passages(value, np.union1d(looks, turns)), turns


def _but_for_rounding(course: Callable, looks: np.ndarray) -> Callable:
    """Return a course that is zero where it is rounding of large terms, or of time.

    A difference of these that stays zero would have a zero wherever it is looked at.
    """
    g, later = course(looks), course(np.nextafter(looks, np.inf))
    lost = np.append(np.finfo(float).eps * np.abs(g), np.abs(later - g))
    least = min(_LAST_DIGITS * lost[np.isfinite(lost)].max(initial=0.0), _NOTHING)

    def exact(times: np.ndarray, _: np.ndarray | None = None) -> np.ndarray:
        g = course(times)
        return np.where(np.abs(g) <= least, 0.0, g)

    return exact


def _passages(course: Callable, looks: np.ndarray) -> np.ndarray:
    """Return the passages through zero of what may not be finite everywhere."""
    g = course(looks)
    finite = np.isfinite(g)
    looks, g = looks[finite], g[finite]
    if len(looks) < 2:
        return np.empty(0)
    # What stays zero for a while is met where that begins and ends.
    zero = np.pad(g == 0, 1, mode="edge")
    at_zero = looks[zero[1:-1] & ~(zero[:-2] & zero[2:])]
    return np.union1d(passages(course, looks, g), at_zero)


def _widths(value: Callable, centres: np.ndarray, span: float) -> np.ndarray:
    """Return how far from each centre a phase has changed by 1."""
    if not len(centres):
        return np.empty(0)
    reach = span * 0.5 ** (np.arange(_PARTS * _HALVINGS, -1, -1) / _PARTS)
    with np.errstate(all="ignore"):
        middle = value(centres)[:, None]
        sides = [
            value((centres[:, None] + sign * reach).ravel()).reshape(len(centres), -1)
            for sign in (-1, 1)
        ]
        # At a pole there is no value to compare with.
        middle = np.where(np.isfinite(middle), middle, sides[1][:, :1])
        changed = np.any([np.abs(side - middle) >= 1 for side in sides], axis=0)
    widths = np.where(changed.any(axis=1), reach[np.argmax(changed, axis=1)], np.inf)
    return widths


def _highest(value: Callable, centres: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Tell where a phase is higher than a width away to both sides."""
    with np.errstate(all="ignore"):
        top = value(centres)
        return (value(centres - widths) < top) & (value(centres + widths) < top)


def _on_times(function: ca.Function, p: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    def course(times: np.ndarray, _: np.ndarray | None = None) -> np.ndarray:
        return np.broadcast_to(np.asarray(function(times[None, :], p)).ravel(), times.shape)

    return course


def _refuse(first: float, last: float) -> None:
    raise StatementError(
        "the statement switches in time more often than can be followed.",
        f"Found more than {_MOST} switches between t = {first:g} and {last:g}.",
        "Ask for a shorter span, or state the mean of what switches.",
    )
