"""What if a parameter moves: branches of equilibria followed by pseudo-arclength."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from stationary.errors import StatementError, did_you_mean
from stationary.lower.kernel import graph_of
from stationary.model.layout import Start, name_of
from stationary.model.numbers import pair_of
from stationary.model.system import System
from stationary.result.diagram import Branch, Diagram, Special
from stationary.result.equilibrium import Equilibrium
from stationary.solve.arguments import quiet
from stationary.solve.continuation.arclength import Follower
from stationary.solve.continuation.equilibrium_curve import EquilibriumCurve
from stationary.solve.continuation.trails import Mark, Trail
from stationary.solve.gate.claims import passed
from stationary.solve.inertia import require_system
from stationary.solve.rest.stability import frozen_at
from stationary.solve.rest.statics import refuse_contacts, statics

# Most points on a branch, and how many are looked at where growth rates do not tell.
_MOST_POINTS, _LOOKS = 5000, 3

# A point this near to a special one, in the scaled variables, is that one.
_SPECIAL = 1e-6


@quiet
def continuation(
    system: System,
    *,
    parameter: Any,
    span: tuple[float, float],
    start: Start | None = None,
    params: Mapping[Any, float] | None = None,
    inputs: Mapping[Any, Any] | None = None,
    points: int = _MOST_POINTS,
    seconds: float = 600.0,
) -> Diagram:
    """Follow equilibria as a parameter moves, through folds and onto side branches.

    Solves g(q) = Aᵀλ, R(q) = 0 along the arclength of the curve (q, λ, parameter). Folds, branch
    points and Hopf points are located, and branches that cross are followed as well.

    Parameters
    ----------
    system : System
    parameter : Parameter or str
    span : pair of float
        The interval of the parameter.
    start : Equilibrium or dict, optional
        Where the first branch starts; a dict is a guess, solved at its own value of the parameter
        or at the beginning of the span.
    params : dict, optional
        Values of the other parameters, and of this one at the start.
    inputs : dict, optional
        Values of inputs; those of the equilibrium, if the start is one.
    points : int
        Most points on one branch.
    seconds : float
        Most time for all.

    Returns
    -------
    Diagram

    References
    ----------
    H. B. Keller, Numerical solution of bifurcation and nonlinear eigenvalue problems (1977).

    Examples
    --------
    >>> theta, P = st.coordinates("theta"), st.parameters(P=0.1)
    >>> column = st.System(potential=theta**2 / 2 + P * st.cos(theta))
    >>> diagram = st.continuation(column, parameter=P, span=(0, 2))
    >>> [point.kind for point in diagram.special], round(diagram.special[0].parameter, 10)
    (['pitchfork'], 1.0)
    """
    require_system(system)
    # Of equal statements one holds the order of parameters in p.
    system = graph_of(system).layout.system
    name = _parameter_name(system, parameter)
    refuse_contacts(system, "continuation")
    low, high = _span(span)
    _require_bounds(points, seconds)
    if isinstance(start, Equilibrium):
        inputs = start.inputs | {name_of(key): value for key, value in (inputs or {}).items()}
    first = _first(system, name, (low, high), start, params, inputs)
    curve = EquilibriumCurve(system, name, (low, high), first, inputs)
    follower = Follower(curve, points, time.monotonic() + seconds)
    follower.run()
    return _diagram(curve, follower)


def _require_bounds(points: Any, seconds: Any) -> None:
    """Refuse bounds on the work that are none."""
    if not isinstance(points, (int, np.integer)) or points < 2:
        raise StatementError(
            "points is not a number of points.",
            f"Found {points!r}, expected a whole number, 2 or more.",
            "Give how many one branch may have, as in points=5000.",
        )
    if not isinstance(seconds, (int, float, np.number)) or not seconds >= 0:
        raise StatementError(
            "seconds is not a length of time.",
            f"Found {seconds!r}, expected a number, none below zero.",
            "Give how long to work at most, as in seconds=600.",
        )


def _diagram(curve: EquilibriumCurve, follower: Follower) -> Diagram:
    """Return what was followed in the words of equilibria."""
    first, n = curve.first, curve.n
    branches = [
        Branch(
            layout=curve.search.layout,
            name=curve.parameter,
            params=curve.params,
            parameter=trail.points[:, -1],
            q=trail.points[:, :n],
            lam=trail.points[:, n:-1],
            unstable=_counted(curve, trail, follower.marks),
            status=trail.status,
        )
        for trail in follower.trails
    ]
    every = np.vstack([branch.q for branch in branches])
    # What nothing moves is measured by what would bend there: it may be dust.
    reach = np.maximum(np.ptp(every, axis=0), curve.scale[:n])
    known = {"t": curve.search.t, "u": curve.search.inputs, "reach": reach}
    branches = [passed(branch, "continuation", throw=False, **known) for branch in branches]
    # What is zero to the last digit of the span is zero.
    digit = np.finfo(float).eps * (curve.span[1] - curve.span[0])
    special = [
        Special(
            mark.kind, float(mark.z[-1]) if abs(mark.z[-1]) > digit else 0.0, mark.z[:n].copy(),
            curve.search.layout, mark.frequency,
        )
        for mark in follower.marks
    ]  # fmt: skip
    special.sort(key=lambda s: (s.parameter, tuple(s.q)))
    frozen = first.frozen and frozen_at(first.t, first.frozen, None)
    return Diagram(
        curve.system, curve.parameter, branches, special, curve.params, frozen,
        follower.left_out, follower.unclear,
    )  # fmt: skip


def _counted(curve: EquilibriumCurve, trail: Trail, marks: list[Mark]) -> np.ndarray:
    """Return how many modes grow at every point of a branch; −1 where that is not decided.

    At a special point a rate is rounding, and no count: what statics says there holds.
    """
    if not _growth_decides(curve, trail):
        return np.full(len(trail), -1)
    counts = trail.growing.copy()
    away = [np.abs((trail.points - mark.z) / curve.scale).max(axis=1) for mark in marks]
    special = np.any(np.array(away).reshape(-1, len(trail)) < _SPECIAL, axis=0)
    for i in np.flatnonzero(special & (counts == 0)):
        if curve.stable(trail.points[i]) is False:
            counts[i] = max(1, *trail.growing[max(i - 1, 0) : i + 2])
    return counts


def _growth_decides(curve: EquilibriumCurve, trail: Trail) -> bool:
    """Tell whether growth rates say what is stable along a branch.

    Where most of them are rounding, as along a family, statics must say the same of some points.
    """
    if curve.first.stable is None:
        return False
    unclear = np.flatnonzero(trail.unclear)
    if 2 * len(unclear) <= len(trail):
        return True
    some = unclear[(len(unclear) * np.arange(1, _LOOKS + 1)) // (_LOOKS + 1)]
    return all(curve.stable(trail.points[i]) is bool(trail.growing[i] == 0) for i in some)


def _parameter_name(system: System, parameter: Any) -> str:
    name, known = name_of(parameter), [p.name for p in system.parameters]
    if name not in known:
        raise StatementError(
            f"'{name}' is not a parameter of this system.",
            f"Parameters: {', '.join(known) or 'none'}.{did_you_mean(name, known)}",
            "Name one that occurs in the statement.",
        )
    return name


def _span(span: Any) -> tuple[float, float]:
    low, high = sorted(pair_of(span))
    if not low < high or not np.isfinite(high - low):
        raise StatementError(
            "span is not an interval of the parameter.",
            f"Found {span!r}.",
            "Give two different numbers, as in span=(0, 10).",
        )
    return low, high


def _first(system, name, span, start, params, inputs) -> Equilibrium:
    """Return the equilibrium at which the first branch starts."""
    values = {name_of(k): v for k, v in (params or {}).items()}
    if isinstance(start, Equilibrium):
        place = [p.name for p in system.parameters].index(name)
        known = dict(zip((p.name for p in system.parameters), start.params.tolist()))
        values = known | values
        at = values.get(name, float(start.params[place]))
        guess: Mapping[Any, Any] = start.as_start()
    else:
        default = next(p.default for p in system.parameters if p.name == name)
        at = values.get(name, span[0] if default is None else default)
        guess = start or {}
    if not span[0] <= at <= span[1]:
        raise StatementError(
            f"span does not contain the start: '{name}' is {at:g} there.",
            f"Found span=({span[0]:g}, {span[1]:g}).",
            f"Widen the span, or start at another value with params={{'{name}': …}}.",
        )
    values[name] = at
    t = start.t if isinstance(start, Equilibrium) else 0.0
    return statics(system, start=guess, params=values, inputs=inputs, kind="any", t=t)
