"""What is said about contacts and friction that cannot be."""

import pytest

import stationary as st
from tests.checks import assert_says

x, y = st.coordinates("x y")
e = st.parameters(e=0.5)


def ball(**contact):
    floor = st.Contact(y, name="floor", **contact)
    return st.System(kinetic=y.dot**2 / 2, potential=9.81 * y, contacts=[floor])


@pytest.mark.parametrize("back", [-0.1, 1.5])
def test_a_restitution_is_between_zero_and_one(back):
    assert_says(
        st.StatementError,
        "the restitution of a contact is not between 0 and 1.\n"
        f"  Found {back}.\n"
        "  Give 0 for an impact without rebound, 1 for one without loss.",
        lambda: st.Contact(y, restitution=back),
    )


def test_a_restitution_that_a_parameter_spoils_is_told():
    assert_says(
        st.StatementError,
        "the restitution of contact 'floor' is not between 0 and 1.\n"
        "  Found 1.2 with these parameters.\n"
        "  Give 0 for an impact without rebound, 1 for one without loss.",
        lambda: st.simulate(ball(restitution=e), span=(0, 1), start={y: 1.0}, params={e: 1.2}),
    )


def test_friction_is_not_negative():
    assert_says(
        st.StatementError,
        "the friction coefficient of a contact is negative.\n"
        "  Found -0.3; friction acts against the motion, and its size is positive.\n"
        "  Give zero or a positive number; the direction follows from the motion.",
        lambda: st.Contact(y, friction=-0.3, slip=x),
    )
    assert_says(
        st.StatementError,
        "the limit of a friction term is negative.\n"
        "  Found -2; friction acts against the motion, and its size is positive.\n"
        "  Give zero or a positive number; the direction follows from the motion.",
        lambda: st.Friction(-2, on=x),
    )


def test_friction_that_a_parameter_makes_negative_is_told():
    rubbing = st.System(kinetic=x.dot**2 / 2, friction=[st.Friction(e, on=x, name="floor")])
    assert_says(
        st.StatementError,
        "the limit of friction 'floor' is negative at the start.\n"
        "  Found -1 with these parameters; friction acts against the motion.\n"
        "  Give zero or a positive number; the direction follows from the motion.",
        lambda: st.simulate(rubbing, span=(0, 1), params={e: -1.0}),
    )


@pytest.mark.parametrize("method", ["auto", st.Moreau(step=0.01)])
def test_a_start_inside_a_body_is_refused(method):
    assert_says(
        st.StatementError,
        "the start is inside a body: contact 'floor' is closed too far.\n"
        "  Found a gap of -0.2, expected zero or more.\n"
        "  Start where every gap is open, or just closed.",
        lambda: st.simulate(ball(), span=(0, 1), start={y: -0.2}, method=method),
    )


def test_a_gap_needs_a_coordinate_that_opens_it():
    assert_says(
        st.StatementError,
        "the gap of contact 'floor' is not an expression of the coordinates.\n"
        "  Found no coordinate in e.\n"
        "  Say how far what may touch is apart, as in st.Contact(y, …).",
        lambda: st.System(kinetic=y.dot**2, contacts=[st.Contact(e, name="floor")]),
    )
    assert_says(
        st.StatementError,
        "the gap of contact 'floor' is not an expression of the coordinates.\n"
        "  Found the velocity 'y.dot' in y + y.dot.\n"
        "  Say how far what may touch is apart, as in st.Contact(y, …).",
        lambda: st.System(kinetic=y.dot**2, contacts=[st.Contact(y + y.dot, name="floor")]),
    )


def test_an_action_changes_what_there_is():
    kick = st.Event(y - 0.5, action={"z.dot": 1.0})
    assert_says(
        st.StatementError,
        "the action of an event names 'z.dot', which is not a coordinate or a velocity of this "
        "system.\n"
        "  Coordinates: y. Did you mean 'y.dot'?\n"
        "  The velocity of x is x.dot, or 'x.dot' by name.",
        lambda: st.simulate(ball(), span=(0, 1), start={y: 1.0}, events=[kick]),
    )


def test_a_preference_is_a_mode():
    assert_says(
        st.StatementError,
        "prefer names what is no mode of a contact.\n"
        "  Found 'slip', expected one of open, closed, stick, slide. Did you mean 'slide'?\n"
        "  Write prefer='open', or several in order of preference.",
        lambda: st.Touch(prefer="slip"),
    )


def test_steps_have_a_length():
    assert_says(
        st.StatementError,
        "the step of a time stepping is a positive number.\n"
        "  Found step=-0.1.\n"
        "  Give the length of a step, as in st.Moreau(step=1e-3).",
        lambda: st.Moreau(step=-0.1),
    )


def test_not_every_method_follows_contacts():
    assert_says(
        st.StatementError,
        "'Variational(step=0.1)' does not follow contacts and dry friction.\n"
        "  Expected 'auto', Touch(), Moreau(), Taylor(), BDF() or Runge().\n"
        "  Pass 'auto' or a method, as in method=st.Touch().",
        lambda: st.simulate(ball(), span=(0, 1), start={y: 1.0}, method=st.Variational(step=0.1)),
    )


def test_a_larger_limit_at_rest_is_for_motions_with_inertia():
    rubbing = st.System(
        potential=x**2, friction=[st.Friction(1, on=x - st.t, static=2, name="belt")]
    )
    assert_says(
        st.StatementError,
        "friction 'belt' has a larger limit at rest.\n"
        "  Found static=2 beside limit=1: it sticks and slips, and inertia decides how.\n"
        "  Use simulate, or leave static out.",
        lambda: st.quasistatics(rubbing, span=(0, 1)),
    )
