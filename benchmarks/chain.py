"""The problem under constraints: point masses on rigid links, in Cartesian coordinates.

A chain of total length 1 and total mass 1 hangs as an arc, is released at rest and swings in a
gravity that pulls 0.3 rad from the vertical. *Open*: the last mass is free. *Closed*: the last link
ends in a second support, so that there is one mass less than there are links.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

GRAVITY = 9.81 * np.array([np.sin(0.3), -np.cos(0.3)])
POINTS = 101

# A long chain's links whip: the more there are, the shorter the time in which two calculations in
# double precision still agree.
LAST = {3: 2.0, 10: 2.0, 100: 0.5, 1000: 0.1}


@dataclass(frozen=True)
class Chain:
    """A chain of n links, open or closed."""

    n: int
    closed: bool

    @property
    def name(self) -> str:
        return f"{'closed' if self.closed else 'open'} {self.n}"

    @property
    def masses(self) -> int:
        return self.n - self.closed

    @property
    def mass(self) -> float:
        return 1.0 / self.n

    @property
    def link(self) -> float:
        return 1.0 / self.n

    @property
    def last(self) -> float:
        return LAST[self.n]

    def times(self) -> np.ndarray:
        return np.linspace(0.0, self.last, POINTS)

    def arc(self) -> np.ndarray:
        """Return the ends of all links but the first support, shape (n, 2)."""
        angle = -1.0 + (2 * np.arange(self.n) + 1) / self.n
        return np.cumsum(self.link * np.column_stack([np.cos(angle), np.sin(angle)]), axis=0)

    def start(self) -> np.ndarray:
        """Return the places of the masses, shape (masses, 2); all are at rest."""
        return self.arc()[: self.masses]

    def support(self) -> np.ndarray:
        """Return the second support of a closed chain."""
        return self.arc()[-1]

    def points(self, q: np.ndarray) -> np.ndarray:
        """Return supports and masses in a row, from coordinates of shape (…, 2·masses)."""
        places = q.reshape(*q.shape[:-1], self.masses, 2)
        ends = [np.zeros_like(places[..., :1, :]), places]
        if self.closed:
            ends.append(np.broadcast_to(self.support(), places[..., :1, :].shape))
        return np.concatenate(ends, axis=-2)

    def violation(self, q: np.ndarray) -> float:
        """Return the largest error of a link's length, relative to it."""
        lengths = np.linalg.norm(np.diff(self.points(q), axis=-2), axis=-1)
        return float(np.abs(lengths - self.link).max())

    def energy(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        places = q.reshape(*q.shape[:-1], self.masses, 2)
        height = np.einsum("...ij,j->...", places, -GRAVITY)
        return self.mass * ((v**2).sum(axis=-1) / 2 + height)

    def drift(self, q: np.ndarray, v: np.ndarray) -> float:
        """Return the largest change of energy, relative to the largest kinetic energy."""
        energy = self.energy(q, v)
        return float(np.abs(energy - energy[0]).max() / (self.mass * (v**2).sum(axis=-1) / 2).max())


def named(name: str) -> Chain:
    kind, n = name.split()
    return Chain(int(n), kind == "closed")
