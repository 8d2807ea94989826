"""States that satisfy the constraints: found, repaired, or refused by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from scipy.sparse.linalg import splu

from stationary.derive.graph import Graph
from stationary.errors import StatementError, say
from stationary.lower.kernel import graph_of, numeric
from stationary.lower.rounding import rounding
from stationary.model.layout import Start
from stationary.model.system import System
from stationary.result.state import State
from stationary.solve.arguments import quiet
from stationary.solve.inertia import NO_MASS, metric, sizes_of
from stationary.solve.linear import independent_rows
from stationary.solve.newton import iterated, shortened
from stationary.solve.scales import Scales, scales_of

# Largest number of unknowns for which dense least squares are used, which see lost rank.
_DENSE_UP_TO = 600

# Largest number of unknowns for which many states are moved together, and how many of them.
_TOGETHER_UP_TO = 60
_AT_ONCE = 1000

# Newton steps towards the constraints before giving up.
_MOST_STEPS = 60

# Steps along the constraints towards the nearest state on them.
_MOST_SLIDES = 500

# A state this close to its constraints is on them; few steps lead there from nearby.
_ROUNDING = 4e-16
_FEW_STEPS = 3

# Singular values this many times smaller than the largest count as zero.
_RANK = 1e-9

# The same for squares of them, which are rounded themselves.
_RANK_OF_SQUARES = 1e-13

# Violations below this, relative to the size of a row, are none; those below the second are near.
_CONSISTENT, _NEAR = 1e-9, 1e-8

# A row that is this much smaller for what is free than as a whole is held by what is given.
_LOST = 1e-13

# What to do where values that were given contradict the constraints.
_HELD = (
    "What is given is held, and what is left out is found: give other values, leave some out, or "
    "pass at=st.consistent(system, …)."
)

# Moves below this, relative to the size of a coordinate, change nothing.
_SETTLED = 1e-13


@quiet
def consistent(
    system: System,
    start: Start | None = None,
    *,
    params: Mapping[Any, float] | None = None,
    t: float = 0.0,
    repair: bool = True,
) -> State:
    """Return the state nearest to a start that satisfies R = 0 and Ṙ = 0.

    Nearest in the metric of the masses: of all small changes the one with the smallest Δqᵀ M Δq.

    Parameters
    ----------
    system : System
    start : dict, optional
        Coordinates and velocities; what is left out is zero.
    params : dict, optional
        Values of parameters; the others have their defaults.
    t : float
        Time, for constraints that move.
    repair : bool
        If false, refuse a start that violates a constraint instead of moving it.

    Returns
    -------
    State
        A mapping that can be passed on as ``start=``.

    Examples
    --------
    >>> x, y = st.coordinates("x y")
    >>> bob = st.particle(1.0, at=(x, y)) + st.rod((0, 0), (x, y), 1.0)
    >>> st.consistent(bob, {x: 1.1, y: 0.0, "y.dot": 2.0})
    State(x = 1, y = 0, x.dot = 0, y.dot = 2; moved by 0.071)
    """
    graph = graph_of(system)
    values = graph.layout.values(params)
    q, v = graph.layout.state(start, values)
    state = repaired(graph, values, float(t), q, v, repair=repair)
    # Imported where it is used: the gate knows of every kind of result.
    from stationary.solve.gate.claims import passed

    return passed(state, "consistent", t=float(t), params=values, wanted=v)


def placed(graph: Graph, p: np.ndarray, t: float, q: np.ndarray, *, repair: bool) -> np.ndarray:
    """Move a configuration onto the constraints, whatever velocities they ask for."""
    place = _Place(graph, p, t, q, None)
    R, _, A = place.violation(q, np.zeros_like(q))
    _require_finite(graph, R, A)
    if not np.any(np.abs(R) > place.rounding(q, A)):
        return q
    if not repair:
        _refuse(place, q, R, np.zeros_like(R), A)
        return q
    return _onto(place, q, R, A)


def _require_finite(graph: Graph, R: np.ndarray, A: Any) -> None:
    slopes = np.asarray(abs(A).sum(axis=1)).ravel()
    bad = np.flatnonzero(~np.isfinite(R + slopes))
    if len(bad):
        name = graph.layout.row_name(int(bad[0]))
        raise StatementError(
            f"constraint '{name}' or its slope is not finite at the start.",
            "Found a division by zero, as of a rod without length.",
            "Start elsewhere.",
        )


def _refuse(place: _Place, q: np.ndarray, R: np.ndarray, Rdot: np.ndarray, A: Any) -> None:
    """Refuse a start that is off by more than a share of its lengths."""
    off = np.abs(R) > np.maximum(place.rounding(q, A), place.scales(q).small(A, _CONSISTENT))
    if off.any() or Rdot.any():
        remedy = "Pass repair=True to have it mended."
        raise StatementError(_violated(place.graph, R * off, Rdot, remedy))


def _onto(place: _Place, q: np.ndarray, R: np.ndarray, A: Any) -> np.ndarray:
    """Return a configuration next to one that is off; refuse where there is none."""
    new_q = place.position(q)
    new_R, _, new_A = place.violation(new_q, np.zeros_like(q))
    # What has been mended says how large a row is, even where its slope has come to nothing.
    small = np.maximum(place.scales(q).small(A, _CONSISTENT), _CONSISTENT * np.abs(R))
    small = np.maximum(small, place.scales(new_q).small(new_A, _CONSISTENT))
    far = ~(np.abs(new_R) <= small)
    if far.any():
        # Where rows all but vanish, what they are summed from leaves more than they can mend.
        here, there = place.lost(q), place.lost(new_q)
        if (np.abs(R) <= here).all():
            return q
        far &= ~(np.abs(new_R) <= there)
    if far.any():
        raise StatementError(
            _violated(
                place.graph,
                new_R * far,
                np.zeros_like(R),
                "No state near the start satisfies all of them: they contradict each other, or "
                "the start is too far away. Remove one, or start closer."
                if not place.held
                else _HELD,
            )
        )
    return new_q


def repaired(
    graph: Graph,
    p: np.ndarray,
    t: float,
    q: np.ndarray,
    v: np.ndarray,
    *,
    repair: bool,
    given: tuple[np.ndarray, np.ndarray] | None = None,
) -> State:
    """Move a state onto the constraints, and find out which of them are independent.

    Of coordinates and of velocities, those that are `given` stay as they are.
    """
    if not graph.layout.multipliers:
        return State(graph, q, v, 0.0, (), ())
    place = _Place(graph, p, t, q, given)
    R, Rdot, A = place.violation(q, v)
    _require_finite(graph, R + Rdot, A)
    off = np.abs(R) > place.rounding(q, A)
    late = np.abs(Rdot) > _CONSISTENT * place.rates(q, v, A)
    if not repair and (off.any() or late.any()):
        _refuse(place, q, R, Rdot * late, A)
    new_q = _onto(place, q, R, A) if off.any() else q
    new_A = place.violation(new_q, v)[2]
    new_v = place.velocity(new_q, v)
    _, Rdot, _ = place.violation(new_q, new_v)
    speeds = np.maximum(np.abs(v), np.abs(new_v))
    late = ~(np.abs(Rdot) <= _CONSISTENT * place.rates(new_q, speeds, new_A))
    if late.any():
        raise StatementError(
            _violated(
                graph,
                np.zeros_like(R),
                Rdot * late,
                "These velocities contradict each other: remove a constraint, or start elsewhere."
                if given is None
                else _HELD,
            )
        )
    rows = place.independent(new_q, new_v)
    dropped = sorted(set(range(graph.layout.multipliers)) - set(rows))
    M = place.metric(new_q, new_v)
    dq, dv = new_q - q, new_v - v
    moved = float(np.sqrt(max(0.0, (dq @ (M @ dq) + dv @ (M @ dv)) / 2)))
    names = tuple(graph.layout.row_name(r) for r in dropped)
    return State(graph, new_q, new_v, moved, rows, names)


def projected(
    graph: Graph, p: np.ndarray, t: Any, q: np.ndarray, v: np.ndarray, sizes: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return states close to the constraints moved onto them, in the metric of the masses.

    One state, or one per row of q and v with as many times; `sizes` of the coordinates, if known.
    """
    if np.ndim(t) == 0:
        return _projected(_Place(graph, p, t, q, sizes=sizes), q, v)
    if graph.system.size + graph.layout.multipliers <= _TOGETHER_UP_TO:
        states = [_projected_together(graph, p, *part) for part in _parts(t, q, v)]
    else:
        states = [projected(graph, p, *each, sizes) for each in zip(t, q, v)]
    if not states:
        return q, v
    places, speeds = (np.vstack(x) for x in zip(*states))
    return places, speeds


def _projected(place: _Place, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    R, Rdot, A = place.violation(q, v)
    M = None

    def step(q: np.ndarray) -> np.ndarray | None:
        nonlocal M, R, Rdot
        if (np.abs(R) <= place.rounding(q, A)).all():
            return None
        # One A serves all steps: they are tiny.
        M = place.mass(q, v) if M is None else M
        q = place.moved(q, place.step(M, A, np.zeros_like(q), R))
        R, Rdot, _ = place.violation(q, v)
        return q

    q, _, _ = iterated(q, step, most=_FEW_STEPS)
    if (np.abs(Rdot) > _ROUNDING * place.rates(q, v, A)).any():
        M = place.mass(q, v) if M is None else M
        v = v + place.step(M, A, np.zeros_like(v), Rdot)
    return q, v


def _parts(t: np.ndarray, q: np.ndarray, v: np.ndarray) -> Iterator[tuple]:
    for k in range(0, len(t), _AT_ONCE):
        yield t[k : k + _AT_ONCE], q[k : k + _AT_ONCE], v[k : k + _AT_ONCE]


def _projected_together(
    graph: Graph, p: np.ndarray, t: np.ndarray, q: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Project the states of many times at once: small systems spend their time on calls."""
    count, u = len(t), np.zeros((len(graph.system.inputs), len(t)))

    def called(f: Any, output: int) -> np.ndarray:
        """Evaluate one output at all times, time first."""
        values = np.asarray(f(t[None, :], q.T, v.T, u, p)[output])
        return np.moveaxis(values.reshape(values.shape[0], count, -1), 1, 0)

    A = called(graph.constraints, 2)
    M = metric(called(graph.dynamics, 0), A, lambda: sizes_of(graph, p, float(t[0]), q[0]))
    pull = np.linalg.solve(M, np.swapaxes(A, 1, 2))
    gram = A @ pull
    # Rows of length one: their units say nothing about their rank.
    lengths = np.sqrt(np.diagonal(gram, axis1=1, axis2=2))[..., None]
    lengths = np.where(lengths > 0, lengths, 1.0)
    gram = gram / (lengths * np.swapaxes(lengths, 1, 2))
    inverse = np.linalg.pinv(gram, rcond=_RANK_OF_SQUARES, hermitian=True)
    back = pull @ (inverse / (lengths * np.swapaxes(lengths, 1, 2)))
    for _ in range(_FEW_STEPS):
        R = called(graph.constraints, 0)
        if (np.abs(R) <= _ROUNDING * (np.abs(A) @ np.abs(q)[..., None])).all():
            break
        q = graph.layout.kinematics.retract(q, -(back @ R)[..., 0])
    return q, v - (back @ called(graph.constraints, 1))[..., 0]


class _Place:
    """The constraints of a system at one time, as numbers; matrices of small ones are dense."""

    def __init__(
        self, graph: Graph, p: np.ndarray, t: float, q: np.ndarray, given: Any = None,
        sizes: np.ndarray | None = None,
    ):  # fmt: skip
        self.graph, self.p, self.t = graph, p, t
        self.u = np.zeros(len(graph.system.inputs))
        self.dense = graph.system.size + graph.layout.multipliers <= _DENSE_UP_TO
        self._constraints = numeric(graph, "constraints", dense=self.dense)
        self._dynamics = numeric(graph, "dynamics", dense=self.dense)
        self._somewhere, self._sizes = q, sizes
        self.held = given is not None
        self._given = given or (np.zeros(len(q), dtype=bool),) * 2

    def violation(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
        """Return R, Ṙ and A."""
        R, Rdot, A, *_ = self._constraints(self.t, q, v, self.u, self.p)
        return R, Rdot, A

    def moved(self, q: np.ndarray, move: np.ndarray) -> np.ndarray:
        """Return the place to which a move leads; what is given stays as it is."""
        if self._given[0].any():
            return q + move
        return self.graph.layout.kinematics.retract(q, move)

    def rows(self, q: np.ndarray, v: np.ndarray) -> Any:
        """Return A."""
        return self.violation(q, v)[2]

    def rounding(self, q: np.ndarray, A: Any) -> np.ndarray:
        """Return by how much the last digits of the coordinates change each row."""
        return _ROUNDING * (abs(A) @ np.abs(q))

    def lost(self, q: np.ndarray) -> np.ndarray:
        """Return how much of every row is rounding of what it is summed from; 0 if none can say."""
        at = [self.t, q, np.zeros_like(q), self.u, self.p]
        lost = rounding(self.graph, "constraints", at)
        return np.zeros(self.graph.layout.multipliers) if lost is None else lost

    def rates(self, q: np.ndarray, v: np.ndarray, A: Any) -> np.ndarray:
        """Return how large the terms of each row's Ṙ = A v + b are.

        What stands still beside what moves is measured by a millionth of that: its velocities are
        what rounding has left of the others.
        """
        drive = self._constraints(self.t, q, v, self.u, self.p)[4]
        terms = abs(A) @ np.abs(v) + np.abs(drive)
        # As lengths and turns count alike: a wheel in millimetres turns no slower than in metres.
        sizes = self.sizes()
        moves = np.asarray(abs(A) @ sizes).ravel()
        pace = np.divide(terms, moves, out=np.zeros_like(terms), where=moves > 0)
        fastest = max(pace.max(initial=0.0), np.max(np.abs(v) / sizes, initial=0.0))
        return np.maximum(terms, 1e-6 * moves * fastest)

    def scales(self, q: np.ndarray) -> Scales:
        """Return the statement's own sizes at one place."""
        return scales_of(self.graph, self.p, self.t, q)

    def sizes(self) -> np.ndarray:
        """Return the sizes of the coordinates, by which rows complete a metric."""
        if self._sizes is None:
            self._sizes = sizes_of(self.graph, self.p, self.t, self._somewhere)
        return self._sizes

    def mass(self, q: np.ndarray, v: np.ndarray) -> Any:
        """Return M; of a large system with masses where there are none."""
        M = self._dynamics(self.t, q, v, self.u, self.p)[0]
        if self.dense:
            return M
        diagonal = M.diagonal()
        scale = np.mean(diagonal[diagonal > 0]) if np.any(diagonal > 0) else 1.0
        return M + sparse.diags(np.where(diagonal > NO_MASS * scale, 0.0, scale), format="csc")

    def metric(self, q: np.ndarray, v: np.ndarray) -> Any:
        """Return what measures how far a state is moved."""
        M = self.mass(q, v)
        return metric(M, self.rows(q, v), self.sizes) if self.dense else M

    def step(self, M: Any, A: Any, pull: np.ndarray, R: np.ndarray, order: int = 0) -> np.ndarray:
        """Return the x nearest to `pull` in the metric M with A x = −R, as far as there is one.

        What is given, of the coordinates or, in order 1, of the velocities, does not move.
        """
        given = self._given[order]
        if given.any():
            free = sparse.diags((~given).astype(float))
            whole = abs(A) @ self.sizes()
            A, M = A @ free, free @ M @ free + sparse.diags(given * M.diagonal())
            # Rows that what is free changes by rounding alone are not its to mend.
            A = sparse.diags((abs(A) @ self.sizes() > _LOST * whole).astype(float)) @ A
            M = np.asarray(M.todense()) if self.dense and sparse.issparse(M) else M
        if self.dense:
            return self._dense_step(M, A, pull, R)
        # A trace of −ε on the diagonal keeps redundant rows from making the matrix singular.
        squares = np.asarray(A.multiply(A).sum(axis=1)).ravel()
        trace = sparse.diags(1e-13 * squares / abs(M.diagonal()).mean())
        K = sparse.bmat([[M, A.T], [A, -trace]], format="csc")
        known = np.concatenate([np.zeros(A.shape[1]), -(R + A @ pull)])
        return pull + splu(K).solve(known)[: A.shape[1]]

    def _dense_step(self, M: Any, A: Any, pull: np.ndarray, R: np.ndarray) -> np.ndarray:
        if not (np.isfinite(R).all() and np.isfinite(A).all()):
            return np.zeros(A.shape[1])
        root, failed = dpotrf(metric(M, A, self.sizes), lower=True)
        if failed:
            raise np.linalg.LinAlgError("the metric is not positive definite")
        B, _ = dtrtrs(root, A.T, lower=True)
        # Rows of length one: their units say nothing about their rank.
        lengths = np.linalg.norm(B, axis=0)
        lengths[lengths == 0] = 1.0
        B, missing = B / lengths, -(R + A @ pull) / lengths
        # Independent rows: the normal equations and one refinement; else least squares.
        gram, failed = dpotrf(B.T @ B)
        clear = not failed and gram.diagonal().min() > 1e-4 * gram.diagonal().max()
        if clear:
            short = B @ dpotrs(gram, missing)[0]
            short += B @ dpotrs(gram, missing - B.T @ short)[0]
        else:
            short = np.linalg.lstsq(B.T, missing, rcond=_RANK)[0]
        return pull + dtrtrs(root, short, lower=True, trans=1)[0]

    def position(self, start: np.ndarray) -> np.ndarray:
        """Return the nearest q with R = 0, or the best that there is."""
        scales, (R, _, A) = self.scales(start), self.violation(start, start)
        # Rows are compared by what they were violated by, if nothing else says how large they are.
        rows = np.maximum(scales.rows(A), np.abs(R))
        rows = np.where(rows > 0, rows, 1.0)
        q = self._onto(start, rows)
        if self._off(q, rows):
            return q
        # Slide along the constraints towards the start, and back onto them, until nothing changes:
        # then what is left of the way is perpendicular, and the point the nearest.
        M = self.mass(start, np.zeros_like(start))
        away, share = self._length(M, q - start), 1.0
        way = np.abs(q - start).max()
        settled = np.maximum(_SETTLED * np.maximum(scales.length, way), 4 * scales.rounding)
        for _ in range(_MOST_SLIDES):
            R, _, A = self.violation(q, np.zeros_like(q))
            slide = self.step(M, A, start - q, R)
            trial = self._onto(self.moved(q, share * slide), rows)
            length = self._length(M, trial - start)
            if not length <= away * (1 + 1e-14) or self._off(trial, rows):
                share /= 2
                if share < 1e-3:
                    break
                continue
            change = np.abs(trial - q)
            q, away = trial, length
            if (change <= settled).all():
                break
        return q

    def _off(self, q: np.ndarray, rows: np.ndarray) -> bool:
        """Tell whether a place is not on the constraints."""
        R, _, _ = self.violation(q, np.zeros_like(q))
        return bool((np.abs(R) > _CONSISTENT * rows).any())

    @staticmethod
    def _length(M: Any, move: np.ndarray) -> float:
        return float(np.sqrt(max(0.0, move @ (M @ move))))

    def _onto(self, start: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return a q with R = 0 by Newton's method, or the best that there is.

        `rows` are the sizes of the rows, in which violations are measured.
        """
        v, before = np.zeros_like(start), np.inf

        def step(q: np.ndarray) -> np.ndarray | None:
            nonlocal before
            R, _, A = self.violation(q, v)
            size = np.linalg.norm(R / rows)
            if (np.abs(R) <= self.rounding(q, A)).all() or not size < before:
                return None
            before = size
            move = self.step(self.mass(q, v), A, np.zeros_like(q), R)
            return self._shortened(q, move, size, rows)

        return iterated(start, step, most=_MOST_STEPS)[0]

    def _shortened(self, q: np.ndarray, move: np.ndarray, size: Any, rows: np.ndarray) -> Any:
        """Shorten a step until the violation goes down, or stays at rounding."""

        def trial(share: float) -> np.ndarray | None:
            there = self.moved(q, share * move)
            left = np.linalg.norm(self.violation(there, np.zeros_like(q))[0] / rows)
            enough = size * (1 - 0.1 * share) if size > _NEAR else 1.001 * size
            return there if left <= enough else None

        return shortened(trial, least=1e-4)[0]

    def velocity(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the nearest v with Ṙ = 0, or the best that there is."""
        M, A = self.mass(q, v), self.rows(q, v)
        for _ in range(2):
            _, Rdot, _ = self.violation(q, v)
            v = v + self.step(M, A, np.zeros_like(v), Rdot, 1)
        return v

    def independent(self, q: np.ndarray, v: np.ndarray) -> tuple[int, ...]:
        """Return rows of A that are independent; of dependent ones the first stated are kept."""
        A, M = self.rows(q, v), self.metric(q, v)
        if not self.dense:
            scaled = A.tocsr() @ sparse.diags(1 / np.sqrt(M.diagonal()))
            return tuple(independent_rows(scaled).tolist())
        scaled = dtrtrs(dpotrf(M, lower=True)[0], A.T, lower=True)[0].T
        # Independent for certain if each row keeps a good part that is its own.
        gram, failed = dpotrf(scaled @ scaled.T)
        if not failed and (gram.diagonal() > 1e-4 * np.linalg.norm(scaled, axis=1)).all():
            return tuple(range(len(A)))
        return tuple(independent_rows(scaled).tolist())


def _violated(graph: Graph, R: np.ndarray, Rdot: np.ndarray, remedy: str) -> str:
    """Say which rows are violated: those whose R or Ṙ is given as other than zero."""
    worst = np.argsort(-np.maximum(np.abs(R), np.abs(Rdot)), kind="stable")[:4]
    named = "; ".join(
        f"'{graph.layout.row_name(int(i))}' has "
        + (f"R = {R[i]:.3g}" if R[i] else f"Ṙ = {Rdot[i]:.3g}")
        for i in worst
        if R[i] or Rdot[i]
    )
    what = "the operating point" if remedy == _HELD else "the start"
    return say(f"{what} violates constraints.", f"Found: {named}; expected zero.", remedy)
