"""What a result says of one instant at which forces balance: a state of rest, or of sliding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sparse

from stationary.derive.balance import Balance
from stationary.derive.graph import Graph
from stationary.derive.sliding import Sliding
from stationary.lower.kernel import numeric
from stationary.lower.rounding import rounding
from stationary.solve.scales import Scales, largest_terms, scales_of, tied_digits
from stationary.solve.sliding.problem.numbers import levers_of
from stationary.solve.sliding.problem.question import evaluated, terms_of

# How many times the last digits of the coordinates are shaken to see what that changes.
_SHAKES = 3

# Moves by which it is seen what stiffness makes of them, and how much more they might make.
_MOVES, _UNEVEN = 4, 100.0


@dataclass(frozen=True)
class State:
    """Coordinates, velocities and forces as they are claimed; all else comes from the statement.

    Attributes
    ----------
    lam : ndarray
        Multipliers of constraints, and of contacts after them.
    y : ndarray or None
        What friction resists with, along each of its rates; None at rest, where T₀ counts.
    moves : bool
        Whether v is the velocity at this instant; false for the mean of an increment.
    span, travel : float, ndarray
        The time asked about, and how far the coordinates went.
    first : State, optional
        The first of many that answer one question: what is large there is large all along.
    """

    graph: Graph
    t: float
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    params: np.ndarray
    lam: np.ndarray
    y: np.ndarray | None = None
    moves: bool = True
    span: float = 0.0
    travel: np.ndarray | None = None
    first: State | None = None

    @cached_property
    def scales(self) -> Scales:
        """The sizes of the question to which this is an answer."""
        if self.first is not None:
            return self.first.scales.at(self.q)
        return scales_of(
            self.graph, self.params, self.t, self.q, v=self.v, u=self.u, span=self.span,
            travel=self.travel,
        )  # fmt: skip

    @cached_property
    def alike(self) -> np.ndarray:
        """Moves of the coordinates that count alike: the radius of what bends, or their way."""
        scales = self.scales
        moves = np.where(np.isfinite(scales.bend) & (scales.bend > 0), scales.bend, scales.length)
        usual = float(np.median(moves[moves > 0])) if np.any(moves > 0) else 1.0
        return np.where(moves > 0, moves, usual)

    @property
    def rows(self) -> int:
        """Number of constraint rows; contacts come after them."""
        return self.graph.layout.multipliers

    def row_name(self, i: int) -> str:
        """Return the name of a constraint or a contact."""
        layout = self.graph.layout
        return layout.row_name(i) if i < self.rows else layout.gap_name(i - self.rows)

    @cached_property
    def holds(self) -> tuple[np.ndarray, np.ndarray, Any]:
        """R and gap, the rates at which they change by themselves, and their gradients."""
        at = (self.t, self.q, self.u, self.params)
        R, drive, A, gap, moved, G = evaluated(Sliding(self.graph), "holds")(*at)
        both = sparse.vstack([A, G], format="csr") if sparse.issparse(A) else np.vstack([A, G])
        return np.concatenate([R, gap]), np.concatenate([drive, moved]), both

    @cached_property
    def slips(self) -> tuple[np.ndarray, Any, np.ndarray, np.ndarray]:
        """The rates w of friction, their gradients B, sizes and powers, per rate."""
        at = (self.t, self.q, self.u, self.params)
        _, c, B, size, power = evaluated(Sliding(self.graph), "slips")(*at)
        return B @ self.v + c, B, size, power

    def forces(self, q: np.ndarray) -> np.ndarray:
        """Return the forces of the statement but for those of friction and of what holds."""
        if self.y is None:
            balance = numeric(Balance(self.graph), "forces")
            return -balance(self.t, q, self.u, self.params)[0]
        return evaluated(Sliding(self.graph), "force")(self.t, q, self.u, self.params, self.v)[0]

    def _left(self, q: np.ndarray) -> np.ndarray:
        state = self if q is self.q else replace(self, q=q)
        left = self.forces(q) + state.holds[2].T @ self.lam
        return left if self.y is None else left - state.slips[1].T @ self.y

    @cached_property
    def unbalanced(self) -> np.ndarray:
        """What is left of the forces on each coordinate."""
        return self._left(self.q)

    @cached_property
    def levers(self) -> np.ndarray:
        """How fast what rubs, or what it is tied to by rows, moves with each velocity."""
        return levers_of(self.slips[1], [self.holds[2]])

    @cached_property
    def terms(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the rates of each friction term begin, its contact or −1, and the term of each."""
        return _terms(Sliding(self.graph))

    def lengths(self, vectors: np.ndarray) -> np.ndarray:
        """Return the length of the vector of each friction term."""
        return np.sqrt(np.bincount(self.terms[2], vectors**2, len(self.terms[0])))

    @cached_property
    def pulls(self) -> np.ndarray:
        """The size of the forces on each coordinate, whatever their signs."""
        size = np.abs(self.forces(self.q)) + abs(self.holds[2]).T @ np.abs(self.lam)
        if self.y is None or not len(self.y):
            return size
        # A force in a plane is rounded as a whole: no component is sharper than the largest.
        return size + abs(self.slips[1]).T @ self.lengths(self.y)[self.terms[2]]

    @cached_property
    def shaken(self) -> np.ndarray:
        """How the forces on each coordinate change with the last digits of coordinates."""
        rng = np.random.default_rng(0)
        ulps = tied_digits(self.holds[2], self.scales.rounding, self.alike)
        shaken = [self.q + ulps * rng.choice([-1.0, 1.0], len(ulps)) for _ in range(_SHAKES)]
        changes = [np.abs(self._left(q) - self.unbalanced) for q in shaken]
        return np.max(changes, axis=0) + np.finfo(float).eps * self.pulls

    @cached_property
    def computed(self) -> np.ndarray:
        """What the terms that make up the forces on each coordinate may lose by rounding."""
        at = [self.t, self.q, self.u, self.params]
        if self.y is None:
            lost = rounding(Balance(self.graph), "forces", at)
        else:
            lost = rounding(Sliding(self.graph), "force", [*at, self.v])
        return np.zeros(len(self.q)) if lost is None else lost

    @cached_property
    def strongest(self) -> np.ndarray:
        """What the strongest forces would do to each coordinate: their digits are shared by all."""
        size = abs(self.holds[2]).sum(axis=0) * np.abs(self.lam).max(initial=0.0)
        if self.y is not None and len(self.y):
            # Friction that could be as strong is found to the digits of its limit.
            limits = self.slips[2][(self.terms[1] < 0)[self.terms[2]]]
            strong = max(np.abs(self.y).max(), limits.max(initial=0.0))
            rubs = np.asarray(abs(self.slips[1]).sum(axis=0)).ravel()
            size = np.asarray(size).ravel() + np.maximum(rubs, self.levers) * strong
        return np.asarray(size).ravel()

    @cached_property
    def turned(self) -> np.ndarray:
        """What is known of the forces of constraints where rows turn by their last digits."""
        over = sparse.csr_matrix(self.holds[2]) @ sparse.diags(self.alike)
        work = largest_terms(over, np.ones(len(self.q))) * np.abs(self.lam)
        return self.digit * ((over != 0).T @ work) / self.alike

    @cached_property
    def digit(self) -> float:
        """The last digit of what rows hold, beside what it could be; far out it is a large one."""
        A, digits = self.holds[2], np.spacing(np.abs(self.q))
        whole = largest_terms(A, self.alike)
        shares = np.divide(
            largest_terms(A, digits), whole, out=np.zeros_like(whole), where=whole > 0
        )
        return float(np.max(shares, initial=np.finfo(float).eps))

    @cached_property
    def stiffness(self) -> Any:
        """How strongly the forces follow the coordinates, whatever their signs."""
        if not len(self.lam):
            return self.springs
        at = (self.t, self.q, self.u, self.params, self.lam)
        return self.springs + abs(numeric(Balance(self.graph), "curvature")(*at)[0])

    @cached_property
    def springing(self) -> np.ndarray:
        """The forces that a move by the statement's own lengths would raise on each coordinate.

        Beside a place where forces turn round at once, as at the end of a spring without length,
        the stiffness is without bounds and the forces are not.
        """
        lengths = self.scales.length
        linear, rng = self.stiffness @ lengths, np.random.default_rng(1)
        moved = [self.q + lengths * rng.choice([-1.0, 1.0], len(self.q)) for _ in range(_MOVES)]
        changes = np.array([np.abs(self._left(q) - self.unbalanced) for q in moved])
        changes = np.where(np.isfinite(changes), changes, np.inf)
        return np.minimum(linear, _UNEVEN * np.max(changes, axis=0, initial=0.0))

    @cached_property
    def springs(self) -> Any:
        """How strongly energies and loads follow the coordinates, whatever their signs."""
        at = (self.t, self.q, self.u, self.params)
        return abs(numeric(Balance(self.graph), "tangent")(*at)[0])


def deflections(states: list[State]) -> np.ndarray:
    """Return how far coordinates would go if forces at work bent springs, as stiff as anywhere."""
    stiffest = [sparse.csr_matrix(state.springs).max(axis=1).toarray() for state in states]
    stiff = np.max(stiffest, axis=0).ravel()
    force = np.max([np.maximum(state.pulls, state.strongest) for state in states], axis=0)
    return np.divide(force, stiff, out=np.zeros(len(stiff)), where=stiff > 0)


@lru_cache(maxsize=64)
def _terms(sliding: Sliding) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    starts, pressed, _ = terms_of(sliding)
    widths = np.diff(np.append(starts, sliding.rates))
    return starts, pressed, np.repeat(np.arange(len(starts)), widths)
