"""How a field follows from the coordinates of a system: elements along it, or given shapes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from stationary.errors import StatementError
from stationary.model.arrays import Array
from stationary.model.fields import AbstractAtPoint, Field, PointValue, fields_in, points_in
from stationary.model.symbols import along_time


@dataclass(frozen=True)
class Basis:
    """Polynomials on the reference element [0, 1], one per local degree of freedom.

    Attributes
    ----------
    degree : int
    coefficients : tuple of tuple of float
        Of each polynomial, constant first.
    powers : tuple of int
        The power of the element's length that each is multiplied with: 1 for a slope.
    shared : int
        How many degrees of freedom neighbouring elements share.
    """

    degree: int
    coefficients: tuple[tuple[float, ...], ...]
    powers: tuple[int, ...]
    shared: int

    @property
    def step(self) -> int:
        """By how much the numbers of degrees of freedom advance from element to element."""
        return len(self.powers) - self.shared

    @property
    def smooth(self) -> bool:
        """Whether slopes are continuous."""
        return self.shared == 2

    def values(self, order: int, places: Any) -> np.ndarray:
        """Return derivatives of the polynomials at places in [0, 1], shape (places, functions)."""
        columns = []
        for c in self.coefficients:
            p = np.polynomial.Polynomial(c)
            columns.append((p.deriv(order) if order else p)(np.asarray(places, dtype=float)))
        return np.stack(columns, axis=-1)


def lagrange(degree: int) -> Basis:
    """Return polynomials through equally spaced nodes, continuous from element to element."""
    nodes = [Fraction(a, degree) for a in range(degree + 1)]
    polynomials = []
    for node in nodes:
        # In fractions: all coefficients turn out to be halves, which numbers hold exactly.
        p = [Fraction(1)]
        for other in (x for x in nodes if x != node):
            scale = node - other
            p = [(low - other * high) / scale for low, high in zip([0, *p], [*p, 0])]
        polynomials.append(tuple(float(c) for c in p))
    return Basis(degree, tuple(polynomials), (0,) * (degree + 1), 1)


#: Cubics with values and slopes at both ends: slopes are continuous from element to element.
HERMITE = Basis(
    3,
    ((1.0, 0.0, -3.0, 2.0), (0.0, 1.0, -2.0, 1.0), (0.0, 0.0, 3.0, -2.0), (0.0, 0.0, -1.0, 1.0)),
    (0, 1, 0, 1),
    2,
)


@dataclass(frozen=True, eq=False)
class Interpolation:
    """A field as a sum of functions, each times a degree of freedom.

    Attributes
    ----------
    field : Field
    array : Array or None
        The coordinates that are degrees of freedom of this field; None where all are given.
    given : dict of int to expression
        Degrees of freedom that are no coordinates of their own: held, moved or tied.
    breaks : tuple of expression
        Ends of the interval and points between them at which an element ends.
    counts : tuple of int
        Elements between neighbouring breaks, all of the same length.
    basis : Basis or None
    shapes : tuple of expression
        Functions of the position, where there are no elements.
    """

    field: Field
    array: Array | None
    given: Mapping[int, sp.Expr]
    breaks: tuple[sp.Expr, ...]
    counts: tuple[int, ...]
    basis: Basis | None = None
    shapes: tuple[sp.Expr, ...] = ()

    @cached_property
    def _key(self) -> str:
        parts = (self.field.name, self.field.over, self.array and self.array._key(), self.breaks)
        held = sorted((k, str(e)) for k, e in self.given.items())
        text = repr((parts, self.counts, self.basis, held, [str(e) for e in self.shapes]))
        return hashlib.blake2b(text.encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Interpolation) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    # -- degrees of freedom -----------------------------------------------------------------------

    @property
    def elements(self) -> int:
        """Number of elements."""
        return sum(self.counts)

    @cached_property
    def size(self) -> int:
        """Number of degrees of freedom, given ones included."""
        if self.basis is None:
            return len(self.shapes)
        return self.elements * self.basis.step + self.basis.shared

    @cached_property
    def free(self) -> np.ndarray:
        """The degrees of freedom that are coordinates, in the order of the array."""
        held = np.zeros(self.size, dtype=bool)
        held[list(self.given)] = True
        return np.flatnonzero(~held)

    @cached_property
    def entries(self) -> np.ndarray:
        """For every degree of freedom its entry of the array, or −1 where it is given."""
        entries = np.full(self.size, -1)
        entries[self.free] = np.arange(len(self.free))
        return entries

    @cached_property
    def table(self) -> np.ndarray:
        """Degrees of freedom of every element, shape (elements, functions)."""
        assert self.basis is not None
        local = np.arange(len(self.basis.powers))
        return np.arange(self.elements)[:, None] * self.basis.step + local

    def expression(self, dof: int, rate: int = 0) -> sp.Expr:
        """Return a degree of freedom, or its rate, in terms of coordinates."""
        if dof in self.given:
            value = self.given[dof]
            for _ in range(rate):
                value = along_time(value)
            return value
        assert self.array is not None
        coordinate = self.array.symbol(int(self.entries[dof]))
        return (coordinate, coordinate.dot, coordinate.ddot)[rate]

    def node(self, place: sp.Expr) -> int | None:
        """Return the number of the node at a place, if an element ends there by name."""
        first = 0
        for number, end in enumerate(self.breaks):
            if place == end or sp.expand(place - end) == 0:
                return first
            first += self.counts[number] if number < len(self.counts) else 0
        return None

    def dof(self, place: sp.Expr, order: int) -> int | None:
        """Return the degree of freedom that is a value (order 0) or a slope (1) at a place."""
        node = self.node(place)
        if self.basis is None or node is None or order >= self.basis.shared:
            return None
        return node * self.basis.step + order

    def value(self, point: AbstractAtPoint) -> sp.Expr:
        """Return the value at a point, or its rate, in terms of coordinates."""
        if self.basis is None:
            X = self.field.position
            terms = [
                e.diff(X, point.order).subs(X, point.place) * self.expression(k, point.rate)
                for k, e in enumerate(self.shapes)
            ]
            return sp.Add(*terms)
        dof = self.dof(point.place, point.order)
        if dof is None:
            raise StatementError(
                f"'{point}' is no coordinate of this system.",
                f"Points with coordinates: {self.field.position} = "
                f"{', '.join(map(str, self.breaks))}; order below {self.basis.shared}.",
                f"Evaluate it from a result, as in motion.field({self.field})(x, t), or name "
                "the point in the statement.",
            )
        return self.expression(dof, point.rate)

    # -- places -----------------------------------------------------------------------------------

    def positions(self, values: Mapping[str, float]) -> np.ndarray:
        """Return the positions of all nodes at given values of the parameters, by name."""
        at = np.array([position_of(e, values) for e in self.breaks])
        if not np.all(np.diff(at) > 0):
            shown = ", ".join(f"{e} = {x:g}" for e, x in zip(self.breaks, at))
            raise StatementError(
                f"the points of the field '{self.field}' are out of order.",
                f"Found {shown}; expected them to increase.",
                "Choose values of the parameters that keep the order of the statement.",
            )
        pieces = [np.linspace(a, b, n + 1)[1:] for a, b, n in zip(at[:-1], at[1:], self.counts)]
        return np.concatenate([at[:1], *pieces])

    def free_at(self, values: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray]:
        """Return where the coordinates of an elementwise field are values, and of which order."""
        assert self.basis is not None
        nodes, degree = self.positions(values), self.basis.degree
        if self.basis.smooth:
            places, orders = np.repeat(nodes, 2), np.tile([0, 1], len(nodes))
        else:
            inside = nodes[:-1, None] + np.diff(nodes)[:, None] * np.arange(degree) / degree
            places, orders = np.append(inside.ravel(), nodes[-1]), np.zeros(self.size, dtype=int)
        return places[self.free], orders[self.free]


def position_of(e: sp.Expr, values: Mapping[str, float]) -> float:
    """Return a place at given values of the parameters, by name."""
    return float(e.xreplace({s: sp.Float(values[s.name]) for s in e.free_symbols}))  # pyright: ignore[reportAttributeAccessIssue]


def values_by_name(system: Any, values: np.ndarray) -> dict[str, float]:
    """Return the values of a system's parameters by name."""
    return {p.name: float(x) for p, x in zip(system.parameters, values)}


def interpolation_of(system: Any, field: Field) -> Interpolation:
    """Return how a field follows from the coordinates of a system."""
    for interpolation in system.fields:
        if interpolation.field == field.whole:
            return interpolation
    known = ", ".join(f.field.name for f in system.fields)
    raise StatementError(
        f"the system has no field '{field.stem}'.",
        f"Fields: {known or 'none'}.",
        "Use a field of the continuum that was discretized.",
    )


def along(system: Any) -> list[Any]:
    """Return values of fields along their intervals, which tell more than their coordinates."""
    quarters = [sp.Rational(k, 4) for k in range(5)]
    return [f.field.at(first + (last - first) * part) for f in system.fields
            for _, first, last in (f.field.over,) for part in quarters]  # fmt: skip


def point_named(system: Any, name: str) -> Any:
    """Return the value of a field at a node that a name such as ``"u(L).dot"`` stands for."""
    for interpolation in system.fields:
        f = interpolation.field
        for place in interpolation.breaks:
            for order in range(interpolation.basis.shared if interpolation.basis else 1):
                value = PointValue(f.stem, f.over, place, order)
                for symbol in (value, value.dot, value.ddot):
                    if symbol.name == name:
                        return symbol
    return None


def in_coordinates(system: Any, key: Any) -> Any:
    """Replace values of fields at points, or the name of one, by the coordinates of a system."""
    if not system.fields or not isinstance(key, (sp.Basic, str)):
        return key
    e: Any = (point_named(system, key) or key) if isinstance(key, str) else key
    if isinstance(e, str):
        return e
    known = {c.name for c in system.coordinates}
    points = (p for p in points_in(e) if p.value.name not in known)
    swap = {p: interpolation_of(system, p.field).value(p) for p in points}
    return e.xreplace(swap) if swap else e


def over_of(e: sp.Expr) -> tuple:
    """Return the interval of the fields in an expression, or say that they have several."""
    intervals = {f.over for f in fields_in(e)}
    if len(intervals) != 1:
        raise StatementError(
            f"'{str(e)[:60]}' is not a quantity along one interval.",
            f"Found fields over {len(intervals)} intervals.",
            "Give a field, a derivative of one, or an expression of fields over one interval.",
        )
    return intervals.pop()


def course(interpolation: Interpolation, e: Any, values: Mapping[str, float]) -> np.ndarray:
    """Return the entries of the array with which a field has a given course.

    At nodes the field takes the value of the expression and, where slopes are coordinates, its
    slope.

    Parameters
    ----------
    interpolation : Interpolation
    e : number or expression of the position and parameters
    values : dict
        Values of the parameters, by name.
    """
    f = interpolation.field
    if interpolation.basis is None:
        raise StatementError(
            f"start gives the field '{f}', whose shapes are not values at nodes.",
            f"Found {len(interpolation.shapes)} shapes, expected elements.",
            f"Start the coordinates '{f}[0]', '{f}[1]', … themselves.",
        )
    try:
        e = sp.sympify(e, strict=True)
        e = e.xreplace({s: sp.Float(values[s.name]) for s in e.free_symbols if s.name in values})
        known = e.free_symbols <= {f.position}
    except (sp.SympifyError, AttributeError, TypeError):
        known = False
    if not known:
        raise StatementError(
            f"start of the field '{f}' is not an expression of its position.",
            f"Found {str(e)[:60]!r}; expected {f.position}, parameters and numbers.",
            f"Give its course, as in start={{{f}: st.sin(st.pi*{f.position}/L)}}.",
        )
    places, orders = interpolation.free_at(values)
    return np.where(orders, _at(e.diff(f.position), f.position, places), _at(e, f.position, places))


def _at(e: sp.Expr, X: Any, places: np.ndarray) -> np.ndarray:
    values = sp.lambdify([X], e, "numpy")(places)
    return np.broadcast_to(np.asarray(values, dtype=float), places.shape)
