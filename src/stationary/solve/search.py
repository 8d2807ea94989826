"""The search for an equilibrium: Newton's method on the balance of forces, IPOPT if rough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse

from stationary.derive.order import saddle_order
from stationary.lower.inputs import drives
from stationary.lower.kernel import graph_of
from stationary.model.layout import name_of
from stationary.model.system import System
from stationary.result.equilibrium import Equilibrium
from stationary.solve.examine import Examination
from stationary.solve.linear import DENSE_UP_TO, Saddle, independent_rows
from stationary.solve.progress import Progress
from stationary.solve.rough import by_ipopt
from stationary.solve.still import AbstractStill

# Newton steps before another method is tried, and descents from points that are no minima.
_MOST_STEPS, _MOST_DESCENTS = 200, 10

# Unbalanced forces and violations below this, relative to the forces at work, are rounding. Where
# rounding is worse, the best of several steps that no longer improve is taken.
_RESIDUAL = 2e-14
_ACCEPTED = 1e-10
_PATIENCE = 3

# Whole steps that only jitter by this, relative to the way, have come as close as rounding lets.
_JITTER = 1e-7

# Where a step divides the residual by a small number, and not by a large one, the point has next to
# no stiffness: its forces are small long before it is near.
_SLOW, _STUCK = 0.02, 0.9

# Shares of a step: down to here it is brought back to bent constraints, and below it leads nowhere.
_BENT, _CREEP = 0.02, 1e-5

# Largest system for which IPOPT is tried when Newton's method fails: beyond, it is too slow.
_IPOPT_UP_TO = 5000

# A coordinate this many times beyond the start has no equilibrium to go to.
_FAR = 1e8
# Nor is there one this far out, where forces have only faded away.
_FADED = 1e5

# How far beyond the search it is looked whether the energy still goes down, in powers of ten.
_DECADES = 7

# A step may change the energy by this much more or less than its quadratic model says: one that
# goes by luck to a lower place beyond the next hill does not.
_AGREES = 0.5


def search_of(
    system: System,
    params: Mapping[Any, float] | None,
    inputs: Mapping[Any, Any] | None,
    t: float,
    kind: str,
) -> Search:
    """Return a search at given values of parameters and of inputs, zero where left out."""
    layout = graph_of(system).layout
    given = {u.name: 0.0 for u in layout.system.inputs}
    given |= {name_of(key): value for key, value in (inputs or {}).items()}
    driven = drives(layout, given, (t, t))
    # Of equal statements one holds the order of parameters in p.
    return Search(layout.system, layout.values(params), driven.signature, driven.slots(t), t, kind)


@dataclass
class Search(AbstractStill):
    """The search for an equilibrium at given parameters."""

    kind: str = "minimum"
    steps: int = 0
    order: np.ndarray | None = None
    #: Whether an energy is stated, and whether steps go down along it.
    stated: bool = False
    descends: bool = False
    #: The largest stiffness and the largest coordinate met on the way: what is small beside them
    #: is rounding.
    stiffest: float = 0.0
    extent: float = 0.0
    extents: Any = 0.0

    def run(self, q: np.ndarray) -> Equilibrium:
        """Search from a start and wrap up what was found."""
        self.prepare(q)
        if self.balance.gaps:
            return self._with_contacts(q)
        active = np.arange(self.balance.rows)
        found, lam, status, seen = self._settled(q, active)
        rough = self.kind == "minimum" and self.stated and len(q) <= _IPOPT_UP_TO
        lost = rough and status not in ("balanced", "saddle", "unbounded")
        if lost and self._possible(q, found):
            again, _ = by_ipopt(self, q)
            if np.all(np.isfinite(again)) and np.abs(again).max() < _FAR:
                other = self._settled(again, active)
                if other[2] == "balanced":
                    found, lam, status, seen = other
        return (seen or self.examined(found, lam, active)).wrapped(status)

    def _possible(self, *places: np.ndarray) -> bool:
        """Tell whether the constraints can be satisfied near one of these places."""
        for q in places:
            there, settled = self.nearest(q)
            A = self.limits(there, np.arange(self.balance.rows + self.balance.gaps))[1]
            if not settled or np.all(np.abs(self.violations(there)) <= 1e-8 * self.sizes(A)):
                return True
        return False

    def prepare(self, q: np.ndarray) -> None:
        """Find out by what steps are measured: energy where there is one, else forces."""
        self.stated = self.has_energy(q)
        self.descends = self.kind == "minimum" and (self.stated or self.conservative(q))
        self.extents = np.abs(q)
        self.extent = float(self.extents.max(initial=0.0))

    def examined(self, q: np.ndarray, lam: np.ndarray, active: np.ndarray) -> Examination:
        """Return what can be said of a point."""
        return Examination(self, q, lam, active)

    def wrapped(self, q, lam, status: str, active: np.ndarray) -> Equilibrium:
        """Return a point as a result."""
        return self.examined(q, lam, active).wrapped(status)

    def _settled(
        self, q: np.ndarray, active: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, str, Examination | None]:
        """Search, and go on downhill from points that are in balance but no minima.

        A start that is in balance itself is left as it is: nobody knows to which side it should
        fall.
        """
        begin, descents = q, 0
        while True:
            found, lam, status = self.newton(q, active)
            if status != "balanced":
                lost = self.descends and status in ("stalled", "too many steps")
                if lost and (far := self._endless(begin, found, active)) is not None:
                    found, status = far, "unbounded"
                return found, lam, status, None
            seen = self.examined(found, lam, active)
            if self.kind == "any" or not self.descends:
                return found, lam, status, seen
            if seen.weak and np.abs(found).max() > _FADED * max(1.0, np.abs(begin).max()):
                return found, lam, "unbounded", seen
            if seen.lower is None:
                return found, lam, "saddle" if seen.saddle.signs[1] else status, seen
            stays = np.abs(found - begin).max(initial=0.0) <= 1e-9 * max(self.extent, 1e-300)
            if stays or descents == _MOST_DESCENTS:
                break
            q, descents = seen.lower, descents + 1
        if (far := self._endless(begin, found, active)) is not None:
            return far, lam, "unbounded", None
        return found, lam, "saddle", seen

    def _with_contacts(self, q: np.ndarray) -> Equilibrium:
        """Close contacts that are passed through and open those that pull, until neither is left.

        IPOPT finds out which ones touch, where there is an energy to minimize.
        """
        rows = self.balance.rows
        gaps = self.levels(q)[rows:]
        active = np.concatenate([np.arange(rows), rows + np.flatnonzero(gaps <= 0)])
        if self.kind == "minimum" and self.stated:
            found, touching = by_ipopt(self, q)
            if np.all(np.isfinite(found)) and np.abs(found).max() < _FAR * max(1.0, self.extent):
                q, active = found, touching
        tried: set[tuple[int, ...]] = set()
        while True:
            found, lam, status, seen = self._settled(q, active)
            change = self._opened_or_closed(found, lam, active, status)
            tried.add(tuple(active.tolist()))
            if change is None or tuple(change.tolist()) in tried:
                break
            active = change
            q = found if status == "balanced" else q
        if change is not None or self.violated(found):
            status = "infeasible" if self.violated(found) else "stalled"
        return (seen or self.examined(found, lam, active)).wrapped(status)

    def violated(self, q: np.ndarray) -> bool:
        """Tell whether a contact is passed through."""
        gaps, B = self.limits(q, self.balance.rows + np.arange(self.balance.gaps))
        return bool(np.any(gaps < -1e-9 * self.sizes(B)))

    def _opened_or_closed(self, q, lam, active, status: str) -> np.ndarray | None:
        """Return the rows that should hold instead of these, or None where all is well."""
        rows = self.balance.rows
        if not np.all(np.isfinite(q)):
            return None
        gaps, B = self.limits(q, rows + np.arange(self.balance.gaps))
        pushes, size = lam[rows:], self.sizes(B)
        through = [k for k in np.flatnonzero(gaps < -1e-9 * size) if rows + k not in active]
        if through:
            worst = min(through, key=lambda k: gaps[k] / size[k])
            return np.sort(np.append(active, rows + worst))
        scale = max(np.abs(lam).max(initial=0.0), np.abs(self.forces(q)[0]).max(), 1e-300)
        if status == "balanced" and len(pushes) and pushes.min() < -1e-9 * scale:
            return np.delete(active, rows + int(np.argmin(pushes)))
        return None

    # -- Newton's method --------------------------------------------------------------------------

    def newton(self, q: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
        """Newton's method on the conditions of balance; steps that go for minima if asked to."""
        kept = active[self._independent(q, active)]
        found, lam, status = self._newton(q, kept)
        if len(kept) < len(active):
            # Rows that depended on the others at the start may say something new elsewhere.
            c, A = self.limits(found, active)
            if np.any(np.abs(c) > _ACCEPTED * self.sizes(A)):
                return self._newton(found, active)
            full = np.zeros(len(active))
            full[np.searchsorted(active, kept)] = lam
            return found, full, status
        return found, lam, status

    def _independent(self, q: np.ndarray, active: np.ndarray) -> np.ndarray:
        """Return which rows are independent; small systems solve by least squares anyhow."""
        if not len(active) or len(q) + len(active) <= DENSE_UP_TO:
            return np.arange(len(active))
        A = self.limits(q, active)[1]
        return independent_rows(A) if np.all(np.isfinite(A.data)) else np.arange(len(active))

    def _newton(self, q: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
        progress = Progress(f"statics of {self.system.name or 'a system'}")
        lam = self.first_multipliers(q, active)
        far = _FAR * max(1.0, np.abs(q).max(initial=0.0))
        penalty, reach, creeps, jitter = 0.0, 1.0, 0, np.inf
        best, waited, scale = (np.inf, q, lam), 0, 1e-300
        try:
            for count in range(_MOST_STEPS):
                self.steps += 1
                progress.show(count / _MOST_STEPS)
                g, energy = self.forces(q)
                c, A = self.limits(q, active)
                if not (np.all(np.isfinite(g)) and np.all(np.isfinite(c))):
                    return q, lam, "not finite"
                if np.abs(q).max(initial=0.0) > far:
                    return q, lam, "unbounded"
                H = self.hessian(q, lam, active)
                if not np.all(np.isfinite(H.data)):
                    return q, lam, "not finite"
                self._note(q, H)
                # The largest forces at work so far: their rounding is what can be hoped for.
                at_work = np.abs(g) + abs(A).T @ np.abs(lam)
                here = max(np.max([at_work, abs(H) @ self.extents], initial=0.0), 1e-300)
                scale = max(here, scale)
                force = np.abs(g - A.T @ lam).max(initial=0.0)
                missed = np.max(np.abs(c) / self.sizes(A), initial=0.0)
                left = max(force / scale, missed)
                slow = _SLOW * best[0] < left < _STUCK * best[0]
                if left < best[0]:
                    best, waited = (left, q, lam), 0
                else:
                    waited += 1
                # Steps that still converge fast are worth taking, down to rounding here and now.
                round_off = force <= _RESIDUAL * here or waited
                done = left <= _RESIDUAL and not slow and round_off
                rests = best[0] <= _ACCEPTED or (reach == 1 and jitter <= _JITTER * self.extent)
                if done or (rests and waited >= _PATIENCE):
                    return best[1], best[2], "balanced"
                saddle = self.saddle(H, A)
                if self.descends:
                    saddle = self._convex(saddle)
                move, minus = saddle.solve(-g, -c)
                if self.descends and not saddle.dense:
                    saddle, move, minus = self._shorter(saddle, move, minus, g, c)
                new = -minus
                jitter = np.abs(move).max(initial=0.0)
                if np.all(np.abs(move) <= 4e-16 * self.extents) and count:
                    good = max(missed, np.abs(g - A.T @ new).max() / scale) <= _ACCEPTED
                    return q, new, "balanced" if good else "stalled"
                if self.descends:
                    typical = np.abs(g).max() / max(abs(A).max(), 1e-300) if len(active) else 0.0
                    penalty = max(penalty, 2 * np.abs(new).max(initial=0.0), 0.01 * typical)
                    known = (g, energy, c, A, H, saddle)
                    step, there = self._downhill(q, lam, move, known, penalty, active)
                else:
                    step = self._towards_balance(q, lam, move, new, H, active)
                    there = q + step * move
                if step == 0.0:
                    good = best[0] <= _ACCEPTED
                    return (best[1], best[2], "balanced") if good else (q, lam, "stalled")
                creeps = creeps + 1 if step < _CREEP else 0
                if creeps > _PATIENCE:
                    return q, lam, "stalled"
                reach = step
                q = there
                lam = lam + step * (new - lam)
        finally:
            progress.close()
        if best[0] <= _ACCEPTED:
            return best[1], best[2], "balanced"
        return q, lam, "stalled" if reach < 1 else "too many steps"

    def _note(self, q: np.ndarray, H: Any) -> None:
        """Note how far and how stiff it was on the way."""
        self.extents = np.maximum(self.extents, np.abs(q))
        self.extent = float(self.extents.max(initial=0.0))
        if H.nnz and np.isfinite(stiffness := float(abs(H).max())):
            self.stiffest = max(self.stiffest, stiffness)

    def sizes(self, A: Any) -> np.ndarray:
        """Return by how much constraints or gaps with these gradients change over the whole way.

        What is small beside that is rounding, in whatever unit it is stated.
        """
        made = abs(A) @ self.extents
        return np.where(made > 0, made, 1.0)

    def saddle(self, H: Any, A: Any) -> Saddle:
        """Return the matrix of a Newton step, ordered as the first one was."""
        made = Saddle(H, A, self.order, self.stiffest)
        if not made.dense and (self.order is None or len(self.order) != made.n + made.m):
            self.order = saddle_order(H, A)
            made = Saddle(H, A, self.order, self.stiffest)
        return made

    def _convex(self, saddle: Saddle) -> Saddle:
        """Make the Hessian positive on the tangent space: steps then go downhill.

        Negative curvature is turned round, not barely overcome: steps stay as long as the energy
        is like its quadratic model.
        """
        size = abs(saddle.H).max() if saddle.H.nnz else 1.0
        _, negative, zero = saddle.signs
        if not negative and not zero:
            return saddle
        if saddle.dense:
            values, vectors = saddle.tangent_eigenvalues
            tiny = 1e-11 * max(np.abs(values).max(), 1e-300)
            add = np.where(values < -tiny, 2 * np.abs(values), 0.0)
            add = np.where(np.abs(values) <= tiny, max(1e-6 * size, 1e-12), add)
            more = (vectors * add) @ vectors.T
            return Saddle(sparse.csc_matrix(saddle.H + more), saddle.A, saddle.order)
        shift = 0.0
        trial = saddle
        for _ in range(40):
            _, negative, zero = trial.signs
            if not negative and not zero:
                return trial
            shift = max(1e-6 * size, 8 * shift, 1e-12)
            trial = saddle.shifted(shift)
        return trial

    def _shorter(self, saddle: Saddle, move, minus, g, c) -> tuple[Saddle, Any, Any]:
        """Stiffen a large system until its step is no longer than the system is large.

        Next to a singular matrix a step goes anywhere; a stiffer one goes down the slope.
        """
        by = 1e-4 * max(float(abs(saddle.H).max()) if saddle.H.nnz else 0.0, self.stiffest, 1e-12)
        for _ in range(12):
            if not self.extent or np.abs(move).max() <= self.extent:
                break
            stiffer = saddle.shifted(by)
            shorter, other = stiffer.solve(-g, -c)
            if not np.abs(shorter).max() < np.abs(move).max() and np.all(np.isfinite(move)):
                break
            saddle, move, minus, by = stiffer, shorter, other, 8 * by
        return saddle, move, minus

    @np.errstate(over="ignore", invalid="ignore")
    def _downhill(self, q, lam, move, known: tuple, penalty: float, active):
        """Shorten a step until energy plus violation goes down, and as the model says it should.

        The merit is that of Armijo with an ℓ₁ penalty; the model is quadratic, by the Hessian of
        the energy with its constraints, as it is and not as it was made convex. A step that leaves
        bent constraints is brought back towards them before it is shortened (Nocedal and Wright,
        Numerical Optimization, section 18.3).
        """
        g, energy, c, A, H, saddle = known
        violation = np.abs(c).sum()
        slope = g @ move - penalty * violation
        first, second = (g - A.T @ lam) @ move, move @ (H @ move)
        noise = 1e-13 * (abs(energy) + penalty * violation + np.abs(g) @ np.abs(q))
        step = 1.0
        for _ in range(50):
            trial = q + step * move
            rise, c_new = self._to(q, trial, active)
            bent = step**2 / 2 * second
            off = abs(rise - lam @ (c_new - c) - step * first - bent)
            expected = abs(step * first + bent) + step * penalty * violation
            enough = 1e-4 * step * min(slope, 0.0) + noise
            if off <= _AGREES * expected + noise:
                if rise + penalty * (np.abs(c_new).sum() - violation) <= enough:
                    return step, trial
                if len(active) and step > _BENT:
                    back = trial + saddle.solve(np.zeros_like(q), (1 - step) * c - c_new)[0]
                    rise, c_new = self._to(q, back, active)
                    if rise + penalty * (np.abs(c_new).sum() - violation) <= enough:
                        return step, back
            step /= 2
        return 0.0, q

    def _to(self, q: np.ndarray, there: np.ndarray, active) -> tuple[float, np.ndarray]:
        """Return the rise of the energy to another place, and what is violated there."""
        return self.rise(q, there, self.stated), self.levels(there)[active]

    def _towards_balance(self, q, lam, move, new, H, active) -> float:
        """Shorten a step until the residual of the balance goes down."""
        size = self.sizes(self.limits(q, active)[1])
        forces = max(self.stiffest * self.extent, float(np.abs(self.forces(q)[0]).max()), 1e-300)

        def residual(q, lam):
            g, _ = self.forces(q)
            c, A = self.limits(q, active)
            return np.linalg.norm(np.concatenate([(g - A.T @ lam) / forces, c / size]))

        before, step = residual(q, lam), self._trusted(q, lam, move, H, active)
        for _ in range(40):
            after = residual(q + step * move, lam + step * (new - lam))
            if after <= (1 - 1e-4 * step) * before + 1e-14:
                return step
            step /= 2
        return 0.0

    def _trusted(self, q, lam, move, H, active) -> float:
        """Return the share of a step over which the stiffness along it stays like itself.

        Where there is next to none, a whole step would go anywhere, and not to what is near.
        """
        if self.feeds_back:
            return 1.0
        small = 1e-4 * min(1.0, max(self.extent, 1e-3) / max(np.abs(move).max(), 1e-300))
        now = H @ move
        change = (self.hessian(q + small * move, lam, active) @ move - now) / small
        before, after = float(np.linalg.norm(now)), float(np.linalg.norm(change))
        return 2 * before / after if 0 < 2 * before < after < np.inf else 1.0

    def first_multipliers(self, q: np.ndarray, active: np.ndarray) -> np.ndarray:
        """Return the multipliers that balance the forces best, in least squares."""
        if not len(active):
            return np.zeros(0)
        g, _ = self.forces(q)
        _, A = self.limits(q, active)
        identity = sparse.eye(len(q), format="csc")
        _, minus = Saddle(identity, A).solve(g, np.zeros(len(active)))
        return minus if np.all(np.isfinite(minus)) else np.zeros(len(active))

    def _endless(self, begin: np.ndarray, q: np.ndarray, active: np.ndarray) -> np.ndarray | None:
        """Return a place far beyond where the search has come, if the energy goes down to there."""
        way = q - begin
        if not np.all(np.isfinite(q)) or not np.any(way):
            return None
        last = self.rise(begin, q, self.stated)
        noise = 1e-14 * (abs(self.forces(begin)[1]) + abs(last))
        there = q
        for decade in range(_DECADES):
            aim = begin + 10.0 ** (decade + 1) * way
            there = self.onto(aim, active)
            if there is None or np.linalg.norm(there - aim) > 0.1 * np.linalg.norm(aim - begin):
                return None
            rise = self.rise(begin, there, self.stated)
            # Far out an energy that levels off is lost in rounding.
            if not rise < last + (noise if decade > _DECADES // 2 else -noise):
                return None
            last = rise
        return there
