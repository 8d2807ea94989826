"""Taylor series of a graph, written out as another graph that CasADi's own machine runs.

Serves where heyoka is not installed, by the same steps: only the arithmetic is slower. Each value
of the graph is a series in time, and its coefficients follow from those of what it is made from
(A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., chapter 13).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite, pi, sqrt
from typing import Any

import casadi as ca
import numpy as np

from stationary.errors import CompileError
from stationary.lower.engines import heyoka
from stationary.lower.engines.casadi import Numeric
from stationary.lower.instructions import KINKS, applied, instructions

# The order that reaches rounding with the least work, and the step over the reach of the series
# (Jorba & Zou 2005, section 3.2).
_ORDER = 20
_STEP = float(np.exp(-2.0 - 0.7 / (_ORDER - 1)))


def available() -> bool:
    """Tell that it is there: it is made of what everything rests on."""
    return True


def accepts(rhs: ca.Function) -> bool:
    """Tell whether it pays: the same as for heyoka, which takes about as long to compile."""
    return heyoka.accepts(rhs)


def compile(rhs: ca.Function) -> Integrators:
    """Return the integrators of ẏ = f(t, y, p), written out when they are asked for."""
    return Integrators(rhs)


def run(code: Integrators, t: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return f at many times and states, one per row."""
    _, stepper = code.integrator(alone=False)
    stepper.pars[:] = np.concatenate((p, np.ones(y.shape[1] + 1)))
    rates = np.empty_like(y)
    for k, (time, state) in enumerate(zip(np.broadcast_to(t, len(y)), y)):
        stepper.time, stepper.state[:] = time, state
        stepper.step(1.0)
        rates[k] = stepper.tc[:, 1]
    return rates


class _Series:
    """Values of a graph as series: their first coefficients, and rules for all that follow.

    Coefficients of one order follow from those of the same order at lower levels, and of lower
    orders anywhere; what has the same level and rule is written together.
    """

    def __init__(self):
        self.first: list[ca.SX] = []
        self.moves: list[bool] = []
        self._levels: list[int] = []
        self._groups: dict[tuple[int, str], list[tuple[int, ...]]] = {}
        self._functions: dict[tuple[int, int], int] = {}
        self._rates: dict[int, int] = {}
        self._slopes: dict[int, int] = {}
        self.one = self.value(1.0)

    def value(self, first: Any, moves: bool = False) -> int:
        """Return a new value that follows from no others."""
        self.first.append(ca.SX(first))
        self.moves.append(moves)
        self._levels.append(0)
        return len(self.first) - 1

    def follow(self, rule: str, first: Any, *arguments: int) -> int:
        """Return a new value that follows from others by a rule."""
        new = self.value(first, True)
        self._levels[new] = level = 1 + max(self._levels[i] for i in arguments)
        self._groups.setdefault((level, rule), []).append((new, *arguments))
        return new

    def plus(self, x: int, y: int) -> int:
        return self.follow("sum", self.first[x] + self.first[y], x, y)

    def minus(self, x: int, y: int) -> int:
        return self.follow("difference", self.first[x] - self.first[y], x, y)

    def opposite(self, x: int) -> int:
        return self.follow("opposite", -self.first[x], x)

    def times(self, x: int, y: int) -> int:
        first = self.first[x] * self.first[y]
        if x == y:
            return self.follow("square", first, x)
        if self.moves[x] and self.moves[y]:
            return self.follow("product", first, x, y)
        return self.follow("multiple", first, *((x, y) if self.moves[y] else (y, x)))

    def over(self, x: int, y: int) -> int:
        first = self.first[x] / self.first[y]
        return self.follow("quotient" if self.moves[y] else "part", first, x, y)

    def root(self, x: int) -> int:
        return self.follow("root", ca.sqrt(self.first[x]), x)

    def integral(self, first: Any, x: int, slope: Callable[[int], int]) -> int:
        """Return what changes so many times as much as x; the slope may follow from itself."""
        if x not in self._rates:
            self._rates[x] = self.follow("rate", 0.0, x)
        rate, new = self._rates[x], self.value(first, True)
        self._levels[new] = level = 1 + self._levels[rate]
        self._slopes[new] = slope(new)
        self._groups.setdefault((level, "integral"), []).append((new, rate, self._slopes[new]))
        return new

    def function(self, op: int, x: int) -> int:
        """Return an elementary function of a value."""
        if op in _PAIRS:
            return self._slopes[self.function(_PAIRS[op], x)]
        if (op, x) not in self._functions:
            first = ca.SX.unary(op, self.first[x])
            new = self.integral(first, x, lambda new: _SLOPES[op](self, x, new))
            self._functions[op, x] = new
        return self._functions[op, x]

    def power(self, x: int, y: int) -> int:
        first = ca.SX.binary(ca.OP_POW, self.first[x], self.first[y])
        if self.moves[y]:
            exponent = self.times(y, self.function(ca.OP_LOG, x))
            return self.integral(first, exponent, lambda new: new)
        return self.integral(first, x, lambda new: self.over(self.times(y, new), x))

    def hypotenuse(self, x: int, y: int) -> int:
        first = ca.SX.binary(ca.OP_HYPOT, self.first[x], self.first[y])
        return self.follow("root", first, self.plus(self.times(x, x), self.times(y, y)))

    def angle(self, y: int, x: int) -> int:
        squared = self.plus(self.times(x, x), self.times(y, y))
        by_y = self.integral(0.0, y, lambda _: self.over(x, squared))
        by_x = self.integral(0.0, x, lambda _: self.over(y, squared))
        return self.follow("difference", ca.atan2(self.first[y], self.first[x]), by_y, by_x)

    def written(self, states: list[int], rates: list[int], unit: ca.SX) -> ca.SX:
        """Return the coefficients of the states, one row each, in a unit of time."""
        c = ca.SX.zeros(len(self.first), _ORDER + 1)
        c[:, 0] = ca.vertcat(*self.first)
        groups = [
            (_RULES[rule], [list(column) for column in zip(*rows)])
            for (_, rule), rows in sorted(self._groups.items())
        ]
        for k in range(_ORDER):
            for rule, (new, *arguments) in groups if k else ():
                c[new, k] = rule(c, k, new, *arguments)
            c[states, k + 1] = c[rates, k] * unit / (k + 1)
        return c[states, :]


_ARITHMETIC: dict[int, Callable[..., int]] = {
    ca.OP_ASSIGN: lambda s, x: x,
    ca.OP_ADD: _Series.plus,
    ca.OP_SUB: _Series.minus,
    ca.OP_MUL: _Series.times,
    ca.OP_DIV: _Series.over,
    ca.OP_NEG: _Series.opposite,
    ca.OP_INV: lambda s, x: s.over(s.one, x),
    ca.OP_SQ: lambda s, x: s.times(x, x),
    ca.OP_TWICE: lambda s, x: s.plus(x, x),
    ca.OP_SQRT: _Series.root,
    ca.OP_POW: _Series.power,
    ca.OP_CONSTPOW: _Series.power,
    ca.OP_HYPOT: _Series.hypotenuse,
    ca.OP_ATAN2: _Series.angle,
}

# Slopes of functions of x that have the value z.
_SLOPES: dict[int, Callable[[_Series, int, int], int]] = {
    ca.OP_EXP: lambda s, x, z: z,
    ca.OP_EXPM1: lambda s, x, z: s.plus(z, s.one),
    ca.OP_LOG: lambda s, x, z: s.over(s.one, x),
    ca.OP_LOG1P: lambda s, x, z: s.over(s.one, s.plus(s.one, x)),
    ca.OP_SIN: lambda s, x, z: s.integral(ca.cos(s.first[x]), x, lambda _: s.opposite(z)),
    ca.OP_SINH: lambda s, x, z: s.integral(ca.cosh(s.first[x]), x, lambda _: z),
    ca.OP_TAN: lambda s, x, z: s.plus(s.one, s.times(z, z)),
    ca.OP_TANH: lambda s, x, z: s.minus(s.one, s.times(z, z)),
    ca.OP_ASIN: lambda s, x, z: s.over(s.one, s.root(s.minus(s.one, s.times(x, x)))),
    ca.OP_ACOS: lambda s, x, z: s.opposite(s.over(s.one, s.root(s.minus(s.one, s.times(x, x))))),
    ca.OP_ATAN: lambda s, x, z: s.over(s.one, s.plus(s.one, s.times(x, x))),
    ca.OP_ASINH: lambda s, x, z: s.over(s.one, s.root(s.plus(s.one, s.times(x, x)))),
    ca.OP_ACOSH: lambda s, x, z: s.over(s.one, s.root(s.minus(s.times(x, x), s.one))),
    ca.OP_ATANH: lambda s, x, z: s.over(s.one, s.minus(s.one, s.times(x, x))),
    ca.OP_ERF: lambda s, x, z: s.times(
        s.value(2 / sqrt(pi)), s.function(ca.OP_EXP, s.opposite(s.times(x, x)))
    ),
}

# Functions that are the slopes of others.
_PAIRS = {ca.OP_COS: ca.OP_SIN, ca.OP_COSH: ca.OP_SINH}


def _sums(c: ca.SX, x: list[int], y: list[int], k: int, low: int, high: int) -> Any:
    """Return Σ xⱼ yₖ₋ⱼ over j from low to high, the entries of a product of series."""
    if low > high:
        return 0.0
    return ca.sum2(c[x, low : high + 1] * c[y, list(range(k - low, k - high - 1, -1))])


def _squares(c: ca.SX, k: int, x: list[int], low: int = 0) -> Any:
    """Return Σ xⱼ xₖ₋ⱼ over j from low to k − low."""
    both = 2 * _sums(c, x, x, k, low, (k - 1) // 2)
    return both if k % 2 else both + c[x, k // 2] ** 2


# What the coefficients of an order k are: c, k, rows of what is new, and of what it follows from.
_RULES: dict[str, Callable[..., Any]] = {
    "sum": lambda c, k, z, x, y: c[x, k] + c[y, k],
    "difference": lambda c, k, z, x, y: c[x, k] - c[y, k],
    "opposite": lambda c, k, z, x: -c[x, k],
    "rate": lambda c, k, z, x: k * c[x, k],
    "multiple": lambda c, k, z, x, y: c[x, 0] * c[y, k],
    "part": lambda c, k, z, x, y: c[x, k] / c[y, 0],
    "product": lambda c, k, z, x, y: _sums(c, x, y, k, 0, k),
    "square": lambda c, k, z, x: _squares(c, k, x),
    "quotient": lambda c, k, z, x, y: (c[x, k] - _sums(c, y, z, k, 1, k)) / c[y, 0],
    "root": lambda c, k, z, x: (c[x, k] - _squares(c, k, z, 1)) / (2 * c[z, 0]),
    "integral": lambda c, k, z, x, y: _sums(c, x, y, k, 1, k) / k,
}


def step(rhs: ca.Function) -> ca.Function:
    """Return a step of ẏ = f(t, y, p): its series, its length and the state at its end.

    Variables are states over their sizes, and time is counted in a unit of its own. Arguments are
    time, state, the parameters with the sizes and the unit behind them, and the longest step.
    """
    n, m = rhs.numel_in(1), rhs.numel_in(2)
    time, x, pars = ca.SX.sym("t"), ca.SX.sym("x", n), ca.SX.sym("p", m + n + 1)
    longest, (p, sizes, unit) = ca.SX.sym("h"), ca.vertsplit(pars, [0, m, m + n, m + n + 1])
    series = _Series()
    clock = series.value(time * unit, True)
    states = [series.value(y, True) for y in ca.vertsplit(x * sizes)]
    inputs = [[clock], states, [series.value(y) for y in ca.vertsplit(p)]]
    zero = series.value(0.0)
    memory, rates = [zero] * rhs.sz_w(), [zero] * n
    for op, read, write, constant in instructions(rhs):
        if op == ca.OP_INPUT:
            memory[write[0]] = inputs[read[0]][read[1]]
        elif op == ca.OP_OUTPUT:
            rates[write[1]] = memory[read[0]]
        elif op == ca.OP_CONST:
            memory[write[0]] = series.value(constant)
        elif not any(series.moves[memory[i]] for i in read):
            memory[write[0]] = series.value(applied(op, [series.first[memory[i]] for i in read]))
        elif op in _ARITHMETIC:
            memory[write[0]] = _ARITHMETIC[op](series, *(memory[i] for i in read))
        elif op in _SLOPES or op in _PAIRS:
            memory[write[0]] = series.function(op, memory[read[0]])
        else:
            raise CompileError(
                f"there is no series of operation {KINKS.get(op, op)}.",
                "Expected smooth functions.",
                'Use method="auto", st.BDF() or st.Runge().',
            )
    c = series.written([*states, clock], [*rates, series.one], unit)[:n, :] / sizes
    reach = [
        (ca.fmax(1.0, ca.norm_inf(x)) / ca.norm_inf(c[:, k])) ** (1 / k)
        for k in (_ORDER - 1, _ORDER)
    ]
    h = ca.fmin(longest, _STEP * ca.fmin(*reach))
    end = c[:, _ORDER]
    for k in reversed(range(_ORDER)):
        end = c[:, k] + h * end
    results = [ca.densify(c.T), h, ca.densify(end)]
    return ca.Function("step", [time, x, pars, longest], results)


# What is said of steps.
_WELL, _LOST = "success", "a state that is not finite"


class Stepper:
    """Takes steps; speaks as heyoka's integrators do."""

    def __init__(self, function: ca.Function):
        self._function = function
        self._numeric = Numeric(function)
        self.state = np.zeros(function.numel_in(1))
        self.pars = np.zeros(function.numel_in(2))
        self.tc = np.zeros((len(self.state), _ORDER + 1))
        self.last_h = 0.0
        self.time = 0.0

    @property
    def time(self) -> float:
        """The time; sums of many steps keep its digits."""
        return self._time

    @time.setter
    def time(self, value: float) -> None:
        self._time, self._behind = float(value), 0.0

    def step(self, longest: float = np.inf, write_tc: bool = True) -> tuple[str, float]:
        """Go a step; tell whether it led somewhere, and its length."""
        c, length, end = self._numeric.all_entries(self._time, self.state, self.pars, longest)
        self.tc.flat[:], self.state[:], self.last_h = c, end, float(length[0])
        ahead = self._behind + self.last_h
        time = self._time + ahead
        self._time, self._behind = time, ahead - (time - self._time)
        well = isfinite(self.last_h) and isfinite(self.state.sum())
        return _WELL if well else _LOST, self.last_h

    def propagate_until(
        self,
        end: float,
        max_steps: int,
        max_delta_t: float,
        callback: Callable[[Stepper], Any],
        write_tc: bool = True,
    ) -> tuple[str]:
        """Go to a time, or as many steps as there may be; call back after each."""
        for _ in range(max_steps):
            left = end - self._time - self._behind
            if left <= 0:
                break
            outcome, length = self.step(min(max_delta_t, left))
            if outcome == _LOST:
                return (_LOST,)
            if length == left:
                self.time = end
            callback(self)
        return (_WELL,)

    def __copy__(self) -> Stepper:
        return Stepper(self._function)

    def __reduce__(self) -> tuple[Any, ...]:
        return Stepper, (self._function,)


@dataclass
class Integrators:
    """The integrators of one graph, written out once."""

    rhs: ca.Function
    lock: threading.Lock = field(default_factory=threading.Lock)
    #: What is said of a step to a state that is not finite.
    lost: str = _LOST

    @cached_property
    def _code(self) -> heyoka.Code:
        return heyoka.Code(Stepper(step(self.rhs)), None)

    def integrator(self, *, alone: bool = True) -> tuple[heyoka.Code, Stepper]:
        """Return the code and its integrator, or one for a second motion at the same time."""
        stepper = self._code.stepper
        return self._code, stepper if alone else Stepper(stepper._function)
