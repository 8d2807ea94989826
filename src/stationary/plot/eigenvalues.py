"""Eigenvalues of a linear system in the complex plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.plot.style import COLORS, entitle, legend, look, words
from stationary.result.statespace import StateSpace
from stationary.result.views import view


@view("state space", "plot")
def plane(lin: StateSpace, name: str = "") -> Any:
    """Draw eigenvalues: what stands to the right of the axis grows.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib.pyplot as plt

    # What is nothing but rounding stands on its axis.
    growth, swing = (np.where(np.abs(part) <= lin.known_to, 0.0, part)
                     for part in (np.real(lin.eigenvalues), np.imag(lin.eigenvalues)))  # fmt: skip
    grows = growth > 0
    with look():
        figure, axes = plt.subplots(figsize=(5.2, 4.2))
        axes.margins(0.15)
        kinds = (("grows", grows, COLORS[1], "s"), ("does not grow", ~grows, COLORS[0], "o"))
        for kind, which, color, marker in kinds:
            if np.any(which):
                axes.plot(growth[which], swing[which], marker, color=color, mfc="none",
                          mew=1.6, label=kind)  # fmt: skip
        for one, limit, other in ((growth, axes.set_xlim, swing), (swing, axes.set_ylim, growth)):
            if not np.any(one) and np.any(other):
                largest = np.max(np.abs(other))
                limit(-largest, largest)
        axes.axhline(0, color="0.6", lw=0.8, ls="-", zorder=0)
        axes.axvline(0, color="0.6", lw=0.8, ls="-", zorder=0)
        axes.set_xlabel("growth (1/s)")
        axes.set_ylabel("frequency (rad/s)")
        legend(axes)
        title = f"{name}: {lin.stability}" if name else lin.stability
        entitle(figure, words(title))
    return figure
