"""The most likely loads, and how far each may be from them before the pushes object."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.optimize import lsq_linear

from stationary.solve.pressure.weighing.measured import Measured
from stationary.solve.pressure.weighing.smooth import Smoothness, smoothness
from stationary.solve.pressure.weighing.stated import Stated

_STEPS = 60
# Feet are pads of these radii at first, in sizes of the part: about pads nothing rests.
_PADS = (0.3, 0.1, 0.03, 0.01)
# How far aside a search looks for less, in standard errors, and how often.
_ASIDE, _ROUNDS = (-3.0, -1.0, -0.3, 0.3, 1.0, 3.0), 5
# What two feet exchange is sampled so often, as long as there are not so many motions to find.
_EXCHANGED, _PROBLEMS = 6, 4000
# How many tries an end of an interval has, and within what share of its rise it is one.
_TRIES, _CLOSE = 12, 0.1


@dataclass(frozen=True)
class Fitted:
    """Loads and the friction of the finger; what is left of the pushes, and its slope."""

    load: np.ndarray
    mu: float
    J: np.ndarray
    r: np.ndarray

    @property
    def left(self) -> float:
        """The sum of squares."""
        return float(self.r @ self.r)


@dataclass(frozen=True)
class Search:
    """Least squares over loads that are positive and, without forces, sum up to the weight.

    Their resultant is at the centre, if one is stated. What is `far` counts by the logarithm of its
    distance.
    """

    measured: Measured
    weight: float
    forced: bool
    far: float = np.inf
    centre: tuple[float, float] | None = None

    @cached_property
    def stated(self) -> Stated:
        """What the loads keep to."""
        measured, moments = self.measured, None
        if self.centre is not None:
            places = measured.shapes.T @ measured.points
            moments = (places - np.array(self.centre)) / measured.size
        # Without forces nothing tells how much there is in all.
        weight = None if self.forced else self.weight
        return Stated.of(measured.shapes.shape[1], weight, moments)

    def ways(self, columns: int) -> np.ndarray:
        """Return the changes of the unknowns that are free, one per column."""
        return self.stated.ways(columns)

    def fitted(self, first: Fitted | None = None) -> Fitted:
        """Minimize what is left of the motions, from even loads and from loads in balance.

        Where a motion is one about a foot it does not change with the loads, and a search may end
        there. Feet are pads at first, and these shrink.
        """
        measured = self.measured
        starts = self.starts()
        starts += [(first.load, first.mu)] if first is not None else []
        if measured.bends is not None:
            return self._smoothed(starts)
        plain = starts
        for pad in _PADS:
            padded = replace(self, measured=measured.padded(pad))
            ends = [padded.descended(_inner(load), mu, 1e-3) for load, mu in starts]
            best = min(ends, key=lambda f: f.left)
            starts = [(best.load, best.mu)]
        ends = [self.descended(_inner(load), mu) for load, mu in starts]
        if min(f.left for f in ends) > measured.much:
            ends += [self.descended(_inner(load), mu) for load, mu in plain]
        best = min(ends, key=lambda f: f.left)
        return best if measured.relative else self._beside(best)

    def _smoothed(self, starts: list[tuple[np.ndarray, float]]) -> Fitted:
        """Minimize what is left, as smooth as the motions say."""
        measured = self.measured
        measured.stiffness = measured.expected_stiffness
        ends = [self.descended(_inner(load), mu, 1e-3) for load, mu in starts]
        best = min(ends, key=lambda f: f.left)
        for _ in range(_ROUNDS):
            before = measured.stiffness
            measured.stiffness = self.smoothness(best)[0].likeliest
            if abs(np.log(measured.stiffness / before)) < 0.3:
                break
            best = self.descended(_inner(best.load), best.mu, 1e-3)
        return self.descended(best.load, best.mu)

    def smoothness(self, fit: Fitted) -> tuple[Smoothness, np.ndarray]:
        """Return how smooth a pressure is, from what is left, and the ways of its unknowns."""
        measured, count = self.measured, len(fit.load)
        bent, slope = measured.bent(fit.load)
        columns = fit.J.shape[1]
        slope = np.pad(slope, ((0, 0), (0, columns - count)))
        size = np.append(np.full(count, fit.load.sum() / count), 1.0)[:columns]
        ways = size[:, None] * self.ways(columns)
        depends = np.any(measured.motions(fit.J), axis=1)
        r, J = measured.motions(fit.r)[depends], measured.motions(fit.J)[depends]
        return smoothness(r, J @ ways, bent, slope @ ways, not measured.relative), ways

    def starts(self) -> list[tuple[np.ndarray, float]]:
        """Return loads in balance and even ones, and a friction of the finger."""
        measured = self.measured
        count = measured.shapes.shape[1]
        mu = measured.mu if np.isfinite(measured.mu) else 0.3
        mu = 0.3 if measured.wants_friction else mu
        even = np.full(count, 1 / count)
        return [(self.weight * _inner(share), mu) for share in (measured.balanced(mu), even)]

    def _beside(self, best: Fitted) -> Fitted:
        """Look aside for less: a search stops where a foot rests."""
        for _ in range(_ROUNDS):
            loads, left = self.around(best)
            if not len(left) or left.min() >= best.left:
                break
            lower = self.descended(loads[left.argmin()], best.mu)
            if not lower.left < best.left * (1 - 1e-9):
                break
            best = lower
        return best

    def around(self, best: Fitted) -> tuple[np.ndarray, np.ndarray]:
        """Return loads around and what is left under them.

        Some standard errors aside in every direction, and what two feet exchange, up to all of it.
        """
        load, total, count = best.load, float(best.load.sum()), len(best.load)
        # Forces tell the sum well; what is not known is where it is.
        ways = replace(self, forced=False).ways(count)
        _, s, V = np.linalg.svd(best.J[:, :count] @ ways * total, full_matrices=False)
        spread = total * np.minimum(1 / np.maximum(s, 1e-300), 0.1)
        places = [load + aside * d * way for d, way in zip(spread, V @ ways.T) for aside in _ASIDE]
        pairs = [(i, j) for i in range(count) for j in range(count) if i != j]
        several = _PROBLEMS // max(len(self.measured.pushes) * len(pairs), 1)
        one = np.eye(count)
        for i, j in pairs:
            # What others must do for the two is part of the exchange.
            way = ways @ (ways.T @ (one[i] - one[j]))
            falls = way < -1e-9
            room = float((load[falls] / -way[falls]).min(initial=np.inf))
            for share in np.linspace(0, 1, min(several, _EXCHANGED) + 1)[1:] if falls.any() else ():
                places.append(load + share**2 * room * way)
        rounding = 1e-12 * total
        loads = np.array([load, *(np.maximum(p, 0.0) for p in places if np.all(p >= -rounding))])
        return loads, self.measured.squares(loads, best.mu)

    def _at(self, load: np.ndarray, mu: float) -> Fitted:
        r, J = self.measured.residuals(load, mu, self.far)
        return Fitted(load, mu, J, r)

    def descended(
        self, load: np.ndarray, mu: float, fine: float = 1e-12, held: int | None = None
    ) -> Fitted:
        """Minimize by Gauss and Newton's method, damped; one entry may be held."""
        count, stated = len(load), self.stated
        load = stated.kept(load, held)
        if self.forced and held is None:
            load = load * self.measured.first_scale(load, mu)
        here, damping = self._at(load, mu), 1e-3
        columns = here.J.shape[1]
        free = np.array([k for k in range(columns) if k != held])
        kept = np.pad(stated.rows, ((0, 0), (0, columns - count)))[:, free]
        for _ in range(_STEPS if len(free) else 0):
            now = np.append(here.load, here.mu)[:columns]
            scale = np.append(np.full(count, here.load.sum() / count), 0.3)[free]
            A, b = here.J[:, free] * scale, -here.r
            size = float(np.abs(A).max()) or 1.0
            if len(b) > 3 * columns:
                # As many rows as columns tell the same.
                R = np.asarray(np.linalg.qr(np.column_stack([A, b]), mode="r"))
                A, b = R[:, :-1], R[:, -1]
            rows, right = [A, damping * size * np.eye(len(free))], [b, np.zeros(len(free))]
            rows.append(1e3 * size * kept)
            right.append(1e3 * size * (stated.right - stated.rows @ here.load) / scale[0])
            low = np.minimum(-now[free] / scale, -1e-300)
            step = lsq_linear(np.vstack(rows), np.concatenate(right), (low, np.inf),
                              method="bvls").x  # fmt: skip
            new = now.copy()
            new[free] = np.maximum(now[free] + step * scale, 0.0)
            there = None
            if new[:count].sum() > 0:
                new[:count] = stated.kept(new[:count], held)
                there = self._at(new[:count], float(new[count]) if columns > count else mu)
            small = float(np.abs(step).max())
            if there is not None and there.left <= here.left * (1 + 1e-12):
                gain, here = here.left - there.left, there
                damping = max(damping / 30, 1e-12)
                if small < fine or (small < 1e-6 and gain <= 1e-11 * here.left):
                    break
            else:
                damping *= 8
                if damping > 1e6 or small < 1e-12:
                    break
        return here

    def reach(self, best: Fitted, covariance: np.ndarray, k: int, way: float, rise: float,
              around: tuple[np.ndarray, np.ndarray]) -> float:  # fmt: skip
        """Return how far load k goes one way until what is left has grown by `rise`.

        Others follow it: the likelihood ratio. Where motions follow loads straight on this is
        what the covariance says; near loads at which a foot comes to rest it is not.
        """
        count = len(best.load)
        start = float(best.load[k])
        room = self.stated.room(best.load, k, way)
        follow = covariance[k] / covariance[k, k]
        inner, outer, far = 0.0, room, float(np.sqrt(rise * covariance[k, k]))
        near, low, high = best, 0.0, np.inf
        beyond = way * (around[0][:, k] - start)
        likely = np.flatnonzero((around[1] <= best.left + rise) & (beyond > far))
        for j in likely[np.argsort(-beyond[likely])]:
            # Not all that is likely hangs together: begin at what is farthest away. What is left
            # there is known roughly, no more than it is.
            there = self._at(around[0][j], best.mu)
            if there.left <= best.left + rise:
                inner, low = float(beyond[j]), max(there.left - best.left, 0.0)
                near, far = there, 1.2 * inner
                break
        for _ in range(_TRIES):
            far = min(far, room)
            if not room > 0 or outer - inner <= 1e-3 * far:
                break
            theta = np.append(near.load, near.mu)[: len(follow)]
            theta = theta + follow * (start + way * far - theta[k])
            load = np.maximum(theta[:count], 1e-9 * best.load.sum())
            load[k] = start + way * far
            mu = float(theta[count]) if len(follow) > count else best.mu
            followed = self.descended(load, max(mu, 0.0), 1e-3, held=k)
            grown = followed.left - best.left
            if abs(grown - rise) <= _CLOSE * rise:
                # What is left grows as the square of the way.
                return min(far * float(np.sqrt(rise / grown)), room)
            if grown < rise:
                inner, low, near = far, max(grown, 0.0), followed
                if far >= room:
                    return room
            else:
                outer, high = far, grown
            if np.isfinite(high):
                a, b, c = np.sqrt([low, high, rise])
                share = float(np.clip((c - a) / (b - a), 0.15, 0.85))
                far = inner + share * (outer - inner)
            else:
                far = far * float(np.clip(np.sqrt(rise / max(low, 1e-300)), 1.1, 3.0))
        return min(outer if np.isfinite(outer) and inner == 0 else inner or far, room)


def _inner(load: np.ndarray) -> np.ndarray:
    """Return loads of which none is zero: a search at a bound begins slowly."""
    return 0.98 * load + 0.02 * load.mean()
