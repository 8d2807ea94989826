"""What in a statement may be sharp: functions that are flat for long and then change at once.

The force of a thin wall, 10·exp(−((x − 5)/0.001)²), is zero in floating point almost everywhere:
no step that begins and ends beside it can know of it from its ends. The arguments of such functions
can: they change all the way, and tell how many of its own scales a function passes in a step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from stationary.lower.instructions import applied, instructions, rewritten
from stationary.lower.many_states import at_states
from stationary.lower.vanishing_orders import CONSTANT, MOVING, Order, order_of, rises

if TYPE_CHECKING:
    from stationary.lower.kernel import AbstractKernel

# Where functions are constant in floating point, if only beyond all numbers: below the first number
# or above the second.
_FLAT = {
    ca.OP_EXP: (-746.0, 710.0), ca.OP_EXPM1: (-38.0, 710.0), ca.OP_TANH: (-20.0, 20.0),
    ca.OP_ERF: (-6.0, 6.0), ca.OP_SINH: (-711.0, 711.0), ca.OP_COSH: (-711.0, 711.0),
}  # fmt: skip

# Functions whose scale is their argument itself, or this where that is smaller: near zero they are
# steep.
_STEEP = {
    ca.OP_SQRT: 0.0, ca.OP_LOG: 0.0, ca.OP_POW: 0.0, ca.OP_CONSTPOW: 0.0, ca.OP_DIV: 0.0,
    ca.OP_INV: 0.0, ca.OP_HYPOT: 0.0, ca.OP_ATAN2: 0.0, ca.OP_ATAN: 1.0, ca.OP_ASINH: 1.0,
    ca.OP_LOG1P: 1.0, ca.OP_ASIN: 0.0, ca.OP_ACOS: 0.0,
}  # fmt: skip

# Powers beyond this one are as flat near zero as an exponential.
_HIGHEST = 12

# How many of its scales a function may pass between two looks at it, and how much smaller than at
# both a scale may be in between.
_PASSED = 4.0
_SMALLER = 0.1

# Intervals of steps that are looked into at the same time, and halvings of a step.
_MOST_INTERVALS = 512
_MOST_HALVINGS = 48

# Zero has no logarithm; this many times that of the tiny number is as flat as an exponential gets.
_TINY = 1e-300
_LOWEST = 1.25


@dataclass(frozen=True, eq=False)
class Features:
    """Arguments of the sharp functions of a statement along a motion; as a graph, too."""

    arguments: Any
    low: np.ndarray
    high: np.ndarray
    relative: np.ndarray
    least: np.ndarray
    _looks: ca.Function
    _along: ca.Function
    _rhs: ca.Function

    def __len__(self) -> int:
        return len(self.low)

    @property
    def poles(self) -> Any:
        """Arguments of functions that are steep near zero and nowhere else."""
        return self.arguments[np.flatnonzero(self.relative & (self.least == 0)).tolist()]

    @property
    def bends(self) -> Any:
        """Arguments of functions that change anywhere, when these change by about one."""
        return self.arguments[np.flatnonzero(~self.relative | (self.least > 0)).tolist()]

    def look(
        self, t: np.ndarray, y: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the arguments, their rates and ẏ = f at times and states, one row each.

        Values p are the same for all, or one row each, too.
        """
        count = len(self)
        looks = at_states(self._looks, t, y, p)
        return looks[:, :count], looks[:, count : 2 * count], looks[:, 2 * count :]

    def along(self, t: np.ndarray, y: np.ndarray, p: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return how fast the arguments change with states that change as told, one row each."""
        values = np.broadcast_to(p, (len(t), p.shape[-1]))
        return at_states(self._along, t, y, np.hstack([values, f]))

    def rounding(self, t: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return what the last digits of sharp functions are in ẏ = f, one row for each state.

        tanh(z) − tanh(z − 100) is constant in floating point where it is small, and then jumps: no
        change of time or state by a last digit shows that.
        """
        lost = at_states(self._rounding, t, y, p)
        # Functions beyond all numbers have no digits to lose.
        return np.where(np.isfinite(lost), lost, 0.0)

    @cached_property
    def _rounding(self) -> ca.Function:
        return _rounding(self._rhs)

    def passed(
        self, length: np.ndarray, z: np.ndarray, rate: np.ndarray, after: np.ndarray,
        rate_after: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Tell in which intervals a function may do more than its ends show.

        Between its ends an argument stays within a quarter of the way that its rates make of their
        values, as a cubic does.
        """
        way = 0.25 * length[:, None] * np.maximum(np.abs(rate), np.abs(rate_after))
        lowest, highest = np.minimum(z, after) - way, np.maximum(z, after) + way
        flat = (highest < self.low) | (lowest > self.high)
        many = ~flat & (np.maximum(np.abs(after - z), way) > _PASSED)
        if self.relative.any():
            near = near_zero(length[:, None], z, rate, after, rate_after, self.least)
            many = np.where(self.relative, near, many)
        return np.any(many, axis=1)

    def clear(self, length: np.ndarray, z: np.ndarray, rate: np.ndarray) -> bool:
        """Tell whether between no two of many looks a function may do more than these show.

        Arguments and rates have a row for each function. Quicker than `passed`, and more cautious.
        """
        size, speed = np.abs(z), np.abs(rate)
        way = 0.25 * length * np.maximum(speed[:, 1:], speed[:, :-1])
        before, after = z[:, :-1], z[:, 1:]
        many = np.maximum(np.abs(after - before), way) > _PASSED
        if self.relative.any():
            ends = np.minimum(size[:, 1:], size[:, :-1])
            near = (before * after <= 0) | (way > (1 - _SMALLER) * ends)
            many = np.where(self.relative[:, None], near, many)
        if not many.any():
            return True
        low, high, least = self.low[:, None], self.high[:, None], self.least[:, None]
        flat = (np.maximum(before, after) + way < low) | (np.minimum(before, after) - way > high)
        within = np.maximum(size[:, 1:], size[:, :-1]) + way <= least
        return not np.any(many & ~np.where(self.relative[:, None], within, flat))

    def inside(
        self, p: np.ndarray, begin: np.ndarray, length: np.ndarray, z: np.ndarray,
        rate: np.ndarray, among: np.ndarray,
        states: Callable[[np.ndarray, np.ndarray], np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray, tuple[int, float, float] | None]:  # fmt: skip
        """Return instants inside some steps between which no function passes many of its scales.

        Steps begin at `begin`; z and rate are those of all their ends. Instants are told by the
        step and the time since its beginning, and so are those at which `states` are asked for.
        The last result is the first interval, of a step, that would need more looks than there
        are; what follows it was not looked into.
        """
        k, a, b = among, np.zeros(len(among)), length[among]
        za, ra, zb, rb = z[among], rate[among], z[among + 1], rate[among + 1]
        steps, instants = [], []
        left: tuple[int, float, float] | None = None
        for _ in range(_MOST_HALVINGS):
            middle = (a + b) / 2
            zm, rm, _ = self.look(begin[k] + middle, states(k, middle), p if p.ndim == 1 else p[k])
            steps.append(k)
            instants.append(middle)
            k, a, b = np.tile(k, 2), np.append(a, middle), np.append(middle, b)
            za, zb, ra, rb = (np.vstack(x) for x in ((za, zm), (zm, zb), (ra, rm), (rm, rb)))
            doubtful = np.flatnonzero(self.passed(b - a, za, ra, zb, rb))
            # The earliest first: later ones are looked into again if these turn out well.
            doubtful = doubtful[np.lexsort((a[doubtful], k[doubtful]))]
            if len(doubtful) > _MOST_INTERVALS:
                next_one = doubtful[_MOST_INTERVALS]
                left = int(k[next_one]), float(a[next_one]), float(b[next_one])
                doubtful = doubtful[:_MOST_INTERVALS]
            if not len(doubtful):
                break
            k, a, b = k[doubtful], a[doubtful], b[doubtful]
            za, ra, zb, rb = za[doubtful], ra[doubtful], zb[doubtful], rb[doubtful]
        return np.concatenate(steps), np.concatenate(instants), left


def _rounding(rhs: ca.Function) -> ca.Function:
    """Return how far f moves when every sharp function in it changes by its last digit."""
    symbols = rhs.sx_in()
    changes: list[Any] = []

    def changed(op: int, values: list[Any]) -> Any:
        if op not in _FLAT:
            return applied(op, values)
        changes.append(ca.SX.sym(f"change{len(changes)}"))
        return applied(op, values) * (1 + changes[-1])

    rates = rewritten(rhs, symbols, changed)
    if not changes:
        return ca.Function("rounding", symbols, [rates * 0])
    change = ca.vertcat(*changes)
    moved = ca.substitute(ca.jacobian(rates, change), change, ca.SX.zeros(len(changes)))
    last_digits = np.finfo(float).eps * ca.sum2(ca.fabs(moved))
    return ca.Function("rounding", symbols, [ca.densify(last_digits)], {"cse": True})


def near_zero(length: Any, z: Any, rate: Any, after: Any, rate_after: Any, least: Any = 0.0) -> Any:
    """Tell where the argument of a steep function passes zero, or comes close and goes back."""
    way = 0.25 * length * np.maximum(np.abs(rate), np.abs(rate_after))
    lowest, highest = np.minimum(z, after) - way, np.maximum(z, after) + way
    # Signs are multiplied: arguments may be close to the largest numbers.
    z, rate, after, rate_after, before = *map(np.sign, (z, rate, after, rate_after)), (z, after)
    back = (z * rate < 0) & (after * rate_after > 0)
    ends = np.maximum(np.minimum(*map(np.abs, before)), least)
    nearest = np.maximum(np.maximum(lowest, -highest), least)
    return (z * after < 0) & (ends > least) | back & (nearest < _SMALLER * ends)


def features_of(kernel: AbstractKernel) -> Features | None:
    """Return the sharp functions of a kernel's statement; None if it has none."""
    if not kernel.graph.scalar:
        return None
    symbols = kernel.arguments
    arguments, operations = _arguments(_statement(kernel), symbols)
    if not arguments:
        return None
    t, y, p = symbols
    z = ca.vertcat(*arguments)
    f = kernel.rhs(t, y, p)
    rate = ca.jtimes(z, ca.vertcat(t, y), ca.vertcat(1, f))
    one = ca.Function("looks", [t, y, p], [ca.densify(ca.vertcat(z, rate, f))], {"cse": True})
    way = ca.SX.sym("way", y.numel())
    along = [ca.densify(ca.jtimes(z, y, way))]
    moving = ca.Function("along", [t, y, ca.vertcat(p, way)], along, {"cse": True})
    low = np.array([_FLAT.get(op, (-np.inf, np.inf))[0] for op in operations])
    high = np.array([_FLAT.get(op, (-np.inf, np.inf))[1] for op in operations])
    relative = np.array([op in _STEEP for op in operations])
    least = np.array([_STEEP.get(op, 0.0) for op in operations])
    return Features(z, low, high, relative, least, one, moving, kernel.rhs)


def _statement(kernel: AbstractKernel) -> ca.Function:
    """Return energies, power and constraints of a kernel, whose operations are the statement's."""
    inner = kernel.inner
    outputs = [kernel.graph.energies(*inner)]
    if kernel.rows:
        outputs.append(kernel.graph.constraints(*inner)[0])
    stated = ca.vertcat(*(ca.densify(e) for e in outputs))
    return ca.Function("stated", list(kernel.arguments), [stated], {"cse": True})


def _arguments(stated: ca.Function, symbols: tuple[Any, ...]) -> tuple[list[Any], list[int]]:
    """Return what moves inside sharp functions, and which these are.

    Sines, and powers that are polynomials, are listed where something sharp is made of them: by
    themselves a series sees them from afar.
    """
    memory: list[Any] = [None] * stated.sz_w()
    # Whether a value moves, and which listed arguments it is made of.
    moves, made_of = [False] * stated.sz_w(), [frozenset()] * stated.sz_w()
    orders = [CONSTANT] * stated.sz_w()
    listed: list[tuple[Any, int]] = []
    wanted: set[int] = set()
    for op, read, write, constant in instructions(stated):
        if op == ca.OP_OUTPUT:
            continue
        place = write[0]
        if op == ca.OP_INPUT:
            memory[place], moves[place] = symbols[read[0]][read[1]], read[0] != 2
            made_of[place], orders[place] = frozenset(), MOVING if moves[place] else CONSTANT
            continue
        if op == ca.OP_CONST:
            memory[place], moves[place] = ca.SX(constant), False
            made_of[place], orders[place] = frozenset(), CONSTANT
            continue
        inside = [memory[i] for i in read]
        moving, parts = any(moves[i] for i in read), frozenset().union(*(made_of[i] for i in read))
        which = _argument(op, [moves[i] for i in read])
        if moving and which is not None:
            sharp, before = op in _FLAT or op in _STEEP, len(listed)
            if op in (ca.OP_POW, ca.OP_CONSTPOW) and _high(inside[1]):
                # A high power is the exponential of a logarithm.
                listed.append((inside[1] * ca.log(ca.fabs(inside[0]) + _TINY), ca.OP_EXP))
                sharp = True
            else:
                listed += [(scale, op) for scale in _scales(op, inside, which)]
                sharp = sharp and not (op in (ca.OP_POW, ca.OP_CONSTPOW) and _whole(inside[1]))
            parts |= set(range(before, len(listed)))
            if sharp:
                wanted |= parts
        value, of = applied(op, inside), [orders[i] for i in read]
        order = order_of(op, inside, of)
        if rises(op, inside, of, order, _HIGHEST):
            listed.append((_LOWEST * ca.log(ca.fabs(value) + _TINY), ca.OP_EXP))
            order = Order(order.zero, order.off, warned=order.zero)
            parts |= {len(listed) - 1}
            wanted |= parts
        memory[place], moves[place], made_of[place] = value, moving, parts
        orders[place] = order
    kept = sorted(wanted)
    return [listed[i][0] for i in kept], [listed[i][1] for i in kept]


def _argument(op: int, moves: list[bool]) -> int | None:
    """Return which operand of an operation has a scale, if one has."""
    if op in _FLAT or op in (ca.OP_SIN, ca.OP_COS, ca.OP_TAN):
        return 0
    if op == ca.OP_DIV:
        return 1 if moves[1] else None
    if op in (ca.OP_POW, ca.OP_CONSTPOW):
        return 0 if moves[0] else 1
    return 0 if op in _STEEP else None


def _scales(op: int, inside: list[Any], which: int) -> list[Any]:
    """Return what vanishes where a function is steep, or ends on one of its branches."""
    if op in (ca.OP_HYPOT, ca.OP_ATAN2):
        squares = inside[0] ** 2 + inside[1] ** 2
        # An angle jumps where it comes round: a series goes on beyond as if it did not.
        return [squares] if op == ca.OP_HYPOT else [squares, ca.sqrt(squares) + inside[1]]
    if op in (ca.OP_ASIN, ca.OP_ACOS):
        return [1 - inside[0] ** 2]
    return [inside[which]]


def _high(exponent: Any) -> bool:
    """Tell whether a power is as sharp as an exponential."""
    return not exponent.is_constant() or abs(float(exponent)) > _HIGHEST


def _whole(exponent: Any) -> bool:
    """Tell whether a power is a polynomial."""
    return exponent.is_constant() and float(exponent) >= 0 and float(exponent).is_integer()
