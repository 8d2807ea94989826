"""How much of a result is rounding: a running error analysis of the graph that computes it.

Bounds are what all errors add up to at worst; what they add up to by chance is found by trial.

References
----------
N. J. Higham, Accuracy and stability of numerical algorithms (2nd ed., 2002), section 3.3.
D. S. Parker, Monte Carlo arithmetic, UCLA CSD-970002 (1997), section 3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse

from stationary.lower.engines.casadi import Numeric
from stationary.lower.instructions import KINKS, applied, instructions, rewritten
from stationary.lower.many_states import at_states

_EPS = float(np.finfo(float).eps)

# Beyond this many instructions the analysis would take longer than what it is for.
_MOST = 200_000
_MOST_DRAWN = 20_000

# So often the last digits of all operations are drawn by lot.
_DRAWS = 4

# Operations that do not round.
_EXACT = {ca.OP_ASSIGN, ca.OP_NEG, ca.OP_TWICE, *KINKS}

# What is asked more often is compiled: that takes about as long as so many answers by hand.
_OFTEN = 40

#: Functions of one argument, and their slope at x, where the value is y; of numbers by `math`, of
#: expressions by CasADi.
_ALONE: dict[int, tuple[Callable[[Any, Any], Any], Callable[[Any, Any, Any], Any]]] = {
    ca.OP_NEG: (lambda m, x: -x, lambda m, x, y: 1.0),
    ca.OP_ASSIGN: (lambda m, x: x, lambda m, x, y: 1.0),
    ca.OP_FABS: (lambda m, x: m.fabs(x), lambda m, x, y: 1.0),
    ca.OP_TWICE: (lambda m, x: 2 * x, lambda m, x, y: 2.0),
    ca.OP_SQ: (lambda m, x: x * x, lambda m, x, y: 2 * x),
    ca.OP_INV: (lambda m, x: 1 / x, lambda m, x, y: y * y),
    ca.OP_SQRT: (lambda m, x: m.sqrt(x), lambda m, x, y: 0.5 / y),
    ca.OP_SIN: (lambda m, x: m.sin(x), lambda m, x, y: m.cos(x)),
    ca.OP_COS: (lambda m, x: m.cos(x), lambda m, x, y: m.sin(x)),
    ca.OP_TAN: (lambda m, x: m.tan(x), lambda m, x, y: 1 + y * y),
    ca.OP_EXP: (lambda m, x: m.exp(x), lambda m, x, y: y),
    ca.OP_LOG: (lambda m, x: m.log(x), lambda m, x, y: 1 / x),
    ca.OP_TANH: (lambda m, x: m.tanh(x), lambda m, x, y: 1 - y * y),
    ca.OP_SINH: (lambda m, x: m.sinh(x), lambda m, x, y: m.cosh(x)),
    ca.OP_COSH: (lambda m, x: m.cosh(x), lambda m, x, y: m.sinh(x)),
    ca.OP_ATAN: (lambda m, x: m.atan(x), lambda m, x, y: 1 / (1 + x * x)),
    ca.OP_ERF: (lambda m, x: m.erf(x), lambda m, x, y: 2 / math.sqrt(math.pi) * m.exp(-x * x)),
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
    return Tape(function, output)


def chance(rates: ca.Function, t: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return what rounding makes of ẏ = f(t, y, p) by chance, at times and states: one row each.

    Values p are one row each, too. Times and states have no errors. Zero where the graph is too
    large.
    """
    if not rates.is_a("SXFunction") or rates.n_instructions() > _MOST_DRAWN:
        return np.zeros_like(y)
    shaken, operations = _shaken(rates)
    rng, plain = np.random.default_rng(0), at_states(rates, t, y, p)
    squares = np.zeros_like(plain)
    for _ in range(_DRAWS):
        # Each is wrong by half its last digit, which is one of 1 + x that can be told.
        signs = rng.choice([-_EPS, _EPS], (len(t), operations))
        squares += ((at_states(shaken, t, y, np.hstack([p, signs])) - plain) / 2) ** 2
    lost = np.sqrt(squares / _DRAWS)
    return np.where(np.isfinite(lost), lost, 0.0)


@lru_cache(maxsize=32)
def _shaken(rates: ca.Function) -> tuple[ca.Function, int]:
    """Return f with every operation off by a share of its result; shares follow the vector p."""
    t, y, p = rates.sx_in()
    shares: list[Any] = []

    def off(op: int, values: list[Any]) -> Any:
        result = applied(op, values)
        if op in _EXACT or result.is_constant():
            return result
        shares.append(ca.SX.sym(f"share{len(shares)}"))
        return result * (1 + shares[-1])

    rounded = rewritten(rates, (t, y, p), off)
    own = [t, y, ca.vertcat(p, *shares)]
    return ca.Function("shaken", own, [ca.densify(rounded)]), len(shares)


class Tape:
    """The operations of a graph, one after another."""

    def __init__(self, function: ca.Function, output: int = 0):
        every = instructions(function)
        self.steps = [x for x in every if x.op != ca.OP_OUTPUT or x.write[0] == output]
        self._function, pattern = function, function.sparsity_out(output)
        self._rows, self._size = np.array(pattern.row(), dtype=int), pattern.shape[0]
        self._asked = 0

    def errors(self, arguments: list[Any], constant_digits: float = 0.0) -> np.ndarray:
        """Return bounds on the rounding of every entry of a vector.

        Constants are exact, or wrong by this many of their last digits.
        """
        dense = np.zeros(self._size)
        dense[self._rows] = self.entries(arguments, constant_digits)
        return dense

    def entries(self, arguments: list[Any], constant_digits: float = 0.0) -> np.ndarray:
        """Return the same of every entry that is not always zero, in the order of the graph."""
        self._asked += 1
        if self._asked > _OFTEN:
            errors = self._compiled(*arguments, constant_digits)[0]
        else:
            given = [np.ravel(np.asarray(a, dtype=float)).tolist() for a in arguments]
            errors = np.array(self._analysed(math, given, constant_digits), dtype=float)
        return np.where(np.isfinite(errors), errors, np.inf)

    @cached_property
    def _compiled(self) -> Numeric:
        """The analysis as a function of all arguments and of the digits of constants."""
        f = self._function
        given = [ca.SX.sym(f.name_in(k), f.sparsity_in(k)) for k in range(f.n_in())]
        digits = ca.SX.sym("digits")
        errors = self._analysed(ca, [x.nonzeros() for x in given], digits)
        return Numeric(ca.Function("errors", [*given, digits], [ca.vertcat(*map(ca.SX, errors))]))

    def _analysed(self, m: Any, given: list[list[Any]], constant_digits: Any) -> list[Any]:
        """Return the error of every entry: of numbers, or of expressions by CasADi."""
        places = self._function.sz_w()
        value: list[Any] = [0.0] * places
        error: list[Any] = [0.0] * places
        errors: list[Any] = [0.0] * len(self._rows)
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
                    m, op, value[i], value[j], error[i], error[j]
                )
            else:
                value[write[0]], error[write[0]] = _of_one(m, op, value[read[0]], error[read[0]])
        return errors


def _of_one(m: Any, op: int, x: Any, dx: Any) -> tuple[Any, Any]:
    """Return the value of an operation on one number, and a bound on its error."""
    if op not in _ALONE:
        z = _other(m, op, x)
        return z, abs(z) * (_share(m, dx, x) + _EPS)
    function, slope = _ALONE[op]
    try:
        z = function(m, x)
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan, math.inf
    try:
        return z, abs(slope(m, x, z)) * dx + _EPS * abs(z)
    except (ValueError, ZeroDivisionError, OverflowError):
        return z, math.inf


def _of_two(m: Any, op: int, x: Any, y: Any, dx: Any, dy: Any) -> tuple[Any, Any]:
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
            z = _other(m, op, x, y)
            grown = abs(z) * (_share(m, dx, x) + _share(m, dy, y))
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan, math.inf
    return z, grown + _EPS * abs(z)


def _share(m: Any, error: Any, size: Any) -> Any:
    if m is ca:
        return ca.if_else(size == 0, 0, error / abs(size))
    return error / abs(size) if size else 0.0


def _other(m: Any, op: int, *values: Any) -> Any:
    if m is ca:
        return applied(op, [ca.SX(x) for x in values])
    return float(_operation(op, len(values))(*values))


@cache
def _operation(op: int, count: int) -> ca.Function:
    """Return one operation as a function of its arguments."""
    symbols = [ca.SX.sym(f"a{k}") for k in range(count)]
    return ca.Function("other", symbols, [applied(op, symbols)])
