"""The statement of a mechanical system: immutable, checked, printable; systems add."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NoReturn

import sympy as sp

from stationary.errors import StatementError, say, spelled
from stationary.model import graphs
from stationary.model.arrays import Array
from stationary.model.built_once import opened
from stationary.model.checks import is_numbered, is_unit, normalized
from stationary.model.contents import contents
from stationary.model.drawing import Part
from stationary.model.printing import as_latex, as_text
from stationary.model.symbols import Coordinate, Input, Parameter
from stationary.model.terms import ENERGIES, TERMS, changed
from stationary.model.views import show


@dataclass(frozen=True)
class Mechanism:
    """Uncoupled coordinates x = L(θ) of a mechanism and their diagonal inertia."""

    x: tuple[sp.Expr, ...]
    inertia: tuple[sp.Expr, ...]

    def apply(self, change: Callable[[sp.Expr], sp.Expr]) -> Mechanism:
        """Return the mechanism with every expression changed."""
        return Mechanism(tuple(map(change, self.x)), tuple(map(change, self.inertia)))


@spelled
@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class System:
    """A mechanical system, stated by its energies.

    Every keyword is optional. Energies are expressions of coordinates, velocities, parameters,
    inputs and `t`; `each` states sums over many alike elements.

    Parameters
    ----------
    kinetic : expression
        T(q, q̇, t).
    potential : expression
        U(q, t).
    work : expression
        W(q, t): its gradient is a force, as in I = U − W.
    loads : list of Load
        Forces stated by their virtual work.
    dissipation : expression
        D(q, q̇): the force is −∂D/∂q̇.
    friction : list of Friction or Drag
    constraints : list of Constraint or expression
        R(q, t) = 0.
    pfaffian : list of Pfaffian or expression
        Expressions linear in the velocities that vanish.
    contacts : list of Contact
        gap(q, t) ≥ 0.
    coordinates : tuple, optional
        The coordinates in order. When left out they are found from the expressions and stand in
        the order of their names; those declared by one call keep the order of that call.
    name : str, optional
    parts : tuple of Part
        What pictures show; filled in by `particle`, `spring` and the other parts.
    mechanism : Mechanism, optional
        Filled in by `mechanism`.
    fields : tuple of Interpolation
        How fields follow from the coordinates; filled in by `discretize` and `ritz`.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> m, k = st.parameters(m=2.0, k=8.0)
    >>> oscillator = st.System(kinetic=m * x.dot**2 / 2, potential=k * x**2 / 2)
    >>> print(oscillator)
    System of 1 coordinate: x
      T = m*x.dot**2/2
      U = k*x**2/2
      with m = 2, k = 8
    """

    kinetic: Any = sp.S.Zero
    potential: Any = sp.S.Zero
    work: Any = sp.S.Zero
    loads: Any = ()
    dissipation: Any = sp.S.Zero
    friction: Any = ()
    constraints: Any = ()
    pfaffian: Any = ()
    contacts: Any = ()
    coordinates: Any = None
    name: str = ""
    parts: tuple[Part, ...] = ()
    mechanism: Mechanism | None = None
    fields: tuple[Any, ...] = ()

    def __post_init__(self):
        for key, value in normalized(self).items():
            object.__setattr__(self, key, value)

    @cached_property
    def known_by_name(self) -> System:
        """The same statement, in which nothing but the tuple of coordinates tells their order."""
        swap: dict[sp.Basic, sp.Basic] = {}
        for c in self.coordinates:
            if getattr(c, "after", None):
                swap |= {c: Coordinate(c.name), c.dot: Coordinate(c.name).dot}
        if not swap:
            return self
        # Other symbols of the same names leave what has been checked in its normal form.
        known = object.__new__(System)
        for key, value in _renamed(self, swap).items():
            object.__setattr__(known, key, value)
        return known

    @cached_property
    def _key(self) -> tuple:
        return tuple(getattr(self.known_by_name, f.name) for f in fields(self))

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __hash__(self) -> int:
        # Looked up at every turn, and made of every expression.
        return self._hash

    def __getstate__(self) -> dict[str, Any]:
        # Texts have another hash in every process: what was found out here stays here.
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, System) and self._key == other._key)

    # -- what it is made of -----------------------------------------------------------------

    def expressions(self) -> Iterable[tuple[str, sp.Expr]]:
        """Every expression of the statement, with the words that name its place."""
        for kind in ENERGIES:
            yield kind, getattr(self, kind)
        for kind in TERMS:
            for number, term in enumerate(getattr(self, kind), 1):
                label = f"{kind.removesuffix('s')} '{term.name or number}'"
                for e in term.expressions():
                    yield label, e

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in the order in which they occur."""
        return self._symbols(Parameter)

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs, in the order in which they occur."""
        return self._symbols(Input)

    def _symbols(self, kind: type) -> tuple[Any, ...]:
        every = (s for _, e in self.expressions() for s in contents(e).order)
        return tuple({s.name: s for s in every if isinstance(s, kind)}.values())

    @cached_property
    def size(self) -> int:
        """Number of coordinates, entries of arrays counted."""
        return sum(c.size if isinstance(c, Array) else 1 for c in self.coordinates)

    def scalars(self) -> list[Coordinate]:
        """Every coordinate as a symbol, arrays written out."""
        scalars: list[Coordinate] = []
        for c in self.coordinates:
            scalars.extend(c.symbol(i) for i in range(c.size)) if isinstance(c, Array) else (
                scalars.append(c)
            )
        return scalars

    # -- what can be done with it -----------------------------------------------------------

    def apply(self, change: Callable[[sp.Expr], sp.Expr]) -> dict[str, Any]:
        """Return the keywords of this system with every expression changed."""
        kept = {f.name: getattr(self, f.name) for f in fields(self)}
        kept |= {kind: changed(kept[kind], change) for kind in ENERGIES}
        kept |= {
            kind: tuple(t.apply(lambda e: changed(e, change)) for t in kept[kind]) for kind in TERMS
        }
        return kept

    def __add__(self, other: System) -> System:
        if not isinstance(other, System):
            raise _no_sum(self, other)
        merged: dict[str, Any] = {k: getattr(self, k) + getattr(other, k) for k in ENERGIES}
        merged |= {k: self._terms(k) + other._terms(k) for k in TERMS}
        # An orientation of both parts is kept one by one constraint.
        twice = [c for c in self.constraints if is_unit(c) and c in other.constraints]
        merged["constraints"] = tuple(
            c for i, c in enumerate(merged["constraints"])
            if c not in twice or i < len(self.constraints)
        )  # fmt: skip
        own = {c.name for c in self.coordinates}
        new = (c for c in other.coordinates if c.name not in own)
        merged["coordinates"] = (*self.coordinates, *new)
        merged["name"] = " + ".join(n for n in (self.name, other.name) if n)
        merged["parts"] = self.parts + other.parts
        merged["fields"] = self.fields + other.fields
        both = [m for m in (self.mechanism, other.mechanism) if m is not None]
        merged["mechanism"] = both[0] if len(both) == 1 else None
        if len(both) == 2:
            merged["mechanism"] = Mechanism(
                both[0].x + both[1].x, both[0].inertia + both[1].inertia
            )
        return System(**merged)

    def __radd__(self, other: Any) -> System:
        # sum([part, part, …]) begins with 0.
        if isinstance(other, int) and other == 0:
            return self
        raise _no_sum(self, other)

    def _no_arithmetic(self, *other: Any) -> NoReturn:
        words = (
            f"{_called(self)} is no number: systems add, and nothing else.",
            f"Found a product, a quotient or a difference with {str(other[0])[:60]!r}."
            if other
            else "Found a sign before it.",
            "Change its energies; what is there several times is a sum of systems, or st.each(…).",
        )
        raise TypeError(say(*words))

    __mul__ = __rmul__ = __truediv__ = __sub__ = __rsub__ = __pow__ = __neg__ = _no_arithmetic

    def _terms(self, kind: str) -> tuple:
        """Terms with the names that were numbered for them taken off again."""
        return tuple(
            term.named(None) if term.table is None and is_numbered(kind, term) else term
            for term in getattr(self, kind)
        )

    # -- how it reads -----------------------------------------------------------------------

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if any(graphs.written_out(e) > graphs.LARGE for _, e in self.expressions()):
            return f"System of {self.size} coordinates, too large to be written out"
        return as_text(self)

    def _repr_latex_(self) -> str:
        return as_latex(self)

    def _repr_html_(self) -> str | None:
        # A notebook that is told nothing shows the mathematics alone.
        return show("system", "live")(self) or None


def restated(system: System, swap: Mapping[sp.Basic, sp.Basic]) -> System:
    """Return the same statement with symbols in the place of symbols."""
    return System(**_renamed(system, swap)) if swap else system


def _renamed(system: System, swap: Mapping[sp.Basic, sp.Basic]) -> dict[str, Any]:
    """Return the keywords of a system with symbols in the place of symbols."""

    def change(e: sp.Expr) -> Any:
        return graphs.renamed(e, swap)

    every = system.apply(change)
    every["coordinates"] = tuple(swap.get(c, c) for c in system.coordinates)
    every["parts"] = tuple(part.apply(change) for part in system.parts)
    every["mechanism"] = system.mechanism and system.mechanism.apply(change)
    return every


def _called(system: System) -> str:
    return f"'{system.name}'" if system.name else "a system"


def _no_sum(system: System, other: Any) -> TypeError:
    words = (
        f"{_called(system)} cannot be added to what is no system.",
        f"Found {type(other).__name__}: {str(other).partition(chr(10))[0][:60]!r}; expected "
        "another system.",
        "State energies, loads and constraints in an st.System of their own, and add that.",
    )
    return TypeError(say(*words))


def require(system: Any) -> None:
    """Refuse what is no system; a continuum becomes one first."""
    if isinstance(system, System):
        return
    remedies = {
        "Continuum": "Turn the continuum into one: st.discretize(continuum, elements=100).",
        "Model": "Pass what the file states, model.system, or ask with all that the file says, "
        'as in model.ask("statics").',
    }
    if isinstance(system, str):
        remedies["str"] = 'Read a model file first, as in st.load("pendulum.toml").ask("statics").'
    kind = type(system).__name__
    raise StatementError(
        "what is asked about is not a system.",
        f"Found {kind}: {str(system).partition(chr(10))[0][:60]}.",
        remedies.get(kind, "Pass an st.System, or a sum of parts."),
    )


def follower(system: System) -> str:
    """Return what follows a system over time: without kinetic energy it slides, and never flies."""
    return "st.quasistatics" if system.kinetic == 0 else "st.simulate"


def written_out(system: System) -> System:
    """Return the same system with every repetition written out, coordinate by coordinate.

    What its expressions share is written out, too, unless that is too long.
    """
    long = any(graphs.written_out(e) > graphs.LARGE for _, e in system.expressions())
    kept = system.apply(lambda e: e if long else opened(e))
    for kind in ENERGIES:
        sums = contents(kept[kind]).sums
        kept[kind] = kept[kind].xreplace({r: r.doit() for r in sums})
    for kind in TERMS:
        terms: list[Any] = []
        for term in kept[kind]:
            if term.table is not None:
                rows = term.written_out()
                terms += [r.named(f"{r.name}[{i}]") if r.name else r for i, r in enumerate(rows)]
            else:
                terms.append(term)
        kept[kind] = tuple(terms)
    kept["coordinates"] = tuple(system.scalars())
    return System(**kept)
