"""Measured pushes beside the motions of minimum power: what is left, and how it changes."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
from scipy.optimize import nnls
from scipy.stats import norm

from stationary.errors import StatementError
from stationary.model.push import Push
from stationary.result.least_power import jacobians
from stationary.solve.linear import ways_across
from stationary.solve.pressure.weighing.expected import (
    Expected,
    Fingers,
    Support,
    carried,
    expected,
    least,
    turned,
)

# By how many standard errors a finger must be seen to slide, and by what share of the motion: what
# slips by less is taken as a finger that sticks, of which the direction of its force is not used.
_SLIDES, _SHARE = 4.0, 0.02
# So many standard errors, or such a share of the motion, from rest a foot may go either way.
_REVERSES, _AT_REST = 4.0, 0.02
# Motions below this share of the longest are none.
_IDLE = 1e-9
# What a second difference of a mean pressure counts where motions err by a hundredth of themselves.
_LIKELY = 0.01
# The share of a measured force that counts as its error where none is stated.
_FORCE = 0.01


class Measured:
    """Pushes of one part, scaled: lengths in sizes of the part, motions in standard errors."""

    def __init__(
        self, points, shapes, pushes: list[Push], noise, friction, patch=None, bends=None
    ):  # fmt: skip
        self.points, self.shapes, self.pushes = points, shapes, pushes
        self._given = (friction, patch, bends)
        # Second differences of a smooth pressure, and what one of them counts.
        self.bends, self.stiffness = bends, 0.0
        self.origin = points.mean(axis=0)
        self.size = float(np.hypot(*(points - self.origin).T).max()) or 1.0
        self.x = (points - self.origin) / self.size
        self.support = Support(self.x, shapes, None if patch is None else patch / self.size)
        self.place = (np.array([p.point for p in pushes]) - self.origin) / self.size
        way = np.array([p.normal for p in pushes])
        way = way / np.abs(way).max(axis=1)[:, None]
        self.normal = way / np.hypot(*way.T)[:, None]
        # The motion of the middle of the part, lengths in its sizes.
        y = np.array([p.twist for p in pushes])
        y[:, 0] -= y[:, 2] * self.origin[1]
        y[:, 1] += y[:, 2] * self.origin[0]
        y = np.stack([y[:, 0] / self.size, y[:, 1] / self.size, y[:, 2]], axis=1)
        # Velocities or displacements: a power of two near the largest leaves all of their digits.
        self.unit = float(np.exp2(np.round(np.log2(np.abs(y).max() or 1.0))))
        self.y = y / self.unit
        self.long = np.linalg.norm(self.y, axis=1)
        self._feel()
        self._errors(noise)
        self._touch(friction)
        self._near: np.ndarray = self.y

    def _errors(self, noise) -> None:
        """Take the standard errors of motions and forces."""
        common = None if noise is None else tuple(np.ravel(noise))
        stated = [common if p.noise is None else p.noise for p in self.pushes]
        has_noise = [e is not None for e in stated]
        if any(has_noise) and not all(has_noise):
            k = has_noise.index(False)
            raise StatementError(
                f"push {k} does not say how good it is, and others do.",
                f"Found noise= at {sum(has_noise)} of {len(has_noise)} pushes.",
                "Give noise= to fit_pressure for the others, or to every push.",
            )
        self.relative = not all(has_noise)
        force = np.hypot(*self.given.T)
        if self.relative:
            # The same share of each motion, and of each force.
            self.sigma = self.long[:, None] * np.ones(3)
            self.roots = self.sigma[:, :, None] * np.eye(3)
            self.force_error = np.maximum(force, 1e-300)
        else:
            # Errors of the origin and of the angle are independent; those of the middle are not.
            seen = {e: _noise(e) for e in stated}
            each = [seen[e] for e in stated]
            a, b = np.array([e[:2] for e in each]).T / self.unit
            # No motion is read better than it is rounded.
            grain = np.finfo(float).eps * np.maximum(self.long, _IDLE * self.long.max())
            a, b = np.maximum(a, grain * self.size), np.maximum(b, grain)
            (x, y), self.roots = self.origin / self.size, np.zeros((len(each), 3, 3))
            self.roots[:, 0, 0] = self.roots[:, 1, 1] = a / self.size
            self.roots[:, 0, 2], self.roots[:, 1, 2], self.roots[:, 2, 2] = -b * y, b * x, b
            self.sigma = np.linalg.norm(self.roots, axis=2)
            error = [_FORCE * f if e[2] is None else e[2] for e, f in zip(each, force)]
            self.force_error = np.maximum(error, 1e-300)
        self.inverse = np.linalg.inv(np.where(self.long[:, None, None] > 0, self.roots, np.eye(3)))

    def _feel(self) -> None:
        """Take the forces: along the normal, and along the edge where both were measured."""
        self.pressed = np.array([p.force is not None for p in self.pushes])
        self.felt = np.array([p.force is not None and len(p.force) == 2 for p in self.pushes])
        self.given = np.array([(*(p.force or (0.0,)), 0.0)[:2] for p in self.pushes])
        frame = np.stack([self.normal, turned(self.normal)], axis=1)[self.felt]
        self.given[self.felt] = np.einsum("bij,bj->bi", frame, self.given[self.felt])

    def _touch(self, friction) -> None:
        """Tell which fingers stick, and to which side the others slide."""
        mu = 0.0 if friction is None else float(friction)
        contact, edge = carried(self.y, self.place), turned(self.normal)
        moved = [p.finger_way for p in self.pushes]
        slips = ((np.array(moved) / self.size / self.unit - contact) * edge).sum(axis=1)
        spread = self.sigma[:, 0] * np.sqrt(2) + self.sigma[:, 2]
        share = np.maximum(_SHARE * self.long, 0.0 if self.relative else _SLIDES * spread)
        known = np.isfinite(slips)
        rubs = known if friction is None else known & (mu > 0)
        # Of a finger that is not seen, only a force sensor tells along what it pushes.
        unseen = ~known & (self.felt if friction is None else np.full(len(known), mu > 0))
        with np.errstate(invalid="ignore"):
            sticks = rubs & (np.abs(slips) <= share) | unseen
            side = np.where(rubs & ~sticks, np.sign(slips), 0.0)
        # Both components of the force tell something of a finger that is not smooth.
        self.pulled = self.felt & (sticks | (side != 0))
        self.wants_friction = friction is None and bool(np.any(side))
        self.mu = mu
        if friction is None and np.any(sticks) and not self.wants_friction:
            self.mu = np.nan
        self.fingers = Fingers(self.place, self.normal, sticks, side, contact)
        self.counted = np.stack([self.pressed, self.pulled], axis=1) & ~self._turns_back()[:, None]

    def _turns_back(self) -> np.ndarray:
        """Tell where a finger sticks and a foot may go either way along the line between them.

        What turns the part about the finger does not change how a foot goes along that line. Where
        it hardly does, its friction has one sign or the other, and the force of the finger is not
        told by the motion.
        """
        if self.support.patch is not None:
            return np.zeros(len(self.pushes), dtype=bool)
        line = self.x - self.place[:, None]
        line = line / np.maximum(np.linalg.norm(line, axis=2, keepdims=True), 1e-300)
        goes = np.einsum("bki,bi->bk", line, self.fingers.moves)
        near = _AT_REST * self.long[:, None]
        if not self.relative:
            error = np.linalg.norm(line @ (self._carries() @ self.roots), axis=2)
            near = np.maximum(near, _REVERSES * error)
        return self.sticks & np.any(np.abs(goes) <= near, axis=1)

    @property
    def cells(self) -> np.ndarray:
        """The shares of an area that its points stand for; ones for feet."""
        if self.support.patch is None:
            return np.ones(len(self.points))
        return self.support.patch**2 / (self.support.patch**2).sum()

    @property
    def sticks(self) -> np.ndarray:
        """Which fingers stick, or push in an unknown direction."""
        return self.fingers.sticks

    @property
    def equations(self) -> int:
        """How many numbers the motions tell beyond their speeds."""
        motions = 2 * len(self.pushes) - np.count_nonzero(self.sticks)
        return int(motions + np.count_nonzero(self.counted))

    @property
    def expected_stiffness(self) -> float:
        """What a second difference counts before the motions say how smooth the pressure is."""
        return _LIKELY if self.relative else 1.0

    @property
    def much(self) -> float:
        """A sum of squares that is a reason to look elsewhere."""
        return self.equations * (1e-4 if self.relative else 2.0)

    @property
    def speeds(self) -> np.ndarray:
        """How far each contact goes along its normal."""
        return (carried(self.y, self.place) * self.normal).sum(axis=1)

    @property
    def backing(self) -> np.ndarray:
        """Pushes whose contact moves away from the finger, which cannot pull."""
        if self.relative:
            return np.flatnonzero(self.speeds <= 0)
        return np.flatnonzero(self.speeds < -3 * self.sigma[:, 0])

    @property
    def idle(self) -> np.ndarray:
        """Pushes under which the part did not move, or by less than its errors."""
        none = self.long <= _IDLE * self.long.max(initial=0.0)
        if not self.relative:
            none |= np.all(np.abs(self.y) <= 2 * self.sigma, axis=1)
        return np.flatnonzero(none)

    @property
    def pulling(self) -> np.ndarray:
        """Pushes whose measured force pulls."""
        error = 0.0 if self.relative else 3 * self.force_error
        return np.flatnonzero(self.pressed & (self.given[:, 0] <= -error))

    def of(self, pushes: list[Push]) -> Measured:
        """Return other pushes of the same part, all of them equally good."""
        other = Measured(self.points, self.shapes, pushes, None, *self._given)
        other.stiffness = _LIKELY
        return other

    def balanced(self, mu: float) -> np.ndarray:
        """Return shares of the loads that balance the fingers at the measured motions.

        Friction is linear in the loads there: a start, not the most likely loads, since motions
        that are measured with errors stand in the equations. Motions about a foot tell nothing.
        """
        count = self.shapes.shape[1]
        v = jacobians(self.x, self.y[:, :, None])[..., 0]
        speed = np.hypot(v[..., 0], v[..., 1])
        e = v / np.maximum(speed, 1e-300)[..., None]
        moment = self.x[:, 0] * e[..., 1] - self.x[:, 1] * e[..., 0]
        wrench = np.stack([e[..., 0], e[..., 1], moment], axis=1) @ self.shapes
        clear = (speed.min(axis=1) >= 1e-3 * speed.max(axis=1)) | (self.support.patch is not None)
        ways = ways_across(self.fingers.lines(mu)).swapaxes(1, 2)
        sticks, (x, y) = self.sticks, self.place.T
        about = np.stack([y, -x, np.ones(len(x))], axis=1)[:, None]
        rows = [
            (ways @ wrench)[clear & ~sticks].reshape(-1, count),
            (about @ wrench)[clear & sticks].reshape(-1, count),
            1e-3 * (np.eye(count) - 1 / count),
            np.ones((1, count)),
        ]
        A = np.vstack(rows)
        shares, _ = nnls(A, np.append(np.zeros(len(A) - 1), 1.0))
        return shares / shares.sum() if shares.sum() > 0 else np.full(count, 1 / count)

    def shifted(
        self, motions: tuple[float, float, float] = (0.0, 0.0, 0.0),
        fingers: tuple[float, float, float] = (0.0, 0.0, 0.0), normals: float = 0.0,
        longer: float = 0.0, forces: tuple[float, float, float] = (0.0, 0.0, 0.0),
        tips: tuple[float, float, float] = (0.0, 0.0, 0.0),
    ) -> Measured:  # fmt: skip
        """Return the same pushes read otherwise: frames shifted (x, y) and turned, in sizes.

        The frame of the motions, and that of points and normals; normals turned alone; lengths of
        motions changed by a share; forces shifted on the table, by shares of their usual size (one
        along the normal alone by the first), and turned; tips shifted on the table, and behind
        what they touch.
        """
        other = copy(self)
        other.place = self.place @ _rotation(fingers[2]).T + fingers[:2]
        if any(tips):
            ahead = self.fingers.moves / np.hypot(*self.fingers.moves.T)[:, None]
            other.place += np.einsum("bkj,k->bj", self.tables, tips[:2]) - tips[2] * ahead
        other.normal = self.normal @ _rotation(fingers[2] + normals).T
        velocity = (1 + longer) * self.y[:, :2] @ _rotation(motions[2]).T
        # What is seen to move is another point of the part.
        velocity -= self.y[:, 2:] * np.array([-motions[1], motions[0]])
        other.y = np.column_stack([velocity, self.y[:, 2]])
        other.fingers = replace(self.fingers, place=other.place, normal=other.normal,
                                moves=carried(other.y, other.place))  # fmt: skip
        if any(forces):
            shown = self.given @ _rotation(forces[2])
            frame = np.stack([self.normal, turned(self.normal)], axis=1)
            by = self.usual_force * np.einsum("bij,bkj,k->bi", frame, self.tables, forces[:2])
            shown = shown + by
            alone = self.given[:, 0] + self.usual_force * forces[0]
            other.given = np.where(self.felt[:, None], shown, np.stack([alone, 0 * alone], axis=1))
        return other

    @property
    def usual_force(self) -> float:
        """A force of the usual size."""
        return float(np.median(np.hypot(*self.given[self.pressed].T)))

    @property
    def tables(self) -> np.ndarray:
        """The axes of the table in the part's frame, or its own where a push does not tell them."""
        angles = [0.0 if p.before is None else p.before[2] + p.twist[2] / 2 for p in self.pushes]
        return np.stack([_rotation(-a).T for a in angles])

    def padded(self, radius: float) -> Measured:
        """Return the same pushes of a part whose feet are pads: no motion sticks at one of them."""
        other = copy(self)
        other.support = replace(self.support, patch=np.full(len(self.x), 2 * radius))
        return other

    # -- what is left ----------------------------------------------------------------------------

    def expected(self, load: np.ndarray, mu: float) -> Expected:
        """Return the motions under loads, from the last ones."""
        moved = expected(self.support, self.fingers, load, mu, self._near)
        self._near = moved.twist
        return moved

    def table(self, load: np.ndarray, mu: float) -> tuple[np.ndarray, np.ndarray]:
        """Return what is left of each push: three of its motion and two of its force; slopes."""
        moved = self.expected(load, mu)
        columns = len(load) + self.wants_friction
        count, sticks = len(self.pushes), self.sticks
        slope, force_slope = moved.slope[..., :columns], moved.force_slope[..., :columns]
        r, J = np.zeros((count, 5)), np.zeros((count, 5, columns))
        # Up to its speed: what is across the expected motion, in standard errors.
        u, y = (np.einsum("bij,bj->bi", self.inverse, a) for a in (moved.twist, self.y))
        long = (u**2).sum(axis=1)
        speed = np.maximum((u * y).sum(axis=1) / long, 0.0)
        d = self.inverse @ slope
        d = d - u[..., None] * np.einsum("bi,bij->bj", u, d)[:, None] / long[:, None, None]
        r[:, :3], J[:, :3] = y - speed[:, None] * u, -speed[:, None, None] * d
        # Where the finger sticks: the rate of turning for the motion of the contact, which is
        # measured, too.
        spread = np.maximum(np.linalg.norm(self._seen(moved) @ self.roots, axis=2), 1e-300)
        turn = ((self.y[:, 2] - moved.twist[:, 2]) / spread[:, 0])[sticks]
        r[sticks, :3], J[sticks, :3] = 0.0, 0.0
        r[sticks, 0], J[sticks, 0] = turn, (-slope[:, 2] / spread)[sticks]
        if np.any(self.pressed):
            error = np.linalg.norm(moved.force_follows @ self._carries() @ self.roots, axis=2)
            error = np.hypot(error, self.force_error[:, None])
            r[:, 3:] = np.where(self.counted, (self.given - moved.force) / error, 0.0)
            J[:, 3:] = np.where(self.counted[..., None], -force_slope / error[..., None], 0.0)
        return r, J

    def residuals(
        self, load: np.ndarray, mu: float, far: float = np.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return what is left of motions and forces in standard errors, and its slope.

        The squares of pushes that are `far` grow as logarithms: far² log(1 + r²/far²).
        """
        r, J = self.table(load, mu)
        if np.isfinite(far):
            square = (r**2).sum(axis=1) / far**2
            shrunk = np.sqrt(np.log1p(square) / np.maximum(square, 1e-300))
            shrunk = np.where(square > 1e-12, shrunk, 1.0)
            r = r * shrunk[:, None]
            J = J / ((1 + square) * shrunk)[:, None, None]
        r, J = r.ravel(), J.reshape(-1, J.shape[2])
        if self.bends is not None:
            bent, slope = self.bent(load)
            slope = np.pad(slope, ((0, 0), (0, J.shape[1] - len(load))))
            r = np.concatenate([r, self.stiffness * bent])
            J = np.vstack([J, self.stiffness * slope])
        return r, J

    def bent(self, load: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the second differences of a smooth pressure, and how they change with loads."""
        total = load.sum()
        bent = self.bends @ load / total
        return bent, (self.bends - bent[:, None]) / total

    def motions(self, r: np.ndarray) -> np.ndarray:
        """Return what is left of the pushes alone, or how it changes."""
        return r[: 5 * len(self.pushes)]

    def squares(self, loads: np.ndarray, mu: float) -> np.ndarray:
        """Return what is left under many loads, roughly where a finger sticks: sums of squares."""
        moved = self.expected(loads[0], mu)
        twist, power = least(self.support, self.fingers, loads, mu, moved.twist)
        u, y = (a @ self.inverse.transpose(0, 2, 1) for a in (twist[..., None, :], self.y[:, None]))
        u, y = u[..., 0, :], y[..., 0, :]
        speed = np.maximum((u * y).sum(axis=-1) / (u**2).sum(axis=-1), 0.0)
        left = ((y - speed[..., None] * u) ** 2).sum(axis=-1)
        spread = np.maximum(np.linalg.norm(self._seen(moved) @ self.roots, axis=2)[:, 0], 1e-300)
        turn = ((self.y[:, 2] - twist[..., 2]) / spread) ** 2
        left = np.where(self.sticks, turn, left)
        pressed = self.pressed & ~self.sticks
        force = (self.given[pressed, 0] - power[:, pressed]) / self.force_error[pressed]
        return left.sum(axis=1) + (force**2).sum(axis=1)

    def _carries(self) -> np.ndarray:
        """Return how the contacts follow the motions of the part."""
        by = np.zeros((len(self.pushes), 2, 3))
        by[:, 0, 0] = by[:, 1, 1] = 1.0
        by[:, 0, 2], by[:, 1, 2] = -self.place[:, 1], self.place[:, 0]
        return by

    def _seen(self, moved: Expected) -> np.ndarray:
        """Return how what is left of a turn follows the measured motion, contact and all."""
        seen = -moved.follows[:, 2:3] @ self._carries()
        seen[:, 0, 2] += 1.0
        return seen

    def first_scale(self, load: np.ndarray, mu: float) -> float:
        """Return by how much loads are to be multiplied to give the measured forces."""
        pressing = self.expected(load, mu).force[:, 0][self.pressed]
        ratio = self.given[self.pressed, 0] / np.maximum(pressing, 1e-300)
        # Forces that mostly do not press are contradicted by any loads of their size.
        return max(float(np.median(ratio)), 1e-3 * float(np.median(np.abs(ratio)))) or 1.0

    # -- what it says ----------------------------------------------------------------------------

    def per_push(self, r: np.ndarray) -> np.ndarray:
        """Return how far each push is from the fit."""
        return np.linalg.norm(self.motions(r).reshape(-1, 5), axis=1)

    def usual(self, each: np.ndarray) -> float:
        """Return how far most pushes are from the fit: no less than is no reason to look."""
        return max(float(np.median(each)), 0.02 if self.relative else 1.0)

    def missed(self, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return by which share of themselves motions and forces miss the fit.

        Zero where that is no more than their errors explain.
        """
        motion, force = (
            np.linalg.norm(a, axis=1) for a in np.split(self.motions(r).reshape(-1, 5), [3], axis=1)
        )
        clear = np.hypot(motion, force) > (0.0 if self.relative else 8.0)
        motion = motion * np.linalg.norm(self.sigma, axis=1) / np.sqrt(3) / self.long
        size = np.maximum(np.hypot(*self.given.T), 1e-300)
        force = np.where(self.pressed, force * self.force_error / size, 0.0)
        return np.where(clear, motion, 0.0), np.where(clear, force, 0.0)

    def sticks_from(
        self, load: np.ndarray, covariance: np.ndarray | None = None, sigma: float = 1.0
    ) -> float:
        """Return the least friction under which every finger that stuck could.

        With a covariance of the loads, and what counts as an error of a motion: what it is at least
        in 39 of 40 trials.
        """
        moved, rows = self.expected(load, 0.0), self.sticks & ~self._turns_back()
        along, across = moved.force[rows].T
        along, side = np.maximum(along, 1e-300), np.sign(across)
        ratio = np.abs(across) / along
        if covariance is not None and len(ratio):
            slope = np.stack([-ratio / along, side / along], axis=1)[:, None]
            by_load = slope @ moved.force_slope[rows, :, : len(load)]
            error = np.einsum("bij,jk,bik->b", by_load, covariance, by_load)
            by_motion = slope @ (moved.force_follows @ self._carries() @ self.roots)[rows]
            error += sigma**2 * (by_motion**2).sum(axis=(1, 2))
            # The largest of many errs to one side.
            ratio = ratio - norm.ppf(1 - 0.025 / len(ratio)) * np.sqrt(error)
        return float(np.max(ratio, initial=0.0))


def _rotation(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]])


def _noise(noise) -> tuple[float, float, float | None]:
    try:
        given = noise = [float(x) for x in noise]
    except (TypeError, ValueError):
        given = []
    if len(given) not in (2, 3) or not all(x > 0 and np.isfinite(x) for x in given):
        raise StatementError(
            "the noise of the motions is not two positive numbers, or three with the force.",
            f"Found {str(noise)[:40]}.",
            "Give standard errors of displacements and of angles, as in noise=(1e-4, 2e-3), "
            "and of forces, if they were measured.",
        )
    return given[0], given[1], given[2] if len(given) > 2 else None
