"""One look for every picture: legible in print, in grey and on a screen."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import sympy as sp

from stationary.errors import spelled
from stationary.model.arrays import Array
from stationary.model.space.rotation import orientations
from stationary.model.symbols import Coordinate

#: Colours that the colour-blind can tell apart (Okabe and Ito), the darkest first.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")

#: Dashes that go with the colours, so that a grey copy can still be read.
DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 2)),
    (0, (1, 1.2)),
    (0, (6, 2, 1, 2)),
    (0, (3, 1.5)),
    (0, (6, 2, 1, 2, 1, 2)),
    (0, (10, 3)),
)

# Fonts with more letters, of which systems bring one or the other.
_FAR = ("Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans CJK KR", "Hiragino Sans", "PingFang SC",
        "Yu Gothic", "MS Gothic", "Microsoft YaHei", "Malgun Gothic", "WenQuanYi Zen Hei",
        "Arial Unicode MS", "Noto Sans Devanagari", "Noto Sans Thai")  # fmt: skip

# The size of a title in points, and how wide a letter is beside it.
_TITLE, _LETTER = 11, 0.58

# What a longer label would take from the picture is better read in the program.
_LONGEST_LABEL = 60


@spelled
@contextmanager
def look() -> Iterator[tuple[str, ...]]:
    """Give figures made in this context the look of all pictures here, and give its colours.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> with st.look() as colors:
    ...     figure, axes = plt.subplots()
    ...     line = axes.plot([0, 1], [0, 1], color=colors[1])
    >>> plt.close(figure)
    """
    import matplotlib as mpl
    from cycler import cycler

    settings: dict[Any, Any] = {
        "axes.prop_cycle": cycler(color=COLORS) + cycler(linestyle=DASHES),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.labelsize": "medium",
        "axes.xmargin": 0.0,
        "grid.color": "0.9",
        "grid.linewidth": 0.8,
        "font.family": _fonts(),
        "font.size": 9.5,
        "legend.frameon": False,
        "legend.handlelength": 2.6,
        "lines.linewidth": 1.5,
        "lines.dash_capstyle": "butt",
        "figure.constrained_layout.use": True,
        "savefig.dpi": 150,
    }
    with mpl.rc_context(settings):
        yield COLORS


def label(thing: Any, unit: str = "") -> str:
    r"""Write a name or an expression as mathematics: ``"theta.dot"`` as :math:`\dot\theta`.

    What matplotlib's own typesetting cannot set, and what is very long, stays plain text.

    Examples
    --------
    >>> from stationary.plot.style import label
    >>> label("theta_1.dot")
    '$\\dot{\\theta}_{1}$'
    >>> label("x", "m")
    '$x$ (m)'
    """
    if unit:
        return f"{label(thing)} ({unit})"
    if isinstance(thing, Array):
        thing = thing.name + ".dot" * thing.order
    if isinstance(thing, str):
        stem, _, order = thing.partition(".")
        thing = Coordinate(stem)
        thing = {"dot": thing.dot, "ddot": thing.ddot}.get(order, thing)
    thing = _turning(sp.S(thing))
    plain = str(thing)
    if len(plain) > _LONGEST_LABEL:
        return plain[: _LONGEST_LABEL - 1] + "…"
    text = f"${sp.latex(thing)}$"
    # Mathematics has no letters of the Far East; text has them where a font is installed.
    return text if _can_be_set(text) and not any(map(_is_far, plain)) else plain


def _turning(e: sp.Basic) -> sp.Basic:
    """Write angular velocities and axes of bodies by their names, not by quaternions."""
    for r in orientations(s for s in e.free_symbols if isinstance(s, sp.Symbol)):
        rates = [sp.Symbol(f"omega_{r.name}_{a}") for a in "xyz"]
        axes = [sp.Symbol(f"{r.name}_{a}{b}") for a in "xyz" for b in "xyz"]
        swap = dict(zip((x for row in r.matrix for x in row), axes))
        swap |= dict(zip(r.omega, rates)) | {x / 2: w / 2 for x, w in zip(r.omega, rates)}
        e = e.xreplace(swap)
    return e


def _is_far(letter: str) -> bool:
    place = ord(letter)
    return 0x0900 <= place < 0x10A0 or 0x2E80 <= place and not 0x1D400 <= place < 0x1D800


@cache
def _fonts() -> list[str]:
    """Return the fonts of pictures: those behind the first have the letters that it lacks."""
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _FAR if name in installed)]


def entitle(figure: Any, text: str) -> None:
    """Write a title over a figure: what is wider than it is broken between words."""
    letters = int(figure.get_figwidth() * 72 / (_TITLE * _LETTER))
    figure.suptitle("\n".join(textwrap.wrap(text, letters)), fontsize=_TITLE)


@cache
def markup(name: str) -> str:
    """Return a piece of a page that stands beside this file."""
    return Path(__file__).with_name(f"{name}.html").read_text(encoding="utf-8").rstrip("\n")


def words(text: str) -> str:
    r"""Return text that matplotlib sets as it is written: a dollar opens no mathematics.

    Examples
    --------
    >>> from stationary.plot.style import words
    >>> print(words("costs $5"))
    costs \$5
    """
    return text.replace("$", r"\$")


@cache
def _can_be_set(text: str) -> bool:
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("path").parse(text)
    except ValueError:
        return False
    return True


# So many times as wide as before is a panel once the figure is laid out, or wider.
_LAID_OUT = 1.05


def legend(axes: Any) -> None:
    """Name the lines of a panel above it, where they hide nothing."""
    lines = axes.get_legend_handles_labels()[0]
    if lines:
        # Names share rows of about equal length.
        rows = -(-len(lines) // 4)
        columns = -(-len(lines) // rows)
        high = 1 + _offset(axes)
        # Fewer of them where the panel is narrower than the names.
        for few in range(columns, 0, -1):
            entries = axes.legend(
                loc="lower left",
                bbox_to_anchor=(0, high),
                ncols=few,
                borderaxespad=0.2,
                columnspacing=1.2,
                handletextpad=0.5,
            )
            if entries.get_window_extent().width <= _LAID_OUT * axes.get_window_extent().width:
                break


def _offset(axes: Any) -> float:
    """Return how much of a panel's height stands above it as the power of ten of its ticks."""
    ticks = axes.yaxis.get_major_formatter()
    ticks.set_locs(axes.yaxis.get_majorticklocs())
    if not ticks.get_offset():
        return 0.0
    size = axes.yaxis.get_offset_text().get_size() * axes.figure.dpi / 72
    return 1.7 * size / axes.get_window_extent().height
