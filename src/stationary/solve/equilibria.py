"""All equilibria in a box, stable and not."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import combinations
from typing import Any

import casadi as ca
import numpy as np

from stationary.errors import DerivationError, StatementError, say
from stationary.lower.inputs import SLOTS, lowered
from stationary.lower.kernel import graph_of
from stationary.model.layout import Layout
from stationary.model.system import System
from stationary.result.equilibrium import Equilibrium
from stationary.solve.inertia import require_system
from stationary.solve.progress import Progress
from stationary.solve.search import Search, search_of
from stationary.solve.statics import refuse
from stationary.solve.still import balance_of

# Starts for each coordinate searched, and the most of all; Newton's steps from each.
_STARTS_EACH, _MOST_STARTS = 64, 768
_MOST_STEPS = 60

# Searches of the whole box, each with what was found before divided out.
_MOST_ROUNDS = 12

# A direction in which equations change this much less than in others is one of a family.
_FLAT = 1e-8

# Most contacts of which every set is tried.
_MOST_CONTACTS = 6

# Two equilibria closer than this, relative to the box, are one.
_SAME = 1e-6


class Equilibria(list):
    """Equilibria in the order of their coordinates, with a statement of how hard was looked.

    Attributes
    ----------
    searched : str
        How many starts were tried and how many of them converged.
    """

    searched: str = ""
    complete: bool = False

    def __repr__(self) -> str:
        one = len(self) == 1
        lines = [f"{len(self)} {'equilibrium' if one else 'equilibria'}; {self.searched}"]
        for rest in self:
            first = repr(rest).splitlines()[0]
            lines.append("  " + first.split(", ", 1)[1])
        return "\n".join(lines)


def equilibria(
    system: System,
    *,
    within: Mapping[Any, tuple[float, float]],
    params: Mapping[Any, float] | None = None,
    inputs: Mapping[Any, Any] | None = None,
    t: float = 0.0,
) -> Equilibria:
    """Find all equilibria in a box, by Newton's method from many starts and by deflation.

    Every equilibrium found is divided out of the equations, so that the next search from the same
    start must end elsewhere. Equilibria that form a family, as where a coordinate is free, count
    as one: the member nearest to zero, with its free directions. Contacts are searched open and
    closed, every set of them.

    Parameters
    ----------
    system : System
    within : dict
        For each coordinate to be searched its interval; the others start at zero.
    params, inputs : dict, optional
        Inputs are zero where left out.
    t : float

    Returns
    -------
    Equilibria
        A list of `Equilibrium`, in the order of the coordinates; ``.searched`` says how hard it
        looked. No search by numbers can prove that nothing was missed.

    References
    ----------
    P. E. Farrell, Á. Birkisson, S. W. Funke, Deflation techniques for finding distinct solutions
    of nonlinear partial differential equations, SIAM J. Sci. Comput. 37 (2015) A2026.

    Examples
    --------
    >>> theta = st.coordinates("theta")
    >>> pendulum = st.System(potential=-st.cos(theta))
    >>> found = st.equilibria(pendulum, within={theta: (-1, 4)})
    >>> [(round(rest[theta], 6), rest.stable) for rest in found]
    [(0.0, True), (3.141593, False)]
    """
    require_system(system)
    refuse(system, "equilibria")
    layout = graph_of(system).layout
    places, low, high = _box(layout, within)
    search = search_of(system, params, inputs, float(t), "any")
    if search.balance.gaps > _MOST_CONTACTS:
        raise DerivationError(
            say(
                "there are too many contacts to try every set of them that may touch.",
                f"Found {search.balance.gaps}, expected {_MOST_CONTACTS} or fewer.",
                "Take statics, or state as constraints those that touch.",
            )
        )
    return _Hunt(search, places, low, high).run()


def _box(layout: Layout, within: Mapping) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    places, low, high = [], [], []
    for key, interval in within.items():
        entries, order = layout.resolve(key, "within")
        try:
            a, b = (float(x) for x in interval)
        except (TypeError, ValueError):
            a = b = np.nan
        if order or not a < b or not np.isfinite(b - a):
            raise StatementError(
                say(
                    f"within gives no interval for '{key}'.",
                    f"Found {interval!r}, expected a lower and an upper limit of a coordinate.",
                    "Give two numbers in order, as in within={theta: (-3.2, 3.2)}.",
                )
            )
        for entry in np.ravel(entries):
            places.append(int(entry))
            low.append(a)
            high.append(b)
    if not places:
        raise StatementError(
            say(
                "within is empty.",
                "Found no interval.",
                "Give one for each coordinate to be searched.",
            )
        )
    return np.array(places), np.array(low), np.array(high)


class _Hunt:
    """The search of a box: Newton's method from all starts at once, then with deflation."""

    def __init__(self, search: Search, places: np.ndarray, low: np.ndarray, high: np.ndarray):
        self.search, self.places, self.low, self.high = search, places, low, high
        self.found: list[Equilibrium] = []
        self.width = max(float(np.max(high - low)), 1e-300)

    def run(self) -> Equilibria:
        """Search with every set of contacts that may touch."""
        rows, gaps = self.search.balance.rows, self.search.balance.gaps
        starts = self._starts()
        progress, tried, converged, deflated = Progress("equilibria"), 0, 0, 0
        try:
            sets = [s for k in range(gaps + 1) for s in combinations(range(gaps), k)]
            for number, touching in enumerate(sets):
                active = np.concatenate([np.arange(rows), rows + np.array(touching, dtype=int)])
                swarm = Swarm(self.search, active)
                known: list[np.ndarray] = []
                for round_ in range(_MOST_ROUNDS):
                    progress.show((number + round_ / _MOST_ROUNDS) / len(sets))
                    ends = swarm.run(starts, known, self.width)
                    fresh = self._fresh(self._represented(swarm, ends), known)
                    known += fresh
                    if round_ == 0:
                        tried, converged = tried + len(starts), converged + len(ends)
                    else:
                        deflated += len(starts)
                    for q in fresh:
                        self._keep(q, active)
                    if round_ and not fresh:
                        break
        finally:
            progress.close()
        made = Equilibria(sorted(self.found, key=lambda rest: tuple(np.round(rest.q, 9))))
        made.searched = (
            f"Newton's method from {tried} starts, {converged} of which converged, and "
            f"{deflated} searches with known ones divided out"
        )
        return made

    def _starts(self) -> np.ndarray:
        """Spread starts evenly over the box: its middle, and multiples of a root of xᵈ⁺¹ = x + 1.

        M. Roberts, The unreasonable effectiveness of quasirandom sequences (2018).
        """
        d = len(self.places)
        count = int(min(_MOST_STARTS, _STARTS_EACH * d))
        root = 2.0
        for _ in range(60):
            root = (1 + root) ** (1 / (d + 1))
        shares = (0.5 + np.outer(np.arange(count), root ** -np.arange(1.0, d + 1))) % 1
        q = np.zeros((count, self.search.system.size))
        q[:, self.places] = self.low + shares * (self.high - self.low)
        return q

    def _represented(self, swarm: Swarm, ends: np.ndarray) -> np.ndarray:
        """Replace members of families by the one that is nearest to zero, or to the box.

        Where all are as near, as on a ring about zero, it is the farthest along the first
        coordinate of the box.
        """
        ends = ends[[self._inside(q[: swarm.n], _SAME * self.width) for q in ends]]
        home = np.zeros(swarm.n)
        home[self.places] = np.clip(0.0, self.low, self.high)
        families = swarm.families(ends, self.width)
        moved = swarm.slid(ends[families], home, self.width)
        tied = np.abs(moved - ends[families]).max(axis=1, initial=0.0) <= 1e-6 * self.width
        aside = np.tile(home, (int(tied.sum()), 1))
        aside[:, self.places[0]] += np.linalg.norm(moved[tied, : swarm.n] - home, axis=1)
        moved[tied] = swarm.slid(moved[tied], aside, self.width)
        inside = [self._inside(q[: swarm.n], _SAME * self.width) for q in moved]
        ends[np.flatnonzero(families)[inside]] = moved[inside]
        return ends[:, : swarm.n]

    def _fresh(self, ends: np.ndarray, known: list[np.ndarray]) -> list[np.ndarray]:
        """Return the ends that are in the box and not known."""
        fresh: list[np.ndarray] = []
        for q in ends:
            if self._inside(q, _SAME * self.width) and not any(
                np.abs(q - other).max() <= _SAME * self.width for other in (*known, *fresh)
            ):
                fresh.append(q)
        return fresh

    def _inside(self, q: np.ndarray, slack: float) -> bool:
        place = q[self.places]
        return bool(np.all(place >= self.low - slack) and np.all(place <= self.high + slack))

    def _keep(self, q: np.ndarray, active: np.ndarray) -> None:
        """Round an equilibrium off and add it to the list, if it is none that stands there."""
        search, rows = self.search, self.search.balance.rows
        search.steps = 0
        search.prepare(q)
        q, lam, status = search.newton(q, active)
        if status != "balanced" or not self._inside(q, 1e-9 * self.width):
            return
        scale = max(np.abs(lam).max(initial=0.0), np.abs(search.forces(q)[0]).max(), 1e-300)
        if search.violated(q) or np.min(lam[rows:], initial=0.0) < -1e-9 * scale:
            return
        if not any(np.abs(q - rest.q).max() <= _SAME * self.width for rest in self.found):
            self.found.append(search.wrapped(q, lam, status, active))


class Swarm:
    """Newton's method from many starts at once, on equations divided by what is known."""

    def __init__(self, search: Search, active: np.ndarray):
        self.n = search.system.size
        self.some = np.concatenate([np.arange(self.n), self.n + active]).astype(int)
        self.whole = self.n + search.balance.rows + search.balance.gaps
        self._p = np.concatenate([[search.t], search.params, search.slots])
        self._function = _equations(search.system, search.signature)

    def values(self, z: np.ndarray, slopes: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return F and ∂F/∂z of every row of z."""
        count = len(z)
        full = np.zeros((self.whole, count))
        full[self.some] = z.T
        F, J = self._function.map(count)(full, self._p)
        F = np.asarray(F).T[:, self.some]
        J = np.asarray(J).reshape(self.whole, count, self.whole).transpose(1, 0, 2)
        return F, J[:, self.some][:, :, self.some] if slopes else J

    def run(self, starts: np.ndarray, known: list[np.ndarray], width: float) -> np.ndarray:
        """Return where the searches that converge end."""
        n, count = self.n, len(starts)
        z = np.hstack([starts, np.zeros((count, len(self.some) - n))])
        F, J = self.values(z)
        z[:, n:] = np.einsum("kij,kj->ki", _pinv(J[:, n:, :n].transpose(0, 2, 1)), F[:, :n])
        F, J = self.values(z)
        done, alive = np.zeros(count, bool), np.all(np.isfinite(F), axis=1)
        for _ in range(_MOST_STEPS):
            work = np.flatnonzero(alive & ~done)
            if not len(work):
                break
            move = -np.einsum("kij,kj->ki", _pinv(J[work]), F[work])
            factor = _factors(z[work, :n], move[:, :n], known)
            size = np.abs(factor[:, None] * move[:, :n]).max(axis=1, initial=0.0)
            step = factor * 0.5 * width / np.maximum(size, 0.5 * width)
            z[work], F[work], J[work] = self._shortened(z[work], F[work], move, step, bool(known))
            done[work] = size <= 1e-9 * width
            alive[work] = np.all(np.isfinite(F[work]), axis=1) & (
                np.abs(z[work, :n]).max(axis=1) < 1e6 * max(1.0, width)
            )
        # What the rows of F change by over the box: a residual is small beside that.
        typical = np.abs(J[:, :, :n]).max(axis=2, initial=0.0) * width
        typical[:, :n] += np.einsum("kij,kj->ki", np.abs(J[:, :n, n:]), np.abs(z[:, n:]))
        typical[:, :n] = typical[:, :n].max(axis=1, keepdims=True, initial=1e-300)
        done &= alive & np.all(np.abs(F) <= 1e-8 * typical + 1e-300, axis=1)
        return z[done]

    def families(self, z: np.ndarray, width: float) -> np.ndarray:
        """Tell which equilibria can be moved a little and still rest."""
        made = np.zeros(len(z), bool)
        if not len(z):
            return made
        z = self._corrected(z, 12)
        _, sizes, rows = np.linalg.svd(self.values(z)[1])
        flat = np.flatnonzero(sizes[:, -1] <= _FLAT * sizes[:, 0])
        for k in flat:
            ahead = z[k] + 1e-3 * width * rows[k, -1] / np.abs(rows[k, -1, : self.n]).max()
            there = self._corrected(ahead[None], 12)[0]
            made[k] = np.abs(there - z[k])[: self.n].max() > 5e-4 * width
        return made

    def slid(self, z: np.ndarray, aim: np.ndarray, width: float) -> np.ndarray:
        """Move along families as close to a place as possible, each to its own or all to one."""
        z, n = z.copy(), self.n
        aim = np.broadcast_to(aim, (len(z), n))
        share = np.ones(len(z))
        for _ in range(100):
            work = np.flatnonzero(share > 1e-3)
            if not len(work):
                break
            _, sizes, rows = np.linalg.svd(self.values(z[work])[1])
            free = rows * (sizes <= _FLAT * sizes[:, :1])[:, :, None]
            away = np.zeros((len(work), z.shape[1]))
            away[:, :n] = aim[work] - z[work, :n]
            step = np.einsum("kij,ki->kj", free, np.einsum("kij,kj->ki", free, away))
            length = np.abs(step).max(axis=1)
            limit = np.minimum(1.0, 0.2 * width / np.maximum(length, 1e-300))
            there = self._corrected(z[work] + (share[work] * limit)[:, None] * step, 12)
            left = np.linalg.norm(aim[work] - there[:, :n], axis=1)
            nearer = left < np.linalg.norm(away[:, :n], axis=1)
            z[work[nearer]] = there[nearer]
            share[work] = np.where(nearer, np.minimum(1.0, 2 * share[work]), share[work] / 4)
            share[work[length <= 1e-9 * width]] = 0.0
        return z

    def _corrected(self, z: np.ndarray, steps: int) -> np.ndarray:
        """Take the shortest of Newton's steps, which leave a place in a family as it is."""
        for _ in range(steps):
            F, J = self.values(z)
            move = np.einsum("kij,kj->ki", _pinv(J, _FLAT), F)
            z = z - move
            if np.abs(move).max(initial=0.0) <= 1e-14 * np.abs(z).max(initial=0.0):
                break
        return z

    def _shortened(self, z, F, move, step, deflated: bool):
        """Take steps; halve those that make the residual larger, unless deflation asks for them."""
        before = np.linalg.norm(F, axis=1)
        trial = z + step[:, None] * move
        new, J = self.values(trial)
        for _ in range(0 if deflated else 12):
            after = np.linalg.norm(new, axis=1)
            bad = np.flatnonzero(~(after <= before))
            if not len(bad):
                break
            step[bad] /= 2
            trial[bad] = z[bad] + step[bad, None] * move[bad]
            new[bad], J[bad] = self.values(trial[bad])
        return trial, new, J


def _pinv(J: np.ndarray, rcond: float = 1e-13) -> np.ndarray:
    """Invert a stack of matrices, and as well as possible those that are singular."""
    made = np.zeros(J.shape[:-2] + (J.shape[-1], J.shape[-2]))
    good = np.all(np.isfinite(J), axis=(1, 2))
    if J.shape[-1] and J.shape[-2]:
        made[good] = np.linalg.pinv(J[good], rcond=rcond)
    return made


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


@lru_cache(maxsize=32)
def _equations(system: System, signature: tuple) -> ca.Function:
    """Return the conditions of balance over (q, λ) and their Jacobian, inputs included."""
    balance = balance_of(system)
    n, m = system.size, len(system.parameters)
    rows = balance.rows + balance.gaps
    kind: Any = ca.SX if balance.graph.scalar else ca.MX
    z = kind.sym("z", n + rows)
    p = kind.sym("p", 1 + m + sum(SLOTS[k] for k, _ in signature))
    q, t, values = z[:n], p[0], p[1 : 1 + m]
    u = lowered(signature, balance.graph.layout, t, q, kind.zeros(n), values, p[1 + m :])
    g, *_ = balance.forces(t, q, u, values)
    c, A = balance.limits(t, q, u, values)
    F = ca.vertcat(g - ca.mtimes(A.T, z[n:]), c) if rows else g
    outputs = [ca.densify(F), ca.densify(ca.jacobian(F, z))]
    return ca.Function("equations", [z, p], outputs)
