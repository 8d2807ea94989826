"""Units are checked through the energies: wrong ones are named, right files are never refused."""

import random
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
        ('l = "50 cm"', 'l = "50 kg"', "l in kg, m in kg, "),
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
    ],
)  # fmt: skip
def test_ranges_of_questions_and_densities_have_the_units_of_their_names(path, old, new, words):
    text = path.read_text("utf-8")
    assert old in text
    st.load(text)
    with pytest.raises(st.StatementError, match=words):
        st.load(text.replace(old, new))
