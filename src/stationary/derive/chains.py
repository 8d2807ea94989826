"""Bodies that pass their motion on: inertia of chains and trees in time that grows with their size.

The speeds of a link are linear in those of the link before it and in the rate of its joint. Stated
as shared expressions they are unknowns of their own, which the mass matrix of the whole is not
needed for: from the tips to the root, what is shared is replaced by what it is made of and every
rate is eliminated, which leaves behind the inertia that the rest of the tree feels (Featherstone's
articulated bodies, 1983, found by elimination); then accelerations are found from the root to the
tips.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp

from stationary.derive.from_sympy import Translator
from stationary.model.built_once import Speed
from stationary.model.contents import contents
from stationary.model.graphs import nodes
from stationary.model.symbols import Velocity

Row = dict[int, Any]


@dataclass(frozen=True)
class Chain:
    """A kinetic energy over rates and shared speeds: ½ xᵀ H x with x = (w, s), s = L x.

    Attributes
    ----------
    size : int
        Number of rates w.
    order : tuple of int
        Entries of x from the root to the tips: what a speed is made of stands before it.
    H, L : list of dict
        Rows, of H from the diagonal on; those of L are empty for rates.
    """

    size: int
    order: tuple[int, ...]
    H: list[Row]
    L: list[Row]

    @property
    def massless(self) -> list[int]:
        """Rates that no kinetic energy involves."""
        used = {i for row in self.L for i in row} | self._direct
        return [i for i in range(self.size) if i not in used]

    @property
    def _direct(self) -> set[int]:
        """Entries that the kinetic energy names itself."""
        return {e for i, row in enumerate(self.H) for j in row for e in (i, j)}

    def indifferent(self, places: list[int], unit: Any) -> bool:
        """Tell whether rates along a vector, given over some entries, move nothing."""
        if self._direct & set(places):
            return False
        shares = [
            [row[i] * unit[n] for n, i in enumerate(places) if i in row] or [ca.SX(0)]
            for row in self.L
        ]
        along = ca.vertcat(*(sum(row, ca.SX(0)) for row in shares))
        size = ca.vertcat(*(sum(map(ca.fabs, row), ca.SX(0)) for row in shares))
        f = ca.Function("along", [unit], [ca.fabs(along), size])
        off, whole = map(np.array, f(np.array([0.3, -0.4, 0.5, 0.7])))
        return bool(np.all(off <= 1e-12 * whole))

    def mass(self) -> Any:
        """Return M over the rates."""
        form = _Form(self.H)
        for k in reversed(self.order):
            if k >= self.size:
                form.replace(k, self.L[k])
        M = ca.SX(self.size, self.size)
        for (i, j), value in form.values.items():
            M[i, j] = M[j, i] = value
        return M

    def solve(self, force: Any, units: Any = ()) -> Any:
        """Return a of M a = force.

        `units` are unit vectors along which M is zero, and the accelerations along these: entries,
        the vector, and the value.
        """
        form = _Form(self.H)
        f: list[Any] = [*(force[i] for i in range(self.size))]
        f += [ca.SX(0)] * (len(self.H) - self.size)
        last = {max(unit[0], key=self.order.index): unit for unit in units}
        pivots: dict[int, tuple[Any, Row]] = {}
        for k in reversed(self.order):
            if k in last:
                form.complete(f, *last[k])
            if k >= self.size:
                for i, c in self.L[k].items():
                    f[i] += c * f[k]
                form.replace(k, self.L[k])
            else:
                pivots[k] = form.eliminate(k, f)
        a: list[Any] = [None] * len(self.H)
        for k in self.order:
            if k >= self.size:
                a[k] = sum((c * a[i] for i, c in self.L[k].items()), ca.SX(0))
            else:
                pivot, row = pivots[k]
                a[k] = f[k] / pivot - sum((y * a[i] for i, y in row.items()), ca.SX(0))
        return ca.vertcat(*a[: self.size])


class _Form:
    """A quadratic form over the entries of x; of two equal values one is kept."""

    def __init__(self, rows: list[Row]):
        self.values = {(i, j): value for i, row in enumerate(rows) for j, value in row.items()}
        self.beside: list[set[int]] = [set() for _ in rows]
        for i, j in self.values:
            if i != j:
                self.beside[i].add(j)
                self.beside[j].add(i)

    def __getitem__(self, pair: tuple[int, int]) -> Any:
        return self.values.get((min(pair), max(pair)), 0)

    def add(self, i: int, j: int, value: Any) -> None:
        pair = min(i, j), max(i, j)
        if pair in self.values:
            self.values[pair] += value
        else:
            self.values[pair] = value
            if i != j:
                self.beside[i].add(j)
                self.beside[j].add(i)

    def taken(self, k: int) -> Row:
        """Take an entry out of the form; return what it was beside."""
        row = {j: self.values.pop((min(j, k), max(j, k))) for j in sorted(self.beside[k])}
        for j in row:
            self.beside[j].discard(k)
        self.beside[k] = set()
        return row

    def replace(self, k: int, made_of: Row) -> None:
        """Put what an entry of x is made of in its place: x_k = Σ c_i x_i."""
        own = self.values.pop((k, k), None)
        half = self.taken(k)
        if own is not None:
            for i, c in made_of.items():
                half[i] = half.get(i, 0) + own * c / 2
        # (g + d c/2) cᵀ and its transpose: pairs of which both are in the row are met twice.
        for i, c in made_of.items():
            for j, e in half.items():
                self.add(i, j, 2 * (c * e) if i == j else c * e)

    def eliminate(self, k: int, f: list[Any]) -> tuple[Any, Row]:
        """Eliminate a rate; return its pivot and the rest of its row, divided by it."""
        pivot = self.values.pop((k, k), ca.SX(0))
        row = self.taken(k)
        scaled = {j: value / pivot for j, value in row.items()}
        for i, value in row.items():
            f[i] -= scaled[i] * f[k]
            for j in row:
                if j >= i:
                    self.add(i, j, -value * scaled[j])
        return pivot, scaled

    def complete(self, f: list[Any], places: list[int], unit: Any, along: Any) -> None:
        """Give inertia to a direction that has none, and its known acceleration to it."""
        count = range(len(places))
        weight = sum(self[i, i] for i in places)
        push = sum(unit[n] * f[places[n]] for n in count) / ca.sumsqr(unit)
        for n in count:
            f[places[n]] += unit[n] * (weight * along - push)
            for m in range(n, len(places)):
                self.add(places[n], places[m], weight * unit[n] * unit[m])


def chain_of(kinetic: sp.Expr, symbols: Mapping[Any, Any], w: Any) -> Chain | None:
    """Return the chain of a kinetic energy; None where it shares no speeds or is not quadratic."""
    speeds = [node for node in nodes(kinetic) if isinstance(node, Speed)]
    if not speeds:
        return None
    # Link by link: what depends on fewer rates is nearer to the root. The sort keeps parts first.
    speeds.sort(key=lambda e: sum(isinstance(x, Velocity) for x in contents(e).symbols))
    s = ca.SX.sym("s", len(speeds))
    lower = Translator({**symbols, **{speed: s[k] for k, speed in enumerate(speeds)}})
    x = ca.vertcat(w, s)
    T = ca.SX.ones(1) * lower(kinetic)
    made_of = ca.vertcat(*(ca.SX.ones(1) * lower(speed.inside) for speed in speeds))
    H, slopes = ca.hessian(T, x)[0], ca.jacobian(made_of, x)
    if ca.depends_on(H, x) or ca.depends_on(slopes, x):
        return None
    n = w.numel()
    L: list[Row] = [{} for _ in range(n)] + _rows(slopes)
    order: list[int] = []
    placed: set[int] = set()
    for k in range(n, x.numel()):
        # A rate stands before the first speed that it is part of.
        for i in (*(i for i in L[k] if i < n), k):
            if i not in placed:
                placed.add(i)
                order.append(i)
    order = [i for i in range(n) if i not in placed] + order
    return Chain(n, tuple(order), _rows(ca.triu(H)), L)


def _rows(matrix: Any) -> list[Row]:
    rows: list[Row] = [{} for _ in range(matrix.shape[0])]
    i, j = (np.array(e, dtype=int) for e in matrix.sparsity().get_triplet())
    for row, column, value in zip(i.tolist(), j.tolist(), matrix.nonzeros()):
        if not value.is_zero():
            rows[row][column] = ca.SX(value)
    return rows
