"""Model files: what they state, and that systems survive being written and read."""

import inspect
import random
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import examples
import stationary as st
from stationary.cli import main
from stationary.io.writer import same
from stationary.model import units

CART = """
name = "cart with pendulum"
[coordinates]
x = "m"
theta = "rad"
[parameters]
m1 = "1 kg"
m2 = "200 g"
l = "50 cm"
g = "9.81 m/s^2"
k = ""
[inputs]
F = "0.1*sin(3*t)"
[definitions]
X = "x + l*sin(theta)"
Y = "-l*cos(theta)"
[energies]
kinetic = "m1*x'^2/2 + m2*(X'^2 + Y'^2)/2"
potential = "m2*g*Y + k*x^2/2"
[[loads]]
force = "F"
on = "X"
[start]
theta = "90 deg"
"theta'" = -1
x.dot = "18 km/h"
[simulate]
span = [0, "2*pi"]
"""


def test_a_file_states_the_system_that_python_states():
    x, theta = st.coordinates("x theta")
    m1, m2, l, g = st.parameters(m1=1.0, m2=0.2, l=0.5, g=9.81)  # noqa: E741 (as in the file)
    k = st.parameters("k")
    F = st.inputs("F")
    X, Y = x + l * st.sin(theta), -l * st.cos(theta)
    cart = st.System(
        kinetic=m1 * x.dot**2 / 2 + m2 * (st.rate(X) ** 2 + st.rate(Y) ** 2) / 2,
        potential=m2 * g * Y + k * x**2 / 2,
        loads=[st.Load(F, on=X)],
        coordinates=(x, theta),
        name="cart with pendulum",
    )
    model = st.load(CART)
    assert model.system == cart
    assert model.start == {"theta": np.pi / 2, "theta.dot": -1.0, "x.dot": 5.0}
    assert model.span == (0.0, 2 * np.pi)
    assert model.params == {"m1": 1.0, "m2": 0.2, "l": 0.5, "g": 9.81}
    assert model.inputs == {"F": 0.1 * st.sin(3 * st.t)}
    assert model.units["l"] == "cm" and model.units["theta"] == "rad"


def test_parts_of_a_file_are_those_of_python():
    text = """
coordinates = ["x", "y", "phi"]
[parameters]
m = 2.0
c = 3.0
[[parts]]
kind = "body"
m = "m"
inertia = 0.1
at = ["x", "y"]
angle = "phi"
gravity = 9.81
name = "plate"
[[parts]]
kind = "spring"
k = 100
between = [[0, 0], ["x", "y"]]
rest = 1
[[parts]]
kind = "damper"
c = "c"
between = ["0", "phi"]
[[parts]]
kind = "rod"
between = [[0, 0], ["x", "y"]]
length = 2
name = "rod"
[[parts]]
kind = "particle"
m = 1
at = ["x", "y"]
"""
    x, y, phi = st.coordinates("x y phi")
    m, c = st.parameters(m=2.0, c=3.0)
    expected = (
        st.body(m, inertia=0.1, at=(x, y), angle=phi, gravity=9.81, name="plate")
        + st.spring(100, between=((0, 0), (x, y)), rest=1)
        + st.damper(c, between=(0, phi))
        + st.rod((0, 0), (x, y), 2, name="rod")
        + st.particle(1, at=(x, y))
    )
    made = st.load(text).system
    assert made.constraints == expected.constraints and made.parts == expected.parts
    for kind in ("kinetic", "potential", "dissipation"):
        assert (getattr(made, kind) - getattr(expected, kind)).expand() == 0


def stated(name):
    """Return the system that an example states, or None."""
    make = getattr(examples.load(name), "system", None)
    if make is None:
        return None
    needed = sum(p.default is p.empty for p in inspect.signature(make).parameters.values())
    if needed > 1:
        return None
    made = make(5) if needed else make()
    several = made if isinstance(made, tuple) else (made,)
    return next((s for s in several if isinstance(s, st.System)), None)


@pytest.mark.parametrize("name", examples.names())
def test_the_systems_of_the_examples_survive_being_written_and_read(name, tmp_path):
    system = stated(name)
    if system is None:
        pytest.skip("it states no single system")
    if system.fields or any("[" in c.name for c in system.coordinates):
        with pytest.raises(st.StatementError, match="cannot be written into a model file"):
            st.save(system)
        return
    st.save(system, tmp_path / "model.toml")
    assert st.load(tmp_path / "model.toml").system == system


def everything():
    x, y = st.coordinates("x y")
    r = st.coordinates("r", shape=(6, 2))
    s = st.coordinates("s", shape=5)
    m, mu, F = st.parameters(m=0.1 + 0.2), st.parameters("mu"), st.inputs("F")
    net = np.array([[0, 2], [1, 4], [5, 3]])
    return st.System(
        kinetic=m * x.dot**2 / 2 + 3 * st.each(lambda v: m * st.norm(v) ** 2 / 2, r.dot)
        + st.each(lambda v: v**2, s.dot),
        potential=st.Piecewise((x**2, x < 0), (x**3, True)) + st.exp(-x) * st.Abs(y) / 3
        + st.each(lambda a, b, h: (st.norm(b - a) - h) ** 2, r[net[:, 0]], r[net[:, 1]],
                  np.array([1.0, 2.5, 1e-3])),
        work=st.Max(x, y) * st.sin(st.t),
        dissipation=y.dot**2,
        loads=[st.Load((F, m), on=(x, y)), st.each(lambda p: st.Load(F, on=p), s, name="row")],
        friction=[st.Drag(mu, 2, on=(x, y)), st.Friction(mu * m, on=x, name="table")],
        constraints=[
            st.Constraint((x - y, x * y - 1), name="two"),
            st.each(lambda a, b: a - b, s[:-1], s[1:], name="equal"),
            r[0, 0] - x,
        ],
        pfaffian=[x.dot * st.cos(y) - y.dot, st.each(lambda v: v, s.dot[2:])],
        contacts=[st.Contact(y, friction=0.3, slip=x, name="floor")],
        coordinates=(y, x, s, r),
        name='all "of it"',
    )  # fmt: skip


def test_everything_that_can_be_stated_survives_being_written_and_read():
    system = everything()
    text = st.save(system, start={"x.dot": 1.0, "s": np.arange(5.0)}, span=(0, 2))
    model = st.load(text)
    assert same(model.system, system)
    assert [c.name for c in model.system.coordinates] == ["y", "x", "s", "r"]
    assert model.start["s"].tolist() == [0, 1, 2, 3, 4] and model.start["x.dot"] == 1.0
    assert model.span == (0, 2)
    # Written again, it is the same text: nothing is lost on the way.
    assert st.save(model) == text


def random_energy(chance, depth=4):
    """Return an expression as SymPy leaves it: with signs and fractions before products of sums."""
    x, y = st.coordinates("x y")
    numbers = sp.Integer(chance.randint(1, 5)), sp.Rational(1, chance.randint(2, 5)), sp.Float(0.3)
    if depth == 0 or chance.random() < 0.15:
        return chance.choice([x, y, st.parameters(m=1.5), sp.pi, *numbers])
    a, b = random_energy(chance, depth - 1), random_energy(chance, depth - 1)
    several = a + b, a - b, -a, a * b, a**2, a / (2 + b**2), st.sin(a), st.exp(a), abs(a)
    return chance.choice(several)


@pytest.mark.parametrize("seed", range(4))
def test_what_sympy_makes_of_signs_and_fractions_is_written_and_read_again(seed):
    chance = random.Random(seed)
    x, y = st.coordinates("x y")
    for _ in range(15):
        kinetic = x.dot**2 + y.dot**2
        system = st.System(kinetic=kinetic, potential=x * y + random_energy(chance))
        assert st.load(st.save(system)).system == system


def test_a_written_model_keeps_values_that_were_changed_and_parameters_of_laws_alone():
    text = """
coordinates = ["x"]
[parameters]
m = "2 kg"
a = "3 N"
b = 4.0
[inputs]
F = "a*sin(t)"
[energies]
kinetic = "m*x'^2/2"
[[loads]]
force = "F"
on = "x"
[[simulate.events]]
expr = "x - b"
"""
    model = st.load(text).changed({"m": "5 kg", "a": "7 N", "b": "9"})
    again = st.load(st.save(model))
    assert again.params == {"m": 5.0, "a": 7.0} and again.system.parameters[0].default == 5.0
    assert again.declared["b"].default == 9.0
    # Values that Python gives a system reach its file, too.
    assert st.load(st.save(st.Model(model.system, params={"m": 8.0}))).params == {"m": 8.0}


def test_rows_that_start_by_parameters_follow_them():
    model = st.load("""
coordinates = ["r[3,2]"]
[parameters]
h = "2 cm"
[[each]]
kind = "kinetic"
rows = 3
expression = "h*(r[i,0]'^2 + r[i,1]'^2)/2"
[start]
r = [[1, 2], [3, 4], [5, 6]]
"r[i,1]" = "h*i"
"r[i,0]'" = "h"
[simulate]
span = [0, 1]
""")
    other = model.changed({"h": "3 cm", "r[0,0]": "7 m"})
    first, given = other.ask("simulate"), model.ask("simulate", params={"h": 0.03})
    np.testing.assert_allclose(first["r"][0], [[7, 0], [3, 0.03], [5, 0.06]], rtol=1e-15)
    np.testing.assert_allclose(first["r.dot"][0], [[0.03, 0]] * 3, rtol=1e-15)
    np.testing.assert_allclose(given["r"][0], [[1, 0], [3, 0.03], [5, 0.06]], rtol=1e-15)
    with pytest.raises(st.StatementError, match=r"'r\[3,0\]' is not a parameter"):
        model.changed({"r[3,0]": "1"})


def test_a_rope_of_a_file_moves_as_that_of_python():
    r = st.coordinates("r", shape=(5, 2))
    m, k = st.parameters(m=0.1, k=200.0)
    rope = st.System(
        kinetic=st.each(lambda v: m * (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: m * 9.81 * p[1], r)
        + st.each(lambda a, b: k * (st.norm(b - a) - 0.2) ** 2 / 2, r[:-1], r[1:])
        + k * st.norm(r[0]) ** 2 / 2,
    )
    start = {r: np.column_stack([0.2 * np.arange(5), np.zeros(5)])}
    model = st.load(st.save(rope, start=start))
    one = st.simulate(rope, span=(0, 1), start=start, points=11)
    other = st.simulate(model.system, span=(0, 1), start=model.start, points=11)
    np.testing.assert_allclose(other["r"], one["r"], rtol=0, atol=1e-12)


def test_what_a_file_has_no_words_for_is_refused():
    x = st.coordinates("x")
    import sympy as sp

    with pytest.raises(st.StatementError, match="the function 'gamma' cannot be written"):
        st.save(st.System(potential=sp.gamma(x)))


def test_a_parameter_of_every_example_keeps_its_last_digit():
    a = st.parameters(a=0.1 + 0.2)
    x = st.coordinates("x")
    model = st.load(st.save(st.System(potential=a * x)))
    assert model.params["a"] == 0.1 + 0.2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5 cm", 0.05), ("72 km/h", 20.0), ("9.81 m/s^2", 9.81), ("9.81 m/s²", 9.81),
        ("180 deg", np.pi), ("60 rpm", 2 * np.pi), ("3 kg m^2", 3.0), ("3 kg*m**2", 3.0),
        ("2 N/(m s)", 2.0), ("1e3 mm", 1.0), ("500 g", 0.5), ("7 kN/m", 7000.0), ("1 µm", 1e-6),
        ("-3 mm", -0.003), ("50 %", 0.5), ("4 1/s", 4.0), ("2 s^-1", 2.0), ("0.3 N m/rad", 0.3),
        ("1 ft", 0.3048), ("210 GPa", 210e9), ("1 t", 1000.0), ("5 mg", 5e-6),
    ],
)  # fmt: skip
def test_units_are_turned_into_si_units(text, expected):
    pair = units.split(text)
    assert pair is not None
    number, unit = pair
    assert units.value(number, unit) == pytest.approx(expected, rel=1e-15)


def test_a_plain_value_with_a_unit_may_stand_for_an_expression():
    text = 'coordinates = ["x"]\n[[friction]]\nlimit = "2 kN"\non = "x"\n'
    assert st.load(text).system.friction[0].limit == 2000.0
    # Unless the letter means something: then an operator is missing.
    with pytest.raises(st.StatementError, match="an operator is missing between '2' and 'm'"):
        st.load(text.replace("2 kN", "2 m").replace("[[", "[parameters]\nm = 1\n[[", 1))


QUESTIONED = """
coordinates = ["x"]
[parameters]
k = 4
[definitions]
twice = "2*x"
[energies]
kinetic = "x'^2/2"
potential = "k*x^2/2"
[start]
x = 1
[simulate]
span = [0, 1]
points = 5
[equilibria]
within = { x = [-1, 1] }
[continue]
parameter = "k"
span = [1, 9]
"""


def test_a_model_answers_its_own_questions():
    model = st.load(QUESTIONED)
    motion = model.ask("simulate")
    # ω = √(k/m) = 2 from rest at x = 1.
    np.testing.assert_allclose(motion["x"], np.cos(2 * motion.t), atol=1e-9)
    assert len(motion.t) == 5 and model.ask("simulate", points=7, method="BDF").method != "auto"
    np.testing.assert_allclose(motion[model.read("twice'")], -4 * np.sin(2 * motion.t), atol=1e-9)
    assert model.ask("statics").stable and len(model.ask("equilibria")) == 1
    assert model.ask("linearize").frequencies == pytest.approx([2.0])
    assert model.ask("modes", count=1).frequencies == pytest.approx([2.0])
    assert model.ask("modes", count=1, params={"k": 9}).frequencies == pytest.approx([3.0])
    assert model.changed({"k": "9"}).ask("linearize").frequencies == pytest.approx([3.0])
    assert model.ask("continue").parameter == "k"
    assert model.ask("check").passed and len(model.ask("equations").residuals) == 1


def test_a_question_that_is_none_or_lacks_something_is_refused():
    model = st.load(QUESTIONED.partition("[simulate]")[0])
    lacking = {"simulat": "Did you mean 'simulate'", "simulate": "has no span",
               "equilibria": "has no within", "continue": "has no parameter"}  # fmt: skip
    for question, words in lacking.items():
        with pytest.raises(st.StatementError, match=words) as caught:
            model.ask(question)
        assert str(caught.value).count("\n") == 2


# -- what happens on the way ----------------------------------------------------------------------

KICKED = """
coordinates = ["y"]
[parameters]
g = 9.81
e = 0.5
back = 3
[energies]
kinetic = "y.dot^2/2"
potential = "g*y"
[[contacts]]
gap = "y"
restitution = "e"
name = "floor"
[start]
y = 1
[simulate]
span = [0, 3]
points = 4
[[simulate.events]]
expr = "t - 2"
direction = 1
name = "kick"
action = { y.dot = "back" }
"""


def test_events_of_a_file_change_the_state_and_are_written_again():
    model = st.load(KICKED)
    motion = model.ask("simulate")
    assert motion.events["kick"] == pytest.approx([2.0], abs=1e-14)
    # At rest on the floor when it is kicked, it comes back after 2v/g.
    hits = motion.changes.of("impact", "floor").t
    assert hits[hits > 2][0] == pytest.approx(2 + 6 / 9.81, rel=1e-12)
    again = st.load(st.save(model))
    assert again.questions["simulate"] == model.questions["simulate"]
    assert again.ask("simulate").changes == motion.changes


@pytest.mark.parametrize(
    ("written", "instead", "told"),
    [
        ('expr = "t - 2"\n', "", "an event has no 'expr'."),
        ("direction = 1", "direction = 2", "'direction' is not a whole number in range."),
        ("direction = 1", "terminal = 1", "'terminal' is not true or false."),
        ('{ y.dot = "back" }', '{ z.dot = "back" }', "'z' is not a coordinate."),
        ('{ y.dot = "back" }', '{ y.dot = "hit" }', "'hit' is not declared."),
        ('{ y.dot = "back" }', "3", "'action' is not a table."),
        ("direction = 1", "when = 1", "'when' is not a key of [[simulate.events]]."),
    ],
)
def test_events_that_cannot_be_are_told(written, instead, told):
    with pytest.raises(st.StatementError) as refused:
        st.load(KICKED.replace(written, instead))
    assert told in str(refused.value) and len(str(refused.value).splitlines()) >= 3


def test_steps_of_one_length_are_asked_for_in_a_file():
    stepped = KICKED.replace("points = 4", 'points = 4\nstep = 0.01\nmethod = "Moreau"')
    cut = stepped[: stepped.index("[[simulate")]
    for text in (cut, cut.replace('\nmethod = "Moreau"', "")):
        assert st.load(text).ask("simulate").method.startswith("Moreau")


def test_units_come_back_in_si():
    model = st.load("""
coordinates = ["x", "a"]
[parameters]
m = "200 g"
c = "2 g/s"
G = "3 cm^3/g/s^2"
[energies]
kinetic = "m*(x'^2 + x^2*a'^2)/2"
potential = "-G*m^2/x"
dissipation = "c*x'^2/2"
[start]
x = "5 cm"
"a.dot" = "60 rpm"
""")
    again = st.load(st.save(model))
    assert again.params == model.params and again.start == model.start
    for name in ("m", "c", "G", "x", "x.dot", "a.dot"):
        assert again.unit(name) == model.unit(name)
    assert [again.unit(n) for n in ("m", "x", "x.dot")] == ["kg", "m", "m/s"]


@pytest.mark.parametrize("unit", ["mm", "m", "km"])
def test_units_are_kept_inferred_through_rods_and_told_in_tables(unit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rod = f"""
coordinates = ["x", "y", "phi"]
[parameters]
m = "1 kg"
g = "9.81 m/s^2"
l = "2 {unit}"
[energies]
potential = "m*g*y"
[[constraints]]
R = "x^2 + (y - l)^2 - l^2"
[[constraints]]
R = "x - phi"
[start]
x = "1 {unit}"
"""
    Path("rod.toml").write_text(rod, encoding="utf-8")
    model = st.load("rod.toml")
    # A wheel of radius 1 may be meant: nothing is known of its angle.
    assert [model.unit(name) for name in ("x", "y", "y.dot", "phi")] == ["m", "m", "m/s", ""]
    spring = """
[coordinates]
x = "m"
"r[2,2]" = "m"
[parameters]
k = "3 N/m"
[energies]
potential = "k*(x^2 + r[0,0]^2 + r[0,1]^2 + r[1,0]^2 + r[1,1]^2)/2"
"""
    Path("spring.toml").write_text(spring.replace('"m"', f'"{unit}"'), encoding="utf-8")
    written = st.save(st.load("spring.toml"))
    Path("again.toml").write_text(written, encoding="utf-8")
    again = st.load("again.toml")
    assert again.unit("x") == again.unit("r[1,0]") == "m" and st.save(again) == written
    assert main(["statics", "spring.toml", "-o", "rest.csv"]) == 0
    head = Path("rest.csv").read_text(encoding="utf-8").splitlines()[0]
    assert head.startswith('x (m),"r[0,0] (m)"') and "energy (J)" in head
