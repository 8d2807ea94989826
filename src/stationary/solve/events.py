"""Events: times at which an expression passes through zero."""

from __future__ import annotations

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

# A Taylor step can span a good part of an oscillation: look for changes of sign inside it.
_LOOKS = 12


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
        known = {p.name: p for p in kernel.layout.system.parameters}
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
        times = np.append(inner.ravel(), piece.t[-1])
        states = piece.evaluate(times)
        found = [
            self._roots(f, event, piece, times, states)
            for f, event in zip(self._functions, self._events)
        ]
        ends = [r[0] for r, event in zip(found, self._events) if r and event.terminal]
        end = min(ends) if ends else None
        for noted, roots in zip(self.times, found):
            noted += [r for r in roots if end is None or r <= end]
        return end

    def _roots(self, f: ca.Function, event: Event, piece: Piece, times, states) -> list[float]:
        # Imported where it is used: SciPy's optimizers take longer to load than this package.
        from scipy.optimize import brentq

        def value(t: float) -> float:
            return float(f(t, piece.evaluate(np.array([t]))[0], self._params, []))

        nothing = np.zeros((0, len(times)))
        g = np.asarray(f(times[None, :], states.T, self._params, nothing)).ravel()
        g = np.broadcast_to(g, times.shape)
        roots = []
        for k in np.flatnonzero((g[:-1] != 0) & (np.sign(g[:-1]) != np.sign(g[1:]))):
            upwards = g[k] < 0
            if event.direction and (event.direction > 0) != upwards:
                continue
            if g[k + 1] == 0:
                roots.append(float(times[k + 1]))
            else:
                roots.append(brentq(value, times[k], times[k + 1], xtol=1e-300, rtol=9e-16))
        return roots
