"""What a contact, a point or a line, does to a part with a limit surface: Lynch and Mason 1996."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import nnls

from stationary.errors import StatementError


def motion_cone(
    twist: Callable[[np.ndarray], np.ndarray], point: Any, normal: Any, friction: float
) -> np.ndarray:
    """Return the velocities of a contact at which its friction cone ends, one per row."""
    ends = np.array([twist(edge) for edge in edges(point, normal, friction)])
    x, y = (float(c) for c in point)
    return ends[:, :2] + ends[:, 2:] * np.array([-y, x])


def keeps(wrench: np.ndarray, size: float, points: Any, normal: Any, friction: float) -> bool:
    """Tell whether a wrench is a sum of forces within the cones of friction at points."""
    cone = np.vstack([edges(point, normal, friction) for point in np.atleast_2d(points)])
    unit = np.abs(wrench[:2]).max() + np.abs(wrench[2]) / size
    scale = np.array([1, 1, 1 / size])
    _, left = nnls((cone * scale).T, wrench * scale)
    return bool(left <= 1e-9 * unit)


def edges(point: Any, normal: Any, friction: float) -> np.ndarray:
    """Return the wrenches of the two edges of a cone of friction."""
    place, way = np.asarray(point, dtype=float), np.asarray(normal, dtype=float)
    if place.shape != (2,) or way.shape != (2,) or not np.hypot(*way) > 0 or not friction >= 0:
        raise StatementError(
            "a contact is a point, a direction into the part and a friction.",
            f"Found point={str(point)[:30]}, normal={str(normal)[:30]}, friction={friction}.",
            "Give two numbers each, and a friction of zero or more.",
        )
    way = way / np.hypot(*way)
    along = np.array([way[1], -way[0]])
    forces = np.array([way - friction * along, way + friction * along])
    return np.column_stack([forces, place[0] * forces[:, 1] - place[1] * forces[:, 0]])
