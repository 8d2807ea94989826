"""How far a load can grow before anything slides, and the surface of what friction can take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sparse
import sympy as sp

from stationary.errors import DidNotConverge, StatementError, did_you_mean, say
from stationary.model.layout import Layout, Start, name_of
from stationary.model.symbols import Input, Parameter
from stationary.model.system import System
from stationary.model.terms import Load
from stationary.result.limits import LimitEnd, LimitLoad, LimitSurface, Velocities, wrench
from stationary.result.multipliers import Multipliers
from stationary.result.status import Status
from stationary.solve.arguments import as_time, quiet
from stationary.solve.gate.claims import passed
from stationary.solve.inertia import require_system
from stationary.solve.linear import dense
from stationary.solve.sliding.convex.cones import Cones, End, farthest
from stationary.solve.sliding.convex.judge import Strength, strength
from stationary.solve.sliding.coulomb.modes import movable
from stationary.solve.sliding.coulomb.pressed import limited
from stationary.solve.sliding.instant.least_power import require_place
from stationary.solve.sliding.problem.numbers import Problem, largest
from stationary.solve.sliding.problem.question import Place, Question
from stationary.solve.sliding.telling.step import forces_of


@quiet
def limit_load(
    system: System,
    *,
    load: Any,
    at: Start | None = None,
    params: Mapping[Any, float] | None = None,
    inputs: Mapping[Any, Any] | None = None,
    t: float = 0.0,
) -> LimitLoad:
    """Find between which factors of a load a system rests, and the modes in which it fails.

    At these factors friction within its limits, contacts that push and constraints balance all
    forces: by the two theorems of limit analysis nothing inside slides and nothing outside holds.
    Where the other loads alone are not held, the interval does not contain zero. Friction at
    contacts counts with the cone |force| ≤ μ · pressure. It does not lift as it slips, and so only
    the second theorem holds: the ends are outer bounds, and their modes are such as Coulomb's law
    allows with the forces there. For few contacts ``found.safe_interval`` is where Coulomb's law
    allows no motion at all. The status says what holds.

    Parameters
    ----------
    system : System
    load : symbol, name or Load
        An input or parameter in which the forces are linear, a load of the system, or a load to
        be added. An input or parameter without a value counts as 1.
    at : dict
        The configuration; coordinates left out are zero.
    params, inputs : dict, optional
        Values of all else.
    t : float

    Returns
    -------
    LimitLoad

    Examples
    --------
    >>> x, y, P = *st.coordinates("x y"), st.inputs("P")
    >>> ladder = st.System(
    ...     potential=10 * y, loads=[st.Load(P, on=x)],
    ...     contacts=[st.Contact(y, friction=0.4, slip=x, name="floor")],
    ... )
    >>> round(st.limit_load(ladder, load=P).factor, 8)
    4.0
    """
    require_system(system)
    t = as_time(t)
    system, name, value, params, inputs = _one_symbol(system, load, params, inputs)
    known = any(p.name == name for p in system.parameters)

    def at_factor(factor: float) -> tuple[Question, Place]:
        values = {name: value * factor}
        question = Question(
            system,
            {**(params or {}), **(values if known else {})},
            {**(inputs or {}), **({} if known else values)},
            (t, t),
        )
        q, _ = question.layout.state(at, what="at")
        return question, question.at(t, q)

    def there(factor: float) -> tuple:
        question, place = at_factor(factor)
        return (t, place.q, place.u), question.params

    question, place = at_factor(0.0)
    dead, levers = place.problem.f, place.problem.levers
    # Beside large forces a small load is lost: it is looked at where it is as large as they are.
    factor = 1.0
    while True:
        places = [place, at_factor(factor)[1], at_factor(2 * factor)[1]]
        live = places[1].problem.f - dead
        if largest(live / levers) >= largest(dead / levers) or factor > _LARGEST:
            break
        factor *= 1e3
    require_place(question, places[1])
    _require_rest(place)
    _require_linear(name, places, live)
    live = live / factor
    cone = question.pressed(place)
    # Open contacts have no friction, and drag holds nothing; what is smooth follows no pressure.
    size = np.where((cone == -2) | (place.problem.power > 0), 0.0, place.problem.size)
    place, cone = replace(place, problem=replace(place.problem, size=size)), cone.copy()
    cone[size == 0] = -1
    scale = _scale(place.problem, cone, live)
    ends = [_strength(place.problem, dead, sign * live, cone, scale) for sign in (-1.0, 1.0)]
    safe = _safe_interval(place.problem, cone, live, (-ends[0].static, ends[1].static))
    low, high = (
        _end(question, place, cone, end, sign * live, sign, limit)
        for end, sign, limit in zip(ends, (-1.0, 1.0), safe)
    )
    status = _status(low, high, 1e-9 * scale)
    limit = LimitLoad(question.system, question.sliding.graph, low, high, status)
    return passed(limit, "limit_load", throw=True, at=there)


# So many times a load may be smaller than what else acts.
_LARGEST = 1e150

# So much less of a load than makes it as large as what else acts is none, where limits do not
# differ by more.
_NO_LOAD, _FINE = 1e-10, 1e-6

# Forces and modes change by less than this share where what is left over of them is taken away.
_SHARE = 1e-3

# A pressure of this share of the forces at work is none.
_UNPRESSED = 1e-9

# Up to so many modes of contacts all are tried.
_FEW_MODES = 256

_OUTER = (
    "; an outer bound, since friction follows pressure: nothing holds beyond it, but forces that "
    "balance do not prove rest, so that less may slide, depending on how it was loaded"
)
_FIRST = "; friction follows pressure, but up to it Coulomb's law allows no motion"
_LIFTS = "; in the mode what slips also lifts"


def _strength(
    problem: Problem, dead: np.ndarray, load: np.ndarray, cone: np.ndarray, scale: float
) -> Strength:
    """Find how far a load can grow; refuse what nothing holds, and what the solver leaves open."""
    limit = strength(problem, dead, load, cone)
    if limit.end is End.INFEASIBLE:
        raise DidNotConverge(
            say(
                "the other loads alone are more than friction can hold, and no factor of the load "
                "helps.",
                "Found no forces within their limits that balance them, whatever the factor: the "
                "interval in which it rests is empty.",
                "Lower them, or ask st.minimum_power which way it accelerates.",
            ),
            status="accelerates",
        )
    if limit.end is End.LOST:
        raise DidNotConverge(
            say("the limit load was not found.", "The solver stopped before an end.",
                "Check the sizes of loads and limits."),
            status="undecided",
        )  # fmt: skip
    # What hardly presses beside all that is at work does not, nor does it rub.
    top = max(map(largest, (dead / problem.levers, limit.y, limit.lam, limit.mu)))
    mu = np.where(limit.mu > _UNPRESSED * top, limit.mu, 0.0)
    idle = (cone >= 0) & (np.append(mu, 1.0)[np.maximum(cone, -1)] == 0)
    limit = replace(limit, mu=mu, y=np.where(idle[problem.term], 0.0, limit.y))
    if np.isinf(limit.static):
        return limit
    limits = problem.size[problem.size > 0]
    fine = limits.min(initial=np.inf) >= _FINE * limits.max(initial=0.0)
    if not scale or (fine and abs(limit.static) <= _NO_LOAD * scale):
        # Without other forces all grow in proportion: what holds some of the load holds any.
        limit = replace(limit, static=0.0, kinematic=0.0)
    push = dead + limit.static * load
    if push.any():
        return _balanced(problem, limit, push)
    y, lam, mu = (np.zeros_like(part) for part in (limit.y, limit.lam, limit.mu))
    return replace(limit, y=y, lam=lam, mu=mu)


def _balanced(problem: Problem, limit: Strength, push: np.ndarray) -> Strength:
    """Take away what the solver left over of the forces, each of which changes by a little."""
    forces = np.concatenate([limit.y, limit.lam, limit.mu])
    columns = problem.columns
    left, pulls = push - columns @ forces, np.abs(push) + np.abs(columns) @ np.abs(forces)
    # What acts on each coordinate is measured by itself: next to others some may be small.
    rows = 1 / np.where(pulls > 0, pulls, 1.0)
    shares = np.linalg.lstsq(rows[:, None] * columns * np.abs(forces), rows * left, rcond=1e-9)[0]
    # What hardly acts beside all that is at work may as well not act at all.
    some = np.abs(forces) > _UNPRESSED * largest(forces)
    if not np.all(np.abs(shares) <= np.where(some, _SHARE, 1 + _SHARE)):
        return limit
    ends = np.cumsum([len(limit.y), len(limit.lam)])
    y, lam, mu = np.split(forces + np.abs(forces) * shares, ends)
    return replace(limit, y=y, lam=lam, mu=mu)


def _safe_interval(
    problem: Problem, cone: np.ndarray, live: np.ndarray, rests: tuple[float, float]
) -> tuple[float, float]:
    """Return the factors between which it rests and Coulomb's law allows no motion.

    Of several such intervals the one that contains the other loads alone, else the widest.
    """
    if not np.any(cone >= 0):
        return rests
    ranges = movable(problem, cone, live, _FEW_MODES)
    if ranges is None:
        return np.nan, np.nan
    low, high = rests
    scale = _scale(problem, cone, live)
    if not scale:
        ranges = [tuple(x if np.isinf(x) else 0.0 for x in ends) for ends in ranges]
    free, begin = [], low
    for first, last in sorted(ranges):
        free.append((begin, min(first, high)))
        begin = max(begin, last)
    free.append((begin, high))
    width = 1e-7 * max(scale, *(abs(x) for x in rests if np.isfinite(x)), 0.0)
    free = [(a, b) for a, b in free if b - a > width]
    if not free:
        return np.nan, np.nan
    return max(free, key=lambda x: (x[0] <= width and x[1] >= -width, x[1] - x[0]))


def _kept(
    problem: Problem, cone: np.ndarray, end: Strength, lifts: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what keeps still with the forces at an end, what is across slips, and what goes ahead.

    What is inside its limit sticks, what is at it slips against its force; it `lifts` by as much as
    it would be pressed, or not. Rows are those of velocities of what rubs.
    """
    B, A, G = (dense(x) / problem.levers for x in problem.matrices)
    limit = limited(problem, cone, end.mu).size
    top = max(np.abs(x).max(initial=0.0) for x in (end.y, end.lam, end.mu)) or 1.0
    presses = end.mu > 1e-7 * top
    sticks, across, ahead, normals = [A], [B[:0]], [G[~presses]], G.copy()
    for k in range(problem.terms):
        rows = problem.part(k)
        size = float(np.linalg.norm(end.y[rows]))
        if limit[k] <= 1e-7 * top:
            continue
        if size < limit[k] * (1 - 1e-6):
            sticks.append(B[rows])
            continue
        unit = end.y[rows] / size
        across.append(B[rows] - np.outer(unit, unit @ B[rows]))
        ahead.append((unit @ B[rows])[None])
        if lifts and cone[k] >= 0:
            normals[cone[k]] -= problem.size[k] * (unit @ B[rows])
    opens = np.vstack(ahead)
    opens = opens / np.maximum(np.linalg.norm(opens, axis=1, keepdims=True), 1e-300)
    return np.vstack([*sticks, normals[presses]]), np.vstack(across), opens


def _slipping(held: np.ndarray, opens: np.ndarray, load: np.ndarray) -> np.ndarray | None:
    """Return the smallest mode that goes with the forces by Coulomb's law, if there is one."""
    reach = np.abs(load).max()
    with_power = Cones(len(load))
    with_power.P = sparse.eye(len(load), format="csc")
    with_power.zero(held, np.zeros(len(held)))
    with_power.least(-opens, np.zeros(len(opens)))
    with_power.zero(load[None] / reach, np.ones(1))
    solution = with_power.solve()
    if solution.solved:
        return solution.x / reach
    # A load that only presses has no power along the slip: then as far as one unit each.
    v, _ = farthest(held, opens)
    return None if v is None else v / np.abs(v).max()


def _exactly(held: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return a mode in which what keeps still does so to the last digit, if that is close."""
    sizes = np.linalg.norm(held, axis=1)
    rows = held[sizes > 0] / sizes[sizes > 0, None]
    exact = v - np.linalg.lstsq(rows, rows @ v, rcond=1e-9)[0]
    mode = exact if largest(exact - v) <= _SHARE * largest(v) else v
    return np.where(np.abs(mode) < 64 * np.finfo(float).eps * largest(v), 0.0, mode)


def _end(
    question: Question,
    place: Place,
    cone: np.ndarray,
    end: Strength,
    load: np.ndarray,
    sign: float,
    safe: float,
) -> LimitEnd:
    """Tell of one end; `load` grows beyond it, `sign` times the load that was asked about."""
    problem, layout, v = place.problem, question.layout, end.v
    if np.isinf(end.static):
        theorem = "forces within their limits balance the load whatever its size"
    else:
        apart = abs(end.static - end.kinematic)
        theorem = "static and kinematic bounds agree"
        if apart > 1e-8 * max(abs(end.static), _scale(problem, cone, load)):
            theorem = f"static and kinematic bounds differ by {apart:.1e}: rely on the static one"
        slips, follows = None, bool(np.any(cone >= 0))
        if follows:
            held, across, opens = _kept(problem, cone, end, lifts=False)
            slips = _slipping(np.vstack([held, across]), opens, load / problem.levers)
        holding = _kept(problem, cone, end, lifts=slips is None)[0]
        v = _exactly(holding, v * problem.levers if slips is None else slips) / problem.levers
        if follows:
            exact = abs(safe - sign * end.static) <= 1e-6 * abs(end.static)
            theorem += (_FIRST if exact else _OUTER) + (_LIFTS if slips is None else "")
    mu = np.zeros(question.sliding.gaps)
    mu[place.touching] = end.mu
    y, lam, mu = question.stated(end.y, end.lam, mu)
    return LimitEnd(
        factor=float(sign * end.static + 0.0),
        static=float(sign * end.static + 0.0),
        kinematic=float(sign * end.kinematic + 0.0),
        mode=Velocities.of(v, layout),
        forces=forces_of(question, y),
        lam=Multipliers.of(np.concatenate([lam, mu]), layout),
        safe=float(safe) + 0.0,
        theorem=theorem,
    )


def _status(low: LimitEnd, high: LimitEnd, none: float) -> Status:
    """Tell between which factors it rests, and what that rests on; less than `none` is none."""
    word = "unlimited" if np.isinf(high.factor) else "collapses"
    message = high.theorem
    a, b = low.factor, high.factor
    if not a <= none or not b >= -none:
        span = f"from {a:.6g} times the load " + ("on" if np.isinf(b) else f"to {b:.6g} times it")
        span = f"up to {b:.6g} times the load" if np.isinf(a) else span
        message += f"; without the load it does not rest, but {span}"
    elif np.isinf(b) and np.isfinite(a):
        message += f", from {a:.6g} times the load on"
    pressed = not (low.exact and high.exact)
    if pressed and not np.isnan(high.safe):
        message += (
            f"; friction follows pressure: between {low.safe:.6g} and {high.safe:.6g} times the "
            "load no motion is possible, elsewhere it may slide, depending on how it was loaded"
        )
    elif pressed and np.isinf(b):
        message += "; but friction follows pressure: it may slide, depending on how it was loaded"
    return Status(word, message)


def _scale(problem: Problem, cone: np.ndarray, live: np.ndarray) -> float:
    """Return the factor at which the load is as large as the other forces at work."""
    limits, pulls = problem.size[cone < 0], np.abs(problem.f / problem.levers)
    strongest = max(limits.max(initial=0.0), pulls.max(initial=0.0))
    return float(strongest / np.abs(live / problem.levers).max())


def _one_symbol(system: System, load: Any, params: Any, inputs: Any):
    """Reduce what may be meant by a load to one symbol in which the forces are linear."""
    if isinstance(load, Load):
        return *_scaled(system, load), 1.0, params, inputs
    name = name_of(load)
    for kind, given in ((Parameter, params), (Input, inputs)):
        symbols = {s.name: s for s in (system.parameters if kind is Parameter else system.inputs)}
        if name in symbols:
            rest = {k: v for k, v in (given or {}).items() if name_of(k) != name}
            stated = [v for k, v in (given or {}).items() if name_of(k) == name]
            value = stated[0] if stated else getattr(symbols[name], "default", None)
            value = 1.0 if value is None or float(value) == 0 else float(value)
            params, inputs = (rest, inputs) if kind is Parameter else (params, rest)
            return system, name, value, params, inputs
    for term in system.loads:
        if term.name == name:
            return *_scaled(system, term), 1.0, params, inputs
    known = [s.name for s in (*system.inputs, *system.parameters)]
    known += [x.name for x in system.loads]
    raise StatementError(
        f"'{name}' is not a load of this system.",
        f"Inputs, parameters and loads: {', '.join(known) or 'none'}.{did_you_mean(name, known)}",
        "Pass an input, a parameter, the name of a load, or an st.Load to be added.",
    )


def _scaled(system: System, load: Any) -> tuple[System, str]:
    """Return the system with one load under a factor, and the name of the factor."""
    name = "load factor"
    factor = Parameter(name)
    kept = {f.name: getattr(system, f.name) for f in fields(system)}
    loads = [x for x in system.loads if x is not load and x != load]
    kept["loads"] = (*loads, replace(load, force=tuple(factor * f for f in load.force)))
    return System(**kept), name


def _require_rest(place: Place) -> None:
    if np.any(place.problem.b) or np.any(place.problem.c) or np.any(place.problem.g):
        raise StatementError(
            "a limit load is asked of a system that is already moving.",
            "Found a constraint, a contact, or what friction acts on, that moves with time.",
            "Ask about the system at rest, or take st.minimum_power for its motion.",
        )


def _require_linear(name: str, places: Sequence[Place], live: np.ndarray) -> None:
    twice = places[2].problem.f - places[1].problem.f
    size = max(np.abs(live).max(initial=0.0), 1e-300)
    if not np.any(live):
        raise StatementError(
            f"'{name}' pushes nothing here.",
            "Found no force that grows with it.",
            "Name an input or a parameter that a load, U or W contains.",
        )
    same = np.allclose(places[0].problem.size, places[2].problem.size, rtol=1e-12, atol=0)
    if np.abs(twice - live).max() > 1e-9 * size or not same:
        raise StatementError(
            f"the forces are not linear in '{name}'.",
            "Found that they or a friction limit change otherwise as it grows.",
            "Name the load itself, or a parameter that only scales it.",
        )


def _weights(part: System, support: Any, params: Any) -> np.ndarray:
    """Return the friction limits of support points."""
    limit, columns = support.limit, support.table.columns
    symbols = [*columns, *part.parameters]
    strange = sorted(str(s) for s in limit.free_symbols - set(symbols))
    if strange:
        raise StatementError(
            "the limit surface of a part changes as it moves.",
            f"Found a friction limit that depends on {', '.join(strange)}.",
            "Ask about a part whose limits are numbers or parameters.",
        )
    values = [*columns.values(), *Layout(part).values(params)]
    limits = sp.lambdify(symbols, limit, "numpy")(*values)
    weights = np.broadcast_to(np.asarray(limits, dtype=float), support.table.rows)
    if not weights.min() >= 0 or not weights.max() > 0:
        raise StatementError(
            "the friction limits of a part are not all zero or more, some of them positive.",
            f"Found values from {weights.min():.4g} to {weights.max():.4g}.",
            "Check the parameters in them.",
        )
    return weights


@quiet
def limit_surface(
    part: System, *, params: Mapping[Any, float] | None = None, count: int = 2000
) -> LimitSurface:
    """Return force and moment for every way in which a rigid part can slide.

    Parameters
    ----------
    part : System
        What `slider` returned.
    params : dict, optional
        Values of parameters in its friction limits; the others have their defaults.
    count : int
        About how many twists the surface is sampled by.

    Returns
    -------
    LimitSurface

    Examples
    --------
    >>> disc = st.slider(radius=1.0, limit=1.0, count=4000)
    >>> surface = st.limit_surface(disc)
    >>> surface.wrench((0, 0, 1)).round(3) + 0.0  # the greatest moment of a disc is 2/3
    array([0.   , 0.   , 0.667])
    """
    require_system(part)
    tables = [x for x in part.friction if x.table is not None]
    if len(part.coordinates) != 3 or len(tables) != 1:
        raise StatementError(
            "a limit surface belongs to a rigid part on a table.",
            f"Found {len(part.coordinates)} coordinates and {len(part.friction)} friction terms.",
            "Pass what st.slider returned.",
        )
    columns = {slot.name: column for slot, column in tables[0].table.columns.items()}
    points = np.stack([np.asarray(columns[f"p[{i}]"], dtype=float) for i in range(2)], axis=1)
    weights = _weights(part, tables[0], params)
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise StatementError(
            "count is not a number of twists.",
            f"Found {str(count)[:60]}, expected a whole number, 1 or more.",
            "Leave it out, or write count=2000.",
        )
    # Evenly over a sphere of twists in which rotation counts with the size of the part.
    size = float(np.sqrt((weights @ (points**2).sum(axis=1)) / weights.sum())) or 1.0
    turns = max(8, round(np.sqrt(count / 2)))
    up = np.cos(np.linspace(0, np.pi, turns))
    around = np.linspace(0, 2 * np.pi, 2 * turns)
    U, V = np.meshgrid(up, around, indexing="ij")
    flat = np.sqrt(1 - U**2)
    twists = np.stack([flat * np.cos(V), flat * np.sin(V), U / size], axis=-1).reshape(-1, 3)
    surface = LimitSurface(part, twists, wrench(points, weights, twists), weights, points)
    return passed(surface, "limit_surface", params=Layout(part).values(params))
