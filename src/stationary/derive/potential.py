"""Whether a force field is the slope of a potential, and of which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import sympy as sp

from stationary.errors import StatementError, spelled
from stationary.model.symbols import Coordinate, Velocity
from stationary.model.terms import Load, vector


@dataclass(frozen=True)
class Potential:
    """What `potential_of` found; true if the field is conservative.

    Attributes
    ----------
    conservative : bool
    potential : Expr or None
        U with force = −∂U/∂q.
    curl : dict
        For pairs of coordinates the difference ∂Fᵢ/∂qⱼ − ∂Fⱼ/∂qᵢ, where it does not vanish.
    loop : tuple of points
        A closed polygon around which the field does work, if it is not conservative.
    work : Expr
        That work.
    hole : dict
        Where the field has no value and the loop goes round, if its curl vanishes elsewhere.
    """

    conservative: bool
    potential: sp.Expr | None
    curl: dict[tuple[sp.Symbol, sp.Symbol], sp.Expr]
    loop: tuple[dict[sp.Symbol, Any], ...] = ()
    work: sp.Expr = sp.S.Zero
    hole: dict[sp.Symbol, Any] | None = None

    def __bool__(self) -> bool:
        return self.conservative

    def __str__(self) -> str:
        if self.conservative:
            shown = self.potential if self.potential is not None else "no closed form was found"
            return f"conservative; U = {shown}"
        if self.hole is not None:
            place = ", ".join(f"{s} = {value}" for s, value in self.hole.items())
            return (
                "not conservative: the curl vanishes, but not the work around the hole at "
                f"{place}, which is {self.work}"
            )
        (a, b), e = next(iter(self.curl.items()))
        if isinstance(b, Velocity):
            return f"not conservative: the force along {a} depends on the velocity {b}"
        return (
            f"not conservative: ∂F_{a}/∂{b} − ∂F_{b}/∂{a} = {e}; "
            f"work {self.work} around a square in the plane of {a} and {b}"
        )


@spelled
def potential_of(force: Any, *, on: Sequence[Any] | None = None) -> Potential:
    """Decide whether a force is conservative, exactly, and give its potential or a counterexample.

    Without curl a field may still do work around a place where it has no value, as a vortex does:
    loops around such places are tried.

    Parameters
    ----------
    force : tuple of expressions, or Load
        Components of the force.
    on : tuple of coordinates, optional
        What the components work on; the load's own for a `Load`.

    Returns
    -------
    Potential

    Examples
    --------
    >>> x, y = st.coordinates("x y")
    >>> print(st.potential_of((-2 * x * y, -(x**2)), on=(x, y)))
    conservative; U = x**2*y
    >>> print(st.potential_of((-y, x), on=(x, y)))
    not conservative: ∂F_x/∂y − ∂F_y/∂x = -2; work 2 around a square in the plane of x and y
    """
    q, stated = _field(force, on)
    # Decimals are the fractions that they write: sums of these cancel exactly.
    F = {s: sp.nsimplify(e, rational=True) for s, e in stated.items()}
    answer = _decided(q, F)
    if answer.potential is not None and any(e.has(sp.Float) for e in stated.values()):
        return replace(answer, potential=answer.potential.n())
    return answer


def _decided(q: list[sp.Symbol], F: dict[sp.Symbol, sp.Expr]) -> Potential:
    """Decide it for a field of fractions."""
    curl = {}
    for i, a in enumerate(q):
        for j in range(i):
            b = q[j]
            difference = sp.simplify(F[b].diff(a) - F[a].diff(b))
            if difference != 0:
                curl[b, a] = difference
    for s in q:
        for v in F[s].free_symbols:
            if isinstance(v, Velocity):
                # What depends on velocities does work on a loop or does not, as one goes.
                curl[s, v] = F[s].diff(v)
    if any(isinstance(b, Velocity) for _, b in curl):
        return Potential(False, None, curl)
    if not curl:
        for hole, loop, work in _around_holes(q, F):
            return Potential(False, None, {}, loop, work, hole)
        return Potential(True, _integral(q, F), {})
    (a, b), _ = next(iter(curl.items()))
    loop, work = _loop(a, b, q, F)
    return Potential(False, None, curl, loop, work)


def _field(force: Any, on: Any) -> tuple[list[sp.Symbol], dict[sp.Symbol, sp.Expr]]:
    if isinstance(force, Load):
        force, on = force.force, force.on if on is None else on
    F = vector(force, "the force")
    if on is None:
        raise StatementError(
            "potential_of needs to know what the force works on.",
            "Found components without coordinates.",
            "Pass on=(x, y), or a Load.",
        )
    along = vector(on, "what the force works on")
    if len(F) != len(along):
        raise StatementError(
            "a force and what it works on must have the same number of entries.",
            f"Found {len(F)} and {len(along)}.",
            "Give one component for each coordinate.",
        )
    symbols = {s for e in (*F, *along) for s in e.free_symbols if isinstance(s, Coordinate)}
    q = sorted(symbols, key=lambda s: (along.index(s) if s in along else len(along), s.name))
    pull = {s: sp.Add(*(f * e.diff(s) for f, e in zip(F, along))) for s in q}
    return q, pull


def _integral(q: list[sp.Symbol], F: dict[sp.Symbol, sp.Expr]) -> sp.Expr | None:
    """Integrate one coordinate after the other."""
    U = sp.S.Zero
    for s in q:
        rest = sp.simplify(-F[s] - U.diff(s))
        if rest.free_symbols & set(q[: q.index(s)]):
            rest = sp.simplify(sp.expand(rest))
        # What holds in general: the other cases are those of single values.
        part = sp.integrate(rest, s).replace(sp.Piecewise, lambda *cases: cases[-1][0])
        if part.has(sp.Integral):
            return None
        U = U + part
    good = all(sp.simplify(U.diff(s) + F[s]) == 0 for s in q)
    return sp.simplify(U) if good else None


def _loop(a: sp.Symbol, b: sp.Symbol, q: list, F: dict) -> tuple[tuple, sp.Expr]:
    """Return a square in the plane of two coordinates around which the force does work."""
    rng = np.random.default_rng(0)
    for trial in range(20):
        corner = {s: sp.Integer(0) for s in q}
        if trial:
            corner = {s: sp.Rational(int(rng.integers(-8, 9)), 4) for s in q}
        points = _square(corner, a, b, sp.S.Zero, sp.S.One)
        work = _work(points, a, b, F)
        if work != 0 and work.is_finite is not False and not work.has(sp.nan, sp.zoo):
            return points, work
    return (), sp.S.Zero


def _square(corner: dict, a: sp.Symbol, b: sp.Symbol, low: sp.Expr, high: sp.Expr) -> tuple:
    """Return the corners of a square in a plane, counterclockwise."""
    steps = ((low, low), (high, low), (high, high), (low, high))
    return tuple({**corner, a: corner[a] + x, b: corner[b] + y} for x, y in steps)


def _work(points: tuple, a: sp.Symbol, b: sp.Symbol, F: dict) -> sp.Expr:
    """Return the work around a polygon with sides along two coordinates, exactly."""
    total = sp.S.Zero
    for start, end in zip(points, (*points[1:], points[0])):
        moving = a if start[a] != end[a] else b
        fixed = {s: v for s, v in start.items() if s != moving}
        total += sp.integrate(F[moving].subs(fixed), (moving, start[moving], end[moving]))
    return sp.simplify(total)


# -- holes ----------------------------------------------------------------------------------------


def _around_holes(q: list[sp.Symbol], F: dict[sp.Symbol, sp.Expr]) -> Iterator[tuple]:
    """Yield places where the field has no value, loops around them and work that is not zero."""
    for a, b in combinations(q, 2):
        held = {s: sp.Rational(1 + k, 3) for k, s in enumerate(q) if s not in (a, b)}
        holes = _holes(a, b, F, held)
        for place in holes:
            centre = {s: (held | place)[s] for s in q}
            # Nearer than what is next: two vortices that turn against each other do no work.
            apart = [max(abs(other[s] - place[s]) for s in (a, b)) for other in holes
                     if other != place and not any(v.free_symbols for v in other.values())
                     and not any(v.free_symbols for v in place.values())]  # fmt: skip
            least = min(apart, default=sp.Integer(3)) / 3
            for half in (least, least / 4, 4 * least):
                points = _square(centre, a, b, -half, half)
                measured, spent = _measured(points, a, b, F)
                if not abs(measured) > 1e-9 * spent:
                    continue
                work = _work(points, a, b, F)
                if work != 0 and not work.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
                    yield centre, points, work


def _holes(a: sp.Symbol, b: sp.Symbol, F: dict, held: dict) -> list[dict]:
    """Return points of a plane in which a denominator has a zero that is no sign change."""
    holes: list[dict] = []
    field = [sp.together(F[s].subs(held)) for s in (a, b)]
    bottoms = {sp.fraction(e)[1] for e in field} | {
        x.base for e in field for x in e.atoms(sp.Pow) if x.exp.is_negative
    }
    factors = {f for d in bottoms for f in sp.Mul.make_args(sp.factor(d))}
    factors = {f.base if isinstance(f, sp.Pow) else f for f in factors} | bottoms
    for factor in sorted(factors, key=sp.default_sort_key):
        if not factor.has(a) or not factor.has(b):
            continue
        # A hole in a plane is a single point: there the factor has a minimum of zero.
        try:
            solved = sp.solve([factor, factor.diff(a), factor.diff(b)], [a, b], dict=True)
        except NotImplementedError:
            continue
        for point in solved:
            real = all(v.is_real is not False and not v.has(a, b) for v in point.values())
            if real and len(point) == 2 and point not in holes:
                holes.append(point)
    return holes


def _measured(points: tuple, a: sp.Symbol, b: sp.Symbol, F: dict) -> tuple[float, float]:
    """Return the work around a polygon by quadrature, and that of its amounts; NaN if none."""
    sample = {
        s: sp.Rational(7 + 3 * k, 5)
        for k, s in enumerate(sorted({s for e in F.values() for s in e.free_symbols}, key=str))
        if s not in F
    }
    nodes, weights = np.polynomial.legendre.leggauss(96)
    total, size = 0.0, 0.0
    for start, end in zip(points, (*points[1:], points[0])):
        moving = a if start[a] != end[a] else b
        fixed = {s: v for s, v in start.items() if s != moving}
        f = sp.lambdify(moving, F[moving].subs(fixed).subs(sample), "numpy")
        low, high = (float((sp.S.Zero + p[moving]).subs(sample)) for p in (start, end))
        with np.errstate(all="ignore"):
            values = np.broadcast_to(f(low + (nodes + 1) / 2 * (high - low)), nodes.shape)
        if np.iscomplexobj(values) or not np.all(np.isfinite(values)):
            return np.nan, np.nan
        total += float(weights @ values) * (high - low) / 2
        size += float(weights @ np.abs(values)) * abs(high - low) / 2
    return total, size
