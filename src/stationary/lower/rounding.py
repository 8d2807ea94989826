"""How much of a result is rounding: a running error analysis of the graph that computes it.

References
----------
N. J. Higham, Accuracy and stability of numerical algorithms (2nd ed., 2002), section 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse

from stationary.lower.instructions import Instruction, instructions

_EPS = float(np.finfo(float).eps)

# Beyond this many instructions the analysis would take longer than what it is for.
_MOST = 200_000

#: Functions of one argument, and their slope at x, where the value is y.
_ALONE: dict[int, tuple[Callable[[float], float], Callable[[float, float], float]]] = {
    ca.OP_NEG: (lambda x: -x, lambda x, y: 1.0),
    ca.OP_ASSIGN: (lambda x: x, lambda x, y: 1.0),
    ca.OP_FABS: (abs, lambda x, y: 1.0),
    ca.OP_TWICE: (lambda x: 2 * x, lambda x, y: 2.0),
    ca.OP_SQ: (lambda x: x * x, lambda x, y: 2 * x),
    ca.OP_INV: (lambda x: 1 / x, lambda x, y: y * y),
    ca.OP_SQRT: (math.sqrt, lambda x, y: 0.5 / y if y else math.inf),
    ca.OP_SIN: (math.sin, lambda x, y: math.cos(x)),
    ca.OP_COS: (math.cos, lambda x, y: math.sin(x)),
    ca.OP_TAN: (math.tan, lambda x, y: 1 + y * y),
    ca.OP_EXP: (math.exp, lambda x, y: y),
    ca.OP_LOG: (math.log, lambda x, y: 1 / x),
    ca.OP_TANH: (math.tanh, lambda x, y: 1 - y * y),
    ca.OP_SINH: (math.sinh, lambda x, y: math.cosh(x)),
    ca.OP_COSH: (math.cosh, lambda x, y: math.sinh(x)),
    ca.OP_ATAN: (math.atan, lambda x, y: 1 / (1 + x * x)),
    ca.OP_ERF: (math.erf, lambda x, y: 2 / math.sqrt(math.pi) * math.exp(-x * x)),
}


def rounding(owner: Any, name: str, arguments: list[Any], output: int = 0) -> np.ndarray | None:
    """Return bounds on the rounding of an output, a vector, of a function of a graph, by name.

    Every argument is as uncertain as its last digit. None where the graph is too large.
    """
    tape = _tape(owner, name, output)
    return None if tape is None else tape.errors(arguments)


def rounding_of_matrix(owner: Any, name: str, arguments: list[Any], most: int) -> Any:
    """Return the same of the first output, a matrix, sparse; None beyond so many operations."""
    tape = _tape(owner, name, 0)
    if tape is None or len(tape.steps) > most:
        return None
    pattern = getattr(owner, name).sparsity_out(0)
    places = np.array(pattern.row()), np.array(pattern.get_col())
    return sparse.csc_matrix((tape.entries(arguments), places), shape=pattern.shape)


@lru_cache(maxsize=32)
def _tape(owner: Any, name: str, output: int) -> Tape | None:
    function = getattr(owner, name)
    if not function.is_a("SXFunction") or function.n_instructions() > _MOST:
        return None
    return Tape.of(function, output)


@dataclass(frozen=True)
class Tape:
    """The operations of a graph, one after another."""

    steps: list[Instruction]
    places: int
    rows: np.ndarray
    size: int

    @classmethod
    def of(cls, function: ca.Function, output: int = 0) -> Tape:
        """Read the operations of a function of scalars."""
        every = instructions(function)
        needed = [x for x in every if x.op != ca.OP_OUTPUT or x.write[0] == output]
        pattern = function.sparsity_out(output)
        return cls(needed, function.sz_w(), np.array(pattern.row(), dtype=int), pattern.shape[0])

    def errors(self, arguments: list[Any], constant_digits: float = 0.0) -> np.ndarray:
        """Return bounds on the rounding of every entry of a vector.

        Constants are exact, or wrong by this many of their last digits.
        """
        dense = np.zeros(self.size)
        dense[self.rows] = self.entries(arguments, constant_digits)
        return dense

    def entries(self, arguments: list[Any], constant_digits: float = 0.0) -> np.ndarray:
        """Return the same of every entry that is not always zero, in the order of the graph."""
        given = [np.ravel(np.asarray(a, dtype=float)).tolist() for a in arguments]
        value, error = [0.0] * self.places, [0.0] * self.places
        errors = np.zeros(len(self.rows))
        for op, read, write, constant in self.steps:
            if op == ca.OP_CONST:
                value[write[0]] = constant
                error[write[0]] = constant_digits * _EPS * abs(constant)
            elif op == ca.OP_INPUT:
                x = given[read[0]][read[1]]
                value[write[0]], error[write[0]] = x, _EPS * abs(x)
            elif op == ca.OP_OUTPUT:
                errors[write[1]] = error[read[0]]
            elif len(read) > 1:
                i, j = read
                value[write[0]], error[write[0]] = _of_two(
                    op, value[i], value[j], error[i], error[j]
                )
            else:
                value[write[0]], error[write[0]] = _of_one(op, value[read[0]], error[read[0]])
        return np.where(np.isfinite(errors), errors, np.inf)


def _of_one(op: int, x: float, dx: float) -> tuple[float, float]:
    """Return the value of an operation on one number, and a bound on its error."""
    if op not in _ALONE:
        z = float(_other(op, 1)(x, 0.0))
        return z, abs(z) * (_share(dx, x) + _EPS)
    function, slope = _ALONE[op]
    try:
        z = function(x)
        return z, abs(slope(x, z)) * dx + _EPS * abs(z)
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan, math.inf


def _of_two(op: int, x: float, y: float, dx: float, dy: float) -> tuple[float, float]:
    """Return the value of an operation on two numbers, and a bound on its error."""
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
            # Others are taken as powers: relative errors add.
            z = float(_other(op, 2)(x, y))
            grown = abs(z) * (_share(dx, x) + _share(dy, y))
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan, math.inf
    return z, grown + _EPS * abs(z)


def _share(error: float, size: float) -> float:
    return error / abs(size) if size else 0.0


@cache
def _other(op: int, count: int) -> ca.Function:
    """Return one operation as a function of two arguments, of which it may use one."""
    a, b = ca.SX.sym("a"), ca.SX.sym("b")
    result = ca.SX.binary(op, a, b) if count > 1 else ca.SX.unary(op, a)
    return ca.Function("other", [a, b], [result])
