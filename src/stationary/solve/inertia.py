"""Whether the kinetic energy is convex in the velocities, where a motion starts."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf

from stationary.derive.graph import Graph
from stationary.errors import DerivationError, StatementError
from stationary.lower.kernel import numeric
from stationary.model.layout import Layout
from stationary.model.system import require
from stationary.solve.linear import tangent_basis
from stationary.solve.scales import bends_by_shape, scales_of

# Largest number of coordinates for which the inertia at the start is examined by eigenvalues.
EXAMINE_UP_TO = 500

# Pivots that keep this much of their row leave no doubt; below it eigenvalues decide.
_CLEARLY = 1e-4

# A mass that has come down to this part of what it was, and is that much below those that rows
# leave free, is better completed by them.
_LOST = 1e-3

# A mass this many times smaller than those around it is none.
NO_MASS = 1e-12

# Coordinates whose inertia makes them this much smaller than others are not measured by it.
_LEAST = 1e-3

# Places nearby where one looks what rows hold.
_NEARBY = 3

# Decades over which a length is looked for where nothing tells one, and how far rows turn over it.
_UNITS, _TURNED = 30, 0.3


def check_inertia(
    graph: Graph, params: np.ndarray, t: float, q: np.ndarray, v: np.ndarray
) -> tuple[int, ...]:
    """Refuse a kinetic energy that is not convex in the velocities that the constraints allow.

    Returns nothing where M is positive definite by itself, else the sizes of the coordinates, in
    powers of ten, by which constraints complete it.
    """
    graph.require_inertia()
    if graph.system.size > EXAMINE_UP_TO:
        return ()
    if graph.constant_mass and _solid(graph, params.tobytes()):
        return ()
    arguments = (t, q, v, np.zeros(len(graph.system.inputs)), params)
    M = numeric(graph, "mass", dense=True)(*arguments)[0]
    root, failed = dpotrf(M)
    if _clear(M, root, failed):
        return ()
    if not np.isfinite(M).all():
        raise DerivationError(
            "the kinetic energy is not finite at the start.",
            f"Found a mass matrix with entries {M[~np.isfinite(M)][:3]}.",
            "Start elsewhere, or check the parameters.",
        )
    A = np.zeros((0, len(M)))
    if graph.layout.multipliers:
        A = numeric(graph, "constraints", dense=True)(*arguments)[2]
    # In units in which every coordinate weighs one: a metre beside a radian is no small mass.
    decades = np.round(np.log10(sizes_of(graph, params, t, q))).astype(int)
    weights = _weights(M, A, decades)
    free = tangent_basis(A / weights) if len(A) else np.eye(len(M))
    values, vectors = _masses(M, weights, free)
    # Rows complete M wherever it is definite on what they leave free, so that more is kept of it.
    if not len(values) or values[0] > (NO_MASS if len(A) else len(M) * np.finfo(float).eps):
        return tuple(decades.tolist()) if len(A) else ()
    raise _not_convex(M, free @ vectors[:, 0] / weights, values[0], graph.layout)


def completed_by_rows(
    graph: Graph, params: np.ndarray, start: tuple[float, np.ndarray], t: float, q: np.ndarray
) -> tuple[int, ...]:
    """Return the sizes by which rows complete M, if it is nearly singular at a state but for them.

    What little mass is left in a direction there shows beside what it was at the start.
    """
    if graph.system.size > EXAMINE_UP_TO:
        return ()
    at = np.zeros_like(q), np.zeros(len(graph.system.inputs)), params
    decades = np.round(np.log10(sizes_of(graph, params, *start))).astype(int)
    M, M0 = (numeric(graph, "mass", dense=True)(*place, *at)[0] for place in ((t, q), start))
    A, A0 = (numeric(graph, "constraints", dense=True)(*place, *at)[2] for place in ((t, q), start))
    weights = _weights(M0, A0, decades)
    whole = _masses(M, weights, np.eye(len(M)))[0][0]
    free = _masses(M, weights, tangent_basis(A / weights))[0]
    lost = whole < _LOST and (not len(free) or free[0] > max(whole, NO_MASS) / _LOST)
    return tuple(decades.tolist()) if lost else ()


def _weights(M: np.ndarray, A: np.ndarray, decades: np.ndarray) -> np.ndarray:
    weights = np.sqrt(np.abs(augmented(M, A, 10.0**decades).diagonal()))
    return np.where(weights > 0, weights, weights.max(initial=0.0) or 1.0)


def _masses(M: np.ndarray, weights: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the masses along some directions, each coordinate in units of its own, and theirs."""
    tangent = free.T @ (M / np.outer(weights, weights)) @ free
    return np.linalg.eigh((tangent + tangent.T) / 2)


def _shared(sizes: np.ndarray, masses: np.ndarray, layout: Layout) -> np.ndarray:
    """Return sizes of coordinates of which none is lost beside the others.

    What seems to have no size in one place, as the height of a wheel that stands upright, moves
    about as far as the rest; the entries of a quaternion are those of a vector of length one.
    """
    sizes = sizes.copy()
    for places in layout.kinematics.quaternions:
        sizes[places] = 1.0
    weights = np.sqrt(np.abs(np.where(np.isfinite(masses), masses, 0.0)))
    reach = float(np.max(weights * sizes, initial=0.0))
    shared = np.divide(reach, weights, out=np.zeros_like(weights), where=weights > 0)
    sizes = np.where(sizes > 0, np.maximum(sizes, _LEAST * shared), shared)
    return np.where(sizes > 0, sizes, 1.0)


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


def _not_convex(M: Any, direction: Any, least: float, layout: Layout) -> DerivationError:
    shares = np.abs(direction) / np.abs(direction).max()
    largest = np.argsort(-shares, kind="stable")[:3]
    direction = direction / np.linalg.norm(direction) * np.sign(direction[largest[0]])
    mass = direction @ M @ direction if abs(least) > NO_MASS else 0.0
    named = ", ".join(
        f"{layout.name(int(i))} {direction[i]:+.2g}" for i in largest if shares[i] > 1e-6
    )
    worst = layout.name(int(largest[0]))
    if least < -NO_MASS:
        return DerivationError(
            f"the kinetic energy is not convex in the velocities: moving '{worst}' lowers it.",
            f"Found the mass {mass:.3g} along ({named}) at the start, expected all positive.",
            "Check the signs of T and the values of the masses.",
        )
    return DerivationError(
        f"the mass matrix is singular at the start: '{worst}' has no inertia there.",
        f"Found the mass {mass:.3g} along ({named}), expected all positive.",
        f"Start elsewhere, choose other coordinates, give '{worst}' a mass, or use quasistatics().",
    )


def metric(M: np.ndarray, A: np.ndarray, sizes: Callable[[], np.ndarray]) -> np.ndarray:
    """Return M, of one state or of many, completed to a metric where it is none.

    Rows A complete it first: what a step does along them is prescribed, so that AᵀA changes no
    nearest point and is enough wherever M is definite on the tangent. Coordinates that have no mass
    even so get one. `sizes` tells how large the coordinates are, where it is asked.
    """
    if _definite(M):
        return M
    completed = augmented(M, A, sizes())
    if _definite(completed):
        return completed
    masses = np.maximum(np.diagonal(M, axis1=-2, axis2=-1), 0.0)
    mean = masses.sum(axis=-1, keepdims=True) / np.maximum(1, np.sum(masses > 0, -1, keepdims=True))
    mean = np.where(mean > 0, mean, 1.0)
    eye = np.eye(M.shape[-1])
    completed = M + np.where(masses > NO_MASS * mean, 0.0, mean)[..., None] * eye
    return completed if _definite(completed) else completed + masses[..., None] * eye


def augmented(M: np.ndarray, A: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return M + AᵀWA, each row as heavy as the coordinates of these sizes that it holds."""
    masses = np.maximum(np.diagonal(M, axis1=-2, axis2=-1), 0.0) * sizes**2
    held, everything = (A != 0) @ masses[..., None], masses.sum(axis=-1)[..., None, None]
    heavy = np.where(held > 0, held, np.where(everything > 0, everything, 1.0))
    squares = np.sum((A * sizes) ** 2, axis=-1, keepdims=True)
    weights = heavy / np.where(squares > 0, squares, 1.0)
    return M + np.swapaxes(A, -1, -2) @ (weights * A)


def gives(
    graph: Graph, params: np.ndarray, t: float, q: np.ndarray, sizes: tuple[int, ...]
) -> tuple[int, ...]:
    """Return how far every row gives way to its force, in powers of ten: the sum of A²/M.

    A row that vanishes in one place does not nearby. `sizes` are those by which rows complete M.
    """
    places, more = [q], (np.zeros_like(q), np.zeros(len(graph.system.inputs)), params)
    if graph.system.size <= EXAMINE_UP_TO:
        way = sizes_of(graph, params, t, q)
        shape = bends_by_shape(graph, params, t, q, way)
        way = np.where(shape > 0, shape, way)
        rng = np.random.default_rng(5)
        places += [q + way * rng.uniform(-1, 1, len(q)) for _ in range(_NEARBY)]
    most = np.zeros(graph.layout.multipliers)
    for place in places:
        A = numeric(graph, "constraints")(t, place, *more)[2]
        M = numeric(graph, "mass")(t, place, *more)[0]
        if sizes:
            M = augmented(M.toarray(), A.toarray(), 10.0 ** np.array(sizes))
        masses = M.diagonal()
        light = np.divide(1, masses, out=np.zeros_like(masses), where=masses > 0)
        most = np.fmax(most, abs(A).power(2) @ light)
    most = np.where(most > 0, most, most.max() or 1.0)
    return tuple(np.round(np.log10(most)).astype(int).tolist())


def sizes_of(graph: Graph, params: np.ndarray, t: float, q: np.ndarray) -> np.ndarray:
    """Return the sizes of the coordinates; by their inertia where nothing else says them."""
    length = scales_of(graph, params, t, q).length
    arguments = (t, q, np.zeros_like(q), np.zeros(len(graph.system.inputs)), params)
    M = numeric(graph, "mass")(*arguments)[0].diagonal()
    if not length.any():
        length = _turning(graph, arguments, M)
    elif not graph.constant_mass:
        # What has no mass in one place, as the first of four that are a rotation, has one nearby.
        way = length * np.random.default_rng(5).choice([-1.0, 1.0], len(q))
        M = np.fmax(M, numeric(graph, "mass")(t, q + way, *arguments[2:])[0].diagonal())
    return _shared(length, M, graph.layout)


def _turning(graph: Graph, arguments: tuple, masses: np.ndarray) -> np.ndarray:
    """Return moves of one energy of motion that turn the rows; zero where none do, or no rows are.

    Wheels that roll have no other length: they are looked for over all that units may make of them.
    """
    t, q, *more = arguments
    none = np.zeros_like(q)
    if not graph.layout.multipliers or not np.all(np.isfinite(masses) & (masses > 0)):
        return none
    even = 1 / np.sqrt(masses)
    way = even * np.random.default_rng(5).choice([-1.0, 1.0], len(q))

    def rows(q: np.ndarray) -> np.ndarray:
        return numeric(graph, "constraints")(t, q, *more)[2].toarray() * even

    here = rows(q)
    lengths = np.linalg.norm(here, axis=1)
    for times in 10.0 ** np.arange(-_UNITS, _UNITS + 1):
        change = np.linalg.norm(rows(q + times * way) - here, axis=1)
        if np.any(change > _TURNED * lengths):
            return times * even
    return none


def _definite(M: np.ndarray) -> bool:
    """Tell whether pivots leave no doubt that a matrix, or each of many, is positive definite."""
    try:
        root = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        return False
    pivots, masses = (np.diagonal(x, axis1=-2, axis2=-1) for x in (root, M))
    return bool((pivots > _CLEARLY * np.sqrt(masses)).all())


def require_system(system: Any) -> None:
    """Refuse what is no system, and a system without coordinates."""
    require(system)
    if not system.size:
        raise StatementError(
            "the system has no coordinates.",
            "Found nothing that could move.",
            "State energies in terms of st.coordinates.",
        )
