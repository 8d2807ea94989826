"""Every worked example runs without a screen, and its numbers are those published or exact."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

import examples
from examples import Row
from stationary.report.gallery import show
from stationary.report.numbers import HEAD, RULE

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


class Links(HTMLParser):
    def __init__(self, page: Path):
        super().__init__()
        self.found: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.found += [value or "" for key, value in attrs if key in ("href", "src")]


# Those that take seconds, in numbers or in pictures.
LONG = {
    "beams_and_strings", "cartesian_pendulum", "credit_card", "elastica", "extension_of_a_beam",
    "flagellum", "hanging_chain", "model_files", "rope", "rope_pulled", "two_finger_grasp",
    "two_link_arm", "ziegler_column",
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow if n in LONG else ()) for n in examples.names()],
)
def test_numbers_agree_with_what_is_published_or_exact_and_are_drawn(name, tmp_path, monkeypatch):
    # Numbers, pictures and pages come from one run, since that is what takes long.
    monkeypatch.setattr(examples, "FPS", 2)
    monkeypatch.setattr(examples, "DPI", 40)
    lines: list[str] = []
    outcome = show([name], tmp_path, lines.append)
    rows = outcome.rows[name]
    wrong = {row.quantity: row.difference for row in rows if not row.agrees}
    assert rows and not wrong and outcome.outside == 0 and not outcome.interrupted
    assert all(0 <= row.tolerance < 0.1 for row in rows)
    assert lines[0].split("  ")[0] == HEAD[0]
    assert lines[1] == RULE

    drawn = [path for path in tmp_path.iterdir() if path.suffix != ".html"]
    assert drawn and all(path.stat().st_size > 0 for path in drawn)
    assert all(path.name.startswith(name) for path in drawn)
    for page in tmp_path.glob("*.html"):
        for link in Links(page).found:
            assert link.startswith("#") or (tmp_path / link).exists(), (page.name, link)


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


def test_rows_of_numbers_expressions_and_truths_are_compared():
    import sympy as sp

    x = sp.Symbol("x")
    assert Row("", 1.0, 1.0 + 1e-9, "", 1e-8).agrees
    assert not Row("", 1.0, 1.1, "", 1e-8).agrees
    assert Row("", sp.sin(x) ** 2, 1 - sp.cos(x) ** 2, "").agrees
    assert not Row("", x, 2 * x, "").agrees
    assert not Row("", True, False, "").agrees
    assert not Row("", 0, float("nan"), "").agrees
