"""Keeping a motion on its constraints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from stationary.errors import StatementError, spelled
from stationary.lower.kernel import AbstractKernel, numeric
from stationary.solve.inertia import augmented
from stationary.solve.motion.ode import Ode

# States and forces below this are rounding of zero, or have lost digits.
_NOTHING = 1e-250

# A motion changes at least so many times in its span.
_SLOWEST = 10.0

# How far ahead forces are looked at: this part of the span, or of the time in which they change,
# at most so many times shorter.
_SOON, _LOCAL, _SHORTER = 1e-3, 0.1, 12

# Parts of what is left of a motion at which forces that depend on time are looked at.
_LATER = np.arange(1, 32, 2) / 32

# What is this much smaller than what is coming need not be known by its own size.
_BEFORE = 1e-6

# Coordinates of one kind are not told apart by more than this: what is pushed at one end moves at
# the other, too.
_BESIDE = 1e-3

# Last digits of places that tell no direction, and that noise may take; those of forces that do not
# come from equations.
_DIGITS = 64.0
_LAST_DIGITS = 4.0

# What is rounding for so short a part of the time in which a motion changes is passed at once.
_PASSED = 1e-3

# The floor of an equation is the most that rounding leaves of it: usually it is this part of that,
# some tens of last digits of the largest force.
_USUAL = 1e-3


@spelled
@dataclass(frozen=True)
class Baumgarte:
    """Constraint stabilization: R̈ + 2αṘ + α²R = 0 instead of R̈ = 0.

    Violations decay critically damped at the rate α. Without an α it is chosen from the start: as
    fast as the motion itself, so that it adds no stiffness.

    References
    ----------
    J. Baumgarte, Stabilization of constraints and integrals of motion in dynamical systems,
    Comput. Methods Appl. Mech. Eng. 1 (1972) 1.

    Examples
    --------
    >>> x, y = st.coordinates("x y")
    >>> bob = st.particle(1.0, at=(x, y), gravity=9.8) + st.rod((0, 0), (x, y), 1.0)
    >>> motion = st.simulate(bob, span=(0, 1), start={x: 1.0}, stabilize=st.Baumgarte(alpha=10.0))
    >>> motion.residual["R"] < 1e-12
    True
    """

    alpha: float | None = None

    def __post_init__(self):
        number = isinstance(self.alpha, (int, float, np.number)) and np.isfinite(self.alpha)
        if self.alpha is not None and not (number and self.alpha >= 0):
            raise StatementError(
                "the rate of a stabilization is a number, zero or positive.",
                f"Found alpha={self.alpha!r}.",
                "Give a rate in 1/s, as in st.Baumgarte(alpha=50), or none to have one chosen.",
            )


@spelled
@dataclass(frozen=True)
class Projection:
    """Projection onto R = 0 and Ṙ = 0, in the metric of the masses, at every output time.

    Examples
    --------
    >>> x, y = st.coordinates("x y")
    >>> bob = st.particle(1.0, at=(x, y), gravity=9.8) + st.rod((0, 0), (x, y), 1.0)
    >>> motion = st.simulate(bob, span=(0, 1), start={x: 1.0}, stabilize=st.Projection())
    >>> motion.residual["R"] < 1e-14
    True
    """


def natural_rate(ode: Ode, t: float, y: np.ndarray, span: float) -> float:
    """Estimate the rate at which a motion changes, from how forces change along its way.

    The root of stiffness over inertia in the direction in which it goes: a rate of the motion that
    is seen, not of stiff modes that are not, and the same wherever the origin is. Masses make ways
    of lengths and of angles one measure: units do not matter.
    """
    n, slowest = ode.kernel.size, _SLOWEST / span
    v, a, weights = y[n : 2 * n], ode.f(t, y)[n : 2 * n], roots_of_masses(ode, t, y)
    ahead, rate, soon = y.copy(), slowest, _SOON * span

    def size(way: np.ndarray) -> float:
        return float(np.max(weights * np.abs(way), initial=0.0))

    for _ in range(_SHORTER):
        ahead[:n] = y[:n] + (soon * v + soon**2 / 2 * a)
        way = size(ahead[:n] - y[:n])
        if not way > _DIGITS * size(np.spacing(np.abs(y[:n]))):
            break
        rate = np.sqrt(size(ode.f(t, ahead)[n : 2 * n] - a) / way)
        if rate * soon <= _LOCAL:
            break
        # So far ahead it is elsewhere.
        soon = min(soon, 1 / rate if np.isfinite(rate) else soon) * _LOCAL
    return float(max(rate, slowest)) if np.isfinite(rate) else slowest


def sizes(ode: Ode, t: float, y: np.ndarray, end: float = np.inf) -> tuple[np.ndarray, np.ndarray]:
    """Return how large states are or become, and an origin.

    They become what they do in the time in which the motion changes, or until the end. A place has
    no size, its way has one: it is counted from one way behind it.
    """
    n, f, span = ode.kernel.size, np.abs(ode.f(t, y)), 16 * ode.longest
    time = min(1 / natural_rate(ode, t, y, span), end - t)
    # What is left of forces that rows hold, and what has come of it, tells no size.
    nothing, moved = cancelled(ode.kernel, t, y, ode.p), y.copy()
    f[n : 2 * n] *= f[n : 2 * n] > nothing
    moved[n : 2 * n] *= np.abs(y[n : 2 * n]) > span * nothing
    size = _moving(n, moved, f, time)
    if ode.extent is not None:
        goes = ode.extent[n : 2 * n] > span * nothing
        size = np.maximum(size, ode.extent * np.append(np.tile(goes, 2), np.ones(len(y) - 2 * n)))
    if ode.peaks is not None:
        # Beside what peaks later, what leads up to it is small.
        coming = [np.abs(ode.f(float(peak), y)) for peak in ode.peaks]
        coming = np.where(np.isfinite(coming), coming, 0.0).max(axis=0)
        pushed = _BEFORE * _moving(n, moved, coming, time)
        # What is pushed then hands it on.
        weights = roots_of_masses(ode, t, y)
        pushed[n : 2 * n] = np.max(weights * pushed[n : 2 * n], initial=0.0) / weights
        pushed[:n] = time * pushed[n : 2 * n]
        size = np.maximum(size, pushed)
    if ode.kernel.timely:
        # What hardly moves may yet be pushed, and is small beside that.
        ahead = min(span, ode.last - t)
        later = [np.abs(ode.f(t + part * ahead, y)) for part in _LATER]
        finite = np.where(np.isfinite(later), later, 0.0).max(axis=0)
        size = np.maximum(size, _moving(n, moved, finite, time))
    sized = _sized(size)
    if not sized.all():
        size = _equal(ode, t, y, size, time)
    for group in ode.kernel.layout.alike:
        for several in (group, group + n):
            size[several] = np.maximum(size[several], _BESIDE * size[several].max(initial=0.0))
    origin = np.concatenate([y[:n] - size[:n], np.zeros(len(y) - n)])
    # No tolerance asks for more than the digits that places and functions have.
    lost = _lasting(ode, t, y, time)
    if ode.floor is not None:
        lost = np.maximum(lost, _USUAL * ode.floor)
    # Places follow velocities, and their noise.
    lost[:n] = np.maximum(lost[:n], time * lost[n : 2 * n])
    size = np.maximum(size, time * lost / ode.atol)
    size[:n] = np.maximum(size[:n], np.spacing(np.abs(y[:n])) / ode.atol)
    if len(y) > 2 * n:
        # Work has the digits of the energy that it feeds: its own may be rounding alone.
        energy = np.max(roots_of_masses(ode, t, y) * size[n : 2 * n], initial=0.0) ** 2
        size[2 * n :] = np.maximum(size[2 * n :], energy)
    if not sized.any():
        # Where all is at rest no way has a length: counted from elsewhere, places are rounded.
        origin[:n] = y[:n]
    return size, origin


def _moving(n: int, y: np.ndarray, f: np.ndarray, time: float) -> np.ndarray:
    """Return sizes of velocities, and of the ways that these make in some time."""
    size = np.maximum(np.abs(y), time * f)
    size[:n] = time * size[n : 2 * n]
    return size


def _sized(size: np.ndarray) -> np.ndarray:
    """Tell what has a size: what is hardly a number has none."""
    return (size > _NOTHING) & np.isfinite(size)


def _equal(ode: Ode, t: float, y: np.ndarray, size: np.ndarray, time: float) -> np.ndarray:
    """Return sizes where what is at rest has those that the energy of the others would give it."""
    n, some = ode.kernel.size, _sized(size)
    if some.all():
        return size
    weights, moved = roots_of_masses(ode, t, y), some[n : 2 * n]
    momentum = np.max((weights * size[n : 2 * n])[moved], initial=0.0)
    speed = momentum / weights
    equal = np.concatenate([time * speed, speed, np.full(len(y) - 2 * n, momentum**2)])
    return np.where(some, size, np.where(equal > _NOTHING, equal, 1.0))


def roots_of_masses(ode: Ode, t: float, y: np.ndarray) -> np.ndarray:
    """Return roots of the masses of the coordinates, which make metres and radians one measure."""
    return roots_by(ode.kernel, ode.p, t, y)


def roots_by(kernel: AbstractKernel, p: np.ndarray, t: float, y: np.ndarray) -> np.ndarray:
    """Return the same from a kernel and values p, of which parameters are the first.

    What has hardly a mass and is held is as heavy as what holds it. The length of a quaternion has
    none: it is turned and not stretched, as heavy as its heaviest.
    """
    graph, n, held = kernel.graph, kernel.size, bool(kernel.sizes)
    values, u = p[: len(graph.system.parameters)], np.zeros(len(graph.system.inputs))
    arguments = t, y[:n], y[n : 2 * n], u, values
    M = numeric(graph, "mass", dense=held)(*arguments)[0]
    if held:
        A = numeric(graph, "constraints", dense=True)(*arguments)[2]
        M = augmented(M, A, 10.0 ** np.array(kernel.sizes))
    roots = np.sqrt(np.abs(M.diagonal()))
    for four in graph.layout.kinematics.quaternions:
        roots[four] = roots[four].max()
    typical = np.median(roots[roots > 0]) if np.any(roots > 0) else 1.0
    return np.where(roots > 0, roots, typical)


def cancelled(kernel: AbstractKernel, t: float, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return what may be left of accelerations where rows hold all that pushes."""
    n = kernel.size
    if not kernel.rows:
        return np.zeros(n)
    u, values = numeric(kernel, "inputs")(t, y, p)[0], p[: len(kernel.graph.system.parameters)]
    push = numeric(kernel.graph, "dynamics")(t, y[:n], y[n : 2 * n], u, values)[1]
    weights = roots_by(kernel, p, t, y)
    return np.finfo(float).eps * np.max(np.abs(push) / weights, initial=0.0) / weights


@cache
def _ways(count: int) -> np.ndarray:
    """Return signs of changes: what is symmetric says nothing where all go the same way."""
    k = np.arange(count + 1)
    return (-1.0) ** np.array([0 * k, k, k // 2 + 1])


def _lasting(ode: Ode, t: float, y: np.ndarray, time: float) -> np.ndarray:
    """Return how much of the rates is rounding here and a little later: a cusp is soon passed."""
    lost, soon = _rounding(ode, t, y), _PASSED * time
    ahead = y + soon * ode.f(t, y)
    if not lost.any() or not np.all(np.isfinite(ode.f(t + soon, ahead))):
        return lost
    return np.minimum(lost, _rounding(ode, t + soon, ahead))


def _rounding(ode: Ode, t: float, y: np.ndarray) -> np.ndarray:
    """Return how much of the rates is rounding."""
    lost = np.zeros(len(y)) if ode.floor is None else ode.floor
    if ode.kernel.features is not None:
        lost = np.maximum(lost, ode.kernel.features.rounding(np.array([t]), y[None, :], ode.p)[0])
    # Last digits of time and state change the rates that follow from them; rows that depend on each
    # other leave more noise than that.
    digits, f = _DIGITS if ode.kernel.damped else _LAST_DIGITS, ode.f(t, y)
    for signs in _ways(len(y)):
        changed = ode.f(t + signs[-1] * np.spacing(abs(t)), y + signs[:-1] * np.spacing(np.abs(y)))
        lost = np.maximum(lost, digits * np.abs(changed - f))
    if ode.kernel.rows:
        # What is held together shares its noise.
        n, weights = ode.kernel.size, roots_of_masses(ode, t, y)
        lost[n : 2 * n] = np.max(weights * lost[n : 2 * n], initial=0.0) / weights
    return np.where(np.isfinite(lost), lost, 0.0)
