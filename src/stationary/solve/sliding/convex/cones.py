"""Clarabel, an interior-point method: programs over cones, and the ways in which they end."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import scipy.sparse as sparse

from stationary.errors import MissingExtra
from stationary.solve.linear import tangent_basis


class End(Enum):
    """How a program ended: solved, all but solved, contradicted, without end, or not at all."""

    SOLVED = "solved"
    CLOSE = "close"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    LOST = "lost"


_ENDS = {
    "Solved": End.SOLVED,
    "AlmostSolved": End.SOLVED,
    "InsufficientProgress": End.CLOSE,
    "PrimalInfeasible": End.INFEASIBLE,
    "AlmostPrimalInfeasible": End.INFEASIBLE,
    "DualInfeasible": End.UNBOUNDED,
    "AlmostDualInfeasible": End.UNBOUNDED,
}


@dataclass(frozen=True)
class Solution:
    """The unknowns, what is dual to the rows, and how it ended: `word` is the solver's own."""

    x: np.ndarray
    z: np.ndarray
    end: End
    word: str

    @property
    def solved(self) -> bool:
        """Whether it ended as it should."""
        return self.end is End.SOLVED


def clarabel() -> Any:
    """Return the package, or say how to get it."""
    try:
        import clarabel as package
    except ImportError:
        raise MissingExtra(
            "this motion has points at rest, and the package that decides them is missing.",
            "Found no 'clarabel'.",
            "Install it: pip install 'stationary[sliding]'.",
        ) from None
    return package


class Cones:
    """A cone program put together row by row: minimize ½xᵀPx + cost·x, rhs − rows·x in cones."""

    def __init__(self, unknowns: int):
        self.package = clarabel()
        self.unknowns = unknowns
        self.cost = np.zeros(unknowns)
        self.P: Any = sparse.csc_matrix((unknowns, unknowns))
        self._rows: list[Any] = []
        self._rhs: list[np.ndarray] = []
        self._cones: list[Any] = []

    def add(self, rows: Any, rhs: np.ndarray, *cones: Any) -> None:
        """Require that rhs − rows·x lies in the cones."""
        if rows.shape[0]:
            self._rows.append(sparse.csr_matrix(rows))
            self._rhs.append(rhs)
            self._cones += cones

    def zero(self, rows: Any, rhs: np.ndarray) -> None:
        """Require rows·x = rhs."""
        self.add(rows, rhs, self.package.ZeroConeT(rows.shape[0]))

    def least(self, rows: Any, rhs: np.ndarray) -> None:
        """Require rows·x ≤ rhs."""
        self.add(rows, rhs, self.package.NonnegativeConeT(rows.shape[0]))

    def solve(self, close: float = 1e-11, give: float | None = None) -> Solution:
        """Return the solution to a tolerance, or what proves that there is none.

        Where rows say the same, those of the linear systems give way by `give`: what that leaves is
        taken back by refinement, which is slow where it is much.
        """
        settings = self.package.DefaultSettings()
        settings.verbose = False
        settings.max_iter = 200
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = close
        settings.reduced_tol_gap_abs = settings.reduced_tol_gap_rel = 1e-8
        settings.reduced_tol_feas = 1e-8
        settings.max_threads = 1
        if give is not None:
            settings.static_regularization_constant = give
        if not self._rows:
            self.zero(sparse.csr_matrix((1, self.unknowns)), np.zeros(1))
        rows = sparse.vstack(self._rows, format="csc")
        program = self.package.DefaultSolver(
            sparse.triu(self.P, format="csc"), self.cost, rows, np.concatenate(self._rhs),
            self._cones, settings,
        )  # fmt: skip
        ended = program.solve()
        word = str(ended.status)
        return Solution(np.array(ended.x), np.array(ended.z), _ENDS.get(word, End.LOST), word)


def farthest(held: np.ndarray, ahead: np.ndarray) -> tuple[np.ndarray | None, End]:
    """Return v with held · v = 0 that goes ahead along all rows, and how the search ended.

    Along each up to one, and no farther across than that takes; None where nothing goes ahead.
    """
    free = tangent_basis(held)
    rows = ahead @ free
    if not rows.size:
        return None, End.SOLVED
    cones = Cones(free.shape[1])
    cones.cost = -rows.sum(axis=0)
    cones.P = sparse.eye(free.shape[1], format="csc") * 1e-6
    cones.least(np.vstack([-rows, rows]), np.repeat([0.0, 1.0], len(rows)))
    solution = cones.solve()
    goes = solution.solved and (rows @ solution.x).max() >= 1e-6
    return free @ solution.x if goes else None, solution.end
