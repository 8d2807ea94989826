"""Tables for a terminal, and rows for CSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def number(value: Any, digits: int = 6) -> str:
    """Write a number as a person would: ``0.523599``, ``1.3e-16``, ``-2.13+4.52i``."""
    if isinstance(value, (complex, np.complexfloating)):
        if abs(value.imag) < 1e-9 * max(abs(value), 1e-300):
            return number(value.real, digits)
        return f"{number(value.real, digits - 2)}{value.imag:+.{digits - 2}g}i"
    value = float(value)
    # Where its square, and so every energy of it, is rounded to nothing, it is nothing.
    return "0" if value * value == 0 else f"{value:.{digits}g}"


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> Any:
    """Return a table that rich prints: the first column to the left, numbers to the right."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=box.SIMPLE_HEAD)
    body = [[e if isinstance(e, str) else number(e) for e in row] for row in rows]
    for k, name in enumerate(head):
        # Heads and sentences are broken between words where a terminal is narrow; nothing is cut.
        words = [*name.split(" "), *(word for row in body for word in row[k].split(" "))]
        least = max(map(len, words))
        grid.add_column(Text(name), justify="left" if k == 0 else "right", min_width=least)
    for row in body:
        grid.add_row(*map(Text, row))
    # A title of a table is no wider than the table; a line of its own is.
    above = [Text(title, style="bold")] if title else []
    return Group(*above, grid, *([Text(note, style="dim")] if note else []))


def facts(title: str, entries: Iterable[tuple[str, Any]]) -> Any:
    """Return a title with names and values below it."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    # A word that is wider than the terminal goes on below; nothing is cut.
    grid.add_column(overflow="fold")
    for name, value in entries:
        grid.add_row(f"  {name}", Text(str(value)))
    return Group(Text(title, style="bold"), grid)


def write_csv(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows with a head; numbers to their last digit."""
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(head)
        out.writerows([_digits(e) for e in row] for row in rows)


def _digits(value: Any) -> Any:
    return repr(float(value)) if isinstance(value, (float, np.floating)) else value
