"""Forces of constraint and of contact, by number and by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stationary.errors import StatementError, unknown
from stationary.model.layout import Layout, Rows


class NoEntry(StatementError, IndexError):
    """There is no such entry; whoever walks over an array stops at it."""


class Multipliers(np.ndarray):
    """Multipliers as an array (…, rows) that also takes names of constraints as keys.

    The last axis runs over the rows of the constraints that were stated and, at rest, over the
    contacts after them. What keeps the quaternion of an orientation at length one is no force.
    """

    layout: Layout
    _every: np.ndarray | None

    @classmethod
    def of(cls, values: Any, layout: Layout) -> Multipliers:
        """Wrap an array whose last axis runs over all multipliers."""
        every = np.asarray(values, dtype=float)
        gaps = np.arange(layout.multipliers, every.shape[-1])
        whole = len(layout.stated) == layout.multipliers
        multipliers = (every if whole else every[..., [*layout.stated, *gaps]]).view(cls)
        multipliers.layout, multipliers._every = layout, None if whole else every
        multipliers.flags.writeable = False
        return multipliers

    @property
    def every(self) -> np.ndarray:
        """The same with the rows by which orientations hold themselves."""
        if self._every is not None:
            return self._every
        shown, layout = np.asarray(self), self.layout
        hidden = np.setdiff1d(np.arange(layout.multipliers), layout.stated)
        return np.insert(shown, hidden - np.arange(len(hidden)), 0.0, axis=-1)

    def __reduce__(self) -> tuple:
        return Multipliers.of, (self.every, self.layout)

    def __array_finalize__(self, other):
        self.layout = getattr(other, "layout", None)  # pyright: ignore[reportAttributeAccessIssue]
        self._every = None

    @property
    def _rows(self) -> list[Rows]:
        """The constraints and contacts that it shows, placed as in all multipliers."""
        layout, rows = self.layout, [r for r in self.layout.rows if r.stated]
        if self.shape[-1] == len(layout.stated):
            return rows
        return rows + [replace(r, first=layout.multipliers + r.first) for r in layout.gaps]

    def places(self, name: str) -> np.ndarray:
        """Return the entries of a constraint or a contact among all multipliers."""
        places = {r.name: r.places for r in self._rows}
        if name not in places:
            if name in (f.name for f in self.layout.system.friction):
                raise StatementError(
                    f"friction '{name}' has no multiplier.",
                    f"Constraints and contacts have one: {', '.join(places) or 'none is stated'}.",
                    f"Ask for its force by name, as in motion.forces['{name}'].",
                )
            raise StatementError(unknown("constraint", name, places))
        return places[name]

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            try:
                return np.asarray(self)[key]
            except (IndexError, TypeError, ValueError):
                raise NoEntry(
                    f"{repr(key)[:60]} is no entry of the multipliers.",
                    f"Found an array of shape {self.shape}; names: {', '.join(self.keys())}.",
                    "Name a constraint, or index it as an array.",
                ) from None
        places, hidden = self.places(key), self.layout.multipliers - len(self.layout.stated)
        if hidden:
            before = np.searchsorted(self.layout.stated, places)
            places = np.where(places < self.layout.multipliers, before, places - hidden)
        value = np.take(np.asarray(self), places, axis=-1)
        return float(value) if value.ndim == 0 else value

    def keys(self) -> list[str]:
        """Return the names that it takes, in order."""
        return [r.name for r in self._rows]

    @property
    def names(self) -> list[str]:
        """The name of every entry of the last axis: ``link[3]`` where a constraint has several."""
        layout = self.layout
        gaps = range(self.shape[-1] - len(layout.stated))
        return [layout.row_name(int(k)) for k in layout.stated] + [*map(layout.gap_name, gaps)]

    def text(self) -> str:
        """List the first few by name."""
        shown = []
        for name in self.keys()[:6]:
            value = self[name]
            text = f"{value:.5g}" if np.ndim(value) == 0 else f"{np.size(value)} values"
            shown.append(f"{name} {text}")
        return ", ".join(shown) + ", …" * (len(self.keys()) > len(shown))
