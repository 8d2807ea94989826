"""What proves an end: evaluated from the support, the finger and the numbers of a dual alone.

Nothing here knows how an end was found. A dual is a function on the support,

    f(x) = λ0 + λ·x + w(x)·v̂(x) ,

and its least value is bounded over the whole of it, not sampled: along every edge, around a circle,
at the centre of rotation. What an end claims beside that (its pressure has the given centre and is
in balance, bears load only where f is zero, and the motion is stationary) is evaluated, too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stationary.result.pressure import Dual
from stationary.solve.pressure.duals.kink import kinked
from stationary.solve.pressure.duals.lowest import lowest_over
from stationary.solve.pressure.duals.multipliers import (
    at_rest,
    multiplied,
    off_stationary,
    wrench_of,
)
from stationary.solve.pressure.envelope import field
from stationary.solve.pressure.extremes.polish import Summit
from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.support import Rest

# How far a dual may be below zero, and its conditions off, in sizes of its multipliers.
_LOW, _LEFT = 1e-7, 1e-6

_HOW = {
    "extreme": "f ≥ {low:.1e} on the whole support and f = 0 where the pressure sits, and the "
    "motion is stationary: no small change of the pressure goes further; that none at all does is "
    "searched for, and proven with prove=",
    "kink": "about a corner, a foot or a place of an edge that bears load, {count} duals, each for "
    "some of the directions in which it may begin to move, are f ≥ {low:.1e} on the whole support: "
    "no small change of the pressure goes further; that none at all does is searched for, and "
    "proven with prove=",
    "line": "f ≥ {low:.1e} on the whole support, with w the one way to go on: beyond this motion "
    "the power of every pressure rises, so that none that moves like this goes further",
    "cone": "f ≥ {low:.1e} on the whole support: a pressure with this motion has its force at the "
    "edge of the cone of friction or outside, so that none that sticks goes on from here; that "
    "none slides further is searched for, and proven with prove=",
    "power": "f ≥ {low:.1e} on the whole support, w being this motion turned back: no pressure "
    "needs more, for it could move like this",
    "less": "f ≥ {low:.1e} on the whole support, w being this motion, and f = 0 where the pressure "
    "sits: no small change of the pressure needs less; {count} duals at motions all around leave "
    "none at all that needs less by more than {share:.1g} of it",
    "least": "the mean of |v(x)| is no less than |v| of the centre, and this pressure needs no "
    "more than the least of that",
    "vertex": "power is concave in the loads, and of all {count} pressures at the corners of their "
    "set this one takes least",
    "held": "constraints leave this one motion, whatever the pressure",
    "translation": "power falls neither way: a push through the centre translates the part under "
    "every pressure",
}  # fmt: skip
_SCOPE = {"line": "every pressure", "power": "every pressure"}
_NONE = ("not certified: the conditions of this end name no dual; bounded by programs at motions "
         "beyond it, all of which are positive; proven with prove=")  # fmt: skip


def certified(rest: Rest, mode: Mode, summit: Summit, functional: np.ndarray | None) -> Dual:
    """Return the dual of an end with what it is found to be, and what it proves."""
    ways, left = in_balance(mode, summit)
    kind = summit.kind
    if kind in ("line", "cone") and summit.named is not None and summit.own is not None:
        # The dual has a pressure of its own: in balance along the one way to go on, and at the end
        # of a cone with a force at its edge.
        before = replace(summit, twist=summit.own, points=summit.named[0], masses=summit.named[1])
        if kind == "line":
            ways, left = in_balance(replace(mode, cone=()), summit)
        left = max(left, in_balance(mode, before)[1])
    if kind in ("least", "vertex", "translation", "held"):
        words = _HOW[kind].format(count=summit.count)
        scope = "every pressure" if left <= _LEFT else ""
        return Dual(summit.affine, summit.witness, np.nan, left, mode.name, scope, words)
    dual = _judged(rest, mode, summit, ways, left, functional)
    if dual.scope or functional is None or left > _LEFT:
        return dual
    named = None
    if kind in ("", "extreme"):
        named = multiplied(rest, mode, summit, ways, functional)
    if named is not None:
        summit = replace(summit, affine=named[0], witness=named[1], kind="extreme")
        dual = _judged(rest, mode, summit, ways, left, functional)
        if dual.scope:
            return dual
    kink = kinked(rest, mode, summit.twist, functional)
    if kink is None:
        return dual
    duals, low = kink
    words = _HOW["kink"].format(low=low, count=len(duals))
    return Dual(np.zeros(3), np.zeros(3), low, left, mode.name, "small changes", words, duals)


def _judged(
    rest: Rest, mode: Mode, summit: Summit, ways: np.ndarray, left: float,
    functional: np.ndarray | None,
) -> Dual:  # fmt: skip
    """Return what the dual of an end is found to be."""
    affine, witness, kind = summit.affine, summit.witness, summit.kind
    size = max(float(np.abs(affine).max()), float(np.abs(witness).max()))
    if not kind or not size > 0:
        return Dual(affine, witness, np.nan, left, mode.name, "", _NONE)
    low = lowest_over(rest, summit.twist, witness, affine) / size
    # No load where f is not zero, nor where it is negative for another force on what rests.
    x, m = summit.points, summit.masses
    plain, push = affine[0] + x @ affine[1:], field(witness, x)
    f = (push * ways).sum(axis=1) + plain
    left = max(left, float(m @ np.abs(f)) / size)
    rests = at_rest(summit.twist, x) & (m > 0)
    if rests.any():
        low = min(low, float((plain - np.hypot(push[:, 0], push[:, 1]))[rests].min()) / size)
    if mode.guard is not None:
        # It slips to its side: the other edge of the cone gives the motion no less.
        left = max(left, -float(mode.guard @ summit.twist) / size)
    if kind == "extreme" and functional is not None:
        off = off_stationary(rest, mode, summit, ways, witness, affine, functional)
        left = max(left, off / size)
    words, good = (
        _HOW[kind].format(low=low, count=summit.count, share=summit.share),
        low >= -_LOW and left <= _LEFT,
    )
    if not good:
        words = (f"not certified: f is as low as {low:.1e}, and conditions are off by {left:.1e}; "
                 "bounded by a search")  # fmt: skip
    scope = _SCOPE.get(kind, "small changes") if good else ""
    if kind == "power" and good and (mode.cone or mode.guard is not None):
        words += ", and no force in the cone of the finger gives it more than it gives this motion"
    if kind == "less" and good and summit.share <= _LEFT:
        scope = "every pressure"
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
    rests = at_rest(twist, x)
    ways = _ways(twist, x, rests)
    left = max(abs(float(m.sum()) - 1), float(np.abs(m @ x).max()))
    rows = [mode.balance(w, twist) for w in mode.free.T]
    count = len(rows)
    rows = np.array([*rows, *mode.cone]).reshape(-1, 3)
    pull = rows @ wrench_of(x, m, ways)
    load = float(m[rests].sum())
    if not load > 0:
        off = np.concatenate([np.abs(pull[:count]), -pull[count:]])
        return ways, max(left, float(off.max(initial=0.0)))
    q = m[rests] @ x[rests] / load
    arms = rows[:, :2] + rows[:, 2:] * np.array([-q[1], q[0]])
    force = np.linalg.lstsq(arms[:count], -pull[:count], rcond=None)[0] if count else np.zeros(2)
    if count == 1 and len(rows) > 1:
        force = _within(arms, pull, force, load)
    after = pull + arms @ force
    off = np.concatenate([np.abs(after[:count]), -after[count:]])
    left = max(left, float(off.max(initial=0.0)), float(np.linalg.norm(force)) - load)
    ways[rests] = force / load
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


def _ways(twist: np.ndarray, x: np.ndarray, rests: np.ndarray) -> np.ndarray:
    """Return the directions in which points move, none for those that rest."""
    v = field(twist, x)
    speed = np.sqrt(v[:, 0] ** 2 + v[:, 1] ** 2)
    speed[rests] = np.inf
    return v / np.maximum(speed, 1e-300)[:, None]
