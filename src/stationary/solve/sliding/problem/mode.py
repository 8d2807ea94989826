"""What sticks, which way the rest slides, and what holds: the mode of a motion."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stationary.solve.sliding.problem.numbers import Answer


@dataclass(frozen=True)
class Mode:
    """The mode of an answer; two are equal where nothing has changed.

    Attributes
    ----------
    slides : bytes
        Which friction terms slide.
    along : bytes
        Which way those go that slide along a line: 1, −1, or 0 for all others.
    holds : bytes
        Which contacts hold.
    """

    slides: bytes
    along: bytes
    holds: bytes

    @classmethod
    def of(
        cls, answer: Answer, contacts: np.ndarray | None = None, sticks: np.ndarray | None = None
    ) -> Mode:
        """Read the mode of an answer.

        `contacts` are the numbers of the contacts it is about, `sticks` the terms that do, unless
        these are the ones that are stuck.
        """
        p = answer.problem
        slides = (p.size > 0) & ~(answer.stuck if sticks is None else sticks)
        ways = answer.y if sticks is None else answer.rates
        along = np.where(slides & (p.widths == 1), np.sign(ways[p.starts]), 0)
        holds = answer.working if contacts is None else contacts[answer.working]
        return cls(slides.tobytes(), along.astype(np.int8).tobytes(), holds.tobytes())
