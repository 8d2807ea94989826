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

import numpy as np

from stationary.solve.pressure.programs import CAP, Answers, Programs, centres, fields
from stationary.solve.pressure.region import Mode

# Motions that a line is sampled by: all along it, where pressures can balance, and on each piece
# of it inside the outline.
_ALL = (np.arange(16) + 0.5) / 16
_WINDOW = np.arange(1, 12) / 12
_PIECE = np.array([1e-12, 0.05, 0.2, 0.5, 0.8, 0.95, 1 - 1e-12])
_STEPS = 40


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
        free = self.mode.free
        plane = np.cross(free[:, 0], free[:, 1])
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
        found = self._lines.get(value)
        if found is None:
            found = self._lines[value] = self._made(value)
        return found

    def _made(self, value: float) -> Line:
        across = self.functional - value * self.rate
        last = self._ways[1]
        first = np.cross(last, across / np.linalg.norm(across))
        first = first * np.sign(first @ self.rate)
        made = Line(value, first, last, -np.pi / 2, np.pi / 2)
        force = self.mode.force
        assert force is not None
        # The finger does not pull.
        if abs(force @ last) <= 1e-14 * np.linalg.norm(force):
            return made
        end = float(made.where(force[None])[0])
        forward = force @ last > 0
        return replace(made, low=end) if forward else replace(made, high=end)

    def cuts(self, line: Line) -> np.ndarray:
        """Return the angles at which the centre of rotation crosses the border, in order."""
        rest = self.programs.rest
        if rest.radius:
            found = _through_disc(line, rest.radius, np.array(rest.middle))
        elif rest.feet:
            return np.zeros(0)
        else:
            a, way, _ = rest.at(np.arange(rest.pieces), np.zeros(rest.pieces))
            normal = np.stack([-way[:, 1], way[:, 0]], axis=1)
            rows = np.stack([normal[:, 1], -normal[:, 0], -(normal * a).sum(axis=1)], axis=1)
            found = line.where(rows)
            q = centres(line.at(found))
            with np.errstate(invalid="ignore"):
                share = ((q - a) * way).sum(axis=1) / (way**2).sum(axis=1)
                found = found[(share > -1e-9) & (share < 1 + 1e-9)]
        return np.sort(found[(found > line.low) & (found < line.high)])

    def knots(self, line: Line) -> np.ndarray:
        """Return the angles that divide a line into pieces inside the support and outside."""
        found = self._knots.get(line.value)
        if found is None:
            found = np.concatenate([[line.low], self.cuts(line), [line.high]])
            self._knots[line.value] = found
        return found

    def samples(self, line: Line, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
        """Return pieces, and shares of them, between two angles: more of them inside."""
        knots = self.knots(line)
        every = [low + (high - low) * _WINDOW]
        for a, b in zip(knots[1:-2], knots[2:-1]):
            every.append(a + (b - a) * _PIECE)
        angles = np.sort(np.concatenate(every))
        # On the border itself a point may rest that columns elsewhere do not stand for.
        near = (angles >= low) & (angles <= high)
        near |= np.abs(angles[:, None] - knots[1:-1]).min(axis=1, initial=np.inf) < 1e-9
        angles = angles[near]
        piece = np.clip(np.searchsorted(knots, angles, side="right") - 1, 0, len(knots) - 2)
        wide = np.maximum(knots[piece + 1] - knots[piece], 1e-300)
        return piece, np.clip((angles - knots[piece]) / wide, 0.0, 1.0)

    def place(self, line: Line, piece: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Return the motions at shares of pieces."""
        knots = self.knots(line)
        angles = knots[piece] + share * (knots[piece + 1] - knots[piece])
        return line.at(angles)

    def ask(self, twists: np.ndarray, exact: bool = False, near=None, rounds=12) -> Answers:
        """Solve the programs of motions along a line."""
        aims, rows = self.ways(twists)
        if exact:
            return self.programs.refined(twists, aims, rows, rounds=rounds)
        return self.programs.least(twists, aims, rows, near)

    def ways(self, twists: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return virtual motions across and along a line on which the finger does no work."""
        force = self.mode.force
        assert force is not None
        works = [float(force @ way) for way in self._ways]
        size = 1e-12 * float(np.linalg.norm(force))
        across, along = (
            way - (work / (twists @ force))[:, None] * twists
            if abs(work) > size else np.broadcast_to(way, twists.shape)
            for way, work in zip(self._ways, works)
        )  # fmt: skip
        return across, along

    def slope(self, line: Line, piece: int, share: float, answers: Answers, k: int) -> float:
        """Return how the value of a program changes with that of the functional.

        The motion stays at the same share of its piece: on the border if it is there.
        """
        step = 1e-6 * max(abs(line.value), 1e-3 * float(np.linalg.norm(self.functional)))
        found: list[tuple[float, float]] = []
        count = len(self.knots(line))
        for change in (-step, 0.0, step):
            near = self.line(line.value + change)
            # Where a piece appears or ends only one side tells.
            if len(self.knots(near)) == count:
                (twist,) = self.place(near, np.array([piece]), np.array([share]))
                found.append((change, self._balance(twist, answers, k)))
        if len(found) < 2:
            return np.nan
        return (found[-1][1] - found[0][1]) / (found[-1][0] - found[0][0])

    def _balance(self, twist: np.ndarray, answers: Answers, k: int) -> float:
        """Return the mean of the dual function over the pressure of an answer, at a motion."""
        (aim,), (row,) = self.ways(twist[None])
        witness = aim - answers.dual[k] * row
        points, ways = answers.points[k], answers.ways[k]
        moving = fields(twist[None], points)[0]
        speed = np.hypot(moving[:, 0], moving[:, 1])
        still = answers.still[k]
        ways = np.where(still[:, None], ways, moving / np.maximum(speed, 1e-300)[:, None])
        points = np.where(still[:, None], centres(twist[None]), points)
        value = (fields(witness[None], points)[0] * ways).sum(axis=1)
        return float(answers.masses[k] @ (value - points @ answers.affine[k, 1:]))


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


@dataclass(frozen=True)
class Place:
    """A motion next to the end of what pressures allow, and the program there."""

    value: float
    twist: np.ndarray
    answers: Answers
    row: int
    piece: int
    share: float
    spare: float  # how far the neighbours are, as shares of the piece


@dataclass(frozen=True)
class Hint:
    """What a neighbouring line has shown: where pressures balance, and the bases there."""

    low: float
    high: float
    angles: np.ndarray
    basis: np.ndarray


def window(pencil: Pencil, line: Line, low: float, high: float) -> tuple[float, float]:
    """Return angles between which some pressure balances along a line.

    Power is convex along it: to one side of that window it falls for all pressures, to the other
    it rises, and the multiplier of the balance says so.
    """
    for _ in range(40):
        angles = low + (high - low) * _ALL
        answers = pencil.ask(line.at(angles))
        a, b = _bracket(angles, answers.dual, low, high)
        if np.any(np.abs(answers.dual) < 0.99 * CAP) or not a < b:
            return a, b
        low, high = a, b
    return low, high


def _bracket(angles, dual, low: float, high: float) -> tuple[float, float]:
    before, after = np.flatnonzero(dual >= 0.99 * CAP), np.flatnonzero(dual <= -0.99 * CAP)
    return (float(angles[before[-1]]) if len(before) else low,
            float(angles[after[0]]) if len(after) else high)  # fmt: skip


def farthest(pencil: Pencil, value: float, close: float = 0.01) -> Place | None:
    """Follow the programs to the greatest value that some pressure attains, roughly."""
    below, above = -np.inf, np.inf
    best: Place | None = None
    hint: Hint | None = None
    for _ in range(_STEPS):
        line = pencil.line(value)
        best, hint = sampled(pencil, line, hint)
        h = float(best.answers.value[best.row])
        below, above = (value, above) if h < 0 else (below, value)
        if above - below < 1e-4 * max(abs(above), abs(below)):
            if cornered(pencil, below - 1e-3 * abs(below), above + 1e-3 * abs(above)) is not None:
                return best
            # Samples have missed what goes further.
            below, above = -np.inf, np.inf
        slope = pencil.slope(line, best.piece, best.share, best.answers, best.row)
        # Close to the end in values of the functional: near the centre all programs are small.
        if slope > 0 and abs(h / slope) < close * max(abs(value), abs(value - h / slope)):
            return best
        value = _next(value, h, slope, below, above)
    return best


def _next(value: float, h: float, slope: float, below: float, above: float) -> float:
    """Return a Newton step within bounds, or a step to their middle."""
    new = value - h / slope if slope > 0 else np.nan
    if below < new < above:
        return new
    if np.isfinite(below) and np.isfinite(above):
        return (below + above) / 2
    return value + (1 if h < 0 else -1) * max(abs(value), 1.0)


def sampled(pencil: Pencil, line: Line, hint: Hint | None = None) -> tuple[Place, Hint]:
    """Return where, among samples of a line, pressures go furthest beyond it."""
    near = None
    if hint is None:
        a, b = window(pencil, line, line.low, line.high)
    else:
        wide = 0.3 * (hint.high - hint.low)
        a, b = max(hint.low - wide, line.low), min(hint.high + wide, line.high)
    piece, share = pencil.samples(line, a, b)
    knots = pencil.knots(line)
    angles = knots[piece] + share * (knots[piece + 1] - knots[piece])
    if hint is not None:
        near = hint.basis[np.abs(hint.angles[:, None] - angles).argmin(axis=0)]
    twists = line.at(angles)
    answers = pencil.ask(twists, near=near)
    if hint is not None:
        starts = answers.dual[0] >= 0.99 * CAP or a == line.low
        ends = answers.dual[-1] <= -0.99 * CAP or b == line.high
        few = np.count_nonzero(np.abs(answers.dual) < 0.99 * CAP) < 4
        if few or not (starts and ends):
            return sampled(pencil, line)
    a, b = _bracket(angles, answers.dual, a, b)
    hint = Hint(a, b, angles, answers.basis)
    # Between the lowest samples and their neighbours once more.
    value = np.concatenate([[np.inf], answers.value, [np.inf]])
    dips = np.flatnonzero((value[1:-1] <= value[:-2]) & (value[1:-1] <= value[2:]))
    dips = dips[np.argsort(answers.value[dips])[:3]]
    extra = []
    for k in dips if answers.value.min() > 0 else ():
        for i in (k - 1, k):
            if 0 <= i < len(angles) - 1 and piece[i] == piece[i + 1]:
                extra += [(piece[i], share[i] + f * (share[i + 1] - share[i]))
                          for f in (0.2, 0.5, 0.8)]  # fmt: skip
    if extra:
        more_piece, more_share = np.array([e[0] for e in extra]), np.array([e[1] for e in extra])
        more = pencil.place(line, more_piece, more_share)
        second = pencil.ask(more)
        if second.value.min() < answers.value.min():
            answers, twists, piece, share = second, more, more_piece, more_share
    k = int(answers.value.argmin())
    apart = np.sort(np.abs(share[piece == piece[k]] - share[k]))
    spare = float(apart[min(2, len(apart) - 1)]) or 0.5
    twist = twists[k] / (twists[k] @ pencil.rate)
    return Place(line.value, twist, answers, k, int(piece[k]), float(share[k]), spare), hint


def zoomed(pencil: Pencil, place: Place) -> Place | None:
    """Follow the programs, with columns that move along the border, to the end itself."""
    value, middle, half = place.value, place.share, place.spare
    best: Place | None = None
    for _ in range(_STEPS):
        line = pencil.line(value)
        if place.piece + 2 > len(pencil.knots(line)):
            return best
        low, high = max(middle - half, 0.0), min(middle + half, 1.0)
        share = np.linspace(low, high, 7)
        twists = pencil.place(line, np.full(7, place.piece), share)
        answers = pencil.ask(twists, exact=True)
        k = int(answers.value.argmin())
        h = float(answers.value[k])
        slope = pencil.slope(line, place.piece, float(share[k]), answers, k)
        twist = twists[k] / (twists[k] @ pencil.rate)
        best = Place(value, twist, answers, k, place.piece, float(share[k]), half)
        middle = float(share[k])
        gap = (high - low) / 6
        if 0 < k < 6:
            up, down = answers.value[k + 1] - h, answers.value[k - 1] - h
            if up + down > 0:
                middle += float(np.clip((down - up) / (2 * (up + down)), -0.5, 0.5)) * gap
            half = 1.2 * gap
        elif low > 0 or high < 1:
            half = 3 * gap if low < middle < high else 2 * half
        # The least value between the samples is not known yet: nothing bounds the step.
        if not slope > 0:
            return best
        new = value - h / slope
        if abs(new - value) <= 1e-14 * max(abs(value), abs(new)) and half < 1e-6:
            return best
        if abs(h) < 1e-15 and half < 1e-6:
            return best
        value = new
    return best


def cornered(pencil: Pencil, low: float, high: float) -> Place | None:
    """Return the motion about a corner or a foot with the greatest value in a range, if any.

    About a corner that bears load many pressures turn the part: the set of motions has kinks there.
    """
    x, y = pencil.programs.rest.corners.T
    twists = np.stack([y, -x, np.ones(len(x))], axis=1)
    drive = twists @ pencil.rate
    twists = twists[np.abs(drive) > 1e-12] / drive[np.abs(drive) > 1e-12][:, None]
    values = twists @ pencil.functional
    assert pencil.mode.force is not None
    chosen = (values >= low) & (values <= high) & (twists @ pencil.mode.force > 0)
    twists, values = twists[chosen], values[chosen]
    if not len(twists):
        return None
    aims, rows = pencil.ways(twists)
    answers = pencil.programs.refined(
        np.repeat(twists, 2, axis=0), np.stack([aims, -aims], axis=1).reshape(-1, 3),
        np.repeat(rows, 2, axis=0),
    )  # fmt: skip
    least, most = answers.value[::2], -answers.value[1::2]
    held = np.flatnonzero((least <= 1e-13) & (most >= -1e-13))
    if not len(held):
        return None
    k = int(held[values[held].argmax()])
    share = most[k] / max(most[k] - least[k], 1e-300)
    both = replace(
        answers, masses=np.concatenate([share * answers.masses[2 * k],
                                        (1 - share) * answers.masses[2 * k + 1]])[None],
        points=answers.points[2 * k : 2 * k + 2].reshape(1, -1, 2),
        ways=answers.ways[2 * k : 2 * k + 2].reshape(1, -1, 2), value=np.zeros(1),
        dual=answers.dual[2 * k : 2 * k + 1], affine=answers.affine[2 * k : 2 * k + 1],
    )  # fmt: skip
    return Place(float(values[k]), twists[k], both, 0, 0, 0.0, 0.0)


def placed(pencil: Pencil, twist: np.ndarray) -> Place:
    """Return a motion as a place on its line, with the program there."""
    line = pencil.line(float(pencil.functional @ twist))
    angle = float(np.arctan2(twist @ line.last, twist @ line.first))
    knots = pencil.knots(line)
    piece = int(np.clip(np.searchsorted(knots, angle, side="right") - 1, 0, len(knots) - 2))
    wide = max(knots[piece + 1] - knots[piece], 1e-300)
    answers = pencil.ask(twist[None] / (twist @ pencil.rate), exact=True)
    share = float(np.clip((angle - knots[piece]) / wide, 0.0, 1.0))
    return Place(line.value, twist, answers, 0, piece, share, 0.05)


def beyond(pencil: Pencil, value: float) -> Place | None:
    """Return a motion with a greater value that some pressure may allow, if samples show one."""
    line = pencil.line(value)
    found, hint = sampled(pencil, line)
    if found.answers.value[found.row] < 0:
        return found
    # The lowest samples, with columns that move.
    a, b = hint.low, hint.high
    piece, share = pencil.samples(line, a, b)
    twists = pencil.place(line, piece, share)
    rough = pencil.ask(twists).value
    low = (rough <= np.append(rough[1:], np.inf)) & (rough <= np.append(np.inf, rough[:-1]))
    order = np.flatnonzero(low)[np.argsort(rough[low])[:4]]
    exact = pencil.ask(twists[order], exact=True, rounds=3)
    k = int(exact.value.argmin())
    if exact.value[k] >= 0:
        return None
    twist = twists[order[k]] / (twists[order[k]] @ pencil.rate)
    return Place(value, twist, exact, k, int(piece[order[k]]), float(share[order[k]]), 0.1)
