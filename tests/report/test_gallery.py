"""The gallery: every example is on the page, and its numbers are at the top."""

import json

import pytest

import examples
from stationary.cli import main
from stationary.report.gallery import build, pictures


@pytest.mark.slow
def test_no_example_is_missing_from_the_page(tmp_path):
    row = examples.Row("<a> & b", 1.0, 2.0, "source", 1e-9)
    page = build(tmp_path, {name: [row] for name in examples.names()})
    text = page.read_text(encoding="utf-8")
    numbers = (tmp_path / "numbers.html").read_text(encoding="utf-8")
    for name in examples.names():
        assert text.count(f'href="{name}.html"') == numbers.count(f'href="{name}.html"') == 1, name
        assert (tmp_path / f"{name}.html").exists()
    assert "<table" not in text and 'href="numbers.html"' in text
    assert "&lt;a&gt; &amp; b" in numbers and f"{len(examples.names())} outside" in text
    # What moves is live at the top of its page.
    live = (tmp_path / "double_pendulum.html").read_text(encoding="utf-8")
    assert live.index("<iframe") < live.index("<table")
    assert (tmp_path / "double_pendulum-live.html").exists()


def test_the_gallery_runs_the_examples_that_are_named(tmp_path, monkeypatch, capsys):
    # Examples without physics: what they find and draw is tested with the examples.
    row = examples.Row("one", 1.0, 1.0, "a source")
    for name in ("hanging_chain", "elastica"):
        example = examples.load(name)
        monkeypatch.setattr(example, "results", lambda: [row])
        monkeypatch.setattr(
            example, "pictures", lambda to: (to / "hanging_chain.png").write_bytes(b"1")
        )
    folder = tmp_path / "page"
    assert main(["gallery", "hanging_chain", "elastica", "-o", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["outside"] == 0
    assert [row["example"] for row in found["rows"]] == ["hanging_chain", "elastica"]
    assert (folder / "hanging_chain.png").exists() and (folder / "index.html").exists()


def test_an_example_whose_name_begins_another_keeps_its_own_pictures(tmp_path):
    for name in ("pendulum.png", "pendulum_statics.png", "pendulum_torque.png", "pendulum.gif"):
        (tmp_path / name).write_bytes(b"")
    found = [path.name for path in pictures(tmp_path, "pendulum")]
    assert found == ["pendulum.png", "pendulum_torque.png", "pendulum.gif"]


def test_an_unknown_example_is_refused(capsys):
    assert main(["gallery", "pendullum"]) == 3
    said = capsys.readouterr().err
    assert "there is no example 'pendullum'" in said and "Did you mean 'pendulum'?" in said


def test_examples_are_listed(capsys):
    assert main(["gallery", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == examples.names()
