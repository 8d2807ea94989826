"""Where functions are zero: along a step, once or twice, and quadratic ones together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# A dip that is not this deep, beside the ends of its step, is rounding of one that touches zero.
_DEEP = 1e-11

# Roots of quadratic forms whose entries are of order one: what is left of them is less than this;
# those whose slopes tell less do not stand alone. Starts, and steps from each.
_ZERO, _ALONE, _STARTS, _STEPS = 1e-9, 1e-4, 60, 40

# How exactly a dip is looked for, beside the step: by the third it is where parabolas lead.
_NEAR = 1e-7

# By how much, beside itself, what goes straight on may differ from a straight line.
_STRAIGHT = 0.1


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


def dip_of(f: Callable[[float], float], length: float) -> tuple[float, float]:
    """Return where a function of one sign at both ends of a step is lowest, beside the lower end.

    Below zero it has the other sign there, beyond rounding; zero is one that touches it.
    """
    ends = f(0.0), f(length)
    sign, size = np.sign(ends[0]), min(map(abs, ends))
    # Imported where it is used, as above.
    from scipy.optimize import minimize_scalar

    lowest = minimize_scalar(
        lambda s: sign * f(s), bounds=(0.0, length), method="bounded",
        options={"xatol": _NEAR * length},
    )  # fmt: skip
    share = lowest.fun / size
    return float(lowest.x), 0.0 if abs(share) < _DEEP else float(share)


def common_roots(forms: list[np.ndarray]) -> list[np.ndarray]:
    """Return unit vectors at which quadratic forms are zero together, each up to its sign.

    There are as many forms as the vectors have entries, less one. None where some root does not
    stand alone.
    """
    sizes = [float(np.abs(form).max()) for form in forms]
    if not all(sizes):
        return []
    scaled = np.array([form / size for form, size in zip(forms, sizes)])
    if len(scaled) == 1:
        (low, high), axes = np.linalg.eigh(scaled[0])
        if not low < -1e-7 * abs(high) or not high > 1e-7 * abs(low):
            return []
        ways = [np.sqrt(high) * axes[:, 0] + s * np.sqrt(-low) * axes[:, 1] for s in (1, -1)]
        return [way / np.linalg.norm(way) for way in ways]
    roots: list[np.ndarray] = []
    for way in np.random.default_rng(9).standard_normal((_STARTS, scaled.shape[1])):
        way = way / np.linalg.norm(way)
        for _ in range(_STEPS):
            way = way - np.linalg.lstsq(*_slopes(scaled, way), rcond=1e-12)[0]
        slopes, left = _slopes(scaled, way)
        if not np.abs(left).max() < _ZERO:
            continue
        if np.linalg.svd(slopes, compute_uv=False)[-1] < _ALONE:
            return []
        if all(min(np.abs(way - x).max(), np.abs(way + x).max()) > _ALONE for x in roots):
            roots.append(way)
    return roots


def _slopes(forms: np.ndarray, way: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes of quadratic forms and of the square of a vector, and what is left."""
    slopes = np.vstack([2 * forms @ way, 2 * way])
    return slopes, np.append(forms @ way @ way, way @ way - 1)


def goes_on(
    trail: list[np.ndarray], tests: list[np.ndarray], new: np.ndarray, test: np.ndarray
) -> bool:
    """Tell whether what is watched for zeros goes straight on from two points to a new one."""
    if len(trail) < 2:
        return False
    far = np.linalg.norm(new - trail[-1]) / np.linalg.norm(trail[-1] - trail[-2])
    straight = tests[-1] + far * (tests[-1] - tests[-2])
    known = np.isfinite(test)
    even = np.array_equal(known, np.isfinite(straight)) and np.all((test * tests[-1])[known] > 0)
    return bool(even and np.all(np.abs(test - straight)[known] <= _STRAIGHT * np.abs(test)[known]))
