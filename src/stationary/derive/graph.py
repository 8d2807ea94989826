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

from stationary.derive.elements import Element, statements
from stationary.errors import DerivationError, say
from stationary.model.layout import Layout
from stationary.model.system import System

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
        made = (Element(s, self.layout) for s in statements(self.system))
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
        return self._function("dynamics", [self._matrix("mass"), self._vector("force")])

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
        return any(not e.energies[3].is_zero() for e in self.elements)

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

    def _vector_of(self, output: Any) -> Any:
        n = self.system.size
        total = type(self.arguments[0]).zeros(n)
        for e in self.elements:
            if not e.index.size:
                continue
            values = ca.vec(self._call(e, ca.densify(output(e)), False))
            total += ca.mtimes(_scatter(e.index.ravel(order="F"), n), values)
        return total

    def _matrix(self, name: str) -> Any:
        return self._matrix_of(lambda e: getattr(e, name))

    def _matrix_of(self, output: Any) -> Any:
        """Assemble a sparse symmetric matrix from those of the elements."""
        n = self.system.size
        places, values = [], []
        for e in self.elements:
            block = output(e)
            if not block.nnz():
                continue
            rows, columns = (np.array(x, dtype=np.int64) for x in block.sparsity().get_triplet())
            values.append(ca.vec(self._call(e, ca.vertcat(*block.nonzeros()), False)))
            places.append((e.index[columns] * n + e.index[rows]).ravel(order="F"))
        kind = type(self.arguments[0])
        if not places:
            return kind(n, n)
        keys, where = np.unique(np.concatenate(places), return_inverse=True)
        pattern = ca.Sparsity.triplet(n, n, (keys % n).tolist(), (keys // n).tolist())
        nonzeros = ca.mtimes(_scatter(where, len(keys)), ca.vertcat(*values))
        return kind(pattern, nonzeros)

    # -- what can be known before any number ------------------------------------------------------

    def require_inertia(self) -> None:
        """Refuse a system in which a coordinate has no inertia at all."""
        pattern = self.dynamics.sparsity_out(0)
        filled = np.diff(np.array(pattern.colind()))
        missing = [self.layout.name(int(i)) for i in np.flatnonzero(filled == 0)]
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


def _scatter(places: np.ndarray, size: int) -> ca.DM:
    """Return the matrix that adds entry k of a vector to entry places[k] of another."""
    count = len(places)
    made = sparse.csc_matrix((np.ones(count), (places, np.arange(count))), shape=(size, count))
    return ca.DM(made)


def _names(count: int) -> list[str]:
    return [f"o{i}" for i in range(count)]
