"""The extreme of a linear functional of the motion over all pressures, under one mode."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from stationary.solve.pressure.climb import Climb, End, even, even_load, moved
from stationary.solve.pressure.lines import Pencil, beyond
from stationary.solve.pressure.pairs import pairs
from stationary.solve.pressure.polish import Atoms, Polisher, Summit, atoms_of, joined
from stationary.solve.pressure.programs import Programs
from stationary.solve.pressure.region import Mode, spread_motion
from stationary.solve.pressure.single import EXACT, ROUGH, Answer, Single
from stationary.solve.pressure.stick import last_of
from stationary.solve.pressure.support import Rest

# How close a search around the border comes before Newton's method takes over.
_CLOSE = (1e-2, 1e-3, 1e-4, 1e-5)
# Turns of a search in which programs have shown something beyond.
_TURNS = 5
# More than columns that move lower the value of a program.
_ROOM = 0.05
# What a pressure that holds its atom at rest firmly may lose of an extreme, as a share of it.
_LOSS = 5e-7


class Extremes:
    """The extremes of one mode: what they share is found once."""

    def __init__(self, rest: Rest, mode: Mode):
        self.rest, self.mode = rest, mode
        self.programs = Programs(rest)
        self.plane = mode.free.shape[1] == 2

    @cached_property
    def single(self) -> Single:
        """The programs at one motion after another."""
        return Single(self.rest, self.programs)

    @cached_property
    def start(self) -> np.ndarray:
        """A motion that some pressure has."""
        return spread_motion(self.rest, self.mode)

    @cached_property
    def starts(self) -> np.ndarray:
        """Motions that pressures have: under one that is spread, and those of pairs."""
        rest, mode = self.rest, self.mode
        spread = even(rest, mode)
        found = spread[None] if mode.allows(spread) else np.zeros((0, 3))
        return found if rest.feet else np.vstack([found, pairs(rest, mode)])

    def greatest(self, functional: np.ndarray) -> Summit | None:
        """Return the motion with the greatest ``functional @ twist``, if there is one."""
        if not self.plane:
            return last_of(self.single, self.mode, functional, self.start)
        if not len(self.starts):
            return None
        inside = self.starts[int((self.starts @ functional).argmax())]
        best, reached = None, -np.inf
        for turn in range(_TURNS):
            value, found = self._climbed(functional, inside)
            if value > reached:
                corner = self._about_corner(functional, value)
                best = corner or found or best
                reached = float(functional @ corner.twist) if corner is not None else value
            further = self._beyond(
                functional, reached, inside if best is None else best.twist, 0.05 / 8**turn
            )
            if further is None:
                break
            inside = further
        return best

    def _climbed(self, functional: np.ndarray, inside: np.ndarray) -> tuple[float, Summit | None]:
        """Go around the border, and from there to the extreme by Newton's method.

        The value comes also where the extreme has a kink: less a little then.
        """
        reached, taken = -np.inf, None
        polisher = Polisher(self.rest, self.mode, functional)
        for k, close in enumerate(_CLOSE):
            climb = Climb(self.single, self.mode, inside, EXACT if k else ROUGH)
            end = climb.top(functional, close, 8 + 8 * k)
            if end is None or end.slips:
                # Where the finger sticks is another mode.
                return reached, taken
            twist = climb.at(end.x, end.y)
            value = float(functional @ twist)
            for answer in (end.answer, None):
                answer = answer or climb.exact(end)
                atoms = _atoms(self.rest, answer)
                for start in (atoms, atoms.loaded(1e-4)):
                    found = polisher.summit(twist, start)
                    if found is not None and self.mode.allows(found.twist):
                        return float(functional @ found.twist), polisher.firm(found, _LOSS)
                if answer.balanced and abs(answer.value) < 1e-9 and value > reached:
                    points, masses = joined(np.array(answer.points).T, np.array(answer.masses))
                    taken = Summit(twist, points, masses, -answer.affine, answer.witness, 0.0,
                                   abs(answer.value))  # fmt: skip
                    reached = value
            if taken is None:
                reached = max(reached, value - 2 * close * abs(value))
            inside = self._inside(functional, climb, end)
        return reached, taken

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
        self, functional: np.ndarray, value: float, twist: np.ndarray, share: float
    ) -> np.ndarray | None:  # fmt: skip
        """Return a motion inside the set next to one beyond a value, if programs show one.

        At the motions with one value, a program that is negative has a pressure that goes beyond.
        """
        if not np.isfinite(value):
            return None
        pencil = Pencil(self.programs, self.mode, functional)
        found = beyond(self.single, pencil, value + 1e-4 * abs(value), twist)
        return None if found is None else self._mixed(found, share)

    def _about_corner(self, functional: np.ndarray, low: float) -> Summit | None:
        """Return the best motion about a corner or a foot that goes beyond a value, if one does.

        About a corner that bears load many pressures turn the part: the set of motions has kinks
        there.
        """
        mode, rest = self.mode, self.rest
        x, y = rest.corners.T
        twists = np.stack([y, -x, np.ones(len(x))], axis=1)
        plane = np.cross(mode.free[:, 0], mode.free[:, 1])
        with np.errstate(divide="ignore", invalid="ignore"):
            twists = twists * (plane @ mode.base / (twists @ plane))[:, None]
            values = twists @ functional
        least = low + 1e-9 * abs(low) if np.isfinite(low) else low
        beyond = np.isfinite(values) & (values > least)
        for k in np.flatnonzero(beyond)[np.argsort(-values[beyond])]:
            if mode.allows(twists[k]):
                found = self._balanced(twists[k], functional)
                if found is not None:
                    return found
        return None

    def _balanced(self, twist: np.ndarray, functional: np.ndarray) -> Summit | None:
        """Return a pressure that has a motion: two of which one would go on, the other back."""
        free = self.mode.free
        slopes = functional @ free
        across, along = (
            self.mode.balance(free @ w / np.linalg.norm(slopes), twist)
            for w in (slopes, np.array([-slopes[1], slopes[0]]))
        )
        answers = []
        for aim in (across, -across):
            found = self.single.least(twist, aim, along)
            if found.value < _ROOM:
                found = self.single.least(twist, aim, along, found.columns, EXACT)
            if found.value > 1e-12 or not found.balanced:
                return None
            answers.append(found)
        on, back = answers
        share = back.value / min(on.value + back.value, -1e-300)
        points = np.hstack([on.points, back.points]).T
        masses = np.concatenate([share * np.array(on.masses), (1 - share) * np.array(back.masses)])
        points, masses = joined(points, masses)
        return Summit(twist, points, masses, -on.affine, on.witness, 0.0, 0.0)


def _atoms(rest: Rest, answer: Answer) -> Atoms:
    """Return the atoms of a rough answer."""
    edges = np.array(answer.edges)
    return atoms_of(rest, np.array(answer.points).T, np.array(answer.masses),
                    np.array(answer.ways).T, edges < 0, edges, np.array(answer.along))  # fmt: skip
