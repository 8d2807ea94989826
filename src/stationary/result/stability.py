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
    """One grows without swinging."""
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
    the overlap of its left and right vectors: a double zero, as of a free coordinate, moves by the
    root of rounding, and a slow rate beside a fast one keeps its sign. Where the entries' own
    `rounding` is known, what they are sums of is known to have cancelled.
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
    values, left, right = eig(balanced, left=True, right=True)
    overlap = np.abs(np.sum(left.conj() * right, axis=0))
    size = np.linalg.norm(balanced, 2)
    overlap = np.maximum(overlap, 1e-300)
    moved = size * np.minimum(_ENTRIES / overlap, _DEFECTIVE)
    if rounding is not None:
        unit = np.diag(back)
        entries = rounding / scale / unit[:, None] * unit
        noise = np.sum(np.abs(left) * (entries @ np.abs(right)), axis=0)
        # As far as an eigenvalue that is three in one.
        most = size * np.cbrt(noise / (size or 1.0))
        moved = np.maximum(moved, np.minimum(noise / overlap, most))
    vectors = back @ right
    return values * scale, vectors / np.linalg.norm(vectors, axis=0), moved * scale


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
