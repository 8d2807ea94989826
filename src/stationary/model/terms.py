"""The terms of a statement that are not energies: loads, friction, constraints, contacts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import sympy as sp

from stationary.errors import StatementError, say, spelled
from stationary.model.arrays import Array
from stationary.model.contents import contents
from stationary.model.each import Each, Table
from stationary.model.symbols import rate, require_expressions

Vector = tuple[sp.Expr, ...]


def expression(value: Any, what: str) -> sp.Expr:
    """Take a SymPy expression or a number; refuse anything else by name."""
    require_expressions(what, (value,))
    taken = sp.S(value)
    strange = contents(taken).unphysical
    if strange - {sp.I}:
        raise StatementError(f"{what} is not finite.", f"Found {taken}.", "Check its constants.")
    if strange:
        raise StatementError(
            f"{what} is not real.",
            f"Found {text(taken)[:80]}, which contains √−1.",
            "Look for the root or the logarithm of a negative number.",
        )
    return taken


def vector(value: Any, what: str) -> Vector:
    """Take one expression or several; return a tuple."""
    if isinstance(value, (tuple, list, Array, np.ndarray, sp.MatrixBase)):
        if not len(value):
            raise StatementError(
                f"{what} is empty.",
                f"Found {value!r}, expected one expression or several.",
                "Give what it consists of, or leave the term out.",
            )
        return tuple(expression(entry, what) for entry in value)
    return (expression(value, what),)


@dataclass(frozen=True)
class AbstractTerm(ABC):
    """What all terms share: a name, expressions that are changed as one, and rows to repeat over.

    Attributes
    ----------
    table : Table, optional
        The rows over which it repeats; its expressions are then those of one row.
    """

    table: Table | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def stated(self) -> str:
        """The term in one line, without its rows."""

    def apply(self, change: Callable[[sp.Expr], sp.Expr]):
        """Return the term with every expression of it changed."""

        def changed(value):
            if isinstance(value, tuple):
                return tuple(change(v) for v in value)
            return change(value) if isinstance(value, sp.Expr) else value

        return replace(self, **{f.name: changed(getattr(self, f.name)) for f in fields(self)})

    def named(self, name: str | None):
        """Return the term under another name."""
        return replace(self, name=name)  # pyright: ignore[reportCallIssue]  # every term has one

    def expressions(self) -> list[sp.Expr]:
        """Every expression of the term."""
        every: list[sp.Expr] = []
        self.apply(lambda e: every.append(e) or e)
        return every

    def row(self, i: int) -> Any:
        """Return the term of one row."""
        if self.table is None:
            return self
        values = self.table.row(i)
        return replace(self, table=None).apply(lambda e: e.xreplace(values))

    def written_out(self) -> list[Any]:
        """Return the term of every row, in order."""
        return [self.row(i) for i in range(1 if self.table is None else self.table.rows)]

    def __radd__(self, other):
        # A list of terms takes one more.
        return [*_listed(self, other), self]

    def __add__(self, other):
        return [self, *_listed(self, other)]

    def __str__(self) -> str:
        rows = "" if self.table is None else f"  (i = 0..{self.table.rows - 1})"
        return self.stated + rows


def _listed(term: AbstractTerm, other: Any) -> list[Any]:
    if not isinstance(other, list):
        words = (
            f"a {type(term).__name__.lower()} adds to a list of such terms.",
            f"Found {type(other).__name__}: {str(other)[:60]!r}.",
            "Give a list of terms to st.System.",
        )
        raise TypeError(say(*words))
    return other


def _set(term: Any, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(term, name, value)


# Numbers with more digits were computed, not typed: so many of them tell which they are.
_TYPED, _TOLD = 9, 6


def text(e: sp.Expr) -> str:
    """Write an expression with its numbers as they were typed, and few digits of computed ones."""
    return sp.sstr(shortened(e), full_prec=False)


def shortened(e: Any) -> Any:
    """Return an expression to read, with few digits of numbers that nobody has typed.

    Examples
    --------
    >>> from stationary.model.terms import shortened
    >>> x = st.coordinates("x")
    >>> print(shortened(x / 3.0 + 9.80665))
    0.333333*x + 9.80665
    """
    swap = {}
    for number in sp.S(e).atoms(sp.Float):
        digits = repr(float(number)).partition("e")[0].replace(".", "").strip("-0")
        if len(digits) > _TYPED:
            swap[number] = sp.Float(f"{float(number):.{_TOLD}g}", _TOLD)
    return sp.S(e).xreplace(swap) if swap else e


# A contact slips in space at most.
_MOST_SLIPS = 3


def _equated(name: str | None, entries: Vector) -> str:
    return f"{f'{name}: ' if name else ''}{_plain(entries)} = 0"


def _plain(entries: Vector) -> str:
    return text(entries[0]) if len(entries) == 1 else f"({', '.join(map(text, entries))})"


def _rate(entries: Vector) -> str:
    inside = _plain(entries)
    return f"d/dt ({inside})" if len(entries) == 1 and entries[0].is_Add else f"d/dt {inside}"


def _not_negative(e: sp.Expr, what: str = "the limit of a friction term") -> sp.Expr:
    """Refuse a number below zero: friction would push along."""
    if e.is_number and float(e) < 0:
        raise StatementError(
            f"{what} is negative.",
            f"Found {text(e)}; friction acts against the motion, and its size is positive.",
            "Give zero or a positive number; the direction follows from the motion.",
        )
    return e


@spelled
@dataclass(frozen=True)
class Load(AbstractTerm):
    """A force and what it works on: δW = force · δ(on).

    Parameters
    ----------
    force : expression or tuple
        May depend on coordinates, velocities, time, parameters and inputs.
    on : expression or tuple
        Expression of the coordinates whose variation the force works along; as many entries as
        `force`. A torque works on an angle.
    name : str, optional

    Examples
    --------
    >>> x, theta = st.coordinates("x theta")
    >>> F, l = st.inputs("F"), st.parameters("l")
    >>> print(st.Load(F, on=x + l * st.sin(theta)))
    δW = F δ(l*sin(theta) + x)
    """

    force: Any
    on: Any
    name: str | None = None

    def __post_init__(self):
        force = vector(self.force, "the force of a load")
        on = vector(self.on, "what a load works on")
        if len(force) != len(on):
            raise StatementError(
                "a load's force and what it works on must have the same number of entries.",
                f"Found {len(force)} and {len(on)}.",
                "Give both as expressions, or both as tuples of equal length.",
            )
        _set(self, force=force, on=on)

    @property
    def stated(self) -> str:
        """The term in one line, without its rows."""
        forces = (f"({text(f)})" if f.is_Add else text(f) for f in self.force)
        terms = (f"{f} δ({text(on)})" for f, on in zip(forces, self.on))
        return "δW = " + " + ".join(terms)


@spelled
@dataclass(frozen=True)
class Friction(AbstractTerm):
    """Dry friction of size `limit` against the rate of `on`.

    Parameters
    ----------
    limit : expression
        Its size while it slides; may depend on coordinates, time, parameters and the rate of `on`.
    on : expression or tuple
    static : expression, optional
        The larger limit at rest; the same if it is left out.
    name : str, optional

    Examples
    --------
    >>> x, y = st.coordinates("x y")
    >>> print(st.Friction(2.5, on=(x, y), name="table"))
    table: friction up to 2.5 against d/dt (x, y)
    """

    limit: Any
    on: Any
    name: str | None = None
    static: Any = None

    def __post_init__(self):
        static = self.static
        _set(
            self,
            limit=_not_negative(expression(self.limit, "the limit of a friction term")),
            on=vector(self.on, "what friction works on"),
            static=None
            if static is None
            else _not_negative(expression(static, "the static limit of a friction term")),
        )
        if self.static is not None and self.static.is_number and self.limit.is_number:
            if float(self.static) < float(self.limit):
                raise StatementError(
                    "the limit of a friction term at rest is below that in motion.",
                    f"Found static={text(self.static)} beside limit={text(self.limit)}.",
                    "Give the larger one as static, or leave it out.",
                )

    @property
    def stated(self) -> str:
        """The term in one line, without its rows."""
        prefix = f"{self.name}: " if self.name else ""
        rest = "" if self.static is None else f", at rest up to {text(self.static)},"
        return f"{prefix}friction up to {text(self.limit)}{rest} against {_rate(self.on)}"


@spelled
@dataclass(frozen=True)
class Drag(AbstractTerm):
    """A force η|v|ⁿ against the velocity v = d(on)/dt; n = 1 is viscous, n = 2 quadratic.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> print(st.Drag(0.1, 2, on=x))
    drag 0.1 |v|**2 against v = d/dt x
    """

    eta: Any
    power: Any
    on: Any
    name: str | None = None

    def __post_init__(self):
        _set(
            self,
            eta=expression(self.eta, "the coefficient of a drag term"),
            power=expression(self.power, "the power of a drag term"),
            on=vector(self.on, "what drag works on"),
        )

    @property
    def potential(self) -> sp.Expr:
        """The dissipation potential η|v|ⁿ⁺¹/(n+1), whose slope is the force."""
        speed_squared = sp.Add(*(sp.S(rate(x)) ** 2 for x in self.on))
        order = self.power + 1
        return self.eta * speed_squared ** (order / 2) / order

    @property
    def stated(self) -> str:
        """The term in one line, without its rows."""
        prefix = f"{self.name}: " if self.name else ""
        size = f"{text(self.eta)} |v|**{text(self.power)}"
        return f"{prefix}drag {size} against v = {_rate(self.on)}"


@spelled
@dataclass(frozen=True)
class Constraint(AbstractTerm):
    """A holonomic constraint R(q, t) = 0; a tuple states several under one name.

    Parameters
    ----------
    R : expression or tuple
    name : str, optional
    quaternion : tuple of Coordinate
        The entries of a quaternion, the real one first, that R keeps at length one: an orientation,
        with three freedoms, for which q and −q are one.

    Examples
    --------
    >>> x, y = st.coordinates("x y")
    >>> print(st.Constraint(x**2 + y**2 - 1, name="circle"))
    circle: x**2 + y**2 - 1 = 0
    """

    R: Any
    name: str | None = None
    quaternion: tuple[Any, ...] = ()

    def __post_init__(self):
        _set(self, R=vector(self.R, "a constraint"), quaternion=tuple(self.quaternion))
        if self.quaternion and not self._keeps_length_one():
            raise StatementError(
                "a constraint that states a quaternion does not keep it at length one.",
                f"Found {_plain(self.R)} = 0 and the entries {_plain(self.quaternion)}.",
                "Give four coordinates a, b, c, d and a**2 + b**2 + c**2 + d**2 - 1.",
            )

    def _keeps_length_one(self) -> bool:
        """Tell by a few points whether R is the length of the quaternion, squared, less one."""
        if len(set(self.quaternion)) != 4 or len(self.R) != 1:
            return False
        points = {(1, 2, 2, 4): 24, (4, -2, 1, 2): 24, (0, 3, 0, 4): 24, (1, 0, 0, 0): 0}
        return all(
            self.R[0].xreplace(dict(zip(self.quaternion, map(sp.Integer, point)))) == length
            for point, length in points.items()
        )

    @property
    def stated(self) -> str:
        """The term in one line, without its rows."""
        return _equated(self.name, self.R)


@spelled
@dataclass(frozen=True)
class Pfaffian(AbstractTerm):
    """A constraint on velocities, A(q) q̇ + b(q, t) = 0, holonomic or not.

    Examples
    --------
    >>> x, y, phi = st.coordinates("x y phi")
    >>> print(st.Pfaffian(x.dot * st.sin(phi) - y.dot * st.cos(phi), name="no slip"))
    no slip: x.dot*sin(phi) - y.dot*cos(phi) = 0
    """

    expr: Any
    name: str | None = None

    def __post_init__(self):
        _set(self, expr=vector(self.expr, "a Pfaffian constraint"))

    @property
    def stated(self) -> str:
        """The term in one line, without its rows."""
        return _equated(self.name, self.expr)


@spelled
@dataclass(frozen=True)
class Contact(AbstractTerm):
    """A unilateral contact gap(q, t) ≥ 0 that only pushes, with friction μ along `slip`.

    Parameters
    ----------
    gap : expression
        A distance: its multiplier is the normal force, which friction follows. One that is none has
        another multiplier: on a slope, state ``(y - x*tan(a))*cos(a)``, not ``y - x*tan(a)``.
    friction : expression, optional
        The coefficient μ of dry friction.
    slip : expression or tuple, optional
        What friction acts along: its rate is the speed with which the contact slips.
    restitution : expression, optional
        How much of the speed with which it closes comes back at an impact, from 0 to 1.
    name : str, optional

    Examples
    --------
    >>> x, y = st.coordinates("x y")
    >>> print(st.Contact(y, friction=0.3, slip=x, name="floor"))
    floor: y ≥ 0, friction 0.3 along x
    """

    gap: Any
    friction: Any = 0
    slip: Any = None
    name: str | None = None
    restitution: Any = 0

    def __post_init__(self):
        _set(
            self,
            gap=expression(self.gap, "the gap of a contact"),
            friction=_not_negative(
                expression(self.friction, "the friction coefficient of a contact"),
                "the friction coefficient of a contact",
            ),
            slip=None if self.slip is None else vector(self.slip, "the slip of a contact"),
            restitution=expression(self.restitution, "the restitution of a contact"),
        )
        if self.restitution.is_number and not 0 <= float(self.restitution) <= 1:
            raise StatementError(
                "the restitution of a contact is not between 0 and 1.",
                f"Found {text(self.restitution)}.",
                "Give 0 for an impact without rebound, 1 for one without loss.",
            )
        if self.slip is not None and len(self.slip) > _MOST_SLIPS:
            raise StatementError(
                "the slip of a contact has too many entries.",
                f"Found {len(self.slip)}: {_plain(self.slip)[:60]}; a contact slips along a "
                "line, in a plane, or in space.",
                "Give one expression, or a tuple of two or three.",
            )
        if self.slip is None and not self.friction.is_zero:
            raise StatementError(
                "a contact with friction does not say along what it slips.",
                f"Found friction={text(self.friction)} and no slip.",
                "Give both, as in st.Contact(y, friction=0.3, slip=x).",
            )

    @property
    def stated(self) -> str:
        """The term in one line, without its rows."""
        prefix = f"{self.name}: " if self.name else ""
        along = f", friction {text(self.friction)} along {_plain(self.slip)}" if self.slip else ""
        back = "" if self.restitution == 0 else f", restitution {text(self.restitution)}"
        return f"{prefix}{text(self.gap)} ≥ 0{along}{back}"


ENERGIES = ("kinetic", "potential", "work", "dissipation")
TERMS: dict[str, tuple[type, ...]] = {
    "loads": (Load,),
    "friction": (Friction, Drag),
    "constraints": (Constraint,),
    "pfaffian": (Pfaffian,),
    "contacts": (Contact,),
}


def changed(e: sp.Expr, change: Callable[[sp.Expr], sp.Expr]) -> sp.Expr:
    """Change an expression, and the elements of the repetitions in it."""
    repetitions = contents(e).sums
    if repetitions:
        e = e.xreplace({r: r.apply(change) for r in repetitions})
    return change(e)


def split_sums(e: sp.Expr, what: str = "an energy") -> tuple[sp.Expr, list[tuple[sp.Expr, Each]]]:
    """Split an energy into what is stated plainly and the sums in it, with their factors."""
    sums = sorted(contents(e).sums, key=sp.default_sort_key)
    if not sums:
        return e, []
    marks = {r: sp.Dummy() for r in sums}
    marked = e.xreplace(marks)
    factors = [(marked.diff(marks[r]), r) for r in sums]
    for factor, r in factors:
        if factor.has(*marks.values()) or len(r.expressions) != 1:
            raise StatementError(
                f"{what} takes a repetition that is not a plain sum.",
                f"Found {sp.sstr(e, full_prec=False)[:80]}; expected one expression per row, "
                "added or scaled.",
                "Move the function, the power or the product inside st.each.",
            )
    return marked.xreplace({mark: sp.S.Zero for mark in marks.values()}), factors
