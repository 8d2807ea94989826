"""Which of many contacts are near, and their rows: gaps far away are not looked at.

All gaps are looked at now and then, those that may close before the next look more often. One that
its rate does not close soon, nor coordinates that leave their straight ways by an allowance, is
left out until one of them has left it by more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse

from stationary.derive.elements import Element
from stationary.derive.touch import Touch
from stationary.lower.engines.casadi import Numeric
from stationary.lower.many_places import Wide
from stationary.model.terms import Contact, Drag

# Rows that are evaluated together, at one state and at many.
_TOGETHER, _STATES = 1024, 512

# More rows than this are evaluated operation by operation.
_MANY = 2 * _TOGETHER

# Times, coordinates, velocities and inputs, one row for each state.
States = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

# For so many steps gaps shall stay far away, of all gaps and of those of a first list; so much more
# may slopes and rates become meanwhile, and by these parts of what the fastest go and of what
# forces pull may ways be left.
_AHEAD = (24, 6)
_STEEPER = 2.0
_ASIDE = 0.25
_PULLED = 0.1

# By how much more than a step has left its ways they may be left when it is taken again.
_WIDER = 2.0


class _Mapped:
    """A function of an element's symbols, evaluated at some of the rows of its table."""

    def __init__(self, element: Element, outputs: list[Any]):
        self.element, self.width = element, min(_TOGETHER, element.rows)
        function = ca.Function("near", element.arguments, [ca.densify(x) for x in outputs])
        mapped = (
            function
            if self.width == 1
            else function.map("near", "serial", self.width, [0, 3, 4], [])
        )
        self.sizes = [x.numel() for x in outputs]
        self.function, self._one = Numeric(mapped), function

    @cached_property
    def _wide(self) -> Wide | None:
        return Wide(self._one) if Wide.serves(self._one) else None

    @cached_property
    def _at_states(self) -> Numeric:
        return Numeric(self._one.map("states", "serial", _STATES, [4], []))

    def __call__(
        self, rows: np.ndarray, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray, p: np.ndarray
    ) -> list[np.ndarray]:
        """Return the outputs, one column for each of the rows."""
        e, width = self.element, self.width
        if len(rows) > _MANY and self._wide is not None:
            known = (lambda k, some: t, lambda k, some: q[e.index[k, rows[some]]],
                     lambda k, some: v[e.index[k, rows[some]]], lambda k, some: u[k],
                     lambda k, some: p[k], lambda k, some: e.data[k, rows[some]])  # fmt: skip
            return self._wide(len(rows), known)
        parts = []
        for first in range(0, len(rows), width):
            some = rows[first : first + width]
            filled = np.concatenate([some, np.full(width - len(some), some[-1])])
            z, w, d = q[e.index[:, filled]], v[e.index[:, filled]], e.data[:, filled]
            columns = self.function(t, z.ravel("F"), w.ravel("F"), u, p, d.ravel("F"))
            parts.append([x.reshape(width, k)[: len(some)].T for x, k in zip(columns, self.sizes)])
        return self._columns(parts)

    def at_states(
        self, rows: np.ndarray, which: np.ndarray, states: States, p: np.ndarray
    ) -> list[np.ndarray]:
        """Return the outputs, one column for each of the rows, at this of many states."""
        e, parts = self.element, []
        t, q, v, u = states
        for first in range(0, len(rows), _STATES):
            r, k = rows[first : first + _STATES], which[first : first + _STATES]
            count = len(r)
            if count < _STATES:
                r, k = np.resize(r, _STATES), np.resize(k, _STATES)
            index, columns = e.index[:, r].T, k[:, None]
            values = self._at_states(
                t[k], q[columns, index].ravel(), v[columns, index].ravel(), u[k].ravel(), p,
                e.data[:, r].ravel("F"),
            )  # fmt: skip
            parts.append([x.reshape(_STATES, k)[:count].T for x, k in zip(values, self.sizes)])
        return self._columns(parts)

    def _columns(self, parts: list[list[np.ndarray]]) -> list[np.ndarray]:
        if not parts:
            return [np.zeros((k, 0)) for k in self.sizes]
        return [np.hstack(x) for x in zip(*parts)]


def _nonzeros(matrix: Any) -> Any:
    return ca.vertcat(*matrix.nonzeros())


class _Looked:
    """What touches or rubs in the rows of one element."""

    def __init__(self, element: Element, touch: Touch, dry: dict[int, int]):
        self.element = element
        slips = [k for k in range(element.slip.numel()) if int(element.slip_index[k, 0]) in dry]
        gap, slip = element.gap, element.slip[slips]
        # Places among all rows: gaps, then dry slips.
        self.places = np.vstack([
            element.gap_index,
            np.vectorize(dry.get, otypes=[int])(element.slip_index[slips]) + touch.gaps
            if slips else np.zeros((0, element.rows), dtype=int),
        ]).astype(int)  # fmt: skip
        both = ca.vertcat(gap, slip)
        slope = ca.jacobian(both, element.z)
        self.entries = slope.sparsity().get_triplet()
        self.gaps = gap.numel()
        self.far = _Mapped(
            element, [gap, _nonzeros(ca.jacobian(gap, element.z)), element.rate(gap)]
        )
        self.far_entries = ca.jacobian(gap, element.z).sparsity().get_triplet()
        self.value = _Mapped(element, [gap])
        self.near = _Mapped(element, [
            both, element.rate(both), _nonzeros(slope), ca.jacobian(both, element.t),
            element.slip_size[slips], element.slip_rest[slips], element.restitution,
        ])  # fmt: skip

    def rows_of(self, coordinates: np.ndarray) -> np.ndarray:
        """Tell in which rows one of these coordinates is."""
        order, ends = self._by_coordinate
        some = coordinates[coordinates < len(ends) - 1]
        first, count = ends[some], ends[some + 1] - ends[some]
        at = np.repeat(first - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
        there = np.zeros(self.element.rows, dtype=bool)
        there[order[at]] = True
        return there

    @cached_property
    def _by_coordinate(self) -> tuple[np.ndarray, np.ndarray]:
        index = self.element.index
        order = np.argsort(index, axis=None, kind="stable")
        ends = np.concatenate([[0], np.cumsum(np.bincount(index.ravel()))])
        return order % index.shape[1], ends


def dry_slips(touch: Touch) -> Iterator[tuple[Any, Any]]:
    """Yield the rows of all slips with dry friction, and the terms that state it."""
    layout = touch.graph.layout
    for rows, term in zip(layout.slips, (*layout.system.friction, *layout.rubbing)):
        if not isinstance(term, Drag):
            yield rows, term


@lru_cache(maxsize=16)
def _looked(touch: Touch) -> tuple[_Looked, ...]:
    dry: dict[int, int] = {}
    for rows, _ in dry_slips(touch):
        for k in rows.places.reshape(-1).tolist():
            dry[int(k)] = len(dry)
    return tuple(
        _Looked(e, touch, dry) for e in touch.graph.whole.elements
        if e.gap_index.size or any(int(k) in dry for k in e.slip_index[:, :1].ravel())
    )  # fmt: skip


@lru_cache(maxsize=16)
def rubs_of(touch: Touch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return for every rub the place of its first rate, how many it has, and its contact or −1."""
    layout = touch.graph.layout
    gaps = {r.name: r.places.reshape(-1) for r in layout.gaps}
    firsts, widths, owners, count = [], [], [], 0
    for rows, term in dry_slips(touch):
        contact = isinstance(term, Contact)
        width = len(term.slip if contact else term.on)
        many = rows.places.size // width
        firsts.append(count + width * np.arange(many))
        widths.append(np.full(many, width))
        owners.append(gaps[rows.name] if contact else np.full(many, -1))
        count += width * many
    if not firsts:
        return np.zeros(0, int), np.zeros(0, int), np.zeros(0, int)
    return np.concatenate(firsts), np.concatenate(widths), np.concatenate(owners).astype(int)


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that are near: which of all they are, and what is known of them now."""

    places: np.ndarray
    value: np.ndarray
    rate: np.ndarray
    drive: np.ndarray
    slope: Any
    #: Sizes of friction, of slips, and at rest; restitutions, of gaps.
    size: np.ndarray
    rest: np.ndarray
    back: np.ndarray


def _matrix(
    entries: np.ndarray, i: np.ndarray, j: np.ndarray, shape: tuple[int, int], dense: bool
) -> Any:
    """Return a matrix from its entries, those of one place summed."""
    if not dense:
        return sparse.coo_matrix((entries, (i, j)), shape=shape).tocsr()
    places = i * shape[1] + j
    return np.bincount(places, entries, shape[0] * shape[1]).reshape(shape)


class Near:
    """Keeps track of what is near during a run of steps."""

    def __init__(self, touch: Touch, p: np.ndarray, dense: bool = False):
        self.touch, self.p, self.dense = touch, p, dense
        self.looked = _looked(touch)
        self.lists: list[np.ndarray] = []
        self.count = touch.graph.system.size
        alike = [np.unique(column) for one in self.looked for column in one.element.index]
        self.levels = [_Level(ahead, alike, self.count) for ahead in _AHEAD]
        self.surveys = 0

    def all(self, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> Rows:
        """Return the rows of all contacts and rubs."""
        every = [(one, np.arange(one.element.rows)) for one in self.looked]
        return self._joined(
            [(one, rows, one.near(rows, t, q, v, u, self.p)) for one, rows in every]
        )

    def all_values(self, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return all gaps."""
        gaps = np.zeros(self.touch.gaps)
        for one in self.looked:
            rows = np.arange(one.element.rows)
            if one.gaps:
                gaps[one.places[: one.gaps]] = one.value(rows, t, q, v, u, self.p)[0]
        return gaps

    def rows(
        self, t: float, h: float, q: np.ndarray, v: np.ndarray, a: np.ndarray, u: np.ndarray
    ) -> Rows:
        """Return the rows of all that may touch in a step; a are accelerations without contact."""
        self._updated(t, h, q, v, a, u)
        parts = []
        for one, rows in zip(self.looked, self.lists):
            values = one.near(rows, t, q, v, u, self.p)
            parts.append((one, rows, values))
        return self._joined(parts)

    def values(
        self, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return which contacts are near, and their gaps at another state."""
        places, values = [np.zeros(0, int)], [np.zeros(0)]
        for one, rows in zip(self.looked, self.lists):
            if one.gaps:
                places.append(one.places[: one.gaps, rows].ravel())
                values.append(one.value(rows, t, q, v, u, self.p)[0].ravel())
        return np.concatenate(places), np.concatenate(values)

    def _joined(self, parts: list) -> Rows:
        gap_index, slip_index = [], []
        for one, rows, _ in parts:
            where = one.places[:, rows]
            gap_index.append(where[: one.gaps].ravel())
            slip_index.append(where[one.gaps :].ravel())
        every = np.concatenate([*gap_index, *slip_index]) if parts else np.zeros(0, int)
        order = np.argsort(every, kind="stable")
        sorted_places = every[order]
        gaps = int(np.sum(sorted_places < self.touch.gaps))
        value, rate, drive = (np.zeros(len(every)) for _ in range(3))
        (size, rest), back = np.zeros((2, len(every) - gaps)), np.zeros(gaps)
        i, j, x = [], [], []
        for one, rows, (values, rates, slopes, drives, sizes, rests, backs) in parts:
            where = np.searchsorted(sorted_places, one.places[:, rows])
            value[where], rate[where], drive[where] = values, rates, drives
            if one.gaps:
                back[where[: one.gaps]] = backs
            if len(where) > one.gaps:
                slips = where[one.gaps :] - gaps
                size[slips], rest[slips] = sizes, rests
            r, c = (np.array(k, dtype=int) for k in one.entries)
            i.append(where[r].ravel())
            j.append(one.element.index[c][:, rows].ravel())
            x.append(slopes.ravel())
        shape = (len(every), self.count)
        entries, i, j = (np.concatenate(k) if parts else np.zeros(0, int) for k in (x, i, j))
        slope = _matrix(entries, i, j, shape, self.dense)
        return Rows(sorted_places, value, rate, drive, slope, size, rest, back)

    # -- the lists ------------------------------------------------------------------------------

    def _updated(
        self, t: float, h: float, q: np.ndarray, v: np.ndarray, a: np.ndarray, u: np.ndarray
    ) -> None:
        """Look again at gaps of coordinates that have left their ways, now and then at all."""
        state = t, q, v, u, self.p
        known = [np.ones(one.element.rows, dtype=bool) for one in self.looked]
        new = [~rows for rows in known]
        for level in self.levels:
            out = level.left(t, q)
            if t >= level.end or 4 * np.count_nonzero(out) > len(q):
                level.begin(t, h, q, v, a)
                level.lists = [np.zeros(len(rows), dtype=bool) for rows in known]
                new, self.surveys = [rows.copy() for rows in known], self.surveys + 1
            elif out.any():
                level.straighten(out, t, q, v, a)
                some = np.flatnonzero(out)
                for one, rows, more in zip(self.looked, known, new):
                    more |= rows & one.rows_of(some)
            for one, rows, more in zip(self.looked, level.lists, new):
                looked = np.flatnonzero(more)
                more[looked] = level.reached(one, looked, state)
                rows |= more
            known = level.lists
        self.lists = [np.flatnonzero(rows) for rows in known]

    def missed(
        self, t: float, h: float, q: np.ndarray, v: np.ndarray, a: np.ndarray, u: np.ndarray,
        after: np.ndarray,
    ) -> bool:  # fmt: skip
        """Tell whether gaps have closed in a step that were not looked at; then they are now."""
        new, before = q + h * after, self.lists
        every = [level.left(t + h, new) for level in self.levels]
        if not any(out.any() for out in every):
            return False
        for level, out in zip(self.levels, every):
            level.seen[out] = (_WIDER * h * np.abs(after - v) + np.spacing(np.abs(new)))[out]
        self._updated(t, h, q, v, a, u)
        for one, rows, old in zip(self.looked, self.lists, before):
            more = np.setdiff1d(rows, old, assume_unique=True)
            if one.gaps and np.any(one.value(more, t + h, new, after, u, self.p)[0] < 0):
                return True
        return False


class _Level:
    """Gaps that may close within some steps, as long as no coordinate leaves its straight way.

    Coordinates that are `alike` take the same places in a table: what one may do, all may.
    """

    def __init__(self, ahead: int, alike: list[np.ndarray], count: int):
        self.ahead, self.alike = ahead, alike
        self.end, self.lists = -np.inf, []
        self.since, self.at, self.speed, self.allowed = np.zeros((4, count))
        #: How far coordinates went aside in a step that was taken with this list.
        self.seen = np.zeros(count)

    def aside(self, t: float, q: np.ndarray) -> np.ndarray:
        """Return how far coordinates are from their straight ways."""
        return np.abs(q - self.at - (t - self.since) * self.speed)

    def left(self, t: float, q: np.ndarray) -> np.ndarray:
        """Tell which coordinates are, or have been seen, further from their ways than they may."""
        return (self.aside(t, q) > self.allowed) | (self.seen > 0)

    def begin(self, t: float, h: float, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> None:
        """Begin a new list."""
        self.end, self.soon = t + self.ahead * h, self.ahead * h
        self.straighten(np.ones(len(q), dtype=bool), t, q, v, a)

    def straighten(
        self, out: np.ndarray, t: float, q: np.ndarray, v: np.ndarray, a: np.ndarray
    ) -> None:
        """Take the ways on which these coordinates go now."""
        allowed = np.zeros(len(q))
        for some in self.alike:
            pulled = np.abs(a[some]).max() * self.soon**2
            most = _ASIDE * np.abs(v[some]).max() * self.soon + _PULLED * pulled
            allowed[some] = np.maximum(allowed[some], most)
        self.since[out], self.at[out], self.speed[out] = t, q[out], v[out]
        # What is far from the origin has a rounding.
        self.allowed[out] = (np.maximum(allowed, self.seen) + 64 * np.spacing(np.abs(q)))[out]
        self.seen[:] = 0.0

    def reached(self, one: _Looked, rows: np.ndarray, state: tuple) -> np.ndarray:
        """Tell of which of the rows gaps may close."""
        t, q, v, _, _ = state
        if not one.gaps or one.element.rows == 1:
            return np.ones(len(rows), dtype=bool)
        gap, slopes, rates = one.far(rows, *state)
        soon = self.end - t
        reach = -_STEEPER * np.minimum(rates, 0.0) * soon
        # Others of a row may be on their ways for some time.
        aside = self.allowed + self.aside(t, q) + soon * np.abs(v - self.speed)
        for slope, r, c in zip(slopes, *one.far_entries):
            reach[r] += _STEEPER * np.abs(slope) * aside[one.element.index[c, rows]]
        return np.any(gap <= reach, axis=0)
