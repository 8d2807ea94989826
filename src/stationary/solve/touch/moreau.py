"""Time stepping on velocities and impulses, for many contacts.

J. J. Moreau, Unilateral contact and dry friction in finite freedom dynamics, CISM 302 (1988).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse

from stationary.derive.touch import Touch as TouchGraph
from stationary.errors import StatementError
from stationary.lower.engines.casadi import Numeric
from stationary.lower.inputs import lowered
from stationary.result.changes import Change
from stationary.result.status import Status
from stationary.solve.progress import Progress
from stationary.solve.touch.cones import Unsolved, part
from stationary.solve.touch.impulses import solved
from stationary.solve.touch.near import Near, Rows, rubs_of
from stationary.solve.touch.step_law import STICK, Guess, Law, divided

# How much of a violation that a step begins with is taken back in it.
_PUSHED = 0.2

# Corrections of a step for what gaps bend in it, and what may be left, of the longest way.
_BENDS = 5
_STRAIGHT = 1e-6

# After a law whose set was not found, so many are not searched for it.
_HARD = 30

# A motion is not accurate in which laws of steps are missed by more than this, of velocities.
_MISSED = 0.05

# Up to so many rows and coordinates matrices are dense.
_DENSE = 1000

# Last digits of places and rates that are rounding.
_DIGITS = 64 * np.finfo(float).eps

# Slots of inputs at run time.
_SLOTS = 64


@dataclass(frozen=True)
class Moreau:
    """Steps of one length on velocities and impulses: order one, for many contacts.

    Velocities after a step and the impulses in it satisfy Newton's law of restitution and Coulomb's
    law at all contacts at once. Contacts without rebound close until they touch, those with it
    rebound in the step in which they would close; gaps do not become negative, bent ones either.

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
    >>> motion = st.simulate(ball, span=(0, 1), start={y: 1.0}, method=st.Moreau(step=1e-3))
    >>> motion.method, bool(abs(motion[y][-1]) < 1e-9)
    ('Moreau', True)
    """

    step: float

    def __post_init__(self):
        number = isinstance(self.step, (int, float, np.number)) and np.isfinite(self.step)
        if not (number and self.step > 0):
            raise StatementError(
                "the step of a time stepping is a positive number.",
                f"Found step={self.step!r}.",
                "Give the length of a step, as in st.Moreau(step=1e-3).",
            )


@lru_cache(maxsize=16)
def _look(touch: TouchGraph, signature: Any) -> Numeric:
    """Return M, force, rows of constraints, power and inputs as one function; sparse."""
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
    return Numeric(ca.Function("moreau", [t, q, v, p, slots], outputs), frozenset({0, 3}))


class Stepper:
    """One run of time steps."""

    def __init__(self, touch: TouchGraph, driven: Any, params: np.ndarray, rows: tuple[int, ...]):
        self.touch, self.driven, self.params, self.fixed = touch, driven, params, list(rows)
        self.look = _look(touch, driven.signature)
        self.near = Near(touch, params)
        self.changes: list[Change] = []
        self.first, self.width, self.owner = rubs_of(touch)
        self.shut = np.zeros(touch.gaps, dtype=bool)
        self.does = np.full(len(self.first), STICK)
        self.along = np.zeros(int(self.width.sum()))
        self.heat = self.struck = self.work = 0.0
        self.found = {"penetration": 0.0, "cone": 0.0, "complementarity": 0.0}
        self.steps = self.judged = self.most = self.hard = self.convex = 0
        #: Impulses of the last step, of all rows; and the largest part by which the law of a step
        #: is missed, and when.
        self.acted = np.zeros(len(rows) + touch.gaps + len(self.along))
        self.left = 0.0, 0.0

    def at(self, t: float, q: np.ndarray, v: np.ndarray) -> list[Any]:
        """Return M, force, rows of constraints, power and inputs at a state."""
        slots = np.zeros(_SLOTS)
        known = self.driven.slots(t)
        slots[: len(known)] = known
        return self.look(t, q, v, self.params, slots)

    def begin(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Note which contacts are closed at the start and not closing: they do not strike."""
        *_, u = self.at(t, q, v)
        rows, gaps = self.near.all(t, q, v, u), self.touch.gaps
        slope = abs(rows.slope[:gaps])
        room = _DIGITS * (np.abs(rows.value[:gaps]) + slope @ np.abs(q))
        slow = _DIGITS * (slope @ np.abs(v) + np.abs(rows.drive[:gaps]))
        self.shut = (rows.value[:gaps] <= room) & (np.abs(rows.rate[:gaps]) <= slow)

    def step(
        self, t: float, h: float, q: np.ndarray, v: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return places and velocities a step later, the rows that act, and their forces."""
        M, force, R, A, ahead, power, u = self.at(t, q, v)
        a = divided(M, force)
        free, fixed = v + h * a, A.tocsr()[self.fixed]
        held = ahead[self.fixed] + R[self.fixed] / h
        while True:
            rows = self.near.rows(t, h, q, v, a, u)
            law = self._law(M, free, fixed, held, rows, h)
            mean, z, guess, lowest = self._kept(law, rows, t, h, q, v, u)
            if not self.near.missed(t, h, q, v, a, u, mean):
                break
        self.steps += 1
        after, z, guess = self._struck(law, rows, (mean, z, guess), t, h)
        pushes = z[len(held) :]
        self._account(t, h, (v, after), rows, pushes, power)
        self._note(rows, guess, pushes, lowest, h)
        index = np.concatenate([np.arange(len(held)), len(held) + rows.places])
        self.acted = np.zeros_like(self.acted)
        self.acted[index] = z
        return q + h * mean, after, index, z / h

    def _kept(
        self, law: Law, rows: Rows, t: float, h: float, q: np.ndarray, v: np.ndarray, u: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, Guess, np.ndarray]:
        """Return velocities, impulses, what they show, and gaps, none negative though they bend."""
        gaps, fixed, free = len(rows.back), law.fixed, law.free
        slope, drive, gap = law.C[fixed : fixed + gaps], rows.drive[:gaps], rows.value[:gaps]
        strikes = (gap + h * (slope @ free + drive) <= 0) & (rows.back > 0)
        guess, bent = self._guess(rows), np.zeros(gaps)
        way = h * (abs(slope) @ np.maximum(np.abs(v), np.abs(free)))
        way, rounding = way.max(initial=0.0), 1e-15 * (abs(slope) @ np.abs(q))
        aim = np.where(gap > 0, 0.0, (1 - _PUSHED) * gap)
        after, lowest = free, np.zeros(gaps)
        z = self.acted[np.concatenate([np.arange(fixed), fixed + rows.places])]
        for _ in range(_BENDS):
            law.c[fixed:] = rows.drive
            law.c[fixed : fixed + gaps] += self._shift(rows, gaps, strikes, bent, h)
            after, z, guess, left = self._solved(law, guess, z, t)
            where, values = self.near.values(t + h, q + h * after, after, u)
            lowest[np.searchsorted(rows.places[:gaps], where)] = values
            below = lowest < aim - max(_STRAIGHT, left) * way - rounding
            if not below.any():
                break
            straight = gap + h * (slope @ after + drive)
            bent = np.where(below | (bent < 0), np.minimum(lowest - straight, 0.0), bent)
        return after, z, guess, lowest

    def _solved(
        self, law: Law, guess: Guess, z: np.ndarray, t: float
    ) -> tuple[np.ndarray, np.ndarray, Guess, float]:
        """Return velocities, impulses, what they show, and by how much the law is missed."""
        answer = solved(law, guess, z, self.hard > 0)
        self.judged += not answer.exact
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
        if not np.any(law.rough > 0) or not fresh.any():
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
        self, M: Any, free: np.ndarray, fixed: Any, held: np.ndarray, rows: Rows, h: float
    ) -> Law:
        """Return the law of what is near; of little its matrices are dense."""
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
        rough = rows.size[first] * np.where(owner >= 0, 1.0, h) if len(units) else np.zeros(0)
        base = len(held)
        self.units = units
        c = np.concatenate([held, rows.drive])
        return Law(M, free, C, c, base, base + np.arange(gaps), base + gaps + first,
                   self.width[units], place, rough)  # fmt: skip

    def _guess(self, rows: Rows) -> Guess:
        """Return what was in the last step."""
        gaps, all_gaps = len(rows.back), self.touch.gaps
        along = np.zeros(len(self.fixed) + len(rows.places))
        along[len(self.fixed) + gaps :] = self.along[rows.places[gaps:] - all_gaps]
        return Guess(self.shut[rows.places[:gaps]], self.does[self.units].copy(), along)

    def _account(
        self, t: float, h: float, pair: Any, rows: Rows, pushes: np.ndarray, power: np.ndarray
    ) -> None:
        """Note what friction and impacts took."""
        gaps, (before, after) = len(rows.back), pair
        speeds = rows.slope @ ((before + after) / 2) + rows.drive
        self.heat -= float(pushes[gaps:] @ speeds[gaps:])
        self.struck -= float(pushes[:gaps] @ speeds[:gaps])
        self.work += h * float(power[0]) - float(pushes @ rows.drive)

    def _note(
        self, rows: Rows, guess: Guess, pushes: np.ndarray, gap: np.ndarray, h: float
    ) -> None:
        """Keep what this step found, for the next one and for the evidence."""
        gaps, all_gaps = len(rows.back), self.touch.gaps
        shut = np.zeros_like(self.shut)
        shut[rows.places[:gaps]] = guess.closed
        self.does[self.units] = guess.does
        self.along[rows.places[gaps:] - all_gaps] = guess.along[len(self.fixed) + gaps :]
        self.last, self.shut, self.pushes = self.shut, shut, (rows.places[:gaps], pushes[:gaps])
        self.most = max(self.most, int(shut.sum()))
        found = self.found
        found["penetration"] = max(found["penetration"], float(np.max(-gap, initial=0.0)))
        far = np.where(guess.closed, np.abs(pushes[:gaps] * gap), 0.0) / h
        found["complementarity"] = max(found["complementarity"], float(far.max(initial=0.0)))
        units, first = self.units, self.first[self.units]
        if len(units):
            at = np.searchsorted(rows.places[gaps:] - all_gaps, first)
            square = np.zeros(len(units))
            for k in range(int(self.width[units].max())):
                some = self.width[units] > k
                square[some] += pushes[gaps + at[some] + k] ** 2
            own = self.owner[units]
            where = np.searchsorted(rows.places[:gaps], np.maximum(own, 0))
            limit = rows.size[at] * np.where(own >= 0, pushes[np.minimum(where, gaps - 1)] if gaps
                                             else 0.0, h)  # fmt: skip
            over = float(np.max(np.sqrt(square) - limit)) / h
            found["cone"] = max(found["cone"], over)

    def tell(self, t: float) -> None:
        """Note what has changed in a step that ends now."""
        name, (places, pushes) = self.touch.graph.layout.gap_name, self.pushes
        for i in np.flatnonzero(self.shut & ~self.last).tolist():
            push = float(pushes[np.searchsorted(places, i)])
            self.changes.append(Change(t, "impact", name(i), push))
        for i in np.flatnonzero(self.last & ~self.shut).tolist():
            self.changes.append(Change(t, "lift", name(i)))


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
) -> tuple[np.ndarray, np.ndarray, Any, Status]:
    """Return output times, states there, forces, and how it ended.

    States are places, velocities, and what was supplied, rubbed off and struck off.
    """
    ends, wanted = _ends(grid, method.step)
    states = [np.concatenate([q, v, np.zeros(3)])]
    width = len(stepper.acted)
    forces = [sparse.csr_matrix((1, width))]
    times = [float(grid[0])]
    progress = Progress(stepper.touch.graph.system.name or "simulate")
    status = Status("done", "reached the end of the span")
    now = times[0]
    try:
        for k, end in enumerate(ends.tolist()):
            q, v, index, z = stepper.step(now, end - now, q, v)
            now = end
            stepper.tell(now)
            if k in wanted:
                times.append(now)
                more = [stepper.work, stepper.heat, stepper.struck]
                states.append(np.concatenate([q, v, more]))
                one = (z, (np.zeros(len(index), dtype=int), index))
                forces.append(sparse.csr_matrix(one, shape=(1, width)))
            progress.show((k + 1) / len(ends))
    except KeyboardInterrupt:
        status = Status("interrupted", "stopped from the keyboard; what there is was kept")
    except Unsolved as end:
        status = Status("stalled", f"no impulses were found near t = {now:.6g}: {end.told}")
    finally:
        progress.close()
    if times[-1] < now:
        # What ends early has its last state.
        times.append(now)
        states.append(np.concatenate([q, v, [stepper.work, stepper.heat, stepper.struck]]))
        forces.append(sparse.csr_matrix((1, width)))
    if status == "done" and stepper.convex:
        message = f"{status.message}; {stepper.convex} times with the convex law of friction"
        status = Status("done", message)
    if status == "done" and stepper.left[0] > _MISSED:
        part, at = stepper.left
        message = f"friction and contact are missed by {part:.1e} of velocities near t = {at:.6g}"
        status = Status("inaccurate", message)
    return np.array(times), np.array(states), sparse.vstack(forces).tocsr(), status
