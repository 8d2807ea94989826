"""The law of one step of time stepping: contact and Coulomb friction of velocities and impulses.

An active set finds it: what is open, sticks or slides is guessed (as in the step before), the
velocities and impulses of that guess follow from one sparse linear system, and what disagrees with
them changes: Newton's method for the law written with projections (P. Alart & A. Curnier, Comput.
Methods Appl. Mech. Engrg. 92 (1991) 353). Where disagreements do not become fewer, one changes at a
time (J. J. Júdice & F. M. Pires, Comput. Oper. Res. 21 (1994) 587). Where that takes too long,
`cones` decides.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from stationary.solve.touch.cones import Programs

OPEN, STICK, SLIDE = 0, 1, 2

# Guesses before the active set is given up, of few contacts and of many, and how many in a row may
# disagree no less; the same of rounds of cone programs. Of 1000 discs a guess takes 4 ms, a cone
# program 45 ms.
_GUESSES, _TRIES, _PATIENCE = 150, 12, 8

# Guesses after a cone program, which shows the set unless forces are not unique.
_POLISH = 4

# Rounds in which speeds of slip and impulses of contacts find each other, and by what of velocities
# the law may then be missed: programs are solved a little better than that. Of many contacts it is
# enough that it is small beside the error of a step.
_ROUNDS, _AGREE, _ENOUGH = 40, 1e-9, 1e-3

# How much rows give way, relative to what they answer to an impulse: those that say the same share.
_GIVE = 1e-9

# Impulses and rates that are rounding, of what they are summed from.
_ROUNDING = 1e-11

# Turns of directions in the plane by which they have come to rest.
_TURNED = 1e-10


@dataclass(frozen=True, eq=False)
class Law:
    """The question: min ½ (v − free)ᵀ M (v − free) with these rows; matrices dense or sparse.

    `fixed` rows keep C v + c = 0. Contacts are normal rows with u = C v + c ≥ 0, each with its
    tangential rows and a coefficient of friction. Rubs have tangential rows and the impulse up to
    which they stick.
    """

    M: Any
    free: np.ndarray
    C: Any
    c: np.ndarray
    fixed: int
    normal: np.ndarray
    #: For every unit its first tangential row, how many, its place in `normal` or −1, coefficient
    #: or impulse.
    first: np.ndarray
    width: np.ndarray
    owner: np.ndarray
    rough: np.ndarray


@dataclass
class Guess:
    """What contacts and rubs do, and along what they slide, by row."""

    closed: np.ndarray
    does: np.ndarray
    along: np.ndarray = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True, eq=False)
class Found:
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


def solved(law: Law, guess: Guess, last: np.ndarray, hard: bool = False) -> Found:
    """Return what satisfies a law; `last` are the impulses of the law before, which may do as well.

    Of a law that is said to be `hard` the set is looked for only after a cone program.
    """
    weights, unit = _answers(law), _tangential(law)
    if not hard:
        tries = _GUESSES if isinstance(law.C, np.ndarray) else _TRIES
        found = _searched(law, guess, weights, unit, tries)
        if found is not None:
            return Found(*found, True)
    v = law.free + divided(law.M, law.C.T @ last)
    left = _left(law, v, last, weights)
    if hard and left <= _AGREE:
        return _told(law, v, last, weights, left)
    return _judged(law, guess, v, weights, unit)


def _judged(law: Law, guess: Guess, v: np.ndarray, weights: np.ndarray, unit: np.ndarray) -> Found:
    """Return what cone programs find, to begin with from speeds of slip that v has."""
    few = isinstance(law.C, np.ndarray)
    programs, z, left = Programs(law, guess.closed), np.zeros(len(law.c)), np.inf
    best, patience = np.inf, _PATIENCE if few else _PATIENCE // 2
    for _ in range(_ROUNDS):
        v, z = programs.after(v)
        left = _left(law, v, z, weights)
        if not programs.several:
            break
        found = _searched(law, _read(law, v, z, weights), weights, unit, _POLISH)
        if found is not None:
            return Found(*found, True)
        best, patience = (left, patience) if left < best / 2 else (best, patience - 1)
        if left <= (_AGREE if few else _ENOUGH) or not patience:
            break
    if programs.several and left > _ENOUGH:
        # What slides opens its gap a little, and the next step closes it: no gap is negative.
        v, z = programs.after(None)
        return replace(_told(law, v, z, weights, 0.0), convex=True)
    return _told(law, v, z, weights, left)


def _told(law: Law, v: np.ndarray, z: np.ndarray, weights: np.ndarray, left: float) -> Found:
    """Return what was found, without the traces of impulses where contacts are open."""
    shown, z = _read(law, v, z, weights), z.copy()
    z[law.normal[~shown.closed]] = 0.0
    rows, unit = _slips(law)
    apart = (law.owner >= 0) & (~shown.closed[law.owner] if len(law.normal) else False)
    z[rows[apart[unit]]] = 0.0
    return Found(v, z, shown, False, left)


def divided(M: Any, force: np.ndarray) -> np.ndarray:
    """Return M⁻¹ force."""
    if isinstance(M, np.ndarray):
        return np.linalg.solve(M, force)
    diagonal = M.diagonal()
    return force / diagonal if M.nnz == np.count_nonzero(diagonal) else splu(M.tocsc()).solve(force)


def _slips(law: Law) -> tuple[np.ndarray, np.ndarray]:
    """Return the tangential rows of all units, one unit after the other, and the unit of each."""
    unit = np.repeat(np.arange(len(law.first)), law.width)
    first = law.first - np.cumsum(law.width) + law.width
    return np.repeat(first, law.width) + np.arange(len(unit)), unit


def _left(law: Law, v: np.ndarray, z: np.ndarray, weights: np.ndarray) -> float:
    """Return by how much the law is missed, of its velocities: what projections take back."""
    rates, n = law.C @ v, law.normal
    # What is far away may close at any rate, which says nothing of velocities.
    size = np.abs(rates).max(initial=0.0) + np.abs(law.C @ law.free).max(initial=0.0)
    u = rates + law.c
    if not size > 0:
        return 0.0
    w = np.maximum(weights, 1e-300)
    off = np.abs(u)
    off[n] = np.abs(np.minimum(u[n], w[n] * z[n]))
    rows, unit = _slips(law)
    if len(rows):
        pushes = np.where(law.owner >= 0, z[n[law.owner]] if len(n) else 0.0, 1.0)
        aim = z[rows] - u[rows] / w[law.first][unit]
        wide = np.sqrt(np.bincount(unit, aim**2, len(law.first)))
        part = np.minimum(law.rough * np.maximum(pushes, 0.0) / np.maximum(wide, 1e-300), 1.0)
        off[rows] = w[law.first][unit] * np.abs(z[rows] - part[unit] * aim)
    return float(off.max()) / float(size)


def _searched(
    law: Law, guess: Guess, weights: np.ndarray, unit: np.ndarray, tries: int
) -> tuple[np.ndarray, np.ndarray, Guess] | None:
    """Return velocities, impulses and the set, if it is found in so many tries."""
    fewest, patience = len(law.c) + 1, _PATIENCE
    for _ in range(tries):
        v, z = _of(law, guess, weights)
        new = _shown(law, guess, law.C @ v + law.c, z, weights)
        shut, other = new.closed != guess.closed, new.does != guess.does
        count = int(shut.sum() + other.sum())
        rows = unit >= 0
        rows[rows] = new.does[unit[rows]] == SLIDE
        if not count and np.abs(new.along - guess.along)[rows].max(initial=0.0) <= _TURNED:
            return v, z, new
        if count < fewest:
            fewest, patience = count, _PATIENCE
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
    (rows, unit), own = _slips(law), law.owner >= 0
    force = np.sqrt(np.bincount(unit, z[rows] ** 2, len(does)))
    speed = np.sqrt(np.bincount(unit, u[rows] ** 2, len(does)))
    push = np.where(own, z[law.normal[law.owner]] if len(law.normal) else 0.0, 1.0)
    does[(law.rough * push - force) * weights[law.first] < speed] = SLIDE
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


def _answers(law: Law) -> np.ndarray:
    """Return how fast each row answers to a unit impulse, about."""
    squares = law.C**2 if isinstance(law.C, np.ndarray) else law.C.multiply(law.C)
    return np.asarray(squares @ (1 / law.M.diagonal())).ravel()


def _of(law: Law, guess: Guess, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return velocities and impulses of a guess."""
    n, count = len(law.free), len(law.c)
    held = np.zeros(count, dtype=bool)
    held[: law.fixed] = True
    held[law.normal[guess.closed]] = True
    at_contact = law.owner >= 0
    shut = np.where(at_contact, guess.closed[law.owner] if len(guess.closed) else False, True)
    sticks = np.flatnonzero((guess.does == STICK) & shut)
    slides = np.flatnonzero((guess.does == SLIDE) & shut)
    for k in range(int(law.width.max(initial=0))):
        some = sticks[law.width[sticks] > k]
        held[law.first[some] + k] = True
    # What slides has the impulse of its contact, or a given one: z = D z_held + given.
    given = np.zeros(count)
    i, j, x = [], [], []
    for k in range(int(law.width.max(initial=0))):
        some = slides[law.width[slides] > k]
        rows = law.first[some] + k
        own = law.owner[some] >= 0
        given[rows[~own]] = -law.rough[some[~own]] * guess.along[rows[~own]]
        i.append(rows[own])
        j.append(law.normal[law.owner[some[own]]])
        x.append(-law.rough[some[own]] * guess.along[rows[own]])
    rows = np.flatnonzero(held)
    if not len(rows) and not given.any():
        return law.free, given
    force = law.M @ law.free + law.C.T @ given
    give = _GIVE * weights[rows]
    C = law.C[rows]
    if isinstance(law.C, np.ndarray):
        push = law.C[rows].T.copy()
        for slips, owners, factors in zip(i, j, x):
            np.add.at(push.T, np.searchsorted(rows, owners), factors[:, None] * law.C[slips])
        answers = np.linalg.solve(law.M, np.column_stack([law.C.T @ given, push]))
        free = law.free + answers[:, 0]
        K = C @ answers[:, 1:] + np.diag(give)
        z = np.linalg.solve(K, -(C @ free + law.c[rows]))
        v = free + answers[:, 1:] @ z
    else:
        D = sparse.identity(count, format="csr")
        if i:
            D = (
                D
                + sparse.coo_matrix(
                    (np.concatenate(x), (np.concatenate(i), np.concatenate(j))),
                    shape=(count, count),
                ).tocsr()
            )
        push = (law.C.T @ D[:, rows]).tocsc()
        K = sparse.bmat([[law.M, -push], [C, sparse.diags(give)]], format="csc")
        both = splu(K).solve(np.concatenate([force, -law.c[rows]]))
        v, z = both[:n], both[n:]
    made = given.copy()
    made[rows] += z
    made += _carried(i, j, x, made)
    return v, made


def _carried(i: list, j: list, x: list, z: np.ndarray) -> np.ndarray:
    """Return the impulses of what slides, from those of its contacts."""
    made = np.zeros(len(z))
    for rows, owners, factors in zip(i, j, x):
        made[rows] = factors * z[owners]
    return made


def _shown(law: Law, guess: Guess, u: np.ndarray, z: np.ndarray, weights: np.ndarray) -> Guess:
    """Return what velocities and impulses say that contacts and rubs do."""
    size = np.abs(u).max(initial=0.0) + np.abs(law.c).max(initial=0.0)
    slow = _ROUNDING * size
    weak = slow / np.maximum(weights, 1e-300)
    n = law.normal
    closed = np.where(guess.closed, z[n] >= -weak[n], u[n] < -slow)
    does, along = guess.does.copy(), np.zeros(len(law.c))
    if not len(does):
        return Guess(closed, does, along)
    own = law.owner >= 0
    shut = np.where(own, closed[law.owner] if len(closed) else False, True)
    was = np.where(own, guess.closed[law.owner] if len(closed) else False, True)
    limit = np.where(
        own, law.rough * np.maximum(z[n[law.owner]] if len(n) else 0.0, 0.0), law.rough
    )
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
    does[law.rough <= 0] = SLIDE
    for k in range(int(law.width.max())):
        some = np.flatnonzero((law.width > k) & (does == SLIDE))
        rows = law.first[some] + k
        fresh = breaks[some]
        along[rows[fresh]] = -z[rows[fresh]] / np.maximum(force[some[fresh]], 1e-300)
        old, kept = rows[~fresh], some[~fresh]
        turns = (law.width[kept] > 1) & (speed[kept] > slow)
        along[old] = np.where(turns, u[old] / np.maximum(speed[kept], 1e-300), guess.along[old])
    return Guess(closed, does, along)
