"""A system at rest, as numbers: forces, energy, stiffness and limits at given parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse
from scipy.optimize import nnls
from scipy.sparse.linalg import ArpackError, eigsh

from stationary.derive.balance import Balance
from stationary.lower.engines.casadi import Numeric
from stationary.lower.inputs import SLOTS, lowered, sampled, translate
from stationary.lower.kernel import graph_of, numeric
from stationary.model.layout import Layout
from stationary.model.system import System
from stationary.solve.linear import DENSE_UP_TO, Saddle
from stationary.solve.newton import Ending, iterated

# Steps that bring a configuration back onto its constraints, and those to where they are violated
# least: halves of the way, where they depend on each other there.
_MOST_CORRECTIONS, _MOST_APPROACHES = 12, 250

# What bends down by this part of what is steepest is no least violation; parts of a move to try.
_RIDGE, _SHARES = 1e-6, 2.0 ** -np.arange(24)


# What contacts that only push leave of a force that they hold, beside it.
_PUSHED = 1e-10


@lru_cache(maxsize=64)
def balance_of(system: System) -> Balance:
    """Return the balance of a system; equal statements share one."""
    return Balance(graph_of(system))


@dataclass
class AbstractAtRest(ABC):
    """A system at rest at given parameters and inputs."""

    system: System
    params: np.ndarray
    signature: tuple
    slots: np.ndarray
    t: float
    #: Moves of the coordinates that count alike; see `moves`.
    metric: Any = None

    @abstractmethod
    def prepare(self, q: np.ndarray) -> None:
        """Find out at a place by what moves are measured."""

    def moves(self, q: np.ndarray) -> np.ndarray:
        """Return moves of the coordinates that count alike: metres beside radians."""
        if self.metric is None:
            self.prepare(q)
        return np.asarray(self.metric)

    @cached_property
    def balance(self) -> Balance:
        """The graph of the system at rest."""
        return balance_of(self.system)

    @property
    def layout(self) -> Layout:
        """Where every name stands."""
        return self.balance.graph.layout

    def moved(self, q: np.ndarray, move: np.ndarray) -> np.ndarray:
        """Return the configuration to which a move leads."""
        return self.layout.kinematics.retract(q, move)

    @cached_property
    def feeds_back(self) -> bool:
        """Whether an input follows the coordinates."""
        return any(kind == "expression" for kind, _ in self.signature)

    def inputs(self, q: np.ndarray) -> np.ndarray:
        """Return the inputs at a configuration."""
        if not self.feeds_back:
            return self._fixed_inputs
        known = iter(self._fixed_inputs)
        zero = np.zeros_like(q)
        return np.array([
            float(ca.DM(translate(content, self.layout, self.t, q, zero, self.params)))
            if kind == "expression"
            else next(known)
            for kind, content in self.signature
        ])  # fmt: skip

    @cached_property
    def _fixed_inputs(self) -> np.ndarray:
        return sampled(self.signature, self.slots, self.t)

    def forces(self, q: np.ndarray) -> tuple[np.ndarray, float]:
        """Return g and the energy; where a step ends, the next one begins."""
        key = q.tobytes()
        if key not in self._recent:
            if len(self._recent) > 2:
                self._recent.clear()
            g, energy = numeric(self.balance, "forces")(self.t, q, self.inputs(q), self.params)
            self._recent[key] = g, float(energy[0])
        return self._recent[key]

    @cached_property
    def _recent(self) -> dict[bytes, tuple[np.ndarray, float]]:
        return {}

    def tangent(self, q: np.ndarray) -> sparse.csc_matrix:
        """Return ∂g/∂q."""
        K = numeric(self.balance, "tangent")(self.t, q, self.inputs(q), self.params)[0]
        if self.feeds_back:
            p = np.concatenate([[self.t], self.params, self.slots])
            K = K + _feedback(self.system, self.signature)(q, p)[0]
        return K

    def stiffnesses(self, q: np.ndarray) -> np.ndarray:
        """Return the entries of which ∂g/∂q is made, without their places: ten times as fast."""
        given = numeric(self.balance, "tangent")
        K = given.entries(self.t, q, self.inputs(q), self.params)
        if self.feeds_back:
            p = np.concatenate([[self.t], self.params, self.slots])
            K = np.concatenate([K, _feedback(self.system, self.signature).entries(q, p)])
        return K

    def levels(self, q: np.ndarray) -> np.ndarray:
        """Return R and gaps."""
        if not self.balance.rows + self.balance.gaps:
            return np.zeros(0)
        return numeric(self.balance, "levels")(self.t, q, self.inputs(q), self.params)[0]

    def limits(self, q: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, Any]:
        """Return R and gaps that are active, and their gradients."""
        c, A = numeric(self.balance, "limits")(self.t, q, self.inputs(q), self.params)
        return (c, A) if len(active) == len(c) else (c[active], A.tocsr()[active])

    def curvature(self, q: np.ndarray, lam: np.ndarray) -> sparse.csc_matrix:
        """Return Σ λ ∂²R/∂q²."""
        if not len(lam):
            return sparse.csc_matrix((len(q), len(q)))
        bend = numeric(self.balance, "curvature")
        return bend(self.t, q, self.inputs(q), self.params, lam)[0]

    def hessian(self, q: np.ndarray, lam: np.ndarray, active: np.ndarray) -> sparse.csc_matrix:
        """Return the stiffness, with what the multipliers of the active rows add to it."""
        return self.tangent(q) - self.curvature(q, self.full(lam, active))

    def full(self, lam: np.ndarray, active: np.ndarray) -> np.ndarray:
        """Return the multipliers of all rows and contacts, zero where they do not hold."""
        full = np.zeros(self.balance.rows + self.balance.gaps)
        full[active] = lam
        return full

    def row_name(self, row: int) -> str:
        """Return the name of a row of constraints, and of contacts after them."""
        rows = self.balance.rows
        return self.layout.row_name(row) if row < rows else self.layout.gap_name(row - rows)

    # -- energy -----------------------------------------------------------------------------------

    def has_energy(self, q: np.ndarray) -> bool:
        """Tell whether the forces are the slope of the energy, there and a little further on."""
        if self.feeds_back:
            return False
        for point in self._around(q):
            (slope,) = numeric(self.balance, "slope")(
                self.t, point, self.inputs(point), self.params
            )
            g, _ = self.forces(point)
            if not np.all(np.isfinite(g)):
                continue
            work, off = np.abs(g) * self.moves(q), np.abs(g - slope) * self.moves(q)
            if np.any(off > 1e-9 * work.max(initial=0.0)):
                return False
        return True

    def conservative(self, q: np.ndarray) -> bool:
        """Tell whether the loads have a potential, by the symmetry of the tangent."""
        for point in self._around(q):
            D = sparse.diags(self.moves(q))
            K = D @ self.tangent(point) @ D
            size = abs(K).max() if K.nnz else 0.0
            if np.isfinite(size) and size and abs(K - K.T).max() > 1e-9 * size:
                return False
        return True

    def _around(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a place and another one nearby, at which the same must hold."""
        chance = np.random.default_rng(1).standard_normal(len(q))
        return q, q + 0.1 * self.moves(q) * chance

    def rise(self, q: np.ndarray, to: np.ndarray, stated: bool) -> float:
        """Return how the energy changes on the way to another configuration.

        Where no energy is `stated` but the forces have one, it is their work on the straight way.
        """
        if stated:
            return self.forces(to)[1] - self.forces(q)[1]
        nodes, weights = np.polynomial.legendre.leggauss(8)
        way = to - q
        return sum(
            w / 2 * float(self.forces(q + (x + 1) / 2 * way)[0] @ way)
            for x, w in zip(nodes, weights)
        )

    def onto(self, q: np.ndarray, active: np.ndarray) -> np.ndarray | None:
        """Return the configuration nearby that satisfies the active rows, or None."""
        if not len(active):
            return q
        weights = sparse.diags(1 / self._even(q) ** 2, format="csc")

        def step(q: np.ndarray) -> np.ndarray | None:
            c, A = self.limits(q, active)
            if not np.all(np.isfinite(c)):
                return None
            return self.moved(q, Saddle(weights, A).solve(np.zeros(len(q)), -c)[0])

        def settled(q: np.ndarray, move: np.ndarray) -> bool:
            return bool(np.all(np.abs(move) <= 64 * np.spacing(np.abs(q)) + 1e-14 * self.moves(q)))

        q, _, ending = iterated(q, step, settled, most=_MOST_CORRECTIONS)
        if ending is Ending.BALANCED:
            return q
        c, A = self.limits(q, active)
        return q if np.all(np.abs(c) <= self.small(q, A, 1e-10)) else None

    def _even(self, q: np.ndarray) -> np.ndarray:
        """Return moves that count alike, of about one: their squares are numbers in every unit."""
        moves = self.moves(q)
        return moves / np.median(moves) if len(moves) else moves

    @abstractmethod
    def small(self, q: np.ndarray, A: Any, rtol: float = 1e-9, digits: float = 64) -> np.ndarray:
        """Return below which value constraints or gaps with these gradients count as zero."""

    def violations(self, q: np.ndarray) -> np.ndarray:
        """Return R of the constraints, and gaps of contacts that are passed through."""
        c, rows = self.levels(q), self.balance.rows
        return np.concatenate([c[:rows], np.minimum(c[rows:], 0.0)])

    def held(self, q: np.ndarray, active: np.ndarray) -> bool:
        """Tell whether some of these rows hold a place, of contacts such that only push."""
        free, pull = np.flatnonzero(active < self.balance.rows), self.forces(q)[0]
        if len(active) == len(free) or max(len(q), len(active)) > DENSE_UP_TO:
            return False
        # As energies, since coordinates and multipliers have units of their own.
        moves = self._even(q)
        A, pull = self.limits(q, active)[1].toarray() * moves, pull * moves
        if not (np.all(np.isfinite(A)) and np.all(np.isfinite(pull))):
            return False
        sizes = np.linalg.norm(A, axis=1)
        A = A / np.where(sizes > 0, sizes, 1.0)[:, None]
        size = np.linalg.norm(pull)
        return not size or nnls(np.vstack([A, -A[free]]).T, pull / size)[1] <= _PUSHED

    def nearest(self, q: np.ndarray) -> tuple[np.ndarray, bool]:
        """Return where constraints and contacts are violated least, and whether that is settled.

        What is violated there contradicts the rest: gradients, weighted by it, add to nothing. Rows
        count by their gradients, for each has a unit of its own.
        """
        damping, steepest, level = 1e-3, 0.0, False
        every = np.arange(self.balance.rows + self.balance.gaps)
        moves = self._even(q)
        D = sparse.diags(moves)
        sizes = np.asarray(abs(self.limits(q, every)[1] @ D).max(axis=1).todense()).ravel()
        usual = np.median(sizes[sizes > 0]) if np.any(sizes > 0) else 1.0
        weights = 1 / np.where(sizes > 0, sizes, usual)
        missed = weights * self.violations(q)
        for _ in range(_MOST_APPROACHES):
            # What a constraint that is met turns away from counts as well.
            counted = np.flatnonzero((missed != 0) | (every < self.balance.rows))
            r, A = self.limits(q, counted)
            if np.all(np.abs(r) <= self.small(q, A, 0.0, 1)):
                return q, True
            r, A = weights[counted] * r, sparse.diags(weights[counted]) @ A @ D
            slope = A.T @ r
            size = float(abs(A).max()) ** 2 if A.nnz else 1.0
            steepest = max(steepest, np.sqrt(size))
            pulls = np.abs(r).max(initial=0.0) * steepest
            if not np.all(np.isfinite(slope)):
                return q, False
            if level or np.abs(slope).max(initial=0.0) <= 1e-7 * pulls:
                beside = self._off_the_ridge(q, weights, A, moves)
                if beside is None:
                    return q, True
                q, missed, damping = beside, weights * self.violations(beside), 1e-3
                level = False
                continue
            H = damping * size * sparse.eye(len(q), format="csc")
            if len(q) <= DENSE_UP_TO:
                # Where rows depend on each other, or contradict each other, they bend into what
                # holds; what bends away would lead to where they are violated most.
                H = H + _rising((D @ self.curvature(q, weights * missed) @ D).toarray())
            K = Saddle(H, A, corner=1.0)
            move, _ = K.solve(np.zeros(len(q)), -r)
            # Where rows depend on each other, a step goes half of the way.
            trials = [self.moved(q, times * moves * move) for times in (1.0, 2.0)]
            there = min(trials, key=lambda x: np.linalg.norm(weights * self.violations(x)))
            trial = weights * self.violations(there)
            share = np.linalg.norm(trial) / np.linalg.norm(missed)
            if share < 1:
                q, missed, damping = there, trial, damping / (30 if share > 0.9 else 4)
                level = share > 1 - 1e-9
            else:
                damping *= 8
        return q, False

    def _off_the_ridge(
        self, q: np.ndarray, weights: np.ndarray, A: Any, moves: np.ndarray
    ) -> np.ndarray | None:
        """Return a place where constraints are violated less, where slopes alone show none.

        Links that are pressed along one line satisfy their lengths to either side of it. The force
        says to which.
        """
        missed = weights * self.violations(q)
        bent = self.curvature(q, weights * missed)
        H = (A.T @ A + sparse.diags(moves) @ bent @ sparse.diags(moves)).tocsc()
        if not np.all(np.isfinite(H.data)):
            return None
        least, way = _least(H)
        if not least < -_RIDGE * abs(H).max():
            return None
        way = self.moves(q) * way / np.abs(way).max()
        push = float(self.forces(q)[0] @ way)
        way = way if push < 0 else -way
        size = np.linalg.norm(missed)
        trials = [self.moved(q, share * way) for share in _SHARES]
        sizes = [np.linalg.norm(weights * self.violations(place)) for place in trials]
        best = int(np.argmin(sizes))
        return trials[best] if sizes[best] < (1 - 1e-9) * size else None


def _least(H: Any) -> tuple[float, np.ndarray]:
    """Return the least eigenvalue of a symmetric matrix, and its vector."""
    if H.shape[0] <= DENSE_UP_TO:
        values, vectors = np.linalg.eigh(H.toarray())
        return float(values[0]), vectors[:, 0]
    start = np.random.default_rng(0).standard_normal(H.shape[0])
    try:
        values, vectors = eigsh(H, k=1, which="SA", v0=start, tol=1e-3)
    except ArpackError:
        return 0.0, start
    return float(values[0]), vectors[:, 0]


def _rising(H: np.ndarray) -> Any:
    """Return the part of a symmetric matrix that is not below zero."""
    values, vectors = np.linalg.eigh(H)
    return sparse.csc_matrix((vectors * np.maximum(values, 0.0)) @ vectors.T)


@lru_cache(maxsize=16)
def _feedback(system: System, signature: tuple) -> Numeric:
    """Return what inputs that follow the coordinates add to the tangent."""
    balance = balance_of(system)
    n, m = system.size, len(system.parameters)
    kind: Any = ca.SX if balance.graph.scalar else ca.MX
    q = kind.sym("q", n)
    p = kind.sym("p", 1 + m + sum(SLOTS[k] for k, _ in signature))
    values = p[1 : 1 + m]
    u = lowered(signature, balance.graph.layout, p[0], q, kind.zeros(n), values, p[1 + m :])
    free = kind.sym("u", len(signature))
    fixed = kind.sym("q", n)
    slope = ca.jacobian(balance.forces(p[0], fixed, free, values)[0], free)
    at = ca.Function("slope", [fixed, free, p], [slope])(q, u, p)
    added = ca.mtimes(at, ca.jacobian(u, q))
    return Numeric(ca.Function("feedback", [q, p], [added]), frozenset({0}))
