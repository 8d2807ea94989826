"""From a recorded track, poses of a part and the way of the tip that pushes it, to short pushes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stationary.errors import StatementError
from stationary.model.finger_contact import contact, meant
from stationary.model.numbers import number_of, numbers_of
from stationary.model.polygon import area, polygon

# A tip this far from the outline, in sizes of the part, touches it still: outlines are measured.
_TOUCHES = 0.05
# What is worth a word: places of contact err as much, along the outline, too.
_OFF = 0.005
# A reading that is off by so many times what readings usually change by is a jump.
_JUMPS = 20.0
# How far a part goes in one push: in its sizes, and in errors of a reading at least.
_FAR, _SEEN = 0.08, 12.0
# Where readings are far apart a push goes farther, up to so many sizes of the part.
_FARTHEST = 0.3
# What moves by this share of a step, and by so many errors of a reading, is seen to move.
_BEGUN, _MOVED = 0.05, 6.0
# Forces this many times as far from the others as is usual do not count.
_SPIKES = 5.0
# A gap that is so many errors of a reading, or sizes of the part, off those beside it is no touch.
_AWAY = 4.0, 1e-3
# The fewest readings that a push is fitted to.
_FEW = 5


class Pushes(list):
    """Pushes cut from a track, and in words what was left out of it."""

    told: str = ""


def cut(
    push: Any, poses: Any, tip: Any, outline: Any, radius: float, force: Any, far: float | None
) -> Pushes:
    """Return short pushes of type `push` from readings of one track."""
    _require_lengths(radius, far)
    when, poses, tip, force = _aligned(poses, tip, force)
    corners = polygon(outline)
    corners = corners if area(corners) > 0 else corners[::-1]
    given = [poses, tip] + ([] if force is None else [force])
    whole = np.all([np.all(np.isfinite(a), axis=1) for a in given], axis=0)
    size = float(np.linalg.norm(corners - corners.mean(axis=0), axis=1).max())
    wild = np.zeros(len(whole), dtype=bool)
    wild[whole] = _wild(poses[whole], size) | _wild(tip[whole], size)
    kept = np.flatnonzero(whole & ~wild)
    if len(kept) < _FEW:
        raise StatementError(
            "a track is too short to be cut into pushes.",
            f"Found {len(kept)} readings that are finite, of {len(whole)}.",
            f"Give {_FEW} or more: rows (x, y, angle) of the part, (x, y) of the tip.",
        )
    when, poses, tip = when[kept], poses[kept].copy(), tip[kept]
    force = None if force is None else force[kept]
    read = poses.copy()
    poses[:, 2] = np.unwrap(poses[:, 2])
    place, normal, edge, gap = contact(corners, poses, tip, radius)
    # What readings change by from one to the next, angles as ways of the rim.
    moved = np.linalg.norm(np.diff(poses, axis=0) * [1, 1, size], axis=1)
    usual = float(np.median(moved[moved > 0])) if np.any(moved > 0) else 0.0
    error = _scatter(poses * [1, 1, size])
    jumps = moved > _JUMPS * max(usual, error) + 0.02 * size
    touching = np.abs(gap) <= _TOUCHES * size
    fast = moved[moved > _MOVED * error]
    apart = _FEW * float(np.median(fast)) if len(fast) else 0.0
    least = max(_FAR * size, _SEEN * error, min(apart, _FARTHEST * size))
    step = least if far is None else float(far)
    way = poses * [1, 1, size]
    stretches = [s for s in _short(way, step, error)
                 if np.linalg.norm(way[s[-1]] - way[s[0]]) > 0.5 * step]  # fmt: skip
    moving = np.concatenate([*stretches, np.zeros(0, dtype=int)])
    if np.count_nonzero(touching[moving]) < 0.5 * len(moving):
        _refuse(corners, read[moving], tip[moving], gap[moving], radius, size)
    clock = _unfelt(force, way, max(_BEGUN * step, _MOVED * error) / 2)
    if clock:
        # All of its forces belong to other instants than the motions beside them.
        force = None
    fits, rests, lost = [], 0, int(np.count_nonzero(~touching))
    for rows in _runs(touching, edge, jumps, when):
        for part in _short(poses[rows] * [1, 1, size], step, error):
            chosen = rows[part]
            # Of readings before the finger touches, and after, the gap is wider.
            wider = np.abs(gap[chosen] - np.median(gap[chosen]))
            chosen = chosen[wider <= max(_AWAY[0] * error, _AWAY[1] * size)]
            if len(chosen) < _FEW:
                rests += len(chosen)
                continue
            fit = _Smooth.through(when[chosen], poses[chosen], tip[chosen], place[chosen],
                                  normal[chosen], gap[chosen],
                                  None if force is None else force[chosen], size)  # fmt: skip
            if np.linalg.norm((fit.ends[1] - fit.ends[0])[:3] * [1, 1, size]) < 0.5 * step:
                rests += len(chosen)
            else:
                fits.append(fit)
    aside = max((abs(fit.gap) for fit in fits), default=0.0)
    strange = ", ".join(str(k) for k in np.flatnonzero(wild)[:5])
    where = ", ".join(str(int(kept[k + 1])) for k in np.flatnonzero(jumps)[:5])
    words = [
        f"{len(fits)} pushes of about {step:.3g} from {len(whole)} readings",
        f"{int(np.count_nonzero(~whole))} readings not finite" * (not whole.all()),
        f"{int(np.count_nonzero(wild))} readings off those beside them, at {strange}"
        * bool(strange),
        f"{lost} without contact" * bool(lost),
        f"{rests} at rest or too short" * bool(rests),
        clock,
        f"{_FEW} readings, the fewest for a push, go {apart:.2g}" * (apart > step),
        f"{int(np.count_nonzero(jumps))} jumps of the pose, at reading {where}" * bool(where),
        f"the tip is up to {aside:.2g} off the outline" * (aside > _OFF * size),
    ]
    summary = "; ".join(w for w in words if w)
    if not fits:
        raise StatementError(
            "no part of a track is a push.",
            f"Found {summary}.",
            f"Record more readings a second, or ask for longer pushes with far={apart:.2g}."
            if apart > step
            else "Check the frames of poses and tip, the unit of the outline, and that angles are "
            "in radians; or ask for shorter pushes with far=.",
        )
    inflation = _err_together(fits)
    pushes = Pushes(fit.push(push, inflation) for fit in fits)
    pushes.told = summary
    return pushes


def _require_lengths(radius: Any, far: Any) -> None:
    """Refuse a radius or a length of pushes that is none."""
    for word, value, least in (("radius", radius, 0.0), ("far", far, 1e-300)):
        if value is not None and not least <= number_of(value) < np.inf:
            raise StatementError(
                f"{word}= of a track is no length.",
                f"Found {word}={str(value)[:40]}.",
                "Give a number in the unit of the outline.",
            )


def _aligned(poses: Any, tip: Any, force: Any):
    """Return times, poses, tips and forces, one row for each reading of the part.

    With a first column of times the readings of tip and force are taken at those of the poses.
    """
    timed = np.ndim(poses) == 2 and np.shape(poses)[1] == 4
    wide = [(w, v, n + timed) for w, v, n in (("poses", poses, 3), ("tip", tip, 2),
                                             ("force", force, 2)) if v is not None]  # fmt: skip
    tables = [_table(*one) for one in wide]
    if not timed:
        if len({len(a) for a in tables}) != 1:
            raise StatementError(
                "the readings of a track do not go together.",
                f"Found {', '.join(str(len(a)) for a in tables)} rows of poses, tip and force.",
                "Give one row of each for every reading, or times in a first column of each.",
            )
        when = np.arange(len(tables[0]), dtype=float)
    else:
        clocks = []
        for table in tables:
            # One reading for each instant, in the order of time.
            known = table[np.isfinite(table[:, 0])]
            clocks.append(known[np.unique(known[:, 0], return_index=True)[1]])
        when = clocks[0][:, 0]
        for word, table in zip(("tip", "force"), clocks[1:]):
            _require_overlap(when, table[:, 0], word)
        tables = [clocks[0][:, 1:], *(_at(when, table) for table in clocks[1:])]
    return when, tables[0], tables[1], tables[2] if force is not None else None


def _require_overlap(when: np.ndarray, other: np.ndarray, word: str) -> None:
    """Refuse clocks that never run at the same time."""
    if len(when) and len(other) and (other[-1] < when[0] or when[-1] < other[0]):
        raise StatementError(
            f"the clocks of poses and {word} do not overlap.",
            f"Found poses from t = {when[0]:.6g} to {when[-1]:.6g}, {word} from {other[0]:.6g} to "
            f"{other[-1]:.6g}.",
            "Give times of one clock, in one unit.",
        )


def _at(when: np.ndarray, table: np.ndarray) -> np.ndarray:
    """Return readings at other times; nan before, after and where several are missing."""
    table = table[np.all(np.isfinite(table), axis=1)]
    if len(table) < 2:
        return np.full((len(when), table.shape[1] - 1), np.nan)
    clock = table[:, 0]
    known = np.stack([np.interp(when, clock, column) for column in table[:, 1:].T], axis=1)
    after = np.clip(np.searchsorted(clock, when), 1, len(clock) - 1)
    long = np.diff(clock)[after - 1] > _FEW * np.median(np.diff(clock))
    known[(when < clock[0]) | (when > clock[-1]) | long] = np.nan
    return known


def _table(word: str, value: Any, width: int) -> np.ndarray:
    table = numbers_of(value)
    if table.ndim != 2 or table.shape[-1] != width:
        raise StatementError(
            f"the {word} of a track are not rows of {width} numbers.",
            f"Found an array of shape {table.shape}.",
            f"Give one row of {width} numbers for every reading.",
        )
    return table


def _scatter(values: np.ndarray) -> float:
    """Return the error of one reading from third differences, which smooth motion hardly has."""
    third = np.diff(values, 3, axis=0)
    return float(np.median(np.abs(third)) / 0.6745 / np.sqrt(20)) if len(third) else 0.0


def _wild(values: np.ndarray, size: float) -> np.ndarray:
    """Tell which readings are far off those beside them, before and after."""
    if not len(values):
        return np.zeros(0, dtype=bool)
    around = np.pad(np.array(values), ((2, 2), (0, 0)), mode="edge")
    if values.shape[1] == 3:
        around[:, 2] = size * np.unwrap(around[:, 2])
    beside = np.median([around[k : k + len(values)] for k in range(5)], axis=0)
    moved = np.linalg.norm(np.diff(around, axis=0), axis=1)
    usual = float(np.median(moved[moved > 0])) if np.any(moved > 0) else 0.0
    return np.linalg.norm(around[2:-2] - beside, axis=1) > _JUMPS * usual + 0.02 * size


def _refuse(corners, read, tip, gap, radius: float, size: float) -> None:
    """Refuse a part that moves while the tip is elsewhere: another unit, or another frame."""
    far = float(np.median(np.abs(gap)))
    likely = meant(corners, read, tip, radius, _TOUCHES)
    advice = (
        f"It touches if {likely}."
        if likely
        else "Give poses, tip and outline in one unit of length, poses and tip in the frame of "
        "the table, the outline in the part's own, angles in radians."
    )
    near = float(np.abs(gap).min())
    what = "the tip never touches the part." if near > _TOUCHES * size else (
        "the part moves while the tip is elsewhere.")  # fmt: skip
    raise StatementError(
        what,
        f"Found it {near:.3g} away at the nearest while the part moves, {far:.3g} mostly, "
        f"which is {far / size:.3g} times the size of the outline.",
        advice,
    )


def _runs(touching, edge, jumps, when) -> Iterator[np.ndarray]:
    """Give stretches of readings on one edge, without a gap or a jump."""
    steps = np.diff(when)
    apart = jumps | (np.diff(edge) != 0) | (np.diff(touching.astype(int)) != 0)
    apart |= steps > _FEW * np.median(steps)
    for rows in np.split(np.arange(len(touching)), np.flatnonzero(apart) + 1):
        if touching[rows[0]]:
            yield rows


def _short(poses: np.ndarray, step: float, error: float) -> Iterator[np.ndarray]:
    """Give stretches in which the part goes about one step."""
    first, seen = 0, max(_BEGUN * step, _MOVED * error)
    # Noise adds up along a way, not in a distance.
    while first < len(poses) - 1:
        far = np.linalg.norm(poses[first:] - poses[first], axis=1) >= step
        last = first + int(far.argmax()) if far.any() else len(poses) - 1
        # Rests before the part starts and after it stops are no part of its push.
        start = first + _rests(poses[first : last + 1], seen)
        end = last + 1 - _rests(poses[start : last + 1][::-1], seen)
        yield np.arange(start, end)
        first = last


def _rests(poses: np.ndarray, seen: float) -> int:
    """Return how many readings come before the motion: where it would begin at its first speed."""
    away = np.linalg.norm(poses - poses[0], axis=1)
    once, twice = away >= seen, away >= 2 * seen
    if not twice.any():
        return 0
    begun = int(once.argmax())
    return max(begun - (int(twice.argmax()) - begun) - 1, 0)


@dataclass(frozen=True)
class _Smooth:
    """A smooth way through a stretch of readings: its ends are better known than single ones.

    `ends` has poses and tips at both ends of the mean motion, about the mean pose; `left` is what
    is left of the poses, `weight` how much of each reading is in a mean, and `curved` by which
    share the mean motion may differ from that at the mean place: the square of what changes.
    """

    count: int
    ends: np.ndarray
    left: np.ndarray
    weight: np.ndarray
    grain: np.ndarray
    place: np.ndarray
    normal: np.ndarray
    gap: float
    angle: float
    force: np.ndarray | None
    curved: float
    size: float

    @staticmethod
    def through(when, poses, tip, place, normal, gap, force, size: float) -> _Smooth:
        """Fit one to readings."""
        count = len(poses)
        u = 2 * (when - when[0]) / (when[-1] - when[0]) - 1
        A = np.stack([np.ones(count), u, u**2], axis=1)
        both = np.column_stack([poses, tip, place / size])
        # From the first reading: what is far from the origin keeps its digits.
        fitted = np.linalg.lstsq(A, both - both[0], rcond=None)[0]
        left = both - both[0] - A @ fitted
        scale = np.array([1, 1, size])
        along, bent = fitted[1, :3] * scale, fitted[2, :3] * scale
        changes = 2 * np.linalg.norm(bent) / max(np.linalg.norm(along), 1e-300)
        changes = np.hypot(changes, np.linalg.norm(fitted[1, 5:]))
        fitted[0] += both[0]
        # A slope by least squares is the mean of the motion with the weight 1 - u²; means of all
        # else have the same, so that what changes evenly along a push does not count.
        weight = 1 - u**2
        weight /= weight.sum()
        ends = np.stack([[1, -1, 0.2], [1, 1, 0.2]]) @ fitted
        grain = np.spacing(np.abs(both[:, :3] * scale).max())
        way = weight @ normal
        return _Smooth(
            count, ends, left[:, :3], weight, grain / scale, weight @ place, way / np.hypot(*way),
            float(gap.mean()), float(ends[:, 2].mean()), force, changes**2 / 6, size,
        )  # fmt: skip

    def push(self, push: Any, inflation: float) -> Any:
        """Return the push, with errors that are `inflation` times those of independent readings."""
        way = self.ends[1] - self.ends[0]
        scatter = np.sqrt((self.left**2).sum(axis=0) / max(self.count - 3, 1))
        spread = np.sqrt(12 / self.count * inflation) * np.maximum(scatter, self.grain)
        bent = self.curved * np.linalg.norm(way[:3] * [1, 1, self.size])
        noise = [float(np.hypot(np.hypot(*spread[:2]) / np.sqrt(2), bent)),
                 float(np.hypot(spread[2], bent / self.size))]  # fmt: skip
        c, s = np.cos(self.angle), np.sin(self.angle)
        turn, felt = np.array([[c, s], [-s, c]]), None
        if self.force is not None:
            good = _steady(self.force)
            steady, weight = self.force[good], self.weight[good] / self.weight[good].sum()
            mean = weight @ steady
            felt = tuple(turn @ mean)
            error = steady.std(axis=0).max() * np.sqrt(inflation * (weight @ weight))
            noise.append(
                float(np.hypot(error, self.curved * np.hypot(*mean)))
                or float(np.spacing(np.abs(self.force).max()))
            )
        return push(
            point=tuple(self.place), normal=tuple(self.normal), before=tuple(self.ends[0, :3]),
            after=tuple(self.ends[1, :3]), finger=tuple(turn @ way[3:5]), force=felt,
            noise=tuple(noise), gap=self.gap,
        )  # fmt: skip


def _steady(force: np.ndarray) -> np.ndarray:
    """Tell which forces are no spikes, and none of a finger that does not push yet, or any more."""
    off = np.abs(force - np.median(force, axis=0))
    usual = np.median(off, axis=0) / 0.6745
    return np.all((off <= _SPIKES * usual) | (usual == 0), axis=1)


def _unfelt(force: np.ndarray | None, way: np.ndarray, seen: float) -> str:
    """Say that the part moves where no force is there, at the begin or the end.

    What slides over a table is pushed: the clock of the force is another than that of the part.
    """
    begun = np.linalg.norm(way - way[:_FEW].mean(axis=0), axis=1) > seen
    ended = np.linalg.norm(way - way[-_FEW:].mean(axis=0), axis=1) <= seen
    moving = np.flatnonzero(np.logical_or.accumulate(begun)
                            & ~np.logical_and.accumulate(ended[::-1])[::-1])  # fmt: skip
    if force is None or not len(moving):
        return ""
    strong = np.hypot(*force[moving].T)
    weak = strong < 0.5 * np.median(strong)
    words = []
    for order, said in ((1, "before the force begins"), (-1, "after the force ends")):
        rows = moving[::order]
        count = 0 if weak.all() else int(np.argmin(weak[::order]))
        unfelt = rows[:count]
        if count <= _FEW:
            continue
        first, last = (way[k].mean(axis=0) for k in (unfelt[:_FEW], unfelt[-_FEW:]))
        if np.linalg.norm(last - first) > seen:
            words.append(said)
    if not words:
        return ""
    return f"the part moves {' and '.join(words)}: check its clock, no force of this track counts"


def _err_together(fits: list[_Smooth]) -> float:
    """Return for how many readings one counts: neighbours in time err together.

    The correlation of neighbours, over all stretches; what a parabola takes out of each of them is
    put back (to the first order of one over their readings).
    """
    scale = np.array([1, 1, fits[0].size])
    left = [f.left * scale for f in fits]
    alike = sum(np.sum(e[1:] * e[:-1]) for e in left) / max(sum(np.sum(e**2) for e in left), 1e-300)
    count = float(np.mean([f.count for f in fits]))
    alike = float(np.clip((count * alike + 3) / max(count - 5, 1.0), 0, 0.95))
    return (1 + alike) / (1 - alike)
