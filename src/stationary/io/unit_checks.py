"""Checks of units against each other, through energies, loads, constraints and the start."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import sympy as sp

from stationary.io import dimensions
from stationary.io.dimensions import ENERGY, PLAIN, POWER, TIME, Dimensions, Known, Mismatch
from stationary.io.names import coordinate_of
from stationary.io.reader import Reader
from stationary.io.toml import Path
from stationary.model import units
from stationary.model.fields import Field
from stationary.model.graphs import nodes, symbols_in
from stationary.model.symbols import Coordinate, Input, Parameter
from stationary.model.system import System
from stationary.model.terms import Constraint, Contact, Drag, Friction, Load, Pfaffian, split_sums

_ENERGIES = {
    "kinetic": (ENERGY, "the kinetic energy", "an energy"),
    "potential": (ENERGY, "the potential energy", "an energy"),
    "work": (ENERGY, "the work", "an energy"),
    "dissipation": (POWER, "the dissipation", "a power"),
}


def _unit(text: str) -> str:
    pair = units.split(text)
    return pair[1] if pair else ""


def dimension(written: Any) -> units.Dimension | None:
    """Return the dimension of text such as "5 cm", None for what has no unit or a wrong one."""
    pair = units.split(written) if isinstance(written, str) else None
    try:
        return units.dimension_of(pair[1]) if pair and pair[1] else None
    except units.UnknownUnit:
        return None


# What numbers of a part on a table and of measured pushes are, one after the other; velocities may
# stand for displacements.
_LENGTHS, _MOTION = (("m",),), (("m", "m/s"), ("m", "m/s"), ("rad", "rad/s"))
_MEASURED = {
    "points": _LENGTHS, "outline": _LENGTHS, "radius": _LENGTHS, "centre": _LENGTHS,
    "weight": (("N",),), "point": _LENGTHS, "motion": _MOTION,
    "before": (("m",), ("m",), ("rad",)), "after": (("m",), ("m",), ("rad",)),
    "finger": _MOTION[:1], "force": (("N",),), "noise": (*_MOTION[1:], ("N",)), "gap": _LENGTHS,
    "friction": (("1",),), "t": (("s",),), "weights": (("N",),), "limit": (("N",),),
    "step": (("s",),), "seconds": (("s",),), "rtol": (("1",),), "prove": (("1",),),
}  # fmt: skip


def check_measured(reader: Reader, path: Path) -> None:
    """Compare units with what a number is by its key: a length, an angle, a force."""
    wanted = _MEASURED.get(str(path[-1]), ())

    def check(here: Path, place: int) -> None:
        written = reader.at(here)
        if isinstance(written, list):
            for k in range(len(written)):
                check((*here, k), k)
        size = dimension(written)
        names = wanted[min(place, len(wanted) - 1)] if wanted else ()
        if size is not None and names and size not in map(units.dimension_of, names):
            reader.document.complain(
                here, f"'{path[-1]}' has the unit of something else.",
                f"Found {written!r}, expected {' or '.join(names).replace('1', 'no unit')}.",
                "Give it in such a unit, or plainly in SI units.",
            )  # fmt: skip

    check(path, 0)


def in_si(written: dict[str, str], name: str) -> str:
    """Return the SI unit of a quantity of a file, "" if the file does not say."""
    stem = name.removesuffix(".dot").partition("[")[0]
    try:
        size = units.dimension_of(written[stem])
    except (KeyError, units.UnknownUnit):
        return ""
    if size == PLAIN:
        angle = any(word in written[stem] for word in ("rad", "deg", "rev", "°"))
        return ("rad/s" if name.endswith(".dot") else "rad") if angle else ""
    return dimensions.text(dimensions.total(size, TIME, -1) if name.endswith(".dot") else size)


def inferred(written: dict[str, str], constraints: Any) -> dict[str, str]:
    """Return units of coordinates that stand beside known ones in a sum of squares, as in a rod.

    Where something is added as it stands, or a number is a factor, the number may carry a unit
    that nobody wrote: nothing is inferred.
    """
    of: dict[str, Known] = {}
    for name, unit in written.items():
        try:
            of[name] = Known(units.dimension_of(unit), True)
        except units.UnknownUnit:
            continue
    measured, more = Dimensions(of), {}

    def infer(e: Any, size: units.Dimension) -> None:
        if isinstance(e, Coordinate):
            stem = e.name.partition("[")[0]
            if not e.name.endswith(".dot") and stem not in of and size != PLAIN:
                of[stem], more[stem] = Known(size, True), dimensions.text(size)
        elif e.is_Add:
            for part in e.args:
                infer(part, size)
        elif e.is_Pow and e.exp.is_Rational and e.exp:
            infer(e.base, tuple(x / Fraction(int(e.exp.p), int(e.exp.q)) for x in size))
        elif e.is_Mul and len(e.args) == 2 and e.args[0] == -1:
            infer(e.args[1], size)

    sums = [node for row in constraints for e in row.expressions() for node in nodes(e)
            if isinstance(node, sp.Add)]  # fmt: skip
    for node in sums:
        squares = [
            e for e in node.args if e.is_Pow or e.is_Mul and e.args[0] == -1 and e.args[1].is_Pow
        ]
        try:
            known = [k for e in squares if (k := measured.term(e)) is not None and k.written]
        except Mismatch:
            continue
        for e in squares if known else ():
            infer(e, known[0].dimension)
    return more


def units_of_start(reader: Reader) -> dict[str, str]:
    """Return the units in which coordinates start."""
    given = reader.at(("start",))
    return {
        name: _unit(value)
        for name, value in (given.items() if isinstance(given, dict) else ())
        if dimension(value) is not None and name in reader.names.symbols
    }


def known(reader: Reader, written: dict[str, str], stated: list[Any]) -> Dimensions:
    """Collect what the file says about dimensions, directly and by where things stand."""
    of: dict[str, Known] = {}
    for name, unit in written.items():
        try:
            size = units.dimension_of(unit)
        except units.UnknownUnit:
            continue
        of[name] = Known(size, isinstance(reader.names.symbols.get(name), (Parameter, Input)))
    of |= _of_sliders(reader)
    given = reader.at(("start",))
    for key, value in given.items() if isinstance(given, dict) else ():
        size, name = dimension(value), coordinate_of(key).partition("[")[0]
        if size is None:
            continue
        moving = name.endswith(".dot") or key.endswith("'")
        name = name.removesuffix(".dot")
        size = dimensions.total(size, TIME) if moving else size
        if name in of and of[name].dimension != size:
            rate = dimensions.total(of[name].dimension, TIME, -1) if moving else of[name].dimension
            reader.document.complain(
                ("start", key), f"the start of '{name}' has another unit than '{name}'.",
                f"Found {value!r}, expected {dimensions.text(rate)}.", "Check which is meant.",
            )  # fmt: skip
        of.setdefault(name, Known(size, False))
    declared = frozenset(of)
    for e in stated:
        for node in nodes(e):
            if isinstance(node, (sp.sin, sp.cos, sp.tan)):
                for part in sp.Add.make_args(node.args[0]):
                    angle = part.as_coeff_Mul()[1]
                    if isinstance(angle, Coordinate):
                        of.setdefault(angle.name.partition("[")[0], Known(PLAIN, False))
    return Dimensions(of, declared)


def of_inputs(reader: Reader, written: dict[str, str], courses: Mapping[str, Any]) -> None:
    """Write down the units of inputs, which are those of their courses."""
    for name, course in courses.items():
        path = ("inputs", name)
        if not isinstance(course, sp.Expr):
            check_measured(reader, (*path, "t"))
            values, path = reader.at((*path, "value")), (*path, "value")
        else:
            values = [reader.at(path)]
        said = {size: _unit(v) for v in values if (size := dimension(v)) is not None}
        if len(said) > 1:
            reader.document.complain(
                path, f"the values of '{name}' have several units.",
                f"Found {' and '.join(said.values())}.", "Give all of them in one.",
            )  # fmt: skip
        if said:
            written[name] = said.popitem()[1]
        elif isinstance(course, sp.Expr):
            try:
                size = known(reader, written, [course]).term(course)
            except Mismatch as wrong:
                reader.document.complain(path, *wrong.args)
            if size and size.written and all(p.denominator == 1 for p in size.dimension):
                written[name] = "1" if size.dimension == PLAIN else dimensions.text(size.dimension)


def check(reader: Reader, written: dict[str, str], entries: list[tuple[Path, str, Any]]) -> None:
    """Look through what was read, each with its place and its kind."""
    stated = [e for _, kind, thing in entries for e in _expressions(kind, thing)]
    measured = known(reader, written, stated)
    for path, kind, thing in entries:
        try:
            if kind in _ENERGIES:
                for e in _expressions(kind, thing):
                    measured.expect(e, *_ENERGIES[kind])
            else:
                _check_term(measured, thing)
        except Mismatch as wrong:
            reader.document.complain(path, *wrong.args)


def check_densities(
    reader: Reader, written: dict[str, str], given: dict[str, Any], fixed: dict[Any, Any]
) -> None:
    """Look through energies per length: all terms with a field alone must give it one unit.

    What is `fixed` of it must have that as well. A position is a length unless the ends of its
    interval say otherwise.
    """
    of = dict(known(reader, written, list(given.values())).of)
    symbols = {s for e in given.values() for s in symbols_in(e) if isinstance(s, Field)}
    for s in symbols:
        ends = [Dimensions(of).term(end) for end in s.over[1:]]
        size = next((k.dimension for k in ends if k and k.written), units.dimension_of("m"))
        of[s.position.name] = Known(size, False)
        # Beside the unit of the field itself, which is looked for.
        power = [s.order * -x for x in size]
        of[s.name.removesuffix(".dot")] = Known(tuple(power), False)
    measured, seen = Dimensions(of), {}
    for kind, density in given.items():
        wanted, path = _ENERGIES[kind][0], ("densities", kind)
        for part in sp.Add.make_args(density):
            alone = {s for s in symbols_in(part) if isinstance(s, Field)}
            degree = (
                sp.degree(part, *alone) if len(alone) == 1 and part.is_polynomial(*alone) else 0
            )
            try:
                size = measured.term(part)
            except Mismatch as wrong:
                reader.document.complain(path, *wrong.args)
            if not degree or size is None or not size.written:
                continue
            (field,) = alone
            along = of[field.position.name].dimension
            left = dimensions.total(dimensions.total(wanted, along, -1), size.dimension, -1)
            unit = tuple(x / int(degree) for x in left)
            other = seen.setdefault(field.stem, (part, unit))
            if other[1] != unit:
                reader.document.complain(
                    path, f"the densities give '{field.stem}' two units.",
                    f"Found {dimensions.text(other[1])} from {other[0]}, "
                    f"{dimensions.text(unit)} from {part}.",
                    "Check the units of the parameters in them.",
                )  # fmt: skip
    for key, (point, value) in zip(reader.table(("fixed",)), fixed.items()):
        path, law = ("fixed", key), measured.term(value)
        size = law.dimension if law and law.written else dimension(reader.at(path))
        if size is None or point.stem not in seen:
            continue
        along = of[point.over[0].name].dimension
        wanted = tuple(x - point.order * y for x, y in zip(seen[point.stem][1], along))
        if size != wanted:
            reader.document.complain(
                path, f"'{key}' has another unit than the densities give '{point.stem}'.",
                f"Found {dimensions.text(size)}, expected {dimensions.text(wanted)}.",
                "Check which is meant.",
            )  # fmt: skip


def check_typed(
    given: Reader, name: str, value: Any, written: dict[str, str], system: System
) -> dict[str, str]:
    """Compare the unit of a value that was typed for a name with what the model says of it.

    Where it says nothing, the value must do for its energies; returned are the units by then.
    """
    text, stem = given.at(("value",)), name.removesuffix(".dot").partition("[")[0]
    stated = [getattr(system, kind) for kind in _ENERGIES]
    try:
        measured = known(given, written, [e for part in stated for e in _expressions("work", part)])
        law = measured.term(value) if isinstance(value, sp.Expr) else None
        size = law.dimension if law and law.written else dimension(text)
        if size is None:
            return written
        if stem in measured.of:
            wanted = measured.of[stem].dimension
            wanted = dimensions.total(wanted, TIME, -1) if name.endswith(".dot") else wanted
            if size != wanted:
                raise Mismatch(
                    f"'{name}' has another unit in the model.",
                    f"Found {text} in {dimensions.text(size)}, expected {dimensions.text(wanted)}.",
                    "Check which is meant.",
                )
        elif name == stem and law is None:
            written = {**written, name: units.split(text)[1]}  # pyright: ignore[reportOptionalSubscript]
            terms = [(k, e) for k in ("loads", "friction", "constraints") for e in system._terms(k)]
            check(
                given, written, [(("value",), k, e) for k, e in (*zip(_ENERGIES, stated), *terms)]
            )
    except Mismatch as wrong:
        given.document.complain(("value",), *wrong.args)
    return written


def check_questions(
    reader: Reader, written: dict[str, str], stated: list[Any], events: list[Any]
) -> None:
    """Look through ranges, starts and events of questions: each has the unit of its name."""
    measured = known(reader, written, stated)
    of = measured.of
    for k, event in enumerate(events):
        path = ("simulate", "events", k)
        try:
            measured.term(event.expr)
            for key, value in (event.action or {}).items():
                size, wanted = measured.term(value), measured.term(sp.Symbol(str(key)))
                if size and size.written and wanted and size.dimension != wanted.dimension:
                    raise Mismatch(
                        f"the action of an event gives '{key}' another unit.",
                        f"Found {value} in {dimensions.text(size.dimension)}, expected "
                        f"{dimensions.text(wanted.dimension)}.", "Check which is meant.",
                    )  # fmt: skip
        except Mismatch as wrong:
            reader.document.complain(path, *wrong.args)

    def agree(path: Path, name: str) -> None:
        value = reader.at(path)
        for k, part in enumerate(value) if isinstance(value, list) else [(None, value)]:
            size, moving = dimension(part), name.endswith((".dot", "'"))
            wanted = of.get(name.removesuffix(".dot").rstrip("'").partition("[")[0])
            if size is None or wanted is None:
                continue
            expected = wanted.dimension
            expected = dimensions.total(expected, TIME, -1) if moving else expected
            if size != expected:
                reader.document.complain(
                    path if k is None else (*path, k), f"'{name}' has another unit here.",
                    f"Found {part!r}, expected {dimensions.text(expected)}.",
                    "Check which is meant.",
                )  # fmt: skip

    for path in (("equilibria", "within"), ("statics", "start"), ("continue", "start"),
                 ("linearize", "at"), ("modes", "at"), ("bounds", "at")):  # fmt: skip
        table = reader.at(path)
        for name in table if isinstance(table, dict) else ():
            agree((*path, name), name)
    moved = reader.at(("continue", "parameter"))
    if isinstance(moved, str):
        agree(("continue", "span"), moved)


def check_velocity(e: Any, coordinates: Any, written: Mapping[str, str]) -> None:
    """Look through what is bounded of a part on a table: two velocities and a rate of turning.

    Where no parameter with a unit stands in it, numbers may be lengths that nobody wrote.
    """
    if isinstance(e, str):
        return
    of = dict(zip((c.name for c in coordinates), map(units.dimension_of, ("m", "m", "rad"))))
    levers = [s.name for s in symbols_in(sp.S(e)) if isinstance(s, Parameter)]
    of |= {name: units.dimension_of(written[name]) for name in levers if name in written}
    if of.keys() & levers:
        Dimensions({name: Known(size, True) for name, size in of.items()}).term(e)


def _of_sliders(reader: Reader) -> dict[str, Known]:
    """Return what the coordinates of parts on a table are: two lengths and an angle."""
    of, parts = {}, reader.at(("parts",))
    for part in parts if isinstance(parts, list) else []:
        if isinstance(part, dict) and part.get("kind") == "slider":
            for name, unit in zip(part.get("at") or ("x", "y", "phi"), ("m", "m", "rad")):
                of[name] = Known(units.dimension_of(unit), False)
    return of


def _expressions(kind: str, thing: Any) -> list[Any]:
    if kind not in _ENERGIES:
        return thing.expressions()
    rest, sums = split_sums(sp.S(thing))
    return [rest, *(factor * e for factor, r in sums for e in r.expressions)]


def _check_term(of: Dimensions, term: Any) -> None:
    what = f"load '{term.name}'" if term.name else "the force of a load"
    if isinstance(term, Load):
        of.expect_work(term.force, term.on, what)
    elif isinstance(term, Friction):
        for limit in (term.limit, *([] if term.static is None else [term.static])):
            of.expect_work([limit] * len(term.on), term.on, "the limit of friction")
    elif isinstance(term, (Constraint, Pfaffian)):
        for e in term.expressions():
            of.term(e)
    elif isinstance(term, Contact):
        for e, word in ((term.friction, "friction"), (term.restitution, "restitution")):
            of.expect(e, PLAIN, f"the {word} of a contact", "a number without a unit")
        of.expect_alike(term.gap, term.slip or (), "the gap of a contact", "what slips")
    elif isinstance(term, Drag) and term.power.is_Rational:
        for on in term.on:
            along = of.term(on)
            if along:
                rate = dimensions.total(along.dimension, TIME, -1)
                power = term.power
                speed = Dimensions({**of.of, "the speed": Known(rate, along.written)})
                force = term.eta * sp.Symbol("the speed") ** power
                speed.expect_work([force], [on], "drag")
