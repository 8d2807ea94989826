"""Why a motion cannot go on: what holds contradicts itself, or nothing brings it back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stationary.result.status import Status
from stationary.solve.linear import dense, tangent_basis
from stationary.solve.sliding.convex.judge import Outcome
from stationary.solve.sliding.coulomb.pressed import limited
from stationary.solve.sliding.problem.numbers import STILL, Answer
from stationary.solve.sliding.problem.question import Place, Question

# Rows that are independent by less than this share soon contradict each other; a force that small,
# relative to the largest, soon vanishes.
_NEARLY = 1e-3
# Velocities grow without bound a little before: rows are closer than this by then.
_CLOSE = 1e-2
# What leads so many times farther than the lengths at work leads nowhere.
_FAR = 3.0
# A stiffness below zero by less than this share is none.
_NEUTRAL = 1e-7

#: An outcome without an answer, and where.
Failing = tuple[Outcome, Place]


class Ended(Exception):  # noqa: N818  # an ending, not an error
    """The motion cannot go on: why."""

    def __init__(self, status: Status, outcome: Outcome | None = None, place: Place | None = None):
        super().__init__(status)
        self.status, self.outcome, self.place = status, outcome, place


def conflict(question: Question, place: Place) -> Outcome | None:
    """Name the rows that soon contradict each other, as velocities that grow without bound tell.

    Contacts among them push, or they would open. One row alone contradicts what drives it where no
    coordinate changes it any more: at the end of its reach, or at a dead centre.
    """
    problem = place.problem
    _, A, G = (dense(x) for x in problem.matrices)
    # Radians are compared with metres by what rubs.
    levers, rate = problem.levers, np.concatenate([problem.b, problem.g])
    rows = np.vstack([A, G]) / levers
    if not np.any(rate):
        return None
    # Beside what its coordinates can do, one row may ask for too much.
    reach = question.lengths(place) * levers
    reach = np.maximum(reach, 1e-3 * reach.max(initial=0.0))
    most = np.abs(rows * reach).max(axis=1, initial=0.0)
    size = np.maximum(np.linalg.norm(rows, axis=1), 1e-300)
    out = most < _NEARLY * np.abs(rate) * question.span
    size = np.where(out, size / _NEARLY**2, size)
    left, values, _ = np.linalg.svd(rows / size[:, None])
    values = np.append(values, np.zeros(len(rows) - len(values)))
    small = left[:, values <= _CLOSE * max(values[0], _NEARLY)]
    weights = -small @ (small.T @ (rate / size))
    if np.linalg.norm(weights) <= _NEARLY * np.linalg.norm(rate / size):
        return None
    weights[np.abs(weights) < 1e-2 * np.abs(weights).max()] = 0.0
    weights, held = weights / size, len(problem.b)
    # Velocities that would satisfy them all lead far beyond the lengths at work.
    given = float(np.abs((rows * levers).T @ weights) @ question.lengths(place))
    if np.any(weights[held:] < 0) or _FAR * given >= abs(float(weights @ rate)) * question.span:
        return None
    return Outcome("jammed", rows=weights[:held], gaps=weights[held:])


def ending(
    question: Question, t: float, q: np.ndarray, ahead: np.ndarray, answer: Answer
) -> Failing | None:
    """Tell why a motion ends soon after a place, with the forces there, if that can be told.

    `ahead` is where it would be a moment later, at its velocity.
    """
    if len(answer.working) != question.sliding.gaps or not answer.problem.dense:
        return None
    place = question.at(t, q, viscous=True, touching=np.flatnonzero(answer.working))
    contradiction = conflict(question, place)
    if contradiction is not None:
        return contradiction, place
    # What is about to open or to slip does not hold for long.
    pressing = answer.working & (answer.mu > _NEARLY * answer.strength)
    room = answer.problem.size - answer.resists > _NEARLY * answer.problem.force
    soon = replace(answer, working=pressing, stuck=answer.stuck & room)
    for x, near in ((ahead, answer), (q, soon)):
        outcome = runaway(question, t, x, near)
        if outcome is not None:
            return outcome
    return None


def runaway(question: Question, t: float, q: np.ndarray, answer: Answer) -> Failing | None:
    """Return a direction along which nothing brings it back: where the stiffness is below zero.

    Directions are those that nothing resists at once: what sticks, drags or slides across its way
    is held. What presses a sliding contact changes its friction with it.
    """
    if not answer.problem.dense:
        return None
    place = question.with_all_contacts(t, q)
    p, coefficients = answer.problem, place.problem.size
    curvature = question.evaluate("curvature", place, np.concatenate(answer.forces))[0]
    K = dense(curvature) - dense(question.evaluate("tangent", place)[0])
    K = (K + K.T) / 2
    B, A, G = place.problem.matrices
    # What slides by rounding's worth, or is about to, slides the way its force resists.
    dry = ~answer.stuck & (p.power == 0)
    forced = (answer.resists > p.size / 2) | (answer.speeds <= STILL * answer.speed)
    ahead = np.where((forced & dry)[p.term], answer.y, answer.rates)
    unit = ahead / np.maximum(p.speeds(ahead), 1e-300)[p.term]
    slides = dry & (p.size > 0)
    aside = B - unit[:, None] * p.sums(unit[:, None] * B)[p.term]
    held = [A, B[answer.stuck[p.term] | (p.power > 0)[p.term]], aside[slides[p.term]]]
    if place.problem.viscous is not None:
        held.append(np.nan_to_num(dense(place.problem.viscous(np.zeros(p.n))[2])))
    grip, pushed = dense(question.evaluate("grip", place)[0]), G.copy()
    for k in np.flatnonzero(slides):
        contact, along = question.rubs[k], unit[p.part(k)] @ B[p.part(k)]
        # A limit that grows along the way brings it back, one that falls drives it on.
        presses = answer.mu[contact] if contact >= 0 else 1.0
        K = K + np.outer(along, presses * grip[p.starts[k]])
        if contact >= 0:
            pushed[contact] -= coefficients[k] * along
    ways, turned = (tangent_basis(np.vstack([*held, x[answer.working]])) for x in (G, pushed))
    if not ways.shape[1] or ways.shape != turned.shape:
        return None
    values, vectors = np.linalg.eig(np.linalg.pinv(turned.T @ ways) @ (turned.T @ K @ ways))
    k = int(np.argmin(np.real(values)))
    least, ray = float(np.real(values[k])), ways @ np.real(vectors[:, k])
    shares = np.abs(ray) / question.lengths(place)
    # Beside all stiffness there is, and beside forces over the lengths at work.
    scale = max(np.abs(K).max(initial=0.0), answer.strength * float(shares.max()))
    if not least < -_NEUTRAL * scale:
        return None
    ray = np.where(shares < 1e-6 * shares.max(), 0.0, ray / np.abs(ray).max())
    there = replace(place, problem=limited(place.problem, question.rubs, answer.mu))
    return Outcome("accelerates", ray=ray, stiffness=least), there
