"""How fast small motions about a rest grow."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from stationary.derive.graph import Graph


def growth_rates(still: Any, q: np.ndarray, H: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Return growth rates: of the motion if inertia is stated, else of overdamped motion.

    H is the stiffness at q, and the columns of Z are the directions that constraints leave free.
    """
    K = Z.T @ H @ Z
    k = len(K)
    if not k:
        return np.zeros(0, dtype=complex)
    zero = np.zeros_like(q)
    M, D = _inertias(still.balance.graph)(still.t, q, zero, still.inputs(q), still.params)
    M, D = Z.T @ np.asarray(M) @ Z, Z.T @ np.asarray(D) @ Z
    if np.linalg.matrix_rank(M, tol=1e-12 * np.abs(M).max()) < k:
        return np.linalg.eigvals(-K).astype(complex)
    first = np.hstack([np.zeros((k, k)), np.eye(k)])
    second = np.linalg.solve(M, np.hstack([-K, -D]))
    return np.linalg.eigvals(np.vstack([first, second])).astype(complex)


@lru_cache(maxsize=64)
def _inertias(graph: Graph) -> ca.Function:
    """M and −∂force/∂v as a function of t, q, v, u, p."""
    kind: Any = ca.SX if graph.scalar else ca.MX
    sizes = [f.numel() for f in graph.whole.arguments]
    t, q, v, u, p = (kind.sym(name, size) for name, size in zip("tqvup", sizes))
    M, force = graph.dynamics(t, q, v, u, p)
    return ca.Function("inertias", [t, q, v, u, p], [M, -ca.jacobian(force, v)])
