"""Hamilton's equations to read: momenta, Legendre transform, and a mechanism's two coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Any

import sympy as sp

from stationary.derive.effort import WHOLE, expanded
from stationary.derive.lagrange import Equations, equations
from stationary.derive.readable import (
    Explanation,
    aligned,
    block,
    column,
    in_fractions,
    plain,
    slope,
    terms,
    tidy,
    title,
    write_sum,
)
from stationary.derive.sampling import sampled, vanish
from stationary.derive.virtual_work import linear_and_constant, refuse
from stationary.errors import StatementError, spelled, unknown
from stationary.model.symbols import Coordinate, Moving, Parameter, Velocity
from stationary.model.system import System

#: Most coordinates coupled by a mass matrix of symbols that is inverted to be read.
MOST_COUPLED = 4


class Momentum(Moving):
    """The momentum conjugate to a coordinate; ``p.dot`` is its rate, ``p.of`` the coordinate."""

    @classmethod
    def class_key(cls):
        """Sort behind parameters: momenta are written after constants, as velocities are."""
        return 2, 0, "Z4"

    @property
    def of(self) -> Coordinate:
        """The coordinate."""
        return Coordinate(self.name.partition("_")[2].removesuffix(".dot"), self.after)

    @property
    def dot(self) -> Momentum:
        """Its rate."""
        return Momentum(self.name + ".dot", self.after)

    def _latex(self, printer) -> str:
        letter = r"\eta" if self.name.startswith("eta") else "p"
        if self.name.endswith(".dot"):
            letter = rf"\dot{{{letter}}}"
        return f"{letter}_{{{sp.latex(self.of)}}}"


class ByCoordinate(tuple):
    """Expressions in the order of the coordinates, asked for by place, coordinate or name."""

    names: tuple[str, ...]

    def __new__(cls, coordinates: Iterable[Coordinate], entries: Iterable[Any]):
        """Keep the entries with the names of their coordinates."""
        by_name = super().__new__(cls, entries)
        by_name.names = tuple(c.name for c in coordinates)
        return by_name

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (Coordinate, str)):
            if str(key) not in self.names:
                raise StatementError(unknown("coordinate", str(key), self.names))
            key = self.names.index(str(key))
        return super().__getitem__(key)

    def __getnewargs__(self):
        return tuple(map(Coordinate, self.names)), tuple(self)


@spelled
@dataclass(frozen=True, repr=False)
class Hamilton:
    """Hamilton's equations of a system, to read.

    Attributes
    ----------
    system : System
    coordinates : tuple of Coordinate
    p : tuple of Momentum
        The symbols of the momenta: ``p_theta``, or ``eta_theta`` for a mechanism.
    momenta : tuple of expressions
        ∂T/∂q̇ of every coordinate, as expressions of q, q̇ and t; ``h.momenta[theta]``,
        ``h.momenta["theta"]`` and ``h.momenta[0]`` all work.
    velocities : tuple of expressions
        q̇ as expressions of q, p and t; asked for in the same ways.
    hamiltonian : expression
        H(q, p, t) = p·q̇ − T + U.
    forces : tuple of expressions
        Q + Aᵀλ as expressions of q, p and t.

    Examples
    --------
    >>> x, (m, F) = st.coordinates("x"), st.parameters("m F")
    >>> st.hamilton(st.System(kinetic=m * x.dot**2 / 2, loads=[st.Load(F, on=x)]))
    Hamilton's equations
      p_x = m*x.dot
      H = p_x**2/(2*m)
      x.dot = p_x/m
      p_x.dot = F
    """

    system: System
    coordinates: tuple[Coordinate, ...]
    p: tuple[Momentum, ...]
    momenta: ByCoordinate
    velocities: ByCoordinate
    hamiltonian: sp.Expr
    forces: ByCoordinate

    @cached_property
    def rates(self) -> dict[sp.Symbol, sp.Expr]:
        """The rate of every coordinate, then of every momentum: ∂H/∂p and −∂H/∂q + Q."""
        exact, back = in_fractions(self.system)
        flow = {q.dot: v for q, v in zip(self.coordinates, self.velocities)}
        rates: dict[sp.Symbol, sp.Expr] = dict(zip(self.coordinates, self.velocities))
        for q, p, force in self._rows(self.forces):
            # −∂H/∂q at fixed p is ∂L/∂q at fixed q̇, which is often shorter.
            push = _brief(back(tidy(exact.kinetic.diff(q))).subs(flow))
            push -= back(tidy(exact.potential.diff(q)))
            if self.hamiltonian.count_ops() < 80:
                push = _shorter(push, tidy(-self.hamiltonian.diff(q)))
            rates[p] = push + force
        return rates

    def _rows(self, third: Sequence[sp.Expr]) -> Iterable[tuple[Coordinate, Momentum, sp.Expr]]:
        return zip(self.coordinates, self.p, third)

    @property
    def equations(self) -> tuple[sp.Eq, ...]:
        """The canonical equations: q̇ = ∂H/∂p for every coordinate, then ṗ = −∂H/∂q + Q."""
        return tuple(sp.Eq(s.dot, e, evaluate=False) for s, e in self.rates.items())  # pyright: ignore[reportAttributeAccessIssue]

    # -- a mechanism in its two coordinates ----------------------------------------------------

    @property
    def J(self) -> sp.ImmutableMatrix:
        """The Jacobian ∂L/∂θ of a mechanism's x = L(θ): v = J ω."""
        return self._kinematics[0]

    @property
    def inertia(self) -> sp.ImmutableMatrix:
        """The inertia I(θ) = JᵀMJ of a mechanism."""
        return self._kinematics[1]

    @property
    def effort(self) -> sp.Eq:
        """The relation τ = Jᵀf between the forces on a mechanism's two sides, as an equation."""
        tau = column(sp.Symbol(f"tau_{c.name}", real=True) for c in self.coordinates)
        return sp.Eq(tau, self.J.T * _numbered("f", self.J.rows), evaluate=False)

    @cached_property
    def _kinematics(self) -> tuple[sp.ImmutableMatrix, sp.ImmutableMatrix]:
        mechanism, q = self.system.mechanism, self.coordinates
        if mechanism is None:
            refuse(
                f"{self.system.name or 'the system'} is no mechanism.",
                "Found energies without uncoupled coordinates x = L(θ).",
                "State its members with st.mechanism(x=…, inertia=…).",
            )
        slopes = [tidy(x.diff(c)) for x in mechanism.x for c in q]
        J = sp.ImmutableMatrix(len(mechanism.x), len(q), slopes)
        inertia = (J.T * sp.diag(*mechanism.inertia) * J).applyfunc(tidy)
        own = inertia * column(c.dot for c in q)
        if not vanish(e - part for e, part in zip(self.momenta, own))[0]:
            refuse(
                "a mechanism's two coordinates describe all that moves, or nothing.",
                "Found kinetic energy besides that of st.mechanism(x=…, inertia=…).",
                "State all members in one st.mechanism, or read h.momenta and h.equations.",
            )
        return J, sp.ImmutableMatrix(inertia)

    def table(self) -> str:
        r"""Return a mechanism in inertial and in generalized coordinates, as a Markdown table.

        Examples
        --------
        >>> theta, (m, l) = st.coordinates("theta"), st.parameters("m l")
        >>> crank = st.mechanism(x=[l * st.cos(theta)], inertia=[m])
        >>> print(st.hamilton(crank).table().splitlines()[3])
        | flow | $v$ | $v = J \omega,\; J = \left[\begin{matrix}- l \sin{\left(\theta \right)}\end{matrix}\right]$ | $\omega = \left[\begin{matrix}\dot{\theta}\end{matrix}\right]$ |
        """  # noqa: E501
        return _table(self)

    # -- how it reads --------------------------------------------------------------------------

    def __str__(self) -> str:
        lines = [f"Hamilton's equations{f' of {self.system.name}' if self.system.name else ''}"]
        lines += [f"  {p} = {plain(e)}" for _, p, e in self._rows(self.momenta)]
        lines.append(f"  H = {plain(self.hamiltonian)}")
        lines += [f"  {e.lhs} = {plain(e.rhs)}" for e in self.equations]
        return "\n".join(lines)

    __repr__ = __str__

    def latex(self) -> str:
        """Return H and the canonical equations as an aligned block of LaTeX."""
        rows = [f"H &= {write_sum(terms(self.hamiltonian))}"]
        rows += [f"{sp.latex(e.lhs)} &= {write_sum(terms(e.rhs))}" for e in self.equations]
        return aligned(rows)

    def _repr_markdown_(self) -> str:
        return self.table() if self.system.mechanism else f"$${self.latex()}$$"

    def explain(self) -> Explanation:
        """Return the way from T to the canonical equations, as Markdown with LaTeX."""
        return _explanation(self)


@spelled
def hamilton(system: System) -> Hamilton:
    """Derive Hamilton's canonical equations of a system, exactly, to be read.

    The momenta are p = ∂T/∂q̇, the Hamiltonian is H = p·q̇ − T + U, and
    ``q̇ = ∂H/∂p``, ``ṗ = −∂H/∂q + Q + Aᵀλ``: loads, work, dissipation and constraints push.
    For a kinetic energy that is not quadratic, constants are taken as positive.

    Parameters
    ----------
    system : System
        For one made by `mechanism`, the result has also its Jacobian, its inertia I(θ) = JᵀMJ,
        the relation τ = Jᵀf, and the table of both coordinates.

    Returns
    -------
    Hamilton

    Raises
    ------
    DerivationError
        For a singular mass matrix; for velocities that SymPy cannot express by momenta.

    Examples
    --------
    >>> theta, (m, l, g) = st.coordinates("theta"), st.parameters("m l g")
    >>> bob = st.particle(m, at=(l * st.sin(theta), -l * st.cos(theta)), gravity=g)
    >>> h = st.hamilton(bob)
    >>> h.momenta[theta]
    l**2*m*theta.dot
    >>> h.hamiltonian
    -g*l*m*cos(theta) + p_theta**2/(2*l**2*m)
    >>> h.equations[1]
    Eq(p_theta.dot, -g*l*m*sin(theta))
    """
    eq = equations(system)
    _refuse_long(eq)
    exact, back = in_fractions(eq.system)
    letter = "eta" if exact.mechanism else "p"
    p = tuple(Momentum(f"{letter}_{c.name}", c.after) for c in eq.coordinates)
    momenta = [exact.kinetic.diff(v) for v in eq.velocities]
    M = eq.M.applyfunc(_in_fractions)
    _refuse_singular(eq, M)
    by = _quadratic if not M.free_symbols & set(eq.velocities) else _by_solving
    velocities, energy = by(exact.kinetic, momenta, M, eq.velocities, p)
    # Forces that depend on velocities are forces of momenta from here on.
    swap = dict(zip(eq.velocities, velocities))
    pushed = (eq.Q + eq.A.T * sp.Matrix(len(eq.lam), 1, eq.lam)).applyfunc(_in_fractions)
    return Hamilton(
        system=eq.system,
        coordinates=eq.coordinates,
        p=p,
        momenta=ByCoordinate(eq.coordinates, (back(tidy(e)) for e in momenta)),
        velocities=ByCoordinate(eq.coordinates, map(back, velocities)),
        hamiltonian=back(energy + tidy(exact.potential)),
        forces=ByCoordinate(eq.coordinates, (back(_brief(e.subs(swap))) for e in pushed)),
    )


def _refuse_long(eq: Equations) -> None:
    """Refuse what nobody reads before it is worked out."""
    if eq.M.free_symbols & set(eq.velocities):
        return
    blocks: list[list[int]] = eq.M.connected_components()
    for members in blocks:
        part = eq.M.extract(members, members)
        names = ", ".join(eq.coordinates[i].name for i in members)
        few = len(members) <= MOST_COUPLED
        terms = _products(part) if few else 0
        if not part.free_symbols or few and terms <= WHOLE:
            continue
        refuse(
            "the Hamiltonian is too long to be read.",
            f"Found about {terms:.0e} terms in the determinant of the mass matrix of {names}, "
            f"expected at most {WHOLE}."
            if few
            else f"Found {len(members)} coordinates coupled by the mass matrix, expected at most "
            f"{MOST_COUPLED}: {names}.",
            "Read st.equations instead; st.simulate needs no Hamiltonian.",
        )


def _in_fractions(e: sp.Expr) -> sp.Expr:
    return sp.nsimplify(e, rational=True)


def _refuse_singular(eq: Equations, M: sp.Matrix) -> None:
    for c, row in zip(eq.coordinates, M.tolist()):
        if not any(row):
            refuse(
                "the mass matrix is singular: no kinetic energy involves the velocity of "
                f"'{c.name}'.",
                f"Found T = {eq.system.kinetic}.",
                f"Give '{c.name}' a mass, constrain it, or use quasistatics().",
            )


# -- from velocities to momenta ---------------------------------------------------------------


def _quadratic(
    T: sp.Expr, momenta: list[sp.Expr], M: sp.Matrix, v: Sequence[Velocity], p: Sequence[Momentum]
) -> tuple[list[sp.Expr], sp.Expr]:
    """Return q̇ = M⁻¹(p − b) and ½(p − b)ᵀM⁻¹(p − b) − T₀, block by block."""
    b, T0 = linear_and_constant(T, momenta, M, v)
    velocities: dict[int, sp.Expr] = {}
    energy = tidy(-T0)
    blocks: list[list[int]] = M.connected_components()
    for members in blocks:
        part = M.extract(members, members)
        determinant = tidy(part.det(method="berkowitz"))
        if vanish((determinant,))[0]:
            names = ", ".join(f"'{v[i].of.name}'" for i in members)
            refuse(
                f"the mass matrix is singular: T does not see every motion of {names}.",
                f"Found M = {part.tolist()} with determinant 0.",
                "Give each coordinate a mass of its own, constrain it, or use quasistatics().",
            )
        adjugate = part.adjugate(method="berkowitz").applyfunc(tidy)
        rest = sp.Matrix([p[i] - b[i] for i in members])
        for i, above in zip(members, adjugate * rest):
            velocities[i] = _quotient(above, determinant)
        energy += _quotient((rest.T * adjugate * rest)[0], 2 * determinant)
    return [velocities[i] for i in range(len(v))], energy


def _products(M: sp.Matrix) -> int:
    """Return how many terms the determinant of a matrix has when it is multiplied out."""
    counts = [[expanded(M[i, j]) if M[i, j] else 0 for j in range(M.cols)] for i in range(M.rows)]
    return sum(
        math.prod(counts[i][j] for i, j in enumerate(order))
        for order in permutations(range(M.cols))
    )


def _quotient(above: sp.Expr, below: sp.Expr) -> sp.Expr:
    """Return the quotient with common factors cancelled, where that is cheap."""
    as_given, above = above / below, tidy(above)
    forms = [as_given, above / below]
    nested = any(not p.exp.is_positive for e in (above, below) for p in e.atoms(sp.Pow))
    if not nested and above.count_ops() + below.count_ops() <= 100:
        numerator, denominator = sp.fraction(sp.cancel(above / below))
        forms.append(tidy(numerator) / sp.factor(tidy(denominator)))
    return _shorter(*forms)


def _shorter(*forms: sp.Expr) -> sp.Expr:
    return min(forms, key=sp.count_ops)


def _brief(e: sp.Expr) -> sp.Expr:
    return _shorter(e, tidy(e)) if e.count_ops() < 100 else e


def _by_solving(
    T: sp.Expr, momenta: list[sp.Expr], M: sp.Matrix, v: Sequence[Velocity], p: Sequence[Momentum]
) -> tuple[list[sp.Expr], sp.Expr]:
    """Solve p = ∂T/∂q̇ for q̇, block by block; return it and p·q̇ − T."""
    positive = {s: sp.Dummy(s.name, positive=True) for s in T.atoms(Parameter)}
    back = {dummy: s for s, dummy in positive.items()}
    T, M = T.xreplace(positive), M.xreplace(positive)
    at_rest = T.subs(dict.fromkeys(v, sp.S.Zero))
    blocks: list[list[int]] = M.connected_components()
    # T is a sum over the blocks; each carries the value at rest, which must count once.
    velocities, energy = {}, (len(blocks) - 1) * at_rest
    for members in blocks:
        mine, push = [v[i] for i in members], [p[i] for i in members]
        own = T.subs({u: sp.S.Zero for u in v if u not in mine})
        for way in (_by_itself, _by_speed):
            for answer, H in way(own, M.extract(members, members), mine, push):
                if mine[0] not in velocities and _holds(own, answer, mine, push):
                    velocities |= answer
                    energy += H
        if mine[0] not in velocities:
            refuse(
                f"the momentum of '{mine[0].of.name}' cannot be solved for its velocity.",
                f"Found ∂T/∂{mine[0]} = {momenta[members[0]]}; SymPy has no closed form.",
                "Read st.equations instead; st.simulate needs no Hamiltonian.",
            )
    return [velocities[u].xreplace(back) for u in v], _brief(energy).xreplace(back)


def _by_itself(T, M, v, p) -> Iterable[tuple[dict, sp.Expr]]:
    """Solve one momentum for one velocity."""
    for root in _solutions(T.diff(v[0]) - p[0], v[0]) if len(v) == 1 else []:
        H = p[0] * root - T.subs(v[0], root)
        yield {v[0]: root}, _shorter(H, sp.simplify(H) if H.count_ops() < 60 else H)


def _by_speed(T, M, v, p) -> Iterable[tuple[dict, sp.Expr]]:
    """Solve for s where T = f(s) alone, s = q̇ᵀKq̇/K_aa: p = 2f′Kq̇/K_aa, K_aa pᵀK⁻¹p = 4f′²s."""
    K = M.subs(dict.fromkeys(v, sp.S.Zero))
    if len(v) == 1 or K.has(sp.nan, sp.zoo) or K.det() == 0:
        return
    # A constant K_aa, where there is one, keeps coordinates out of the square root.
    a = next((i for i in range(len(v)) if K[i, i].is_positive), 0)
    s, square = sp.symbols("s P", positive=True)
    f = T.subs({u: sp.S.Zero for u in v if u != v[a]}).subs(v[a], sp.sqrt(s))
    raised = (K[a, a] * K.inv() * sp.Matrix(p)).applyfunc(tidy)
    for root in _solutions(4 * f.diff(s) ** 2 * s - square, s):
        # Simplify while the square of the momentum is one symbol, and put it in afterwards.
        parts = (1 / (2 * f.diff(s)), 2 * s * f.diff(s) - f)
        scale, H = (sp.simplify(e.subs(s, root)) for e in parts)
        whole = {square: tidy(sp.Matrix(p).dot(raised))}
        yield {u: (scale * e).subs(whole) for u, e in zip(v, raised)}, H.subs(whole)


def _solutions(equation: sp.Expr, unknown: sp.Symbol) -> list[sp.Expr]:
    try:
        return sp.solve(equation, unknown) if equation.count_ops() < 100 else []
    except NotImplementedError:
        return []


def _holds(T: sp.Expr, answer: dict, v: Sequence[Velocity], p: Sequence[Momentum]) -> bool:
    """Go from random velocities to momenta and back: roots have branches, only one is right."""
    there = {a: T.diff(u) for a, u in zip(p, v)}
    gaps = [answer[u].subs(there) - u for u in v]
    states = list(sampled(gaps, count=5))
    return len(states) > 0 and not any(map(any, states))


# -- the table and the explanation --------------------------------------------------------------


def _numbered(letter: str, count: int) -> sp.ImmutableMatrix:
    return column(sp.Symbol(f"{letter}_{i}", real=True) for i in range(1, count + 1))


def _table(h: Hamilton) -> str:
    J, I, E = h.J, h.inertia, h.system.kinetic  # noqa: E741
    mechanism, n = h.system.mechanism, h.J.rows
    assert mechanism is not None
    omega = column(c.dot for c in h.coordinates)
    M, v, f, p = sp.diag(*mechanism.inertia), *(_numbered(letter, n) for letter in "vfp")
    rate = [sp.Symbol(f"tau_{c.name}", real=True) + tidy(E.diff(c)) for c in h.coordinates]
    energy = sp.Add(*(m * u**2 for m, u in zip(mechanism.inertia, v))) / 2
    tex: Callable[[Any], str] = sp.latex
    rows = [
        ("displacement", "x", rf"x = L(\theta) = {tex(column(mechanism.x))}",
         rf"\theta = {tex(column(h.coordinates))}"),
        ("flow", "v", rf"v = J \omega,\; J = {tex(J)}", rf"\omega = {tex(omega)}"),
        ("effort", "f", rf"\tau = J^{{\mathsf{{T}}}} f = {tex(J.T * f)}", r"\tau"),
        ("momentum", "p", rf"\eta = J^{{\mathsf{{T}}}} p = {tex(J.T * p)}", r"\eta"),
        ("inertia", f"M = {tex(M)}", r"I = J^{\mathsf{T}} M J", f"I = {tex(I)}"),
        ("constitutive equation", f"p = M v = {tex(M * v)}", "",
         rf"\eta = I \omega = {tex(column(h.momenta))}"),
        ("kinetic co-energy", rf"E^* = \tfrac{{1}}{{2}} v^{{\mathsf{{T}}}} M v = {tex(energy)}", "",
         rf"E^* = \tfrac{{1}}{{2}} \omega^{{\mathsf{{T}}}} I \omega = {tex(tidy(E))}"),
        ("", r"\frac{dx}{dt} = v", "", r"\frac{d\theta}{dt} = \omega"),
        ("", r"\frac{dp}{dt} = f", "", r"\frac{d\eta}{dt} = \tau + " + slope("E^*", r"\theta")
         + f" = {tex(column(rate))}"),
    ]  # fmt: skip
    lines = ["| | inertial coordinates | relation | generalized coordinates |", "|---|---|---|---|"]
    for name, *cells in rows:
        written = (f"${_without_bars(cell)}$" if cell else "" for cell in cells)
        lines.append(f"| {name} | {' | '.join(written)} |")
    return "\n".join(lines)


def _without_bars(cell: str) -> str:
    # A bar would end the cell of a Markdown table.
    return cell.replace(r"\left|", r"\left\lvert ").replace(r"\right|", r"\right\rvert ")


def _explanation(h: Hamilton) -> Explanation:
    s, letter = h.system, r"\eta" if h.system.mechanism else "p"
    momenta = [
        rf"{sp.latex(p)} &= {slope('T', c.dot)} = {write_sum(terms(e))}"
        for c, p, e in h._rows(h.momenta)
    ]
    solved = [rf"{sp.latex(c.dot)} &= {sp.latex(e)}" for c, _, e in h._rows(h.velocities)]
    balance = [
        rf"{sp.latex(p.dot)} &= {slope('T', c)} - {slope('U', c)} + Q_{{{sp.latex(c)}}} = "
        + write_sum([*terms(tidy(s.kinetic.diff(c))), *terms(tidy(-s.potential.diff(c))),
                     *terms(sp.S(f))])
        for c, p, f in h._rows(h.forces)
    ]  # fmt: skip
    canonical = [f"{sp.latex(e.lhs)} &= {write_sum(terms(e.rhs))}" for e in h.equations]
    lines = [
        title("Hamilton's equations", s.name),
        "## 1. Momenta",
        block(*momenta),
        "## 2. The rate of a momentum is not the generalized force",
        block(rf"\frac{{d{letter}}}{{dt}} &= \tau + {slope('T', 'q')}"),
        "The kinetic energy depends on the coordinates and adds its slope to the forces "
        rf"$\tau = Q - {slope('U', 'q')}$.",
        block(*balance),
        "## 3. Velocities by momenta",
        block(*solved),
        "## 4. Legendre transform",
        block(rf"H &= {letter} \cdot \dot{{q}} - T + U = {write_sum(terms(h.hamiltonian))}"),
        "## 5. Canonical equations",
        block(rf"\dot{{q}} = {slope('H', letter)},\qquad \dot{{{letter}}} = "
              rf"-{slope('H', 'q')} + Q"),
        block(*canonical),
    ]  # fmt: skip
    if s.mechanism:
        lines += ["## 6. Inertial and generalized coordinates", h.table()]
    return Explanation("\n\n".join(lines))
