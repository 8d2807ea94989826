"""How quasistatic is it: the motion with inertia beside the one without, at different speeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse.linalg import splu

from stationary.errors import DerivationError, DidNotConverge, StatementError, say
from stationary.lower.kernel import graph_of, numeric
from stationary.model.layout import Start, name_of
from stationary.model.system import System
from stationary.result.speed_limit import Beside, SpeedLimit
from stationary.solve.arguments import quiet
from stationary.solve.gate.claims import passed
from stationary.solve.inertia import require_system
from stationary.solve.progress import Progress
from stationary.solve.sliding.instant.least_power import failure, require_still, solved, step_of
from stationary.solve.sliding.problem.numbers import Answer
from stationary.solve.sliding.problem.question import Question

_MOST_TRIALS = 40


@quiet
def quasistatic_error(
    system: System,
    *,
    speed: Any,
    travel: float | None = None,
    start: Start | None = None,
    params: Mapping[Any, float] | None = None,
    within: tuple[float, float] | None = None,
    level: float = 0.1,
    count: int = 200,
) -> SpeedLimit:
    """Find the speed up to which a motion may be called quasistatic.

    Follows the system with its inertia, by implicit steps that minimize the same power with the
    kinetic energy added. Compares its velocity with that of least power at the same place, and
    the force of inertia, which is left out there, with friction.

    Parameters
    ----------
    system : System
        With kinetic energy; what drives it is stated with the parameter `speed`.
    speed : symbol or name
        The parameter: the speed of a pusher, a hand or a conveyor.
    travel : float, optional
        How far the driver goes. Left out, as far as the system is long: the diagonal of the box
        around all points on which friction acts at the start; one point alone has no length.
    start : dict, optional
        The configuration at the start; it sets off with the quasistatic velocity.
    params : dict, optional
        Values of the other parameters.
    within : tuple, optional
        Range of speeds to search. Left out, six decades around the speed at which inertia would be
        as strong as friction.
    level : float
        The error that is still accepted.
    count : int
        Number of steps over the travel.

    Returns
    -------
    SpeedLimit

    Examples
    --------
    A particle dragged round a circle of radius 1 by a string of length 1: inertia pulls it
    outwards.

    >>> x, y = st.coordinates("x y")
    >>> V = st.parameters(V=1.0)
    >>> hand = (st.cos(V * st.t), st.sin(V * st.t))
    >>> towed = st.System(
    ...     kinetic=(x.dot**2 + y.dot**2) / 2, friction=[st.Friction(1.0, on=(x, y))],
    ...     constraints=[st.norm((x - hand[0], y - hand[1])) - 0.5],
    ... )
    >>> found = st.quasistatic_error(
    ...     towed, speed=V, travel=1.0, start={x: 1.0, y: -0.5}, within=(0.1, 1), count=50
    ... )
    >>> 0.2 < found.speed < 0.5
    True
    """
    require_system(system)
    if system.kinetic.is_zero:
        raise DerivationError(
            "the system has no kinetic energy to compare with.",
            "Found T = 0.",
            "State kinetic=…: how quasistatic it is depends on the masses.",
        )
    require_still(system)
    graph_of(system).require_inertia()
    name = name_of(speed)
    if name not in {p.name for p in system.parameters}:
        known = ", ".join(p.name for p in system.parameters) or "none"
        raise StatementError(
            f"'{name}' is not a parameter of this system.",
            f"Parameters: {known}.",
            "State what drives the system with it, as in a constraint x - V*st.t.",
        )
    long = _length(system, params, start) if travel is None else travel
    try:
        level, count, way = float(level), int(count), float(long)
        if within is None and 0 < way < np.inf:
            slowly = Question(system, {**(params or {}), name: 1.0}, None, (0.0, way))
            within = _range(slowly, start)
        low, high = (float(x) for x in within or ())
        sensible = 0 < low < high < np.inf and 0 < way < np.inf and level > 0 and count >= 10
    except (TypeError, ValueError):
        sensible, low, high, way = False, 0.0, 0.0, 0.0
    if not sensible:
        raise StatementError(
            "the range of speeds, the travel or the level makes no sense.",
            f"Found within={within}, travel={travel}, level={level}, count={count}.",
            "Give 0 < low < high, positive travel and level, and ten steps or more.",
        )
    tried: dict[float, Beside] = {}
    progress = Progress("quasistatic error")

    def error(V: float) -> float:
        if V not in tried:
            run = Question(system, {**(params or {}), name: V}, None, (0.0, way / V))
            tried[V] = _beside(run, V, start, way / V, count)
            progress.show(len(tried) / _MOST_TRIALS)
        return tried[V].error

    crossing = _crossing(error, low, high, level)
    progress.close()
    speeds = np.array(sorted(tried))
    errors = np.array([tried[V].error for V in speeds])
    beside = tried.get(crossing) or tried[speeds[-1]]
    limit = SpeedLimit(system, name, crossing, level, speeds, errors, beside)
    return passed(limit, "quasistatic_error", within=(low, high))


def _length(system: System, params: Any, start: Any) -> float:
    """Return the diagonal of the box around the points on which friction acts."""
    question = Question(system, params, None, (0.0, 0.0))
    place = question.at(0.0, question.layout.state(start)[0])
    problem, longest = place.problem, 0.0
    for width in (2, 3):
        points = place.along[(problem.widths == width)[problem.term]].reshape(-1, width)
        if len(points):
            longest = max(longest, float(np.linalg.norm(np.ptp(points, axis=0))))
    if not longest > 0:
        raise StatementError(
            "how far it travels is not known.",
            "Found friction on one point, or along lines alone, which has no length of its own.",
            "Give travel=…: how far the driver goes.",
        )
    return longest


def _range(question: Question, start: Any) -> tuple[float, float] | None:
    """Return speeds around the one at which inertia over the travel is as strong as friction."""
    q, _ = question.layout.state(start)
    graph, close = question.sliding.graph, question.at(0.0, q).touching
    power, inertia = 0.0, 0.0
    for t in question.span * np.linspace(1e-9, 1, 5):
        answer, v = _least(question, float(t), q, None, close)
        M, _ = numeric(graph, "dynamics")(t, q, v, question.inputs(t, q), question.params)
        power, inertia = power + answer.dissipated, inertia + float(v @ (M @ v))
    if not (power > 0 and inertia > 0):
        return None
    same = float(np.sqrt(power * question.span / inertia))
    return 1e-4 * same, 1e2 * same


def _crossing(error: Any, low: float, high: float, level: float) -> float:
    """Find where a growing error passes the level: inertia grows with the square of the speed."""
    below, above = low, high
    V = float(np.sqrt(low * high))
    for _ in range(_MOST_TRIALS):
        e = error(V)
        if e >= level:
            above = V
        else:
            below = V
        if abs(e / level - 1) < 0.01 or above / below < 1.01:
            return V
        if below >= high / 1.01:
            return float("inf")
        if above <= low * 1.01:
            return low
        ahead = V * float(np.sqrt(level / max(e, 1e-3 * level)))
        inside = below * 1.005 < ahead < above / 1.005
        V = ahead if inside else float(np.sqrt(below * above))
    return V


def _beside(question: Question, speed: float, start: Any, duration: float, count: int) -> Beside:
    """Follow the motion with inertia; compare it with the one without at every step."""
    graph, t, h = question.sliding.graph, 0.0, duration / count
    q, _ = question.layout.state(start)
    every = np.arange(len(question.at(t, q).gap))
    close = question.at(t, q).touching
    least, v = _least(question, t + 1e-9 * h, q, None, close)
    worst, near, path = 0.0, None, [(t, q, v)]
    forces, slow, holding = [], [], []
    for _ in range(count):
        place = question.at(t, q)
        now = place.problem
        M, force = numeric(graph, "dynamics")(t, q, v, place.u, question.params)
        push = force + (M @ v) / h

        def inertia(x: np.ndarray, M: Any = M) -> tuple[float, np.ndarray, Any]:
            pull = (M @ x) / h
            return float(x @ pull) / 2, pull, M / h

        # Drag is in the force already; constraints are met at the end of the step.
        later = question.at(t + h, q + h * v, touching=every)
        size = np.where(now.power > 0, 0.0, now.size)
        moved = later.R / h - later.problem.A @ v
        problem = replace(
            later.problem,
            f=push,
            size=size,
            b=np.where(question.layout.holonomic, moved, later.problem.b),
            g=later.gap / h - later.problem.G @ v,
            viscous=inertia,
        )
        outcome, _ = solved(question, replace(later, problem=problem), near)
        if outcome.answer is None:
            raise DidNotConverge(
                say(
                    "the motion with inertia could not be followed.",
                    f"The solver stopped at t = {t:g}: {outcome.word}.",
                    "Take more steps, or a smaller range of speeds.",
                ),
                status=outcome.word,
            )
        near, before, v = outcome.answer, v, outcome.answer.v
        q, t = q + h * v, t + h
        neglected, friction = M @ (v - before) / h, problem.matrices[0].T @ near.y
        worst = max(worst, _ratio(neglected, friction, splu(M.tocsc()).solve))
        # The velocity of a step is that of its middle.
        least, without = _least(question, t - h / 2, q - h / 2 * v, least, close)
        worst = max(worst, _ratio(v - without, without, M.__matmul__))
        path.append((t, q, v))
        forces.append(np.concatenate(question.stated(*near.forces)))
        slow.append(without)
        mu = np.zeros(len(every))
        mu[close] = least.mu
        holding.append(np.concatenate(question.stated(least.y, least.lam, mu)))
    ways = (np.array(x) for x in zip(*path))
    return Beside(speed, worst, question.params, *ways, *map(np.array, (forces, slow, holding)))


def _ratio(part: np.ndarray, whole: np.ndarray, metric: Any) -> float:
    """Compare two velocities in the metric of the masses, or two forces in its inverse."""
    size = float(whole @ metric(whole))
    return float(np.sqrt(float(part @ metric(part)) / size)) if size > 0 else 0.0


def _least(
    question: Question, t: float, q: np.ndarray, near: Answer | None, close: np.ndarray
) -> tuple[Answer, np.ndarray]:
    """Return the velocity of least power; contacts that touched at the start still do."""
    place = question.at(t, q, viscous=True, touching=close)
    outcome, place = solved(question, place, near)
    if outcome.answer is None:
        raise failure(question, place, outcome, step_of(question, place, outcome))
    return outcome.answer, outcome.answer.v
