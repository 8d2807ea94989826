"""Which coordinates are measured by one length: those that a statement adds to each other."""

from __future__ import annotations

from collections import ChainMap, defaultdict
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import sympy as sp
from scipy.cluster.hierarchy import DisjointSet

from stationary.model.arrays import Array
from stationary.model.contents import contents
from stationary.model.graphs import nodes
from stationary.model.layout import Layout
from stationary.model.terms import ENERGIES


def added(layout: Layout) -> list[np.ndarray]:
    """Return groups of entries of q that have one unit.

    Besides those of one array these are what the statement adds or subtracts, or the squares of
    which it does, as in the length of a spring. Terms of an energy are added whatever their
    coordinates are, and tell nothing.
    """
    places = dict(zip(layout.system.scalars(), range(layout.system.size)))
    groups = DisjointSet(range(layout.system.size))
    for entries in layout.alike:
        _join(groups, entries.tolist())
    for kind, e in layout.system.expressions():
        within = sp.Add.make_args(e) if kind in ENERGIES else [e]
        for term in within:
            _walk(groups, term, [places])
        for repeated in contents(e).sums:
            arrays = {
                slot: layout.offsets[column.name]
                for slot, column in repeated.table.columns.items()
                if isinstance(column, Array) and column.order == 0
            }
            for term in repeated.expressions:
                for part in sp.Add.make_args(term) if kind in ENERGIES else [term]:
                    _walk(groups, part, [arrays, places])
    return [np.array(sorted(group)) for group in groups.subsets() if len(group) > 1]


def _join(groups: DisjointSet, entries: Iterable[int]) -> None:
    for one, other in pairwise(entries):
        groups.merge(one, other)


def _walk(groups: DisjointSet, e: sp.Expr, places: list[dict[sp.Basic, int]]) -> None:
    """Join what every sum inside an expression adds."""
    # For every sum an entry that has the unit of the sum.
    units: ChainMap[sp.Basic, int] = ChainMap({}, *places)
    for node in nodes(e):
        if not isinstance(node, sp.Add):
            continue
        alike: dict[tuple, list[int]] = defaultdict(list)
        for term in node.args:
            factor, rest = term.as_coeff_Mul()
            base, power = rest.as_base_exp()
            if base in units and power in (1, 2):
                alike[abs(factor), power].append(units[base])
        for entries in alike.values():
            _join(groups, entries)
        if entries := alike.get((sp.S.One, sp.S.One)):
            units[node] = entries[0]
