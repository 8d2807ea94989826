"""Where a function passes through zero along a step, once or twice."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# A dip that is not this deep, beside the ends of its step, is rounding of one that touches zero.
_DEEP = 1e-11

# How exactly a dip is looked for, beside the step: by the third it is where parabolas lead.
_NEAR = 1e-7


def root_of(f: Callable[[float], float], length: float) -> float | None:
    """Return where a test function passes through zero along a step."""
    low, high = f(0.0), f(length)
    if low == 0.0:
        return 0.0
    if not low * high < 0:
        return None
    # Imported where it is used: SciPy's optimizers take longer to load than this package.
    from scipy.optimize import brentq

    return float(brentq(f, 0.0, length, xtol=1e-14, rtol=8.9e-16))


def dip_of(f: Callable[[float], float], length: float) -> float | None:
    """Return where a function of one sign at both ends of a step has the other; None if nowhere."""
    ends = f(0.0), f(length)
    sign, size = np.sign(ends[0]), min(map(abs, ends))
    # Imported where it is used, as above.
    from scipy.optimize import minimize_scalar

    lowest = minimize_scalar(
        lambda s: sign * f(s), bounds=(0.0, length), method="bounded",
        options={"xatol": _NEAR * length},
    )  # fmt: skip
    return float(lowest.x) if lowest.fun < -_DEEP * size else None
