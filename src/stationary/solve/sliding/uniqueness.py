"""Whether a motion is the only one: what else Coulomb's law allows where friction follows pressure.

There the answer is no minimum, and there may be several. Few contacts that slip along lines are
examined mode by mode; of the others nothing is claimed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stationary.solve.sliding.modes import least_forces, starts, survey
from stationary.solve.sliding.problem import Answer
from stationary.solve.sliding.question import Place, Question
from stationary.solve.sliding.settle import Outcome

# Up to so many modes all are tried.
_FEW_MODES = 64


@dataclass(frozen=True)
class Motions:
    """What Coulomb's law allows at a place, as far as that was looked for.

    `complete` where there is nothing else.
    """

    answers: list[Answer]
    complete: bool

    @property
    def only(self) -> Answer | None:
        """The only motion, where there is but one."""
        return self.answers[0] if self.complete and len(self.answers) == 1 else None


def motions_at(question: Question, place: Place) -> Motions | None:
    """Look for all motions, mode by mode; None where friction follows no pressure, or all rests.

    `place` has the coefficients of contacts as their sizes.
    """
    p = place.problem
    if not rubbing(question, place) or not (p.driven or np.any(p.g)):
        return None
    return Motions(*survey(p, question.pressed(place), _FEW_MODES))


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
        rays, examined = starts(p, cone, _FEW_MODES)
        return replace(outcome, others=rays, examined=examined)
    motions = motions or Motions(*survey(p, cone, _FEW_MODES))
    apart = 1e-6 * answer.speed
    rows = [x.v for x in motions.answers if np.abs(x.v - answer.v).max(initial=0.0) > apart]
    others = np.array(rows).reshape(len(rows), p.n)
    outcome = replace(outcome, others=others, examined=motions.complete)
    least = least_forces(p, cone, answer)
    return outcome if least is None else replace(outcome, answer=least, loose=True)


def rubbing(question: Question, place: Place) -> bool:
    """Tell whether a contact that touches has friction, which follows its pressure.

    Whatever the sizes of this place are: coefficients or limits.
    """
    return bool(np.any(question.pressed(place) >= 0))
