"""Linear algebra of saddle points: rows and what they leave free, steps, signs, eigenvalues.

The matrix of a balance under constraints is [[H, Aᵀ], [A, 0]]. Small ones are taken apart by
orthogonal transformations. Large ones are factored sparse: without pivoting in an order that keeps
a band, where the factors themselves show that no digits were lost, else with pivoting. Signs of
eigenvalues come from congruences only, by Sylvester's law.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.linalg import lapack, qr, solve_triangular, svd
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from stationary.derive.elimination_order import saddle_order
from stationary.solve.factors import DenseFactors, SparseFactors, diagonal_scale, in_order, order_of

# Up to this many unknowns dense factorizations are faster.
DENSE_UP_TO = 100

# Up to this many unknowns rows are examined for redundancy one by one.
EXAMINE_UP_TO = 600

# Rows and columns scaled to one, a row whose part that is independent of the others is smaller
# than this adds nothing: closer to a singular configuration rounding decides, not geometry.
_RANK = 1e-9

# The same by the squares of sparse factors, and what keeps these from breaking off.
_RANK_SPARSE, _TRACE = 1e-11, 1e-13

# A direction whose stiffness is this small beside the stiffness of its coordinates has none that
# could be told from rounding: steps do not divide by less.
SOFTEST = 1e-12

# Eigenvalues found for systems too large for all of them, and most that are asked for.
_FEW, _MANY = 6, 60

# An eigenpair is one if it leaves this much over, relative to the stiffness of its coordinates.
_PAIR = 1e-9

# Inverse iterations begin anew this often. Where eigenvalues crowd, the least is enclosed by so
# many halvings before they are tried again, and that is done so many times.
_RESTARTS, _HALVINGS, _LOOKS_CLOSER = 10, 10, 4

# Most sweeps of rotations, and the steepest hyperbolic turn: that by a right angle has no end.
_SWEEPS, _STEEPEST = 30, 1 - 1e-12

# Most unknowns for which a failure of the sparse eigenvalues is made good by dense ones.
_DENSE_EIGENVALUES_UP_TO = 3000


def dense(X: Any) -> np.ndarray:
    """Return a matrix as an array."""
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def _scaled(A: Any, lengths: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows of size one over coordinates in units of lengths, and both sets of factors.

    Rank is then the same in whatever units rows and coordinates are stated.
    """
    matrix = dense(A)
    columns = np.ones(matrix.shape[1]) if lengths is None else lengths
    sizes = np.abs(matrix * columns).max(axis=1, initial=0.0)
    rows = 1 / np.where(sizes > 0, sizes, 1.0)
    return matrix * rows[:, None] * columns, rows, columns


# -- rows ------------------------------------------------------------------------------------------


class Rows:
    """Rows A of constraints at one place: their rank, what they push on and what they leave free.

    Redundant rows are no trouble: everything is least in the mean of coordinates in units of
    lengths.
    """

    def __init__(self, A: Any, lengths: np.ndarray | None = None):
        scaled, self.scale_rows, self.scale = _scaled(A, lengths)
        self._left, sizes, right = svd(scaled, full_matrices=True, check_finite=False)
        self.rank = int(np.sum(sizes > _RANK * sizes.max(initial=0.0)))
        self._sizes = sizes[: self.rank]
        self._left = self._left[:, : self.rank]
        self._held, self._free = right[: self.rank].T, right[self.rank :].T

    @cached_property
    def tangent(self) -> np.ndarray:
        """A basis of the moves that are free, one per column, orthonormal if scaled."""
        return self.scale[:, None] * self._free

    def correction(self, c: np.ndarray) -> np.ndarray:
        """Return the least move d with A d = −c."""
        return -self.scale * (self._held @ (self._left.T @ (self.scale_rows * c) / self._sizes))

    def multipliers(self, force: np.ndarray) -> np.ndarray:
        """Return the least λ for which Aᵀλ is nearest to a force."""
        return self.scale_rows * (self._left @ (self._held.T @ (self.scale * force) / self._sizes))


def null_rows(J: np.ndarray, rtol: float, least: int = 0) -> np.ndarray:
    """Return an orthonormal basis of what J takes to nothing, one per row, the flattest last.

    Below `rtol` of the largest a singular value is none; at `least` so many rows are returned.
    """
    _, sizes, rows = svd(J)
    sizes = np.append(sizes, np.zeros(len(rows) - len(sizes)))
    count = int(np.sum(sizes < rtol * max(float(sizes[0]), 1e-300)))
    return rows[len(rows) - max(count, least) :]


def rank_of(A: np.ndarray, rtol: float) -> int:
    """Return how many rows are independent; they, and what they are rows over, are scaled alike."""
    sizes = np.linalg.svd(A, compute_uv=False)
    return int(np.sum(sizes > rtol * sizes.max(initial=0.0)))


def least_solution(K: np.ndarray, known: np.ndarray, rtol: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the least x for which K x is nearest to what is known, and rows along which x is free.

    Below `rtol` of the largest a singular value is none.
    """
    left, sizes, rows = np.linalg.svd(K)
    rank = int(np.sum(sizes > rtol * sizes.max(initial=0.0)))
    return rows[:rank].T @ ((left[:, :rank].T @ known) / sizes[:rank]), rows[rank:]


def ways_across(rows: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis across each row, one per column; rows may be many."""
    return np.linalg.svd(rows[..., None, :])[2][..., 1:, :].swapaxes(-1, -2)


def extent(points: np.ndarray) -> np.ndarray:
    """Return orthonormal directions in which points extend from the origin, the longest first."""
    _, sizes, rows = svd(points, full_matrices=False)
    return rows[: int(np.sum(sizes > _RANK * sizes.max(initial=0.0)))]


def orthonormal(Z: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of the same space."""
    return np.linalg.qr(Z)[0]


def tangent_basis(A: Any, lengths: np.ndarray | None = None) -> np.ndarray:
    """Return a basis of the motions that rows A leave free, one per column.

    It is orthonormal in units of lengths.
    """
    m, n = A.shape
    if not m:
        return np.eye(n) if lengths is None else np.diag(lengths)
    scaled, _, columns = _scaled(A, lengths)
    # Orthogonal triangles with pivoting: a tenth of the work of singular values.
    Q, R, _ = qr(scaled.T, pivoting=True, check_finite=False)
    sizes = np.abs(np.diag(R))
    rank = int(np.sum(sizes > _RANK * sizes.max(initial=0.0)))
    return columns[:, None] * Q[:, rank:]


def independent_rows(A: Any, lengths: np.ndarray | None = None) -> np.ndarray:
    """Return rows that are independent; of dependent ones the first are kept."""
    if sparse.issparse(A) and sum(A.shape) > EXAMINE_UP_TO:
        return _independent_sparse(A.tocsr() if lengths is None else A.tocsr().multiply(lengths))
    matrix = _scaled(A, lengths)[0]
    kept: list[int] = []
    basis = np.zeros((0, matrix.shape[1]))
    for i, row in enumerate(matrix):
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
    A = sparse.csr_matrix(A)
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
    pivots[order] = in_order(K).U.diagonal()
    return np.flatnonzero(pivots[n:] < -(_TRACE + _RANK_SPARSE))


def shared_multipliers(
    A: Any, lam: np.ndarray, kept: np.ndarray, lengths: np.ndarray
) -> np.ndarray:
    """Return the smallest multipliers with the same Aᵀλ; only rows `kept` are independent.

    Which rows are sums of which is found over `lengths` of the coordinates.
    """
    A = sparse.csr_matrix(A @ sparse.diags(lengths))
    sizes = np.asarray(abs(A).max(axis=1).todense()).ravel()
    sizes = np.where(sizes > 0, sizes, 1.0)
    A = sparse.csr_matrix(sparse.diags(1 / sizes) @ A)
    dropped = np.setdiff1d(np.arange(A.shape[0]), kept)
    saddle = Saddle(sparse.eye(A.shape[1], format="csc"), A[kept])
    # How every other row is a sum of those: what can be shared without a change of the force.
    idle = np.zeros((A.shape[0], len(dropped)))
    for k, row in enumerate(dropped):
        idle[kept, k] = saddle.solve(A[[row]].toarray().ravel(), np.zeros(len(kept)))[1]
        idle[row, k] = -1.0
    idle /= sizes[:, None]
    return lam - idle @ np.linalg.lstsq(idle, lam, rcond=None)[0]


def graded_eigenvalues(K: np.ndarray, plain: np.ndarray) -> np.ndarray:
    """Return the eigenvalues of a symmetric matrix whose entries differ by many powers of ten.

    Each has its own digits. Of a positive one they are the squares of the singular values, by
    Jacobi's rotations, of Cholesky factors, which lose none. What `plain` has found stands where
    nothing is lost.
    """
    if not len(plain) or np.abs(plain).min() > 1e-8 * np.abs(plain).max():
        return plain
    factor, broken = lapack.dpotrf(K, lower=True)
    if not broken:
        sizes, _, _, work, _, broken = lapack.dgejsv(factor.T, joba=0, jobu=3, jobv=3)
        if not broken:
            return np.sort((sizes * work[1] / work[0]) ** 2)
    return _of_either_sign(K)


def _of_either_sign(K: np.ndarray) -> np.ndarray:
    """Return the eigenvalues of K = G J Gᵀ, J = ±1, by rotations that make columns of G orthogonal.

    Those of one sign are turned, those of two by a hyperbolic turn (K. Veselić, A Jacobi
    eigenreduction algorithm for definite matrix pairs, Numer. Math. 64, 1993).
    """
    unit = diagonal_scale(K)
    values, vectors = np.linalg.eigh(K * np.outer(unit, unit))
    # A player that sits out is a column of nothing.
    count = len(K) + len(K) % 2
    G, sign = np.zeros((count, len(K))), np.ones(count)
    G[: len(K)], sign[: len(K)] = (vectors * np.sqrt(np.abs(values))).T / unit, np.sign(values)
    table = np.arange(count)
    for _ in range(_SWEEPS):
        nearest = 0.0
        for _ in range(count - 1):
            p, q = table[: count // 2], table[: count // 2 - 1 : -1]
            alike, c = sign[p] * sign[q], (G[p] * G[q]).sum(axis=1)
            a, b = (G[p] ** 2).sum(axis=1), (G[q] ** 2).sum(axis=1)
            with np.errstate(all="ignore"):
                nearest = max(nearest, np.nan_to_num(np.abs(c) / np.sqrt(a * b)).max())
                ratio = alike * (b - alike * a) / (2 * c)
                t = 1 / (np.abs(ratio) + np.sqrt(np.maximum(ratio**2 + alike, 0.0)))
            t = np.where(c != 0, np.copysign(np.minimum(t, _STEEPEST), ratio), 0.0)[:, None]
            alike = alike[:, None]
            cosine = 1 / np.sqrt(1 + alike * t**2)
            G[p], G[q] = cosine * (G[p] - alike * t * G[q]), cosine * (G[q] + t * G[p])
            table = np.append(table[0], np.roll(table[1:], 1))
        if nearest < count * np.finfo(float).eps:
            break
    return np.sort((sign * (G**2).sum(axis=1))[: len(K)])


def share_of(part: Any, whole: Any) -> float:
    """Return how large a part of a sparse square matrix is beside the whole, at most.

    Each row and its column are taken in a unit in which the largest entries of the whole are one:
    what pushes metres is not compared with what turns radians.
    """
    sizes = abs(sparse.csr_matrix(whole))
    own = sparse.diags(diagonal_scale(sizes.maximum(sizes.T)))
    return float(abs(own @ sparse.csr_matrix(part) @ own).max()) if part.nnz else 0.0


# -- saddle points --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Saddle:
    """The matrix [[H, Aᵀ], [A, −corner I]] at one point."""

    H: Any
    A: Any
    corner: float = 0.0
    #: Moves of the coordinates that count alike; all of one size where left out.
    lengths: np.ndarray | None = None

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

    def shifted(self, by: Any) -> Saddle:
        """Return the same with H + by·I, or a diagonal instead of I."""
        H = self.H + sparse.diags(np.broadcast_to(np.asarray(by, dtype=float), (self.n,)))
        return Saddle(sparse.csc_matrix(H), self.A, self.corner, self.lengths)

    @cached_property
    def matrix(self) -> Any:
        """The whole matrix."""
        corner = -self.corner * sparse.eye(self.m) if self.corner else None
        return sparse.bmat([[self.H, self.A.T], [self.A, corner]], format="csc")

    @cached_property
    def _sparse(self) -> SparseFactors:
        return SparseFactors(self.matrix, order_of(self.H, self.A))

    @cached_property
    def _dense(self) -> DenseFactors:
        return DenseFactors(self.matrix.toarray())

    def solve(self, force: np.ndarray, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve H x + Aᵀ y = force, A x = gap."""
        known = np.concatenate([force, gap])
        solution = self._dense.solve(known) if self.dense else self._sparse.solve(known)
        return solution[: self.n], solution[self.n :]

    @cached_property
    def stiffness(self) -> np.ndarray:
        """How stiff every coordinate is, whatever the direction."""
        return np.asarray(abs(sparse.csc_matrix(self.H)).sum(axis=0)).ravel()

    def rounding(self, vectors: np.ndarray) -> np.ndarray:
        """Return below which size the stiffness along directions is rounding."""
        return SOFTEST * (self.stiffness @ vectors**2)

    @cached_property
    def negative(self) -> int:
        """Number of negative eigenvalues of H on the tangent, those that are rounding included."""
        if self.dense:
            return int(np.sum(self.smallest[0] < 0))
        # Sylvester: one positive and one negative sign for every row of A.
        return self._sparse.signs[1] - self.m

    @cached_property
    def above(self) -> int:
        """Number of positive eigenvalues of H on the tangent, of a large system."""
        return self._sparse.signs[0] - self.m

    @cached_property
    def definite(self) -> bool:
        """Whether H is positive on the tangent, by more than its rounding."""
        if self.dense:
            values, vectors = self.smallest
            return bool(np.all(values > self.rounding(vectors)))
        positive, negative, _ = self.shifted(-SOFTEST * self.stiffness)._sparse.signs
        return positive == self.n and negative == self.m

    @cached_property
    def smallest(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues of H on the tangent and vectors, ascending: all, or the smallest few."""
        if self.dense:
            return self.tangent_eigenvalues
        idle = self.stiffness == 0
        idle &= np.asarray(abs(sparse.csc_matrix(self.A)).sum(axis=0)).ravel() == 0
        if idle.any() and self._sparse.finite:
            return self._beside(np.flatnonzero(idle), np.flatnonzero(~idle))
        return self._few(_FEW)

    def _beside(self, idle: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest eigenvalues where nothing pushes some coordinates.

        Each of these is a direction of its own, which no iteration has to look for among many that
        are equal. Of large systems some of them are returned, and nothing above those left out.
        """
        H = sparse.csc_matrix(self.H)[rest][:, rest]
        lengths = None if self.lengths is None else self.lengths[rest]
        values, ways = Saddle(H, sparse.csc_matrix(self.A)[:, rest], self.corner, lengths).smallest
        if self.n > _DENSE_EIGENVALUES_UP_TO and len(idle) > _MANY:
            idle, values, ways = idle[:_MANY], values[values <= 0], ways[:, values <= 0]
        vectors = np.zeros((self.n, len(values) + len(idle)))
        vectors[rest, : len(values)] = ways
        vectors[idle, len(values) + np.arange(len(idle))] = 1.0
        values = np.concatenate([values, np.zeros(len(idle))])
        order = np.argsort(values, kind="stable")
        return values[order], vectors[:, order]

    @cached_property
    def _on_tangent(self) -> tuple[np.ndarray, np.ndarray]:
        """An orthonormal basis of the null space of A, and H over it, each entry to its own digits.

        Metres and nanometres differ by many powers of ten, and so do the entries.

        References
        ----------
        A. J. Cox, N. J. Higham, Stability of Householder QR factorization for weighted least
        squares problems, in: Numerical Analysis 1997.
        """
        Z = tangent_basis(self.A, self.lengths)
        if not Z.shape[1] or self.lengths is None or np.all(self.lengths == self.lengths[0]):
            Z = Z / (1.0 if self.lengths is None or not Z.size else self.lengths[0])
            return Z, Z.T @ (self.H @ Z)
        # The longest moves first: rows and columns then keep their own digits.
        _, R, order = qr(
            Z[np.argsort(-self.lengths)], mode="economic", pivoting=True, check_finite=False
        )
        Z = Z[:, order]
        back = solve_triangular(R, Z.T @ (self.H @ Z), trans=1, check_finite=False)
        return (
            solve_triangular(R, Z.T, trans=1, check_finite=False).T,
            solve_triangular(R, back.T, trans=1, check_finite=False),
        )

    @cached_property
    def tangent_eigenvalues(self) -> tuple[np.ndarray, np.ndarray]:
        """All eigenvalues of H on the null space of A, and vectors."""
        Z, reduced = self._on_tangent
        if not np.all(np.isfinite(reduced)):
            return np.empty(0), np.empty((self.n, 0))
        values, vectors = np.linalg.eigh((reduced + reduced.T) / 2)
        return values, Z @ vectors

    @property
    def graded_eigenvalues(self) -> np.ndarray:
        """Eigenvalues of H on the null space of A, each to its own digits."""
        reduced = self._on_tangent[1]
        if not np.all(np.isfinite(reduced)):
            return np.empty(0)
        # Small entries first, the upper half, and no vectors: so the least lose nothing.
        reduced = (reduced + reduced.T) / 2
        return graded_eigenvalues(reduced, np.linalg.eigvalsh(reduced, UPLO="U"))

    def _few(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest eigenvalues by inverse iteration, each verified."""
        count = min(count, self.n - self.m)
        if count < 1 or not self._sparse.finite:
            return np.empty(0), np.empty((self.n, 0))
        if self.n - self.m > 4 * count:
            shift = self._below()
            values, vectors = self._inverse_iteration(count, shift)
            if not len(values) and self.n > _DENSE_EIGENVALUES_UP_TO:
                values, vectors = self._crowded(shift)
            # Where directions are free all of them are wanted, and the first that is not.
            free = len(values) == count and values[-1] <= self.rounding(vectors)[-1]
            if free and count < _MANY:
                return self._few(min(4 * count, _MANY))
            if len(values) == count and not free or self.n > _DENSE_EIGENVALUES_UP_TO:
                return values, vectors
        if self.n <= _DENSE_EIGENVALUES_UP_TO:
            return self.tangent_eigenvalues
        return np.empty(0), np.empty((self.n, 0))

    def graded_few(self, moves: np.ndarray, negative: int) -> np.ndarray:
        """Return the smallest eigenvalues as stated; here coordinates are in units of `moves`.

        They are those of the inverse that are largest, which lose nothing beside others. None are
        returned if some that are `negative` are not among them.
        """
        nothing, count = np.zeros(self.m), negative + _FEW
        if self.n - self.m <= 4 * count or not self._sparse.finite:
            return np.empty(0)
        inverse = LinearOperator(
            (self.n, self.n), matvec=lambda b: moves * self.solve(moves * np.ravel(b), nothing)[0]
        )
        start = inverse @ np.random.default_rng(0).standard_normal(self.n)
        try:
            some = eigsh(inverse, k=count, v0=start, return_eigenvectors=False, maxiter=_RESTARTS)
        except (ArpackError, RuntimeError, np.linalg.LinAlgError):
            return np.empty(0)
        values = np.sort(1 / some[np.abs(some) > _PAIR * np.abs(some).max()])
        return values if np.sum(values < 0) == negative else np.empty(0)

    def _below(self) -> float:
        """Return a shift that makes H positive on the tangent, and hardly a larger one."""
        size = float(self.stiffness.max(initial=0.0)) or 1.0
        shift = 1e-10 * size
        while shift < 2 * size and self.shifted(shift).negative:
            shift *= 10
        return shift

    def _crowded(self, shift: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest eigenvalue of many that are close together, if it is found.

        Counts of signs show on which side of it a shift lies, until it is nearer to the shift than
        to the others. What is not found then is not known: signs are counted without it.
        """
        above, size = -shift, float(self.stiffness.max(initial=0.0))
        step = shift
        while above <= size and not self.shifted(-above).negative:
            shift, above, step = -above, above + step, 4 * step
        for _ in range(_LOOKS_CLOSER):
            for _ in range(_HALVINGS):
                middle = (above - shift) / 2
                if self.shifted(-middle).negative:
                    above = middle
                else:
                    shift = -middle
            values, vectors = self._inverse_iteration(1, shift)
            if len(values):
                return values, vectors
        return np.empty(0), np.empty((self.n, 0))

    def _inverse_iteration(self, count: int, shift: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvalues closest above −shift that prove to be some."""
        saddle, nothing = self.shifted(shift), np.zeros(self.m)
        inverse = LinearOperator(
            (self.n, self.n), matvec=lambda b: saddle.solve(np.ravel(b), nothing)[0]
        )
        start = saddle.solve(np.random.default_rng(0).standard_normal(self.n), nothing)[0]
        if not np.all(np.isfinite(start)) or not np.any(start):
            return np.empty(0), np.empty((self.n, 0))
        basis = min(self.n - self.m, max(2 * count + 8, 24))
        try:
            _, vectors = eigsh(
                inverse, k=count, which="LM", v0=start, ncv=basis, tol=1e-11, maxiter=_RESTARTS
            )
        except (ArpackError, RuntimeError, np.linalg.LinAlgError):
            return np.empty(0), np.empty((self.n, 0))
        # Rayleigh and Ritz on what was found: the values do not come from the inverse.
        Q = np.linalg.qr(vectors)[0]
        HQ = self.H @ Q
        reduced = Q.T @ HQ
        values, turned = np.linalg.eigh((reduced + reduced.T) / 2)
        vectors, pushed = Q @ turned, HQ @ turned
        identity = Saddle(sparse.eye(self.n, format="csc"), self.A)
        for k in range(len(values)):
            off = pushed[:, k] - values[k] * vectors[:, k]
            off = identity.solve(off, nothing)[0] if self.m else off
            size = self.stiffness @ vectors[:, k] ** 2
            leaves = np.abs(self.A @ vectors[:, k]) if self.m else np.zeros(1)
            along = abs(self.A) @ np.abs(vectors[:, k]) if self.m else np.ones(1)
            if not np.linalg.norm(off) <= _PAIR * size or np.any(leaves > 1e-7 * along.max()):
                return values[:k], vectors[:, :k]
        return values, vectors
