"""What Lagrange's equations are made of: forms in the velocities, virtual work, conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import sympy as sp

from stationary.derive.effort import TooLong
from stationary.derive.readable import tidy, upright
from stationary.errors import DerivationError
from stationary.model import graphs
from stationary.model.arrays import Array
from stationary.model.built_once import Shared
from stationary.model.contents import contents
from stationary.model.graphs import nodes
from stationary.model.symbols import Coordinate, Velocity, rate
from stationary.model.system import System, follower, require, written_out
from stationary.model.terms import ENERGIES, TERMS, Drag, Load

#: What is said where the bound on algebra was reached.
UNSIMPLIFIED = "Some of it is too long to be simplified, and is left as it was derived."


#: Most coordinates of a system with repetitions that is written out to be read.
READABLE = 40


class Multiplier(sp.Symbol):
    """The multiplier of a constraint: the size of its force along ∂R/∂q."""

    def __new__(cls, name: str, **assumptions):
        """Make the symbol; it is real whatever else is assumed."""
        return super().__new__(cls, name, real=True)

    @classmethod
    def class_key(cls):
        """Sort behind everything that it multiplies."""
        return 2, 0, "Z5"

    def _latex(self, printer) -> str:
        return rf"\lambda_{{{upright(self.name.removeprefix('lambda_'))}}}"


def refuse(what: str, finding: str, remedy: str) -> NoReturn:
    """Say that no equations follow."""
    raise DerivationError(what, finding, remedy)


# A mass matrix of more rows, however empty, is not read.
_MOST = 1000

# SymPy differentiates and simplifies by recursion, several calls a level; Python allows a thousand.
_DEEPEST = 60


def readable(system: System) -> System:
    """Return the system with repetitions and arrays written out, or say that it is too large."""
    require(system)
    if system.size == 0:
        refuse(
            f"{system.name or 'the system'} has no equations of motion.",
            "Found no coordinate in its energies and terms.",
            "State them with st.coordinates.",
        )
    sizes = [(label, _written_out(e)) for label, e in system.expressions()]
    sizes += [
        (f"{kind} '{term.name or number}'", term.table.rows * sum(map(_written_out, parts)))
        for kind in TERMS
        for number, term in enumerate(getattr(system, kind), 1)
        if term.table is not None and (parts := tuple(term.expressions()))
    ]
    for label, size in sizes:
        if size > graphs.LARGE:
            label += " energy" * (label in ("kinetic", "potential"))
            raise TooLong(
                f"the statement is too large to be read: its {label} is.",
                f"Found {size:.3g} terms and factors with definitions put in and rows written out, "
                f"expected at most {graphs.LARGE}.",
                "Ask for numbers, as by st.simulate or st.statics; they need no such form.",
            )
    deepest = max((graphs.levels(e) for _, e in system.expressions()), default=0)
    if deepest > _DEEPEST:
        raise TooLong(
            "the statement is nested too deeply to be read.",
            f"Found {deepest} levels of functions, sums and products inside each other, expected "
            f"at most {_DEEPEST}.",
            "Ask for numbers, as by st.simulate or st.statics; they need no such form.",
        )
    if system.size > _MOST:
        raise TooLong(
            f"{system.name or 'the system'} is too large to be read.",
            f"Found {system.size} coordinates, expected at most {_MOST}.",
            f"Use {follower(system)} to run it, or state a smaller one to read.",
        )
    repeats = any(contents(getattr(system, kind)).sums for kind in ENERGIES) or any(
        term.table is not None for kind in TERMS for term in getattr(system, kind)
    )
    if repeats and system.size > READABLE:
        raise TooLong(
            f"{system.name or 'the system'} is too large to be read.",
            f"Found repetitions over {system.size} coordinates, expected at most {READABLE}.",
            f"Use {follower(system)} to run it, or state a smaller one to read.",
        )
    arrays = any(isinstance(c, Array) for c in system.coordinates)
    shares = any(isinstance(n, Shared) for _, e in system.expressions() for n in nodes(e))
    return written_out(system) if repeats or arrays or shares else system


def _written_out(e: sp.Expr) -> int:
    """Return how many parts an expression has with its repetitions written out."""
    repeated = (
        s.table.rows * sum(map(graphs.written_out, s.expressions)) for s in contents(e).sums
    )
    return graphs.written_out(e) + sum(repeated)


def linear_and_constant(
    T: sp.Expr, momenta: Sequence[sp.Expr], M: Any, v: Sequence[Velocity]
) -> tuple[list[sp.Expr], sp.Expr]:
    """Return b and T₀ of T = ½ q̇ᵀMq̇ + bᵀq̇ + T₀."""
    rest = dict.fromkeys(v, sp.S.Zero)
    b, T0 = [p.subs(rest) for p in momenta], T.subs(rest)
    if any(e.has(sp.nan, sp.zoo, sp.oo) for e in (*b, T0)):
        # T is written with a quotient of velocities; take the known parts off instead.
        p = M * sp.Matrix(v)
        b = [tidy(full - part) for full, part in zip(momenta, p)]
        T0 = tidy(T - sum((p[i] / 2 + b[i]) * u for i, u in enumerate(v)))
    return b, T0


def quadratic_form(M: Any, v: Sequence[Velocity]) -> sp.Expr:
    """Return ½ q̇ᵀMq̇ as a sum with one term for every entry of M, which is already tidy."""
    half = {True: sp.Rational(1, 2), False: sp.S.One}
    pairs = ((i, j) for i in range(len(v)) for j in range(i + 1))
    return sp.Add(*(sp.Mul(half[i == j], M[i, j], v[i], v[j]) for i, j in pairs))


def generalized_forces(system: System) -> list[sp.Expr]:
    """Return Q: loads by virtual work, ∂W/∂q, −∂D/∂q̇ and drag."""
    total = [system.work.diff(c) - system.dissipation.diff(c.dot) for c in system.coordinates]
    for term in (*system.loads, *system.friction):
        total = [a + b for a, b in zip(total, virtual_work(term, system.coordinates))]
    return total


def virtual_work(term: Load | Drag, q: Sequence[Coordinate]) -> list[sp.Expr]:
    """Return the generalized forces of one term: δW = force · δ(on) = Σ Q_i δq_i."""
    return [sp.Add(*(f * on.diff(c) for f, on in zip(force(term), term.on))) for c in q]


def force(term: Load | Drag) -> Sequence[sp.Expr]:
    """Return the force of a load, or of drag: −η|v|ⁿ⁻¹v."""
    if isinstance(term, Load):
        return term.force
    # The slope of the dissipation potential, written so that it reads well.
    velocity = [rate(x) for x in term.on]
    speed = sp.sqrt(sp.Add(*(u**2 for u in velocity)))
    return [-term.eta * speed ** (term.power - 1) * u for u in velocity]


def conditions(system: System) -> list[tuple[Any, sp.Expr]]:
    """Return every constraint, one expression at a time, holonomic ones first."""
    holonomic = [(c, R) for c in system.constraints for R in c.R]
    return holonomic + [(c, e) for c in system.pfaffian for e in c.expr]


def unaccelerated(e: sp.Expr, q: Sequence[Coordinate]) -> sp.Expr:
    """Return the rate of an expression less its terms in the accelerations."""
    return rate(e).xreplace({c.ddot: sp.S.Zero for c in q})
