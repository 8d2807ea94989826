"""The questions that a model file asks: one table each, with the arguments of the function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import sympy as sp

from stationary.errors import StatementError, did_you_mean
from stationary.io.dimensions import TIME
from stationary.io.names import coordinate_of
from stationary.io.reader import Reader
from stationary.io.source import FileError
from stationary.io.start import start as start_of
from stationary.io.toml import Path
from stationary.io.unit_checks import check_measured, dimension
from stationary.model.graphs import symbols_in
from stationary.model.push import Push
from stationary.model.symbols import Coordinate, Parameter
from stationary.solve.motion.events import Event
from stationary.solve.pressure.bounds.bounds import WORDS


def _span(reader: Reader, path: Path) -> tuple[float, float]:
    first, last = reader.pair(path, "the span")
    for k, end in enumerate(reader.at(path)):
        size = dimension(end)
        if path[0] in ("simulate", "slide") and size not in (None, TIME):
            reader.document.complain((*path, k), "the span is no time.", f"Found {end!r}.",
                                     'Give seconds, or a unit of time, as in "20 ms".')  # fmt: skip
    if not first < last:
        reader.document.complain(path, "the span is empty or reversed.", f"Found {first:g} and "
                                 f"{last:g}.", "Give the smaller end first.")  # fmt: skip
    return first, last


def _whole(reader: Reader, path: Path) -> int:
    return reader.whole(path, f"'{path[-1]}'")


def _points(reader: Reader, path: Path) -> int:
    return reader.whole(path, f"'{path[-1]}'", fewest=2)


def _number(reader: Reader, path: Path) -> float:
    return reader.number(path, f"'{path[-1]}'")


def _positive(reader: Reader, path: Path) -> float:
    number = _number(reader, path)
    if not number > 0:
        reader.document.complain(path, f"'{path[-1]}' is not positive.", f"Found {number:g}.",
                                 "Give a number above zero.")  # fmt: skip
    return number


def _within(reader: Reader, path: Path) -> dict[str, tuple[float, float]]:
    box = {}
    for key in reader.table(path, what="'within'"):
        _known(reader, (*path, key), key, Coordinate, "coordinate")
        box[key] = reader.pair((*path, key), f"the range of '{key}'")
    return box


def _parameter(reader: Reader, path: Path) -> str:
    name = reader.text(path, "'parameter'")
    _known(reader, path, name, Parameter, "parameter")
    return name


def _known(reader: Reader, path: Path, name: str, kind: type, word: str) -> None:
    known = [n for n, s in reader.names.symbols.items() if isinstance(s, kind)]
    if kind is Coordinate:
        known += reader.names.arrays
    if name.partition("[")[0] not in known:
        reader.document.complain(
            path, f"'{name[:40]}' is not a {word}.", f"Known: {', '.join(known) or 'none'}.",
            did_you_mean(name, known).strip() or f"Declare the {word}.",
        )  # fmt: skip


#: The methods of a simulation; those of one step take it from ``step``.
METHODS = ("auto", "Taylor", "BDF", "Runge", "Variational", "Moreau")


def _method(reader: Reader, path: Path) -> str:
    return reader.choice(path, "the method", METHODS)


def _events(reader: Reader, path: Path) -> list[Event]:
    """Read what is to be watched for, and what it does to the state."""
    keys = ("expr", "terminal", "direction", "name", "action")
    events = []
    entries = reader.at(path)
    if not isinstance(entries, list):
        reader.wrong(path, "'events' is not a list of tables.", "[[simulate.events]]",
                     "Write [[simulate.events]] once for each.")  # fmt: skip
    for k in range(len(entries)):
        here = (*path, k)
        stated = reader.table(here, keys, "[[simulate.events]]")
        if "expr" not in stated:
            reader.document.complain(
                here, "an event has no 'expr'.", f"Found {', '.join(stated) or 'nothing'}.",
                'Say what becomes zero, as in expr = "y".',
            )  # fmt: skip
        terminal = reader.at((*here, "terminal")) or False
        if not isinstance(terminal, bool):
            reader.wrong((*here, "terminal"), "'terminal' is not true or false.", "true or false",
                         "Write terminal = true where the motion ends there.")  # fmt: skip
        toward = (*here, "direction")
        events.append(Event(
            reader.expression((*here, "expr"), "the expression of an event", inputs=False),
            terminal=terminal,
            direction=reader.whole(toward, "'direction'", -1, 1) if "direction" in stated else 0,
            name=reader.text((*here, "name"), "'name'") if "name" in stated else None,
            action=_action(reader, (*here, "action")) if "action" in stated else None,
        ))  # fmt: skip
    return events


def parameters_of(events: Iterable[Event], laws: Iterable[sp.Expr] = ()) -> list[Parameter]:
    """Return the parameters of events and of laws, each once."""
    every = [*laws, *(e for x in events for e in (x.expr, *(x.action or {}).values()))]
    parameters = {s for e in every for s in symbols_in(e) if isinstance(s, Parameter)}
    return sorted(parameters, key=str)


def _action(reader: Reader, path: Path) -> dict[str, Any]:
    """Read the values that coordinates and velocities jump to."""
    jumps = {}
    for key in reader.table(path, what="'action'"):
        places = {key: (*path, key)}
        if isinstance(reader.at((*path, key)), dict):
            # TOML reads theta.dot = 1 as an entry inside a table.
            inner = reader.table((*path, key), ("dot",), f"'{key}'")
            places = {f"{key}.{word}": (*path, key, word) for word in inner}
        for written, place in places.items():
            name = coordinate_of(written)
            _known(reader, place, name.removesuffix(".dot"), Coordinate, "coordinate")
            jumps[name] = reader.expression(place, "the action of an event", inputs=False)
    return jumps


def _kind(reader: Reader, path: Path) -> str:
    return reader.choice(path, "the kind of equilibrium", ("minimum", "any"))


def _sliding(reader: Reader, path: Path) -> str:
    return reader.choice(path, "the method", ("auto", "events", "increments"))


def _bounded(reader: Reader, path: Path) -> Any:
    """Read what is bounded over all pressures: a word, or an expression of velocities."""
    if isinstance(reader.at(path), str) and reader.at(path) in WORDS:
        return reader.at(path)
    return reader.expression(path, "what is bounded", inputs=False)


def _noise(reader: Reader, path: Path) -> tuple[float, ...]:
    return tuple(np.ravel(reader.numbers(path, "the noise")).tolist())


def _outline(reader: Reader, path: Path) -> list[list[float]]:
    return reader.numbers(path, "the outline").tolist()


def _pushes(reader: Reader, path: Path) -> list[Push]:
    """Read measured pushes: a file beside the model, or a table for each."""
    try:
        return _measured(reader, path)
    except FileError:
        raise
    except StatementError as error:
        reader.refuse(path, error)


def _measured(reader: Reader, path: Path) -> list[Push]:
    if isinstance(reader.at(path), str):
        # The name of a text that stands in no file is no folder.
        file = FilePath(reader.document.source.name).parent / reader.at(path)
        own = (*path[:-1], "outline")
        corners = _own_outline(reader) if reader.at(own) is None else _outline(reader, own)
        thick = (*path[:-1], "radius")
        radius = 0.0 if reader.at(thick) is None else _number(reader, thick)
        return Push.from_csv(file, outline=corners, radius=radius)
    if not isinstance(reader.at(path), list):
        reader.wrong(path, "'pushes' is no list of pushes.", "the name of a file, or tables",
                     'Write pushes = "pushes.csv", or [[weigh.pushes]] once for each.')  # fmt: skip
    words = [f.name for f in fields(Push)]
    pushes = []
    for k in range(len(reader.at(path))):
        given = reader.table((*path, k), words, "[[weigh.pushes]]")
        numbers = {key: reader.numbers((*path, k, key), f"'{key}'") for key in given}
        for key in given:
            check_measured(reader, (*path, k, key))
        try:
            pushes.append(Push(**{key: np.ravel(x) for key, x in numbers.items()}))
        except StatementError as error:
            reader.refuse((*path, k), error)
    return pushes


def _own_outline(reader: Reader) -> Any:
    """Return the outline of the part that the file states, if it is one."""
    parts = reader.at(("parts",))
    for k, part in enumerate(parts if isinstance(parts, list) else []):
        if isinstance(part, dict) and "outline" in part:
            return _outline(reader, ("parts", k, "outline"))
    return None


Take = Callable[[Reader, Path], Any]

#: For each question its keys and what reads them.
QUESTIONS: dict[str, dict[str, Take]] = {
    "simulate": {"span": _span, "points": _points, "method": _method, "step": _positive,
                 "rtol": _positive, "atol": _positive, "events": _events},
    "statics": {"start": start_of, "kind": _kind, "t": _number},
    "equilibria": {"within": _within, "t": _number},
    "linearize": {"at": start_of, "t": _number},
    "continue": {"parameter": _parameter, "span": _span, "start": start_of,
                 "points": _whole, "seconds": _positive},
    "slide": {"span": _span, "points": _points, "method": _sliding, "step": _positive,
              "rtol": _positive},
    "modes": {"count": _whole, "at": start_of, "t": _number},
    "bounds": {"of": _bounded, "at": start_of, "t": _number, "count": _whole, "prove": _positive},
    "weigh": {"pushes": _pushes, "noise": _noise, "friction": _number, "outline": _outline,
              "radius": _number},
}  # fmt: skip


def arguments(reader: Reader, kind: str) -> dict[str, Any]:
    """Read the table of one question."""
    takes = QUESTIONS[kind]
    path = (kind,)
    given = {key: takes[key](reader, (*path, key)) for key in reader.table(path, takes)}
    for key in given:
        check_measured(reader, (*path, key))
    return given
