"""Fields over an interval, their derivatives, and their values at points, as SymPy symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp
from sympy.printing.latex import latex

from stationary.errors import StatementError, spelled
from stationary.model.each import Each
from stationary.model.symbols import (
    AbstractReal,
    Acceleration,
    Coordinate,
    Parameter,
    Velocity,
    declared,
    latex_name,
    t,
)


@spelled
class Position(AbstractReal):
    """A position along a continuum: what fields and densities depend on.

    Examples
    --------
    >>> isinstance(st.positions("X"), st.Position)
    True
    """

    def _latex(self, printer) -> str:
        return latex_name(self.name)


# Derivatives of a higher order have no place in mechanics.
_MOST = 12


@spelled
class Field(AbstractReal):
    """A field u(X, t) over an interval, or a derivative of it; a symbol in densities.

    ``u.dot`` and ``u.ddot`` are its derivatives by time, ``u.diff(X)`` and ``u.diff(X, 2)`` those
    by position, ``u.at(L)``, or ``u(L)``, is its value at a point.

    Attributes
    ----------
    stem : str
        Name of the field itself.
    over : tuple
        Position, first end, last end.
    order, rate : int
        How often it is differentiated by position and by time.

    Examples
    --------
    >>> X, L = st.positions("X"), st.parameters("L")
    >>> u = st.field("u", over=(X, 0, L))
    >>> u.dot, u.diff(X), u.diff(X, 2), u.diff(X).dot
    (u.dot, u', u'', u'.dot)
    >>> u.at(L), u.at(L).dot, u.diff(X).at(0)
    (u(L), u(L).dot, u'(0))
    >>> u(L) == u.at(L), u.dot(L) == u.at(L).dot
    (True, True)
    """

    rank = "d"
    stem: str
    over: tuple[Position, sp.Expr, sp.Expr]
    order: int
    rate: int

    def __new__(cls, stem: str, over: tuple, order: int = 0, rate: int = 0, **assumptions):
        """Make the symbol; the interval is part of its identity."""
        name = stem + "'" * order + _dots(rate)
        symbol = sp.Symbol.__xnew__(cls, name, real=True)  # pyright: ignore[reportAttributeAccessIssue]
        symbol.stem, symbol.over, symbol.order, symbol.rate = stem, tuple(over), order, rate
        return symbol

    def _hashable_content(self):
        return (*super()._hashable_content(), *self.over)

    def __getnewargs_ex__(self):
        return (self.stem, self.over, self.order, self.rate), {}

    @property
    def position(self) -> Position:
        """The position that it depends on."""
        return self.over[0]

    @property
    def ends(self) -> tuple[sp.Expr, sp.Expr]:
        """First and last end of its interval."""
        return self.over[1], self.over[2]

    @property
    def whole(self) -> Field:
        """The field that this is a derivative of."""
        return Field(self.stem, self.over)

    @property
    def free_symbols(self) -> set:
        """The symbol, its position and time: densities are differentiated by them as on paper."""
        return {self, self.position, t}

    @property
    def dot(self) -> Field:
        """The derivative by time."""
        return Field(self.stem, self.over, self.order, self.rate + 1)

    @property
    def ddot(self) -> Field:
        """The second derivative by time."""
        return self.dot.dot

    def _eval_derivative_n_times(self, s, n):
        if s == self.position:
            return Field(self.stem, self.over, self.order + int(n), self.rate)
        if s == t:
            return Field(self.stem, self.over, self.order, self.rate + int(n))
        return super()._eval_derivative_n_times(s, n)

    def _eval_derivative(self, s):
        return self._eval_derivative_n_times(s, 1)

    def diff(self, *_by: Any, **_options: Any) -> Any:
        """Differentiate by the position, as often as a number behind it says."""
        flat = [e for s in _by for e in (s if isinstance(s, (tuple, sp.Tuple)) else (s,))]
        counts = [n for n in flat if isinstance(n, (int, sp.Integer)) and not isinstance(n, bool)]
        symbols = [s for s in flat if isinstance(s, sp.Symbol)]
        fits = len(counts) + len(symbols) == len(flat) and all(0 <= n <= _MOST for n in counts)
        if not fits or not isinstance(next(iter(flat), None), sp.Symbol):
            raise StatementError(
                f"the field '{self}' is not told by what it is differentiated.",
                f"Found {', '.join(str(s)[:40] for s in _by) or 'nothing'}; expected "
                f"{self.position}, and how often.",
                f"Write {self}.diff({self.position}) or {self}.diff({self.position}, 2).",
            )
        return super().diff(*_by, **_options)

    def at(self, place: Any, side: str = "") -> Any:
        """Return the value at a point of the interval.

        Parameters
        ----------
        place : expression
            A number or an expression of parameters, inside the interval.
        side : "", "-" or "+"
            Which limit is meant, where a derivative jumps.

        Returns
        -------
        PointValue
            A coordinate; its velocity is ``u.at(L).dot``.
        """
        place = self._place(place)
        value = PointValue(self.stem, self.over, place, self.order, side)
        return (value, value.dot, value.ddot)[self.rate]

    def __call__(self, place: Any) -> Any:
        """Return the value at a point, as ``at`` does: ``u(L)`` is written as it is printed."""
        return self.at(place)

    def _place(self, place: Any) -> sp.Expr:
        if isinstance(place, (bool, str)) or not isinstance(
            place, (sp.Expr, int, float, np.integer, np.floating)
        ):
            raise StatementError(
                f"the place of '{self.name}.at' is not a position.",
                f"Found {type(place).__name__}: {str(place)[:60]!r}.",
                "Give a number or an expression of parameters, as in u.at(L).",
            )
        position = sp.S(place)
        first, last = self.ends
        for end in (first, last):
            if position == end or (position - end).is_zero or sp.expand(position - end) == 0:
                return end
        strange = [s for s in position.free_symbols if not isinstance(s, Parameter)]
        if strange:
            raise StatementError(
                f"the place of '{self.name}.at' is not a fixed point.",
                f"Found '{strange[0]}' in {position}; expected numbers and parameters.",
                f"Use '{self.name}' itself in a density.",
            )
        value, low, high = (default_of(e) for e in (position, first, last))
        below = value is not None and low is not None and value < low
        above = value is not None and high is not None and value > high
        # Twice the length is outside, whatever the length.
        share = sp.cancel((position - first) / (last - first))
        beyond = share.is_number and not 0 <= float(share) <= 1
        if below or above or beyond:
            raise StatementError(
                f"'{self.name}' is not defined at {self.position} = {_text(position)}.",
                f"Found a place outside its interval, from {first} to {last}.",
                "Choose a point of the interval, ends included.",
            )
        return position

    def _latex(self, printer) -> str:
        return _latex_field(self.stem, self.order, self.rate)


class AbstractAtPoint:
    """What value, rate and acceleration of a field at a point have in common."""

    name: str
    stem: str
    over: tuple[Position, sp.Expr, sp.Expr]
    place: sp.Expr
    order: int
    side: str
    #: How often it is differentiated by time.
    rate = 0

    def __new__(
        cls, stem: str, over: tuple, place: sp.Expr, order: int = 0, side: str = "", **assumptions
    ):
        """Make the symbol; the interval and the place are part of its identity."""
        primes, shown = "'" * order, _text(place)
        name = f"{stem}{primes}({shown}{side})" + _dots(cls.rate)
        symbol = sp.Symbol.__xnew__(cls, name, real=True)  # pyright: ignore[reportAttributeAccessIssue]
        symbol.stem, symbol.over, symbol.place = stem, tuple(over), sp.sympify(place, strict=True)
        symbol.order, symbol.side = order, side
        return symbol

    def _hashable_content(self):
        return (*super()._hashable_content(), *self.over, self.place)  # pyright: ignore[reportAttributeAccessIssue]

    def __getnewargs_ex__(self):
        return (self.stem, self.over, self.place, self.order, self.side), {}

    def _like(self, kind: Any) -> Any:
        return kind(self.stem, self.over, self.place, self.order, self.side)

    @property
    def value(self) -> PointValue:
        """The value at the point, a coordinate."""
        return self._like(PointValue)

    @property
    def field(self) -> Field:
        """The field, or derivative of a field, whose value this is."""
        return Field(self.stem, self.over, self.order, self.rate)

    def _latex(self, printer) -> str:
        end = {"-": "^{-}", "+": "^{+}"}.get(self.side, "")
        return _latex_field(self.stem, self.order, self.rate) + rf"({latex(self.place)}{end})"

    def _pretty(self, printer):
        return printer._print_Symbol(sp.Symbol(self.name))


class PointValue(AbstractAtPoint, Coordinate):
    """The value of a field, or of its derivative, at a point: a coordinate like any other."""

    @property
    def dot(self) -> PointRate:
        """The velocity."""
        return self._like(PointRate)

    @property
    def ddot(self) -> PointAcceleration:
        """The acceleration."""
        return self._like(PointAcceleration)


class PointRate(AbstractAtPoint, Velocity):
    """The velocity of a field, or of its derivative, at a point."""

    rate = 1

    @property
    def of(self) -> PointValue:
        """The value that moves with this velocity."""
        return self.value

    @property
    def dot(self) -> PointAcceleration:
        """The acceleration."""
        return self._like(PointAcceleration)


class PointAcceleration(AbstractAtPoint, Acceleration):
    """The acceleration of a field, or of its derivative, at a point."""

    rate = 2

    @property
    def of(self) -> PointValue:
        """The value that accelerates."""
        return self.value


@spelled
def positions(names: str) -> Position:
    """Declare positions along continua.

    Parameters
    ----------
    names : str
        Names separated by spaces or commas. One name gives one symbol, several a tuple.

    Returns
    -------
    Position or tuple of Position

    Examples
    --------
    >>> st.positions("X")
    X
    """
    return declared(names, Position)


@spelled
def field(name: str, *, over: tuple) -> Field:
    """Declare a field over an interval.

    Parameters
    ----------
    name : str
    over : tuple
        The position and the two ends of the interval: ``(X, 0, L)``. Ends are numbers or
        expressions of parameters.

    Returns
    -------
    Field
        ``u.dot``, ``u.diff(X)`` and so on stand in densities; ``u.at(L)`` is the value at a point.

    Examples
    --------
    >>> X, L = st.positions("X"), st.parameters(L=2.0)
    >>> w = st.field("w", over=(X, 0, L))
    >>> w.diff(X, 2) ** 2
    w''**2
    """
    symbols = declared(name, Coordinate)
    if isinstance(symbols, tuple):
        raise StatementError(
            "a field has one name.",
            f"Found {len(symbols)} names: {name!r}.",
            "Declare each field in a call of its own.",
        )
    try:
        position, *ends = over
        first, last = (sp.S(e) for e in ends)
    except (TypeError, ValueError, sp.SympifyError):
        position, first, last = None, sp.S.Zero, sp.S.Zero
    if not isinstance(position, Position):
        raise StatementError(
            f"the interval of the field '{name}' is not one.",
            f"Found over={str(over)[:60]}; expected a position and two ends.",
            "Declare X = st.positions('X') and pass over=(X, 0, L).",
        )
    strange = [s for e in (first, last) for s in e.free_symbols if not isinstance(s, Parameter)]
    if strange:
        raise StatementError(
            f"an end of the field '{name}' is not a fixed point.",
            f"Found '{strange[0]}' in ({first}, {last}); expected numbers and parameters.",
            "Give both ends as numbers or as expressions of st.parameters.",
        )
    low, high = default_of(first), default_of(last)
    if first == last or (low is not None and high is not None and not low < high):
        raise StatementError(
            f"the interval of the field '{name}' is empty.",
            f"Found {first} to {last}; expected a first end before a last one.",
            "Give them in order, as in over=(X, 0, L).",
        )
    return Field(name, (position, first, last))


def default_of(e: sp.Expr) -> float | None:
    """Return the value of an expression of parameters at their defaults, if all have one."""
    swap = {s: s.default for s in e.free_symbols if isinstance(s, Parameter)}
    if any(value is None for value in swap.values()):
        return None
    value = e.xreplace({s: sp.Float(v) for s, v in swap.items()})
    return float(value) if value.is_number else None


def fields_in(e: sp.Basic) -> set[Field]:
    """Return the fields and derivatives of fields that an expression contains."""
    return e.atoms(Field)


def points_in(e: sp.Basic) -> set[Any]:
    """Return the values and rates of fields at points that an expression contains."""
    return e.atoms(AbstractAtPoint)


def symbols_in(e: sp.Expr) -> set[sp.Symbol]:
    """Return the symbols of an expression, without what fields depend on."""
    sums = e.atoms(Each)
    shared = set().union(*(r.shared for r in sums)) if sums else set()
    return shared | e.atoms(sp.Symbol)


def _text(e: sp.Expr) -> str:
    return sp.sstr(e, full_prec=False)


def _dots(rate: int) -> str:
    return ("", ".dot", ".ddot")[rate] if rate < 3 else "." + "d" * rate + "ot"


def _latex_field(stem: str, order: int, rate: int) -> str:
    accent = {0: "", 1: "dot", 2: "ddot", 3: "dddot"}.get(rate, "ddddot")
    return latex_name(stem, accent=accent) + "'" * order
