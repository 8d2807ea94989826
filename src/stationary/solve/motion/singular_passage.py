"""Over a singular configuration: a motion that is determined there goes on as it came.

Where rows of A lose rank, as in a parallelogram that lies flat, accelerations cannot be computed,
and other branches of motion begin. The motion itself is smooth: what arrives with a velocity leaves
with it. It is continued as the analytic function that it is, and put back onto the constraints
where these are regular again.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from stationary.derive.graph import Graph
from stationary.errors import StatementError
from stationary.lower.kernel import numeric
from stationary.result.state import State
from stationary.solve.consistent import projected, repaired
from stationary.solve.inertia import sizes_of
from stationary.solve.integrators import Runge, Taylor, has_series
from stationary.solve.linear import tangent_basis
from stationary.solve.motion.ode import BlowUp, Ode, Piece
from stationary.solve.motion.rank_margin import Rows
from stationary.solve.scales import scales_of

# The regular stretch ends, and begins again, where the smallest singular value of the rows, each of
# length one, is this part of what it was; nearer where that is too far to see the other side from.
#: Rows of which less is left where a motion starts are beside a singular configuration.
BESIDE = _EDGE = 0.03
_EDGES = (_EDGE, 0.01, 0.003, 0.001)

# A rank is lost where this part of it is left, or less. Rows that couple coordinates of other sizes
# become short, and stay independent.
_LOST = 1e-5

# Steps of some error pass a lost rank at this part of it: exact ones tell whether it is lost there.
_PASSED = 0.01

# One step of so many is looked at, and more where the rows turn so far in between that less than
# this part of the rank may be left.
_EVERY, _LOW = 5, 0.25

# Looks around a slow motion by fixed steps, for each of the states that tell how fast it is.
_SUBSTEPS = 5

# So many beginnings of pieces are kept, of which the next but one is no nearer than this many times
# as long ago.
_KEPT, _FARTHER = 16, 3.0

# Degrees of the continuation, stretches that it is made from (in parts of the way that is known),
# and the longest of them in widths of the gap.
_DEGREES = range(8, 34, 2)
_STRETCHES = (1.0, 0.6, 0.35)
_LONGEST = 60.0

# Ways of so many widths of the gap, or more, tell how it goes on.
_LONG = 12.0

# Up to so many widths from its edge one looks for the other side of the gap, at so many instants of
# each. What turns shortly behind the singular configuration comes back over it, and late.
_REACHES = (3.0, 6.0, 12.0, 24.0)
_INSTANTS = 16
# Where a continuation is judged, as a part of that.
_LANDING = 0.75

# Where a rank is below this part of what it is at the edge, it may be lost nearby.
_NEAR = 0.3

# A rank that falls to this part of what it is where a stretch begins may be on its way to be lost.
_NEARER = 0.5

# A continuation known no better than this, relative to the motion, is none.
_KNOWN = 1e-8

# One that is known so well needs no look from nearer by.
_WELL = 1e-12

# What arrives slower than this part of its own speed stands still: nothing tells where it goes.
_STANDS = 1e-3

# States that tell how fast a motion is.
_TELLING = 17

# By how much, relative to the rates of the motion, the continuation may differ from the equations.
_AGREES = 1e-4

# How far aside of a start, in sizes of the coordinates, and how often, one looks for forks.
_ASIDE, _TRIES = 1e-3, 3

# Tolerance of the steps that lead to the edge, where there are no series.
_TIGHT = 1e-13


def refuse_forks(graph: Graph, params: np.ndarray, t: float, state: State, y: Any) -> None:
    """Refuse a start where all rows vanish, and one at rest that forces make part.

    `y` are the rates there. Rows that say nothing new there and do so nearby are no redundant ones.
    """
    if state.redundant and not state.rows:
        raise StatementError(
            "the start is a singular configuration: it cannot be told how it goes on.",
            f"Found that {', '.join(map(repr, state.redundant[:4]))} holds nothing there, "
            "whichever way it moves.",
            "Start a little aside, with the velocities that belong to it.",
        )
    n = len(state.q)
    if not state.redundant or np.any(state.v) or not np.any(np.abs(y[n : 2 * n]) > 0):
        return
    A = numeric(graph, "constraints", dense=True)(
        t, state.q, state.v, np.zeros(len(graph.system.inputs)), params
    )[2]
    free, sizes = tangent_basis(A), sizes_of(graph, params, t, state.q)
    chance = np.random.default_rng(0)
    for _ in range(_TRIES):
        move = free @ chance.standard_normal(free.shape[1])
        q = state.q + _ASIDE * move / (np.max(np.abs(move) / sizes) or 1.0)
        try:
            near = repaired(graph, params, t, q, state.v, repair=True)
        except StatementError:
            continue
        if len(near.rows) > len(state.rows):
            names = sorted(set(state.redundant) - set(near.redundant))
            raise StatementError(
                "the start is a singular configuration: several motions begin there.",
                f"Found that {', '.join(map(repr, names[:4]))} says nothing new there, and "
                "does nearby; nothing moves that would choose one of them.",
                "Start a little aside, or with a velocity.",
            )


class Crossings:
    """Looks at the pieces of a motion for singular configurations, and leads over them."""

    def __init__(self, rows: Rows):
        self.rows, self.fastest = rows, 0.0
        self.known: deque[tuple[float, np.ndarray]] = deque(maxlen=_KEPT)

    def look(self, ode: Ode, y: np.ndarray, piece: Piece) -> _Way | None:
        """Return the way to a singular configuration that a piece, which starts at y, runs into."""
        if ode.kernel.kinks:
            return None
        if not self.known or self.known[-1][0] < piece.t[0]:
            self._note(float(piece.t[0]), y)
        times = np.append(piece.t[:-1:_EVERY], piece.t[-1])

        def below(left: np.ndarray) -> float:
            self.rows.full = max(self.rows.full, left.max())
            return _LOW * self.rows.full

        times, left = self.rows.along(times, piece.evaluate, below)
        if left.min() >= _LOW * self.rows.full:
            return None
        least = 0.0
        # Behind the last instant nothing is lost any more.
        last = piece.t[-1] >= ode.last
        if left[-1] >= _EDGE * self.rows.full or last:
            # What has just come over another one begins with little left.
            least = self.rows.lowest(times, left, piece.evaluate, _LOW * self.rows.full)
            least = min(left[0], least)
            if least > (_LOST if last else _PASSED) * self.rows.full:
                return None
        best = None
        for t, start in reversed(self.known):
            way = _Way(ode, self.rows, t, start, float(piece.t[0]), float(piece.t[-1]))
            if np.isnan(way.edge):
                break
            best = way
            if way.long_enough:
                break
        if best is not None:
            # What lies before this one leads to it, and not to the next.
            self.known.clear()
        elif least > _LOST * self.rows.full:
            return None
        elif left.min() <= _LOST * self.rows.full or np.any(
            (left[:-1] >= _EDGE * self.rows.full) & (left[1:] < _EDGE * self.rows.full)
        ):
            raise BlowUp(float(piece.t[0]))
        return best

    def _note(self, t: float, y: np.ndarray) -> None:
        """Note where a piece begins, and forget some before it.

        However short pieces are, those that are left lie ever farther back.
        """
        for k in range(len(self.known) - 2, 0, -1):
            older, newer = self.known[k - 1][0], self.known[k + 1][0]
            if t - older < _FARTHER * (t - newer):
                del self.known[k]
        self.known.append((t, y))

    def beyond(self, ode: Ode, t: float, y: np.ndarray, end: float) -> Piece | None:
        """Return the piece over what an integrator has stopped before, at (t, y), if it is one."""
        before = [known for known in reversed(self.known) if known[0] < t]
        for begun, start in () if ode.kernel.kinks else before:
            until = min(end, t + max(t - begun, ode.longest))
            way = _Way(ode, self.rows, begun, start, t, until)
            if np.isfinite(way.edge):
                way.up_to(Piece(np.array([t, t]), way.states, y, 1), end)
                crossing = way.over()
                self.known.clear()

                def evaluate(times: np.ndarray) -> np.ndarray:
                    states, short = crossing.evaluate(times), times < way.edge
                    states[short] = way.states(times[short])
                    return states

                return replace(crossing, t=np.array([t, crossing.t[-1]]), evaluate=evaluate)
        return None

    def stands(self, ode: Ode, piece: Piece) -> float | None:
        """Return when a motion by fixed steps comes to stand in a singular configuration, if ever.

        Such steps go over it by themselves, but nothing but rounding tells where to from a rest.
        """
        left = self.rows.left(piece.t, piece.evaluate(piece.t))
        self.rows.full = max(self.rows.full, left.max())
        some = piece.t[:: max(1, len(piece.t) // _TELLING)]
        self.fastest = max(self.fastest, _energies(ode, some, piece.evaluate(some)).max())
        low = np.flatnonzero(left < _EDGE * self.rows.full)
        for part in np.split(low, np.flatnonzero(np.diff(low) > 1) + 1) if len(low) else ():
            first, last = max(part[0] - 1, 0), min(part[-1] + 1, len(piece.t) - 1)
            begin, end = float(piece.t[first]), float(piece.t[last])
            nearest = self.rows.closest((begin, end), piece.evaluate)[0]
            times = np.append(np.linspace(begin, end, _SUBSTEPS * _TELLING), nearest)
            energies = _energies(ode, times, piece.evaluate(times))
            if energies.min() <= _STANDS**2 * self.fastest:
                return float(times[np.argmin(energies)])
        return None


def _energies(ode: Ode, times: np.ndarray, states: np.ndarray) -> np.ndarray:
    """Return twice the kinetic energies of the velocities at some states."""
    n, kernel = ode.kernel.size, ode.kernel
    u, p, mass = np.zeros(len(kernel.signature)), ode.p[: kernel.parameters], []
    for t, y in zip(times, states):
        v = y[n : 2 * n]
        mass.append(v @ (numeric(kernel.graph, "mass")(t, y[:n], v, u, p)[0] @ v))
    return np.array(mass)


class _Way:
    """The regular stretch before a singular configuration, as a function of time."""

    def __init__(self, ode: Ode, rows: Rows, t: float, y: np.ndarray, after: float, until: float):
        self.ode, self.rows, self.start, self.n = ode, rows, t, ode.kernel.size
        self.pieces: list[Piece] = []
        # Not a number where nothing is lost on this way.
        self.edge, self.width = np.nan, 0.0
        n, params = self.n, ode.p[: ode.kernel.parameters]
        q, v = projected(ode.kernel.graph, params, t, y[:n], y[n : 2 * n])
        y = np.concatenate([q, v, y[2 * n :]])
        series = has_series(ode.kernel)
        tight = ode if series else replace(ode, rtol=_TIGHT, atol=_TIGHT * ode.atol / ode.rtol)
        walk = (Taylor() if series else Runge()).pieces
        try:
            for piece in walk(tight, t, y, until, grid=np.array([until]), dense=True):
                self.pieces.append(piece)
        except BlowUp:
            pass
        self._after, self._over_it = after, None
        # What has just come over another one may never have been farther from this.
        for share in _EDGES if self.pieces else ():
            self._find_edge(share)
            if np.isfinite(self.edge):
                break

    @property
    def long_enough(self) -> bool:
        """Whether much more of the way is known than is to be leapt over."""
        return self.edge - self.start > _LONG * self.width

    def states(self, times: np.ndarray) -> np.ndarray:
        """Return states at times of the stretch, in any order."""
        states = np.full((len(times), self.ode.kernel.states), np.nan)
        for piece in self.pieces:
            here = (times >= piece.t[0]) & (times <= piece.t[-1])
            if here.any():
                wanted, where = np.unique(times[here], return_inverse=True)
                states[here] = piece.evaluate(wanted)[where]
        return states

    def rank(self, t: float) -> float:
        """Return how far rows are from losing rank at a time."""
        times = np.array([t])
        return float(self.rows.left(times, self.states(times))[0])

    def _find_edge(self, share: float) -> None:
        """Find the last regular time, and how far behind it the rank is lost."""
        self.edge, self.width = np.nan, 0.0
        times = np.unique(np.concatenate([p.t for p in self.pieces]))

        def below(left: np.ndarray) -> float:
            return share * max(self.rows.full, left.max())

        times, left = self.rows.along(times, self.states, below)
        full = max(self.rows.full, left.max())
        regular = left >= share * full
        # What begins beside a singular configuration may pass it before it is regular again.
        begun = int(np.searchsorted(times, self._after))
        first = begun + int(np.argmax(np.append(regular[begun:], True)))
        if left[begun : first + 1].min(initial=np.inf) < _NEARER * min(left[begun], share * full):
            return
        # The first time after a regular one at which the rank is all but lost.
        lost = np.flatnonzero(regular[:-1] & ~regular[1:] & (times[1:] > self._after))
        lost = [k for k in lost if self._loses(times[k:], left[k:], regular[k:], full)]
        if not lost:
            return
        last = int(lost[0])
        # The stretch begins behind the singular configuration before this one, if there was one.
        irregular = np.flatnonzero(~regular[:last])
        self.start = float(times[int(irregular[-1]) + 1] if len(irregular) else times[0])
        low, high = times[last], times[last + 1]
        for _ in range(30):
            middle = (low + high) / 2
            low, high = (middle, high) if self.rank(middle) >= share * full else (low, middle)
        self.edge = float(low)
        # Near its zero the rank goes down evenly.
        here, back = self.rank(low), low
        for part in (1e-3, 1e-2, 0.1):
            back = low - part * (low - self.start)
            if self.rank(back) > 1.3 * here:
                break
        fall = self.rank(back) - here
        self.width = here * (low - back) / fall if fall > 0 else np.inf

    def _loses(self, times: np.ndarray, left: np.ndarray, regular: np.ndarray, full: float) -> bool:
        """Tell whether the rank is lost behind a regular time, and does not merely come near it."""
        back = np.flatnonzero(regular[1:])
        if not len(back):
            return True
        dip = slice(0, int(back[0]) + 2)
        return self.rows.lowest(times[dip], left[dip], self.states, np.inf) <= _LOST * full

    def up_to(self, piece: Piece, end: float) -> Piece:
        """Return what of a piece comes before the edge from which the other side is seen."""
        first = self.start, self.edge, self.width
        seen: tuple[float, Piece | None, tuple] = np.inf, None, first
        for share in _EDGES:
            self._find_edge(share)
            over = None if np.isnan(self.edge) else self._over(end)
            if over is not None and over.error < seen[0]:
                seen = over.error, over, (self.start, self.edge, self.width)
            if seen[0] <= _WELL:
                break
        _, self._over_it, (self.start, self.edge, self.width) = seen
        times = np.array([piece.t[0], self.edge])
        last = self.states(times[1:])[0]
        return Piece(times, self.states, last, piece.steps, exact=True)

    def over(self) -> Piece:
        """Return the piece to the other side.

        Raises `BlowUp` where the motion is not determined, or would not be known well enough.
        """
        if self._over_it is None:
            raise BlowUp(self.edge)
        return self._over_it

    def _over(self, end: float) -> Piece | None:
        if not np.isfinite(self.width) or not self.width > 0:
            return None
        # Sizes are those of the way up to its edge.
        self.__dict__.pop("_sizes", None)
        with np.errstate(all="ignore"):
            seen = self._seen()
        if seen is None:
            return None
        error, length, series, land, moves = seen
        y = self._landed(land, _at(self._scaled(land, length), series)) if moves else None
        if y is None or not self._agrees(land, y, length, series):
            return None
        # Where the span ends within, so does the motion.
        stop = min(land, end)
        last = y if stop == land else _at(self._scaled(stop, length), series)

        def evaluate(times: np.ndarray) -> np.ndarray:
            states = chebyshev.chebval(self._scaled(times, length), series).T
            states[times == stop] = last
            return states

        return Piece(np.array([self.edge, stop]), evaluate, last, 1, exact=True, error=error)

    def _seen(self) -> tuple[float, float, np.ndarray, float, bool] | None:
        """Return a continuation, how well and from how far it is known, and where it lands."""
        for reach in _REACHES:
            several = [
                self._continued(min(part * (self.edge - self.start), _LONGEST * self.width), reach)
                for part in _STRETCHES
            ]
            error, length, series = min(several, key=lambda continued: continued[0])
            if error > _KNOWN:
                return None
            landing = self._other_side(length, series, reach)
            if landing is not None:
                return error, length, series, *landing
        return None

    def _other_side(
        self, length: float, series: np.ndarray, reach: float
    ) -> tuple[float, bool] | None:
        """Return a time behind the gap, and whether the motion goes through it with a speed."""
        times = np.linspace(self.edge, self.edge + reach * self.width, int(_INSTANTS * reach) + 1)
        left = self.rows.left(times, chebyshev.chebval(self._scaled(times, length), series).T)
        entered = np.flatnonzero(left < _NEAR * left[0])
        again = np.flatnonzero(left[entered[0] :] >= 0.9 * left[0]) if len(entered) else entered
        if not len(again):
            return None
        land = int(entered[0] + again[0])
        inside = left[1:land]
        lowest = 1 + np.flatnonzero((inside <= left[: land - 1]) & (inside <= left[2 : land + 1]))

        def evaluate(ts: np.ndarray) -> np.ndarray:
            return chebyshev.chebval(self._scaled(ts, length), series).T

        # Where it is lost, and not at the instant next to that, at which what turns there moves.
        through = [
            self.rows.closest((times[k - 1], times[k + 1]), evaluate)[0]
            for k in lowest
            if left[k] < _NEAR * left[0]
        ]
        return float(times[land]), all(self._moves(t, evaluate(np.array([t]))[0]) for t in through)

    def _scaled(self, t, length: float):
        return 1 + 2 * (t - self.edge) / length

    def _continued(self, length: float, reach: float) -> tuple[float, float, np.ndarray]:
        """Return the polynomial that changes least by one more degree, and by how much it does."""
        land = self.edge + _LANDING * reach * self.width
        sizes = self._sizes
        best, last = (np.inf, length, np.zeros((1, self.ode.kernel.states))), None
        for degree in _DEGREES:
            nodes, fit = _interpolation(degree)
            series = fit @ self.states(self.edge + length * (nodes - 1) / 2)
            there = chebyshev.chebval(self._scaled(land, length), series)
            if last is not None:
                change = float(np.max(np.abs(there - last) / sizes))
                if change < best[0]:
                    best = change, length, series
            last = there
        return best

    @cached_property
    def _sizes(self) -> np.ndarray:
        """Return how large the entries of the state are."""
        n, kernel = self.n, self.ode.kernel
        params = self.ode.p[: kernel.parameters]
        times = np.linspace(self.start, self.edge, 9)
        known = self.states(times)
        # Near a singular configuration rows bend within no length: elsewhere they do not.
        bends = [scales_of(kernel.graph, params, t, y[:n]).length for t, y in zip(times, known)]
        way = np.ptp(known, axis=0)
        length = np.max([*bends, way[:n], self.rows.shape], axis=0)
        speed = np.abs(known[:, n : 2 * n]).max(axis=0)
        length = np.where(length > 0, length, length.max(initial=0.0) or 1.0)
        speed = np.maximum(speed, length * np.max(speed / length, initial=0.0))
        work = way[2 * n :]
        sizes = np.concatenate([length, speed, np.where(work > 0, work, np.inf)])
        return np.where(sizes > 0, sizes, 1.0)

    def _landed(self, t: float, y: np.ndarray) -> np.ndarray | None:
        """Put a state onto the constraints; None where they are far."""
        n, kernel = self.n, self.ode.kernel
        params = self.ode.p[: kernel.parameters]
        if not np.all(np.isfinite(y)):
            return None
        q, v = projected(kernel.graph, params, t, y[:n], y[n : 2 * n])
        landed = np.concatenate([q, v, y[2 * n :]])
        moved = np.abs(landed - y) / self._sizes
        return landed if moved.max() <= 10 * _KNOWN / _EDGE else None

    def _moves(self, t: float, y: np.ndarray) -> bool:
        """Tell whether the motion is at a place with a speed of its own."""
        times = np.linspace(self.start, self.edge, _TELLING)
        known = _energies(self.ode, times, self.states(times)).max()
        here = _energies(self.ode, np.array([t]), y[None, :])[0]
        return bool(here > _STANDS**2 * max(here, known))

    def _agrees(self, t: float, y: np.ndarray, length: float, series: np.ndarray) -> bool:
        """Tell whether the continuation obeys the equations of motion where it lands."""
        slope = chebyshev.chebder(series) * (2 / length)
        rate = chebyshev.chebval(self._scaled(t, length), slope)
        wanted = self.ode.f(t, y)
        n = self.n
        size = np.abs(self.ode.f(self.edge, self.states(np.array([self.edge]))[0]))
        places, speed = self._sizes[:n], self._sizes[n : 2 * n]
        # What turns evenly has accelerations, too, which other coordinates show.
        even = speed * np.max(speed / places)
        biggest = np.maximum(np.maximum(np.abs(wanted), size)[n : 2 * n], even)
        return bool(np.all(np.abs(rate - wanted)[n : 2 * n] <= _AGREES * biggest))


@lru_cache(maxsize=64)
def _interpolation(degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes in (−1, 1), and the matrix that makes a series of values there."""
    nodes = chebyshev.chebpts1(degree + 1)
    return nodes, np.linalg.inv(chebyshev.chebvander(nodes, degree))


def _at(x: float, series: np.ndarray) -> np.ndarray:
    return np.asarray(chebyshev.chebval(x, series))
