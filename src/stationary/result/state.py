"""A state that satisfies the constraints of its system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stationary.derive.graph import Graph
from stationary.errors import spelled
from stationary.result.views import found_once


@spelled
@dataclass(frozen=True, eq=False)
class State(Mapping):
    """A state that satisfies the constraints; it can be passed on as ``start=``.

    Attributes
    ----------
    q, v : ndarray
    moved : float
        How far the start was moved: the root of ½ Δqᵀ M Δq + ½ Δvᵀ M Δv.
    rows : tuple of int
        Rows of A that are independent.
    redundant : tuple of str
        Names of the rows that say nothing new.

    Examples
    --------
    >>> x, y = st.coordinates("x y")
    >>> line = st.System(kinetic=x.dot**2 + y.dot**2, constraints=[x - y, 2 * x - 2 * y])
    >>> st.consistent(line, {x: 1.0}).redundant
    ('R2',)
    """

    graph: Graph
    q: np.ndarray
    v: np.ndarray
    moved: float
    rows: tuple[int, ...]
    redundant: tuple[str, ...]

    @found_once
    def _names(self) -> dict[str, float]:
        layout, by_name = self.graph.layout, {}
        for suffix, vector in (("", self.q), (".dot", self.v)):
            by_name |= {layout.name(i) + suffix: float(x) for i, x in enumerate(vector)}
        return by_name

    def __getitem__(self, key: Any) -> Any:
        turned = self.graph.layout.looked_up(key, self.q, self.v)
        if turned is not None:
            return turned
        places, order = self.graph.layout.resolve(key, "the key")
        value = (self.q, self.v)[order][places]
        return float(value) if np.ndim(value) == 0 else value

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        shown = ", ".join(f"{k} = {v:.6g}" for k, v in list(self._names.items())[:8])
        return f"State({shown}; moved by {self.moved:.2g})"
