"""Phase portraits: velocity over coordinate."""

from __future__ import annotations

from typing import Any

from stationary.plot.style import COLORS, label, legend, look, words
from stationary.result.trajectory import AbstractMotion
from stationary.result.views import view


@view("motion", "phase")
def phase(motion: AbstractMotion, *coordinates: Any) -> Any:
    """Draw the velocity of each coordinate over the coordinate itself.

    Parameters
    ----------
    motion : Motion
    *coordinates : coordinates or their names
        Which ones; the first three when left out.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib.pyplot as plt

    layout = motion.kernel.layout
    few = range(min(3, motion.kernel.size))
    names = [str(c) for c in coordinates] or [layout.name(i) for i in few]
    with look():
        figure, row = plt.subplots(1, len(names), figsize=(3.8 * len(names), 3.6), squeeze=False)
        for axes, name in zip(row[0], names):
            q, v = motion[name], motion[f"{name}.dot"]
            axes.margins(0.05)
            axes.locator_params(axis="x", nbins=5)
            axes.plot(q, v)
            axes.plot(q[:1], v[:1], "o", color=COLORS[1], label="start")
            axes.plot(q[-1:], v[-1:], "s", color=COLORS[2], label="end")
            axes.set_xlabel(label(name, motion.unit(name)))
            axes.set_ylabel(label(f"{name}.dot", motion.unit(f"{name}.dot")))
            legend(axes)
        if motion.system.name:
            figure.suptitle(words(motion.system.name), fontsize=11)
    return figure
