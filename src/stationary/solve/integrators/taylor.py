"""Taylor series of high order: the default for smooth motions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from math import frexp, isfinite, ulp
from typing import Any

import numpy as np

from stationary.errors import MissingExtra, StatementError, spelled
from stationary.lower.engines import heyoka
from stationary.lower.kernel import AbstractKernel
from stationary.solve.integrators.series import Series, powers
from stationary.solve.motion.ode import AbstractIntegrator, BlowUp, Ode, Piece

# Steps between two looks at the clock and the keyboard, fewer where a state has many entries; so
# few are looked into together after a failure.
_CHUNK = 500
_TOGETHER = 50_000
_FEW = 8

# To note a step, for a look at its end, takes a tenth of the step in equations of so many
# operations, and twice the step in the smallest: these are looked at on a compiled grid, for 3 to
# 10 % of a run, 15 % of one shorter than 0.3 ms, 20 % of a pendulum's thousands of steps.
_NOTED_FROM = 250

# Steps that are proven together on such a grid, and for how many more it is laid out. For every
# step there is a look; where two have to do for three, these are made again with more.
_AHEAD = 2000
_LAID_OUT = 2.0
_SCARCE = 1.5

# Each term of a series should be about e⁻² times the one before it: those of its second half are
# nothing beside this part of the first.
_LATE = 1e-3

# The step over the reach of the series, as an integrator chooses it (Jorba & Zou).
_LONGEST = np.exp(-2.0)

# Steps whose length tells how fast a motion is.
_FIRST_FEW = 6

# Steps from here to one over it are taken in the unit that they are given in.
_USUAL = 1e-4

# States beyond these have no size: one over it, and powers of steps times it, are no numbers.
_BELOW, _BEYOND = 1e-250, 1e250

# Sizes of another motion beyond this, or below one over it, are nothing to begin with: powers of
# what is divided by them may be no numbers.
_FAR = 1e30

# Sizes are larger by this power of two, and what is left off a series with them, where it shall end
# otherwise: steps are longer by a tenth.
_COARSE = 8.0

# States of a stretch that tell how large they are.
_LOOKS = 16

# Sizes are measured again where states outgrow them by this much.
_GROWN = 4.0

# States that came out this much smaller than was assumed have been integrated in the dark.
_DARK = 0.1

# Defects that are rounding vary by less than this.
_ABOVE = 10.0

# So many steps that fail have to have brought this part of the way.
_MOST_FAILURES = 100
_SLOWEST = 1e-2

# A step this many times smaller than the spacing of floating point numbers leads nowhere.
_STALLED = 4.0


@spelled
@dataclass(frozen=True)
class Taylor(AbstractIntegrator):
    """Taylor series to rounding, whatever the tolerances: order and step adapt to the motion.

    Needs smooth forces. Fastest for all but stiff systems, most of all where heyoka is installed,
    which compiles the series; elsewhere CasADi runs them.

    References
    ----------
    F. Biscani, D. Izzo, Revisiting high-order Taylor methods for astrodynamics and celestial
    mechanics, MNRAS 504 (2021) 2614, section 2.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> free = st.System(kinetic=x.dot**2 / 2)
    >>> st.simulate(free, span=(0, 2), start={x.dot: 3.0}, method=st.Taylor())[x][-1]
    np.float64(6.0)
    """

    def pieces(
        self, ode: Ode, t: float, y: np.ndarray, end: float, *, grid: np.ndarray, dense: bool
    ) -> Iterator[Piece]:
        """Integrate; see `AbstractIntegrator`."""
        integrators = self._engine(ode)
        first = integrators.lock.acquire(blocking=False)
        try:
            stepper = _Stepper(ode, integrators, alone=first)
            short = stepper.start(t, y)
            small = ode.kernel.rhs.n_instructions() < _NOTED_FROM
            plain = not dense and not ode.prove and ode.course is None
            if small and plain and ode.kernel.looks is not None:
                yield from _on_grid(stepper, end, grid, short)
            else:
                yield from _walk(stepper, end, short, dense)
        finally:
            if first:
                integrators.lock.release()

    def first_steps(self, ode: Ode, t: float, y: np.ndarray) -> float:
        """Return the length of the shortest of the first few steps."""
        lengths, integrators = [ode.longest], self._engine(ode)
        with integrators.lock:
            stepper = _Stepper(ode, integrators)
            stepper.start(t, y)
            for _ in range(_FIRST_FEW):
                stepper.code.step(stepper.longest)
                h = stepper.code.last_h * stepper.unit
                if not np.isfinite(h) or not np.all(np.isfinite(stepper.code.state)):
                    break
                lengths.append(h)
        return min(x for x in lengths if x > 0)

    @staticmethod
    def _engine(ode: Ode) -> Any:
        """Return what integrates, or say why there are no series."""
        if not ode.kernel.graph.scalar:
            raise StatementError(
                "st.Taylor() cannot compile a system of this size.",
                f"Found {ode.kernel.size} coordinates.",
                'Use method="auto", st.Runge() or st.BDF().',
            )
        if ode.kernel.kinks:
            raise StatementError(
                "st.Taylor() needs smooth forces.",
                f"Found {', '.join(ode.kernel.kinks)} in the equations: a series does not see "
                "past a kink or a jump.",
                'Use method="auto", st.Runge() or st.BDF().',
            )
        if heyoka.available():
            return ode.kernel.code("heyoka")
        if not ode.kernel.served_by("series"):
            raise MissingExtra(
                "st.Taylor() needs heyoka for a system of this size.",
                f"Found {ode.kernel.rhs.n_instructions()} operations in its equations; heyoka is "
                "not installed: wheels exist for Linux on x86-64 and aarch64.",
                'Use method="auto", st.Runge() or st.BDF().',
            )
        return ode.kernel.code("series")


def has_series(kernel: AbstractKernel) -> bool:
    """Tell whether there are series for a system, and they pay."""
    return kernel.served_by("heyoka") or kernel.served_by("series")


class _Stepper:
    """The integrator of states over their sizes, in a unit of time of its own."""

    def __init__(self, ode: Ode, integrators: Any, *, alone: bool = True):
        self.ode, self.lost = ode, integrators.lost
        self._code, self.code = integrators.integrator(alone=alone)
        self.settled = False
        # Those of the motion before: a start measures its own.
        sizes, unit = self._code.sizes()
        usual = all(1 / _FAR < x < _FAR for x in sizes)
        self._set(sizes if usual else [1.0] * len(sizes), unit)

    def start(self, t: float, y: np.ndarray) -> float:
        """Measure sizes and go to the start; return how long the first step may be, at most.

        The step is chosen from the last two coefficients of the series (Jorba & Zou 2005, section
        3.2). At a symmetric instant these can vanish while those before them do not, and the step
        comes out too long: a double pendulum released with both arms level has only every fourth
        coefficient. A start is often such an instant, so that here the whole second half of the
        series has a say.
        """
        # Powers of a step remain numbers: its own unit where those of seconds would not.
        longest = float(self.ode.longest)
        unit = 1.0 if _USUAL < longest < 1 / _USUAL else 2.0 ** frexp(longest)[1]
        if unit != self.unit:
            self._set(self._sizes, unit)
        self.put(t, y)
        self.code.step(self.longest, True)
        series = np.abs(self.code.tc)
        orders, step = _orders(series.shape[1]), self.code.last_h
        known = 0 < step <= self.longest
        reach = step if known else self.longest
        self.pace = reach * unit
        terms = series * reach**orders
        sizes, late = terms.max(axis=1), terms[:, len(orders) // 2 :].max(axis=1)
        longest = np.inf
        if not known or (late > _LATE * sizes).any():
            reach = self._reach(series)
            longest = max(reach * unit, _STALLED * np.spacing(abs(t)))
            sizes = (series * reach**orders).max(axis=1)
        self._measure((sizes * self.sizes).tolist(), [1.0] * len(sizes))
        self.put(t, y)
        return longest

    def _reach(self, series: np.ndarray) -> float:
        """Return the length of a step that the whole second half of its series allows."""
        first = (series[:, :4] * self.longest ** _orders(4)).max(axis=1)
        first[first == 0] = np.inf
        late = _orders(series.shape[1])[series.shape[1] // 2 :]
        with np.errstate(all="ignore"):
            growth = ((series[:, late] / first[:, None]) ** (1 / late)).max()
        # Coefficients beyond all numbers tell no length; the integrator will find that out itself.
        return min(self.longest, _LONGEST / growth) if 0 < growth < np.inf else self.longest

    def _set(self, sizes: list[float], unit: float) -> None:
        self._code.set(self.code, self.ode.p, sizes, unit)
        self._sizes, self.sizes, self.unit = sizes, np.array(sizes), unit
        self.longest = float(self.ode.longest) / unit

    def table(self, p: np.ndarray) -> np.ndarray:
        """Return what the integrator takes for parameters, for each row of values p."""
        return self._code.table(p, self._sizes, self.unit)

    def _measure(self, sizes: list[float], unmeasured: list[float]) -> None:
        """Take these for the sizes of states that move; powers of two, so that nothing rounds."""
        self.known = [_BELOW < x < _BEYOND for x in sizes]
        self.settled = all(self.known)
        more = _COARSE if self.ode.otherwise else 0
        new = [
            2.0 ** (frexp(x)[1] + more) if k else y
            for x, y, k in zip(sizes, unmeasured, self.known)
        ]
        if new != self._sizes:
            self._set(new, self.unit)

    def grown(self, states: np.ndarray) -> bool:
        """Measure sizes anew after some steps; tell whether they were steps in the dark."""
        sizes = np.abs(states[:: 1 + len(states) // _LOOKS]).max(axis=0, initial=0.0)
        sizes = np.maximum(sizes, np.abs(self.state))
        new = ~np.array(self.known) & (sizes > _BELOW)
        away = new | (sizes > _GROWN * self.sizes)
        if not away.any():
            return False
        dark = bool(np.any(new & (sizes < _DARK * self.sizes)))
        t, y = self.time, self.state
        kept = np.where(self.known, self.sizes, 0.0)
        self._measure(np.where(away, sizes, kept).tolist(), self._sizes)
        self.put(t, y)
        return dark

    def put(self, t: float, y: np.ndarray) -> None:
        """Go to a time and a state."""
        self.code.time, self.code.state[:] = t / self.unit, y / self.sizes

    @property
    def time(self) -> float:
        """The time."""
        return self.code.time * self.unit

    @property
    def state(self) -> np.ndarray:
        """The state."""
        return self.code.state * self.sizes


@cache
def _orders(count: int) -> np.ndarray:
    return np.arange(count)


def _on_grid(stepper: _Stepper, end: float, grid: np.ndarray, short: float) -> Iterator[Piece]:
    """Go to the end by steps that looks at them prove: at output times, and at more in between."""
    code, unit, looks = stepper.code, stepper.unit, stepper.ode.kernel.looks
    assert looks is not None
    time, state, pace, largest = stepper.time, stepper.state, stepper.pace, 0.0
    while time < end:
        until = min(end, time + min(short, _LAID_OUT * _AHEAD * pace))
        ahead = grid[: grid.searchsorted(until, "right")]
        times, every = _looked_at(time, ahead, until, pace)
        outcome, smallest, _, taken, _, states = code.propagate_grid(
            times if unit == 1 else times / unit, max_steps=_AHEAD, max_delta_t=stepper.longest
        )
        states *= stepper.sizes
        reached, ended, proven = stepper.time, stepper.state, False
        skip = 0 if len(ahead) and ahead[0] == time else every
        noted = states[skip::every][: len(ahead)]
        if outcome != stepper.lost and not _failed(code, smallest, end / unit):
            mean = (reached - time) / taken
            if taken > max(_SCARCE * len(states), _FEW) and _SCARCE * mean < pace:
                # Steps have become shorter than expected: again, with more looks.
                pace = mean
                stepper.put(time, state)
                continue
            some = slice(None, len(states), max(1, len(states) // taken))
            times, seen = times[some], states[some]
            if times[-1] < reached:
                times, seen = np.append(times, reached), np.vstack([seen, ended])
            proven, largest = looks.prove(times, seen, stepper.ode.p, largest)
        if not proven:
            # Again from where all was well, step by step: the last good one is wanted.
            stepper.put(time, state)
            yield from _walk(stepper, end, short, False)
            return
        if (reached < end or not stepper.settled) and stepper.grown(states):
            stepper.put(time, state)
            continue
        whole = np.array([time, reached])
        yield Piece(whole, _lookup(ahead[: len(noted)], noted, ended), ended, taken, False)
        pace, short, grid = (reached - time) / taken, np.inf, grid[len(noted) :]
        time, state = reached, ended


def _looked_at(
    time: float, ahead: np.ndarray, until: float, apart: float
) -> tuple[np.ndarray, int]:
    """Return times so far apart at most; outputs that lie ahead are every so many of them."""
    before = () if len(ahead) and ahead[0] == time else (time,)
    after = () if len(ahead) and ahead[-1] == until else (until,)
    nodes = np.concatenate((before, ahead, after)) if before or after else ahead
    ways = nodes[1:] - nodes[:-1]
    every = int(np.ceil(ways.max() / apart))
    # Time may have no digits for more.
    if every <= 1 or ways.min() <= every * _STALLED * np.spacing(abs(until)):
        return nodes, 1
    between = nodes[:-1, None] + ways[:, None] * (np.arange(every) / every)
    return np.append(between.ravel(), nodes[-1]), every


def _walk(stepper: _Stepper, end: float, short: float, dense: bool) -> Iterator[Piece]:
    """Go to the end by steps that each prove themselves."""
    ode = stepper.ode
    most = max(_FEW, min(_CHUNK, _TOGETHER // ode.kernel.states))
    floor = np.zeros(ode.kernel.states) if ode.floor is None else ode.floor
    overlooked = np.zeros(ode.kernel.states)
    count = ode.stride or most
    t, y = stepper.time, stepper.state
    first, mark, failures = t, t, 0
    while t < end:
        take = _steps if ode.course is None else _steps_over_knots
        series, lost = take(stepper, end, short, count)
        failure = series.failure(ode, floor, overlooked)
        while failure is not None and series.only_rounded(ode, failure):
            overlooked = np.maximum(overlooked, _ABOVE * failure.defect)
            failure = series.failure(ode, floor, overlooked)
        kept = series if failure is None else series.cut(failure)
        if not stepper.settled:
            if failure is not None or lost:
                # What went astray tells no size.
                stepper.put(float(kept.t[-1]), kept.ends[-1])
            if stepper.grown(kept.ends):
                stepper.put(t, y)
                continue
        if len(kept.c):
            t, y = float(kept.t[-1]), kept.ends[-1]
            yield Piece(kept.t, kept.evaluate, y, len(kept.c), dense, exact=True)
        if failure is None and not lost:
            short, count = np.inf, min(2 * count, most)
            if t < end:
                stepper.grown(kept.ends)
            continue
        if failure is None:
            short = lost / 4
        else:
            short = failure.bad - failure.good if failure.good else failure.bad / 4
        failures += 1
        hopeless = False
        if failures % _MOST_FAILURES == 0:
            hopeless, mark = t - mark < _SLOWEST * (end - first), t
        if hopeless or not short > _STALLED * np.spacing(abs(t)):
            raise BlowUp(t)
        count = _FEW
        stepper.put(t, y)


def _steps(stepper: _Stepper, end: float, short: float, count: int) -> tuple[Series, float]:
    """Take some steps; if the first is to be short, each at most twice as long as the one before.

    The second result is the length of a step that led nowhere, or zero.
    """
    code, unit, longest = stepper.code, stepper.unit, stepper.longest
    last, most, failed = end / unit, short / unit, False
    t0, y0 = code.time, stepper.state
    series: np.ndarray = code.tc
    taken: list[bytes] = []
    lengths: list[float] = []

    def note(code: Any, take=taken.append, copied=series.tobytes, add=lengths.append) -> bool:
        take(copied())
        add(code.last_h)
        return True

    while most < longest and len(taken) < count and code.time < last and not failed:
        failed = code.step(min(most, last - code.time), True)[0] == stepper.lost
        most *= 2
        if not failed:
            note(code)
    if len(taken) < count and code.time < last and not failed:
        ahead = {"max_steps": count - len(taken), "max_delta_t": longest}
        outcome = code.propagate_until(last, callback=note, write_tc=True, **ahead)[0]
        failed = outcome == stepper.lost
    h = np.array(lengths)
    # Sums of many lengths keep the digits of time.
    t = np.append(t0, t0 + h.cumsum(dtype=np.longdouble)).astype(float)
    if abs(last - t[-1]) <= np.spacing(abs(last)):
        t[-1] = last
    most = min(most, longest, last - t[-1])
    return _taken(stepper, y0, t, h, taken, most if failed else 0.0, last)


def _steps_over_knots(
    stepper: _Stepper, end: float, short: float, count: int
) -> tuple[Series, float]:
    """Take some steps in the same way, none over a knot of the values p."""
    code, unit, ode = stepper.code, stepper.unit, stepper.ode
    assert ode.knots is not None
    y0, times = stepper.state, [code.time]
    first = int(ode.knots.searchsorted(stepper.time, "right"))
    ahead = ode.knots[first : first + count]
    ends = np.append(ahead[ahead < end], end)
    rows = stepper.table(ode.values(np.append(stepper.time, ends[:-1])))
    most, longest, failed = short / unit, stepper.longest, False
    series: np.ndarray = code.tc
    taken: list[bytes] = []
    lengths: list[float] = []
    pars, step, lost, copied = code.pars, code.step, stepper.lost, series.tobytes
    for until, row in zip((ends / unit).tolist(), rows):
        pars[:] = row
        rest, digits = until - times[-1], _STALLED * ulp(until)
        while rest > digits and len(taken) < count:
            failed = step(min(most, longest, rest), True)[0] == lost
            if failed:
                break
            most *= 2
            taken.append(copied())
            lengths.append(code.last_h)
            rest -= code.last_h
            if rest <= digits:
                code.time = until
            times.append(code.time)
        if failed or rest > digits:
            break
    h, t = np.array(lengths), np.array(times)
    most = min(most, longest, end / unit - t[-1])
    return _taken(stepper, y0, t, h, taken, most if failed else 0.0, end / unit)


def _taken(
    stepper: _Stepper, y0: np.ndarray, t: np.ndarray, h: np.ndarray, taken: list[bytes],
    failed: float, last: float,
) -> tuple[Series, float]:  # fmt: skip
    """Return steps as they were noted, without those that led nowhere; `failed` is the next."""
    unit, shape = stepper.unit, stepper.code.tc.shape
    c = np.frombuffer(b"".join(taken)).reshape(-1, *shape)
    c = c * powers(h, shape[1]).T[:, None]
    c *= stepper.sizes[:, None]
    ends = np.empty((len(h) + 1, len(y0)))
    ends[0], ends[1:-1] = y0, c[1:, :, 0]
    if len(h):
        ends[-1] = c[-1].sum(axis=1) if failed else stepper.state
    stalled = h < _STALLED * np.spacing(np.abs(t[1:]))
    lost = 0.0
    if stalled.any() and (not stalled[-1] or t[-1] < last or stalled[:-1].any()):
        kept = int(np.argmax(stalled))
        lost = h[kept]
        h, t, c, ends = h[:kept], t[: kept + 1], c[:kept], ends[: kept + 1]
    elif failed:
        lost = failed
    return Series(t * unit, h * unit, c, ends, stepper.sizes), float(lost * unit)


def _failed(code: Any, smallest: float, end: float) -> bool:
    stalled = smallest < _STALLED * np.spacing(abs(code.time)) and code.time < end
    return stalled or not isfinite(code.state.sum())


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _lookup(
    times: np.ndarray, states: np.ndarray, end: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the states at some of the noted times, or at the end of the walk."""

    def evaluate(wanted: np.ndarray) -> np.ndarray:
        # Nothing else is asked for: as many, with the same ends, are the same.
        if len(wanted) == len(times) and wanted[0] == times[0] and wanted[-1] == times[-1]:
            return states
        whole = np.vstack([states, end])
        return whole[np.searchsorted(times, wanted)]

    return evaluate
