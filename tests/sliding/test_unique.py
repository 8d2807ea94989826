"""Whether a motion is the only one: yes, no, or nobody knows, and never yes without a reason."""

import numpy as np
import pytest

import stationary as st

x, y, z, phi = st.coordinates("x y z phi")
SQUARE = [(-1, -0.5), (1, -0.5), (1, 0.5), (-1, 0.5)]


def card(side, **more):
    """A card that one finger pushes at its lower edge, and sideways."""
    finger = st.Pusher(
        point=(0.5 + side * st.t, st.t - 0.5), edge=((-1, -0.5), (1, -0.5)), friction=0.2
    )
    return st.slider(outline=SQUARE, count=60, pusher=finger) + st.System(**more)


@pytest.mark.parametrize(
    "side, mode", [(0.0, "slides back"), (0.3, "sticks"), (3.0, "slides forward")]
)
def test_one_finger_moves_a_card_in_one_way_only(side, mode):
    # Friction bounds a convex body of forces, which a finger's force leaves once.
    step = st.minimum_power(card(side))
    assert step.modes["pusher"] == mode
    assert step.unique is True and "not examined" not in step.status.message
    assert st.newton(card(side)).unique is True


def test_with_a_guess_others_are_not_looked_for_and_that_is_said():
    system = card(0.0)
    step = st.minimum_power(system)
    again = st.minimum_power(system, guess=step)
    np.testing.assert_allclose(again.v, step.v, atol=1e-10)
    assert again.unique is None
    assert "whether other motions would fit as well was not examined" in again.status.message
    assert "unique       not examined" in repr(again)
    # Without friction at the contact power has one minimum, whatever the search starts from.
    smooth = st.Pusher(point=(0.5, st.t - 0.5), edge=((-1, -0.5), (1, -0.5)))
    part = st.slider(outline=SQUARE, count=60, pusher=smooth)
    assert st.minimum_power(part, guess=st.minimum_power(part)).unique is True


def test_under_a_load_besides_a_finger_nothing_is_claimed():
    # A line of forces that starts outside of a convex body may cross its surface twice.
    step = st.minimum_power(card(1.0, work=0.3 * x - 0.2 * y))
    assert step.status == "moves" and step.unique is None


def test_slip_in_a_plane_is_not_examined():
    block = st.System(
        potential=10 * y + 1.0 * z,
        contacts=[st.Contact(y, friction=0.3, slip=(x, z), name="floor")],
        constraints=[st.Constraint(x - 4 * st.t, name="fence")],
        coordinates=[x, y, z],
    )
    for find in (st.minimum_power, st.newton):
        assert find(block).unique is None


@pytest.mark.parametrize("count, known", [(3, True), (4, None)])
def test_more_than_64_modes_are_not_examined(count, known):
    # Beads side by side on a floor, pushed by one hand: each alone has one way to go.
    places = [st.coordinates(f"x{i} y{i}") for i in range(count)]
    beads = st.System(
        potential=sum(Y for _, Y in places),
        contacts=[st.Contact(Y, friction=0.3, slip=X, name=f"floor {i}")
                  for i, (X, Y) in enumerate(places)],
        constraints=[X - st.t for X, _ in places],
    )  # fmt: skip
    step = st.minimum_power(beads)
    assert step.status == "moves" and step.unique is known


# -- at rest ---------------------------------------------------------------------------------------


def test_a_block_on_a_floor_rests_and_cannot_do_otherwise():
    floor = st.Contact(y, friction=0.4, slip=x, name="floor")
    step = st.minimum_power(st.System(potential=10 * y + 2 * x, contacts=[floor]))
    assert step.status == "sticks" and step.unique is True


def test_a_block_between_two_walls_rests_or_slides_as_it_is_squeezed():
    # Any squeeze N is in balance; at N = W / 2μ it slides as well, and Coulomb's law gives no N.
    mu, weight = 0.4, 10.0
    walls = [st.Contact(s * x, friction=mu, slip=y, name=f"wall {s}") for s in (-1, 1)]
    step = st.minimum_power(st.System(potential=weight * y, contacts=walls))
    assert step.status == "sticks" and step.unique is False
    np.testing.assert_allclose(step.others, [[0, -1]], atol=1e-9)
    assert "Coulomb's law does not decide" in step.status.message
    # With a wall that presses with a known force it is decided, either way.
    for press, word in (
        (weight / mu / 2 * 1.01, "sticks"),
        (weight / mu / 2 * 0.99, "accelerates"),
    ):
        X = st.coordinates("X")
        moving = st.Contact(X - x, friction=mu, slip=y, name="moving")
        held = st.System(potential=weight * y, work=-press * X, contacts=[walls[1], moving])
        step = st.minimum_power(held, throw=False)
        assert step.status == word
        assert step.unique is (True if word == "sticks" else None)


def test_what_nothing_resists_is_free_at_rest_as_well():
    rub = st.Friction(1.0, on=(x, y))
    floor = st.Contact(y, friction=0.4, slip=x, name="floor")
    for system in (
        st.System(work=x / 2, friction=[rub], coordinates=[x, y, phi]),
        st.System(potential=10 * y, contacts=[floor], coordinates=[x, y, phi]),
    ):
        step = st.minimum_power(system)
        assert step.status == "sticks" and step.unique is False
        np.testing.assert_allclose(np.abs(step.free), [[0, 0, 1]], atol=1e-12)
        assert not np.any(step.v)
    assert st.minimum_power(st.System(work=x / 2, friction=[rub])).unique is True


def test_at_the_very_limit_of_friction_it_may_rest_or_slide():
    step = st.minimum_power(st.System(work=2 * x, friction=[st.Friction(2.0, on=(x, y))]))
    assert step.status == "sticks" and step.unique is False
    np.testing.assert_allclose(np.abs(step.free), [[1, 0]], atol=1e-6)


def test_where_there_is_no_motion_nothing_is_said_of_others():
    for system in (
        st.System(work=3 * x, friction=[st.Friction(2.0, on=x)]),
        st.System(friction=[st.Friction(1.0, on=x)], constraints=[x - st.t, x - 2 * st.t]),
    ):
        for find in (st.minimum_power, st.newton):
            assert find(system, throw=False).unique is None


def test_loads_that_feed_a_motion_leave_it_open_and_magnetic_ones_do_not():
    def charge(load):
        return st.System(
            loads=[st.Load(load, on=(x, y), name="field")],
            friction=[st.Drag(1.0, 1, on=(x, y), name="air")],
        )

    # Across the velocity, and linear in it: the balance is that of one regular matrix.
    assert st.newton(charge((1 + 2 * y.dot, -2 * x.dot))).unique is True
    # v = 3 tanh v has three solutions.
    step = st.newton(charge((3 * st.tanh(x.dot), 0)), at={x.dot: 2.0})
    assert step[x.dot] == pytest.approx(3 * np.tanh(step[x.dot]), rel=1e-9)
    assert step.unique is None


@pytest.mark.parametrize("long", [1.0, 1e-6])
@pytest.mark.parametrize(("degrees", "open_"), [(-100.0, True), (-60.0, False)])
def test_a_slide_says_where_coulombs_law_does_not_decide(long, degrees, open_):
    # A finger that recedes and rubs may drag the part along, or leave it where it is.
    feet, finger = long * np.array([(-0.7, 0.4), (0.1, -0.4)]), long * np.array([1.3, -1.2])
    way = long * np.array([np.sin(np.radians(degrees)), np.cos(np.radians(degrees))])
    edge = ((-2 * long, finger[1]), (2 * long, finger[1]))
    pusher = st.Pusher(point=tuple(finger + way * st.t), edge=edge, friction=3.0)
    part = st.slider(points=feet, weights=[0.6, 0.9], pusher=pusher)
    slide = st.quasistatics(part, span=(0, 0.01), points=3)
    assert ("does not decide" in slide.status.message) is open_


@pytest.mark.parametrize("length", [1e-9, 1.0, 100.0, 1e9])
def test_of_many_motions_the_smallest_is_the_same_in_every_unit(length):
    # A rod that rubs only at the end at which a hand pulls: it may go along or turn, or half each.
    x, y, phi = st.coordinates("x y phi")
    end = (x + length * st.cos(phi), y + length * st.sin(phi))
    rod = st.System(friction=[st.Friction(1.0, on=end)], constraints=[end[0] - length * st.t])
    for verb in (st.minimum_power, st.newton):
        step = verb(rod, at={phi: np.pi / 2})
        assert step.unique is False
        moves = (step[x.dot] / length, step[y.dot] / length, step[phi.dot])
        assert moves == pytest.approx((0.5, 0.0, -0.5), abs=1e-9)


def rows(*, rubs=(), fixed=(), gaps=(), load=None, length=1.0, force=1.0, time=1.0):
    """State a system by rows: (what, rate, limit), (what, rate), (what, rate, μ, slip)."""
    q = st.coordinates("q1 q2 q3 q4")[: len((*rubs, *fixed, *gaps)[0][0])]

    def row(what, rate):
        return sum(a * x for a, x in zip(what, q)) + rate * length / time * st.t

    return q, st.System(
        loads=[] if load is None else [st.Load(tuple(force * np.array(load)), on=q)],
        friction=[st.Friction(force * limit, on=row(*rub)) for *rub, limit in rubs],
        constraints=[row(*held) for held in fixed],
        contacts=[
            st.Contact(row(*gap), friction=mu, slip=row(slip, 0) if mu else None)
            for *gap, mu, slip in gaps
        ],
        coordinates=q,
    )


UNITS = [(1, 1, 1), (1e9, 1e-9, 1), (1e-9, 1e5, 1e-3)]


def solutions(length, time, **rates):
    """Return the velocities with these rates, mode by mode."""
    return [np.linalg.solve(*map(np.array, zip(*held))) * length / time for held in rates.values()]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("units", UNITS)
def test_every_motion_is_told_where_a_contact_slides_beside_what_is_driven(units):
    # A belt takes it along and off the contact, or along the contact, or leaves it where it is.
    spring, belt, gap = (-0.2, 0.4), (1.14, -1.08), (-0.08, -0.86)
    length, force, time = units
    q, system = rows(
        rubs=[(spring, 0, 1.07), (belt, 1.64, 2.43)], gaps=[(gap, 0, 1.22, (-1.1, -0.29))],
        length=length, force=force, time=time,
    )  # fmt: skip
    moves = solutions(
        length, time, leaves=[(spring, 0), (belt, -1.64)], stays=[(gap, 0), (spring, 0)],
        slides=[(gap, 0), (belt, -1.64)],
    )  # fmt: skip
    for verb in (st.minimum_power, st.newton):
        step = verb(system)
        told = np.array([step.v, *step.others])
        assert step.unique is False and len(told) == 3
        for v in moves:
            assert np.abs(told - v).max(axis=1).min() < 1e-9 * length / time


@pytest.mark.one_in(3)
@pytest.mark.parametrize("units", UNITS)
def test_a_motion_is_found_beside_one_that_runs_away(units):
    rub, slip = (2.23, 0, 0, -0.56), (0.69, 0.62, -0.06, 1.71)
    fixed = [((1.62, -1.88, -1.82, -1.86), 0.77), ((1.69, 1.28, -0.26, 0.32), 0)]
    floor, far = (-0.25, -0.29, 0.74, 0.16), (0.55, 0.19, -1.0, 0.03)
    length, force, time = units
    _, system = rows(
        rubs=[(rub, 0.86, 1.65)], fixed=fixed, load=(4.31, 1.28, -6.8, 1.01),
        gaps=[(floor, -0.24, 0.31, slip), (far, -0.98, 1.15, (-1.36, 0.33, -1.55, -0.88))],
        length=length, force=force, time=time,
    )  # fmt: skip
    # One contact slides, the other opens, and what rubs is taken along.
    held = [(rub, -0.86), (floor, 0.24), *((row, -rate) for row, rate in fixed)]
    (v,) = solutions(length, time, mode=held)
    for verb in (st.minimum_power, st.newton):
        assert verb(system).v == pytest.approx(v, rel=1e-8)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("units", UNITS)
def test_contacts_that_could_lock_may_open_as_well(units):
    length, force, time = units
    fixed = [((0.76, 0.68, -0.27), 0.9), ((-0.2, -0.24, 1.43), 0)]
    gaps = [((-0.75, -0.02, -1.68), 0, 0.22, (0.01, 0.13, -0.64)),
            ((0.38, 0.72, 0.02), -0.21, 0.8, (-0.53, 0.83, 1.99))]  # fmt: skip
    _, system = rows(fixed=fixed, gaps=gaps, length=length, force=force, time=time)
    for verb in (st.minimum_power, st.newton):
        v = verb(system).v * time / length
        assert [np.dot(row, v) for row, _ in fixed] == pytest.approx([-0.9, 0], abs=1e-9)
        assert all(np.dot(row, v) + rate >= -1e-9 for row, rate, *_ in gaps)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize(
    ("rubs", "fixed", "load"),
    [
        # What rubs rests, and what does not rub is moved.
        ([((-0.99, 0, 0), 0, 2.1), ((0, 0, -0.41), 0, 0.82)], ((1.16, 1.46, 0.12), 2.26),
         (-0.96, -1.48, -0.4)),
        # A constraint carries nothing but the rounding of what rubs.
        ([((0, 3.1), 1.21, 0.17), ((0, -0.38), -0.93, 1.46)], ((-0.83, 1.87), -0.43), None),
        ([((1, 0), 0, 2.0), ((-0.95, 0), 0, 0.55), ((1, 0), -0.72, 2.47)], ((0.12, 1.35), 0), None),
    ],
)  # fmt: skip
def test_rounding_beside_what_rubs_elsewhere_refutes_nothing(rubs, fixed, load, units):
    length, force, time = units
    _, system = rows(rubs=rubs, fixed=[fixed], load=load, length=length, force=force, time=time)
    for verb in (st.minimum_power, st.newton):
        step = verb(system)
        rate = np.dot(fixed[0], step.v) * time / length + fixed[1]
        assert step.status in ("moves", "sticks") and abs(rate) < 1e-12


@pytest.mark.parametrize(("gaps", "unique"), [(((0.4, 0.3), (-0.8, 0.1)), True),
                                              (((0.4, 0.3), (0.8, 0.1)), False)])  # fmt: skip
def test_what_contacts_hold_between_them_is_not_free(gaps, unique):
    _, system = rows(fixed=[((0, -2.0), 0)], gaps=[(gap, 0, 0, None) for gap in gaps])
    for verb in (st.minimum_power, st.newton):
        assert verb(system).unique is unique


@pytest.mark.one_in(3)
@pytest.mark.parametrize("friction", [0.0, 1.1])
@pytest.mark.parametrize("units", [*UNITS, (1e-6, 1e3, 1e4)])
def test_a_part_turns_about_its_only_foot_no_faster_than_walls_push(units, friction):
    length, force, time = units
    foot, places = np.array([0.12, -0.24]), np.array([(0.51, 0.66), (-0.04, 0.39)])
    normals = np.array([(np.cos(a), np.sin(a)) for a in (3.24, 3.49)])
    ways = np.array([(1.61, 0.68), (0.26, -1.74)])
    part = st.slider(points=[tuple(length * foot)], weights=[force])
    x, y, phi = part.coordinates
    gaps = []
    for place, (u, v), way in zip(length * places, normals.tolist(), length * ways / time):
        point = (
            x + place[0] * st.cos(phi) - place[1] * st.sin(phi) - place[0] - way[0] * st.t,
            y + place[0] * st.sin(phi) + place[1] * st.cos(phi) - place[1] - way[1] * st.t,
        )
        slip = u * point[1] - v * point[0] if friction else None
        gaps.append(st.Contact(u * point[0] + v * point[1], friction=friction, slip=slip))
    # Turning by one radian takes the points of the part across their arms.
    arms = (places - foot) @ np.array([(0, 1), (-1, 0)])
    turn = np.max(np.sum(normals * ways, axis=1) / np.sum(normals * arms, axis=1))
    for verb in (st.minimum_power, st.newton):
        step = verb(part + st.System(contacts=gaps))
        assert step[phi.dot] * time == pytest.approx(turn, rel=1e-8)
        assert step.unique is False and not len(step.others)


@pytest.mark.parametrize("units", UNITS)
def test_rounding_in_a_rough_contact_that_opens_refutes_nothing(units):
    rail, wall = (0.88, 0.6), (1.26, 1.66)
    length, force, time = units
    gaps = [((-0.02, -0.54), 0, 1.45, (-0.01, -0.3)), (wall, 0.93, 0, None)]
    _, system = rows(
        fixed=[(rail, 0.17)], gaps=gaps, load=(-0.22, -0.19),
        length=length, force=force, time=time,
    )  # fmt: skip
    (v,) = solutions(length, time, mode=[(rail, -0.17), (wall, -0.93)])
    for verb in (st.minimum_power, st.newton):
        assert verb(system).v == pytest.approx(v, rel=1e-9)
