"""To which order the values of a graph may vanish.

Powers are written as squares and products by the time they are a graph. Around a zero of high
order, and far from the peak of what is multiplied with itself many times, a function is as flat as
an exponential: no series at such a point sees what comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

# Functions that vanish with their argument.
_ODD = {
    ca.OP_SIN, ca.OP_TAN, ca.OP_SINH, ca.OP_TANH, ca.OP_ASIN, ca.OP_ATAN, ca.OP_ASINH, ca.OP_ATANH,
    ca.OP_ERF, ca.OP_EXPM1, ca.OP_LOG1P, ca.OP_FABS, ca.OP_NEG, ca.OP_TWICE,
}  # fmt: skip

# Even functions, which reach their extremum as a square does.
_EVEN = {ca.OP_COS, ca.OP_COSH}

_POWERS = {ca.OP_POW, ca.OP_CONSTPOW}


@dataclass(frozen=True)
class Order:
    """The order of a value's zeros, 0 if it is constant; `off` a constant another; one told."""

    zero: float
    off: float
    warned: float = 0.0


CONSTANT, MOVING = Order(0, 0), Order(1, 1)


def order_of(op: int, values: Sequence[Any], orders: Sequence[Order]) -> Order:
    """Return the order of what an operation makes of values."""
    first, last = orders[0], orders[-1]
    warned = max(o.warned for o in orders)
    if not any(o.zero for o in orders):
        return CONSTANT
    if op == ca.OP_MUL:
        zero = first.zero + last.zero
        constant = not (first.zero and last.zero)
        return Order(zero, max(first.off, last.off) if constant else 1, warned)
    if op == ca.OP_SQ:
        return Order(2 * first.zero, 1, warned)
    if op in _POWERS and last.zero == 0 and values[-1].is_constant() and float(values[-1]) > 0:
        return Order(float(values[-1]) * first.zero, 1, warned)
    if op in (ca.OP_ADD, ca.OP_SUB):
        # Terms vanish together, or leave a constant.
        zero = min(o.off if not (first.zero and last.zero) else o.zero for o in orders if o.zero)
        return Order(zero, max(1, min(o.off for o in orders if o.zero)), warned)
    if op == ca.OP_DIV:
        return Order(max(first.zero, 1), 1, warned)
    if op in _ODD:
        return Order(first.zero, first.off if op in (ca.OP_NEG, ca.OP_TWICE) else 1, warned)
    if op in _EVEN:
        return Order(1, 2 * first.zero, warned)
    return Order(1, 1, warned)


def rises(
    op: int, values: Sequence[Any], orders: Sequence[Order], order: Order, beyond: int
) -> bool:
    """Tell whether an operation makes a value flatter than a power, by far more than was told.

    A factor that has nothing to do with the others makes them no flatter: power is force times a
    velocity that may be zero.
    """
    if op not in (ca.OP_MUL, ca.OP_SQ, *_POWERS) or order.zero <= max(beyond, 2 * order.warned - 1):
        return False
    if op == ca.OP_MUL and min(o.zero for o in orders) == 1:
        single, higher = sorted(zip(orders, values), key=lambda pair: pair[0].zero)
        return ca.depends_on(higher[1], ca.vertcat(*ca.symvar(single[1])))
    return True
