"""Simple polygons: checked, measured, and cut into triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.errors import StatementError, say
from stationary.model.numbers import numbers_of


def corners_of(outline: Any) -> np.ndarray:
    """Return the corners of an outline, none of them twice in a row: it closes by itself."""
    corners = numbers_of(outline)
    if corners.ndim != 2 or not np.all(np.isfinite(corners)):
        return np.zeros((0, 2))
    return corners[np.any(corners != np.roll(corners, -1, axis=0), axis=1)]


def _shown(outline: Any) -> str:
    """Return the beginning of what was given, as plain numbers if it is made of them."""
    numbers = numbers_of(outline)
    return str(outline if numbers.ndim < 2 else [tuple(row) for row in numbers.tolist()])[:60]


def polygon(outline: Any) -> np.ndarray:
    """Take the corners of a simple polygon that bounds some area."""
    corners = corners_of(outline)
    if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
        raise StatementError(
            "the outline of a slider is not a polygon.",
            f"Found {_shown(outline)}.",
            "Give three or more corners (x, y).",
        )
    if _crosses(corners):
        raise StatementError(
            "the outline of a slider crosses itself.",
            f"Found {_shown(outline)}.",
            "Give corners in order around it.",
        )
    if abs(area(corners)) <= 1e-14 * float(np.ptp(corners, axis=0).max()) ** 2:
        raise StatementError(
            say("the outline of a slider has no area.", f"Found {_shown(outline)}.",
                "Give corners in order around it.")
        )  # fmt: skip
    back = _runs_back(corners)
    if back is not None:
        raise StatementError(
            "the outline of a slider runs back over itself.",
            f"Found its corner ({back[0]:g}, {back[1]:g}) at the end of a spike without area.",
            "Leave out that corner.",
        )
    return corners


def area(corners: np.ndarray) -> float:
    """Return the area, negative where the corners go clockwise."""
    x, y = corners.T
    return float(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2


def triangles(corners: np.ndarray) -> list[np.ndarray]:
    """Cut a simple polygon into triangles, an ear at a time."""
    left = list(corners if area(corners) > 0 else corners[::-1])
    ears = []
    while len(left) > 3:
        for i in range(len(left)):
            a, b, c = left[i - 1], left[i], left[(i + 1) % len(left)]
            ear = np.array([a, b, c])
            if area(ear) <= 0:
                continue
            outside = [p for p in left if not any(p is q for q in (a, b, c))]
            if not any(_inside(p, ear) for p in outside):
                ears.append(ear)
                del left[i]
                break
        else:
            # Only corners on one line are left: they bound no area.
            return ears
    return [*ears, np.array(left)]


def _crosses(corners: np.ndarray) -> bool:
    """Tell whether two edges that are no neighbours cross."""
    ends = np.roll(corners, -1, axis=0)

    def side(i: np.ndarray, p: np.ndarray) -> np.ndarray:
        way, ahead = (ends - corners)[i], p - corners[i]
        return np.sign(way[:, 0] * ahead[:, 1] - way[:, 1] * ahead[:, 0])

    i, j = np.triu_indices(len(corners), 2)
    apart = side(i, corners[j]) * side(i, ends[j]), side(j, corners[i]) * side(j, ends[i])
    return bool(np.any((apart[0] < 0) & (apart[1] < 0)))


def _inside(p: np.ndarray, corners: np.ndarray) -> bool:
    edges = np.roll(corners, -1, axis=0) - corners
    ahead = p - corners
    return bool(np.all(edges[:, 0] * ahead[:, 1] - edges[:, 1] * ahead[:, 0] >= 0))


def _runs_back(corners: np.ndarray) -> np.ndarray | None:
    """Return the corner at which an outline turns back along the edge it came on, if it does."""
    after = np.roll(corners, -1, axis=0) - corners
    before = corners - np.roll(corners, 1, axis=0)
    cross = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
    dot = (before * after).sum(axis=1)
    back = (np.abs(cross) <= 1e-12 * np.abs(dot)) & (dot < 0)
    return corners[int(back.argmax())] if back.any() else None
