"""Where it rests: the minimum of U − W under constraints and contacts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stationary.errors import DerivationError, DidNotConverge, StatementError, say
from stationary.lower.kernel import graph_of
from stationary.model.each import Repeated
from stationary.model.system import System
from stationary.model.terms import Drag
from stationary.result.equilibrium import Equilibrium
from stationary.solve.inertia import require_system
from stationary.solve.search import Search, search_of


def statics(
    system: System,
    *,
    start: Mapping[Any, Any] | None = None,
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
        For every input a number or an expression of coordinates.
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
    refuse(system, contacts=kind == "minimum")
    if kind not in ("minimum", "any"):
        raise StatementError(
            say("kind must be 'minimum' or 'any'.", f"Found {kind!r}.", "Choose one of them.")
        )
    layout = graph_of(system).layout
    q, _ = layout.state(start, layout.values(params))
    search = search_of(system, params, inputs, float(t), kind)
    rest = search.run(q)
    if throw and rest.status != "balanced":
        raise DidNotConverge(_failure(rest, search), status=rest.status, solution=rest)
    return rest


def refuse(system: System, *, contacts: bool) -> None:
    """Refuse, by name, terms under which rest is not a matter of balance alone."""
    for entry in () if contacts else system.contacts:
        term = entry.term if isinstance(entry, Repeated) else entry
        raise DerivationError(
            say(
                f"contact '{term.name}' cannot be honoured in a search for any equilibrium.",
                f"It opens and closes: {term}.",
                "Take statics with kind='minimum', or state it as a constraint while it touches.",
            )
        )
    for entry in (*system.pfaffian, *system.friction):
        term = entry.term if isinstance(entry, Repeated) else entry
        if isinstance(term, Drag):
            continue
        raise DerivationError(
            say(
                f"statics cannot honour '{term.name}'.",
                f"It leaves a whole range of states at rest: {term}.",
                "State the system without it, or as a constraint.",
            )
        )


def _failure(rest: Equilibrium, search: Search) -> str:
    layout = search.layout
    if rest.status == "saddle":
        return say(
            "the search ended at an equilibrium that is not a minimum.",
            f"Found {_few(rest)} with the smallest eigenvalue {rest.eigenvalues[0]:.3g} of the "
            "Hessian, expected none below zero.",
            'Start elsewhere, or take kind="any" to accept it.',
        )
    worst = int(np.argmax(np.abs(rest.q))) if len(rest.q) else 0
    if rest.residual["R"] > 1e-6:
        c, _ = search.limits(rest.q)
        bad = np.argsort(-np.abs(c[: search.balance.rows]))[:3]
        named = "; ".join(
            f"'{layout.row_name(int(i))}' has R = {c[i]:.3g}" for i in bad if abs(c[i]) > 1e-6
        )
        return say(
            "no configuration near the start satisfies the constraints.",
            f"Found {named}; expected zero.",
            "They may contradict each other: remove one, or start closer.",
        )
    if rest.status == "unbounded" or np.abs(rest.q).max(initial=0.0) > 1e6:
        return say(
            f"the energy goes down for ever along '{layout.name(worst)}'.",
            f"Found {layout.name(worst)} = {rest.q[worst]:.3g} and still an unbalanced force of "
            f"{rest.residual['force']:.3g}.",
            f"Hold '{layout.name(worst)}' by a constraint, a contact or a spring.",
        )
    return say(
        f"statics stopped after {rest.steps} Newton steps.",
        f"{rest.status.message[0].upper()}{rest.status.message[1:]}; the largest unbalanced force "
        f"is {rest.residual['force']:.3g}.",
        'Start closer, try kind="any", or follow it from an easier case by continuation().',
    )


def _few(rest: Equilibrium) -> str:
    return ", ".join(f"{name} = {value:.6g}" for name, value in list(rest.as_start().items())[:4])
