"""A linear program of few rows and many columns.

`scipy.optimize.linprog` solves the same in milliseconds, most of them spent before its first
pivot; thousands of these programs make one picture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

# Rounding of a program whose numbers are of order one.
_ZERO = 1e-12
_MANY = 400


@dataclass(frozen=True)
class Vertex:
    """The solution of a program: ``value = cost @ p``, with ``A[:, basis] @ p[basis] = b``."""

    value: float
    basis: np.ndarray
    amounts: np.ndarray
    dual: np.ndarray

    @property
    def feasible(self) -> bool:
        """Whether there is a solution; if not, the dual is the proof that there is none."""
        return np.isfinite(self.value)


def solved(A: np.ndarray, b: np.ndarray, cost: np.ndarray) -> Vertex:
    """Minimize ``cost @ p`` with ``A p = b``, p ≥ 0; where nothing is feasible the value is inf."""
    vertex = _from_scratch(A, b, cost)
    return vertex if _adds_up(A, b, vertex) else _judged(A, b, cost)


def _adds_up(A: np.ndarray, b: np.ndarray, vertex: Vertex) -> bool:
    """Tell whether rounding has left the rows alone."""
    if not vertex.feasible:
        return True
    own = vertex.basis < A.shape[1]
    left = A[:, vertex.basis[own]] @ vertex.amounts[own] - b
    return bool(np.abs(left).max() <= 1e-10 * np.abs(b).max())


def _judged(A: np.ndarray, b: np.ndarray, cost: np.ndarray) -> Vertex:
    """Let HiGHS decide what pivots of our own have spoiled."""
    verdict = linprog(cost, A_eq=A, b_eq=b, method="highs-ds")
    if verdict.status != 0:
        basis = np.arange(A.shape[1], A.shape[1] + len(b))
        return Vertex(np.inf, basis, np.abs(b), np.zeros(len(b)))
    held = np.flatnonzero(verdict.x > 0)
    return Vertex(float(verdict.fun), held, verdict.x[held], verdict.eqlin.marginals)


def _from_scratch(A: np.ndarray, b: np.ndarray, cost: np.ndarray) -> Vertex:
    rows, columns = A.shape
    # First phase: an artificial column for every row.
    sign = np.where(b < 0, -1.0, 1.0)
    wide = np.hstack([A, np.diag(sign)])
    first = np.concatenate([np.zeros(columns), np.ones(rows)])
    basis, inverse, amounts = np.arange(columns, columns + rows), np.diag(sign), np.abs(b)
    basis, inverse, amounts, dual = _pivoted(wide, b, first, basis, inverse, amounts, columns)
    left = float(first[basis] @ amounts)
    if left > 1e-10:
        return Vertex(np.inf, basis, amounts, dual)
    cost = np.concatenate([cost, np.zeros(rows)])
    basis, inverse, amounts, dual = _pivoted(wide, b, cost, basis, inverse, amounts, columns)
    return Vertex(float(cost[basis] @ amounts), basis, amounts, dual)


def _pivoted(A, b, cost, basis, inverse, amounts, columns):
    """Pivot until no column lowers the cost; artificial ones that are zero leave when they can."""
    offered, prices = A[:, :columns], cost[:columns]
    size = np.abs(prices).max(initial=0.0) + 1e-300
    dual = cost[basis] @ inverse
    for turn in range(_MANY):
        dual = cost[basis] @ inverse
        reduced = prices - dual @ offered
        enters = int(reduced.argmin())
        if reduced[enters] > -_ZERO * max(size, np.abs(dual).max()):
            break
        if turn > 60:  # Bland's rule ends every circle.
            enters = int(np.flatnonzero(reduced < -_ZERO * size)[0])
        way = inverse @ offered[:, enters]
        room = np.full(len(b), np.inf)
        falls = way > 1e-11
        room[falls] = amounts[falls] / way[falls]
        artificial = (
            (basis >= columns) & (np.abs(way) > 1e-9 * np.abs(way).max()) & (amounts <= 1e-10)
        )
        room[artificial] = 0.0
        leaves = int(room.argmin())
        if room[leaves] == np.inf:
            break
        amounts = np.maximum(amounts - room[leaves] * way, 0.0)
        amounts[leaves] = room[leaves]
        row = inverse[leaves] / way[leaves]
        inverse = inverse - np.outer(way, row)
        inverse[leaves] = row
        basis[leaves] = enters
    # The sums of many turns, made anew.
    try:
        inverse = np.linalg.inv(A[:, basis])
        amounts = np.maximum(inverse @ b, 0.0)
        dual = cost[basis] @ inverse
    except np.linalg.LinAlgError:
        pass
    return basis, inverse, amounts, dual
