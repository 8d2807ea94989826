"""The equations to run: a CasADi graph, assembled from elements, differentiated automatically.

Every function has the arguments ``(t, q, v, u, p)``: time, coordinates, velocities, inputs and
parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse

from stationary.derive.assembly import ROWS, Assembly
from stationary.derive.elements import Element
from stationary.derive.elimination_order import saddle_order
from stationary.errors import DerivationError
from stationary.model.layout import Layout
from stationary.model.system import System

# Damping of rows that depend on each other, relative to how far each gives way to its force.
_DAMPING = 1e-10


@dataclass(frozen=True, eq=False)
class Graph:
    """The graph of a system, built piece by piece as it is asked for.

    A `short` one has forces in few operations, for statements that are run very often.
    """

    system: System
    short: bool = False

    def __post_init__(self):
        for part in self.system.parts:
            if part.support is not None:
                raise DerivationError(
                    f"the pressure under '{part.name}' is left open: friction is not known.",
                    "Found weight= and no weights or pressure.",
                    "Ask st.pressure_bounds what all pressures have in common, or state "
                    "weights=, limit= or pressure=.",
                )

    @cached_property
    def layout(self) -> Layout:
        """Where every name stands in q, p and u."""
        return Layout(self.system)

    @cached_property
    def whole(self) -> Assembly:
        """The elements, and how they add up."""
        return Assembly(self.layout)

    @property
    def scalar(self) -> bool:
        """Whether functions are expanded to scalar operations, which engines can compile."""
        return self.whole.scalar

    # -- functions ------------------------------------------------------------------------------

    @cached_property
    def dynamics(self) -> ca.Function:
        """M and the force of M a = force."""
        force = self.whole.vector(lambda e: e.short_force if self.short else e.force)
        return self._function("dynamics", [self.whole.matrix(lambda e: e.mass), force])

    @cached_property
    def mass(self) -> ca.Function:
        """M."""
        return self._function("mass", [self.whole.matrix(lambda e: e.mass)])

    @cached_property
    def constant_mass(self) -> bool:
        """Whether M depends on parameters alone."""
        if not self.scalar:
            return False
        *state, _ = arguments = self.mass.sx_in()
        return not ca.depends_on(self.mass.call(arguments)[0], ca.vertcat(*state))

    @cached_property
    def acceleration(self) -> ca.Function:
        """a, from M factored inside the graph."""
        self.require_inertia()
        names = list("tqvup")
        if self.chained is not None:
            solved = self.whole.vector(lambda e: e.accelerated)
            every = self.whole.arguments
            return ca.Function("acceleration", every, [solved], names, ["a"], {"cse": True})
        if not self.scalar:
            M, force = self.dynamics.call(self.whole.arguments)
            solved = ca.solve(M, force, "ldl")
            return ca.Function("acceleration", self.whole.arguments, [solved], names, ["a"])
        arguments = self.dynamics.sx_in()
        M, force = self.dynamics.call(arguments)
        diagonal, lower, order = ca.ldl(M)
        solved = ca.ldl_solve(force, diagonal, lower, order)
        return ca.Function("acceleration", arguments, [solved], names, ["a"], {"cse": True})

    @cached_property
    def chained(self) -> Element | None:
        """The one element that the whole is, if its bodies pass their motion on."""
        elements = self.whole.elements
        one = len(elements) == 1 and elements[0].rows == 1 and elements[0].chain is not None
        return elements[0] if one else None

    @cached_property
    def constraints(self) -> ca.Function:
        """R, Ṙ, A, γ of R̈ = A a + γ and b of Ṙ = A v + b; R is zero for Pfaffian rows."""
        whole = self.whole
        A = whole.matrix(lambda e: e.A, ROWS)
        R, Rdot = whole.vector(lambda e: e.R, ROWS), whole.vector(lambda e: e.Rdot, ROWS)
        gamma, drive = whole.vector(lambda e: e.gamma, ROWS), whole.vector(lambda e: e.drive, ROWS)
        return self._function("constraints", [R, Rdot, A, gamma, drive])

    @cached_property
    def momenta(self) -> ca.Function:
        """∂T/∂v, and what pushes: ∂(T − U)/∂q + applied forces."""
        pushes = self.whole.vector(lambda e: ca.gradient(e.T - e.U, e.z) + e.applied)
        return self._function("momenta", [self.whole.vector(lambda e: e.momentum), pushes])

    @cached_property
    def inertial(self) -> ca.Function:
        """M and the forces, M positive where constraints alone keep the lengths of quaternions.

        The length of a quaternion has no inertia. Given one, and the force of its own acceleration,
        nothing changes but the multiplier of the row that keeps it.
        """
        quaternions = self.layout.kinematics.quaternions
        if not len(quaternions):
            return self.dynamics
        arguments = self.dynamics.sx_in()
        M, force = self.dynamics.call(arguments)
        for places in quaternions.tolist():
            q, v = arguments[1][places], arguments[2][places]
            weight = sum(M[i, i] for i in places)
            M[places, places] += weight * ca.mtimes(q, q.T)
            force[places] -= weight * ca.sumsqr(v) * q
        return ca.Function("inertial", arguments, [M, force])

    def held(
        self, rows: tuple[int, ...], damped: tuple[int, ...] = (), sizes: tuple[int, ...] = ()
    ) -> ca.Function:
        """Return a and λ of M a = force + Aᵀλ, R̈ + 2αṘ + α²R = 0, for some of the rows of A.

        The function has α as a sixth argument, and the power that moving constraints supply as a
        third output. Rows that depend on each other, always or now and then, need a little damping
        to be factored; one refinement takes its effect out again. How far each gives way to its
        force is told in powers of ten: rows have units of their own. A mass matrix that is
        singular, but not on the motions that the rows allow, is augmented by AᵀA; that needs to
        know how large the coordinates are, in powers of ten.
        """
        if self.chained is not None and len(rows) == len(self.upright):
            return self._turned(rows)
        scalar = self.scalar
        arguments = self.dynamics.sx_in() if scalar else self.whole.arguments
        alpha = type(arguments[0]).sym("alpha")
        M, force = self.dynamics.call(arguments)
        kept = list(rows)
        R, Rdot, A, gamma, drive = self.constraints.call(arguments)
        R, Rdot, A, gamma = R[kept], Rdot[kept], A[kept, :], gamma[kept]
        wanted = -(gamma + 2 * alpha * Rdot + alpha**2 * R)
        sizes = sizes or (0,) * self.system.size * bool(self._massless)
        if sizes:
            # A a is known, so that AᵀA may be added to M: coordinates that the constraints alone
            # hold then have pivots, too.
            M, force = self._augmented(M, force, A, wanted, 10.0 ** np.array(sizes))
        n, m = M.shape[0], len(kept)
        exact = ca.blockcat([[M, A.T], [A, type(alpha)(m, m)]])
        corner = -_DAMPING * ca.diag(ca.DM(10.0 ** np.array(damped))) if damped else ca.DM(m, m)
        K = ca.blockcat([[M, A.T], [A, corner]])
        order = saddle_order(_pattern(M.sparsity()), _pattern(A.sparsity())).tolist()
        back = np.argsort(order).tolist()
        K, exact, known = K[order, order], exact[order, order], ca.vertcat(force, wanted)[order]
        solved = _solved(K, known, exact if damped else None)[back]
        lam = -solved[n:]
        outputs = [solved[:n], lam, -ca.dot(lam, drive[kept])]
        options = {"cse": True} if scalar else {}
        names = [*"tqvup", "alpha"]
        return ca.Function("held", [*arguments, alpha], outputs, names, ["a", "lam", "w"], options)

    @cached_property
    def upright(self) -> dict[int, list[int]]:
        """Rows that keep quaternions at length one, if there are no others; with their entries.

        Empty unless bodies pass their motion on and feel turns alone.
        """
        quaternions = self.layout.kinematics.quaternions
        e = self.chained
        if e is None or e.chain is None or self.layout.multipliers != len(quaternions):
            return {}
        local = {int(place): k for k, place in enumerate(e.index[:, 0])}
        entries = [[local[int(place)] for place in four] for four in quaternions]
        if not all(e.chain.indifferent(four, e.z[four]) for four in entries):
            return {}
        return {e.row_of(places): places for places in entries}

    def _turned(self, rows: tuple[int, ...]) -> ca.Function:
        """Return what `held` does, where nothing is held but the lengths of quaternions."""
        e, alpha = self.chained, ca.SX.sym("alpha")
        assert e is not None and e.chain is not None
        units, lam = [], ca.SX(len(rows), 1)
        wanted = -(e.gamma + 2 * alpha * e.Rdot + alpha**2 * e.R)
        force = e.force
        for row, four in self.upright.items():
            q = e.z[four]
            # R = q·q − 1: its slope is 2 q.
            units.append((four, q, wanted[row] / 2))
            lam[int(e.row_index[row, 0])] = -ca.dot(q, force[four]) / (2 * ca.sumsqr(q))
        solved = e.chain.solve(force, units)
        element = ca.Function("element", [*e.arguments, alpha], [solved, lam])
        t, q, v, u, p = arguments = self.whole.arguments
        index = e.index[:, 0].tolist()
        a, lam = element(t, q[index], v[index], u, p, ca.DM(e.data), alpha)
        outputs = [a[np.argsort(index).tolist()], lam[list(rows)], ca.SX(0)]
        names = [*"tqvup", "alpha"]
        options = {"cse": True}
        return ca.Function("held", [*arguments, alpha], outputs, names, ["a", "lam", "w"], options)

    def _augmented(self, M: Any, force: Any, A: Any, wanted: Any, sizes: np.ndarray) -> Any:
        """Add AᵀW(A a − wanted) to M a − force; each row as heavy as what it holds."""
        squares, held = ca.DM(sizes**2), ca.DM(A.sparsity(), 1.0)
        heavy = ca.mtimes(held, squares * ca.diag(M))
        some = np.diff(heavy.T.sparsity().colind()).astype(bool)
        # Rows that hold nothing but massless coordinates weigh as all the rest.
        everything = ca.dot(squares, ca.diag(M))
        heavy = ca.vertcat(*(heavy[r] if has else everything for r, has in enumerate(some)))
        weighted = ca.mtimes(ca.diag(heavy / ca.mtimes(A**2, squares)), A)
        return M + ca.mtimes(A.T, weighted), force + ca.mtimes(weighted.T, wanted)

    @cached_property
    def energies(self) -> ca.Function:
        """T, U, the energy v·∂T/∂v − T + U, and the power of all that is not in U."""
        return self._function("energies", [self.whole.total(lambda e: e.energies)])

    @cached_property
    def internal(self) -> ca.Function:
        """U − W and its gradient."""
        value = self.whole.total(lambda e: e.internal)
        slope = self.whole.vector(lambda e: ca.gradient(e.internal, e.z))
        return self._function("internal", [value, slope])

    @cached_property
    def stiffness(self) -> ca.Function:
        """The second derivative of U − W."""
        tangent = self.whole.matrix(lambda e: ca.hessian(e.internal, e.z)[0])
        return self._function("stiffness", [tangent])

    @cached_property
    def fed(self) -> bool:
        """Whether anything but U changes the energy: a load, dissipation, explicit time."""
        elements = self.whole.elements
        timed = any(ca.depends_on(e.T - e.U, e.t) for e in elements)
        return self.driven or timed or any(not e.energies[3].is_zero() for e in elements)

    @property
    def sudden(self) -> bool:
        """Whether time can make a force appear out of nothing."""
        return any(e.sudden for e in self.whole.elements)

    @cached_property
    def timed(self) -> bool:
        """Whether time is stated in energies or constraints, and not in loads alone."""
        if not self.scalar:
            return False
        return any(
            ca.depends_on(ca.vertcat(e.T - e.U, e.R, e.Rdot), e.t) for e in self.whole.elements
        )

    @cached_property
    def driven(self) -> bool:
        """Whether a constraint moves by itself, and so does work."""
        return any(e.drive.nnz() and not e.drive.is_zero() for e in self.whole.elements)

    def _function(self, name: str, outputs: list[Any]) -> ca.Function:
        return self.whole.function(name, self.whole.arguments, outputs)

    # -- what can be known before any number ------------------------------------------------------

    @cached_property
    def _massless(self) -> list[int]:
        """Coordinates whose velocities no kinetic energy involves."""
        if self.chained is not None:
            e = self.chained
            assert e.chain is not None
            return sorted(int(e.index[k, 0]) for k in e.chain.massless)
        filled = np.diff(np.array(self.dynamics.sparsity_out(0).colind()))
        return [int(i) for i in np.flatnonzero(filled == 0)]

    def require_inertia(self) -> None:
        """Refuse a system in which a coordinate has neither inertia nor a constraint."""
        missing = self._massless
        if missing and self.layout.multipliers:
            columns = np.diff(np.array(self.constraints.sparsity_out(2).colind()))
            missing = [i for i in missing if columns[i] == 0]
        missing = [self.layout.name(i) for i in missing]
        if missing:
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            named = ", ".join(f"'{name}'" for name in missing[:5]) + more
            # Without any kinetic energy a derivative of SymPy's is likely to stand in its place.
            also = f"; {missing[0]}.diff(st.t) is zero, {missing[0]}.dot is not"
            also *= self.system.kinetic == 0
            raise DerivationError(
                f"the mass matrix is singular: no kinetic energy involves the velocity of {named}.",
                f"Expected an inertia for each of the {self.system.size} coordinates.",
                f"Give '{missing[0]}' a mass, constrain it, or use quasistatics(){also}.",
            )


def _solved(K: Any, known: Any, exact: Any = None) -> Any:
    """Solve K x = known in the graph; refine once if another matrix is the exact one."""
    if isinstance(K, ca.SX):
        diagonal, lower, order = ca.ldl(K, False)

        def solve(right: Any) -> Any:
            return ca.ldl_solve(right, diagonal, lower, order)
    else:

        def solve(right: Any) -> Any:
            return ca.solve(K, right, "qr")

    x = solve(known)
    return x if exact is None else x + solve(known - ca.mtimes(exact, x))


def _pattern(pattern: ca.Sparsity) -> sparse.csc_matrix:
    ones = np.ones(pattern.nnz())
    return sparse.csc_matrix((ones, pattern.row(), pattern.colind()), shape=pattern.shape)
