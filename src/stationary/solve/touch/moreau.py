"""Time stepping on velocities and impulses, for many contacts.

J. J. Moreau, Unilateral contact and dry friction in finite freedom dynamics, CISM 302 (1988).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse

from stationary.derive.touch import Touch as TouchGraph
from stationary.errors import StatementError, spelled
from stationary.lower.engines.casadi import Numeric
from stationary.lower.inputs import lowered
from stationary.model.numbers import number_of
from stationary.result.changes import Change
from stationary.result.status import Status
from stationary.result.steps import Taken
from stationary.solve.progress import Progress
from stationary.solve.touch.cones import Unsolved, part
from stationary.solve.touch.impulses import solved
from stationary.solve.touch.nearby import Near, Rows, rubs_of
from stationary.solve.touch.step_law import SLIDE, STICK, Guess, Law, divided, slips_of

# How much of a violation that a step begins with is taken back in it.
_PUSHED = 0.2

# Corrections of a step for what gaps bend in it, and what may be left, of the longest way.
_BENDS = 5
_STRAIGHT = 1e-6

# A step in which gaps bend by more than that is taken in parts, halved so often at most; and by how
# many times more gaps may be negative then.
_HALVES, _BELOW = 14, 5.0

# After a law whose set was not found, so many are not searched for it.
_HARD = 30

# A motion is not accurate in which laws of steps are missed by more than this, of velocities.
_MISSED = 0.05
# More than this is told.
_TOLD = 1e-6

# So many steps are kept as they were taken, or as many as have so many numbers together.
_LOOKS, _NUMBERS = 1000, 8e6

# Up to so many rows and coordinates matrices are dense: of those that are near, and of all.
_DENSE, _SMALL = 1000, 100

# Last digits of places and rates that are rounding.
_DIGITS = 64 * np.finfo(float).eps

# A rate is zero below this part of what it is summed from: what has stuck until now leaves less.
_STILL = 1e-9

# Slots of inputs at run time.
_SLOTS = 64


@spelled
@dataclass(frozen=True)
class Moreau:
    """Steps of one length on velocities and impulses: order one, for many contacts.

    Velocities after a step and the impulses in it satisfy Newton's law of restitution and Coulomb's
    law at all contacts at once. Contacts without rebound close until they touch, those with it
    rebound in the step in which they would close; gaps do not become negative, bent ones either: a
    step is taken in parts where a gap bends strongly in it, or where a slot is crossed.
    What is at rest where a step begins, or comes to rest in it, is held up to its static limit.

    Parameters
    ----------
    step : float
        The length of a step.

    Examples
    --------
    >>> y = st.coordinates("y")
    >>> ball = st.System(
    ...     kinetic=y.dot**2 / 2, potential=9.81 * y, contacts=[st.Contact(y, name="floor")]
    ... )
    >>> motion = st.simulate(ball, span=(0, 1), start={y: 1.0}, method=st.Moreau(step=1e-2))
    >>> motion.method, bool(abs(motion[y][-1]) < 1e-9)
    ('Moreau', True)
    """

    step: float

    def __post_init__(self):
        step = number_of(self.step)
        if not (np.isfinite(step) and step > 0):
            raise StatementError(
                "the step of a time stepping is a positive number.",
                f"Found step={self.step!r}.",
                "Give the length of a step, as in st.Moreau(step=1e-3).",
            )


@lru_cache(maxsize=16)
def _look(touch: TouchGraph, signature: Any, dense: bool) -> Numeric:
    """Return M, force, rows of constraints, power and inputs as one function."""
    graph = touch.graph
    kind: Any = ca.SX if graph.scalar else ca.MX
    sizes = [x.numel() for x in touch.arguments]
    t, q, v, p = (kind.sym(name, k) for name, k in zip("tqvp", (1, sizes[1], sizes[2], sizes[4])))
    slots = kind.sym("slots", _SLOTS)
    u = lowered(signature, graph.layout, t, q, v, p, slots)
    inner = (t, q, v, u, p)
    M, force = graph.inertial(*inner)
    R, _, A, _, ahead = graph.constraints(*inner)
    outputs = [M, force, R, A, ahead, graph.energies(*inner)[3], kind(u)]
    function = ca.Function("moreau", [t, q, v, p, slots], outputs)
    return Numeric(function, frozenset({0, 3}), dense=dense)


class Stepper:
    """One run of time steps."""

    def __init__(self, touch: TouchGraph, driven: Any, params: np.ndarray, rows: tuple[int, ...]):
        self.touch, self.driven, self.params, self.fixed = touch, driven, params, list(rows)
        self.first, self.width, self.owner = rubs_of(touch)
        slips = int(self.width.sum())
        #: Whether little enough touches for all matrices to be dense.
        self.small = touch.graph.system.size + len(rows) + touch.gaps + slips <= _SMALL
        self.look = _look(touch, driven.signature, self.small)
        self.near = Near(touch, params, self.small)
        self.changes: list[Change] = []
        self.shut = np.zeros(touch.gaps, dtype=bool)
        self.does = np.full(len(self.first), STICK)
        self.rests = np.zeros(len(self.first), dtype=bool)
        self.along = np.zeros(slips)
        self._rub_of_slip = np.repeat(np.arange(len(self.first)), self.width)
        #: What was supplied, rubbed off and struck off until now.
        self.taken = np.zeros(3)
        self.steps = self.hard = self.convex = 0
        #: Which contacts have come to rest, and what rubs did in the last step, and along what.
        self._touches, self._did, self._went = self.shut, self.does, self.along
        #: Whether gaps are negative after the last try.
        self.below = False
        #: Impulses of the last step, of all rows; and the largest part by which the law of a step
        #: is missed, and when.
        self.acted = np.zeros(len(rows) + touch.gaps + len(self.along))
        self.left = 0.0, 0.0

    def at(self, t: float, q: np.ndarray, v: np.ndarray) -> list[Any]:
        """Return M, force, rows of constraints, power and inputs at a state."""
        return self.look(t, q, v, self.params, self._slots(t))

    def entries(self, t: float, q: np.ndarray, v: np.ndarray) -> list[np.ndarray]:
        """Return the entries of the same that are not always zero."""
        return self.look.all_entries(t, q, v, self.params, self._slots(t))

    def _slots(self, t: float) -> np.ndarray:
        slots = np.zeros(_SLOTS)
        known = self.driven.slots(t)
        slots[: len(known)] = known
        return slots

    def begin(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Note which contacts are closed at the start and not closing, and which rubs are at rest.

        Such contacts do not strike.
        """
        *_, u = self.at(t, q, v)
        rows, gaps = self.near.all(t, q, v, u), self.touch.gaps
        slope = abs(rows.slope[:gaps])
        room = _DIGITS * (np.abs(rows.value[:gaps]) + slope @ np.abs(q))
        slow = _DIGITS * (slope @ np.abs(v) + np.abs(rows.drive[:gaps]))
        self.shut = (rows.value[:gaps] <= room) & (np.abs(rows.rate[:gaps]) <= slow)
        fast = abs(rows.slope[gaps:]) @ np.abs(v) + np.abs(rows.drive[gaps:])
        moves = np.abs(rows.rate[gaps:]) > _STILL * fast
        self.rests = np.bincount(self._rub_of_slip, moves, len(self.rests)) == 0
        self._touches = self.shut.copy()

    def close(self, closed: np.ndarray) -> None:
        """Know which contacts are closed, where something else has found them."""
        self.shut, self._touches = closed, closed.copy()

    def steps_to(self, end: float, t: float, q: np.ndarray, v: np.ndarray) -> Iterator[Taken]:
        """Yield the steps from a state to a time: one, or parts where one does not keep its law."""
        ends, whole = [end], False
        while ends:
            known = self.hard, self.convex, self.left
            taken = self._tried(t, ends[-1] - t, q, v, whole)
            if taken is not None:
                yield taken
                q, v, t = taken.to, taken.after, ends.pop()
                continue
            self.hard, self.convex, self.left = known
            if len(ends) > _HALVES:
                # What shorter steps do not keep is taken as it is, and told.
                ends, whole = ends[:1], True
            else:
                ends.append((t + ends[-1]) / 2)

    def _tried(self, t: float, h: float, q: np.ndarray, v: np.ndarray, whole: bool) -> Taken | None:
        """Return a step, if it keeps its law, or as it is."""
        before, self.left = self.left, (0.0, 0.0)
        try:
            taken = self.step(t, h, q, v, whole)
        except Unsolved:
            if whole:
                raise
            return None
        self.left = max(self.left, before)
        return taken

    def step(self, t: float, h: float, q: np.ndarray, v: np.ndarray, whole: bool) -> Taken | None:
        """Return a step from a state, unless it misses its law and shall not be taken as it is."""
        M, force, R, A, ahead, power, u = self.at(t, q, v)
        a = divided(M, force)
        free, fixed = v + h * a, (A if self.small else A.tocsr())[self.fixed]
        held = ahead[self.fixed] + R[self.fixed] / h
        rests = self.rests.copy()
        while True:
            rows = self.near.rows(t, h, q, v, a, u)
            law = self._law(M, free, fixed, held, rows, h, rests)
            mean, z, guess = self._kept(law, rows, t, h, q, v, u)
            stops = self._stopping(rows, mean) & ~rests
            if stops.any():
                rests |= stops
            elif not self.near.missed(t, h, q, v, a, u, mean):
                break
        after, impulses, guess = self._struck(law, rows, (mean, z, guess), t, h)
        if not whole and (self.below or self.left[0] > _MISSED):
            return None
        self.steps += 1
        pushes = impulses[len(held) :]
        hit = self._hit(law, rows, guess)
        took = _accounted(h, v, after, rows, pushes, hit, float(power[0]))
        self.taken += took
        self._note(rows, guess, pushes)
        index = np.concatenate([np.arange(len(held)), len(held) + rows.places])
        self.acted = np.zeros_like(self.acted)
        self.acted[index] = impulses
        struck = len(held) + rows.places[hit]
        return Taken(t, h, q, v, q + h * mean, after, index, impulses, z, took, rests, struck)

    def _hit(self, law: Law, rows: Rows, guess: Guess) -> np.ndarray:
        """Tell which slips are of contacts that strike: what they take is lost in the impact."""
        hit, gaps = np.zeros(len(rows.places), dtype=bool), len(rows.back)
        fresh = guess.closed & ~self.shut[rows.places[:gaps]]
        slips, unit = slips_of(law)
        if fresh.any() and len(slips):
            hit[slips - law.fixed] = ((law.owner >= 0) & fresh[law.owner])[unit]
        return hit

    def _stopping(self, rows: Rows, mean: np.ndarray) -> np.ndarray:
        """Tell which rubs with a larger limit at rest are no longer on their way: they stop."""
        gaps, all_gaps = len(rows.back), self.touch.gaps
        larger = rows.rest > rows.size
        if not larger.any():
            return np.zeros(len(self.rests), dtype=bool)
        onward = rows.rate[gaps:] * (rows.slope[gaps:] @ mean + rows.drive[gaps:])
        rub, count = self._rub_of_slip[rows.places[gaps:] - all_gaps], len(self.rests)
        # A rate that is zero to its rounding has no sense.
        fast = abs(rows.slope[gaps:]) @ np.abs(mean) + np.abs(rows.drive[gaps:])
        slow = _STILL * fast * np.abs(rows.rate[gaps:])
        stops = np.bincount(rub, onward, count) <= np.bincount(rub, slow, count)
        return stops & (np.bincount(rub, larger, count) > 0)

    def _kept(
        self, law: Law, rows: Rows, t: float, h: float, q: np.ndarray, v: np.ndarray, u: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, Guess]:
        """Return velocities, impulses and what they show: no gap is negative though they bend."""
        gaps, fixed, free = len(rows.back), law.fixed, law.free
        slope, drive, gap = law.C[fixed : fixed + gaps], rows.drive[:gaps], rows.value[:gaps]
        strikes = (gap + h * (slope @ free + drive) <= 0) & (rows.back > 0)
        guess, bent = self._guess(rows), np.zeros(gaps)
        way = h * (abs(slope) @ np.maximum(np.abs(v), np.abs(free)))
        way, rounding = way.max(initial=0.0), 1e-15 * (abs(slope) @ np.abs(q))
        aim = np.where(gap > 0, 0.0, (1 - _PUSHED) * gap)
        after, lowest, self.below = free, np.zeros(gaps), False
        z = self.acted[np.concatenate([np.arange(fixed), fixed + rows.places])]
        for _ in range(_BENDS):
            law.c[fixed:] = rows.drive
            law.c[fixed : fixed + gaps] += self._shift(rows, gaps, strikes, bent, h)
            after, z, guess, left = self._solved(law, guess, z, t)
            where, values = self.near.values(t + h, q + h * after, after, u)
            lowest[np.searchsorted(rows.places[:gaps], where)] = values
            room = max(_STRAIGHT, left) * way + rounding
            below = lowest < aim - room
            # What was corrected by too much pushes what does not touch.
            above = guess.closed & (bent < 0) & (lowest > aim + room)
            if not (below | above).any():
                self.below = False
                break
            straight = gap + h * (slope @ after + drive)
            self.below = bool(np.any(lowest < aim - _BELOW * room))
            bent = np.where(below | (bent < 0), np.minimum(lowest - straight, 0.0), bent)
        return after, z, guess

    def _solved(
        self, law: Law, guess: Guess, z: np.ndarray, t: float
    ) -> tuple[np.ndarray, np.ndarray, Guess, float]:
        """Return velocities, impulses, what they show, and by how much the law is missed."""
        answer = solved(law, guess, z, self.hard > 0)
        self.hard = self.hard - 1 if self.hard else 0 if answer.exact else _HARD
        self.convex += answer.convex
        if answer.left > self.left[0]:
            self.left = answer.left, t
        return answer.v, answer.z, answer.shown, answer.left

    def _struck(
        self, law: Law, rows: Rows, closing: tuple[np.ndarray, np.ndarray, Guess], t: float,
        h: float,
    ) -> tuple[np.ndarray, np.ndarray, Guess]:  # fmt: skip
        """Return velocities after a step, impulses and what they show, where something strikes.

        What comes to touch in a step keeps some speed in it. Friction depends on the order of its
        impulses: an impact is one law, not the end of a step and the begin of the next.
        """
        mean, z, guess = closing
        gaps, base = len(rows.back), law.fixed
        gap = rows.value[:gaps]
        slope, drive = law.C[base : base + gaps], rows.drive[:gaps]
        comes = gap + h * (slope @ law.free + drive) <= 0
        fresh = comes & guess.closed & ~self.shut[rows.places[:gaps]] & (gap > 0)
        if not np.any(law.grip > 0) or not fresh.any():
            return closing
        touch = gap <= _STRAIGHT * h * np.abs(slope @ law.free + drive).max()
        kept = np.flatnonzero(comes | touch | self.shut[rows.places[:gaps]])
        back = rows.back[kept] * np.minimum(rows.rate[kept], 0.0)
        impact, which = part(law, kept)
        impact.c[base : base + len(kept)] = drive[kept] + back
        units = np.flatnonzero(np.isin(law.first, which))
        first = Guess(guess.closed[kept], guess.does[units], guess.along[which])
        after, impulses, shown, _ = self._solved(impact, first, z[which], t)
        closed, does, along = np.zeros(gaps, dtype=bool), guess.does.copy(), guess.along.copy()
        closed[kept], does[units], along[which] = shown.closed, shown.does, shown.along
        every = np.zeros(len(z))
        every[which] = impulses
        return after, every, Guess(closed, does, along)

    def _shift(
        self, rows: Rows, gaps: int, strikes: np.ndarray, bent: np.ndarray, h: float
    ) -> np.ndarray:
        """Return by how much less than zero the rate of each contact may be."""
        gap = rows.value[:gaps]
        closes = (np.where(gap > 0, gap, _PUSHED * gap) + bent) / h
        back = rows.back * np.minimum(rows.rate[:gaps], 0.0)
        return np.where(strikes, np.minimum(closes, back), closes)

    def _law(
        self, M: Any, free: np.ndarray, fixed: Any, held: np.ndarray, rows: Rows, h: float,
        rests: np.ndarray,
    ) -> Law:  # fmt: skip
        """Return the law of what is near; of little its matrices are dense."""
        if self.small:
            C = np.vstack([fixed, rows.slope])
        else:
            C = sparse.vstack([fixed, rows.slope]).tocsr() if self.fixed else rows.slope
            dense = C.shape[0] + C.shape[1] <= _DENSE
            M, C = (M.toarray(), C.toarray()) if dense else (M.tocsc(), C)
        gaps = len(rows.back)
        all_gaps = self.touch.gaps
        slips = rows.places[gaps:] - all_gaps
        units = np.flatnonzero(np.isin(self.first, slips)) if len(self.first) else self.first
        first = np.searchsorted(slips, self.first[units])
        owner = self.owner[units]
        place = np.where(owner >= 0, np.searchsorted(rows.places[:gaps], owner), -1)
        limit = np.where(rests[units], rows.rest[first], rows.size[first])
        grip = limit * np.where(owner >= 0, 1.0, h)
        base = len(held)
        self.units = units
        c = np.concatenate([held, rows.drive])
        return Law(M, free, C, c, base, base + np.arange(gaps), base + gaps + first,
                   self.width[units], place, grip)  # fmt: skip

    def _guess(self, rows: Rows) -> Guess:
        """Return what was in the last step."""
        gaps, all_gaps = len(rows.back), self.touch.gaps
        along = np.zeros(len(self.fixed) + len(rows.places))
        along[len(self.fixed) + gaps :] = self.along[rows.places[gaps:] - all_gaps]
        return Guess(self.shut[rows.places[:gaps]], self.does[self.units].copy(), along)

    def _note(self, rows: Rows, guess: Guess, pushes: np.ndarray) -> None:
        """Keep what this step shows for the next one."""
        gaps, all_gaps = len(rows.back), self.touch.gaps
        shut = np.zeros_like(self.shut)
        shut[rows.places[:gaps]] = guess.closed
        self.does[self.units] = guess.does
        self.rests = self.does == STICK
        self.along[rows.places[gaps:] - all_gaps] = guess.along[len(self.fixed) + gaps :]
        self.last, self.shut, self.pushes = self.shut, shut, (rows.places[:gaps], pushes[:gaps])

    def tell(self, t: float) -> None:
        """Note what has changed in a step that ends now."""
        name, (places, pushes) = self.touch.graph.layout.gap_name, self.pushes
        for i in np.flatnonzero(self.shut & ~self.last).tolist():
            push = float(pushes[np.searchsorted(places, i)])
            self.changes.append(Change(t, "impact", name(i), push))
        # What is closed for one step rebounds; what is longer has come to touch.
        both = self.shut & self.last
        for kind, which in (("touch", both & ~self._touches), ("lift", self._touches & ~self.shut)):
            self.changes += [Change(t, kind, name(i)) for i in np.flatnonzero(which).tolist()]
        self._touches = both | (self._touches & self.shut)
        if len(self.does):
            self._tell_of_rubs(t, both)

    def _tell_of_rubs(self, t: float, both: np.ndarray) -> None:
        """Note what sticks, slips or goes back where contacts stay closed."""
        stays = np.where(self.owner >= 0, both[self.owner] if len(both) else False, True)
        # What rubs do from the start on is no change.
        stays &= self.steps > 1
        other = stays & (self.does != self._did)
        back = self.along[self.first] * self._went[self.first] < 0
        back &= stays & ~other & (self.width == 1) & (self.does == SLIDE)
        for j in np.flatnonzero(other | back).tolist():
            kind = "reverse" if back[j] else "stick" if self.does[j] == STICK else "slip"
            self.changes.append(Change(t, kind, self.touch.rubs[j].name))
        self._did, self._went = self.does.copy(), self.along.copy()


def _accounted(
    h: float, before: np.ndarray, after: np.ndarray, rows: Rows, pushes: np.ndarray,
    hit: np.ndarray, power: float,
) -> np.ndarray:  # fmt: skip
    """Return what was supplied, what friction took, and what impacts took."""
    took = -pushes * (rows.slope @ ((before + after) / 2) + rows.drive)
    rubs = ~hit
    rubs[: len(rows.back)] = False
    return np.array([h * power - float(pushes @ rows.drive), took[rubs].sum(), took[~rubs].sum()])


def _looked_at(count: int, wanted: set[int], size: int) -> set[int]:
    """Return which steps are kept as they were taken, of so many coordinates."""
    outputs = np.array(sorted(wanted))
    # A state, and about three rows of each coordinate that have two impulses.
    looks = int(np.clip(_NUMBERS / (12 * max(size, 1)), 8, _LOOKS))
    if count <= looks:
        return set(range(count))
    every = np.linspace(0, count - 1, looks).astype(int)
    some = outputs[np.linspace(0, len(outputs) - 1, min(looks, len(outputs))).astype(int)]
    return set(every.tolist()) | set(some.tolist())


def _ends(grid: np.ndarray, step: float) -> tuple[np.ndarray, set[int]]:
    """Return when steps end, and which of them end at, or nearest to, output times."""
    wide = np.diff(grid)
    if wide.min() >= step * (1 - 1e-9):
        counts = np.ceil(wide / step * (1 - 1e-12)).astype(int)
        parts = [np.linspace(a, b, k + 1)[1:] for a, b, k in zip(grid, grid[1:], counts)]
        return np.concatenate(parts), set((np.cumsum(counts) - 1).tolist())
    count = max(1, int(np.ceil((grid[-1] - grid[0]) / step * (1 - 1e-12))))
    ends = np.linspace(grid[0], grid[-1], count + 1)[1:]
    nearest = np.round((grid - grid[0]) / (grid[-1] - grid[0]) * count).astype(int) - 1
    return ends, set(nearest.tolist())


def stepped(
    stepper: Stepper, q: np.ndarray, v: np.ndarray, grid: np.ndarray, method: Moreau
) -> tuple[np.ndarray, np.ndarray, Any, Status, tuple[Taken, ...]]:
    """Return output times, states there, forces, how it ended, and steps as they were taken.

    States are places, velocities, and what was supplied, rubbed off and struck off.
    """
    ends, wanted = _ends(grid, method.step)
    states = [np.concatenate([q, v, np.zeros(3)])]
    width, kept = len(stepper.acted), []
    forces = [sparse.csr_matrix((1, width))]
    times = [float(grid[0])]
    looked = _looked_at(len(ends), wanted, len(q))
    progress = Progress(stepper.touch.graph.system.name or "simulate")
    status = Status("done", "reached the end of the span")
    now = times[0]
    try:
        for k, end in enumerate(ends.tolist()):
            last = None
            for last in stepper.steps_to(end, now, q, v):
                q, v, now = last.to, last.after, last.end
                stepper.tell(now)
                if k in looked:
                    kept.append(last)
            now = end
            if k in looked and k in wanted:
                kept[-1] = replace(kept[-1], output=len(times))
            if k in wanted and last is not None:
                times.append(now)
                states.append(np.concatenate([q, v, stepper.taken]))
                one = (last.impulses / last.h, (np.zeros(len(last.rows), int), last.rows))
                forces.append(sparse.csr_matrix(one, shape=(1, width)))
            progress.show((k + 1) / len(ends))
    except KeyboardInterrupt:
        status = Status("interrupted", "stopped from the keyboard; what there is was kept")
    except Unsolved as end:
        status = Status("stalled", f"no impulses were found near t = {now:.6g}: {end.word}")
    finally:
        progress.close()
    if times[-1] < now:
        # What ends early has its last state.
        times.append(now)
        states.append(np.concatenate([q, v, stepper.taken]))
        forces.append(sparse.csr_matrix((1, width)))
    part, at = stepper.left
    if status == "done" and part > _MISSED:
        message = f"friction and contact are missed by {part:.1e} of velocities near t = {at:.6g}"
        status = Status("inaccurate", message)
    elif status == "done" and part > _TOLD:
        missed = f"friction and contact are missed by up to {part:.1e} of velocities"
        status = Status("done", f"{status.message}; {missed}")
    return (
        np.array(times), np.array(states), sparse.vstack(forces).tocsr(), status, tuple(kept)
    )  # fmt: skip
