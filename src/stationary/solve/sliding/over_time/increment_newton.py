"""Newton's method over an increment: the way, the forces, and what sticks, all at once.

Dry friction is its own projection: y is the point of the ball |y| ≤ a next to y + ϱ w, for any
ϱ > 0. Inside the ball a term sticks and w = 0; outside it slides and y = a z/|z| with z = y + ϱ w.
At a contact with friction a itself is unknown: its coefficient times what presses.
Sharp steps take the sets of the latest z, and arrive if these are right. Before that the corner is
rounded, y = a w / √(w² + δ²), and δ falls as the steps become shorter: a front between what sticks
and what slides then moves as far as it has to in a few steps (the primal-dual method of Chan, Golub
and Mulet, SIAM J. Sci. Comput. 20, 1999, for another sum of lengths).

All steps solve linear problems with the same pattern: its order and its places in memory are found
once for each system.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.linalg.lapack import dgbsv
from scipy.sparse.linalg import splu

from stationary.derive.elimination_order import saddle_order
from stationary.derive.sliding import Sliding
from stationary.errors import StatementError
from stationary.solve.sliding.problem.measure import Measure
from stationary.solve.sliding.problem.numbers import Problem, largest
from stationary.solve.sliding.problem.question import Place, Question, terms_of

_MOST_STEPS, _SHARP_STEPS = 50, 5
# Steps without progress after which it is given up.
_PATIENCE = 12
# The rounding of the corner of friction at first, relative to the longest way, and at last,
# relative to the lengths at work; and how fast it falls.
_FIRST, _LAST, _FALL = 0.1, 1e-13, 0.1
# What holds twice is shared by forces that change least: so soft are rows, relative to the rest.
_SOFT = 1e-7
# The longest step, relative to the lengths at work, unless the way itself is longer.
_LONGEST = 0.3
# A gap below zero by rounding's worth does not push by itself.
_TOUCHES = 1e-14
# So many contacts are opened one by one.
_FEW = 8
# Up to this bandwidth factors without sparse bookkeeping are faster.
_NARROW = 60


@dataclass(frozen=True)
class Reached:
    """A state on the way to the end of an increment, and the step that led there.

    `off` is by how much soft rows do not hold there, `far` how far the step went; both as shares of
    the lengths at work.
    """

    x: np.ndarray
    forces: tuple[np.ndarray, ...]
    move: np.ndarray
    place: Place
    limit: np.ndarray
    stuck: np.ndarray
    working: np.ndarray
    off: float
    far: float

    @property
    def within(self) -> bool:
        """Whether dry friction is within its limit."""
        p = self.place.problem
        excess = p.speeds(self.forces[0]) - self.limit
        return bool(np.all(excess[p.power == 0] <= 1e-10 * p.force))


def end_of_increment(
    question: Question,
    start: Place,
    h: float,
    x: np.ndarray,
    forces: tuple[np.ndarray, ...],
    *,
    same: bool = False,
) -> Reached | None:
    """Find the end of an increment from a place and forces nearby, or None if that fails.

    With `same` nothing but what slides and touches by the forces nearby is tried.
    """
    if np.any((start.problem.power > 0) & (start.problem.power < 1)):
        # Such drag has no slope at rest.
        return None
    way = _Way(question, start, h)
    # A guess may be so far away that constraints seem to bend the wrong way.
    with np.errstate(all="ignore"):
        if same:
            return way.finished(x, forces, np.inf)
        end = way.follow(x, forces, tame=False) or way.follow(x, forces, tame=True)
        if end is None and start.problem.dense:
            end = _patiently(way, forces)
        return end


def _patiently(way: _Way, forces: tuple[np.ndarray, ...]) -> Reached | None:
    """Try again from the start: what is free to go anywhere stays as near to it as it can.

    Contacts that seem to hold what cannot hold may be about to open: one of them, or all.
    """
    way.damping, way.way, (y, lam, mu) = _SOFT, 0.0, forces
    pressing = np.flatnonzero(mu > 0)
    opened = [np.zeros(0, dtype=int), *([j] for j in pressing[:_FEW])]
    if 1 < len(pressing):
        opened.append(pressing)
    for contacts in opened:
        way.open[:] = False
        way.open[contacts] = True
        end = way.follow(way.start.q, (y, lam, np.where(way.open, 0.0, mu)), tame=False)
        if end is not None and np.all(end.place.gap[contacts] >= -way.touches[contacts]):
            # The search may have wandered along what is free: with these forces it need not.
            way.open[:] = False
            return way.follow(way.start.q, end.forces, tame=False) or end
    return None


class _Way:
    """An increment: where it begins, and Newton's steps towards its end."""

    def __init__(self, question: Question, start: Place, h: float):
        self.question, self.start, self.h = question, start, h
        #: The rows that hold at the end of the increment; the others hold their rates.
        self.held = question.layout.holonomic
        self.saddle = _saddle(question.sliding)
        self.measure = Measure(question, start)
        self.rounding = self.measure.rounding
        self.touches = _TOUCHES * self.measure.gaps + start.digits / 64
        #: The longest way, as a share of the lengths at work.
        self.way = self.damping = 0.0
        self.open = np.zeros(len(start.gap), dtype=bool)

    def follow(self, x: np.ndarray, forces: tuple[np.ndarray, ...], tame: bool) -> Reached | None:
        """Take steps with a corner that gets sharper; `tame` ones bend as links in tension do."""
        blur, best, tried, progress = _FIRST, np.inf, 1e-2, 0
        far, rounding = np.inf, self.rounding
        if not tame and self.start.problem.dense:
            # Where nothing changes the sets are those of the latest forces; among many something
            # does.
            end = self.finished(x, forces, np.inf)
            if end is not None:
                return end
        for k in range(_MOST_STEPS):
            step = self.step(x, forces, blur, tame and far > 1e-2)
            if step is None or step.far > 1e3:
                return None
            share = min(1.0, max(_LONGEST, 3 * self.way) / max(step.far, 1e-300))
            x, far = x + share * step.move, step.far / self.way
            forces = (
                step.forces
                if share == 1.0
                else tuple(a + share * (b - a) for a, b in zip(forces, step.forces))
            )
            if far < tried or step.far <= rounding:
                # Close to the end the sets are clear, unless something moves by rounding's worth.
                end = self.finished(step.x, step.forces, step.far)
                if end is None and max(step.far, blur * self.way) <= rounding and step.within:
                    end = step
                if end is not None:
                    return end
                tried = 1e-2 * far
            if far < max(0.7 * best, blur):
                blur, progress = max(_FALL * blur, _LAST / self.way), k
            elif far > 3 * best:
                blur = min(3 * blur, _FIRST)
            if k > progress + _PATIENCE:
                return None
            best = min(far, 1.1 * best)
        return None

    def finished(self, x: np.ndarray, forces: tuple[np.ndarray, ...], far: float) -> Reached | None:
        """Take sharp steps as long as they lead to the end."""
        sets = None
        # Among few, what starts to slide makes a step longer than those before.
        shortest = 0.1 if self.start.problem.dense else self.rounding
        for _ in range(_SHARP_STEPS):
            step = self.step(x, forces, 0.0, False)
            if step is None or step.far > max(10 * far, shortest):
                return None
            before, sets = sets, (step.stuck.tobytes(), step.working.tobytes())
            ends = step.far <= self.rounding and step.off <= 1e-4 * self.rounding
            # What is at its limit and does not move may stick or slide: that comes to the same.
            if ends and (sets == before or far <= self.rounding) and step.within:
                return step
            x, forces, far = step.x, step.forces, step.far
        return None

    def step(
        self, x: np.ndarray, forces: tuple[np.ndarray, ...], blur: float, tame: bool
    ) -> Reached | None:
        """Take one step; `blur` rounds the corner of friction, relative to the longest way."""
        question, h = self.question, self.h
        y, lam, mu = forces
        try:
            place = question.with_all_contacts(self.start.t + h, x)
        except StatementError:
            # It has gone where the system is not defined.
            return None
        p, moved, w = place.problem, x - self.start.q, place.along - self.start.along
        off = np.where(self.held, place.R, p.A @ moved + h * p.b)
        units, energy = self.measure, self.measure.energy(p, forces)
        if not self.way:
            # One share for the whole increment, so that forces and ways can be compared.
            ways = ((moved, units.moves), (w, units.slips[p.term]), (off, units.rows))
            self.way = max(largest(z / unit) for z, unit in ways)
            self.way = self.way if self.way > 10 * self.rounding else 1e-3
        # Lengths of ways and sizes of forces, so that all unknowns are of size one.
        every = units.moves, units.slips, units.rows, units.gaps
        move, slip, row, gap = (self.way * unit for unit in every)
        push, resist, hold, press = (energy / unit for unit in every)
        limit = p.size * h ** (-p.power)
        pressed = question.rubs >= 0
        contact = question.rubs[pressed]
        presses = np.maximum(mu, 0.0)[contact]
        stiff = np.maximum(limit, 1e-300) / slip
        limit[pressed] *= presses
        stiff[pressed] *= press[contact]
        law = _blurred(p, limit, w, y, blur * slip) if blur else _sharp(p, limit, w, y, stiff)
        turn, give, target = law.rows(p, w, y, slip, resist, sharp=not blur)
        # What presses a little more lets friction resist a little more.
        more = np.zeros(p.terms)
        more[pressed] = np.where(presses > 0, p.size[pressed], 0.0) * press[contact]
        more /= resist
        if not blur:
            more[law.stuck] = 0.0
        # So does a limit that grows along the way.
        grown = np.where(law.stuck & (not blur), 0.0, p.speeds(w) ** p.power * h ** (-p.power))
        grown[pressed] *= presses
        grown /= resist
        working = mu / press > (place.gap + self.touches) / gap
        working &= ~self.open
        bent = (0 * y, np.minimum(lam, 0.0), 0 * mu) if tame else forces

        def entries(name: str, *more: np.ndarray) -> np.ndarray:
            return self.saddle.values(name, question.evaluate(name, place, *more)[0])

        bends = [-entries("tangent"), entries("curvature", np.concatenate(bent))]
        grip = entries("grip")
        left = p.f - p.B.T @ y + p.A.T @ lam + p.G.T @ mu
        if p.viscous is not None:
            _, slope, second = p.viscous(moved / h)
            left = left - slope
            bends.append(self.saddle.values("viscous", second) / h)
        moves = self.saddle.solve(
            p, units, [(self.way / energy) * z for z in bends], turn, give,
            more[p.term] * law.unit, working, (self.way * grip, grown[p.term] * law.unit),
            self.damping,
            left / push, target, -off / row, np.where(working, -place.gap / gap, -mu / press),
        )  # fmt: skip
        if moves is None:
            return None
        move = move * moves[0]
        sizes = (resist[p.term], hold, press)
        forces = tuple(z + unit * dz for z, unit, dz in zip(forces, sizes, moves[1:]))
        soft, far = self.way * _SOFT * largest(moves[2]), self.measure.far(move)
        return Reached(x + move, forces, move, place, limit, law.stuck, working, soft, far)


# -- the law of friction ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Law:
    """The force of every term, y + dy = force + slope · dw, and which terms stick.

    The slope is `across`, less (loss ⊗ unit + unit ⊗ loss)/2.
    """

    force: np.ndarray
    across: np.ndarray
    loss: np.ndarray
    unit: np.ndarray
    stuck: np.ndarray

    def rows(
        self,
        p: Problem,
        w: np.ndarray,
        y: np.ndarray,
        slip: np.ndarray,
        resist: np.ndarray,
        sharp: bool,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return turn · dw − give · dy = target, with ways and forces in units of each term."""
        across = self.across * slip / resist
        # Where the slope is steep, the way is asked for instead of the force.
        share = 1 / (1 + across)
        eye = np.eye(int(p.widths.max(initial=1)))
        outer = (
            _wide(p, self.loss * (slip / resist)[p.term])[:, :, None]
            * _wide(p, self.unit)[:, None, :]
        )
        turn = across[:, None, None] * eye - (outer + outer.transpose(0, 2, 1)) / 2
        turn *= share[:, None, None]
        give, target = share[p.term], share[p.term] * (y - self.force) / resist[p.term]
        if sharp:
            turn[self.stuck] = eye
            held = self.stuck[p.term]
            give[held] = _SOFT
            target[held] = -(w / slip[p.term])[held]
        return turn, give, target


def _wide(p: Problem, x: np.ndarray) -> np.ndarray:
    """Return what belongs to rates with one row for each term."""
    if p.width:
        return x.reshape(-1, p.width)
    wide = np.zeros((p.terms, int(p.widths.max(initial=1))))
    wide[p.term, np.arange(len(x)) - p.starts[p.term]] = x
    return wide


def _sharp(p: Problem, limit: np.ndarray, w: np.ndarray, y: np.ndarray, stiff: np.ndarray) -> _Law:
    """Dry friction as a projection; what drags grows with its power."""
    dry = p.power == 0
    z = np.where(dry[p.term], y + stiff[p.term] * w, w)
    far = p.speeds(z)
    stuck = dry & (far <= limit) & (limit > 0)
    unit = z / np.maximum(far, 1e-300)[p.term]
    r = np.where(dry, (far - limit) / stiff, far)
    pull = limit * r**p.power
    across = np.divide(pull, r, out=np.where(p.power == 1, limit, 0.0), where=r > 0)
    across[stuck] = 0.0
    # Across its way a dry force turns as much as its rate does.
    aside = across[p.term] * (w - p.sums(unit * w)[p.term] * unit)
    force = pull[p.term] * unit + np.where(dry[p.term], aside, 0.0)
    return _Law(force, across, ((1 - p.power) * across)[p.term] * unit, unit, stuck)


def _blurred(p: Problem, limit: np.ndarray, w: np.ndarray, y: np.ndarray, blur: np.ndarray) -> _Law:
    """Dry friction with a rounded corner: y √(w² + δ²) = a w."""
    dry, r = p.power == 0, p.speeds(w)
    soft = np.where(dry, np.hypot(r, blur), r)
    pull = limit * soft**p.power
    across = np.divide(pull, soft, out=np.where(p.power == 1, limit, 0.0), where=soft > 0)
    unit = np.divide(w, soft[p.term], out=np.zeros_like(w), where=soft[p.term] > 0)
    # With forces inside their limit the slope has no negative eigenvalue.
    inside = y * np.minimum(1.0, limit / np.maximum(p.speeds(y), 1e-300))[p.term]
    along = np.divide(inside, soft[p.term], out=np.zeros_like(w), where=soft[p.term] > 0)
    loss = np.where(dry[p.term], along, ((1 - p.power) * across)[p.term] * unit)
    stuck = dry & (limit > 0) & (r <= 100 * blur)
    return _Law(across[p.term] * w, across, loss, unit, stuck)


# -- the linear problem ----------------------------------------------------------------------------


@lru_cache(maxsize=16)
def _saddle(sliding: Sliding) -> _Saddle:
    return _Saddle(sliding)


class _Saddle:
    """The matrix of all unknowns, dx, dy, dλ and dμ: where its entries stand, and how it is solved.

    Entries that fall on the same place are added.
    """

    def __init__(self, sliding: Sliding):
        graph = sliding.graph
        self.ends = np.cumsum(
            [graph.system.size, sliding.rates, graph.layout.multipliers, sliding.gaps]
        )
        self.total = int(self.ends[-1])
        self._places = {
            "slips": _pattern(sliding.slips, 2),
            "holds": _pattern(sliding.holds, 2),
            "contacts": _pattern(sliding.holds, 5, rowwise=True),
            "tangent": _pattern(sliding.tangent, 0),
            "curvature": _pattern(sliding.curvature, 0),
            "grip": _pattern(sliding.grip, 0),
        }
        if not graph.system.dissipation.is_zero:
            self._places["viscous"] = _pattern(sliding.viscous, 2)
        self._starts = np.zeros(0, dtype=int)
        self._rubs = terms_of(sliding)[1]

    def values(self, name: str, matrix: Any) -> np.ndarray:
        """Return the entries of a matrix in the order of its pattern."""
        if sparse.issparse(matrix):
            return matrix.data
        i, j = self._places[name]
        return np.asarray(matrix)[i, j]

    def _prepare(self, p: Problem) -> None:
        """Find the places of all entries, and the order in which the matrix is factored."""
        self._starts = p.starts
        n, m, rows, _ = self.ends
        (Bi, Bj), (Ai, Aj), (Gi, Gj) = (self._places[k] for k in ("slips", "holds", "contacts"))
        # Every entry of B acts on all rates of its term.
        entry = np.repeat(np.arange(len(Bi)), p.widths[p.term[Bi]])
        first = np.cumsum(np.concatenate([[0], p.widths[p.term[Bi]]]))[:-1]
        row = np.arange(len(entry)) - first[entry]
        term = p.term[Bi[entry]]
        self._turned = term, row, Bi[entry] - p.starts[term], entry
        kinds = ("tangent", "curvature", "viscous")
        self._bends = bends = [self._places[k] for k in kinds if k in self._places]
        # The rates whose friction follows what presses a contact.
        self._pressed = np.flatnonzero(self._rubs[p.term] >= 0)
        diagonal = np.arange(self.total)
        places = [
            *bends, (Bj, n + Bi), (Aj, m + Ai), (Gj, rows + Gi),
            (n + p.starts[term] + row, Bj[entry]), (m + Ai, Aj), (rows + Gi, Gj),
            (n + self._pressed, rows + self._rubs[p.term[self._pressed]]),
            (n + self._places["grip"][0], self._places["grip"][1]), (diagonal, diagonal),
        ]  # fmt: skip
        i, j = (np.concatenate(x) for x in zip(*places))
        pattern = sparse.csr_matrix((np.ones(len(i)), (i, j)), shape=(self.total, self.total))
        self._rank = np.argsort(saddle_order(pattern[:n, :n], pattern[n:, :n]))
        i, j = self._rank[i], self._rank[j]
        self._below, self._above = int((i - j).max(initial=0)), int((j - i).max(initial=0))
        self._narrow = max(self._below, self._above) <= _NARROW
        if self._narrow:
            # LAPACK's form of a band, with room for what pivoting adds.
            self._height = 2 * self._below + self._above + 1
            self._at = (self._below + self._above + i - j) + self._height * j
        else:
            keys, self._at = np.unique(j * self.total + i, return_inverse=True)
            self._rows = (keys % self.total).astype(np.int32)
            columns = self.total * np.arange(self.total + 1)
            self._columns = np.searchsorted(keys, columns).astype(np.int32)

    def solve(
        self,
        p: Problem,
        units: Measure,
        bends: list[np.ndarray],
        turn: np.ndarray,
        give: np.ndarray,
        more: np.ndarray,
        working: np.ndarray,
        grown: tuple[np.ndarray, np.ndarray],
        damping: float,
        *known: np.ndarray,
    ) -> list[np.ndarray] | None:
        """Return dx, dy, dλ and dμ in units of size one, or None where the matrix is singular."""
        if self._starts is not p.starts:
            self._prepare(p)
        L, grip = units.moves, self._places["grip"]
        kinds = (
            ("slips", p.B, units.slips[p.term]), ("holds", p.A, units.rows),
            ("contacts", p.G, units.gaps),
        )  # fmt: skip
        B, A, G = (
            self.values(k, x) * L[self._places[k][1]] / unit[self._places[k][0]]
            for k, x, unit in kinds
        )
        bends = [L[i] * z * L[j] for (i, j), z in zip(self._bends, bends)]
        term, row, column, entry = self._turned
        data = np.concatenate([
            *bends, B, -A, -G, turn[term, row, column] * B[entry], A,
            G * working[self._places["contacts"][0]], (give * more)[self._pressed],
            grown[0] * L[grip[1]] * (give * grown[1])[grip[0]],
            np.full(p.n, damping), -give, np.full(len(known[2]), _SOFT),
            np.where(working, _SOFT, 1.0),
        ])  # fmt: skip
        right = np.zeros(self.total)
        right[self._rank] = np.concatenate(known)
        if self._narrow:
            band = np.bincount(self._at, data, self._height * self.total)
            band = band.reshape((self._height, self.total), order="F")
            *_, moves, failed = dgbsv(self._below, self._above, band, right, True, True)
            if failed:
                return None
        else:
            entries = np.bincount(self._at, data, len(self._rows))
            K = sparse.csc_matrix((entries, self._rows, self._columns), (self.total, self.total))
            try:
                moves = splu(K, permc_spec="NATURAL", diag_pivot_thresh=0.1).solve(right)
            except RuntimeError:
                return None
        moves = moves[self._rank]
        return np.split(moves, self.ends[:-1]) if np.all(np.isfinite(moves)) else None


def _pattern(function: Any, output: int, rowwise: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of the entries of an output, column by column or row by row."""
    pattern = function.sparsity_out(output)
    counts = np.diff(np.array(pattern.colind(), dtype=np.intp))
    i, j = np.array(pattern.row(), dtype=np.intp), np.repeat(np.arange(pattern.size2()), counts)
    order = np.lexsort((j, i)) if rowwise else np.arange(len(i))
    return i[order], j[order]
