"""Model files of continua and of what slides."""

import json

import numpy as np
import pytest
import sympy as sp

import stationary as st
from stationary.cli import main
from stationary.report.build import build

STRING = """
name = "plucked string"
[parameters]
T = "4 N"
m = 0
[fields]
u = ["X", 0, 1]
[densities]
kinetic = "u'^2/2"
potential = "T*diff(u, X)^2/2"
[energies]
kinetic = "m*u(1/2)'^2/2"
[fixed]
"u(0)" = 0
"u(1)" = 0
[discretize]
elements = 20
degree = 3
[start]
u = "0.1*sin(pi*X)"
[simulate]
span = [0, 1]
points = 5
[modes]
count = 2
"""

TRACTRIX = """
name = "bead on a link"
coordinates = ["x", "y"]
[[friction]]
limit = 1
on = ["x", "y"]
name = "table"
[constraints]
link = "norm(x - t, y) - 1"
[start]
y = 1
[slide]
span = [0, 2]
"""


def test_a_continuum_of_a_file_is_that_of_python():
    model = st.load(STRING)
    X = st.positions("X")
    u = st.field("u", over=(X, 0, 1))
    T, m = st.parameters(T=4.0, m=0.0)
    expected = st.Continuum(
        kinetic=u.dot**2 / 2,
        potential=T * u.diff(X) ** 2 / 2,
        fixed={u.at(0): 0, u.at(1): 0},
        parts=[st.System(kinetic=m * u.at(sp.Rational(1, 2)).dot ** 2 / 2)],
        name="plucked string",
    )
    assert model.continuum is not None
    assert model.continuum.kinetic == expected.kinetic
    assert model.continuum.potential == expected.potential
    assert str(model.continuum.fixed) == str(expected.fixed)


def test_a_string_of_a_file_swings_with_its_natural_frequency(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "string.toml").write_text(STRING, encoding="utf-8")
    assert main(["modes", "string.toml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # ω = k π √T with T = 4
    assert found["frequencies"] == pytest.approx([2 * np.pi, 4 * np.pi], rel=1e-7)
    model = st.load("string.toml")
    motion = st.simulate(model.system, span=(0, 1), start=model.start, points=5)
    assert model.continuum is not None
    u = model.continuum.fields[0]
    # u = 0.1 sin(πX) cos(2πt)
    np.testing.assert_allclose(motion.field(u)(0.5, motion.t), 0.1 * np.cos(2 * np.pi * motion.t),
                               rtol=0, atol=1e-7)  # fmt: skip
    assert main(["equations", "string.toml"]) == 0
    assert "u.ddot" in capsys.readouterr().out


@pytest.mark.slow
def test_the_report_of_a_continuum_has_its_field_equations():
    text = STRING.replace("[modes]\ncount = 2\n", "")
    made = build(st.load(text))
    assert "data:image/gif;base64," in made.html and "<h3>The field u</h3>" in made.html
    assert "By parts along the interval" in made.html and '<div class="note">' not in made.html


@pytest.mark.slow
def test_a_bead_of_a_file_follows_the_tractrix(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bead.toml").write_text(TRACTRIX, encoding="utf-8")
    assert main(["slide", "bead.toml", "--json", "-o", "bead.csv", "-o", "bead.png"]) == 0
    found = json.loads(capsys.readouterr().out)
    # y = 1/cosh t, x = t − tanh t
    assert found["columns"]["y"][-1] == pytest.approx(1 / np.cosh(2), abs=1e-9)
    assert found["columns"]["x"][-1] == pytest.approx(2 - np.tanh(2), abs=1e-9)
    made = build(st.load("bead.toml"), film=False)
    assert "minimum power" in made.html and made.facts["minimum power holds"]


def test_a_slide_without_a_span_is_asked_at_the_start(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = TRACTRIX.replace("[slide]\nspan = [0, 2]\n", "").replace("y = 1\n", "x = 0.6\ny = 0.8\n")
    text = text.replace("norm(x - t, y) - 1", "norm(x - t - 1.2, y) - 1")
    (tmp_path / "bead.toml").write_text(text, encoding="utf-8")
    assert main(["slide", "bead.toml", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    # Only the pull along the link moves it: v = (0.6, −0.8)·0.6.
    assert found["velocities"]["x"] == pytest.approx(0.36, abs=1e-9)
    assert found["velocities"]["y"] == pytest.approx(-0.48, abs=1e-9)
    assert found["power"] == pytest.approx(0.6, abs=1e-9)


def test_a_slider_of_a_file_is_that_of_python():
    text = """
coordinates = ["x", "y", "phi"]
[[parts]]
kind = "slider"
outline = [[0, 0], [1, 0], [1, 0.5]]
limit = "2 N"
count = 30
name = "card"
"""
    x, y, phi = st.coordinates("x y phi")
    part = st.slider(outline=[(0, 0), (1, 0), (1, 0.5)], limit=2.0, count=30, at=(x, y, phi),
                     name="card")  # fmt: skip
    assert st.load(text).system.friction == part.friction
    assert st.load(st.save(part)).system == part


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"u(0)" = 0', '"u(2)" = 0', "'u' is not defined at X = 2."),
        ('"u(0)" = 0', '"u" = 0', "'u' is not a value at a point."),
        ("diff(u, X)", "diff(u, T)", "diff() does not understand its arguments."),
        ('["X", 0, 1]', '["X", 0]', "the interval of field 'u' is not one."),
        ("[fields]\n", "[parameter]\n", "[parameter] is not a table of a model file."),
        ("degree = 3", "degree = 7", "'degree' is not a whole number in range."),
        ("[energies]", "[[contacts]]\ngap = 1\n[energies]", "[contacts] cannot stand beside"),
        ("diff(u, X)", "diff(w, X)", "'w' is not declared."),
    ],
)  # fmt: skip
def test_mistakes_about_fields_are_shown_in_their_place(old, new, words):
    assert STRING.count(old) == 1
    with pytest.raises(st.StatementError) as caught:
        st.load(STRING.replace(old, new))
    said = str(caught.value)
    assert words in said and said.startswith("model:") and "^" in said


def test_densities_without_fields_are_refused():
    with pytest.raises(st.StatementError, match=r"\[densities\] stands beside no fields"):
        st.load('coordinates = ["x"]\n[densities]\nkinetic = "1"\n')


def test_a_discretized_continuum_is_not_written():
    with pytest.raises(st.StatementError, match="a discretized continuum cannot be written"):
        st.save(st.load(STRING).system)
