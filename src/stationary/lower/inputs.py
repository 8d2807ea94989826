"""How inputs are given: as numbers, as expressions, or as samples to be interpolated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp

from stationary.derive.from_sympy import Translator
from stationary.errors import StatementError, did_you_mean
from stationary.model.graphs import renamed, symbols_in
from stationary.model.interpolation import in_coordinates
from stationary.model.layout import Layout, belonging, name_of, pairs
from stationary.model.numbers import number_of
from stationary.model.symbols import Coordinate, Parameter, Velocity, from_dynamicsymbols, t

#: Number of run-time values that an input of each kind takes.
SLOTS = {"number": 1, "expression": 0, "samples": 3}

#: What the graph needs to know of an input: its kind and, if it is an expression, which one.
Signature = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Drives:
    """The inputs of one run."""

    signature: Signature
    numbers: tuple[float, ...]
    samples: tuple[tuple[np.ndarray, np.ndarray] | None, ...]

    def knots(self, start: float, end: float) -> np.ndarray:
        """Return the times inside the span at which a sampled input changes its slope."""
        times = [tab[0] for tab in self.samples if tab is not None]
        if not times:
            return np.empty(0)
        inside = np.unique(np.concatenate(times))
        return inside[(inside > start) & (inside < end)]

    def slots(self, at: float) -> np.ndarray:
        """Run-time values from time `at` on: value, slope and time of the last sample."""
        return self.every(np.array([at]))[0]

    def every(self, at: np.ndarray) -> np.ndarray:
        """Return the same from each of several times on, one row each."""
        columns: list[np.ndarray] = []
        for (kind, _), number, tab in zip(self.signature, self.numbers, self.samples):
            if kind == "number":
                columns.append(np.full(len(at), number))
            elif tab is not None:
                times, course = tab
                k = np.clip(times.searchsorted(at, "right") - 1, 0, len(times) - 2)
                slope = (course[k + 1] - course[k]) / (times[k + 1] - times[k])
                columns += [course[k], slope, times[k]]
        return np.stack(columns, axis=1) if columns else np.empty((len(at), 0))


_UNDRIVEN = Drives((), (), ())


def drives(layout: Layout, inputs: Mapping[Any, Any] | None, span: tuple[float, float]) -> Drives:
    """Read what a user gave for the inputs of a system."""
    known = {u.name: u for u in layout.system.inputs}
    if not known and not inputs:
        return _UNDRIVEN
    given: dict[str, Any] = {}
    for key, value in pairs(inputs, "inputs"):
        name = name_of(key)
        if name not in known:
            raise StatementError(
                f"inputs names '{name}', which is not an input of this system.",
                f"Inputs: {', '.join(known) or 'none'}.{did_you_mean(name, known)}",
                belonging(layout.system, name) or "Declare it with st.inputs and use it in a load.",
            )
        given[name] = value
    missing = [name for name in known if name not in given]
    if missing:
        raise StatementError(
            f"input '{missing[0]}' has no value.",
            "Expected a number, an expression of st.t, coordinates and velocities, or samples.",
            f"Pass inputs={{'{missing[0]}': …}}.",
        )
    signature, numbers, samples = [], [], []
    for name in known:
        kind, content, number, tab = _read(name, given[name], layout, span)
        signature.append((kind, content))
        numbers.append(number)
        samples.append(tab)
    return Drives(tuple(signature), tuple(numbers), tuple(samples))


def _read(name: str, value: Any, layout: Layout, span: tuple[float, float]):
    if isinstance(value, sp.Expr) and not value.is_number:
        return "expression", _expression(name, value, layout), 0.0, None
    if not isinstance(value, (tuple, list)) and np.ndim(value) == 0:
        number = number_of(value)
        if np.isfinite(number):
            return "number", None, number, None
        raise StatementError(
            f"input '{name}' is neither a number, an expression nor samples.",
            f"Found {type(value).__name__}: {str(value)[:60]}.",
            "Write it as an expression of st.t, coordinates and velocities, or sample it: "
            "(times, values).",
        )
    return "samples", None, 0.0, _samples(name, value, span)


def _expression(name: str, value: sp.Expr, layout: Layout) -> sp.Expr:
    value = in_coordinates(layout.system, from_dynamicsymbols(value))
    parameters = {p.name: p for p in layout.system.parameters}
    swap: dict[sp.Basic, sp.Basic] = {sp.Symbol("t"): t}
    for s in symbols_in(value):
        if isinstance(s, (Coordinate, Velocity)):
            layout.resolve(s, f"input '{name}'")
        elif isinstance(s, Parameter) and s.name in parameters:
            swap[s] = parameters[s.name]
        elif isinstance(s, Parameter) and s.default is not None:
            # A law may bring parameters of its own.
            swap[s] = sp.Float(s.default)
        elif str(s) != "t":
            known = [*parameters, *layout.offsets]
            raise StatementError(
                f"input '{name}' uses '{s}', which this system does not know.",
                f"Known: st.t, {', '.join(known)}.{did_you_mean(str(s), known)}",
                "Replace it by its value, or declare it with one by st.parameters.",
            )
    return renamed(value, swap)


def _samples(name: str, value: Any, span: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Take ``(times, values)``, or values spread evenly over the span."""
    try:
        if isinstance(value, tuple) and len(value) == 2 and np.ndim(value[0]) == 1:
            times, course = (np.asarray(x, dtype=float) for x in value)
        else:
            course = np.asarray(value, dtype=float)
            times = np.linspace(*span, len(course))
        good = times.ndim == course.ndim == 1 and len(times) == len(course) >= 2
    except (TypeError, ValueError):
        times, course, good = np.empty(0), np.empty(0), False
    if not good or not np.all(np.isfinite(course)) or np.any(np.diff(times) <= 0):
        raise StatementError(
            f"the samples of input '{name}' cannot be interpolated.",
            "Expected (times, values): two arrays of equal length, two or more entries, "
            "finite, times increasing"
            + ("." if span[0] == span[1] else "; or values alone, spread evenly over the span."),
            "Check the arrays.",
        )
    if times[0] > span[0] or times[-1] < span[1]:
        raise StatementError(
            f"the samples of input '{name}' do not cover the span.",
            f"Found times from {times[0]:g} to {times[-1]:g}, expected {span[0]:g} to {span[1]:g}.",
            "Sample the whole span; nothing is extrapolated.",
        )
    return times, course


def lowered(signature: Signature, layout: Layout, t_: Any, q: Any, v: Any, p: Any, slots: Any):
    """Return the vector u as a graph of time, state, parameters and run-time values."""
    values, place = [], 0
    for kind, content in signature:
        if kind == "number":
            values.append(slots[place])
        elif kind == "samples":
            values.append(slots[place] + slots[place + 1] * (t_ - slots[place + 2]))
        else:
            values.append(translate(content, layout, t_, q, v, p))
        place += SLOTS[kind]
    return ca.vertcat(*values) if values else type(q)(0, 1)


def sampled(signature: Signature, slots: np.ndarray, at: float) -> np.ndarray:
    """Return the inputs that are no expressions, at a time: numbers, and samples interpolated."""
    values, place = [], 0
    for kind, _ in signature:
        if kind == "number":
            values.append(slots[place])
        elif kind == "samples":
            values.append(slots[place] + slots[place + 1] * (at - slots[place + 2]))
        place += SLOTS[kind]
    return np.array(values)


def translate(
    e: sp.Expr, layout: Layout, t_: Any, q: Any, v: Any, p: Any, named: Mapping | None = None
) -> Any:
    """Lower an expression of time, coordinates, velocities, parameters and what else is named."""
    e = in_coordinates(layout.system, e)
    symbols: dict[sp.Symbol, Any] = {t: t_, **(named or {})}
    symbols |= {s: p[i] for i, s in enumerate(layout.system.parameters)}
    for s in symbols_in(e):
        if isinstance(s, Coordinate):
            symbols[s] = q[int(layout.place(s))]
        elif isinstance(s, Velocity):
            symbols[s] = v[int(layout.place(s.of))]
    return Translator(symbols)(e)
