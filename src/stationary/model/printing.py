"""How a system reads: as text in a terminal, as LaTeX in a notebook."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import sympy as sp

from stationary.model.arrays import Array
from stationary.model.built_once import opened
from stationary.model.graphs import LARGE, written_out
from stationary.model.space.rotation import Entry, orientations
from stationary.model.terms import (
    Constraint,
    Contact,
    Drag,
    Friction,
    Load,
    Pfaffian,
    shortened,
    text,
)

if TYPE_CHECKING:
    from stationary.model.system import System

# Signs beside each other that a page holds, and that may stand on the left of an equation.
_WIDE, _LONG_LEFT = 90, 30

SYMBOLS = {"kinetic": "T", "potential": "U", "work": "W", "dissipation": "D"}


def as_text(system: System) -> str:
    """Write the statement as a physicist would."""
    count = system.size
    names = ", ".join(
        f"{c.name} {'×'.join(map(str, c.base))}" if isinstance(c, Array) else c.name
        for c in system.coordinates
    )
    title = system.name or "System"
    lines = [f"{title} of {count} coordinate{'' if count == 1 else 's'}: {names or 'none'}"]
    stated = _turned(system, _in_text)
    lines += [f"  {SYMBOLS[k]} = {text(stated[k])}" for k in SYMBOLS if stated[k] != 0]
    for kind in ("loads", "friction", "constraints", "pfaffian", "contacts"):
        lines += [f"  {term}" for term in stated[kind]]
    if system.parameters:
        values = (
            p.name + (f" = {p.default:g}" if p.default is not None else "")
            for p in system.parameters
        )
        lines.append("  with " + ", ".join(values))
    if system.inputs:
        lines.append("  driven by " + ", ".join(u.name for u in system.inputs))
    return "\n".join(lines)


def as_latex(system: System) -> str:
    """Write the statement as one aligned block of LaTeX."""
    return aligned(rows_of(system))


def latex(e: sp.Basic) -> str:
    """Write an expression, or its size if nobody could read it."""
    size = written_out(e)
    return sp.latex(shortened(e)) if size <= LARGE else rf"\text{{({size:.3g} terms and factors)}}"


def in_rows(left: str, e: sp.Basic) -> list[str]:
    """Write an equation in rows of a length that a page holds, broken between its terms."""
    if not e.is_Add or written_out(e) > LARGE:
        return [f"{left} &= {latex(e)}"]
    rows, line = [], ""
    for term in e.as_ordered_terms():
        more = latex(term)
        more = more if more.startswith("-") or not (line or rows) else f"+ {more}"
        if line and _width(line) + _width(more) > _WIDE:
            rows.append(line)
            line = ""
        line += f" {more}" if line else more
    rows.append(line)
    return [f"{left} &= {rows[0]}", *(rf"&\quad {row}" for row in rows[1:])]


def _width(text: str) -> int:
    """Return about how many signs some LaTeX shows beside each other; halves of fractions share."""
    shown = re.sub(r"\\frac\{((?:[^{}]|\{[^{}]*\})*)\}\{[^{}]*\}", r"\1", text)
    return len(re.sub(r"\\[a-zA-Z]+|[{}\\^_ ]", "", shown)) + len(re.findall(r"\\[a-zA-Z]+", shown))


def aligned(rows: list[str]) -> str:
    """Write rows below each other, aligned at their ``&``."""
    return r"$$\begin{aligned}" + r" \\ ".join(rows) + r"\end{aligned}$$"


def rows_of(system: System) -> list[str]:
    """Write what a system states, a row each."""
    stated = _turned(system, _in_latex)
    given = [k for k in SYMBOLS if stated[k] != 0]
    rows = [row for k in given for row in in_rows(SYMBOLS[k], stated[k])]
    for kind in ("loads", "friction", "constraints", "pfaffian", "contacts"):
        rows += [_term(term) for term in stated[kind]]
    return rows


def _turned(system: System, symbol: Callable[..., str]) -> dict[str, Any]:
    """Return what a system states, bodies in space by their angular velocities and axes."""
    swap: dict[sp.Basic, sp.Basic] = {}
    turns = orientations(c for c in system.coordinates if isinstance(c, Entry))
    for turn in turns:
        named = partial(symbol, turn.name, alone=len(turns) == 1)
        for a, speed, row in zip("xyz", turn.omega, turn.matrix):
            # Angular velocities are twice what is shared.
            swap[speed / 2] = sp.Symbol(named(a)) / 2
            swap |= {e: sp.Symbol(named(a + b)) for b, e in zip("xyz", row)}

    def change(e: sp.Expr) -> sp.Expr:
        return opened(e.xreplace(swap)) if written_out(e) <= LARGE else e

    return system.apply(change)


def _in_text(name: str, axes: str, alone: bool) -> str:
    return f"{name}_{axes}" if len(axes) == 2 else f"{name}.omega.{axes}"


def _in_latex(name: str, axes: str, alone: bool) -> str:
    if len(axes) == 2:
        return f"{name}_{{{axes}}}"
    return rf"\omega_{{{axes}}}" if alone else rf"\omega^{{{name}}}_{{{axes}}}"


def varied(e: sp.Expr) -> sp.Symbol:
    """Return what is written as the variation of an expression."""
    return _Varied(rf"\delta\left({latex(e)}\right)")


class _Varied(sp.Symbol):
    def _latex(self, printer) -> str:
        return self.name


def load_in_latex(load: Load) -> str:
    """Write the virtual work of a load."""
    return _term(load)


def _term(term) -> str:
    if term.table is not None:
        return _term(replace(term, table=None)) + rf",\quad i = 0,\dots,{term.table.rows - 1}"
    if isinstance(term, Load):
        return r"\delta W &= " + " + ".join(
            rf"{_factor(f)}\,\delta\left({latex(on)}\right)" for f, on in zip(term.force, term.on)
        )
    if isinstance(term, Friction):
        rest = "" if term.static is None else rf"\ (\text{{at rest}}\ {latex(term.static)})"
        size = latex(term.limit) + rest
        return rf"\text{{friction}} &\le {size}\ \text{{against}}\ {_rate(term.on)}"
    if isinstance(term, Drag):
        size = rf"{latex(term.eta)}\,|v|^{{{latex(term.power)}}}"
        return rf"\text{{drag}} &= {size}\ \text{{against}}\ v = {_rate(term.on)}"
    if isinstance(term, (Constraint, Pfaffian)):
        vanishes = _vector(term.R if isinstance(term, Constraint) else term.expr)
        # What is long stands on the right of the others' signs, so as not to push them away.
        return rf"{vanishes} &= 0" if _width(vanishes) <= _LONG_LEFT else rf"&{vanishes} = 0"
    assert isinstance(term, Contact)
    gap = latex(term.gap)
    conditions = rf"{gap} &\ge 0" if _width(gap) <= _LONG_LEFT else rf"&{gap} \ge 0"
    if term.restitution != 0:
        conditions += rf",\quad e = {latex(term.restitution)}"
    if term.slip:
        conditions += rf",\quad \mu = {latex(term.friction)}\ \text{{against}}\ {_rate(term.slip)}"
    return conditions


def _factor(e: sp.Expr) -> str:
    return rf"\left({latex(e)}\right)" if e.is_Add else latex(e)


def _vector(entries: tuple[sp.Expr, ...]) -> str:
    inside = r",\; ".join(latex(e) for e in entries)
    return inside if len(entries) == 1 else rf"\left({inside}\right)"


def _rate(entries: tuple[sp.Expr, ...]) -> str:
    return rf"\frac{{d}}{{dt}}\left({_vector(entries)}\right)"
