"""The search for an equilibrium: Newton's method on the balance of forces, IPOPT if rough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse

from stationary.derive.balance import Balance
from stationary.derive.order import saddle_order
from stationary.lower.engines.casadi import Numeric
from stationary.lower.inputs import SLOTS, drives, lowered, translate
from stationary.lower.kernel import graph_of, numeric
from stationary.model.layout import Layout
from stationary.model.system import System
from stationary.result.equilibrium import Equilibrium
from stationary.result.multipliers import Multipliers
from stationary.result.status import Status
from stationary.solve.progress import Progress
from stationary.solve.saddle import EXAMINE_UP_TO, Saddle, independent_rows, tangent_basis

# Newton steps before another method is tried.
_MOST_STEPS = 200

# Unbalanced forces and violations below this, relative to the forces at work, are rounding. Where
# rounding is worse, the best of several steps that no longer improve is taken.
_RESIDUAL = 2e-14
_ACCEPTED = 1e-10
_PATIENCE = 3

# Largest system for which IPOPT is tried when Newton's method fails: beyond, it is too slow.
_IPOPT_UP_TO = 5000

# A coordinate beyond this has no equilibrium to go to.
_FAR = 1e8


def search_of(
    system: System,
    params: Mapping[Any, float] | None,
    inputs: Mapping[Any, Any] | None,
    t: float,
    kind: str,
) -> Search:
    """Return a search at given values of parameters and inputs."""
    layout = graph_of(system).layout
    driven = drives(layout, inputs, (t, float(np.nextafter(t, np.inf))))
    return Search(system, layout.values(params), driven.signature, driven.slots(t), t, kind)


@lru_cache(maxsize=64)
def balance_of(system: System) -> Balance:
    """Return the balance of a system; equal statements share one."""
    return Balance(graph_of(system))


@dataclass
class Search:
    """The search for an equilibrium at given parameters."""

    system: System
    params: np.ndarray
    signature: tuple
    slots: np.ndarray
    t: float
    kind: str = "minimum"
    steps: int = 0
    order: np.ndarray | None = field(default=None)

    @cached_property
    def balance(self) -> Balance:
        """The graph of the system at rest."""
        return balance_of(self.system)

    @property
    def layout(self) -> Layout:
        """Where every name stands."""
        return self.balance.graph.layout

    # -- numbers ----------------------------------------------------------------------------------

    def inputs(self, q: np.ndarray) -> np.ndarray:
        """Return the inputs at a configuration."""
        values, place = [], 0
        for kind, content in self.signature:
            if kind == "expression":
                zero = np.zeros_like(q)
                made = translate(content, self.layout, self.t, q, zero, self.params)
                values.append(float(ca.DM(made)))
            else:
                values.append(self.slots[place])
                place += SLOTS[kind]
        return np.array(values)

    def forces(self, q: np.ndarray) -> tuple[np.ndarray, float]:
        """Return g and the energy."""
        g, energy, _ = numeric(self.balance, "forces")(self.t, q, self.inputs(q), self.params)
        return g, float(energy[0])

    def has_energy(self, q: np.ndarray) -> bool:
        """Tell whether the forces are the slope of the energy, there and a little further on."""
        if any(kind == "expression" for kind, _ in self.signature):
            return False
        rng = np.random.default_rng(1)
        for point in (q, q + 0.1 * rng.standard_normal(len(q))):
            u = self.inputs(point)
            g, _, slope = numeric(self.balance, "forces")(self.t, point, u, self.params)
            size = max(np.abs(g).max(initial=0.0), 1e-300)
            if np.all(np.isfinite(g)) and np.abs(g - slope).max(initial=0.0) > 1e-9 * size:
                return False
        return True

    def tangent(self, q: np.ndarray) -> sparse.csc_matrix:
        """Return ∂g/∂q."""
        K = numeric(self.balance, "tangent")(self.t, q, self.inputs(q), self.params)[0]
        if any(kind == "expression" for kind, _ in self.signature):
            p = np.concatenate([[self.t], self.params, self.slots])
            K = K + _feedback(self.system, self.signature)(q, p)[0]
        return K

    def limits(self, q: np.ndarray) -> tuple[np.ndarray, sparse.csr_matrix]:
        """Return R and gaps, and their gradients."""
        c, A = numeric(self.balance, "limits")(self.t, q, self.inputs(q), self.params)
        return c, A.tocsr()

    def curvature(self, q: np.ndarray, lam: np.ndarray) -> sparse.csc_matrix:
        """Return Σ λ ∂²R/∂q²."""
        if not len(lam):
            return sparse.csc_matrix((len(q), len(q)))
        bend = numeric(self.balance, "curvature")
        return bend(self.t, q, self.inputs(q), self.params, lam)[0]

    def conservative(self, q: np.ndarray) -> bool:
        """Tell whether the loads have a potential, by the symmetry of the tangent."""
        rng = np.random.default_rng(1)
        for point in (q, q + 0.1 * rng.standard_normal(len(q))):
            K = self.tangent(point)
            size = abs(K).max() if K.nnz else 0.0
            if not np.isfinite(size):
                continue
            if size and abs(K - K.T).max() > 1e-9 * size:
                return False
        return True

    # -- the search -------------------------------------------------------------------------------

    def run(self, q: np.ndarray) -> Equilibrium:
        """Search from a start and wrap up what was found."""
        if self.balance.gaps and self.kind == "minimum":
            q, active = self.by_ipopt(q)
            q, lam, status = self.newton(q, active)
            return self.wrapped(q, lam, status, active)
        active = np.arange(self.balance.rows)
        found, lam, status = self.newton(q, active)
        if status != "balanced" and self.kind == "minimum" and len(q) <= _IPOPT_UP_TO:
            again, _ = self.by_ipopt(q)
            if np.all(np.isfinite(again)) and np.abs(again).max() < _FAR:
                other, lam2, better = self.newton(again, active)
                if better == "balanced":
                    found, lam, status = other, lam2, better
        return self.wrapped(found, lam, status, active)

    def newton(self, q: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
        """Newton's method on the conditions of balance; steps that go for minima if asked to."""
        progress = Progress(f"statics of {self.system.name or 'a system'}")
        lam = self.first_multipliers(q, active)
        penalty, reach = 1.0, 1.0
        best, waited, scale = (np.inf, q, lam), 0, 1e-300
        descend = self.kind == "minimum" and self.has_energy(q)
        try:
            for count in range(_MOST_STEPS):
                self.steps += 1
                progress.show(count / _MOST_STEPS)
                g, energy = self.forces(q)
                c, A = self.limits(q)
                c, A = c[active], A[active]
                if not (np.all(np.isfinite(g)) and np.all(np.isfinite(c))):
                    return q, lam, "not finite"
                H = self.tangent(q) - self.curvature(q, self.full(lam, active))
                size = max(1.0, np.abs(q).max(initial=0.0))
                # The largest forces at work so far: their rounding is what can be hoped for.
                at_work = (np.abs(g) + abs(A).T @ np.abs(lam)).max(initial=0.0)
                scale = max(at_work, size * abs(H).max() if H.nnz else 0.0, scale)
                left = max(
                    np.abs(g - A.T @ lam).max(initial=0.0) / scale,
                    np.abs(c).max(initial=0.0) / size,
                )
                if left < best[0]:
                    best, waited = (left, q, lam), 0
                else:
                    waited += 1
                if left <= _RESIDUAL or (best[0] <= _ACCEPTED and waited >= _PATIENCE):
                    return best[1], best[2], "balanced"
                saddle = self.saddle(H, A)
                if descend:
                    saddle = self._convex(saddle)
                move, minus = saddle.solve(-g, -c)
                new = -minus
                if np.abs(move).max(initial=0.0) <= 4e-16 * size and count:
                    held = np.abs(c).max(initial=0.0) <= _ACCEPTED * size
                    good = held and np.abs(g - A.T @ new).max() <= _ACCEPTED * scale
                    return q, new, "balanced" if good else "stalled"
                if np.abs(q).max(initial=0.0) > _FAR:
                    return q, lam, "unbounded"
                if descend:
                    penalty = max(penalty, 2 * np.abs(new).max(initial=0.0))
                    step = self._search_line(q, move, energy, g, c, penalty, active)
                else:
                    step = self._search_residual(q, lam, move, new, active)
                if step == 0.0:
                    return q, lam, "stalled"
                reach = step
                q = q + step * move
                lam = lam + step * (new - lam)
        finally:
            progress.close()
        return q, lam, "stalled" if reach < 1 else "too many steps"

    def saddle(self, H: Any, A: Any) -> Saddle:
        """Return the matrix of a Newton step, ordered as the first one was."""
        made = Saddle(H, A, self.order)
        if not made.dense and self.order is None:
            self.order = saddle_order(H, A)
            made = Saddle(H, A, self.order)
        return made

    def _convex(self, saddle: Saddle) -> Saddle:
        """Make the Hessian positive on the tangent space: steps then go downhill.

        Negative curvature is turned round, not barely overcome: steps stay as long as the energy
        is like its quadratic model.
        """
        size = abs(saddle.H).max() if saddle.H.nnz else 1.0
        _, negative, zero = saddle.signs
        if not negative and not zero:
            return saddle
        if saddle.dense:
            values, vectors = saddle.tangent_eigenvalues
            tiny = 1e-11 * max(np.abs(values).max(), 1e-300)
            add = np.where(values < -tiny, 2 * np.abs(values), 0.0)
            add = np.where(np.abs(values) <= tiny, max(1e-6 * size, 1e-12), add)
            more = (vectors * add) @ vectors.T
            return Saddle(sparse.csc_matrix(saddle.H + more), saddle.A, saddle.order)
        shift = 0.0
        trial = saddle
        for _ in range(40):
            _, negative, zero = trial.signs
            if not negative and not zero:
                return trial
            shift = max(1e-6 * size, 8 * shift, 1e-12)
            trial = saddle.shifted(shift)
        return trial

    def _search_line(self, q, move, energy, g, c, penalty, active) -> float:
        """Shorten a step until energy plus violation goes down (ℓ₁ merit, Armijo)."""
        violation = np.abs(c).sum()
        merit = energy + penalty * violation
        slope = g @ move - penalty * violation
        step = 1.0
        noise = 1e-13 * (abs(energy) + penalty * violation + np.abs(g) @ np.abs(q))
        for _ in range(50):
            trial = q + step * move
            _, new = self.forces(trial)
            c_new, _ = self.limits(trial)
            value = new + penalty * np.abs(c_new[active]).sum()
            if np.isfinite(value) and value <= merit + 1e-4 * step * min(slope, 0.0) + noise:
                return step
            step /= 2
        return 0.0

    def _search_residual(self, q, lam, move, new, active) -> float:
        """Shorten a step until the residual of the balance goes down."""

        def residual(q, lam):
            g, _ = self.forces(q)
            c, A = self.limits(q)
            return np.linalg.norm(np.concatenate([g - A[active].T @ lam, c[active]]))

        before, step = residual(q, lam), 1.0
        for _ in range(40):
            after = residual(q + step * move, lam + step * (new - lam))
            if np.isfinite(after) and after <= (1 - 1e-4 * step) * before + 1e-14:
                return step
            step /= 2
        return 0.0

    def first_multipliers(self, q: np.ndarray, active: np.ndarray) -> np.ndarray:
        """Return the multipliers that balance the forces best, in least squares."""
        if not len(active):
            return np.zeros(0)
        g, _ = self.forces(q)
        _, A = self.limits(q)
        identity = sparse.eye(len(q), format="csc")
        _, minus = Saddle(identity, A[active]).solve(g, np.zeros(len(active)))
        return minus if np.all(np.isfinite(minus)) else np.zeros(len(active))

    def full(self, lam: np.ndarray, active: np.ndarray) -> np.ndarray:
        """Return the multipliers of all rows and contacts, zero where they do not hold."""
        full = np.zeros(self.balance.rows + self.balance.gaps)
        full[active] = lam
        return full

    def by_ipopt(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Minimize by IPOPT; return the configuration and the rows that hold there."""
        solver = _ipopt(self.system, self.signature)
        p = np.concatenate([[self.t], self.params, self.slots])
        low = np.zeros(self.balance.rows + self.balance.gaps)
        high = np.concatenate([low[: self.balance.rows], np.full(self.balance.gaps, np.inf)])
        try:
            made = solver(x0=q, p=p, lbg=low, ubg=high)
        except RuntimeError:
            return np.full_like(q, np.nan), np.arange(self.balance.rows)
        found = np.asarray(made["x"]).ravel()
        pushes = -np.asarray(made["lam_g"]).ravel()[self.balance.rows :]
        touching = np.flatnonzero(pushes > 1e-6 * max(1.0, np.abs(pushes).max(initial=0.0)))
        return found, np.concatenate([np.arange(self.balance.rows), self.balance.rows + touching])

    # -- the result -------------------------------------------------------------------------------

    def wrapped(self, q, lam, status: str, active: np.ndarray) -> Equilibrium:
        """Return the result, with its evidence."""
        g, energy = self.forces(q)
        c, A = self.limits(q)
        rows = A[active]
        redundant: tuple[str, ...] = ()
        if len(active) and len(q) + len(active) <= EXAMINE_UP_TO:
            kept = independent_rows(rows)
            dropped = sorted(set(range(len(active))) - set(kept.tolist()))
            redundant = tuple(self._row_name(int(active[i])) for i in dropped)
            if redundant:
                lam = np.linalg.lstsq(rows.toarray().T, rows.T @ lam, rcond=1e-10)[0]
        H = self.tangent(q) - self.curvature(q, self.full(lam, active))
        saddle = self.saddle((H + H.T) / 2, rows)
        eigenvalues, free = self._eigen(saddle)
        positive, negative, zero = saddle.signs
        conservative = self.conservative(q)
        stable = status == "balanced" and negative == 0 and len(free) == zero
        if not conservative and status == "balanced":
            stable = bool(np.all(np.linalg.eigvals(self._reduced(H, rows)).real > 0))
        gaps = c[self.balance.rows :]
        residual = {
            "force": float(np.abs(g - rows.T @ lam).max(initial=0.0)),
            "R": float(np.abs(c[: self.balance.rows]).max(initial=0.0)),
        }
        if len(gaps):
            residual["gap"] = float(max(0.0, -gaps.min()))
        if status == "balanced" and self.kind == "minimum" and negative and conservative:
            status = "saddle"
        return Equilibrium(
            system=self.system,
            graph=self.balance.graph,
            q=q,
            params=self.params,
            u=self.inputs(q),
            t=self.t,
            lam=Multipliers.of(self.full(lam, active), self.layout),
            energy=energy if self.has_energy(q) else None,
            eigenvalues=eigenvalues,
            inertia=(positive, negative, zero),
            stable=stable,
            free=free,
            residual=residual,
            redundant=redundant,
            status=Status(status, _MESSAGES[status]),
            steps=self.steps,
        )

    def _row_name(self, row: int) -> str:
        rows = self.balance.rows
        return self.layout.row_name(row) if row < rows else self.layout.gaps[row - rows].name

    def _reduced(self, H: Any, rows: Any) -> np.ndarray:
        Z = tangent_basis(rows)
        return Z.T @ H.toarray() @ Z

    def _eigen(self, saddle: Saddle) -> tuple[np.ndarray, np.ndarray]:
        """Return eigenvalues on the tangent space, and directions along which nothing changes."""
        if not saddle.dense:
            return saddle.smallest(), np.empty((0, saddle.n))
        values, vectors = saddle.tangent_eigenvalues
        if not len(values):
            return values, np.empty((0, saddle.n))
        flat = np.abs(values) <= 1e-11 * max(1.0, np.abs(values).max())
        return values, vectors[:, flat].T


_MESSAGES = {
    "balanced": "all forces balance",
    "saddle": "forces balance, but the energy has no minimum there",
    "stalled": "Newton's method stopped making progress",
    "too many steps": "Newton's method took too many steps",
    "unbounded": "the energy goes down for ever",
    "not finite": "forces or constraints are not finite",
}


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
    still = kind.sym("q", n)
    slope = ca.jacobian(balance.forces(p[0], still, free, values)[0], free)
    at = ca.Function("slope", [still, free, p], [slope])(q, u, p)
    made = ca.mtimes(at, ca.jacobian(u, q))
    return Numeric(ca.Function("feedback", [q, p], [made]), frozenset({0}))


@lru_cache(maxsize=16)
def _ipopt(system: System, signature: tuple) -> ca.Function:
    balance = balance_of(system)
    n, m = system.size, len(system.parameters)
    kind: Any = ca.MX
    q = kind.sym("q", n)
    slots = sum(SLOTS[k] for k, _ in signature)
    p = kind.sym("p", 1 + m + slots)
    t, values = p[0], p[1 : 1 + m]
    u = lowered(signature, balance.graph.layout, t, q, kind.zeros(n), values, p[1 + m :])
    _, energy, _ = balance.forces(t, q, u, values)
    limits, _ = balance.limits(t, q, u, values)
    options = {
        "ipopt.print_level": 0,
        "ipopt.sb": "yes",
        "print_time": False,
        "ipopt.tol": 1e-10,
        "ipopt.max_iter": 500,
        "show_eval_warnings": False,
    }
    problem = {"x": q, "p": p, "f": energy, "g": limits}
    return ca.nlpsol("rest", "ipopt", problem, options)
