"""A graph of scalars evaluated on arrays, operation by operation: fast where rows are many."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
from scipy.special import erf

from stationary.lower.instructions import instructions

# Rows that are evaluated together: so many numbers stay in the processor's cache.
_AT_ONCE = 8192

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


@lru_cache(maxsize=128)
def _listed(function: ca.Function) -> list[tuple[Any, list[int], list[int], float]] | None:
    listed = list(instructions(function))
    known = {ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST} | _OPERATIONS.keys()
    return listed if {op for op, *_ in listed} <= known else None  # pyright: ignore[reportReturnType]


def evaluate(function: ca.Function, *arguments: np.ndarray) -> np.ndarray:
    """Return the first output of a function for many rows; shape (rows, entries)."""
    rows = len(arguments[0])
    values = np.empty((rows, function.numel_out(0)))
    columns = [a[:, None] if a.ndim == 1 else a for a in arguments]
    listed = _listed(function)
    for k in range(0, rows, _AT_ONCE):
        some = [a[k : k + _AT_ONCE] for a in columns]
        if listed is None:
            values[k : k + _AT_ONCE] = np.asarray(function(*(a.T for a in some))).T
        else:
            _walk(listed, some, values[k : k + _AT_ONCE], function.sz_w())
    return values


def _walk(listed: list, columns: list[np.ndarray], out: np.ndarray, places: int) -> None:
    held: list[Any] = [0.0] * places
    with np.errstate(all="ignore"):
        for op, read, write, constant in listed:
            if op == ca.OP_INPUT:
                held[write[0]] = columns[read[0]][:, read[1]].astype(float)
            elif op == ca.OP_CONST:
                held[write[0]] = constant
            elif op == ca.OP_OUTPUT:
                if write[0] == 0:
                    out[:, write[1]] = held[read[0]]
            else:
                held[write[0]] = _OPERATIONS[op](*(held[i] for i in read))
