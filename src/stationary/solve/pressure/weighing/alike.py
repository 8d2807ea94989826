"""Records that a part cannot tell apart: it looks the same in a mirror, or turned."""

from __future__ import annotations

import numpy as np

# How close corners come to others, in sizes of the part, if it looks the same.
_SAME = 1e-6
# Turns that a frame may be off by without anybody's seeing it, in parts of a whole one.
_TURNS = (2, 3, 4, 5, 6, 8)


def looks_alike(
    corners: np.ndarray, points: np.ndarray, weights: np.ndarray, intervals: np.ndarray
) -> str:
    """Say in which other ways a record may have been seen that would fit as well.

    A part that is its own mirror image moves in a mirror like one with its loads mirrored. No push
    tells them apart; nothing is said where the loads of both are the same within their intervals.
    """
    if not len(corners):
        return ""
    ways = []
    mirrors = {"y": (1.0, -1.0), "x": (-1.0, 1.0)}
    named = [f"mirrored ({k} and angles with the other sign)" for k in mirrors]
    every = [np.diag(s) for s in mirrors.values()]
    for count in _TURNS:
        c, s = np.cos(2 * np.pi / count), np.sin(2 * np.pi / count)
        every.append(np.array([[c, -s], [s, c]]))
        named.append(f"turned by {360 // count}°")
    for name, way in zip(named, every):
        if _maps(corners, corners @ way.T) is None:
            continue
        seen = _maps(points, points @ way.T)
        other = weights[seen] if seen is not None else None
        low, high = intervals.T
        if other is None or np.any((other < low) | (other > high)):
            ways.append(name)
    if not ways:
        return ""
    return (f"the part looks the same {' or '.join(ways)}: a record seen like that fits as well, "
            "with other loads, and only centre= can tell")  # fmt: skip


def _maps(points: np.ndarray, moved: np.ndarray) -> np.ndarray | None:
    """Return which of some points each one that was moved falls on, if all of them do."""
    far = np.hypot(*(moved[:, None] - points[None]).transpose(2, 0, 1))
    size = float(np.hypot(*points.T).max())
    return far.argmin(axis=1) if np.all(far.min(axis=1) <= _SAME * size) else None
