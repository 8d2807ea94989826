"""What the parser says, word for word, for the mistakes that people make."""

from typing import Any

import pytest

import stationary as st

MODEL = """name = "pendulum"
coordinates = ["theta"]
inputs = ["tau"]

[parameters]
m = "1 kg"
l = "50 cm"

[energies]
kinetic = "m*l^2*theta'^2/2"
potential = "m*9.81*l*(1 - cos(theta))"

[[loads]]
force = "tau"
on = "theta"

[start]
theta = 2

[simulate]
span = [0, 20]
"""


def said(old: str, new: str) -> str:
    assert MODEL.count(old) == 1
    with pytest.raises(st.StatementError) as caught:
        st.load(MODEL.replace(old, new))
    return str(caught.value)


def test_the_model_itself_is_good():
    assert st.load(MODEL).system.name == "pendulum"


POTENTIAL = "m*9.81*l*(1 - cos(theta))"

#: By mistake: what is right, what stands in its place, and what is said.
MESSAGES = {
    "missing operator": (POTENTIAL, "m l*cos(theta)", """\
model:11:14: an operator is missing between 'm' and 'l'.
   11 | potential = "m l*cos(theta)"
      |              ^^^
  Found 'm l'.
  Write m*l for a product."""),
    "number before a name": (POTENTIAL, "2m", """\
model:11:14: an operator is missing between '2' and 'm'.
   11 | potential = "2m"
      |              ^^
  Found '2m'.
  Write 2*m for a product."""),
    "unknown function": (POTENTIAL, "m*arccos(theta)", """\
model:11:16: 'arccos' is not a known function.
   11 | potential = "m*arccos(theta)"
      |                ^^^^^^
  Known: sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, exp, log, sqrt, \
sign, erf, floor, atan2, abs, ceil, step, min, max, norm, rate, if.
  Did you mean 'acos'?"""),
    "unbalanced bracket": (POTENTIAL, "m*(1 - cos(theta)", """\
model:11:16: a bracket is opened and never closed.
   11 | potential = "m*(1 - cos(theta)"
      |                ^
  Found '(' without ')'.
  Add ')'."""),
    "bracket too many": (POTENTIAL, "m*cos(theta))", """\
model:11:26: a bracket is closed that was never opened.
   11 | potential = "m*cos(theta))"
      |                          ^
  Found ')'.
  Remove it, or add the one that opens."""),
    "undeclared name": (POTENTIAL, "m*cos(thet)", """\
model:11:20: 'thet' is not declared.
   11 | potential = "m*cos(thet)"
      |                    ^^^^
  Declared: theta, m, l, tau.
  Did you mean 'theta'?"""),
    "velocity in the potential energy": (POTENTIAL, "m*theta'^2", """\
model:11:16: the potential energy contains a velocity.
   11 | potential = "m*theta'^2"
      |                ^^^^^^
  Expected an expression of coordinates and t.
  Put what depends on velocities into kinetic, dissipation or loads."""),
    "input in an energy": (POTENTIAL, "tau*theta", """\
model:11:14: the potential energy contains the input 'tau'.
   11 | potential = "tau*theta"
      |              ^^^
  It cannot depend on what is decided later.
  Put the input into work or loads."""),
    "wrong table": ("[parameters]", "[paramters]", """\
model:5:1: [paramters] is not a table of a model file.
    5 | [paramters]
      | ^^^^^^^^^^^
  Known: name, about, coordinates, rotations, inputs, parameters, definitions, energies, loads, \
friction, constraints, pfaffian, contacts, each, parts, drawing, mechanism, fields, densities, \
fixed, discretize, start, simulate, statics, \
equilibria, linearize, continue, slide, modes, bounds, weigh.
  Did you mean 'parameters'?"""),
    "duplicate key": ('l = "50 cm"', 'm = "50 cm"', """\
model:7:1: 'm' is given twice.
    7 | m = "50 cm"
      | ^
  Found 'parameters.m' in line 6 already.
  Remove one of the two."""),
    "duplicate table": ("[start]", "[energies]", """\
model:17:1: 'energies' is given twice.
   17 | [energies]
      | ^^^^^^^^^^
  Found 'energies' in line 9 already.
  Remove one of the two."""),
    "text without quotes": ('"m*l^2*theta\'^2/2"', "m*l^2", """\
model:10:11: the value of 'kinetic' is text without quotes.
   10 | kinetic = m*l^2
      |           ^^^^^
  Found m*l^2.
  Put expressions, and values with units, in quotes, as in "m*x'^2/2" or "5 cm"."""),
    "a unit without quotes": ("theta = 2", "theta = 30deg", """\
model:18:9: the value of 'theta' is text without quotes.
   18 | theta = 30deg
      |         ^^^^^
  Found 30deg.
  Put expressions, and values with units, in quotes, as in "m*x'^2/2" or "5 cm"."""),
    "a velocity without quotes": ("theta = 2", "theta' = 2", """\
model:18:1: a key has no value.
   18 | theta' = 2
      | ^^^^^
  Found 'theta' without '=' after it.
  Put a velocity in quotes, as in "theta'" = 1."""),
    "the start of a parameter": ("theta = 2", "m = 2", """\
model:18:1: 'm' is not a coordinate.
   18 | m = 2
      | ^
  Coordinates: theta.
  Give its value in [parameters]."""),
    "an expression with a unit": ('"1 kg"', '"2*0.5 kg"', """\
model:6:5: parameter 'm' is no number with a unit.
    6 | m = "2*0.5 kg"
      |     ^^^^^^^^^^
  Found '2*0.5 kg'.
  Write one number before kg, or an expression of numbers alone."""),
    "one point is no course": ("span = [0, 20]", "span = [0, 20]\npoints = 1", """\
model:22:10: 'points' is not a whole number in range.
   22 | points = 1
      |          ^
  Found 1, expected 2 to 1000000.
  Write one from 2 to 1000000, without a point."""),
    "quote that is not closed": ('"50 cm"', '"50 cm', """\
model:7:5: a quote is opened and never closed.
    7 | l = "50 cm
      |     ^^^^^^
  Found no " on the same line.
  Add " at the end of the text."""),
    "missing operand": (POTENTIAL, "m*9.81*", """\
model:11:20: something is missing after '*'.
   11 | potential = "m*9.81*"
      |                    ^
  Found the end of the expression, expected a number, a name or a function.
  Complete the expression."""),
    "function without brackets": (POTENTIAL, "m*cos theta", """\
model:11:16: the function 'cos' has no argument.
   11 | potential = "m*cos theta"
      |                ^^^
  Expected a bracket after it.
  Write cos(theta)."""),
    "bracket behind a name": (POTENTIAL, "m(1 - cos(theta))", """\
model:11:14: 'm' is not a function.
   11 | potential = "m(1 - cos(theta))"
      |              ^
  Found a bracket directly after it.
  Write m*(…) for a product."""),
    "acceleration": ("theta'^2", "theta''", """\
model:10:18: an acceleration cannot stand in a statement.
   10 | kinetic = "m*l^2*theta''/2"
      |                  ^^^^^^^
  Found the rate of a velocity.
  Energies and loads depend on positions and velocities alone."""),
    "velocity of a parameter": ("theta'^2", "m'^2", """\
model:10:18: 'm' is a parameter and has no velocity.
   10 | kinetic = "m*l^2*m'^2/2"
      |                  ^^
  Only coordinates and definitions have one.
  Remove the ' or .dot."""),
    "decimal comma": (POTENTIAL, "9,81*theta", """\
model:11:15: a comma stands in a number.
   11 | potential = "9,81*theta"
      |               ^
  Found ',' between digits.
  Write a decimal point."""),
    "unknown unit": ("50 cm", "50 yards", """\
model:7:5: 'yards' is not a known unit.
    7 | l = "50 yards"
      |     ^^^^^^^^^^
  Known: m, g, s, N, J, W, Pa, Hz, rad, deg, °, rev, rpm, min, h, L, t, 1, %, in, ft, lb, lbf, \
with prefixes, products, quotients and powers.
  Did you mean 'rad'?"""),
    "start of what is no coordinate": ("theta = 2", "teta = 2", """\
model:18:1: 'teta' is not a coordinate.
   18 | teta = 2
      | ^^^^
  Coordinates: theta.
  Did you mean 'theta'?"""),
    "energy at the top of the file": ('inputs = ["tau"]', 'inputs = ["tau"]\nkinetic = "m"', """\
model:4:1: 'kinetic' is not a key of a model file.
    4 | kinetic = "m"
      | ^^^^^^^
  Known: name, about, coordinates, rotations, inputs, parameters, definitions, energies, loads, \
friction, constraints, pfaffian, contacts, each, parts, drawing, mechanism, fields, densities, \
fixed, discretize, start, simulate, statics, \
equilibria, linearize, continue, slide, modes, bounds, weigh.
  Move it into [energies]."""),
    "expression among the parameters": ('l = "50 cm"', 'l = "2*m"', """\
model:7:8: parameter 'l' contains 'm'.
    7 | l = "2*m"
      |        ^
  Expected a number.
  Write a number; expressions stand in [definitions]."""),
    "velocity of a coordinate with a value": ("theta = 2", "theta = 2\ntheta.dot = 1", """\
model:19:1: 'theta' is given a value and entries of its own.
   19 | theta.dot = 1
      | ^^^^^^^^^
  TOML reads theta.dot as an entry inside a table.
  Put names with a dot in quotes, as in "theta.dot" = 1."""),
    "value with a unit without quotes": ('"50 cm"', "50 cm", """\
model:7:8: there is something after the value.
    7 | l = 50 cm
      |        ^^
  Found 'cm'.
  Put a value with its unit in quotes, a remark behind '#', and another key on a new line."""),
    "missing key of a load": ('on = "theta"\n', "", """\
model:13:1: an entry of loads has no 'on'.
   13 | [[loads]]
      | ^^^^^^^^^
  Expected force, on.
  Add on = …."""),
    "unknown key of a load": ('on = "theta"', 'onto = "theta"', """\
model:15:1: 'onto' is not a key of [[loads]].
   15 | onto = "theta"
      | ^^^^
  Known: force, on, name, rows, table.
  Did you mean 'on'?"""),
    "reversed span": ("span = [0, 20]", "span = [20, 0]", """\
model:21:8: the span is empty or reversed.
   21 | span = [20, 0]
      |        ^^^^^^^
  Found 20 and 0.
  Give the smaller end first."""),
    "what the system itself refuses": ('on = "theta"', 'on = "m"\nname = "push"', """\
model:15:6: load 'push' works on 'm', which is not an expression of the coordinates.
   15 | on = "m"
      |      ^^^
  Found no coordinate in it; expected a position or an angle, as in \
st.Load(F, on=x + l*st.sin(theta)).
  Say what moves when the load does work."""),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MESSAGES)
def test_the_message_is(mistake):
    right, wrong, message = MESSAGES[mistake]
    assert said(right, wrong) == message


def test_a_file_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pendulum.toml").write_text(MODEL, encoding="utf-8")
    with pytest.raises(st.StatementError) as caught:
        st.load("pendelum.toml")
    assert (
        str(caught.value)
        == """\
the model file 'pendelum.toml' cannot be read.
  Found: No such file or directory.
  Did you mean 'pendulum.toml'?"""
    )


def test_a_mistake_in_text_over_several_lines_is_found_in_its_line():
    text = '"""\nm*9.81*l\n  *(1 - kos(theta))"""'
    with pytest.raises(st.StatementError) as caught:
        st.load(MODEL.replace('"m*9.81*l*(1 - cos(theta))"', text))
    error: Any = caught.value
    assert (error.line, error.column) == (13, 9)
    assert "'kos' is not a known function" in str(error)


def test_a_wrong_load_is_shown_at_its_own_place():
    text = said('on = "theta"', 'on = "m"')
    assert text.startswith("model:15:6: load 'load1' works on 'm'")


@pytest.mark.parametrize("name", ["theta_dot", "thetadot", "dtheta", "d_theta", "theta_t"])
def test_a_velocity_by_another_name_is_guessed(name):
    text = said("theta'^2/2", f"{name}^2/2")
    assert f"'{name}' is not declared." in text and "Did you mean theta'," in text


def test_functions_of_python_packages_are_called_by_their_names_alone():
    text = said(POTENTIAL, "m*(1 - np.cos(theta))")
    assert "Leave 'np.' out: functions stand alone" in text


@pytest.mark.parametrize(
    ("mistake", "remedy"),
    [
        ("theta²", "Write ^2."),
        ("theta³*m", "Write ^3."),
        ("theta₁", "Write figures of names on the line, as in x1."),
        ("½*m", "Write 1/2, in brackets as a power."),
        ("m÷2", "Write /."),
        ("π*m", "Write pi for π."),
        ("sin^2(theta)", "Write sin(x)^2."),
        ("(m)(l)", "Write (…)*(…) for a product."),
        ('\\"m\\"', "Leave the quotes out."),
        ("cos(m)sin(m)", "Write (…)*sin for a product."),
    ],
)
def test_mathematics_as_it_is_written_on_paper_is_told_how_to_be_typed(mistake, remedy):
    assert said(POTENTIAL, mistake).endswith(f"\n  {remedy}")


def test_a_model_is_asked_by_what_it_states():
    with pytest.raises(st.StatementError, match=r"Pass what the file states, model\.system"):
        st.statics(st.load(MODEL))


@pytest.mark.parametrize(("uses", "told"), [("a", "defined by itself"), ("b", "not defined yet")])
def test_definitions_that_go_round_or_come_too_late_are_named(uses, told):
    text = said("[start]", f'[definitions]\na = "{uses} + 1"\nb = "2*a"\n[start]')
    assert f"'{uses}' is {told}." in text and "one may use those above it" in text


def test_a_velocity_in_a_constraint_wants_another_table():
    text = said("[start]", '[constraints]\nwheel = "theta\' - 1"\n[start]')
    assert "constraint 'wheel' contains a velocity." in text and "[[pfaffian]]" in text


def test_a_law_of_an_input_may_have_parameters_of_its_own():
    # θ̈ = a cos(w t) with w → 0: θ = a t²/2 without gravity.
    text = MODEL.replace('inputs = ["tau"]\n', "").replace("m*9.81*l*(1 - cos(theta))", "0")
    text = text.replace("[energies]", 'a = 3\n[inputs]\ntau = "a*m*l^2"\n[energies]')
    model = st.load(text.replace("theta = 2", "theta = 0"))
    assert model.ask("simulate", span=(0, 2))["theta"][-1] == pytest.approx(6.0)
    assert model.changed({"a": "5"}).ask("simulate", span=(0, 2))["theta"][-1] == pytest.approx(10)


def test_rows_of_an_array_start_by_their_number():
    model = st.load("""
coordinates = ["r[4,2]", "s[3]"]
[parameters]
h = 0.5
[[each]]
kind = "kinetic"
rows = 4
expression = "r[i,0]'^2 + r[i,1]'^2"
[energies]
kinetic = "s[0]'^2 + s[1]'^2 + s[2]'^2"
[start]
"r[i,0]" = "h*i"
"r[i,1]" = "-i^2"
"s[i]'" = 7
""")
    assert model.start["r"].tolist() == [[0, 0], [0.5, -1], [1, -4], [1.5, -9]]
    assert model.start["s.dot"].tolist() == [7, 7, 7]


def test_a_pusher_of_a_file_is_that_of_python():
    model = st.load("""
coordinates = ["x", "y", "phi"]
[[parts]]
kind = "slider"
points = [[-1, 0], [1, 0]]
weights = [1, 1]
pusher = { point = ["0.1", "t - 0.5"], edge = [[-1, -0.5], [1, -0.5]], friction = 0.3 }
""")
    finger = st.Pusher(point=(0.1, st.t - 0.5), edge=((-1, -0.5), (1, -0.5)), friction=0.3)
    card = st.slider(points=[(-1, 0), (1, 0)], weights=[1, 1], pusher=finger)
    one, other = model.ask("slide"), st.minimum_power(card)
    assert [one[f"{n}.dot"] for n in ("x", "y", "phi")] == pytest.approx(
        [other[f"{n}.dot"] for n in ("x", "y", "phi")]
    )


@pytest.mark.parametrize("wrong", ["friction = -0.3", "restitution = 1.5"])
def test_a_coefficient_that_no_contact_has_is_shown_at_its_contact(wrong):
    text = f"""coordinates = ["y"]
[energies]
kinetic = "y'^2/2"
[[contacts]]
gap = "y + 1"
[[contacts]]
gap = "y"
{wrong}
slip = "y"
"""
    with pytest.raises(st.StatementError, match="of a contact is") as error:
        st.load(text)
    assert getattr(error.value, "line", None) == 6


@pytest.mark.parametrize(
    "name, term, place", [("a\\u001b", "ok", "1:8"), ("ok", "a\\u001b", "6:1")]
)
def test_a_name_that_cannot_be_printed_is_shown_where_it_stands(name, term, place):
    text = (
        f'name = "{name}"\ncoordinates = ["x"]\n[energies]\nkinetic = "x\'^2/2"\n'
        f'potential = "x^2/2"\n[[loads]]\nname = "{term}"\nforce = "2"\non = "x"\n'
    )
    with pytest.raises(st.StatementError, match=f":{place}: .* cannot be a name"):
        st.load(text)
