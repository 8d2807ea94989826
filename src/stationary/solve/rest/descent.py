"""Down to a minimum of the energy, along the constraints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stationary.solve.linear import SOFTEST, Saddle, dense
from stationary.solve.newton import FAR, MOST_STEPS, Ending, Place

# So often a long slope is gone down in strides after those; the least, beside what they came by.
_MOST_STRIDES, _LEAST_STRIDE = 6, 0.05

# A step may change energy and slope by this much more or less than its quadratic model says: one
# that goes by luck to a lower place beyond the next hill does not.
_AGREES = 0.5
_LOOKS = (1.0, 0.5, 0.75, 0.25, 0.875, 0.625, 0.375, 0.125)

# A step may violate bent constraints by this share of what they change over their own radius, and
# every correction that brings it back is at most this share of the one before.
_BENDS = 0.5
_MOST_CORRECTIONS = 60

# Directions this many times as stiff as a step's own bend it as a rod does; by at most this share,
# and how often they are corrected.
_RIGID, _DRIFTS, _MOST_DRIFTS = 30.0, 0.5, 12

# Rounding of an energy, relative to what it is summed of.
_NOISE = 1e-13


@dataclass
class Descent:
    """Newton's method for a minimum: down the energy, along the constraints.

    From a place that satisfies the constraints every step goes along their tangent and is brought
    back onto them. Negative curvature is turned round. A step is shortened where energy and slope
    are not as the quadratic model says, or where constraints bend more than a step can follow: what
    is found is where a slow descent from the start would come to rest.
    """

    lengths: np.ndarray
    rise: Callable[[np.ndarray, np.ndarray], float]
    settled: Callable[[Place], bool]
    bends: Callable[[Place], np.ndarray]
    reached: Callable[[np.ndarray, np.ndarray], bool]
    tick: Callable[[], None]
    #: What is added to the stiffness, and a large system's matrix of a step and its place.
    stiffer: float = 0.0
    model: Saddle | None = None
    at: Any = None

    @np.errstate(over="ignore", invalid="ignore")
    def run(self, place: Place) -> tuple[Place, Ending]:
        """Return where no descent is left that is more than rounding, and how that came."""
        start, ending = place.q, Ending.TOO_MANY_STEPS
        for _ in range(_MOST_STRIDES):
            begin = place.q
            place, ending = self._descended(place, start)
            further = None
            if ending is Ending.TOO_MANY_STEPS:
                further = self._stride(begin, place, start)
            if further is None:
                break
            place = further
        return place, ending

    def _descended(self, place: Place, start: np.ndarray) -> tuple[Place, Ending]:
        """Go down by steps."""
        for _ in range(MOST_STEPS):
            self.tick()
            if not place.finite or not np.all(np.isfinite(place.H.data)):
                return place, Ending.NOT_FINITE
            if np.linalg.norm((place.q - start) / self.lengths) > FAR:
                return place, Ending.UNBOUNDED
            there = self._step(place.with_multipliers())
            if there is None:
                return place, Ending.BALANCED
            place = there
        return place, Ending.TOO_MANY_STEPS

    def _stride(self, begin: np.ndarray, place: Place, start: np.ndarray) -> Place | None:
        """Go on straight ahead as long as all of it falls as the steps before have done.

        A long slope with ripples shows a step no more than a ripple. None where it falls otherwise.
        """
        way, fallen, further = place.q - begin, self.rise(begin, place.q), None
        share = 0.0 if place.frame.m or not np.any(way) else 1.0
        while share > _LEAST_STRIDE:
            looks = [place.moved(share * part * way, place.lam) for part in sorted(_LOOKS)]
            rise = self.rise(place.q, looks[-1].q)
            falls = all(there.finite and float(there.force @ way) < 0 for there in looks)
            falls = falls and np.linalg.norm((looks[-1].q - start) / self.lengths) <= FAR
            if falls and abs(rise - share * fallen) <= _AGREES * abs(share * fallen):
                place, share = looks[-1], 2 * share
                further = place
            else:
                share /= 2 if further is None else 4
        return further

    def _step(self, place: Place) -> Place | None:
        """Return a lower place, or None where nothing is lower by more than rounding."""
        ways = self._small(place) if place.frame.small else self._large(place)
        noise = self._noise(place)
        for d, modes in ways:
            if not np.all(np.isfinite(d)):
                continue
            slope = float(place.force @ d)
            if -slope <= 4 * noise or self.reached(place.q, d):
                return None
            if self._agrees(place, d, noise):
                there = self.onto(place, d)
            else:
                there = self._round_a_bend(place, d, modes, noise)
            if there is None:
                continue
            if self.rise(place.q, there) <= 1e-4 * slope + noise:
                return Place(place.question, there, place.lam, place.active)
        return None

    def _noise(self, place: Place) -> float:
        """Return the rounding of the energy."""
        at_work = np.abs(place.force) + abs(place.A).T @ np.abs(place.lam)
        return _NOISE * (abs(place.energy) + float(at_work @ np.abs(place.q)))

    def _small(self, place: Place):
        """Yield steps, the longest first; each by the stiffness it has along its own directions."""
        Z = place.frame.rows.tangent
        if not Z.shape[1]:
            return
        H = dense(place.H)
        reduced = Z.T @ H @ Z
        values, turned = np.linalg.eigh((reduced + reduced.T) / 2)
        vectors = Z @ turned
        slopes = vectors.T @ place.force
        floor = SOFTEST * (np.abs(H).sum(axis=0) @ vectors**2)
        stiff = np.maximum(np.abs(values), floor)
        # The least floor is that of steps as long as the statement's lengths, times a million.
        least = max(float(np.abs(slopes).max()) * 1e-6, 1e-300)
        stiff = np.maximum(stiff, least)
        self.stiffer = self.stiffer / 64 if self.stiffer > stiff.min() else 0.0
        for _ in range(60):
            yield -vectors @ (slopes / np.maximum(stiff, self.stiffer)), (stiff, vectors)
            self.stiffer = 4 * max(self.stiffer, float(stiff.min()))

    def _large(self, place: Place):
        """Yield steps, the longest first, by factors of the stiffness made positive."""
        frame, nothing = place.frame, np.zeros(len(place.frame.kept))
        saddle = Saddle(place.H, frame.independent)
        weights = 1 / self.lengths**2
        slope = place.force - place.A.T @ place.lam
        most = float(np.abs(slope * self.lengths).max())
        if not most:  # Nothing pushes: there is no way down, however soft it is made.
            return
        own = float((saddle.stiffness * self.lengths**2).max(initial=0.0))
        # What has no stiffness of its own is held by as little of the largest: factors exist.
        softest = SOFTEST * np.where(saddle.stiffness > 0, saddle.stiffness, own * weights)
        by = self.stiffer / 64
        if by < 1e-10 * max(own, most):
            by = 0.0
        for _ in range(40):
            extra = softest + by * weights
            trial = saddle.shifted(extra)
            if trial.negative == 0:
                d = trial.solve(-place.force, nothing)[0]
                self.stiffer, self.model, self.at = by, trial, place.q
                for _ in range(4):
                    yield d, None
                    d = d / 2
            by = 8 * by if by else max(1e-4 * own, 1e-6 * most)

    def _agrees(self, place: Place, d: np.ndarray, noise: float) -> bool:
        """Tell whether energy and slope along a step are as the quadratic model says."""
        first, second = float(place.left @ d), float(d @ (place.H @ d))
        bent = self.bends(place)
        for share in _LOOKS if place.frame.small else (1.0, 0.5):
            there = place.moved(share * d, place.lam)
            if not there.finite or np.any(np.abs(there.c - place.c) > _BENDS * bent):
                return False
            rise = self.rise(place.q, there.q) - float(place.lam @ (there.c - place.c))
            model = share * first + share**2 / 2 * second
            expected = share * abs(first) + share**2 / 2 * abs(second)
            if not abs(rise - model) <= _AGREES * expected + noise:
                return False
            slope, foretold = float(there.left @ d), first + share * second
            if not abs(slope - foretold) <= _AGREES * max(abs(first), abs(foretold)) + noise:
                return False
            # On the way it goes down: no hill is stepped over.
            if share < 1 and slope > max(foretold, 0.0) + noise:
                return False
        return True

    def _round_a_bend(self, place: Place, d: np.ndarray, modes, noise: float) -> np.ndarray | None:
        """Return where a step ends that keeps to a narrow valley, as one of a stiff rod's length.

        What is far stiffer than the step's own way is balanced again at its end. Along the whole of
        it energies are as the model says, so that no hill is stepped over.
        """
        if modes is None:
            return None
        first, second = float(place.left @ d), float(d @ (place.H @ d))
        rigid = modes[0] > _RIGID * max(-first, second) / float(np.sum((d / self.lengths) ** 2))
        if not rigid.any() or rigid.all():
            return None
        ends = None
        for share in (1.0, 0.5, 0.75, 0.25):
            there = self._followed(place, share * d, modes[0][rigid], modes[1][:, rigid])
            if there is None:
                return None
            rise, model = self.rise(place.q, there), share * first + share**2 / 2 * second
            expected = share * abs(first) + share**2 / 2 * abs(second)
            if not abs(rise - model) <= _AGREES * expected + noise:
                return None
            ends = there if ends is None else ends
        return ends

    def _followed(self, place: Place, d, stiff, vectors) -> np.ndarray | None:
        """Return the end of a step with what is stiff in balance there.

        None where corrections do not become shorter, or bend the step by too much.
        """
        longest, added = _DRIFTS * float(np.linalg.norm(d / self.lengths)), np.zeros_like(d)
        enough = 1e-3 * longest**2
        for _ in range(_MOST_DRIFTS):
            q = self.onto(place, d + added)
            there = None if q is None else Place(place.question, q, place.lam, place.active)
            if there is None or not there.finite:
                return None
            move = -vectors @ ((vectors.T @ there.with_multipliers().left) / stiff)
            size = float(np.linalg.norm(move / self.lengths))
            if not size <= longest:
                return None
            added, longest = added + move, _DRIFTS * size
            if size <= enough:
                return self.onto(place, d + added)
        return None

    def onto(self, place: Place, d: np.ndarray) -> np.ndarray | None:
        """Return where a step ends on the constraints; None where it does not follow their bend."""
        if not place.frame.m:
            return place.question.moved(place.q, d)
        q, back, fresh = place.question.moved(place.q, d), self._back(place), False
        longest = float(np.linalg.norm(d / self.lengths))
        for _ in range(_MOST_CORRECTIONS):
            there = Place(place.question, q, place.lam, place.active)
            if not np.all(np.isfinite(there.c)):
                return None
            if self.settled(there):
                return q
            move = back(there.c)
            size = float(np.linalg.norm(move / self.lengths))
            small = np.all(np.abs(move) <= np.spacing(np.abs(q)))
            if small or not size <= longest:
                # With the rows of that place: some may say something new there, or bend.
                if fresh or not there.finite:
                    return None
                back, fresh = self._back(there), True
                continue
            q, longest = place.question.moved(q, move), max(_BENDS * size, 1e-300)
            fresh = False
            if place.frame.small:
                back, fresh = self._back(Place(place.question, q, place.lam, place.active)), True
        return None

    def _back(self, place: Place) -> Callable[[np.ndarray], np.ndarray]:
        """Return the corrections of violations: least moves, or those that cost least energy."""
        frame = place.frame
        if frame.small or self.model is None:
            return frame.correction
        model = self.model if self.model.m == len(frame.kept) and place.q is self.at else None
        saddle = model or Saddle(self.model.H, frame.independent)
        return lambda c: saddle.solve(np.zeros(frame.n), -c[frame.kept])[0]
