"""A system without inertia at a time and a configuration, as numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from math import isfinite
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse

from stationary.derive.sliding import Sliding
from stationary.errors import StatementError
from stationary.lower.engines.casadi import Numeric
from stationary.lower.inputs import Drives, drives, lowered
from stationary.lower.kernel import graph_of
from stationary.model.layout import Layout, Rows
from stationary.model.system import System
from stationary.model.terms import Contact
from stationary.solve.inertia import require_system
from stationary.solve.scales import Scales, scales_of
from stationary.solve.sliding.problem.known_times import KnownTimes, known_times
from stationary.solve.sliding.problem.numbers import (
    DENSE_UP_TO,
    Problem,
    by_columns,
    by_rows,
    most_of,
)
from stationary.solve.sliding.problem.row_units import factors_of

# A length this much shorter than what it is tied to is none of its own.
_NEXT_TO_NONE = 1e-3
# A gap smaller than this share of the lengths at work is closed.
_TOUCHING = 1e-8
# Positions are sums, rounded as such: so many last digits are granted.
_DIGITS = 64

# So many times of the span tell how far it goes, and so many of those that are known to matter.
_LOOKS, _MOST_LOOKS = 9, 256

# A constraint that changes by less than this part of what rubs may change by rounding alone.
_FAINT = 1e-12

# Sizes of forces and rates whose products are numbers.
_LEAST, _MOST = 1e-140, 1e140

_MATRICES = {"slips": {2}, "holds": {2, 5}, "forces": {1}, "viscous": {2}, "tangent": {0},
             "curvature": {0}, "grip": {0}}  # fmt: skip


@lru_cache(maxsize=64)
def sliding_of(system: System) -> Sliding:
    """Return the graph of a system without inertia; equal statements share one."""
    for term in system.friction:
        static = getattr(term, "static", None)
        if static is not None and static != getattr(term, "limit", None):
            raise StatementError(
                f"friction '{term.name}' has a larger limit at rest.",
                f"Found static={static} beside limit={term.limit}: it sticks and slips, and "
                "inertia decides how.",
                "Use st.simulate, or leave static out.",
            )
    return Sliding(graph_of(system))


@lru_cache(maxsize=256)
def evaluated(sliding: Sliding, name: str) -> Numeric | _Dense:
    """Return a function of the graph, by name, as one of arrays."""
    function, matrices = getattr(sliding, name), frozenset(_MATRICES.get(name, ()))
    if name in ("slips", "holds") and sliding.graph.system.size <= DENSE_UP_TO:
        return _Dense([function], [matrices])
    return Numeric(function, matrices)


def in_rows(
    sliding: Sliding, name: str, arguments: Collection[tuple[Any, ...]]
) -> list[np.ndarray] | None:
    """Return a function's outputs along a first axis; None where its matrices are not full."""
    function = evaluated(sliding, name)
    return function.many(arguments) if isinstance(function, _Dense) else None


@lru_cache(maxsize=64)
def _all_of(sliding: Sliding) -> Callable[..., list[Any]]:
    """Return the outputs of slips, holds and pushes as one function of arrays."""
    names = ("slips", "holds", "pushes")
    if sliding.graph.system.size <= DENSE_UP_TO:
        matrices = [frozenset(_MATRICES.get(name, ())) for name in names]
        return _Dense([getattr(sliding, name) for name in names], matrices)
    every = [evaluated(sliding, name) for name in names]
    return lambda *given: [x for function in every for x in function(*given)]


class _Dense:
    """Functions of a small system as one, whose matrices are full: faster than sparse ones.

    Entries that are the same everywhere, as most limits and rates are, are computed once.
    """

    def __init__(self, functions: list[ca.Function], matrices: list[frozenset[int]]):
        scalar = all(function.is_a("SXFunction") for function in functions)
        arguments: Any = functions[0].sx_in() if scalar else functions[0].mx_in()
        outputs = [x for function in functions for x in function.call(arguments)]
        shapes = [
            function.size_out(k) if k in some else None
            for function, some in zip(functions, matrices)
            for k in range(function.n_out())
        ]
        ends = np.cumsum([0, *(x.numel() for x in outputs)]).tolist()
        self._parts = [(slice(a, b), shape) for a, b, shape in zip(ends, ends[1:], shapes)]
        whole = ca.vertcat(*(ca.vec(ca.densify(x)) for x in outputs))
        self._values, self._places = np.zeros(ends[-1]), _range(np.arange(ends[-1]))
        if scalar:
            entries = whole.elements()
            varies = np.array([not e.is_constant() for e in entries], dtype=bool)
            self._values[~varies] = [float(e) for e, v in zip(entries, varies) if not v]
            self._places = _range(np.flatnonzero(varies))
            whole = whole[np.flatnonzero(varies).tolist()]
        self._numeric = Numeric(ca.Function("dense", arguments, [whole], {"cse": scalar}))

    def __call__(self, *arguments: Any) -> list[Any]:
        """Return the outputs."""
        values = self._values.copy()
        values[self._places] = self._numeric(*arguments)[0]
        return [
            values[part] if shape is None else values[part].reshape(shape, order="F")
            for part, shape in self._parts
        ]

    def many(self, arguments: Collection[tuple[Any, ...]]) -> list[np.ndarray]:
        """Return the outputs for many arguments, one after the other along a first axis."""
        count = len(arguments)
        values = np.tile(self._values, (count, 1))
        for row, given in zip(values, arguments):
            row[self._places] = self._numeric(*given)[0]
        return [
            values[:, part]
            if shape is None
            else values[:, part].reshape(count, *shape[::-1]).swapaxes(1, 2)
            for part, shape in self._parts
        ]


def _range(places: np.ndarray) -> Any:
    """Return places as a slice where they are one, which is faster."""
    if len(places) and places[-1] - places[0] == len(places) - 1:
        return slice(int(places[0]), int(places[-1]) + 1)
    return places


def _rows(A: Any, moves: np.ndarray) -> np.ndarray:
    """Return by how much rows change when coordinates move by this much."""
    return np.asarray(abs(A) @ moves).ravel()


@lru_cache(maxsize=64)
def terms_of(sliding: Sliding) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Return where the rates of each friction term begin, what presses it, and its widths."""
    layout, system = sliding.graph.layout, sliding.graph.system
    entries = (*system.friction, *layout.rubbing)
    terms = list(entries)
    widths = [len(x.slip if isinstance(x, Contact) else x.on) for x in terms]
    gaps = {rows.name: rows.places.ravel() for rows in layout.gaps}
    starts, pressed = [np.zeros(0, dtype=int)], [np.zeros(0, dtype=int)]
    for term, rows, width in zip(terms, layout.slips, widths):
        count = rows.places.size // width
        starts.append(rows.first + width * np.arange(count))
        pressed.append(gaps[rows.name] if isinstance(term, Contact) else np.full(count, -1))
    return np.concatenate(starts), np.concatenate(pressed), widths


@dataclass(frozen=True)
class Place:
    """What the graph says at one time and configuration."""

    t: float
    q: np.ndarray
    u: np.ndarray
    problem: Problem
    along: np.ndarray
    R: np.ndarray
    gap: np.ndarray
    touching: np.ndarray
    #: The gradients of all gaps, and by how much these may be off by rounding.
    normals: Any
    digits: np.ndarray


class Question:
    """A system with values of parameters and inputs, ready to be asked how it slides."""

    def __init__(
        self,
        system: System,
        params: Mapping[Any, float] | None = None,
        inputs: Mapping[Any, Any] | None = None,
        span: tuple[float, float] = (0.0, 0.0),
    ):
        require_system(system)
        self.system = system
        self.sliding = sliding_of(system)
        self.params = self.layout.values(params)
        first, last = span
        span = (first, last if last > first else float(np.nextafter(first, np.inf)))
        self.drives: Drives = drives(self.layout, inputs, span)
        self.span, self._ends = last - first, (first, last)
        self._scales: Scales | None = None
        self._lengths: np.ndarray | None = None
        self._levers: np.ndarray | None = None

    @property
    def layout(self) -> Layout:
        """Where every name stands."""
        return self.sliding.graph.layout

    @cached_property
    def _inputs(self) -> Any:
        n, m = self.system.size, len(self.params)
        t, q, p = ca.SX.sym("t"), ca.SX.sym("q", n), ca.SX.sym("p", m)
        slots = ca.SX.sym("s", len(self.drives.slots(0.0)))
        u = lowered(self.drives.signature, self.layout, t, q, ca.SX.zeros(n), p, slots)
        return Numeric(ca.Function("inputs", [t, q, p, slots], [ca.densify(u)]))

    def inputs(self, t: float, q: np.ndarray) -> np.ndarray:
        """Return the inputs at a time and configuration."""
        if not self.system.inputs:
            return np.zeros(0)
        return self._inputs(t, q, self.params, self.drives.slots(t))[0]

    @cached_property
    def known(self) -> KnownTimes:
        """When what is stated in time switches or peaks within the span."""
        return known_times(self.sliding, self.drives, self.params, *self._ends)

    @property
    def levers(self) -> np.ndarray:
        """What makes forces of the forces on coordinates, as where it was first asked."""
        return np.ones(self.system.size) if self._levers is None else self._levers

    # -- how large things are ---------------------------------------------------------------------

    def scales(self, place: Place) -> Scales:
        """Return the lengths at work, as measured where they were first asked for."""
        if self._scales is None:
            c = np.abs(place.problem.c) * self.span
            # What friction acts on may be carried along, and is as wide as its points are apart.
            wide = np.zeros(len(c))
            for width in np.unique(place.problem.widths):
                rows = np.flatnonzero((place.problem.widths == width)[place.problem.term])
                points = place.along[rows].reshape(-1, width)
                wide[rows] = np.linalg.norm(np.ptp(points, axis=0)) if width > 1 else 0.0
            slopes, reach = place.problem.arms, float(np.maximum(c, wide).max(initial=0.0))
            travel = np.divide(reach, slopes, out=np.zeros(len(slopes)), where=slopes > 0)
            travel = np.maximum(travel, self._deflections(place))
            driven, dragged = self._travels(place)
            travel = np.maximum(travel, driven)
            scales = scales_of(
                self.sliding.graph, self.params, place.t, place.q,
                u=place.u, span=self.span, travel=travel,
            )  # fmt: skip
            # What bends soon may still go far: links are short beside their rope. What nothing else
            # tells of goes as far as drag lets it.
            length = np.maximum(scales.length, travel)
            self._scales = replace(scales, length=np.where(length > 0, length, dragged))
        return self._scales

    def _travels(self, place: Place) -> tuple[np.ndarray, np.ndarray]:
        """Return how far what is stated in time takes each coordinate, and forces against drag."""
        far, dragged = np.zeros((2, place.problem.n))
        if not self.span:
            return far, dragged
        (first, last), stops = self._ends, self.known.stops
        some = stops[:: 1 + len(stops) // _MOST_LOOKS]
        times = np.unique(np.concatenate([np.linspace(first, last, _LOOKS), some]))
        before = None
        for t in times.tolist():
            with np.errstate(all="ignore"):
                now = [np.where(np.isfinite(x), x, 0.0) for x in self._speeds(t, place)]
            if before is not None:
                ways = [(t - before[0]) / 2 * (a + b) for a, b in zip(now, before[1])]
                far, dragged = far + ways[0], dragged + ways[1]
            before = t, now
        return far, dragged

    def _speeds(self, t: float, place: Place) -> tuple[np.ndarray, np.ndarray]:
        """Return how fast what is stated at a time moves coordinates, and forces against drag."""
        n, given = place.problem.n, self.given(t, place.q)
        _, c, B, size, power, _, b, A, _, g, G, f = _all_of(self.sliding)(*given)
        driven, dragged = np.zeros(n), np.full(n, np.inf)
        for rate, rows in ((b, A), (c, B), (g, G)):
            if rate.any():
                entries = sparse.coo_matrix(rows)
                i, j, slope = entries.row, entries.col, np.abs(entries.data)
                np.maximum.at(driven, j[slope > 0], (np.abs(rate)[i] / slope)[slope > 0])
        drags = (power > 0) & (size > 0)
        if drags.any() and f.any():
            entries = sparse.coo_matrix(B)
            some = drags[entries.row] & (entries.data != 0)
            i, j, slope = entries.row[some], entries.col[some], np.abs(entries.data[some])
            speed = (np.abs(f[j]) / slope / size[i]) ** (1 / power[i]) / slope
            np.minimum.at(dragged, j, speed)
        if not self.system.dissipation.is_zero and f.any():
            # A dissipation is as large as its square for want of more.
            second = evaluated(self.sliding, "viscous")(*given, np.ones(n))[2]
            second = np.abs(np.asarray(sparse.csc_matrix(second).diagonal()))
            slow = np.divide(np.abs(f), second, out=np.full(n, np.inf), where=second > 0)
            dragged = np.minimum(dragged, slow)
        return driven, np.where(np.isfinite(dragged), dragged, 0.0)

    def _deflections(self, place: Place) -> np.ndarray:
        """Return how far each coordinate gives way to friction, and to what changes in the span."""
        p = place.problem
        K = abs(sparse.csc_matrix(self.evaluate("tangent", place)[0]))
        stiff = np.asarray(K.max(axis=1).todense()).ravel() if K.shape[0] else np.zeros(0)
        if not stiff.any():
            return np.zeros(p.n)
        # Coefficients of drag and of contacts are no forces.
        follows = False if self._follows is None else self._follows
        limit = np.where((p.power > 0) | follows, 0.0, p.size)
        force = np.asarray(abs(p.B).T @ limit[p.term]).ravel()
        for share in np.linspace(0, 1, 9)[1:]:
            later = self.evaluate("pushes", replace(place, t=place.t + share * self.span))[0]
            force = np.maximum(force, np.nan_to_num(np.abs(later - p.f)))
        return np.divide(force, stiff, out=np.zeros(p.n), where=stiff > 0)

    def lengths(self, place: Place) -> np.ndarray:
        """Return for each coordinate a move that matters."""
        if self._lengths is None:
            length = self._tied(place, self.scales(place))
            longest = float(length.max(initial=0.0))
            # What nothing moves has no length of its own; where nothing has one, any will do.
            self._lengths = np.where(length > 0, length, longest if longest > 0 else 1.0)
        return self._lengths

    def _tied(self, place: Place, scales: Scales) -> np.ndarray:
        """Return lengths in which what has next to none goes as far as what it is tied to."""
        length, bend = scales.length, scales.bend
        tied, curved = length.copy(), np.isfinite(bend)
        for matrix in (place.problem.A, place.normals):
            rows = sparse.coo_matrix(abs(matrix))
            moves, own = rows @ length, rows.data * length[rows.col]
            short = (own <= _NEXT_TO_NONE * moves[rows.row]) & (rows.data > 0)
            i, j = rows.row[short], rows.col[short]
            np.maximum.at(tied, j, np.minimum(moves[i] / rows.data[short], bend[j]))
        # What a rod is pulled across turns with it: as a share of the radius all go as far.
        shares = np.divide(tied, bend, out=np.zeros(len(tied)), where=curved)
        short = curved & (shares <= _NEXT_TO_NONE * shares.max(initial=0.0))
        return np.where(short, shares.max(initial=0.0) * np.where(curved, bend, 0.0), tied)

    def near(self, move: np.ndarray) -> bool:
        """Tell whether a move is known to be so short that its square is rounding."""
        return self._lengths is not None and bool(np.all(abs(move) <= _TOUCHING * self._lengths))

    def digits(self, rows: Any, t: float, q: np.ndarray, rate: Any = 0.0) -> np.ndarray:
        """Return by how much rows with these gradients and rates may be off by rounding."""
        size = np.abs(q) if self._scales is None else np.maximum(np.abs(q), self._scales.length)
        return _DIGITS * (abs(rows) @ np.spacing(size) + np.spacing(abs(t)) * np.abs(rate))

    def closed(self, place: Place) -> np.ndarray:
        """Return for each contact the gap up to which it is closed."""
        return np.maximum(place.digits, _TOUCHING * _rows(place.normals, self.lengths(place)))

    def apart(self, place: Place) -> np.ndarray:
        """Return for each contact a gap that is wide; one where nothing changes it."""
        reach = _rows(place.normals, self.lengths(place))
        return np.where(reach > 0, reach, 1.0)

    def held(self, place: Place, share: float) -> np.ndarray:
        """Return for each constraint what its R may be, as a share of the lengths at work."""
        p = place.problem
        digits = self.digits(p.A, place.t, place.q, p.b)
        return np.maximum(digits, share * _rows(p.A, self.lengths(place)))

    def told(self, place: Place) -> tuple[np.ndarray, np.ndarray]:
        """Return R of all constraints and the gaps of all contacts, as they are stated."""
        _, R, gap = self.stated(place.along, place.R, place.gap, over=True)
        return R, gap

    @property
    def forces(self) -> tuple[int, int, int]:
        """How many forces there are: of friction, of constraints and of contacts."""
        return self.sliding.rates, self.layout.multipliers, self.sliding.gaps

    # -- which term is which ----------------------------------------------------------------------

    @cached_property
    def starts(self) -> np.ndarray:
        """Where the rates of each friction term begin."""
        return terms_of(self.sliding)[0]

    @cached_property
    def narrow(self) -> np.ndarray:
        """Which friction terms act along a line."""
        return np.diff(np.append(self.starts, self.sliding.rates)) == 1

    @cached_property
    def rubs(self) -> np.ndarray:
        """For each friction term the contact that presses it, or −1."""
        return terms_of(self.sliding)[1]

    @cached_property
    def _follows(self) -> np.ndarray | None:
        follows = self.rubs >= 0
        return follows if follows.any() else None

    def pressed(self, place: Place) -> np.ndarray:
        """For each friction term the touching contact that presses it, −1 for none, −2 for open."""
        return self._pressing(place.touching, len(place.gap))

    def _pressing(self, touching: np.ndarray, gaps: int) -> np.ndarray:
        # The last entry answers for terms that no contact presses.
        where = np.full(gaps + 1, -2)
        where[-1] = -1
        where[touching] = np.arange(len(touching))
        return where[self.rubs]

    def term_name(self, term: int) -> str:
        """Return the name of a friction term, with its row if it repeats."""
        for rows, terms in self.by_name():
            if term < terms.stop:
                many = terms.stop - terms.start > 1
                return f"{rows.name}[{term - terms.start}]" if many else rows.name
        raise IndexError(term)

    def by_name(self) -> Iterator[tuple[Rows, slice]]:
        """Tell for every friction by name where its rates are, and which terms are its own."""
        first = 0
        for rows, width in zip(self.layout.slips, terms_of(self.sliding)[2]):
            end = first + rows.places.size // width
            yield rows, slice(first, end)
            first = end

    # -- numbers ----------------------------------------------------------------------------------

    def given(self, t: float, q: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Return what functions of the graph are asked about."""
        return t, q, self.inputs(t, q), self.params

    def evaluate(self, name: str, place: Place, *more: Any) -> list[Any]:
        """Return the outputs of a function of the graph at a place."""
        given = (place.t, place.q, place.u, self.params)
        return evaluated(self.sliding, name)(*given, *more)

    def mended(self, t: float, q: np.ndarray, A: Any) -> Any:
        """Return rows of constraints at a place without slopes that are made of last digits."""
        sizes = most_of(abs(by_columns(A, 1 / self.levers)), 1)
        return self._without_rounding(self.given(t, q), A, sizes)

    def with_all_contacts(self, t: float, q: np.ndarray) -> Place:
        """Evaluate everything at a time and configuration, as if all contacts touched."""
        return self.at(t, q, viscous=True, touching=np.arange(self.sliding.gaps))

    def at(
        self, t: float, q: np.ndarray, *, viscous: bool = False, touching: np.ndarray | None = None
    ) -> Place:
        """Evaluate everything at a time and configuration.

        Sizes of friction at contacts are their coefficients: what presses is not known yet.
        Contacts touch where their gaps are closed, unless said otherwise by `touching`.
        """
        given = self.given(t, q)
        if self._levers is None:
            self._measure_rows(given)
        along, c, B, size, power, R, b, A, gap, g, G, f = _all_of(self.sliding)(*given)
        size, power = size[self.starts], power[self.starts]
        self._require(f, c, size, power, b, t)
        normals = sparse.csr_matrix(G) if sparse.issparse(G) else G
        digits = self.digits(normals, t, q, g) if len(gap) else gap

        def damping(v: np.ndarray) -> tuple[float, np.ndarray, Any]:
            value, slope, second = evaluated(self.sliding, "viscous")(*given, v)
            return float(value[0]), slope, second

        damped = damping if viscous and not self.system.dissipation.is_zero else None
        close, pressed = np.flatnonzero(gap <= digits) if touching is None else touching, None
        if self._follows is not None:
            pressed = self._pressing(close, len(gap))
            size = np.where(pressed == -2, 0.0, size)
        problem = Problem(
            f, B, c, self.starts, size, power, A, b, normals[close], g[close], damped,
            self._follows, pressed, self._levers, self.sliding.factors,
        )  # fmt: skip
        if self._levers is None:
            self._levers = problem.levers
            _require_sizes(f / self._levers, np.inf, t)
        if np.any(problem.row_sizes < _FAINT):
            problem = replace(problem, A=self._without_rounding(given, A, problem.row_sizes))
        place = Place(t, q, given[2], problem, along, R, gap, close, normals, digits)
        if touching is None and len(close) < len(gap):
            # Whether others are as good as closed the lengths at work tell.
            closed = np.flatnonzero(gap <= self.closed(place))
            if len(closed) > len(close):
                return self.at(t, q, viscous=viscous, touching=closed)
        return place

    def _bends(self, given: tuple, number: int) -> Any:
        """Return the second derivatives of a row, by its number among rates, constraints, gaps."""
        every = np.arange(self.sliding.rates + self.layout.multipliers + self.sliding.gaps)
        return evaluated(self.sliding, "curvature")(*given, every == number)[0]

    def _without_rounding(self, given: tuple, A: Any, sizes: np.ndarray) -> Any:
        """Return rows of constraints without slopes that are made of the last digits of places.

        At a dead centre no velocity is allowed; what cos(π/2) leaves would allow one of 1e16.
        """
        if not (faint := (sizes > 0) & (sizes < _FAINT)).any():
            return A
        kept = np.ones(A.shape[0])
        for row in np.flatnonzero(faint).tolist():
            slopes = np.ravel(A[[row]].toarray() if sparse.issparse(A) else A[[row]])
            bent = np.asarray(abs(self._bends(given, self.sliding.rates + row)) @ np.abs(given[1]))
            kept[row] = np.any(np.abs(slopes) > 4 * np.finfo(float).eps * bent.ravel())
        return by_rows(kept, A)

    def _measure_rows(self, given: tuple) -> None:
        """Take rows that are written in units of their own times powers of two, from here on."""
        _, c, B, size, power, _, b, A, _, g, G, f = _all_of(self.sliding)(*given)
        size, power = size[self.starts], power[self.starts]
        problem = Problem(f, B, c, self.starts, size, power, A, b, G, g)
        with np.errstate(all="ignore"):
            factors = factors_of(problem, self.rubs, given[1], partial(self._bends, given))
        if factors is not None:
            self.sliding = Sliding(self.sliding.graph, factors)

    def stated(
        self, y: np.ndarray, lam: np.ndarray, mu: np.ndarray, *, over: bool = False
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return forces of friction, of constraints and of all contacts along the rows as stated.

        What is measured along the rows, as gaps are, is so `over` their factors.
        """
        f, sign = self.sliding.factors, -1 if over else 1
        y, lam, mu = (
            x * 2.0 ** (sign * np.array(e)) if e else x
            for x, e in zip((y, lam, mu), (f.slips, f.rows, f.gaps))
        )
        return y, lam, mu

    def _require(
        self,
        f: np.ndarray,
        c: np.ndarray,
        size: np.ndarray,
        power: np.ndarray,
        b: np.ndarray,
        t: float,
    ) -> None:
        # One that is not finite makes the sum so.
        every = np.concatenate((f, size, c, b))
        if not isfinite(np.add.reduce(every)):
            raise StatementError(
                "a force, a friction limit or a rate is not finite here.",
                f"Found a division by zero or a root of a negative number at t = {t:g}.",
                "Ask elsewhere, or check the parameters.",
            )
        strongest = np.abs(every[: len(f) + len(size)]).max(initial=0.0) if size.any() else np.inf
        _require_sizes(every, float(strongest), t)
        for what, values, least, remedy in (
            ("the power of drag '{}' is negative.", power, "zero (dry friction) or more",
             "A force that falls with the speed has no least dissipation: use st.simulate."),
            ("the limit of friction '{}' is negative here.", size, "zero or more",
             "Check its sign, and the normal force in it."),
        ):  # fmt: skip
            if values.min(initial=0.0) < 0:
                worst = int(np.argmin(values))
                evidence = f"Found {values[worst]:.6g}, expected {least}."
                raise StatementError(what.format(self.term_name(worst)), evidence, remedy)


def _require_sizes(every: np.ndarray, strongest: float, t: float) -> None:
    """Refuse sizes whose products are no numbers."""
    most = float(np.abs(every).max(initial=0.0))
    if most > _MOST or 0 < strongest < _LEAST:
        raise StatementError(
            "forces, friction limits or rates are too large or too small to reckon with.",
            f"Found {most if most > _MOST else strongest:.3g} at t = {t:g}; squares of such "
            "numbers are lost.",
            "State the system in other units.",
        )
