"""Steps integrated anew, many at once, by a method that none of them was made by."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import legendre

from stationary.lower.many_states import at_states
from stationary.solve.motion.ode import Ode

# Up to so many states stages are iterated by Newton's method, otherwise by plain iteration.
FEW = 24

# Stages of the method of Radau for few states and for many, whose order is twice as many less one:
# of few states a step takes as long however many stages it has, and more are fewer steps.
_STAGES, _PLAIN = 15, 7

# Stages are iterated until they change by less than this part of a tolerance, at most so often, and
# every time by less than this part of the time before.
_SETTLED, _ROUNDS, _SLOWER = 0.05, 16, 0.5

# What a step leaves out may be this part of a tolerance, and what grows in it by the exponential of
# this at most: the method is blind to what grows by more.
_LEFT_OUT, _GROWING = 0.05, 4.0

# The next step is so much longer or shorter at most, and a little shorter than the order of the
# error tells; where stages do not settle it is by the last of these.
_LONGER, _SHORTER, _CAREFUL, _UNSETTLED = 2.0, 0.1, 0.8, 0.5

# So many steps lead through a way that can be integrated in this manner, none of them a smaller
# part of it than this.
_MOST_STEPS, _SHORTEST = 60, 1e-8


@cache
def gauss(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes between 0 and 1 and their parts of a mean."""
    x, weights = legendre.leggauss(count)
    return (x + 1) / 2, weights / 2


class _Method:
    """The nodes, what makes integrals up to them of values there, and what makes series.

    The eigenvalues of the integrals, the real one first, come with what leads to their modes and
    back; of two that are conjugate there is one, which counts twice.
    """

    def __init__(self, stages: int):
        x = np.sort(legendre.legroots([0.0] * (stages - 1) + [-1.0, 1.0]).real)
        x[-1] = 1.0
        self.stages, self.nodes = stages, (x + 1) / 2
        self.series = np.linalg.inv(legendre.legvander(x, stages - 1))
        ends = [legendre.legval(x, legendre.legint(row, lbnd=-1)) for row in np.eye(stages)]
        self.integrals = np.array(ends).T @ self.series / 2
        values, modes = np.linalg.eig(self.integrals)
        some = np.argsort(np.imag(values))[stages // 2 :]
        twice = [1] + stages // 2 * [2]
        self.times, self.to, self.back = (
            values[some], np.linalg.inv(modes)[some], modes[:, some] * twice,
        )  # fmt: skip


_method = cache(_Method)


@np.errstate(all="ignore")
def continued(
    ode: Ode, t: np.ndarray, until: np.ndarray, y: np.ndarray, tolerance: np.ndarray
) -> np.ndarray:
    """Return where states are at the ends of ways, one row each; nan where that takes too long.

    The collocation method of Radau, in steps as long as its iteration settles and
    as the series of the rates has decayed at its end. Steps of few states are as long where their
    equation is stiff.

    References
    ----------
    E. Hairer, G. Wanner, Solving Ordinary Differential Equations II, sections IV.5 and IV.8.
    """
    by = _method(_STAGES if y.shape[1] <= FEW else _PLAIN)
    t, y, ended = t.copy(), y.copy(), np.full_like(y, np.nan)
    whole, length, going = until - t, until - t, np.arange(len(t))
    for _ in range(_MOST_STEPS):
        left = until[going] - t[going]
        last = length[going] >= left
        h, allowed = np.where(last, left, length[going]), tolerance[going]
        stages, left_out, settled = _step(ode, by, t[going], h, y[going], allowed)
        error = np.max(left_out / (_LEFT_OUT * allowed), axis=1)
        good, there = settled & (error <= 1), settled & (error <= 1) & last
        ended[going[there]] = stages[there, -1]
        here = going[good]
        t[here], y[here] = t[here] + h[good], stages[good, -1]
        part = _CAREFUL * np.maximum(error, 1e-300) ** (-1 / (2 * by.stages - 2))
        part = np.where(settled, np.clip(part, _SHORTER, _LONGER), _UNSETTLED)
        length[going] = h * part
        going = going[~there & (length[going] > _SHORTEST * whole[going])]
        if not len(going):
            break
    return ended


def _step(
    ode: Ode, by: _Method, t: np.ndarray, h: np.ndarray, y: np.ndarray, allowed: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return stages of steps, what they leave out at the end, and which of them have settled."""
    inverse, sound = None, np.ones(len(t), dtype=bool)
    if by.stages != _PLAIN:
        inverse, sound = _inverse(ode, by, t, h, y)
    times, h = t[:, None] + h[:, None] * by.nodes, h[:, None, None]
    stages = np.repeat(y[:, None], by.stages, axis=1)
    f, change = np.empty_like(stages), np.full(len(t), np.inf)
    going: Any = slice(None)
    for _ in range(_ROUNDS):
        known = stages[going]
        f[going] = at_states(
            ode.kernel.rhs, times[going].ravel(), known.reshape(-1, y.shape[1]), ode.p
        ).reshape(known.shape)
        missed = y[going, None] + h[going] * (by.integrals @ f[going]) - known
        if inverse is not None:
            modes = inverse[going] @ (by.to @ missed)[..., None]
            missed = (by.back @ modes[..., 0]).real
        stages[going] = known + missed
        now = (np.abs(missed) / allowed[going, None]).max(axis=(1, 2))
        on = (now > _SETTLED) & (now < _SLOWER * change[going])
        change[going] = now
        if not on.all():
            going = np.arange(len(t))[going][on]
            if not len(going):
                break
    # The series goes on as its second half does: what is left out of it comes after as many terms
    # again. Of a force that bends sharply that is much more than its first terms tell. What fades
    # while it is made leaves less.
    terms = h * (by.series @ f)
    if inverse is not None:
        terms = (inverse[:, None, 0] @ terms[..., None])[..., 0]
    terms = np.abs(terms)
    left_out, middle = terms[:, -2:].max(axis=1), terms[:, by.stages // 2 - 1 :][:, :2].max(axis=1)
    left_out *= np.minimum(1.0, left_out / np.maximum(middle, 1e-300)) ** 2
    return stages, left_out, sound & (change <= _SETTLED)


def _inverse(
    ode: Ode, by: _Method, t: np.ndarray, h: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return what makes changes of stages of what these miss, for each step and mode.

    Told is, too, in which steps nothing grows by too much.
    """
    n = y.shape[1]
    slopes = at_states(ode.kernel.slopes, t, y, ode.p).reshape(-1, n, n).swapaxes(1, 2)
    # Where there are none, what is missed is the change.
    slopes = np.where(np.isfinite(slopes), h[:, None, None] * slopes, 0.0)
    sound = np.linalg.eigvals(slopes).real.max(axis=1) <= _GROWING
    try:
        return np.linalg.inv(np.eye(n) - by.times[:, None, None] * slopes[:, None]), sound
    except np.linalg.LinAlgError:
        return None, sound
