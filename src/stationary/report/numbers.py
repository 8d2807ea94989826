"""Numbers as they are read: rounding as zero, and those of the gallery beside known ones."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from typing import Any

import numpy as np

HEAD = ("example", "quantity", "published or exact", "computed", "difference")
WIDTH = (22, 30, 26, 26, 10)
RULE = "  ".join("-" * width for width in WIDTH)
# So small a part of the largest number is rounding of it.
_ROUNDING = 1e-13
_GREEK = {"theta": "θ", "phi": "φ", "tau": "τ"}


def beside(every: Any, some: Any) -> np.ndarray:
    """Return some of all numbers of a kind; what is nothing beside the largest is zero."""
    rounding = _ROUNDING * float(np.max(np.abs(every), initial=0.0))
    return np.where(np.abs(np.ravel(some)) <= rounding, 0.0, np.ravel(some))


def line(cells: tuple[str, ...]) -> str:
    """Set one row of the table; what is too long for its column goes on below."""
    columns = [textwrap.wrap(cell, width) or [""] for cell, width in zip(cells, WIDTH)]
    height = max(map(len, columns))
    rows = zip(*(column + [""] * (height - len(column)) for column in columns))
    return "\n".join("  ".join(map(_padded, row, WIDTH)).rstrip() for row in rows)


def cells(name: str, row: Any) -> tuple[str, ...]:
    """Return the five cells of a row, as text."""
    difference = f"{row.difference:.1e}" if row.difference else "0"
    mark = "" if row.agrees else " (!)"
    known, computed = (_written(value, row.tolerance) for value in (row.expected, row.computed))
    return (name, row.quantity, known, computed, difference + mark)


def _written(value: object, zero: float) -> str:
    """Write a number to twelve digits, and an expression as on paper: ``l² m θ̇``.

    What is zero but for errors has no digits.
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:.12g}" if abs(value) > zero else f"{value:.1e}" if value else "0"
    text = str(value).replace("**2", "²").replace("*", " ")
    for name, letter in _GREEK.items():
        text = text.replace(name, letter)
    return re.sub(r"(\w)(\d*)\.dot", "\\1\u0307\\2", text)


def _padded(cell: str, width: int) -> str:
    # An accent takes no room of its own.
    return cell + " " * (width - sum(not unicodedata.combining(c) for c in cell))
