"""The operations of a graph of scalars, one after another: what every engine is made from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import casadi as ca

#: Operations that make a force jump or kink, by the names that a user knows.
KINKS = {
    ca.OP_FABS: "Abs", ca.OP_SIGN: "sign", ca.OP_FMIN: "Min", ca.OP_FMAX: "Max",
    ca.OP_IF_ELSE_ZERO: "Piecewise", ca.OP_FLOOR: "floor", ca.OP_CEIL: "ceiling",
    ca.OP_LT: "<", ca.OP_LE: "<=", ca.OP_EQ: "==", ca.OP_NE: "!=", ca.OP_NOT: "not",
    ca.OP_AND: "and", ca.OP_OR: "or", ca.OP_COPYSIGN: "copysign", ca.OP_FMOD: "mod",
}  # fmt: skip


class Instruction(NamedTuple):
    """One operation.

    Arguments and results are places of a work vector; an input is read from an argument's entry,
    an output written to a result's. A place is written again when it is no longer needed.
    """

    op: int
    read: list[int]
    write: list[int]
    constant: float = 0.0


def instructions(function: ca.Function) -> Iterator[Instruction]:
    """Yield the operations of a function of scalars, in the order in which they are done."""
    for k in range(function.n_instructions()):
        op = function.instruction_id(k)
        constant = function.instruction_constant(k) if op == ca.OP_CONST else 0.0
        read, write = function.instruction_input(k), function.instruction_output(k)
        yield Instruction(op, read, write, constant)


def operations(function: ca.Function) -> set[int]:
    """Return which operations occur."""
    return {function.instruction_id(k) for k in range(function.n_instructions())}


def applied(op: int, values: Sequence[Any]) -> Any:
    """Return what an operation makes of expressions."""
    return (ca.SX.unary if len(values) == 1 else ca.SX.binary)(op, *values)


def rewritten(
    function: ca.Function, symbols: Sequence[Any], rule: Callable[[int, list[Any]], Any] = applied
) -> Any:
    """Return the first output of a function of symbols, its operations done by another rule."""
    memory: list[Any] = [None] * function.sz_w()
    result = ca.SX.zeros(function.numel_out(0))
    for op, read, write, constant in instructions(function):
        if op == ca.OP_INPUT:
            memory[write[0]] = symbols[read[0]][read[1]]
        elif op == ca.OP_CONST:
            memory[write[0]] = ca.SX(constant)
        elif op == ca.OP_OUTPUT:
            result[write[1]] = memory[read[0]]
        else:
            memory[write[0]] = rule(op, [memory[i] for i in read])
    return result


def kinks(rhs: ca.Function) -> list[str]:
    """Return the names of operations in f(t, y, p) that are not smooth."""
    if not operations(rhs) & KINKS.keys():
        return []
    moves, names = [False] * rhs.sz_w(), set()
    for op, read, write, _ in instructions(rhs):
        if op == ca.OP_INPUT:
            moves[write[0]] = read[0] != 2
        elif op == ca.OP_CONST:
            moves[write[0]] = False
        elif op != ca.OP_OUTPUT:
            moves[write[0]] = any(moves[i] for i in read)
            # What depends on parameters alone is computed once, whatever it is.
            if moves[write[0]] and op in KINKS:
                names.add(KINKS[op])
    return sorted(names)
