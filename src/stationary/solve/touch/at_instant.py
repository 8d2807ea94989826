"""What happens at an instant: impacts, the ends of their series, and the mode that follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from stationary.result.changes import Change
from stationary.solve.motion.ode import Stopped
from stationary.solve.touch.at_state import DIGITS, Facts
from stationary.solve.touch.closing_walls import room_ends
from stationary.solve.touch.laws import FREE, ROUNDING, Answer
from stationary.solve.touch.margins import standing
from stationary.solve.touch.mode import (
    Barred,
    Mode,
    Undecided,
    after_impact,
    brought_to_rest,
    next_mode,
)
from stationary.solve.touch.zeno import Zeno

# Impacts that follow from each other at one instant.
_AT_ONCE = 100


@dataclass
class Instant:
    """One instant at which something may change; `settle` says what does.

    `look` gives the facts of a state now, or at a time, `energy` its energy, `forces` those of the
    mode before; `rounding` is that of accelerations besides, `more` how many times that of margins
    is allowed; the rubs `stopped` have come to rest; where the state has `jumped` nothing holds it
    any more, and contacts that it has `moved` are no longer where they were.
    """

    t: float
    before: Mode
    look: Callable[..., Facts]
    energy: Callable[[np.ndarray], float]
    forces: Callable[[np.ndarray], np.ndarray]
    zeno: Zeno
    prefer: tuple[str, ...]
    rounding: float = 0.0
    more: float = 1.0
    stopped: frozenset[int] = frozenset()
    jumped: bool = False
    moved: np.ndarray | bool = False
    changes: list[Change] = field(default_factory=list)
    impacts: list[tuple[float, float]] = field(default_factory=list)
    #: Whether no other impacts and modes satisfy the laws.
    proven: bool = True

    def settle(
        self, y: np.ndarray, causes: list[int]
    ) -> tuple[np.ndarray, Mode, Answer, Facts, np.ndarray]:
        """Return the state afterwards, the mode, its forces, the facts, and which contacts part.

        `causes` are the margins of the mode before that have ended.
        """
        y, facts, slow = self._held(y, self.look(y), causes)
        gaps, at, before = facts.touch.gaps, facts.gaps, self.before
        # What the margins that follow take for zero is near: else it would close unseen.
        near = (before.closed > 0) & ~np.asarray(self.moved)
        near |= facts.value[at] <= self.more * facts.value_rounding[at]
        ended = [i for i in causes if i < gaps]
        near[ended] = True
        lost = frozenset(i for i in ended if before.closed[i])
        # What an impact has stopped is as good as the velocities before it.
        until, struck = None, False
        for _ in range(_AT_ONCE):
            closing = near & (facts.rate[at] < -slow[at])
            if not self.jumped:
                closing &= before.closed == 0
            if not closing.any():
                break
            y, until, near = self._impact(y, facts, near, closing)
            struck, facts = True, self.look(y)
            slow = np.maximum(slow, facts.rate_rounding)
            if until is not None:
                break
        else:
            raise Stopped("chatter", f"impacts do not end at t = {self.t:.6g}", self.t)
        y, facts, resting = self._rested(y, facts, near, struck, slow)
        struck = struck or bool(self.impacts)
        rests = self._rests(facts, causes, struck, slow[facts.slips])
        away = frozenset(
            j
            for j in range(len(facts.touch.rubs))
            if before.sticks[j] and {gaps + 2 * j, gaps + 2 * j + 1} & set(causes)
        )
        where = np.flatnonzero(resting)
        mode, answer = self._next(y, facts, where, rests, causes, lost, away, struck)
        self.proven &= answer.proven
        self._tell(until, mode, facts)
        return y, mode, answer, facts, near & ~resting

    def _next(
        self, y: np.ndarray, facts: Facts, where: np.ndarray, rests: np.ndarray, causes: list[int],
        lost: frozenset[int], away: frozenset[int], struck: bool,
    ) -> tuple[Mode, Answer]:  # fmt: skip
        """Return the mode that follows, and its forces; what has ended does not go on."""
        before, any_ = self.before, Barred(rounding=self.rounding)
        barred = [any_]
        if lost or away:
            barred.insert(
                0, Barred(lost, away, self._ways(facts, self.forces(y), away), self.rounding)
            )
        if before.redundant and (lost or away) and not struck:
            # Of forces that are not unique, others may still do.
            try:
                following = next_mode(facts, before, where, rests, any_, self.prefer, same=True)
                z, gaps = following[1].z, facts.touch.gaps
                values, noise = standing(facts, following[0], z)
                ended = values <= self.more * noise
                if not ended[causes].any():
                    return following
                # Where none are left, all that is at its limit begins to slide at once.
                full = np.flatnonzero(before.sticks * ended[gaps:].reshape(-1, 2).any(axis=1))
                full = away | frozenset(full.tolist())
                barred.insert(0, Barred(lost, full, self._ways(facts, z, full), self.rounding))
            except Undecided:
                pass
        while True:
            try:
                return next_mode(facts, before, where, rests, barred.pop(0), self.prefer)
            except Undecided as undecided:
                if undecided.kind == "several" or not barred:
                    raise

    def _rested(
        self, y: np.ndarray, facts: Facts, near: np.ndarray, struck: bool, slow: np.ndarray
    ) -> tuple[np.ndarray, Facts, np.ndarray]:
        """Return the state, its facts, and which contacts have no rate.

        What would fall back before it has risen above the rounding of its gap has not left: places
        do not tell whether it bounces.
        """
        held = (self.before.closed > 0) & (not struck and not self.jumped)
        while True:
            rate = facts.rate[facts.gaps]
            resting = near & ((rate <= slow[facts.gaps]) | held)
            low = near & ~resting
            if low.any():
                room = 2 * facts.value_rounding[facts.gaps]
                low &= rate**2 <= room * self._pull(facts, resting)
            if not low.any():
                return y, facts, resting
            ended = frozenset(np.flatnonzero(low).tolist())
            where = np.flatnonzero(resting | low)
            v, z, proven = brought_to_rest(facts, where, ended)
            y, self.proven = self._struck(y, facts, v, z)[0], self.proven and proven
            facts = self.look(y)
            slow, held = np.maximum(slow, facts.rate_rounding), held | low

    def _pull(self, facts: Facts, resting: np.ndarray) -> np.ndarray:
        """Return how fast contacts that part are pulled back, no more than without the others."""
        rows = [*range(facts.fixed), *(facts.fixed + np.flatnonzero(resting)).tolist()]
        a = facts.pulled
        if rows:
            a = a - facts.W[:, rows] @ facts.stopping(rows, a[rows])
        return np.maximum(-a[facts.gaps], 0.0)

    def _held(
        self, y: np.ndarray, facts: Facts, causes: list[int]
    ) -> tuple[np.ndarray, Facts, np.ndarray]:
        """Return the state without what rounding has left of rates that were held, or have ended.

        What moves together with these stops as they do. Also what is rounding of rates.
        """
        slow = facts.rate_rounding
        if self.jumped or not self.before.held.any():
            return y, facts, slow
        slow = slow + DIGITS * abs(self.t) * (np.abs(facts.W) @ np.abs(self.forces(y)))
        gaps, rows = facts.touch.gaps, np.flatnonzero(self.before.held).tolist()
        for j, rub in enumerate(facts.touch.rubs):
            if len(rub.entries) == 1 and gaps + 2 * j in causes and not self.before.sticks[j]:
                rows.append(gaps + rub.entries[0])
        rows = [*range(facts.fixed), *(facts.fixed + row for row in rows)]
        n, after = len(facts.v), y.copy()
        after[n : 2 * n] -= facts.answers[:, rows] @ facts.stopping(rows, facts.rate[rows])
        return after, self.look(after), slow

    # -- impacts --------------------------------------------------------------------------------

    def _impact(
        self, y: np.ndarray, facts: Facts, near: np.ndarray, closing: np.ndarray
    ) -> tuple[np.ndarray, float | None, np.ndarray]:
        """Return the state after an impact, when a series of them ends here, and what is near."""
        v, z, proven = self._after(facts, np.flatnonzero(near))
        self.proven &= proven
        which = np.flatnonzero(closing)
        speed = -float(facts.rate[facts.fixed + which].min())
        rounding = float(facts.value_rounding[facts.fixed + which].max())
        series = self.zeno.ends(self.t, frozenset(which.tolist()), speed, rounding)
        until, crowd = None, self.zeno.crowd if series is None else None
        if crowd is not None:
            end = room_ends(facts, crowd, lambda t, q, v: self.look(np.concatenate([q, v]), t))
            if end is not None and self.zeno.near(self.t, end):
                walls = tuple(facts.touch.names[i] for i in sorted(crowd))
                raise Undecided("none", (), end, True, walls=walls)
        if series is not None:
            until = series[0]
            near = near.copy()
            near[list(series[1])] = True
            v, z, proven = brought_to_rest(facts, np.flatnonzero(near), series[1])
            self.proven &= proven
            self.zeno.clear()
        after, push = self._struck(y, facts, v, z)
        names = facts.touch.names
        size = np.sqrt(np.diag(facts.W))
        # Impulses that are small beside the others are what rounding leaves.
        room = ROUNDING * float(np.max(np.abs(z) * size)) / np.maximum(size[facts.gaps], 1e-300)
        for i in np.flatnonzero(near):
            if push[i] > room[i]:
                self.changes.append(Change(self.t, "impact", names[i], float(push[i])))
        return after, until, near

    def _after(self, facts: Facts, near: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
        """Return velocities after an impact; in no space between opposed walls, their limit."""
        try:
            return after_impact(facts, near, self.prefer)
        except Undecided as end:
            e, rows = facts.restitution[near], facts.fixed + near
            size = np.sqrt(np.diag(facts.W)[rows])
            opposed = facts.W[np.ix_(rows, rows)] < -(1 - FREE) * np.outer(size, size)
            if end.kind != "none" or not (opposed.any() and e.max() > 0 and e.min() < 1):
                raise
            try:
                return after_impact(facts, near, self.prefer, rebounds=False)
            except Undecided:
                raise end from None

    def _struck(
        self, y: np.ndarray, facts: Facts, v: np.ndarray, z: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a state with new velocities, and impulses; note what that did to the energy."""
        n, after = len(v), y.copy()
        after[n : 2 * n] = v
        supplied = -float(z @ facts.drive)
        gained = self.energy(after) - self.energy(y)
        after[2 * n] += supplied
        self.impacts.append((self.t, supplied - gained))
        return after, z[facts.gaps]

    # -- the mode -------------------------------------------------------------------------------

    @staticmethod
    def _ways(facts: Facts, z: np.ndarray, away: frozenset[int]) -> dict[int, tuple[float, ...]]:
        """Return against which forces things begin to slide; others by what moves them then."""
        first, ways = facts.fixed + facts.touch.gaps, {}
        for j in away:
            k = facts.touch.rubs[j].entries[0]
            if facts.rest[k] > facts.moving[k]:
                continue
            force = z[[first + k for k in facts.touch.rubs[j].entries]]
            ways[j] = tuple((-force / max(np.linalg.norm(force), 1e-300)).tolist())
        return ways

    def _rests(self, facts: Facts, causes: list[int], struck: bool, room: np.ndarray) -> np.ndarray:
        """Tell which rubs have no rate: they stuck, have come to rest, or were stopped."""
        touch, rests = facts.touch, np.zeros(len(facts.touch.rubs), dtype=bool)
        rates = facts.rate[facts.slips]
        for j, rub in enumerate(touch.rubs):
            entries = list(rub.entries)
            small = np.linalg.norm(rates[entries]) <= np.linalg.norm(room[entries])
            stuck = self.before.sticks[j] > 0 and not struck and not self.jumped
            ended = touch.gaps + 2 * j in causes and not struck and len(entries) == 1
            rests[j] = small or stuck or ended or j in self.stopped
        return rests

    def _tell(self, until: float | None, mode: Mode, facts: Facts) -> None:
        """Note what has changed from one mode to the next; series of impacts end a little later."""
        t, touch, before = self.t, facts.touch, self.before
        for i in np.flatnonzero(mode.closed != before.closed).tolist():
            kind, late = ("touch", until) if mode.closed[i] else ("lift", None)
            self.changes.append(Change(t if late is None else late, kind, touch.names[i]))
        for j, rub in enumerate(touch.rubs):
            if rub.gap is not None and not (before.closed[rub.gap] and mode.closed[rub.gap]):
                continue
            was, now = before.sticks[j], mode.sticks[j]
            first = rub.entries[0]
            if was != now:
                self.changes.append(Change(t, "stick" if now else "slip", rub.name))
            # On a line that others leave it, a slip along several rates turns round as well.
            elif (
                before.along[first] * mode.along[first] < 0
                if len(rub.entries) == 1
                else (j in self.stopped and not now)
            ):
                self.changes.append(Change(t, "reverse", rub.name))
