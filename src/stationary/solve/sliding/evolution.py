"""How it slides over time: between events by a high order, or increment by increment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np

from stationary.errors import DidNotConverge, NoMotion, StatementError, say
from stationary.lower.kernel import kernel_of
from stationary.model.system import System
from stationary.result.slide import Slide
from stationary.result.status import Status
from stationary.solve.arguments import count, times
from stationary.solve.consistent import repaired
from stationary.solve.gate import passed
from stationary.solve.progress import Progress
from stationary.solve.sliding.endings import Ended
from stationary.solve.sliding.flow import Flow
from stationary.solve.sliding.places import GaveUp, Places
from stationary.solve.sliding.principle import (
    require_outside,
    require_potential,
    require_resistance,
    solved,
)
from stationary.solve.sliding.problem import Answer, largest
from stationary.solve.sliding.question import Place, Question, evaluated
from stationary.solve.sliding.strides import State, Strides
from stationary.solve.sliding.telling import failure, step_of

# Changes of what sticks that are still followed one by one.
_MANY = 50
_ROUNDING = 1e-12


def quasistatics(
    system: System,
    *,
    span: Any,
    start: Mapping[Any, Any] | None = None,
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
        Length of the increments. If left out, dry friction along lines is followed exactly: between
        changes every place follows from its balance. Other increments are compared with two halves,
        which may differ by 1e-4 of the largest coordinate (by `rtol` if that is more), and are
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
            say(
                "method must be 'auto', 'events' or 'increments'.",
                f"Found {method!r}.",
                "Choose one of them.",
            )
        )
    if step is not None and not (isinstance(step, Real) and step > 0):
        raise StatementError(say("step must be positive.", f"Found {step!r}.", "Give seconds."))
    q, _ = question.layout.state(start)
    graph = question.sliding.graph
    moved = 0.0
    if question.layout.multipliers:
        state = repaired(graph, question.params, first, q, np.zeros_like(q), repair=repair)
        moved, q = float(np.abs(state.q - q).max()), state.q
    require_outside(question, question.at(first, q))
    grid = np.linspace(first, last, count(points))
    run = _Run(question, grid, rtol, step)
    chosen = method
    if method == "events" and run.bends(q):
        raise StatementError(
            say(
                "method='events' cannot follow this system.",
                "Found forces that depend on the place, and no drag that decides every velocity: "
                "then how forces change decides, and not their power.",
                "Leave method out, or pass method='increments'.",
            )
        )
    if method == "auto":
        chosen = "increments" if step is not None or run.needs_increments(q) else "events"
    status = run.follow(q, chosen, _MANY if method == "auto" else 100 * _MANY)
    if chosen == "events" and method == "auto" and status not in ("done", "interrupted"):
        # What has been found up to the latest kept time stays. Where velocities do not decide,
        # forces that change over an increment may.
        status = run.handed_over(q, status)
    if status not in ("done", "interrupted"):
        run.keep_last(len(q))
    if not run.rows:
        run.keep(first, q, None, question.at(first, q), 0.0, 0.0)
    slide = run.wrapped(status, moved)
    if slide.success:
        return passed(slide, "quasistatics", throw=throw)
    if throw:
        raise run.error(slide)
    return slide


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
    steps: int = 0
    method: str = ""
    evidence: dict[str, float] = field(default_factory=lambda: {"force": 0.0, "gap": 0.0})
    failed: Any = None
    flow: Flow | None = None
    #: Up to here events were followed, and why no further.
    switched: float = np.inf
    reason: str = ""

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
                return int(near.stuck.sum()) > _MANY
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

    @property
    def _fed(self) -> list[float]:
        return [0.0] if self.question.sliding.graph.fed else []

    # -- the two ways -----------------------------------------------------------------------------

    def handed_over(self, q: np.ndarray, status: Status) -> Status:
        """Go on by increments where events ended; where that leads no further, say why they did."""
        kept, ended, events = len(self.rows), self.failed, self.events
        verdict = getattr(getattr(ended, "outcome", None), "verdict", None)
        if verdict is not None and (verdict.locked or status == "jammed"):
            # What holds contradicts what drives: that no force decides.
            return status
        self.reason = str(status.message)
        found = self.follow(q, "increments", 0)
        known = getattr(self.failed, "outcome", None) is not None
        if found in ("done", "interrupted") or known or len(self.rows) > max(kept, 1):
            return found
        self.failed, self.events, self.method = ended, events, "events"
        return status

    def follow(self, q: np.ndarray, method: str, many: int) -> Status:
        """Follow the motion one way; events end where changes become too many."""
        progress = Progress("quasistatics")
        try:
            if method == "events":
                self.method = "events"
                flow = self.flow = Flow(self.question, self.rtol, lambda t: self.show(progress, t))
                try:
                    for t, x, answer, place in flow.run(q, self.grid, many):
                        self.keep(t, x[: len(q)], answer, place, x[len(q)], x[len(q) + 1])
                except Ended as end:
                    self.failed = end
                    return end.status
                finally:
                    self.steps, self.events = flow.steps, flow.events
                return Status("done", "reached the end of the span")
            self.method = "increments"
            if self.flow is not None and self.times:
                self.method, self.switched = "events, then increments", self.times[-1]
                self.events = [t for t in self.events if t <= self.switched]
            return self._increments(q, progress)
        except KeyboardInterrupt:
            return Status("interrupted", "stopped by the keyboard; what there is, is kept")
        finally:
            progress.close()

    def keep_last(self, n: int) -> None:
        """Keep the last good state of a motion that events could not follow any further."""
        end = self.flow.end() if self.flow is not None and self.method == "events" else None
        verdict = getattr(getattr(self.failed, "outcome", None), "verdict", None)
        # Where forces grow without bound the last state is none to rely on.
        relied = end is not None and end[2].right(1e-8) and not (verdict and verdict.locked)
        if end is not None and relied and self.times and end[0] > self.times[-1]:
            t, x, answer, place = end
            self.keep(t, x[:n], answer, place, x[n], x[n + 1])

    def show(self, progress: Progress, t: float) -> None:
        """Show how far it has come."""
        progress.show((t - self.grid[0]) / (self.grid[-1] - self.grid[0]))

    def _increments(self, q: np.ndarray, progress: Progress) -> Status:
        strides = Strides(
            self.question, self.grid, self.step, self.rtol, lambda t: self.show(progress, t)
        )
        lost = given = 0.0
        if self.rows:
            n, fed = len(q), len(self._fed)
            q, (lost, given) = self.rows[-1][:n], self.rows[-1][2 * n + fed :][:2]
        k = max(1, len(self.rows))
        try:
            here = strides.begin(float(self.grid[k - 1]), q, lost, given)
            if not self.rows:
                self.keep(here.t, q, here.answer, here.place, lost, given)
            for x in self._states(strides, here, k):
                self.keep(x.t, x.q, x.answer, x.place, x.lost, x.given, x.v, x.forces)
        except Ended as end:
            self.failed = end
            return end.status
        finally:
            self.steps += strides.steps
            self.events = self.events + strides.events
            if self.step is None:
                self.evidence["increments"] = strides.changed
        return Status("done", "reached the end of the span" + self._remark(strides))

    def _states(self, strides: Strides, here: State, k: int) -> Iterator[State]:
        """Yield the states from the k-th time on: by balance in a mode as far as that leads."""
        if self.step is None and Places.apply(self.question):
            places = Places(self.question, self.grid, strides.show)
            try:
                yield from places.run(here, k)
                return
            except GaveUp as end:
                here, k = end.state, end.k
            finally:
                strides.steps += places.steps
                strides.events += places.events
        yield from strides.run(here, k)

    def _remark(self, strides: Strides) -> str:
        """Tell what became of the steps that were asked for, and of the events."""
        remark = ""
        if self.flow is not None:
            remark += f"; events up to t = {self.switched:.6g}, then increments: {self.reason}"
        if strides.cuts and self.step is not None:
            times = "once" if strides.cuts == 1 else f"{strides.cuts} times"
            remark += (
                f"; an increment of step={self.step:g} was not found and was cut, {times}, down "
                f"to {strides.shortest:.3g}"
            )
        return remark

    def _first(self, place: Place) -> Answer | None:
        """Return what is known of forces and velocities at the start."""
        outcome, _ = solved(self.question, place)
        return outcome.answer if outcome.word in ("moves", "sticks") else None

    # -- results ----------------------------------------------------------------------------------

    def keep(
        self,
        t: float,
        q: np.ndarray,
        answer: Answer | None,
        place: Place,
        lost: float,
        given: float,
        v: np.ndarray | None = None,
        forces: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
    ) -> None:
        """Keep one time; velocities and forces are those of the answer unless they are given."""
        layout = self.question.layout
        mu = np.zeros(sum(r.places.size for r in layout.gaps))
        y, lam, power = np.zeros(self.question.sliding.rates), np.zeros(layout.multipliers), 0.0
        speed = np.zeros_like(q)
        if answer is not None:
            y, lam, mu[place.touching] = forces or (answer.y, answer.lam, answer.mu)
            speed = answer.v if v is None else v
            p = place.problem
            w = (
                p.matrices[0] @ speed
                + evaluated(self.question.sliding, "slips")(
                    place.t, place.q, place.u, self.question.params
                )[1]
            )
            power = float(y @ w)
            self.evidence["force"] = max(self.evidence["force"], answer.residual["force"])
            # The way of an increment may be none, to rounding: then there is no power to compare.
            if v is None or largest(answer.rates) > _ROUNDING * max(1.0, largest(q)):
                self.evidence["gap"] = max(self.evidence["gap"], answer.gap)
        self.times.append(t)
        self.rows.append(np.concatenate([q, speed, self._fed, [lost, given, power], y, lam, mu]))

    def wrapped(self, status: Status, moved: float) -> Slide:
        """Return what there is as a motion."""
        question = self.question
        kernel = kernel_of(question.system, question.drives.signature)
        table = np.array(self.rows)
        width = kernel.states
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
        flow, n = self.flow, self.question.system.size

        def between(at: np.ndarray) -> np.ndarray:
            made = np.array([np.interp(at, times, column) for column in table.T]).T
            if flow is not None and flow.pieces:
                run = replace(self, times=[], rows=[])
                for k in np.flatnonzero(at <= self.switched):
                    x, answer, place = flow.at(float(at[k]))
                    run.keep(float(at[k]), x[:n], answer, place, x[n], x[n + 1])
                    made[k] = run.rows[-1]
            return made

        return between

    def error(self, slide: Slide) -> DidNotConverge:
        """Return the error of a motion that ended early, with the motion in it."""
        end = self.failed
        outcome, place = getattr(end, "outcome", None), getattr(end, "place", None)
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
