"""Steps of Taylor series that prove themselves: the equation holds at their ends and inside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stationary.solve.ode import Ode

# A step may miss the differential equation by so many parts of what its terms add up to. A series
# that has converged misses it by a few tens of last digits.
_DEFECT = 1e-12

# Numbers below this have lost digits.
_NOTHING = 1e-290

# Last digits of states and times that rounding may have taken.
_LAST_DIGITS = 4.0

# Parts of the largest state below which a defect that stays when a step is shortened is rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Failure:
    """Where steps cease to be proven: which one, the last good instant in it, the first bad one."""

    step: int
    good: float
    bad: float
    defect: np.ndarray


@dataclass(frozen=True, eq=False)
class Series:
    """Consecutive steps.

    Attributes
    ----------
    t : ndarray, shape (steps + 1,)
    h : ndarray, shape (steps,)
        Lengths of the steps, which have more digits than differences of times.
    c : ndarray, shape (steps, states, order + 1)
        Terms of each step's series at its end.
    ends : ndarray, shape (steps + 1, states)
    """

    t: np.ndarray
    h: np.ndarray
    c: np.ndarray
    ends: np.ndarray

    def states(self, step: np.ndarray, since: np.ndarray) -> np.ndarray:
        """Return the states at times since the beginning of steps."""
        made, part = self.c[step, :, -1], (since / self.h[step])[:, None]
        for k in range(self.c.shape[2] - 2, -1, -1):
            made = made * part + self.c[step, :, k]
        return made

    def rates(self, step: np.ndarray, since: np.ndarray) -> np.ndarray:
        """Return the derivatives of the series."""
        last, part = self.c.shape[2] - 1, (since / self.h[step])[:, None]
        made = last * self.c[step, :, last]
        for k in range(last - 1, 0, -1):
            made = made * part + k * self.c[step, :, k]
        return made / self.h[step][:, None]

    def evaluate(self, times: np.ndarray) -> np.ndarray:
        """Return the states at times of these steps."""
        step = np.clip(np.searchsorted(self.t, times, "right") - 1, 0, len(self.c) - 1)
        made = self.states(step, times - self.t[step])
        exact = times == self.t[-1]
        made[exact] = self.ends[-1]
        return made

    def cut(self, failure: Failure) -> Series:
        """Return what comes before a failure."""
        k, good = failure.step, failure.good
        if good <= 0:
            return Series(self.t[: k + 1], self.h[:k], self.c[:k], self.ends[: k + 1])
        end = self.states(np.array([k]), np.array([good]))
        t = np.append(self.t[: k + 1], self.t[k] + good)
        return Series(t, self.h[: k + 1], self.c[: k + 1], np.vstack([self.ends[: k + 1], end]))

    @np.errstate(all="ignore")
    def failure(self, ode: Ode, floor: np.ndarray) -> Failure | None:
        """Return where the differential equation is not satisfied; `floor` is rounding of f."""
        features, steps = ode.kernel.features, len(self.c)
        if not steps:
            return None
        h = self.h
        sizes = np.abs(self.c).sum(axis=2)
        ended = self.c @ np.arange(self.c.shape[2]) / h[:, None]
        z = rate = np.empty((steps + 1, 0))
        if features is None:
            f = np.vstack([self.c[1:, :, 1] / h[1:, None], ode.f(self.t[-1], self.ends[-1])])
            passed = np.zeros(steps, dtype=bool)
        else:
            z, rate, f = features.look(self.t, self.ends, ode.p)
            passed = features.passed(h, z[:-1], rate[:-1], z[1:], rate[1:])
            f = f[1:]
        step, since, defect = np.arange(steps), h, np.abs(ended - f)
        wrong = _wrong(ode, defect, self.t[1:], self.ends[1:], f, sizes / h[:, None], floor)
        # What follows the first step that is wrong anyway need not be looked into.
        passed[int(np.argmax(wrong)) + 1 if wrong.any() else steps :] = False
        if features is not None and passed.any():
            among = np.flatnonzero(passed)
            inside, at = features.inside(ode.p, self.t[:-1], h, z, rate, among, self.states)
            t, y = self.t[inside] + at, self.states(inside, at)
            f = features.look(t, y, ode.p)[2]
            missed = np.abs(self.rates(inside, at) - f)
            off = _wrong(ode, missed, t, y, f, (sizes / h[:, None])[inside], floor)
            step, since = np.concatenate([step, inside]), np.concatenate([since, at])
            wrong, defect = np.concatenate([wrong, off]), np.vstack([defect, missed])
            order = np.lexsort((since, step))
            step, since, wrong, defect = step[order], since[order], wrong[order], defect[order]
        if not wrong.any():
            return None
        first = int(np.argmax(wrong))
        k = int(step[first])
        good = since[first - 1] if first and step[first - 1] == k else 0.0
        return Failure(k, float(good), float(since[first]), defect[first])


def _wrong(
    ode: Ode, defect: np.ndarray, t: np.ndarray, y: np.ndarray, f: np.ndarray, rates: np.ndarray,
    floor: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Tell where a series misses ẏ = f by more than it may and more than rounding makes of f."""
    allowed = _DEFECT * (rates + np.abs(f)) + floor + _NOTHING
    wrong = ~np.all(defect <= allowed, axis=1)
    if wrong.any():
        here = np.flatnonzero(wrong)
        t, y, f = t[here], y[here], f[here]
        noise = np.zeros_like(f)
        for signs in (1.0, (-1.0) ** np.arange(y.shape[1])):
            changed = _evaluated(ode, t + _LAST_DIGITS * np.spacing(np.abs(t)),
                                 y + _LAST_DIGITS * signs * np.spacing(np.abs(y)))  # fmt: skip
            noise = np.maximum(noise, np.abs(changed - f))
        if ode.kernel.features is not None:
            noise += ode.kernel.features.rounding(t, y, ode.p)
        wrong[here] = ~np.all(defect[here] <= allowed[here] + _LAST_DIGITS * noise, axis=1)
    return wrong


def _evaluated(ode: Ode, t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return f at several states."""
    if ode.kernel.features is not None:
        return ode.kernel.features.look(t, y, ode.p)[2]
    return np.array([ode.f(*at) for at in zip(t, y)])


def only_rounded(before: Failure, now: Failure, series: Series) -> bool:
    """Tell whether a defect is rounding of f: it stays when a step is made shorter, and is small.

    The remainder of a series falls with a high power of the step.
    """
    if now.good > 0 or now.step or not np.all(np.isfinite(now.defect)):
        return False
    stays = np.max(now.defect) > 0.1 * np.max(before.defect)
    n = series.ends.shape[1] // 2
    small = True
    for part in (slice(0, n), slice(n, 2 * n), slice(2 * n, None)):
        size = np.abs(series.ends[:, part]).max(initial=0.0)
        small = small and np.all(now.defect[part] * now.bad <= _ROUNDING * size)
    return bool(stays and small)
