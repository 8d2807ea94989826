"""The gallery: every worked example on a page of its own, their numbers in one table."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import stationary as st
from stationary.errors import MissingExtra, StatementError, did_you_mean
from stationary.report.numbers import HEAD, RULE, cells, line
from stationary.report.page import html_of_markdown, page, table

_SMALL = ".still.png"
#: The headings of the gallery, in order; examples name theirs.
_QUESTIONS = (
    "How does it move?",
    "Where does it rest?",
    "How does it slide?",
    "How do beams and strings bend?",
    "What of a million of them?",
)
_OTHERWISE = "And more"


def examples() -> Any:
    """Return the package of examples: inside the installed package, or beside the sources."""
    if "examples" in sys.modules:
        return sys.modules["examples"]
    home = Path(__file__).resolve().parents[1]
    for folder in (home / "_examples", home.parents[1] / "examples"):
        if (folder / "__main__.py").is_file():
            spec = importlib.util.spec_from_file_location(
                "examples", folder / "__init__.py", submodule_search_locations=[str(folder)]
            )
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules["examples"] = module
            spec.loader.exec_module(module)
            return module
    raise MissingExtra(
        "the examples are not installed.",
        f"Found neither {home / '_examples'} nor a folder beside the sources.",
        "Install the wheel, or run from a clone.",
    )


@dataclass(frozen=True)
class Answer:
    """What a run of the gallery says: words for a reader, facts for a program, a code."""

    words: str
    facts: dict[str, Any]
    code: int = 0


def run(folder: Path, options: Any) -> Answer:
    """Run examples, draw their pictures and build the page."""
    package = examples()
    known = package.names()
    wrong = [name for name in options.names if name not in known]
    if wrong:
        raise StatementError(
            f"there is no example '{wrong[0]}'.",
            f"Examples: {', '.join(known)}.",
            did_you_mean(wrong[0], known).strip() or "Leave the names out to run all.",
        )
    if options.list:
        about = {name: title(package.load(name)) for name in known}
        width = max(map(len, known)) + 2
        lines = [f"{name:<{width}}{words}" for name, words in about.items()]
        return Answer("\n".join(lines), {"examples": about})
    began = time.perf_counter()
    silent = options.json or options.quiet
    tell = (lambda *a: None) if silent else partial(print, flush=True)
    outcome = show(options.names or known, folder, tell)
    facts = {
        "page": str(outcome.page),
        "interrupted": outcome.interrupted,
        "outside": outcome.outside,
        "rows": [
            {"example": name, "quantity": row.quantity, "expected": _fact(row.expected),
             "computed": _fact(row.computed), "difference": row.difference, "agrees": row.agrees}
            for name, rows in outcome.rows.items() for row in rows
        ],
    }  # fmt: skip
    if options.open:
        import webbrowser

        webbrowser.open(outcome.page.resolve().as_uri())
    code = 130 if outcome.interrupted else int(outcome.outside > 0)
    off = outcome.outside
    words = f"\n{off or 'No'} row{'s' * (off != 1)} outside tolerance; "
    words += f"{time.perf_counter() - began:.0f} s. The page is {outcome.page.resolve()}"
    return Answer(words, facts, code)


@dataclass(frozen=True)
class Outcome:
    """What came of running examples."""

    rows: dict[str, list[Any]]
    page: Path
    outside: int
    interrupted: bool


def show(chosen: list[str], folder: Path, tell: Callable[..., None]) -> Outcome:
    """Run examples, tell their numbers, draw their pictures and build the page of them."""
    package = examples()
    folder.mkdir(parents=True, exist_ok=True)
    rows: dict[str, list[Any]] = {}
    interrupted = False
    tell(line(HEAD))
    try:
        for name in chosen:
            tell(RULE)
            example = package.load(name)
            rows[name] = []
            for number, row in enumerate(example.results()):
                rows[name].append(row)
                tell(line(cells("" if number else name.replace("_", " "), row)))
            example.pictures(folder)
    except KeyboardInterrupt:
        tell("\nstopped from the keyboard; the page shows what there is")
        interrupted = True
    outside = sum(not row.agrees for several in rows.values() for row in several)
    return Outcome(rows, build(folder, rows), outside, interrupted)


def _fact(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float)) else str(value)


def title(example: Any) -> str:
    """Return the first sentence of an example's documentation."""
    return (inspect.getdoc(example) or "").split("\n")[0].rstrip(".")


def build(folder: Path, rows: Mapping[str, Sequence[Any]]) -> Path:
    """Write the page of the gallery and one page for each example.

    Parameters
    ----------
    folder : Path
        Where the pictures of the examples are, named after them.
    rows : dict
        The rows of each example's table, by name.

    Returns
    -------
    Path
        The page.
    """
    package = examples()
    listed: list[list[str]] = []
    cards: dict[str, list[str]] = {}
    for name, several in rows.items():
        example = package.load(name)
        for number, row in enumerate(several):
            entries = [escape(cell) for cell in cells(name, row)]
            first = f'<a href="{name}.html">{_words(name)}</a>' if number == 0 else ""
            listed.append([first, *entries[1:4], _marked(entries[4], row.agrees)])
        drawn = pictures(folder, name)
        cards.setdefault(getattr(example, "QUESTION", _OTHERWISE), []).append(
            f'<a class="card" href="{name}.html">{_moving(folder, name, drawn)}<div>'
            f"<b>{_words(name)}</b><p>{escape(title(example))}</p></div></a>"
        )
        _example_page(folder, name, example, several, drawn)
    outside = sum(not row.agrees for several in rows.values() for row in several)
    total = sum(map(len, rows.values()))
    verdict = '<span class="good">all agree</span>'
    if outside:
        verdict = f'<span class="bad">{outside} outside their tolerance</span>'
    summary = f"{len(rows)} examples, {total} numbers that are published or known: {verdict}."
    body = ["<h1>Gallery</h1>", f'<p>{summary} <a href="numbers.html">All numbers</a></p>']
    for question in sorted(cards, key=lambda q: (*_QUESTIONS, q).index(q)):
        body.append(f"<h2>{escape(question)}</h2>")
        body.append(f'<div class="cards">{"".join(cards[question])}</div>')
    numbers = [
        '<nav class="top"><a href="index.html">Gallery</a></nav><h1>Numbers</h1>',
        "<p>What the documents publish or mathematics knows, beside what stationary computes.</p>",
        f"<p>{summary}</p>",
        table(list(HEAD), listed),
    ]
    for file, name, content in (
        ("numbers.html", "Numbers of the gallery", numbers),
        ("index.html", "Gallery of stationary", body),
    ):
        text = page(name, "\n".join(content), wide=True)
        (folder / file).write_text(text, encoding="utf-8")
    return folder / "index.html"


def _moving(folder: Path, name: str, drawn: list[Path]) -> str:
    """Return the picture of a card; it moves, unless its reader would rather it did not."""
    small = thumbnail(folder, name, drawn)
    if small is None:
        return ""
    films = [path for path in drawn if path.suffix == ".gif"]
    if not films:
        return f'<img src="{small.name}" alt="" loading="lazy">'
    return (
        f'<picture><source srcset="{small.name}" media="(prefers-reduced-motion: reduce)">'
        f'<img src="{films[0].name}" alt="" loading="lazy"></picture>'
    )


def pictures(folder: Path, name: str) -> list[Path]:
    """Return the pictures of an example, still ones first."""
    package = examples()
    longer = [other for other in package.names() if other != name and other.startswith(name)]
    drawn = [
        path
        for path in sorted(folder.glob(f"{name}*"))
        if path.suffix in (".png", ".svg", ".gif")
        and not path.name.endswith(_SMALL)
        and not any(path.name.startswith(other) for other in longer)
    ]
    return sorted(drawn, key=lambda path: (path.suffix == ".gif", path.name))


def thumbnail(folder: Path, name: str, drawn: list[Path]) -> Path | None:
    """Return the picture for the card of an example: a still of its film if there is one."""
    from PIL import Image

    films = [path for path in drawn if path.suffix == ".gif"]
    if not films:
        return drawn[0] if drawn else None
    target = folder / f"{name}{_SMALL}"
    with Image.open(films[0]) as film:
        film.seek(getattr(film, "n_frames", 1) // 3)
        film.convert("RGB").save(target)
    return target


def _words(name: str) -> str:
    return escape(name.replace("_", " "))


def _marked(text: str, agrees: bool) -> str:
    return text if agrees else f'<span class="bad">{text}</span>'


def _example_page(
    folder: Path, name: str, example: Any, rows: Sequence[Any], drawn: list[Path]
) -> None:
    text = inspect.getdoc(example) or ""
    first, _, rest = text.partition("\n")
    listed = [
        [*map(escape, entries[1:4]), _marked(escape(entries[4]), row.agrees), escape(row.source)]
        for row, entries in ((row, cells("", row)) for row in rows)
    ]
    shown = "".join(
        f'<figure class="picture"><img src="{path.name}" alt="{_words(path.stem)}"></figure>'
        for path in drawn
    )
    code = Path(inspect.getfile(example)).read_text(encoding="utf-8")
    moving = ""
    if hasattr(example, "live"):
        file = f"{name}-live.html"
        st.live(**example.live(), path=folder / file, name=name.replace("_", " "), paused=True)
        moving = f'<iframe class="live" title="{_words(name)}, live" src="{file}"></iframe>'
    body = [
        '<nav class="top"><a href="index.html">Gallery</a></nav>',
        f"<h1>{_words(name).capitalize()}</h1>",
        f"<p><b>{escape(first)}</b></p>",
        moving,
        *(f"<p>{escape(part)}</p>" for part in rest.strip().split("\n\n") if part),
        shown,
        "<h2>Numbers</h2>",
        table([*HEAD[1:], "source"], listed),
        "<h2>The program</h2>",
        html_of_markdown(f"```python\n{code}\n```"),
    ]
    target = folder / f"{name}.html"
    target.write_text(page(name.replace("_", " "), "\n".join(body)), encoding="utf-8")
