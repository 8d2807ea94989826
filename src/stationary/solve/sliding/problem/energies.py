"""One account of energies: the powers of forces at a velocity, as numbers and as expressions."""

from __future__ import annotations

from typing import Any


def driven(at: Any, y: Any, lam: Any, mu: Any) -> Any:
    """Return the power of what moves by itself: conveyors, constraints and pushers.

    `at` has the rates c, b and g of these, whatever the velocity.
    """
    return y.T @ at.c - lam.T @ at.b - mu.T @ at.g


def powers(at: Any, v: Any, forces: Any, damping: Any, fed: Any) -> tuple[Any, Any]:
    """Return what friction and `damping` take, and what loads, pushers and conveyors give.

    `damping` is a slope or none, `fed` the power of loads and of springs whose ends are moved.
    """
    y, lam, mu = forces
    taken = y.T @ at.rates(v)
    if damping is not None:
        taken = taken + v.T @ damping
    return taken, driven(at, y, lam, mu) + fed
