"""What the command line prints is what a person would say: bounded, in the statement's words."""

import csv
import shlex
from pathlib import Path

import pytest
import sympy as sp

import stationary as st
from stationary.cli import main

_DOCS = Path(__file__).parents[2] / "docs" / "model-files.md"


def block(title):
    """Return the file of the documentation that is called so."""
    files = [part.split("```")[0] for part in _DOCS.read_text("utf-8").split("```toml\n")[1:]]
    return next(text for text in files if title in text)


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def asked(question, text, *options):
        Path("model.toml").write_text(text, encoding="utf-8")
        code = main([question, "model.toml", *options])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return asked


def test_a_law_of_an_input_brings_its_own_parameters_to_a_live_page(ask):
    code, _ = ask("live", block("cart with pendulum"), "-o", "page.html")
    assert code == 0 and "<!doctype html>" in Path("page.html").read_text("utf-8")


def test_a_spinning_top_is_asked_where_it_rests(ask):
    code, printed = ask("statics", block('rotations = ["R"]'))
    assert code == 0 and "family" in printed


def test_what_a_rope_does_by_rounding_alone_is_zero(ask):
    code, printed = ask("statics", block('name = "rope"'))
    values = [line.split()[1] for line in printed.splitlines() if line.startswith("  r[")]
    assert code == 0 and "e-" not in "".join(values) and "-0.1" in values


def test_a_string_is_told_along_its_length_and_in_few_lines(ask):
    text = (
        block("string with a bead") + '\n[start]\nu = "X*(1-X)/100"\n[simulate]\nspan = [0, 0.001]'
    )
    code, printed = ask("simulate", text)
    # A motion so long is not run again to tell its digits, and what would do it is Python.
    assert code == 0 and "motion.digits" not in printed
    assert "energy (J)" in printed and "u(1/4)" in printed and "u[3]" not in printed
    code, printed = ask("linearize", text)
    assert code == 0 and len(printed.splitlines()) < 40 and "24 of 238 modes shown" in printed


@pytest.mark.parametrize("question", ["equations", "live"])
def test_what_only_slides_is_not_advised_to_fly(ask, question):
    code, printed = ask(question, block("pushed card"))
    assert code == 3 and "'stationary slide'" in printed and "simulate" not in printed


def test_a_field_is_known_between_its_nodes():
    X, L = st.positions("X"), st.parameters(L=2.0)
    w = st.field("w", over=(X, 0, L))
    held = {w.at(0): 0, w.diff(X).at(0): 0}
    beam = st.Continuum(potential=w.diff(X, 2) ** 2 / 2, loads=[st.Load(1, on=w.at(L))], fixed=held)
    rest = st.statics(st.discretize(beam, elements=7, degree=3))
    # Gere and Goodno, Mechanics of Materials, table H-1: a cantilever with a force at its end.
    assert "w(L/2) = 0.833333, w(3*L/4)" in str(rest)
    for x in (0.3, L / 3, L - 0.01):
        place = float(sp.sympify(x).subs(L, 2.0))
        assert rest[w.at(x)] == pytest.approx(place**2 * (6 - place) / 6, rel=1e-9)
        assert rest[w.diff(X).at(x)] == pytest.approx(place * (4 - place) / 2, rel=1e-9)


SPRUNG = """
coordinates = ["x"]
[parameters]
k = 1
[energies]
kinetic = "x'^2/2"
potential = "k*x^2/2"
"""
SMALL = 'coordinates = ["x"]\n[energies]\nkinetic = "x\'^2/2"\n[start]\nx = 1\n'


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ("l=50", "note: l=50 is 50 m; the file writes cm."),
        ("m2=250", "note: m2=250 is 250 kg; the file writes g."),
        ("x=3", ""),
        ("g=9.8", ""),
        ("l=50 cm", ""),
        ("F=1", ""),
    ],
)
def test_numbers_without_the_unit_of_the_file_are_told(ask, change, note):
    code, said = ask("check", block("cart with pendulum"), "--set", "k=2", "--set", change)
    assert code == 0 and ("note: " in said) == bool(note) and note in said


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ("simulate --span 1:0", 2, "--span is empty, reversed"),
        ("simulate --span 0:inf", 2, "without end"),
        ("simulate --span 0:1 --points 1", 2, "2 or more"),
        ("simulate --span 0:1 --fps 0", 2, "--fps is out of its range"),
        ("simulate --span 0:1 -o folder.csv", 5, "'folder.csv' cannot be written"),
        ("continue --parameter kk --span 0:1", 2, "Did you mean 'k'?"),
        ("continue --parameter x --span 0:1", 2, "behind --parameter the parameter 'x'"),
        ("equilibria --within x", 2, "as in --within theta=-1:4"),
        ("equilibria --within x=3:1", 2, "as in --within theta=-1:4"),
        ("equilibria --within y=0:1", 2, "behind --within the coordinate 'y'"),
        ("linearize --at y=0", 2, "behind --at the coordinate 'y'"),
        ("linearize --at x=nan", 2, "Found 'nan'"),
        ("weigh --friction -1", 2, "0 or more"),
    ],
)
def test_what_was_typed_is_refused_in_three_parts_by_its_own_code(ask, options, code, words):
    Path("folder.csv").mkdir()
    question, *typed = options.split()
    given, printed = ask(question, SPRUNG, *typed)
    assert given == code and words in printed and len(printed.splitlines()) == 3


def test_many_coordinates_by_name_are_read_in_time_that_grows_with_their_number(ask, monkeypatch):
    compared = 0
    own = st.Coordinate.__eq__

    def counted(one, other):
        nonlocal compared
        compared += 1
        return own(one, other)

    monkeypatch.setattr(st.Coordinate, "__eq__", counted)
    names = ", ".join(f'"x{k}"' for k in range(2000))
    code, printed = ask("simulate", SMALL.replace('"x"', f'"x", {names}'), "--span", "0:1")
    assert code == 3 and "and 1995 more" in printed and compared < 50 * 2000


def test_a_drawing_with_another_number_of_points_is_shown_where_it_stands(ask):
    points = '[["0", "0"], ["x", "0"], ["x", "1"]]'
    code, printed = ask("check", f'{SMALL}[[drawing]]\nkind = "rod"\npoints = {points}\n')
    assert code == 3 and "model.toml:8:10" in printed and "Found 3, expected 2." in printed


def test_a_slope_at_a_point_is_written_as_it_is_advised(ask):
    beam = """
[fields]
w = ["X", 0, 1]
[densities]
potential = "diff(w, X, 2)^2/2"
[[loads]]
force = 3
on = "w(1)"
[fixed]
"w(0)" = 0
"SLOPE" = 0
[discretize]
elements = 4
degree = 3
"""
    code, printed = ask("statics", beam.replace("SLOPE", "diff(w, X)(0)"))
    assert code == 3 and "at(diff(u, X), 0) for a slope" in printed
    # A cantilever with the force 3 at its end is 1 down there, and 5/16 halfway.
    code, printed = ask("statics", beam.replace("SLOPE", "at(diff(w, X), 0)"))
    values = dict(line.split()[:2] for line in printed.splitlines() if line.startswith("  w("))
    assert code == 0 and values["w(1)"] == "1" and values["w(1/2)"] == "0.3125"


def test_a_push_at_the_start_is_drawn_as_the_documentation_asks(ask):
    code, printed = ask("slide", block("pushed card"), "-o", "slide.png")
    assert code == 0 and Path("slide.png").stat().st_size > 1000 and "wrote slide.png" in printed


def test_an_end_of_a_bound_that_is_rounding_is_zero(ask):
    file = Path(__file__).parents[2] / "examples" / "models" / "box.toml"
    text = file.read_text("utf-8").replace("box.csv", file.with_name("box.csv").as_posix())
    code, printed = ask("bounds", text, "--of", "x.dot + 0.02*phi.dot")
    ends = printed.splitlines()[0].rpartition(": ")[2].split(" … ")
    assert code == 0 and ends[0] == "0" and float(ends[1]) > 0.2


def test_what_no_direction_is_left_to_has_no_smallest_eigenvalue(capsys):
    balls = Path(__file__).parents[2] / "examples" / "models" / "balls.toml"
    assert main(["equilibria", str(balls), "--within", "y[0]=-1:1"]) == 0
    said = capsys.readouterr().out
    assert "yes" in said and "inf" not in said


def test_tables_in_files_are_whole_and_as_wide_as_their_heads(ask):
    """Thirty masses on a moving rail slide as one; a valley's states of rest are families."""
    links = "\n".join(f'c{k} = "q{k + 1} - q{k}"' for k in range(29))
    rubbing = "\n".join(f'[[friction]]\nlimit = 1\non = "q{k}"' for k in range(30))
    names = ", ".join(f'"q{k}"' for k in range(30))
    text = f'coordinates = [{names}]\n{rubbing}\n[constraints]\npush = "q0 - t"\n{links}\n'
    code, said = ask("slide", text, "-o", "step.csv")
    assert code == 0 and "24 of 30 velocities shown" in said and "friction6 -1, …" in said
    rows = list(csv.reader(Path("step.csv").read_text("utf-8").splitlines()))
    assert len(rows) == 31 and rows[-1] == ["q29.dot", "1.0"]

    valley = 'coordinates = ["x", "y"]\n[energies]\npotential = "(x^2 - 1)^2"\n'
    valley += "[equilibria]\nwithin = { x = [-2, 2], y = [-1, 1] }\n"
    assert ask("equilibria", valley, "-o", "rest.csv")[0] == 0
    head, *rows = csv.reader(Path("rest.csv").read_text("utf-8").splitlines())
    assert head[-1] == "family" and [(len(row), row[-1]) for row in rows] == [(7, "1")] * 3


def test_a_file_that_cannot_be_written_keeps_neither_the_answer_nor_others_away(ask):
    code, said = ask(
        "simulate", block("dropped ball"), "-o", "m.gif", "-o", "m.html", "-o", "m.csv"
    )
    assert code == 3 and said.count("there is nothing to draw of dropped ball.") == 1
    assert "impact" in said and "wrote m.csv" in said and Path("m.csv").exists()
    # One that could never be written is refused before anything is computed.
    code, said = ask("simulate", block("dropped ball"), "--span", "0:1e9", "-o", "m.mp4")
    assert code == 2 and "'m.mp4' cannot be written" in said
    code, said = ask("slide", block("pushed card"), "-o", "m.gif")
    assert code == 2 and "Give --span FROM:TO: over time it can." in said


def test_a_model_is_not_written_over_itself(ask):
    text = "# a remark\n" + block("dropped ball")
    code, said = ask("simulate", text, "-o", "./model.toml")
    assert code == 2 and "is the model itself" in said
    assert Path("model.toml").read_text("utf-8") == text


def test_the_next_commands_can_be_typed_as_they_are_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "a folder/my model.toml"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "stationary" in line]
    in_file = Path("a folder/my model.toml").read_text("utf-8").splitlines()
    lines += [line.removeprefix("#") for line in in_file if " simulate " in line]
    assert len(lines) > 2
    for line in lines:
        assert "a folder/my model.toml" in shlex.split(line)


def test_no_word_is_cut_in_a_narrow_terminal(ask, monkeypatch):
    monkeypatch.setenv("COLUMNS", "24")
    code, said = ask("statics", block("dropped ball"))
    assert code == 0 and "…" not in said
    assert "balanced" in "".join(said.split())
