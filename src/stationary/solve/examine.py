"""What kind of point an equilibrium is: minimum, saddle or family, and by what it is held."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stationary.result.equilibrium import Equilibrium
from stationary.result.multipliers import Multipliers
from stationary.result.stability import Stability
from stationary.result.status import Status
from stationary.solve.growth import changes_with_time, judged
from stationary.solve.linear import Saddle, independent_rows, shared_multipliers

# A stiffness this many times smaller than the largest does not tell a minimum from a slope: the
# energy nearby does.
_SUSPICIOUS = 1e-5
# Less suspicious, where to look around takes long.
_SUSPICIOUS_LARGE = 1e-7

# How far from a point the energy is looked at, relative to its extent.
_NEAREST, _FARTHEST = 1e-8, 0.1

_MESSAGES = {
    "balanced": "all forces balance",
    "saddle": "forces balance, but the energy has no minimum there",
    "stalled": "Newton's method stopped making progress",
    "too many steps": "Newton's method took too many steps",
    "unbounded": "the energy goes down for ever",
    "infeasible": "contacts cannot all stay open or closed",
    "not finite": "forces or constraints are not finite",
}


@dataclass(frozen=True)
class Examination:
    """A point at which forces balance, and what can be said of it."""

    search: Any
    q: np.ndarray
    stated_lam: np.ndarray
    active: np.ndarray

    @cached_property
    def limits(self) -> tuple[np.ndarray, Any]:
        """R and gaps, and the gradients of those that hold."""
        return self.search.levels(self.q), self.search.limits(self.q, self.active)[1]

    @cached_property
    def kept(self) -> np.ndarray:
        """Which of the rows that hold are independent."""
        rows = self.limits[1]
        if not len(self.active) or not np.all(np.isfinite(rows.data)):
            return np.arange(len(self.active))
        return independent_rows(rows)

    @property
    def redundant(self) -> tuple[str, ...]:
        """Names of rows that say nothing new."""
        dropped = np.setdiff1d(np.arange(len(self.active)), self.kept)
        return tuple(self.search.row_name(int(self.active[i])) for i in dropped)

    @cached_property
    def lam(self) -> np.ndarray:
        """Multipliers of the active rows; redundant ones share the force, as small as possible."""
        if len(self.kept) == len(self.active):
            return self.stated_lam
        return shared_multipliers(self.limits[1], self.stated_lam, self.kept)

    @cached_property
    def hessian(self) -> Any:
        """The stiffness; not symmetric where a load follows the motion."""
        return self.search.hessian(self.q, self.lam, self.active)

    @cached_property
    def saddle(self) -> Saddle:
        """The conditions of balance, linearized: without rows that say nothing new."""
        H = self.hessian
        rows = self.limits[1]
        some = rows if len(self.kept) == len(self.active) else rows.tocsr()[self.kept]
        return self.search.saddle((H + H.T) / 2, some)

    # -- the energy nearby ------------------------------------------------------------------------

    @cached_property
    def conservative(self) -> bool:
        """Whether the forces have a potential."""
        return self.search.stated or self.search.conservative(self.q)

    @cached_property
    def lower(self) -> np.ndarray | None:
        """A configuration nearby with less energy, or None at a minimum.

        Directions with a stiffness that is negative or next to nothing are followed to both sides
        until the energy differs by more than its rounding.
        """
        if not self.conservative or not np.all(np.isfinite(self.hessian.data)):
            return None
        found: list[tuple[float, np.ndarray]] = []
        for way, off in self.weak:
            for side in (way, -way):
                rise, there = self._along(side, off)
                if rise < 0:
                    found.append((rise, there))
            if found:
                break
        return min(found, key=lambda pair: pair[0])[1] if found else None

    @cached_property
    def weak(self) -> list[tuple[np.ndarray, float]]:
        """Directions in which the stiffness does not tell, and how far off the balance may be."""
        values, vectors = self.saddle.smallest
        stiffest = max(self.search.stiffest, np.abs(values).max(initial=0.0))
        # Per square of the largest move: a slow mode of many coordinates is no weak one.
        values = values / np.abs(vectors).max(axis=0, initial=1e-300) ** 2
        share = _SUSPICIOUS if self.saddle.dense else _SUSPICIOUS_LARGE
        some = values <= share * stiffest
        values, vectors = values[some], vectors[:, some]
        left = self.search.forces(self.q)[0] - self.limits[1].T @ self.lam
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.nan_to_num(np.abs(left @ vectors / values), nan=0.0, posinf=0.0)
        # The first of the largest entries goes up: what is found does not depend on chance.
        first = np.argmax(np.abs(vectors) > 0.9 * np.abs(vectors).max(axis=0, initial=0.0), axis=0)
        vectors = vectors * np.sign(vectors[first, np.arange(len(values))])
        ways = [(way, float(o)) for way, o in zip(vectors.T, off)]
        flat = np.flatnonzero(np.abs(values) <= share * stiffest)
        if len(flat) > 1:
            # Where several are flat, the energy may fall between them.
            mixed = np.random.default_rng(3).standard_normal((8 * len(flat), len(flat)))
            ways += [(vectors[:, flat] @ share, float(off[flat].max())) for share in mixed]
        return ways

    def _along(self, way: np.ndarray, off: float) -> tuple[float, np.ndarray]:
        """Return the first change of the energy along a direction that is more than rounding.

        Where it falls, it is followed as far as it goes on falling, or as the point is large.
        """
        extent = self.search.extent or 1.0
        way = way / np.abs(way).max()
        step = max(_NEAREST * extent, min(100 * off, 1e-3 * extent))
        found = 0.0, self.q
        while step < _FARTHEST * (extent if found[0] else max(extent, 1.0)):
            there = self.search.onto(self.q + step * way, self.active)
            if there is None or self._through(there):
                break
            rise = self._rise(there)
            if rise > self._noise or rise >= found[0] and found[0]:
                return (rise, there) if not found[0] else found
            if rise < -self._noise:
                found = rise, there
            step *= 4
        return found

    def _rise(self, there: np.ndarray) -> float:
        """Change of the energy, corrected for what is left of the constraints."""
        search = self.search
        change = search.levels(there)[self.active] - self.limits[0][self.active]
        return search.rise(self.q, there, search.stated) - float(self.lam @ change)

    @cached_property
    def _noise(self) -> float:
        """Rounding of the energy: how it scatters where it cannot change."""
        rng = np.random.default_rng(2)
        tiny = 1e-11 * (self.search.extent or 1.0)
        scatter = [
            abs(self._rise(self.q + tiny * rng.standard_normal(len(self.q)))) for _ in range(4)
        ]
        energy = self.search.forces(self.q)[1]
        return 8 * max(scatter) + 4e-16 * abs(energy)

    def _through(self, there: np.ndarray) -> bool:
        """Tell whether a configuration passes through a contact that is open."""
        gaps = self.search.levels(there)[self.search.balance.rows :]
        return bool(np.min(gaps, initial=0.0) < -1e-12 * (self.search.extent or 1.0))

    @cached_property
    def free(self) -> np.ndarray:
        """Directions in which the system can be moved and still rests, one per row."""
        saddle = self.saddle
        if not saddle.dense:
            return np.empty((0, saddle.n))
        values, vectors = saddle.tangent_eigenvalues
        flat = vectors[:, np.abs(values) <= saddle.tiny]
        slides = [self._slides(way, flat) for way in flat.T]
        return flat.T[slides] if len(slides) else np.empty((0, saddle.n))

    def _slides(self, way: np.ndarray, flat: np.ndarray) -> bool:
        """Tell whether there is another equilibrium in a direction: a family, no flat minimum."""
        search, extent = self.search, self.search.extent or 1.0
        q, lam = self.q + 1e-2 * extent * way / np.abs(way).max(), self.lam[self.kept]
        active = self.active[self.kept]
        for _ in range(12):
            g, _ = search.forces(q)
            c, A = search.limits(q, active)
            if not np.all(np.isfinite(g)):
                return False
            left = g - A.T @ lam
            size = max(search.stiffest * extent, np.abs(g).max(initial=0.0), 1e-300)
            if np.abs(left).max() <= 1e-11 * size and np.abs(c).max(initial=0.0) <= 1e-11 * extent:
                return True
            # Across the flat directions only: along them a flat minimum would be found again.
            H = search.hessian(q, lam, active).toarray()
            across = np.eye(len(q)) - flat @ flat.T
            top = np.hstack([H @ across, -A.toarray().T])
            bottom = np.hstack([A.toarray() @ across, np.zeros((len(active), len(active)))])
            known = -np.concatenate([left, c])
            move = np.linalg.lstsq(np.vstack([top, bottom]), known, rcond=1e-11)[0]
            q, lam = q + across @ move[: len(q)], lam + move[len(q) :]
        return False

    # -- the result -------------------------------------------------------------------------------

    @cached_property
    def minimum(self) -> bool | None:
        """Whether the energy has a minimum there; None where the forces have none."""
        return self.saddle.signs[1] == 0 and self.lower is None if self.conservative else None

    @cached_property
    def frozen(self) -> str | None:
        """What changes as time goes on, if anything does."""
        return changes_with_time(self.search, self.q)

    @cached_property
    def stability(self) -> Status:
        """What small motions do, in a word, and why."""
        K, A = self.hessian, self.limits[1]
        return judged(self.search, self.q, K, A, self.minimum, self.frozen)

    def _potential(self) -> float | None:
        """Return the energy of forces that have one though none is stated: their work from q = 0.

        Two quadratures must agree on it.
        """
        search = self.search
        if not (np.all(np.isfinite(self.hessian.data)) and search.conservative(self.q)):
            return None
        found = []
        for count in (40, 60):
            nodes, weights = np.polynomial.legendre.leggauss(count)
            pulls = [float(search.forces((x + 1) / 2 * self.q)[0] @ self.q) for x in nodes]
            found.append(float(weights @ pulls) / 2)
        zero = search.forces(np.zeros_like(self.q))[1]
        size = max(abs(zero), *map(abs, found), 1e-300)
        good = np.isfinite(size) and abs(found[0] - found[1]) <= 1e-10 * size
        return zero + found[1] if good else None

    def _inputs(self) -> dict[str, Any]:
        """Return what holds for the inputs: numbers, or the expressions that were given."""
        search = self.search
        values = zip(search.system.inputs, search.signature, search.inputs(self.q).tolist())
        return {
            u.name: content if kind == "expression" else value
            for u, (kind, content), value in values
        }

    def wrapped(self, status: str) -> Equilibrium:
        """Return the result, with its evidence."""
        search, q = self.search, self.q
        g, energy = search.forces(q)
        c, rows = self.limits
        gaps = c[search.balance.rows :]
        residual = {
            "force": float(np.abs(g - rows.T @ self.lam).max(initial=0.0)),
            "R": float(np.abs(c[: search.balance.rows]).max(initial=0.0)),
        }
        if len(gaps):
            residual["gap"] = float(max(0.0, -gaps.min()))
        finite = bool(np.all(np.isfinite(self.hessian.data)))
        return Equilibrium(
            system=search.system,
            graph=search.balance.graph,
            q=q,
            params=search.params,
            u=search.inputs(q),
            inputs=self._inputs(),
            t=search.t,
            lam=Multipliers.of(search.full(self.lam, self.active), search.layout),
            energy=energy if search.has_energy(q) else self._potential(),
            eigenvalues=self.saddle.smallest[0] if finite else np.empty(0),
            inertia=self.saddle.signs if finite else (0, 0, 0),
            stability=self.stability
            if finite and status in ("balanced", "saddle")
            else Status(Stability.UNDECIDED, "forces do not balance there"),
            frozen=self.frozen,
            free=self.free if finite and status == "balanced" else np.empty((0, len(q))),
            residual=residual,
            redundant=self.redundant,
            status=Status(status, _MESSAGES[status]),
            steps=search.steps,
        )
