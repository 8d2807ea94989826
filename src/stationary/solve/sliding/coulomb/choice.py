"""One way in which every contact may behave: its velocities and its forces, if it is real.

Within a mode Coulomb's law is linear: what slides is pushed along the edge of its cone. A mode is
real if its velocities and its forces both keep to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from itertools import product

import numpy as np
import scipy.sparse as sparse
from scipy.linalg.lapack import dpotrf

from stationary.solve.linear import tangent_basis
from stationary.solve.sliding.convex.cones import Cones, End, farthest
from stationary.solve.sliding.convex.judge import possible, strength
from stationary.solve.sliding.convex.reduced import in_mode, mended
from stationary.solve.sliding.convex.settle import free_directions, settled
from stationary.solve.sliding.problem.numbers import Answer, Problem, largest

# What is off by less than this share satisfies a law.
LAW = 1e-8
# Rows at a smaller angle than this are the same.
_OFF = 1e-7
_MOST_STEPS = 30
# Up to so many modes of what else rubs are tried one by one.
_MOST_LINES = 81


class Way(Enum):
    """How one contact behaves."""

    OPEN = "open", 0.0
    STUCK = "stuck", 0.0
    BACK = "back", -1.0
    AHEAD = "ahead", 1.0

    def __init__(self, word: str, sign: float):
        self.word, self.sign = word, sign


OPEN, STUCK, BACK, AHEAD = WAYS = tuple(Way)


@dataclass(eq=False)
class Choice:
    """One choice for every contact, and what is in doubt about it."""

    problem: Problem
    cone: np.ndarray
    term: dict[int, int]
    choice: tuple[Way, ...]
    #: Why an answer in this mode may have been missed.
    doubts: list[str] = field(default_factory=list)

    def _contacts(self, *ways: Way) -> list[int]:
        return [j for j, way in enumerate(self.choice) if way in ways]

    @cached_property
    def held(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows of what holds in this mode, and their rates by themselves."""
        p = self.problem
        B, A, G = p.matrices
        closed, stuck, _ = self._places([])
        slips = p.starts[stuck]
        rows = np.concatenate([A, G[closed], B[slips]])
        return rows, np.concatenate([p.b, p.g[closed], p.c[slips]])

    @cached_property
    def way(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows of what opens or slides in this mode, and their rates by themselves."""
        p = self.problem
        B, _, G = p.matrices
        opens, slides = self._contacts(OPEN), self._contacts(BACK, AHEAD)
        sign = np.array([self.choice[j].sign for j in slides])
        rows = [int(p.starts[self.term[j]]) for j in slides]
        along = np.concatenate([G[opens], sign[:, None] * B[rows]])
        return along, np.concatenate([p.g[opens], sign * p.c[rows]])

    @cached_property
    def rubs(self) -> np.ndarray:
        """Which terms rub whatever presses."""
        return (self.cone < 0) & (self.problem.size > 0)

    def answers(self) -> list[Answer]:
        """Return velocities and forces of this mode, those that are real."""
        p = self.problem
        B = p.matrices[0]
        costs = B[self.rubs[p.term]] @ tangent_basis(self.held[0])
        if np.abs(costs).max(initial=0.0) <= 1e-12 * np.abs(B).max(initial=0.0):
            v = _allowed(*self.held, *self.way)
            answer = None if v is None else self.forces(v)
        elif self._several() and (lines := self._lines()) is not None:
            return lines
        else:
            # What else rubs makes velocities depend on forces.
            moved = self.moved()
            answer = None if moved is None else self.real(moved)
        return [] if answer is None else [answer]

    def _several(self) -> bool:
        """Tell whether several motions may be real: what slides is not all that drives."""
        slides = self._contacts(BACK, AHEAD)
        return bool(slides) and not self._alone(slides)

    def _lines(self) -> list[Answer] | None:
        """Return the motions of every mode of what else rubs, few terms along lines; else None."""
        p, rubs = self.problem, np.flatnonzero(self.rubs)
        if np.any(p.widths[rubs] != 1) or 3 ** len(rubs) > _MOST_LINES:
            return None
        rows = p.starts[rubs]
        B, c, (held, rate), (along, least) = p.matrices[0][rows], p.c[rows], self.held, self.way
        answers = []
        for signs in product((0.0, -1.0, 1.0), repeat=len(rubs)):
            sign = np.array(signs)
            rests, slides = sign == 0, sign != 0
            unmoved = np.concatenate([held, B[rests]])
            ways = np.concatenate([along, sign[slides, None] * B[slides]])
            limits = np.concatenate([least, (sign * c)[slides]])
            v = _allowed(unmoved, np.concatenate([rate, c[rests]]), ways, limits)
            answer = None if v is None else self.forces(v, sign)
            if answer is not None:
                answers.append(answer)
                if tangent_basis(unmoved).shape[1]:
                    self.doubts.append("velocities may be others as well")
        return answers

    def real(self, moved: Answer) -> Answer | None:
        """Return the answer of this mode with the velocity of another, if there is one."""
        along, least = self.way
        if (along @ moved.v + least).min(initial=0.0) < -LAW * _speed(self.problem, moved.v):
            return None
        if self.full(moved.v):
            return moved if moved.right(LAW) else None
        return self.forces(moved.v)

    def full(self, v: np.ndarray) -> bool:
        """Tell whether balance determines all forces at a velocity."""
        return independent(self._unknown_forces(self._resting(v))[0].columns.T)

    def ray(self) -> np.ndarray | None:
        """Return a direction in which contacts open or slide as this mode says, from rest."""
        # Beside what each of them could do, with velocities of what rubs.
        levers, along = self.problem.levers, self.way[0] / self.problem.levers
        ahead = along / np.maximum(np.linalg.norm(along, axis=1), 1e-300)[:, None]
        v, end = farthest(self.held[0] / levers, ahead)
        if end is not End.SOLVED:
            self.doubts.append("no direction found")
        return None if v is None else v / levers / np.abs(v / levers).max()

    def _resting(self, v: np.ndarray) -> list[int]:
        """Return which of what rubs whatever presses is at rest."""
        p = self.problem
        return np.flatnonzero(self.rubs & (p.speeds(p.rates(v)) <= 1e-9 * _speed(p, v))).tolist()

    def _places(self, resting: list[int]) -> tuple[list[int], list[int], list[int]]:
        """Return the contacts that press, the friction terms of those that stick, all free y."""
        p = self.problem
        stuck = [self.term[j] for j in self._contacts(STUCK) if j in self.term]
        parts = (range(len(p.c))[p.part(k)] for k in (*stuck, *resting))
        return self._contacts(STUCK, BACK, AHEAD), stuck, [i for part in parts for i in part]

    def _unknown_forces(self, resting: list[int]) -> tuple[Problem, np.ndarray]:
        """State what is unknown of the forces, and tell which contact presses each friction.

        They are those of what holds, of closed contacts, and of friction at rest. What presses a
        contact that slides pushes along the edge of its cone.
        """
        p = self.problem
        B, A, G = p.matrices
        closed, stuck, free = self._places(resting)
        presses = G[closed].copy()
        for i, j in enumerate(closed):
            if self.choice[j].sign:
                k = self.term[j]
                presses[i] -= p.size[k] * self.choice[j].sign * B[p.starts[k]]
        terms = np.array([*stuck, *resting], dtype=int)
        widths, over = p.widths[terms], 1 / p.levers
        unknown = replace(
            p, f=p.f * over, B=B[free] * over, c=p.c[free], starts=np.cumsum(widths) - widths,
            size=p.size[terms], power=p.power[terms], A=A * over, G=presses * over, g=p.g[closed],
            follows=None, pressed=None, known=np.ones(p.n),
        )  # fmt: skip
        cone = [closed.index(int(self.cone[k])) for k in stuck] + [-1] * len(resting)
        return unknown, np.array(cone, dtype=int)

    def moved(self, near: Answer | None = None) -> Answer | None:
        """Find the velocity where what else rubs decides it, together with what presses.

        A search starts `near` that of another mode, if given.
        """
        p, slides = self.problem, self._contacts(BACK, AHEAD)
        # As if what slides were smooth: then the velocity is a minimum.
        rubbing, rates = p.among(self.rubs)
        (held, rate), (along, least) = self.held, self.way
        # What is open opens: where something moves for nothing, it may do so.
        if slides:
            along, least = along[:0], least[:0]
        smooth = replace(rubbing, A=held, b=rate, G=along, g=least)
        if slides and self._alone(slides):
            return self._pushed(smooth, rates, slides[0], near)
        outcome = settled(smooth)
        if not slides:
            if outcome.answer is None or outcome.word not in ("moves", "sticks"):
                if outcome.word not in ("accelerates", "jammed"):
                    self.doubts.append("no answer")
                return None
            if largest(outcome.answer.mu) > LAW * outcome.answer.strength:
                return None
            return self._start(outcome.answer.v, outcome.answer, rates)
        starts = [np.linalg.lstsq(held, -rate, rcond=1e-12)[0]]
        if outcome.answer is not None and outcome.word == "moves":
            starts.insert(0, outcome.answer.v)
        # Friction that follows several pressures, or other drives: there may be more.
        self.doubts.append("other pressures may fit")
        answers = (self._near(v) for v in starts)
        return next((x for x in answers if x is not None), None)

    def _start(self, v: np.ndarray, smooth: Answer, rates: np.ndarray) -> Answer:
        """Return velocities and the forces that hold them: rows of λ in the order of `held`."""
        p, lam = self.problem, smooth.lam
        closed, stuck, _ = self._places([])
        m, c = len(p.b), len(closed)
        mu, y = np.zeros(len(p.g)), np.zeros(len(p.c))
        # What sticks at a contact is held by a constraint, whose force is against its slip.
        mu[closed], y[rates], y[p.starts[stuck]] = lam[m : m + c], smooth.y, -lam[m + c :]
        return self._answer(v, y, lam[:m], mu, np.isin(np.arange(len(mu)), closed))

    def _near(self, v: np.ndarray) -> Answer | None:
        """Find the motion of this mode near a velocity by Newton's method, if it is real."""
        p = self.problem
        size = np.where(self.cone == -2, 0.0, p.size)
        coefficients = replace(p, size=size, pressed=np.where(self.cone >= 0, self.cone, -1))
        working = np.isin(np.arange(len(p.g)), self._contacts(STUCK, BACK, AHEAD))
        stuck = np.zeros(p.terms, dtype=bool)
        y = np.zeros(len(p.c))
        for j, k in self.term.items():
            stuck[k] = self.choice[j] == STUCK
            y[p.starts[k]] = self.choice[j].sign
        mu = np.where(working, 0.1 * p.force, 0.0)
        answer = None
        begin = Answer(coefficients, v, y, np.zeros(len(p.b)), mu, stuck, working)
        for _ in range(_MOST_STEPS):
            answer = in_mode(coefficients, begin)
            if answer is None or answer.right(LAW):
                break
            # What else sticks or slides, besides contacts, may not be known yet.
            _, sticks, _ = mended(answer)
            sticks = np.where(self.cone >= 0, stuck, sticks)
            if np.array_equal(sticks, answer.stuck):
                return None
            begin = replace(answer, problem=coefficients, stuck=sticks)
        return None if answer is None else replace(answer, source="modes one by one")

    def _pushed(
        self, smooth: Problem, rates: np.ndarray, j: int, near: Answer | None
    ) -> Answer | None:
        """Find the motion where one sliding contact is all that drives.

        Its force, along the edge of the cone, grows until what else rubs gives way: of all
        velocities with which it moves along that edge at one speed that of least power. The contact
        says how fast it is.
        """
        p, k = self.problem, self.term[j]
        sign = self.choice[j].sign
        closed, _, _ = self._places([])
        place, row = len(p.b) + closed.index(j), p.matrices[2][j]
        rows, rate = smooth.A.copy(), np.zeros(len(smooth.b))
        rows[place] = row - p.size[k] * sign * p.matrices[0][p.starts[k]]
        rate[place] = -abs(p.g[j])
        at_edge = replace(smooth, A=rows, b=rate)
        guess = None
        if near is not None:
            stuck = np.zeros(at_edge.terms, dtype=bool)
            lam = np.zeros(len(rate))
            lam[place] = near.mu[j]
            guess = Answer(at_edge, near.v, near.y[rates], lam, np.zeros(0), stuck, stuck[:0])
        outcome = settled(at_edge, guess)
        limit = outcome.answer
        if limit is None or outcome.word != "moves":
            # What cannot move along the edge locks.
            if outcome.word != "jammed":
                self.doubts.append("no limit of what presses found")
            return None
        if len(free_directions(limit)):
            self.doubts.append("the force is known, the velocity is not")
        opens = float(row @ limit.v)
        if not p.g[j] * opens < 0:
            return None
        return self._start(limit.v * (-p.g[j] / opens), limit, rates)

    def _alone(self, slides: list[int]) -> bool:
        """Tell whether one sliding contact is all that drives.

        Friction bounds a convex body of forces around zero, which a force that grows along the edge
        of one cone leaves but once: its size is the only one.
        """
        p, j = self.problem, slides[0]
        elsewhere = [i for i in self._contacts(STUCK, BACK, AHEAD) if i != j]
        drift = np.delete(p.c, p.starts[self.term[j]])
        return len(slides) == 1 and not any(x.any() for x in (p.f, p.b, drift, p.g[elsewhere]))

    def approached(self, j: int) -> bool:
        """Tell whether a rough contact comes closer, is all that drives, and may go any way.

        Then nothing moves for nothing, and nothing holds the point of contact.
        """
        p = self.problem
        if j not in self.term or not p.g[j] < 0 or not self._alone([j]):
            return False
        B, A, _ = p.matrices
        costs = np.concatenate([A, B[self.rubs[p.term]]])
        return independent(costs.T) and independent(self.held[0] / np.maximum(p.arms, 1e-300))

    def forces(self, v: np.ndarray, sign: np.ndarray | None = None) -> Answer | None:
        """Find forces that balance and keep to their cones, at a known velocity.

        The smallest: of what sticks first, then of what presses. What else rubs goes as v does, or
        along lines that way whose `sign` is given.
        """
        p, F = self.problem, self.problem.force
        w, resting = p.rates(v), self._resting(v)
        if sign is not None:
            lines = np.flatnonzero(self.rubs)
            w[p.starts[lines]], resting = sign, lines[sign == 0].tolist()
        share = np.where(self.rubs, p.size / np.maximum(p.speeds(w), 1e-300), 0.0)
        share[resting] = 0.0
        fixed = share[p.term] * w
        unknown, cone = self._unknown_forces(resting)
        push = unknown.f - p.matrices[0].T @ fixed / p.levers
        cones, m = possible(unknown, push / F, F, cone), len(unknown.c)
        rubs = np.arange(cones.unknowns) < m
        cones.P = sparse.diags(rubs.astype(float), format="csc")
        solution = cones.solve()
        if not solution.solved:
            if solution.end is not End.INFEASIBLE:
                self.doubts.append("no forces found")
            return None
        x, columns = solution.x, unknown.columns
        if not independent(columns.T):
            cones.zero(np.eye(cones.unknowns)[:m], x[:m])
            cones.P = sparse.diags((~rubs).astype(float), format="csc")
            solution = cones.solve()
            x = solution.x if solution.solved else x
        # What the solver leaves over is large beside forces that are next to nothing.
        x = x * F + np.linalg.lstsq(columns, push - columns @ (x * F), rcond=1e-12)[0]
        answer = self._with(v, x, fixed, resting)
        if not answer.right(LAW):
            self.doubts.append("forces that nearly fit")
            return None
        return answer

    def multiples(self, load: np.ndarray) -> tuple[float, float] | None:
        """Return the least and the largest multiple of a load at which forces of this mode balance.

        What else rubs may have any force within its limit: that can only widen the range.
        """
        unknown, cone = self._unknown_forces(np.flatnonzero(self.rubs).tolist())
        load = load / self.problem.levers
        ends = [strength(unknown, unknown.f, sign * load, cone) for sign in (-1.0, 1.0)]
        words = {end.end for end in ends}
        if End.INFEASIBLE in words:
            return None
        if words <= {End.SOLVED, End.UNBOUNDED}:
            return -ends[0].static, ends[1].static
        # Whether there are forces at all is easier to tell.
        force = self.problem.force
        cones = possible(unknown, unknown.f / force, force, cone, load / np.abs(load).max())
        cones.P = sparse.eye(cones.unknowns, format="csc")
        if cones.solve().end is not End.INFEASIBLE:
            self.doubts.append("no last load found")
        return None

    def _with(self, v: np.ndarray, x: np.ndarray, y: np.ndarray, resting: list[int]) -> Answer:
        """Put forces x, in the order of the columns, and those already known in y together."""
        p = self.problem
        closed, _, free = self._places(resting)
        mu = np.zeros(len(p.g))
        y[free], lam, mu[closed] = np.split(x, [len(free), len(free) + len(p.b)])
        return self._answer(v, y, lam, mu, mu > 1e-12 * p.force)

    def _answer(
        self, v: np.ndarray, y: np.ndarray, lam: np.ndarray, mu: np.ndarray, working: np.ndarray
    ) -> Answer:
        """Return velocities and forces with the friction that follows what presses."""
        p = self.problem
        size = np.where(self.cone == -2, 0.0, p.size)
        for j, k in self.term.items():
            size[k] *= max(mu[j], 0.0)
            if self.choice[j].sign:
                y[p.starts[k]] = size[k] * self.choice[j].sign
        rest = p.speeds(p.rates(v)) <= 1e-9 * _speed(p, v)
        limits = replace(p, size=size, pressed=None)
        return Answer(limits, v, y, lam, mu, rest, working, "modes one by one")


def _speed(p: Problem, v: np.ndarray) -> float:
    return max(p.moving(v, p.rates(v)), largest(p.g)) or 1.0


def independent(rows: np.ndarray) -> bool:
    """Tell whether each row is off all before it, beside its own size: by Cholesky's factors."""
    gram = rows @ rows.T
    size = np.sqrt(gram.diagonal())
    if not len(size) or not size.all():
        return not len(size)
    factor, failed = dpotrf(gram / size / size[:, None])
    return not failed and bool(factor.diagonal().min() > _OFF)


def _allowed(
    held: np.ndarray, rate: np.ndarray, way: np.ndarray, least: np.ndarray
) -> np.ndarray | None:
    """Return the smallest v with held·v + rate = 0 and way·v + least ≥ 0, if there is one."""
    v = np.linalg.lstsq(held, -rate, rcond=1e-12)[0] if len(held) else np.zeros(held.shape[1])
    scale = max(np.abs(rate).max(initial=0.0), np.abs(least).max(initial=0.0)) or 1.0
    if np.abs(held @ v + rate).max(initial=0.0) > LAW * scale:
        return None
    if (way @ v + least).min(initial=0.0) >= -LAW * scale:
        return v
    free = tangent_basis(held)
    if not free.shape[1]:
        return None
    cones = Cones(free.shape[1])
    cones.P = sparse.eye(free.shape[1], format="csc")
    cones.least(sparse.csr_matrix(-way @ free), (way @ v + least) / scale)
    solution = cones.solve()
    return v + free @ solution.x * scale if solution.solved else None
