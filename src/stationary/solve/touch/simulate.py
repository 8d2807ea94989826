"""How it moves where it touches: what `simulate` does with contacts and dry friction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stationary.errors import DidNotConverge, NoMotion, StatementError, did_you_mean, say
from stationary.lower.inputs import drives
from stationary.lower.kernel import graph_of, kernel_of
from stationary.lower.touching import touch_of, touching_of
from stationary.model.system import System
from stationary.model.terms import Contact
from stationary.result.changes import Changes
from stationary.result.status import Status
from stationary.result.touched import Touched
from stationary.solve.consistent import repaired
from stationary.solve.gate.changes import changes
from stationary.solve.gate.finding import refuted, worst
from stationary.solve.gate.steps import steps
from stationary.solve.inertia import check_inertia
from stationary.solve.integrators import BDF, Runge, Taylor
from stationary.solve.motion.events import Watch, as_events
from stationary.solve.motion.reasons import failure
from stationary.solve.touch.at_state import looks_of
from stationary.solve.touch.driver import Driver, TooMany
from stationary.solve.touch.method import Touch
from stationary.solve.touch.moreau import Moreau, Stepper, stepped
from stationary.solve.touch.nearby import dry_slips
from stationary.solve.touch.start import mended_of, outside, refuse_coefficients, refuse_inside
from stationary.solve.touch.step_law import divided


def simulate_touch(
    system: System,
    span: tuple[float, float],
    start: Any,
    params: np.ndarray,
    inputs: Any,
    points: int,
    events: Any,
    method: Any,
    repair: bool,
    tolerances: tuple[float, float],
    throw: bool,
) -> Touched:
    """Follow a motion from change to change; arguments are those of `simulate`, checked."""
    first, last = span
    graph = graph_of(system)
    layout = graph.layout
    driven = drives(layout, inputs, span)
    state = repaired(graph, params, first, *layout.state(start, params), repair=repair)
    check_inertia(graph, params, first, state.q, state.v)
    grid, auto = np.linspace(first, last, points), isinstance(method, str) and method == "auto"

    def by_steps(stepping: Moreau, why: str = "") -> Touched:
        if events:
            raise StatementError(
                "steps of one length do not look for events.",
                f"Found events= and {why or 'method=st.Moreau()'}.",
                "Leave the events out, or take method=st.Touch().",
            )
        motion = _by_steps(system, driven, params, state, grid, stepping, repair)
        if why:
            motion = replace(motion, method=f"Moreau ({why}; step {stepping.step:g})")
        if throw and not motion.success and motion.status != "interrupted":
            raise DidNotConverge(failure(motion, last), status=motion.status, solution=motion)
        return motion

    if isinstance(method, Moreau):
        return by_steps(method)
    if auto and _many(graph):
        return by_steps(Moreau((last - first) / _STEPS), "too many contacts for events")
    kernel = touching_of(system, driven.signature, state.rows)
    y = np.concatenate([state.q, state.v, np.zeros(2)])
    touch, smooth = _methods(method)
    driver = Driver(
        kernel=kernel,
        params=params,
        drives=driven,
        grid=grid,
        smooth=smooth,
        watch=Watch(as_events(events), kernel, params, last - first),
        tolerances=tolerances,
        prefer=touch.prefer,
        most=_MOST_CLOSED if auto and not events else None,
    )
    _check(driver.facts(first, y))
    y, moved = outside(lambda y: driver.facts(first, y), y, last - first, repair)
    t, states, status = driver.run(y)
    if driver.many is not None and not driver.began:
        why = f"{driver.many.closed.sum()} contacts closed, too many for events"
        return by_steps(Moreau((last - first) / _STEPS), why)
    n = kernel.size
    base = kernel_of(system, driven.signature, state.rows)
    motion = Touched(
        system=system,
        t=t,
        y=states[:, : base.states],
        params=params,
        kernel=base,
        drives=driven,
        status=status,
        steps=driver.steps,
        method=" and ".join(driver.used),
        events=driver.watch.happened,
        struck=tuple(driver.struck),
        repaired=float(np.hypot(state.moved, moved)),
        redundant=state.redundant,
        dense=driver.dense,
        more=states[:, 2 * n :],
        changes=Changes(sorted(driver.changes, key=lambda change: change.t)),
        began=np.array(driver.began),
        starts=np.array(driver.starts),
        modes=np.array(driver.modes),
        impacts=np.array(driver.impacts).reshape(-1, 2),
    )
    _check_later(motion)
    if driver.many is not None and driver.many.t < last:
        motion = _continued(motion, driver.many, Moreau((last - first) / _STEPS), grid)
    else:
        motion = _judged(motion, tolerances[0], driver.largest, driver.stray)
        motion = _followed(motion, driver)
    if throw and motion.status in ("none", "several"):
        raise NoMotion(_reason(motion, last), kind=str(motion.status), solution=motion,
                       names=motion.status.names)  # fmt: skip
    if throw and not motion.success and motion.status != "interrupted":
        raise DidNotConverge(failure(motion, last), status=motion.status, solution=motion)
    return motion


def _followed(motion: Touched, driver: Driver) -> Touched:
    """Return a motion with what the gate measures at its changes and steps."""
    if not len(motion.modes):
        return motion
    # Series are followed to rounding, whatever is asked for.
    tolerance = 0.0 if driver.used == [Taylor.__name__] else driver.tolerances[0]
    claims, seen = changes(motion, driver.record, tolerance)
    false = worst(claims) if motion.success else None
    return replace(motion, seen=seen, status=motion.status if false is None else refuted(false))


def _many(graph: Any) -> bool:
    """Tell whether there are too many contacts to follow them from change to change."""
    touch = touch_of(graph.system)
    return not graph.scalar or touch.gaps + len(touch.dry) > _MOST_ROWS


def _by_steps(
    system: System, driven: Any, params: np.ndarray, state: Any, grid: np.ndarray, method: Moreau,
    repair: bool,
) -> Touched:  # fmt: skip
    """Follow a motion by steps of one length."""
    touch, first = touch_of(system), float(grid[0])
    q, moved = state.q, 0.0
    stepper = Stepper(touch, driven, params, state.rows)
    if not _many(touch.graph):
        looks = looks_of(touching_of(system, driven.signature, state.rows))
        p = np.concatenate([params, np.zeros(looks.kernel.modes), driven.slots(first)])
        p = np.append(p, 0.0) if state.rows else p
        y = np.concatenate([state.q, state.v, np.zeros(2)])
        _check(looks(first, y, p))
        y, moved = outside(lambda y: looks(first, y, p), y, grid[-1] - grid[0], repair)
        q = y[: len(q)]
    else:
        _check_many(stepper, first, q, state.v, grid[-1] - grid[0] if repair else 0.0)
    base = kernel_of(system, driven.signature, state.rows)
    stepper.begin(first, q, state.v)
    t, states, forces, status, taken = stepped(stepper, q, state.v, grid, method)
    n = len(state.q)
    struck = np.column_stack([t, np.diff(states[:, -1], prepend=0.0)])
    acted = np.unique(forces.indices)
    return _measured(Touched(
        system=system, t=t, y=states[:, : base.states], params=params, kernel=base, drives=driven,
        status=status, steps=stepper.steps, method="Moreau",
        repaired=float(np.hypot(state.moved, moved)), redundant=state.redundant,
        more=states[:, 2 * n : 2 * n + 2],
        changes=Changes(stepper.changes), began=t[:1], starts=states[:1, : 2 * n + 2],
        impacts=struck, acted=acted, given=forces[:, acted].toarray(), taken=taken,
        missed=stepper.left[0],
    ))  # fmt: skip


def _measured(motion: Touched, seen: np.ndarray | None = None) -> Touched:
    """Return a motion by steps with what the gate measures of them, and the status it finds."""
    measured = steps(motion)
    numbers = [measured.penetration, measured.cone, measured.complementarity]
    false = worst(measured.findings) if motion.success else None
    status = motion.status if false is None else refuted(false)
    if status == "done":
        status = _resolved(motion, measured.fallen)
    seen = np.maximum(numbers, np.zeros(3) if seen is None else seen)
    return replace(motion, seen=seen, status=status)


def _resolved(motion: Touched, fallen: tuple[float, float]) -> Status:
    """Return the status of a motion by steps: those that are too long do not balance energy.

    `fallen` is the energy of what falls freely for a step, in the first and in any: so much is not
    known of what begins or ends within a step.
    """
    error = np.abs(motion.balance)
    sizes = (motion.kinetic, np.ptp(motion.potential), motion.work, motion.lost)
    scale = max(float(np.abs(x).max()) for x in sizes)
    known = scale + fallen[0] / _STEPPED + fallen[1] * _FELL
    known += _ROUNDING * float(np.abs(motion.potential).max())
    part, k = float(error.max()) / max(known, 1e-300), int(np.argmax(error))
    if not part > _STEPPED:
        return motion.status
    return Status(
        "inaccurate",
        f"the energy balance is missed by {part:.0%} of the largest energy near "
        f"t = {motion.t[k]:.6g}: steps are too long for what moves fastest",
    )


def _continued(motion: Touched, end: TooMany, method: Moreau, grid: np.ndarray) -> Touched:
    """Return a motion that goes on by steps of one length from where too many contacts closed."""
    touch, n, rows = touch_of(motion.system), motion.kernel.size, motion.kernel.rows
    q, v, more = end.y[:n], end.y[n : 2 * n], end.y[2 * n : 2 * n + 2]
    rest = np.append(end.t, grid[grid > end.t])
    stepper = Stepper(touch, motion.drives, motion.params, rows)
    stepper.begin(end.t, q, v)
    stepper.close(end.closed)
    t, states, forces, status, taken = stepped(stepper, q, v, rest, method)
    states[:, 2 * n : 2 * n + 2] += more
    before = motion.dense or motion._between
    table, early = states[:, : 2 * n + 2], motion.t <= end.t

    def dense(times: np.ndarray) -> np.ndarray:
        between = np.array([np.interp(times, t, column) for column in table.T]).T
        if np.any(times < end.t):
            between[times < end.t] = before(times[times < end.t])
        return between

    acted = np.arange(forces.shape[1])
    seen = [motion.residual[name] for name in ("penetration", "cone", "complementarity")]
    first = int(np.count_nonzero(early)) - 1
    taken = tuple(replace(x, output=x.output + first * (x.output > 0)) for x in taken)
    struck = np.column_stack([t, np.diff(states[:, -1], prepend=0.0)])[1:]
    smooth = motion.method
    why = f"{end.closed.sum()} contacts closed, too many for events; step {method.step:g}"
    return _measured(replace(
        motion, t=np.append(motion.t[early], t[1:]), status=status, dense=dense,
        y=np.vstack([motion.y[early], states[1:, : motion.y.shape[1]]]),
        more=np.vstack([motion.more[early], states[1:, 2 * n : 2 * n + 2]]),
        steps=motion.steps + stepper.steps,
        method=f"{smooth} until t = {end.t:.6g}, then Moreau ({why})",
        changes=Changes([*motion.changes, *stepper.changes]),
        impacts=np.vstack([motion.impacts, struck]), acted=acted,
        given=np.vstack([motion._acting[1][early], forces.toarray()[1:]]),
        taken=taken, missed=stepper.left[0],
    ), np.array(seen))  # fmt: skip


def _methods(method: Any) -> tuple[Touch, Any]:
    """Return how changes are met, and what integrates between them."""
    touch = method if isinstance(method, Touch) else Touch()
    smooth = touch.smooth if isinstance(method, Touch) else method
    if smooth == "auto":
        return touch, None
    if isinstance(smooth, (Taylor, BDF, Runge)):
        return touch, smooth
    names = ["auto", "Touch()", "Taylor()", "BDF()", "Runge()", "Moreau()"]
    given = f"the class {smooth.__name__}" if isinstance(smooth, type) else repr(str(smooth))
    raise StatementError(
        f"{given} does not follow contacts and dry friction.",
        f"Expected 'auto', Touch(), Moreau(), Taylor(), BDF() or Runge()."
        f"{did_you_mean(str(smooth).capitalize() + '()', names)}",
        "Pass 'auto' or a method, as in method=st.Touch().",
    )


def _check_later(motion: Touched) -> None:
    """Refuse friction that has become negative on the way, where it acts."""
    touch = motion.touching.touch
    if not touch.rubs or not len(motion.modes):
        return
    sense = np.ones((touch.arguments[-1].numel(), 1))
    where = (motion.t[None, :], motion.q.T, motion.v.T, motion.u.T, motion.params, sense)
    now, rest = (np.asarray(x).T for x in touch.limits(*where)[1:3])
    lam = motion.acting[:, len(motion.kernel.rows) :]
    for rub in touch.rubs:
        low = np.minimum(now[:, rub.entries[0]], rest[:, rub.entries[0]])
        acts = np.ones(len(low), dtype=bool) if rub.gap is None else lam[:, rub.gap] > 0
        below = np.flatnonzero(acts & (low < -_ZERO * np.abs(low).max()))
        if len(below):
            k = int(below[0])
            what = "limit of friction" if rub.gap is None else "friction coefficient of contact"
            raise StatementError(
                f"the {what} '{rub.name}' is negative at t = {motion.t[k]:.6g}.",
                f"Found {low[k]:g} there; friction acts against the motion.",
                "Give zero or a positive number; the direction follows from the motion.",
            )


def _check(facts: Any) -> None:
    """Refuse coefficients that no contact has."""
    rubs = facts.touch.rubs
    first = [rub.entries[0] for rub in rubs]
    limits = np.minimum(facts.moving, facts.rest)[first]
    refuse_coefficients(facts.restitution, limits, lambda i: facts.touch.names[i],
                        lambda j: (rubs[j].name, rubs[j].gap is not None))  # fmt: skip


def _check_many(stepper: Stepper, t: float, q: np.ndarray, v: np.ndarray, span: float) -> None:
    """Refuse the same, and starts inside a body, where one graph of all contacts is too large."""
    layout, count = stepper.touch.graph.layout, stepper.touch.gaps
    M, force, *_, u = stepper.at(t, q, v)
    rows = stepper.near.all(t, q, v, u)
    slips = [(r.name, isinstance(term, Contact)) for r, term in dry_slips(stepper.touch)
             for _ in r.places.flat]  # fmt: skip
    refuse_coefficients(rows.back, rows.size, layout.gap_name, lambda j: slips[j])
    G, gaps = rows.slope[:count], rows.value[:count]
    rounding = 64 * np.finfo(float).eps * (np.abs(gaps) + abs(G) @ np.abs(q))
    near = mended_of(G, q, v, divided(M, force), span)
    refuse_inside(gaps, np.maximum(rounding, near), layout.gap_name)


# What is below zero by this part of what it has been is zero.
_ZERO = 1e-9

# "auto" takes steps of one length where more contacts than this close, or where there are more rows
# of contacts and slips than one graph can have; so many in a span.
_MOST_CLOSED, _MOST_ROWS, _STEPS = 40, 1000, 1000

# What the balance of energy may miss, of the largest energy, for series and for other methods: some
# times what parts that are 1e9 times lighter than others leave of it.
_BALANCE_OF_SERIES = 1e-10
_BALANCE = 10.0

# The same for steps of one length, of order one; and what part of the energy of a fall for a step
# gaps may be off that are closed.
_STEPPED, _FELL = 0.1, 1e-3

# The same of forces times places, whose last digits are those of the energy.
_ROUNDING = 1e-12


def _judged(motion: Touched, rtol: float, largest: float, stray: float) -> Touched:
    """Mark a motion whose energy does not balance.

    `largest` is what forces and places make, `stray` what rounding leaves of what is held.
    """
    if motion.status not in ("done", "event"):
        return motion
    error = float(np.abs(motion.balance).max())
    scale = max(float(np.abs(x).max()) for x in (motion.kinetic, motion.potential, motion.work,
                                                 motion.lost))  # fmt: skip
    allowed = _BALANCE_OF_SERIES
    if motion.method != "Taylor":
        allowed += _BALANCE * rtol * motion.steps
    if error <= allowed * scale + _ROUNDING * largest + stray:
        return motion
    message = f"the energy balance is violated by {error / scale:.1e} of the largest energy"
    return replace(motion, status=Status("inaccurate", message))


def _reason(motion: Touched, last: float) -> str:
    reason = motion.status.message[0].upper() + motion.status.message[1:]
    advice = (
        "Rigid bodies with so much friction jam here: take less friction, or let something give "
        "way; throw=False returns what there is."
    )
    if motion.status == "several":
        advice = "Choose with method=st.Touch(prefer=…): 'open', 'stick' or 'slide'."
    elif not touch_of(motion.system).rubs:
        advice = (
            "Rigid bodies leave no room here: end the motion before, or let something give way; "
            "throw=False returns what there is."
        )
    return say(
        f"the motion ends at t = {motion.t[-1]:.6g}, before {last:g}.",
        f"{reason}; the motion until then is error.solution.",
        advice,
    )
