"""Newton's method on what moves, with what sticks held: exact derivatives, rounding at the end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.linalg.lapack import dgetrf, dgetrs
from scipy.sparse.linalg import splu

from stationary.derive.elimination_order import saddle_order
from stationary.solve.sliding.problem.mode import Mode
from stationary.solve.sliding.problem.numbers import (
    STILL,
    Answer,
    Problem,
    by_rows,
    largest,
    stacked,
)

_MOST_STEPS = 40
_ROUNDING, _ACCEPTED = 1e-12, 1e-10
# What is smaller than this share of all that is at work is none.
NONE = 2.0**-53
# Forces so many times larger or smaller than velocities are taken in other units.
_OTHER = 2.0**10
# Terms let go or caught at once, and how often that is tried.
_ROUNDS = 12
_NONE = np.zeros(0, dtype=int)


def refined(problem: Problem, near: Answer) -> Answer | None:
    """Find the motion near an answer; mend what sticks and what holds as needed.

    Returns None where Newton's method does not arrive: at a kink that is none, or nowhere.
    """
    seen = set()
    for _ in range(_ROUNDS):
        mode = Mode.of(near)
        if mode in seen:
            return None
        seen.add(mode)
        answer, caught = _newton(problem, near, lines=False)
        if answer is None and caught is None:
            return None
        if answer is None:
            near = caught  # pyright: ignore[reportAssignmentType]  # one of both is something
            continue
        changed, stuck, working = mended(answer)
        if not changed:
            return answer
        near = replace(answer, stuck=stuck, working=working)
    return None


def overheld(near: Answer) -> bool:
    """Tell whether more rates are held than there are velocities: that may be so by chance."""
    p = near.problem
    rubs = (near.stuck & (p.size > 0))[p.term]
    return bool(len(p.b) + np.count_nonzero(near.working) + np.count_nonzero(rubs) > p.n)


def mended(answer: Answer) -> tuple[bool, np.ndarray, np.ndarray]:
    """Let go what is held with too much force; catch what would pass through or back."""
    problem, stuck, working = answer.problem, answer.stuck, answer.working
    changed = False
    if stuck.any():
        slips = stuck & (answer.resists > problem.size * (1 + 1e-9) + 1e-13 * problem.force)
        if problem.follows is not None:
            # What nothing presses neither sticks nor slides.
            slips &= ~problem.follows | (problem.size > 0)
        changed = bool(slips.any())
        stuck = stuck & ~slips
    if problem.follows is not None:
        # Along a line friction keeps its sign in a mode: what would slide with it has stopped.
        lines = problem.follows & (problem.widths == 1) & ~answer.stuck & (problem.size > 0)
        first = problem.starts[lines]
        back = answer.rates[first] * np.sign(answer.y[first]) < -1e-11 * answer.speed
        if back.any():
            changed = True
            stuck = stuck.copy()
            stuck[np.flatnonzero(lines)[back]] = True
    if len(working):
        pulls = working & (answer.mu < -1e-11 * answer.strength)
        enters = ~working & (answer.opening < -1e-11 * answer.speed)
        changed = changed or bool(pulls.any() or enters.any())
        working = working | enters
        if pulls.any():
            # One at a time: the others may push again without it.
            working[np.flatnonzero(pulls)[np.argmin(answer.mu[pulls])]] = False
    return changed, stuck, working


def margin(answer: Answer, rooms: bool = True) -> float:
    """Return by how much the mode of an answer holds, relative to forces and speeds at work.

    What sticks is within its limit, if `rooms` count, what holds pushes, what touches opens or
    stays, and what slides along a line goes against its friction; below zero one of these is not
    so.
    """
    p, left = answer.problem, [np.inf]
    if rooms and answer.stuck.any():
        room = p.size * (1 + 1e-9) + 1e-13 * p.force - answer.resists
        left.append(float(room[answer.stuck].min()) / p.force)
    if len(answer.working):
        pushes = np.where(
            answer.working, answer.mu / answer.strength, answer.opening / answer.speed
        )
        left.append(float(pushes.min()) + 1e-11)
    if p.width != 2:
        lines = (p.widths == 1) & (p.power == 0) & (p.size > 0) & ~answer.stuck
        first = p.starts[lines]
        ahead = answer.rates[first] * np.sign(answer.y[first])
        left.append(float(ahead.min(initial=np.inf)) / answer.speed + 1e-11)
    return min(left)


@dataclass(frozen=True)
class _Kept:
    """What a mode says of friction: what sticks, which way lines slide, what presses which."""

    stuck: np.ndarray | None
    #: Terms that slide along a line, their rates, and which way.
    lines: np.ndarray
    rates: np.ndarray
    signs: np.ndarray
    #: Sliding terms that follow pressure, and the places of it among the forces that hold.
    follow: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, problem: Problem, near: Answer, lines: bool) -> _Kept:
        """Read the mode of an answer nearby; `lines` also where friction has a given limit."""
        stuck, pressed, working = near.stuck, problem.pressed, near.working
        some = stuck if stuck.any() else None
        follow, places = _NONE, _NONE
        if pressed is not None:
            slides = (pressed >= 0) & ~stuck
            slides[slides] = working[pressed[slides]]
            follow = np.flatnonzero(slides)
            places = len(problem.b) + np.cumsum(working)[pressed[follow]] - 1
        along = follow[problem.widths[follow] == 1]
        if lines and not problem.width == 2:
            along = np.flatnonzero(
                (problem.widths == 1) & (problem.power == 0) & ~stuck & (problem.size > 0)
            )
            if pressed is not None:
                along = along[(pressed[along] < 0) | np.isin(along, follow)]
        rates = problem.starts[along]
        signs = np.sign(near.y[rates])
        if pressed is not None:
            # Beyond the end of a mode what should press may pull, and friction with it.
            pulls = np.append(near.mu < 0, False)[pressed[along]]
            signs = np.where(pulls, -signs, signs)
        signs = np.where(signs == 0, np.where(near.rates[rates] < 0, -1.0, 1.0), signs)
        return cls(some, along, rates, signs, follow, places)

    def sizes(self, problem: Problem, nu: np.ndarray) -> np.ndarray:
        """Return the limits of friction under forces that hold."""
        if problem.pressed is None:
            return problem.size
        size = np.where(problem.pressed == -1, problem.size, 0.0)
        size[self.follow] = problem.size[self.follow] * nu[self.places]
        return size

    def pushes(self, problem: Problem, C: Any, look: _Look) -> Any:
        """Return what the forces that hold do, the friction that follows them included."""
        if not len(self.follow):
            return C
        B = problem.matrices[0]
        D = C.copy() if problem.dense else C.tolil()
        sign = dict(zip(self.lines.tolist(), self.signs))
        for k, place in zip(self.follow.tolist(), self.places.tolist()):
            rows = problem.part(k)
            unit = np.array([sign[k]]) if k in sign else look.w[rows] / max(look.r[k], 1e-300)
            D[place] = D[place] - problem.size[k] * (unit @ B[rows])
        return D if problem.dense else D.tocsr()


@dataclass(frozen=True)
class _Rest:
    """The rates of what sticks; where there are more than velocities, as many as say it all."""

    held: np.ndarray
    rows: Any
    drift: np.ndarray
    #: Takes forces along the rows to forces along the rates, and the forces nearby.
    base: np.ndarray | None
    near: np.ndarray

    @classmethod
    def of(cls, problem: Problem, held: np.ndarray, y: np.ndarray) -> _Rest | None:
        """Gather the rates of what sticks, or None where they contradict each other."""
        B, c = problem.matrices[0][held], problem.c[held]
        if not problem.dense or len(held) <= problem.n:
            return cls(held, B, c, None, y[held])
        base, sizes, turned = np.linalg.svd(B, full_matrices=False)
        kept = sizes > 1e-13 * sizes[0]
        base, drift = base[:, kept], base[:, kept].T @ c
        if largest(c - base @ drift) > 1e-12 * largest(c):
            return None
        return cls(held, (sizes[:, None] * turned)[kept], drift, base, y[held])

    def gathered(self, y: np.ndarray) -> np.ndarray:
        """Return the forces along the rows."""
        return y[self.held] if self.base is None else self.base.T @ y[self.held]

    def spread(self, forces: np.ndarray) -> np.ndarray:
        """Return the forces along the rates, shared as nearby."""
        if self.base is None:
            return forces
        return self.near + self.base @ (forces - self.base.T @ self.near)


class _Look:
    """What resists at a velocity, under given limits."""

    def __init__(self, problem: Problem, v: np.ndarray, kept: _Kept, size: np.ndarray):
        self.v, self.size, self.w = v, size, problem.rates(v)
        square = problem.sums(self.w * self.w)
        self.r, self.square = np.sqrt(square), np.maximum(square, 1e-300)
        self.s = _slope(problem, size, self.r)
        if kept.stuck is not None:
            self.s[kept.stuck] = 0.0
        if len(kept.lines):
            self.s[kept.lines] = 0.0
        self.spread = _spread(problem, self.s)
        self.forces = self.spread * self.w
        if len(kept.lines):
            self.forces[kept.rates] = size[kept.lines] * kept.signs
        self.push = problem.matrices[0].T @ self.forces
        self.damping = problem.viscous(v) if problem.viscous else None
        if self.damping:
            self.push = self.push + self.damping[1]

    def bend(self, problem: Problem, y: np.ndarray) -> Any:
        """Return the slope of what resists, with dry forces y as they are known so far."""
        H = _bend(problem, self, y)
        if self.damping:
            H = H + (self.damping[2].toarray() if problem.dense else self.damping[2])
        return H

    def within(self, problem: Problem, y: np.ndarray) -> np.ndarray:
        """Return forces cut down to their limits."""
        limit = np.abs(self.size)
        return _spread(problem, limit / np.maximum(problem.speeds(y), limit + 1e-300)) * y

    def forced(self, problem: Problem, y: np.ndarray, dv: np.ndarray) -> np.ndarray:
        """Return the forces of dry friction after a step, of r y = a w made linear."""
        dw = problem.matrices[0] @ dv
        turned = problem.sums(self.w * dw) / self.square
        return self.spread * (self.w + dw) - _spread(problem, turned) * y


def ways_along(problem: Problem, near: Answer) -> tuple[np.ndarray, np.ndarray]:
    """Return the terms that slide along a line in the mode of an answer, and which way."""
    kept = _Kept.of(problem, near, lines=True)
    return kept.lines, kept.signs


def _spread(problem: Problem, x: np.ndarray) -> np.ndarray:
    """Return what belongs to terms for each of their rates."""
    return x.repeat(problem.width) if problem.width else x[problem.term]


def in_mode(problem: Problem, near: Answer, *, lines: bool = False) -> Answer | None:
    """Find the motion in the mode of an answer nearby by Newton's method.

    None where a moving term comes to rest or nothing works. Where rows say the same, forces are
    shared as in the answer nearby, as far as they can be. With `lines`, what slides along a line
    goes on the way it went, even where it would turn.
    """
    return _newton(problem, near, lines)[0]


def _newton(problem: Problem, near: Answer, lines: bool) -> tuple[Answer | None, Answer | None]:
    """Return the motion in a mode; or, where it leads to one in which a term sticks, that."""
    if not problem.even:
        own = problem.in_own_units()
        answers = _newton(own, near.over(own), lines)
        return answers[0] and answers[0].back(problem), answers[1] and answers[1].back(problem)
    stuck, working = near.stuck, near.working
    B, A, G = problem.matrices
    kept = _Kept.of(problem, near, lines)
    held = np.flatnonzero(stuck[problem.term]) if kept.stuck is not None else _NONE
    C, drive, nu = A, problem.b, near.lam
    rest = _Rest.of(problem, held, near.y)
    if rest is None:
        return None, None
    if len(held) or len(working):
        C = stacked(A, G[working], rest.rows)
        drive = np.concatenate([problem.b, problem.g[working], rest.drift])
        nu = np.concatenate([near.lam, near.mu[working], -rest.gathered(near.y)])
    rows, gaps, driven = len(problem.b), int(np.count_nonzero(working)), largest(drive)
    best, step = np.inf, _Saddle(C, problem.dense, problem.force / problem.imposed)
    corners = ~stuck & (problem.power < 1)
    corners[kept.lines] = False
    here = _Look(problem, near.v, kept, kept.sizes(problem, nu))
    if 0 < largest(here.w) < 1e-6 * driven and not np.any(problem.c):
        # A drive that was next to nothing before: as then, at its speed now.
        v = near.v * (driven / largest(here.w))
        here = _Look(problem, v, kept, here.size)
    y = here.within(problem, near.y)
    follows, stops, stays, began = bool(len(kept.follow)), 0, 0, max(largest(here.w), driven)

    def as_answer(of: Problem, sticks: np.ndarray, source: str) -> Answer:
        """Return velocities and forces as they are now."""
        forces = here.forces.copy()
        forces[held] = rest.spread(-nu[rows + gaps :])
        mu = np.zeros(len(problem.g))
        mu[working] = nu[rows : rows + gaps]
        # What nothing moves has no velocity: what is left of that before is rounding.
        moves = problem.levers * np.abs(here.v)
        v = np.where(moves < NONE * max(largest(here.w), largest(moves)), 0.0, here.v)
        return Answer(of, v, forces, nu[:rows], mu, sticks, working, source)

    def caught() -> Answer:
        """Return the mode in which the slowest term sticks."""
        slowest = int(np.argmin(np.where(corners & (here.size > 0), here.r, np.inf)))
        return as_answer(near.problem, stuck | (np.arange(problem.terms) == slowest), "")

    for _ in range(_MOST_STEPS):
        size = max(largest(here.w), driven)
        slow = here.r <= STILL * size
        if slow.any() and np.any(corners & slow & (here.size > 0)):
            return None, caught()
        left = problem.f - here.push + C.T @ nu
        off = C @ here.v + drive
        astray = largest(off)
        error = largest(left) / max(problem.force, largest(nu)) + (astray / size if size else 0.0)
        if not isfinite(error):
            return None, None
        if error <= 1e-15 or (error < _ROUNDING and error >= 0.1 * best):
            break
        # Rows that hold more than can move may leave a rest, which steps do not take away.
        stays = stays + 1 if error >= 0.5 * best else 0
        best = min(best, error)
        if stays > 2 and best <= _ACCEPTED:
            break
        # Close to the end the last slope is good enough: what it leaves is below rounding.
        if error * step.error > 1e-16:
            step.take(
                here.bend(problem, y), error, kept.pushes(problem, C, here) if follows else None
            )
        dv, dnu = step.solve(left, -off)
        if error < 1e-6 and astray <= 1e-11 * size and largest(dv) <= 4e-16 * largest(here.v):
            # What hardly moves turns with the last digit of velocities: its force is known better,
            # if dry, since that of drag has another limit.
            nu = nu + dnu
            turned = here.within(problem, here.forced(problem, y, dv))
            dry = corners & (problem.power == 0) & (here.s != 0)
            here.forces = np.where(_spread(problem, dry), turned, here.forces)
            break
        ahead = _Look(problem, here.v + dv, kept, kept.sizes(problem, nu + dnu))
        if not (isfinite(ahead.push.sum()) and isfinite(dnu.sum())):
            return None, None
        # Full steps lead onto what holds, and arrive close to the end, where rounding would only
        # mislead a search; in between a step may go too far.
        if error > 1e-6 and astray <= 1e-6 * size:
            share, ahead = _shorter(problem, kept, C, here, (dv, nu, dnu), ahead)
            dnu = share * dnu
            # Steps that stop short again and again lead to a kink, where something sticks.
            stops = stops + 1 if share < 0.3 else 0
            dv = share * dv
        y = ahead.within(problem, here.forced(problem, y, dv))
        here, nu = ahead, nu + dnu
        if stops > 2 and corners.any() and not lines:
            return None, caught()
        # A mode that nothing drives comes to rest, or runs away.
        if largest(here.v) > 1e9 * max(size, driven) or largest(here.w) < STILL * began - driven:
            return None, None
    else:
        if best > _ACCEPTED:
            return None, None
    answer = as_answer(problem, stuck, "Newton")
    if problem.pressed is None:
        return answer, None
    size = kept.sizes(problem, nu)
    sticks = stuck & (problem.pressed >= 0)
    size[sticks] = problem.size[sticks] * np.maximum(answer.mu, 0.0)[problem.pressed[sticks]]
    return replace(answer, problem=replace(problem, size=size, pressed=None)), None


def _slope(problem: Problem, size: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return the force of each term per unit of speed, a rⁿ⁻¹."""
    if problem.dry:
        return np.divide(size, r, out=np.zeros(len(r)), where=r > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = size * np.where(r > 0, r, 1.0) ** (problem.power - 1)
    return np.where(r > 0, slope, np.where(problem.power == 1, size, 0.0))


def _bend(problem: Problem, look: _Look, y: np.ndarray) -> Any:
    """Return the slope of what friction resists with.

    A dry force turns with its rate, a w/r; with the force y as it is known so far in the place of
    one a w/r, corners that are nearly sharp do not mislead (the primal-dual method of Chan, Golub
    and Mulet, SIAM J. Sci. Comput. 20, 1999).
    """
    w, r, s, square, B = look.w, look.r, look.s, look.square, problem.matrices[0]
    if problem.planar:
        X, Y = problem.planar
        along = X * w[0::2] + Y * w[1::2]
        pull = (X * y[0::2] + Y * y[1::2]) * ((s != 0) / square)
        turn = pull @ along.T
        return (B.T * look.spread) @ B - (turn + turn.T) / 2
    dry = problem.power == 0
    # Dry terms by their forces, others by their power.
    bend = np.divide(s * (problem.power - 1), square, out=np.zeros_like(r), where=~dry & (r > 0))
    share = np.where(dry & (s != 0), 1 / square, 0.0)
    X, Z = problem.sums(by_rows(w, B)), problem.sums(by_rows(y, B))
    turn = by_rows(share, Z).T @ X
    H = by_rows(look.spread, B).T @ B + by_rows(bend, X).T @ X
    return H - (turn + turn.T) / 2


def _shorter(
    problem: Problem,
    kept: _Kept,
    C: Any,
    here: _Look,
    step: tuple[np.ndarray, np.ndarray, np.ndarray],
    ahead: _Look,
) -> tuple[float, _Look]:
    """Return how much of a step to take, less where it would go too far, and its end.

    Power is convex along the line: a slope that has turned round says that the step passes over a
    minimum. Where friction follows pressure there is no power to go down: less of the forces is to
    be left.
    """
    dv, nu, dnu = step
    left, share = problem.f - here.push + C.T @ nu, 1.0
    follows, little = bool(len(kept.follow)), 1e-6 * problem.force * largest(dv)
    # What the forces that hold do along the step.
    held = float((C @ dv) @ (nu + dnu))
    start = abs(float((here.push - problem.f) @ dv) - held)
    for _ in range(12 if follows else 40):
        if follows:
            after = problem.f - ahead.push + C.T @ (nu + share * dnu)
            fits = np.linalg.norm(after) <= (1 - 0.1 * share) * np.linalg.norm(left)
        else:
            fits = float((ahead.push - problem.f) @ dv) - held <= 0.5 * start + little
        if fits:
            break
        share *= 0.5
        size = kept.sizes(problem, nu + share * dnu)
        ahead = _Look(problem, here.v + share * dv, kept, size)
    return share, ahead


class _Saddle:
    """H x − Dᵀ z = force, C x = gap; of several solutions the smallest.

    D is C, unless friction follows the forces that hold.
    """

    def __init__(self, C: Any, dense: bool, unit: float = 1.0):
        self.C, self.dense = C, dense
        # Forces over velocities that are of very different sizes would drown one another.
        other = 0 < unit < np.inf and not 1 / _OTHER < unit < _OTHER
        self.unit = 2.0 ** np.round(np.log2(unit)) if other else 1.0
        self.order: Any = None
        # How far from the end H was taken.
        self.error = np.inf

    def take(self, H: Any, error: float = np.inf, D: Any = None) -> None:
        """Factor the matrix with this H and D."""
        self.error, (m, n) = error, self.C.shape
        D = self.C if D is None else D
        H = H / self.unit
        if self.dense:
            K = np.zeros((n + m, n + m))
            K[:n, :n], K[:n, n:], K[n:, :n] = H, -D.T, self.C
            self.K, self.factors = K, dgetrf(K)
            return
        if self.order is None:
            self.order = saddle_order(H, self.C)
        self.K = sparse.bmat([[H, -D.T], [self.C, None]], format="csc")
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
        n, known = len(force), np.concatenate([force / self.unit, gap])
        if self.factors is None:
            solution = np.full(len(known), np.nan)
        elif self.dense:
            lower, pivots, singular = self.factors
            # Of more rows than there are velocities, rounding decides what factors make.
            singular = singular or len(gap) > n
            solution = known if singular else dgetrs(lower, pivots, known)[0]
            # What is not finite fails the comparison, too.
            if singular or not largest(self.K @ solution - known) <= 1e-8 * largest(known):
                solution = np.linalg.lstsq(self.K, known, rcond=1e-13)[0]
        else:
            solution = np.zeros(len(known))
            for _ in range(8):
                left = known - self.K @ solution
                if largest(left) <= 1e-15 * largest(known):
                    break
                solution[self.order] += self.factors.solve(left[self.order])
        return solution[:n], self.unit * solution[n:]


def least_move(C: Any, off: np.ndarray) -> np.ndarray:
    """Return the smallest move that takes violations of rows away."""
    if not sparse.issparse(C):
        return np.linalg.lstsq(C, -off, rcond=1e-12)[0]
    n, saddle = C.shape[1], _Saddle(C, dense=False)
    saddle.take(sparse.eye(n, format="csr"))
    return saddle.solve(np.zeros(n), -off)[0]


def least_motion(problem: Problem, working: np.ndarray) -> np.ndarray:
    """Return the smallest velocity that the constraints allow."""
    _, A, G = problem.matrices
    drive = np.concatenate([problem.b, problem.g[working]])
    return least_move(stacked(A, G[working]), drive) if len(drive) else np.zeros(problem.n)
