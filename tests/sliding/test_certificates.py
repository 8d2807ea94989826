"""What a step proves: kinks, uniqueness, margins of rest, jams and run-aways by name."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import stationary as st

x, y, phi = st.coordinates("x y phi")


def dipod(heavy=0.8, reach=1.5):
    """Two support points at 0 and 1 on a line, pushed across it at `reach` with speed one."""
    part = st.slider(points=[(0, 0), (1, 0)], weights=[heavy, 1 - heavy])
    X, Y, turn = part.coordinates
    hand = (X + reach * st.cos(turn), Y + reach * st.sin(turn))
    return part, part + st.System(
        constraints=[
            st.Constraint(hand[0] - reach, name="keep"),
            st.Constraint(hand[1] - st.t, name="push"),
        ]
    )


# -- kinks -----------------------------------------------------------------------------------------


def test_the_heavier_of_two_points_stays_at_rest():
    # QS-TRIPOD: the centre of rotation sits on the heavy support, ω = 2/3 exactly.
    part, pushed = dipod()
    step = st.minimum_power(pushed)
    X, Y, turn = part.coordinates
    assert step[turn.dot] == pytest.approx(2 / 3, rel=1e-12)
    assert np.hypot(step[X.dot], step[Y.dot]) < 1e-12
    assert step.centre(part) == pytest.approx((0, 0), abs=1e-11)
    # The point at rest carries less than its limit: what balances moments about the hand.
    held = np.linalg.norm(step.forces["slider"][0])
    assert held == pytest.approx(0.5 * 0.2 / 1.5, rel=1e-9)
    assert step.unique


@pytest.mark.parametrize("weight", [0.05, 0.2, 0.3, 0.49, 0.51, 0.7, 0.95])
def test_a_guess_at_a_kink_is_left_where_the_point_should_move(weight):
    """Start from the answer in which one support point is at rest, where the power has no slope."""
    w = st.parameters(w=0.8)
    friction = [
        st.Friction(w, on=(x, y), name="here"),
        st.Friction(1 - w, on=(x + st.cos(phi), y + st.sin(phi)), name="there"),
    ]
    hand = [x + 1.5 * st.cos(phi) - 1.5, y + 1.5 * st.sin(phi) - st.t]
    bar = st.System(friction=friction, constraints=hand, coordinates=[x, y, phi])
    stuck = st.minimum_power(bar, params={w: 0.8})
    assert np.hypot(stuck[x.dot], stuck[y.dot]) < 1e-12
    step = st.minimum_power(bar, params={w: weight}, guess=stuck)
    # One unknown is left, ω: the power is w |1 − 1.5 ω| + (1 − w) |1 − 0.5 ω|.
    grid = np.array([0.0, 2 / 3, 2.0])
    exact = grid[np.argmin(weight * abs(1 - 1.5 * grid) + (1 - weight) * abs(1 - grid / 2))]
    assert step[phi.dot] == pytest.approx(exact, abs=1e-9)
    assert step.gap < 1e-9
    cold = st.minimum_power(bar, params={w: weight})
    np.testing.assert_allclose(step.v, cold.v, atol=1e-10)


def test_a_support_point_at_rest_in_the_guess_moves_where_it_should():
    # Pushed off its line, the same bar has a smooth minimum: compare with a search over ω.
    w, reach = 0.55, (1.5, 0.4)
    friction = [
        st.Friction(w, on=(x, y), name="here"),
        st.Friction(1 - w, on=(x + st.cos(phi), y + st.sin(phi)), name="there"),
    ]
    a, b = st.parameters(a=1.5, b=0.0)
    hand = [x + a * st.cos(phi) - b * st.sin(phi) - a, y + a * st.sin(phi) + b * st.cos(phi) - b
            - st.t]  # fmt: skip
    bar = st.System(friction=friction, constraints=hand, coordinates=[x, y, phi])
    stuck = st.minimum_power(bar)
    assert np.hypot(stuck[x.dot], stuck[y.dot]) < 1e-12
    step = st.minimum_power(bar, params={a: reach[0], b: reach[1]}, guess=stuck)

    def taken(omega):
        # Velocity of a point at (p, 0): hand's (0, 1) plus ω × its distance from the hand.
        speed = [np.hypot(omega * reach[1], 1 + omega * (p - reach[0])) for p in (0, 1)]
        return w * speed[0] + (1 - w) * speed[1]

    best = minimize_scalar(taken, bounds=(0, 2), method="bounded", options={"xatol": 1e-12})
    assert step[phi.dot] == pytest.approx(best.x, abs=1e-6)
    assert step.power == pytest.approx(best.fun, rel=1e-11)
    assert np.hypot(step[x.dot], step[y.dot]) > 1e-3


# -- uniqueness ------------------------------------------------------------------------------------


def test_a_rod_pushed_at_its_centre_may_turn_at_no_cost_and_the_smallest_motion_is_taken():
    # QS-ROD-END, c = 0: any centre of rotation beyond the ends costs the same.
    rod = st.slider(points=[(i / 99 - 0.5, 0) for i in range(100)], weights=0.01)
    X, Y, turn = rod.coordinates
    step = st.minimum_power(rod + st.System(constraints=[X, Y - st.t]))
    assert not step.unique and step.free.shape == (1, 3)
    direction = step.free[0] / np.abs(step.free[0]).max()
    np.testing.assert_allclose(np.abs(direction), [0, 0, 1], atol=1e-9)
    assert step[turn.dot] == pytest.approx(0, abs=1e-9)
    assert step.power == pytest.approx(1.0, rel=1e-12)


def test_pushed_off_its_centre_the_motion_is_unique():
    rod = st.slider(points=[(i / 99 - 0.5, 0) for i in range(100)], weights=0.01)
    X, Y, turn = rod.coordinates
    hand = (X + 0.1 * st.cos(turn) - 0.1, Y + 0.1 * st.sin(turn) - st.t)
    assert st.minimum_power(rod + st.System(constraints=hand)).unique


def test_what_nothing_resists_is_a_free_direction_and_stays():
    # A castor: nothing resists its angle.
    cart = st.System(
        friction=[st.Friction(1.0, on=(x, y))], constraints=[x - st.t], coordinates=[x, y, phi]
    )
    step = st.minimum_power(cart)
    assert not step.unique
    np.testing.assert_allclose(np.abs(step.free), [[0, 0, 1]], atol=1e-12)
    np.testing.assert_allclose(step.v, [1, 0, 0], atol=1e-12)


# -- rest ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("push", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_below_the_limit_it_sticks_and_the_margin_says_how_far_from_slipping(push):
    sled = st.System(work=3 * push * x + 4 * push * y, friction=[st.Friction(5.0, on=(x, y))])
    step = st.minimum_power(sled)
    assert step.status == "sticks" and not np.any(step.v)
    assert step.margin == pytest.approx(1 / push if push else np.inf, rel=1e-7)
    assert step.power == 0
    np.testing.assert_allclose(
        np.atleast_1d(step.forces["friction1"]), [-3 * push, -4 * push], atol=1e-8
    )


def test_the_margin_of_two_springs_of_friction_in_a_row_is_that_of_the_weaker():
    # The load passes through one block to the other: each holds 1, together 2.
    sled = st.System(
        work=1.6 * x, friction=[st.Friction(1.0, on=x, name="a"), st.Friction(1.0, on=y, name="b")],
        constraints=[x - y],
    )  # fmt: skip
    step = st.minimum_power(sled)
    assert step.margin == pytest.approx(2 / 1.6, rel=1e-7)
    assert step.forces["a"] + step.forces["b"] == pytest.approx(-1.6, rel=1e-7)
    assert max(abs(step.forces["a"]), abs(step.forces["b"])) <= 1 + 1e-9


# -- no motion -------------------------------------------------------------------------------------


def test_two_hands_that_disagree_jam_and_are_named():
    bar = st.System(
        friction=[st.Friction(1.0, on=(x, y), name="floor")],
        constraints=[
            st.Constraint(x - st.t, name="left hand"),
            st.Constraint(x - 2 * st.t, name="right hand"),
            st.Constraint(y, name="rail"),
        ],
    )
    with pytest.raises(st.NoMotion) as caught:
        st.minimum_power(bar)
    assert caught.value.kind == "jammed"
    assert set(caught.value.names) == {"left hand", "right hand"}
    step = st.minimum_power(bar, throw=False)
    assert step.status == "jammed" and "no velocity" in step.status.message


def test_a_part_between_two_closing_jaws_jams():
    part = st.System(
        friction=[st.Friction(1.0, on=x, name="floor")],
        contacts=[st.Contact(x - st.t, name="left jaw"), st.Contact(-x - st.t, name="right jaw")],
    )
    with pytest.raises(st.NoMotion) as caught:
        st.minimum_power(part)
    assert caught.value.kind == "jammed"
    assert set(caught.value.names) == {"left jaw", "right jaw"}


def test_the_load_that_feeds_an_acceleration_is_named_with_its_direction():
    pulled = st.System(
        potential=0.5 * y,
        loads=[st.Load(3.0, on=x, name="winch"), st.Load(0.2, on=y, name="wind")],
        friction=[st.Friction(2.0, on=(x, y))],
    )
    with pytest.raises(st.NoMotion) as caught:
        st.minimum_power(pulled)
    assert caught.value.kind == "accelerates" and caught.value.names == ("load 'winch'",)
    # Along the certificate the loads give more than friction takes.
    ray = caught.value.direction
    assert np.array([3.0, -0.3]) @ ray > 2.0 * np.linalg.norm(ray)


def test_no_motion_is_called_running_away_that_friction_outweighs():
    """Belts so fast that forces span thirteen decades mislead an interior-point method."""
    z = st.coordinates("z")

    def along(row, drift=0.0):
        return sum(a * u for a, u in zip(row, (x, y, z))) + drift * st.t

    water, seal, push = (-0.972, -1.13, 0.306), (-0.985, -1.11, -0.761), (-1.87, -0.423, 1.01)
    system = st.System(
        work=along(push),
        friction=[
            st.Friction(2.01, on=(x, y, z), name="all"),
            st.Friction(
                0.0677,
                on=(along((-0.782, 0.267, -0.249), 622), along((0.858, 0.475, -0.451), -3710)),
            ),
            st.Drag(10.3, 3, on=along(water, -9110), name="water"),
            st.Drag(42.3, 0.5, on=along(seal, 3190), name="seal"),
        ],
        contacts=[st.Contact(along((0.984, 0.63, -0.238), -9080), name="hand")],
        coordinates=[x, y, z],
    )
    # One direction is free of drag; along it friction on all alone takes more than the load gives.
    free = np.cross(water, seal)
    assert 2.01 * np.linalg.norm(free) > abs(np.dot(push, free))
    least, balance = st.minimum_dissipation(system), st.newton(system)
    assert least.status == "moves" and max(least.residual.values()) < 1e-9 and least.gap < 1e-9
    np.testing.assert_allclose(balance.v, least.v, rtol=1e-9)


@pytest.mark.parametrize("V", [1.0, 1e3, 1e5])
def test_a_fast_belt_slides_past_what_friction_holds(V):
    # Load 1.83 and belt 0.28 stay below 3.87, whatever the speed of the belt and the drag.
    z = st.coordinates("z")
    held = st.System(
        work=-0.65 * x + 1.69 * y + 0.21 * z,
        friction=[
            st.Friction(3.87, on=(x, y, z), name="floor"),
            st.Friction(0.28, on=(x - 4 * y, y - 2 * z + V * st.t), name="belt"),
            st.Drag(8.8, 3, on=x + 0.3 * y - 3.7 * z, name="water"),
        ],
        coordinates=[x, y, z],
    )
    for ask in (st.minimum_dissipation, st.newton):
        step = ask(held)
        assert step.status == "sticks" and not np.any(step.v)
        np.testing.assert_allclose(step.forces["belt"], [0, -0.28], atol=1e-12)


def test_without_throwing_the_same_facts_are_in_the_status():
    pulled = st.System(work=3 * x, friction=[st.Friction(2.0, on=x)])
    step = st.minimum_power(pulled, throw=False)
    assert step.status == "accelerates"
    assert "more than friction can take" in step.status.message


def test_kinds_of_no_motion_are_failures_to_converge():
    assert issubclass(st.NoMotion, st.DidNotConverge)


# -- names and numbers -----------------------------------------------------------------------------


def test_a_step_answers_for_coordinates_velocities_and_expressions():
    part, pushed = dipod()
    X, Y, turn = part.coordinates
    step = st.minimum_power(pushed)
    assert step[X] == 0 and step["phi.dot"] == step[turn.dot]
    assert step[Y.dot + 1.5 * turn.dot * st.cos(turn)] == pytest.approx(1.0, rel=1e-12)
    assert step.as_start()["phi.dot"] == step[turn.dot]
    # The power is what the hands do: here one of them works at speed one.
    assert step.power == pytest.approx(step.lam["push"], rel=1e-10)
    assert step.dissipated == pytest.approx(step.power, rel=1e-12)
    for word in ("moves", "duality gap", "push", "slider"):
        assert word in repr(step)


def test_units_do_not_matter():
    """The same push in metres and newtons, and in micrometres and meganewtons."""
    tripod = np.array([(0, 1), (-np.sqrt(3) / 2, -0.5), (np.sqrt(3) / 2, -0.5)])
    found = []
    for long, strong in ((1.0, 1.0), (1e6, 1e-6), (1e-6, 1e8)):
        part = st.slider(points=tripod * long, weights=strong / 3)
        X, Y, turn = part.coordinates
        c, s = long * st.cos(turn), long * st.sin(turn)
        hand = (X + 0.8 * c - 0.1 * s - 0.8 * long,
                Y + 0.8 * s + 0.1 * c - (0.1 + st.t) * long)  # fmt: skip
        step = st.minimum_power(part + st.System(constraints=hand))
        assert step.gap < 1e-9
        found.append((step[turn.dot], step.power / long / strong))
    np.testing.assert_allclose(found, [found[0]] * 3, rtol=1e-9)


@pytest.mark.parametrize("count", [20, 100])
def test_what_nothing_resists_is_free_in_small_systems_and_in_large_ones(count):
    r = st.coordinates("r", shape=count)
    limits = np.where(np.arange(count) < count - 2, 1.0, 0.0)
    rails = st.each(lambda x, limit: st.Friction(limit, on=x), r, limits, name="rails")
    held = [
        st.Constraint(r[0] - st.t, name="pull"),
        st.Constraint(r[count - 1] - 2 * r[count - 2], name="gear"),
    ]
    step = st.minimum_power(st.System(friction=rails, constraints=held))
    assert not step.unique
    (free,) = np.abs(step.free)
    expected = np.zeros(count)
    expected[-2:] = 0.5, 1.0
    np.testing.assert_allclose(free, expected, atol=1e-8)
    damped = st.System(friction=rails, constraints=held, dissipation=r.dot[count - 1] ** 2)
    assert st.minimum_dissipation(damped).unique
