"""The extreme of a linear functional of the motion over all pressures, under one mode."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import product

import numpy as np

from stationary.solve.linear import Rows
from stationary.solve.pressure.duals.certificate import certified, in_balance
from stationary.solve.pressure.envelope import field
from stationary.solve.pressure.extremes.climb import Climb, End, even, even_load, moved
from stationary.solve.pressure.extremes.polish import (
    Atoms,
    Polisher,
    Summit,
    atoms_of,
    joined,
    placed,
)
from stationary.solve.pressure.extremes.stick import last_of
from stationary.solve.pressure.extremes.vertices import driven, last_pairs, pairs, vertices
from stationary.solve.pressure.programs.lines import Pencil, beyond, possible
from stationary.solve.pressure.programs.programs import Programs, cap_of
from stationary.solve.pressure.programs.single import EXACT, ROUGH, Answer, Single
from stationary.solve.pressure.region import Mode, spread_motion
from stationary.solve.pressure.support import WEIGHT, Rest

# How close a search around the border comes before Newton's method takes over.
_CLOSE = (1e-2, 1e-3, 1e-4, 1e-5)
# A push that passes the centre at less than this, in sizes of the part, is close by it.
_CLOSE_BY = 0.05
# Turns of a search in which programs have shown something beyond.
_TURNS = 5
# How often a freedom of loads is looked at more closely.
_ZOOMS = 12
# Mixtures of pressures that are tried where a finger is not known to slip to a side.
_TRIED = 300
# How far beyond an extreme programs are asked, as a share of it.
_BEYOND = 1e-5
# The same where another mode is to be exceeded at all.
_JUST = 1e-9
# How much closer to a kink they are asked, too.
_CLOSER = (1e-2, 1e-4)
# More than columns that move lower the value of a program.
_ROOM = 0.05
# Atoms closer than this, in sizes of the part, may be one.
_NEIGHBOURS = (0.12, 0.01, 1e-6)
# Steps of an ascent from pressure to pressure.
_ASCENTS = 60
# Less load than this is none, in weights, and motions closer than this may be those about a corner.
_IDLE, _NEAR = 1e-8, 1e-6
# What a pressure that holds its atom at rest firmly may lose of an extreme, as a share of it.
_LOSS = 5e-7


class Starts:
    """Motions of one mode that pressures have, whatever is asked of them."""

    def __init__(self, rest: Rest, mode: Mode):
        self.rest, self.mode = rest, mode
        self.programs = Programs(rest, cap_of(mode))

    @cached_property
    def start(self) -> np.ndarray:
        """A motion that some pressure has."""
        return spread_motion(self.rest, self.mode)

    @cached_property
    def spread(self) -> np.ndarray:
        """The motion under a pressure that is spread, whether the finger allows it or not."""
        return even(self.rest, self.mode)

    @cached_property
    def plain(self) -> np.ndarray:
        """Motions that pressures have: under one that is spread, and those of pairs."""
        known = self.spread[None] if self.mode.allows(self.spread) else np.zeros((0, 3))
        return known if self.rest.feet else np.vstack([known, self.pairs[0]])

    @cached_property
    def every(self) -> np.ndarray:
        """The same, or those of mixtures where there are none."""
        return self.plain if len(self.plain) else self._mixed()

    @cached_property
    def family(self) -> tuple[np.ndarray, ...] | None:
        """Feet, loads and their one freedom, with places along it and the motions there."""
        points = self.rest.corners
        rows = np.vstack([np.ones(len(points)), self.programs.frame @ points.T])
        if len(points) != len(rows) + 1:
            return None
        held = Rows(rows)
        way, load = held.tangent[:, -1], held.correction(-np.eye(len(rows))[0])
        with np.errstate(divide="ignore"):
            ends = -load / way
        low, high = ends[way > 0].max(), ends[way < 0].min()
        # A foot without load says nothing about its motion: fewer feet are looked at on their own.
        places = np.linspace(low, high, 52)[1:-1]
        self._along = points, load, way
        return points, load, way, places, self.of_family(places)

    def of_family(self, places: np.ndarray) -> np.ndarray:
        """Return the motions at places along the freedom of the loads."""
        points, load, way = self._along
        loads = np.maximum(load + places[:, None] * way, 0.0)
        return driven(self.mode, np.tile(points, (len(places), 1, 1)), loads)

    def _mixed(self) -> np.ndarray:
        """Return motions of extreme pressures and of mixtures: some may slip to the right side."""
        points, loads = vertices(self.rest, _TRIED)
        rng = np.random.default_rng(0)
        pair = rng.integers(len(loads), size=(_TRIED, 2))
        share = rng.uniform(size=(_TRIED, 1))
        points = np.hstack([points[pair[:, 0]], points[pair[:, 1]]])
        loads = np.hstack([share * loads[pair[:, 0]], (1 - share) * loads[pair[:, 1]]])
        twists = driven(self.mode, points, loads)
        return twists[[bool(np.isfinite(t).all()) and self.mode.allows(t) for t in twists]]

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pressures of two atoms, one of which rests."""
        return pairs(self.rest, self.mode)

    @cached_property
    def last_pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Those of them that go furthest."""
        return last_pairs(self.rest, self.mode)


class Extremes:
    """The extremes of one mode: what they share is found once."""

    def __init__(self, rest: Rest, mode: Mode, starts: Starts | None = None):
        self.rest, self.mode = rest, mode
        self.known = starts or Starts(rest, mode)
        self.programs = self.known.programs
        self.plane = mode.free.shape[1] == 2
        self.ends: dict[float, tuple[float, Answer]] = {}
        # Motions at which a sliding finger was seen to stick.
        self.stuck: list[np.ndarray] = []

    @cached_property
    def single(self) -> Single:
        """The programs at one motion after another."""
        return Single(self.rest, self.programs)

    @property
    def start(self) -> np.ndarray:
        """A motion that some pressure has."""
        return self.known.start

    def seen(self, functional: np.ndarray) -> float:
        """Return how far known motions go where a finger slides; one that sticks has few."""
        if not self.plane:
            return np.inf
        return float((self.known.plain @ functional).max(initial=-np.inf))

    def greatest(self, functional: np.ndarray, floor: float = -np.inf) -> Summit | None:
        """Return the motion with the greatest ``functional @ twist``, if there is one.

        What is below `floor`, which another mode reaches, need not be the greatest.
        """
        if not self.plane:
            return last_of(self.single, self.mode, functional, self.start, self.ends, self.stuck)
        reached = np.isfinite(floor) and not self.rest.feet
        if reached and not len(self.known.plain):
            if self._beyond(functional, floor, self.known.spread, by=_JUST) is None:
                return None
        starts = self.known.every
        if not len(starts):
            return None
        if self.rest.feet and len(self.rest.corners) <= len(self.programs.frame) + 2:
            return self._only(functional)
        inside = starts[int((starts @ functional).argmax())]
        value, best, stuck = self._climbed(functional, inside)
        self.stuck = [] if stuck is None else [stuck]
        best = self._about_corner(functional, value) or best
        if best is None and stuck is None:
            higher = inside
            if floor > functional @ inside:
                higher = self._beyond(functional, floor, inside, rounds=EXACT, by=_JUST)
            if higher is None:
                return None
            best = self._ascended(functional, higher)
        for _ in range(_TURNS):
            twist = best.twist if best is not None else inside if stuck is None else stuck
            points = None if best is None else best.points
            value = max(float(functional @ twist), floor)
            further, closer = self._beyond(functional, value, twist, points), 1.0
            if further is None and best is not None and not best.kind and value > floor:
                if certified(self.rest, self.mode, best, functional).scope:
                    break
                further, closer = self._beside(functional, best)
            if further is None:
                break
            higher = self._ascended(functional, further, closer)
            if higher is None or (
                best is not None and functional @ (higher.twist - best.twist) <= 0
            ):
                break
            corner = self._about_corner(functional, float(functional @ higher.twist))
            best = corner or higher
        if best is not None and not best.kind:
            best = self._settled(functional, best)
        if self.rest.feet:
            vertex = self._vertex(functional)
            if vertex is not None and (
                best is None or functional @ (vertex.twist - best.twist) > 0
            ):
                return vertex
        return best or self._only(functional)

    def _vertex(self, functional: np.ndarray) -> Summit | None:
        """Return the best pressure of as few feet as bear the weight."""
        points, loads = vertices(self.rest)
        twists = driven(self.mode, points, loads)
        allowed = [bool(np.isfinite(t).all()) and self.mode.allows(t) for t in twists]
        if not any(allowed):
            return None
        k = int(np.where(allowed, twists @ functional, -np.inf).argmax())
        return Summit(twists[k], points[k], loads[k])

    def _only(self, functional: np.ndarray) -> Summit | None:
        """Return the extreme where the set has no inside: about a foot, or the one motion."""
        if self.rest.feet:
            both = (
                s for s in (self._vertex(functional), self._family(functional)) if s is not None
            )
            return max(both, key=lambda s: float(functional @ s.twist), default=None)
        if self.mode.guard is not None:
            return None
        summit = self.balanced(self.start, functional)
        value = -np.inf if summit is None else float(functional @ self.start)
        summit = self._about_corner(functional, value) or summit
        if summit is None:
            return None
        value = float(functional @ summit.twist)
        further = self._beyond(functional, value, summit.twist)
        return summit if further is None else None

    def _climbed(
        self, functional: np.ndarray, inside: np.ndarray
    ) -> tuple[float, Summit | None, np.ndarray | None]:
        """Go around the border, and from there to the extreme by Newton's method.

        The value comes also where the extreme has a kink: less a little then. Where the finger
        begins to stick, which is another mode, it is the motion there that comes.
        """
        reached, taken = -np.inf, None
        polisher = Polisher(self.rest, self.mode, functional)
        pair = self._paired(polisher, functional, inside)
        if pair is not None:
            return float(functional @ pair.twist), polisher.firm(pair, _LOSS), None
        for k, close in enumerate(_CLOSE):
            climb = Climb(self.single, self.mode, inside, EXACT if k else ROUGH)
            end = climb.top(functional, close, 8 + 8 * k)
            if end is None:
                return reached, taken, None
            twist = climb.at(end.x, end.y)
            if end.slips:
                return float(functional @ twist), None, twist
            value = float(functional @ twist)
            for answer in (end.answer, None):
                answer = answer or climb.exact(end)
                summit = self._polished(polisher, twist, answer)
                if summit is not None and not self.mode.allows(summit.twist):
                    # The finger sticks before that.
                    return value, None, twist
                if summit is not None:
                    return float(functional @ summit.twist), polisher.firm(summit, _LOSS), None
                if answer.balanced and abs(answer.value) < 1e-9 * WEIGHT and value > reached:
                    points, masses = joined(np.array(answer.points).T, np.array(answer.masses))
                    taken = Summit(twist, points, masses)
                    reached = value
            if taken is None:
                reached = max(reached, value - 2 * close * abs(value))
            corner = self._about_corner(functional, reached) if k == 0 else None
            if corner is not None:
                reached = float(functional @ corner.twist)
                if self._beyond(functional, reached, corner.twist, rounds=EXACT) is None:
                    return reached, corner, None
            inside = self._inside(functional, climb, end)
        return reached, taken, None

    def _paired(
        self, polisher: Polisher, functional: np.ndarray, inside: np.ndarray
    ) -> Summit | None:  # fmt: skip
        """Return the extreme next to a pair, where pairs go furthest of all that is known.

        Where a push passes close by the centre almost all load rests: what moves is less than
        programs tell apart.
        """
        if self.rest.feet:
            return None
        for pressures in (self.known.last_pairs, self.known.pairs):
            summit = self._from_pair(polisher, functional, inside, *pressures)
            if summit is not None or self.mode.lever > _CLOSE_BY:
                return summit
        return None

    def _from_pair(
        self, polisher: Polisher, functional: np.ndarray, inside: np.ndarray, twists: np.ndarray,
        column: np.ndarray, share: np.ndarray,
    ) -> Summit | None:  # fmt: skip
        """Return the extreme next to the pair that goes furthest of some."""
        force = self.mode.force
        assert force is not None
        if not len(twists):
            return None
        k = int((twists @ functional).argmax())
        if functional @ (twists[k] - inside) < 0:
            return None
        twist, m, x = twists[k], float(share[k]), self.rest.columns[column[k]]
        v = field(twist, x)
        speed = float(np.hypot(v[0], v[1]))
        e = m * speed / (twist @ force) * force[:2] - m * v / speed
        edges, along = (np.array([c[column[k]], 0]) for c in self.rest.grid)
        corner = along[0] == 0.0 and not self.rest.radius
        angle = np.array([0.0, np.arctan2(e[1], e[0])])
        kinds = ("fixed" if corner else "edge", "still")
        atoms = Atoms(kinds, edges, along, angle, np.array([m, 1 - m]))
        summit = polisher.summit(twist, atoms)
        return summit if summit is not None and self.mode.allows(summit.twist) else None

    def _inside(self, functional: np.ndarray, climb: Climb, end: End) -> np.ndarray:
        """Return a motion inside the set, closer to the extreme than the last."""
        near = climb.at(0.9 * end.x, 0.9 * end.y)
        if end.answer.value < -1e-6:
            # No pressure has this motion, but the pressure of its program goes beyond.
            further = self._mixed(end.answer)
            if further is not None and functional @ (further - climb.start) > 0:
                return further
        return near

    def _mixed(self, answer: Answer, share: float = 0.05) -> np.ndarray | None:
        """Return the motion of a pressure, with a little more on all of the support."""
        ring, spread = even_load(self.rest)
        points = np.vstack([np.array(answer.points).T, ring])
        masses = np.concatenate([(1 - share) * np.array(answer.masses), share * spread])
        twist = moved(points, masses, self.mode)
        return twist if self.mode.allows(twist) else None

    def _beyond(
        self, functional: np.ndarray, value: float, twist: np.ndarray,
        points: np.ndarray | None = None, rounds: int = ROUGH, closer: float = 1.0,
        by: float = _BEYOND,
    ) -> np.ndarray | None:  # fmt: skip
        """Return a motion beyond a value at which some pressure stops or goes on, if there is one.

        At the motions with one value, a program that is negative has a pressure that goes beyond.
        """
        pencil = self._pencil(functional)
        size = max(abs(value), 1e-3 * float(np.abs(twist).max()))
        further = value + by * closer * size
        answer = beyond(self.single, pencil, further, twist, closer, rounds, closer == 1.0, points)
        return None if answer is None else self._on(pencil, answer)

    def _beside(self, functional: np.ndarray, best: Summit) -> tuple[np.ndarray | None, float]:
        """Return a motion beyond a kink and how close to it it is: of a narrow range of them."""
        value = float(functional @ best.twist)
        for rounds, closer in product((ROUGH, EXACT), _CLOSER):
            further = self._beyond(functional, value, best.twist, None, rounds, closer)
            if further is not None:
                return further, closer
        return None, 1.0

    def _settled(self, functional: np.ndarray, best: Summit) -> Summit:
        """Return the extreme next to a motion that nothing goes beyond, along edges, too."""
        if self.rest.feet or self.rest.radius:
            return best
        if certified(self.rest, self.mode, best, functional).scope:
            return best
        value, size = float(functional @ best.twist), float(np.abs(best.twist).max())
        corner = self._about_corner(functional, value - _NEAR * size)
        if corner is not None and certified(self.rest, self.mode, corner, functional).scope:
            return corner
        polisher = Polisher(self.rest, self.mode, functional)
        ways, _ = in_balance(self.mode, best)
        angle = np.arctan2(ways[:, 1], ways[:, 0])
        atoms = replace(placed(self.rest, best), angle=angle).loaded(_IDLE)
        for line in (-1, *polisher.edges_beside(best.twist)):
            summit = polisher.summit(best.twist, atoms, line)
            if (
                summit is not None and self.mode.allows(summit.twist)
                and functional @ summit.twist >= value - 1e-9 * size
                and certified(self.rest, self.mode, summit, functional).scope
            ):  # fmt: skip
                return polisher.firm(summit, _LOSS)
        return best

    def _on(self, pencil: Pencil, answer: Answer) -> np.ndarray:
        """Return the motion of a program at the speed at which the finger drives it."""
        return answer.twist * (pencil.rate @ self.mode.base) / (pencil.rate @ answer.twist)

    def _ascended(
        self, functional: np.ndarray, twist: np.ndarray, closer: float = 1.0
    ) -> Summit | None:  # fmt: skip
        """Go from pressure to pressure, each beyond the line of motions at which the last stopped.

        Seen from one motion a set may hide its extreme; what programs show beyond a line is there.
        """
        pencil, polisher = self._pencil(functional), Polisher(self.rest, self.mode, functional)
        best, reached = None, float(functional @ twist)
        size = max(abs(reached), float(np.abs(twist).max()))
        step, least = 0.1 * closer * size, 1e-10 * closer * size
        for _ in range(_ASCENTS):
            if step <= (least if best is not None else 1e4 * least):
                break
            answer = beyond(self.single, pencil, reached + step, twist, closer, EXACT, best is None)
            if answer is None:
                step, closer = step / 4, max(closer / 2, 1e-6)
                continue
            line = self._on(pencil, answer)
            reached, twist, step = float(functional @ line), line, 1.5 * step
            closer = min(3 * closer, 1.0)
            points, masses = joined(np.array(answer.points).T, np.array(answer.masses))
            motion = driven(self.mode, points[None], masses[None])[0]
            if np.isfinite(motion).all() and self.mode.allows(motion):
                best = Summit(motion, points, masses)
            summit = self._polished(polisher, line, answer)
            if (
                summit is not None and self.mode.allows(summit.twist)
                and functional @ (summit.twist - line) >= -1e-9 * abs(reached)
            ):  # fmt: skip
                return polisher.firm(summit, _LOSS)
        return best

    def _polished(self, polisher: Polisher, twist: np.ndarray, answer: Answer) -> Summit | None:
        """Return the extreme next to a motion; or, of what rests at an edge, the one along it."""
        tried: list[Atoms] = []
        for near in _NEIGHBOURS:
            # Columns around one place are one atom; where corners are close, they may be several.
            atoms = atoms_of(self.rest, answer, near)
            for start in (atoms, atoms.loaded(1e-4)):
                if any(len(start.kinds) == len(k.kinds) for k in tried):
                    continue
                tried.append(start)
                summit = polisher.summit(twist, start)
                if summit is not None:
                    return summit
        resting = [start for start in tried if "still" in start.kinds]
        for start, edge in product(resting, polisher.edges_beside(twist)[:1]):
            summit = polisher.summit(twist, start, edge)
            # What rests there must want to leave.
            if summit and certified(self.rest, self.mode, summit, polisher.functional).scope:
                return summit
        return None

    def _pencil(self, functional: np.ndarray) -> Pencil:
        return Pencil(self.programs, self.mode, functional)

    def _family(self, functional: np.ndarray) -> Summit | None:
        """Return the extreme of feet whose loads have one freedom, as those of four feet have."""
        if self.known.family is None:
            return None
        points, load, way, places, every = self.known.family
        best, value = None, -np.inf
        for _ in range(_ZOOMS):
            allowed = [bool(np.isfinite(t).all()) and self.mode.allows(t) for t in every]
            if not any(allowed):
                break
            values = np.where(allowed, every @ functional, -np.inf)
            k = int(values.argmax())
            # What is flat around its top is known to rounding before its place is.
            gain, value = values[k] - value, max(values[k], value)
            if best is not None and gain <= 1e-15 * abs(value):
                break
            best = Summit(every[k], points, load + places[k] * way)
            low, high = places[max(k - 1, 0)], places[min(k + 1, len(places) - 1)]
            places = np.linspace(low, high, 18)[1:-1]
            every = self.known.of_family(places)
        return best

    def _about_corner(self, functional: np.ndarray, low: float) -> Summit | None:
        """Return the best motion about a corner or a foot that goes beyond a value, if one does.

        About a corner that bears load many pressures turn the part: the set of motions has kinks
        there.
        """
        mode, rest = self.mode, self.rest
        x, y = rest.corners.T
        twists = np.stack([y, -x, np.ones(len(x))], axis=1)
        plane = mode.normal
        with np.errstate(divide="ignore", invalid="ignore"):
            twists = twists * (plane @ mode.base / (twists @ plane))[:, None]
            values = twists @ functional
        least = low + 1e-9 * abs(low) if np.isfinite(low) else low
        beyond = np.isfinite(values) & (values > least)
        beyond[beyond] = [mode.allows(twist) for twist in twists[beyond]]
        if beyond.any():
            beyond[beyond] = possible(self._pencil(functional), twists[beyond], _ROOM)
        for k in np.flatnonzero(beyond)[np.argsort(-values[beyond])]:
            summit = self.balanced(twists[k], functional)
            if summit is not None:
                return summit
        return None

    def balanced(self, twist: np.ndarray, functional: np.ndarray) -> Summit | None:
        """Return a pressure that has a motion: two of which one would go on, the other back."""
        free = self.mode.free
        slopes = functional @ free
        across, along = (
            self.mode.balance(free @ w / np.linalg.norm(slopes), twist)
            for w in (slopes, np.array([-slopes[1], slopes[0]]))
        )
        answers = []
        for aim in (across, -across):
            answer = self.single.least(twist, aim, along)
            if answer.value < _ROOM:
                answer = self.single.least(twist, aim, along, answer.columns, EXACT)
            if answer.value > 1e-12 or not answer.balanced:
                return None
            answers.append(answer)
        on, back = answers
        share = back.value / min(on.value + back.value, -1e-300)
        points = np.hstack([on.points, back.points]).T
        masses = np.concatenate([share * np.array(on.masses), (1 - share) * np.array(back.masses)])
        points, masses = joined(points, masses)
        return Summit(twist, points, masses)
