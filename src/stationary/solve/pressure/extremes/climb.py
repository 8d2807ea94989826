"""Around the border of what pressures allow, to where a functional of the motion is greatest.

From a motion that some pressure has, rays go to where the set ends: along a ray the program
min ⟨way·v̂⟩ with ⟨other·v̂⟩ = 0 is negative while some pressure goes further. Its gradient is the
normal of the border, and where the tangents at two ends meet is a guess of the extreme between.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import atan2, cos, hypot, inf, isfinite, nan, pi, sin

import numpy as np

from stationary.solve.pressure.programs.single import EXACT, ROUGH, Answer, Single
from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.support import REACH, Rest

_ASKS = 40
_FAR = 1e9
# How far before it sticks a finger is looked at, as a share of the way.
_BEFORE = 1e-9
# How much power is smoothed, in speeds of a part that does not turn.
_LEVELS = (0.05, 5e-3, 5e-4)


@dataclass(slots=True)
class End:
    """Where a ray leaves the set: the place, the normal there, and the last program inside."""

    angle: float
    x: float
    y: float
    normal: tuple[float, float]
    answer: Answer
    slips: bool  # it is the finger that ends it, not the pressures


class Climb:
    """The motions of a mode, seen from one that some pressure has."""

    def __init__(self, single: Single, mode: Mode, start: np.ndarray, rounds: int = ROUGH):
        self.single, self.mode, self.start, self.rounds = single, mode, start, rounds
        self.first, self.last = mode.free.T.copy()
        force = mode.force
        assert force is not None
        self.force = force
        self.works = float(force @ self.first), float(force @ self.last)
        self.plain = max(map(abs, self.works)) <= 1e-12 * float(np.linalg.norm(force))
        self.basis: list[int] | None = None

    def at(self, x: float, y: float) -> np.ndarray:
        """Return a motion of the plane."""
        return self.start + x * self.first + y * self.last

    def exact(self, end: End) -> Answer:
        """Return the program at an end with columns that move."""
        c, s = cos(end.angle), sin(end.angle)
        best = self.ask(end.x, end.y, c, s, EXACT)
        return end.answer if best is None else best[0]

    def ask(self, x: float, y: float, c: float, s: float, rounds: int = 0):
        """Return the program at a motion, for a direction, and its gradient; None off the mode."""
        twist, guard = self.at(x, y), self.mode.guard
        rounds = rounds or self.rounds
        if guard is not None and guard @ twist < 0:
            return None
        way, other = c * self.first + s * self.last, c * self.last - s * self.first
        if self.plain:
            answer = self.single.least(twist, way, other, self.basis, rounds)
            self.basis = answer.columns
            return answer, answer.slope(self.first), answer.slope(self.last)
        drive = float(self.force @ twist)
        if not drive > 0:
            return None
        p, q = self.works
        a, b = c * p + s * q, c * q - s * p
        answer = self.single.least(
            twist,
            way - (a / drive) * twist,
            other - (b / drive) * twist,
            self.basis,
            rounds,
        )
        self.basis = answer.columns
        # The virtual motions turn with the motion, too.
        share = (a - answer.dual * b) / drive
        load = wrench(answer)
        power = float(load @ twist) / drive
        return (
            answer,
            answer.slope(self.first) + share * (p * power - float(load @ self.first)),
            answer.slope(self.last) + share * (q * power - float(load @ self.last)),
        )

    def ray(self, angle: float, reach: float, close: float) -> End | None:
        """Go to the end of the set, roughly: Newton's method between bounds."""
        c, s = cos(angle), sin(angle)
        low, high, inside, both = 0.0, inf, None, False
        size = float(np.abs(self.start).max())
        wall = self._sticks(c, s)
        if isfinite(wall):
            # As far as the finger slides, if a pressure goes on from there.
            last = wall * (1 - _BEFORE)
            reply = self.ask(last * c, last * s, c, s)
            guard = self.mode.guard
            if guard is not None and reply and reply[0].value < 0 and reply[0].balanced:
                if self._back(last, c, s):
                    normal = -float(guard @ self.first), -float(guard @ self.last)
                    return End(angle, last * c, last * s, normal, reply[0], True)
                both = True
            high, reach = last, min(reach, last / 2)
        for _ in range(_ASKS):
            reply = self.ask(reach * c, reach * s, c, s)
            new = nan
            if reply is None:
                high = reach
            else:
                answer, gx, gy = reply
                slope = c * gx + s * gy
                if answer.value < 0 and answer.balanced and (not both or self._back(reach, c, s)):
                    low, inside = reach, reply
                else:
                    high = reach
                new = reach - answer.value / slope if slope > 0 and not both else nan
                if answer.balanced and abs(new - reach) < close * reach:
                    return End(angle, new * c, new * s, (gx, gy), answer, False)
            if high - low < close * high:
                break
            if not low < new < high or new > 3 * reach + 1e-3 * size:
                new = (low + high) / 2 if isfinite(high) else 2 * reach
            if new > _FAR:
                return None
            reach = new
        if inside is None:
            return None
        # The set ends where what rests leaves the support.
        answer, gx, gy = inside
        edge = self._edge(high * c, high * s, c, s) if isfinite(high) else None
        return End(angle, low * c, low * s, edge or (gx, gy), answer, False)

    def _back(self, reach: float, c: float, s: float) -> bool:
        """Tell whether another pressure comes back from there: a mixture of both has the motion.

        Without it those that go on from where a finger begins to stick slip to the other side.
        """
        reply = self.ask(reach * c, reach * s, -c, -s)
        return reply is not None and reply[0].value <= 0 and reply[0].balanced

    def _sticks(self, c: float, s: float) -> float:
        """Return how far along a ray the finger slides to the side of its mode."""
        guard = self.mode.guard
        if guard is None:
            return inf
        falls = -float(guard @ (c * self.first + s * self.last))
        return max(float(guard @ self.start), 0.0) / falls if falls > 0 else inf

    def _edge(self, x: float, y: float, c: float, s: float) -> tuple[float, float] | None:
        """Return the normal of the motions about points of the edge that is next."""
        rest = self.single.rest
        tx, ty, tw = self.at(x, y).tolist()
        if rest.feet or not tw:
            return None
        q = np.array([-ty / tw, tx / tw])
        if rest.radius:
            n = q - rest.middle
        else:
            (ax, ay), (wx, wy) = self.single.a, self.single.way
            share = np.clip(((q[0] - ax) * wx + (q[1] - ay) * wy) / (wx * wx + wy * wy), 0, 1)
            k = int(np.hypot(q[0] - ax - share * wx, q[1] - ay - share * wy).argmin())
            n = np.array([-wy[k], wx[k]])
        row = np.array([n[1], -n[0], -(n @ q)])
        gx, gy = float(row @ self.first), float(row @ self.last)
        sign = 1.0 if gx * c + gy * s > 0 else -1.0
        return sign * gx, sign * gy

    def top(self, functional: np.ndarray, close: float = 1e-2, rays: int = 8) -> End | None:
        """Go around the border to where the functional is greatest, roughly."""
        p, q = float(functional @ self.first), float(functional @ self.last)
        angle, reach, turn = atan2(q, p), 0.1 * float(np.abs(self.start).max()), 0.4
        left: End | None = None
        right: End | None = None
        best: End | None = None
        most = -inf
        for _ in range(rays):
            end = self.ray(angle, reach, close)
            if end is None:
                return best
            value = p * end.x + q * end.y
            if value > most:
                best, most = end, value
            side = end.normal[0] * q - end.normal[1] * p
            if abs(side) < 1e-4 * hypot(*end.normal) * hypot(p, q):
                return best
            left, right = (end, right) if side > 0 else (left, end)
            if left is None or right is None:
                angle += turn if side > 0 else -turn
                reach, turn = hypot(end.x, end.y), min(1.5 * turn, 1.0)
                continue
            wide = right.angle - left.angle
            if wide < 1e-3 * close:
                return best
            angle, reach = left.angle + wide / 2, min(hypot(e.x, e.y) for e in (left, right))
            (ax, ay), (bx, by) = left.normal, right.normal
            det = ax * by - ay * bx
            if det > 1e-12 * hypot(ax, ay) * hypot(bx, by):
                u, v = ax * left.x + ay * left.y, bx * right.x + by * right.y
                x, y = (u * by - v * ay) / det, (ax * v - bx * u) / det
                ahead = (atan2(y, x) - left.angle + pi) % (2 * pi) - pi
                if 0 < ahead < wide:
                    angle, reach = left.angle + ahead, hypot(x, y)
                    size = min(abs(most), abs(float(functional @ self.at(x, y))))
                    if abs(p * x + q * y - most) < close * size:
                        return best
        return best


def wrench(answer: Answer) -> np.ndarray:
    """Return the wrench of friction of a pressure."""
    m, (x, y), (u, v) = np.array(answer.masses), np.array(answer.points), np.array(answer.ways)
    return np.array([m @ u, m @ v, m @ (x * v - y * u)])


def even_load(rest: Rest) -> tuple[np.ndarray, np.ndarray]:
    """Return a pressure on all of the border with its resultant at the centre."""
    points = rest.columns
    x, tilt = points.T, np.zeros(2)
    load = np.full(len(points), 1 / len(points))
    for _ in range(40):
        mean = x @ load
        if np.abs(mean).max() < 1e-12 * REACH:
            break
        spread = (x * load) @ points - np.outer(mean, mean) + 1e-9 * np.eye(2)
        step = np.linalg.solve(spread, -mean)
        tilt = tilt + step * min(1.0, 2.0 / np.abs(step).max())
        load = np.exp(tilt @ x - (tilt @ x).max())
        load /= load.sum()
    return points, load


def moved(
    points: np.ndarray, load: np.ndarray, mode: Mode, levels: tuple[float, ...] = _LEVELS
) -> np.ndarray:  # fmt: skip
    """Return the motion under a pressure of many atoms, their power being smoothed a little."""
    force = mode.force
    assert force is not None
    f0, f1, f2 = force.tolist()
    long = f0 * f0 + f1 * f1
    size = float(long**-0.5)
    # Motions along the force, across it, and about its line.
    u0, v0, a0, a1 = f0 / long, f1 / long, -f1 * size, f0 * size
    b0, b1 = -f0 * f2 / long - points[:, 1], -f1 * f2 / long + points[:, 0]

    def power(s: float, t: float, soft: float):
        u, v = u0 + a0 * s + b0 * t, v0 + a1 * s + b1 * t
        speed = np.sqrt(u * u + v * v + soft * soft)
        return u, v, speed, float(load @ speed)

    s = t = fall = 0.0
    for soft, turn in product([size * k for k in levels], range(12)):
        if turn and -fall < 1e-7 * size:
            continue
        u, v, speed, now = power(s, t, soft)
        e = load / speed
        p, q = u * a0 + v * a1, u * b0 + v * b1
        g, h = float(p @ e), float(q @ e)
        bent = e / (speed * speed)
        H = float((a0 * a0 + a1 * a1) * e.sum() - (p * p) @ bent)
        G = float((a0 * b0 + a1 * b1) @ e - (p * q) @ bent)
        K = float((b0 * b0 + b1 * b1) @ e - (q * q) @ bent)
        det = H * K - G * G
        ds, dt = -(K * g - G * h) / det, -(H * h - G * g) / det
        fall, share = g * ds + h * dt, 1.0
        while share > 1e-6 and (
            power(s + share * ds, t + share * dt, soft)[3] > now + 1e-4 * share * fall
        ):
            share *= 0.4
        s, t = s + share * ds, t + share * dt
    twist = np.array([u0 + s * a0 - t * f0 * f2 / long, v0 + s * a1 - t * f1 * f2 / long, t])
    plane = mode.normal
    return twist * ((plane @ mode.base) / (plane @ twist))


def even(rest: Rest, mode: Mode) -> np.ndarray:
    """Return the motion under a pressure on all of the border, roughly."""
    return moved(*even_load(rest), mode, _LEVELS[:1])
