"""All motions that some pressure allows: where that set ends, and how far it goes.

A push leaves a part a plane of motions (a smooth finger, one that slides) or a line of them (one
that sticks). A motion belongs to the set if a pressure balances it, which a linear program decides;
the set ends where the value of that program is zero, and it says how that value changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from stationary.result.least_power import motions
from stationary.solve.pressure.envelope import Claim, Pressures, field
from stationary.solve.pressure.simplex import solved

# Relative to the size of the part and the speed of the finger, which are one here.
_CLOSE = 1e-12
_FAR = 1e9
#: Rounds in which the columns of a program move to where they are best; one is rough.
FINE = 12


@dataclass(frozen=True)
class Mode:
    """One way in which a finger touches: which motions it allows and with which forces.

    Attributes
    ----------
    name : str
    base : ndarray
        One of the motions.
    free : ndarray, shape (3, n)
        How they differ from it.
    force : ndarray
        The wrench of the finger, up to its size; of none where `cone` is given.
    cone : tuple of ndarray
        Twists w with ⟨w·v̂⟩ ≥ 0: the force is inside the cone of friction.
    guard : ndarray or None
        A covector that is not negative on the twists of this mode: the side it slips to.
    """

    name: str
    base: np.ndarray
    free: np.ndarray
    force: np.ndarray | None = None
    cone: tuple[np.ndarray, ...] = ()
    guard: np.ndarray | None = None

    def balance(self, way: np.ndarray, twist: np.ndarray) -> np.ndarray:
        """Return the virtual motion along `way` on which the force of the finger does no work."""
        if self.force is None:
            return way
        return way - (self.force @ way) / (self.force @ twist) * twist

    def allows(self, twist: np.ndarray) -> bool:
        """Tell whether it slips to the right side, and the finger's force does not pull."""
        if self.force is not None and not self.force @ twist > 0:
            return False
        return self.guard is None or bool(self.guard @ twist >= -1e-10)


@dataclass(frozen=True)
class Edge:
    """A place where the set of motions ends, and the program that says so."""

    twist: np.ndarray
    claim: Claim
    reach: float


class Region:
    """The motions of a part under one mode of its finger."""

    def __init__(self, pressures: Pressures, mode: Mode):
        self.pressures = pressures
        self.mode = mode

    def even(self) -> np.ndarray:
        """Return the motion under a pressure that is spread evenly, as a place to start from."""
        points, masses = spread(self.pressures)
        base, free = self.mode.base, self.mode.free
        if self.mode.force is not None and free.shape[1] == 2:
            # The motion of least power for a finger that pushes along its force.
            _, _, rest = np.linalg.svd(self.mode.force[None])
            unit = self.mode.force / (self.mode.force @ self.mode.force)
            z, _ = motions(points, masses, unit[None], rest[1:].T[None])
            twist = unit + rest[1:].T @ z[0]
            rows = np.linalg.svd(free.T)[2][2]
            return twist * ((rows @ base) / (rows @ twist))
        z, _ = motions(points, masses, base[None], free[None])
        return base + free @ z[0]

    def value(self, twist: np.ndarray, way: np.ndarray, other: np.ndarray | None,
              near: Claim | None = None, rounds: int = FINE) -> tuple[Claim, float]:  # fmt: skip
        """Return the least ⟨way·v̂⟩ of pressures in balance along `other`, and its slope."""
        aim = self.mode.balance(way, twist)
        zero = () if other is None else (self.mode.balance(other, twist),)
        claim = self.pressures.least(twist, aim, zero, self.mode.cone, near, rounds)
        return claim, self.slope(claim, twist, way, other, way)

    def slope(self, claim: Claim, twist: np.ndarray, way: np.ndarray, other: np.ndarray | None,
              change: np.ndarray) -> float:  # fmt: skip
        """Return the derivative of the value of a claim when the twist changes."""
        if not claim.feasible:
            return np.nan
        total = claim.slope(change)
        force = self.mode.force
        if force is not None:
            nu = claim.dual[0] if other is not None else 0.0
            mixed = way if other is None else way - nu * other
            works, drive = float(force @ mixed), float(force @ twist)
            if works:
                # The virtual motions themselves turn with the twist.
                spread = (field(twist, claim.points) * claim.ways).sum(axis=1)
                swept = (field(change, claim.points) * claim.ways).sum(axis=1)
                turned = works * float(force @ change) / drive**2 * spread - works / drive * swept
                total += float(claim.masses @ turned)
        return total

    def edge(self, twist: np.ndarray, way: np.ndarray, other: np.ndarray | None,
             guess: float = 0.0, near: Claim | None = None,
             rounds: int = FINE) -> Edge | None:  # fmt: skip
        """Go from a motion of the set along `way` to the end of the set.

        The value is negative inside and positive outside: it is brought to zero by Newton's method
        between bounds. None where the motion itself is outside. In a single round, roughly.
        """
        rough = rounds == 1
        close, narrow = (2e-3, 1e-2) if rough else (_CLOSE, 1e-14)
        low, high, reach = 0.0, np.inf, guess
        best: Claim | None = None
        if not guess:
            claim, slope = self.value(twist, way, other, near, rounds)
            if not claim.feasible or claim.value > 1e-9:
                return None
            best = claim
            reach = -claim.value / slope if slope > 0 else 0.1
            reach = min(max(reach, 1e-6), 10.0)
        for _ in range(100):
            claim, slope = self.value(twist + reach * way, way, other, best or near, rounds)
            if claim.feasible and claim.value <= 0:
                low, best = reach, claim
            else:
                high = reach
            if claim.feasible and abs(claim.value) <= close:
                return Edge(twist + reach * way, claim, reach)
            if np.isfinite(high) and high - low <= narrow * max(high, 1e-9):
                break
            if reach > _FAR:
                return None
            newton = reach - claim.value / slope if claim.feasible and slope > 0 else np.nan
            if low < newton < high and newton < 4 * reach + 1:
                reach = newton
            else:
                reach = (low + high) / 2 if np.isfinite(high) else 2 * reach + 1e-3
        if best is None:
            return None
        return Edge(twist + low * way, best, low)

    def top(self, functional: np.ndarray, start: np.ndarray | None = None) -> Edge | None:
        """Return the motion of a line of them with the greatest ``functional @ twist``."""
        slopes = functional @ self.mode.free
        start = self.even() if start is None else start
        if self.mode.free.shape[1] == 0 or np.abs(slopes).max() <= 1e-14 * np.abs(functional).max():
            return self.balanced(start)
        return self._top_of_line(float(slopes[0]), start)

    def balanced(self, twist: np.ndarray, rounds: int = FINE) -> Edge | None:
        """Return a pressure that balances a motion, if there is one."""
        zero = tuple(self.mode.balance(w, twist) for w in self.mode.free.T)
        claim = self.pressures.least(twist, np.zeros(3), zero, self.mode.cone, rounds=rounds)
        return Edge(twist, claim, 0.0) if claim.feasible else None

    def _top_of_line(self, slope: float, start: np.ndarray) -> Edge | None:
        way = self.mode.free[:, 0] / slope
        if not self.mode.cone:
            return self.edge(start, way, None)
        return self._stuck(start, way)

    def _stuck(self, start: np.ndarray, way: np.ndarray) -> Edge | None:
        """Return the last motion, along the line, that a force within the cone balances."""
        plain = Region(self.pressures, Mode("", self.mode.base, self.mode.free))
        up, down = plain.edge(start, way, None), plain.edge(start, -way, None)
        if up is None or down is None:
            return None

        def short(place: float, rounds: int = FINE) -> float:
            """Return by how much the force misses the cone: at most zero where it is inside."""
            twist = start + place * way
            worst = -np.inf
            for w in self.mode.cone:
                claim = self.pressures.least(twist, -w, (way,), rounds=rounds)
                worst = max(worst, claim.value)
            return worst

        places = np.linspace(up.reach, -down.reach, 13)
        values = [short(p, 1) for p in places]
        inside = [k for k, v in enumerate(values) if v <= 0]
        if not inside:
            return None
        k = inside[0]
        place = float(places[k])
        if k:
            place = _last(short, float(places[k]), float(places[k - 1]))
        twist = start + place * way
        claim = self.pressures.least(twist, np.zeros(3), (way,), self.mode.cone)
        return Edge(twist, claim, place) if claim.feasible else None


def _last(short, inside: float, outside: float) -> float:
    """Return the last place, from one inside to one outside, where `short` is not positive."""
    a, b = short(inside), short(outside)
    if not (a <= 0 < b):
        return outside if b <= 0 else inside
    if np.isfinite(b):
        found = brentq(short, inside, outside, xtol=1e-13 * abs(outside - inside))
        nudge = 1e-11 * (inside - outside)
        return found if short(found) <= 0 else found + nudge
    for _ in range(30):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if short(middle) <= 0 else (inside, middle)
    return inside


def spread(pressures: Pressures) -> tuple[np.ndarray, np.ndarray]:
    """Return a pressure over all of the support with its resultant at the centre."""
    rest = pressures.rest
    points = rest.corners if rest.feet else rest.columns
    # Nearest to even: weights 1/n + a·x that are positive, or a mixture of those that are extreme.
    A = np.vstack([np.ones(len(points)), points.T])
    total = np.zeros(len(points))
    rng = np.random.default_rng(0)
    b = np.array([1.0, 0.0, 0.0])
    for _ in range(8):
        vertex = solved(A, b, rng.normal(size=len(points)))
        held = vertex.basis < len(points)
        total[vertex.basis[held]] += vertex.amounts[held]
    return points, total / total.sum()
