"""How it slides, by the balance of forces: Newton's law without inertia, no principle.

Nothing is minimized, so that this path decides what the principle of minimum power may be believed
for. Where there is no balance two props tell why: a little drag on every motion, and a little give
in what holds. With both there is always a balance. As they are taken away, velocities that grow
without end accelerate, and forces that do are jammed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, product
from typing import Any

import numpy as np
from scipy.optimize import nnls

from stationary.errors import DidNotConverge, StatementError, say
from stationary.model.layout import Start
from stationary.model.system import System
from stationary.result.step import Step
from stationary.solve.arguments import as_time, quiet
from stationary.solve.gate.claims import passed
from stationary.solve.linear import tangent_basis
from stationary.solve.sliding.convex.judge import Outcome, in_units_of
from stationary.solve.sliding.coulomb.modes import compared, motions
from stationary.solve.sliding.instant.law import Law
from stationary.solve.sliding.instant.least_power import asked
from stationary.solve.sliding.problem.numbers import Answer, largest
from stationary.solve.sliding.telling.step import failure, step_of

# Velocities so many times larger than what is imposed differ from infinite ones by rounding.
_BEYOND = 1e7
# How small the props become, as shares of the forces and speeds at work.
_PROPS = tuple(10.0 ** (-k / 2) for k in range(15))
# Where the balance is lost between two of them it is followed through others, as near as this.
_CLOSER = 1.5
# What grows by this much while the props fall to a third has no limit.
_GROWS = 1.25
# A proof may be off by this share.
_PROVED = 1e-7
# Up to so many modes of contacts each is a place to start from.
_MOST_MODES = 256


@quiet
def newton(
    system: System,
    *,
    at: Start | None = None,
    params: Mapping[Any, float] | None = None,
    inputs: Mapping[Any, Any] | None = None,
    t: float = 0.0,
    stiffness: float | None = None,
    throw: bool = True,
) -> Step:
    """Find how a system slides by the balance of its forces: Newton's law with m = 0.

    An independent path: it solves for velocities, multipliers and friction forces together and
    minimizes nothing, and so holds for every force, magnetic ones and follower loads included.

    Parameters
    ----------
    system : System
    at : dict
        The configuration; coordinates left out are zero.
    params, inputs : dict, optional
    t : float
    stiffness : float, optional
        Replace every constraint by a spring of this stiffness, which resists its violation in
        unit time, as the report does; the velocity tends to that of the rigid constraint.
    throw : bool
        If false, a failure is reported in ``step.status`` instead.

    Returns
    -------
    Step

    Raises
    ------
    NoMotion
        Its kind is "accelerates" where friction cannot take what the loads give, "jammed" where
        constraints contradict each other or friction at contacts locks.

    Examples
    --------
    >>> x, y = st.coordinates("x y")
    >>> charge = st.System(
    ...     loads=[st.Load((1 + 2 * y.dot, -2 * x.dot), on=(x, y), name="field")],
    ...     friction=[st.Drag(1.0, 1, on=(x, y), name="air")],
    ... )
    >>> step = st.newton(charge)
    >>> round(step[x.dot], 12), round(step[y.dot], 12)
    (0.2, -0.4)
    """
    question, place, v = asked(system, at, params, inputs, as_time(t))
    if stiffness is not None and not _positive(stiffness):
        raise StatementError(
            "stiffness must be positive.", f"Found {stiffness}.", "Give a large number."
        )
    law = Law(question, place, stiffness)
    outcome, size = _balanced(law, v * place.problem.levers)
    outcome = in_units_of(place.problem, outcome)
    if outcome.answer is not None:
        outcome = compared(question, place, outcome)
    pressed = replace(place, problem=replace(place.problem, size=size))
    step = step_of(question, pressed, outcome)
    if throw and step.status in ("accelerates", "jammed"):
        raise failure(question, pressed, outcome, step)
    if throw and outcome.answer is None:
        raise DidNotConverge(
            say(
                "the balance of forces has not been reached.",
                f"Found {law.left:.3g} of the forces still unbalanced, and no proof that there is "
                "none.",
                "It may be at the very limit of what friction holds: change a load a little, or "
                "ask st.minimum_power.",
            ),
            status=outcome.word,
            solution=step,
        )
    # What holds with a finite stiffness yields, and claims no more.
    return step if stiffness is not None else passed(step, "newton", throw=throw)


def _positive(value: Any) -> bool:
    try:
        return 0 < float(value) < np.inf
    except (TypeError, ValueError):
        return False


def _balanced(law: Law, v: np.ndarray) -> tuple[Outcome, np.ndarray]:
    """Find the balance of forces, or why there is none; with it the limits of friction."""
    nothing, _ = law.sizes(np.zeros(law.gaps))
    conflict = _conflict(law)
    if conflict is not None:
        return conflict, nothing
    for law.speed in law.speeds:
        answer = _within(law, law.solve(v))
        if answer is not None:
            return Outcome("moves", answer), answer.problem.size
    law.speed = law.speeds[0]
    path = _followed(law, v)
    for start in chain(path[-1:], (mode() for mode in _modes(law)), _known(law)):
        unknowns = law.sharpest(start, near=True)
        answer = None if unknowns is None else _within(law, law.answer(unknowns))
        if answer is not None:
            return Outcome("moves", answer), answer.problem.size
    for path in chain([path], _ends(law)):
        proof = _proof(law, path)
        if proof is not None:
            return proof
    return Outcome("undecided"), nothing


def _within(law: Law, answer: Answer | None) -> Answer | None:
    """Refuse a balance at velocities without bound: dry friction does not grow with them."""
    if answer is None or not law.problem.dry:
        return answer
    return None if answer.speed > _BEYOND * law.speed else answer


def _conflict(law: Law) -> Outcome | None:
    """Find rows that no velocity satisfies together, by forces in them that balance by themselves.

    Aᵀλ + Gᵀμ = 0 with μ ≥ 0 and λ·b + μ·g = −1: of velocities nothing is left, but a contradiction.
    """
    p = law.problem
    # Constraints that are springs contradict nothing.
    A, b = (law.A, p.b) if law.stiffness is None else (law.A[:0], p.b[:0])
    rates = np.concatenate([b, p.g]) / law.speed
    if not np.any(rates):
        return None
    rows = np.vstack([A, law.G])
    scale = np.maximum(np.abs(rows).max(axis=1, initial=0.0), 1e-300)
    rows, rates = rows / scale[:, None], rates / scale
    # Forces of constraints have either sign.
    table = np.vstack([rows.T, rates])
    table = np.hstack([table, -table[:, : len(b)]])
    try:
        forces, left = nnls(table, np.append(np.zeros(p.n), -1.0))
    except RuntimeError:
        return None
    if left > _PROVED:
        return None
    forces[: len(b)] -= forces[len(rows) :]
    forces = forces[: len(rows)] / scale
    lam = np.zeros(law.rows)
    lam[: len(b)] = forces[: len(b)]
    return Outcome("jammed", rows=lam, gaps=forces[len(b) :])


#: Why there is no balance, and the limits of friction there.
_Proof = tuple[Outcome, np.ndarray]


# -- props ----------------------------------------------------------------------------------------


def _prop(law: Law, share: float) -> None:
    law.drag = share * law.light / law.speed
    law.give = min(share, 1.0) * law.speed / law.strongest


def _followed(law: Law, v: np.ndarray) -> list[np.ndarray]:
    """Return the balance as its props are taken away step by step, as far as it can be followed."""
    law.strength = law.strongest
    z, path = law.begin(v), []
    # Where imposed motions meet strong drag, the prop is as strong at first.
    more = np.arange(round(2 * np.log10(law.strongest / law.light)), 0, -1)
    ahead, before = [*10.0 ** (more / 2), *_PROPS][::-1], np.inf
    while ahead:
        share = ahead[-1]
        _prop(law, share)
        eps = min(share, 1.0) * law.speed
        there, left = law.round(z, eps)
        # Steep corners amplify rounding; what the end of the path is good for is proved there.
        if left > 1e-6:
            if not path or before < _CLOSER * share:
                break
            ahead.append(float(np.sqrt(before * share)))
            continue
        z, before = there, ahead.pop()
        law.measure(z, eps)
        path.append(law.sharpened(z, eps))
    _prop(law, 0.0)
    return path


def _ends(law: Law) -> Iterator[list[np.ndarray]]:
    """Yield the balance under the last props in every mode of few contacts that has one."""
    for mode in _modes(law):
        path = []
        for share in _PROPS[-3:]:
            _prop(law, share)
            unknowns = law.sharpest(path[-1] if path else mode(), near=bool(path))
            if unknowns is None:
                break
            path.append(unknowns)
        _prop(law, 0.0)
        if len(path) == 3:
            yield path


def _proof(law: Law, path: list[np.ndarray]) -> _Proof | None:
    """Tell what grew without end, and prove that it does."""
    if len(path) < 3:
        return None
    speeds = [largest(end[: law.n]) for end in path[-3:]]
    forces = [largest(end[law.n :]) for end in path[-3:]]
    grown, proof = path[-1] - path[-2], None
    if _grows(forces) and forces[-1] > 30 * law.strongest:
        proof = _locked(law, grown)
    if proof is None and _grows(speeds) and speeds[-1] > 30 * law.speed:
        proof = _runs(law, grown[: law.n], path[-1])
    return proof


def _grows(sizes: list[float]) -> bool:
    return all(b > _GROWS * a for a, b in zip(sizes, sizes[1:]))


def _runs(law: Law, v: np.ndarray, end: np.ndarray) -> _Proof | None:
    """Prove that nothing holds it along the direction in which it grew."""
    p = law.problem
    mu = end[len(end) - law.gaps :]
    ray = v / (largest(v) or 1.0)
    # A gap changes or not beside all that runs away: what stays has rounding for a velocity.
    held, reach = law.A if law.stiffness is None else law.A[:0], np.abs(law.G).sum(axis=1)
    # What slips by next to nothing does not slip along the ray itself.
    slipless = (p.speeds(law.B @ ray) <= 1e-5)[p.term]
    held = np.vstack([held, law.G[np.abs(law.G @ ray) <= 1e-5 * reach], law.B[slipless]])
    if len(held):
        ray = ray - np.linalg.lstsq(held, held @ ray, rcond=1e-12)[0]
    size, _ = law.sizes(mu)
    speeds = p.speeds(law.B @ ray)
    # Drag would hold it at some speed.
    if np.any(speeds[(p.power > 0) & (size > 0)] > _PROVED):
        return None
    slip = np.where(p.power == 0, size * speeds, 0.0)
    given = float(law.force(end[: law.n])[0] @ ray)
    if given < slip.sum() - _PROVED * p.force or np.any(law.G @ ray < -_PROVED * reach):
        return None
    return Outcome("accelerates", ray=ray, rubs=float(slip[law.pressed >= 0].sum())), size


def _locked(law: Law, grown: np.ndarray) -> _Proof | None:
    """Prove that forces within their cones hold against whatever drives, and grow with it."""
    p = law.problem
    _, y, lam, mu = np.split(grown, np.cumsum([law.n, len(p.c), law.rows]))
    top = max(np.abs(lam).max(initial=0.0), np.abs(mu).max(initial=0.0)) or 1.0
    y, lam, mu = y / top, lam / top, mu / top
    size, _ = law.sizes(mu)
    size[law.pressed < 0] = 0.0
    rows, forces = np.vstack([law.A, law.G, law.B]), np.concatenate([lam, mu, -y])
    left, pulls = (x.T @ z for x, z in ((rows, forces), (abs(rows), abs(forces))))
    outside = (p.speeds(y) - size).max(initial=0.0)
    work = lam @ p.b + mu @ p.g - y @ p.c
    off = largest(left) / (largest(pulls) or 1.0)
    if max(off, outside, -mu.min(initial=0.0)) > 1e-5 or work >= 0:
        return None
    return Outcome("jammed", rows=lam, gaps=mu, locks=y), size


# -- places to start from -------------------------------------------------------------------------


def _modes(law: Law) -> list[Callable[[], np.ndarray]]:
    """Return the modes of few contacts: open, stuck, sliding either way."""
    p = law.problem
    rubbing = {int(j): int(k) for k, j in enumerate(law.pressed) if j >= 0 and p.size[k] > 0}
    choices = [range(4) if j in rubbing else range(2) for j in range(law.gaps)]
    wide = any(p.widths[k] > 1 for k in rubbing.values())
    if not rubbing or wide or np.prod([float(len(c)) for c in choices]) > _MOST_MODES:
        return []
    return [partial(_mode, law, rubbing, choice) for choice in product(*choices)]


def _known(law: Law) -> Iterator[np.ndarray]:
    """Yield motions that every mode has: friction may lock and leave one all the same."""
    for answer in motions(law.problem, law.pressed) or ():
        yield np.concatenate([answer.v, *answer.forces])


def _mode(law: Law, rubbing: dict[int, int], choice: tuple[int, ...]) -> np.ndarray:
    """Return where the law is that of one mode: 0 open, 1 stuck, 2 and 3 sliding either way.

    Velocities are the smallest that it allows; friction acts along what they are.
    """
    p, closed = law.problem, np.array(choice) > 0
    stuck = [int(p.starts[k]) for j, k in rubbing.items() if choice[j] == 1]
    rows = np.vstack([law.A, law.G[closed], law.B[stuck]])
    v = np.linalg.lstsq(rows, -np.concatenate([p.b, p.g[closed], p.c[stuck]]), rcond=1e-12)[0]
    if law.drag:
        # What is free goes as fast as the prop lets it.
        free = tangent_basis(rows)
        v = v + free @ (free.T @ law.force(v)[0]) / law.drag
    rate, w = (law.G @ v + p.g) / law.speed, law.B @ v + p.c
    mu = law.strength * (rate + np.where(closed, 1.0, -1.0))
    y = (p.size / np.maximum(p.speeds(w), 1e-300))[p.term] * w
    for j, k in rubbing.items():
        limit = p.size[k] * max(mu[j], 0.0)
        scale = max(limit, 1e-6 * law.strength) / law.speed
        y[p.starts[k]] = (0.0, 0.0, 2 * limit, -2 * limit)[choice[j]] - scale * w[p.starts[k]]
    return np.concatenate([v, y, np.zeros(law.rows), mu])
