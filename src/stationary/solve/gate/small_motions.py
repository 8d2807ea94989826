"""Small motions: modes satisfy their eigenproblem, reduced matrices the whole linear equations."""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import lsqr

from stationary.derive.balance import Balance
from stationary.lower.kernel import graph_of, numeric
from stationary.model.layout import Layout
from stationary.result.modes import Modes
from stationary.result.statespace import StateSpace
from stationary.solve.gate.finding import Finding, measured

# The part of the forces that act on parts of a shape beside which those left over are small,
# where the shape as a whole moves without any.
_RIGID = 1e-6


def modes_hold(modes: Modes, u: np.ndarray, lam: np.ndarray, rtol: float) -> list[Finding]:
    """Measure K φ + iω C φ − ω² M φ = Aᵀν, A φ = 0 and φᵀMφ = 1 of every mode."""
    graph = graph_of(modes.system)
    balance, at = Balance(graph), (modes.t, modes.q, u, modes.values)
    K = numeric(balance, "tangent")(*at)[0]
    stiff = abs(K)
    if balance.rows:
        bent = numeric(balance, "curvature")(*at, lam)[0]
        # What cancels in K is still what its rounding is made of.
        K, stiff = K - bent, stiff + abs(bent)
    M = numeric(graph, "mass")(modes.t, modes.q, np.zeros_like(modes.q), u, modes.values)[0]
    C = numeric(balance, "damping")(*at)[0]
    C = (C - C.T) / 2
    A = numeric(balance, "limits")(*at)[1].tocsr()[: balance.rows]
    left, allowed, off, size = [], [], [], []
    for square, phi in zip(modes.squares, modes.vectors):
        forces = K @ phi - square * (M @ phi)
        if modes.gyroscopic:
            forces = forces + 1j * np.emath.sqrt(square) * (C @ phi)
        work = np.linalg.norm(K @ phi) + abs(square) * np.linalg.norm(M @ phi)
        work = max(work, _RIGID * np.linalg.norm(stiff @ np.abs(phi)))
        left.append(np.linalg.norm(_beside(A, forces)))
        allowed.append(rtol * work)
        off.append(np.linalg.norm(A @ phi))
        steepest = np.sqrt(A.multiply(A).sum(axis=1).max()) if balance.rows else 0.0
        size.append(rtol * max(steepest * np.linalg.norm(phi), 1e-300))
    names = [f"mode {k}" for k in range(len(modes.squares))].__getitem__
    scaled = np.abs(np.real(np.sum(modes.vectors.conj() * (M @ modes.vectors.T).T, axis=1)) - 1)
    found = measured("forces of a shape balance:", np.array(left), np.array(allowed), names)
    found += measured("a shape is of unit inertia:", scaled, np.full(len(scaled), rtol), names)
    if balance.rows:
        found += measured("a shape obeys the constraints:", np.array(off), np.array(size), names)
    return found


def _beside(A, forces: np.ndarray) -> np.ndarray:
    """Return what is left of forces when constraints have taken what they can."""
    if not A.shape[0]:
        return forces
    parts = (np.real(forces), np.imag(forces)) if np.iscomplexobj(forces) else (forces,)
    exact = {"atol": 1e-15, "btol": 1e-15, "iter_lim": 20 * sum(A.shape)}
    rest = [x - A.T @ lsqr(A.T, x, **exact)[0] for x in parts]
    return rest[0] + 1j * rest[1] if len(rest) > 1 else rest[0]


def linear_holds(lin: StateSpace, rtol: float) -> list[Finding]:
    """Measure that ẋ = A x + B u follows from E ż = F z + G u, whose matrices hold no choice.

    For every state, and for every input, the states x and their rates A x + B u are put into the
    whole equations, and what else there is in z and ż is chosen as well as can be: what is left
    over is measured beside the terms of each equation.
    """
    if lin.at is None:
        return []
    layout, n = lin.at.graph.layout, len(lin.at.q)
    size, m = lin.E.shape[0], lin.E.shape[0] - 2 * n
    if not layout.kinematics.plain and np.any(lin.at.v[layout.kinematics.quaternions]):
        # Of a body that turns, the whole equations change with time.
        return []
    select = _states(lin, layout, size)
    still = np.eye(size)[np.flatnonzero(lin.at.v)]
    rows, nothing = lin.F[2 * n :], np.zeros((m, size))
    # A row on coordinates alone holds for velocities and accelerations as well.
    holonomic = ~np.any(rows[:, n : 2 * n], axis=1)
    twice = np.zeros((m, size))
    twice[holonomic, n : 2 * n] = rows[holonomic, :n]
    whole = np.vstack([
        np.hstack([-lin.F, lin.E]),
        np.hstack([select, np.zeros_like(select)]),
        np.hstack([still, np.zeros_like(still)]),
        np.hstack([nothing, rows]),
        np.hstack([nothing, twice]),
        np.hstack([np.zeros_like(select), select]),
    ])  # fmt: skip
    inputs, states = lin.B.shape[1], len(lin.states)
    known = np.zeros((len(whole), states + inputs))
    known[size : size + states, :states] = np.eye(states)
    known[:size, states:] = lin.G
    known[-states:] = np.hstack([lin.A, lin.B])
    # Measured in the system's own time, velocities and rates are of the size of coordinates.
    rate = float(np.abs(np.linalg.eigvals(lin.A)).max(initial=0.0)) or 1.0
    own = np.concatenate([np.ones(n), np.full(n, rate), np.ones(m)])
    row, column = _even(whole, np.concatenate([own, rate * own]))
    scaled, wanted = row[:, None] * whole * column, row[:, None] * known
    solved = np.linalg.lstsq(scaled, wanted, rcond=1e-13)[0]
    left = np.abs(scaled @ solved - wanted)
    # Equations whose terms all vanish have the rounding of the others.
    terms = np.abs(scaled) @ np.abs(solved) + np.abs(wanted)
    terms = np.maximum(terms, 1e-3 * terms.max(axis=0, initial=0.0)) + 1e-300
    names = [*lin.states, *lin.inputs].__getitem__
    worst = (left / terms).max(axis=0, initial=0.0)
    allowed = np.full(len(worst), rtol)
    return measured("all equations hold with the rates of", worst, allowed, names)


def _states(lin: StateSpace, layout: Layout, size: int) -> np.ndarray:
    """Return how the states follow from z = (δq, δv, δλ)."""
    kinematics, n = layout.kinematics, layout.system.size
    if kinematics.plain:
        chosen = []
        for name in lin.states:
            places, order = layout.resolve(name, "states")
            chosen.append(int(places) + n * order)
        return np.eye(size)[chosen]
    freedoms = kinematics.speeds(lin.at.q, np.eye(n))
    every = np.zeros((2 * len(freedoms), size))
    every[: len(freedoms), :n] = every[len(freedoms) :, n : 2 * n] = freedoms
    places, speeds = zip(*kinematics.freedoms)
    return every[[[*places, *speeds].index(name) for name in lin.states]]


def _even(matrix: np.ndarray, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return factors of rows and of columns, near the given ones, that make entries about one."""
    row = np.ones(matrix.shape[0])
    for _ in range(3):
        largest = np.abs(row[:, None] * matrix * column).max(axis=1, initial=0.0)
        row = row / np.where(largest > 0, largest, 1.0)
        # Forces of constraint have a size of their own, coordinates keep theirs.
        largest = np.abs(row[:, None] * matrix * column).max(axis=0, initial=0.0)
        column = np.where(largest < 1, column / np.where(largest > 0, largest, 1.0), column)
    return row, column
