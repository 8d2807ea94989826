"""All equilibria in a box, stable and not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stationary.errors import StatementError, say
from stationary.lower.kernel import graph_of
from stationary.model.layout import Layout
from stationary.model.system import System
from stationary.result.equilibrium import Equilibrium
from stationary.solve.progress import Progress
from stationary.solve.search import Search, search_of
from stationary.solve.statics import refuse

# Starts for each coordinate searched, and the most of all.
_STARTS_EACH, _MOST_STARTS = 48, 768

# Deflated searches without anything new before it is believed that nothing is left.
_GIVE_UP = 12

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

    def __repr__(self) -> str:
        lines = [f"{len(self)} equilibria; {self.searched}"]
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
    as one: a representative with its free directions.

    Parameters
    ----------
    system : System
    within : dict
        For each coordinate to be searched its interval; the others start at zero.
    params, inputs : dict, optional
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
    refuse(system, contacts=False)
    layout = graph_of(system).layout
    places, low, high = _box(layout, within)
    search = search_of(system, params, inputs, float(t), "any")
    hunt = _Hunt(search, places, low, high)
    return hunt.run()


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


def _one_family(one: Equilibrium, other: Equilibrium) -> bool:
    """Tell whether two equilibria belong to one family: alike in all that a family shares."""
    if not len(one.free) or len(one.free) != len(other.free):
        return False
    scale = max(1.0, np.abs(one.eigenvalues).max())
    alike = np.abs(one.eigenvalues - other.eigenvalues).max() <= _SAME * scale
    if one.energy is None or other.energy is None:
        return bool(alike)
    return bool(alike and abs(one.energy - other.energy) <= _SAME * max(1.0, abs(one.energy)))


class _Hunt:
    def __init__(self, search: Search, places: np.ndarray, low: np.ndarray, high: np.ndarray):
        self.search, self.places, self.low, self.high = search, places, low, high
        self.active = np.arange(search.balance.rows)
        self.found: list[Equilibrium] = []

    def run(self) -> Equilibria:
        count = int(min(_MOST_STARTS, _STARTS_EACH * len(self.places)))
        # Imported here: it takes as long as all the rest of the package.
        from scipy.stats import qmc

        sampler = qmc.Sobol(len(self.places), seed=0)
        fractions = sampler.random_base2(int(np.ceil(np.log2(count))))
        corners = np.vstack([np.full(len(self.places), 0.5), fractions])
        starts = self.low + corners * (self.high - self.low)
        progress, converged, idle = Progress("equilibria"), 0, 0
        try:
            for k, start in enumerate(starts):
                progress.show(k / len(starts))
                converged += self._try(self._whole(start), deflate=False)
            tried = len(starts)
            for start in starts:
                if idle >= _GIVE_UP:
                    break
                tried += 1
                before = len(self.found)
                self._try(self._whole(start), deflate=True)
                idle = idle + 1 if len(self.found) == before else 0
        finally:
            progress.close()
        made = Equilibria(sorted(self.found, key=lambda rest: tuple(np.round(rest.q, 9))))
        made.searched = (
            f"Newton's method from {len(starts)} starts, {converged} of which converged, and "
            f"{tried - len(starts)} searches with known ones divided out"
        )
        return made

    def _whole(self, values: np.ndarray) -> np.ndarray:
        q = np.zeros(self.search.system.size)
        q[self.places] = values
        return q

    def _try(self, q: np.ndarray, deflate: bool) -> bool:
        self.search.steps = 0
        if deflate:
            escaped = self._deflated(q)
            if escaped is None:
                return False
            q = escaped
        q, lam, status = self.search.newton(q, self.active)
        if status != "balanced" or not np.all(np.isfinite(q)):
            return False
        slack = 1e-9 * (self.high - self.low)
        if np.any(q[self.places] < self.low - slack) or np.any(q[self.places] > self.high + slack):
            return True
        size = max(1.0, float(np.max(self.high - self.low)))
        if any(np.abs(q - rest.q).max() <= _SAME * size for rest in self.found):
            return True
        rest = self.search.wrapped(q, lam, status, self.active)
        if not any(_one_family(rest, other) for other in self.found):
            self.found.append(rest)
        return True

    def _deflated(self, q: np.ndarray) -> np.ndarray | None:
        """Newton's method on the equations divided by the distances from what is known."""
        search = self.search
        lam = search.first_multipliers(q, self.active)
        for _ in range(60):
            g, _ = search.forces(q)
            c, A = search.limits(q)
            if not (np.all(np.isfinite(g)) and np.all(np.isfinite(c))):
                return None
            H = search.tangent(q) - search.curvature(q, search.full(lam, self.active))
            move, minus = search.saddle(H, A[self.active]).solve(-g, -c[self.active])
            factor = self._factor(q, move)
            step = factor * move
            size = np.abs(step).max(initial=0.0)
            most = 0.5 * float(np.max(self.high - self.low))
            step *= min(1.0, most / size) if size else 1.0
            q, lam = q + step, lam + min(1.0, abs(factor)) * (-minus - lam)
            if size <= 1e-9:
                return q
            if np.any(np.abs(q) > 1e6):
                return None
        return None

    def _factor(self, q: np.ndarray, move: np.ndarray) -> float:
        """Return how deflation by Π (1/|q − q_k|² + 1) changes the length of a Newton step."""
        slope = 0.0
        for rest in self.found:
            apart = q - rest.q
            square = max(float(apart @ apart), 1e-16)
            slope += (-2 * float(apart @ move) / square**2) / (1 / square + 1)
        bottom = 1 - slope
        return float(
            np.clip(1 / bottom if abs(bottom) > 1e-3 else np.sign(bottom) * 1e3, -1e3, 1e3)
        )
