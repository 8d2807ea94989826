"""How fast an integration gets on: whether it ends, and whether stability alone makes it slow."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from stationary.solve.inertia import EXAMINE_UP_TO
from stationary.solve.motion.ode import BlowUp, Ode, Stopped

# A run that would take more steps than this is examined for stiffness, after a few.
_MANY_STEPS = 100_000
_FEW = 500

# So many more steps of Runge–Kutta take minutes; so many tell the pace.
_TOO_MANY = 300_000
_RECENT = 2_000

# So many more steps take hours, by any method, and so many where every one of them is looked at
# for changes; so many tell the pace of what is that long.
_ENDLESS = 300_000_000
_ENDLESS_LOOKS = 10_000_000
_LONG = 100_000

# Up to this step times its rate an explicit method follows a decay; one that is this many times
# faster than all that grows or swings is no way to a singularity.
_STABLE = 6.0
_DECAYS = 10.0

# Rates this close to that at which violations decay are that one.
_OWN = 0.1


class Pace:
    """The pace of one run over its span."""

    def __init__(self, first: float, last: float, looks: bool = False):
        self._first, self._last = first, last
        self._most = _ENDLESS_LOOKS if looks else _ENDLESS
        # The rate at which violations decay.
        self.own = 0.0
        self._marks: deque[tuple[float, int]] = deque([(first, 0)])
        self._mark = first, 0

    def note(self, t: float, steps: int) -> None:
        """Note how many steps have led to a time."""
        marks = self._marks
        marks.append((t, steps))
        while marks[1][1] <= steps - _RECENT:
            marks.popleft()

    def slow(self, ode: Ode, y: np.ndarray) -> bool:
        """Tell whether the whole span would take many steps, for the sake of stability alone."""
        t, steps = self._marks[-1]
        gone = t - self._first
        many = steps >= max(_FEW, _MANY_STEPS * gone / (self._last - self._first))
        return many and self._stiff(ode, t, y, gone / steps)

    def require_end(self, ode: Ode, y: np.ndarray) -> None:
        """Stop where the rest would take far too many steps at a pace that stability limits."""
        (began, before), (t, steps) = self._marks[0], self._marks[-1]
        taken = steps - before
        if taken < _RECENT or self._last - t <= _TOO_MANY * (t - began) / taken:
            return
        step = (t - began) / taken
        if self._stiff(ode, t, y, step):
            raise Stopped("stiff", _limited(t, step), t)

    def require_few(self) -> None:
        """Stop where the rest would take hours at the pace of many steps."""
        (began, before), (t, steps) = self._mark, self._marks[-1]
        if steps - before < _LONG:
            return
        self._mark, step = (t, steps), (t - began) / (steps - before)
        if self._last - t > self._most * step:
            more = (self._last - t) / step if step else np.inf
            raise Stopped(
                "endless",
                f"near t = {t:.5g} steps are about {step:.1g} long, as the motion asks for, and "
                f"{more:.1g} more would be needed",
                t,
            )

    def stuck(self, ode: Ode, t: float, y: np.ndarray) -> str:
        """Say that what stops an explicit method is a decay too fast for it, if it is one."""
        few = ode.kernel.states <= 2 * EXAMINE_UP_TO
        rates: Any = _rates(ode, t, y, self.own) if few else np.empty(0)
        fastest = -rates.real.min(initial=0.0)
        step = _STABLE / fastest if fastest > 0 else np.inf
        slower = np.maximum(rates.real, np.abs(rates.imag)).max(initial=0.0)
        decays = fastest > _DECAYS * slower
        return _limited(t, step) if decays and self._last - t > _TOO_MANY * step else ""

    def decays(self, ode: Ode, there: BlowUp) -> bool:
        """Tell whether a decay too fast for an explicit method is what has stopped it."""
        return there.y is not None and bool(self.stuck(ode, there.at, there.y))

    def _stiff(self, ode: Ode, t: float, y: np.ndarray, step: float) -> bool:
        """Tell whether steps are limited by stability: far shorter than the motion asks for."""
        if ode.kernel.states > 2 * EXAMINE_UP_TO:
            return True
        rates = _rates(ode, t, y, self.own)
        if not len(rates):
            return False
        fastest = rates[np.argmin(rates.real)]
        return bool(-fastest.real > max(1 / step, abs(fastest.imag)))


def _limited(t: float, step: float) -> str:
    return (
        f"near t = {t:.5g} stability limits steps to about {step:.1g}, far less than the motion "
        "asks for"
    )


def _rates(ode: Ode, t: float, y: np.ndarray, own: float) -> Any:
    """Return the rates of small changes but for those of violations, which are of our making."""
    slopes = np.asarray(ode.kernel.jacobian(t, y, ode.p))
    if not np.all(np.isfinite(slopes)):
        return np.empty(0)
    rates = np.linalg.eigvals(slopes)
    return rates[np.abs(rates + own) > _OWN * own] if own else rates
