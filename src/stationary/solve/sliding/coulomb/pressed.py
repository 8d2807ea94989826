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

from stationary.solve.sliding.convex.cones import End
from stationary.solve.sliding.convex.judge import Outcome, Strength, balanced
from stationary.solve.sliding.convex.reduced import refined
from stationary.solve.sliding.convex.settle import at_rest, settled
from stationary.solve.sliding.coulomb.modes import motions, only
from stationary.solve.sliding.problem.numbers import Answer, Problem, largest
from stationary.solve.sliding.problem.question import Place, Question

_MOST_STEPS = 100
# Up to so many modes of contacts all are tried where a motion goes on.
_FEW_MODES = 64
_ROUNDING = 1e-12
# How many differences the next guess is extrapolated from.
_MEMORY = 6


def pressed(question: Question, place: Place, guess: Answer | None = None) -> tuple[Outcome, Place]:
    """Find velocities and normal forces that belong together."""
    outcome = _pressed(place.problem, question.pressed(place), guess)
    problem = outcome.problem if outcome.answer is None else outcome.answer.problem
    return outcome, replace(place, problem=problem or place.problem)


def _pressed(problem: Problem, cone: np.ndarray, guess: Answer | None) -> Outcome:
    if not problem.driven and problem.dry and np.any(problem.f):
        rest = at_rest(problem, cone)
        if rest.answer is None:
            return _decided(problem, cone)
        held = limited(problem, cone, rest.answer.mu)
        return replace(rest, answer=replace(rest.answer, problem=held))
    # What has moved goes on in its mode, nearly always.
    moved = guess is not None and bool(guess.v.any())
    near = _near(problem, cone, guess) if moved else only(problem, cone)
    if near is None:
        near = only(problem, cone) if moved else _near(problem, cone, guess)
    if near is None and guess is not None:
        # Of several motions the one that goes on as it went.
        before, every = guess.v, motions(problem, cone, _FEW_MODES) or []
        near = min(every, key=lambda x: float(np.abs(x.v - before).max(initial=0.0)), default=None)
    if near is not None:
        return Outcome("moves", near)
    N = np.zeros(len(problem.g))
    if guess is not None and len(guess.problem.g) == len(problem.g):
        N = guess.mu
    outcome = _repeated(problem, cone, N, guess)
    # Without what presses a contact nothing may hold what it holds: that proves nothing.
    decided = outcome.word in ("moves", "sticks", "jammed")
    return outcome if decided or not problem.dry else _decided(problem, cone)


def _near(problem: Problem, cone: np.ndarray, guess: Answer | None) -> Answer | None:
    """Find velocities and forces by Newton's method, from a guess or as if contacts were smooth."""
    if guess is None or len(guess.mu) != len(problem.g) or len(guess.lam) != len(problem.b):
        smooth = settled(limited(problem, cone, np.zeros(len(problem.g))))
        if smooth.word != "moves" or smooth.answer is None:
            return None
        guess = smooth.answer
        # What slides by nothing sticks; what presses nothing yet is about to.
        guess = replace(guess, y=np.where((cone >= 0)[problem.term], guess.rates, guess.y))
    answer = refined(problem, guess)
    return answer if answer is not None and answer.right() else None


def limited(problem: Problem, cone: np.ndarray, N: np.ndarray) -> Problem:
    """Return the problem in which given forces press the contacts."""
    size = problem.size.copy()
    size[cone >= 0] *= np.maximum(N, 0.0)[cone[cone >= 0]]
    size[cone == -2] = 0.0
    return replace(problem, size=size, pressed=None)


def _repeated(problem: Problem, cone: np.ndarray, N: np.ndarray, near: Answer | None) -> Outcome:
    """Press with what came out until the same comes out."""
    rubbing = np.unique(cone[cone >= 0])

    def answer(N: np.ndarray, near: Answer | None) -> tuple[Outcome, np.ndarray]:
        full = np.zeros(len(problem.g))
        full[rubbing] = N
        under = limited(problem, cone, full)
        outcome = replace(settled(under, near), problem=under)
        return outcome, N if outcome.answer is None else outcome.answer.mu[rubbing]

    N = N[rubbing]
    outcome, presses = answer(N, near)
    points, images = [N], [presses]
    for count in range(_MOST_STEPS):
        if outcome.answer is None:
            return outcome
        scale = max(np.abs(presses).max(initial=0.0), outcome.answer.problem.force * 1e-6)
        if np.abs(presses - N).max(initial=0.0) <= _ROUNDING * scale:
            return outcome
        # Extrapolation ends at once within a mode, and may chase its own tail between two: then
        # going half the way for a while leads into one.
        if count % 12 < 8:
            ahead = _extrapolated(points, images)
        else:
            ahead, points, images = (N + presses) / 2, [], []
        N = np.maximum(ahead, 0.0)
        outcome, presses = answer(N, outcome.answer)
        points, images = [*points, N][-_MEMORY:], [*images, presses][-_MEMORY:]
    if outcome.answer is None:
        return outcome
    left = np.abs(presses - N).max() / max(np.abs(presses).max(), 1e-300)
    return outcome if left < 1e-8 else replace(outcome, word="undecided")


def _decided(problem: Problem, cone: np.ndarray) -> Outcome:
    """Decide by forces within all cones: whether there are any, and what motion goes with them."""
    closed = replace(problem, size=np.where(cone == -2, 0.0, problem.size))
    most, none = balanced(closed, cone), limited(problem, cone, np.zeros(len(problem.g)))
    if most.end is End.INFEASIBLE:
        # Along this direction contacts open at least as fast as friction could resist.
        lifts = Outcome("accelerates", ray=most.v, problem=none)
        return _runaway(problem, cone, proved=True) or lifts
    best = Outcome("undecided", problem=none)
    for N in _presses(closed, cone, most):
        best = _repeated(problem, cone, N, None)
        if best.word == "moves":
            return best
    moving = motions(closed, cone)
    if moving:
        return Outcome("moves", moving[0])
    runaway = _runaway(problem, cone)
    if runaway is None and moving is not None and most.end is End.UNBOUNDED:
        return Outcome("jammed", rows=most.lam, gaps=most.mu, locks=most.y, problem=none)
    return runaway or replace(best, word="undecided")


def _runaway(problem: Problem, cone: np.ndarray, *, proved: bool = False) -> Outcome | None:
    """Give it a little drag: what then moves the faster the less drag there is accelerates.

    That it does may be `proved` already: then this tells which way, by Coulomb's law.
    """
    speed, answers = problem.imposed, []
    for eta in (1e-3, 1e-4):
        unit = sparse.diags(eta * problem.force / speed * problem.levers**2, format="csc")

        def drag(v: np.ndarray, unit: Any = unit) -> tuple[float, np.ndarray, Any]:
            return float(v @ (unit @ v)) / 2, unit @ v, unit

        slow = replace(problem, viscous=drag)
        outcome = _repeated(slow, cone, np.zeros(len(problem.g)), None)
        if outcome.word != "moves" or outcome.answer is None:
            return None
        answers.append(outcome.answer)
    slower, faster = (largest(x.v * problem.levers) for x in answers)
    if faster < 5 * slower or faster < 30 * speed and not proved:
        return None
    # What is imposed is the same under any drag: it is no part of what grows.
    ray = answers[1].v - answers[0].v
    dry = replace(answers[1].problem, viscous=None)
    slip = dry.size * dry.speeds(dry.matrices[0] @ ray) / np.abs(ray).max()
    return Outcome("accelerates", ray=ray, rubs=float(slip[cone >= 0].sum()), problem=dry)


def _presses(problem: Problem, cone: np.ndarray, most: Strength) -> Iterator[np.ndarray]:
    """Guess what presses: as if contacts lifted, then lifting less and less.

    With the slip taken off that is found, contacts lift by nothing: again a fixed point, of
    another map, that is at rest where velocities are known whatever presses.
    """
    if most.balances:
        yield most.mu
    slip = problem.speeds(problem.rates(most.v if most.balances else most.v * 0))
    points, images = [], []
    for _ in range(_MOST_STEPS):
        step = balanced(problem, cone, slip)
        if not step.balances:
            return
        points.append(slip)
        images.append(problem.speeds(problem.rates(step.v)))
        left = np.abs(images[-1] - slip)[cone >= 0].max(initial=0.0)
        if left <= 1e-8 * max(np.abs(slip).max(initial=0.0), 1e-300):
            yield step.mu
            return
        slip = np.maximum(_extrapolated(points[-_MEMORY:], images[-_MEMORY:]), 0.0)


def _extrapolated(points: list[np.ndarray], images: list[np.ndarray]) -> np.ndarray:
    """Return the fixed point of the linear map through the last points (Anderson)."""
    if len(points) < 2:
        return images[-1]
    left = np.array([b - a for a, b in zip(points, images)])
    change = np.diff(left, axis=0).T
    moved = np.diff(np.array(images), axis=0).T
    weights, *_ = np.linalg.lstsq(change, left[-1], rcond=1e-14)
    return images[-1] - moved @ weights
