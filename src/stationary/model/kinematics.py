"""How places are moved and compared: q̇ = G(q) v, a retraction, a difference.

Coordinates are numbers that add, unless they are the four entries of a unit quaternion: these have
three freedoms, stay on their sphere, and q and −q are one orientation. Where there is no quaternion
everything here is the identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stationary.model.symbols import Coordinate
from stationary.model.terms import Constraint

# Rows, columns, entries and signs of 2 G: turning about its own axes, a body at q has q̇ = G(q) ω.
_TURNED = (
    (0, 0, 1, -1), (0, 1, 2, -1), (0, 2, 3, -1),
    (1, 0, 0, 1), (1, 1, 3, -1), (1, 2, 2, 1),
    (2, 0, 3, 1), (2, 1, 0, 1), (2, 2, 1, -1),
    (3, 0, 2, -1), (3, 1, 1, 1), (3, 2, 0, 1),
)  # fmt: skip


def unit_quaternion(entries: tuple[Coordinate, ...], name: str) -> Constraint:
    """Return the constraint that makes four coordinates, the real one first, an orientation.

    A rotation by the angle α about the axis n is (cos α/2, n sin α/2); it takes what is written in
    the axes of a body to those of space.
    """
    return Constraint(sum(e**2 for e in entries) - 1, name=name, quaternion=tuple(entries))


@dataclass(frozen=True, eq=False)
class Kinematics:
    """The freedoms of coordinates, of which some are entries of unit quaternions.

    Attributes
    ----------
    labels : tuple of str
        Names of the coordinates.
    quaternions : ndarray
        Where the four entries of each stand in q, one quaternion per row.
    names : tuple of str
        Their names.
    """

    labels: tuple[str, ...]
    quaternions: np.ndarray
    names: tuple[str, ...]

    @property
    def plain(self) -> bool:
        """Whether places are numbers that add."""
        return not len(self.quaternions)

    @cached_property
    def _columns(self) -> list[tuple[int, str, str]]:
        """Of every freedom its coordinate, or minus one, and what it and its speed are called."""
        heads = {int(places.min()): name for places, name in zip(self.quaternions, self.names)}
        columns: list[tuple[int, str, str]] = []
        for i, label in enumerate(self.labels):
            if i in heads:
                columns += [
                    (-1, f"{heads[i]}.{axis}", f"{heads[i]}.omega.{axis}") for axis in "xyz"
                ]
            if not np.any(self.quaternions == i):
                columns.append((i, label, label + ".dot"))
        return columns

    @property
    def freedoms(self) -> tuple[tuple[str, str], ...]:
        """Names of the freedoms and of their speeds: turns about a body's own axes."""
        return tuple((name, speed) for _, name, speed in self._columns)

    def first(self, quaternion: int) -> int:
        """Return the first of the three freedoms of a quaternion."""
        return [name for _, name, _ in self._columns].index(f"{self.names[quaternion]}.x")

    def rates(self, q: Any, zeros: Any = np.zeros) -> Any:
        """Return G of q̇ = G(q) v, as an array or, with its own kind of zeros, as a graph."""
        G = zeros((len(self.labels), len(self._columns)))
        for j, (place, _, _) in enumerate(self._columns):
            if place >= 0:
                G[place, j] = 1.0
        for k, places in enumerate(self.quaternions):
            first = self.first(k)
            for row, column, entry, sign in _TURNED:
                G[int(places[row]), first + column] = sign * q[int(places[entry])] / 2
        return G

    def speeds(self, q: Any, v: Any, zeros: Any = np.zeros) -> Any:
        """Return the v of q̇ = G(q) v from q̇ at a place q on the unit spheres."""
        weights = zeros((len(self._columns), len(self.labels)))
        G = self.rates(q, zeros)
        for j, (place, _, _) in enumerate(self._columns):
            weights[j, :] = (1 if place >= 0 else 4) * G[:, j].T
        return weights @ v

    def bend(self, moves: np.ndarray, speeds: np.ndarray) -> np.ndarray:
        """Return how q̇ = G(q) v changes with moves of q, one per column: G is linear in q."""
        constant = self.rates(np.zeros(len(self.labels)))
        return np.array([(self.rates(move) - constant) @ speeds for move in moves.T]).T

    def carried(self, spin: np.ndarray) -> np.ndarray:
        """Return the matrix of spin × v over the freedoms: zero for those that are no turns."""
        cross = np.zeros((len(spin), len(spin)))
        for k in range(len(self.quaternions)):
            axes = slice(first := self.first(k), first + 3)
            x, y, z = spin[axes]
            cross[axes, axes] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
        return cross

    # -- places -----------------------------------------------------------------------------------

    def retract(self, q: np.ndarray, move: Any) -> np.ndarray:
        """Return the place to which a move leads, quaternions brought back to length one."""
        there = q + move
        if self.plain:
            return there
        return self.onto(there)

    def onto(self, q: np.ndarray) -> np.ndarray:
        """Return q with quaternions of length one; what has no direction is left as it is."""
        unit = np.array(q, dtype=float)
        for places in self.quaternions:
            sizes = np.linalg.norm(unit[..., places], axis=-1, keepdims=True)
            unit[..., places] /= np.where(sizes > 0, sizes, 1.0)
        return unit

    def nearest(self, q: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return the same place, written as near to another as it can be.

        Both may be many, and in any units that the entries of a quaternion share.
        """
        if self.plain:
            return q
        return q * self.signs(q, other)

    def signs(self, q: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return minus one for entries of quaternions that are nearer to another place with it."""
        shape = np.broadcast_shapes(np.shape(q), np.shape(other))
        signs, q, other = np.ones(shape), np.broadcast_to(q, shape), np.broadcast_to(other, shape)
        for places in self.quaternions:
            ahead = np.sum(q[..., places] * other[..., places], axis=-1, keepdims=True)
            signs[..., places] = np.where(ahead < 0, -1.0, 1.0)
        return signs

    def difference(self, q: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return the move that leads from another place to this one, the shorter way round."""
        return self.nearest(q, other) - other

    def canonical(self, q: np.ndarray) -> np.ndarray:
        """Return the same place with the first entry of each quaternion that counts positive."""
        positive = np.array(q, dtype=float)
        for places in self.quaternions:
            entries = positive[places]
            some = entries[np.abs(entries) > 1e-9 * np.abs(entries).max()]
            if len(some) and some[0] < 0:
                positive[places] = 0.0 - entries
        return positive

    def images(self, q: np.ndarray) -> list[np.ndarray]:
        """Return all ways in which a place is written."""
        every = [q]
        for places in self.quaternions:
            for one in list(every):
                turned = one.copy()
                turned[places] *= -1.0
                every.append(turned)
        return every


#: Of coordinates that are numbers.
PLAIN = Kinematics((), np.empty((0, 4), dtype=int), ())
