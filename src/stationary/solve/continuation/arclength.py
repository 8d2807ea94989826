"""Curves followed over a parameter: predictor and corrector by pseudo-arclength.

What is followed says its equations, their slopes, its scale and what is to be watched, and no more:
equilibria are one such curve.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from stationary.result.status import Status
from stationary.solve.continuation.corrector import FIRST, slope_of, without
from stationary.solve.continuation.crossing import (
    CROSSED,
    LONGEST,
    LOST,
    SAME_VALUE,
    AbstractCrossing,
)
from stationary.solve.continuation.equilibrium_curve import AbstractCurve
from stationary.solve.continuation.roots import dip_of, goes_on, root_of
from stationary.solve.continuation.trails import Mark, Trail, distance, joined, nearest_on
from stationary.solve.progress import Progress

# The shortest step, in the scaled variables, and one so short that what is in it is taken as it is.
_SHORTEST, _CLOSE = 1e-9, 1e-6

# A step may turn the tangent by at most this (cosine): more, and it may have left its branch.
_TURN = 0.94

# A direction with less than this share along the parameter is level: the start is a fold. A branch
# that leaves, or is left, with less than the second, computed by differences, is a mirrored one.
_LEVEL, _SYMMETRIC = 1e-9, 1e-4

# The part of a step by which it is looked beside a fold that lies in it.
_BESIDE = 0.05

# The longest step where a branch, and what is watched for zeros along it, go straight on.
_LONG = 0.4

# What is as deep, beside its neighbours, dips towards zero.
_DIPS = 1e-6

# Beyond this distance from the start steps grow with it, and there a branch has left for infinity.
_WIDE, _AWAY = 4.0, 1e3

# Points this near to one another are one: the parameter, and the place, which of folds is found
# more exactly than of crossings. A branch that leaves one level folds there by last digits.
_SAME_CROSSING, _SAME_FOLD, _LEAVES = 1e-4, 1e-6, 1e-4

# The count of a corrector's steps that leaves the step as it is.
_GOOD_CORRECTIONS = 3

# The part of the way to where branches part in which what changes there is rounding.
_BLURRED = 0.2

# A determinant that comes so near to zero, beside the ends of its step, may touch it.
_TOUCHES = 1e-2

# How far from where a branch starts it is looked whether it has been followed already.
_PROBES = (5 * FIRST, FIRST / 2)

# How far a curve is from the middle of its step at most, beside the step.
_ARCHED = 0.1

# Bound on the work: branches.
_MOST_BRANCHES = 24


@dataclass
class Follower(AbstractCrossing):
    """The branches of a curve, followed from point to point, with what happens on the way.

    Parameters
    ----------
    curve : AbstractCurve
    most_points : int
        On one branch.
    deadline : float
        By `time.monotonic`.
    """

    curve: AbstractCurve
    most_points: int
    deadline: float
    trails: list[Trail] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    knots: list[tuple[np.ndarray, float]] = field(default_factory=list)
    free: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    #: How many branches begin at its points that were not followed.
    left_out: int = 0
    #: At how many crossings modes give way together in directions that are not told apart.
    unclear: int = 0

    # -- following --------------------------------------------------------------------------------

    def run(self) -> None:
        """Follow all branches that can be reached."""
        z = self.curve.start / self.curve.scale
        self.free = np.empty((0, len(z)))
        tangent = self.tangent(z, None)
        progress = Progress(f"continuation over {self.curve.parameter}")
        waiting = [(z, tangent, None), (z, -tangent, None)]
        halves: list[Trail] = []
        self.free = self.families(z, tangent)
        if self._singular(z, tangent):
            self._branch_point(z, tangent, waiting)
        elif slope_of(tangent) < _LEVEL:
            self._note("fold", z)
        try:
            while waiting and len(self.trails) < _MOST_BRANCHES:
                leaves = waiting.pop(0)
                if len(halves) >= 2 and self._known(*leaves):
                    continue
                trail, side_branches = self.follow(*leaves, progress)
                halves.append(trail)
                waiting += side_branches
                if len(halves) == 1 and trail.status == "closed":
                    # The other way round is the same branch again.
                    waiting.pop(0)
                    halves.append(trail)
                if len(halves) == 2:
                    self.trails[:] = [self._labelled(joined(halves[0], halves[1]))]
                elif len(halves) > 2 and len(trail) > 1:
                    self.trails.append(self._labelled(trail, begins=True))
        except KeyboardInterrupt:
            pass
        finally:
            progress.close()
        if not self.trails:
            self.trails = [self._labelled(half) for half in halves]
        self.left_out = sum(not self._known(*leaves) for leaves in waiting)

    def follow(
        self, z: np.ndarray, tangent: np.ndarray, beside: np.ndarray | None, progress: Progress
    ):
        """Follow one branch in one direction; return it and the branches that start from it.

        Nearer than `beside` to its start, where that is given, directions are rounding.
        """
        low, high = (edge / self.curve.scale[-1] for edge in self.curve.span)
        self.free = np.empty((0, len(z)))
        self.free = self.families(z, tangent, beside)
        step = FIRST
        trail, counts, side_branches = [z], [self.curve.growing(z)], []
        tangents, tests = [tangent], [self._tests(z, tangent, counts[0])]

        status = Status("points", "reached the bound on points")
        home = z.copy()
        if beside is not None:
            step = float(np.linalg.norm(beside - z))
            z, tangent = beside, self.tangent(beside, tangent)
            trail.append(z)
            counts.append(self.curve.growing(z))
            tangents.append(tangent)
            tests = [np.full(len(tests[0]), np.nan), self._tests(z, tangent, counts[-1])]
        while len(trail) < self.most_points:
            if (far := self._far(trail)) is not None:
                status = far
                break
            if time.monotonic() > self.deadline:
                status = Status("time", "reached the bound on time")
                break
            if step < _SHORTEST:
                status = Status("stalled", "the curve could not be followed any further")
                break
            corrected = self.correct(z + step * tangent, tangent)
            if corrected is None or not self._smooth(z, corrected[0], tangent, step):
                step /= 2
                continue
            new, corrections = corrected
            ahead = self.tangent(new, tangent)
            if ahead @ tangent < _TURN and step > _CLOSE:
                step /= 2
                continue
            edge = self._beyond(new)
            if edge is not None:
                last = self._onto(z, new, edge)
                if last is not None:
                    ends = counts[-1], self.curve.growing(last)
                    if not self._between(z, last, tangent, ends, side_branches):
                        step /= 2
                        continue
                    counts.append(ends[1])
                    trail.append(last)
                    tangents.append(self.tangent(last, tangent))
                which = "lower" if edge == low else "upper"
                at = self.curve.span[which == "upper"]
                status = Status(
                    "span",
                    f"reached {self.curve.parameter} = {at:.6g}, the {which} limit of the span",
                )
                break
            ends = counts[-1], self.curve.growing(new)
            test = self._tests(new, ahead, ends[1])
            even = goes_on(trail, tests, new, test) and ends[0][::4] == ends[1][::4]
            if step > LONGEST and not even:
                step = LONGEST
                continue
            if not self._between(z, new, tangent, ends, side_branches):
                step /= 2
                continue
            counts.append(ends[1])
            z, tangent = new, ahead
            trail.append(z)
            tangents.append(tangent)
            tests.append(test)
            self._look_back(trail, tangents, counts, tests, side_branches)
            progress.show(float(np.clip(z[-1], low, high) - low))
            begin = self.curve.written_near(home, z)
            near = distance(np.array(trail[-2:]), begin) < 0.3 * step
            # An orientation may come back with the other sign, and sets out from there with it.
            signs = self.curve.kinematics.signs(home, z)
            if len(trail) > 12 and near and tangent @ (signs * tangents[0]) > 0.7:
                further = np.abs(begin - signs * home).max() > 0
                more = ", whole turns further" if further else ""
                status = Status("closed", "came back to where it started" + more)
                trail[-1], counts[-1] = begin, counts[0]
                break
            if corrections <= _GOOD_CORRECTIONS:
                # Far out a branch is as smooth as it is far.
                reach = float(np.abs(z - home)[:-1].max(initial=0.0))
                longest = _LONG if even and corrections == 1 else LONGEST
                step = min(1.5 * step, longest * max(1.0, reach / _WIDE))
            elif corrections > 5:
                step /= 1.5
        self._look_back(trail, tangents, counts, tests, side_branches, ended=True)
        points = np.array(trail) * self.curve.scale
        # Exactly, where a limit of the span is meant; and what is zero but for its rounding.
        for edge in (*self.curve.span, 0.0):
            near = np.abs(points[:, -1] - edge) <= self._digit(edge)
            for point in (points[i] for i in np.flatnonzero(near)):
                exact = np.append(point[:-1], edge)
                # Next to where forces have no bound they hang on these last digits.
                point[-1] = edge if self.on_curve(exact / self.curve.scale) else point[-1]
        growing, unclear = np.array([(c[0], c[3]) for c in counts]).T
        return Trail(points, growing, unclear, status), side_branches

    def _digit(self, value: float) -> float:
        """Return the last digits of a value of the parameter."""
        return 4e-16 * max(abs(value), self.curve.scale[-1])

    def _labelled(self, trail: Trail, begins: bool = False) -> Trail:
        """Say of a branch where it begins, and which part of the span it does not reach."""
        name, parameter = self.curve.parameter, trail.points[:, -1]
        word, words = str(trail.status), [trail.status.message]
        if begins:
            here = parameter[0]
            same = (s for s in self.marks if abs(s.z[-1] - here) <= self._digit(here))
            start = next(same, None)
            kind = f"the {start.kind} at " if start else ""
            words.insert(0, f"began at {kind}{name} = {parameter[0]:.6g}")
        digit = self._digit(0.0)
        folds = [s.z[-1] * (abs(s.z[-1]) > digit) for s in self.marks if s.kind == "fold"]
        slack = 1e-3 * self.curve.scale[-1]
        lowest, highest = float(parameter.min()), float(parameter.max())
        # A fold lies a little beyond the points on both sides of it.
        lowest = min([x for x in folds if lowest - slack < x <= lowest], default=lowest)
        highest = max([x for x in folds if highest <= x < highest + slack], default=highest)
        low, high = self.curve.span
        if lowest > low and word != "upright":
            words.append(f"no point of it has {name} below {lowest:.6g}")
        if highest < high and word != "upright":
            words.append(f"no point of it has {name} above {highest:.6g}")
        return replace(trail, status=Status(word, "; ".join(words)))

    def _smooth(self, old: np.ndarray, new: np.ndarray, tangent: np.ndarray, step: float) -> bool:
        """Tell whether a step stayed on its curve: it moved as far as it should, and forward."""
        move = new - old
        length = np.linalg.norm(move)
        return bool(0.5 * step < length < 2 * step and move @ tangent > 0.9 * length)

    def _far(self, trail: list[np.ndarray]) -> Status | None:
        """Tell whether a branch has left for infinity, inside the span, or at one parameter."""
        n, z = self.curve.n, trail[-1]
        if np.abs(z - trail[0])[:-1].max(initial=0.0) > _WIDE:
            if np.ptp([point[-1] for point in trail]) <= _LEVEL:
                at = f"{self.curve.parameter} = {z[-1] * self.curve.scale[-1]:.6g}"
                return Status("upright", f"all of it is at {at}: it balances there at any size")
        if (unheld := self._unheld(trail)) is not None:
            return unheld
        turned = (self.curve.periods != 0) | (self.curve.shared_turn != 0)
        away = np.abs(z - self.curve.start / self.curve.scale)[:n] * ~turned[:n]
        if not len(away) or away.max() < _AWAY:
            return None
        worst = int(np.argmax(away))
        name, value = self.curve.label(worst), z[worst] * self.curve.scale[worst]
        return Status("away", f"'{name}' went far away, to {value:.3g}")

    def _unheld(self, trail: list[np.ndarray]) -> Status | None:
        """Tell whether constraints come to depend on each other: their forces go to infinity."""
        n, z = self.curve.n, trail[-1]
        forces = np.abs(z)[n:-1]
        if forces.max(initial=0.0) < _AWAY:
            return None
        half = next((w for w in reversed(trail) if np.abs(w[n:-1]).max() < forces.max() / 2), z)
        moved = np.delete(np.abs(z - half), np.s_[n:-1])
        if half is z or moved.max() > 1 / _AWAY:
            return None
        worst = self.curve.label(n + int(np.argmax(forces)))
        at = f"{self.curve.parameter} goes to {z[-1] * self.curve.scale[-1]:.6g}"
        return Status("away", f"the force of '{worst}' grows without bound as {at}")

    def _beyond(self, z: np.ndarray) -> float | None:
        low, high = (edge / self.curve.scale[-1] for edge in self.curve.span)
        return low if z[-1] < low - 1e-15 else high if z[-1] > high + 1e-15 else None

    def _onto(self, old: np.ndarray, new: np.ndarray, edge: float) -> np.ndarray | None:
        """Return the point of the curve at a limit of the span."""
        share = (edge - old[-1]) / (new[-1] - old[-1])
        guess = old + share * (new - old)
        guess[-1] = edge
        straight = np.zeros(len(guess))
        straight[-1] = 1.0
        corrected = self.correct(guess, straight)
        if corrected is not None:
            return corrected[0]
        # Where the limit leaves a whole family at rest, no correction is unique, nor needed.
        return guess if self.on_curve(guess) else None

    # -- special points ---------------------------------------------------------------------------

    def _between(self, old, new, tangent, counts: Sequence, leaving: list) -> bool:
        """Locate folds, branch points and Hopf points between two points of a branch.

        False if branches would have to cross between them and do not: the step has jumped from one
        to another, as past the fold that a small imperfection makes of a pitchfork, or over a place
        where forces have no bound.
        """
        length, at = self._inside(old, new, tangent)
        if length <= 0:
            return True
        ahead, (before, after) = self.tangent(new, tangent), counts
        root = None
        if self.crossing(old, tangent) * self.crossing(new, tangent) < 0:
            root = root_of(lambda s: self.crossing(at(s), tangent), length)
            if root is not None and not self._branch_point(at(root), tangent, leaving):
                return False
        elif tangent[-1] * ahead[-1] < 0 and max(slope_of(tangent), slope_of(ahead)) > _LEVEL:
            # A branch that stands upright goes neither way.
            if (root := root_of(lambda s: self.tangent(at(s), tangent)[-1], length)) is not None:
                # What passes through zero is less beside it than at the end farther off.
                beside = [self._softest(at(root + side * length)) for side in (-_BESIDE, _BESIDE)]
                if max(beside) > self._softest(old if 2 * root > length else new):
                    return False
                # Where others fold, too, or all that cross a branch leave it level, they meet here.
                turn = at(root)
                exact = self.on_curve(turn)
                here = not exact or self._crossed(turn)
                if not (here and self._branch_point(turn, tangent, leaving)):
                    if not exact and length > _CLOSE:
                        return False
                    self._note("fold", turn)
        if abs(after[0] - before[0]) > 1:
            # Several modes: the determinant may touch zero without a change of its sign, or beside
            # where it changes.
            passed = [root] if root is not None else []
            for index in self._passed(old, new):
                s = root_of(lambda s, i=index: self.curve.stiffnesses(at(s))[i], length)
                if s is not None and all(abs(s - x) > SAME_VALUE for x in passed):
                    passed.append(s)
                    root = s if root is None else root
                    self._branch_point(at(s), tangent, leaving)
        # What gives way without swinging is no Hopf point: one is looked for to both sides of it.
        edges = [(0.0, before), (length, after)]
        if root is not None:
            sides = max(root - _BESIDE * length, 0.0), min(root + _BESIDE * length, length)
            edges[1:1] = [(s, self.curve.growing(at(s))) for s in sides]
        for first, last in zip(edges[::2], edges[1::2]):
            self._swinging(at, first, last)
        return True

    def _swinging(self, at: Callable[[float], np.ndarray], first: tuple, last: tuple) -> None:
        """Locate Hopf points in a part of a step, given where it ends and what grows there."""
        (begin, before), (end, after) = first, last
        few, many = sorted((before[4], after[4]))
        # Two modes at once may give way without swinging.
        if many - few == abs(after[0] - before[0]):
            for faster in range(few, many - 1, 2):
                self._hopf(at, begin, end, faster)

    def _hopf(
        self, at: Callable[[float], np.ndarray], first: float, last: float, faster: int
    ) -> None:
        """Locate where the mode that swings and has so many faster ones begins to grow, or ends."""
        one, other = (self.curve.growing(at(s), faster) for s in (first, last))
        slowest, fastest = sorted((one[2], other[2]))
        if slowest <= 1e-3 * fastest:
            return

        def sign(s: float) -> float:
            # Without damping two frequencies meet before they leave the axis.
            return 1.0 if self.curve.growing(at(first + s))[4] <= faster else -1.0

        def rate(s: float) -> float:
            return self.curve.growing(at(first + s), faster)[1]

        damped = min(abs(one[1]), abs(other[1])) > 1e-9 * fastest
        root = root_of(rate if damped else sign, last - first)
        if root is not None:
            point = at(first + root)
            self._note("hopf", point, self.curve.growing(point, faster)[2])

    def _softest(self, z: np.ndarray) -> float:
        """Return the least that equations change by where the parameter stays: none at a fold."""
        _, J = self.curve.values(z)
        if not np.all(np.isfinite(J)):
            return np.inf
        return float(np.linalg.svd(np.vstack([J, self.free])[:, :-1], compute_uv=False)[-1])

    def _tests(self, z: np.ndarray, tangent: np.ndarray, counts: Sequence) -> np.ndarray:
        """Return what changes its sign at a fold, at a branch point and at a Hopf point.

        What is rounding is no number.
        """
        slope, rate = tangent[-1], counts[1]
        return np.array([
            slope if abs(slope) > _LEVEL else np.nan,
            self.crossing(z, tangent),
            rate if 1e-9 * counts[2] < abs(rate) < np.inf else np.nan,
        ])  # fmt: skip

    def _look_back(
        self, trail: list, tangents: list, counts: list, tests: list, leaving: list,
        ended: bool = False,
    ) -> None:  # fmt: skip
        """Look for two points at once in the steps behind, where a test comes near to zero.

        Its sign is the same at both ends of a step that passes both.
        """
        k = len(tests)
        tests.extend(map(self._tests, trail[k:], tangents[k:], counts[k:]))
        if ended and len(trail) > 1:
            steps, some = [len(trail) - 1], np.abs(tests[-1]) < np.abs(tests[-2])
        elif len(trail) == 2:
            steps, some = [1], np.abs(tests[0]) < np.abs(tests[1])
        elif len(trail) > 2:
            before, here, after = np.abs(tests[-3:])
            # What stays the same dips by its rounding.
            least = (1 - _DIPS) * np.minimum(before, after)
            steps, some = [len(trail) - 1, len(trail) - 2], here < least
        else:
            return
        for i in steps:
            for which in np.flatnonzero(some & (tests[i - 1] * tests[i] > 0)):
                if self._passed_twice(trail, tangents, counts, tests, i, int(which), leaving):
                    break

    def _passed_twice(
        self, trail, tangents, counts, tests, i: int, which: int, leaving: list
    ) -> bool:
        """Part a step where a test has the other sign inside of it, and locate what is there."""
        old, new, tangent = trail[i - 1], trail[i], tangents[i - 1]
        length, at = self._inside(old, new, tangent)
        if length <= 0:
            return False

        def test(s: float) -> float:
            z = at(s)
            grows = self.curve.growing(z) if which == 2 else counts[i]
            value = self._tests(z, self.tangent(z, tangent), grows)[which] / abs(tests[i][which])
            # A determinant itself: its root has no parabola at a zero.
            return float(np.sign(value) * abs(value) ** len(z) if which == 1 else value)

        inside, low = dip_of(test, length)
        z = at(inside)
        # Two at one place are no two places: there one mode begins to grow as another ends.
        if low >= 0 or which == 1 and self.ranks_lost(z) > 1:
            return which == 1 and low < _TOUCHES and self._branch_point(z, tangent, leaving)
        middle, ahead = self.curve.growing(z), self.tangent(z, tangent)
        for one, other, way, ends in (
            (old, z, tangent, (counts[i - 1], middle)), (z, new, ahead, (middle, counts[i]))
        ):  # fmt: skip
            self._between(one, other, way, ends, leaving)
        for every, new_one in zip(
            (trail, tangents, counts, tests), (z, ahead, middle, self._tests(z, ahead, middle))
        ):
            every.insert(i, new_one)
        return True

    def _inside(
        self, old: np.ndarray, new: np.ndarray, tangent: np.ndarray
    ) -> tuple[float, Callable[[float], np.ndarray]]:
        """Return the length of a step, and the curve along it."""
        length = float(tangent @ (new - old))

        def at(s: float) -> np.ndarray:
            guess = old + s / length * (new - old)
            corrected = self.correct(guess, tangent)
            # Where branches cross the corrector may be thrown onto another.
            if corrected is None or np.linalg.norm(corrected[0] - guess) > length:
                return guess
            return corrected[0]

        return length, at

    def _passed(self, old: np.ndarray, new: np.ndarray) -> list[int]:
        """Return which stiffnesses go through zero, if several do."""
        before, after = self.curve.stiffnesses(old), self.curve.stiffnesses(new)
        size = max(np.abs(before).max(initial=0.0), 1e-300)
        changed = np.flatnonzero((before * after < 0) & (np.abs(before) > 1e-9 * size))
        return changed.tolist() if len(changed) > 1 else []

    def _singular(self, z: np.ndarray, tangent: np.ndarray) -> bool:
        """Tell whether branches cross here."""
        _, J = self.curve.values(z)
        sizes = np.linalg.svd(self.bordered(J, tangent), compute_uv=False)
        return bool(sizes[-1] < 1e-9 * sizes[0])

    def _branch_point(self, z: np.ndarray, tangent: np.ndarray, leaving: list) -> bool:
        """Note a crossing with the branches that leave it; False if there is none here."""
        z = self.polished(z)
        _, J = self.curve.values(z)
        # Rows are of order one: at a crossing J has lost a rank to many more digits than these.
        if not self.on_curve(z) or not self.ranks_lost_at(z, CROSSED):
            return False
        # The null space of J: one direction is the branch itself, the others leave it.
        _, sizes, rows = np.linalg.svd(np.vstack([J, self.free]))
        plane = rows[min(int(np.sum(sizes > CROSSED)), len(z) - 2) :]
        every = self.tangents(z, J, plane)
        if every:
            every.sort(key=lambda way: -abs(way @ tangent))
            along, *ways = every
        else:
            along = plane.T @ (plane @ tangent)
            along /= np.linalg.norm(along)
            ways = without(plane, along)
        level = slope_of(along) < _SYMMETRIC
        # Where all of them fold none is the mirror image of another.
        kinds = [level is not (slope_of(way) < _SYMMETRIC) for way in ways]
        if self._note("pitchfork" if all(kinds) else "branch", z):
            places = [] if every else self.around(z, plane, along)
            far = max((float(np.linalg.norm(place - z)) for place in places), default=0.0)
            self.knots += [(z, _BLURRED * far)] * bool(places)
            leaving += [(z, (place - z) / np.linalg.norm(place - z), place) for place in places]
            if not places:
                self.unclear += not every and len(ways) > 1
                leaving += [(z, sign * way, None) for way in ways for sign in (1.0, -1.0)]
        return True

    def _crossed(self, turn: np.ndarray) -> bool:
        """Tell whether branches cross where one turns, and not only near its fold."""
        there = self.polished(turn)
        return self.ranks_lost_at(there, LOST) > 0 and self._same(there, turn, _LEAVES)

    def _note(self, kind: str, w: np.ndarray, frequency: float | None = None) -> bool:
        n, scale = self.curve.n, self.curve.scale
        for knot, blurred in self.knots:
            apart = np.abs(self.curve.kinematics.difference(knot, w))
            if np.append(apart[:n], apart[-1]).max() < blurred:
                return False
        for known in self.marks:
            near = _SAME_CROSSING
            if kind == "fold":
                near = _SAME_FOLD if known.kind == "fold" else _LEAVES
            if self._same(known.z / scale, w, near):
                return False
        self.marks.append(Mark(kind, w * scale, frequency))
        return True

    def _same(self, one: np.ndarray, other: np.ndarray, near: float) -> bool:
        """Tell whether two places are one, as near as that."""
        apart = np.abs(self.curve.kinematics.difference(one, other))
        return bool(apart[-1] < SAME_VALUE and apart[: self.curve.n].max(initial=0.0) < near)

    def _known(self, z: np.ndarray, direction: np.ndarray, beside: np.ndarray | None) -> bool:
        """Tell whether the branch that starts here has been followed already."""
        if beside is not None:
            return self._followed(beside, FIRST / 2)
        # Far from the start the corrector may be thrown onto another, near it last digits lead.
        some = [(reach, self.correct(z + reach * direction, direction)) for reach in _PROBES]
        return all(place is None or self._followed(place[0], reach / 10) for reach, place in some)

    def _followed(self, probe: np.ndarray, near: float) -> bool:
        """Tell whether a branch that has been followed passes a place as near as that."""
        # Coordinates and the parameter; multipliers follow from them.
        some = np.append(np.arange(self.curve.n), len(probe) - 1)
        for trail in self.trails:
            points = trail.points / self.curve.scale
            target = self.curve.written_near(probe[some], points[:, some], some)
            away, corner, share = nearest_on(points[:, some], target)
            if away < near:
                return True
            leg = points[min(corner + 1, len(points) - 1)] - points[corner]
            # A curve leaves its polygon by a part of a step that both its ends are near to.
            if away < _ARCHED * np.linalg.norm(leg):
                on_it = self.correct(points[corner] + share * leg, leg / np.linalg.norm(leg))
                if on_it and np.linalg.norm(on_it[0][some] - target[corner]) < near:
                    return True
        return False
