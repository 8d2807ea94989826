"""What was given as numbers, before it is known that it is: nan stands for what is none."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.errors import StatementError

_NONE = (TypeError, ValueError, OverflowError)


def as_real(value: Any) -> np.ndarray:
    """Take real numbers; dates, records and complex numbers would become some without a word."""
    given = np.asarray(value)
    mixed = map(np.asarray, given.ravel()) if given.dtype == object else ()
    if any(x.dtype.kind in "cmMV" for x in (given, *mixed)):
        raise TypeError(given.dtype)
    return given.astype(float)


def number_of(value: Any) -> float:
    """Return a number; nan for what is none."""
    try:
        return float(as_real(value) if isinstance(value, np.generic) else value)
    except _NONE:
        return np.nan


def numbers_of(value: Any) -> np.ndarray:
    """Return an array of numbers; a single nan for what is none."""
    try:
        return as_real(value)
    except _NONE:
        return np.array(np.nan)


def pair_of(value: Any) -> tuple[float, float]:
    """Return two numbers; nan for what are not two."""
    pair = numbers_of(value)
    return (float(pair[0]), float(pair[1])) if pair.shape == (2,) else (np.nan, np.nan)


def finite(value: Any, shape: tuple[int, ...], wrong: str, advice: str) -> np.ndarray:
    """Take finite numbers of a shape; refuse anything else in words."""
    numbers = numbers_of(value)
    if numbers.shape != shape or not np.all(np.isfinite(numbers)):
        raise StatementError(wrong, f"Found {repr(value)[:60]}.", advice)
    return numbers
