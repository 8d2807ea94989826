"""Build the documentation: ``python docs/build.py [folder]``.

Every Markdown file of this folder becomes a page. Python in it is run, in order, and what it prints
and draws is put below it: text and answers cannot drift apart. The reference is made from the
docstrings of everything that ``stationary`` lists.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from stationary.report.page import html_of_markdown, page

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

#: The pages in the order of reading, under the headings of the menu.
MENU = {
    "Begin": ["start", "model-files", "command-line", "choose"],
    "Principles": [
        "statics",
        "dynamics",
        "constraints",
        "space",
        "sliding",
        "touch",
        "pushing",
        "continua",
    ],
    "Many": ["many", "clusters"],
    "Show": ["live"],
    "Know": ["evidence", "signs", "limits", "reference"],
}
_BLOCK = re.compile(r"^```(\w+)( \w+)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def title_of(text: str) -> str:
    match = re.match(r"# (.+)", text)
    return match[1].strip() if match else "stationary"


def run(text: str, folder: Path, name: str) -> str:
    """Run the Python of a page; put what it prints and draws below each block."""
    space: dict[str, Any] = {"__name__": "__main__"}
    count = 0

    def ran(match: re.Match[str]) -> str:
        nonlocal count
        language, mark, code = match[1], match[2] or "", match[3]
        shown = f"```{language}\n{code}```"
        if language != "python" or "only" in mark:
            return shown
        said = io.StringIO()
        plt.close("all")
        with contextlib.redirect_stdout(said), contextlib.chdir(folder):
            exec(compile(code, f"{name}.md", "exec"), space)
        if said.getvalue().strip():
            printed = said.getvalue().rstrip()
            # A derivation is Markdown itself; everything else is shown as it was printed.
            below = re.sub("^#+ ", "#### ", printed, flags=re.MULTILINE)
            shown += f"\n\n{below}\n" if "$$" in printed else f"\n\n```text\n{printed}\n```"
        for number in plt.get_fignums():
            count += 1
            file = f"{name}-{count}.png"
            plt.figure(number).savefig(folder / file, dpi=130)
            shown += f"\n\n![{title_of(text)}]({file})\n"
        plt.close("all")
        return shown

    return _BLOCK.sub(ran, text)


def menu(here: str, titles: dict[str, str]) -> str:
    parts = ['<a href="index.html"><b>stationary</b></a>']
    for heading, names in MENU.items():
        parts.append(f"<b>{heading}</b>")
        for name in names:
            mark = ' class="here"' if name == here else ""
            parts.append(f'<a{mark} href="{name}.html">{titles[name]}</a>')
    return "".join(parts)


def build(folder: Path, only: set[str] | None = None) -> list[Path]:
    """Write the site; return its pages."""
    from reference import reference  # pyright: ignore[reportMissingImports]  # beside this file

    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("STATIONARY_OPTIMIZE", "off")
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(HERE.glob("*.md"))}
    texts["reference"] = reference()
    listed = [name for names in MENU.values() for name in names]
    missing = set(texts) ^ {*listed, "index"}
    if missing:
        raise SystemExit(f"pages and menu differ: {', '.join(sorted(missing))}")
    titles = {name: title_of(text) for name, text in texts.items()}
    for picture in HERE.glob("*.png"):
        (folder / picture.name).write_bytes(picture.read_bytes())
    made = []
    for name, text in texts.items():
        if only is not None and name not in only:
            continue
        ran = text if name == "reference" else run(text, folder, name)
        # Links between the files are links between the pages.
        body = re.sub(r'href="([\w-]+)\.md(#[\w-]+)?"', r'href="\1.html\2"', html_of_markdown(ran))
        target = folder / f"{name}.html"
        head = titles[name] if name == "index" else f"{titles[name]} · stationary"
        target.write_text(page(head, body, aside=menu(name, titles)), encoding="utf-8")
        made.append(target)
    return made


if __name__ == "__main__":
    where = Path(sys.argv[1] if len(sys.argv) > 1 else "site")
    pages = build(where)
    # Where there is a browser its pictures are of this version.
    from screens import pictures

    pictures(where)
    print(f"{len(pages)} pages; begin with {(where / 'index.html').resolve()}")
