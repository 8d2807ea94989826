"""Every step of a discrete action is stationary: momenta at its ends are those that it leaves."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse

from stationary.lower.engines.casadi import Numeric
from stationary.lower.kernel import AbstractKernel, numeric
from stationary.solve.gate.finding import Finding, measured
from stationary.solve.linear import Saddle
from stationary.solve.motion.ode import Ode, Piece

# What of momenta and velocities may be missing, and how many last digits of places are rounding.
_MISSING, _LAST_DIGITS = 1e-9, 64.0

# How many last digits of time the length of a step is known to, which is a difference of two.
_OF_A_LENGTH = 4.0

# Up to so many entries of constraints' slopes all steps are looked at; of larger ones one in many.
_SMALL, _ONE_IN = 1000, 100


def discrete(ode: Ode, begin: np.ndarray, piece: Piece) -> list[Finding]:
    """Measure the discrete Lagrange–d'Alembert equations, and velocities on the constraints.

    With D the Lagrangian at the middle of a step, momenta before and after it are −∂D/∂q₀ and
    ∂D/∂q₁ but for forces of constraints, which are whatever combination of their slopes serves.
    """
    kernel, n, rows = ode.kernel, ode.kernel.size, list(ode.kernel.rows)
    t, y = piece.t, piece.evaluate(piece.t)
    # What is told is what was gone on from.
    y[0], y[-1] = begin, piece.end
    looked = np.arange(len(t) - 1)
    if len(rows) * n > _SMALL:
        looked = looked[:: min(_ONE_IN, max(1, len(looked) - 1))]
    count, first = len(looked), t[looked]
    h = (t[looked + 1] - first)[:, None]
    before, after = y[looked], y[looked + 1]
    facts = _facts(kernel, count)(first, before.ravel(), h.ravel(), after.ravel(), ode.p)
    p0, p1, passing, push, *slopes = (x.reshape(count, -1) for x in facts)
    push = h / 2 * push
    roots = _roots(ode, t[0], y[0])
    off = [p0 + push - passing, passing + push - p1]
    size = np.abs(np.hstack([p0, p1, passing, push, *off]) / np.tile(roots, 6)).max(axis=1)
    reach = np.abs(roots * y[:, :n]).max()
    digits = _LAST_DIGITS * np.finfo(float).eps
    allowed = _MISSING * size + digits * reach / h[:, 0]
    claims = []
    if rows:
        # CasADi's columns come first.
        left, right, steep = (x.reshape(count, n, -1).transpose(0, 2, 1) for x in slopes[:3])
        off = [_free(off[0], left, roots), _free(off[1], right, roots)]
        rate, drive = np.abs(slopes[3]), np.abs(slopes[4])
        steep = np.abs(steep)
        terms = (steep @ np.abs(after[:, n : 2 * n, None]))[..., 0] + drive
        pull = (steep / roots).max(axis=(1, 2))[:, None]
        most = _MISSING * terms + digits * pull * (reach / h + size[:, None])
        # Places obey them, too, where a step ends; what rolls does so on its way.
        held = [rows[k] for k in np.flatnonzero([kernel.layout.holonomic[r] for r in rows])]
        rolled = [r for r in rows if r not in held]
        some = [*range(len(rows)), *(rows.index(r) for r in [*held, *rolled])]
        named = ["velocities"] * len(rows) + ["places"] * len(held) + ["ways"] * len(rolled)
        claims = _worst("constraints hold:", rate, most[:, some],
                        lambda i: f"{kernel.layout.row_name(rows[some[i]])}, {named[i]}",
                        first)  # fmt: skip
    off = np.maximum(np.abs(off[0]), np.abs(off[1])) / roots
    if not np.all(off <= allowed[:, None]):
        # Where forces are steep, the last digits of a place, or of time, are many of theirs; where
        # steps are short, those of time are many of a velocity's.
        digit = np.spacing(np.abs(t).max())
        aside = _LAST_DIGITS * np.spacing(np.abs(y).max(axis=0)) * (np.arange(y.shape[1]) < n)
        shaken = np.zeros_like(passing)
        for place, late, longer in ((aside, 0, 0), (0, _LAST_DIGITS, 0), (0, 0, _OF_A_LENGTH)):
            near, last = [(x + place).ravel() for x in (before, after)], h + longer * digit
            other = _facts(kernel, count)(
                first + late * digit, near[0], last.ravel(), near[1], ode.p
            )
            shaken += np.abs(other[2].reshape(count, n) - passing)
            shaken += np.abs(last / 2 * other[3].reshape(count, n) - push)
        allowed = allowed + (shaken / roots).max(axis=1)
    balance = "the action is stationary in"
    each = np.repeat(allowed[:, None], n, axis=1)
    return [*_worst(balance, off, each, kernel.layout.name, first), *claims]


@lru_cache(maxsize=32)
def _facts(kernel: AbstractKernel, count: int) -> Numeric:
    """Return momenta at the ends of several steps, and what passes and pushes in their middles.

    With constraints also the slopes whose forces may act before and after, those that velocities
    obey, and how far they do. Arguments are the time and the state where a step begins, its length,
    the state where it ends, and the vector p of the kernel.
    """
    graph, n, own = kernel.graph, kernel.size, kernel.rhs.numel_in(2)
    kind: Any = ca.SX if graph.scalar else ca.MX
    t, h, p = kind.sym("t"), kind.sym("h"), kind.sym("p", own)
    y0, y1 = kind.sym("before", kernel.states), kind.sym("after", kernel.states)

    def at(t: Any, q: Any, v: Any) -> tuple:
        state = ca.vertcat(q, v, kind.zeros(kernel.states - 2 * n))
        return t, q, v, kernel.inputs(t, state, p), p[: kernel.parameters]

    before, after = (at(x, y[:n], y[n : 2 * n]) for x, y in ((t, y0), (t + h, y1)))
    way = y1[:n] - y0[:n]
    middle = at(t + h / 2, y0[:n] + way / 2, way / h)
    facts = [graph.momenta(*before)[0], graph.momenta(*after)[0], *graph.momenta(*middle)]
    if kernel.rows:
        rows = list(kernel.rows)
        held, rolled = (
            [r for r in rows if kernel.layout.holonomic[r] == one] for one in (True, False)
        )
        R, rate, A, _, drive = graph.constraints(*after)
        _, passing, rolling, *_ = graph.constraints(*middle)
        # An empty list of rows takes all of a vector.
        rolling, left = rolling[rolled, :], [rate[rows], *(R[r] / h for r in held)]
        left = ca.vertcat(*left, *(passing[r] for r in rolled))
        facts += [ca.vertcat(graph.constraints(*before)[2][held, :], rolling),
                  ca.vertcat(A[rows, :], rolling), A[rows, :], left, drive[rows]]  # fmt: skip
    one = ca.Function("facts", [t, y0, h, y1, p], [ca.densify(x) for x in facts])
    return Numeric(one.map("facts", "serial", count, [4], []))


def _roots(ode: Ode, t: float, y: np.ndarray) -> np.ndarray:
    """Return roots of masses: by them radians beside nanometres count alike."""
    n = ode.kernel.size
    u = numeric(ode.kernel, "inputs")(t, y, ode.p)[0]
    arguments = (t, y[:n], y[n : 2 * n], u, ode.p[: ode.kernel.parameters])
    masses = np.abs(numeric(ode.kernel.graph, "dynamics")(*arguments)[0].diagonal())
    return np.sqrt(np.where(masses > 0, masses, masses.max(initial=0.0) or 1.0))


def _free(off: np.ndarray, slopes: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Take off what forces of constraints do, in units of the roots of masses."""
    A = slopes / roots
    if A.shape[1] * A.shape[2] > _SMALL:
        rest = np.empty_like(off)
        for k, some in enumerate(A):
            saddle = Saddle(sparse.eye(off.shape[1], format="csc"), sparse.csc_matrix(some))
            rest[k] = saddle.solve(off[k] / roots, np.zeros(len(some)))[0] * roots
        return rest
    basis = np.linalg.qr(A.transpose(0, 2, 1))[0]
    along = np.einsum("kij,ki->kj", basis, off / roots)
    return off - np.einsum("kij,kj->ki", basis, along) * roots


def _worst(claim: str, off: np.ndarray, allowed: np.ndarray, name: Any, t: np.ndarray):
    """Return the worst entry of a table with one row for each step."""
    k = int(np.argmax(np.max(np.nan_to_num(off, nan=np.inf) / (allowed + 1e-300), axis=1)))
    (largest,) = measured(claim, off[k], allowed[k] + 1e-300, name)
    where = f"{largest.where} in the step from t = {t[k]:.6g}"
    return [Finding(largest.claim, where, largest.measured, largest.allowed)]
