"""Events: times at which an expression passes through zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp

from stationary.errors import StatementError, spelled
from stationary.lower.kernel import AbstractKernel
from stationary.model.graphs import renamed, symbols_in
from stationary.model.layout import number, pairs
from stationary.model.symbols import Parameter, from_dynamicsymbols
from stationary.model.system import System
from stationary.model.terms import expression
from stationary.result.event_times import Happened
from stationary.solve.motion.branches import CHATTER, chatters
from stationary.solve.motion.ode import Piece, Stopped
from stationary.solve.motion.zero_passages import Course, passages

# A Taylor step can span a good part of an oscillation: look for changes of sign inside it.
_LOOKS = 12

# A rate of an event below this part of what it is summed from is zero.
_ROUNDING = 1e-12

# Actions that follow each other ever faster are without end where this part of the span is between.
_PACE = 1e-6
_PILED = "events follow each other ever faster near t = {:.6g}"


@spelled
@dataclass(frozen=True)
class Event:
    """Something to watch for: an expression of time, coordinates and velocities becoming zero.

    Parameters
    ----------
    expr : expression
    terminal : bool
        Whether the motion ends there, in the state before any action.
    direction : int
        1 to notice only passages upwards, −1 only downwards, 0 both.
    name : str, optional
        Under which ``motion.events["name"]`` gives its times.
    action : dict, optional
        New values of coordinates and velocities, ``{y.dot: -e * y.dot}``: the state jumps to them,
        all at once, computed from the state before, and the motion goes on from there.

    It happens where the expression changes its sign: what touches zero and turns back does not
    pass through it. A motion may start where an event is zero. If it leaves at once, nothing
    happens, so that a ball thrown from the floor can come back to it; if the event stays zero, or
    turns away without speed, it happens at the first time.

    Examples
    --------
    >>> y = st.coordinates("y")
    >>> ball = st.System(kinetic=y.dot**2 / 2, potential=9.81 * y)
    >>> floor = st.Event(y, terminal=True, direction=-1)
    >>> motion = st.simulate(ball, span=(0, 9), start={y: 1.0}, events=[floor])
    >>> motion.t[-1].round(9), motion.status
    (np.float64(0.451523641), 'event')
    >>> bounce = st.Event(y, direction=-1, name="bounce", action={y.dot: -0.5 * y.dot})
    >>> motion = st.simulate(ball, span=(0, 1), start={y: 1.0}, events=[bounce])
    >>> motion.events["bounce"].round(6)
    array([0.451524, 0.903047])
    """

    expr: Any
    terminal: bool = False
    direction: int = 0
    name: str | None = None
    action: Any = None

    def __post_init__(self):
        watched = from_dynamicsymbols(expression(self.expr, "the expression of an event"))
        object.__setattr__(self, "expr", watched)
        if symbols_in(watched) and (watched.is_nonnegative or watched.is_nonpositive):
            raise StatementError(
                "the expression of an event never changes its sign, so that it never happens.",
                f"Found {str(watched)[:60]}; expected one that passes through zero.",
                "Subtract what it shall reach, as in st.Event(st.Abs(x) - 0.1).",
            )
        if self.action is not None and not isinstance(self.action, Mapping):
            raise StatementError(
                "the action of an event is a dict of new values.",
                f"Found {type(self.action).__name__}: {str(self.action)[:60]}.",
                "Write action={y.dot: -y.dot}, one entry for each value that changes.",
            )
        if self.direction not in (-1, 0, 1):
            raise StatementError(
                "the direction of an event is 1 (upwards), −1 (downwards) or 0 (both).",
                f"Found {self.direction!r}.",
                "Choose one of them.",
            )


def as_events(events: Any) -> list[Event]:
    """Take one event or several; an expression alone is an event that ends nothing."""
    several = events if isinstance(events, (list, tuple)) else [events]
    checked = []
    for event in several:
        if isinstance(event, sp.Expr):
            event = Event(event)
        if not isinstance(event, Event):
            raise StatementError(
                "events has an entry that is not one.",
                f"Found {type(event).__name__}: {str(event)[:60]}; expected st.Event(…).",
                "Pass a list of events, as in events=[st.Event(x)].",
            )
        if event.name is not None and event.name in (other.name for other in checked):
            raise StatementError(
                f"two events are called '{event.name}'.",
                "Found one name for the times of both.",
                "Give each a name of its own, or none.",
            )
        checked.append(event)
    return checked


def _actions(event: Event) -> list[Any]:
    return list((event.action or {}).values())


def with_own_parameters(
    events: list[Event], inputs: Any, system: System, params: Any
) -> tuple[list[Event], Any, Any]:
    """Put numbers for parameters of events and inputs alone; return all, and the other numbers."""
    known, own = {p.name for p in system.parameters}, dict[sp.Basic, sp.Expr]()
    actions = [expression(v, "the action of an event") for x in events for v in _actions(x)]
    laws = inputs if isinstance(inputs, Mapping) else {}
    every = [*(x.expr for x in events), *actions, *laws.values()]
    parameters = {s for e in every if isinstance(e, sp.Basic) for s in symbols_in(e)}
    alone = {s for s in parameters if isinstance(s, Parameter) and s.name not in known}
    if not alone:
        return events, inputs, params
    given = dict(pairs(params, "params"))
    for s in sorted(alone, key=str):
        value = given.get(s, given.get(s.name, s.default))
        if value is None:
            raise StatementError(
                f"parameter '{s.name}' of an event or input has no value.",
                "Expected one, since no default was declared.",
                f"Pass params={{'{s.name}': …}}, or declare st.parameters({s.name}=…).",
            )
        own[s] = sp.Float(number(value, f"the value of parameter '{s.name}'"))
    names = {s.name for s in alone}

    def put(e: Any) -> Any:
        return renamed(expression(e, "the action of an event"), own)

    filled = [
        replace(x, expr=put(x.expr), action=x.action and {k: put(v) for k, v in x.action.items()})
        for x in events
    ]
    laws = {k: renamed(e, own) if isinstance(e, sp.Expr) else e for k, e in laws.items()}
    of_system = {k: v for k, v in given.items() if str(k) not in names}
    return filled, laws or inputs, of_system


@dataclass(frozen=True)
class Ending:
    """When an event ends a piece, with which state the motion goes on, and whether it is over."""

    t: float
    y: np.ndarray
    terminal: bool


class Watch:
    """Looks for events in the pieces of a solution."""

    def __init__(
        self, events: list[Event], kernel: AbstractKernel, params: np.ndarray, span: float
    ):
        self._events, self._params, self._kernel = events, params, kernel
        self._functions = [self._lowered(event.expr, "an event") for event in events]
        self._actions = [self._jump(event) for event in events]
        self.times: list[list[float]] = [[] for _ in events]
        self._span, self._acts = span, list[float]()
        self.awake = bool(events)
        self.acting = tuple(
            event.name or f"events[{k}]" for k, event in enumerate(events) if event.action
        )
        # Events whose zero a motion starts from, and the side that it comes from.
        self._left: dict[int, float] = {}
        # How large the entries of the state have been: they are rounded where they are largest.
        self._largest = np.zeros(1)
        # What has happened at an instant after which it is not known yet how the motion goes on.
        self._happening: list[tuple[int, np.ndarray, bool]] = []
        # Events that have acted, and have not been farther from zero than rounding since.
        self._there: set[int] = set()

    def _lowered(self, e: sp.Expr, what: str) -> ca.Function:
        """Return an expression as a function of t, y, the parameters and nothing else."""
        layout = self._kernel.layout
        known = {p.name: p for p in layout.system.parameters}
        swap: dict[sp.Basic, sp.Basic] = {}
        for s in symbols_in(e):
            if isinstance(s, sp.Symbol) and s.name in known:
                swap[s] = known[s.name]
            elif str(s) != "t":
                layout.resolve(s, what)
        return self._kernel.expression(renamed(e, swap))

    def _jump(self, event: Event) -> list[tuple[int, ca.Function]]:
        """Return which entries of the state an event changes, and to what."""
        changes = []
        for key, value in (event.action or {}).items():
            what = "the action of an event"
            places, order = self._kernel.layout.resolve(key, what)
            value = from_dynamicsymbols(expression(value, what))
            if np.ndim(places) or order > 1:
                raise StatementError(
                    "the action of an event changes one coordinate or velocity with each key.",
                    f"Found {key}.",
                    "Write action={y.dot: …}, one entry for each.",
                )
            place = int(places) + order * self._kernel.size
            changes.append((place, self._lowered(value, what)))
        return changes

    @property
    def happened(self) -> Happened:
        """When events happened, so far."""
        return Happened(map(np.array, self.times), (event.name for event in self._events))

    def begin(
        self, t: float, y: np.ndarray, rates: np.ndarray, soon: float
    ) -> tuple[bool, np.ndarray]:
        """Note the events at the start; tell whether they end the motion, and the state after."""
        now = []
        for i, (f, event) in enumerate(zip(self._functions, self._events)):
            value, size, rate, whole = self._rate(f, t, y, rates)
            if abs(value) > 8 * np.finfo(float).eps * size:
                continue
            self._left[i] = 0.0
            ahead = self._soon(f, t, y, rates, soon)
            turns = abs(rate) <= _ROUNDING * whole
            if turns and (not event.direction or ahead * event.direction >= 0):
                self.times[i].append(t)
                now.append(i)
        if any(self._events[i].terminal for i in now):
            return True, y
        after = self._acted(now, t, y)
        for i in now:
            # What rests where it bounces off would bounce without end, and not go through.
            aimed = self._events[i].direction and self._actions[i] and np.array_equal(after, y)
            if aimed and self._soon(self._functions[i], t, y, rates, soon):
                raise Stopped("chatter", _PILED.format(t), t)
        self._happening = [(i, y, False) for i in now if self._actions[i]]
        return False, after

    def look(self, piece: Piece, *, changes: bool = False) -> Ending | None:
        """Note the events of a piece; return how the first one that ends it does so.

        `changes` says that a change of the motion ends the piece: what is zero there is reached
        then, and may turn back at once.
        """
        if not self._events:
            return None
        fractions = np.arange(_LOOKS) / _LOOKS
        inner = piece.t[:-1, None] + np.diff(piece.t)[:, None] * fractions
        times = np.unique(np.append(inner.ravel(), piece.t[-1]))
        states = piece.evaluate(times)
        passed = []
        for i, (f, event) in enumerate(zip(self._functions, self._events)):
            course = self._course(f, piece, self._left.get(i))
            passed.append(passages(course, times, course(times, states), event.direction).tolist())
        self._left = self._at_zero(piece, times, states, passed, changes)
        ends = [r[0] for r, e in zip(passed, self._events) if r and (e.terminal or e.action)]
        end = min(ends, default=float(piece.t[-1]))
        self._leave(piece, end)
        if not ends:
            for noted, roots in zip(self.times, passed):
                noted += roots
            return None
        # What happens within rounding of it happens at the same instant.
        last = end + 4 * np.spacing(abs(end))
        y = piece.evaluate(np.array([end]))[0]
        terminal, now, met = False, [], set(self._left if end == piece.t[-1] else ())
        for i, (event, roots) in enumerate(zip(self._events, passed)):
            self.times[i] += [min(r, end) for r in roots if r <= last]
            if any(end <= r <= last for r in roots):
                now.append(i)
                terminal |= event.terminal
                # It comes from the other side, unless it comes back.
                _, _, rate, _ = self._rate(self._functions[i], end, y, self._ahead(piece, end, y))
                self._left[i] = -np.sign(event.direction or rate) * np.finfo(float).tiny
        if terminal:
            return Ending(end, y, True)
        self._happening = [(i, y, i in met) for i in now]
        return Ending(end, self._acted(now, end, y), False)

    def _leave(self, piece: Piece, end: float) -> None:
        """Note which events a piece takes away from where they have acted."""
        if end - piece.t[0] <= 64 * np.spacing(abs(end)):
            return
        for i in list(self._there):
            times = np.linspace(piece.t[0], end, _LOOKS)
            states, f = piece.evaluate(times), self._functions[i]
            size = self._rate(f, end, states[-1], 0 * states[-1])[1]
            far = np.abs(self._course(f, piece, None)(times, states)).max()
            if far > 64 * np.finfo(float).eps * size:
                self._there.remove(i)

    def _at_zero(
        self, piece: Piece, times: np.ndarray, states: np.ndarray, passed: list[list[float]],
        changes: bool,
    ) -> dict[int, float]:  # fmt: skip
        """Clear events of what rounding does at zero; return those that the next piece leaves.

        What is zero where a change ends a piece happens there, once, and may turn back at once.
        What has been at zero since, as a gap that stays closed, does not happen again.
        """
        self._largest = np.maximum(self._largest, np.abs(states).max(axis=0))
        end, y = float(times[-1]), states[-1]
        rates, left = self._ahead(piece, end, y), dict[int, float]()
        for i, (f, event) in enumerate(zip(self._functions, self._events)):
            stays = self._left.get(i) == 0.0
            if not (changes or stays):
                continue
            value, _, rate, _ = self._rate(f, end, y, rates)
            size = self._rate(f, end, self._largest, rates)[1]
            rounding = 64 * np.finfo(float).eps * (size + abs(rate * end))
            if stays and np.all(np.abs(self._course(f, piece, None)(times, states)) <= rounding):
                passed[i], left[i] = [], 0.0
            elif changes and abs(value) <= rounding:
                near = end - 2 * rounding / abs(rate) if rate else end
                passed[i], left[i] = [r for r in passed[i] if r < near], 0.0
                if not event.direction or rate * event.direction > 0:
                    passed[i].append(end)
        return left

    def settle(self, t: float, y: np.ndarray, rates: np.ndarray) -> None:
        """Say on which side of zero the events of an instant are in the state that follows it.

        What an action puts elsewhere is where it is. What it leaves at zero has passed, or turns
        back, as its rate says; what it stops there leaves it.
        """
        for i, before, met in self._happening:
            f = self._functions[i]
            value, size, rate, whole = self._rate(f, t, y, rates)
            located, *_ = self._rate(f, t, before, rates)
            # A time is known to its last digits, and what happens at it to what changes meanwhile.
            rounding = 64 * np.finfo(float).eps * (size + abs(rate * t)) + 2 * abs(located)
            if abs(value) > rounding:
                del self._left[i]
            else:
                way = np.sign(rate) if abs(rate) > _ROUNDING * whole and not met else 0.0
                self._left[i] = way * np.finfo(float).tiny
        self._happening = []

    @staticmethod
    def _ahead(piece: Piece, t: float, y: np.ndarray) -> np.ndarray:
        """Return roughly how the state changes at an instant of a piece."""
        before = piece.t[max(int(np.searchsorted(piece.t, t)) - 1, 0)]
        before = t - 1e-3 * (t - before) if before < t else before
        length = t - before
        return (y - piece.evaluate(np.array([before]))[0]) / length if length > 0 else 0 * y

    def _acted(self, now: list[int], t: float, y: np.ndarray) -> np.ndarray:
        """Return the state after the actions of some events, computed from the one before."""
        after = y.copy()
        acting = [i for i in now if self._actions[i]]
        changed: dict[int, int] = {}
        for i, (place, f) in ((i, jump) for i in acting for jump in self._actions[i]):
            value = float(f(t, y, self._params, np.zeros(0)))
            n = self._kernel.size
            name = self._kernel.layout.name(place % n) + ".dot" * (place >= n)
            if not np.isfinite(value):
                raise StatementError(
                    "the action of an event gives no finite number.",
                    f"Found {value:g} for '{name}' at t = {t:.6g}.",
                    "Write an action that is defined wherever the event happens.",
                )
            size = max(abs(value), abs(after[place]), abs(y[place]))
            if place in changed and abs(value - after[place]) > _ROUNDING * size:
                both = (self._events[k].name or f"number {k + 1}" for k in (changed[place], i))
                raise StatementError(
                    f"two events happen at t = {t:.6g} and give '{name}' different values.",
                    f"Found {after[place]:g} by {f' and {value:g} by '.join(both)}.",
                    "Give one of them an action that holds for both, or let one happen earlier.",
                )
            after[place], changed[place] = value, i
        if acting:
            self._acts = [*self._acts[-CHATTER:], t]
            piled = chatters(self._acts, _PACE * self._span, len(self._acts))
            if piled or self._there.intersection(acting):
                raise Stopped("chatter", _PILED.format(t), t)
            self._there.update(acting)
        return after

    def _rate(
        self, f: ca.Function, t: float, y: np.ndarray, rates: np.ndarray
    ) -> tuple[float, float, float, float]:
        """Return the value of an event, its rate, and what each is relative to."""
        slope, ahead = _slopes(f)
        given = (t, y, self._params, np.zeros(0))
        value = float(f(*given))
        parts = np.asarray(slope(*given)).ravel()
        late = float(ahead(*given))
        size = abs(value) + float(np.abs(parts) @ np.abs(y)) + abs(late * t)
        rest = float(np.abs(parts) @ np.abs(rates)) + abs(late)
        return value, size, float(parts @ rates) + late, rest

    def _soon(
        self, f: ca.Function, t: float, y: np.ndarray, rates: np.ndarray, soon: float
    ) -> float:
        """Return the sign that an event takes on shortly after an instant, or 0."""
        n, later = self._kernel.size, y + soon * rates
        later[:n] += soon**2 / 2 * rates[n : 2 * n]
        value, size, *_ = self._rate(f, t + soon, later, rates)
        return float(np.sign(value)) if abs(value) > 8 * np.finfo(float).eps * size else 0.0

    def _course(self, f: ca.Function, piece: Piece, first: float | None) -> Course:
        """Return the expression of an event as a function of sorted times, with a first value."""

        def course(times: np.ndarray, states: np.ndarray | None = None) -> np.ndarray:
            states = piece.evaluate(times) if states is None else states
            nothing = np.zeros((0, len(times)))
            g = np.asarray(f(times[None, :], states.T, self._params, nothing)).ravel()
            g = np.broadcast_to(g, times.shape)
            return g if first is None else np.where(times == piece.t[0], first, g)

        return course


def _slopes(f: ca.Function) -> tuple[ca.Function, ca.Function]:
    """Return the derivatives of a function of t, y, … to the state and to time."""
    given: Any = f.sx_in() if f.is_a("SXFunction") else f.mx_in()
    e: Any = f.call(given)[0]
    slope, ahead = (ca.densify(ca.jacobian(e, x)) for x in (given[1], given[0]))
    return ca.Function("slope", given, [slope]), ca.Function("ahead", given, [ahead])
