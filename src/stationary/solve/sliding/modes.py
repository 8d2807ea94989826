"""All the ways in which few contacts may behave, one by one: open, stuck, sliding either way.

Within a mode Coulomb's law is linear: what slides is pushed along the edge of its cone. A mode is
real if its velocities and its forces both keep to it. Several may be, or none.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

import numpy as np
import scipy.sparse as sparse
from scipy.linalg.lapack import dpotrf

from stationary.solve.sliding.judge import Cones
from stationary.solve.sliding.problem import Answer, Problem
from stationary.solve.sliding.reduced import in_mode, mended
from stationary.solve.sliding.settle import free_directions, settled

OPEN, STUCK, BACK, AHEAD = _CHOICES = "open", "stuck", "back", "ahead"

# What is off by less than this share satisfies a law.
_LAW = 1e-8
# Rows at a smaller angle than this are the same.
_OFF = 1e-7
_MOST_MODES = 1024
_MOST_STEPS = 30


def motions(problem: Problem, cone: np.ndarray, most: int = _MOST_MODES) -> list[Answer] | None:
    """Return one answer for every velocity that a mode allows, or None where modes are too many.

    Sizes of friction at contacts are their coefficients; `cone` gives the contact that presses
    each term, or less than zero.
    """
    modes = _modes(problem, cone, most)
    return None if modes is None else _answers(modes)


def only(problem: Problem, cone: np.ndarray) -> Answer | None:
    """Return the motion under one rough contact that approaches and is all that drives.

    What else rubs takes a least power P(w) if the point of contact moves by w: convex, and growing
    in proportion to w. The force at the contact is the slope of P. As w turns so does the force,
    the same way and within a right angle of w: it passes each edge of the cone but once. So there
    is one motion: if the force under which the contact would stick is out of the cone, it slides
    along the edge on that side. None where this does not apply, or was not found.
    """
    modes = _modes(problem, cone, len(_CHOICES))
    if modes is None or len(modes) != len(_CHOICES) or not modes[1].approached(0):
        return None
    _, sticks, back, ahead = modes
    moved = sticks.moved()
    if moved is None:
        return None
    resists, limit = moved.y[problem.starts[sticks.term[0]]], moved.problem.size[sticks.term[0]]
    found = sticks.real(moved) if moved.stuck.sum() > 1 or abs(resists) <= 2 * limit else None
    if found is None:
        slides = ahead if resists > 0 else back
        moved = slides.moved(near=moved)
        found = None if moved is None or slides.doubts else slides.real(moved)
    return found


def survey(problem: Problem, cone: np.ndarray, most: int) -> tuple[list[Answer], bool]:
    """Return the motions that were found, and whether there are no others."""
    single = only(problem, cone)
    if single is not None:
        return [single], True
    modes = _modes(problem, cone, most)
    if modes is None:
        return [], False
    found = _answers(modes)
    return found, not any(mode.doubts for mode in modes)


def starts(problem: Problem, cone: np.ndarray, most: int) -> tuple[np.ndarray, bool]:
    """Return directions in which what rests may as well move, and whether there are no others."""
    modes = _modes(problem, cone, most)
    rays: list[np.ndarray] = []
    for mode in modes or ():
        ray = mode.ray()
        if ray is not None and mode.forces(np.zeros(problem.n), mode.others) is not None:
            costs = problem.matrices[0][(mode.cone < 0)[problem.term]] @ ray
            if np.abs(costs).max(initial=0.0) > 1e-9:
                # What else rubs would be at its limit, too.
                mode.doubts.append("other friction")
            else:
                rays.append(ray)
    sure = modes is not None and not any(mode.doubts for mode in modes)
    return np.array(rays).reshape(len(rays), problem.n), sure


def movable(
    problem: Problem, cone: np.ndarray, load: np.ndarray, most: int
) -> list[tuple[float, float]] | None:
    """Return the ranges of multiples of a load, besides f, at which Coulomb's law allows a motion.

    None where modes are too many, or one of them could not be decided.
    """
    modes = _modes(problem, cone, most)
    if modes is None:
        return None
    ranges = [mode.multiples(load) for mode in modes if mode.ray() is not None]
    return None if any(mode.doubts for mode in modes) else [x for x in ranges if x is not None]


def _modes(problem: Problem, cone: np.ndarray, most: int) -> list[_Mode] | None:
    """Return all modes, or None where they are too many or slips are not along lines."""
    term = _rough(problem, cone)
    choices = [_CHOICES if j in term else (OPEN, STUCK) for j in range(len(problem.g))]
    wide = any(problem.widths[k] != 1 for k in term.values())
    few = problem.dense and problem.dry and not wide
    if not few or np.prod([float(len(c)) for c in choices]) > most:
        return None
    return [_Mode(problem, cone, term, choice) for choice in product(*choices)]


def _answers(modes: list[_Mode]) -> list[Answer]:
    found: list[Answer] = []
    for mode in modes:
        answer = mode.answer()
        if answer is None:
            continue
        size = max(answer.speed, 1e-300)
        if all(np.abs(answer.v - other.v).max(initial=0.0) > 1e-6 * size for other in found):
            found.append(answer)
    return found


def _rough(problem: Problem, cone: np.ndarray) -> dict[int, int]:
    """Return the friction term of every contact that has one."""
    return {int(cone[k]): int(k) for k in np.flatnonzero((cone >= 0) & (problem.size > 0))}


def _chosen(problem: Problem, cone: np.ndarray, answer: Answer) -> _Mode | None:
    """Return the mode that an answer is in."""
    term = _rough(problem, cone)
    wide = any(problem.widths[k] != 1 for k in term.values())
    if wide or not problem.dense or not problem.dry:
        return None
    there, near = answer.problem, _LAW * answer.speed
    rates, opens = there.rates(answer.v), there.matrices[2] @ answer.v + there.g > near
    choice = []
    for j in range(len(problem.g)):
        slip = rates[problem.starts[term[j]]] if j in term else 0.0
        word = STUCK if abs(slip) <= near else AHEAD if slip > 0 else BACK
        choice.append(OPEN if opens[j] else word)
    return _Mode(problem, cone, term, tuple(choice))


def same_mode(problem: Problem, cone: np.ndarray, guess: Answer) -> Answer | None:
    """Return the answer in the mode of one nearby, where that determines velocities and forces.

    Whether the mode is real is for others to judge.
    """
    if len(guess.problem.g) != len(problem.g) or len(guess.problem.b) != len(problem.b):
        return None
    mode = _chosen(problem, cone, guess)
    return None if mode is None else mode.determined()


def least_forces(problem: Problem, cone: np.ndarray, answer: Answer) -> Answer | None:
    """Return the answer with the smallest forces, where the motion leaves several; else None."""
    mode = _chosen(problem, cone, answer)
    if mode is None:
        return None
    if _independent(mode.columns(_still(problem, answer.v, mode.others)).T):
        return None
    return mode.forces(answer.v, mode.others)


def _still(p: Problem, v: np.ndarray, others: np.ndarray) -> list[int]:
    r = p.speeds(p.rates(v))
    return others[r[others] <= 1e-9 * _speed(p, v)].tolist()


@dataclass(frozen=True)
class _Mode:
    """One choice for every contact."""

    problem: Problem
    cone: np.ndarray
    term: dict[int, int]
    choice: tuple[str, ...]
    #: Why an answer in this mode may have been missed.
    doubts: list[str] = field(default_factory=list)

    def _contacts(self, *words: str) -> list[int]:
        return [j for j, word in enumerate(self.choice) if word in words]

    @cached_property
    def held(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows of what holds in this mode, and their rates by themselves."""
        p = self.problem
        B, A, G = p.matrices
        closed, stuck, _ = self._unknown([])
        slips = p.starts[stuck]
        rows = np.concatenate([A, G[closed], B[slips]])
        return rows, np.concatenate([p.b, p.g[closed], p.c[slips]])

    @cached_property
    def way(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows of what opens or slides in this mode, and their rates by themselves."""
        p = self.problem
        B, _, G = p.matrices
        opens, slides = self._contacts(OPEN), self._contacts(BACK, AHEAD)
        sign = np.array([1.0 if self.choice[j] == AHEAD else -1.0 for j in slides])
        rows = [int(p.starts[self.term[j]]) for j in slides]
        along = np.concatenate([G[opens], sign[:, None] * B[rows]])
        return along, np.concatenate([p.g[opens], sign * p.c[rows]])

    @cached_property
    def rubs(self) -> np.ndarray:
        """Which terms rub whatever presses."""
        return (self.cone < 0) & (self.problem.size > 0)

    def answer(self) -> Answer | None:
        """Return velocities and forces of this mode, if it is real."""
        p = self.problem
        B = p.matrices[0]
        costs = B[self.rubs[p.term]] @ _null(self.held[0])
        if np.abs(costs).max(initial=0.0) <= 1e-12 * np.abs(B).max(initial=0.0):
            v = _allowed(*self.held, *self.way)
            return None if v is None else self.forces(v, self.others)
        # What else rubs makes velocities depend on forces.
        moved = self.moved()
        return None if moved is None else self.real(moved)

    def real(self, moved: Answer) -> Answer | None:
        """Return the answer of this mode with the velocity of another, if there is one."""
        along, least = self.way
        if (along @ moved.v + least).min(initial=0.0) < -_LAW * _speed(self.problem, moved.v):
            return None
        if self._full(moved):
            return moved if moved.right(_LAW) else None
        return self.forces(moved.v, self.others)

    def _full(self, answer: Answer) -> bool:
        """Tell whether balance determines all forces of an answer."""
        return _independent(self.columns(_still(self.problem, answer.v, self.others)).T)

    def ray(self) -> np.ndarray | None:
        """Return a direction in which contacts open or slide as this mode says, from rest."""
        free = _null(self.held[0])
        ahead = self.way[0] @ free
        if not ahead.size:
            return None
        cones = Cones(free.shape[1])
        # As far as possible within one unit each, and no farther across than that takes.
        cones.cost = -ahead.sum(axis=0)
        cones.P = sparse.eye(free.shape[1], format="csc") * 1e-6
        cones.least(sparse.csr_matrix(np.vstack([-ahead, ahead])),
                    np.repeat([0.0, 1.0], len(ahead)))  # fmt: skip
        solution = cones.solve()
        if "Solved" not in str(solution.status):
            self.doubts.append("no direction found")
            return None
        z = np.array(solution.x)
        if (ahead @ z).max(initial=0.0) < 1e-6:
            return None
        v = free @ z
        return v / np.abs(v).max()

    @property
    def others(self) -> np.ndarray:
        """What rubs whatever presses."""
        return np.flatnonzero(self.rubs)

    def _unknown(self, still: list[int]) -> tuple[list[int], list[int], list[int]]:
        """Return the contacts that press, the friction terms of those that stick, all free y."""
        p = self.problem
        stuck = [self.term[j] for j in self._contacts(STUCK) if j in self.term]
        parts = (range(*_part(p, k).indices(len(p.c))) for k in (*stuck, *still))
        return self._contacts(STUCK, BACK, AHEAD), stuck, [i for part in parts for i in part]

    def columns(self, still: list[int]) -> np.ndarray:
        """Return what the unknown forces do: λ, what presses closed contacts, y of what sticks."""
        p = self.problem
        B, A, G = p.matrices
        closed, _, free = self._unknown(still)
        presses = G[closed].T.copy()
        for i, j in enumerate(closed):
            if self.choice[j] in (BACK, AHEAD):
                k = self.term[j]
                s = 1.0 if self.choice[j] == AHEAD else -1.0
                presses[:, i] -= p.size[k] * s * B[p.starts[k]]
        return np.hstack([A.T, presses, -B[free].T])

    def moved(self, near: Answer | None = None) -> Answer | None:
        """Find the velocity where what else rubs decides it, together with what presses.

        A search starts `near` that of another mode, if given.
        """
        p, slides = self.problem, self._contacts(BACK, AHEAD)
        # As if what slides were smooth: then the velocity is a minimum.
        rubbing, rates = p.among(self.rubs)
        (held, rate), none = self.held, np.zeros((0, p.n))
        smooth = replace(rubbing, A=held, b=rate, G=none, g=np.zeros(0))
        if slides and self._alone(slides):
            return self._pushed(smooth, rates, slides[0], near)
        outcome = settled(smooth)
        if not slides:
            if outcome.answer is None or outcome.word not in ("moves", "sticks"):
                if outcome.word not in ("accelerates", "jammed"):
                    self.doubts.append("no answer")
                return None
            return self._start(outcome.answer.v, outcome.answer, rates)
        starts = [np.linalg.lstsq(held, -rate, rcond=1e-12)[0]]
        if outcome.answer is not None and outcome.word == "moves":
            starts.insert(0, outcome.answer.v)
        # Friction that follows several pressures, or other drives: there may be more.
        self.doubts.append("other pressures may fit")
        found = (self._near(v) for v in starts)
        return next((x for x in found if x is not None), None)

    def _start(self, v: np.ndarray, smooth: Answer, rates: np.ndarray) -> Answer:
        """Return velocities and the forces that hold them: rows of λ in the order of `held`."""
        p, lam = self.problem, smooth.lam
        closed, stuck, _ = self._unknown([])
        m, c = len(p.b), len(closed)
        mu, full = np.zeros(len(p.g)), np.zeros(len(p.c))
        full[rates] = smooth.y
        mu[closed] = lam[m : m + c]
        # What sticks at a contact is held by a constraint, whose force is against its slip.
        full[p.starts[stuck]] = -lam[m + c :]
        size = np.where(self.rubs, p.size, 0.0)
        for j, k in self.term.items():
            size[k] = p.size[k] * max(mu[j], 0.0)
            if self.choice[j] in (BACK, AHEAD):
                full[p.starts[k]] = size[k] * (1.0 if self.choice[j] == AHEAD else -1.0)
        rest = p.speeds(p.rates(v)) <= 1e-9 * _speed(p, v)
        working = np.zeros(len(p.g), dtype=bool)
        working[closed] = True
        limits = replace(p, size=size, pressed=None)
        return Answer(limits, v, full, lam[:m], mu, rest, working, "modes one by one")

    def _near(self, v: np.ndarray) -> Answer | None:
        """Find the motion of this mode near a velocity by Newton's method, if it is real."""
        p = self.problem
        size = np.where(self.cone == -2, 0.0, p.size)
        rough = replace(p, size=size, pressed=np.where(self.cone >= 0, self.cone, -1))
        working = np.isin(np.arange(len(p.g)), self._contacts(STUCK, BACK, AHEAD))
        stuck = np.zeros(p.terms, dtype=bool)
        y = np.zeros(len(p.c))
        for j, k in self.term.items():
            stuck[k] = self.choice[j] == STUCK
            y[p.starts[k]] = {AHEAD: 1.0, BACK: -1.0}.get(self.choice[j], 0.0)
        mu = np.where(working, 0.1 * p.force, 0.0)
        found = None
        begin = Answer(rough, v, y, np.zeros(len(p.b)), mu, stuck, working)
        for _ in range(_MOST_STEPS):
            found = in_mode(rough, begin)
            if found is None or found.right(_LAW):
                break
            # What else sticks or slides, besides contacts, may not be known yet.
            _, sticks, _ = mended(found)
            sticks = np.where(self.cone >= 0, stuck, sticks)
            if np.array_equal(sticks, found.stuck):
                return None
            begin = replace(found, problem=rough, stuck=sticks)
        return None if found is None else replace(found, source="modes one by one")

    def _pushed(
        self, smooth: Problem, rates: np.ndarray, j: int, near: Answer | None
    ) -> Answer | None:
        """Find the motion where one sliding contact is all that drives.

        Its force, along the edge of the cone, grows until what else rubs gives way: of all
        velocities with which it moves along that edge at one speed that of least power. The contact
        says how fast it is.
        """
        p, k = self.problem, self.term[j]
        sign = 1.0 if self.choice[j] == AHEAD else -1.0
        closed, _, _ = self._unknown([])
        place, row = len(p.b) + closed.index(j), p.matrices[2][j]
        rows, rate = smooth.A.copy(), np.zeros(len(smooth.b))
        rows[place] = row - p.size[k] * sign * p.matrices[0][p.starts[k]]
        rate[place] = -abs(p.g[j])
        asked = replace(smooth, A=rows, b=rate)
        guess = None
        if near is not None:
            stuck = np.zeros(asked.terms, dtype=bool)
            lam = np.zeros(len(rate))
            lam[place] = near.mu[j]
            guess = Answer(asked, near.v, near.y[rates], lam, np.zeros(0), stuck, stuck[:0])
        outcome = settled(asked, guess)
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
        others = [i for i in self._contacts(STUCK, BACK, AHEAD) if i != j]
        drift = np.delete(p.c, p.starts[self.term[j]])
        return len(slides) == 1 and not any(x.any() for x in (p.f, p.b, drift, p.g[others]))

    def approached(self, j: int) -> bool:
        """Tell whether a rough contact comes closer, is all that drives, and may go any way.

        Then nothing moves for nothing, and nothing holds the point of contact.
        """
        p = self.problem
        if j not in self.term or not p.g[j] < 0 or not self._alone([j]):
            return False
        B, A, _ = p.matrices
        costs = np.concatenate([A, B[self.rubs[p.term]]])
        return _independent(costs.T) and _independent(self.held[0] / np.maximum(p.arms, 1e-300))

    def determined(self) -> Answer | None:
        """Return the answer where velocities follow from what holds, and forces from balance."""
        p, (held, rate) = self.problem, self.held
        if held.shape[0] != held.shape[1] or len(self.others):
            return None
        try:
            v = np.linalg.solve(held, -rate)
            x = np.linalg.solve(self.columns([]), -p.f)
        except np.linalg.LinAlgError:
            return None
        return self._answer(v, x, np.zeros(len(p.c)), [])

    def forces(self, v: np.ndarray, others: np.ndarray) -> Answer | None:
        """Find forces that balance and keep to their cones, at a known velocity.

        The smallest: of what sticks first, then of what presses.
        """
        p = self.problem
        B = p.matrices[0]
        w = p.rates(v)
        r = p.speeds(w)
        still = _still(p, v, others)
        moves = self.rubs.copy()
        moves[still] = False
        share = np.where(moves, p.size / np.maximum(r, 1e-300), 0.0)
        fixed = share[p.term] * w
        closed, _, free = self._unknown(still)
        m, c = len(p.b), len(closed)
        F = p.force
        balance = self.columns(still)
        push = -(p.f - B.T @ fixed) / F
        cones = self._possible(balance, push, still)
        if cones is None:
            return None
        cones.P = sparse.diags(np.repeat([0.0, 1.0], [m + c, len(free)]), format="csc")
        solution = cones.solve()
        if "Solved" not in str(solution.status):
            if "Infeasible" not in str(solution.status):
                self.doubts.append("no forces found")
            return None
        x = np.array(solution.x)
        if not _independent(balance.T):
            held = np.eye(cones.unknowns)[m + c :]
            cones.zero(sparse.csr_matrix(held), x[m + c :])
            cones.P = sparse.diags(np.repeat([1.0, 0.0], [m + c, len(free)]), format="csc")
            solution = cones.solve()
            x = np.array(solution.x) if "Solved" in str(solution.status) else x
        x = x * F
        answer = self._answer(v, x, fixed, still)
        if not answer.right(_LAW):
            self.doubts.append("forces that nearly fit")
            return None
        return answer

    def _possible(self, balance: np.ndarray, push: np.ndarray, still: list[int]) -> Cones | None:
        """Ask for forces within their cones that balance a push; None where no column does."""
        p = self.problem
        closed, stuck, _ = self._unknown(still)
        m, c = len(p.b), len(closed)
        cones = Cones(balance.shape[1])
        scale = 1.0 / np.maximum(np.abs(balance).max(axis=1, initial=0.0), 1e-300)
        if np.any((scale > 1e100) & (np.abs(push) > _LAW)):
            return None
        scale = np.where(scale > 1e100, 1.0, scale)
        cones.zero(sparse.csr_matrix(balance * scale[:, None]), push * scale)
        presses = np.zeros((c, cones.unknowns))
        presses[:, m : m + c] = -np.eye(c)
        cones.least(sparse.csr_matrix(presses), np.zeros(c))
        at = m + c
        for k in (*stuck, *still):
            d = int(p.widths[k])
            block, rhs = np.zeros((d + 1, cones.unknowns)), np.zeros(d + 1)
            block[1:, at : at + d] = -np.eye(d)
            if k in stuck:
                block[0, m + closed.index(int(self.cone[k]))] = -p.size[k]
            else:
                rhs[0] = p.size[k] / p.force
            cones.add(sparse.csr_matrix(block), rhs, cones.package.SecondOrderConeT(d + 1))
            at += d
        return cones

    def multiples(self, load: np.ndarray) -> tuple[float, float] | None:
        """Return the least and the largest multiple of a load at which forces of this mode balance.

        What else rubs may have any force within its limit: that can only widen the range.
        """
        p = self.problem
        reach = np.abs(load).max()
        columns = self.columns(self.others.tolist())
        balance = np.hstack([columns, load[:, None] / reach])
        ends = []
        for sign in (1.0, -1.0, 0.0):
            cones = self._possible(balance, -p.f / p.force, self.others.tolist())
            if cones is None:
                return None
            if sign:
                cones.cost = sign * np.eye(cones.unknowns)[-1]
            else:
                # Whether there are forces at all is easier to tell.
                cones.P = sparse.eye(cones.unknowns, format="csc")
            solution = cones.solve()
            word = str(solution.status)
            if "PrimalInfeasible" in word:
                return None
            if "DualInfeasible" in word:
                ends.append(-sign * np.inf)
            elif sign and "Solved" in word:
                ends.append(float(solution.x[-1]) * p.force / reach)
            if len(ends) == 2:
                break
        else:
            self.doubts.append("no last load found")
            return None
        return ends[0], ends[1]

    def _answer(self, v: np.ndarray, x: np.ndarray, y: np.ndarray, still: list[int]) -> Answer:
        """Put forces x, in the order of the columns, and those already known in y together."""
        p = self.problem
        closed, _, free = self._unknown(still)
        m, c = len(p.b), len(closed)
        mu = np.zeros(len(p.g))
        mu[closed] = x[m : m + c]
        y[free] = x[m + c :]
        size = np.where(self.cone == -2, 0.0, p.size)
        for j, k in self.term.items():
            size[k] *= max(mu[j], 0.0)
            if self.choice[j] in (BACK, AHEAD):
                y[p.starts[k]] = size[k] * (1.0 if self.choice[j] == AHEAD else -1.0)
        rest = p.speeds(p.rates(v)) <= 1e-9 * _speed(p, v)
        pressing = mu > 1e-12 * p.force
        limits = replace(p, size=size, pressed=None)
        return Answer(limits, v, y, x[:m], mu, rest, pressing, "modes one by one")


def _part(p: Problem, k: int) -> slice:
    return slice(int(p.starts[k]), int(p.starts[k] + p.widths[k]))


def _speed(p: Problem, v: np.ndarray) -> float:
    rubs = max(float(np.abs(x).max(initial=0.0)) for x in (p.rates(v), p.g))
    return rubs or max(float(np.abs(x).max(initial=0.0)) for x in (v, p.b)) or 1.0


def _independent(rows: np.ndarray) -> bool:
    """Tell whether each row is off all before it, beside its own size: by Cholesky's factors."""
    gram = rows @ rows.T
    size = np.sqrt(gram.diagonal())
    if not len(size) or not size.all():
        return not len(size)
    factor, failed = dpotrf(gram / size / size[:, None])
    return not failed and bool(factor.diagonal().min() > _OFF)


def _null(rows: np.ndarray) -> np.ndarray:
    if not len(rows):
        return np.eye(rows.shape[1])
    _, s, V = np.linalg.svd(rows)
    return V[int(np.sum(s > 1e-10 * max(s[0], 1e-300))) :].T


def _allowed(
    held: np.ndarray, rate: np.ndarray, way: np.ndarray, least: np.ndarray
) -> np.ndarray | None:
    """Return the smallest v with held·v + rate = 0 and way·v + least ≥ 0, if there is one."""
    v = np.linalg.lstsq(held, -rate, rcond=1e-12)[0] if len(held) else np.zeros(held.shape[1])
    scale = max(np.abs(rate).max(initial=0.0), np.abs(least).max(initial=0.0)) or 1.0
    if np.abs(held @ v + rate).max(initial=0.0) > _LAW * scale:
        return None
    if (way @ v + least).min(initial=0.0) >= -_LAW * scale:
        return v
    free = _null(held)
    if not free.shape[1]:
        return None
    cones = Cones(free.shape[1])
    cones.P = sparse.eye(free.shape[1], format="csc")
    cones.least(sparse.csr_matrix(-way @ free), (way @ v + least) / scale)
    solution = cones.solve()
    if "Solved" not in str(solution.status):
        return None
    return v + free @ np.array(solution.x) * scale
