"""The smooth branches of a kernel: its switches held on one side, or on the border between."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from stationary.lower.kernel import AbstractKernel, AbstractLaw
from stationary.lower.switches import Switches

# Rates of a border are followed up to this order, or this size of their graph.
_ORDERS = 4
_LARGEST = 50_000


@dataclass(frozen=True, eq=False)
class Branch(AbstractLaw):
    """A kernel between two switches: the sides of its borders follow the vector p.

    Some borders may hold the state: both sides push back to them. The state then stays on the
    border, driven by the mean of both sides that keeps it there (A. F. Filippov, Differential
    Equations with Discontinuous Righthand Sides, 1988, section 4).
    """

    borders: Switches | None = None
    shares: ca.Function | None = None
    on: tuple[int, ...] = ()

    @cached_property
    def kinks(self) -> list[str]:
        """There are none within a branch."""
        return []

    @cached_property
    def orders(self) -> ca.Function:
        """The place of every border, its rates along the motion, and what they are relative to.

        One row per border; first the places and their rates, then as many sizes.
        """
        t, y, p = self.arguments
        f = self.rhs(t, y, p)
        assert self.borders is not None
        both = self.borders.places(t, y, p)
        values, sizes = [both[:, 0]], [both[:, 1]]
        for _ in range(_ORDERS):
            slope, ahead = ca.jacobian(values[-1], y), ca.jacobian(values[-1], t)
            if values[-1].is_zero() or _nodes(slope) > _LARGEST:
                break
            values.append(ca.mtimes(slope, f) + ahead)
            sizes.append(ca.mtimes(ca.fabs(slope), ca.fabs(f)) + ca.fabs(ahead))
        table = ca.densify(ca.horzcat(*values, *sizes))
        return ca.Function("orders", [t, y, p], [table], {"cse": True})

    @cached_property
    def margins(self) -> ca.Function:
        """How far inside its side every border is: positive as long as the branch holds."""
        t, y, p = self.arguments
        assert self.borders is not None
        places = self.borders.places(t, y, p)[:, 0]
        s = p[p.numel() - places.numel() :]
        stairs = ca.DM(self.borders.staircases.astype(float))
        margins = stairs * (places - s) * (s + 1 - places) + (1 - stairs) * (2 * s - 1) * places
        if self.shares is not None:
            shares = self.shares(t, y, p)
            for k, i in enumerate(self.on):
                margins[i] = shares[k] * (1 - shares[k])
        return ca.Function("margins", [t, y, p], [ca.densify(margins)], {"cse": True})


def _nodes(e: Any) -> int:
    return ca.Function("size", ca.symvar(e), [e]).n_nodes()


def held(
    kernel: AbstractKernel,
    switches: Switches,
    sides: np.ndarray | None = None,
    *,
    stated: bool = False,
) -> Branch:
    """Return the branch of a kernel in which every border is left on one side.

    As it is `stated` a law needs no sides, and is not smooth.
    """
    if stated:
        law = switches.stated
    else:
        law = switches.held if sides is None else switches.fixed(sides)
    return _branch(kernel, law, switches)


def sliding(
    kernel: AbstractKernel, switches: Switches, sides: np.ndarray | None, on: dict[int, int]
) -> Branch:
    """Return the branch in which some borders hold the state.

    `on` says of each which rate of its place the sides change: the first, as friction changes a
    velocity's, or the second, as a potential with an edge changes a position's.
    """
    base = held(kernel, switches, sides if switches.guarded else None)
    t, y, p = base.arguments
    count = len(switches.borders)
    borders, first = list(on), p.numel() - count

    def law(chosen: int | None) -> Any:
        whole = ca.SX(p)
        for i in borders:
            whole[first + i] = float(i == chosen)
        if switches.guarded:
            assert sides is not None
            numbers = np.array(sides)
            numbers[borders] = [float(i == chosen) for i in borders]
            return switches.fixed(numbers)(t, y, whole)
        return switches.held(t, y, whole)

    rest = law(None)
    pushes = ca.horzcat(*(law(i) - rest for i in borders))
    places = switches.places(t, y, p)[:, 0]
    held_, free = [], ca.SX(rest)
    for i, order in on.items():
        place = places[i]
        for _ in range(order - 1):
            place = ca.jtimes(place, y, rest) + ca.jacobian(place, t)
        held_.append(place)
    slope, ahead = (ca.jacobian(ca.vertcat(*held_), x) for x in (y, t))
    matrix, known = ca.mtimes(slope, pushes), -(ca.mtimes(slope, rest) + ahead)
    shares = known / matrix if len(borders) == 1 else ca.solve(matrix, known)
    free = rest + ca.mtimes(pushes, shares)
    for k in range(len(borders)):
        # What is held is exactly constant where it is an entry of the state.
        row = slope[k, :]
        if row.nnz() == 1 and row.nz[0].is_constant() and not ca.depends_on(held_[k], t):
            free[row.sparsity().get_triplet()[1][0]] = 0
    name = switches.function.name()
    law_on_border = ca.Function(name, [t, y, p], [ca.densify(free)], {"cse": True})
    shares_function = ca.Function("shares", [t, y, p], [ca.densify(shares)], {"cse": True})
    return _branch(kernel, law_on_border, switches, shares_function, tuple(borders))


def _branch(
    kernel: AbstractKernel,
    law: ca.Function,
    switches: Switches,
    shares: ca.Function | None = None,
    on: tuple[int, ...] = (),
) -> Branch:
    """Return a branch of a kernel."""
    of_kernel = {f.name: getattr(kernel, f.name) for f in fields(AbstractKernel)}
    return Branch(**of_kernel, law=law, borders=switches, shares=shares, on=on)
