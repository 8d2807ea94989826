"""Events: times at which an expression passes through zero."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp

from stationary.errors import StatementError, say
from stationary.lower.kernel import Kernel
from stationary.model.symbols import from_dynamicsymbols
from stationary.model.terms import expression
from stationary.solve.ode import Piece

#: An expression as a function of times, and of the states there if they are known.
Course = Callable[..., np.ndarray]

# A Taylor step can span a good part of an oscillation: look for changes of sign inside it.
_LOOKS = 12

# An interval is seen through if what its neighbours predict inside it is wrong by less than this
# part of the values at its ends; halved until then, but not more often than this, nor into more
# intervals than that.
_PART = 0.1
_MOST_HALVINGS = 40
_MOST_INTERVALS = 200_000


@dataclass(frozen=True)
class Event:
    """Something to watch for: an expression of time, coordinates and velocities becoming zero.

    Parameters
    ----------
    expr : expression
    terminal : bool
        Whether the motion ends there.
    direction : int
        1 to notice only passages upwards, −1 only downwards, 0 both.

    Examples
    --------
    >>> y = st.coordinates("y")
    >>> ball = st.System(kinetic=y.dot**2 / 2, potential=9.81 * y)
    >>> floor = st.Event(y, terminal=True, direction=-1)
    >>> motion = st.simulate(ball, span=(0, 9), start={y: 1.0}, events=[floor])
    >>> motion.t[-1].round(9), motion.status
    (np.float64(0.451523641), 'event')
    """

    expr: Any
    terminal: bool = False
    direction: int = 0

    def __post_init__(self):
        made = from_dynamicsymbols(expression(self.expr, "the expression of an event"))
        object.__setattr__(self, "expr", made)
        if self.direction not in (-1, 0, 1):
            raise StatementError(
                say(
                    "the direction of an event is 1 (upwards), −1 (downwards) or 0 (both).",
                    f"Found {self.direction!r}.",
                    "Choose one of them.",
                )
            )


def as_events(events: Any) -> list[Event]:
    """Take one event or several; an expression alone is an event that ends nothing."""
    several = events if isinstance(events, (list, tuple)) else [events]
    made = []
    for event in several:
        if isinstance(event, sp.Expr):
            event = Event(event)
        if not isinstance(event, Event):
            raise StatementError(
                say(
                    "events has an entry that is not one.",
                    f"Found {type(event).__name__}: {str(event)[:60]}; expected st.Event(…).",
                    "Pass a list of events, as in events=[st.Event(x)].",
                )
            )
        made.append(event)
    return made


class Watch:
    """Looks for events in the pieces of a solution."""

    def __init__(self, events: list[Event], kernel: Kernel, params: np.ndarray):
        self._events, self._params = events, params
        known = {p.name: p for p in kernel.layout.system.parameters} if events else {}
        self._functions: list[ca.Function] = []
        for event in events:
            swap: dict[sp.Basic, sp.Basic] = {}
            for s in event.expr.free_symbols:
                if s.name in known:
                    swap[s] = known[s.name]
                elif str(s) != "t":
                    kernel.layout.resolve(s, "an event")
            self._functions.append(kernel.expression(event.expr.xreplace(swap)))
        self.times: list[list[float]] = [[] for _ in events]
        self.awake = bool(events)

    def look(self, piece: Piece) -> float | None:
        """Note the events of a piece; return the time of the first terminal one."""
        if not self._events:
            return None
        fractions = np.arange(_LOOKS) / _LOOKS
        inner = piece.t[:-1, None] + np.diff(piece.t)[:, None] * fractions
        times = np.unique(np.append(inner.ravel(), piece.t[-1]))
        states = piece.evaluate(times)
        found = [
            self._roots(self._course(f, piece), event, times, states)
            for f, event in zip(self._functions, self._events)
        ]
        ends = [r[0] for r, event in zip(found, self._events) if r and event.terminal]
        end = min(ends) if ends else None
        for noted, roots in zip(self.times, found):
            noted += [r for r in roots if end is None or r <= end]
        return end

    def _course(self, f: ca.Function, piece: Piece) -> Course:
        """Return the expression of an event as a function of sorted times."""

        def course(times: np.ndarray, states: np.ndarray | None = None) -> np.ndarray:
            states = piece.evaluate(times) if states is None else states
            nothing = np.zeros((0, len(times)))
            g = np.asarray(f(times[None, :], states.T, self._params, nothing)).ravel()
            return np.broadcast_to(g, times.shape)

        return course

    @staticmethod
    def _roots(course: Course, event: Event, times: np.ndarray, states: np.ndarray) -> list[float]:
        times, g = _seen_through(course, times, course(times, states))
        at = np.flatnonzero((g[:-1] != 0) & (np.sign(g[:-1]) != np.sign(g[1:])))
        if event.direction:
            at = at[(g[at] < 0) == (event.direction > 0)]
        return _zeros(course, times[at], times[at + 1], g[at], g[at + 1]).tolist()


def _zeros(course: Course, a: Any, b: Any, fa: Any, fb: Any) -> np.ndarray:
    """Return the zeros between pairs of instants with values of opposite signs, all at once.

    Inverse quadratic interpolation where it is safe, bisection where not (T. R. Chandrupatla, Adv.
    Eng. Softw. 28 (1997) 145).
    """
    found = np.where(np.abs(fa) < np.abs(fb), a, b)
    left = np.arange(len(found))
    x1, x2, f1, f2 = b, a, fb, fa
    share = np.full(len(found), 0.5)
    while len(left):
        x = x1 + share * (x2 - x1)
        f = course(x)
        same = np.sign(f) == np.sign(f1)
        x3, f3 = np.where(same, x1, x2), np.where(same, f1, f2)
        x2, f2 = np.where(same, x2, x1), np.where(same, f2, f1)
        x1, f1 = x, f
        best = np.where(np.abs(f1) < np.abs(f2), x1, x2)
        found[left] = best
        with np.errstate(all="ignore"):
            least = np.spacing(np.abs(best)) / np.abs(x2 - x1)
            xi, phi = (x1 - x2) / (x3 - x2), (f1 - f2) / (f3 - f2)
            curved = f1 / (f2 - f1) * f3 / (f2 - f3)
            curved += (x3 - x1) / (x2 - x1) * f1 / (f3 - f1) * f2 / (f3 - f2)
        safe = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi) & np.isfinite(curved)
        share = np.clip(np.where(safe, curved, 0.5), np.minimum(least, 0.5), 1 - least)
        go = (least < 0.5) & (f1 != 0) & (f2 != 0)
        left, share = left[go], share[go]
        x1, x2, f1, f2 = x1[go], x2[go], f1[go], f2[go]
    return found


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
        if not len(at) or len(times) < 4 or len(times) > _MOST_INTERVALS:
            break
        probes = _probes(times, g, at)
        found = course(probes)
        scale = max(scale, np.abs(found[np.isfinite(found)]).max(initial=0.0))
        expected = _cubic(times, g, at, probes)
        ends = np.abs(np.stack([g[at], g[at + 1], found]))
        crosses = (np.sign(g[at]) != np.sign(found)) | (np.sign(found) != np.sign(g[at + 1]))
        room = np.where(crosses, ends.max(axis=0), ends.min(axis=0))
        with np.errstate(invalid="ignore"):
            wrong = np.abs(found - expected) > _PART * room + 1e-12 * scale
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
        times, g = np.insert(times, at + 1, probes), np.insert(g, at + 1, found)
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
    low, high = a + 0.02 * (b - a), b - 0.02 * (b - a)
    towards = (np.sign(g[at]) == np.sign(g[at + 1])) & (bend * g[at] > 0)
    return np.where(towards & (turn > low) & (turn < high), turn, usual)


def _cubic(times: np.ndarray, g: np.ndarray, at: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return what the cubic through the four instants around an interval says inside it."""
    first = np.clip(at - 1, 0, len(times) - 4)
    nodes = [times[first + i] for i in range(4)]
    made = np.zeros(len(at))
    for i in range(4):
        weight = np.ones(len(at))
        for j in range(4):
            if j != i:
                weight *= (wanted - nodes[j]) / (nodes[i] - nodes[j])
        made += weight * g[first + i]
    return made
