"""Minima by IPOPT, for rough starts and for contacts that open and close."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from stationary.lower.engines.casadi import quiet
from stationary.lower.inputs import SLOTS, lowered
from stationary.model.system import System
from stationary.solve.still import AbstractStill, balance_of

# Most time for one search, in seconds of the processor.
_MOST_SECONDS = 30.0

# A force smaller than this, relative to the largest, does not close a contact.
_PUSHES = 1e-6


def by_ipopt(still: AbstractStill, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Minimize by IPOPT; return the configuration and the rows that hold there."""
    rows, gaps = still.balance.rows, still.balance.gaps
    solver = _solver(still.system, still.signature)
    p = np.concatenate([[still.t], still.params, still.slots])
    low = np.zeros(rows + gaps)
    high = np.concatenate([low[:rows], np.full(gaps, np.inf)])
    try:
        with quiet():
            made = solver(x0=q, p=p, lbg=low, ubg=high)
    except RuntimeError:
        return np.full_like(q, np.nan), np.arange(rows)
    found = np.asarray(made["x"]).ravel()
    pushes = -np.asarray(made["lam_g"]).ravel()[rows:]
    touching = np.flatnonzero(pushes > _PUSHES * max(1e-300, np.abs(pushes).max(initial=0.0)))
    return found, np.concatenate([np.arange(rows), rows + touching])


@lru_cache(maxsize=16)
def _solver(system: System, signature: tuple) -> ca.Function:
    balance = balance_of(system)
    n, m = system.size, len(system.parameters)
    kind: Any = ca.MX
    q = kind.sym("q", n)
    slots = sum(SLOTS[k] for k, _ in signature)
    p = kind.sym("p", 1 + m + slots)
    t, values = p[0], p[1 : 1 + m]
    u = lowered(signature, balance.graph.layout, t, q, kind.zeros(n), values, p[1 + m :])
    _, energy = balance.forces(t, q, u, values)
    limits, _ = balance.limits(t, q, u, values)
    options = {
        "ipopt.print_level": 0,
        "ipopt.sb": "yes",
        "print_time": False,
        "ipopt.tol": 1e-10,
        "ipopt.max_iter": 500,
        "ipopt.max_cpu_time": _MOST_SECONDS,
        "show_eval_warnings": False,
    }
    problem = {"x": q, "p": p, "f": energy, "g": limits}
    return ca.nlpsol("rest", "ipopt", problem, options)
