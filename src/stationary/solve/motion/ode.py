"""What an integrator is given, and what it gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import ulp

import numpy as np

from stationary.lower.kernel import AbstractKernel, numeric


@dataclass(frozen=True)
class Ode:
    """The initial value problem ẏ = f(t, y, p) between two changes of its inputs.

    No step shall be longer than `longest`: what is at rest now may be pushed later. Every step
    shall `prove` itself where that was not enough. A piece that may be cut short begins with no
    more steps than `stride`. What f is summed from may leave it a `floor` of rounding. `extent` is
    how far places have gone before, and how large all else has been; `peaks` are instants to come
    at which forces that depend on time may be largest, none after the `last` of their law. Who is
    not `patient` soon gives up what becomes hard: a singular configuration may be near. Values p
    that change at `knots`, where f bends, have a `course`. A series shall end `otherwise` than it
    usually does where the same has been integrated before.
    """

    kernel: AbstractKernel
    p: np.ndarray
    rtol: float
    atol: float
    longest: float = np.inf
    prove: bool = False
    stride: int | None = None
    floor: np.ndarray | None = None
    extent: np.ndarray | None = None
    peaks: np.ndarray | None = None
    last: float = np.inf
    patient: bool = True
    course: Callable[[np.ndarray], np.ndarray] | None = None
    knots: np.ndarray | None = None
    otherwise: bool = False

    def values(self, t: np.ndarray) -> np.ndarray:
        """Return p, or its rows at several times where it has a course."""
        return self.p if self.course is None else self.course(t)

    def after(self, states: np.ndarray) -> Ode:
        """Return the same for what comes after states, which tell how large they become."""
        far = np.abs(states - np.where(np.arange(states.shape[1]) < self.kernel.size, states[0], 0))
        far = far.max(axis=0)
        return replace(self, extent=far if self.extent is None else np.maximum(self.extent, far))

    @cached_property
    def f(self) -> Callable[[float, np.ndarray], np.ndarray]:
        """The right-hand side as a function of time and state."""
        rhs, p, course = numeric(self.kernel, "rhs"), self.p, self.course
        if course is not None:
            return lambda t, y: rhs(t, y, course(np.array([t]))[0])[0]
        return lambda t, y: rhs(t, y, p)[0]


@dataclass(frozen=True)
class Piece:
    """A stretch of the solution.

    Attributes
    ----------
    t : ndarray
        Its first and last time and, where `evaluate` knows states in between, all steps'.
    evaluate : callable
        States at sorted times of the stretch: at any, or at those of the output grid alone.
    end : ndarray
        The state at the last time.
    steps : int
    exact : bool
        Whether `evaluate` is as good between the steps as at them.
    error : float
        Of what is continued and not integrated: how well it is known, relative to the motion.
    sizes : pair of ndarray, optional
        How large states are and from where they are counted: tolerances are beside that.
    middles : callable, optional
        States in the middles of steps, and their rates, as `evaluate` goes through them.
    """

    t: np.ndarray
    evaluate: Callable[[np.ndarray], np.ndarray]
    end: np.ndarray
    steps: int
    dense: bool = True
    exact: bool = False
    error: float = 0.0
    sizes: tuple[np.ndarray, np.ndarray] | None = None
    middles: Callable[[], tuple[np.ndarray, np.ndarray]] | None = None


# The last step before a singularity that is worth keeping spans this many floating point numbers:
# closer to it, time itself has too few digits left to tell where one is.
_COARSE = 1e8

# Before a singularity steps become shorter in proportion: they are at its end after fewer of them.
_MOST_SHORT = 1000


class BlowUp(Exception):
    """Raised by an integrator that can go no further; its last piece is good to the end.

    Some know the state `y` that they could not leave, which may lie behind what is worth keeping.
    """

    def __init__(self, at: float, y: np.ndarray | None = None):
        self.at, self.y = at, y


class MassLost(Exception):
    """Raised where a motion comes to where rows complete M, with the sizes by which they do."""

    def __init__(self, sizes: tuple[int, ...]):
        self.sizes = sizes


class Stopped(Exception):
    """Raised where the statement allows no motion to go on: a word and a sentence for why."""

    def __init__(self, word: str, message: str, at: float):
        self.word, self.message, self.at = word, message, at


def trusted(
    pieces: Iterator[Piece], sound: Callable[[BlowUp], bool] = lambda _: False
) -> Iterator[Piece]:
    """Hold back the last pieces before a blow-up that are not worth keeping.

    All are, where an end is `sound`: what it could not leave is no singularity.
    """
    waiting: list[Piece] = []
    try:
        for piece in pieces:
            waiting.append(piece)
            short = piece.t[-1] - piece.t[-2] <= _COARSE * ulp(piece.t[-1])
            if not short or sum(p.steps for p in waiting) > _MOST_SHORT:
                yield from waiting
                waiting = []
    except BlowUp as there:
        if sound(there):
            yield from waiting
            raise
        # Short steps that longer ones follow were no end.
        kept = [int(np.flatnonzero(_coarse(piece.t)).max(initial=-1)) + 1 for piece in waiting]
        while kept and not kept[-1]:
            kept.pop()
        if kept:
            yield from waiting[: len(kept) - 1]
            piece, count = waiting[len(kept) - 1], kept[-1]
            whole = count == len(piece.t) - 1
            end = piece.end if whole else piece.evaluate(piece.t[count : count + 1])[0]
            steps = min(count, piece.steps)
            yield replace(piece, t=piece.t[: count + 1], end=end, steps=steps)
        raise
    yield from waiting


def joined(pieces: list[Piece], first: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the states of pieces at any sorted times; at the first time of all they are known."""
    begins = np.array([piece.t[0] for piece in pieces])

    def states(times: np.ndarray) -> np.ndarray:
        which = np.maximum(np.searchsorted(begins, times, "right") - 1, 0)
        parts = [pieces[k].evaluate(times[which == k]) for k in np.unique(which)]
        every = np.concatenate(parts)
        every[times == begins[0]] = first
        return every

    return states


def _coarse(times: np.ndarray) -> np.ndarray:
    """Tell which steps time has enough digits for."""
    return np.diff(times) > _COARSE * np.spacing(np.abs(times[1:]))


class AbstractIntegrator(ABC):
    """A way to integrate. A new one is a new file with a frozen dataclass that yields pieces."""

    @abstractmethod
    def pieces(
        self, ode: Ode, t: float, y: np.ndarray, end: float, *, grid: np.ndarray, dense: bool
    ) -> Iterator[Piece]:
        """Integrate from (t, y) to `end`, a stretch at a time.

        `grid` holds the output times in (t, end], and t if it is the first of all; where `dense`
        is false, states at other times will not be asked for. Raises `BlowUp` after the last good
        piece when the solution ends early.
        """
