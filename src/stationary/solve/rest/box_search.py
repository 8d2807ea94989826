"""The hunt for equilibria in a box, with one set of contacts closed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import casadi as ca
import numpy as np

from stationary.lower.rounding import rounding
from stationary.model.kinematics import Kinematics
from stationary.result.equilibrium import Equilibrium
from stationary.solve.gate import claims as gate
from stationary.solve.intervals import NoEnclosure
from stationary.solve.newton import Ending
from stationary.solve.rest.many_starts import Swarm, graph_at_rest
from stationary.solve.rest.search import Search
from stationary.solve.rest.subdivision import Proof, Subdivision
from stationary.solve.rest.symmetry import images
from stationary.solve.rest.valley import walked

# Starts for each coordinate searched, and the most of all.
_STARTS_EACH, _MOST_STARTS = 64, 768

# Most equilibria that are listed where there is no proof, and how many are mirrored at a time.
_MOST_FOUND, _MIRRORED = 1000, 64

# Searches of the whole box, each with what was found before divided out.
_MOST_ROUNDS = 12

# Two equilibria closer than this, relative to the box, are one; a part of the box that nothing is
# known of and that is this close to one belongs to it.
_SAME, _NEAR = 1e-6, 1e-5

# Along a stiff valley forces are lost in rounding: what is found is this close to where Newton's
# method ends. Energies of a family are the same to so many roundings.
_VALLEY, _ROUNDINGS = 1e-4, 64.0

# Parts of the way to the ends of the box to which a family is followed to see that it is level.
_PARTS = (1.0, 0.5, 0.25)

# Forces this many times larger than in the rest of the box have a pole in the place.
_POLE = 1e3

# Parts of the box in which nothing is decided: how many start a search.
_LEFT = 192

# Most members of families that are looked at, how many neighbours each is moved to, and most
# groups of them that are tried in pairs.
_MEMBERS, _NEIGHBOURS, _GROUPS = 96, 3, 16

# How far beside where families cross the directions of each are looked for, and how near to it
# they are followed: there nothing is stiff.
_ASIDE, _NEARLY = 1e-3, 1e-2

# Valleys that are walked along at a time, and how near to one that was a place is on it.
_SEEDS, _BESIDE = 6, 0.02

# Most coordinates for which a proof is tried.
_PROVEN_UP_TO = 8


@dataclass(frozen=True)
class Box:
    """The box that is searched.

    Attributes
    ----------
    places : ndarray of int
        Coordinates that are searched.
    low, high : ndarray
        Their intervals.
    size, home : ndarray
        Unit of every coordinate, and where the box is nearest to zero.
    kinematics : Kinematics
        How places are compared.
    """

    places: np.ndarray
    low: np.ndarray
    high: np.ndarray
    size: np.ndarray
    home: np.ndarray
    kinematics: Kinematics

    @property
    def middle(self) -> np.ndarray:
        """The middle of the box, and zero for what is not searched."""
        middle = np.zeros(len(self.size))
        middle[self.places] = (self.low + self.high) / 2
        return middle

    def inside(self, q: np.ndarray, slack: float) -> np.ndarray:
        """Tell which places are in the box, or out of it by a small share of its size."""
        out = slack * (self.high - self.low) + 4 * np.spacing(np.maximum(-self.low, self.high))
        q = q[..., self.places]
        return np.all((q >= self.low - out) & (q <= self.high + out), axis=-1)

    def same(self, q: np.ndarray, other: np.ndarray, within: float = _SAME) -> bool:
        """Tell whether two places are one."""
        apart = self.kinematics.difference(q, other)
        return bool(np.abs(apart / self.size).max(initial=0.0) <= within)


class Hunt:
    """The search of a box: a proof where that can be had, else Newton's method from many starts.

    Attributes
    ----------
    complete : bool
        Whether it is proven that nothing was missed.
    lacks : list of str
        What the proof lacks.
    boxes, tried, converged, deflated : int
        How hard it looked.
    """

    def __init__(self, search: Search, box: Box, active: np.ndarray):
        self.search, self.box, self.active = search, box, active
        self.swarm = Swarm(search, active, box.size, box.home)
        self.complete, self.lacks = False, []
        self._unknown = np.zeros(0, int)
        self.boxes = self.tried = self.converged = self.deflated = 0
        self._beside: dict[bytes, np.ndarray] = {}
        self._passed = np.zeros((0, len(self.swarm.home)))
        #: Places found, in units of the box: by themselves, and on families with their dimension.
        self.single: list[np.ndarray] = []
        self.families: list[tuple[np.ndarray, int]] = []

    def run(self) -> list[Equilibrium]:
        """Return the equilibria."""
        proof = self._proof()
        if proof is not None:
            self._note(self._whole(np.array(proof.zeros)))
            self._group(proof.members)
            self._note(self.swarm.corrected(self._whole(self._middles(proof)[:_LEFT]), 40))
        if proof is None or len(self._unexplained(proof)):
            self._swarm(proof)
        if proof is not None:
            self._conclude(proof)
        return self._kept()

    # -- the proof --------------------------------------------------------------------------------

    def _proof(self) -> Proof | None:
        """Subdivide the box, if the statement allows it."""
        swarm, box, n = self.swarm, self.box, self.swarm.n
        if not self.search.balance.graph.scalar or len(box.places) > _PROVEN_UP_TO:
            self.lacks.append(f"more than {_PROVEN_UP_TO} coordinates are too many for a proof")
            return None
        w, lam = ca.SX.sym("w", n), ca.SX.sym("lam", len(self.active))
        z = w * ca.DM(swarm.scale[:n])
        g, c, A = graph_at_rest(self.search.system, self.search.signature, z, ca.DM(swarm.p))
        rows = self.active.tolist()
        c, A = ca.reshape(c[rows], len(rows), 1), ca.reshape(A[rows, :], len(rows), n)
        occurs = [ca.depends_on(ca.vertcat(g, c, ca.vec(A)), w[i]) for i in range(n)]
        unknown = [i for i in range(n) if occurs[i]]
        unbounded = [self.search.layout.name(i) for i in unknown if i not in box.places]
        if unbounded:
            named = ", ".join(f"'{name}'" for name in unbounded[:4])
            self.lacks.append(f"within says nothing of {named}")
            return None
        said = [i for i in range(n) if not g[i].is_zero() or A[:, i].nnz()]
        if not unknown:
            # Nothing depends on any coordinate: all of the box rests, or nothing does.
            rests = bool(swarm.is_zero(swarm.home[None])[0])
            return Proof(members=[(swarm.home, n)] if rests else [])
        g, A = g[said] * ca.DM(swarm.weights[said]), A[:, said]
        below = ca.DM(swarm.weights[n:])
        A = ca.mtimes(ca.diag(ca.DM(swarm.weights[said])), A.T).T if len(said) else A
        c = c * below
        # λ is measured by its unit: A then stands in rows of it.
        A = ca.mtimes(ca.diag(ca.DM(swarm.scale[n:])), A) if rows else A
        q = w[unknown]
        fixed = [i for i in range(n) if i not in unknown]
        if fixed:
            values = ca.DM(swarm.home[fixed])
            g, c, A = ca.substitute([g, c, A], [w[fixed]], [values])
        places = np.array([*unknown, *range(n, n + len(rows))], dtype=int)
        try:
            subdivision = Subdivision(q, lam, g, c, A, swarm, places)
        except NoEnclosure:
            self.lacks.append("the statement has an operation without bounds")
            return None
        low, high = np.zeros(n), np.zeros(n)
        low[box.places], high[box.places] = (
            box.low / box.size[box.places],
            box.high / box.size[box.places],
        )
        # A little more than the box: equilibria on its edge are in it.
        proof = subdivision.run(low[unknown] - 1e-3, high[unknown] + 1.1e-3)
        self.boxes, self._unknown = proof.looked_at, places
        return proof

    def _whole(self, part: np.ndarray) -> np.ndarray:
        """Return places over all unknowns from those that occur in the equations."""
        whole = np.tile(self.swarm.home, (len(part), 1))
        if len(part):
            whole[:, self._unknown[: part.shape[1]]] = part
            if part.shape[1] < len(self._unknown):
                whole = self.swarm.held(whole)
        return whole

    def _middles(self, proof: Proof) -> np.ndarray:
        """Return the middles of what is left, spread over it."""
        middles = (proof.low + proof.high) / 2
        if len(middles) > _LEFT:
            middles = middles[np.linspace(0, len(middles) - 1, _LEFT).astype(int)]
        return middles

    def _unexplained(self, proof: Proof) -> np.ndarray:
        """Return middles of boxes that are left and not next to an equilibrium that is known.

        Nor where the forces have no bounds at all: a statement that is infinite in a place has no
        equilibrium there.
        """
        middles = (proof.low + proof.high) / 2
        if not len(middles) or proof.exhausted:
            return middles
        k = middles.shape[1]
        places = self._unknown[:k]
        known = np.array([w[places] for w in self._written])
        near = np.zeros(len(middles), bool)
        if len(known):
            near = np.abs(middles[:, None] - known[None]).max(axis=2).min(axis=1) <= _NEAR
        rest = middles[~near]
        whole = self._whole(rest)
        F, _ = self.swarm.values(whole)
        with np.errstate(invalid="ignore"):
            pole = ~np.all(np.isfinite(F), axis=1) | (np.abs(F).max(axis=1, initial=0.0) > _POLE)
        return rest[~pole]

    def _lost(self, proof: Proof) -> int:
        """Return how many zeros of the proof are in the box and not known as equilibria."""
        if not proof.zeros:
            return 0
        n, zeros = self.swarm.n, self.swarm.corrected(self._whole(np.array(proof.zeros)), 60)
        zeros = zeros[self.box.inside(zeros[:, :n] * self.box.size, -_SAME)]
        known = [*self._written, *(w for w, _ in self.families), *self._passed]
        return sum(all(np.abs(z - w)[:n].max() > _NEAR for w in known) for z in zeros)

    def _conclude(self, proof: Proof) -> None:
        left, lost = self._unexplained(proof), self._lost(proof)
        if lost:
            self.lacks.append(
                f"of {lost} place{'s' * (lost != 1)} where forces may balance the coordinates have "
                "too few digits"
            )
        if not len(left):
            self.complete = not lost
            return
        size = (proof.high - proof.low).max()
        self.lacks.append(
            f"{len(left)} part{'s' * (len(left) != 1)} of the box up to {size:.1g} of its size "
            f"{'are' if len(left) != 1 else 'is'} left undecided"
            + (", the work being bounded" if proof.exhausted else "")
        )

    # -- the search -------------------------------------------------------------------------------

    def _swarm(self, proof: Proof | None) -> None:
        """Search from many starts, and again with what is known divided out."""
        starts = self._starts()
        if proof is not None and len(proof.low):
            starts = np.vstack([starts, self._whole(self._middles(proof))])
        for round_ in range(_MOST_ROUNDS):
            known = [w[: self.swarm.n] for w in self._written]
            before = len(self.single) + len(self.families)
            ends = self.swarm.run(starts, known if round_ else [])
            self._note(ends)
            if round_ == 0:
                self.tried, self.converged = len(starts), len(ends)
            else:
                self.deflated += len(starts)
            self._mirrored()
            if len(self.single) >= _MOST_FOUND:
                self.lacks.append(f"the search stopped at {_MOST_FOUND} equilibria")
                break
            if round_ and len(self.single) + len(self.families) == before:
                break

    def _starts(self) -> np.ndarray:
        """Spread starts evenly over the box: its middle, and a sequence of Sobol."""
        # Imported where it is used: SciPy's statistics take longer to load than this package.
        from scipy.stats import qmc

        box, d = self.box, len(self.box.places)
        count = int(min(_MOST_STARTS, _STARTS_EACH * d))
        shares = qmc.Sobol(d, scramble=False).random_base2(int(np.ceil(np.log2(count))))[:count]
        shares = (shares + 0.5 / count) % 1
        q = np.tile(box.home, (count + 1, 1))
        q[0, box.places] = (box.low + box.high) / 2
        q[1:, box.places] = box.low + shares * (box.high - box.low)
        return np.hstack([q / box.size, np.zeros((count + 1, len(self.active)))])

    def _mirrored(self) -> None:
        """Try mirror images of what is known, and of these, until no new one is an equilibrium."""
        done = 0
        while done < len(self.single) < _MOST_FOUND:
            some = np.array(self.single[done : done + _MIRRORED])
            done += len(some)
            mirrored = images(some[:, : self.swarm.n] * self.box.size, self.box)
            if not len(mirrored):
                return
            w = np.hstack([mirrored / self.box.size, np.zeros((len(mirrored), len(self.active)))])
            w = self.swarm.held(w)
            self._note(self.swarm.corrected(w[self.swarm.is_zero(w, 1e-6)], 20))

    # -- what is known ----------------------------------------------------------------------------

    def _note(self, w: np.ndarray) -> None:
        """Note zeros that are in the box and new, by themselves or on families."""
        if not len(w):
            return
        # What is judged beside multipliers that ran away would hold anywhere.
        w = self.swarm.least(self.swarm.corrected(w, 60))
        w = w[self.swarm.settled(w) & self.box.inside(w[:, : self.swarm.n] * self.box.size, _SAME)]
        dimensions = self.swarm.flat_directions(w)
        weak = (dimensions == 0) & self.swarm.null_directions(w)[1].any(axis=1)
        weak[weak] = ~self.swarm.vanishes(w[weak])
        if weak.any():
            self._valleys(w[weak])
            w, dimensions = w[~weak], dimensions[~weak]
        w[dimensions == 0] = self.swarm.centred(self.swarm.along_valleys(w[dimensions == 0]))
        fresh: list[tuple[np.ndarray, int]] = []
        for place, d in zip(w, dimensions):
            if d:
                fresh.append((place, int(d)))
            elif len(self.single) < _MOST_FOUND and not self._known(place):
                self.single.append(place)
        if fresh:
            self._group(fresh)

    def _valleys(self, w: np.ndarray) -> None:
        """Walk along valleys that are new, and note where they are level."""
        if len(self._passed):
            away = np.abs(w[:, None] - self._passed)[:, :, : self.swarm.n].max(axis=2).min(axis=1)
            w = w[away > _BESIDE]
        if not len(w):
            return

        def inside(places: np.ndarray) -> np.ndarray:
            return self.box.inside(places[:, : self.swarm.n] * self.box.size, _BESIDE)

        zeros, passed = walked(self.swarm, _spread(w, _SEEDS), inside)
        self._passed = np.vstack([self._passed, passed])
        for place in self.swarm.centred(zeros):
            within = self.box.inside(place[: self.swarm.n] * self.box.size, _SAME)
            if within and not self._known(place) and len(self.single) < _MOST_FOUND:
                self.single.append(place)

    @property
    def _written(self) -> list[np.ndarray]:
        """What is known, in all ways in which it is written."""
        every = (*self.single, *(w for w, _ in self.families))
        return [image for w in every for image in self._images(w)]

    def _known(self, w: np.ndarray) -> bool:
        """Tell whether a place is one of those found by themselves."""
        if not self.single:
            return False
        known, w = np.array(self.single)[:, : self.swarm.n], w[: self.swarm.n]
        apart = np.abs(self.box.kinematics.difference(known, w)).max(axis=1, initial=0.0)
        return bool(apart.min() <= _SAME)

    def _group(self, fresh: list[tuple[np.ndarray, int]]) -> None:
        """Put members of families together that can be moved to each other, one for each family."""
        if not fresh:
            return
        places, sizes = (np.array(part) for part in zip(*fresh))
        places, sizes = self.swarm.off_crossings(places, sizes)
        fresh = [(place, int(d)) for place, d in zip(places, sizes)]
        for d in sorted({d for _, d in fresh}):
            some = np.array([w for w, k in fresh if k == d])
            known = [w for w, k in self.families if k == d]
            for family in known:
                some = some[~self._meet(some, np.tile(family, (len(some), 1)))]
            if not len(some):
                continue
            self.families = [(w, k) for w, k in self.families if k != d]
            some = np.vstack([*known, _spread(some, _MEMBERS)])
            for group in self._connected(some):
                nearest = self._representative(some[group])
                away = some[group[-1]] - nearest
                aside = nearest + _ASIDE * away / np.maximum(np.abs(away).max(), 1e-300)
                n = self.swarm.n
                self._beside[nearest.tobytes()] = self.swarm.slid(some[group[-1:]], aside[:n])[0]
                self.families.append((nearest, d))

    def _connected(self, w: np.ndarray) -> list[list[int]]:
        """Return which members are on one family: neighbours that can be moved to each other."""
        count, n = len(w), self.swarm.n
        names = np.arange(count)
        difference = self.box.kinematics.difference
        apart = np.abs(difference(w[:, None, :n], w[None, :, :n])).max(axis=2)
        tried = np.eye(count, dtype=bool)
        for _ in range(6):
            # For every member the nearest of those that are not yet known to be of its family.
            pairs = []
            for i in range(count):
                strangers = np.flatnonzero((names != names[i]) & ~tried[i])
                near = strangers[np.argsort(apart[i, strangers], kind="stable")[:_NEIGHBOURS]]
                pairs += [(i, j) for j in near]
            # And for every two groups the two members that are nearest to each other.
            groups = [np.flatnonzero(names == name) for name in np.unique(names)]
            for one, other in combinations(groups[:_GROUPS], 2):
                far = np.where(tried[np.ix_(one, other)], np.inf, apart[np.ix_(one, other)])
                i, j = np.unravel_index(np.argmin(far), far.shape)
                pairs += [(one[i], other[j])] if np.isfinite(far[i, j]) else []
            if not pairs:
                break
            i, j = np.array(pairs).T
            tried[i, j] = tried[j, i] = True
            for a, b in zip(i[met := self._meet(w[i], w[j])], j[met]):
                names[names == names[b]] = names[a]
        return [np.flatnonzero(names == name).tolist() for name in np.unique(names)]

    def _meet(self, w: np.ndarray, strangers: np.ndarray) -> np.ndarray:
        """Tell which places can be moved along their families to others, however written."""
        met = np.zeros(len(w), dtype=bool)
        for image in zip(*(self._images(other) for other in strangers)):
            met[~met] = self.swarm.meet(w[~met], np.array(image)[~met])
        return met

    def _images(self, w: np.ndarray) -> list[np.ndarray]:
        """Return all ways in which a place is written; multipliers are the same."""
        n = self.swarm.n
        return [np.append(q, w[n:]) for q in self.box.kinematics.images(w[:n])]

    def _representative(self, w: np.ndarray) -> np.ndarray:
        """Return the member of a family that is nearest to zero, or to where the box is.

        Distances are measured by the box. Where all are as near, as on a ring about zero, it is the
        farthest along the first coordinate in which they differ.
        """
        swarm, n, box = self.swarm, self.swarm.n, self.box
        home = swarm.home[:n]
        moved = swarm.slid(_spread(w, 12), home)
        inside = box.inside(moved[:, :n] * box.size, _SAME)
        moved = moved[inside] if inside.any() else w[:1]
        away = np.linalg.norm(moved[:, :n] - home, axis=1)
        nearest = moved[np.argmin(away)]
        differ = [i for i in sorted(box.places) if np.ptp(moved[:, i]) > _NEAR]
        if differ and np.all(away <= away.min() * (1 + 1e-6)):
            aside = home.copy()
            aside[differ[0]] += away.min()
            there = swarm.slid(moved, aside)
            good = box.inside(there[:, :n] * box.size, _SAME)
            if good.any():
                there = there[good]
                nearest = there[np.argmin(np.linalg.norm(there[:, :n] - aside, axis=1))]
        return nearest

    # -- results ----------------------------------------------------------------------------------

    def _kept(self) -> list[Equilibrium]:
        """Round equilibria off, and leave out those that contacts do not allow."""
        kept = []
        # Where families cross, a place by itself is on all of them: the largest comes first.
        families = sorted(self.families, key=lambda family: -family[1])
        for w, d in [*families, *((w, 0) for w in self.single)]:
            if not d and self._on_a_family(w):
                continue
            rest = self._rounded(w, d > 0)
            if rest is None or any(self.box.same(rest.q, other.q) for other in kept):
                continue
            if d and not self._level(w):
                self.complete = False
                self.lacks.append("a valley is too soft to be told from a family")
            elif rest.family != d:
                rest = replace(rest, free=self._free(w, d))
            kept.append(rest)
        return kept

    def _level(self, w: np.ndarray) -> bool:
        """Tell whether the energy is the same all along a family, as far as it can be told."""
        search, box, n = self.search, self.box, self.swarm.n
        if not search.stated or len(self.active) > search.balance.rows:
            return True
        here = w[:n] * box.size
        ends = np.array([box.middle - box.size / 2, box.middle + box.size / 2])
        # A family may leave the box before it comes next to a corner.
        aims = np.vstack([here + share * (ends - here) for share in _PARTS]) / box.size
        there = self.swarm.slid(np.tile(w, (len(aims), 1)), aims)[:, :n] * box.size
        for q in [q for q in there if box.inside(q, _SAME)]:
            allowed = 0.0
            for end in (here, q):
                at = [search.t, end, search.inputs(end), search.params]
                lost = rounding(search.balance, "forces", at, output=1)
                allowed += np.inf if lost is None else _ROUNDINGS * float(lost[0])
                # Members are as close to their family as places are the same.
                allowed += _SAME * float(np.abs(search.forces(end)[0]) @ box.size)
            if abs(search.rise(here, q, True)) > allowed:
                return False
        return True

    def _on_a_family(self, w: np.ndarray) -> bool:
        """Tell whether a place without stiffness is one at which families meet."""
        if not self.families or not self.swarm.null_directions(w[None])[1].any():
            return False
        members = np.array([member for member, _ in self.families])
        away = self.swarm.slid(members, w[: self.swarm.n]) - w
        return bool(np.abs(away[:, : self.swarm.n]).max(axis=1).min() <= _NEARLY)

    def _rounded(self, w: np.ndarray, family: bool) -> Equilibrium | None:
        search, n = self.search, self.swarm.n
        # Zero, where it is zero to the last digit of the box.
        plain = np.where(np.abs(w) <= (_SAME if family else 1e-15), 0.0, w)
        w = plain if self.swarm.is_zero(plain[None], 1e-13)[0] else w
        begin = w[:n] * self.box.size
        first = self.box.kinematics.canonical(begin)
        begin = first if self.box.inside(first, _SAME) else begin
        search.steps = 0
        search.prepare(begin)
        q, lam, status = search.newton(begin, self.active)
        same = self.box.same(q, begin, _SAME if family else _VALLEY)
        if status is not Ending.BALANCED or not same:
            if not self.swarm.is_zero(w[None], 1e-10)[0]:
                self.complete = False
                self.lacks.append(f"the search next to an equilibrium ended: {status}")
                return None
            q, lam = begin, w[n:] * self.swarm.scale[n:]
        if not self.box.inside(q, 1e-9):
            return None
        unit = self.swarm.scale[n:]
        w = np.concatenate([q / self.box.size, lam / unit])[None]
        least = self.swarm.least(w)
        lam = least[0, n:] * unit if self.swarm.is_zero(least, 1e-10)[0] else lam
        if search.violated(q) or search.pulling(q, lam, self.active) is not None:
            return None
        # The forces at work are those a tenth of the box away: nearby there may be none.
        aside = q + 0.1 * np.where(q > self.box.middle, -self.box.size, self.box.size)
        rest = gate.judged(search.wrapped(q, lam, Ending.BALANCED, self.active), start=aside)
        if rest.status != "balanced":
            self.complete = False
            self.lacks.append(f"an equilibrium was left out: {rest.status.message}")
            return None
        return rest

    def _free(self, w: np.ndarray, d: int) -> np.ndarray:
        """Return directions of a family, one per row."""
        rows, flat = self.swarm.null_directions(w[None])
        beside = self._beside.get(w.tobytes())
        if flat.sum() > d and beside is not None:
            # Families cross there: one of them has its directions beside the crossing.
            rows, flat = self.swarm.null_directions(beside[None])
        ways = rows[0][flat[0]][:, : self.swarm.n] * self.box.size
        _, _, basis = np.linalg.svd(ways, full_matrices=False)
        return basis[:d]


def _spread(w: np.ndarray, most: int) -> np.ndarray:
    """Return a few places that are far from each other."""
    if len(w) <= most:
        return w
    chosen, apart = [0], np.full(len(w), np.inf)
    while len(chosen) < most:
        apart = np.minimum(apart, np.abs(w - w[chosen[-1]]).max(axis=1))
        chosen.append(int(np.argmax(apart)))
    return w[chosen]
