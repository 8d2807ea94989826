"""Fields of results: functions of position, and of time, that are evaluated anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse
import sympy as sp

from stationary.derive.from_sympy import Translator
from stationary.errors import StatementError, spelled
from stationary.lower.inputs import translate
from stationary.lower.kernel import graph_of
from stationary.model.fields import Field, Position, fields_in, points_in
from stationary.model.interpolation import (
    Interpolation,
    in_coordinates,
    interpolation_of,
    over_of,
    position_of,
    values_by_name,
)
from stationary.model.layout import Layout
from stationary.model.numbers import as_real
from stationary.model.symbols import Coordinate, Parameter, Velocity
from stationary.model.symbols import t as time
from stationary.model.system import System
from stationary.result.views import AbstractTravels, found_once, show

# Points of Gauss's rule in each element, and in the whole interval where there are none.
_POINTS, _POINTS_OF_SHAPES = 6, 96

#: States of a system: times, coordinates, velocities; the first axis is time.
States = tuple[np.ndarray, np.ndarray, np.ndarray]


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class FieldFunction(AbstractTravels):
    """A field of a result, or an expression of fields such as a stress or a moment.

    Call it with positions, and with times if it moves: ``motion.field(u)(x, t)`` has one row per
    position and one column per time; numbers instead of arrays leave their axis out.

    Attributes
    ----------
    of : Motion, Slide or Equilibrium
        The result whose field it is.
    expression : expression
    moves : bool
        Whether it changes with time.

    Examples
    --------
    >>> X = st.positions("X")
    >>> u = st.field("u", over=(X, 0, 2))
    >>> bar = st.Continuum(
    ...     potential=u.diff(X) ** 2 / 2, work=u, fixed={u.at(0): 0, u.at(2): 0}
    ... )
    >>> rest = st.statics(st.discretize(bar, elements=8, degree=2))
    >>> rest.field(u)([0.5, 1.0]).round(9), round(float(rest.field(u.diff(X))(0.5)), 9)
    (array([0.375, 0.5  ]), 0.5)
    """

    of: Any
    expression: sp.Expr
    moves: bool = True

    @found_once
    def layout(self) -> Layout:
        """Where every name stands."""
        return graph_of(self.of.system).layout

    def _states(self, times: np.ndarray | None) -> States:
        """Return times, coordinates and velocities: of what rests, those of one time."""
        if not np.ndim(self.of.t):
            return np.array([self.of.t]), self.of.q[None, :], np.zeros((1, len(self.of.q)))
        motion = self.of if times is None else self.of.at(times)
        return motion.t, motion.q, motion.v

    @property
    def values(self) -> np.ndarray:
        """Values of the parameters."""
        return self.of.params

    @property
    def name(self) -> str:
        """Name of the system."""
        return self.of.system.name

    # -- where it is known ------------------------------------------------------------------------

    @found_once
    def _over(self) -> tuple:
        return over_of(self.expression)

    @found_once
    def _named(self) -> dict[str, float]:
        return values_by_name(self.layout.system, self.values)

    @found_once
    def _first(self) -> Interpolation:
        return interpolation_of(self.layout.system, min(fields_in(self.expression), key=str))

    @property
    def position(self) -> Position:
        """The position that it depends on."""
        return self._over[0]

    @found_once
    def nodes(self) -> np.ndarray:
        """Positions at which elements end."""
        return self._first.positions(self._named)

    @property
    def ends(self) -> tuple[float, float]:
        """First and last position."""
        return float(self.nodes[0]), float(self.nodes[-1])

    # -- values -----------------------------------------------------------------------------------

    def __call__(self, x: Any, t: Any = None) -> Any:
        """Return values at positions, and times if the result moves.

        Parameters
        ----------
        x : float or array
            Positions inside the interval.
        t : float or array, optional
            Times inside the motion; all its output times when left out.
        """
        places = as_real(x)
        low, high = self.ends
        slack = 1e-12 * (high - low)
        if not np.all((places >= low - slack) & (places <= high + slack)):
            raise StatementError(
                f"the field '{self.expression}' is not known at that position.",
                f"Found {str(places)[:60]}, expected positions from {low:g} to {high:g}.",
                "Give positions of its interval.",
            )
        times = self._times(t)
        values = self._evaluate(places.ravel(), times)
        if not self.moves:
            return _plain(values[:, 0].reshape(places.shape))
        shape = () if t is not None and np.ndim(t) == 0 else (values.shape[1],)
        return _plain(values.reshape((*places.shape, *shape)))

    def _times(self, t: Any) -> np.ndarray | None:
        if t is None:
            return None
        if not self.moves:
            raise StatementError(
                f"the field '{self.expression}' of a state of rest has no times.",
                f"Found t = {str(t)[:40]}.",
                "Give positions alone.",
            )
        return np.atleast_1d(np.asarray(t, dtype=float)).ravel()

    def integral(self, t: Any = None) -> Any:
        """Return the integral over the interval, at all times if the result moves."""
        nodes = self.nodes
        points = _POINTS if self._first.basis is not None else _POINTS_OF_SHAPES
        xi, w = np.polynomial.legendre.leggauss(points)
        h = np.diff(nodes)
        places = (nodes[:-1, None] + h[:, None] * (xi + 1) / 2).ravel()
        weights = (h[:, None] * w / 2).ravel()
        integrals = weights @ self._evaluate(places, self._times(t))
        one = not self.moves or (t is not None and np.ndim(t) == 0)
        return _plain(integrals[0] if one else integrals)

    def _evaluate(self, places: np.ndarray, times: np.ndarray | None) -> np.ndarray:
        """Return values, shape (positions, times)."""
        states = self._states(times)
        jets = sorted(fields_in(self.expression), key=str)
        values = {f: self._jet(f, places, states) for f in jets}
        if self.expression in values:
            return values[self.expression]  # pyright: ignore[reportArgumentType]
        return self._composed(values, places, states)

    def _jet(self, f: Field, places: np.ndarray, states: States) -> np.ndarray:
        interpolation = interpolation_of(self.layout.system, f)
        dofs = degrees_of_freedom(self.layout, interpolation, f.rate, states, self.values)
        return matrix(interpolation, f.order, places, self._named) @ dofs.T

    def _composed(self, values: dict, places: np.ndarray, states: States) -> np.ndarray:
        """Evaluate an expression of fields, positions, time, coordinates and parameters."""
        t, q, v = states
        e = in_coordinates(self.layout.system, self.expression)
        shape = (len(places), len(t))
        known: dict[sp.Symbol, np.ndarray] = {}
        parameters = {p.name: x for p, x in zip(self.layout.system.parameters, self.values)}
        for s in sorted(e.atoms(sp.Symbol), key=str):
            if isinstance(s, Field):
                known[s] = values[s]
            elif isinstance(s, Position):
                known[s] = np.broadcast_to(places[:, None], shape)
            elif s == time:
                known[s] = np.broadcast_to(t, shape)
            elif isinstance(s, (Coordinate, Velocity)):
                at, order = self.layout.resolve(s, "the expression")
                known[s] = np.broadcast_to((v if order else q)[:, int(at)], shape)
            elif isinstance(s, Parameter) and s.name in parameters:
                known[s] = np.broadcast_to(parameters[s.name], shape)
            else:
                raise StatementError(
                    f"'{self.expression}' uses '{s}', which this result does not know.",
                    f"Known: fields, {self._over[0]}, st.t, coordinates, "
                    f"{', '.join(parameters) or 'no parameters'}.",
                    "Replace it by its value.",
                )
        symbols = {s: ca.SX.sym(s.name) for s in known}
        f = ca.Function("f", list(symbols.values()), [Translator(symbols)(e) + ca.SX(0)])
        evaluated = f(*(np.ascontiguousarray(x).reshape(1, -1) for x in known.values()))
        return np.asarray(ca.DM(evaluated)).reshape(shape)

    # -- pictures ---------------------------------------------------------------------------------

    def plot(self):
        """Draw it over position, and over time if it moves.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return show("field", "plot")(self)

    def animate(self, path: Any = None, *, fps: int = 25):
        """Draw its course moving; save as GIF or HTML if a path is given.

        Returns
        -------
        matplotlib.animation.FuncAnimation
        """
        return show("field", "animate")(self, path, fps=fps)

    def __repr__(self) -> str:
        low, high = self.ends
        over = "position and time" if self.moves else "position"
        return f"Field {self.expression} over {self._over[0]} = {low:g} … {high:g}: of {over}"


def checked(layout: Layout, e: Any) -> sp.Expr:
    """Take a field or an expression of fields; refuse what cannot be evaluated."""
    if not isinstance(e, sp.Expr) or not fields_in(e):
        known = ", ".join(f.field.name for f in layout.system.fields)
        raise StatementError(
            f"{str(e)[:60]!r} is not a field or an expression of fields.",
            f"Fields of this system: {known or 'none'}.",
            "Ask for a field, as in motion.field(u), or use motion[…] for coordinates.",
        )
    over_of(e)
    for f in fields_in(e):
        interpolation = interpolation_of(layout.system, f)
        if f.rate > 1:
            raise StatementError(
                f"the acceleration '{f}' is not among the states of a result.",
                "Expected fields, their derivatives by position, and first rates.",
                "Differentiate the rate numerically, or use the field equation.",
            )
        if interpolation.basis is not None and f.order > interpolation.basis.degree:
            raise StatementError(
                f"elements of degree {interpolation.basis.degree} have no '{f}'.",
                f"Their derivatives of order {f.order} vanish, whatever the field does.",
                "Discretize with a higher degree.",
            )
    return e


def at_points(system: System, key: Any, values: np.ndarray) -> Any:
    """Replace values of fields, at nodes or between them, by the coordinates of a system."""
    if not isinstance(key, sp.Basic) or not system.fields:
        return in_coordinates(system, key)
    known, between = values_by_name(system, values), {}
    for point in points_in(key):
        field = interpolation_of(system, point.field)
        named = any(point.value.name == c.name for c in system.coordinates)
        if named or field.basis is None or field.node(point.place) is not None:
            continue
        nodes, place = field.positions(known), position_of(point.place, known)
        if not nodes[0] <= place <= nodes[-1]:
            raise StatementError(
                f"the field '{point.field}' is not known at that position.",
                f"Found {point}, expected positions from {nodes[0]:g} to {nodes[-1]:g}.",
                "Give positions of its interval.",
            )
        row = matrix(field, point.order, np.array([place]), known).tocoo()
        between[point] = sp.Add(
            *(x * field.expression(int(k), point.rate) for k, x in zip(row.col, row.data) if x)
        )
    return in_coordinates(system, key.xreplace(between))


def matrix(
    interpolation: Interpolation, order: int, places: np.ndarray, values: dict[str, float]
) -> Any:
    """Return what takes degrees of freedom to values at places, shape (places, dofs).

    Where a derivative jumps, between elements, it is that of the element behind.
    """
    if interpolation.basis is None:
        X = interpolation.field.position
        rows = []
        for e in interpolation.shapes:
            e = e.diff(X, order)
            e = e.xreplace({s: sp.Float(values[s.name]) for s in e.free_symbols if s != X})
            sampled = sp.lambdify([X], e, "numpy")(places)
            rows.append(np.broadcast_to(np.asarray(sampled, dtype=float), places.shape))
        return np.array(rows).T
    nodes = interpolation.positions(values)
    element = np.clip(np.searchsorted(nodes, places, "right") - 1, 0, interpolation.elements - 1)
    h = np.diff(nodes)[element]
    local = interpolation.basis.values(order, (places - nodes[element]) / h)
    local = local * h[:, None] ** (np.array(interpolation.basis.powers) - order)
    rows = np.repeat(np.arange(len(places)), local.shape[1])
    columns = interpolation.table[element].ravel()
    return sparse.csr_matrix(
        (local.ravel(), (rows, columns)), shape=(len(places), interpolation.size)
    )


def degrees_of_freedom(
    layout: Layout, interpolation: Interpolation, rate: int, states: States, values: np.ndarray
) -> np.ndarray:
    """Return the degrees of freedom of a field, or their rates, shape (times, dofs)."""
    t, q, v = states
    degrees = np.zeros((len(t), interpolation.size))
    if interpolation.array is not None:
        degrees[:, interpolation.free] = (v if rate else q)[:, layout.place(interpolation.array)]
    held = list(interpolation.given)
    if held:
        n = layout.system.size
        T, Q, V = ca.SX.sym("t"), ca.SX.sym("q", n), ca.SX.sym("v", n)
        P = ca.SX.sym("p", len(values))
        several = [translate(interpolation.expression(k, rate), layout, T, Q, V, P) for k in held]
        f = ca.Function("given", [T, Q, V, P], [ca.vertcat(*several) + ca.SX(len(held), 1)])
        degrees[:, held] = np.asarray(f(t[None, :], q.T, v.T, values)).reshape(len(held), -1).T
    return degrees


def _plain(array: np.ndarray) -> Any:
    return float(array) if np.ndim(array) == 0 else array
