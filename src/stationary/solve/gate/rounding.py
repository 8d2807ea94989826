"""How much of a result is rounding: a running error analysis of the graph that computes it.

References
----------
N. J. Higham, Accuracy and stability of numerical algorithms (2nd ed., 2002), section 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np

_EPS = float(np.finfo(float).eps)

# Beyond this many instructions the analysis would take longer than what it is for.
_MOST = 200_000

#: The slope of functions of one argument at x, where the value is y.
_SLOPES: dict[int, Callable[[float, float], float]] = {
    ca.OP_NEG: lambda x, y: 1.0,
    ca.OP_ASSIGN: lambda x, y: 1.0,
    ca.OP_FABS: lambda x, y: 1.0,
    ca.OP_TWICE: lambda x, y: 2.0,
    ca.OP_SQ: lambda x, y: 2 * x,
    ca.OP_INV: lambda x, y: y * y,
    ca.OP_SQRT: lambda x, y: 0.5 / y if y else math.inf,
    ca.OP_SIN: lambda x, y: math.cos(x),
    ca.OP_COS: lambda x, y: math.sin(x),
    ca.OP_TAN: lambda x, y: 1 + y * y,
    ca.OP_EXP: lambda x, y: y,
    ca.OP_LOG: lambda x, y: 1 / x if x else math.inf,
    ca.OP_TANH: lambda x, y: 1 - y * y,
    ca.OP_SINH: lambda x, y: math.cosh(x),
    ca.OP_COSH: lambda x, y: math.sinh(x),
    ca.OP_ATAN: lambda x, y: 1 / (1 + x * x),
    ca.OP_ERF: lambda x, y: 2 / math.sqrt(math.pi) * math.exp(-x * x),
}


def rounding(function: ca.Function, arguments: list[Any]) -> np.ndarray | None:
    """Return bounds on the rounding of the first output, or None where the graph is too large.

    Every argument is as uncertain as its last digit.
    """
    if not function.is_a("SXFunction") or function.n_instructions() > _MOST:
        return None
    given = [np.ravel(np.asarray(a, dtype=float)) for a in arguments]
    value, error = [0.0] * function.sz_w(), [0.0] * function.sz_w()
    found = np.zeros(function.nnz_out(0))
    pattern = function.sparsity_out(0)
    for k in range(function.n_instructions()):
        op, read, write = (
            function.instruction_id(k), function.instruction_input(k),
            function.instruction_output(k),
        )  # fmt: skip
        if op == ca.OP_CONST:
            value[write[0]], error[write[0]] = function.instruction_constant(k), 0.0
        elif op == ca.OP_INPUT:
            x = float(given[read[0]][read[1]])
            value[write[0]] = x
            error[write[0]] = _EPS * abs(x)
        elif op == ca.OP_OUTPUT:
            if write[0] == 0:
                found[write[1]] = error[read[0]]
        else:
            x, y = value[read[0]], value[read[1]] if len(read) > 1 else 0.0
            dx, dy = error[read[0]], error[read[1]] if len(read) > 1 else 0.0
            value[write[0]], error[write[0]] = _step(op, len(read), x, y, dx, dy)
    dense = np.zeros(pattern.shape[0])
    dense[np.array(pattern.row(), dtype=int)] = found
    return np.where(np.isfinite(dense), dense, np.inf)


def _step(op: int, count: int, x: float, y: float, dx: float, dy: float) -> tuple[float, float]:
    """Return the value of one operation, and a bound on its error."""
    try:
        if op == ca.OP_ADD:
            z, grown = x + y, dx + dy
        elif op == ca.OP_SUB:
            z, grown = x - y, dx + dy
        elif op == ca.OP_MUL:
            z, grown = x * y, abs(x) * dy + abs(y) * dx
        elif op == ca.OP_DIV:
            z = x / y
            grown = (dx + abs(z) * dy) / abs(y)
        else:
            z = float(_alone(op, count)(x, y))
            slope = _SLOPES.get(op)
            # Others are taken as powers: relative errors add.
            grown = abs(slope(x, z)) * dx if slope else abs(z) * (_share(dx, x) + _share(dy, y))
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan, math.inf
    return z, grown + _EPS * abs(z)


def _share(error: float, size: float) -> float:
    return error / abs(size) if size else 0.0


@cache
def _alone(op: int, count: int) -> ca.Function:
    """Return one operation as a function of two arguments, of which it may use one."""
    a, b = ca.SX.sym("a"), ca.SX.sym("b")
    made = ca.SX.unary(op, a) if count == 1 else ca.SX.binary(op, a, b)
    return ca.Function("alone", [a, b], [made])
