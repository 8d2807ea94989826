"""Every question has the same answer in every unit of length, mass and time, and at every origin.

An answer is written in its own units, where it is a list of plain numbers; one in nanometres and
tonnes differs from one in metres and kilogrammes by rounding, or by what the question asks for.
"""

import inspect
from functools import cache

import numpy as np
import pytest

import stationary as st
from stationary import public
from tests.physics.questions import FEET, QUESTIONS, WEIGHTS, a, hung, question, x, y
from tests.restated import Unit

#: Verbs that a question asks under another name, and those that answer in expressions.
ALSO = {
    "sliding": ["minimum_power", "minimum_dissipation", "newton"],
    "continua": ["discretize", "ritz"],
}
WRITTEN = {"equations", "hamilton"}


# -- motion ---------------------------------------------------------------------------------------


def moved(motion, u, *, angles=()):
    names = [c for c in motion.system.coordinates if c not in angles]
    return [
        *(u.of(motion[c]) for c in names),
        *(motion[c.dot] * u.T / u.L for c in names),
        *(motion[c] for c in angles),
    ]


METHODS = {
    "taylor": "auto", "bdf": st.BDF(), "runge": st.Runge(),
}  # fmt: skip


def simulated(method):
    def simulate(u):
        start = dict(zip((x, y), u.at(0.7, -0.3))) | {a: 0.4, x.dot: 0.5 * u.L / u.T}
        motion = st.simulate(hung(u), span=(0, 2 * u.T), start=start, points=5, method=method)
        return [motion.status, *moved(motion, u, angles=[a])]

    def held(u):
        foot = u.at(0.0, 0.0)
        bob = (
            st.particle(1.3 * u.M, at=(x, y), gravity=9.81 * u.g)
            + st.rod(foot, (x, y), u.L)
            + st.spring(20 * u.k, between=(u.at(2.0, 0.0), (x, y)), rest=0.8 * u.L)
        )
        start = dict(zip((x, y), u.at(0.6, -0.8)))
        motion = st.simulate(bob, span=(0, 2 * u.T), start=start, points=5, method=method)
        return [motion.status, *moved(motion, u), np.array(motion.lam)[:, 0] / u.F]

    return simulate, held


for name, method in METHODS.items():
    for kind, function in zip(("simulate", "simulate_held"), simulated(method)):
        QUESTIONS[f"{kind}_{name}"] = function, 1e-7


@question(1e-7)
def simulate_redundant(u):
    """A rod that is stated twice, once as a ratio of squares."""
    X, Y = x / u.L - u.o, y / u.L - u.o
    bob = st.particle(u.M, at=(x, y), gravity=u.g) + st.rod(u.at(0.0, 0.0), (x, y), u.L)
    twice = bob + st.System(constraints=[st.Constraint(X**2 + Y**2 - 1, name="again")])
    start = dict(zip((x, y), u.at(0.6, -0.8)))
    asked = {"span": (0, 3 * u.T), "start": start, "points": 4}
    return [
        moved(st.simulate(twice, method=method, **asked), u) for method in (st.Runge(), st.BDF())
    ]


@question(1e-9)
def simulate_rolling(u):
    """A leaning disc: nothing tells a length but how its rows turn, metres beside radians."""
    X, Y, Z, yaw, lean, spin = st.coordinates("X Y Z yaw lean spin")
    r = 0.3 * u.L
    u1, u2 = lean.dot, spin.dot + st.sin(lean) * yaw.dot
    ahead = st.cos(yaw), st.sin(yaw), 0
    aside = -st.sin(yaw) * st.cos(lean), st.cos(yaw) * st.cos(lean), st.sin(lean)
    rolls = [c.dot - r * (u2 * p - u1 * q) for c, p, q in zip((X, Y, Z), ahead, aside)]
    turns = u1**2 / 4 + u2**2 / 2 + (st.cos(lean) * yaw.dot) ** 2 / 4
    disc = st.System(
        kinetic=u.M * (X.dot**2 + Y.dot**2 + Z.dot**2 + r**2 * turns) / 2,
        potential=u.M * 9.81 * u.g * Z, pfaffian=[st.Pfaffian(tuple(rolls))],
    )  # fmt: skip
    start = dict(zip((X, Y, Z), u.at(0.0, 0.0, 0.3 * np.cos(0.4))))
    start |= {yaw: 1.0, lean: 0.4, yaw.dot: 0.3 / u.T, lean.dot: -0.7 / u.T, spin.dot: 1.1 / u.T}
    motion = st.simulate(disc, span=(0, 0.5 * u.T), start=start, points=4)
    return [str(motion.status), *moved(motion, u, angles=[yaw, lean, spin])]


@question(1e-9)
def simulate_variational(u):
    start = dict(zip((x, y), u.at(0.7, -0.3))) | {a: 0.4}
    method = st.Variational(step=0.02 * u.T)
    motion = st.simulate(hung(u), span=(0, 1 * u.T), start=start, points=5, method=method)
    return moved(motion, u, angles=[a])


@question(1e-8)
def events(u):
    place = u.at(0.0)[0]
    mass = st.System(kinetic=u.M * x.dot**2 / 2, potential=u.k * (x - place) ** 2 / 2)
    turn = st.Event(x - place - 0.5 * u.L, name="half", terminal=True, direction=-1)
    motion = st.simulate(mass, span=(0, 9 * u.T), start={x: place, x.dot: u.L / u.T}, events=[turn])
    return [motion.status, motion.t[-1] / u.T]


@question(1e-8)
def consistent(u):
    rod = st.particle(u.M, at=(x, y)) + st.rod(u.at(0.0, 0.0), (x, y), u.L)
    start = dict(zip((x, y), u.at(0.7, -0.8))) | {x.dot: u.L / u.T}
    state = st.consistent(rod, start)
    return [u.of(state[x]), u.of(state[y]), state[x.dot] * u.T / u.L]


# -- touch ----------------------------------------------------------------------------------------


def bounced(u, **method):
    ball = st.particle(u.M, at=(x, y), gravity=u.g) + st.System(
        contacts=[st.Contact(y - u.at(0.0)[0], restitution=0.6, friction=0.3, slip=x, name="floor")]
    )
    start = dict(zip((x, y), u.at(0.0, 1.0))) | {x.dot: 0.5 * u.L / u.T}
    return st.simulate(ball, span=(0, 4 * u.T), start=start, points=5, **method)


@question(1e-7)
def touch_ball(u):
    motion = bounced(u)
    assert isinstance(motion, st.Touched)
    kinds = [(c.kind, c.t / u.T) for c in motion.changes]
    return [kinds, *moved(motion, u)]


@question(1e-7)
def touch_dry(u):
    place = u.at(0.0)[0]
    block = st.System(
        kinetic=u.M * x.dot**2 / 2, potential=u.k * (x - place) ** 2 / 2,
        friction=[st.Friction(0.12 * u.F, on=x, name="dry")],
    )  # fmt: skip
    motion = st.simulate(block, span=(0, 20 * u.T), start={x: u.at(1.0)[0]}, points=5)
    assert isinstance(motion, st.Touched)
    kinds = [(c.kind, c.t / u.T) for c in motion.changes]
    return [kinds, *moved(motion, u)]


@question(1e-7)
def touch_moreau(u):
    return moved(bounced(u, method=st.Moreau(step=0.02 * u.T)), u)


# -- bodies that turn -----------------------------------------------------------------------------


@question(1e-8)
def turning(u):
    R = st.rotation("R")
    inertia = 0.1 * u.M * u.L**2
    top = st.body(u.M, inertia=(inertia, 1.2 * inertia, 0.6 * inertia), at=(0, 0, 0.5 * u.L),
                  frame=st.Frame().turn(R), gravity=9.81 * u.g)  # fmt: skip
    start = {
        R: np.array([0.9, 0.1, 0.3, 0.2]) / 0.95**0.5,
        R.omega: np.array([0.3, -0.2, 20.0]) / u.T,
    }
    motion = st.simulate(top, span=(0, 0.5 * u.T), start=start, points=4)
    turned = motion[R].as_matrix()
    hang = st.statics(top, start={R: (0.0, 0.8, 0.6, 0.0)})
    return [turned, motion[R.omega] * u.T, hang.stable, hang.energy / u.E]


# -- sliding --------------------------------------------------------------------------------------


def pushed(u, ahead=0.0, friction=0.3):
    finger = st.Pusher(
        point=((0.5 + u.o) * u.L, (st.t / u.T - 0.5 - ahead + u.o) * u.L),
        edge=((-u.L, -0.5 * u.L), (u.L, -0.5 * u.L)),
        friction=friction,
    )
    return st.slider(points=FEET * u.L, weights=WEIGHTS * u.F, pusher=finger)


@question(1e-8)
def sliding(u):
    part = pushed(u)
    px, py, p = part.coordinates
    at = dict(zip((px, py), u.at(0.0, 0.0)))
    out = []
    for verb in (st.minimum_power, st.newton, st.minimum_dissipation):
        try:
            step = verb(part, at=at)
        except st.StationaryError as error:
            out.append(type(error).__name__)
            continue
        v = step.v * u.T / np.array([u.L, u.L, 1.0])
        out.append([v, step.power * u.T / u.E, step.lam["pusher"] / u.F, step.unique, step.modes])
    return out


@question(1e-6)
def quasistatics(u):
    part = pushed(u, ahead=0.009)
    px, py, p = part.coordinates
    slide = st.quasistatics(part, span=(0, 0.2 * u.T), start=dict(zip((px, py), u.at(0, 0))),
                            points=5)  # fmt: skip
    return [u.of(slide[px]), u.of(slide[py]), slide[p], slide.lost / u.E,
            np.array(slide.events[0]) / u.T]  # fmt: skip


@question(1e-8)
def limit_load(u):
    P = st.inputs("P")
    part = st.slider(points=FEET * u.L, weights=WEIGHTS * u.F)
    px, py, p = part.coordinates
    arm = px + 0.3 * u.L * st.cos(p), py + 0.3 * u.L * st.sin(p)
    load = part + st.System(loads=[st.Load((0.3 * P, P), on=arm)])
    found = st.limit_load(load, load=P, at=dict(zip((px, py), u.at(0, 0))))
    return [found.factor / u.F, str(found.status)]


@question(1e-8)
def ladder(u):
    """A block on a slope, held by a load: an interval with two ends."""
    P = st.inputs("P")
    c, s = np.cos(0.7), np.sin(0.7)
    block = st.System(
        potential=9.81 * u.F * (s * x + c * y), loads=[st.Load(P, on=x)],
        contacts=[st.Contact(y - u.at(0.0)[0], friction=0.3, slip=x, name="slope")],
    )  # fmt: skip
    found = st.limit_load(block, load=P, at=dict(zip((x, y), u.at(0, 0))))
    return [np.array(found.interval) / u.F]


@question(1e-8)
def limit_surface(u):
    part = st.slider(points=FEET * u.L, weights=WEIGHTS * u.F)
    surface = st.limit_surface(part)
    w = surface.wrench((0.3 * u.L, -0.2 * u.L, 1.0))
    return [np.array(w) / np.array([u.F, u.F, u.E])]


@question(1e-6)
def pressure_bounds(u):
    card = np.array([(-1, -0.6), (1, -0.6), (1, 0.6), (-1, 0.6)]) * u.L
    finger = st.Pusher(point=(0.4 * u.L, (st.t / u.T - 0.6) * u.L),
                       edge=((-u.L, -0.6 * u.L), (u.L, -0.6 * u.L)))  # fmt: skip
    part = st.slider(outline=card, weight=0.2 * u.F, centre=(0, 0), pusher=finger)
    turn = st.pressure_bounds(part, of=part.coordinates[2].dot)
    power = st.pressure_bounds(part, of="power")
    return [np.array([turn.low, turn.high]) * u.T, np.array([power.low, power.high]) * u.T / u.E]


@question(1e-6)
def fit_pressure(u):
    pushes = []
    for k, angle in enumerate(np.linspace(0, 5, 5)):
        normal = np.array([np.cos(angle), np.sin(angle)])
        point = -1.2 * normal + 0.3 * (-1) ** k * np.array([normal[1], -normal[0]])
        line = np.array([normal[1], -normal[0]])
        finger = st.Pusher(
            point=tuple((point[i] + normal[i] * st.t / u.T) * u.L for i in range(2)),
            edge=tuple(tuple((point + side * line) * u.L) for side in (-3, 3)),
        )
        part = st.slider(points=FEET[:3] * u.L, weights=WEIGHTS[:3] * u.F, pusher=finger)
        v = st.minimum_power(part).v
        pushes.append(st.Push(point=point * u.L, normal=normal, motion=v))
    fit = st.fit_pressure(st.slider(points=FEET[:3] * u.L, weight=0.6 * u.F), pushes=pushes)
    return [str(fit.status), fit.weights / u.F, fit.weights / u.F - WEIGHTS[:3]]


# -- continua -------------------------------------------------------------------------------------


@question(1e-8)
def continua(u):
    X = st.positions("X")
    w = st.field("w", over=(X, 0, u.L))
    beam = st.Continuum(
        kinetic=u.M / u.L * w.dot**2 / 2, potential=u.E * u.L * w.diff(X, 2) ** 2 / 2,
        loads=[st.Load(-0.01 * u.F, on=w.at(u.L))], fixed={w.at(0): 0, w.diff(X).at(0): 0},
    )  # fmt: skip
    mesh = st.discretize(beam, elements=6, degree=3)
    rest, tones = st.statics(mesh), st.modes(mesh, count=3)
    few = st.modes(st.ritz(beam, shapes={w: [X**2, X**3]}))
    motion = st.simulate(mesh, span=(0, 0.1 * u.T), points=3)
    there = np.array([0.3, 1.0]) * u.L
    return [rest.field(w)(there) / u.L, tones.frequencies * u.T, rest.stable,
            motion.field(w)(there, motion.t) / u.L, few.frequencies * u.T]  # fmt: skip


@question(1e-7)
def quasistatic_error(u):
    m, V = st.parameters(m=u.M, V=u.L / u.T)
    wave = st.System(
        kinetic=m * x.dot**2 / 2, friction=[st.Friction(u.F, on=x)],
        constraints=[x - u.L * st.sin(V * st.t / u.L) - u.at(0.0)[0]],
    )  # fmt: skip
    found = st.quasistatic_error(wave, speed=V, travel=1.5 * u.L,
                                 within=(0.1 * u.L / u.T, u.L / u.T), count=20,
                                 start={x: u.at(0.0)[0]})  # fmt: skip
    return [found.speed * u.T / u.L]


# -- many -----------------------------------------------------------------------------------------


@question(1e-7)
def sweep(u):
    """Rests, pushes and motions of as many runs as are asked at once."""
    c, many = st.parameters(c=1.0), np.linspace(0.5, 2.0, 64)
    X = x / u.L - u.o
    well = st.System(kinetic=u.M * x.dot**2 / 2, potential=u.E * (c * X**2 + st.cosh(X) - X))
    rests = st.sweep(
        st.statics, well, over={c: many}, keep={"x": x, "E": "energy"}, start={x: u.at(0.1)[0]}
    )
    motions = st.sweep(
        st.simulate, well, over={c: many}, keep={"x": x, "most": st.most(x), "when": st.first(X)},
        start={x: u.at(-1.0)[0]}, span=(0, 3 * u.T),
    )  # fmt: skip
    part = st.slider(points=FEET * u.L, weights=WEIGHTS * u.F * c, pusher=st.Pusher(
        point=(0.5 * u.L, (st.t / u.T - 0.5) * u.L), edge=((-u.L, -0.5 * u.L), (u.L, -0.5 * u.L)),
    ))  # fmt: skip
    turn = part.coordinates[2].dot
    slides = st.sweep(st.minimum_power, part, over={c: many}, keep={"turn": turn, "power": "power"})
    return [
        rests.engine, motions.engine, slides.engine,
        u.of(rests["x"]), rests["E"] / u.E, u.of(motions["x"]), u.of(motions["most"]),
        motions["when"] / u.T, slides["turn"] * u.T, slides["power"] * u.T / u.E,
    ]  # fmt: skip


# -- the table ------------------------------------------------------------------------------------

UNITS = {
    "nanometres": Unit(L=1e-9, M=1e-12),
    "light": Unit(L=1e9, M=1e30, T=1e4),
    # An origin that is no round number leaves no place exact.
    "fast and far away": Unit(L=2.196037899794424e-4, M=1e6, T=1e-9, o=2499.433835913505),
    "grammes": Unit(L=1e-2, M=1e-3),
    "nanometres far away": Unit(L=3.8582573179672855e-08, o=-112.30260330305003),
    "light-years": Unit(L=9.461e15, M=1.989e30, T=3.156e7),
}


def flat(answer):
    """Return the words and the numbers of an answer, each as one list."""
    words, numbers = [], []
    for part in answer:
        if isinstance(part, (list, tuple)):
            deeper = flat(part)
            words += deeper[0]
            numbers += deeper[1].tolist()
        elif isinstance(part, (str, bool, np.bool_, dict, int)) or part is None:
            words.append(str(part))
        else:
            numbers += np.ravel(np.asarray(part)).tolist()
    return words, np.array(numbers)


@cache
def known(name):
    return flat(QUESTIONS[name][0](Unit()))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", QUESTIONS)
def test_the_answer_is_the_same_in_its_own_units(name, unit):
    words, numbers = known(name)
    function, tolerance = QUESTIONS[name]
    own_words, own = flat(function(UNITS[unit]))
    assert own_words == words
    # Far away a place has fewer digits.
    tolerance += 100 * np.spacing(abs(UNITS[unit].o))
    np.testing.assert_allclose(
        own, numbers, rtol=0, atol=tolerance * np.abs(numbers).max(initial=0.0)
    )


def test_every_verb_is_asked():
    """What takes a system and answers in numbers is in the table, under its own name."""
    rooms = ("stationary.solve", "stationary.derive", "stationary.many.run")
    public_ones = {name: getattr(st, name) for name in public.__all__}
    verbs = {
        name for name, one in public_ones.items()
        if inspect.isfunction(one) and one.__module__.startswith(rooms)
    } - WRITTEN | {"fit_limit_surface"}  # fmt: skip
    asked = {verb for name in QUESTIONS for verb in ALSO.get(name, [name])}
    assert verbs <= asked | {name.split("_")[0] for name in QUESTIONS}, verbs - asked
