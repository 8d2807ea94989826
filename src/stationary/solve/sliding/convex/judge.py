"""The judge: minima at kinks by programs over cones, and certificates where there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sparse

from stationary.solve.linear import rank_of
from stationary.solve.sliding.convex.cones import Cones, End
from stationary.solve.sliding.problem.numbers import Answer, Problem

# Forces that differ from others by less than this share do the same.
_DEPENDENT = 1e-10


@dataclass(frozen=True)
class Strength:
    """Forces within their limits that balance, and the mode v dual to them.

    How far a load can grow is told by the forces and by the mode: `static` and `kinematic`.
    """

    end: End
    v: np.ndarray
    y: np.ndarray
    lam: np.ndarray
    mu: np.ndarray
    static: float = np.nan
    kinematic: float = np.nan

    @property
    def balances(self) -> bool:
        """Whether there are such forces, of a size."""
        return self.end in (End.SOLVED, End.CLOSE)


@dataclass(frozen=True)
class Outcome:
    """An answer, or why there is none: a direction without end, or rows that cannot hold together.

    Where friction `locks`, these forces of contacts within their cones, with those of rows and
    gaps, outgrow any drive; `rubs` is what friction of pressed contacts takes along the ray. With a
    `stiffness` the ray is a direction along which nothing brings it back.

    `others` are velocities that fit as well, `loose` forces; `examined` where all have been looked
    for at contacts whose friction follows pressure. `problem` is the one without an answer.
    """

    word: str
    answer: Answer | None = None
    ray: np.ndarray | None = None
    rows: np.ndarray | None = None
    gaps: np.ndarray | None = None
    locks: np.ndarray | None = None
    rubs: float = 0.0
    stiffness: float | None = None
    rest: Strength | None = None
    others: np.ndarray | None = None
    loose: bool = False
    examined: bool = False
    problem: Problem | None = None

    @property
    def locked(self) -> bool:
        """Whether friction holds what no contradiction does."""
        return self.locks is not None

    @property
    def proved(self) -> bool:
        """Whether there is no motion, with a reason."""
        return self.word in ("accelerates", "jammed")


def judged(problem: Problem, *, slow: bool = False, speed: float | None = None) -> Outcome:
    """Find the minimum by an interior-point method, or a certificate that there is none.

    Forces and velocities are scaled to one, so that tolerances mean the same in any units. Drag
    is expected to move with what is imposed; or, if `slow`, as other forces drive it; or at a
    `speed` that is known.
    """
    if not problem.even:
        return in_units_of(problem, judged(problem.in_own_units(), slow=slow, speed=speed))
    K, n = problem.terms, problem.n
    force, speed = problem.force, speed or problem.imposed
    size = problem.size * speed**problem.power / force
    dry = (problem.power == 0) & (size > 0)
    viscous = (problem.power == 1) & (size > 0)
    curved = ~dry & ~viscous & (size > 0)
    cones = Cones(n + K + int(curved.sum()))
    package, epigraph = cones.package, np.arange(n, n + K)
    cones.cost[:n] = -problem.f / force
    cones.cost[epigraph[dry]] = size[dry]
    B, A, G = sparse.csr_matrix(problem.B), problem.A, problem.G
    c = problem.c / speed
    P = sparse.csc_matrix((n, n))
    for k in np.flatnonzero(viscous):
        rows = problem.part(k)
        P = P + size[k] * (B[rows].T @ B[rows])
        cones.cost[:n] += size[k] * (B[rows].T @ c[rows])
    if problem.viscous:
        # Quadratic where it is linear damping; elsewhere Newton's method alone decides.
        _, slope, second = problem.viscous(np.zeros(n))
        second = sparse.csc_matrix(second)
        if not np.isfinite(np.append(slope, second.data)).all():
            return Outcome("kink")
        P = P + second * (speed / force)
        cones.cost[:n] += slope / force
    wide, more = sparse.eye(n, cones.unknowns, format="csc"), len(problem.b) + len(problem.g)
    cones.P = wide.T @ P @ wide
    cones.zero(A @ wide, -problem.b / speed)
    cones.least(-G @ wide, problem.g / speed)
    kept = dry | curved
    if kept.any():
        rows, rhs = _epigraphs(problem, B, c, kept, epigraph, cones.unknowns)
        cones.add(rows, rhs, *(package.SecondOrderConeT(int(d) + 1) for d in problem.widths[kept]))
    for j, k in enumerate(np.flatnonzero(curved)):
        unit = min(1.0, size[k] ** (-1 / problem.power[k])) if slow else 1.0
        _power_cone(cones, size[k], float(problem.power[k]), epigraph[k], n + K + j, unit)
    # Whatever has no cost must not drift.
    idle = epigraph[~kept]
    cones.zero(sparse.eye(cones.unknowns, format="csr")[idle], np.zeros(len(idle)))
    solution = cones.solve()
    x, z, end = solution.x, solution.z, solution.end
    rows, gaps = len(problem.b), len(problem.g)
    if end is End.UNBOUNDED:
        return Outcome("accelerates", ray=x[:n]) if _runs(problem, x[:n]) else Outcome("undecided")
    if end is End.INFEASIBLE:
        return Outcome("jammed", rows=-z[:rows], gaps=z[rows : rows + gaps])
    if end is End.LOST:
        return Outcome(solution.word)
    v = x[:n] * speed
    y = np.zeros(len(problem.c))
    inside = np.flatnonzero(kept[problem.term])
    ordinal = np.cumsum(kept)[problem.term[inside]]
    y[inside] = -z[more + np.arange(len(inside)) + ordinal] * force
    w = problem.rates(v)
    smooth = viscous[problem.term]
    y[smooth] = (problem.size[problem.term] * w)[smooth]
    lam, mu = -z[:rows] * force, z[rows : rows + gaps] * force
    r = problem.speeds(w)
    # Interior points are a little off both: at rest is what is slower than it is far from slipping.
    slack = (problem.size - problem.speeds(y)) / problem.force
    scale = max(np.abs(w).max(initial=0.0), speed)
    stuck = dry & (r / scale < np.maximum(slack, 1e-9)) & (r < 1e-3 * scale)
    rate = problem.matrices[2] @ v + problem.g
    working = (rate / scale < mu / problem.force) if gaps else np.zeros(0, dtype=bool)
    return Outcome(solution.word, Answer(problem, v, y, lam, mu, stuck, working, "Clarabel"))


def in_units_of(problem: Problem, outcome: Outcome) -> Outcome:
    """Return what was found in own units as it was asked for."""
    answer, ray, rows = outcome.answer, outcome.ray, outcome.rows
    return replace(
        outcome,
        answer=answer and answer.back(problem),
        ray=None if ray is None else ray / problem.levers,
        rows=None if rows is None else rows / problem.row_sizes,
    )


def _runs(problem: Problem, ray: np.ndarray) -> bool:
    """Tell whether loads feed a direction: where forces differ widely a solver may be mistaken."""
    B, A, G = problem.matrices
    ray = ray / (np.abs(ray).max(initial=0.0) or 1.0)
    slip, dry = problem.speeds(B @ ray), problem.power == 0
    left = float(problem.f @ ray) - float((problem.size * slip)[dry].sum())
    held = [A @ ray, np.minimum(G @ ray, 0.0), slip[~dry & (problem.size > 0)]]
    off = max(np.abs(x).max(initial=0.0) for x in held)
    return left >= -1e-6 * problem.force and off <= 1e-3


def _epigraphs(
    problem: Problem, B: Any, c: np.ndarray, kept: np.ndarray, epigraph: np.ndarray, unknowns: int
) -> tuple[Any, np.ndarray]:
    """Rows of (sₖ, wₖ) for the terms that are kept, one after the other."""
    inside = np.flatnonzero(kept[problem.term])
    count = int(kept.sum())
    heads = np.cumsum(np.concatenate([[0], problem.widths[kept][:-1] + 1]))
    ordinal = np.cumsum(kept)[problem.term[inside]]
    places = np.arange(len(inside)) + ordinal
    height = count + len(inside)
    part = B[inside].tocoo()
    rows = np.concatenate([heads, places[part.row]])
    columns = np.concatenate([epigraph[kept], part.col])
    values = np.concatenate([-np.ones(count), -part.data])
    rhs = np.zeros(height)
    rhs[places] = c[inside]
    return sparse.csr_matrix((values, (rows, columns)), shape=(height, unknowns)), rhs


def _power_cone(
    cones: Cones, size: float, power: float, speed: int, cost: int, unit: float
) -> None:
    """Let `cost` be at least speed^(power+1), with speeds in a unit of their own, and count it."""
    order = power + 1
    cones.cost[cost] = size * unit**order / order
    entries = ([-1.0, -1.0 / unit], ([0, 2], [cost, speed]))
    rows = sparse.csr_matrix(entries, shape=(3, cones.unknowns))
    cones.add(rows, np.array([0.0, 1.0, 0.0]), cones.package.PowerConeT(1 / order))


def strength(
    problem: Problem, dead: np.ndarray, load: np.ndarray, cone: np.ndarray | None = None
) -> Strength:
    """Find the largest s for which forces within their limits balance dead + s·load.

    `cone` gives, for friction terms of contacts, which contact presses and how rough it is:
    |yₖ| ≤ roughness · μ instead of a fixed limit.
    """
    n, m, rows, arms = problem.n, len(problem.c), len(problem.b), problem.levers
    # Sizes of friction that follows pressure are coefficients: no forces.
    fixed = problem.size if cone is None else problem.size[cone < 0]
    reach = np.abs(load / arms).max(initial=0.0) or 1.0
    force = max(fixed.max(initial=0.0), np.abs(dead / arms).max(initial=0.0)) or reach
    cones = possible(problem, dead / force, force, cone, load / reach)
    last = cones.unknowns - 1
    cones.cost[last] = -1.0
    solution = cones.solve()
    x, z, end = solution.x, solution.z, solution.end
    v = -z[:n] / arms
    y, lam, mu = (part * force for part in np.split(x[:last], [m, m + rows]))
    # Where there is no limit there is no force, not even by rounding.
    y = np.where(problem.rubs, y, 0.0)
    static = float(x[last]) * force / reach
    if (end is End.UNBOUNDED or end is End.LOST) and dead.any():
        # A direction without end does not prove that any forces balance.
        cones.cost[last], cones.P = 0.0, sparse.eye(cones.unknowns, format="csc")
        some = cones.solve().end
        end = end if some in (End.SOLVED, End.CLOSE) else some
    if end is End.UNBOUNDED and static > 0:
        # What holds any load holds this one in proportion.
        y, lam, mu = (part / static for part in (y, lam, mu))
        return Strength(end, np.zeros(n), y, lam, mu, np.inf, np.inf)
    # The mode: friction takes what the dead load and the growing one give.
    given = float(load @ v)
    lost = problem.size * problem.speeds(problem.matrices[0] @ v)
    taken = float(np.sum(lost if cone is None else lost[cone < 0]))
    kinematic = (taken - float(dead @ v)) / given if given > 0 else np.inf
    return Strength(end, v / given if given > 0 else v, y, lam, mu, static, kinematic)


def possible(
    problem: Problem, push: np.ndarray, force: float, cone: np.ndarray | None, *loads: np.ndarray
) -> Cones:
    """Ask for y, λ, μ within their limits that balance a push, and loads times more unknowns.

    Moments are balanced as forces at their levers.
    """
    m, rows, gaps = len(problem.c), len(problem.b), len(problem.g)
    cones = Cones(m + rows + gaps + len(loads))
    B, A, G = (sparse.csr_matrix(x) for x in (problem.B, problem.A, problem.G))
    more = [-sparse.csr_matrix(x[:, None]) for x in loads]
    over = sparse.diags(1 / problem.levers)
    cones.zero(over @ sparse.hstack([B.T, -A.T, -G.T, *more]), push / problem.levers)
    pressing = sparse.csr_matrix(
        (-np.ones(gaps), (np.arange(gaps), m + rows + np.arange(gaps))), (gaps, cones.unknowns)
    )
    cones.least(pressing, np.zeros(gaps))
    for k in range(problem.terms):
        d, start = int(problem.widths[k]), int(problem.starts[k])
        entries = [(1 + i, start + i, -1.0) for i in range(d)]
        limit = problem.size[k] / force
        if cone is not None and cone[k] >= 0:
            entries, limit = [*entries, (0, m + rows + int(cone[k]), -problem.size[k])], 0.0
        i, j, values = zip(*entries)
        ball = sparse.csr_matrix((values, (i, j)), shape=(d + 1, cones.unknowns))
        cones.add(ball, np.append(limit, np.zeros(d)), cones.package.SecondOrderConeT(d + 1))
    return cones


def several(answer: Answer) -> bool:
    """Tell whether other forces would hold and stick as well: then a mode ends with the last ones.

    Not where friction that sticks follows pressure.
    """
    p = answer.problem
    stuck = _grips(answer)
    follows = p.follows is not None and np.any(p.follows & stuck)
    if not p.dense or follows or not stuck.any():
        return False
    # Forces act on what rubs, and those of what holds are in units in which they do as much.
    B, A, G = (x / p.levers for x in p.matrices)
    columns = np.vstack([B[stuck[p.term]], A, G[answer.working]]).T
    sizes = np.linalg.norm(columns, axis=0)
    columns = columns / np.where(sizes > 0, sizes, 1.0)
    return rank_of(columns, _DEPENDENT) < columns.shape[1]


def _grips(answer: Answer) -> np.ndarray:
    """Tell which terms hold what sticks: drag at rest resists with nothing."""
    p = answer.problem
    return answer.stuck & (p.size > 0) & (p.power == 0)


def roomiest(answer: Answer) -> tuple[Answer, float]:
    """Share the forces of what holds and sticks so that the fullest friction has most room left.

    Return them and that room, as a share of its limit: below zero no forces hold the mode. What may
    grow most before something slides is as far from that as can be.
    """
    p, working = answer.problem, answer.working
    held, rates = p.among(_grips(answer))
    held = replace(held, G=p.matrices[2][working], g=p.g[working], known=p.levers, viscous=None)
    y, mu = answer.y.copy(), np.zeros(len(p.g))
    y[rates] = 0.0
    push = p.f - p.matrices[0].T @ y - (answer.damping[1] if answer.damping else 0.0)
    most = resting(replace(held, f=push))
    if most.end not in (End.SOLVED, End.UNBOUNDED) or not most.static > 0:
        return answer, -np.inf
    share = 1 / most.static if np.isfinite(most.static) else 1.0
    y[rates], mu[working] = share * most.y, share * most.mu
    return replace(answer, y=y, lam=share * most.lam, mu=mu), float(1 - 1 / most.static)


def balanced(problem: Problem, cone: np.ndarray, ahead: np.ndarray | None = None) -> Strength:
    """Ask for forces within their limits, of contacts within their cones, that resist most.

    Dual to contacts that lift as they slip, by μ times the slip, which Coulomb's law does not ask
    for; `ahead` is the slip of each term by which they may be below that. Where there are none v is
    the direction that proves it; without end some grow against what drives.
    """
    m, rows = len(problem.c), len(problem.b)
    force, speed = problem.force, problem.imposed
    g = problem.g.copy()
    if ahead is not None:
        pressed = cone >= 0
        np.add.at(g, cone[pressed], (problem.size * ahead)[pressed])
    cones = possible(problem, problem.f / force, force, cone)
    cones.cost[:] = np.concatenate([-problem.c, problem.b, g]) / speed
    solution = cones.solve()
    y, lam, mu = np.split(solution.x * force, [m, m + rows])
    v = -solution.z[: problem.n] / problem.levers * speed
    return Strength(solution.end, v, y, lam, mu)


def resting(problem: Problem, cone: np.ndarray | None = None) -> Strength:
    """Tell how many times larger all pushes may grow before something slides."""
    return strength(problem, np.zeros(problem.n), problem.f, cone)
