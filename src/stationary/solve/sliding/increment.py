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

from stationary.solve.sliding.principle import solved
from stationary.solve.sliding.problem import Answer, Problem
from stationary.solve.sliding.question import Place, Question, evaluated

_MOST_STEPS = 40
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Increment:
    """Where a step leads, and the forces at its end."""

    t: float
    q: np.ndarray
    place: Place
    answer: Answer
    step: float

    @property
    def lost(self) -> float:
        """The energy that friction took."""
        p = self.answer.problem
        r = p.speeds(p.rates(self.answer.v))
        total = float(np.sum(p.size * r ** (p.power + 1)))
        return total


class Failed(Exception):
    """An increment that was not found: why, and what was known."""

    def __init__(self, word: str, outcome: Any = None, place: Any = None):
        super().__init__(word)
        self.word, self.outcome, self.place = word, outcome, place


def increment(
    question: Question, t: float, h: float, q: np.ndarray, v: np.ndarray, near: Answer | None
) -> Increment:
    """Find where the system is a time `h` later; `v` and `near` say what it did before."""
    layout, start = question.layout, question.at(t, q)
    every = np.arange(len(start.gap))
    held = np.zeros(layout.multipliers, dtype=bool)
    for rows in layout.rows:
        held[rows.places] = rows.holonomic
    guess, x = near, q + h * v
    bent: tuple[np.ndarray, ...] | None = None
    if near is not None and len(near.mu) == len(every):
        bent = (near.y, near.lam, near.mu)
    size = max(1.0, float(np.abs(q).max(initial=0.0)))
    outcome: Any = None
    settled_place: Any = None
    for count in range(_MOST_STEPS):
        place = question.at(t + h, x, viscous=True, touching=every)
        problem = _over(question, place, start, x - q, h, held, bent)
        outcome, settled_place = solved(question, replace(place, problem=problem), guess)
        if outcome.answer is None or outcome.word == "undecided":
            raise Failed(outcome.word, outcome, settled_place)
        answer = outcome.answer
        move = answer.v
        reach = float(np.abs(move).max(initial=0.0))
        if not np.isfinite(reach) or reach > 1e3 * size * (1 + count):
            raise Failed("too far", outcome, settled_place)
        x = x + move
        guess, bent = answer, (answer.y, answer.lam, answer.mu)
        if reach <= _ROUNDING * size:
            return Increment(t + h, x, settled_place, answer, h)
        # The next problem is about what is left of the way.
        guess = replace(answer, v=np.zeros_like(move))
    raise Failed("too many steps", outcome, settled_place)


def _over(
    question: Question,
    place: Place,
    start: Place,
    moved: np.ndarray,
    h: float,
    held: np.ndarray,
    bent: tuple[np.ndarray, ...] | None,
) -> Problem:
    """State the problem for what is left of an increment."""
    now = place.problem
    given = (place.t, place.q, place.u, question.params)
    (tangent,) = evaluated(question.sliding, "tangent")(*given)
    K = bowl = sparse.csc_matrix(-tangent)
    if bent is not None:
        (bend,) = evaluated(question.sliding, "curvature")(*given, np.concatenate(bent))
        K = K + bend
    K = (K + K.T) / 2
    drag = now.viscous
    b = np.where(held, place.R, now.A @ moved + h * now.b)

    def potential(d: np.ndarray) -> tuple[float, np.ndarray, Any]:
        pull = K @ d
        value, slope, second = float(d @ pull) / 2, pull, K
        if drag is not None:
            D, by_v, by_v2 = drag((moved + d) / h)
            value, slope, second = value + h * D, slope + by_v, second + by_v2 / h
        return value, slope, second

    smooth = K.nnz > 0 or drag is not None
    return replace(
        now,
        c=place.along - start.along,
        size=now.size * h ** (-now.power),
        b=b,
        g=place.gap,
        viscous=potential if smooth else None,
        bowl=_bowl(bowl) if smooth and drag is None else None,
    )


def _bowl(K: Any) -> Any:
    """Return a matrix without negative eigenvalues that is near K."""
    if K.shape[0] > 300:
        diagonal = K.diagonal()
        spread = np.asarray(abs(K).sum(axis=1)).ravel() - np.abs(diagonal)
        return K if np.all(diagonal >= spread * (1 - 1e-12)) else 0 * K
    values, vectors = np.linalg.eigh(((K + K.T) / 2).toarray())
    return sparse.csc_matrix((vectors * np.maximum(values, 0.0)) @ vectors.T)
