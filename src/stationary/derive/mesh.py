"""Where elements end, what they are, and which degrees of freedom are coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from stationary.derive.field_equations import jumps
from stationary.errors import StatementError
from stationary.model.arrays import Array
from stationary.model.continuum import Continuum, Interval
from stationary.model.fields import Field, default_of, fields_in, points_in
from stationary.model.interpolation import HERMITE, Basis, Interpolation, lagrange
from stationary.model.symbols import Parameter

# Degrees of the elements of a field whose energy has first derivatives.
_DEGREES = (1, 2, 3)


def basis_of(continuum: Continuum, f: Field, degree: Any) -> Basis:
    """Choose the element of a field from the derivatives in its energy."""
    order = continuum.orders[f]
    if isinstance(degree, Mapping):
        unknown = [k for k in degree if k not in continuum.fields]
        if unknown:
            raise StatementError(
                f"degree names '{unknown[0]}', which is not a field of the continuum.",
                f"Fields: {', '.join(g.name for g in continuum.fields)}.",
                "Give degrees by field, as in degree={u: 2}.",
            )
        degree = degree.get(f)
    if degree is None:
        return HERMITE if order == 2 else lagrange(1)
    if isinstance(degree, bool) or degree not in _DEGREES:
        raise StatementError(
            "degree is not that of an element.",
            f"Found {degree!r}, expected 1, 2 or 3.",
            "Leave it out to have it chosen from the energies.",
        )
    if order == 2 and degree != 3:
        raise StatementError(
            f"elements of degree {degree} are impossible for '{f}'.",
            f"Its energy contains {f}'', which needs continuous slopes: Hermite cubics.",
            "Leave degree out, give degree=3, or give degrees by field, as in degree={u: 2}.",
        )
    return HERMITE if order == 2 else lagrange(int(degree))


def breaks_of(continuum: Continuum, over: Interval) -> tuple[sp.Expr, ...]:
    """Return both ends of an interval and, in order, the points between at which elements end."""
    _, first, last = over
    inner = [p.place for p in continuum.points if p.over == over]
    inner += jumps(continuum, over)
    inner = [e for e in dict.fromkeys(inner) if e not in (first, last)]
    if len(inner) > 1:
        unknown = [e for e in inner if _share(e, over) is None]
        if unknown:
            raise StatementError(
                f"the order of the points {', '.join(map(str, inner))} is not known.",
                f"Found no value for {unknown[0]}.",
                "Declare the parameters in it with defaults.",
            )
    inner.sort(key=lambda e: _share(e, over) or 0.0)
    return (first, *inner, last)


def _share(place: sp.Expr, over: Interval) -> float | None:
    """Return where a place lies between the ends, from 0 to 1, if that is known."""
    _, first, last = over
    return default_of(sp.cancel((place - first) / (last - first)))


def mesh_of(continuum: Continuum, over: Interval, elements: int) -> tuple:
    """Return breaks and the number of elements between neighbouring ones."""
    breaks = breaks_of(continuum, over)
    pieces = len(breaks) - 1
    if elements < pieces:
        raise StatementError(
            "there are fewer elements than pieces of the interval.",
            f"Found elements={elements}; the points {', '.join(map(str, breaks))} make "
            f"{pieces} pieces.",
            f"Give elements={pieces} or more.",
        )
    shares = [_share(e, over) for e in breaks]
    known = [s for s in shares if s is not None]
    lengths = np.diff(known) if len(known) == len(shares) else np.ones(pieces)
    # Every piece has one element; each further one goes where elements are longest.
    counts = np.ones(pieces, dtype=int)
    bulk = np.floor(lengths / lengths.sum() * (elements - pieces)).astype(int)
    counts += bulk
    for _ in range(elements - int(counts.sum())):
        counts[np.argmax(lengths / counts)] += 1
    return breaks, tuple(int(n) for n in counts)


def interpolations(continuum: Continuum, bases: dict, meshes: dict) -> tuple[Interpolation, ...]:
    """Give every degree of freedom a number, or what it is fixed to."""
    bare = {
        f: Interpolation(f, None, {}, *meshes[f.over], basis=bases[f]) for f in continuum.fields
    }
    held: dict[Field, dict[int, sp.Expr]] = {f: {} for f in continuum.fields}
    for key, value in continuum.fixed:
        f = key.field.whole
        dof = bare[f].dof(key.place, key.order)
        assert dof is not None
        held[f][dof] = value
    numbered: dict[Field, Interpolation] = {}
    for f, x in bare.items():
        free = x.size - len(held[f])
        array = array_of(f, free) if free else None
        numbered[f] = replace(x, array=array, given=held[f])
    # What is tied to other values follows them, through as many ties as there are.
    for _ in continuum.fixed:
        for f, x in numbered.items():
            given = {k: _resolved(e, numbered) for k, e in x.given.items()}
            numbered[f] = replace(x, given=given)
    return tuple(numbered.values())


def array_of(f: Field, count: int) -> Array:
    """Return the coordinates of a field: an array under its name."""
    return Array(f.name, (count,), np.arange(count), 0)


def _resolved(e: sp.Expr, numbered: Mapping[Field, Interpolation]) -> sp.Expr:
    return e.xreplace({p: numbered[p.field.whole].value(p) for p in points_in(e)})


def shapes_of(continuum: Continuum, shapes: Any) -> dict[Field, tuple[sp.Expr, ...]]:
    """Read what a user gave as shape functions."""
    if not isinstance(shapes, Mapping):
        if len(continuum.fields) > 1:
            raise StatementError(
                "shapes does not say which field each belongs to.",
                f"Found one list for {len(continuum.fields)} fields.",
                "Give a list for every field: shapes={u: […], w: […]}.",
            )
        shapes = dict.fromkeys(continuum.fields, shapes)
    by_field = {}
    for f in continuum.fields:
        listed = shapes.get(f)
        if not isinstance(listed, (list, tuple)) or not listed:
            raise StatementError(
                f"there are no shapes for the field '{f}'.",
                f"Found {str(listed)[:60]}; expected a list of expressions of {f.position}.",
                "Give one or more, as in shapes=[st.sin(st.pi*X/L)].",
            )
        by_field[f] = tuple(sp.S(e) for e in listed)
        for e in by_field[f]:
            strange = [
                s for s in e.free_symbols if s != f.position and not isinstance(s, Parameter)
            ]
            if strange:
                raise StatementError(
                    f"a shape of '{f}' contains '{strange[0]}'.",
                    f"Found {e}; expected an expression of {f.position} and parameters.",
                    "Shapes depend on the position alone; time is in the coordinates.",
                )
    return by_field


# -- integrals over an element ---------------------------------------------------------------------

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
