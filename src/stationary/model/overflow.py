"""Statements rewritten so that sums of exponentials stay numbers.

1/(1 + exp(u)) and log(1 + exp(u)) are finite for every u, but exp(u) is not beyond u = 709, nor are
the derivatives that are made of it. With m the largest of the exponents, Σ cᵢ exp(aᵢ) is exp(m)
times Σ cᵢ exp(aᵢ − m), in which nothing grows: exact everywhere, with a switch where m changes.
Differences of exponentials lose what is small: sinh(u) is tanh(u) cosh(u), whose second factor may
cancel, and log(cosh(u)) is itself up to where it is |u| − log(2) in floating point.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from stationary.model.graphs import LARGE, written_out
from stationary.model.system import System

# What leaves all numbers; hyperbolic functions are sums of exponentials.
_GROWING = sp.exp, sp.cosh, sp.sinh

# Beyond this cosh(u) is exp(|u|)/2 in floating point, and its square is a number up to here.
_ONE_EXPONENTIAL = 300


def bounded(system: System) -> System | None:
    """Return the same statement without exponentials that overflow in what stays finite.

    None where there are none.
    """
    if not any(_grows(e) for _, e in system.expressions()):
        return None
    other = System(**system.apply(bounded_expression))
    return None if other == system else other


def bounded_expression(e: Any) -> Any:
    """Return an expression with its divisors and logarithms of exponentials rewritten.

    One that is large when written out stays as it is: rewriting walks through all of it.
    """
    if not isinstance(e, sp.Basic) or not _grows(e):
        return e
    return _rewritten(e.replace(sp.sinh, lambda u: sp.tanh(u) * sp.cosh(u)))


def _grows(e: sp.Basic) -> bool:
    return written_out(e) <= LARGE and e.has(*_GROWING)


def _rewritten(e: Any) -> Any:
    if not e.args or not e.has(*_GROWING):
        return e
    if isinstance(e, sp.log) and len(e.args) == 1:
        factors = sp.Mul.make_args(e.args[0])
        alone = [f for f in factors if isinstance(f, sp.cosh)]
        if alone:
            plain = sp.log(sp.Mul(*(f for f in factors if f not in alone)))
            return sp.Add(_rewritten(plain), *(_log_of_cosh(_rewritten(f.args[0])) for f in alone))
    if isinstance(e, sp.cosh):
        e = e.rewrite(sp.exp)
    args = [_rewritten(a) for a in e.args]
    if isinstance(e, sp.log) and len(args) == 1:
        largest, rest = _largest(args[0])
        return largest + sp.log(rest)
    if e.is_Pow and e.exp.is_Number and e.exp.is_negative:
        largest, rest = _largest(args[0])
        return sp.exp(e.exp * largest) * rest**e.exp
    if e.is_Mul:
        return _product(args)
    return e.func(*args) if tuple(args) != e.args else e


def _log_of_cosh(u: sp.Expr) -> sp.Expr:
    near = sp.Max(sp.Min(u, _ONE_EXPONENTIAL), -_ONE_EXPONENTIAL)
    beyond = sp.Max(u, _ONE_EXPONENTIAL) - sp.Min(u, -_ONE_EXPONENTIAL) - 2 * _ONE_EXPONENTIAL
    return sp.log(sp.cosh(near)) + beyond


def _product(factors: list[sp.Expr]) -> sp.Expr:
    """Return a product whose exponentials meet before any of them is too large."""
    every = [f for factor in factors for f in sp.Mul.make_args(factor)]
    sums = [f for f in every if f.is_Add and f.has(sp.exp)]
    plain = [f for f in every if f not in sums]
    if not sums or not any(isinstance(f, sp.exp) for f in plain):
        return sp.Mul(_met(plain), *sums)
    first, *more = sums
    return sp.Mul(sp.Add(*(_product([term, *plain]) for term in first.args)), *more)


def _met(factors: list[sp.Expr]) -> sp.Expr:
    """Return a product with one exponential for all of its own."""
    every = [f for factor in factors for f in sp.Mul.make_args(factor)]
    exponent = sp.Add(*(f.args[0] for f in every if isinstance(f, sp.exp)))
    return sp.Mul(sp.exp(exponent), *(f for f in every if not isinstance(f, sp.exp)))


def _largest(e: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Return the largest exponent of a sum of exponentials, and the sum over its exponential."""
    if not e.is_Add or not e.has(sp.exp):
        return sp.S.Zero, e
    exponents, factors = [], []
    for term in e.args:
        number, *plain = sp.Mul.make_args(term)
        if not number.is_Number:
            number, plain = sp.S.One, [number, *plain]
        powers = [f.args[0] for f in plain if isinstance(f, sp.exp)]
        # SymPy makes 1e-435·exp(x) of exp(x − 1000).
        shift = sp.log(abs(number)) if powers else sp.S.Zero
        exponents.append(sp.Add(*powers, shift))
        rest = [f for f in plain if not isinstance(f, sp.exp)]
        factors.append(sp.Mul(sp.sign(number) if powers else number, *rest))
    largest = sp.Max(*exponents)
    rest = sp.Add(*(c * sp.exp(a - largest) for c, a in zip(factors, exponents)))
    return largest, rest
