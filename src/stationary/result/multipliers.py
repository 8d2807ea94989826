"""Forces of constraint and of contact, by number and by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.errors import StatementError, unknown
from stationary.model.layout import Layout


class Multipliers(np.ndarray):
    """Multipliers as an array (…, rows) that also takes names of constraints as keys.

    The last axis runs over the rows of constraints and, at rest, over the contacts after them.
    """

    layout: Layout

    @classmethod
    def of(cls, values: Any, layout: Layout) -> Multipliers:
        """Wrap an array whose last axis runs over the multipliers."""
        multipliers = np.asarray(values, dtype=float).view(cls)
        multipliers.layout = layout
        return multipliers

    def __reduce__(self) -> tuple:
        return Multipliers.of, (np.asarray(self), self.layout)

    def __array_finalize__(self, other):
        self.layout = getattr(other, "layout", None)  # pyright: ignore[reportAttributeAccessIssue]

    def places(self, name: str) -> np.ndarray:
        """Return the entries of a constraint or a contact."""
        layout = self.layout
        places = {r.name: layout.multipliers + r.places for r in layout.gaps}
        places |= {r.name: r.places for r in layout.rows}
        if name not in places:
            raise StatementError(unknown("constraint", name, places))
        return places[name]

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return np.asarray(self)[key]
        value = np.asarray(self)[..., self.places(key)]
        return float(value) if value.ndim == 0 else value

    def keys(self) -> list[str]:
        """Return the names that it takes, in order."""
        own = self.shape[-1] > self.layout.multipliers
        return [r.name for r in (*self.layout.rows, *(self.layout.gaps if own else ()))]

    @property
    def names(self) -> list[str]:
        """The name of every entry of the last axis: ``link[3]`` where a constraint has several."""
        rows = self.layout.multipliers
        return [
            self.layout.row_name(k) if k < rows else self.layout.gap_name(k - rows)
            for k in range(self.shape[-1])
        ]

    def text(self) -> str:
        """List the first few by name."""
        shown = []
        for rows in (*self.layout.rows, *self.layout.gaps)[:6]:
            value = self[rows.name]
            text = f"{value:.5g}" if np.ndim(value) == 0 else f"{np.size(value)} values"
            shown.append(f"{rows.name} {text}")
        return ", ".join(shown)
