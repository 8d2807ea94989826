"""What holds can hold: the statement, and not its last digits, tells the forces of constraints.

Where gradients depend on each other, as those of a chain that is exactly taut, no forces along them
balance one across. A place that differs from there by rounding is balanced by forces without bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sparse
from scipy.linalg import svd

from stationary.derive.balance import Balance
from stationary.lower.kernel import numeric
from stationary.lower.rounding import rounding
from stationary.solve.gate.finding import Finding
from stationary.solve.gate.state import State
from stationary.solve.linear import EXAMINE_UP_TO

# So many last digits of constraints may change their gradients by this share, where these matter.
_DIGITS, _SHARE = 4.0, 0.1

# What is beyond this many times such a change is far from it.
_FAR = 1e3

# A force across is one that is more than this share of those on the same rows; and rows that bend
# by less than this share of their size, over moves of the statement, let a motion pass.
_ACROSS = 1e-6

# Rows that have this share in a dependence are named, and at most so many.
_NAMED, _FEW = 0.1, 4


@dataclass(frozen=True)
class Dependence:
    """Gradients that depend on each other or vanish, and the force across that they should balance.

    Attributes
    ----------
    change : float
        By how much last digits change how far they are from that, beside the distance itself.
    rows : list of str
        One alone has next to no gradient.
    coordinate : str
        The one across on which the force is largest.
    force : float
        That on the coordinate.
    """

    change: float
    rows: list[str]
    coordinate: str
    force: float


def held(state: State) -> list[Finding]:
    """Measure how much last digits change of gradients that are next to dependent and hold a force.

    That much they change the forces of the constraints.
    """
    return [
        Finding("more than last digits tells the force of", f"'{d.rows[0]}'", d.change, _SHARE)
        for d in dependences(state)
    ]


def dependences(state: State) -> Iterator[Dependence]:
    """Find rows that are next to dependent, or next to nothing, and should balance a force.

    With rows of size one over moves that count alike, u and v of a singular value σ of A are the
    share of each row in the force along v, |f·v|/σ. What the rows leave open, δ, moves the place by
    δ/σ, and that changes σ by u·R″(v, v) δ/σ.
    """
    values, _, gradients = state.holds
    some = np.flatnonzero((np.arange(len(values)) < state.rows) | (state.lam != 0))
    if not len(some):
        return
    A, moves = sparse.csr_matrix(gradients)[some], state.alike
    over = sparse.csr_matrix(A @ sparse.diags(moves))
    sizes = np.asarray(abs(over).max(axis=1).todense()).ravel()
    sizes = np.where(sizes > 0, sizes, 1.0)
    scaled = sparse.diags(1 / sizes) @ over
    force = state.forces(state.q)
    work = np.abs(force * moves)
    pulled = np.asarray(sparse.csr_matrix((over != 0) @ sparse.diags(work)).max(axis=1).todense())
    at = [state.t, state.q, state.u, state.params]
    balance = Balance(state.graph)
    digits = state.scales.rows_rounding(A)
    if sum(A.shape) <= EXAMINE_UP_TO and (lost := rounding(balance, "levels", at)) is not None:
        digits = np.maximum(digits, lost[some])
    left = (np.abs(values[some]) + _DIGITS * digits) / sizes

    def bent(u: np.ndarray, v: np.ndarray) -> float:
        weights = np.zeros(len(state.lam))
        weights[some] = u / sizes
        bend = numeric(balance, "curvature")(*at, weights)[0]
        return abs(float((moves * v) @ (bend @ (moves * v))))

    for sigma, u, v in _singular(scaled, state.lam[some] * sizes):
        opens = float(np.abs(u) @ left)
        across = abs(float(v @ (force * moves)))
        if sigma**2 > _FAR * opens or not across > _ACROSS * np.max(np.abs(u) * pulled.ravel()):
            continue
        blocked = bent(u, v)
        if not blocked > _ACROSS:
            # What is free to move along v is held by no row: the force is not balanced, or is none.
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            change = float(np.divide(blocked * opens, sigma**2))
        order = np.argsort(-np.abs(u), kind="stable")[:_FEW]
        named = [i for i in order if abs(u[i]) > _NAMED * np.abs(u).max()]
        coordinate = int(np.argmax(np.abs(v) * work))
        yield Dependence(
            change if np.isfinite(change) else np.inf,
            [state.row_name(int(some[i])) for i in named],
            state.graph.layout.name(coordinate),
            float(abs(force[coordinate])),
        )


def _singular(
    A: sparse.csr_matrix, forces: np.ndarray
) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
    """Return the singular values of rows, and their vectors.

    Of many rows that is dear: where some are next to dependent, the forces of all are nearly one.
    """
    if sum(A.shape) > EXAMINE_UP_TO:
        size = float(np.linalg.norm(forces))
        u = forces / size if size > 0 else forces
        v = A.T @ u
        sigma = float(np.linalg.norm(v))
        if sigma > 0:
            yield sigma, u, v / sigma
        return
    left, sigmas, right = svd(A.toarray(), full_matrices=False, check_finite=False)
    for k, sigma in enumerate(sigmas):
        yield float(sigma), left[:, k], right[k]
