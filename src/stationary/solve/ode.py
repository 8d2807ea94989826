"""What an integrator is given, and what it gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stationary.lower.kernel import Kernel, numeric


@dataclass(frozen=True)
class Ode:
    """The initial value problem ẏ = f(t, y, p) between two changes of its inputs.

    No step shall be longer than `longest`: what is at rest now may be pushed later.
    """

    kernel: Kernel
    p: np.ndarray
    rtol: float
    atol: float
    longest: float = np.inf

    @cached_property
    def f(self) -> Callable[[float, np.ndarray], np.ndarray]:
        """The right-hand side as a function of time and state."""
        rhs, p = numeric(self.kernel, "rhs"), self.p
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
    """

    t: np.ndarray
    evaluate: Callable[[np.ndarray], np.ndarray]
    end: np.ndarray
    steps: int
    dense: bool = True


# The last step before a singularity that is worth keeping spans this many floating point numbers:
# closer to it, time itself has too few digits left to tell where one is.
_COARSE = 1e8


def trusted(times: np.ndarray) -> int:
    """Return how many of the times before a blow-up are worth keeping."""
    enough = np.diff(times) > _COARSE * np.spacing(np.abs(times[1:]))
    return len(times) if np.all(enough) else int(np.argmin(enough)) + 1


class BlowUp(Exception):
    """Raised by an integrator that can go no further; its last piece is good to the end."""

    def __init__(self, at: float):
        self.at = at


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
