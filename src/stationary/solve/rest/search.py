"""The search for an equilibrium: Newton's method on the balance of forces, IPOPT if rough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sparse

from stationary.lower.inputs import drives
from stationary.lower.kernel import graph_of
from stationary.lower.rounding import rounding
from stationary.model.layout import name_of
from stationary.model.system import System
from stationary.result.equilibrium import Equilibrium
from stationary.solve.linear import DENSE_UP_TO, Saddle
from stationary.solve.newton import Balancing, Ending, Place, iterated, shortened
from stationary.solve.progress import Progress
from stationary.solve.rest.at_rest import AbstractAtRest
from stationary.solve.rest.descent import Descent
from stationary.solve.rest.examine import Examination
from stationary.solve.rest.ipopt import by_ipopt
from stationary.solve.scales import clear_stiffnesses, scales_of, tied_digits

# Descents from points that are no minima.
_MOST_DESCENTS = 10

# Unbalanced forces and violations below this, relative to forces at work and to lengths of the
# statement, are none.
_ACCEPTED = 1e-10

# So many of what terms lose by rounding is nothing.
_ROUNDINGS = 16

# Lengths within one array of coordinates differ by no more than this, up and down.
_UNEVEN = 0.1

# Steps that bring a start onto its constraints; and how many may be shorter than this share.
_MOST_CORRECTIONS = 100
_CREEP, _MOST_CREEPS = 0.1, 3

# Largest system for which IPOPT is tried when Newton's method fails: beyond, it is too slow.
_IPOPT_UP_TO = 5000

# A coordinate this many times beyond the start has no equilibrium to go to.
_FAR = 1e8
# Nor is there one this far out, where forces have only faded away.
_FADED = 1e5

# How far beyond the search it is looked whether the energy still goes down, in powers of ten.
_DECADES = 7

# Decades over which a length is looked for where nothing tells one: all that units may make of it;
# and the part of a stiffness by which what is straight may change.
_UNITS, _STRAIGHT = 30, 1e-6

# A mode this many times softer than its coordinates lies along a valley; one softer still is level.
_VALLEY, _LEVEL = 1e-3, 1e-14

# Coordinates without stiffness whose lengths are looked for one by one; and places with other last
# digits, at which it is seen what these make of forces.
_FEW, _LOOKS = 8, 3


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
    return Search(
        layout.system, layout.values(params), driven.signature, driven.slots(t), t, kind=kind
    )


@dataclass
class Search(AbstractAtRest):
    """The search for an equilibrium at given parameters."""

    kind: str = "minimum"
    steps: int = 0
    #: Whether an energy is stated, and whether steps go down along it.
    stated: bool = False
    descends: bool = False
    #: Where it starts, and the radius of what bends, zero where all is straight.
    start: Any = None
    bend: Any = None
    #: Whether anything in the statement tells a length.
    tells_length: bool = True
    #: The largest stiffness of each coordinate on the way.
    stiffest: Any = None

    def run(self, q: np.ndarray) -> Equilibrium:
        """Search from a start and wrap up what was found."""
        self.prepare(q)
        if self.balance.gaps:
            return self._with_contacts(q)
        active = np.arange(self.balance.rows)
        place, lam, status, seen = self._settled(q, active)
        may_retry = self.kind == "minimum" and self.stated and len(q) <= _IPOPT_UP_TO
        lost = may_retry and status not in (Ending.BALANCED, Ending.SADDLE, Ending.UNBOUNDED)
        if lost and self._possible(q, place):
            again, _ = by_ipopt(self, q, self.metric)
            if self._near(q, again):
                other = self._settled(again, active)
                if other[2] is Ending.BALANCED:
                    place, lam, status, seen = other
        return (seen or self.examined(place, lam, active)).wrapped(status)

    def faded(self, begin: np.ndarray, place: np.ndarray) -> bool:
        """Tell whether a place is so far out that forces have only faded away."""
        return bool(np.max(np.abs(place - begin) / self.metric, initial=0.0) > _FADED)

    def _gone(self, place: np.ndarray, seen: Examination) -> bool:
        """Tell whether forces balance because they have faded away along the way to there.

        That is from where it was asked, wherever another method has led it since.
        """
        if not self.faded(self.start, place):
            return False
        along = int(np.argmax(np.abs(place - self.start) / self.metric))
        level = np.abs(seen.free / self.metric)
        return bool(seen.weak) or bool(np.any(level[:, along] > 0.1 * level.max(axis=1)))

    def _near(self, q: np.ndarray, place: np.ndarray) -> bool:
        """Tell whether a place is within reach of a start."""
        return bool(np.all(np.abs(place - q) <= _FAR * np.max(self.metric)))

    def _possible(self, *places: np.ndarray) -> bool:
        """Tell whether the constraints can be satisfied near one of these places."""
        for q in places:
            there, settled = self.nearest(q)
            A = self.limits(there, np.arange(self.balance.rows + self.balance.gaps))[1]
            if not settled or np.all(np.abs(self.violations(there)) <= self.small(there, A, 1e-8)):
                return True
        return False

    def prepare(self, q: np.ndarray) -> None:
        """Find out by what steps are measured: energy where there is one, else forces."""
        self.start = q
        with np.errstate(all="ignore"):
            scales = scales_of(self.balance.graph, self.params, self.t, q, u=self.inputs(q))
            bend = np.where(np.isfinite(scales.bend) & (scales.bend > 0), scales.bend, 0.0)
            self.bend = self._alike(bend)
            self.metric = self._alike(self._metric(q, scales.length), 1.0)
        self.stated = self.has_energy(q)
        self.descends = self.kind == "minimum" and (self.stated or self.conservative(q))

    def _alike(self, lengths: np.ndarray, uneven: float = _UNEVEN) -> np.ndarray:
        """Return lengths that differ little within coordinates of one array and unit.

        A rod along an axis does not tell its length across it.
        """
        evened = lengths.copy()
        for entries in self.layout.alike:
            some = entries[lengths[entries] > 0]
            if len(some) > 1:
                typical = float(np.median(lengths[some]))
                evened[some] = np.clip(lengths[some], uneven * typical, typical / uneven)
        return evened

    def _metric(self, q: np.ndarray, ways: np.ndarray) -> np.ndarray:
        """Return moves of the coordinates that count alike.

        Those that constraints bend have their radius; others move alike where that takes the same
        energy. What is not stiff either has the `ways` of the statement, as to a floor.
        """
        K = abs(self.tangent(q))
        stiff = clear_stiffnesses(self.tangent, q)
        # At rest nothing but last digits is left of the forces: they tell no length.
        force = np.abs(self.forces(q)[0])
        force = np.where(force > 64 * (K @ np.spacing(np.abs(q))), force, 0.0)
        self.stiffest = np.where(np.isfinite(stiff), stiff, 0.0)
        good = np.isfinite(stiff) & np.isfinite(force) & (stiff > 0)
        energies = np.divide(force**2, stiff, out=np.zeros(len(q)), where=good)
        bent = self.bend > 0
        # Nor does dust, as what is left of a coordinate that a mirror holds at zero.
        digits = np.max(stiff * (64 * np.spacing(np.abs(q))) ** 2, where=good, initial=0.0)
        energies = np.where(energies > digits, energies, 0.0)
        energies[good & bent] = (stiff * self.bend**2)[good & bent]
        energy = float(np.max(energies, initial=0.0))
        if good.all() and not bent.any():
            energy = max(energy, self._along_valleys(q, stiff))
        if not energy:
            rigid = np.sqrt(np.divide(1.0, stiff, out=np.zeros(len(q)), where=good))
            energy = self._turning(q, rigid) ** 2
            self.tells_length = energy > 0
        soft = np.sqrt(np.divide(energy or 1.0, stiff, out=np.zeros(len(q)), where=good))
        moves = np.where(bent, self.bend, soft)
        moves = np.where(moves > 0, moves, ways)
        unknown = np.flatnonzero(moves == 0)
        for some in unknown[:, None] if len(unknown) <= _FEW else [unknown]:
            moves[some] = self._steepening(q, some)
        moves = np.where(moves > 0, moves, self._by_rows(q, moves))
        typical = float(np.median(moves[moves > 0])) if np.any(moves > 0) else 1.0
        return np.where(moves > 0, moves, typical)

    def _by_rows(self, q: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """Return moves that change rows as much as others do, or, where none are known, alike."""
        A = abs(self.limits(q, np.arange(self.balance.rows + self.balance.gaps))[1])
        if not A.shape[0]:
            return np.zeros(len(q))
        columns = np.asarray(A.max(axis=0).todense()).ravel()
        change = np.max(columns * moves) or np.max(columns)
        return np.divide(change, columns, out=np.zeros(len(q)), where=columns > 0)

    def _along_valleys(self, q: np.ndarray, stiff: np.ndarray) -> float:
        """Return the energy at which every coordinate moves as far as its softest mode goes.

        Where springs couple coordinates, a mode may be many times softer than each of them. It goes
        as far as its force bends it, or as its own stiffness lasts.
        """
        if len(q) > DENSE_UP_TO:
            return 0.0
        units = 1 / np.sqrt(stiff)
        H = self.tangent(q).toarray() * np.outer(units, units)
        values, modes = np.linalg.eigh((H + H.T) / 2)
        soft = np.flatnonzero((np.abs(values) < _VALLEY) & (np.abs(values) > _LEVEL))
        if not len(soft):
            return 0.0
        far = float(np.max(self._pulled(q, units[:, None] * modes[:, soft]) / np.abs(values[soft])))
        sizes = 10.0 ** np.arange(-_UNITS, _UNITS + 1.0)
        for k in () if far else soft:
            way = units * modes[:, k]
            turned = [abs(way @ (self.tangent(q + s * way) @ way) / values[k] - 1) for s in sizes]
            some = np.flatnonzero(~(np.array(turned) < 0.3))
            far = max(far, float(sizes[some[0]])) if len(some) else far
        return far**2

    def _pulled(self, q: np.ndarray, ways: np.ndarray) -> np.ndarray:
        """Return the sizes of forces along some ways, zero where last digits make them.

        What a stiff spring makes of its own last digits pulls nothing along a way that spares it.
        """
        rng, digits, force = np.random.default_rng(8), np.spacing(np.abs(q)), self.forces(q)[0]
        near = [q + digits * rng.choice([-1.0, 1.0], len(q)) for _ in range(_LOOKS)]
        lost = np.abs([(self.forces(place)[0] - force) @ ways for place in near]).max(axis=0)
        pulls = np.abs(force @ ways)
        return np.where(pulls > 64 * lost, pulls, 0.0)

    def _turning(self, q: np.ndarray, moves: np.ndarray) -> float:
        """Return how many times some moves make stiffness or gradients others; 0 where none do.

        It is looked for over all decades, for nothing is known of units. Where they never do, as a
        cosine beside something stiffer, it is where they have done half of what they can.
        """
        way = moves * np.random.default_rng(5).standard_normal(len(q))
        every = np.arange(self.balance.rows + self.balance.gaps)

        def slopes(q: np.ndarray) -> list[np.ndarray]:
            return [self.stiffnesses(q), self.limits(q, every)[1].data if len(every) else every]

        here = slopes(q)
        lengths = [np.linalg.norm(x) for x in here]
        if not any(lengths) or not np.any(way):
            return 0.0
        sizes, changes = 10.0 ** np.arange(-_UNITS, _UNITS + 1.0), []
        for times in sizes:
            shares = [
                np.linalg.norm(new - old) / length
                for side in (times, -times)
                for new, old, length in zip(slopes(q + side * way), here, lengths)
                if length > 0
            ]
            changes.append(np.max(shares, initial=0.0))
            if not changes[-1] < 0.3:
                return float(times)
        most = np.max(changes)
        return float(sizes[np.argmax(changes >= most / 2)]) if most > _STRAIGHT else 0.0

    def _steepening(self, q: np.ndarray, some: np.ndarray) -> float:
        """Return the move of some coordinates beyond which the stiffness grows by another power.

        It is 0 where none is. So long is what has no stiffness where it stands: of x³ + x⁴ one
        power counts before it, the other after it.
        """
        way = np.bincount(some, minlength=len(q)).astype(float)
        K, sizes = self.stiffnesses(q), 10.0 ** np.arange(-_UNITS, _UNITS + 1.0)
        changes = [np.linalg.norm(self.stiffnesses(q + s * way) - K) for s in sizes]
        clear = np.array(changes) > _STRAIGHT * np.linalg.norm(K)
        powers = np.diff(np.log10(np.array(changes)[clear]))
        other = np.flatnonzero(~(np.abs(powers - powers[:1]) < 0.5))
        return float(sizes[clear][other[0]]) if len(other) else 0.0

    def examined(self, q: np.ndarray, lam: np.ndarray, active: np.ndarray) -> Examination:
        """Return what can be said of a point."""
        return Examination(self, q, lam, active)

    def wrapped(self, q, lam, status: Ending, active: np.ndarray) -> Equilibrium:
        """Return a point as a result."""
        return self.examined(q, lam, active).wrapped(status)

    def _settled(
        self, q: np.ndarray, active: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, Ending, Examination | None]:
        """Search, and go on downhill from points that are in balance but no minima.

        A start that is in balance itself is left as it is: nobody knows to which side it should
        fall.
        """
        begin, descents = q, 0
        while True:
            place, lam, status = self.newton(q, active)
            if status is not Ending.BALANCED:
                lost = self.descends and status in (Ending.STALLED, Ending.TOO_MANY_STEPS)
                if lost and self.faded(begin, place):
                    return place, lam, Ending.UNBOUNDED, None
                if lost and (far := self._endless(begin, place, active)) is not None:
                    place, status = far, Ending.UNBOUNDED
                return place, lam, status, None
            seen = self.examined(place, lam, active)
            if any(seen.inertia[1:]) and (better := seen.sharper()) is not None:
                place, lam = better
                seen = self.examined(place, lam, active)
            if self.kind == "any" or not self.descends:
                return place, lam, Ending.STALLED if seen.slopes else status, seen
            if self._gone(place, seen):
                return place, lam, Ending.UNBOUNDED, seen
            if seen.lower is None:
                return place, lam, Ending.SADDLE if seen.inertia[1] else status, seen
            stays = np.all(np.abs(place - begin) <= 1e-9 * self.neighbourhood(place))
            if stays or descents == _MOST_DESCENTS:
                break
            q, descents = seen.lower, descents + 1
        if (far := self._endless(begin, place, active)) is not None:
            return far, lam, Ending.UNBOUNDED, None
        return place, lam, Ending.SADDLE, seen

    def _with_contacts(self, q: np.ndarray) -> Equilibrium:
        """Close contacts that are passed through and open those that pull, until neither is left.

        IPOPT finds out which ones touch, where there is an energy to minimize, unless those that
        touch at the start hold it there.
        """
        rows = self.balance.rows
        gaps = self.levels(q)[rows:]
        active = np.concatenate([np.arange(rows), rows + np.flatnonzero(gaps <= 0)])
        held = np.all(self.violations(q) == 0) and self.held(q, active)
        rests = held and self._settled(q, active)[2] is Ending.BALANCED
        if self.kind == "minimum" and self.stated and not rests:
            place, touching = by_ipopt(self, q, self.metric)
            if self._near(q, place):
                q, active = place, touching
        tried: set[tuple[int, ...]] = set()
        while True:
            place, lam, status, seen = self._settled(q, active)
            # Of rows that depend on each other forces are shared as they will be told.
            lam = lam if seen is None else seen.lam
            change = self._opened_or_closed(place, lam, active, status)
            tried.add(tuple(active.tolist()))
            if change is None or tuple(change.tolist()) in tried:
                break
            active = change
            q = place if status is Ending.BALANCED else q
        if change is not None or self.violated(place):
            status = Ending.INFEASIBLE if self.violated(place) else Ending.STALLED
        return (seen or self.examined(place, lam, active)).wrapped(status)

    def violated(self, q: np.ndarray) -> bool:
        """Tell whether a contact is passed through."""
        gaps, B = self.limits(q, self.balance.rows + np.arange(self.balance.gaps))
        return bool(np.any(gaps < -self.small(q, B)))

    def _opened_or_closed(self, q, lam, active, status: Ending) -> np.ndarray | None:
        """Return the rows that should hold instead of these, or None where all is well."""
        rows = self.balance.rows
        if not np.all(np.isfinite(q)):
            return None
        gaps, B = self.limits(q, rows + np.arange(self.balance.gaps))
        size = self.small(q, B)
        through = [k for k in np.flatnonzero(gaps < -size) if rows + k not in active]
        if through:
            worst = min(through, key=lambda k: gaps[k] / max(size[k], 1e-300))
            return np.sort(np.append(active, rows + worst))
        pulls = self.pulling(q, lam, active) if status is Ending.BALANCED else None
        return None if pulls is None else np.delete(active, rows + pulls)

    def pulling(self, q: np.ndarray, lam: np.ndarray, active: np.ndarray) -> int | None:
        """Return which of the contacts that touch pulls most, if one does."""
        rows = self.balance.rows
        if len(active) == rows:
            return None
        # As energies, since multipliers have units of their own.
        held = abs(self.limits(q, active)[1] @ sparse.diags(self.metric))
        work = lam * np.asarray(held.max(axis=1).todense()).ravel()
        scale = max(np.abs(work).max(), np.max(np.abs(self.forces(q)[0]) * self.metric))
        return int(np.argmin(work[rows:])) if work[rows:].min() < -1e-9 * scale else None

    # -- Newton's method --------------------------------------------------------------------------

    def newton(self, q: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, np.ndarray, Ending]:
        """Newton's method on the conditions of balance; down to a minimum if asked to."""
        progress = Progress(f"statics of {self.system.name or 'a system'}")

        def tick() -> None:
            self.steps += 1
            progress.show(min(1.0, self.steps / 200))

        place = Place(self, q, np.zeros(len(active)), active)
        lengths = self.metric
        try:
            if not place.finite:
                return q, place.lam, Ending.NOT_FINITE
            balancing = Balancing(lengths, self.left_over, self.reached, tick, self._lost)
            if not self.descends:
                there, ending = balancing.run(place.with_multipliers())
                if ending in (Ending.TOO_MANY_STEPS, Ending.STALLED):
                    across, ended = replace(balancing, whole=True).run(place)
                    there, ending = (across, ended) if ended is Ending.BALANCED else (there, ending)
                lost = ending in (Ending.STALLED, Ending.TOO_MANY_STEPS)
                if not lost or not self.conservative(q):
                    return there.q, there.lam, ending
            elif self._convex(place.with_multipliers()):
                # Where the energy is convex along the constraints, Newton's method goes down.
                there, ending = balancing.run(place)
                if ending is Ending.BALANCED:
                    return there.q, there.lam, ending
            place, ending = self._feasible(place, lengths)
            if ending is Ending.BALANCED:
                descent = Descent(lengths, self._rise, self._holds, self._bends, self.reached, tick)
                place, ending = descent.run(place)
            place = place.with_multipliers()
            if ending is Ending.BALANCED:
                place, ending = balancing.run(place)
        finally:
            progress.close()
        return place.q, place.lam, ending

    @staticmethod
    def _convex(place: Place) -> bool:
        """Tell whether the energy of a large system is convex along the constraints."""
        if place.frame.small or not np.all(np.isfinite(place.H.data)):
            return False
        return Saddle(place.H, place.frame.independent).definite

    def _rise(self, q: np.ndarray, to: np.ndarray) -> float:
        return self.rise(q, to, self.stated)

    def _feasible(self, place: Place, lengths: np.ndarray) -> tuple[Place, Ending]:
        """Return the place nearby that satisfies the constraints."""
        there = self._corrected(place, lengths)
        if self._satisfied(there):
            return there, Ending.BALANCED
        if not np.array_equal(place.active, np.arange(len(self.levels(place.q)))):
            return there, Ending.OFF
        # Where gradients say little or contradict each other, steps are damped.
        nearest = Place(self, self.nearest(self._beside(there))[0], place.lam, place.active)
        if not nearest.finite:
            return there, Ending.OFF
        there = self._corrected(nearest, lengths)
        return (there, Ending.BALANCED) if self._satisfied(there) else (nearest, Ending.OFF)

    def _satisfied(self, place: Place) -> bool:
        return bool(np.all(np.abs(place.c) <= self.small(place.q, place.A, _ACCEPTED)))

    def _beside(self, place: Place) -> np.ndarray:
        """Return a place beside one where constraints are violated and have no gradient."""
        flat = np.abs(place.c) > 0
        flat &= np.asarray(abs(place.A) @ self.metric <= 1e-9 * np.abs(place.c)).ravel()
        if not flat.any():
            return place.q
        # The force says to which side; how far, only the constraint itself: it is found by halves.
        way = -place.force / max(float(np.abs(place.force * self.metric).max()), 1e-300)
        way = way * self.metric**2
        if not np.any(way):
            way = self.metric * np.random.default_rng(5).standard_normal(len(way))
        return place.q + way

    def _corrected(self, place: Place, lengths: np.ndarray) -> Place:
        """Return a place brought towards its constraints, by steps that do not overshoot."""
        creeps = 0

        def step(place: Place) -> Place | None:
            nonlocal creeps
            frame = place.frame
            move = frame.correction(place.c)
            small = np.all(np.abs(move) <= np.spacing(np.abs(place.q)))
            if small or creeps > _MOST_CREEPS or self._holds(place):
                return None
            size = np.linalg.norm(move / lengths)

            def trial(share: float) -> Place | None:
                there = place.moved(share * move, place.lam)
                again = frame.correction(there.c) / lengths if there.finite else np.inf
                return there if np.linalg.norm(again) <= (1 - share / 4) * size else None

            there, share = shortened(trial, least=_CREEP / 64)
            creeps += share < _CREEP
            return there

        return iterated(place, step, most=_MOST_CORRECTIONS)[0]

    def _holds(self, place: Place) -> bool:
        """Tell whether constraints hold as well as rounding lets."""
        return bool(np.all(np.abs(place.c) <= self.small(place.q, place.A, 1e-15, 4)))

    def reached(self, q: np.ndarray, d: np.ndarray) -> bool:
        """Tell whether a step is less than the last digits of a place or of the way to it."""
        return bool(np.all(np.abs(d) <= np.spacing(np.abs(q)) + 1e-15 * np.abs(q - self.start)))

    def _bends(self, place: Place) -> np.ndarray:
        """Return by how much constraints change over the radius of what they involve."""
        change = abs(place.A) @ self.bend
        return np.where(change > 0, change, np.inf)

    def small(self, q: np.ndarray, A: Any, rtol: float = 1e-9, digits: float = 64) -> np.ndarray:
        """Return below which value constraints or gaps with these gradients count as zero."""
        return abs(A) @ (rtol * self.lengths(q) + digits * np.spacing(np.abs(q)))

    def left_over(self, place: Place) -> float:
        """Return what is unbalanced or violated at a place, relative to what is accepted there.

        What is accepted comes from the forces at that place and from lengths of the statement.
        """
        A, H = abs(place.A), abs(place.H)
        self.stiffest = np.maximum(self.stiffest, H @ self.metric / self.metric)
        at_work = np.abs(place.force) + A.T @ np.abs(place.lam) + H @ self.lengths(place.q)
        digits = tied_digits(place.A, np.spacing(np.abs(place.q)), self.metric)
        force = _ACCEPTED * at_work + 64 * (H @ digits)
        # What one force loses by rounding, or turns by with its place, reaches the others through
        # the constraints.
        work = float(np.max(at_work * self.metric, initial=0.0))
        turned = np.max(digits / self.metric, initial=0.0) if len(place.c) else 0.0
        force = force + 64 * max(np.finfo(float).eps, float(turned)) * work / self.metric
        pairs = (place.left, force), (place.c, self.small(place.q, place.A, _ACCEPTED))
        with np.errstate(over="ignore"):
            shares = [
                np.divide(np.abs(x), y, out=np.where(x == 0, 0.0, np.inf), where=y > 0)
                for x, y in pairs
            ]
        return max(float(x.max(initial=0.0)) for x in shares)

    def _lost(self, place: Place) -> bool:
        """Tell whether what is left next to the start is what its terms lose by rounding."""
        at = [self.t, place.q, self.inputs(place.q), self.params]
        # Far from its start a search may have come to where forces have only faded away.
        near = place.finite and np.all(np.abs(place.q - self.start) <= self.metric)
        lost = rounding(self.balance, "forces", at) if near else None
        if lost is None:
            return False
        held = np.all(np.abs(place.c) <= self.small(place.q, place.A, _ACCEPTED))
        lost = lost + np.finfo(float).eps * (abs(place.A).T @ np.abs(place.lam))
        return bool(held and np.all(np.abs(place.left) <= _ROUNDINGS * lost))

    def lengths(self, q: np.ndarray) -> np.ndarray:
        """Return the lengths that a place is judged by: radii of what bends, or the way to it."""
        return np.where(self.bend > 0, self.bend, np.abs(q - self.start))

    def neighbourhood(self, q: np.ndarray) -> np.ndarray:
        """Return moves of the coordinates that count alike, as long as the lengths at a place."""
        share = np.max(np.maximum(self.bend, np.abs(q - self.start)) / self.metric, initial=0.0)
        return self.metric if share < 1 else self.metric * float(share)

    def first_multipliers(self, q: np.ndarray, active: np.ndarray) -> np.ndarray:
        """Return the multipliers that balance the forces best, in least squares."""
        self.moves(q)
        place = Place(self, q, np.zeros(len(active)), active).with_multipliers()
        # Once more: what next to nothing pulls is else known to the digits of what pulls most.
        lam = place.lam + place.frame.multipliers(place.left)
        return lam if np.all(np.isfinite(lam)) else np.zeros(len(active))

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
        # What hardly moves, as a constraint without a gradient lets it, has not gone for ever.
        return there if np.any(np.abs(there - begin) > self.metric) else None
