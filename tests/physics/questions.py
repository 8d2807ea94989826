"""Questions about rest, small motions and statements, each in units that it is given.

An answer is written in its own units, where it is a list of plain numbers; one in nanometres and
tonnes differs from one in metres and kilogrammes by rounding, or by what the question asks for.
"""

import numpy as np
import pytest
import sympy as sp

import stationary as st

x, y, a = st.coordinates("x y a")

QUESTIONS = {}

FEET = np.array([(-0.9, -0.4), (0.9, -0.4), (0.9, 0.4), (-0.9, 0.4), (0.0, 0.1)])
WEIGHTS = np.array([0.2, 0.3, 0.1, 0.25, 0.15])


def question(tolerance):
    """Keep a question, and what its answers may differ by."""

    def keep(function):
        QUESTIONS[function.__name__] = function, tolerance
        return function

    return keep


# -- rest -----------------------------------------------------------------------------------------


def hung(u):
    """A mass on two springs above a floor, beside a lever."""
    P, Q = u.at(0.0, 0.0), u.at(2.0, 0.0)
    lever = st.System(potential=u.E * (0.5 * a**2 + 0.1 * st.cos(a)) + 0.3 * u.F * a * (x - P[0]))
    return (
        st.particle(1.3 * u.M, at=(x, y), gravity=9.81 * u.g)
        + st.spring(20 * u.k, between=(P, (x, y)), rest=0.8 * u.L)
        + st.spring(30 * u.k, between=(Q, (x, y)), rest=0.9 * u.L)
        + lever + st.System(kinetic=0.1 * u.M * u.L**2 * a.dot**2)
    )  # fmt: skip


@question(1e-9)
def statics(u):
    start = dict(zip((x, y), u.at(0.7, -0.3)))
    rest = st.statics(hung(u), start=start)
    return [rest.stable, rest.inertia, u.of(rest[x]), u.of(rest[y]), rest[a]]


@question(1e-9)
def statics_held(u):
    """On a rod, and on a floor that pushes."""
    rod = hung(u) + st.rod(u.at(0.0, -0.5), (x, y), 1.1 * u.L)
    floor = hung(u) + st.System(contacts=[st.Contact(y - u.at(-0.4)[0], name="floor")])
    start = dict(zip((x, y), u.at(0.9, -0.1)))
    one, other = (st.statics(s, start=start) for s in (rod, floor))
    return [
        u.of(one[x]), u.of(one[y]), one[a], one.lam[0] / u.F,
        u.of(other[x]), u.of(other[y]), other.lam["floor"] / u.F, one.stable, other.stable,
    ]  # fmt: skip


@question(1e-9)
def statics_floor(u):
    """Weights above each other and a floor: nothing has a length but the gaps."""
    low, high = y - u.at(-0.4)[0], x - y - 0.3 * u.L
    contacts = [st.Contact(low, name="floor"), st.Contact(high, name="block")]
    blocks = st.System(potential=u.F * (2 * x + y), contacts=contacts)
    rest = st.statics(blocks, start=dict(zip((x, y), u.at(1.0, 0.1))))
    return [u.of(rest[x]), u.of(rest[y]), rest.lam["floor"] / u.F, rest.lam["block"] / u.F]


@question(1e-8)
def statics_flat(u):
    """Without stiffness: powers of a length decide, and cosines beside springs."""
    X = x / u.L - u.o
    slope = st.System(potential=u.E * (X**4 / 4 + X**3 / 3))
    valley = st.System(potential=u.E * (X**4 / 4 + X**6))
    links = [*st.coordinates("b1 b2 b3 b4 b5")]
    bends = links[0] ** 2 + sum((p - q) ** 2 for p, q in zip(links[1:], links)) / 2
    load = 0.097886967409692855767
    columns = [
        st.System(
            potential=u.E * bends, work=u.E * load * (1 + e) * sum(1 - st.cos(p) for p in links)
        )
        for e in (-1e-7, 1e-7)
    ]
    at = {x: u.at(0.0)[0]}
    rests = [st.statics(s, start=at, kind="any") for s in (slope, valley)]
    rests += [st.statics(s, kind="any") for s in columns]
    return [[r.stable, r.inertia] for r in rests] + [rests[-1].eigenvalues[1:] / u.E]


@question(1e-8)
def equilibria(u):
    X, Y = (x / u.L - u.o), (y / u.L - u.o)
    wells = st.System(potential=u.E * ((X**2 - 1) ** 2 + 0.3 * X * Y + Y**2 + 0.2 * X))
    box = tuple(u.at(-2.0, 2.0))
    return [
        [u.of(e[x]), u.of(e[y]), e.energy / u.E, e.stable]
        for e in st.equilibria(wells, within={x: box, y: box})
    ]


@question(1e-9)
def statics_beside(u):
    """Nanometres beside radians: a lever holds a spring that gives way by a billionth."""
    small = 1e-9 * u.L
    spring = st.System(potential=u.E * ((x / small - u.o - st.cos(a)) ** 2 - st.cos(a - 1)))
    rest = st.statics(spring, start={x: (3 + u.o) * small, a: 0.5})
    return [rest[x] / small - u.o - np.cos(rest[a]), rest[a], rest.stable]


@question(1e-8)
def equilibria_held(u):
    """A pendulum in Cartesian coordinates between springs: all rests on its circle."""
    bob = st.particle(u.M, at=(x, y), gravity=u.g) + st.rod(u.at(0.0, 0.0), (x, y), u.L)
    bob = bob + st.spring(3 * u.k, between=(u.at(1.5, 0.5), (x, y)), rest=0.2 * u.L)
    box = tuple(u.at(-1.5, 1.5))
    return [
        [u.of(e[x]), u.of(e[y]), e.lam[0] / u.F, e.stable]
        for e in st.equilibria(bob, within={x: box, y: box})
    ]


@question(1e-7)
def continuation(u):
    """The shallow truss of von Mises snaps through, at two folds."""
    P = st.parameters(P=0.0)
    foot, top = u.at(0.0)[0], u.at(0.0)[0]
    length = st.sqrt((u.L + 0 * foot) ** 2 + (y - top) ** 2)
    truss = st.System(
        kinetic=u.M * y.dot**2 / 2,
        potential=40 * u.k * (length - 1.1 * u.L) ** 2,
        loads=[st.Load(-P, on=y)],
    )
    rest = st.statics(truss, start={y: u.at(0.5)[0]})
    d = st.continuation(truss, parameter=P, span=(-3 * u.F, 3 * u.F), start=rest)
    return [
        [[s.kind, s.parameter / u.F, u.of(s[y])] for s in d.special],
        [[bool(br.stable[0]), bool(br.stable[-1])] for br in d.branches],
        [u.of(br[y][[0, -1]]) for br in d.branches],
    ]


@question(1e-7)
def continuation_held(u):
    """A rod that stands on a spring falls over at a pitchfork."""
    P = st.parameters(P=0.1 * u.F)
    foot = u.at(0.0, 0.0)
    column = (
        st.particle(u.M, at=(x, y))
        + st.rod(foot, (x, y), u.L)
        + st.System(potential=u.k * (x - foot[0]) ** 2 / 2, loads=[st.Load(-P, on=y)])
    )
    rest = st.statics(column, start={x: foot[0], y: foot[1] + u.L})
    d = st.continuation(column, parameter=P, span=(0, 2 * u.F), start=rest)
    return [[[s.kind, s.parameter / u.F] for s in d.special], len(d.branches)]


@question(1e-7)
def continuation_from(u):
    """From a fold where nothing bends, and from a column that bears nothing."""
    P = st.parameters(P=0.0)
    X = x / u.L - u.o
    fold = st.System(potential=u.E * X**3 / 3 - P * X)
    column = st.System(potential=u.E * a**2 / 2 + P * st.cos(a))
    at = {x: u.at(0.0)[0]}
    answers = []
    for system, start, span in ((fold, at, (-1, 1)), (column, {}, (0, 3))):
        ends = tuple(end * u.E for end in span)
        d = st.continuation(system, parameter=P, span=ends, start=start)
        answers.append([[[s.kind, s.parameter / u.E] for s in d.special], len(d.branches),
                        [str(b.status) for b in d.branches]])  # fmt: skip
    return answers


# -- small motions --------------------------------------------------------------------------------


@question(1e-8)
def linearize(u):
    F = st.inputs("F")
    place = u.at(0.3)[0]
    cart = (
        st.particle(u.M, at=(x, 0))
        + st.particle(0.2 * u.M, at=(x + 0.5 * u.L * st.sin(a), -0.5 * u.L * st.cos(a)),
                      gravity=9.81 * u.g)
        + st.System(potential=3 * u.k * (x - place) ** 2, loads=[st.Load(F, on=x)],
                    dissipation=0.1 * u.F * u.T / u.L * x.dot**2)
    )  # fmt: skip
    lin = st.linearize(cart, at={x: place, a: np.pi})
    order = np.argsort(np.real(lin.eigenvalues))
    return [lin.stability, lin.eigenvalues[order] * u.T, np.array(lin.B)[-1, 0] * u.F * u.T**2]


@question(1e-8)
def linearize_held(u):
    bob = st.particle(u.M, at=(x, y), gravity=u.g) + st.rod(u.at(0.0, 0.0), (x, y), u.L)
    lin = st.linearize(bob, at=dict(zip((x, y), u.at(0.0, -1.0))))
    return [lin.stability, np.sort(np.imag(lin.eigenvalues)) * u.T]


@question(1e-8)
def modes(u):
    start = dict(zip((x, y), u.at(0.7, -0.3)))
    found = st.modes(hung(u), at=st.statics(hung(u), start=start))
    return [found.frequencies * u.T]


@question(1e-8)
def modes_free(u):
    """Two masses on a spring: a rigid mode is one in every unit."""
    two = st.System(kinetic=u.M * (x.dot**2 + 2 * y.dot**2) / 2,
                    potential=u.k * (y - x - u.L) ** 2 / 2)  # fmt: skip
    found = st.modes(two, at=dict(zip((x, y), u.at(0.0, 1.0))))
    return [found.frequencies * u.T]


@question(1e-8)
def modes_beside(u):
    """What turns and what a load pushes aside is felt beside an angle of any inertia."""
    X, Y = (c / u.L - u.o for c in (x, y))
    own = st.System(
        kinetic=u.E * (u.T / u.L) ** 2 * (x.dot**2 + y.dot**2 + 3 * X * u.L * y.dot / u.T) / 2,
        potential=u.E * (X**2 + 2 * Y**2) / 2,
    )
    flat = dict(zip((x, y), u.at(0.0, 0.0)))
    lever = st.System(kinetic=u.M * u.L**2 * a.dot**2 / 2, potential=u.E * a**2 / 2,
                      dissipation=0.1 * u.E * u.T * a.dot**2)  # fmt: skip
    turned = st.modes(own + lever, at=flat)
    # A crank whose end is in the plane, told by two rows.
    foot, (s, c) = u.at(0.0)[0], (np.sin(0.5), np.cos(0.5))
    crank = st.System(
        kinetic=u.M * (x.dot**2 + y.dot**2) / 2, potential=-9.81 * u.F * (c * y + s * x),
        constraints=[x - foot - u.L * st.sin(a), y - foot - u.L * st.cos(a)],
    )  # fmt: skip
    hangs = st.modes(crank, at=dict(zip((x, y), u.at(s, c))) | {a: 0.5})
    pushed = own + lever + st.System(loads=[st.Load((Y * u.F, -X * u.F), on=(x, y))])
    with pytest.raises(st.DerivationError, match="not symmetric"):
        st.modes(pushed, at=flat)
    return [
        turned.frequencies * u.T, turned.gyroscopic, turned.damped,
        hangs.freedoms, hangs.frequencies * u.T,
    ]  # fmt: skip


# -- what is decided before anything moves --------------------------------------------------------


@question(1e-9)
def check(u):
    """A rod that is stated twice, beside what turns."""
    X, Y = x / u.L - u.o, y / u.L - u.o
    bob = st.particle(u.M, at=(x, y), gravity=9.81 * u.g) + st.rod(u.at(0.0, 0.0), (x, y), u.L)
    twice = bob + st.System(
        kinetic=u.M * u.L**2 * (2 + st.cos(a)) * a.dot**2 / 2, potential=u.E * st.cos(a),
        constraints=[st.Constraint(X**2 + Y**2 - 1, name="again")],
    )  # fmt: skip
    report = st.check(twice)
    return [
        [[f.name, f.passed] for f in report.findings],
        report["redundant"].value,
    ]


@question(1e-9)
def potential_of(u):
    """In fractions, for it decides exactly."""
    L, o, F = (sp.nsimplify(size, rational=True) for size in (u.L, u.o, u.F))
    X, Y = x / L - o, y / L - o
    slope, whirl = (-F * X * Y, -F * X**2 / 2), (-F * Y, F * X)
    return [st.potential_of(force, on=(x, y)).conservative for force in (slope, whirl)]


@question(1e-9)
def minimum_power_holds(u):
    block = st.System(
        potential=u.k * (x - u.at(0.0)[0]) ** 2,
        friction=[st.Friction(0.3 * u.F, on=x), st.Drag(2 * u.F * u.T / u.L, 1, on=y)],
    )
    scope = st.minimum_power_holds(block)
    return [bool(scope), *scope.reasons]


@question(1e-6)
def fit_limit_surface(u):
    known = st.limit_surface(st.slider(points=FEET * u.L, weights=WEIGHTS * u.F), count=200)
    size, fits = np.array([u.F, u.F, u.E]), [
        st.fit_limit_surface(wrenches=known.wrenches, twists=known.twists, kind=kind)
        for kind in ("ellipsoid", "quartic")
    ]  # fmt: skip
    push = np.array([0.3, -0.1, 0.05])
    return [
        [fit.misfit, fit.value(push * size), fit.wrench(push / size * u.E / u.T) / size]
        for fit in fits
    ]
