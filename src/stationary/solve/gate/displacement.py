"""Coordinates go the way that velocities add up to, between all times that are told."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sparse
from numpy.lib.stride_tricks import sliding_window_view

from stationary.result.slide import Slide
from stationary.solve.gate.finding import Finding
from stationary.solve.gate.state import State
from stationary.solve.sliding.problem.known_times import known_times
from stationary.solve.sliding.problem.question import sliding_of

# Kronrod's five nodes on (−1, 1) with their weights, and those of Gauss's two among them: what both
# rules differ by is not known.
_NODES = np.array([-np.sqrt(6 / 7), -np.sqrt(1 / 3), 0.0, np.sqrt(1 / 3), np.sqrt(6 / 7)])
_KRONROD = np.array([98 / 495, 27 / 55, 28 / 45, 27 / 55, 98 / 495])
_GAUSS = np.array([0.0, 1.0, 0.0, 1.0, 0.0])
# Over some intervals of one length velocities that are told add up by themselves: where nothing
# turns over one, over four by Boole's rule, with Simpson's beside it, over eight by Romberg's, with
# Boole's beside it.
_MEAN, _FIRST = np.array([1, 1]) / 2, np.array([1, 0])
_BOOLE, _SIMPSON = np.array([7, 32, 12, 32, 7]) / 90, np.array([1, 4, 2, 4, 1]) / 12
_BOOLE_TWICE = np.array([7, 32, 12, 32, 14, 32, 12, 32, 7]) / 180
_ROMBERG = (64 * _BOOLE_TWICE - np.kron(_BOOLE, [1, 0])[:-1]) / 63
_RULES = ((_MEAN, _FIRST), (_BOOLE, _SIMPSON), (_ROMBERG, _BOOLE_TWICE))
# What does not add up is divided into so many parts, down to this share of an interval: where
# velocities grow without bound no rule says much.
_PARTS, _FINEST = 3, 1 / 100
# What goes this little beside what bends, or slips with it, hardly moves.
_HARDLY = 1e-3
# So many looks between times are free; else as many as the motion took steps, each of which looked
# more than ten times.
_LOOKS = 200


def way(slide: Slide, rtol: float, last: State) -> list[Finding]:
    """Measure q(t₂) − q(t₁) − ∫ v dt, beside the lengths at work."""
    t, n = slide.t, slide.kernel.size
    span = float(t[-1] - t[0])
    if slide.dense is None or not span > 0:
        return []
    q, v = slide.y[:, :n], slide.y[:, n : 2 * n]
    lengths = _lengths(last)
    rounding = 16 * np.spacing(np.abs(q).max(axis=0))
    # What is stated in time may switch or peak between two times.
    sliding = sliding_of(slide.system)
    known = known_times(sliding, slide.drives, slide.params, float(t[0]), float(t[-1])).stops
    events = np.unique(np.concatenate([known, *map(np.ravel, slide.events)]))
    off, doubt, seen = [], [], np.zeros(len(t) - 1, dtype=bool)
    ends = np.zeros(0, dtype=int)
    for rule, beside in _RULES:
        first, went, unsure = _ways_between(t, v, events, rule, beside)
        wide = len(rule) - 1
        left, small = np.abs(q[first + wide] - q[first] - went), rtol * lengths
        # Velocities that turn fast between two times are looked at more closely.
        clear = np.all((unsure <= 0.1 * small) & (left <= small + rounding), axis=1)
        first = first[clear]
        off, doubt = [*off, left[clear]], [*doubt, unsure[clear]]
        ends = np.append(ends, first + wide)
        seen[first[:, None] + np.arange(wide)] = True
    unseen = np.flatnonzero(~seen)
    # Where there is too much to look at, what is looked at is spread over all of it.
    most = max(_LOOKS, slide.steps) // len(_NODES)
    unseen = unseen[:: 1 + len(unseen) // (most + 1)]
    if len(unseen):
        states, small = slide.dense, rtol * lengths + rounding
        moved = _between(lambda at: states(at)[:, n : 2 * n], t, q, events, unseen, small, most)
        off, doubt, ends = [*off, moved[0]], [*doubt, moved[1]], np.append(ends, unseen + 1)
    if not len(ends):
        return []
    left, allowed = np.vstack(off), rtol * lengths + np.vstack(doubt) + rounding + 1e-300
    i, j = np.unravel_index(np.argmax(left / allowed), allowed.shape)
    where = f"'{slide.kernel.layout.name(int(j))}' up to t = {t[ends[i]]:.6g}"
    sizes = float(left[i, j]), float(allowed[i, j])
    return [Finding("it goes where velocities lead:", where, *sizes)]


def _lengths(last: State) -> np.ndarray:
    """Return a move of each coordinate that matters.

    What hardly moves is measured by what bends, and by how far others go that slip with it or are
    held to it: a part that is pushed along one axis and turns keeps its other place to the digits
    of its slips.
    """
    scales = last.scales
    lengths = np.maximum(
        scales.length, _HARDLY * np.where(np.isfinite(scales.bend), scales.bend, 0)
    )
    ties = [sparse.coo_matrix(abs(rows)) for rows in (last.slips[1], last.holds[2])]
    for _ in range(2):
        lengths = np.maximum.reduce([lengths, *(_tied(rows, lengths) for rows in ties)])
    return lengths


def _tied(rows: sparse.coo_matrix, lengths: np.ndarray) -> np.ndarray:
    """Return how far coordinates would hardly go if rows went as far by them as by others."""
    largest, with_it = np.zeros_like(lengths), np.zeros_like(lengths)
    np.maximum.at(largest, rows.col, rows.data)
    some = rows.data > _HARDLY * largest[rows.col]
    np.maximum.at(with_it, rows.col[some], (rows @ lengths)[rows.row[some]] / rows.data[some])
    return _HARDLY * with_it


def _ways_between(
    t: np.ndarray, v: np.ndarray, events: np.ndarray, rule: np.ndarray, beside: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add up velocities over times of one distance at which they are told, between changes.

    Returns where such a run begins, the way over it, and by how much that is uncertain.
    """
    wide = len(rule) - 1
    first = np.arange(len(t) - wide)
    if not len(first):
        return first, v[:0], v[:0]
    span, last = t[-1] - t[0], first + wide
    steps = sliding_window_view(np.diff(t), wide)
    near = np.searchsorted(events, [t[first] - 1e-6 * span, t[last] + 1e-6 * span])
    fits = (np.ptp(steps, axis=1) <= 1e-9 * span) & (near[0] == near[1])
    runs = sliding_window_view(v, wide + 1, axis=0)[fits]
    lasts = (t[last] - t[first])[fits, None]
    went = lasts * (runs @ rule)
    return first[fits], went, np.abs(went - lasts * (runs @ beside))


def _between(
    velocities: Callable[[np.ndarray], np.ndarray], t: np.ndarray, q: np.ndarray,
    events: np.ndarray, which: np.ndarray, small: np.ndarray, most: int,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return what is left of the ways over intervals, and by how much that is uncertain.

    After `most` parts have been looked at only what seems to be wrong is looked at more closely.
    """
    cuts = np.union1d(t, events[(events > t[0]) & (events < t[-1])])
    a, b = cuts[:-1], cuts[1:]
    chosen = np.isin(np.searchsorted(t, a, side="right") - 1, which)
    a, b = a[chosen], b[chosen]
    went, doubt = _added(velocities, a, b)
    while True:
        owner = np.searchsorted(which, np.searchsorted(t, a, side="right") - 1)
        ways, doubts = np.zeros((2, len(which), q.shape[1]))
        np.add.at(ways, owner, went)
        np.add.at(doubts, owner, doubt)
        off = np.abs(q[which + 1] - q[which] - ways)
        # Velocities that turn almost at once, as where a foot nearly rests, are looked at more
        # closely; they may deceive both rules.
        unsure = np.any(off > small + doubts, axis=1)[owner]
        unsure |= np.any(doubt > small, axis=1) & (len(a) < most)
        unsure &= b - a > _FINEST * np.diff(t)[which[owner]]
        if not unsure.any():
            return off, doubts
        edges = np.linspace(a[unsure], b[unsure], _PARTS + 1)
        first, last = edges[:-1].ravel(), edges[1:].ravel()
        parts = first, last, *_added(velocities, first, last)
        a, b, went, doubt = (
            np.concatenate([x[~unsure], y]) for x, y in zip((a, b, went, doubt), parts)
        )


def _added(
    velocities: Callable[[np.ndarray], np.ndarray], a: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ways from some times to others, and by how much these are uncertain."""
    half = (b - a)[:, None] / 2
    rates = velocities(((a + b)[:, None] / 2 + half * _NODES).ravel())
    rates = rates.reshape(len(a), len(_NODES), -1)
    went, less = (half * np.einsum("ijk,j->ik", rates, rule) for rule in (_KRONROD, _GAUSS))
    return went, 10 * np.abs(went - less)
