"""The runs of a sweep: what was kept of each, and how each went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from stationary.errors import MissingExtra, StatementError, did_you_mean, spelled
from stationary.many.design import Design
from stationary.model.layout import name_of
from stationary.result.status import Status
from stationary.result.views import AbstractShown, show


class Kept(np.ndarray):
    """What was kept of all runs: an array with one axis per axis of the design, and their names.

    Attributes
    ----------
    dims : tuple of str
        The name of every axis; what is computed from it is a plain array.
    """

    dims: tuple[str, ...]

    @classmethod
    def of(cls, values: np.ndarray, dims: tuple[str, ...]) -> Kept:
        """Name the axes of an array."""
        array = np.asarray(values).view(cls)
        array.dims = dims
        return array

    def __array_finalize__(self, other: Any) -> None:
        same = getattr(other, "shape", None) == self.shape
        self.dims = getattr(other, "dims", ()) if same else ()

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else np.asarray(array)

    def __reduce__(self) -> tuple:
        return Kept.of, (np.asarray(self), self.dims)

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(self)[key]

    def __repr__(self) -> str:
        return repr(np.asarray(self))


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class Runs(AbstractShown):
    """What a sweep returns.

    ``runs["name"]`` is what was kept under a name: an array with one axis per axis of the design;
    ``runs["k"]`` of a name that varies are its values along its axis. A run that failed is not a
    number, and ``runs.status`` says why.

    Attributes
    ----------
    verb : str
        The question.
    name : str
        What the system is called.
    design : Design
        What varies.
    kept : dict of ndarray
        One row for each run, counted along the axes.
    words : ndarray of int
        For every run the place of its status in `said`.
    said : tuple of Status
    engine : str
        What computed it.
    store : str or None
        Where it is stored.
    facts : dict
        ``"one by one"``: why runs were not computed together, if so; seed and versions of a store.

    Examples
    --------
    >>> x, k = st.coordinates("x"), st.parameters(k=1.0)
    >>> spring = st.System(potential=k * x**2 / 2, work=2 * x)
    >>> runs = st.sweep(st.statics, spring, over={k: [1.0, 2.0, 4.0]}, keep={"x": x})
    >>> runs["x"], runs["x"].dims, runs.status.tolist()
    (array([2. , 1. , 0.5]), ('k',), ['done', 'done', 'done'])
    """

    verb: str
    name: str
    design: Design
    kept: dict[str, np.ndarray]
    words: np.ndarray
    said: tuple[Status, ...]
    engine: str = ""
    store: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values along every axis of the design."""
        return self.design.shape

    def __len__(self) -> int:
        return len(self.design)

    @property
    def axes(self) -> dict[str, Any]:
        """Every name that varies, with its values along its axis."""
        return {name: values for name, (_, values) in self.design.columns.items()}

    def dims(self, name: str) -> tuple[str, ...]:
        """Return the names of the axes of what was kept."""
        more = self.kept[name].ndim - 1
        axes = tuple(axis.name for axis in self.design.axes)
        return axes + tuple(f"{name}_{k}" for k in range(more))

    def __getitem__(self, key: Any) -> Any:
        name = key if isinstance(key, str) else name_of(key)
        if name in self.kept:
            rows = self.kept[name]
            return Kept.of(rows.reshape(*self.shape, *rows.shape[1:]), self.dims(name))
        if name in self.design.columns:
            return self.design[name]
        known = [*self.kept, *self.design.names]
        raise StatementError(
            f"the runs have no '{name}'.",
            f"Kept: {', '.join(self.kept)}; varied: {', '.join(self.design.names)}."
            f"{did_you_mean(name, known)}",
            "Name it in keep, and ask again.",
        )

    @cached_property
    def status(self) -> np.ndarray:
        """How every run went: an array of statuses, each a word with a message."""
        table = np.empty(len(self.said), dtype=object)
        table[:] = self.said
        axes = tuple(axis.name for axis in self.design.axes)
        return Kept.of(table[self.words].reshape(self.shape), axes)

    @property
    def done(self) -> np.ndarray:
        """Which runs came to their end."""
        good = np.array([s in ("done", "event") for s in self.said], dtype=bool)
        return good[self.words].reshape(self.shape)

    @property
    def complete(self) -> bool:
        """Whether no run is still to be computed."""
        pending = [i for i, s in enumerate(self.said) if s == "pending"]
        return not np.isin(self.words, pending).any()

    def at(self, *place: int) -> dict[str, Any]:
        """Return one run: what varied, what was kept and its status."""
        run = int(np.ravel_multi_index(place, self.shape))
        kept = {name: rows[run] for name, rows in self.kept.items()}
        return dict(self.design.values(run)) | kept | {"status": self.said[self.words[run]]}

    def to_xarray(self):
        """Return an `xarray.Dataset` with one variable for everything kept, and the statuses."""
        try:
            import xarray
        except ImportError:
            raise MissingExtra(
                "to_xarray needs xarray.",
                "It is not installed.",
                "Run: pip install 'stationary[tables]'",
            ) from None
        # What varies and what is kept may share a name, as x at the start and at the end.
        names = {axis.name: _apart(axis.name, self.kept) for axis in self.design.axes}
        coords: dict[str, Any] = {}
        for axis in self.design.axes:
            for name, values in axis.columns:
                if isinstance(values, np.ndarray) and values.ndim == 1:
                    coords[_apart(name, self.kept)] = (names[axis.name], values)
        variables = {
            name: ([names.get(d, d) for d in self.dims(name)], np.asarray(self[name]))
            for name in self.kept
            if self.kept[name].dtype != object
        }
        words = np.asarray(self.status).astype(str)
        variables[_apart("status", self.kept)] = (list(names.values()), words)
        facts = {"verb": self.verb, "system": self.name, "engine": self.engine, **self.facts}
        return xarray.Dataset(variables, coords=coords, attrs=facts)

    def plot(self, *names: str):
        """Draw what was kept: curves over one axis, maps over two, pairs for samples.

        Parameters
        ----------
        names : str
            Which of what was kept to draw; all, when left out.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return show("runs", "plot")(self, *names)

    def __repr__(self) -> str:
        axes = " × ".join(f"{axis.name}: {len(axis)}" for axis in self.design.axes)
        counts = Counter({str(self.said[i]): int(n) for i, n in _counted(self.words)})
        totals: Counter[str] = Counter()
        for i, n in _counted(self.words):
            totals[str(self.said[i])] += n
        counts = ", ".join(f"{n} {word}" for word, n in totals.most_common())
        lines = [
            f"{len(self)} runs of {self.verb}, {self.name or 'a system'} ({axes})",
            f"  status  {counts}",
        ]
        if "one by one" in self.facts:
            lines.append(f"  asked   one by one: {self.facts['one by one']}")
        bad = [s for s in self.said if s not in ("done", "event", "pending")]
        if bad:
            lines.append("  first   " + bad[0].message.splitlines()[0])
        for name, rows in self.kept.items():
            shape = f" {rows.shape[1:]}" if rows.ndim > 1 else ""
            lines.append(f"  {name}{shape}{_range(rows)}")
        if self.store:
            lines.append(f"  stored  {self.store}")
        return "\n".join(lines)


def _apart(name: str, kept: Mapping[str, Any]) -> str:
    """Return a name for what varies that nothing kept has."""
    return name if name not in kept else f"{name}_given"


def _counted(words: np.ndarray) -> list[tuple[int, int]]:
    return [(int(i), int(n)) for i, n in zip(*np.unique(words, return_counts=True))]


def _range(rows: np.ndarray) -> str:
    if rows.dtype.kind != "f" or not np.isfinite(rows).any():
        return ""
    finite = rows[np.isfinite(rows)]
    return f": {finite.min():.6g} … {finite.max():.6g}"
