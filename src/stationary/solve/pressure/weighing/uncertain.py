"""How well loads are known from pushes, and what of them is not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, t

from stationary.solve.pressure.weighing.apart import unsure
from stationary.solve.pressure.weighing.search import Fitted, Search


@dataclass(frozen=True)
class Uncertain:
    """What is left of the motions, and what that says about the unknowns.

    Attributes
    ----------
    spread : ndarray, shape (unknowns, free)
        Independent changes that motions notice as an error of one; none where nothing is told.
    blind : ndarray of bool
        Which of the free ones no push tells.
    directions : ndarray
        Those, one per row.
    determined, dof : float
        How many unknowns the motions tell, and how many of their numbers are left.
    rms, sigma : float
        What is left of a motion, and what counts as its error, in standard errors that were given.
    beyond : bool
        Whether the motions miss the fit by more than their errors.
    astray : ndarray, shape (unknowns, ways)
        Changes by places of contact that may be off in all pushes alike; part of the covariance.
    """

    spread: np.ndarray
    blind: np.ndarray
    directions: np.ndarray
    determined: float
    dof: float
    rms: float
    sigma: float
    beyond: bool
    astray: np.ndarray
    covariance: np.ndarray
    quantile: float
    centre: np.ndarray
    off: np.ndarray


def uncertain(search: Search, fitted: Fitted) -> Uncertain:
    """Return how well the unknowns of a fit are known."""
    measured, load, J, r = search.measured, fitted.load, fitted.J, fitted.r
    count, stated = len(load), not measured.relative
    scale = np.append(np.full(count, load.sum() / count), 1.0)[: J.shape[1]]
    basis = search.ways(J.shape[1])
    unit = J * scale @ basis
    _, s, V = np.linalg.svd(np.linalg.qr(unit, mode="r"), full_matrices=True)
    s = np.append(s, np.zeros(V.shape[0] - len(s)))
    # A smooth pressure has fewer free unknowns than shapes.
    seen = measured.motions(unit) @ V.T
    taken = np.divide((seen**2).sum(axis=0), s**2, out=np.zeros(len(s)), where=s > 0)
    determined = float(np.minimum(taken, 1.0).sum())
    dof = max(measured.equations - determined, 0.0)
    left = measured.motions(r)
    rms = float(np.sqrt(left @ left / max(dof, 1)))
    # What misses the stated noise by more than chance widens the intervals.
    beyond = bool(stated and dof > 0 and rms > 1.0 + 4.0 / np.sqrt(2 * dof))
    sigma = 1.0 if stated and not beyond else rms
    # What has a standard error as large as all loads together is not told.
    blind = s <= 1e-9 * s.max(initial=0.0)
    if measured.bends is None:
        blind |= max(sigma, 1e-300) / np.maximum(s, 1e-300) > count
    directions = (basis @ V[blind].T).T * scale
    half = basis @ V.T * np.where(blind, 0.0, 1 / np.maximum(s, 1e-300))
    spread = half * scale[:, None]
    covariance = sigma**2 * spread @ spread.T
    if measured.bends is not None:
        smooth, ways = search.smoothness(fitted)
        covariance = ways @ smooth.covariance(sigma**2) @ ways.T
    astray = unsure(search, fitted, spread)
    covariance = covariance + astray @ astray.T
    quantile = norm.ppf(0.975) if stated and not beyond else t.ppf(0.975, max(dof, 1))
    centre, off = _centre(search, load, covariance[:count, :count])
    return Uncertain(spread, blind, directions, determined, dof, rms, sigma,
                     beyond, astray, covariance, float(quantile), centre, off)  # fmt: skip


def _centre(
    search: Search, load: np.ndarray, covariance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the centre of pressure and its standard errors."""
    if search.centre is not None:
        return np.array(search.centre), np.zeros(2)
    moments = search.measured.shapes.T @ search.measured.points
    centre = load @ moments / load.sum()
    slope = (moments - centre) / load.sum()
    return centre, np.sqrt(np.maximum(np.einsum("ki,kl,li->i", slope, covariance, slope), 0.0))
