"""How it slides, by the balance of forces: Newton's law without inertia, no principle.

Velocities, multipliers and friction forces are unknowns of one system of equations: the balance,
the constraints, and for every friction term its law. Nothing is minimized, so that this path
decides what the principle of minimum power may be believed for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stationary.errors import DidNotConverge, StatementError, say
from stationary.model.system import System
from stationary.result.step import Step
from stationary.solve.sliding.principle import (
    as_place,
    as_time,
    require_place,
    step_of,
    with_others,
)
from stationary.solve.sliding.problem import Answer, largest
from stationary.solve.sliding.question import Place, Question, evaluated
from stationary.solve.sliding.settle import Outcome

_MOST_STEPS = 100
# How round the corner of friction is at first, as a share of the speeds at work, and at last.
_ROUND, _SHARP, _SHARPER = 1.0, 1e-9, 0.2
# Velocities so many times larger than what is imposed differ from infinite ones by rounding.
_BEYOND = 1e7


def newton(
    system: System,
    *,
    at: Mapping[Any, Any] | None = None,
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
    t = as_time(t)
    question = Question(system, params, inputs, (t, t))
    q, v = question.layout.state(as_place(at))
    place = question.at(t, q, viscous=True)
    require_place(question, place)
    if stiffness is not None and not (stiffness > 0 and np.isfinite(stiffness)):
        raise StatementError(
            say("stiffness must be positive.", f"Found {stiffness}.", "Give a large number.")
        )
    law = _Law(question, place, stiffness)
    answer = law.solve(v)
    found = f"{law.left:.3g} of the forces still unbalanced"
    if answer is not None and place.problem.dry and largest(answer.v) > _BEYOND * law.speed:
        # Dry friction does not grow: what balances at such a speed balances at any, or at none.
        answer, found = None, "a balance at velocities beyond every bound alone"
    word = "moves" if answer is not None else "undecided"
    outcome = with_others(question, place, Outcome(word, answer))
    step = step_of(question, replace(place, problem=law.problem), outcome)
    if answer is None and throw:
        raise DidNotConverge(
            say(
                "the balance of forces has not been reached.",
                f"Found {found}.",
                "It may accelerate or be jammed: ask st.minimum_power, which can tell.",
            ),
            status=word,
            solution=step,
        )
    return step


class _Law:
    """Balance, constraints and laws of friction at one configuration; corners round or sharp."""

    def __init__(self, question: Question, place: Place, stiffness: float | None):
        self.question, self.place, self.stiffness = question, place, stiffness
        problem = place.problem
        self.problem = problem
        self.B, self.A, self.G = (
            np.asarray(x.toarray() if hasattr(x, "toarray") else x)
            for x in (problem.B, problem.A, problem.G)
        )
        self.n, self.rows, self.gaps = problem.n, len(problem.b), len(problem.g)
        self.pressed = question.pressed(place)
        self.left = np.inf
        drive = (problem.b, problem.c, problem.g)
        self.speed = max(np.abs(x).max(initial=0.0) for x in drive) or 1.0

    # -- the law of friction ----------------------------------------------------------------------

    def sizes(self, mu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the limit of each term, and its slope in what presses it."""
        size = self.problem.size.copy()
        slope = np.zeros_like(size)
        by_contact = self.pressed >= 0
        rough = size[by_contact]
        slope[by_contact] = rough
        size[by_contact] = rough * np.maximum(mu[self.pressed[by_contact]], 0.0)
        size[self.pressed == -2] = 0.0
        return size, slope

    def rounded(self, v: np.ndarray, mu: np.ndarray, eps: float):
        """Return y, ∂y/∂v and ∂y/∂μ for friction with corners of width eps."""
        p = self.problem
        w = self.B @ v + p.c
        size, slope = self.sizes(mu)
        y = np.zeros_like(w)
        by_v = np.zeros((len(w), self.n))
        by_mu = np.zeros((len(w), self.gaps))
        for k in range(p.terms):
            rows = slice(p.starts[k], p.starts[k] + p.widths[k])
            part, n = w[rows], p.power[k]
            r = np.sqrt(part @ part + eps**2)
            unit = part * r ** (n - 1)
            y[rows] = size[k] * unit
            bend = np.eye(len(part)) * r ** (n - 1) + (n - 1) * r ** (n - 3) * np.outer(part, part)
            by_v[rows] = size[k] * bend @ self.B[rows]
            if self.pressed[k] >= 0:
                by_mu[rows, self.pressed[k]] = slope[k] * unit
        return y, by_v, by_mu

    # -- rounded corners: unknowns v, λ, μ --------------------------------------------------------

    def _round_residual(self, z: np.ndarray, eps: float):
        v, lam, mu = np.split(z, [self.n, self.n + self.rows])
        p, place = self.problem, self.place
        force, slope = evaluated(self.question.sliding, "forces")(
            place.t, place.q, place.u, self.question.params, v
        )
        y, by_v, by_mu = self.rounded(v, mu, eps)
        balance = force - self.B.T @ y + self.A.T @ lam + self.G.T @ mu
        F = p.force
        if self.stiffness is None:
            held, held_v, held_l = self.A @ v + p.b, self.A, np.zeros((self.rows, self.rows))
        else:
            held = lam / self.stiffness + self.A @ v + p.b
            held_v, held_l = self.A, np.eye(self.rows) / self.stiffness
        # Complementarity, rounded: rate · μ = eps².
        rate = (self.G @ v + p.g) / self.speed
        press = mu / F
        root = np.sqrt(rate**2 + press**2 + 2 * (eps / self.speed) ** 2)
        touch = rate + press - root
        root = np.maximum(root, 1e-300)
        residual = np.concatenate([balance / F, held / self.speed, touch])
        J = np.zeros((len(z), len(z)))
        n, m = self.n, self.n + self.rows
        J[:n, :n] = (slope.toarray() - self.B.T @ by_v) / F
        J[:n, n:m] = self.A.T / F
        J[:n, m:] = (self.G.T - self.B.T @ by_mu) / F
        J[n:m, :n], J[n:m, n:m] = held_v / self.speed, held_l / self.speed
        J[m:, :n] = ((1 - rate / root) / self.speed)[:, None] * self.G
        J[m:, m:] = np.diag((1 - press / root) / F)
        return residual, J

    def _descend(self, z: np.ndarray, residual: Any, tolerance: float, steps: int):
        """Newton's method, shortened until the residual goes down."""
        r, J = residual(z)
        for _ in range(steps):
            size = np.linalg.norm(r)
            if size <= tolerance:
                break
            move = _least(J, -r)
            share = 1.0
            while share > 1e-6:
                trial = z + share * move
                new, slope = residual(trial)
                if np.all(np.isfinite(new)) and np.linalg.norm(new) <= (1 - 1e-4 * share) * size:
                    z, r, J = trial, new, slope
                    break
                share /= 2
            else:
                break
        return z, float(np.abs(r).max(initial=0.0))

    # -- sharp corners: unknowns v, y, λ, μ -------------------------------------------------------

    def _sharp_residual(self, z: np.ndarray, scale: np.ndarray):
        n, m, rows = self.n, len(self.problem.c), self.rows
        v, y, lam, mu = np.split(z, [n, n + m, n + m + rows])
        p, place = self.problem, self.place
        force, slope = evaluated(self.question.sliding, "forces")(
            place.t, place.q, place.u, self.question.params, v
        )
        F, a, b, c = p.force, n, n + m, n + m + rows
        J = np.zeros((len(z), len(z)))
        balance = force - self.B.T @ y + self.A.T @ lam + self.G.T @ mu
        J[:a, :n], J[:a, a:b] = slope.toarray() / F, -self.B.T / F
        J[:a, b:c], J[:a, c:] = self.A.T / F, self.G.T / F
        size, press = self.sizes(mu)
        w = self.B @ v + p.c
        law = np.zeros(m)
        for k in range(p.terms):
            i = slice(p.starts[k], p.starts[k] + p.widths[k])
            at = slice(a + p.starts[k], a + p.starts[k] + p.widths[k])
            d = p.widths[k]
            if p.power[k] != 0:
                if p.power[k] < 1:
                    # Infinitely steep at rest: the speed as a function of the force is smooth.
                    back, bend = _inverse(y[i], size[k], p.power[k])
                    law[i] = scale[k] * (w[i] - back)
                    J[at, :n] = scale[k] * self.B[i] / F
                    J[at, at] = -scale[k] * bend / F
                    continue
                r = np.linalg.norm(w[i])
                unit = w[i] * r ** (p.power[k] - 1) if r > 0 else np.zeros(d)
                law[i] = y[i] - size[k] * unit
                bend = np.zeros((d, d))
                if r > 0:
                    bend = np.eye(d) * r ** (p.power[k] - 1)
                    bend += (p.power[k] - 1) * r ** (p.power[k] - 3) * np.outer(w[i], w[i])
                J[at, :n] = -size[k] * bend @ self.B[i] / F
                J[at, at] = np.eye(d) / F
                continue
            # The force is the projection of itself, pushed along the slip, onto what is possible.
            x = y[i] + scale[k] * w[i]
            r = np.linalg.norm(x)
            if r <= size[k] or size[k] == 0 and r == 0:
                law[i] = scale[k] * w[i]
                J[at, :n] = scale[k] * self.B[i] / F
                continue
            u = x / r
            law[i] = y[i] - size[k] * u
            P = size[k] / r * (np.eye(d) - np.outer(u, u))
            J[at, :n] = -scale[k] * P @ self.B[i] / F
            J[at, at] = (np.eye(d) - P) / F
            if self.pressed[k] >= 0:
                J[at, c + self.pressed[k]] = -press[k] * u / F
        held = self.A @ v + p.b
        J[b:c, :n] = self.A / self.speed
        if self.stiffness is not None:
            held = held + lam / self.stiffness
            J[b:c, b:c] = np.eye(rows) / (self.stiffness * self.speed)
        rate = self.G @ v + p.g
        push = F / self.speed
        closed = mu - push * rate > 0
        touch = np.where(closed, rate / self.speed, mu / F)
        J[c:, :n] = np.where(closed[:, None], self.G / self.speed, 0.0)
        J[c:, c:] = np.diag(np.where(closed, 0.0, 1 / F))
        residual = np.concatenate([balance / F, law / F, held / self.speed, touch])
        return residual, J

    def solve(self, v: np.ndarray) -> Answer | None:
        """Sharpen the corners step by step, then solve with sharp ones."""
        p = self.problem
        z = np.concatenate([v, np.zeros(self.rows), np.full(self.gaps, p.force * 0.1)])
        eps, left = _ROUND * self.speed, np.inf
        while eps > _SHARP * self.speed:
            z, left = self._descend(z, lambda x, e=eps: self._round_residual(x, e), 1e-10, 60)
            eps *= _SHARPER
        v, lam, mu = np.split(z, [self.n, self.n + self.rows])
        mu = np.maximum(mu, 0.0)
        y, _, _ = self.rounded(v, mu, eps / _SHARPER)
        self.left = left
        sharp = np.concatenate([v, y, lam, mu])
        size, _ = self.sizes(mu)
        for factor in (1.0, 0.1, 10.0, 0.01, 100.0):
            scale = np.maximum(size, 1e-6 * p.force) / self.speed * factor
            found, left = self._descend(
                sharp, lambda x, s=scale: self._sharp_residual(x, s), 1e-14, _MOST_STEPS
            )
            self.left = min(self.left, left)
            if left <= 1e-10:
                return self._answer(found)
        return None

    def _answer(self, z: np.ndarray) -> Answer:
        n, m = self.n, len(self.problem.c)
        v, y, lam, mu = np.split(z, [n, n + m, n + m + self.rows])
        if np.abs(v).max(initial=0.0) <= 1e-13 * self.speed:
            v = np.zeros(n)
        size, _ = self.sizes(mu)
        self.problem = replace(self.problem, size=size)
        w = self.B @ v + self.problem.c
        still = self.problem.speeds(w) <= 1e-9 * max(np.abs(w).max(initial=0.0), self.speed)
        return Answer(self.problem, v, y, lam, mu, still, mu > 0, "force balance")


def _inverse(y: np.ndarray, size: float, power: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the rate under which drag resists with y, and its slope in y."""
    strength, order = np.linalg.norm(y), 1 / power
    if strength == 0 or size == 0:
        return np.zeros_like(y), np.zeros((len(y), len(y)))
    speed = (strength / size) ** order
    u = y / strength
    bend = speed / strength * (np.eye(len(y)) + (order - 1) * np.outer(u, u))
    return speed * u, bend


def _least(J: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Solve J x = r; the smallest solution where rows say the same."""
    try:
        made = np.linalg.solve(J, r)
        if np.abs(J @ made - r).max() <= 1e-8 * max(np.abs(r).max(), 1e-300):
            return made
    except np.linalg.LinAlgError:
        pass
    return np.linalg.lstsq(J, r, rcond=1e-13)[0]
