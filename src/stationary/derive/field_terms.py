"""Terms of field equations: what is integrated by parts, and how it is tidied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from stationary.derive.readable import (
    tidy,
)
from stationary.model.continuum import Interval
from stationary.model.fields import Field, PointValue, fields_in, points_in


@dataclass(frozen=True)
class Work:
    """What does virtual work along the variation δu of one field: ∫ Σ Fₖ δu⁽ᵏ⁾ dX.

    `inertia` and `forces` hold one expression for each k: Fₖ = forces[k] − inertia[k].
    """

    field: Field
    momenta: tuple[sp.Expr, ...]
    inertia: tuple[sp.Expr, ...]
    forces: tuple[sp.Expr, ...]

    def coefficient(self, k: int) -> sp.Expr:
        """Return Fₖ."""
        return self.forces[k] - self.inertia[k]

    def inside(self, several: tuple[sp.Expr, ...]) -> sp.Expr:
        """Integrate by parts: what is left along the interval, F₀ − F₁′ + F₂″."""
        X = self.field.position
        return sum((sp.S(-1) ** k * e.diff(X, k) for k, e in enumerate(several)), sp.S.Zero)

    def at_end(self, order: int) -> sp.Expr:
        """Integrate by parts: what stands before δu (F₁ − F₂′) or δu′ (F₂) at an end."""
        X = self.field.position
        if order:
            return self.coefficient(2)
        return self.coefficient(1) - self.coefficient(2).diff(X)


@dataclass(frozen=True)
class Condition:
    """A condition at a point: `inner` forces of the continuum balance `outer` ones.

    An essential condition has no forces: `value` is what the point is fixed to.
    """

    point: PointValue
    inner: sp.Expr = sp.S.Zero
    outer: sp.Expr = sp.S.Zero
    value: sp.Expr | None = None
    #: Whether both were turned round to be read: what stands before δ is then inner − outer.
    turned: bool = False

    @property
    def essential(self) -> bool:
        """Whether it is stated, not derived."""
        return self.value is not None

    @property
    def equation(self) -> sp.Eq:
        """The condition as an equation."""
        if self.value is not None:
            return sp.Eq(self.point, self.value, evaluate=False)
        return sp.Eq(self.inner, self.outer, evaluate=False)


def integral(e: sp.Expr, over: Interval) -> sp.Expr:
    """Integrate over an interval; what contains no field is worked out."""
    plainly, along = e.as_independent(*fields_in(e), as_Add=True) if fields_in(e) else (e, 0)
    known = sp.integrate(plainly, over) if plainly != 0 else sp.S.Zero
    return known + (sp.Integral(along, over) if along != 0 else sp.S.Zero)


def tidied(e: Any) -> sp.Expr:
    """Tidy an expression, but for what SymPy would only make longer."""
    e = sp.S(e)
    if e.has(sp.Integral, sp.Piecewise, sp.Derivative):
        return sp.expand_mul(e) if not e.has(sp.Piecewise) else e
    return tidy(e)


def leads_with_minus(e: sp.Expr) -> bool:
    """Tell whether the highest derivative in a sum of forces is subtracted."""
    parts = sp.Add.make_args(sp.expand(e))
    highest = max(parts, key=lambda x: max((p.order for p in points_in(x)), default=-1))
    return highest.could_extract_minus_sign()


def positive(e: sp.Expr) -> sp.Expr:
    """Return an expression or its negative, whichever does not begin with a minus."""
    return tidied(-e) if e.could_extract_minus_sign() else e


def products(e: sp.Expr, X: Any) -> bool:
    """Tell whether coefficients vary along the interval: (EA u′)′ reads better than its terms."""
    return X in e.atoms(sp.Symbol)
