"""Coulomb's law and contact, for accelerations and for impulses: which modes satisfy them.

With forces (or impulses) z the rows have accelerations (or velocities after an impact)
w = w₀ + W z. A contact is open (z = 0, w ≥ 0) or closed (w = 0, z ≥ 0); what rubs sticks (w = 0,
|z| ≤ limit) or slides (z = −limit·d along w, d the direction of w). The limit is a number, or μ
times the force of a contact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from stationary.solve.linear import least_solution
from stationary.solve.touch.at_state import RANK, shares
from stationary.solve.touch.mode_sieve import sieved
from stationary.solve.touch.sharing import furthest_inside, limits_of

# Forces and accelerations below this part of what they are summed from are zero: forces of many
# contacts follow from each other, and lose digits on the way. Ten times more or less decides alike.
ROUNDING = 1e-11

# What a row must have of its own, of the square of what it answers, to say something new: a root
# of last digits, as squares have lost half of them.
FREE = 1e-9

# So many combinations of modes are all tried; beyond it the last mode is mended step by step.
MOST = 1024

# Turns of a direction of slip that is not known before in which it must come half as near to its
# end, steps of Newton's method after them, and what is left of each.
_TURNS, _NEARLY = 30, 1e-5
_NEWTON, _TURNED = 8, 1e-14


@dataclass(frozen=True)
class Choice:
    """What one contact or rub does.

    `kind` is "open", "closed", "stick" or "slide"; a slide has its direction, unless that is to be
    found.
    """

    kind: str
    along: tuple[float, ...] | None = None

    def __str__(self) -> str:
        if self.kind == "slide" and self.along is not None and len(self.along) == 1:
            return "slides forward" if self.along[0] > 0 else "slides back"
        return {"open": "open", "closed": "closed", "stick": "sticks", "slide": "slides"}[self.kind]


@dataclass(frozen=True)
class Unit:
    """A contact with what rubs there, or what rubs alone: its rows, and what it may do.

    `before` is the slip rate that a slide already has: then its acceleration may have any sense.
    """

    name: str
    gap: int | None
    slips: tuple[int, ...]
    moving: float
    rest: float
    choices: tuple[Choice, ...]
    runs: bool

    @property
    def may_open(self) -> bool:
        """Whether nothing keeps it closed but its law."""
        return self.gap is None or any(c.kind == "open" for c in self.choices)


@dataclass(frozen=True, eq=False)
class Answer:
    """A consistent mode: what each unit does, and forces and rates of all rows.

    `proven` says that no other mode moves otherwise: all were tried, or the law is convex.
    """

    choices: tuple[Choice, ...]
    z: np.ndarray
    w: np.ndarray
    redundant: bool
    proven: bool = True


@dataclass(frozen=True, eq=False)
class Law:
    """The question: W, w₀, the rows that are held whatever happens, and the units.

    `sizes` say what is summed in each row of w₀: rounding is relative to it; `floor` is what is
    rounding besides, with forces.
    """

    W: np.ndarray
    w0: np.ndarray
    sizes: np.ndarray
    fixed: int
    units: tuple[Unit, ...]
    floor: Callable[[np.ndarray], np.ndarray] = np.zeros_like

    def answers(self) -> list[Answer]:
        """Return all consistent modes, those of equal rates once."""
        agreeing: list[Answer] = []
        for choices in sieved(self, list(product(*(u.choices for u in self.units)))):
            answer = self.tried(choices)
            if answer is not None:
                agreeing.append(answer)
        return self._distinct(self._at_rest(agreeing))

    def _at_rest(self, agreeing: list[Answer]) -> list[Answer]:
        """Leave out what breaks away although it could stay: rest holds up to its own limit."""
        kept = []
        for a in agreeing:
            for k, (unit, choice) in enumerate(zip(self.units, a.choices)):
                if choice.kind != "slide" or unit.runs or unit.rest <= unit.moving:
                    continue
                if not any(c.kind == "stick" for c in unit.choices):
                    continue
                if any(
                    b.choices[k].kind == "stick"
                    and all(x == y for i, (x, y) in enumerate(zip(a.choices, b.choices)) if i != k)
                    for b in agreeing
                ):
                    break
            else:
                kept.append(a)
        return kept

    def _distinct(self, agreeing: list[Answer]) -> list[Answer]:
        """Return one of those that move alike; what sticks or stays closed before what does not."""
        order = {"stick": 0, "closed": 0, "slide": 1, "open": 2}
        agreeing = sorted(agreeing, key=lambda a: sum(order[c.kind] for c in a.choices))
        kept: list[Answer] = []
        for a in agreeing:
            if not any(self._alike(a, b) for b in kept):
                kept.append(a)
        return kept

    def _alike(self, a: Answer, b: Answer) -> bool:
        # Rounding of a row moves others by what its force does to them, and what rubs there by as
        # much friction as that force allows.
        room = self._room(a, b)
        answers = np.maximum(np.diag(self.W), 1e-300)
        forces = np.zeros(len(room))
        forces[: self.fixed] = (room / answers)[: self.fixed]
        for unit in self.units:
            rows, push = list(unit.slips), 0.0
            if unit.gap is not None:
                forces[unit.gap] = push = room[unit.gap] / answers[unit.gap]
            forces[rows] = np.maximum(room[rows] / answers[rows], unit.moving * push)
        room = room + np.abs(self.W) @ forces
        return bool(np.all(np.abs(a.w - b.w) <= 10 * room))

    def _room(self, *answers: Answer) -> np.ndarray:
        strongest = np.max([np.abs(a.z) for a in answers], axis=0)
        pushes = np.abs(self.W) @ strongest
        return ROUNDING * (self.sizes + pushes) + self.floor(strongest)

    # -- one mode -------------------------------------------------------------------------------

    def tried(self, choices: tuple[Choice, ...]) -> Answer | None:
        """Return the forces and rates of a mode, if they agree with it."""
        if not self._can_slide(choices, ROUNDING * self.sizes + self.floor(np.zeros_like(self.w0))):
            return None
        solved = self._directed(choices)
        if solved is None:
            return None
        choices, z, redundant = solved
        w = self.w0 + self.W @ z
        answer = Answer(choices, z, w, redundant)
        return answer if self._agrees(answer) else None

    def _directed(self, choices: tuple[Choice, ...]) -> Any:
        """Solve for the forces; turn directions that are not known until slips follow them."""
        open_ = [k for k, c in enumerate(choices) if c.kind == "slide" and c.along is None]
        if not open_:
            z, redundant = self._forces(choices)
            return None if z is None else (choices, z, redundant)
        # To begin with, along the rates that there would be without friction.
        rows = [list(self.units[k].slips) for k in open_]
        ends = np.cumsum([0, *map(len, rows)])

        def directed(
            ways: np.ndarray, shared: bool = False
        ) -> tuple[tuple[Choice, ...], np.ndarray | None, bool]:
            mode = list(choices)
            for k, a, b in zip(open_, ends[:-1], ends[1:]):
                mode[k] = Choice("slide", tuple(ways[a:b].tolist()))
            return tuple(mode), *self._forces(tuple(mode), shared)

        def slips(z: np.ndarray) -> np.ndarray:
            return (self.w0 + self.W @ z)[np.concatenate(rows)]

        def unit(ways: np.ndarray) -> np.ndarray:
            parts = [ways[a:b] for a, b in zip(ends[:-1], ends[1:])]
            return np.concatenate([part / max(np.linalg.norm(part), 1e-300) for part in parts])

        mode, z, redundant = directed(np.zeros(ends[-1]))
        if z is None:
            return None
        ways, before = unit(slips(z)), slips(z)
        nearest, patience = np.inf, _TURNS
        while patience:
            mode, z, redundant = directed(ways)
            if z is None:
                return None
            # Friction turns towards the slip by as much as it would answer to it.
            answers = float(np.linalg.norm(slips(z) - before))
            new = unit(answers * ways + slips(z))
            turned = float(np.abs(new - ways).max())
            ways = new
            if turned <= _NEARLY:
                break
            # What would rather stick has no direction, and turns for ever.
            patience -= 1
            if 2 * turned <= nearest:
                nearest, patience = turned, _TURNS
        for _ in range(_NEWTON):
            mode, z, redundant = directed(ways)
            if z is None:
                return None
            w = slips(z)
            speeds = np.array([np.linalg.norm(w[a:b]) for a, b in zip(ends[:-1], ends[1:])])
            owner = np.repeat(np.arange(len(rows)), np.diff(ends))
            left = ways * speeds[owner] - w
            small = _NEARLY / 10
            slope = np.empty((ends[-1], ends[-1]))
            for i in range(ends[-1]):
                other = directed(ways + small * np.eye(ends[-1])[i])[1]
                if other is None:
                    return None
                slope[:, i] = (w - slips(other)) / small
                slope[i, i] += speeds[owner[i]]
            step = np.linalg.lstsq(slope, -left, rcond=None)[0]
            ways = unit(ways + step)
            if np.abs(step).max() <= _TURNED:
                break
        mode, z, redundant = directed(ways)
        if z is not None and redundant:
            # Forces that are shared otherwise must not turn what slides.
            other = directed(ways, shared=True)[1]
            if other is not None and np.abs(unit(slips(other)) - ways).max() <= _NEARLY:
                z = other
        return None if z is None else (mode, z, redundant)

    def _forces(
        self, choices: tuple[Choice, ...], shared: bool = True
    ) -> tuple[np.ndarray | None, bool]:
        """Return the forces of a mode whose directions are known, and whether others do as well."""
        N = len(self.w0)
        held = list(range(self.fixed))
        D, shift = np.eye(N), np.zeros(N)
        for unit, choice in zip(self.units, choices):
            if unit.gap is not None and choice.kind != "open":
                held.append(unit.gap)
            if choice.kind == "stick":
                held += unit.slips
            elif choice.kind == "slide":
                assert choice.along is not None
                for row, d in zip(unit.slips, choice.along):
                    if unit.gap is None:
                        shift[row] = -unit.moving * d
                    else:
                        D[row, unit.gap] = -unit.moving * d
        z = np.zeros(N)
        if held:
            K = self.W[held] @ D[:, held]
            known = -(self.w0 + self.W @ shift)[held]
            scale = np.sqrt(np.maximum(np.diag(self.W)[held], 1e-300))
            K, known = K / scale[:, None] / scale, known / scale
            x, free = least_solution(K, known, RANK)
            redundant = bool(len(free))
            if redundant:
                sizes = np.abs(known).max() + (self.sizes[held] / scale).max()
                strongest = np.zeros(N)
                strongest[held] = np.abs(x) / scale
                floor = (self.floor(strongest)[held] / scale).max()
                if np.abs(K @ x - known).max() > ROUNDING * sizes + floor:
                    return None, True
            if redundant and shared:
                limits = limits_of(zip(self.units, choices), held, scale)
                x = furthest_inside(limits, x, free)
            z[held] = x / scale
            z = D @ z + shift
            return z, redundant
        return D @ z + shift, False

    def _agrees(self, answer: Answer) -> bool:
        """Tell whether forces push, stay within their limits, and rates agree with the mode."""
        z, w, room = answer.z, answer.w, self._room(answer)
        weights = np.maximum(np.diag(self.W), 1e-300)
        strong = room / weights
        for unit, choice in zip(self.units, answer.choices):
            if unit.gap is not None:
                g = unit.gap
                if choice.kind == "open":
                    if w[g] < -room[g]:
                        return False
                    # What others hold shut stays shut without a force, and shares with them.
                    shut = w[g] <= room[g] and len(unit.choices) > 1
                    if shut and not self._way(self._held(answer.choices), (g,), (1.0,))[0]:
                        return False
                    continue
                if z[g] < -strong[g]:
                    return False
            if choice.kind == "stick":
                limit = unit.rest * (1.0 if unit.gap is None else z[unit.gap])
                rows = list(unit.slips)
                slack = strong[rows].max() + unit.rest * (
                    0.0 if unit.gap is None else strong[unit.gap]
                )
                if np.linalg.norm(z[rows]) > limit + slack:
                    return False
            elif choice.kind == "slide" and not unit.runs:
                rows, along = list(unit.slips), np.array(choice.along)
                if w[rows] @ along < -room[rows].max():
                    return False
        return self._can_slide(answer.choices, room)

    def _can_slide(self, choices: tuple[Choice, ...], room: np.ndarray) -> bool:
        """Tell whether all that begins to slide can do so.

        What others hold at rest does not slide, whatever its force: it sticks, and shares with
        them. Where walls move, what is held may make it slide.
        """
        held = self._held(choices)
        for unit, choice in zip(self.units, choices):
            if choice.kind != "slide" or unit.runs or choice.along is None or not held:
                continue
            free, rate = self._way(held, unit.slips, choice.along)
            if not free and rate <= room[list(unit.slips)].max():
                return False
        return True

    def _held(self, choices: tuple[Choice, ...]) -> tuple[int, ...]:
        held = list(range(self.fixed))
        for unit, choice in zip(self.units, choices):
            if choice.kind != "open":
                held += [] if unit.gap is None else [unit.gap]
                held += unit.slips if choice.kind == "stick" else ()
        return tuple(held)

    def _way(
        self, held: tuple[int, ...], rows: tuple[int, ...], along: tuple[float, ...]
    ) -> tuple[bool, float]:
        """Tell whether what is held leaves a direction free; its rate, if not."""
        if not held:
            return True, 0.0
        single = len(rows) == 1
        key = held, rows, (1.0,) if single else along
        if key not in self._known:
            W, d = self.W, np.array(key[2])
            across, own = W[np.ix_(held, rows)] @ d, float(d @ W[np.ix_(rows, rows)] @ d)
            pull = shares(W[np.ix_(held, held)], across)
            rate = float(d @ self.w0[list(rows)] - pull @ self.w0[list(held)])
            self._known[key] = bool(own - across @ pull > FREE * own), rate
        free, rate = self._known[key]
        return free, rate * along[0] if single else rate

    @property
    def blurred(self) -> float:
        """What rows have of their own, of what they answer, if digits do not tell it from zero.

        Parts that are many times lighter than others leave so little: between zero, as of rows that
        follow from each other, and what counts as something new.
        """
        rows = list(range(self.fixed))
        for unit in self.units:
            rows += [*unit.slips, *(() if unit.gap is None else (unit.gap,))]
        if not rows:
            return 0.0
        size = np.sqrt(np.maximum(np.diag(self.W)[rows], 1e-300))
        own = np.linalg.eigvalsh(self.W[np.ix_(rows, rows)] / size / size[:, None])
        little = own[(own > 4 * len(rows) * np.finfo(float).eps) & (own < FREE)]
        return float(little.min(initial=np.inf)) if len(little) else 0.0

    @cached_property
    def _known(self) -> dict[Any, tuple[bool, float]]:
        return {}

    def mended(self, first: tuple[Choice, ...]) -> list[Answer]:
        """Look for one consistent mode by relaxation, where modes are too many to try them all."""
        return _relaxed(self, first)

    def all_or_one(self, first: tuple[Choice, ...]) -> list[Answer]:
        """Return all modes if they can be tried, or one that was found."""
        parts = self._parts()
        if len(parts) > 1:
            each = [replace(self, units=tuple(self.units[k] for k in part)).all_or_one(
                    tuple(first[k] for k in part)) for part in parts]  # fmt: skip
            return [self._joined(parts, answers) for answers in product(*each)]
        count = 1
        for u in self.units:
            count *= len(u.choices)
        # Where no limit follows a force, accelerations minimize a strictly convex function (Gauss):
        # one that satisfies the laws is the only one.
        alone = all(u.rest <= u.moving and not (u.gap is not None and u.slips) for u in self.units)
        if count <= MOST:
            # What must stay closed may need to be pulled: there need be no mode at all.
            free = all(u.may_open for u in self.units)
            return (alone and free and self.mended(first)) or self.answers()
        return [replace(answer, proven=alone) for answer in self.mended(first)]

    def _parts(self) -> list[list[int]]:
        """Return the units in groups that do not answer to each other's forces."""
        if self.fixed or len(self.units) < 2:
            return [list(range(len(self.units)))]
        scale = np.sqrt(np.maximum(np.diag(self.W), 1e-300))
        tied = np.abs(self.W) > ROUNDING * np.outer(scale, scale)
        of = np.zeros((len(self.units), len(self.w0)))
        for k, unit in enumerate(self.units):
            of[k, [*unit.slips, *(() if unit.gap is None else (unit.gap,))]] = 1.0
        count, group = connected_components(of @ tied @ of.T, directed=False)
        return [np.flatnonzero(group == k).tolist() for k in range(count)]

    def _joined(self, parts: list[list[int]], answers: tuple[Answer, ...]) -> Answer:
        """Return the answer of all units, from those of groups that have nothing in common."""
        chosen = {k: c for part, a in zip(parts, answers) for k, c in zip(part, a.choices)}
        z = np.sum([a.z for a in answers], axis=0)
        return Answer(
            tuple(chosen[k] for k in range(len(self.units))), z, self.w0 + self.W @ z,
            any(a.redundant for a in answers), all(a.proven for a in answers),
        )  # fmt: skip


# Sweeps of the relaxation, and after how many of them its mode is tried.
_SWEEPS = 20_000
_TRY = 200


def _relaxed(law: Law, first: tuple[Choice, ...]) -> list[Answer]:
    """Relax the forces row by row (projected Gauss–Seidel) until the mode that they show agrees."""
    tried = {first}
    answer = law.tried(first)
    if answer is not None:
        return [answer]
    W, w, N = law.W, law.w0.copy(), len(law.w0)
    z, diagonal = np.zeros(N), np.maximum(np.diag(law.W), 1e-300)

    def move(row: int, new: float) -> None:
        nonlocal w
        if new != z[row]:
            w += W[:, row] * (new - z[row])
            z[row] = new

    for sweep in range(1, _SWEEPS + 1):
        for row in range(law.fixed):
            move(row, z[row] - w[row] / diagonal[row])
        for unit in law.units:
            if unit.gap is not None:
                g = unit.gap
                shut = any(c.kind != "open" for c in unit.choices)
                least = 0.0 if unit.may_open else -np.inf
                move(g, max(z[g] - w[g] / diagonal[g], least) if shut else 0.0)
            known = [c for c in unit.choices if c.kind == "slide" and c.along is not None]
            push = 1.0 if unit.gap is None else max(z[unit.gap], 0.0)
            limit = unit.moving * push
            if unit.runs and known:
                for row, d in zip(unit.slips, known[0].along or ()):
                    move(row, -limit * d)
            elif unit.slips:
                rows = list(unit.slips)
                hold = unit.rest * push
                wanted = z[rows] - w[rows] / diagonal[rows].max()
                size = float(np.linalg.norm(wanted))
                if size > hold:
                    wanted *= limit / size
                for row, new in zip(rows, wanted):
                    move(row, float(new))
        if sweep % _TRY == 0:
            shown = _shown(law, z)
            if shown not in tried:
                tried.add(shown)
                answer = law.tried(shown)
                if answer is not None:
                    return [answer]
    return []


def _shown(law: Law, z: np.ndarray) -> tuple[Choice, ...]:
    """Return the mode that relaxed forces are in."""
    mode = []
    for unit in law.units:
        kinds = {c.kind for c in unit.choices}
        g = unit.gap
        weak = g is not None and z[g] <= 1e-9 * np.abs(z).max(initial=1e-300)
        if kinds == {"open"} or (weak and unit.may_open):
            mode.append(Choice("open"))
            continue
        if not unit.slips:
            mode.append(Choice("closed"))
            continue
        rows = list(unit.slips)
        known = [c for c in unit.choices if c.kind == "slide" and c.along is not None]
        limit = unit.moving * (1.0 if g is None else z[g])
        if unit.runs:
            mode.append(known[0])
        elif np.linalg.norm(z[rows]) < (1 - 1e-6) * limit or "slide" not in kinds:
            mode.append(Choice("stick"))
        elif len(rows) == 1:
            mode.append(Choice("slide", (float(-np.sign(z[rows[0]])),)))
        else:
            mode.append(Choice("slide"))
    return tuple(mode)
