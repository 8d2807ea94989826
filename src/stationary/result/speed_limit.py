"""Up to which speed inertia may be left out, and the motions that tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stationary.errors import spelled
from stationary.model.system import System
from stationary.result.views import AbstractShown, show


@dataclass(frozen=True, eq=False)
class Beside:
    """A motion with inertia, step by step, and what it would do without, at the same places.

    Attributes
    ----------
    speed, error : float
        Of what drives it, and the largest error of leaving inertia out.
    params : ndarray
    t, q, v : ndarray
        Times, coordinates and velocities, one row more than there are steps.
    forces : ndarray
        What friction resists with, multipliers of constraints and of contacts, step by step.
    still, holding : ndarray
        Velocities without inertia in the middle of each step, and the forces of the same order.
    """

    speed: float
    error: float
    params: np.ndarray
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    forces: np.ndarray
    still: np.ndarray
    holding: np.ndarray


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class SpeedLimit(AbstractShown):
    """How far inertia changes a motion, at different speeds.

    Attributes
    ----------
    speed : float
        Where the error reaches `level`; infinite if it never does within the range.
    level : float
    speeds, errors : ndarray
        What was tried, in ascending order, and the largest error at each: the force of inertia
        relative to friction, or the difference between velocities with and without inertia at the
        same place, whichever is larger, in the metric of the masses.
    beside : Beside
        The motion at `speed`, with inertia and without; where that is infinite, at the last one
        that was tried.

    Examples
    --------
    >>> x, (m, V) = st.coordinates("x"), st.parameters(m=1.0, V=1.0)
    >>> wave = st.System(
    ...     kinetic=m * x.dot**2 / 2, friction=[st.Friction(1.0, on=x)],
    ...     constraints=[x - st.sin(V * st.t)],
    ... )
    >>> found = st.quasistatic_error(wave, speed=V, travel=1.5, within=(0.1, 1), count=100)
    >>> round(found.speed, 1)  # where V² = 0.1
    0.3
    """

    system: System
    parameter: str
    speed: float
    level: float
    speeds: np.ndarray
    errors: np.ndarray
    beside: Beside

    def plot(self):
        """Draw the error over the speed.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return show("speed limit", "plot")(self)

    def __repr__(self) -> str:
        return (
            f"{self.system.name or 'The system'} moves quasistatically, but for "
            f"{100 * self.level:g} %, up to {self.parameter} = {self.speed:.4g}"
        )
