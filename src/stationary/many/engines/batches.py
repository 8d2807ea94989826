"""Taylor series of several motions at once, compiled by heyoka for the width of the processor."""

from __future__ import annotations

import contextlib
import copy
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np

from stationary.lower import cache as disk
from stationary.lower.engines import heyoka
from stationary.lower.many_places import evaluate
from stationary.many.chunk import Chunk, completed, joined
from stationary.many.cores import cores
from stationary.many.keep import End, First, Mean, Most, Values
from stationary.many.motions import Motions, expressions, motions_of, rough_mean
from stationary.many.observations import Looks
from stationary.many.question import Question
from stationary.many.step_counts import NEAR, Order
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

# Numbers that states at all looks may be, and runs that are moved together even if those are more.
_ROOM, _TOGETHER = 1 << 23, 512

# Looks are further apart than so many roundings of the time.
_APART = 16

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
    reason = rough_mean(motions)
    if reason is None and motions.bends.numel() and _too_sharp(question):
        return "forces change too suddenly for steps that many motions share"
    return reason


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

    def __call__(self, work: Callable[[], None], steps: Callable[[], int]) -> None:
        """Do work; how many steps it took is asked while the depths are tried."""
        few = min(self._took, key=len)
        if len(few) >= _TRIALS:
            deeper = min(self._took[1]) < min(self._took[0])
            _one_deeper(work) if deeper else work()
            return
        began = time.thread_time()
        work() if few is self._took[0] else _one_deeper(work)
        few.append((time.thread_time() - began) / steps())


def _one_deeper(work: Callable[[], None]) -> None:
    next(map(lambda do: do(), (work,)))


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
        #: How motions that take about as many steps are found; known after some were moved.
        self.alike: str | None = None
        self._idle: deque[_Stepper] = deque()
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

    @contextlib.contextmanager
    def lent(self) -> Iterator[_Stepper]:
        """Lend an integrator to one thread: to copy one takes as long as to move some motions."""
        try:
            stepper = self._idle.pop()
        except IndexError:
            stepper = _Stepper(copy.copy(self.stepper))
        yield stepper
        self._idle.append(stepper)


class _Stepper:
    """An integrator, and what it holds: views, which cost more to ask for than to use."""

    def __init__(self, taylor: Any):
        self.taylor = taylor
        self.time, self.state, self.pars = taylor.time, taylor.state, taylor.pars

    def steps(self) -> list[int]:
        """How many steps every motion took, but for the first."""
        return [steps for *_, steps in self.taylor.propagate_res]

    def most(self) -> int:
        """How many steps all took together."""
        return 1 + max(self.steps())


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
    (chunk,) = chunks(question, [(first, last)])
    return chunk


def chunks(question: Question, todo: Iterable[tuple[int, int]]) -> Iterator[Chunk]:
    """Move chunk after chunk: while one is judged, the next is on its way."""
    motions = motions_of(question)
    assert isinstance(motions, Motions)
    size = _fitting(motions, _LOOKS if _looked(motions) else 2)
    whole = list(todo)
    pieces = [(k, min(k + size, b)) for a, b in whole for k in range(a, b, size)]
    ends, parts = {last for _, last in whole}, []
    with _Team(_code(motions)) as team:
        for part in _overlapped(team, motions, pieces):
            parts.append(part)
            if part.last in ends:
                yield joined(parts)
                parts = []


def _overlapped(team: _Team, motions: Motions, pieces: list[tuple[int, int]]) -> Iterator[Chunk]:
    ahead: tuple[int, _Move] | None = None
    for first, last in pieces:
        runs = np.arange(first, last)
        begun = first, _Move(team, motions, runs, _LOOKS, np.full(len(runs), np.inf))
        if ahead is not None:
            yield _finished(team, motions, *ahead)
        ahead = begun
    if ahead is not None:
        yield _finished(team, motions, *ahead)


def _fitting(motions: Motions, looks: int) -> int:
    """Return how many runs are moved together: their states at all looks have to fit."""
    return max(_TOGETHER, _ROOM // (looks * motions.kernel.states))


def _looked(motions: Motions) -> bool:
    """Tell whether something is noted, or watched, on the way."""
    noted = any(not isinstance(keep, End) for keep in motions.question.keeps.values())
    return noted or motions.guards.numel() > 0 or motions.bends.numel() > 0


def _finished(team: _Team, motions: Motions, first: int, move: _Move) -> Chunk:
    """Return a chunk, after what needs more looks or shorter steps was moved again."""
    kept, bad, wanted, longest = move.judged()
    left = ~bad & (wanted > 0)
    for count in (_LOOKS, _MORE * _LOOKS):
        every, size = np.flatnonzero(left & (wanted <= count)), _fitting(motions, count)
        for k in range(0, len(every), size):
            again = every[k : k + size]
            move = _Move(team, motions, first + again, count, longest[again])
            more, worse, open_, _ = move.judged()
            left[again], bad[again] = False, worse | (open_ > 0)
            for name, rows in kept.items():
                rows[again] = more[name]
    return completed(motions.question, first, kept, bad | left, _DONE)


@lru_cache(maxsize=8)
def _too_sharp(question: Question) -> bool:
    """Tell by a few runs whether most of them would have to be asked by themselves."""
    motions = motions_of(question)
    assert isinstance(motions, Motions)
    runs = np.unique(np.linspace(0, len(question.design) - 1, _SOME).astype(int))
    with _Team(_code(motions)) as team:
        move = _Move(team, motions, runs, _LOOKS, np.full(len(runs), np.inf))
        _, _, wanted, _ = move.judged()
    return bool(np.mean(wanted > _MORE * _LOOKS) > _MANY)


class _Team:
    """Threads that move the motions of one sweep, chunk after chunk."""

    def __init__(self, code: _Code):
        self.code, self.over = code, False
        self.count = cores()
        self._pool = ThreadPoolExecutor(self.count)

    def __enter__(self) -> _Team:
        return self

    def __exit__(self, *_: object) -> None:
        # From the keyboard: threads end with the motions that they have in hand.
        self.over = True
        self._pool.shutdown(cancel_futures=True)

    def all(self, work: Callable[[], None]) -> list[Future[None]]:
        """Let every thread do the same work, after what they have to do already."""
        return [self._pool.submit(work) for _ in range(self.count)]


class _Move:
    """Some runs, which begin to move at once, and are judged when all have come to their end.

    Of one that is too large for numbers something is not finite, and it is asked by itself.
    """

    @np.errstate(all="ignore")
    def __init__(
        self, team: _Team, motions: Motions, runs: np.ndarray, count: int, longest: np.ndarray
    ):
        code, self._motions = team.code, motions
        y, p, span = motions.arrays(runs)
        if motions.kernel.rows:
            motions.consistent(y, p, span)
        f = evaluate(motions.kernel.rhs, span[:, 0], y, p)
        bad = ~motions.sound(y, p, span) | ~np.isfinite(f).all(axis=1)
        lengths = span[:, 1] - span[:, 0]
        length = float(np.median(lengths[~bad])) if not bad.all() else 1.0
        unit = 1.0 if 1e-4 < length / _STEPS < 1e4 else 2.0 ** np.frexp(length / _STEPS)[1]
        # Of a span that is too short or too long for numbers there are no looks.
        apart = lengths / (_MORE * _LOOKS)
        bad |= ~((apart > _APART * np.spacing(np.abs(span).max(axis=1))) & (lengths < np.inf))
        bad |= ~((apart / unit > 1e-290) & (lengths / unit < 1e290))
        y[bad], f[bad] = 0.0, 0.0
        span[bad] = span[~bad][0] if not bad.all() else (0.0, unit)
        self._sizes, time = _measured(motions, y, f, span)
        pars = evaluate(code.coefficients, np.hstack([p, self._sizes, np.full((len(p), 1), unit)]))
        bad |= ~np.isfinite(pars).all(axis=1)
        self._guarded, self._sharp = motions.guards.numel() > 0, motions.bends.numel() > 0
        self._looked = _looked(motions)
        self._even, self._grid = slice(None), span
        if self._looked:
            self._even, self._grid = _grid(motions.question, span, count)
        self._longest = np.minimum(longest, (span[:, 1] - span[:, 0]) / _STEPS)
        self._p, self._span, self._order = p, span, Order(motions, span, y, p, ~bad, code.width)
        self._tracks = _Tracks(
            team, y / self._sizes, pars, self._grid / unit, _FIRST * time / unit,
            self._longest / unit, bad, self._order.by(code.alike or NEAR),
        )  # fmt: skip

    @np.errstate(all="ignore")
    def judged(self) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
        """Return what is kept, and which runs are lost.

        For those that have to be moved again, how many looks that takes, or zero, and no longer
        steps than which.
        """
        question, tracks, grid, longest = (
            self._motions.question, self._tracks, self._grid, self._longest
        )  # fmt: skip
        states = tracks.states()
        states *= self._sizes
        if tracks.code.alike is None:
            tracks.code.alike = self._order.best(tracks.steps)
        looks = Looks(self._motions, grid[:, self._even].T, states[self._even], self._p)
        bad = tracks.lost
        poor = ~looks.balanced(max(_BALANCE, _OVER_STEPS * _tolerance(question)))
        if self._guarded:
            poor |= ~looks.guarded()
        wanted = tracks.steps * _FOR_A_STEP
        wanted = np.where(self._looked & (wanted > len(looks.t)), wanted, 0)
        if self._sharp:
            pace = np.where(bad, 0.0, looks.pace())
            length = _FOR_A_STEP * (self._span[:, 1] - self._span[:, 0])
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
                there = Looks(self._motions, grid[:, at].T, states[at], self._p)
                rows = [there.values(e) for e in expressions(keep.what)]
                kept[name] = np.stack(rows, -1).transpose(1, 0, 2).reshape(-1, *keep.shape)
            else:
                rows = [looks.values(e, -1) for e in expressions(keep.what)]
                kept[name] = np.stack(rows, -1).reshape(-1, *(keep.shape or ()))
        # What is moved again may turn out well.
        return kept, bad | poor & (wanted == 0), wanted, longest


def _grid(question: Question, span: np.ndarray, count: int) -> tuple[Any, np.ndarray]:
    """Return times, one row for each run, and which of them are looks.

    Looks are even. Times at which values are kept come between them, at however small a distance.
    """
    even = np.linspace(0, 1, count)
    grid = span[:, :1] + (span[:, 1:] - span[:, :1]) * even
    grid[:, -1] = span[:, 1]
    at = [t for keep in question.keeps.values() if isinstance(keep, Values) for t in keep.at]
    if not at:
        return slice(None), grid
    first, last = span[0]
    line = np.union1d(grid[0], [t for t in at if first <= t <= last])
    return np.searchsorted(line, grid[0]), np.tile(line, (len(span), 1))


class _Tracks:
    """All motions of a chunk on their way, from the moment they are made."""

    def __init__(self, team: _Team, y: np.ndarray, pars: np.ndarray, grid: np.ndarray,
                 short: np.ndarray, limit: np.ndarray, bad: np.ndarray,
                 order: np.ndarray):  # fmt: skip
        self._team, self.code, self._y, self._grid = team, team.code, y, grid
        self.lost, self._looked = bad.copy(), grid.shape[1] > 2
        #: How many steps every motion took, where that is asked.
        self.steps = np.zeros(len(y), dtype=int)
        self._counted = self._looked or self.code.alike is None
        self._states = np.full((grid.shape[1], len(y), y.shape[1]), np.nan)
        width = self.code.width
        # The last group is filled up with motions that are computed twice.
        last = np.arange(-(-len(order) // width) * width).clip(max=len(order) - 1)
        groups = self._groups = order[last].reshape(-1, width)
        # The first step is short, and ends before the first look.
        short = np.minimum(short, np.minimum(limit, (grid[:, 1] - grid[:, 0]) / 2))
        pars = pars[:, : len(self.code.stepper.pars)]
        self._starts, self._pars = _columns(y, groups), _columns(pars, groups)
        self._ends = np.full(self._starts.shape, np.nan)
        # Lists are what the integrator takes without converting them.
        times = np.stack([grid[:, 0], short, limit, grid[:, -1]])
        self._times = times[:, groups].transpose(1, 0, 2).tolist()
        # Every thread takes the next group that is left.
        self._left = iter(range(len(groups)))
        self._doing = team.all(self._some)

    def states(self) -> np.ndarray:
        """Return states at all times, shape (times, motions, states), when all are there."""
        for each in self._doing:
            each.result()
        self._states[0, self._groups] = self._starts.transpose(0, 2, 1)
        self._states[-1, self._groups] = self._ends.transpose(0, 2, 1)
        self.lost |= ~np.isfinite(self._states[-1]).all(axis=1)
        self._states[:, self.lost] = np.nan
        return self._states

    def _some(self) -> None:
        with self.code.lent() as stepper:
            for group in self._left:
                if self._team.over:
                    return
                self.code.call(lambda group=group: self._one(stepper, group), stepper.most)

    def _one(self, stepper: _Stepper, group: int) -> None:
        """Move some motions side by side."""
        while True:
            self._lead(stepper, group)
            # Asking each for its outcome takes longer.
            if stepper.time.tolist() == self._times[group][-1]:
                break
            outcomes = [outcome for outcome, *_ in stepper.taylor.propagate_res]
            astray = np.array([a != b for a, b in zip(outcomes, self.code.fine)])
            if not astray.any():
                break
            # One that leaves every bound stops those beside it: another takes its place.
            lanes = self._groups[group]
            self.lost[lanes[astray]] = True
            good = np.flatnonzero(~self.lost[lanes])
            if not len(good):
                return
            for rows in self._starts, self._pars:
                rows[group][:, astray] = rows[group][:, good[:1]]
            lanes[astray] = lanes[good[0]]
            times = np.array(self._times[group])
            times[:, astray] = times[:, good[:1]]
            self._times[group] = times.tolist()
        self._ends[group] = stepper.state
        if self._counted:
            self.steps[self._groups[group]] = stepper.steps()

    def _lead(self, stepper: _Stepper, group: int) -> None:
        """Move some motions from their start to their end, and look at them on the way."""
        begin, short, limit, end = self._times[group]
        taylor, limits = stepper.taylor, {"max_delta_t": limit, "max_steps": _MOST_STEPS}
        taylor.set_time(begin)
        stepper.state[:] = self._starts[group]
        stepper.pars[:] = self._pars[group]
        taylor.step(max_delta_t=short)
        if not self._looked:
            taylor.propagate_until(end, **limits)
            return
        lanes = self._groups[group]
        ahead = np.vstack([stepper.time, self._grid[lanes, 1:].T])
        _, states = taylor.propagate_grid(ahead, **limits)
        self._states[1:, lanes] = states[1:].transpose(0, 2, 1)


def _columns(rows: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    """Return rows of some lanes as columns, group by group."""
    return np.ascontiguousarray(rows[lanes].transpose(0, 2, 1))
