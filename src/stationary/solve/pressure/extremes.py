"""The extreme of a linear functional of the motion over all pressures, under one mode."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from stationary.solve.pressure.border import Border
from stationary.solve.pressure.envelope import Pressures, across, field
from stationary.solve.pressure.lines import (
    Pencil,
    Place,
    beyond,
    cornered,
    farthest,
    placed,
    zoomed,
)  # fmt: skip
from stationary.solve.pressure.polish import Polisher, Summit, atoms_of
from stationary.solve.pressure.programs import Programs
from stationary.solve.pressure.region import Edge, Mode, Region

# Turns of a search in which samples have shown something beyond.
_TURNS = 5
# Directions in which the border is looked at where lines do not lead to it.
_RAYS = np.arange(64) * (np.pi / 32)


class Extremes:
    """The extremes of one mode: what they share is found once."""

    def __init__(self, pressures: Pressures, mode: Mode):
        self.pressures, self.mode = pressures, mode
        self.programs = Programs(pressures.rest)
        self.region = Region(pressures, mode)
        self.plane = mode.free.shape[1] == 2

    def greatest(self, functional: np.ndarray) -> Summit | None:
        """Return the motion with the greatest ``functional @ twist``, if there is one."""
        if not self.plane:
            edge = self.region.top(functional, self.start)
            return None if edge is None else _summit(edge)
        if self.mode.guard is None:
            pencil = Pencil(self.programs, self.mode, functional)
            found = self._followed(pencil, farthest(pencil, float(functional @ self.mode.base)))
            reached = -np.inf if found is None else float(functional @ found.twist)
            pair = self._pair(functional, reached)
            if pair is not None and (
                found is None or functional @ pair.twist > functional @ found.twist
            ):
                found = self._followed(pencil, placed(pencil, pair.twist)) or found
                if found is None or functional @ pair.twist > functional @ found.twist:
                    found = pair
        else:
            pencil = Pencil(self.programs, self.mode, functional)
            found = None
        if found is None:
            found = self._from_border(pencil)
        return found and self._firm(found)

    def _followed(self, pencil: Pencil, place: Place | None) -> Summit | None:
        """Go to the extreme next to a place, and to what samples show beyond it."""
        functional, found = pencil.functional, None
        for _ in range(_TURNS):
            if place is None:
                break
            better = self._end(pencil, place)
            if better is None:
                break
            if found is None or functional @ (better.twist - found.twist) > 0:
                found = better
            reached = float(functional @ found.twist)
            place = beyond(pencil, reached + 1e-4 * abs(reached))
        return found

    @cached_property
    def start(self) -> np.ndarray:
        """A motion that some pressure has."""
        return self.region.even()

    @cached_property
    def border(self) -> np.ndarray:
        """Motions at the border of the set, around one inside."""
        return Border(self.programs, self.mode, self.start).motions(_RAYS)

    def _from_border(self, pencil: Pencil) -> Summit | None:
        """Return the best extreme next to the border that the finger allows."""
        best: Summit | None = None
        twists = np.array([t for t in self.border if self.mode.allows(t)])
        if not len(twists):
            return None
        values = twists @ pencil.functional
        high = (values >= np.roll(values, 1)) & (values >= np.roll(values, -1))
        for k in np.flatnonzero(high)[np.argsort(-values[high])[:4]]:
            found = self._end(pencil, placed(pencil, twists[k]))
            if found is None or not self.mode.allows(found.twist):
                continue
            if best is None or pencil.functional @ (found.twist - best.twist) > 0:
                best = found
        return best

    def _pair(self, functional: np.ndarray, reached: float) -> Summit | None:
        """Return the best pressure of which one atom rests while one on the border moves.

        The more load is on the border, the faster it turns, until the force on the atom at rest is
        all that friction gives: the fastest of pushes that pass close by the centre.
        """
        rest = self.pressures.rest
        if rest.feet:
            return None
        few = np.geomspace(1e-9, 0.02, 40, endpoint=False)
        share = np.concatenate([few, np.linspace(0.02, 0.6, 24)])
        x, low = np.repeat(rest.columns, len(share), axis=0), np.tile(share, len(rest.columns))
        twist, good = self._resting(x, low)
        values = np.where(good, twist @ functional, -np.inf)
        best = np.argsort(-values)[:40]
        best = best[np.isfinite(values[best])]
        # Between the samples it goes a little further, not much.
        if not len(best) or values[best[0]] < reached - 0.3 * abs(reached):
            return None
        high = share[np.minimum(best % len(share) + 1, len(share) - 1)]
        edges, along = (k[best // len(share)] for k in rest.grid)
        x, low, wide = x[best], low[best], 1.0
        found: Summit | None = None
        for _ in range(12):
            for _ in range(52):
                middle = (low + high) / 2
                good = self._resting(x, middle)[1]
                low, high = np.where(good, middle, low), np.where(good, high, middle)
            twist, _ = self._resting(x, low)
            inside = rest.contain(-x * (low / (1 - low))[:, None])
            values = np.where(inside, twist @ functional, -np.inf)
            k = int(values.argmax())
            if not np.isfinite(values[k]) or values[k] < reached - 0.02 * abs(reached):
                break
            if found is None or values[k] > functional @ found.twist:
                none, m = np.zeros(3), float(low[k])
                points = np.stack([-x[k] * m / (1 - m), x[k]])
                found = Summit(twist[k], points, np.array([1 - m, m]), none, none, 0.0, 0.0)
            # Once more beside the best, along its edge.
            beside = wide * rest.spacing[edges[k]] * np.linspace(-1, 1, 9)
            edges = np.full(9, edges[k])
            along, wide = rest.moved(edges, along[k] + beside), wide / 4
            x, low, high = rest.at(edges, along)[0], np.full(9, 1e-12), np.full(9, 0.6)
        return found

    def _resting(self, x: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return motions about the other atom of a pair, and whether that one rests."""
        force = self.mode.force
        assert force is not None
        q = -x * (m / (1 - m))[:, None]
        turn = np.stack([q[:, 1], -q[:, 0], np.ones(len(q))], axis=1)
        plane = np.cross(*self.mode.free.T)
        with np.errstate(divide="ignore", invalid="ignore"):
            twist = turn * ((plane @ self.mode.base) / (turn @ plane))[:, None]
            v = twist[:, :2] + twist[:, 2:] * across(x)
            speed = np.hypot(v[:, 0], v[:, 1])
            push = m * speed / (twist @ force)
            e = (push[:, None] * force[:2] - (m / speed)[:, None] * v) / (1 - m)[:, None]
            good = (np.hypot(e[:, 0], e[:, 1]) <= 1) & (twist @ force > 0)
            good &= np.all(np.isfinite(twist), axis=1)
        return np.where(good[:, None], twist, 0.0), good

    def _firm(self, summit: Summit) -> Summit:
        """Give an extreme at which an atom just rests a pressure under which it does so firmly.

        At the extreme itself the force on that atom is all that friction gives, and other motions
        may do as well; a pressure next to it has one motion only.
        """
        slow = np.linalg.norm(field(summit.twist, summit.points), axis=1)
        if not self.plane or not np.any(slow <= 1e-9 * slow.max()) or len(summit.points) < 2:
            return summit
        for share, slack in ((6e-7, 0.5), (6e-7, 0.2), (8e-7, 0.05), (8e-7, 0.01)):
            twist = summit.twist + share * (self.start - summit.twist)
            zero = tuple(self.mode.balance(w, twist) for w in self.mode.free.T)
            claim = self.pressures.least(twist, np.zeros(3), zero, grip=1 - slack * share)
            if claim.feasible and np.any(claim.still):
                points, masses = _joined(claim.points, claim.masses)
                return replace(summit, points=points, masses=masses)
        return summit

    def _end(self, pencil: Pencil, place: Place) -> Summit | None:
        """Return the extreme next to a place: about a corner, or by Newton's method."""
        spare = 0.02 * abs(place.value)
        corner = cornered(pencil, place.value - spare, place.value + spare)
        if corner is not None and beyond(pencil, corner.value + 1e-6 * abs(corner.value)) is None:
            return _taken(corner)
        found = self._polished(pencil, place)
        if found is None:
            exact = zoomed(pencil, place)
            if exact is not None and abs(exact.answers.value[exact.row]) < 1e-9:
                found = _taken(exact)
        # A motion about a corner that is further, or where nothing else was found.
        if corner is not None and (
            found is None or corner.value > float(pencil.functional @ found.twist)
        ):
            found = _taken(corner)
        return found

    def _polished(self, pencil: Pencil, place: Place) -> Summit | None:
        a, k = place.answers, place.row
        atoms = atoms_of(self.pressures.rest, a.points[k], a.masses[k], a.ways[k], a.still[k],
                         a.edges[k], a.along[k])  # fmt: skip
        polisher = Polisher(self.pressures, self.mode, pencil.functional)
        return polisher.summit(place.twist, atoms)


def _taken(place: Place) -> Summit:
    """Take what a program found as it is."""
    a, k = place.answers, place.row
    points, masses = _joined(a.points[k], a.masses[k])
    return Summit(place.twist, points, masses, -a.affine[k], np.zeros(3), float(a.value[k]), 0.0)


def _summit(edge: Edge) -> Summit:
    """Take what a program found as it is."""
    claim = edge.claim
    points, masses = _joined(claim.points, claim.masses)
    return Summit(
        edge.twist, points, masses, -claim.affine, claim.witness,
        claim.lowest, 0.0,
    )  # fmt: skip


def _joined(points: np.ndarray, masses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return atoms that share a place as one, and those without load not at all."""
    places: list[np.ndarray] = []
    loads: list[float] = []
    for x, m in zip(points[masses > 0], masses[masses > 0]):
        near = [k for k, y in enumerate(places) if np.abs(x - y).max() <= 1e-12]
        if near:
            loads[near[0]] += float(m)
        else:
            places.append(x)
            loads.append(float(m))
    return np.array(places), np.array(loads)
