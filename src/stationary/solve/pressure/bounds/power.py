"""The least and the greatest power that pushing a part can take, over all pressures.

Friction holds a wrench if no motion takes less of it than the wrench gives: the wrenches that a
pressure holds are a convex set, and mix as pressures do. A finger with the velocity u gives the
most that a force inside its cone can, F·u, of those that the pressure holds, whether it sticks or
slides: of a force beyond the cone the edge is left, and along it the part slips away. Turned round,

    power of a pressure = least ⟨|w|⟩ over motions w with F·w(P) ≥ F·u for every F of the cone,

and for a smooth finger the cone is its normal. So power is a concave function of the pressure. Its
greatest value is a saddle, min over motions of the greatest ⟨|w|⟩, a convex problem in which only
the corners of the hull bear load; its least value belongs to all weight at the centre.

The motions w have faces: both edges of the cone give w what they give the finger, and it sticks; or
one of them does, and the part slides with the direction of w.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import comb

import numpy as np
from scipy.optimize import minimize

from stationary.result.least_power import motions
from stationary.solve.linear import extent, ways_across
from stationary.solve.pressure.duals.certificate import in_balance
from stationary.solve.pressure.envelope import field
from stationary.solve.pressure.extremes.climb import even
from stationary.solve.pressure.extremes.polish import Summit, joined
from stationary.solve.pressure.extremes.vertices import EVERY, vertices
from stationary.solve.pressure.programs.programs import Programs, fields
from stationary.solve.pressure.programs.single import EXACT, Single
from stationary.solve.pressure.pushed import Scene
from stationary.solve.pressure.region import Mode, hull, spread_motion
from stationary.solve.pressure.support import WEIGHT, Rest

# Of the central path: how near it is gone along, by how much it shrinks, what is left of its value.
_NEAR, _SHRINKS, _GAP, _STEPS, _SHORT = 1e-3, 30.0, 1e-11, 400, 1e-6
# Shares of the weight that bear, and of the fastest speed that rest.
_BEARS, _STILL = (1e-7, 1e-5, 1e-3), 1e-4
# Atoms so close on a circle, in sizes of the part, are one.
_ALIKE = 0.1
# Steps of Newton's method that take a pressure from there to rounding.
_NEWTON = 20
# How often a circle is looked at between its samples.
_TURNS = 8
# Motions at which least power is looked for, those from which it goes down, and how often.
_TRIED, _STARTS, _DESCENTS = 300, 12, 6
# What is as good as least, in weights times speeds.
_SHARP = 1e-8
# Of the force of a finger: below this share of it along an edge of the cone it is at the other.
_EDGE = 1e-3
# Samples of a circle, from which its closest points are found.
_ROUND = 360

End = tuple[Mode, Summit]


@dataclass(frozen=True)
class _Finger:
    """The motions w that take the power of a finger, F·w(P) ≥ F·u, and their faces.

    Attributes
    ----------
    every : Mode
        All of them, or a plane or a line where nothing is rough.
    faces : tuple of Mode
        Where the least of them is: two to slide on, unless one takes power from the part, and the
        one that sticks.
    rows, rates : ndarray
        rows @ w ≥ rates: the edges of the cone, in the order of faces that slide.
    """

    every: Mode
    faces: tuple[Mode, ...]
    rows: np.ndarray
    rates: np.ndarray

    @staticmethod
    def of(modes: list[Mode]) -> _Finger:
        """Return what the modes of a finger say together."""
        if len(modes) == 1:
            return _Finger(modes[0], tuple(modes), np.zeros((0, 3)), np.zeros(0))
        stuck, *slide = modes
        faces, rows = [], np.zeros((0, 3))
        for mode in slide:
            assert mode.force is not None
            rows = np.vstack([rows, mode.force])
            # A finger that would take power from the part by sliding does not slide to that side.
            if mode.gives > 0:
                unit = mode.force * (mode.gives / (mode.force @ mode.force))
                drives = mode.normal, float(mode.normal @ mode.base)
                faces.append(replace(mode, base=unit, free=ways_across(mode.force), drives=drives))
        every = Mode("every", stuck.base, np.eye(3))
        return _Finger(every, (*faces, stuck), rows, rows @ stuck.base)

    def start(self, rest: Rest) -> np.ndarray:
        """Return one of the motions, off all faces."""
        mode = self.faces[-1]
        if mode.force is not None and mode.free.shape[1] == 2:
            return even(rest, mode)
        twist = spread_motion(rest, replace(mode, cone=()))
        if not len(self.rows):
            return twist
        # The motion that both edges of the cone give the same goes into the part.
        return twist + np.linalg.lstsq(self.rows, np.abs(self.rates).max() + 0 * self.rates)[0]


def power_ends(scene: Scene) -> list[tuple[float, Mode, Summit]]:
    """Return the least and the greatest power over all pressures, in weights times speeds."""
    finger = _Finger.of(scene.modes)
    ends = least_power(scene.rest, finger), greatest_power(scene.rest, finger)
    return [(power_of(summit), mode, summit) for mode, summit in ends]


def greatest_power(rest: Rest, finger: _Finger) -> End:
    """Return the motion and the pressure of greatest power."""
    points = rest.columns
    if not rest.radius and len(rest.corners) > 2:
        points = hull(rest.corners)
    elif not rest.radius:
        points = rest.corners
    if not rest.radius and len(points) == len(extent(points)) + 1:
        return _only_power(points, finger)
    every, start = finger.every, finger.start(rest)
    z = np.linalg.lstsq(every.free, start - every.base, rcond=None)[0]
    twist, affine, masses, mode = start, np.zeros(3), np.zeros(len(points)), every
    for turn in range(_TURNS if rest.radius else 1):
        affine, there, masses, forces = _central(finger, points, z)
        twist = every.base + every.free @ there
        counts = {int((masses > least).sum()): least for least in _BEARS}
        for mode in _likely(finger, forces):
            near = np.linalg.lstsq(mode.free, twist - mode.base, rcond=None)[0]
            for least, pivots in product(counts.values(), (False, True)):
                # What bears almost nothing on the path, or hardly moves, may do so at its end.
                bears = masses > least
                bearing = points[bears], masses[bears]
                settled = _saddle(rest, mode, points, bearing, affine, near, pivots)
                if settled is not None:
                    return mode, settled
        if rest.radius and turn < _TURNS - 1:
            points = np.vstack([points, _closest(rest, affine, twist)])
    bears = masses > _BEARS[0]
    mode = _likely(finger, forces)[0]
    return mode, Summit(twist, points[bears], masses[bears], affine, -twist, "power")


def _likely(finger: _Finger, forces: np.ndarray) -> list[Mode]:
    """Return faces of motions in the order in which forces at the edges of the cone choose them."""
    *slide, stuck = finger.faces
    if not slide:
        return [stuck]
    named = dict(zip(("slides forward", "slides back"), forces.tolist()))
    slide.sort(key=lambda mode: -named[mode.name])
    sticks = forces.min() > _EDGE * forces.max()
    return [stuck, *slide] if sticks else [*slide, stuck]


def _central(
    finger: _Finger, points: np.ndarray, z: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the least λ0 with λ0 + λ·x ≥ |w(x)| at points, with its motion, pressure and forces.

    Newton's method along the central path of these cones: it sees neither the unit of a direction
    nor how thin a part is, and corners that rest are like others. The multipliers of the cones are
    the pressure, those of the finger its forces along the edges of its own cone.
    """
    mode = finger.every
    P, Q, p, q = _velocities(mode, points)
    A, count = np.hstack([np.ones((len(points), 1)), points]), len(points)
    slopes = np.hstack([A, 0 * p]), np.hstack([0 * A, p]), np.hstack([0 * A, q])
    walls = np.hstack([np.zeros((len(finger.rows), 3)), finger.rows @ mode.free])
    depth = finger.rows @ mode.base - finger.rates

    def cones(u: np.ndarray) -> tuple[np.ndarray, ...]:
        x, y, far = P + p @ u[3:], Q + q @ u[3:], A @ u[:3]
        speed = np.hypot(x, y)
        return far, x, y, np.where(far > speed, (far - speed) * (far + speed), -1.0)

    share = float(np.hypot(P + p @ z, Q + q @ z).max())
    u = np.concatenate([[2 * share, 0.0, 0.0], z])
    here, central = cones(u), (u, np.ones(count), np.ones(len(walls)))
    for _ in range(_STEPS):
        far, x, y, room = here
        beyond = walls @ u + depth
        # The slope and the bend of −log of the room in each cone, and beyond the faces.
        one, two, three = (k[:, None] * s * (2 / room)[:, None] for k, s in zip(here, slopes))
        g = np.vstack([two + three - one, -walls / beyond[:, None]])
        bends = [(s.T * (2 / room)) @ s for s in slopes]
        H, fall = g.T @ g + bends[1] + bends[2] - bends[0], g.sum(axis=0)
        fall[0] += 1 / share
        scale = 1 / np.sqrt(np.maximum(np.diag(H), 1e-300))
        step = -scale * np.linalg.lstsq(H * scale * scale[:, None], scale * fall, rcond=1e-15)[0]
        gain, long = -float(fall @ step), 1.0
        near = count * share < _GAP * abs(u[0])
        if gain < _NEAR:
            central = u, far / room, 1 / beyond
            if near:
                break
            share /= _SHRINKS
            continue
        level = u[0] / share - np.log(room).sum() - np.log(beyond).sum()
        while long > _SHORT:
            new = u + long * step
            there, left = cones(new), walls @ new + depth
            if min(there[3].min(), left.min(initial=1.0)) > 0 and (
                new[0] / share - np.log(there[3]).sum() - np.log(left).sum()
                < level - 0.1 * long * gain
            ):
                break
            long /= 2
        else:
            break
        u, here = u + long * step, there
    u, masses, forces = central
    return u[:3], u[3:], masses / masses.sum(), forces


def _velocities(mode: Mode, points: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return P, Q, p, q of velocities P + p z, Q + q z of points under motions base + free z."""
    P, Q = field(mode.base, points).T
    x, y, (a, b, turn) = *points.T[..., None], mode.free[:, None]
    return P, Q, a - turn * y, b + turn * x


def _saddle(
    rest: Rest, mode: Mode, every: np.ndarray, bearing: tuple[np.ndarray, np.ndarray],
    affine: np.ndarray, z: np.ndarray, pivots: bool,
) -> Summit | None:  # fmt: skip
    """Take a pressure of greatest power on known points to rounding, by Newton's method.

    Its conditions: total and centre, a motion of least power, and a speed that is affine in the
    points, along a circle, too. A point that rests leaves no motion but the one about it. Nothing
    comes back where they lead to another pressure, or a finger out of its mode.
    """
    points, masses = bearing
    if rest.radius:
        order = np.argsort(-masses)
        points, masses = joined(points[order], masses[order], _ALIKE)
    speed = np.hypot(*field(mode.base + mode.free @ z, points).T)
    slow, size, count = int(speed.argmin()), len(z), len(points)
    pivots = pivots and bool(size)
    if pivots and not speed[slow] < _STILL * speed.max():
        return None
    if pivots:
        P, Q, p, q = _velocities(mode, points[slow : slow + 1])
        z = np.linalg.lstsq(np.vstack([p, q]), -np.append(P, Q), rcond=None)[0]
    first, arms = np.arctan2(*(points - rest.middle).T[::-1]), np.eye(3)[0]
    moves = count if rest.radius else 0

    def left(u: np.ndarray) -> np.ndarray:
        affine, z, masses = u[:3], u[3 : 3 + size], u[3 + size : 3 + size + count]
        x, y, dx, dy = *points.T, 0.0, 0.0
        if moves:
            dy, dx = rest.radius * np.cos(u[-moves:]), -rest.radius * np.sin(u[-moves:])
            x, y = rest.middle[0] + dy, rest.middle[1] - dx
        twist = mode.base + mode.free @ z
        a, b = twist[0] - twist[2] * y, twist[1] + twist[2] * x
        speed = np.sqrt(a * a + b * b)
        with np.errstate(divide="ignore", invalid="ignore"):
            a, b = np.where(speed == 0, 0, a / speed), np.where(speed == 0, 0, b / speed)
        wrench = np.array([masses @ a, masses @ b, masses @ (x * b - y * a)])
        loads = np.array([masses.sum(), masses @ x, masses @ y]) - arms
        rows = [loads, mode.free.T @ wrench, affine[0] + affine[1] * x + affine[2] * y - speed]
        if moves:
            rows.append(affine[1] * dx + affine[2] * dy - twist[2] * (b * dx - a * dy))
        return np.concatenate(rows)

    u = np.concatenate([affine, z, masses, first[:moves]])
    # About a point at rest the motion is known, and its force whatever is missing.
    unknowns = np.delete(np.arange(len(u)), 3 + np.arange(size * pivots))
    tiny, off, long = 1e-200, left(u)[unknowns], 1.0
    for _ in range(_NEWTON):
        if long <= _SHORT or np.abs(off).max() < 1e-15 * WEIGHT:
            break
        steps = 1j * tiny * np.eye(len(u))[unknowns]
        J = np.stack([np.imag(left(u + k)[unknowns]) / tiny for k in steps], axis=1)
        step = np.linalg.lstsq(J, off, rcond=1e-14)[0]
        while long > _SHORT:
            new = u.copy()
            new[unknowns] -= long * step
            after = left(new)[unknowns]
            if np.abs(after).max() < (1 - 0.1 * long) * np.abs(off).max():
                u, off, long = new, after, min(4 * long, 1.0)
                break
            long /= 4
    low = float(np.abs(off).max())
    affine, z, masses = u[:3], u[3 : 3 + size], u[3 + size : 3 + size + count]
    if moves:
        points = _on(rest, u[-moves:])
        every = _closest(rest, affine, mode.base + mode.free @ z)
    twist = mode.base + mode.free @ z
    room = affine[0] + every @ affine[1:] - np.hypot(*field(twist, every).T)
    good = masses.min() >= 0 and room.min() >= -1e-9 * speed.max() and low <= 1e-9
    summit = Summit(twist, points, masses, affine, -twist, "power")
    good = good and bool(_keeps(mode, twist[None])[0]) and in_balance(mode, summit)[1] < 1e-9
    return summit if good else None


def _keeps(mode: Mode, twists: np.ndarray) -> np.ndarray:
    """Tell which motions on a face slip to its side: no other edge of the cone gives them less."""
    return np.ones(len(twists), dtype=bool) if mode.guard is None else twists @ mode.guard >= 0


def _only_power(points: np.ndarray, finger: _Finger) -> End:
    """Return the motion and the pressure of corners that share the weight in one way only."""
    A = np.hstack([np.ones((len(points), 1)), points])
    masses = np.maximum(np.linalg.lstsq(A.T, np.array([1.0, 0.0, 0.0]), rcond=None)[0], 0.0)
    (twist,), (k,) = _slowest(finger, points[None], masses[None])
    v = field(twist, points)
    affine = np.linalg.lstsq(A, np.hypot(v[:, 0], v[:, 1]), rcond=None)[0]
    return finger.faces[k], Summit(twist, points, masses, affine, -twist, "power")


def least_power(rest: Rest, finger: _Finger) -> End:
    """Return the motion and the pressure of least power."""
    centre = np.zeros(2)
    if rest.contains(centre):
        points, masses = centre[None], np.ones(1)
        ends: list[End] = []
        for mode in finger.faces:
            # It moves as little as it can; among motions that do so equally, by the least.
            twist = mode.base - mode.free @ (np.linalg.pinv(mode.free[:2]) @ mode.base[:2])
            if _keeps(mode, twist[None])[0]:
                ends.append((mode, Summit(twist, points, masses, kind="least")))
        return min(ends, key=lambda end: power_of(end[1]))
    # The centre bears nothing: the best of extreme pressures, each with its own motion.
    points, loads = vertices(rest)
    twists, faces = _slowest(finger, points, loads)
    v = fields(twists, points)
    power = (loads * np.hypot(v[..., 0], v[..., 1])).sum(axis=1)
    if not rest.feet:
        return _descended(rest, finger, twists[power.argsort()])
    k = int(power.argmin())
    bears = loads[k] > 0
    rank = len(extent(rest.columns)) + 1
    kind = "vertex" if comb(len(rest.columns), rank) <= EVERY else "searched"
    summit = Summit(twists[k], points[k][bears], loads[k][bears], kind=kind, count=len(points))
    return finger.faces[faces[k]], summit


def _slowest(
    finger: _Finger, points: np.ndarray, loads: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Return the motions of least power of many pressures, and the faces that they are on."""
    count = len(points)
    twists, faces = np.zeros((count, 3)), np.zeros(count, dtype=int)
    least = np.full(count, np.inf)
    for k, mode in enumerate(finger.faces):
        free = np.broadcast_to(mode.free, (count, *mode.free.shape))
        z, _ = motions(points, loads, np.tile(mode.base, (count, 1)), free)
        tried = mode.base + z @ mode.free.T
        v = fields(tried, points)
        power = (loads * np.hypot(v[..., 0], v[..., 1])).sum(axis=1)
        better = _keeps(mode, tried) & (power < least)
        twists[better], faces[better], least[better] = tried[better], k, power[better]
    return twists, faces


def _descended(rest: Rest, finger: _Finger, twists: np.ndarray) -> End:
    """Return the least power of all pressures and motions: each in turn for the other.

    For a motion the best pressure is a program, with the dual |v(x)| ≥ λ0 + λ·x; for a pressure its
    motion is that of least power. Neither ever takes more, and where both stay the dual proves it.
    """
    chosen = twists[np.unique(np.linspace(0, len(twists) - 1, _TRIED).astype(int))]
    values = Programs(rest).least(chosen, chosen, np.zeros_like(chosen)).value
    best, face, least, single = None, 0, np.inf, Single(rest)
    for twist in chosen[values.argsort()[:_STARTS]]:
        summit = _lightest(single, twist)
        power, k = power_of(summit), 0
        for _ in range(_DESCENTS):
            (twist,), (k,) = _slowest(finger, summit.points[None], summit.masses[None])
            summit, before = _lightest(single, twist), power
            power = power_of(summit)
            if not power < before - 1e-12 * WEIGHT:
                break
        if power < least - 1e-9 * WEIGHT:
            best, face, least = summit, k, power
    assert best is not None
    # Where a finger begins to slide the least may be on the face where it sticks.
    ends = [(mode, _smooth(single, mode, best)) for mode in (finger.faces[face], finger.faces[-1])]
    ends = [(mode, k) for mode, k in ends if _keeps(mode, k.twist[None])[0]]
    most = min(power_of(k) for _, k in ends) + _SHARP * WEIGHT
    ends = [(mode, k) for mode, k in ends if power_of(k) <= most]
    return min(ends, key=lambda end: in_balance(*end)[1])


def _lightest(single: Single, twist: np.ndarray) -> Summit:
    """Return the pressure that takes least power at a motion, and its dual."""
    answer = single.least(twist, twist, np.zeros(3), rounds=EXACT)
    points, masses = joined(np.array(answer.points).T, np.array(answer.masses))
    return Summit(twist, points, masses, -answer.affine, twist, "less")


def _smooth(single: Single, mode: Mode, best: Summit) -> Summit:
    """Go down where atoms move along edges with the motion: both at once, by secants."""
    z = np.linalg.lstsq(mode.free, best.twist - mode.base, rcond=None)[0]
    best = _lightest(single, mode.base + mode.free @ z)
    if in_balance(mode, best)[1] <= _GAP:
        return best

    def power(z: np.ndarray) -> tuple[float, np.ndarray]:
        summit = _lightest(single, mode.base + mode.free @ z)
        v = field(summit.twist, summit.points)
        speed = np.hypot(v[:, 0], v[:, 1])
        e = summit.masses[:, None] * v / np.maximum(speed, 1e-300)[:, None]
        (x, y), (a, b) = summit.points.T, e.T
        wrench = np.array([a.sum(), b.sum(), x @ b - y @ a])
        return float(summit.masses @ speed), mode.free.T @ wrench

    lowest = minimize(power, z, jac=True, method="BFGS", options={"gtol": _GAP})
    summit = _lightest(single, mode.base + mode.free @ lowest.x)
    tried = [best, summit]
    for x, y in summit.points.tolist():
        # What is as good as at rest is so: it bends the power.
        P, Q, p, q = _velocities(mode, np.array([[x, y]]))
        z = np.linalg.lstsq(np.vstack([p, q]), -np.append(P, Q), rcond=None)[0]
        tried.append(_lightest(single, mode.base + mode.free @ z))
    most = min(map(power_of, tried)) + _SHARP * WEIGHT
    tried = [k for k in tried if power_of(k) <= most]
    return min(tried, key=lambda k: in_balance(mode, k)[1])


def _closest(rest: Rest, affine: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Return the points of a circle at which an affine function is closest to the speed."""

    def left(angle: np.ndarray) -> np.ndarray:
        v = field(twist, _on(rest, angle))
        return affine[0] + _on(rest, angle) @ affine[1:] - np.hypot(v[..., 0], v[..., 1])

    angle = np.arange(_ROUND) * (2 * np.pi / _ROUND)
    value, wide = left(angle), 2 * np.pi / _ROUND
    near = angle[(value <= np.roll(value, 1)) & (value <= np.roll(value, -1))]
    for _ in range(4):
        a, b, c = left(near - wide), left(near), left(near + wide)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = 0.5 * wide * (a - c) / (a - 2 * b + c)
        near = near + np.clip(np.nan_to_num(step), -wide, wide)
        wide /= 20
    return _on(rest, near)


def _on(rest: Rest, angle: np.ndarray) -> np.ndarray:
    return rest.radius * np.stack([np.cos(angle), np.sin(angle)], axis=-1) + rest.middle


def power_of(summit: Summit) -> float:
    """Return ⟨|v|⟩."""
    v = field(summit.twist, summit.points)
    return float(summit.masses @ np.hypot(v[:, 0], v[:, 1]))
