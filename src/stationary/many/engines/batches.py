"""Taylor series of several motions at once, compiled by heyoka for the width of the processor."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np

from stationary.lower import cache as disk
from stationary.lower.engines import heyoka
from stationary.many.chunk import Chunk, completed
from stationary.many.cores import cores
from stationary.many.keep import End, First, Mean, Most, Values
from stationary.many.looks import Looks
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

# The balance of energy that series keep, and the part of the largest energy that it is part of.
_BALANCE = 1e-11

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
    return rough_mean(motions)


class _Code:
    """A compiled integrator of several motions, and what its parameters are."""

    def __init__(self, motions: Motions):
        import heyoka as hy

        rhs = motions.kernel.rhs
        self.width = hy.recommended_simd_size()
        key = disk.digest(rhs.serialize(), hy.__version__, f"batch {self.width}")
        content = disk.load(f"{key}.batch")
        pairs, coefficients = heyoka.equations(rhs)
        self.coefficients = coefficients
        try:
            self.stepper = pickle.loads(content) if content is not None else None
        except Exception:  # Whatever is wrong with the file, compiling again mends it.
            self.stepper = None
        if self.stepper is None:
            unrolled = rhs.n_instructions() <= _UNROLL_UP_TO
            self.stepper = hy.taylor_adaptive_batch(
                pairs, np.zeros((len(pairs), self.width)), compact_mode=not unrolled,
                opt_level=3 if unrolled else 1,
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
    kept, bad, few = _moved(question, motions, np.arange(first, last), _LOOKS)
    if few.any():
        again = np.flatnonzero(few)
        more, worse, still = _moved(question, motions, first + again, _MORE * _LOOKS)
        bad[again] = worse | still
        for name, rows in kept.items():
            rows[again] = more[name]
    return completed(question, first, kept, bad, _DONE)


def _moved(
    question: Question, motions: Motions, runs: np.ndarray, count: int
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Return what is kept of some runs, which of them are lost, and which need more looks."""
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
    guarded = motions.guards.numel() > 0
    noted = any(not isinstance(keep, End) for keep in question.keeps.values())
    grid = _grid(question, span, count) if noted or guarded else span
    tracks = _Tracks(code, y / sizes, pars, grid / unit, _FIRST * time / unit, bad)
    states = tracks.run() * sizes[None, :, :]
    looks = Looks(motions, grid.T, states, p)
    bad |= tracks.lost | ~looks.balanced(_BALANCE)
    if guarded:
        bad |= ~looks.guarded()
    kept: dict[str, np.ndarray] = {}
    for name, keep in question.keeps.items():
        assert isinstance(keep, (End, First, Most, Mean, Values))
        if isinstance(keep, First):
            kept[name], doubt = looks.crossing(keep.what, keep.direction)
            bad |= doubt
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
    return kept, bad, tracks.few


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
                 short: np.ndarray, bad: np.ndarray):  # fmt: skip
        self._code, self._y, self._pars, self._grid, self._short = code, y, pars, grid, short
        self.lost, self.few = bad.copy(), np.zeros(len(y), dtype=bool)
        self._states = np.full((grid.shape[1], len(y), y.shape[1]), np.nan)

    def run(self) -> np.ndarray:
        """Return states at all times, shape (times, motions, states)."""
        width, good = self._code.width, np.flatnonzero(~self.lost)
        # The last group is filled up with motions that are computed twice.
        groups = [good[np.arange(k, k + width).clip(max=len(good) - 1)]
                  for k in range(0, len(good), width)]  # fmt: skip
        shares = [groups[k :: cores()] for k in range(cores())]
        with ThreadPoolExecutor(cores()) as pool:
            list(pool.map(self._some, shares))
        return self._states

    def _some(self, groups: list[np.ndarray]) -> None:
        stepper = copy.copy(self._code.stepper)
        for lanes in groups:
            self._one(stepper, lanes)

    def _one(self, stepper: Any, lanes: np.ndarray) -> None:
        grid = np.ascontiguousarray(self._grid[lanes].T)
        stepper.set_time(grid[0])
        stepper.state[:] = self._y[lanes].T
        if stepper.pars.size:
            stepper.pars[:] = self._pars[lanes].T[: len(stepper.pars)]
        longest = (grid[-1] - grid[0]) / _STEPS
        # The first step is short, and ends before the first look.
        short = np.minimum(np.minimum(self._short[lanes], longest), (grid[1] - grid[0]) / 2)
        stepper.step(max_delta_t=short)
        if not np.isfinite(stepper.time).all():
            # A motion without a series takes those beside it along: each is asked by itself.
            self.lost[lanes] = True
            return
        if len(grid) == 2:
            self._states[0, lanes] = self._y[lanes]
            stepper.propagate_until(grid[-1], max_delta_t=longest)
            self._states[1, lanes] = stepper.state.T
        else:
            ahead = np.vstack([stepper.time, grid[1:]])
            _, found = stepper.propagate_grid(ahead, max_delta_t=longest)
            self._states[:, lanes] = found.transpose(0, 2, 1)
            self._states[0, lanes] = self._y[lanes]
        steps = np.array([result[3] for result in stepper.propagate_res])
        self.few[lanes] |= (len(grid) > 2) & (steps * _FOR_A_STEP > len(grid))
        self.lost[lanes] |= ~np.isfinite(self._states[-1, lanes]).all(axis=1)
