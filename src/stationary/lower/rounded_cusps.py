"""Cusps rounded off: the speed in a law of friction, where it has come to nothing."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import casadi as ca
import numpy as np

from stationary.lower.instructions import applied, rewritten
from stationary.lower.kernel import AbstractKernel, AbstractLaw

# What is under a root has come to nothing at this part of its size.
_NOTHING = 1e-6


@dataclass(frozen=True, eq=False)
class Rounded(AbstractLaw):
    """A kernel in which √(z + small) stands for the √z of velocities that come to rest.

    The force −v/|v| has no value at rest, and every value up to 1 there: what balances the other
    forces, as long as 1 is enough. Rounded off over a speed that nobody sees, it finds that value.
    """


def rounded(
    kernel: AbstractKernel, t: float, y: np.ndarray, p: np.ndarray, speeds: np.ndarray, part: float
) -> Rounded | None:
    """Round off, over a part of these speeds, what has come to nothing; None if nothing has."""
    rhs, n = kernel.rhs, kernel.size
    if not rhs.is_a("SXFunction"):
        return None
    symbols = rhs.sx_in()
    roots: list[Any] = []

    def noted(op: int, values: list[Any]) -> Any:
        roots.extend(values if op == ca.OP_SQRT else ())
        return applied(op, values)

    rewritten(rhs, symbols, noted)
    moving = symbols[1][n : 2 * n]
    if not any(ca.depends_on(z, moving) for z in roots):
        return None
    under = ca.Function("under", symbols, [ca.densify(ca.vertcat(*roots))])
    fast = y.copy()
    fast[n : 2 * n] = speeds
    now, then = (np.asarray(under(t, state, p)).ravel() for state in (y, fast))
    small = (now < _NOTHING * then) & [ca.depends_on(z, moving) for z in roots]
    if not small.any():
        return None
    added = iter(np.where(small, part**2 * then, 0.0).tolist())

    def rounded(op: int, values: list[Any]) -> Any:
        return applied(op, [values[0] + next(added)] if op == ca.OP_SQRT else values)

    law = rewritten(rhs, symbols, rounded)
    values = {f.name: getattr(kernel, f.name) for f in fields(AbstractKernel)}
    return Rounded(**values, law=ca.Function("rhs", symbols, [law], {"cse": True}))
