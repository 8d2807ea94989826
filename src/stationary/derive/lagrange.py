"""Lagrange's equations to read: exact M, C, G, Q and A, in SymPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import sympy as sp

from stationary.derive.effort import MOST_DERIVED, WHOLE, TooLong, bounded, operations
from stationary.derive.explain import explanation
from stationary.derive.multipliers import closed_form
from stationary.derive.readable import (
    Explanation,
    Term,
    aligned,
    column,
    in_fractions,
    plain,
    terms,
    tidy,
    total,
    written,
)
from stationary.derive.turning import Turned, turned
from stationary.derive.virtual_work import (
    UNSIMPLIFIED,
    Multiplier,
    conditions,
    generalized_forces,
    linear_and_constant,
    readable,
    refuse,
    unaccelerated,
)
from stationary.errors import spelled
from stationary.model.space.rotation import Entry
from stationary.model.symbols import Acceleration, Coordinate, Velocity, t
from stationary.model.system import System, follower
from stationary.model.terms import Constraint, Friction


@spelled
@dataclass(frozen=True, repr=False)
class Equations:
    """The equations of motion ``M q̈ + C q̇ + G = Q + Aᵀλ`` of a system, to read.

    Attributes
    ----------
    system : System
        What they were derived from, repetitions written out.
    coordinates : tuple of Coordinate
    M : Matrix, n × n
        ∂²T/∂q̇², the mass matrix; it depends on the velocities where T is not quadratic in them.
    C : Matrix, n × n
        Christoffel form, so that Ṁ − 2C is skew.
    G : Matrix, n × 1
        ∂U/∂q, and what else the left side has: terms of explicit time, gyroscopic terms, and the
        velocity terms of a kinetic energy that is not quadratic.
    Q : Matrix, n × 1
        Generalized forces of loads, work, dissipation and drag.
    A : Matrix, constraints × n
        ∂R/∂q of every holonomic constraint, then the coefficients of every Pfaffian one.
    lam : tuple of Multiplier
        One per row of `A`, named after its constraint.
    simplified : bool
        Whether everything was simplified; what is too long for that is right and left as it is.

    Examples
    --------
    >>> theta, (m, l, g) = st.coordinates("theta"), st.parameters("m l g")
    >>> bob = st.particle(m, at=(l * st.sin(theta), -l * st.cos(theta)), gravity=g)
    >>> st.equations(bob)
    Equations of motion
      theta: l**2*m*theta.ddot + g*l*m*sin(theta) = 0
    """

    system: System
    coordinates: tuple[Coordinate, ...]
    M: sp.ImmutableMatrix
    C: sp.ImmutableMatrix
    G: sp.ImmutableMatrix
    Q: sp.ImmutableMatrix
    A: sp.ImmutableMatrix
    lam: tuple[Multiplier, ...]
    simplified: bool = True

    @property
    def velocities(self) -> tuple[Velocity, ...]:
        """The symbols q̇."""
        return tuple(q.dot for q in self.coordinates)

    @property
    def accelerations(self) -> tuple[Acceleration, ...]:
        """The symbols q̈."""
        return tuple(q.ddot for q in self.coordinates)

    @cached_property
    def residuals(self) -> sp.ImmutableMatrix:
        """d/dt ∂L/∂q̇ − ∂L/∂q − Q − Aᵀλ, one expression per coordinate: they vanish in motion."""
        rows = range(len(self.coordinates))
        return column(total(self._left(i)) - total(self._right(i)) for i in rows)

    @cached_property
    def multipliers(self) -> sp.ImmutableMatrix:
        """λ in closed form, one row per entry of `lam`, from R̈ = 0.

        With R̈ = A q̈ + γ this is λ = −(A M⁻¹Aᵀ)⁻¹ (γ + A M⁻¹(Q − C q̇ − G)). For small systems: at
        most 6 coordinates and 2 multipliers.

        Examples
        --------
        >>> x, y, (m, r, g) = *st.coordinates("x y"), st.parameters("m r g")
        >>> circle = st.System(constraints=[(x**2 + y**2 - r**2) / 2])
        >>> st.equations(st.particle(m, at=(x, y), gravity=g) + circle).multipliers[0]
        m*(g*y - x.dot**2 - y.dot**2)/(x**2 + y**2)
        """
        return closed_form(self)

    @cached_property
    def turned(self) -> Turned | None:
        """Euler's equations, where bodies turn by rotations and are few."""
        return turned(self)

    def _left(self, i: int) -> list[Term]:
        """Return the terms of M q̈ + C q̇ + G for one coordinate, in the order of reading."""
        turning = sp.Add(*(c * v for c, v in zip(self.C.row(i), self.velocities)))
        # What could not be simplified before will not become simple now.
        turning = tidy(turning) if self.simplified else turning
        return [*zip(self.M.row(i), self.accelerations), *terms(turning), *terms(self.G[i])]

    def _right(self, i: int) -> list[Term]:
        """Return the terms of Q + Aᵀλ for one coordinate."""
        return [*terms(self.Q[i]), *zip(self.A.col(i), self.lam)]

    def __str__(self) -> str:
        if self.turned is not None:
            return str(self.turned)
        lines = ["Equations of motion" + (f" of {self.system.name}" if self.system.name else "")]
        width = max((len(q.name) for q in self.coordinates), default=0) + 1
        for i, q in enumerate(self.coordinates):
            sides = " = ".join(written(side, plain) for side in (self._left(i), self._right(i)))
            lines.append(f"  {q.name + ':':<{width}} {sides}")
        if self.lam:
            conditions = (*self.system.constraints, *self.system.pfaffian)
            lines += ["under", *(f"  {term}" for term in conditions)]
        if not self.simplified:
            lines.append(UNSIMPLIFIED)
        return "\n".join(lines)

    __repr__ = __str__

    def latex(self) -> str:
        """Return the equations, one row per coordinate, as an aligned block of LaTeX.

        Bodies that turn by a rotation have Euler's equations, by their angular velocities.
        """
        if self.turned is not None:
            return aligned(self.turned.latex())
        rows = [
            f"{written(self._left(i))} &= {written(self._right(i))}"
            for i in range(len(self.coordinates))
        ]
        return aligned([*rows, *(f"{sp.latex(e)} &= 0" for _, e in conditions(self.system))])

    def _repr_latex_(self) -> str:
        return f"$${self.latex()}$$"

    def explain(self) -> Explanation:
        r"""Return the derivation, step by step, as Markdown with LaTeX.

        Examples
        --------
        >>> theta, (m, l, g) = st.coordinates("theta"), st.parameters("m l g")
        >>> bob = st.particle(m, at=(l * st.sin(theta), -l * st.cos(theta)), gravity=g)
        >>> text = st.equations(bob).explain()
        >>> print(text.splitlines()[-1])
        $$G = \frac{\partial U}{\partial q} = \left[\begin{matrix}g l m \sin{\left(\theta \right)}\end{matrix}\right]$$
        """  # noqa: E501
        return explanation(self)


def equations(system: System) -> Equations:
    """Derive the equations of motion of a system, exactly, to be read.

    The equations are ``M q̈ + C q̇ + G = Q + Aᵀλ``; a multiplier is the force along ∂R/∂q, as in
    L = T − U + W + λR.

    Parameters
    ----------
    system : System
        Repetitions (`each`) are written out if it has at most 40 coordinates.

    Returns
    -------
    Equations

    Raises
    ------
    DerivationError
        For dry friction and contacts, whose forces are no expressions of the state; for
        repetitions over many coordinates.

    Examples
    --------
    >>> x, theta = st.coordinates("x theta")
    >>> m1, m2, l, g = st.parameters("m1 m2 l g")
    >>> F = st.inputs("F")
    >>> X, Y = x + l * st.sin(theta), l * (1 - st.cos(theta))
    >>> cart = st.particle(m1, at=x) + st.particle(m2, at=(X, Y), gravity=g)
    >>> eq = st.equations(cart + st.System(loads=[st.Load(F, on=X)]))
    >>> eq.M
    Matrix([
    [        m1 + m2, l*m2*cos(theta)],
    [l*m2*cos(theta),         l**2*m2]])
    >>> print(eq)
    Equations of motion
      x:     (m1 + m2)*x.ddot + l*m2*cos(theta)*theta.ddot - l*m2*theta.dot**2*sin(theta) = F
      theta: l*m2*cos(theta)*x.ddot + l**2*m2*theta.ddot + g*l*m2*sin(theta) = F*l*cos(theta)
    """
    stated = readable(system)
    _refuse_unsmooth(stated)
    exact, back = in_fractions(stated)
    q: tuple[Coordinate, ...] = exact.coordinates
    v = {c.dot for c in q}
    # The first derivatives are those of sums of everything: each takes ten times longer.
    _refuse_long([exact.kinetic], v, 10)
    momenta = [exact.kinetic.diff(c.dot) for c in q]
    _refuse_long(momenta, v)
    # Each has its own bound: what is spent on inertia is not missing for the forces.
    with bounded(WHOLE) as inertia:
        M = _mass_matrix(momenta, q)
    with bounded() as turning:
        C = _christoffel(M, q)
    with bounded() as forces:
        rest = _rest_of_inertia(exact.kinetic, momenta, M, C, q)
        G = [_settling(q)(exact.potential.diff(c) + r) for c, r in zip(q, rest)]
        Q = [_settling(q)(f) for f in generalized_forces(exact)]
        rows = _constraint_rows(exact)
    return Equations(
        system=stated,
        coordinates=q,
        M=sp.ImmutableMatrix(M.applyfunc(back)),
        C=sp.ImmutableMatrix(C.applyfunc(back)),
        G=column(map(back, G)),
        Q=column(map(back, Q)),
        A=sp.ImmutableMatrix(len(rows), len(q), [back(a) for _, row in rows for a in row]),
        lam=tuple(lam for lam, _ in rows),
        simplified=not (inertia.stopped or turning.stopped or forces.stopped),
    )


# -- what can be read -------------------------------------------------------------------------


def _refuse_unsmooth(system: System) -> None:
    dry = [("friction", f) for f in system.friction if isinstance(f, Friction)]
    for kind, term in [*dry, *(("contact", c) for c in system.contacts)]:
        refuse(
            f"{kind} '{term.name}' has no place in Lagrange's equations.",
            f"Found {str(term).removeprefix(f'{term.name}: ')}; its force is no expression of "
            "coordinates, velocities and time.",
            "State the system without it to read the rest; "
            f"{follower(system)} follows it all the same.",
        )


def _refuse_long(several: Sequence[sp.Expr], symbols: set, each: int = 1) -> None:
    """Refuse derivatives by symbols that would take long and that nobody would read."""
    counts = ((operations((e,), MOST_DERIVED), len(e.free_symbols & symbols)) for e in several)
    work = each * sum(size * count for size, count in counts)
    if work > MOST_DERIVED:
        raise TooLong(
            "the equations of motion are too long to be read.",
            f"Found a kinetic energy whose derivatives take about {work:.2g} operations, expected "
            f"at most {MOST_DERIVED}.",
            "Ask for numbers, as by simulate or statics; they need no such form.",
        )


# -- the parts of the equations -----------------------------------------------------------------


def _settling(q: Sequence[Coordinate]) -> Callable[[sp.Expr], sp.Expr]:
    """Return what brings expressions into a form: what is written in quaternions is not read."""
    return sp.expand if any(isinstance(c, Entry) for c in q) else tidy


def _mass_matrix(momenta: list[sp.Expr], q: Sequence[Coordinate]) -> sp.Matrix:
    M, settle = sp.zeros(len(q), len(q)), _settling(q)
    for i, p in enumerate(momenta):
        for j in range(i, len(q)):
            if q[j].dot in p.free_symbols:
                M[i, j] = M[j, i] = settle(p.diff(q[j].dot))
    return M


def _christoffel(M: sp.Matrix, q: Sequence[Coordinate]) -> sp.Matrix:
    """Return C_ij = Σ_k ½(∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) q̇_k."""
    n, zero = len(q), sp.S.Zero
    slope: dict[tuple[int, int, int], sp.Expr] = {}
    for i, j, k in ((i, j, k) for i in range(n) for j in range(i, n) for k in range(n)):
        if q[k] in M[i, j].free_symbols:
            slope[i, j, k] = slope[j, i, k] = M[i, j].diff(q[k])
    settle = _settling(q)
    # An entry is zero unless one of its slopes is there: visit those alone.
    touched = {pair for i, j, k in slope for pair in ((i, j), (i, k), (k, i))}
    C = sp.zeros(n, n)
    for i, j in touched:
        for k in range(n):
            twice = slope.get((i, j, k), zero) + slope.get((i, k, j), zero)
            # Simplify symbol by symbol: most vanish, and each is small.
            C[i, j] += settle((twice - slope.get((j, k, i), zero)) / 2) * q[k].dot
        C[i, j] = settle(C[i, j])
    return C


def _rest_of_inertia(
    T: sp.Expr, momenta: list[sp.Expr], M: sp.Matrix, C: sp.Matrix, q: Sequence[Coordinate]
) -> list[sp.Expr]:
    """Return d/dt ∂T/∂q̇ − ∂T/∂q − M q̈ − C q̇, which vanishes for T = ½ q̇ᵀM(q)q̇."""
    v = [c.dot for c in q]
    if M.free_symbols & set(v):
        turning = C * sp.Matrix(v)
        return [tidy(unaccelerated(p, q) - T.diff(c) - e) for p, c, e in zip(momenta, q, turning)]
    # T = ½ q̇ᵀMq̇ + bᵀq̇ + T₀: what C leaves out comes from b, T₀ and explicit time alone.
    b, T0 = linear_and_constant(T, momenta, M, v)
    return [
        sum((M[i, j].diff(t) + b[i].diff(q[j]) - b[j].diff(c)) * v[j] for j in range(len(q)))
        + b[i].diff(t)
        - T0.diff(c)
        for i, c in enumerate(q)
    ]


def _constraint_rows(system: System) -> list[tuple[Multiplier, list[sp.Expr]]]:
    """Return the multiplier and the row of A of every constraint."""
    rows: dict[Multiplier, list[sp.Expr]] = {}
    for term in (*system.constraints, *system.pfaffian):
        holonomic = isinstance(term, Constraint)
        entries = term.R if holonomic else term.expr
        for number, e in enumerate(entries):
            index = f"[{number}]" if len(entries) > 1 else ""
            lam = Multiplier("lambda_" + "_".join(term.name.split()) + index)
            if lam in rows:
                refuse(
                    f"two constraints have the name '{term.name}'.",
                    f"Found '{lam}' for two multipliers; each is named after its constraint.",
                    "Rename one of them, with name=….",
                )
            settle = _settling(system.coordinates)
            rows[lam] = [settle(e.diff(c if holonomic else c.dot)) for c in system.coordinates]
    return list(rows.items())
