"""What statics, equilibria, linearize and continuation say when they are asked the impossible."""

import numpy as np
import pytest

import stationary as st
from stationary.errors import DerivationError, DidNotConverge, MissingExtra, StatementError
from stationary.solve.rest.point import AbstractPoint
from tests.checks import Messages, assert_says, mistakes

x, y, theta = st.coordinates("x y theta")
m, g, k, Omega = st.parameters(m=1.0, g=9.81, k=10.0, Omega=1.0)
F = st.inputs("F")

swing = st.System(kinetic=theta.dot**2 / 2, potential=-st.cos(theta))
hoop = st.System(
    kinetic=(theta.dot**2 + Omega**2 * st.sin(theta) ** 2) / 2, potential=g * (1 - st.cos(theta))
)
driven = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2, loads=[st.Load(F, on=x)])
rubbing = st.System(
    kinetic=x.dot**2, potential=g * x**2, friction=[st.Friction(2, on=x, name="table")]
)
h = st.coordinates("h", shape=(7, 1))
blocks = st.System(
    potential=st.each(lambda p: p[0], h),
    contacts=st.each(lambda p: st.Contact(p[0], name="floor"), h),
)

r = st.coordinates("r", shape=(41, 2))
chain = st.System(
    potential=st.each(lambda p: p[1], r),
    constraints=st.each(lambda a, b: st.norm(b - a) - 0.1, r[:-1], r[1:]),
)


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


def test_an_input_that_is_left_out_is_zero_and_shown():
    found = st.statics(driven)
    assert found[x] == 0.0 and found.inputs == {"F": 0.0}
    assert "inputs       F = 0" in repr(found)
    assert [r[x] for r in st.equilibria(driven, within={x: (-1, 1)})] == pytest.approx([0.0])


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


# -- linearize -------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("span", [(5, 5), 3, (0, 1, 2), ("a", "b"), (0, np.inf)])
def test_a_span_is_an_interval(span):
    assert_says(
        StatementError,
        "span is not an interval of the parameter.\n"
        f"  Found {span!r}.\n"
        "  Give two different numbers, as in span=(0, 10).",
        follow(span=span),
    )


MU = st.parameters(mu=-1.0)
wall = st.System(potential=MU * x + x**2 / 2, contacts=[st.Contact(x, name="wall")])


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


# -- tables ---------------------------------------------------------------------------------------

#: By error and mistake: what is asked, and what is said.
MESSAGES: Messages = {
    DidNotConverge: {
        "constraints that contradict each other are both named": (
            rest(
                st.System(
                    potential=m * g * x + y**2,
                    constraints=[
                        st.Constraint(x - 1, name="here"),
                        st.Constraint(x - 2, name="there"),
                    ],
                )
            ),
            "no configuration near the start satisfies the constraints.\n"
            "  Found 'here' has R = 0.5; 'there' has R = -0.5; expected zero.\n"
            "  They may contradict each other: remove one, or start closer.",
        ),
        "a constraint that nothing satisfies is named": (
            rest(
                st.System(
                    potential=m * g * y, constraints=[st.Constraint(x**2 + y**2 + 1, name="never")]
                ),
                start={x: 0.5, y: 0.5},
            ),
            "no configuration near the start satisfies the constraints.\n"
            "  Found 'never' has R = 1; expected zero.\n"
            "  They may contradict each other: remove one, or start closer.",
        ),
        "contacts that cannot both hold are named": (
            rest(
                st.System(
                    potential=x**2,
                    contacts=[st.Contact(x - 1, name="right"), st.Contact(-x, name="left")],
                )
            ),
            "no configuration near the start satisfies the contacts.\n"
            "  Found 'right' has gap = -0.5; 'left' has gap = -0.5; expected gap ≥ 0.\n"
            "  They may contradict each other: remove one, or start closer.",
        ),
        "an energy that is not finite at the start says so": (
            rest(st.System(potential=1 / x + x), start={x: 0.0}),
            "forces or constraints are not finite at the start.\n"
            "  Found none that is a number on 'x'.\n"
            "  Start where every expression is defined: where two points meet, their distance has "
            "no direction.",
        ),
        "links that start at one point have no direction there": (
            rest(chain),
            "forces or constraints are not finite at the start.\n"
            "  Found none that is a number on 'r[0,0]', 'r[0,1]', 'r[1,0]', 'r[1,1]'.\n"
            "  Start where every expression is defined: where two points meet, their distance has "
            "no direction.",
        ),
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
        "a system without coordinates has nothing to rest": (
            rest(st.System()),
            "the system has no coordinates.\n"
            "  Found nothing that could move.\n"
            "  State energies in terms of st.coordinates.",
        ),
        "an input that is not in the system is named": (
            rest(driven, inputs={"G": 1.0}),
            "inputs names 'G', which is not an input of this system.\n"
            "  Inputs: F.\n"
            "  Declare it with st.inputs and use it in a load.",
        ),
        "samples of rest need their times": (
            rest(driven, inputs={F: [0.0, 1.0, 2.0]}),
            "the samples of input 'F' cannot be interpolated.\n"
            "  Expected (times, values): two arrays of equal length, two or more entries, finite, "
            "times increasing.\n"
            "  Check the arrays.",
        ),
        "the name of a force is checked": (
            lambda: rest(
                st.System(potential=m * g * y, constraints=[st.Constraint(y, name="floor")])
            )().lam["flor"],
            "constraint 'flor' is not known.\n  Known: floor.\n  Did you mean 'floor'?",
        ),
        "an infinite box is refused": (
            lambda: st.equilibria(swing, within={theta: (-np.inf, np.inf)}),
            "within gives no interval for 'theta'.\n"
            "  Found (-inf, inf), expected a lower and an upper limit of a coordinate.\n"
            "  Give two numbers in order, as in within={theta: (-3.2, 3.2)}.",
        ),
        "an equilibrium of another system is no operating point": (
            lambda: st.linearize(swing, at=st.statics(st.System(potential=x**2 + y**2))),
            "the equilibrium belongs to another system.\n"
            "  Found coordinates (x, y), expected (theta,).\n"
            "  Pass an equilibrium of this system.",
        ),
        "a parameter that is not in the system cannot be followed": (
            follow(parameter=st.parameters(absent=1.0)),
            "'absent' is not a parameter of this system.\n"
            f"  Parameters: {', '.join(p.name for p in hoop.parameters)}.\n"
            "  Name one that occurs in the statement.",
        ),
        "a span must contain the equilibrium it starts from": (
            lambda: follow(start=st.statics(hoop, start={theta: 1.5}, params={Omega: 20.0}))(),
            "span does not contain the start: 'Omega' is 20 there.\n"
            "  Found span=(0, 10).\n"
            "  Widen the span, or start at another value with params={'Omega': …}.",
        ),
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
        "dry friction leaves rest undetermined": (
            rest(rubbing),
            "statics cannot honour 'table'.\n"
            "  It leaves a whole range of states at rest: table: friction up to 2 against d/dt x.\n"
            "  State the system without it, or as a constraint.",
        ),
        "continuation refuses what statics refuses": (
            lambda: st.continuation(rubbing, parameter=g, span=(1, 20)),
            "statics cannot honour 'table'.\n"
            "  It leaves a whole range of states at rest: table: friction up to 2 against d/dt x.\n"
            "  State the system without it, or as a constraint.",
        ),
        "dry friction has no linear motion": (
            lambda: st.linearize(rubbing),
            "linearize cannot honour 'table'.\n"
            "  It leaves a whole range of states at rest: table: friction up to 2 against d/dt x.\n"
            "  State the system without it, or as a constraint.",
        ),
        "a rolling condition leaves rest undetermined": (
            rest(st.System(potential=x**2, pfaffian=[st.Pfaffian(x.dot - y.dot, name="rolls")])),
            "statics cannot honour 'rolls'.\n"
            "  It leaves a whole range of states at rest: rolls: x.dot - y.dot = 0.\n"
            "  State the system without it, or as a constraint.",
        ),
        "a contact with friction leaves rest undetermined": (
            rest(
                st.System(potential=y, contacts=[st.Contact(y, friction=0.3, slip=x, name="floor")])
            ),
            "statics cannot honour 'floor'.\n"
            "  It leaves a whole range of states at rest: floor: y ≥ 0, friction 0.3 along x.\n"
            "  State the contact without friction.",
        ),
        "too many contacts to try them all are refused": (
            lambda: st.equilibria(blocks, within={h: (-1, 1)}),
            "there are too many contacts to try every set of them that may touch.\n"
            "  Found 7, expected 6 or fewer.\n"
            "  Take statics, or state as constraints those that touch.",
        ),
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


def test_a_start_without_finite_forces_has_a_word_of_its_own():
    with pytest.raises(DidNotConverge) as caught:
        st.statics(st.System(potential=1 / x + x), start={x: 0.0})
    assert caught.value.status == "not finite"


def test_a_saddle_whose_eigenvalues_are_not_found_is_told_by_their_number(monkeypatch):
    monkeypatch.setattr(AbstractPoint, "eigenvalues", np.empty(0))
    with pytest.raises(st.DidNotConverge) as caught:
        st.statics(st.System(potential=x**2 - y**2 + y**4))
    assert "with 1 of 2 stiffnesses below zero, expected none." in str(caught.value)
