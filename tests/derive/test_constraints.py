"""Holonomic or not, redundant or not: decided by `check`."""

import pytest
from sympy import cos, sin

import stationary as st

x, y, theta, phi = st.coordinates("x y theta phi")
m, r, J = st.parameters("m r J")


def rolling(*rows, constraints=()):
    kinetic = m * (x.dot**2 + y.dot**2) / 2 + J * (theta.dot**2 + phi.dot**2) / 2
    return st.check(st.System(kinetic=kinetic, pfaffian=list(rows), constraints=list(constraints)))


def test_the_wheeled_robot_of_the_slides_keeps_all_its_configurations():
    report = rolling(st.Pfaffian(x.dot * sin(theta) - y.dot * cos(theta), name="no slip"))
    assert not report["holonomic"]
    assert report["freedom"].value == (3, 4)


def test_the_pendulum_of_the_slides_loses_one_as_a_row_on_velocities_too():
    report = st.check(
        st.System(kinetic=m * (x.dot**2 + y.dot**2) / 2, pfaffian=[x * x.dot + y * y.dot])
    )
    (row,) = report["holonomic"].value
    assert row.integrable and (row.integral - (x**2 + y**2) / 2).equals(0)
    assert report["freedom"].value == (1, 1)
    assert "state it as a constraint" in report["holonomic"].text


def test_a_wheel_that_rolls_straight_is_holonomic():
    report = rolling(st.Pfaffian(x.dot - r * phi.dot, name="rolling"))
    (row,) = report["holonomic"].value
    assert row.integrable and row.integral in (x - r * phi, r * phi - x)


def test_a_row_with_an_integrating_factor_is_recognized():
    # y dx − x dy is not closed; divided by y² it is d(x/y).
    (row,) = rolling(st.Pfaffian(y * x.dot - x * y.dot))["holonomic"].value
    assert row.integrable
    ratio = row.integral
    assert (ratio.diff(x) * x + ratio.diff(y) * y).equals(0)


def test_a_vertical_rolling_disc_is_nonholonomic():
    rows = [x.dot - r * phi.dot * cos(theta), y.dot - r * phi.dot * sin(theta)]
    report = rolling(*rows)
    assert [row.integrable for row in report["holonomic"].value] == [False, False]
    assert report["freedom"].value == (2, 4)


def test_the_same_disc_on_a_rail_is_holonomic():
    # With θ held the two rows are integrable together with the constraint.
    rows = [x.dot - r * phi.dot * cos(theta), y.dot - r * phi.dot * sin(theta)]
    report = rolling(*rows, constraints=[st.Constraint(theta - 1, name="rail")])
    assert [row.integrable for row in report["holonomic"].value] == [True, True]
    assert report["freedom"].value == (1, 1)


def test_a_row_that_moves_in_time_is_integrable_where_its_form_in_space_and_time_is():
    (row,) = rolling(st.Pfaffian(x.dot - 2 * st.t))["holonomic"].value
    assert row.integrable and (row.integral - (x - st.t**2)).equals(0)


@pytest.mark.parametrize("scale", [1, 3])
def test_a_constraint_stated_twice_is_named(scale):
    report = rolling(
        constraints=[
            st.Constraint(st.norm((x, y)) - 1, name="rod"),
            st.Constraint(scale * (x**2 + y**2 - 1), name="again"),
        ]
    )
    assert report["redundant"].value == ("again",)
    assert report["freedom"].value == (3, 3)
    assert report.passed
