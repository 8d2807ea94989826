"""Steps of one length as they were taken, for whoever wants to measure them again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stationary.result.views import AbstractTravels


@dataclass(frozen=True, eq=False)
class Taken(AbstractTravels):
    """One step on velocities and impulses.

    Attributes
    ----------
    t, h : float
        When it begins, and how long it is.
    q, v, to, after : ndarray
        Coordinates and velocities where it begins and where it ends.
    rows : ndarray
        Which of all rows of constraints, contacts and dry slips have impulses.
    impulses, closing : ndarray
        Those that change the velocities, and those with which contacts come to touch: the same,
        but where something strikes.
    took : ndarray
        What was supplied, rubbed off and struck off in it.
    rests : ndarray
        Which rubs have been at rest when it began, or come to rest in it: their limit is `static`.
    struck : ndarray
        Which rows of slips are of contacts that strike: what friction takes there is struck off.
    output : int
        Which of the times that are told it ends at, or −1.
    """

    t: float
    h: float
    q: np.ndarray
    v: np.ndarray
    to: np.ndarray
    after: np.ndarray
    rows: np.ndarray
    impulses: np.ndarray
    closing: np.ndarray
    took: np.ndarray
    rests: np.ndarray
    struck: np.ndarray
    output: int = -1

    @property
    def end(self) -> float:
        """When it ends."""
        return self.t + self.h
