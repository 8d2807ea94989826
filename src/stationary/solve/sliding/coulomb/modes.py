"""All the ways in which few contacts may behave, one by one: open, stuck, sliding either way.

Several may be real, or none: where friction follows pressure the answer is no minimum. Few contacts
that slip along lines are examined mode by mode; of the others nothing is claimed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from stationary.solve.sliding.convex.judge import Outcome
from stationary.solve.sliding.coulomb.choice import AHEAD, BACK, LAW, OPEN, STUCK, WAYS, Choice
from stationary.solve.sliding.problem.numbers import Answer, Problem
from stationary.solve.sliding.problem.question import Place, Question

# Up to so many modes all are tried; fewer where other motions are looked for beside one.
_MOST_MODES, _FEW_MODES = 1024, 64


@dataclass(frozen=True)
class Motions:
    """What Coulomb's law allows, as far as that was looked for; `complete` if there is no more."""

    answers: list[Answer]
    complete: bool

    @property
    def only(self) -> Answer | None:
        """The only motion, where there is but one."""
        return self.answers[0] if self.complete and len(self.answers) == 1 else None


def motions(problem: Problem, cone: np.ndarray, most: int = _MOST_MODES) -> list[Answer] | None:
    """Return one answer for every velocity that a mode allows, or None where modes are too many.

    Sizes of friction at contacts are their coefficients; `cone` gives the contact that presses
    each term, or less than zero.
    """
    modes = _modes(problem, cone, most)
    return None if modes is None else _answers(modes)


def motions_at(question: Question, place: Place) -> Motions | None:
    """Look for all motions, mode by mode; None where friction follows no pressure, or all rests.

    `place` has the coefficients of contacts as their sizes.
    """
    p = place.problem
    if not rubbing(question, place) or not (p.driven or np.any(p.g)):
        return None
    return _survey(p, question.pressed(place))


def compared(
    question: Question, place: Place, outcome: Outcome, motions: Motions | None = None
) -> Outcome:
    """Add other motions that Coulomb's law allows; take the smallest forces where several fit.

    `place` has the coefficients of contacts as their sizes.
    """
    answer = outcome.answer
    if answer is None or not rubbing(question, place):
        return outcome
    cone, p = question.pressed(place), place.problem
    if not (p.driven or np.any(p.g)) and p.dry and not np.any(answer.v):
        rays, examined = _starts(p, cone)
        return replace(outcome, others=rays, examined=examined)
    motions = motions or _survey(p, cone)
    apart = 1e-6 * answer.speed
    rows = [x.v for x in motions.answers if np.abs(x.v - answer.v).max(initial=0.0) > apart]
    velocities = np.array(rows).reshape(len(rows), p.n)
    outcome = replace(outcome, others=velocities, examined=motions.complete)
    # Of several forces that the motion leaves the smallest.
    mode = _chosen(p, cone, answer)
    least = None if mode is None or mode.full(answer.v) else mode.forces(answer.v)
    return outcome if least is None else replace(outcome, answer=least, loose=True)


def rubbing(question: Question, place: Place) -> bool:
    """Tell whether a contact that touches has friction, which follows its pressure.

    Whatever the sizes of this place are: coefficients or limits.
    """
    return bool(np.any(question.pressed(place) >= 0))


def only(problem: Problem, cone: np.ndarray) -> Answer | None:
    """Return the motion under one rough contact that approaches and is all that drives.

    What else rubs takes a least power P(w) if the point of contact moves by w: convex, and growing
    in proportion to w. The force at the contact is the slope of P. As w turns so does the force,
    the same way and within a right angle of w: it passes each edge of the cone but once. So there
    is one motion: if the force under which the contact would stick is out of the cone, it slides
    along the edge on that side. None where this does not apply, or was not found.
    """
    modes = _modes(problem, cone, len(WAYS))
    if modes is None or len(modes) != len(WAYS) or not modes[1].approached(0):
        return None
    _, sticks, back, ahead = modes
    moved = sticks.moved()
    if moved is None:
        return None
    resists, limit = moved.y[problem.starts[sticks.term[0]]], moved.problem.size[sticks.term[0]]
    answer = sticks.real(moved) if moved.stuck.sum() > 1 or abs(resists) <= 2 * limit else None
    if answer is None:
        slides = ahead if resists > 0 else back
        moved = slides.moved(near=moved)
        answer = None if moved is None or slides.doubts else slides.real(moved)
    return answer


def _survey(problem: Problem, cone: np.ndarray) -> Motions:
    """Look for all motions."""
    single = only(problem, cone)
    if single is not None:
        return Motions([single], True)
    modes = _modes(problem, cone, _FEW_MODES)
    answers = _answers(modes or [])
    return Motions(answers, modes is not None and not any(mode.doubts for mode in modes))


def _starts(problem: Problem, cone: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return directions in which what rests may as well move, and whether there are no others."""
    modes = _modes(problem, cone, _FEW_MODES)
    rays: list[np.ndarray] = []
    for mode in modes or ():
        ray = mode.ray()
        if ray is not None and mode.forces(np.zeros(problem.n)) is not None:
            costs = problem.matrices[0][(mode.cone < 0)[problem.term]] @ ray
            if np.abs(costs).max(initial=0.0) > 1e-9 * float(problem.arms @ np.abs(ray)):
                # What else rubs would be at its limit, too.
                mode.doubts.append("other friction")
            else:
                rays.append(ray)
    sure = modes is not None and not any(mode.doubts for mode in modes)
    return np.array(rays).reshape(len(rays), problem.n), sure


def movable(
    problem: Problem, cone: np.ndarray, load: np.ndarray, most: int
) -> list[tuple[float, float]] | None:
    """Return the ranges of multiples of a load, besides f, at which Coulomb's law allows a motion.

    None where modes are too many, or one of them could not be decided.
    """
    modes = _modes(problem, cone, most)
    if modes is None:
        return None
    ranges = [mode.multiples(load) for mode in modes if mode.ray() is not None]
    return None if any(mode.doubts for mode in modes) else [x for x in ranges if x is not None]


def _modes(problem: Problem, cone: np.ndarray, most: int) -> list[Choice] | None:
    """Return all modes, or None where they are too many or slips are not along lines."""
    term = _along_lines(problem, cone)
    if term is None:
        return None
    choices = [WAYS if j in term else (OPEN, STUCK) for j in range(len(problem.g))]
    if np.prod([float(len(c)) for c in choices]) > most:
        return None
    return [Choice(problem, cone, term, choice) for choice in product(*choices)]


def _along_lines(problem: Problem, cone: np.ndarray) -> dict[int, int] | None:
    """Return the friction term of every contact that has one; None where modes are not linear."""
    rubbing_terms = np.flatnonzero((cone >= 0) & (problem.size > 0))
    if not (problem.dense and problem.dry) or np.any(problem.widths[rubbing_terms] != 1):
        return None
    return dict(zip(cone[rubbing_terms].tolist(), rubbing_terms.tolist()))


def _answers(modes: list[Choice]) -> list[Answer]:
    answers: list[Answer] = []
    for mode in modes:
        for answer in mode.answers():
            size = max(answer.speed, 1e-300)
            if all(np.abs(answer.v - other.v).max(initial=0.0) > 1e-6 * size for other in answers):
                answers.append(answer)
    return answers


def _chosen(problem: Problem, cone: np.ndarray, answer: Answer) -> Choice | None:
    """Return the mode that an answer is in."""
    term = _along_lines(problem, cone)
    if term is None:
        return None
    rates, near = answer.problem.rates(answer.v), LAW * answer.speed
    choice = []
    for j, opens in enumerate(answer.opening > near):
        slip = rates[problem.starts[term[j]]] if j in term else 0.0
        word = STUCK if abs(slip) <= near else AHEAD if slip > 0 else BACK
        choice.append(OPEN if opens else word)
    return Choice(problem, cone, term, tuple(choice))
