"""The law of one step: its question, what it says of a guess, and by how much it is missed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

STICK, SLIDE = 1, 2

# How much rows give way, relative to what they answer to an impulse: those that say the same share.
GIVE = 1e-9


@dataclass(frozen=True, eq=False)
class Law:
    """The question: min ½ (v − free)ᵀ M (v − free) with these rows; matrices dense or sparse.

    `fixed` rows keep C v + c = 0. Contacts are normal rows with u = C v + c ≥ 0, each with its
    tangential rows and a coefficient of friction. Rubs have tangential rows and the impulse up to
    which they stick.
    """

    M: Any
    free: np.ndarray
    C: Any
    c: np.ndarray
    fixed: int
    normal: np.ndarray
    #: For every unit its first tangential row, how many, its place in `normal` or −1, coefficient
    #: or impulse.
    first: np.ndarray
    width: np.ndarray
    owner: np.ndarray
    grip: np.ndarray

    @property
    def coupled(self) -> bool:
        """Whether friction follows the force of a contact."""
        return bool(np.any((self.owner >= 0) & (self.grip > 0)))

    @cached_property
    def moves(self) -> np.ndarray:
        """M⁻¹ Cᵀ, of dense matrices: velocities that impulses make."""
        return divided(self.M, self.C.T)

    @cached_property
    def delassus(self) -> np.ndarray:
        """C M⁻¹ Cᵀ, of dense matrices: rates that impulses make."""
        return self.C @ self.moves


@dataclass
class Guess:
    """What contacts and rubs do, and along what they slide, by row."""

    closed: np.ndarray
    does: np.ndarray
    along: np.ndarray = field(default_factory=lambda: np.zeros(0))


def divided(M: Any, force: np.ndarray) -> np.ndarray:
    """Return M⁻¹ force."""
    diagonal = M.diagonal()
    dense = isinstance(M, np.ndarray)
    if (np.count_nonzero(M) if dense else M.nnz) == np.count_nonzero(diagonal):
        return (force.T / diagonal).T
    return np.linalg.solve(M, force) if dense else splu(M.tocsc()).solve(force)


def slips_of(law: Law) -> tuple[np.ndarray, np.ndarray]:
    """Return the tangential rows of all units, one unit after the other, and the unit of each."""
    unit = np.repeat(np.arange(len(law.first)), law.width)
    first = law.first - np.cumsum(law.width) + law.width
    return np.repeat(first, law.width) + np.arange(len(unit)), unit


def speed_of(law: Law, v: np.ndarray) -> float:
    """Return how fast contacts are, with their impulses and without."""
    # What is far away may close at any rate, which says nothing of velocities.
    rates = np.abs(law.C @ v).max(initial=0.0) + np.abs(law.C @ law.free).max(initial=0.0)
    return float(rates)


def missed(law: Law, v: np.ndarray, z: np.ndarray, weights: np.ndarray) -> float:
    """Return by how much the law is missed, of its velocities: what projections take back."""
    u, n, size = law.C @ v + law.c, law.normal, speed_of(law, v)
    if not size > 0:
        return 0.0
    w = np.maximum(weights, 1e-300)
    off = np.abs(u)
    off[n] = np.abs(np.minimum(u[n], w[n] * z[n]))
    rows, unit = slips_of(law)
    if len(rows):
        pushes = np.where(law.owner >= 0, z[n[law.owner]] if len(n) else 0.0, 1.0)
        aim = z[rows] - u[rows] / w[law.first][unit]
        wide = np.sqrt(np.bincount(unit, aim**2, len(law.first)))
        part = np.minimum(law.grip * np.maximum(pushes, 0.0) / np.maximum(wide, 1e-300), 1.0)
        off[rows] = w[law.first][unit] * np.abs(z[rows] - part[unit] * aim)
    return float(off.max()) / size


def answers(law: Law) -> np.ndarray:
    """Return how fast each row answers to a unit impulse, about."""
    squares = law.C**2 if isinstance(law.C, np.ndarray) else law.C.multiply(law.C)
    return np.asarray(squares @ (1 / law.M.diagonal())).ravel()


def of_guess(
    law: Law, guess: Guess, give: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return velocities and impulses of a guess for rates C v + c.

    Rows give way by `give` times their impulses. Raises LinAlgError where there are none.
    """
    count, widest = len(c), int(law.width.max(initial=0))
    held = np.zeros(count, dtype=bool)
    held[: law.fixed] = True
    held[law.normal[guess.closed]] = True
    at_contact = law.owner >= 0
    shut = np.where(at_contact, guess.closed[law.owner] if len(guess.closed) else False, True)
    sticks = np.flatnonzero((guess.does == STICK) & shut)
    slides = np.flatnonzero((guess.does == SLIDE) & shut)
    # What slides has the impulse of its contact, or a given one: z = D z_held + given.
    impulses = np.zeros(count)
    carried = []
    for k in range(widest):
        held[law.first[sticks[law.width[sticks] > k]] + k] = True
        some = slides[law.width[slides] > k]
        rows, own = law.first[some] + k, law.owner[some] >= 0
        against = -law.grip[some] * guess.along[rows]
        impulses[rows[~own]] = against[~own]
        carried.append((rows[own], law.normal[law.owner[some[own]]], against[own]))
    rows = np.flatnonzero(held)
    if len(rows):
        impulses[rows] = _holding(law, rows, carried, give[rows], impulses, c)
        for slips, owners, factors in carried:
            impulses[slips] = factors * impulses[owners]
    if isinstance(law.C, np.ndarray):
        return law.free + law.moves @ impulses, impulses
    return law.free + divided(law.M, law.C.T @ impulses), impulses


def _holding(
    law: Law, rows: np.ndarray, carried: list, give: np.ndarray, given: np.ndarray, c: np.ndarray
) -> np.ndarray:
    """Return the impulses of rows that are held, beside given ones."""
    C = law.C[rows]
    if isinstance(law.C, np.ndarray):
        W = law.delassus[rows]
        K = W[:, rows] + np.diag(give)
        for slips, owners, factors in carried:
            K[:, np.searchsorted(rows, owners)] += W[:, slips] * factors
        return np.linalg.solve(K, -(C @ law.free + c[rows] + W @ given))
    if carried:
        slips, owners, factors = (np.concatenate(x) for x in zip(*carried))
        D = sparse.identity(len(c), format="csr")
        D = D + sparse.coo_matrix((factors, (slips, owners)), shape=D.shape).tocsr()
        push = (law.C.T @ D[:, rows]).tocsc()
    else:
        push = C.T
    diagonal = law.M.diagonal()
    try:
        if law.M.nnz == np.count_nonzero(diagonal):
            # Rates that impulses make are as sparse as what touches what.
            each = sparse.diags(1 / diagonal)
            W = C @ each @ push + sparse.diags(give)
            rates = C @ (law.free + each @ (law.C.T @ given)) + c[rows]
            # One column after the other: wide panels are for matrices that fill up.
            factors = splu(W.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.1,
                           panel_size=1, options={"SymmetricMode": True})  # fmt: skip
            return factors.solve(-rates)
        K = sparse.bmat([[law.M, -push], [C, sparse.diags(give)]], format="csc")
        force = law.M @ law.free + law.C.T @ given
        return splu(K).solve(np.concatenate([force, -c[rows]]))[len(law.free) :]
    except RuntimeError as error:
        raise np.linalg.LinAlgError(str(error)) from error
