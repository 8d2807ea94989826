"""Steps of Taylor series that prove themselves: the equation holds at their ends and inside."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stationary.lower.rounding import rounding
from stationary.solve.motion.ode import Ode

# A step may miss the differential equation by so many parts of what its terms add up to, and by so
# many of the sizes of states in its time. A series that has converged misses it by a few tens of
# last digits.
_DEFECT = 1e-12
_REMAINDER = 64 * np.finfo(float).eps

# Steps are evaluated side by side unless that makes so many times as many sums.
_UNEVEN = 4

# Numbers below this have lost digits.
_NOTHING = 1e-290

# Last digits of states and times that rounding may have taken.
_LAST_DIGITS = 4.0

# Parts of the largest state below which a defect may be rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Failure:
    """Where steps cease to be proven: which one, the last good instant in it, the first bad one.

    Attributes
    ----------
    defect : ndarray
        By how much the equation is missed there.
    beyond : ndarray
        How much of it is too much, overlooked or not.
    """

    step: int
    good: float
    bad: float
    defect: np.ndarray
    beyond: np.ndarray


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
    sizes : ndarray, shape (states,)
        Of the states, beside which steps are exact.
    """

    t: np.ndarray
    h: np.ndarray
    c: np.ndarray
    ends: np.ndarray
    sizes: np.ndarray

    def states(self, step: np.ndarray, since: np.ndarray) -> np.ndarray:
        """Return the states at times since the beginning of steps."""
        return _sums(self.c, step, since / self.h[step])

    def rates(self, step: np.ndarray, since: np.ndarray) -> np.ndarray:
        """Return the derivatives of the series."""
        slopes = self.c[:, :, 1:] * (np.arange(1, self.c.shape[2]) / self.h[:, None, None])
        return _sums(slopes, step, since / self.h[step])

    def evaluate(self, times: np.ndarray) -> np.ndarray:
        """Return the states at times of these steps."""
        steps, count = len(self.c), len(times)
        if steps == 1:
            part = np.maximum(np.minimum((times - self.t[0]) / self.h[0], 1.0), 0.0)
            states = powers(part, self.c.shape[2]).T @ self.c[0].T
            states[times == self.t[1]] = self.ends[1]
            return states
        first = times.searchsorted(self.t[:-1])
        first[0] = 0
        counts = np.append(first[1:], count) - first
        most = int(counts.max())
        if most * steps > _UNEVEN * count or np.any(times[1:] < times[:-1]):
            step = self.t[1:-1].searchsorted(times, "right")
            states = self.states(step, times - self.t[step])
        else:
            # All steps side by side, with as many times in each as the fullest has.
            parts = times.take(first[:, None] + np.arange(most), mode="clip") - self.t[:-1, None]
            parts = np.maximum(np.minimum(parts / self.h[:, None], 1.0), 0.0)
            sums = powers(parts, self.c.shape[2]).transpose(1, 2, 0) @ self.c.transpose(0, 2, 1)
            where = np.arange(count) + np.repeat(most * np.arange(steps) - first, counts)
            states = sums.reshape(-1, sums.shape[2]).take(where, axis=0)
        states[times == self.t[-1]] = self.ends[-1]
        return states

    def cut(self, failure: Failure) -> Series:
        """Return what comes before a failure."""
        k, good = failure.step, failure.good
        if good <= 0:
            return replace(
                self, t=self.t[: k + 1], h=self.h[:k], c=self.c[:k], ends=self.ends[: k + 1]
            )
        end = self.states(np.array([k]), np.array([good]))
        t = np.append(self.t[: k + 1], self.t[k] + good)
        ends = np.vstack([self.ends[: k + 1], end])
        return replace(self, t=t, h=self.h[: k + 1], c=self.c[: k + 1], ends=ends)

    def only_rounded(self, ode: Ode, failure: Failure) -> bool:
        """Tell whether a defect is rounding of f, as its operations make it, and is small."""
        step, bad, defect = failure.step, failure.bad, failure.defect
        if not np.all(np.isfinite(defect)):
            return False
        n, y = self.ends.shape[1] // 2, self.states(np.array([step]), np.array([bad]))[0]
        for part in (slice(0, n), slice(n, 2 * n), slice(2 * n, None)):
            size = np.abs(self.ends[:, part]).max(initial=0.0)
            if np.any(defect[part] * bad > _ROUNDING * size):
                return False
        p = ode.values(self.t[step : step + 1])
        lost = rounding(ode.kernel, "rhs", [self.t[step] + bad, y, p if p.ndim == 1 else p[0]])
        return lost is not None and bool(np.all(failure.beyond <= _LAST_DIGITS * lost))

    @np.errstate(all="ignore")
    def failure(
        self, ode: Ode, floor: np.ndarray, overlooked: np.ndarray | float = 0.0
    ) -> Failure | None:
        """Return where the differential equation is not satisfied; `floor` is rounding of f.

        Defects are overlooked that are like those which turned out to be rounding.
        """
        features, steps = ode.kernel.features, len(self.c)
        if not steps:
            return None
        h = self.h
        floor = floor + overlooked + _NOTHING + _REMAINDER * self.sizes / h[:, None]
        terms = self.c.reshape(-1, self.c.shape[2])
        shape, orders = self.c.shape[:2], np.arange(float(terms.shape[1]))
        sizes = (np.abs(terms) @ np.ones_like(orders)).reshape(shape) / h[:, None]
        ended = (terms @ orders).reshape(shape) / h[:, None]
        z = rate = np.empty((steps + 1, 0))
        if features is None:
            f = np.empty_like(ended)
            f[:-1], f[-1] = self.c[1:, :, 1] / h[1:, None], ode.f(self.t[-1], self.ends[-1])
            passed = np.zeros(steps, dtype=bool)
        else:
            z, rate, f = features.look(self.t, self.ends, ode.values(self.t))
            passed = features.passed(h, z[:-1], rate[:-1], z[1:], rate[1:])
            f = f[1:]
        step, since, defect = np.arange(steps), h, np.abs(ended - f)
        allowed = _DEFECT * (sizes + np.abs(f)) + floor
        wrong = _wrong(ode, defect, allowed, self.t[1:], self.ends[1:], f)
        # The next step begins where the series ends, even if rates would be the same elsewhere.
        jump = np.abs((terms @ np.ones_like(orders)).reshape(shape) - self.ends[1:])
        apart = np.any(jump > _REMAINDER * (self.sizes + sizes * h[:, None]), axis=1)
        wrong |= apart
        defect[apart] = np.inf
        # What follows the first step that is wrong anyway need not be looked into.
        passed[int(np.argmax(wrong)) + 1 if wrong.any() else steps :] = False
        if features is not None and passed.any():
            among = np.flatnonzero(passed)
            p = ode.values(self.t[:-1])
            inside, at, left = features.inside(p, self.t[:-1], h, z, rate, among, self.states)
            t, y = self.t[inside] + at, self.states(inside, at)
            f = features.look(t, y, ode.values(t))[2]
            missed = np.abs(self.rates(inside, at) - f)
            enough = _DEFECT * (sizes[inside] + np.abs(f)) + floor[inside]
            off = _wrong(ode, missed, enough, t, y, f)
            if left is not None:
                # Nothing is known of what comes after so many looks.
                later = (inside > left[0]) | (inside == left[0]) & (at >= left[2])
                off |= later
                missed[later] = np.inf
            step, since = np.concatenate([step, inside]), np.concatenate([since, at])
            wrong, defect = np.concatenate([wrong, off]), np.vstack([defect, missed])
            allowed = np.vstack([allowed, enough])
            order = np.lexsort((since, step))
            step, since, wrong = step[order], since[order], wrong[order]
            defect, allowed = defect[order], allowed[order]
        if not wrong.any():
            return None
        first = int(np.argmax(wrong))
        k = int(step[first])
        good = since[first - 1] if first and step[first - 1] == k else 0.0
        beyond = np.maximum(defect[first] - allowed[first] + overlooked, 0.0)
        return Failure(k, float(good), float(since[first]), defect[first], beyond)


def powers(x: np.ndarray, count: int) -> np.ndarray:
    """Return the first powers of numbers, one row each."""
    table = np.empty((count, *x.shape))
    table[0] = 1.0
    known, last = 1, x
    while known < count:
        more = min(known, count - known)
        np.multiply(table[:more], last, out=table[known : known + more])
        known, last = known + more, last * last
    return table


def _sums(terms: np.ndarray, step: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Return the sums of steps' series at parts of the steps."""
    return np.matmul(terms[step], powers(part, terms.shape[2]).T[:, :, None])[:, :, 0]


def _wrong(
    ode: Ode, defect: np.ndarray, allowed: np.ndarray, t: np.ndarray, y: np.ndarray, f: np.ndarray
) -> np.ndarray:
    """Tell where a series misses ẏ = f by more than it may and more than last digits make of f."""
    right = defect <= allowed
    if right.all():
        return np.zeros(len(right), dtype=bool)
    wrong = np.logical_not(np.all(right, axis=1, keepdims=True))[:, 0]
    if wrong.any():
        here = np.flatnonzero(wrong)
        t, y, f = t[here], y[here], f[here]
        noise = np.zeros_like(f)
        for signs in (1.0, (-1.0) ** np.arange(y.shape[1])):
            changed = _evaluated(ode, t + _LAST_DIGITS * np.spacing(np.abs(t)),
                                 y + _LAST_DIGITS * signs * np.spacing(np.abs(y)))  # fmt: skip
            noise = np.maximum(noise, np.abs(changed - f))
        if ode.kernel.features is not None:
            noise += ode.kernel.features.rounding(t, y, ode.values(t))
        wrong[here] = ~np.all(defect[here] <= allowed[here] + _LAST_DIGITS * noise, axis=1)
    return wrong


def _evaluated(ode: Ode, t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return f at several states."""
    if ode.kernel.features is not None:
        return ode.kernel.features.look(t, y, ode.values(t))[2]
    return np.array([ode.f(*at) for at in zip(t, y)])
