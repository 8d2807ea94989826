"""Numbers and parameters kept apart from what moves, so that a series is not multiplied by them.

A product of two series of order p costs p²/2 multiplications at every step, a sum p, a constant
factor that is carried along nothing. A graph differentiated automatically is full of such factors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from math import frexp
from operator import mul
from typing import Any


@dataclass(frozen=True, slots=True)
class Scaled:
    """A number times powers of parameters times what moves, which is None for a constant."""

    number: float
    powers: Mapping[int, int]
    moving: Any = None

    def __mul__(self, other: Scaled) -> Scaled:
        if self.number == 0 or other.number == 0:
            return Scaled(0.0, {})
        both = [x for x in (self.moving, other.moving) if x is not None]
        moving = reduce(mul, both) if both else None
        return Scaled(self.number * other.number, _added(self.powers, other.powers, 1), moving)

    def __truediv__(self, other: Scaled) -> Scaled:
        if other.number == 0:
            return Scaled(float("nan"), {})
        if self.number == 0:
            return self
        moving = self.moving
        if other.moving is not None:
            moving = (1.0 if moving is None else moving) / other.moving
        return Scaled(self.number / other.number, _added(self.powers, other.powers, -1), moving)

    def __neg__(self) -> Scaled:
        return Scaled(-self.number, self.powers, self.moving)

    def plus(self, other: Scaled, par: Any) -> Scaled:
        """Return the sum; a factor that both terms share stays in front of it."""
        if other.number == 0:
            return self
        if self.number == 0:
            return other
        if self.powers != other.powers:
            return Scaled(1.0, {}, self.written(par) + other.written(par))
        if self.moving is None and other.moving is None:
            return Scaled(self.number + other.number, self.powers)
        # Only powers of two divide exactly: what cancels in the graph must cancel here.
        ratio = other.number / self.number
        front = self.number if frexp(abs(ratio))[0] == 0.5 else 1.0
        a, b = (_times(x.number / front, 1.0 if x.moving is None else x.moving)
                for x in (self, other))  # fmt: skip
        return Scaled(front, self.powers, a + b)

    def written(self, par: Any) -> Any:
        """Return the product as one expression of the engine, or a number."""
        above = [par[i] for i, k in self.powers.items() for _ in range(k)]
        below = [par[i] for i, k in self.powers.items() for _ in range(-k)]
        factor = reduce(mul, above) if above else None
        if below:
            factor = (1.0 if factor is None else factor) / reduce(mul, below)
        if factor is None:
            if self.moving is None:
                return self.number
            return _times(self.number, self.moving)
        factor = _times(self.number, factor)
        return factor if self.moving is None else factor * self.moving


def _added(a: Mapping[int, int], b: Mapping[int, int], sign: int) -> dict[int, int]:
    made = {i: a.get(i, 0) + sign * b.get(i, 0) for i in sorted({*a, *b})}
    return {i: k for i, k in made.items() if k}


def _times(number: float, e: Any) -> Any:
    return e if number == 1 else -e if number == -1 else number * e
