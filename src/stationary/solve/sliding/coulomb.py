"""Friction at contacts: as large as what presses them, which the motion itself decides.

For given normal forces N the limits μN are given and the minimum of power answers, what presses
the contacts included. The normal forces that come out must be those that went in.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stationary.solve.sliding.judge import strength
from stationary.solve.sliding.problem import Answer, Problem
from stationary.solve.sliding.question import Place, Question
from stationary.solve.sliding.settle import Outcome, settled

_MOST_STEPS = 100
_ROUNDING = 1e-12
# How many differences the next guess is extrapolated from.
_MEMORY = 6


def pressed(question: Question, place: Place, guess: Answer | None = None) -> tuple[Outcome, Place]:
    """Find velocities and normal forces that belong together."""
    rubs = question.rubs
    terms = np.flatnonzero(rubs >= 0)
    where = {int(gap): k for k, gap in enumerate(place.touching)}
    touching = np.array([where.get(int(gap), -1) for gap in rubs[terms]])
    rough = place.problem.size[terms]
    if not place.problem.driven and place.problem.dry and np.any(place.problem.f):
        found = _standing(question, place, terms, touching)
        if found is not None:
            return found

    def answer(N: np.ndarray, near: Answer | None) -> tuple[Outcome, Problem, np.ndarray]:
        size = place.problem.size.copy()
        size[terms] = np.where(touching >= 0, rough * np.maximum(N, 0.0), 0.0)
        problem = replace(place.problem, size=size)
        outcome = settled(problem, near)
        if outcome.answer is None:
            return outcome, problem, N
        mu = np.append(outcome.answer.mu, 0.0)
        return outcome, problem, mu[touching]

    N = np.zeros(len(terms))
    if guess is not None and len(guess.problem.g) == len(place.problem.g):
        N = np.append(guess.mu, 0.0)[touching]
    outcome, problem, found = answer(N, guess)
    points, images = [N], [found]
    for count in range(_MOST_STEPS):
        if outcome.answer is None:
            break
        scale = max(np.abs(found).max(initial=0.0), problem.force * 1e-6)
        if np.abs(found - N).max(initial=0.0) <= _ROUNDING * scale:
            return outcome, replace(place, problem=problem)
        # Extrapolation ends at once within a mode, and may chase its own tail between two: then
        # going half the way for a while leads into one.
        if count % 12 < 8:
            ahead = _extrapolated(points, images)
        else:
            ahead, points, images = (N + found) / 2, [], []
        N = np.maximum(ahead, 0.0)
        outcome, problem, found = answer(N, outcome.answer)
        points.append(N)
        images.append(found)
        points, images = points[-_MEMORY:], images[-_MEMORY:]
    if outcome.answer is None:
        return outcome, replace(place, problem=problem)
    left = np.abs(found - N).max() / max(np.abs(found).max(), 1e-300)
    word = outcome.word if left < 1e-8 else "undecided"
    return replace(outcome, word=word), replace(place, problem=problem)


def _standing(question: Question, place: Place, terms: np.ndarray, touching: np.ndarray):
    """Return the forces inside all cones that hold it, if there are any: then it sticks."""
    problem = place.problem
    cone = np.full(problem.terms, -1)
    size = problem.size.copy()
    cone[terms] = touching
    size[terms[touching < 0]] = 0.0
    # What opens by itself pushes nothing.
    opening = problem.g > 0
    G = problem.matrices[2].copy()
    G[opening] = 0.0
    open_too = replace(problem, size=size, G=G)
    nothing = np.zeros(problem.n)
    rest = strength(open_too, nothing, problem.f, cone)
    share = 1 / rest.static if rest.static > 0 else np.inf
    if "DualInfeasible" in rest.word:
        # Any load is held: ask for the forces under this one.
        rest, share = replace(strength(open_too, problem.f, nothing, cone), static=np.inf), 1.0
    if not rest.static >= 1 - 1e-9 or "PrimalInfeasible" in rest.word:
        return None
    y, lam, mu = rest.y * share, rest.lam * share, np.where(opening, 0.0, rest.mu * share)
    size[terms] = np.where(touching >= 0, problem.size[terms] * np.append(mu, 0.0)[touching], 0.0)
    held = replace(problem, size=size)
    every = np.ones(problem.terms, dtype=bool)
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
