"""What kind of point an equilibrium is: minimum, saddle or family, and by what it is held."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse

from stationary.lower.rounding import rounding
from stationary.result.equilibrium import Equilibrium
from stationary.result.multipliers import Multipliers
from stationary.result.stability import Stability
from stationary.result.status import Status
from stationary.solve.linear import (
    SOFTEST,
    Saddle,
    null_rows,
    orthonormal,
    tangent_basis,
)
from stationary.solve.newton import Ending, Place
from stationary.solve.rest.point import AbstractPoint
from stationary.solve.rest.stability import changes_with_time, judged

# A stiffness this many times smaller than the largest does not tell a minimum from a slope: the
# energy nearby does.
_SUSPICIOUS = 1e-5
# Less suspicious, where to look around takes long.
_SUSPICIOUS_LARGE = 1e-7

# How far from a point the energy is looked at, relative to its extent.
_NEAREST, _FARTHEST = 1e-8, 0.1

# Last digits within which a place of rest may lie beside the true one.
_PLACE = 256

# Lengths of which those are this share tell nothing: the energy is looked at many times beyond.
_HIDDEN, _BEYOND = 1e-6, 2.0**48

# The energy tells stiffnesses that are this share of their rounding.
_TOLD = 1e-4

# Mixtures of flat directions that are looked along, at most.
_MIXED = 64

# Flat directions that are looked along one by one.
_FEW = 3

# How far along a family another equilibrium is looked for, relative to the extent of a point.
_MOVES = (1e-2, 1e-3)

# How far from a point that rests nothing is on a slope, and half of that.
_SLOPES = (2e-3, 1e-3)

# Steps in which what lies across a valley is balanced.
_MOST_RELAXATIONS = 12


class Examination(AbstractPoint):
    """A point at which forces balance, and what can be said of it."""

    def sharper(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return a place nearby that is better balanced, and its multipliers, if there is one.

        What is left of forces bends what is flat: links that are pressed by next to nothing seem to
        fall to the side. Newton's method goes no further where the stiffness is singular, but
        across what is flat it does.
        """
        search, active, (values, vectors) = self.search, self.active[self.kept], self.smallest
        stiffest = float(np.max(self.saddle.stiffness, initial=0.0))
        flat = orthonormal(vectors[:, np.abs(values) <= _SUSPICIOUS_LARGE * stiffest])
        best = place = Place(search, self.q, self.lam[self.kept], active)
        lowest = first = search.left_over(place)
        for _ in range(4):
            move, minus = self._across(place, flat)
            place = Place(search, search.moved(place.q, move), place.lam - minus, active)
            if not place.finite or not search.left_over(place) < lowest:
                break
            best, lowest = place, search.left_over(place)
        if not lowest < 0.1 * first:
            return None
        lam = np.zeros(len(self.active))
        lam[self.kept] = best.lam
        return best.q, lam

    # -- the energy nearby ------------------------------------------------------------------------

    @cached_property
    def conservative(self) -> bool:
        """Whether the forces have a potential."""
        return self.search.stated or self.search.conservative(self.q)

    @property
    def lower(self) -> np.ndarray | None:
        """A configuration nearby with less energy, or None where none was found."""
        return self._looked[0]

    @cached_property
    def _looked(self) -> tuple[np.ndarray | None, np.ndarray]:
        """A configuration nearby with less energy, and which of the unclear ways stay level.

        Directions with a stiffness that is negative or next to nothing are followed to both sides
        until the energy differs by more than its rounding.
        """
        level = np.zeros(int(self._unclear.sum()), dtype=bool)
        if not self.conservative or not np.all(np.isfinite(self.hessian.data)):
            return None, level
        unclear = np.flatnonzero(self._unclear[self._looked_along])
        for k, (way, off) in enumerate(self.weak):
            ends = [self._along(side, off) for side in (way, -way)]
            if min(rise for rise, _ in ends) < 0:
                return min(ends, key=lambda pair: pair[0])[1], level
            level[unclear == k] = not all(rise for rise, _ in ends)
        return None, level

    @cached_property
    def slopes(self) -> bool:
        """Whether the energy falls to one side as fast as it rises to the other.

        Beside forces of what is far stiffer, which last digits change by more, one along a weak way
        is no force at all: this looks as far as nothing that rests is on a slope.
        """
        if self.lower is None:
            return False
        way = self.lower - self.q
        way = way / np.abs(way / self.search.neighbourhood(self.q)).max()
        falls = []
        for size in _SLOPES:
            places = [self.search.onto(self.q + x * way, self.active) for x in (size, -size)]
            if any(place is None for place in places):
                return False
            ahead, behind = map(self._rise, places)
            falls.append((behind - ahead) / size)
            if abs(ahead + behind) > 0.5 * (behind - ahead) or behind - ahead < 16 * self._noise:
                return False
        # Of what rests, however flat, less than a quarter of a slope is left at half of a way.
        return bool(falls[1] > 0.5 * falls[0])

    @cached_property
    def hidden(self) -> np.ndarray | None:
        """A way along which rounding hides what forces do; None where none is.

        None can be told from zero there, and there is no family either.
        """
        if self.lower is not None or not np.all(np.isfinite(self.hessian.data)):
            return None
        if self.conservative:
            ways = self.smallest[1][:, self._unclear].T[self._looked[1]]
        else:
            ways = self._pushed_by_nothing
        if not len(ways):
            return None
        flat = orthonormal(ways.T)
        return next((way for way in ways if not self._slides(way, flat)), None)

    @property
    def _pushed_by_nothing(self) -> np.ndarray:
        """Ways along which forces do not change, one per row; they need not have an energy."""
        if not self.saddle.dense:
            return np.zeros((0, len(self.q)))
        D = self._moves
        Z = tangent_basis(self.limits[1] @ sparse.diags(D))
        K = Z.T @ (D[:, None] * self.hessian.toarray() * D) @ Z
        return null_rows(K, SOFTEST) @ Z.T * D if K.size else np.zeros((0, len(self.q)))

    @cached_property
    def _reach(self) -> tuple[np.ndarray, float]:
        """Lengths beside the largest of them, whose squares are numbers in every unit, and that."""
        reach = self.search.neighbourhood(self.q)
        unit = float(np.max(reach, initial=0.0)) or 1.0
        return reach / unit, unit

    @cached_property
    def _soft(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Which of the smallest stiffnesses do not tell; all, per square of the largest move.

        Measured so, a slow mode of many coordinates is no weak one. Beside them the share of the
        stiffest below which one is suspicious.
        """
        values, vectors = self.smallest
        reach, _ = self._reach
        stiffest = np.maximum(self.search.stiffest, self.saddle.stiffness / self._moves**2)
        share = _SUSPICIOUS if self.saddle.dense else _SUSPICIOUS_LARGE
        least = share * float(np.max(stiffest * reach**2, initial=0.0))
        values = values / np.abs(vectors / reach[:, None]).max(axis=0, initial=1e-300) ** 2
        return self._unclear | (values <= least), values, least

    @property
    def _looked_along(self) -> np.ndarray:
        """Which of the softest ways the energy is looked at along: along a family it is level."""
        some, unclear = self._soft[0], self._unclear
        return some & ~unclear if unclear.any() and len(self.free) == unclear.sum() else some

    @cached_property
    def weak(self) -> list[tuple[np.ndarray, float]]:
        """Directions in which the stiffness does not tell, and how far off the balance may be."""
        (reach, unit), (_, values, least), some = self._reach, self._soft, self._looked_along
        values, vectors, unclear = values[some], self.smallest[1][:, some], self._unclear[some]
        left = self.search.forces(self.q)[0] - self.limits[1].T @ self.lam
        vectors = vectors / np.abs(vectors / reach[:, None]).max(axis=0, initial=1e-300)
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.nan_to_num(np.abs(left @ vectors / values) / unit, nan=0.0, posinf=0.0)
        # The first of the largest entries goes up: what is found does not depend on chance.
        first = np.argmax(np.abs(vectors / reach[:, None]) > 0.9, axis=0)
        vectors = vectors * np.sign(vectors[first, np.arange(len(values))])
        ways = [(way, float(o)) for way, o in zip(vectors.T, off)]
        flat = np.flatnonzero(unclear | (np.abs(values) <= least))
        if len(flat) > 1:
            # Where several are flat, the energy may fall between them.
            many = min(8 * len(flat), _MIXED)
            mixed = np.random.default_rng(3).standard_normal((many, len(flat)))
            ways += [(vectors[:, flat] @ share, float(off[flat].max())) for share in mixed]
        return ways + self._pushed_on

    @property
    def _pushed_on(self) -> list[tuple[np.ndarray, float]]:
        """Coordinates that forces push on from a chance move: of more than can be looked along."""
        if self.inertia[2] <= len(self.smallest[0]) or len(self.kept):
            return []
        chance, reach, ways = np.random.default_rng(6), self.search.neighbourhood(self.q), []
        for share in _MOVES:
            move = share * reach * chance.uniform(-1, 1, len(reach))
            work = self.search.forces(self.q + move)[0] * move
            some = np.argsort(work)[:_FEW]
            ways += [(reach * (np.arange(len(reach)) == i), 0.0) for i in some if work[i] < 0]
        return ways

    def _along(self, way: np.ndarray, off: float) -> tuple[float, np.ndarray]:
        """Return the first change of the energy along a direction that is more than rounding.

        Where it falls, it is followed as far as it goes on falling, or as the point is large.
        """
        way = way / np.abs(way / self.search.neighbourhood(self.q)).max()
        # A place is known to some of its last digits: what falls within those tells nothing.
        along = int(np.argmax(np.abs(way / self.search.neighbourhood(self.q))))
        known = _PLACE * np.spacing(np.abs(self.q[along])) / np.abs(way[along])
        step = max(_NEAREST, min(100 * off, 1e-3), known)
        lowest, stride = (0.0, self.q), 4.0
        farthest = self._far * max(1.0, min(self._telling, _BEYOND))
        while step < farthest:
            there = self.search.onto(self.q + step * way, self.active)
            if there is None or self._through(there):
                break
            rise = self._told_rise(there)
            if rise > 0:
                # What is straight may climb the side of a valley that falls.
                there = self._relaxed(there)
                if there is None:
                    break
                rise = self._told_rise(there)
                # Of large systems that takes long.
                stride = 4.0 if self.saddle.dense else 64.0
            if rise > 0 or rise >= lowest[0] and lowest[0]:
                return (rise, there) if not lowest[0] else lowest
            if rise < 0:
                lowest, farthest = (rise, there), max(_FARTHEST, 16 * step)
            step *= stride
        return lowest

    @cached_property
    def _telling(self) -> float:
        """How far the energy tells what stiffness does not, beside what is looked at.

        There it changes by more than its rounding, were the stiffness a small part of its own.
        """
        known = _TOLD * float(np.min(self.rounding[self._unclear], initial=np.inf))
        unit = self._far * float(np.max(self.search.neighbourhood(self.q) / self._moves))
        return np.sqrt(2 * self._noise / known) / unit

    @cached_property
    def _far(self) -> float:
        """How far the energy is looked at, beside what a place is judged by.

        Where nothing tells a length, very far. Something may be so stiff that what it tells is no
        longer than last digits: then far beyond those.
        """
        if not self.search.tells_length:
            return _BEYOND
        digits = np.spacing(np.abs(self.q)) / self.search.neighbourhood(self.q)
        share = float(np.max(digits, initial=0.0))
        return 1.0 if share < _HIDDEN else max(1.0, _BEYOND * share)

    def _relaxed(self, q: np.ndarray) -> np.ndarray | None:
        """Return the place beside one at which what lies across all that is next to flat balances.

        None where no digits are left to find it.
        """
        search, active, lam = self.search, self.active[self.kept], self.lam[self.kept]
        if self._crowd:
            return q
        flat = orthonormal(self.smallest[1][:, self._soft[0]])
        for _ in range(_MOST_RELAXATIONS):
            place = Place(search, q, lam, active)
            if not place.finite:
                return None
            move, minus = self._across(place, flat)
            # What is still to be gained changes no sign.
            if abs(float(place.left @ move)) <= self._noise + 1e-3 * abs(self._rise(q)):
                return q
            q, lam = search.moved(q, move), lam - minus
        return None

    def _across(self, place: Place, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the step of Newton's method across some directions, of place and multipliers."""
        known = np.concatenate([-place.c, np.zeros(flat.shape[1])])
        saddle = Saddle(place.H, sparse.vstack([place.A, flat.T]).tocsc())
        if self._crowd:
            # Those that are not known stay where they are.
            stiff = saddle.stiffness
            held = np.where(stiff > 0, stiff, stiff.max(initial=0.0) or 1.0)
            saddle = saddle.shifted(_SUSPICIOUS_LARGE * held)
        move, minus = saddle.solve(-place.left, known)
        return move, minus[: len(place.lam)]

    def _rise(self, there: np.ndarray) -> float:
        """Change of the energy, corrected for what is left of the constraints."""
        search = self.search
        change = search.levels(there)[self.active] - self.limits[0][self.active]
        return search.rise(self.q, there, search.stated) - float(self.lam @ change)

    @cached_property
    def _noise(self) -> float:
        """Rounding of the energy: how it scatters about its slope and its stiffness."""
        rng = np.random.default_rng(2)
        tiny, digits = 1e-11 * self.search.neighbourhood(self.q), np.spacing(np.abs(self.q))
        tiny = np.where(self.q == 0, tiny, np.minimum(tiny, _PLACE * digits))
        left = self.search.forces(self.q)[0] - self.limits[1].T @ self.lam
        scatter = []
        for _ in range(4):
            there = self.q + tiny * rng.standard_normal(len(self.q))
            d = there - self.q
            scatter.append(abs(self._rise(there) - left @ d - d @ (self.hessian @ d) / 2))
        noise = 8 * max(scatter) + 4e-16 * abs(self.search.forces(self.q)[1])
        # And what last digits cost, here and as far as is looked: of (x² − 1)² all else is zero.
        d = np.spacing(np.maximum(np.abs(self.q), self.search.neighbourhood(self.q)))
        return noise + 4 * float(d @ (abs(self.hessian) @ d)) + self._energy_lost(self.q)

    def _energy_lost(self, q: np.ndarray) -> float:
        """Return what a stated energy loses where terms cancel, as 1 − cos, without a scatter."""
        search = self.search
        at = [search.t, q, search.inputs(q), search.params]
        lost = rounding(search.balance, "forces", at, output=1) if search.stated else None
        return 0.0 if lost is None else 4 * float(lost[0])

    def _told_rise(self, there: np.ndarray) -> float:
        """Change of the energy, zero where it may be rounding: here, or of terms that grow."""
        rise = self._rise(there)
        return rise if abs(rise) > self._noise and abs(rise) > self._energy_lost(there) else 0.0

    def _through(self, there: np.ndarray) -> bool:
        """Tell whether a configuration passes through a contact that is open."""
        rows = self.search.balance.rows
        if not self.search.balance.gaps:
            return False
        gaps, B = self.search.limits(there, np.arange(rows, rows + self.search.balance.gaps))
        return bool(np.any(gaps < -self.search.small(there, B, 1e-12)))

    @cached_property
    def free(self) -> np.ndarray:
        """Directions in which the system can be moved and still rests, one per row."""
        flat = self.smallest[1][:, self._unclear]
        flat = flat if self._alike else orthonormal(flat)
        ways = flat.T
        if len(ways) > _FEW:
            # A family of fewer dimensions holds no mixture of all of them.
            chance = np.random.default_rng(5).standard_normal((_FEW, len(ways)))
            if all(self._slides(flat @ share, flat) for share in chance):
                return ways
        chosen: list[int] = []
        for i, way in enumerate(ways):
            # Where families cross, each slides along its own, and no mixture does.
            mixed = [way, sum(ways[chosen], start=way)] if chosen else [way]
            if all(self._slides(x, flat) for x in mixed):
                chosen.append(i)
        return ways[chosen]

    def _slides(self, way: np.ndarray, flat: np.ndarray) -> bool:
        """Tell whether there are equilibria to both sides of one: a family, no flat minimum.

        A long way may fold what is made of many short parts: then a shorter one tells as well.
        """
        for side in (way, -way):
            answers = (self._slides_by(share, side, flat) for share in _MOVES)
            if not next((slides for slides in answers if slides is not None), False):
                return False
        return True

    def _slides_by(self, share: float, way: np.ndarray, flat: np.ndarray) -> bool | None:
        """Tell whether what balances in a direction has one energy; None where nothing does.

        It is followed as far as it goes: what is nearby may be level within rounding.
        """
        search, q, lam, gone = self.search, self.q, self.lam[self.kept], 0.0
        way = share * self._far * way / np.abs(way / search.neighbourhood(self.q)).max()
        times = 1.0
        while share * times < 1 or share * times < self._telling and times < _BEYOND:
            there = self._balanced(search.moved(q, (times - gone) * way), lam, flat)
            if there is None:
                return gone > 0 or None
            q, lam, gone, times = there.q, there.lam, times, 4 * times
            # No energy changes along a family, however stiff what lies across it is.
            if self.conservative and self._told_rise(q):
                return False
        return True

    def _balanced(self, q: np.ndarray, lam: np.ndarray, flat: np.ndarray) -> Place | None:
        """Return where forces balance beside a place, across what is flat, or None."""
        search, active, settled = self.search, self.active[self.kept], None
        # Where nothing is stiff nothing lies across.
        most = _MOST_RELAXATIONS if len(active) or self.saddle.stiffness.any() else 1
        for _ in range(most):
            place = Place(search, q, lam, active)
            good = place.finite and search.left_over(place) <= 1
            if settled is not None or not place.finite:
                # One step more was made, for the energy has more digits than the forces need.
                return place if good else settled
            settled = place if good else None
            # Across the flat directions only: along them a flat minimum would be settled again.
            move, minus = self._across(place, flat)
            q, lam = search.moved(q, move), lam - minus
        return settled

    # -- the result -------------------------------------------------------------------------------

    @cached_property
    def minimum(self) -> bool | None:
        """Whether the energy has a minimum there; None where nothing tells."""
        if not self.conservative:
            return None
        least = self.inertia[1] == 0 and self.lower is None
        return None if least and self.hidden is not None else least

    @cached_property
    def frozen(self) -> str | None:
        """What changes as time goes on, if anything does."""
        return changes_with_time(self.search, self.q)

    @cached_property
    def stability(self) -> Status:
        """What small motions do, in a word, and why."""
        K, A = self.hessian, self.limits[1]
        above, below, level = self.inertia
        maximum = self.conservative and below > 0 and not above and not level
        word = judged(self.search, self.q, K, A, self.minimum, self.frozen, maximum)
        if self.hidden is None or word in (Stability.SADDLE, Stability.FLUTTER):
            return word
        return Status(Stability.UNDECIDED, self._hides(self.hidden))

    def _hides(self, way: np.ndarray) -> str:
        """Say along which coordinates rounding hides what forces do."""
        shares = np.abs(way) / self.search.moves(self.q)
        largest = np.argsort(-shares, kind="stable")[:_FEW]
        named = [self.search.layout.name(int(i)) for i in largest if shares[i] > 0.1 * shares.max()]
        along = ", ".join(f"'{name}'" for name in named)
        return (
            f"what forces do along {along} is lost in the rounding of stiffer ones: state those as "
            "constraints"
        )

    def _potential(self) -> float | None:
        """Return the energy of forces that have one though none is stated: their work from q = 0.

        Two quadratures must agree on it.
        """
        search = self.search
        if not (np.all(np.isfinite(self.hessian.data)) and search.conservative(self.q)):
            return None
        works = []
        for count in (40, 60):
            nodes, weights = np.polynomial.legendre.leggauss(count)
            pulls = [float(search.forces((x + 1) / 2 * self.q)[0] @ self.q) for x in nodes]
            works.append(float(weights @ pulls) / 2)
        zero = search.forces(np.zeros_like(self.q))[1]
        size = max(abs(zero), *map(abs, works), 1e-300)
        good = np.isfinite(size) and abs(works[0] - works[1]) <= 1e-10 * size
        return zero + works[1] if good else None

    def _inputs(self) -> dict[str, Any]:
        """Return what holds for the inputs: numbers, or the expressions that were given."""
        search = self.search
        values = zip(search.system.inputs, search.signature, search.inputs(self.q).tolist())
        return {
            u.name: content if kind == "expression" else value
            for u, (kind, content), value in values
        }

    def _known_to(self) -> np.ndarray:
        """Return how far the forces that are left push coordinates, in moves that count alike."""
        stiffness = np.abs(self.smallest[0])
        # Along a family nothing pushes.
        stiffness = stiffness[stiffness > self.rounding]
        left = self.search.forces(self.q)[0] - self.limits[1].T @ self.lam
        work = float(np.max(np.abs(left) * self._moves, initial=0.0))
        share = work / float(stiffness.min()) if len(stiffness) else 0.0
        # Below the smallest normal number there are no digits.
        return np.maximum(share * self._moves, np.finfo(float).tiny)

    def wrapped(self, status: Ending) -> Equilibrium:
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
        # Large systems take long; where forces do not balance, signs say nothing.
        balanced = status in (Ending.BALANCED, Ending.SADDLE)
        known = finite and (balanced or self.saddle.dense)
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
            eigenvalues=self.eigenvalues if known else np.empty(0),
            inertia=self.inertia if known else (0, 0, 0),
            stability=self.stability
            if finite and status in (Ending.BALANCED, Ending.SADDLE)
            else Status(Stability.UNDECIDED, "forces do not balance there"),
            frozen=self.frozen,
            free=self.free if finite and status is Ending.BALANCED else np.empty((0, len(q))),
            residual=residual,
            redundant=self.redundant,
            status=Status(str(status), status.value),
            steps=search.steps,
            known_to=self._known_to() if known else np.zeros_like(q),
        )
