"""Systems back to text: every expression is written in the grammar that reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import sympy as sp
from sympy.printing.str import StrPrinter

from stationary.errors import StatementError, spelled
from stationary.io import space
from stationary.io.model_file import Model, load
from stationary.io.names import RESERVED, is_column, is_name
from stationary.io.questions import QUESTIONS, parameters_of
from stationary.io.results import is_result_file, save_result
from stationary.io.statement import ENERGIES, TERMS
from stationary.model.arrays import Array
from stationary.model.built_once import Shared, opened
from stationary.model.checks import PREFIX, is_unit
from stationary.model.continuum import Continuum
from stationary.model.drawing import Part, Support
from stationary.model.each import Each, Slot, Table
from stationary.model.graphs import LARGE, nodes, written_out
from stationary.model.layout import Start, pairs
from stationary.model.space.rotation import Entry, Omega, Orientation, orientations
from stationary.model.symbols import Parameter
from stationary.model.system import System, restated
from stationary.model.terms import Drag, split_sums
from stationary.model.units import value as in_si

_FUNCTIONS = {sp.Abs: "abs", sp.Max: "max", sp.Min: "min", sp.ceiling: "ceil", sp.Heaviside: "step",
              **{getattr(sp, name): name for name in (
                  "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh",
                  "asinh", "acosh", "atanh", "exp", "log", "sign", "erf", "floor",
              )}}  # fmt: skip
_RATIOS = {sp.cot: "1/tan", sp.sec: "1/cos", sp.csc: "1/sin"}


_KEYS = {"loads": ("force", "on"), "friction": ("limit", "on", "static"),
         "constraints": ("R",), "pfaffian": ("expr",),
         "contacts": ("gap", "friction", "slip", "restitution")}  # fmt: skip


class _Printer(StrPrinter):
    """Writes expressions in the grammar of model files, numbers to their last digit."""

    def __init__(self, slots: Mapping[Slot, str]):
        super().__init__({"order": None})
        self.slots = slots

    def _print_Slot(self, e: Slot) -> str:
        return self.slots[e]

    def _print_Symbol(self, e: sp.Symbol) -> str:
        return e.name

    def _print_Mul(self, expr: sp.Mul) -> str:
        share, rest = expr.as_coeff_Mul()
        sums = (f for f in sp.Mul.make_args(rest) if f.is_Pow and f.base.is_Add)
        if not share.is_Rational or share.q == 1 or not any(f.exp.is_negative for f in sums):
            return super()._print_Mul(expr)
        # 1/(5*(x + y)) would be read with the five inside the sum.
        return f"{self._print(sp.Mul(share.p, rest))}/{share.q}"

    def _print_Float(self, e: sp.Float) -> str:
        return repr(float(e))

    def _print_Exp1(self, e: Any) -> str:
        return "exp(1)"

    def _print_Function(self, e: sp.Function) -> str:
        inside = ", ".join(self._print(a) for a in e.args)
        if e.func in _RATIOS:
            return f"({_RATIOS[e.func]}({inside}))"
        if e.func is sp.Heaviside and len(e.args) == 2:
            inside = self._print(e.args[0])
        if e.func not in _FUNCTIONS:
            _refuse(f"the function '{e.func.__name__}'", f"Found {str(e)[:60]}.")
        return f"{_FUNCTIONS[e.func]}({inside})"

    _print_Max = _print_Min = _print_Abs = _print_Heaviside = _print_Function

    def _print_Piecewise(self, e: sp.Piecewise) -> str:
        entries: list[str] = []
        for value, condition in e.args[:-1]:
            entries += [self._condition(condition), self._print(value)]
        last, always = e.args[-1]
        if always != sp.true:
            _refuse("a piecewise expression without a last value", f"Found {str(e)[:60]}.")
        return f"if({', '.join([*entries, self._print(last)])})"

    def _condition(self, e: Any) -> str:
        signs = {sp.StrictLessThan: "<", sp.LessThan: "<=", sp.StrictGreaterThan: ">",
                 sp.GreaterThan: ">="}  # fmt: skip
        if type(e) not in signs:
            _refuse("a condition other than <, <=, > or >=", f"Found {str(e)[:60]}.")
        return f"{self._print(e.lhs)} {signs[type(e)]} {self._print(e.rhs)}"

    def emptyPrinter(self, expr: Any) -> str:  # noqa: N802 (SymPy's name)
        _refuse(f"an expression of the kind '{type(expr).__name__}'", f"Found {str(expr)[:60]}.")


def _refuse(what: str, finding: str) -> NoReturn:
    raise StatementError(
        f"{what} cannot be written into a model file.",
        finding,
        "Keep this system in Python, or state it in other words.",
    )


@spelled
def save(
    system: Any,
    path: Any = None,
    *,
    start: Start | None = None,
    span: tuple[float, float] | None = None,
) -> str:
    """Write a system as a model file, or a result as NetCDF or Zarr.

    `load` gives the same system or result back, in any process; what a model file has no words for
    is refused.

    Parameters
    ----------
    system : System, Model or any result
        Results, and systems that a model file has no words for, go to files whose names end in
        ``.nc`` or ``.zarr``.
    path : str or Path, optional
        Where to write; left out, the text is only returned.
    start : dict, optional
        Coordinates and velocities at the start, by symbol or by name.
    span : pair of float, optional
        First and last time of a simulation.

    Returns
    -------
    str
        The text of a model file; nothing for a result.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> m, k = st.parameters(m=2.0, k=8.0)
    >>> oscillator = st.System(kinetic=m * x.dot**2 / 2, potential=k * x**2 / 2)
    >>> print(st.save(oscillator, start={x: 1.0}))
    coordinates = ["x"]
    <BLANKLINE>
    [parameters]
    m = 2.0
    k = 8.0
    <BLANKLINE>
    [energies]
    kinetic = "m*x.dot^2/2"
    potential = "k*x^2/2"
    <BLANKLINE>
    [start]
    x = 1.0
    <BLANKLINE>
    >>> st.load(st.save(oscillator)).system == oscillator
    True
    """
    if is_result_file(path) or not isinstance(system, (System, Model, Continuum)):
        save_result(system, path)
        return ""
    if isinstance(system, Continuum):
        _refuse("a continuum", f"Found the fields {', '.join(f.name for f in system.fields)}.")
    model = system if isinstance(system, Model) else Model(system)
    if not model.system.coordinates:
        _refuse("a system without coordinates", "Found nothing that moves.")
    if model.system.fields:
        _refuse("a discretized continuum", f"Found {model.system.size} coordinates of elements.")
    questions = dict(model.questions)
    if span is not None:
        questions["simulate"] = {**questions.get("simulate", {}), "span": tuple(map(float, span))}
    begun = {_name(k): v for k, v in {**model.start, **dict(pairs(start, "start"))}.items()}
    plain = in_full(_valued(model))
    text = _Writer(plain, model).text(begun, questions)
    again = load(text)
    if not same(in_full(again.system), plain):
        _refuse("this system", "It does not read back as it was stated.")
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def _valued(model: Model) -> System:
    """Return the system, its parameters with the values that the model gives them."""
    given = {p: Parameter(p.name, model.params.get(p.name, p.default))
             for p in model.system.parameters}  # fmt: skip
    return restated(model.system, {p: v for p, v in given.items() if p != v})


def in_full(system: System) -> System:
    """Return a system with everything that its expressions share written out, where that is short.

    What is too long to be written out is refused where it is written.
    """
    if not any(isinstance(n, Shared) for _, e in system.expressions() for n in nodes(e)):
        return system

    def change(e: sp.Expr) -> sp.Expr:
        return e if written_out(e) > LARGE else opened(e)

    kept = system.apply(change)
    kept["parts"] = tuple(part.apply(change) for part in system.parts)
    kept["constraints"] = tuple(c for c in kept["constraints"] if not is_unit(c))
    return System(**kept)


def _name(key: Any) -> str:
    if isinstance(key, (Orientation, Omega)):
        return key.name
    return key.name + ".dot" * key.order if isinstance(key, Array) else str(key)


def _turned(system: System, key: str, value: Any) -> Any:
    """Return what a file says of the start of an orientation, else the value as it is."""
    for rotation in orientations(c for c in system.coordinates if isinstance(c, Entry)):
        if key == rotation.name:
            return rotation.quaternion(value).tolist()
        if key == rotation.omega.name:
            return [float(x) for x in value]
    return value


def same(one: System, other: System) -> bool:
    """Tell whether two systems say the same, the names of placeholders aside."""
    return _content(one.known_by_name) == _content(other.known_by_name)


def _content(system: System) -> list[Any]:
    content: list[Any] = [tuple(c.name for c in system.coordinates), system.name, system.mechanism]
    for kind in ENERGIES:
        rest, sums = split_sums(getattr(system, kind))
        scaled = (([f * e for e in r.expressions], r.table) for f, r in sums)
        content.append((rest, sorted(_element(*entry) for entry in scaled)))
    for kind in TERMS:
        for term in getattr(system, kind):
            entries = term.expressions()
            written = tuple(entries) if term.table is None else _element(entries, term.table)
            content.append((type(term), term.name, written))
    content += map(_drawn, system.parts)
    return [*content, {p.name: p.default for p in system.parameters}]


def _drawn(part: Part) -> tuple:
    points = (p if isinstance(p, Array) else tuple(map(sp.S, p)) for p in part.points)
    return part.kind, tuple(points), part.angle, part.name, part.shape, part.support


def _element(expressions: list[sp.Expr], table: Table) -> tuple[str, ...]:
    """Name placeholders by what stands in them, so that two elements can be compared."""
    swap = {}
    for slot, column in table.columns.items():
        content = column._key() if isinstance(column, Array) else column.tolist()
        swap[slot] = sp.Symbol(f"slot {content!r}", real=True)
    return (str(table.rows), *(sp.srepr(e.xreplace(swap)) for e in expressions))


@dataclass
class _Writer:
    """Collects the lines of a file."""

    system: System
    model: Model
    lines: list[str] = field(default_factory=list)
    slots: dict[Slot, str] = field(default_factory=dict)

    def text(self, start: Mapping[str, Any], questions: Mapping[str, Any]) -> str:
        system = self.system
        self._check_names()
        if system.name:
            self.line("name", system.name)
        if self.model.about:
            self.line("about", self.model.about)
        units = {c.name: self.model.units.get(c.name, "") for c in system.coordinates}
        begun = {k for k, v in start.items() if isinstance(v, float)}
        # Units stand beside what starts, or beside the coordinates, which then all have one.
        beside = all(units.values()) and bool(units.keys() - begun)
        if not beside:
            self.line("coordinates", [_declared(c) for c in system.coordinates])
        turned = orientations(c for c in system.coordinates if isinstance(c, Entry))
        if turned:
            self.line("rotations", [r.name for r in turned])
        if system.inputs and not self.model.inputs:
            self.line("inputs", [u.name for u in system.inputs])
        if beside:
            self.table("coordinates", {
                _declared(c): self.model.unit(c.name) or units[c.name] for c in system.coordinates
            })  # fmt: skip
        known = {p.name: p for p in (*system.parameters, *self._parameters_beside(questions))}
        if known:
            self.table("parameters", {name: self._parameter(p) for name, p in known.items()})
        if self.model.inputs:
            self.table("inputs", {u.name: self._course(u.name) for u in system.inputs})
        self._energies()
        self._repeated()
        for kind in TERMS:
            for number, term in enumerate(getattr(system, kind), 1):
                if not is_unit(term):
                    self._term(kind, term, number)
        for part in system.parts:
            self.table("drawing", self._drawing(part), many=True)
        if system.mechanism:
            both = {"x": system.mechanism.x, "inertia": system.mechanism.inertia}
            self.table("mechanism", {k: self._several(v) for k, v in both.items()})
        if start:
            units = {k: self.model.unit(k) for k, v in start.items() if isinstance(v, float)}
            begun = {k: _turned(system, k, v) for k, v in start.items()}
            self.table("start", begun | {k: f"{start[k]!r} {u}" for k, u in units.items() if u})
        for kind in QUESTIONS:
            if kind in questions:
                inner = ("events", "pushes")
                plain = {k: self.expression(v) if isinstance(v, sp.Expr) else v
                         for k, v in questions[kind].items() if k not in inner}  # fmt: skip
                self.table(kind, plain)
                for event in questions[kind].get("events", ()):
                    self.table(f"{kind}.events", self._event(event), many=True)
                for push in questions[kind].get("pushes", ()):
                    entries = {k: v for k, v in asdict(push).items() if v is not None}
                    self.table(f"{kind}.pushes", entries, many=True)
        return "\n".join(self.lines) + "\n"

    def _check_names(self) -> None:
        system = self.system
        for thing in (*system.coordinates, *system.parameters, *system.inputs):
            if not is_name(thing.name) or thing.name in RESERVED:
                _refuse(f"the name '{thing.name}'", "Names are letters, digits and underscores, "
                        "begin with a letter, and are not functions.")  # fmt: skip

    def _parameters_beside(self, questions: Mapping[str, Any]) -> list[Parameter]:
        """Return the parameters of what stands beside the system: courses, events, bounds."""
        laws = [*self.model.inputs.values(), *(v for q in questions.values() for v in q.values())]
        events = (x for question in questions.values() for x in question.get("events", ()))
        return parameters_of(events, [e for e in laws if isinstance(e, sp.Expr)])

    def _parameter(self, p: Any) -> Any:
        unit = self.model.units.get(p.name)
        value = self.model.params.get(p.name, p.default)
        if value is None:
            return ""
        # A unit that is the SI unit itself is kept as it was written, of others it takes the place.
        unit = unit if unit and in_si("1", unit) == 1 else self.model.unit(p.name)
        return f"{value!r} {unit}" if unit else value

    def _course(self, name: str) -> Any:
        course = self.model.inputs.get(name, "")
        if isinstance(course, tuple):
            return {"t": course[0], "value": course[1]}
        return self.expression(course) if isinstance(course, sp.Expr) else course

    def _energies(self) -> None:
        plain = {}
        for kind in ENERGIES:
            rest, _ = split_sums(getattr(self.system, kind))
            if rest != 0:
                plain[kind] = self.expression(rest)
        if plain:
            self.table("energies", plain)

    def _term(self, kind: str, term: Any, number: int) -> None:
        entries: dict[str, Any] = {} if term.table is None else self._columns(term)
        for key in ("eta", "power", "on") if isinstance(term, Drag) else _KEYS[kind]:
            value = getattr(term, key)
            if value is None or (key in ("friction", "restitution") and value == 0):
                continue
            entries[key] = (
                self._several(value) if isinstance(value, tuple) else self.expression(value)
            )
        if term.name and term.name != f"{PREFIX[kind]}{number}":
            entries["name"] = term.name
        self.table(kind, entries, many=True)

    def _repeated(self) -> None:
        for kind in ENERGIES:
            for factor, r in split_sums(getattr(self.system, kind))[1]:
                columns = self._columns(r)
                entries = {"kind": kind, **columns, "expression": self.expression(r.expressions[0])}
                if factor != 1:
                    entries["factor"] = self.expression(factor)
                self.table("each", entries, many=True)

    def _columns(self, repeated: Any) -> dict[str, Any]:
        """Name the placeholders of a table; return the keys that state it."""
        table = repeated.table
        columns: dict[str, Any] = {}
        expressions = repeated.expressions if isinstance(repeated, Each) else repeated.expressions()
        used = set().union(*(e.free_symbols for e in expressions))
        taken = {s.name for s in used} | RESERVED | {"i"}
        for slot in sorted((s for s in table.columns if s in used), key=lambda s: s.name):
            column = table.columns[slot]
            if isinstance(column, Array):
                self.slots[slot] = self._entry(column, slot.name, columns, taken)
            elif is_column(slot.name):
                self.slots[slot] = slot.name
                columns[slot.name] = column
            else:
                self.slots[slot] = _free(_word(slot.name), taken)
                columns[self.slots[slot]] = column
        keys: dict[str, Any] = {"rows": table.rows}
        return {**keys, "table": dict(sorted(columns.items()))} if columns else keys

    def _entry(self, column: Array, stem: str, columns: dict[str, Any], taken: set[str]) -> str:
        """Write a column of coordinates as r[i+1,0], or by a list of its places."""
        axes = np.unravel_index(column.index, column.base)
        written = []
        for k, axis in enumerate(axes):
            if np.array_equal(axis, axis[0] + np.arange(len(axis))) and (
                len(axis) > 1 or len(axes) == 1
            ):
                written.append("i" + (f"+{axis[0]}" if axis[0] else ""))
            elif np.all(axis == axis[0]):
                written.append(str(axis[0]))
            else:
                known = next((k for k, v in columns.items() if np.array_equal(v, axis)), None)
                name = known or _free(_index_name(stem, column.name, k), taken)
                columns[name] = axis
                written.append(name)
        if not any(re.match("[^0-9]", w) for w in written):
            written[0] = f"i+{written[0]}" if written[0] != "0" else "i"
        return f"{column.name}[{','.join(written)}]" + ".dot" * column.order

    def _drawing(self, part: Part) -> dict[str, Any]:
        entries: dict[str, Any] = {"kind": part.kind}
        columns: dict[str, Any] = {}
        points, taken = [], set(RESERVED)
        for point in part.points:
            if isinstance(point, Array) and len(point.shape) == 2:
                entries["rows"] = len(point)
                view: Any = point
                views = (view[:, k] for k in range(point.shape[1]))
                points.append([self._entry(view, "a", columns, taken) for view in views])
            else:
                points.append([self.expression(sp.S(e)) for e in point])
        if columns:
            entries["table"] = columns
        entries["points"] = points
        if part.angle is not None:
            entries["angle"] = self.expression(part.angle)
        if part.shape is not None:
            entries |= space.written(part.shape, lambda e: self.expression(sp.S(e)))
        if part.support is not None:
            entries["support"] = _support(part.support)
        return {**entries, "name": part.name} if part.name else entries

    def _event(self, event: Any) -> dict[str, Any]:
        entries: dict[str, Any] = {"expr": self.expression(event.expr)}
        entries |= {"terminal": True} if event.terminal else {}
        entries |= {"direction": event.direction} if event.direction else {}
        entries |= {"name": event.name} if event.name else {}
        if event.action:
            jumps = {_name(k): self.expression(sp.S(e)) for k, e in event.action.items()}
            entries["action"] = jumps
        return entries

    # -- values ---------------------------------------------------------------------------------

    def expression(self, e: sp.Expr) -> str:
        if (size := written_out(e)) > LARGE:
            _refuse("an expression so large", f"Found {size:.3g} terms and factors written out, "
                    f"expected at most {LARGE}.")  # fmt: skip
        return _Printer(self.slots).doprint(e).replace("**", "^")

    def _several(self, entries: tuple) -> Any:
        written = [self.expression(e) for e in entries]
        return written[0] if len(written) == 1 else written

    def line(self, key: str, value: Any) -> None:
        self.lines.append(f"{_key(key)} = {_toml(value)}")

    def table(self, name: str, entries: Mapping[str, Any], many: bool = False) -> None:
        self.lines += ["", f"[[{name}]]" if many else f"[{name}]"]
        for key, value in entries.items():
            self.line(key, value)


def _support(support: Support) -> dict[str, Any]:
    """Return where a part may rest whose pressure is left open."""
    disc = support.kind == "disc"
    where = {"radius": support.radius} if disc else {support.kind: support.points}
    rests: dict[str, Any] = {**where, "weight": support.weight}
    return rests if support.centre is None else {**rests, "centre": support.centre}


def _declared(c: Any) -> str:
    return f"{c.name}[{','.join(map(str, c.base))}]" if isinstance(c, Array) else c.name


def _word(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_") or "a"


def _index_name(slot: str, array: str, axis: int) -> str:
    """Name a list of places: as in ``r[j,0]`` where the placeholder has such a name already."""
    stem, _, inside = slot.removesuffix(".dot").partition("[")
    names = inside.rstrip("]").split(",")
    if stem == array and axis < len(names) and is_name(names[axis]) and names[axis] != "i":
        return names[axis]
    return _word(slot)


def _free(stem: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, and take it."""
    name, count = stem if is_name(stem) else f"a_{stem}", 1
    while name in taken:
        name, count = f"{stem}_{count}", count + 1
    taken.add(name)
    return name


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: Any) -> str:
    """Write a value as TOML."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda m: f"\\u{ord(m[0]):04x}", escaped) + '"'
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(k))} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return repr(float(value))
