"""Where a statement ends: a root or a logarithm of nothing, a division by zero, a cusp."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy as sp

from stationary.errors import StationaryError
from stationary.lower.kernel import AbstractKernel
from stationary.model.graphs import nodes
from stationary.model.system import System

# What has come down to this part of what it was is about to reach zero.
_SMALL = 1e-3


def edge(
    kernel: AbstractKernel, params: np.ndarray, first: tuple[float, Any], last: tuple[float, Any]
) -> str:
    """Say which part of a statement a motion has reached the end of, between two states, if any."""
    reached, closest = "", _SMALL
    for e, what in _edges(kernel.graph.system):
        try:
            f = kernel.expression(e)
            start, end = (float(f(t, y, params, [])) for t, y in (first, last))
        except (StationaryError, RuntimeError, NotImplementedError):
            continue
        if start and abs(end) < closest * abs(start):
            closest, reached = abs(end) / abs(start), f"'{str(e)[:60]}' reaches zero, {what}"
    return reached


def _edges(system: System) -> Iterator[tuple[sp.Expr, str]]:
    """Yield what must not be zero in a statement, and why."""
    for whole in _stated(system):
        for node in nodes(whole):
            if isinstance(node, sp.Pow) and node.base.free_symbols and node.exp.is_number:
                if node.exp.is_negative:
                    yield node.base, "by which is divided"
                elif node.exp.is_integer is False and node.exp < 2:
                    blunt = node.base.is_nonnegative or isinstance(node.base, sp.Abs)
                    even = isinstance(node.base, sp.Pow) and node.base.exp.is_even
                    yield node.base, "a cusp" if blunt or even else "where its root ends"
            elif isinstance(node, sp.log):
                yield node.args[0], "where its logarithm ends"
            elif isinstance(node, (sp.asin, sp.acos, sp.atanh)):
                yield 1 - node.args[0] ** 2, f"where {type(node).__name__} ends"
            elif isinstance(node, sp.acosh):
                yield node.args[0] - 1, "where acosh ends"


def _stated(system: System) -> Iterator[sp.Basic]:
    """Yield the expressions of a statement."""
    for e in (system.kinetic, system.potential, system.work, system.dissipation):
        if isinstance(e, sp.Basic):
            yield e
    for part in (*system.loads, *system.constraints, *system.pfaffian):
        for value in vars(part).values():
            entries = value if isinstance(value, (tuple, list)) else (value,)
            yield from (e for e in entries if isinstance(e, sp.Basic))
