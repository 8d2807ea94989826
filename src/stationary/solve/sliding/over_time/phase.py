"""A phase: the motion in one mode, told look by look; what phases of every law share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from stationary.solve.sliding.convex.judge import roomiest
from stationary.solve.sliding.coulomb.pressed import limited
from stationary.solve.sliding.over_time.runge import Tried
from stationary.solve.sliding.over_time.stretch import Forces, State
from stationary.solve.sliding.problem.mode import Mode
from stationary.solve.sliding.problem.numbers import Answer
from stationary.solve.sliding.problem.question import Place, Question

# A mode that ends by and by is not further from holding than that, as a share, where it ends.
JUMP = 1e-2
# At so many times, as many as a step looks at, unknowns are remembered.
_KNOWN = 16


class Passed(Exception):  # noqa: N818  # a place, not an error
    """A time or a place at which the present mode does not exist any more."""


class Look(NamedTuple):
    """What a law says at a time: unknowns, the rate of the state, and by how much the mode holds.

    Unknowns are velocities or places, forces of friction, of constraints and of all contacts, and
    what else the law needs. Where the `margin` is below zero the mode has ended.
    """

    t: float
    z: np.ndarray
    rate: np.ndarray
    margin: float
    #: Where places are unknowns: how all of them change, margins one by one, and the slope's sign.
    changes: np.ndarray = np.zeros(0)
    margins: np.ndarray = np.zeros(0)
    turns: float = 0.0

    def led(self, t: float) -> np.ndarray:
        """Return where unknowns would be at another time."""
        return self.z + (t - self.t) * self.changes


class AbstractPhase(ABC):
    """The motion in one mode: velocities and forces at any time and place, as long as it lasts.

    Its states x are q, the energy lost and the energy supplied.
    """

    def __init__(
        self,
        question: Question,
        mode: Mode,
        stuck: np.ndarray,
        working: np.ndarray,
        touching: np.ndarray,
    ):
        self.question, self.n = question, question.system.size
        #: What sticks, slides and holds; of the contacts that touch, which those are.
        self.mode, self.stuck, self.working, self.touching = mode, stuck, working, touching
        #: Whether several forces would hold what holds and sticks: then it is held as long as any.
        self.shares = False
        #: Whether compiled equations tell all forces of dry friction.
        self.tells = True
        #: The least margin of the mode at any stage since it was last set.
        self.least = np.inf
        #: What is known at the latest times.
        self.known: list[Look] = []
        #: The latest looks by time and place: ends of steps are asked about repeatedly.
        self._seen: dict[Any, Look] = {}

    # -- what a law says --------------------------------------------------------------------------

    @abstractmethod
    def search(self, t: float, q: np.ndarray) -> Look:
        """Look at a time and a place; raise `Passed` where the mode is not there."""

    @abstractmethod
    def margin(self, look: Look, q: np.ndarray) -> float:
        """Return by how much the mode holds at a look from a place, by whatever forces."""

    @abstractmethod
    def full(self, look: Look, answer: Answer) -> bool:
        """Tell whether forces that are shared are to be shared otherwise at a look."""

    @abstractmethod
    def onto(self, t: float, x: np.ndarray) -> np.ndarray:
        """Move a state onto all that holds: by rounding's worth."""

    @property
    def decided(self) -> bool:
        """Whether a time says all, wherever one looks from."""
        return False

    # -- what follows from it ---------------------------------------------------------------------

    def look(self, t: float, q: np.ndarray) -> Look:
        """Look at a time and a place; a second time they are known."""
        look = self._seen.get(t if self.decided else (t, q.tobytes()))
        if look is None:
            look = self.search(t, q)
            self.see(look, t, q)
        return look

    def see(self, look: Look, t: float, q: np.ndarray) -> None:
        """Have a look ready for when it is asked for again."""
        self._seen[t if self.decided else (t, q.tobytes())] = look
        if len(self._seen) > _KNOWN:
            del self._seen[next(iter(self._seen))]

    def remember(self, look: Look) -> None:
        """Add to what is known."""
        self.known = [*self.known[1 - _KNOWN :], look]

    @property
    def latest(self) -> Look:
        """What is known of the latest time."""
        return self.known[-1]

    def before(self, t: float) -> Look:
        """Return what is known of the latest time up to one.

        Steps that were tried have looked ahead, maybe at what is beyond a leap.
        """
        before = [look for look in self.known if look.t <= t]
        return max(before, key=lambda look: look.t, default=self.latest)

    def recall(self, known: list[Look]) -> None:
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
        """Return what is told of a state, by a look there or by the latest one."""
        x = self.onto(t, x)
        try:
            look, tells = self.look(t, x[: self.n]), self.tells and not self.shares
        except Passed:
            look, tells = self.before(t), False
        return self.told(look, t, x, tells)

    def told(self, look: Look, t: float, x: np.ndarray, tells: bool = False) -> State:
        """Return a look as a state; whether compiled expressions tell its evidence."""
        q, (lost, given) = x[: self.n], x[self.n :]

        def told() -> tuple[Answer, Place]:
            place = self.place(t, q)
            answer = self.answer(look, place)
            return roomiest(answer)[0] if self.shares and self.full(look, answer) else answer, place

        forces = self.forces(look) if tells else None
        return State(t, q, look.rate[: self.n], lost, given, told, forces, tells)

    def place(self, t: float, q: np.ndarray) -> Place:
        """Return what the graph says at a time and a place."""
        return self.question.at(t, q, viscous=True, touching=self.touching)

    def forces(self, look: Look) -> Forces:
        """Return the forces of friction, of constraints and of all contacts at a look."""
        n, (rates, rows, gaps) = self.n, self.question.forces
        lams, mus = n + rates, n + rates + rows
        return look.z[n:lams], look.z[lams:mus], look.z[mus : mus + gaps]

    def answer(self, look: Look, place: Place) -> Answer:
        """Return a look as an answer, judged by what is at a place."""
        y, lam, mu = self.forces(look)
        p, mu, v = place.problem, mu[self.touching], look.rate[: self.n]
        p = p if p.pressed is None else limited(p, p.pressed, mu)
        return Answer(p, v, y, lam, mu, self.stuck, self.working, "Newton")

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
