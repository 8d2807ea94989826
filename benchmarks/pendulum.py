"""The problem that every package is given: the planar n-link pendulum.

Point masses m on massless links of length l, absolute angles from the vertical. Mass, length and
gravity are run-time values wherever a row does not say otherwise: new ones need no new compile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import accumulate
from operator import add
from typing import Any

import numpy as np

SIZES = (1, 2, 3, 6, 10, 20)
PARAMETERS = {"m": 1.0, "l": 1.0, "g": 9.81}
LAST = 10.0
POINTS = 1001


def times() -> np.ndarray:
    """Return the output times, the same for all."""
    return np.linspace(0.0, LAST, POINTS)


def start(n: int) -> np.ndarray:
    """Return angles, then angular velocities.

    All different and none at rest: at a symmetric state half of a Taylor series vanishes and a
    package might profit or suffer from that.
    """
    link = np.arange(1, n + 1)
    return np.concatenate([0.5 + 0.1 * np.sin(link), 0.2 * np.cos(link)])


def energies(
    q: Sequence[Any], v: Sequence[Any], m: Any, length: Any, g: Any, sin: Callable, cos: Callable
) -> tuple[Any, Any]:
    """Return T and U in whatever algebra the arguments belong to."""
    across = accumulate(length * cos(a) * w for a, w in zip(q, v))
    along = accumulate(length * sin(a) * w for a, w in zip(q, v))
    height = accumulate(-length * cos(a) for a in q)
    kinetic = reduce(add, (m * (x * x + y * y) / 2 for x, y in zip(across, along)))
    potential = reduce(add, (m * g * y for y in height))
    return kinetic, potential
