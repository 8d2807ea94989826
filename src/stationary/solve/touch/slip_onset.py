"""What begins to slide along several rates: its direction as an unknown beside the motion.

At rest a direction of slip is 0/0, and just after it the equation is as stiff as the slip is slow.
With the direction d(t) and the speed s(t) as unknowns, slip = s·d and |d| = 1, all is smooth:
polynomials are collocated over a first stretch, as long as they resolve it.
"""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np
from numpy.polynomial import chebyshev

from stationary.lower.engines.casadi import Numeric
from stationary.lower.touching import Touching
from stationary.solve.motion.ode import Piece

# Points of a stretch, and what the last coefficients of a direction may be when it is resolved.
_NODES = 16
_RESOLVED = 1e-12

# Newton steps, turns of a direction by which they have ended, what of them may be the rounding of
# the first slips, what leads nowhere, and halvings of the stretch.
_STEPS = 12
_ENDED = 1e-12
_ROUGH = 1e-10
_LONG = 10.0
_HALVINGS = 60


@lru_cache(maxsize=64)
def _known(kernel: Touching, rubs: tuple[int, ...]) -> tuple[Numeric, list[int]]:
    """Return ẏ, its slopes in y and in the directions, slips and their slopes; and which of p."""
    touch = kernel.touch
    entries = [k for j in rubs for k in touch.rubs[j].entries]
    first = len(kernel.graph.system.parameters) + 1 + touch.gaps + len(touch.rubs)
    places = [first + k for k in entries]
    t, y, p = kernel.arguments
    d = ca.SX.sym("d", len(entries))
    given = ca.SX(p)
    given[places] = d
    # The place of the first of several rates says that they keep their direction.
    for j in rubs:
        given[first + len(touch.dry) + touch.rubs[j].entries[0]] = 1
    rates = kernel.rates[[touch.gaps + k for k in entries], :]
    f = kernel.rhs(t, y, given)
    outputs = [f, ca.jacobian(f, y), ca.jacobian(f, d), rates, ca.jacobian(rates, y)]
    function = ca.Function("begin", [t, y, p, d], [ca.densify(x) for x in outputs], {"cse": True})
    return Numeric(function, frozenset({1, 2, 4}), dense=True), places


@lru_cache(maxsize=1)
def _points() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points in (0, 1], the integrals up to them of values there, and coefficients."""
    x = (1 - np.cos(np.pi * np.arange(1, _NODES + 1) / _NODES)) / 2
    coefficients = np.linalg.inv(chebyshev.chebvander(2 * x - 1, _NODES - 1))
    upto = [chebyshev.chebint(c, lbnd=-1, scl=0.5) for c in coefficients.T]
    return x, np.array([chebyshev.chebval(2 * x - 1, c) for c in upto]).T, coefficients


def begun(
    kernel: Touching, rubs: tuple[int, ...], t: float, y: np.ndarray, p: np.ndarray, end: float,
    floor: np.ndarray,
) -> Piece | None:  # fmt: skip
    """Return the motion from where the rubs begin to slide; none if no stretch is short enough.

    The vector p has the directions in which they begin; `floor` is what is rounding of ẏ.
    """
    h = end - t
    for _ in range(_HALVINGS):
        if t + h <= t:
            return None
        n = kernel.size
        # What is rounding of accelerations is that of velocities once it has added up.
        rounding = np.concatenate([h * floor[n : 2 * n], floor[n:]])
        rates = _collocated(kernel, rubs, t, y, p, h, rounding)
        if rates is not None and _resolved(rates, rounding):
            return _piece(t, h, y, rates)
        h /= 2
    return None


def _piece(t: float, h: float, y: np.ndarray, rates: np.ndarray) -> Piece:
    """Return the integral of rates that are given at the points of a stretch."""
    _, upto, coefficients = _points()
    series = chebyshev.chebint(coefficients @ rates, lbnd=-1, scl=0.5)
    last = y + h * (upto[-1] @ rates)

    def evaluate(times: np.ndarray) -> np.ndarray:
        part = 2 * (times - t) / h - 1
        states = y + h * chebyshev.chebval(part, series).T
        states[times >= t + h] = last
        return states

    return Piece(np.array([t, t + h]), evaluate, last, 1, exact=True)


def _resolved(rates: np.ndarray, floor: np.ndarray) -> bool:
    """Tell whether the points of a stretch resolve ẏ there, and not the directions alone."""
    tail = np.abs((_points()[2] @ rates)[-2:]).max(axis=0)
    return bool(np.all(tail <= _RESOLVED * np.abs(rates).max(axis=0) + floor))


def _collocated(
    kernel: Touching, rubs: tuple[int, ...], t: float, y: np.ndarray, p: np.ndarray, h: float,
    floor: np.ndarray,
) -> np.ndarray | None:  # fmt: skip
    """Return ẏ at the points of a stretch, where Newton's method finds directions they resolve."""
    function, places = _known(kernel, rubs)
    x, upto, coefficients = _points()
    widths = [len(kernel.touch.rubs[j].entries) for j in rubs]
    owner = np.repeat(np.arange(len(rubs)), widths)
    n, k, r = len(y), len(places), len(rubs)
    times, begins = t + h * x, p[places]
    Y, D = np.tile(y, (_NODES, 1)), np.tile(begins, (_NODES, 1))
    for _ in range(3):
        # With directions as they begin, to begin with.
        f = np.array([function(a, b, p, d)[0] for a, b, d in zip(times, Y, D)])
        Y = y + h * (upto @ f)
    slips = np.array([function(a, b, p, d)[3] for a, b, d in zip(times, Y, D)])
    # A direction that must turn first has no speed along the one in which it begins.
    S = np.stack([np.linalg.norm(slips[:, owner == j], axis=1) for j in range(r)], axis=1)
    size, width = np.maximum(S, 1e-300), n + k + r
    turned = np.inf
    for _ in range(_STEPS):
        J, left = np.zeros((_NODES, width, _NODES, width)), np.zeros((_NODES, width))
        f = np.zeros_like(Y)
        for i in range(_NODES):
            f[i], fy, fd, slip, sy = function(times[i], Y[i], p, D[i])
            J[:, :n, i, :n] -= h * upto[:, i, None, None] * fy
            J[:, :n, i, n : n + k] -= h * upto[:, i, None, None] * fd
            J[i, :n, i, :n] += np.eye(n)
            scale = size[i, owner]
            J[i, n : n + k, i, :n] = sy / scale[:, None]
            J[i, n : n + k, i, n : n + k] = -np.diag(S[i, owner] / scale)
            J[i, range(n, n + k), i, n + k + owner] = -D[i] / scale
            left[i, n : n + k] = (slip - S[i, owner] * D[i]) / scale
            J[i, n + k + owner, i, range(n, n + k)] = 2 * D[i]
            left[i, n + k :] = np.bincount(owner, D[i] ** 2) - 1
        left[:, :n] = Y - y - h * (upto @ f)
        try:
            step = np.linalg.solve(J.reshape(left.size, -1), -left.ravel()).reshape(left.shape)
        except np.linalg.LinAlgError:
            return None
        Y, D, S = Y + step[:, :n], D + step[:, n : n + k], S + step[:, n + k :]
        before, turned = turned, float(np.abs(step[:, n : n + k]).max())
        # What has length one is not found by steps that are many times longer.
        if not (turned <= _LONG and np.all(np.isfinite(step))):
            return None
        moved, way = np.abs(step[:, :n]).max(axis=0), np.abs(Y - y).max(axis=0)
        if np.any(moved > _ENDED * way + h * floor + 4 * np.spacing(np.abs(Y).max(axis=0))):
            continue
        # Steps that do not become smaller any more are rounding.
        if turned <= _ENDED or before / 2 <= turned <= _ROUGH:
            tail = np.abs((coefficients @ D)[-2:]).max()
            if not (np.all(S > 0) and tail <= _RESOLVED + turned):
                return None
            return np.array([function(*a)[0] for a in zip(times, Y, [p] * _NODES, D)])
    return None
