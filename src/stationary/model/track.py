"""From a recorded track, poses of a part and the way of the tip that pushes it, to short pushes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stationary.errors import StatementError, say
from stationary.model.polygon import area, polygon

# A tip this far from the outline, in sizes of the part, touches it still: outlines are measured.
_TOUCHES = 0.05
# A reading that is off by so many times what readings usually change by is a jump.
_JUMPS = 20.0
# How far a part goes in one push: in its sizes, and in errors of a reading at least.
_FAR, _SEEN = 0.08, 12.0
# The fewest readings that a push is fitted to.
_FEW = 5


class Pushes(list):
    """Pushes cut from a track, and in words what was left out of it."""

    told: str = ""


def cut(
    push: Any, poses: Any, tip: Any, outline: Any, radius: float, force: Any, far: float | None
) -> Pushes:
    """Return short pushes of type `push` from readings of one track."""
    poses, tip = _table("poses", poses, 3), _table("tip", tip, 2)
    force = None if force is None else _table("force", force, 2)
    corners = polygon(outline)
    corners = corners if area(corners) > 0 else corners[::-1]
    given = [poses, tip] + ([] if force is None else [force])
    if len({len(a) for a in given}) != 1:
        raise StatementError(
            say(
                "the readings of a track do not go together.",
                f"Found {', '.join(str(len(a)) for a in given)} rows of poses, tip and force.",
                "Give one row of each for every reading.",
            )
        )
    whole = np.all([np.all(np.isfinite(a), axis=1) for a in given], axis=0)
    kept = np.flatnonzero(whole)
    if len(kept) < _FEW:
        raise StatementError(
            say(
                "a track is too short to be cut into pushes.",
                f"Found {len(kept)} readings that are finite, of {len(whole)}.",
                f"Give {_FEW} or more: rows (x, y, angle) of the part, (x, y) of the tip.",
            )
        )
    poses, tip = poses[kept].copy(), tip[kept]
    force = None if force is None else force[kept]
    poses[:, 2] = np.unwrap(poses[:, 2])
    size = float(np.hypot(*(corners - corners.mean(axis=0)).T).max())
    place, normal, edge, gap = _contact(corners, poses, tip, radius)
    _require_near(gap, size)
    # What readings change by from one to the next, angles as ways of the rim.
    moved = np.linalg.norm(np.diff(poses, axis=0) * [1, 1, size], axis=1)
    usual = float(np.median(moved[moved > 0])) if np.any(moved > 0) else 0.0
    error = _scatter(poses * [1, 1, size])
    jumps = moved > _JUMPS * max(usual, error) + 0.02 * size
    touching = np.abs(gap) <= _TOUCHES * size
    step = max(_FAR * size, _SEEN * error) if far is None else float(far)
    pushes, rests, lost = Pushes(), 0, int(np.count_nonzero(~touching))
    for rows in _runs(touching, edge, jumps, kept):
        for part in _short(poses[rows] * [1, 1, size], step):
            chosen = rows[part]
            if len(chosen) < _FEW:
                rests += len(chosen)
                continue
            short = _push(push, poses[chosen], tip[chosen], place[chosen], normal[chosen],
                         None if force is None else force[chosen], size)  # fmt: skip
            way = np.array(short.twist) * [1, 1, size]
            if np.linalg.norm(way) < 0.5 * step:
                rests += len(chosen)
            else:
                pushes.append(short)
    where = ", ".join(str(int(kept[k + 1])) for k in np.flatnonzero(jumps)[:5])
    words = [
        f"{len(pushes)} pushes of about {step:.3g} from {len(whole)} readings",
        f"{int(np.count_nonzero(~whole))} readings not finite" * (not whole.all()),
        f"{lost} without contact" * bool(lost),
        f"{rests} at rest or too short" * bool(rests),
        f"{int(np.count_nonzero(jumps))} jumps of the pose, at reading {where}" * bool(where),
    ]
    pushes.told = "; ".join(w for w in words if w)
    if not pushes:
        raise StatementError(
            say(
                "no part of a track is a push.",
                f"Found {pushes.told}.",
                "Check the frames of poses and tip, the unit of the outline, and that angles are "
                "in radians; or ask for shorter pushes with far=.",
            )
        )
    return pushes


def _table(word: str, value: Any, width: int) -> np.ndarray:
    try:
        table = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        table = np.zeros(0)
    if table.ndim != 2 or table.shape[-1] != width:
        raise StatementError(
            say(
                f"the {word} of a track are not rows of {width} numbers.",
                f"Found an array of shape {table.shape}.",
                f"Give one row of {width} numbers for every reading.",
            )
        )
    return table


def _contact(corners: np.ndarray, poses: np.ndarray, tip: np.ndarray, radius: float):
    """Return where the tip is nearest to the outline, the normal there, which edge, and the gap."""
    c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    x, y = (tip - poses[:, :2]).T
    own = np.stack([c * x + s * y, c * y - s * x], axis=1)
    way = np.roll(corners, -1, axis=0) - corners
    long = (way**2).sum(axis=1)
    share = np.clip(((own[:, None] - corners) * way).sum(axis=2) / long, 0, 1)
    foot = corners + share[..., None] * way
    edge = np.linalg.norm(own[:, None] - foot, axis=2).argmin(axis=1)
    rows = np.arange(len(own))
    inward = np.stack([-way[:, 1], way[:, 0]], axis=1) / np.sqrt(long)[:, None]
    place, normal = foot[rows, edge], inward[edge]
    out = own - place
    apart = np.hypot(*out.T)
    # Round a corner the finger pushes along the line to it.
    corner = (share[rows, edge] <= 0) | (share[rows, edge] >= 1)
    round_ = corner & (apart > 1e-9 * np.sqrt(long.max()))
    normal = np.where(round_[:, None], -out / np.maximum(apart, 1e-300)[:, None], normal)
    side = np.where((out * inward[edge]).sum(axis=1) > 0, -1.0, 1.0)
    return place, normal, edge, side * apart - radius


def _require_near(gap: np.ndarray, size: float) -> None:
    """Refuse a tip that never comes near: another unit, or another frame."""
    near = float(np.abs(gap).min())
    if near > 3 * size:
        raise StatementError(
            say(
                "the tip never touches the part.",
                f"Found it {near:.3g} away at the nearest, {near / size:.3g} times the size of "
                "the outline.",
                "Give poses, tip and outline in one unit of length, poses and tip in the frame of "
                "the table, the outline in the part's own.",
            )
        )


def _scatter(values: np.ndarray) -> float:
    """Return the error of one reading from third differences, which smooth motion hardly has."""
    third = np.diff(values, 3, axis=0)
    return float(np.median(np.abs(third)) / 0.6745 / np.sqrt(20)) if len(third) else 0.0


def _runs(touching, edge, jumps, kept) -> Iterator[np.ndarray]:
    """Give stretches of readings on one edge, without a gap or a jump."""
    apart = jumps | (np.diff(edge) != 0) | (np.diff(touching.astype(int)) != 0)
    apart |= np.diff(kept) > _FEW
    for rows in np.split(np.arange(len(touching)), np.flatnonzero(apart) + 1):
        if touching[rows[0]]:
            yield rows


def _short(poses: np.ndarray, step: float) -> Iterator[np.ndarray]:
    """Give stretches in which the part goes about one step."""
    first = 0
    # Noise adds up along a way, not in a distance.
    while first < len(poses) - 1:
        far = np.linalg.norm(poses[first:] - poses[first], axis=1) >= step
        last = first + int(far.argmax()) if far.any() else len(poses) - 1
        # Rests before the part starts are no part of its push.
        begun = np.linalg.norm(poses[first : last + 1] - poses[first], axis=1) >= 0.05 * step
        start = first + max(int(begun.argmax()) - 1, 0) if begun.any() else first
        yield np.arange(start, last + 1)
        first = last


def _push(push: Any, poses, tip, place, normal, force, size: float) -> Any:
    """Fit a smooth way to each stretch: its ends are better known than single readings."""
    count = len(poses)
    u = np.linspace(-1, 1, count)
    A = np.stack([np.ones(count), u, u**2], axis=1)
    both = np.column_stack([poses, tip])
    fitted, *_ = np.linalg.lstsq(A, both, rcond=None)
    left = both - A @ fitted
    ends = np.stack([[1, -1, 1], [1, 1, 1]]) @ fitted
    # Neighbours in time err together: fewer readings count.
    alike = np.sum(left[1:, :3] * left[:-1, :3]) / max(np.sum(left[:, :3] ** 2), 1e-300)
    alike = float(np.clip(alike, 0, 0.95))
    fewer = (1 + alike) / (1 - alike)
    scatter = np.sqrt((left[:, :3] ** 2).sum(axis=0) / max(count - 3, 1))
    grain = np.spacing(np.abs(both[:, :3]).max(axis=0))
    spread = np.sqrt(12 / count * fewer) * np.maximum(scatter, grain)
    angle = fitted[0, 2]
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, s], [-s, c]])
    noise = [float(np.hypot(*spread[:2]) / np.sqrt(2)), float(spread[2])]
    felt = None
    if force is not None:
        felt = tuple(turn @ force.mean(axis=0))
        noise.append(float(force.std(axis=0).max() * np.sqrt(fewer / count)) or grain.max())
    way = normal.mean(axis=0)
    return push(
        point=tuple(place.mean(axis=0)), normal=tuple(way / np.hypot(*way)),
        before=tuple(ends[0, :3]), after=tuple(ends[1, :3]),
        finger=tuple(turn @ (ends[1, 3:] - ends[0, 3:])), force=felt, noise=tuple(noise),
    )  # fmt: skip
