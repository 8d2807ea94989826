"""The statement of a continuum: densities over intervals, and what happens at points of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import sympy as sp

from stationary.errors import StatementError, spelled
from stationary.model.contents import contents
from stationary.model.continuum_checks import check
from stationary.model.fields import (
    Field,
    PointValue,
    Position,
    fields_in,
    points_in,
    symbols_in,
)
from stationary.model.printing import aligned, load_in_latex, rows_of, varied
from stationary.model.symbols import Coordinate, Parameter, Velocity, in_order, t
from stationary.model.system import System
from stationary.model.terms import ENERGIES, Load, expression, text

#: Position, first end, last end.
Interval = tuple[Position, sp.Expr, sp.Expr]

_LETTERS = {"kinetic": "T", "potential": "U", "work": "W", "dissipation": "D"}


@spelled
@dataclass(frozen=True, kw_only=True, repr=False)
class Continuum:
    """A continuum, stated by its densities.

    Densities are expressions of fields, their derivatives (u, u̇, u′, u″), positions, time,
    parameters and coordinates of ordinary parts; each is integrated over the interval of its
    fields.

    Parameters
    ----------
    kinetic, potential : expression
        Densities of T and U.
    work : expression
        Density of W(u, X, t), whose variation is that of a load: I = U − W.
    loads : list of Load
        ``Load(p, on=u)`` is distributed, δW = ∫ p δu dX; ``Load(f, on=u.at(L))`` acts at a point.
    dissipation : expression
        Density of D: its slope by the rate of a field opposes it.
    fixed : dict
        Essential conditions: ``{u.at(0): 0}``. A value at a point may be tied to others, to
        coordinates of parts and to time: ``{v.at(L): u.at(L), w.at(0): x}``.
    parts : list of System
        Ordinary systems coupled to values at points: ``System(kinetic=m*u.at(L).dot**2/2)``.
    name : str, optional

    Examples
    --------
    >>> X = st.positions("X")
    >>> rho, A, E, L, f = st.parameters("rho A E L f")
    >>> u = st.field("u", over=(X, 0, L))
    >>> bar = st.Continuum(
    ...     kinetic=rho * A * u.dot**2 / 2,
    ...     potential=E * A * u.diff(X) ** 2 / 2,
    ...     loads=[st.Load(f, on=u.at(L))],
    ...     fixed={u.at(0): 0},
    ... )
    >>> print(bar)
    Continuum of 1 field: u over X from 0 to L
      T = ∫ A*rho*u.dot**2/2 dX
      U = ∫ A*E*u'**2/2 dX
      δW = f δ(u(L))
      u(0) = 0
      with A, rho, E, f, L
    """

    kinetic: Any = sp.S.Zero
    potential: Any = sp.S.Zero
    work: Any = sp.S.Zero
    loads: Any = ()
    dissipation: Any = sp.S.Zero
    fixed: Any = None
    parts: Any = ()
    name: str = ""

    def __post_init__(self):
        normal: dict[str, Any] = {
            kind: expression(getattr(self, kind), f"the density of {kind}").doit()
            for kind in ENERGIES
        }
        normal["parts"] = _parts(self.parts)
        normal["loads"] = _loads(self.loads)
        normal["fixed"] = _fixed(self.fixed)
        for key, value in normal.items():
            object.__setattr__(self, key, value)
        check(self)
        assert self.densities is not None

    # -- what it is made of -----------------------------------------------------------------------

    @cached_property
    def part(self) -> System:
        """All parts as one system; its coordinates include values of fields at points."""
        return sum(self.parts, System())

    @cached_property
    def distributed(self) -> tuple[Load, ...]:
        """The loads along intervals."""
        return tuple(load for load in self.loads if any(fields_in(on) for on in load.on))

    @cached_property
    def concentrated(self) -> tuple[Load, ...]:
        """The loads at points."""
        return tuple(load for load in self.loads if load not in self.distributed)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The fields, in the order of their names."""
        return in_order({f.whole for e in self.along() for f in fields_in(e)})

    @cached_property
    def intervals(self) -> tuple[Interval, ...]:
        """The intervals of the fields, each once."""
        return tuple(dict.fromkeys(f.over for f in self.fields))

    def along(self) -> list[sp.Expr]:
        """Every expression that is integrated over an interval."""
        loads = [e for x in self.loads for e in x.expressions() if any(map(fields_in, x.on))]
        return [*(getattr(self, kind) for kind in ENERGIES), *loads]

    def everything(self) -> list[tuple[str, sp.Expr]]:
        """Every expression of the statement, with the words that name its place."""
        labelled = [(f"the density of {kind}", getattr(self, kind)) for kind in ENERGIES]
        for number, load in enumerate(self.loads, 1):
            labelled += [(f"load '{load.name or number}'", e) for e in load.expressions()]
        labelled += [("fixed", e) for pair in self.fixed for e in pair]
        return [*labelled, *self.part.expressions()]

    @cached_property
    def densities(self) -> dict[Interval, dict[str, sp.Expr]]:
        """What is integrated over each interval, by kind of energy."""
        densities: dict[Interval, dict[str, sp.Expr]] = {}
        for over in self.intervals:
            densities[over] = {kind: sp.S.Zero for kind in ENERGIES}
        for kind in ENERGIES:
            for over, term in _by_interval(kind, getattr(self, kind), self.intervals):
                densities[over][kind] += term
        return densities

    @cached_property
    def orders(self) -> dict[Field, int]:
        """The highest derivative by position of every field in the energies."""
        orders = dict.fromkeys(self.fields, 0)
        for e in self.along():
            for f in fields_in(e):
                orders[f.whole] = max(orders[f.whole], f.order)
        return orders

    @cached_property
    def points(self) -> tuple[PointValue, ...]:
        """Values of fields at points that conditions, loads and parts name."""
        points: set[PointValue] = set()
        for _, e in self.everything():
            points |= {p.value for p in points_in(e)}
        return tuple(sorted(points, key=lambda p: p.name))

    @cached_property
    def coordinates(self) -> tuple[Any, ...]:
        """Coordinates of ordinary parts, in order."""
        by_name: dict[str, Any] = {
            c.name: c for c in self.part.coordinates if not isinstance(c, PointValue)
        }
        for _, e in self.everything():
            for s in symbols_in(e):
                s = s.of if isinstance(s, Velocity) else s
                if isinstance(s, Coordinate) and not isinstance(s, PointValue):
                    by_name.setdefault(s.name, s)
        stems = {c.name for c in by_name.values() if not isinstance(c, Coordinate)}
        whole = (n for n in by_name if n in stems or n.partition("[")[0] not in stems)
        return in_order(by_name[n] for n in whole)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in the order in which they occur."""
        ends = [e for f in self.fields for e in f.ends]
        ends += [p.place for p in self.points]
        every = (s for e in (*(e for _, e in self.everything()), *ends) for s in contents(e).order)
        return tuple({s.name: s for s in every if isinstance(s, Parameter)}.values())

    # -- how it reads -----------------------------------------------------------------------------

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        count = len(self.fields)
        over = ", ".join(f"{f.name} over {f.over[0]} from {f.ends[0]} to {f.ends[1]}"
                         for f in self.fields)  # fmt: skip
        lines = [f"{self.name or 'Continuum'} of {count} field{'s' * (count > 1)}: {over}"]
        for kind, letter in _LETTERS.items():
            shown = [
                f"∫ {_factor(terms[kind])} d{interval[0]}"
                for interval, terms in self.densities.items()
                if terms[kind] != 0
            ]
            lines += [f"  {letter} = {' + '.join(shown)}"] if shown else []
        for load in self.distributed:
            along = " + ".join(f"{text(f)} δ({text(on)})" for f, on in zip(load.force, load.on))
            position = next(f.position for on in load.on for f in fields_in(on))
            lines.append(f"  δW = ∫ {along} d{position}")
        lines += [f"  {load}" for load in self.concentrated]
        lines += [f"  {key} = {text(value)}" for key, value in self.fixed]
        if self.parts:
            lines += ["  and " + line.strip() for line in str(self.part).splitlines()[1:]
                      if not line.strip().startswith("with ")]  # fmt: skip
        if self.parameters:
            values = (
                p.name + (f" = {p.default:g}" if p.default is not None else "")
                for p in self.parameters
            )
            lines.append("  with " + ", ".join(values))
        return "\n".join(lines)

    def _repr_latex_(self) -> str:
        """Write the statement as one aligned block of LaTeX."""
        rows = []
        for kind, letter in _LETTERS.items():
            shown = (_integral(e[kind], over) for over, e in self.densities.items() if e[kind] != 0)
            rows += [f"{letter} &= {whole}"] if (whole := " + ".join(shown)) else []
        for load in self.distributed:
            over = next(f.over for on in load.on for f in fields_in(on))
            along = sp.Add(*(f * varied(on) for f, on in zip(load.force, load.on)))
            rows.append(rf"\delta W &= {_integral(along, over)}")
        rows += [load_in_latex(load) for load in self.concentrated]
        rows += [f"{sp.latex(key)} &= {sp.latex(value)}" for key, value in self.fixed]
        return aligned([*rows, *rows_of(self.part)])


def _integral(e: sp.Expr, interval: Interval) -> str:
    """Write a density as an integral in LaTeX."""
    position, first, last = map(sp.latex, interval)
    inside = sp.latex(e)
    inside = rf"\left({inside}\right)" if e.is_Add else inside
    return rf"\int_{{{first}}}^{{{last}}} {inside} \, d{position}"


def _factor(e: sp.Expr) -> str:
    return f"({text(e)})" if e.is_Add else text(e)


# -- bringing what was given into normal form ----------------------------------------------------


def _entries(given: Any, kind: type, what: str, expected: str, remedy: str) -> tuple[Any, ...]:
    """Take one or several of a kind."""
    entries = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    for entry in entries:
        if not isinstance(entry, kind):
            shown = f"Found {type(entry).__name__}: {str(entry)[:60]!r}{expected}"
            raise StatementError(what, shown, remedy)
    return entries


def _parts(given: Any) -> tuple[System, ...]:
    return _entries(
        given, System, "parts has an entry that is not a system.", ".",
        "Pass ordinary systems, as in parts=[st.System(kinetic=m*u.at(L).dot**2/2)].",
    )  # fmt: skip


def _loads(given: Any) -> tuple[Load, ...]:
    entries = _entries(
        given, Load, "loads has an entry that is not one.", "; expected st.Load(…).",
        "Dry friction, contacts and constraints at points belong to parts=[System(…)]; "
        "along an interval they cannot be honoured.",
    )  # fmt: skip
    return tuple(load.apply(lambda e: e.doit()) for load in entries)


def _fixed(given: Any) -> tuple[tuple[PointValue, sp.Expr], ...]:
    if isinstance(given, tuple) and all(isinstance(pair, tuple) for pair in given):
        given = dict(given)
    if given is not None and not isinstance(given, Mapping):
        raise StatementError(
            "fixed is not a table of conditions.",
            f"Found {type(given).__name__}: {str(given)[:60]}.",
            "Give values at points, as in fixed={u.at(0): 0, u.diff(X).at(0): 0}.",
        )
    conditions = []
    for key, value in (given or {}).items():
        if not isinstance(key, PointValue):
            kind_of_key = "a rate" if isinstance(key, Velocity) else type(key).__name__
            raise StatementError(
                f"fixed holds '{key}', which is not the value of a field at a point.",
                f"Found {kind_of_key}; expected u.at(0) or u.diff(X).at(0).",
                "Say where the field is held, as in fixed={u.at(0): 0}.",
            )
        conditions.append((key, expression(value, f"what '{key}' is fixed to")))
    return tuple(conditions)


def _by_interval(
    kind: str, e: sp.Expr, intervals: Iterable[Interval]
) -> list[tuple[Interval, sp.Expr]]:
    """Split a density into terms, each over the interval of its fields."""
    intervals = tuple(intervals)
    if len(intervals) == 1:
        return [(intervals[0], e)]
    split = []
    for term in sp.Add.make_args(e):
        over = {f.over for f in fields_in(term)}
        if len(over) > 1:
            parts = sp.Add.make_args(sp.expand(term))
            if len(parts) > 1:
                split += _by_interval(kind, sp.Add(*parts), intervals)
                continue
        if len(over) != 1:
            if not over and not symbols_in(term) - {t}:
                continue  # A constant has no consequence, wherever it is integrated.
            raise StatementError(
                f"a term of the density of {kind} belongs to "
                f"{'no interval' if not over else 'several intervals'}.",
                f"Found {text(term)[:80]}; expected the fields of one interval in each term.",
                "Join intervals at points, by fixed or by parts.",
            )
        split.append((over.pop(), term))
    return split


def replaced(continuum: Continuum, **changes: Any) -> Continuum:
    """Return the same continuum with some of its keywords changed."""
    kept = {f.name: getattr(continuum, f.name) for f in fields(continuum)}
    return Continuum(**{**kept, **changes})
