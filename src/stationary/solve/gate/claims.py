"""What each kind of result claims, and what becomes of one whose claims are not so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from stationary.errors import DidNotConverge, say
from stationary.lower.kernel import graph_of
from stationary.result.diagram import Branch
from stationary.result.equilibrium import Equilibrium
from stationary.result.limits import LimitLoad, LimitSurface
from stationary.result.modes import Modes
from stationary.result.motion import Motion
from stationary.result.pressure import PressureBounds
from stationary.result.slide import Slide
from stationary.result.speed_limit import SpeedLimit
from stationary.result.state import State as Consistent
from stationary.result.statespace import StateSpace
from stationary.result.step import Step
from stationary.result.touched import Touched
from stationary.result.weighed import FittedPressure
from stationary.solve.gate.balance import balance
from stationary.solve.gate.collapse import collapse
from stationary.solve.gate.constraints import constraints, rates
from stationary.solve.gate.contacts import contacts
from stationary.solve.gate.curvature import curvature
from stationary.solve.gate.curvature import energy as energy_at_rest
from stationary.solve.gate.displacement import way
from stationary.solve.gate.early_end import Reason, reason
from stationary.solve.gate.equation import energy, equation, stepped
from stationary.solve.gate.finding import Finding, refuted, worst
from stationary.solve.gate.friction import friction
from stationary.solve.gate.held import held
from stationary.solve.gate.inertia_beside import inertia_beside
from stationary.solve.gate.nearest import nearest
from stationary.solve.gate.pressures import attained
from stationary.solve.gate.run import accounted, kept
from stationary.solve.gate.sides import sides
from stationary.solve.gate.sliding_states import plainly_right
from stationary.solve.gate.small_motions import linear_holds, modes_hold
from stationary.solve.gate.state import State, deflections
from stationary.solve.gate.steps import steps
from stationary.solve.gate.surface import surface
from stationary.solve.gate.weighing import weighs
from stationary.solve.pressure.pushed import Scene

# How far from true a claim may be, relative to what is at work: of rest, of sliding, where forces
# of different size share one tolerance, of sliding increment by increment, where places are
# extrapolated and forces are not, of eigenproblems, of motions, and of pressures.
_REST, _SLIDING, _INCREMENTS, _LINEAR, _MOTION, _PRESSURE = 1e-9, 1e-6, 1e-4, 1e-6, 1e-8, 1e-5

#: Time, configuration and inputs; and the parameters.
Place = tuple[tuple[float, np.ndarray, np.ndarray], np.ndarray]


def judged(result: Any, **known: Any) -> Any:
    """Return a result with the status that it deserves."""
    false = worst(findings(result, **known))
    return result if false is None else replace(result, status=refuted(false))


def passed(result: Any, asker: str, *, throw: bool = True, **known: Any) -> Any:
    """Return a judged result; raise what `asker` has to say if its claims are refuted."""
    false = worst(findings(result, **known))
    if false is None:
        return result
    status = refuted(false)
    if hasattr(result, "status"):
        result = replace(result, status=status)
    if throw:
        raise DidNotConverge(
            say(
                f"the answer of {asker} does not stand up to examination.",
                f"{status.message[0].upper()}{status.message[1:]}.",
                "It is error.solution. Ask from another start or with other numbers; if that "
                "does not help, this is a defect of the solver that is worth reporting.",
            ),
            status=str(status),
            solution=result,
        )
    return result


@singledispatch
def findings(result: Any, **known: Any) -> list[Finding]:
    """Measure every claim of a result; none where nothing is claimed."""
    raise TypeError(f"no claims are known of {type(result).__name__}")


@findings.register
def _(rest: Equilibrium, *, start: np.ndarray | None = None) -> list[Finding]:
    if rest.status != "balanced":
        return []
    state = State(
        rest.graph, rest.t, rest.q, np.zeros_like(rest.q), rest.u, rest.params,
        rest.lam.every, travel=None if start is None else rest.q - start,
    )  # fmt: skip
    return [
        *balance(state, _REST, 0.0 if start is None else state.forces(start)),
        *constraints(state, _REST),
        *contacts(state, _REST),
        *held(state),
        *curvature(rest, state),
        *energy_at_rest(rest, state),
    ]


@findings.register
def _(step: Step) -> list[Finding]:
    if step.status not in ("moves", "sticks"):
        return []
    y = np.zeros(step.graph.layout.rates)
    for rows in step.graph.layout.slips:
        y[rows.places] = -np.asarray(step.forces[rows.name])
    lam = step.lam.every
    return _slides(State(step.graph, step.t, step.q, step.v, step.u, step.params, lam, y))


@findings.register
def _(moved: Consistent, *, t: float, params: np.ndarray, wanted: np.ndarray) -> list[Finding]:
    u = np.zeros(len(moved.graph.system.inputs))
    state = State(moved.graph, t, moved.q, moved.v, u, params, np.zeros(0))
    return nearest(moved, state, wanted, _REST)


@findings.register
def _(motion: Motion, *, rtol: float = _MOTION) -> list[Finding]:
    if not motion.success:
        return []
    run = [*kept(motion), *accounted(motion, rtol), *sides(motion)]
    if motion.fixed_step:
        return [*run, *stepped(motion)]
    return [*run, *equation(motion, _MOTION), *energy(motion, _MOTION)]


@findings.register
def _(motion: Touched) -> list[Finding]:
    if not motion.success:
        return []
    # Steps of one length follow no equation between changes.
    if len(motion.given):
        return steps(motion).findings
    claims, travel = (
        [*equation(motion, _MOTION), *energy(motion, _MOTION)],
        np.ptp(motion.q, axis=0),
    )
    first, span = None, float(motion.t[-1] - motion.t[0])
    for k, t in enumerate(motion.t):
        at = motion.q[k], motion.v[k], motion.u[k], motion.params, np.asarray(motion.lam)[k]
        state = State(motion.kernel.graph, float(t), *at, span=span, travel=travel, first=first)
        first = first or state
        claims += [*constraints(state, _SLIDING), *contacts(state, _SLIDING)]
    return claims


@findings.register
def _(slide: Slide, *, ended: Reason | None = None, between: Sequence[float] = ()) -> list[Finding]:
    # Velocities are those of instants, unless they are means of increments: these end `between` the
    # times that are told, too.
    n, count = slide.kernel.size, slide.kernel.layout.rates
    t, table = slide.t, np.hstack([slide.y, slide.more])
    if len(between) and slide.dense is not None:
        t, table = np.append(t, between), np.vstack([table, slide.dense(np.asarray(between))])
        t, table = t[np.argsort(t)], table[np.argsort(t)]
    y, forces = table[:, : slide.y.shape[1]], table[:, slide.y.shape[1] + 3 :]
    u, travel = slide.inputs_at(t, y), np.ptp(y[:, :n], axis=0)
    claims: list[Finding] = []
    moves = "increments" not in slide.method
    rtol, span = _SLIDING if moves else _INCREMENTS, float(t[-1] - t[0])

    def state(k: int, first: State | None = None) -> State:
        return State(
            slide.kernel.graph, float(t[k]), y[k, :n], y[k, n : 2 * n], np.asarray(u[k]),
            slide.params, forces[k, count:], forces[k, :count], moves, span, travel, first,
        )  # fmt: skip

    # What never moves is measured by how far springs would let it; where it ends early forces may
    # have grown without bound.
    settled = max(len(t) - 1 - (ended is not None), 0)
    some = [state(k) for k in {0, settled // 2, settled}]
    first = replace(state(0), travel=np.maximum(travel, deflections(some)))
    # A start from which nothing moves tells of no forces.
    if slide.success or len(slide.t) > 1:
        known = (slide.kernel.graph, t, y, u, slide.params, forces)
        right = plainly_right(*known, moves, rtol)
        for k in np.flatnonzero(~right).tolist():
            here = state(k, first) if k else first
            claims += [*_slides(here, rtol), *constraints(here, rtol)]
    last = state(len(t) - 1, first) if len(t) > 1 else first
    if moves and len(slide.t) > 1:
        claims += way(slide, rtol, last)
    return claims if ended is None else claims + reason(ended, last)


@findings.register
def _(limit: LimitLoad, *, at: Callable[[float], Place]) -> list[Finding]:
    claims: list[Finding] = []
    for end in (limit.low, limit.high):
        if not np.isfinite(end.factor):
            continue
        (t, q, u), params = at(end.factor)
        y = np.zeros(limit.graph.layout.rates)
        for rows in limit.graph.layout.slips:
            y[rows.places] = -np.asarray(end.forces[rows.name])
        zero, lam = np.zeros_like(q), end.lam.every
        state = State(limit.graph, t, q, zero, u, params, lam, y, moves=False)
        # At twice the load its share of the forces is as clear as that of the others.
        further = end.factor or 1.0
        (_, _, more), raised = at(end.factor + further)
        once = (replace(state, u=more, params=raised).forces(q) - state.forces(q)) / further
        claims += collapse(end, state, once, _SLIDING)
    return claims


@findings.register
def _(limit: LimitSurface, *, params: np.ndarray) -> list[Finding]:
    return surface(limit, params, _REST)


@findings.register
def _(limit: SpeedLimit, *, within: tuple[float, float]) -> list[Finding]:
    return list(inertia_beside(limit, within, _SLIDING))


@findings.register
def _(
    bounds: PressureBounds, *, scene: Scene, value: tuple[np.ndarray, float] | None,
    own: np.ndarray | None = None,
) -> list[Finding]:  # fmt: skip
    if bounds.status not in ("attained", "proven"):
        return []
    return attained(bounds, scene, value, bounds.motions if own is None else own, _PRESSURE)


@findings.register
def _(fit: FittedPressure, *, pushes: Any, weight: float | None) -> list[Finding]:
    return weighs(fit, pushes, weight, _PRESSURE)


@findings.register
def _(modes: Modes, *, u: np.ndarray, lam: np.ndarray) -> list[Finding]:
    return modes_hold(modes, u, lam, _LINEAR)


@findings.register
def _(lin: StateSpace) -> list[Finding]:
    return linear_holds(lin, _LINEAR)


@findings.register
def _(
    branch: Branch, *, t: float, u: Callable[[np.ndarray], np.ndarray], reach: np.ndarray
) -> list[Finding]:
    graph, claims = graph_of(branch.layout.system), []
    names = [p.name for p in branch.layout.system.parameters]
    first = None
    # The middle of a branch first: its sizes are those of the question.
    order = np.roll(np.arange(len(branch.q)), -(len(branch.q) // 2)).tolist()

    def state(k: int, first: State | None = None) -> State:
        value, q, lam = branch.parameter[k], branch.q[k], branch.lam[k]
        params = np.array([value if n == branch.name else branch.params[n] for n in names])
        return State(graph, t, q, np.zeros_like(q), u(q), params, lam, travel=reach, first=first)

    # Where a branch is flat, what its springs pull elsewhere tells what is rounding.
    pulls = np.max([state(k).springs @ reach for k in {0, order[0], len(order) - 1}], axis=0)
    for k in order:
        here = state(k, first)
        first = first or here
        far = np.maximum(pulls, np.abs(here.forces(here.q + 0.1 * reach)))
        claims += [*balance(here, _REST, far), *constraints(here, _REST)]
    return claims


def _slides(state: State, rtol: float = _SLIDING) -> list[Finding]:
    return [
        *balance(state, rtol),
        *rates(state, rtol),
        *contacts(state, rtol),
        *friction(state, rtol),
    ]
