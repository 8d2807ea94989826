"""The tables of a model file that state a system."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from stationary.errors import StatementError
from stationary.io import space, unit_checks
from stationary.io.names import AbstractNames, Rows, is_column
from stationary.io.reader import Reader
from stationary.io.source import FileError
from stationary.io.toml import Path
from stationary.model import parts, symbols
from stationary.model import units as unit
from stationary.model.arrays import Array
from stationary.model.drawing import DRAWN, Part, Support
from stationary.model.each import Each, Slot, table_of
from stationary.model.slider import Pusher, slider, support_of
from stationary.model.system import Mechanism, System
from stationary.model.terms import Constraint, Contact, Drag, Friction, Load, Pfaffian

ENERGIES = ("kinetic", "potential", "work", "dissipation")
TERMS = ("loads", "friction", "constraints", "pfaffian", "contacts")
TABLES = (*TERMS, "each", "parts", "drawing", "mechanism")

_MOST_COORDINATES = 1_000_000
# By name, one after the other; an array holds more.
_MOST_NAMED = 20_000
_MOST_POINTS = 100_000
_MOST_ROWS = 1_000_000

# What may stand in an energy.
_RULES: dict[str, dict[str, Any]] = {
    "kinetic": {"what": "the kinetic energy", "inputs": False},
    "potential": {"what": "the potential energy", "inputs": False, "velocities": False},
    "work": {"what": "the work", "velocities": False},
    "dissipation": {"what": "the dissipation"},
}


# -- names --------------------------------------------------------------------------------------


def coordinates(reader: Reader, units: dict[str, str]) -> list[Any]:
    """Make the coordinates, given as a list of names or as a table of names and units."""
    path = ("coordinates",)
    given = reader.at(path)
    if given is None and (reader.at(("fields",)) or reader.at(("rotations",))) is not None:
        return []
    if given is None:
        reader.document.source.complain(
            0, 1, "the file declares no coordinates.", "Expected a key 'coordinates'.",
            'Begin with coordinates = ["x", "theta"].',
        )  # fmt: skip
    if isinstance(given, dict):
        entries = [((*path, name), name, True) for name in reader.table(path)]
        units |= {
            name.partition("[")[0].strip(): reader.text((*path, name), f"the unit of '{name}'")
            for name in given
        }
    else:
        listed = reader.items(path, "'coordinates'")
        entries = [(p, reader.text(p, "a coordinate"), False) for p in listed]
    if len(entries) > _MOST_NAMED:
        reader.document.complain(
            path, "the file declares too many coordinates by name.",
            f"Found {len(entries)}, expected at most {_MOST_NAMED}.",
            'Declare an array, as in "r[1000,2]".',
        )  # fmt: skip
    declared: list[Any] = []
    for place, text, is_key in entries:
        complain = reader.document.complain_of_key if is_key else reader.document.complain
        match = re.fullmatch(r"\s*([^\[\]]*?)\s*(?:\[([\d\s,]+)\])?\s*", text)
        name = reader.declare(place, match[1] if match else text, "a coordinate", complain)
        sizes = [part.strip() for part in (match[2] or "").split(",")] if match and match[2] else []
        if not sizes:
            declared.append(symbols.Coordinate(name))
            reader.names.symbols[name] = declared[-1]
            continue
        good = all(s.isdecimal() and 0 < len(s) < 8 and int(s) for s in sizes) and len(sizes) < 4
        shape = tuple(int(s) for s in sizes) if good else (0,)
        if not 0 < math.prod(shape) <= _MOST_COORDINATES:
            complain(place, f"the shape of '{name}' is not one.",
                     f"Found [{match[2] if match else ''}], expected one to three whole numbers, "
                     f"with a product of at most {_MOST_COORDINATES}.",
                     'Write it as in "r[100,2]".')  # fmt: skip
        places = np.arange(int(np.prod(shape))).reshape(shape)
        declared.append(Array(name, shape, places, 0))
        reader.names.arrays[name] = declared[-1]
    single = symbols.declared_together(c for c in declared if not isinstance(c, Array))
    reader.names.symbols.update({c.name: c for c in single})
    return [reader.names.symbols.get(c.name, c) for c in declared]


def parameters(reader: Reader, units: dict[str, str]) -> None:
    """Declare the parameters: a number, text with a unit, or "" for none."""
    for name in reader.table(("parameters",)):
        path = ("parameters", name)
        reader.declare(path, name, "a parameter")
        given = reader.at(path)
        if given == "":
            reader.names.symbols[name] = symbols.Parameter(name)
            continue
        if isinstance(given, str):
            pair = unit.split(given)
            if pair is None:
                _not_a_value(reader, path, name, given)
            if pair[1]:
                units[name] = pair[1]
        value = reader.number(path, f"parameter '{name}'")
        reader.names.symbols[name] = symbols.Parameter(name, value)


def _not_a_value(reader: Reader, path: Path, name: str, given: str) -> NoReturn:
    home = "energies" if name in ENERGIES else "definitions"
    reader.document.complain(
        path, f"parameter '{name}' is not a number.",
        f"Found {given[:40]!r}, expected a number with or without a unit, as in \"5 cm\".",
        f"Put expressions into [{home}].",
    )  # fmt: skip


def inputs(reader: Reader) -> dict[str, Any]:
    """Declare the inputs; return their courses where the file gives them."""
    path = ("inputs",)
    given = reader.at(path)
    if given is None:
        return {}
    if not isinstance(given, dict):
        for place in reader.items(path, "'inputs'"):
            name = reader.text(place, "an input")
            reader.declare(place, name, "an input", reader.document.complain)
            reader.names.symbols[name] = symbols.Input(name)
        return {}
    names = reader.table(path)
    for name in names:
        reader.declare((*path, name), name, "an input")
        reader.names.symbols[name] = symbols.Input(name)
    return {
        name: _course(reader, (*path, name), f"the course of '{name}'")
        for name in names
        if given[name] != ""
    }


def _course(reader: Reader, path: Path, what: str) -> Any:
    if not isinstance(reader.at(path), dict):
        return reader.expression(path, what, inputs=False)
    reader.table(path, ("t", "value"), what)
    times, values = (reader.numbers((*path, key), f"{what}: {key}") for key in ("t", "value"))
    return times, values


def definitions(reader: Reader) -> None:
    """Read names for expressions; later ones may use earlier ones."""
    for name in reader.table(("definitions",)):
        path = ("definitions", name)
        reader.declare(path, name, "a definition")
        reader.names.symbols[name] = reader.expression(path, f"definition '{name}'")


# -- the system ---------------------------------------------------------------------------------


def system(
    reader: Reader, coordinates: list[Any], name: str, units: dict[str, str] | None = None
) -> System:
    """Put the system together, after a look at the units in it."""
    fields: dict[str, Any] = {kind: [] for kind in TERMS}
    entries: list[tuple[Path, str, Any]] = []
    reader.table(("energies",), ENERGIES)
    for kind in ENERGIES:
        path = ("energies", kind)
        given = reader.at(path) is not None
        fields[kind] = reader.expression(path, **_RULES[kind]) if given else 0
        entries.append((path, kind, fields[kind]))
    for kind in TERMS:
        if kind == "constraints" and isinstance(reader.at((kind,)), dict):
            # The short form: a table of names and expressions.
            for key in reader.table((kind,)):
                R = reader.vector((kind, key), f"constraint '{key}'", velocities=False)
                fields[kind].append(Constraint(R, name=key))
                entries.append(((kind, key), kind, fields[kind][-1]))
            continue
        for path in reader.tables(kind):
            fields[kind].append(_term(reader, kind, path))
            entries.append((path, kind, fields[kind][-1]))
    for path in reader.tables("each"):
        kind, repeated = _each(reader, path)
        fields[kind] += repeated
        entries.append((path, kind, repeated))
    drawn = [_drawing(reader, path) for path in reader.tables("drawing")]
    stated = System(**fields, parts=tuple(drawn), name=name, mechanism=_mechanism(reader))
    added = [stated]
    for path in reader.tables("parts"):
        part = _part(reader, path)
        added.append(part)
        entries += [(path, kind, getattr(part, kind)) for kind in ENERGIES]
        entries += [(path, kind, term) for kind in TERMS for term in part._terms(kind)]
    if units:
        unit_checks.check(reader, units, entries)
    while len(added) > 1:
        # In pairs: one after the other, every sum would go through all before it.
        last = added[-1:] if len(added) % 2 else []
        added = [one + other for one, other in zip(added[::2], added[1::2])] + last
    stated = added[0]
    whole = {c.name for c in coordinates}
    stray = [c.name for c in stated.coordinates if c.name.partition("[")[0] not in whole]
    assert not stray, stray
    kept = {key: getattr(stated, key) for key in (*ENERGIES, "parts", "mechanism")}
    kept |= {key: stated._terms(key) for key in TERMS}
    return System(**kept, coordinates=tuple(coordinates), name=name)


def beside_fields(reader: Reader, coordinates: list[Any]) -> tuple[System | None, list[Load]]:
    """Return what stands beside densities: ordinary energies at points, and the loads."""
    for table in ("friction", "pfaffian", "contacts", "each", "constraints", "mechanism"):
        if reader.at((table,)) is not None:
            reader.document.complain_of_key(
                (table,), f"[{table}] cannot stand beside fields.",
                "A continuum has densities, loads, fixed values and energies at points.",
                "Discretize it in Python and add the rest there.",
            )  # fmt: skip
    loads = [_term(reader, "loads", path) for path in reader.tables("loads")]
    energies = {
        kind: reader.expression(("energies", kind), **_RULES[kind])
        for kind in reader.table(("energies",), ENERGIES)
    }
    part = System(**energies, coordinates=tuple(coordinates) or None) if energies else None
    for path in reader.tables("parts"):
        more = _part(reader, path)
        part = more if part is None else part + more
    return part, loads


def _name(reader: Reader, path: Path) -> str | None:
    return reader.text((*path, "name"), "a name") if reader.at((*path, "name")) else None


def _term(reader: Reader, kind: str, path: Path) -> Any:
    """Read one entry of [[loads]], [[constraints]] and so on; with rows it repeats."""
    drag = kind == "friction" and reader.at((*path, "eta")) is not None
    fields = _DRAG if drag else _FIELDS[kind]
    reader.table(path, [*fields, "name", "rows", "table"], f"[[{kind}]]")
    names = _rows(reader, path)
    given: dict[str, Any] = {}
    for key, (what, needed, vector, rules) in fields.items():
        place = (*path, key)
        if reader.at(place) is not None:
            take = reader.vector if vector else reader.expression
            given[key] = take(place, what, names, **rules)
        elif needed:
            reader.document.complain_of_key(
                path, f"an entry of {kind} has no '{key}'.",
                f"Expected {', '.join(k for k, f in fields.items() if f[1])}.", f"Add {key} = ….",
            )  # fmt: skip
    make = {"loads": Load, "friction": Drag if drag else Friction, "constraints": Constraint,
            "pfaffian": Pfaffian, "contacts": Contact}[kind]  # fmt: skip
    try:
        term = make(**given, name=_name(reader, path))
    except FileError:
        raise
    except StatementError as error:
        reader.document.complain_of_key(path, *(line.strip() for line in str(error).split("\n")))
    return (
        term
        if names.rows is None
        else replace(term, table=table_of(names.rows.count, names.rows.columns, term.expressions()))
    )


# For each key of a term: what it is, whether it must be there, whether it may be a list, and rules.
Entry = tuple[str, bool, bool, dict[str, Any]]
_PLACE: dict[str, Any] = {"velocities": False, "inputs": False}
_FIELDS: dict[str, dict[str, Entry]] = {
    "loads": {
        "force": ("the force of a load", True, True, {}),
        "on": ("what a load works on", True, True, _PLACE),
    },
    "friction": {
        "limit": ("the limit of friction", True, False, {}),
        "on": ("what friction works on", True, True, _PLACE),
        "static": ("the limit of friction at rest", False, False, {}),
    },
    "constraints": {"R": ("a constraint", True, True, _PLACE)},
    "pfaffian": {"expr": ("a constraint on velocities", True, True, {"inputs": False})},
    "contacts": {
        "gap": ("the gap of a contact", True, False, _PLACE),
        "friction": ("the coefficient of friction", False, False, _PLACE),
        "slip": ("the slip of a contact", False, True, _PLACE),
        "restitution": ("the restitution of a contact", False, False, _PLACE),
    },
}
_DRAG: dict[str, Entry] = {
    "eta": ("the coefficient of drag", True, False, {}),
    "power": ("the power of drag", True, False, {"velocities": False}),
    "on": ("what drag works on", True, True, _PLACE),
}


# -- repetition ---------------------------------------------------------------------------------


def _rows(reader: Reader, path: Path) -> AbstractNames:
    """Return the names for an entry, with its rows if it has them."""
    if reader.at((*path, "rows")) is None:
        if reader.at((*path, "table")) is not None:
            reader.document.complain_of_key(
                (*path, "table"), "a table stands beside no rows.", "Expected rows = ….",
                "Say how many rows there are.",
            )  # fmt: skip
        return reader.names
    count = reader.whole((*path, "rows"), "'rows'", 1, _MOST_ROWS)
    tables: dict[str, np.ndarray] = {}
    for key in reader.table((*path, "table"), what="a table of rows"):
        place = (*path, "table", key)
        if "[" not in key or not is_column(key):
            reader.declare(place, key, "a column")
        tables[key] = reader.numbers(place, f"column '{key}'")
        if tables[key].shape != (count,):
            reader.document.complain(
                place, f"column '{key}' has another number of rows.",
                f"Found shape {tables[key].shape}, expected ({count},).",
                "Give one number for each row.",
            )  # fmt: skip
    return replace(reader.names, rows=Rows(count, tables))


def _each(reader: Reader, path: Path) -> tuple[str, Any]:
    """Read an element of energy that repeats, and of which energy it is."""
    reader.table(path, ("kind", "rows", "expression", "table", "factor"), "[[each]]")
    for key, example in (("kind", '"potential"'), ("rows", "99"), ("expression", '"k*r[i,0]^2/2"')):
        if reader.at((*path, key)) is None:
            reader.document.complain_of_key(
                path, f"an entry of each has no '{key}'.", "Expected kind, rows and expression.",
                f"Add {key} = {example}, say.",
            )  # fmt: skip
    kind = reader.choice((*path, "kind"), "the kind of an energy", ENERGIES)
    names = _rows(reader, path)
    assert names.rows is not None
    element = reader.expression((*path, "expression"), names=names, **_RULES[kind])
    repeated = Each((element,), table_of(names.rows.count, names.rows.columns, (element,)))
    factor = (*path, "factor")
    scale = reader.expression(factor, "a factor", **_PLACE) if reader.at(factor) is not None else 1
    return kind, scale * repeated


# -- parts and pictures ---------------------------------------------------------------------------


def _point(reader: Reader, path: Path, what: str) -> tuple:
    return reader.vector(path, what, **_PLACE)


def _between(reader: Reader, path: Path) -> tuple:
    place = (*path, "between")
    if not isinstance(reader.at(place), list) or len(reader.at(place)) != 2:
        reader.document.complain(
            place, "'between' is not a pair of points.", "Expected two of them.",
            'Write between = [["0", "0"], ["x", "y"]].',
        )  # fmt: skip
    P, Q = (_point(reader, (*place, k), "an end") for k in (0, 1))
    return P, Q


def _part(reader: Reader, path: Path) -> System:
    """Read a part: a system of its own, drawn in pictures."""
    place = (*path, "kind")
    if reader.at(place) is None:
        reader.document.complain_of_key(
            path, "a part has no 'kind'.", f"Known: {', '.join(PARTS)}.", 'Add kind = "particle".'
        )
    kind = reader.choice(place, "the kind of a part", PARTS)
    needed, optional, make = PARTS[kind]
    reader.table(path, ("kind", *needed, *optional, "name"), f"a {kind} of [[parts]]")
    for key in needed:
        if reader.at((*path, key)) is None:
            reader.document.complain_of_key(
                path, f"a {kind} has no '{key}'.", f"Expected {', '.join(needed)}.",
                f"Add {key} = ….",
            )  # fmt: skip
    try:
        return make(reader, path, _name(reader, path) or "")
    except FileError:
        raise
    except StatementError as error:
        reader.refuse(path, error)


def _value(reader: Reader, path: Path, key: str) -> Any:
    place = (*path, key)
    return 0 if reader.at(place) is None else reader.expression(place, f"'{key}'", **_PLACE)


def _particle(reader: Reader, path: Path, name: str) -> System:
    return parts.particle(
        _value(reader, path, "m"), at=_point(reader, (*path, "at"), "a position"),
        gravity=_value(reader, path, "gravity"), name=name,
    )  # fmt: skip


def _body(reader: Reader, path: Path, name: str) -> System:
    return parts.body(
        _value(reader, path, "m"), inertia=_value(reader, path, "inertia"),
        at=_point(reader, (*path, "at"), "a position"), angle=_value(reader, path, "angle"),
        gravity=_value(reader, path, "gravity"), name=name,
    )  # fmt: skip


def _spring(reader: Reader, path: Path, name: str) -> System:
    return parts.spring(_value(reader, path, "k"), between=_between(reader, path),
                        rest=_value(reader, path, "rest"), name=name)  # fmt: skip


def _damper(reader: Reader, path: Path, name: str) -> System:
    return parts.damper(_value(reader, path, "c"), between=_between(reader, path), name=name)


def _rod(reader: Reader, path: Path, name: str) -> System:
    P, Q = _between(reader, path)
    return parts.rod(P, Q, _value(reader, path, "length"), name=name)


def _slider(reader: Reader, path: Path, name: str) -> System:
    """Read a rigid part on a rough table."""
    words = ("points", "weights", "outline", "radius", "weight", "centre")
    given: dict[str, Any] = {
        key: reader.numbers((*path, key), f"'{key}'")
        for key in words
        if reader.at((*path, key)) is not None
    }
    for key in (*given, "limit"):
        unit_checks.check_measured(reader, (*path, key))
    given = {key: float(v) if np.ndim(v) == 0 else v for key, v in given.items()}
    if reader.at((*path, "limit")) is not None:
        given["limit"] = _value(reader, path, "limit")
    if reader.at((*path, "count")) is not None:
        given["count"] = reader.whole((*path, "count"), "'count'", most=_MOST_POINTS)
    for key in ("points", "outline"):
        if np.size(given.get(key, ())) > 2 * _MOST_POINTS:
            reader.document.complain(
                (*path, key), f"'{key}' has too many rows.",
                f"Found {np.size(given[key]) // 2}, expected at most {_MOST_POINTS}.",
                "Leave some out.",
            )  # fmt: skip
    names = reader.at((*path, "at")) or ["x", "y", "phi"]
    placed = [reader.names.symbols.get(n) for n in names if isinstance(n, str)]
    if len(placed) != 3 or not all(isinstance(c, symbols.Coordinate) for c in placed):
        reader.document.complain_of_key(
            path, "a slider has no place.", "Expected three coordinates: position and angle.",
            'Declare x, y and phi, or write at = ["x", "y", "phi"] with your names.',
        )  # fmt: skip
    where: Any = tuple(placed)
    pusher = _pusher(reader, (*path, "pusher"))
    return slider(**given, pusher=pusher, at=where, name=name or "slider")


def _pusher(reader: Reader, path: Path) -> Pusher | None:
    """Read what pushes a slider: a point against an edge, or a fence against a corner."""
    if reader.at(path) is None:
        return None
    keys = ("point", "edge", "corner", "normal", "friction", "name")
    reader.table(path, keys, "'pusher'")
    if reader.at((*path, "point")) is None:
        reader.document.complain(
            path, "a pusher has no 'point'.", "Expected where it is, over time.",
            'Add point = ["0.1", "t - 0.5"].',
        )  # fmt: skip
    given: dict[str, Any] = {"friction": _value(reader, path, "friction")}
    for key in ("point", "normal"):
        if reader.at((*path, key)) is not None:
            given[key] = _point(reader, (*path, key), f"'{key}' of a pusher")
    for key in ("edge", "corner"):
        if reader.at((*path, key)) is not None:
            given[key] = reader.numbers((*path, key), f"'{key}' of a pusher").tolist()
    named = _name(reader, path)
    return Pusher(**given, **({"name": named} if named else {}))


#: For each kind of part its keys, those that may be left out, and what makes it.
PARTS: dict[str, tuple[tuple[str, ...], tuple[str, ...], Callable[..., System]]] = {
    "particle": (("m", "at"), ("gravity",), _particle),
    "body": (("m", "inertia", "at", "angle"), ("gravity",), _body),
    "spring": (("k", "between"), ("rest",), _spring),
    "damper": (("c", "between"), (), _damper),
    "rod": (("between", "length"), (), _rod),
    "slider": (
        (),
        (
            "points",
            "weights",
            "outline",
            "radius",
            "limit",
            "weight",
            "centre",
            "count",
            "at",
            "pusher",
        ),
        _slider,
    ),
}


def _drawing(reader: Reader, path: Path) -> Part:
    """Read what pictures show and physics does not know of."""
    keys = ("kind", "points", "angle", "name", "rows", "table", "shape", "size", "axis", "support")
    reader.table(path, keys, "[[drawing]]")
    kind = reader.choice((*path, "kind"), "the kind of a drawing", tuple(DRAWN))
    names = _rows(reader, path)
    places = reader.items((*path, "points"), "'points'")
    points = tuple(_row_of_points(reader, p, names) for p in places)
    count = DRAWN[kind]
    if not points or len(points) != (count or len(points)):
        shown = '[["X", "Y"]]' if count == 1 else '[["0", "0"], ["X", "Y"]]'
        reader.document.complain(
            (*path, "points"), f"a drawing of kind '{kind}' has another number of points.",
            f"Found {len(points)}, expected {count or 'one or more'}.", f"Write points = {shown}.",
        )  # fmt: skip
    turned = reader.at((*path, "angle")) is not None
    angle = _value(reader, path, "angle") if turned else None
    form = space.shape(reader, path)
    rests = _support(reader, (*path, "support"))
    return Part(kind, points, angle=angle, name=_name(reader, path), shape=form, support=rests)


def _support(reader: Reader, path: Path) -> Support | None:
    """Read where a part may rest whose pressure is left open."""
    if reader.at(path) is None:
        return None
    words = ("points", "outline", "radius", "weight", "centre")
    given: dict[str, Any] = dict.fromkeys(words)
    for key in reader.table(path, words, "'support'"):
        number = reader.numbers((*path, key), f"'{key}'")
        unit_checks.check_measured(reader, (*path, key))
        given[key] = float(number) if np.ndim(number) == 0 else number
    return support_of(**given, known={})


def _row_of_points(reader: Reader, path: Path, names: AbstractNames) -> Any:
    """Read a point; with rows, and entries of an array in it, a view of that array."""
    entries = reader.vector(path, "a point", names, **_PLACE)
    if names.rows is None or not any(isinstance(e, Slot) for e in entries):
        return entries
    columns = [names.rows.columns.get(e) if isinstance(e, Slot) else None for e in entries]
    arrays = {c.name: c for c in columns if isinstance(c, Array)}
    if len(arrays) != 1 or not all(isinstance(c, Array) for c in columns):
        reader.document.complain(
            path, "a point that repeats is not made of one array.",
            "Expected entries of the same array of coordinates.",
            'Write it as in ["r[i,0]", "r[i,1]"].',
        )  # fmt: skip
    (array,) = arrays.values()
    return replace(array, index=np.stack([c.index for c in columns if c is not None], axis=-1))


def _mechanism(reader: Reader) -> Mechanism | None:
    path = ("mechanism",)
    if reader.at(path) is None:
        return None
    reader.table(path, ("x", "inertia"))
    x, inertia = (reader.vector((*path, key), f"'{key}'", **_PLACE) for key in ("x", "inertia"))
    return Mechanism(x, inertia)
