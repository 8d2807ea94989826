"""One integration: from pieces of an integrator to a motion on a grid."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from stationary.errors import StatementError
from stationary.lower.kernel import AbstractKernel, numeric
from stationary.result.motion import Motion
from stationary.result.state import State
from stationary.result.status import Status
from stationary.solve.consistent import projected
from stationary.solve.inertia import completed_by_rows
from stationary.solve.integrators import BDF, Runge, Taylor, Variational, has_series
from stationary.solve.motion.endings import Ends
from stationary.solve.motion.events import Watch
from stationary.solve.motion.legs import Legs, ending, shortened
from stationary.solve.motion.ode import AbstractIntegrator, BlowUp, MassLost, Ode, Piece, Stopped
from stationary.solve.motion.proven_steps import proven_steps
from stationary.solve.motion.rank_margin import Rows, rows_of
from stationary.solve.motion.singular_passage import BESIDE, Crossings, refuse_forks
from stationary.solve.motion.stabilize import Baumgarte, Projection, natural_rate
from stationary.solve.motion.stiffness import Pace
from stationary.solve.progress import Progress

DONE = Status("done", "reached the end of the span")
EVENT = Status("event", "stopped at a terminal event")
INTERRUPTED = Status("interrupted", "stopped from the keyboard; what there is was kept")

# How many steps times states are kept for `Motion.at`; beyond it the motion is integrated again.
_DENSE_UP_TO = 1_000_000


@dataclass
class Run:
    """One integration: from pieces of an integrator to a motion on a grid."""

    kernel: AbstractKernel
    params: np.ndarray
    state: State
    stabilize: Baumgarte | Projection
    grid: np.ndarray
    legs: Legs
    watch: Watch
    integrator: AbstractIntegrator
    may_change: bool
    again: Callable[[Motion], float]
    # The start, which this run may disturb: events that are zero there are left from there.
    stated: np.ndarray
    # Every second stop, from this one on, is left too late by the last digit of time.
    late: int | None = None
    pieces: list[Piece] = field(default_factory=list)
    last: Piece | None = None
    held: int = 0
    steps: int = 0
    crossed: float = 0.0
    used: list[str] = field(default_factory=list)
    struck: list[tuple[float, float]] = field(default_factory=list)
    #: The state that events at the start have left.
    begun: np.ndarray | None = None

    def __post_init__(self):
        self.pace = Pace(float(self.grid[0]), float(self.grid[-1]))

    def motion(self, y: np.ndarray) -> Motion:
        """Integrate over the whole grid and wrap up what came out."""
        progress = Progress(self.kernel.graph.system.name or "simulate")
        times, states = [], []
        status = DONE
        try:
            for piece, end in self._solution(y):
                inside = self._inside(piece, end)
                if len(inside):
                    times.append(inside)
                    states.append(piece.evaluate(inside))
                self._hold(piece)
                progress.show((piece.t[-1] - self.grid[0]) / (self.grid[-1] - self.grid[0]))
                if end is not None:
                    status = EVENT
                    break
        except KeyboardInterrupt:
            status = INTERRUPTED
        except Stopped as end:
            status = Status(end.word, end.message)
        except BlowUp as end:
            status = self._ends.why(self.legs.ode(float(self.grid[0])), self.last, end.at)
        finally:
            progress.close()
        if not times:
            times, states = [self.grid[:1]], [y[None, :]]
        t, y_all = np.concatenate(times), np.concatenate(states)
        y_all[0] = self.legs.extra(float(self.grid[0]), y if self.begun is None else self.begun)
        return self._wrapped(t, y_all, status)

    def _wrapped(self, t: np.ndarray, y_all: np.ndarray, status: Status) -> Motion:
        last, n = self.last, self.kernel.size
        if status not in ("done", "event") and last is not None and last.t[-1] > t[-1]:
            # The last good state is worth having even between two output times.
            t, y_all = np.append(t, last.t[-1]), np.vstack([y_all, last.end])
        rates = self.legs.rates if self.legs.stays else None
        return Motion(
            system=self.kernel.graph.system,
            t=t,
            y=y_all,
            params=self.params,
            kernel=self.kernel,
            drives=self.legs.drives,
            status=Status(str(status), status.message + self.legs.remark, remedy=status.remedy),
            steps=self.steps,
            crossed=self.crossed,
            method=" then ".join(self.used),
            events=self.watch.happened,
            struck=tuple(self.struck),
            actions=self.watch.acting,
            alpha=self.legs.alpha,
            repaired=self.state.moved,
            redundant=self.state.redundant,
            dense=self._dense(t, y_all),
            again=self.again,
            stuck=None if rates is None else rates(t, y_all)[:, n : 2 * n],
            rates=rates,
            law=self.legs.law if self.legs.switched else None,
        )

    def require_finite(self, y: np.ndarray) -> None:
        """Refuse a start at which forces are not finite."""
        rates = self.legs.ode(self.grid[0]).f(self.grid[0], y)
        finite = np.isfinite(rates)
        if not finite.all():
            bad = np.flatnonzero(~finite)
            name = self.kernel.layout.name(int(bad[0]) % self.kernel.size)
            raise StatementError(
                f"the forces are not finite at the start: '{name}' cannot be accelerated.",
                f"Found no finite acceleration at t = {self.grid[0]:g}.",
                "Start elsewhere, or check the energies for divisions by zero there.",
            )

    def _rate(self, y: np.ndarray, t: float) -> float:
        """Return the rate at which violations of the constraints shall decay."""
        if not self.kernel.rows or isinstance(self.stabilize, Projection):
            return 0.0
        if self.stabilize.alpha is not None:
            return self.stabilize.alpha
        ode = self.legs.ode(t)
        rate = natural_rate(ode, t, y, self.grid[-1] - self.grid[0])
        if isinstance(self.integrator, Taylor):
            # As fast as the steps are short: a decay that they follow without effort. What makes
            # them short beside a singular configuration does so only there.
            left = 1.0 if self._rows is None else self._rows.left(np.array([t]), y[None, :])[0]
            part = left if left < BESIDE else 1.0
            rate = max(rate, 0.5 * part / self.integrator.first_steps(ode, t, y))
        return rate

    def _loose(self) -> bool:
        """Whether states are to be put onto the constraints that the integrator leaves."""
        chosen = isinstance(self.stabilize, Baumgarte) and self.stabilize.alpha is None
        return chosen and bool(self.kernel.rows) and not isinstance(self.integrator, Taylor)

    @cached_property
    def _ends(self) -> Ends:
        fed = np.zeros(self.kernel.states - 2 * self.kernel.size)
        start = np.concatenate([self.state.q, self.state.v, fed])
        return Ends(self.kernel, self.params, float(self.grid[0]), start, self._rows)

    def _solution(self, y: np.ndarray) -> Iterator[tuple[Piece, float | None]]:
        """Yield pieces from the first time to the last, and the time of a terminal event.

        Inputs, branches and the integrator change between them.
        """
        t = float(self.grid[0])
        stops = self.legs.other_stops
        if self.kernel.rows and isinstance(self.stabilize, Projection):
            projecting = frozenset(self.grid[1:].tolist())
            stops = np.union1d(stops, self.grid[1:])
        else:
            # Where constraints move by a jerk, the size of the errors is that of the jerk.
            projecting = self.legs.peaks if self.kernel.rows else frozenset()
        self.legs.seen(y)
        for k, end in enumerate(stops.tolist()):
            if k and self.late is not None and (k + self.late) % 2:
                t = float(np.nextafter(t, end))
            self.legs.enter(t, end, y)
            if t == self.grid[0]:
                if not isinstance(self.integrator, Taylor):
                    self.require_finite(y)
                if self.state.redundant:
                    rates = self.legs.ode(t).f(t, y)
                    refuse_forks(self.kernel.graph, self.params, t, self.state, rates)
                self.legs.alpha = self._rate(y, t)
                over, y = self._begun(t, y)
                if over:
                    yield Piece(np.array([t, t]), lambda ts: np.tile(y, (len(ts), 1)), y, 0), t
                    return
            while t < end:
                try:
                    for piece, border in self._segment(t, y, end):
                        event = self.watch.look(piece)
                        if event is not None:
                            before = piece.evaluate(np.array([event.t]))[0]
                            after = self._struck(event.t, before, event.y)
                            piece = shortened(piece, event.t, after)
                        self.steps += piece.steps
                        t, y = float(piece.t[-1]), piece.end
                        if self._loose() and not piece.exact:
                            piece = self._settled(piece, t == end < self.grid[-1])
                        self.legs.seen(y)
                        if t == end and t in projecting:
                            y = self.legs.changed = self._projected(t, y)
                            piece = ending(piece, y)
                        if t == end < self.grid[-1] and (event is None or not event.terminal):
                            try:
                                shown, y = self.legs.over(t, y)
                            except Stopped:
                                yield piece, None
                                raise
                            piece = piece if shown is y else ending(piece, shown)
                        if t == self.grid[-1]:
                            shown = self.legs.extra(t, y)
                            piece = piece if shown is y else ending(piece, shown)
                        over = event is not None and event.terminal
                        yield piece, t if over else None
                        if event is not None:
                            self.legs.restart(t, end, y)
                            self.watch.settle(t, y, self.legs.ode(t).f(t, y))
                            break
                        if border is not None:
                            y = self.legs.change(t, border, y)
                            break
                        self.pace.note(t, self.steps)
                        if not isinstance(self.integrator, Variational):
                            self.pace.require_few()
                        self.pace.own = self.legs.alpha
                        if self.may_change and self.pace.slow(self.legs.ode(t), y):
                            self.integrator, self.may_change = BDF(), False
                            self.legs.alpha = self._rate(y, t)
                            break
                        if isinstance(self.integrator, Runge):
                            self.pace.require_end(self.legs.ode(t), y)
                except BlowUp:
                    self._require_mass(t, y)
                    if not self.steps:
                        self.require_finite(y)
                    fixed = isinstance(self.integrator, Variational)
                    if not fixed and self.legs.rounded_off(t, y):
                        # As dry friction in a plane, where it comes to rest.
                        self.integrator, self.may_change = BDF(), False
                        continue
                    stuck = isinstance(self.integrator, Runge) and not self._ends.lost(self.last)
                    stiffness = self.pace.stuck(self.legs.ode(t), t, y) if stuck else ""
                    if stiffness and not self.may_change:
                        raise Stopped("stiff", stiffness, t) from None
                    if stiffness:
                        self.integrator, self.may_change = BDF(), False
                        continue
                    # A force may be finite and yet have no series, as |v|v at rest.
                    series = self.may_change and isinstance(self.integrator, Taylor)
                    if self._ends.lost(self.last) and (series or fixed or not self._series()):
                        raise
                    if series:
                        self.integrator = Runge()
                    elif not self.legs.whole():
                        if fixed or not self._series():
                            raise
                        # What ends others may not end series, which then may be slow.
                        self.integrator, self.may_change = Taylor(), True

    def _require_mass(self, t: float, y: np.ndarray) -> None:
        """Ask for a mass matrix completed by rows, if it is but for them that there is none."""
        kernel, n = self.kernel, self.kernel.size
        if not kernel.rows or kernel.sizes or not np.isfinite(y).all():
            return
        start = float(self.grid[0]), self.stated[:n]
        if sizes := completed_by_rows(kernel.graph, self.params, start, t, y[:n]):
            raise MassLost(sizes)

    def _series(self) -> bool:
        """Whether there are series, and they have not been tried."""
        kernel = self.kernel if self.legs.branches is None else self.legs.branches.now
        return Taylor.__name__ not in self.used and has_series(kernel)

    def _projected(self, t: Any, y: np.ndarray) -> np.ndarray:
        """Put one state, or those of several times, onto the constraints."""
        n, sizes = self.kernel.size, None if self._rows is None else self._rows.sizes
        q, v = projected(self.kernel.graph, self.params, t, y[..., :n], y[..., n : 2 * n], sizes)
        return np.concatenate([q, v, y[..., 2 * n :]], axis=-1)

    def _settled(self, piece: Piece, last: bool) -> Piece:
        """Return a piece whose states lie on the constraints, whatever the tolerance.

        The end of the last piece of a leg still has its law, and not that of the next one.
        """
        end = np.nextafter(piece.t[-1], -np.inf) if last else piece.t[-1]

        def evaluate(times: np.ndarray) -> np.ndarray:
            return self._projected(np.minimum(times, end), piece.evaluate(times))

        return replace(piece, evaluate=evaluate)

    def _begun(self, t: float, y: np.ndarray) -> tuple[bool, np.ndarray]:
        """Look for events at the start: whether they end the motion, and what they make of it."""
        if not self.watch.awake:
            return False, y
        soon = 1e-5 * (self.grid[-1] - self.grid[0])
        over, acted = self.watch.begin(t, self.stated, self.legs.ode(t).f(t, self.stated), soon)
        self.begun = self._struck(t, y, np.where(acted == self.stated, y, acted))
        self.watch.settle(t, self.begun, self.legs.ode(t).f(t, self.begun))
        return over, self.begun

    def _struck(self, t: float, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return the state after an event, on the constraints; note what that did to the energy."""
        if np.array_equal(before, after):
            return after
        after = self._projected(t, after) if self.kernel.rows else after
        energies = [self._energy(t, y) for y in (before, after)]
        self.struck.append((t, energies[1] - energies[0]))
        return after

    def _energy(self, t: float, y: np.ndarray) -> float:
        n = self.kernel.size
        u = numeric(self.kernel, "inputs")(t, y, self.legs.values(t))[0]
        return numeric(self.kernel.graph, "energies")(t, y[:n], y[n : 2 * n], u, self.params)[0][2]

    def _segment(
        self, t: float, y: np.ndarray, end: float, patient: bool = False
    ) -> Iterator[tuple[Piece, int | None]]:
        """Yield pieces of one leg, and the border of its branch at which the last one ends."""
        name = type(self.integrator).__name__
        if not self.used or self.used[-1] != name:
            self.used.append(name)
        ode, end = self.legs.begin(t, end, self.integrator)
        fixed = isinstance(self.integrator, Variational)
        looks = self._crossings if not fixed else None
        if looks:
            # What came before was moved by another law, or from another state.
            looks.known.clear()
        dense = self.watch.awake or self.legs.watching or looks is not None
        ode = replace(ode, patient=patient or not looks)
        try:
            decays = partial(self.pace.decays, ode)
            given = (self.integrator, ode, t, y, end, self._outputs, self.legs.cut)
            for piece, border in proven_steps(*given, dense=dense, sound=decays):
                stood = self._crossings.stands(ode, piece) if self._crossings and fixed else None
                if stood is not None:
                    yield shortened(piece, stood, piece.evaluate(np.array([stood]))[0]), None
                    raise BlowUp(stood)
                way = looks.look(ode, y, piece) if looks else None
                if way is not None:
                    yield way.up_to(piece, end), None
                    yield self._crossing(way.over(), ode), None
                    return
                yield piece, border
                t, y = float(piece.t[-1]), piece.end
        except BlowUp:
            # It may have stopped before a singular configuration that it does not see beyond.
            over = looks.beyond(ode, t, y, end) if looks else None
            if over is not None:
                yield self._crossing(over, ode), None
            elif ode.patient or not isinstance(self.integrator, BDF) or self._series():
                raise
            else:
                yield from self._segment(t, y, end, patient=True)

    def _crossing(self, over: Piece, ode: Ode) -> Piece:
        """Note how well a singular configuration is passed; no kink may hide in what is passed."""
        if self.legs.cut(over, ode, self.integrator)[1] is not None:
            raise BlowUp(float(over.t[0]))
        self.crossed += over.error
        return over

    @cached_property
    def _rows(self) -> Rows | None:
        return rows_of(self.kernel, self.params, float(self.grid[0]), self.state)

    @cached_property
    def _crossings(self) -> Crossings | None:
        """What looks for singular configurations."""
        return Crossings(self._rows) if self._rows and len(self.state.rows) else None

    def _outputs(self, after: float, until: float) -> np.ndarray:
        """Output times after one time, until another; the first of all is after its own."""
        low = 0 if after == self.grid[0] else self.grid.searchsorted(after, "right")
        high = None if until == self.grid[-1] else self.grid.searchsorted(until, "right")
        return self.grid[low:high]

    def _inside(self, piece: Piece, end: float | None) -> np.ndarray:
        """Output times of a piece: those of the grid, and the end of the motion if it is here."""
        until = piece.t[-1] if end is None else end
        inside = self._outputs(piece.t[0], until)
        if end is not None and (not len(inside) or inside[-1] < end):
            inside = np.append(inside, end)
        return inside

    # -- states between output times ------------------------------------------------------------

    def _hold(self, piece: Piece) -> None:
        self.held += piece.steps * self.kernel.states
        if piece.dense and self.held < _DENSE_UP_TO:
            self.pieces.append(piece)
        self.last = piece

    def _dense(self, t: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function that gives states at any sorted times of the motion."""

        def states(times: np.ndarray) -> np.ndarray:
            known = np.empty((len(times), y.shape[1]))
            before = np.searchsorted(t, times, "right") - 1
            for k in np.unique(before):
                here = before == k
                wanted, where = np.unique(times[here], return_inverse=True)
                known[here] = self._after(float(t[k]), y[k], wanted)[where]
            return known

        return states

    def _after(self, t: float, y: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return the states at sorted times shortly after a known state."""
        for piece in self.pieces:
            if piece.t[0] <= t and times[-1] <= piece.t[-1]:
                return piece.evaluate(times)
        states = [y[None, :]] * int(np.sum(times == t))
        ahead = times[times > t]
        for leg, begin, end in self.legs.between(t, float(times[-1])):
            if leg.y is not None and leg.t > t:
                y = leg.y
            t, grid = begin, ahead[(ahead > begin) & (ahead <= end)]
            way = leg.by.pieces(leg.ode, t, y, end, grid=grid, dense=False)
            for piece in way if t < end else ():
                inside = grid[(grid > piece.t[0]) & (grid <= piece.t[-1])]
                if len(inside):
                    states.append(piece.evaluate(inside))
                y = piece.end
        return np.concatenate(states)
