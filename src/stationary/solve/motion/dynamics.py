"""How it moves: Lagrange's equations integrated over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stationary.errors import DidNotConverge, StatementError
from stationary.lower.inputs import drives
from stationary.lower.kernel import graph_of, kernel_of
from stationary.model.layout import Start
from stationary.model.overflow import bounded, bounded_expression
from stationary.model.system import System
from stationary.result.motion import Motion
from stationary.result.touched import Touched
from stationary.solve.arguments import (
    count,
    grid,
    quiet,
    refuse_unsmooth,
    stabilization,
    times,
    tolerance,
    touches,
)
from stationary.solve.consistent import projected, repaired
from stationary.solve.gate.run import proven
from stationary.solve.inertia import check_inertia, gives, require_system
from stationary.solve.integrators import Variational, chosen
from stationary.solve.motion.digits import LONGER, LOOKS, NEAR, OTHERS, digits_left, disturbed
from stationary.solve.motion.events import Event, Watch, as_events, with_own_parameters
from stationary.solve.motion.legs import Legs
from stationary.solve.motion.ode import MassLost
from stationary.solve.motion.reasons import failure
from stationary.solve.motion.run import Run
from stationary.solve.motion.stabilize import Baumgarte, Projection


@quiet
def simulate(
    system: System,
    *,
    span: tuple[float, float],
    start: Start | None = None,
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
) -> Motion | Touched:
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
        For every input a number, an expression of `t`, coordinates, velocities and parameters,
        which may be of its own, or samples: ``(times, values)``, interpolated linearly.
    points : int
        Number of evenly spaced output times. Times at which something stated in t switches or
        peaks are met whatever this number.
    events : list of Event, optional
        Expressions whose zeros are located; a terminal one ends the motion, one with an action
        changes the state.
    method : "auto" or integrator
        `Taylor`, `BDF`, `Runge`, `Variational`. ``"auto"`` takes Taylor series where forces are
        smooth between their switches, changes to BDF where the steps turn out to be limited by
        stability, and takes Runge–Kutta otherwise.
    stabilize : Baumgarte or Projection, optional
        How the motion is kept on its constraints. Left out, violations decay at the system's own
        rate, which keeps them near rounding.
    repair : bool
        Whether a start that violates a constraint is moved, by as little as possible; if false it
        is refused. ``motion.repaired`` says by how much.
    rtol, atol : float
        Tolerances. Sizes are measured: `atol` is a part of how far each coordinate goes, and of how
        fast, in every unit. Taylor series always work to rounding.
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
    given = (span, start, params, points, events, method, stabilize, repair, (rtol, atol), throw)
    require_system(system)
    try:
        motion = _simulated(system, inputs, *given)
    except StatementError:
        motion = _bounded(system, inputs, given)
        if motion is None:
            raise
    if not motion.success and motion.status != "interrupted":
        other = _bounded(system, inputs, given)
        motion = other if other is not None and other.success else motion
        if throw and not motion.success:
            last = times(span)[1]
            raise DidNotConverge(failure(motion, last), status=motion.status, solution=motion)
    return motion


def _bounded(system: System, inputs: Any, given: tuple) -> Motion | Touched | None:
    """Simulate the same with exponentials that stay numbers, if there are others."""
    if isinstance(inputs, Mapping):
        inputs = {k: bounded_expression(e) for k, e in inputs.items()}
    other = bounded(system)
    return None if other is None else _simulated(other, inputs, *given)


def _simulated(
    system: System, inputs: Any, span: tuple[float, float], start: Any, params: Any, points: int,
    events: Sequence[Event], method: Any, stabilize: Baumgarte | Projection | None, repair: bool,
    tolerances: tuple[float, float], throw: bool,
) -> Motion | Touched:  # fmt: skip
    """Return a motion with the status that the gate gives it."""
    first, last = times(span)
    points = count(points, (first, last), system.size)
    watched, inputs, params = with_own_parameters(as_events(events), inputs, system, params)
    rtol, atol = (tolerance(name, x) for name, x in zip(("rtol", "atol"), tolerances))
    graph = graph_of(system)
    # Equal statements share one graph, and what was found out about the first of them.
    system, layout = graph.system, graph.layout
    values = layout.values(params)
    refuse_unsmooth(system, values)
    if touches(system):
        # Imported where it is used: few systems touch.
        from stationary.solve.touch.simulate import simulate_touch

        return simulate_touch(
            system, (first, last), start, values, inputs, points, watched, method, repair,
            (rtol, atol), throw,
        )  # fmt: skip
    driven = drives(layout, inputs, (first, last))
    state = repaired(graph, values, first, *layout.state(start, values), repair=repair)
    sizes = check_inertia(graph, values, first, state.q, state.v)
    # A Newton step of the variational integrator needs rows that are independent.
    rows, damped = state.rows, ()
    if state.redundant and not isinstance(method, Variational):
        rows = tuple(range(layout.multipliers))
        damped = gives(graph, values, first, state.q, sizes)
    kernel = kernel_of(system, driven.signature, rows, damped, sizes)
    stated = np.zeros(kernel.states)
    stated[: kernel.size], stated[kernel.size : 2 * kernel.size] = state.q, state.v

    # A push that cannot be foreseen is looked for at every output.
    unforeseen = kernel.sudden and not kernel.graph.scalar

    def run(*arguments: Any) -> Motion:
        nonlocal kernel
        try:
            return once(*arguments)
        except MassLost as there:
            kernel = kernel_of(system, driven.signature, rows, damped, there.sizes)
            return once(*arguments)

    def once(
        y: np.ndarray, grid: np.ndarray, method: Any, tolerances: tuple[float, float], prove: bool,
        late: int | None = None,
    ) -> Motion:  # fmt: skip
        smooth = not isinstance(method, Variational)
        legs = Legs(
            kernel, values, driven, grid, tolerances, unforeseen, smooth, prove, late is not None
        )
        return Run(
            kernel=kernel,
            params=values,
            state=state,
            stabilize=stabilization(stabilize),
            grid=grid,
            legs=legs,
            watch=Watch(watched, kernel, values, last - first),
            integrator=chosen(method, kernel if legs.branches is None else legs.branches.now),
            may_change=method == "auto",
            again=again,
            stated=stated,
            late=late,
        ).motion(y)

    def again(motion: Motion) -> float:
        """Tell what is left of the digits by two more runs, whose errors are as large or larger."""
        # Two differences seldom both come to little by chance.
        left = min(once_more(motion, k) for k in range(2))
        # Where steps are as short for other reasons, looser tolerances make no larger errors.
        promised = motion.method != "Taylor" and not motion.fixed_step
        return min(left, 1 - float(np.log10(rtol))) if promised else left

    def once_more(motion: Motion, which: int) -> float:
        start, series = disturbed(motion, which), motion.method == "Taylor"
        if kernel.rows:
            start[: 2 * kernel.size] = np.concatenate(
                projected(graph, values, first, *np.split(start[: 2 * kernel.size], 2))
            )
        grid = np.linspace(first, motion.t[-1], LOOKS)
        # Where another method had to help, it is the one whose digits are counted.
        other = method if type(method).__name__ in motion.method.split(" then ") else "auto"
        if isinstance(method, Variational):
            # Longer steps are none beside what they are shortened for, as pulses: the first of two
            # runs has no such steps, where it ends.
            exact = run(start, grid, "auto", (rtol, atol), False) if not which else None
            if exact is not None and exact.success:
                return digits_left(motion, exact, larger=False)
            other = Variational(LONGER[which] * method.step)
        times = 1.0 if series else OTHERS[which]
        again = run(start, grid, other, (times * rtol, times * atol), False, which)
        if times < 1 and not again.success:
            # Rounding may forbid it.
            times = NEAR
            again = run(start, grid, other, (times * rtol, times * atol), False, which)
        return digits_left(motion, again, larger=times >= 1 or isinstance(method, Variational))

    def judged(method: Any, prove: bool) -> Motion:
        outputs = grid(first, last, points)
        return proven(run(stated, outputs, method, (rtol, atol), prove), rtol)

    motion = judged(method, False)
    if motion.status in ("inaccurate", "refuted") and not isinstance(method, Variational):
        # A step may have jumped over something; what another method sees is better than nothing.
        series = motion.method == "Taylor"
        other = judged(method if series else "auto", True)
        motion = other if series or other.success else motion
    return motion
