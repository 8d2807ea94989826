"""Branches of a curve as they have been followed, and what was marked on them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stationary.result.status import Status


@dataclass(frozen=True)
class Trail:
    """One branch of a curve, point by point.

    Attributes
    ----------
    points : ndarray
        Unknowns and the parameter, one point per row.
    growing, unclear : ndarray of int
        Number of growing modes at each, and of those whose rate is rounding.
    status : Status
        Why it ends.
    """

    points: np.ndarray
    growing: np.ndarray
    unclear: np.ndarray
    status: Status

    def __len__(self) -> int:
        return len(self.points)


@dataclass(frozen=True)
class Mark:
    """A point where something happens: "fold", "pitchfork", "branch" or "hopf"."""

    kind: str
    z: np.ndarray
    frequency: float | None = None


def joined(one: Trail, other: Trail) -> Trail:
    """Join the two halves of the branch on which the start lies."""
    if "closed" in (one.status, other.status):
        return one if one.status == "closed" else other
    message = "; ".join(dict.fromkeys([other.status.message, one.status.message]))
    if message == one.status.message:
        message += ", both ways"
    # The end that is not at a limit of the span is the one to look at.
    status = Status(str(other.status if one.status == "span" else one.status), message)
    if len(other) < 2:
        return replace(one, status=status)

    return Trail(
        np.vstack([other.points[::-1], one.points[1:]]),
        np.concatenate([other.growing[::-1], one.growing[1:]]),
        np.concatenate([other.unclear[::-1], one.unclear[1:]]),
        status,
    )


def distance(points: np.ndarray, target: np.ndarray) -> float:
    """Return the distance of a point from a polygon; it may be given anew for every corner."""
    return nearest_on(points, target)[0]


def nearest_on(points: np.ndarray, target: np.ndarray) -> tuple[float, int, float]:
    """Return the distance from a polygon, the corner before the nearest place, and how far on."""
    if len(points) < 2:
        away = np.linalg.norm(points - target, axis=1)
        return float(away.min(initial=np.inf)), 0, 0.0
    start, leg = points[:-1], np.diff(points, axis=0)
    target = np.broadcast_to(target, points.shape)[:-1]
    length = np.maximum((leg**2).sum(axis=1), 1e-300)
    share = np.clip(((target - start) * leg).sum(axis=1) / length, 0, 1)
    away = np.linalg.norm(start + share[:, None] * leg - target, axis=1)
    corner = int(np.argmin(away))
    return float(away[corner]), corner, float(share[corner])
