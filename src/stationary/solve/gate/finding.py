"""What the gate measures of a claim, and how much of it the claim allows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from stationary.result.status import Status


@dataclass(frozen=True)
class Finding:
    """One claim of a result, measured from the statement.

    Attributes
    ----------
    claim : str
        What is claimed, in words.
    where : str
        The coordinate, row or time at which it is worst.
    measured, allowed : float
        In one unit; what is not finite is not allowed.
    """

    claim: str
    where: str
    measured: float
    allowed: float

    @property
    def holds(self) -> bool:
        """Whether the claim is true within its own rounding and tolerance."""
        return bool(self.measured <= self.allowed)

    @property
    def excess(self) -> float:
        """How many times more was measured than is allowed."""
        if self.holds:
            return self.measured / self.allowed if self.allowed > 0 else 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.nan_to_num(np.divide(self.measured, self.allowed), nan=np.inf))

    def __str__(self) -> str:
        return f"{self.claim} {self.where}: {self.measured:.1e}, allowed {self.allowed:.1e}"


def worst(findings: Iterable[Finding]) -> Finding | None:
    """Return the claim that is furthest from true, or None where all hold."""
    false = [f for f in findings if not f.holds]
    return max(false, key=lambda f: f.excess) if false else None


def measured(claim: str, values: np.ndarray, allowed: np.ndarray, name) -> list[Finding]:
    """Return the worst of many values as one finding; `name(i)` says where it is."""
    if not len(values):
        return []
    fits = values <= allowed
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = values / np.maximum(allowed, 1e-300)
        if not fits.all():
            shares[~fits] = np.nan_to_num(values[~fits] / allowed[~fits], nan=np.inf)
    i = int(np.argmax(shares))
    return [Finding(claim, f"'{name(i)}'", float(values[i]), float(allowed[i]))]


def refuted(false: Finding) -> Status:
    """Return the status of what is not as it claims."""
    return Status("refuted", f"what it claims is not so: {false}")
