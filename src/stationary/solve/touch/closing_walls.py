"""Contacts that close on what is between them: when they leave no room, whatever moves there."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from scipy.optimize import nnls

from stationary.solve.touch.at_state import RANK, Facts
from stationary.solve.touch.laws import FREE

# Corrections of the time at which no room is left, by what it may still be off, of what is left.
_CORRECTIONS, _CLOSE_TO_END = 20, 1e-9


def room_ends(
    facts: Facts, contacts: Iterable[int], look: Callable[[float, np.ndarray, np.ndarray], Facts]
) -> float | None:
    """Return when contacts leave no room between them; none if they do not close on each other.

    A sum of gaps, with weights w ≥ 0, that no motion changes, as Cᵀw = 0 but for forces of
    constraints, is what the walls leave: it falls to zero by itself. `look` gives the facts at a
    time, at places and velocities.
    """
    rows, fixed = [facts.fixed + i for i in sorted(contacts)], list(range(facts.fixed))
    G = facts.C[rows] @ np.linalg.cholesky(facts.inverse)
    if fixed:
        F = facts.C[fixed] @ np.linalg.cholesky(facts.inverse)
        # Rows of constraints have units of their own.
        F = F / np.linalg.norm(F, axis=1, keepdims=True)
        G = G - (np.linalg.lstsq(F.T, G.T, rcond=RANK)[0].T) @ F
    size = np.linalg.norm(G, axis=1)
    if not size.all():
        return None
    aim = np.append(np.zeros(G.shape[1]), 1.0)
    weights, left = nnls(np.vstack([(G / size[:, None]).T, np.ones(len(rows))]), aim)
    if left > FREE:
        return None
    weights, end = weights / size, facts.t
    room, rate = float(weights @ facts.value[rows]), float(weights @ facts.rate[rows])
    for _ in range(_CORRECTIONS):
        if not rate < 0:
            return None
        step = -room / rate
        end += step
        if abs(step) <= _CLOSE_TO_END * (end - facts.t):
            return end
        later = look(end, facts.q + (end - facts.t) * facts.v, facts.v)
        room, rate = float(weights @ later.value[rows]), float(weights @ later.rate[rows])
    return None
