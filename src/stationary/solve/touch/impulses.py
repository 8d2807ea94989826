"""The law of one step of time stepping: contact and Coulomb friction of velocities and impulses.

An active set finds it: what is open, sticks or slides is guessed (as in the step before), the
velocities and impulses of that guess follow from one sparse linear system, and what disagrees with
them changes: Newton's method for the law written with projections (P. Alart & A. Curnier, Comput.
Methods Appl. Mech. Engrg. 92 (1991) 353). Where disagreements do not become fewer, one changes at a
time (J. J. Júdice & F. M. Pires, Comput. Oper. Res. 21 (1994) 587). Where that takes too long
Newton's steps are made shorter and rows give way (`proximal`); where that ends nowhere, `cones`
decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stationary.solve.touch.cones import Programs
from stationary.solve.touch.proximal import followed
from stationary.solve.touch.step_law import (
    GIVE,
    SLIDE,
    STICK,
    Guess,
    Law,
    answers,
    divided,
    missed,
    of_guess,
    slips_of,
    speed_of,
)

# Guesses before the active set is given up, of few rows and of many, and how many in a row may
# disagree no less; the same of rounds of cone programs. Of 1000 discs a guess takes 4 ms, a cone
# program 45 ms.
_FEW, _GUESSES, _TRIES, _PATIENCE = 200, 150, 12, 8

# Impulses that are not unique, as those of discs that lie on each other, stay near known ones:
# rows give way by this times what these change, where known ones are those of the last step, and of
# a program that is solved to so much. Of more than this part of all rows that change at first a
# program tells sooner; and how often points are taken that are nearer by.
_KEPT, _POLISHED, _ROUGHLY = 1e-6, 1e-4, 1e-6
_CHANGED, _POINTS = 0.02, 4

# Guesses after a cone program, which shows the set unless forces are not unique: then one.
_POLISH = 4

# Rounds in which speeds of slip and impulses of contacts find each other, and by what of velocities
# the law may then be missed: programs are solved a little better than that. Where it is missed by
# more than the last, what slides opens its gap.
_ROUNDS, _AGREE, _ENOUGH = 40, 1e-9, 1e-3

# By what the law may be missed near known impulses, and where no nearer ones are found.
_CLOSELY, _NEARLY = 1e-7, 1e-6

# Impulses and rates that are rounding, of what they are summed from.
_ROUNDING = 1e-11

# Sets are told apart to this part of what rows give way.
_TOLD_APART = 1e-3

# Turns of directions in the plane by which they have come to rest.
_TURNED = 1e-10


@dataclass(frozen=True, eq=False)
class StepAnswer:
    """Velocities, impulses of all rows, and what they show.

    `exact` says whether a set was found, `left` by how much of velocities they miss the law, and
    `convex` that it is the convex law in which what slides opens its gap.
    """

    v: np.ndarray
    z: np.ndarray
    shown: Guess
    exact: bool
    left: float = 0.0
    convex: bool = False


def solved(law: Law, guess: Guess, last: np.ndarray, hard: bool = False) -> StepAnswer:
    """Return what satisfies a law; `last` are the impulses of the law before, near which it may be.

    Of a law that is said to be `hard` the set is not searched for by guesses.
    """
    weights, unit = answers(law), _tangential(law)
    if not hard:
        tries = _GUESSES if len(law.c) <= _FEW else _TRIES
        met = _searched(law, guess, weights, unit, tries)
        if met is not None:
            return StepAnswer(*met, True, missed(law, *met[:2], weights))
    v = law.free + divided(law.M, law.C.T @ last)
    met = _kept(law, guess, last, weights, unit) if len(law.c) > _FEW else None
    # Where no friction follows the force of a contact the law is one convex program.
    if met is None:
        met = _followed(law, last, weights) if law.coupled else _roughly(law, guess, weights, unit)
    return _judged(law, guess, v, weights, unit, 1 if hard else _POLISH) if met is None else met


def _kept(
    law: Law, guess: Guess, z: np.ndarray, weights: np.ndarray, unit: np.ndarray,
    give: float = _KEPT,
) -> StepAnswer | None:  # fmt: skip
    """Return what is found near known impulses: proximal points, each by guesses."""
    few, best = int(_CHANGED * len(law.c)) if give == _KEPT else len(law.c), None
    for _ in range(_POINTS):
        met = _searched(law, guess, weights, unit, _TRIES, give, z, few)
        if met is None:
            break
        (v, z, guess), give = met, give / 10
        best = StepAnswer(v, z, guess, False, missed(law, v, z, weights))
        if best.left <= _CLOSELY:
            return best
    return best if best is not None and best.left <= _NEARLY else None


def _roughly(law: Law, guess: Guess, weights: np.ndarray, unit: np.ndarray) -> StepAnswer | None:
    """Return what is found near the impulses of a cone program that is solved roughly."""
    if len(law.c) <= _FEW:
        return None
    v, z = Programs(law, guess.closed, _ROUGHLY).after(law.free)
    z[law.normal] = np.maximum(z[law.normal], 0.0)
    return _kept(law, _read(law, v, z, weights), z, weights, unit, _POLISHED)


def _followed(law: Law, z: np.ndarray, weights: np.ndarray) -> StepAnswer | None:
    """Return what Newton's steps find from impulses."""
    v = law.free + divided(law.M, law.C.T @ z)
    met = followed(law, v, z, weights, _AGREE * speed_of(law, v))
    return None if met is None else StepAnswer(*met, False, missed(law, *met[:2], weights))


def _judged(
    law: Law, guess: Guess, v: np.ndarray, weights: np.ndarray, unit: np.ndarray, polish: int
) -> StepAnswer:
    """Return what cone programs find, to begin with from speeds of slip that v has."""
    programs, z, left = Programs(law, guess.closed), np.zeros(len(law.c)), np.inf
    best, patience = np.inf, _PATIENCE
    for _ in range(_ROUNDS):
        v, z = programs.after(v)
        left = missed(law, v, z, weights)
        met = _searched(law, _read(law, v, z, weights), weights, unit, polish)
        if met is not None:
            return StepAnswer(*met, True, missed(law, *met[:2], weights))
        if not law.coupled or left <= _AGREE:
            break
        close = _followed(law, z, weights)
        if close is not None:
            return close
        best, patience = (left, patience) if left < best / 2 else (best, patience - 1)
        if not patience:
            break
    if law.coupled and left > _ENOUGH:
        # What slides opens its gap a little, and the next step closes it: no gap is negative.
        v, z = programs.after(None)
        return replace(_answered(law, v, z, weights), convex=True)
    return _answered(law, v, z, weights)


def _answered(law: Law, v: np.ndarray, z: np.ndarray, weights: np.ndarray) -> StepAnswer:
    """Return what programs say, without the traces of impulses where contacts are open.

    Velocities follow from impulses: no momentum is lost where a program is not quite solved.
    """
    shown, z = _read(law, v, z, weights), z.copy()
    z[law.normal[~shown.closed]] = 0.0
    rows, unit = slips_of(law)
    apart = (law.owner >= 0) & (~shown.closed[law.owner] if len(law.normal) else False)
    z[rows[apart[unit]]] = 0.0
    v = law.free + divided(law.M, law.C.T @ z)
    return StepAnswer(v, z, shown, False, missed(law, v, z, weights))


def _searched(
    law: Law, guess: Guess, weights: np.ndarray, unit: np.ndarray, tries: int,
    give: float = GIVE, near: np.ndarray | float = 0.0, few: int | None = None,
) -> tuple[np.ndarray, np.ndarray, Guess] | None:  # fmt: skip
    """Return velocities, impulses and the set, if it is found in so many tries.

    Rows give way to what impulses change beside those that are `near`; where no more than a `few`
    may disagree, they have to become fewer, too.
    """
    fewest, patience = len(law.c) + 1, _PATIENCE if few is None else _PATIENCE // 3
    for _ in range(tries):
        try:
            v, z = of_guess(law, guess, give * weights, law.c - give * weights * near)
        except np.linalg.LinAlgError:
            return None
        u = law.C @ v + law.c
        if few is not None:
            u += give * weights * (z - near)
        new = _shown(law, guess, u, z, weights, max(_ROUNDING, _TOLD_APART * give))
        shut, other = new.closed != guess.closed, new.does != guess.does
        count = int(shut.sum() + other.sum())
        rows = unit >= 0
        rows[rows] = new.does[unit[rows]] == SLIDE
        if not count and np.abs(new.along - guess.along)[rows].max(initial=0.0) <= _TURNED:
            return v, z, new
        if few is not None and (count > few or not patience):
            return None
        if count < fewest:
            fewest, patience = count, _PATIENCE if few is None else _PATIENCE // 3
        elif patience:
            patience -= 1
        elif count:
            new = _one(law, guess, new, shut, other)
        guess = new
    return None


def _read(law: Law, v: np.ndarray, z: np.ndarray, weights: np.ndarray) -> Guess:
    """Return what velocities and impulses that are not exact say: the larger of both decides."""
    u = law.C @ v + law.c
    closed = weights[law.normal] * z[law.normal] > u[law.normal]
    does, along = np.full(len(law.first), STICK), np.zeros(len(law.c))
    if not len(does):
        return Guess(closed, does, along)
    (rows, unit), own = slips_of(law), law.owner >= 0
    force = np.sqrt(np.bincount(unit, z[rows] ** 2, len(does)))
    speed = np.sqrt(np.bincount(unit, u[rows] ** 2, len(does)))
    push = np.where(own, z[law.normal[law.owner]] if len(law.normal) else 0.0, 1.0)
    does[(law.grip * push - force) * weights[law.first] < speed] = SLIDE
    along[rows] = u[rows] / np.maximum(speed, 1e-300)[unit]
    return Guess(closed, does, along)


def _one(law: Law, guess: Guess, new: Guess, shut: np.ndarray, other: np.ndarray) -> Guess:
    """Return a guess in which only the last that disagrees has changed."""
    closed, does, along = guess.closed.copy(), guess.does.copy(), guess.along.copy()
    if shut.any():
        k = int(np.flatnonzero(shut)[-1])
        closed[k] = new.closed[k]
        units = np.flatnonzero(law.owner == k)
    else:
        units = np.flatnonzero(other)[-1:]
    does[units] = new.does[units]
    for k in units:
        rows = slice(law.first[k], law.first[k] + law.width[k])
        along[rows] = new.along[rows]
    return Guess(closed, does, along)


def _tangential(law: Law) -> np.ndarray:
    """Return the unit of each row, −1 for rows that are no slips."""
    unit = np.full(len(law.c), -1)
    for k in range(int(law.width.max(initial=0))):
        has = np.flatnonzero(law.width > k)
        unit[law.first[has] + k] = has
    return unit


def _shown(
    law: Law, guess: Guess, u: np.ndarray, z: np.ndarray, weights: np.ndarray, rounding: float
) -> Guess:
    """Return what velocities and impulses say that contacts and rubs do."""
    size = np.abs(u).max(initial=0.0) + np.abs(law.c).max(initial=0.0)
    slow = rounding * size
    weak = slow / np.maximum(weights, 1e-300)
    n = law.normal
    closed = np.where(guess.closed, z[n] >= -weak[n], u[n] < -slow)
    does, along = guess.does.copy(), np.zeros(len(law.c))
    if not len(does):
        return Guess(closed, does, along)
    own = law.owner >= 0
    shut = np.where(own, closed[law.owner] if len(closed) else False, True)
    was = np.where(own, guess.closed[law.owner] if len(closed) else False, True)
    limit = np.where(own, law.grip * np.maximum(z[n[law.owner]] if len(n) else 0.0, 0.0), law.grip)
    force, speed, forward = np.zeros(len(does)), np.zeros(len(does)), np.zeros(len(does))
    for k in range(int(law.width.max())):
        some = np.flatnonzero(law.width > k)
        rows = law.first[some] + k
        force[some] += z[rows] ** 2
        speed[some] += u[rows] ** 2
        forward[some] += u[rows] * guess.along[rows]
    force, speed = np.sqrt(force), np.sqrt(speed)
    room = weak[law.first]
    breaks = (guess.does == STICK) & was & (force > limit + room)
    stops = (guess.does == SLIDE) & was & (forward < -slow)
    does[breaks] = SLIDE
    does[stops] = STICK
    # What has just closed sticks until it is seen to slide; what is smooth slides whatever happens.
    does[shut & ~was] = STICK
    does[law.grip <= 0] = SLIDE
    for k in range(int(law.width.max())):
        some = np.flatnonzero((law.width > k) & (does == SLIDE))
        rows = law.first[some] + k
        fresh = breaks[some]
        along[rows[fresh]] = -z[rows[fresh]] / np.maximum(force[some[fresh]], 1e-300)
        old, kept = rows[~fresh], some[~fresh]
        turns = (law.width[kept] > 1) & (speed[kept] > slow)
        along[old] = np.where(turns, u[old] / np.maximum(speed[kept], 1e-300), guess.along[old])
    return Guess(closed, does, along)
