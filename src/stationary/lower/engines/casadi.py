"""The reference engine: CasADi's own virtual machine, called on arrays without detours."""

from __future__ import annotations

import threading
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse


class Numeric:
    """A CasADi function that takes arrays and returns arrays.

    Outputs are vectors, except those named as matrices, which are sparse, whatever their size,
    unless they are wanted `dense`. Ten times faster on small functions than a plain call, which
    converts to and from CasADi's own matrices, and on large ones it does not build lists of their
    entries.
    """

    def __init__(
        self,
        function: ca.Function,
        matrices: frozenset[int] = frozenset(),
        *,
        dense: bool = False,
    ):
        self._buffer, self._evaluate = function.buffer()
        self._inputs = [np.zeros(function.nnz_in(k)) for k in range(function.n_in())]
        self._outputs = [np.zeros(function.nnz_out(k)) for k in range(function.n_out())]
        self._shapes = [
            _Shape(function.sparsity_out(k), k in matrices, dense) for k in range(function.n_out())
        ]
        # The buffer holds addresses only: the arrays must live as long as it does.
        for k, array in enumerate(self._inputs):
            self._buffer.set_arg(k, array.data)  # pyright: ignore[reportCallIssue]  # wrongly declared
        for k, array in enumerate(self._outputs):
            self._buffer.set_res(k, array.data)  # pyright: ignore[reportCallIssue]  # wrongly declared
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> list[Any]:
        """Return the outputs."""
        with self._lock:
            for array, value in zip(self._inputs, arguments):
                array[:] = value
            self._evaluate()
            return [
                x.copy() if shape.plain else shape.of(x)
                for shape, x in zip(self._shapes, self._outputs)
            ]


class _Shape:
    """How the nonzeros of an output are read."""

    def __init__(self, pattern: ca.Sparsity, matrix: bool, dense: bool):
        self.shape = pattern.shape
        self.vector, self.dense = not matrix, dense
        self.plain = not matrix and pattern.is_dense()
        self.rows = np.array(pattern.row(), dtype=np.int32)
        self.starts = np.array(pattern.colind(), dtype=np.int32)
        self.places = np.array(pattern.find(), dtype=np.intp) if matrix and dense else None

    def of(self, nonzeros: np.ndarray) -> Any:
        if not self.vector and self.dense:
            made = np.zeros(self.shape[0] * self.shape[1])
            made[self.places] = nonzeros
            return made.reshape(self.shape, order="F")
        if not self.vector:
            return sparse.csc_matrix((nonzeros.copy(), self.rows, self.starts), shape=self.shape)
        made = np.zeros(self.shape[0])
        made[self.rows] = nonzeros
        return made
