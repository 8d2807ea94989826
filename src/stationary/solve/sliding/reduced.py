"""Newton's method on what moves, with what sticks held: exact derivatives, rounding at the end."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.linalg.lapack import dgetrf, dgetrs
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
    problem, stuck, working = found.problem, found.stuck, found.working
    changed = False
    if stuck.any():
        slips = stuck & (found.resists > problem.size * (1 + 1e-9) + 1e-13 * problem.force)
        changed = bool(slips.any())
        stuck = stuck & ~slips
    if len(working):
        pulls = working & (found.mu < -1e-11 * found.strength)
        enters = ~working & (found.opening < -1e-11 * found.speed)
        changed = changed or bool(pulls.any() or enters.any())
        working = working | enters
        if pulls.any():
            # One at a time: the others may push again without it.
            working[np.flatnonzero(pulls)[np.argmin(found.mu[pulls])]] = False
    return changed, stuck, working


class _Look:
    """What resists at a velocity, with some terms held."""

    def __init__(self, problem: Problem, v: np.ndarray, stuck: np.ndarray | None):
        self.v, self.w = v, problem.rates(v)
        self.r = problem.speeds(self.w)
        self.s = _slope(problem, self.r)
        if stuck is not None:
            self.s[stuck] = 0.0
        self.forces = self.s[problem.term] * self.w
        self.push = problem.matrices[0].T @ self.forces
        self.damping = problem.viscous(v) if problem.viscous else None
        if self.damping:
            self.push = self.push + self.damping[1]

    def bend(self, problem: Problem) -> Any:
        """Return the slope of what resists."""
        H = _bend(problem, self.w, self.r, self.s)
        if self.damping:
            H = H + (self.damping[2].toarray() if problem.dense else self.damping[2])
        return H


def _newton(problem: Problem, near: Answer) -> Answer | None:
    """Newton's method with fixed sets; None where a moving term comes to rest or nothing works.

    Where rows say the same, forces are shared as in the answer nearby, as far as they can be.
    """
    stuck, working = near.stuck, near.working
    B, A, G = problem.matrices
    some = stuck if stuck.any() else None
    held = np.flatnonzero(stuck[problem.term]) if some is not None else _NONE
    C, drive, nu = A, problem.b, near.lam
    if len(held) or len(working):
        C = _stack(A, G[working], B[held])
        drive = np.concatenate([problem.b, problem.g[working], problem.c[held]])
        nu = np.concatenate([near.lam, near.mu[working], -near.y[held]])
    rows, gaps, driven = len(problem.b), int(np.count_nonzero(working)), largest(drive)
    best, step = np.inf, _Saddle(C, problem.dense)
    here = _Look(problem, near.v, some)
    for _ in range(_MOST_STEPS):
        size = max(largest(here.w), driven)
        slow = here.r <= STILL * size
        if slow.any() and np.any(~stuck & slow & (problem.size > 0) & (problem.power < 1)):
            return None
        left = problem.f - here.push + C.T @ nu
        off = C @ here.v + drive
        astray = largest(off)
        error = largest(left) / max(problem.force, largest(nu)) + (astray / size if size else 0.0)
        if not isfinite(error):
            return None
        if error <= 1e-15 or (error < _ROUNDING and error >= 0.1 * best):
            break
        best = min(best, error)
        # Close to the end the last slope is good enough: what it leaves is below rounding.
        if error * step.error > 1e-16:
            step.take(here.bend(problem), error)
        dv, dnu = step.solve(left, -off)
        ahead = _Look(problem, here.v + dv, some)
        if not (isfinite(ahead.push.sum()) and isfinite(dnu.sum())):
            return None
        # Full steps lead onto what holds, and arrive close to the end, where rounding would only
        # mislead a search; in between a step may go too far.
        if error > 1e-6 and astray <= 1e-6 * size:
            work = float((C @ dv) @ (nu + dnu))
            share, ahead = _shortened(problem, here, dv, ahead, some, work)
            dnu = share * dnu
        here, nu = ahead, nu + dnu
        if largest(here.v) > 1e9 * max(size, 1.0):
            return None
    else:
        if best > 1e-10:
            return None
    forces = here.forces
    forces[held] = -nu[rows + gaps :]
    mu = np.zeros(len(problem.g))
    mu[working] = nu[rows : rows + gaps]
    found = Answer(problem, here.v, forces, nu[:rows], mu, stuck, working, "Newton")
    # Known already: what an answer would compute again from its velocity.
    found.__dict__.update(rates=here.w, speeds=here.r)
    return found


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
        across = X * w[1::2] - Y * w[0::2]
        return (across * (s / np.maximum(r * r, 1e-300))) @ across.T
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
    problem: Problem,
    here: _Look,
    dv: np.ndarray,
    ahead: _Look,
    stuck: np.ndarray | None,
    held: float,
) -> tuple[float, _Look]:
    """Return how much of a step to take, less where it would pass over a minimum, and its end.

    `held` is what the forces that hold do along the step.
    """

    def slope(at: _Look) -> float:
        return float((at.push - problem.f) @ dv) - held

    # Convex along the line: a slope that has turned round says that the step is too long.
    start, share = slope(here), 1.0
    little = 1e-6 * problem.force * largest(dv)
    for _ in range(40):
        if slope(ahead) <= 0.5 * abs(start) + little:
            break
        share *= 0.5
        ahead = _Look(problem, here.v + share * dv, stuck)
    return share, ahead


def _stack(*blocks: Any) -> Any:
    if any(sparse.issparse(x) for x in blocks):
        return sparse.vstack(blocks, format="csr")
    return np.vstack(blocks)


class _Saddle:
    """H x − Cᵀ z = force, C x = gap; of several solutions the smallest."""

    def __init__(self, C: Any, dense: bool):
        self.C, self.dense = C, dense
        self.order: Any = None
        # How far from the end H was taken.
        self.error = np.inf

    def take(self, H: Any, error: float = np.inf) -> None:
        """Factor the matrix with this H."""
        self.error, (m, n) = error, self.C.shape
        if self.dense:
            K = np.zeros((n + m, n + m))
            K[:n, :n], K[:n, n:], K[n:, :n] = H, -self.C.T, self.C
            self.K, self.factors = K, dgetrf(K)
            return
        if self.order is None:
            self.order = saddle_order(H, self.C)
        self.K = sparse.bmat([[H, -self.C.T], [self.C, None]], format="csc")
        # Rows may say the same: damped a little they can be factored, and refinement undoes it.
        size = abs(H).max() or 1.0
        little = np.concatenate([np.full(n, 1e-12 * size), np.full(m, 1e-9 / size)])
        damped = (self.K + sparse.diags(little))[self.order][:, self.order]
        try:
            self.factors = splu(damped.tocsc(), permc_spec="NATURAL", diag_pivot_thresh=0.01)
        except RuntimeError:
            self.factors = None

    def solve(self, force: np.ndarray, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return x and z; not finite where nothing can be solved."""
        n, known = len(force), np.concatenate([force, gap])
        if self.factors is None:
            made = np.full(len(known), np.nan)
        elif self.dense:
            lower, pivots, singular = self.factors
            made = dgetrs(lower, pivots, known)[0]
            # What is not finite fails the comparison, too.
            if singular or not largest(self.K @ made - known) <= 1e-8 * largest(known):
                made = np.linalg.lstsq(self.K, known, rcond=1e-13)[0]
        else:
            made = np.zeros(len(known))
            for _ in range(8):
                left = known - self.K @ made
                if largest(left) <= 1e-15 * largest(known):
                    break
                made[self.order] += self.factors.solve(left[self.order])
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
    saddle = _Saddle(C, dense=False)
    saddle.take(sparse.eye(problem.n, format="csr"))
    return saddle.solve(np.zeros(problem.n), -off)[0]


def least_motion(problem: Problem, working: np.ndarray) -> np.ndarray:
    """Return the smallest velocity that the constraints allow."""
    drive = np.concatenate([problem.b, problem.g[working]])
    return least_move(problem, working, drive) if len(drive) else np.zeros(problem.n)
