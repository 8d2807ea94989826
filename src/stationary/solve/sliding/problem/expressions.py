"""What a system without inertia says at a place as expressions, which compiled equations share."""

from __future__ import annotations

from functools import cached_property, reduce
from typing import Any

import casadi as ca

from stationary.derive.sliding import Sliding
from stationary.solve.sliding.problem.energies import powers
from stationary.solve.sliding.problem.question import terms_of

#: Time, coordinates, inputs and parameters.
Here = tuple[Any, Any, Any, Any]


class Expressions:
    """Rates, limits, what holds and what pushes, at symbols of a time and a place."""

    def __init__(self, sliding: Sliding, here: Here):
        self.sliding, self.here = sliding, here
        self.along, self.c, self.B, self.sizes, self.powers = sliding.slips(*here)
        self.R, self.b, self.A, self.gap, self.g, self.G = sliding.holds(*here)
        self.f = sliding.pushes(*here)
        starts, pressed, _ = terms_of(sliding)
        ends = [*starts[1:].tolist(), sliding.rates]
        #: The rates of each friction term, and the contact that presses it, or −1.
        self.parts = [slice(a, b) for a, b in zip(starts.tolist(), ends)]
        self.pressed: list[int] = pressed.tolist()

    def limit(self, k: int, mu: Any) -> Any:
        """Return the limit of a friction term under forces that press contacts."""
        contact, size = self.pressed[k], self.sizes[self.parts[k].start]
        return size if contact < 0 else size * mu[contact]

    @cached_property
    def arms(self) -> Any:
        """How fast what rubs moves with each velocity, at most."""
        return ca.vertcat(*(largest_of(self.B[:, j]) for j in range(self.B.size2())))

    def speed(self, v: Any, rolls: float, least: Any = 0) -> Any:
        """Return the size of the velocities at work, of what rubs or else of all, and some."""
        c = self.c
        rubs = largest_of(self.rates(v), rolls * (ca.dot(self.arms, ca.fabs(v)) + largest_of(c)))
        return some_of(ca.fmax(some_of(rubs, largest_of(v, self.b)), least))

    def unbalanced(self, y: Any, lam: Any, mu: Any) -> Any:
        """Return what is left over of the forces."""
        return self.f - self.B.T @ y + self.A.T @ lam + self.G.T @ mu

    def rates(self, v: Any) -> Any:
        """Return how fast what rubs moves."""
        return self.B @ v + self.c

    def account(self, v: Any, forces: Any, damping: Any = None) -> tuple[Any, Any]:
        """Return what friction and damping take, and what loads, pushers and conveyors give."""
        fed = self.sliding.fed(*self.here, v) if self.sliding.graph.fed else 0
        return powers(self, v, forces, damping, fed)


def symbols(sliding: Sliding) -> Here:
    """Return symbols of a time and a place, with inputs and parameters."""
    system = sliding.graph.system
    sizes = (1, system.size, len(system.inputs), len(system.parameters))
    t, q, u, p = (ca.SX.sym(name, size) for name, size in zip("tqup", sizes))
    return t, q, u, p


def largest_of(*parts: Any) -> Any:
    """Return the largest size of any entry."""
    entries: list[Any] = [e for x in parts for e in ca.densify(ca.SX(x)).elements()]
    return reduce(ca.fmax, (ca.fabs(e) for e in entries), ca.SX(0))


def some_of(sizes: Any, else_: Any = 1) -> Any:
    """Return sizes, or something else where there is none."""
    return ca.if_else(sizes > 0, sizes, else_)
