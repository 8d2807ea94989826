"""How it slides over time: between events by a high order, or increment by increment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from numbers import Real
from typing import Any

import numpy as np

from stationary.errors import DidNotConverge, NoMotion, StatementError, say
from stationary.lower.kernel import kernel_of
from stationary.model.layout import Start
from stationary.model.system import System
from stationary.result.slide import Slide
from stationary.result.status import Status
from stationary.solve.arguments import count, quiet, times, tolerance
from stationary.solve.consistent import placed
from stationary.solve.gate.claims import passed
from stationary.solve.gate.early_end import Reason
from stationary.solve.progress import Progress
from stationary.solve.sliding.coulomb.modes import motions_at
from stationary.solve.sliding.instant.least_power import (
    require_convex,
    require_gradients,
    require_outside,
    require_potential,
    require_resistance,
    solved,
)
from stationary.solve.sliding.over_time.balance_flow import BalanceFlow
from stationary.solve.sliding.over_time.by_power import PowerFlow
from stationary.solve.sliding.over_time.stretch import State, Stepper, Stretch
from stationary.solve.sliding.over_time.strides import Strides
from stationary.solve.sliding.problem.measure import Measure
from stationary.solve.sliding.problem.numbers import Answer
from stationary.solve.sliding.problem.question import Place, Question
from stationary.solve.sliding.telling.along import evidence_at
from stationary.solve.sliding.telling.endings import Ended
from stationary.solve.sliding.telling.step import failure, step_of

# Changes of what sticks that are still followed one by one.
_MANY = 50
# After some changes their number over the whole span is foreseen: how many times too many end it.
_SOME, _FAR_TOO_MANY = 10, 5
# So many ends of increments between the times that are told are examined.
_BETWEEN = 40

# After so many stretches one looks how far they have led.
_OFTEN = 1000

# Times at which one looks whether other motions would do as well, besides those of changes.
_LOOKS = 17


#: A row of what is kept, what is left over of the forces, and the duality gap.
Kept = tuple[np.ndarray, float, float]


@quiet
def quasistatics(
    system: System,
    *,
    span: Any,
    start: Start | None = None,
    params: Mapping[Any, float] | None = None,
    inputs: Mapping[Any, Any] | None = None,
    points: int = 201,
    method: str = "auto",
    step: float | None = None,
    rtol: float = 1e-9,
    repair: bool = True,
    throw: bool = True,
) -> Slide:
    """Follow how a system slides when its inertia is negligible.

    Parameters
    ----------
    system : System
        Dry friction and drag, energies, loads, constraints and contacts; T is ignored.
    span : tuple
        First and last time.
    start : dict, optional
        The configuration at the first time; coordinates left out are zero.
    params, inputs : dict, optional
    points : int
        Number of times at which the motion is kept, evenly spaced.
    method : "auto", "events" or "increments"
        "events" integrates the velocity of least power with a high order and locates every change
        of what sticks or touches. "increments" minimizes over steps of finite time, of order one,
        as springs with friction and a great many changes need: there it matters how forces change,
        which "events" do not see. "auto" chooses, and goes on by increments where events end.
    step : float, optional
        Length of the increments. If left out, dry friction is followed between its changes, which
        are located: every place follows from its balance. Other increments, as of drag and of what
        has hundreds of unknowns, tell changes roughly: they are compared with two halves,
        which may differ by 1e-4 of the lengths at work (by `rtol` if that is more), and are
        extrapolated to order two where nothing starts or stops to slide. What they differed by in
        all is ``slide.residual["increments"]``.
    rtol : float
        Relative error per step between events.
    repair : bool
        If false, refuse a start that violates a constraint instead of moving it.
    throw : bool
        If false, a motion that ends early is returned with its status.

    Returns
    -------
    Slide
        A `Motion`, with forces of friction and the energy they took.

    Examples
    --------
    A bead dragged by a link of length 1 follows the tractrix:

    >>> x, y = st.coordinates("x y")
    >>> link = st.Constraint(st.norm((x - st.t, y)) - 1, name="link")
    >>> bead = st.System(friction=[st.Friction(1.0, on=(x, y))], constraints=[link])
    >>> slide = st.quasistatics(bead, span=(0, 2), start={x: 0, y: 1})
    >>> print(f"{slide[y][-1]:.9f}, {slide.lost[-1]:.8f}")
    0.265802229, 1.32500275
    """
    first, last = times(span)
    question = Question(system, params, inputs, (first, last))
    require_potential(system)
    if not question.sliding.tangent.nnz_out(0):
        require_resistance(question)
    if method not in ("auto", "events", "increments"):
        raise StatementError(
            "method must be 'auto', 'events' or 'increments'.",
            f"Found {method!r}.",
            "Choose one of them.",
        )
    if step is not None and not (isinstance(step, Real) and step > 0):
        raise StatementError("step must be positive.", f"Found {step!r}.", "Give seconds.")
    q, _ = question.layout.state(start)
    graph = question.sliding.graph
    moved = 0.0
    if question.layout.multipliers:
        there = placed(graph, question.params, first, q, repair=repair)
        moved, q = float(np.abs(there - q).max()), there
    require_gradients(question, question.at(first, q))
    require_outside(question, question.at(first, q))
    require_convex(question.at(first, q, viscous=True))
    _require_joined(question, question.at(first, q))
    grid = np.linspace(first, last, count(points, (first, last), system.size))
    run = _Run(question, grid, tolerance("rtol", rtol), step)
    chosen = method
    if method == "events" and run.bends(q):
        raise StatementError(
            "method='events' cannot follow this system.",
            "Found forces that depend on the place, and no drag that decides every velocity: "
            "then how forces change decides, and not their power.",
            "Leave method out, or pass method='increments'.",
        )
    if method == "auto":
        chosen = "increments" if step is not None or run.needs_increments(q) else "events"
    status = run.follow(q, chosen, _MANY if method == "auto" else 100 * _MANY)
    if chosen == "events" and method == "auto" and status not in ("done", "interrupted"):
        # Where velocities do not decide, forces that change over an increment may.
        run, status = run.handed_over(q, status)
    if not run.rows:
        none = None, question.at(first, q)
        run.keep(State(first, q, np.zeros_like(q), 0.0, 0.0, lambda: none))
    slide = run.wrapped(status, moved)
    if status == "done":
        message = status.message + _undecided(question, slide)
        slide = replace(slide, status=Status("done", message))
    slide = passed(slide, "quasistatics", throw=throw, ended=run.reason(), between=run.between())
    if throw and not slide.success:
        raise run.error(slide)
    return slide


def _undecided(question: Question, slide: Slide) -> str:
    """Say where friction at contacts leaves it open how the motion goes on, as a few looks tell."""
    contacts = [c for c in question.system.contacts if c.friction != 0]
    if not contacts:
        return ""
    looks = np.linspace(slide.t[0], slide.t[-1], _LOOKS)[:-1]
    looks = np.unique(np.concatenate([looks, *slide.events]))[: 2 * _LOOKS]
    for t, q in zip(looks.tolist(), slide.at(looks).q):
        place = question.at(t, q)
        pressed = question.pressed(place)
        rubs = place.touching[np.unique(pressed[pressed >= 0])]
        if not len(rubs) or (len(contacts) == 1 and np.all(place.problem.g < 0)):
            # One contact that approaches has one motion.
            continue
        motions = motions_at(question, place)
        if motions is not None and len(motions.answers) > 1:
            names = ", ".join(question.layout.gap_name(int(i)) for i in rubs)
            return (
                f"; at t = {t:.6g} Coulomb's law at {names} allows {len(motions.answers) - 1} "
                "other motion(s), and does not decide which one follows"
            )
    return ""


def _require_joined(question: Question, place: Place) -> None:
    """Refuse constraints that jump in time: no velocity leads from one place to the other."""
    room = question.known.room
    for t in question.known.switches.tolist():
        before, after = (
            question.evaluate("holds", replace(place, t=x, u=question.inputs(x, place.q)))[0]
            for x in (t - room, t + room)
        )
        off = np.where(question.layout.holonomic, np.abs(after - before), 0.0)
        if np.any(off > question.held(place, 1e-6)):
            worst = int(np.argmax(off))
            raise StatementError(
                f"constraint '{question.layout.row_name(worst)}' jumps at t = {t:.6g}.",
                f"Found R to change by {question.told(replace(place, R=off))[0][worst]:.3g} at "
                "once: no velocity leads there.",
                "State a drive without jumps, as a ramp that is short.",
            )


@dataclass
class _Run:
    """One motion: what has been found of it so far."""

    question: Question
    grid: np.ndarray
    rtol: float
    step: float | None
    times: list[float] = field(default_factory=list)
    rows: list[np.ndarray] = field(default_factory=list)
    events: list[float] = field(default_factory=list)
    stretches: list[Stretch] = field(default_factory=list)
    steps: int = 0
    #: By what it was followed, one after the other.
    ways: list[str] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)
    evidence: dict[str, float] = field(default_factory=lambda: {"force": 0.0, "gap": 0.0})
    failed: Ended | None = None
    stepper: Stepper | None = None
    #: How many changes are followed one by one.
    many: float = np.inf
    #: When and where another way of following it ended, after the latest time that is kept.
    reached: tuple[float, np.ndarray] | None = None
    #: What is to be said besides how it ended.
    remark: str = ""

    @property
    def method(self) -> str:
        """By what it was followed, in words."""
        return ", then ".join(self.ways or ["increments"])

    @property
    def whole(self) -> float:
        """The length of the span."""
        return float(self.grid[-1] - self.grid[0])

    def needs_increments(self, q: np.ndarray) -> bool:
        """Whether velocities do not decide, or too many points at rest wait for their turn."""
        if self.bends(q):
            return True
        if self.question.sliding.tangent.nnz_out(0):
            return False
        if len(self.question.starts) <= _MANY:
            return False
        first, last = float(self.grid[0]), float(self.grid[-1])
        # A drive that starts at this very moment shows in a moment's time.
        for t in (first, first + 1e-9 * (last - first)):
            near = self._first(self.question.at(t, q, viscous=True))
            if near is not None and np.any(near.v):
                # What is rigid starts at once, however many points it rests on.
                return min(int(near.stuck.sum()), near.problem.n) > _MANY
        return False

    def bends(self, q: np.ndarray) -> bool:
        """Whether forces depend on the place, and no drag decides velocities all the same."""
        return bool(self.question.sliding.tangent.nnz_out(0)) and not self._drags(q)

    def _drags(self, q: np.ndarray) -> bool:
        """Whether drag alone decides velocities, however forces change with the place."""
        problem = self.question.at(float(self.grid[0]), q, viscous=True).problem
        if not problem.dense:
            return False
        B, A, _ = problem.matrices
        rows = [A, B[((problem.power > 0) & (problem.size > 0))[problem.term]]]
        if problem.viscous is not None:
            rows.append(np.nan_to_num(problem.viscous(np.ones(problem.n))[2].toarray()))
        rows = np.vstack(rows)
        size = np.maximum(np.abs(rows).max(axis=1, initial=0.0), 1e-300)
        return int(np.linalg.matrix_rank(rows / size[:, None])) == problem.n

    # -- the ways ---------------------------------------------------------------------------------

    def follow(self, q: np.ndarray, method: str, many: float) -> Status:
        """Follow the motion one way; events end where changes become too many."""
        self.many, progress = many if method == "events" else np.inf, Progress("quasistatics")
        self.stepper = None
        try:
            if method == "events":
                self._events(q, progress)
            else:
                self._increments(q, progress)
        except Ended as end:
            self.failed = end
            state = self.stepper.latest() if self.stepper is not None else None
            if state is not None and state.t > self.times[-1]:
                self.keep(state)
            return end.status
        except KeyboardInterrupt:
            return Status("interrupted", "stopped by the keyboard; what there is, is kept")
        finally:
            progress.close()
        return Status("done", "reached the end of the span" + self.remark)

    def handed_over(self, q: np.ndarray, status: Status) -> tuple[_Run, Status]:
        """Go on by increments where events ended; where that leads no further, say why they did."""
        outcome = self.failed.outcome if self.failed else None
        if outcome is not None and (outcome.locked or status == "jammed"):
            # What holds contradicts what drives: that no force decides.
            return self, status
        # What has been found stays: where velocities grow, long increments lead elsewhere.
        kept = sum(t == wanted for t, wanted in zip(self.times, self.grid))
        fits = kept < len(self.times) and self.times[-1] < self.grid[kept]
        latest = len(self.times) - 1 if fits else kept - 1
        last = self.times[latest] if kept else -np.inf
        other = replace(
            self, times=self.times[:kept], rows=self.rows[:kept], gaps=self.gaps[:kept],
            evidence=dict(self.evidence),
            events=[t for t in self.events if t <= last], ways=self.ways[: bool(kept)],
            stretches=[x.until(last) for x in self.stretches if x.first <= last], failed=None,
            reached=(last, self.rows[latest]) if kept else None,
        )  # fmt: skip
        if kept:
            other.remark = f"; events up to t = {last:.6g}, then increments: {status.message}"
        ended = other.follow(q, "increments", 0)
        known = other.failed is not None and other.failed.outcome is not None
        if ended in ("done", "interrupted") or known or len(other.rows) > max(kept, 1):
            return other, ended
        return self, status

    def _events(self, q: np.ndarray, progress: Progress) -> None:
        self.ways.append("events")
        flow = PowerFlow(self.question, (float(self.grid[0]), float(self.grid[-1])), self.rtol)
        self.keep(flow.begin(q))
        self._walk(flow, progress)

    def _increments(self, q: np.ndarray, progress: Progress) -> None:
        strides = Strides(self.question, self.grid, self.step, self.rtol, self.events)
        t, lost, given = float(self.grid[0]), 0.0, 0.0
        if self.reached is not None:
            n, fed = len(q), int(self.question.sliding.graph.fed)
            t, row = self.reached
            q, (lost, given) = row[:n], row[2 * n + fed :][:2]
        here = strides.begin(t, q, lost, given)
        if not self.rows:
            self.keep(here)
        while len(self.rows) < len(self.grid):
            # By balance in a mode as far as that leads; beyond, until another one is clear.
            began, here = self._by_balance(here, bool(strides.steps), progress)
            if len(self.rows) == len(self.grid):
                break
            strides.enter(here, began)
            self._go_by("increments")
            try:
                self._walk(strides, progress)
            finally:
                if not strides.steps and len(self.ways) > 1:
                    # They have told why it ends, and led nowhere.
                    self.ways.pop()
                elif self.step is None:
                    self.evidence["increments"] = strides.changed
            here = strides.here
        if strides.cuts and self.step is not None:
            times = "once" if strides.cuts == 1 else f"{strides.cuts} times"
            self.remark += (
                f"; an increment of step={self.step:g} was not found and was cut, {times}, down "
                f"to {strides.shortest:.3g}"
            )

    def _by_balance(self, here: State, moving: bool, progress: Progress) -> tuple[bool, State]:
        """Go on by balance, as far as that leads; tell whether it did, and where it is."""
        balance = BalanceFlow(self.question, (here.t, float(self.grid[-1])), self.rtol)
        if self.step is not None or not balance.enter(here, moving):
            return False, here
        self._go_by("balance")
        try:
            self._walk(balance, progress)
        except Ended:
            return True, balance.latest() or here
        return True, here

    # -- all of them ------------------------------------------------------------------------------

    def _go_by(self, way: str) -> None:
        if way not in self.ways:
            self.ways.append(way)

    def _walk(self, stepper: Stepper, progress: Progress) -> None:
        """Take stretch after stretch, and keep what they say at the times of the grid."""
        self.stepper, before, ends = stepper, self.steps - stepper.steps, [float(self.grid[0])]
        while len(self.rows) < len(self.grid) and not stepper.yields:
            stretch = stepper.stretch(float(self.grid[len(self.rows)]))
            self.steps = before + stepper.steps
            self.stretches.append(stretch)
            self._keep_along(stretch)
            if stretch.change is not None:
                self._changed(stretch.change, stepper.apart * self.whole)
            ends.append(stretch.last)
            # What hardly moves in so many stretches is not worth following.
            far = ends[-1] - ends[-1 - _OFTEN] if len(ends) % _OFTEN == 1 else np.inf
            if stepper.steps > stepper.most_steps or far < stepper.pace * self.whole:
                raise Ended(Status("too many steps", f"stopped after {stepper.steps} steps"))
            progress.show((stretch.last - self.grid[0]) / self.whole)

    def _keep_along(self, stretch: Stretch) -> None:
        reached = stretch.last
        if not stretch.final:
            reached += 1e-13 * self.whole + 4 * np.spacing(abs(stretch.last))
        first = len(self.rows)
        times = self.grid[first : int(np.searchsorted(self.grid, reached, side="right"))]
        for t, state in zip(times, stretch.at(np.minimum(times, stretch.last))):
            self._keep(float(t), *self._kept(state))

    def _changed(self, t: float, apart: float) -> None:
        """Note a change; end where they are too many to be followed one by one."""
        changes, done = len(self.events), (t - float(self.grid[0])) / self.whole
        # A rope need not be followed to its fiftieth link to see that it has more of them.
        foreseen = changes >= _SOME and changes > _FAR_TOO_MANY * self.many * done
        if changes >= self.many or foreseen:
            message = f"found {changes} changes of what sticks up to t = {t:.6g}"
            raise Ended(Status("too many changes", f"{message}; increments follow better"))
        # How it begins is no change.
        if t - (self.events[-1] if self.events else float(self.grid[0])) > apart:
            self.events.append(t)

    def _first(self, place: Place) -> Answer | None:
        """Return what is known of forces and velocities at the start."""
        outcome, _ = solved(self.question, place)
        return outcome.answer if outcome.word in ("moves", "sticks") else None

    # -- results ----------------------------------------------------------------------------------

    def keep(self, state: State) -> None:
        """Keep what is known at one time."""
        self._keep(state.t, *self._kept(state))

    def _keep(self, t: float, row: np.ndarray, force: float, gap: float) -> None:
        self.times.append(t)
        self.rows.append(row)
        self.gaps.append(float(gap))
        self.evidence["force"] = max(self.evidence["force"], float(force))

    def _kept(self, state: State) -> Kept:
        """Return what is kept of a state, what is left over of its forces, and its duality gap."""
        question, forces, evidence = self.question, state.forces, None
        if state.tells and forces is not None:
            evidence = evidence_at(question, state.t, state.q, state.v, forces)
        if forces is None or evidence is None:
            answer, place, left, gap = state.answer, state.place, 0.0, 0.0
            if answer is not None:
                # The way of an increment may be none, to rounding: then no power can be compared.
                compares = "increments" not in self.ways or np.any(
                    answer.speeds > 100 * Measure(question, place).rests
                )
                left, gap = answer.imbalance, answer.gap if compares else 0.0
            if forces is None:
                y, lam, mu = (np.zeros(x) for x in question.forces)
                if answer is not None:
                    y, lam, mu[place.touching] = answer.forces
                forces = y, lam, mu
            evidence = float(forces[0] @ place.problem.rates(state.v)), left, gap
        power, left, gap = evidence
        # There is room for the energy that is fed, where it is. Forces are told as stated.
        fed, forces = np.zeros(int(question.sliding.graph.fed)), question.stated(*forces)
        energies = [state.lost, state.given, power]
        return np.concatenate([state.q, state.v, fed, energies, *forces]), left, gap

    def wrapped(self, status: Status, moved: float) -> Slide:
        """Return what there is as a motion."""
        question = self.question
        kernel = kernel_of(question.system, question.drives.signature)
        table = np.array(self.rows)
        width, n = kernel.states, question.system.size
        # Where it is about to rest there is next to no power to compare: beside that of the rest.
        speeds = np.abs(table[:, n : 2 * n] * question.levers).max(axis=1, initial=0.0)
        fastest = float(speeds.max(initial=0.0)) or 1.0
        self.evidence["gap"] = float(np.max(np.array(self.gaps) * speeds / fastest, initial=0.0))
        return Slide(
            system=question.system,
            t=np.array(self.times),
            y=table[:, :width],
            more=table[:, width:],
            params=question.params,
            kernel=kernel,
            drives=question.drives,
            status=status,
            steps=self.steps,
            method=self.method,
            events=(np.array(self.events),),
            repaired=moved,
            evidence=dict(self.evidence),
            dense=self._dense(np.array(self.times), table),
        )

    def _dense(self, times: np.ndarray, table: np.ndarray):
        stretches, ends = self.stretches, [x.last for x in self.stretches]

        @cache
        def kept() -> tuple[np.ndarray, np.ndarray]:
            """Return all times and states at which increments end, besides those that are kept."""
            more = {x.last: x for x in stretches if not x.known and x.last not in times}
            rows = [self._kept(x.at(np.array([x.last]))[0])[0] for x in more.values()]
            every, rows = np.append(times, list(more)), np.vstack([table, *rows])
            return np.sort(every), rows[np.argsort(every)]

        def between(at: np.ndarray) -> np.ndarray:
            known, rows = kept()
            states = np.array([np.interp(at, known, column) for column in rows.T]).T
            which = np.searchsorted(ends, at)
            which[np.isin(at, times)] = len(ends)
            for i in np.unique(which[which < len(ends)]):
                of = np.flatnonzero((which == i) & (stretches[i].first <= at))
                if stretches[i].known and len(of):
                    of = of[np.argsort(at[of])]
                    states[of] = [self._kept(state)[0] for state in stretches[i].at(at[of])]
            return states

        return between

    def between(self) -> list[float]:
        """Return times at which increments end that are not told: some, spread over all."""
        ends = [x.last for x in self.stretches if not x.known and x.last not in self.times]
        return ends[:: 1 + len(ends) // _BETWEEN]

    def reason(self) -> Reason | None:
        """Return what proves that it ends where it does, if something does."""
        outcome, place = (self.failed.outcome, self.failed.place) if self.failed else (None, None)
        if outcome is None or place is None or not self.stepper:
            return None
        locks, rows, gaps = outcome.locks, outcome.rows, outcome.gaps
        if rows is not None and gaps is not None:
            every, forces = np.zeros(len(place.gap)), locks
            every[place.touching] = gaps
            none = np.zeros(self.question.sliding.rates)
            forces, rows, gaps = self.question.stated(none if locks is None else locks, rows, every)
            locks = None if locks is None else forces
        return Reason(
            place.t, place.q, place.u, rows, gaps, locks, outcome.ray, outcome.rubs,
            outcome.stiffness,
        )  # fmt: skip

    def error(self, slide: Slide) -> DidNotConverge:
        """Return the error of a motion that ended early, with the motion in it."""
        end = self.failed
        outcome, place = (end.outcome, end.place) if end else (None, None)
        if outcome is not None and place is not None and outcome.word in ("accelerates", "jammed"):
            step = step_of(self.question, place, outcome)
            inner = failure(self.question, place, outcome, step)
            assert isinstance(inner, NoMotion)
            return NoMotion(
                f"at t = {slide.t[-1]:.6g} " + str(inner), kind=inner.kind, solution=slide,
                direction=inner.direction, names=inner.names,
            )  # fmt: skip
        return DidNotConverge(
            say(
                f"quasistatics stopped at t = {slide.t[-1]:.6g}.",
                f"{slide.status.message[0].upper()}{slide.status.message[1:]}.",
                "The motion so far is in error.solution; try method='increments' with a small "
                "step.",
            ),
            status=str(slide.status),
            solution=slide,
        )
