"""Sizes that a statement itself gives: what is small is small beside these, in every unit.

A length is never read off a coordinate's value, which changes with the origin, but off what bends,
what travels and what is open: the radius at which a constraint or a gap is no longer straight, the
way that velocities, moving constraints and inputs cover in the span, the width of a gap, the
deflection at which forces change by their own size. The value of a coordinate has one use: its
last digit is its rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import lsmr

from stationary.derive.balance import Balance
from stationary.derive.graph import Graph
from stationary.derive.sliding import Sliding
from stationary.lower.kernel import numeric
from stationary.solve.factors import stiffnesses

# Up to this many rows the bend of each is measured by itself; beyond, that of all together.
_ONE_BY_ONE = 40

# A row that depends on a coordinate this many times less than on its others lies across it.
_ACROSS = 1e-2

# Nor does one on which it depends so many times less tell where the row bends.
_ASIDE = 1e-3

# The share of a row that ties a coordinate to its others.
_TIED = 0.1

# A mass this many times smaller than those around it is none.
_NO_MASS = 1e-9

# At so many other places one looks on which coordinates rows depend. Those on which none depends so
# many times less than on another have the same unit.
_PLACES, _ALIKE = 4, 30.0

# What a whole turn changes by less than this is an angle.
_SAME = 1e-9

# A way this much shorter than what bends is measured by what bends.
_LEAST = 1e-9


@dataclass(frozen=True)
class Scales:
    """How large things are in one question.

    Attributes
    ----------
    length, force : ndarray
        Per coordinate: a move, and a generalized force, that matters. Zero where nothing in the
        statement has a length (a free particle at rest).
    bend : ndarray
        Per coordinate: the move at which a constraint or a gap is straight no more; infinite where
        all are straight.
    rounding : ndarray
        Per coordinate: the last digit of its value.
    energy, time : float
        Zero where there is none.
    """

    length: np.ndarray
    bend: np.ndarray
    rounding: np.ndarray
    force: np.ndarray
    energy: float
    time: float

    @property
    def speed(self) -> np.ndarray:
        """Per coordinate: a velocity that matters; zero without a time."""
        return self.length / self.time if self.time > 0 else np.zeros_like(self.length)

    def at(self, q: np.ndarray) -> Scales:
        """Return the sizes of the same question at another place, which has other last digits."""
        return replace(self, rounding=_last_digits(q, self.bend))

    def rows(self, A: Any) -> np.ndarray:
        """Return by how much rows with these gradients change when coordinates move by `length`."""
        return largest_terms(A, self.length)

    def rows_rounding(self, A: Any) -> np.ndarray:
        """Return by how much rows change with the last digits of the coordinates."""
        return largest_terms(A, self.rounding)

    def small(self, A: Any, rtol: float) -> np.ndarray:
        """Return below which value each of these rows counts as zero, at a relative tolerance.

        Eight last digits are granted: a row is a sum, and rounded as one.
        """
        return np.maximum(rtol * self.rows(A), 8 * self.rows_rounding(A))


def scales_of(
    graph: Graph,
    params: np.ndarray,
    t: float,
    q: np.ndarray,
    *,
    v: np.ndarray | None = None,
    u: np.ndarray | None = None,
    span: float = 0.0,
    travel: np.ndarray | None = None,
) -> Scales:
    """Return the sizes at one state.

    Parameters
    ----------
    graph : Graph
    params : ndarray
    t, q, v, u : float, ndarray
        The state, and the inputs; v and u are zero where left out.
    span : float
        How much time is asked about, if any.
    travel : ndarray, optional
        How far each coordinate is known to go: a range searched, or a motion's own extent.
    """
    n = len(q)
    v = np.zeros(n) if v is None else v
    u = np.zeros(len(graph.system.inputs)) if u is None else u
    at = (t, q, u, params)
    balance = Balance(graph)
    with np.errstate(all="ignore"):
        g, _ = numeric(balance, "forces")(*at)
        tangent = numeric(balance, "tangent")
        K = abs(_finite(tangent(*at)[0]))
        stiff = clear_stiffnesses(lambda q: _finite(tangent(t, q, u, params)[0]), q)
        force = np.where(np.isfinite(g), np.abs(g), 0.0)
        deflected = np.divide(force, stiff, out=np.zeros(n), where=stiff > 0)
        ways = [deflected, np.abs(v) * span]
        if travel is not None:
            ways.append(np.abs(travel))
        bent = np.full(n, np.inf)
        if balance.rows + balance.gaps:
            c, A = numeric(balance, "limits")(*at)
            A = _finite(A)
            bent = _bends(balance, at, A, _metric(balance, at, v, stiff, A))
            ways.append(_ways(np.abs(c[balance.rows :]), A[balance.rows :], n))
            if span:
                later = numeric(balance, "levels")(t + 1e-6 * span, q, u, params)[0]
                ways.append(_ways(np.abs(later - c) * 1e6, A, n))
    way = np.max([np.where(np.isfinite(w), w, 0.0) for w in ways], axis=0)
    # What bends is known to bend however little it moves; what hardly moves has no less digits.
    curved = np.isfinite(bent)
    length = np.where(curved, np.where(way > 0, np.clip(way, _LEAST * bent, bent), bent), way)
    force = np.maximum(force, K @ length)
    return Scales(
        length=length,
        bend=bent,
        rounding=_last_digits(q, bent),
        force=force,
        energy=float(np.max(force * length, initial=0.0)),
        time=float(span),
    )


def bends_by_shape(
    graph: Graph, params: np.ndarray, t: float, q: np.ndarray, aside: np.ndarray
) -> np.ndarray:
    """Return per coordinate the move at which rows turn, however heavy it and the others are.

    Lengths count alike, each in the unit that rows tell, here and after moves `aside`; an angle
    bends over a radian, a quaternion over its length of one, and takes lengths with it. Zero where
    nothing tells.
    """
    balance, u = Balance(graph), np.zeros(len(graph.system.inputs))
    at = (t, q, u, params)
    A = _finite(numeric(balance, "limits")(*at)[1])
    strengths = _turned(balance, at, A, most=A.shape[0])
    angles, plain = np.any(strengths, axis=0), abs(A).toarray()
    for places in graph.layout.kinematics.quaternions:
        angles[places], strengths[:, places] = True, plain[:, places]
    plain[:, angles] = 0.0
    weights = _units(balance, at, plain, np.where(angles, 1.0, aside), ~angles)
    plain /= weights
    radii, curvature = np.full(A.shape, np.inf), numeric(balance, "curvature")
    for r in np.flatnonzero(plain.any(axis=1)):
        most, lever = plain[r].max(), strengths[r].max()
        B = sparse.coo_matrix(abs(_finite(curvature(*at, np.eye(len(plain))[r])[0])))
        bends = B.data / (weights[B.row] * weights[B.col])
        bends[angles[B.row] | angles[B.col]] = 0.0
        involved = plain[r] > 0
        involved[B.row[bends > 0]] = True
        radius = most / bends.max() if bends.any() else lever / most
        radii[r, involved] = radius if radius > 0 else np.inf
    # A lever of rounding is none.
    largest = np.max(radii, axis=0, where=np.isfinite(radii), initial=0.0)
    moves = np.min(radii, axis=0, where=radii > _LEAST * largest, initial=np.inf)
    return np.where(angles, 1.0, np.where(np.isfinite(moves), moves / weights, 0.0))


def _units(
    balance: Balance, at: tuple, rows: np.ndarray, aside: np.ndarray, some: np.ndarray
) -> np.ndarray:
    """Return weights of some coordinates by which rows depend on all of these about alike.

    A rod along an axis tells nothing of what lies across it: after some moves it does.
    """
    (t, q, u, p), (m, n), rng = at, rows.shape, np.random.default_rng(3)
    for _ in range(_PLACES):
        near = t, q + aside * rng.uniform(-1, 1, n), u, p
        rows = np.maximum(rows, abs(_finite(numeric(balance, "limits")(*near)[1])).toarray())
    # Logarithms of entries are sums of one of their row and one of their coordinate.
    r, i = np.nonzero(rows * some)
    largest = rows.max(axis=1, where=some, initial=0.0)[:, None]
    rows /= np.where(largest > 0, largest, 1.0)
    each = np.tile(np.arange(len(r)), 2)
    sums = (np.ones(len(each)), (each, np.append(r, m + i)))
    sums = sparse.csr_array(sums, shape=(len(r), m + n))
    logarithms = lsmr(sums, np.log(rows[r, i]))[0][m:]
    alike = not len(i) or np.ptp(logarithms[i]) < np.log(_ALIKE)
    return np.ones(n) if alike else np.exp(logarithms)


def clear_stiffnesses(tangent: Callable[[np.ndarray], Any], q: np.ndarray) -> np.ndarray:
    """Return how stiff every coordinate is, without what is made of the last digits of places.

    Across a spring at its natural length there is no stiffness; what 1 − 1 leaves would make a
    length of 1e12 of a force.
    """
    K = tangent(q)
    signs = np.random.default_rng(7).choice([-1.0, 1.0], len(q))
    near = tangent(q + 16 * np.spacing(np.abs(q)) * signs)
    stiff = stiffnesses(abs(K))
    return np.where(stiff <= 4 * stiffnesses(abs(near - K)), 0.0, stiff)


def _last_digits(q: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """Return the last digit of every coordinate, none sharper than that of what bends there."""
    return np.spacing(np.maximum(np.abs(q), np.where(np.isfinite(bend), bend, 0.0)))


def largest_terms(A: Any, moves: np.ndarray) -> np.ndarray:
    """Return the largest term of each row of |A| moves."""
    if not A.shape[0]:
        return np.zeros(0)
    if not sparse.issparse(A):
        return np.abs(A * moves).max(axis=1, initial=0.0)
    return np.asarray(abs(A @ sparse.diags(moves)).max(axis=1).todense()).ravel()


def _finite(A: Any) -> Any:
    """Return a sparse matrix whose entries that are no numbers count for nothing."""
    A = sparse.csr_matrix(A)
    A.data = np.where(np.isfinite(A.data), A.data, 0.0)
    return A


def _ways(values: np.ndarray, A: Any, n: int) -> np.ndarray:
    """Return how far each coordinate alone would have to go to change a row by a value."""
    ways = np.zeros(n)
    entries = sparse.coo_matrix(A)
    some = (entries.data != 0) & np.isfinite(values[entries.row])
    rows, columns, slopes = entries.row[some], entries.col[some], np.abs(entries.data[some])
    np.maximum.at(ways, columns, values[rows] / slopes)
    return ways


def _metric(balance: Balance, at: tuple, v: np.ndarray, stiff: np.ndarray, A: Any) -> np.ndarray:
    """Return weights that make metres and radians one measure.

    The roots of inertia or of stiffness do, or how far what rubs moves with each coordinate, or
    how strongly the rows depend on it.
    """
    (t, q, u, p), graph = at, balance.graph
    M = numeric(graph, "mass")(t, q, v, u, p)[0]
    inertia = np.sqrt(np.abs(_finite(M).diagonal()))
    for places in graph.layout.kinematics.quaternions:
        # Along itself a quaternion has no inertia: its entries count alike.
        inertia[places] = inertia[places].max()
    if not graph.constant_mass and not len(graph.layout.kinematics.quaternions):
        inertia = np.where(_singular(M, inertia), 0.0, inertia)
    for weights in (inertia, np.sqrt(stiff), _rubs(graph, at)):
        if np.all(weights > 0) and np.all(np.isfinite(weights)):
            return weights
    columns, turned = _columns(A), _turned(balance, at, A).max(axis=0, initial=0.0)
    columns = np.where(turned > 0, turned, columns)
    typical = np.median(columns[columns > 0]) if np.any(columns > 0) else 1.0
    # A rod along an axis hardly depends on what lies across it: there its other end counts.
    # An angle has a unit of its own, and is no such end.
    entries, most, beside = sparse.coo_matrix(A), np.zeros(A.shape[0]), np.zeros(len(columns))
    np.maximum.at(most, entries.row, np.where(turned > 0, 0.0, columns)[entries.col])
    np.maximum.at(beside, entries.col, most[entries.row])
    columns = np.where((columns > _ACROSS * beside) | (turned > 0), columns, beside)
    return np.where(columns > 0, columns, typical)


def _singular(M: Any, inertia: np.ndarray) -> bool:
    """Tell whether masses of a place are none of the motion: some direction there has none."""
    if not np.all(inertia > 0) or len(inertia) > _ONE_BY_ONE:
        return False
    M = _finite(M).toarray() / np.outer(inertia, inertia)
    return bool(np.linalg.eigvalsh(M)[0] < _NO_MASS)


def _columns(A: Any) -> np.ndarray:
    """Return how strongly rows depend on each coordinate, at most."""
    return np.asarray(abs(A).max(axis=0).todense()).ravel()


def _turned(balance: Balance, at: tuple, A: Any, most: int = _ONE_BY_ONE) -> np.ndarray:
    """Return how strongly each row depends on each angle as it turns; zero for what is no angle.

    Gradients are the same after a whole turn, and others after a quarter: whatever the units, an
    angle bends over a radian.
    """
    t, q, u, p = at
    strengths = np.zeros(A.shape)
    if balance.rows + balance.gaps > most:
        return strengths
    for i in np.flatnonzero(_columns(A != 0)):
        whole, quarter = (
            _finite(numeric(balance, "limits")(t, q + turn * (np.arange(len(q)) == i), u, p)[1])
            for turn in (2 * np.pi, np.pi / 2)
        )
        size = np.hypot(_columns(A)[i], _columns(quarter)[i])
        if _columns(whole - A).max() <= _SAME * size < _columns(quarter - A)[i]:
            strengths[:, i] = np.hypot(A[:, [i]].toarray(), quarter[:, [i]].toarray()).ravel()
    return strengths


def _rubs(graph: Graph, at: tuple) -> np.ndarray:
    """Return how far what rubs moves with each coordinate, at most."""
    if not graph.layout.slips:
        return np.zeros(graph.system.size)
    B = _finite(numeric(Sliding(graph), "slips")(*at)[2])
    return np.asarray(abs(B).max(axis=0).todense()).ravel()


def _bends(balance: Balance, at: tuple, A: Any, weights: np.ndarray) -> np.ndarray:
    """Return per coordinate the move at which a row that involves it is straight no more."""
    m, across = A.shape[0], sparse.diags(1 / weights)
    sizes = np.asarray(abs(A @ across).max(axis=1).todense()).ravel()
    sizes = np.where(sizes > 0, sizes, np.inf)
    curvature = numeric(balance, "curvature")
    moves = np.full(len(weights), np.inf)
    if m > _ONE_BY_ONE:
        B = abs(across @ _finite(curvature(*at, 1 / sizes)[0]) @ across)
        bends = np.asarray(B.max(axis=1).todense()).ravel()
        # All that one row involves shares its radius, here too.
        entries, shared = sparse.coo_matrix(A), np.zeros(m)
        np.maximum.at(shared, entries.row, bends[entries.col])
        np.maximum.at(bends, entries.col, shared[entries.row])
        with np.errstate(divide="ignore"):
            return 1 / bends / weights
    for r in range(m):
        B = abs(_finite(curvature(*at, np.eye(m)[r])[0]))
        bend = abs(across @ B @ across).max() if B.nnz else 0.0
        if not bend:
            continue
        # All that one row involves shares its radius: a rod has one length.
        slopes, bends = np.abs(A[[r]].toarray().ravel()), B.diagonal()
        involved = (slopes > 0) | (np.asarray(B.max(axis=1).todense()).ravel() > 0)
        radius = sizes[r] / bend / weights
        # By how much the row changes within it: less, where one coordinate alone bends it sooner.
        # One that bends it elsewhere, as a rod along an axis is bent across it, does not count.
        bending = (slopes > _ASIDE * sizes[r] * weights) & _on_diagonal(B)
        with np.errstate(divide="ignore"):
            change = np.max(slopes[bending] ** 2 / bends[bending]) if bending.any() else np.inf
            radius = np.minimum(radius, change / slopes)
        moves[involved] = np.minimum(moves[involved], radius[involved])
    return moves


def _on_diagonal(B: Any) -> np.ndarray:
    """Return which coordinates have an entry on the diagonal, be it zero here."""
    entries = sparse.coo_matrix(B)
    occurs = np.zeros(B.shape[0], dtype=bool)
    occurs[entries.row[entries.row == entries.col]] = True
    return occurs


def tied_digits(A: Any, digits: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Return the last digits of coordinates, none sharper than those of what rows A tie it to.

    An angle is known no better than the place of its crank's end. `moves` of coordinates count
    alike.
    """
    if not A.shape[0]:
        return digits
    rows = sparse.coo_matrix(abs(sparse.csr_matrix(A)) @ sparse.diags(moves))
    largest, lost = np.zeros((2, A.shape[0]))
    np.maximum.at(largest, rows.row, rows.data)
    np.maximum.at(lost, rows.row, rows.data * (digits / moves)[rows.col])
    tied, shared = rows.data > _TIED * largest[rows.row], np.zeros(len(digits))
    lost = np.divide(lost, largest, out=np.zeros_like(lost), where=largest > 0)
    np.maximum.at(shared, rows.col[tied], lost[rows.row[tied]])
    return np.maximum(digits, shared * moves)
