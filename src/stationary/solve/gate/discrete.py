"""Every step of a discrete action is stationary: momenta at its ends are those that it leaves."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse
from scipy.linalg import cho_solve_banded, cholesky_banded
from scipy.sparse.csgraph import reverse_cuthill_mckee

from stationary.lower.engines.casadi import Numeric
from stationary.lower.kernel import AbstractKernel, numeric
from stationary.solve.gate.finding import Finding, measured
from stationary.solve.motion.ode import Ode, Piece

# What of momenta and velocities may be missing, and how many last digits of places are rounding.
_MISSING, _LAST_DIGITS = 1e-9, 64.0

# How many last digits of time the length of a step is known to, which is a difference of two.
_OF_A_LENGTH = 4.0

# Forces along slopes of constraints with up to so many entries are taken off by QR factors; along
# larger ones by Cholesky's in bands, of at most so many entries at a time. A last digit of their
# diagonal keeps these from failing, and is made good in several rounds.
_SMALL, _IN_BANDS = 200, 10**6
_LAST_DIGIT, _ROUNDS = 1e-15, 3


def discrete(ode: Ode, begin: np.ndarray, piece: Piece) -> list[Finding]:
    """Measure the discrete Lagrange–d'Alembert equations, and velocities on the constraints.

    With D the Lagrangian at the middle of a step, momenta before and after it are −∂D/∂q₀ and
    ∂D/∂q₁ but for forces of constraints, which are whatever combination of their slopes serves.
    """
    kernel, n, rows = ode.kernel, ode.kernel.size, list(ode.kernel.rows)
    t, y = piece.t, piece.evaluate(piece.t)
    # What is told is what was gone on from.
    y[0], y[-1] = begin, piece.end
    count, first, before, after = len(t) - 1, t[:-1], y[:-1], y[1:]
    h = np.diff(t)[:, None]
    facts = _facts(kernel, count)(first, before.ravel(), h.ravel(), after.ravel(), ode.p)
    p0, p1, passing, push = (x.reshape(count, -1) for x in facts[:4])
    push = h / 2 * push
    roots = _roots(ode, t[0], y[0])
    off = [p0 + push - passing, passing + push - p1]
    size = np.abs(np.hstack([p0, p1, passing, push, *off]) / np.tile(roots, 6)).max(axis=1)
    reach = np.abs(roots * y[:, :n]).max()
    digits = _LAST_DIGITS * np.finfo(float).eps
    allowed = _MISSING * size + digits * reach / h[:, 0]
    claims = []
    if rows:
        left, right, steep = (_in_blocks(x, count) for x in facts[4:7])
        off = [_free(x, A, roots) for x, A in zip(off, (left, right))]
        rate, drive = (np.abs(x).reshape(count, -1) for x in facts[7:])
        terms = (abs(steep) @ np.abs(after[:, n : 2 * n].ravel())).reshape(count, -1) + drive
        pulls = abs(steep @ sparse.diags(np.tile(1 / roots, count)))
        pull = pulls.max(axis=1).toarray().reshape(count, -1).max(axis=1)[:, None]
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
    slopes = frozenset({4, 5, 6}) if kernel.rows else frozenset()
    facts = [x if k in slopes else ca.densify(x) for k, x in enumerate(facts)]
    one = ca.Function("facts", [t, y0, h, y1, p], facts)
    return Numeric(one.map("facts", "serial", count, [4], []), slopes)


def _roots(ode: Ode, t: float, y: np.ndarray) -> np.ndarray:
    """Return roots of masses: by them radians beside nanometres count alike."""
    n = ode.kernel.size
    u = numeric(ode.kernel, "inputs")(t, y, ode.p)[0]
    arguments = (t, y[:n], y[n : 2 * n], u, ode.p[: ode.kernel.parameters])
    masses = np.abs(numeric(ode.kernel.graph, "dynamics")(*arguments)[0].diagonal())
    return np.sqrt(np.where(masses > 0, masses, masses.max(initial=0.0) or 1.0))


def _in_blocks(slopes: Any, count: int) -> Any:
    """Return matrices that stand side by side as the blocks of one."""
    side = sparse.coo_matrix(slopes)
    m, n = side.shape[0], side.shape[1] // count
    row = side.row + m * (side.col // n)
    return sparse.csr_matrix((side.data, (row, side.col)), shape=(m * count, n * count))


def _free(off: np.ndarray, slopes: Any, roots: np.ndarray) -> np.ndarray:
    """Take off what forces of constraints do, in units of the roots of masses."""
    count, n = off.shape
    A = (slopes @ sparse.diags(np.tile(1 / roots, count))).tocsr()
    m, left = A.shape[0] // count, off / roots
    if m * n > _SMALL:
        some = max(1, _IN_BANDS // m**2)
        groups = [slice(k, min(k + some, count)) for k in range(0, count, some)]
        blocks = [A[m * g.start : m * g.stop, n * g.start : n * g.stop] for g in groups]
        return np.vstack([_free_in_bands(left[g], B) for g, B in zip(groups, blocks)]) * roots
    entries, columns = A.tocoo(), np.zeros((count, n, m))
    columns[entries.row // m, entries.col % n, entries.row % m] = entries.data
    basis = np.linalg.qr(columns)[0]
    along = np.einsum("kij,ki->kj", basis, left)
    return (left - np.einsum("kij,kj->ki", basis, along)) * roots


def _free_in_bands(left: np.ndarray, A: Any) -> np.ndarray:
    """Take off what lies along rows, each step's a block of A, by least squares."""
    count, n = left.shape
    m = A.shape[0] // count
    if not np.all(np.isfinite(A.data)):
        return np.full_like(left, np.nan)
    order = reverse_cuthill_mckee((A[:m] @ A[:m].T).tocsr(), symmetric_mode=True)
    A = A[(np.arange(count)[:, None] * m + order).ravel()]
    normal = sparse.tril(A @ A.T).tocoo()
    aside = normal.row - normal.col
    bands = np.zeros((aside.max(initial=0) + 1, m * count))
    bands[aside, normal.col] = normal.data
    bands[0] += _LAST_DIGIT * (bands[0].max() or 1.0)
    factors, free = cholesky_banded(bands, lower=True), left.ravel()
    for _ in range(_ROUNDS):
        free = free - A.T @ cho_solve_banded((factors, True), A @ free)
    return free.reshape(count, n)


def _worst(claim: str, off: np.ndarray, allowed: np.ndarray, name: Any, t: np.ndarray):
    """Return the worst entry of a table with one row for each step."""
    k = int(np.argmax(np.max(np.nan_to_num(off, nan=np.inf) / (allowed + 1e-300), axis=1)))
    (largest,) = measured(claim, off[k], allowed[k] + 1e-300, name)
    where = f"{largest.where} in the step from t = {t[k]:.6g}"
    return [Finding(largest.claim, where, largest.measured, largest.allowed)]
