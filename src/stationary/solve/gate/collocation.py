"""Steps integrated anew, many at once, by a method that none of them was made by."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.polynomial import legendre

from stationary.lower.many_states import at_states
from stationary.solve.motion.ode import Ode

# Stages of the method of Radau, whose order is twice as many less one.
_STAGES = 7

# Stages are iterated until they change by less than this part of a tolerance, at most so often, and
# every time by less than this part of the time before.
_SETTLED, _ROUNDS, _SLOWER = 0.05, 16, 0.5

# What a step leaves out may be this part of a tolerance; where it is this much less, the next step
# is longer.
_LEFT_OUT, _EASY = 0.05, 1e-3

# So many steps lead through a way that can be integrated in this manner.
_MOST_STEPS = 12


@cache
def gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes between 0 and 1 and their parts of a mean."""
    x, weights = legendre.leggauss(count)
    return (x + 1) / 2, weights / 2


def _method() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the nodes, what makes integrals up to them of values there, and what makes series."""
    x = np.sort(legendre.legroots([0.0] * (_STAGES - 1) + [-1.0, 1.0]).real)
    x[-1] = 1.0
    series = np.linalg.inv(legendre.legvander(x, _STAGES - 1))
    ends = [legendre.legval(x, legendre.legint(row, lbnd=-1)) for row in np.eye(_STAGES)]
    return (x + 1) / 2, np.array(ends).T @ series / 2, series


_NODES, _INTEGRALS, _SERIES = _method()


@np.errstate(all="ignore")
def continued(
    ode: Ode, t: np.ndarray, until: np.ndarray, y: np.ndarray, tolerance: np.ndarray
) -> np.ndarray:
    """Return where states are at the ends of ways, one row each; nan where that takes too long.

    The collocation method of Radau with seven nodes, by plain iteration, in steps as long as that
    settles and as the series of the rates has decayed at its end.

    References
    ----------
    E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, section IV.5.
    """
    t, y, ended = t.copy(), y.copy(), np.full_like(y, np.nan)
    rates, length, going = _rates(ode, t, y), until - t, np.arange(len(t))
    for k in range(_MOST_STEPS):
        left = until[going] - t[going]
        # What would not get there in the steps that remain is given up.
        going, left = (x[length[going] * (_MOST_STEPS - k) >= left] for x in (going, left))
        if not len(going):
            break
        last = length[going] >= left
        h = np.where(last, left, length[going])
        allowed = tolerance[going]
        stages, f, settled = _settled(ode, t[going], h, y[going], rates[going], allowed)
        terms = np.abs(h[:, None, None] * (_SERIES @ f))
        # The series goes on as it ends: what is left out of it comes after as many terms again.
        tail = terms[:, -2:].max(axis=1)
        tail *= np.minimum(1.0, tail / np.maximum(terms.max(axis=1), 1e-300))
        good = settled & np.all(tail <= _LEFT_OUT * allowed, axis=1)
        easy = good & np.all(tail <= _EASY * _LEFT_OUT * allowed, axis=1)
        ended[going[good & last]] = stages[good & last, -1]
        here = going[good]
        t[here], y[here], rates[here] = t[here] + h[good], stages[good, -1], f[good, -1]
        length[going] = h * np.where(easy, 2.0, np.where(good, 1.0, 0.5))
        going = going[~(good & last)]
    return ended


def _settled(
    ode: Ode, t: np.ndarray, h: np.ndarray, y: np.ndarray, rates: np.ndarray, allowed: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return stages of steps, the rates there, and which of them have settled."""
    times, h = t[:, None] + h[:, None] * _NODES, h[:, None, None]
    stages = y[:, None] + h * _NODES[:, None] * rates[:, None]
    f, settled = np.empty_like(stages), np.zeros(len(t), dtype=bool)
    going, before = np.arange(len(t)), np.full(len(t), np.inf)
    for _ in range(_ROUNDS):
        f[going] = _rates(ode, times[going].ravel(), stages[going].reshape(-1, y.shape[1])).reshape(
            len(going), _STAGES, -1
        )
        new = y[going, None] + h[going] * (_INTEGRALS @ f[going])
        change = (np.abs(new - stages[going]) / allowed[going, None]).max(axis=(1, 2))
        stages[going] = new
        settled[going] = change <= _SETTLED
        slower = change < _SLOWER * before[going]
        before[going] = change
        going = going[~settled[going] & slower]
        if not len(going):
            break
    return stages, f, settled


def _rates(ode: Ode, t: np.ndarray, y: np.ndarray) -> np.ndarray:
    return at_states(ode.kernel.rhs, t, y, ode.p)
