"""Every worked example runs without a screen, and its numbers are those published or exact."""

from pathlib import Path

import pytest

import examples
from examples import Row
from examples.__main__ import HEAD, WIDTH, main

FOLDER = Path(examples.__file__).parent

# What the documents work out.
FROM_DOCUMENTS = {
    "pendulum",
    "damped_pendulum",
    "van_der_pol",
    "cart_pendulum",
    "spring_damper_pendulum",
    "bead_on_hoop",
    "scotch_yoke",
    "two_link_arm",
    "cartesian_pendulum",
    "cartesian_pendulum_statics",
    "hoop_bifurcation",
    "pendulum_statics",
    "smallest_box",
    "wheeled_robot",
    "extension_of_a_beam",
    "cart_equilibria",
    "pushed_particle",
}


@pytest.mark.parametrize("name", examples.names())
def test_results_agree_with_what_is_published_or_exact(name):
    rows = examples.load(name).results()
    wrong = {row.quantity: row.difference for row in rows if not row.agrees}
    assert rows and not wrong


@pytest.mark.parametrize("name", examples.names())
def test_pictures_are_drawn(name, tmp_path, monkeypatch):
    monkeypatch.setattr(examples, "FPS", 2)
    examples.load(name).pictures(tmp_path)
    drawn = list(tmp_path.iterdir())
    assert drawn and all(path.stat().st_size > 0 for path in drawn)
    assert all(path.name.startswith(name) for path in drawn)


@pytest.mark.parametrize("name", examples.names())
def test_an_example_says_where_it_comes_from_and_is_short(name):
    example = examples.load(name)
    cited = any(word in example.__doc__ for word in ("slides", "note", "(report"))
    assert cited == (name in FROM_DOCUMENTS)
    assert len(Path(example.__file__).read_text(encoding="utf-8").splitlines()) < 100


def test_no_example_is_unlisted():
    files = {p.stem for p in FOLDER.glob("*.py") if not p.stem.startswith("_")}
    assert files == set(examples.names())
    assert files >= FROM_DOCUMENTS


def test_every_example_is_bound_by_a_tolerance():
    loose = [
        row.quantity
        for row in examples.load("van_der_pol").results()
        if not 0 <= row.tolerance <= 1e-4
    ]
    assert not loose


def test_rows_of_numbers_expressions_and_truths_are_compared():
    import sympy as sp

    x = sp.Symbol("x")
    assert Row("", 1.0, 1.0 + 1e-9, "", 1e-8).agrees
    assert not Row("", 1.0, 1.1, "", 1e-8).agrees
    assert Row("", sp.sin(x) ** 2, 1 - sp.cos(x) ** 2, "").agrees
    assert not Row("", x, 2 * x, "").agrees
    assert not Row("", True, False, "").agrees
    assert not Row("", 0, float("nan"), "").agrees


def test_the_table_is_aligned_and_names_the_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["scotch_yoke"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("  ")[0] == HEAD[0]
    assert lines[1] == "  ".join("-" * width for width in WIDTH)
    assert lines[-1].endswith(str(tmp_path / "gallery" / "index.html"))
    assert (tmp_path / "gallery" / "scotch_yoke.png").exists()


def test_an_unknown_example_is_refused_with_the_list(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["pendullum"]) == 2
    said = capsys.readouterr().out
    assert "no example 'pendullum'" in said and "pendulum" in said
