"""How far the rows of constraints are from losing their rank, along a motion."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stationary.derive.graph import Graph
from stationary.lower.kernel import AbstractKernel, numeric
from stationary.result.state import State
from stationary.solve.inertia import EXAMINE_UP_TO, sizes_of
from stationary.solve.scales import bends_by_shape, scales_of

# More looks between two times, where rows turn far between them; up to so many.
_MOST_LOOKS = 1000

# How rows turn, as a difference over a move by this part of the coordinates' sizes.
_SOON = 1e-4

# Matrices of so many numbers are looked at together; of more than a few, one after the other.
_NUMBERS, _FEW = 500_000, 50

# What rows have for themselves is enough while so much is left of the most that it was.
_OWN = 0.5

# Looks around the least of many, and how often they come closer.
_LOOKS, _CLOSER = 21, 8


class Rows:
    """The rows of A along a motion: how far they are from losing their rank, and how they turn.

    A row may lose it by vanishing, as well as by becoming parallel to others: its length is
    measured beside what it changes by when coordinates move by their sizes. `full` is the most that
    was left on the way. `shape` are the moves over which they turn, where they alone tell.

    The last link of a chain moves coordinates that no other row does: it depends on no other while
    its slope along these is not lost, and so do the others after it. Of such rows each is looked at
    by itself; the `core` of those that loops are made of is looked at together.
    """

    def __init__(
        self, graph: Graph, params: np.ndarray, rank: int, shape: np.ndarray, other: np.ndarray
    ):
        self.graph, self.params, self.rank, self.shape = graph, params, rank, shape
        self.sizes = np.where(shape > 0, shape, other)
        self.full, self.most = 0.0, 0.0
        self.core, self.own = _loops(*numeric(graph, "constraints").places(2), graph)
        if rank < len(self.core):
            # Which of them holds what others hold as well is not for one alone to say.
            self.core = np.ones_like(self.core)

    def left(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Return how far the rows are from losing their rank: 1 for what is at right angles."""
        return self._turning(times, states)[0]

    def along(
        self, times: np.ndarray, evaluate: Callable, below: Callable
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return times between which no loss of rank hides, and what is left of it at each.

        What is left changes no faster than the rows turn. Where it may come below a bound between
        two times, more are added until it cannot, or the rows hardly turn between them.
        """
        (left, rates), most = self._turning(times, evaluate(times)), _MOST_LOOKS * len(times)
        core, known = self.core, 0
        while known < len(times) < most:
            known = len(times)
            low = below(left)
            apart = np.diff(times)
            way = apart * np.maximum(rates[:-1], rates[1:])
            room = np.maximum(left[:-1] + left[1:] - 2 * low, low / 2)
            if not np.any(way > room):
                break
            counts = np.clip(np.ceil(way / room), 1, _MOST_LOOKS).astype(int)
            part = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            every = np.repeat(times[:-1], counts) + part * np.repeat(apart / counts, counts)
            inner = every[part > 0]
            more = self._turning(inner, evaluate(inner))
            if self.core is not core:
                return self.along(times, evaluate, below)
            times, order = np.unique(np.concatenate([times, inner]), return_index=True)
            left, rates = (np.append(x, y)[order] for x, y in zip((left, rates), more))
        return times, left

    def lowest(self, times: np.ndarray, left: np.ndarray, evaluate: Callable, low: float) -> float:
        """Return the least that is left around all times at which it goes through a least value.

        Only those below a bound are looked at.
        """
        inner = (left[1:-1] <= left[:-2]) & (left[1:-1] <= left[2:]) & (left[1:-1] < low)
        around = ((times[k - 1], times[k + 1]) for k in np.flatnonzero(inner) + 1)
        return min((self.closest(ends, evaluate)[1] for ends in around), default=np.inf)

    def closest(self, ends: tuple[float, float], evaluate: Callable) -> tuple[float, float]:
        """Return when least is left between two times, and how much."""
        at, least = ends[0], np.inf
        for _ in range(_CLOSER):
            looks = np.linspace(*ends, _LOOKS)
            now = self.left(looks, evaluate(looks))
            best = int(np.argmin(now))
            ends = looks[max(best - 1, 0)], looks[min(best + 1, _LOOKS - 1)]
            if now[best] < least:
                at, least = float(looks[best]), float(now[best])
        return at, least

    def _turning(self, times: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what is left of the rank, and how fast the rows turn."""
        n, count = self.graph.system.size, len(times)
        many = max(1, _NUMBERS // (n * self.graph.layout.multipliers))
        if count > many:
            parts, core = [slice(k, k + many) for k in range(0, count, many)], self.core
            left, rates = zip(*(self._turning(times[k], states[k]) for k in parts))
            if self.core is not core:
                return self._turning(times, states)
            return np.concatenate(left), np.concatenate(rates)
        q, v = states[:, :n], states[:, n : 2 * n]
        speed = (np.abs(v) / self.sizes).max(axis=1)
        soon = np.divide(_SOON, speed, out=np.zeros(count), where=speed > 0)
        later = q + soon[:, None] * v
        both = self._rows(np.append(times, times), np.vstack([q, later]), np.vstack([v, v]))
        A, turned = both[:count], (both[count:] - both[:count]) / _SOON
        length = np.linalg.norm([A, turned], axis=3).max(axis=0)[:, :, None]
        A, turned = (x / np.maximum(length, 1e-300) for x in (A, turned))
        own = np.linalg.norm(A * self.own, axis=2)[:, ~self.core].min(axis=1, initial=1.0)
        self.most = max(self.most, own.max(initial=0.0))
        if not own.min() > _OWN * self.most:
            # Others may hold what it loses: all are looked at together from here on.
            self.core, self.full, self.most = np.ones_like(self.core), 0.0, 0.0
            return self._turning(times, states)
        # What a short row is measured by changes, too: its part is a tangent rather than a sine.
        part = np.linalg.norm(A, axis=2, keepdims=True)
        rates = speed * self._norms(turned * np.where(part < 1, 1 + part**2, 1.0))
        if self.graph.driven and times[-1] > times[0]:
            # Time turns rows where nothing moves, too.
            soon = _SOON * (times[-1] - times[0])
            later = self._rows(times + soon, q, v) / np.maximum(length, 1e-300)
            rates += self._norms(later - A) / soon
        rank = self.rank - np.count_nonzero(~self.core)
        if rank == 0:
            return own, rates
        A = A[:, self.core]
        squares = np.linalg.eigvalsh(A @ np.swapaxes(A, 1, 2))[:, -rank]
        return np.minimum(own, np.sqrt(np.maximum(squares, 0.0))), rates

    def _norms(self, changes: np.ndarray) -> np.ndarray:
        """Return what changes of the rows make of what is left, at most."""
        single = np.linalg.norm(changes[:, ~self.core], axis=2).max(axis=1, initial=0.0)
        return np.maximum(single, _norms(changes[:, self.core]))

    def _rows(self, times: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the rows for moves by the sizes of the coordinates."""
        count, n = q.shape
        u = np.zeros(len(self.graph.system.inputs))
        if n * self.graph.layout.multipliers > _FEW:
            # CasADi makes a list of all entries of a matrix, most of which are zero.
            at_one = numeric(self.graph, "constraints")
            A = np.zeros((count, at_one.length(2), n))
            for one, *at in zip(A, times, q, v):
                one[at_one.places(2)] = at_one.all_entries(*at, u, self.params)[2]
        else:
            at = (times[None, :], q.T, v.T, np.tile(u[:, None], count))
            gradients = np.asarray(self.graph.constraints(*at, self.params)[2])
            A = np.moveaxis(gradients.reshape(gradients.shape[0], count, n), 1, 0)
        A = A * self.sizes
        return np.where(np.isfinite(A), A, 0.0)


def _loops(rows: np.ndarray, columns: np.ndarray, graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows loops are made of, and which entries each of the others has for itself.

    A column belongs to a row that alone is left with an entry in it, after rows that have columns
    of their own were taken away.
    """
    shape = graph.layout.multipliers, graph.system.size
    entries = np.zeros(shape, dtype=bool)
    entries[rows, columns] = True
    core, own = np.ones(shape[0], dtype=bool), np.zeros(shape, dtype=bool)
    while True:
        alone = entries & (entries.sum(axis=0) == 1)
        ends = alone.any(axis=1)
        if not ends.any():
            return core, own
        own[ends], core[ends], entries[ends] = alone[ends], False, False


def _norms(matrices: np.ndarray) -> np.ndarray:
    """Return norms of some matrices, which singular values change by no more than.

    That of many rows with few entries is far below the root of the sum of their squares.
    """
    if not matrices.shape[1]:
        return np.zeros(len(matrices))
    sums = np.abs(matrices).sum(axis=1).max(axis=1) * np.abs(matrices).sum(axis=2).max(axis=1)
    return np.minimum(np.linalg.norm(matrices, axis=(1, 2)), np.sqrt(sums))


def rows_of(kernel: AbstractKernel, params: np.ndarray, t: float, state: State) -> Rows | None:
    """Return the rows of a motion that starts at a state; none where they are too many to ask."""
    if not kernel.rows or kernel.size > EXAMINE_UP_TO:
        return None
    # Rows bend within lengths of their own, whatever forces and masses and how they are balanced.
    bends = scales_of(kernel.graph, params, t, state.q).bend
    bends = np.where(np.isfinite(bends), bends, 0.0)
    by_mass = np.maximum(bends, sizes_of(kernel.graph, params, t, state.q))
    shape = bends_by_shape(kernel.graph, params, t, state.q, by_mass)
    return Rows(kernel.graph, params, len(state.rows), shape, by_mass)
