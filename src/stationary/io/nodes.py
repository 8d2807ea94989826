"""Expressions put together node by node, at a cost that their text bounds.

Nothing is simplified beyond what sums, products and whole powers collect by themselves: SymPy's
questions about signs and sizes take time without bound, and none of them changes a value. Equal
nodes are one object, so that an expression is a graph however often its definitions are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import sympy as sp
from sympy.core.add import _addsort
from sympy.core.mul import _mulsort
from sympy.core.sorting import ordered
from sympy.functions.elementary.piecewise import ExprCondPair

#: Limits: what a person writes stays far below them.
MOST_NODES = 100_000
MOST_LEVELS = 400
MOST_BITS = 2048
LARGEST_POWER = 1000
# SymPy orders the arguments of max and min by walking through all that they would be written out.
_WRITTEN = 2000
_MOST_SHARED = 50_000
_shared: dict[Any, Any] = {}


class Refused(Exception):
    """What cannot be put together: the three parts of a message, which waits for its place."""


_EVALUATED: dict[Any, Callable[..., Any]] = {
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
        if known is None:
            # Of what is large when written out, files share one object: two that are equal and
            # not the same would be compared branch by branch.
            known = _shared.get(e)
            if known is not None:
                e = known
        if known is not None and known in self._sizes:
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
        if self._sizes[e][0] > _WRITTEN:
            if len(_shared) >= _MOST_SHARED:
                _shared.clear()
            _shared[e] = e
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
        number: float | None = None
        try:
            if e.is_Number or e.is_NumberSymbol:
                number = float(e)
            elif e.args and not isinstance(e, (sp.Piecewise, sp.Rel)):
                inside = [self.value(a) for a in e.args]
                if None not in inside:
                    number = self._worked_out(e, inside)
            elif e in (sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I):
                number = math.nan
            if isinstance(number, complex) or (number is not None and not math.isfinite(number)):
                raise ValueError
        except (ValueError, OverflowError, ZeroDivisionError, TypeError):
            raise Refused(
                "the expression is not a finite real number for any state.",
                f"Found {str(e)[:40]}.",
                "Check divisions by zero and roots of what is negative.",
            ) from None
        self._values[e] = number
        return number

    def _worked_out(self, e: Any, inside: list[Any]) -> Any:
        if e.is_Add or e.is_Mul:
            return math.fsum(inside) if e.is_Add else math.prod(inside)
        if e.is_Pow:
            return inside[0] ** inside[1]
        return _EVALUATED[type(e)](*inside) if type(e) in _EVALUATED else None

    # -- sums, products, powers ---------------------------------------------------------------

    def add(self, terms: Iterable[Any]) -> Any:
        """Return a sum, equal terms collected."""
        number: Any = sp.S.Zero
        shares: dict[Any, Any] = {}
        for term in _flat(terms, sp.Add):
            if term.is_Number:
                number = self.bounded(number + term)
            else:
                share, rest = term.as_coeff_Mul()
                rest = self.keep(rest)
                shares[rest] = self.bounded(shares.get(rest, sp.S.Zero) + share)
        several = [self._scaled(share, rest) for rest, share in shares.items() if share != 0]
        return self._joined(sp.Add, _addsort, number, sp.S.Zero, several)

    def _scaled(self, share: Any, rest: Any) -> Any:
        if share == 1:
            return rest
        return self.keep(sp.Mul._from_args((share, *(rest.args if rest.is_Mul else (rest,)))))

    def multiply(self, factors: Iterable[Any]) -> Any:
        """Return a product, powers of equal bases collected."""
        number: Any = sp.S.One
        powers: dict[Any, Any] = {}
        plain = []
        for factor in _flat(factors, sp.Mul):
            if factor.is_Number:
                number = self.bounded(number * factor)
            elif _is_root(factor):
                plain.append(factor)
            else:
                raised = factor.is_Pow and factor.exp.is_Number
                base, exponent = factor.args if raised else (factor, sp.S.One)
                powers[base] = powers.get(base, sp.S.Zero) + exponent
        if number == 0:
            # Without the question whether the other factors are finite: every state is.
            return sp.S.Zero
        if plain:
            number, rest = sp.Mul(number, *plain).as_coeff_Mul()
            plain = [] if rest is sp.S.One else list(sp.Mul.make_args(rest))
        several = [self._power(base, e) for base, e in powers.items() if e != 0]
        if any(e.is_Mul or e.is_Number for e in several):
            return self.multiply([number, *plain, *several])
        several += plain
        if len(several) == 1 and several[0].is_Add and number != 1:
            return self.add([self.multiply([number, term]) for term in several[0].args])
        return self._joined(sp.Mul, _mulsort, number, sp.S.One, several)

    def _joined(self, kind: Any, sort: Any, number: Any, neutral: Any, several: list[Any]) -> Any:
        self.count += len(several)
        several = [self.keep(e) for e in several]
        sort(several)
        if number != neutral or not several:
            several.insert(0, number)
        joined = several[0] if len(several) == 1 else kind._from_args(several)
        joined = self.keep(self.bounded(joined))
        self.value(joined)
        return joined

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
            raise Refused(
                "something is divided by zero.", "Found a divisor that is 0.", "Check it."
            )
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
        raised = self.keep(self._power(base, exponent))
        self.value(raised)
        return raised

    def _power(self, base: Any, exponent: Any) -> Any:
        if base.is_Symbol or base.is_Number or base.is_NumberSymbol:
            return base**exponent
        if exponent in (sp.S.Zero, sp.S.One):
            return base if exponent else sp.S.One
        if base.is_Pow and exponent.is_Integer:
            return self._power(base.base, self.multiply([base.exp, exponent]))
        if base.is_Pow and base.exp == 2 and exponent.is_Number:
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
            applied = self._extreme(kind, arguments)
        elif all(map(_plain, arguments)):
            applied = kind(*arguments)
        else:
            more = [sp.S.Half] if kind is sp.Heaviside else []
            applied = kind(*arguments, *more, evaluate=False)
        applied = self.keep(applied)
        self.value(applied)
        return applied

    def _extreme(self, kind: Any, arguments: list[Any]) -> Any:
        flat = {b: None for a in arguments for b in (a.args if isinstance(a, kind) else [a])}
        numbers = [n for n in flat if n.is_Number]
        pick = max if kind is sp.Max else min
        several = [*(n for n in flat if not n.is_Number), *([pick(numbers)] if numbers else [])]
        if len(several) == 1:
            return several[0]
        if sum(self._sizes[self.keep(e)][0] for e in several) < _WRITTEN:
            several = list(ordered(several))
        extreme = sp.Expr.__new__(kind, *several)
        extreme._argset = frozenset(several)
        return extreme

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
        branches = (sp.Tuple.__new__(ExprCondPair, value, condition) for value, condition in pairs)
        return self.keep(sp.Basic.__new__(sp.Piecewise, *branches))


def _flat(entries: Iterable[Any], kind: Any) -> Iterator[Any]:
    for e in entries:
        yield from e.args if isinstance(e, kind) else (e,)


def _is_root(e: Any) -> bool:
    """Tell π and the powers of whole numbers, which SymPy joins at once."""
    return bool(e.is_NumberSymbol or (e.is_Pow and e.base.is_Rational and e.exp.is_Rational))


def _plain(e: Any) -> bool:
    """Tell numbers and parts of π, whose functions are known at once."""
    number, rest = e.as_coeff_Mul()
    return bool(e.is_Number or (rest is sp.pi and number.is_Rational))


def _bits(number: Any) -> int:
    if not isinstance(number, sp.Rational):
        return 0
    return max(int(number.p).bit_length(), int(number.q).bit_length())
