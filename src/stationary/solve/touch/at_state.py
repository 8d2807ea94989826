"""A system that touches, at one state, as numbers: inertia, forces, rows, limits and rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np

from stationary.derive.touch import Touch
from stationary.lower.engines.casadi import Numeric
from stationary.lower.rounding import Tape
from stationary.lower.touching import Touching

# Last digits that sums of a few terms may lose; ten times more or less changes no more than how
# many of the last, smallest bounces are seen.
DIGITS = 64 * np.finfo(float).eps

# Last digits that numbers in a statement have lost where they were computed one by one.
_COMPUTED = 8.0

# Rounding of several rows is looked at so many times, each in a sense of its own; it adds up to so
# many times what is seen.
_ASIDE, _SHARED = 3, 4.0

# Singular values this many times smaller than the largest count as zero.
RANK = 1e-11

# Beyond this many operations, rounding of the numbers in gaps and slips is not looked at.
_MOST = 10_000


class Looks:
    """Evaluates everything that decides about changes; made once for a kernel."""

    def __init__(self, kernel: Touching):
        self.kernel, self.touch = kernel, kernel.touch
        touch, graph = kernel.touch, kernel.graph
        arguments: Any = touch.rows.sx_in()
        M, force = graph.inertial(*arguments[:5])
        R, Rdot, A, bend, ahead = graph.constraints(*arguments[:5])
        kept = list(kernel.rows)
        held = [x[kept, :] for x in (R, Rdot, bend, A, ahead)]
        rows = [ca.vertcat(a, b) for a, b in zip(held, touch.rows(*arguments))]
        outputs = [M, force, *rows, *touch.limits(*arguments)[1:]]
        outputs = [ca.densify(x) for x in outputs]
        self._function = Numeric(
            ca.Function("facts", arguments, outputs, {"cse": True}), frozenset({0, 5}), dense=True
        )
        values = ca.Function("values", arguments, [ca.densify(rows[0])])
        self._values = Tape(values) if values.n_instructions() <= _MOST else None
        self._inputs = Numeric(kernel.inputs)
        self._inverse = np.zeros((0, 0)), np.zeros((0, 0))

    def __call__(self, t: float, y: np.ndarray, p: np.ndarray) -> Facts:
        """Return the facts at a state."""
        n, m = self.kernel.size, len(self.kernel.graph.system.parameters)
        q, v = y[:n], y[n : 2 * n]
        u = self._inputs(t, y, p)[0] if self.kernel.signature else np.zeros(0)
        M, *parts = self._function(t, q, v, u, p[:m], 1.0)
        # Inertia that is the same again has the same inverse.
        known, inverse = self._inverse
        if not np.array_equal(M, known):
            inverse = np.linalg.inv(M)
            inverse = (inverse + inverse.T) / 2
            self._inverse = M, inverse

        def summed() -> np.ndarray:
            if self._values is None:
                return np.zeros(len(parts[1]))
            errors = self._values.errors([t, q, v, u, p[:m], 1.0], constant_digits=1.0)
            return _COMPUTED * np.where(np.isfinite(errors), errors, 0.0)

        def beside(q: np.ndarray, v: np.ndarray) -> Facts:
            return self(t, np.concatenate([q, v, y[2 * n :]]), p)

        fixed = len(self.kernel.rows)
        return Facts(self.touch, fixed, t, q, v, summed, beside, inverse, M, *parts)


def shares(W: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Solve W z = rates; rows that say the same share, and each is measured in its own unit."""
    size = np.sqrt(np.maximum(np.diag(W), 1e-300))
    z: np.ndarray = np.linalg.lstsq(W / size / size[:, None], rates / size, rcond=RANK)[0]
    return z / size


@lru_cache(maxsize=64)
def looks_of(kernel: Touching) -> Looks:
    """Return what evaluates facts; one for a kernel."""
    return Looks(kernel)


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known at a state. Rows are those of constraints, then gaps, then dry slips."""

    touch: Touch
    fixed: int
    t: float
    q: np.ndarray
    v: np.ndarray
    #: What rounding of the numbers in each value, and of sums of them, may do to it.
    summed: Callable[[], np.ndarray]
    #: The facts at other places and velocities.
    beside: Callable[[np.ndarray, np.ndarray], Facts]
    #: M⁻¹.
    inverse: np.ndarray
    M: np.ndarray
    force: np.ndarray
    value: np.ndarray
    rate: np.ndarray
    gamma: np.ndarray
    C: np.ndarray
    drive: np.ndarray
    moving: np.ndarray
    rest: np.ndarray
    restitution: np.ndarray

    @cached_property
    def free(self) -> np.ndarray:
        """Accelerations without forces of any row."""
        return self.inverse @ self.force

    @cached_property
    def sums(self) -> np.ndarray:
        """What the accelerations of all rows are summed from, without forces of any row."""
        return np.abs(self.C) @ (np.abs(self.inverse) @ np.abs(self.force)) + np.abs(self.gamma)

    @cached_property
    def pulled(self) -> np.ndarray:
        """Accelerations of all rows without forces of any."""
        return self.C @ self.free + self.gamma

    def pull_rounding(self, z: np.ndarray) -> np.ndarray:
        """Return how much of accelerations with forces z is the rounding of places and rates.

        Forces that vanish at a place, as at the bottom of a bowl, are no larger than that there.
        """
        pulled, W = self._moved
        return pulled + W @ np.abs(z)

    @cached_property
    def _moved(self) -> tuple[np.ndarray, np.ndarray]:
        """How far accelerations without forces, and W, move where places and rates are rounded."""
        own = np.maximum(np.diag(self.W), 1e-300)
        # Every coordinate has last digits of its own, and is where it is at a time that has some.
        places = DIGITS * (np.abs(self.q) + np.abs(self.v * self.t))
        rates = DIGITS * (np.abs(self.v) + np.abs(self.free * self.t))
        near, count = [], len(own)
        for signs in np.random.default_rng(0).choice([-1.0, 1.0], (_ASIDE, count + len(places))):
            ways, each = self.answers * (signs[:count] / own), signs[count:]
            q = self.q + ways @ self.value_rounding + each * places
            v = self.v + ways @ self.rate_rounding + each * rates
            near.append(self.beside(q, v))
        pulled = np.max([np.abs(x.pulled - self.pulled) for x in near], axis=0)
        W = np.max([np.abs(x.W - self.W) for x in near], axis=0)
        finite = np.isfinite(pulled), np.isfinite(W)
        return _SHARED * np.where(finite[0], pulled, 0.0), _SHARED * np.where(finite[1], W, 0.0)

    @cached_property
    def answers(self) -> np.ndarray:
        """M⁻¹Cᵀ."""
        return self.inverse @ self.C.T

    @cached_property
    def W(self) -> np.ndarray:
        """C M⁻¹Cᵀ."""
        return self.C @ self.answers

    def stopping(self, rows: list[int], rates: np.ndarray) -> np.ndarray:
        """Return the impulses along some rows that change their rates by so much."""
        return shares(self.W[np.ix_(rows, rows)], rates)

    @property
    def gaps(self) -> slice:
        """Rows of the contacts."""
        return slice(self.fixed, self.fixed + self.touch.gaps)

    @property
    def slips(self) -> slice:
        """Rows of the dry slips."""
        return slice(self.fixed + self.touch.gaps, None)

    @cached_property
    def value_rounding(self) -> np.ndarray:
        """How much of the value of each row may be rounding, of places and of time."""
        size = np.abs(self.value) + np.abs(self.C) @ np.abs(self.q)
        moving = (np.abs(self.rate) + np.abs(self.drive)) * abs(self.t)
        return DIGITS * (size + moving) + self.summed()

    @cached_property
    def rate_rounding(self) -> np.ndarray:
        """How much of the rate of each row may be rounding."""
        size = np.abs(self.C) @ np.abs(self.v) + np.abs(self.drive)
        return DIGITS * (size + self.sums * abs(self.t))
