"""Where a graph switches: kinks and jumps taken out, so that what is left between them is smooth.

A comparison, an absolute value, a minimum or a floor says on which side of a border a state is.
Held on that side it is a number, and the graph has a series. The sides are run-time values of a
new graph, the borders functions whose zeros are to be located; what the borders and the peaks of a
graph that depend on time alone are is known before any integration.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from stationary.lower.instructions import applied, instructions
from stationary.lower.vanishing_orders import CONSTANT, MOVING, Order, order_of, rises

# What a value depends on: time, the state; and whether it may be out of its domain somewhere.
_TIME, _STATE, _RISKY = 1, 2, 4

#: Operations of a finite domain or range: 0 times what they make may not be 0.
_DOMAIN = {
    ca.OP_SQRT, ca.OP_LOG, ca.OP_LOG1P, ca.OP_POW, ca.OP_CONSTPOW, ca.OP_DIV, ca.OP_INV, ca.OP_ASIN,
    ca.OP_ACOS, ca.OP_ACOSH, ca.OP_ATANH, ca.OP_TAN, ca.OP_EXP, ca.OP_EXPM1, ca.OP_SINH, ca.OP_COSH,
}  # fmt: skip

#: Operations that can be held on one side.
_HELD = {
    ca.OP_FABS, ca.OP_SIGN, ca.OP_FMIN, ca.OP_FMAX, ca.OP_IF_ELSE_ZERO, ca.OP_FLOOR, ca.OP_CEIL,
    ca.OP_LT, ca.OP_LE, ca.OP_NOT, ca.OP_AND, ca.OP_OR,
}  # fmt: skip

#: Operations that are not smooth and cannot be held.
_LOOSE = {ca.OP_EQ, ca.OP_NE, ca.OP_FMOD, ca.OP_COPYSIGN}

# Powers beyond this are flat around their zeros, and peaks are narrow.
_FLAT = 4


def _phase_of_power(base: Any, exponent: Any) -> Any:
    flat = exponent.is_constant() and 0 <= float(exponent) <= _FLAT
    return None if flat else exponent * ca.log(ca.fabs(base))


#: What changes by about 1 where a function of it changes by as much as itself.
_PHASES: dict[int, Callable[..., Any]] = {
    ca.OP_EXP: lambda x: x,
    ca.OP_EXPM1: lambda x: x,
    ca.OP_TANH: lambda x: x,
    ca.OP_SINH: lambda x: x,
    ca.OP_COSH: lambda x: x,
    ca.OP_ERF: lambda x: x,
    ca.OP_ATAN: lambda x: x,
    ca.OP_ASINH: lambda x: x,
    ca.OP_LOG: lambda x: ca.log(ca.fabs(x)),
    ca.OP_SQRT: lambda x: ca.log(ca.fabs(x)),
    ca.OP_INV: lambda x: ca.log(ca.fabs(x)),
    ca.OP_DIV: lambda x, y: ca.log(ca.fabs(y)),
    ca.OP_POW: _phase_of_power,
    ca.OP_CONSTPOW: _phase_of_power,
}


@dataclass(frozen=True)
class Course:
    """An expression of time and p alone: a border, or the phase of a peak.

    Of a `power` only the peaks matter: around its zeros it is flat.
    """

    border: bool
    value: ca.Function
    rate: ca.Function
    linear: bool
    power: bool = False

    @classmethod
    def of(cls, e: Any, t: Any, p: Any, border: bool, power: bool = False) -> Course:
        """Make a course of an expression."""
        rate = ca.jacobian(e, t)
        value, slope = (ca.Function("course", [t, p], [ca.densify(x)]) for x in (e, rate))
        return cls(border, value, slope, not ca.depends_on(rate, t), power)


@dataclass(frozen=True)
class Border:
    """Where a graph switches.

    `place` is positive on one side and negative on the other; for a `staircase` it switches at
    every whole number. `size` is what its rounding is relative to.
    """

    place: Any
    size: Any
    staircase: bool
    timely: bool


@dataclass(eq=False)
class Switches:
    """A function of t, y and p, rewritten as one of t, y, p and the sides s of its borders.

    `s` is 1 where a border's place is positive, else 0; of a staircase it is the step. `guarded`
    says that a side may be out of its domain while another one holds, so that numbers for `s` are
    to be put in before anything is computed. `loose` names what cannot be held.
    """

    function: ca.Function
    borders: list[Border] = field(default_factory=list)
    courses: list[Course] = field(default_factory=list)
    guarded: bool = False
    loose: bool = False

    def __post_init__(self):
        f = self.function
        self.t, self.y, self.p = f.sx_in()
        self._sides: list[Any] = []
        self._known: dict[Any, int] = {}
        self._memory: list[Any] = [None] * f.sz_w()
        self._depends: list[int] = [0] * f.sz_w()
        # What depends on time alone is kept as it was stated, too.
        self._stated: list[Any] = [None] * f.sz_w()
        self._orders: list[Order] = [CONSTANT] * f.sz_w()
        outputs = [ca.SX.zeros(f.sparsity_out(i)) for i in range(f.n_out())]
        for op, read, write, constant in instructions(f):
            if op == ca.OP_OUTPUT:
                outputs[write[0]].nz[write[1]] = self._memory[read[0]]
                continue
            if op == ca.OP_INPUT:
                value = (self.t, self.y, self.p)[read[0]][read[1]]
                entry = value, (_TIME, _STATE, 0)[read[0]], None if read[0] == 1 else value
                order = CONSTANT if read[0] else MOVING
            elif op == ca.OP_CONST:
                value, order = ca.SX(constant), CONSTANT
                entry = value, 0, value
            else:
                entry, order = self._entry(op, read), self._order(op, read)
            self._orders[write[0]] = order
            self._memory[write[0]], self._depends[write[0]], self._stated[write[0]] = entry
        self.s = ca.vertcat(*self._sides) if self._sides else ca.SX(0, 1)
        self._outputs = outputs

    # -- one operation --------------------------------------------------------------------------

    def _entry(self, op: int, read: list[int]) -> tuple[Any, int, Any]:
        values = [self._memory[i] for i in read]
        stated = [self._stated[i] for i in read]
        depends = 0
        for i in read:
            depends |= self._depends[i]
        moves = depends & (_TIME | _STATE)
        timely = all(x is not None for x in stated)
        original = applied(op, stated) if timely else None
        if moves == _TIME and timely:
            self._note_peak(op, stated)
        if moves and op in _LOOSE:
            self.loose = True
        if op in _HELD and (moves or op in (ca.OP_IF_ELSE_ZERO, ca.OP_NOT, ca.OP_AND, ca.OP_OR)):
            value, held = self._held(op, read, values, stated, moves)
            return value, 0 if held else depends, original
        if moves and op in _DOMAIN:
            depends |= _RISKY
        return applied(op, values), depends, original

    def _order(self, op: int, read: list[int]) -> Order:
        """Return the order of zeros of what depends on time alone; note where it is flat."""
        stated, orders = [self._stated[i] for i in read], [self._orders[i] for i in read]
        if any(x is None for x in stated) or not any(o.zero for o in orders):
            return CONSTANT
        order = order_of(op, stated, orders)
        if op in _PHASES or not rises(op, stated, orders, order, _FLAT):
            return order
        self._note(ca.log(ca.fabs(applied(op, stated))), False, power=True)
        return Order(order.zero, order.off, warned=order.zero)

    def _held(
        self, op: int, read: list[int], values: list[Any], stated: list[Any], moves: int
    ) -> tuple[Any, bool]:
        """Return an operation held on its side, and whether that no longer moves."""
        x, y = values[0], values[-1]
        if op in (ca.OP_FLOOR, ca.OP_CEIL):
            step = self._step(x, stated[0], moves)
            return (step if op == ca.OP_FLOOR else step + 1), True
        if op == ca.OP_NOT:
            return 1 - x, True
        if op == ca.OP_AND:
            return x * y, True
        if op == ca.OP_OR:
            return x + y - x * y, True
        if op == ca.OP_IF_ELSE_ZERO:
            self._guard(read[1:])
            return x * y, not self._depends[read[1]] & (_TIME | _STATE)
        if op in (ca.OP_FABS, ca.OP_SIGN):
            side = 2 * self._side(x, ca.SX(0), stated[0], ca.SX(0), moves) - 1
            return (side, True) if op == ca.OP_SIGN else (side * x, False)
        above = self._side(x, y, stated[0], stated[-1], moves)
        if op in (ca.OP_LT, ca.OP_LE):
            return 1 - above, True
        self._guard(read)
        high, low = (above, 1 - above) if op == ca.OP_FMAX else (1 - above, above)
        return high * x + low * y, False

    def _guard(self, read: list[int]) -> None:
        self.guarded |= any(self._depends[i] & _RISKY for i in read)

    def _side(self, a: Any, b: Any, stated_a: Any, stated_b: Any, moves: int) -> Any:
        """Return 1 if a > b and 0 if not, held."""
        # x against 0 and 0 against x are one border.
        first, second = _key(a), _key(b)
        turned = (second, first) in self._known
        key = (second, first) if turned else (first, second)
        if key not in self._known:
            size = ca.fabs(a) + ca.fabs(b)
            self._add(key, a - b, size, (stated_a, stated_b), moves, False)
        side = self._sides[self._known[key]]
        return 1 - side if turned else side

    def _step(self, x: Any, stated: Any, moves: int) -> Any:
        key = (_key(x), "floor")
        if key not in self._known:
            self._add(key, x, ca.fabs(x), (stated, ca.SX(0)), moves, True)
        return self._sides[self._known[key]]

    def _add(self, key: Any, place: Any, size: Any, stated: Any, moves: int, steps: bool) -> None:
        timely = moves == _TIME and all(x is not None for x in stated)
        self._known[key] = len(self._sides)
        self._sides.append(ca.SX.sym(f"s{len(self._sides)}"))
        self.borders.append(Border(place, size, steps, timely))
        if timely:
            e = stated[0] - stated[1]
            # A staircase switches where the sine of π times its argument is zero.
            self._note(ca.sin(np.pi * e) if steps else e, True)

    def _note_peak(self, op: int, stated: list[Any]) -> None:
        phase = _PHASES[op](*stated) if op in _PHASES else None
        if phase is not None and ca.depends_on(phase, self.t):
            exponent = stated[-1] if op in (ca.OP_POW, ca.OP_CONSTPOW) else None
            power = exponent is not None and exponent.is_constant() and float(exponent) > 0
            self._note(phase, False, power)

    def _note(self, e: Any, border: bool, power: bool = False) -> None:
        self.courses.append(Course.of(e, self.t, self.p, border, power))

    # -- what came out --------------------------------------------------------------------------

    @cached_property
    def timely(self) -> np.ndarray:
        """Which borders depend on time alone."""
        return np.array([b.timely for b in self.borders], dtype=bool)

    @cached_property
    def staircases(self) -> np.ndarray:
        """Which borders are staircases."""
        return np.array([b.staircase for b in self.borders], dtype=bool)

    @cached_property
    def held(self) -> ca.Function:
        """The function of t, y and p followed by s, smooth."""
        whole = ca.vertcat(self.p, self.s)
        return ca.Function(
            self.function.name(), [self.t, self.y, whole], self._outputs, {"cse": True}
        )

    @cached_property
    def stated(self) -> ca.Function:
        """The function as it is, with the same arguments: s is of no use."""
        whole = ca.vertcat(self.p, self.s)
        outputs = self.function.call([self.t, self.y, self.p])
        return ca.Function(self.function.name(), [self.t, self.y, whole], outputs)

    def fixed(self, sides: np.ndarray) -> ca.Function:
        """Return the same with numbers for s: nothing of the other sides is computed."""
        whole = ca.vertcat(self.p, self.s)
        outputs = ca.Function("held", [self.t, self.y, self.p, self.s], self._outputs).call(
            [self.t, self.y, self.p, ca.SX(ca.DM(sides))]
        )
        return ca.Function(self.function.name(), [self.t, self.y, whole], outputs, {"cse": True})

    @cached_property
    def places(self) -> ca.Function:
        """The places of all borders, and what their rounding is relative to, of t, y and p, s."""
        whole = ca.vertcat(self.p, self.s)
        columns = [
            ca.vertcat(*(getattr(b, name) for b in self.borders)) for name in ("place", "size")
        ]
        return ca.Function("places", [self.t, self.y, whole], [ca.densify(ca.horzcat(*columns))])

    @cached_property
    def normals(self) -> ca.Function:
        """How the places of all borders change with the state."""
        whole = ca.vertcat(self.p, self.s)
        places = ca.vertcat(*(b.place for b in self.borders))
        normals = ca.densify(ca.jacobian(places, self.y))
        return ca.Function("normals", [self.t, self.y, whole], [normals])


def _key(e: Any) -> str:
    return f"={float(e)!r}" if e.is_constant() else str(e.element_hash())
