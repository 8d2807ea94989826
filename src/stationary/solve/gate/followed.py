"""Every step of a method with tolerances follows the differential equation as well as promised."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
import scipy.sparse as sparse

from stationary.lower.many_states import at_states
from stationary.solve.gate.collocation import continued
from stationary.solve.gate.finding import Finding, measured
from stationary.solve.integrators.bdf import anew
from stationary.solve.motion.ode import Ode, Piece
from stationary.solve.motion.stabilize import roots_of_masses, sizes

# A step may be off by so many tolerances: estimates of errors are no bounds.
_TOLERANCES = 4.0

# Rates at so many nodes are integrated together, if they are evenly apart, and otherwise; a step
# that can be looked into has so many inside.
_WINDOW, _UNEVEN, _INSIDE = 12, 8, 6

# Nodes are as far apart as each other up to this part.
_EVEN = 1e-6

# Up to so many entries of a state slopes of rates are looked at.
_SLOPED = 200

# Last digits of states, changed in so many ways, and how many times what they make of rates is
# rounding.
_WAYS, _ROUNDING = 2, 16.0

# Where more than this part of the steps is in doubt, all are.
_OFTEN = 0.125

# So many steps are integrated together, fewer one by one.
_SEVERAL = 4


def followed(ode: Ode, begin: np.ndarray, piece: Piece) -> tuple[int, Finding] | None:
    """Return the first step of a piece that does not end where its equation leads, and by how much.

    Rates in the middle of a step, or at nodes around it, tell that of nearly all steps. Others are
    looked into, and what remains in doubt is integrated anew by another method. An error counts as
    one if it is larger than some tolerances where a step begins have become at its end.
    """
    t, y = piece.t, piece.evaluate(piece.t)
    size, origin = sizes(ode, t[0], begin, t[-1]) if piece.sizes is None else piece.sizes
    far = np.abs(y - origin)
    if piece.middles is None:
        # A velocity that turns is as exact between two nodes as it is large around them.
        far[:] = far.max(axis=0)
    tolerance = ode.rtol * np.maximum(far[1:], far[:-1]) + ode.atol * size
    allowed, off = _TOLERANCES * tolerance, np.zeros_like(tolerance)
    look = _Nodes(ode, t, y) if piece.middles is None else _Steps(ode, piece, y)
    doubtful, close = _beyond(look.missed, allowed), look.missed
    if len(doubtful):
        allowed[doubtful] += _rounding(ode, t, y, doubtful)
        doubtful = doubtful[_beyond(look.missed[doubtful], allowed[doubtful])]
    if len(doubtful) > _OFTEN * len(off):
        # What one look misses in so many steps may hide what it finds in another.
        doubtful = np.arange(len(off))
    if len(doubtful):
        close = look.closely(doubtful, allowed[doubtful])
        wrong = _beyond(close, allowed[doubtful])
        doubtful, close = doubtful[wrong], close[wrong]
    if len(doubtful):
        other = partial(_anew, ode, t, known=(size, origin), tolerance=tolerance)
        there = other(doubtful, y[doubtful])
        off[doubtful] = np.abs(y[doubtful + 1] - there)
        # Where many steps lie between two nodes, and rates at these tell little, one tolerance at
        # the first may be more at the second.
        unclear = np.abs(close - off[doubtful]) > off[doubtful] / 2
        within = off[doubtful] <= allowed[doubtful]
        wrong = np.flatnonzero(~np.all(within, axis=1) & np.all(within | unclear, axis=1))
        for signs in (1.0, (-1.0) ** np.arange(y.shape[1])) if len(wrong) else ():
            some = doubtful[wrong]
            spread = np.abs(other(some, y[some] + signs * tolerance[some]) - there[wrong])
            allowed[some] = np.maximum(allowed[some], _TOLERANCES * np.nan_to_num(spread))
    # It goes on from where it was, and ends where it says.
    off[0] = np.maximum(off[0], np.abs(y[0] - begin))
    off[-1] = np.maximum(off[-1], np.abs(y[-1] - piece.end))
    wrong = _beyond(off, allowed)
    if not len(wrong):
        return None
    k, layout, n = int(wrong[0]), ode.kernel.layout, ode.kernel.size
    names = [layout.name(i) for i in range(n)] + [layout.name(i) + ".dot" for i in range(n)]
    names += ["work", "heat"]
    (worst,) = measured("the equation leads to", off[k], allowed[k], names.__getitem__)
    where = f"{worst.where} in the step from t = {t[k]:.6g}"
    return k, Finding(worst.claim, where, worst.measured, worst.allowed)


def _beyond(off: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return which steps are off by more than is allowed, or by what is no number."""
    return np.flatnonzero(~np.all(off <= allowed, axis=1))


def _rounding(ode: Ode, t: np.ndarray, y: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Return what last digits of states make of the changes in some steps."""
    h, states = (t[some + 1] - t[some])[:, None], y[some]
    rates = at_states(ode.kernel.rhs, t[some], states, ode.p)
    noise, rng = np.zeros_like(rates), np.random.default_rng(0)
    for _ in range(_WAYS):
        changes = rng.choice([-1.0, 1.0], states.shape) * np.spacing(np.abs(states))
        other = at_states(ode.kernel.rhs, t[some], states + changes, ode.p)
        noise = np.maximum(noise, np.abs(other - rates))
    noise = np.nan_to_num(noise, posinf=0.0)
    # What moves together shares its noise, and places follow velocities.
    n, roots = ode.kernel.size, roots_of_masses(ode, float(t[some[0]]), states[0])
    v = slice(n, 2 * n)
    noise[:, v] = np.max(roots * noise[:, v], axis=1, keepdims=True) / roots
    noise[:, :n] += h * noise[:, v]
    return _ROUNDING * (h * noise + np.spacing(np.abs(states)))


def _settled(
    ode: Ode, t: np.ndarray, y: np.ndarray, h: np.ndarray, off: np.ndarray, allowed: np.ndarray
) -> np.ndarray:
    """Return what states are off by, from what their changes miss of the integrals of rates.

    Where a motion is stiff, rates are errors of states many times over.
    """
    n, wrong = ode.kernel.states, _beyond(np.abs(off), allowed)
    if not len(wrong) or n > _SLOPED or not np.all(np.isfinite(off)):
        return np.abs(off)
    slopes = at_states(ode.kernel.slopes, t[wrong], y[wrong], ode.p)
    slopes = slopes.reshape(-1, n, n).transpose(0, 2, 1)
    try:
        matrices = np.eye(n) - h[wrong, None, None] / 2 * slopes
        off[wrong] = np.linalg.solve(matrices, off[wrong, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        pass
    return np.abs(off)


class _Steps:
    """Steps with polynomials of their own."""

    def __init__(self, ode: Ode, piece: Piece, y: np.ndarray):
        assert piece.middles is not None
        self.ode, self.piece, self.y, self.h = ode, piece, y, np.diff(piece.t)
        states, rates = (x[: len(self.h)] for x in piece.middles())
        f = at_states(ode.kernel.rhs, piece.t[:-1] + self.h / 2, states, ode.p)
        self.middles = states
        self.missed = np.abs(self.h[:, None] * (f - rates))

    def closely(self, some: np.ndarray, allowed: np.ndarray) -> np.ndarray:
        """Return what changes miss of the integrals of rates, in some steps."""
        ode, h = self.ode, self.h[some]
        x, weights = np.polynomial.legendre.leggauss(_INSIDE)
        times = (self.piece.t[some, None] + h[:, None] * (x + 1) / 2).ravel()
        f = at_states(ode.kernel.rhs, times, self.piece.evaluate(times), ode.p)
        led = h[:, None] / 2 * (weights @ f.reshape(len(some), _INSIDE, -1))
        off = self.y[some + 1] - self.y[some] - led
        return _settled(ode, self.piece.t[some] + h / 2, self.middles[some], h, off, allowed)


class _Nodes:
    """Nodes of which only states are known."""

    def __init__(self, ode: Ode, t: np.ndarray, y: np.ndarray):
        self.ode, self.t, self.y, self.h = ode, t, y, np.diff(t)
        even = np.ptp(self.h) <= _EVEN * self.h[0]
        means = _even(len(t)) if even else _weights(t, _UNEVEN)
        led = means @ at_states(ode.kernel.rhs, t, y, ode.p)
        self._off = np.diff(y, axis=0) - self.h[:, None] * led
        self.missed = np.abs(self._off)

    def closely(self, some: np.ndarray, allowed: np.ndarray) -> np.ndarray:
        """Return what some states are off by, from what changes miss."""
        h, middle = self.h[some], (self.y[some] + self.y[some + 1]) / 2
        return _settled(self.ode, self.t[some] + h / 2, middle, h, self._off[some], allowed)


@lru_cache
def _even(count: int) -> sparse.csr_array:
    return _weights(np.arange(float(count)), _WINDOW)


def _weights(t: np.ndarray, most: int) -> sparse.csr_array:
    """Return the matrix that makes of rates at nodes their means over each interval."""
    count = len(t)
    window, k = min(most, count), np.arange(count - 1)
    every = np.clip(k - window // 2 + 1, 0, count - window)[:, None] + np.arange(window)
    x = (t[every] - t[k][:, None]) / np.diff(t)[:, None]
    unit, orders = np.abs(x).max(axis=1)[:, None], np.arange(window)
    powers = (x / unit)[:, None, :] ** orders[:, None]
    moments = (1 / unit) ** orders / (orders + 1)
    parts = np.linalg.solve(powers, moments[:, :, None]).ravel()
    rows = np.arange(0, len(parts) + 1, window)
    return sparse.csr_array((parts, every.ravel(), rows), shape=(count - 1, count))


def _anew(
    ode: Ode, t: np.ndarray, some: np.ndarray, y: np.ndarray,
    known: tuple[np.ndarray, np.ndarray], tolerance: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return where some steps end that begin with states, by other methods than made them."""
    ends = np.full_like(y, np.nan)
    if len(some) >= _SEVERAL:
        ends = continued(ode, t[some], t[some + 1], y, tolerance[some])
    for i in np.flatnonzero(~np.all(np.isfinite(ends), axis=1)):
        begin, until = t[some[i] : some[i] + 2].tolist()
        ends[i] = anew(ode, begin, y[i], until, known)
    return ends
