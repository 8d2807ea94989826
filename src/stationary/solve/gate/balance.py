"""The forces balance: at rest, and while sliding without inertia."""

from __future__ import annotations

import numpy as np

from stationary.solve.gate.finding import Finding, measured
from stationary.solve.gate.state import State

# So many of the changes that last digits make are rounding.
_ROUNDINGS = 64.0


def balance(
    state: State,
    rtol: float,
    elsewhere: np.ndarray | float = 0.0,
    besides: np.ndarray | float = 0.0,
) -> list[Finding]:
    """Measure what is left over of the forces beside those at work, and beside rounding.

    At a flat minimum no force is at work nearby: there the rounding of those `elsewhere` counts,
    as at the start. `besides` are forces on each coordinate that might be at work as well.
    """
    left = np.abs(state.unbalanced)
    allowed = rtol * (state.pulls + besides)
    # What is rarely needed is dearer than all the rest.
    if not np.all(left <= allowed):
        allowed = np.maximum(allowed, rtol * state.springing)
        allowed += _ROUNDINGS * (state.shaken + state.digit * state.strongest)
    if not np.all(left <= allowed):
        allowed += _ROUNDINGS * (state.computed + state.turned)
    if not np.all(left <= allowed):
        pulled = np.abs(elsewhere)
        allowed += _ROUNDINGS * np.finfo(float).eps * np.where(np.isfinite(pulled), pulled, 0.0)
    name = state.graph.layout.name
    return measured("forces balance on", left, allowed, name)
