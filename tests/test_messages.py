"""What is said when something is wrong, word for word.

Every message has three parts: what is wrong, in the user's own names; what was found and what was
expected; what to do.
"""

import numpy as np
import pytest
import sympy as sp

import stationary as st
from tests.checks import assert_says

x, y, theta1 = st.coordinates("x y theta1")
m, L = st.parameters(m=1.0, L=0.5)
k = st.parameters("k")
F = st.inputs("F")

oscillator = st.System(kinetic=m * x.dot**2 / 2, potential=x**2 / 2)
driven = st.System(kinetic=x.dot**2 / 2, loads=[st.Load(F, on=x)])


def run(system=oscillator, span=(0, 1), **settings):
    return lambda: st.simulate(system, span=span, **settings)


def stated(**keywords):
    return lambda: st.System(**({"kinetic": x.dot**2 / 2} | keywords))


# -- the statement --------------------------------------------------------------------------------


def test_an_undeclared_symbol_is_named_with_its_nearest_neighbour():
    assert_says(
        st.StatementError,
        "potential energy uses 'theta2', which is not declared.\n"
        "  Declared: L, k, theta1. Did you mean 'theta1'?\n"
        "  Declare it: st.parameters('theta2') or st.coordinates('theta2').",
        stated(kinetic=L * theta1.dot**2, potential=k * sp.Symbol("theta2") ** 2),
    )


def test_an_undeclared_symbol_in_a_term_names_the_term():
    assert_says(
        st.StatementError,
        "load 'push' uses 'force', which is not declared.\n"
        "  Declared: x.\n"
        "  Declare it: st.parameters('force') or st.coordinates('force').",
        stated(loads=[st.Load(sp.Symbol("force"), on=x, name="push")]),
    )


def test_an_undeclared_symbol_inside_each_is_found():
    r = st.coordinates("r", shape=(3, 2))
    assert_says(
        st.StatementError,
        "potential energy uses 'w', which is not declared.\n"
        "  Declared: r.\n"
        "  Declare it: st.parameters('w') or st.coordinates('w').",
        lambda: st.System(potential=st.each(lambda p: sp.Symbol("w") * p[0], r)),
    )


@pytest.mark.parametrize(
    ("keyword", "name"), [("potential", "the potential energy"), ("work", "the work")]
)
def test_a_velocity_has_no_place_in_potential_energy_or_work(keyword, name):
    assert_says(
        st.StatementError,
        f"{name} contains the velocity 'x.dot'.\n"
        "  Found x.dot**2; expected an expression of coordinates and st.t.\n"
        "  Put what depends on velocities into kinetic, dissipation or loads.",
        stated(**{keyword: x.dot**2}),
    )


def test_a_velocity_has_no_place_in_a_repeated_potential_energy():
    r = st.coordinates("r", shape=(3, 2))
    assert_says(
        st.StatementError,
        "the potential energy contains the velocity 'r[i,0].dot'.\n"
        "  Found r[i,0].dot**2; expected an expression of coordinates and st.t.\n"
        "  Put what depends on velocities into kinetic, dissipation or loads.",
        lambda: st.System(potential=st.each(lambda v: v[0] ** 2, r.dot)),
    )


def test_an_acceleration_has_no_place_in_an_energy():
    assert_says(
        st.StatementError,
        "the kinetic energy contains the acceleration 'x.ddot'.\n"
        "  Expected coordinates, velocities, parameters, inputs and st.t.\n"
        "  Energies and loads depend on positions and velocities alone.",
        stated(kinetic=x.dot * x.ddot),
    )


@pytest.mark.parametrize("keyword", ["kinetic", "potential"])
def test_an_input_has_no_place_in_an_energy(keyword):
    assert_says(
        st.StatementError,
        f"the {keyword} energy contains the input 'F'.\n"
        "  Found F; an energy cannot depend on what is decided later.\n"
        "  Put the input into work or loads.",
        stated(**{keyword: sp.S(F)}),
    )


def test_text_is_not_an_energy():
    assert_says(
        st.StatementError,
        "the kinetic energy is not an expression.\n"
        "  Found str: 'm*x.dot**2/2'; expected an expression of coordinates, parameters, inputs "
        "and st.t.\n"
        "  Build it from st.coordinates and st.parameters; text is not evaluated.",
        stated(kinetic="m*x.dot**2/2"),
    )


@pytest.mark.parametrize(
    ("value", "found"), [(None, "NoneType: 'None'"), (True, "bool: 'True'"), ([x], "list: '[x]'")]
)
def test_what_is_no_expression_is_not_an_energy(value, found):
    assert_says(
        st.StatementError,
        "the potential energy is not an expression.\n"
        f"  Found {found}; expected an expression of coordinates, parameters, inputs and st.t.\n"
        "  Build it from st.coordinates and st.parameters; text is not evaluated.",
        stated(potential=value),
    )


def test_an_infinite_energy_is_refused():
    assert_says(
        st.StatementError,
        "the potential energy is not finite.\n  Found oo*x.\n  Check its constants.",
        stated(potential=sp.oo * x),
    )


def test_two_defaults_of_one_parameter_conflict():
    assert_says(
        st.StatementError,
        "parameter 'm' has two defaults.\n"
        "  Found 1.0 and 2.0.\n"
        "  Declare it once, or give the two different names.",
        stated(kinetic=m * x.dot**2, potential=st.parameters(m=2.0) * x),
    )


def test_two_defaults_of_one_parameter_conflict_in_a_sum_of_systems():
    assert_says(
        st.StatementError,
        "parameter 'm' has two defaults.\n"
        "  Found 1.0 and 2.0.\n"
        "  Declare it once, or give the two different names.",
        lambda: oscillator + st.System(kinetic=st.parameters(m=2.0) * y.dot**2),
    )


def test_one_name_cannot_mean_two_things():
    assert_says(
        st.StatementError,
        "'x' names two things.\n"
        "  Found a coordinate and a parameter of that name.\n"
        "  Rename one of them.",
        stated(potential=st.parameters("x") ** 2 * x),
    )


def test_one_name_cannot_mean_a_coordinate_and_an_input():
    assert_says(
        st.StatementError,
        "'x' names two things.\n"
        "  Found a coordinate and an input of that name.\n"
        "  Rename one of them.",
        stated(loads=[st.Load(st.inputs("x"), on=x)]),
    )


@pytest.mark.parametrize(
    ("on", "shown", "found"),
    [(x.dot, "x.dot", "a velocity"), (k, "k", "no coordinate"), (3, "3", "no coordinate")],
    ids=str,
)
def test_a_load_works_on_an_expression_of_the_coordinates(on, shown, found):
    assert_says(
        st.StatementError,
        f"load 'push' works on '{shown}', which is not an expression of the coordinates.\n"
        f"  Found {found} in it; expected a position or an angle, as in st.Load(F, on=x + "
        "l*st.sin(theta)).\n"
        "  Say what moves when the load does work.",
        stated(loads=[st.Load(F, on=on, name="push")]),
    )


def test_a_load_does_not_work_on_text():
    assert_says(
        st.StatementError,
        "what a load works on is not an expression.\n"
        "  Found str: 'x'; expected an expression of coordinates, parameters, inputs and st.t.\n"
        "  Build it from st.coordinates and st.parameters; text is not evaluated.",
        lambda: st.Load(F, on="x"),
    )


def test_a_force_has_as_many_entries_as_what_it_works_on():
    assert_says(
        st.StatementError,
        "a load's force and what it works on must have the same number of entries.\n"
        "  Found 2 and 1.\n"
        "  Give both as expressions, or both as tuples of equal length.",
        lambda: st.Load((F, F), on=x),
    )


def test_what_is_not_a_load_is_not_among_the_loads():
    assert_says(
        st.StatementError,
        "loads has an entry that is not one.\n"
        "  Found 'F', expected st.Load(…).\n"
        "  Pass a list of such terms.",
        stated(loads=[F]),
    )


def test_a_constraint_with_a_velocity_is_pointed_to_pfaffian():
    assert_says(
        st.StatementError,
        "constraint 'wheel' depends on the velocity 'x.dot'.\n"
        "  Expected R(q, t) = 0.\n"
        "  State it under pfaffian=[…] if it is linear in the velocities.",
        stated(constraints=[st.Constraint(x.dot - y, name="wheel")]),
    )


@pytest.mark.parametrize(
    ("R", "found"),
    [
        (k - 1, "k - 1 = 0, which is free of them"),
        (x - x, "0 = 0, which is always true"),
        (sp.S.One, "1 = 0, which is never true"),
    ],
    ids=str,
)
def test_a_constraint_without_a_coordinate_constrains_nothing(R, found):
    assert_says(
        st.StatementError,
        "constraint 'R1' contains no coordinate.\n"
        f"  Found {found}.\n"
        "  Remove it, or write it in terms of the coordinates.",
        stated(constraints=[R]),
    )


def test_a_pfaffian_constraint_is_linear_in_the_velocities():
    assert_says(
        st.StatementError,
        "Pfaffian constraint 'A1' is not linear in the velocities.\n"
        "  Found x.dot**2 - 1 = 0, expected A(q)·q̇ + b(q, t) = 0.\n"
        "  Solve it for a linear condition first.",
        stated(pfaffian=[x.dot**2 - 1]),
    )


def test_a_pfaffian_constraint_without_velocity_is_pointed_to_constraints():
    assert_says(
        st.StatementError,
        "Pfaffian constraint 'A1' contains no velocity.\n"
        "  Found x - 1 = 0, expected A(q)·q̇ + b(q, t) = 0.\n"
        "  State it under constraints=[…] if it restricts the coordinates.",
        stated(pfaffian=[x - 1]),
    )


def test_two_constraints_of_one_name_are_refused():
    assert_says(
        st.StatementError,
        "two constraints have the name 'wall'.\n"
        "  Expected a name of its own for each.\n"
        "  Rename one, with name=…, or leave the names out.",
        stated(constraints=[st.Constraint(x, name="wall"), st.Constraint(y, name="wall")]),
    )


def test_coordinates_given_must_include_those_that_are_used():
    assert_says(
        st.StatementError,
        "coordinates leaves out 'theta1', which the energies or terms use.\n"
        "  Listed: x.\n"
        "  Add it, or leave coordinates out to have them found.",
        stated(potential=theta1**2, coordinates=[x]),
    )


def test_coordinates_given_must_be_coordinates():
    assert_says(
        st.StatementError,
        "'k' is listed among the coordinates and is not one.\n"
        "  Expected symbols made by st.coordinates.\n"
        "  Leave coordinates out to have them found.",
        stated(coordinates=[x, k]),
    )


@pytest.mark.parametrize("name", ["t", "a-b", "r[0]", "x.dot"])
def test_a_name_is_a_word_and_not_t(name):
    assert_says(
        st.StatementError,
        f"'{name}' cannot name a coordinate.\n"
        "  Names are letters, digits and underscores; 't' is time.\n"
        "  Choose another name.",
        lambda: st.coordinates(name),
    )


@pytest.mark.parametrize(("value", "shown"), [("heavy", "'heavy'"), (float("nan"), "nan")])
def test_a_default_is_a_number(value, shown):
    assert_says(
        st.StatementError,
        "the default of parameter 'mass' is not a number.\n"
        f"  Found {shown}.\n"
        "  Give a finite number, or leave the default out: st.parameters('mass').",
        lambda: st.parameters(mass=value),
    )


# -- repetition -----------------------------------------------------------------------------------


def test_tables_of_each_have_equally_many_rows():
    r = st.coordinates("r", shape=(3, 2))
    assert_says(
        st.StatementError,
        "the tables of each must have the same number of rows, one or more.\n"
        "  Found 3, 2 rows.\n"
        "  Slice them to equal length, as in st.each(f, r[:-1], r[1:]).",
        lambda: st.each(lambda a, b: a[0] * b[0], r, r[1:]),
    )


def test_each_needs_a_table():
    assert_says(
        st.StatementError,
        "each has nothing to repeat over.\n"
        "  Found no table.\n"
        "  Pass an array, as in st.each(lambda p: m*g*p[1], r).",
        lambda: st.each(lambda a: a),
    )


def test_the_function_of_each_returns_something_to_repeat():
    r = st.coordinates("r", shape=(3, 2))
    assert_says(
        st.StatementError,
        "the function given to each returns nothing that can be repeated.\n"
        "  Found None, expected an expression, a tuple of expressions, or a term such as "
        "st.Friction(…).\n"
        "  Return it from the function.",
        lambda: st.each(lambda p: None, r),
    )


@pytest.mark.parametrize("change", [lambda e: e**2, st.sin, lambda e: 1 / e])
def test_a_function_of_a_sum_is_refused(change):
    r = st.coordinates("r", shape=(3, 2))
    changed = change(st.each(lambda p: p[0] ** 2, r))
    assert_says(
        st.StatementError,
        "the potential takes a repetition that is not a plain sum.\n"
        f"  Found {changed}; expected one expression per row, added or scaled.\n"
        "  Move the function, the power or the product inside st.each.",
        lambda: st.System(potential=changed),
    )


# -- parts ----------------------------------------------------------------------------------------


def test_the_ends_of_a_spring_live_in_one_space():
    assert_says(
        st.StatementError,
        "the two ends of a spring must live in one space.\n"
        "  Found 2 and 1 entries.\n"
        "  Give both as (X, Y), or both as (X, Y, Z).",
        lambda: st.spring(k, between=((0, 0), x)),
    )


def test_a_mechanism_has_one_inertia_per_coordinate():
    assert_says(
        st.StatementError,
        "a mechanism needs one inertia for each coordinate.\n"
        "  Found 1 coordinates and 2 inertias.\n"
        "  Give both lists the same length.",
        lambda: st.mechanism(x=[x], inertia=[m, m]),
    )


# -- parameters and starts ------------------------------------------------------------------------


def test_a_parameter_without_a_value_is_named():
    assert_says(
        st.StatementError,
        "parameter 'k' has no value.\n"
        "  Expected one, since no default was declared.\n"
        "  Pass params={'k': …}, or declare st.parameters(k=…).",
        run(st.System(kinetic=x.dot**2, potential=k * x**2)),
    )


def test_an_unknown_parameter_is_named_with_its_nearest_neighbour():
    assert_says(
        st.StatementError,
        "params names 'mm', which is not a parameter of this system.\n"
        "  Parameters: m. Did you mean 'm'?\n"
        "  Remove it, or use it in the statement.",
        run(params={"mm": 1.0}),
    )


@pytest.mark.parametrize(("value", "shown"), [(float("nan"), "'nan'"), ("heavy", "'heavy'")])
def test_the_value_of_a_parameter_is_a_number(value, shown):
    assert_says(
        st.StatementError,
        f"the value of parameter 'm' is not a finite number.\n  Found {shown}.\n  Give a number.",
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


@pytest.mark.parametrize("value", ["fast", None, m], ids=str)
def test_a_start_that_is_no_number_is_named(value):
    assert_says(
        st.StatementError,
        "start of 'x' is not a number or an array of numbers.\n"
        f"  Found '{value}', expected shape ().\n"
        "  Give numbers, in SI units and radians.",
        run(start={x: value}),
    )


def test_an_unknown_name_in_start_is_named_with_its_nearest_neighbour():
    assert_says(
        st.StatementError,
        "start names 'theta2', which is not a coordinate or a velocity of this system.\n"
        "  Coordinates: theta1. Did you mean 'theta1'?\n"
        "  The velocity of x is x.dot, or 'x.dot' by name.",
        run(st.System(kinetic=theta1.dot**2), start={"theta2": 1.0}),
    )


def test_a_misspelt_velocity_in_start_is_named_with_its_nearest_neighbour():
    assert_says(
        st.StatementError,
        "start names 'x.dott', which is not a coordinate or a velocity of this system.\n"
        "  Coordinates: x. Did you mean 'x.dot'?\n"
        "  The velocity of x is x.dot, or 'x.dot' by name.",
        run(start={"x.dott": 1.0}),
    )


def test_an_acceleration_cannot_be_started_with():
    assert_says(
        st.StatementError,
        "start gives the acceleration 'x.ddot'.\n"
        "  Expected coordinates and velocities.\n"
        "  Remove it: accelerations follow from the equations.",
        run(start={x.ddot: 1.0}),
    )


def test_a_key_is_a_symbol_or_a_name():
    assert_says(
        st.StatementError,
        "'x + 1' cannot be used as a key.\n"
        "  Found Add, expected a symbol or a name.\n"
        "  Use the symbol itself, or its name as text.",
        run(start={x + 1: 1.0}),
    )


# -- inertia --------------------------------------------------------------------------------------


def test_a_coordinate_without_inertia_is_named_and_pointed_to_quasistatics():
    assert_says(
        st.DerivationError,
        "the mass matrix is singular: no kinetic energy involves the velocity of 'y'.\n"
        "  Expected an inertia for each of the 2 coordinates.\n"
        "  Give 'y' a mass, constrain it, or use quasistatics().",
        run(st.System(kinetic=x.dot**2, potential=x * y)),
    )


def test_a_kinetic_energy_that_motion_lowers_is_refused():
    assert_says(
        st.DerivationError,
        "the kinetic energy is not convex in the velocities: moving 'y' lowers it.\n"
        "  Found the mass -2 along (y -1) at the start, expected all positive.\n"
        "  Check the signs of T and the values of the masses.",
        run(st.System(kinetic=x.dot**2 - y.dot**2)),
    )


def test_an_inertia_that_vanishes_at_the_start_is_refused():
    assert_says(
        st.DerivationError,
        "the mass matrix is singular at the start: 'y' has no inertia there.\n"
        "  Found the mass 0 along (y -1), expected all positive.\n"
        "  Start elsewhere, choose other coordinates, give 'y' a mass, or use quasistatics().",
        run(st.System(kinetic=x.dot**2 + x**2 * y.dot**2)),
    )


def test_an_inertia_that_is_infinite_at_the_start_is_refused():
    assert_says(
        st.DerivationError,
        "the kinetic energy is not finite at the start.\n"
        "  Found a mass matrix with entries [inf].\n"
        "  Start elsewhere, or check the parameters.",
        run(st.System(kinetic=x.dot**2 / x**2)),
    )


# -- what simulate cannot honour ------------------------------------------------------------------

REFUSED = [
    (
        {"friction": [st.Drag(1, sp.Rational(1, 2), on=x, name="paint")]},
        "friction 'paint'",
        "grows infinitely steep at rest (power below 1), as dry friction does: "
        "paint: drag 1 |v|**1/2 against v = d/dt x",
    ),
    (
        {"friction": [st.Friction(m, on=x, name="table")]},
        "friction 'table'",
        "is dry friction, which sticks and slips; simulate does not follow that yet: "
        "table: friction up to m against d/dt x",
    ),
    (
        {"contacts": [st.Contact(x, name="floor")]},
        "contact 'floor'",
        "opens and closes, which simulate does not follow yet: floor: x ≥ 0",
    ),
]


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
        friction=st.each(lambda p: st.Friction(1, on=p), r, name="table"),
    )
    assert_says(
        st.DerivationError,
        "simulate cannot honour friction 'table'.\n"
        "  It is dry friction, which sticks and slips; simulate does not follow that yet: "
        "table: friction up to 1 against d/dt (r[i,0], r[i,1]).\n"
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


def test_a_span_is_a_pair():
    assert_says(
        st.StatementError,
        "span is not a pair of times.\n"
        "  Found 10.\n"
        "  Give the first and the last time, as in span=(0, 10).",
        run(span=10),
    )


def test_points_is_a_number_of_times():
    assert_says(
        st.StatementError,
        "points is not a number of output times.\n"
        "  Found 1, expected a whole number, 2 or more.\n"
        "  Give how many evenly spaced times to return, as in points=1001.",
        run(points=1),
    )


def test_an_unknown_method_is_named_with_its_nearest_neighbour():
    assert_says(
        st.StatementError,
        "method must be 'auto', Taylor(), BDF(), Runge() or Variational(); got 'taylr'.\n"
        "  Did you mean 'Taylor()'?\n"
        "  Pass 'auto' or an integrator, as in method=st.BDF().",
        run(method="taylr"),
    )


def test_taylor_series_need_smooth_forces():
    assert_says(
        st.StatementError,
        "st.Taylor() needs smooth forces.\n"
        "  Found sign in the equations: a series does not see past a kink or a jump.\n"
        '  Use method="auto", st.Runge() or st.BDF().',
        run(st.System(kinetic=x.dot**2 / 2, potential=st.Abs(x)), method=st.Taylor()),
    )


def test_a_function_without_numerical_counterpart_is_named():
    with pytest.raises(st.CompileError) as caught:
        st.compile(st.System(potential=sp.zeta(x))).potential([1.0])
    what, found, remedy = str(caught.value).splitlines()
    assert what == "'zeta(x)' has no numerical counterpart."
    assert found.startswith("  Found zeta; known: Abs, And, Equality, ")
    assert found.endswith("sinc, sinh, tan, tanh.")
    assert remedy == "  Rewrite the expression with these functions."


# -- inputs ---------------------------------------------------------------------------------------


def test_an_input_without_a_value_is_named():
    assert_says(
        st.StatementError,
        "input 'F' has no value.\n"
        "  Expected a number, an expression of st.t, coordinates and velocities, or samples.\n"
        "  Pass inputs={'F': …}.",
        run(driven),
    )


def test_an_unknown_input_is_named():
    assert_says(
        st.StatementError,
        "inputs names 'FF', which is not an input of this system.\n"
        "  Inputs: F. Did you mean 'F'?\n"
        "  Declare it with st.inputs and use it in a load.",
        run(driven, inputs={F: 0, "FF": 1}),
    )


def test_an_input_for_a_system_without_inputs_is_refused():
    assert_says(
        st.StatementError,
        "inputs names 'F', which is not an input of this system.\n"
        "  Inputs: none.\n"
        "  Declare it with st.inputs and use it in a load.",
        run(inputs={F: 0}),
    )


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


def test_an_input_uses_what_the_system_knows():
    assert_says(
        st.StatementError,
        "input 'F' uses 'omega', which this system does not know.\n"
        "  Known: st.t, x.\n"
        "  Replace it by its value.",
        run(driven, inputs={F: st.sin(sp.Symbol("omega") * st.t)}),
    )


def test_samples_must_cover_the_span():
    assert_says(
        st.StatementError,
        "the samples of input 'F' do not cover the span.\n"
        "  Found times from 0 to 0.5, expected 0 to 1.\n"
        "  Sample the whole span; nothing is extrapolated.",
        run(driven, inputs={F: ([0.0, 0.5], [1.0, 2.0])}),
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


# -- motions --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def motion():
    return st.simulate(oscillator, span=(0, 1), start={x: 1.0}, points=3)


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
        "  Found array(2.), expected times from 0 to 1.\n"
        "  Simulate a longer span.",
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


def test_the_direction_of_an_event_is_one_of_three():
    assert_says(
        st.StatementError,
        "the direction of an event is 1 (upwards), −1 (downwards) or 0 (both).\n"
        "  Found 2.\n"
        "  Choose one of them.",
        lambda: st.Event(x, direction=2),
    )


def test_an_event_of_a_name_that_is_not_known_is_refused():
    assert_says(
        st.StatementError,
        "an event names 'y', which is not a coordinate or a velocity of this system.\n"
        "  Coordinates: x.\n"
        "  The velocity of x is x.dot, or 'x.dot' by name.",
        run(events=[st.Event(y)]),
    )


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
