"""SymPy expressions to CasADi, shared subexpressions staying shared."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import casadi as ca
import sympy as sp

from stationary.errors import CompileError
from stationary.model.built_once import Shared, Speed
from stationary.model.graphs import nodes

# Largest power written as a product: its derivatives stay polynomial.
_PRODUCTS_UP_TO = 4

# The logarithm of a hyperbolic cosine, and its power, beyond which a division by it is zero: its
# square and its derivatives are still numbers.
_LARGEST = 300.0

# What may grow as fast as a hyperbolic cosine.
_GROWING = (sp.exp, sp.cosh, sp.sinh, Shared)

# The logarithms of factors beyond which they were split off an exponential, or off a power.
_SPLIT_OFF, _OFF_A_POWER = 20, 300

#: What each function of SymPy is in CasADi.
FUNCTIONS: dict[type, Callable[..., Any]] = {
    sp.sin: ca.sin,
    sp.cos: ca.cos,
    sp.tan: ca.tan,
    sp.asin: ca.asin,
    sp.acos: ca.acos,
    sp.atan: ca.atan,
    sp.atan2: ca.atan2,
    sp.sinh: ca.sinh,
    sp.cosh: ca.cosh,
    sp.tanh: ca.tanh,
    sp.asinh: ca.asinh,
    sp.acosh: ca.acosh,
    sp.atanh: ca.atanh,
    sp.exp: ca.exp,
    sp.log: lambda x, base=None: ca.log(x) if base is None else ca.log(x) / ca.log(base),
    sp.Abs: ca.fabs,
    sp.sign: ca.sign,
    sp.erf: ca.erf,
    sp.floor: ca.floor,
    sp.ceiling: ca.ceil,
    sp.Min: lambda *xs: functools.reduce(ca.fmin, xs),
    sp.Max: lambda *xs: functools.reduce(ca.fmax, xs),
    sp.Heaviside: lambda x, half=0.5: ca.if_else(x > 0, 1, ca.if_else(x < 0, 0, half)),
    sp.cot: lambda x: 1 / ca.tan(x),
    sp.sec: lambda x: 1 / ca.cos(x),
    sp.csc: lambda x: 1 / ca.sin(x),
    sp.sinc: lambda x: ca.if_else(x == 0, 1, ca.sin(x) / ca.if_else(x == 0, 1, x)),
    sp.StrictGreaterThan: operator.gt,
    sp.GreaterThan: operator.ge,
    sp.StrictLessThan: operator.lt,
    sp.LessThan: operator.le,
    sp.Equality: operator.eq,
    sp.Unequality: operator.ne,
    sp.And: lambda *xs: functools.reduce(ca.logic_and, xs),
    sp.Or: lambda *xs: functools.reduce(ca.logic_or, xs),
    sp.Not: ca.logic_not,
    Shared: lambda x: x,
    Speed: lambda x: x,
}


def _parts(e: Any) -> tuple[Any, ...]:
    """Return the parts of a node that have counterparts of their own."""
    if isinstance(e, sp.Piecewise):
        return tuple(part for pair in e.args for part in pair.args)
    return e.args if e.is_Add or e.is_Mul or e.is_Pow or type(e) in FUNCTIONS else ()


def _grows(e: Any) -> bool:
    """Tell whether an expression may grow as fast as what it is divided by."""
    return any(
        isinstance(p, _GROWING) or isinstance(p, sp.Pow) and not p.exp.is_Number for p in nodes(e)
    )


def _hidden_in(number: Any, factors: list[Any]) -> Any:
    """Return what a number was split off, if it was: an exponential, or else the highest power."""
    size = abs(sp.log(abs(number))) if number.is_Number and number.is_finite and number else 0
    if size > _SPLIT_OFF:
        exponential = next((f for f in factors if isinstance(f, sp.exp)), None)
        if exponential is not None:
            return exponential
    powers = [f for f in factors if f.is_Pow and f.exp.is_Number] if size > _OFF_A_POWER else []
    return max(powers, key=lambda f: abs(f.exp), default=None)


class Translator:
    """Translates expressions over one set of symbols; equal subexpressions become one node."""

    def __init__(self, symbols: Mapping[sp.Symbol, Any]):
        self._known: dict[sp.Basic, Any] = dict(symbols)

    def __call__(self, e: sp.Basic) -> Any:
        """Return the CasADi counterpart of a SymPy expression."""
        if e not in self._known:
            # Parts first and each once: neither depth nor repetition costs anything.
            waiting = [e]
            while waiting:
                node = waiting[-1]
                new = [a for a in _parts(node) if a not in self._known]
                if new:
                    waiting += new
                    continue
                waiting.pop()
                if node not in self._known:
                    self._known[node] = self._translate(node)
        return self._known[e]

    def _translate(self, e: Any) -> Any:
        if e.is_Number or e.is_NumberSymbol:
            return float(e)
        if e.is_Add:
            return functools.reduce(operator.add, map(self, e.args))
        if e.is_Mul:
            return self._product(e)
        if e.is_Pow:
            return self._power(self._divisor(e), e.exp)
        if isinstance(e, sp.Piecewise):
            return self._piecewise(e)
        if e in (sp.true, sp.false):
            return float(bool(e))
        make = FUNCTIONS.get(type(e))
        if make is None:
            raise CompileError(
                f"'{e}' has no numerical counterpart.",
                f"Found {type(e).__name__}; known: "
                f"{', '.join(sorted(f.__name__ for f in FUNCTIONS))}.",
                "Write x.dot for the rate of x, and st.rate(…) for that of an expression."
                if isinstance(e, sp.Derivative)
                else "Rewrite the expression with these functions.",
            )
        return make(*map(self, e.args))

    def _product(self, e: sp.Mul) -> Any:
        # Divisors are collected: x/y is one division, not a product with a power.
        above, below = [], []
        number, *factors = e.args
        hidden = _hidden_in(number, factors)
        if hidden is None:
            factors = e.args
        else:
            # SymPy makes 1e-435·exp(x) of exp(x − 1000), and 1e-640·x⁴⁰ of (x/1e16)⁴⁰; no number
            # is as small as that.
            factors.remove(hidden)
            above = [float(sp.sign(number))]
            if isinstance(hidden, sp.exp):
                above.append(ca.exp(self(hidden.args[0]) + float(sp.log(abs(number)))))
            else:
                factor = float(sp.N(abs(number), 30) ** (1 / hidden.exp))
                above.append(self._power(factor * self(hidden.base), hidden.exp))
        divides = [f.is_Pow and f.exp.is_Number and f.exp.is_negative for f in factors]
        hyperbolic = any(d and isinstance(f.base, sp.cosh) for f, d in zip(factors, divides))
        grows = hyperbolic and any(not d and _grows(f) for f, d in zip(factors, divides))
        for factor, divisor in zip(factors, divides):
            if divisor:
                base = self(factor.base) if grows else self._divisor(factor)
                below.append(self._power(base, -factor.exp))
            else:
                above.append(self(factor))
        product = functools.reduce(operator.mul, above) if above else 1.0
        return product / functools.reduce(operator.mul, below) if below else product

    def _divisor(self, e: Any) -> Any:
        """Return the base of a power; a hyperbolic cosine to divide by stays a number."""
        if not isinstance(e.base, sp.cosh) or not e.exp.is_Number or not e.exp.is_negative:
            return self(e.base)
        most = _LARGEST / max(1.0, -float(e.exp))
        return ca.cosh(ca.fmax(ca.fmin(self(e.base.args[0]), most), -most))

    def _power(self, base: Any, exponent: sp.Expr) -> Any:
        if exponent.is_Integer and 0 < int(exponent) <= _PRODUCTS_UP_TO:
            squared = base * base
            return {1: base, 2: squared, 3: squared * base, 4: squared * squared}[int(exponent)]
        if exponent.is_Number and exponent.is_negative:
            return 1 / self._power(base, -exponent)
        if exponent == sp.S.Half:
            return ca.sqrt(base)
        return ca.power(base, self(exponent))

    def _piecewise(self, e: sp.Piecewise) -> Any:
        *pieces, (last, condition) = e.args
        result = self(last) if condition == sp.true else float("nan")
        if condition != sp.true:
            pieces.append((last, condition))
        for value, holds in reversed(pieces):
            result = ca.if_else(self(holds), self(value), result)
        return result
