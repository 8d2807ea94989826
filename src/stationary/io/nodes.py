"""Expressions put together node by node, at a cost that their text bounds.

Nothing is simplified beyond what sums, products and whole powers collect by themselves: SymPy's
questions about signs and sizes take time without bound, and none of them changes a value. Equal
nodes are one object, so that an expression is a graph however often its definitions are used.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import sympy as sp
from sympy.core.sorting import ordered
from sympy.functions.elementary.piecewise import ExprCondPair

#: Limits: what a person writes stays far below them.
MOST_NODES = 100_000
MOST_LEVELS = 300
MOST_BITS = 2048
LARGEST_POWER = 1000
# SymPy orders the arguments of max and min by walking through all that they would be written out.
_WRITTEN = 10_000


class Refused(Exception):
    """What cannot be put together: the three parts of a message, which waits for its place."""


_EVALUATED: dict[type, Callable[..., float]] = {
    **{getattr(sp, name): getattr(math, name) for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
        "atanh", "exp", "log", "erf", "floor", "atan2",
    )},
    sp.Abs: abs,
    sp.ceiling: math.ceil,
    sp.sign: lambda x: math.copysign(1.0, x) if x else 0.0,
    sp.Heaviside: lambda x, half=0.5: half if x == 0 else float(x > 0),
    sp.Max: max,
    sp.Min: min,
}  # fmt: skip


class Nodes:
    """The nodes of all expressions of a file, each once, with what is known of them.

    Attributes
    ----------
    count : int
        Arguments of all nodes so far: the work that they took.
    """

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}
        self._sizes: dict[Any, tuple[int, int]] = {}
        self._values: dict[Any, float | None] = {}
        self.count = 0

    def keep(self, e: Any) -> Any:
        """Return the one object that stands for all equal to a node, after a look at its size."""
        known = self._known.get(e)
        if known is not None:
            return known
        waiting = [e]
        while waiting:
            node = waiting[-1]
            if node in self._sizes:
                waiting.pop()
                continue
            new = [a for a in node.args if a not in self._sizes]
            if new:
                waiting += new
                continue
            waiting.pop()
            self._measure(node)
        self._known[e] = e
        return e

    def _measure(self, e: Any) -> None:
        inner = [self._sizes[a] for a in e.args]
        levels = 1 + max((levels for _, levels in inner), default=0)
        # Written out it may have more terms than there are atoms: whole numbers hold them.
        self._sizes[e] = 1 + sum(size for size, _ in inner), levels
        self.count += 1 + len(e.args)
        if levels > MOST_LEVELS:
            raise Refused(
                "the expression is nested too deeply.",
                f"Found more than {MOST_LEVELS} levels, definitions put in.",
                "Use fewer definitions inside each other.",
            )
        if self.count > MOST_NODES:
            raise Refused(
                "the expressions of the file are too large together.",
                f"Found more than {MOST_NODES} terms and factors, definitions put in.",
                "State what repeats once, with [[each]].",
            )

    def value(self, e: Any) -> float | None:
        """Return the value of a constant, None for what is none.

        Raises
        ------
        Refused
            If a constant has no finite real value.
        """
        if e in self._values:
            return self._values[e]
        made: float | None = None
        try:
            if e.is_Number or e.is_NumberSymbol:
                made = float(e)
            elif e.args and not isinstance(e, (sp.Piecewise, sp.Rel)):
                inside = [self.value(a) for a in e.args]
                if None not in inside:
                    made = self._worked_out(e, inside)
            elif e in (sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I):
                made = math.nan
            if isinstance(made, complex) or (made is not None and not math.isfinite(made)):
                raise ValueError
        except (ValueError, OverflowError, ZeroDivisionError, TypeError):
            raise Refused(
                "the expression is not a finite real number for any state.",
                f"Found {str(e)[:40]}.",
                "Check divisions by zero and roots of what is negative.",
            ) from None
        self._values[e] = made
        return made

    def _worked_out(self, e: Any, inside: list[Any]) -> Any:
        if e.is_Add or e.is_Mul:
            return math.fsum(inside) if e.is_Add else math.prod(inside)
        if e.is_Pow:
            return inside[0] ** inside[1]
        return _EVALUATED[type(e)](*inside) if type(e) in _EVALUATED else None

    # -- sums, products, powers ---------------------------------------------------------------

    def add(self, terms: Iterable[Any]) -> Any:
        """Return a sum."""
        return self._collected(sp.Add, operator.add, sp.S.Zero, terms)

    def multiply(self, factors: Iterable[Any]) -> Any:
        """Return a product."""
        factors = list(factors)
        if sp.S.Zero in factors:
            # Without the question whether the other factors are finite: every state is.
            return sp.S.Zero
        return self._collected(sp.Mul, operator.mul, sp.S.One, factors)

    def _collected(self, kind: Any, join: Any, neutral: Any, entries: Iterable[Any]) -> Any:
        # Numbers first, one by one: whole numbers and fractions are stopped before they grow.
        number, others = neutral, []
        for e in entries:
            if e.is_Number:
                number = self.bounded(join(number, e))
            else:
                others.append(e)
        self.count += len(others)
        made = kind(number, *others) if number != neutral else kind(*others)
        made = self.keep(self.bounded(made))
        self.value(made)
        return made

    def bounded(self, e: Any) -> Any:
        """Refuse numbers that grew beyond use."""
        number = e if e.is_Number else e.as_coeff_Mul()[0]
        if _bits(number) > MOST_BITS:
            raise Refused(
                "a number in the expression is too large.",
                f"Found one of {_bits(number)} bits.",
                "Use decimal numbers, as in 1e30.",
            )
        return e

    def divide(self, e: Any) -> Any:
        """Return one over an expression."""
        if self.value(e) == 0:
            raise Refused("something is divided by zero.", "Found a divisor that is 0.", "Check it.")
        return self.power(e, sp.S.NegativeOne)

    def power(self, base: Any, exponent: Any) -> Any:
        """Return a power; refuse those of numbers that would not end, such as 9^9^9^9."""
        known, size = self.value(base), self.value(exponent)
        if size is not None:
            numbers = [n for n in (base, *base.args) if isinstance(n, sp.Number)]
            bits = max((_bits(n) for n in numbers), default=0)
            if abs(size) > LARGEST_POWER or bits * abs(size) > MOST_BITS:
                raise Refused(
                    "a power is too large.",
                    f"Found an exponent of {abs(size):.6g}, expected at most {LARGEST_POWER}, "
                    "and numbers that stay small.",
                    "Use exp(), or other units.",
                )
        if known == 0 and size is not None and size <= 0:
            raise Refused("zero has no such power.", f"Found 0^{exponent}.", "Check it.")
        made = self.keep(self._power(base, exponent))
        self.value(made)
        return made

    def _power(self, base: Any, exponent: Any) -> Any:
        if base.is_Symbol or base.is_Number or base.is_NumberSymbol:
            return base**exponent
        if exponent in (sp.S.Zero, sp.S.One):
            return base if exponent else sp.S.One
        if exponent.is_Number and base.is_Pow and base.exp.is_Number:
            if exponent.is_Integer:
                return self._power(base.base, base.exp * exponent)
            if base.exp == 2:
                # The root of a square: everything is real.
                return self._power(self.call(sp.Abs, [base.base]), 2 * exponent)
        if exponent.is_Integer and base.is_Mul:
            return self.multiply([self._power(factor, exponent) for factor in base.args])
        if exponent.is_Integer and exponent.is_even and isinstance(base, sp.Abs):
            return self._power(base.args[0], exponent)
        number, rest = base.as_coeff_Mul()
        if exponent.is_Number and number != 1 and number.is_positive:
            return self.multiply([number**exponent, self._power(rest, exponent)])
        return sp.Pow(base, exponent, evaluate=False)

    # -- functions --------------------------------------------------------------------------------

    def call(self, kind: Any, arguments: list[Any]) -> Any:
        """Return a function of its arguments, worked out where these are plain numbers."""
        for e in arguments:
            self.value(e)
        if kind in (sp.Max, sp.Min):
            made = self._extreme(kind, arguments)
        elif all(map(_plain, arguments)):
            made = kind(*arguments)
        else:
            more = [sp.S.Half] if kind is sp.Heaviside else []
            made = kind(*arguments, *more, evaluate=False)
        made = self.keep(made)
        self.value(made)
        return made

    def _extreme(self, kind: Any, arguments: list[Any]) -> Any:
        flat = {b: None for a in arguments for b in (a.args if isinstance(a, kind) else [a])}
        numbers = [n for n in flat if n.is_Number]
        pick = max if kind is sp.Max else min
        several = [*(n for n in flat if not n.is_Number), *([pick(numbers)] if numbers else [])]
        if len(several) == 1:
            return several[0]
        if sum(self._sizes[self.keep(e)][0] for e in several) < _WRITTEN:
            several = list(ordered(several))
        made = sp.Expr.__new__(kind, *several)
        made._argset = frozenset(several)
        return made

    def root(self, e: Any) -> Any:
        """Return the square root."""
        return self.power(e, sp.S.Half)

    def norm(self, entries: list[Any]) -> Any:
        """Return the length of a vector."""
        if len(entries) == 1:
            return self.call(sp.Abs, entries)
        return self.root(self.add([self.power(e, sp.Integer(2)) for e in entries]))

    def compare(self, kind: Any, left: Any, right: Any) -> Any:
        """Return a condition; one between numbers is decided."""
        if left.is_Number and right.is_Number:
            return kind(left, right)
        return self.keep(kind(left, right, evaluate=False))

    def choose(self, *arguments: Any) -> Any:
        """Return a choice: conditions and values in turn, and a last value."""
        pairs: list[tuple[Any, Any]] = []
        for condition, value in zip(arguments[:-1:2], arguments[1::2]):
            if condition != sp.false:
                pairs.append((value, condition))
            if condition == sp.true:
                break
        else:
            pairs.append((arguments[-1], sp.true))
        if pairs[0][1] == sp.true:
            return pairs[0][0]
        # Made without SymPy's look for choices inside conditions, which it multiplies out.
        made = (sp.Tuple.__new__(ExprCondPair, value, condition) for value, condition in pairs)
        return self.keep(sp.Basic.__new__(sp.Piecewise, *made))


def _plain(e: Any) -> bool:
    """Tell numbers and parts of π, whose functions are known at once."""
    number, rest = e.as_coeff_Mul()
    return bool(e.is_Number or (rest is sp.pi and number.is_Rational))


def _bits(number: Any) -> int:
    if not isinstance(number, sp.Rational):
        return 0
    return max(int(number.p).bit_length(), int(number.q).bit_length())
