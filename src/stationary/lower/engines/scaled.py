"""Numbers and parameters kept apart from what moves, so that a series is not multiplied by them.

A product of two series of order p costs p²/2 multiplications at every step, a sum p, a constant
factor that is carried along nothing. A graph differentiated automatically is full of such factors.
What depends on parameters alone is computed once per run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from itertools import count
from math import frexp
from operator import mul
from typing import Any

import casadi as ca

# Longer sums are not searched.
_MOST_ADDENDS = 12

# The largest number, and the most factors, that are taken in front of what is multiplied again.
_FRONT, _FACTORS = 1e60, 4

_ORDER = count()


class Coefficients:
    """What depends on parameters alone: parameters first, then what a graph makes of them."""

    def __init__(self, parameters: int):
        self.p = ca.SX.sym("p", parameters)  # pyright: ignore[reportArgumentType]
        self._all = list(ca.vertsplit(self.p)) if parameters else []
        self._known: dict[Any, int] = {}

    def place(self, number: float, powers: Mapping[int, int]) -> int:
        """Return where a number times powers of coefficients stands; new ones are added."""
        if number == 1 and list(powers.values()) == [1]:
            return next(iter(powers))
        key = (number, *powers.items())
        if key not in self._known:
            self._known[key] = len(self._all)
            self._all.append(self.value(number, powers))
        return self._known[key]

    def value(self, number: float, powers: Mapping[int, int]) -> ca.SX:
        """Return a number times powers of coefficients."""
        above = [self._all[i] for i, k in powers.items() for _ in range(k)]
        below = [self._all[i] for i, k in powers.items() for _ in range(-k)]
        product = reduce(mul, above, ca.SX(number))
        return product / reduce(mul, below) if below else product

    def constant(self, e: ca.SX) -> Scaled:
        """Return an expression of parameters as a coefficient of its own."""
        if e.is_constant():
            return Scaled(float(e), {})
        self._all.append(e)
        return Scaled(1.0, {len(self._all) - 1: 1})

    def function(self) -> ca.Function:
        """Return all coefficients as a function of the parameters."""
        return ca.Function("coefficients", [self.p], [ca.densify(ca.vertcat(*self._all))])


@dataclass(frozen=True, slots=True)
class Scaled:
    """A number times powers of coefficients times what moves, which is None for a constant.

    `order` tells movers apart, `turn` those that are a sine, a cosine or the square of one: what,
    of which angle, to which power. `addends` make up a mover that is a sum with such squares in it.
    """

    number: float
    powers: Mapping[int, int]
    moving: Any = None
    order: int = field(default_factory=lambda: next(_ORDER))
    turn: tuple[Any, Any, int] | None = None
    addends: tuple[Scaled, ...] = ()

    @property
    def key(self) -> Any:
        """What is the same for equal values."""
        return self.order, self.number, tuple(self.powers.items())

    def modest(self, known: Coefficients, par: Any) -> Scaled:
        """Return the same with no more in front than a product of two keeps as a number.

        The fortieth power of a length in metres is no number if it is one of light years.
        """
        large = not 1 / _FRONT < abs(self.number) < _FRONT
        if self.moving is None or not large and sum(map(abs, self.powers.values())) <= _FACTORS:
            return self
        return Scaled(1.0, {}, self.written(known, par))

    def __mul__(self, other: Scaled) -> Scaled:
        if self.number == 0 or other.number == 0:
            return Scaled(0.0, {})
        number, powers = self.number * other.number, _added(self.powers, other.powers, 1)
        if self.moving is None:
            return other._times(number, powers)
        if other.moving is None:
            return self._times(number, powers)
        turn = self.turn
        if turn is not None and turn == other.turn and turn[2] == 1:
            return Scaled(number, powers, self.moving**2.0, turn=(*turn[:2], 2))
        if self.order == other.order:
            # The series of a square takes half the operations of a product's.
            return Scaled(number, powers, self.moving**2.0)
        # The engine takes a·b and b·a for two products: one order for both.
        first, second = (self, other) if self.order <= other.order else (other, self)
        return Scaled(number, powers, first.moving * second.moving)

    def __truediv__(self, other: Scaled) -> Scaled:
        if other.number == 0:
            return Scaled(float("nan"), {})
        if self.number == 0:
            return self
        number, powers = self.number / other.number, _added(self.powers, other.powers, -1)
        if other.moving is None:
            return self._times(number, powers)
        return Scaled(number, powers, (1.0 if self.moving is None else self.moving) / other.moving)

    def __neg__(self) -> Scaled:
        return self._times(-self.number, self.powers)

    def _times(self, number: float, powers: Mapping[int, int]) -> Scaled:
        """Return the same mover with another factor."""
        return Scaled(number, powers, self.moving, self.order, self.turn, self.addends)

    def plus(self, other: Scaled, known: Coefficients, par: Any) -> Scaled:
        """Return the sum; a factor that both terms share stays in front of it."""
        if other.number == 0:
            return self
        if self.number == 0:
            return other
        shorter = self._without_pair(other, known, par)
        if shorter is not None:
            return shorter
        constant = self.moving is None and other.moving is None
        if self.powers != other.powers:
            if constant:
                return known.constant(self.constant(known) + other.constant(known))
            total = _sum(self, other, known, par)
            return Scaled(1.0, {}, total, addends=_squares(self, other))
        if constant:
            return Scaled(self.number + other.number, self.powers)
        # Only powers of two divide exactly: what cancels in the graph must cancel here. A factor in
        # front costs nothing; one of what moves, beside a constant, does.
        lead = other if self.moving is None else self
        ratio = other.number / self.number
        front = lead.number if frexp(abs(ratio))[0] == 0.5 else 1.0
        a, b = (_times(x.number / front, 1.0 if x.moving is None else x.moving)
                for x in (self, other))  # fmt: skip
        both = (x._times(x.number / front, {}) for x in (self, other))
        return Scaled(front, self.powers, a + b, addends=_squares(*both))

    def _terms(self) -> list[Scaled]:
        """Return what this adds up, if squares are in it, or itself."""
        factor = Scaled(self.number, self.powers)
        return [x * factor for x in self.addends] or [self]

    def _without_pair(self, other: Scaled, known: Coefficients, par: Any) -> Scaled | None:
        """Return the sum if a sin² meets its cos²: what an engine does not know to be constant."""
        if (self.turn or self.addends) and (other.turn or other.addends):
            mine, theirs = self._terms(), other._terms()
            for i, a in enumerate(mine):
                for k, b in enumerate(theirs):
                    if _pair(a, b):
                        rest = [*mine[:i], *mine[i + 1 :], *theirs[:k], *theirs[k + 1 :]]
                        one = Scaled(a.number, a.powers)
                        return reduce(lambda x, y: x.plus(y, known, par), rest, one)
        return None

    def constant(self, known: Coefficients) -> ca.SX:
        """Return what does not move, as an expression of the parameters."""
        return known.value(self.number, self.powers)

    def written(self, known: Coefficients, par: Any) -> Any:
        """Return the product as one expression of the engine, or a number."""
        if not self.powers:
            return self.number if self.moving is None else _times(self.number, self.moving)
        factor = par[known.place(self.number, self.powers)]
        return factor if self.moving is None else factor * self.moving


def _sum(a: Scaled, b: Scaled, known: Coefficients, par: Any) -> Any:
    """Return the sum of two products as one expression; a factor and its negative are one."""
    if b.number < 0 and b.powers:
        return a.written(known, par) - (-b).written(known, par)
    if a.number < 0 and a.powers:
        return b.written(known, par) - (-a).written(known, par)
    return a.written(known, par) + b.written(known, par)


def _pair(a: Scaled, b: Scaled) -> bool:
    """Tell whether two terms are the squares of sine and cosine of one angle, equally scaled."""
    if a.turn is None or b.turn is None or a.turn[2] != 2 or b.turn[2] != 2:
        return False
    same = a.turn[1] == b.turn[1] and a.number == b.number and a.powers == b.powers
    return same and a.turn[0] != b.turn[0]


def _squares(a: Scaled, b: Scaled) -> tuple[Scaled, ...]:
    """Return the addends of a sum if squares are among them, and if they are few."""
    if not any(x.addends or (x.turn and x.turn[2] == 2) for x in (a, b)):
        return ()
    every = (*a._terms(), *b._terms())
    return every if len(every) <= _MOST_ADDENDS else ()


def _added(a: Mapping[int, int], b: Mapping[int, int], sign: int) -> dict[int, int]:
    powers = {i: a.get(i, 0) + sign * b.get(i, 0) for i in sorted({*a, *b})}
    return {i: k for i, k in powers.items() if k}


def _times(number: float, e: Any) -> Any:
    return e if number == 1 else -e if number == -1 else number * e
