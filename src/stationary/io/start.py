"""The table of a model file that says where coordinates, velocities and fields start."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp

from stationary.derive.from_sympy import Translator
from stationary.errors import did_you_mean
from stationary.io.names import coordinate_of
from stationary.io.reader import Reader
from stationary.io.toml import Path
from stationary.model import symbols
from stationary.model.arrays import Array
from stationary.model.contents import contents
from stationary.model.fields import Field

#: The number of a row, from 0.
ROW = symbols.Parameter("i")


@dataclass(frozen=True)
class Rows:
    """The start of an array as the file writes it: columns that follow from the number of a row."""

    first: np.ndarray
    columns: tuple[tuple[tuple[int, ...], sp.Expr], ...] = ()

    def values(self, params: Mapping[str, float]) -> np.ndarray:
        """Return the array under values of parameters, by name."""
        whole = np.array(self.first)
        counted = ca.DM(np.arange(len(whole), dtype=float))
        for axes, e in self.columns:
            own = {s: params.get(s.name, s.default) for s in contents(e).order if s != ROW}
            column = Translator({**own, ROW: counted})(e)
            values = np.broadcast_to(np.ravel(np.asarray(column)), whole.shape[:1])
            whole[(slice(None), *axes)] = values
        return whole


def start(reader: Reader, path: Path, rows: dict[str, Rows] | None = None) -> dict[str, Any]:
    """Read values of coordinates and velocities, by name; keep how those of rows are written."""
    state: dict[str, Any] = {}
    written: dict[str, Rows] = {} if rows is None else rows
    for key in reader.table(path):
        place = (*path, key)
        inner = reader.at(place)
        if isinstance(inner, dict):
            # TOML reads theta.dot = 1 as an entry inside a table.
            turned = ("omega",) if key in reader.names.rotations else ("dot",)
            for suffix in reader.table(place, turned, f"'{key}'"):
                state[f"{key}.{suffix}"] = _state(reader, (*place, suffix), f"{key}.{suffix}")
            continue
        name = coordinate_of(key)
        row = re.fullmatch(r"(\w+)\[i(?:,(\d{1,8}))?\](\.dot)?", name.replace(" ", ""))
        if row and row[1] in reader.names.arrays:
            name = row[1] + (row[3] or "")
            axes, e = _column(reader, place, row)
            empty = np.zeros(reader.names.arrays[row[1]].base)
            known = written.get(name, Rows(np.array(state.get(name, empty), dtype=float)))
            written[name] = replace(known, columns=(*known.columns, (axes, e)))
            state[name] = written[name].values({})
            continue
        state[name] = _state(reader, place, name)
    return {_key(reader, name): value for name, value in state.items()}


def _column(reader: Reader, path: Path, rows: re.Match) -> tuple[tuple[int, ...], sp.Expr]:
    """Read the start of every row of an array, as in "r[i,0]" = "0.02*i"."""
    array = reader.names.arrays[rows[1]]
    axes = () if rows[2] is None else (int(rows[2]),)
    if len(array.base) != 1 + len(axes) or any(k >= n for k, n in zip(axes, array.base[1:])):
        reader.document.complain_of_key(
            path, f"'{rows[0]}' is no column of '{rows[1]}'.", f"Its shape is {array.base}.",
            f"Write {rows[1]}[i{',0' * (len(array.base) - 1)}].",
        )  # fmt: skip
    names = replace(reader.names, symbols={**reader.names.symbols, "i": ROW})
    e = reader.expression(path, f"the start of '{rows[0]}'", names, velocities=False, inputs=False)
    moving = [s for s in contents(e).order if not isinstance(s, symbols.Parameter)]
    valueless = [s for s in contents(e).order if s != ROW and getattr(s, "default", 0) is None]
    if moving or valueless:
        reader.document.complain(
            path, f"the start of '{rows[0]}' is no number.",
            f"Found '{(moving or valueless)[0]}' in it; expected i and parameters with values.",
            "Write it in terms of i, the number of the row from 0.",
        )  # fmt: skip
    return axes, e


def _key(reader: Reader, name: str) -> Any:
    """Return a name, or the field that it names: only fields start from an expression."""
    field = reader.names.symbols.get(name.removesuffix(".dot"))
    if not isinstance(field, Field):
        return name
    return field.dot if name.endswith(".dot") else field


def _state(reader: Reader, path: Path, name: str) -> Any:
    if name.removesuffix(".omega") in reader.names.rotations:
        return reader.numbers(path, f"the start of '{name}'")
    stem = name.removesuffix(".dot")
    if isinstance(reader.names.symbols.get(stem), Field):
        return reader.expression(path, f"the start of '{name}'", velocities=False, inputs=False)
    if stem in reader.names.arrays:
        array = reader.names.arrays[stem]
        values = reader.numbers(path, f"the start of '{name}'")
        if values.shape not in ((), array.base):
            reader.document.complain(
                path, f"the start of '{name}' has another shape.",
                f"Found {values.shape}, expected {array.base}.", "Give one number for each entry.",
            )  # fmt: skip
        return np.broadcast_to(values, array.base)
    known = [n for n, s in reader.names.symbols.items() if isinstance(s, symbols.Coordinate)]
    if stem not in known and not is_entry(reader, stem):
        known += reader.names.arrays
        reader.document.complain_of_key(
            path, f"'{stem}' is not a coordinate.", f"Coordinates: {', '.join(known)}.",
            "Give its value in [parameters]."
            if isinstance(reader.names.symbols.get(stem), symbols.Parameter)
            else did_you_mean(stem, known).strip() or "Declare it in coordinates.",
        )  # fmt: skip
    return reader.number(path, f"the start of '{name}'")


def is_entry(reader: Reader, name: str) -> bool:
    """Tell whether this names an entry of an array, such as r[0,1]."""
    match = re.fullmatch(r"(\w+)\[([\d,\s]{1,40})\]", name)
    array: Array | None = reader.names.arrays.get(match[1]) if match else None
    if array is None or match is None:
        return False
    places = [p.strip() for p in match[2].split(",")]
    return len(places) == len(array.base) and all(
        p.isdecimal() and len(p) < 9 and int(p) < size for p, size in zip(places, array.base)
    )
