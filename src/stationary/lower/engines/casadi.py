"""The reference engine: CasADi's own virtual machine, called on arrays without detours."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from copy import copy
from io import StringIO
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse

# Output is redirected for the whole process: by one at a time.
_SPEAKING = threading.RLock()


@contextmanager
def quiet() -> Iterator[None]:
    """Keep solvers behind CasADi, and CasADi for them, from writing to the terminal.

    They write about failures that are handled, past Python's own streams and through them.
    """
    with _SPEAKING:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        kept = [os.dup(k) for k in (1, 2)]
        try:
            for k in (1, 2):
                os.dup2(nowhere, k)
            with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
                yield
        finally:
            for k, copy in zip((1, 2), kept):
                os.dup2(copy, k)
                os.close(copy)
            os.close(nowhere)


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

    def entries(self, *arguments: Any) -> np.ndarray:
        """Return the entries of the first output that are not always zero, without their places."""
        return self.all_entries(*arguments)[0]

    def all_entries(self, *arguments: Any) -> list[np.ndarray]:
        """Return the entries of all outputs that are not always zero, without their places."""
        with self._lock:
            for array, value in zip(self._inputs, arguments):
                array[:] = value
            self._evaluate()
            return [x.copy() for x in self._outputs]

    def length(self, k: int) -> int:
        """Return how many rows an output has."""
        return self._shapes[k].shape[0]

    def places(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return in which rows and columns the entries of an output are."""
        shape = self._shapes[k]
        return shape.rows, np.repeat(np.arange(len(shape.starts) - 1), np.diff(shape.starts))

    def __call__(self, *arguments: Any) -> list[Any]:
        """Return the outputs."""
        with self._lock:
            return self._called(arguments)

    def checked(self, *arguments: Any) -> list[Any] | None:
        """Return the outputs, or None where the evaluation fails, as singular equations do."""
        with self._lock:
            outputs = self._called(arguments)
            return None if self._buffer.ret() else outputs

    def _called(self, arguments: tuple[Any, ...]) -> list[Any]:
        for array, value in zip(self._inputs, arguments):
            array[:] = value
        self._evaluate()
        return [
            x.copy() if shape.plain else shape.of(x)
            for shape, x in zip(self._shapes, self._outputs)
        ]


def available() -> bool:
    """Tell that it is there: everything rests on it."""
    return True


def accepts(rhs: ca.Function) -> bool:
    """Tell that it serves every graph."""
    return True


def compile(rhs: ca.Function) -> Numeric:
    """Return f(t, y, p) as a function of arrays."""
    return Numeric(rhs)


def run(code: Numeric, t: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return f at many times and states, one per row."""
    return np.array([code(a, b, p)[0] for a, b in zip(np.broadcast_to(t, len(y)), y)])


class _Shape:
    """How the nonzeros of an output are read."""

    def __init__(self, pattern: ca.Sparsity, matrix: bool, dense: bool):
        self.shape = pattern.shape
        self.vector, self.dense = not matrix, dense
        self.plain = not matrix and pattern.is_dense()
        self.rows = np.array(pattern.row(), dtype=np.int32)
        self.starts = np.array(pattern.colind(), dtype=np.int32)
        self.places = np.array(pattern.find(), dtype=np.intp) if matrix and dense else None
        if matrix and not dense:
            nothing = np.zeros(len(self.rows))
            self.matrix = sparse.csc_matrix((nothing, self.rows, self.starts), shape=self.shape)
            self.matrix.has_canonical_format = True

    def of(self, nonzeros: np.ndarray) -> Any:
        if not self.vector and self.dense:
            entries = np.zeros(self.shape[0] * self.shape[1])
            entries[self.places] = nonzeros
            return entries.reshape(self.shape, order="F")
        if not self.vector:
            # A copy with other entries: one that is made anew is examined each time.
            matrix = copy(self.matrix)
            matrix.data = nonzeros.copy()
            return matrix
        entries = np.zeros(self.shape[0])
        entries[self.rows] = nonzeros
        return entries
