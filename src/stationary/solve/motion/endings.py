"""Why a motion goes no further."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stationary.lower.kernel import AbstractKernel, numeric
from stationary.result.status import Status
from stationary.solve.linear import tangent_basis
from stationary.solve.motion.domain_edges import edge
from stationary.solve.motion.ode import Ode, Piece
from stationary.solve.motion.rank_margin import Rows
from stationary.solve.motion.stabilize import sizes

# Rows whose smallest singular value has come down by this much are about to lose one of them.
_SINGULAR = 0.05

# What has become so many times larger than forces and velocities of the start make it in the same
# time leaves every bound.
_BEYOND = 1e3

# What to do where a statement ends, and where steps become too small.
_KEEP_AWAY = (
    "Keep it away from there by a start, a stop or a constraint, or round the edge off, as "
    "st.sqrt(x**2 + small**2) for x; throw=False returns what there is."
)
_WIDEN = (
    "Widen what is narrow there, ask for a shorter span, or take another method; throw=False "
    "returns what there is."
)


@dataclass(frozen=True)
class Ends:
    """The start of a motion, to which its end is compared."""

    kernel: AbstractKernel
    params: np.ndarray
    t: float
    y: np.ndarray
    rows: Rows | None

    def lost(self, last: Piece | None) -> bool:
        """Tell whether a motion has lost rank of its rows, or inertia, where it stopped."""
        if self.rows is None:
            return False
        t, y = (self.t, self.y) if last is None else (float(last.t[-1]), last.end)
        start, end = self._weakest(self.t, self.y), self._weakest(t, y)
        start[0] = max(start[0], self.rows.full)
        return bool(np.any(end < _SINGULAR * start))

    def _weakest(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return how far rows of A are from losing rank, and free motions from losing inertia."""
        assert self.rows is not None
        n, u = self.kernel.size, np.zeros(len(self.kernel.signature))
        arguments = (t, y[:n], y[n : 2 * n], u, self.params)
        # In moves that count alike: metres beside radians.
        sizes = self.rows.sizes
        A = numeric(self.kernel.graph, "constraints")(*arguments)[2].toarray() * sizes
        rank = self.rows.left(np.array([t]), y[None, :])[0]
        free = tangent_basis(A[list(self.kernel.rows)])
        M = sizes[:, None] * numeric(self.kernel.graph, "dynamics")(*arguments)[0].toarray() * sizes
        inertia = np.linalg.eigvalsh(free.T @ (M @ free)) if free.shape[1] else np.ones(1)
        return np.array([rank, inertia[0] / max(abs(M).max(), 1e-300)])

    def why(self, ode: Ode, last: Piece | None, at: float) -> Status:
        """Say why a motion whose last piece is this one goes no further."""
        if self.lost(last):
            return Status("singular", f"the constraints become singular near t = {at:.5g}")
        if last is not None:
            reached = edge(self.kernel, self.params, (self.t, self.y), (last.t[-1], last.end))
            if reached:
                return Status("blow-up", f"{reached}, near t = {at:.6g}", remedy=_KEEP_AWAY)
        if last is None or self._bounded(ode, last):
            because = "forces change there faster than steps of any length follow"
            words = f"the steps become too small near t = {at:.6g}: {because}"
            return Status("blow-up", words, remedy=_WIDEN)
        return Status("blow-up", f"the motion leaves every bound near t = {at:.6g}")

    @np.errstate(all="ignore")
    def _bounded(self, ode: Ode, last: Piece) -> bool:
        """Tell whether a motion ends about as large as it was bound to become."""
        n, time = self.kernel.size, last.t[-1] - self.t
        v = slice(n, 2 * n)
        speeds = np.abs(self.y[v]) + time * np.abs(ode.f(self.t, self.y)[v])
        # What rests at first may be pushed later.
        alone = replace(ode, extent=None)
        speeds = np.maximum(speeds, sizes(alone, self.t, self.y, last.t[-1])[0][v])
        speed = np.linalg.norm(speeds)
        way = np.linalg.norm(last.end[:n] - self.y[:n])
        return bool(max(np.linalg.norm(last.end[v]), way / time) <= _BEYOND * speed)
