"""Factors of symmetric matrices that know how many digits they lost, and count signs.

Sparse ones are factored without pivoting in an order that keeps a band, where the factors
themselves show that no digits were lost, else with pivoting; small ones dense.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.linalg import lapack
from scipy.sparse.linalg import splu

from stationary.derive.elimination_order import saddle_order

# Without pivoting, factors may be this many times larger than their matrix: rounding grows alike.
_GROWTH = 1e5

# A matrix whose inverse is this many times smaller than it should be is singular.
_SINGULAR = 1e-14

# Patterns whose order is remembered.
_MOST_ORDERS = 8

# Rounds in which the rows of a matrix are brought to one size.
_MOST_SCALINGS = 12

# Unknowns eliminated together where signs are counted, and how much smaller than what they are
# coupled to pivots may be before they wait.
_BLOCK, _WAITS = 24, 0.05


def order_of(H: Any, A: Any) -> np.ndarray:
    """Return the order of a saddle point; those of the last patterns are remembered."""
    H, A = sparse.csc_matrix(H), sparse.csc_matrix(A)
    key = (A.shape, *(x.tobytes() for x in (H.indptr, H.indices, A.indptr, A.indices)))
    if key not in _orders:
        if len(_orders) >= _MOST_ORDERS:
            _orders.pop(next(iter(_orders)), None)
        _orders[key] = saddle_order(H, A)
    return _orders[key]


_orders: dict[tuple, np.ndarray] = {}


def in_order(K: Any) -> Any:
    """Factor a symmetric matrix in the order in which it stands, without pivoting."""
    settings: dict[str, Any] = {"permc_spec": "NATURAL", "diag_pivot_thresh": 0.0}
    return splu(K, **settings, options={"SymmetricMode": True})


def diagonal_scale(K: Any) -> np.ndarray:
    """Return factors that bring the largest entry of every row of a symmetric matrix near one."""
    diagonal, sizes = np.abs(K.diagonal()), sparse.coo_matrix(abs(K))
    good = np.isfinite(sizes.data)
    row, column, sizes = sizes.row[good], sizes.col[good], sizes.data[good]
    known = (diagonal > 0) & np.isfinite(diagonal)
    d = np.divide(1.0, np.sqrt(diagonal), out=np.zeros(K.shape[0]), where=known)
    # What has no diagonal is measured by what it is coupled to, or by its own largest entry; what
    # has lost its digits to the smallest numbers there are couples nothing.
    tiny = np.finfo(float).tiny
    for guess in (sizes * d[column], np.sqrt(sizes)):
        most = np.zeros(len(d))
        np.maximum.at(most, row, guess)
        d = np.where(d > 0, d, np.divide(1.0, most, out=np.zeros(len(d)), where=most > tiny))
    d = np.where(d > 0, d, 1.0)
    for _ in range(_MOST_SCALINGS):
        most = np.zeros(len(d))
        np.maximum.at(most, row, sizes * d[row] * d[column])
        most = np.where(most > 0, most, 1.0)
        d = d / np.sqrt(most)
        if most.max(initial=1.0) < 2 and most.min(initial=1.0) > 0.5:
            break
    return d


def stiffnesses(K: Any) -> np.ndarray:
    """Return how stiff every coordinate is, the others moved as far as costs the same energy."""
    d = diagonal_scale(K)
    return abs(K) @ d / d


class SparseFactors:
    """Factors of a sparse symmetric matrix that know how many digits they lost."""

    def __init__(self, K: Any, order: np.ndarray):
        self.d = diagonal_scale(K)
        self.scaled = (sparse.diags(self.d) @ K @ sparse.diags(self.d)).tocsc()
        self.order = order
        self.finite = bool(np.all(np.isfinite(self.scaled.data)))

    @cached_property
    def _ordered(self) -> Any:
        return self.scaled[self.order][:, self.order].tocsc()

    @cached_property
    def unpivoted(self) -> Any:
        """Factors without pivoting, or None where these are too large to be believed."""
        if not self.finite:
            return None
        try:
            factors = in_order(self._ordered)
        except RuntimeError:
            return None
        size = len(self.d)
        if not np.array_equal(factors.perm_r, np.arange(size)):
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            growth = (abs(factors.L) @ (abs(factors.U) @ np.ones(size))).max(initial=0.0)
        return factors if growth < _GROWTH else None

    @cached_property
    def pivoted(self) -> Any:
        """Factors with pivoting, or None where the matrix is singular."""
        if not self.finite:
            return None
        try:
            return splu(self._ordered)
        except RuntimeError:
            return None

    def solve(self, known: np.ndarray, refinements: int = 1) -> np.ndarray:
        """Solve, or return what is not finite where the matrix is singular."""
        factors = self.pivoted if self.unpivoted is None else self.unpivoted
        if factors is None:
            return np.full_like(known, np.nan)
        known = self.d * known
        solution = np.empty_like(known)
        solution[self.order] = factors.solve(known[self.order])
        for _ in range(refinements):
            left = known - self.scaled @ solution
            solution[self.order] += factors.solve(left[self.order])
        return self.d * solution

    @cached_property
    def signs(self) -> tuple[int, int, int]:
        """Number of positive, negative and zero eigenvalues."""
        if not self.finite:
            return 0, 0, len(self.d)
        if self.unpivoted is not None:
            pivots = self.unpivoted.U.diagonal()
            positive, negative = int(np.sum(pivots > 0)), int(np.sum(pivots < 0))
            return positive, negative, len(pivots) - positive - negative
        return block_signs(self._ordered)


def block_signs(K: Any) -> tuple[int, int, int]:
    """Count positive, negative and zero eigenvalues of a sparse symmetric matrix, in its order.

    Blocks of unknowns are eliminated in turn, in the principal axes of each. Axes along which the
    block is small beside what couples it to the rest wait for the blocks after it: that is pivoting
    without a loss of symmetry, so that Sylvester's law counts.
    """
    upper = sparse.triu(K).tocsr()
    N = K.shape[0]
    front, waiting, held = np.zeros((0, 0)), 0, np.zeros(0, dtype=int)
    count = np.zeros(3, dtype=int)
    tiny = N * np.finfo(float).eps * float(abs(K).max() if K.nnz else 0.0)
    for first in range(0, N, _BLOCK):
        last = min(first + _BLOCK, N)
        rows = np.repeat(np.arange(first, last), np.diff(upper.indptr[first : last + 1]))
        entries = slice(upper.indptr[first], upper.indptr[last])
        columns, values = upper.indices[entries], upper.data[entries]
        active = np.unique(np.concatenate([held, np.arange(first, last), columns]))
        F = np.zeros((waiting + len(active),) * 2)
        old = np.concatenate([np.arange(waiting), waiting + np.searchsorted(active, held)])
        F[np.ix_(old, old)] = front
        i, j = (waiting + np.searchsorted(active, k) for k in (rows, columns))
        F[i, j] += values
        F[j, i] = F[i, j]
        complete = waiting + last - first
        pivots, axes = np.linalg.eigh(F[:complete, :complete])
        coupled = F[complete:, :complete] @ axes
        pull, sizes = np.abs(coupled).max(axis=0, initial=0.0), np.abs(pivots)
        goes = sizes > np.maximum(_WAITS * pull, tiny)
        # What is rounding and coupled to nothing is zero: nothing that follows could change it.
        zero = np.maximum(sizes, pull) <= tiny
        waits = ~goes & ~zero
        count += np.sum(pivots[goes] > 0), np.sum(pivots[goes] < 0), np.sum(zero)
        update = (coupled[:, goes] / pivots[goes]) @ coupled[:, goes].T
        later = coupled[:, waits]
        rest = F[complete:, complete:] - update
        front = np.block([[np.diag(pivots[waits]), later.T], [later, rest]])
        waiting, held = later.shape[1], active[last - first :]
    return int(count[0]), int(count[1]), int(count[2])


class DenseFactors:
    """Factors of a symmetric matrix, dense.

    Rows and columns are scaled first, so that singular does not mean newtons beside metres. Where
    the matrix is singular, the smallest solution in the mean is taken.
    """

    def __init__(self, K: np.ndarray):
        self.d, self.factors = np.ones(len(K)), None
        self.finite = bool(np.all(np.isfinite(K)))
        if not self.finite:
            return
        self.d = diagonal_scale(K)
        self.scaled = K * np.outer(self.d, self.d)
        factors, pivots, broken = lapack.dgetrf(self.scaled)
        if not broken:
            norm = np.abs(self.scaled).sum(axis=0).max(initial=0.0)
            if lapack.dgecon(factors, norm)[0] > _SINGULAR:
                self.factors = factors, pivots

    def solve(self, known: np.ndarray) -> np.ndarray:
        """Solve, in the mean where the matrix is singular."""
        if not self.finite:
            return np.full_like(known, np.nan)
        if self.factors is not None:
            return self.d * lapack.dgetrs(*self.factors, self.d * known)[0]
        return self.d * np.linalg.lstsq(self.scaled, self.d * known, rcond=_SINGULAR)[0]
