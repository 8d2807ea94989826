"""What people state that touches: against closed forms, or integrations written here."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import stationary as st

G = 9.81
x, y, phi = st.coordinates("x y phi")


def test_a_jump_of_the_state_frees_what_rests_and_strikes_what_is_closed():
    floor = st.Contact(y, friction=0.5, slip=x, restitution=0.5, name="floor")
    block = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, potential=G * y, contacts=[floor])
    kicks = [
        st.Event(st.t - 1, action={y.dot: 3.0}, name="up"),
        st.Event(st.t - 2.5, action={x.dot: 1.0, y.dot: -2.0}, name="down"),
    ]
    motion = st.simulate(block, span=(0, 2.6), points=14, events=kicks)
    assert isinstance(motion, st.Touched)
    hits = motion.changes.of("impact", "floor")
    assert motion.changes[0].kind == "lift" and motion.changes[0].t == pytest.approx(1.0)
    assert hits.t[0] == pytest.approx(1 + 6 / G, rel=1e-13)
    # Struck down with 2 it rises with 1, and friction takes half of the impulse from its slip.
    last = hits[-1]
    assert last.t == pytest.approx(2.5) and last.impulse == pytest.approx(3.0)
    assert motion[y.dot][-1] == pytest.approx(1 - 0.1 * G)
    assert motion[x.dot][-1] == pytest.approx(0.0, abs=1e-12)
    assert np.abs(motion.balance).max() < 1e-12


@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_an_action_on_what_has_come_to_rest_leaves_the_other_gaps_as_they_were(scale):
    # After its bounces the ball rests at a gap of rounding, of either sign.
    e, rough, at = 0.5, 0.4, 2.0
    floor = st.Contact(y, friction=rough, slip=x, restitution=e, name="floor")
    ball = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, potential=G * scale * y, contacts=[floor])

    def after(action):
        motion = st.simulate(
            ball, span=(0, 4), start={y: scale}, points=3,
            events=[st.Event(st.t - at, action=action)],
        )  # fmt: skip
        assert isinstance(motion, st.Touched)
        return motion, [c for c in motion.changes if c.t >= at]

    motion, changes = after({x.dot: scale})
    assert [c.kind for c in changes] == ["slip", "stick"]
    assert changes[1].t == pytest.approx(at + 1 / (rough * G), rel=1e-13)
    assert motion[x][-1] == pytest.approx(scale / (2 * rough * G), rel=1e-12)
    # Shifted along the floor it sticks where it is put.
    motion, changes = after({x: 3 * scale})
    assert not changes and motion[x][-1] == 3 * scale
    # Lifted, it falls.
    motion, changes = after({y: scale, x.dot: scale})
    assert [c.kind for c in changes[:2]] == ["lift", "impact"]
    assert changes[1].t == pytest.approx(at + np.sqrt(2 / G), rel=1e-13)
    assert motion[x][-1] == pytest.approx(scale * np.sqrt(2 / G), rel=1e-12)


@pytest.mark.parametrize("e", [0.0, 0.4, 0.8])
def test_walls_that_close_on_a_ball_end_its_motion_when_they_meet(e):
    walls = [
        st.Contact(x, restitution=e, name="left"),
        st.Contact(1 - st.t / 10 - x, restitution=e, name="right"),
    ]
    ball = st.System(kinetic=x.dot**2 / 2, contacts=walls)
    with pytest.raises(st.NoMotion, match="leave no room") as end:
        st.simulate(ball, span=(0, 10.01), start={x.dot: 1.0}, points=11)
    assert end.value.kind == "none"
    assert end.value.solution.t[-1] == pytest.approx(10, rel=1e-9)
    # Each wall gives back e of the rate at which it is met, and the right one adds its own.
    t, v, known = 0.0, 1.0, []
    for _ in range(10):
        t += (1 - t / 10) / (v + 0.1)
        v = 0.1 + e * (v + 0.1)
        known += [t, t + (1 - t / 10) / v]
        t, v = known[-1], e * v
    if e:
        assert end.value.solution.changes.t[:20] == pytest.approx(known, rel=1e-12)


def test_balls_that_hang_side_by_side_are_no_further_inside_than_their_numbers_are_rounded():
    # 0.8 − 0.6 is less than 0.2 in the last digit, which angles of zero do not tell.
    left, right = st.coordinates("left right")
    ends = [(0.6 + st.sin(left), -st.cos(left)), (0.8 + st.sin(right), -st.cos(right))]
    apart = st.norm((ends[1][0] - ends[0][0], ends[1][1] - ends[0][1]))
    pair = st.System(
        kinetic=(left.dot**2 + right.dot**2) / 2, potential=G * (ends[0][1] + ends[1][1]),
        contacts=[st.Contact(apart - 0.2, name="pair")],
    )  # fmt: skip
    motion = st.simulate(pair, span=(0, 1), start={right.dot: 0.1}, points=3)
    assert motion[left][1] == pytest.approx(0, abs=1e-15)
    assert motion[right][1] == pytest.approx(0.1 / np.sqrt(G) * np.sin(np.sqrt(G) / 2), rel=1e-3)


@pytest.mark.parametrize(("count", "turn", "scale"), [(4, 0.3, 1.0), (5, 1.0, 1e-9)])
def test_a_part_thrown_with_spin_comes_to_rest_at_all_its_points_at_once(count, turn, scale):
    R, m, J, F = 0.065 * scale, 20.0, 0.196 * scale**2, 3.924 / count * scale
    angles = 2 * np.pi * np.arange(count) / count
    stone = st.System(
        kinetic=m * (x.dot**2 + y.dot**2) / 2 + J * phi.dot**2 / 2,
        friction=[
            st.Friction(F, on=(x + R * st.cos(phi + a), y + R * st.sin(phi + a)), name=f"foot {k}")
            for k, a in enumerate(angles)
        ],
    )
    start = {x.dot: 2.0 * scale, phi.dot: turn}
    motion = st.simulate(stone, span=(0, 12), start=start, points=25)
    assert isinstance(motion, st.Touched)

    def f(t, z):
        along = np.array([-np.sin(z[2] + angles), np.cos(z[2] + angles)]) * R * z[5]
        v = z[3:5, None] + along
        push = -F * v / np.linalg.norm(v, axis=0)
        return [*z[3:], *push.sum(axis=1) / m, np.sum(push * along) / z[5] / J]

    known = solve_ivp(
        f, (0, 10), [0, 0, 0, 2 * scale, 0, turn], "DOP853", [10], rtol=1e-12, atol=1e-13 * scale
    )
    assert motion.at(10.0)[(x, y)] == pytest.approx(known.y[:2, -1], rel=1e-9)
    assert motion.at(10.0)[phi] == pytest.approx(known.y[2, -1], rel=1e-9)
    # The last that moves stops at once with all others, and nothing is left.
    sticks = motion.changes.of("stick")
    assert len(sticks) == count and sticks.t[-1] - sticks.t[1] == 0
    assert np.abs(motion.v[-1]).max() < 1e-12 * scale
    assert motion.heat[-1] == pytest.approx(motion.kinetic[0], rel=1e-10)


def test_what_stands_still_is_left_when_what_holds_it_changes():
    # A block is held by friction until the slope turns under it beyond its angle.
    slope = 0.1 * st.t
    rough = st.Contact(y, friction=0.4, slip=x, name="slope")
    weight = G * (y * st.cos(slope) - x * st.sin(slope))
    block = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, potential=weight, contacts=[rough])
    motion = st.simulate(block, span=(0, 5), points=6)
    assert isinstance(motion, st.Touched)
    assert motion.changes.of("slip").t == pytest.approx([10 * np.arctan(0.4)], rel=1e-10)
    assert motion[x][3] == 0 and motion[x][-1] > 0


def test_a_body_in_space_slides_on_a_floor_and_stops():
    z, R = st.coordinates("z"), st.rotation("R")
    block = st.body(
        2.0, inertia=(0.1, 0.2, 0.3), frame=st.Frame().move((x, y, z)).turn(R), gravity=G
    )
    floor = st.Contact(z, friction=0.2, slip=(x, y), name="floor")
    start = {x.dot: 3.0, y.dot: 4.0, R.omega: (0.0, 0.0, 1.5)}
    motion = st.simulate(block + st.System(contacts=[floor]), span=(0, 4), start=start, points=9)
    assert isinstance(motion, st.Touched)
    stop = 5 / (0.2 * G)
    assert motion.changes.of("stick", "floor").t == pytest.approx([stop], rel=1e-9)
    assert [motion[x][-1], motion[y][-1]] == pytest.approx([1.5 * stop, 2.0 * stop], rel=1e-9)
    assert motion.lam["floor"] == pytest.approx(2 * G, rel=1e-9)
    assert motion.residual["cone"] < 1e-9 and motion.residual["penetration"] < 1e-12
    assert motion[R][-1].magnitude() == pytest.approx(2 * np.pi - 6.0, rel=1e-8)


@pytest.mark.parametrize("width", [1e-12, 1e-9, 1e-6, 1e-3])
def test_a_ball_in_a_slot_of_any_width_strikes_when_it_must(width):
    # Speeds fall by e at every wall, and the way between them is the slot.
    x, e, v, end = st.coordinates("x"), 0.5, 0.3, 3.0
    walls = [st.Contact(x, restitution=e, name="low"),
             st.Contact(width - x, restitution=e, name="high")]  # fmt: skip
    ball = st.System(kinetic=x.dot**2 / 2, contacts=walls)
    motion = st.simulate(ball, span=(0, end), start={x: width / 2, x.dot: v}, points=11)
    assert isinstance(motion, st.Touched)
    times = np.cumsum([width / (2 * v), *(width / (v * e ** np.arange(1, 60)))])
    told = [c.t for c in motion.changes]
    assert told == pytest.approx(times[times < end], rel=1e-9)
    assert motion[x.dot][-1] == pytest.approx(v * (-e) ** len(told), rel=1e-9)


@pytest.mark.parametrize("width, e", [(0.0, 0.5), (0.0, 0.99), (1e-12, 0.3), (1e-9, 0.9)])
def test_a_heavy_ball_in_a_slot_comes_to_rest_at_its_end(width, e):
    x, v = st.coordinates("x"), 0.3
    walls = [st.Contact(x, restitution=e, name="low"),
             st.Contact(width - x, restitution=e, name="high")]  # fmt: skip
    ball = st.System(kinetic=x.dot**2 / 2, potential=x, contacts=walls)
    motion = st.simulate(ball, span=(0, 3), start={x: width / 2, x.dot: v}, points=11)
    assert isinstance(motion, st.Touched)
    assert motion.status == "done" and motion[x.dot][-1] == 0
    assert abs(motion[x][-1]) <= 1e-12 * width
    assert motion.struck_off[-1] == pytest.approx(v**2 / 2 + width / 2, rel=1e-12)
    assert motion.changes[-1].t < 0.01


@pytest.mark.parametrize("ratio", [1e-6, 1e-9, 1e-12])
def test_a_light_sheet_under_a_block_brakes_it_or_its_digits_are_said_to_be_missing(ratio):
    # The block slides on a sheet that the floor holds: a = mu g.
    a, b = st.coordinates("a b")
    kinetic = (ratio * (x.dot**2 + a.dot**2) + y.dot**2 + b.dot**2) / 2
    sheet = st.System(
        kinetic=kinetic, potential=G * (y + ratio * x),
        contacts=[st.Contact(x, friction=0.6, slip=a, name="floor"),
                  st.Contact(y - x, friction=0.5, slip=b - a, name="top")],
    )  # fmt: skip
    motion = st.simulate(sheet, span=(0, 1), start={b.dot: 0.5}, points=5, throw=False)
    if motion.status == "none":
        assert "too few digits" in motion.status.message and ratio < 1e-10
    else:
        assert motion[b][-1] == pytest.approx(0.5**2 / G, rel=1e-9)


def test_a_spinning_fin_strikes_at_its_first_turn_however_little_it_reaches_below_the_floor():
    # Many turns are one step: the first of them is the one that counts.
    random, missed = np.random.default_rng(5), []
    height, length = st.parameters("h l")
    floor = st.Contact(height - length * st.cos(phi), restitution=0.5, name="floor")
    fin = st.System(kinetic=phi.dot**2 / 2, contacts=[floor])
    for _ in range(60):
        rate, long = random.uniform(20, 400), random.uniform(0.1, 1)
        high = long * (1 - 10 ** random.uniform(-9, -2))
        start = 1 + random.uniform(0, 6, 2)[1] * 2 / 3
        motion = st.simulate(fin, span=(0, 1), start={phi: start, phi.dot: rate}, points=5,
                             params={height: high, length: long})  # fmt: skip
        assert isinstance(motion, st.Touched)
        exact = (2 * np.pi - np.arccos(high / long) - start) / rate
        missed += [exact] if abs(motion.changes[0].t - exact) > 1e-9 else []
    assert not missed


@pytest.mark.parametrize("long", [1.0, 1e-6])
def test_a_block_behind_a_spring_whose_end_moves_sticks_and_slips_with_the_period_known(long):
    # What the moving end does to the spring of a block that rests is work, too.
    F, strong, k, rate = 1.0 * long, 1.5 * long, 4.0, 0.1 * long
    block = st.System(
        kinetic=x.dot**2 / 2, potential=k * (x - rate * st.t) ** 2 / 2,
        friction=[st.Friction(F, on=x, static=strong, name="table")],
    )  # fmt: skip
    motion = st.simulate(block, span=(0, 20), points=5)
    w, more = np.sqrt(k), strong - F
    period = 2 * more / (k * rate) + 2 / w * (np.pi - np.arctan(more * w / (k * rate)))
    slips = motion.changes.of("slip", "table").t
    assert slips == pytest.approx(strong / (k * rate) + period * np.arange(4), rel=1e-11)
    assert np.abs(motion.balance).max() < 1e-12 * motion.work[-1]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("points", [3, 1001])
@pytest.mark.parametrize(("long", "heavy"), [(1.0, 1.0), (1e-6, 1e3), (1e4, 1e-2)])
def test_friction_in_a_plane_beside_a_rough_floor_slips_where_each_is_overcome(long, heavy, points):
    # Both hold y: how they share its force is open, and decides neither when x slips nor how.
    k, across, F, mu, rate = 9.0 * heavy, 3.5 * heavy, 0.5 * heavy * long, 0.05, 0.6 * long
    z = st.coordinates("z")
    floor = st.Contact(z, friction=mu, slip=y, name="floor")
    part = st.System(
        kinetic=heavy * (x.dot**2 + y.dot**2 + z.dot**2) / 2,
        potential=k * (x - rate * st.t) ** 2 / 2 + across * (y - x) ** 2 / 2 + heavy * G * z * long,
        friction=[st.Friction(F, on=(x, y), name="plane")], contacts=[floor],
    )  # fmt: skip
    motion = st.simulate(part, span=(0, 3), points=points)
    begins, w = F / (k * rate), np.sqrt((k + across) / heavy)

    def pull(after):
        x_then = k * rate / heavy / w**2 * (after - np.sin(w * after) / w)
        return across * x_then - mu * heavy * G * long

    assert motion.changes.of("slip", "plane").t[0] == pytest.approx(begins, rel=1e-11)
    then = begins + brentq(pull, 0.01, 1.0, xtol=1e-15)
    assert motion.changes.of("slip", "floor").t[0] == pytest.approx(then, rel=1e-10)
    assert np.abs(motion.balance).max() < 1e-12 * motion.work[-1]


@pytest.mark.parametrize("long", [1.0, 1e-6])
def test_the_first_stretch_of_a_slip_is_as_accurate_as_the_rest(long):
    # A rough floor holds y: the direction of the slip is known at once, and its speed is not.
    F, stiff, rate = 0.5 * long, 9.0, 0.6 * long
    z = st.coordinates("z")
    limit, bumps = F + (x - long) ** 2 / long, long**2 * st.cos(2 * x / long) / 2
    part = st.System(
        kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2,
        potential=stiff * (x - rate * st.t) ** 2 / 2 + bumps + G * z * long,
        friction=[st.Friction(limit, on=(x, y), name="plane")],
        contacts=[st.Contact(z, friction=5.0, slip=y, name="floor")],
    )  # fmt: skip
    motion = st.simulate(part, span=(0, 1), points=11)
    begins = 1.5 / (stiff * 0.6)
    assert motion.changes[0].t == pytest.approx(begins, rel=1e-11)

    def f(t, s):
        pull = 9 * (0.6 * t - s[0]) + np.sin(2 * s[0])
        return [s[1], pull - 0.5 - (s[0] - 1) ** 2]

    times = motion.t[motion.t > begins]
    own = solve_ivp(f, (begins, 1), [0, 0], "DOP853", times, rtol=1e-13, atol=1e-15).y[0]
    assert motion[x][motion.t > begins] / long == pytest.approx(own, abs=1e-11)
    assert np.abs(motion.balance).max() < 1e-12 * motion.work[-1]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("part", [0.0, 0.6, 0.95])
@pytest.mark.parametrize(("long", "heavy"), [(1.0, 1.0), (1e-6, 1e3)])
def test_what_two_frictions_hold_together_slips_where_both_are_full(long, heavy, part):
    # The plane's friction holds a load along y; what that leaves helps a rough floor along x.
    F, mu, k, rate = 0.5 * heavy * long, 0.05, 9.0 * heavy, 0.6 * long
    z = st.coordinates("z")
    system = st.System(
        kinetic=heavy * (x.dot**2 + y.dot**2 + z.dot**2) / 2,
        potential=k * (x - rate * st.t) ** 2 / 2 + heavy * G * z * long, work=part * F * y,
        friction=[st.Friction(F, on=(x, y), name="plane")],
        contacts=[st.Contact(z, friction=mu, slip=x, name="floor")],
    )  # fmt: skip
    motion = st.simulate(system, span=(0, 1), points=21)
    holds = mu * heavy * G * long + F * np.sqrt(1 - part**2)
    slips = motion.changes.of("slip")
    assert {c.name for c in slips[:2]} == {"plane", "floor"}
    assert slips.t[:2] == pytest.approx(holds / (k * rate), rel=1e-10)
    assert np.abs(motion.balance).max() < 1e-12 * motion.work[-1]
