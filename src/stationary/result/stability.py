"""Words for what small motions do, and the signs of growth rates against their own rounding."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from scipy.linalg import eig, matrix_balance

from stationary.result.status import Status

# Eigenvalues of a matrix whose entries are known to this, and the most that a defective one moves.
_ENTRIES, _DEFECTIVE = 1e3 * np.finfo(float).eps, np.finfo(float).eps ** (1 / 3)


class Stability(StrEnum):
    """What small motions about a state do.

    Examples
    --------
    >>> from stationary.result.stability import Stability
    >>> Stability.FLUTTER, Stability.FLUTTER.stable, Stability.MARGINAL.stable
    (<Stability.FLUTTER: 'unstable (flutter)'>, False, True)
    """

    ASYMPTOTIC = "asymptotically stable"
    """All motions die out."""
    MARGINAL = "marginally stable"
    """None grows, and some go on for ever."""
    STABLE = "stable"
    """None grows; which of them die out is not known, as where no inertia is stated."""
    SADDLE = "unstable (saddle)"
    """One grows without moving."""
    FLUTTER = "unstable (flutter)"
    """One grows as it swings."""
    UNDECIDED = "stability not decided"
    """The linearized motion does not tell, as where the statement changes with time."""

    @property
    def stable(self) -> bool | None:
        """Whether nothing grows; None where that is not decided."""
        if self is Stability.UNDECIDED:
            return None
        return self not in (Stability.SADDLE, Stability.FLUTTER)


def spectrum(
    A: np.ndarray, rounding: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return eigenvalues, eigenvectors, and how far rounding may have moved each eigenvalue.

    An eigenvalue moves by the change of the matrix times its own condition number, the inverse of
    the overlap of its left and right vectors: a slow rate beside a fast one keeps its sign. Where
    the entries' own `rounding` is known, what they are sums of is known to have cancelled. Zeros,
    as of free coordinates and of all that moves them steadily, are found first, and are exact.

    References
    ----------
    V. N. Kublanovskaya, On a method of solving the complete eigenvalue problem for a degenerate
    matrix, USSR Comput. Math. Math. Phys. 6 (1966) 1.
    """
    if not len(A) or not np.all(np.isfinite(A)):
        nothing = np.zeros(0, dtype=complex)
        return nothing, np.zeros((len(A), 0), dtype=complex), np.zeros(0)
    # SciPy reads the scales as places of a permutation, too, for which they may be too large.
    with np.errstate(invalid="ignore"):
        balanced, back = matrix_balance(A, permute=False)
    # LAPACK loses the scale of entries whose squares are no numbers: a power of two, kept here.
    scale = 2.0 ** (np.frexp(np.abs(balanced).max())[1] - 1)
    balanced = balanced / scale
    unit = np.diag(back)
    entries = np.zeros_like(A) if rounding is None else rounding / scale / unit[:, None] * unit
    size = float(np.linalg.norm(balanced, 2))
    turn, stages = _zeros_first(balanced, entries, size)
    # Zeros are known as such, however many are one: what is left has no part in their chains.
    count, turned = len(stages), turn.T @ balanced @ turn
    values, left, right = _eig(turned[count:, count:])
    overlap = np.maximum(np.abs(np.sum(left.conj() * right, axis=0)), 1e-300)
    moved = size * np.minimum(_ENTRIES / overlap, _DEFECTIVE)
    if rounding is not None:
        moving = np.abs(turn[:, count:])
        scatter = moving.T @ entries @ moving
        noise = np.sum(np.abs(left) * (scatter @ np.abs(right)), axis=0)
        # As far as an eigenvalue that is three in one.
        most = size * np.cbrt(noise / (size or 1.0))
        moved = np.maximum(moved, np.minimum(noise / overlap, most))
    vectors = back @ turn @ _whole_vectors(turned, stages, values, right)
    nothing = np.zeros(count)
    return (
        np.append(nothing, values) * scale,
        vectors / np.linalg.norm(vectors, axis=0),
        np.append(nothing, moved) * scale,
    )


def _eig(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return eigenvalues with left and right vectors; a matrix may have no entries."""
    nothing = np.zeros((0, 0), dtype=complex)
    return eig(A, left=True, right=True) if len(A) else (nothing.ravel(), nothing, nothing)


def _zeros_first(A: np.ndarray, entries: np.ndarray, size: float) -> tuple[np.ndarray, list[int]]:
    """Return an orthogonal basis that begins with all motions of rate zero, and their stages.

    What stays where it is put is of stage 0; what moves that steadily, as a velocity its place, of
    stage 1, and so on. A chain of k has the eigenvalue zero k times and one vector: its eigenvalues
    scatter by the k-th root of rounding, and the singular values by which it is found do not.
    """
    n = len(A)
    turn, stages = np.eye(n), []
    while len(stages) < n:
        count = len(stages)
        rest = turn[:, count:]
        left, sizes, right = np.linalg.svd(rest.T @ A @ rest)
        lost = np.sum(np.abs(rest @ left) * (entries @ np.abs(rest @ right.T)), axis=0)
        flat = sizes <= lost + 0.1 * _ENTRIES * size
        if not flat.any():
            break
        order = np.argsort(~flat, kind="stable")
        turn = np.hstack([turn[:, :count], rest @ right.T[:, order]])
        stages += [stages[-1] + 1 if stages else 0] * int(flat.sum())
    return turn, stages


def _whole_vectors(
    turned: np.ndarray, stages: list[int], values: np.ndarray, vectors: np.ndarray
) -> np.ndarray:
    """Return eigenvectors of a matrix in which motions of rate zero come first.

    A chain has one vector, to which its matrix leads all that is in it.
    """
    n, count = len(turned), len(stages)
    if not count:
        return vectors
    chain = np.array(stages, dtype=int)
    steps = np.where(chain[:, None] < chain, turned[:count, :count], 0.0)
    whole = np.zeros((n, n), dtype=complex)
    zeros = np.eye(count)
    for stage in range(1, max(stages, default=0) + 1):
        later = chain >= stage
        zeros[:, later] = steps @ zeros[:, later]
    whole[:count, :count] = zeros
    whole[count:, count:] = vectors
    for k, value in enumerate(values):
        ahead, rate = turned[:count, count:] @ vectors[:, k], value or np.finfo(float).eps
        whole[:count, count + k] = np.linalg.solve(rate * np.eye(count) - steps, ahead)
    return whole


def word_of(values: np.ndarray, moved: np.ndarray) -> Status:
    """Return what motions with these growth rates do, each known to within its rounding."""
    rates = np.real(values)
    growing = np.flatnonzero(rates > moved)
    if len(growing):
        fastest = growing[np.argmax(rates[growing])]
        swings = abs(np.imag(values)[fastest]) > moved[fastest]
        word = Stability.FLUTTER if swings else Stability.SADDLE
        return Status(word, f"a small motion grows at the rate {rates[fastest]:.4g}")
    if len(rates) and np.all(rates < -moved):
        return Status(Stability.ASYMPTOTIC, "all small motions die out")
    return Status(Stability.MARGINAL, "no small motion grows, and some do not die out")
