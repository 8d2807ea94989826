"""Taylor series of several motions at once, compiled by heyoka for the width of the processor."""

from __future__ import annotations

import contextlib
import copy
import pickle
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np

from stationary.lower import cache as disk
from stationary.lower.engines import heyoka
from stationary.many.chunk import Chunk, completed
from stationary.many.cores import cores
from stationary.many.keep import End, First, Mean, Most, Values
from stationary.many.looks import Looks, energies
from stationary.many.motions import Motions, expressions, motions_of, rough_mean
from stationary.many.question import Question
from stationary.many.vectors import evaluate
from stationary.result.status import Status
from stationary.solve.integrators import Taylor

# Fewer runs are asked one by one before this code is compiled.
_FEWEST = 256

# Below this many instructions series are unrolled; above the second, compiling takes too long.
_UNROLL_UP_TO, _LONGEST = 250, 3000

# Looks at a motion where something is noted on the way; and for every step, at least.
_LOOKS = 1001
_FOR_A_STEP = 2
_MORE = 8

# No step is longer than this part of the span; the first one not than this part of the time in
# which a motion changes, since at a symmetric instant its series says little.
_STEPS = 16
_FIRST = 0.05

# The balance of energy that series keep, and the part of the largest energy that it is part of; and
# how much of it a tolerance of every step becomes over a motion.
_BALANCE = 1e-11
_OVER_STEPS = 1e3

# Series are not shorter than this tolerance allows.
_LOOSEST = 1e-6

# What a function is of may change by so much in a step, or by so much where a limit is set to it:
# the series of tanh, whose poles are π/2 away, then has all its digits, whether or not it begins
# where tanh is flat.
_PASSED, _PASSED_AGAIN = 0.25, 0.2

# Runs by which it is tried whether forces are too sharp, and the part of them that may be.
_SOME, _MANY = 16, 0.25

# A motion of more steps is asked by itself.
_MOST_STEPS = 1_000_000

# Groups of motions by which both depths of the stack are tried.
_TRIALS = 4

_DONE = Status("done", "reached the end of the span")


def refuses(question: Question) -> str | None:
    """Take smooth motions, if there are many."""
    method = question.given.get("method", "auto")
    if method != "auto" and not isinstance(method, Taylor):
        return "another method is asked for"
    if not heyoka.available() or len(question.design) < _FEWEST:
        return "there are few runs" if heyoka.available() else "heyoka is not installed"
    motions = motions_of(question)
    if isinstance(motions, str):
        return motions
    if motions.events:
        return "an event ends a motion, or changes its state"
    if motions.sampled:
        return "an input is sampled"
    if motions.kernel.rhs.n_instructions() > min(_LONGEST, len(question.design)):
        return "the equations are too long to be compiled for so few runs"
    rough = rough_mean(motions)
    if rough is None and motions.bends.numel() and _too_sharp(question):
        return "forces change too suddenly for steps that many motions share"
    return rough


def _tolerance(question: Question) -> float:
    """Return the error of a step: rounding, unless a tolerance is given."""
    rounding = float(np.finfo(float).eps)
    return min(max(float(question.given.get("rtol", rounding)), rounding), _LOOSEST)


class Depth:
    """Calls compiled code as deep on the stack as it is fastest, found by trial.

    It keeps vectors of 64 bytes on the stack, and a quarter of its time is lost where they lie
    across two lines of the processor's cache: every second depth of calls.
    """

    def __init__(self):
        self._took: tuple[list[float], list[float]] = [], []

    def __call__(self, work: Callable[[], int]) -> None:
        """Do work, which returns the number of its steps."""
        few = min(self._took, key=len)
        if len(few) >= _TRIALS:
            deeper = min(self._took[1]) < min(self._took[0])
            _one_deeper(work) if deeper else work()
            return
        began = time.thread_time()
        steps = work() if few is self._took[0] else _one_deeper(work)
        few.append((time.thread_time() - began) / steps)


def _one_deeper(work: Callable[[], int]) -> int:
    return next(map(lambda do: do(), (work,)))


class _Code:
    """A compiled integrator of several motions, and what its parameters are."""

    def __init__(self, motions: Motions):
        import heyoka as hy

        rhs = motions.kernel.rhs
        self.width = hy.recommended_simd_size()
        tolerance = _tolerance(motions.question)
        made_by = f"{heyoka.LOWERING}, batch {self.width}, {tolerance!r}"
        key = disk.digest(rhs.serialize(), hy.__version__, made_by)
        content = disk.load(f"{key}.batch")
        pairs, coefficients = heyoka.equations(rhs)
        self.coefficients, self.call = coefficients, Depth()
        #: Outcomes of motions that went as far as they should.
        self.fine = (hy.taylor_outcome.time_limit,) * self.width
        self.stepper: Any = None
        # Whatever is wrong with the file, compiling again mends it.
        with contextlib.suppress(Exception):
            self.stepper = pickle.loads(content) if content is not None else None
        if self.stepper is None:
            unrolled = rhs.n_instructions() <= _UNROLL_UP_TO
            self.stepper = hy.taylor_adaptive_batch(
                pairs, np.zeros((len(pairs), self.width)), tol=tolerance,
                compact_mode=not unrolled, opt_level=3 if unrolled else 1,
            )  # fmt: skip
            disk.keep(f"{key}.batch", pickle.dumps(self.stepper))


@lru_cache(maxsize=8)
def _code(motions: Motions) -> _Code:
    return _Code(motions)


def _measured(
    motions: Motions, y: np.ndarray, f: np.ndarray, span: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how large states are or become, in powers of two, and how fast motions change."""
    n, bit = motions.kernel.size, (span[:, 1] - span[:, 0]) / 100
    place, speed, push = (
        np.abs(x).max(axis=1, initial=0.0) for x in (y[:, :n], f[:, :n], f[:, n : 2 * n])
    )
    way = np.max([place, speed * bit, push * bit**2], axis=0)
    way = np.where(way > 0, way, 1.0)
    time = 1 / np.max([speed / way, np.sqrt(push / way), 0.1 / bit], axis=0)
    sizes = np.maximum(np.abs(y), time[:, None] * np.abs(f))
    sizes[:, n : 2 * n] = np.maximum(sizes[:, n : 2 * n], 1e-3 * (way / time)[:, None])
    sizes[:, :n] = np.maximum(sizes[:, :n], np.maximum(time[:, None] * sizes[:, n : 2 * n],
                                                       1e-3 * way[:, None]))  # fmt: skip
    sizes = np.where(np.isfinite(sizes) & (sizes > 1e-250) & (sizes < 1e250), sizes, 1.0)
    return 2.0 ** np.frexp(sizes)[1], time


def compute(question: Question, first: int, last: int) -> Chunk:
    """Move all motions of a chunk, as many together as the processor is wide, on all cores."""
    motions = motions_of(question)
    assert isinstance(motions, Motions)
    runs = np.arange(first, last)
    kept, bad, wanted, longest = _moved(question, motions, runs, _LOOKS, np.full(len(runs), np.inf))
    left = ~bad & (wanted > 0)
    for count in (_LOOKS, _MORE * _LOOKS):
        again = np.flatnonzero(left & (wanted <= count))
        if len(again):
            more, worse, open_, _ = _moved(question, motions, runs[again], count, longest[again])
            left[again], bad[again] = False, worse | (open_ > 0)
            for name, rows in kept.items():
                rows[again] = more[name]
    return completed(question, first, kept, bad | left, _DONE)


@lru_cache(maxsize=8)
def _too_sharp(question: Question) -> bool:
    """Tell by a few runs whether most of them would have to be asked by themselves."""
    motions = motions_of(question)
    assert isinstance(motions, Motions)
    runs = np.unique(np.linspace(0, len(question.design) - 1, _SOME).astype(int))
    _, _, wanted, _ = _moved(question, motions, runs, _LOOKS, np.full(len(runs), np.inf))
    return bool(np.mean(wanted > _MORE * _LOOKS) > _MANY)


def _moved(
    question: Question, motions: Motions, runs: np.ndarray, count: int, longest: np.ndarray
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Return what is kept of some runs, and which of them are lost.

    For those that have to be moved again, how many looks that takes, or zero, and no longer steps
    than which.
    """
    code = _code(motions)
    y, p, span = motions.arrays(runs)
    if motions.kernel.rows:
        motions.consistent(y, p, span)
    f = evaluate(motions.kernel.rhs, span[:, 0], y, p)
    bad = ~motions.sound(y, p, span) | ~np.isfinite(f).all(axis=1)
    y[bad], f[bad] = 0.0, 0.0
    span[bad] = span[~bad][0] if not bad.all() else (0.0, 1.0)
    sizes, time = _measured(motions, y, f, span)
    length = float(np.median(span[:, 1] - span[:, 0]))
    unit = 1.0 if 1e-4 < length / _STEPS < 1e4 else 2.0 ** np.frexp(length / _STEPS)[1]
    pars = evaluate(code.coefficients, np.hstack([p, sizes, np.full((len(p), 1), unit)]))
    bad |= ~np.isfinite(pars).all(axis=1)
    guarded, sharp = motions.guards.numel() > 0, motions.bends.numel() > 0
    noted = any(not isinstance(keep, End) for keep in question.keeps.values())
    grid = _grid(question, span, count) if noted or guarded or sharp else span
    longest = np.minimum(longest, (span[:, 1] - span[:, 0]) / _STEPS)
    order = np.arange(len(runs))
    if not np.ptp(p, axis=0).any():
        # Those of one system with about as much energy take about as many steps.
        order = np.argsort(energies(motions, span[:, 0], y, p), kind="stable")
    tracks = _Tracks(
        code, y / sizes, pars, grid / unit, _FIRST * time / unit, longest / unit, bad, order
    )
    states = tracks.run() * sizes[None, :, :]
    looks = Looks(motions, grid.T, states, p)
    bad |= tracks.lost
    poor = ~looks.balanced(max(_BALANCE, _OVER_STEPS * _tolerance(question)))
    if guarded:
        poor |= ~looks.guarded()
    wanted = np.where(tracks.steps * _FOR_A_STEP > grid.shape[1], tracks.steps * _FOR_A_STEP, 0)
    if sharp:
        pace = np.where(bad, 0.0, looks.pace())
        length = _FOR_A_STEP * (span[:, 1] - span[:, 0])
        long = longest * pace > _PASSED
        longest = np.where(long, _PASSED_AGAIN / np.maximum(pace, 1e-300), longest)
        wanted = np.where(long, np.maximum(wanted, np.ceil(length / longest)), wanted)
    kept: dict[str, np.ndarray] = {}
    for name, keep in question.keeps.items():
        assert isinstance(keep, (End, First, Most, Mean, Values))
        if isinstance(keep, First):
            kept[name], doubt = looks.crossing(keep.what, keep.direction)
            poor |= doubt
        elif isinstance(keep, Most):
            kept[name] = looks.extreme(keep.what, keep.sign)
        elif isinstance(keep, Mean):
            kept[name] = looks.mean(keep.what)
        elif isinstance(keep, Values):
            at = np.searchsorted(grid[0], keep.at)
            rows = [looks.values(e)[at] for e in expressions(keep.what)]
            kept[name] = np.stack(rows, -1).transpose(1, 0, 2).reshape(-1, *keep.shape)
        else:
            rows = [looks.values(e, -1) for e in expressions(keep.what)]
            kept[name] = np.stack(rows, -1).reshape(-1, *(keep.shape or ()))
    # What is moved again may turn out well.
    return kept, bad | poor & (wanted == 0), wanted, longest


def _grid(question: Question, span: np.ndarray, count: int) -> np.ndarray:
    """Return the times of looks, one row for each run: even, and those at which values are kept."""
    even = np.linspace(0, 1, count)
    grid = span[:, :1] + (span[:, 1:] - span[:, :1]) * even
    grid[:, -1] = span[:, 1]
    at = [t for keep in question.keeps.values() if isinstance(keep, Values) for t in keep.at]
    if not at:
        return grid
    first, last = span[0]
    inside = np.unique([t for t in at if first <= t <= last])
    near = np.abs(grid[0][:, None] - inside).min(axis=1) < 1e-9 * (last - first)
    line = np.union1d(grid[0][~near], inside)
    return np.tile(line, (len(span), 1))


class _Tracks:
    """All motions of a chunk on their way."""

    def __init__(self, code: _Code, y: np.ndarray, pars: np.ndarray, grid: np.ndarray,
                 short: np.ndarray, limit: np.ndarray, bad: np.ndarray,
                 order: np.ndarray):  # fmt: skip
        self._code, self._y, self._pars, self._grid = code, y, pars, grid
        # The first step is short, and ends before the first look.
        self._short = np.minimum(short, np.minimum(limit, (grid[:, 1] - grid[:, 0]) / 2))
        self._limit, self.lost, self._order = limit, bad.copy(), order
        #: How many steps every motion took, where it is looked at on the way.
        self.steps = np.zeros(len(y), dtype=int)
        self._over = False
        self._states = np.full((grid.shape[1], len(y), y.shape[1]), np.nan)

    def run(self) -> np.ndarray:
        """Return states at all times, shape (times, motions, states)."""
        good = self._order[~self.lost[self._order]]
        if len(good):
            width, begin = self._code.width, self._grid[:, 0]
            # The last group is filled up with motions that are computed twice.
            last = np.arange(-(-len(good) // width) * width).clip(max=len(good) - 1)
            groups = good[last].reshape(-1, width)
            pars = self._pars[:, : len(self._code.stepper.pars)]
            shares = [
                zip(mine, begin[mine], _columns(self._y, mine), _columns(pars, mine),
                    self._short[mine], self._limit[mine])
                for mine in (groups[k :: cores()] for k in range(cores()))
            ]  # fmt: skip
            with ThreadPoolExecutor(cores()) as pool:
                try:
                    list(pool.map(self._some, shares))
                finally:
                    # From the keyboard: threads end with the motions that they have in hand.
                    self._over = True
        self._states[0, good] = self._y[good]
        self.lost |= ~np.isfinite(self._states[-1]).all(axis=1)
        return self._states

    def _some(self, groups: Iterable[tuple[np.ndarray, ...]]) -> None:
        stepper = copy.copy(self._code.stepper)
        for group in groups:
            if self._over:
                return
            self._code.call(lambda group=group: self._one(stepper, *group))

    def _one(self, stepper: Any, lanes: np.ndarray, begin: np.ndarray, y: np.ndarray,
             pars: np.ndarray, short: np.ndarray, limit: np.ndarray) -> int:  # fmt: skip
        """Move some motions side by side; return how many steps they took."""
        grid, taken = self._grid[lanes], 0
        while True:
            stepper.set_time(begin)
            stepper.state[:] = y
            if pars.size:
                stepper.pars[:] = pars
            stepper.step(max_delta_t=short)
            found = self._led(stepper, grid, limit)
            outcomes, _, _, steps = zip(*stepper.propagate_res)
            taken += 1 + max(steps)
            if outcomes == self._code.fine:
                break
            astray = np.array([a != b for a, b in zip(outcomes, self._code.fine)])
            # One that leaves every bound stops those beside it: another takes its place.
            self.lost[lanes[astray]] = True
            good = np.flatnonzero(~self.lost[lanes])
            if not len(good):
                return taken
            for column in (begin, y, pars, short, limit):
                column[..., astray] = column[..., good[:1]]
            grid[astray] = grid[good[0]]
        self._states[1:, lanes] = found
        if grid.shape[1] > 2:
            self.steps[lanes] = steps
        return taken

    def _led(self, stepper: Any, grid: np.ndarray, limit: np.ndarray) -> np.ndarray:
        """Return states at the looks after the first."""
        limits = {"max_delta_t": limit, "max_steps": _MOST_STEPS}
        if grid.shape[1] == 2:
            stepper.propagate_until(grid[:, 1], **limits)
            return stepper.state.T[None]
        ahead = np.vstack([stepper.time, grid[:, 1:].T])
        _, found = stepper.propagate_grid(ahead, **limits)
        return found[1:].transpose(0, 2, 1)


def _columns(rows: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    """Return rows of some lanes as columns, group by group."""
    return np.ascontiguousarray(rows[lanes].transpose(0, 2, 1))
