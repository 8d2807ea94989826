"""The locus: every point that a part can turn about, over all pressures."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

from stationary.solve.pressure.bounds.border import Border
from stationary.solve.pressure.envelope import centre_of
from stationary.solve.pressure.extremes.climb import even_load, moved
from stationary.solve.pressure.extremes.extremes import Extremes
from stationary.solve.pressure.region import Mode, spread_motion
from stationary.solve.pressure.support import Rest


def locus_of(scene: Any, count: int, known: Any) -> np.ndarray:
    """Return the border of the locus as a polygon, in sizes of the part, from its centre.

    The set of motions is looked at from one inside, in `count` directions; motions of the plane and
    centres of rotation correspond line by line, so that the polygon is that of the centres.
    """
    centres: list[np.ndarray] = []
    single = len(scene.modes) == 1
    for mode in scene.modes:
        hunt = Extremes(scene.rest, mode)
        if mode.free.shape[1] == 1:
            edges = [hunt.greatest(sign * mode.free[:, 0]) for sign in (-1.0, 1.0)]
            twists = [edge.twist for edge in edges if edge is not None]
        else:
            rays = count if single else max(count // 2, 8)
            angles = np.arange(rays) * (2 * np.pi / rays)
            border = Border(hunt.programs, mode, inner_motion(scene.rest, mode))
            twists = [t for t in border.motions(angles) if mode.allows(t)]
        centres += [q for q in map(centre_of, twists) if q is not None]
    for _, summit in known:
        q = centre_of(summit.twist)
        if q is not None and len(centres) > 2 and single:
            # The extremes are exact: they take their place among their neighbours.
            near = int(np.argmin([np.hypot(*(p - q)) for p in centres]))
            centres.insert(near + 1, q)
    border = np.array(centres)
    if not single and len(border) > 2:
        border = border[ConvexHull(border).vertices]
    return border


def inner_motion(rest: Rest, mode: Mode) -> np.ndarray:
    """Return a motion around which others are possible: that under a pressure of no large atoms.

    Where one atom bears much of the load, the part turns about it: at the border of what it can do.
    """
    twist = moved(*even_load(rest), mode)
    return twist if mode.allows(twist) else spread_motion(rest, mode)
