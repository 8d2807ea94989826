"""Where a motion ends or takes a turn: limit points, locks, lift-off, buckling; closed forms."""

import numpy as np
import pytest
from scipy.optimize import brentq

import stationary as st
from tests.checks import assert_says

x, y, phi = st.coordinates("x y phi")
c, s = st.cos(phi), st.sin(phi)
FOOT, TOP = (x - s / 2, y - c / 2), (x + s / 2, y + c / 2)


def ended(system, **asked):
    with pytest.raises(st.NoMotion) as caught:
        st.quasistatics(system, **asked)
    return caught.value, caught.value.solution


@pytest.mark.one_in(2)
@pytest.mark.parametrize("mu", [0.0, 0.3])
def test_a_rod_pushed_upright_against_a_wall_topples_there(mu):
    # The foot is below the top at t = 0.7 and goes on: nothing keeps the rod from falling back.
    rod = st.System(
        potential=1.0 * y,
        contacts=[
            st.Contact(FOOT[1], friction=mu, slip=FOOT[0], name="floor"),
            st.Contact(1 - TOP[0], friction=mu, slip=TOP[1], name="wall"),
        ],
        constraints=[st.Constraint(FOOT[0] - 0.3 - st.t, name="push")],
    )
    start = {x: 0.85, y: np.cos(np.arcsin(0.3)) / 2, phi: np.arcsin(0.3)}
    error, slide = ended(rod, span=(0.4, 0.9), start=start, points=51)
    assert error.kind == "accelerates" and "nothing brings it back" in str(error)
    assert slide.t[-1] == pytest.approx(0.7, abs=1e-6)
    np.testing.assert_allclose(np.sin(slide[phi]), 0.7 - slide.t, rtol=0, atol=1e-9)
    # With the foot held it turns about it: the centre moves half as fast as the top.
    assert error.direction[x.dot] == pytest.approx(error.direction[phi.dot] / 2, rel=1e-6)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("line", [True, False])
@pytest.mark.parametrize(("mu", "method"), [(0.1, "auto"), (0.4, "increments")])
def test_a_rod_raised_by_its_top_stands_up_and_leaves_the_floor(mu, line, method):
    # Its velocities grow as 1/sin(phi) until it is upright, at t = 0.5; then it hangs.
    held = [st.Constraint(TOP[1] - 0.5 - st.t, name="raise")]
    held += [st.Constraint(TOP[0], name="line")] if line else []
    floor = st.Contact(FOOT[1], friction=mu, slip=FOOT[0], name="floor")
    rod = st.System(potential=1.0 * y, contacts=[floor], constraints=held)
    start = {x: -np.sin(np.arccos(0.5)) / 2, y: 0.25, phi: np.arccos(0.5)}
    slide = st.quasistatics(rod, span=(0, 0.7), start=start, method=method, points=51)
    up = slide.t < 0.499
    np.testing.assert_allclose(np.cos(slide[phi][up]), 0.5 + slide.t[up], rtol=0, atol=1e-9)
    hangs = slide.t > 0.501
    np.testing.assert_allclose(slide[phi][hangs], 0, atol=1e-9)
    np.testing.assert_allclose(slide.lam["raise"][hangs], 1, atol=1e-9)
    np.testing.assert_allclose(slide.lam["floor"][hangs], 0, atol=1e-9)
    if not line:
        # Nothing pushes sideways: the foot stands still and carries half of the weight.
        np.testing.assert_allclose(slide.lam["floor"][up], 0.5, atol=1e-9)
        np.testing.assert_allclose((slide[x] - np.sin(slide[phi]) / 2)[up], -np.sqrt(3) / 2)


@pytest.mark.parametrize("limit", [0.0, 0.1])
@pytest.mark.parametrize("cartesian", [True, False])
def test_a_pendulum_pulled_aside_follows_the_force_in_any_coordinates(limit, cartesian):
    # t cos(a) - sin(a) = limit, with a from the vertical.
    across, down, held = (x, y, [x**2 + y**2 - 1]) if cartesian else (s, -c, [])
    friction = [st.Friction(limit, on=(across, down))] if limit else []
    pendulum = st.System(
        potential=1.0 * down, work=st.t * across, friction=friction, constraints=held
    )
    start = {x: 0, y: -1} if cartesian else {phi: 0}
    slide = st.quasistatics(pendulum, span=(0, 2), start=start, points=41)
    angle = np.arctan2(slide[x], -slide[y]) if cartesian else slide[phi]
    found = np.where(
        slide.t > limit, np.arctan(slide.t) - np.arcsin(limit / np.hypot(1, slide.t)), 0
    )
    np.testing.assert_allclose(angle, found, atol=2e-4)


def test_a_rod_on_a_hinge_with_friction_falls_when_it_leans_too_far():
    rod = st.System(potential=st.cos(phi + st.t), friction=[st.Friction(0.1, on=phi)])
    error, slide = ended(rod, span=(0, 0.5), start={phi: 0})
    assert error.kind == "accelerates"
    assert slide.t[-1] == pytest.approx(np.arcsin(0.1), abs=1e-8)


def test_a_shallow_truss_snaps_at_its_limit_load():
    # Bars of length l = sqrt(1 + y²): the force is greatest where l³ is their length at rest.
    rest = np.sqrt(1.25)
    truss = st.System(
        potential=50 * (st.sqrt(1 + y**2) - rest) ** 2,
        work=-st.t * y,
        friction=[st.Friction(0.05, on=y)],
    )
    error, slide = ended(truss, span=(0, 6), start={y: 0.5}, points=21)
    low = np.sqrt(rest ** (2 / 3) - 1)
    # Down, as the load pulls it.
    assert error.kind == "accelerates" and error.direction[y.dot] == -1
    assert error.names == ("the work",)
    assert slide.t[-1] == pytest.approx(100 * low * (rest / np.hypot(1, low) - 1) + 0.05, rel=1e-8)
    assert slide[y][-1] == pytest.approx(low, abs=1e-3)


@pytest.mark.parametrize("step", [None, 0.01])
def test_a_column_that_buckles_follows_one_of_its_branches(step):
    column = st.System(potential=phi**2 / 2 + st.t * c)
    slide = st.quasistatics(column, span=(0, 1.5), start={phi: 0}, step=step, points=61)
    straight = slide.t < 0.99
    np.testing.assert_allclose(slide[phi][straight], 0, atol=1e-9)
    for t, found in zip(slide.t[~straight][2:], slide[phi][~straight][2:]):
        assert abs(found) == pytest.approx(
            brentq(lambda a, t=t: a - t * np.sin(a), 0.05, 3), rel=1e-6
        )


def test_friction_keeps_a_column_straight():
    column = st.System(potential=phi**2 / 2 + st.t * c, friction=[st.Friction(0.01, on=phi)])
    slide = st.quasistatics(column, span=(0, 1.5), start={phi: 0}, points=31)
    np.testing.assert_allclose(slide[phi], 0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["constraint", "contact"])
def test_a_bead_pushed_up_a_hill_locks_where_slope_and_friction_make_a_right_angle(kind):
    # Pushed level, it needs tan(slope + friction's angle): the slope x is 1/mu at the lock.
    mu, steep = 0.5, st.sqrt(1 + x**2)
    arc = (x * steep + st.log(x + steep)) / 2 + (y - x**2 / 2) * x / steep
    hill = st.Contact((y - x**2 / 2) / steep, friction=mu, slip=arc, name="hill")
    if kind == "contact":
        bead = st.System(potential=1.0 * y, contacts=[hill, st.Contact(x - st.t, name="hand")])
    else:
        hand = st.Constraint(x - st.t, name="hand")
        bead = st.System(potential=1.0 * y, contacts=[hill], constraints=[hand])
    asked = {"span": (1.2, 2.4), "start": {x: 1.2, y: 0.72}, "points": 26}
    error, slide = ended(bead, **asked)
    assert error.kind == "jammed" and set(error.names) == {"hill", "hand"}
    assert "friction locks it" in str(error) and "friction locks it" in slide.status.message
    assert slide.t[-1] == pytest.approx(1 / mu, abs=0.06)
    angle = np.arctan(slide[x]) + np.arctan(mu)
    np.testing.assert_allclose(slide.lam["hand"], np.tan(angle), rtol=1e-6)
    # Increments find the same motion, and the same end.
    other = st.quasistatics(bead, **asked, method="increments", throw=False)
    assert other.status == "jammed"
    assert other.t[-1] == pytest.approx(1 / mu, abs=1e-6)


def test_a_pawl_locks_against_a_belt_one_way_only():
    # Held by its contact at angle a from the vertical, it locks where tan(a) < mu.
    for way, word in ((1, "jammed"), (-1, "done")):
        belt = st.Contact(c - np.cos(0.2), friction=0.5, slip=s - way * st.t, name="belt")
        pawl = st.System(potential=1.0 * c, contacts=[belt])
        slide = st.quasistatics(pawl, span=(0, 1), start={phi: 0.2}, points=11, throw=False)
        assert slide.status == word
    # sin a = N (sin a + mu cos a)
    np.testing.assert_allclose(slide.lam["belt"], 1 / (1 + 0.5 / np.tan(0.2)), rtol=1e-9)


def test_a_start_that_cannot_move_comes_back():
    pull = st.System(
        potential=1.0 * y, work=st.t * x, constraints=[st.Constraint(x**2 + y**2 - 1, name="rod")]
    )
    slide = st.quasistatics(pull, span=(0, 2), start={x: 0, y: -1}, method="events", throw=False)
    assert slide.status == "accelerates" and len(slide.t) == 1 and slide[y][-1] == -1


# -- springs ---------------------------------------------------------------------------------------


def test_a_block_behind_a_spring_starts_and_stops_at_its_times():
    k, limit, swing = 2.0, 1.0, 2.0
    hand = swing * st.sin(st.t)
    block = st.System(potential=k * (x - hand) ** 2 / 2, friction=[st.Friction(limit, on=x)])
    slide = st.quasistatics(block, span=(0, 2.4 * np.pi), start={x: 0})
    back = np.arcsin(1 - 2 * limit / k / swing)
    times = [
        np.arcsin(limit / k / swing), np.pi / 2, np.pi - back, 3 * np.pi / 2, 2 * np.pi - back
    ]  # fmt: skip
    np.testing.assert_allclose(slide.events[0], times, atol=3e-7)
    # What the hand gave is in the spring or was taken by friction.
    assert slide.residual["energy"] < 1e-6
    # It stops with the spring at its limit, and turns twice.
    far = swing - limit / k
    lost = limit * (far + 2 * far + (slide[x][-1] + far))
    assert slide.lost[-1] == pytest.approx(lost, rel=1e-9)


def test_a_block_on_a_belt_rides_until_its_spring_is_strong_enough():
    block = st.System(potential=x**2, friction=[st.Friction(1.0, on=x - st.t, name="belt")])
    slide = st.quasistatics(block, span=(0, 2), start={x: 0}, points=41)
    np.testing.assert_allclose(slide.events[0], [0.5], atol=1e-7)
    np.testing.assert_allclose(slide[x], np.minimum(slide.t, 0.5), atol=1e-8)
    assert slide.work[-1] == pytest.approx(1.75, abs=1e-7)


@pytest.mark.parametrize("dry", [0.0, 0.5])
def test_a_spring_in_oil_relaxes_as_its_closed_form_says(dry):
    oil = [st.Drag(4.0, 1, on=x)] + ([st.Friction(dry, on=x)] if dry else [])
    block = st.System(potential=x**2, friction=oil)
    slide = st.quasistatics(block, span=(0, 6), start={x: 1}, points=31)
    held = dry / 2
    np.testing.assert_allclose(slide[x], held + (1 - held) * np.exp(-slide.t / 2), atol=1e-8)


def test_a_damped_spring_loses_what_it_held():
    # Two coordinates share one damper: only their distance relaxes, the rest sticks.
    a, b = st.coordinates("a b")
    pair = st.System(
        potential=(a - b) ** 2,
        dissipation=2 * (a.dot - b.dot) ** 2,
        friction=[st.Friction(0.1, on=a, name="rough")],
    )
    slide = st.quasistatics(pair, span=(0, 4), start={a: 1, b: 0}, points=21)
    # −2(a − b) = 4 d(a − b)/dt, with no force left over for b alone.
    np.testing.assert_allclose(slide[a] - slide[b], np.exp(-slide.t / 2), atol=1e-3)
    np.testing.assert_allclose(slide[a], 1, atol=1e-9)
    assert slide.residual["energy"] < 1e-3


def test_nothing_to_balance_is_refused():
    with pytest.raises(st.StatementError, match="no friction and no constraint"):
        st.quasistatics(st.System(work=x), span=(0, 1), start={x: 0})


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 7])
def test_springs_friction_and_a_rough_wall_lose_what_they_are_given(seed):
    rng = np.random.default_rng(seed)
    r, s = st.coordinates("r", shape=2), st.coordinates("s", shape=2)
    swing, turn = rng.uniform(0.5, 1.5), rng.uniform(0, 2 * np.pi)
    hand = [swing * f * st.sin(3 * st.t) for f in (np.cos(turn), np.sin(turn))]
    k, limits = rng.uniform(1, 5, 2), rng.uniform(0.1, 0.8, 2)
    pair = st.System(
        potential=k[0] * ((r[0] - hand[0]) ** 2 + (r[1] - hand[1]) ** 2) / 2
        + k[1] * ((s[0] - r[0] - 1) ** 2 + (s[1] - r[1]) ** 2) / 2,
        friction=[
            st.Friction(limits[0], on=(r[0], r[1])),
            st.Friction(limits[1], on=s[0]),
            st.Friction(limits[1], on=s[1]),
        ],
        contacts=[st.Contact(0.2 - r[0], friction=0.4, slip=r[1], name="wall")],
    )
    start = {r: [0.0, 0.0], s: [1.0, 0.0]}
    slide = st.quasistatics(pair, span=(0, 2), start=start, points=21)
    fine = st.quasistatics(pair, span=(0, 2), start=start, points=21, step=0.004)
    for place in (r, s):
        np.testing.assert_allclose(slide[place], fine[place], atol=3e-3)
    assert slide.residual["energy"] < 1e-3 * slide.lost[-1]
    assert np.all(slide.lam["wall"] >= -1e-12) and slide[r][:, 0].max() <= 0.2 + 1e-12
    # Every change of what slides is one of a few, and they come one after the other.
    assert 2 <= len(slide.events[0]) <= 20 and np.all(np.diff(slide.events[0]) > 0)


# -- limits that change along the way --------------------------------------------------------------


def behind_a_spring(stiffness, limit):
    return st.System(
        potential=stiffness * (st.t - x) ** 2 / 2, friction=[st.Friction(limit, on=x, name="floor")]
    )


@pytest.mark.parametrize("slope", [-0.5, 0.5, 3.0])
def test_a_limit_that_changes_along_the_way_adds_to_the_spring(slope):
    # t - x = 2 + slope x, from t = 2 on.
    slide = st.quasistatics(
        behind_a_spring(1.0, 2 + slope * x), span=(0, 2.7), start={x: 0}, points=28
    )
    np.testing.assert_allclose(slide[x], np.maximum(0, (slide.t - 2) / (1 + slope)), atol=1e-9)
    np.testing.assert_allclose(slide.events[0], [2.0], atol=1e-7)
    way = 0.7 / (1 + slope)
    assert slide.lost[-1] == pytest.approx(2 * way + slope * way**2 / 2, rel=1e-6)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("step", [None, 0.05])
@pytest.mark.parametrize("floor", [2 - 1.5 * x, 0.5 + 1.5 * st.exp(-2 * x)])
def test_a_limit_that_falls_faster_than_the_spring_lets_go(floor, step):
    # Its slope at x = 0 is below minus the spring's: the first slip has no end nearby.
    error, slide = ended(
        behind_a_spring(1.0, floor), span=(0, 3), start={x: 0}, points=31, step=step
    )
    assert error.kind == "accelerates" and error.direction[x.dot] == 1
    assert slide.t[-1] == pytest.approx(2, abs=1e-6)
    np.testing.assert_allclose(slide[x], 0, atol=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("width, points", [(5, 31), (10, 201), (20, 31)])
def test_a_limit_that_falls_along_the_way_snaps_however_often_it_is_told(width, points):
    # Behind a spring of 2 the place of t = x + limit / 2 turns back where the limit falls by 2.
    limit = 1 - 0.9 * (1 + st.tanh(width * (x - 1))) / 2
    block = st.System(potential=(x - st.t) ** 2, friction=[st.Friction(limit, on=x)])
    error, slide = ended(block, span=(0, 3), start={x: 0}, points=points)
    turns = 1 - np.arctanh(np.sqrt(1 - 2 / (0.45 * width))) / width
    assert error.kind == "accelerates" and error.direction[x.dot] == 1
    assert slide.t[-1] == pytest.approx(turns + float(limit.subs(x, turns)) / 2, abs=1e-5)
    assert slide[x][-1] == pytest.approx(turns, abs=1e-3)


def test_a_coefficient_that_falls_along_the_way_lets_go():
    def pressed(stiffness):
        floor = st.Contact(y, friction=0.2 + 0.3 * st.exp(-2 * x), slip=x, name="floor")
        return st.System(potential=stiffness * (st.t - x) ** 2 / 2 + 4.0 * y, contacts=[floor])

    # 4 · 0.3 · 2 = 2.4 is what the limit of 2 falls by along the way.
    error, slide = ended(pressed(2.0), span=(0, 2), start={})
    assert error.kind == "accelerates" and slide.t[-1] == pytest.approx(1, abs=1e-6)
    slide = st.quasistatics(pressed(3.0), span=(0, 2), start={}, points=11)
    late = slide.t > 0.7
    rubs = 4 * (0.2 + 0.3 * np.exp(-2 * slide[x][late]))
    np.testing.assert_allclose(3 * (slide.t - slide[x])[late], rubs, rtol=1e-8)


# -- turning round ---------------------------------------------------------------------------------


def test_a_block_behind_a_spring_stops_between_the_kept_times():
    block = st.System(potential=(2 * st.sin(st.t) - x) ** 2, friction=[st.Friction(1.0, on=x)])
    slide = st.quasistatics(block, span=(0, 5), start={x: 0}, points=38)
    back = np.arcsin(1 - 1 / 2)
    times = [np.arcsin(0.25), np.pi / 2, np.pi - back, 3 * np.pi / 2]
    np.testing.assert_allclose(slide.events[0], times, atol=3e-6)


def test_increments_find_where_a_driven_slider_turns():
    crank = st.System(
        friction=[st.Friction(1.0, on=x)], constraints=[st.Constraint(x - st.cos(st.t), name="rod")]
    )
    slide = st.quasistatics(
        crank, span=(0.5, 7), start={x: np.cos(0.5)}, points=31, method="increments"
    )
    np.testing.assert_allclose(slide.events[0], [np.pi, 2 * np.pi], atol=1e-5)
    exact = np.cos(0.5) + 1 + 2 + 1 - np.cos(7)
    assert slide.lost[-1] == pytest.approx(exact, abs=1e-8)


def test_a_start_inside_the_floor_is_refused():
    pressed = st.System(
        potential=(y + 1) ** 2 / 2,
        contacts=[st.Contact(y, friction=0.3, slip=x, name="floor")],
        constraints=[st.Constraint(x - st.t, name="hand")],
    )
    with pytest.raises(st.StatementError, match="'floor' is penetrated"):
        st.quasistatics(pressed, span=(0, 1), start={y: -0.1})
    slide = st.quasistatics(pressed, span=(0, 1), start={}, points=3)
    np.testing.assert_allclose(slide.lam["hand"], 0.3, rtol=1e-9)


def test_events_are_refused_where_forces_depend_on_the_place():
    column = st.System(potential=phi**2 / 2 + st.t * c)
    assert_says(
        st.StatementError,
        "method='events' cannot follow this system.\n"
        "  Found forces that depend on the place, and no drag that decides every velocity: "
        "then how forces change decides, and not their power.\n"
        "  Leave method out, or pass method='increments'.",
        lambda: st.quasistatics(column, span=(0, 1), start={phi: 0}, method="events"),
    )


def test_friction_on_what_no_coordinate_moves_is_refused():
    for on in (st.t, 2 * st.t + 1):
        idle = st.System(friction=[st.Friction(1.0, on=on, name="clock")], constraints=[x - st.t])
        with pytest.raises(st.StatementError, match="'clock' acts on something that does not move"):
            st.minimum_power(idle)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("length, time", [(1.0, 1.0), (1e-9, 1e-6), (1e9, 1e6)])
@pytest.mark.parametrize("seed", [*range(6), 27, 290])
def test_what_is_pulled_beyond_its_reach_jams_where_it_is_stretched(seed, length, time):
    # Two links between a nail and a hand that goes straight away, in angles and in places; which
    # way that is, how long they are, and with what factors it is written, is left to chance.
    chance = np.random.default_rng(seed)
    first, second, ends = chance.uniform([0.4, 0.4, 0.3], [1, 1, 0.9]) * [length, length, time]
    bend, way = chance.uniform([0.4, 0.0], [2.2, 2 * np.pi])
    begun = np.hypot(first + second * np.cos(bend), second * np.sin(bend))
    far = begun + (first + second - begun) / ends * st.t
    hand = [far * float(f(way)) for f in (np.cos, np.sin)]
    angle = way - np.arctan2(second * np.sin(bend), first + second * np.cos(bend))
    a, b = st.coordinates("a b")
    arm = [first * f(a) + second * f(b) for f in (st.cos, st.sin)]
    factors = 10.0 ** chance.integers(-20, 20, 2)
    in_angles = st.System(
        friction=[st.Friction(length, on=a), st.Friction(0.7 * length, on=b)],
        constraints=[
            st.Constraint(float(c) * (at - to), name=name)
            for c, at, to, name in zip(factors, arm, hand, ("aside", "up"))
        ],
        coordinates=[a, b],
    )
    in_places = st.System(
        friction=[st.Friction(1.0, on=(x, y))],
        constraints=[
            st.Constraint(float(factors[0]) * (st.norm((x, y)) - first), name="inner"),
            st.Constraint(st.norm((x - hand[0], y - hand[1])) - second, name="outer"),
        ],
        coordinates=[x, y],
    )
    joint = {x: first * np.cos(angle), y: first * np.sin(angle)}
    for system, start in ((in_angles, {a: angle, b: angle + bend}), (in_places, joint)):
        with pytest.raises(st.NoMotion) as told:
            st.quasistatics(system, span=(0, time), start=start, points=3)
        assert told.value.kind == "jammed"
        assert told.value.solution.t[-1] == pytest.approx(ends, rel=1e-6)
        assert set(told.value.names) <= {"aside", "up", "inner", "outer"} and told.value.names
