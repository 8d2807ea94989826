"""The equations to run: a CasADi graph, assembled from elements, differentiated automatically.

Every function has the arguments ``(t, q, v, u, p)``: time, coordinates, velocities, inputs and
parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee

from stationary.derive.elements import Element, statements
from stationary.errors import DerivationError, say
from stationary.model.layout import Layout
from stationary.model.system import System

Output = Callable[[Element], Any]
Index = Callable[[Element], np.ndarray]

# Up to this many instructions a graph is expanded to scalar operations, which engines can walk and
# compile; beyond it, elements stay functions that are mapped over their rows.
_EXPAND_UP_TO = 200_000


@dataclass(frozen=True)
class Graph:
    """The graph of a system, built piece by piece as it is asked for."""

    system: System

    @cached_property
    def layout(self) -> Layout:
        """Where every name stands in q, p and u."""
        return Layout(self.system)

    @cached_property
    def elements(self) -> list[Element]:
        """The elements with something in them."""
        made = (Element(s, self.layout) for s in statements(self.layout))
        return [e for e in made if e.index.size or e.rows == 1]

    @cached_property
    def arguments(self) -> list[Any]:
        """Symbols t, q, v, u, p of the assembled graph."""
        n = self.system.size
        sizes = {"t": 1, "q": n, "v": n, "u": len(self.system.inputs)}
        sizes["p"] = len(self.system.parameters)
        kind = ca.SX if all(e.rows == 1 for e in self.elements) else ca.MX
        return [kind.sym(name, size) for name, size in sizes.items()]

    # -- functions ------------------------------------------------------------------------------

    @cached_property
    def dynamics(self) -> ca.Function:
        """M and the force of M a = force."""
        return self._function(
            "dynamics", [self._matrix_of(lambda e: e.mass), self._vector("force")]
        )

    @cached_property
    def acceleration(self) -> ca.Function:
        """a, from M factored inside the graph."""
        self.require_inertia()
        names = list("tqvup")
        if not self.scalar:
            M, force = self.dynamics.call(self.arguments)
            solved = ca.solve(M, force, "ldl")
            return ca.Function("acceleration", self.arguments, [solved], names, ["a"])
        arguments = self.dynamics.sx_in()
        M, force = self.dynamics.call(arguments)
        diagonal, lower, order = ca.ldl(M)
        solved = ca.ldl_solve(force, diagonal, lower, order)
        return ca.Function("acceleration", arguments, [solved], names, ["a"], {"cse": True})

    @cached_property
    def constraints(self) -> ca.Function:
        """R, Ṙ, A, γ of R̈ = A a + γ and b of Ṙ = A v + b; R is zero for Pfaffian rows."""
        count = self.layout.multipliers
        A = self._matrix_of(lambda e: e.A, lambda e: e.row_index, count)
        outputs = [self._rows("R"), self._rows("Rdot"), A, self._rows("gamma"), self._rows("drive")]
        return self._function("constraints", outputs)

    @cached_property
    def momenta(self) -> ca.Function:
        """∂T/∂v, and what pushes: ∂(T − U)/∂q + applied forces."""
        pushes = self._vector_of(lambda e: ca.gradient(e.T - e.U, e.z) + e.applied)
        return self._function("momenta", [self._vector("momentum"), pushes])

    def held(self, rows: tuple[int, ...]) -> ca.Function:
        """Return a and λ of M a = force + Aᵀλ, R̈ + 2αṘ + α²R = 0, for some of the rows of A.

        The function has α as a sixth argument, and the power that moving constraints supply as a
        third output.
        """
        scalar = self.scalar
        arguments = self.dynamics.sx_in() if scalar else self.arguments
        alpha = type(arguments[0]).sym("alpha")
        M, force = self.dynamics.call(arguments)
        kept = list(rows)
        R, Rdot, A, gamma, drive = self.constraints.call(arguments)
        R, Rdot, A, gamma = R[kept], Rdot[kept], A[kept, :], gamma[kept]
        wanted = -(gamma + 2 * alpha * Rdot + alpha**2 * R)
        if self._massless:
            # A a is known, so that AᵀA may be added to M: coordinates that the constraints alone
            # hold then have pivots, too. The multipliers take the difference up.
            M, force = M + ca.mtimes(A.T, A), force + ca.mtimes(A.T, wanted)
        n, m = M.shape[0], len(kept)
        K = ca.blockcat([[M, A.T], [A, type(alpha)(m, m)]])
        order = kkt_order(M.sparsity(), A.sparsity())
        back = np.argsort(order).tolist()
        K, known = K[order, order], ca.vertcat(force, wanted)[order]
        if scalar:
            diagonal, lower, same = ca.ldl(K, False)
            solved = ca.ldl_solve(known, diagonal, lower, same)[back]
        else:
            solved = ca.solve(K, known, "qr")[back]
        lam = -solved[n:]
        outputs = [solved[:n], lam, -ca.dot(lam, drive[kept])]
        options = {"cse": True} if scalar else {}
        names = [*"tqvup", "alpha"]
        return ca.Function("held", [*arguments, alpha], outputs, names, ["a", "lam", "w"], options)

    @cached_property
    def energies(self) -> ca.Function:
        """T, U, the energy v·∂T/∂v − T + U, and the power of all that is not in U."""
        return self._function("energies", [self._sum("energies")])

    @cached_property
    def internal(self) -> ca.Function:
        """U − W and its gradient."""
        value = self._sum("internal")
        slope = self._vector_of(lambda e: ca.gradient(e.internal, e.z))
        return self._function("internal", [value, slope])

    @cached_property
    def stiffness(self) -> ca.Function:
        """The second derivative of U − W."""
        return self._function(
            "stiffness", [self._matrix_of(lambda e: ca.hessian(e.internal, e.z)[0])]
        )

    @cached_property
    def fed(self) -> bool:
        """Whether anything but U changes the energy: a load, dissipation, explicit time."""
        return self.driven or any(not e.energies[3].is_zero() for e in self.elements)

    @cached_property
    def driven(self) -> bool:
        """Whether a constraint moves by itself, and so does work."""
        return any(e.drive.nnz() and not e.drive.is_zero() for e in self.elements)

    # -- assembly -------------------------------------------------------------------------------

    @cached_property
    def scalar(self) -> bool:
        """Whether the graph is small enough to be expanded to scalar operations."""
        work = (e.rows * ca.Function("e", e.arguments, [e.force]).n_nodes() for e in self.elements)
        return sum(work) < _EXPAND_UP_TO

    def _function(self, name: str, outputs: list[Any]) -> ca.Function:
        made = ca.Function(name, self.arguments, outputs, list("tqvup"), _names(len(outputs)))
        return made.expand() if self.scalar and not made.is_a("SXFunction") else made

    def _call(self, element: Element, output: Any, reduce: bool) -> Any:
        """Apply an element to all its rows; sum over the rows, or line their results up."""
        t, q, v, u, p = self.arguments
        f = ca.Function("element", element.arguments, [output])
        places = element.index.ravel(order="F").tolist()
        shape = element.index.shape
        z, w = (ca.reshape(x[places], *shape) for x in (q, v))
        d = ca.DM(element.data)
        if element.rows == 1:
            return f(t, z, w, u, p, d)
        # Time, inputs and parameters are the same in every row.
        mapped = f.map("rows", "serial", element.rows, [0, 3, 4], [0] if reduce else [])
        return mapped(t, z, w, u, p, d)

    def _sum(self, name: str) -> Any:
        return sum(
            (self._call(e, getattr(e, name), True) for e in self.elements),
            type(self.arguments[0])(0),
        )

    def _vector(self, name: str) -> Any:
        return self._vector_of(lambda e: getattr(e, name))

    def _vector_of(self, output: Output) -> Any:
        return self._scattered(output, lambda e: e.index, self.system.size)

    def _rows(self, name: str) -> Any:
        count = self.layout.multipliers
        return self._scattered(lambda e: getattr(e, name), lambda e: e.row_index, count)

    def _scattered(self, output: Output, index: Index, size: int) -> Any:
        """Add the vectors of the elements into one."""
        total = type(self.arguments[0]).zeros(size)
        for e in self.elements:
            if not index(e).size:
                continue
            values = ca.vec(self._call(e, ca.densify(output(e)), False))
            total += ca.mtimes(_scatter(index(e).ravel(order="F"), size), values)
        return total

    def _matrix_of(self, output: Output, row_index: Index | None = None, rows: int = 0) -> Any:
        """Assemble a sparse matrix from those of the elements; symmetric unless rows are given."""
        index = row_index or (lambda e: e.index)
        n = self.system.size
        rows = rows if row_index else n
        places, values = [], []
        for e in self.elements:
            block = output(e)
            if not block.nnz():
                continue
            i, j = (np.array(x, dtype=np.int64) for x in block.sparsity().get_triplet())
            values.append(ca.vec(self._call(e, ca.vertcat(*block.nonzeros()), False)))
            places.append((e.index[j] * rows + index(e)[i]).ravel(order="F"))
        kind = type(self.arguments[0])
        if not places:
            return kind(rows, n)
        keys, where = np.unique(np.concatenate(places), return_inverse=True)
        pattern = ca.Sparsity.triplet(rows, n, (keys % rows).tolist(), (keys // rows).tolist())
        nonzeros = ca.mtimes(_scatter(where, len(keys)), ca.vertcat(*values))
        return kind(pattern, nonzeros)

    # -- what can be known before any number ------------------------------------------------------

    @cached_property
    def _massless(self) -> list[int]:
        """Coordinates whose velocities no kinetic energy involves."""
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
            named = "', '".join(missing[:5])
            raise DerivationError(
                say(
                    "the mass matrix is singular: no kinetic energy involves the velocity of "
                    f"'{named}'.",
                    f"Expected an inertia for each of the {self.system.size} coordinates.",
                    f"Give '{missing[0]}' a mass, constrain it, or use quasistatics().",
                )
            )


def kkt_order(M: ca.Sparsity, A: ca.Sparsity) -> list[int]:
    """Order the unknowns (a, λ) so that a chain's factors stay banded.

    Reverse Cuthill–McKee on the whole pattern; then every multiplier is moved behind the last of
    its coordinates, where its pivot −A M⁻¹Aᵀ cannot vanish.
    """
    n, m = A.size2(), A.size1()
    mass, rows = (sparse.csc_matrix(_pattern(s)) for s in (M, A))
    whole = sparse.csr_matrix(sparse.bmat([[mass, rows.T], [rows, sparse.eye(m)]]))
    rank = np.argsort(reverse_cuthill_mckee(whole, symmetric_mode=True)).astype(float)
    if m:
        # The same place as the coordinate, and a little later.
        later = rows.multiply(rank[:n][None, :]).tocsr().max(axis=1).toarray().ravel()
        rank[n:] = np.maximum(rank[n:], later + 0.5)
    return np.argsort(rank, kind="stable").tolist()


def _pattern(pattern: ca.Sparsity) -> sparse.csc_matrix:
    ones = np.ones(pattern.nnz())
    return sparse.csc_matrix((ones, pattern.row(), pattern.colind()), shape=pattern.shape)


def _scatter(places: np.ndarray, size: int) -> ca.DM:
    """Return the matrix that adds entry k of a vector to entry places[k] of another."""
    count = len(places)
    made = sparse.csc_matrix((np.ones(count), (places, np.arange(count))), shape=(size, count))
    return ca.DM(made)


def _names(count: int) -> list[str]:
    return [f"o{i}" for i in range(count)]
