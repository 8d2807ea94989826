"""Steps that are tried as a whole, by their stages or by looks at nodes, and where they lead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.polynomial.chebyshev import chebint, chebval, chebvander
from scipy.integrate import DOP853

# What is foreseen adds up to so many times what is known at most.
_FAR_AHEAD = 10.0


def _method() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times and weights of the stages, and the weights of parts of the path they lead along.

    The first part is the whole move; the others vanish at both ends.
    """
    count, ends = DOP853.n_stages, np.append(DOP853.B, 0.0)
    stages = count + 1 + len(DOP853.C_EXTRA)
    weights = np.zeros((stages, stages))
    weights[:count, :count], weights[count, :count] = DOP853.A, DOP853.B
    weights[count + 1 :] = DOP853.A_EXTRA
    first, last, whole = np.zeros((3, stages))
    first[0] = last[count] = 1.0
    whole[: count + 1] = ends
    path = [whole, first - whole, 2 * whole - first - last, *DOP853.D]
    return np.concatenate([DOP853.C, [1.0], DOP853.C_EXTRA]), weights, np.array(path)


# The method of Dormand and Prince of order eight, with a path of order seven.
TIMES, WEIGHTS, PATH = _method()
# What the end of a step is off by, over its length: by estimates of order five and three.
OFF = np.zeros((2, len(TIMES)))
OFF[:, : len(DOP853.E5)] = DOP853.E5, DOP853.E3


# Where a step looks along which places are known, on (−1, 1), and what makes a series of
# Chebyshev's polynomials of what it sees.
NODES = -np.cos(np.pi * np.arange(9) / 8)
_BENDS = np.linalg.inv(chebvander(NODES, 8))


@dataclass(frozen=True)
class Tried:
    """A step that was tried: it is as good as small what it is `off` by.

    Attributes
    ----------
    along : callable
        The moves at shares of the step, one per row where these are many.
    off : ndarray
        Two estimates of what its end is off by, of order five and three, over its length.
    margin : float
        The least margin of the mode at any stage.
    known : list
        Looks of stages at which the mode holds.
    converged : bool
        Whether all stages were found: what turns fast is not foreseen over a long step.
    """

    along: Callable[[Any], np.ndarray]
    off: np.ndarray
    margin: float = np.inf
    known: list[Any] = field(default_factory=list)
    converged: bool = True

    def error(self, h: float, small: np.ndarray) -> float:
        """Return what a step of this length is off by, beside what is small."""
        if not self.converged:
            return np.inf
        five, three = self.off / small
        fine, coarse = five @ five, three @ three
        return h * fine / np.sqrt(max((fine + 0.01 * coarse) * len(small), 1e-300))


def led_along(path: np.ndarray) -> Callable[[Any], np.ndarray]:
    """Return the moves along a path: the factors of s, s (1 − s), s² (1 − s), s² (1 − s)² etc."""

    def along(share: Any) -> np.ndarray:
        share = np.asarray(share)[..., None]
        turns = np.where(np.arange(len(path)) % 2, 1 - share, share)
        return np.cumprod(turns, axis=-1) @ path

    return along


def looked(moves: np.ndarray, rates: np.ndarray, h: float) -> tuple[Tried, np.ndarray]:
    """Return a step by places that are known and rates at the nodes, and where rates alone lead.

    Places are as they are known; what else there is adds up.
    """
    n, bends = moves.shape[1], _BENDS @ rates
    adds = chebint(bends * h / 2, lbnd=-1)
    led = chebval(NODES, adds[:, :n]).T
    adds[: len(NODES), :n], adds[len(NODES) :, :n] = _BENDS @ moves, 0.0
    # The last terms of a series that has come to its end are what is missing of it. Places hardly
    # miss any of that, as they are known.
    off = np.abs(bends[-2:]).max(axis=0) / 2
    off[:n] *= 1e-2
    off = np.array([off, off])
    return Tried(lambda share: chebval(2 * np.asarray(share) - 1, adds).T, off), led


def weighted(weights: np.ndarray, parts: list[Any]) -> Any:
    """Return a weighted sum."""
    return reduce(lambda a, b: a + b, (float(w) * x for w, x in zip(weights, parts) if w))


def foreseen(times: np.ndarray, t: float) -> np.ndarray:
    """Return how much of what is known at some times is expected at another."""
    weights = np.zeros(len(times))
    known, first = np.unique(times, return_index=True)
    nearest = np.argsort(np.abs(known - t), kind="stable")
    for count in range(1, 5):
        some = nearest[:count]
        if len(some) < count:
            break
        rest = (np.delete(some, k) for k in range(count))
        of = [np.prod((t - known[o]) / (known[k] - known[o])) for k, o in zip(some, rest)]
        # Far ahead a parabola says less than a line.
        if np.abs(of).sum() > _FAR_AHEAD:
            break
        weights[:] = 0.0
        weights[first[some]] = of
    return weights


def stage_by_stage(
    rate: Callable[[float, np.ndarray], np.ndarray], t: float, x: np.ndarray, h: float
) -> Tried:
    """Try a step stage by stage."""
    rates = np.zeros((len(TIMES), len(x)))
    for k, at in enumerate(TIMES):
        rates[k] = rate(t + at * h, x + h * (WEIGHTS[k, :k] @ rates[:k]))
    return Tried(led_along(h * (PATH @ rates)), OFF @ rates)
