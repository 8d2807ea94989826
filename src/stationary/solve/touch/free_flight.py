"""Free flight: where nothing touches and forces are constant, a motion is a polynomial in time."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from stationary.lower.engines.casadi import Numeric
from stationary.lower.touching import Touching
from stationary.solve.motion.ode import Piece

# Powers of time that a flight may have: the work of a force that grows with time has the third.
_POWERS = 3


class Flight:
    """The coefficients of a flight as a function of where it begins."""

    def __init__(self, terms: ca.Function):
        self._terms = Numeric(terms, frozenset({0}), dense=True)

    def piece(self, t: float, y: np.ndarray, p: np.ndarray, end: float) -> Piece:
        """Return the flight from a state to a time."""
        rows = self._terms(y, p)[0].T

        def evaluate(times: np.ndarray) -> np.ndarray:
            since = (times - t)[:, None]
            states = since * rows[-1]
            for row in rows[-2::-1]:
                states += row
                states *= since
            states += y
            return states

        last = evaluate(np.array([end]))[0]
        return Piece(np.array([t, end]), evaluate, last, 1, exact=True)


@lru_cache(maxsize=64)
def flight_of(kernel: Touching) -> Flight | None:
    """Return the flight of a system on which nothing acts that varies; else none."""
    terms = flight_terms(kernel)
    if terms is None:
        return None
    _, y, p = kernel.arguments
    powers = ca.densify(ca.horzcat(*terms))
    return Flight(ca.Function("flight", [y, p], [powers], {"cse": True}))


def flight_terms(kernel: Touching) -> list[Any] | None:
    """Return the series ẏ, ÿ/2, … of a flight, if the last of it is zero whatever the state."""
    if kernel.rows or kernel.signature or kernel.kinks or not kernel.graph.scalar:
        return None
    t, y, p = kernel.arguments
    first = len(kernel.graph.system.parameters)
    free = ca.SX(p)
    free[first : first + kernel.modes] = 0
    rate = ca.simplify(kernel.rhs(t, y, free))
    if ca.depends_on(rate, t):
        return None
    terms = [rate]
    while not terms[-1].is_zero():
        if len(terms) > _POWERS:
            return None
        terms.append(ca.simplify(ca.jtimes(terms[-1], y, rate)) / (len(terms) + 1))
    return terms[:-1] or terms
