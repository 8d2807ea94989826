"""Whether the kinetic energy is convex in the velocities, where a motion starts."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.linalg.lapack import dpotrf

from stationary.derive.graph import Graph
from stationary.errors import DerivationError, StatementError, say
from stationary.lower.kernel import numeric
from stationary.model.layout import Layout
from stationary.model.system import require
from stationary.solve.linear import tangent_basis

# Largest number of coordinates for which the inertia at the start is examined by eigenvalues.
EXAMINE_UP_TO = 500

# Pivots that keep this much of their row leave no doubt; below it eigenvalues decide.
_CLEARLY = 1e-4

# A mass this many times smaller than the largest is none.
_LEAST = 1e-12


def check_inertia(graph: Graph, params: np.ndarray, t: float, q: np.ndarray, v: np.ndarray) -> bool:
    """Refuse a kinetic energy that is not convex in the velocities that the constraints allow.

    Returns whether M is positive definite by itself, without the constraints.
    """
    graph.require_inertia()
    if graph.system.size > EXAMINE_UP_TO:
        return True
    if graph.constant_mass and _solid(graph, params.tobytes()):
        return True
    arguments = (t, q, v, np.zeros(len(graph.system.inputs)), params)
    M = numeric(graph, "mass", dense=True)(*arguments)[0]
    root, failed = dpotrf(M)
    if _clear(M, root, failed):
        return True
    if not np.isfinite(M).all():
        raise DerivationError(
            say(
                "the kinetic energy is not finite at the start.",
                f"Found a mass matrix with entries {M[~np.isfinite(M)][:3]}.",
                "Start elsewhere, or check the parameters.",
            )
        )
    if not failed:
        scale = np.sqrt(M.diagonal())
        least = np.linalg.eigvalsh(M / np.outer(scale, scale))[0]
        if least > len(M) * np.finfo(float).eps:
            return True
    free = np.eye(len(M))
    if graph.layout.multipliers:
        free = tangent_basis(numeric(graph, "constraints", dense=True)(*arguments)[2])
        tangent = free.T @ M @ free
        if not len(tangent) or np.linalg.eigvalsh(tangent)[0] > _LEAST * np.abs(M).max():
            return False
    return _say_not_convex(M, free, graph.layout)


def _clear(M: np.ndarray, root: np.ndarray, failed: int) -> bool:
    """Tell whether the pivots of a matrix leave no doubt that it is positive definite."""
    return not failed and bool((root.diagonal() > _CLEARLY * np.sqrt(M.diagonal())).all())


@lru_cache(maxsize=256)
def _solid(graph: Graph, params: bytes) -> bool:
    """Tell whether a mass matrix that nothing but parameters changes is clearly positive."""
    n, u = graph.system.size, len(graph.system.inputs)
    values = np.frombuffer(params)
    M = numeric(graph, "mass", dense=True)(0.0, np.zeros(n), np.zeros(n), np.zeros(u), values)[0]
    return _clear(M, *dpotrf(M))


def _say_not_convex(M: np.ndarray, free: np.ndarray, layout: Layout) -> bool:
    values, vectors = eigh(free.T @ M @ free)
    direction = free @ vectors[:, 0]
    largest = np.argsort(-np.abs(direction))[:3]
    named = ", ".join(
        f"{layout.name(int(i))} {direction[i]:+.2g}" for i in largest if abs(direction[i]) > 1e-6
    )
    worst = layout.name(int(largest[0]))
    if values[0] < -1e-12 * max(values[-1], 1e-300):
        raise DerivationError(
            say(
                f"the kinetic energy is not convex in the velocities: moving '{worst}' lowers it.",
                f"Found the mass {values[0]:.3g} along ({named}) at the start, expected all "
                "positive.",
                "Check the signs of T and the values of the masses.",
            )
        )
    raise DerivationError(
        say(
            f"the mass matrix is singular at the start: '{worst}' has no inertia there.",
            f"Found the mass {values[0]:.3g} along ({named}), expected all positive.",
            f"Start elsewhere, choose other coordinates, give '{worst}' a mass, or use "
            "quasistatics().",
        )
    )


def require_system(system: Any) -> None:
    """Refuse what is no system, and a system without coordinates."""
    require(system)
    if not system.size:
        raise StatementError(
            say(
                "the system has no coordinates.",
                "Found nothing that could move.",
                "State energies in terms of st.coordinates.",
            )
        )
