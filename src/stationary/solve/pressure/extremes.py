"""The extreme of a linear functional of the motion over all pressures, under one mode."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from stationary.result.least_power import motions
from stationary.solve.pressure.envelope import Pressures, across, field
from stationary.solve.pressure.polish import Atoms, Polisher, Summit, atoms_of
from stationary.solve.pressure.region import Edge, Mode, Region

# How many of the best starts are followed to their summits.
_STARTS = 4
# And how many at most, where none of them goes as far as a start already does.
_MOST = 16


class Extremes:
    """The extremes of one mode: what they share is found once."""

    def __init__(self, pressures: Pressures, mode: Mode):
        self.pressures, self.mode = pressures, mode
        self.region = Region(pressures, mode)
        self.plane = mode.free.shape[1] == 2
        self.corners: list[Edge] = []
        if self.plane:
            self.corners = self.region.about_corners()
            self.cloud = Cloud(pressures, mode)
        self.start = self.region.even()

    def greatest(self, functional: np.ndarray) -> Summit | None:
        """Return the motion with the greatest ``functional @ twist``, if there is one."""
        if not self.plane:
            edge = self.region.top(functional, self.start)
            return None if edge is None else _summit(edge)
        polisher = Polisher(self.pressures, self.mode, functional)
        best: Summit | None = None

        def better(found: Summit | None) -> bool:
            nonlocal best
            if found is None or not self.mode.allows(found.twist):
                return False
            if best is None or functional @ found.twist > functional @ best.twist:
                best = found
            return True

        for edge in self.corners:
            better(_summit(edge))
        edge = self.region.top(functional, self.start)
        starts: list[tuple[float, np.ndarray, Atoms, int]] = []
        if edge is not None:
            claim = edge.claim
            atoms = atoms_of(self.pressures.rest, claim.points, claim.masses, claim.ways,
                             claim.still, claim.edges, claim.along)  # fmt: skip
            starts.append((np.inf, edge.twist, atoms, -1))
        starts += self.cloud.starts(functional)
        tried = 0
        for value, twist, atoms, line in sorted(starts, key=lambda s: -s[0]):
            # A start beyond the best summit says that there is a better one.
            beyond = best is None or value > functional @ best.twist
            if tried >= (_MOST if beyond else _STARTS):
                break
            if not better(polisher.summit(twist, atoms, line)) and atoms.kinds[0] == "still":
                # A pair of which one rests is a motion already.
                pair = self.pressures.rest.at(atoms.edges[1:2], atoms.along[1:2])[0]
                rests = -pair * atoms.masses[1] / atoms.masses[0]
                if len(atoms.kinds) == 2:
                    none = np.zeros(3)
                    points = np.vstack([rests, pair])
                    better(Summit(twist, points, atoms.masses, none, none, 0.0, 0.0))
            tried += 1
        # About a corner nothing says that a summit is one: others are looked for once more.
        reached = -np.inf if best is None else float(functional @ best.twist)
        reached = -np.inf if best is None else float(functional @ best.twist)
        kink = best is None or best.residual == 0
        left = [s for s in starts if np.isfinite(s[0]) and "still" not in s[2].kinds]
        left = [s for s in left if kink or s[0] > reached]
        for _, twist, atoms, _ in left[:6]:
            better(polisher.summit(*self._ascended(functional, twist, atoms)))
        if best is None and edge is not None:
            better(_summit(edge))
        return best and self._firm(best)

    def _firm(self, summit: Summit) -> Summit:
        """Give an extreme at which an atom just rests a pressure under which it does so firmly.

        At the extreme itself the force on that atom is all that friction gives, and other motions
        may do as well; a pressure next to it has one motion only.
        """
        slow = np.linalg.norm(field(summit.twist, summit.points), axis=1)
        if not np.any(slow <= 1e-9 * slow.max()) or len(summit.points) < 2:
            return summit
        for share, slack in ((6e-7, 0.5), (6e-7, 0.2), (8e-7, 0.05), (8e-7, 0.01)):
            twist = summit.twist + share * (self.start - summit.twist)
            zero = tuple(self.mode.balance(w, twist) for w in self.mode.free.T)
            claim = self.pressures.least(twist, np.zeros(3), zero, grip=1 - slack * share)
            if claim.feasible and np.any(claim.still):
                points, masses = _joined(claim.points, claim.masses)
                return replace(summit, points=points, masses=masses)
        return summit

    def _ascended(self, functional, twist: np.ndarray, atoms: Atoms) -> tuple[np.ndarray, Atoms]:
        """Shift load between corners and atoms while that helps: from a saddle Newton cannot."""
        rest, mode = self.pressures.rest, self.mode
        keep = [k for k, kind in enumerate(atoms.kinds) if kind == "edge"]
        corners = np.arange(len(rest.corners)) % max(rest.pieces, 1) if not rest.feet else (
            np.arange(len(rest.corners)))  # fmt: skip
        edges = np.concatenate([corners, atoms.edges[keep]]).astype(int)
        along = np.concatenate([np.zeros(len(corners)), atoms.along[keep]])
        points = rest.at(edges, along)[0]
        masses = np.zeros(len(points))
        for k, kind in enumerate(atoms.kinds):
            x = rest.at(atoms.edges[[k]], atoms.along[[k]])[0][0]
            masses[np.hypot(*(points - x).T).argmin()] += atoms.masses[k]
        A = np.vstack([np.ones(len(points)), points.T])

        def rise(m: np.ndarray) -> tuple[float, np.ndarray]:
            z, _ = motions(points, m, mode.base[None], mode.free[None])
            moves = mode.base + mode.free @ z[0]
            v = field(moves, points)
            size = np.maximum(np.hypot(v[:, 0], v[:, 1]), 1e-9)
            e = v / size[:, None]
            turn = np.stack([-e[:, 1], e[:, 0]], axis=1)
            J = np.stack([(field(w, points) * turn).sum(axis=1) for w in mode.free.T], axis=1)
            bend = (J * (m / size)[:, None]).T @ J
            witness = mode.free @ np.linalg.lstsq(bend, functional @ mode.free, rcond=1e-10)[0]
            slope = -(field(witness, points) * e).sum(axis=1)
            return -float(functional @ moves), -slope

        found = minimize(rise, masses, jac=True, method="SLSQP", bounds=[(0, 1)] * len(points),
                         constraints={"type": "eq", "fun": lambda m: A @ m - [1, 0, 0],
                                      "jac": lambda m: A}, options={"maxiter": 40})  # fmt: skip
        m = np.maximum(found.x, 0.0)
        held = np.flatnonzero(m > 1e-7)
        kinds = tuple("edge" if k >= len(corners) else "fixed" for k in held)
        z, _ = motions(points[held], m[held], mode.base[None], mode.free[None])
        made = Atoms(kinds, edges[held], along[held], np.zeros(len(held)), m[held])
        return mode.base + mode.free @ z[0], made


class Cloud:
    """Motions of many simple pressures: where to look for the extremes.

    An extreme pressure has few atoms; of those with two or three on the sampled border, some come
    close to it.
    """

    def __init__(self, pressures: Pressures, mode: Mode, count: int = 400, seed: int = 0):
        rest, rng = pressures.rest, np.random.default_rng(seed)
        self.pressures, self.mode = pressures, mode
        edges, along = rest.grid
        corner = np.flatnonzero(along == 0.0)
        picks = rng.integers(0, len(edges), (8 * count, 3))
        if len(corner) and not rest.radius:
            some = rng.random(picks.shape) < 0.5
            picks[some] = rng.choice(corner, int(some.sum()))
        points = rest.columns[picks]
        A = np.concatenate([np.ones((len(points), 1, 3)), points.transpose(0, 2, 1)], axis=1)
        size = np.linalg.det(A)
        good = np.abs(size) > 1e-3
        masses = np.zeros((len(points), 3))
        masses[good] = np.linalg.inv(A[good])[:, :, 0]
        good &= masses.min(axis=1) >= 0
        chosen = np.flatnonzero(good)[:count]
        self.picks = picks[chosen]
        self.masses, self.points = masses[chosen], points[chosen]
        base = np.tile(mode.base, (len(chosen), 1))
        free = np.tile(mode.free, (len(chosen), 1, 1))
        self.twists = np.zeros((0, 3))
        if len(chosen):
            z, _ = motions(self.points, self.masses, base, free, levels=(0.1, 0.03, 0.01))
            self.twists = base + np.einsum("bij,bj->bi", free, z)

    def starts(self, functional: np.ndarray) -> list[tuple[float, np.ndarray, Atoms, int]]:
        """Return the most promising pressures: value, motion, atoms, edge that it turns about."""
        rest = self.pressures.rest
        edges, along = rest.grid
        found: list[tuple[float, np.ndarray, Atoms, int]] = []
        values = self.twists @ functional
        # Of those that seem to turn about an atom, and of the others, the best.
        v = self.twists[:, None, :2] + self.twists[:, None, 2:] * across(self.points)
        speed = np.hypot(v[..., 0], v[..., 1])
        slow = np.where(self.masses > 1e-6, speed, np.inf).min(axis=1) < 0.02 * speed.max(axis=1)
        order = np.argsort(-values)
        chosen = np.concatenate([order[slow[order]][:12], order[~slow[order]][:12]])
        count = len(chosen)
        base, free = np.tile(self.mode.base, (count, 1)), np.tile(self.mode.free, (count, 1, 1))
        z, still = motions(self.points[chosen], self.masses[chosen], base, free)
        twists = base + np.einsum("bij,bj->bi", free, z)
        for k, twist, rests in zip(chosen, twists, still):
            pick, masses = self.picks[k], self.masses[k]
            keep = np.flatnonzero(masses > 1e-6)
            corner = rest.feet | ((along[pick] == 0.0) & (not rest.radius))
            if rests >= 0 and corner[rests]:
                continue  # A motion about a corner, which is known.
            kinds = ["still" if i == rests else "fixed" if corner[i] else "edge" for i in keep]
            line = int(edges[pick[rests]]) if rests >= 0 and not rest.radius else -1
            atoms = Atoms(tuple(kinds), edges[pick[keep]], along[pick[keep]],
                          np.zeros(len(keep)), masses[keep])  # fmt: skip
            found.append((float(twist @ functional), twist, atoms, line))
        found = sorted(found, key=lambda s: -s[0])[:12]
        return found + self._about_inside(functional)

    def _about_inside(self, functional: np.ndarray) -> list[tuple[float, np.ndarray, Atoms, int]]:
        """Return pressures of which one atom rests while one on the border moves.

        The more load is on the border, the faster it turns, until the force on the atom at rest is
        all that friction gives.
        """
        rest, force = self.pressures.rest, self.mode.force
        if force is None or rest.feet:
            return []
        few = np.geomspace(1e-9, 0.02, 40, endpoint=False)
        share = np.concatenate([few, np.linspace(0.02, 0.6, 24)])
        x, m = np.repeat(rest.columns, len(share), axis=0), np.tile(share, len(rest.columns))
        twist, e, good = self._resting(x, m)
        values = np.where(good, twist @ functional, -np.inf)
        best = np.argsort(-values)[:40]
        best = best[np.isfinite(values[best])]
        if not len(best):
            return []
        x, low = x[best], m[best]
        high = share[np.minimum(best % len(share) + 1, len(share) - 1)]
        for _ in range(50):
            middle = (low + high) / 2
            good = self._resting(x, middle)[2]
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        twist, e, _ = self._resting(x, low)
        edges, along = rest.grid
        found = []
        for k in np.argsort(-(twist @ functional)):
            if not rest.contains(-x[k] * low[k] / (1 - low[k])):
                continue
            i = int(best[k]) // len(share)
            fixed = "fixed" if along[i] == 0.0 and not rest.radius else "edge"
            angle = float(np.arctan2(e[k, 1], e[k, 0]))
            atoms = Atoms(("still", fixed), np.array([-1, edges[i]]), np.array([0.0, along[i]]),
                          np.array([angle, 0.0]), np.array([1 - low[k], low[k]]))  # fmt: skip
            found.append((float(twist[k] @ functional), twist[k], atoms, -1))
            if len(found) == 2:
                break
        return found

    def _resting(self, x: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return motions about the other atom of a pair, the force on it, and whether it rests."""
        force = self.mode.force
        assert force is not None
        q = -x * (m / (1 - m))[:, None]
        turn = np.stack([q[:, 1], -q[:, 0], np.ones(len(q))], axis=1)
        plane = np.linalg.svd(self.mode.free.T)[2][2]
        with np.errstate(divide="ignore", invalid="ignore"):
            twist = turn * ((plane @ self.mode.base) / (turn @ plane))[:, None]
            v = twist[:, :2] + twist[:, 2:] * across(x)
            speed = np.hypot(v[:, 0], v[:, 1])
            push = m * speed / (twist @ force)
            e = (push[:, None] * force[:2] - (m / speed)[:, None] * v) / (1 - m)[:, None]
            good = (np.hypot(e[:, 0], e[:, 1]) <= 1) & (twist @ force > 0)
        return twist, e, good & np.all(np.isfinite(twist), axis=1)


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
