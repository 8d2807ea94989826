"""What statics, equilibria, linearize and continuation say when they are asked the impossible."""

import numpy as np
import pytest

import stationary as st
from stationary.errors import DerivationError, DidNotConverge, MissingExtra, StatementError
from tests.checks import Messages, assert_says, mistakes

x, y, theta = st.coordinates("x y theta")
m, g, k, Omega = st.parameters(m=1.0, g=9.81, k=10.0, Omega=1.0)
F = st.inputs("F")

swing = st.System(kinetic=theta.dot**2 / 2, potential=-st.cos(theta))
hoop = st.System(
    kinetic=(theta.dot**2 + Omega**2 * st.sin(theta) ** 2) / 2, potential=g * (1 - st.cos(theta))
)
driven = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2, loads=[st.Load(F, on=x)])


def rest(system, **settings):
    return lambda: st.statics(system, **settings)


def follow(span=(0, 10), **settings):
    return lambda: st.continuation(hoop, span=span, **({"parameter": Omega} | settings))


# -- statics ---------------------------------------------------------------------------------------


def test_a_falling_mass_is_named_with_its_direction():
    falling = st.System(potential=m * g * y + k * x**2 / 2)
    with pytest.raises(DidNotConverge) as caught:
        st.statics(falling)
    lines = str(caught.value).splitlines()
    assert lines[0] == "the energy goes down for ever along 'y'."
    assert lines[1].startswith("  Found y = -")
    assert lines[1].endswith(" and still an unbalanced force of 9.81.")
    assert lines[2] == "  Hold 'y' by a constraint, a contact or a spring."
    assert caught.value.status == "unbounded"
    assert caught.value.solution[y] < -1e6


def test_constraints_that_contradict_each_other_are_both_named():
    two = [st.Constraint(x - 1, name="here"), st.Constraint(x - 2, name="there")]
    with pytest.raises(DidNotConverge) as caught:
        st.statics(st.System(potential=m * g * x + y**2, constraints=two))
    what, found, remedy = str(caught.value).split("\n  ")
    assert what == "no configuration near the start satisfies the constraints."
    assert "'here'" in found and "'there'" in found
    assert remedy == "They may contradict each other: remove one, or start closer."


def test_a_constraint_that_nothing_satisfies_is_named():
    never = st.Constraint(x**2 + y**2 + 1, name="never")
    assert_says(
        DidNotConverge,
        "no configuration near the start satisfies the constraints.\n"
        "  Found 'never' has R = 1; expected zero.\n"
        "  They may contradict each other: remove one, or start closer.",
        rest(st.System(potential=m * g * y, constraints=[never]), start={x: 0.5, y: 0.5}),
    )


def test_an_energy_that_is_not_finite_at_the_start_says_so():
    with pytest.raises(DidNotConverge) as caught:
        st.statics(st.System(potential=1 / x + x), start={x: 0.0})
    assert caught.value.status == "not finite"
    assert "not finite" in str(caught.value)


def test_dry_friction_leaves_rest_undetermined():
    rough = st.System(potential=x**2, friction=[st.Friction(2, on=x, name="table")])
    assert_says(
        DerivationError,
        "statics cannot honour 'table'.\n"
        "  It leaves a whole range of states at rest: table: friction up to 2 against d/dt x.\n"
        "  State the system without it, or as a constraint.",
        rest(rough),
    )


def test_a_rolling_condition_leaves_rest_undetermined():
    wheel = st.System(potential=x**2, pfaffian=[st.Pfaffian(x.dot - y.dot, name="rolls")])
    assert_says(
        DerivationError,
        "statics cannot honour 'rolls'.\n"
        "  It leaves a whole range of states at rest: rolls: x.dot - y.dot = 0.\n"
        "  State the system without it, or as a constraint.",
        rest(wheel),
    )


def test_an_input_that_is_left_out_is_zero_and_shown():
    found = st.statics(driven)
    assert found[x] == 0.0 and found.inputs == {"F": 0.0}
    assert "inputs       F = 0" in repr(found)
    assert [r[x] for r in st.equilibria(driven, within={x: (-1, 1)})] == pytest.approx([0.0])


def test_an_input_that_is_not_in_the_system_is_named():
    with pytest.raises(StatementError, match="inputs names 'G', which is not an input"):
        st.statics(driven, inputs={"G": 1.0})


def test_a_system_without_coordinates_has_nothing_to_rest():
    with pytest.raises((StatementError, DerivationError), match="no coordinate"):
        st.statics(st.System())


def test_the_name_of_a_force_is_checked():
    found = st.statics(st.System(potential=m * g * y, constraints=[st.Constraint(y, name="floor")]))
    with pytest.raises(StatementError) as caught:
        found.lam["flor"]
    assert str(caught.value) == (
        "constraint 'flor' is not known.\n  Known: floor.\n  Did you mean 'floor'?"
    )


# -- equilibria ------------------------------------------------------------------------------------


@pytest.mark.parametrize("interval", [(3, -3), (1, 1), 3, (1, 2, 3), ("a", "b")])
def test_a_box_has_a_lower_and_an_upper_limit(interval):
    assert_says(
        StatementError,
        "within gives no interval for 'theta'.\n"
        f"  Found {interval!r}, expected a lower and an upper limit of a coordinate.\n"
        "  Give two numbers in order, as in within={theta: (-3.2, 3.2)}.",
        lambda: st.equilibria(swing, within={theta: interval}),
    )


def test_an_infinite_box_is_refused():
    with pytest.raises(StatementError, match="within gives no interval for 'theta'"):
        st.equilibria(swing, within={theta: (-np.inf, np.inf)})


# -- linearize -------------------------------------------------------------------------------------


def test_an_equilibrium_of_another_system_is_no_operating_point():
    other = st.statics(st.System(potential=x**2 + y**2))
    with pytest.raises(StatementError, match="another system"):
        st.linearize(swing, at=other)


def test_python_control_is_asked_for_by_name(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "control", None)
    lin = st.linearize(swing, at={})
    assert_says(
        MissingExtra,
        "to_control needs python-control.\n"
        "  It is not installed.\n"
        "  Run: pip install 'stationary[control]'",
        lin.to_control,
    )


# -- continuation ----------------------------------------------------------------------------------


def test_a_parameter_that_is_not_in_the_system_cannot_be_followed():
    absent = st.parameters(absent=1.0)
    assert_says(
        StatementError,
        "'absent' is not a parameter of this system.\n"
        f"  Parameters: {', '.join(p.name for p in hoop.parameters)}.\n"
        "  Name one that occurs in the statement.",
        follow(parameter=absent),
    )


def test_a_span_must_contain_the_equilibrium_it_starts_from():
    fast = st.statics(hoop, start={theta: 1.5}, params={Omega: 20.0})
    assert_says(
        StatementError,
        "span does not contain the start: 'Omega' is 20 there.\n"
        "  Found span=(0, 10).\n"
        "  Widen the span, or start at another value with params={'Omega': …}.",
        follow(start=fast),
    )


@pytest.mark.parametrize("span", [(5, 5), 3, (0, 1, 2), ("a", "b"), (0, np.inf)])
def test_a_span_is_an_interval(span):
    assert_says(
        StatementError,
        "span is not an interval of the parameter.\n"
        f"  Found {span!r}.\n"
        "  Give two different numbers, as in span=(0, 10).",
        follow(span=span),
    )


def test_continuation_refuses_what_statics_refuses():
    rough = st.System(potential=g * x**2, friction=[st.Friction(2, on=x, name="table")])
    with pytest.raises(DerivationError, match="statics cannot honour 'table'"):
        st.continuation(rough, parameter=g, span=(1, 20))


MU = st.parameters(mu=-1.0)
wall = st.System(potential=MU * x + x**2 / 2, contacts=[st.Contact(x, name="wall")])


def test_contacts_that_cannot_both_hold_are_named():
    both = [st.Contact(x - 1, name="right"), st.Contact(-x, name="left")]
    assert_says(
        DidNotConverge,
        "no configuration near the start satisfies the contacts.\n"
        "  Found 'right' has gap = -0.5; 'left' has gap = -0.5; expected gap ≥ 0.\n"
        "  They may contradict each other: remove one, or start closer.",
        rest(st.System(potential=x**2, contacts=both)),
    )


def test_contacts_and_constraints_that_contradict_each_other_are_named():
    system = st.System(
        potential=x**2 + y**2,
        contacts=[st.Contact(x - 1, name="right")],
        constraints=[st.Constraint(x + y, name="line"), st.Constraint(y + 0.5, name="level")],
    )
    with pytest.raises(DidNotConverge) as caught:
        st.statics(system)
    what, found, _ = str(caught.value).split("\n  ")
    assert what == "no configuration near the start satisfies the constraints and contacts."
    assert all(f"'{name}'" in found for name in ("right", "line", "level"))


def test_a_contact_with_friction_leaves_rest_undetermined():
    rough = st.System(potential=y, contacts=[st.Contact(y, friction=0.3, slip=x, name="floor")])
    assert_says(
        DerivationError,
        "statics cannot honour 'floor'.\n"
        "  It leaves a whole range of states at rest: floor: y ≥ 0, friction 0.3 along x.\n"
        "  State the contact without friction.",
        rest(rough),
    )


def test_dry_friction_has_no_linear_motion():
    rough = st.System(
        kinetic=x.dot**2, potential=x**2, friction=[st.Friction(2, on=x, name="table")]
    )
    with pytest.raises(DerivationError, match="linearize cannot honour 'table'"):
        st.linearize(rough)


def test_too_many_contacts_to_try_them_all_are_refused():
    h = st.coordinates("h", shape=(7, 1))
    blocks = st.System(
        potential=st.each(lambda p: p[0], h),
        contacts=st.each(lambda p: st.Contact(p[0], name="floor"), h),
    )
    assert_says(
        DerivationError,
        "there are too many contacts to try every set of them that may touch.\n"
        "  Found 7, expected 6 or fewer.\n"
        "  Take statics, or state as constraints those that touch.",
        lambda: st.equilibria(blocks, within={h: (-1, 1)}),
    )


def test_a_velocity_has_no_place_in_a_start_of_rest():
    assert_says(
        StatementError,
        "start gives 'theta' a velocity, and at rest nothing moves.\n"
        "  Found theta.dot = 2.\n"
        "  Leave velocities out; for a steady motion state its rate as a parameter.",
        rest(swing, start={theta: 1.0, theta.dot: 2.0}),
    )
    # A state of rest is one with velocities of zero.
    assert st.statics(swing, start={"theta": 1.0, "theta.dot": 0.0}).stable


def test_a_torque_that_no_weight_holds_names_what_it_turns():
    turned = st.System(potential=g * (1 - st.cos(theta)), work=10 * theta)
    with pytest.raises(DidNotConverge) as caught:
        st.statics(turned)
    what, found, remedy = str(caught.value).split("\n  ")
    assert what == "the energy goes down for ever along 'theta'."
    assert found.startswith("Found theta = ") and "still an unbalanced force" in found
    assert remedy == "Hold 'theta' by a constraint, a contact or a spring."


def test_samples_of_rest_need_their_times():
    with pytest.raises(StatementError, match="samples of input 'F' cannot be interpolated"):
        st.statics(driven, inputs={F: [0.0, 1.0, 2.0]})


# -- tables ---------------------------------------------------------------------------------------

#: By error and mistake: what is asked, and what is said.
MESSAGES: Messages = {
    DidNotConverge: {
        "a start on a saddle says what it is": (
            rest(st.System(potential=x**2 - y**2 + y**4)),
            "the search ended at an equilibrium that is not a minimum.\n"
            "  Found x = 0, y = 0 with the smallest eigenvalue -2 of the Hessian, expected none "
            "below zero.\n"
            '  Start elsewhere, or take kind="any" to accept it.',
        ),
        "a pendulum started upright says that it stands on its head": (
            rest(swing, start={theta: np.pi}),
            "the search ended at an equilibrium that is not a minimum.\n"
            "  Found theta = 3.14159 with the smallest eigenvalue -1 of the Hessian, expected none "
            "below zero.\n"
            '  Start elsewhere, or take kind="any" to accept it.',
        ),
        "a start without stiffness says that less energy is beside it": (
            rest(st.System(potential=x**3)),
            "the search ended at an equilibrium that is not a minimum.\n"
            "  Found x = 0 without stiffness, and less energy beside it.\n"
            '  Start elsewhere, or take kind="any" to accept it.',
        ),
    },
    StatementError: {
        "kinds of equilibria are listed": (
            rest(swing, kind="maximum"),
            "kind must be 'minimum' or 'any'.\n  Found 'maximum'.\n  Choose one of them.",
        ),
        "a parameter that is not in the system is named": (
            rest(hoop, params={"Omegga": 2.0}),
            "params names 'Omegga', which is not a parameter of this system.\n"
            f"  Parameters: {', '.join(p.name for p in hoop.parameters)}. Did you mean 'Omega'?\n"
            "  Remove it, or use it in the statement.",
        ),
        "a start outside the system is named": (
            rest(swing, start={"thetta": 1.0}),
            "start names 'thetta', which is not a coordinate or a velocity of this system.\n"
            "  Coordinates: theta. Did you mean 'theta'?\n"
            "  The velocity of x is x.dot, or 'x.dot' by name.",
        ),
        "a box of velocities is refused": (
            lambda: st.equilibria(swing, within={theta.dot: (-1, 1)}),
            "within gives no interval for 'theta.dot'.\n"
            "  Found (-1, 1), expected a lower and an upper limit of a coordinate.\n"
            "  Give two numbers in order, as in within={theta: (-3.2, 3.2)}.",
        ),
        "an empty box is refused": (
            lambda: st.equilibria(swing, within={}),
            "within is empty.\n"
            "  Found no interval.\n"
            "  Give one for each coordinate to be searched.",
        ),
        "a box around what is no coordinate is refused": (
            lambda: st.equilibria(swing, within={"phi": (0, 1)}),
            "within names 'phi', which is not a coordinate or a velocity of this system.\n"
            "  Coordinates: theta.\n"
            "  The velocity of x is x.dot, or 'x.dot' by name.",
        ),
        "a point out of balance cannot be linearized": (
            lambda: st.linearize(swing, at={theta: 0.5}),
            "the operating point is neither an equilibrium nor a steady motion.\n"
            "  Found the acceleration -0.479 of 'theta', expected none.\n"
            "  Find one with st.statics or st.equilibria, or give the inputs that hold it.",
        ),
        "a coordinate that moves must be cyclic": (
            lambda: st.linearize(swing, at={theta.dot: 1.0}),
            "'theta' moves at the operating point and is not cyclic.\n"
            "  Found accelerations that depend on it; a steady motion has none.\n"
            "  Give it no velocity, or choose a coordinate that nothing depends on.",
        ),
        "inputs of the operating point are known inputs": (
            lambda: st.linearize(driven, at={}, inputs={"G": 1.0}),
            "inputs names 'G', which is not an input of this system.\n"
            "  Inputs: F.\n"
            "  Declare it with st.inputs and use it in a load.",
        ),
        "a misspelt parameter is guessed": (
            follow(parameter="omega"),
            "'omega' is not a parameter of this system.\n"
            f"  Parameters: {', '.join(p.name for p in hoop.parameters)}. Did you mean 'Omega'?\n"
            "  Name one that occurs in the statement.",
        ),
        "a coordinate is no parameter": (
            follow(parameter=theta),
            "'theta' is not a parameter of this system.\n"
            f"  Parameters: {', '.join(p.name for p in hoop.parameters)}.\n"
            "  Name one that occurs in the statement.",
        ),
        "a span must contain the start": (
            follow(span=(5, 10)),
            "span does not contain the start: 'Omega' is 1 there.\n"
            "  Found span=(5, 10).\n"
            "  Widen the span, or start at another value with params={'Omega': …}.",
        ),
        "samples must cover the time of rest": (
            rest(driven, inputs={F: ([0.0, 2.0], [1.0, 2.0])}, t=3.0),
            "the samples of input 'F' do not cover the span.\n"
            "  Found times from 0 to 2, expected 3 to 3.\n"
            "  Sample the whole span; nothing is extrapolated.",
        ),
    },
    DerivationError: {
        "a massless coordinate cannot be linearized": (
            lambda: st.linearize(st.System(kinetic=x.dot**2 / 2, potential=x**2 + y**2), at={}),
            "the mass matrix is singular: no kinetic energy involves the velocity of 'y'.\n"
            "  Expected an inertia for each of the 2 coordinates.\n"
            "  Give 'y' a mass, constrain it, or use quasistatics().",
        ),
        "a branch that a contact would kink is refused": (
            lambda: st.continuation(wall, parameter=MU, span=(-1, 1), start={x: 1.0}),
            "continuation cannot honour contact 'wall'.\n"
            "  It opens and closes, which is not smooth: wall: x ≥ 0.\n"
            "  State it as a constraint while it touches, or leave it out while it is open.",
        ),
    },
}


@mistakes(MESSAGES)
def test_the_message_is(kind, do, message):
    assert_says(kind, message, do)
