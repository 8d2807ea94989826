"""Limit loads: at each end forces within their limits balance, and the mode costs what is given."""

from __future__ import annotations

import numpy as np

from stationary.result.limits import LimitEnd
from stationary.solve.gate.balance import balance
from stationary.solve.gate.contacts import contacts
from stationary.solve.gate.finding import Finding, measured
from stationary.solve.gate.friction import friction
from stationary.solve.gate.state import State

# The part of what friction could hold beside which what is left over is small.
_SHARE = 0.01


def collapse(end: LimitEnd, state: State, load: np.ndarray, rtol: float) -> list[Finding]:
    """Measure the static theorem by the forces of `state`, the kinematic one by the mode.

    `load` is what the load adds to the forces where it is taken once more.
    """
    _, B, size, power = state.slips
    size = np.where(power == 0, size, 0.0)
    # Next to no load is balanced as sharply as the load itself, or as friction could hold it.
    could = np.asarray(abs(B).T @ np.where(state.terms[1][state.terms[2]] < 0, size, 0.0))
    load = end.factor * load
    claims = [
        *balance(state, rtol, besides=_SHARE * (could + np.abs(load))),
        *contacts(state, rtol),
    ]
    claims += friction(state, rtol)
    v = np.asarray(end.mode)
    _, _, both = state.holds
    held = both[: state.rows] @ v
    fastest = np.asarray(abs(both[: state.rows]).sum(axis=1)).ravel() * np.abs(v).max(initial=0.0)
    claims += measured("the mode obeys", np.abs(held), rtol * fastest + 1e-300, state.row_name)
    _, pressed, _ = state.terms
    if np.any(pressed >= 0) or not np.any(v):
        # Friction that follows pressure: the mode does not prove a bound by itself.
        return claims
    taken = float(size[state.terms[0]] @ state.lengths(B @ v))
    given = float(state.forces(state.q) @ v)
    scale = taken + float((np.abs(state.forces(state.q)) + np.abs(load)) @ np.abs(v))
    # About the only point that rubs a part turns for next to nothing, beside what that could take.
    scale += _SHARE * float(size[state.terms[0]] @ state.lengths(abs(B) @ np.abs(v)))
    off = Finding("the mode takes what the loads give", "", abs(given - taken), rtol * scale)
    return [*claims, off]
