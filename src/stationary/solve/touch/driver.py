"""From change to change: the smooth motion in a mode, and what follows where the mode ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from stationary.lower.inputs import Drives
from stationary.lower.kernel import numeric
from stationary.lower.touching import Touching, touching_of
from stationary.result.changes import Change
from stationary.result.status import Status
from stationary.solve.integrators import Runge, Taylor, has_series
from stationary.solve.motion.events import Watch
from stationary.solve.motion.legs import Legs, shortened
from stationary.solve.motion.ode import AbstractIntegrator, BlowUp, Piece, Stopped, joined
from stationary.solve.motion.proven_steps import proven_steps
from stationary.solve.motion.stabilize import natural_rate
from stationary.solve.motion.stiffness import Pace
from stationary.solve.progress import Progress
from stationary.solve.touch.at_instant import Instant
from stationary.solve.touch.at_state import Facts, looks_of
from stationary.solve.touch.crossings import Fresh, Margins, first_end
from stationary.solve.touch.free_flight import flight_of
from stationary.solve.touch.margins import (
    beginning,
    first_of,
    rates_rounding,
    standing,
    stray,
    strength,
)
from stationary.solve.touch.mode import Mode, Undecided, held_at_rest
from stationary.solve.touch.rebound import bounced
from stationary.solve.touch.record import Record
from stationary.solve.touch.slip_onset import begun
from stationary.solve.touch.standstill import at_rest, stands
from stationary.solve.touch.start import moved_by_action
from stationary.solve.touch.words import remarked, undecided
from stationary.solve.touch.zeno import Zeno

# Up to so many rows of contacts and slips one kernel serves all modes.
_FEW = 8

# Changes of mode that follow from each other at one instant.
_AT_ONCE = 100

# What slides along several rates stops where less than this part of the span is left of it.
_STOPS = 1e-9

# What has stopped with something else has no more than this part of its rate left.
_TOGETHER = 0.01

# Where steps break off before something stops, so much may be left of the way.
_BREAKS = 1e-6

# How many steps times states are kept to be asked for between output times.
_DENSE_UP_TO = 1_000_000

# How often rounding is doubled at one instant before it is called chatter.
_DOUBLED = 20

# Looks ahead at what holds a mode together.
_LOOKS = 5

# Violations decay at least so many times over the span: what is held stays where it is. Ten times
# more takes ten times as many steps, ten times less leaves energies to rounding that adds up.
_DECAYS = 1000.0


class TooMany(Exception):
    """Raised where more contacts are closed than shall be followed from change to change."""

    def __init__(self, t: float, y: np.ndarray, closed: np.ndarray):
        self.t, self.y, self.closed = t, y, closed > 0


@dataclass
class Driver:
    """One run; with `most`, only as long as no more contacts are closed."""

    kernel: Touching
    params: np.ndarray
    drives: Drives
    grid: np.ndarray
    smooth: AbstractIntegrator | None
    watch: Watch
    tolerances: tuple[float, float]
    prefer: tuple[str, ...]
    most: int | None = None
    changes: list[Change] = field(default_factory=list)
    began: list[float] = field(default_factory=list)
    starts: list[np.ndarray] = field(default_factory=list)
    modes: list[np.ndarray] = field(default_factory=list)
    impacts: list[tuple[float, float]] = field(default_factory=list)
    struck: list[tuple[float, float]] = field(default_factory=list)
    steps: int = 0
    last: tuple[float, np.ndarray] | None = None
    pieces: list[Piece] = field(default_factory=list)
    record: Record = field(default_factory=Record)
    kept: int = 0
    largest: float = 0.0
    strong: float = 0.0
    stray: float = 0.0
    used: list[str] = field(default_factory=list)
    #: Where modes were too many to try them all.
    unproven: list[float] = field(default_factory=list)
    #: Since when forces that do the same could be others, and which.
    shared: tuple[float, list[str]] | None = None

    def __post_init__(self):
        self.every: dict[Any, Legs] = {}
        self.looks = looks_of(self.kernel)
        self.mode = Mode.nothing(self.kernel.touch)
        self.pace = Pace(float(self.grid[0]), float(self.grid[-1]), looks=True)
        self._use(self.mode)
        self.zeno = Zeno()
        self.rates: dict[bytes, float] = {}
        self.at_once = 0
        self.fresh: dict[int, Fresh] = {}
        self.noise = np.zeros(self.margins.count)
        self.extent = np.zeros(self.kernel.states)

    def _use(self, mode: Mode) -> None:
        """Take the kernel in which the rows of a mode are in play: all, where they are few."""
        touch = self.kernel.touch
        rows, play = touch.gaps + len(touch.dry), None
        if rows > _FEW:
            solved = np.concatenate([mode.held[: touch.gaps], np.abs(mode.along)])
            solved[touch.gaps :] += mode.held[touch.gaps :]
            for rub in touch.rubs:
                # What slides follows the force of its contact.
                if rub.gap is not None and np.any(mode.along[list(rub.entries)]):
                    solved[rub.gap] = 1.0
            play = tuple(np.flatnonzero(solved).tolist())
        if play not in self.every:
            known = self.kernel
            kernel = touching_of(known.graph.system, known.signature, known.rows, play)
            self.every[play] = Legs(
                kernel, np.concatenate([self.params, mode.vector(0.0)]), self.drives, self.grid,
                self.tolerances, False, True, False,
            )  # fmt: skip
        self.legs = self.every[play]
        self.kernel: Touching = self.legs.kernel  # pyright: ignore[reportAttributeAccessIssue]
        self.margins = _margins(self.kernel)
        self.integrator = self.smooth or (Taylor() if has_series(self.kernel) else Runge())
        name = type(self.integrator).__name__
        if name not in self.used:
            self.used.append(name)

    # -- the whole ------------------------------------------------------------------------------

    def run(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, Status]:
        """Return times, states and how it ended."""
        times, states = [self.grid[:1]], []
        progress = Progress(self.kernel.graph.system.name or "simulate")
        status = Status("done", "reached the end of the span")
        try:
            for piece, over in self._solution(y):
                if not states:
                    states.append(self.starts[0][None, :])
                until = piece.t[-1]
                inside = self._outputs(piece.t[0], until)
                if over and (not len(inside) or inside[-1] < until):
                    inside = np.append(inside, until)
                if len(inside):
                    times.append(inside)
                    states.append(piece.evaluate(inside))
                self.last = float(until), piece.end
                self._keep(piece)
                progress.show((until - self.grid[0]) / (self.grid[-1] - self.grid[0]))
                if over:
                    status = Status("event", "stopped at a terminal event")
                    break
        except KeyboardInterrupt:
            status = Status("interrupted", "stopped from the keyboard; what there is was kept")
        except Stopped as end:
            status = Status(end.word, end.message)
        except TooMany as end:
            self.many = end
        except Undecided as end:
            status = Status(end.kind, undecided(end), names=end.modes)
        except BlowUp as end:
            status = Status("blow-up", f"the motion leaves every bound near t = {end.at:.6g}")
        finally:
            progress.close()
        status = remarked(status, self.unproven, self.shared)
        if not states:
            states.append((self.starts[0] if self.starts else y)[None, :])
        t, every = np.concatenate(times), np.concatenate(states)
        if status not in ("done", "event") and self.last is not None and self.last[0] > t[-1]:
            t, every = np.append(t, self.last[0]), np.vstack([every, self.last[1]])
        return t, every, status

    def _keep(self, piece: Piece) -> None:
        self.kept += piece.steps * self.kernel.states
        if self.kept < _DENSE_UP_TO and piece.t[-1] > piece.t[0]:
            self.pieces.append(piece)

    @property
    def dense(self) -> Callable[[np.ndarray], np.ndarray] | None:
        """The function that gives states at any sorted times, if all pieces were kept."""
        if self.kept >= _DENSE_UP_TO or not self.pieces:
            return None
        return joined(self.pieces, self.starts[0])

    def _outputs(self, after: float, until: float) -> np.ndarray:
        low = self.grid.searchsorted(after, "right")
        high = None if until == self.grid[-1] else self.grid.searchsorted(until, "right")
        return self.grid[low:high]

    def _solution(self, y: np.ndarray) -> Iterator[tuple[Piece, bool]]:
        t = float(self.grid[0])
        y = self._settled(t, y, [])
        for end in self.legs.stops.tolist():
            self.legs.enter(t, end, y)
            if t == self.grid[0] and self.watch.awake:
                soon = 1e-5 * (self.grid[-1] - self.grid[0])
                over, acted = self.watch.begin(t, y, self.legs.ode(t).f(t, y), soon)
                if not np.array_equal(acted, y):
                    for first in (self.began, self.starts, self.modes):
                        first.clear()
                    y = self._settled(t, self._acted(t, y, acted), [], jumped=y)
                self.watch.settle(t, y, self.legs.ode(t).f(t, y))
                if over:
                    yield _empty(t, y), True
                    return
            while t < end:
                for piece in bounced(self, t, y, end):
                    t, y, self.steps = float(piece.t[-1]), piece.end, self.steps + 1
                    yield piece, False
                    self.pace.note(t, self.steps)
                    self.pace.require_few()
                for piece in self._arriving(t, y, end):
                    mode = self.modes[-1]
                    piece, y, done, over = self._cut(piece)
                    self.record.note(piece, mode)
                    t = float(piece.t[-1])
                    if t == end and t < self.grid[-1]:
                        shown, y = self.legs.over(t, y)
                    self.steps += piece.steps
                    yield piece, over
                    self.pace.note(t, self.steps)
                    self.pace.require_few()
                    if self.undone is not None:
                        raise self.undone
                    if over:
                        return
                    if done:
                        break

    def _arriving(self, t: float, y: np.ndarray, end: float) -> Iterator[Piece]:
        """Yield the pieces of a stretch, and of one that breaks off where something stops."""
        try:
            for piece in self._stretch(t, y, end):
                yield piece
                t, y = float(piece.t[-1]), piece.end
        except BlowUp:
            if self._stops(t, y, _BREAKS) is None:
                raise
            self.breaks = True
            yield _empty(t, y)
        except np.linalg.LinAlgError:
            raise BlowUp(t) from None

    breaks: bool = False
    #: Since when something slides along several rates.
    slid: float = 0.0

    def _stretch(self, t: float, y: np.ndarray, end: float) -> Iterator[Piece]:
        self._hold(t, y)
        rubs = self.kernel.touch.rubs
        begins = [j for j in self._several() if self.mode.anchor[rubs[j].entries[0]]]
        if begins:
            self.slid = t
            first = begun(self.kernel, tuple(begins), t, y, self.legs.values(t), end, self._floor)
            if first is None:
                names = ", ".join(rubs[j].name for j in begins)
                raise Stopped("stalled", f"no direction was found in which {names} slides", t)
            # From here on it slides along its rate.
            for j in begins:
                self.mode.anchor[list(rubs[j].entries)] = 0.0
            self.modes[-1] = self.mode.vector(self.modes[-1][0])
            self.legs.params = np.concatenate([self.params, self.modes[-1]])
            yield first
            t, y = float(first.t[-1]), first.end
            if t == end:
                return
        elif not self._several():
            self.slid = t
        if self.mode.free and (flight := flight_of(self.kernel)) is not None:
            yield flight.piece(t, y, self.legs.values(t), end)
            return
        if stands(self.kernel, lambda: self.facts(t, y), self.mode, end - t):
            yield at_rest(t, y, end, self._energy)
            return
        ode = replace(self.legs.ode(t), floor=self._floor, stride=1, extent=self.extent)
        given = (self.integrator, ode, t, y, end, self._outputs, self.legs.cut)
        for piece, border in proven_steps(*given, dense=True):
            if border is not None:
                self.border = border
            yield piece
            if border is not None:
                return

    @property
    def _floor(self) -> np.ndarray:
        """What is rounding of ẏ in this mode."""
        decay = (self.grid[-1] - self.grid[0]) / _DECAYS
        return rates_rounding(*self.known, self.strong, decay)

    border: int | None = None

    def _cut(self, piece: Piece) -> tuple[Piece, np.ndarray, bool, bool]:
        """Return a piece up to its first change, the state after it, and whether all is over."""
        try:
            return self._changed(piece)
        except (Undecided, Stopped, TooMany) as end:
            # What led there is kept.
            self.undone, (until, state) = end, self.reached
            kept = shortened(piece, until, state) if until > piece.t[0] else _empty(until, state)
            return kept, state, True, False

    #: Where more contacts closed than are followed, if they did.
    many: TooMany | None = None
    #: What ended the motion at a change, and the time and state before it.
    undone: Exception | None = None
    reached: tuple[float, np.ndarray] = (0.0, np.zeros(0))

    def _changed(self, piece: Piece) -> tuple[Piece, np.ndarray, bool, bool]:
        """Return a piece up to its first change, the state after it, whether it ends, and all."""
        p = self.legs.values(float(piece.t[0]))
        whole = piece.t[-1] > piece.t[0]
        left = first_end(self.margins, piece, p, self.noise, self.fresh) if whole else None
        border, self.border = self.border, None
        if left is not None:
            t, causes = left
            border = None
            if t < piece.t[-1]:
                t = max(t, float(piece.t[0]))
                at = piece.evaluate(np.array([t]))[0]
                piece = shortened(piece, t, at) if t > piece.t[0] else _empty(t, at)
        whole = piece.t[-1] > piece.t[0]
        event = self.watch.look(piece, changes=left is not None) if whole else None
        y, t = piece.end, float(piece.t[-1])
        self.reached = t, y
        if event is not None:
            at_border = left is not None and event.t >= t - 4 * np.spacing(abs(t))
            before = piece.evaluate(np.array([event.t]))[0]
            y = self._acted(event.t, before, event.y)
            self.reached = event.t, before
            piece = shortened(piece, event.t, y)
            t, border = event.t, None
            if event.terminal:
                return piece, y, True, True
            jumped = None if np.array_equal(before, y) else before
            y = self._settled(t, y, left[1] if at_border and left else [], jumped=jumped)
            self.watch.settle(t, y, self.legs.ode(t).f(t, y))
        elif left is not None:
            stop = self._stops(t, y)
            if stop is None:
                y = self._settled(t, y, left[1])
            else:
                piece, y = self._stopped(piece, t, *stop)
                t = float(piece.t[-1])
        elif border is not None:
            y = self.legs.change(t, border, y)
            y = self._settled(t, y, [])
        else:
            self.fresh, self.at_once = {}, 0
            stop = self._stops(t, y, _BREAKS if self.breaks else None)
            self.breaks = False
            if stop is None:
                return piece, y, False, False
            piece, y = self._stopped(piece, t, *stop)
            t = float(piece.t[-1])
        if piece.t[-1] > piece.t[0]:
            self.at_once = 0
            piece = shortened(piece, t, y)
        self.legs.restart(t, self._next_stop(t), y)
        return piece, y, True, False

    def _several(self) -> list[int]:
        """Return what slides along several rates."""
        rubs = self.kernel.touch.rubs
        return [j for j, rub in enumerate(rubs)
                if len(rub.entries) > 1 and np.any(self.mode.along[list(rub.entries)])]  # fmt: skip

    def _stops(
        self, t: float, y: np.ndarray, part: float | None = None
    ) -> tuple[float, list[int]] | None:
        """Return how soon what slides along several rates stops, if at once, and which rubs do.

        Its direction is singular there: steps come close and not over it. What has just begun may
        turn into its direction instead, unless the laws hold it once it is at rest.
        """
        if not self._several():
            return None
        facts, n = self.facts(t, y), self.kernel.size
        f = self.legs.ode(t).f(t, y)
        faster = facts.C @ f[n : 2 * n] + facts.gamma
        span, soon = self.grid[-1] - self.grid[0], {}
        for j in self._several():
            rows = self._rows(facts, j)
            rate = facts.rate[rows]
            speed = float(np.linalg.norm(rate))
            slows = -float(rate @ faster[rows]) / max(speed, 1e-300)
            soon[j] = speed / slows if slows > 0 else np.inf
        soon = {j: left for j, left in soon.items() if left < (part or _STOPS) * span}
        if any(left >= 1e-3 * (t - self.slid) for left in soon.values()):
            stays = held_at_rest(facts, self.mode, list(soon), self.prefer)
            soon = {j: x for j, x in soon.items() if x < 1e-3 * (t - self.slid) or stays[j]}
        if not soon:
            return None
        first = min(soon, key=lambda j: soon[j])
        # A part that comes to rest stops at all its points at once.
        near = self._rows(facts, first)
        which = [j for j in soon if np.any(facts.W[np.ix_(near, self._rows(facts, j))])]
        return max(soon[j] for j in which), which

    def _rows(self, facts: Facts, j: int) -> list[int]:
        first = facts.fixed + facts.touch.gaps
        return [first + k for k in facts.touch.rubs[j].entries]

    def _stopped(
        self, piece: Piece, t: float, soon: float, which: list[int]
    ) -> tuple[Piece, np.ndarray]:
        """Return a piece that goes on to where something stops, and the state there, after it."""
        y, n = piece.end, self.kernel.size
        f = self.legs.ode(t).f(t, y)
        end = max(min(t + soon, float(self.grid[-1])), float(np.nextafter(t, np.inf)))
        after = y + soon * f
        after[:n] += soon**2 / 2 * f[n : 2 * n]
        facts = self.facts(end, after)
        held = facts.fixed + np.flatnonzero(self.mode.held)
        rows = [row for j in which for row in self._rows(facts, j)]
        rows = [*range(facts.fixed), *held.tolist(), *rows]
        stops = facts.stopping(rows, facts.rate[rows])
        before = self._energy(end, after)
        after[n : 2 * n] -= facts.answers[:, rows] @ stops
        # Friction turns with what it stops: the rest of what it takes is that of one impulse.
        supplied = float(stops @ facts.drive[rows])
        after[2 * n :] += supplied, supplied - self._energy(end, after) + before
        was, left = self.facts(t, y).rate, self.facts(end, after).rate
        size = np.linalg.norm
        stopped = {
            j
            for j, rows in ((j, self._rows(facts, j)) for j in self._several())
            if size(left[rows]) <= _TOGETHER * size(was[rows])
        }
        inner = piece

        def evaluate(times: np.ndarray) -> np.ndarray:
            states = inner.evaluate(np.minimum(times, t))
            states += np.maximum(times - t, 0.0)[:, None] * f
            states[times == end] = after
            return states

        longer = replace(piece, t=np.append(piece.t, end), evaluate=evaluate, end=after)
        return longer, self._settled(end, after, [], frozenset(stopped.union(which)))

    def _next_stop(self, t: float) -> float:
        stops = self.legs.stops
        return float(stops[min(np.searchsorted(stops, t, "right"), len(stops) - 1)])

    def _acted(self, t: float, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return the state after the action of an event; note what that did to the energy."""
        if not np.array_equal(before, after):
            self.struck.append((t, self._energy(t, after) - self._energy(t, before)))
            self.zeno.clear()
        return after

    def _energy(self, t: float, y: np.ndarray) -> float:
        n = self.kernel.size
        u = numeric(self.kernel, "inputs")(t, y, self.legs.values(t))[0]
        return numeric(self.kernel.graph, "energies")(t, y[:n], y[n : 2 * n], u, self.params)[0][2]

    # -- changes --------------------------------------------------------------------------------

    def facts(self, t: float, y: np.ndarray) -> Facts:
        """Return what is known at a state."""
        return self.looks(t, y, self.legs.values(t))

    def _settled(
        self, t: float, y: np.ndarray, causes: list[int], stopped: frozenset[int] = frozenset(),
        jumped: np.ndarray | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Return the state after all that happens at an instant, and take the mode that follows.

        An action has brought it here from the state `jumped`.
        """
        self.at_once += 1
        before, moved = self.mode, np.zeros(self.kernel.touch.gaps, dtype=bool)
        if jumped is not None:
            now = self.facts(t, y)
            moved = moved_by_action(self.facts(t, jumped), now)
            before = replace(before, anchor=now.value[now.slips])
        if self.at_once > _AT_ONCE:
            raise Stopped("chatter", f"contacts change ever faster near t = {t:.6g}", t)
        instant = Instant(
            t,
            before,
            lambda y, at=t: self.facts(at, y),
            lambda y: self._energy(t, y),
            lambda y: numeric(self.kernel, "forces")(t, y, self.legs.values(t))[1],
            self.zeno,
            self.prefer,
            0.0 if self.at_once <= 3 else 1e-12 * 2.0 ** min(self.at_once, _DOUBLED),
            self._more,
            stopped,
            jumped is not None,
            moved,
        )
        y, mode, answer, facts, leaves = instant.settle(y, causes)
        self.impacts += instant.impacts
        if not instant.proven:
            self.unproven.append(t)
        # A start is no change, but an impact at once is one.
        self.changes += [c for c in instant.changes if self.began or c.kind == "impact"]
        self._take(t, y, mode)
        self.begin(facts, leaves, answer.z)
        return y

    def _take(self, t: float, y: np.ndarray, mode: Mode) -> None:
        """Go on in a mode."""
        if self.most is not None and mode.closed.sum() > self.most:
            raise TooMany(t, y, mode.closed)
        self.mode = mode
        if mode.redundant and self.shared is None:
            rows = np.flatnonzero(np.concatenate([mode.closed, mode.sticks]))
            names = [*self.kernel.touch.names, *(rub.name for rub in self.kernel.touch.rubs)]
            self.shared = t, list(dict.fromkeys(names[k] for k in rows))
        self._use(mode)
        vector = mode.vector(0.0)
        self.legs.params = np.concatenate([self.params, vector])
        self.began.append(t)
        self.starts.append(y)
        # What is held now has the size of what it was.
        since = np.concatenate([self.starts[0][: self.kernel.size], np.zeros(len(y))])[: len(y)]
        self.extent = np.maximum(self.extent, np.abs(y - since))
        self.modes.append(vector)

    def _hold(self, t: float, y: np.ndarray) -> None:
        """Choose the rate at which violations decay in the mode, before it is integrated."""
        mode, vector = self.mode, self.modes[-1]
        if vector[0] == 0 and (mode.closed.any() or mode.sticks.any() or self.kernel.rows):
            vector[0] = self._rate(t, y, mode)
            self.stray = max(self.stray, stray(self.known[0], mode, vector[0]))
            self.legs.params = np.concatenate([self.params, vector])

    def _rate(self, t: float, y: np.ndarray, mode: Mode) -> float:
        """Return the rate at which violations shall decay in a mode."""
        if mode.key not in self.rates:
            ode, span = self.legs.ode(t), self.grid[-1] - self.grid[0]
            self.rates[mode.key] = max(natural_rate(ode, t, y, span), _DECAYS / span)
        return self.rates[mode.key]

    @property
    def _more(self) -> float:
        """What changes again and again at one instant is rounding, of whatever size."""
        return 2.0 ** min(max(self.at_once - 3, 0), _DOUBLED)

    def begin(self, facts: Facts, leaves: np.ndarray, z: np.ndarray) -> None:
        """Note which margins begin at zero, and how much of each is rounding."""
        values, self.noise = standing(facts, self.mode, z)
        self.noise, more = self._more * self.noise, self._more
        self.strong = max(self.strong, strength(facts, self.mode, z), self._later(facts))
        self.known = facts, z
        turned = np.abs(facts.force) @ np.abs(facts.q)
        turned += np.abs(z) @ (np.abs(facts.C) @ np.abs(facts.q))
        self.largest = max(self.largest, float(turned))
        self.fresh = {
            i: beginning(facts, self.mode, i, z, bool(i < len(leaves) and leaves[i])).rougher(more)
            for i in np.flatnonzero((values <= self.noise) | first_of(leaves, len(values))).tolist()
        }

    def _later(self, facts: Facts) -> float:
        """Return what loads that vary with time will be, as far as a few looks ahead tell."""
        if not self.mode.held.any():
            return 0.0
        y = np.concatenate([facts.q, facts.v, np.zeros(2)])
        times = np.linspace(facts.t, self.grid[-1], _LOOKS)[1:]
        ahead = [self.facts(float(t), y) for t in times]
        return max(float(np.sqrt(abs(f.force @ f.free))) for f in ahead)


@lru_cache(maxsize=256)
def _margins(kernel: Touching) -> Margins:
    return Margins(kernel.margins)


def _empty(t: float, y: np.ndarray) -> Piece:
    return Piece(np.array([t, t]), lambda ts: np.tile(y, (len(ts), 1)), y, 0)
