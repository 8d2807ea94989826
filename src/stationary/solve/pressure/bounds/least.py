"""The least power, also where the centre itself bears nothing: in a notch, between feet.

Power is the least ⟨|w|⟩ over motions, and its least value that over pressures, too: all weight at
the centre, if that can bear it. Elsewhere there are many valleys: about any place of an edge that
rests, neither another motion nor another pressure alone takes less. So cells of motions, which
cover all of them, are divided until none is left that may hold less. With the middle w₀ of one,

    ⟨|w|⟩ ≥ ⟨w·ŵ₀⟩ ≥ ℓ(w) for every pressure,   ℓ the least of ⟨w·ŵ₀⟩ over pressures,

and ℓ is concave: it is bounded at the corners of the cell, by duals ℓᵢ + λ·x ≤ wᵢ·ŵ₀ on the whole
support. If a force F of the finger gives ℓᵢ F·u ≥ P F·wᵢ at all corners, a motion of the cell that
gives way to it takes P or more.
"""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from stationary.solve.linear import extent
from stationary.solve.pressure.bounds.finger import (
    End,
    Finger,
    keeps,
    power_of,
    slowest,
    velocities,
)
from stationary.solve.pressure.duals.certificate import in_balance
from stationary.solve.pressure.duals.lowest import at_rest, lowest
from stationary.solve.pressure.envelope import centre_of, centres, field
from stationary.solve.pressure.extremes.polish import Summit, joined, placed
from stationary.solve.pressure.extremes.vertices import EVERY, vertices
from stationary.solve.pressure.programs.programs import Programs
from stationary.solve.pressure.programs.single import EXACT, Single
from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.support import WEIGHT, Rest

#: No pressure takes less than the least that is found by more than this share of it.
SHARE = 1e-6
# Cells this small, as angles, are gone down from to the bottom of their valley.
_SMALL = 0.05
# How often cells are halved: smaller ones are rounding.
_DEPTH = 150
# Valleys that are gone down at the end, and how alike two directions of one are, as a cosine.
_STARTS, _ALIKE = 3, 0.98
# How often columns move to where they are best.
_ROUNDS = 2
# Columns closer and closer to an atom, in how far apart those of the grid are.
_CLOSER = 3.0 ** -np.arange(20)
_CLOSER = np.concatenate([-_CLOSER, [0.0], _CLOSER])
# Places closer than this to an edge, in sizes of the part, are on it.
_ON = 1e-9
#: More cells than this are not divided, and more than these where a proof is asked for.
MANY, PATIENT = 100, 4000
# Of their power: valleys that are lower by less are the same.
_LOWER = 1e-9
# What is as good as least, in weights times speeds, and what is left of a slope there.
_SHARP, _FLAT = 1e-9, 1e-11
# How often pressure and motion take turns.
_TURNS = 6
# Edges this close to a centre of rotation, in sizes of the part, may be where it rests.
_NEXT = 0.1


def least_power(rest: Rest, finger: Finger, share: float, many: int) -> End:
    """Return the motion and the pressure of least power.

    It is proven to a share of it, unless more than so many cells are left.
    """
    centre = np.zeros(2)
    if rest.contains(centre):
        points, masses = centre[None], np.ones(1)
        ends: list[End] = []
        for mode in finger.faces:
            # It moves as little as it can; among motions that do so equally, by the least.
            twist = mode.base - mode.free @ (np.linalg.pinv(mode.free[:2]) @ mode.base[:2])
            if keeps(mode, twist[None])[0]:
                ends.append((mode, Summit(twist, points, masses, kind="least")))
        return min(ends, key=lambda end: power_of(end[1]))
    if rest.feet and comb(len(rest.columns), len(extent(rest.columns)) + 1) <= EVERY:
        # Power is concave: it is least at one of the extreme pressures, each with its own motion.
        points, loads = vertices(rest)
        twists, faces, power = slowest(finger, points, loads)
        k = int(power.argmin())
        bears = loads[k] > 0
        bearing = points[k][bears], loads[k][bears]
        summit = Summit(twists[k], *bearing, kind="vertex", count=len(points))
        return finger.faces[faces[k]], summit
    return _of_all(rest, finger, share, many)


def _of_all(rest: Rest, finger: Finger, close: float, many: int) -> End:
    """Return the least power of all pressures and motions, from cells that cover the motions."""
    programs, single = Programs(rest), Single(rest)
    cells, best, most, count = _cells(finger.span), None, np.inf, 0
    share, near, slow = 1.0, np.zeros((2, 0)), finger.every.base
    for depth in range(_DEPTH):
        n, d, _ = cells.shape
        middle = cells.mean(axis=1)
        middle /= np.linalg.norm(middle, axis=1, keepdims=True)
        about, aims = np.repeat(middle, d + 1, axis=0), np.concatenate([cells, middle[:, None]], 1)
        rounds = _ROUNDS if best else 0
        bounds, values = _bounded(programs, about, aims.reshape(-1, 3), near, rounds)
        power = finger.speeds(middle) * values.reshape(n, d + 1)[:, d]
        if power.min() < most:
            most, slow = float(power.min()), middle[power.argmin()]
        small = np.linalg.norm(cells[:, 0] - cells[:, -1], axis=1).max() < _SMALL
        count += d * n
        last = n > many or d == 1 or depth == _DEPTH - 1
        if last or (best is None and small) or (best and most < _power(best) * (1 - _LOWER)):
            # Of the cells that are left the lowest, and others far from it before it ends.
            lows = _apart(middle, power, _STARTS if last else 1)
            tried = [_bottom(single, finger, k) for k in middle[lows]]
            best = min([*tried, *filter(None, [best])], key=_power)
            most, near = _power(best), _near(rest, best[1].points)
        low = _least_of(finger, cells, bounds.reshape(n, d + 1)[:, :d])
        share = max(1 - float(low.min()) / most, close)
        cells = _halved(cells[low < most * (1 - close)])
        if last or not len(cells):
            break
    mode, summit = best or _bottom(single, finger, slow)
    return mode, replace(summit, count=count, share=share)


def _apart(ways: np.ndarray, power: np.ndarray, count: int) -> list[int]:
    """Return the lowest motions of which none is next to another."""
    chosen: list[int] = []
    for k in power.argsort().tolist():
        if len(chosen) == count or not np.isfinite(power[k]):
            break
        if not chosen or float((ways[chosen] @ ways[k]).max()) < _ALIKE:
            chosen.append(k)
    return chosen


def _least_of(finger: Finger, cells: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return what motions of cells take at least that give way to some force of the finger."""
    low = np.zeros(len(cells))
    for row, gives in zip(*finger.forces):
        way = cells @ row
        with np.errstate(divide="ignore", invalid="ignore"):
            # Corners that do not give way take nothing from the others, if they have a bound.
            least = np.where(way > 0, bounds * gives / way, np.where(bounds >= 0, np.inf, -np.inf))
        low = np.maximum(low, least.min(axis=1))
    return low


def _power(end: End) -> float:
    return power_of(end[1])


def _bounded(
    programs: Programs, about: np.ndarray, aims: np.ndarray, near: np.ndarray, rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return what ⟨aim·v̂⟩ is at least over all pressures, and what one of them has."""
    rest, q = programs.rest, centres(about)
    more = programs.passing(about)
    if more is not None:
        # And where it passes by the atoms of the least so far.
        edges, along = (np.broadcast_to(k, (len(q), len(k))) for k in near)
        more = np.hstack([more[0], edges.astype(int)]), np.hstack([more[1], along])
    answers = programs.refined(about, aims, np.zeros_like(aims), rounds=rounds, more=more)
    low = lowest(rest, about, aims, answers.affine).min(axis=1)
    inside = rest.contain(q)
    held = at_rest(np.where(inside[:, None], q, 0.0), aims, answers.affine)
    low = np.where(inside, np.minimum(low, held), low)
    return answers.affine[:, 0] + low, answers.value


def _near(rest: Rest, points: np.ndarray) -> np.ndarray:
    """Return places on edges, closer and closer to points of them: edges, and along them."""
    places = [np.zeros((2, 0))]
    for x, y in points:
        for k, (a, b, u, v, square) in enumerate([] if rest.feet else rest.edges):
            share = (u * (x - a) + v * (y - b)) / square
            if abs(u * (y - b) - v * (x - a)) < _ON * np.sqrt(square) and -_ON < share < 1 + _ON:
                along = np.clip(share + rest.spacing[k] * _CLOSER, 0.0, 1.0)
                places.append(np.stack([np.full(len(along), k), along]))
    return np.hstack(places)


def _cells(span: np.ndarray) -> np.ndarray:
    """Return simplices (n, d, 3) whose corners span all directions of motions."""
    d = span.shape[1]
    signs = np.stack(np.meshgrid(*[[1.0, -1.0]] * d, indexing="ij"), axis=-1).reshape(-1, d)
    return signs[:, :, None] * span.T


def _halved(cells: np.ndarray) -> np.ndarray:
    """Return the halves of cells, cut through their longest side."""
    n, d, _ = cells.shape
    if d == 1 or not n:
        return cells
    first, last = np.triu_indices(d, 1)
    long = np.linalg.norm(cells[:, first] - cells[:, last], axis=2).argmax(axis=1)
    every, a, b = np.arange(n), first[long], last[long]
    between = cells[every, a] + cells[every, b]
    between /= np.linalg.norm(between, axis=1, keepdims=True)
    one, two = cells.copy(), cells.copy()
    one[every, a], two[every, b] = between, between
    return np.concatenate([one, two])


def _lightest(single: Single, twist: np.ndarray) -> Summit:
    """Return the pressure that takes least power at a motion, and its dual."""
    answer = single.least(twist, twist, np.zeros(3), rounds=EXACT)
    points, masses = joined(np.array(answer.points).T, np.array(answer.masses))
    return Summit(twist, points, masses, -answer.affine, twist, "less")


def _bottom(single: Single, finger: Finger, way: np.ndarray) -> End:
    """Return the bottom of the valley of a motion: in balance, and with a pressure that has it."""
    twist = way * finger.speeds(way[None])[0]
    tried = [twist, _aside(single, finger, twist)]
    for mode in finger.faces:
        tried += _downhill(single, mode, twist)
    summits = sorted((_lightest(single, k) for k in tried), key=power_of)
    ends: list[End] = []
    for summit in [k for k in summits if power_of(k) <= power_of(summits[0]) + _SHARP * WEIGHT]:
        for _ in range(_TURNS):
            # The motion of least power of a pressure takes no more, nor the best pressure there.
            (own,), (k,), _ = slowest(finger, summit.points[None], summit.masses[None])
            before, summit = power_of(summit), _lightest(single, own)
            ends.append((finger.faces[k], summit))
            if not power_of(summit) < before - 1e-12 * WEIGHT:
                break
    most = min(map(_power, ends)) + _SHARP * WEIGHT
    best = [k for k in ends if _power(k) <= most]
    best += [(mode, _balanced(single.rest, mode, summit)) for mode, summit in best]
    return min((k for k in best if _power(k) <= most), key=lambda end: in_balance(*end)[1])


def _balanced(rest: Rest, mode: Mode, summit: Summit) -> Summit:
    """Move atoms along their edges until a pressure is in balance to rounding, if none rests.

    Next to the bottom of a flat valley many are as good, and which of them a program names hangs on
    its last digits; where its atoms are the dual hardly rises, so that these may move a little.
    """
    atoms = None if rest.feet or rest.radius else placed(rest, summit)
    if atoms is None or "still" in atoms.kinds:
        return summit
    a, way, _ = rest.lines
    count, tiny, (vx, vy, turn) = len(atoms.masses), 1e-200, summit.twist.tolist()
    start = a[atoms.edges] + atoms.along[:, None] * way[atoms.edges]
    way = way[atoms.edges] * (np.array(atoms.kinds) == "edge")[:, None]

    def left(u: np.ndarray) -> np.ndarray:
        masses, (x, y) = atoms.masses + u[:count], (start + u[count:, None] * way).T
        e, f = vx - turn * y, vy + turn * x
        speed = np.sqrt(e * e + f * f)
        e, f = masses * e / speed, masses * f / speed
        wrench = np.array([e.sum(), f.sum(), x @ f - y @ e])
        loads = np.array([masses.sum() - 1, masses @ x, masses @ y])
        return np.concatenate([loads, mode.free.T @ wrench])

    u = np.zeros(2 * count)
    for _ in range(_TURNS):
        steps = 1j * tiny * np.eye(2 * count)
        J = np.stack([np.imag(left(u + k)) / tiny for k in steps], axis=1)
        u = u - np.linalg.lstsq(J, left(u), rcond=1e-9)[0]
    masses, along = atoms.masses + u[:count], atoms.along + u[count:]
    if not (masses.min() >= 0 and along.min() >= 0 and along.max() <= 1):
        return summit
    return replace(summit, points=start + u[count:, None] * way, masses=masses)


def _aside(single: Single, finger: Finger, twist: np.ndarray) -> np.ndarray:
    """Return the best motion about a place of an edge that passes by the centre of rotation."""
    rest, q = single.rest, centre_of(twist)
    if q is None or rest.feet or finger.span.shape[1] < 3:
        return twist
    best, least = twist, np.inf
    for a, b, u, v, square in rest.edges:
        share = (u * (q[0] - a) + v * (q[1] - b)) / square
        share = min(max(share, 0.0), 1.0)
        if np.hypot(a + share * u - q[0], b + share * v - q[1]) > _NEXT:
            continue
        wide = _NEXT / np.sqrt(square)

        def turned(along: float) -> np.ndarray:
            x, y = a + along * u, b + along * v
            way = np.sign(twist[2]) * np.array([y, -x, 1.0])
            return way * min(float(finger.speeds(way[None])[0]), 1e9)

        valley = minimize_scalar(
            lambda along: power_of(_lightest(single, turned(along))), method="bounded",
            bounds=(max(share - wide, 0.0), min(share + wide, 1.0)), options={"xatol": 1e-10},
        )  # fmt: skip
        for along in (float(valley.x), 0.0, 1.0):
            power = power_of(_lightest(single, turned(along)))
            if power < least:
                best, least = turned(along), power
    return best


def _downhill(single: Single, mode: Mode, twist: np.ndarray) -> list[np.ndarray]:
    """Go down on a face where atoms move along edges with the motion: both at once, by secants."""

    def power(z: np.ndarray) -> tuple[float, np.ndarray]:
        summit = _lightest(single, mode.base + mode.free @ z)
        v = field(summit.twist, summit.points)
        speed = np.hypot(v[:, 0], v[:, 1])
        e = summit.masses[:, None] * v / np.maximum(speed, 1e-300)[:, None]
        (x, y), (a, b) = summit.points.T, e.T
        wrench = np.array([a.sum(), b.sum(), x @ b - y @ a])
        return float(summit.masses @ speed), mode.free.T @ wrench

    z = np.linalg.lstsq(mode.free, twist - mode.base, rcond=None)[0]
    if not len(z):
        return [mode.base]
    low = minimize(power, z, jac=True, method="BFGS", options={"gtol": _FLAT})
    bottoms = [mode.base + mode.free @ low.x]
    for point in _lightest(single, bottoms[0]).points:
        # What is as good as at rest is so: it bends the power.
        P, Q, p, q = velocities(mode, point[None])
        z = np.linalg.lstsq(np.vstack([p, q]), -np.append(P, Q), rcond=None)[0]
        bottoms.append(mode.base + mode.free @ z)
    return [k for k in bottoms if keeps(mode, k[None])[0]]
