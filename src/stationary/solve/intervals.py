"""Interval arithmetic on a CasADi graph: what a function can be over many boxes at once.

Every operation rounds outwards, so that an enclosure holds what exact arithmetic would give. The
natural extension of R. E. Moore, Interval Analysis (1966).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from scipy.special import erf

from stationary.lower.instructions import instructions, operations

#: Lower and upper bounds, one entry per box.
Pair = tuple[np.ndarray, np.ndarray]

_EPS = np.finfo(float).eps
_LEAST = np.finfo(float).tiny


class NoEnclosure(Exception):
    """An operation has no enclosure here."""


class Enclosure:
    """A function of one vector, as enclosures over boxes.

    Attributes
    ----------
    work : int
        Number of operations.
    """

    def __init__(self, function: ca.Function):
        self.rows = function.nnz_out(0)
        self._slots = function.sz_w()
        self._steps = list(instructions(function))
        unknown = operations(function) - _SPECIAL - _RULES.keys()
        if unknown:
            raise NoEnclosure(f"operation {min(unknown)}")
        self.work = len(self._steps)

    def __call__(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Return bounds of every entry over every box, and in which boxes it may not be smooth.

        Boxes are rows. Where a function is not defined on all of a box, bounds hold where it is.
        """
        count = len(low)
        bounds = np.zeros((self.rows, count)), np.zeros((self.rows, count))
        slots: list[Any] = [None] * self._slots
        kinked = np.zeros(count, bool)
        with np.errstate(all="ignore"):
            for op, inputs, outputs, constant in self._steps:
                if op == ca.OP_INPUT:
                    slots[outputs[0]] = low[:, inputs[1]], high[:, inputs[1]]
                elif op == ca.OP_OUTPUT:
                    for bound, value in zip(bounds, slots[inputs[0]]):
                        bound[outputs[1]] = value
                elif op == ca.OP_CONST:
                    slots[outputs[0]] = np.full(count, constant), np.full(count, constant)
                else:
                    slots[outputs[0]] = _RULES[op](kinked, *(slots[i] for i in inputs))
        return bounds[0].T, bounds[1].T, kinked


def _wide(low: np.ndarray, high: np.ndarray, digits: float = 2.0) -> Pair:
    """Round outwards; where nothing is known, anything may be."""
    low = low - digits * _EPS * np.abs(low) - _LEAST
    high = high + digits * _EPS * np.abs(high) + _LEAST
    return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


def add(x: Pair, y: Pair) -> Pair:
    """Return x + y."""
    return _wide(x[0] + y[0], x[1] + y[1])


def negative(x: Pair) -> Pair:
    """Return −x."""
    return -x[1], -x[0]


def times(x: Pair, y: Pair) -> Pair:
    """Return x · y."""
    # A bound that is infinite stands for all that is large: times nothing it is nothing.
    ends = [np.nan_to_num(a * b, nan=0.0, posinf=np.inf, neginf=-np.inf) for a in x for b in y]
    return _wide(np.minimum.reduce(ends), np.maximum.reduce(ends))


def _inverse(kinked: np.ndarray, x: Pair) -> Pair:
    low, high = x
    across = (low <= 0) & (high >= 0)
    kinked |= across
    below = np.where(across & ~((low == 0) & (high > 0)), -np.inf, 1 / high)
    above = np.where(across & ~((high == 0) & (low < 0)), np.inf, 1 / low)
    return _wide(below, above)


def _square(kinked: np.ndarray, x: Pair) -> Pair:
    return _even(lambda a: a * a, x)


def _even(function: Callable, x: Pair, least: float = 0.0) -> Pair:
    """Return an even function that rises away from zero."""
    low, high = x
    inner = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
    outer = np.maximum(np.abs(low), np.abs(high))
    below, above = _wide(function(inner), function(outer), 4.0)
    return np.maximum(below, least), above


def _rising(function: Callable, from_: float = -np.inf, to: float = np.inf) -> Callable:
    """Return the rule of a function that rises, on its domain."""

    def rule(kinked: np.ndarray, x: Pair) -> Pair:
        low, high = x
        if from_ > -np.inf:
            kinked |= low <= from_
        if to < np.inf:
            kinked |= high >= to
        outside = (high < from_) | (low > to)
        below, above = function(np.clip(low, from_, to)), function(np.clip(high, from_, to))
        below, above = _wide(below, above, 8.0)
        # Where it is defined nowhere on the box, nothing can be said.
        return np.where(outside, -np.inf, below), np.where(outside, np.inf, above)

    return rule


def _falling(rule: Callable) -> Callable:
    return lambda kinked, x: negative(rule(kinked, x))


def _swing(shift: float) -> Callable:
    """Return the rule of the sine, shifted: π/2 makes it the cosine."""

    def rule(kinked: np.ndarray, x: Pair) -> Pair:
        low, high = x
        ends = (np.cos(low), np.cos(high)) if shift else (np.sin(low), np.sin(high))
        below, above = _wide(np.minimum(*ends), np.maximum(*ends), 8.0)
        slack = 8 * _EPS * (np.maximum(np.abs(low), np.abs(high)) + 2 * np.pi)

        def holds(place: float) -> np.ndarray:
            """Tell whether the interval holds a place modulo a turn."""
            first = np.ceil((low - slack - place) / (2 * np.pi))
            return ~(place + 2 * np.pi * first > high + slack)

        above = np.where(holds(np.pi / 2 - shift), 1.0, np.minimum(above, 1.0))
        below = np.where(holds(-np.pi / 2 - shift), -1.0, np.maximum(below, -1.0))
        return below, above

    return rule


def _tangent(kinked: np.ndarray, x: Pair) -> Pair:
    low, high = x
    # A branch ends wherever the cosine vanishes.
    ends = np.floor(low / np.pi - 0.5 - 1e-12) != np.floor(high / np.pi - 0.5 + 1e-12)
    kinked |= ends
    below, above = _wide(np.tan(low), np.tan(high), 8.0)
    return np.where(ends, -np.inf, below), np.where(ends, np.inf, above)


def _power(kinked: np.ndarray, x: Pair, y: Pair) -> Pair:
    (low, high), exponent = x, y[0]
    if np.all(y[0] == y[1]) and np.all(exponent == exponent[0]) and exponent[0] % 1 == 0:
        whole = int(exponent[0])
        if whole < 0:
            return _inverse(kinked, _power(kinked, x, (-y[1], -y[0])))
        if whole % 2 == 0:
            return _even(lambda a: a**whole, x, 1.0 if whole == 0 else 0.0)
        return _wide(low**whole, high**whole, 4.0)
    kinked |= low <= 0
    grown = times(y, _RULES[ca.OP_LOG](kinked, x))
    return _RULES[ca.OP_EXP](kinked, grown)


def _angle(kinked: np.ndarray, y: Pair, x: Pair) -> Pair:
    right = x[0] > 0
    kinked |= ~right
    ends = [np.arctan2(b, a) for b in y for a in x]
    below, above = _wide(np.minimum.reduce(ends), np.maximum.reduce(ends), 8.0)
    return np.where(right, below, -np.pi), np.where(right, above, np.pi)


def _length(kinked: np.ndarray, x: Pair, y: Pair) -> Pair:
    return _RULES[ca.OP_SQRT](kinked, add(_square(kinked, x), _square(kinked, y)))


def _sign(kinked: np.ndarray, x: Pair) -> Pair:
    kinked |= (x[0] <= 0) & (x[1] >= 0)
    return np.sign(x[0]), np.sign(x[1])


def _steps(function: Callable) -> Callable:
    def rule(kinked: np.ndarray, x: Pair) -> Pair:
        ends = function(x[0]), function(x[1])
        kinked |= ends[0] != ends[1]
        return ends

    return rule


def _compared(sure: Callable, never: Callable) -> Callable:
    """Return the rule of a comparison: one where it holds everywhere, zero where nowhere."""

    def rule(kinked: np.ndarray, x: Pair, y: Pair) -> Pair:
        holds, fails = sure(x, y), never(x, y)
        kinked |= ~(holds | fails)
        return np.where(holds, 1.0, 0.0), np.where(fails, 0.0, 1.0)

    return rule


def _chosen(kinked: np.ndarray, condition: Pair, x: Pair) -> Pair:
    """Return x where a condition holds, else zero; both where it may or may not."""
    sure, maybe = condition[0] > 0, condition[1] > 0
    below = np.where(sure, x[0], np.where(maybe, np.minimum(x[0], 0.0), 0.0))
    above = np.where(sure, x[1], np.where(maybe, np.maximum(x[1], 0.0), 0.0))
    return below, above


def _same(x: Pair, y: Pair) -> np.ndarray:
    return (x[0] == x[1]) & (y[0] == y[1]) & (x[0] == y[0])


def _apart(x: Pair, y: Pair) -> np.ndarray:
    return (x[1] < y[0]) | (y[1] < x[0])


_SPECIAL = {ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST}

_RULES: dict[int, Callable[..., Pair]] = {
    ca.OP_ASSIGN: lambda kinked, x: x,
    ca.OP_ADD: lambda kinked, x, y: add(x, y),
    ca.OP_SUB: lambda kinked, x, y: add(x, negative(y)),
    ca.OP_MUL: lambda kinked, x, y: times(x, y),
    ca.OP_DIV: lambda kinked, x, y: times(x, _inverse(kinked, y)),
    ca.OP_INV: _inverse,
    ca.OP_NEG: lambda kinked, x: negative(x),
    ca.OP_TWICE: lambda kinked, x: (2 * x[0], 2 * x[1]),
    ca.OP_SQ: _square,
    ca.OP_POW: _power,
    ca.OP_CONSTPOW: _power,
    ca.OP_SQRT: _rising(np.sqrt, 0.0),
    ca.OP_EXP: _rising(np.exp),
    ca.OP_EXPM1: _rising(np.expm1),
    ca.OP_LOG: _rising(np.log, 0.0),
    ca.OP_LOG1P: _rising(np.log1p, -1.0),
    ca.OP_SIN: _swing(0.0),
    ca.OP_COS: _swing(np.pi / 2),
    ca.OP_TAN: _tangent,
    ca.OP_ASIN: _rising(np.arcsin, -1.0, 1.0),
    ca.OP_ACOS: _falling(_rising(lambda x: -np.arccos(x), -1.0, 1.0)),
    ca.OP_ATAN: _rising(np.arctan),
    ca.OP_ATAN2: _angle,
    ca.OP_SINH: _rising(np.sinh),
    ca.OP_COSH: lambda kinked, x: _even(np.cosh, x, 1.0),
    ca.OP_TANH: _rising(np.tanh),
    ca.OP_ASINH: _rising(np.arcsinh),
    ca.OP_ACOSH: _rising(np.arccosh, 1.0),
    ca.OP_ATANH: _rising(np.arctanh, -1.0, 1.0),
    ca.OP_ERF: _rising(erf),
    ca.OP_HYPOT: _length,
    ca.OP_FABS: lambda kinked, x: _even(np.abs, x),
    ca.OP_FMIN: lambda kinked, x, y: (np.minimum(x[0], y[0]), np.minimum(x[1], y[1])),
    ca.OP_FMAX: lambda kinked, x, y: (np.maximum(x[0], y[0]), np.maximum(x[1], y[1])),
    ca.OP_SIGN: _sign,
    ca.OP_FLOOR: _steps(np.floor),
    ca.OP_CEIL: _steps(np.ceil),
    ca.OP_LT: _compared(lambda x, y: x[1] < y[0], lambda x, y: x[0] >= y[1]),
    ca.OP_LE: _compared(lambda x, y: x[1] <= y[0], lambda x, y: x[0] > y[1]),
    ca.OP_EQ: _compared(_same, _apart),
    ca.OP_NE: _compared(_apart, _same),
    ca.OP_NOT: lambda kinked, x: (1 - x[1], 1 - x[0]),
    ca.OP_AND: lambda kinked, x, y: (np.minimum(x[0], y[0]), np.minimum(x[1], y[1])),
    ca.OP_OR: lambda kinked, x, y: (np.maximum(x[0], y[0]), np.maximum(x[1], y[1])),
    ca.OP_IF_ELSE_ZERO: _chosen,
}
