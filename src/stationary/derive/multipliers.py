"""Multipliers in closed form: the forces that keep R̈ = 0, solved for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from stationary.derive.effort import bounded, is_long
from stationary.derive.readable import column, in_fractions, tidy
from stationary.derive.sampling import vanishes
from stationary.derive.virtual_work import conditions, refuse, unaccelerated
from stationary.model.symbols import rate
from stationary.model.terms import Constraint

if TYPE_CHECKING:
    from stationary.derive.lagrange import Equations

# Inverses of symbolic matrices beyond this size are no longer read.
MOST_COORDINATES, MOST_MULTIPLIERS = 6, 2

# Operations of an expression that is worked with on the way to them.
_LONGEST = 600


def is_small(eq: Equations) -> bool:
    """Tell whether there are multipliers and their closed form can be read."""
    few = len(eq.coordinates) <= MOST_COORDINATES and len(eq.lam) <= MOST_MULTIPLIERS
    return bool(eq.lam) and few


def closed_form(eq: Equations) -> sp.ImmutableMatrix:
    """Return λ = −(A M⁻¹Aᵀ)⁻¹ (γ + A M⁻¹(Q − C q̇ − G))."""
    if not eq.lam:
        return sp.ImmutableMatrix(0, 1, [])
    if not is_small(eq):
        refuse(
            "the multipliers are too many or too entangled to be written down.",
            f"Found {len(eq.lam)} multipliers of {len(eq.coordinates)} coordinates, expected at "
            f"most {MOST_MULTIPLIERS} of {MOST_COORDINATES}.",
            "Use st.simulate: motion.lam has their values.",
        )
    with bounded():
        return _solved(eq)


def _solved(eq: Equations) -> sp.ImmutableMatrix:
    exact, back = in_fractions(eq.system)
    M, A, C, G, Q = (
        X.applyfunc(lambda e: sp.nsimplify(e, rational=True))
        for X in (eq.M, eq.A, eq.C, eq.G, eq.Q)
    )
    turning = C * sp.Matrix(eq.velocities)
    free = Q - turning.applyfunc(tidy) - G
    gamma = sp.Matrix([_bent(term, e, eq) for term, e in conditions(exact)])
    pulled = _inverse(M, A.T.row_join(free))
    K = (A * pulled[:, :-1]).applyfunc(_short)
    missing = (gamma + A * pulled[:, -1]).applyfunc(_short)
    size = _short(K.det(method="berkowitz"))
    if vanishes(size):
        refuse(
            "the multipliers are not determined: constraints depend on each other.",
            f"Found A M⁻¹Aᵀ without an inverse for {', '.join(map(str, eq.lam))}.",
            "Remove a redundant constraint; st.check names it.",
        )
    solved = -K.adjugate() * missing
    return column(back(_quotient(_short(e), size)) for e in solved)


def _short(e: sp.Expr) -> sp.Expr:
    """Simplify; refuse what is too long to be worked with."""
    short = tidy(e)
    if is_long((short,), _LONGEST):
        refuse(
            "the multipliers are too entangled to be written down.",
            f"Found more than {_LONGEST} operations on the way to them.",
            "Use st.simulate: motion.lam has their values.",
        )
    return short


def _bent(term, e: sp.Expr, eq: Equations) -> sp.Expr:
    """Return γ of a row: what R̈, or the rate of a row on velocities, has beside A q̈."""
    once = rate(e) if isinstance(term, Constraint) else e
    return tidy(unaccelerated(once, eq.coordinates))


def _require_inertia(pivot: sp.Expr) -> None:
    if vanishes(pivot):
        refuse(
            "the multipliers have no closed form: some motion has no inertia.",
            "Found that M has no inverse.",
            "Use st.statics or st.simulate: rest.lam and motion.lam have their values.",
        )


def _inverse(M: sp.Matrix, right: sp.Matrix) -> sp.Matrix:
    """Return M⁻¹ times the columns on the right, by elimination; M is positive definite."""
    if M.is_diagonal():
        for i in range(M.rows):
            _require_inertia(M[i, i])
        return sp.Matrix(*right.shape, lambda i, j: right[i, j] / M[i, i])
    n, rows = M.rows, [list(row) for row in M.row_join(right).tolist()]
    for k in range(n):
        _require_inertia(rows[k][k])
        for i in (i for i in range(n) if i != k and rows[i][k] != 0):
            share = rows[i][k] / rows[k][k]
            rows[i] = [_short(a - share * b) for a, b in zip(rows[i], rows[k])]
            rows[i][k] = sp.S.Zero
    return sp.Matrix([[_short(e / row[k]) for e in row[n:]] for k, row in enumerate(rows)])


def _quotient(above: sp.Expr, below: sp.Expr) -> sp.Expr:
    """Cancel what numerator and denominator share, keeping sums below the line whole."""
    whole = sp.factor_terms(sp.together(tidy(above) / below))
    above, below = sp.fraction(whole)
    return min((whole, tidy(above) / tidy(below), tidy(whole)), key=sp.count_ops)
