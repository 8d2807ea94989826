"""Checking a statement that is too large to be read, by the numbers of its graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
import scipy.sparse as sparse
import scipy.sparse.linalg as sparse_linalg

from stationary.derive.constraints import held_too, least_where_held, redundant_rows
from stationary.derive.findings import Dry, Finding, listed, redundancy
from stationary.derive.graph import Graph
from stationary.derive.sampling import random_state, states_of
from stationary.model.symbols import Coordinate
from stationary.model.system import System

# States that are looked at.
_STATES = 5

# Most coordinates that are looked at one by one, and most whose rows are led onto constraints.
_LARGEST, _LED = 1000, 300

# Differences over this part of a way have fourth order; what is left of them is below the other.
_STEP, _SAME = 1e-3, 1e-7


def findings_by_numbers(system: System, losses: Dry) -> list[Finding]:
    """Return what the graph of a system shows at random states."""
    looks = _Looks(system, losses)
    if not looks.states:
        text = (
            "energies and forces are not finite where they were looked at: they overflow, divide "
            "by zero, or roots and logarithms are undefined"
        )
        return [Finding("finite", False, text, f"sampled at {states_of(10 * _STATES)}")]
    findings = [looks.symmetric(), looks.positive_definite(), looks.gradient()]
    findings += [looks.cyclic()] if system.size <= _LARGEST else []
    findings.append(looks.energy())
    return findings + (looks.rows() if looks.graph.layout.multipliers else [])


@dataclass(frozen=True)
class _Looks:
    """A system at random states."""

    system: System
    losses: Dry

    @cached_property
    def graph(self) -> Graph:
        return Graph(self.system)

    @cached_property
    def states(self) -> list[list[np.ndarray]]:
        """t, q, v, u and p, where mass and force are numbers."""
        dynamics, random = self.graph.dynamics, np.random.default_rng(1)
        p = np.array(random_state(self.system.parameters, random))
        sizes = [dynamics.numel_in(k) for k in range(4)]
        # Small velocities keep a particle with a limiting speed below it.
        reach = (2.0, 2.0, 0.5, 2.0)
        drawn = [
            [*(random.uniform(-r, r, n) for r, n in zip(reach, sizes)), p]
            for _ in range(5 * _STATES)
        ]
        # Of many roots and logarithms one is always undefined, unless everything is positive.
        drawn += [[s[0], abs(s[1]), *s[2:]] for s in drawn]
        return [s for s in drawn if all(map(_finite, dynamics(*s)))][:_STATES]

    @property
    def how(self) -> str:
        return f"sampled at {states_of(len(self.states))}"

    @cached_property
    def masses(self) -> list[sparse.csc_matrix]:
        return [self.graph.mass(*s).sparse() for s in self.states]

    def symmetric(self) -> Finding:
        off = [abs(M - M.T).max() <= 1e-12 * abs(M).max() for M in self.masses]
        passed = bool(off) and all(off)
        return Finding("symmetric", passed, "M = Mᵀ" if passed else "M differs from Mᵀ", self.how)

    def positive_definite(self) -> Finding:
        name, layout = "positive definite", self.graph.layout
        filled = sum(abs(M) @ np.ones(self.system.size) for M in self.masses)
        massless = [layout.name(int(i)) for i in np.flatnonzero(np.atleast_1d(filled) == 0)]
        if len(massless) == self.system.size:
            text = "no kinetic energy is stated: it can rest and slide, not move"
            return Finding(name, False, text, self.how, required=False)
        if massless:
            text = f"M is singular: no kinetic energy involves the velocity of {listed(massless)}"
            return self._held_too(Finding(name, False, text, self.how))
        lowest = min((self._least(M, s[1]) for M, s in zip(self.masses, self.states)), default=0.0)
        what = "eigenvalue" if self.system.size <= _LARGEST else "pivot"
        text = f"the least {what} of M, scaled to a unit diagonal, is {lowest:.3g}"
        return self._held_too(Finding(name, bool(lowest > 1e-12), text, self.how))

    def _held_too(self, alone: Finding) -> Finding:
        count, n = self.graph.layout.multipliers, self.system.size
        if alone or not 0 < count <= _LED or n > _LED or not self.states:
            return alone
        t, _, v, u, p = self.states[0]

        def mass(q: np.ndarray) -> np.ndarray:
            return np.array(self.graph.mass(t, q, v, u, p))

        return held_too(alone, *least_where_held(self._rows, mass, n))

    def _rows(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return R, and the gradients of all rows, those of R first."""
        held = self.graph.layout.holonomic
        order = np.concatenate([np.flatnonzero(held), np.flatnonzero(~held)])
        t, _, v, u, p = self.states[0]
        R, _, A = (np.array(x) for x in self.graph.constraints(t, q, 0 * v, 0 * u, p)[:3])
        return R.ravel()[held], A[order]

    def _least(self, M: sparse.csc_matrix, q: np.ndarray) -> float:
        """Return the least eigenvalue of M over its diagonal, of a large one the least pivot."""
        kinematics = self.graph.layout.kinematics
        if not kinematics.plain:
            # Along itself a quaternion does not move.
            G = kinematics.rates(q)
            M = sparse.csc_matrix(G.T @ M @ G)
        over = sparse.diags(1 / np.sqrt(np.abs(M.diagonal())))
        scaled = sparse.csc_matrix(over @ M @ over)
        if M.shape[0] <= _LARGEST:
            return float(np.linalg.eigvalsh(scaled.toarray())[0])
        # What is positive definite needs no pivoting, and what is not shows a pivot that is not.
        try:
            factors = sparse_linalg.splu(
                scaled, "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
            )
        except RuntimeError:
            return 0.0
        return float(factors.U.diagonal().min())

    def gradient(self) -> Finding:
        """Compare the slope of U − W with its differences along random ways."""
        random, same = np.random.default_rng(2), []
        for t, q, v, u, p in self.states:
            way = random.uniform(-1, 1, len(q))
            slope = np.array(self.graph.internal(t, q, v, u, p)[1]).ravel()
            rise, lost = _difference(
                lambda h: float(self.graph.internal(t, q + h * way, v, u, p)[0])
            )
            off = _SAME * (np.abs(slope) @ np.abs(way)) + lost
            same.append(abs(slope @ way - rise) <= off)
        passed = bool(same) and all(same)
        agrees = "agrees with" if passed else "differs from"
        return Finding("gradient", passed, f"∂(U − W)/∂q {agrees} differences of U − W", self.how)

    def cyclic(self) -> Finding:
        """Name coordinates on which neither masses nor forces nor rows depend."""
        graph, layout = self.graph, self.graph.layout
        seen = _columns(graph.dynamics, 0) + _columns(graph.dynamics, 1)
        if layout.multipliers:
            A = graph.constraints.sparsity_out(2)
            seen = seen + np.diff(A.colind())
        forces = [np.array(graph.dynamics(*s)[1]).ravel() for s in self.states]
        sentences, kept = [], {}
        for i in np.flatnonzero(seen == 0):
            name = layout.name(int(i))
            rubs = self.losses.rubbing(Coordinate(name))
            if self.losses.touches(Coordinate(name)):
                continue
            changes = ["by the force on it"] if any(f[i] for f in forces) else []
            changes += [f"by friction {listed(rubs)}"] if rubs else []
            if changes:
                change = " and ".join(changes)
                sentences.append(f"'{name}' with a momentum that changes {change}")
            else:
                kept[name] = f"∂T/∂{name}.dot"
                sentences.append(f"'{name}' with conserved momentum {kept[name]}")
        text = "; ".join(sentences[:3]) or "no coordinate is cyclic"
        text += f"; and {len(sentences) - 3} more" if len(sentences) > 3 else ""
        return Finding("cyclic", bool(sentences), text, "by what depends on what", kept, False)

    def energy(self) -> Finding:
        """Look at the power that neither T nor U − W accounts for."""
        graph, losses, fed = self.graph, self.losses, []
        for t, q, v, u, p in self.states:
            power = float(graph.energies(t, q, v, u, p)[3])

            def work(h: float) -> float:
                U = float(graph.energies(t, q + h * v, v, u, p)[1])
                return U - float(graph.internal(t, q + h * v, v, u, p)[0])

            own, lost = _difference(work)
            force = np.array(graph.dynamics(t, q, v, u, p)[1]).ravel()
            size = np.abs(force) @ np.abs(v) + abs(own)
            fed.append(abs(power - own) > _SAME * size + lost)
        reasons = ["loads, drag or what depends on time feed it or take from it"] * any(fed)
        reasons += ["a constraint moves"] * graph.driven
        rubs, hits = ([str(x.name) for x in kind] for kind in (losses.friction, losses.contacts))
        reasons += [f"friction {listed(rubs)} takes energy"] if rubs else []
        reasons += [f"{listed(hits)} may take energy in impacts"] if hits else []
        name = "q̇·∂T/∂q̇ − T + U − W" if self.system.work != 0 else "q̇·∂T/∂q̇ − T + U"
        text = f"{name} is {'not ' if reasons else ''}conserved"
        text += f": {'; '.join(reasons)}" if reasons else ""
        return Finding("energy", not reasons, text, self.how, required=False)

    def rows(self) -> list[Finding]:
        """Count degrees of freedom, and name rows that say nothing new."""
        layout, n = self.graph.layout, self.system.size
        count = layout.multipliers
        if max(count, n) > _LED:
            text = f"{n - count} in velocity, for {n} coordinates, if all rows are independent"
            return [Finding("freedom", True, text, "counted", n - count, required=False)]
        held = layout.holonomic
        order = np.concatenate([np.flatnonzero(held), np.flatnonzero(~held)])
        names = [layout.row_name(int(i)) for i in order]
        again, seen = redundant_rows(self._rows, n, names) if self.states else ([], 0)
        free = n - count + len(again)
        return [
            redundancy(again, seen),
            Finding(
                "freedom",
                True,
                f"{free} in velocity, for {n} coordinates",
                "counted" if seen else "counted, as if all rows were independent",
                free,
                required=False,
            ),
        ]


def _finite(matrix: ca.DM) -> bool:
    return bool(np.all(np.isfinite(matrix.nonzeros())))


def _difference(f: Callable[[float], float]) -> tuple[float, float]:
    """Return the derivative of a function at 0 by differences of fourth order, and its rounding."""
    values = [f(h * _STEP) for h in (1, -1, 2, -2)]
    slope = (8 * (values[0] - values[1]) - (values[2] - values[3])) / (12 * _STEP)
    return slope, 64 * float(np.spacing(max(map(abs, values)))) / _STEP


def _columns(function: ca.Function, output: int) -> np.ndarray:
    """Return how many entries of an output depend on each coordinate."""
    pattern = function.jac_sparsity(output, 1, True)
    return np.diff(np.array(pattern.colind()))
