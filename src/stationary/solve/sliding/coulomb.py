"""Friction at contacts: as large as what presses them, which the motion itself decides.

For given normal forces N the limits μN are given and the minimum of power answers, what presses
the contacts included. The normal forces that come out must be those that went in. Where that
search does not end, forces within all cones decide whether there is a motion, and the modes of few
contacts are tried one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sparse

from stationary.solve.sliding.cones import End
from stationary.solve.sliding.judge import Balance, Verdict, balanced, strength
from stationary.solve.sliding.modes import motions, only, same_mode
from stationary.solve.sliding.problem import Answer, Problem
from stationary.solve.sliding.question import Place, Question
from stationary.solve.sliding.reduced import refined
from stationary.solve.sliding.settle import Outcome, settled

_MOST_STEPS = 100
# Up to so many modes of contacts all are tried where a motion goes on.
_FEW_MODES = 64
_ROUNDING = 1e-12
# How many differences the next guess is extrapolated from.
_MEMORY = 6


def pressed(
    question: Question, place: Place, guess: Answer | None = None, *, thorough: bool = True
) -> tuple[Outcome, Place]:
    """Find velocities and normal forces that belong together; `thorough` until it is decided."""
    cone = question.pressed(place)
    problem = place.problem
    still = not problem.driven and problem.dry and bool(np.any(problem.f))
    if still:
        decision = _standing(place, cone)
        if decision is not None:
            return decision
    else:
        # What has moved goes on in its mode, nearly always.
        moved = guess is not None and bool(guess.v.any())
        near = _near(place, cone, guess) if moved else only(problem, cone)
        if near is None:
            near = only(problem, cone) if moved else _near(place, cone, guess)
        if near is not None:
            return Outcome("moves", near), replace(place, problem=near.problem)
        if guess is not None and thorough:
            # Of several motions the one that goes on as it went.
            all_ways = motions(problem, cone, _FEW_MODES) or []
            if all_ways:
                before = guess.v
                near = min(all_ways, key=lambda x: float(np.abs(x.v - before).max(initial=0.0)))
                return Outcome("moves", near), replace(place, problem=near.problem)
        N = np.zeros(len(problem.g))
        if guess is not None and len(guess.problem.g) == len(problem.g):
            N = guess.mu
        decision = _repeated(place, cone, N, guess)
        # Without what presses a contact nothing may hold what it holds: that proves nothing.
        decided = decision[0].word in ("moves", "sticks", "jammed")
        if decided or not problem.dry or not thorough:
            return decision
    return _decided(place, cone)


def _near(place: Place, cone: np.ndarray, guess: Answer | None) -> Answer | None:
    """Find velocities and forces by Newton's method, from a guess or as if contacts were smooth."""
    problem = place.problem
    known = guess is not None and len(guess.mu) == len(problem.g)
    known = known and guess is not None and len(guess.lam) == len(problem.b)
    if known and guess is not None:
        same = same_mode(problem, cone, guess)
        if same is not None and same.right(1e-11):
            return same
    if not known:
        smooth = settled(limited(problem, cone, np.zeros(len(problem.g))))
        if smooth.word != "moves" or smooth.answer is None:
            return None
        guess = smooth.answer
        # What slides by nothing sticks; what presses nothing yet is about to.
        guess = replace(guess, y=np.where((cone >= 0)[problem.term], guess.rates, guess.y))
    answer = None if guess is None else refined(problem, guess)
    return answer if answer is not None and answer.right() else None


def limited(problem: Problem, cone: np.ndarray, N: np.ndarray) -> Problem:
    """Return the problem in which given forces press the contacts."""
    size = problem.size.copy()
    size[cone >= 0] *= np.maximum(N, 0.0)[cone[cone >= 0]]
    size[cone == -2] = 0.0
    return replace(problem, size=size, pressed=None)


def _repeated(
    place: Place, cone: np.ndarray, N: np.ndarray, near: Answer | None
) -> tuple[Outcome, Place]:
    """Press with what came out until the same comes out."""
    rough = np.unique(cone[cone >= 0])

    def answer(N: np.ndarray, near: Answer | None) -> tuple[Outcome, Problem, np.ndarray]:
        full = np.zeros(len(place.problem.g))
        full[rough] = N
        problem = limited(place.problem, cone, full)
        outcome = settled(problem, near)
        return outcome, problem, N if outcome.answer is None else outcome.answer.mu[rough]

    N = N[rough]
    outcome, problem, presses = answer(N, near)
    points, images = [N], [presses]
    for count in range(_MOST_STEPS):
        if outcome.answer is None:
            break
        scale = max(np.abs(presses).max(initial=0.0), problem.force * 1e-6)
        if np.abs(presses - N).max(initial=0.0) <= _ROUNDING * scale:
            return outcome, replace(place, problem=problem)
        # Extrapolation ends at once within a mode, and may chase its own tail between two: then
        # going half the way for a while leads into one.
        if count % 12 < 8:
            ahead = _extrapolated(points, images)
        else:
            ahead, points, images = (N + presses) / 2, [], []
        N = np.maximum(ahead, 0.0)
        outcome, problem, presses = answer(N, outcome.answer)
        points.append(N)
        images.append(presses)
        points, images = points[-_MEMORY:], images[-_MEMORY:]
    if outcome.answer is None:
        return outcome, replace(place, problem=problem)
    left = np.abs(presses - N).max() / max(np.abs(presses).max(), 1e-300)
    word = outcome.word if left < 1e-8 else "undecided"
    return replace(outcome, word=word), replace(place, problem=problem)


def _decided(place: Place, cone: np.ndarray) -> tuple[Outcome, Place]:
    """Decide by forces within all cones: whether there are any, and what motion goes with them."""
    problem = place.problem
    closed = replace(problem, size=np.where(cone == -2, 0.0, problem.size))
    most = balanced(closed, cone)
    if most.word == "accelerates":
        runaway = _runaway(place, cone, proved=True)
        if runaway is not None:
            return runaway
        # Along this direction contacts open at least as fast as friction could resist.
        verdict = Verdict("accelerates", ray=most.v)
        none = limited(problem, cone, np.zeros(len(problem.g)))
        return Outcome("accelerates", verdict=verdict), replace(place, problem=none)
    best: tuple[Outcome, Place] | None = None
    for N in _presses(closed, cone, most):
        best = _repeated(place, cone, N, None)
        if best[0].word == "moves":
            return best
    moving = motions(closed, cone)
    if moving:
        return Outcome("moves", moving[0]), replace(place, problem=moving[0].problem)
    runaway = _runaway(place, cone)
    if runaway is not None:
        return runaway
    if moving is not None and most.word == "locks":
        verdict = Verdict("jammed", rows=most.lam, gaps=most.mu, locks=most.y)
        none = limited(problem, cone, np.zeros(len(problem.g)))
        return Outcome("jammed", verdict=verdict), replace(place, problem=none)
    if best is None:
        none = limited(problem, cone, np.zeros(len(problem.g)))
        return Outcome("undecided"), replace(place, problem=none)
    return replace(best[0], word="undecided"), best[1]


def _runaway(
    place: Place, cone: np.ndarray, *, proved: bool = False
) -> tuple[Outcome, Place] | None:
    """Give it a little drag: what then moves the faster the less drag there is accelerates.

    That it does may be `proved` already: then this tells which way, by Coulomb's law.
    """
    problem, speed = place.problem, place.problem.imposed
    velocities, where = [], place
    for eta in (1e-3, 1e-4):
        unit = sparse.eye(problem.n, format="csc") * (eta * problem.force / speed)

        def drag(v: np.ndarray, unit: Any = unit) -> tuple[float, np.ndarray, Any]:
            return float(v @ (unit @ v)) / 2, unit @ v, unit

        slow = replace(place, problem=replace(problem, viscous=drag))
        outcome, where = _repeated(slow, cone, np.zeros(len(problem.g)), None)
        if outcome.word != "moves" or outcome.answer is None:
            return None
        velocities.append(outcome.answer.v)
    fast = [float(np.abs(v).max(initial=0.0)) for v in velocities]
    if fast[1] < 5 * fast[0] or fast[1] < 30 * speed and not proved:
        return None
    # What is imposed is the same under any drag: it is no part of what grows.
    ray = velocities[1] - velocities[0]
    dry = replace(where.problem, viscous=None)
    slip = dry.size * dry.speeds(dry.matrices[0] @ ray) / np.abs(ray).max()
    verdict = Verdict("accelerates", ray=ray, rubs=float(slip[cone >= 0].sum()))
    return Outcome("accelerates", verdict=verdict), replace(place, problem=dry)


def _presses(problem: Problem, cone: np.ndarray, most: Balance) -> Iterator[np.ndarray]:
    """Guess what presses: as if contacts lifted, then lifting less and less.

    With the slip taken off that is found, contacts lift by nothing: again a fixed point, of
    another map, that is at rest where velocities are known whatever presses.
    """
    if most.word == "balanced":
        yield most.mu
    slip = problem.speeds(problem.rates(most.v if most.word == "balanced" else most.v * 0))
    points, images = [], []
    for _ in range(_MOST_STEPS):
        step = balanced(problem, cone, slip)
        if step.word != "balanced":
            return
        points.append(slip)
        images.append(problem.speeds(problem.rates(step.v)))
        left = np.abs(images[-1] - slip)[cone >= 0].max(initial=0.0)
        if left <= 1e-8 * max(np.abs(slip).max(initial=0.0), 1e-300):
            yield step.mu
            return
        slip = np.maximum(_extrapolated(points[-_MEMORY:], images[-_MEMORY:]), 0.0)


def _standing(place: Place, cone: np.ndarray) -> tuple[Outcome, Place] | None:
    """Return the forces inside all cones that hold it, if there are any: then it sticks."""
    problem = place.problem
    # What opens by itself neither pushes nor rubs.
    opening = problem.g > 0
    cone = np.where((cone >= 0) & np.append(opening, [False, False])[cone], -2, cone)
    size = np.where(cone == -2, 0.0, problem.size)
    G = problem.matrices[2].copy()
    G[opening] = 0.0
    open_too = replace(problem, size=size, G=G)
    nothing = np.zeros(problem.n)
    rest = strength(open_too, nothing, problem.f, cone)
    if not rest.static >= 1 - 1e-9 or rest.end is End.INFEASIBLE:
        return None
    share = 1 / rest.static if np.isfinite(rest.static) else 1.0
    y, lam, mu = rest.y * share, rest.lam * share, np.where(opening, 0.0, rest.mu * share)
    held = limited(problem, cone, mu)
    every = problem.speeds(problem.c) == 0
    pressing = mu > 1e-12 * problem.force
    answer = Answer(held, nothing, y, lam, mu, every, pressing, "Clarabel")
    return Outcome("sticks", answer, rest=rest), replace(place, problem=held)


def _extrapolated(points: list[np.ndarray], images: list[np.ndarray]) -> np.ndarray:
    """Return the fixed point of the linear map through the last points (Anderson)."""
    if len(points) < 2:
        return images[-1]
    left = np.array([b - a for a, b in zip(points, images)])
    change = np.diff(left, axis=0).T
    moved = np.diff(np.array(images), axis=0).T
    weights, *_ = np.linalg.lstsq(change, left[-1], rcond=1e-14)
    return images[-1] - moved @ weights
