"""Whether a motion is the only one: what else Coulomb's law allows where friction follows pressure.

There the answer is no minimum, and there may be several. Few contacts that slip along lines are
examined mode by mode; of the others nothing is claimed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stationary.solve.sliding.modes import least_forces, starts, survey
from stationary.solve.sliding.question import Place, Question
from stationary.solve.sliding.settle import Outcome

# Up to so many modes all are tried.
_FEW_MODES = 64


def compared(question: Question, place: Place, outcome: Outcome) -> Outcome:
    """Add other motions that Coulomb's law allows; take the smallest forces where several fit.

    `place` has the coefficients of contacts as their sizes.
    """
    answer = outcome.answer
    if answer is None or not rubbing(question, place):
        return outcome
    cone = question.pressed(place)
    closed = replace(place.problem, size=np.where(cone == -2, 0.0, place.problem.size))
    drives = closed.driven or np.any(closed.g)
    if not drives and closed.dry and not np.any(answer.v):
        rays, examined = starts(closed, cone, _FEW_MODES)
        return replace(outcome, others=rays, examined=examined)
    found, examined = survey(closed, cone, _FEW_MODES)
    apart = 1e-6 * answer.speed
    rows = [x.v for x in found if np.abs(x.v - answer.v).max(initial=0.0) > apart]
    outcome = replace(
        outcome, others=np.array(rows).reshape(len(rows), closed.n), examined=examined
    )
    least = least_forces(closed, cone, answer)
    return outcome if least is None else replace(outcome, answer=least, loose=True)


def rubbing(question: Question, place: Place) -> bool:
    """Tell whether a contact that touches has friction, which follows its pressure.

    Whatever the sizes of this place are: coefficients or limits.
    """
    return bool(np.any(question.pressed(place) >= 0))
