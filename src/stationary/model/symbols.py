"""Coordinates, velocities, parameters, inputs and time, as SymPy symbols."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.printing.latex import translate

from stationary.errors import StatementError, say, spelled
from stationary.model.built_once import shared_in
from stationary.model.graphs import LARGE, nodes, slope, symbols_in, written_out
from stationary.model.numbers import number_of

#: Time. Energies, loads and constraints may depend on it.
t = sp.Symbol("t", real=True)


_Self = TypeVar("_Self", bound="AbstractReal")


class AbstractReal(sp.Symbol):
    """A real symbol known by its class and name alone."""

    if TYPE_CHECKING:
        # Several names come as a tuple of symbols, one as a symbol: what is declared is typed as
        # the symbol, and unpacks into such symbols.
        def __iter__(self: _Self) -> Iterator[_Self]: ...

    # Where SymPy prints it in a product: inputs, constants, coordinates, velocities.
    rank = "c"

    def __new__(cls, name: str, **assumptions):
        """Make the symbol; it is real whatever else is assumed."""
        return super().__new__(cls, name, real=True)

    def __float__(self) -> float:
        raise TypeError(
            say(
                f"'{self}' is a symbol and has no value.",
                f"Found a {type(self).__name__.lower()} where a number is needed, as in math.sin.",
                "Use the functions of stationary, as st.sin, which take every expression.",
            )
        )

    @classmethod
    def class_key(cls):
        """Return what SymPy sorts by before the name."""
        return 2, 0, "Symbol " + cls.rank


class _OfNumpy:
    """What NumPy looks for, and calls, where a function of its own meets a symbol."""

    def __init__(self, name: str):
        self.name = name

    def __get__(self, symbol: AbstractReal | None, kind: type) -> Any:
        def refuse(*arguments: Any) -> None:
            raise StatementError(
                f"np.{self.name} takes numbers, and '{symbol}' is a symbol.",
                f"Found a {kind.__name__.lower()} where a number is needed.",
                f"Use st.{re.sub('^arc', 'a', self.name)}, which takes every expression.",
            )

        return refuse


for _name in ("sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "exp",
              "log", "sqrt", "arctan2"):  # fmt: skip
    setattr(AbstractReal, _name, _OfNumpy(_name))


class Moving(AbstractReal):
    """A coordinate or a derivative of it: it knows where it stands among the coordinates.

    Coordinates stand in the order of their names. One that was declared after another whose name
    comes later carries the name of that other and how many places it stands behind it, as part of
    its identity: the order of a system then follows from its expressions alone, whatever else
    the process has declared.
    """

    after: tuple[str, int] | None = None

    def __new__(cls, name: str, after: tuple[str, int] | None = None, **assumptions):
        """Make the symbol; where it stands is part of its identity."""
        if after is None:
            return super().__new__(cls, name)
        symbol = sp.Symbol.__xnew__(cls, name, real=True)  # pyright: ignore[reportAttributeAccessIssue]
        symbol.after = tuple(after)
        return symbol

    def _hashable_content(self):
        return (*super()._hashable_content(), *(self.after or ("", 0)))

    def __getnewargs_ex__(self):
        return (self.name, self.after), {}


@spelled
class Coordinate(Moving):
    """A generalized coordinate; ``x.dot`` is its velocity, ``x.ddot`` its acceleration.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> x.dot**2 / 2
    x.dot**2/2
    """

    @property
    def dot(self) -> Velocity:
        """The velocity."""
        return Velocity(self.name + ".dot", self.after)

    @property
    def ddot(self) -> Acceleration:
        """The acceleration."""
        return Acceleration(self.name + ".ddot", self.after)

    def _latex(self, printer) -> str:
        return latex_name(self.name)

    def _pretty(self, printer):
        return printer._print_Symbol(sp.Symbol(self.name))


@spelled
class Velocity(Moving):
    """The velocity of a coordinate.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> isinstance(x.dot, st.Velocity), x.dot.of
    (True, x)
    """

    rank = "d"

    @property
    def of(self) -> Coordinate:
        """The coordinate that moves with this velocity."""
        return Coordinate(self.name.removesuffix(".dot"), self.after)

    @property
    def dot(self) -> Acceleration:
        """The acceleration."""
        return self.of.ddot

    def _latex(self, printer) -> str:
        return latex_name(self.of.name, accent="dot")

    def _pretty(self, printer):
        return printer._print_Symbol(sp.Symbol(self.of.name + "dot"))


class Acceleration(Moving):
    """The acceleration of a coordinate."""

    rank = "e"

    @property
    def of(self) -> Coordinate:
        """The coordinate that accelerates."""
        return Coordinate(self.name.removesuffix(".ddot"), self.after)

    def _latex(self, printer) -> str:
        return latex_name(self.of.name, accent="ddot")

    def _pretty(self, printer):
        return printer._print_Symbol(sp.Symbol(self.of.name + "ddot"))


@spelled
class Parameter(AbstractReal):
    """A constant of the system, with or without a default value.

    The default is part of its identity: two systems may give one name different defaults.

    Examples
    --------
    >>> st.parameters(g=9.81).default
    9.81
    """

    rank = "b"
    default: float | None

    def __new__(cls, name: str, default: float | None = None, **assumptions):
        """Make the symbol; the default is part of its identity."""
        parameter = sp.Symbol.__xnew__(cls, name, real=True)  # pyright: ignore[reportAttributeAccessIssue]
        parameter.default = default
        return parameter

    def _hashable_content(self):
        # As text: SymPy sorts symbols by this, and None has no order.
        return (*super()._hashable_content(), repr(self.default))

    def __getnewargs_ex__(self):
        return (self.name, self.default), {}

    def _latex(self, printer) -> str:
        return latex_name(self.name)


@spelled
class Input(AbstractReal):
    """A control: a force, torque or imposed motion whose value is given when the system runs.

    Examples
    --------
    >>> isinstance(st.inputs("F"), st.Input)
    True
    """

    rank = "a"

    def _latex(self, printer) -> str:
        return latex_name(self.name)


def latex_name(name: str, accent: str = "") -> str:
    r"""Write ``theta_1`` as ``\theta_{1}``, ``r[2,0]`` as ``r_{2,0}``; add an accent if asked."""
    stem, _, index = name.partition("[")
    if index:
        subscripts = [index.rstrip("]")]
    else:
        stem, *subscripts = stem.split("_")
        match = re.fullmatch(r"([A-Za-z]+)(\d+)", stem)
        if match and not subscripts:
            stem, subscripts = match[1], [match[2]]
    text = translate(stem) if len(stem) > 1 else stem
    if len(text) > 1 and "\\" not in text:
        # Names of several letters keep their distance in products, as those of functions do.
        text = rf"\mathrm{{{text}}}" if accent else rf"\operatorname{{{text}}}"
    if accent:
        text = rf"\{accent}{{{text}}}"
    if subscripts:
        text += "_{" + ",".join(translate(s) if len(s) > 1 else s for s in subscripts) + "}"
    return text


def declared(text: str, kind: type) -> Any:
    """Return symbols of a kind by their names: one, or a tuple of several."""
    try:
        symbols = sp.symbols(text, cls=kind) if isinstance(text, str) else ()
    except ValueError:
        symbols = ()
    if symbols == ():
        raise StatementError(
            f"{text!r} holds no name of {_indefinite(kind.__name__.lower())}.",
            "Expected names as text, separated by spaces or commas.",
            f"Write them as in st.{kind.__name__.lower()}s('a b').",
        )
    every = symbols if isinstance(symbols, tuple) else (symbols,)
    twice = next((name for name, count in Counter(s.name for s in every).items() if count > 1), "")
    if twice:
        raise StatementError(
            f"{text!r} has one name twice.", f"Found '{twice}' again.", "Give every one its own."
        )
    for symbol in every:
        if symbol.name == "t" or not re.fullmatch(r"\w+", symbol.name):
            raise StatementError(
                f"'{symbol.name}' cannot name {_indefinite(kind.__name__.lower())}.",
                "Names are letters, digits and underscores; 't' is time.",
                "Choose another name.",
            )
    return symbols


def _indefinite(kind: str) -> str:
    return f"an {kind}" if kind == "input" else f"a {kind}"


def natural(name: str) -> list:
    """Return what names are sorted by: q2 comes before q10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def standing(coordinate: Any) -> tuple:
    """Return what coordinates, arrays of them and fields are sorted by."""
    name = coordinate.name
    first, places = getattr(coordinate, "after", None) or (name, 0)
    return natural(first), places, natural(name)


def in_order(coordinates: Iterable[Any]) -> tuple[Any, ...]:
    """Sort coordinates by name; those declared by one call keep the order of that call."""
    return tuple(sorted(coordinates, key=standing))


def declared_together(coordinates: Iterable[Coordinate]) -> tuple[Coordinate, ...]:
    """Return coordinates declared by one call: sorted, they stand in the order of that call."""
    placed: list[Coordinate] = []
    for c in coordinates:
        if placed and standing(c) < standing(placed[-1]):
            first, places = placed[-1].after or (placed[-1].name, 0)
            c = Coordinate(c.name, (first, places + 1))
        placed.append(c)
    return tuple(placed)


def require_expressions(what: str, values: Iterable[Any]) -> None:
    """Refuse what is neither a SymPy expression nor a number: SymPy would run text as a program."""
    for value in values:
        if isinstance(value, (bool, np.bool_)) or not isinstance(
            value, (sp.Expr, int, float, np.integer, np.floating)
        ):
            sides: Any = value
            raise StatementError(
                f"{what} is not an expression.",
                f"Found {type(value).__name__}: {str(value)[:60]!r}; expected an expression of "
                "coordinates, parameters, inputs and st.t.",
                "Give one expression; of an array take its one entry, as in T[0]."
                if isinstance(value, (sp.MatrixBase, np.ndarray, tuple, list))
                else f"Write one side minus the other: {str(sides.lhs - sides.rhs)[:60]}."
                if isinstance(sides, sp.Rel)
                else "Build it from st.coordinates and st.parameters; text is not evaluated.",
            )


@spelled
def parameters(names: str = "", **defaults: float) -> Parameter:
    """Declare constants of a system, by name alone or with default values.

    Parameters
    ----------
    names : str, optional
        Parameters without a default; a value must be given when the system runs.
    **defaults : float
        Parameters with a default.

    Returns
    -------
    Parameter or tuple of Parameter

    Examples
    --------
    >>> k = st.parameters("k")
    >>> m, g = st.parameters(m=1.0, g=9.81)
    >>> g.default
    9.81
    """
    nothing = isinstance(names, str) and not names
    several: Any = () if nothing else declared(names, Parameter)
    several = several if isinstance(several, tuple) else (several,)
    for name, value in defaults.items():
        number = number_of(value)
        if not np.isfinite(number):
            raise StatementError(
                f"the default of parameter '{name}' is not a number.",
                f"Found {value!r}.",
                f"Give a finite number, or leave the default out: st.parameters('{name}').",
            )
        declared(name, Parameter)
        several += (Parameter(name, number),)
    return several[0] if len(several) == 1 else several


@spelled
def inputs(names: str) -> Input:
    """Declare controls: quantities whose course is given when the system runs.

    Examples
    --------
    >>> F = st.inputs("F")
    >>> F
    F
    """
    return declared(names, Input)


def from_dynamicsymbols(expression: sp.Basic, as_inputs: frozenset[str] = frozenset()) -> sp.Basic:
    """Replace SymPy's functions of time by coordinates, velocities and accelerations.

    ``x(t)`` becomes the coordinate ``x``, ``Derivative(x(t), t)`` its velocity. Functions named in
    `as_inputs` become inputs.
    """
    if not any(isinstance(node, AppliedUndef) for node in nodes(expression)):
        return expression
    swap: dict[sp.Basic, sp.Basic] = {}
    for derivative in expression.atoms(sp.Derivative):
        if isinstance(derivative.expr, AppliedUndef):
            swap[derivative] = _time_function(derivative.expr, derivative.derivative_count)
    for function in expression.atoms(AppliedUndef):
        name = function.func.__name__
        swap[function] = Input(name) if name in as_inputs else _time_function(function, 0)
    swap[sp.Symbol("t")] = t
    return expression.xreplace(swap)


def _time_function(function: AppliedUndef, order: int) -> sp.Symbol:
    argument = function.args[0]
    if len(function.args) != 1 or str(argument) != "t" or order > 2:
        raise StatementError(
            f"'{function}' is not a coordinate.",
            "Expected a function of time alone and at most its second derivative.",
            "Declare coordinates with st.coordinates or dynamicsymbols.",
        )
    coordinate = Coordinate(function.func.__name__)
    return (coordinate, coordinate.dot, coordinate.ddot)[order]


@spelled
def rate(expr: Any) -> Any:
    """Differentiate with respect to time, coordinates being functions of time.

    Parameters
    ----------
    expr : expression, or tuple or list of them

    Returns
    -------
    Expression of coordinates, velocities and, where velocities occur, accelerations.

    Examples
    --------
    >>> theta, l = st.coordinates("theta"), st.parameters("l")
    >>> st.rate(l * st.sin(theta))
    l*theta.dot*cos(theta)
    """
    plain = isinstance(expr, (str, bytes, Mapping)) or np.shape(expr) == ()
    if isinstance(expr, Iterable) and not plain:
        return tuple(rate(e) for e in expr)
    require_expressions("what st.rate differentiates", (expr,))
    return along_time(from_dynamicsymbols(sp.S(expr)))


def along_time(expression: Any) -> Any:
    """Differentiate with respect to time whatever moves: all that has a rate."""
    parts = shared_in(expression)
    held = {part: sp.Dummy(real=True) for part in parts}
    plain = expression.xreplace(held) if held else expression
    symbols = symbols_in(plain)
    moving = sorted((s for s in symbols if hasattr(s, "dot")), key=str)
    total = sp.S.Zero
    if t in symbols:
        # What moves is held while time itself passes: fields depend on it, too.
        fixed = {s: sp.Dummy() for s in moving} if written_out(plain) <= LARGE else {}
        passing = slope(plain.xreplace(fixed), t) if fixed else slope(plain, t)
        total = passing.xreplace({d: s for s, d in fixed.items()}) if fixed else passing
    for symbol in moving:
        total += slope(plain, symbol) * symbol.dot
    for part, dummy in held.items():
        total += slope(plain, dummy) * part.rate(along_time)
    return total.xreplace({dummy: part for part, dummy in held.items()}) if held else total
