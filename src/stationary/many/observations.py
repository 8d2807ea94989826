"""Many motions seen at many times: what is kept of them, exact between the looks, too.

Between looks a polynomial runs through the states of six of them and their rates, which the
equations give: of degree eleven, where looks are closer than the steps of a series of order twenty.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from stationary.lower.features import near_zero
from stationary.lower.instructions import kinks
from stationary.lower.many_places import evaluate
from stationary.many.motions import Motions
from stationary.many.reduce import summits
from stationary.solve.motion.zero_passages import zeros

# Looks through which a polynomial runs.
_NODES = 6

# Places, on the way of one motion, where its extreme is looked for.
_PLACES = 3

# How often the place of an extreme is divided by four: where it is round, and where it is pointed.
_ROUNDS = (10, 24)
_LOOKS = 9

# A value that is zero to these many last digits of what it is summed from.
_ROUNDING = 64 * np.finfo(float).eps


class Looks:
    """Motions at times: `t` of shape (times, motions), `y` of shape (times, motions, states)."""

    def __init__(self, motions: Motions, t: np.ndarray, y: np.ndarray, p: np.ndarray):
        self._motions, self.t, self.y, self.p = motions, t, y, p

    def _function(self, e: Any) -> ca.Function:
        return _lowered(self._motions, e)

    def _at(self, f: ca.Function, t: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Evaluate a function at times and states with any leading shape."""
        shape = t.shape
        p = np.broadcast_to(p, (*shape, p.shape[-1]))
        y, p = y.reshape(t.size, y.shape[-1]), p.reshape(t.size, p.shape[-1])
        values = evaluate(f, t.ravel(), y, p)
        return values.reshape(*shape, values.shape[-1])

    def values(self, e: Any, at: Any = slice(None)) -> np.ndarray:
        """Return an expression at the looks."""
        return self._at(self._function(e), self.t[at], self.y[at], self.p)[..., 0]

    def balanced(self, allowed: float) -> np.ndarray:
        """Tell of which motions the energy balances, and the constraints hold."""
        kernel = self._motions.kernel
        few = np.unique(np.linspace(0, len(self.t) - 1, 16).astype(int))
        t, y = self.t[few], self.y[few]
        energies = self._at(_energies(self._motions), t, y, self.p)
        kinetic, potential, energy, work = np.moveaxis(energies, -1, 0)
        work = work - work[0]
        lost = np.abs(energy - energy[0] - work).max(axis=0)
        scale = np.abs(np.stack([kinetic, potential, work])).max(axis=(0, 1))
        good = lost <= allowed * np.maximum(scale, 1e-300)
        if kernel.rows:
            m, n = len(kernel.rows), kernel.size
            R, _, A = np.split(self._at(self._motions.held, t, y, self.p), [m, 2 * m], axis=-1)
            A = np.abs(A.reshape(*A.shape[:-1], n, m))
            size = np.abs(y[..., :n]).max(axis=0) + np.abs(y[..., :n] - y[0, :, :n]).max(axis=0)
            made_of = np.einsum("tkjm,kj->tkm", A, size)
            good &= (np.abs(R) <= 100 * allowed * made_of).all(axis=(0, 2))
        return good

    def guarded(self) -> np.ndarray:
        """Tell of which motions nothing comes to zero on the way that must not."""
        f = _guards(self._motions)
        count = f.numel_out(0) // 2
        z, rate = np.split(self._at(f, self.t, self.y, self.p), [count], axis=-1)
        h = np.diff(self.t, axis=0)[..., None]
        return ~near_zero(h, z[:-1], rate[:-1], z[1:], rate[1:]).any(axis=(0, 2))

    def pace(self) -> np.ndarray:
        """Return how fast, at most, what sharp functions are of changes along every motion."""
        return np.abs(self._at(_bends(self._motions), self.t, self.y, self.p)).max(axis=(0, 2))

    # -- between looks -----------------------------------------------------------------------------

    def _pieces(self, lanes: np.ndarray, place: np.ndarray) -> _Pieces:
        """Return the polynomials around some looks of some motions."""
        first = np.clip(place - _NODES // 2 + 1, 0, len(self.t) - _NODES)
        rows = first[:, None] + np.arange(_NODES)
        t, y = self.t[rows, lanes[:, None]], self.y[rows, lanes[:, None]]
        f = self._at(self._motions.kernel.rhs, t, y, self.p[lanes][:, None, :])
        return _Pieces(t, y, f)

    def _course(self, e: Any, lanes: np.ndarray, place: np.ndarray) -> Any:
        f, pieces, p = self._function(e), self._pieces(lanes, place), self.p[lanes]

        def course(x: np.ndarray, which: np.ndarray) -> np.ndarray:
            which = np.broadcast_to(which, x.shape).astype(int)
            y = pieces(x.ravel(), which.ravel())
            return self._at(f, x.ravel(), y, p[which.ravel()])[..., 0].reshape(x.shape)

        return course

    def crossing(self, e: Any, direction: int) -> tuple[np.ndarray, np.ndarray]:
        """Return when an expression first passes zero, and of which motions that is in doubt."""
        g = self.values(e)
        count = g.shape[1]
        sign = np.sign(g)
        passes = (sign[:-1] != sign[1:]) & (sign[:-1] != 0)
        if direction:
            passes &= (g[:-1] < 0) == (direction > 0)
        any_, at = passes.any(axis=0), passes.argmax(axis=0)
        # What begins at zero, or turns close to it, is looked at more closely by itself.
        doubt = np.abs(g[0]) <= _ROUNDING * np.abs(g).max(axis=0)
        before, here, after = np.abs(g[:-2]), np.abs(g[1:-1]), np.abs(g[2:])
        same = (sign[:-2] == sign[1:-1]) & (sign[1:-1] == sign[2:])
        dips = same & (here <= before) & (here <= after)
        dips &= here < np.maximum(before, after) - here
        earlier = np.arange(1, len(g) - 1)[:, None] <= np.where(any_, at + 1, len(g))
        doubt |= (dips & earlier).any(axis=0)
        moments = np.full(count, np.nan)
        lanes = np.flatnonzero(any_ & ~doubt)
        if len(lanes):
            place = at[lanes]
            ends = self.t[place, lanes], self.t[place + 1, lanes]
            moments[lanes] = zeros(self._course(e, lanes, place), *ends, np.arange(len(lanes)))
        return moments, doubt

    def extreme(self, e: Any, sign: int) -> np.ndarray:
        """Return the largest (1) or smallest (−1) value of an expression along every motion."""
        g = sign * self.values(e)
        best = g.max(axis=0)
        peak = np.zeros(g.shape, dtype=bool)
        peak[1:-1] = (g[1:-1] >= g[:-2]) & (g[1:-1] >= g[2:])
        rise = np.abs(np.diff(g, axis=0))
        peak[1:-1] &= g[1:-1] + np.maximum(rise[:-1], rise[1:]) >= best
        peak[1], peak[-2] = peak[1] | (g[0] >= g[1]), peak[-2] | (g[-1] >= g[-2])
        score = np.where(peak, g, -np.inf)
        places = np.argsort(-score, axis=0, kind="stable")[:_PLACES]
        lanes = np.tile(np.arange(g.shape[1]), len(places))
        place = places.ravel()
        worth = np.isfinite(score[place, lanes])
        lanes, place = lanes[worth], place[worth]
        if len(lanes):
            course = self._course(e, lanes, place)
            a, b = self.t[place - 1, lanes], self.t[np.minimum(place + 1, len(g) - 1), lanes]
            rounds = _ROUNDS[bool(kinks(self._function(e)))]
            which = np.arange(len(lanes))[:, None]
            tops = summits(lambda times: sign * course(times, which), a, b, rounds, _LOOKS)
            np.maximum.at(best, lanes, tops)
        return sign * best

    def mean(self, e: Any) -> np.ndarray:
        """Return the mean of an expression over the time of every motion.

        By the trapezoidal rule with Gregory's corrections at both ends: between them, what is
        smooth is summed exactly.
        """
        g, even = self.values(e), self._even()
        if even is None:
            total = (np.diff(self.t, axis=0) * (g[1:] + g[:-1]) / 2).sum(axis=0)
            return total / (self.t[-1] - self.t[0])
        g = g[even]
        w = np.ones(len(g))
        w[: len(_GREGORY)] += _GREGORY
        w[-len(_GREGORY) :] += _GREGORY[::-1]
        return w @ g / (len(g) - 1)

    def _even(self) -> np.ndarray | None:
        """Return which looks are evenly spaced: others, at given times, stand between them."""
        t = self.t[:, 0]
        h = np.diff(t)
        step = np.median(h)
        places = np.round((t - t[0]) / step)
        on = np.abs(t - t[0] - places * step) < 1e-6 * step
        count = round((t[-1] - t[0]) / step) + 1
        return on if on.sum() == count else None


# Weights of Gregory's rule less one, at an end: of eight differences.
def _gregory(order: int) -> np.ndarray:
    from fractions import Fraction
    from math import comb

    # Coefficients of x/log(1 + x) = Σ cₖ xᵏ.
    c = [Fraction(1)]
    for n in range(1, order + 2):
        c.append(-sum((-1) ** (n - k) * c[k] / Fraction(n - k + 1) for k in range(n)))  # pyright: ignore[reportArgumentType]
    w = [Fraction(0)] * (order + 1)
    w[0] -= Fraction(1, 2)
    for k in range(1, order + 1):
        # −|c_{k+1}| times the k-th difference at the end.
        for j in range(k + 1):
            w[j] -= abs(c[k + 1]) * (-1) ** j * comb(k, j)
    return np.array([float(x) for x in w])


_GREGORY = _gregory(8)


class _Pieces:
    """Polynomials through states and rates at some times, one for each row."""

    def __init__(self, t: np.ndarray, y: np.ndarray, f: np.ndarray):
        self._middle = t.mean(axis=1)
        self._half = (t[:, -1] - t[:, 0]) / 2
        s = (t - self._middle[:, None]) / self._half[:, None]
        # Divided differences with every node twice (Hermite's interpolation, Newton's form).
        z = np.repeat(s, 2, axis=1)
        table = np.repeat(y, 2, axis=1)
        rates = f * self._half[:, None, None]
        n = z.shape[1]
        self._z, self._c = z, [table[:, 0]]
        level = np.empty((len(t), n - 1, y.shape[-1]))
        gaps = (z[:, 1:] - z[:, :-1])[..., None]
        level[:, 0::2] = rates
        level[:, 1::2] = (table[:, 2::2] - table[:, 1:-1:2]) / gaps[:, 1::2]
        self._c.append(level[:, 0])
        for k in range(2, n):
            level = np.diff(level, axis=1) / (z[:, k:] - z[:, :-k])[..., None]
            self._c.append(level[:, 0])

    def __call__(self, x: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return states at times, each of one of the rows."""
        s = (x - self._middle[which]) / self._half[which]
        states = self._c[-1][which]
        for k in range(len(self._c) - 2, -1, -1):
            states = states * (s - self._z[which, k])[:, None] + self._c[k][which]
        return states


@lru_cache(maxsize=64)
def _lowered(motions: Motions, e: Any) -> ca.Function:
    return ca.Function("e", list(motions.kernel.arguments), [ca.densify(motions.lowered(e))])


def energies(motions: Motions, t: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the energy of every motion at one time of its own."""
    return evaluate(_energies(motions), t, y, p)[:, 2]


@lru_cache(maxsize=8)
def _energies(motions: Motions) -> ca.Function:
    """T, U, the energy and the work done, as a function of t, y, p."""
    kernel = motions.kernel
    energies = kernel.graph.energies(*kernel.inner)
    work = kernel.arguments[1][kernel.states - 1] if kernel.graph.fed else ca.SX(0)
    every = ca.densify(ca.vertcat(energies[0], energies[1], energies[2], work))
    return ca.Function("energies", list(kernel.arguments), [every])


@lru_cache(maxsize=8)
def _guards(motions: Motions) -> ca.Function:
    """Return what must not come to zero, and its rates, as a function of t, y, p."""
    z = motions.guards
    every = ca.densify(ca.vertcat(z, _rate(motions, z)))
    return ca.Function("guards", list(motions.kernel.arguments), [every], {"cse": True})


@lru_cache(maxsize=8)
def _bends(motions: Motions) -> ca.Function:
    """Return the rates of what sharp functions are of, as a function of t, y, p."""
    rate = ca.densify(_rate(motions, motions.bends))
    return ca.Function("bends", list(motions.kernel.arguments), [rate], {"cse": True})


def _rate(motions: Motions, z: Any) -> Any:
    t, y, p = motions.kernel.arguments
    return ca.jtimes(z, ca.vertcat(t, y), ca.vertcat(1, motions.kernel.rhs(t, y, p)))
