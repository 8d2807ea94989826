"""How it moves: Lagrange's equations integrated over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from stationary.errors import DidNotConverge, StatementError, did_you_mean, say
from stationary.lower.inputs import Drives, drives
from stationary.lower.kernel import Kernel, graph_of, kernel_of, numeric
from stationary.model.system import System
from stationary.result.motion import Motion
from stationary.result.status import Status
from stationary.solve.asked import count, refuse_unsmooth, stabilization, times, tolerance
from stationary.solve.consistent import State, projected, repaired
from stationary.solve.events import Event, Watch, as_events
from stationary.solve.evidence import with_evidence
from stationary.solve.inertia import EXAMINE_UP_TO, check_inertia, require_system
from stationary.solve.integrators import BDF, Runge, Taylor, Variational
from stationary.solve.linear import tangent_basis
from stationary.solve.ode import AbstractIntegrator, BlowUp, Ode, Piece, trusted
from stationary.solve.progress import Progress
from stationary.solve.stabilize import Baumgarte, Projection, natural_rate

DONE = Status("done", "reached the end of the span")
EVENT = Status("event", "stopped at a terminal event")
INTERRUPTED = Status("interrupted", "stopped from the keyboard; what there is was kept")

# A run that would take more steps than this is examined for stiffness.
_MANY_STEPS = 100_000

# Rates this close to that at which violations decay are that one.
_OWN = 0.1

# Rows whose smallest singular value has come down by this much are about to lose one of them.
_SINGULAR = 0.05

# However smooth a motion begins, it is looked at this many times; once for every output where a
# push may yet come of which a series knows nothing.
_FEWEST_STEPS = 16

# How many steps times states are kept for `Motion.at`; beyond it the motion is integrated again.
_DENSE_UP_TO = 1_000_000


def simulate(
    system: System,
    *,
    span: tuple[float, float],
    start: Mapping[Any, Any] | None = None,
    params: Mapping[Any, float] | None = None,
    inputs: Mapping[Any, Any] | None = None,
    points: int = 1001,
    events: Sequence[Event] = (),
    method: Any = "auto",
    stabilize: Baumgarte | Projection | None = None,
    repair: bool = True,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    throw: bool = True,
) -> Motion:
    """Find how a system moves, and the forces that hold it to its constraints.

    Integrates d/dt ∂L/∂q̇ − ∂L/∂q = Q + Aᵀλ with L = T − U + W, under R(q, t) = 0 and
    A(q) q̇ + b(q, t) = 0.

    Parameters
    ----------
    system : System
    span : pair of float
        First and last time.
    start : dict, optional
        Coordinates and velocities at the first time, by symbol or by name (``"theta.dot"``); what
        is left out is zero.
    params : dict, optional
        Values of parameters, by symbol or by name; the others have their defaults.
    inputs : dict, optional
        For every input a number, an expression of `t`, coordinates and velocities, or samples:
        ``(times, values)``, interpolated linearly.
    points : int
        Number of evenly spaced output times. A pulse much narrower than their spacing may be
        stepped over.
    events : list of Event, optional
        Expressions whose zeros are located; a terminal one ends the motion.
    method : "auto" or integrator
        `Taylor`, `BDF`, `Runge`, `Variational`. ``"auto"`` takes Taylor series where forces are
        smooth, changes to BDF where the steps turn out to be limited by stability, and takes
        Runge–Kutta otherwise.
    stabilize : Baumgarte or Projection, optional
        How the motion is kept on its constraints. Left out, violations decay at the system's own
        rate, which keeps them near rounding.
    repair : bool
        Whether a start that violates a constraint is moved, by as little as possible; if false it
        is refused. ``motion.repaired`` says by how much.
    rtol, atol : float
        Tolerances; Taylor series always work to rounding.
    throw : bool
        If false, a motion that ends early is returned with its status instead of raised.

    Returns
    -------
    Motion

    Raises
    ------
    DidNotConverge
        When the motion blows up; the motion up to then is ``error.solution``.

    Examples
    --------
    >>> theta = st.coordinates("theta")
    >>> m, l, g = st.parameters(m=1.0, l=1.0, g=9.81)
    >>> pendulum = st.System(
    ...     kinetic=m * l**2 * theta.dot**2 / 2, potential=-m * g * l * st.cos(theta)
    ... )
    >>> motion = st.simulate(pendulum, span=(0, 10), start={theta: 0.5})
    >>> motion.status
    'done'
    """
    require_system(system)
    first, last = times(span)
    points = count(points)
    watched = as_events(events)
    rtol, atol = tolerance("rtol", rtol), tolerance("atol", atol)
    graph = graph_of(system)
    # Equal statements share one graph, and what was found out about the first of them.
    system, layout = graph.system, graph.layout
    values = layout.values(params)
    refuse_unsmooth(system, values)
    driven = drives(layout, inputs, (first, last))
    state = repaired(graph, values, first, *layout.state(start, values), repair=repair)
    sizes = check_inertia(graph, values, first, state.q, state.v)
    # A Newton step of the variational integrator needs rows that are independent.
    damped = bool(state.redundant) and not isinstance(method, Variational)
    rows = tuple(range(layout.multipliers)) if damped else state.rows
    kernel = kernel_of(system, driven.signature, rows, damped, sizes)
    y = np.zeros(kernel.states)
    y[: kernel.size], y[kernel.size : 2 * kernel.size] = state.q, state.v

    def run(prove: bool) -> Motion:
        made = _Run(
            kernel=kernel,
            params=values,
            drives=driven,
            state=state,
            stabilize=stabilization(stabilize),
            grid=_grid(first, last, points),
            watch=Watch(watched, kernel, values),
            integrator=_choose(method, kernel),
            may_change=method == "auto",
            tolerances=(rtol, atol),
            closely=kernel.sudden,
            prove=prove,
        )
        if not isinstance(made.integrator, Taylor):
            made.require_finite(y)
        return with_evidence(made.motion(y), rtol, atol)

    motion = run(prove=False)
    if motion.status == "inaccurate" and motion.method == "Taylor":
        # A step may have jumped over something.
        motion = run(prove=True)
    if throw and not motion.success and motion.status != "interrupted":
        raise DidNotConverge(_failure(motion, last), status=motion.status, solution=motion)
    return motion


def _failure(motion: Motion, last: float) -> str:
    found = motion.status.message[0].upper() + motion.status.message[1:]
    if motion.status in ("inaccurate", "violated"):
        return say(
            "the motion cannot be trusted.",
            f"{found}; the motion is error.solution.",
            "Tighten rtol and atol, or take another method; throw=False returns it as it is."
            if motion.status == "inaccurate"
            else "Start elsewhere, or remove a constraint; throw=False returns it as it is.",
        )
    if motion.status == "singular":
        return say(
            f"the motion ends at t = {motion.t[-1]:.6g}, before {last:g}.",
            f"{found}; the last good state is error.solution.at(error.solution.t[-1]).",
            "st.Variational(step=…) may pass; throw=False returns what there is.",
        )
    return say(
        f"the motion ends at t = {motion.t[-1]:.6g}, before {last:g}.",
        f"{found}; the last good state is error.solution.at(error.solution.t[-1]).",
        "Check the signs of the energies, or ask for a shorter span; throw=False returns what "
        "there is.",
    )


@lru_cache(maxsize=8)
def _grid(first: float, last: float, points: int) -> np.ndarray:
    """Return the output times; motions copy them."""
    return np.linspace(first, last, points)


@dataclass
class _Run:
    """One integration: from pieces of an integrator to a motion on a grid."""

    kernel: Kernel
    params: np.ndarray
    drives: Drives
    state: State
    stabilize: Baumgarte | Projection
    grid: np.ndarray
    watch: Watch
    integrator: AbstractIntegrator
    may_change: bool
    tolerances: tuple[float, float]
    pieces: list[Piece] = field(default_factory=list)
    last: Piece | None = None
    held: int = 0
    steps: int = 0
    used: list[str] = field(default_factory=list)
    alpha: float = 0.0
    closely: bool = False
    prove: bool = False

    def motion(self, y: np.ndarray) -> Motion:
        """Integrate over the whole grid and wrap up what came out."""
        self.alpha = self._rate(y, self.grid[0])
        progress = Progress(self.kernel.graph.system.name or "simulate")
        times, states = [], []
        status = DONE
        try:
            for piece in self._solution(y):
                end = self.watch.look(piece)
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
        except BlowUp as end:
            status = self._ended(end.at)
        finally:
            progress.close()
        if not times:
            times, states = [self.grid[:1]], [y[None, :]]
        several = len(times) > 1
        t = np.concatenate(times) if several else times[0].copy()
        y_all = np.concatenate(states) if several else np.ascontiguousarray(states[0])
        y_all[0] = y
        return self._wrapped(t, y_all, status)

    def _wrapped(self, t: np.ndarray, y_all: np.ndarray, status: Status) -> Motion:
        last = self.last
        if status not in ("done", "event") and last is not None and last.t[-1] > t[-1]:
            # The last good state is worth having even between two output times.
            t, y_all = np.append(t, last.t[-1]), np.vstack([y_all, last.end])
        return Motion(
            system=self.kernel.graph.system,
            t=t,
            y=y_all,
            params=self.params,
            kernel=self.kernel,
            drives=self.drives,
            status=status,
            steps=self.steps,
            method=" then ".join(self.used),
            events=tuple(np.array(times) for times in self.watch.times),
            alpha=self.alpha,
            repaired=self.state.moved,
            redundant=self.state.redundant,
            dense=self._dense(t, y_all),
        )

    def require_finite(self, y: np.ndarray) -> None:
        """Refuse a start at which forces are not finite."""
        rates = self._ode(self.grid[0]).f(self.grid[0], y)
        finite = np.isfinite(rates)
        if not finite.all():
            bad = np.flatnonzero(~finite)
            name = self.kernel.layout.name(int(bad[0]) % self.kernel.size)
            raise StatementError(
                say(
                    f"the forces are not finite at the start: '{name}' cannot be accelerated.",
                    f"Found no finite acceleration at t = {self.grid[0]:g}.",
                    "Start elsewhere, or check the energies for divisions by zero there.",
                )
            )

    def _rate(self, y: np.ndarray, t: float) -> float:
        """Return the rate at which violations of the constraints shall decay."""
        if not self.kernel.rows or isinstance(self.stabilize, Projection):
            return 0.0
        if self.stabilize.alpha is not None:
            return self.stabilize.alpha
        ode = self._ode(t)
        rate = natural_rate(ode, t, y, self.grid[-1] - self.grid[0])
        if isinstance(self.integrator, Taylor):
            # As fast as the steps are short: a decay that they follow without effort.
            rate = max(rate, 0.5 / self.integrator.first_steps(ode, t, y))
        return rate

    def _loose(self) -> bool:
        """Whether states are to be put onto the constraints that the integrator leaves."""
        chosen = isinstance(self.stabilize, Baumgarte) and self.stabilize.alpha is None
        return chosen and bool(self.kernel.rows) and not isinstance(self.integrator, Taylor)

    def _values(self, t: float) -> np.ndarray:
        """Return the vector p from time t on."""
        if not self.kernel.signature and not self.kernel.rows:
            return self.params
        last = [self.alpha] if self.kernel.rows else []
        return np.concatenate([self.params, self.drives.slots(t), last])

    def _ode(self, t: float) -> Ode:
        least = len(self.grid) - 1 if self.closely else 0
        longest = (self.grid[-1] - self.grid[0]) / max(_FEWEST_STEPS, least)
        return Ode(self.kernel, self._values(t), *self.tolerances, longest, self.prove)

    def _weakest(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return how far rows of A are from losing rank, and free motions from losing inertia."""
        u = np.zeros(len(self.kernel.signature))
        arguments = (t, q, v, u, self.params)
        rows = numeric(self.kernel.graph, "constraints")(*arguments)[2].toarray()
        rows = rows[list(self.kernel.rows)]
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rank = np.linalg.svd(rows / np.maximum(lengths, 1e-300), compute_uv=False)[-1]
        free = tangent_basis(rows)
        M = numeric(self.kernel.graph, "dynamics")(*arguments)[0]
        inertia = np.linalg.eigvalsh(free.T @ (M @ free)) if free.shape[1] else np.ones(1)
        return np.array([rank, inertia[0] / max(abs(M).max(), 1e-300)])

    def _lost(self) -> bool:
        """Tell whether a motion has lost rank of its rows, or inertia, where it stopped."""
        last = self.last
        if not self.kernel.rows or last is None or self.kernel.size > EXAMINE_UP_TO:
            return False
        n = self.kernel.size
        start = self._weakest(self.grid[0], self.state.q, self.state.v)
        end = self._weakest(last.t[-1], last.end[:n], last.end[n : 2 * n])
        return bool(np.any(end < _SINGULAR * start))

    def _ended(self, at: float) -> Status:
        """Say why a motion goes no further."""
        if self._lost():
            return Status("singular", f"the constraints become singular near t = {at:.6g}")
        return Status("blow-up", f"the motion leaves every bound near t = {at:.6g}")

    def _solution(self, y: np.ndarray):
        """Yield pieces from the first time to the last, changing inputs and integrator between."""
        first, last = self.grid[0], self.grid[-1]
        stops = [*self.drives.knots(first, last), last]
        by_projection = bool(self.kernel.rows) and isinstance(self.stabilize, Projection)
        if by_projection:
            stops = np.union1d(stops, self.grid[1:])
        t = first
        for end in stops:
            while t < end:
                grid = self._outputs(t, end)
                try:
                    for piece in self._segment(t, y, end, grid):
                        self.steps += piece.steps
                        t, y = piece.t[-1], piece.end
                        if by_projection and t == end:
                            y = self._projected(t, y)
                            piece = _ending(piece, y)
                        yield self._settled(piece) if self._loose() else piece
                        if self.may_change and self._stiff(t, y):
                            self.integrator, self.may_change = BDF(), False
                            self.alpha = self._rate(y, t)
                            break
                except BlowUp:
                    if not self.steps:
                        self.require_finite(y)
                    # A force may be finite and yet have no series, as |v|v at rest.
                    series = self.may_change and isinstance(self.integrator, Taylor)
                    if not series or self._lost():
                        raise
                    self.integrator, self.may_change = Runge(), False

    def _projected(self, t: Any, y: np.ndarray) -> np.ndarray:
        """Put one state, or those of several times, onto the constraints."""
        n = self.kernel.size
        q, v = projected(self.kernel.graph, self.params, t, y[..., :n], y[..., n : 2 * n])
        return np.concatenate([q, v, y[..., 2 * n :]], axis=-1)

    def _settled(self, piece: Piece) -> Piece:
        """Return a piece whose states lie on the constraints, whatever the tolerance."""

        def evaluate(times: np.ndarray) -> np.ndarray:
            return self._projected(times, piece.evaluate(times))

        return replace(piece, evaluate=evaluate)

    def _segment(self, t: float, y: np.ndarray, end: float, grid: np.ndarray):
        name = type(self.integrator).__name__
        if not self.used or self.used[-1] != name:
            self.used.append(name)
        dense = self.watch.awake
        return trusted(self.integrator.pieces(self._ode(t), t, y, end, grid=grid, dense=dense))

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

    def _stiff(self, t: float, y: np.ndarray) -> bool:
        """Tell whether steps are limited by stability: far shorter than the motion asks for."""
        done = (t - self.grid[0]) / (self.grid[-1] - self.grid[0])
        if self.steps < 500 or self.steps < _MANY_STEPS * done:
            return False
        if self.kernel.states > 2 * EXAMINE_UP_TO:
            return True
        rates = np.linalg.eigvals(np.asarray(self.kernel.jacobian(t, y, self._values(t))))
        # The decay of violations is of our own making, and no stiffness.
        rates = rates[np.abs(rates + self.alpha) > _OWN * self.alpha] if self.alpha else rates
        if not len(rates):
            return False
        fastest = rates[np.argmin(rates.real)]
        step = (t - self.grid[0]) / self.steps
        return -fastest.real > max(1 / step, abs(fastest.imag))

    # -- states between output times ------------------------------------------------------------

    def _hold(self, piece: Piece) -> None:
        self.held += piece.steps * self.kernel.states
        if piece.dense and self.held < _DENSE_UP_TO:
            self.pieces.append(piece)
        self.last = piece

    def _dense(self, t: np.ndarray, y: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function that gives states at any sorted times of the motion."""

        def states(times: np.ndarray) -> np.ndarray:
            made = np.empty((len(times), y.shape[1]))
            before = np.searchsorted(t, times, "right") - 1
            for k in np.unique(before):
                here = before == k
                wanted, where = np.unique(times[here], return_inverse=True)
                made[here] = self._after(float(t[k]), y[k], wanted)[where]
            return made

        return states

    def _after(self, t: float, y: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return the states at sorted times shortly after a known state."""
        for piece in self.pieces:
            if piece.t[0] <= t and times[-1] <= piece.t[-1]:
                return piece.evaluate(times)
        found = [y[None, :]] * int(np.sum(times == t))
        ahead = times[times > t]
        for end in (*self.drives.knots(t, times[-1]), times[-1]):
            grid = ahead[(ahead > t) & (ahead <= end)]
            for piece in self._segment(t, y, end, grid) if t < end else ():
                inside = grid[(grid > piece.t[0]) & (grid <= piece.t[-1])]
                if len(inside):
                    found.append(piece.evaluate(inside))
                t, y = piece.t[-1], piece.end
        return np.concatenate(found)


def _ending(piece: Piece, y: np.ndarray) -> Piece:
    """Return a piece whose last state is another one."""

    def evaluate(times: np.ndarray) -> np.ndarray:
        states = piece.evaluate(times)
        states[times == piece.t[-1]] = y
        return states

    return replace(piece, evaluate=evaluate, end=y)


def _choose(method: Any, kernel: Kernel) -> AbstractIntegrator:
    if isinstance(method, AbstractIntegrator):
        return method
    if method != "auto":
        names = ["auto", "Taylor()", "BDF()", "Runge()", "Variational()"]
        given = f"the class {method.__name__}" if isinstance(method, type) else repr(str(method))
        near = method.__name__ if isinstance(method, type) else str(method).capitalize()
        raise StatementError(
            say(
                f"method must be 'auto', Taylor(), BDF(), Runge() or Variational(); got {given}.",
                did_you_mean(near + "()", names).strip(),
                "Pass 'auto' or an integrator, as in method=st.BDF().",
            )
        )
    return Taylor() if kernel.compiles else Runge()
