"""Rest to run: the balance of forces, its tangent, and how constraints bend, as a CasADi graph.

At rest v = a = 0. What is left of Lagrange's equation is g(q) = Aᵀλ + ∂gap/∂qᵀ μ, where g is the
gradient of U − W − T₀ minus the loads. Functions have the arguments ``(t, q, u, p)``; those that
hold multipliers take ``lam``, of constraints and then of contacts, as a fifth.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from stationary.derive.assembly import GAPS, ROWS
from stationary.derive.elements import Element
from stationary.derive.graph import Graph


@dataclass(frozen=True)
class Balance:
    """The graph of a system at rest."""

    graph: Graph

    @property
    def rows(self) -> int:
        """Number of constraint rows."""
        return self.graph.layout.multipliers

    @property
    def gaps(self) -> int:
        """Number of contacts."""
        return self.graph.layout.contacts

    @cached_property
    def forces(self) -> ca.Function:
        """g, and the energy U − W − T₀, to which constant loads add their own."""
        whole = self.graph.whole
        return self._function("forces", [whole.vector(lambda e: -e.force), whole.total(_energy)])

    @cached_property
    def slope(self) -> ca.Function:
        """The slope of the energy: g where the loads have this potential, and else not."""
        whole = self.graph.whole
        return self._function("slope", [whole.vector(lambda e: ca.gradient(_energy(e), e.z))])

    @cached_property
    def tangent(self) -> ca.Function:
        """∂g/∂q; not symmetric where a load follows the motion."""
        K = self.graph.whole.matrix(lambda e: ca.jacobian(-_at_rest(e, e.force), e.z))
        return self._function("tangent", [K])

    @cached_property
    def damping(self) -> ca.Function:
        """∂g/∂v at rest: symmetric where it dissipates, skew where it is gyroscopic."""
        C = self.graph.whole.matrix(lambda e: _at_rest(e, ca.jacobian(-e.force, e.w)))
        return self._function("damping", [C])

    @cached_property
    def limits(self) -> ca.Function:
        """R and gap, and their gradients, rows of contacts last."""
        whole = self.graph.whole
        A = whole.matrix(lambda e: _at_rest(e, e.A), ROWS)
        B = whole.matrix(lambda e: ca.jacobian(e.gap, e.z), GAPS)
        return self._function("limits", [self._levels, ca.vertcat(A, B)])

    @cached_property
    def levels(self) -> ca.Function:
        """R and gap alone."""
        return self._function("levels", [self._levels])

    @property
    def _levels(self) -> Any:
        whole = self.graph.whole
        return ca.vertcat(whole.vector(lambda e: e.R, ROWS), whole.vector(lambda e: e.gap, GAPS))

    @cached_property
    def curvature(self) -> ca.Function:
        """Σ λ ∂²R/∂q² + Σ μ ∂²gap/∂q², with the multipliers as a fifth argument."""
        whole = self.graph.whole
        both = whole.kind.sym("lam", self.rows + self.gaps)
        weights = [("lam", both[: self.rows], ROWS), ("mu", both[self.rows :], GAPS)]
        bend = whole.matrix(_bend, weights=weights)
        return self._function("curvature", [bend], [both])

    def _function(self, name: str, outputs: list[Any], more: list[Any] | None = None):
        t, q, v, u, p = self.graph.whole.arguments
        at_rest: Any = ca.substitute(outputs, [v], [type(v).zeros(v.numel())])
        return self.graph.whole.function(name, [t, q, u, p, *(more or [])], at_rest)


def _energy(element: Element) -> Any:
    return element.U - element.W - element.T - element.load_work


def _at_rest(element: Element, e: Any) -> Any:
    return ca.substitute(e, element.w, ca.SX.zeros(element.w.numel()))


def _bend(element: Element) -> Any:
    """Second derivative of λ·R + μ·gap over the element's own coordinates."""
    total = ca.dot(element.lam, element.R) + ca.dot(element.mu, element.gap)
    return ca.hessian(total, element.z)[0]
