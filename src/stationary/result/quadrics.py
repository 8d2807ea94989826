"""Limit surfaces as smooth convex functions, fitted to wrenches and twists.

The twist of a wrench is normal to the surface (Goyal, Ruina and Papadopoulos 1991), so that pairs
of both tell its shape: an ellipsoid FᵀA F = 1, or a convex quartic, a sum of squares of such forms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from stationary.errors import StatementError, spelled
from stationary.result.line_contact import keeps, motion_cone
from stationary.result.views import AbstractTravels

_LOWER = np.tril_indices(3)
_FORMS = {"ellipsoid": 1, "quartic": 3}
_STEPS = 60


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class FittedSurface(AbstractTravels):
    """A convex function H of the wrench with H = 1 on the limit surface.

    Attributes
    ----------
    kind : str
        "ellipsoid" (of degree two) or "quartic".
    forms : ndarray, shape (count, 3, 3)
        Positive matrices A: H is FᵀAF, or the sum of (FᵀAF)².
    misfit : float
        Root mean square of H^(1/degree) − 1 over the wrenches.
    angle : float
        Root mean square of the angle between normals and twists, in radians, moments counted by
        the size of the part.

    Examples
    --------
    >>> disc = st.limit_surface(st.slider(radius=1.0, limit=1.0))
    >>> smooth = disc.fitted("quartic")
    >>> smooth.misfit < disc.fitted("ellipsoid").misfit < 0.05
    True
    """

    kind: str
    forms: np.ndarray
    misfit: float
    angle: float

    def value(self, wrench: Any) -> np.ndarray:
        """Return H^(1/degree): one on the surface, less inside; for one wrench or many."""
        F = np.asarray(wrench, dtype=float)
        forms = np.einsum("...i,kij,...j->...k", F, self.forms, F)
        if self.kind == "ellipsoid":
            return np.sqrt(forms[..., 0])
        return (forms**2).sum(axis=-1) ** 0.25

    def holds(self, wrench: Any) -> np.ndarray:
        """Tell whether friction takes a wrench up without sliding."""
        return self.value(wrench) <= 1

    def twist(self, wrench: Any) -> np.ndarray:
        """Return the twist under a wrench, for a power of one: along the normal of the surface."""
        F = np.asarray(wrench, dtype=float)
        pulled = np.einsum("kij,...j->...ki", self.forms, F)
        if self.kind == "quartic":
            # As shares: squares of wrenches far from the surface would run out of range.
            share = np.einsum("...ki,...i->...k", pulled, F)
            most = share.max(axis=-1, keepdims=True)
            pulled = pulled * (share / np.where(most > 0, most, 1.0))[..., None]
        normal = pulled.sum(axis=-2)
        power = (normal * F).sum(axis=-1, keepdims=True)
        return normal / np.where(power > 0, power, 1.0)

    def wrench(self, twist: Any) -> np.ndarray:
        """Return the wrench on the surface under which a part slides with a twist, or with many."""
        V = np.asarray(twist, dtype=float)
        flat = [self._against(v) for v in V.reshape(-1, 3)]
        return np.array(flat).reshape(V.shape)

    def support(self, twist: Any) -> np.ndarray:
        """Return the power that friction takes at a twist: how far the surface reaches along it."""
        V = np.asarray(twist, dtype=float)
        return (self.wrench(V) * V).sum(axis=-1)

    def motion_cone(self, point: Any, normal: Any, friction: float) -> np.ndarray:
        """Return the velocities of a contact at which its friction cone ends, one per row."""
        return motion_cone(self.twist, point, normal, friction)

    def sticks(self, twist: Any, points: Any, normal: Any, friction: float) -> bool:
        """Tell whether a line contact that moves with a twist keeps the part: a stable push."""
        wrench = self.wrench(twist)
        size = float(np.sqrt(np.trace(self._unit[:2, :2]) / 2 / self._unit[2, 2]))
        return keeps(wrench, size, points, normal, friction)

    @property
    def _unit(self) -> np.ndarray:
        """One positive matrix of about the shape of the surface."""
        return self.forms.sum(axis=0)

    def _against(self, twist: np.ndarray) -> np.ndarray:
        """Return the wrench at which the normal of the surface is a twist: least H(F) − F·twist."""
        # In coordinates in which the surface is about a ball, Newton's method is in no hurry.
        half = np.linalg.cholesky(self._unit)
        v = np.linalg.solve(half, twist)
        size = float(np.linalg.norm(v))
        if not (np.isfinite(size) and size > 0):
            raise StatementError(
                "a twist of zero has no wrench.", f"Found {twist}.",
                "Give two velocities and a rate of turning.",
            )  # fmt: skip
        inverse = np.linalg.inv(half)
        forms = inverse @ self.forms @ inverse.T
        f, v = v / size, v / size
        if self.kind == "quartic":
            f = _quartic(forms, v)
        else:
            f = np.linalg.solve(forms[0], v)
        F = inverse.T @ f
        return F / float(self.value(F))

    def __repr__(self) -> str:
        return (
            f"Limit surface as {'an ellipsoid' if self.kind == 'ellipsoid' else 'a convex quartic'}"
            f": misfit {self.misfit:.2e}, normals off by {np.degrees(self.angle):.2g}°"
        )


def _quartic(forms: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return where the gradient of the sum of (fᵀAf)²/4 is v: Newton's method, damped."""

    def bent(f: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        pulled = forms @ f
        squares = pulled @ f
        value = float(squares @ squares) / 4 - float(v @ f)
        hessian = np.einsum("k,kij->ij", squares, forms) + 2 * pulled.T @ pulled
        return value, squares @ pulled - v, hessian

    f = v / float(np.sum(((forms @ v) @ v) ** 2)) ** (1 / 3)
    for _ in range(_STEPS):
        value, gradient, hessian = bent(f)
        step = -np.linalg.solve(hessian, gradient)
        share = 1.0
        while bent(f + share * step)[0] > value + 1e-4 * share * (gradient @ step) + 1e-15:
            share /= 2
            if share < 1e-6:
                break
        f = f + share * step
        if np.linalg.norm(step) <= 1e-14 * np.linalg.norm(f):
            break
    return f


@spelled
def fit_limit_surface(*, wrenches: Any, twists: Any, kind: str = "ellipsoid") -> FittedSurface:
    """Fit a convex limit surface to measured wrenches and the twists that go with them.

    Parameters
    ----------
    wrenches : array, shape (count, 3)
        Rows (fx, fy, moment) with which a part was pushed while it slid.
    twists : array, shape (count, 3)
        Rows (vx, vy, omega); their sizes do not count.
    kind : str
        "ellipsoid" or "quartic".

    Returns
    -------
    FittedSurface

    Examples
    --------
    >>> known = st.limit_surface(st.slider(radius=1.0, limit=2.0), count=200)
    >>> fit = st.fit_limit_surface(wrenches=known.wrenches, twists=known.twists, kind="quartic")
    >>> bool(fit.holds((1.0, 0, 0))), bool(fit.holds((2.5, 0, 0)))
    (True, False)
    """
    if kind not in _FORMS:
        raise StatementError(
            f"'{str(kind)[:40]}' is no kind of limit surface.",
            f"Known: {', '.join(_FORMS)}.",
            "Choose one of them.",
        )
    F, V = (np.atleast_2d(np.asarray(x, dtype=float)) for x in (wrenches, twists))
    usable = np.zeros(0, dtype=bool)
    if F.shape == V.shape and F.shape[1:] == (3,):
        usable = _sliding(F, V)
    if np.count_nonzero(usable) < 6:
        raise StatementError(
            "wrenches and twists do not go together.",
            f"Found arrays of shapes {F.shape} and {V.shape}, with "
            f"{np.count_nonzero(usable)} pairs of a part that is pushed and slides.",
            "Give six pairs or more, rows (fx, fy, moment) of what pushes and (vx, vy, omega).",
        )
    F, V = F[usable], V[usable]
    # Moments count with the length at which they are as large as the forces.
    force, moment = (
        np.quantile(np.abs(F[:, :2]).max(axis=1), 0.9),
        np.quantile(np.abs(F[:, 2]), 0.9),
    )
    unit = np.array([force, force, moment or force])
    f, v = F / unit, V * unit
    v = v / np.linalg.norm(v, axis=1)[:, None]
    degree = 2 if kind == "ellipsoid" else 4
    count = _FORMS[kind]

    def squares(u: np.ndarray) -> np.ndarray:
        L = np.zeros((count, 3, 3))
        L[:, _LOWER[0], _LOWER[1]] = u.reshape(count, 6)
        return L @ L.transpose(0, 2, 1)

    def left(u: np.ndarray) -> np.ndarray:
        surface = FittedSurface(kind, squares(u), 0.0, 0.0)
        normal = surface.twist(f)
        normal = normal / np.maximum(np.linalg.norm(normal, axis=1), 1e-300)[:, None]
        return np.concatenate([surface.value(f) ** degree - 1, np.ravel(normal - v)])

    rng = np.random.default_rng(0)
    start = np.tile(np.eye(3)[_LOWER], count) / count ** (1 / degree)
    start = start + (0.1 * rng.normal(size=start.size) if count > 1 else 0.0)
    first = least_squares(left, start, loss="soft_l1", f_scale=0.1)
    # Pairs that are far from what most of them say are mistakes, not noise.
    rows = left(first.x)
    each = np.hypot(rows[: len(f)], np.linalg.norm(rows[len(f) :].reshape(-1, 3), axis=1))
    near = each <= 6 * max(float(np.median(each)), 1e-3)
    if np.count_nonzero(near) >= max(6, 0.75 * len(f)):
        f, v = f[near], v[near]
    forms = squares(least_squares(left, first.x).x)
    scaled = FittedSurface(kind, forms, 0.0, 0.0)
    normal = scaled.twist(f)
    cosine = (normal * v).sum(axis=1) / np.linalg.norm(normal, axis=1)
    misfit = float(np.sqrt(np.mean((scaled.value(f) - 1) ** 2)))
    angle = float(np.sqrt(np.mean(np.arccos(np.clip(cosine, -1, 1)) ** 2)))
    return FittedSurface(kind, forms / np.outer(unit, unit), misfit, angle)


def _sliding(F: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Tell which pairs are of a part that moves, and moves with what pushes it."""
    whole = np.all(np.isfinite(F), axis=1) & np.all(np.isfinite(V), axis=1)
    with np.errstate(invalid="ignore"):
        pushed = np.linalg.norm(F, axis=1) > 0
        moves, works = np.linalg.norm(V, axis=1) > 0, (F * V).sum(axis=1) > 0
    return whole & pushed & moves & works
