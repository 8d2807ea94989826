"""What a page writes: equations whose numbers can be shown, knobs, and states of rest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import sympy as sp
from sympy.functions.elementary.trigonometric import TrigonometricFunction

from stationary.browser.mechanics import Mechanics, by_coordinate
from stationary.errors import StatementError, StationaryError, unknown
from stationary.model.arrays import Array
from stationary.model.system import System
from stationary.pages.mathml import math
from stationary.solve.rest.equilibria import equilibria
from stationary.solve.rest.statics import statics

# States of rest are searched for in systems of so few coordinates, and this many are offered.
_FEW, _OFFERED = 3, 8

_LETTER = r"<m[in]>[^<]*</m[in]>"
_RAISED = re.compile(
    rf"<msubsup>({_LETTER}|<mover>(?:<mrow>)?{_LETTER}(?:</mrow>)?"
    rf'<mtext class="dot">\.+</mtext></mover>)'
    rf"({_LETTER}|<mrow>{_LETTER}</mrow>)({_LETTER}|<mrow>{_LETTER}</mrow>)</msubsup>"
)


def label(name: str) -> str:
    """Return a name as it is read: theta_1 as θ₁."""
    written = sp.pretty(sp.Symbol(name), use_unicode=True)
    return name if "\n" in written else written


def coordinate_names(moved: Mechanics) -> list[str]:
    """Return coordinates as they are read; those of a field are called by their places."""
    names = [label(moved.graph.layout.name(k)) for k in range(moved.system.size)]
    for k, (f, place, order) in moved.nodal().items():
        slope = f"_{f.position}" if order else ""
        names[k] = f"{label(f.stem)}{slope}({place:.4g})"
    return names


def equations_of(derived: Any, system: System) -> str:
    """Return equations as MathML in which every symbol that has a number is marked."""
    # A power of a symbol with an index is a power of that symbol.
    mathml = _RAISED.sub(r"<msup><msub>\1\2</msub>\3</msup>", math(derived.latex(), True))
    kept: list[str] = []

    def keep(text: str) -> str:
        kept.append(text)
        return f"\ue000{len(kept) - 1}\ue001"

    scalars = list(system.scalars())
    marks: list[tuple[str, str, int]] = []
    for k, c in enumerate(scalars):
        marks += [(_drawn(c.ddot), "", k), (_drawn(c.dot), "v", k), (_drawn(c), "q", k)]
    marks += [(_drawn(p), "p", k) for k, p in enumerate(system.parameters)]
    marks += [(_drawn(u), "u", k) for k, u in enumerate(system.inputs)]
    # What contains another symbol goes first: θ̇ before θ, m₁ before m.
    for drawn, of, place in sorted(marks, key=lambda mark: -len(mark[0])):
        if not drawn:
            continue
        marked = f'<mrow data-of="{of}" data-place="{place}">{drawn}</mrow>' if of else drawn
        mathml = re.sub(rf"(?<!<msub>){re.escape(drawn)}", lambda _, m=marked: keep(m), mathml)
    while "\ue000" in mathml:
        mathml = re.sub("\ue000(\\d+)\ue001", lambda m: kept[int(m[1])], mathml)
    return mathml


def _drawn(symbol: Any) -> str:
    """Return a symbol as it stands inside mathematics."""
    inside = re.search(r"<mrow>(.*)</mrow></math>", math(sp.latex(symbol)), re.DOTALL)
    return inside[1] if inside else ""


def knobs(
    moved: Mechanics, units: Mapping[str, str], sliders: Mapping[Any, Any]
) -> list[dict[str, Any]]:
    """Return the sliders of a page: parameters, and inputs that are numbers."""
    system = moved.system
    ranges = {getattr(key, "name", str(key)): value for key, value in sliders.items()}
    # Parameters that say where the nodes of a field are would need another mesh.
    mesh = {s for f in system.fields for e in f.breaks for s in e.free_symbols}
    numbers = [
        ("p", k, p.name, moved.values[k]) for k, p in enumerate(system.parameters) if p not in mesh
    ]
    slots = np.cumsum([0, *(1 if kind == "number" else 0 for kind, _ in moved.driven.signature)])
    for k, (u, (kind, _)) in enumerate(zip(system.inputs, moved.driven.signature)):
        if kind == "number":
            numbers.append(("given", int(slots[k]), u.name, moved.driven.numbers[k]))
    known = [name for _, _, name, _ in numbers]
    for name in ranges:
        if name not in known:
            raise StatementError(unknown("a slider", name, known))
    return [
        {
            "kind": kind,
            "place": place,
            "name": label(name),
            "unit": units.get(name, ""),
            **dict(zip(("low", "high"), _range(name, float(value), ranges.get(name)))),
        }
        for kind, place, name, value in numbers
    ]


def _range(name: str, value: float, given: Any) -> tuple[float, float]:
    if given is not None:
        try:
            low, high = (float(x) for x in given)
        except (TypeError, ValueError, OverflowError):
            low, high = np.nan, np.nan
        if not (np.isfinite(low + high) and low < high):
            raise StatementError(
                f"the range of the slider '{name}' is not one.",
                f"Found {given!r}, expected two numbers, the smaller one first.",
                f"Write sliders={{'{name}': (0, 10)}}.",
            )
        return min(low, value), max(high, value)
    # A positive number, as of a mass, keeps its sign; without one any sign may be meant.
    return (value / 5, 3 * value) if value > 0 else (3 * value, -3 * value) if value else (-10, 10)


def rests(moved: Mechanics, motion: Any) -> list[dict[str, Any]]:
    """Return states of rest that a reader may want to start from."""
    system = moved.system
    values = dict(zip(system.parameters, moved.values.tolist()))
    numbers = [kind == "number" for kind, _ in moved.driven.signature]
    if not all(numbers) or system.friction or system.contacts:
        return []
    inputs = {u.name: x for u, x in zip(system.inputs, moved.driven.numbers)}
    start = by_coordinate(moved.graph.layout, moved.start[: system.size])
    balanced: list[Any] = []
    try:
        if system.size <= _FEW and not any(isinstance(c, Array) for c in system.coordinates):
            within = _around(system, motion)
            balanced = list(equilibria(system, within=within, params=values, inputs=inputs))
    except (StationaryError, TypeError):
        balanced = []
    try:
        balanced = balanced or [statics(system, params=values, inputs=inputs, start=start)]
    except (StationaryError, TypeError):
        return []
    n = system.size
    states = [(np.asarray(rest.q, dtype=float), rest) for rest in balanced[:_OFFERED]]
    return [
        {
            "name": f"rest {k + 1}: {rest.told}" if len(states) > 1 else str(rest.told),
            "stable": bool(rest.stable),
            "q": q.tolist(),
        }
        for k, (q, rest) in enumerate(states)
        if len(q) == n
    ]


def _around(system: System, motion: Any) -> dict[Any, tuple[float, float]]:
    """Return a box: all angles, and of places as much again as the motion takes to either side."""
    turning = {
        s
        for f in sp.S(system.potential).atoms(TrigonometricFunction)
        for s in f.free_symbols
    }  # fmt: skip
    box = {}
    for c in system.scalars():
        if c in turning:
            # Half a turn, but not at the end of the box: it would be found at both.
            box[c] = (-3.0, -3.0 + 2 * np.pi)
        else:
            course = np.asarray(motion[c], dtype=float)
            low, high = float(np.nanmin(course)), float(np.nanmax(course))
            wide = (high - low) or abs(high) or 1.0
            box[c] = (low - wide, high + wide)
    return box
