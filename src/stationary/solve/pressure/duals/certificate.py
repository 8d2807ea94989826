"""What proves an end: evaluated from the support, the finger and the numbers of a dual alone.

Nothing here knows how an end was found. A dual is a function on the support,

    f(x) = λ0 + λ·x + w(x)·v̂(x) ,

and its least value is bounded over the whole of it, not sampled: along every edge, around a circle,
at the centre of rotation. What an end claims beside that (its pressure has the given centre and is
in balance, bears load only where f is zero, and the motion is stationary) is evaluated, too.
"""

from __future__ import annotations

from dataclasses import replace
from math import hypot

import numpy as np

from stationary.result.pressure import Dual
from stationary.solve.pressure.duals.kink import kinked
from stationary.solve.pressure.duals.lowest import lowest_over
from stationary.solve.pressure.envelope import centre_of, field
from stationary.solve.pressure.extremes.polish import Summit
from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.support import REACH, Rest

# How far a dual may be below zero, and its conditions off, in sizes of its multipliers.
_LOW, _LEFT = 1e-7, 1e-6

_HOW = {
    "extreme": "f ≥ {low:.1e} on the whole support and f = 0 where the pressure sits, and the "
    "motion is stationary: no small change of the pressure goes further; that none at all does is "
    "searched for, and proven with prove=",
    "kink": "about a corner or a foot that bears load, {count} duals, each for some of the "
    "directions in which it may begin to move, are f ≥ {low:.1e} on the whole support: no small "
    "change of the pressure goes further; that none at all does is searched for, and proven with "
    "prove=",
    "line": "f ≥ {low:.1e} on the whole support, with w the one way to go on: beyond this motion "
    "the power of every pressure rises, so that none that moves like this goes further",
    "cone": "f ≥ {low:.1e} on the whole support: a pressure with this motion has its force at the "
    "edge of the cone of friction or outside, so that none that sticks goes on from here; that "
    "none slides further is searched for, and proven with prove=",
    "power": "f ≥ {low:.1e} on the whole support, w being this motion turned back: no pressure "
    "needs more, for it could move like this",
    "least": "the mean of |v(x)| is no less than |v| of the centre, and this pressure needs no "
    "more than the least of that",
    "vertex": "power is concave in the loads, and of all {count} pressures at the corners of their "
    "set this one takes least",
    "held": "constraints leave this one motion, whatever the pressure",
    "translation": "power falls neither way: a push through the centre translates the part under "
    "every pressure",
}  # fmt: skip
_SCOPE = {"line": "every pressure", "power": "every pressure"}
_NOT = {
    "": "not certified: this end is at a kink of the set of motions, about a corner or a foot "
    "that bears load, where one dual says nothing; bounded by programs at motions beyond it, all "
    "of which are positive; proven with prove=",
    "searched": "not certified: least over {count} extreme pressures that were tried",
    "outer": "not certified as attained: no pressure goes further in this mode of the finger, but "
    "the one that would go so far does not keep the finger in it",
}  # fmt: skip


def certified(rest: Rest, mode: Mode, summit: Summit, functional: np.ndarray | None) -> Dual:
    """Return the dual of an end with what it is found to be, and what it proves."""
    ways, left = in_balance(mode, summit)
    if not summit.kind and functional is not None:
        summit = _multiplied(mode, summit, ways, functional)
    affine, witness, kind = summit.affine, summit.witness, summit.kind
    size = max(float(np.abs(affine).max()), float(np.abs(witness).max()))
    if kind in ("least", "vertex", "translation", "held"):
        words = _HOW[kind].format(count=summit.count)
        scope = "every pressure" if left <= _LEFT else ""
        return Dual(affine, witness, np.nan, left, mode.name, scope, words)
    if not kind and functional is not None and left <= _LEFT:
        kink = kinked(rest, mode, summit.twist, functional)
        if kink is not None:
            duals, low = kink
            words = _HOW["kink"].format(low=low, count=len(duals))
            return Dual(affine, witness, low, left, mode.name, "small changes", words, duals)
    if kind not in _HOW or not size > 0:
        words = _NOT.get(kind, _NOT[""]).format(count=summit.count)
        low = lowest_over(rest, summit.twist, witness, affine) / size if size > 0 else np.nan
        return Dual(affine, witness, low, left, mode.name, "", words)
    low = lowest_over(rest, summit.twist, witness, affine) / size
    # No load where f is not zero.
    x, m = summit.points, summit.masses
    f = (field(witness, x) * ways).sum(axis=1) + affine[0] + x @ affine[1:]
    left = max(left, float(m @ np.abs(f)) / size)
    if kind == "extreme" and functional is not None:
        left = max(left, _moved(rest, mode, summit, ways, functional) / size)
    words, good = _HOW[kind].format(low=low), low >= -_LOW and left <= _LEFT
    if not good:
        words = (f"not certified: f is as low as {low:.1e}, and conditions are off by {left:.1e}; "
                 "bounded by a search")  # fmt: skip
    scope = _SCOPE.get(kind, "small changes") if good else ""
    if kind == "line" and mode.cone and good:
        # What slides has other motions.
        scope = "small changes"
        words += "; that none slides further is searched for, and proven with prove="
    return Dual(affine, witness, low, left, mode.name, scope, words)


def in_balance(mode: Mode, summit: Summit) -> tuple[np.ndarray, float]:
    """Return the direction of friction at each atom, and by how much a pressure misses balance.

    What rests gives the force that is missing, up to its limit.
    """
    twist, x, m = summit.twist, summit.points, summit.masses
    resting = _still(twist, x)
    ways = _ways(twist, x, resting)
    left = max(abs(float(m.sum()) - 1), float(np.abs(m @ x).max()))
    rows = [mode.balance(w, twist) for w in mode.free.T]
    count = len(rows)
    rows = np.array([*rows, *mode.cone]).reshape(-1, 3)
    pull = rows @ _wrench(x, m, ways)
    load = float(m[resting].sum())
    if not load > 0:
        off = np.concatenate([np.abs(pull[:count]), -pull[count:]])
        return ways, max(left, float(off.max(initial=0.0)))
    q = m[resting] @ x[resting] / load
    arms = rows[:, :2] + rows[:, 2:] * np.array([-q[1], q[0]])
    force = np.linalg.lstsq(arms[:count], -pull[:count], rcond=None)[0] if count else np.zeros(2)
    if count == 1 and len(rows) > 1:
        force = _within(arms, pull, force, load)
    after = pull + arms @ force
    off = np.concatenate([np.abs(after[:count]), -after[count:]])
    left = max(left, float(off.max(initial=0.0)), float(np.linalg.norm(force)) - load)
    ways[resting] = force / load
    return ways, left


def _within(arms: np.ndarray, pull: np.ndarray, force: np.ndarray, load: float) -> np.ndarray:
    """Return the force with one component given that is inside a cone, and least."""
    across = np.array([-arms[0, 1], arms[0, 0]])
    size = float(np.linalg.norm(across))
    if not size > 0:
        return force
    across /= size
    most = np.sqrt(max(load**2 - float(force @ force), 0.0))
    low, high = -most, most
    for arm, short in zip(arms[1:], pull[1:]):
        have, gain = float(short + arm @ force), float(arm @ across)
        if abs(gain) > 1e-14 * np.linalg.norm(arm):
            low, high = (
                (max(low, -have / gain), high) if gain > 0 else (low, min(high, -have / gain))
            )
    share = (low + high) / 2 if low > high else min(max(0.0, low), high)
    return force + share * across


def _multiplied(
    mode: Mode, summit: Summit, ways: np.ndarray, functional: np.ndarray
) -> Summit:  # fmt: skip
    """Return an end with the dual that its conditions name, where nothing that bears load rests."""
    twist, x, free = summit.twist, summit.points, mode.free
    if mode.force is None or free.shape[1] != 2 or np.any(_still(twist, x)):
        return summit
    witnesses = [mode.balance(w, twist) for w in free.T]
    loaded = [np.ones(len(x)), *x.T, *((field(w, x) * ways).sum(axis=1) for w in witnesses)]
    moved = [np.zeros(2)] * 3 + [_slopes(mode, summit, ways, w, np.zeros(3)) for w in witnesses]
    rows = np.vstack([np.array(loaded).T, np.array(moved).T])
    right = np.concatenate([np.zeros(len(x)), functional @ free])
    y = np.linalg.lstsq(rows, right, rcond=None)[0]
    witness = y[3] * witnesses[0] + y[4] * witnesses[1]
    return replace(summit, affine=y[:3], witness=witness, kind="extreme")


def _still(twist: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Tell which points rest."""
    u, v, turn = twist.tolist()
    slow = 1e-9 * max(abs(u), abs(v), abs(turn))
    return np.array([hypot(u - turn * b, v + turn * a) <= slow for a, b in x.tolist()])


def _ways(twist: np.ndarray, x: np.ndarray, resting: np.ndarray) -> np.ndarray:
    """Return the directions in which points move, none for those that rest."""
    v = field(twist, x)
    speed = np.sqrt(v[:, 0] ** 2 + v[:, 1] ** 2)
    speed[resting] = np.inf
    return v / np.maximum(speed, 1e-300)[:, None]


def _wrench(x: np.ndarray, m: np.ndarray, ways: np.ndarray) -> np.ndarray:
    """Return the wrench of friction in directions."""
    (a, b), (u, v) = x.T, ways.T
    return np.array([m @ u, m @ v, m @ (a * v - b * u)])


def _moved(rest: Rest, mode: Mode, summit: Summit, ways: np.ndarray, aim: np.ndarray) -> float:
    """Return by how much a motion misses being stationary: aim·δv = δ⟨w·v̂⟩ + λ·δq.

    A place that rests at an edge does not go on across it: there the end may push outwards.
    """
    twist, free = summit.twist, mode.free
    off = aim @ free - _slopes(mode, summit, ways, summit.witness, summit.affine)
    q = centre_of(twist)
    if q is None or rest.radius or rest.feet or not _still(twist, summit.points).any():
        return float(np.abs(off).max())
    (x, y), turns = q.tolist(), 1.0 if twist[2] > 0 else -1.0
    for long, tx, ty, a, b in rest.sides:
        across, along = tx * (y - b) - ty * (x - a), tx * (x - a) + ty * (y - b)
        if abs(across) < 1e-9 * REACH and -1e-9 * long < along < (1 + 1e-9) * long:
            # The normal to the outside.
            nx, ny = rest.sense * ty, -rest.sense * tx
            row = turns * np.array([ny, -nx, -(nx * a + ny * b)]) @ free
            off = off - max(float(off @ row) / max(float(row @ row), 1e-300), 0.0) * row
    return float(np.abs(off).max())


def _slopes(
    mode: Mode, summit: Summit, ways: np.ndarray, witness: np.ndarray, affine: np.ndarray
) -> np.ndarray:  # fmt: skip
    """Return the derivative of ⟨w·v̂⟩ + λ·q along each free motion; places at rest move on."""
    (tx, ty, tw), (wx, wy, ww) = summit.twist.tolist(), witness.tolist()
    twist, resting = summit.twist, _still(summit.twist, summit.points).tolist()
    atoms = list(zip(summit.points.tolist(), summit.masses.tolist(), ways.tolist(), resting))
    load = _wrench(summit.points, summit.masses, ways)
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
