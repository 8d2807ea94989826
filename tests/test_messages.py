"""What is said when something is wrong, word for word.

Every message has three parts: what is wrong, in the user's own names; what was found and what was
expected; what to do.
"""

from typing import Any

import pytest
import sympy as sp

import stationary as st
from tests.checks import Messages, assert_says, mistakes
from tests.stated import F, L, k, m, oscillator, run, stated, theta1, x, y

# -- the statement --------------------------------------------------------------------------------


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


@pytest.mark.parametrize("keyword", ["kinetic", "potential"])
def test_an_input_has_no_place_in_an_energy(keyword):
    assert_says(
        st.StatementError,
        f"the {keyword} energy contains the input 'F'.\n"
        "  Found F; an energy cannot depend on what is decided later.\n"
        "  Put the input into work or loads.",
        stated(**{keyword: sp.S(F)}),
    )


@pytest.mark.parametrize(
    ("value", "found"), [(None, "NoneType: 'None'"), (True, "bool: 'True'"), ("x", "str: 'x'")]
)
def test_what_is_no_expression_is_not_an_energy(value, found):
    assert_says(
        st.StatementError,
        "the potential energy is not an expression.\n"
        f"  Found {found}; expected an expression of coordinates, parameters, inputs and st.t.\n"
        "  Build it from st.coordinates and st.parameters; text is not evaluated.",
        stated(potential=value),
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


# -- names, numbers and empty terms ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("declare", "kind"), [(st.coordinates, "a coordinate"), (st.inputs, "an input")]
)
@pytest.mark.parametrize("names", ["", " , ", "a,,b", 3])
def test_a_declaration_without_a_name_says_so(declare, kind, names):
    assert_says(
        st.StatementError,
        f"{names!r} holds no name of {kind}.\n"
        "  Expected names as text, separated by spaces or commas.\n"
        f"  Write them as in st.{declare.__name__}('a b').",
        lambda: declare(names),
    )


@pytest.mark.parametrize(("energy", "shown"), [(sp.I * x, "I*x"), (sp.sqrt(-(x**2)), "I*Abs(x)")])
def test_a_complex_energy_is_refused_where_it_is_stated(energy, shown):
    assert_says(
        st.StatementError,
        "the potential energy is not real.\n"
        f"  Found {shown}, which contains √−1.\n"
        "  Look for the root or the logarithm of a negative number.",
        stated(kinetic=x.dot**2, potential=energy),
    )


@pytest.mark.parametrize(
    ("term", "what"),
    [
        (lambda: st.Constraint(()), "a constraint"),
        (lambda: st.Pfaffian([]), "a Pfaffian constraint"),
        (lambda: st.Load((), on=()), "the force of a load"),
        (lambda: st.Friction(1, on=()), "what friction works on"),
    ],
)
def test_a_term_of_nothing_is_refused(term, what):
    empty = "[]" if "Pfaffian" in what else "()"
    assert_says(
        st.StatementError,
        f"{what} is empty.\n"
        f"  Found {empty}, expected one expression or several.\n"
        "  Give what it consists of, or leave the term out.",
        term,
    )


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"pfaffian": [st.Pfaffian(x.dot, name="p"), st.Pfaffian(y.dot, name="p")]}, "constraints"),
        ({"friction": [st.Friction(1, on=x, name="p"), st.Drag(1, 1, on=x, name="p")]},
         "friction terms"),
    ],
)  # fmt: skip
def test_two_terms_of_one_name_are_called_what_they_are(given, what):
    assert_says(
        st.StatementError,
        f"two {what} have the name 'p'.\n"
        "  Expected a name of its own for each.\n"
        "  Rename one, with name=…, or leave the names out.",
        stated(kinetic=x.dot**2 + y.dot**2, **given),
    )


def test_a_force_that_is_a_sum_stands_in_brackets():
    assert str(st.Load(k + m, on=x)) == "δW = (k + m) δ(x)"
    assert str(st.Load((k - m, k), on=(x, y))) == "δW = (k - m) δ(x) + k δ(y)"


# -- tables ---------------------------------------------------------------------------------------

#: By error and mistake: what is asked, and what is said.
MESSAGES: Messages = {
    st.StatementError: {
        "an undeclared symbol is named with its nearest neighbour": (
            stated(kinetic=L * theta1.dot**2, potential=k * sp.Symbol("theta2") ** 2),
            "potential energy uses 'theta2', which is not declared.\n"
            "  Declared: L, k, theta1. Did you mean 'theta1'?\n"
            "  Declare it: st.parameters('theta2') or st.coordinates('theta2').",
        ),
        "an undeclared symbol in a term names the term": (
            stated(loads=[st.Load(sp.Symbol("force"), on=x, name="push")]),
            "load 'push' uses 'force', which is not declared.\n"
            "  Declared: x.\n"
            "  Declare it: st.parameters('force') or st.coordinates('force').",
        ),
        "an acceleration has no place in an energy": (
            stated(kinetic=x.dot * x.ddot),
            "the kinetic energy contains the acceleration 'x.ddot'.\n"
            "  Expected coordinates, velocities, parameters, inputs and st.t.\n"
            "  Energies and loads depend on positions and velocities alone.",
        ),
        "an angle is no length of a body in the plane": (
            lambda: st.body(1, inertia=1, at=(x, theta1), angle=theta1),
            "the angle 'theta1' of a body stands among the lengths of its position.\n"
            "  Found at=(x, theta1), expected the place of its centre of mass alone.\n"
            "  Leave 'theta1' out of at, as in at=(X, Y).",
        ),
        "text is not an energy": (
            stated(kinetic="m*x.dot**2/2"),
            "the kinetic energy is not an expression.\n"
            "  Found str: 'm*x.dot**2/2'; expected an expression of coordinates, parameters, "
            "inputs and st.t.\n"
            "  Build it from st.coordinates and st.parameters; text is not evaluated.",
        ),
        "an infinite energy is refused": (
            stated(potential=sp.oo * x),
            "the potential energy is not finite.\n  Found oo*x.\n  Check its constants.",
        ),
        "two defaults of one parameter conflict": (
            stated(kinetic=m * x.dot**2, potential=st.parameters(m=2.0) * x),
            "parameter 'm' has two defaults.\n"
            "  Found 1.0 and 2.0.\n"
            "  Declare it once, or give the two different names.",
        ),
        "two defaults of one parameter conflict in a sum of systems": (
            lambda: oscillator + st.System(kinetic=st.parameters(m=2.0) * y.dot**2),
            "parameter 'm' has two defaults.\n"
            "  Found 1.0 and 2.0.\n"
            "  Declare it once, or give the two different names.",
        ),
        "one name cannot mean two things": (
            stated(potential=st.parameters("x") ** 2 * x),
            "'x' names two things.\n"
            "  Found a coordinate and a parameter of that name.\n"
            "  Rename one of them.",
        ),
        "one name cannot mean a coordinate and an input": (
            stated(loads=[st.Load(st.inputs("x"), on=x)]),
            "'x' names two things.\n"
            "  Found a coordinate and an input of that name.\n"
            "  Rename one of them.",
        ),
        "a load does not work on text": (
            lambda: st.Load(F, on="x"),
            "what a load works on is not an expression.\n"
            "  Found str: 'x'; expected an expression of coordinates, parameters, inputs and "
            "st.t.\n"
            "  Build it from st.coordinates and st.parameters; text is not evaluated.",
        ),
        "a force has as many entries as what it works on": (
            lambda: st.Load((F, F), on=x),
            "a load's force and what it works on must have the same number of entries.\n"
            "  Found 2 and 1.\n"
            "  Give both as expressions, or both as tuples of equal length.",
        ),
        "what is not a load is not among the loads": (
            stated(loads=[F]),
            "loads has an entry that is not one.\n"
            "  Found 'F', expected st.Load(…).\n"
            "  Pass a list of such terms.",
        ),
        "an equation is written as what vanishes": (
            stated(constraints=[sp.Eq(x, 2 * y)]),
            "constraints has an entry that is not one.\n"
            "  Found 'Eq(x, 2*y)', expected st.Constraint(…) or an expression.\n"
            "  Write what vanishes: x - 2*y.",
        ),
        "two symbols that differ are no constraint": (
            stated(constraints=[x == y]),
            "constraints has an entry that is not one.\n"
            "  Found 'False', expected st.Constraint(…) or an expression.\n"
            "  Write what vanishes, as x - y: == compares symbols.",
        ),
        "a matrix is no list": (
            stated(constraints=sp.Matrix([x - y])),
            "constraints has an entry that is not one.\n"
            "  Found 'Matrix([[x - y]])', expected st.Constraint(…) or an expression.\n"
            "  Pass its entries, as in list(…).",
        ),
        "an energy is one expression": (
            stated(kinetic=sp.Matrix([x.dot**2])),
            "the kinetic energy is not an expression.\n"
            "  Found MutableDenseMatrix: 'Matrix([[x.dot**2]])'; expected an expression of "
            "coordinates, parameters, inputs and st.t.\n"
            "  Give one expression; of an array take its one entry, as in T[0].",
        ),
        "a name is declared once": (
            lambda: st.coordinates("x y x"),
            "'x y x' has one name twice.\n  Found 'x' again.\n  Give every one its own.",
        ),
        "what has inertia has an angle": (
            lambda: st.body(m, inertia=1, at=(x, y)),
            "a body in the plane needs its angle.\n"
            "  Found inertia=1, and nothing that turns.\n"
            "  Give angle=phi, or state what does not turn as st.particle.",
        ),
        "a constraint with a velocity is pointed to pfaffian": (
            stated(constraints=[st.Constraint(x.dot - y, name="wheel")]),
            "constraint 'wheel' depends on the velocity 'x.dot'.\n"
            "  Expected R(q, t) = 0.\n"
            "  State it under pfaffian=[…] if it is linear in the velocities.",
        ),
        "a pfaffian constraint is linear in the velocities": (
            stated(pfaffian=[x.dot**2 - 1]),
            "Pfaffian constraint 'A1' is not linear in the velocities.\n"
            "  Found x.dot**2 - 1 = 0, expected A(q)·q̇ + b(q, t) = 0.\n"
            "  Solve it for a linear condition first.",
        ),
        "a pfaffian constraint without velocity is pointed to constraints": (
            stated(pfaffian=[x - 1]),
            "Pfaffian constraint 'A1' contains no velocity.\n"
            "  Found x - 1 = 0, expected A(q)·q̇ + b(q, t) = 0.\n"
            "  State it under constraints=[…] if it restricts the coordinates.",
        ),
        "two constraints of one name are refused": (
            stated(constraints=[st.Constraint(x, name="wall"), st.Constraint(y, name="wall")]),
            "two constraints have the name 'wall'.\n"
            "  Expected a name of its own for each.\n"
            "  Rename one, with name=…, or leave the names out.",
        ),
        "coordinates given must include those that are used": (
            stated(potential=theta1**2, coordinates=[x]),
            "coordinates leaves out 'theta1', which the energies or terms use.\n"
            "  Listed: x.\n"
            "  Add it, or leave coordinates out to have them found.",
        ),
        "coordinates given must be coordinates": (
            stated(coordinates=[x, k]),
            "'k' is listed among the coordinates and is not one.\n"
            "  Expected symbols made by st.coordinates.\n"
            "  Leave coordinates out to have them found.",
        ),
        "each needs a table": (
            lambda: st.each(lambda a: a),
            "each has nothing to repeat over.\n"
            "  Found no table.\n"
            "  Pass an array, as in st.each(lambda p: m*g*p[1], r).",
        ),
        "the ends of a spring live in one space": (
            lambda: st.spring(k, between=((0, 0), x)),
            "the two ends of a spring must live in one space.\n"
            "  Found 2 and 1 entries.\n"
            "  Give both as (X, Y), or both as (X, Y, Z).",
        ),
        "a mechanism has one inertia per coordinate": (
            lambda: st.mechanism(x=[x], inertia=[m, m]),
            "a mechanism needs one inertia for each coordinate.\n"
            "  Found 1 coordinates and 2 inertias.\n"
            "  Give both lists the same length.",
        ),
        "a parameter without a value is named": (
            run(st.System(kinetic=x.dot**2, potential=k * x**2)),
            "parameter 'k' has no value.\n"
            "  Expected one, since no default was declared.\n"
            "  Pass params={'k': …}, or declare st.parameters(k=…).",
        ),
        "an unknown parameter is named with its nearest neighbour": (
            run(params={"mm": 1.0}),
            "params names 'mm', which is not a parameter of this system.\n"
            "  Parameters: m. Did you mean 'm'?\n"
            "  Remove it, or use it in the statement.",
        ),
    },
}


@mistakes(MESSAGES)
def test_the_message_is(kind, do, message):
    assert_says(kind, message, do)


@pytest.mark.parametrize(
    "door",
    [
        lambda text: st.norm((text, x)),
        lambda text: st.Part("particle", ((text, 0),)),
        lambda text: st.Part("body", ((0, 0),), angle=text),
        lambda text: st.live(oscillator, start={x: 1.0}, span=(0, 1), show={"shown": text}),
    ],
)
def test_text_is_not_run_as_a_program(door, tmp_path):
    trace = tmp_path / "trace"
    with pytest.raises(st.StatementError, match="(?s)not an expression.*not evaluated") as e:
        door(f"open({str(trace)!r}, 'w')")
    assert not trace.exists() and len(str(e.value).splitlines()) == 3


# Nobody checks the types of what is called by this name: the mistakes are meant.
ANY: Any = st
_X = st.coordinates("x")
_ONE = st.System(kinetic=_X.dot**2 / 2)
MISSPELLED = {
    "another word": (lambda: ANY.simulate(_ONE, spam=(0, 1)), "Did you mean 'span'?"),
    "no name": (lambda: ANY.simulate(_ONE, (0, 1)), "as in span=…"),
    "nothing": (lambda: ANY.simulate(_ONE), "simulate is not given 'span'."),
    "an energy": (lambda: ANY.System(kinetic_energy=_X.dot**2), "Did you mean 'kinetic'?"),
    "a part": (lambda: ANY.particle(1, (_X, 0)), "Write the others with their names, as in at=…"),
    "a term": (lambda: ANY.Load(1), "Load is not given 'on'."),
}


@pytest.mark.parametrize("case", MISSPELLED)
def test_misspelled_arguments_are_told_in_three_parts(case):
    ask, words = MISSPELLED[case]
    with pytest.raises(TypeError) as error:
        ask()
    assert words in str(error.value) and len(str(error.value).splitlines()) == 3


MISTAKEN = {
    "times": (lambda: ANY.simulate(_ONE, span=(0, 1)).at("noon"), "not known at that time"),
    "box": (lambda: ANY.equilibria(_ONE, within=(-1, 1)), "expected a dictionary"),
    "shape": (lambda: ANY.coordinates("r", shape="a"), "expected positive whole numbers"),
    "defaults": (lambda: ANY.parameters({"m": 1}), "holds no name of a parameter"),
    "rows": (lambda: st.each(lambda a, b: a[0], st.coordinates("r", shape=(3, 2))), "one row"),
    "columns": (lambda: st.each(lambda a: a[7], st.coordinates("r", shape=(3, 2))), "one row"),
    "file": (lambda: ANY.load(5), "not the name of a file"),
    "model file": (lambda: ANY.statics("a.toml"), 'as in st.load("pendulum.toml")'),
    "start": (lambda: ANY.simulate(_ONE, span=(0, 1), start={_X: 1, "x": 2}), "'x' twice"),
    "values": (lambda: ANY.statics(oscillator, params={m: 1, "m": 1}), "'m' twice"),
    "limits": (lambda: ANY.equilibria(_ONE, within={_X: (0, 1), "x": (2, 3)}), "'x' twice"),
    "dissipation": (lambda: ANY.System(dissipation=_X**2), "nothing resists"),
    "repeated": (
        lambda: ANY.System(
            dissipation=st.each(lambda p: p[0] ** 2, st.coordinates("r", shape=(3, 2)))
        ),
        "nothing resists",
    ),
    "symbol": (lambda: ANY.System(kinetic=_X.dot**2 * sp.Symbol("x")), "not the one declared"),
    "event": (lambda: ANY.Event(_X < 2), "Write one side minus the other: x - 2."),
    "list": (
        lambda: st.equilibria(oscillator, within={x: (-1, 1)})[ANY.coordinates("x")],
        "one by one",
    ),
}


@pytest.mark.parametrize("wrong", [lambda s: 2 * s, lambda s: s / 2, lambda s: s - s, lambda s: -s])
def test_systems_add_and_nothing_else(wrong):
    with pytest.raises(TypeError, match="systems add, and nothing else") as error:
        wrong(_ONE)
    assert len(str(error.value).splitlines()) == 3


def test_a_derivative_of_sympy_is_told_how_it_is_written():
    x = st.coordinates("x")
    with pytest.raises(st.CompileError, match=r"Write x\.dot for the rate of x"):
        st.simulate(_ONE + st.System(potential=sp.Derivative(x, st.t)), span=(0, 1))


@pytest.mark.parametrize("case", MISTAKEN)
def test_what_beginners_mistake_is_told_in_three_parts(case):
    ask, words = MISTAKEN[case]
    with pytest.raises(st.StatementError) as error:
        ask()
    assert words in str(error.value) and len(str(error.value).splitlines()) == 3
