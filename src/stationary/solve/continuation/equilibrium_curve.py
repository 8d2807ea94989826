"""The curve of equilibria over a parameter: its equations, its tangent, what grows on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from stationary.lower.engines.casadi import Numeric
from stationary.lower.inputs import lowered
from stationary.model.kinematics import PLAIN, Kinematics
from stationary.model.system import System
from stationary.result.equilibrium import Equilibrium
from stationary.result.stability import Stability
from stationary.solve.linear import tangent_basis
from stationary.solve.rest.search import Search, search_of
from stationary.solve.rest.stability import inertia_and_damping_graph, rates_of

# Moves between which a scale is looked for, in powers of ten: around what the search goes by, and
# where at the start nothing bends, so that nothing is known of units.
_DECADES, _ALL_DECADES = 4, 150

# What changes by less than this part of itself is straight.
_STRAIGHT = 1e-6


class AbstractCurve(ABC):
    """A curve F(z) = 0 over z = (unknowns, parameter), one equation less than entries of z.

    Attributes
    ----------
    parameter : str
        Name of the last entry.
    span : pair of float
        Between which values of it the curve is followed.
    start : ndarray
        A point of the curve.
    scale : ndarray
        Unit of every entry: a move that matters.
    n : int
        How many of the first entries make a place; others follow from them, as multipliers do.
    """

    parameter: str
    span: tuple[float, float]
    start: Any
    scale: Any
    n: Any

    @abstractmethod
    def raw(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F and ∂F/∂z."""

    def label(self, entry: int) -> str:
        """Return the name of an entry of a place."""
        return f"unknown {entry}"

    @cached_property
    def periods(self) -> np.ndarray:
        """A whole turn for entries that are angles, else zero, in the scaled variables."""
        return np.zeros(len(self.start))

    @cached_property
    def shared_turn(self) -> np.ndarray:
        """A whole turn of entries that are angles together alone, as rotors on one soft shaft."""
        return np.zeros(len(self.start))

    @property
    def kinematics(self) -> Kinematics:
        """How the first entries are compared."""
        return PLAIN

    def written_near(self, w: np.ndarray, to: np.ndarray, some: Any = slice(None)) -> np.ndarray:
        """Return the same place, written as near to others as it can be; of `some` entries only."""
        periods = self.periods[some]
        whole = np.where(periods > 0, periods, 1.0)
        w = self.kinematics.nearest(w, to)
        if (shared := self.shared_turn[some]).any():
            turns = np.round((to - w) @ shared / (shared @ shared))
            w = w + np.multiply.outer(turns, shared)
        return w + np.where(periods > 0, np.round((to - w) / whole), 0.0) * periods

    def growing(self, w: np.ndarray, faster: int = 0) -> tuple[int, float, float, int, int]:
        """Return the number of growing modes, rate and frequency of the fastest that swings.

        Of all that swing so many may be left out that are `faster`. Then come the number of modes
        whose rate is rounding, and that of those that grow as they swing: where it changes by two,
        a Hopf point is looked for.
        """
        return 0, -np.inf, 0.0, 0, 0

    def stiffnesses(self, w: np.ndarray) -> np.ndarray:
        """Return numbers that go through zero where branches meet two at a time."""
        return np.zeros(0)

    @cached_property
    def _weights(self) -> np.ndarray:
        """What makes the rows of F of order one."""
        around = (self.start, self.start + 0.1 * self.scale, self.start - 0.1 * self.scale)
        sizes = [np.abs(self.raw(z)[1] * self.scale).max(axis=1) for z in around]
        size = np.max([x for x in sizes if np.all(np.isfinite(x))], axis=0)
        return 1 / np.where(size > 0, size, 1.0)

    def values(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F and ∂F/∂w at w = z / scale, rows of order one."""
        F, J = self.raw(w * self.scale)
        return F * self._weights, J * self._weights[:, None] * self.scale

    def missed(self, w: np.ndarray) -> float:
        """Return the largest row, as a share of what a move by the curve's scale makes of it."""
        return float(np.abs(self.values(w)[0]).max())


@dataclass
class EquilibriumCurve(AbstractCurve):
    """Equilibria over z = (q, λ, μ), where μ is a parameter of the system."""

    system: System
    parameter: str
    span: tuple[float, float]
    first: Equilibrium
    inputs: Any

    @cached_property
    def search(self) -> Search:
        """The search at the start, whose parameter moves."""
        values = {p.name: v for p, v in zip(self.system.parameters, self.first.params.tolist())}
        return search_of(self.system, values, self.inputs, self.first.t, "any")

    @cached_property
    def place(self) -> int:
        """Entry of the parameter in p."""
        return [p.name for p in self.system.parameters].index(self.parameter)

    @property
    def params(self) -> dict[str, float]:
        """Values of the other parameters."""
        named = zip((p.name for p in self.system.parameters), self.first.params.tolist())
        return {name: value for name, value in named if name != self.parameter}

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return self.system.size

    @cached_property
    def active(self) -> np.ndarray:
        """Rows that hold: all constraints."""
        return np.arange(self.search.balance.rows)

    # -- the equations along the curve ------------------------------------------------------------

    @cached_property
    def _functions(self) -> Numeric:
        """F and its Jacobian over (q, λ, μ), and inertia and damping; exact derivatives."""
        balance, m = self.search.balance, len(self.active)
        kind: Any = ca.SX if balance.graph.scalar else ca.MX
        z = kind.sym("z", self.n + m + 1)
        q, lam, mu = z[: self.n], z[self.n : self.n + m], z[-1]
        p = kind(ca.DM(self.first.params))
        p[self.place] = mu
        signature, slots = self.search.signature, ca.DM(self.search.slots)
        at_rest, t = kind.zeros(self.n), self.first.t
        u = lowered(signature, self.search.layout, t, q, at_rest, p, slots)
        g, *_ = balance.forces(self.first.t, q, u, p)
        c, A = balance.limits(self.first.t, q, u, p)
        rows = self.active.tolist()
        pull = ca.mtimes(A[rows, :].T, lam) if rows else 0
        F = ca.vertcat(g - pull, *([c[rows]] if rows else []))
        outputs = [F, ca.jacobian(F, z), *inertia_and_damping_graph(self.search, q, u, p)]
        return Numeric(ca.Function("path", [z], [ca.densify(x) for x in outputs]))

    @cached_property
    def scale(self) -> np.ndarray:
        """The size of every unknown: where equations change by as much as they are.

        The parameter is measured by its span, multipliers by the forces at the start, a coordinate
        by the change of it that makes the Jacobian another one: metres and radians, newtons and
        meganewtons then count alike.
        """
        z, n = self.start, self.n
        units = np.ones(len(z))
        units[-1] = self.span[1] - self.span[0]
        # The stiffness at both ends of the span as well: at the start itself it may vanish.
        ends = [np.append(z[:-1], edge) for edge in self.span]
        typical = [x for x in map(self._slopes, (z, *ends)) if np.all(np.isfinite(x))]
        sizes, J = np.max(np.abs(typical), axis=0), self._slopes(z)
        units[:n] = self.search.moves(z[:n])
        bent = np.full(n, np.inf)
        for decades in (_DECADES, _ALL_DECADES):
            some = np.random.default_rng(6).choice([-1.0, 1.0], n)
            far = _where(lambda s: self._change([z, *ends], sizes, units, s * some), decades)
            if np.isfinite(far) and far > 0:
                units[:n] *= far
                bent = np.array([
                    _where(lambda s, e=e: self._change([z, *ends], sizes, units, s * e), _DECADES)
                    for e in np.eye(n)
                ])  # fmt: skip
                bent = np.where(bent > 0, bent, np.inf)
                break
        # Where nothing bends, by how far the parameter moves it over the span.
        units[n:-1] = self._pulls(sizes, units)
        rows = self._sizes(sizes, units)
        with np.errstate(all="ignore"):
            K, known = J[:, :-1] * units[:-1] / rows[:, None], self._pushed(J) * units[-1] / rows
            away = np.abs(np.linalg.lstsq(K, known, rcond=1e-10)[0])[:n]
        away = np.where(np.isfinite(away) & (away > 1e-9 * away.max(initial=0.0)), away, 0.0)
        other = np.max([x for x in (*bent, *away) if np.isfinite(x)], initial=0.0)
        other = other or self._balancing(some * units[:n], units[-1])
        if not other:
            # Without any length places have their digits, and no move is to be less than those.
            units[:n], other = np.maximum(units[:n], np.abs(z[:n])), 1.0
        units[:n] *= np.where(np.isfinite(bent), bent, np.where(away > 0, away, other))
        for places in self.kinematics.quaternions:
            units[places] = units[places].max()
        units[n:-1] = np.maximum(self._pulls(sizes, units), np.abs(z[n:-1]))
        return units

    def _slopes(self, z: np.ndarray) -> np.ndarray:
        """Return ∂F/∂z without what is made of the last digits of places: it measures no length."""
        q, J, rng = z[: self.n], self.raw(z)[1], np.random.default_rng(7)
        # What constraints turn has the digits of its radius, however near it is to zero.
        turned = np.any(J[self.n :, : self.n] != 0, axis=0)
        digits = 16 * np.spacing(np.maximum(np.abs(q), turned * self.search.moves(q)))
        digits *= rng.choice([-1.0, 1.0], self.n) * rng.uniform(0.5, 1.5, self.n)
        near = self.raw(z + np.append(digits, np.zeros(len(z) - self.n)))[1]
        return np.where(np.abs(J) <= 4 * np.abs(near - J), 0.0, J)

    def _pushed(self, J: np.ndarray) -> np.ndarray:
        """Return ∂F/∂μ at the start without what the last digits of its places make of forces."""
        digits = 64 * np.finfo(float).eps * (np.abs(J[:, :-1]) @ np.abs(self.start[:-1]))
        span = self.span[1] - self.span[0]
        return np.where(np.abs(J[:, -1]) * span > digits, J[:, -1], 0.0)

    def _balancing(self, way: np.ndarray, span: float) -> float:
        """Return how many times a move changes forces as much as the parameter does in its span.

        At a fold that nothing bends, as that of x² = μ, it is the only length there is; 0 if none.
        """
        z = self.start
        F, J = self.raw(z)
        most = np.linalg.norm(self._pushed(J)) * span

        def share(s: float) -> float:
            there = z + np.append(s * way, np.zeros(len(z) - len(way)))
            with np.errstate(all="ignore"):
                return float(np.nan_to_num(np.linalg.norm(self.raw(there)[0] - F) / most))

        times = _where(share, _ALL_DECADES) if most > 0 else np.inf
        return times if np.isfinite(times) else 0.0

    def _pulls(self, sizes: np.ndarray, units: np.ndarray) -> np.ndarray:
        """Return multipliers that do as much as the stiffness, in these units of coordinates."""
        D = units[: self.n]
        work = np.max(D * (sizes[: self.n, : self.n] @ D), initial=0.0)
        work = work or np.max(D * sizes[: self.n, -1], initial=0.0) * units[-1]
        return work / np.maximum(np.max(sizes[self.n :, : self.n] * D, axis=1, initial=0.0), 1e-300)

    def _sizes(self, sizes: np.ndarray, units: np.ndarray) -> np.ndarray:
        """Return how large the rows of F are when the unknowns change by their units."""
        rows = np.max(sizes * units, axis=1, initial=0.0)
        return np.where(rows > 0, rows, 1.0)

    def _change(self, places: list, sizes, units, way: np.ndarray) -> float:
        """Return how much stiffness or rows change, beside their size, by a move either way."""
        n, D, change = self.n, units[: self.n], 0.0
        whole = np.linalg.norm(sizes[:, :n] * D, axis=1)
        for place in places:
            for move in (way * D, -way * D):
                there = place + np.append(move, np.zeros(len(place) - n))
                with np.errstate(all="ignore"):
                    new = self.raw(there)[1] - self.raw(place)[1]
                    part = np.linalg.norm(new[:, :n] * D, axis=1)
                known = (whole > 0) & np.isfinite(part)
                change = np.max(part[known] / whole[known], initial=change)
        return change

    @cached_property
    def start(self) -> np.ndarray:
        """The start of the first branch, unscaled."""
        return np.concatenate(
            [self.first.q, self.first.lam.every[self.active], [self.first.params[self.place]]]
        )

    def _all(self, z: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return F, J, M and D; the last few points are asked for again and again."""
        key = z.tobytes()
        if key not in self._recent:
            if len(self._recent) > 16:
                self._recent.clear()
            F, *matrices = self._functions(z)
            J, M, D = (x.reshape(-1, k).T for x, k in zip(matrices, (len(F), self.n, self.n)))
            self._recent[key] = F, J, M, D
        return self._recent[key]

    @cached_property
    def _recent(self) -> dict[bytes, tuple[np.ndarray, ...]]:
        return {}

    def raw(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F and ∂F/∂z."""
        return self._all(z)[:2]  # pyright: ignore[reportReturnType]  # two of four

    @cached_property
    def periods(self) -> np.ndarray:
        """A whole turn for coordinates that are angles, else zero, in the scaled variables.

        An angle is what can be turned once round without a change of the equations, and not by a
        radian: what is light-years long takes no notice of either.
        """
        return np.array([self._turn(one) for one in np.eye(len(self.start))]).diagonal()

    @cached_property
    def shared_turn(self) -> np.ndarray:
        """A whole turn of all that are no angles by themselves, if it changes nothing."""
        shaft = (np.arange(len(self.start)) < self.n) & (self.periods == 0)
        return self._turn(shaft.astype(float)) if shaft.sum() > 1 else np.zeros(len(shaft))

    def _turn(self, radian: np.ndarray) -> np.ndarray:
        """Return a whole turn of these unknowns; zero where they are no angles together."""
        rng, none = np.random.default_rng(4), np.zeros(len(radian))
        some = [self.start + 0.3 * rng.standard_normal(len(radian)) * self.scale for _ in range(3)]

        def unchanged(z: np.ndarray, turn: np.ndarray) -> bool:
            (F, J), (there, slopes) = self.raw(z), self.raw(z + turn)
            size = max(np.abs(F).max(), np.abs(J * self.scale).max())
            change = np.max([np.abs(there - F).max(), np.abs((slopes - J) * self.scale).max()])
            return bool(change <= 1e-9 * size)

        if radian[self.n :].any() or not all(unchanged(z, 2 * np.pi * radian) for z in some):
            return none
        if any(unchanged(z, radian) for z in some):
            return none
        return 2 * np.pi * radian / self.scale

    @property
    def kinematics(self) -> Kinematics:
        """How configurations are compared."""
        return self.search.layout.kinematics

    def label(self, entry: int) -> str:
        """Return the name of an unknown."""
        if entry < self.n:
            return self.search.layout.name(entry)
        return self.search.row_name(int(self.active[entry - self.n]))

    # -- what the points tell ---------------------------------------------------------------------

    def growing(self, w: np.ndarray, faster: int = 0) -> tuple[int, float, float, int, int]:
        """Return the number of growing modes, rate and frequency of the fastest that swings.

        Of those so many are left out that are `faster`. Then come the number of modes whose rate is
        rounding, and that of those that grow and swing.
        """
        rates, moved = self._rates(w)
        grows, swings = np.real(rates) > moved, np.abs(np.imag(rates)) > moved
        unclear = int(np.sum(np.abs(rates) <= moved))
        unstable, both = int(np.sum(grows)), int(np.sum(grows & swings))
        if np.sum(swings) <= faster:
            return unstable, -np.inf, 0.0, unclear, both
        order = np.argsort(-np.real(rates[swings]), kind="stable")
        top = complex(rates[swings][int(order[faster])])
        return unstable, top.real, abs(top.imag), unclear, both

    def stable(self, z: np.ndarray) -> bool | None:
        """Tell whether a point is stable, as statics does; None where that is not decided."""
        q, lam, place = z[: self.n], z[self.n : -1], z[-1]
        search = search_of(
            self.system, self.params | {self.parameter: place}, self.inputs, self.first.t, "any"
        )
        search.prepare(q)
        return Stability(str(search.examined(q, lam, self.active).stability)).stable

    def _rates(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return growth rates, and how far rounding may have moved each."""
        _, J, M, D = self._all(w * self.scale)
        Z = tangent_basis(J[self.n :, : self.n], self.scale[: self.n])
        return rates_of(*(Z.T @ X @ Z for X in (J[: self.n, : self.n], M, D)))

    def stiffnesses(self, w: np.ndarray) -> np.ndarray:
        """Return the eigenvalues of the stiffness on the tangent space, in ascending order."""
        _, J = self.raw(w * self.scale)
        Z = tangent_basis(J[self.n :, : self.n], self.scale[: self.n])
        K = Z.T @ J[: self.n, : self.n] @ Z
        return np.linalg.eigvalsh((K + K.T) / 2)


def _where(change: Callable[[float], float], decades: int) -> float:
    """Return the least move at which something has changed by its own size; infinite if none.

    It is twice the one at which it has changed by half of that, or by half of what it ever changes:
    a cosine beside a larger constant never makes that another one, but bends all the same. Where
    the least move that is looked at does so already, it is 0.
    """
    moves = 10.0 ** (np.arange(-3 * decades, 3 * decades + 1) / 3)
    changes = np.array([change(move) for move in moves])
    half = min(float(changes.max()), 1.0) / 2
    if half < _STRAIGHT:
        return np.inf
    # By chance one of those that are too large may change little.
    if changes[:4].max() >= half / 10:
        return 0.0
    high = float(moves[np.argmax(changes >= half)])
    low = high / 10 ** (1 / 3)
    for _ in range(6):
        middle = np.sqrt(low * high)
        low, high = (low, middle) if change(middle) >= half else (middle, high)
    return 2 * high
