"""A state that was moved onto its constraints satisfies them, and is the nearest that does."""

from __future__ import annotations

import numpy as np

from stationary.lower.kernel import numeric
from stationary.result.state import State as Consistent
from stationary.solve.gate.constraints import constraints, rates
from stationary.solve.gate.finding import Finding, measured
from stationary.solve.gate.state import State
from stationary.solve.linear import dense, tangent_basis

# Of larger systems the tangent is not worth its price.
_LARGEST = 200


def nearest(moved: Consistent, state: State, wanted: np.ndarray, rtol: float) -> list[Finding]:
    """Measure R and Ṙ, and what the change of the velocities has along what is free.

    Of velocities, which are asked for at one place, the nearest differs from the others by M⁻¹Aᵀλ;
    of places that is so for small changes alone.
    """
    claims = [*constraints(state, rtol), *rates(state, rtol, wanted)]
    if len(moved.q) > _LARGEST or not state.holds[2].shape[0]:
        return claims
    at = state.t, state.q, state.v, state.u, state.params
    M = numeric(state.graph, "mass", dense=True)(*at)[0]
    masses = np.diag(M)
    if np.any(masses <= 0):
        return claims
    # In moves of one energy: units of coordinates say nothing.
    size = 1 / np.sqrt(masses)
    Z = size[:, None] * tangent_basis(dense(state.holds[2]) * size)
    change, speeds = moved.v - wanted, np.abs(moved.v) + np.abs(wanted)
    along, whole = np.abs(Z.T @ (M @ change)), np.abs(Z).T @ (np.abs(M) @ speeds)
    allowed = rtol * np.maximum(whole, whole.max(initial=0.0)) + 1e-300
    return [*claims, *measured("velocities are the nearest along", along, allowed, str)]
