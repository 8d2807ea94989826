"""One step over a finite time: the minimum over the increment, with constraints at its end.

    minimize over q₁   Σ limit |on(q₁, t₁) − on(q₀, t₀)| + (U − W)(q₁) − …   with R(q₁, t₁) = 0

Springs and dry friction together have no velocity that could be found instant by instant: what
matters is how the forces change. Over an increment they have a minimum. It is that of convex
problems one after the other, each with friction as it is and all else as it bends where the last
one led: they are of the kind that instants have, and solved as these are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sparse

from stationary.errors import StatementError
from stationary.solve.sliding.convex.reduced import refined
from stationary.solve.sliding.coulomb.pressed import limited
from stationary.solve.sliding.instant.least_power import solved
from stationary.solve.sliding.over_time.stretch import onto
from stationary.solve.sliding.problem.measure import Measure, Units, rests
from stationary.solve.sliding.problem.numbers import Answer, Problem, largest
from stationary.solve.sliding.problem.question import Place, Question
from stationary.solve.sliding.telling.endings import runaway

# What is off by this share of ways and energies is not right.
_RIGHT = 1e-9
# Problems one after the other, and how many of them may lead no closer or be hard.
_MOST_ROUNDS, _PATIENCE = 50, 8
# A problem is solved but for this share; where rounding alone moves it, so many times that is none.
_SOLVED, _NOISE = 1e-6, 100.0
# How stiffly it is held back at first, beside energies over lengths at work.
_HELD = 1e-3
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
) -> Increment:
    """Find where the system is a time `h` later; `v` and `near` say what it did before."""
    start = question.at(t, q)
    if near is None or len(near.mu) != len(start.gap):
        # What touches is expected to push.
        p, mu, none = start.problem, np.zeros(len(start.gap)), np.zeros(start.problem.terms, bool)
        mu[start.touching] = p.force
        near = Answer(p, 0 * q, 0 * p.c, 0 * p.b, mu, none, mu > 0)
    # Velocities that grow without bound say little about where it will be.
    v = v * min(1.0, 1.0 / max(Measure.of(question, start).far(h * v), 1e-300))
    # A guess may be so far away that constraints seem to bend the wrong way.
    with np.errstate(all="ignore"):
        for x in (q + h * v, q):
            step = _by_rounds(question, start, h, x, near)
            if step is not None:
                return step
    raise Failed("too many steps")


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
    ray, measure = loose[0].ray, Measure.of(question, step.place)
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
    return answer.stuck | (answer.speeds <= rests(place, Measure.of(question, place)))


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
    measure = Measure.of(question, rest.place)
    near = measure.far(there - rest.q) <= 2 * measure.far(whole.q - rest.q) + measure.rounding
    return there if near else None


def _by_rounds(
    question: Question, start: Place, h: float, x: np.ndarray, near: Answer
) -> Increment | None:
    """Find an increment by problems one after the other, or None where that fails.

    Where moves do not become shorter, as at a fold of what holds, it is held back.
    """
    measure, t, far, waits, held = Measure.of(question, start), start.t + h, np.inf, 0, 0.0
    units = Units.of(start, measure.lengths)
    # Where friction follows pressure, what is not close to what it did before takes long.
    costs = 3 if np.any(question.rubs >= 0) else 1
    for _ in range(_MOST_ROUNDS):
        try:
            place = question.with_all_contacts(t, x)
        except StatementError:
            # It has gone where the system is not defined.
            return None
        moved = x - start.q
        back = held * units.energy(place.problem, near.forces) / units.moves**2
        problem = _over(question, place, start, moved, h, near.forces, back, near)
        answer = refined(problem, replace(near, problem=problem, v=0 * x))
        if answer is None or not answer.right(_SOLVED):
            # As links in tension bend, and nothing else: then it is convex.
            y, lam, mu = near.forces
            tame = _over(
                question, place, start, moved, h, (0 * y, np.minimum(lam, 0), 0 * mu), back
            )
            outcome, _ = solved(question, replace(place, problem=tame))
            answer, rest, waits = outcome.answer, outcome.rest, waits + costs
            if answer is None and rest is not None and not lam.any():
                # Forces that all but hold it tell how what holds it bends.
                near = replace(near, y=rest.y, lam=rest.lam, mu=rest.mu)
                continue
            if answer is None or outcome.word not in ("moves", "sticks"):
                return None
        before, far = far, measure.far(answer.v)
        if far <= measure.rounding or before <= 2 * far <= _NOISE * measure.rounding:
            place = replace(place, problem=limited(place.problem, question.rubs, answer.mu))
            exact = _over(question, place, start, moved, h, answer.forces)
            end = replace(answer, problem=exact, source="Newton")
            if _proves(question, end, start):
                return Increment(t, x + answer.v, replace(place, problem=exact), end, h)
        if far > 0.8 * before:
            waits, held = waits + 1, max(10 * held, _HELD)
        else:
            held = held / 10 if held > _HELD else 0.0
        if waits > _PATIENCE:
            return None
        x, near = x + answer.v * min(1.0, 1 / max(far, 1.0)), answer
    return None


def _proves(question: Question, answer: Answer, start: Place) -> bool:
    """Tell whether forces at the end of an increment balance, are allowed, and fit its way.

    All is told in ways that matter and in the energies at work.
    """
    p, measure = answer.problem, Measure.of(question, start)
    units = Units.of(start, measure.lengths)
    energy = units.energy(p, answer.forces)
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
        and max(map(largest, off)) <= _RIGHT * far + measure.rounding
        and apart <= (_RIGHT * far + measure.rounding) * energy
    )


def _over(
    question: Question,
    place: Place,
    start: Place,
    moved: np.ndarray,
    h: float,
    forces: tuple[np.ndarray, ...],
    back: Any = 0.0,
    slides: Answer | None = None,
) -> Problem:
    """State the problem for what is left of an increment at a place near its end.

    It is held `back` there by so many forces over moves of coordinates. Limits grow along the way
    where something `slides`.
    """
    now, bent = place.problem, question.evaluate("curvature", place, np.concatenate(forces))[0]
    K = bent - sparse.csc_matrix(question.evaluate("tangent", place)[0])
    K, drag = (K + K.T) / 2, now.viscous
    if np.any(back):
        K = K + sparse.diags(back)
    if slides is not None and question.sliding.grip.nnz_out(0):
        # What presses times which way it slides; or how fast, where it drags.
        presses = np.maximum(np.append(slides.mu, 1.0)[question.rubs], 1e-300)
        moves = np.where(now.power == 0, slides.resists / presses, now.size)
        moves = np.where(slides.stuck | (moves <= 0), np.inf, moves)
        grip = sparse.csc_matrix(question.evaluate("grip", place)[0])
        K = K + sparse.csc_matrix(now.B.T @ (sparse.diags(slides.y / moves[now.term]) @ grip))

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
