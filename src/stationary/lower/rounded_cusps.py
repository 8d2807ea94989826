"""Cusps rounded off: the speed in a law of friction, where it has come to nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import casadi as ca
import numpy as np

from stationary.lower.instructions import instructions
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

    def note(z: Any) -> Any:
        roots.append(z)
        return ca.sqrt(z)

    _rewritten(rhs, symbols, note)
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
    law = _rewritten(rhs, symbols, lambda z: ca.sqrt(z + next(added)))
    values = {f.name: getattr(kernel, f.name) for f in fields(AbstractKernel)}
    return Rounded(**values, law=ca.Function("rhs", symbols, [law], {"cse": True}))


def _rewritten(rhs: ca.Function, symbols: list[Any], root: Callable[[Any], Any]) -> Any:
    """Return what a function makes of its symbols, with other roots."""
    memory: list[Any] = [None] * rhs.sz_w()
    result = ca.SX.zeros(rhs.numel_out(0))
    for op, read, write, constant in instructions(rhs):
        if op == ca.OP_INPUT:
            memory[write[0]] = symbols[read[0]][read[1]]
        elif op == ca.OP_CONST:
            memory[write[0]] = ca.SX(constant)
        elif op == ca.OP_OUTPUT:
            result[write[1]] = memory[read[0]]
        elif op == ca.OP_SQRT:
            memory[write[0]] = root(memory[read[0]])
        else:
            apply = ca.SX.unary if len(read) == 1 else ca.SX.binary
            memory[write[0]] = apply(op, *(memory[i] for i in read))
    return result
