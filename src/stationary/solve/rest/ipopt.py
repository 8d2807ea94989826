"""Minima by IPOPT, for rough starts and for contacts that open and close."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse

from stationary.lower.engines.casadi import quiet
from stationary.lower.inputs import SLOTS, lowered
from stationary.model.system import System
from stationary.solve.rest.at_rest import AbstractAtRest, balance_of

# Most time for one search, in seconds of the processor.
_MOST_SECONDS = 30.0

# A force smaller than this, relative to the largest at work, does not close a contact.
_PUSHES = 1e-6


def by_ipopt(
    question: AbstractAtRest, q: np.ndarray, moves: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Minimize by IPOPT; return the configuration and the rows that hold there.

    Its tolerances are numbers: coordinates are counted from the start in `moves` that count alike,
    constraints and the energy in what these make of them.
    """
    rows, gaps = question.balance.rows, question.balance.gaps
    solver = _solver(question.system, question.signature)
    force, A = question.forces(q)[0], question.limits(q, np.arange(rows + gaps))[1]
    sizes = np.asarray(abs(A @ sparse.diags(moves)).max(axis=1).todense()).ravel()
    energy = float(np.max(np.abs(force) * moves, initial=0.0))
    energy = max(energy, float(np.max(abs(question.tangent(q)) @ moves * moves, initial=0.0)))
    scales = [x if np.isfinite(x) and x > 0 else 1.0 for x in (*sizes, energy)]
    p = np.concatenate([[question.t], question.params, question.slots, q, moves, scales])
    low = np.zeros(rows + gaps)
    high = np.concatenate([low[:rows], np.full(gaps, np.inf)])
    try:
        with quiet():
            answer = solver(x0=np.zeros(len(q)), p=p, lbg=low, ubg=high)
    except RuntimeError:
        return np.full_like(q, np.nan), np.arange(rows)
    place = q + np.asarray(answer["x"]).ravel() * moves
    # As work: of each force over the move that counts in its row.
    works = -np.asarray(answer["lam_g"]).ravel() * scales[-1]
    largest = max(scales[-1], np.abs(works).max(initial=0.0))
    touching = np.flatnonzero(works[rows:] > _PUSHES * largest)
    return place, np.concatenate([np.arange(rows), rows + touching])


@lru_cache(maxsize=16)
def _solver(system: System, signature: tuple) -> ca.Function:
    balance = balance_of(system)
    n, m = system.size, len(system.parameters)
    kind: Any = ca.MX
    slots, rows = sum(SLOTS[k] for k, _ in signature), balance.rows + balance.gaps
    w, p = kind.sym("w", n), kind.sym("p", 1 + m + slots + 2 * n + rows + 1)
    t, values, given, start, moves, sizes, unit = ca.vertsplit(
        p, np.cumsum([0, 1, m, slots, n, n, rows, 1]).tolist()
    )
    q = start + w * moves
    u = lowered(signature, balance.graph.layout, t, q, kind.zeros(n), values, given)
    _, energy = balance.forces(t, q, u, values)
    limits, _ = balance.limits(t, q, u, values)
    options = {
        "ipopt.print_level": 0,
        "ipopt.sb": "yes",
        "print_time": False,
        "ipopt.tol": 1e-10,
        "ipopt.mu_init": 1e-4,
        "ipopt.max_iter": 500,
        "ipopt.max_cpu_time": _MOST_SECONDS,
        "show_eval_warnings": False,
    }
    problem = {"x": w, "p": p, "f": energy / unit, "g": limits / sizes}
    return ca.nlpsol("rest", "ipopt", problem, options)
