"""Where it rests: the minimum of U − W under constraints and contacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stationary.errors import DerivationError, DidNotConverge, StatementError, say
from stationary.lower.kernel import graph_of
from stationary.model.layout import Layout, Start
from stationary.model.system import System
from stationary.model.terms import Contact, Drag
from stationary.result.equilibrium import Equilibrium
from stationary.result.status import Status
from stationary.solve.arguments import as_time, quiet
from stationary.solve.gate.claims import judged
from stationary.solve.gate.held import Dependence, dependences
from stationary.solve.gate.state import State
from stationary.solve.inertia import require_system
from stationary.solve.newton import Ending
from stationary.solve.rest.search import Search, search_of

# Next to where a search ended constraints hold to this, beside what they could be; gradients depend
# on each other where last digits change how far they are from it by this share.
_SATISFIED, _LOOSE = 1e-9, 1e-3


@quiet
def statics(
    system: System,
    *,
    start: Start | None = None,
    params: Mapping[Any, float] | None = None,
    inputs: Mapping[Any, Any] | None = None,
    kind: str = "minimum",
    t: float = 0.0,
    throw: bool = True,
) -> Equilibrium:
    """Find a configuration at rest, and the forces that hold it.

    Minimizes U − W under R(q, t) = 0 and gap(q, t) ≥ 0: ∂(U − W)/∂q = Q + Aᵀλ + ∂gap/∂qᵀ μ.

    Parameters
    ----------
    system : System
    start : dict, optional
        First guess; coordinates left out start at zero.
    params : dict, optional
        Values of parameters; the others have their defaults.
    inputs : dict, optional
        For an input a number, an expression of coordinates, or samples taken at `t`; zero where
        left out.
    kind : "minimum" or "any"
        "any" takes saddles and maxima, too: whatever is in balance near the start.
    t : float
        Time, for constraints and potentials that depend on it.
    throw : bool
        If false, a failure is reported in ``rest.status`` instead.

    Returns
    -------
    Equilibrium

    Raises
    ------
    DidNotConverge
        Carries the last iterate as ``error.solution``.

    Examples
    --------
    >>> x, (k, f) = st.coordinates("x"), st.parameters("k f")
    >>> spring = st.System(potential=k * x**2 / 2 - f * x)
    >>> st.statics(spring, params={"k": 4.0, "f": 2.0})["x"]
    0.5
    """
    require_system(system)
    refuse(system)
    if kind not in ("minimum", "any"):
        raise StatementError(
            "kind must be 'minimum' or 'any'.", f"Found {kind!r}.", "Choose one of them."
        )
    layout = graph_of(system).layout
    q, v = layout.state(start, layout.values(params))
    _refuse_motion(v, layout)
    search = search_of(system, params, inputs, as_time(t), kind)
    rest = judged(search.run(q), start=q)
    across = None if rest.status == "balanced" else _unheld(rest, search, q)
    if across is not None:
        words = f"the constraints cannot balance the forces: {_dependent(across)}"
        rest = replace(rest, status=Status("singular", words))
    if throw and rest.status != "balanced":
        raise DidNotConverge(_failure(rest, search, q, across), status=rest.status, solution=rest)
    return rest


def refuse(
    system: System,
    asker: str = "statics",
    kinds: tuple[str, ...] = ("pfaffian", "friction", "contacts"),
) -> None:
    """Refuse, by name, terms under which rest is not a matter of balance alone."""
    for term in (term for kind in kinds for term in getattr(system, kind)):
        if isinstance(term, Drag) or isinstance(term, Contact) and term.friction == 0:
            continue
        raise DerivationError(
            f"{asker} cannot honour '{term.name}'.",
            f"It leaves a whole range of states at rest: {term}.",
            "State the contact without friction."
            if isinstance(term, Contact)
            else "State the system without it, or as a constraint.",
        )


def refuse_contacts(system: System, asker: str) -> None:
    """Refuse, by name, contacts where the question has no smooth answer with them."""
    for term in system.contacts:
        raise DerivationError(
            f"{asker} cannot honour contact '{term.name}'.",
            f"It opens and closes, which is not smooth: {term}.",
            "State it as a constraint while it touches, or leave it out while it is open.",
        )


def _refuse_motion(v: np.ndarray, layout: Layout) -> None:
    moving = np.flatnonzero(v)
    if len(moving):
        name = layout.name(int(moving[0]))
        raise StatementError(
            f"start gives '{name}' a velocity, and at rest nothing moves.",
            f"Found {name}.dot = {v[moving[0]]:g}.",
            "Leave velocities out; for a steady motion state its rate as a parameter.",
        )


def _unheld(rest: Equilibrium, search: Search, start: np.ndarray) -> Dependence | None:
    """Return constraints that depend on each other next to where a search ended or began, if any.

    One that has no gradient at the start says nothing of where to go.
    """
    lam = rest.lam.every
    if not len(lam):
        return None
    for place in (rest.q, start):
        q = search.nearest(place)[0] if np.all(np.isfinite(place)) else place
        missed, A = search.violations(q), search.limits(q, np.arange(len(lam)))[1]
        if not np.all(np.abs(missed) <= search.small(q, A, _SATISFIED)):
            continue
        at = rest.graph, rest.t, q, np.zeros_like(q), search.inputs(q), rest.params, lam
        for across in dependences(State(*at)):
            if across.change > _LOOSE:
                return across
    return None


def _dependent(across: Dependence) -> str:
    names = ", ".join(f"'{name}'" for name in across.rows)
    if len(across.rows) == 1:
        return f"the gradient of {names} vanishes"
    return f"gradients of {names} depend on each other"


def _failure(
    rest: Equilibrium, search: Search, start: np.ndarray, across: Dependence | None
) -> str:
    layout, rows = search.layout, search.balance.rows
    if undefined := _undefined(search, start):
        return say(
            "forces or constraints are not finite at the start.",
            f"Found none that is a number on {undefined}.",
            "Start where every expression is defined: where two points meet, their distance has no "
            "direction.",
        )
    if across is not None:
        return say(
            "the constraints cannot balance the forces where they hold.",
            f"Found that {_dependent(across)}, and a force of {across.force:.3g} on "
            f"'{across.coordinate}' across: beside that their own forces grow without bound.",
            "Give what is taut some slack or let it stretch, state what is squared without its "
            f"square, or hold '{across.coordinate}' otherwise.",
        )
    if rest.status == "saddle":
        least, falling = rest.eigenvalues.min(initial=0.0), rest.inertia[1]
        finding = "without stiffness, and less energy beside it."
        if falling and least < 0:
            finding = f"with the smallest eigenvalue {least:.3g} of the Hessian, expected none "
            finding += "below zero."
        elif falling:
            # Of large systems some eigenvalues are found, or none: these are not among them.
            finding = f"with {falling} of {sum(rest.inertia)} stiffnesses below zero, expected "
            finding += "none."
        return say(
            "the search ended at an equilibrium that is not a minimum.",
            f"Found {_few(rest)} {finding}",
            'Start elsewhere, or take kind="any" to accept it.',
        )
    missed, shares = _violations(search, rest.q)
    nearest, settled = search.nearest(rest.q) if shares.max(initial=0.0) > 1e-6 else (rest.q, False)
    if (settled or rest.status.message == Ending.OFF.value) and rest.status != "unbounded":
        least, beside = _violations(search, nearest)
        missed, shares = (least, beside) if beside.max(initial=0.0) > 1e-6 else (missed, shares)
        # Beside what each could be: rows have units of their own.
        worst = np.argsort(-shares, kind="stable")[:4]
        named = "; ".join(
            f"'{search.row_name(int(i))}' has {'R' if i < rows else 'gap'} = {missed[i]:.3g}"
            for i in worst
            if shares[i] > 0.1 * shares.max()
        )
        kinds = ["constraints"] * bool(rows) + ["contacts"] * bool(search.balance.gaps)
        expected = ["zero"] * bool(rows) + ["gap ≥ 0"] * bool(search.balance.gaps)
        return say(
            f"no configuration near the start satisfies the {' and '.join(kinds)}.",
            f"Found {named}; expected {' and '.join(expected)}.",
            "They may contradict each other: remove one, or start closer.",
        )
    away = np.abs(rest.q - start)
    if rest.status == "unbounded" or search.faded(start, rest.q):
        worst = int(np.argmax(away))
        return say(
            f"the energy goes down for ever along '{layout.name(worst)}'.",
            f"Found {layout.name(worst)} = {rest.q[worst]:.3g} and still an unbalanced force of "
            f"{rest.residual['force']:.3g}.",
            f"Hold '{layout.name(worst)}' by a constraint, a contact or a spring.",
        )
    reasons = [f"{rest.status.message[0].upper()}{rest.status.message[1:]}"]
    if np.isfinite(rest.residual["force"]):
        reasons.append(f"the largest unbalanced force is {rest.residual['force']:.3g}")
    if shares.max(initial=0.0) > 1e-6:
        reasons.append(f"the largest violation is {np.abs(missed).max():.3g}")
    return say(
        f"statics stopped after {rest.steps} Newton steps.",
        "; ".join(reasons) + ".",
        "Start closer, or follow it from an easier case by continuation()."
        if search.kind == "any"
        else 'Start closer, try kind="any", or follow it from an easier case by continuation().',
    )


def _undefined(search: Search, q: np.ndarray) -> str:
    """Name coordinates of which forces or gradients of constraints are no numbers."""
    gradients = abs(search.limits(q, np.arange(search.balance.rows + search.balance.gaps))[1])
    steepest = np.ravel(gradients.sum(axis=0))
    bad = np.flatnonzero(~np.isfinite(search.forces(q)[0]) | ~np.isfinite(steepest))
    return ", ".join(f"'{search.layout.name(int(i))}'" for i in bad[:4])


def _violations(search: Search, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what is violated, and how much that is beside what it could be, row by row."""
    A = search.limits(q, np.arange(search.balance.rows + search.balance.gaps))[1]
    missed, small = search.violations(q), search.small(q, A, 1.0)
    # Beside the rounding of zero alone, anything is without bound.
    with np.errstate(over="ignore"):
        shares = np.divide(np.abs(missed), small, out=np.zeros_like(missed), where=small > 0)
    return missed, shares


def _few(rest: Equilibrium) -> str:
    return ", ".join(f"{name} = {value:.6g}" for name, value in list(rest.as_start().items())[:4])
