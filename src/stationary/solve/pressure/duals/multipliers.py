"""The dual that the conditions of an end name: multipliers of a motion and a pressure.

At an end f(x) = λ0 + λ·x + w(x)·v̂(x) is zero where the pressure sits, and the motion is stationary:

    a·δv = δ⟨w·v̂⟩ + λ·δq + κ |ω| n·δq ,

where q, if it bears load, moves with the motion, and κ ≥ 0 belongs to an edge or a rim from which
it would have to leave the support, along the normal n. These are linear equations of λ, w and κ. If
they leave a freedom, as where loads may shift along an edge, a linear program chooses the f whose
least value on the support is greatest; the lowest points of one are rows of the next.
"""

from __future__ import annotations

from math import hypot, inf

import numpy as np
from scipy.optimize import linprog

from stationary.solve.pressure.duals.lowest import lowest_over
from stationary.solve.pressure.envelope import centre_of, field, lowest_on
from stationary.solve.pressure.extremes.polish import Summit
from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.support import REACH, WEIGHT, Rest

# How close to the border a place rests at it, in sizes of the part.
_ON = 1e-6
# Less load than this is none, and friction short of its limit by more holds firmly, in weights.
_IDLE, _FIRM = 1e-7, 1e-6
# Singular values below these shares of the largest may be a freedom of the multipliers.
_FREE = (1e-13, 1e-10, 1e-7)
# How often the lowest points of a dual are added to a program, and what is low enough.
_EXCHANGES, _LOW = 12, 1e-9


def multiplied(
    rest: Rest, mode: Mode, summit: Summit, ways: np.ndarray, functional: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return λ and w of an end, the best that its conditions allow; None where there are none."""
    twist, free = summit.twist, mode.free
    if mode.force is None or free.shape[1] != 2:
        return None
    witnesses = [mode.balance(w, twist) for w in free.T]
    walls = leaving(rest, summit, free)
    rows = _conditions(mode, summit, ways, witnesses, [row for row, *_ in walls])
    right = np.concatenate([np.zeros(len(rows) - 2), functional @ free])
    U, s, V = np.linalg.svd(rows)
    best, most, known = None, -inf, -1
    for share in _FREE:
        rank = int(np.count_nonzero(s > share * s[0]))
        if rank == known:
            continue
        known = rank
        y = V[:rank].T @ ((U[:, :rank].T @ right) / s[:rank])
        y = _raised(rest, twist, witnesses, y, V[rank:].T)
        size = max(float(np.abs(y[:5]).max()), 1e-300)
        affine, witness = y[:3], y[3] * witnesses[0] + y[4] * witnesses[1]
        low = lowest_over(rest, twist, witness, affine) / size
        low = min(low, -float(np.abs(rows @ y - right).max()) / size)
        if low > most:
            best, most = (affine, witness), low
    return best


def _conditions(mode: Mode, summit: Summit, ways, witnesses, walls) -> np.ndarray:
    """Return the equations of λ, w and κ at an end, one per row; the last two are stationarity."""
    x, twist, none = summit.points, summit.twist, np.zeros(3)
    held = np.flatnonzero(summit.masses > _IDLE * WEIGHT)
    rests = at_rest(twist, x)
    force = np.hypot(ways[:, 0], ways[:, 1])
    columns = []
    for affine, witness in [*((k, none) for k in np.eye(3)), *((none, w) for w in witnesses)]:
        w = field(witness, x)
        rows = ((w * ways).sum(axis=1) + affine[0] + x @ affine[1:])[held].tolist()
        for k in held[rests[held]]:
            # Friction at its limit is against w; short of it, w vanishes there.
            firm = force[k] < 1 - _FIRM
            rows += w[k].tolist() if firm else [float(w[k, 0] * ways[k, 1] - w[k, 1] * ways[k, 0])]
        columns.append([*rows, *slopes_of(mode, summit, ways, witness, affine)])
    empty = [0.0] * (len(columns[0]) - 2)
    return np.array(columns + [[*empty, *row] for row in walls]).T


def _raised(rest: Rest, twist, witnesses, y: np.ndarray, ways: np.ndarray) -> np.ndarray:
    """Return the multipliers along `ways` whose f has the greatest least value, κ ≥ 0."""
    if not ways.shape[1]:
        return y
    edges, along = rest.grid
    q = centre_of(twist)
    if q is not None:
        close, places, _ = rest.beside(q)
        edges, along = np.append(edges, close), np.append(along, places)
    points = rest.at(edges, along)[0]
    v = field(twist, points)
    speed = np.hypot(v[:, 0], v[:, 1])
    points, e = points[speed > 0], v[speed > 0] / speed[speed > 0, None]
    rows = _rows(points, e, witnesses, len(y))
    rows = np.vstack([rows, np.eye(len(y))[5:]])
    # A program whose first guess is the shortest, so that a freedom that is not needed stays small.
    best, most = y, -inf
    for _ in range(_EXCHANGES):
        affine, witness = y[:3], y[3] * witnesses[0] + y[4] * witnesses[1]
        size = float(np.abs(y[:5]).max())
        low = min(lowest_over(rest, twist, witness, affine), float(y[5:].min(initial=0.0)))
        if low > most:
            best, most = y, low
        if low >= -_LOW * size:
            break
        _, (kind, edge, place, angle) = lowest_on(rest, twist, witness, affine)
        if kind == "still" and q is not None:
            x, way = q, np.array([np.cos(angle), np.sin(angle)])
        else:
            x = rest.at(np.array([edge]), np.array([place]))[0][0]
            way = field(twist, x)
            way = way / max(float(np.hypot(*way)), 1e-300)
        rows = np.vstack([rows, _rows(x[None], way[None], witnesses, len(y))])
        count = ways.shape[1]
        A = np.hstack([-rows @ ways, np.ones((len(rows), 1))])
        program = linprog(
            np.append(np.zeros(count), -1.0), A_ub=A, b_ub=rows @ best,
            bounds=[(-1e6 * size, 1e6 * size)] * count + [(None, 0.0)],
        )  # fmt: skip
        if program.status != 0:
            break
        y = best + ways @ program.x[:count]
    return best


def _rows(points: np.ndarray, e: np.ndarray, witnesses, count: int) -> np.ndarray:
    """Return f at points that go along e, for each multiplier."""
    rows = np.zeros((len(points), count))
    rows[:, 0], rows[:, 1:3] = 1.0, points
    for k, w in enumerate(witnesses):
        rows[:, 3 + k] = (field(w, points) * e).sum(axis=1)
    return rows


def off_stationary(
    rest: Rest, mode: Mode, summit: Summit, ways: np.ndarray, witness: np.ndarray,
    affine: np.ndarray, aim: np.ndarray,
) -> float:  # fmt: skip
    """Return by how much a motion misses being stationary: a·δv = δ⟨w·v̂⟩ + λ·δq.

    A place that rests at the border does not go on across it: there the end may push outwards, by
    as much as the load would lose that stays behind on the border. Beyond the border that goes
    along only what is on one side of the edge; where friction is along the other, no load can.
    """
    twist, free = summit.twist, mode.free
    off = aim @ free - slopes_of(mode, summit, ways, witness, affine)
    rests = at_rest(twist, summit.points)
    if not rests.any():
        return float(np.abs(off).max())
    k = int(np.flatnonzero(rests)[summit.masses[rests].argmax()])
    load, (u, v) = float(summit.masses[rests].sum()), ways[k].tolist()
    size, turns = hypot(u, v), 1.0 if twist[2] > 0 else -1.0
    missed = 0.0
    for row, normal, gap in leaving(rest, summit, free):
        share = max(float(off @ row) / max(float(row @ row), 1e-300), 0.0)
        # The ray on which points go along e, seen from the centre of rotation.
        dx, dy = turns * v / max(size, 1e-300), -turns * u / max(size, 1e-300)
        inwards = -(dx * normal[0] + dy * normal[1])
        if inwards > 0:
            rise = witness[2] * (dx * v - dy * u) + affine[1] * dx + affine[2] * dy
            room = load * max(rise, 0.0) / (inwards * abs(twist[2])) if size > 1 - _FIRM else 0.0
            share = min(share, room)
        off = off - share * row
        missed = max(missed, share * abs(twist[2]) * gap)
    return max(float(np.abs(off).max()), missed)


def leaving(
    rest: Rest, summit: Summit, free: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Return, for borders at which what bears load rests, how |ω| n·q changes, n, and how far."""
    twist = summit.twist
    q = centre_of(twist)
    if q is None or rest.feet or not at_rest(twist, summit.points).any():
        return []
    (x, y), turns = q.tolist(), 1.0 if twist[2] > 0 else -1.0
    borders = []
    if rest.radius:
        arm = q - rest.middle
        far = hypot(*arm.tolist())
        if abs(far - rest.radius) < _ON * REACH:
            borders.append((arm / far, q, abs(far - rest.radius)))
    else:
        for long, tx, ty, a, b in rest.sides:
            across, along = tx * (y - b) - ty * (x - a), tx * (x - a) + ty * (y - b)
            if abs(across) < _ON * REACH and -1e-9 * long < along < (1 + 1e-9) * long:
                outside = rest.sense * np.array([ty, -tx])
                borders.append((outside, np.array([a, b]), abs(across)))
    return [
        (turns * np.array([n[1], -n[0], -(n @ place)]) @ free, n, gap) for n, place, gap in borders
    ]


def at_rest(twist: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Tell which points rest."""
    u, v, turn = twist.tolist()
    slow = 1e-9 * max(abs(u), abs(v), abs(turn))
    return np.array([hypot(u - turn * b, v + turn * a) <= slow for a, b in x.tolist()])


def wrench_of(x: np.ndarray, m: np.ndarray, ways: np.ndarray) -> np.ndarray:
    """Return the wrench of friction in directions."""
    (a, b), (u, v) = x.T, ways.T
    return np.array([m @ u, m @ v, m @ (a * v - b * u)])


def slopes_of(
    mode: Mode, summit: Summit, ways: np.ndarray, witness: np.ndarray, affine: np.ndarray
) -> np.ndarray:  # fmt: skip
    """Return the derivative of ⟨w·v̂⟩ + λ·q along each free motion; places at rest move on."""
    (tx, ty, tw), (wx, wy, ww) = summit.twist.tolist(), witness.tolist()
    twist, resting = summit.twist, at_rest(summit.twist, summit.points).tolist()
    atoms = list(zip(summit.points.tolist(), summit.masses.tolist(), ways.tolist(), resting))
    load = wrench_of(summit.points, summit.masses, ways)
    plane = mode.normal
    force = mode.force
    assert force is not None
    drive = float(force @ twist)
    # The virtual motion without what makes the work of the finger vanish, which moves along.
    raw = witness - (plane @ witness) / (plane @ twist) * twist
    share = float(force @ raw) / drive
    _, lx, ly = affine.tolist()
    changes = []
    for way in mode.free.T:
        (dx, dy, dw), total = way.tolist(), 0.0
        for (x, y), m, (u, v), rests in atoms:
            p, q = dx - dw * y, dy + dw * x
            if rests:
                # v + δv + ω × δx = 0 where it rests.
                p, q = -q / tw, p / tw
                total += m * (ww * (p * v - q * u) + lx * p + ly * q)
            else:
                turn = (q * u - p * v) / hypot(tx - tw * y, ty + tw * x)
                total += m * turn * ((wy + ww * x) * u - (wx - ww * y) * v)
        changes.append(total - share * float(load @ way - (force @ way) / drive * (load @ twist)))
    return np.array(changes)
