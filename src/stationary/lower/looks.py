"""What is seen of a motion by a look at it: its energy, and how near it is to what is sharp.

Energy that is missing is missing from then on, so that looks as frequent as the steps prove every
one of them; compiled and asked for many states at once, they cost a hundredth of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from stationary.lower.engines import heyoka
from stationary.lower.instructions import kinks

if TYPE_CHECKING:
    from stationary.lower.features import Features
    from stationary.lower.kernel import AbstractKernel

# Energy may be off by this part of the largest in sight, by so many last digits of it and of what
# it is the difference of, and by so many of states, which have those of the largest ever seen.
_MISSING = 1e-12
_LAST_DIGITS = 16 * float(np.finfo(float).eps)
_OF_STATES = 256 * float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Looks:
    """Energies of a kernel, and the arguments of its sharp functions, at many states at once."""

    features: Features | None
    _function: ca.Function

    @cached_property
    def _values(self) -> heyoka.Values:
        return heyoka.Values(self._function)

    @np.errstate(all="ignore")
    def prove(
        self, t: np.ndarray, y: np.ndarray, p: np.ndarray, largest: float
    ) -> tuple[bool, float]:
        """Tell whether looks at a motion show it right, and its largest energy since it began.

        The energy is that of the first look, and between no two of them a sharp function may have
        been passed unseen. `largest` is what was told before.
        """
        every = self._values(t, y, p)
        high, low = every[:4].max(axis=1), every[:4].min(axis=1)
        # Of the kinetic energy, the potential one, the work, and what these balance to.
        (_, *changes, lost), sizes = (high - low).tolist(), np.maximum(high, -low).tolist()
        level, here = max(sizes[:3]), max(sizes[0], *changes)
        largest = max(largest, here)
        allowed = _MISSING * here + _OF_STATES * np.sqrt(here * largest) + _LAST_DIGITS * level
        # Energies beyond all numbers prove nothing.
        proven = bool(lost <= allowed < np.inf)
        if proven and self.features is not None:
            count = len(self.features)
            z, rate = every[4 : 4 + count], every[4 + count :]
            proven = self.features.clear(np.diff(t), z, rate)
        return proven, largest


def looks_of(kernel: AbstractKernel) -> Looks | None:
    """Return what can be looked at; None where that is not smooth, or cannot be compiled."""
    if not (kernel.graph.scalar and heyoka.available()):
        return None
    (t, y, p), features = kernel.arguments, kernel.features
    kinetic, potential, energy, _ = ca.vertsplit(ca.densify(kernel.graph.energies(*kernel.inner)))
    work = y[-1] if kernel.graph.fed else 0
    seen = [kinetic, potential, work, energy - work]
    if features is not None:
        rates = ca.jtimes(features.arguments, ca.vertcat(t, y), ca.vertcat(1, kernel.rhs(t, y, p)))
        seen += [features.arguments, rates]
    one = ca.Function("seen", [t, y, p], [ca.densify(ca.vertcat(*seen))], {"cse": True})
    return None if kinks(one) else Looks(features, one)
