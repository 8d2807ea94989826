"""The statement of a sweep: which verb, of which system, over what, with which arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from stationary.errors import StatementError, did_you_mean
from stationary.many.design import Design
from stationary.many.keep import Keep
from stationary.model.arrays import Array
from stationary.model.fields import AbstractAtPoint
from stationary.model.interpolation import point_named
from stationary.model.layout import Layout, name_of, pairs
from stationary.model.system import System, require
from stationary.solve.continuation.continuation import continuation
from stationary.solve.motion.dynamics import simulate
from stationary.solve.rest.equilibria import equilibria
from stationary.solve.rest.statics import statics
from stationary.solve.sliding.instant.force_balance import newton
from stationary.solve.sliding.instant.least_power import minimum_dissipation, minimum_power
from stationary.solve.sliding.limits.load import limit_load
from stationary.solve.sliding.over_time.evolution import quasistatics
from stationary.solve.small_motions.linearize import linearize
from stationary.solve.small_motions.modes import modes

#: The questions that can be asked many times.
VERBS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        simulate, statics, equilibria, linearize, modes, minimum_power, minimum_dissipation,
        quasistatics, limit_load, continuation, newton,
    )
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Question:
    """A question that is asked once for every run of a design.

    `roles` say for every name that varies which argument of the verb it is, or is part of:
    ``"params"``, ``"inputs"``, ``"start"`` or ``"at"``, or the name itself.
    """

    verb: str
    system: System
    design: Design
    keeps: dict[str, Keep]
    given: dict[str, Any] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)

    @property
    def ask(self) -> Callable[..., Any]:
        """The verb itself."""
        return VERBS[self.verb]

    @cached_property
    def takes(self) -> frozenset[str]:
        """The arguments of the verb."""
        return _arguments(self.ask)

    @cached_property
    def whole(self) -> frozenset[str]:
        """The arguments of the verb that are whole numbers."""
        known = inspect.signature(self.ask).parameters.values()
        return frozenset(p.name for p in known if type(p.default) is int)

    def with_given(self, given: dict[str, Any]) -> Question:
        """Return the same question with other arguments."""
        return replace(self, given=given)

    def arguments(self, run: int) -> dict[str, Any]:
        """Return the arguments of one run."""
        arguments = dict(self.given)
        for name, value in self.design.values(run):
            role = self.roles[name]
            if role == name:
                arguments[role] = _whole(value) if role in self.whole else value
            else:
                arguments[role] = _merged(arguments.get(role), name, value)
        if "throw" in self.takes:
            arguments["throw"] = True
        return arguments


def _whole(value: Any) -> Any:
    """Return a number as a whole one, if it is: the values of an axis are floats."""
    number = isinstance(value, (float, np.floating))
    return int(value) if number and np.isfinite(value) and value == int(value) else value


def _merged(given: Any, name: str, value: Any) -> dict[Any, Any]:
    """Return a mapping with one more entry, whose key wins over the same name given before."""
    kept = {k: v for k, v in (given or {}).items() if _named(k) != name}
    return kept | {name: value}


def _named(key: Any) -> Any:
    try:
        return name_of(key)
    except StatementError:
        return key


def _arguments(verb: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(verb).parameters) - {"system"}


def as_verb(verb: Any) -> str:
    """Take a verb: one of the functions that answer a question about a system."""
    for name, function in VERBS.items():
        if verb is function or verb == name:
            return name
    given = verb if isinstance(verb, str) else getattr(verb, "__name__", str(verb))
    raise StatementError(
        f"'{str(given)[:60]}' is no question that can be asked many times.",
        f"Expected one of {', '.join(VERBS)}.{did_you_mean(str(given), VERBS)}",
        "Write st.sweep(st.simulate, system, over=…).",
    )


def names_of(system: System) -> dict[str, str]:
    """Return every name of a statement, and what it is."""
    roles = {p.name: "params" for p in system.parameters}
    roles |= {u.name: "inputs" for u in system.inputs}
    roles |= {c.name: "start" for c in system.coordinates}
    return roles | {field.name: "start" for field in getattr(system, "fields", ())}


def as_question(
    verb: Any, system: Any, design: Design, keeps: dict[str, Keep], given: Mapping[str, Any]
) -> Question:
    """Put a statement together; refuse what does not belong to it, by name."""
    name = as_verb(verb)
    require(system)
    takes = _arguments(VERBS[name])
    for argument in given:
        if argument not in takes:
            raise StatementError(
                f"{name} has no argument '{argument}'.",
                f"Arguments: {', '.join(sorted(takes))}.{did_you_mean(argument, takes)}",
                "What varies stands in over, what is kept in keep.",
            )
    roles = {column: _role(column, name, system, takes, given) for column in design.names}
    _require_names(system, given)
    _require_all(name, system, {*given, *roles.values()}, given, roles)
    return Question(name, system, design, keeps, dict(given), roles)


def _require_all(
    verb: str, system: System, there: set[str], given: Mapping[str, Any], roles: Mapping[str, str]
) -> None:
    """Refuse a question without an argument, or an input, that no run can do without."""
    for p in inspect.signature(VERBS[verb]).parameters.values():
        needed = p.default is inspect.Parameter.empty and p.kind is p.KEYWORD_ONLY
        if needed and p.name not in there:
            raise StatementError(
                f"{verb} needs the argument '{p.name}'.",
                f"Found {', '.join(sorted(there)) or 'none'}.",
                f"Give {p.name}=… for all runs, or let it vary: over={{'{p.name}': […]}}.",
            )
    if "inputs" not in _arguments(VERBS[verb]) or not isinstance(given.get("inputs", {}), Mapping):
        return
    known = {name_of(key) for key, _ in pairs(given.get("inputs"), "inputs")} | roles.keys()
    missing = [u.name for u in system.inputs if u.name not in known]
    if missing:
        raise StatementError(
            f"input '{missing[0]}' has no value.",
            "Expected it among inputs, or among what varies.",
            f"Pass inputs={{'{missing[0]}': …}}, or over={{'{missing[0]}': […]}}.",
        )


def _role(
    name: str, verb: str, system: System, takes: frozenset[str], given: Mapping[str, Any]
) -> str:
    """Tell which argument of the verb a name that varies is part of."""
    known = names_of(system)
    role = known.get(name)
    if role is None and name in takes:
        return name
    if role is None and _is_state(system, name):
        role = "start"
    if role is None:
        choices = [*known, *takes - {"params", "inputs", "start", "at", "throw"}]
        raise StatementError(
            f"the axis '{name}' is not a name of the statement.",
            f"Names: {', '.join(known) or 'none'}; arguments of {verb}: "
            f"{', '.join(sorted(takes))}.{did_you_mean(name, choices)}",
            "Vary coordinates, velocities, parameters, inputs or arguments.",
        )
    if role == "start" and "start" not in takes:
        role = "at" if "at" in takes else "start"
    if role not in takes:
        raise StatementError(
            f"{verb} has no {role}, so '{name}' cannot vary.",
            f"Arguments of {verb}: {', '.join(sorted(takes))}.",
            "Vary parameters, inputs or arguments.",
        )
    before = given.get(role)
    if before is not None and not hasattr(before, "items"):
        raise StatementError(
            f"'{name}' varies, and {role} is given as a whole.",
            f"Found {role} = {type(before).__name__}, expected a dict.",
            f"Give {role}={{name: value}}, or leave it out.",
        )
    return role


def _is_state(system: System, name: str) -> bool:
    layout = Layout(system)
    try:
        return layout.resolve(name, "over")[1] < 2
    except StatementError:
        return bool(system.fields) and point_named(system, name) is not None


def _require_names(system: System, given: Mapping[str, Any]) -> None:
    """Refuse names, in what all runs share, that the statement does not have."""
    layout = Layout(system)
    known = names_of(system)
    for argument, role in (("params", "params"), ("inputs", "inputs")):
        for key, _ in pairs(given.get(argument), argument):
            if known.get(name_of(key)) != role:
                choices = [n for n, r in known.items() if r == role]
                raise StatementError(
                    f"{argument} names '{name_of(key)}', which is not one of this system.",
                    f"Known: {', '.join(choices) or 'none'}.{did_you_mean(name_of(key), choices)}",
                    "Remove it, or use it in the statement.",
                )
    start = given.get("start")
    if hasattr(start, "items"):
        for key, _ in pairs(start, "start"):
            if not (
                isinstance(key, AbstractAtPoint) or _named(key) in known or isinstance(key, Array)
            ):
                layout.resolve(key, "start")
