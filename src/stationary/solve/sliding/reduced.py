"""Newton's method on what moves, with what sticks held: exact derivatives, rounding at the end."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.linalg.lapack import dgesv
from scipy.sparse.linalg import splu

from stationary.derive.order import saddle_order
from stationary.solve.sliding.problem import STILL, Answer, Problem, largest

_MOST_STEPS = 40
_ROUNDING = 1e-12
# Terms let go or caught at once, and how often that is tried.
_ROUNDS = 12
_NONE = np.zeros(0, dtype=int)


def refined(problem: Problem, near: Answer) -> Answer | None:
    """Find the minimum near an answer; mend what sticks and what holds as needed.

    Returns None where Newton's method does not arrive: at a kink that is none, or nowhere.
    """
    seen = set()
    for _ in range(_ROUNDS):
        key = (near.stuck.tobytes(), near.working.tobytes())
        if key in seen:
            return None
        seen.add(key)
        found = _newton(problem, near)
        if found is None:
            return None
        changed, stuck, working = _mended(found)
        if not changed:
            return found
        near = replace(found, stuck=stuck, working=working)
    return None


def _mended(found: Answer) -> tuple[bool, np.ndarray, np.ndarray]:
    """Let go what is held with too much force; catch what would pass through."""
    problem = found.problem
    stuck, working = found.stuck.copy(), found.working.copy()
    slips = stuck & (found.resists > problem.size * (1 + 1e-9) + 1e-13 * problem.force)
    pulls = working & (found.mu < -1e-11 * found.strength)
    enters = ~working & (found.opening < -1e-11 * found.speed)
    if slips.any():
        stuck[slips] = False
    if pulls.any():
        # One at a time: the others may push again without it.
        working[np.flatnonzero(pulls)[np.argmin(found.mu[pulls])]] = False
    working |= enters
    return bool(slips.any() or pulls.any() or enters.any()), stuck, working


def _newton(problem: Problem, near: Answer) -> Answer | None:
    """Newton's method with fixed sets; None where a moving term comes to rest or nothing works.

    Where rows say the same, forces are shared as in the answer nearby, as far as they can be.
    """
    stuck, working = near.stuck, near.working
    B, A, G = problem.matrices
    held = np.flatnonzero(stuck[problem.term]) if stuck.any() else _NONE
    moves = ~stuck
    C = _stack(A, G[working], B[held])
    drive = np.concatenate([problem.b, problem.g[working], problem.c[held]])
    rows, gaps = len(problem.b), int(np.count_nonzero(working))
    nu = np.concatenate([near.lam, near.mu[working], -near.y[held]])
    driven = largest(drive)
    best, order = np.inf, None
    v, w, r, forces = near.v, near.rates, near.speeds, near.y
    for _ in range(_MOST_STEPS):
        w = problem.rates(v)
        r = problem.speeds(w)
        size = max(largest(w), driven)
        slow = r <= STILL * size
        if slow.any() and np.any(moves & slow & (problem.size > 0) & (problem.power < 1)):
            return None
        s = _slope(problem, r)
        if len(held):
            s[stuck] = 0.0
        forces = s[problem.term] * w
        push = B.T @ forces
        damping = problem.viscous(v) if problem.viscous else None
        if damping:
            push = push + damping[1]
        left = problem.f - push + C.T @ nu
        off = C @ v + drive
        astray = largest(off)
        error = largest(left) / max(problem.force, largest(nu)) + (astray / size if size else 0.0)
        if not isfinite(error):
            return None
        if error <= 1e-15 or (error < _ROUNDING and error >= 0.1 * best):
            break
        best = min(best, error)
        H = _bend(problem, w, r, s)
        if damping:
            H = H + (damping[2].toarray() if problem.dense else damping[2])
        if order is None and not problem.dense:
            order = saddle_order(H, C)
        dv, dnu = _solved(H, C, left, -off, order)
        if not (isfinite(dv.sum()) and isfinite(dnu.sum())):
            return None
        # Full steps lead onto what holds, and arrive close to the end, where rounding would only
        # mislead a search; in between a step may go too far.
        share = 1.0
        if error > 1e-6 and astray <= 1e-6 * size:
            share = _shortened(problem, v, dv, moves, float((C @ dv) @ (nu + dnu)))
        v, nu = v + share * dv, nu + dnu * share
        if largest(v) > 1e9 * max(size, 1.0):
            return None
    else:
        if best > 1e-10:
            return None
    forces[held] = -nu[rows + gaps :]
    mu = np.zeros(len(problem.g))
    mu[working] = nu[rows : rows + gaps]
    return Answer(problem, v, forces, nu[:rows], mu, stuck, working, "Newton")


def _slope(problem: Problem, r: np.ndarray) -> np.ndarray:
    """Return the force of each term per unit of speed, a rⁿ⁻¹."""
    if problem.dry:
        return np.divide(problem.size, r, out=np.zeros(len(r)), where=r > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        made = problem.size * np.where(r > 0, r, 1.0) ** (problem.power - 1)
    return np.where(r > 0, made, np.where(problem.power == 1, problem.size, 0.0))


def _bend(problem: Problem, w: np.ndarray, r: np.ndarray, s: np.ndarray) -> Any:
    """Return the slope of what friction resists with, `s` per unit of speed."""
    if problem.planar:
        # In a plane friction resists changes across the slip alone.
        X, Y = problem.planar
        u = w.reshape(-1, 2) / np.maximum(r, 1e-300)[:, None]
        across = X * u[:, 1] - Y * u[:, 0]
        return (across * s) @ across.T
    B = problem.matrices[0]
    rows = s[problem.term]
    bend = np.divide(s * (problem.power - 1), r * r, out=np.zeros_like(r), where=r > 0)
    if problem.dense:
        X = problem.sums(w[:, None] * B)
        return (B * rows[:, None]).T @ B + (X * bend[:, None]).T @ X
    gather = sparse.csr_matrix(
        (np.ones(len(w)), (problem.term, np.arange(len(w)))), shape=(problem.terms, len(w))
    )
    X = gather @ B.multiply(w[:, None]).tocsr()
    return B.T @ B.multiply(rows[:, None]) + X.T @ X.multiply(bend[:, None])


def _shortened(
    problem: Problem, v: np.ndarray, dv: np.ndarray, moves: np.ndarray, held: float
) -> float:
    """Return how much of a step to take: less where it would pass over a minimum.

    `held` is what the forces that hold do along the step.
    """

    def slope(x: np.ndarray) -> float:
        w = problem.rates(x)
        r = problem.speeds(w)
        push = np.where(moves, _slope(problem, r), 0.0)[problem.term] * w
        total = float((problem.matrices[0] @ dv) @ push - problem.f @ dv) - held
        return total + (float(problem.viscous(x)[1] @ dv) if problem.viscous else 0.0)

    # Convex along the line: a slope that has turned round says that the step is too long.
    start, end = slope(v), slope(v + dv)
    share, little = 1.0, 1e-6 * problem.force * float(np.abs(dv).max(initial=0.0))
    for _ in range(40):
        if end <= 0.5 * abs(start) + little:
            break
        share *= 0.5
        end = slope(v + share * dv)
    return share


def _stack(*blocks: Any) -> Any:
    if any(sparse.issparse(x) for x in blocks):
        return sparse.vstack(blocks, format="csr")
    return np.vstack(blocks)


def _solved(H: Any, C: Any, force: np.ndarray, gap: np.ndarray, order: np.ndarray | None):
    """Solve H x − Cᵀ z = force, C x = gap; of several solutions the smallest.

    Sparse matrices are factored in the given order, dense ones need none.
    """
    n, m = H.shape[0], C.shape[0]
    known = np.concatenate([force, gap])
    if order is None:
        K = np.zeros((n + m, n + m))
        K[:n, :n], K[:n, n:], K[n:, :n] = H, -C.T, C
        *_, made, singular = dgesv(K, known)
        # What is not finite fails the comparison, too.
        if singular or not largest(K @ made - known) <= 1e-8 * largest(known):
            made = np.linalg.lstsq(K, known, rcond=1e-13)[0]
        return made[:n], made[n:]
    size = abs(H).max() or 1.0
    K = sparse.bmat([[H, -C.T], [C, None]], format="csc")
    # Rows may say the same: damped a little they can be factored, and refinement undoes it.
    damped = K + sparse.diags(np.concatenate([np.full(n, 1e-12 * size), np.full(m, 1e-9 / size)]))
    try:
        factors = splu(
            damped[order][:, order].tocsc(), permc_spec="NATURAL", diag_pivot_thresh=0.01
        )
    except RuntimeError:
        return np.full(n, np.nan), np.full(m, np.nan)
    made = np.zeros(n + m)
    for _ in range(8):
        left = known - K @ made
        if np.abs(left).max() <= 1e-15 * np.abs(known).max():
            break
        made[order] += factors.solve(left[order])
    return made[:n], made[n:]


def least_move(
    problem: Problem, working: np.ndarray, off: np.ndarray, held: np.ndarray | None = None
) -> np.ndarray:
    """Return the smallest move that takes violations of what holds away.

    `held` are rates of friction that hold too.
    """
    B, A, G = problem.matrices
    C = _stack(A, G[working]) if held is None else _stack(A, G[working], B[held])
    if problem.dense:
        return np.linalg.lstsq(C, -off, rcond=1e-12)[0]
    eye = sparse.eye(problem.n, format="csr")
    return _solved(eye, C, np.zeros(problem.n), -off, saddle_order(eye, C))[0]


def least_motion(problem: Problem, working: np.ndarray) -> np.ndarray:
    """Return the smallest velocity that the constraints allow."""
    drive = np.concatenate([problem.b, problem.g[working]])
    return least_move(problem, working, drive) if len(drive) else np.zeros(problem.n)
