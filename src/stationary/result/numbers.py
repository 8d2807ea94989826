"""How numbers are written: what is nothing but rounding reads as zero."""

from __future__ import annotations

import numpy as np

# Eigenvalues and coordinates are known to about this part of the largest of their kind.
_ROUNDING = 1e-14

# The square of a smaller number, and so every energy of it, is no number any more.
_NOTHING = 1e-154


def written(value: float, digits: int = 6, known_to: float = 0.0) -> str:
    """Write a number that is known to within `known_to`.

    Examples
    --------
    >>> from stationary.result.numbers import written
    >>> written(-2e-252), written(3e-17, known_to=1e-15), written(3e-17)
    ('0', '0', '3e-17')
    """
    return "0" if abs(value) <= max(known_to, _NOTHING) else f"{value:.{digits}g}"


def evidence(value: float) -> str:
    """Write the size of what is left of an equation."""
    return f"{0.0 if abs(value) <= _NOTHING else value:.1e}"


def eigenvalues(values: np.ndarray, digits: int = 4) -> list[str]:
    """Write eigenvalues of one matrix: rounding is measured against the largest of them."""
    known_to = _ROUNDING * float(np.max(np.abs(values), initial=0.0))
    return [written(float(value), digits, known_to) for value in values]
