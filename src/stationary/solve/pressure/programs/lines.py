"""How far a functional of the motion goes, over all pressures: one line of motions at a time.

The motions with the same value r of a functional are a line in the plane of motions that a finger
allows; the part turns about the points of a line then, too. Power is convex for every pressure:
its minimum lies beyond the line if, and only if, power falls across the line at the minimum along
it. So some pressure goes beyond r if one of the programs

    h(r, s) = min ⟨across·v̂⟩  with  ⟨along·v̂⟩ = 0

at the motions s of the line is negative, and none does if all of them are positive.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import atan2, cos, pi, sin

import numpy as np

from stationary.solve.pressure.envelope import fields
from stationary.solve.pressure.programs.programs import Answers, Programs
from stationary.solve.pressure.programs.refuted import Refuted
from stationary.solve.pressure.programs.single import ROUGH, Answer, Single
from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.support import Rest

# Motions by which a line is sampled: around one, and on each piece inside the outline.
_AROUND = np.array([0.004, 0.012, 0.03, 0.07, 0.16, 0.36, 0.8])
_AROUND = np.concatenate([-_AROUND[::-1], _AROUND])
_PIECE = np.array([1e-9, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1 - 1e-9])
# The same around a foot, in angles at which it is twice as fast as at its slowest.
_BESIDE = np.array([-3.0, -1.0, -0.3, 0.0, 0.3, 1.0, 3.0])


@dataclass(frozen=True)
class Line:
    """Motions cos θ·first + sin θ·last: all with the same value of a functional."""

    value: float
    first: np.ndarray
    last: np.ndarray
    low: float
    high: float

    def at(self, angles: np.ndarray) -> np.ndarray:
        """Return motions, up to their speed."""
        return np.cos(angles)[:, None] * self.first + np.sin(angles)[:, None] * self.last

    def where(self, rows: np.ndarray) -> np.ndarray:
        """Return the angles at which covectors vanish."""
        angle = np.arctan2(-(rows @ self.first), rows @ self.last)
        return (angle + np.pi / 2) % np.pi - np.pi / 2


@dataclass(frozen=True)
class Pencil:
    """The lines of motions of one mode on which a functional is constant."""

    programs: Programs
    mode: Mode
    functional: np.ndarray

    @cached_property
    def rate(self) -> np.ndarray:
        """The covector that is one on all motions of the mode."""
        plane = self.mode.normal
        return plane / (plane @ self.mode.base)

    @cached_property
    def _ways(self) -> tuple[np.ndarray, np.ndarray]:
        slopes = self.functional @ self.mode.free
        across = self.mode.free @ slopes
        along = self.mode.free @ np.array([-slopes[1], slopes[0]])
        return across / np.linalg.norm(across), along / np.linalg.norm(along)

    @cached_property
    def _lines(self) -> dict[float, Line]:
        return {}

    @cached_property
    def _knots(self) -> dict[float, np.ndarray]:
        return {}

    def line(self, value: float) -> Line:
        """Return the motions with a value that the finger drives forward."""
        line = self._lines.get(value)
        if line is None:
            line = self._lines[value] = self._cut(value)
        return line

    def _cut(self, value: float) -> Line:
        across = self.functional - value * self.rate
        last = self._ways[1]
        (a, b, c), (p, q, r) = last.tolist(), (across / np.sqrt(across @ across)).tolist()
        first = np.array([b * r - c * q, c * p - a * r, a * q - b * p])
        first = first * np.sign(first @ self.rate)
        line = Line(value, first, last, -np.pi / 2, np.pi / 2)
        force = self.mode.force
        assert force is not None
        # The finger does not pull.
        if abs(force @ last) <= 1e-14 * np.linalg.norm(force):
            return line
        end = float(line.where(force[None])[0])
        forward = force @ last > 0
        return replace(line, low=end) if forward else replace(line, high=end)

    def allowed(self, line: Line) -> tuple[float, float]:
        """Return the angles between which the finger slips to the side of its mode."""
        guard, low, high = self.mode.guard, line.low, line.high
        if guard is None:
            return low, high
        first, last = float(guard @ line.first), float(guard @ line.last)
        if abs(last) <= 1e-14 * np.linalg.norm(guard):
            return (low, high) if first >= 0 else (low, low)
        end = float(line.where(guard[None])[0])
        return (max(low, end), high) if last > 0 else (low, min(high, end))

    def cuts(self, line: Line) -> np.ndarray:
        """Return the angles at which the centre of rotation crosses the border, in order."""
        rest = self.programs.rest
        if rest.feet:
            return np.zeros(0)
        if rest.radius:
            angles = _through_disc(line, rest.radius, np.array(rest.middle)).tolist()
        else:
            angles = _through_edges(line, rest)
        return np.sort([k for k in angles if line.low < k < line.high])

    def knots(self, line: Line) -> np.ndarray:
        """Return the angles that divide a line into pieces inside the support and outside."""
        angles = self._knots.get(line.value)
        if angles is None:
            angles = np.concatenate([[line.low], self.cuts(line), [line.high]])
            self._knots[line.value] = angles
        return angles

    def looks(self, line: Line) -> list[float]:
        """Return angles on every piece of a line; next to feet, where directions change at once."""
        knots = self.knots(line)
        angles = (knots[:-1, None] + np.diff(knots)[:, None] * _PIECE).ravel().tolist()
        # How far the line passes by each foot, or by the centre, where almost all load rests if the
        # push passes close by it.
        rest = self.programs.rest
        places = rest.corners if rest.feet else np.zeros((1, 2))
        v = fields(np.stack([line.first, line.last]), places)
        near, wide = _slowest(v[0], v[1])
        return angles + (near[:, None] + wide[:, None] * _BESIDE).ravel().tolist()

    def ask(self, twists: np.ndarray, rounds: int) -> Answers:
        """Solve the programs of motions along a line, with columns that move."""
        return self.programs.refined(twists, *self.ways(twists), rounds=rounds,
                                     more=self.programs.passing(twists))  # fmt: skip

    def way(self, twist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the same at a single motion."""
        force, ways = self.mode.force, self._ways
        assert force is not None
        works = self._works
        if not any(works):
            return ways
        drive = float(force @ twist)
        across, along = (w - (k / drive) * twist if k else w for w, k in zip(ways, works))
        return across, along

    @cached_property
    def _works(self) -> tuple[float, ...]:
        """What the force of the finger does on the two, without what is rounding."""
        force = self.mode.force
        assert force is not None
        size = 1e-12 * float(np.linalg.norm(force))
        return tuple(
            k if abs(k) > size else 0.0 for k in map(float, (force @ w for w in self._ways))
        )

    def ways(self, twists: np.ndarray, once: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return virtual motions across and along a line on which the finger does no work.

        Those that are the same for all motions come `once`, if that is enough.
        """
        force = self.mode.force
        assert force is not None
        across, along = (
            way - (work / (twists @ force))[:, None] * twists
            if work else way[None] if once else np.broadcast_to(way, twists.shape)
            for way, work in zip(self._ways, self._works)
        )  # fmt: skip
        return across, along


def _through_edges(line: Line, rest: Rest) -> list[float]:
    """Return the angles at which motions turn about points of edges."""
    (a, b, c), (p, q, r) = line.first.tolist(), line.last.tolist()
    angles = []
    for long, tx, ty, x, y in rest.sides:
        # What is along the edge at its start: zero for motions about points of its line.
        lever = ty * x - tx * y
        angle = atan2(-(tx * a + ty * b + lever * c), tx * p + ty * q + lever * r)
        angle = (angle + pi / 2) % pi - pi / 2
        u, v, turn = (cos(angle) * k + sin(angle) * m for k, m in ((a, p), (b, q), (c, r)))
        # How far along it they turn: the velocity across the edge at its start.
        across, room = ty * (u - turn * y) - tx * (v + turn * x), 1e-9 * long * abs(turn)
        if turn and -room < (across if turn > 0 else -across) < long * abs(turn) + room:
            angles.append(angle)
    return angles


def _through_disc(line: Line, radius: float, middle: np.ndarray) -> np.ndarray:
    """Return the angles at which motions turn about points of a circle."""
    x, y = middle
    # |v(middle)|² = ω² radius², a quadratic form of the motion.
    rows = np.array([[1.0, 0.0, -y], [0.0, 1.0, x]])
    form = rows.T @ rows - radius**2 * np.diag([0.0, 0.0, 1.0])
    first, last = line.first, line.last
    a, b, c = first @ form @ first, first @ form @ last, last @ form @ last
    # a cos² + 2 b cos sin + c sin² = 0 as A cos 2θ + B sin 2θ + C = 0.
    A, B, C = (a - c) / 2, b, (a + c) / 2
    size = np.hypot(A, B)
    if size <= abs(C):
        return np.zeros(0)
    middle_, half = np.arctan2(B, A), np.arccos(-C / size)
    angles = np.array([(middle_ + half) / 2, (middle_ - half) / 2])
    return (angles + np.pi / 2) % np.pi - np.pi / 2


def _slowest(first: np.ndarray, last: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the angles θ at which cos θ·first + sin θ·last is shortest, and its share there."""
    a, b, c = (first**2).sum(axis=1), (first * last).sum(axis=1), (last**2).sum(axis=1)
    angle = (np.arctan2(2 * b, a - c) + np.pi) / 2
    least = np.abs(first * np.cos(angle)[:, None] + last * np.sin(angle)[:, None])
    most = np.sqrt(np.maximum(a + c, 1e-300))
    return (angle + np.pi / 2) % np.pi - np.pi / 2, np.hypot(*least.T) / most + 1e-9


def beyond(
    single: Single, pencil: Pencil, value: float, twist: np.ndarray, closer: float = 1.0,
    rounds: int = ROUGH, all_: bool = True, points: np.ndarray | None = None,
) -> Answer | None:  # fmt: skip
    """Return the program whose pressure goes furthest beyond a value, if samples show one.

    They are denser around a motion that is known, by a factor, and where the centre of rotation
    bears load. A pressure that has that motion bears load at `points`.
    """
    line = pencil.line(value)
    low, high = pencil.allowed(line)
    sides = pencil.mode.guard is not None
    middle = atan2(float(twist @ line.last), float(twist @ line.first))
    looks = [*(pencil.looks(line) if all_ else [middle]), *(middle + closer * _AROUND).tolist()]
    angles = np.array(sorted(k for k in looks if low < k < high))
    best: Answer | None = None
    basis: list[int] | None = None
    if not len(angles):
        return None
    # Columns that move go beyond those of the grid: only rough programs are left out.
    open_ = np.ones(len(angles), dtype=bool)
    if rounds == ROUGH:
        near = None if points is None else pencil.programs.beside(points, twist)
        open_ = possible(pencil, line.at(angles), near=near)
    for angle in angles[open_].tolist():
        motion = cos(angle) * line.first + sin(angle) * line.last
        aim, row = pencil.way(motion)
        answer = single.least(motion, aim, row, basis, rounds, positive=True)
        basis = answer.columns
        if not answer.balanced or answer.value >= (0.0 if best is None else best.value):
            continue
        # What goes beyond may slip to the other side; it does not where another comes back.
        if sides and single.least(motion, -aim, row, None, rounds, positive=True).value > 0:
            continue
        best = answer
    return best


def possible(
    pencil: Pencil, twists: np.ndarray, room: float = 0.0, near: np.ndarray | None = None
) -> np.ndarray:
    """Tell at which motions the columns of the grid may have a program that is not above `room`."""
    return Refuted(pencil.programs, twists, *pencil.ways(twists, True)).open(room, near)
