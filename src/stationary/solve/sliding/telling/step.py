"""What is told of an outcome: a step with its names and its evidence, or why there is none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stationary.derive.scope import Kind, minimum_power_holds
from stationary.errors import DidNotConverge, NoMotion, say
from stationary.result.limits import Velocities
from stationary.result.multipliers import Multipliers
from stationary.result.status import Status
from stationary.result.step import Forces, Step
from stationary.solve.linear import dense, tangent_basis
from stationary.solve.sliding.convex.cones import farthest
from stationary.solve.sliding.convex.judge import Outcome
from stationary.solve.sliding.convex.settle import free_directions, smallest
from stationary.solve.sliding.coulomb.modes import rubbing
from stationary.solve.sliding.coulomb.pressed import limited
from stationary.solve.sliding.problem.numbers import STILL, Answer
from stationary.solve.sliding.problem.question import Place, Question

# A velocity this much smaller than what drives is none.
_ROUNDING = 1e-14


def step_of(question: Question, place: Place, outcome: Outcome) -> Step:
    """Wrap an outcome with its names and its evidence."""
    layout, problem = question.layout, place.problem
    answer = outcome.answer
    free = np.zeros((0, problem.n))
    follows, slope = rubbing(question, place), None
    if answer is None:
        y, lam, mu = (np.zeros(len(x)) for x in (problem.c, problem.b, problem.g))
        stuck, nothing = np.zeros(problem.terms, dtype=bool), np.full(problem.n, np.nan)
        answer = Answer(problem, nothing, y, lam, mu, stuck, mu > 0)
    elif outcome.word == "moves":
        answer, slope = _felt(question, place, answer)
        free = free_directions(answer, slope)
        answer = smallest(answer, free)
    else:
        free = _loose(answer) if follows else free_directions(answer)
    free = free if len(free) and _leads(answer, free) else free[:0]
    answer = answer.cleared
    outcome = replace(outcome, others=_elsewhere(answer, free, outcome.others))
    elsewhere = free[:0] if outcome.others is None else outcome.others
    v = answer.v
    moves = np.abs(v).max(initial=0.0) > _ROUNDING * answer.speed
    if outcome.word == "moves" and not moves:
        v = np.zeros_like(v)
    word = "sticks" if outcome.word == "moves" and not moves else outcome.word
    unique = None
    if outcome.answer is not None:
        known = not follows or outcome.examined
        known = known and (slope is None or _monotone(question, place, answer.v, slope))
        unique = False if len(free) or len(elsewhere) else True if known else None
    mu = np.zeros(question.sliding.gaps)
    mu[place.touching] = answer.mu
    y, lam, mu = question.stated(answer.y, answer.lam, mu)
    limits, rests = _friction(question, answer)
    return Step(
        system=question.system,
        graph=question.sliding.graph,
        t=place.t,
        q=place.q,
        v=v,
        params=question.params,
        u=place.u,
        power=answer.value,
        dissipated=answer.dissipated,
        lam=Multipliers.of(np.concatenate([lam, mu]), layout),
        forces=Forces(forces_of(question, y)),
        limits=limits,
        rests=rests,
        modes=_modes(question, place, answer),
        unique=unique,
        free=free,
        others=elsewhere,
        margin=_margin(outcome, word),
        gap=answer.gap if outcome.answer is not None else np.nan,
        residual=answer.residual if outcome.answer is not None else {},
        status=status_of(question, place, word, outcome, unique),
        method=answer.source,
    )


def nearby(question: Question, place: Place, step: Step) -> Answer | None:
    """Return a step nearby as an answer to start from, or None where it has none to these rows."""
    problem, layout = place.problem, question.layout
    y, stuck = np.zeros(len(problem.c)), np.zeros(problem.terms, dtype=bool)
    every, shapes = step.lam.every, {name: np.shape(x) for name, x in step.forces.items()}
    known = len(every) == len(problem.b) + question.sliding.gaps and np.all(np.isfinite(step.v))
    if not known or shapes != {rows.name: rows.shape for rows in layout.slips}:
        return None
    for rows, terms in question.by_name():
        y[rows.places] = -step.forces[rows.name]
        stuck[terms] = np.ravel(step.rests[rows.name])
    lam, mu = np.split(every, [len(problem.b)])
    y, lam, mu = question.stated(y, lam, mu, over=True)
    mu = mu[place.touching]
    problem = limited(problem, question.pressed(place), mu) if rubbing(question, place) else problem
    return Answer(problem, step.v, y, lam, mu, stuck, mu > 0)


def _felt(question: Question, place: Place, answer: Answer) -> tuple[Answer, Any]:
    """Take loads that depend on the velocity as they are there; return their slope as well."""
    if not minimum_power_holds(question.system).failing_among(Kind.LOAD, Kind.KINETIC):
        return answer, None
    force, slope = question.evaluate("forces", place, answer.v)
    given = force + answer.damping[1] if answer.damping else force
    return replace(answer, problem=replace(answer.problem, f=given)), slope


def _monotone(question: Question, place: Place, v: np.ndarray, slope: Any) -> bool:
    """Tell whether loads are linear in the velocity and resist its changes: then there is one."""
    there = 1.7 * v + 0.3 * (np.abs(v).max(initial=0.0) or 1.0)
    other = question.evaluate("forces", place, there)[1].toarray()
    slope = slope.toarray()
    size = max(np.abs(slope).max(initial=0.0), 1e-300)
    linear = np.abs(other - slope).max(initial=0.0) <= 1e-9 * size
    return bool(linear and np.linalg.eigvalsh(slope + slope.T).max(initial=0.0) <= 1e-9 * size)


def _loose(answer: Answer) -> np.ndarray:
    """Return directions in which nothing at all resists what rests."""
    problem = answer.problem
    B, A, G = map(dense, problem.matrices)
    rubs, presses = (problem.size > 0)[problem.term], answer.mu > 1e-12 * answer.strength
    return tangent_basis(np.vstack([B[rubs], A, G[presses]])).T


def _leads(answer: Answer, free: np.ndarray) -> bool:
    """Tell whether contacts that touch leave a way along these directions."""
    touching = answer.problem.matrices[2][np.abs(answer.opening) <= STILL * answer.speed]
    rows, reach = touching @ free.T, abs(touching) @ np.abs(free.T)
    rows = np.divide(rows, reach, out=np.zeros(rows.shape), where=np.abs(rows) > STILL * reach)
    return bool(tangent_basis(rows).shape[1]) or farthest(rows[:0], rows)[0] is not None


def _elsewhere(
    answer: Answer, free: np.ndarray, velocities: np.ndarray | None
) -> np.ndarray | None:
    """Return those of other velocities that are not this one and what free directions add to it."""
    if velocities is None or not len(velocities) or not np.all(np.isfinite(answer.v)):
        return velocities
    levers = answer.problem.levers
    apart, along = (velocities - answer.v) * levers, np.linalg.qr((free * levers).T)[0]
    apart = np.abs(apart - apart @ along @ along.T).max(axis=1)
    return velocities[apart > 1e-6 * np.abs(np.vstack([velocities, answer.v]) * levers).max()]


def forces_of(question: Question, y: np.ndarray) -> dict[str, Any]:
    """Return the forces of friction on the system, by name."""
    return {
        rows.name: 0.0 - y[rows.places] if rows.shape else float(0.0 - y[rows.places])
        for rows in question.layout.slips
    }


def _friction(question: Question, answer: Answer) -> tuple[Forces, Forces]:
    """Return the limits of dry friction, and whether it is at rest, by name."""
    problem, limits, rests = answer.problem, Forces(), Forces()
    dry = problem.power == 0
    none = np.zeros(question.sliding.gaps)
    limit, *_ = question.stated(problem.size[problem.term], answer.lam, none)
    limit = np.where(dry, limit[problem.starts], np.nan)
    # What is slower than rounding is at rest.
    resting = dry & (answer.stuck | (answer.speeds <= 1e-9 * answer.speed))
    for rows, terms in question.by_name():
        shape = rows.shape if problem.widths[terms.start] == 1 else rows.shape[:-1]
        for by_name, values in ((limits, limit), (rests, resting)):
            of = values[terms].reshape(shape)
            by_name[rows.name] = of if shape else of.item()
    return limits, rests


def _margin(outcome: Outcome, word: str) -> float:
    if outcome.rest is not None:
        return outcome.rest.static
    if outcome.word == "sticks":
        return np.inf
    return 1.0 if word == "moves" else np.nan


def _modes(question: Question, place: Place, answer: Answer) -> dict[str, Any]:
    """Tell of every contact whether it is open, holds, sticks or slides."""
    if not len(place.gap):
        return {}
    words = np.full(len(place.gap), "open", dtype=object)
    closed = (answer.mu > 0) | (np.abs(answer.opening) <= 1e-10 * answer.speed)
    words[place.touching] = np.where(closed, "holds", "opens")
    rates = answer.problem.rates(answer.v)
    slip = answer.problem.speeds(rates)
    for term in np.flatnonzero(question.rubs >= 0):
        contact = question.rubs[term]
        if words[contact] != "holds":
            continue
        if answer.stuck[term] or slip[term] <= 1e-9 * answer.speed:
            words[contact] = "sticks"
        elif answer.problem.widths[term] > 1:
            words[contact] = "slides"
        else:
            ahead = rates[answer.problem.starts[term]] > 0
            words[contact] = "slides forward" if ahead else "slides back"
    return {
        rows.name: words[rows.places] if rows.shape else str(words[rows.places])
        for rows in question.layout.gaps
    }


def status_of(
    question: Question, place: Place, word: str, outcome: Outcome, unique: bool | None = None
) -> Status:
    """Return how it ended, with a sentence about it."""
    if word == "accelerates":
        direction, (feeder,), sentence = _runaway(question, place, outcome)
        what = "the loads give more than friction can take"
        what = what if outcome.stiffness is None else "no rest is near"
        return Status(word, f"{what}, fed by {feeder}: {sentence}", direction, (feeder,))
    if word == "jammed":
        _, names, sentence = _conflict(question, place, outcome)
        what = "friction locks it" if outcome.locked else "no velocity satisfies all constraints"
        return Status(word, f"{what}: {sentence}", names=names)
    message = _message(word, outcome)
    if unique is None and word in ("moves", "sticks"):
        message += "; whether other motions would fit as well was not examined"
    return Status(word, message)


def _message(word: str, outcome: Outcome) -> str:
    if outcome.others is not None and len(outcome.others):
        return (
            f"{'it slides' if word == 'moves' else 'friction holds it'}; forces and velocities fit "
            f"each other, but so do those of {len(outcome.others)} other motion(s): Coulomb's law "
            "does not decide here"
        )
    if word == "moves":
        if outcome.loose:
            return "it slides; other forces would fit its velocities too, these are the smallest"
        return "it slides; forces and velocities prove each other"
    if word == "sticks":
        if outcome.answer is not None and np.any(outcome.answer.problem.c):
            return "it stays where it is; what drives slides past it"
        if outcome.rest is None:
            pushed = outcome.answer is not None and np.any(outcome.answer.problem.f)
            return "friction holds it" if pushed else "nothing pushes, nothing moves"
        if np.isinf(outcome.rest.static):
            return "it is held, however much all loads grow together"
        return (
            f"friction holds it; all loads may grow {outcome.rest.static:.4g} times before it slips"
        )
    return f"the solver stopped: {word}"


#: A direction in which it runs away, names, and a sentence.
_Reason = tuple[Velocities | None, tuple[str, ...], str]


def _runaway(question: Question, place: Place, outcome: Outcome) -> _Reason:
    """Return the direction in which it runs away, what feeds it, and the powers along it."""
    layout, problem = question.layout, place.problem
    ray = np.zeros(problem.n) if outcome.ray is None else outcome.ray
    speeds = np.abs(ray) * problem.levers
    ray = np.where(speeds < 1e-9 * speeds.max(initial=0.0), 0.0, ray)
    ray = ray / (np.abs(ray).max(initial=0.0) or 1.0)
    given = question.evaluate("power", place, ray)[0]
    pressed = question.rubs >= 0
    r = problem.speeds(problem.matrices[0] @ ray)
    taken = float(np.sum((problem.size * r)[~pressed]))
    big = np.argsort(-np.abs(ray))[:3]
    shown = ", ".join(f"{layout.name(int(i))}.dot {ray[i]:+.3g}" for i in big if ray[i])
    # Where contacts lift by as much as their friction would need to be pressed, it takes nothing.
    rubs = outcome.rubs
    rest = f", at contacts {rubs:.4g}" if rubs else ", contacts nothing" if np.any(pressed) else ""
    reason = f"the loads give {given.sum():.4g} and friction takes {taken:.4g}{rest}"
    if outcome.stiffness is not None:
        reason = f"the stiffness is {outcome.stiffness:.4g}: nothing brings it back"
    sentence = f"along ({shown}) {reason}"
    feeder = question.sliding.supplies[int(np.argmax(given))]
    return Velocities.of(ray, layout), (feeder,), sentence


def _conflict(question: Question, place: Place, outcome: Outcome) -> _Reason:
    """Return the constraints that contradict each other, or lock, by name."""
    layout = question.layout
    if outcome.rows is None or outcome.gaps is None:
        return None, (), "which of them is not known"
    weights, gaps = np.abs(outcome.rows), np.abs(outcome.gaps)
    top = max(weights.max(initial=0.0), gaps.max(initial=0.0)) or 1.0
    names = [layout.row_name(int(i)) for i in np.flatnonzero(weights > 1e-6 * top)]
    names += [layout.gap_name(int(place.touching[i])) for i in np.flatnonzero(gaps > 1e-6 * top)]
    listed = ", ".join(f"'{n}'" for n in names[:6])
    if outcome.locked:
        sentence = f"forces of these hold each other within their cones of friction: {listed}"
    elif len(names) == 1 and np.any(weights):
        sentence = f"{listed} asks for a motion that no coordinate can give it: it is out of reach"
    else:
        sentence = f"these conflict: {listed}"
    return None, tuple(names), sentence


# What is wrong and what to do, where nothing moves as asked.
_FAILS = {
    "accelerates": (
        "there is no quasistatic motion: it accelerates, fed by {}.",
        "Increase the friction, lower the load, hold the direction by a constraint, or use "
        "st.simulate.",
    ),
    "locked": (
        "it is jammed: friction locks it, however hard it is driven.",
        "Lower a coefficient of friction, or drive it another way.",
    ),
    "jammed": (
        "it is jammed: no velocity satisfies all constraints.",
        "Remove one, or change the motion that it imposes.",
    ),
    "kink": (
        "the dissipation has a kink at rest, which hides what sticks.",
        "State dry friction as st.Friction(limit, on=…) instead.",
    ),
    "stopped": (
        "the search for the velocity did not end.",
        "Check the sizes of limits and velocities, or try st.newton.",
    ),
}


def failure(question: Question, place: Place, outcome: Outcome, step: Step) -> DidNotConverge:
    """Return the error for a question without an answer."""
    word = outcome.word
    if word in ("accelerates", "jammed"):
        tell = _runaway if word == "accelerates" else _conflict
        direction, names, sentence = tell(question, place, outcome)
        what, remedy = _FAILS["locked" if outcome.locked else word]
        message = say(what.format(*names[:1]), f"{sentence[0].upper()}{sentence[1:]}.", remedy)
        return NoMotion(message, kind=word, solution=step, direction=direction, names=names)
    what, remedy = _FAILS.get(word, _FAILS["stopped"])
    evidence = "Found a slope or a curvature at v = 0 that is not finite."
    if word != "kink":
        evidence = f"Stopped as '{word}', duality gap {step.gap:.1e}."
    return DidNotConverge(say(what, evidence, remedy), status=str(step.status), solution=step)
