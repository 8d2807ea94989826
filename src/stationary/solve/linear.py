"""Linear algebra of saddle points: factor, solve, count signs, find eigenvalues on the tangent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.linalg import lapack, qr
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from stationary.derive.order import saddle_order

# Up to this many unknowns dense factorizations are faster.
DENSE_UP_TO = 100

# Up to this many unknowns rows are examined for redundancy.
EXAMINE_UP_TO = 600

# A row whose part that is independent of the rows before it is smaller than this adds nothing.
_RANK = 1e-9

# The same by the squares of sparse factors, and what keeps these from breaking off.
_RANK_SPARSE, _TRACE = 1e-11, 1e-13

# Steps that give back the digits which factors without pivoting lose.
_REFINEMENTS = 2

# A matrix whose inverse is this many times smaller than it should be is singular.
_SINGULAR = 1e-14

# Eigenvalues found for systems too large for all of them.
_FEW = 6


@dataclass(frozen=True)
class Saddle:
    """The matrix [[H, Aᵀ], [A, −corner I]] at one point."""

    H: Any
    A: Any
    order: np.ndarray | None = None
    #: The largest stiffness around: one much smaller is none.
    stiffest: float = 0.0
    corner: float = 0.0

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return self.H.shape[0]

    @property
    def m(self) -> int:
        """Number of rows of A."""
        return self.A.shape[0]

    @property
    def dense(self) -> bool:
        """Whether dense factorizations are used."""
        return self.n + self.m <= DENSE_UP_TO

    def shifted(self, by: float) -> Saddle:
        """Return the same with H + by·I."""
        H = self.H + by * sparse.eye(self.n, format="csc")
        return Saddle(H, self.A, self.order, self.stiffest)

    @cached_property
    def matrix(self) -> Any:
        """The whole matrix."""
        corner = -self.corner * sparse.eye(self.m) if self.corner else None
        return sparse.bmat([[self.H, self.A.T], [self.A, corner]], format="csc")

    @cached_property
    def _factors(self) -> Any:
        """Factors in an order that keeps a band, without pivoting where that is possible."""
        order = saddle_order(self.H, self.A) if self.order is None else self.order
        K = self.matrix[order][:, order].tocsc()
        size = abs(self.H).max() or 1.0
        # Redundant rows: a trace in their corner keeps the factors from breaking off.
        for trace in (0.0, 1e-12, 1e-10, 1e-8):
            corner = np.concatenate([np.zeros(self.n), np.full(self.m, -trace / size)])[order]
            try:
                return order, _factored((K + sparse.diags(corner)).tocsc() if trace else K)
            except RuntimeError:
                continue
        return order, None

    @cached_property
    def _dense_factors(self) -> _Dense:
        return _Dense(self.matrix.toarray())

    def solve(
        self, force: np.ndarray, gap: np.ndarray, refinements: int = _REFINEMENTS
    ) -> tuple[np.ndarray, np.ndarray]:
        """Solve H x + Aᵀ y = force, A x = gap."""
        known = np.concatenate([force, gap])
        if self.dense:
            made = self._dense_factors.solve(known)
        else:
            order, factors = self._factors
            made = np.full_like(known, np.nan)
            if factors is None:
                return made[: self.n], made[self.n :]
            made[order] = factors.solve(known[order])
            # Refinements: without pivoting a few digits can be lost.
            for _ in range(refinements):
                left = known - self.matrix @ made
                made[order] += factors.solve(left[order])
        return made[: self.n], made[self.n :]

    @cached_property
    def signs(self) -> tuple[int, int, int]:
        """Number of positive, negative and zero eigenvalues of H on the tangent space."""
        if self.dense:
            values = self.tangent_eigenvalues[0]
            if not len(values):
                return 0, 0, 0
            zero = int(np.sum(np.abs(values) <= self.tiny))
            negative = int(np.sum(values < -self.tiny))
            return len(values) - zero - negative, negative, zero
        # Sylvester: the pivots of the whole have the signs of H on the tangent space, and one
        # positive and one negative for every row of A.
        _, factors = self._factors
        if factors is None:
            return 0, 0, self.n - self.m
        pivots = factors.U.diagonal()
        swapped = not np.array_equal(factors.perm_r, np.arange(len(pivots)))
        if swapped or not np.all(np.isfinite(pivots)):
            return self._signs_by_blocks()
        zero = int(np.sum(pivots == 0))
        negative = int(np.sum(pivots < 0)) - self.m
        return self.n - self.m - negative - zero, negative, zero

    def _signs_by_blocks(self) -> tuple[int, int, int]:
        values = self.smallest[0]
        negative = int(np.sum(values < 0))
        return self.n - self.m - negative, negative, 0

    @cached_property
    def tiny(self) -> float:
        """An eigenvalue below this is rounding."""
        values = self.tangent_eigenvalues[0]
        return 1e-11 * max(np.abs(values).max(initial=0.0), self.stiffest, 1e-300)

    @cached_property
    def tangent_eigenvalues(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues and vectors of H on the null space of A, dense."""
        Z = tangent_basis(self.A)
        if not Z.shape[1]:
            return np.empty(0), np.empty((self.n, 0))
        H = self.H.toarray() if sparse.issparse(self.H) else self.H
        reduced = Z.T @ H @ Z
        values, vectors = np.linalg.eigh((reduced + reduced.T) / 2)
        return values, Z @ vectors

    @cached_property
    def smallest(self) -> tuple[np.ndarray, np.ndarray]:
        """The eigenvalues of H on the tangent space that are smallest in size, and vectors."""
        if self.dense:
            return self.tangent_eigenvalues
        nothing = np.zeros(self.m)
        inverse = LinearOperator(
            (self.n, self.n), matvec=lambda b: self.solve(np.ravel(b), nothing, 0)[0]
        )
        count = min(_FEW, self.n - self.m)
        if count < 1:
            return np.empty(0), np.empty((self.n, 0))
        start = np.random.default_rng(0).standard_normal(self.n)
        found, vectors = eigsh(inverse, k=count, which="LM", v0=start, tol=1e-6)
        order = np.argsort(1 / found)
        return 1 / found[order], vectors[:, order]


class _Dense:
    """Factors of a symmetric matrix, dense.

    Rows and columns are scaled first, so that singular does not mean newtons beside metres. Where
    the matrix is singular, the smallest solution in the mean is taken.
    """

    def __init__(self, K: np.ndarray):
        self.d, self.factors = np.ones(len(K)), None
        self.finite = bool(np.all(np.isfinite(K)))
        if not self.finite:
            return
        for _ in range(3):
            size = np.abs(K * np.outer(self.d, self.d)).max(axis=1, initial=0.0)
            self.d /= np.sqrt(np.where(size > 0, size, 1.0))
        self.scaled = K * np.outer(self.d, self.d)
        factors, pivots, broken = lapack.dgetrf(self.scaled)
        if not broken:
            norm = np.abs(self.scaled).sum(axis=0).max(initial=0.0)
            if lapack.dgecon(factors, norm)[0] > _SINGULAR:
                self.factors = factors, pivots

    def solve(self, known: np.ndarray) -> np.ndarray:
        if not self.finite:
            return np.full_like(known, np.nan)
        if self.factors is not None:
            return self.d * lapack.dgetrs(*self.factors, self.d * known)[0]
        return self.d * np.linalg.lstsq(self.scaled, self.d * known, rcond=_SINGULAR)[0]


def tangent_basis(A: Any) -> np.ndarray:
    """Return an orthonormal basis of the motions that rows A leave free, one per column."""
    dense = A.toarray() if sparse.issparse(A) else np.asarray(A)
    m, n = dense.shape
    if not m:
        return np.eye(n)
    # Orthogonal triangles with pivoting: a tenth of the work of singular values.
    Q, R, _ = qr(dense.T, pivoting=True, check_finite=False)
    sizes = np.abs(np.diag(R))
    rank = int(np.sum(sizes > _RANK * sizes.max(initial=0.0))) if sizes.max(initial=0.0) else 0
    return Q[:, rank:]


def independent_rows(A: Any) -> np.ndarray:
    """Return rows that are independent; of dependent ones the first are kept."""
    if sparse.issparse(A) and sum(A.shape) > EXAMINE_UP_TO:
        return _independent_sparse(A.tocsr())
    dense = A.toarray() if sparse.issparse(A) else np.asarray(A)
    kept: list[int] = []
    basis = np.zeros((0, dense.shape[1]))
    for i, row in enumerate(dense):
        rest = row.copy()
        for _ in range(2):
            rest -= basis.T @ (basis @ rest)
        if np.linalg.norm(rest) > _RANK * max(np.linalg.norm(row), 1e-300):
            kept.append(i)
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
    return np.array(kept, dtype=int)


def _independent_sparse(A: Any) -> np.ndarray:
    """Return independent rows by the pivots of [[I, Aᵀ], [A, 0]].

    In an order that puts every row behind its coordinates, the pivot of a row is minus the square
    of its distance from the rows before it: the orthogonalization of Gram and Schmidt, sparse.
    """
    m, n = A.shape
    sizes = np.sqrt(np.asarray(A.multiply(A).sum(axis=1)).ravel())
    if not np.all(sizes > 0):
        some = np.flatnonzero(sizes > 0)
        return some[_independent_sparse(A[some])] if len(some) else some
    A = sparse.diags(1 / sizes) @ A
    order = saddle_order(sparse.eye(n, format="csc"), A)
    # A trace in the corner keeps the factors from breaking off where a row adds nothing.
    corner = sparse.diags(np.full(m, -_TRACE))
    K = sparse.bmat([[sparse.eye(n), A.T], [A, corner]], format="csc")[order][:, order].tocsc()
    pivots = np.empty(n + m)
    pivots[order] = _factored(K).U.diagonal()
    return np.flatnonzero(pivots[n:] < -(_TRACE + _RANK_SPARSE))


def _factored(K: Any) -> Any:
    """Factor a symmetric matrix in the order in which it stands."""
    settings: dict[str, Any] = {"permc_spec": "NATURAL", "diag_pivot_thresh": 0.0}
    return splu(K, **settings, options={"SymmetricMode": True})


def shared_multipliers(A: Any, lam: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the smallest multipliers with the same Aᵀλ; only rows `kept` are independent."""
    A = A.tocsr()
    dropped = np.setdiff1d(np.arange(A.shape[0]), kept)
    saddle = Saddle(sparse.eye(A.shape[1], format="csc"), A[kept])
    # How every other row is a sum of those: what can be shared without a change of the force.
    idle = np.zeros((A.shape[0], len(dropped)))
    for k, row in enumerate(dropped):
        idle[kept, k] = saddle.solve(A[[row]].toarray().ravel(), np.zeros(len(kept)))[1]
        idle[row, k] = -1.0
    return lam - idle @ np.linalg.lstsq(idle, lam, rcond=None)[0]
