"""A phase: the motion in one mode, told look by look; what phases of every law share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import numpy as np

from stationary.solve.sliding.over_time.runge import Tried
from stationary.solve.sliding.over_time.stretch import State
from stationary.solve.sliding.problem.mode import Mode
from stationary.solve.sliding.problem.question import Question
from stationary.solve.sliding.telling.along import Kept, kept_of

# A mode that ends by and by is not further from holding than that, as a share, where it ends.
JUMP = 1e-2
# At so many times, as many as a step looks at, unknowns are remembered.
_KNOWN = 16


class Passed(Exception):  # noqa: N818  # a place, not an error
    """A time or a place at which the present mode does not exist any more."""


#: What a law says at a time `t`: unknowns, the `rate` of the state, and the `margin` of the mode,
#: which has ended where that is below zero.
L = TypeVar("L", bound=Any)


class AbstractPhase(ABC, Generic[L]):
    """The motion in one mode: velocities and forces at any time and place, as long as it lasts.

    Its states x are q, the energy lost and the energy supplied.
    """

    #: Whether compiled equations alone tell all forces, or may do so.
    tells: bool = True

    def __init__(self, question: Question, mode: Mode, shares: bool = False):
        self.question, self.n = question, question.system.size
        #: What sticks, slides and holds.
        self.mode = mode
        #: Whether several forces would hold what holds and sticks: then it is held as long as any.
        self.shares = shares
        #: The least margin of the mode at any stage since it was last set.
        self.least = np.inf
        #: What is known at the latest times.
        self.known: list[L] = []
        #: The latest looks by time and place: ends of steps are asked about repeatedly.
        self._seen: dict[Any, L] = {}

    # -- what a law says --------------------------------------------------------------------------

    @abstractmethod
    def search(self, t: float, q: np.ndarray) -> L:
        """Look at a time and a place; raise `Passed` where the mode is not there."""

    @abstractmethod
    def margin(self, look: L, q: np.ndarray) -> float:
        """Return by how much the mode holds at a look from a place, by whatever forces."""

    @abstractmethod
    def forces(self, look: L) -> np.ndarray | None:
        """Return all forces at a look, where compiled equations tell them."""

    @abstractmethod
    def onto(self, t: float, x: np.ndarray) -> np.ndarray:
        """Move a state onto all that holds: by rounding's worth."""

    @abstractmethod
    def told(self, look: L, t: float, x: np.ndarray) -> State:
        """Return what is told of a state, by a look there or by the latest one."""

    @property
    def decided(self) -> bool:
        """Whether a time says all, wherever one looks from."""
        return False

    # -- what follows from it ---------------------------------------------------------------------

    def look(self, t: float, q: np.ndarray) -> L:
        """Look at a time and a place; a second time they are known."""
        look = self._seen.get(t if self.decided else (t, q.tobytes()))
        if look is None:
            look = self.search(t, q)
            self.see(look, t, q)
        return look

    def see(self, look: L, t: float, q: np.ndarray) -> None:
        """Have a look ready for when it is asked for again."""
        self._seen[t if self.decided else (t, q.tobytes())] = look
        if len(self._seen) > _KNOWN:
            del self._seen[next(iter(self._seen))]

    def remember(self, look: L) -> None:
        """Add to what is known."""
        self.known = [*self.known[1 - _KNOWN :], look]

    @property
    def latest(self) -> L:
        """What is known of the latest time."""
        return self.known[-1]

    def recall(self, known: list[L]) -> None:
        """Go back to where something was known, which leads on from there to the last digit."""
        self.known, self._seen = known, {}

    def accept(self, tried: Tried) -> None:
        """Take a step that was tried."""
        self.least, self.known = min(self.least, tried.margin), tried.known or self.known

    def rate(self, t: float, x: np.ndarray) -> np.ndarray:
        """Return the rate of a state; raise `Passed` where the mode has none."""
        look = self.look(t, x[: self.n])
        self.least = min(self.least, look.margin)
        return look.rate

    def last_rate(self, t: float, x: np.ndarray) -> np.ndarray:
        """Return the rate at the end of the mode; the latest known where it has just ended.

        Beyond a jump the mode may have an answer that does not belong to it.
        """
        try:
            look = self.look(t, x[: self.n])
        except Passed:
            return self.latest.rate
        return (look if look.margin > -JUMP else self.latest).rate

    def holds(self, t: float, x: np.ndarray) -> float:
        """Return by how much the mode holds at a state: below zero it has ended.

        Endlessly less where there is none.
        """
        try:
            return self.margin(self.look(t, x[: self.n]), x[: self.n])
        except Passed:
            return -np.inf

    def state(self, t: float, x: np.ndarray) -> State:
        """Return what is told of a state."""
        x = self.onto(t, x)
        try:
            look = self.look(t, x[: self.n])
        except Passed:
            look = self.latest
        return self.told(look, t, x)

    def kept(self, t: float, x: np.ndarray) -> Kept | None:
        """Return what is kept of a state, with its evidence, where compiled equations tell that."""
        if not self.tells:
            return None
        x = self.onto(t, x)
        try:
            look = self.look(t, x[: self.n])
        except Passed:
            return None
        forces = self.forces(look)
        if forces is None:
            return None
        return kept_of(self.question, t, x, look.rate[: self.n], forces)

    # -- what a law may add -----------------------------------------------------------------------

    def tried(self, t: float, x: np.ndarray, h: float) -> Tried | None:
        """Try a step all at once, or return None where this phase cannot."""
        return None

    def foreseen(self, t: float, x: np.ndarray, h: float, whole: float) -> float:
        """Begin a step; return how long the mode lasts if something in it is about to rest."""
        return np.inf

    def left(self, t: float, x: np.ndarray, h: float, whole: float) -> float:
        """Foresee how long the mode lasts where a step of length h has passed its end."""
        return h
