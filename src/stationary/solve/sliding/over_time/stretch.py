"""What every way of following a motion shares: states, stretches of time, and how they are found.

A stepper takes a motion from where it is to its next change, or as far as it gets in one step. The
driver asks for stretches, keeps what they say at the times that were asked for, and counts changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.optimize import brentq

from stationary.solve.sliding.convex.reduced import least_move
from stationary.solve.sliding.problem.numbers import Answer, stacked
from stationary.solve.sliding.problem.question import Place, Question
from stationary.solve.sliding.telling.along import Kept

#: Forces of friction, of constraints and of contacts.
Forces = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class State:
    """Where it is, how fast it was, with what forces; and the energies up to there."""

    t: float
    q: np.ndarray
    v: np.ndarray
    answer: Answer | None
    place: Place
    lost: float
    given: float
    #: Forces where they are not those of the answer.
    forces: Forces | None = None


@dataclass(frozen=True)
class Stretch:
    """A stretch of time, the states on it, and when something changed on it, if it did.

    `at` is about its last time alone unless the stretch is `known` all along.
    """

    first: float
    last: float
    at: Callable[[float], State]
    change: float | None = None
    known: bool = False
    #: Whether nothing leads on from its last time, so that it says nothing of the next moment.
    final: bool = False
    #: What is kept of its times, where these are told together; None of one is told by itself.
    kept: Callable[[np.ndarray], list[Kept | None]] | None = None

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
    touching: np.ndarray,
    working: np.ndarray,
    stuck: np.ndarray | None = None,
    along: np.ndarray | None = None,
) -> Place | None:
    """Return the place on the constraints and the contacts that hold, or None if there is none.

    Friction terms that are `stuck` stay where they are `along` their ways.
    """
    held, place = None, question.at(t, q, viscous=True, touching=touching)
    for _ in range(4):
        p = place.problem
        B, A, G = p.matrices
        rows, rates = [A, G[working]], [p.b, p.g[working]]
        off = [np.where(question.layout.holonomic, place.R, 0.0), place.gap[touching][working]]
        if stuck is not None and along is not None:
            held = stuck[p.term]
            rows, rates = [*rows, B[held]], [*rates, p.c[held]]
            off.append((place.along - along)[held])
        violations = np.concatenate(off)
        if not len(violations):
            return place
        rounding = question.digits(stacked(*rows), t, place.q, np.concatenate(rates)) / 32
        if np.all(np.abs(violations) <= rounding):
            return place
        q = place.q + least_move(p, working, violations, held)
        place = question.at(t, q, viscous=True, touching=touching)
    return place if held is None else None


def supplied(question: Question, place: Place, forces: Forces, v: np.ndarray) -> float:
    """Return the power of loads, pushers and conveyors, by the forces at a place."""
    (y, lam, mu), p = forces, place.problem
    given = float(y @ p.c - lam @ p.b - mu @ p.g)
    if question.sliding.graph.fed:
        given += float(question.evaluate("power", place, v)[0][1:].sum())
        given += float(question.evaluate("pumped", place)[0][0])
    return given
