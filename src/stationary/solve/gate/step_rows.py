"""What the statement says where steps begin: all rows of many steps as one sparse system.

Steps lie in blocks one after the other, so that measuring many small ones costs as little as
measuring a large one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sparse

from stationary.result.steps import Taken
from stationary.solve.touch.moreau import Stepper
from stationary.solve.touch.step_law import divided


class Stack:
    """Rows of constraints, contacts and dry slips of many steps, and their inertia.

    Of every row: `step`, `place` among all rows, `value`, `rate`, `drive`, `slope`, and, where it
    has one, `size` and `rest` of its friction and restitution `back`. Vectors of coordinates have
    one block for each step. With `every` all rows are looked at, otherwise those that steps name.
    """

    def __init__(self, look: Stepper, taken: Sequence[Taken], every: bool):
        self.look, self.taken = look, taken
        self.count, self.size_of_one = len(taken), look.near.count
        self.base, self.gaps = len(look.fixed), look.touch.gaps
        self.total = self.base + self.gaps + len(look.along)
        self.t, self.h = (np.array([getattr(one, x) for one in taken]) for x in ("t", "h"))
        self.q, self.v, self.to, self.after = (
            np.concatenate([getattr(one, x) for one in taken]) for x in ("q", "v", "to", "after")
        )
        self._inertia()
        self._rows(every)
        for name in ("impulses", "closing"):
            z = np.zeros(len(self.key))
            for k, one in enumerate(taken):
                acting = np.flatnonzero(getattr(one, name))
                at = np.searchsorted(self.key, k * self.total + one.rows[acting])
                z[at] = getattr(one, name)[acting]
            setattr(self, name, z)

    impulses: np.ndarray
    closing: np.ndarray

    def _inertia(self) -> None:
        """Evaluate what has no contact: M, force, rows of constraints, power and inputs."""
        look, n, S = self.look, self.size_of_one, self.count
        parts = zip(*(look.entries(one.t, one.q, one.v) for one in self.taken))
        M, force, R, A, ahead, power, u = (np.array(x) for x in parts)
        i, j = look.look.places(0)
        blocks = n * np.arange(S)[:, None]
        entries = (M.ravel(), ((i + blocks).ravel(), (j + blocks).ravel()))
        self.M = sparse.coo_matrix(entries, shape=(S * n, S * n)).tocsc()
        self.force, self.u = self._full(1, force).ravel(), self._full(6, u)
        self.power = self._full(5, power)[:, 0]
        self._constraints = self._full(2, R), A, self._full(4, ahead)

    def _full(self, output: int, entries: np.ndarray) -> np.ndarray:
        """Return vectors, one row for each step, from the entries that are not always zero."""
        look = self.look.look
        vectors = np.zeros((self.count, look.length(output)))
        vectors[:, look.places(output)[0]] = entries
        return vectors

    def _rows(self, every: bool) -> None:
        """Evaluate rows where steps begin, and where their gaps are in the end."""
        look, n, S, fixed = self.look, self.size_of_one, self.count, self.look.fixed
        shape = (S, n)
        states = self.t, self.q.reshape(shape), self.v.reshape(shape), self.u
        ends = self.t + self.h, self.to.reshape(shape), self.after.reshape(shape), self.u
        keys, i, j, x = [], [], [], []
        columns: list[list[np.ndarray]] = [[] for _ in range(7)]
        R, A, ahead = self._constraints
        if fixed:
            keys.append((self.total * np.arange(S)[:, None] + np.arange(self.base)).ravel())
            none = np.zeros(S * self.base)
            known = R[:, fixed].ravel(), none, ahead[:, fixed].ravel(), none, none, none, none
            for column, values in zip(columns, known):
                column.append(values)
            rows, cols = look.look.places(3)
            place = np.full(R.shape[1], -1)
            place[fixed] = np.arange(self.base)
            mine = np.flatnonzero(place[rows] >= 0)
            i.append((self.total * np.arange(S)[:, None] + place[rows[mine]]).ravel())
            j.append((n * np.arange(S)[:, None] + cols[mine]).ravel())
            x.append(A[:, mine].ravel())
        for one in look.near.looked:
            which, at = self._looked_at(one, every)
            values, rates, slopes, drives, sizes, rests, backs = one.near.at_states(
                which, at, states, look.params
            )
            place = self.total * at + self.base + one.places[:, which]
            keys.append(place.ravel())
            none, end = np.zeros(place.shape), np.zeros(place.shape)
            size, rest, back = none.copy(), none.copy(), none.copy()
            size[one.gaps :], rest[one.gaps :] = sizes, rests
            if one.gaps:
                back[: one.gaps] = backs
                end[: one.gaps] = one.value.at_states(which, at, ends, look.params)[0]
            known = values, rates, drives, size, rest, back, end
            for column, block in zip(columns, known):
                column.append(block.ravel())
            r, c = (np.array(k, dtype=int) for k in one.entries)
            i.append(place[r].ravel())
            j.append((n * at + one.element.index[c][:, which]).ravel())
            x.append(slopes.ravel())
        every_key = np.concatenate([*keys, np.zeros(0, int)])
        order = np.argsort(every_key)
        self.key = every_key[order]
        self.value, self.rate, self.drive, self.size, self.rest, self.back, self.end = (
            np.concatenate([*column, np.zeros(0)])[order] for column in columns
        )
        self.step, self.place = self.key // self.total, self.key % self.total
        shape = (len(order), S * n)
        if not len(order):
            self.slope = sparse.csr_matrix(shape)
            return
        entries = np.searchsorted(self.key, np.concatenate(i)), np.concatenate(j)
        self.slope = sparse.coo_matrix((np.concatenate(x), entries), shape=shape).tocsr()

    def _looked_at(self, one, every: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return rows of a table, and the steps in which they are looked at."""
        if every:
            count = one.element.rows
            return np.tile(np.arange(count), self.count), np.repeat(np.arange(self.count), count)
        some = []
        for taken in self.taken:
            named = np.zeros(self.total, dtype=bool)
            named[taken.rows] = True
            some.append(np.flatnonzero(named[self.base + one.places[0]]))
        return np.concatenate(some), np.repeat(np.arange(self.count), [len(x) for x in some])

    # -- rows of one kind -------------------------------------------------------------------------

    @cached_property
    def fixed(self) -> np.ndarray:
        """Which rows are constraints."""
        return np.flatnonzero(self.place < self.base)

    @cached_property
    def contacts(self) -> np.ndarray:
        """Which rows are contacts."""
        return np.flatnonzero((self.place >= self.base) & (self.place < self.base + self.gaps))

    @cached_property
    def touching(self) -> np.ndarray:
        """Which rows are contacts or slips."""
        return np.flatnonzero(self.place >= self.base)

    @cached_property
    def rubs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Which rub, its step, its first row, how many it has, and the row of its contact or −1."""
        look, first = self.look, self.base + self.gaps + self.look.first
        at = (self.total * np.arange(self.count)[:, None] + first).ravel()
        where = np.searchsorted(self.key, at)
        there = np.append(self.key, -1)[where] == at
        step, rub = (x[there] for x in np.divmod(np.arange(len(at)), max(len(first), 1)))
        owner = look.owner[rub]
        row = np.searchsorted(self.key, self.total * step + self.base + owner)
        return rub, step, where[there], look.width[rub], np.where(owner >= 0, row, -1)

    # -- sizes ------------------------------------------------------------------------------------

    def divided(self, force: np.ndarray) -> np.ndarray:
        """Return M⁻¹ force."""
        return divided(self.M, force)

    def of_coordinates(self, each: np.ndarray) -> np.ndarray:
        """Return what belongs to steps for every coordinate."""
        return np.repeat(each, self.size_of_one)

    def most(self, values: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return the largest of values in each step, or zero."""
        largest = np.zeros(self.count)
        np.maximum.at(largest, step, values)
        return largest

    def sums(self, values: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return the sum of values in each step."""
        return np.bincount(step, values, self.count)
