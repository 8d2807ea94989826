"""Expressions over states: lowered once, to a function of one place or of many."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from stationary.lower.inputs import translate
from stationary.model.layout import Layout
from stationary.model.symbols import Coordinate, Velocity
from stationary.model.system import System


def of_system(e: Any, system: System) -> Any:
    """Return an expression in the parameters of a system: those of the same name stand for them."""
    known = {p.name: p for p in system.parameters}
    return e.xreplace({s: known[s.name] for s in e.free_symbols if s.name in known})


@lru_cache(maxsize=64)
def expression_of(layout: Layout, e: Any) -> ca.Function:
    """Lower an expression to a function of t, q, v and the parameters; columns are places."""
    n, count = layout.system.size, len(layout.system.parameters)
    sizes = {"t": 1, "q": n, "v": n, "p": count}
    t, q, v, p = (ca.SX.sym(name, size) for name, size in sizes.items())  # pyright: ignore[reportArgumentType]
    value = translate(of_system(e, layout.system), layout, t, q, v, p)
    return ca.Function("e", [t, q, v, p], [ca.densify(ca.SX(value))])


def at_state(
    layout: Layout, e: Any, t: float, q: np.ndarray, v: np.ndarray, params: np.ndarray
) -> float:
    """Return an expression at one state, as a user writes it."""
    e = layout.as_declared(e)
    for s in e.free_symbols:
        if isinstance(s, (Coordinate, Velocity)):
            layout.resolve(s, "the expression")
    return float(expression_of(layout, e)(t, q, v, params))
