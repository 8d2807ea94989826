"""Modes: what is closed, what sticks and what slides which way; and how the next one is found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from stationary.derive.touch import Touch
from stationary.solve.touch.at_state import Facts
from stationary.solve.touch.laws import FREE, Answer, Choice, Law, Unit

# Refinements of velocities after an impact.
_REFINED = 2

# What stops a series may leave this part of its last rates, where rows nearly depend on each other.
_LEFT = 1e-2

# Of several ends of a series of impacts, the one with most at rest.
_REST = ("stick", "closed")


class Undecided(Exception):
    """Raised where no mode, or several, satisfy the laws."""

    def __init__(
        self, kind: str, modes: tuple[str, ...], t: float, impact: bool, blurred: float = 0.0,
        walls: tuple[str, ...] = (),
    ):  # fmt: skip
        self.kind, self.modes, self.t, self.impact = kind, modes, t, impact
        #: The contacts that leave no room then.
        self.walls = walls
        #: How little of each other rows leave free, where that is too little to tell them apart.
        self.blurred = blurred


@dataclass(frozen=True, eq=False)
class Mode:
    """What is closed, what sticks, along what the rest slides, where what sticks is held.

    Where forces are not unique, rows that say nothing new are not `held`: they have a `share` of
    the forces that is within the limits.
    """

    closed: np.ndarray
    sticks: np.ndarray
    along: np.ndarray
    anchor: np.ndarray
    held: np.ndarray
    share: np.ndarray
    redundant: bool = False

    @property
    def key(self) -> bytes:
        """What tells modes apart."""
        return self.closed.tobytes() + self.sticks.tobytes() + self.along.tobytes()

    @property
    def free(self) -> bool:
        """Whether nothing touches and nothing rubs."""
        return not (self.closed.any() or self.sticks.any() or self.along.any())

    def vector(self, alpha: float) -> np.ndarray:
        """Return the entries of the mode in the vector p."""
        parts = [self.closed, self.sticks, self.along, self.anchor, self.held, self.share]
        return np.concatenate([[alpha], *parts])

    @classmethod
    def nothing(cls, touch: Touch) -> Mode:
        """Return the mode in which nothing touches."""
        rubs, dry = len(touch.rubs), len(touch.dry)
        rows = touch.gaps + dry
        sizes = (touch.gaps, rubs, dry, dry, rows, rows)
        closed, sticks, along, anchor, held, share = map(np.zeros, sizes)
        return cls(closed, sticks, along, anchor, held, share)


@dataclass(frozen=True)
class Barred:
    """What the next mode shall not be: contacts not closed again, rubs not sticking again."""

    closed: frozenset[int] = frozenset()
    sticks: frozenset[int] = frozenset()
    #: Along what each of these begins to slide: against the force that held it.
    ways: dict[int, tuple[float, ...]] = field(default_factory=dict)
    #: What is rounding of accelerations besides, of what they are summed from.
    rounding: float = 0.0

    def away(self, j: int, width: int) -> tuple[Choice, ...]:
        """Return the directions into which something at rest may break away."""
        if j in self.ways and width > 1:
            return (Choice("slide", self.ways[j]),)
        return _ways(width)


def next_mode(
    facts: Facts, before: Mode, near: Iterable[int], rests: np.ndarray, barred: Barred,
    prefer: tuple[str, ...], same: bool = False,
) -> tuple[Mode, Answer]:  # fmt: skip
    """Return the mode in which a state goes on, and its accelerations and forces.

    `near` are the contacts that have no gap and no rate; `rests` says which rubs have no rate. If
    it is to be the `same` as before, only forces are looked for.
    """
    touch, near = facts.touch, set(near)
    if not near and not touch.rubs and not facts.fixed:
        z = np.zeros(len(facts.rate))
        return Mode.nothing(touch), Answer((), z, facts.pulled, False)
    slips = facts.fixed + touch.gaps
    units, which = [], []
    at_gap = {rub.gap: j for j, rub in enumerate(touch.rubs) if rub.gap is not None}
    for i in sorted(near):
        units.append(_contact(facts, i, at_gap.get(i), slips, rests, barred))
        which.append((i, at_gap.get(i)))
    for j, rub in enumerate(touch.rubs):
        if rub.gap is None:
            units.append(_rub(facts, j, slips, rests, barred))
            which.append((None, j))
    sizes = facts.sums.copy()
    for unit in units:
        if unit.gap is None:
            # What friction may do is a size as well: nothing else may push.
            sizes += np.abs(facts.W[:, list(unit.slips)]).max(axis=1) * unit.rest
    law = Law(
        facts.W,
        facts.pulled,
        sizes,
        facts.fixed,
        tuple(units),
        lambda z: barred.rounding * facts.sums + facts.pull_rounding(z),
    )
    if same:
        answer = law.tried(tuple(_as(before, touch, *x) for x in zip(units, which)))
        if answer is None:
            raise Undecided("none", (), facts.t, False)
    else:
        answer = _chosen(law, tuple(_usual(u) for u in units), prefer, facts.t, False)
    closed = np.zeros(touch.gaps)
    sticks, along = np.zeros(len(touch.rubs)), np.zeros(len(touch.dry))
    for (i, j), unit, choice in zip(which, units, answer.choices):
        if i is not None and choice.kind != "open":
            closed[i] = 1.0
        if j is None:
            continue
        entries = list(touch.rubs[j].entries)
        if choice.kind == "stick":
            sticks[j] = 1.0
        elif choice.kind == "slide":
            assert choice.along is not None
            along[entries] = choice.along
    anchor = np.where(np.repeat(before.sticks * sticks, _widths(touch)) > 0, before.anchor,
                      facts.value[facts.slips])  # fmt: skip
    for j, rub in enumerate(touch.rubs):
        if len(rub.entries) > 1 and not sticks[j]:
            # What begins to slide keeps its direction until it has a rate.
            anchor[list(rub.entries)] = float(rests[j] and np.any(along[list(rub.entries)]))
    held = np.concatenate([closed, np.repeat(sticks, _widths(touch))])
    share = np.zeros(len(held))
    if answer.redundant:
        kept = _independent(facts, held)
        # Forces that were chosen are kept as long as they do.
        share = answer.z[facts.fixed :] * (held - kept)
        held = kept
    return Mode(closed, sticks, along, anchor, held, share, answer.redundant), answer


def held_at_rest(facts: Facts, mode: Mode, rubs: list[int], prefer: tuple[str, ...]) -> np.ndarray:
    """Tell which rubs would stick, were these at rest."""
    rests, near = mode.sticks > 0, np.flatnonzero(mode.closed)
    rests[rubs] = True
    try:
        return next_mode(facts, mode, near, rests, Barred(), prefer)[0].sticks > 0
    except Undecided:
        return np.zeros(len(rests), dtype=bool)


def _independent(facts: Facts, held: np.ndarray) -> np.ndarray:
    """Return which of the held rows say something new, each after those before it."""
    new, kept = np.zeros(len(held)), list(range(facts.fixed))
    for k in np.flatnonzero(held):
        row = facts.fixed + int(k)
        left = facts.W[row, row]
        if kept:
            across = facts.W[kept, row]
            left -= across @ facts.stopping(kept, across)
        if left > FREE * facts.W[row, row]:
            kept.append(row)
            new[k] = 1.0
    return new


def after_impact(
    facts: Facts, near: Iterable[int], prefer: tuple[str, ...],
    ended: frozenset[int] = frozenset(), rebounds: bool = True,
) -> tuple[np.ndarray, np.ndarray, bool]:  # fmt: skip
    """Return the velocities after an impact, the impulses of all rows, and whether no others do.

    Newton's law of restitution with Coulomb's law for the impulses, all contacts at once: of every
    contact that pushes the rate after is −e times that before; one that would part faster is free.

    Where a series of impacts at the contacts `ended` is over, what is left of it is one impact
    without rebound after which they are closed. Nothing `rebounds` in the limit of impacts that
    follow each other at once, where contacts catch what bounces between them.
    """
    near = sorted(near)
    touch, e = facts.touch, facts.restitution * (rebounds and not ended)
    if len(near) == 1 and not facts.fixed and not touch.rubs and not ended:
        # One smooth contact that closes: nothing is to be chosen.
        row, z = near[0], np.zeros(len(facts.rate))
        z[row] = -(1 + e[row]) * facts.rate[row] / facts.W[row, row]
        return facts.v + facts.answers[:, row] * z[row], z, True
    slips = facts.fixed + touch.gaps
    at_gap = {rub.gap: j for j, rub in enumerate(touch.rubs) if rub.gap is not None}
    units = []
    w0, shift = facts.rate.copy(), np.zeros(len(facts.rate))
    for i in near:
        j = at_gap.get(i)
        row = facts.fixed + i
        shift[row] = e[i] * min(facts.rate[row], 0.0)
        parts = () if i in ended else (Choice("open"),)
        if j is None or facts.moving[touch.rubs[j].entries[0]] == 0:
            choices = (Choice("closed"), *parts)
            units.append(Unit(touch.names[i], row, (), 0.0, 0.0, choices, False))
            continue
        rub = touch.rubs[j]
        rows = tuple(slips + k for k in rub.entries)
        mu = float(facts.moving[rub.entries[0]])
        choices = (Choice("stick"), *_ways(len(rows)), *parts)
        units.append(Unit(touch.names[i], row, rows, mu, mu, choices, False))
    sizes = np.abs(facts.C) @ np.abs(facts.v) + np.abs(facts.drive)
    law = Law(facts.W, w0 + shift, sizes, facts.fixed, tuple(units), lambda _: facts.rate_rounding)
    answer = _chosen(law, tuple(_usual(u) for u in units), prefer, facts.t, True)
    v, z = facts.v + facts.answers @ answer.z, answer.z
    held = [*range(facts.fixed)]
    for unit, choice in zip(units, answer.choices):
        if unit.gap is not None and choice.kind != "open":
            held += [unit.gap, *(unit.slips if choice.kind == "stick" else ())]
    # What light parts leave in W is large: once more with what is left of the rates.
    for _ in range(_REFINED if held and not answer.redundant else 0):
        left = (facts.C @ v + facts.drive + shift)[held]
        v = v - facts.answers[:, held] @ facts.stopping(held, left)
    return v, z, answer.proven


def brought_to_rest(
    facts: Facts, near: Iterable[int], ended: frozenset[int]
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return velocities without what is left of a series of impacts, and as after an impact.

    Contacts that touch while others of the series bounce share in it. Where one impact cannot do
    what the series does, all of them are stopped, with what slips there no faster than they close.
    """
    try:
        return after_impact(facts, near, _REST, ended)
    except Undecided:
        touch, rows = facts.touch, list(range(facts.fixed))
        gaps = [facts.fixed + i for i in near]
        last = max(abs(facts.rate[facts.fixed + i]) for i in ended)
        for i in sorted(near):
            rows.append(facts.fixed + i)
            for rub in touch.rubs:
                slips = [facts.fixed + touch.gaps + k for k in rub.entries]
                if rub.gap == i and np.linalg.norm(facts.rate[slips]) <= last:
                    rows += slips
        z = np.zeros(len(facts.rate))
        z[rows] = -facts.stopping(rows, facts.rate[rows])
        v = facts.v + facts.answers @ z
        if np.any((facts.C @ v + facts.drive)[gaps] < -_LEFT * last):
            # Walls that go on closing leave no room for what bounces between them.
            raise
        return v, z, True


def _widths(touch: Touch) -> list[int]:
    return [len(rub.entries) for rub in touch.rubs]


def _ways(width: int) -> tuple[Choice, ...]:
    """Return the directions into which something at rest may break away."""
    if width == 1:
        return Choice("slide", (1.0,)), Choice("slide", (-1.0,))
    return (Choice("slide"),)


def _direction(facts: Facts, j: int) -> tuple[float, ...]:
    rates = facts.rate[facts.slips][list(facts.touch.rubs[j].entries)]
    return tuple((rates / np.linalg.norm(rates)).tolist())


def _contact(
    facts: Facts, i: int, j: int | None, slips: int, rests: np.ndarray, barred: Barred
) -> Unit:
    row, name = facts.fixed + i, facts.touch.names[i]
    away = () if i in barred.closed else (Choice("closed"),)
    if j is None or facts.moving[facts.touch.rubs[j].entries[0]] == 0:
        choices = (*away, Choice("open"))
        return Unit(name, row, (), 0.0, 0.0, choices, False)
    rub = facts.touch.rubs[j]
    rows = tuple(slips + k for k in rub.entries)
    mu = float(facts.moving[rub.entries[0]])
    if not away:
        return Unit(name, row, rows, mu, mu, (Choice("open"),), False)
    if not rests[j]:
        choices = (Choice("slide", _direction(facts, j)), Choice("open"))
        return Unit(name, row, rows, mu, mu, choices, True)
    stay = () if j in barred.sticks else (Choice("stick"),)
    return Unit(name, row, rows, mu, mu, (*stay, *barred.away(j, len(rows)), Choice("open")), False)


def _rub(facts: Facts, j: int, slips: int, rests: np.ndarray, barred: Barred) -> Unit:
    rub = facts.touch.rubs[j]
    rows = tuple(slips + k for k in rub.entries)
    first = rub.entries[0]
    moving, rest = float(facts.moving[first]), float(facts.rest[first])
    if not rests[j]:
        way = Choice("slide", _direction(facts, j))
        return Unit(rub.name, None, rows, moving, rest, (way,), True)
    stay = () if j in barred.sticks else (Choice("stick"),)
    return Unit(rub.name, None, rows, moving, rest, (*stay, *barred.away(j, len(rows))), False)


def _as(mode: Mode, touch: Touch, unit: Unit, which: tuple[int | None, int | None]) -> Choice:
    """Return what a unit does in a mode."""
    i, j = which
    if i is not None and not mode.closed[i]:
        return Choice("open")
    if j is None or not unit.slips:
        return Choice("closed")
    if mode.sticks[j]:
        return Choice("stick")
    way = mode.along[list(touch.rubs[j].entries)]
    return Choice("slide", tuple(way.tolist()) if way.any() else None)


def _usual(unit: Unit) -> Choice:
    return unit.choices[0]


def _chosen(
    law: Law, first: tuple[Choice, ...], prefer: tuple[str, ...], t: float, impact: bool
) -> Answer:
    answers = law.all_or_one(first)
    for word in prefer if len(answers) > 1 else ():
        liked = [a for a in answers if any(c.kind == word for c in a.choices)]
        most = max((sum(c.kind == word for c in a.choices) for a in liked), default=0)
        answers = [a for a in liked if sum(c.kind == word for c in a.choices) == most] or answers
    if len(answers) == 1:
        return answers[0]
    names = [u.name for u in law.units]
    modes = tuple(
        ", ".join(f"{name} {choice}" for name, choice in zip(names, a.choices)) for a in answers
    )
    raise Undecided("several" if answers else "none", modes, t, impact, law.blurred)
