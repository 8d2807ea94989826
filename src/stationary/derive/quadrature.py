"""Integrals over an element: exact where a density is a sum of squares, else by Gauss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from stationary.model.fields import Field, default_of, fields_in
from stationary.model.interpolation import Basis, Interpolation

# Points of a Gauss rule for what is no polynomial, beyond those that a square of the field needs.
_MORE_POINTS = 3


def gauss(count: int) -> tuple[list[float], list[float]]:
    """Return places and weights of Gauss's rule on [0, 1]."""
    x, w = np.polynomial.legendre.leggauss(count)
    return ((x + 1) / 2).tolist(), (w / 2).tolist()


def gauss_points(density: sp.Expr, bases: Sequence[Basis], fields: Sequence[Interpolation]) -> int:
    """Return how many points integrate a density over an element: exactly, if it is a polynomial.

    A density of total degree d in fields whose elements have degree p is a polynomial of degree at
    most the sum over its factors, plus its own degree in the position.
    """
    degree = max(b.degree for b in bases)
    general = degree + 1 + _MORE_POINTS
    by_field = {x.field: x.basis.degree for x in fields if x.basis}
    jets = sorted(fields_in(density), key=str)
    X = fields[0].field.position
    try:
        p = sp.Poly(density, *jets, X)
    except sp.PolynomialError:
        return general
    if any(s in p.free_symbols_in_domain for s in (*jets, X)) or density.has(sp.Piecewise):
        return general
    highest = 0
    for powers in p.monoms():
        total = powers[-1]
        for f, n in zip(jets, powers):
            total += n * max(by_field[f.whole] - f.order, 0)
        highest = max(highest, total)
    return highest // 2 + 1


def ritz_points(density: sp.Expr, fields: Sequence[Interpolation], ends: tuple) -> int:
    """Return how many points integrate products of shapes and derivatives to rounding."""
    X = fields[0].field.position
    order = max((f.order for f in fields_in(density)), default=0)
    shapes = [e.diff(X, k) for x in fields for e in x.shapes for k in range(order + 1)]
    known = {s: sp.Float(default_of(s) or 1.0) for e in (*shapes, *ends) for s in e.free_symbols
             if s != X}  # fmt: skip
    a, b = (float(e.xreplace(known)) for e in ends)
    sampled = [sp.lambdify([X], e.xreplace(known), "numpy") for e in shapes]

    def products(count: int) -> np.ndarray:
        xi, w = (np.array(v) for v in gauss(count))
        rows = np.array([np.broadcast_to(f(a + (b - a) * xi), xi.shape) for f in sampled])
        return (rows * w) @ rows.T

    count, before = 8, products(8)
    while count < 1024:
        count = count * 3 // 2
        now = products(count)
        if np.abs(now - before).max() <= 1e-13 * np.abs(now).max():
            return count + _MORE_POINTS
        before = now
    return count


# -- exactly ------------------------------------------------------------------------------------


def squares(density: sp.Expr, fields: Sequence[Interpolation]) -> dict[Field, sp.Expr] | None:
    """Return a density as squares of fields and derivatives with coefficients, if it is that.

    Coefficients are the same along the interval. Other densities are no sums of squares once they
    are expanded, and lose digits where their terms cancel: Gauss's rule keeps them as they are.
    """
    jets = sorted(fields_in(density), key=str)
    X = fields[0].field.position
    try:
        p = sp.Poly(density, *jets)
    except sp.PolynomialError:
        return None
    coefficients: dict[Field, sp.Expr] = {}
    for powers, coefficient in p.terms():
        alone = [f for f, n in zip(jets, powers) if n == 2]
        if len(alone) != 1 or sum(powers) != 2 or X in coefficient.atoms(sp.Symbol):
            return None
        coefficients[alone[0]] = coefficient
    return coefficients


def integrated(
    coefficients: Mapping[Field, sp.Expr],
    fields: Sequence[Interpolation],
    local: Mapping[Any, Sequence[sp.Expr]],
    h: sp.Expr,
) -> sp.Expr:
    """Integrate squares over an element of length h, in fractions, to a sum of squares.

    `local` holds, for every field and rate, the degrees of freedom of the element.
    """
    bases = {x.field: x.basis for x in fields}
    total = sp.S.Zero
    for f, coefficient in coefficients.items():
        basis = bases[f.whole]
        assert basis is not None
        for weight, row in _sum_of_squares(basis, f.order):
            terms = (
                sp.Rational(c.numerator, c.denominator) * h**power * d
                for c, power, d in zip(row, basis.powers, local[f.whole, f.rate])
                if c
            )
            square = sp.Add(*terms) ** 2
            total += coefficient * weight * h ** (1 - 2 * f.order) * square
    return total


@lru_cache
def _sum_of_squares(basis: Basis, order: int) -> list[tuple[sp.Rational, list[Fraction]]]:
    """Return ∫ (Σ dₐ φₐ⁽ᵏ⁾)² over [0, 1] as Σ weight · (row · d)², by LDLᵀ in fractions."""
    parts = []
    for coefficients in basis.coefficients:
        p = [Fraction(c) for c in coefficients]
        for _ in range(order):
            p = [n * c for n, c in enumerate(p)][1:] or [Fraction(0)]
        parts.append(p)
    count = len(parts)
    R = [[_product(a, b) for b in parts] for a in parts]
    weighted = []
    for k in range(count):
        pivot = R[k][k]
        if not pivot:
            continue
        row = [R[k][j] / pivot for j in range(count)]
        weighted.append((sp.Rational(pivot.numerator, pivot.denominator), row))
        R = [[R[i][j] - pivot * row[i] * row[j] for j in range(count)] for i in range(count)]
    return weighted


def _product(a: list[Fraction], b: list[Fraction]) -> Fraction:
    """Return the integral of a product of two polynomials over [0, 1]."""
    pairs = ((i + j + 1, x * y) for i, x in enumerate(a) for j, y in enumerate(b))
    return sum((c / n for n, c in pairs), Fraction(0))
