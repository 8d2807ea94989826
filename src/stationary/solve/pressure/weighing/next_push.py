"""The push that would tell most about what the others leave open."""

from __future__ import annotations

import numpy as np

from stationary.model.polygon import area
from stationary.model.push import Push
from stationary.model.system import System
from stationary.solve.pressure.region import hull
from stationary.solve.pressure.weighing.expected import Fingers, expected
from stationary.solve.pressure.weighing.search import Fitted, Search
from stationary.solve.pressure.weighing.uncertain import Uncertain

# Places along each line, from end to end, and how often those between the best are looked at.
_PLACES, _ENDS, _FINER = 6, 0.04, 4
# Pushes that are not along the normals of edges (by this cosine) have directions of their own;
# where these are many, so many are looked at all around.
_SQUARE, _MANY, _WAYS = 0.98, 8, 24
# The least share of a motion that is its error.
_EXACT = 1e-4
# Loads of feet that are as likely as those found, where these may be off by so large a share: a
# push is to tell much under each of them.
_DRAWN, _VAGUE = 4, 0.1
# A disc is pushed at so many places.
_AROUND = 24


def next_push(part: System, search: Search, fitted: Fitted, known: Uncertain) -> Push | None:
    """Return the push after which the squares of the errors of all loads sum up to least.

    Its finger is smooth, goes as far as the others and is read as well. What no push has told so
    far counts as known to all of the loads together.
    """
    measured, count = search.measured, len(fitted.load)
    sigma, covariance = known.sigma, known.covariance
    if sigma < _EXACT:
        sigma, covariance = _EXACT, _EXACT**2 * known.spread @ known.spread.T
    open_ = count * known.directions
    values, vectors = np.linalg.eigh(covariance + open_.T @ open_)
    if not values[-1] > 0:
        return None
    spread = vectors * np.sqrt(np.maximum(values, 0.0))
    loads = measured.shapes @ spread[:count]
    whole = float((loads**2).sum())
    corners = _body(part, search)
    first, last, normals = _lines(search, corners)
    share = np.linspace(_ENDS, 1 - _ENDS, _PLACES)
    line, share = np.repeat(np.arange(len(first)), _PLACES), np.tile(share, len(first))
    likely = _likely(search, fitted, spread)
    for k in range(_FINER):
        places = first[line] + share[:, None] * (last - first)[line]
        left = np.zeros(len(places))
        for load in likely:
            G = _slopes(search, fitted, load, places, normals[line]) @ spread / sigma
            # What the covariance loses to one more push whose errors are one (Woodbury's identity).
            _, s, V = np.linalg.svd(G, full_matrices=False)
            learned = s**2 / (1 + s**2)
            gain = (learned[:, None] * (loads @ V.transpose(0, 2, 1)) ** 2).sum(axis=(1, 2))
            left += np.log(np.maximum(whole - gain, 1e-12 * whole))
        best = np.argsort(left, kind="stable")[: 1 if k == _FINER - 1 else 6]
        step = (1 - 2 * _ENDS) / (_PLACES - 1) / 3 ** (k + 1)
        beside = share[best] + step * np.array([0, -1, 1])[:, None]
        line, share = np.tile(line[best], 3), np.clip(beside.ravel(), _ENDS, 1 - _ENDS)
    place = first[line[0]] + share[0] * (last - first)[line[0]]
    normal = normals[line[0]]
    return _push(search, fitted, _touched(corners, place, normal), normal)


def _likely(search: Search, fitted: Fitted, spread: np.ndarray) -> list[np.ndarray]:
    """Return the loads, and others of feet that are as likely: what is best for all of them."""
    load, stated, count = fitted.load, search.stated, len(fitted.load)
    vague = np.linalg.norm(spread[:count], axis=1).max() > _VAGUE * load.mean()
    if search.measured.bends is not None or not vague:
        return [load]
    chosen = np.random.default_rng(0).normal(size=(_DRAWN, spread.shape[1]))
    drawn = load + chosen @ spread[:count].T
    least = 0.02 * load.mean()
    # Reflected at zero: loads that are hardly known are anywhere.
    drawn = np.maximum(np.abs(drawn) % (2 * load.sum()), least)
    return [load, *(stated.kept(one) for one in drawn)]


def _body(part: System, search: Search) -> np.ndarray:
    """Return the corners of what is pushed: the outline, or what feet and fingers span."""
    measured = search.measured
    support = next((p.support for p in part.parts if p.support is not None), None)
    if support is not None and support.kind == "disc":
        angle = 2 * np.pi * np.arange(_AROUND) / _AROUND
        corners = support.radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        return (corners - measured.origin) / measured.size
    if support is not None and support.kind == "outline":
        corners = np.array(support.points)
        corners = corners if area(corners) > 0 else corners[::-1]
        return (corners - measured.origin) / measured.size
    return hull(np.vstack([measured.x, measured.place]))


def _lines(search: Search, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lines along which a finger may be put, from where to where, and its normal there.

    Along the edges of an outline. Across all of a part on feet, whose edges are not known: along
    those between its feet, and as others have pushed.
    """
    measured = search.measured
    area_ = measured.support.patch is not None
    first = corners if area_ else hull(measured.x)
    last = np.roll(first, -1, axis=0)
    long = np.hypot(*(last - first).T)
    first, last, long = (a[long > 1e-6] for a in (first, last, long))
    along = (last - first) / long[:, None]
    normals = np.stack([-along[:, 1], along[:, 0]], axis=1)
    directions = np.zeros((0, 2))
    for way in measured.normal:
        if (np.vstack([normals, directions]) @ way).max(initial=-1.0) < _SQUARE:
            directions = np.vstack([directions, way])
    if len(directions) > _MANY:
        angle = 2 * np.pi * np.arange(_WAYS) / _WAYS
        directions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ways = directions if area_ else np.vstack([normals, directions])
    across = np.stack([-ways[:, 1], ways[:, 0]], axis=1)
    reach, behind = corners @ across.T, (corners @ ways.T).min(axis=0)
    ends = [behind[:, None] * ways + bound[:, None] * across
            for bound in (reach.min(axis=0), reach.max(axis=0))]  # fmt: skip
    if not area_:
        return ends[0], ends[1], ways
    return np.vstack([first, ends[0]]), np.vstack([last, ends[1]]), np.vstack([normals, ways])


def _touched(corners: np.ndarray, place: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Return where a finger that goes along its normal comes to the part."""
    first, way = corners, np.roll(corners, -1, axis=0) - corners
    across = np.array([-normal[1], normal[0]])
    slope, off = way @ across, (place - first) @ across
    rounding = 1e-12 * np.abs(way).max()
    share = np.divide(off, slope, out=np.full(len(off), np.nan), where=np.abs(slope) > rounding)
    with np.errstate(invalid="ignore"):
        met = (share >= -1e-9) & (share <= 1 + 1e-9)
    ahead = ((first + share[:, None] * way - place) @ normal)[met]
    ahead = ahead[ahead >= -1e-9]
    return place + normal * ahead.min() if len(ahead) else place


def _slopes(
    search: Search, fitted: Fitted, load: np.ndarray, places: np.ndarray, normals: np.ndarray
) -> np.ndarray:
    """Return how pushes change with the unknowns: motions up to their speeds, and forces."""
    measured, count = search.measured, len(fitted.load)
    fingers = Fingers.smooth(places, normals)
    moved = expected(measured.support, fingers, load, 0.0, fingers.lines(0.0))
    far = np.maximum(measured.speeds.mean(), 1e-300)
    twist, slope = far * moved.twist, far * moved.slope[..., :count]
    root = measured.roots.mean(axis=0)[None]
    if measured.relative:
        root = np.linalg.norm(twist, axis=1)[:, None, None] * np.eye(3)
    u, d = np.linalg.solve(root, twist[..., None])[..., 0], np.linalg.solve(root, slope)
    long = (u**2).sum(axis=1)[:, None, None]
    rows = d - u[..., None] * (u[:, None] @ d) / long
    if measured.pressed.all():
        error = measured.force_error.mean()
        if measured.relative:
            error = moved.force[:, 0, None, None]
        rows = np.concatenate([rows, moved.force_slope[:, :1, :count] / error], axis=1)
    # Its finger is smooth: that of the others is none of its business.
    return np.pad(rows, ((0, 0), (0, 0), (0, fitted.J.shape[1] - count)))


def _push(search: Search, fitted: Fitted, place: np.ndarray, normal: np.ndarray) -> Push:
    """Return a push of unit length, with the motion that is expected of it."""
    measured = search.measured
    moved = expected(measured.support, Fingers.smooth(place[None], normal[None]), fitted.load, 0.0)
    twist = moved.twist[0] / np.linalg.norm(moved.twist[0])
    turn = twist[2] / measured.size
    v = twist[:2] - turn * np.array([-measured.origin[1], measured.origin[0]])
    return Push(point=tuple(place * measured.size + measured.origin), normal=tuple(normal + 0.0),
                motion=(float(v[0]), float(v[1]), float(turn)))  # fmt: skip
