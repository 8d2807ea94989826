"""What names in a model file stand for, and what may stand where."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
import sympy as sp

from stationary.errors import did_you_mean
from stationary.io.grammar import FUNCTIONS, Index, Token
from stationary.io.nodes import Nodes
from stationary.io.toml import Document, Path
from stationary.model.arrays import Array
from stationary.model.contents import contents
from stationary.model.each import Slot
from stationary.model.symbols import Coordinate, Input, Parameter, Velocity, rate, t

#: Names that mean something everywhere.
RESERVED = {"t", "pi", "dot", *FUNCTIONS}
_LISTED = 20

#: Letters, digits and underscores that a name may have.
LONGEST_NAME = 60


@dataclass
class Rows:
    """The rows over which an element repeats, while its expressions are read."""

    count: int
    tables: dict[str, np.ndarray]
    columns: dict[Slot, Any] = field(default_factory=dict)


# What people take for known.
_MEANT = {"e": "Write exp(1) for e.", "π": "Write pi for π.", "g": "Add g = 9.81 to [parameters]."}


@dataclass(frozen=True)
class AbstractNames(ABC):
    """The names declared in a file, seen from one expression of it.

    Attributes
    ----------
    what : str
        What the expression is, as messages say it.
    velocities, inputs, states : bool
        What it may contain. Without states it is a constant.
    """

    document: Document
    symbols: dict[str, sp.Expr] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    path: Path = ()
    what: str = "the expression"
    velocities: bool = True
    inputs: bool = True
    states: bool = True
    rotations: dict[str, Any] = field(default_factory=dict)
    rows: Rows | None = None
    nodes: Nodes = field(default_factory=Nodes)

    def within(self, path: Path, what: str, **rules: Any) -> AbstractNames:
        """Return the same names for another expression."""
        return replace(self, path=path, what=what, **rules)

    # -- what the grammar asks ------------------------------------------------------------------

    def names(self) -> list[str]:
        """Return what is declared, as a user would list it."""
        tables = list(self.rows.tables) if self.rows else []
        return [*self.symbols, *self.arrays, *tables]

    def symbol(self, token: Token) -> sp.Expr:
        """Return what a name stands for."""
        name = token.text
        if self.rows and name in self.rows.tables:
            slot = Slot(name)
            self.rows.columns[slot] = self.rows.tables[name].astype(float)
            return slot
        symbol = t if name == "t" else self.symbols.get(name)
        if symbol is None:
            self._undeclared(token)
        if not self.states:
            self.complain(
                token.start, token.end, f"{self.what} contains '{name}'.",
                "Expected a number.", "Write a number; expressions stand in [definitions].",
            )  # fmt: skip
        if isinstance(symbol, Input) and not self.inputs:
            self.complain(
                token.start, token.end, f"{self.what} contains the input '{name}'.",
                "It cannot depend on what is decided later.", "Put the input into work or loads.",
            )  # fmt: skip
        return symbol

    def _undeclared(self, token: Token) -> NoReturn:
        name = token.text
        if name in self.arrays:
            shape = ",".join("0" for _ in self.arrays[name].base)
            self.complain(
                token.start, token.end, f"'{name}' is an array of coordinates.",
                f"Found it without an index; its shape is {self.arrays[name].base}.",
                f"Write {name}[{shape}] for its first entry.",
            )  # fmt: skip
        declared = self.names()
        listed = ", ".join(declared[:_LISTED]) + (", …" if len(declared) > _LISTED else "")
        later = self.document.data.get("definitions")
        if self.path[:1] == ("definitions",) and isinstance(later, dict) and name in later:
            itself = name == self.path[-1]
            self.complain(
                token.start, token.end,
                f"'{name}' is {'defined by itself' if itself else 'not defined yet'}.",
                f"Found it in definition '{self.path[-1]}'; one may use those above it.",
                "Give it a value of its own." if itself else f"Put '{name}' first, if it does not "
                f"use '{self.path[-1]}' itself.",
            )  # fmt: skip
        moving = _rate_of(name, [*declared])
        if moving:
            self.complain(
                token.start, token.end, f"'{name}' is not declared.",
                f"Declared: {listed}.",
                f"Did you mean {moving}', the velocity of '{moving}'?",
            )  # fmt: skip
        remedy = _MEANT.get(name) or did_you_mean(name, declared)
        self.complain(
            token.start, token.end, f"'{name}' is not declared.",
            f"Declared: {listed or 'nothing'}.",
            remedy.strip() or "Add it to [parameters] with a value, or to coordinates.",
        )  # fmt: skip

    def velocity(self, e: sp.Expr, start: int, end: int) -> sp.Expr:
        """Return the rate of a coordinate, of an entry of an array or of a definition."""
        if not self.velocities:
            self.complain(
                start, end, f"{self.what} contains a velocity.",
                "Expected an expression of coordinates and t.", self._home(),
            )  # fmt: skip
        if isinstance(e, Slot) and self.rows and isinstance(self.rows.columns.get(e), Array):
            if self.rows.columns[e].order == 0:
                moving = Slot(e.name + ".dot")
                self.rows.columns[moving] = self.rows.columns[e].dot
                return moving
        if isinstance(e, (Parameter, Input, sp.Number, Slot)) or e == t:
            kind = {Parameter: "a parameter", Input: "an input"}.get(type(e), "no coordinate")
            self.complain(
                start, end, f"'{e}' is {kind} and has no velocity.",
                "Only coordinates and definitions have one.", "Remove the ' or .dot.",
            )  # fmt: skip
        if any(isinstance(s, Velocity) for s in contents(e).symbols):
            self.complain(
                start, end, "an acceleration cannot stand in a statement.",
                "Found the rate of a velocity.",
                "Energies and loads depend on positions and velocities alone.",
            )  # fmt: skip
        return self.nodes.keep(rate(e))

    @abstractmethod
    def called(self, token: Token, arguments: list[Any], end: int) -> sp.Expr | None:
        """Return the value of something else than a function of the grammar, or None."""

    def entry(self, token: Token, indices: list[Index], end: int) -> sp.Expr:
        """Return an entry of an array, or the placeholder for one in every row."""
        array = self.arrays.get(token.text)
        column = f"{token.text}[{','.join(str(index.offset) for index in indices)}]"
        if self.rows and column in self.rows.tables and not any(i.name for i in indices):
            slot = Slot(column)
            self.rows.columns[slot] = self.rows.tables[column].astype(float)
            return slot
        if array is None:
            self.complain(
                token.start, end, f"'{token.text}' is not an array.",
                f"Arrays: {', '.join(self.arrays) or 'none'}.",
                'Declare it with its shape, as in coordinates = ["r[100,2]"].',
            )  # fmt: skip
        if not self.states:
            self.complain(token.start, end, f"{self.what} contains '{token.text}'.",
                          "Expected a number.", "Write a number.")  # fmt: skip
        if len(indices) != len(array.base):
            self.complain(
                token.start, end, f"'{token.text}' has {len(array.base)} indices.",
                f"Found {len(indices)}; its shape is {array.base}.",
                f"Write {token.text}[{','.join('0' for _ in array.base)}].",
            )  # fmt: skip
        axes = [self._axis(index, size, token.text) for index, size in zip(indices, array.base)]
        if all(isinstance(axis, int) for axis in axes):
            return array[tuple(axes)]
        assert self.rows is not None
        full = [np.broadcast_to(axis, self.rows.count) for axis in axes]
        column = array[tuple(full)]
        written = ",".join(
            (index.name + (f"{index.offset:+d}" if index.offset else "")) if index.name
            else str(index.offset) for index in indices
        )  # fmt: skip
        slot = Slot(f"{token.text}[{written}]")
        self.rows.columns[slot] = column
        return slot

    def _axis(self, index: Index, size: int, array: str) -> Any:
        """Return an index as a whole number, or as one for every row."""
        if not index.name:
            places: Any = index.offset
        elif self.rows is None:
            self.complain(
                index.start, index.end, f"'{index.name}' stands for a row outside [[each]].",
                "Expected a whole number.", "Move the expression into an [[each]] table.",
            )  # fmt: skip
        elif index.name == "i":
            places = np.arange(self.rows.count) + index.offset
        elif index.name in self.rows.tables:
            places = self.rows.tables[index.name].astype(int) + index.offset
            if not np.array_equal(places, self.rows.tables[index.name] + index.offset):
                self.complain(
                    index.start, index.end, f"'{index.name}' holds numbers that are not whole.",
                    "Found it as an index.", "Give whole numbers in its table.",
                )  # fmt: skip
        else:
            known = ["i", *self.rows.tables]
            self.complain(
                index.start, index.end, f"'{index.name}' is not an index here.",
                f"Known: {', '.join(known)}.", did_you_mean(index.name, known).strip()
                or "Write i for the row.",
            )  # fmt: skip
        if np.min(places) < 0 or np.max(places) >= size:
            worst = int(np.min(places)) if np.min(places) < 0 else int(np.max(places))
            self.complain(
                index.start, index.end, f"an index runs out of '{array}'.",
                f"Found {worst}, expected 0 to {size - 1}.",
                "Count from 0; reduce rows, or the offset.",
            )  # fmt: skip
        return places

    def complain(
        self, start: int, end: int, what: str, finding: str = "", remedy: str = ""
    ) -> NoReturn:
        """Refuse a stretch of the expression at this path."""
        place = self.document.places.get(self.path)
        stretch = place.inside(start, end) if place else self.document.stretch(self.path)
        self.document.source.complain(*stretch, what, finding, remedy)

    # -- rules that hold for a whole expression ---------------------------------------------------

    def check(self, e: sp.Expr) -> None:
        """Refuse velocities that came in by a definition or by rate()."""
        moving = [s for s in contents(e).symbols if isinstance(s, Velocity)]
        if moving and not self.velocities:
            self.document.complain(
                self.path, f"{self.what} contains the velocity '{min(map(str, moving))}'.",
                "Expected an expression of coordinates and t.", self._home(),
            )  # fmt: skip

    def _home(self) -> str:
        """Say where what depends on velocities belongs."""
        if "constraint" in self.what:
            return "State what is linear in velocities under [[pfaffian]], with expr = …."
        return "Put what depends on velocities into kinetic, dissipation or loads."


@dataclass(frozen=True)
class Names(AbstractNames):
    """Names of a system: only functions of the grammar are called."""

    def called(self, token: Token, arguments: list[Any], end: int) -> sp.Expr | None:
        """Return None."""
        return None


def _rate_of(name: str, declared: list[str]) -> str:
    """Return whose velocity is meant by names such as theta_dot, thetadot, dtheta or theta_t."""
    match = re.fullmatch(r"(?:(\w+?)_?(?:dot|d|t|prime|p)|d_?(\w+?)(?:_?dt)?|v_?(\w+))", name)
    meant = next((g for g in match.groups() if g), "") if match else ""
    return meant if meant in declared else ""


def is_name(name: str) -> bool:
    """Tell whether something can be the name of a symbol."""
    letters = all(c.isalpha() or c.isdecimal() or c == "_" for c in name)
    return 0 < len(name) <= LONGEST_NAME and letters and not name[0].isdecimal()


def is_column(name: str) -> bool:
    """Tell whether something can name a column of numbers: ``h``, or an entry such as ``p[0]``."""
    stem, bracket, inside = name.partition("[")
    numbers = inside.removesuffix("]").split(",")
    entry = inside.endswith("]") and all(n.isdecimal() and len(n) < 9 for n in numbers)
    return is_name(stem) and stem not in RESERVED and (entry or not bracket)


def coordinate_of(name: str) -> str:
    """Write ``x'`` as ``x.dot``."""
    stem = name.strip().replace("’", "'").replace("′", "'")
    return stem[:-1].rstrip() + ".dot" if stem.endswith("'") else stem


__all__ = ["Coordinate", "Names", "RESERVED", "Rows", "coordinate_of", "is_column", "is_name"]
