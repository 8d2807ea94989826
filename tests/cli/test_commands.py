"""The command line: what it prints, writes and returns."""

import ast
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import stationary as st
from stationary.cli import main
from stationary.cli.arguments import COMMANDS, parser
from stationary.cli.commands import ASKED
from stationary.cli.completion import script
from stationary.cli.words import for_a_shell
from stationary.solve.progress import Progress

MODEL = """
name = "pendulum"
coordinates = ["theta"]
inputs = ["tau"]
[parameters]
m = "1 kg"
l = "50 cm"
g = 9.81
[energies]
kinetic = "m*l^2*theta'^2/2"
potential = "m*g*l*(1 - cos(theta))"
[[loads]]
force = "tau"
on = "theta"
[[drawing]]
kind = "rod"
points = [["0", "0"], ["l*sin(theta)", "-l*cos(theta)"]]
[[drawing]]
kind = "particle"
points = [["l*sin(theta)", "-l*cos(theta)"]]
[start]
theta = 0.5
[simulate]
span = [0, 1]
points = 11
[equilibria]
within = { theta = [-1, 4] }
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "pendulum.toml"
    path.write_text(MODEL.replace('inputs = ["tau"]\n', "").replace(
        "[energies]", "[inputs]\ntau = 0\n[energies]"), encoding="utf-8")  # fmt: skip
    return str(path)


def facts(capsys, *arguments):
    """Run a command with --json; return its exit code and what it says."""
    code = main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def width(picture):
    with Image.open(picture) as image:
        return image.size[0]


def test_every_command_has_an_answer():
    assert {name for name, c in COMMANDS.items() if c.model} == set(ASKED)


def test_equations_are_those_of_the_library(model, capsys):
    assert main(["equations", model]) == 0
    said = capsys.readouterr().out
    assert "l**2*m*theta.ddot + g*l*m*sin(theta) = tau" in said
    code, found = facts(capsys, "equations", model)
    assert code == 0 and found["M"] == [["l**2*m"]] and found["G"] == [["g*l*m*sin(theta)"]]


def test_equations_go_to_files_by_their_ending(model, capsys):
    files = ["eq.md", "eq.tex", "eq.html", "eq.json"]
    assert main(["equations", model, *(a for f in files for a in ("-o", f))]) == 0
    texts = {f: Path(f).read_text(encoding="utf-8") for f in files}
    assert texts["eq.md"].startswith("# Equations of motion of pendulum")
    assert texts["eq.tex"].startswith(r"\begin{aligned}")
    assert "<math" in texts["eq.html"] and "http" not in re.sub(
        r'xmlns="[^"]*"', "", texts["eq.html"]
    )
    assert json.loads(texts["eq.json"])["system"] == "pendulum"


def test_a_check_that_fails_has_a_code_of_its_own(model, tmp_path, capsys):
    code, found = facts(capsys, "check", model)
    assert code == 0 and found["passed"]
    text = MODEL.replace("m*l^2*theta'^2/2", "-m*l^2*theta'^2/2")
    (tmp_path / "wrong.toml").write_text(text, encoding="utf-8")
    code, found = facts(capsys, "check", "wrong.toml")
    assert code == 1 and not found["passed"]


def test_rest_is_that_of_the_library(model, capsys):
    code, found = facts(capsys, "statics", model, "--set", "tau=2.4525")
    # m g l sin θ = τ with m g l = 4.905
    assert code == 0 and found["q"]["theta"] == pytest.approx(np.pi / 6, abs=1e-12)
    assert found["stable"]
    code, found = facts(capsys, "equilibria", model)
    assert [rest["stable"] for rest in found["equilibria"]] == [True, False]
    code, found = facts(capsys, "equilibria", model, "--within", "theta=-1:1")
    assert len(found["equilibria"]) == 1
    main(["equilibria", str(model)])
    assert "\ncomplete; interval subdivision" in capsys.readouterr().out


def test_linearization_has_the_frequency_of_small_swings(model, capsys):
    code, found = facts(capsys, "linearize", model, "-o", "plane.png")
    assert found["frequencies"] == pytest.approx([np.sqrt(9.81 / 0.5)], rel=1e-12)
    assert found["stability"] == "marginally stable"
    assert width("plane.png") > 300
    code, found = facts(capsys, "linearize", model, "--at", "theta=3.141592653589793")
    assert found["stability"] == "unstable (saddle)"


def test_continuation_finds_the_bifurcation_of_the_hoop(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = MODEL.replace("[energies]", "Omega = 0\n[energies]").replace(
        "m*g*l*(1 - cos(theta))", "m*g*l*(1 - cos(theta)) - m*l^2*Omega^2*sin(theta)^2/2"
    )
    text = text.replace('[[loads]]\nforce = "tau"\non = "theta"\n', "")
    text = text.replace("theta = 0.5", "theta = 0")
    (tmp_path / "hoop.toml").write_text(text, encoding="utf-8")
    code, found = facts(capsys, "continue", "hoop.toml", "--parameter", "Omega", "--span", "0:8",
                        "-o", "hoop.csv", "-o", "hoop.svg")  # fmt: skip
    special = [s for s in found["special"] if s["kind"] == "pitchfork"]
    assert code == 0 and special[0]["parameter"] == pytest.approx(np.sqrt(9.81 / 0.5), rel=1e-9)
    head = (tmp_path / "hoop.csv").read_text(encoding="utf-8").splitlines()[0]
    assert head == "branch,Omega,theta,stable"
    assert "<svg" in (tmp_path / "hoop.svg").read_text(encoding="utf-8")


def test_a_simulation_is_that_of_the_library_in_every_file(model, capsys):
    files = ["m.csv", "m.nc", "m.png", "m.svg", "m.gif", "m.html", "m.toml", "m.json"]
    outputs = [a for f in files for a in ("-o", f)]
    code, found = facts(capsys, "simulate", model, "--fps", "4", *outputs)
    stated = st.load(model)
    motion = st.simulate(stated.system, span=(0, 1), start={"theta": 0.5}, points=11,
                         inputs={"tau": 0})  # fmt: skip
    assert code == 0 and found["status"] == "done"
    np.testing.assert_allclose(found["columns"]["theta"], motion["theta"], rtol=0, atol=1e-14)
    table = np.genfromtxt("m.csv", delimiter=",", names=True, deletechars="")
    np.testing.assert_array_equal(table["theta.dot"], found["columns"]["theta.dot"])
    import xarray

    with xarray.open_dataset("m.nc", engine="scipy") as data:
        np.testing.assert_array_equal(data["theta"].values, table["theta"])
        assert data.attrs["status"] == "done"
    with Image.open("m.gif") as film:
        assert getattr(film, "n_frames") > 4
    assert width("m.png") > 500
    assert "<script>" in Path("m.html").read_text(encoding="utf-8")
    assert st.load("m.toml").system == stated.system


@pytest.mark.parametrize("view", ["phase", "strobe"])
def test_pictures_of_other_kinds_are_drawn(model, view):
    assert main(["simulate", model, "--view", view, "-o", "view.png", "--quiet"]) == 0
    assert width("view.png") > 300


def test_expressions_are_shown_instead_of_coordinates(model, capsys):
    code, found = facts(capsys, "simulate", model, "--show", "l*sin(theta)", "--show", "theta'^2")
    assert list(found["columns"])[:3] == ["t", "l*sin(theta)", "theta.dot**2"]
    assert found["columns"]["l*sin(theta)"][0] == pytest.approx(0.5 * np.sin(0.5), abs=1e-15)


def test_values_are_set_with_units(model, capsys):
    code, found = facts(capsys, "simulate", model, "--set", "l=200 cm", "--set", "theta'=60 rpm",
                        "--set", "tau=0.1*sin(t)", "--span", "0:2", "--points", "3")  # fmt: skip
    assert code == 0 and found["columns"]["t"] == [0, 1, 2]
    assert found["columns"]["theta.dot"][0] == pytest.approx(2 * np.pi)
    # E = m l² θ̇²/2 + m g l (1 − cos θ)
    expected = 2 * (2 * np.pi) ** 2 + 9.81 * 2 * (1 - np.cos(0.5))
    assert found["columns"]["energy"][0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["Taylor", "BDF", "Runge", "Variational"])
def test_the_method_can_be_chosen(model, capsys, name):
    step = ["--step", "0.001"] if name == "Variational" else []
    code, found = facts(capsys, "simulate", model, "--method", name, *step)
    assert code == 0 and name in found["method"]


# -- what goes wrong ------------------------------------------------------------------------------


def refused(capsys, *arguments):
    code = main(list(arguments))
    return code, capsys.readouterr().err


def test_a_mistake_in_the_model_is_shown_without_a_traceback(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(MODEL.replace("cos(theta)", "kos(theta)", 1), encoding="utf-8")
    code, said = refused(capsys, "simulate", "p.toml")
    assert code == 3 and said.startswith("error: p.toml:11:25: 'kos' is not a known function.\n")
    assert "^^^" in said and "Did you mean 'cos'?" in said and "Traceback" not in said
    code, found = facts(capsys, "simulate", "p.toml")
    assert code == 3 and (found["line"], found["column"]) == (11, 25)


def test_debug_shows_where_an_error_comes_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(st.StatementError):
        main(["--debug", "simulate", "nothing.toml"])
    with pytest.raises(st.StatementError):
        main(["simulate", "nothing.toml", "--debug"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "mm=2"], "'mm' is not a parameter, an input or a coordinate."),
        (["--set", "m"], "--set does not understand 'm'."),
        (["--set", "m=heavy"], "'heavy' is not declared."),
        (["--span", "0-10"], "--span does not understand '0-10'."),
        (["-o", "motion.docx"], "'motion.docx' cannot be written by 'stationary simulate'."),
        (["--show", "thet"], "'thet' is not declared."),
    ],
)
def test_wrong_options_are_refused_in_three_parts(model, capsys, arguments, words):
    code, said = refused(capsys, "simulate", model, *arguments)
    assert code == 2 and words in said and said.count("\n") >= 3


def test_a_question_without_its_table_says_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(MODEL.partition("[simulate]")[0], encoding="utf-8")
    for command, option in (("simulate", "--span"), ("equilibria", "--within"),
                            ("continue", "--parameter")):  # fmt: skip
        code, said = refused(capsys, command, "p.toml")
        assert code == 2 and f"'{command}' is not told" in said and option in said


def test_a_motion_that_ends_early_has_its_own_code_and_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = 'coordinates = ["x"]\n[energies]\nkinetic = "x\'^2/2"\npotential = "-x^4/4"\n'
    (tmp_path / "p.toml").write_text(text + "[start]\nx = 1\n", encoding="utf-8")
    code, found = facts(capsys, "simulate", "p.toml", "--span", "0:10", "-o", "m.csv")
    assert code == 4 and found["status"] == "blow-up"
    # From x = 1 at rest it is gone after K(1/2)… = 1.854 s.
    times = np.genfromtxt("m.csv", delimiter=",", names=True)["t"]
    assert 1.8 < times[-1] < 1.8541


def test_a_file_that_is_not_there_has_a_code_of_its_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, said = refused(capsys, "simulate", "nothing.toml")
    assert code == 5 and "'nothing.toml' cannot be read" in said


def test_advice_is_given_in_words_of_the_shell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = MODEL.replace("g = 9.81", 'g = ""')
    (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    code, said = refused(capsys, "simulate", "p.toml")
    assert code == 3 and "--set g=" in said and "params" not in said


SAY = ("say", "StatementError", "DerivationError", "CompileError", "MissingExtra")


def literals():
    """Every piece of advice in the package, with … for what is put in."""
    for path in Path(st.__file__).parent.rglob("*.py"):
        if path.parent.name in ("cli", "report", "plot"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in SAY:
                parts = [t for a in node.args[1:] for t in ast.walk(a)]
                inner = {id(p) for t in parts if isinstance(t, ast.JoinedStr) for p in ast.walk(t)}
                for text in parts:
                    if id(text) in inner and not isinstance(text, ast.JoinedStr):
                        continue
                    if isinstance(text, ast.JoinedStr):
                        pieces = text.values
                        yield "".join(
                            str(p.value) if isinstance(p, ast.Constant) else "…" for p in pieces
                        )
                    elif isinstance(text, ast.Constant) and isinstance(text.value, str):
                        yield text.value


def test_no_advice_in_the_shell_is_python():
    seen = 0
    for text in literals():
        made = for_a_shell(text)
        assert not re.search(
            r"\bst\.[a-zA-Z]|throw=|\b(params|span|method|within)=[({'\"]", made
        ), text
        seen += made != text
    assert seen > 50


def test_a_line_of_the_file_is_shown_as_it_is_written():
    shown = "'points' is none.\n    8 | points=15\n        ^\n  Give points=100."
    assert for_a_shell(shown) == shown.replace("Give points=100", "Give --points 100")


def test_fields_are_shown_at_their_points(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = """
[parameters]
L = 2
[fields]
u = ["X", 0, "L"]
[densities]
kinetic = "u'^2/2"
potential = "diff(u, X)^2/2"
[fixed]
"u(0)" = 0
[discretize]
elements = 8
degree = 1
[start]
u = "0.1*sin(pi*X/(2*L))"
[simulate]
span = [0, 1]
points = 5
"""
    (tmp_path / "bar.toml").write_text(text, encoding="utf-8")
    code, found = facts(capsys, "simulate", "bar.toml", "--show", "u(L)")
    times, values = np.array(found["columns"]["t"]), np.array(found["columns"]["u(L)"])
    # The slowest shape swings with ω = π/(2L), up to the error of eight elements.
    np.testing.assert_allclose(values, 0.1 * np.cos(np.pi / 4 * times), atol=2e-3)


def test_units_reach_tables_files_and_axes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = """
[coordinates]
x = "cm"
theta = "deg"
[energies]
kinetic = "(x'^2 + theta'^2)/2"
[start]
x = "5 cm"
[simulate]
span = [0, 1]
points = 3
"""
    (tmp_path / "m.toml").write_text(text, encoding="utf-8")
    files = ["-o", "m.csv", "-o", "m.nc", "-o", "m.svg"]
    assert main(["simulate", "m.toml", "--view", "phase", *files]) == 0
    head = "t (s),x (m),theta (rad),x.dot (m/s),theta.dot (rad/s),energy (J),balance (J)"
    assert Path("m.csv").read_text(encoding="utf-8").splitlines()[0] == head
    assert "x (m)" in capsys.readouterr().out
    import xarray

    with xarray.open_dataset("m.nc", engine="scipy") as data:
        assert data["x"].attrs["units"] == "m" and data["theta.dot"].attrs["units"] == "rad/s"
        assert data["t"].attrs["units"] == "s" and data["energy"].attrs["units"] == "J"
        assert float(data["x"][0]) == pytest.approx(0.05)
    stated = st.load("m.toml")
    drawn = stated.ask("simulate").show("phase")
    assert drawn.axes[0].get_xlabel().endswith("(m)") and "(m/s)" in drawn.axes[0].get_ylabel()
    # Of two units the legend tells, of one the axes do.
    alike = st.load(text.replace('theta = "deg"', 'theta = "mm"'))
    for model, words in ((stated, {"coordinates", "velocities"}),
                         (alike, {"coordinates (m)", "velocities (m/s)"})):  # fmt: skip
        drawn = model.ask("simulate").plot()
        assert words <= {axes.get_ylabel() for axes in drawn.axes} | {drawn.get_supylabel()}


def test_what_is_held_all_over_rests_without_eigenvalues(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = 'coordinates = ["x"]\n[energies]\npotential = "x^2/2"\n[constraints]\npin = "x - 1"\n'
    (tmp_path / "pinned.toml").write_text(text, encoding="utf-8")
    assert main(["statics", "pinned.toml"]) == 0
    assert "none: all is held" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("simulat", "Did you mean 'simulate'?"),
        ("simulate", "MODEL is missing."),
        ("simulate m.toml --method Euler", "Known: auto, Taylor, BDF"),
        ("simulate m.toml --spam 0:1", "Did you mean '--span'?"),
        ("simulate m.toml --points ten", "--points is not a whole number."),
        ("simulate m.toml --show -x", "as in --show=-x"),
        ("simulate m.toml --quiet=2", "--quiet takes no value."),
        ("new one two", "'two' is nothing that 'stationary new' takes."),
        ("simulat a.toml", "Did you mean 'simulate'?"),
        ("quasistatics a.toml", "Use 'stationary slide'."),
        ("fit_pressure a.toml", "Use 'stationary weigh'."),
        ("hamilton a.toml", "Ask it there, as st.hamilton(…)."),
    ],
)
def test_usage_errors_have_three_parts_and_the_code_of_a_shell(typed, words, capsys):
    with pytest.raises(SystemExit) as caught:
        main(typed.split())
    said = capsys.readouterr().err
    assert caught.value.code == 2 and words in said and len(said.splitlines()) == 3


def test_a_range_may_begin_below_zero(model, capsys):
    assert main([]) == 2 and "stationary new" in capsys.readouterr().out
    code, motion = facts(capsys, "simulate", model, "--span", "-1:1", "--points", "3")
    assert code == 0 and motion["columns"]["t"] == [-1, 0, 1]


# -- the rest -------------------------------------------------------------------------------------


def test_a_new_model_is_commented_and_answers_every_question(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "swing"]) == 0
    text = (tmp_path / "swing.toml").read_text(encoding="utf-8")
    assert text.count("#") > 10
    for command in ("equations", "check", "statics", "equilibria", "linearize", "simulate"):
        assert main([command, "swing.toml"]) == 0, command
    code, said = refused(capsys, "new", "swing")
    assert code == 2 and "'swing.toml' exists already." in said
    assert main(["new", "swing", "--force"]) == 0


# Another process finds the sources whether or not they are installed.
ENV = {**os.environ, "PYTHONPATH": str(Path(st.__file__).parents[1])}


def command(*arguments):
    words = [sys.executable, "-m", "stationary", *arguments]
    return subprocess.run(words, capture_output=True, text=True, timeout=120, env=ENV)


def test_the_version_and_the_help_come_at_once():
    said = command("--help")
    # No package that computes is imported for it.
    code = (
        "import sys; sys.argv = ['stationary']; import stationary.cli.arguments as a; a.parser(); "
        "print(*sorted(sys.modules))"
    )
    words = [sys.executable, "-c", code]
    loaded = subprocess.run(words, capture_output=True, text=True, timeout=120, env=ENV).stdout
    heavy = {"numpy", "sympy", "casadi", "scipy", "matplotlib", "rich"}
    assert not heavy & {name.split(".")[0] for name in loaded.split()}
    assert said.returncode == 0 and "exit codes:" in said.stdout
    assert all(name in said.stdout for name in COMMANDS)
    assert command("--version").stdout == f"stationary {st.__version__}\n"


def test_ctrl_c_saves_what_there_is(model, capsys, monkeypatch):
    # What a signal raises is raised where a motion of years tells how far it has come.
    told = []

    def show(self, fraction):
        told.append(fraction)
        if len(told) == 20:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "show", show)
    code = main(["simulate", model, "--span", "0:1e8", "-o", "m.csv"])
    assert code == 130 and "stopped from the keyboard" in capsys.readouterr().out
    times = np.genfromtxt("m.csv", delimiter=",", names=True)["t_s"]
    assert times[-1] == pytest.approx(1e8 * told[19], rel=1e-12) and 0 < told[19] < 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_names_every_command_and_option(shell, capsys):
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert text.strip() == script(shell).strip()
    assert all(name in text for name in COMMANDS)
    assert ("--within" if shell != "fish" else "-l within") in text


def test_completion_works_in_bash(tmp_path):
    (tmp_path / "pendulum.toml").write_text("", encoding="utf-8")
    (tmp_path / "complete.sh").write_text(script("bash"), encoding="utf-8")
    words = "source complete.sh; COMP_WORDS=(stationary sim); COMP_CWORD=1; _stationary; "
    words += 'echo "${COMPREPLY[@]}"; COMP_WORDS=(stationary simulate pen); COMP_CWORD=2; '
    words += '_stationary; echo "${COMPREPLY[@]}"'
    said = subprocess.run(["bash", "-c", words], cwd=tmp_path, capture_output=True, text=True,
                          env=ENV)  # fmt: skip
    assert said.stdout.split("\n")[:2] == ["simulate", "pendulum.toml"]


@pytest.mark.parametrize(
    ("asked", "first"),
    [("equations p.toml --explain", "# Equations"), ("completion bash", "# eval")],
)
def test_a_reader_that_goes_away_is_no_error(asked, first, tmp_path):
    (tmp_path / "p.toml").write_text(MODEL, encoding="utf-8")
    words = f"{sys.executable} -m stationary {asked} | head -1"
    said = subprocess.run(["bash", "-c", words], cwd=tmp_path, capture_output=True, text=True,
                          env=ENV)  # fmt: skip
    assert said.stdout.startswith(first) and "Traceback" not in said.stderr


def test_the_help_of_every_command_is_complete():
    several = next(a for a in parser()._actions if a.dest == "command")
    assert isinstance(several.choices, dict)
    for name, one in several.choices.items():
        silent = [a.dest for a in one._actions if not a.help and a.dest != "shell"]
        assert not silent, (name, silent)
