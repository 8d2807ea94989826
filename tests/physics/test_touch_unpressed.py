"""Contacts that touch and do not press: what follows does not hang on rounding."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import stationary as st
from stationary.result.touched import Touched
from stationary.solve.gate.changes import changes
from stationary.solve.gate.finding import worst
from stationary.solve.touch.record import Record

# Numbers that a metre, a kilogram and a second have, and where the origin is, in metres.
UNITS = [(1.0, 1.0, 1.0, 0.0), (1e9, 1e3, 1.0, 0.3), (1e-16, 1e-3, 3e3, 30.0)]


def _row(count, e, units, off):
    """Balls in a row on a smooth floor, which differ from touching by rounding."""
    length, mass, second, origin = units
    wide, kinetic, potential, contacts, start = 0.2 * length, 0, 0, [], {}
    xs = [st.coordinates(f"x{i}") for i in range(count)]
    for i, x in enumerate(xs):
        y = st.coordinates(f"y{i}")
        kinetic += mass * (x.dot**2 + y.dot**2) / 2
        potential += mass * 9.8 * length / second**2 * y
        contacts.append(st.Contact(y, name=f"floor{i}"))
        start[x] = origin * length + wide * i * (1 + 2e-16 * off[i])
    for i, (x, other) in enumerate(zip(xs, xs[1:])):
        contacts.append(st.Contact(other - x - wide, restitution=e, name=f"c{i}"))
    return st.System(kinetic=kinetic, potential=potential, contacts=contacts), xs, start


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(6))
def test_a_row_of_touching_balls_is_struck_at_once(seed):
    """All rates that were zero stay zero, the others turn: momentum gives the velocities."""
    rng, units = np.random.default_rng(seed), UNITS[seed % 3]
    count, e = int(rng.integers(3, 6)), float(rng.choice([0.0, 0.3, 0.5, 1.0]))
    hit, (length, _, second, _) = int(rng.integers(1, count)), units
    system, xs, start = _row(count, e, units, rng.uniform(-1, 1, count))
    speed = 2.0 * length / second
    for x in xs[:hit]:
        start |= {x: start[x] - 0.5 * length, x.dot: speed}
    motion = st.simulate(system, span=(0, second), start=start, points=3)
    slow = speed * (hit - e * (count - hit)) / count
    expected = np.where(np.arange(count) < hit, slow, slow + e * speed)
    assert motion.status == "done"
    np.testing.assert_allclose([motion[x.dot][-1] for x in xs], expected, atol=1e-11 * speed)
    struck = [c for c in motion.changes if c.kind == "impact"]
    assert sorted(c.name for c in struck) == [f"c{i}" for i in range(count - 1)]
    np.testing.assert_allclose([c.t for c in struck], 0.25 * second, rtol=1e-11)
    # Nothing else happens: what strikes without rebound stays.
    assert [(c.kind, c.name) for c in motion.changes if c.kind != "impact"] == [
        ("touch", f"c{hit - 1}")
    ] * (e == 0)


@pytest.mark.parametrize("units", UNITS[::2])
def test_a_cradle_swings_together_and_keeps_its_energy(units):
    """Pendulums that hang side by side have no force between them; half a swing is between hits."""
    length, mass, second, _ = units
    gravity, count = 9.8 * length / second**2, 4
    angles = [st.coordinates(f"a{i}") for i in range(count)]
    at = [
        (0.2 * length * i + length * st.sin(a), -length * st.cos(a)) for i, a in enumerate(angles)
    ]
    gaps = [st.sqrt((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2) for a, b in zip(at, at[1:])]
    system = st.System(
        kinetic=sum(mass * (length * a.dot) ** 2 / 2 for a in angles),
        potential=sum(mass * gravity * y for _, y in at),
        contacts=[
            st.Contact(g - 0.2 * length, restitution=1.0, name=f"c{i}") for i, g in enumerate(gaps)
        ],
    )
    start = {a: -0.3 for a in angles[:2]}
    motion = st.simulate(system, span=(0, 6 * second), start=start, points=5)
    # Two and two change places as two single balls do, at the bottom.
    quarter = np.pi / 2 / np.sqrt(9.8) / _mean(1.0, np.cos(0.15))
    assert motion.status == "done"
    assert {c.kind for c in motion.changes} == {"impact"}
    times = np.array([c.t for c in motion.changes]).reshape(-1, 3) / second
    expected = quarter * np.arange(1, 2 * len(times), 2)
    np.testing.assert_allclose(times, np.tile(expected[:, None], 3), rtol=1e-9)
    np.testing.assert_allclose(motion.energy, motion.energy[0], rtol=1e-11)


def _mean(a, b):
    """The arithmetic-geometric mean."""
    while abs(a - b) > 1e-16:
        a, b = (a + b) / 2, np.sqrt(a * b)
    return a


def _block_at_wall(length, mass, gravity, origin):
    x, y = st.coordinates("x y")
    contacts = [
        st.Contact(y, friction=0.4, slip=x, name="floor"),
        st.Contact(origin - x, friction=0.5, slip=y, name="wall"),
    ]
    kinetic = mass * (x.dot**2 + y.dot**2) / 2
    return st.System(kinetic=kinetic, potential=mass * gravity * y, contacts=contacts), {x: origin}


def _balls_in_groove(length, mass, gravity, origin):
    kinetic, potential, contacts, start, balls, r = 0, 0, [], {}, [], 0.1 * length
    for i in range(3):
        x, y, z = st.coordinates(f"x{i} y{i} z{i}")
        balls.append((x, y, z))
        kinetic += mass * (x.dot**2 + y.dot**2 + z.dot**2) / 2
        potential += mass * gravity * z
        for side, sign in (("l", 1), ("r", -1)):
            contacts.append(st.Contact((z + sign * y) / np.sqrt(2) - r, name=f"{side}{i}"))
        start |= {x: origin + 2 * r * i, z: r * np.sqrt(2)}
    for i, (a, b) in enumerate(zip(balls, balls[1:])):
        apart = st.sqrt(sum((v - u) ** 2 for u, v in zip(a, b)))
        contacts.append(st.Contact(apart - 2 * r, restitution=0.5, name=f"c{i}"))
    return st.System(kinetic=kinetic, potential=potential, contacts=contacts), start


def _boxes_on_slope(length, mass, gravity, origin):
    kinetic, potential, contacts, start, before = 0, 0, [], {}, None
    for i in range(3):
        x, y = st.coordinates(f"x{i} y{i}")
        kinetic += mass * (x.dot**2 + y.dot**2) / 2
        potential += mass * gravity * (np.cos(0.2) * y - np.sin(0.2) * x)
        contacts.append(st.Contact(y, friction=0.3, slip=x, name=f"floor{i}"))
        if before is not None:
            gap = x - before[0] - 0.3 * length
            contacts.append(st.Contact(gap, friction=0.2, slip=y - before[1], name=f"side{i}"))
        start, before = start | {x: origin + 0.3 * length * i}, (x, y)
    return st.System(kinetic=kinetic, potential=potential, contacts=contacts), start


def _plate_on_feet(length, mass, gravity, origin):
    x, y, a = st.coordinates("x y a")
    contacts = []
    for i, u in enumerate(np.linspace(-1, 1, 4) * length):
        place = y + u * st.sin(a) - 0.5 * length * st.cos(a)
        slip = x + u * st.cos(a) + 0.5 * length * st.sin(a)
        contacts.append(st.Contact(place, friction=0.5, slip=slip, name=f"foot{i}"))
    kinetic = mass * (x.dot**2 + y.dot**2) / 2 + mass * length**2 * a.dot**2 / 6
    system = st.System(kinetic=kinetic, potential=mass * gravity * y, contacts=contacts)
    return system, {x: origin, y: 0.5 * length}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("units", UNITS[1:])
@pytest.mark.parametrize(
    "build", [_block_at_wall, _balls_in_groove, _boxes_on_slope, _plate_on_feet]
)
def test_what_touches_without_pressing_stands_still(build, units):
    length, mass, second, origin = units
    gravity = 9.8 * length / second**2
    system, start = build(length, mass, gravity, origin * length)
    motion = st.simulate(system, span=(0, second), start=start, points=3)
    assert motion.status == "done" and not motion.changes
    assert np.abs(motion.q - motion.q[0]).max() <= 1e-13 * (1 + origin) * length


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-6])
def test_impacts_without_loss_between_closing_walls_end(scale):
    """Every impact adds twice the speed of a wall: 1/n of the room is left after n of them."""
    x, closes = st.coordinates("x"), 0.1 * scale
    walls = [
        st.Contact(x - closes * st.t, restitution=1.0, name="left"),
        st.Contact(scale - closes * st.t - x, restitution=1.0, name="right"),
    ]
    system = st.System(kinetic=x.dot**2 / 2, contacts=walls)
    with pytest.raises(st.NoMotion, match="left, right leave no room at t = 5") as error:
        st.simulate(system, span=(0, 20), start={x: scale / 2, x.dot: scale}, points=3)
    motion = error.value.solution
    assert error.value.kind == "none" and 5 * 0.99 < motion.t[-1] < 5
    t, room, speed, times = 0.0, scale / 2, scale, []
    for _ in range(len(motion.changes)):
        t += room / (speed + closes)
        room, speed = scale - 2 * closes * t, speed + 2 * closes
        times.append(t)
    np.testing.assert_allclose([c.t for c in motion.changes], times, rtol=1e-11)


def test_walls_that_close_and_open_again_let_impacts_go_on():
    """What a mirror that moves to and fro leaves of the speed: impacts that follow its place."""
    x = st.coordinates("x")
    wall = 0.7 + 0.3 * st.cos(st.t / 4)
    system = st.System(
        kinetic=x.dot**2 / 2,
        contacts=[
            st.Contact(x, restitution=1.0, name="left"),
            st.Contact(wall - x, restitution=1.0, name="right"),
        ],
    )
    motion = st.simulate(system, span=(0, 25), start={x: 0.5, x.dot: 5.0}, points=3)
    assert motion.status == "done"
    # Slow walls leave speed times width as it was, but for what a flight is of the wall's time.
    np.testing.assert_allclose(np.abs(motion[x.dot][-1]), 5.0, rtol=0.02)


@pytest.mark.parametrize(
    "place, way, claim",
    [(-1e-6, 0.0, "contact stays outside"), (0.0, 1.0, "contact only pushes"),
     (0.0, -0.2, "friction stays within its limit")],
)  # fmt: skip
def test_what_happens_between_output_times_is_measured(place, way, claim):
    """A block pulled up or aside while it is held at the floor, or inside it, is found."""
    x, y, up, aside = *st.coordinates("x y"), *st.parameters(up=0.0, aside=0.0)
    floor = st.Contact(y, friction=0.1, slip=x, name="floor")
    system = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2, potential=(1 - up) * y - aside * x, contacts=[floor]
    )  # fmt: skip
    motion = st.simulate(system, span=(0, 1), start={y: 0.1}, points=2)
    assert isinstance(motion, Touched) and motion.status == "done" and len(motion.modes) == 2
    given = {"up": 2.0 * (way > 0), "aside": max(-way, 0.0)}
    pulled = replace(motion, params=np.array([given[p.name] for p in system.parameters]))
    state = np.zeros((1, 6))
    state[0, 1] = place
    record = Record([np.array([0.99])], [state], [motion.modes[-1]])
    found, seen = changes(pulled, record, 0.0)
    assert claim in str(worst(found)) and "'floor' near t = " in str(worst(found))
    assert worst(changes(motion, Record(), 0.0)[0]) is None
    np.testing.assert_allclose(seen, [-place, 0.1 * abs(way > 0 or way < 0), -place], atol=1e-12)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("length", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize("rtol", [1e-6, 1e-10])
def test_what_steps_by_a_tolerance_may_be_off_is_no_penetration(length, rtol):
    a, b, x = st.coordinates("a b x")
    since = (st.t - 0.2 + abs(st.t - 0.2)) / 2
    fall, g = 0.2 * 9.81 * length, 9.81 * length
    table = st.Contact(a + fall * since**3, friction=0.3, slip=x, name="table")
    stack = st.System(
        kinetic=(a.dot**2 + 3 * b.dot**2) / 2 + 2 * x.dot**2,
        potential=g * (a + 3 * b) + 20 * x**2,
        contacts=[table, st.Contact(b - a, name="pair")],
    )
    asked: Any = {"rtol": rtol, "atol": rtol / 100, "points": 6}
    motion = st.simulate(stack, span=(0, 1), start={x: 0.3 * length}, **asked)
    assert motion.status == "done"
    ridden = -fall * np.maximum(motion.t - 0.2, 0) ** 3
    assert motion[b] == pytest.approx(ridden, rel=0, abs=20 * rtol * length)


@pytest.mark.parametrize("length, time", [(1.0, 1.0), (1e9, 1e3), (1e-15, 1e-8)])
def test_what_an_input_lifts_leaves_when_it_is_as_strong_as_the_weight(length, time):
    y, lift = st.coordinates("y"), st.inputs("lift")
    g = 9.81 * length / time**2
    floor = [st.Contact(y, name="floor")]
    block = st.System(
        kinetic=y.dot**2 / 2, potential=g * y, loads=[st.Load(lift, on=y)], contacts=floor
    )
    ramp = {lift: 2 * g * st.t / time}
    motion = st.simulate(block, span=(0, 3 * time), inputs=ramp, points=7)
    since = np.maximum(motion.t / time - 0.5, 0)
    assert motion[y] / length == pytest.approx(9.81 * since**3 / 3, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("length, mass, late", [(1, 1, 0), (1e-9, 1, 1), (1e9, 1e3, 0), (1, 1, 30)])
def test_a_foot_on_a_spring_leaves_the_floor_at_its_time_and_comes_back(length, mass, late):
    # Its force falls through zero as that of the spring reaches its weight: last digits, both.
    y, foot = st.coordinates("y foot")
    m, mf, k, g, room, fall = 1.0, 0.1, 400.0, 9.81, 0.5, 0.3
    spring = k * mass * (y - foot - room * length) ** 2 / 2
    hopper = st.System(
        kinetic=mass * (m * y.dot**2 + mf * foot.dot**2) / 2,
        potential=mass * g * length * (m * y + mf * foot) + spring,
        contacts=[st.Contact(foot, name="floor")],
    )
    start = {y: (room + fall) * length, foot: fall * length}
    motion = st.simulate(hopper, span=(late, late + 1), start=start, points=3)
    struck, omega = np.sqrt(2 * fall / g), np.sqrt(k / m)
    low, fast = m * g / k, g * struck / omega
    swing, high = np.hypot(low, fast), (m + mf) * g / k
    stays = (2 * np.pi - np.arccos(high / swing) - np.arctan2(fast, low)) / omega
    lift = motion.changes.of("lift", "floor")[0].t - late
    assert lift == pytest.approx(struck + stays, rel=1e-9)
    # In flight both swing about their centre, which falls.
    up = omega * np.sqrt(swing**2 - high**2)
    turn, part = np.sqrt(k * (m + mf) / m / mf), m / (m + mf)

    def gap(t: float) -> float:
        long = mf * g / k * np.cos(turn * t) + up / turn * np.sin(turn * t)
        return part * (mf * g / k + up * t - long) - g * t**2 / 2

    again = motion.changes.of("impact", "floor")[1].t - late - lift
    assert abs(gap(again)) < 1e-8
    assert min(gap(t) for t in np.linspace(1e-3, again - 1e-3, 500)) > 0
