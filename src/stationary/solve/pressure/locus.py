"""The locus: every point that a part can turn about, over all pressures."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.solve.pressure.envelope import Pressures, centre_of
from stationary.solve.pressure.extremes import Extremes

# Rays that end this close to the border are long enough for a picture.
_ROUNDS = 2


def locus_of(scene: Any, count: int, known: Any) -> np.ndarray:
    """Return the border of the locus as a polygon, in sizes of the part, from its centre.

    The set of motions is looked at from one inside, in `count` directions; motions of the plane and
    centres of rotation correspond line by line, so that the polygon is that of the centres.
    """
    found: list[np.ndarray] = []
    for mode in scene.modes:
        hunt = Extremes(Pressures(scene.rest), mode)
        if mode.free.shape[1] == 1:
            for sign in (-1.0, 1.0):
                edge = hunt.greatest(sign * mode.free[:, 0] @ np.diag([1.0, 1.0, 1.0]))
                if edge is not None:
                    q = centre_of(edge.twist)
                    found += [] if q is None else [q]
            continue
        for k in range(count if len(scene.modes) == 1 else count // 2):
            angle = 2 * np.pi * k / (count if len(scene.modes) == 1 else count // 2)
            edge, _ = hunt.region.ray(hunt.start, angle, rounds=_ROUNDS)
            if edge is None or not mode.allows(edge.twist):
                continue
            q = centre_of(edge.twist)
            found += [] if q is None else [q]
    for mode, summit in known:
        q = centre_of(summit.twist)
        if q is not None and len(found) > 2 and len(scene.modes) == 1:
            # The extremes are exact: they take their place among their neighbours.
            near = int(np.argmin([np.hypot(*(p - q)) for p in found]))
            found.insert(near + 1, q)
    border = np.array(found)
    if len(scene.modes) > 1 and len(border) > 2:
        from scipy.spatial import ConvexHull

        border = border[ConvexHull(border).vertices]
    return border
