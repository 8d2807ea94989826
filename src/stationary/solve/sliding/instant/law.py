"""Balance, constraints and laws of friction as one system of equations, corners round or sharp.

Velocities, multipliers and friction forces are unknowns together. Nothing is minimized.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

from stationary.solve.linear import dense
from stationary.solve.newton import iterated, shortened
from stationary.solve.sliding.problem.numbers import Answer, largest
from stationary.solve.sliding.problem.question import Place, Question

_MOST_STEPS, _FEW_STEPS = 100, 20
# How round the corner of friction is at first, as a share of the speeds at work, and at last.
_ROUND, _SHARP, _SHARPER = 1.0, 1e-9, 0.2
# How far a slip moves the guess of its force, as multiples of what is natural.
_FACTORS = (1.0, 0.1, 10.0, 0.01, 100.0)
# The search is lost where so much of the forces is left over with round corners.
_LOST = 1e-3
# Up to so many unknowns matrices are full.
_FULL = 300
# How often rows are measured anew by what adds up in them.
_ROUNDS = 3

#: What is left over at unknowns, its slope, and what adds up in each row.
Residual = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


class Law:
    """Balance, constraints and laws of friction at one configuration.

    Velocities are those of what rubs, and constraints of the size one. Two props may hold it up:
    `drag` resists every velocity, and `give` lets what holds yield to what it carries.
    """

    def __init__(self, question: Question, place: Place, stiffness: float | None):
        self.question, self.place, self.stiffness = question, place, stiffness
        self.problem = problem = place.problem.in_own_units()
        self.B, self.A, self.G = map(dense, (problem.B, problem.A, problem.G))
        self.n, self.rows, self.gaps = problem.n, len(problem.b), len(problem.g)
        self.pressed = question.pressed(place)
        self.left = np.inf
        self.drag, self.give = 0.0, 0.0
        #: The speeds at which to look, the likeliest first.
        self.speeds = [s for s in (problem.given, self._turned()) if s] or [1.0]
        self.speed = self.speeds[0]
        self.strength = self.strongest = self._strongest()
        dry = problem.size[(problem.power == 0) & (self.pressed == -1)]
        self.light = max(dry.max(initial=0.0), largest(problem.f)) or self.strongest

    def _carried(self) -> np.ndarray:
        """Return the smallest velocity that does what is imposed."""
        p = self.problem
        pushes = p.g < 0
        rows, rates = np.vstack([self.A, self.G[pushes]]), np.append(p.b, p.g[pushes])
        if not np.any(rates):
            return np.zeros(self.n)
        return np.linalg.lstsq(rows, -rates, rcond=1e-12)[0]

    def _turned(self) -> float:
        """Return the speed at which forces that turn with the motion are as large as all others."""
        slope = abs(self.force(np.zeros(self.n))[1]).max() if self.n else 0.0
        return self.problem.force / slope if slope else 0.0

    def _strongest(self) -> float:
        """Return how strong forces are where all move as imposed."""
        p, v = self.problem, self._carried()
        grows = p.power > 0
        size = p.size[grows] * p.speeds(self.B @ v + p.c)[grows] ** p.power[grows]
        return max(p.force, size.max(initial=0.0), largest(self.force(v)[0]))

    def measure(self, z: np.ndarray, eps: float) -> None:
        """Measure forces by the strongest of those at v, λ and μ."""
        v, lam, mu = np.split(z, [self.n, self.n + self.rows])
        forces = (self.force(v)[0], self.rounded(v, mu, eps)[0], lam, mu)
        self.strength = max(self.light, *map(largest, forces))

    def force(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return all forces but those of friction terms and of what holds, and their slope."""
        units = 1 / self.place.problem.levers
        force, slope = self.question.evaluate("forces", self.place, v * units)
        return force * units, units[:, None] * dense(slope) * units

    # -- the law of friction ----------------------------------------------------------------------

    def sizes(self, mu: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the limit of each term, and its slope in what presses it."""
        size = self.problem.size.copy()
        slope = np.zeros_like(size)
        by_contact = self.pressed >= 0
        coefficients = size[by_contact]
        slope[by_contact] = coefficients
        size[by_contact] = coefficients * np.maximum(mu[self.pressed[by_contact]], 0.0)
        size[self.pressed == -2] = 0.0
        return size, slope

    def rounded(self, v: np.ndarray, mu: np.ndarray, eps: float):
        """Return y, ∂y/∂v and ∂y/∂μ for friction with corners of width eps."""
        p = self.problem
        w, (size, slope) = self.B @ v + p.c, self.sizes(mu)
        # Drag has no corner from the first power on.
        r = np.sqrt(p.sums(w * w) + np.where(p.power < 1, eps, _SHARP * self.speed) ** 2)
        unit = w * (r ** (p.power - 1))[p.term]
        turn = p.sums(w[:, None] * self.B) * (size * (p.power - 1) * r ** (p.power - 3))[:, None]
        by_v = (size * r ** (p.power - 1))[p.term, None] * self.B + w[:, None] * turn[p.term]
        by_mu, follows = np.zeros((len(w), self.gaps)), np.flatnonzero(self.pressed[p.term] >= 0)
        by_mu[follows, self.pressed[p.term[follows]]] = (slope[p.term] * unit)[follows]
        return size[p.term] * unit, by_v, by_mu

    @property
    def soft(self) -> np.ndarray:
        """How far constraints yield to the forces in them."""
        if self.stiffness is None:
            return np.full(self.rows, self.give)
        return 1 / self.stiffness / self.place.problem.row_sizes**2

    # -- rounded corners: unknowns v, λ, μ --------------------------------------------------------

    def _round_residual(self, z: np.ndarray, eps: float):
        v, lam, mu = np.split(z, [self.n, self.n + self.rows])
        p = self.problem
        force, slope = self.force(v)
        y, by_v, by_mu = self.rounded(v, mu, eps)
        balance = force - self.drag * v - self.B.T @ y + self.A.T @ lam + self.G.T @ mu
        F = self.strength
        held = self.soft * lam + self.A @ v + p.b
        # Complementarity, rounded: rate · μ = eps².
        rate = (self.G @ v + p.g + self.give * mu) / self.speed
        press = mu / F
        root = np.sqrt(rate**2 + press**2 + 2 * (eps / self.speed) ** 2)
        touch = rate + press - root
        root = np.maximum(root, 1e-300)
        residual = np.concatenate([balance / F, held / self.speed, touch])
        share = np.concatenate([
            self._pulls(v, force, y, lam, mu) / F, self._holds(v, lam) / self.speed,
            np.abs(rate) + np.abs(press) + root,
        ])  # fmt: skip
        J = np.zeros((len(z), len(z)))
        n, m = self.n, self.n + self.rows
        J[:n, :n] = (slope - self.drag * np.eye(n) - self.B.T @ by_v) / F
        J[:n, n:m] = self.A.T / F
        J[:n, m:] = (self.G.T - self.B.T @ by_mu) / F
        J[n:m, :n], J[n:m, n:m] = self.A / self.speed, np.diag(self.soft) / self.speed
        opens = (1 - rate / root) / self.speed
        J[m:, :n] = opens[:, None] * self.G
        J[m:, m:] = np.diag((1 - press / root) / F + opens * self.give)
        return residual, J, share

    def _pulls(
        self, v: np.ndarray, force: np.ndarray, y: np.ndarray, lam: np.ndarray, mu: np.ndarray
    ) -> np.ndarray:
        """Return the size of the forces on each coordinate, whatever their signs."""
        parts = ((self.B, y), (self.A, lam), (self.G, mu))
        given = np.abs(force) + self.drag * np.abs(v)
        return given + sum(np.abs(M.T) @ np.abs(x) for M, x in parts)

    def _holds(self, v: np.ndarray, lam: np.ndarray) -> np.ndarray:
        """Return the size of the rates in each constraint, whatever their signs."""
        return self.soft * np.abs(lam) + np.abs(self.A) @ np.abs(v) + np.abs(self.problem.b)

    def _descend(
        self, z: np.ndarray, residual: Residual, tolerance: float, steps: int, least: float = 1e-6
    ) -> tuple[np.ndarray, float]:
        """Solve, and again with every row measured by what adds up in it, where that is more.

        Return what is left as well: of each row, as a share of what adds up in it.
        """
        weight, left, best = np.ones(1), np.inf, z
        for _ in range(_ROUNDS):
            z = self._shortened(z, residual, weight, tolerance, steps, least)
            r, _, share = residual(z)
            share = np.maximum(share, 1e-4 * self.light / self.strength)
            new = float(np.abs(r / share).max(initial=0.0))
            if not new < left:
                break
            best, left = z, new
            if left <= tolerance or least > 1e-6:
                break
            weight = 1 / share
        return best, left

    def _shortened(
        self,
        z: np.ndarray,
        residual: Residual,
        weight: np.ndarray,
        tolerance: float,
        steps: int,
        least: float,
    ) -> np.ndarray:
        """Newton's method, shortened until the residual goes down."""
        r, J, _ = residual(z)

        def step(z: np.ndarray) -> np.ndarray | None:
            nonlocal r, J
            size = np.linalg.norm(weight * r)
            if size <= tolerance or not np.isfinite(J).all():
                return None
            move = _least(J, -r)

            def trial(share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
                there = z + share * move
                new, slope, _ = residual(there)
                lower = np.linalg.norm(weight * new) <= (1 - 1e-4 * share) * size
                return (there, new, slope) if lower else None

            ahead, _ = shortened(trial, least=least)
            if ahead is None:
                return None
            there, r, J = ahead
            return there

        return iterated(z, step, most=steps)[0]

    # -- sharp corners: unknowns v, y, λ, μ -------------------------------------------------------

    def _sharp_residual(self, z: np.ndarray, scale: np.ndarray):
        n, m, rows = self.n, len(self.problem.c), self.rows
        v, y, lam, mu = np.split(z, [n, n + m, n + m + rows])
        p = self.problem
        force, slope = self.force(v)
        F, a, b, c = self.strength, n, n + m, n + m + rows
        J = np.zeros((len(z), len(z)))
        balance = force - self.drag * v - self.B.T @ y + self.A.T @ lam + self.G.T @ mu
        J[:a, :n], J[:a, a:b] = (slope - self.drag * np.eye(n)) / F, -self.B.T / F
        J[:a, b:c], J[:a, c:] = self.A.T / F, self.G.T / F
        law, works, ways, own, by_press = self._sharp_law(v, y, mu, scale)
        J[a:b, :n], J[a:b, a:b], J[a:b, c:] = ways / F, own / F, by_press / F
        held = self.soft * lam + self.A @ v + p.b
        J[b:c, :n] = self.A / self.speed
        J[b:c, b:c] = np.diag(self.soft) / self.speed
        rate = self.G @ v + p.g + self.give * mu
        push = F / self.speed
        closed = mu - push * rate > 0
        touch = np.where(closed, rate / self.speed, mu / F)
        J[c:, :n] = np.where(closed[:, None], self.G / self.speed, 0.0)
        J[c:, c:] = np.diag(np.where(closed, self.give / self.speed, 1 / F))
        residual = np.concatenate([balance / F, law / F, held / self.speed, touch])
        opens = (np.abs(self.G) @ np.abs(v) + np.abs(p.g) + self.give * np.abs(mu)) / self.speed
        share = np.concatenate([
            self._pulls(v, force, y, lam, mu) / F, works / F, self._holds(v, lam) / self.speed,
            np.where(closed, opens, np.abs(mu) / F),
        ])  # fmt: skip
        return residual, J, share

    def _sharp_law(self, v: np.ndarray, y: np.ndarray, mu: np.ndarray, scale: np.ndarray):
        """Return what is left of the law of friction, what adds up in it, and its slopes.

        These are in v, y and μ. Dry friction is the projection of itself, pushed along the slip,
        onto what is possible: inside that sticks. Drag of a power below 1 is infinitely steep at
        rest, but the speed as a function of the force is smooth.
        """
        p, term, w = self.problem, self.problem.term, self.B @ v + self.problem.c
        (size, press), m = self.sizes(mu), len(y)
        dry, steep = p.power == 0, (p.power > 0) & (p.power < 1)
        x = np.where(dry[term], y + scale[term] * w, np.where(steep[term], y, w))
        r = p.speeds(x)
        some = np.where(r > 0, r, 1.0)
        u, sticks = x / some[term], dry & (r <= size)
        slides, order = dry & ~sticks, 1 / np.where(steep, p.power, 1.0)
        share = np.where(slides, size / some, 0.0)
        # The speed under which drag resists with y, over y; and the drag at w, over w.
        back = np.where(steep & (size > 0), (r / np.where(size > 0, size, 1.0)) ** order / some, 0)
        drag = np.where(dry | steep, 0.0, size * some ** (p.power - 1))
        kinds, held = [sticks, slides, steep], scale[term]

        def each(*values: Any) -> np.ndarray:
            return np.select(kinds, values[:3], values[3])[term]

        law = np.select(
            [kind[term] for kind in kinds],
            [held * w, y - size[term] * u, held * (w - back[term] * y)], y - drag[term] * w,
        )  # fmt: skip
        adds = np.abs(y) + np.where(dry, size, 0.0)[term] + drag[term] * np.abs(w)
        moves = held * (np.abs(self.B) @ np.abs(v) + np.abs(p.c))
        # Slopes are of one size across u, and of another along it.
        along = p.sums(u[:, None] * self.B)[term]
        ways = each(scale, -scale * share, scale, -drag)[:, None] * self.B
        ways += (each(0, scale * share, 0, (1 - p.power) * drag) * u)[:, None] * along
        own = np.where(term[:, None] == term, np.outer(u, u), 0.0)
        own *= each(0, share, -scale * back * (order - 1), 0)[:, None]
        own += np.diag(each(0, 1 - share, -scale * back, 1))
        by_press, follows = np.zeros((m, self.gaps)), (slides & (self.pressed >= 0))[term]
        by_press[follows, self.pressed[term[follows]]] = -(press[term] * u)[follows]
        return law, np.where(steep[term], moves, adds), ways, own, by_press

    def solve(self, v: np.ndarray) -> Answer | None:
        """Sharpen the corners step by step, then solve with sharp ones."""
        z = self.begin(v)
        eps, left = _ROUND * self.speed, np.inf
        while eps > _SHARP * self.speed:
            z, left = self.round(z, eps)
            if left > _LOST:
                self.left = left
                return None
            self.measure(z, eps)
            eps *= _SHARPER
        self.left = left
        unknowns = self.sharpest(self.sharpened(z, eps / _SHARPER))
        return None if unknowns is None else self.answer(unknowns)

    def begin(self, v: np.ndarray) -> np.ndarray:
        """Return v, λ and μ from which to start."""
        lam, mu = np.zeros(self.rows), np.full(self.gaps, self.strength * 0.1)
        return np.concatenate([v, lam, mu])

    def round(self, z: np.ndarray, eps: float) -> tuple[np.ndarray, float]:
        """Solve for v, λ and μ with corners of width eps; return what is left as well."""
        return self._descend(z, lambda x: self._round_residual(x, eps), 1e-10, 60)

    def sharpened(self, z: np.ndarray, eps: float) -> np.ndarray:
        """Return v, y, λ and μ where corners were of width eps."""
        v, lam, mu = np.split(z, [self.n, self.n + self.rows])
        mu = np.maximum(mu, 0.0)
        return np.concatenate([v, self.rounded(v, mu, eps)[0], lam, mu])

    def sharpest(self, z: np.ndarray, *, near: bool = False) -> np.ndarray | None:
        """Return v, y, λ and μ with sharp corners, if the search ends; `near` searches little."""
        size, _ = self.sizes(z[len(z) - self.gaps :])
        for factor in _FACTORS[: 1 if near else None]:
            scale = np.maximum(size, 1e-6 * self.strength) / self.speed * factor
            unknowns, left = self._descend(
                z, lambda x, s=scale: self._sharp_residual(x, s), 1e-14,
                *((_FEW_STEPS, 0.1) if near else (_MOST_STEPS, 1e-6)),
            )  # fmt: skip
            self.left = min(self.left, left)
            if left <= 1e-10:
                return unknowns
        return None

    def answer(self, z: np.ndarray) -> Answer:
        """Return velocities and forces as an answer."""
        n, m = self.n, len(self.problem.c)
        v, y, lam, mu = np.split(z, [n, n + m, n + m + self.rows])
        size, _ = self.sizes(mu)
        problem = replace(self.problem, size=size)
        w = self.B @ v + problem.c
        stuck = problem.speeds(w) <= 1e-9 * max(np.abs(w).max(initial=0.0), self.speed)
        answer = Answer(problem, v, y, lam, mu, stuck, mu > 0, "force balance")
        # Forces that hold it at rest hold it, however slowly the search let it creep.
        creeps = answer.moving <= 1e-6 * self.speed or not problem.driven and problem.dry
        stuck = problem.speeds(problem.c) <= 1e-9 * self.speed
        rest = self._without_drag(replace(answer, v=np.zeros(n), stuck=stuck))
        return rest if creeps and rest.right(1e-10) else answer

    def _without_drag(self, rest: Answer) -> Answer:
        """Let what holds take over what drag of a power below 1 still took while it crept."""
        p, works = rest.problem, rest.mu > 0
        if p.dry:
            return rest
        dry = (p.power == 0)[p.term]
        y, mu = np.where(dry, rest.y, 0.0), rest.mu.copy()
        left = p.f - self.B.T @ y + self.A.T @ rest.lam + self.G.T @ mu
        holds = np.vstack([self.B[dry], -self.A, -self.G[works]])
        more = np.linalg.lstsq(holds.T, left, rcond=1e-12)[0]
        y[dry] += more[: dry.sum()]
        mu[works] += more[dry.sum() + self.rows :]
        return replace(rest, y=y, lam=rest.lam + more[dry.sum() :][: self.rows], mu=mu)


def _least(J: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Solve J x = r; the smallest solution where rows say the same."""
    # Velocities beside forces: in units in which columns are of one size.
    units = np.abs(J).max(axis=0, initial=0.0)
    units = 1 / np.where(units > 0, units, 1.0)
    J = J * units
    try:
        solution = np.linalg.solve(J, r) if len(r) <= _FULL else splu(sparse.csc_matrix(J)).solve(r)
        if np.abs(J @ solution - r).max() <= 1e-8 * max(np.abs(r).max(), 1e-300):
            return solution * units
    except (np.linalg.LinAlgError, RuntimeError):
        pass
    return np.linalg.lstsq(J, r, rcond=1e-13)[0] * units
