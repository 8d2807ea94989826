"""The curve of equilibria over a parameter: its equations, its tangent, what grows on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg import svd

from stationary.lower.engines.casadi import Numeric
from stationary.lower.inputs import lowered
from stationary.model.system import System
from stationary.result.diagram import Branch, Special
from stationary.result.equilibrium import Equilibrium
from stationary.solve.growth import inertia_and_damping_graph, rates_of
from stationary.solve.linear import tangent_basis
from stationary.solve.search import Search, search_of

# The first step along a curve, in the scaled variables.
FIRST = 1e-3

# Newton's steps inside a corrector.
_MOST_CORRECTIONS = 8


@dataclass
class AbstractCurve:
    """The curve F(z) = 0 over z = (q, λ, μ), where μ is the parameter."""

    system: System
    name: str
    span: tuple[float, float]
    first: Equilibrium
    inputs: Any
    most_points: int
    deadline: float
    branches: list[Branch] = field(default_factory=list)
    special: list[Special] = field(default_factory=list)
    free: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

    @cached_property
    def search(self) -> Search:
        """The search at the start, whose parameter moves."""
        values = {p.name: v for p, v in zip(self.system.parameters, self.first.params.tolist())}
        return search_of(self.system, values, self.inputs, self.first.t, "any")

    @cached_property
    def place(self) -> int:
        """Entry of the parameter in p."""
        return [p.name for p in self.system.parameters].index(self.name)

    @property
    def params(self) -> dict[str, float]:
        """Values of the other parameters."""
        named = zip((p.name for p in self.system.parameters), self.first.params.tolist())
        return {name: value for name, value in named if name != self.name}

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
        still, t = kind.zeros(self.n), self.first.t
        u = lowered(signature, self.search.layout, t, q, still, p, slots)
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
        width = self.span[1] - self.span[0]
        z = self.start
        made = np.ones(len(z))
        made[-1] = width
        _, J = self._raw(z)
        middle = J[: self.n, : self.n]
        # The stiffness at both ends of the span: at the start itself it may vanish.
        ends = [np.append(z[:-1], edge) for edge in self.span]
        typical = [
            x
            for x in (middle, *(self._raw(e)[1][: self.n, : self.n] for e in ends))
            if np.all(np.isfinite(x))
        ]
        rows = np.max(np.abs(typical), axis=(0, 2))[:, None]
        rows = np.where(rows > 0, rows, 1.0)
        size = max(np.linalg.norm(x / rows) for x in typical) or 1.0
        for i in range(self.n):
            found = []
            for h in (1e-3 * max(abs(z[i]), 1e-3), 1e-2 * max(abs(z[i]), 1e-1)):
                up, down = z.copy(), z.copy()
                up[i] += h
                down[i] -= h
                high, low = (self._raw(x)[1][: self.n, : self.n] for x in (up, down))
                high, low, same = (x / rows for x in (high, low, middle))
                once = np.linalg.norm(high - low) / (2 * h)
                twice = np.linalg.norm(high - 2 * same + low) / h**2
                if np.isfinite(once) and once > 1e-6 * size / h:
                    found.append(size / once)
                if np.isfinite(twice) and twice > 1e-6 * size / h**2:
                    found.append(np.sqrt(2 * size / twice))
            made[i] = max(min(found), abs(z[i]) / 10) if found else max(1.0, abs(z[i]))
        for i in range(self.n, len(z) - 1):
            column = np.abs(J[: self.n, i])
            forces = np.abs(J[: self.n, : self.n]) @ made[: self.n]
            made[i] = max(forces.max() / max(column.max(), 1e-300), abs(z[i]), 1e-300)
        return made

    @cached_property
    def start(self) -> np.ndarray:
        """The start of the first branch, unscaled."""
        return np.concatenate(
            [self.first.q, self.first.lam[self.active], [self.first.params[self.place]]]
        )

    @cached_property
    def _weights(self) -> np.ndarray:
        """What makes the rows of F of order one."""
        around = (self.start, self.start + 0.1 * self.scale, self.start - 0.1 * self.scale)
        found = [np.abs(self._raw(z)[1] * self.scale).max(axis=1) for z in around]
        size = np.max([x for x in found if np.all(np.isfinite(x))], axis=0)
        return 1 / np.where(size > 0, size, 1.0)

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

    def _raw(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._all(z)[:2]  # pyright: ignore[reportReturnType]  # two of four

    def values(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F and ∂F/∂w at w = z / scale, rows of order one."""
        F, J = self._raw(w * self.scale)
        return F * self._weights, J * self._weights[:, None] * self.scale

    @cached_property
    def periods(self) -> np.ndarray:
        """A whole turn for coordinates that are angles, else zero, in the scaled variables.

        An angle is what can be turned once round without a change of the equations.
        """
        made = np.zeros(len(self.start))
        rng = np.random.default_rng(4)
        some = [self.start + 0.3 * rng.standard_normal(len(made)) * self.scale for _ in range(3)]
        here = [self._raw(z) for z in some]
        for i in range(self.n):
            turned = np.zeros(len(made))
            turned[i] = 2 * np.pi
            same = moves = True
            for z, (F, J) in zip(some, here):
                there, slopes = self._raw(z + turned)
                size = max(np.abs(F).max(), np.abs(J * self.scale).max())
                same &= np.abs(there - F).max() <= 1e-9 * size
                same &= np.abs((slopes - J) * self.scale).max() <= 1e-9 * size
                moves &= np.abs(J[:, i]).max() * self.scale[i] > 1e-9 * size
            if same and moves:
                made[i] = 2 * np.pi / self.scale[i]
        return made

    # -- directions in which nothing changes ------------------------------------------------------

    def _families(self, w: np.ndarray, tangent: np.ndarray) -> np.ndarray:
        """Return directions in which a branch can be moved and still rests, one per row.

        They are null directions a little further along it, too: at a crossing there are more.
        """
        place = w + 10 * FIRST * tangent
        for _ in range(_MOST_CORRECTIONS):
            F, J = self.values(place)
            K = np.vstack([J, tangent])
            place = place - np.linalg.lstsq(K, np.append(F, 0.0), rcond=1e-10)[0]
        _, J = self.values(place)
        _, sizes, rows = svd(J)
        sizes = np.append(sizes, np.zeros(len(rows) - len(sizes)))
        plane = rows[sizes < 1e-9 * max(sizes[0], 1e-300)]
        if len(plane) < 2:
            return np.empty((0, len(w)))
        # What is left of the null space without the branch itself.
        ahead = plane.T @ (plane @ tangent)
        return np.array(without(plane, ahead / np.linalg.norm(ahead)))

    def bordered(self, J: np.ndarray, tangent: np.ndarray) -> np.ndarray:
        """Border J with the tangent and with free directions: regular at folds and in families."""
        f = len(self.free)
        if not f:
            return np.vstack([J, tangent])
        right = np.vstack([self.free.T[:-1] * 1.0, np.zeros((1 + f, f))])[: len(J) + 1 + f]
        left = np.vstack([J, tangent, self.free])
        return np.hstack([left, right])

    def solved(self, J: np.ndarray, tangent: np.ndarray, known: np.ndarray) -> np.ndarray | None:
        """Solve the bordered system, or return None where it is singular."""
        K = self.bordered(J, tangent)
        try:
            made = np.linalg.solve(K, np.append(known, np.zeros(len(self.free))))
        except np.linalg.LinAlgError:
            return None
        return made[: len(tangent)] if np.all(np.isfinite(made)) else None

    def correct(self, z: np.ndarray, tangent: np.ndarray) -> tuple[np.ndarray, int] | None:
        """Newton's method onto the curve, in the plane across the tangent."""
        anchor = z.copy()
        for count in range(_MOST_CORRECTIONS):
            F, J = self.values(z)
            if not np.all(np.isfinite(F)):
                return None
            # Border with the tangent: at a fold ∂F/∂(q, λ) is singular, the bordered matrix is not.
            move = self.solved(J, tangent, -np.append(F, tangent @ (z - anchor)))
            if move is None:
                return None
            z = z + move
            if np.abs(move).max() <= 1e-13 * max(1.0, np.abs(z).max()):
                return z, count + 1
        F, _ = self.values(z)
        good = np.abs(F).max() <= 1e-10 * max(1.0, np.abs(z).max())
        return (z, _MOST_CORRECTIONS) if good else None

    def tangent(self, z: np.ndarray, before: np.ndarray | None) -> np.ndarray:
        """Return the unit tangent of the curve, in the direction of the one before."""
        _, J = self.values(z)
        if before is None:
            made = svd(np.vstack([J, self.free]))[2][-1]
            # At a branch point there is a plane of directions: take that of the parameter.
            _, sizes, rows = svd(np.vstack([J, self.free]))
            plane = rows[np.append(sizes, 0.0)[: len(rows)] < 1e-9 * max(sizes[0], 1e-300)]
            if len(plane) > 1 and np.abs(plane[:, -1]).max() > 1e-6:
                made = plane.T @ plane[:, -1]
                made /= np.linalg.norm(made)
            return made if made[-1] >= 0 else -made
        made = self.solved(J, before, np.append(np.zeros(len(J)), 1.0))
        if made is None:
            made = svd(np.vstack([J, self.free]))[2][-1]
        made = made / np.linalg.norm(made)
        return made if made @ before >= 0 else -made

    # -- what the points tell ---------------------------------------------------------------------

    def growing(self, z: np.ndarray) -> tuple[int, float, float]:
        """Return the number of growing modes, and rate and frequency of the fastest that swings."""
        rates, moved = self._rates(z)
        unstable = int(np.sum(np.real(rates) > moved))
        swinging = rates[np.abs(np.imag(rates)) > moved]
        if not len(swinging):
            return unstable, -np.inf, 0.0
        top = swinging[np.argmax(np.real(swinging))]
        return unstable, float(top.real), float(abs(top.imag))

    def _rates(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return growth rates, and how far rounding may have moved each."""
        _, J, M, D = self._all(z * self.scale)
        Z = tangent_basis(J[self.n :, : self.n])
        return rates_of(*(Z.T @ X @ Z for X in (J[: self.n, : self.n], M, D)))

    def crossing(self, z: np.ndarray, tangent: np.ndarray) -> float:
        """Return a number that changes sign where another branch crosses: det of the border."""
        _, J = self.values(z)
        sign, size = np.linalg.slogdet(self.bordered(J, tangent))
        # The root keeps the zero and the sign, and tames the size.
        return float(sign * np.exp(np.clip(size / len(tangent), -200, 200)))


def turned(z: np.ndarray, to: np.ndarray, periods: np.ndarray) -> np.ndarray:
    """Return the same configuration, angles turned as near to another one as they come."""
    whole = np.where(periods > 0, periods, 1.0)
    return z + np.where(periods > 0, np.round((to - z) / whole), 0.0) * periods


def without(plane: np.ndarray, along: np.ndarray) -> list[np.ndarray]:
    """Return an orthonormal basis of a plane without one direction."""
    rest = plane - np.outer(plane @ along, along)
    _, sizes, rows = svd(rest, full_matrices=False)
    return [row for row, size in zip(rows, sizes) if size > 0.5]
