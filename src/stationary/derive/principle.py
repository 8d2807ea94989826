"""Equations to read, from the principle that the question needs."""

from __future__ import annotations

from typing import Any

from stationary.derive.field_equations import at_rest, field_equations
from stationary.derive.lagrange import equations as lagrange
from stationary.derive.variation import variation
from stationary.errors import StatementError, did_you_mean, spelled
from stationary.model.continuum import Continuum
from stationary.model.system import require

_PRINCIPLES = {"dynamics": lagrange, "statics": variation}


@spelled
def equations(system: Any, *, principle: str = "dynamics") -> Any:
    """Derive the equations of a system or a continuum, exactly, to be read.

    Parameters
    ----------
    system : System or Continuum
        Repetitions (`each`) are written out if there are at most 40 coordinates. A continuum gives
        field equations and boundary conditions.
    principle : "dynamics" or "statics"
        Stationary action gives the equations of motion ``M q̈ + C q̇ + G = Q + Aᵀλ``; minimum
        internal energy gives δI = 0 with I = U − W − λR, its terms grouped by kinds of force.

    Returns
    -------
    Equations, Variation or FieldEquations
        All print, have ``latex()``, and ``explain()`` shows the derivation step by step.

    Raises
    ------
    DerivationError
        For terms whose forces are no expressions of the state, such as dry friction; for
        repetitions over many coordinates.

    Examples
    --------
    >>> theta = st.coordinates("theta")
    >>> m, l, g, tau = st.parameters("m l g tau")
    >>> pendulum = st.System(
    ...     kinetic=m * l**2 * theta.dot**2 / 2,
    ...     potential=m * g * l * (1 - st.cos(theta)),
    ...     work=tau * theta,
    ... )
    >>> eq = st.equations(pendulum)
    >>> eq.M, eq.G
    (Matrix([[l**2*m]]), Matrix([[g*l*m*sin(theta)]]))
    >>> st.equations(pendulum, principle="statics").internal
    g*l*m*(1 - cos(theta)) - tau*theta
    """
    if principle not in _PRINCIPLES:
        raise StatementError(
            "principle must be 'dynamics' or 'statics'.",
            f"Found {principle!r}.{did_you_mean(str(principle), _PRINCIPLES)}",
            "Choose one of them.",
        )
    if isinstance(system, Continuum):
        return field_equations(at_rest(system) if principle == "statics" else system)
    require(system)
    return _PRINCIPLES[principle](system)
