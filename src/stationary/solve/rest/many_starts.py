"""Newton's method from many starts at once, on equations divided by what is known.

Unknowns are measured by the box that is searched, equations by what they change by over it: metres
and radians, newtons and meganewtons count alike.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np

from stationary.lower.engines.casadi import Numeric
from stationary.lower.inputs import SLOTS, lowered
from stationary.lower.rounding import rounding
from stationary.model.system import System
from stationary.solve.newton import iterated_together
from stationary.solve.rest.at_rest import balance_of
from stationary.solve.rest.search import Search

# Newton's steps from each start, and the most along a family.
_MOST_STEPS, _MOST_SLIDES = 60, 300

# Places that are evaluated together: a call costs as much as many places.
_FEW, _MANY = 4, 64

# A direction in which equations change this much less than in others is one of a family.
FLAT = 1e-8

# A zero whose equations change this little in some direction has next to no stiffness.
_WEAK = 1e-4

# Forces this small, beside those of the box, are none; and so are this many roundings.
_NOTHING, _ROUNDINGS = 1e-14, 64

# Looks at a place with other last digits, and how many times what these change a force is clear.
_SHAKES, _CLEAR = 6, 16

# As close to a zero along a valley it counts as that; the weakest slope beside the steepest.
_CLOSE, _WEAKEST = 1e-5, 1e-14

# Newton's steps this short, beside the box, have come to a zero.
_SETTLED = 1e-9

# A step this long, beside the box, has gone astray for want of stiffness.
_ASTRAY = 1e6

# Members of a family that are this close are one place; a look along it goes this far.
_MET, _AHEAD = 1e-6, 1e-3

# Ways between several flat directions that are looked along.
_MIXTURES = 4

# The longest step along a family, and how far, beside itself, it may be off it.
_STRIDE, _BENT = 0.02, 0.05


class Swarm:
    """The conditions of balance with some contacts closed, over w = (q, λ) / scale.

    Attributes
    ----------
    n : int
        Number of coordinates.
    scale : ndarray
        Unit of every unknown.
    home : ndarray
        Where the box is nearest to zero; what is not searched stays there at first.
    """

    def __init__(self, search: Search, active: np.ndarray, size: np.ndarray, home: np.ndarray):
        self.search, self.active, self.n = search, active, search.system.size
        self.some = np.concatenate([np.arange(self.n), self.n + active]).astype(int)
        self.whole = self.n + search.balance.rows + search.balance.gaps
        self.p = np.concatenate([[search.t], search.params, search.slots])
        m = len(active)
        self.scale, self.weights = np.concatenate([size, np.ones(m)]), np.ones(self.n + m)
        self.home = np.concatenate([home / size, np.zeros(m)])
        around = np.random.default_rng(5).uniform(-1, 1, (16, self.n)) * size + home
        F, J = self._raw(np.hstack([np.vstack([home, around]), np.zeros((17, m))]))
        stiff = np.abs(J[:, : self.n, : self.n]).max(axis=2, initial=0.0)
        energies = np.hstack([F[:, : self.n] * size, stiff * size**2])
        energies = np.abs(energies[np.isfinite(energies) & (energies != 0)])
        energy = float(np.median(energies)) if len(energies) else 1.0
        rows = np.abs(J[:, self.n :, : self.n] * size).max(axis=2, initial=0.0)
        rows = np.max(np.where(np.isfinite(rows), rows, 0.0), axis=0, initial=0.0)
        rows = np.where(rows > 0, rows, 1.0)
        self.scale[self.n :] = energy / rows
        self.weights = np.concatenate([size / energy, 1 / rows])

    def _raw(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F and ∂F/∂z of every row of z, in the units of the statement."""
        count = len(z)
        if not count:
            return np.zeros((0, len(self.some))), np.zeros((0, len(self.some), len(self.some)))
        batch = _FEW if count <= _FEW else _MANY
        function = _batch(self.search.system, self.search.signature, batch)
        full = np.zeros((count + -count % batch, self.whole))
        full[:count, self.some] = z
        F, J = np.empty((len(full), self.whole)), np.empty((len(full), self.whole, self.whole))
        for k in range(0, len(full), batch):
            part = slice(k, k + batch)
            values, slopes = function(full[part].ravel(), self.p)
            F[part], J[part] = values.reshape(F[part].shape), slopes.reshape(J[part].shape)
        # CasADi stores columns one after the other.
        J = J[:count].transpose(0, 2, 1)
        return F[:count, self.some], J[:, self.some][:, :, self.some]

    def values(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return F and ∂F/∂w of every row of w."""
        F, J = self._raw(w * self.scale)
        return F * self.weights, J * self.weights[:, None] * self.scale

    def held(self, w: np.ndarray) -> np.ndarray:
        """Return places with the multipliers that balance their forces best."""
        w, n = w.copy(), self.n
        w[:, n:] = 0.0
        F, J = self.values(w)
        w[:, n:] = np.einsum("kij,kj->ki", pinv(-J[:, :n, n:]), F[:, :n])
        return w

    def least(self, w: np.ndarray) -> np.ndarray:
        """Return places with multipliers that have not run away along those that balance alone."""
        places, n = self.held(w), self.n
        before, after = (np.abs(x[:, n:]).max(axis=1, initial=0.0) for x in (w, places))
        return np.where((after < 0.5 * before)[:, None], places, w)

    def is_zero(self, w: np.ndarray, rtol: float = 1e-8) -> np.ndarray:
        """Tell where the equations hold: beside what they change by over the box."""
        F, J = self.values(w)
        n = self.n
        typical = np.abs(J[:, :, :n]).max(axis=2, initial=0.0)
        typical[:, :n] += np.einsum("kij,kj->ki", np.abs(J[:, :n, n:]), np.abs(w[:, n:]))
        # Never less than what is next to nothing in the whole box.
        typical[:, :n] = typical[:, :n].max(axis=1, keepdims=True, initial=1e-4)
        return np.all(np.isfinite(F), axis=1) & np.all(np.abs(F) <= rtol * typical, axis=1)

    def vanishes(self, w: np.ndarray) -> np.ndarray:
        """Tell where the equations hold to their last digits, or are nothing beside the box."""
        F, J = self.values(w)
        lost = np.einsum("kij,kj->ki", np.abs(J), np.abs(w)) * np.finfo(float).eps
        good = np.all(np.abs(F) <= _NOTHING + _ROUNDINGS * lost, axis=1)
        graph, search = self.search.balance, self.search
        # Terms may be larger than what is left of them: what these lose is dear to find out.
        for k in np.flatnonzero(~good & self.is_zero(w)):
            q = w[k, : self.n] * self.scale[: self.n]
            terms = rounding(graph, "forces", [search.t, q, search.inputs(q), search.params])
            if terms is not None:
                lost[k, : self.n] += terms * self.weights[: self.n]
                good[k] = np.all(np.abs(F[k]) <= _NOTHING + _ROUNDINGS * lost[k])
        good[good] = ~self._pushed_along(w[good], F[good], J[good])
        return good

    def _pushed_along(self, w: np.ndarray, F: np.ndarray, J: np.ndarray) -> np.ndarray:
        """Tell where a force along what is next to flat is clear of what last digits make of it.

        A stiff spring's force on each coordinate is known to the last digits of their places; along
        a valley of springs these cancel, and what pushes there may be many times less.
        """
        if not len(w):
            return np.zeros(0, dtype=bool)
        left, sizes, _ = np.linalg.svd(np.where(np.isfinite(J), J, 0.0))
        flat = sizes <= FLAT * np.maximum(sizes[:, :1], _WEAK)
        push = np.einsum("kij,ki->kj", left, F)
        scatter = np.finfo(float).eps * np.einsum("kij,ki->kj", np.abs(left), np.abs(F))
        chance = np.random.default_rng(8)
        for _ in range(_SHAKES):
            shaken = w + 2 * np.spacing(np.abs(w)) * chance.choice([-1.0, 1.0], w.shape)
            change = np.einsum("kij,ki->kj", left, self.values(shaken)[0] - F)
            scatter = np.maximum(scatter, np.abs(change))
        # Where nothing is stiff, forces are weak in every direction; and a valley has one.
        flat &= (sizes[:, :1] > _WEAK) & (flat.sum(axis=1, keepdims=True) == 1)
        # Next to a zero that has hardly a slope, as that of x³, forces are as weak as that.
        far = np.abs(push) > _CLOSE * sizes
        return np.any(flat & far & (np.abs(push) > _CLEAR * scatter), axis=1)

    def along_valleys(self, w: np.ndarray) -> np.ndarray:
        """Return places moved to where weak forces along what is next to flat end, if close by."""
        for _ in range(3 if len(w) else 0):
            F, J = self.values(w)
            move = np.einsum("kij,kj->ki", pinv(J, _WEAKEST), F)
            close = np.abs(move).max(axis=1, initial=0.0) <= 2 * _CLOSE
            w = np.where(close[:, None], w - move, w)
        return w

    def settled(self, w: np.ndarray) -> np.ndarray:
        """Tell which zeros another of Newton's steps leaves where they are."""
        F, J = self.values(w)
        move = np.einsum("kij,kj->ki", pinv(J, FLAT), F)
        good = np.abs(move)[:, : self.n].max(axis=1, initial=0.0) <= _SETTLED
        return good & self.is_zero(w)

    def run(self, starts: np.ndarray, known: list[np.ndarray]) -> np.ndarray:
        """Return where the searches from some places end that converge."""
        n = self.n
        w = self.held(starts)
        F, J = self.values(w)
        done, alive = np.zeros(len(w), bool), np.all(np.isfinite(F), axis=1)

        def step(work: np.ndarray) -> np.ndarray:
            move = -_solved(J[work], F[work])
            factor = _factors(w[work, :n], move[:, :n], known)
            size = np.abs(factor[:, None] * move[:, :n]).max(axis=1, initial=0.0)
            share = factor * 0.5 / np.maximum(size, 0.5)
            w[work], F[work], J[work] = self._shortened(w[work], F[work], move, share, bool(known))
            done[work] = size <= 1e-9
            alive[work] = np.all(np.isfinite(F[work]), axis=1) & (
                np.abs(w[work, :n] - self.home[:n]).max(axis=1) < 1e6
            )
            return alive[work] & ~done[work]

        iterated_together(np.flatnonzero(alive), step, most=_MOST_STEPS)
        w = w[done & alive]
        return w[self.is_zero(w)]

    def corrected(self, w: np.ndarray, steps: int) -> np.ndarray:
        """Take the shortest of Newton's steps, which leave a place in a family as it is."""
        w = w.copy()

        def step(work: np.ndarray) -> np.ndarray:
            F, J = self.values(w[work])
            move = np.einsum("kij,kj->ki", pinv(J, FLAT), F)
            w[work] -= move
            size = np.abs(move).max(axis=1, initial=0.0)
            return size > 1e-14 * np.abs(w[work]).max(axis=1, initial=0.0)

        iterated_together(np.arange(len(w)), step, most=steps)
        return w

    def _shortened(self, w, F, move, step, deflated: bool):
        """Take steps; halve those that make the residual larger, unless deflation asks for them."""
        before = np.linalg.norm(F, axis=1)
        trial = w + step[:, None] * move
        new, J = self.values(trial)
        for _ in range(0 if deflated else 12):
            after = np.linalg.norm(new, axis=1)
            bad = np.flatnonzero(~(after <= before))
            if not len(bad):
                break
            step[bad] /= 2
            trial[bad] = w[bad] + step[bad, None] * move[bad]
            new[bad], J[bad] = self.values(trial[bad])
        return trial, new, J

    def centred(self, w: np.ndarray) -> np.ndarray:
        """Return zeros with next to no stiffness in their middle.

        Along a direction in which equations hardly change, they are smaller than their rounding in
        a whole neighbourhood; the slope, or the change of the slope, tells where the zero is.
        """
        w = w.copy()
        if not len(w):
            return w
        _, J = self.values(w)
        J[~np.all(np.isfinite(J), axis=(1, 2))] = 0.0
        left, sizes, rows = np.linalg.svd(J)
        for k, j in np.argwhere(sizes <= _WEAK * sizes[:, :1]):
            way, across = _AHEAD * rows[k, j], left[k, :, j]
            _, J = self.values(np.array([w[k] - way, w[k], w[k] + way]))
            behind, here, ahead = across @ J @ rows[k, j]
            first, second = (ahead - behind) / 2, (ahead + behind) / 2 - here
            if abs(first) > abs(second):
                share = -here / first
            else:
                share = -first / (2 * second) if second else np.nan
            there = w[k] + share * way
            if abs(share) < 0.1 and self.is_zero(there[None], 1e-13)[0]:
                w[k] = there
        return w

    # -- families ---------------------------------------------------------------------------------

    def null_directions(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for every place its directions, and which of them change nothing."""
        _, J = self.values(w)
        J[~np.all(np.isfinite(J), axis=(1, 2))] = 0.0
        _, sizes, rows = np.linalg.svd(J)
        # Where nothing is stiff, beside what is next to nothing in the whole box.
        return rows, sizes <= FLAT * np.maximum(sizes[:, :1], _WEAK)

    def flat_directions(self, w: np.ndarray) -> np.ndarray:
        """Return in how many directions each zero can be moved a little and still is one."""
        count = np.zeros(len(w), int)
        if not len(w):
            return count
        rows, flat = self.null_directions(w)
        # A family of multipliers alone, as of redundant rows, is none of places.
        flat &= np.abs(rows[:, :, : self.n]).max(axis=2) > 1e-6 * np.abs(rows).max(axis=2)
        which, way = np.nonzero(flat)
        if not len(which):
            return count
        ahead = rows[which, way]
        ahead = w[which] + _AHEAD * ahead / np.abs(ahead[:, : self.n]).max(axis=1, keepdims=True)
        there = self.corrected(ahead, 12)
        moved = np.abs(there - w[which])[:, : self.n].max(axis=1) > _AHEAD / 2
        moved[moved] = self.vanishes(there[moved])
        np.add.at(count, which[moved], 1)
        return count

    def off_crossings(self, w: np.ndarray, dimensions: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return members of families beside where these cross, and the dimensions they have there.

        Where families cross a place slides along each of them, and between them it does not.
        """
        w, dimensions = w.copy(), dimensions.copy()
        for k in np.flatnonzero(dimensions > 1):
            # From where many cross to where fewer do.
            for _ in range(self.n):
                rows, flat = self.null_directions(w[k : k + 1])
                ways = rows[0][flat[0]]
                mixed = np.random.default_rng(6).standard_normal((_MIXTURES, len(ways))) @ ways
                ahead = np.vstack([mixed, ways, -ways])
                size = np.abs(ahead[:, : self.n]).max(axis=1, keepdims=True)
                ahead = w[k] + _AHEAD * ahead / np.maximum(size, 1e-300)
                there = self.corrected(ahead, 12)
                slides = np.abs(there - ahead)[:, : self.n].max(axis=1) <= 0.1 * _AHEAD
                slides[slides] = self.vanishes(there[slides])
                if slides[:_MIXTURES].all() or not slides.any():
                    break
                less = self.flat_directions(there[slides])
                w[k], dimensions[k] = there[slides][np.argmin(less)], less.min()
        return w, dimensions

    def slid(self, w: np.ndarray, aim: np.ndarray) -> np.ndarray:
        """Move along families as close to places as possible, each to its own or all to one."""
        w, n = w.copy(), self.n
        aim = np.broadcast_to(aim, (len(w), n))
        share = np.ones(len(w))
        for _ in range(_MOST_SLIDES):
            work = np.flatnonzero(share > 1e-3)
            if not len(work):
                break
            rows, flat = self.null_directions(w[work])
            free = rows * flat[:, :, None]
            away = np.zeros((len(work), w.shape[1]))
            away[:, :n] = aim[work] - w[work, :n]
            step = np.einsum("kij,ki->kj", free, np.einsum("kij,kj->ki", free, away))
            length = np.abs(step).max(axis=1)
            limit = share[work] * np.minimum(1.0, _STRIDE / np.maximum(length, 1e-300))
            step = limit[:, None] * step
            there = self.corrected(w[work] + step, 12)
            # A step that is bent by more may have come to another family.
            off = np.linalg.norm(there - w[work] - step, axis=1)
            bent = off > _BENT * np.linalg.norm(step, axis=1)
            left = np.linalg.norm(aim[work] - there[:, :n], axis=1)
            nearer = (left < np.linalg.norm(away[:, :n], axis=1)) & ~bent
            w[work[nearer]] = there[nearer]
            share[work] = np.where(nearer, np.minimum(1.0, 2 * share[work]), share[work] / 4)
            share[work[length <= 1e-9]] = 0.0
        return w

    def meet(self, w: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Tell which places can be moved along their families to others."""
        there = self.slid(w, targets[:, : self.n])
        return np.abs(there - targets)[:, : self.n].max(axis=1, initial=0.0) <= _MET


def pinv(J: np.ndarray, rcond: float = 1e-13) -> np.ndarray:
    """Invert a stack of matrices, and as well as possible those that are singular."""
    inverses = np.zeros(J.shape[:-2] + (J.shape[-1], J.shape[-2]))
    good = np.all(np.isfinite(J), axis=(1, 2))
    if J.shape[-1] and J.shape[-2]:
        inverses[good] = np.linalg.pinv(J[good], rcond=rcond)
    return inverses


def _solved(J: np.ndarray, F: np.ndarray) -> np.ndarray:
    """Solve a stack of equations, and as well as possible those that are singular."""
    try:
        solutions = np.linalg.solve(J, F[..., None])[..., 0]
    except np.linalg.LinAlgError:
        solutions = np.full_like(F, np.nan)
    # Singular values take ten times as long, and are for the few that need them.
    bad = ~(np.abs(solutions).max(axis=1, initial=0.0) < _ASTRAY)
    solutions[bad] = np.einsum("kij,kj->ki", pinv(J[bad]), F[bad])
    return solutions


def _factors(q: np.ndarray, move: np.ndarray, known: list[np.ndarray]) -> np.ndarray:
    """Return how deflation by Π (1/|q − q_k|² + 1) changes the length of Newton's steps."""
    slope = np.zeros(len(q))
    for other in known:
        apart = q - other
        square = np.maximum((apart**2).sum(axis=1), 1e-16)
        slope += (-2 * (apart * move).sum(axis=1) / square**2) / (1 / square + 1)
    bottom = 1 - slope
    bottom = np.where(np.abs(bottom) < 1e-3, np.where(bottom < 0, -1e-3, 1e-3), bottom)
    return 1 / bottom


def graph_at_rest(system: System, signature: tuple, z: Any, p: Any) -> tuple[Any, Any, Any]:
    """Return forces, limits and gradients of the limits over (q, λ), inputs included."""
    balance = balance_of(system)
    n, m = system.size, len(system.parameters)
    q, t, values = z[:n], p[0], p[1 : 1 + m]
    u = lowered(signature, balance.graph.layout, t, q, type(q).zeros(n), values, p[1 + m :])
    g, *_ = balance.forces(t, q, u, values)
    c, A = balance.limits(t, q, u, values)
    return g, c, A


@lru_cache(maxsize=32)
def _batch(system: System, signature: tuple, count: int) -> Numeric:
    """Return the conditions of balance and their Jacobian at several places at once."""
    return Numeric(_equations(system, signature).map("batch", "serial", count, [1], []))


@lru_cache(maxsize=32)
def _equations(system: System, signature: tuple) -> ca.Function:
    """Return the conditions of balance over (q, λ) and their Jacobian, inputs included."""
    balance = balance_of(system)
    n, rows = system.size, balance.rows + balance.gaps
    kind: Any = ca.SX if balance.graph.scalar else ca.MX
    z = kind.sym("z", n + rows)
    p = kind.sym("p", 1 + len(system.parameters) + sum(SLOTS[k] for k, _ in signature))
    g, c, A = graph_at_rest(system, signature, z, p)
    F = ca.vertcat(g - ca.mtimes(A.T, z[n:]), c) if rows else g
    outputs = [ca.densify(F), ca.densify(ca.jacobian(F, z))]
    return ca.Function("equations", [z, p], outputs)
