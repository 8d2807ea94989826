"""What is said about contacts and friction that cannot be."""

import pytest

import stationary as st
from stationary.result.changes import Changes
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


def test_text_in_an_action_is_not_evaluated(tmp_path):
    trace = tmp_path / "trace"
    kick = st.Event(y - 0.5, action={y.dot: f"open({str(trace)!r}, 'w')"})
    ball = st.System(kinetic=y.dot**2 / 2, potential=9.81 * y)
    with pytest.raises(st.StatementError, match="(?s)not an expression.*not evaluated") as e:
        st.simulate(ball, span=(0, 1), start={y: 1.0}, events=[kick])
    assert not trace.exists() and len(str(e.value).splitlines()) == 3


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
        "  Use st.simulate, or leave static out.",
        lambda: st.quasistatics(rubbing, span=(0, 1)),
    )


def rubbing(**contact):
    floor = st.Contact(y, name="floor", **contact)
    kinetic = (x.dot**2 + y.dot**2) / 2
    return st.System(kinetic=kinetic, potential=9.81 * y, contacts=[floor])


def watched(**action):
    kick = st.Event(y - 0.5, action=action)
    return st.simulate(ball(), span=(0, 1), start={y: 1.0}, points=3, events=[kick])


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: st.Contact(y, restitution=float("nan")),
         "the restitution of a contact is not finite.\n  Found nan.\n  Check its constants."),
        (lambda: st.Contact(y, friction=0.3, slip=(x, y, x, y)),
         "the slip of a contact has too many entries.\n"
         "  Found 4: (x, y, x, y); a contact slips along a line, in a plane, or in space.\n"
         "  Give one expression, or a tuple of two or three."),
        (lambda: rubbing(friction=0.3, slip=x.dot),
         "the slip of contact 'floor' is not a place along which it slips.\n"
         "  Found the velocity 'x.dot' in x.dot.\n"
         "  Give the coordinate whose rate is the speed of the slip, as in slip=x."),
        (lambda: rubbing(friction=0.3, slip=e),
         "the slip of contact 'floor' is not a place along which it slips.\n"
         "  Found no coordinate in e.\n"
         "  Give the coordinate whose rate is the speed of the slip, as in slip=x."),
        (lambda: st.Friction(2, on=x, static=1),
         "the limit of a friction term at rest is below that in motion.\n"
         "  Found static=1 beside limit=2.\n"
         "  Give the larger one as static, or leave it out."),
        (lambda: st.System(kinetic=x.dot**2 + y.dot**2, friction=[st.Friction(1, on=x, name="a")],
                           contacts=[st.Contact(y, friction=0.3, slip=x, name="a")]),
         "a friction and a contact with friction have the name 'a'.\n"
         "  Expected a name of its own for each: their forces are asked for by name.\n"
         "  Rename one, with name=…."),
        (lambda: st.simulate(rubbing(friction=0.3 - st.t, slip=x), span=(0, 1), points=3,
                             start={x.dot: 5.0}),
         "the friction coefficient of contact 'floor' is negative at t = 0.5.\n"
         "  Found -0.2 there; friction acts against the motion.\n"
         "  Give zero or a positive number; the direction follows from the motion."),
        (lambda: watched(y=-1.0),
         "the action of an event at t = 0.319275 leads inside a body: contact 'floor' is closed "
         "too far.\n"
         "  Found a gap of -1 after it, expected zero or more.\n"
         "  Jump to where every gap is open, or just closed."),
        (lambda: st.simulate(st.System(kinetic=y.dot**2), span=(0, 1),
                             events=[st.Event(y, action={y.dot: st.parameters("back")})]),
         "parameter 'back' of an event or input has no value.\n"
         "  Expected one, since no default was declared.\n"
         "  Pass params={'back': …}, or declare st.parameters(back=…)."),
        (lambda: st.Touch(prefer=3),
         "prefer names what is no mode of a contact.\n"
         "  Found 3, expected one of open, closed, stick, slide.\n"
         "  Write prefer='open', or several in order of preference."),
        (lambda: Changes().of("bounce"),
         "the kind of change 'bounce' is not known.\n"
         "  Known: impact, touch, lift, stick, slip, reverse.\n"
         "  Did you mean 'touch'?"),
        (lambda: st.linearize(ball(), at=st.statics(ball(), start={y: 0.1})),
         "nothing can move about this state.\n"
         "  Found that constraints and closed contacts hold all of y, y.dot.\n"
         "  Linearize where something is free, or leave out what holds it."),
    ],
)  # fmt: skip
def test_what_cannot_touch_is_told(ask, told):
    assert_says(st.StatementError, told, ask)


def test_many_frictions_on_one_coordinate_slow_it_together_and_too_many_are_told():
    x = st.coordinates("x")

    def rubbed(count):
        pads = [st.Friction(1 + k, on=x, name=f"pad {k}") for k in range(count)]
        return st.System(kinetic=x.dot**2 / 2, friction=pads)

    # ½ v² is taken by the sum of all limits, 1 + 2 + … + 12, over the way.
    motion = st.simulate(rubbed(12), span=(0, 1), start={x.dot: 1.0}, points=3)
    assert motion[x][-1] == pytest.approx(1 / (2 * 78), rel=1e-9)
    assert_says(
        st.DerivationError,
        "too many contacts and frictions act on the same coordinates.\n"
        "  Found 200 that depend on each other, expected about 100.\n"
        "  Step over them, by method=st.Moreau(step=…), or join those that rub alike.",
        lambda: st.simulate(rubbed(200), span=(0, 1), start={x.dot: 1.0}),
    )
