"""What there is of a sweep, while it grows."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.many.chunk import PENDING, Chunk
from stationary.many.design import Design
from stationary.many.runs import Runs
from stationary.result.status import Status


class Gathering:
    """Chunks put together, in whatever order they come."""

    def __init__(self, verb: str, name: str, design: Design, engine: str):
        self.verb, self.name, self.design, self.engine = verb, name, design, engine
        self.count = len(design)
        self.kept: dict[str, np.ndarray] = {}
        self.words = np.zeros(self.count, dtype=np.int32)
        self.said: dict[tuple[str, str], int] = {(str(PENDING), PENDING.message): 0}
        self.done = 0

    def add(self, chunk: Chunk) -> None:
        """Put in what came out of some runs."""
        for name, rows in chunk.kept.items():
            self.kept[name] = wider(self.kept.get(name), rows, self.count)
            where = (slice(chunk.first, chunk.last), *(slice(0, n) for n in rows.shape[1:]))
            self.kept[name][where] = _deep(rows, self.kept[name].ndim)
        table = [self.said.setdefault((str(s), s.message), len(self.said)) for s in chunk.said]
        self.words[chunk.first : chunk.last] = np.array(table, dtype=np.int32)[chunk.codes]
        self.done += len(chunk)

    def runs(self, store: str | None = None, facts: dict[str, Any] | None = None) -> Runs:
        """Return it as it is."""
        return Runs(
            verb=self.verb,
            name=self.name,
            design=self.design,
            kept=dict(self.kept),
            words=self.words.copy(),
            said=tuple(Status(*key) for key in self.said),
            engine=self.engine,
            store=store,
            facts=facts or {},
        )


def wider(old: np.ndarray | None, rows: np.ndarray, count: int) -> np.ndarray:
    """Return room for all runs in which old and new ones fit."""
    if rows.dtype == object or (old is not None and old.dtype == object):
        if old is not None and old.dtype == object:
            return old
        room = np.empty(count, dtype=object)
        if old is not None:
            room[:] = list(old)
        return room
    if old is None:
        return np.full((count, *rows.shape[1:]), np.nan, dtype=rows.dtype)
    depth = max(old.ndim, rows.ndim)
    shapes = [(*a.shape[1:], *[1] * (depth - a.ndim)) for a in (old, rows)]
    shape = tuple(int(n) for n in np.max(shapes, axis=0)) if depth > 1 else ()
    kind = np.result_type(old.dtype, rows.dtype)
    if old.shape[1:] == shape and old.dtype == kind:
        return old
    room = np.full((count, *shape), np.nan, dtype=kind)
    room[tuple(slice(0, n) for n in old.shape)] = _deep(old, depth)
    return room


def _deep(rows: np.ndarray, depth: int) -> np.ndarray:
    """Return rows with as many axes: of runs that all failed nothing tells how many there are."""
    return rows.reshape(rows.shape + (1,) * max(depth - rows.ndim, 0))
