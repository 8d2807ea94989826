"""A discrete variational integrator: the action itself is made discrete, then stationary."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
import scipy.sparse as sparse

from stationary.derive.graph import Graph
from stationary.errors import StatementError, spelled
from stationary.lower.engines.casadi import Numeric, quiet
from stationary.lower.kernel import AbstractKernel, numeric
from stationary.model.numbers import number_of
from stationary.solve.integrators.between_ends import unseen
from stationary.solve.motion.ode import AbstractIntegrator, BlowUp, Ode, Piece, Stopped

# Steps between two looks at the clock and the keyboard.
_CHUNK = 1000

# Newton's method inside a step stops at this residual, relative to what is rounded.
_ACCURATE = 2e-15

# Steps between two of the instants in and around a narrow peak.
_AROUND_PEAKS = 8

# Forces inside a step this many times larger than at its ends are not to be jumped over.
_LARGER = 10.0

# No momentum at all, in any units, and a number to divide by.
_TINY = 1e-290


@spelled
@dataclass(frozen=True)
class Variational(AbstractIntegrator):
    """The midpoint discrete Lagrange–d'Alembert principle, with constraints at every step.

    Symplectic where nothing dissipates: the energy oscillates and does not drift, however long the
    run. Momenta of symmetries and constraints are kept to rounding. Order 2 in the step.

    Parameters
    ----------
    step : float
        Length of a step; shortened so that a whole number of steps fills the span, and in pulses
        that are narrower.

    References
    ----------
    J. E. Marsden, M. West, Discrete mechanics and variational integrators, Acta Numerica 10 (2001)
    357, sections 2.1, 3.2 and 3.5.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> spring = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2)
    >>> motion = st.simulate(
    ...     spring, span=(0, 1000), start={x: 1.0}, method=st.Variational(step=0.05)
    ... )
    >>> abs(motion.energy - 0.5).max() < 4e-4
    np.True_
    """

    step: float

    def __post_init__(self):
        step = number_of(self.step)
        if not (np.isfinite(step) and step > 0):
            raise StatementError(
                "the step of a variational integrator is a positive number.",
                f"Found step={self.step!r}.",
                "Give a time, as in st.Variational(step=0.01).",
            )

    def pieces(
        self, ode: Ode, t: float, y: np.ndarray, end: float, *, grid: np.ndarray, dense: bool
    ) -> Iterator[Piece]:
        """Integrate; see `AbstractIntegrator`."""
        count = max(1, int(np.ceil((end - t) / self.step * (1 - 1e-12))))
        if ode.peaks is not None:
            # Pulses may be narrower than a step.
            count = max(count, _AROUND_PEAKS)
        length = (end - t) / count
        first, done = t, 0
        while done < count:
            steps = min(_CHUNK, count - done)
            times = first + length * np.arange(done, done + steps + 1)
            if done + steps == count:
                times[-1] = end
            states = _advance(ode, steps, times[0], length, y)
            good = int(np.argmin(np.append(np.all(np.isfinite(states), axis=1), False)))
            times, states = times[: good + 1], np.vstack([y, states[:good]])
            if good:
                piece = _piece(ode, times, states)
                missed = unseen(ode, times, piece.evaluate, _LARGER)
                if missed is not None:
                    k, narrow = missed
                    if k:
                        yield _piece(ode, times[: k + 1], states[: k + 1])
                    raise Stopped(
                        "inaccurate",
                        f"a force acts for {narrow:.2g} near t = {times[k]:.6g}, which a step of "
                        f"{length:.2g} jumps over",
                        times[k],
                    )
                yield piece
            if good < steps:
                raise BlowUp(times[-1])
            y, done = states[-1], done + steps


def _advance(ode: Ode, steps: int, t: float, length: float, y: np.ndarray) -> np.ndarray:
    """Return the states after each of several steps; not finite from where they fail."""
    walk = _walk(ode.kernel, steps)
    try:
        with quiet():
            sizes = _sizes(ode, t, y, length)
            walked = walk(np.append(t, y), np.concatenate([ode.p, sizes, [length]]))
    except RuntimeError:
        if steps == 1:
            return np.full((1, len(y)), np.nan)
        # Find the last good state by halving.
        half = steps // 2
        first = _advance(ode, half, t, length, y)
        if not np.all(np.isfinite(first[-1])):
            return first
        rest = _advance(ode, steps - half, t + half * length, length, first[-1])
        return np.vstack([first, rest])
    return np.asarray(walked)[1:].T


def _sizes(ode: Ode, t: float, y: np.ndarray, length: float) -> np.ndarray:
    """Return roots of masses, rounding of momentum that places make, and sizes of A and places.

    All in coordinates times the roots of their masses: radians beside nanometres count alike.
    """
    graph, n = ode.kernel.graph, ode.kernel.size
    q, v = y[:n], y[n : 2 * n]
    u = numeric(ode.kernel, "inputs")(t, y, ode.p)[0]
    arguments = (t, q, v, u, ode.p[: ode.kernel.parameters])
    masses = np.abs(numeric(graph, "dynamics")(*arguments)[0].diagonal())
    roots = np.sqrt(np.where(masses > 0, masses, masses.max(initial=0.0) or 1.0))
    reach, pull = np.max(roots * np.abs(q), initial=0.0), 1.0
    # Momenta depend on places, too, where something turns or is in a magnetic field.
    bent, turned = (abs(slope) @ np.abs(q) for slope in _slopes(graph)(*arguments))
    rounding = float(np.max((length * bent + turned) / roots, initial=0.0))
    if ode.kernel.rows:
        A = abs(numeric(graph, "constraints")(*arguments)[2]) @ sparse.diags(1 / roots)
        pull = max(float(A.max()), 1e-300)
        # Constraints are rounded with the place, and pull on the momentum as they are.
        rounding += reach / length
    return np.concatenate([roots, [rounding, pull, reach]])


@lru_cache(maxsize=32)
def _slopes(graph: Graph) -> Callable[..., Any]:
    """Return slopes of pushes and of momenta over places, sparse, as a function of arrays."""
    symbols: Any = graph.momenta.sx_in() if graph.scalar else graph.momenta.mx_in()
    t, q, v, u, p = symbols
    momentum, push = graph.momenta(t, q, v, u, p)
    slopes = [ca.jacobian(push, q), ca.jacobian(momentum, q)]
    return Numeric(ca.Function("slopes", [t, q, v, u, p], slopes), frozenset({0, 1}))


@lru_cache(maxsize=32)
def _walk(kernel: AbstractKernel, steps: int) -> ca.Function:
    """Return the function that takes several steps: (t, y) and (p, h) to the states on the way."""
    return _step(kernel).mapaccum("walk", steps)


@lru_cache(maxsize=32)
def _step(kernel: AbstractKernel) -> ca.Function:
    """Return one step: momentum balance over it, constraints at its end, velocities on them."""
    n, leap, land, sizes = kernel.size, _leap(kernel), _land(kernel), _step_sizes(kernel)
    x, c = ca.MX.sym("x", 1 + kernel.states), ca.MX.sym("c", leap.numel_in(2))
    h, q, v = c[-1], x[1 : n + 1], x[n + 1 : 2 * n + 1]
    way, speed, _ = sizes(x, c)
    guess = ca.vertcat(h * v / way, ca.MX.zeros(leap.numel_in(0) - n))
    solve = ca.rootfinder("leap", "newton", leap, _OPTIONS)
    z, momentum, work = solve(guess, x, c)
    gone = way * z[:n]
    arrived = q + gone
    guess = ca.vertcat(gone / h / speed, ca.MX.zeros(land.numel_in(0) - n))
    solve = ca.rootfinder("land", "newton", land, _OPTIONS)
    w, landing = solve(guess, arrived, momentum, x, c)
    new = [x[0] + h, arrived, speed * w[:n]]
    if kernel.graph.fed:
        new.append(x[-1] + work + landing)
    return ca.Function("step", [x, c], [ca.vertcat(*new)])


_OPTIONS = {
    "abstol": _ACCURATE,
    "abstolStep": 0.0,
    "max_iter": 30,
    "error_on_fail": True,
    "show_eval_warnings": False,
}


class _Symbols:
    """Symbols of one step, and the graph evaluated at its instants."""

    def __init__(self, kernel: AbstractKernel):
        self.kernel = kernel
        self.kind: Any = ca.SX if kernel.graph.scalar else ca.MX
        self.n = kernel.size
        self.x = self.kind.sym("x", 1 + kernel.states)
        # The vector p of the kernel, what `_sizes` returns, and the step.
        self.own = kernel.rhs.numel_in(2)
        self.c = self.kind.sym("c", self.own + self.n + 4)
        self.t, self.h = self.x[0], self.c[-1]
        self.roots = self.c[self.own : self.own + self.n]
        self.rounding, self.pull, self.reach = (self.c[k] for k in range(-4, -1))
        self.q, self.v = self.x[1 : self.n + 1], self.x[self.n + 1 : 2 * self.n + 1]
        holonomic = kernel.layout.holonomic
        self.held = [r for r in kernel.rows if holonomic[r]]
        self.rolled = [r for r in kernel.rows if not holonomic[r]]

    def at(self, t: Any, q: Any, v: Any) -> tuple:
        """Return the arguments of the graph at an instant, inputs evaluated there."""
        state = ca.vertcat(q, v, self.kind.zeros(self.kernel.states - 2 * self.n))
        p = self.c[: self.own]
        return t, q, v, self.kernel.inputs(t, state, p), p[: self.kernel.parameters]

    def sizes(self) -> tuple[Any, Any, Any]:
        """Return how far and how fast each coordinate goes, and the root of twice the energy.

        Unknowns and residuals are measured by what drives the step, its own momentum and forces on
        the straight way, so that a step from rest under a force that has just begun is one like all
        others. Without any the straight way is the solution.
        """
        momentum, _ = self.kernel.graph.momenta(*self.at(self.t, self.q, self.v))
        ahead = self.at(self.t + self.h / 2, self.q + self.h * self.v / 2, self.v)
        passing, push = self.kernel.graph.momenta(*ahead)
        size = self.rounding + _TINY + _largest(momentum / self.roots)
        size += _largest(passing / self.roots) + self.h / 2 * _largest(push / self.roots)
        return self.h * size / self.roots, size / self.roots, size


def _largest(vector: Any) -> Any:
    return ca.norm_inf(ca.densify(vector))


def _step_sizes(kernel: AbstractKernel) -> ca.Function:
    """Return the sizes of ways, of velocities and of a momentum."""
    s = _Symbols(kernel)
    return ca.Function("sizes", [s.x, s.c], list(s.sizes()))


def _leap(kernel: AbstractKernel) -> ca.Function:
    """Residuals of the balance of momentum; the momentum left over; the work done."""
    s, graph = _Symbols(kernel), kernel.graph
    z = s.kind.sym("z", s.n + len(s.held) + len(s.rolled))
    # The way, not the place, is unknown: its digits do not depend on how far away the origin is.
    length, _, size = s.sizes()
    way, tension = length * z[: s.n], size / (s.h * s.pull)
    lam, mu = tension * z[s.n : s.n + len(s.held)], tension * z[s.n + len(s.held) :]
    row = s.pull * (s.reach + s.h * size)
    start = s.at(s.t, s.q, s.v)
    middle = s.at(s.t + s.h / 2, s.q + way / 2, way / s.h)
    momentum, _ = graph.momenta(*start)
    passing, push = graph.momenta(*middle)
    power = graph.energies(*middle)[3]
    residual = []
    if s.held or s.rolled:
        before, between = graph.constraints(*start), graph.constraints(*middle)
        momentum += s.h * _pull(before[2], s.held, lam)
        push += _pull(between[2], s.rolled, mu)
        power -= _dot(lam, before[4], s.held) + _dot(mu, between[4], s.rolled)
        end = graph.constraints(*s.at(s.t + s.h, s.q + way, s.v))
        residual = [end[0][s.held] / row] * bool(s.held)
        residual += [s.h * between[1][s.rolled] / row] * bool(s.rolled)
    balance = (momentum + s.h / 2 * push - passing) / (size * s.roots)
    outputs = [ca.vertcat(balance, *residual), passing + s.h / 2 * push, s.h * power]
    return ca.Function("leap", [z, s.x, s.c], outputs)


def _land(kernel: AbstractKernel) -> ca.Function:
    """Residuals of the velocity that has the momentum left over and obeys Ṙ = 0."""
    s, graph = _Symbols(kernel), kernel.graph
    rows = s.held + s.rolled
    z = s.kind.sym("w", s.n + len(rows))
    _, speed, size = s.sizes()
    w, lam = speed * z[: s.n], size / (s.h * s.pull) * z[s.n :]
    q1, before = s.kind.sym("q1", s.n), s.kind.sym("left", s.n)
    left = before
    arrived = s.at(s.t + s.h, q1, w)
    momentum, _ = graph.momenta(*arrived)
    residual, work = [], s.kind(0)
    if rows:
        _, rate, A, _, drive = graph.constraints(*arrived)
        left = left + s.h * _pull(A, rows, lam)
        residual = [s.h * rate[rows] / (s.pull * (s.reach + s.h * size))]
        work = -s.h * _dot(lam, drive, rows)
    size = (size + _largest(before / s.roots)) * s.roots
    outputs = [ca.vertcat((momentum - left) / size, *residual), work]
    return ca.Function("land", [z, q1, before, s.x, s.c], outputs)


def _pull(A: Any, rows: list[int], lam: Any) -> Any:
    """Return the generalized force of some multipliers."""
    return ca.mtimes(A[rows, :].T, lam) if rows else 0


def _dot(lam: Any, drive: Any, rows: list[int]) -> Any:
    return ca.dot(lam, drive[rows]) if rows else 0


def _piece(ode: Ode, times: np.ndarray, states: np.ndarray) -> Piece:
    """Interpolate between the steps, to a higher order than theirs."""
    # Imported where it is used: SciPy's splines take longer to load than this package.
    from scipy.interpolate import CubicHermiteSpline

    n = ode.kernel.size
    position = CubicHermiteSpline(times, states[:, :n], states[:, n : 2 * n])
    velocity = position.derivative()

    def evaluate(ts: np.ndarray) -> np.ndarray:
        between = np.empty((len(ts), states.shape[1]))
        between[:, :n], between[:, n : 2 * n] = position(ts), velocity(ts)
        if ode.kernel.graph.fed:
            between[:, -1] = np.interp(ts, times, states[:, -1])
        at = np.minimum(np.searchsorted(times, ts), len(times) - 1)
        exact = times[at] == ts
        between[exact] = states[at[exact]]
        return between

    return Piece(times, evaluate, states[-1], len(times) - 1)
