"""Whether a force field is the slope of a potential, and of which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from stationary.errors import StatementError, say
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
    """

    conservative: bool
    potential: sp.Expr | None
    curl: dict[tuple[sp.Symbol, sp.Symbol], sp.Expr]
    loop: tuple[dict[sp.Symbol, Any], ...] = ()
    work: sp.Expr = sp.S.Zero

    def __bool__(self) -> bool:
        return self.conservative

    def __str__(self) -> str:
        if self.conservative:
            shown = self.potential if self.potential is not None else "no closed form was found"
            return f"conservative; U = {shown}"
        (a, b), e = next(iter(self.curl.items()))
        if isinstance(b, Velocity):
            return f"not conservative: the force along {a} depends on the velocity {b}"
        return (
            f"not conservative: ∂F_{a}/∂{b} − ∂F_{b}/∂{a} = {e}; "
            f"work {self.work} around a square in the plane of {a} and {b}"
        )


def potential_of(force: Any, *, on: Sequence[Any] | None = None) -> Potential:
    """Decide whether a force is conservative, exactly, and give its potential or a counterexample.

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
    q, F = _field(force, on)
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
            say(
                "potential_of needs to know what the force works on.",
                "Found components without coordinates.",
                "Pass on=(x, y), or a Load.",
            )
        )
    along = vector(on, "what the force works on")
    if len(F) != len(along):
        raise StatementError(
            say(
                "a force and what it works on must have the same number of entries.",
                f"Found {len(F)} and {len(along)}.",
                "Give one component for each coordinate.",
            )
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
        part = sp.integrate(rest, s)
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
        points = [dict(corner) for _ in range(4)]
        points[1][a] = points[2][a] = corner[a] + 1
        points[2][b] = points[3][b] = corner[b] + 1
        work = sp.S.Zero
        for start, end in zip(points, [*points[1:], points[0]]):
            moving = a if start[a] != end[a] else b
            fixed = {s: v for s, v in start.items() if s != moving}
            leg = sp.integrate(F[moving].subs(fixed), (moving, start[moving], end[moving]))
            work += leg
        work = sp.simplify(work)
        if work != 0 and work.is_finite is not False and not work.has(sp.nan, sp.zoo):
            return tuple(points), work
    return (), sp.S.Zero
