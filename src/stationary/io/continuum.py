"""The tables of a model file that state a continuum: fields, densities, fixed values, elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from stationary.derive.discretize import discretize
from stationary.errors import DerivationError, StatementError
from stationary.io import unit_checks
from stationary.io.grammar import Token
from stationary.io.names import AbstractNames
from stationary.io.reader import Reader
from stationary.io.source import FileError
from stationary.io.toml import Path, Place
from stationary.model import fields
from stationary.model.continuum import Continuum
from stationary.model.system import System
from stationary.model.terms import Load

TABLES = ("fields", "densities", "fixed", "discretize")
DENSITIES = ("kinetic", "potential", "work", "dissipation")
_RULES: dict[str, dict[str, Any]] = {
    "kinetic": {"what": "the density of kinetic energy", "inputs": False},
    "potential": {"what": "the density of potential energy", "inputs": False},
    "work": {"what": "the density of work"},
    "dissipation": {"what": "the density of dissipation"},
}


@dataclass(frozen=True)
class FieldNames(AbstractNames):
    """Names with fields among them: u(L) is a value at a point, diff(u, X) a derivative."""

    def called(self, token: Token, arguments: list[Any], end: int) -> sp.Expr | None:
        """Return a value at a point or a derivative, or None."""
        of = self.symbols.get(token.text)
        if isinstance(of, fields.Field) and len(arguments) == 1:
            return self._tried(token, end, lambda: of.at(arguments[0]))
        if token.text == "at" and len(arguments) == 2 and isinstance(arguments[0], fields.Field):
            return self._tried(token, end, lambda: arguments[0].at(arguments[1]))
        if token.text == "diff":
            return self._derivative(token, arguments, end)
        return None

    def _derivative(self, token: Token, arguments: list[Any], end: int) -> sp.Expr:
        good = len(arguments) in (2, 3) and isinstance(arguments[1], fields.Position)
        order = arguments[2] if len(arguments) == 3 else sp.S.One
        if not good or order not in (1, 2, 3, 4):
            self.complain(
                token.start, end, "diff() does not understand its arguments.",
                "Expected what is differentiated, a position, and how often.",
                "Write diff(u, X) or diff(u, X, 2).",
            )  # fmt: skip
        return self._tried(token, end, lambda: sp.diff(arguments[0], arguments[1], int(order)))

    def _tried(self, token: Token, end: int, make: Any) -> Any:
        try:
            return make()
        except FileError:
            raise
        except StatementError as error:
            what, _, rest = str(error).partition("\n")
            self.complain(token.start, end, what, rest.strip())

    def velocity(self, e: sp.Expr, start: int, end: int) -> sp.Expr:
        """Return the rate of a field, or of anything else."""
        if isinstance(e, fields.Field) and self.velocities and not e.rate:
            return e.dot
        return super().velocity(e, start, end)

    def names(self) -> list[str]:
        """Return what is declared, and what can be called."""
        return super().names()


def declare(reader: Reader) -> bool:
    """Declare fields and their positions; return whether there are any."""
    path = ("fields",)
    if reader.at(path) is None:
        for table in TABLES[1:]:
            if reader.at((table,)) is not None:
                reader.document.complain_of_key(
                    (table,), f"[{table}] stands beside no fields.", "Expected a table [fields].",
                    'Declare them, as in [fields] u = ["X", 0, "L"].',
                )  # fmt: skip
        return False
    reader.names = FieldNames(**vars(reader.names))
    positions: dict[str, Any] = {}
    for name in reader.table(path):
        place = (*path, name)
        reader.declare(place, name, "a field")
        over = reader.at(place)
        if not isinstance(over, list) or len(over) != 3 or not isinstance(over[0], str):
            reader.document.complain(
                place, f"the interval of field '{name}' is not one.",
                f"Found {str(over)[:40]}.", f'Write {name} = ["X", 0, "L"].',
            )  # fmt: skip
        if over[0] not in positions:
            reader.declare((*place, 0), over[0], "a position", reader.document.complain)
            positions[over[0]] = fields.positions(over[0])
            reader.names.symbols[over[0]] = positions[over[0]]
        ends = [
            reader.expression((*place, k), "an end of the interval", velocities=False)
            for k in (1, 2)
        ]
        reader.names.symbols[name] = fields.field(name, over=(positions[over[0]], *ends))
    return True


def continuum(
    reader: Reader, part: System | None, loads: list[Load], name: str, units: dict[str, str]
) -> Continuum:
    """Put the continuum together, after a look at the units in it."""
    reader.table(("densities",), DENSITIES)
    given: dict[str, Any] = {}
    for kind in DENSITIES:
        place = ("densities", kind)
        if reader.at(place) is not None:
            given[kind] = reader.expression(place, **_RULES[kind])
    fixed = {}
    for key in reader.table(("fixed",)):
        place = ("fixed", key)
        fixed[_point(reader, place, key)] = reader.expression(place, "a fixed value")
    if units:
        unit_checks.check_densities(reader, units, given, fixed)
    return Continuum(**given, loads=loads, fixed=fixed, parts=[part] if part else [], name=name)


def _point(reader: Reader, path: Path, key: str) -> Any:
    """Read a key such as "u(0)" as a value at a point."""
    inner = (*path, "key")
    start, end = reader.document.places[path].key
    # Inside its quotes.
    inside = list(range(start + 1, max(start + 2, end - 1)))
    reader.document.places[inner] = Place((start, end), (start, end), inside)
    from stationary.io.grammar import parse

    value = parse(key, reader.names.within(inner, "a fixed value"))
    if not isinstance(value, fields.PointValue):
        reader.document.complain_of_key(
            path, f"'{key[:40]}' is not a value at a point.", "Expected a field at a place.",
            'Write "u(0)" = 0, or "at(diff(w, X), 0)" = 0 for a slope.',
        )  # fmt: skip
    return value


def discretized(reader: Reader, stated: Continuum) -> System:
    """Turn the continuum into a system, by the elements that the file asks for."""
    path = ("discretize",)
    reader.table(path, ("elements", "degree"))
    elements = (*path, "elements")
    count = reader.whole(elements, "'elements'", 1, 100_000) if reader.at(elements) else 40
    degree = reader.at((*path, "degree"))
    if degree is not None:
        degree = reader.whole((*path, "degree"), "'degree'", 1, 3)
    try:
        return discretize(stated, elements=count, degree=degree)
    except (StatementError, DerivationError) as error:
        what, _, rest = str(error).partition("\n")
        reader.document.complain_of_key(path, what, rest.strip())
