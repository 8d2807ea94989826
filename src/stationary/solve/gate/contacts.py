"""Contacts push and never pull, do not overlap, and push only where they touch."""

from __future__ import annotations

import numpy as np

from stationary.solve.gate.finding import Finding, measured
from stationary.solve.gate.state import State
from stationary.solve.scales import largest_terms

# A gap so many last digits wide is closed.
ROUNDINGS = 1024.0


def contacts(state: State, rtol: float) -> list[Finding]:
    """Measure overlaps, pulls, and pushes across open gaps."""
    values, _, both = state.holds
    gap, G, push = values[state.rows :], both[state.rows :], np.asarray(state.lam)[state.rows :]
    if not len(gap):
        return []

    def name(i: int) -> str:
        return state.row_name(state.rows + i)

    strongest = np.abs(state.lam).max(initial=0.0)

    def judged(small: np.ndarray, strength: float) -> list[Finding]:
        across, allowed = (
            np.where(gap > small, np.abs(push), 0.0),
            np.full(len(gap), rtol * strength),
        )
        return [
            *measured("contact stays outside:", np.maximum(-gap, 0.0), small, name),
            *measured("contact only pushes:", np.maximum(-push, 0.0), allowed, name),
            *measured("an open contact is free of force:", across, allowed, name),
        ]

    # Last digits of coordinates and what pushes are the least that is allowed: lengths are dearer.
    digits = ROUNDINGS * largest_terms(G, np.spacing(np.abs(state.q))) + 1e-300
    claims = judged(digits, strongest)
    if all(finding.holds for finding in claims):
        return claims
    scales = state.scales
    small = rtol * scales.rows(G) + ROUNDINGS * scales.rows_rounding(G) + 1e-300
    return judged(small, max(strongest, _weakest(state)))


def _weakest(state: State) -> float:
    """Return a force that is small beside those at work, as a multiplier of the contacts."""
    length = state.scales.length
    # By the work done over the lengths at work, for moments are no forces.
    moves = length if np.any(length > 0) else np.ones_like(length)
    steepest = (abs(state.holds[2][state.rows :]) @ moves).max(initial=0.0)
    return float((state.pulls * moves).max(initial=0.0) / steepest) if steepest else 0.0
