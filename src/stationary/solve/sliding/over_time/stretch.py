"""What every way of following a motion shares: states, stretches of time, and how they are found.

A stepper takes a motion from where it is to its next change, or as far as it gets in one step. The
driver asks for stretches, keeps what they say at the times that were asked for, and counts changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.optimize import brentq

from stationary.solve.sliding.convex.reduced import least_move
from stationary.solve.sliding.problem.energies import powers
from stationary.solve.sliding.problem.numbers import Answer, stacked
from stationary.solve.sliding.problem.question import Place, Question, evaluated

# So many moves lead onto what holds, from nearby.
_ONTO = 4

#: Forces of friction, of constraints and of contacts.
Forces = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class State:
    """Where it is, how fast it was, the energies up to there; with what forces, if asked.

    `forces` are about all contacts, where they are not those of the answer, or where compiled
    expressions `tell` their evidence.
    """

    t: float
    q: np.ndarray
    v: np.ndarray
    lost: float
    given: float
    told: Callable[[], tuple[Answer | None, Place]]
    forces: Forces | None = None
    tells: bool = False

    @cached_property
    def _told(self) -> tuple[Answer | None, Place]:
        return self.told()

    @property
    def answer(self) -> Answer | None:
        """Velocities and forces, and how well they fit."""
        return self._told[0]

    @property
    def place(self) -> Place:
        """What the graph says there."""
        return self._told[1]


@dataclass(frozen=True)
class Stretch:
    """A stretch of time, the states on it, and when something changed on it, if it did.

    `at` returns states at times in their order; it is about its last time alone unless the stretch
    is `known` all along.
    """

    first: float
    last: float
    at: Callable[[np.ndarray], list[State]]
    change: float | None = None
    known: bool = False
    #: Whether nothing leads on from its last time, so that it says nothing of the next moment.
    final: bool = False

    def until(self, t: float) -> Stretch:
        """Return the part of it up to a time."""
        return replace(self, last=min(self.last, t))


class Stepper(Protocol):
    """A way of following a motion, with how far apart two changes are, of the whole span."""

    steps: int
    apart: float
    most_steps: int
    #: How far it has to come in a thousand stretches, of the whole span.
    pace: float
    #: Whether another way may lead on.
    yields: bool

    def stretch(self, until: float) -> Stretch:
        """Go on, not farther than a time where it cannot look back; raise `Ended` if that fails."""
        ...

    def latest(self) -> State | None:
        """Return the latest state that can be relied on, if there is any."""
        ...


def located(margin: Callable[[float], float], low: float, high: float, finest: float) -> float:
    """Return the last time at which a margin is not yet below zero, as closely as `finest`.

    It is known to be above zero at the low time and below at the high one, be it endlessly.
    """
    last = low

    def left(t: float) -> float:
        nonlocal last
        value = max(margin(t), -1.0)
        if value >= 0 and t < high:
            last = max(last, t)
        return max(value, 1e-300) if t == low else min(value, -1e-300) if t == high else value

    brentq(left, low, high, xtol=finest, rtol=4 * np.finfo(float).eps)
    return last


def onto(
    question: Question,
    t: float,
    q: np.ndarray,
    working: np.ndarray,
    stuck: np.ndarray | None = None,
    along: np.ndarray | None = None,
) -> np.ndarray | None:
    """Return the place on the constraints and the contacts that hold, or None if there is none.

    `working` are the numbers of these contacts. What rubs at rates that are `stuck` stays where it
    was `along` its way.
    """
    holds = evaluated(question.sliding, "holds")
    for moved in range(_ONTO):
        given = question.given(t, q)
        R, _, A, gap, _, G = holds(*given)
        rows = [A, G[working]]
        off = [np.where(question.layout.holonomic, R, 0.0), gap[working]]
        if stuck is not None and along is not None:
            ways, _, B, *_ = evaluated(question.sliding, "slips")(*given)
            rows.append(B[stuck])
            off.append((ways - along)[stuck])
        violations, C = np.concatenate(off), stacked(*rows)
        # At this very time: its own last digit moves nothing. What can be less is made less once.
        if (np.abs(violations) <= (question.digits(C, t, q) / 32 if moved else 0)).all():
            return q
        if len(R):
            C = stacked(question.mended(t, q, A), *rows[1:])
        move = least_move(C, violations)
        q = q + move
        if stuck is None and question.near(move):
            break
    return q if stuck is None else None


def powers_at(
    question: Question, place: Place, v: np.ndarray, forces: Forces
) -> tuple[float, float]:
    """Return what friction and damping take at a place, and what loads, pushers, conveyors give."""
    p = place.problem
    damping = None if p.viscous is None else p.viscous(v)[1]
    fed = question.evaluate("fed", place, v)[0][0] if question.sliding.graph.fed else 0.0
    taken, given = powers(p, v, forces, damping, fed)
    return float(taken), float(given)
