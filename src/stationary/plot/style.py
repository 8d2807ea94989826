"""One look for every picture: legible in print, in grey and on a screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import sympy as sp

from stationary.errors import spelled
from stationary.model.arrays import Array
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
    thing = sp.S(thing)
    plain = str(thing)
    if len(plain) > _LONGEST_LABEL:
        return plain[: _LONGEST_LABEL - 1] + "…"
    text = f"${sp.latex(thing)}$"
    return text if _can_be_set(text) else plain


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
        # Fewer of them where the panel is narrower than the names.
        for few in range(columns, 0, -1):
            entries = axes.legend(
                loc="lower left",
                bbox_to_anchor=(0, 1),
                ncols=few,
                borderaxespad=0.2,
                columnspacing=1.2,
                handletextpad=0.5,
            )
            if entries.get_window_extent().width <= _LAID_OUT * axes.get_window_extent().width:
                break
