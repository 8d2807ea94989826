"""The order in which a saddle-point matrix is factored."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee


def saddle_order(H: Any, A: Any) -> np.ndarray:
    """Order the unknowns of [[H, Aᵀ], [A, 0]] so that a chain's factors stay banded.

    Reverse Cuthill–McKee on the whole pattern; then every multiplier is moved behind the last of
    its coordinates, where its pivot −A H⁻¹Aᵀ cannot vanish.

    Parameters
    ----------
    H, A : sparse matrices
        Only their patterns count.
    """
    n, m = H.shape[0], A.shape[0]
    mass, rows = abs(sparse.csr_matrix(H)), abs(sparse.csr_matrix(A))
    whole = sparse.csr_matrix(sparse.bmat([[mass + sparse.eye(n), rows.T], [rows, sparse.eye(m)]]))
    rank = np.argsort(reverse_cuthill_mckee(whole, symmetric_mode=True)).astype(float)
    if m:
        # The same place as the last coordinate, and a little later.
        entries = np.repeat(np.arange(m), np.diff(rows.indptr))
        later = np.zeros(m)
        np.maximum.at(later, entries, rank[rows.indices])
        rank[n:] = np.maximum(rank[n:], later + 0.5)
    return np.argsort(rank, kind="stable")
