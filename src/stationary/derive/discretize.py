"""Fields to coordinates: a continuum becomes an ordinary system, by elements or by given shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from stationary.derive.mesh import (
    array_of,
    basis_of,
    breaks_of,
    gauss,
    gauss_points,
    integrated,
    interpolations,
    mesh_of,
    ritz_points,
    shapes_of,
    squares,
)
from stationary.errors import StatementError, spelled
from stationary.model.arrays import Array
from stationary.model.continuum import Continuum, Interval
from stationary.model.drawing import Part
from stationary.model.each import Each, Slot, Table, table_of
from stationary.model.fields import Field, PointValue, default_of, fields_in, points_in
from stationary.model.interpolation import Interpolation
from stationary.model.system import System
from stationary.model.terms import ENERGIES, Constraint, Load

# A shape smaller than this at a support is none there.
_CHANCE = 1e-9


@spelled
def discretize(continuum: Continuum, *, elements: int, degree: Any = None) -> System:
    """Turn a continuum into an ordinary system by finite elements.

    A field whose energy has first derivatives gets Lagrange elements; one whose energy has second
    derivatives gets Hermite cubics, with values and slopes at nodes as coordinates. Elements end at
    every point that the statement names. Energies are integrated by Gauss's rule: exactly where
    they are polynomials, with points to spare elsewhere. Essential conditions are put in place of
    the coordinates that they determine.

    Parameters
    ----------
    continuum : Continuum
    elements : int
        Number of elements along each interval.
    degree : int or dict of Field to int, optional
        Degree of the polynomials: 1, 2 or 3 for first derivatives (1 if left out), 3 for second.

    Returns
    -------
    System
        Every function serves it. Fields come back from results: ``motion.field(u)``.

    References
    ----------
    G. Strang, G. J. Fix, An analysis of the finite element method (1973), sections 1.5–1.7.

    Examples
    --------
    >>> X = st.positions("X")
    >>> rho, E, L, f = st.parameters(rho=1.0, E=1.0, L=1.0, f=0.5)
    >>> u = st.field("u", over=(X, 0, L))
    >>> bar = st.Continuum(
    ...     kinetic=rho * u.dot**2 / 2, potential=E * u.diff(X) ** 2 / 2,
    ...     loads=[st.Load(f, on=u.at(L))], fixed={u.at(0): 0},
    ... )
    >>> rod = st.discretize(bar, elements=4)
    >>> rest = st.statics(rod)
    >>> rest.field(u)([0.0, 0.3, 1.0]).round(12)
    array([0.  , 0.15, 0.5 ])
    """
    _require(continuum, "discretize")
    if not isinstance(elements, (int, np.integer)) or isinstance(elements, bool) or elements < 1:
        raise StatementError(
            "elements is not a number of elements.",
            f"Found {elements!r}, expected a whole number, 1 or more.",
            "Give how many there shall be along each interval, as in elements=100.",
        )
    bases = {f: basis_of(continuum, f, degree) for f in continuum.fields}
    meshes = {over: mesh_of(continuum, over, int(elements)) for over in continuum.intervals}
    return _Assembly(continuum, interpolations(continuum, bases, meshes)).system()


@spelled
def ritz(continuum: Continuum, *, shapes: Any, points: int | None = None) -> System:
    """Turn a continuum into an ordinary system by given shape functions: u = Σ qₖ(t) φₖ(X).

    Parameters
    ----------
    continuum : Continuum
    shapes : list of expressions, or dict of Field to list
        Functions of the position. Those that do not satisfy an essential condition by themselves
        are held to it by a constraint, whose multiplier is the force of the support.
    points : int, optional
        Points of Gauss's rule on each piece of the interval; chosen so that products of the shapes
        and of their derivatives are integrated to rounding when left out.

    Returns
    -------
    System

    Examples
    --------
    >>> X = st.positions("X")
    >>> u = st.field("u", over=(X, 0, 1))
    >>> string = st.Continuum(
    ...     kinetic=u.dot**2 / 2, potential=u.diff(X) ** 2 / 2, fixed={u.at(0): 0, u.at(1): 0}
    ... )
    >>> system = st.ritz(string, shapes=[st.sin(st.pi * X), st.sin(2 * st.pi * X)])
    >>> st.modes(system, count=2).frequencies.round(9)
    array([3.14159265, 6.28318531])
    """
    _require(continuum, "ritz")
    given = shapes_of(continuum, shapes)
    by_shapes = []
    for f in continuum.fields:
        array = array_of(f, len(given[f]))
        breaks = breaks_of(continuum, f.over)
        by_shapes.append(
            Interpolation(f, array, {}, breaks, (1,) * (len(breaks) - 1), None, given[f])
        )
    return _Assembly(continuum, tuple(by_shapes), points).system()


def _require(continuum: Any, verb: str) -> None:
    if not isinstance(continuum, Continuum):
        raise StatementError(
            f"{verb} is asked about what is not a continuum.",
            f"Found {type(continuum).__name__}: {str(continuum).partition(chr(10))[0][:60]}.",
            "Pass an st.Continuum; a System needs no discretization.",
        )


# -- energies ------------------------------------------------------------------


@dataclass(frozen=True)
class _Point:
    """A point of a quadrature rule: weight, position, and what fields are there."""

    weight: sp.Expr
    swap: dict[sp.Basic, sp.Expr]


class _Assembly:
    """The system that a continuum becomes."""

    def __init__(
        self,
        continuum: Continuum,
        fields: tuple[Interpolation, ...],
        points: int | None = None,
    ):
        self.continuum, self.fields, self.points = continuum, fields, points
        self.by_field = {x.field: x for x in fields}

    def system(self) -> System:
        """Return the system."""
        c = self.continuum
        part = c.part + System(loads=[Load(x.force, x.on, x.name) for x in c.concentrated])
        terms: dict[str, Any] = part.apply(self._in_coordinates)
        terms["parts"] = tuple(self._drawn(p) for p in part.parts)
        terms["loads"] = list(terms["loads"])
        for over in c.intervals:
            stretch = _Stretch(self, over)
            for kind in ENERGIES:
                terms[kind] += stretch.energy(c.densities[over][kind])
            for load in c.distributed:
                if any(f.over == over for on in load.on for f in fields_in(on)):
                    terms["loads"] += stretch.load(load)
        terms["constraints"] = [*terms["constraints"], *self._held()]
        arrays = [x.array for x in self.fields if x.array is not None]
        terms |= {"coordinates": (*arrays, *c.coordinates), "fields": self.fields, "name": c.name}
        return System(**terms)

    def _in_coordinates(self, e: sp.Expr) -> sp.Expr:
        swap = {p: self.by_field[p.field.whole].value(p) for p in points_in(e)}
        return e.xreplace(swap)

    def _drawn(self, part: Part) -> Part:
        points = tuple(tuple(map(self._in_coordinates, p)) for p in part.points)
        angle = None if part.angle is None else self._in_coordinates(part.angle)
        return replace(part, points=points, angle=angle)

    def _held(self) -> list[Constraint]:
        """Return constraints for the conditions that given shapes do not satisfy by themselves."""
        conditions = []
        for key, value in self.continuum.fixed:
            if self.by_field[key.field.whole].basis is None:
                R = sp.simplify(self._in_coordinates(key - value))
                if R.is_number and not R.is_zero:
                    raise StatementError(
                        f"no shape can satisfy the condition {key} = {value}.",
                        f"All shapes of '{key.stem}' vanish there.",
                        "Add a shape that does not.",
                    )
                if R != 0:
                    self._refuse_chance(key)
                    conditions.append(Constraint(R, name=str(key)))
        return conditions

    def _refuse_chance(self, key: PointValue) -> None:
        """Refuse shapes that vanish at a point only while parameters have their defaults."""
        shapes = self.by_field[key.field.whole].shapes
        X = key.over[0]
        there = [default_of(e.diff(X, key.order).subs(X, key.place)) for e in shapes]
        if all(value is not None and abs(value) < _CHANCE for value in there):
            raise StatementError(
                f"the shapes of '{key.stem}' vanish at {X} = {key.place} only while parameters "
                "have their defaults.",
                f"Found {shapes[0]}, which is not zero at {key.place} for other values.",
                f"Write them in terms of {key.place}, as in st.sin(st.pi*{X}/{key.place}).",
            )


class _Stretch:
    """The elements along one interval, or the whole of it for given shapes."""

    def __init__(self, whole: _Assembly, over: Interval):
        self.whole, self.over = whole, over
        self.fields = [x for x in whole.fields if x.field.over == over]
        self.breaks, self.counts = self.fields[0].breaks, self.fields[0].counts
        self.X = over[0]

    def energy(self, density: sp.Expr) -> sp.Expr:
        """Return a density integrated over the interval."""
        if density == 0:
            return sp.S.Zero
        exact = None if self.fields[0].basis is None else squares(density, self.fields)
        total = sp.S.Zero
        for piece in self._pieces(density):
            if exact is not None:
                integral = integrated(exact, self.fields, *piece.element)
            else:
                integral = sp.Add(*(p.weight * density.xreplace(p.swap) for p in piece.points))
            total += piece.repeated(integral)
        return total

    def load(self, load: Load) -> list[Any]:
        """Return a load along the interval."""
        loads = []
        density = sp.Add(*(f * on for f, on in zip(load.force, load.on)))
        for piece in self._pieces(density):
            force = [p.weight * f.xreplace(p.swap) for p in piece.points for f in load.force]
            on = [e.xreplace(p.swap) for p in piece.points for e in load.on]
            lumped = Load(tuple(force), tuple(on), load.name)
            loads.append(piece.term(lumped, len(loads)))
        return loads

    def _pieces(self, density: sp.Expr) -> Iterator[_Piece]:
        if self.fields[0].basis is None:
            for k, (a, b) in enumerate(zip(self.breaks[:-1], self.breaks[1:])):
                yield self._ritz_piece(density, a, b, k)
            return
        count = gauss_points(density, [x.basis for x in self.fields if x.basis], self.fields)
        regular = self._regular()
        first = 0
        for (a, b), n in zip(zip(self.breaks[:-1], self.breaks[1:]), self.counts):
            here = np.arange(first, first + n)
            h = (b - a) / n
            free = here[regular[here]]
            if len(free):
                yield self._table_piece(a, h, free, free - first, count)
            for e in here[~regular[here]]:
                yield self._single_piece(a + int(e - first) * h, h, int(e), count)
            first += n

    @cached_property
    def _regular_elements(self) -> np.ndarray:
        regular = np.ones(sum(self.counts), dtype=bool)
        for x in self.fields:
            regular &= np.all(x.entries[x.table] >= 0, axis=1)
        return regular

    def _regular(self) -> np.ndarray:
        """Tell which elements have coordinates for all their degrees of freedom."""
        return self._regular_elements

    def _table_piece(self, a, h, elements: np.ndarray, numbers: np.ndarray, count: int) -> _Piece:
        """Return elements that are alike: one, and a table."""
        columns: dict[Slot, Array | np.ndarray] = {}
        local: dict[tuple[Field, int], list[sp.Expr]] = {}
        for x in self.fields:
            assert x.array is not None
            for rate in (0, 1):
                for k, dofs in enumerate(x.table[elements].T):
                    entries = x.entries[dofs]
                    column = (x.array.dot if rate else x.array)[entries]
                    slot = Slot(_label(x.field.name, entries, k) + ".dot" * rate)
                    columns[slot] = column
                    local.setdefault((x.field, rate), []).append(slot)
        number = Slot(f"{self.X}[i]")
        columns[number] = numbers.astype(float)
        return self._element(local, a + number * h, h, count, Table(len(elements), columns))

    def _element(self, local: dict, x0, h, count: int, table: Table | None) -> _Piece:
        points = [self._point(local, x0, h, xi, w) for xi, w in zip(*gauss(count))]
        return _Piece(points, table, (local, h))

    def _single_piece(self, x0: sp.Expr, h: sp.Expr, element: int, count: int) -> _Piece:
        """Return one element, some of whose degrees of freedom are given."""
        local = {
            (x.field, rate): [x.expression(int(d), rate) for d in x.table[element]]
            for x in self.fields
            for rate in (0, 1)
        }
        return self._element(local, x0, h, count, None)

    def _point(self, local: dict, x0: sp.Expr, h: sp.Expr, xi: float, weight: float) -> _Point:
        swap: dict[sp.Basic, sp.Expr] = {self.X: x0 + xi * h}
        for x in self.fields:
            f, basis = x.field, x.basis
            assert basis is not None
            for order in range(3):
                values = basis.values(order, xi)
                for rate in (0, 1):
                    terms = [
                        _exact(v) * h ** (power - order) * d
                        for v, power, d in zip(values, basis.powers, local[f, rate])
                    ]
                    swap[Field(f.stem, f.over, order, rate)] = sp.Add(*terms)
        return _Point(weight * h, swap)

    def _ritz_piece(self, density: sp.Expr, a: sp.Expr, b: sp.Expr, number: int) -> _Piece:
        """Return the points of a rule as rows of a table: at each, all coordinates meet."""
        points = self.whole.points or ritz_points(density, self.fields, (a, b))
        s, w = Slot(f"s{number}[i]"), Slot(f"w{number}[i]")
        xi, weights = gauss(points)
        table = Table(points, {s: np.array(xi), w: np.array(weights)})
        place = a + s * (b - a)
        swap: dict[sp.Basic, sp.Expr] = {self.X: place}
        for x in self.fields:
            f = x.field
            for order in range(3):
                shapes = [e.diff(self.X, order).xreplace({self.X: place}) for e in x.shapes]
                for rate in (0, 1):
                    terms = [e * x.expression(k, rate) for k, e in enumerate(shapes)]
                    swap[Field(f.stem, f.over, order, rate)] = sp.Add(*terms)
        return _Piece([_Point(w * (b - a), swap)], table)


@dataclass(frozen=True)
class _Piece:
    """Points of a rule, for one element or for a table of alike ones."""

    points: list[_Point]
    table: Table | None
    #: Degrees of freedom and length of an element.
    element: tuple = ()

    def repeated(self, e: sp.Expr) -> sp.Expr:
        """Return an energy of the element, summed over the table."""
        return e if self.table is None else Each((e,), self._used([e]))

    def term(self, load: Load, number: int) -> Any:
        """Return a load of the element, for every row of the table."""
        name = f"{load.name}.{number}" if load.name and number else load.name
        load = replace(load, name=name)
        return load if self.table is None else replace(load, table=self._used(load.expressions()))

    def _used(self, several: Sequence[sp.Expr]) -> Table:
        assert self.table is not None
        return table_of(self.table.rows, self.table.columns, several)


def _label(name: str, entries: np.ndarray, k: int) -> str:
    """Name a column ``u[i+1]`` if it walks along the array, else by its place in the element."""
    if np.array_equal(entries, entries[0] + np.arange(len(entries))):
        return f"{name}[i{f'+{entries[0]}' if entries[0] else ''}]"
    return f"{name}[i,{k}]"


def _exact(value: float) -> sp.Expr:
    return sp.Integer(int(value)) if float(value).is_integer() else sp.Float(float(value))
