"""What is said when something is wrong, word for word.

Every message has three parts: what is wrong, in the user's own names; what was found and what was
expected; what to do.
"""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import stationary as st
from tests.checks import Messages, assert_says, mistakes
from tests.stated import (
    REFUSED,
    F,
    driven,
    m,
    motion,  # noqa: F401  # a fixture
    run,
    theta1,
    x,
    y,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(float("nan"), "'nan'.\n  Give a number."),
     ("2 kg", "'2 kg'.\n  Give a number, in SI units and radians: units are read in model files."),
     (1 + st.t, "'t + 1'.\n  Give a number; what changes over time or with the state is an input, "
                "st.inputs."),
     (2 * m, "'2*m'.\n  Give a number."),
     (np.complex128(1 + 2j), "'(1+2j)'.\n  Give a number."),
     (10**400, repr("1" + "0" * 59) + ".\n  Give a number.")],
)  # fmt: skip
def test_the_value_of_a_parameter_is_a_number(value, shown):
    assert_says(
        st.StatementError,
        f"the value of parameter 'm' is not a finite number.\n  Found {shown}",
        run(params={m: value}),
    )


@pytest.mark.parametrize(
    ("key", "name", "value"), [(x, "x", float("nan")), (x.dot, "x.dot", float("inf"))]
)
def test_a_start_that_is_not_finite_is_named(key, name, value):
    assert_says(
        st.StatementError,
        f"start of '{name}' is not finite.\n  Found {value}.\n  Give finite numbers.",
        run(start={key: value}),
    )


@pytest.mark.parametrize(
    "value",
    ["fast", None, m, np.complex128(1 + 2j), np.datetime64("2020-01-01"), np.zeros(1, "f8,f8")[0]],
    ids=str,
)
def test_a_start_that_is_no_number_is_named(value):
    assert_says(
        st.StatementError,
        "start of 'x' is not a number or an array of numbers.\n"
        f"  Found '{value}', expected shape ().\n"
        "  Give numbers, in SI units and radians.",
        run(start={x: value}),
    )


# -- inertia --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("terms", "what", "reason"), REFUSED, ids=[r[1] for r in REFUSED])
def test_simulate_refuses_by_name_what_it_cannot_honour(terms, what, reason):
    assert_says(
        st.DerivationError,
        f"simulate cannot honour {what}.\n"
        f"  It {reason}.\n"
        "  Choose coordinates that need no such term, or leave it out knowingly.",
        run(st.System(kinetic=x.dot**2 / 2, **terms)),
    )


def test_simulate_refuses_what_repeats_by_name_too():
    r = st.coordinates("r", shape=(3, 2))
    net = st.System(
        kinetic=st.each(lambda v: v[0] ** 2 + v[1] ** 2, r.dot),
        friction=st.each(lambda p: st.Drag(1, sp.Rational(1, 2), on=p), r, name="table"),
    )
    assert_says(
        st.DerivationError,
        "simulate cannot honour friction 'table'.\n"
        "  It grows infinitely steep at rest (power below 1), as dry friction does: "
        "table: drag 1 |v|**1/2 against v = d/dt (r[i,0], r[i,1]).\n"
        "  Choose coordinates that need no such term, or leave it out knowingly.",
        run(net),
    )


# -- the question ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("span", "kind", "found"), [((1, 0), "reversed", "(1, 0)"), ((3, 3), "empty", "(3, 3)")]
)
def test_a_span_has_a_first_time_before_a_last_one(span, kind, found):
    assert_says(
        st.StatementError,
        f"span is {kind}.\n"
        f"  Found {found}, expected a first time before a last one.\n"
        "  Give them in order, as in span=(0, 10).",
        run(span=span),
    )


def test_a_constraint_that_jumps_is_told():
    R = x - st.Piecewise((0, st.t < 1), (2, True))
    assert_says(
        st.DidNotConverge,
        "the motion ends at t = 1, before 2.\n"
        "  Constraint 'level' jumps at t = 1: with the state there, R goes from 0 to -2, which no "
        "finite force follows; the last good state is error.solution.at(error.solution.t[-1]).\n"
        "  Let it change over a short time, or give two motions, one from the end of the other.",
        run(
            st.System(kinetic=x.dot**2 / 2, constraints=[st.Constraint(R, name="level")]),
            span=(0, 2),
        ),
    )


def test_an_action_without_a_number_is_told():
    assert_says(
        st.StatementError,
        "the action of an event gives no finite number.\n"
        "  Found nan for 'x.dot' at t = 2.\n"
        "  Write an action that is defined wherever the event happens.",
        run(
            st.System(kinetic=x.dot**2 / 2, potential=x),
            start={x: 2.0},
            events=[st.Event(x, direction=-1, action={x.dot: st.sqrt(x.dot)})],
            span=(0, 9),
        ),
    )


def test_bounces_that_pile_up_are_told():
    event = st.Event(x, direction=-1, action={x.dot: -x.dot / 4})
    with pytest.raises(st.DidNotConverge) as caught:
        ball = st.System(kinetic=x.dot**2 / 2, potential=x)
        st.simulate(ball, span=(0, 9), start={x: 2.0}, events=[event])
    what, found, remedy = str(caught.value).splitlines()
    assert what == "the motion ends at t = 3.33333, before 9."
    assert found.startswith(
        "  Events follow each other ever faster near t = 3.33333; the last good"
    )
    assert remedy == (
        "  End the motion before, state what bounces as st.Contact(gap, restitution=e), or smooth "
        "what switches, as st.tanh(x/small) for st.sign(x); throw=False returns what there is."
    )


@pytest.mark.parametrize(
    ("system", "options", "advice"),
    [
        # Fixed steps come to rest under a sign nowhere; a root ends at zero.
        (
            st.System(potential=x**2 / 2, dissipation=st.Abs(x.dot) / 3),
            {"method": st.Variational(step=0.01)},
            "Widen what is narrow there, ask for a shorter span, or take another method; "
            "throw=False returns what there is.",
        ),
        # More steps than anybody waits for.
        (
            st.System(potential=5e23 * x**2),
            {},
            "Ask for a shorter span, or slow down what turns or swings so fast; throw=False "
            "returns what there is.",
        ),
        (
            st.System(potential=x + st.sqrt(x)),
            {},
            "Keep it away from there by a start, a stop or a constraint, or round the edge off, as "
            "st.sqrt(x**2 + small**2) for x; throw=False returns what there is.",
        ),
    ],
    ids=["sign", "endless", "root"],
)
def test_what_to_do_about_an_early_end_is_said_with_its_reason(system, options, advice):
    moving = system + st.System(kinetic=x.dot**2 / 2)
    with pytest.raises(st.DidNotConverge) as caught:
        st.simulate(moving, span=(0, 9), start={x: 1.0, x.dot: 1.0}, **options)
    assert str(caught.value).splitlines()[-1].strip() == advice


def test_a_function_without_numerical_counterpart_is_named():
    with pytest.raises(st.CompileError) as caught:
        st.compile(st.System(potential=sp.zeta(x))).potential([1.0])
    what, found, remedy = str(caught.value).splitlines()
    assert what == "'zeta(x)' has no numerical counterpart."
    assert found.startswith("  Found zeta; known: Abs, And, Equality, ")
    assert found.endswith("sinc, sinh, tan, tanh.")
    assert remedy == "  Rewrite the expression with these functions."


# -- inputs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "found"),
    [("sin", "str: sin"), (float("nan"), "float: nan"), (None, "NoneType: None")],
)
def test_an_input_is_a_number_an_expression_or_samples(value, found):
    assert_says(
        st.StatementError,
        "input 'F' is neither a number, an expression nor samples.\n"
        f"  Found {found}.\n"
        "  Write it as an expression of st.t, coordinates and velocities, or sample it: "
        "(times, values).",
        run(driven, inputs={F: value}),
    )


@pytest.mark.parametrize(
    "samples",
    [
        ([0, 1], [1, 2, 3]),
        ([0, 0.6, 0.5, 1], [1, 2, 3, 4]),
        ([0, 1], [1, np.nan]),
        ([0], [1]),
        np.ones((3, 3)),
    ],
    ids=["lengths", "order", "nan", "one", "table"],
)
def test_samples_must_be_a_course_over_time(samples):
    assert_says(
        st.StatementError,
        "the samples of input 'F' cannot be interpolated.\n"
        "  Expected (times, values): two arrays of equal length, two or more entries, finite, "
        "times increasing; or values alone, spread evenly over the span.\n"
        "  Check the arrays.",
        run(driven, inputs={F: samples}),
    )


def test_a_motion_knows_its_own_names_only(motion):
    assert_says(
        st.StatementError,
        "the key names 'z', which is not a coordinate or a velocity of this system.\n"
        "  Coordinates: x.\n"
        "  The velocity of x is x.dot, or 'x.dot' by name.",
        lambda: motion["z"],
    )
    assert_says(
        st.StatementError,
        "the expression uses 'w', which this motion does not know.\n"
        "  Known: m, x.\n"
        "  Use coordinates, velocities, parameters and inputs of the system.",
        lambda: motion[sp.Symbol("w") * x],
    )


def test_a_motion_is_known_inside_its_span_only(motion):
    assert_says(
        st.StatementError,
        "the motion is not known at that time.\n"
        "  Found 2.0, expected times from 0 to 1.\n"
        "  Give times inside the span, or simulate a longer one.",
        lambda: motion.at(2.0),
    )


def test_a_motion_that_blows_up_says_when_and_what_is_left():
    runaway = st.System(kinetic=x.dot**2 / 2, potential=-(x**4) / 4)
    with pytest.raises(st.DidNotConverge) as caught:
        st.simulate(runaway, span=(0, 10), start={x: 1.0})
    what, found, remedy = str(caught.value).splitlines()
    assert what.startswith("the motion ends at t = 1.85") and what.endswith(", before 10.")
    assert found == (
        "  The motion leaves every bound near t = 1.85407; the last good state is "
        "error.solution.at(error.solution.t[-1])."
    )
    assert remedy == (
        "  Check the signs of the energies, or ask for a shorter span; throw=False returns what "
        "there is."
    )
    assert caught.value.status == "blow-up"


# -- the family of errors -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (st.StatementError, ValueError),
        (st.DerivationError, ValueError),
        (st.CompileError, RuntimeError),
        (st.DidNotConverge, RuntimeError),
        (st.MissingExtra, ImportError),
    ],
)
def test_every_error_is_a_stationary_error_and_a_builtin_one(error, builtin):
    assert issubclass(error, st.StationaryError) and issubclass(error, builtin)


def test_all_parameters_without_a_value_are_named():
    a, b = st.parameters("a b")
    assert_says(
        st.StatementError,
        "parameters 'a', 'b' have no value.\n"
        "  Expected one, since no default was declared.\n"
        "  Pass params={'a': …, 'b': …}, or declare st.parameters(a=…, b=…).",
        lambda: st.simulate(
            st.System(kinetic=a * x.dot**2, potential=b * x**2), span=(0, 1), start={x: 1.0}
        ),
    )


@pytest.mark.parametrize("span", [(0, np.inf), (np.nan, 1.0), (np.inf, 1.0)])
def test_a_span_that_is_not_finite_is_called_that(span):
    assert_says(
        st.StatementError,
        "span is not finite.\n"
        f"  Found ({span[0]:g}, {span[1]:g}), expected a first time before a last one.\n"
        "  Give two finite times, as in span=(0, 10).",
        run(span=span),
    )


@pytest.mark.parametrize(
    "span, kind, length",
    [
        ((-1e308, 1e308), "long", "inf"),
        ((0, 1e200), "long", "1e+200"),
        ((0, 1e-310), "short", "1e-310"),
    ],
)
def test_a_span_of_which_steps_are_no_numbers_is_called_that(span, kind, length):
    assert_says(
        st.StatementError,
        f"span is too {kind} for numbers.\n"
        f"  Found a length of {length}, expected 1e-290 to 1e+150.\n"
        "  Measure time in another unit.",
        run(span=span),
    )


@pytest.mark.parametrize("method", [st.Taylor, st.BDF, st.Runge, st.Variational])
def test_a_class_in_the_place_of_an_integrator_is_recognized(method):
    assert_says(
        st.StatementError,
        "method must be 'auto', Taylor(), BDF(), Runge() or Variational().\n"
        f"  Found the class {method.__name__}. Did you mean '{method.__name__}()'?\n"
        "  Pass 'auto' or an integrator, as in method=st.BDF().",
        run(method=method),
    )


def test_a_drag_whose_power_turns_out_to_be_below_one_is_refused_as_such():
    n = st.parameters(n=2.0)
    slowed = st.System(kinetic=x.dot**2 / 2, friction=[st.Drag(0.1, n, on=x, name="air")])
    assert st.simulate(slowed, span=(0, 1), start={x.dot: 1.0}).success
    assert_says(
        st.DerivationError,
        "simulate cannot honour friction 'air'.\n"
        "  It grows infinitely steep at rest (power below 1), as dry friction does: air: drag 0.1 "
        "|v|**n against v = d/dt x.\n"
        "  Choose coordinates that need no such term, or leave it out knowingly.",
        lambda: st.simulate(slowed, span=(0, 1), start={x.dot: 1.0}, params={n: 0.5}),
    )


def test_a_value_is_pointed_to_the_argument_that_takes_it():
    advice = {"params": "'m' is a parameter: give its value in params.",
              "inputs": "'F' is an input: give its course in inputs.",
              "start": "'x' is what moves: give its first value in start."}  # fmt: skip
    pushed = st.System(kinetic=m * x.dot**2 / 2, loads=[st.Load(F, on=x)])
    for name, right in (("m", "params"), ("F", "inputs"), ("x", "start")):
        for wrong in advice.keys() - {right}:
            with pytest.raises(st.StatementError) as caught:
                run(pushed, **{"inputs": {F: 0}, wrong: {name: 1}})()
            assert str(caught.value).endswith(advice[right])
    # What is asked for is no value that is given.
    with pytest.raises(st.StatementError) as caught:
        st.statics(st.System(potential=m * x**2 / 2), params={m: 1})["mass"]
    assert str(caught.value).endswith("The velocity of x is x.dot, or 'x.dot' by name.")
    with pytest.raises(st.StatementError, match=r"one instant of it, as in motion\.at\(1\.0\)"):
        run(start=run()())()


@pytest.mark.parametrize("what", ["start", "params", "inputs"])
def test_values_come_with_their_names(what):
    given: dict[str, Any] = {what: [1, 2]}
    assert_says(
        st.StatementError,
        f"{what} does not say which value is whose.\n"
        "  Found list: [1, 2]; expected a dictionary.\n"
        f"  Give symbols or names with their values, as in {what}={{'x': 1.0}}.",
        run(**given),
    )


# -- tables ---------------------------------------------------------------------------------------

#: By error and mistake: what is asked, and what is said.
MESSAGES: Messages = {
    st.StatementError: {
        "an unknown name in start is named with its nearest neighbour": (
            run(st.System(kinetic=theta1.dot**2), start={"theta2": 1.0}),
            "start names 'theta2', which is not a coordinate or a velocity of this system.\n"
            "  Coordinates: theta1. Did you mean 'theta1'?\n"
            "  The velocity of x is x.dot, or 'x.dot' by name.",
        ),
        "a misspelt velocity in start is named with its nearest neighbour": (
            run(start={"x.dott": 1.0}),
            "start names 'x.dott', which is not a coordinate or a velocity of this system.\n"
            "  Coordinates: x. Did you mean 'x.dot'?\n"
            "  The velocity of x is x.dot, or 'x.dot' by name.",
        ),
        "an acceleration cannot be started with": (
            run(start={x.ddot: 1.0}),
            "start gives the acceleration 'x.ddot'.\n"
            "  Expected coordinates and velocities.\n"
            "  Remove it: accelerations follow from the equations.",
        ),
        "a key is a symbol or a name": (
            run(start={x + 1: 1.0}),
            "'x + 1' cannot be used as a key.\n"
            "  Found Add, expected a symbol or a name.\n"
            "  Use the symbol itself, or its name as text.",
        ),
        "a span is a pair": (
            run(span="05"),
            "span is not a pair of times.\n"
            "  Found '05'.\n"
            "  Give the first and the last time, as in span=(0, 10).",
        ),
        "points is a number of times": (
            run(points=1),
            "points is not a number of output times.\n"
            "  Found 1, expected a whole number, 2 or more.\n"
            "  Give how many evenly spaced times to return, as in points=1001.",
        ),
        "points are what memory has room for": (
            run(points=10**9),
            "points are too many.\n"
            "  Found 1000000000, expected at most 12500000 for 1 coordinate(s).\n"
            "  Ask for fewer, as in points=1001.",
        ),
        "between two times there are as many instants as numbers": (
            run(span=(1e16, 1e16 + 2)),
            "span is too short beside the time at which it begins.\n"
            "  Found 1001 points between 10000000000000000 and 10000000000000002, which have "
            "numbers for 1 steps of time.\n"
            "  Begin at time 0, or ask for fewer points.",
        ),
        "an unknown method is named with its nearest neighbour": (
            run(method="taylr"),
            "method must be 'auto', Taylor(), BDF(), Runge() or Variational().\n"
            "  Found 'taylr'. Did you mean 'Taylor()'?\n"
            "  Pass 'auto' or an integrator, as in method=st.BDF().",
        ),
        "taylor series need smooth forces": (
            run(st.System(kinetic=x.dot**2 / 2, potential=sp.sinc(x)), method=st.Taylor()),
            "st.Taylor() needs smooth forces.\n"
            "  Found ==, Piecewise, not in the equations: a series does not see past a kink or a "
            "jump.\n"
            '  Use method="auto", st.Runge() or st.BDF().',
        ),
        "an input without a value is named": (
            run(driven),
            "input 'F' has no value.\n"
            "  Expected a number, an expression of st.t, coordinates and velocities, or samples.\n"
            "  Pass inputs={'F': …}.",
        ),
        "an unknown input is named": (
            run(driven, inputs={F: 0, "FF": 1}),
            "inputs names 'FF', which is not an input of this system.\n"
            "  Inputs: F. Did you mean 'F'?\n"
            "  Declare it with st.inputs and use it in a load.",
        ),
        "an input for a system without inputs is refused": (
            run(inputs={F: 0}),
            "inputs names 'F', which is not an input of this system.\n"
            "  Inputs: none.\n"
            "  Declare it with st.inputs and use it in a load.",
        ),
        "an input uses what the system knows": (
            run(driven, inputs={F: st.sin(sp.Symbol("omega") * st.t)}),
            "input 'F' uses 'omega', which this system does not know.\n"
            "  Known: st.t, x.\n"
            "  Replace it by its value, or declare it with one by st.parameters.",
        ),
        "samples must cover the span": (
            run(driven, inputs={F: ([0.0, 0.5], [1.0, 2.0])}),
            "the samples of input 'F' do not cover the span.\n"
            "  Found times from 0 to 0.5, expected 0 to 1.\n"
            "  Sample the whole span; nothing is extrapolated.",
        ),
        "the direction of an event is one of three": (
            lambda: st.Event(x, direction=2),
            "the direction of an event is 1 (upwards), −1 (downwards) or 0 (both).\n"
            "  Found 2.\n"
            "  Choose one of them.",
        ),
        "an event that cannot change its sign is refused": (
            lambda: st.Event(st.Abs(x - 4)),
            "the expression of an event never changes its sign, so that it never happens.\n"
            "  Found Abs(x - 4); expected one that passes through zero.\n"
            "  Subtract what it shall reach, as in st.Event(st.Abs(x) - 0.1).",
        ),
        "two events of one name are refused": (
            run(events=[st.Event(x, name="turn"), st.Event(x.dot, name="turn")]),
            "two events are called 'turn'.\n"
            "  Found one name for the times of both.\n"
            "  Give each a name of its own, or none.",
        ),
        "an event of a name that is not known is refused": (
            run(events=[st.Event(y)]),
            "an event names 'y', which is not a coordinate or a velocity of this system.\n"
            "  Coordinates: x.\n"
            "  The velocity of x is x.dot, or 'x.dot' by name.",
        ),
        "a class in the place of a stabilization is recognized": (
            run(stabilize=st.Projection),
            "stabilize must be Baumgarte() or Projection().\n"
            "  Found the class Projection.\n"
            "  Pass an object, as in stabilize=st.Baumgarte(alpha=50), or leave it out.",
        ),
    },
    st.DerivationError: {
        "a coordinate without inertia is named and pointed to quasistatics": (
            run(st.System(kinetic=x.dot**2, potential=x * y)),
            "the mass matrix is singular: no kinetic energy involves the velocity of 'y'.\n"
            "  Expected an inertia for each of the 2 coordinates.\n"
            "  Give 'y' a mass, constrain it, or use quasistatics().",
        ),
        "a kinetic energy that motion lowers is refused": (
            run(st.System(kinetic=x.dot**2 - y.dot**2)),
            "the kinetic energy is not convex in the velocities: moving 'y' lowers it.\n"
            "  Found the mass -2 along (y +1) at the start, expected all positive.\n"
            "  Check the signs of T and the values of the masses.",
        ),
        "an inertia that vanishes at the start is refused": (
            run(st.System(kinetic=x.dot**2 + x**2 * y.dot**2)),
            "the mass matrix is singular at the start: 'y' has no inertia there.\n"
            "  Found the mass 0 along (y +1), expected all positive.\n"
            "  Start elsewhere, choose other coordinates, give 'y' a mass, or use quasistatics().",
        ),
        "an inertia that is infinite at the start is refused": (
            run(st.System(kinetic=x.dot**2 / x**2)),
            "the kinetic energy is not finite at the start.\n"
            "  Found a mass matrix with entries [inf].\n"
            "  Start elsewhere, or check the parameters.",
        ),
    },
}


@mistakes(MESSAGES)
def test_the_message_is(kind, do, message):
    assert_says(kind, message, do)
