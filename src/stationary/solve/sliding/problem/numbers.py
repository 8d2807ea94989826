"""The question of how it slides, in numbers, and what makes an answer right.

    minimize over v   Σₖ aₖ |wₖ|^(nₖ+1) / (nₖ+1) + D(v) − f·v,   w = B v + c
    subject to        A v + b = 0,   G v + g ≥ 0

With every nₖ = 0 and no D this is the power: what friction takes minus what the loads give. The
forces y that resist w, λ and μ balance the pushes: f = Bᵀy + ∂D/∂v − Aᵀλ − Gᵀμ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sparse

from stationary.derive.sliding import Factors
from stationary.solve.linear import dense
from stationary.solve.sliding.problem.energies import driven

# Up to this many velocities matrices are dense.
DENSE_UP_TO = 60

# A rate this much smaller than the largest is none.
STILL = 1e-10

# What rubs slower than this part of the motions that add up in it is known to fewer digits.
ROLLS = 1e-5

# Levers that differ by less than this leave the digits of forces alone.
_EVEN = 1e3

# A row that depends this many times less on what rubs than on others lies across it.
_ACROSS = 1e-12

# Through so many constraints a velocity may hang on what rubs.
_TIED = 8

# So many stretches of terms of one width are added up one by one.
_FEW_RUNS = 4

# Where nothing pushes, forces this much smaller than the limits of friction are none.
_NO_FORCE = 1e-8

#: D(v), its slope and its second derivative.
Viscous = Callable[[np.ndarray], tuple[float, np.ndarray, Any]]


@dataclass(frozen=True)
class Shape:
    """Which rates belong to which term.

    `width` is that of every term, or 0 where they differ; `runs` are stretches of terms of one
    width, one after the other: that width and their first and last rates.
    """

    widths: np.ndarray
    width: int
    term: np.ndarray
    runs: tuple[tuple[int, int, int], ...]


@lru_cache(maxsize=64)
def _shaped(starts: bytes, rates: int) -> Shape:
    """Return which rates belong to the terms that start there: the same for all of a system."""
    ends = np.append(np.frombuffer(starts, dtype=int), rates)
    widths = np.diff(ends)
    same = len(widths) and np.all(widths == widths[0])
    last = [*(np.flatnonzero(np.diff(widths)) + 1), len(widths)]
    runs = tuple(
        (int(widths[a]), int(ends[a]), int(ends[b])) for a, b in zip([0, *last[:-1]], last) if b
    )
    term = np.repeat(np.arange(len(widths)), widths)
    return Shape(widths, int(widths[0]) if same else 0, term, runs)


@dataclass(frozen=True)
class Problem:
    """What pushes, what resists and what holds, at one configuration.

    Attributes
    ----------
    f : ndarray, shape (velocities,)
    B, c : what turns velocities into the rates against which friction acts
    starts : ndarray of int, shape (terms,)
        Where the rates of each friction term begin.
    size, power : ndarray, shape (terms,)
    A, b, G, g : what holds
    viscous : callable or None
    follows : ndarray of bool, shape (terms,), or None
        The terms whose size follows what presses them.
    pressed : ndarray of int, shape (terms,), or None
        For each of these the touching contact that presses it, −1 for none: its size is a
        coefficient. None where all sizes are limits.
    known : ndarray, shape (velocities,), or None
        The levers of the question of which this is one place: where what holds is singular, rows
        say nothing about them.
    factors : Factors
        By what rows are multiplied that are written in units of their own.
    """

    f: np.ndarray
    B: Any
    c: np.ndarray
    starts: np.ndarray
    size: np.ndarray
    power: np.ndarray
    A: Any
    b: np.ndarray
    G: Any
    g: np.ndarray
    viscous: Viscous | None = None
    follows: np.ndarray | None = None
    pressed: np.ndarray | None = None
    known: np.ndarray | None = None
    factors: Factors = Factors()

    @property
    def n(self) -> int:
        """Number of velocities."""
        return len(self.f)

    @property
    def terms(self) -> int:
        """Number of friction terms."""
        return len(self.starts)

    @cached_property
    def dense(self) -> bool:
        """Whether matrices are dense."""
        return self.n <= DENSE_UP_TO

    @cached_property
    def matrices(self) -> tuple[Any, Any, Any]:
        """B, A and G, dense where that is faster."""
        if self.dense:
            return tuple(x.toarray() if sparse.issparse(x) else x for x in (self.B, self.A, self.G))  # pyright: ignore
        return tuple(sparse.csr_matrix(x) for x in (self.B, self.A, self.G))  # pyright: ignore[reportReturnType]

    @property
    def columns(self) -> np.ndarray:
        """What unit forces of friction, of what holds and of contacts resist."""
        B, A, G = map(dense, self.matrices)
        return np.hstack([B.T, -A.T, -G.T])

    @cached_property
    def _shape(self) -> Shape:
        return _shaped(self.starts.tobytes(), len(self.c))

    @property
    def widths(self) -> np.ndarray:
        """Number of rates of each term."""
        return self._shape.widths

    @property
    def width(self) -> int:
        """Number of rates of every term, or 0 where they differ."""
        return self._shape.width

    @property
    def term(self) -> np.ndarray:
        """The term to which each rate belongs."""
        return self._shape.term

    def part(self, k: int | np.integer) -> slice:
        """Return the rates of a term."""
        return slice(int(self.starts[k]), int(self.starts[k] + self.widths[k]))

    @cached_property
    def planar(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The two rows of B of every term, where all friction is dry, in planes, and dense."""
        if not (self.dense and self.dry and self.width == 2):
            return None
        B = self.matrices[0]
        return np.ascontiguousarray(B[0::2].T), np.ascontiguousarray(B[1::2].T)

    @cached_property
    def arms(self) -> np.ndarray:
        """How fast what rubs moves with each velocity, at most."""
        return most_of(abs(self.B), 0)

    @cached_property
    def levers(self) -> np.ndarray:
        """How fast what rubs moves with each velocity, or what shares rows with what does.

        Metres beside radians: a moment over its lever is a force, a turn times it a velocity.
        """
        return levers_of(self.B, (self.A, self.G)) if self.known is None else self.known

    @cached_property
    def even(self) -> bool:
        """Whether levers are of one size, so that forces can be compared as they are."""
        return bool(
            self.levers.max(initial=1.0) < _EVEN and self.levers.min(initial=1.0) > 1 / _EVEN
        )

    def in_own_units(self) -> Problem:
        """Return the same problem over velocities of what rubs, its constraints of the size one."""
        over = 1 / self.levers
        rows = 1 / self.row_sizes
        scale = sparse.diags(over)
        B, A, G = (by_columns(x, over) for x in (self.B, self.A, self.G))
        damping = self.viscous

        def viscous(v: np.ndarray) -> tuple[float, np.ndarray, Any]:
            assert damping is not None
            lost, slope, second = damping(v * over)
            return lost, slope * over, scale @ sparse.csc_matrix(second) @ scale

        return replace(
            self, f=self.f * over, B=B, A=by_rows(rows, A), b=self.b * rows, G=G,
            known=np.ones(self.n), viscous=None if damping is None else viscous,
        )  # fmt: skip

    @cached_property
    def row_sizes(self) -> np.ndarray:
        """How fast each constraint changes with velocities of what rubs."""
        sizes = self.sizes_of(self.matrices[1])
        return np.where(sizes > 0, sizes, 1.0)

    def sizes_of(self, rows: Any) -> np.ndarray:
        """Return how fast rows change with velocities of what rubs, at most."""
        return most_of(abs(by_columns(rows, 1 / self.levers)), 1)

    @cached_property
    def force(self) -> float:
        """The size of the forces at work."""
        # A coefficient is no force: beside small forces it would hide them.
        limits = self.power == 0 if self.follows is None else (self.power == 0) & ~self.follows
        force = max(self.size[limits].max(initial=0.0), largest(self.f / self.levers))
        return force or float(self.size[self.power > 0].max(initial=0.0)) or 1.0

    @property
    def imposed(self) -> float:
        """The size of the velocities at work; one where nothing tells it."""
        return self.given or 1.0

    @cached_property
    def given(self) -> float:
        """The size of the velocities that are imposed or that drag gives forces; zero if none."""
        return max(map(largest, (self.b, self.c, self.g))) or self.dragged(self.force)

    def dragged(self, force: float) -> float:
        """Return the speed at which drag or damping takes a force; zero where neither does."""
        grows, speed = (self.power > 0) & (self.size > 0), np.inf
        if not self.dry and np.any(self.f):
            with np.errstate(all="ignore"):
                speeds = (force / self.size[grows]) ** (1 / self.power[grows])
                if self.viscous is not None:
                    felt = abs(sparse.csc_matrix(self.viscous(1 / self.levers)[2])).diagonal()
                    speeds = np.append(speeds, force * self.levers**2 / felt)
            speed = speeds[np.isfinite(speeds) & (speeds > 0)].min(initial=np.inf)
        return float(speed) if speed < np.inf else 0.0

    @cached_property
    def driven(self) -> bool:
        """Whether something imposes a motion."""
        # What slips by under a contact that is open rubs against nothing.
        return bool(
            self.b.any() or (self.g < 0).any() or (self.c.any() and self.c[self.rubs].any())
        )

    @property
    def rubs(self) -> np.ndarray:
        """Which rates rub at all."""
        return (self.size > 0)[self.term]

    @cached_property
    def drags(self) -> bool:
        """Whether the force of a term grows with its speed."""
        return bool(self.power.any())

    @cached_property
    def dry(self) -> bool:
        """Whether no force grows with velocity."""
        return self.viscous is None and not self.drags

    def among(self, kept: np.ndarray) -> tuple[Problem, np.ndarray]:
        """Return the problem with some of the friction terms alone, and which rates these have."""
        rows, widths = np.flatnonzero(kept[self.term]), self.widths[kept]
        some = replace(
            self, B=self.matrices[0][rows], c=self.c[rows], starts=np.cumsum(widths) - widths,
            size=self.size[kept], power=self.power[kept], follows=None, pressed=None,
        )  # fmt: skip
        return some, rows

    # -- at a velocity ----------------------------------------------------------------------------

    def rates(self, v: np.ndarray) -> np.ndarray:
        """Return w."""
        return self.matrices[0] @ v + self.c

    def sums(self, x: Any) -> Any:
        """Add over the rates of each term."""
        if not self.terms:
            return x[:0]
        if sparse.issparse(x):
            rates = np.arange(len(self.c))
            return sparse.csr_matrix((np.ones(len(rates)), (self.term, rates))) @ x
        if self.width == 2:
            return x[0::2] + x[1::2]
        runs = self._shape.runs
        if len(runs) > _FEW_RUNS:
            return np.add.reduceat(x, self.starts, axis=0)
        parts = []
        for width, a, b in runs:
            part = x[a:b:width]
            for k in range(1, width):
                part = part + x[a + k : b : width]
            parts.append(part)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def speeds(self, w: np.ndarray) -> np.ndarray:
        """Return |w| of each term."""
        return np.sqrt(self.sums(w * w))

    def moving(self, v: np.ndarray, w: np.ndarray) -> float:
        """Return the size of the velocities v at work: of rates w of what rubs, or else of all."""
        # Coordinates and constraints may have other units than what rubs. Where all of it rolls, it
        # is the rounding of motions that cancel.
        adds = float(self.arms @ np.abs(v)) + largest(self.c)
        return max(largest(w), ROLLS * adds) or max(largest(v), largest(self.b))


@dataclass(frozen=True)
class Answer:
    """A velocity, the forces that go with it, and how well they fit.

    `stuck` are the friction terms at rest, `working` the contacts that hold.
    """

    problem: Problem
    v: np.ndarray
    y: np.ndarray
    lam: np.ndarray
    mu: np.ndarray
    stuck: np.ndarray
    working: np.ndarray
    source: str = field(default="", compare=False)

    def over(self, problem: Problem) -> Answer:
        """Return the same answer to the same problem, stated in its own units."""
        p = self.problem
        v, lam = self.v * p.levers, self.lam * p.row_sizes
        return replace(self, problem=problem, v=v, lam=lam)

    def back(self, problem: Problem) -> Answer:
        """Return an answer in own units as one to the problem as it was stated."""
        mine = self.problem
        problem = replace(problem, size=mine.size, follows=mine.follows, pressed=mine.pressed)
        v, lam = self.v / problem.levers, self.lam / problem.row_sizes
        return replace(self, problem=problem, v=v, lam=lam)

    @property
    def cleared(self) -> Answer:
        """The same answer without forces that are rounding, where nothing pushes nor rubs."""
        p = self.problem
        most = max(map(largest, (self.y, self.lam * p.row_sizes, self.mu)))
        if p.f.any() or not p.dry or p.driven and most > _NO_FORCE * p.force:
            return self
        # What slides has a force of its own, however small; at contacts it follows.
        slides = (self.resists > p.size / 2) & (p.size > 0)
        if np.any(slides if p.follows is None else slides & ~p.follows):
            return self
        return replace(self, y=0 * self.y, lam=0 * self.lam, mu=0 * self.mu)

    def about(self, contacts: np.ndarray, wanted: np.ndarray) -> Answer:
        """Return an answer about some contacts, by number, as one about those wanted."""
        mu, working = np.zeros(len(wanted)), np.zeros(len(wanted), dtype=bool)
        kept = np.isin(contacts, wanted)
        places = np.searchsorted(wanted, contacts[kept])
        mu[places], working[places] = self.mu[kept], self.working[kept]
        return replace(self, mu=mu, working=working)

    @property
    def forces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The forces of friction, of constraints and of contacts."""
        return self.y, self.lam, self.mu

    @cached_property
    def rates(self) -> np.ndarray:
        """The rates w against which friction acts."""
        return self.problem.rates(self.v)

    @cached_property
    def speeds(self) -> np.ndarray:
        """The speed |w| of each friction term."""
        return self.problem.speeds(self.rates)

    @cached_property
    def resists(self) -> np.ndarray:
        """The size of the force of each friction term."""
        return self.problem.speeds(self.y)

    @cached_property
    def damping(self) -> tuple[float, np.ndarray, Any] | None:
        """D, its slope and its second derivative, where there is damping."""
        return self.problem.viscous(self.v) if self.problem.viscous else None

    @cached_property
    def slipping(self) -> np.ndarray:
        """What each friction term takes."""
        p = self.problem
        return p.size * (self.speeds if p.dry else self.speeds ** (p.power + 1))

    @cached_property
    def dissipated(self) -> float:
        """The rate at which energy is lost."""
        lost = float(self.slipping.sum())
        return lost + float(self.damping[1] @ self.v) if self.damping else lost

    @cached_property
    def value(self) -> float:
        """What is minimized."""
        p = self.problem
        shares = self.slipping if p.dry else self.slipping / (p.power + 1)
        total = float(shares.sum()) - float(p.f @ self.v)
        return total + self.damping[0] if self.damping else total

    @cached_property
    def bound(self) -> float:
        """What the minimum cannot be below, by forces that balance the pushes."""
        p = self.problem
        total = float(driven(p, self.y, self.lam, self.mu))
        if p.drags:
            drag = np.flatnonzero(p.power > 0)
            # Dry friction within its limit costs nothing; drag costs its conjugate.
            limit, n = np.maximum(p.size[drag], 1e-300), p.power[drag]
            with np.errstate(divide="ignore", over="ignore"):
                shares = n / (n + 1) * limit * (self.resists[drag] / limit) ** ((n + 1) / n)
            total -= float(shares.sum())
        if self.damping:
            total += self.damping[0] - float(self.damping[1] @ self.v)
        return total

    @cached_property
    def unbalanced(self) -> np.ndarray:
        """What is left over of the forces."""
        B, A, G = self.problem.matrices
        left = self.problem.f - B.T @ self.y + A.T @ self.lam
        if len(self.mu):
            left = left + G.T @ self.mu
        return left - self.damping[1] if self.damping else left

    @property
    def imbalance(self) -> float:
        """What is left over of the forces, relative to their size."""
        return largest(self.unbalanced / self.problem.levers) / self.strength

    @cached_property
    def opening(self) -> np.ndarray:
        """The rates of the gaps that touch."""
        return self.problem.matrices[2] @ self.v + self.problem.g

    @cached_property
    def residual(self) -> dict[str, float]:
        """Largest unbalanced force, violations of what holds, excess of friction; relative."""
        p = self.problem
        excess = self.resists - p.size
        if not p.dry:
            # Drag has no force at rest.
            excess = np.where(p.power == 0, excess, np.where(self.speeds == 0, self.resists, 0.0))
        enters = pulls = rate = 0.0
        _, A, G = p.matrices
        if len(p.b):
            rate = float(_share(A @ self.v + p.b, A, self.moves, p.b).max())
        if len(self.mu):
            enters = float(_share(np.minimum(self.opening, 0.0), G, self.moves, p.g).max())
            pulls = (0.0 - float(self.mu.min(initial=0.0))) / self.strength
        return {
            "force": self.imbalance,
            "rate": rate,
            "contact": enters,
            "friction": float(excess.max(initial=0.0)) / p.force,
            "pull": pulls,
        }

    @cached_property
    def strength(self) -> float:
        """The size of all forces, those that hold and those of damping included."""
        held = [largest(self.lam * self.problem.row_sizes), largest(self.mu)]
        if self.damping:
            held.append(largest(self.damping[1] / self.problem.levers))
        if self.problem.drags:
            held.append(largest(self.y))
        return max(self.problem.force, *held)

    @property
    def speed(self) -> float:
        """The size of the velocities at work, or of those that might be where nothing moves."""
        return self.moving or self.problem.imposed

    @cached_property
    def moving(self) -> float:
        """The size of the velocities at work: of what rubs, or else of all."""
        return self.problem.moving(self.v, self.rates)

    @cached_property
    def moves(self) -> np.ndarray:
        """Velocities that matter, coordinate by coordinate: with which points move at the speed."""
        arms = self.problem.arms
        return np.abs(self.v) + np.divide(self.speed, arms, out=np.zeros(len(arms)), where=arms > 0)

    @cached_property
    def gap(self) -> float:
        """The duality gap, relative to the power at work."""
        scale = float(self.slipping.sum()) + abs(float(self.problem.f @ self.v))
        # Where everything rolls no power is at work: then what friction could take is the measure.
        scale += abs(self.value) + self.strength * self.speed
        return abs(self.value - self.bound) / scale if scale > 0 else 0.0

    def right(self, tolerance: float = 1e-9) -> bool:
        """Tell whether this is the minimum: balanced, allowed, and without a duality gap."""
        # What is not finite fails every comparison.
        return all(x <= tolerance for x in self.residual.values()) and self.gap <= tolerance


def levers_of(B: Any, held: Iterable[Any]) -> np.ndarray:
    """Return how fast what rubs moves with each velocity, or what shares rows with what does."""
    levers = most_of(abs(B), 0).astype(float)
    missing = levers == 0
    if not missing.any():
        return levers
    rows = sparse.coo_matrix(abs(sparse.vstack([sparse.coo_matrix(x) for x in held])))
    i, j, slope = rows.row, rows.col, rows.data
    most = np.zeros(rows.shape[0])
    np.maximum.at(most, i, slope)
    for _ in range(_TIED):
        over = np.divide(slope, levers[j], out=np.zeros(len(j)), where=levers[j] > 0)
        sizes, tied = np.zeros(rows.shape[0]), np.zeros(len(levers))
        np.maximum.at(sizes, i, over)
        # A row that hardly depends on what rubs ties nothing to it.
        size = np.where(sizes[i] > _ACROSS * most[i], sizes[i], 0.0)
        np.maximum.at(tied, j, np.divide(slope, size, out=0 * slope, where=size > 0))
        before, levers = levers, np.where(missing, tied, levers)
        if np.array_equal(before, levers):
            break
    tied, own = levers > 0, np.zeros(len(levers))
    usual = np.median(levers[tied]) if tied.any() else 1.0
    # What nothing ties to what rubs is in the units of most that is, its parts as its rows say.
    some = ~tied[j] & (slope > _ACROSS * most[i])
    np.maximum.at(own, j[some], slope[some])
    own = own * (usual / np.median(own[own > 0])) if some.any() else own
    return np.where(tied, levers, np.where(own > 0, own, usual))


def by_rows(sizes: np.ndarray, rows: Any) -> Any:
    """Return rows times their sizes."""
    return sparse.diags(sizes) @ rows if sparse.issparse(rows) else sizes[:, None] * rows


def by_columns(rows: Any, sizes: np.ndarray) -> Any:
    """Return rows over columns of some sizes."""
    return rows @ sparse.diags(sizes) if sparse.issparse(rows) else rows * sizes


def stacked(*blocks: Any) -> Any:
    """Return blocks of rows one above the other."""
    if any(sparse.issparse(x) for x in blocks):
        return sparse.vstack(blocks, format="csr")
    return np.vstack(blocks)


def most_of(matrix: Any, axis: int) -> np.ndarray:
    """Return the largest entries along an axis of a matrix without signs, zero if it is empty."""
    if not sparse.issparse(matrix):
        return matrix.max(axis=axis, initial=0.0)
    if not min(matrix.shape):
        return np.zeros(matrix.shape[1 - axis])
    return np.asarray(matrix.max(axis=axis).todense()).ravel()


def _share(off: np.ndarray, rows: Any, moves: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Return what is off of rates, as shares of what adds up in them."""
    whole = np.asarray(abs(rows) @ moves).ravel() + np.abs(rate)
    return np.divide(np.abs(off), whole, out=np.zeros(len(off)), where=whole > 0)


def largest(x: np.ndarray) -> float:
    """Return the largest size of any entry."""
    sizes = np.abs(x)
    return float(sizes[sizes.argmax()]) if len(x) else 0.0
