"""Small motions: modes satisfy their eigenproblem, reduced matrices the whole linear equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import lsqr

from stationary.derive.balance import Balance
from stationary.derive.graph import Graph
from stationary.lower.kernel import graph_of, numeric
from stationary.model.kinematics import Kinematics
from stationary.result.modes import Modes
from stationary.result.statespace import StateSpace
from stationary.solve.gate.finding import Finding, measured
from stationary.solve.inertia import EXAMINE_UP_TO, metric, sizes_of
from stationary.solve.newton import Frame
from stationary.solve.scales import tied_digits

# The part of the forces that act on parts of a shape beside which those left over are small,
# where the shape as a whole moves without any.
_RIGID = 1e-6

# Last digits within which places and multipliers are known, and how often it is looked what these
# make of the stiffness.
_DIGITS, _SHAKEN = 16, 3

# What next to nothing pulls is known to the digits of what pulls most, unless it is taken again
# from what is left.
_REFINED = 3

# Sums that cancel to this part of their terms are zero.
_ROUNDING = 1e-14


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
    C = C / 2 - C.T / 2
    A = numeric(balance, "limits")(*at)[1].tocsr()[: balance.rows]
    # In moves that weigh alike, metres and radians have forces of one size.
    moves = equal_moves(masses(graph, (modes.t, modes.q, modes.values), M, A))
    own, shapes = sparse.diags(moves), modes.vectors / moves
    K, stiff, M, C = (own @ X @ own for X in (K, stiff, M, C))
    shaken = [own @ X @ own for X in changes_by_rounding(balance, at, lam, moves)]
    A = Held(A, moves).rows
    left, allowed, off, size = [], [], [], []
    for square, phi in zip(modes.squares, shapes):
        push, inertia, parts = K @ phi, square * (M @ phi), stiff @ np.abs(phi)
        # Squares of forces need not be numbers: all are parts of the largest.
        largest = max(np.abs(inertia).max(), parts.max()) or 1.0
        forces = (push - inertia) / largest
        if modes.gyroscopic:
            forces = forces + 1j * np.emath.sqrt(square) * (C @ phi) / largest
        work = np.linalg.norm(push / largest) + np.linalg.norm(inertia / largest)
        work = max(work, _RIGID * np.linalg.norm(parts / largest))
        rounded = np.linalg.norm(stiff @ shape_rounding(phi) / largest)
        rounded += sum(np.linalg.norm(X @ phi / largest) for X in shaken)
        left.append(np.linalg.norm(_beside(A, forces)))
        allowed.append(rtol * work + rounded)
        off.append(np.linalg.norm(A @ phi))
        size.append(rtol * max(float(np.linalg.norm(phi)), 1e-300))
    names = [f"mode {k}" for k in range(len(modes.squares))].__getitem__
    scaled = np.abs(np.real(np.sum(shapes.conj() * (M @ shapes.T).T, axis=1)) - 1)
    claims = measured("forces of a shape balance:", np.array(left), np.array(allowed), names)
    claims += measured("a shape is of unit inertia:", scaled, np.full(len(scaled), rtol), names)
    if balance.rows:
        claims += measured("a shape obeys the constraints:", np.array(off), np.array(size), names)
    return claims


def masses(graph: Graph, at: tuple[float, np.ndarray, np.ndarray], M: Any, A: Any) -> np.ndarray:
    """Return masses of coordinates; what has none, at this place or at any, moves with others."""
    own = M.diagonal()
    if not A.shape[0] or (graph.constant_mass and np.all(own > 0)) or len(own) > EXAMINE_UP_TO:
        return own
    t, q, params = at

    def lengths() -> np.ndarray:
        return sizes_of(graph, params, t, q)

    return metric(M.toarray(), A.toarray(), lengths).diagonal()


def equal_moves(mass: np.ndarray) -> np.ndarray:
    """Return moves of the coordinates that weigh alike: lengths beside angles have other digits."""
    roots = np.sqrt(np.where(mass > 0, mass, 0.0))
    usual = np.median(roots[roots > 0]) if np.any(roots > 0) else 1.0
    return 1 / np.where(roots > 0, roots, usual)


def shape_rounding(phi: np.ndarray) -> np.ndarray:
    """Return by how much a shape may be rounded: as the largest of its moves, every one."""
    return np.full(len(phi), 16 * np.finfo(float).eps * np.max(np.abs(phi), initial=0.0))


def changes_by_rounding(
    balance: Balance, at: tuple, lam: np.ndarray, moves: np.ndarray
) -> list[Any]:
    """Return what last digits of places and multipliers make of the stiffness of constraints.

    What several rows, or the terms of one, add to it may cancel: no entry then shows its rounding.
    Multipliers are known as well as the forces are that they balance.
    """
    if not len(lam):
        return []
    t, q, u, params = at
    rng, bend = np.random.default_rng(6), numeric(balance, "curvature")
    A, stated, changes = numeric(balance, "limits")(*at)[1], bend(*at, lam)[0], []
    digits = _DIGITS * tied_digits(A, np.spacing(np.abs(q)), moves)
    A = sparse.csr_matrix(A)[: len(lam)]
    forces, held = _DIGITS * np.spacing(abs(A).T @ np.abs(lam)), Held(A, moves)
    for _ in range(_SHAKEN):
        there = q + digits * rng.choice([-1.0, 1.0], len(q))
        pulls = held.multipliers(forces * rng.choice([-1.0, 1.0], len(q)))
        changes.append(bend(t, there, u, params, lam + pulls)[0] - stated)
    return changes


class Held:
    """Rows of constraints, each of size one in moves of coordinates that weigh alike."""

    def __init__(self, A: Any, moves: np.ndarray):
        A = sparse.csr_matrix(A @ sparse.diags(moves))
        steepest = abs(A).max(axis=1).toarray().ravel() if A.shape[0] else np.ones(0)
        self.moves, self.factors = moves, 1 / np.where(steepest > 0, steepest, 1.0)
        self.rows = sparse.csr_matrix(sparse.diags(self.factors) @ A)
        self._frame = Frame(self.rows, np.ones(len(moves)))

    def multipliers(self, forces: np.ndarray) -> np.ndarray:
        """Return the multipliers that balance forces best."""
        forces, lam = self.moves * forces, np.zeros(len(self.factors))
        for _ in range(_REFINED):
            lam = lam + self._frame.multipliers(forces - self.rows.T @ lam)
        return self.factors * lam


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
    layout, n, m = lin.at.graph.layout, len(lin.at.q), lin.E.shape[0] - 2 * len(lin.at.q)
    E, F, drift, names = _in_freedoms(lin, layout.kinematics, m)
    f, size = len(drift), E.shape[1]
    select = np.eye(size)[[names.index(name) for name in lin.states]]
    left_out = [i for i in range(f) if names[i] not in lin.states and _drifts(lin, i)]
    fixed = np.eye(size)[left_out]
    rows, nothing = F[2 * n :], np.zeros((m, size))
    # A row on coordinates alone holds for velocities and accelerations as well.
    holonomic = ~np.any(lin.F[2 * n :, n : 2 * n], axis=1)
    twice = np.zeros((m, size))
    twice[holonomic, f : 2 * f] = rows[holonomic, :f]
    twice[holonomic, :f] = rows[holonomic, :f] @ drift
    whole = np.vstack([
        np.hstack([-F, E]),
        np.hstack([select, np.zeros_like(select)]),
        np.hstack([fixed, np.zeros_like(fixed)]),
        np.hstack([nothing, rows]),
        np.hstack([nothing, twice]),
        np.hstack([np.zeros_like(select), select]),
    ])  # fmt: skip
    inputs, states = lin.B.shape[1], len(lin.states)
    known = np.zeros((len(whole), states + inputs))
    known[len(E) : len(E) + states, :states] = np.eye(states)
    known[: len(E), states:] = lin.G
    known[-states:] = np.hstack([lin.A, lin.B])
    # Measured by inertia and in the system's own time, metres, radians and rates are of one size.
    mass = np.abs(np.diag(E[n : 2 * n, f : 2 * f].T @ E[:n, :f]))
    mass = np.where(mass > 0, mass, np.median(mass[mass > 0]) if mass.any() else 1.0)
    length = np.sqrt(mass.min() / mass)
    rate = float(np.abs(np.linalg.eigvals(lin.A)).max(initial=0.0)) or 1.0
    own = np.concatenate([length, rate * length, np.ones(m)])
    row, column = _even(whole, np.concatenate([own, rate * own]))
    scaled, wanted = row[:, None] * whole * column, row[:, None] * known
    solved = np.linalg.lstsq(scaled, wanted, rcond=1e-13)[0]
    left = np.abs(scaled @ solved - wanted)
    # Equations whose terms all vanish have the rounding of the others.
    terms = np.abs(scaled) @ np.abs(solved) + np.abs(wanted)
    terms = np.maximum(terms, 1e-3 * terms.max(axis=0, initial=0.0)) + 1e-300
    name_of = [*lin.states, *lin.inputs].__getitem__
    worst = (left / terms).max(axis=0, initial=0.0)
    allowed = np.full(len(worst), rtol)
    return measured("all equations hold with the rates of", worst, allowed, name_of)


def _drifts(lin: StateSpace, freedom: int) -> bool:
    """Tell whether a freedom moves steadily: where it is says nothing."""
    kinematics = lin.at.graph.layout.kinematics
    speeds = lin.at.v if kinematics.plain else kinematics.speeds(lin.at.q, lin.at.v)
    return bool(speeds[freedom])


def _in_freedoms(
    lin: StateSpace, kinematics: Kinematics, m: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Return E and F over z = (θ, w, δλ), small turns in the place of entries of quaternions.

    With them the matrix of θ̇ = w + drift·θ, and what the freedoms and their speeds are called. In
    axes that turn against the body at σ, δq = G θ and δv = G w + (∂G/∂q G θ) ω, whose matrices
    change as the body turns: E ż has a part by the rates of these.
    """
    layout, n, q, v = lin.at.graph.layout, len(lin.at.q), lin.at.q, lin.at.v
    if kinematics.plain:
        labels = [layout.name(i) for i in range(n)]
        return lin.E, lin.F, np.zeros((n, n)), labels + [name + ".dot" for name in labels]
    places, speeds = zip(*kinematics.freedoms)
    G, omega = kinematics.rates(q), kinematics.speeds(q, v)
    spin = np.zeros(len(omega)) if lin.spin is None else lin.spin
    against, f = kinematics.carried(spin), len(omega)
    # The rates of G and of ω, seen from the body, and of G θ where θ stays in its axes.
    rate = kinematics.rates(v) - kinematics.rates(np.zeros(n)) - G @ against
    bend = kinematics.bend(G, omega)
    bending = kinematics.bend(rate, omega) - kinematics.bend(G, against @ omega)
    T, change = np.zeros((2 * n + m, 2 * f + m)), np.zeros((2 * n + m, 2 * f + m))
    T[:n, :f] = T[n : 2 * n, f : 2 * f] = G
    T[n : 2 * n, :f], T[2 * n :, 2 * f :] = bend, np.eye(m)
    change[:n, :f] = change[n : 2 * n, f : 2 * f] = rate
    change[n : 2 * n, :f] = bending
    drift = against - kinematics.carried(omega)
    F, terms = lin.F @ T - lin.E @ change, abs(lin.F) @ abs(T) + abs(lin.E) @ abs(change)
    # What quaternions hold themselves by leaves their bodies free.
    F[np.abs(F) <= _ROUNDING * terms] = 0.0
    return lin.E @ T, F, drift, [*places, *speeds]


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
