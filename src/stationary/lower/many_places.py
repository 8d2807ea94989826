"""A function of scalars at very many places at once: every operation is one of NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
from scipy.special import erf

from stationary.lower.instructions import instructions, operations

_OPERATIONS: dict[int, Callable[..., Any]] = {
    ca.OP_ASSIGN: lambda x: x, ca.OP_ADD: np.add, ca.OP_SUB: np.subtract, ca.OP_MUL: np.multiply,
    ca.OP_DIV: np.divide, ca.OP_NEG: np.negative, ca.OP_SQ: np.square,
    ca.OP_TWICE: lambda x: x + x, ca.OP_INV: lambda x: 1 / x, ca.OP_EXP: np.exp, ca.OP_LOG: np.log,
    ca.OP_POW: np.power, ca.OP_CONSTPOW: np.power, ca.OP_SQRT: np.sqrt, ca.OP_SIN: np.sin,
    ca.OP_COS: np.cos, ca.OP_TAN: np.tan, ca.OP_ASIN: np.arcsin, ca.OP_ACOS: np.arccos,
    ca.OP_ATAN: np.arctan, ca.OP_SINH: np.sinh, ca.OP_COSH: np.cosh, ca.OP_TANH: np.tanh,
    ca.OP_ASINH: np.arcsinh, ca.OP_ACOSH: np.arccosh, ca.OP_ATANH: np.arctanh,
    ca.OP_ATAN2: np.arctan2, ca.OP_FABS: np.abs, ca.OP_SIGN: np.sign, ca.OP_FMIN: np.fmin,
    ca.OP_FMAX: np.fmax, ca.OP_HYPOT: np.hypot, ca.OP_LOG1P: np.log1p, ca.OP_EXPM1: np.expm1,
    ca.OP_ERF: erf, ca.OP_FLOOR: np.floor, ca.OP_CEIL: np.ceil, ca.OP_FMOD: np.fmod,
    ca.OP_COPYSIGN: np.copysign,
    ca.OP_LT: lambda x, y: 1.0 * (x < y), ca.OP_LE: lambda x, y: 1.0 * (x <= y),
    ca.OP_EQ: lambda x, y: 1.0 * (x == y), ca.OP_NE: lambda x, y: 1.0 * (x != y),
    ca.OP_NOT: lambda x: 1.0 * (x == 0), ca.OP_AND: lambda x, y: 1.0 * ((x != 0) & (y != 0)),
    ca.OP_OR: lambda x, y: 1.0 * ((x != 0) | (y != 0)),
    ca.OP_IF_ELSE_ZERO: lambda x, y: np.where(x != 0, y, 0.0),
}  # fmt: skip
_KNOWN = {*_OPERATIONS, ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST}

# Places that are evaluated together: what they need stays near the processor.
_TOGETHER = 8192


class Wide:
    """A function of scalars; where places are thousands, many times faster than CasADi's map."""

    def __init__(self, function: ca.Function):
        self._steps, self._places = list(instructions(function)), function.sz_w()
        self._sizes = [function.nnz_out(k) for k in range(function.n_out())]

    @staticmethod
    def serves(function: ca.Function) -> bool:
        """Tell whether every operation of a function is known."""
        return function.is_a("SXFunction") and operations(function) <= _KNOWN

    def __call__(
        self, count: int, arguments: Sequence[Callable[[int, slice], Any]]
    ) -> list[np.ndarray]:
        """Return the outputs, one row for each entry, one column for each place.

        Each argument gives its k-th entry at some places: an array, or one number for all.
        """
        outputs = [np.zeros((size, count)) for size in self._sizes]
        work: list[Any] = [0.0] * self._places
        with np.errstate(all="ignore"):
            for first in range(0, count, _TOGETHER):
                some = slice(first, min(first + _TOGETHER, count))
                for op, read, write, constant in self._steps:
                    if op == ca.OP_INPUT:
                        work[write[0]] = arguments[read[0]](read[1], some)
                    elif op == ca.OP_OUTPUT:
                        outputs[write[0]][write[1], some] = work[read[0]]
                    elif op == ca.OP_CONST:
                        work[write[0]] = constant
                    else:
                        work[write[0]] = _OPERATIONS[op](*(work[k] for k in read))
        return outputs


@lru_cache(maxsize=128)
def _wide(function: ca.Function) -> Wide | None:
    return Wide(function) if Wide.serves(function) else None


def evaluate(function: ca.Function, *arguments: np.ndarray) -> np.ndarray:
    """Return the first output of a function for many rows; shape (rows, entries)."""
    count, wide = len(arguments[0]), _wide(function)
    columns = [a[:, None] if a.ndim == 1 else a for a in arguments]
    if wide is not None:
        entries = [lambda k, some, a=a: a[some, k].astype(float) for a in columns]
        return np.ascontiguousarray(wide(count, entries)[0].T)
    values = np.empty((count, function.numel_out(0)))
    for k in range(0, count, _TOGETHER):
        some = slice(k, k + _TOGETHER)
        values[some] = np.asarray(function(*(a[some].T for a in columns))).T
    return values
