"""The equations of motion at an operating point, linearized in the freedoms that it has."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg import orth
from scipy.spatial.transform import Rotation

from stationary.errors import DerivationError, StatementError
from stationary.lower.expressions import expression_of
from stationary.lower.kernel import AbstractKernel, numeric
from stationary.result.statespace import StateSpace, names
from stationary.solve.linear import tangent_basis
from stationary.solve.scales import scales_of

# Accelerations below this, relative to the forces at work, count as none.
_STEADY = 1e-7

# The square of a rate may change by this share of itself on the way to where nothing accelerates.
_SLOW = 1e-3

# Sums of accelerations that cancel are known to this part of them.
_ROUNDING = 1e-13

# Products of bases that cancel to this part of their terms are zero.
_CANCELS = 16 * np.finfo(float).eps

# Slopes this much smaller than the largest beside them are those of rounding.
_LEAST = 1e-12

# Velocities this many times smaller than the largest are none.
_DRIFT = 1e-9

# Of those that tell at least this part of what the best would tell, the first declared is a state.
_PREFERRED = 0.1

# What is free of a state is known if other last digits change no more of it than this part.
_KNOWN = 1e-3

# Looks at the same point with other last digits, which tell what rounding does to a matrix.
_LOOKS = 5


class OperatingPoint:
    """The equations of motion at a state, as matrices over its freedoms and their speeds."""

    def __init__(self, kernel: AbstractKernel, params, u, t: float, q, v):
        self.kernel, self.t, self.n = kernel, t, kernel.size
        self.q, self.v, self.u, self.params = q, v, u, params
        self.kinematics = kernel.layout.kinematics
        self.turns = not self.kinematics.plain
        #: How fast the freedoms move, and as many freedoms as there are.
        self.speeds = self.kinematics.speeds(q, v) if self.turns else v
        self.f = len(self.speeds)
        self.y = np.concatenate([q, self.speeds])
        last = [0.0] if kernel.rows else []
        self.p = np.concatenate([params, u, last])
        #: How fast bodies turn, freedom by freedom, against the axes in which deviations are told.
        self.spin = np.zeros(self.f)
        for k in range(len(self.kinematics.quaternions)):
            axes = slice(first := self.kinematics.first(k), first + 3)
            if np.any(self.speeds[axes]):
                self.spin[axes] = self._steady_axes(axes)

    @cached_property
    def _derivatives(self) -> ca.Function:
        return _derivatives(self.kernel)

    def matrices(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rates of freedoms and speeds, and their slopes by these and by inputs.

        At coordinates and speeds y, without the work that is integrated along.
        """
        last = [] if self.turns else np.zeros(self.kernel.states - 2 * self.n)
        rate, slope, push = self._derivatives(self.t, np.concatenate([y, last]), self.p)
        keep = slice(0, 2 * self.f)
        rate, slope = np.asarray(rate).ravel()[keep], np.asarray(slope)[keep, keep]
        if np.any(self.spin):
            # Against other axes than its own, what a body carries along turns with it.
            turn = np.kron(np.eye(2), self.kinematics.carried(self.spin))
            rate = rate + np.append(np.zeros(self.f), turn[self.f :, self.f :] @ y[self.n :])
            slope = slope + turn
        return rate, slope, np.asarray(push)[keep]

    def _steady_axes(self, axes: slice) -> np.ndarray:
        """Return how fast a body turns against axes in which its motion is steady.

        A free body is seen as it was from its own axes. One that rolls is round, and is seen so
        from axes that do not turn; one that precesses, from axes that turn with its axis alone.
        """
        f, omega = self.f, self.speeds[axes]
        rate = self.matrices(self.y)[0][f:][axes]
        pace = float(omega @ omega)
        guesses = [np.zeros(3), omega]
        M = numeric(self.kernel.graph, "mass")(self.t, self.q, self.v, self.u, self.params)[0]
        inertia = (self.rates.T @ (M @ self.rates))[axes, axes]
        for axis in np.linalg.eigh((inertia + inertia.T) / 2)[1].T:
            carried = np.cross(axis, omega)
            if carried @ carried > _STEADY * pace:
                guesses.append(-float(rate @ carried) / float(carried @ carried) * axis)
        for spin in guesses:
            left = np.abs(rate + np.cross(spin, omega)).max()
            if left <= _STEADY * pace and self._finds_all_as_it_was(axes, spin):
                return spin
        return guesses[0]

    def _finds_all_as_it_was(self, axes: slice, spin: np.ndarray) -> bool:
        """Tell whether the matrices are the same however far a body and its axes have turned."""
        kept, omega = self.spin.copy(), self.speeds[axes]
        # Metres and radians, turns and their rates in one measure.
        units = np.concatenate([self.weights * np.linalg.norm(omega), self.weights])
        measure = np.outer(units, 1 / units)
        self.spin[axes] = spin
        try:
            J, free = self.matrices(self.y)[1], self._free(self._normal(self.q, self.speeds))
            for turn, carries in ((omega - spin, False), (spin, True)):
                size = float(np.linalg.norm(turn))
                for far in (1.0, 3.0) if size > _DRIFT * np.linalg.norm(omega) else ():
                    move = np.zeros(self.f)
                    move[axes] = far * turn / size
                    there, speeds, back = self._moved(move), self.speeds.copy(), np.eye(self.f)
                    if carries:
                        # A move retracts to a turn by 2 atan(far/2); the axes stay behind.
                        angle = 2 * np.arctan(far / 2)
                        back[axes, axes] = Rotation.from_rotvec(angle * turn / size).as_matrix()
                        speeds = back.T @ speeds
                    J_there = self.matrices(np.concatenate([there, speeds]))[1]
                    both = np.kron(np.eye(2), back)
                    change = np.abs(both @ J_there @ both.T - J) * measure
                    if change.max() > 1e-9 * np.abs(J * measure).max():
                        return False
                    free_there = self._free(self._normal(there, speeds) @ both.T)
                    if np.abs(free_there - free).max() > 1e-9 * np.abs(free).max():
                        return False
            return True
        finally:
            self.spin[:] = kept

    @cached_property
    def rates(self) -> np.ndarray:
        """G of q̇ = G v."""
        return self.kinematics.rates(self.q) if self.turns else np.eye(self.n)

    @cached_property
    def labels(self) -> list[str]:
        """Names of the freedoms and of their speeds."""
        if self.turns:
            places, speeds = zip(*self.kinematics.freedoms)
            return [*places, *speeds]
        names = [self.kernel.layout.name(i) for i in range(self.n)]
        return names + [name + ".dot" for name in names]

    @property
    def _orientations(self) -> list[int]:
        """Freedoms that are turns of bodies."""
        firsts = map(self.kinematics.first, range(len(self.kinematics.quaternions)))
        return [first + axis for first in firsts for axis in range(3)]

    @cached_property
    def weights(self) -> np.ndarray:
        """Roots of the masses of the freedoms, which make metres and radians one measure."""
        M = numeric(self.kernel.graph, "mass")(self.t, self.q, self.v, self.u, self.params)[0]
        M = self.rates.T @ (M @ self.rates) if self.turns else M
        roots = np.sqrt(np.abs(M.diagonal()))
        typical = np.median(roots[roots > 0]) if np.any(roots > 0) else 1.0
        return np.where(roots > 0, roots, typical)

    @cached_property
    def units(self) -> np.ndarray:
        """Weights of freedoms and of speeds: what moves at the pace of the system counts alike."""
        scaled = np.abs(self.matrices(self.y)[1]) * np.outer(
            *[np.concatenate([x, x]) for x in (self.weights, 1 / self.weights)]
        )
        by_q, by_v = scaled[self.f :, : self.f], scaled[self.f :, self.f :]
        pace = max(float(np.sqrt(by_q.max(initial=0.0))), float(by_v.max(initial=0.0))) or 1.0
        return np.concatenate([pace * self.weights, self.weights])

    @cached_property
    def drifting(self) -> np.ndarray:
        """Freedoms that move at the operating point, and are no states.

        A body that turns about none of its axes has them all: deviations from where it has turned.
        """
        speeds = self.weights * np.abs(self.speeds)
        moving = speeds > _DRIFT * speeds.max(initial=0.0)
        for k in range(len(self.kinematics.quaternions)):
            axes = slice(first := self.kinematics.first(k), first + 3)
            moving[axes] &= moving[axes].sum() == 1
        return np.flatnonzero(moving)

    def reduced(self, outputs: Any, preferred: list[tuple[np.ndarray, int]]) -> StateSpace:
        """Restrict to what can move: on the constraints, without coordinates that only drift."""
        _, J, B = self.matrices(self.y)
        self._require_cyclic(J)
        labels = self.labels
        kept = np.setdiff1d(np.arange(2 * self.f), self.drifting)
        tangent = self._tangent(self.y)[kept]
        if self.kernel.rows:
            # Without the coordinates that drift some directions are lost: the others are a basis.
            tangent = orth(tangent, rcond=1e-10)
        if not tangent.shape[1]:
            raise StatementError(
                "nothing can move about this state.",
                f"Found that constraints and closed contacts hold all of {', '.join(labels)}.",
                "Linearize where something is free, or leave out what holds it.",
            )
        first = self._first(preferred, labels, kept)
        chosen = self._chosen(tangent, kept, first)
        units = self.units[kept]
        back = np.linalg.inv(tangent[chosen])
        basis = tangent @ back
        # Entries of vectors of length one are known to rounding: what is below it is none.
        basis[np.abs(basis) <= _CANCELS * np.abs(back).sum(axis=0)] = 0.0
        basis[chosen] = np.eye(len(chosen))
        basis = basis * units[chosen] / units[:, None]
        J, B = J[np.ix_(kept, kept)], B[kept]
        unsure = np.finfo(float).eps * np.abs(back).sum(axis=0) * units[chosen] / units[:, None]
        unsure[chosen] = 0.0
        rounding = self._rounding(kept)[chosen] @ np.abs(basis) + np.abs(J[chosen]) @ unsure
        A, B = J[chosen] @ basis, B[chosen]
        if first:
            alone = np.isin(chosen, first)
            self._require_alone(A, rounding, kept[chosen], alone)
            A, B, basis = A[np.ix_(alone, alone)], B[alone], basis[:, alone]
            rounding, chosen = rounding[np.ix_(alone, alone)], chosen[alone]
        states = tuple(labels[kept[i]] for i in chosen)
        C, D, observed = self._observed(outputs, kept, basis, states)
        E, F, G = self._descriptor()
        return StateSpace(
            A=A, B=B, C=C, D=D, states=states,
            inputs=names(self.kernel.graph.system.inputs), outputs=observed, E=E, F=F, G=G,
            rounding=rounding, spin=self.spin,
        )  # fmt: skip

    def _first(self, preferred: list, labels: list[str], kept: np.ndarray) -> list[int]:
        """Return the places of the states that were asked for; coordinates bring velocities."""
        wanted: list[int] = []
        for places, order in preferred:
            flat = np.ravel(places).tolist()
            if self.turns:
                flat = np.flatnonzero(self.rates[flat].any(axis=0)).tolist()
            wanted += [i for i in flat] if order == 0 else []
            wanted += [self.f + i for i in flat]
        missing = [labels[i] for i in wanted if i not in set(kept.tolist())]
        if missing:
            raise StatementError(
                f"'{missing[0]}' moves at the operating point and can be no state.",
                "A coordinate that drifts steadily has no small deviation.",
                "Ask for its velocity, or for other coordinates.",
            )
        return [int(np.flatnonzero(kept == i)[0]) for i in dict.fromkeys(wanted)]

    def _chosen(self, tangent: np.ndarray, kept: np.ndarray, first: list[int]) -> np.ndarray:
        """Return which coordinates and velocities are the states.

        In the order as declared, passing over what those before it nearly tell: in units of
        mass, so that neither units nor last digits have a say.
        """
        if tangent.shape[1] == len(kept):
            return np.arange(len(kept))
        positions = np.flatnonzero(kept < self.f)
        spent: list[int] = []
        left = tangent.copy()
        sizes = np.linalg.norm(tangent, axis=1)
        for k in first:
            if self._only_rounding(k, kept):
                self._refuse_dependent(k, kept)
        for group in (first, positions.tolist(), list(range(len(kept)))):
            while len(spent) < tangent.shape[1]:
                free = [i for i in group if i not in spent]
                own = np.linalg.norm(left[free], axis=1) if free else np.zeros(0)
                if not len(own) or own.max() <= 1e-8 * sizes.max():
                    break
                k = (
                    free[0]
                    if group is first
                    else free[int(np.argmax(own > _PREFERRED * own.max()))]
                )
                size = np.linalg.norm(left[k])
                if group is first and size <= 1e-6 * sizes[k] or not size:
                    break
                along = left[k] / size
                left = left - np.outer(left @ along, along)
                spent.append(k)
            if group is first and set(first) - set(spent):
                self._refuse_dependent([i for i in first if i not in spent][0], kept)
        return np.sort(spent)

    def _only_rounding(self, k: int, kept: np.ndarray) -> bool:
        """Tell whether all that is free of a state changes with the last digits of the point."""
        several = [
            np.linalg.norm(orth(self._tangent(y)[kept], rcond=1e-10)[k]) for y in self._nearby()
        ]
        return bool(np.ptp(several) > _KNOWN * np.max(several))

    def _refuse_dependent(self, k: int, kept: np.ndarray) -> None:
        raise StatementError(
            f"'{self.labels[kept[k]]}' is no state of its own.",
            "Found that it does not move, or follows from the other states that were asked "
            "for, by the constraints.",
            "Ask for fewer states, or for others.",
        )

    def _require_alone(self, A, rounding, chosen: np.ndarray, alone: np.ndarray) -> None:
        """Refuse states that depend on others that were not asked for."""
        units, fast = np.concatenate([self.weights] * 2)[chosen], chosen >= self.f
        scaled = np.abs(A) * units[:, None] / units
        slow, rate = (scaled.max(axis=1, initial=0.0, where=part[None]) for part in (~fast, fast))
        # In units of mass, and of the pace of each row: below its last digits nothing is known.
        pace = np.maximum(rate, np.sqrt(slow))[:, None]
        least = _LEAST * np.where(fast, pace, pace**2) / units[:, None] * units
        coupling = np.abs(A[np.ix_(alone, ~alone)])
        tied = coupling > (64 * rounding + least)[np.ix_(alone, ~alone)]
        if tied.any():
            i, j = np.argwhere(tied)[0]
            one, other = self.labels[chosen[alone][i]], self.labels[chosen[~alone][j]]
            raise StatementError(
                f"'{one}' depends on '{other}', which was not asked for.",
                f"Found the slope {coupling[i, j]:.3g} of its rate.",
                f"Ask for '{other}' too, or leave `states` out.",
            )

    def _rounding(self, kept: np.ndarray) -> np.ndarray:
        """Return by how much the last digits of the operating point change ∂ẏ/∂y."""
        several = [self.matrices(y)[1][np.ix_(kept, kept)] for y in self._nearby()]
        middle, eps = several[0], np.finfo(float).eps
        return 4 * np.max([np.abs(X - middle) for X in several], axis=0) + eps * np.abs(middle)

    def _nearby(self) -> list[np.ndarray]:
        """Return the operating point with other last digits."""
        chance = np.random.default_rng(0)
        # What is zero has last digits, too: those of its length, and of the speeds beside it.
        scales = scales_of(self.kernel.graph, self.params, self.t, self.q, u=self.u)
        fastest = np.max(self.weights * np.abs(self.speeds), initial=0.0) / self.weights
        digits = np.concatenate([scales.rounding, np.finfo(float).eps * fastest])
        several = (digits * chance.integers(-2, 3, len(self.y)) for _ in range(_LOOKS))
        return [self.y + off for off in several]

    def require_steady(self) -> None:
        """Refuse a point at which something accelerates."""
        f = self.f
        rate, J, _ = self.matrices(self.y)
        if not (np.isfinite(rate).all() and np.isfinite(J).all()):
            names = ", ".join(f"'{c.name}'" for c in self.kernel.layout.system.coordinates[:5])
            raise DerivationError(
                "the equations at the operating point are not finite.",
                f"Found accelerations, or slopes of them, that are no numbers, of {names}.",
                "Look at the parameters, whose units may be too small, or move the point.",
            )
        a, by_q, by_v = rate[f:], np.abs(J[f:, :f]), np.abs(J[f:, f:])
        scales = scales_of(self.kernel.graph, self.params, self.t, self.q, u=self.u)
        # What bends has a length; what does not is as far away as its place says.
        reach = np.maximum(scales.length, np.abs(self.q))
        reach = np.max(np.abs(self.rates) * reach[:, None], axis=0) if self.turns else reach
        shared = np.max(self.weights * reach, initial=0.0) / self.weights
        small = _STEADY * (by_q @ np.maximum(reach, shared) + by_v @ np.abs(self.speeds))
        # What constraints share out rounds off with the largest of it.
        rounds = _ROUNDING * np.max(self.weights * small, initial=0.0) / (_STEADY * self.weights)
        # Forces that constraints take up leave their rounding.
        forces = np.abs(self.rates).T @ scales.force if self.turns else scales.force
        rounds += _ROUNDING * np.max(forces / self.weights, initial=0.0) / self.weights
        if self.turns:
            # The entries of a quaternion that turns accelerate, and cancel in what its body does.
            entries = np.abs(self.kinematics.rates(self.v) @ self.speeds)
            rounds += _ROUNDING * np.abs(self.rates.T) @ entries
            if (np.abs(a) <= rounds).all():
                return
        small += rounds
        if (np.abs(a) <= small).all() and self._same(J, a, 1.0, 1e-6) and self._keeps_rates(J, a):
            return
        # The matrices of the equilibrium next to it are the same to the last digits.
        if self._same(J, a, 1.0, 64 * np.finfo(float).eps) and not self._same(J, a, 1e7, 1e-6):
            return
        worst = int(np.argmax(np.abs(a) * self.weights))
        raise StatementError(
            "the operating point is neither an equilibrium nor a steady motion.",
            f"Found the acceleration {a[worst]:.3g} of '{self.labels[worst]}', expected none.",
            "Find one with st.statics or st.equilibria, or give the inputs that hold it.",
        )

    def _same(self, J: np.ndarray, a: np.ndarray, times: float, within: float) -> bool:
        """Tell whether matrices stay the same on the way to where nothing accelerates."""
        move = -times * np.linalg.lstsq(J[self.f :, : self.f], a, rcond=1e-10)[0]
        there = self.matrices(np.concatenate([self._moved(move), self.speeds]))[1]
        return bool(np.abs(there - J).max() <= within * np.abs(J).max())

    def _keeps_rates(self, J: np.ndarray, a: np.ndarray) -> bool:
        """Tell whether slow motions stay the same on the way to where nothing accelerates.

        Beside what is stiff, a force that hardly moves it is all that a soft motion is made of.
        """
        move = -np.linalg.lstsq(J[self.f :, : self.f], a, rcond=1e-10)[0]
        chance = np.random.default_rng(3).choice([-1.0, 1.0], self.f)
        digits = 4 * np.spacing(np.abs(self.q[: self.f])) * chance if not self.turns else 0 * move
        squares = []
        for way in (0 * move, move, digits):
            there = self.matrices(np.concatenate([self._moved(way), self.speeds]))[1]
            squares.append(np.sort_complex(np.linalg.eigvals(there[self.f :, : self.f])))
        here, off, near = squares
        # What the last digits of a place change is not known better.
        known = 64 * np.abs(near - here) + _CANCELS * np.abs(here).max(initial=0.0)
        return bool(np.all(np.abs(off - here) <= _SLOW * np.abs(off) + known))

    def _moved(self, move: np.ndarray) -> np.ndarray:
        """Return where a move of the freedoms leads."""
        return self.kinematics.retract(self.q, self.rates @ move if self.turns else move)

    def _require_cyclic(self, J: np.ndarray) -> None:
        scaled = np.abs(J[self.f :, : self.f]) * self.weights[:, None] / self.weights
        fastest = np.max(np.abs(self.speeds[self._orientations]), initial=0.0)
        size = max(scaled.max(), fastest**2)
        changing = [i for i in self.drifting if scaled[:, i].max(initial=0.0) > 1e-9 * size]
        for k in range(len(self.kinematics.quaternions)):
            # However far it has turned, a body must find everything as it was.
            axes = slice(first := self.kinematics.first(k), first + 3)
            turns = np.abs(self.speeds[axes])
            if turns.any() and not self._finds_all_as_it_was(axes, self.spin[axes]):
                changing.append(first + int(np.argmax(turns)))
        for i in changing[:1]:
            raise StatementError(
                f"'{self.labels[i]}' moves at the operating point and is not cyclic.",
                "Found accelerations that depend on it; a steady motion has none.",
                "Give it no velocity, or choose a coordinate that nothing depends on.",
            )

    def _tangent(self, y: np.ndarray) -> np.ndarray:
        """Return a basis of the small motions that the constraints allow, in units of mass.

        At coordinates and speeds y.
        """
        normal = self._normal(y[: self.n], y[self.n :])
        if not len(normal):
            return np.eye(2 * self.f)[:, np.setdiff1d(np.arange(2 * self.f), self.drifting)]
        return tangent_basis(normal / self.units)

    def _free(self, normal: np.ndarray) -> np.ndarray:
        """Return the projection onto the motions that rows leave free, in units of mass."""
        Z = tangent_basis(normal / np.concatenate([self.weights] * 2))
        return Z @ Z.T

    def _normal(self, q: np.ndarray, speeds: np.ndarray) -> np.ndarray:
        """Return what small motions of freedoms and speeds are held by, at a place."""
        rows, kinematics = list(self.kernel.rows), self.kinematics
        if not rows:
            return np.zeros((0, 2 * self.f))
        G = kinematics.rates(q) if self.turns else np.eye(self.n)
        slopes = _row_slopes(self.kernel)(self.t, q, G @ speeds, self.u, self.params)
        A, of_rate = (np.asarray(x)[rows] for x in slopes)
        held = self._holonomic()
        if self.turns:
            # The freedoms stay on the unit spheres by themselves.
            named = [self.kernel.layout.row_name(row) for row in rows]
            other = np.array([name not in kinematics.names for name in named])
            A, of_rate, held = A[other], of_rate[other], held[other]
            A, of_rate = A @ G, of_rate @ G + A @ kinematics.bend(G, speeds)
        return np.block([[A[held], np.zeros((held.sum(), A.shape[1]))], [of_rate, A]])

    @property
    def _turning(self) -> np.ndarray:
        """∂q̇/∂θ where the freedoms θ move and their speeds are held; G is linear in q."""
        return self.kinematics.bend(self.rates, self.speeds)

    def _holonomic(self) -> np.ndarray:
        """Tell for every enforced row whether it is one on coordinates."""
        return self.kernel.layout.holonomic[list(self.kernel.rows)]

    def _observed(self, outputs, kept, basis, states):
        n, layout = self.n, self.kernel.layout
        if outputs is None:
            rows = [i for i, s in enumerate(states) if s in self.labels[: self.f]]
            C = np.eye(len(states))[rows]
            return C, np.zeros((len(rows), len(self.u))), tuple(states[i] for i in rows)
        q, v = ca.SX.sym("q", n), ca.SX.sym("v", n)
        expressions = [expression_of(layout, e)(self.t, q, v, self.params) for e in outputs]
        slope = ca.Function("C", [q, v], [ca.jacobian(ca.vertcat(*expressions), ca.vertcat(q, v))])
        C = np.asarray(slope(self.q, self.v))
        if self.turns:
            G, none = self.rates, np.zeros_like(self.rates)
            C = C @ np.block([[G, none], [self._turning, G]])
        C = C[:, kept] @ basis
        return C, np.zeros((len(outputs), len(self.u))), names(outputs)

    def _descriptor(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return E, F, G of E ż = F z + G u over z = (δq, δv, δλ)."""
        kernel, n, m = self.kernel, self.n, len(self.kernel.rows)
        graph = kernel.graph
        M = np.asarray(graph.dynamics(self.t, self.q, self.v, self.u, self.params)[0])
        a, lam = np.zeros(n), np.zeros(0)
        if m:
            held = kernel.held(self.t, self.q, self.v, self.u, self.params, 0.0)
            lam = np.asarray(held[1]).ravel()
            # Of a steady motion, the entries of quaternions alone accelerate.
            turned = self.kinematics.quaternions.ravel()
            a[turned] = np.asarray(held[0]).ravel()[turned]
        slopes = _force_slopes(kernel)(self.t, self.q, self.v, self.u, self.params, a, lam)
        by_q, by_v, by_u, A, of_rate = (np.asarray(x) for x in slopes)
        rows = list(kernel.rows)
        A, of_rate = A[rows].reshape(m, n), of_rate[rows].reshape(m, n)
        E = np.zeros((2 * n + m, 2 * n + m))
        E[:n, :n], E[n : 2 * n, n : 2 * n] = np.eye(n), M
        F = np.zeros_like(E)
        F[:n, n : 2 * n] = np.eye(n)
        F[n : 2 * n] = np.hstack([by_q, by_v, A.T])
        held = self._holonomic()
        F[2 * n :, :n] = np.where(held[:, None], A, of_rate)
        F[2 * n :, n : 2 * n] = np.where(held[:, None], 0.0, A)
        G = np.zeros((2 * n + m, len(self.u)))
        G[n : 2 * n] = by_u.reshape(n, len(self.u))
        return E, F, G


def _derivatives(kernel: AbstractKernel) -> ca.Function:
    if not kernel.graph.scalar:
        raise DerivationError(
            "linearize makes dense matrices, too large for this system.",
            f"Found {kernel.size} coordinates.",
            "Use st.modes for a few modes of a large system.",
        )
    t, y, p = kernel.arguments
    m, k = kernel.parameters, len(kernel.signature)
    if not kernel.layout.kinematics.plain:
        return _turned_derivatives(kernel)
    rate = kernel.rhs(t, y, p)
    push = ca.jacobian(rate, p)[:, m : m + k]
    return ca.Function("derivatives", [t, y, p], [rate, ca.jacobian(rate, y), push])


def _turned_derivatives(kernel: AbstractKernel) -> ca.Function:
    """Return the same in the freedoms, by their deviations from a point that moves itself.

    Of a body that turns at ω, a deviation θ in its own axes changes at δω − ω × θ.
    """
    kinematics, n = kernel.layout.kinematics, kernel.size
    t, _, p = kernel.arguments
    f = len(kinematics.freedoms)

    def zeros(shape: tuple[int, int]) -> Any:
        return ca.SX.zeros(*shape)

    q, w, theta = ca.SX.sym("q", n), ca.SX.sym("w", f), ca.SX.sym("theta", f)
    there = q + kinematics.rates(q, zeros) @ theta
    v = kinematics.rates(there, zeros) @ w
    y = ca.vertcat(there, v, ca.SX.zeros(kernel.states - 2 * n))
    drift = ca.SX(w)
    for j in range(len(kinematics.quaternions)):
        axes = slice(first := kinematics.first(j), first + 3)
        drift[axes] += ca.cross(theta[axes], w[axes])
    rate = ca.vertcat(drift, kinematics.speeds(there, kernel.rhs(t, y, p)[n : 2 * n], zeros))
    m, k = kernel.parameters, len(kernel.signature)
    slopes = [ca.jacobian(rate, ca.vertcat(theta, w)), ca.jacobian(rate, p)[:, m : m + k]]
    derivatives = ca.substitute([rate, *slopes], [theta], [ca.SX.zeros(f)])
    return ca.Function("derivatives", [t, ca.vertcat(q, w), p], derivatives)


def _row_slopes(kernel: AbstractKernel) -> ca.Function:
    """Return A and ∂Ṙ/∂q as functions."""
    arguments = kernel.graph.constraints.sx_in()
    _, Rdot, A, _, _ = kernel.graph.constraints.call(arguments)
    return ca.Function("slopes", arguments, [A, ca.jacobian(Rdot, arguments[1])])


def _force_slopes(kernel: AbstractKernel) -> ca.Function:
    """Slopes of force + Aᵀλ − M a by q, v and u, and A and ∂Ṙ/∂q."""
    arguments = kernel.graph.dynamics.sx_in()
    M, force = kernel.graph.dynamics.call(arguments)
    a, lam = ca.SX.sym("a", kernel.size), ca.SX.sym("lam", len(kernel.rows))
    force = force - ca.mtimes(M, a)
    A, of_rate = ca.SX(0, kernel.size), ca.SX(0, kernel.size)
    if kernel.rows:
        _, Rdot, A, _, _ = kernel.graph.constraints.call(arguments)
        of_rate = ca.jacobian(Rdot, arguments[1])
        force = force + ca.mtimes(A[list(kernel.rows), :].T, lam)
    _, q, v, u, _ = arguments
    slopes = [ca.jacobian(force, x) for x in (q, v, u)]
    return ca.Function("force_slopes", [*arguments, a, lam], [*slopes, A, of_rate])
