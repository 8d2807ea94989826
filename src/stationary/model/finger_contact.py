"""Where a finger touches a moving part, and what readings that say it does not may have meant."""

from __future__ import annotations

import numpy as np

# Units of length that are taken for each other: metres, centimetres, millimetres, inches.
_UNITS = {1e3: "1000", 1e-3: "1/1000", 1e2: "100", 1e-2: "1/100", 25.4: "25.4", 1 / 25.4: "1/25.4"}

# Gaps that are smaller, in sizes of the part, are as good as none.
_CLOSE = 1e-3
# Fingers are no thicker, in sizes of the part.
_THICK = 0.5


def contact(corners: np.ndarray, poses: np.ndarray, tip: np.ndarray, radius: float):
    """Return where the tip is nearest to the outline, the normal there, which edge, and the gap."""
    c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    x, y = (tip - poses[:, :2]).T
    own = np.stack([c * x + s * y, c * y - s * x], axis=1)
    way = np.roll(corners, -1, axis=0) - corners
    long = (way**2).sum(axis=1)
    share = np.clip(((own[:, None] - corners) * way).sum(axis=2) / long, 0, 1)
    foot = corners + share[..., None] * way
    edge = np.linalg.norm(own[:, None] - foot, axis=2).argmin(axis=1)
    rows = np.arange(len(own))
    inward = np.stack([-way[:, 1], way[:, 0]], axis=1) / np.sqrt(long)[:, None]
    place, normal = foot[rows, edge], inward[edge]
    out = own - place
    apart = np.hypot(*out.T)
    # Round a corner the finger pushes along the line to it.
    corner = (share[rows, edge] <= 0) | (share[rows, edge] >= 1)
    round_ = corner & (apart > 1e-9 * np.sqrt(long.max()))
    normal = np.where(round_[:, None], -out / np.maximum(apart, 1e-300)[:, None], normal)
    side = np.where((out * inward[edge]).sum(axis=1) > 0, -1.0, 1.0)
    return place, normal, edge, side * apart - radius


def meant(
    corners: np.ndarray, poses: np.ndarray, tip: np.ndarray, radius: float, near: float
) -> str:
    """Return in words another reading of a track under which the finger stays at the part.

    `near` is how close it is then, in sizes of the part; "" if none is, or none clearly best.
    """
    c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    back = np.stack([c * tip[:, 0] - s * tip[:, 1], s * tip[:, 0] + c * tip[:, 1]], axis=1)
    one, turn = np.ones(3), np.array([0, 0, 1.0])
    quarter = [poses + way * np.pi / 2 * turn for way in (1, -1)]
    off = [np.abs(contact(corners, read, tip, radius)[3]).mean() for read in quarter]
    mistaken: list[tuple[str, float, np.ndarray, np.ndarray]] = [
        ("the angles are in degrees: give radians", 1, one - turn + np.radians(turn), tip),
        ("the angles count clockwise: change their sign", 1, one - 2 * turn, tip),
        ("the tip is in the part's frame: give it on the table", 1, one, poses[:, :2] + back),
        ("poses and tip are mirrored: change the sign of y and of the angles", 1,
         np.array([1, -1, -1]), tip * [1, -1]),
    ]  # fmt: skip
    for factor, name in _UNITS.items():
        by, length = f"in another unit: multiply them by {name}", one + (factor - 1) * (one - turn)
        mistaken += [
            (f"the poses are {by}", 1, length, tip),
            (f"the readings of the tip are {by}", 1, one, factor * tip),
            (f"the outline and the radius are {by}", factor, one, tip),
        ]
    readings = [(size, poses * factors, at) for _, size, factors, at in mistaken]
    mistaken.append(
        ("the angles are off by a quarter turn: turn the frame of the part", 1, one, tip)
    )
    readings.append((1, quarter[int(np.argmin(off))], tip))
    apart = []
    for size, read, at in readings:
        outline = corners * size
        gap = np.abs(contact(outline, read, at, radius * size)[3])
        wide = float(np.hypot(*(outline - outline.mean(axis=0)).T).max())
        apart.append(float(np.quantile(gap, 0.8)) / wide)
    # Readings of a part that is like its mirror image may be as good as each other.
    every = np.maximum(apart, _CLOSE)
    good = [k for k in np.argsort(every, kind="stable") if every[k] < 2 * every.min()]
    # A finger that is as far from the part all the time is one of another radius.
    gap = contact(corners, poses, tip, radius)[3]
    middle = float(np.median(gap))
    uneven = float(np.quantile(np.abs(gap - middle), 0.8))
    size = float(np.hypot(*(corners - corners.mean(axis=0)).T).max())
    if 0 < middle < _THICK * size and max(uneven / size, _CLOSE) < 0.5 * every.min():
        return f"the finger has a radius of {radius + middle:.3g}: give radius="
    clear = every.min() <= near and len(good) <= 2
    return ", or if ".join(mistaken[k][0] for k in good) if clear else ""
