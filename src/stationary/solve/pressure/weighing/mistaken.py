"""What pushes that contradict each other may have meant: other angles, units, frames or signs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from stationary.model.push import Push
from stationary.solve.pressure.weighing.search import Search

# Another reading is named if most pushes then miss the fit by less than this share of themselves,
# and by less than this share of what they miss it by as they are given.
_FITS, _CLOSER = 0.1, 0.3
# Readings that miss it by no more than so many times the least are as likely: of a part that
# is its own mirror image, mirrored and turned.
_ALIKE = 1.5
# Fingers touch a part within so many of its sizes.
_NEAR = 10.0


def likely(search: Search) -> str:
    """Return in words how the pushes are read so that they agree; "" if no other way helps."""
    given = search.measured
    plain = [replace(p, noise=None) for p in given.pushes]
    missed, misses = np.inf, {}
    near = np.median(np.hypot(*given.place.T)) < _NEAR
    for name, pushes in (("", plain), *_mistakes(plain, bool(near))):
        measured = given.of(pushes)
        none = {*measured.idle, *measured.backing, *measured.pulling}
        usable = [k for k in range(len(pushes)) if k not in none]
        if len(usable) < max(2, 0.6 * len(pushes)):
            continue
        other = replace(search, measured=given.of([pushes[k] for k in usable]))
        load, mu = other.starts()[0]
        left = float(np.median(other.measured.per_push(other.descended(load, mu, 1e-3).r)))
        if name:
            misses[name] = left
        else:
            missed = left
    enough = min(_FITS, _CLOSER * missed, _ALIKE * min(misses.values(), default=np.inf))
    return "; or if ".join(
        name for name in sorted(misses, key=misses.__getitem__) if misses[name] <= enough
    )


def _mistakes(pushes: list[Push], near: bool) -> Iterator[tuple[str, list[Push]]]:
    def every(change: Callable[[Push], dict]) -> list[Push]:
        return [replace(p, **change(p)) for p in pushes]

    yield "angles are given in degrees: give radians", every(lambda p: _turned(p, np.pi / 180))
    yield "angles count clockwise: change their sign", every(lambda p: _turned(p, -1.0))
    for axis, signs in (("y", (1, -1)), ("x", (-1, 1))):
        yield (
            f"everything is mirrored: change the sign of {axis} and of angles",
            every(lambda p, s=signs: _mirrored(p, s)),
        )
    yield (
        "normals point out of the part: change their sign",
        every(lambda p: {"normal": tuple(-x for x in p.normal)}),
    )
    for angle in (90, -90, 180):
        turn = f"turned by {angle}°"
        yield (
            f"the motions are {turn}",
            every(lambda p, a=angle: _motion(p, np.radians(a))),
        )
        yield (
            f"points, normals and motions are {turn}",
            every(lambda p, a=angle: _whole(p, np.radians(a))),
        )
    for factor, name in ((1e-3, "1/1000"), (1e3, "1000")):
        unit = f"are in another unit than the part: multiply them by {name}"
        if near:
            yield f"motions {unit}", every(lambda p, f=factor: _scaled(p, f))
        elif factor < 1:
            by = every(lambda p, f=factor: {"point": tuple(f * x for x in p.point)})
            yield f"points {unit}", by
    felt = any(p.force is not None and len(p.force) == 2 for p in pushes)
    if any(p.force is not None for p in pushes):
        for angle in (180, 90, -90)[: 3 if felt else 1]:
            how = "have the other sign" if angle == 180 else f"are turned by {angle}°"
            yield f"the forces {how}", every(lambda p, a=angle: _forced(p, np.radians(a)))
    if all(p.before is not None for p in pushes):
        if felt:
            yield (
                "forces are in the frame of the table: give them in the part's own",
                every(lambda p: {"force": _own(p, p.force)}),
            )
            yield (
                "forces on the table are in the frame of the part",
                every(lambda p: _forced(p, p.before[2] + p.twist[2] / 2)),
            )
        if any(p.finger is not None for p in pushes):
            yield (
                "the motions of the finger are in the frame of the table: give them in the part's",
                every(lambda p: {"finger": _own(p, p.finger)}),
            )


def _turned(push: Push, factor: float) -> dict:
    return {
        word: (*value[:2], factor * value[2])
        for word in ("motion", "before", "after")
        if (value := getattr(push, word)) is not None
    }


def _mirrored(push: Push, signs: tuple[int, int]) -> dict:
    """Return everything seen from below the table."""
    sign = {2: signs, 3: (*signs, -1)}
    words = ("point", "normal", "motion", "before", "after", "finger", "force")
    return {
        word: tuple(s * x for s, x in zip(sign[len(value)], value))
        for word in words
        if (value := getattr(push, word)) is not None and len(value) > 1
    }


def _rotated(way: Any, angle: float) -> tuple[float, float]:
    c, s = np.cos(angle), np.sin(angle)
    return float(c * way[0] - s * way[1]), float(s * way[0] + c * way[1])


def _motion(push: Push, angle: float) -> dict:
    """Return the motion in a frame that is turned."""
    finger = None if push.finger is None else _rotated(push.finger, angle)
    return {"motion": (*_rotated(push.twist, angle), float(push.twist[2])), "before": None,
            "after": None, "finger": finger}  # fmt: skip


def _whole(push: Push, angle: float) -> dict:
    """Return everything in a frame that is turned."""
    ways = {word: _rotated(getattr(push, word), angle) for word in ("point", "normal")}
    if push.force is not None and len(push.force) == 2:
        ways["force"] = _rotated(push.force, angle)
    return {**_motion(push, angle), **ways}


def _forced(push: Push, angle: float) -> dict:
    """Return the force turned; along the normal alone it has another sign."""
    if push.force is None:
        return {}
    return {"force": _rotated(push.force, angle) if len(push.force) == 2 else -push.force[0]}


def _scaled(push: Push, factor: float) -> dict:
    return {
        word: (factor * value[0], factor * value[1], *value[2:])
        for word in ("motion", "before", "after", "finger")
        if (value := getattr(push, word)) is not None
    }


def _own(push: Push, given: tuple[float, ...] | None) -> tuple[float, ...] | None:
    if given is None or len(given) != 2:
        return given
    angle = push.before[2] + push.twist[2] / 2
    c, s = np.cos(angle), np.sin(angle)
    return (c * given[0] + s * given[1], c * given[1] - s * given[0])


# -- records that a part cannot tell apart ---------------------------------------------------------

# How close corners come to others, in sizes of the part, if it looks the same.
_SAME = 1e-6
# Turns that a frame may be off by without anybody's seeing it, in parts of a whole one.
_TURNS = (2, 3, 4, 5, 6, 8)


def looks_alike(
    corners: np.ndarray, points: np.ndarray, weights: np.ndarray, intervals: np.ndarray
) -> str:
    """Say in which other ways a record may have been seen that would fit as well.

    A part that is its own mirror image moves in a mirror like one with its loads mirrored. No push
    tells them apart; nothing is said where the loads of both are the same within their intervals.
    """
    if not len(corners):
        return ""
    ways = []
    mirrors = {"y": (1.0, -1.0), "x": (-1.0, 1.0)}
    named = [f"mirrored ({k} and angles with the other sign)" for k in mirrors]
    every = [np.diag(s) for s in mirrors.values()]
    for count in _TURNS:
        c, s = np.cos(2 * np.pi / count), np.sin(2 * np.pi / count)
        every.append(np.array([[c, -s], [s, c]]))
        named.append(f"turned by {360 // count}°")
    for name, way in zip(named, every):
        if _maps(corners, corners @ way.T) is None:
            continue
        seen = _maps(points, points @ way.T)
        other = weights[seen] if seen is not None else None
        low, high = intervals.T
        if other is None or np.any((other < low) | (other > high)):
            ways.append(name)
    if not ways:
        return ""
    return (f"the part looks the same {' or '.join(ways)}: a record seen like that fits as well, "
            "with other loads, and only centre= can tell")  # fmt: skip


def _maps(points: np.ndarray, moved: np.ndarray) -> np.ndarray | None:
    """Return which of some points each one that was moved falls on, if all of them do."""
    far = np.hypot(*(moved[:, None] - points[None]).transpose(2, 0, 1))
    size = float(np.hypot(*points.T).max())
    return far.argmin(axis=1) if np.all(far.min(axis=1) <= _SAME * size) else None
