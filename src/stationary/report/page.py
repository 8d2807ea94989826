"""Pages of one file: style, mathematics and pictures inside, nothing fetched from anywhere."""

from __future__ import annotations

import io
import re
from base64 import b64encode
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from stationary.pages.mathml import math

_DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
_INLINE = re.compile(r"(?<![\\$\w])\$([^\s$](?:(?:[^$\n]|\n(?!\n))*?[^\s$\\])?)\$(?![\w$])")
# A figure of more inches than this scrolls on a phone: shrunk, nobody could read it.
_WIDE = 8.0
_CODE = re.compile(r"(^```.*?^```[^\n]*$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)


def html_of_markdown(text: str) -> str:
    """Turn Markdown with LaTeX between dollars into HTML with MathML."""
    kept: list[str] = []

    def keep(mathml: str) -> str:
        kept.append(mathml)
        # A word that Markdown passes through: mathematics is not its business.
        return f"\ue000{len(kept) - 1}\ue001"

    def outside_code(part: str) -> str:
        part = _DISPLAY.sub(lambda m: "\n\n" + keep(math(m[1], True)) + "\n\n", part)
        return _INLINE.sub(lambda m: keep(math(m[1])), part)

    pieces = _CODE.split(text)
    text = "".join(piece if k % 2 else outside_code(piece) for k, piece in enumerate(pieces))
    html = _markdown().render(text)
    html = re.sub("<p>(\ue000\\d+\ue001)</p>", r"\1", html)
    html = re.sub("\ue000(\\d+)\ue001", lambda m: kept[int(m[1])], html)
    html = re.sub(r"<h([23])>(.*?)</h\1>", _heading, html)
    # A wide table scrolls in its own box, not the page.
    return html.replace("<table>", '<div class="scroll"><table>').replace(
        "</table>", "</table></div>"
    )


def _heading(match: re.Match[str]) -> str:
    words = re.sub(r"<annotation.*?</annotation>|<[^>]+>", "", match[2])
    return f'<h{match[1]} id="{anchor(words)}">{match[2]}</h{match[1]}>'


def anchor(words: str) -> str:
    """Return what a link to a heading ends with."""
    return re.sub(r"[^\w]+", "-", words.lower()).strip("-")


@cache
def _markdown() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "highlight": _colored}).enable("table")


def _colored(code: str, language: str, attributes: str) -> str:
    """Color code; what is not known stays plain."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_by_name(language or "text")
    except ClassNotFound:
        return ""
    return highlight(code, lexer, HtmlFormatter(nowrap=True))


def page_of_markdown(title: str, text: str) -> str:
    """Return a whole page of Markdown."""
    return page(title, html_of_markdown(text))


def page(title: str, body: str, *, aside: str = "", wide: bool = False) -> str:
    """Return a whole page.

    Parameters
    ----------
    title : str
    body : str
        HTML of the main column.
    aside : str
        HTML of a column with links beside it.
    wide : bool
        Whether the main column takes all the room there is.
    """
    side = f'<nav class="side">{aside}</nav>' if aside else ""
    kind = "wide" if wide else "narrow"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style()}</style>
</head>
<body class="{kind}{" with-side" if aside else ""}">
{side}<main>
{body}
</main>
</body>
</html>
"""


@cache
def style() -> str:
    """Return the style sheet that all pages share."""
    return Path(__file__).with_name("style.css").read_text(encoding="utf-8")


def picture(figure: Any, words: str) -> str:
    """Put a matplotlib figure into a page, and let go of it."""
    import matplotlib.pyplot as plt

    data = io.BytesIO()
    with plt.rc_context({"svg.hashsalt": "stationary"}):
        # No date: the same model gives the same page.
        figure.savefig(data, format="svg", metadata={"Date": None})
    plt.close(figure)
    source = f"data:image/svg+xml;base64,{b64encode(data.getvalue()).decode()}"
    wide = " wide" if figure.get_figwidth() > _WIDE else ""
    words = escape(words, quote=True)
    return f'<figure class="picture{wide}"><img src="{source}" alt="{words}"></figure>'


def live_panel(inside: str, name: str) -> str:
    """Put a live page into a page: in a frame of its own, so that neither touches the other."""
    title = escape(f"{name}, live", quote=True)
    inside = escape(inside, quote=True)
    return f'<iframe class="live" title="{title}" loading="lazy" srcdoc="{inside}"></iframe>'


def table(head: list[str], rows: list[list[str]], numbers: bool = True) -> str:
    """Return a table of cells that are HTML already."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
    kind = ' class="numbers"' if numbers else ""
    return (
        f'<div class="scroll"><table{kind}><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
