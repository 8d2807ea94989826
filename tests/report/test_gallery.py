"""The gallery: every example is on the page, and its numbers are at the top."""

import json
from html.parser import HTMLParser
from pathlib import Path

import examples
from stationary.cli import main
from stationary.report.gallery import build, pictures


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.found += [value or "" for key, value in attrs if key in ("href", "src")]


def links(page: Path) -> list[str]:
    reader = Links()
    reader.feed(page.read_text(encoding="utf-8"))
    return reader.found


def test_no_example_is_missing_from_the_page(tmp_path):
    row = examples.Row("<a> & b", 1.0, 2.0, "source", 1e-9)
    page = build(tmp_path, {name: [row] for name in examples.names()},
                 lambda name, row: (name, row.quantity, "1", "2", "1 (!)"))  # fmt: skip
    text = page.read_text(encoding="utf-8")
    for name in examples.names():
        assert text.count(f'href="{name}.html"') == 2, name
        assert (tmp_path / f"{name}.html").exists()
    assert text.index("<table") < text.index('class="cards"')
    assert "&lt;a&gt; &amp; b" in text and f"{len(examples.names())} outside" in text


def test_the_gallery_runs_examples_and_links_to_what_it_has_drawn(tmp_path, capsys):
    folder = tmp_path / "page"
    assert main(["gallery", "scotch_yoke", "pendulum_statics", "-o", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["outside"] == 0 and len(found["rows"]) > 5
    assert {row["example"] for row in found["rows"]} == {"scotch_yoke", "pendulum_statics"}
    for page in folder.glob("*.html"):
        for link in links(page):
            assert link.startswith("#") or (folder / link).exists(), (page.name, link)
    assert (folder / "scotch_yoke.png").exists()


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
