"""What is kept, computed from a result: exact between the output times, too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp
from scipy.interpolate import make_interp_spline

from stationary.errors import StatementError, did_you_mean
from stationary.many.keep import Attribute, Call, End, First, Keep, Mean, Most, Values
from stationary.model.symbols import Parameter
from stationary.result.diagram import Diagram
from stationary.result.trajectory import AbstractMotion
from stationary.solve.motion.events import Event
from stationary.solve.motion.zero_passages import passages

# Looks into an interval, and how often the part around the best one is looked into again.
_LOOKS = 15
_ROUNDS = 12

# Intervals in which the extreme may lie, at most.
_MOST_PLACES = 8

# A mean is known when half the looks say the same, to this part of its size; else parts of the time
# are halved until as many looks in each agree.
_AGREES = 1e-10
_PARTS, _NODES, _HALVINGS = 32, 6, 48

#: An expression as a function of an array of times.
Course = Callable[[np.ndarray], np.ndarray]


def watched(keeps: Mapping[str, Keep]) -> dict[str, Event]:
    """Return the events by which a simulation notes crossings, and keeps what is between."""
    events = {
        name: Event(keep.what, direction=keep.direction)
        for name, keep in keeps.items()
        if isinstance(keep, First)
    }
    if not events and any(isinstance(keep, (Most, Mean)) for keep in keeps.values()):
        # States between output times are kept where something is watched, if it never happens.
        events[""] = Event(sp.S.One)
    return events


def kept(result: Any, keeps: Mapping[str, Keep], noted: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return what is kept of a result, by name; `noted` are crossings that a simulation noted."""
    return {name: _one(result, name, keep, noted) for name, keep in keeps.items()}


def _one(result: Any, name: str, keep: Keep, noted: Mapping[str, np.ndarray]) -> Any:
    if isinstance(keep, Call):
        return keep.function(result)
    if isinstance(keep, Attribute):
        return _attribute(result, keep.name)
    if isinstance(result, list):
        return np.array([_one(r, name, keep, noted) for r in result], dtype=float)
    if isinstance(keep, End):
        return _end(result, keep.what)
    if isinstance(result, Diagram):
        return _of_values(_looked_up(result.branches[0], keep.what), keep)
    if not isinstance(result, AbstractMotion):
        # At one instant there is one value: the extreme and the mean are it.
        return _end(result, keep.what)
    if isinstance(keep, Values):
        return _values(result, keep)
    if isinstance(keep, First) and name in noted:
        return noted[name][0] if len(noted[name]) else np.nan
    return _along(result, keep)


def _attribute(result: Any, name: str) -> Any:
    if isinstance(result, list):
        return np.array([_attribute(r, name) for r in result])
    value = result
    for part in name.split("."):
        public = [x for x in dir(value) if not x.startswith("_")]
        if part in public:
            value = getattr(value, part)
            continue
        try:
            return _end(result, name)
        except StatementError:
            raise StatementError(
                f"a {type(result).__name__} has no '{name}' to keep.",
                f"It has {', '.join(public[:20])}.{did_you_mean(part, public)}",
                "Name an attribute or a coordinate, or give a function of the result.",
            ) from None
    if (
        isinstance(result, AbstractMotion)
        and isinstance(value, np.ndarray)
        and len(value) == len(result.t)
    ):
        return value[-1]
    return np.nan if value is None else value


def _end(result: Any, what: Any) -> Any:
    if isinstance(what, tuple):
        return np.array([_end(result, e) for e in what])
    if isinstance(result, AbstractMotion):
        # One time is enough, except for what is known at output times alone.
        return result[what][-1]
    if isinstance(result, Diagram):
        return _looked_up(result.branches[0], what)[-1]
    return _looked_up(result, what)


def _looked_up(result: Any, what: Any) -> Any:
    own = getattr(result, "__getitem__", None) or getattr(
        getattr(result, "mode", None), "__getitem__", None
    )
    if own is None:
        raise StatementError(
            f"a {type(result).__name__} has no value of '{what}'.",
            "Found an expression among what is kept.",
            'Name an attribute, as in keep={"frequencies": "frequencies"}, or give a function '
            "of the result.",
        )
    if isinstance(what, sp.Expr) and not isinstance(what, sp.Symbol) and what.is_number:
        return float(what)
    if isinstance(what, Parameter) and isinstance(getattr(result, "params", None), np.ndarray):
        names = [p.name for p in result.system.parameters]
        return float(result.params[names.index(what.name)])
    return own(what)


def _of_values(values: np.ndarray, keep: Any) -> float:
    assert isinstance(keep, Most), "verbs without times keep no crossings and no means"
    return keep.sign * float(np.max(keep.sign * values))


def require_inside(keep: Values, first: float, last: float) -> None:
    """Refuse values at times outside the span."""
    low, high = min(keep.at), max(keep.at)
    if low < first or high > last:
        raise StatementError(
            "values are kept at a time outside the span.",
            f"Found times from {low:g} to {high:g}, expected {first:g} to {last:g}.",
            "Choose times inside the span.",
        )


def _values(motion: AbstractMotion, keep: Values) -> np.ndarray:
    at = np.array(keep.at)
    require_inside(keep, motion.t[0], motion.t[-1] if motion.status == "done" else np.inf)
    inside = at <= motion.t[-1]
    rows = np.full(keep.shape, np.nan)
    if inside.any():
        part: Any = motion.at(at[inside])
        rows[inside] = part[list(keep.what) if isinstance(keep.what, tuple) else keep.what]
    return rows


def _along(motion: AbstractMotion, keep: First | Most | Mean) -> float:
    def course(times: np.ndarray, states: Any = None) -> np.ndarray:
        flat = np.unique(times)
        part: Any = motion.at(np.clip(flat, motion.t[0], motion.t[-1]))
        return part[keep.what][np.searchsorted(flat, times)]

    t, f = motion.t, motion[keep.what]
    if isinstance(keep, First):
        moments = passages(course, t, f, keep.direction)
        return float(moments[0]) if len(moments) else np.nan
    if isinstance(keep, Most):
        return float(extreme(course, t, f, keep.sign))
    jumps = [at for at, *_ in getattr(motion, "struck", ())]
    jumps += [change.t for change in getattr(motion, "changes", ())]
    return float(average(course, t, f, jumps))


def extreme(course: Course, t: np.ndarray, f: np.ndarray, sign: int) -> float:
    """Return the largest value (sign 1) or the smallest (−1) of what is known at some times.

    Every interval next to a value from which the extreme can be reached, by as much as it changes
    there between two times, is looked into more closely.
    """
    f = sign * f
    if len(t) < 3:
        return sign * np.max(f)
    rise = np.abs(np.diff(f))
    near = np.maximum(np.append(rise, 0.0), np.append(0.0, rise))
    peak = np.append(f[:-1] >= f[1:], True) & np.append(True, f[1:] >= f[:-1])
    places = np.flatnonzero(peak & (f + near >= f.max()))
    places = places[np.argsort(-f[places], kind="stable")][:_MOST_PLACES]
    low = t[np.maximum(places - 1, 0)]
    high = t[np.minimum(places + 1, len(t) - 1)]
    tops = summits(
        lambda times: sign * course(times.ravel()).reshape(times.shape), low, high, _ROUNDS, _LOOKS
    )
    return sign * float(max(f[places].max(), tops.max()))


def summits(
    heights: Course, low: np.ndarray, high: np.ndarray, rounds: int, looks: int
) -> np.ndarray:
    """Return the largest values between pairs of times, by looking ever more closely."""
    rows, best = np.arange(len(low)), np.full(len(low), -np.inf)
    for _ in range(rounds):
        times = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, looks)
        values = heights(times)
        k = values.argmax(axis=1)
        best = np.maximum(best, values[rows, k])
        low, high = times[rows, np.maximum(k - 1, 0)], times[rows, np.minimum(k + 1, looks - 1)]
    return best


def average(course: Course, t: np.ndarray, f: np.ndarray, jumps: Sequence[float] = ()) -> float:
    """Return the mean over time of what is known at some times, to more digits where need be.

    At `jumps` something may change at once.
    """
    span = t[-1] - t[0]
    if span == 0:
        return f[-1]
    size = np.abs(f).mean() * span
    if len(t) > 20 and not len(jumps):
        whole, ends = _integral(t, f), (0, len(t) - 1)
        # A bend between two looks shows in one half of them, if not in the other.
        halves = (np.union1d(np.arange(k, len(t), 2), ends) for k in (0, 1))
        if all(abs(whole - _integral(t[k], f[k])) <= _AGREES * size for k in halves):
            return whole / span
    edges = np.linspace(t[0], t[-1], _PARTS + 1)
    edges = np.unique(np.concatenate([edges, np.clip(jumps, t[0], t[-1])]))
    return _halved(course, edges[:-1], edges[1:], _AGREES * size) / span


def _halved(course: Course, a: np.ndarray, b: np.ndarray, allowed: float) -> float:
    """Integrate over intervals; halve those again and again in which something jumps or bends."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)

    def sums(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        times = (a + b)[:, None] / 2 + (b - a)[:, None] / 2 * nodes
        return course(times.ravel()).reshape(times.shape) @ weights * (b - a) / 2

    total, count = 0.0, len(a)
    coarse = sums(a, b)
    for _ in range(_HALVINGS):
        middle = (a + b) / 2
        left, right = sums(a, middle), sums(middle, b)
        fine = np.abs(left + right - coarse) <= allowed / count
        total += float((left + right)[fine].sum())
        open_ = ~fine & (middle > a) & (middle < b)
        total += float((left + right)[~fine & ~open_].sum())
        if not open_.any():
            return total
        a = np.concatenate([a[open_], middle[open_]])
        b = np.concatenate([middle[open_], b[open_]])
        coarse = np.concatenate([left[open_], right[open_]])
    return total + float(coarse.sum())


def _integral(t: np.ndarray, f: np.ndarray) -> float:
    degree = min(5, len(t) - 1)
    if t[-1] <= t[-2]:
        t, f = t[:-1], f[:-1]
    return float(make_interp_spline(t, f, k=degree).integrate(t[0], t[-1]))
