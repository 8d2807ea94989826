"""How fast small motions about a rest grow."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from stationary.derive.graph import Graph


def growth_rates(K: np.ndarray, M: np.ndarray, D: np.ndarray) -> np.ndarray:
    """Return growth rates: of the motion if inertia is stated, else of overdamped motion.

    Stiffness, inertia and damping are those in the directions that constraints leave free.
    """
    k = len(K)
    if not k:
        return np.zeros(0, dtype=complex)
    if np.linalg.matrix_rank(M, tol=1e-12 * np.abs(M).max()) < k:
        return np.linalg.eigvals(-K).astype(complex)
    first = np.hstack([np.zeros((k, k)), np.eye(k)])
    second = np.linalg.solve(M, np.hstack([-K, -D]))
    return np.linalg.eigvals(np.vstack([first, second])).astype(complex)


def inertia_and_damping(graph: Graph, t: Any, q: Any, u: Any, p: Any) -> list[Any]:
    """Return M and −∂force/∂v at rest."""
    return _inertia_and_damping(graph).call([t, q, u, p])


@lru_cache(maxsize=64)
def _inertia_and_damping(graph: Graph) -> ca.Function:
    kind: Any = ca.SX if graph.scalar else ca.MX
    sizes = [f.numel() for f in graph.whole.arguments]
    t, q, v, u, p = (kind.sym(name, size) for name, size in zip("tqvup", sizes))
    M, force = graph.dynamics(t, q, v, u, p)
    moving = ca.Function("moving", [t, q, v, u, p], [M, -ca.jacobian(force, v)])
    return ca.Function("inertias", [t, q, u, p], moving.call([t, q, kind.zeros(v.numel()), u, p]))
