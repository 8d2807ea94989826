"""Measured pushes beside the motions of minimum power: what is left, and how it changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import nnls
from scipy.spatial import ConvexHull

from stationary.errors import StatementError, say
from stationary.model.push import Push
from stationary.result.least_power import jacobians, motions


def turned(way: np.ndarray) -> np.ndarray:
    """Return the direction of an edge whose part lies along `way`."""
    return np.stack([way[..., 1], -way[..., 0]], axis=-1)


class Measured:
    """Pushes of one part, scaled: lengths in sizes of the part, motions in standard errors.

    A finger that slides, or is smooth, pushes along a known line: the motion is known up to its
    speed. One that sticks pushes in an unknown direction: known is that no moment is left about
    the contact, and so the rate of turning for the motion of the contact.
    """

    def __init__(self, points, shapes, pushes: list[Push], noise, friction):
        self.points, self.shapes = points, shapes
        self.origin = points.mean(axis=0)
        self.size = float(np.hypot(*(points - self.origin).T).max()) or 1.0
        self.x = (points - self.origin) / self.size
        self.pushes = pushes
        self.place = (np.array([p.point for p in pushes]) - self.origin) / self.size
        way = np.array([p.normal for p in pushes])
        self.normal = way / np.hypot(*way.T)[:, None]
        # The motion of the middle of the part, lengths in its sizes.
        y = np.array([p.twist for p in pushes])
        y[:, 0] -= y[:, 2] * self.origin[1]
        y[:, 1] += y[:, 2] * self.origin[0]
        self.y = np.stack([y[:, 0] / self.size, y[:, 1] / self.size, y[:, 2]], axis=1)
        self.scatter = np.diag([self.size, self.size, 1.0])
        self.force_error: float | None = None
        if noise is None:
            # The same share of each motion.
            self.sigma = np.linalg.norm(self.y, axis=1)[:, None] * np.ones(3)
            self.roots = self.sigma[:, :, None] * np.eye(3)
        else:
            # Errors of the origin and of the angle are independent; those of the middle are not.
            (a, b, self.force_error), (x, y) = _noise(noise), self.origin
            root = np.array([[a, 0, -b * y], [0, a, b * x], [0, 0, b * self.size]]) / self.size
            self.roots = np.tile(root, (len(pushes), 1, 1))
            self.sigma = np.linalg.norm(self.roots, axis=2)
        self.mu = 0.0 if friction is None else float(friction)
        slips = np.full(len(pushes), np.nan)
        for k, p in enumerate(pushes):
            if p.finger is not None:
                contact = self._carried(self.y[k], self.place[k])
                slips[k] = (np.array(p.finger) / self.size - contact) @ turned(self.normal[k])
        spread = self.sigma[:, 0] * np.sqrt(2) + self.sigma[:, 2]
        share = 3 * spread if noise is not None else 1e-6 * np.linalg.norm(self.y, axis=1)
        known = np.isfinite(slips)
        rough = known & (friction is None) | known & (self.mu > 0)
        self.sticks = rough & (np.abs(slips) <= share)
        self.side = np.where(rough & ~self.sticks, np.sign(slips), 0.0)
        self.wants_friction = friction is None and bool(np.any(self.side))
        if friction is None and np.any(self.sticks) and not self.wants_friction:
            self.mu = np.nan

    @property
    def typical(self) -> float:
        """The square of what is left that is no reason to look further."""
        relative = np.allclose(self.sigma[:, 0], np.linalg.norm(self.y, axis=1))
        return 1e-16 if relative else 1.0

    @property
    def equations(self) -> int:
        """How many numbers the motions tell beyond their speeds."""
        forces = sum(p.force is not None for p in self.pushes)
        return int(2 * np.count_nonzero(~self.sticks) + np.count_nonzero(self.sticks)) + forces

    @staticmethod
    def _carried(y: np.ndarray, place: np.ndarray) -> np.ndarray:
        return np.stack([y[..., 0] - y[..., 2] * place[..., 1],
                         y[..., 1] + y[..., 2] * place[..., 0]], axis=-1)  # fmt: skip

    @property
    def speeds(self) -> np.ndarray:
        """How far each contact goes along its normal."""
        return (self._carried(self.y, self.place) * self.normal).sum(axis=1)

    @property
    def backing(self) -> np.ndarray:
        """Pushes whose contact moves away from the finger, which cannot pull."""
        speed, size = self.speeds, np.linalg.norm(self.y, axis=1)
        if np.all(self.sigma == size[:, None]):
            return np.flatnonzero(speed <= 0)
        return np.flatnonzero(speed < -3 * self.sigma[:, 0])

    @property
    def idle(self) -> np.ndarray:
        """Pushes under which the part did not move, or by less than its errors."""
        size = np.linalg.norm(self.y, axis=1)
        if np.all(self.sigma == size[:, None]):
            return np.flatnonzero(size <= 1e-9 * size.max(initial=0.0))
        return np.flatnonzero(np.all(np.abs(self.y) <= 2 * self.sigma, axis=1))

    def require_pushes(self, names: Sequence[int]) -> None:
        """Refuse a contact that goes away from its finger."""
        back = self.backing
        if len(back):
            k = int(back[0])
            raise StatementError(
                say(
                    f"push {names[k]} contradicts its finger.",
                    f"Found a contact that moves by {self.speeds[k] * self.size:.3g} along the "
                    "normal: away from the finger, which cannot pull.",
                    "Check the sign of its normal, and the frame of its motion: both in the part's "
                    "own frame.",
                )
            )

    def _lines(self, mu: float) -> np.ndarray:
        """Return the wrenches of the fingers, up to their sizes."""
        way = self.normal + (mu * self.side)[:, None] * turned(self.normal)
        lever = self.place[:, 0] * way[:, 1] - self.place[:, 1] * way[:, 0]
        return np.stack([way[:, 0], way[:, 1], lever], axis=1)

    def balanced(self, mu: float) -> np.ndarray:
        """Return shares of the loads that balance the fingers at the measured motions.

        Friction is linear in the loads there: a start, not the most likely loads, since motions
        that are measured with errors stand in the equations. Motions about a foot tell nothing.
        """
        rows = []
        for k, y in enumerate(self.y):
            v = jacobians(self.x, y[None, :, None])[0, ..., 0]
            speed = np.hypot(v[:, 0], v[:, 1])
            if speed.min() < 1e-3 * speed.max():
                continue
            e = v / speed[:, None]
            moment = self.x[:, 0] * e[:, 1] - self.x[:, 1] * e[:, 0]
            g = np.stack([e[:, 0], e[:, 1], moment]) @ self.shapes
            if self.sticks[k]:
                x, z = self.place[k]
                rows.append(np.array([[z, -x, 1.0]]) @ g)
            else:
                rows.append(np.linalg.svd(self._lines(mu)[k][None])[2][1:] @ g)
        count = self.shapes.shape[1]
        rows.append(1e-3 * (np.eye(count) - 1 / count))
        rows.append(np.ones((1, count)))
        A = np.vstack(rows)
        found, _ = nnls(A, np.append(np.zeros(len(A) - 1), 1.0))
        return found / found.sum() if found.sum() > 0 else np.full(count, 1 / count)

    # -- what is left ----------------------------------------------------------------------------

    def predicted(self, load: np.ndarray, mu: float):
        """Return motions of unit drive (or of the measured contact), and how they change."""
        weights = self.shapes @ load
        count = len(self.pushes)
        twist, slope = np.zeros((count, 3)), np.zeros((count, 3, len(load)))
        lines = self._lines(mu)
        for stuck in (False, True):
            rows = np.flatnonzero(self.sticks == stuck)
            if not len(rows):
                continue
            if stuck:
                px, py = self.place[rows].T
                free = np.stack([py, -px, np.ones(len(rows))], axis=1)[:, :, None]
                v = self._carried(self.y[rows], self.place[rows])
                base = np.concatenate([v, np.zeros((len(rows), 1))], axis=1)
            else:
                C = lines[rows]
                base = C / (C**2).sum(axis=1)[:, None]
                free = np.linalg.svd(C[:, None, :])[2][:, 1:, :].transpose(0, 2, 1)
            z, still = motions(self.x, weights, base, free)
            twist[rows] = base + np.einsum("bij,bj->bi", free, z)
            slope[rows] = self._slope(twist[rows], weights, free, still)
        return twist, slope, lines

    def _slope(self, twist, weights, free, still) -> np.ndarray:
        """Return how motions of minimum power change with the loads."""
        J = jacobians(self.x, free)
        v = jacobians(self.x, twist[:, :, None])[..., 0]
        size = np.hypot(v[..., 0], v[..., 1])
        # A foot at rest turns with nothing: what is as good as zero beside the fastest.
        size = np.maximum(size, 1e-100 * size.max(initial=1e-200))
        e = v / size[..., None]
        pulls = np.einsum("bki,bkin->bkn", e, J)
        share = weights / size
        H = np.einsum("bk,bkin,bkim->bnm", share, J, J)
        H -= np.einsum("bk,bkn,bkm->bnm", share, pulls, pulls)
        turn = np.einsum("bkn,kl->bnl", pulls, self.shapes)
        made = np.zeros((len(twist), 3, self.shapes.shape[1]))
        for b in np.flatnonzero(still < 0):
            z = -np.linalg.lstsq(H[b], turn[b], rcond=1e-12)[0]
            made[b] = free[b] @ z
        return made

    def residuals(self, load: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray]:
        """Return what is left of motions and forces in standard errors, and its slope."""
        twist, slope, lines = self.predicted(load, mu)
        columns = len(load) + self.wants_friction
        left, slopes = [], []
        changed = None
        if self.wants_friction:
            step = 1e-6
            up, down = self.predicted(load, mu + step)[0], self.predicted(load, mu - step)[0]
            changed = (up - down) / (2 * step)
        for k in range(len(self.pushes)):
            d = slope[k] if changed is None else np.column_stack([slope[k], changed[k]])
            if self.sticks[k]:
                r, J = self._turning(k, twist[k], d)
            else:
                u, y, d = (np.linalg.solve(self.roots[k], x) for x in (twist[k], self.y[k], d))
                speed = float(u @ y / (u @ u))
                r = y - speed * u
                J = -speed * d
                along = u / np.linalg.norm(u)
                J = J - np.outer(along, along @ J)
            left.append(r)
            slopes.append(J)
            if self.pushes[k].force is not None:
                r, J = self._forced(k, load, twist[k], d, lines[k])
                left.append(r)
                slopes.append(J)
        return np.concatenate(left), np.vstack(slopes)[:, :columns]

    def _turning(self, k: int, twist: np.ndarray, d: np.ndarray):
        """Compare the rate of turning for the contact's own motion, which is measured, too."""
        x, y = self.place[k]
        v = self._carried(self.y[k], self.place[k])
        # ω follows the speed of the contact; how it follows its direction is small beside that.
        share = twist[2] * v / max(float(v @ v), 1e-300)
        c = np.array([-share[0], -share[1], 1 + share[0] * y - share[1] * x])
        spread = float(np.linalg.norm(c @ self.roots[k]))
        return np.array([(self.y[k, 2] - twist[2]) / spread]), -d[2:3] / spread

    def _forced(self, k: int, load, twist, d, line):
        """Compare the normal force."""
        force = np.array(self.pushes[k].force)
        measured = float(force[0]) if len(force) == 1 else float(force @ self.normal[k])
        v = jacobians(self.x, twist[None, :, None])[0, ..., 0]
        speed = np.hypot(v[:, 0], v[:, 1])
        drive = float(line @ twist)
        made = float((self.shapes @ load) @ speed) / drive
        # At a minimum of power its value does not change with the motion.
        J = np.zeros((1, d.shape[1]))
        J[0, : len(load)] = (speed @ self.shapes) / drive
        error = 0.01 * abs(measured) if np.any(self.sigma[k] != np.linalg.norm(self.y[k])) else (
            abs(measured))  # fmt: skip
        error = max(error, 1e-300) if self.force_error is None else self.force_error
        return np.array([(measured - made) / error]), -J / error

    def first_scale(self, load: np.ndarray, mu: float) -> float:
        """Return by how much loads are to be multiplied to give the measured forces."""
        twist, slope, lines = self.predicted(load, mu)
        found = []
        for k, p in enumerate(self.pushes):
            if p.force is not None:
                r, J = self._forced(k, load, twist[k], slope[k], lines[k])
                made = -float((J[:, : len(load)] @ load)[0])
                found.append((float(r[0]) + made) / max(made, 1e-300))
        return max(float(np.median(found)), 1e-300)

    # -- what it says ----------------------------------------------------------------------------

    def per_push(self, r: np.ndarray) -> np.ndarray:
        """Return how far each push is from the fit."""
        found, first = np.zeros(len(self.pushes)), 0
        for k, p in enumerate(self.pushes):
            rows = (1 if self.sticks[k] else 3) + (p.force is not None)
            found[k] = float(np.linalg.norm(r[first : first + rows]))
            first += rows
        return found

    def odd(self, each: np.ndarray) -> np.ndarray:
        """Return pushes that are far from a fit which most of the others are close to."""
        relative = bool(np.allclose(self.sigma[:, 0], np.linalg.norm(self.y, axis=1)))
        middle = float(np.median(each))
        floor = 0.02 if relative else 1.0
        return np.flatnonzero(each > 6 * max(middle, floor))

    def require_agreement(self, each: np.ndarray, names: Sequence[int]) -> None:
        """Refuse pushes that no loads explain, not even roughly."""
        share = each * np.linalg.norm(self.sigma, axis=1) / np.sqrt(3)
        share = share / np.linalg.norm(self.y, axis=1)
        bad = np.flatnonzero((share > 0.5) & (each > 8 if not np.allclose(
            self.sigma[:, 0], np.linalg.norm(self.y, axis=1)) else True))  # fmt: skip
        if len(bad):
            told = ", ".join(str(names[int(k)]) for k in bad[np.argsort(-share[bad])][:5])
            raise StatementError(
                say(
                    f"the pushes contradict each other: no loads explain push {told}.",
                    f"Found motions that miss the best fit by {100 * share.max():.0f} % of "
                    "themselves.",
                    "Check contact, normal and motion of these pushes, in the part's own frame, or "
                    "leave them out.",
                )
            )

    def sticks_from(self, load: np.ndarray) -> float:
        """Return the least friction under which every finger that stuck could."""
        twist, *_ = self.predicted(load, 0.0)
        least = 0.0
        for k in np.flatnonzero(self.sticks):
            v = jacobians(self.x, twist[k][None, :, None])[0, ..., 0]
            e = v / np.maximum(np.hypot(v[:, 0], v[:, 1]), 1e-300)[:, None]
            force = (self.shapes @ load) @ e
            along = float(force @ self.normal[k])
            least = max(least, abs(float(force @ turned(self.normal[k]))) / max(along, 1e-300))
        return least

    def next_push(self, load, mu, V, s, basis, scale) -> Push | None:
        """Return the push around the part that tells most about what is least known."""
        flat = np.linalg.matrix_rank(self.x, tol=1e-9) < 2 or len(self.x) < 3
        corners = self.x if flat else self.x[ConvexHull(self.x).vertices]
        ends = np.roll(corners, -1, axis=0)
        way = ends - corners
        way = way / np.maximum(np.hypot(*way.T), 1e-300)[:, None]
        share = np.linspace(0.1, 0.9, 7)
        places = (corners[:, None] + share[None, :, None] * (ends - corners)[:, None]).reshape(
            -1, 2
        )
        normals = np.repeat(np.stack([-way[:, 1], way[:, 0]], axis=1), len(share), axis=0)
        made = []
        for place, normal in zip(places, normals):
            C = np.array([*normal, place[0] * normal[1] - place[1] * normal[0]])
            free = np.linalg.svd(C[None])[2][1:].T
            made.append((place, normal, C / (C @ C), free))
        base, free = np.array([m[2] for m in made]), np.array([m[3] for m in made])
        z, still = motions(self.x, self.shapes @ load, base, free)
        twist = base + np.einsum("bij,bj->bi", free, z)
        slope = self._slope(twist, self.shapes @ load, free, still)
        least = (basis @ V[int(np.argmin(s))]) * scale
        noise = self.sigma.mean(axis=0) / np.linalg.norm(self.y, axis=1).mean()
        size = np.linalg.norm(twist, axis=1)
        gain = np.linalg.norm(slope @ least[: len(load)] / noise, axis=1) / size
        k = int(gain.argmax())
        place, normal = made[k][0], made[k][1]
        moved = twist[k] * np.array([self.size, self.size, 1.0]) / size[k] / self.size
        v = moved[:2] - moved[2] * np.array([-self.origin[1], self.origin[0]])
        return Push(point=tuple(place * self.size + self.origin), normal=tuple(normal),
                    motion=(float(v[0]), float(v[1]), float(moved[2])))  # fmt: skip


def _noise(noise) -> tuple[float, float, float | None]:
    try:
        a, b, *force = (float(x) for x in noise)
    except (TypeError, ValueError):
        a, b, force = np.nan, np.nan, []
    given = [a, b, *force]
    if len(given) > 3 or not all(x > 0 and np.isfinite(x) for x in given):
        raise StatementError(
            say(
                "the noise of the motions is not two positive numbers, or three with the force.",
                f"Found {str(noise)[:40]}.",
                "Give standard errors of displacements and of angles, as in noise=(1e-4, 2e-3), "
                "and of forces, if they were measured.",
            )
        )
    return a, b, force[0] if force else None
