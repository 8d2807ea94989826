"""The documentation builds: its programs run, its links lead somewhere, its models are good."""

import importlib.util
import re
import shlex
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import stationary as st
from stationary.cli.arguments import parser

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = sorted(path.stem for path in DOCS.glob("*.md"))


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for name in PAGES:
        text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        for match in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            found.append((name, match[1]))
    return found


@pytest.fixture
def site(tmp_path):
    """Build the whole site, as ``make docs`` does."""
    spec = importlib.util.spec_from_file_location("docs_build", DOCS / "build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    spec.loader.exec_module(module)
    module.build(tmp_path)
    sys.path[:] = before
    return tmp_path


class Page(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.links += [named[k] or "" for k in ("href", "src") if k in named]
        self.anchors |= {named["id"] or ""} if "id" in named else set()


@pytest.mark.slow
def test_the_site_leads_everywhere_and_shows_what_its_programs_print_and_draw(site):
    texts = {p.name: p.read_text(encoding="utf-8") for p in site.glob("*.html")}
    # Live pages that programs of the documentation write are shown by links, and not in the menu.
    pages = {name: Page(text) for name, text in texts.items() if 'id="mechanics"' not in text}
    assert {f"{name}.html" for name in PAGES} | {"reference.html"} == set(pages)
    for name, page in pages.items():
        for link in page.links:
            if link.startswith("http"):
                continue
            file, _, anchor = link.partition("#")
            assert not file or (site / file).exists(), (name, link)
            if anchor:
                assert anchor in pages[file or name].anchors, (name, link)

    text = (site / "reference.html").read_text(encoding="utf-8")
    for name in st.__all__:
        assert f">{name}</h2>" in text or f"<code>{name}</code>" in text, name

    text = (site / "statics.html").read_text(encoding="utf-8")
    assert "0.53542" in text and "pitchfork at 4.42718" in text
    assert len(list(site.glob("*-1.png"))) >= 4
    for name in ("statics", "dynamics", "continua"):
        text = (site / f"{name}.html").read_text(encoding="utf-8")
        assert "$$" not in text and 'class="math"' in text


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "text"), blocks("toml"))
def test_every_model_of_the_documentation_answers_what_it_asks(name, text):
    model = st.load(text)
    assert model.system.size > 0
    for question in model.questions:
        answer = model.ask(question)
        assert getattr(answer, "success", True), (name, question, answer)


@pytest.mark.parametrize(("name", "text"), blocks("console"))
def test_every_command_of_the_documentation_is_one(name, text):
    for line in text.strip().splitlines():
        words = shlex.split(line.removeprefix("$ "))
        assert line.startswith("$ ") and words[0] in ("stationary", "make")
        if words[0] == "stationary":
            parser().parse_args(words[1:])


def test_the_study_with_another_package_prints_what_is_said(capsys):
    pytest.importorskip("SALib")
    text = (DOCS / "many.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python only\n(.*?SALib.*?)^```$", text, re.DOTALL | re.MULTILINE)
    exec(compile(code, "many.md", "exec"), {})
    assert f"which prints `{capsys.readouterr().out.strip()}`" in text


def test_a_file_of_under_twenty_lines_states_a_system_of_ones_own():
    model = next(text for name, text in blocks("toml") if name == "start")
    assert len(model.splitlines()) < 20
