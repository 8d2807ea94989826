"""Clear rebounds of what flies freely: from one wall to the next without a question.

Where nothing rubs, flights are polynomials in time and gaps along them at most parabolas, whose
zeros have a formula. One contact that clearly closes, bounces back and rises, while others are
clearly open, leaves nothing to decide. All else is left to what looks closer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import fsum, inf, sqrt, ulp
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from stationary.lower.engines.casadi import Numeric
from stationary.lower.touching import Touching
from stationary.result.changes import Change
from stationary.solve.motion.ode import Piece
from stationary.solve.touch.free_flight import flight_terms

if TYPE_CHECKING:
    from stationary.solve.touch.driver import Driver

# So many times its rounding is clear. What is less is looked at closer, which finds the same.
_CLEAR = 1e4

# Parabolas that come so near to a double zero, of the squares of their slopes, graze.
_GRAZES = 1e-6

# More coordinates or contacts are not stated as one expression.
_FEW = 8

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True, eq=False)
class Strike:
    """What one contact does at an instant: impulse, what it takes and supplies, and sizes."""

    push: float
    taken: float
    supplied: float
    #: The rate before, and the acceleration towards it after.
    rate: float
    back: float
    pull: float
    #: What rates of the contact are summed from; force times place, and force in the metric of M.
    fast: float
    turned: float
    strong: float


class Rebounds:
    """Flights and impacts of a system as functions of a state."""

    def __init__(self, kernel: Touching, terms: list[Any], parabolas: list[Any]):
        t, y, p = kernel.arguments
        self.gaps, self.size = kernel.touch.gaps, kernel.size
        self.powers = len(terms)
        flight = ca.vertcat(*terms, *parabolas)
        self._ahead = Numeric(ca.Function("ahead", [t, y, p], [ca.densify(flight)], {"cse": True}))
        which = ca.SX.sym("which", self.gaps)
        struck = ca.densify(ca.vertcat(*_struck(kernel, which)))
        function = ca.Function("strike", [t, y, p, which], [struck], {"cse": True})
        self._strike, self._which = Numeric(function), np.eye(self.gaps)

    def ahead(self, t: float, y: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, list[list[float]]]:
        """Return the coefficients of a flight by powers of time, and those of all gaps on it."""
        values, many = self._ahead(t, y, p)[0], self.powers * len(y)
        terms = values[:many].reshape(self.powers, len(y))
        return terms, values[many:].reshape(3, self.gaps).T.tolist()

    def strike(
        self, t: float, y: np.ndarray, p: np.ndarray, i: int
    ) -> tuple[np.ndarray, Strike, list[float], list[float]]:
        """Return velocities after an impact, what it does, all gaps, and their sizes."""
        values, n = self._strike(t, y, p, self._which[i])[0], self.size
        rest = values[n:].tolist()
        end = len(rest) - 2 * self.gaps
        return values[:n], Strike(*rest[:end]), rest[end : end + self.gaps], rest[end + self.gaps :]


def _struck(kernel: Touching, which: Any) -> list[Any]:
    t, q, v, u, p = inner = kernel.inner
    touch, graph, n = kernel.touch, kernel.graph, kernel.size
    sense = ca.SX.ones(touch.arguments[-1].numel())
    M, force = graph.inertial(*inner)
    value, rate, gamma, C, drive = touch.rows(*inner, sense)
    inverse = ca.solve(M, ca.SX.eye(n))
    row, own = ca.mtimes(which.T, C), ca.mtimes(which.T, rate)
    answer = ca.mtimes(inverse, row.T)
    e = ca.mtimes(which.T, touch.limits(*inner, sense)[3])
    push = -(1 + e) * own / ca.mtimes(row, answer)
    after = v + answer * push
    supplied = -push * ca.mtimes(which.T, drive)
    energy = [graph.energies(t, q, w, u, p)[2] for w in (v, after)]
    then = graph.inertial(t, q, after, u, p)[1]
    free = ca.mtimes(inverse, then)
    bends = touch.rows(t, q, after, u, p, sense)[2]
    pull = ca.mtimes(row, free) + ca.mtimes(which.T, bends)
    away = ca.fabs(C)
    sizes = (
        ca.fabs(value) + ca.mtimes(away, ca.fabs(q)) + (ca.fabs(rate) + ca.fabs(drive)) * ca.fabs(t)
    )
    sums = ca.mtimes(away, ca.mtimes(ca.fabs(inverse), ca.fabs(force))) + ca.fabs(gamma)
    speeds = (
        ca.mtimes(away, ca.fmax(ca.fabs(v), ca.fabs(after))) + ca.fabs(drive) + sums * ca.fabs(t)
    )
    fast = ca.mtimes(which.T, speeds)
    turned = ca.mtimes(ca.fabs(then).T, ca.fabs(q))
    strong = ca.sqrt(ca.fabs(ca.mtimes(then.T, free)))
    return [after, push, supplied - energy[1] + energy[0], supplied, own, -e * own,
            ca.fmax(-pull, 0), fast, turned, strong, value, sizes]  # fmt: skip


@lru_cache(maxsize=64)
def rebounds_of(kernel: Touching) -> Rebounds | None:
    """Return flights and impacts of a system whose gaps are parabolas in time; else none."""
    touch = kernel.touch
    if touch.rubs or not 0 < touch.gaps <= _FEW or kernel.size > _FEW:
        return None
    terms = flight_terms(kernel)
    if terms is None:
        return None
    t, y, _ = kernel.arguments
    gap = touch.rows(*kernel.inner, ca.SX.ones(touch.arguments[-1].numel()))[0]
    parabolas, rate = [gap], terms[0]
    for power in (1, 2, 3):
        ahead = ca.jtimes(parabolas[-1], y, rate) + ca.jacobian(parabolas[-1], t)
        parabolas.append(ca.simplify(ahead) / power)
    return Rebounds(kernel, terms, parabolas[:3]) if parabolas[3].is_zero() else None


def _zero(c: list[float], room: float) -> float | None:
    """Return when a parabola that begins above zero comes to it; none where that is not clear."""
    c0, c1, c2 = c
    if not c0 > room:
        return None
    if c2 == 0:
        return -c0 / c1 if c1 < 0 else inf
    square, part = c1 * c1, 4 * c0 * c2
    if abs(square - part) <= _GRAZES * square:
        return None
    if part > square:
        return inf
    root = sqrt(square - part)
    if c1 < 0:
        return 2 * c0 / (root - c1)
    return inf if c2 > 0 else (-c1 - root) / (2 * c2)


def _again(c: list[float]) -> float:
    """Return when a parabola that leaves zero comes back to it."""
    c0, c1, c2 = c
    # What begins above zero, by rounding, ends at zero.
    return -c1 / c2 + max(c0, 0.0) / c1 if c2 < 0 else inf


def bounced(driver: Driver, t: float, y: np.ndarray, end: float) -> Iterator[Piece]:
    """Yield flights as long as each ends with a clear rebound; the driver goes on from the last."""
    if not driver.mode.free or driver.watch.awake or len(driver.fresh) > 1:
        return
    rebounds = rebounds_of(driver.kernel)
    left = next(iter(driver.fresh), None)
    if rebounds is None or (left is not None and driver.fresh[left].power != 1):
        return
    begin, facts = t, driver.known[0]
    rounding = [_CLEAR * x for x in facts.value_rounding.tolist()]
    names, p = driver.kernel.touch.names, driver.legs.values(t)
    extent, first = driver.extent, driver.starts[0].copy()
    first[driver.kernel.size :] = 0.0
    # Times are rounded, states are not: what is lost of each time is added to the next.
    late = 0.0
    while (rebound := _next(rebounds, driver, t, y, p, left, rounding, late)) is not None:
        soon, until, i, terms, after, strike = rebound
        if until >= end:
            break
        piece = _piece(t, late, y, terms, soon, until, after)
        late = fsum((t, late, soon, -until))
        t, y, left = until, after, i
        driver.changes.append(Change(t, "impact", names[i], strike.push))
        driver.impacts.append((t, strike.taken))
        driver.began.append(t)
        driver.starts.append(y)
        driver.modes.append(driver.modes[-1])
        driver.largest = max(driver.largest, strike.turned)
        driver.strong = max(driver.strong, strike.strong)
        np.maximum(extent, np.abs(y - first), out=extent)
        yield piece
    if t > begin:
        facts = driver.facts(t, y)
        driver.at_once = 0
        driver.begin(facts, np.arange(rebounds.gaps) == left, np.zeros(len(facts.rate)))
        driver.legs.restart(t, end, y)


def _next(
    rebounds: Rebounds, driver: Driver, t: float, y: np.ndarray, p: np.ndarray, left: int | None,
    rounding: list[float], late: float,
) -> tuple[float, float, int, np.ndarray, np.ndarray, Strike] | None:  # fmt: skip
    """Return how long a flight takes, when it ends, and what happens there, if that is clear."""
    terms, parabolas = rebounds.ahead(t, y, p)
    soon, i = inf, -1
    for k, c in enumerate(parabolas):
        zero = _again(c) if k == left else _zero(c, rounding[k])
        if zero is None:
            return None
        if zero < soon:
            soon, i = zero, k
    until = fsum((t, late, soon))
    if not _CLEAR * ulp(until) < soon < inf:
        return None
    n = rebounds.size
    before = _at(y, terms, soon)
    v, strike, values, sizes = rebounds.strike(until, before, p, i)
    slow = _CLEAR * 64 * _EPS * strike.fast
    rooms = [max(a, _CLEAR * 64 * _EPS * b) for a, b in zip(rounding, sizes)]
    if not (strike.rate < -slow and strike.back > slow):
        return None
    if strike.back**2 <= 2 * rooms[i] * strike.pull:
        return None
    if any(values[k] <= rooms[k] for k in range(len(values)) if k != i):
        return None
    if driver.zeno.would_end(until, frozenset((i,)), -strike.rate):
        return None
    after = before
    after[n : 2 * n] = v
    after[2 * n] += strike.supplied
    return soon, until, i, terms, after, strike


def _at(y: np.ndarray, terms: np.ndarray, since: float) -> np.ndarray:
    state = since * terms[-1]
    for term in terms[-2::-1]:
        state += term
        state *= since
    return state + y


def _piece(
    t: float, late: float, y: np.ndarray, terms: np.ndarray, soon: float, until: float,
    after: np.ndarray,
) -> Piece:  # fmt: skip
    def evaluate(times: np.ndarray) -> np.ndarray:
        flown = np.maximum(np.minimum((times - t) - late, soon), 0.0)
        states = np.array([_at(y, terms, since) for since in flown.tolist()])
        states[times == until] = after
        return states.reshape(len(times), len(y))

    return Piece(np.array([t, until]), evaluate, after, 1, exact=True)
