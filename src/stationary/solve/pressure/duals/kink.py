"""Ends at kinks: the part turns about a corner, a foot or a place of an edge that bears load.

Beside such a motion that place itself moves, along any direction ê, while all others go on as they
do. Beyond the end are the motions with ê in one half of the circle; a finger that sticks leaves one
of them. For each ê a dual

    g(x) = w(x)·v̂(x) − λ·x > 0   on the support, with v̂ = ê at that place,

leaves no pressure in balance next to this motion, and one dual serves a range of directions: a few
of them serve the half. Points close by go along what is between ê and the directions in which the
sides go; where the new centre of rotation is inside the part, along whatever they like. A place of
an edge is a corner of two right angles.
"""

from __future__ import annotations

import numpy as np

from stationary.solve.pressure.duals.lowest import lowest
from stationary.solve.pressure.envelope import centre_of, field
from stationary.solve.pressure.programs.simplex import solved
from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.support import REACH, Rest

# How close a motion turns about a corner, and what is more than rounding of a dual.
_ON, _ROUNDING = 1e-9, 1e-12
# How far from an edge, in sizes of the part, a place may be for the search to have meant it.
_BESIDE = 1e-7
# Ranges of directions are halved so often.
_HALVES = 7
# Directions by which a range is sampled before it is bounded.
_STEP = np.radians(6)


def kinked(
    rest: Rest, mode: Mode, twist: np.ndarray, functional: np.ndarray
) -> tuple[np.ndarray, float] | None:
    """Return λ and w of the duals that leave no pressure beyond, and their least value; or none."""
    cornered = _cornered(rest, twist)
    if cornered is None:
        return None
    rest, corner, twist = cornered
    c = rest.corners[corner]
    ranges = _beyond(mode, twist, functional, c)
    if ranges is None:
        return None
    todo, ways = ranges
    # A finger that sticks gives any force of its cone.
    positive = np.array([k >= len(ways) for k in range(len(ways) + len(mode.cone))] + [False] * 2)
    ways = ways + [-w for w in mode.cone]
    wedge, far_corners, fixed = _around(rest, corner, np.sign(twist[2]))
    # All rows are of w·v̂ for the witnesses, and of −λ·x.
    places = np.vstack([_samples(rest, c, far_corners), fixed[0]])
    v = field(twist, places)
    v = np.vstack([v[: len(v) - len(fixed[0])], fixed[1]])
    e = v / np.hypot(*v.T)[:, None]
    rows = np.column_stack([*((field(w, places) * e).sum(axis=1) for w in ways), -places])
    arms = np.stack([field(w, c) for w in ways], axis=1)
    duals, least = [], np.inf
    while todo:
        first, wide = todo.pop()
        span = _reached(wedge, first, wide)
        angle = np.linspace(span[0], span[1], int(np.ceil((span[1] - span[0]) / _STEP)) + 2)
        ends = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        near = np.column_stack([ends @ arms, np.tile(-c, (len(ends), 1))])
        y = _best(np.vstack([rows, near]), positive)
        witness = sum((k * w for k, w in zip(y, ways)), np.zeros(3))
        affine = np.array([0.0, *y[-2:]])
        border = lowest(rest, twist[None], witness[None], affine[None])[0]
        low = min(
            float((rows[len(places) - len(fixed[0]) :] @ y).min(initial=np.inf)),
            float(border[far_corners].min(initial=np.inf)),
            _on_arc(arms @ y[:-2], span) - float(c @ y[-2:]),
        )
        if low > _ROUNDING:
            duals.append((-affine, witness))
            least = min(least, low)
        elif wide <= np.pi / 2**_HALVES:
            return None
        else:
            todo += [(first, wide / 2), (first + wide / 2, wide / 2)]
    return np.array(duals), least


def _cornered(rest: Rest, twist: np.ndarray) -> tuple[Rest, int, np.ndarray] | None:
    """Return the support with a corner about which a motion turns, its number, and the motion."""
    q = centre_of(twist)
    if q is None or rest.radius:
        return None
    corner = int(np.hypot(*(rest.corners - q).T).argmin())
    if np.hypot(*(rest.corners[corner] - q)) <= _ON * REACH:
        return rest, corner, twist
    if rest.feet:
        return None
    a, way, _ = rest.lines
    share = ((q - a) * way).sum(axis=1) / (way**2).sum(axis=1)
    far = np.hypot(*(q - a - share[:, None] * way).T)
    far = np.where((share > 0) & (share < 1), far, np.inf)
    edge = int(far.argmin())
    if far[edge] > _BESIDE * REACH:
        return None
    place = a[edge] + share[edge] * way[edge]
    corners = np.insert(rest.corners, edge + 1, place, axis=0)
    turned = np.array([place[1], -place[0], 1.0]) * twist[2]
    return Rest(corners), edge + 1, turned


def _beyond(
    mode: Mode, twist: np.ndarray, functional: np.ndarray, c: np.ndarray
) -> tuple[list[tuple[float, float]], list[np.ndarray]] | None:
    """Return the ranges of directions in which a corner may begin to move, and witnesses."""
    if mode.free.shape[1] == 1:
        way = mode.free[:, 0] * np.sign(functional @ mode.free[:, 0])
        v = field(way, c)
        if not np.hypot(*v) > _ON * REACH * np.linalg.norm(way):
            return None
        return [(float(np.arctan2(v[1], v[0])), 0.0)], [way]
    if mode.force is None or mode.free.shape[1] != 2:
        return None
    slips = mode.guard is None or mode.guard @ twist > _ON * np.linalg.norm(mode.guard)
    moves = np.stack([field(w, c) for w in mode.free.T], axis=1)
    if not slips or abs(np.linalg.det(moves)) < _ON * REACH:
        return None
    beyond = np.linalg.solve(moves.T, mode.free.T @ functional)
    first = float(np.arctan2(beyond[1], beyond[0])) - np.pi / 2
    return [(first, np.pi)], [mode.balance(w, twist) for w in mode.free.T]


def _around(
    rest: Rest, corner: int, sense: float
) -> tuple[tuple[float, float] | None, np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Return what surrounds a corner about which a part turns.

    The middle and the half width of the directions in which points close to it go, the pieces of
    the border that do not meet it, and on those that do its far ends and the corner itself, with
    the directions in which they go.
    """
    count = len(rest.corners)
    c = rest.corners[corner]
    every = np.arange(count if rest.feet else rest.pieces)
    if rest.feet:
        return None, np.delete(every, corner), (np.zeros((0, 2)), np.zeros((0, 2)))
    if count == 2:
        sides, far_corners = rest.corners[[1 - corner]] - c, every[:0]
    else:
        after, before = (corner + 1) % count, (corner - 1) % count
        sides = rest.corners[[after, before] if rest.sense > 0 else [before, after]] - c
        far_corners = np.delete(every, [corner, before])
    goes = sense * np.stack([-sides[:, 1], sides[:, 0]], axis=1)
    angle = np.arctan2(goes[:, 1], goes[:, 0])
    wide = (angle[-1] - angle[0]) % (2 * np.pi)
    ends = np.vstack([c + sides, np.tile(c, (len(sides), 1))])
    return (angle[0] + wide / 2, wide / 2), far_corners, (ends, np.vstack([goes, goes]))


def _samples(rest: Rest, c: np.ndarray, far_corners: np.ndarray) -> np.ndarray:
    """Return points of pieces of the border, also where they pass close by a corner."""
    if rest.feet:
        return rest.corners[far_corners]
    edges, along = rest.grid
    close, places, _ = rest.beside(c)
    edges, along = np.append(edges, close), np.append(along, places)
    kept = np.isin(edges, far_corners)
    ends = np.vstack([rest.corners[far_corners], np.roll(rest.corners, -1, axis=0)[far_corners]])
    return np.vstack([rest.at(edges[kept], along[kept])[0], ends])


def _reached(wedge: tuple[float, float] | None, first: float, wide: float) -> tuple[float, float]:
    """Return the directions in which points close to the corner go, for a range of its own."""
    if wedge is None:
        return first, first + wide
    middle, half = wedge
    low = (first - middle + np.pi) % (2 * np.pi) - np.pi
    if low < half - np.pi - _ON or low + wide > np.pi - half + _ON:
        # The centre of rotation moves into the part, or may do so.
        return 0.0, 2 * np.pi
    return middle + min(low, -half), middle + max(low + wide, half)


def _on_arc(w: np.ndarray, span: tuple[float, float]) -> float:
    """Return the least of w·d over unit vectors d of a span of angles."""
    against = np.arctan2(-w[1], -w[0])
    if (against - span[0]) % (2 * np.pi) <= span[1] - span[0]:
        return -float(np.hypot(*w))
    return float(min(w @ (np.cos(a), np.sin(a)) for a in span))


def _best(rows: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Return the y of entries up to one for which the least of rows @ y is greatest.

    The dual: masses that sum up to one, for which the sizes of masses @ rows sum up to least; of
    entries that are `positive` what is below zero costs nothing.
    """
    count, width = rows.shape
    one = np.eye(width)
    A = np.vstack([np.hstack([rows.T, one, -one]), np.append(np.ones(count), np.zeros(2 * width))])
    cost = np.concatenate([np.zeros(count), np.where(positive, 0.0, 1.0), np.ones(width)])
    vertex = solved(A, np.append(np.zeros(width), 1.0), cost)
    return -vertex.dual[:width]
