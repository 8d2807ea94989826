"""The question of how it slides, in numbers, and what makes an answer right.

    minimize over v   Σₖ aₖ |wₖ|^(nₖ+1) / (nₖ+1) + D(v) − f·v,   w = B v + c
    subject to        A v + b = 0,   G v + g ≥ 0

With every nₖ = 0 and no D this is the power: what friction takes minus what the loads give. The
forces y that resist w, λ and μ balance the pushes: f = Bᵀy + ∂D/∂v − Aᵀλ − Gᵀμ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse

# Up to this many velocities matrices are dense.
DENSE_UP_TO = 60

# A rate this much smaller than the largest is none.
STILL = 1e-10

#: D(v), its slope and its second derivative.
Viscous = Callable[[np.ndarray], tuple[float, np.ndarray, Any]]


@dataclass(frozen=True)
class Problem:
    """What pushes, what resists and what holds, at one configuration.

    Attributes
    ----------
    f : ndarray, shape (velocities,)
    B, c : what turns velocities into the rates against which friction acts
    starts : ndarray of int, shape (terms,)
        Where the rates of each friction term begin.
    size, power : ndarray, shape (terms,)
    A, b, G, g : what holds
    viscous : callable or None
    """

    f: np.ndarray
    B: Any
    c: np.ndarray
    starts: np.ndarray
    size: np.ndarray
    power: np.ndarray
    A: Any
    b: np.ndarray
    G: Any
    g: np.ndarray
    viscous: Viscous | None = None

    @property
    def n(self) -> int:
        """Number of velocities."""
        return len(self.f)

    @property
    def terms(self) -> int:
        """Number of friction terms."""
        return len(self.starts)

    @cached_property
    def dense(self) -> bool:
        """Whether matrices are dense."""
        return self.n <= DENSE_UP_TO

    @cached_property
    def matrices(self) -> tuple[Any, Any, Any]:
        """B, A and G, dense where that is faster."""
        if self.dense:
            return tuple(x.toarray() if sparse.issparse(x) else x for x in (self.B, self.A, self.G))  # pyright: ignore
        return tuple(sparse.csr_matrix(x) for x in (self.B, self.A, self.G))  # pyright: ignore[reportReturnType]

    @cached_property
    def widths(self) -> np.ndarray:
        """Number of rates of each term."""
        return np.diff(np.append(self.starts, len(self.c)))

    @cached_property
    def width(self) -> int:
        """Number of rates of every term, or 0 where they differ."""
        same = self.terms and np.all(self.widths == self.widths[0])
        return int(self.widths[0]) if same else 0

    @cached_property
    def term(self) -> np.ndarray:
        """The term to which each rate belongs."""
        return np.repeat(np.arange(self.terms), self.widths)

    @cached_property
    def force(self) -> float:
        """The size of the forces at work."""
        return max(self.size.max(initial=0.0), np.abs(self.f).max(initial=0.0)) or 1.0

    @cached_property
    def driven(self) -> bool:
        """Whether something imposes a motion."""
        return bool(np.any(self.b) or np.any(self.c) or np.any(self.g < 0))

    @cached_property
    def dry(self) -> bool:
        """Whether no force grows with velocity."""
        return self.viscous is None and not np.any(self.power)

    # -- at a velocity ----------------------------------------------------------------------------

    def rates(self, v: np.ndarray) -> np.ndarray:
        """Return w."""
        return self.matrices[0] @ v + self.c

    def sums(self, x: np.ndarray) -> np.ndarray:
        """Add over the rates of each term."""
        if self.width:
            return x.reshape(-1, self.width, *x.shape[1:]).sum(axis=1)
        return np.add.reduceat(x, self.starts, axis=0) if self.terms else x[:0]

    def speeds(self, w: np.ndarray) -> np.ndarray:
        """Return |w| of each term."""
        if self.width:
            return np.sqrt(np.einsum("ij,ij->i", *[w.reshape(-1, self.width)] * 2))
        return np.sqrt(self.sums(w * w))

    def value(self, v: np.ndarray) -> float:
        """Return what is minimized."""
        r, order = self.speeds(self.rates(v)), self.power + 1
        total = float(np.sum(self.size * r**order / order) - self.f @ v)
        return total + (self.viscous(v)[0] if self.viscous else 0.0)

    def bound(self, v: np.ndarray, y: np.ndarray, lam: np.ndarray, mu: np.ndarray) -> float:
        """Return what the minimum cannot be below, by forces that balance the pushes."""
        limit = np.maximum(self.size, 1e-300)
        strength, n = self.speeds(y), self.power
        # Dry friction within its limit costs nothing; drag costs its conjugate.
        with np.errstate(divide="ignore", over="ignore"):
            shares = np.where(
                n > 0,
                n / (n + 1) * limit * (strength / limit) ** ((n + 1) / np.where(n > 0, n, 1.0)),
                0.0,
            )
        total = float(y @ self.c - lam @ self.b - mu @ self.g - shares.sum())
        if self.viscous:
            value, slope, _ = self.viscous(v)
            total += value - float(slope @ v)
        return total

    def unbalanced(
        self, v: np.ndarray, y: np.ndarray, lam: np.ndarray, mu: np.ndarray
    ) -> np.ndarray:
        """Return what is left over of the forces."""
        B, A, G = self.matrices
        left = self.f - B.T @ y + A.T @ lam + G.T @ mu
        return left - self.viscous(v)[1] if self.viscous else left


@dataclass(frozen=True)
class Answer:
    """A velocity, the forces that go with it, and how well they fit.

    `stuck` are the friction terms at rest, `working` the contacts that hold.
    """

    problem: Problem
    v: np.ndarray
    y: np.ndarray
    lam: np.ndarray
    mu: np.ndarray
    stuck: np.ndarray
    working: np.ndarray
    source: str = field(default="", compare=False)

    @cached_property
    def residual(self) -> dict[str, float]:
        """Largest unbalanced force, violations of what holds, excess of friction; relative."""
        p = self.problem
        _, A, G = p.matrices
        speed = self.speed
        excess = np.where(p.power == 0, p.speeds(self.y) - p.size, 0.0)
        pull = np.concatenate([-self.mu, [0.0]])
        return {
            "force": _largest(p.unbalanced(self.v, self.y, self.lam, self.mu)) / self.strength,
            "rate": _largest(A @ self.v + p.b) / speed,
            "contact": max(0.0, float(-(G @ self.v + p.g).min(initial=0.0))) / speed,
            "friction": max(0.0, float(excess.max(initial=0.0))) / p.force,
            "pull": max(0.0, float(pull.max())) / self.strength,
        }

    @cached_property
    def strength(self) -> float:
        """The size of all forces, those that hold and those of damping included."""
        held = [_largest(self.lam), _largest(self.mu)]
        if self.problem.viscous:
            held.append(_largest(self.problem.viscous(self.v)[1]))
        return max(self.problem.force, *held)

    @cached_property
    def speed(self) -> float:
        """The size of the velocities at work."""
        p = self.problem
        return max(_largest(p.rates(self.v)), _largest(self.v), _largest(p.b)) or 1.0

    @cached_property
    def gap(self) -> float:
        """The duality gap, relative to the power at work."""
        p = self.problem
        above, below = p.value(self.v), p.bound(self.v, self.y, self.lam, self.mu)
        r = p.speeds(p.rates(self.v))
        scale = float(np.sum(p.size * r ** (p.power + 1))) + abs(float(p.f @ self.v))
        # Where everything rolls no power is at work: then what friction could take is the measure.
        return abs(above - below) / (scale + abs(above) + self.strength * self.speed)

    def right(self, tolerance: float = 1e-9) -> bool:
        """Tell whether this is the minimum: balanced, allowed, and without a duality gap."""
        return (
            bool(np.all(np.isfinite(self.v)) and np.all(np.isfinite(self.y)))
            and max(self.residual.values()) <= tolerance
            and self.gap <= tolerance
        )


def _largest(x: np.ndarray) -> float:
    return float(np.abs(x).max(initial=0.0))
