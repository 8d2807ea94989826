"""Backward differentiation formulas from SUNDIALS, through CasADi: for stiff systems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import casadi as ca
import numpy as np

from stationary.errors import spelled
from stationary.lower.engines.casadi import quiet
from stationary.lower.kernel import AbstractKernel, numeric
from stationary.lower.many_states import at_states
from stationary.solve.integrators.between_ends import unseen
from stationary.solve.integrators.runge import Runge
from stationary.solve.motion.ode import AbstractIntegrator, BlowUp, Ode, Piece
from stationary.solve.motion.stabilize import natural_rate, sizes

# Nodes between two looks at the clock and the keyboard.
_CHUNK = 500

# Nodes of the whole motion at least, and of what is a part of it, and steps between two of them:
# rates at nodes prove what comes in between. So many come before with every start. At first nodes
# are so many radians of a vibration apart. Intervals are divided into so many parts, which are
# whole up to a small one, and longer than so many floating point numbers.
_USUAL, _FEWEST, _STEPS, _START, _AT_FIRST = 1000, 16, 6.0, 40, 0.1
_PARTS = np.array([1, 2, 4, 5, 10, 20, 25, 50, 100, 125, 250, 500])
_ONE, _APART = 1e-3, 1e4

# Nodes of the interpolation where states at any time are asked for.
_FINE = 500

# Where a piece may be cut short, so many nodes for each radian of a vibration, at most so many,
# for systems up to this many states.
_PER_RADIAN = 5
_FINEST = 200_000
_EXAMINED = 200

# Halvings of the way to where a motion ends early: it is known to that part of an output interval.
_MOST_HALVINGS = 14

# Fewest and most nodes of an interval that is gone over once more, and how often it is.
_NODES = 101, 20_001
_TRIES = 6

# An interval of more widths than this is not gone over in steps of one.
_MANY = 1e5

# Forces that change velocities by less than this part of a tolerance are none.
_UNSEEN = 1e-3

# Ends that differ by less than so many tolerances are the same.
_SAME = 100.0

# SUNDIALS gives up after this many steps in all, and between two of several nodes.
_MOST_STEPS = 100_000
_OF_A_NODE = 2000

# On the last halves of a way that leads nowhere, and where it is not to be patient, it gives up
# sooner.
_LAST_STEPS = 1000
_IMPATIENT = 5000

# Constrained systems of more coordinates have accelerations and forces among the unknowns, and
# matrices that stay sparse; smaller ones, solved for their accelerations, take no longer and are
# right to a hundred times more (measured on chains of 2 to 40 links).
_SPARSE_FROM = 60

# Errors of thousands of steps of low order add up: each is allowed this part of the tolerances, but
# no less than rounding leaves it. Accelerations that are unknowns have fewer digits.
_OF_A_STEP, _OF_A_SPARSE_STEP = 0.01, 0.1
_LEAST = 100 * np.finfo(float).eps, np.finfo(float).eps

# What steps are compared with is allowed this part of the tolerances.
_ANEW = 0.005

# The shortest step, as a part of the way: a hundred last digits of time.
_SHORTEST = 1e-14


@spelled
@dataclass(frozen=True)
class BDF(AbstractIntegrator):
    """Variable-order backward differentiation with exact Jacobians.

    CVODES for free and for small systems; under constraints IDAS, with accelerations and
    multipliers among the unknowns: M a = force + Aᵀλ and R̈ + 2αṘ + α²R = 0 are solved together
    with the step, so that a long chain's matrices stay sparse.

    Steps follow the motion, not the fastest decaying mode. Events are located on polynomials that
    match positions, velocities and accelerations at 500 instants or more.

    References
    ----------
    A. C. Hindmarsh et al., SUNDIALS, ACM Trans. Math. Softw. 31 (2005) 363, section 2.1.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> stiff = st.System(kinetic=x.dot**2 / 2, dissipation=500 * x.dot**2, potential=x**2 / 2)
    >>> st.simulate(stiff, span=(0, 1), start={x: 1.0}, method=st.BDF())[x][-1].round(6)
    np.float64(0.999001)
    """

    def pieces(
        self, ode: Ode, t: float, y: np.ndarray, end: float, *, grid: np.ndarray, dense: bool
    ) -> Iterator[Piece]:
        """Integrate; see `AbstractIntegrator`."""
        outputs = np.unique(np.append(grid[grid > t], end))
        whole, most = end - t, ode.stride or _CHUNK
        furthest = min(whole / _FEWEST, 16 * ode.longest / _USUAL)
        apart = min(furthest, _AT_FIRST / natural_rate(ode, t, y, whole))
        while len(outputs):
            # What vibrates fast in one place, as beside a cusp, need not do so in the next.
            apart = min(apart, whole / _fine(ode, t, y, whole)) if dense else apart
            ahead = _nodes(t, outputs, apart, most)
            outputs, most = outputs[outputs > ahead[-1]], min(2 * most, _CHUNK)
            known, missed = sizes(ode, t, y, end), None
            times, states, steps = _advance(ode, np.append(t, ahead), y, known=known)
            if len(times) > 1:
                piece = replace(_piece(ode, times, states, steps, dense), sizes=known)
                missed = unseen(ode, times, piece.evaluate, known=known)
                if missed is not None:
                    k, narrow = missed
                    way, ended = times[k : k + 2], states[k + 1]
                    # A way that was halved ends between two nodes.
                    outputs, ahead = np.unique(np.append(grid, end)), way[1:]
                    outputs = outputs[outputs > way[1]]
                    if k:
                        # What came before was on its way past it: it starts anew there.
                        free = _free(ode, times[: k + 1], states)
                        again = _approach(ode, times[free : k + 1], states[free])
                        times, states = times[: k + 1], states[: k + 1]
                        # Nearer to a singular place than it can come, what was there stays.
                        if again[0][-1] == way[0]:
                            steps, times = again[2], np.append(times[:free], again[0])
                            states = np.vstack([states[:free], again[1]])
                        yield _piece(ode, times, states, steps, dense)
                    y = states[-1 if k else 0]
                    times, states, piece = _narrowly(ode, way, y, ended, narrow, dense)
                if piece is not None:
                    yield piece
            if times[-1] < ahead[-1]:
                raise BlowUp(times[-1])
            t, y, ode = times[-1], states[-1], ode.after(states)
            if ode.extent is not None and ode.extent.any():
                # What was promised at first is promised all the way.
                ode = replace(ode, extent=np.maximum(ode.extent, known[0]))
            # Steps of what was gone over again are as narrow as what lies there.
            taken = _STEPS if missed is not None else (steps - _START) / (len(times) - 1)
            if not _STEPS / 2 < taken < 1.5 * _STEPS:
                apart = min(furthest, apart * _STEPS / max(taken, 1.0))


def _nodes(t: float, outputs: np.ndarray, apart: float, most: int) -> np.ndarray:
    """Return outputs ahead and nodes between them, so far apart at most; not too many of them."""
    ahead = outputs[:most]
    ways = np.diff(ahead, prepend=t)
    # Of even outputs as many are taken as make the same number of nodes every time.
    parts = np.minimum(np.ceil(ways / apart * (1 - _ONE)), _PARTS[-1]).astype(int)
    parts = _PARTS[_PARTS.searchsorted(parts)]
    # Between nodes that are one but for rounding nothing changes.
    parts = np.where(ways / parts > _APART * np.spacing(np.abs(ahead)), parts, 1)
    count = max(1, int(parts.cumsum().searchsorted(most, "right")))
    ahead, ways, parts = ahead[:count], ways[:count], parts[:count]
    before, last = np.append(t, ahead[:-1]), parts.cumsum()
    k = np.arange(1, last[-1] + 1) - np.repeat(last - parts, parts)
    nodes = np.repeat(before, parts) + np.repeat(ways / parts, parts) * k
    nodes[last - 1] = ahead
    return nodes[:most]


def _free(ode: Ode, times: np.ndarray, states: np.ndarray) -> int:
    """Return the last node up to which forces do nothing that a tolerance could see."""
    v = slice(ode.kernel.size, 2 * ode.kernel.size)
    pushed = np.abs([ode.f(t, y)[v] for t, y in zip(times, states)]) * (times[-1] - times[0])
    seen = np.any(pushed > _UNSEEN * ode.rtol * np.abs(states[:, v]).max(axis=0), axis=1)
    return max(0, int(np.argmax(seen)) - 1)


def _fine(ode: Ode, t: float, y: np.ndarray, whole: float) -> int:
    """Return the number of nodes: enough for the fastest vibration where a piece may be cut."""
    if ode.stride is None or ode.kernel.states > _EXAMINED:
        return _FINE
    slopes = np.asarray(ode.kernel.jacobian(t, y, ode.p))
    if not np.all(np.isfinite(slopes)):
        return _FINE
    rates = np.linalg.eigvals(slopes)
    return min(_FINEST, max(_FINE, int(whole * np.abs(rates.imag).max() * _PER_RADIAN)))


def _narrowly(
    ode: Ode, times: np.ndarray, y: np.ndarray, end: np.ndarray, narrow: float, dense: bool
) -> tuple[np.ndarray, np.ndarray, Piece | None]:
    """Go once more over an interval, in steps as narrow as what lies there.

    What an interpolation between nodes does not show may have been seen by steps between them:
    shorter ones lead to the same `end` then.
    """
    if times[1] - times[0] > _MANY * narrow:
        return _thinly(ode, times, y, dense)
    allowed = _SAME * ode.rtol * sizes(ode, times[0], y)[0]
    for _ in range(_TRIES):
        # Nodes near enough for an interpolation between them that shows what lies there.
        count = int(np.clip((times[1] - times[0]) / (2 * narrow), *_NODES))
        reached, states, steps = _advance(ode, np.linspace(times[0], times[-1], count), y, narrow)
        if len(reached) < 2:
            break
        if reached[-1] == times[-1] and np.all(np.abs(states[-1] - end) <= allowed):
            states = states[[0, -1]]
            return times, states, _piece(ode, times, states, steps, dense)
        piece = _piece(ode, reached, states, steps, dense)
        missed = unseen(ode, reached, piece.evaluate)
        if missed is None:
            return reached, states, piece
        narrow, end = min(missed[1], narrow / 2), states[-1]
    return times[:1], y[None, :], None


def _thinly(
    ode: Ode, times: np.ndarray, y: np.ndarray, dense: bool
) -> tuple[np.ndarray, np.ndarray, Piece | None]:
    """Go over an interval by a method that begins short steps where they are needed."""
    reached, states, steps = [times[:1]], [y[None, :]], 0
    try:
        for piece in Runge().pieces(ode, times[0], y, times[1], grid=times[1:], dense=dense):
            reached.append(piece.t[1:])
            states.append(piece.evaluate(piece.t[1:]))
            steps += piece.steps
    except BlowUp:
        return times[:1], y[None, :], None
    times, passed = np.concatenate(reached), np.concatenate(states)
    return times, passed, _piece(ode, times, passed, steps, dense)


def _advance(
    ode: Ode, times: np.ndarray, y: np.ndarray, narrow: float = np.inf, known: Any = None
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the times that are reached, the states there, and the steps in between."""
    fractions = (times - times[0]) / (times[-1] - times[0])
    # Rounded, so that chunks of an even grid share one integrator.
    way = tuple(np.round(fractions, 12)), times[0], times[-1] - times[0], y
    most = _most(ode, len(times) - 1)
    for implicit, share in _ways(ode):
        states, steps = _run(
            ode, *way, implicit=implicit, most=most, narrow=narrow, share=share, known=known
        )
        if states is not None:
            return times, np.vstack([y, states]), steps
    return _approach(ode, times, y, narrow)


def _approach(
    ode: Ode, times: np.ndarray, y: np.ndarray, narrow: float = np.inf
) -> tuple[np.ndarray, np.ndarray, int]:
    """Go on as far as possible: by fewer nodes at once where more fail, then half of the way.

    No step looks beyond the last node of those that it is asked for.
    """
    reached, known, steps = times[:1], y[None, :], 0
    ahead, several, halvings = times[1:], len(times) - 1, 0
    while len(ahead) and halvings < _MOST_HALVINGS:
        begin, length = reached[-1], ahead[:several][-1] - reached[-1]
        fractions = tuple(np.append(0.0, (ahead[:several] - begin) / length))
        states, taken = None, 0
        most = _LAST_STEPS if halvings else _most(ode, several)
        for implicit, share in _ways(ode)[bool(halvings and ode.patient) :]:
            states, taken = _run(
                ode, fractions, begin, length, known[-1],
                implicit=implicit, most=most, narrow=narrow, share=share,
            )  # fmt: skip
            if states is not None:
                break
        if states is not None:
            reached, known = np.append(reached, ahead[:several]), np.vstack([known, states])
            steps += taken
            # What is left of a way that was halved is half as long again.
            ahead = ahead[several:] if not halvings else ahead + length / 2
            halvings += bool(halvings)
            several = min(2 * several, len(ahead))
        elif several > 1:
            several //= 2
        else:
            ahead = np.array([begin + length / 2])
            halvings += 1
    return reached, known, steps


def _most(ode: Ode, nodes: int) -> int:
    """Return how many steps may lie between two of some nodes."""
    most = _MOST_STEPS if ode.patient else _IMPATIENT
    return max(min(most, _OF_A_NODE), most // nodes)


def _run(
    ode: Ode,
    fractions: tuple,
    start: float,
    length: float,
    y: np.ndarray,
    *,
    implicit: bool,
    most: int = _MOST_STEPS,
    narrow: float = np.inf,
    share: float = 1.0,
    known: Any = None,
    formula: str = "bdf",
) -> tuple[np.ndarray | None, int]:
    """Return states at fractions of a way and the steps, none longer than what is `narrow` there.

    A step is allowed a share of the tolerances.

    States are integrated over their sizes, so that the absolute tolerance is one of these, and
    places from an origin near them, so that the relative one is of their way.
    """
    kernel, (size, origin) = ode.kernel, known or sizes(ode, start, y, start + length)
    part = 2.0 ** np.floor(np.log2(narrow / length)) if narrow < length else 0.0
    rtol, atol = (
        max(share * given, min(given, least)) for given, least in zip((ode.rtol, ode.atol), _LEAST)
    )
    solver = _integrator(kernel, fractions, rtol, atol, implicit, most, part, formula)
    numbers = np.concatenate([ode.p, size, origin, [start, length]])
    given: dict[str, Any] = {"x0": (y - origin) / size, "p": numbers}
    if implicit:
        given["z0"] = np.concatenate(_held(kernel, start, y, ode.p))
    try:
        with quiet():
            answer = solver(**given)
    except RuntimeError:
        return None, 0
    states = origin + np.asarray(answer["xf"]).T * size
    return states if np.all(np.isfinite(states)) else None, int(solver.stats()["nsteps"])


def anew(
    ode: Ode, t: float, y: np.ndarray, until: float, known: tuple[np.ndarray, np.ndarray],
    stiff: bool,
) -> np.ndarray:  # fmt: skip
    """Return where a state leads by other formulas than those of a step: Adams' where they can.

    They have no smaller errors where a motion is `stiff`, and take for ever: there it is backward
    differentiation, by steps of its own. What neither reaches is no number. Sizes are `known`.
    """
    for formula, most in (("adams", _LAST_STEPS), ("bdf", _MOST_STEPS))[stiff:]:
        way = (0.0, 1.0), t, until - t, y
        states, _ = _run(
            ode, *way, implicit=False, most=most, share=_ANEW, known=known, formula=formula
        )
        if states is not None:
            return states[-1]
    return np.full_like(y, np.nan)


def _ways(ode: Ode) -> list[tuple[bool, float]]:
    """Return how to go on, in the order of trying.

    Told are whether accelerations and multipliers are unknowns, and a step's share of tolerances.
    Where IDAS finds no consistent rates to begin with, the equation solved for them has them; where
    rounding forbids small errors, there are those that were asked for.
    """
    kernel, ways = ode.kernel, [(False, _OF_A_STEP), (False, 1.0)]
    # Rows that depend on each other leave no unknowns.
    if kernel.rows and not kernel.damped and not kernel.branch:
        sparse = [(True, _OF_A_SPARSE_STEP), (True, 1.0)]
        ways = [*sparse, ways[1]] if kernel.size >= _SPARSE_FROM else [*ways, sparse[1]]
    return ways if ode.patient else ways[:1]


def _held(kernel: AbstractKernel, t: float, y: np.ndarray, p: np.ndarray) -> list[np.ndarray]:
    """Return accelerations and multipliers of a state."""
    n = kernel.size
    u = numeric(kernel, "inputs")(t, y, p)[0]
    return numeric(kernel, "held")(t, y[:n], y[n : 2 * n], u, p[: kernel.parameters], p[-1])[:2]


@lru_cache(maxsize=32)
def _integrator(
    kernel: AbstractKernel,
    fractions: tuple,
    rtol: float,
    atol: float,
    implicit: bool,
    most: int,
    part: float,
    formula: str = "bdf",
) -> ca.Function:
    """Return SUNDIALS on a scaled time from 0 to 1: start and length are values at run time."""
    kind = type(kernel.arguments[0])
    tau, x = kind.sym("tau"), kind.sym("x", kernel.states)
    n = kernel.states
    given = kernel.rhs.numel_in(2)
    whole = kind.sym("p", given + 2 * n + 2)
    p, size, origin = whole[:given], whole[given : given + n], whole[given + n : -2]
    start, length = whole[-2], whole[-1]
    y = origin + size * x
    t = start + length * tau
    options = {
        "reltol": rtol,
        "abstol": atol,
        "max_num_steps": most,
        "disable_internal_warnings": True,
        "show_eval_warnings": False,
    }
    dae = {"t": tau, "x": x, "p": whole}
    if part:
        options["max_step_size"] = part
    if not implicit:
        dae["ode"] = length * kernel.rhs(t, y, p) / size
        options |= {"min_step_size": _SHORTEST, "linear_multistep_method": formula}
        return ca.integrator("bdf", "cvodes", dae, 0.0, list(fractions[1:]), options)
    dae["z"], rate, dae["alg"] = _implicitly(kernel, t, y, p)
    dae["ode"] = length * rate / size
    # Multipliers follow from the state: their errors do not add up and need no control.
    options["suppress_algebraic"] = True
    if ca.has_linsol("csparse"):
        options["linear_solver"] = "csparse"
    return ca.integrator("bdf", "idas", dae, 0.0, list(fractions[1:]), options)


def _implicitly(kernel: AbstractKernel, t: Any, y: Any, p: Any) -> tuple[Any, Any, Any]:
    """Return the unknowns (a, λ), the rate of the state and the equations that fix the unknowns."""
    graph, n, rows = kernel.graph, kernel.size, list(kernel.rows)
    z = type(y).sym("z", n + len(rows))
    a, lam, alpha = z[:n], z[n:], p[-1]
    v = y[n : 2 * n]
    inner = (t, y[:n], v, kernel.inputs(t, y, p), p[: kernel.parameters])
    M, force = graph.dynamics(*inner)
    R, Rdot, A, gamma, drive = graph.constraints(*inner)
    balance = ca.mtimes(M, a) - force - ca.mtimes(A[rows, :].T, lam)
    bent = ca.mtimes(A[rows, :], a) + gamma[rows] + 2 * alpha * Rdot[rows] + alpha**2 * R[rows]
    power = graph.energies(*inner)[3] - ca.dot(lam, drive[rows])
    rate = ca.vertcat(v, a, *([power] if graph.fed else []))
    return z, rate, ca.vertcat(balance, bent)


def _piece(ode: Ode, times: np.ndarray, states: np.ndarray, steps: int, dense: bool) -> Piece:
    n = ode.kernel.size

    @cache
    def rates() -> np.ndarray:
        return at_states(ode.kernel.rhs, times, states, ode.values(times))

    def between(ts: np.ndarray) -> np.ndarray:
        """Return polynomials through states and rates at two nodes; velocities are their slopes."""
        k = np.clip(np.searchsorted(times, ts) - 1, 0, len(times) - 2)
        h = (times[k + 1] - times[k])[:, None]
        x = (ts - times[k])[:, None] / h
        way, f, g = states[k + 1] - states[k], h * rates()[k], h * rates()[k + 1]
        v, w, a, b = f[:, :n], g[:, :n], h * f[:, n : 2 * n], h * g[:, n : 2 * n]
        # What is missing of the way, its rate and its bend where a parabola ends.
        miss, turn, bend = way[:, :n] - v - a / 2, w - v - a, b - a
        cubic, quartic, quintic = (
            10 * miss - 4 * turn + bend / 2,
            -15 * miss + 7 * turn - bend,
            6 * miss - 3 * turn + bend / 2,
        )
        q = x * (v + x * (a / 2 + x * (cubic + x * (quartic + x * quintic))))
        speed = v + x * (a + x * (3 * cubic + x * (4 * quartic + x * 5 * quintic)))
        fed, first, last = way[:, 2 * n :], f[:, 2 * n :], g[:, 2 * n :]
        left = fed - first
        fed = x * (first + x * (3 * left - (last - first) + x * (last - first - 2 * left)))
        begun = states[k]
        return np.hstack([begun[:, :n] + q, speed / h, begun[:, 2 * n :] + fed])

    def evaluate(ts: np.ndarray) -> np.ndarray:
        # At the nodes the solution itself, not its interpolation.
        at = np.minimum(np.searchsorted(times, ts), len(times) - 1)
        exact = times[at] == ts
        known = states[at]
        if not exact.all():
            known[~exact] = between(ts[~exact])
        return known

    return Piece(times, evaluate, states[-1], steps, dense)
