"""Sliding to run: what pushes, what resists and what holds the velocity, as a CasADi graph.

Without inertia the forces balance: pushes = Bᵀy − Aᵀλ − Gᵀμ, where y resists the rates w = B v + c
against which friction acts. Functions have the arguments ``(t, q, u, p)``; those that need a
velocity take it as a fifth, and those that bend with forces take these as a fifth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca

from stationary.derive.assembly import GAPS, ROWS, SLIPS
from stationary.derive.elements import Element
from stationary.derive.graph import Graph


@dataclass(frozen=True)
class Factors:
    """Powers of two by which rows are multiplied, none where they are as stated.

    A constraint, a gap or what friction acts along may be written in any unit. Digits stay the same
    under powers of two. Forces along the rows are as many times smaller.
    """

    slips: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    gaps: tuple[int, ...] = ()
    #: For every rate that of the contact which presses it, if one does.
    presses: tuple[int, ...] = ()


@dataclass(frozen=True)
class Sliding:
    """The graph of a system without inertia, its rows multiplied by factors."""

    graph: Graph
    factors: Factors = Factors()

    @property
    def rates(self) -> int:
        """Number of rates against which friction acts."""
        return self.graph.layout.rates

    @property
    def gaps(self) -> int:
        """Number of contacts."""
        return self.graph.layout.contacts

    @cached_property
    def supplies(self) -> tuple[str, ...]:
        """Names of what pushes: U, W and the loads."""
        loads = {name: None for e in self.graph.whole.elements for name in e.supplied}
        return ("the potential energy", "the work", *(f"load '{name}'" for name in loads))

    # -- at a configuration -----------------------------------------------------------------------

    @cached_property
    def slips(self) -> ca.Function:
        """What friction acts along, its rate c by itself, B, and sizes and powers of the forces."""
        whole = self.graph.whole
        slips = [
            whole.vector(lambda e: e.slip, SLIPS),
            whole.vector(lambda e: ca.jacobian(e.slip, e.t), SLIPS),
            whole.matrix(lambda e: ca.jacobian(e.slip, e.z), SLIPS),
        ]
        size = whole.vector(lambda e: e.slip_size, SLIPS)
        power = whole.vector(lambda e: e.slip_power, SLIPS)
        slips = [_times(self.factors.slips, x) for x in slips]
        return self._function("slips", [*slips, self._limits(size, power), power])

    def _limits(self, sizes: Any, power: Any) -> Any:
        """Return what belongs to sizes of friction as it is beside rows that have factors."""
        over = _powers(self.factors.slips)
        sizes = _times(self.factors.presses, sizes)
        return sizes if over is None else ca.diag(over ** -(power + 1)) @ sizes

    @cached_property
    def holds(self) -> ca.Function:
        """R, b and A of A v + b = 0; then gap, its rate by itself and G of G v + g ≥ 0."""
        whole = self.graph.whole
        R, drive = whole.vector(lambda e: e.R, ROWS), whole.vector(lambda e: e.drive, ROWS)
        A = whole.matrix(lambda e: e.A, ROWS)
        gap = whole.vector(lambda e: e.gap, GAPS)
        moved = whole.vector(lambda e: ca.jacobian(e.gap, e.t), GAPS)
        G = whole.matrix(lambda e: ca.jacobian(e.gap, e.z), GAPS)
        held = [_times(self.factors.rows, x) for x in (R, drive, A)]
        gaps = [_times(self.factors.gaps, x) for x in (gap, moved, G)]
        return self._function("holds", [*held, *gaps])

    @cached_property
    def pushes(self) -> ca.Function:
        """The forces of U, W and loads."""
        return self._function("pushes", [self.graph.whole.vector(lambda e: e.pushes)])

    # -- at a velocity ----------------------------------------------------------------------------

    @cached_property
    def force(self) -> ca.Function:
        """All forces but those of friction terms and constraints."""
        return self._function("force", [self.graph.whole.vector(_force)], moving=True)

    @cached_property
    def forces(self) -> ca.Function:
        """All forces but those of friction terms and constraints, and their slope in v."""
        whole = self.graph.whole
        force = whole.vector(_force)
        slope = whole.matrix(lambda e: ca.jacobian(_force(e), e.w))
        return self._function("forces", [force, slope], moving=True)

    @cached_property
    def viscous(self) -> ca.Function:
        """The dissipation function D, its slope and its second derivative in v."""
        whole = self.graph.whole
        value = whole.total(lambda e: e.D)
        slope = whole.vector(lambda e: ca.gradient(e.D, e.w))
        bend = whole.matrix(lambda e: ca.hessian(e.D, e.w)[0])
        return self._function("viscous", [value, slope, bend], moving=True)

    @cached_property
    def _powers(self) -> Any:
        """The power that each of `supplies` gives, one below the other."""
        whole = self.graph.whole
        given = [
            whole.total(lambda e: -ca.dot(ca.gradient(e.U, e.z), e.w)),
            whole.total(lambda e: ca.dot(ca.gradient(e.W, e.z), e.w)),
        ]
        for name in {name: None for e in whole.elements for name in e.supplied}:
            given.append(
                whole.total(
                    lambda e, name=name: (
                        ca.dot(e.supplied[name], e.w) if name in e.supplied else ca.SX(0)
                    )
                )
            )
        return ca.vertcat(*given)

    @cached_property
    def power(self) -> ca.Function:
        """The power that each of `supplies` gives at a velocity."""
        return self._function("power", [self._powers], moving=True)

    @cached_property
    def fed(self) -> ca.Function:
        """The power at a velocity of all that is not U, and the rate at which U changes itself."""
        pumped = self.graph.whole.total(lambda e: ca.gradient(e.U, e.t))
        return self._function("fed", [ca.sum1(self._powers[1:]) + pumped], moving=True)

    # -- how it bends -----------------------------------------------------------------------------

    @cached_property
    def tangent(self) -> ca.Function:
        """The slope of the pushes in q."""
        K = self.graph.whole.matrix(lambda e: ca.jacobian(e.pushes, e.z))
        return self._function("tangent", [K])

    @cached_property
    def curvature(self) -> ca.Function:
        """Σ y ∂²slip/∂q² − Σ λ ∂²R/∂q² − Σ μ ∂²gap/∂q², for y, λ and μ as a fifth argument."""
        whole, rows = self.graph.whole, self.graph.layout.multipliers
        both = whole.kind.sym("y", self.rates + rows + self.gaps)
        factors = self.factors
        weights = [
            ("y", _times(factors.slips, both[: self.rates]), SLIPS),
            ("lam", _times(factors.rows, both[self.rates : self.rates + rows]), ROWS),
            ("mu", _times(factors.gaps, both[self.rates + rows :]), GAPS),
        ]
        bend = whole.matrix(_bend, weights=weights)
        return self._function("curvature", [bend], more=[both])

    @cached_property
    def grip(self) -> ca.Function:
        """The slope in q of the sizes of friction and drag."""
        whole = self.graph.whole
        slope = whole.matrix(lambda e: ca.jacobian(e.slip_size, e.z), SLIPS)
        power = whole.vector(lambda e: e.slip_power, SLIPS)
        return self._function("grip", [self._limits(slope, power)])

    def _function(self, name: str, outputs: list[Any], moving: bool = False, more: Any = ()):
        t, q, v, u, p = self.graph.whole.arguments
        if moving:
            return self.graph.whole.function(name, [t, q, u, p, v], outputs)
        at_rest: Any = ca.substitute(outputs, [v], [type(v).zeros(v.numel())])
        return self.graph.whole.function(name, [t, q, u, p, *more], at_rest)


def _powers(exponents: Iterable[int]) -> ca.DM | None:
    """Return powers of two; None where rows have no factors."""
    powers = [2.0**k for k in exponents]
    return ca.DM(powers) if powers else None


def _times(exponents: Iterable[int], rows: Any) -> Any:
    """Return rows times powers of two."""
    powers = _powers(exponents)
    return rows if powers is None else ca.diag(powers) @ rows


def _force(element: Element) -> Any:
    return element.pushes - ca.gradient(element.D, element.w)


def _bend(element: Element) -> Any:
    total = (
        ca.dot(element.y, element.slip)
        - ca.dot(element.lam, element.R)
        - ca.dot(element.mu, element.gap)
    )
    return ca.hessian(total, element.z)[0]
