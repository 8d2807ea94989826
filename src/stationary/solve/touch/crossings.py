"""When a mode ends: the first of its margins to pass through zero, located to rounding.

On every step of the integrator margins are interpolated by Chebyshev polynomials, which tell where
they vanish, dips that come back included.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

import casadi as ca
import numpy as np
from numpy.polynomial import chebyshev
from scipy.optimize import brentq

from stationary.lower.engines.casadi import Numeric
from stationary.solve.motion.ode import Piece

# Points at which margins are interpolated, and what the last coefficients may be.
_NODES = 24
_RESOLVED = 1e-9

# Halvings of a step whose margins are not resolved, and of one that begins with a rebound which
# ends within so small a part of it that rounding of the series tells little of it.
_MOST_HALVINGS = 30
_MOST_REBOUNDS = 60
_SOON = 1e-6

# Margins that come closer to zero than this part of their change may pass it between looks.
_DIP = 0.05

# Corrections of a zero, and how far from it a series can be, of its stretch.
_CORRECTIONS = 12
_FAR = 1e-3


@cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """Return points in (0, 1) and the matrix from values there to coefficients."""
    k = np.arange(_NODES)
    x = np.cos(np.pi * (k + 0.5) / _NODES)[::-1]
    T = np.cos(np.outer(k, np.arccos(x))) * 2 / _NODES
    T[0] /= 2
    return (x + 1) / 2, T


class Margins:
    """The margins of a kernel, evaluated at many states at once."""

    def __init__(self, function: ca.Function):
        self._function, self._mapped = function, {}
        self.count = function.numel_out(0)

    def __call__(self, times: np.ndarray, states: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the margins, one column per time."""
        count = len(times)
        if count not in self._mapped:
            if len(self._mapped) > 16:
                self._mapped.clear()
            every = self._function.map("margins", "serial", count, [2], [])
            self._mapped[count] = Numeric(every)
        values = self._mapped[count](times, states.ravel(), p)[0]
        return values.reshape(count, self.count).T


@dataclass(frozen=True)
class Fresh:
    """A margin that begins at zero: the power of time with which it leaves, its rate, its noise.

    Over that power of time it is positive from the start; what is below the noise is zero.
    """

    power: int = 0
    rate: float = 0.0
    noise: float = 0.0

    def rougher(self, times: float) -> Fresh:
        """Return the same with more noise."""
        return Fresh(self.power, self.rate, times * self.noise)


def first_end(
    margins: Margins, piece: Piece, p: np.ndarray, noise: np.ndarray, fresh: dict[int, Fresh]
) -> tuple[float, list[int]] | None:
    """Return when a piece leaves its mode, and by which margins; none if it does not.

    Margins below their `noise` are zero. `fresh` are those that begin at zero.
    """
    x, _ = _nodes()
    begins = piece.t[0]
    for a, b in zip(piece.t[:-1], piece.t[1:]):
        stack: list[tuple[float, float, int]] = [(float(a), float(b), 0)]
        while stack:
            low, high, depth = stack.pop()
            times = low + (high - low) * x
            values = margins(times, piece.evaluate(times), p)
            new = fresh if low == begins else {}
            middle = (low + high) / 2
            close = depth < _MOST_HALVINGS and low < middle < high
            nearer = depth < _MOST_REBOUNDS and low < middle < high
            left, unresolved = _looked(
                margins, piece, p, low, high, values, noise, new, close, nearer
            )
            if unresolved:
                stack += [(middle, high, depth + 1), (low, middle, depth + 1)]
                continue
            if left is not None:
                return left
        fresh = {} if a == begins else fresh
    return None


def _looked(
    margins: Margins, piece: Piece, p: np.ndarray, low: float, high: float, values: np.ndarray,
    noise: np.ndarray, fresh: dict[int, Fresh], close: bool, nearer: bool,
) -> tuple[tuple[float, list[int]] | None, bool]:  # fmt: skip
    """Return the first end inside a stretch of a step, and whether to look closer, if it can be."""
    x, T = _nodes()
    values, short = values.copy(), np.zeros(len(values), dtype=bool)
    since = (high - low) * x
    start = margins(np.array([low]), piece.evaluate(np.array([low])), p)[:, 0] if fresh else None
    for i, new in fresh.items():
        if new.power and start is not None:
            left = values[i] - start[i] - (new.rate * since if new.power > 1 else 0.0)
            # What is so short that nothing has left the rounding of where it begins tells nothing.
            short[i] = np.abs(left).max() <= noise[i]
            values[i] = left / since**new.power
    c = values @ T.T
    rest = np.abs(c[:, 1:]).sum(axis=1)
    doubtful = np.flatnonzero((c[:, 0] - rest <= 0) & ~short)
    if not len(doubtful):
        return None, False
    first: tuple[float, list[int]] | None = None
    for i in doubtful.tolist():
        course, new = c[i], fresh.get(i)
        room = new.noise if new is not None and new.power else noise[i]
        size = np.abs(course).max()
        if size <= room:
            continue
        if close and np.abs(course[-2:]).max() > _RESOLVED * size + room:
            return None, True
        begin = 0.0
        if new is not None and (room or not new.power):
            away = np.flatnonzero(np.abs(values[i]) > room)
            if not len(away):
                continue
            if values[i, away[0]] < 0:
                if first is None or low < first[0]:
                    first = low, [i]
                continue
            begin = float(x[away[0]])
        # Values are rounded, and so are the times at which they are taken.
        blur = _NODES * size * (np.finfo(float).eps + np.spacing(abs(high)) / (high - low))
        root, clear = _root(course, begin, room, blur)
        if new is None and low == piece.t[0] and not clear:
            # It begins nearer to zero than the rounding of looks at a series: it is looked at
            # closer by, and has not ended if it goes away even then.
            if close:
                return None, True
            if _value((_slopes() @ course).tolist(), 0.0) > 0:
                continue
        if root is None:
            continue
        if new is not None and new.power and root < _SOON and nearer:
            return None, True
        slope = _value((_slopes() @ course).tolist(), root) / (high - low)
        slope *= (root * (high - low)) ** (new.power if new is not None else 0)
        # What begins below zero, by rounding, ends where it is back.
        zero = min(float(start[i]), 0.0) if new is not None and start is not None else 0.0
        t = _located(margins, piece, p, i, zero, low + root * (high - low), slope, high - low)
        if first is None or t < first[0]:
            first = t, [i]
        elif t == first[0]:
            first[1].append(i)
    return first, False


def _root(c: np.ndarray, begin: float, room: float, blur: float) -> tuple[float | None, bool]:
    """Return the first place in [begin, 1] after which a series falls below −room.

    Also whether that is clear of the rounding of the series.
    """
    x, V = _grid()
    values = c @ V
    values[x < begin] = np.inf
    below = np.flatnonzero(values < -room)
    k = int(below[0]) if len(below) else len(x)
    # A dip between looks would be narrow, and leave those beside it low, the outermost too.
    around = np.concatenate([[np.inf], values, [np.inf]])
    lowest = np.flatnonzero((values <= around[:-2]) & (values <= around[2:]) & np.isfinite(values))
    inside = values[np.isfinite(values)]
    if np.any(values[lowest[lowest < k]] <= _DIP * np.ptp(inside)):
        roots = chebyshev.chebroots(c)
        low, high = chebyshev.chebdomain
        real = roots[np.abs(roots.imag) < 1e-9 * (high - low)].real
        real = np.sort((real - low) / (high - low))
        real = real[(real > begin) & (real < (x[k] if len(below) else 1.0))]
        for a, b in zip(real[:-1], real[1:]):
            if chebyshev.chebval(a + b - 1, c) < -room:
                return float(a), True
    if not len(below):
        return None, True
    # A series that begins below zero does not tell how long the margin was above it.
    clear = k > 0 and values[k] < -blur and values[k - 1] > blur
    return _between(c, x, values, k, begin), bool(clear)


def _between(c: np.ndarray, x: np.ndarray, values: np.ndarray, k: int, begin: float) -> float:
    """Return the zero of a series before its first negative value among looks."""
    high = float(x[k])
    low = max(begin, float(x[k - 1])) if k else begin
    above = float(values[k - 1]) if k and np.isfinite(values[k - 1]) else None
    if above is None or above <= 0:
        return low
    series = c.tolist()
    if _value(series, low) <= 0 or _value(series, high) >= 0:
        return low
    # The margin itself corrects the last digits.
    return float(brentq(partial(_value, series), low, high, xtol=1e-300, rtol=1e-12, maxiter=1000))


def _value(c: list[float], x: float) -> float:
    """Return the value of a series by Clenshaw's recurrence, which is quickest for one place."""
    twice, last, one = 4 * x - 2, 0.0, 0.0
    for coefficient in c[:0:-1]:
        last, one = one, twice * one - last + coefficient
    return twice / 2 * one - last + c[0]


@cache
def _slopes() -> np.ndarray:
    """Return the matrix from the coefficients of a series on [0, 1] to those of its slope."""
    return 2 * chebyshev.chebder(np.eye(_NODES))


@cache
def _grid() -> tuple[np.ndarray, np.ndarray]:
    """Return looks in [0, 1] and the matrix from coefficients to values there."""
    x = (1 - np.cos(np.linspace(0, np.pi, 4 * _NODES + 1))) / 2
    return x, np.cos(np.outer(np.arange(_NODES), np.arccos(np.clip(2 * x - 1, -1, 1))))


def _located(
    margins: Margins, piece: Piece, p: np.ndarray, i: int, zero: float, t: float, slope: float,
    wide: float,
) -> float:  # fmt: skip
    """Correct a zero of a series by the margin itself, whose slope there the series tells.

    Differences of margins would be rounding where these are small beside what they are made of.
    """
    first, last, before = float(piece.t[0]), float(piece.t[-1]), _FAR * wide
    for _ in range(_CORRECTIONS if slope else 0):
        at = np.array([t])
        step = (zero - float(margins(at, piece.evaluate(at), p)[i, 0])) / slope
        # Corrections that do not become smaller are rounding.
        if not abs(step) <= before / 2:
            break
        new, before = min(max(t + step, first), last), abs(step)
        if new == t:
            break
        t = new
    return t
