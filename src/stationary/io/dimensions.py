"""Dimensions of terms: what has units must come out as energy, power, time or an angle.

A term is judged only where a parameter with a unit stands in it, or beside it, and all else in it
is known: numbers may carry units that nobody wrote, and a right file is never refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from stationary.model.graphs import nodes, symbols_in, written_out
from stationary.model.symbols import Coordinate, t
from stationary.model.units import Dimension, dimension_of

PLAIN: Dimension = (Fraction(0),) * 3
TIME: Dimension = (Fraction(0), Fraction(0), Fraction(1))
ENERGY = dimension_of("J")
POWER = dimension_of("W")

# Numbers that come from derivation, not from a unit left out: 1/2, 3/2, 1/24.
_PURE = {1, 2, 3, 4, 6, 8, 12, 24}
_OF_ANGLES = (sp.sin, sp.cos, sp.tan, sp.exp, sp.log, sp.sinh, sp.cosh, sp.tanh, sp.asin, sp.acos,
              sp.atan, sp.erf, sp.asinh, sp.acosh, sp.atanh)  # fmt: skip
# What has more parts than this is not written out.
_LONG = 200
_WITHOUT = (sp.sign, sp.Heaviside, sp.atan2)
_SAME = (sp.Abs, sp.Max, sp.Min, sp.floor, sp.ceiling)


class Mismatch(Exception):
    """Two dimensions that should be one: what, found, remedy."""


class Unlike(Mismatch):
    """Terms that are added or compared and are not alike."""


@dataclass(frozen=True)
class Known:
    """The dimension of a term, and whether a unit that was written stands in it."""

    dimension: Dimension
    written: bool


@dataclass
class Dimensions:
    """What is known of the symbols of a file."""

    of: Mapping[str, Known]
    #: Of these the file has said it, by a unit beside their name.
    declared: frozenset[str] = frozenset()

    def are_same(self, one: Dimension, wanted: Dimension) -> bool:
        """Compare dimensions; where nothing has a mass, energies may be those of a unit of mass."""
        if any(known.dimension[1] for known in self.of.values()):
            return one == wanted
        return one in (wanted, (wanted[0], Fraction(0), wanted[2]))

    def term(self, e: Any) -> Known | None:
        """Return the dimension of an expression; None where something in it is not known."""
        return self._walked(e, {})

    def _walked(self, e: Any, done: dict[Any, Known | None]) -> Known | None:
        if e not in done:
            done[e] = self._worked_out(e, done)
        return done[e]

    def _worked_out(self, e: Any, done: dict[Any, Known | None]) -> Known | None:
        if e.is_Number:
            pure = e.is_Rational and abs(e.p) in _PURE and e.q in _PURE
            return Known(PLAIN, False) if pure else None
        if e.is_NumberSymbol:
            return Known(PLAIN, False)
        if e == t:
            return Known(TIME, False)
        if e.is_Symbol:
            # Entries and rows of an array, r[0,1] and r[i,1], are what the array is.
            named = self.of.get(e.name.removesuffix(".dot").partition("[")[0])
            if named and e.name.endswith(".dot"):
                return Known(total(named.dimension, TIME, -1), named.written)
            return named
        if e.is_Add:
            return self._agreed(e.args, done, "are added")
        inner = [self._walked(a, done) for a in e.args if isinstance(a, sp.Expr)]
        if e.is_Pow:
            base, exponent = e.args
            if inner[0] is None or not exponent.is_Rational:
                return None
            scale = Fraction(int(exponent.p), int(exponent.q))
            return Known(tuple(scale * d for d in inner[0].dimension), inner[0].written)
        if e.is_Mul:
            if any(one is None for one in inner):
                return None
            sizes = [one.dimension for one in inner if one]
            return Known(
                tuple(sum(powers, Fraction(0)) for powers in zip(*sizes)),
                any(one.written for one in inner if one),
            )
        if isinstance(e, _OF_ANGLES):
            self._plain_inside(e, inner[0])
            return Known(PLAIN, False)
        if isinstance(e, _WITHOUT):
            return Known(PLAIN, False)
        return self._agreed(e.args, done, "are compared") if isinstance(e, _SAME) else None

    def _agreed(self, terms: Any, done: dict[Any, Known | None], verb: str) -> Known | None:
        """Return the dimension that terms share; refuse two that were written and differ."""
        known = [(e, self._walked(e, done)) for e in terms]
        written = [(e, k) for e, k in known if k is not None and k.written]
        bare = [(e, k) for e, k in known if k is not None and not k.written and self._is_bare(e)]
        # Coordinates that are not alike, as in y - x^2, are added by factors that nobody wrote, and
        # an angle may stand for the arc of a wheel of radius 1.
        alike = len({k.dimension for _, k in bare}) == 1 and bare[0][1].dimension != PLAIN
        for e, k in [*written[1:], *(bare if alike else ())] if written else ():
            if k.dimension != written[0][1].dimension:
                raise Unlike(
                    f"terms of different dimensions {verb}.",
                    f"Found {_short(written[0][0])} in {text(written[0][1].dimension)} and "
                    f"{_short(e)} in {text(k.dimension)}.",
                    self._advice(written[0][0], e),
                )
        if written:
            return written[0][1]
        several = {k.dimension if k else None for e, k in known if not e.is_Number}
        one = several.pop() if len(several) == 1 else None
        return Known(one, False) if one is not None else None

    def _is_bare(self, e: Any) -> bool:
        """Tell whether there is no number that may carry a unit: sums of roots of coordinates."""
        return not e.is_Number and all(map(self._adds_no_unit, nodes(e)))

    def _adds_no_unit(self, node: Any) -> bool:
        if node.is_Symbol:
            return node.name.removesuffix(".dot").partition("[")[0] in self.declared
        if node.is_Mul:
            return len(node.args) == 2 and node.args[0] == -1
        if node.is_Add:
            return not any(part.is_Number for part in node.args)
        return bool(node.is_Number or node.is_Pow or isinstance(node, sp.Abs))

    def _advice(self, *several: Any) -> str:
        """Return what to look at: the units of everything that has one."""
        names = {s.name.removesuffix(".dot").partition("[")[0]
                 for e in several for s in symbols_in(sp.S(e))}  # fmt: skip
        known = [f"{name} in {text(self.of[name].dimension)}" for name in sorted(names)
                 if name in self.of and self.of[name].dimension != PLAIN]  # fmt: skip
        return f"Check the units in it: {', '.join(known) or 'none is given'}."

    def _plain_inside(self, e: Any, inside: Known | None) -> None:
        bare = isinstance(e.args[0], Coordinate)
        if inside and inside.dimension != PLAIN and (inside.written or bare):
            raise Mismatch(
                f"{type(e).__name__}() is taken of something that is no number.",
                f"Found {_short(e.args[0])} in {text(inside.dimension)}.",
                "Give it an angle, or a quotient of two alike.",
            )

    def expect(self, e: Any, wanted: Dimension, what: str, name: str) -> None:
        """Refuse an expression of which a term has another dimension.

        A whole term says more than what does not agree inside of another.
        """
        inside: Unlike | None = None
        for part in sp.Add.make_args(e):
            try:
                unit = self.term(part)
            except Unlike as wrong:
                inside, unit = inside or wrong, None
            if unit and unit.written and not self.are_same(unit.dimension, wanted):
                raise Mismatch(
                    f"a term of {what} is not {name}.",
                    f"Found {_short(part)} in {text(unit.dimension)}, expected {text(wanted)}.",
                    self._advice(part),
                )
        if inside:
            raise inside

    def expect_alike(self, e: Any, several: Any, what: str, other: str) -> None:
        """Refuse two expressions of different dimensions, each of them sure of its own."""
        size = self.term(e)
        if not size or not (size.written or self._is_bare(e)):
            return
        for one in several:
            unit = self.term(one)
            if unit and (unit.written or self._is_bare(one)) and unit.dimension != size.dimension:
                raise Mismatch(
                    f"{what} and {other} are not of one kind.",
                    f"Found {_short(e)} in {text(size.dimension)} and {_short(one)} in "
                    f"{text(unit.dimension)}.",
                    self._advice(e, one),
                )

    def expect_work(self, forces: Any, on: Any, what: str) -> None:
        """Refuse forces that do no work in joules along what they work on."""
        for force, place in zip(forces, on):
            along = self.term(place)
            for part in sp.Add.make_args(force):
                unit = self.term(part)
                if not unit or not along or not (unit.written or along.written):
                    continue
                work = total(unit.dimension, along.dimension)
                if not self.are_same(work, ENERGY):
                    raise Mismatch(
                        f"{what} times what it works on is no energy.",
                        f"Found {_short(part)} in {text(unit.dimension)} on {_short(place)} in "
                        f"{text(along.dimension)}, expected J together.",
                        self._advice(part, place),
                    )


def total(one: Dimension, other: Dimension, sign: int = 1) -> Dimension:
    """Return the dimension of a product, or of a quotient."""
    return tuple(a + sign * b for a, b in zip(one, other))


def _short(e: Any) -> str:
    if written_out(sp.S(e)) > _LONG:
        names = ", ".join(sorted(s.name for s in symbols_in(sp.S(e))))
        return f"a long term of {names[:60]}"
    return str(e).replace("**", "^")[:60]


def text(dimension: Dimension) -> str:
    """Write a dimension in SI units.

    Examples
    --------
    >>> from stationary.io.dimensions import ENERGY, text
    >>> text(ENERGY)
    'J'
    """
    for unit in ("m", "kg", "s", "N", "J", "W", "Pa", "N m/s", "m/s", "m/s^2", "N/m", "rad/s"):
        if dimension_of(unit) == dimension:
            return unit
    if dimension == PLAIN:
        return "no unit"
    powers = ((u, p) for u, p in zip(("kg", "m", "s"), (dimension[1], dimension[0], dimension[2])))
    return " ".join(u if p == 1 else f"{u}^{p}" for u, p in powers if p)
