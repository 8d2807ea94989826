"""The legs of a motion: between knots of its inputs, switches, peaks and changes of state."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from stationary.lower.branches import Branch
from stationary.lower.inputs import Drives
from stationary.lower.kernel import AbstractKernel
from stationary.lower.rounded_cusps import Rounded, rounded
from stationary.lower.switches import Switches
from stationary.solve.integrators.taylor import Taylor
from stationary.solve.motion.branches import Branches
from stationary.solve.motion.instants import known_instants
from stationary.solve.motion.jumps import Jumps
from stationary.solve.motion.ode import AbstractIntegrator, BlowUp, Ode, Piece

# However smooth a motion begins, it is looked at this many times; once for every output where a
# push may yet come of which a series knows nothing.
_FEWEST_STEPS = 16

# What is integrated otherwise takes steps that are shorter by this where nothing else limits them.
_OTHERWISE = 0.73

# Steps this many times longer than the way on which a branch is left are made again.
_LONG = 100.0

# So often a border is located again, and what is told where there is none after all.
_CLOSER = 8
NO_BORDER = -1

# A way of so many floating point numbers can be divided.
_APART = 1e5

# So many instants to come are looked at, at most.
_LOOKS = 64

# Instants closer than this many floating point numbers are one.
_ONE = 64


@dataclass
class Leg:
    """A stretch with one law: where it begins, the state there if that has changed, who follows."""

    t: float
    ode: Ode
    y: np.ndarray | None
    by: AbstractIntegrator


class Legs:
    """The legs of one run, as far as they are known."""

    def __init__(
        self,
        kernel: AbstractKernel,
        params: np.ndarray,
        drives: Drives,
        grid: np.ndarray,
        tolerances: tuple[float, float],
        closely: bool,
        smooth: bool,
        prove: bool,
        otherwise: bool = False,
    ):
        self.kernel, self.params, self.drives = kernel, params, drives
        self.first, self.last = float(grid[0]), float(grid[-1])
        self.alpha = 0.0
        self._middle = self.first
        # A state that the next leg begins with, other than the last one's end.
        self.changed: np.ndarray | None = None
        self.done: list[Leg] = []
        #: What a status has to say about the law besides.
        self.remark = ""
        self._begun: np.ndarray | None = None
        self._extent: np.ndarray | None = None
        self._tolerances, self._prove, self._otherwise = tolerances, prove, otherwise
        least = len(grid) - 1 if closely else 0
        self._longest = (self.last - self.first) / max(_FEWEST_STEPS, least)
        if otherwise:
            self._longest *= _OTHERWISE
        switches = kernel.switches
        self.knots = drives.knots(self.first, self.last)
        self._jumps = Jumps(kernel) if kernel.graph.timed else None
        self._switch_times, self._near_peaks = self._known(switches)
        #: Whether the next leg may pass knots, at which no more than values p change.
        self.passes_knots = False
        self.branches: Branches | None = None
        # Where methods step over borders themselves, only their instants are of use.
        if smooth and switches is not None and switches.borders and not switches.loose:
            self.branches = Branches(kernel, switches, self.last - self.first)

    def _known(self, switches: Switches | None) -> tuple[np.ndarray, np.ndarray]:
        courses = [] if switches is None else list(switches.courses)
        courses += [] if self._jumps is None else self._jumps.courses
        if not courses:
            return np.empty(0), np.empty(0)
        ends = np.concatenate([[self.first], self.knots, [self.last]])
        parameters = self.kernel.parameters
        return known_instants(courses, self.values, ends, self._longest, parameters)

    @cached_property
    def stops(self) -> np.ndarray:
        """Instants to be met exactly, the last one included."""
        return self._stops(self.knots)

    @cached_property
    def other_stops(self) -> np.ndarray:
        """Those of them at which a leg ends even where it may pass knots."""
        plain = self.branches is None and self._jumps is None
        return self._stops(np.empty(0)) if plain else self.stops

    def _stops(self, knots: np.ndarray) -> np.ndarray:
        if not (len(knots) or len(self._switch_times) or len(self._near_peaks)):
            return np.array([self.last])
        stops = np.append(knots, self.last)
        for more in (self._switch_times, self._near_peaks):
            if len(more):
                room = _ONE * np.spacing(np.maximum(np.abs(more), np.abs(self.last)))
                at = np.searchsorted(stops, more)
                after = np.abs(stops[np.minimum(at, len(stops) - 1)] - more)
                before = np.abs(stops[np.maximum(at - 1, 0)] - more)
                stops = np.union1d(stops, more[np.minimum(before, after) > room])
        apart = np.append(np.diff(stops) > _ONE * np.spacing(np.abs(stops[1:])), True)
        return stops[apart]

    @property
    def peaks(self) -> frozenset[float]:
        """Instants in and around narrow peaks."""
        return frozenset(self._near_peaks.tolist())

    def values(self, t: float) -> np.ndarray:
        """Return the vector p from time t on."""
        if not self.kernel.signature and not self.kernel.rows:
            return self.params
        last = [self.alpha] if self.kernel.rows else []
        return np.concatenate([self.params, self.drives.slots(t), last])

    def _course(self) -> Callable[[np.ndarray], np.ndarray]:
        """Return the vector p from several times on, one row each, as a function of these."""
        params, last = self.params, np.array([self.alpha] if self.kernel.rows else [])

        def course(t: np.ndarray) -> np.ndarray:
            fixed = (np.tile(x, (len(t), 1)) for x in (params, last))
            return np.hstack([next(fixed), self.drives.every(t), next(fixed)])

        return course

    def ode(self, t: float) -> Ode:
        """Return the equation that holds from time t on."""
        p, kernel = self.values(t), self.kernel
        passing = self.passes_knots and bool(len(self.knots))
        stride = None
        if self.branches is not None:
            p, kernel = self.branches.values(p), self.branches.now
            stride = 2 if self.branches.watching else None
        # Beyond a switch, or a sample, there is another law.
        changes = [self._switch_times] * (self.branches is not None) + [self.knots] * (not passing)
        last = min([self.last, *(x for every in changes for x in every[every > t][:1])])
        ahead = self.stops[(self.stops > t) & (self.stops <= last)][:_LOOKS]
        peaks = ahead if len(self._near_peaks) and len(ahead) else None
        return Ode(
            kernel, p, *self._tolerances, self._longest, self._prove, stride,
            extent=self._extent, peaks=peaks, last=last,
            course=self._course() if passing else None, knots=self.knots if passing else None,
            otherwise=self._otherwise,
        )  # fmt: skip

    def seen(self, y: np.ndarray) -> None:
        """Note a state that the motion has come to."""
        if self._begun is None:
            self._begun = np.concatenate([y[: self.kernel.size], np.zeros(len(y))])[: len(y)]
        far = np.abs(y - self._begun)
        self._extent = far if self._extent is None else np.maximum(self._extent, far)

    @property
    def watching(self) -> bool:
        """Whether states inside a step may end it."""
        return self.branches is not None and self.branches.watching

    def enter(self, t: float, until: float, y: np.ndarray) -> None:
        """Begin a leg that ends at a known instant."""
        self._middle = (t + until) / 2
        if self.branches is not None:
            self.branches.enter(t, until, y, self.values(t))

    def extra(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return the state at the first or last instant with the work that it alone asks for."""
        if self._jumps is None:
            return y
        middle = (t + self.stops[0]) / 2 if t == self.first else self._middle
        extra = self._jumps.extra(t, middle, y, self.values(t))
        return np.append(y[:-1], y[-1] + extra) if extra else y

    def over(self, t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the state at a known instant, and the one after it, with what jumps in time."""
        if self._jumps is None or t not in self._switch_times:
            return y, y
        ahead = self.stops[np.searchsorted(self.stops, t, "right")]
        shown, y = self._jumps.over(t, (self._middle, (t + ahead) / 2), y, self.values(t))
        self.changed = y
        return shown, y

    def begin(self, t: float, end: float, by: AbstractIntegrator) -> tuple[Ode, float]:
        """Note a leg, and return its equation and its end; only series pass knots."""
        plain = self.branches is None and self._jumps is None
        self.passes_knots = plain and isinstance(by, Taylor)
        ode = self.ode(t)
        self.done.append(Leg(t, ode, self.changed, by))
        self.changed = None
        if len(self.knots) and not self.passes_knots:
            k = int(self.knots.searchsorted(t, "right"))
            end = min(end, float(self.knots[k])) if k < len(self.knots) else end
        return ode, end

    def cut(
        self, piece: Piece, ode: Ode, integrator: AbstractIntegrator
    ) -> tuple[Piece, int | None]:
        """Return a piece as far as its branch holds, and the border that it passes then."""
        if not self.watching:
            return piece, None
        assert self.branches is not None
        p = self.values(piece.t[0])
        left = self.branches.left(piece, p)
        if left is None:
            return piece, None
        t, border = left
        if piece.exact:
            return shortened(piece, t, piece.evaluate(np.array([t]))[0]), border
        # The state where it leaves is as exact as the steps: an interpolation is less so, and of a
        # step that is long beside that way has lost its digits.
        before = max(int(np.searchsorted(piece.t, t)) - 1, 0)
        start, until = float(piece.t[before]), float(piece.t[before + 1])
        begun = piece.evaluate(np.array([start]))[0]
        for _ in range(_CLOSER):
            long = until - start > _LONG * (t - start) > _LONG * _APART * np.spacing(abs(t))
            off, y = 0, begun
            if long:
                until = start + 2 * (t - start)
            else:
                y = _reached(ode, integrator, start, begun, t)
                # Behind its border a side may have a pole, of which no interpolation knows.
                off = self.branches.off(border, t, y, start, begun, p)
                # A state before its border has not passed it, whatever an interpolation says.
                passed = border if off <= 0 or t == piece.t[0] else NO_BORDER
                if off == 0 or not start < t < until:
                    return shortened(piece, t, y), passed
                start, begun, until = (start, begun, t) if off < 0 else (t, y, until)
                if until - start <= _APART * np.spacing(abs(until)):
                    return shortened(piece, t, y), passed
            left = self._once_more(ode, integrator, start, begun, until, p)
            if left is not None:
                t, border = left
            elif long:
                until = t
            else:
                # What an interpolation has passed may not be passed: from here again.
                return shortened(piece, t, y), border if off < 0 else NO_BORDER
        return shortened(piece, t, _reached(ode, integrator, start, begun, t)), border

    def _once_more(
        self, ode: Ode, by: AbstractIntegrator, t: float, y: np.ndarray, until: float, p: np.ndarray
    ) -> tuple[float, int] | None:
        """Return when a way leaves the branch, and by which border, by a closer look at it."""
        assert self.branches is not None
        ways = by.pieces(replace(ode, stride=None), t, y, until, grid=np.empty(0), dense=True)
        try:
            return next((left for way in ways if (left := self.branches.left(way, p))), None)
        except BlowUp:
            return None

    def change(self, t: float, border: int, y: np.ndarray) -> np.ndarray:
        """Pass a border of the branch; return the state, put onto it if it stays there."""
        assert self.branches is not None
        if border == NO_BORDER:
            return y
        y = self.branches.change(t, border, y, self.values(t))
        if self.branches.stated and self.branches.hovers(t):
            # As it is stated the law needs no branches: they only spare it some error.
            self.branches = None
        return y

    @property
    def stays(self) -> bool:
        """Whether a border has held the state somewhere."""
        return any(isinstance(leg.ode.kernel, Branch) and leg.ode.kernel.on for leg in self.done)

    def rates(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Return the rates of states at times, each by the law of its leg."""
        starts = np.array([leg.t for leg in self.done])
        which = np.maximum(np.searchsorted(starts, times, "right") - 1, 0)
        return np.array([self.done[k].ode.f(t, y) for k, t, y in zip(which, times, states)])

    @property
    def switched(self) -> bool:
        """Whether sides of borders were held."""
        return any(isinstance(leg.ode.kernel, Branch) for leg in self.done)

    def law(self, within: np.ndarray, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Return rates by the sides held in the legs `within` some times, nan on a border."""
        starts = np.array([leg.t for leg in self.done])
        which = np.maximum(np.searchsorted(starts, within, "right") - 1, 0)
        rates = np.full_like(states, np.nan)
        for k in np.unique(which):
            ode, here = self.done[k].ode, which == k
            if isinstance(ode.kernel, Branch) and not ode.kernel.on:
                every = ode.kernel.rhs(times[here][None, :], states[here].T, ode.p)
                rates[here] = np.asarray(every).T
        return rates

    def restart(self, t: float, until: float, y: np.ndarray) -> None:
        """Go on from a state that an event has changed."""
        if self.branches is not None:
            self.branches.enter(t, until, y, self.values(t))
        self.changed = y

    def whole(self) -> bool:
        """Go on with the law as it is stated, if a side was held that has an end of its own."""
        if self.branches is None or self.branches.stated:
            return False
        self.branches.stated = True
        return True

    def rounded_off(self, t: float, y: np.ndarray) -> bool:
        """Go on with roots of velocities rounded off, if some have come to nothing."""
        if self.branches is not None or isinstance(self.kernel, Rounded):
            return False
        n, ode = self.kernel.size, self.ode(t)
        speeds = np.abs(y[n : 2 * n]) + np.abs(ode.f(t, y)[n : 2 * n]) * (t - self.first)
        if not np.all(np.isfinite(speeds)):
            return False
        kernel = rounded(self.kernel, t, y, ode.p, speeds, self._tolerances[0])
        if kernel is None:
            return False
        self.kernel = kernel
        self.remark = (
            f"; from t = {t:.5g} on, where a speed comes to nothing, its root is rounded off, and "
            "BDF goes on"
        )
        return True

    def between(self, t: float, until: float) -> Iterator[tuple[Leg, float, float]]:
        """Yield the legs between two times, each with where it begins and ends here."""
        k = bisect_right(self.done, t, key=lambda leg: leg.t) - 1
        for i in range(max(k, 0), len(self.done)):
            end = self.done[i + 1].t if i + 1 < len(self.done) else np.inf
            begin = max(t, self.done[i].t)
            if begin >= until:
                return
            yield self.done[i], begin, min(end, until)


def _reached(ode: Ode, by: AbstractIntegrator, t: float, y: np.ndarray, until: float) -> np.ndarray:
    """Return the state at the end of a way."""
    if t < until:
        for step in by.pieces(ode, t, y, until, grid=np.empty(0), dense=False):
            y = step.end
    return y


def shortened(piece: Piece, t: float, y: np.ndarray) -> Piece:
    """Return a piece up to an instant inside it, whose state is known."""
    times = np.append(piece.t[piece.t < t], t)

    def evaluate(ts: np.ndarray) -> np.ndarray:
        states = piece.evaluate(ts)
        states[ts == t] = y
        return states

    def middles() -> tuple[np.ndarray, np.ndarray]:
        assert piece.middles is not None
        states, rates = (x[: len(times) - 1].copy() for x in piece.middles())
        if t not in piece.t:
            # What is left of a step has another middle, where nothing tells the rate.
            states[-1] = piece.evaluate((times[-2:-1] + t) / 2)[0]
            rates[-1] = np.nan
        return states, rates

    steps = max(1, round(piece.steps * (len(times) - 1) / (len(piece.t) - 1)))
    known = None if piece.middles is None else middles
    return replace(piece, t=times, evaluate=evaluate, end=y, steps=steps, middles=known)


def ending(piece: Piece, y: np.ndarray) -> Piece:
    """Return a piece whose last state is another one."""

    def evaluate(times: np.ndarray) -> np.ndarray:
        states = piece.evaluate(times)
        states[times == piece.t[-1]] = y
        return states

    return replace(piece, evaluate=evaluate, end=y)
