"""Many motions of one statement as arrays: one row per run, for engines that move all at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np

from stationary.errors import StationaryError
from stationary.lower.expressions import of_system
from stationary.lower.inputs import SLOTS, Drives, drives
from stationary.lower.instructions import kinks
from stationary.lower.kernel import AbstractKernel, graph_of, kernel_of
from stationary.lower.many_places import evaluate
from stationary.many.fewer_operations import lighter
from stationary.many.keep import Attribute, Call, End, First, Keep, Mean, Most, Values
from stationary.many.question import Question
from stationary.model.arrays import Array
from stationary.model.layout import Layout
from stationary.model.symbols import Acceleration, Input, from_dynamicsymbols
from stationary.model.terms import expression
from stationary.solve.arguments import count, refuse_unsmooth, times, tolerance, touches
from stationary.solve.consistent import repaired
from stationary.solve.inertia import check_inertia
from stationary.solve.motion.events import Event, as_events

# Arguments of simulate that engines of many motions honour, or that change nothing for them.
_HONOURED = {"span", "start", "params", "inputs", "points", "method", "rtol", "atol", "throw",
             "events", "repair"}  # fmt: skip

# A constraint that is zero to this part of what it is summed from holds.
_HOLDS = 4 * np.finfo(float).eps


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
    events: tuple[Event, ...]

    @property
    def states(self) -> int:
        """Number of entries of y."""
        return self.kernel.states

    @cached_property
    def places(self) -> dict[str, tuple[str, np.ndarray]]:
        """Where every name that varies stands: in p, in y, or as the span."""
        layout, stands = self.kernel.layout, {}
        parameters = [p.name for p in layout.system.parameters]
        inputs = [u.name for u in layout.system.inputs]
        slots = np.cumsum([0, *(SLOTS[kind] for kind, _ in self.kernel.signature)])
        for name, role in self.question.roles.items():
            if role == "params":
                stands[name] = "p", np.array(parameters.index(name))
            elif role == "inputs" and self.kernel.signature[inputs.index(name)][0] == "samples":
                stands[name] = "table", np.array(0)
            elif role == "inputs":
                stands[name] = "p", np.array(len(parameters) + slots[inputs.index(name)])
            elif role == "start":
                places, order = layout.resolve(name, "over")
                turned = layout.turned(name) is not None
                stands[name] = "turned" if turned else "y", places + order * self.kernel.size
            else:
                stands[name] = role, np.array(0)
        return stands

    def arrays(self, runs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return y at the start, p, and the span, one row for each of some runs."""
        y = np.tile(self.start, (len(runs), 1))
        p = np.tile(self.values, (len(runs), 1))
        span = np.tile(self.span or (0.0, 1.0), (len(runs), 1))
        at = self.question.design.places(runs)
        for name, (k, values) in self.question.design.columns.items():
            where, places = self.places[name]
            if where in ("table", "turned"):
                continue
            rows = np.asarray(values, dtype=float)[at[k]]
            if where == "span":
                span = rows
            else:
                (y if where == "y" else p)[:, places] = rows
        if any(where == "turned" for where, _ in self.places.values()):
            # Angular velocities are those of the axes that the orientation has.
            layout, n = self.kernel.layout, self.kernel.size
            for k, run in enumerate(runs.tolist()):
                given = self.question.arguments(run).get("start")
                y[k, :n], y[k, n : 2 * n] = layout.state(given, p[k, : self.kernel.parameters])
        return y, p, span

    @property
    def sampled(self) -> bool:
        """Whether an input is interpolated between samples."""
        return any(kind == "samples" for kind, _ in self.kernel.signature)

    def tables(self, runs: np.ndarray) -> np.ndarray:
        """Return times and values of all samples, one column for each run, or one for all.

        The rows are a time and the value of every sampled input there, time after time; after the
        last time comes infinity.
        """
        names = {name for name, (where, _) in self.places.items() if where in ("table", "span")}
        tables: dict[tuple[int, ...], np.ndarray] = {}
        design = self.question.design
        at = design.places(runs)
        axes = sorted({design.columns[name][0] for name in names})
        keys = list(zip(*(at[k].tolist() for k in axes))) if axes else [()] * len(runs)
        for key, run in zip(keys, runs.tolist()):
            if key not in tables:
                given = self.question.arguments(run)
                span = times(given["span"])
                tables[key] = _table(drives(self.kernel.layout, given.get("inputs"), span))
        if len(tables) == 1:
            return next(iter(tables.values())).reshape(-1, 1)
        longest = max(len(rows) for rows in tables.values())
        filled = {key: _filled(rows, longest).ravel() for key, rows in tables.items()}
        return np.stack([filled[key] for key in keys], axis=1)

    def jumps(self, event: Event) -> list[tuple[int, Any]]:
        """Return which entries of y the action of an event changes, and to what."""
        changes = []
        for key, value in (event.action or {}).items():
            places, order = self.kernel.layout.resolve(key, "the action of an event")
            if np.ndim(places) or order > 1:
                raise Refused("the action of an event changes several values with one key")
            e = from_dynamicsymbols(expression(value, "the action of an event"))
            changes.append((int(places) + order * self.kernel.size, self.lowered(e)))
        return changes

    def constraints(self) -> tuple[Any, Any, Any]:
        """Return R, Ṙ and A, of the rows that hold, as SX of the kernel's arguments."""
        rows = list(self.kernel.rows)
        R, Rdot, A, *_ = self.kernel.graph.constraints(*self.kernel.inner)
        return R[rows], Rdot[rows], ca.densify(A[rows, :])

    @cached_property
    def guards(self) -> Any:
        """Return what must not come to zero on the way, as SX of the kernel's arguments.

        What steep functions are of, and the squared distance of every row of A from those before
        it: there is none where rows come to depend on each other. Turns alone never do.
        """
        features, m = self.kernel.features, len(self.kernel.rows)
        nonzero = [] if features is None else [features.poles]
        if m > 1 and m != len(self.kernel.layout.kinematics.quaternions):
            A = self.constraints()[2]
            nonzero += _pivots(ca.densify(A @ A.T))
        return ca.densify(ca.vertcat(*nonzero)) if nonzero else ca.SX(0, 1)

    @cached_property
    def bends(self) -> Any:
        """Return what functions that may be sharp are of, as SX of the kernel's arguments."""
        features = self.kernel.features
        return ca.SX(0, 1) if features is None else ca.densify(features.bends)

    @cached_property
    def masses(self) -> Any:
        """Return the pivots of M, completed by constraints where need be: all are positive."""
        kernel = self.kernel
        M = kernel.graph.mass(*kernel.inner)
        if kernel.sizes:
            A = self.constraints()[2]
            M = M + ca.trace(M) / ca.sumsqr(A) * (A.T @ A)
        return ca.densify(ca.vertcat(*_pivots(ca.densify(M))))

    @cached_property
    def _weighed(self) -> ca.Function:
        return ca.Function("masses", list(self.kernel.arguments), [self.masses])

    def sound(self, y: np.ndarray, p: np.ndarray, span: np.ndarray) -> np.ndarray:
        """Tell which starts are finite, go forward in time, and have masses that are positive."""
        good = np.logical_and.reduce([np.isfinite(rows).all(axis=1) for rows in (y, p, span)])
        good &= span[:, 1] > span[:, 0]
        return good & (evaluate(self._weighed, span[:, 0], y, p) > 0).all(axis=1)

    def lowered(self, e: Any) -> Any:
        """Return an expression as SX of the kernel's arguments."""
        t, y, p = self.kernel.arguments
        f = self.kernel.expression(of_system(e, self.kernel.layout.system), ())
        return f(t, y, p[: self.kernel.parameters], ca.SX(0, 1))

    @cached_property
    def held(self) -> ca.Function:
        """R, Ṙ and A in one column, as a function of t, y, p."""
        column = ca.densify(ca.vertcat(*(ca.vec(e) for e in self.constraints())))
        return ca.Function("constraints", list(self.kernel.arguments), [column])

    def consistent(self, y: np.ndarray, p: np.ndarray, span: np.ndarray) -> None:
        """Put starts onto the constraints, in place, and set the rate at which violations decay."""
        kernel, n = self.kernel, self.kernel.size
        m = len(kernel.rows)
        R, Rdot, A = np.split(evaluate(self.held, span[:, 0], y, p), [m, 2 * m], axis=1)
        A = np.abs(A.reshape(-1, n, m))
        sizes, speeds = (np.einsum("kjm,kj->km", A, np.abs(y[:, a : a + n])) for a in (0, n))
        off = (np.abs(R) > _HOLDS * sizes) | ~(np.abs(Rdot) <= _HOLDS * speeds)
        for k in np.flatnonzero(off.any(axis=1)):
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
        p[:, -1] = 0.0
        f = evaluate(kernel.rhs, span[:, 0], y, p)
        place, speed, push = (np.abs(x).max(axis=1, initial=0.0)
                              for x in (y[:, :n], y[:, n : 2 * n], f[:, n : 2 * n]))  # fmt: skip
        length = span[:, 1] - span[:, 0]
        size = np.max([place, speed * length / 100, push * (length / 100) ** 2], axis=0)
        size = np.maximum(size, 1e-300)
        # Violations decay as fast as the motion changes, so that nothing becomes stiff.
        p[:, -1] = np.max([speed / size, np.sqrt(push / size), 10 / length], axis=0)


def _pivots(S: Any) -> list[Any]:
    """Return the pivots of a symmetric matrix, eliminated in its own order."""
    m = S.shape[0]
    rows = [[S[i, j] for j in range(m)] for i in range(m)]
    pivots = []
    for k in range(m):
        pivots.append(rows[k][k])
        for i in range(k + 1, m):
            for j in range(k + 1, m):
                rows[i][j] = rows[i][j] - rows[i][k] * rows[k][j] / rows[k][k]
    return pivots


def _table(given: Drives) -> np.ndarray:
    """Return all times of samples, and the values there, one row for each time."""
    known = [tab for tab in given.samples if tab is not None]
    every = np.unique(np.concatenate([tab[0] for tab in known]))
    return np.stack([every, *(np.interp(every, *tab) for tab in known)], axis=1)


def _filled(rows: np.ndarray, length: int) -> np.ndarray:
    more = np.tile(rows[-1], (length - len(rows), 1))
    more[:, 0] = np.inf
    return np.vstack([rows, more])


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
    system = question.system
    for name, role in question.roles.items():
        if role == name and role != "span":
            raise Refused(f"'{name}' varies, and not as a number")
        turned = role == "start" and Layout(system).turned(name) is not None
        numbers = isinstance(question.design[name], np.ndarray)
        if role not in ("span", "inputs") and not numbers and not turned:
            raise Refused(f"'{name}' is not a list of numbers")
    if system.fields:
        raise Refused("the system has fields")
    if touches(system):
        raise Refused("the system has contacts or dry friction")
    for name in ("rtol", "atol"):
        if name in given:
            tolerance(name, given[name])
    events = [e for e in as_events(given.get("events", ())) if e.terminal or e.action]
    graph = graph_of(lighter(system), short=True)
    layout = graph.layout
    arguments = question.arguments(0)
    values = layout.values(arguments.get("params"))
    refuse_unsmooth(graph.system, values)
    span = times(arguments["span"]) if "span" in arguments else (0.0, 1.0)
    count(given.get("points", 2), span, system.size)
    for name, keep in question.keeps.items():
        if isinstance(keep, Values) and (
            "span" in question.roles or min(keep.at) < span[0] or max(keep.at) > span[1]
        ):
            raise Refused(f"keep '{name}' has times, and spans differ or do not contain them")
    for event in events:
        for s in event.expr.free_symbols - set(system.parameters):
            if str(s) != "t" and str(s) not in {p.name for p in system.parameters}:
                layout.resolve(s, "an event")
    driven = drives(layout, arguments.get("inputs"), span)
    _require_alike(question, layout, driven)
    state = repaired(graph, values, span[0], *layout.state(arguments.get("start"), values),
                     repair=given.get("repair", True))  # fmt: skip
    if state.redundant:
        raise Refused("constraints are redundant")
    sizes = check_inertia(graph, values, span[0], state.q, state.v)
    kernel = kernel_of(graph.system, driven.signature, state.rows, False, sizes, short=True)
    if not kernel.graph.scalar or not kernel.rhs.is_a("SXFunction"):
        raise Refused("the system is too large to be written out")
    if kernel.kinks or kernel.switches is not None and kernel.switches.borders:
        raise Refused(f"forces are not smooth ({', '.join(kernel.kinks) or 'they switch'})")
    if kernel.graph.timed and kernel.sudden:
        raise Refused("forces begin suddenly")
    start = np.zeros(kernel.states)
    fixed = layout.state(given.get("start"), values)
    start[: kernel.size], start[kernel.size : 2 * kernel.size] = fixed
    more = [0.0] if kernel.rows else []
    return Motions(
        question, kernel, np.concatenate([values, driven.slots(span[0]), more]), start,
        None if "span" in question.roles else span, tuple(events),
    )  # fmt: skip


def _require_alike(question: Question, layout: Layout, driven: Drives) -> None:
    """Refuse inputs that are numbers in one run and samples or expressions in another."""
    inputs = [u.name for u in layout.system.inputs]
    for name, role in question.roles.items():
        if role != "inputs":
            continue
        kind, content = driven.signature[inputs.index(name)]
        if kind == "expression":
            raise Refused(f"'{name}' varies as an expression")
        values = question.design[name]
        if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
            continue
        span = question.arguments(0)
        for value in values:
            given = {**dict(span.get("inputs") or {}), name: value}
            given = {k if isinstance(k, str) else k.name: v for k, v in given.items()}
            signature = drives(layout, given, times(span["span"])).signature[inputs.index(name)]
            if signature != (kind, content):
                raise Refused(f"'{name}' is not of one kind in all runs")


def _require_kept(name: str, keep: Keep) -> None:
    if isinstance(keep, (Attribute, Call)):
        raise Refused(f"keep '{name}' needs whole motions")
    assert isinstance(keep, (End, First, Most, Mean, Values))
    for e in expressions(keep.what):
        if any(isinstance(s, (Acceleration, Input)) for s in from_dynamicsymbols(e).free_symbols):
            raise Refused(f"keep '{name}' contains an acceleration or an input")


def rough_mean(motions: Motions) -> str | None:
    """Tell what is kept whose mean steps do not see, since it bends or jumps inside them."""
    for name, keep in motions.question.keeps.items():
        if isinstance(keep, Mean):
            e = motions.lowered(keep.what)
            if kinks(ca.Function("e", list(motions.kernel.arguments), [e])):
                return f"keep '{name}' is the mean of something that is not smooth"
    return None
