"""From a problem to its answer: Newton's method first, the judge where that is in doubt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.optimize import nnls
from scipy.sparse.linalg import splu

from stationary.solve.sliding.convex.cones import End
from stationary.solve.sliding.convex.judge import Outcome, judged, resting
from stationary.solve.sliding.convex.reduced import least_motion, refined
from stationary.solve.sliding.problem.numbers import STILL, Answer, Problem, by_rows, stacked

# A free direction is one along which nothing resists, to this fraction of what resists elsewhere.
_FREE = 1e-8
# Long chains resist as little as the square of their length: there rounding is the measure.
_FREE_AMONG_MANY = 1e-11
# Drag of a power below 1 is nearly at rest at this share of the speeds at work.
_SLOW, _MOST_ROUNDS = 1e-4, 30
# A motion at which more force is left than this may be on the way to a kink; so many are tried.
_FLAT, _KINKS = 1e-12, 6


def settled(problem: Problem, guess: Answer | None = None) -> Outcome:
    """Find how it slides; `guess` is the answer to a problem nearby."""
    if guess is not None:
        near = refined(problem, guess)
        if near is not None and near.right():
            return Outcome("moves", near)
    speed = None
    if not problem.driven and (problem.dry or np.any((problem.power == 0) & (problem.size > 0))):
        rest = at_rest(problem)
        # What friction does not hold may follow a contact that recedes, as a hand that lowers it.
        follows = not problem.dry or bool(np.any(problem.g > 0))
        if rest.word == "sticks" or not follows:
            return rest
        if rest.rest is not None and 0 < rest.rest.static < 1:
            # Drag takes what dry friction does not hold.
            speed = problem.dragged((1 - rest.rest.static) * problem.force)
    # In a large system something is at rest, nearly always: the judge finds out what at once.
    if guess is None and problem.dense:
        fresh = _fresh(problem)
        if fresh is not None:
            return Outcome("moves", _at_kink(fresh))
    outcome = judged(problem, speed=speed)
    answer = None if outcome.answer is None else _polished(problem, outcome.answer)
    if problem.drags and not (outcome.proved if answer is None else answer.right(1e-6)):
        # Where imposed motions meet strong drag, what follows them may feel little of it.
        outcome = judged(problem, slow=True)
        answer = None if outcome.answer is None else _polished(problem, outcome.answer)
    if answer is not None and answer.right(1e-6):
        return Outcome("moves", _at_kink(answer))
    if not outcome.proved and problem.dry and np.any(problem.f):
        # Loads that friction can just take have no slowest motion: faster is always better.
        rest = resting(problem)
        if rest.static <= 1 + 1e-8:
            return Outcome("accelerates", ray=rest.v, rest=rest)
    return outcome if answer is None else Outcome("undecided", answer)


def _polished(problem: Problem, answer: Answer) -> Answer:
    """Refine what the judge found; what is slow and has no friction to spare may move after all."""
    spare = problem.size - problem.speeds(answer.y) > 1e-5 * problem.force
    for stuck in (answer.stuck, answer.stuck & spare):
        better = refined(problem, replace(answer, stuck=stuck))
        if better is not None and better.right(max(1e-9, 10 * answer.gap)):
            return replace(better, source="Clarabel, then Newton")
    return _with_slow_drag(problem, answer) or answer


def _at_kink(answer: Answer) -> Answer:
    """Go on from a motion at which a little force is left: to where one more term sticks.

    Where all that slides is in line, power is as good as straight along some motions: Newton's
    method sees no more than a little slope there, and the minimum is at a kink, however far.
    """
    problem = answer.problem
    if not (problem.dense and problem.dry) or problem.pressed is not None or answer.right(_FLAT):
        return answer
    best, least = answer, max(answer.residual.values())
    heaviest = np.argsort(np.where(answer.stuck, -1.0, problem.size), kind="stable")[::-1]
    for k in heaviest[:_KINKS].tolist():
        stuck = answer.stuck.copy()
        stuck[k] = True
        # Newton's method takes the velocity to where this term rests.
        other = refined(problem, replace(answer, stuck=stuck))
        if other is not None and other.right() and max(other.residual.values()) < least:
            best, least = other, max(other.residual.values())
    return best


def _with_slow_drag(problem: Problem, answer: Answer) -> Answer | None:
    """Refine what the judge found where drag of a power below 1 is nearly at rest.

    There its slope has no bound. So its rates are held, and set to what the force asks for that
    holds them, which they hardly change: (force/η)^(1/n). What other constraints keep at rest
    resists with nothing.
    """
    steep = (problem.power > 0) & (problem.power < 1) & (problem.size > 0)
    steep &= answer.speeds <= _SLOW * answer.speed
    if not steep.any():
        return None
    kept = _kept(answer, steep)
    steep, size = steep & ~kept, np.where(kept, 0.0, problem.size)
    rows, near, ahead = steep[problem.term], answer, np.zeros(len(problem.c))
    for _ in range(_MOST_ROUNDS):
        held = replace(problem, c=problem.c - ahead, size=size)
        better = refined(held, replace(near, problem=held, stuck=near.stuck | steep))
        if better is None or not np.all(better.stuck[steep]):
            return None
        near, before = better, ahead
        share = np.divide(better.resists, problem.size, out=np.zeros(problem.terms), where=steep)
        along = share ** (1 / np.where(steep, problem.power, 1.0) - 1) / np.maximum(
            problem.size, 1e-300
        )
        ahead = np.where(rows, along[problem.term] * better.y, 0.0)
        if np.abs(ahead - before).max() <= 1e-15 * answer.speed:
            break
    polished = replace(
        near, problem=problem, stuck=near.stuck & ~steep, source="Clarabel, then Newton"
    )
    return polished if polished.right(max(1e-9, 10 * answer.gap)) else None


def _kept(answer: Answer, terms: np.ndarray) -> np.ndarray:
    """Return those of some terms whose rates constraints and what sticks decide already."""
    problem = answer.problem
    kept = np.zeros(problem.terms, dtype=bool)
    if not problem.dense:
        return kept
    B, A, G = problem.matrices
    C = np.vstack([A, G[answer.working], B[answer.stuck[problem.term]]])
    for k in np.flatnonzero(terms):
        rows = B[problem.term == k]
        left = rows - rows @ np.linalg.pinv(C) @ C
        kept[k] = np.abs(left).max() <= 1e-9 * np.abs(rows).max(initial=0.0)
    return kept


def _fresh(problem: Problem) -> Answer | None:
    """Newton's method from the smallest allowed velocity, where every friction term moves."""
    working = problem.g < 0
    v = least_motion(problem, working)
    w = problem.rates(v)
    slow = problem.speeds(w) <= 1e-6 * max(np.abs(w).max(initial=0.0), 1e-300)
    if np.any(slow & (problem.power < 1) & (problem.size > 0)):
        return None
    y, lam, mu = (np.zeros(len(x)) for x in (problem.c, problem.b, problem.g))
    start = Answer(problem, v, y, lam, mu, np.zeros(problem.terms, dtype=bool), working)
    answer = refined(problem, start)
    return answer if answer is not None and answer.right() else None


def at_rest(problem: Problem, cone: np.ndarray | None = None) -> Outcome:
    """Nothing imposes a motion: it sticks, or it accelerates; drag has no force at rest.

    `cone` gives the contact that presses each term, where sizes are coefficients.
    """
    rest, opening, G = None, problem.g > 0, problem.matrices[2]
    holds = problem.power == 0
    y, lam, mu = np.zeros(len(problem.c)), np.zeros(len(problem.b)), np.zeros(len(problem.g))
    if opening.any():
        # What opens by itself neither pushes nor rubs.
        G = sparse.diags((~opening).astype(float)) @ G
    if cone is not None:
        cone = np.where((cone >= 0) & np.append(opening, [False, False])[cone], -2, cone)
        holds = holds & (cone != -2)
    if np.any(problem.f):
        rest = resting(replace(problem, size=np.where(holds, problem.size, 0.0), G=G), cone)
        if not rest.static >= 1 - 1e-9 or rest.end is End.INFEASIBLE:
            return Outcome("accelerates", ray=rest.v, rest=rest)
        # All forces in proportion: what holds the largest push holds a smaller one with room left.
        share = 1 / rest.static if np.isfinite(rest.static) else 1.0
        y, lam, mu = rest.y * share, rest.lam * share, np.maximum(rest.mu * share, 0.0)
        mu[opening] = 0.0
    # What slips by where nothing presses does not stick.
    every = (problem.power == 0) & (problem.speeds(problem.c) == 0)
    pressing = mu > 1e-12 * problem.force
    answer = Answer(problem, np.zeros(problem.n), y, lam, mu, every, pressing, "Clarabel")
    return Outcome("sticks", answer, rest=rest)


# -- uniqueness -----------------------------------------------------------------------------------


def free_directions(answer: Answer, slope: Any = None) -> np.ndarray:
    """Return the directions in which the velocity can change at no cost, one per row.

    Along these every moving rate keeps its direction, what sticks with room to spare stays, and
    what holds is respected. `slope` is that of loads which depend on the velocity.
    """
    problem = answer.problem
    B, A, G = problem.matrices
    r, dry = answer.speeds, problem.power == 0
    moves = (r > STILL * r.max(initial=0.0)) & ~answer.stuck
    # What a term resists with where it moves as fast as anything, beside the forces at work.
    weight = problem.size / problem.force
    if problem.drags:
        weight = weight * answer.speed**problem.power
    active = answer.working & (answer.mu > 1e-12 * answer.strength)
    if problem.planar and moves.all() and slope is None:
        # In a plane only what is across the slip costs.
        X, Y = problem.planar
        across = X * (answer.rates[1::2] / r) - Y * (answer.rates[0::2] / r)
        gram = (across * weight) @ across.T + A.T @ A + G[active].T @ G[active]
        reach = (X**2 + Y**2) @ weight + (A**2).sum(axis=0) + (G[active] ** 2).sum(axis=0)
        if _regular(gram, reach):
            return np.zeros((0, problem.n))
    term = problem.term
    # Terms at rest whose friction is used up may start to move, along their force.
    marginal = ~moves & (answer.resists >= problem.size * (1 - 1e-7))
    ahead = np.where(moves[term], answer.rates, np.where(marginal[term], answer.y, 0.0))
    ahead[~dry[term]] = 0.0
    along = ahead / np.maximum(problem.speeds(ahead), 1e-300)[term]
    weight = np.sqrt(np.maximum(weight, 0.0))[term]
    felt = [answer.damping[2]] if answer.damping else []
    felt += [] if slope is None else [slope]
    # A moment over its lever is a force.
    arms = answer.speed / problem.force / problem.levers
    felt = [by_rows(arms, x.toarray() if problem.dense else x) for x in felt]
    shared = problem.sums(by_rows(along, B))[term]
    rows = stacked(by_rows(weight, B - by_rows(along, shared)), A, G[active], *felt)
    reach = _squares(stacked(by_rows(weight, B), A, G[active], *felt))
    if not problem.dense:
        return _null_directions(rows.tocsc(), reach)
    if _regular(rows.T @ rows, reach):
        return np.zeros((0, problem.n))
    scale = np.sqrt(np.where(reach > 0, reach, 1.0))
    _, values, vectors = np.linalg.svd(rows / scale, full_matrices=len(rows) < problem.n)
    least = _FREE * np.sqrt(len(rows)) * values.max(initial=1e-300)
    free = vectors[np.append(values, np.zeros(problem.n - len(values))) <= least] / scale
    return _to_one(free)


def _squares(rows: Any) -> np.ndarray:
    """Return the sum of the squares of every column."""
    squares = rows.multiply(rows) if sparse.issparse(rows) else rows * rows
    return np.asarray(squares.sum(axis=0)).ravel()


def _regular(gram: np.ndarray, reach: np.ndarray) -> bool:
    """Tell whether a matrix of squares is far from singular, in whatever units.

    `reach` is the square of what each velocity moves at all: what rounding leaves of it is none.
    """
    size = np.sqrt(reach)
    return bool(size.min() > 0) and np.linalg.eigvalsh(gram / np.outer(size, size))[0] > 1e-10


def _null_directions(rows: sparse.csc_matrix, reach: np.ndarray) -> np.ndarray:
    """Return the directions that sparse rows leave free, if any: by inverse iteration."""
    n = len(reach)
    size = np.sqrt(np.where(reach > 0, reach, 1.0))
    rows = rows @ sparse.diags(1 / size)
    gram = rows.T @ rows + sparse.diags(np.full(n, 1e-15))
    factors = splu(gram.tocsc(), permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
    many = 1
    while True:
        X = np.random.default_rng(0).standard_normal((n, many))
        for _ in range(4):
            X = np.linalg.qr(factors.solve(X))[0]
        left = np.linalg.qr(rows @ X, mode="r")
        _, small, turned = np.linalg.svd(np.pad(left, ((0, many - len(left)), (0, 0))))
        free = X @ turned[small <= _FREE_AMONG_MANY].T
        if free.shape[1] < many or many == n:
            break
        many = min(8 * many, n)
    return _to_one((free / size[:, None]).T)


def _to_one(free: np.ndarray) -> np.ndarray:
    """Scale directions so that the largest entry of each is one."""
    return free / np.take_along_axis(free, np.abs(free).argmax(axis=1)[:, None], axis=1)


def smallest(answer: Answer, free: np.ndarray) -> Answer:
    """Of all velocities that cost the same, return the one that moves least, at its levers."""
    if not len(free):
        return answer
    problem = answer.problem
    B, _, G = problem.matrices
    basis = np.linalg.qr((free * problem.levers).T)[0]
    ways = basis / problem.levers[:, None]
    # A force that is rounding has no direction.
    y = np.where((answer.resists > 1e-12 * answer.strength)[problem.term], answer.y, 0.0)
    rows = np.vstack([problem.sums(y[:, None] * (B @ ways)), G @ ways])
    terms = np.abs(y[:, None]) * (abs(B) @ np.abs(ways))
    reach = np.linalg.norm(np.vstack([problem.sums(terms), abs(G) @ np.abs(ways)]), axis=1)
    sizes = np.linalg.norm(rows, axis=1)
    # Rows that the directions change by rounding alone are those along which they are free.
    over = np.divide(1.0, sizes, out=np.zeros(len(sizes)), where=sizes > _FREE * reach)
    v = answer.v

    def ahead(v: np.ndarray) -> np.ndarray:
        return np.concatenate([problem.sums(y * problem.rates(v)), G @ v + problem.g])

    # What remains of a velocity that is much too large is known to fewer digits.
    for _ in range(2):
        shortest = v - ways @ (basis.T @ (v * problem.levers))
        share = _nearest(rows * over[:, None], -ahead(shortest) * over)
        if share is None:
            return answer
        v = shortest + ways @ share
    room = np.append(np.full(problem.terms, problem.force), np.ones(len(problem.g)))
    if np.any(ahead(v) < -1e-10 * answer.speed * room):
        return answer
    w = problem.rates(v)
    stuck = problem.speeds(w) <= 1e-9 * max(np.abs(w).max(initial=0.0), answer.speed)
    return replace(answer, v=v, stuck=stuck & (problem.power == 0))


def _nearest(rows: np.ndarray, least: np.ndarray) -> np.ndarray | None:
    """Return the smallest x with rows x ≥ least, by multipliers ≥ 0 (Lawson, Hanson)."""
    top = np.abs(least).max(initial=0.0)
    if not np.any(least > 0):
        return np.zeros(rows.shape[1])
    table = np.vstack([rows.T, least / top])
    multipliers, _ = nnls(table, np.append(np.zeros(rows.shape[1]), 1.0))
    left = table @ multipliers - np.append(np.zeros(rows.shape[1]), 1.0)
    return None if -left[-1] < 1e-14 else -left[:-1] / left[-1] * top
