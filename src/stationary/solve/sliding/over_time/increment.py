"""One step over a finite time: the minimum over the increment, with constraints at its end.

    minimize over q₁   Σ limit |on(q₁, t₁) − on(q₀, t₀)| + (U − W)(q₁) − …   with R(q₁, t₁) = 0

Springs and dry friction together have no velocity that could be found instant by instant: what
matters is how the forces change. Over an increment they have a minimum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sparse

from stationary.solve.sliding.coulomb.pressed import limited
from stationary.solve.sliding.instant.least_power import solved
from stationary.solve.sliding.over_time.increment_newton import end_of_increment
from stationary.solve.sliding.over_time.stretch import onto
from stationary.solve.sliding.problem.measure import Measure
from stationary.solve.sliding.problem.numbers import Answer, Problem, largest
from stationary.solve.sliding.problem.question import Place, Question
from stationary.solve.sliding.telling.endings import runaway

# What is off by this share of ways and energies is not right.
_RIGHT = 1e-9
# How short a part of an increment of a large system is tried to find a way to its end.
_LEAST_PART = 1 / 8**4
# How far another rest may be, relative to the lengths at work, to be one next to it.
_BESIDE = 0.03


@dataclass(frozen=True)
class Increment:
    """Where a step leads, and the forces at its end."""

    t: float
    q: np.ndarray
    place: Place
    answer: Answer
    step: float


class Failed(Exception):
    """An increment that was not found: why, and what was known."""

    def __init__(self, word: str, outcome: Any = None, place: Any = None):
        super().__init__(word)
        self.word, self.outcome, self.place = word, outcome, place


def increment(
    question: Question,
    t: float,
    h: float,
    q: np.ndarray,
    v: np.ndarray,
    near: Answer | None,
    *,
    same: bool = False,
) -> Increment:
    """Find where the system is a time `h` later; `v` and `near` say what it did before.

    With `same` nothing but what slid and touched before is tried.
    """
    start = question.at(t, q)
    # Velocities that grow without bound say little about where it will be.
    measure = Measure(question, start)
    v = v * min(1.0, 1.0 / max(measure.far(h * v), 1e-300))
    # What touches is expected to push.
    touches = np.zeros(len(start.gap))
    touches[start.touching] = start.problem.force
    forces = np.zeros(len(start.problem.c)), np.zeros(len(start.R)), touches
    if near is not None and len(near.mu) == len(start.gap):
        forces = near.forces
    end, part = end_of_increment(question, start, h, start.q + h * v, forces, same=same), h
    # Where the end is too far to be found from the start, a shorter increment leads closer.
    while end is None and not same and part > _LEAST_PART * h and not start.problem.dense:
        part /= 8
        end = end_of_increment(question, start, part, start.q + part * v, forces)
    while end is not None and part < h:
        part, x = 2 * part, start.q + 2 * (end.x - start.q)
        end = end_of_increment(question, start, part, x, end.forces)
    if end is None and not same and (least := _least_power(question, t, q)) is not None:
        # What is slow turns so fast that what it did before misleads.
        x, forces = start.q + h * least.v, least.forces
        end = end_of_increment(question, start, h, x, forces)
    if end is None:
        raise Failed("too many steps")
    place, (y, lam, mu) = end.place, end.forces
    place = replace(place, problem=limited(place.problem, question.rubs, mu))
    exact = _over(question, place, start, h, end.forces)
    answer = Answer(exact, end.move, y, lam, mu, end.stuck, end.working, "Newton")
    if not _proves(answer, measure):
        raise Failed("too many steps")
    return Increment(start.t + h, end.x, replace(place, problem=exact), answer, h)


def _least_power(question: Question, t: float, q: np.ndarray) -> Answer | None:
    """Return velocities of least power where few, as if forces did not change with the place."""
    place = question.at(t, q, viscous=True)
    if not place.problem.dense:
        return None
    answer = solved(question, place)[0].answer
    return None if answer is None else everywhere(question, place, answer)


def stable(
    question: Question, t: float, h: float, q: np.ndarray, v: np.ndarray, near: Answer | None
) -> Increment:
    """Find an increment at the end of which it stays: a rest that the smallest push ends is none.

    Next to it there may be another, as on either side of a column that begins to bend.
    """
    step = increment(question, t, h, q, v, near)
    loose = runaway(question, step.t, step.q, step.answer)
    if loose is None:
        return step
    ray, measure = loose[0].ray, Measure(question, step.place)
    assert ray is not None
    ray = ray / measure.far(ray)
    for kick in (_BESIDE, -_BESIDE, 1e-2 * _BESIDE, -1e-2 * _BESIDE):
        try:
            aside = step.q + kick * ray
            other = increment(question, t, h, q, (aside - q) / h, step.answer)
        except Failed:
            continue
        near_by = measure.far(other.q - step.q) <= _BESIDE
        if near_by and runaway(question, other.t, other.q, other.answer) is None:
            return other
    raise Failed("accelerates", *loose)


def everywhere(question: Question, place: Place, answer: Answer) -> Answer:
    """Return an answer as one about all contacts, those included that are open."""
    if len(place.touching) == len(place.gap):
        return answer
    answer = answer.about(place.touching, np.arange(len(place.gap)))
    there = question.with_all_contacts(place.t, place.q)
    return replace(answer, problem=limited(there.problem, question.rubs, answer.mu))


def at_rest(question: Question, place: Place, answer: Answer) -> np.ndarray:
    """Return the friction terms that do not slide over an increment, but by rounding's worth."""
    return answer.stuck | (answer.speeds <= Measure(question, place).rests)


def extrapolated(
    question: Question, q: np.ndarray, whole: Increment, half: Increment, rest: Increment
) -> np.ndarray | None:
    """Return where ever shorter increments lead, by a whole one and two halves; of order two.

    None where something starts or stops to slide or to touch: there is no order to speak of.
    """
    stuck, working = at_rest(question, rest.place, rest.answer), rest.answer.working
    for other in (whole, half):
        sticks = at_rest(question, other.place, other.answer)
        if np.any(sticks != stuck) or np.any(other.answer.working != working):
            return None
    start, held = question.at(rest.t - whole.step, q), stuck[rest.answer.problem.term]
    ahead = 2 * rest.q - whole.q
    there = onto(question, rest.t, ahead, np.flatnonzero(working), held, start.along)
    if there is None:
        return None
    measure = Measure(question, rest.place)
    near = measure.far(there - rest.q) <= 2 * measure.far(whole.q - rest.q) + measure.rounding
    return there if near else None


def _proves(answer: Answer, units: Measure) -> bool:
    """Tell whether forces at the end of an increment balance, are allowed, and fit its way.

    All is told in ways that matter and in the energies at work.
    """
    p, energy = answer.problem, units.energy(answer.problem, answer.forces)
    excess = np.where(p.power == 0, answer.resists - p.size, 0.0)
    forces = (
        largest(answer.unbalanced * units.moves), float((excess * units.slips).max(initial=0.0)),
        float((-answer.mu * units.gaps).max(initial=0.0)),
    )  # fmt: skip
    off = (p.matrices[1] @ answer.v + p.b) / units.rows, np.minimum(answer.opening / units.gaps, 0)
    far = largest(answer.speeds / units.slips)
    apart = abs(answer.value - answer.bound)
    return bool(
        max(forces) <= _RIGHT * energy
        and max(map(largest, off)) <= _RIGHT * far + units.rounding
        and apart <= (_RIGHT * far + units.rounding) * energy
    )


def _over(
    question: Question,
    place: Place,
    start: Place,
    h: float,
    forces: tuple[np.ndarray, ...],
) -> Problem:
    """State the problem for what is left of an increment at a place near its end."""
    moved = place.q - start.q
    now, bent = place.problem, question.evaluate("curvature", place, np.concatenate(forces))[0]
    K = bent - sparse.csc_matrix(question.evaluate("tangent", place)[0])
    K, drag = (K + K.T) / 2, now.viscous

    def potential(d: np.ndarray) -> tuple[float, np.ndarray, Any]:
        pull = K @ d
        total, slope, second = float(d @ pull) / 2, pull, K
        if drag is not None:
            D, by_v, by_v2 = drag((moved + d) / h)
            total, slope, second = total + h * D, slope + by_v, second + by_v2 / h
        return total, slope, second

    return replace(
        now,
        c=place.along - start.along,
        size=now.size * h ** (-now.power),
        b=np.where(question.layout.holonomic, place.R, now.A @ moved + h * now.b),
        g=place.gap,
        viscous=potential if K.nnz or drag is not None else None,
    )
