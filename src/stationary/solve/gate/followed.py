"""Every step of a method with tolerances follows the differential equation as well as promised."""

from __future__ import annotations

from functools import lru_cache, partial

import numpy as np
import scipy.sparse as sparse

from stationary.lower.many_states import at_states
from stationary.solve.gate.collocation import FEW, continued, gauss
from stationary.solve.gate.finding import Finding, measured
from stationary.solve.integrators.bdf import anew
from stationary.solve.motion.ode import Ode, Piece
from stationary.solve.motion.stabilize import roots_of_masses, sizes

# A step may be off by so many tolerances: estimates of errors are no bounds.
_TOLERANCES = 4.0

# Rates at so many nodes are integrated together, if they are evenly apart, and otherwise.
_WINDOW, _UNEVEN = 12, 8

# Where rates of a step that can be looked into are taken, its middle first, and what they count.
_MIDDLE_FIRST = [2, 0, 1, 3, 4]
_INSIDE, _COUNT = (x[_MIDDLE_FIRST] for x in gauss(5))

# Nodes are as far apart as each other up to this part.
_EVEN = 1e-6

# Up to so many entries of a state slopes of rates are looked at.
_SLOPED = 200

# Last digits of states, changed in so many ways, and how many times what they make of rates is
# rounding.
_WAYS, _ROUNDING = 2, 16.0

# Where more than this part of the steps is in doubt, all are.
_OFTEN = 0.125

# So many steps are integrated together, fewer one by one, and those that are so much longer than
# what moves fastest there, of which so many powers tell, by a method for stiff ones.
_SEVERAL, _STIFF, _POWERS = 4, 10.0, 8


def followed(ode: Ode, begin: np.ndarray, piece: Piece) -> tuple[int, Finding] | None:
    """Return the first step of a piece that does not end where its equation leads, and by how much.

    Rates in the middle of a step, or at nodes around it, tell that of nearly all steps. Others are
    looked into, and what remains in doubt is integrated anew by another method. An error counts as
    one if it is larger than some tolerances where a step begins have become at its end.
    """
    t, y = piece.t, piece.evaluate(piece.t)
    size, origin = sizes(ode, t[0], begin, t[-1]) if piece.sizes is None else piece.sizes
    far = np.abs(y - origin)
    # A velocity that turns is as exact between two nodes as it is large around them.
    far = far.max(axis=0) if piece.middles is None else np.maximum(far[1:], far[:-1])
    tolerance = np.broadcast_to(ode.rtol * far + ode.atol * size, (len(t) - 1, len(size)))
    allowed = _TOLERANCES * tolerance
    look = _Nodes(ode, t, y) if piece.middles is None else _Steps(ode, piece, y)
    missed, some = look.missed, _beyond(np.abs(look.missed), allowed)
    # It goes on from where it was, and ends where it says.
    begun, ended = np.abs(y[0] - begin), np.abs(y[-1] - piece.end)
    if not len(some) and np.all(begun <= allowed[0]) and np.all(ended <= allowed[-1]):
        return None
    off, stiff = np.zeros_like(allowed), np.zeros(len(allowed), dtype=bool)

    def beyond(some: np.ndarray) -> np.ndarray:
        return some[_beyond(np.abs(missed[some]), allowed[some])]

    if len(some) > _OFTEN * len(off):
        # What one look misses in so many steps may hide what it finds in another.
        some = np.arange(len(off))
    if len(some):
        missed[some] = look.closely(some)
        some = beyond(some)
    quick = np.full_like(off, np.nan)
    if y.shape[1] <= FEW and 0 < len(some) <= _OFTEN * len(off):
        # To integrate them anew takes no longer than to find out what rounding does.
        quick[some] = continued(ode, t[some], t[some + 1], y[some], tolerance[some])
        some = some[_beyond(np.abs(y[some + 1] - quick[some]), allowed[some])]
    if len(some):
        allowed[some] += _rounding(ode, t, y, some)
        some = beyond(some)
    if len(some):
        other = partial(_anew, ode, t, stiff=stiff, known=(size, origin))
        missed[some], stiff[some] = _settled(ode, t, y, some, missed[some], tolerance[some])
        there = quick[some]
        if np.all(_unknown(there)):
            there = _quick_ends(ode, t, some, y[some], tolerance, stiff)
        lost = _unknown(there)
        if np.any(lost):
            sure = lost & np.all(np.abs(missed[some]) <= allowed[some], axis=1)
            some, there = some[~sure], there[~sure]
            there = other(some, y[some], there)
        off[some] = np.abs(y[some + 1] - there)
        # Where many steps lie between two nodes, and rates at these tell little, one tolerance at
        # the first may be more at the second.
        unclear = np.abs(np.abs(missed[some]) - off[some]) > off[some] / 2
        within = off[some] <= allowed[some]
        wrong = np.flatnonzero(~np.all(within, axis=1) & np.all(within | unclear, axis=1))
        some, there = some[wrong], there[wrong]
        if len(some):
            signs = np.vstack([np.ones(y.shape[1]), (-1.0) ** np.arange(y.shape[1])])
            several, begins = np.tile(some, 2), y[some] + signs[:, None] * tolerance[some]
            begins = begins.reshape(-1, y.shape[1])
            ends = _quick_ends(ode, t, several, begins, tolerance, stiff)
            ends = other(several, begins, ends).reshape(2, len(some), -1)
            spread = np.nan_to_num(np.abs(ends - there)).max(axis=0)
            allowed[some] = np.maximum(allowed[some], _TOLERANCES * spread)
    off[0], off[-1] = np.maximum(off[0], begun), np.maximum(off[-1], ended)
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
    ode: Ode, t: np.ndarray, y: np.ndarray, some: np.ndarray, missed: np.ndarray, unit: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what some states are off by, from what changes miss of integrals, and what is stiff.

    Where a motion is stiff, rates are errors of states many times over.
    """
    n = ode.kernel.states
    if n > _SLOPED or not np.all(np.isfinite(missed)):
        return missed, np.zeros(len(some), dtype=bool)
    h, middle = (t[some + 1] - t[some])[:, None, None], (y[some] + y[some + 1]) / 2
    slopes = at_states(ode.kernel.slopes, t[some] + h[:, 0, 0] / 2, middle, ode.p)
    slopes = h * slopes.reshape(-1, n, n).transpose(0, 2, 1)
    stiff = _fastest(slopes * unit[:, None, :] / unit[:, :, None]) > _STIFF
    try:
        missed = np.linalg.solve(np.eye(n) - slopes / 2, missed[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        pass
    return missed, stiff


def _fastest(matrices: np.ndarray) -> np.ndarray:
    """Return about how large the largest eigenvalue of each of some matrices is."""
    x = np.random.default_rng(0).normal(size=(*matrices.shape[:2], _WAYS))
    grown = np.ones(len(x))
    for k in range(_POWERS):
        x = matrices @ x
        length = np.linalg.norm(x, axis=(1, 2))
        x /= np.maximum(length, 1e-300)[:, None, None]
        # What is not along the fastest has faded by then; they turn, so that one says little.
        grown *= length ** (k >= _POWERS // 2)
    return grown ** (1 / (_POWERS - _POWERS // 2))


class _Steps:
    """Steps with polynomials of their own."""

    def __init__(self, ode: Ode, piece: Piece, y: np.ndarray):
        assert piece.middles is not None
        self.ode, self.piece, self.y, self.h = ode, piece, y, np.diff(piece.t)
        states, rates = (x[: len(self.h)] for x in piece.middles())
        self.f = at_states(ode.kernel.rhs, piece.t[:-1] + self.h / 2, states, ode.p)
        self.missed = self.h[:, None] * (rates - self.f)

    def closely(self, some: np.ndarray) -> np.ndarray:
        """Return what changes miss of the integrals of rates, in some steps."""
        h, parts = self.h[some, None], _INSIDE[1:]
        times = (self.piece.t[some, None] + h * parts).ravel()
        f = at_states(self.ode.kernel.rhs, times, self.piece.evaluate(times), self.ode.p)
        led = _COUNT[0] * self.f[some] + _COUNT[1:] @ f.reshape(len(some), len(parts), -1)
        return self.y[some + 1] - self.y[some] - h * led


class _Nodes:
    """Nodes of which only states are known."""

    def __init__(self, ode: Ode, t: np.ndarray, y: np.ndarray):
        h = np.diff(t)
        means = _even(len(t)) if np.ptp(h) <= _EVEN * h[0] else _weights(t, _UNEVEN)
        led = means @ at_states(ode.kernel.rhs, t, y, ode.p)
        self.missed = np.diff(y, axis=0) - h[:, None] * led

    def closely(self, some: np.ndarray) -> np.ndarray:
        """Return the same: there is nothing else to look at."""
        return self.missed[some]


@lru_cache
def _even(count: int) -> sparse.csr_array:
    return _weights(np.arange(float(count)), _WINDOW)


def _weights(t: np.ndarray, most: int) -> sparse.csr_array:
    """Return the matrix that makes of rates at nodes their means over each interval."""
    count, window = len(t), min(most, len(t))
    k = np.arange(count - 1)
    every = np.clip(k - window // 2 + 1, 0, count - window)[:, None] + np.arange(window)
    x = (t[every] - t[k][:, None]) / np.diff(t)[:, None]
    apart = x[:, :, None] - x[:, None, :]
    apart[:, np.arange(window), np.arange(window)] = 1.0
    inside, part = gauss((window + 1) // 2)
    # Lagrange's polynomials in the interval, where no node is.
    far = inside[:, None] - x[:, None, :]
    means = np.einsum("g,kg,kgi->ki", part, far.prod(axis=2), 1 / far) / apart.prod(axis=2)
    rows = np.arange(0, means.size + 1, window)
    return sparse.csr_array((means.ravel(), every.ravel(), rows), shape=(count - 1, count))


def _quick_ends(
    ode: Ode, t: np.ndarray, some: np.ndarray, y: np.ndarray, tolerance: np.ndarray,
    stiff: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Return where some steps end that begin with states, as far as that is quickly told."""
    there, few = np.full_like(y, np.nan), y.shape[1] <= FEW
    quick = ~stiff[some] | few
    if np.sum(quick) >= (1 if few else _SEVERAL):
        k = some[quick]
        there[quick] = continued(ode, t[k], t[k + 1], y[quick], tolerance[k])
    return there


def _unknown(there: np.ndarray) -> np.ndarray:
    return ~np.all(np.isfinite(there), axis=1)


def _anew(
    ode: Ode, t: np.ndarray, some: np.ndarray, y: np.ndarray, there: np.ndarray, *,
    stiff: np.ndarray, known: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:  # fmt: skip
    """Return where some steps end that begin with states, with those that are not known yet."""
    for i in np.flatnonzero(_unknown(there)):
        begin, until = t[some[i] : some[i] + 2].tolist()
        there[i] = anew(ode, begin, y[i], until, known, bool(stiff[some[i]]))
    return there
