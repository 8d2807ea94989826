"""Repetition stated once: one element traced with placeholders, and the table of its rows."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from stationary.errors import StatementError, say, spelled
from stationary.model.arrays import Array
from stationary.model.symbols import AbstractReal, latex_name, require_expressions


class Slot(AbstractReal):
    """A placeholder: what one column of a table holds in the current row."""

    def _latex(self, printer) -> str:
        stem = self.name.removesuffix(".dot")
        return latex_name(stem, accent="dot" if stem != self.name else "")


@dataclass(frozen=True, eq=False)
class Table:
    """The rows over which an element repeats.

    Attributes
    ----------
    rows : int
    columns : dict of Slot to Array or ndarray
        For every placeholder what it stands for, row by row: entries of an array of coordinates
        or velocities, or numbers. Each column has shape (rows,).
    """

    rows: int
    columns: dict[Slot, Array | np.ndarray]

    @cached_property
    def _key(self) -> str:
        digest = hashlib.blake2b(str(self.rows).encode())
        for slot, column in self.columns.items():
            content = column._key() if isinstance(column, Array) else ("", column.tobytes())
            digest.update(repr((slot.name, *content[:-1])).encode() + content[-1])
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def arrays(self) -> list[Array]:
        """The arrays of coordinates that the columns take entries from, each once."""
        wholes = {c.name: c.whole for c in self.columns.values() if isinstance(c, Array)}
        return list(wholes.values())

    def row(self, i: int) -> dict[sp.Basic, Any]:
        """Return what the placeholders stand for in row `i`."""
        return {
            slot: column[i] if isinstance(column, Array) else sp.Float(float(column[i]))
            for slot, column in self.columns.items()
        }


class Each(sp.AtomicExpr):
    """A sum over the rows of a table, or, among constraints, one term per row.

    It adds to and scales with other expressions; it prints as a sum.
    """

    expressions: tuple[sp.Expr, ...]
    table: Table
    name: str | None
    _symbols: set | None

    is_commutative = True
    is_real = True

    def __new__(cls, expressions: tuple[sp.Expr, ...], table: Table, name: str | None = None):
        """Repeat expressions of placeholders over a table."""
        repetition = super().__new__(cls)
        repetition.expressions, repetition.table, repetition.name = expressions, table, name
        repetition._symbols = None
        return repetition

    def _hashable_content(self):
        # SymPy sorts atoms by this, so that it holds nothing but expressions and text.
        return (*self.expressions, self.table._key, self.name or "")

    def __getnewargs__(self):
        return (self.expressions, self.table, self.name)

    @property
    def shared(self) -> set[sp.Symbol]:
        """Symbols of the element that are the same in every row."""
        symbols = set().union(*(e.free_symbols for e in self.expressions))
        return symbols - set(self.table.columns)

    @property
    def free_symbols(self) -> set:
        """All symbols, those of every row included: SymPy differentiates by what it finds here."""
        if self._symbols is None:
            used = set().union(*(e.free_symbols for e in self.expressions))
            columns = [c for s, c in self.table.columns.items() if s in used]
            arrays = [c for c in columns if isinstance(c, Array)]
            self._symbols = self.shared.union(*(set(c) for c in arrays))
        return self._symbols

    def apply(self, change: Callable[[sp.Expr], sp.Expr]) -> Each:
        """Return the same repetition of a changed element."""
        return Each(tuple(change(e) for e in self.expressions), self.table, self.name)

    def written_out(self) -> list[sp.Expr]:
        """Return the expressions of every row, in order."""
        rows = (self.table.row(i) for i in range(self.table.rows))
        return [e.xreplace(row) for row in rows for e in self.expressions]

    def doit(self, **hints) -> sp.Expr:
        """Write the sum out."""
        return sp.Add(*self.written_out())

    def _eval_derivative_n_times(self, s, n):
        return self.doit().diff(s, n)

    def __radd__(self, other):
        # A list of terms takes the repetition in as one more entry.
        return [*other, self] if isinstance(other, list) else super().__radd__(other)

    def __add__(self, other):
        return [self, *other] if isinstance(other, list) else super().__add__(other)

    def _sympystr(self, printer) -> str:
        inside = ", ".join(sp.sstr(e, full_prec=False) for e in self.expressions)
        return f"Sum({inside}; i = 0..{self.table.rows - 1})"

    _sympyrepr = _sympystr

    def _latex(self, printer) -> str:
        inside = ", ".join(printer._print(e) for e in self.expressions)
        return rf"\sum_{{i=0}}^{{{self.table.rows - 1}}} \left({inside}\right)"

    def _pretty(self, printer):
        return printer._print(sp.Symbol(self._sympystr(printer)))


@spelled
def each(function: Callable[..., Any], *tables: Any, name: str | None = None) -> Any:
    """State an element once and repeat it over the rows of one or more tables.

    The function is called once, with placeholders. What it returns says what repeats: an
    expression is summed where an energy is expected and repeats row by row among constraints; a
    `Load`, `Friction`, `Constraint`, … repeats.

    Parameters
    ----------
    function : callable
        Called with one argument per table: a placeholder, or an array of placeholders where the
        rows have several entries.
    *tables : Array or array of numbers
        Views of arrays of coordinates or velocities, and numbers that differ from row to row. All
        have the same number of rows.
    name : str, optional
        Name of the repeated terms.

    Returns
    -------
    Each or term
        An expression that sums over the rows, or the term with its ``table`` of rows.

    Examples
    --------
    >>> r = st.coordinates("r", shape=(100, 2))
    >>> k = st.parameters("k")
    >>> st.each(lambda a, b: k * st.norm(b - a) ** 2 / 2, r[:-1], r[1:])
    Sum(k*((r[i+1,0] - r[i,0])**2 + (r[i+1,1] - r[i,1])**2)/2; i = 0..98)
    """
    if not tables:
        raise StatementError(
            say("each has nothing to repeat over.", "Found no table.", "Pass an array, as in "
                "st.each(lambda p: m*g*p[1], r).")
        )  # fmt: skip
    tables = tuple(tab if isinstance(tab, Array) else np.asarray(tab) for tab in tables)
    for tab in tables:
        if not isinstance(tab, Array) and (tab.dtype.kind not in "iuf" or tab.ndim == 0):
            raise StatementError(
                "a table of each is neither an array of coordinates nor of numbers.",
                f"Found {tab.dtype} of shape {tab.shape}.",
                "Pass views of st.coordinates(…, shape=…) or arrays of numbers.",
            )
    counts = [len(tab) for tab in tables]
    if len(set(counts)) > 1 or counts[0] == 0:
        raise StatementError(
            "the tables of each must have the same number of rows, one or more.",
            f"Found {', '.join(map(str, counts))} rows.",
            "Slice them to equal length, as in st.each(f, r[:-1], r[1:]).",
        )
    columns: dict[Slot, Array | np.ndarray] = {}
    arguments = [
        _placeholders(tab, label, columns) for tab, label in zip(tables, _labels(function, tables))
    ]
    try:
        element = function(*arguments)
    except (TypeError, IndexError) as error:
        raise StatementError(
            "the function of each cannot be called with one row of each table.",
            f"Found {len(arguments)} argument{'s' * (len(arguments) != 1)} and: {error}.",
            "Give it one argument for each table, with as many entries as a row has.",
        ) from error
    if isinstance(element, (sp.Expr, int, float)):
        element = (element,)
    if isinstance(element, (tuple, list, np.ndarray)):
        entries = tuple(sp.S(e) for e in np.ravel(np.array(element, dtype=object)))
        return Each(entries, table_of(counts[0], columns, entries), name)
    if hasattr(element, "apply"):
        table = table_of(counts[0], columns, element.expressions())
        return replace(element.named(name) if name else element, table=table)
    raise StatementError(
        "the function given to each returns nothing that can be repeated.",
        f"Found {element!r}, expected an expression, a tuple of expressions, or a term such as "
        "st.Friction(…).",
        "Return it from the function.",
    )


def table_of(rows: int, columns: dict[Slot, Any], expressions: Sequence[sp.Expr]) -> Table:
    """Keep what the element uses, in the order of names: equal elements have equal tables.

    An array of which nothing is used keeps one column: its coordinates belong to the system.
    """
    used = set().union(*(e.free_symbols for e in expressions))
    arrays = {c.name for s, c in columns.items() if s in used and isinstance(c, Array)}
    kept: dict[Slot, Array | np.ndarray] = {}
    for slot in sorted(columns, key=lambda s: s.name):
        column = columns[slot]
        if slot in used:
            kept[slot] = column
        elif isinstance(column, Array) and column.name not in arrays:
            kept[slot] = column
            arrays.add(column.name)
    return Table(rows, kept)


def _labels(function: Callable[..., Any], tables: tuple) -> list[str]:
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    return [names[k] if k < len(names) else f"a{k}" for k in range(len(tables))]


def _placeholders(table: Array | np.ndarray, label: str, columns: dict) -> Any:
    """Make one slot per entry of a row and note in `columns` what it stands for."""
    shape = table.shape[1:]
    slots = np.empty(shape, dtype=object)
    for place in np.ndindex(*shape):
        column = table[(slice(None), *place)]
        if isinstance(column, Array):
            name = _label(column, label, place)
        else:
            column = np.ascontiguousarray(column, dtype=float)
            name = label + (f"[{','.join(map(str, place))}]" if place else "")
        slot = Slot(name)
        columns[slot] = column
        slots[place] = slot
    return slots if shape else slots[()]


def _label(column: Array, label: str, place: tuple[int, ...]) -> str:
    """Name a column ``r[i+1,0]`` if it walks along the first axis, else by its argument."""
    first, *fixed_axes = (np.asarray(axis) for axis in np.unravel_index(column.index, column.base))
    walks = np.array_equal(first, first[0] + np.arange(len(first)))
    if walks and all(np.all(axis == axis[0]) for axis in fixed_axes):
        offset = f"+{first[0]}" if first[0] else ""
        inside = ",".join([f"i{offset}", *(str(axis[0]) for axis in fixed_axes)])
        return f"{column.name}[{inside}]" + ".dot" * column.order
    inside = ",".join(["i", *map(str, place)])
    return f"{label}[{inside}]" + ".dot" * column.order


@spelled
def norm(vector: Any) -> sp.Expr:
    """Return the Euclidean length of a tuple or array of expressions.

    Examples
    --------
    >>> x, y = st.coordinates("x y")
    >>> st.norm((x, y))
    sqrt(x**2 + y**2)
    """
    entries = np.ravel(np.asarray(vector, dtype=object))
    require_expressions("what st.norm measures", entries)
    return sp.sqrt(sp.Add(*(sp.S(entry) ** 2 for entry in entries)))
