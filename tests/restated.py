"""Any statement in other units, and whether questions about it have the same answers there.

A length counts L of the new units from another origin, an energy E, a time T: the statement is
rewritten by substitution, so that its parameters keep their values. What stands in a sine is an
angle and stays one. ``pytest --units nanometres tests/…`` asks every question of a test once more
in other units.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import stationary as st
from stationary.model.built_once import opened
from stationary.model.layout import Layout
from stationary.model.system import System, written_out

_ROUND = (sp.sin, sp.cos, sp.tan, sp.atan2)
# Larger systems are not asked again, nor those with numbers whose squares are none.
_LARGEST, _NUMBERS = 30, 1e150
# What answers may differ by, and by how much more where a place has fewer digits.
_SAME, _DIGITS = 1e-6, 1e6


@dataclass(frozen=True)
class Unit:
    """Units of length, mass and time in SI, and where the origin lies, in this length."""

    L: float = 1.0
    M: float = 1.0
    T: float = 1.0
    o: float = 0.0

    @property
    def g(self):  # acceleration
        return self.L / self.T**2

    @property
    def F(self):  # force
        return self.M * self.g

    @property
    def E(self):  # energy
        return self.F * self.L

    @property
    def k(self):  # stiffness
        return self.F / self.L

    def at(self, *place):
        """Return coordinates of a place."""
        return [(p + self.o) * self.L for p in place]

    def of(self, value):
        """Return a coordinate in these units, from this origin."""
        return np.asarray(value) / self.L - self.o


class NotRestated(Exception):
    """What this file does not know how to write in other units."""


@dataclass(frozen=True)
class Units:
    """How many of the new units a length, an energy and a time of the old count, and the origin.

    The origin lies so many of the question's own lengths away: what a question on nanometres loses
    to an origin in another room is no fault of the answer.
    """

    L: float
    E: float
    T: float
    origin: float = 0.0


#: Units by name.
UNITS = {
    "nanometres": Units(L=3.7e9, E=2.3e21, T=7.1e3),
    "light-years": Units(L=1.1e-16, E=3e-40, T=3.2e-8),
    "far": Units(L=30.0, E=0.07, T=11.0, origin=123.4),
}


def angles_of(plain: System) -> set[str]:
    """Return the names of coordinates in a sine, and of those that are added to them."""
    known = set(plain.coordinates)
    every = [opened(e) for _, e in plain.expressions()]
    angles = {c for e in every for f in e.atoms(*_ROUND) for c in f.free_symbols & known}
    sums = [
        {factor for term in total.args for factor in term.as_coeff_Mul()[1:] if factor in known}
        for e in every
        for total in e.atoms(sp.Add)
    ]
    while more := {c for several in sums if several & angles for c in several - angles}:
        angles |= more
    return {c.name for c in angles}


class Restated:
    """One statement in other units."""

    def __init__(self, system: Any, units: Units, own: float = 1.0):
        """Restate a system; `own` is how large lengths are in the question."""
        if not isinstance(system, System) or system.size > _LARGEST or system.fields:
            raise NotRestated
        if not Layout(system).kinematics.plain or system.mechanism is not None:
            raise NotRestated
        self.units, self.old = units, system
        plain = written_out(system)
        names = {c.name for c in plain.coordinates}
        angles = angles_of(plain)
        self.scale = np.array([1.0 if c.name in angles else units.L for c in plain.coordinates])
        self.shift = np.array(
            [0.0 if c.name in angles else units.origin for c in plain.coordinates]
        )
        self.shift = self.shift * units.L * own
        self.coordinates = plain.coordinates
        places = dict(zip(plain.coordinates, zip(self.scale.tolist(), self.shift.tolist())))
        self.swap: dict[Any, Any] = {st.t: st.t / units.T}
        for c, (s, o) in places.items():
            self.swap |= {c: (c - o) / s, c.dot: c.dot * units.T / s}
        self.system = self._statement(plain)
        numbers = (x for _, e in self.system.expressions() for x in opened(e).atoms(sp.Float))
        if any(abs(x) > _NUMBERS for x in numbers):
            raise NotRestated
        assert {c.name for c in self.system.coordinates} == names

    def put(self, e: Any) -> Any:
        """Return an expression in the new coordinates, its value in the old units."""
        return opened(sp.S(e)).xreplace(self.swap)

    def _statement(self, plain: System) -> System:
        u, kept = self.units, plain.apply(self.put)
        for kind in ("kinetic", "potential", "work"):
            kept[kind] = u.E * kept[kind]
        kept["dissipation"] = u.E / u.T * kept["dissipation"]

        def times(values: Any, factor: float) -> Any:
            return (
                tuple(factor * v for v in values) if isinstance(values, tuple) else factor * values
            )

        def term(x: Any) -> Any:
            if isinstance(x, st.Load):
                return replace(x, force=times(x.force, u.E / u.L), on=times(x.on, u.L))
            if isinstance(x, st.Friction):
                static = None if x.static is None else x.static * u.E / u.L
                return replace(x, limit=x.limit * u.E / u.L, static=static, on=times(x.on, u.L))
            if isinstance(x, st.Drag):
                return replace(
                    x, eta=x.eta * u.E / u.L * (u.T / u.L) ** x.power, on=times(x.on, u.L)
                )
            if isinstance(x, st.Contact):
                slip = None if x.slip is None else times(x.slip, u.L)
                return replace(x, gap=x.gap * u.L, slip=slip)
            if isinstance(x, st.Constraint) and not x.quaternion:
                return replace(x, R=times(x.R, u.L))
            return x

        for kind in ("loads", "friction", "contacts", "constraints"):
            kept[kind] = tuple(map(term, kept[kind]))
        kept["parts"] = ()
        return System(**kept)

    # -- arguments --------------------------------------------------------------------------------

    def state(self, start: Any, params: Any, moving: bool = True) -> dict:
        """Return a start in the new units; what is left out and zero there is left out again."""
        if hasattr(start, "as_start"):
            start = start.as_start()
        layout = Layout(self.old)
        q, v = layout.state(start or {}, layout.values(params))
        q, v = q * self.scale + self.shift, v * self.scale / self.units.T
        given = np.zeros((2, len(q)), dtype=bool)
        for key in start or {}:
            places, order = layout.resolve(key, "start")
            given[order][places] = True
        speeds = [c.dot for c in self.coordinates] if moving else []
        keys = [*self.coordinates, *speeds]
        every = zip(keys, np.concatenate([q, v]).tolist(), given.ravel().tolist())
        return {key: value for key, value, held in every if value or held}

    def rest(self, rest: Any) -> Any:
        """Return an equilibrium in the new units: what was found there is found again."""
        names = [p.name for p in rest.system.parameters]
        start = dict(zip(self.coordinates, (rest.q * self.scale + self.shift).tolist()))
        return st.statics(
            self.system, start=start, params=dict(zip(names, rest.params.tolist())), kind="any",
            inputs=self.inputs(rest.inputs), t=rest.t * self.units.T,
        )  # fmt: skip

    def inputs(self, inputs: Any) -> Any:
        if inputs is None:
            return None
        if not all(isinstance(v, (int, float, sp.Basic)) for v in inputs.values()):
            raise NotRestated
        return {k: self.put(v) if isinstance(v, sp.Basic) else v for k, v in inputs.items()}

    def events(self, events: Any) -> list:
        every = list(events) if isinstance(events, (list, tuple)) else [events]

        out = []
        for e in every:
            if not isinstance(e, st.Event) or e.action is not None:
                raise NotRestated
            out.append(replace(e, expr=self.put(e.expr)))
        return out

    def known(self, given: dict, place: str | None, moving: bool) -> dict:
        """Return keywords of a verb in the new units."""
        out = {}
        for key, value in given.items():
            if key in ("params", "points", "repair", "throw", "kind", "count", "rtol", "unique"):
                out[key] = value
            elif key == place and isinstance(value, st.Equilibrium):
                out[key] = self.rest(value)
            elif key == place:
                out[key] = self.state(value, given.get("params"), moving)
            elif key == "inputs":
                out[key] = self.inputs(value)
            elif key == "span":
                out[key] = tuple(float(x) * self.units.T for x in value)
            elif key == "t":
                out[key] = float(value) * self.units.T
            elif key == "events":
                out[key] = self.events(value)
            elif key == "method" and (
                value == "auto" or value in (st.BDF(), st.Runge(), st.Taylor())
            ):
                out[key] = value
            elif key == "within":
                out[key] = {}
                for c, ends in value.items():
                    k = [x.name for x in self.coordinates].index(getattr(c, "name", c))
                    out[key][c] = tuple(float(x) * self.scale[k] + self.shift[k] for x in ends)
            else:
                raise NotRestated(key)
        if place is not None:
            out.setdefault(place, self.state(None, given.get("params"), moving))
        return out

    # -- answers ----------------------------------------------------------------------------------

    def q(self, q: Any) -> np.ndarray:
        return (np.asarray(q) - self.shift) / self.scale

    def v(self, v: Any) -> np.ndarray:
        return np.asarray(v) * self.units.T / self.scale


def _in_order(points: Any) -> np.ndarray:
    points = np.atleast_2d(points)
    return points[np.lexsort(np.round(points, 6).T)]


def _parts(verb: str, result: Any, r: Restated | None = None) -> Iterator[tuple[str, Any]]:
    """Yield (name, numbers or words) of a result; in the old units."""

    def q(x):
        return np.asarray(x) if r is None else r.q(x)

    def v(x):
        return np.asarray(x) if r is None else r.v(x)

    T, E = (1.0, 1.0) if r is None else (r.units.T, r.units.E)
    if verb in ("simulate", "quasistatics"):
        yield "status", str(result.status)
        # Where a motion ends by itself its last state is as far off as the next one is.
        whole = slice(None, None if result.status == "done" else -1)
        yield "t", np.asarray(result.t)[whole] / T
        yield "q", q(result.q)[whole]
        if verb == "simulate":
            yield "v", v(result.v)[whole]
        if hasattr(result, "changes"):
            yield "changes", [c.kind for c in result.changes]
    elif verb == "statics":
        yield "words", [str(result.status), str(result.stable), str(result.inertia)]
        # Of a family any member may be found.
        yield "q", np.zeros(0) if result.family else q(result.q)
    elif verb == "equilibria":
        yield "words", [len(result), sorted(f"{e.stable} {e.family}" for e in result)]
        # Of a family the member nearest to the origin is shown.
        alone = [q(e.q) for e in result if not e.family]
        yield "q", _in_order(alone) if alone else np.zeros((0, 1))
    elif verb == "continuation":
        yield "words", [s.kind for s in result.special] + [len(result.branches)]
        yield "parameter", np.array([s.parameter for s in result.special])
        yield "q", np.array([q(s.q) for s in result.special])
    elif verb == "linearize":
        yield "words", [str(result.stability)]
        values = np.asarray(result.eigenvalues) * T
        size = 1e-6 * (np.abs(values).max(initial=0.0) or 1.0)
        key = np.round(values / size)
        yield "eigenvalues", values[np.lexsort([key.real, key.imag])]
    elif verb == "modes":
        yield "frequencies", np.asarray(result.frequencies) * T
    elif verb in ("minimum_power", "newton", "minimum_dissipation"):
        yield "words", [str(result.status), result.unique]
        yield "v", v(result.v)
        yield "power", np.array([result.power * T / E])
    elif verb == "limit_load":
        yield "words", [str(result.status)]
        yield "interval", np.array(result.interval)
    elif verb == "consistent":
        yield "q", q(result.q)
        yield "v", v(result.v)


#: Verbs, and under which keyword each takes a state, with velocities or without.
VERBS = {
    "simulate": ("start", True), "statics": ("start", False), "equilibria": (None, False),
    "continuation": ("start", False), "linearize": ("at", True), "modes": ("at", False),
    "minimum_power": ("at", False), "newton": ("at", False), "minimum_dissipation": ("at", False),
    "quasistatics": ("start", False), "limit_load": ("at", False), "consistent": ("start", True),
}  # fmt: skip


def _own_length(system: Any, start: Any, result: Any) -> float:
    """Return how large lengths are in a question: those of its start and of its answer."""
    if not isinstance(system, System):
        raise NotRestated
    plain = written_out(system)
    names = {c.name for c in plain.coordinates}
    turned = angles_of(plain)
    straight = np.array([c.name not in turned for c in plain.coordinates])
    places = [x.q for x in (start, result) if hasattr(x, "q")]
    if isinstance(result, (list, tuple)):
        places += [e.q for e in result]
    places = [np.asarray(q, dtype=float)[..., straight] for q in places]
    if isinstance(start, dict):
        given = {getattr(c, "name", c): x for c, x in start.items()}
        places += [x for c, x in given.items() if c in names - turned]
    sizes = [float(np.abs(np.asarray(x, dtype=float)).max(initial=0.0)) for x in places]
    size = max(filter(np.isfinite, sizes), default=0.0)
    return min(size, 1.0) or 1.0


def ask_again(verb: str, ask: Any, system: Any, given: dict, result: Any, units: Units) -> None:
    """Ask in other units, and compare with a result, or with the error that the question ended in.

    A question may be refused or its search end early in both.
    """
    place, moving = VERBS[verb]
    if getattr(result, "status", "") == "interrupted":
        raise NotRestated
    within = given.get("within") or {}
    r = Restated(system, units, _own_length(system, given.get(place) or within, result))
    # A parameter and a load have the values that they had.
    kept = {"continuation": ("parameter", "span"), "limit_load": ("load",)}.get(verb, ())
    extra = {key: given[key] for key in kept}
    if not isinstance(extra.get("load", ""), (str, sp.Symbol)):
        raise NotRestated
    rest = {k: v for k, v in given.items() if k not in kept}
    if verb == "continuation" and getattr(extra["parameter"], "default", 0.0) is None:
        # A parameter without a value begins where its span does.
        rest["params"] = {extra["parameter"]: extra["span"][0]} | dict(given.get("params") or {})
    known = r.known(rest, place, moving) | extra
    new: Any
    try:
        new = ask(r.system, **known)
    except st.StationaryError as error:
        new = error
    failed = [isinstance(x, Exception) for x in (result, new)]
    assert failed[0] == failed[1], f"{verb} in other units: {result} against {new}"
    if failed[0]:
        return
    for (name, a), (_, b) in zip(_parts(verb, result), _parts(verb, new, r)):
        if not isinstance(a, np.ndarray):
            # What one of them leaves undecided the other may decide.
            if name != "words" or None not in (a[-1], b[-1]) or a[:-1] != b[:-1]:
                assert a == b, f"{name} of {verb} in other units"
            continue
        assert a.shape == b.shape and np.array_equal(np.isfinite(a), np.isfinite(b)), name
        good = np.isfinite(a)
        size = max(np.abs(a[good]).max(initial=0.0), 1e-3)
        allowed = (_SAME + _DIGITS * np.spacing(abs(units.origin))) * size
        off = np.abs(a[good] - b[good]).max(initial=0.0)
        if off > allowed and verb == "simulate":
            # What errors grow in by so much has lost as many digits.
            allowed = 10.0 ** (2 - min(result.digits, new.digits)) * size
        assert off <= allowed, f"{name} of {verb} in other units"


def asking_again(verb: str, ask: Any, units: Units, busy: list[str]) -> Any:
    """Return a verb that asks every question once more in other units."""

    @functools.wraps(ask)
    def asked(system: Any = None, *args: Any, **given: Any) -> Any:
        if busy or args:
            return ask(system, *args, **given)
        busy.append(verb)
        error = None
        try:
            try:
                result = ask(system, **given)
            except st.StationaryError as caught:
                result = error = caught
            if not isinstance(error, st.StatementError):
                try:
                    ask_again(verb, ask, system, given, result, units)
                except NotRestated:
                    pass
        finally:
            busy.pop()
        if error is not None:
            raise error
        return result

    return asked


@pytest.fixture(autouse=True)
def _in_other_units(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    busy: list[str] = []
    units = UNITS[str(request.config.getoption("--units"))]
    for verb in VERBS:
        again = asking_again(verb, getattr(st, verb), units, busy)
        monkeypatch.setattr(st, verb, again)
