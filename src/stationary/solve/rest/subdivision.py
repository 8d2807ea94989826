"""All zeros in a box, proven: interval subdivision with the test of Krawczyk.

A box in which equations cannot vanish is discarded; one in which Krawczyk's operator maps a
neighbourhood into itself holds exactly one zero; every other one is shrunk and halved. Along a
family of zeros the same test, across the family alone, shows that all zeros in a box lie on one
sheet.

References
----------
R. Krawczyk, Newton-Algorithmen zur Bestimmung von Nullstellen mit Fehlerschranken, Computing 4
(1969) 187. R. E. Moore, R. B. Kearfott, M. J. Cloud, Introduction to Interval Analysis (2009).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from stationary.solve.intervals import Enclosure
from stationary.solve.rest.many_starts import Swarm

# Operations of all boxes together, and boxes that are looked at together.
_MOST_WORK, _TOGETHER = 3e7, 4096

# A box is looked at with this much around it, so that a zero on its edge lies inside.
_AROUND = 0.12

# The shortest side of a box beside its longest.
_THIN = 1e-4

# Boxes smaller than this, relative to the whole, are not halved: zeros closer together are one.
SMALLEST = 1e-7

# Boxes left over, and how large they are, before families are looked for; zeros looked at for them.
_MANY, _NARROW, _LOOKED_AT = 48, 0.15, 24

# A direction in which equations change this much less than in others is one of a family.
FLAT = 1e-8


@dataclass
class Proof:
    """What a subdivision found.

    Attributes
    ----------
    zeros : list of ndarray
        Places in a neighbourhood of which there is exactly one zero.
    members : list of tuple
        Members of families, with their dimension: every zero nearby lies on their sheet.
    low, high : ndarray
        Boxes that are left undecided.
    looked_at : int
        Number of boxes looked at.
    exhausted : bool
        Whether the bound on the work ended it.
    """

    zeros: list[np.ndarray] = field(default_factory=list)
    members: list[tuple[np.ndarray, int]] = field(default_factory=list)
    low: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    high: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    looked_at: int = 0
    exhausted: bool = False


class Subdivision:
    """Equations g(q) = Aᵀλ, c(q) = 0 over a box of q, multipliers unbounded.

    Parameters
    ----------
    q, lam, g, c, A : SX
        Unknowns and equations; g has a row for every equation of balance, A one for each λ.
    swarm : Swarm
        The same equations as numbers.
    places : ndarray of int
        Entries of the swarm's z that are unknown here.
    """

    def __init__(self, q, lam, g, c, A, swarm: Swarm, places: np.ndarray):
        z = ca.vertcat(q, lam)
        F = ca.vertcat(g - ca.mtimes(A.T, lam), c) if lam.numel() else g
        self.k, self.m, self.rows = q.numel(), lam.numel(), F.numel()
        J = ca.densify(ca.jacobian(F, z))
        self.F = Enclosure(ca.Function("F", [z], [ca.densify(F)], {"cse": True}))
        self.J = Enclosure(ca.Function("J", [z], [J.T], {"cse": True}))
        parts = ca.vertcat(ca.densify(g), ca.densify(c), ca.vec(ca.densify(A)))
        self.parts = Enclosure(ca.Function("parts", [q], [parts], {"cse": True}))
        self.equations, self.swarm, self.places = g.numel(), swarm, places
        self.families: set[int] = set()

    def run(self, low: np.ndarray, high: np.ndarray) -> Proof:
        """Look at a box, and at all that is left of it, until nothing is or the work is done."""
        proof = Proof()
        width = high - low
        low, high = low[None], high[None]
        work, searched, left = 0.0, 0, []
        each = self.F.work + self.J.work + (self.parts.work if self.m else 0)
        each += 20 * (self.k + self.m) ** 2
        while len(low):
            if work > _MOST_WORK:
                proof.exhausted = True
                break
            lows, highs = [], []
            for some in range(0, len(low), _TOGETHER):
                part = slice(some, some + _TOGETHER)
                work += each * len(low[part])
                proof.looked_at += len(low[part])
                halves = self._looked_at(low[part], high[part], proof)
                # A look for a sheet takes as long as several others.
                work += 6 * each * len(halves[0]) * len(self.families)
                lows.append(halves[0])
                highs.append(halves[1])
            low, high = np.vstack(lows), np.vstack(highs)
            size = ((high - low) / width).max(axis=1, initial=0.0)
            small = size <= SMALLEST
            if small.any():
                left.append((low[small], high[small]))
                low, high, size = low[~small], high[~small], size[~small]
            if len(low) > max(_MANY, 2 * searched) and size.max() < _NARROW:
                searched = len(low)
                self._look_for_families(low, high)
            low, high = _halved(low, high, width)
        left.append((low, high))
        proof.low = np.vstack([x[0] for x in left])
        proof.high = np.vstack([x[1] for x in left])
        return proof

    # -- one look at many boxes -------------------------------------------------------------------

    def _looked_at(self, low, high, proof: Proof) -> tuple[np.ndarray, np.ndarray]:
        """Return what is left of boxes; note zeros and members of families."""
        mid, rad = (low + high) / 2, (high - low) / 2
        # The last digits of a place are part of every box, and no side is next to nothing.
        rad = rad + 2 * np.spacing(np.maximum(np.abs(low), np.abs(high)))
        rad = np.maximum(rad, _THIN * rad.max(axis=1, keepdims=True))
        wide = rad * (1 + _AROUND)
        possible, center, radius = self._multipliers(mid, wide)
        low, high, mid, rad, wide = (x[possible] for x in (low, high, mid, rad, wide))
        z = np.hstack([mid, center[possible]])
        reach = np.hstack([wide, radius[possible]])
        known = np.all(np.isfinite(reach), axis=1)
        Fl, Fh, kinked = self.F(z - reach, z + reach)
        possible = ~known | np.all((Fl <= 0) & (Fh >= 0), axis=1)
        low, high, rad, z, reach, known, kinked = (
            x[possible] for x in (low, high, rad, z, reach, known, kinked)
        )
        smooth = known & ~kinked
        keep = np.ones(len(low), bool)
        at = np.flatnonzero(smooth)
        if len(at):
            gone, sure, zeros, shrunk = self._krawczyk(
                z[at], reach[at], rad[at] / reach[at, : self.k]
            )
            proof.zeros += list(zeros[sure & ~gone])
            keep[at[gone | sure]] = False
            middle, scale = z[at, : self.k], reach[at, : self.k]
            low[at] = np.maximum(low[at], middle + shrunk[0] * scale)
            high[at] = np.minimum(high[at], middle + shrunk[1] * scale)
        for d in self.families:
            at = np.flatnonzero(smooth & keep)
            if not len(at):
                break
            on, members = self._sheet(z[at], reach[at], d)
            keep[at[on]] = False
            proof.members += [(place, d) for place in members[on]]
        return low[keep], high[keep]

    # Bounds may be infinite on both sides; no middle is known then, and such boxes are left open.
    @np.errstate(invalid="ignore")
    def _multipliers(self, mid, rad) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tell which boxes satisfy the rows, and between which bounds multipliers lie there.

        With C the inverse of Aᵀ in the middle, λ = C g + (I − C Aᵀ) λ: where the rows keep their
        directions over a box, that is a bound.
        """
        count, m = len(mid), self.m
        if not m:
            return np.ones(count, bool), np.empty((count, 0)), np.empty((count, 0))
        low, high, _ = self.parts(mid - rad, mid + rad)
        e = self.equations
        rows = slice(e, e + m)
        possible = np.all((low[:, rows] <= 0) & (high[:, rows] >= 0), axis=1)
        g = (low[:, :e] + high[:, :e]) / 2, (high[:, :e] - low[:, :e]) / 2
        A = [x[:, e + m :].reshape(count, -1, m).transpose(0, 2, 1) for x in (low, high)]
        middle, spread = (A[0] + A[1]) / 2, (A[1] - A[0]) / 2
        center, radius = np.zeros((count, m)), np.full((count, m), np.inf)
        good = np.flatnonzero(
            possible & np.all(np.isfinite(middle), axis=(1, 2)) & np.all(np.isfinite(g[0]), axis=1)
        )
        if len(good):
            C = np.linalg.pinv(middle[good].transpose(0, 2, 1))
            off = np.abs(np.eye(m) - C @ middle[good].transpose(0, 2, 1))
            off += np.abs(C) @ spread[good].transpose(0, 2, 1)
            first = (C @ g[0][good, :, None])[..., 0]
            around = (np.abs(C) @ g[1][good, :, None])[..., 0]
            # |λ| ≤ |C g| + |off| |λ|: a bound where the powers of |off| die out.
            bounded = np.abs(np.linalg.eigvals(off)).max(axis=1) < 0.9
            solve = np.eye(m) - np.where(bounded[:, None, None], off, 0.0)
            most = np.linalg.solve(solve, (np.abs(first) + around)[..., None])
            spread_of = around + (off @ most)[..., 0]
            center[good] = first
            radius[good] = np.where(
                bounded[:, None], 1.1 * spread_of + 1e-12 * np.abs(first), np.inf
            )
        return possible, center, np.maximum(radius, _THIN * rad.max(axis=1, keepdims=True))

    def _slopes(self, z, reach) -> tuple[np.ndarray, np.ndarray]:
        """Return middle and radius of ∂F over boxes, in units of their own size, rows of one."""
        low, high, _ = self.J(z - reach, z + reach)
        low, high = (x.reshape(len(z), self.rows, -1) * reach[:, None] for x in (low, high))
        return (low + high) / 2, (high - low) / 2

    def _value(self, z) -> tuple[np.ndarray, np.ndarray]:
        low, high, _ = self.F(z, z)
        return (low + high) / 2, (high - low) / 2

    @np.errstate(all="ignore")
    def _krawczyk(self, z, reach, inner):
        """Apply Krawczyk's operator to neighbourhoods of boxes.

        Returns which boxes hold no zero, which neighbourhoods hold exactly one, where that is, and
        to what share of their neighbourhood boxes shrink.
        """
        count, k, u = len(z), self.k, self.k + self.m
        J, spread = self._slopes(z, reach)
        F, blur = self._value(z)
        fine = np.all(np.isfinite(spread), axis=(1, 2)) & np.all(np.isfinite(F), axis=1)
        size = np.abs(J).max(axis=2, initial=0.0) + spread.max(axis=2, initial=0.0)
        size = np.where(fine[:, None] & (size > 0), size, 1.0)
        J, spread, F, blur = J / size[..., None], spread / size[..., None], F / size, blur / size
        Y = np.zeros((count, u, self.rows))
        Y[fine] = np.linalg.pinv(J[fine], rcond=1e-12)
        E = np.abs(np.eye(u) - Y @ J) + np.abs(Y) @ spread
        center = -(Y @ F[..., None])[..., 0]
        radius = E.sum(axis=2) + (np.abs(Y) @ blur[..., None])[..., 0]
        # What the sums of the last lines may have lost, of the identity and of what is beside it.
        terms = (np.abs(Y) @ (np.abs(F) + np.abs(J).sum(axis=2))[..., None])[..., 0]
        radius += 1e-14 * u * (np.eye(u).sum(axis=1) + terms)
        center, radius = (
            np.where(fine[:, None], center, 0.0),
            np.where(fine[:, None], radius, np.inf),
        )
        square = self.rows == u
        sure = fine & square & np.all(np.abs(center) + radius < 1, axis=1)
        below = np.maximum(center - radius, -1.0)[:, :k]
        above = np.minimum(center + radius, 1.0)[:, :k]
        below, above = np.maximum(below, -inner), np.minimum(above, inner)
        gone = np.any(below > above, axis=1)
        return gone, sure, z + center * reach, (below, above)

    # -- families ---------------------------------------------------------------------------------

    def _numbers(self, z: np.ndarray) -> np.ndarray:
        """Return zeros near to places, as the swarm finds them, all entries."""
        whole = np.tile(self.swarm.home, (len(z), 1))
        whole[:, self.places] = z
        return self.swarm.corrected(whole, 20)

    def _look_for_families(self, low, high) -> None:
        """Look among what is left for zeros with directions in which they go on."""
        some = np.linspace(0, len(low) - 1, min(_LOOKED_AT, len(low))).astype(int)
        mid, rad = (low[some] + high[some]) / 2, (high[some] - low[some]) / 2
        _, center, _ = self._multipliers(mid, rad)
        zeros = self._numbers(np.hstack([mid, center]))
        near = np.all(np.abs(zeros[:, self.places[: self.k]] - mid) <= 4 * rad, axis=1)
        for d in self.swarm.flat_directions(zeros[near]):
            if 0 < d < self.k + self.m:
                self.families.add(int(d))

    @np.errstate(all="ignore")
    def _sheet(self, z, reach, d: int) -> tuple[np.ndarray, np.ndarray]:
        """Tell in which boxes all zeros lie on one sheet of dimension d, and a zero on it.

        Krawczyk's test across the sheet, for every place along it: the sheet is a graph.
        """
        count, u = len(z), self.k + self.m
        r = u - d
        whole = self._numbers(z)
        p = whole[:, self.places]
        on = self.swarm.is_zero(whole) & np.all(np.abs(p - z) <= 3 * reach, axis=1)
        on[on] = self.swarm.flat_directions(whole[on]) == d
        at = np.flatnonzero(on)
        if not len(at):
            return on, whole
        z, p, reach = z[at], p[at], reach[at]
        J, spread = self._slopes(p, reach)
        fine = np.all(np.isfinite(spread), axis=(1, 2))
        size = np.abs(J).max(axis=2, initial=0.0) + spread.max(axis=2, initial=0.0)
        size = np.where(fine[:, None] & (size > 0), size, 1.0)
        U, S, Vt = np.linalg.svd(np.where(fine[:, None, None], J / size[..., None], 0.0))
        across, along = Vt[:, :r].transpose(0, 2, 1), Vt[:, r:].transpose(0, 2, 1)
        apart = np.abs((z - p) / reach)
        long = (np.abs(along).transpose(0, 2, 1) @ (1 + apart)[..., None])[..., 0]
        broad = 1.5 * (np.abs(across).transpose(0, 2, 1) @ (1 + apart)[..., None])[..., 0]
        hull = (np.abs(along) @ long[..., None] + np.abs(across) @ broad[..., None])[..., 0]
        J, spread = self._slopes(p, reach * hull)
        J, spread = (x / hull[:, None] / size[..., None] for x in (J, spread))
        F, blur = (x / size for x in self._value(p))
        Y = U[:, :, :r].transpose(0, 2, 1) / np.maximum(S[:, :r, None], 1e-300)
        blurred = np.abs(Y) @ spread
        E = np.abs(np.eye(r) - Y @ J @ across) + blurred @ np.abs(across)
        away = np.abs(Y @ J @ along) + blurred @ np.abs(along)
        total = np.abs(Y @ F[..., None]) + np.abs(Y) @ blur[..., None]
        total = (total + away @ long[..., None] + E @ broad[..., None])[..., 0]
        alone = np.zeros(count, bool)
        alone[at] = fine & np.all(total < broad, axis=1)
        return alone, whole


def _halved(low, high, width) -> tuple[np.ndarray, np.ndarray]:
    """Halve boxes across the side that is longest beside the whole, a little off the middle."""
    if not len(low):
        return low, high
    side = np.argmax((high - low) / width, axis=1)
    every = np.arange(len(low))
    cut = low[every, side] + 0.4849 * (high - low)[every, side]
    left, right = high.copy(), low.copy()
    left[every, side] = right[every, side] = cut
    return np.vstack([low, right]), np.vstack([left, high])
