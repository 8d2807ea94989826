"""Model files: a system, where it starts and what is asked of it, as TOML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any, NoReturn

import numpy as np
import sympy as sp

from stationary.derive.principle import equations
from stationary.errors import StatementError, did_you_mean, say, spelled
from stationary.io import answers, questions, space, statement, unit_checks
from stationary.io import continuum as continua
from stationary.io.dimensions import Mismatch
from stationary.io.names import AbstractNames, Names, coordinate_of
from stationary.io.reader import Reader
from stationary.io.results import is_result_file, load_result
from stationary.io.robots import is_robot, load_robot
from stationary.io.source import TYPED, FileError, Source
from stationary.io.start import Rows, is_entry
from stationary.io.start import start as start_of
from stationary.io.toml import LARGEST_FILE, Document, Place, read
from stationary.model.arrays import Array
from stationary.model.checks import PREFIX
from stationary.model.contents import contents
from stationary.model.continuum import Continuum
from stationary.model.files import TooLarge, content_of
from stationary.model.interpolation import along
from stationary.model.layout import pairs
from stationary.model.symbols import Coordinate, Input, Parameter
from stationary.model.system import System
from stationary.model.views import show
from stationary.result.views import AbstractTravels

#: Every table and key at the top of a model file.
TOP = ("name", "about", "coordinates", "rotations", "inputs", "parameters", "definitions",
       "energies", *statement.TABLES, *continua.TABLES, "start", *questions.QUESTIONS)  # fmt: skip


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class Model(AbstractTravels):
    """A system together with where it starts and what is asked of it: a model file, read.

    Attributes
    ----------
    system : System
    start : dict
        Coordinates and velocities at the start, by name.
    params : dict
        Values of the parameters, by name.
    inputs : dict
        Courses of the inputs, by name: numbers or expressions.
    questions : dict
        For each question of the file, such as ``"simulate"``, its arguments.
    units : dict
        Units as they were written, by name.
    about : str
        What the file says about itself.
    continuum : Continuum or None
        What was stated by densities of fields; `system` is it, discretized.
    declared : dict
        What every name of the file stands for in its expressions.
    rows : dict
        How the starts of arrays follow from parameters, by name.

    Examples
    --------
    >>> model = st.load('''
    ... coordinates = ["theta"]
    ... [parameters]
    ... l = "50 cm"
    ... [energies]
    ... kinetic = "l^2*theta'^2/2"
    ... potential = "-9.81*l*cos(theta)"
    ... [start]
    ... theta = "30 deg"
    ... [simulate]
    ... span = [0, 1]
    ... ''')
    >>> model.params, model.start, model.span
    ({'l': 0.5}, {'theta': 0.5235987755982988}, (0.0, 1.0))
    >>> model.ask("simulate").status
    'done'
    """

    system: System
    start: dict[str, Any] = field(default_factory=dict)
    params: dict[str, float] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    questions: dict[str, dict[str, Any]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    about: str = ""
    continuum: Continuum | None = None
    declared: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, Rows] = field(default_factory=dict)

    def __post_init__(self):
        for word in ("start", "params", "inputs", "questions"):
            pairs(getattr(self, word), word)

    @property
    def outline(self) -> list[tuple[float, float]] | None:
        """The outline of the part on a table whose pressure is left open, if it has one."""
        open_ = [p.support for p in self.system.parts if p.support is not None]
        return next((list(s.points) for s in open_ if s.kind == "outline"), None)

    def ask(self, question: str, **given: Any) -> Any:
        """Ask a question of the system, with the start and the values of the file.

        A motion that ends early comes back with its status; `throw=True` raises instead.

        Parameters
        ----------
        question : str
            ``"simulate"``, ``"statics"``, ``"equilibria"``, ``"linearize"``, ``"continue"``,
            ``"slide"``, ``"modes"``, ``"bounds"``, ``"weigh"``, ``"equations"`` or ``"check"``.
        **given
            Arguments of the function that answers it, instead of those in the file.

        Examples
        --------
        >>> model = st.load('''
        ... coordinates = ["x"]
        ... [energies]
        ... kinetic = "x'^2/2"
        ... potential = "x^2/2"
        ... [start]
        ... x = 1
        ... [simulate]
        ... span = [0, 10]
        ... ''')
        >>> float(model.ask("simulate").t[-1]), float(model.ask("simulate", span=(0, 2)).t[-1])
        (10.0, 2.0)
        """
        return answers.ask(self, question, given)

    def read(self, text: str) -> Any:
        """Read an expression in the names of the file: definitions and fields among them.

        Examples
        --------
        >>> model = st.load('''
        ... coordinates = ["x"]
        ... [definitions]
        ... height = "2*x"
        ... [energies]
        ... kinetic = "x'^2/2"
        ... ''')
        >>> model.read("height' + 1")
        2*x.dot + 1
        """
        return _typed(text, "expression", self._names()).expression(("value",), "the expression")

    @property
    def along(self) -> list[Any]:
        """Values of fields at five places of their intervals: they say more than coordinates.

        Examples
        --------
        >>> model = st.load('''
        ... [fields]
        ... u = ["X", 0, 2]
        ... [densities]
        ... kinetic = "u'^2/2"
        ... potential = "diff(u, X)^2/2"
        ... [discretize]
        ... elements = 4
        ... ''')
        >>> model.along
        [u(0), u(1/2), u(1), u(3/2), u(2)]
        """
        return along(self.system)

    def unit(self, name: str) -> str:
        """Return the SI unit of a coordinate, a velocity or a parameter, "" if none is known.

        Examples
        --------
        >>> model = st.load('''
        ... [coordinates]
        ... x = "cm"
        ... [energies]
        ... kinetic = "x'^2/2"
        ... ''')
        >>> model.unit("x"), model.unit("x.dot")
        ('m', 'm/s')
        """
        return unit_checks.in_si(self.units, name)

    def changed(self, changes: Mapping[str, str]) -> Model:
        """Return the model with other values of parameters, inputs, coordinates or velocities.

        Parameters
        ----------
        changes : dict of str to str
            Values as text, by name: ``{"m": "200 g", "theta'": "1", "F": "sin(t)"}``.
        """
        params, inputs, start = dict(self.params), dict(self.inputs), {}
        names, units = self._names(), self.units
        for name, text in changes.items():
            given = _typed(text, f"{name}=", names)
            key = coordinate_of(name)
            meant = names.symbols.get(key.removesuffix(".dot"))
            if isinstance(meant, Parameter) and key == name:
                value = params[name] = given.number(("value",), f"parameter '{name}'")
            elif isinstance(meant, Coordinate) or is_entry(given, key.removesuffix(".dot")):
                value = start[key] = given.number(("value",), f"the start of '{key}'")
            elif isinstance(meant, Input) and key == name:
                value = inputs[name] = given.expression(("value",), f"the course of '{name}'")
            else:
                known = [n for n, s in names.symbols.items()
                         if isinstance(s, (Parameter, Input, Coordinate))]  # fmt: skip
                known += [f"{a.name}[{','.join('0' * len(a.base))}]" for a in names.arrays.values()]
                given.document.complain_of_key(
                    ("value",), f"'{name}' is not a parameter, an input or a coordinate.",
                    f"Known: {', '.join(known)}.",
                    did_you_mean(name, known).strip() or "Name one of these.",
                )  # fmt: skip
            units = unit_checks.check_typed(given, key, value, units, self.system)
        rows = {k: v for k, v in self.rows.items() if k not in start}
        start = self.start | {k: v.values(params) for k, v in rows.items()} | start
        return replace(self, params=params, inputs=inputs, start=start, units=units, rows=rows)

    def _names(self) -> AbstractNames:
        """Return what names stand for: as declared, or what the system holds."""
        system = self.system
        held = (*system.coordinates, *system.parameters, *system.inputs)
        known = self.declared or {s.name: s for s in held}
        arrays = {n: s for n, s in known.items() if isinstance(s, Array)}
        plain = {n: s for n, s in known.items() if n not in arrays}
        kind = Names if self.continuum is None else continua.FieldNames
        return kind(Document(Source("")), plain, arrays)

    @property
    def span(self) -> tuple[float, float] | None:
        """First and last time of the simulation that the file asks for, if it does."""
        return self.questions.get("simulate", {}).get("span")

    def __repr__(self) -> str:
        lines = [str(self.continuum or self.system)]
        if self.start:
            values = (f"{k} = {_plain(v)}" for k, v in self.start.items())
            lines.append("  starts at " + ", ".join(values))
        if self.questions:
            lines.append("  asks for " + ", ".join(self.questions))
        return "\n".join(lines)

    def _repr_latex_(self) -> str:
        stated: Any = self.system if self.continuum is None else equations(self.continuum)
        return stated._repr_latex_()

    def _repr_html_(self) -> str | None:
        return show("model", "live")(self) or None


def _plain(value: Any) -> str:
    if np.ndim(value):
        return "…"
    return f"{value:g}" if isinstance(value, float) else str(value)


@spelled
def load(path: Any, *, floating: bool = False) -> Any:
    """Read a model file, a robot, or a result that `save` has written.

    Expressions are read by a grammar of their own; nothing in the file is evaluated as a program.

    Parameters
    ----------
    path : str or Path
        The file; or its text, which has more than one line. A name that ends in ``.nc`` or
        ``.zarr`` is a result's. One that ends in ``.urdf`` is a robot's: its joints become
        coordinates of their names, and ``g`` is a parameter.
    floating : bool
        Whether the first link of a robot is free to move: a link ``base`` has the coordinates
        ``base_x``, ``base_y``, ``base_z`` and the orientation ``base_turn``.

    Returns
    -------
    Model, or the result

    Raises
    ------
    StatementError
        With the file, the line, the column and a caret under what is wrong.

    Examples
    --------
    >>> model = st.load('''
    ... coordinates = ["x"]
    ... [parameters]
    ... m = "2 kg"
    ... k = 8
    ... [energies]
    ... kinetic = "m*x'^2/2"
    ... potential = "k*x^2/2"
    ... ''')
    >>> model.system.coordinates, model.system.kinetic, model.params["m"]
    ((x,), m*x.dot**2/2, 2.0)
    """
    if is_result_file(path):
        return load_result(path)
    if is_robot(path):
        system, about = load_robot(path, floating)
        values = {p.name: p.default for p in system.parameters if p.default is not None}
        return Model(system, params=values, about=about)
    return _model(Reader(read(_source(path))))


def _typed(text: str, before: str, names: AbstractNames) -> Reader:
    """Return a reader of what was typed on its own, outside a file."""
    document = Document(Source(before + text if before.endswith("=") else text, TYPED))
    begin = len(document.source.text) - len(text)
    stretch = (begin, begin + max(1, len(text)))
    document.data = {"value": text}
    document.places[("value",)] = Place((0, max(1, begin - 1)), stretch, list(range(*stretch)))
    reader = Reader(document)
    reader.names = replace(names, document=document)
    return reader


def _source(path: Any) -> Source:
    if isinstance(path, str) and "\n" in path:
        return Source(path)
    file = FilePath(path)
    try:
        content = content_of(file, 4 * LARGEST_FILE)
    except TooLarge as error:
        raise FileError(
            say(
                f"{file}: the file is too large for a model file.",
                f"Found {error}.",
                "State what repeats once, with [[each]].",
            ),
            file=str(file),
        ) from None
    except (OSError, ValueError) as error:
        beside = (
            [p.name for p in file.parent.glob("*.toml") if p.is_file()]
            if _is_folder(file.parent)
            else []
        )
        strange = isinstance(error, FileNotFoundError)
        remedy = did_you_mean(file.name, beside).strip() if strange else ""
        if "=" in str(path):
            remedy = "Text of a model has more than one line: end it with a line break."
        raise FileError(
            say(
                f"the model file '{file}' cannot be read.",
                f"Found: {getattr(error, 'strerror', None) or error}.",
                remedy or "Check the name; 'stationary new' writes a model to start from.",
            ),
            file=str(file),
            status="missing",
        ) from None
    try:
        return Source(content.decode("utf-8"), str(file))
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", "replace")
        source = Source(before + "\ufffd", str(file))
        source.complain(
            len(before), len(before) + 1, "the file is not UTF-8 from here on.",
            f"Found the byte 0x{content[error.start]:02x}.", "Save it as UTF-8.",
        )  # fmt: skip


def _is_folder(path: FilePath) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _model(reader: Reader) -> Model:
    _check_top(reader)
    name = reader.text(("name",), "the name") if reader.at(("name",)) is not None else ""
    about = reader.text(("about",), "'about'") if reader.at(("about",)) is not None else ""
    units: dict[str, str] = {}
    coordinates = space.rotations(reader, statement.coordinates(reader, units))
    statement.parameters(reader, units)
    courses = statement.inputs(reader)
    unit_checks.of_inputs(reader, units, courses)
    spread = continua.declare(reader)
    statement.definitions(reader)
    continuum = None
    try:
        if spread:
            part, loads = statement.beside_fields(reader, coordinates)
            continuum = continua.continuum(reader, part, loads, name, units)
            system = continua.discretized(reader, continuum)
        else:
            system = statement.system(reader, coordinates, name, units)
    except FileError:
        raise
    except (StatementError, RecursionError) as error:
        _refuse(reader, error)
    rows: dict[str, Rows] = {}
    start = start_of(reader, ("start",), rows)
    units = {**unit_checks.units_of_start(reader), **units}
    units |= unit_checks.inferred(units, system.constraints) if units else {}
    questions_asked = {
        kind: questions.arguments(reader, kind)
        for kind in questions.QUESTIONS
        if reader.at((kind,)) is not None
    }
    if not spread:
        events = questions_asked.get("simulate", {}).get("events", [])
        unit_checks.check_questions(reader, units, [system.kinetic, system.potential], events)
    laws = [*courses.values()]
    if "of" in questions_asked.get("bounds", {}):
        laws.append(questions_asked["bounds"]["of"])
        try:
            unit_checks.check_velocity(laws[-1], system.coordinates, units)
        except Mismatch as wrong:
            reader.document.complain(("bounds", "of"), *wrong.args)
    laws = [s for e in laws if isinstance(e, sp.Expr) for s in contents(e).order]
    needed = (*system.parameters, *(s for s in laws if isinstance(s, Parameter)))
    used = {p.name: p.default for p in needed if p.default is not None}
    declared = {**reader.names.symbols, **reader.names.arrays}
    return Model(system, start, used, courses, questions_asked, units, about, continuum, declared,
                 rows)  # fmt: skip


def _check_top(reader: Reader) -> None:
    for key, value in reader.document.data.items():
        if key in TOP:
            continue
        kind = "table" if isinstance(value, (dict, list)) else "key"
        shown = f"[{key}]" if kind == "table" else f"'{key}'"
        home = next((t for t, keys in _HOMES.items() if key in keys), "")
        remedy = f"Move it into [{home}]." if home else did_you_mean(key, TOP).strip()
        reader.document.complain_of_key(
            (key,), f"{shown} is not a {kind} of a model file.", f"Known: {', '.join(TOP)}.",
            remedy or "Remove it.",
        )  # fmt: skip


# Keys that people put at the top, and where they belong.
_HOMES: Mapping[str, tuple[str, ...]] = {
    "energies": ("kinetic", "potential", "work", "dissipation", "T", "U", "W", "D"),
    "simulate": ("span", "points", "method"),
}


def _refuse(reader: Reader, error: Exception) -> NoReturn:
    """Show where a system that cannot be stands in the file."""
    said = str(error) if isinstance(error, StatementError) else "the system is nested too deeply."
    what, _, rest = said.partition("\n")

    def names(label: Any) -> bool:
        # Names that cannot be printed are shown with their escapes.
        return isinstance(label, str) and (f"'{label}'" in what or repr(label) in what)

    if names(reader.at(("name",))) and "name" in what:
        reader.document.complain(("name",), what, rest.strip())
    for table in statement.TABLES:
        for path in reader.tables(table) if isinstance(reader.at((table,)), list) else []:
            number = f"{PREFIX.get(table, table)}{path[-1] + 1}"
            label = reader.at((*path, "name")) or number
            if names(label):
                inner = (*path, "on") if "works on" in what else path
                reader.document.complain(inner, what, rest.strip())
        if isinstance(reader.at((table,)), dict):
            for label in reader.table((table,)):
                if names(label):
                    reader.document.complain((table, label), what, rest.strip())
    for kind in statement.ENERGIES:
        if kind in what and reader.at(("energies", kind)) is not None:
            reader.document.complain(("energies", kind), what, rest.strip())
    reader.document.complain_of_key(("energies",), what, rest.strip())
