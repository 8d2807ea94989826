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
