"""Many motions of one statement as arrays: one row per run, for engines that move all at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np

from stationary.errors import StationaryError
from stationary.lower.inputs import SLOTS, drives
from stationary.lower.kernel import AbstractKernel, graph_of, kernel_of
from stationary.many.keep import Attribute, Call, End, First, Keep, Mean, Most, Values
from stationary.many.question import Question
from stationary.model.arrays import Array
from stationary.model.symbols import Acceleration, Input, from_dynamicsymbols
from stationary.solve.arguments import refuse_unsmooth, times, touches
from stationary.solve.consistent import repaired
from stationary.solve.events import Event, as_events
from stationary.solve.inertia import check_inertia
from stationary.solve.ode import Ode
from stationary.solve.stabilize import natural_rate

# Arguments of simulate that engines of many motions honour, or that change nothing for them.
_HONOURED = {"span", "start", "params", "inputs", "points", "method", "rtol", "atol", "throw",
             "events", "repair"}  # fmt: skip


class Refused(Exception):
    """Raised with the reason for which a question is asked run by run."""


@dataclass(frozen=True, eq=False)
class Motions:
    """What all runs share: the kernel, where what varies stands, and the values of the others."""

    question: Question
    kernel: AbstractKernel
    values: np.ndarray
    start: np.ndarray
    span: tuple[float, float] | None
    terminal: tuple[Event, ...]

    @property
    def states(self) -> int:
        """Number of entries of y."""
        return self.kernel.states

    @cached_property
    def places(self) -> dict[str, tuple[str, np.ndarray]]:
        """Where every name that varies stands: in p, in y, or as the span."""
        layout, made = self.kernel.layout, {}
        parameters = [p.name for p in layout.system.parameters]
        inputs = [u.name for u in layout.system.inputs]
        slots = np.cumsum([0, *(SLOTS[kind] for kind, _ in self.kernel.signature)])
        for name, role in self.question.roles.items():
            if role == "params":
                made[name] = "p", np.array(parameters.index(name))
            elif role == "inputs":
                made[name] = "p", np.array(len(parameters) + slots[inputs.index(name)])
            elif role == "start":
                places, order = layout.resolve(name, "over")
                made[name] = "y", places + order * self.kernel.size
            else:
                made[name] = role, np.array(0)
        return made

    def arrays(self, runs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return y at the start, p, and the span, one row for each of some runs."""
        y = np.tile(self.start, (len(runs), 1))
        p = np.tile(self.values, (len(runs), 1))
        span = np.tile(self.span or (0.0, 1.0), (len(runs), 1))
        at = self.question.design.places(runs)
        for name, (k, values) in self.question.design.columns.items():
            where, places = self.places[name]
            rows = np.asarray(values, dtype=float)[at[k]]
            if where == "span":
                span = rows
            else:
                (y if where == "y" else p)[:, places] = rows
        return y, p, span

    def lowered(self, e: Any) -> Any:
        """Return an expression as SX of the kernel's arguments."""
        t, y, p = self.kernel.arguments
        f = self.kernel.expression(_of_system(e, self.kernel), ())
        return f(t, y, p[: self.kernel.parameters], ca.SX(0, 1))

    def consistent(self, y: np.ndarray, p: np.ndarray, span: np.ndarray) -> None:
        """Put starts onto the constraints, in place, and set the rate at which violations decay."""
        kernel, n = self.kernel, self.kernel.size
        for k in range(len(y)):
            values = p[k, : kernel.parameters]
            try:
                state = repaired(kernel.graph, values, span[k, 0], y[k, :n], y[k, n : 2 * n],
                                 repair=self.question.given.get("repair", True))  # fmt: skip
                if state.rows != kernel.rows:
                    raise ValueError("other rows")
            except (StationaryError, ValueError):
                y[k] = np.nan  # Asked by itself, it says why.
                continue
            y[k, :n], y[k, n : 2 * n] = state.q, state.v
            ode = Ode(kernel, np.append(p[k, :-1], 0.0), 1e-10, 1e-12)
            length = span[k, 1] - span[k, 0]
            p[k, -1] = natural_rate(ode, span[k, 0], y[k], length)


def _of_system(e: Any, kernel: AbstractKernel) -> Any:
    known = {p.name: p for p in kernel.layout.system.parameters}
    swap = {s: known[s.name] for s in e.free_symbols if s.name in known}
    return e.xreplace(swap)


def expressions(what: Any) -> tuple[Any, ...]:
    """Return the expressions of what is kept, one by one."""
    if isinstance(what, tuple):
        return what
    if isinstance(what, Array):
        symbols = [what.whole.symbol(int(i)) for i in what.index.ravel()]
        for _ in range(what.order):
            symbols = [s.dot for s in symbols]
        return tuple(symbols)
    return (what,)


@lru_cache(maxsize=8)
def motions_of(question: Question) -> Motions | str:
    """Return many motions as arrays, or why they cannot be had so."""
    try:
        return _motions(question)
    except Refused as reason:
        return str(reason)
    except StationaryError as error:
        return str(error).splitlines()[0]


def _motions(question: Question) -> Motions:
    given = question.given
    if question.verb != "simulate":
        raise Refused(f"it answers simulate, not {question.verb}")
    odd = [name for name in {*given, *question.roles} & question.takes if name not in _HONOURED]
    if odd:
        raise Refused(f"it does not know the argument '{odd[0]}'")
    for name, keep in question.keeps.items():
        _require_kept(name, keep)
    for name, role in question.roles.items():
        values = question.design[name]
        numbers = isinstance(values, np.ndarray)
        if (
            role == name
            and role != "span"
            or role == "inputs"
            and not (numbers and values.ndim == 1)
        ):
            raise Refused(f"'{name}' varies, and not as a number")
        if role != "span" and not numbers:
            raise Refused(f"'{name}' is not a list of numbers")
    system = question.system
    if system.fields:
        raise Refused("the system has fields")
    if touches(system):
        raise Refused("the system has contacts or dry friction")
    terminal = as_events(given.get("events", ()))
    if any(event.action for event in terminal):
        raise Refused("an event changes the state")
    graph = graph_of(system)
    layout = graph.layout
    if layout.kinematics.names:
        raise Refused("the system has orientations in space")
    arguments = question.arguments(0)
    values = layout.values(arguments.get("params"))
    refuse_unsmooth(graph.system, values)
    span = times(arguments["span"]) if "span" in arguments else (0.0, 1.0)
    driven = drives(layout, arguments.get("inputs"), span)
    if any(kind == "samples" for kind, _ in driven.signature):
        raise Refused("an input is sampled")
    state = repaired(graph, values, span[0], *layout.state(arguments.get("start"), values),
                     repair=given.get("repair", True))  # fmt: skip
    if state.redundant or check_inertia(graph, values, span[0], state.q, state.v):
        raise Refused("constraints are redundant, or complete the masses")
    kernel = kernel_of(graph.system, driven.signature, state.rows, False, ())
    if not kernel.graph.scalar or not kernel.rhs.is_a("SXFunction"):
        raise Refused("the system is too large to be written out")
    if kernel.kinks or kernel.switches is not None and kernel.switches.borders:
        raise Refused(f"forces are not smooth ({', '.join(kernel.kinks) or 'they switch'})")
    if kernel.features is not None:
        raise Refused("forces may be sharp")
    if kernel.graph.timed and kernel.sudden:
        raise Refused("forces begin suddenly")
    if state.rows and len(state.rows) > 1:
        raise Refused("several constraints may become singular on the way")
    start = np.zeros(kernel.states)
    fixed = layout.state(given.get("start"), values)
    start[: kernel.size], start[kernel.size : 2 * kernel.size] = fixed
    more = [0.0] if kernel.rows else []
    return Motions(
        question, kernel, np.concatenate([values, driven.slots(span[0]), more]), start,
        None if "span" in question.roles else span, tuple(e for e in terminal if e.terminal),
    )  # fmt: skip


def _require_kept(name: str, keep: Keep) -> None:
    if isinstance(keep, (Attribute, Call)):
        raise Refused(f"keep '{name}' needs whole motions")
    assert isinstance(keep, (End, First, Most, Mean, Values))
    for e in expressions(keep.what):
        if any(isinstance(s, (Acceleration, Input)) for s in from_dynamicsymbols(e).free_symbols):
            raise Refused(f"keep '{name}' contains an acceleration or an input")


def tolerances(given: Mapping[str, Any]) -> tuple[float, float]:
    """Return the tolerances of a simulation."""
    return float(given.get("rtol", 1e-10)), float(given.get("atol", 1e-12))
