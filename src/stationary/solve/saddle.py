"""Linear algebra of saddle points: factor, solve, count signs, find eigenvalues on the tangent."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.linalg import qr
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from stationary.derive.order import saddle_order

# Up to this many unknowns dense factorizations are faster.
DENSE_UP_TO = 100

# Up to this many unknowns rows are examined for redundancy.
EXAMINE_UP_TO = 600

# A row whose part that is independent of the rows before it is smaller than this adds nothing.
_RANK = 1e-9

# Eigenvalues found for systems too large for all of them.
_FEW = 6


@dataclass(frozen=True)
class Saddle:
    """The matrix [[H, Aᵀ], [A, 0]] at one point."""

    H: Any
    A: Any
    order: np.ndarray | None = None

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
        return Saddle(self.H + by * sparse.eye(self.n, format="csc"), self.A, self.order)

    @cached_property
    def matrix(self) -> Any:
        """The whole matrix."""
        return sparse.bmat([[self.H, self.A.T], [self.A, None]], format="csc")

    @cached_property
    def _factors(self) -> Any:
        """Factors in an order that keeps a band, without pivoting where that is possible."""
        order = saddle_order(self.H, self.A) if self.order is None else self.order
        K = self.matrix[order][:, order].tocsc()
        settings: dict[str, Any] = {"permc_spec": "NATURAL", "diag_pivot_thresh": 0.0}
        settings["options"] = {"SymmetricMode": True}
        try:
            return order, splu(K, **settings)
        except RuntimeError:
            # Redundant rows: a trace in their corner keeps the factors from breaking off.
            size = abs(self.H).max() or 1.0
            corner = np.concatenate([np.zeros(self.n), np.full(self.m, -1e-12 / size)])[order]
            return order, splu((K + sparse.diags(corner)).tocsc(), **settings)

    def solve(self, force: np.ndarray, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve H x + Aᵀ y = force, A x = gap."""
        known = np.concatenate([force, gap])
        if self.dense:
            K = self.matrix.toarray()
            if not np.all(np.isfinite(K)):
                return np.full(self.n, np.nan), np.full(self.m, np.nan)
            try:
                made = np.linalg.solve(K, known)
                if not np.all(np.isfinite(made)):
                    raise np.linalg.LinAlgError
            except np.linalg.LinAlgError:
                made = np.linalg.lstsq(K, known, rcond=1e-12)[0]
        else:
            order, factors = self._factors
            made = np.empty_like(known)
            made[order] = factors.solve(known[order])
            # One refinement: without pivoting a few digits can be lost.
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
            tiny = 1e-11 * max(1.0, np.abs(values).max())
            zero = int(np.sum(np.abs(values) <= tiny))
            negative = int(np.sum(values < -tiny))
            return len(values) - zero - negative, negative, zero
        # Sylvester: the pivots of the whole have the signs of H on the tangent space, and one
        # positive and one negative for every row of A.
        _, factors = self._factors
        pivots = factors.U.diagonal()
        swapped = not np.array_equal(factors.perm_r, np.arange(len(pivots)))
        if swapped or not np.all(np.isfinite(pivots)):
            return self._signs_by_blocks()
        zero = int(np.sum(pivots == 0))
        negative = int(np.sum(pivots < 0)) - self.m
        return self.n - self.m - negative - zero, negative, zero

    def _signs_by_blocks(self) -> tuple[int, int, int]:
        values = self.smallest()
        negative = int(np.sum(values < 0))
        return self.n - self.m - negative, negative, 0

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

    def smallest(self) -> np.ndarray:
        """Return the eigenvalues of H on the tangent space that are smallest in size."""
        if self.dense:
            return self.tangent_eigenvalues[0]
        nothing = np.zeros(self.m)
        inverse = LinearOperator(
            (self.n, self.n), matvec=lambda b: self.solve(np.ravel(b), nothing)[0]
        )
        count = min(_FEW, self.n - self.m - 1)
        start = np.random.default_rng(0).standard_normal(self.n)
        found = eigsh(inverse, k=count, which="LM", return_eigenvectors=False, v0=start, tol=1e-6)
        return np.sort(1 / found)


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
