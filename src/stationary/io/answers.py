"""Answers to the questions of a model: one call of the library each, with what the file says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sympy as sp

from stationary.errors import DidNotConverge, StatementError, unknown
from stationary.io.dimensions import Mismatch
from stationary.io.unit_checks import check_velocity
from stationary.model.contents import contents
from stationary.model.graphs import renamed
from stationary.model.space.rotation import Entry
from stationary.model.symbols import Parameter

if TYPE_CHECKING:
    from stationary.io.model_file import Model

Answer = Callable[["Model", dict[str, Any]], Any]

# Columns of a motion's table that are energies.
_ENERGIES = ("kinetic", "potential", "energy", "balance", "work", "heat", "struck_off", "lost")


def ask(model: Model, question: str, given: Mapping[str, Any]) -> Any:
    """Answer one question: what the file says about it, and what is given over it."""
    if question not in ANSWERS:
        raise StatementError(unknown("the question", question, ANSWERS))
    answer, needed = ANSWERS[question]
    arguments = {**model.questions.get(question, {}), **given}
    # Orientations are searched whole.
    turned = all(isinstance(c, Entry) for c in model.system.coordinates)
    for key, example in needed.items():
        if arguments.get(key) is None and not (key == "within" and turned):
            raise StatementError(
                f"the question '{question}' has no {key}.",
                f"Found none in [{question}] of the file, and none beside it.",
                f"Add {key} = {example} to [{question}].",
            )
    return answer(model, arguments)


def values(model: Model) -> dict[str, Any]:
    """Return the parameters and inputs that the system has, with their values."""
    known = {p.name for p in model.system.parameters}
    driven = {u.name for u in model.system.inputs}
    return {
        "params": {k: v for k, v in model.params.items() if k in known},
        "inputs": {k: _law(model, f"the input '{k}'", v, known)
                   for k, v in model.inputs.items() if k in driven},
    }  # fmt: skip


def _law(model: Model, what: str, course: Any, known: set[str]) -> Any:
    """Put the values of those parameters into an expression that the system has not."""
    if not isinstance(course, sp.Expr):
        return course
    own = [s for s in contents(course).order if isinstance(s, Parameter) and s.name not in known]
    given = {s: model.params.get(s.name, s.default) for s in own}
    for s, value in given.items():
        if value is None:
            raise StatementError(
                f"parameter '{s.name}' of {what} has no value.",
                f"Found {course}.",
                f"Give {s.name} a value in [parameters].",
            )
    return renamed(course, {s: sp.Float(value) for s, value in given.items()})


def _start(model: Model, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the start, rows of arrays under the parameters that are given."""
    given = arguments.get("params")
    if not model.rows or not isinstance(given, Mapping):
        return model.start
    params = model.params | {str(k): v for k, v in given.items()}
    return model.start | {k: v.values(params) for k, v in model.rows.items()}


def rest_start(model: Model) -> dict[str, Any]:
    """Return the start without velocities: a guess of a state of rest."""
    rates = (".dot", ".omega")
    return {k: v for k, v in model.start.items() if not str(k).endswith(rates)}


# -- reading --------------------------------------------------------------------------------------


def _equations(model: Model, arguments: dict[str, Any]) -> Any:
    from stationary.derive.principle import equations

    return equations(model.system if model.continuum is None else model.continuum, **arguments)


def _check(model: Model, arguments: dict[str, Any]) -> Any:
    from stationary.derive.check import check

    return check(model.system, **arguments)


# -- rest -----------------------------------------------------------------------------------------


def _statics(model: Model, arguments: dict[str, Any]) -> Any:
    from stationary.solve.rest.statics import statics

    return statics(model.system, **{"start": rest_start(model), **values(model), **arguments})


def _equilibria(model: Model, arguments: dict[str, Any]) -> Any:
    from stationary.solve.rest.equilibria import equilibria

    return equilibria(model.system, **{**values(model), **arguments})


def _rest(model: Model, arguments: Mapping[str, Any], asker: str) -> Any:
    """Return the state of rest nearest to the start, a stable one if there is one."""
    from stationary.solve.rest.statics import refuse, statics

    refuse(model.system, asker)
    time = {"t": arguments["t"]} if "t" in arguments else {}
    begin = {"start": rest_start(model), **values(model), **time}
    try:
        return statics(model.system, **begin)
    except DidNotConverge:
        return statics(model.system, kind="any", **begin)


def _linearize(model: Model, arguments: dict[str, Any]) -> Any:
    from stationary.solve.small_motions.linearize import linearize

    if "at" not in arguments:
        arguments["at"] = _rest(model, arguments, "linearize")
    return linearize(model.system, **{**values(model), **arguments})


def _modes(model: Model, arguments: dict[str, Any]) -> Any:
    from stationary.solve.small_motions.modes import modes

    if "at" not in arguments:
        arguments["at"] = _rest(model, arguments, "modes")
    return modes(model.system, **{**values(model), **arguments})


def _continue(model: Model, arguments: dict[str, Any]) -> Any:
    from stationary.solve.continuation.continuation import continuation

    known = {"start": rest_start(model), **values(model), **arguments}
    name, (first, last) = str(arguments["parameter"]), arguments["span"]
    own = known["params"].get(name)
    if own is None or not first <= own <= last:
        known["params"] = {**known["params"], name: first}
    diagram = continuation(model.system, **known)
    return replace(diagram, units=_units(model))


# -- motion ---------------------------------------------------------------------------------------


def _integrator(name: Any, step: float | None, touching: bool) -> Any:
    """Return the integrator of a name; a step alone means steps of one size."""
    from stationary.solve import integrators

    if not isinstance(name, (str, type(None))) or (name in (None, "auto") and step is None):
        return "auto" if name is None else name
    if name in ("Variational", "Moreau") or (step is not None and name in (None, "auto")):
        if step is None:
            raise StatementError(
                f"the method '{name}' has no step.",
                "It takes steps of one size.",
                "Give it a step of 0.001, say.",
            )
        if name == "Moreau" or (name in (None, "auto") and touching):
            from stationary.solve.touch.moreau import Moreau

            return Moreau(step=step)
        return integrators.Variational(step=step)
    return getattr(integrators, str(name))()


def _units(model: Model) -> dict[str, str]:
    """Return SI units of what tables and axes show; none where the file has no units."""
    if not model.units:
        return {}
    places = [c.name for c in model.system.coordinates]
    rates = [f"{name}.dot" for name in places]
    known = {"t": "s", **dict.fromkeys(_ENERGIES, "J")}
    given = [p.name for p in model.system.parameters]
    return known | {name: model.unit(name) for name in places + rates + given}


def _early(answer: Callable[..., Any], model: Model, known: dict[str, Any]) -> Any:
    """Return a motion; one that ends early comes back with its status, which says so."""
    try:
        motion = answer(model.system, **known)
    except DidNotConverge as error:
        if len(getattr(error.solution, "t", ())) <= 1 or known.get("throw") is not None:
            raise
        motion = error.solution
    return replace(motion, units=_units(model))


def _simulate(model: Model, arguments: dict[str, Any]) -> Any:
    from stationary.io.questions import parameters_of
    from stationary.solve.arguments import touches
    from stationary.solve.motion.dynamics import simulate

    touching = touches(model.system)
    method = _integrator(arguments.pop("method", None), arguments.pop("step", None), touching)
    known = {"start": _start(model, arguments), "method": method, **values(model), **arguments}
    watched = {p.name for p in parameters_of(arguments.get("events", ()))}
    # Of parameters that only events have, the file knows the values too.
    more = {k: v for k, v in model.params.items() if k in watched}
    return _early(simulate, model, known | {"params": more | known["params"]})


def _slide(model: Model, arguments: dict[str, Any]) -> Any:
    from stationary.solve.sliding.instant.least_power import minimum_power
    from stationary.solve.sliding.over_time.evolution import quasistatics

    if "span" in arguments:
        return _early(
            quasistatics, model, {"start": rest_start(model), **values(model), **arguments}
        )
    return minimum_power(model.system, **{"at": rest_start(model), **values(model), **arguments})


def _bounds(model: Model, arguments: dict[str, Any]) -> Any:
    from stationary.solve.pressure.bounds.bounds import WORDS, pressure_bounds

    known = {"at": rest_start(model), "params": values(model)["params"], **arguments}
    if isinstance(known["of"], str) and known["of"] not in WORDS:
        known["of"] = model.read(known["of"])
        try:
            check_velocity(known["of"], model.system.coordinates, model.units)
        except Mismatch as wrong:
            raise StatementError(*wrong.args) from None
    known["of"] = _law(model, "what is bounded", known["of"], set(known["params"]))
    return pressure_bounds(model.system, **known)


def _weigh(model: Model, arguments: dict[str, Any]) -> Any:
    from stationary.solve.pressure.weighing.fit import fit_pressure

    # What only a track needs is in its pushes already.
    known = {k: v for k, v in arguments.items() if k not in ("outline", "radius")}
    return fit_pressure(model.system, **{"params": values(model)["params"], **known})


#: For each question what answers it, and what it cannot do without, with an example.
ANSWERS: dict[str, tuple[Answer, dict[str, str]]] = {
    "equations": (_equations, {}),
    "check": (_check, {}),
    "statics": (_statics, {}),
    "equilibria": (_equilibria, {"within": "{ theta = [-1, 4] }"}),
    "linearize": (_linearize, {}),
    "continue": (_continue, {"parameter": '"k"', "span": "[0, 10]"}),
    "simulate": (_simulate, {"span": "[0, 10]"}),
    "slide": (_slide, {}),
    "modes": (_modes, {}),
    "bounds": (_bounds, {"of": '"phi.dot"'}),
    "weigh": (_weigh, {"pushes": '"pushes.csv"'}),
}
