"""Which of many contacts are near, and their rows: gaps far away are not looked at.

All gaps are looked at from time to time. One that its rate does not close soon, nor coordinates
that leave their straight ways by an allowance, is left out until one of them has left it by more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse

from stationary.derive.elements import Element
from stationary.derive.touch import Touch
from stationary.lower.engines.casadi import Numeric
from stationary.model.terms import Contact, Drag

# Rows that are evaluated together.
_TOGETHER = 1024

# For so many steps gaps shall stay far away; so much more may slopes and rates become meanwhile,
# and by this part of what the fastest go may ways be left.
_AHEAD = 8
_STEEPER = 2.0
_ASIDE = 0.25


class _Mapped:
    """A function of an element's symbols, evaluated at some of the rows of its table."""

    def __init__(self, element: Element, outputs: list[Any]):
        self.element, self.width = element, min(_TOGETHER, element.rows)
        made = ca.Function("near", element.arguments, [ca.densify(x) for x in outputs])
        mapped = made if self.width == 1 else made.map("near", "serial", self.width, [0, 3, 4], [])
        self.sizes = [x.numel() for x in outputs]
        self.function = Numeric(mapped)

    def __call__(
        self, rows: np.ndarray, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray, p: np.ndarray
    ) -> list[np.ndarray]:
        """Return the outputs, one column for each of the rows."""
        e, width = self.element, self.width
        parts = []
        for first in range(0, len(rows), width):
            some = rows[first : first + width]
            filled = np.concatenate([some, np.full(width - len(some), some[-1])])
            z, w, d = q[e.index[:, filled]], v[e.index[:, filled]], e.data[:, filled]
            found = self.function(t, z.ravel("F"), w.ravel("F"), u, p, d.ravel("F"))
            parts.append([x.reshape(width, k)[: len(some)].T for x, k in zip(found, self.sizes)])
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
            element.slip_size[slips], element.restitution,
        ])  # fmt: skip


@lru_cache(maxsize=16)
def _looked(touch: Touch) -> tuple[_Looked, ...]:
    dry: dict[int, int] = {}
    layout = touch.graph.layout
    for rows, term in zip(layout.slips, (*layout.system.friction, *layout.rubbing)):
        if not isinstance(term, Drag):
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
    for rows, term in zip(layout.slips, (*layout.system.friction, *layout.rubbing)):
        if isinstance(term, Drag):
            continue
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
    #: Sizes of friction, of slips, and restitutions, of gaps.
    size: np.ndarray
    back: np.ndarray


class Near:
    """Keeps track of what is near during a run of steps."""

    def __init__(self, touch: Touch, p: np.ndarray):
        self.touch, self.p = touch, p
        self.looked = _looked(touch)
        self.lists: list[np.ndarray] = []
        self.places: list[np.ndarray] = []
        self.moves: list[np.ndarray] = []
        self.count = touch.graph.system.size
        self.built = -np.inf
        self.surveys = 0

    def all(self, t: float, q: np.ndarray, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Return all gaps."""
        made = np.zeros(self.touch.gaps)
        for one in self.looked:
            rows = np.arange(one.element.rows)
            if one.gaps:
                made[one.element.gap_index.ravel()] = one.value(rows, t, q, v, u, self.p)[0].ravel()
        return made

    def rows(
        self, t: float, h: float, q: np.ndarray, v: np.ndarray, a: np.ndarray, u: np.ndarray
    ) -> Rows:
        """Return the rows of all that may touch in a step; a are accelerations without contact."""
        if self._moved(t, h, q):
            self._survey(t, h, q, v, a, u)
        parts = []
        for one, rows in zip(self.looked, self.lists):
            found = one.near(rows, t, q, v, u, self.p)
            parts.append((one, rows, found))
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
        size, back = np.zeros(len(every) - gaps), np.zeros(gaps)
        i, j, x = [], [], []
        for one, rows, (values, rates, slopes, drives, sizes, backs) in parts:
            where = np.searchsorted(sorted_places, one.places[:, rows])
            value[where], rate[where], drive[where] = values, rates, drives
            if one.gaps:
                back[where[: one.gaps]] = backs
            if len(where) > one.gaps:
                size[where[one.gaps :] - gaps] = sizes
            r, c = (np.array(k, dtype=int) for k in one.entries)
            i.append(where[r].ravel())
            j.append(one.element.index[c][:, rows].ravel())
            x.append(slopes.ravel())
        shape = (len(every), self.count)
        if not parts:
            return Rows(every, value, rate, drive, sparse.csr_matrix(shape), size, back)
        slope = sparse.coo_matrix(
            (np.concatenate(x), (np.concatenate(i), np.concatenate(j))), shape=shape
        ).tocsr()
        return Rows(sorted_places, value, rate, drive, slope, size, back)

    # -- the list -------------------------------------------------------------------------------

    def _moved(self, t: float, h: float, q: np.ndarray) -> bool:
        """Tell whether something has moved by more than it was allowed to."""
        if t - self.built >= _AHEAD * h or not self.lists:
            return True
        for one, moves in zip(self.looked, self.moves):
            for column, most in zip(one.element.index, moves):
                straight = self.at[column] + (t - self.built) * self.speed[column]
                if np.abs(q[column] - straight).max() > most:
                    return True
        return False

    def _survey(
        self, t: float, h: float, q: np.ndarray, v: np.ndarray, a: np.ndarray, u: np.ndarray
    ) -> None:
        """Look at all gaps, and keep those that may close soon."""
        self.lists, self.moves, self.built = [], [], t
        self.at, self.speed = q.copy(), v.copy()
        self.surveys += 1
        soon = _AHEAD * h
        for one in self.looked:
            e = one.element
            way = np.array([
                _ASIDE * np.abs(v[column]).max() * soon + np.abs(a[column]).max() * soon**2
                for column in e.index
            ])  # fmt: skip
            every = np.arange(e.rows)
            self.moves.append(way)
            if not one.gaps or e.rows == 1:
                self.lists.append(every)
                continue
            gap, slopes, rates = one.far(every, t, q, v, u, self.p)
            reach = -_STEEPER * np.minimum(rates, 0.0) * soon
            rows, columns = one.far_entries
            for slope, r, c in zip(slopes, rows, columns):
                reach[r] += _STEEPER * np.abs(slope) * way[c]
            self.lists.append(every[np.any(gap <= reach, axis=0)])
