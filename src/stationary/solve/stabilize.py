"""Keeping a motion on its constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stationary.errors import StatementError, say
from stationary.lower.kernel import numeric
from stationary.solve.ode import Ode

# States and forces below this are rounding of zero, or have lost digits.
_NOTHING = 1e-250


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
                say(
                    "the rate of a stabilization is a number, zero or positive.",
                    f"Found alpha={self.alpha!r}.",
                    "Give a rate in 1/s, as in st.Baumgarte(alpha=50), or none to have one chosen.",
                )
            )


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
    """Estimate the rate at which a motion changes at its start, from its own size.

    |v|/|q| and √(|a|/|q|): rates of the motion that is seen, not of stiff modes that are not.
    """
    n = ode.kernel.size
    q, v, a = y[:n], y[n : 2 * n], ode.f(t, y)[n : 2 * n]
    place, speed, push = (np.abs(x).max(initial=0.0) for x in (q, v, a))
    # A motion that starts at the origin has the size of the way that it makes in a little time.
    size = max(place, speed * span / 100, push * (span / 100) ** 2, 1e-300)
    return float(max(speed / size, np.sqrt(push / size), 10 / span))


def _weights(ode: Ode, t: float, y: np.ndarray) -> np.ndarray:
    """Return roots of the masses of the coordinates, which make metres and radians one measure."""
    graph, n = ode.kernel.graph, ode.kernel.size
    u = np.zeros(len(graph.system.inputs))
    p = ode.p[: len(graph.system.parameters)]
    roots = np.sqrt(np.abs(numeric(graph, "mass")(t, y[:n], y[n : 2 * n], u, p)[0].diagonal()))
    typical = np.median(roots[roots > 0]) if np.any(roots > 0) else 1.0
    return np.where(roots > 0, roots, typical)


def sizes(ode: Ode, t: float, y: np.ndarray) -> np.ndarray:
    """Return how large states are or become in the time in which the motion changes."""
    n, f = ode.kernel.size, np.abs(ode.f(t, y))
    time = 1 / natural_rate(ode, t, y, 16 * ode.longest)
    if ode.kernel.features is not None:
        # No tolerance asks for more than the digits that functions have.
        lost = ode.kernel.features.rounding(np.array([t]), y[None, :], ode.p)[0]
        f = np.maximum(f, lost / ode.atol)
    if ode.floor is not None:
        f = np.maximum(f, ode.floor / ode.atol)
    made = np.maximum(np.abs(y), time * f)
    made[:n] = np.maximum(made[:n], time * made[n : 2 * n])
    if ode.kernel.damped:
        # Rows that depend on each other leave noise in the accelerations: all share the largest.
        weights = _weights(ode, t, y)
        for part in (slice(0, n), slice(n, 2 * n)):
            made[part] = np.max(weights * made[part], initial=0.0) / weights
    # What is hardly a number has no size.
    return np.where((made > _NOTHING) & np.isfinite(made), made, 1.0)
