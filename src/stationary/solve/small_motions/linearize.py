"""Small motions about an equilibrium or a steady motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

from stationary.errors import DerivationError, StatementError
from stationary.lower.inputs import drives, sampled, translate
from stationary.lower.kernel import graph_of, kernel_of, numeric
from stationary.model.fields import Field
from stationary.model.layout import Layout, Start, name_of, pairs
from stationary.model.system import System, written_out
from stationary.model.terms import Constraint, vector
from stationary.result.equilibrium import Equilibrium
from stationary.result.state import State
from stationary.result.statespace import StateSpace
from stationary.result.status import Status
from stationary.solve.arguments import as_time, quiet, require_own
from stationary.solve.consistent import repaired
from stationary.solve.gate.claims import passed
from stationary.solve.gate.slopes import require_slopes
from stationary.solve.inertia import check_inertia, require_system
from stationary.solve.rest.at_rest import balance_of
from stationary.solve.rest.search import Search
from stationary.solve.rest.statics import refuse
from stationary.solve.scales import scales_of
from stationary.solve.small_motions.operating_point import OperatingPoint

# Places and speeds below this part of the largest are rounding.
_LAST_DIGITS = 1e-14

# Matrices of states are dense: beyond this many coordinates their proof takes minutes.
_MOST_COORDINATES = 1000


@quiet
def linearize(
    system: System,
    *,
    at: Start | None = None,
    params: Mapping[Any, float] | None = None,
    inputs: Mapping[Any, Any] | None = None,
    outputs: Sequence[Any] | None = None,
    states: Sequence[Any] | None = None,
    t: float | None = None,
) -> StateSpace:
    """Linearize the equations of motion about an equilibrium or a steady motion.

    Parameters
    ----------
    system : System
    at : Equilibrium or dict, optional
        The operating point: an equilibrium, or coordinates and velocities. What is given is held;
        what is left out follows from the constraints, or is zero; ``lin.at`` is what came out. A
        coordinate with a velocity must be cyclic: the motion is then steady, and the coordinate
        itself is no state.
        Contacts that push at an equilibrium hold as constraints do; open ones do not count.
    params : dict, optional
        Values of parameters; those of the equilibrium, if one is given, else the defaults.
    inputs : dict, optional
        Values of the inputs at the operating point; zero where left out.
    outputs : list of expressions, optional
        What is observed; all coordinates that are states when left out.
    states : list, optional
        Coordinates, with which come their velocities, and velocities that shall be the states.
        They must not depend on others. When left out, the first as declared that tell the motion.
    t : float, optional
        Time, for systems that depend on it; that of the equilibrium, else zero.

    Returns
    -------
    StateSpace

    Examples
    --------
    >>> theta, tau = st.coordinates("theta"), st.inputs("tau")
    >>> pendulum = st.System(
    ...     kinetic=theta.dot**2 / 2,
    ...     potential=-9.81 * st.cos(theta),
    ...     loads=[st.Load(tau, on=theta)],
    ... )
    >>> lin = st.linearize(pendulum, at={theta: 0.0})
    >>> lin.A
    array([[ 0.  ,  1.  ],
           [-9.81,  0.  ]])
    >>> lin.stability
    'marginally stable'
    """
    require_system(system)
    refuse(system, "linearize", kinds=("friction", "contacts"))
    if system.size > _MOST_COORDINATES:
        raise StatementError(
            "the system has too many coordinates for matrices that are written out.",
            f"Found {system.size}, expected {_MOST_COORDINATES} at most.",
            "Use st.modes, which finds the slowest motions of large systems, or a coarser model.",
        )
    values = {name_of(key): value for key, value in (params or {}).items()}
    given = {name_of(key): value for key, value in (inputs or {}).items()}
    if isinstance(at, Equilibrium):
        require_own(at, system)
        known = {p.name for p in system.parameters}
        own = zip((p.name for p in at.system.parameters), at.params.tolist())
        values = {name: value for name, value in own if name in known} | values
        given = dict(zip((u.name for u in at.system.inputs), at.u.tolist())) | given
        t = at.t if t is None else t
    t = 0.0 if t is None else as_time(t)
    if system.contacts:
        system = _touching(system, at)
        values = {p.name: values[p.name] for p in system.parameters if p.name in values}
    graph = graph_of(system)
    # Of equal statements one holds the order of inputs and parameters.
    layout, system = graph.layout, graph.system
    values = layout.values(values)
    is_rest = isinstance(at, Equilibrium)
    if isinstance(at, Equilibrium):
        # What is rounding of a place at rest is zero, as it is printed there.
        q, v = np.where(np.abs(at.q) <= at.known_to, 0.0, at.q), np.zeros_like(at.q)
    else:
        q, v = layout.state(at, values, "at")
    given = {u.name: 0.0 for u in system.inputs} | given
    driven = drives(layout, given, (t, t))
    held = None if is_rest or not at else _given(layout, at)
    state = _plain(repaired(graph, values, t, q, v, repair=True, given=held), values, t, q, v)
    sizes = check_inertia(graph, values, t, state.q, state.v)
    numbers = tuple(("number", None) for _ in system.inputs)
    kernel = kernel_of(system, numbers, state.rows, False, sizes)
    u = _values(driven, layout, t, state.q, state.v, values)
    require_slopes(graph, (t, state.q, state.v, u, values))
    point = OperatingPoint(kernel, values, u, t, state.q, state.v)
    if not is_rest:
        point.require_steady()
    observed = None if outputs is None else vector(list(outputs), "an output")
    chosen = [] if states is None else [layout.resolve(key, "states") for key in states]
    lin = passed(replace(point.reduced(observed, chosen), at=state), "linearize")
    if np.any(state.v) or system.pfaffian:
        return lin
    return replace(lin, judgement=_at_rest(layout, values, u, t, state.q))


def _plain(state: State, p: np.ndarray, t: float, q: np.ndarray, v: np.ndarray) -> State:
    """Return a state in which what the constraints moved by last digits alone stays zero."""
    u = np.zeros(len(state.graph.system.inputs))
    mass = numeric(state.graph, "mass")(t, state.q, state.v, u, p)[0].diagonal()
    zero = []
    for before, after in ((q, state.q), (v, state.v)):
        # Metres and radians alike, by their energies.
        way = np.sqrt(np.abs(mass)) * np.abs(after - before)
        most = np.sqrt(np.abs(mass)) * np.maximum(np.abs(after - before), np.abs(after))
        slight = (before == 0) & (mass > 0) & (way <= _LAST_DIGITS * most.max(initial=0.0))
        zero.append(np.where(slight, 0.0, after))
    return replace(state, q=zero[0], v=zero[1])


def _given(layout: Layout, at: Start) -> tuple[np.ndarray, np.ndarray]:
    """Tell which coordinates and which velocities an operating point gives."""
    given = np.zeros(layout.system.size, dtype=bool), np.zeros(layout.system.size, dtype=bool)
    for key, _ in pairs(at, "at"):
        if not isinstance(key, Field):
            places, order = layout.resolve(key, "at")
            given[order][places] = True
    return given


def _at_rest(layout: Layout, values: np.ndarray, u: np.ndarray, t: float, q: np.ndarray) -> Status:
    """Return the judgement that statics gives of the same state."""
    driven = drives(layout, dict(zip((i.name for i in layout.system.inputs), u.tolist())), (t, t))
    search = Search(layout.system, values, driven.signature, driven.slots(t), t, "any")
    search.prepare(q)
    active = np.arange(search.balance.rows)
    return search.examined(q, search.first_multipliers(q, active), active).stability


def _touching(system: System, at: Any) -> System:
    """Return the system with contacts that push as constraints, and without those that are open."""
    if not isinstance(at, Equilibrium):
        name = system.contacts[0].name
        raise DerivationError(
            f"whether contact '{name}' is open or closed is not known.",
            "Found coordinates, which do not say what pushes.",
            "Pass at=st.statics(…): the contacts that push there hold small motions.",
        )
    layout, rows = at.graph.layout, at.graph.layout.multipliers
    levels, slopes = numeric(balance_of(at.system), "limits")(at.t, at.q, at.u, at.params)
    scales = scales_of(at.graph, at.params, at.t, at.q, u=at.u)
    open_, pushes = levels[rows:] > scales.small(slopes.tocsr()[rows:], 1e-9), at.lam.every[rows:]
    for k in np.flatnonzero(~open_):
        if pushes[k] <= 1e-9 * np.abs(at.lam.every).max():
            raise DerivationError(
                f"contact '{layout.gap_name(int(k))}' touches and does not push.",
                "Found a force of zero: small motions open it on one side only, which no "
                "linear system does.",
                "State it as a constraint, or leave it out.",
            )
    whole = written_out(system)
    held = [Constraint(c.gap, name=c.name) for c, k in zip(whole.contacts, open_) if not k]
    kept = whole if any(c.table is not None for c in system.contacts) else system
    return replace(kept, constraints=(*kept.constraints, *held), contacts=())


def _values(driven: Any, layout: Any, t: float, q: Any, v: Any, p: Any) -> np.ndarray:
    known = iter(sampled(driven.signature, driven.slots(t), t))
    return np.array([
        float(ca.DM(translate(content, layout, t, q, v, p)))
        if kind == "expression"
        else next(known)
        for kind, content in driven.signature
    ])  # fmt: skip
