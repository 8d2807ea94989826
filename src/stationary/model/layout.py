"""Where every coordinate, parameter and input stands in its vector, and what a user's key means."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import sympy as sp
from scipy.spatial.transform import Rotation as Turned
from sympy.core.function import AppliedUndef

from stationary.errors import StatementError, did_you_mean, no_dictionary
from stationary.model.arrays import Array
from stationary.model.checks import is_unit
from stationary.model.fields import AbstractAtPoint, Field
from stationary.model.interpolation import course, interpolation_of, point_named, values_by_name
from stationary.model.kinematics import PLAIN, Kinematics
from stationary.model.numbers import as_real, number_of
from stationary.model.space.rotation import Omega, Orientation, body_rates
from stationary.model.symbols import Coordinate, Parameter, from_dynamicsymbols
from stationary.model.terms import Contact

if TYPE_CHECKING:
    from stationary.model.system import System

# Arguments that give values to coordinates; others ask for them.
_GIVING = ("start", "at", "within")


@dataclass(frozen=True)
class Rows:
    """The multipliers of one constraint: where they stand in λ, and in which shape they are read.

    A repeated constraint has one row per row of its table.
    """

    name: str
    first: int
    shape: tuple[int, ...]
    holonomic: bool
    #: Whether it was stated: what keeps an orientation on its unit sphere is not.
    stated: bool = True

    @cached_property
    def places(self) -> np.ndarray:
        """Entries of λ, in the shape in which they are read."""
        return self.first + np.arange(int(np.prod(self.shape))).reshape(self.shape)


class AbstractPlaced(Protocol):
    """A result that is a start as well."""

    def as_start(self) -> dict[str, float]:
        """Return coordinates, and velocities where it moves, by name."""
        ...


#: Coordinates and velocities by symbols or names, or a result that knows its own.
Start = Mapping[Any, Any] | AbstractPlaced


@dataclass(frozen=True)
class Layout:
    """The vectors q, p and u of a system: which entry belongs to which name."""

    system: System

    def __reduce__(self) -> tuple:
        return Layout, (self.system,)

    @cached_property
    def offsets(self) -> dict[str, int]:
        """First entry of every coordinate or array of coordinates in q."""
        offsets, place = {}, 0
        for c in self.system.coordinates:
            offsets[c.name] = place
            place += c.size if isinstance(c, Array) else 1
        return offsets

    @cached_property
    def arrays(self) -> dict[str, Array]:
        """The arrays of coordinates, by name."""
        return {c.name: c for c in self.system.coordinates if isinstance(c, Array)}

    @cached_property
    def alike(self) -> list[np.ndarray]:
        """Groups of entries of q that have one unit: those of an array; values, slopes of a field.

        Of functions of a user's own nobody knows the units.
        """
        fields = {f.array.name: f for f in self.system.fields if f.array is not None}
        groups = []
        for name, array in self.arrays.items():
            entries = self.offsets[name] + np.arange(array.size)
            if (f := fields.get(name)) is None:
                groups.append(entries)
            elif f.basis is not None:
                powers = np.zeros(f.size, dtype=int)
                powers[f.table] = f.basis.powers
                groups += [entries[powers[f.free] == k] for k in set(f.basis.powers)]
        return groups

    def place(self, coordinate: Coordinate | Array) -> np.ndarray:
        """Return the entries of q that a coordinate, an entry of an array or a view stands for."""
        if isinstance(coordinate, Array):
            return self.offsets[coordinate.name] + coordinate.index
        if coordinate.name in self.offsets:
            return np.array(self.offsets[coordinate.name])
        if isinstance(coordinate, AbstractAtPoint):
            return self._at_point(coordinate)
        stem, _, index = coordinate.name.partition("[")
        place = tuple(int(i) for i in index.rstrip("]").split(","))
        flat = np.ravel_multi_index(place, self.arrays[stem].base)
        return np.array(self.offsets[stem] + int(flat))

    def _at_point(self, point: AbstractAtPoint) -> np.ndarray:
        """Return the entry of q that is the value of a field at a point."""
        value = interpolation_of(self.system, point.field).value(point.value)
        if not isinstance(value, Coordinate):
            raise StatementError(
                f"'{point.value}' is no coordinate of its own.",
                f"Found {point.value} = {value}.",
                "Start or ask for what it follows from.",
            )
        return self.place(value)

    def name(self, entry: int) -> str:
        """Return the name of entry `entry` of q."""
        number = bisect_right(self._starts, entry) - 1
        c, start = self.system.coordinates[number], self._starts[number]
        if not 0 <= entry < start + (c.size if isinstance(c, Array) else 1):
            raise IndexError(entry)
        return c.symbol(entry - start).name if isinstance(c, Array) else c.name

    def named(self, q: np.ndarray, v: np.ndarray | None = None) -> dict[str, float]:
        """Return a state by the names of entries, as a start is given."""
        names = [self.name(i) for i in range(len(q))]
        rates = {} if v is None else {f"{name}.dot": float(x) for name, x in zip(names, v)}
        return {name: float(x) for name, x in zip(names, q)} | rates

    @cached_property
    def _starts(self) -> list[int]:
        return list(self.offsets.values())

    @cached_property
    def kinematics(self) -> Kinematics:
        """How places are moved and compared; numbers that add unless some are quaternions."""
        turned = [term for term in self.system.constraints if term.quaternion]
        if not turned:
            return PLAIN
        places = [[int(self.place(entry)) for entry in term.quaternion] for term in turned]
        labels = tuple(self.name(i) for i in range(self.system.size))
        return Kinematics(labels, np.array(places), tuple(term.name for term in turned))

    @cached_property
    def rows(self) -> tuple[Rows, ...]:
        """The rows of A and entries of λ, constraint by constraint."""
        rows, first = [], 0
        for kind in ("constraints", "pfaffian"):
            for term in getattr(self.system, kind):
                components = len(term.R if kind == "constraints" else term.expr)
                shape = (components,) if components > 1 else ()
                if term.table is not None:
                    shape = (term.table.rows, *shape)
                rows.append(Rows(term.name, first, shape, kind == "constraints", not is_unit(term)))
                first += int(np.prod(shape))
        return tuple(rows)

    @cached_property
    def holonomic(self) -> np.ndarray:
        """Which rows hold places, and not rates alone."""
        holds = [np.full(rows.places.size, rows.holonomic) for rows in self.rows]
        return np.concatenate([np.zeros(0, dtype=bool), *holds])

    @cached_property
    def gaps(self) -> tuple[Rows, ...]:
        """The contacts: where their gaps and forces stand, counted from zero."""
        gaps, first = [], 0
        for term in self.system.contacts:
            shape = () if term.table is None else (term.table.rows,)
            gaps.append(Rows(term.name, first, shape, True))
            first += int(np.prod(shape))
        return tuple(gaps)

    @cached_property
    def rubbing(self) -> tuple[Any, ...]:
        """The contacts that state friction."""
        contacts = self.system.contacts
        return tuple(x for x in contacts if x.slip is not None and x.friction != 0)

    @cached_property
    def slips(self) -> tuple[Rows, ...]:
        """The rates against which friction acts: of friction terms, then of contacts."""
        slips, first = [], 0
        for term in (*self.system.friction, *self.rubbing):
            components = len(term.slip if isinstance(term, Contact) else term.on)
            shape = (components,) if components > 1 else ()
            if term.table is not None:
                shape = (term.table.rows, *shape)
            slips.append(Rows(term.name or "", first, shape, False))
            first += int(np.prod(shape))
        return tuple(slips)

    @cached_property
    def multipliers(self) -> int:
        """Number of rows of A."""
        return sum(r.places.size for r in self.rows)

    @cached_property
    def contacts(self) -> int:
        """Number of contacts."""
        return sum(r.places.size for r in self.gaps)

    @cached_property
    def rates(self) -> int:
        """Number of rates against which friction acts."""
        return sum(r.places.size for r in self.slips)

    @cached_property
    def stated(self) -> np.ndarray:
        """The rows of A that were stated, without those that orientations hold themselves by."""
        return np.concatenate(
            [np.zeros(0, dtype=int), *(r.places.ravel() for r in self.rows if r.stated)]
        )

    def row_name(self, row: int) -> str:
        """Return the name of row `row` of A: the constraint's, with its place if it has several."""
        return _entry_name(self.rows, row)

    def gap_name(self, entry: int) -> str:
        """Return the name of a contact, with its place if it is repeated."""
        return _entry_name(self.gaps, entry)

    # -- what a key means ---------------------------------------------------------------------

    def resolve(self, key: Any, what: str) -> tuple[np.ndarray, int]:
        """Return the entries of q that a key names, and 0, 1 or 2 for q, q̇ or q̈."""
        if isinstance(key, Array) and key.name in self.arrays:
            if key.base != self.arrays[key.name].base:
                raise StatementError(
                    f"{what} names the array '{key.name}' with another shape.",
                    f"Found {key.base}, expected {self.arrays[key.name].base}.",
                    "Use the array that the system was stated with.",
                )
            return self.place(key), key.order
        if isinstance(key, Array):
            # Stated entry by entry, it is still asked for as a whole.
            names = [key.whole.symbol(int(i)).name for i in key.index.ravel()]
            if all(n in self.offsets for n in names):
                places = [self.offsets[n] for n in names]
                return np.array(places, dtype=int).reshape(key.shape), key.order
        if isinstance(key, str) and self.system.fields:
            key = point_named(self.system, key) or key
        turned = self.turned(key)
        if turned is not None:
            return turned[1], turned[2]
        if isinstance(key, AbstractAtPoint) and key.value.name not in self.offsets:
            return self._at_point(key), key.rate
        name = name_of(key)
        stem, order = name, 0
        for suffix, derivative in ((".ddot", 2), (".dot", 1)):
            if name.endswith(suffix):
                stem, order = name.removesuffix(suffix), derivative
        base = stem.partition("[")[0]
        if base in self.arrays:
            if base == stem:
                return self.place(self.arrays[base]), order
            if re.fullmatch(r"\w+\[\d+(,\d+)*\]", stem):
                try:
                    return self.place(Coordinate(stem)), order
                except ValueError:
                    pass
        elif stem in self.offsets:
            return self.place(Coordinate(stem)), order
        known = [n + d for n in self.offsets for d in ("", ".dot")]
        known += [n + d for n in self.kinematics.names for d in ("", ".omega")]
        raise StatementError(
            f"{what} names '{name}', which is not a coordinate or a velocity of this system.",
            f"Coordinates: {', '.join(self.offsets) or 'none'}.{did_you_mean(name, known)}",
            (belonging(self.system, name) if what in _GIVING else "")
            or "The velocity of x is x.dot, or 'x.dot' by name.",
        )

    def turned(self, key: Any) -> tuple[Orientation, np.ndarray, int] | None:
        """Return the orientation that a key names, its entries of q, and 1 for the key ``R.omega``.

        None where the key names no orientation.
        """
        if not isinstance(key, (Orientation, Omega, str)):
            return None
        name = key if isinstance(key, str) else key.name
        for known, places in zip(self.kinematics.names, self.kinematics.quaternions):
            if name in (known, f"{known}.omega"):
                return Orientation(known), places, int(name != known)
        return None

    def as_declared(self, e: sp.Expr) -> Any:
        """Return an expression whose plain symbols are those of the system with their names."""
        plain = [s for s in e.free_symbols if type(s) is sp.Symbol]
        if not plain:
            return e
        s = self.system
        places = [x for c in s.coordinates if not isinstance(c, Array) for x in (c, c.dot)]
        known = {x.name: x for x in (*places, *s.parameters, *s.inputs)}
        return e.xreplace({x: known[x.name] for x in plain if x.name in known})

    def looked_up(self, key: Any, q: np.ndarray, v: np.ndarray | None = None) -> Any:
        """Return what an orientation's key says of states: a rotation, or angular velocities.

        None where the key names no orientation.
        """
        turned = self.turned(key)
        if turned is None:
            return None
        _, places, order = turned
        if not order:
            return Turned.from_quat(q[..., places], scalar_first=True)
        v = np.zeros_like(q) if v is None else v
        return body_rates(q[..., places], v[..., places])

    @cached_property
    def _defaults(self) -> np.ndarray | None:
        """The parameters if each has a default."""
        defaults = [p.default for p in self.system.parameters]
        return None if None in defaults else np.array(defaults, dtype=float)

    def values(self, params: Mapping[Any, float] | None) -> np.ndarray:
        """Return the vector of parameters: what is given, else the defaults."""
        if not params and not self.system.fields and self._defaults is not None:
            return self._defaults.copy()
        known = {p.name: p for p in self.system.parameters}
        given: dict[str, float] = {}
        for key, value in pairs(params, "params"):
            name = name_of(key)
            if name not in known:
                raise StatementError(
                    f"params names '{name}', which is not a parameter of this system.",
                    f"Parameters: {', '.join(known) or 'none'}.{did_you_mean(name, known)}",
                    belonging(self.system, name) or "Remove it, or use it in the statement.",
                )
            given[name] = number(value, f"the value of parameter '{name}'")
        missing = [n for n, p in known.items() if n not in given and p.default is None]
        if missing:
            raise StatementError(
                f"parameter '{missing[0]}' has no value."
                if len(missing) == 1
                else f"parameters {', '.join(map(repr, missing))} have no value.",
                "Expected one, since no default was declared.",
                f"Pass params={{{', '.join(f'{n!r}: …' for n in missing)}}}, or declare "
                f"st.parameters({', '.join(f'{n}=…' for n in missing)}).",
            )
        values = np.array([given.get(n, p.default) for n, p in known.items()], dtype=float)
        for field in self.system.fields:
            field.positions(values_by_name(self.system, values))
        return values

    @cached_property
    def _known(self) -> dict[Any, tuple[int, int]]:
        """Where single coordinates and velocities stand in q and q̇, by symbol and by name."""
        places: dict[Any, tuple[int, int]] = {}
        for c in self.system.coordinates:
            if not isinstance(c, Array):
                place = self.offsets[c.name]
                places |= {c: (place, 0), c.name: (place, 0)}
                places |= {c.dot: (place, 1), c.dot.name: (place, 1)}
        return places

    def state(
        self, start: Start | None, values: np.ndarray | None = None, what: str = "start"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return q and q̇ at the start; what is left out is zero, and an orientation unturned.

        `values` are those of the parameters, on which the course of a field may depend; `what` is
        the argument that gave the start.
        """
        vectors = np.zeros(self.system.size), np.zeros(self.system.size)
        spins: list[tuple[Orientation, np.ndarray, Any]] = []
        for key, value in pairs(start, what):
            turned = self.turned(key)
            if turned is not None:
                rotation, places, order = turned
                if order:
                    spins.append((rotation, places, value))
                else:
                    vectors[0][places] = rotation.quaternion(value)
                continue
            if isinstance(key, Field) and self.system.fields:
                self._start_field(key, value, vectors, values)
                continue
            known = self._known.get(key) if isinstance(key, (sp.Symbol, str)) else None
            if known is not None and isinstance(value, float) and isfinite(value):
                vectors[known[1]][known[0]] = value
                continue
            places, order = self.resolve(key, what)
            if order > 1:
                raise StatementError(
                    f"{what} gives the acceleration '{name_of(key)}'.",
                    "Expected coordinates and velocities.",
                    "Remove it: accelerations follow from the equations.",
                )
            try:
                entries = np.broadcast_to(
                    as_real("none" if value is None else value), np.shape(places)
                )
            except (TypeError, ValueError, OverflowError):
                raise StatementError(
                    f"{what} of '{_shown(key)}' is not a number or an array of numbers.",
                    f"Found {str(value)[:60]!r}, expected shape {np.shape(places)}.",
                    "Give numbers, in SI units and radians.",
                ) from None
            if not np.all(np.isfinite(entries)):
                raise StatementError(
                    f"{what} of '{_shown(key)}' is not finite.",
                    f"Found {str(value)[:60]}.",
                    "Give finite numbers.",
                )
            vectors[order][places] = entries
        for real, *rest in self.kinematics.quaternions:
            if not vectors[0][[real, *rest]].any():
                vectors[0][real] = 1.0
        for rotation, places, value in spins:
            size = np.linalg.norm(vectors[0][places])
            vectors[1][places] = rotation.rates(vectors[0][places] / size, value)
        return vectors

    def _start_field(self, key: Field, value: Any, vectors: tuple, values: Any) -> None:
        """Start a field, or its rate, on a given course."""
        interpolation = interpolation_of(self.system, key)
        if key.order or key.rate > 1:
            raise StatementError(
                f"start gives '{key}', a derivative that is no state.",
                f"Expected '{interpolation.field}' or '{interpolation.field.dot}'.",
                "Start the field itself; its derivatives follow.",
            )
        values = self.values(None) if values is None else values
        if interpolation.array is not None:
            entries = course(interpolation, value, values_by_name(self.system, values))
            vectors[key.rate][self.place(interpolation.array)] = entries


def _entry_name(rows: tuple[Rows, ...], entry: int) -> str:
    for r in rows:
        if entry < r.first + r.places.size:
            place = np.unravel_index(entry - r.first, r.shape) if r.shape else ()
            return r.name + "".join(f"[{int(i)}]" for i in place)
    raise IndexError(entry)


def pairs(given: Any, what: str) -> Iterable[tuple[Any, Any]]:
    """Return the keys and values that a user gave, as a dictionary or as a result that is one."""
    if given is None:
        return ()
    if hasattr(given, "as_start"):
        given = given.as_start()
    wrong = no_dictionary(what, given)
    if wrong:
        raise StatementError(*wrong)
    return given.items()


def name_of(key: Any) -> str:
    """Return the name that a user's key stands for: a symbol, a dynamicsymbol or a text."""
    if isinstance(key, str):
        return key
    if isinstance(key, (AppliedUndef, sp.Derivative)):
        key = from_dynamicsymbols(key)
    if isinstance(key, Array):
        return key.name + ".dot" * key.order
    if isinstance(key, (sp.Symbol, Orientation, Omega)):
        return key.name
    raise StatementError(
        f"{str(key)[:60]!r} cannot be used as a key.",
        f"Found {type(key).__name__}, expected a symbol or a name.",
        "Use the symbol itself, or its name as text.",
    )


def belonging(system: System, name: str) -> str:
    """Say which argument takes the value of a name of the system; nothing of a strange name."""
    if name in (p.name for p in system.parameters):
        return f"'{name}' is a parameter: give its value in params."
    if name in (u.name for u in system.inputs):
        return f"'{name}' is an input: give its course in inputs."
    if name.removesuffix(".dot").partition("[")[0] in (c.name for c in system.coordinates):
        return f"'{name}' is what moves: give its first value in start."
    return ""


def number(value: Any, what: str) -> float:
    """Take a finite number; refuse anything else by name."""
    taken = number_of(value)
    if not np.isfinite(taken):
        remedy = "Give a number."
        if isinstance(value, str):
            remedy = "Give a number, in SI units and radians: units are read in model files."
        elif isinstance(value, sp.Expr) and value.free_symbols - value.atoms(Parameter):
            remedy = (
                "Give a number; what changes over time or with the state is an input, st.inputs."
            )
        raise StatementError(
            f"{what} is not a finite number.", f"Found {str(value)[:60]!r}.", remedy
        )
    return taken


def _shown(key: Any) -> str:
    return repr(key) if isinstance(key, Array) else name_of(key)
