"""A smooth pressure over an area: shapes that it is made of, and how smooth the motions say it is.

Of all pressures that explain the motions, smooth ones are the more likely: their second differences
are taken as random, and how large they are as likely as that makes the measured motions (empirical
Bayes). What this smooths away is part of the intervals, which hold on the average over the area
(Wahba 1983). Parts that lift off the table have a pressure that bends along a line only, and there
by far more than on the average: a fit is less smooth than is likeliest, so that what it smooths
away is little beside its errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import comb

# Pressures are of this degree along both sides of the box around the area.
_DEGREE = 6
# Shapes that have less than this share of the area are left out.
_LEAST = 1e-4
# Sizes of second differences that are tried, in mean pressures.
_SIZES = np.geomspace(1e-3, 1e2, 51)
# By so many of them, a factor of three, second differences are taken larger than is likely.
_LARGER = 5


def shapes(points: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return loads of points under each shape of unit load, and second differences of pressures.

    Bernstein polynomials over the box around the points: positive, and together even. The
    differences are those of the pressures of neighbouring shapes, in mean pressures, for loads that
    sum up to one; a plane has none.
    """
    u = (points - points.min(axis=0)) / np.ptp(points, axis=0)
    n, i = _DEGREE, np.arange(_DEGREE + 1)[:, None, None]
    along = comb(n, i) * u**i * (1 - u) ** (n - i)
    table = np.einsum("ik,jk,k->kij", along[..., 0], along[..., 1], cells / cells.sum())
    table = table.reshape(len(u), -1)
    share = table.sum(axis=0)
    there = share > _LEAST / share.size
    rows = [row for row in _differences(n + 1) if not np.any(row[~there])]
    return (table / share)[:, there], (np.array(rows) / share)[:, there]


def _differences(side: int) -> list[np.ndarray]:
    """Return second differences over a square grid: along both sides, and across."""
    rows = []

    def take(*entries: tuple[int, int, float]) -> None:
        row = np.zeros((side, side))
        for i, j, factor in entries:
            row[i, j] += factor
        rows.append(row.ravel())

    for a in range(side):
        for b in range(side - 2):
            take((b, a, 1), (b + 1, a, -2), (b + 2, a, 1))
            take((a, b, 1), (a, b + 1, -2), (a, b + 2, 1))
    for a in range(side - 1):
        for b in range(side - 1):
            take(*((a + p, b + q, np.sqrt(2) * (-1) ** (p + q)) for p in (0, 1) for q in (0, 1)))
    return rows


@dataclass(frozen=True)
class Smoothness:
    """How smooth a pressure is: what second differences count, for how much, and the fit.

    Attributes
    ----------
    stiffness, share : ndarray, shape (sizes,)
    steps : ndarray, shape (sizes, unknowns)
        From the present fit to that of each size.
    covariances : ndarray, shape (sizes, unknowns, unknowns)
        For errors of one.
    """

    stiffness: np.ndarray
    share: np.ndarray
    steps: np.ndarray
    covariances: np.ndarray

    @property
    def likeliest(self) -> float:
        """What second differences count for most."""
        return float(self.stiffness[self.share.argmax()])

    def covariance(self, variance: float) -> np.ndarray:
        """Return the covariance over all sizes, for this variance of the errors."""
        mean = self.share @ self.steps
        off = self.steps - mean
        inner = np.einsum("k,kij->ij", self.share, self.covariances)
        return variance * inner + np.einsum("k,ki,kj->ij", self.share, off, off)


def smoothness(
    r: np.ndarray, J: np.ndarray, bent: np.ndarray, bends: np.ndarray, known: bool
) -> Smoothness:
    """Return how likely the motions make each size of second differences, and larger ones instead.

    `r` and `bent` are what is left of the motions and the second differences, `J` and `bends` how
    they change with the unknowns. Where errors of the motions are not `known`, they are what is
    left, and stiffness counts in these.
    """
    flat = int(np.linalg.matrix_rank(bends))
    stiff, soft = J.T @ J, bends.T @ bends
    pull, drag = J.T @ r, bends.T @ bent
    unit = 1.0 if known else float(np.sqrt(r @ r / max(len(r), 1))) or 1e-300
    evidence, steps, covariances = [], [], []
    for size in _SIZES:
        weight = (unit / size) ** 2
        s, V = np.linalg.eigh(stiff + weight * soft)
        s = np.maximum(s, 1e-14 * s[-1])
        step = V @ ((V.T @ -(pull + weight * drag)) / s)
        left, bending = r + J @ step, bent + bends @ step
        total = left @ left + weight * (bending @ bending)
        fit = total if known else len(r) * np.log(total)
        # Before any motion, sizes up to a mean pressure are equally likely, larger ones less.
        before = np.log(size) - np.log1p(size**2)
        evidence.append(before + 0.5 * (flat * np.log(weight) - fit - np.log(s).sum()))
        steps.append(step)
        covariances.append((V / s) @ V.T)
    share = np.exp(np.array(evidence) - max(evidence))
    share = np.append(np.zeros(_LARGER), share)
    share = np.append(share[: len(_SIZES) - 1], share[len(_SIZES) - 1 :].sum())
    return Smoothness(unit / _SIZES, share / share.sum(), np.array(steps), np.array(covariances))
