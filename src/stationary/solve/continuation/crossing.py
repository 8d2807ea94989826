"""Where branches cross: the place, and the directions in which they leave it."""

from __future__ import annotations

import numpy as np

from stationary.solve.continuation.corrector import (
    ALONE,
    FIRST,
    MOST_CORRECTIONS,
    AbstractCorrector,
    ended,
    slope_of,
    without,
)
from stationary.solve.continuation.roots import common_roots
from stationary.solve.linear import null_rows
from stationary.solve.newton import Ending, iterated

# The longest step, in the scaled variables.
LONGEST = 4e-2

# A direction in which the equations change by less than this has lost its rank: branches cross.
CROSSED = 1e-6

# What is left next to a crossing of ranks that may all be lost in it; what is left of them and of
# equations once it is found; steps by which it is brought onto its curve.
_LOSING, LOST, _LAST = LONGEST, 1e-9, 2

# How far beside a place it is looked how slopes change.
_BESIDE = 1e-5

# How far from a crossing it is looked around it, from how many sides, and in how many steps.
AROUND, _SIDES, _STEPS = LONGEST, 60, 40

# What is found so far beside the half way to it, in radii, only passes by; so near to another, or
# to the branch that is being followed, it is the same one; so short is the last of Newton's steps.
_PASSES, _SAME, _NEAR = 0.2, 0.05, 1e-4

# Crossings this near to one another are one, or found from one place so many times as far from it.
SAME_VALUE, _FARTHER = 1e-6, 3.0

# How much more than what stands alone at all a branch does next to its crossing.
_CLEARLY = 10.0


class AbstractCrossing(AbstractCorrector):
    """A curve that branches cross."""

    def polished(self, z: np.ndarray) -> np.ndarray:
        """Return the crossing next to a place: there J has lost a rank, or several at once."""
        sizes = np.linalg.svd(self.curve.values(z)[1], compute_uv=False)
        near: list[tuple[float, np.ndarray]] = []
        # Along a family as many are lost everywhere.
        least = len(self.free) + 1
        for ranks in range(max(int(np.sum(sizes < _LOSING)), least), least - 1, -1):
            there = self._where_lost(z, ranks)
            away = float(np.abs(there - z).max())
            if not (away < LONGEST and self.curve.missed(there) < LOST):
                continue
            sizes = np.linalg.svd(self.curve.values(there)[1], compute_uv=False)
            if ranks == least or sizes[-ranks] < LOST:
                near.append((away, there))
        # Of several crossings the one that was met; of one place the most that is lost there.
        nearest = max(SAME_VALUE, _FARTHER * min((away for away, _ in near), default=0.0))
        z = next((there for away, there in near if away <= nearest), z)
        return self._settled(z)

    def _settled(self, z: np.ndarray) -> np.ndarray:
        """Return the place brought onto its curve along what is not flat there.

        Where several ranks are lost it is not found as exactly as forces balance.
        """
        there = z
        for _ in range(_LAST + 1):
            F, J = self.curve.values(there)
            if not (np.all(np.isfinite(F)) and np.all(np.isfinite(J))):
                break
            z = there
            u, sizes, rows = np.linalg.svd(J, full_matrices=False)
            kept = sizes > CROSSED
            there = z - rows[kept].T @ ((u[:, kept].T @ F) / sizes[kept])
        return z

    def _where_lost(self, z: np.ndarray, ranks: int) -> np.ndarray:
        """Gauss–Newton on F = 0, ψ·J n = 0 for null vectors n and as many ψ as ranks are lost.

        Both are those of J bordered by the ones next to the start (W. Govaerts, Numerical Methods
        for Bifurcations of Dynamical Equilibria, 2000, ch. 3): how J bends is asked along n alone.
        """
        J = self.curve.values(z)[1]
        psi = null_rows(J.T, 0.0, least=ranks)[-ranks:]
        plane = null_rows(J, 0.0, least=ranks + 1)[-ranks - 1 :]

        def step(z: np.ndarray) -> np.ndarray | None:
            F, J = self.curve.values(z)
            K = np.block([[J, psi.T], [plane, np.zeros((ranks + 1, ranks))]])
            right, left = np.zeros((len(K), ranks + 2)), np.zeros((len(K), ranks))
            right[: len(F), 0], right[len(F) :, 1:] = -F, np.eye(ranks + 1)
            left[len(z) :] = np.eye(ranks)
            if not (np.all(np.isfinite(K)) and np.all(np.isfinite(F))):
                return None
            try:
                both, left = np.linalg.solve(K, right), np.linalg.solve(K.T, left)[: len(F)]
            except np.linalg.LinAlgError:
                return None
            (across, *ways), (missed, *lost) = both[: len(z)].T, both[len(z) :].T

            def bend(move: np.ndarray) -> np.ndarray:
                change = self.curve.values(z + move)[1] - self.curve.values(z - move)[1]
                return np.ravel(ways @ (change.T @ left)) / 2

            bends = [bend(_BESIDE * way) / _BESIDE for way in ways]
            slopes = np.hstack([lost, bends]).T
            known = np.append(-missed, np.ravel(lost) - bend(across))
            if not (np.all(np.isfinite(slopes)) and np.all(np.isfinite(known))):
                return None
            return z + across + np.linalg.lstsq(slopes, known, rcond=1e-10)[0] @ ways

        return iterated(z, step, ended, most=MOST_CORRECTIONS)[0]

    def ranks_lost(self, z: np.ndarray) -> int:
        """Return how many ranks are lost at the crossing next to a place."""
        return self.ranks_lost_at(self.polished(z), CROSSED)

    def ranks_lost_at(self, z: np.ndarray, small: float) -> int:
        """Return how many ranks are lost at a place besides those of a family."""
        _, J = self.curve.values(z)
        sizes = np.linalg.svd(np.vstack([J, self.free]), compute_uv=False)
        return int(np.sum(sizes[: len(z) - 1] < small))

    def tangents(self, z, J, plane: np.ndarray) -> list[np.ndarray]:
        """Return the tangents of the branches that cross, none where curvature does not tell them.

        They are the roots of ψ·F″[t, t] = 0 in the space of null directions, for every ψ.
        """
        free, step = len(self.free), 1e-4
        every_psi = null_rows(J.T, 0.0, least=len(plane) - 1 + free)[: len(plane) - 1]
        bends = []
        for psi in every_psi:
            rows = [
                plane @ ((self.curve.values(z + s)[1] - self.curve.values(z - s)[1]).T @ psi)
                for s in step * plane
            ]
            bends.append((np.array(rows) + np.array(rows).T) / (4 * step))
        return [plane.T @ way for way in common_roots(bends)]

    def around(self, z: np.ndarray, plane: np.ndarray, along: np.ndarray) -> list[np.ndarray]:
        """Return places at which branches leave a crossing whose curvature does not tell them.

        Where several modes give way at once, and each is its own mirror image, what tells branches
        is of third or higher order: they are looked for at a distance, where it is no rounding.
        None where some do not stand alone, as in a family, or only one mode gives way.
        """
        # From whichever branch it is met: modes move no parameter, or what they do is along them.
        upright = plane.T @ plane[:, -1]
        upright = upright / np.linalg.norm(upright) if slope_of(upright) > CROSSED else along
        modes = np.array(without(plane, upright))
        if len(modes) < 2:
            return []
        places: list[np.ndarray] = []
        sides = np.random.default_rng(9).standard_normal((_SIDES, len(modes))) @ modes
        ways = [*((side, modes) for side in sides), (upright, plane), (-upright, plane)]
        while ways:
            way, held = ways.pop()
            guess = self._nearest(z + AROUND * way / np.linalg.norm(way), held)
            place = self._at(z, plane, guess, AROUND)
            if place is None:
                continue
            halfway = self._at(z, plane, (z + place) / 2, AROUND / 2)
            if halfway is None:
                continue
            passes = np.linalg.norm(2 * (halfway - z) - (place - z)) > _PASSES * AROUND
            known = [z + sign * AROUND * along for sign in (1, -1)], places
            if passes or any(np.linalg.norm(place - x) < _SAME * AROUND for x in sum(known, [])):
                continue
            _, J = self.curve.values(place)
            sizes = np.linalg.svd(self.bordered(J, plane.T @ (plane @ (place - z)) / AROUND))[1]
            if sizes[-1] < ALONE * sizes[0]:
                return []
            places.append(place)
            ways.append((z - place, held))
        return [self._nearer(z, plane, place) for place in places]

    def _nearer(self, z: np.ndarray, plane: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Return the place at which a branch leaves as near as it is told from others there."""
        radius = AROUND / 2
        while radius > FIRST:
            way = (place - z) / 2
            near = self._at(z, plane, z + way, radius)
            if near is None or np.linalg.norm(near - z - way) > _PASSES * radius:
                break
            _, J = self.curve.values(near)
            sizes = np.linalg.svd(self.bordered(J, plane.T @ (plane @ (near - z)) / radius))[1]
            if sizes[-1] < _CLEARLY * ALONE * sizes[0]:
                break
            place, radius = near, radius / 2
        return place

    def _nearest(self, guess: np.ndarray, held: np.ndarray) -> np.ndarray:
        """Return a guess that balances as well as it can while what it is along these is held."""
        across = null_rows(held, 0.0, least=len(guess) - len(held)).T
        for _ in range(_LAST):
            F, J = self.curve.values(guess)
            if not (np.all(np.isfinite(F)) and np.all(np.isfinite(J))):
                break
            guess = guess - across @ np.linalg.lstsq(J @ across, F, rcond=ALONE)[0]
        return guess

    def _at(
        self, z: np.ndarray, plane: np.ndarray, guess: np.ndarray, radius: float
    ) -> np.ndarray | None:
        """Return a place of the curve at a distance from z within a plane, None if none is met."""

        def step(place: np.ndarray) -> np.ndarray | None:
            # What is left across a flat direction would pass for stiffness along it.
            F, J = self.curve.values(place := self._settled(place))
            out = plane.T @ (plane @ (place - z))
            length = np.linalg.norm(out)
            if not (length and np.all(np.isfinite(F)) and np.all(np.isfinite(J))):
                return None
            move = self.solved(J, out / length, -np.append(F, length - radius), least=True)
            if move is None:
                return None
            return place + move * min(1.0, radius / max(float(np.linalg.norm(move)), 1e-300))

        def near(_: np.ndarray, move: np.ndarray) -> bool:
            return bool(np.abs(move).max() < _NEAR * radius)

        place, _, ending = iterated(guess, step, near, most=_STEPS)
        if ending is not Ending.BALANCED:
            return None
        place = self._settled(place)
        there = abs(np.linalg.norm(plane @ (place - z)) - radius) < _SAME * radius
        return place if there and self.on_curve(place) else None
