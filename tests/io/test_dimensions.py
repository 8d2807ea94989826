"""Units are checked through the energies: wrong ones are named, right files are never refused."""

import random
import re
from pathlib import Path

import pytest

import stationary as st

MODEL = """
[coordinates]
theta = "rad"
x = "m"

[parameters]
m = "200 g"
l = "50 cm"
g = "9.81 m/s^2"
k = "3 N/m"
c = "2 N s/m"
F = "1 N"

[energies]
kinetic = "m*l^2*theta'^2/2 + m*(x' + l*theta'*cos(theta))^2/2"
potential = "m*g*l*(1 - cos(theta)) + k*x^2/2"
dissipation = "c*x'^2/2"

[[loads]]
force = "F - c*x'"
on = "x + l*sin(theta)"

[constraints]
link = "norm(x, l*cos(theta)) - l"

[start]
theta = "30 deg"
"x'" = "3 km/h"

[simulate]
span = [0, "500 ms"]
"""


def test_a_right_file_is_read():
    assert st.load(MODEL).params["l"] == 0.5


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('l = "50 cm"', 'l = "50 kg"', "l in kg, m in kg."),
        ('m = "200 g"', 'm = "200 mm"', "expected J"),
        ('g = "9.81 m/s^2"', 'g = "9.81 m/s"', "a term of the potential energy is not an energy."),
        ('k = "3 N/m"', 'k = "3 N"', "k*x^2/2 in"),
        ('c = "2 N s/m"', 'c = "2 N/m"', "expected W"),
        ('F = "1 N"', 'F = "1 J"', "the force of a load times"),
        ('span = [0, "500 ms"]', 'span = ["0 kg", "1 m"]', "the span is no time."),
        ('theta = "30 deg"', 'theta = "30 kg"', "the start of 'theta' has another unit"),
        ('theta = "rad"', 'theta = "kg"', "the start of 'theta' has another unit"),
        ('''"x'" = "3 km/h"''', '''"x'" = "3 km"''', "expected m/s."),
        ('"norm(x, l*cos(theta)) - l"', '"l - k*cos(theta)"', "terms of different dimensions"),
    ],
)
def test_a_wrong_unit_is_named_with_its_term(old, new, words):
    assert old in MODEL
    with pytest.raises(st.StatementError) as caught:
        st.load(MODEL.replace(old, new))
    said = str(caught.value)
    assert words in said and said.count("\n") == 4


MACHINE = """
[coordinates]
x = "m"
phi = "rad"
"r[3,2]" = "m"

[parameters]
m = "2 kg"
J = "3 kg m^2"
R = "5 cm"
f = "2 N"
w = "3 rad/s"
e = "50 %"
g = "9.81 m/s^2"

[inputs]
F = "f*sin(w*t)"
P = { t = [0, "1 s"], value = ["1 N", "2 N"] }

[energies]
kinetic = "m*x'^2/2 + J*phi'^2/2"

[[each]]
kind = "potential"
rows = 3
expression = "m*g*r[i,1]"

[[loads]]
force = "F + P"
on = "x"

[[parts]]
kind = "rod"
between = [["r[0,0]", "r[0,1]"], ["r[1,0]", "r[1,1]"]]
length = "R"

[constraints]
ring = "r[2,0]^2 + r[2,1]^2 - R^2"
bowl = "r[1,1] - r[1,0]^2 - R"

[[pfaffian]]
expr = "x' - R*phi'"

[[contacts]]
gap = "r[0,1] + R"
friction = "e"
restitution = "e"
slip = "r[0,0]"

[simulate]
span = [0, "2 s"]
step = "1 ms"
rtol = 1e-9

[[simulate.events]]
expr = "x - R"
action = { "x.dot" = "-e*x.dot" }

[statics]
t = "1 min"
"""


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('F = "f*sin(w*t)"', 'F = "m*sin(w*t)"', "Found F in kg on x in m, expected J together."),
        ('F = "f*sin(w*t)"', 'F = "f*sin(w*t) + m"', "terms of different dimensions are added."),
        ('value = ["1 N", "2 N"]', 'value = ["1 N", "2 s"]', "Found N and s."),
        ('t = [0, "1 s"]', 't = [0, "1 m"]', "Found '1 m', expected s."),
        ('"m*g*r[i,1]"', '"m*g*r[i,1]^2"', "Found g*m*r[i,1]^2 in kg m^3 s^-2, expected J."),
        ('length = "R"', 'length = "w"', "Found -w in rad/s and"),
        ("R^2", "w^2", "Found -w^2 in s^-2 and r[2,0]^2 in m^2."),
        ("\"x' - R*phi'\"", "\"x' - w*phi'\"", "in s^-2 and x.dot in m/s."),
        ('friction = "e"', 'friction = "R"', "Found R in m, expected no unit."),
        ('slip = "r[0,0]"', 'slip = "phi"', "the gap of a contact and what slips are not of one"),
        ('"-e*x.dot"', '"R"', "Found R in m, expected m/s."),
        ('expr = "x - R"', 'expr = "x - w"', "Found -w in rad/s and x in m."),
        ("1 ms", "1 mm", "Found '1 mm', expected s."),
        ("rtol = 1e-9", 'rtol = "1 mm"', "Found '1 mm', expected no unit."),
        ("1 min", "1 m", "Found '1 m', expected s."),
    ],
)
def test_what_stands_beside_energies_has_units_too(old, new, words):
    assert st.load(MACHINE).unit("F") == "N" and old in MACHINE
    with pytest.raises(st.StatementError) as caught:
        st.load(MACHINE.replace(old, new))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("m", "3 s", "Found 3 s in s, expected kg."),
        ("x'", "3 m", "Found 3 m in m, expected m/s."),
        ("F", "J*w", "expected N."),
        ("phi", "30 deg", ""),
        ("m", "3 t", ""),
        ("F", "2 kN", ""),
        ("x'", "20 km/h", ""),
    ],
)
def test_what_is_typed_for_a_name_has_its_unit(name, text, words):
    model = st.load(MACHINE)
    if words:
        with pytest.raises(st.StatementError, match=re.escape(words)):
            model.changed({name: text})
    else:
        assert isinstance(model.changed({name: text}), st.Model)


def test_a_typed_unit_is_judged_by_the_energies_where_the_file_has_none():
    plain = st.load(MACHINE.replace('J = "3 kg m^2"', "J = 3"))
    assert plain.changed({"J": "3 kg m^2"}).unit("J") == "kg m^2"
    with pytest.raises(st.StatementError, match=r"Found J\*phi.dot\^2/2 in N/m, expected J"):
        plain.changed({"J": "3 kg"})


def test_a_part_on_a_table_is_at_lengths_and_an_angle():
    text = """
coordinates = ["x", "y", "phi"]
[[parts]]
kind = "slider"
points = [[0, 0], [1, 0], [0, 1]]
weights = ["1 N", "2 N", "1 N"]
[start]
x = "3 mm"
"""
    assert st.load(text).start == {"x": 0.003}
    for old, new in (("3 mm", "3 kg"), ('"2 N"', '"2 kg"')):
        with pytest.raises(st.StatementError, match="expected"):
            st.load(text.replace(old, new))


def test_an_angle_without_a_start_is_judged_by_where_it_stands():
    text = MODEL.replace('theta = "30 deg"\n', "").replace('theta = "rad"', 'theta = "kg"')
    with pytest.raises(st.StatementError, match=r"cos\(\) is taken of something that is no number"):
        st.load(text)


def test_numbers_may_carry_units_that_nobody_wrote():
    plain = """
coordinates = ["x", "y"]
[parameters]
m = "2 kg"
l = "1 m"
q = 3
[energies]
kinetic = "m*(x'^2 + y'^2)/2 + q*x'^2"
potential = "m*9.81*y + 10*m*y + x^2/2 + q*l + 5*l^2 + sin(2*x) + exp(-x/0.1)"
dissipation = "x'^2/2 + q*y'^2"
[[loads]]
force = "-x - x' + 7"
on = "x"
[constraints]
a = "x - 1 + l - q*t"
[start]
x = "5 cm"
"""
    assert st.load(plain).system.size == 2


def test_energies_of_a_unit_of_mass_are_read_where_nothing_has_a_mass():
    text = """
coordinates = ["theta"]
[parameters]
l = "50 cm"
[energies]
kinetic = "l^2*theta'^2/2"
potential = "-9.81*l*cos(theta)"
"""
    assert st.load(text).system.size == 1
    with pytest.raises(st.StatementError, match="is not an energy"):
        st.load(text.replace('"50 cm"', '"50 s"'))


def test_systems_in_other_units_are_judged_alike():
    chance = random.Random(5)
    lengths, masses = ["nm", "um", "mm", "cm", "km", "ft"], ["mg", "g", "kg", "t", "lb"]
    for _ in range(8):
        length, mass = chance.choice(lengths), chance.choice(masses)
        good = MODEL.replace('"50 cm"', f'"50 {length}"').replace('"200 g"', f'"200 {mass}"')
        assert st.load(good).units["l"] == length
        with pytest.raises(st.StatementError, match="is not an energy"):
            st.load(good.replace(f'"50 {length}"', f'"50 {mass}"'))


def test_the_models_of_the_examples_are_right():
    for path in (Path(__file__).parents[2] / "examples" / "models").glob("*.toml"):
        assert st.load(path).system.size > 0


HOOP = Path(__file__).parents[2] / "examples" / "models" / "hoop.toml"
STRING = HOOP.with_name("string.toml")


@pytest.mark.parametrize(
    ("path", "old", "new", "words"),
    [
        (HOOP, "theta = [-1, 4]", 'theta = [-1, "4 kg"]', "'4 kg', expected no unit"),
        (HOOP, "span = [0, 10]\nstart", 'span = ["0 m", 10]\nstart', "'0 m', expected rad/s"),
        (HOOP, "start = { theta = 0 }", 'start = { theta = "1 s" }', "'1 s', expected no unit"),
        (STRING, '"100 N"', '"100 Pa"', "the densities give 'u' two units"),
        (STRING, '"10 g/m"', '"10 g"', "the densities give 'u' two units"),
        (STRING, '"u(1)" = 0', '"u(1)" = "2 s"', "'u\\(1\\)' has another unit than the densities"),
        (STRING, '"u(1)" = 0', '"u(1)" = "T"', "Found N, expected m"),
        (STRING, '"u(1)" = 0', '"at(diff(u, X), 1)" = "2 mm"', "Found m, expected no unit"),
    ],
)  # fmt: skip
def test_ranges_of_questions_and_densities_have_the_units_of_their_names(path, old, new, words):
    text = path.read_text("utf-8")
    assert old in text
    st.load(text)
    with pytest.raises(st.StatementError, match=words):
        st.load(text.replace(old, new))
