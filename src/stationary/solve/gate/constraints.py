"""Constraints hold, in place and in velocity."""

from __future__ import annotations

import numpy as np

from stationary.solve.gate.finding import Finding, measured
from stationary.solve.gate.state import State

# So many last digits of the coordinates are rounding of a constraint.
ROUNDINGS = 256.0


def constraints(state: State, rtol: float) -> list[Finding]:
    """Measure R beside what it changes by where coordinates move by their lengths."""
    if not state.rows:
        return []
    values, _, A = state.holds
    A = A[: state.rows]
    # A row that no length is known for is sharp to rounding only.
    allowed = rtol * state.scales.rows(A) + ROUNDINGS * state.scales.rows_rounding(A) + 1e-300
    off = np.where(state.graph.layout.holonomic, np.abs(values[: state.rows]), 0.0)
    return measured("constraint holds:", off, allowed, state.row_name)


def rates(state: State, rtol: float, before: np.ndarray | None = None) -> list[Finding]:
    """Measure A v + b beside the terms that it is made of.

    Velocities that came from others, `before`, have the rounding of those.
    """
    if not state.rows or not state.moves:
        return []
    _, drive, A = state.holds
    A, drive = A[: state.rows], drive[: state.rows]
    terms = abs(A) @ np.abs(state.v) + np.abs(drive)
    if before is not None:
        terms = terms + ROUNDINGS * np.finfo(float).eps / rtol * (abs(A) @ np.abs(before))
    none = 0.0
    if state.span > 0:
        # What rests may be faster by the last digits of how far it could have gone.
        moves = np.finfo(float).eps * state.scales.length + state.scales.rounding
        none = ROUNDINGS * (abs(A) @ moves) / state.span
    # Rates of rows that nothing moves are compared with the fastest around.
    typical = terms.max(initial=0.0)
    allowed = rtol * np.maximum(terms, 1e-3 * typical) + none + 1e-300
    return measured("velocities obey", np.abs(A @ state.v + drive), allowed, state.row_name)
