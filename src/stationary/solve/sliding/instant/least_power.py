"""How it slides: the minimum of power, and of the dissipation potential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from stationary.derive.scope import Kind, as_power, minimum_power_holds
from stationary.errors import DerivationError, StatementError
from stationary.model.layout import Start
from stationary.model.symbols import Parameter, Velocity
from stationary.model.symbols import t as time
from stationary.model.system import System
from stationary.model.terms import Drag
from stationary.result.status import Status
from stationary.result.step import Forces, Step
from stationary.solve.arguments import as_time, quiet
from stationary.solve.gate.claims import passed
from stationary.solve.sliding.convex.judge import Outcome
from stationary.solve.sliding.convex.settle import settled
from stationary.solve.sliding.coulomb.modes import compared, motions_at
from stationary.solve.sliding.coulomb.pressed import pressed
from stationary.solve.sliding.problem.numbers import Answer
from stationary.solve.sliding.problem.question import Place, Question
from stationary.solve.sliding.telling.step import failure, nearby, step_of


@quiet
def minimum_power(
    system: System,
    *,
    at: Start | None = None,
    params: Mapping[Any, float] | None = None,
    inputs: Mapping[Any, Any] | None = None,
    t: float = 0.0,
    guess: Step | None = None,
    refuse: bool = True,
    throw: bool = True,
) -> Step:
    """Find how a system slides when its inertia is negligible: the principle of minimum power.

    Of all velocities that the constraints allow, it takes the one that minimizes what friction
    dissipates minus what the loads supply.

    Parameters
    ----------
    system : System
        Dry friction, potential energy, work, loads, constraints and contacts; T is ignored.
    at : dict
        The configuration; coordinates left out are zero.
    params : dict, optional
        Values of parameters; the others have their defaults.
    inputs : dict, optional
        For every input a number or an expression of coordinates and time.
    t : float
        Time, for constraints, conveyors and loads that move with it.
    guess : Step, optional
        The answer nearby, from which the search starts. Then other motions and forces that
        Coulomb's law may allow at contacts with friction are not looked for: ``unique`` is None.
    refuse : bool
        If false, the power is minimized also where that is not the motion, as to see by how much
        the principle is wrong: see `minimum_power_holds`.
    throw : bool
        If false, a failure is reported in ``step.status`` instead.

    Returns
    -------
    Step

    Raises
    ------
    DerivationError
        Where the principle does not hold: see `minimum_power_holds`.
    NoMotion
        Its kind is "accelerates" where the power has no minimum, "jammed" where the constraints
        contradict each other.

    Examples
    --------
    A particle that a fence pushes along x while a force of 3 pulls it down, against friction 5:

    >>> x, y = st.coordinates("x y")
    >>> particle = st.System(
    ...     potential=3 * y, friction=[st.Friction(5, on=(x, y))], constraints=[x - 4 * st.t]
    ... )
    >>> step = st.minimum_power(particle, at={x: 0, y: 0})
    >>> round(step[y.dot], 12), round(step.power, 12), step.unique
    (-3.0, 16.0, True)
    """
    scope = minimum_power_holds(system)
    # What presses a contact is found by itself.
    wrong = scope.failing_among(*(kind for kind in Kind if kind is not Kind.CONTACT))
    if wrong and refuse:
        drags = wrong == scope.failing_among(Kind.DRAG, Kind.DISSIPATION)
        raise DerivationError(
            f"the principle of minimum power does not hold for {wrong[0]}.",
            f"It {_verb(scope.reasons[wrong[0]])}.",
            "Use st.minimum_dissipation, which is right for every power of drag, or "
            "st.newton, which balances the forces."
            if drags
            else "State drag as st.Drag(…), or use st.newton, which balances the forces.",
        )
    if wrong:
        return _least_power(system, wrong, (at, params, inputs, t, guess, throw))
    require_still(system)
    return _step(system, at, params, inputs, t, guess, throw)[0]


def _least_power(system: System, wrong: list[str], arguments: tuple) -> Step:
    """Minimize the power where forces do not balance at its minimum."""
    weighed = as_power(system)
    require_still(weighed)
    step, place = _step(weighed, *arguments)
    forces, known = Forces(step.forces), {p.name: x for p, x in zip(system.parameters, step.params)}
    for term in system.friction:
        if isinstance(term, Drag):
            times = 1 + float(
                term.power.xreplace({s: known[str(s)] for s in term.power.free_symbols})
            )
            forces[term.name or ""] = forces[term.name or ""] / times
    message = f"the least power, which is not the motion: it does not hold for {', '.join(wrong)}"
    status = Status(str(step.status), message, step.status.direction, step.status.names)
    taken = step.power + float(place.problem.f @ step.v)
    return replace(step, system=system, forces=forces, dissipated=taken, status=status)


@quiet
def minimum_dissipation(
    system: System,
    *,
    at: Start | None = None,
    params: Mapping[Any, float] | None = None,
    inputs: Mapping[Any, Any] | None = None,
    t: float = 0.0,
    guess: Step | None = None,
    throw: bool = True,
) -> Step:
    """Find how a system slides under friction of any power: the least dissipation potential.

    Minimizes Σ η|w|ⁿ⁺¹/(n+1) + D − f·v, the slope of which is the force for every power n ≥ 0:
    dry friction, viscous drag and mixtures. For dry friction alone this is minimum power.

    Parameters
    ----------
    system : System
    at : dict
        The configuration; coordinates left out are zero.
    params, inputs : dict, optional
    t : float
    guess : Step, optional
        The answer nearby, from which the search starts.
    throw : bool

    Returns
    -------
    Step
        ``step.power`` is the minimum: the dissipation potential minus what the loads supply.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> sinking = st.System(work=2.0 * x, friction=[st.Drag(0.5, 3, on=x)])
    >>> round(st.minimum_dissipation(sinking)[x.dot], 12)
    1.587401051968
    """
    require_potential(system)
    return _step(system, at, params, inputs, t, guess, throw)[0]


def require_potential(system: System) -> None:
    """Refuse forces that depend on the velocity and are not stated by a dissipation potential."""
    scope = minimum_power_holds(system)
    for name in scope.failing_among(Kind.LOAD, Kind.KINETIC):
        raise DerivationError(
            f"{name} has no dissipation potential that is known here.",
            f"It {_verb(scope.reasons[name])}.",
            "State it under friction=[st.Drag(…)] or dissipation=…, or use st.newton, "
            "which balances the forces.",
        )
    require_still(system)


def _verb(reason: str) -> str:
    return reason if reason.startswith(("grows", "depends")) else f"is {reason}"


@lru_cache(maxsize=128)
def require_still(system: System) -> None:
    """Refuse velocities where a load or a limit must be known before the velocity is."""
    for kind in ("loads", "friction"):
        for term in getattr(system, kind):
            sizes = term.force if kind == "loads" else term.expressions()
            moving = sorted(
                str(s) for e in sizes for s in e.free_symbols
                if isinstance(s, Velocity) or str(s).endswith(".dot")
            )  # fmt: skip
            if moving:
                raise DerivationError(
                    f"{'load' if kind == 'loads' else 'friction'} '{term.name}' depends on "
                    f"the velocity '{moving[0]}'.",
                    f"Found {term}.",
                    "State dry friction as st.Friction(limit, on=…), drag as st.Drag(…), or "
                    "use st.newton.",
                )


def _step(
    system: System,
    at: Any,
    params: Any,
    inputs: Any,
    t: float,
    guess: Step | None,
    throw: bool,
) -> tuple[Step, Place]:
    _require_guess(system, guess)
    question, place, _ = asked(system, at, params, inputs, as_time(t))
    with_coefficients, near = place, None if guess is None else nearby(question, place, guess)
    motions = motions_at(question, place) if guess is None else None
    only = None if motions is None else motions.only
    if only is not None:
        outcome, place = Outcome("moves", only), replace(place, problem=only.problem)
    else:
        outcome, place = solved(question, place, near)
    require_convex(place, outcome.answer and outcome.answer.v)
    if guess is None:
        outcome = compared(question, with_coefficients, outcome, motions)
    step = step_of(question, place, outcome)
    if throw and step.status not in ("moves", "sticks"):
        raise failure(question, place, outcome, step)
    return passed(step, "sliding", throw=throw), place


def asked(
    system: System, at: Any, params: Any, inputs: Any, t: float
) -> tuple[Question, Place, np.ndarray]:
    """Return a question about one instant, the place that it is about, and velocities there."""
    question = Question(system, params, inputs, (t, t))
    q, v = question.layout.state(at, what="at")
    place = question.at(t, q, viscous=True)
    require_place(question, place)
    return question, place, v


def require_convex(place: Place, v: np.ndarray | None = None) -> None:
    """Refuse a dissipation that a motion makes smaller: its stationary point is no minimum."""
    if place.problem.viscous is None or not place.problem.dense:
        return
    second = place.problem.viscous(np.zeros(place.problem.n) if v is None else v)[2].toarray()
    values = np.linalg.eigvalsh((second + second.T) / 2)
    if values[0] < -1e-9 * max(np.abs(values).max(), 1e-300):
        raise DerivationError(
            "the dissipation is not convex in the velocities.",
            f"Found the second derivative {values[0]:.3g} along one direction, expected none "
            "below zero.",
            "Check its sign: D grows with every speed, and −∂D/∂v resists it.",
        )


def _require_guess(system: System, guess: Any) -> None:
    if guess is None or (isinstance(guess, Step) and guess.system.size == system.size):
        return
    kind = "a step of another system" if isinstance(guess, Step) else type(guess).__name__
    raise StatementError(
        "the guess is not a step of this system.",
        f"Found {kind}.",
        "Pass what minimum_power returned nearby, or leave it out.",
    )


def solved(question: Question, place: Place, guess: Answer | None = None) -> tuple[Outcome, Place]:
    """Answer the question at a place; what presses contacts with friction is found as well."""
    if np.any(question.rubs >= 0):
        return pressed(question, place, guess)
    return settled(place.problem, guess), place


def require_outside(question: Question, place: Place) -> None:
    """Refuse a configuration in which bodies penetrate each other."""
    if not np.any(place.gap < -place.digits):
        return
    inside = np.flatnonzero(place.gap < -100 * question.closed(place))
    if len(inside):
        raise StatementError(
            f"contact '{question.layout.gap_name(int(inside[0]))}' is penetrated.",
            f"Found a gap of {question.told(place)[1][inside[0]]:.3g}, expected zero or more.",
            "Start where bodies touch or are apart.",
        )


def require_gradients(question: Question, place: Place) -> None:
    """Refuse a configuration at which a constraint that rests says nothing about velocities."""
    problem = place.problem
    vanish = np.flatnonzero((problem.sizes_of(problem.matrices[1]) == 0) & (problem.b == 0))
    if len(vanish):
        raise StatementError(
            f"constraint '{question.layout.row_name(int(vanish[0]))}' allows no conclusion here: "
            "its gradient vanishes.",
            "Found all of its derivatives zero, expected one that is not.",
            "Write what is squared without its square, or ask beside this configuration.",
        )


def require_place(question: Question, place: Place) -> None:
    """Refuse a configuration that the constraints do not allow, and a question without content."""
    layout, problem = question.layout, place.problem
    if np.any(place.R) and np.any(np.abs(place.R) > question.held(place, 1e-6)):
        off, stated = np.abs(place.R) / question.held(place, 1e-6), question.told(place)[0]
        bad = [i for i in np.argsort(-off) if off[i] > 1]
        named = "; ".join(f"'{layout.row_name(int(i))}' has R = {stated[i]:.3g}" for i in bad[:3])
        raise StatementError(
            "the configuration violates a constraint.",
            f"Found {named}; expected zero.",
            "Move it onto the constraints first: at=st.consistent(system, start).",
        )
    require_gradients(question, place)
    require_outside(question, place)
    require_resistance(question)
    for index in _motionless(question.system):
        term, rows = question.system.friction[index], question.layout.slips[index]
        places = rows.places.ravel()
        if abs(problem.B[places]).sum() == 0:
            raise StatementError(
                f"friction '{term.name}' acts on something that does not move.",
                f"Found {', '.join(map(str, term.on))}, which no coordinate moves.",
                "Say against which motion it acts, as in st.Friction(limit, on=(x, y)).",
            )
    _require_touch(question, place)


def require_resistance(question: Question) -> None:
    """Refuse a system that has nothing to balance its loads."""
    layout = question.layout
    resists = question.sliding.rates or layout.multipliers or layout.gaps
    if not resists and question.system.dissipation.is_zero:
        raise StatementError(
            "there is no friction and no constraint: nothing balances the loads.",
            "Found neither friction, nor dissipation, nor constraints.",
            "State what resists the motion, or use st.simulate.",
        )


@lru_cache(maxsize=128)
def _motionless(system: System) -> tuple[int, ...]:
    """Return the friction terms that act on something which no coordinate moves."""
    motionless = []
    for i, term in enumerate(system.friction):
        used = set().union(*(on.free_symbols for on in term.on))
        constant = all(isinstance(s, Parameter) or s == time for s in used)
        if not used or (constant and term.table is None):
            motionless.append(i)
    return tuple(motionless)


def _require_touch(question: Question, place: Place) -> None:
    """Refuse a pusher that is not touching, where nothing else could move the system."""
    if place.problem.driven or np.any(place.problem.f) or not len(place.gap):
        return
    moved = question.evaluate("holds", place)[4]
    timed = np.zeros(len(place.gap), dtype=bool)
    for term, rows in zip(question.system.contacts, question.layout.gaps):
        timed[rows.places] = time in term.gap.free_symbols
    # One that comes nearer, or passes by.
    apart = np.flatnonzero((place.gap > 0) & ((moved < 0) | timed & (moved == 0)))
    apart = [i for i in apart if i not in set(place.touching)]
    if apart:
        worst = int(apart[np.argmin(place.gap[apart])])
        raise StatementError(
            f"the pusher '{question.layout.gap_name(worst)}' is not touching.",
            f"Found a gap of {question.told(place)[1][worst]:.3g}, expected zero; nothing else "
            "moves it.",
            "Start where it touches, or follow it over time by st.quasistatics.",
        )
