"""What a page is told of a system: its functions as code, and where their numbers belong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse
import sympy as sp
from scipy.integrate._ivp import dop853_coefficients as dop853

from stationary.browser.javascript import code
from stationary.browser.picture import Picture
from stationary.derive.elimination_order import saddle_order
from stationary.derive.graph import Graph
from stationary.errors import StatementError
from stationary.io.model_file import Model
from stationary.lower.inputs import SLOTS, Drives, drives, lowered, translate
from stationary.lower.kernel import graph_of, kernel_of
from stationary.model.interpolation import values_by_name
from stationary.model.layout import Layout, Start, pairs
from stationary.model.symbols import require_expressions
from stationary.model.system import System, follower, require
from stationary.result.modes import Modes
from stationary.solve.arguments import refuse_unsmooth, times, touches
from stationary.solve.consistent import repaired
from stationary.solve.inertia import check_inertia, sizes_of
from stationary.solve.motion.ode import Ode
from stationary.solve.motion.stabilize import natural_rate

# Digits that steps keep: enough for ten seconds of a motion that doubles its errors each second.
_RTOL, _ATOL = 1e-12, 1e-13

# As many seconds are framed where nothing else is asked for.
SPAN = 10.0


@dataclass(frozen=True, eq=False)
class Mechanics:
    """A system as functions of (t, q, v, u, p), and a start."""

    system: System
    values: np.ndarray
    driven: Drives
    start: np.ndarray
    span: tuple[float, float]
    sizes: tuple[int, ...]
    ways: np.ndarray
    alpha: float
    picture: Picture
    shown: tuple[tuple[str, sp.Expr], ...]

    @property
    def graph(self) -> Graph:
        """The graph of the system."""
        return graph_of(self.system)

    @property
    def begin(self) -> dict[Any, Any]:
        """The start, by coordinate and velocity."""
        n = self.system.size
        return by_coordinate(self.graph.layout, self.start[:n], self.start[n : 2 * n])

    def nodal(self) -> dict[int, tuple[Any, float, int]]:
        """For every coordinate of a field the field, its place, and 1 where it is a slope."""
        places: dict[int, tuple[Any, float, int]] = {}
        named = values_by_name(self.system, self.values)
        for f in self.system.fields:
            if f.array is not None and f.basis is not None:
                entries = np.ravel(self.graph.layout.place(f.array)).tolist()
                places |= {k: (f.field, float(x), int(order))
                           for k, x, order in zip(entries, *f.free_at(named))}  # fmt: skip
        return places

    @cached_property
    def functions(self) -> dict[str, ca.Function]:
        """Everything that is evaluated in the page."""
        graph, layout = self.graph, self.graph.layout
        n, values = self.system.size, len(self.values)
        t, q, v = ca.SX.sym("t"), ca.SX.sym("q", n), ca.SX.sym("v", n)  # pyright: ignore[reportArgumentType]
        u, p = ca.SX.sym("u", len(self.system.inputs)), ca.SX.sym("p", values)  # pyright: ignore[reportArgumentType]
        given = ca.SX.sym("g", sum(SLOTS[kind] for kind, _ in self.driven.signature))  # pyright: ignore[reportArgumentType]
        laws = lowered(self.driven.signature, layout, t, q, v, p, given)
        evaluated = {
            "dynamics": _scalar(graph.dynamics),
            "energies": _scalar(graph.energies),
            "inputs": ca.Function("inputs", [t, q, v, given, p], [ca.densify(laws)], {"cse": True}),
        }
        if layout.multipliers:
            evaluated["constraints"] = _scalar(graph.constraints)
        places, angles = self.picture.lowered(layout, t, q, v, p)
        slopes = ca.jacobian(places, q)
        speeds = ca.mtimes(slopes, v) + ca.jacobian(places, t)
        readings = [translate(e, layout, t, q, v, p) for _, e in self.shown]
        evaluated["picture"] = ca.Function(
            "picture",
            [t, q, v, u, p],
            [
                ca.densify(places),
                ca.densify(speeds),
                slopes,
                ca.densify(angles),
                ca.densify(ca.vertcat(*readings)) if readings else ca.SX(0, 1),
            ],
            {"cse": True},
        )
        return evaluated

    @cached_property
    def code(self) -> str:
        """The functions as JavaScript."""
        return code(self.functions)

    def facts(self) -> dict[str, Any]:
        """Return everything else that the page's engine has to know, as plain numbers and lists."""
        layout, functions = self.graph.layout, self.functions
        mass = functions["dynamics"].sparsity_out(0)
        slope = functions["constraints"].sparsity_out(2) if layout.multipliers else None
        n, m = self.system.size, layout.multipliers
        A = _pattern(slope) if slope is not None else sparse.csc_matrix((0, n))
        H = _pattern(mass) + (A.T @ A if self.sizes else 0 * sparse.eye(n))
        weights = (10.0 ** (2 * np.array(self.sizes))).tolist() if self.sizes else None
        return {
            "n": n,
            "m": m,
            "p": self.values.tolist(),
            "given": self.driven.slots(self.span[0]).tolist(),
            "inputs": [u.name for u in self.system.inputs],
            "mass": _entries(mass),
            "slope": _entries(slope) if slope is not None else {"row": [], "col": []},
            "holonomic": layout.holonomic.tolist(),
            "order": saddle_order(H, A).tolist(),
            "weights": weights,
            "ways": self.ways.tolist(),
            "alpha": self.alpha,
            "fed": bool(self.graph.fed),
            "rtol": _RTOL,
            "atol": _ATOL,
            "start": self.start.tolist(),
            "begin": self.span[0],
            "span": self.span[1] - self.span[0],
            "points": self.picture.count,
            "dimension": self.picture.dimension,
            "places": _entries(functions["picture"].sparsity_out(2)),
            "angles": functions["picture"].numel_out(3),
            "shown": [name for name, _ in self.shown],
            "tableau": _tableau(),
        }


def mechanics(
    system: System,
    start: Start | None,
    params: Mapping[Any, float] | None,
    inputs: Mapping[Any, Any] | None,
    span: tuple[float, float] | None,
    shown: Mapping[str, sp.Expr],
) -> Mechanics:
    """Prepare a system for a page; what a page cannot move is refused."""
    require(system)
    first, last = times(span if span is not None else (0.0, SPAN))
    span = first, last
    if touches(system):
        raise StatementError(
            "a live page knows neither dry friction nor contacts.",
            "Found " + _touching(system) + ".",
            f"Make a film of it: {follower(system)}(…).animate('film.html').",
        )
    graph = graph_of(system)
    layout = graph.layout
    values = layout.values(params)
    refuse_unsmooth(system, values)
    driven = drives(layout, inputs, span)
    if any(kind == "samples" for kind, _ in driven.signature):
        raise StatementError(
            "a live page knows no sampled inputs.",
            "Found samples, which end with their span; a page goes on.",
            "Give the input as a number, which becomes a slider, or as an expression of st.t.",
        )
    state = repaired(graph, values, span[0], *layout.state(start, values), repair=True)
    sizes = check_inertia(graph, values, span[0], state.q, state.v)
    picture = Picture.of(system, values_by_name(system, values))
    y = np.concatenate([state.q, state.v, [0.0]])
    alpha, ways = 0.0, np.ones(0)
    if layout.multipliers:
        ways = sizes_of(graph, values, span[0], state.q)
        kernel = kernel_of(system, driven.signature, state.rows, bool(state.redundant), sizes)
        p = np.concatenate([values, driven.slots(span[0]), [0.0]])
        full = y[: kernel.states]
        alpha = natural_rate(Ode(kernel, p, _RTOL, _ATOL), span[0], full, span[1] - span[0])
    require_expressions("what a page shows", shown.values())
    readings = tuple((str(name), sp.S(e)) for name, e in shown.items())
    return Mechanics(system, values, driven, y, span, sizes, ways, alpha, picture, readings)


def started(model: Model, start: Start | None) -> dict[Any, Any]:
    """Return the start of a model file, with what is given instead."""
    return {**model.start, **dict(pairs(start, "start"))}


def by_coordinate(layout: Layout, q: np.ndarray, v: np.ndarray | None = None) -> dict[Any, Any]:
    """Return a state as a start is given: by coordinate and velocity, in their shapes."""

    def shaped(c: Any, values: np.ndarray) -> Any:
        entries = values[np.asarray(layout.place(c))]
        return float(entries) if np.ndim(entries) == 0 else entries

    several = layout.system.coordinates
    rates = {} if v is None else {c.dot: shaped(c, v) for c in several}
    return {c: shaped(c, q) for c in several} | rates


def courses(system: System, driven: Drives) -> dict[str, Any]:
    """Return inputs as they are given: numbers, and expressions of time."""
    given = zip(system.inputs, driven.signature, driven.numbers)
    return {u.name: number if kind == "number" else e for u, (kind, e), number in given}


def let_go(modes: Modes) -> tuple[dict[Any, Any], float] | None:
    """Return the shape of the lowest mode that oscillates as a start, and its period."""
    swinging = np.flatnonzero(modes.squares > modes.floor)
    if not len(swinging):
        return None
    shape = np.asarray(modes.vectors)[swinging[0]]
    sizes = sizes_of(graph_of(modes.system), modes.values, modes.t, modes.q)
    # A tenth of what the coordinates are large: small, and seen.
    q = modes.q + 0.1 * shape / np.max(np.abs(shape) / sizes)
    return by_coordinate(modes.layout, q), 2 * np.pi / float(np.sqrt(modes.squares[swinging[0]]))


def _touching(system: System) -> str:
    named = [term.name or type(term).__name__ for term in (*system.contacts, *system.friction)]
    return ", ".join(map(str, named[:3]))


def _scalar(function: ca.Function) -> ca.Function:
    return function if function.is_a("SXFunction") else function.expand()


def _entries(pattern: ca.Sparsity) -> dict[str, list[int]]:
    columns = np.repeat(np.arange(pattern.size2()), np.diff(pattern.colind()))
    return {"row": list(pattern.row()), "col": columns.tolist()}


def _pattern(pattern: ca.Sparsity) -> sparse.csc_matrix:
    ones = np.ones(pattern.nnz())
    return sparse.csc_matrix((ones, pattern.row(), pattern.colind()), shape=pattern.shape)


def _tableau() -> dict[str, Any]:
    """Return the method of order 8 by Dormand and Prince, in the notation of Hairer.

    E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, section II.10.
    """
    d, n = dop853, dop853.N_STAGES

    def line(row: np.ndarray) -> list[tuple[int, float]]:
        return [(int(k), float(row[k])) for k in np.flatnonzero(row)]

    return {
        "nodes": d.C[:n].tolist(),
        "lines": [line(d.A[k, :n]) for k in range(n)],
        "last": line(d.B),
        "third": d.E3[:n].tolist(),
        "fifth": d.E5[:n].tolist(),
        "more": [line(row) for row in d.A[n + 1 :]],
        "moreNodes": d.C[n + 1 :].tolist(),
        "inner": d.D.tolist(),
    }
