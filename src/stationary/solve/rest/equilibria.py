"""All equilibria in a box, stable and not."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np

from stationary.errors import DerivationError, StatementError
from stationary.lower.kernel import graph_of
from stationary.model.layout import Layout, pairs
from stationary.model.numbers import pair_of
from stationary.model.system import System
from stationary.result.equilibrium import Equilibria, Equilibrium
from stationary.solve.arguments import as_time, quiet
from stationary.solve.inertia import require_system
from stationary.solve.progress import Progress
from stationary.solve.rest.box_search import Box, Hunt
from stationary.solve.rest.search import Search, search_of
from stationary.solve.rest.statics import refuse
from stationary.solve.scales import scales_of

# Most contacts of which every set is tried, and coordinates from which many starts are followed.
_MOST_CONTACTS, _MOST_COORDINATES = 6, 500


@quiet
def equilibria(
    system: System,
    *,
    within: Mapping[Any, tuple[float, float]] | None = None,
    params: Mapping[Any, float] | None = None,
    inputs: Mapping[Any, Any] | None = None,
    t: float = 0.0,
) -> Equilibria:
    """Find all equilibria in a box, and prove that they are all where that can be done.

    The box is subdivided until interval arithmetic shows of every part that it holds no equilibrium
    or exactly one. That is a proof, for statements in few coordinates. Where the work is too much,
    Newton's method starts from many places; every equilibrium found is divided out of the
    equations, so that the next search from the same start must end elsewhere, and its mirror images
    are tried.

    Equilibria that form a family, as where a coordinate is free, count as one: the member nearest
    to zero, with its free directions. Contacts are searched open and closed, every set of them.

    Parameters
    ----------
    system : System
    within : dict
        For each coordinate to be searched its interval; the others start at zero. Orientations are
        searched whole, and where nothing else moves it may be left out.
    params, inputs : dict, optional
        Inputs are zero where left out.
    t : float

    Returns
    -------
    Equilibria
        A list of `Equilibrium`, in the order of the coordinates; ``.complete`` says whether it is
        proven that there are no others, ``.searched`` how hard it looked.

    References
    ----------
    R. E. Moore, R. B. Kearfott, M. J. Cloud, Introduction to Interval Analysis, SIAM 2009.
    P. E. Farrell, Á. Birkisson, S. W. Funke, Deflation techniques for finding distinct solutions
    of nonlinear partial differential equations, SIAM J. Sci. Comput. 37 (2015) A2026.

    Examples
    --------
    >>> theta = st.coordinates("theta")
    >>> pendulum = st.System(potential=-st.cos(theta))
    >>> found = st.equilibria(pendulum, within={theta: (-1, 4)})
    >>> [(round(rest[theta], 6), rest.stable) for rest in found]
    [(0.0, True), (3.141593, False)]
    >>> found.complete
    True
    """
    require_system(system)
    refuse(system, "equilibria")
    layout = graph_of(system).layout
    places, low, high = _box(layout, _whole(layout) if within is None else within)
    if system.size > _MOST_COORDINATES:
        raise DerivationError(
            "there are too many coordinates to search a box of them.",
            f"Found {system.size}, expected {_MOST_COORDINATES} or fewer.",
            "Take statics, which follows one start, or a coarser model.",
        )
    search = search_of(system, params, inputs, as_time(t), "any")
    if search.balance.gaps > _MOST_CONTACTS:
        raise DerivationError(
            "there are too many contacts to try every set of them that may touch.",
            f"Found {search.balance.gaps}, expected {_MOST_CONTACTS} or fewer.",
            "Take statics, or state as constraints those that touch.",
        )
    return _all(search, _sized(search, places, low, high))


def _whole(layout: Layout) -> dict:
    """Return the intervals of a search that needs none: orientations have no ends."""
    turned = layout.kinematics.quaternions
    other = np.setdiff1d(np.arange(layout.system.size), turned)
    if len(other):
        name = layout.name(int(other[0]))
        raise StatementError(
            f"within says nothing of '{name}'.",
            f"Found no interval for {len(other)} coordinate{'s' * (len(other) != 1)}.",
            "Give one for each coordinate to be searched; the others start at zero.",
        )
    return {}


def _box(layout: Layout, within: Mapping) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    places, low, high = [], [], []
    for key, interval in pairs(within, "within"):
        entries, order = layout.resolve(key, "within")
        a, b = pair_of(interval)
        if order or not a < b or not np.isfinite(b - a):
            raise StatementError(
                f"within gives no interval for '{key}'.",
                f"Found {interval!r}, expected a lower and an upper limit of a coordinate.",
                "Give two numbers in order, as in within={theta: (-3.2, 3.2)}.",
            )
        for entry in np.ravel(entries):
            places.append(int(entry))
            low.append(a)
            high.append(b)
    for quaternion in layout.kinematics.quaternions:
        # An orientation of which nothing is said is searched whole.
        if not set(quaternion.tolist()) & set(places):
            places += quaternion.tolist()
            low, high = [*low, *[-1.0] * 4], [*high, *[1.0] * 4]
    if not places:
        raise StatementError(
            "within is empty.",
            "Found no interval.",
            "Give one for each coordinate to be searched.",
        )
    return np.array(places), np.array(low), np.array(high)


def _sized(search: Search, places: np.ndarray, low: np.ndarray, high: np.ndarray) -> Box:
    """Return the box with a unit for every coordinate: its interval, or what the statement says."""
    n = search.system.size
    home, travel = np.zeros(n), np.zeros(n)
    home[places], travel[places] = np.clip(0.0, low, high), high - low
    graph = search.balance.graph
    scales = scales_of(graph, search.params, search.t, home, u=search.inputs(home), travel=travel)
    size = np.where(scales.length > 0, scales.length, np.max(high - low))
    size[places] = high - low
    return Box(places, low, high, size, home, search.layout.kinematics)


def _all(search: Search, box: Box) -> Equilibria:
    """Search with every set of contacts that may touch."""
    rows, gaps = search.balance.rows, search.balance.gaps
    sets = [s for k in range(gaps + 1) for s in combinations(range(gaps), k)]
    progress, hunts = Progress("equilibria"), []
    distinct: list[Equilibrium] = []
    try:
        for number, touching in enumerate(sets):
            progress.show(number / len(sets))
            active = np.concatenate([np.arange(rows), rows + np.array(touching, dtype=int)])
            hunt = Hunt(search, box, active)
            hunts.append(hunt)
            for rest in hunt.run():
                if not any(box.same(rest.q, other.q) for other in distinct):
                    distinct.append(rest)
    finally:
        progress.close()
    every = Equilibria(sorted(distinct, key=lambda rest: tuple(np.round(rest.q / box.size, 9))))
    every.complete = all(hunt.complete for hunt in hunts)
    boxes = sum(hunt.boxes for hunt in hunts)
    words = []
    if boxes:
        words.append(f"interval subdivision of {boxes} box{'es' * (boxes != 1)}")
    if tried := sum(hunt.tried for hunt in hunts):
        converged, deflated = (sum(getattr(h, k) for h in hunts) for k in ("converged", "deflated"))
        words.append(
            f"Newton's method from {tried} starts, {converged} of which converged, and {deflated} "
            "searches with known ones divided out"
        )
    lacks = [word for hunt in hunts for word in hunt.lacks]
    how = " and ".join(words) or "no force depends on where it is"
    every.searched = "; ".join([how, *dict.fromkeys(lacks)])
    return every
