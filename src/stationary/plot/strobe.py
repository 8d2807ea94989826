"""Stroboscopic pictures: a motion on one plate."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.plot.scene import ink, move, paper, scene, stage
from stationary.plot.solids import Surfaces
from stationary.plot.style import look, words
from stationary.result.trajectory import AbstractMotion
from stationary.result.views import view

# With more flashes than this, dots and lines are drawn smaller.
_CROWDED = 15


@view("motion", "strobe")
def strobe(motion: AbstractMotion, count: int = 12, axes: Any = None) -> Any:
    """Draw the parts of a system at several times, the earlier the fainter.

    Parameters
    ----------
    motion : Motion
    count : int
        How many times the light flashes, evenly from the first time to the last.
    axes : matplotlib.axes.Axes, optional
        Where to draw; a figure of its own when left out.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib.pyplot as plt

    between = 20
    times = np.linspace(motion.t[0], motion.t[-1], between * (count - 1) + 1)
    drawn = scene(motion.at(times))  # pyright: ignore[reportArgumentType]
    with look():
        if axes is None:
            axes = stage(plt.figure(figsize=paper(drawn)), drawn)
            axes.set_title(words(motion.system.name), fontsize=11)
        for stroke in drawn.strokes:
            if stroke.trail:
                line = {"marker": "none", "lw": 1.0, "ls": "-", "alpha": 0.5, "zorder": 1}
                move(ink(axes, stroke, **line), stroke.path[:, 0])
            small = {"ms": 6, "lw": 1.0} if count > _CROWDED else {}
            size = {key: value for key, value in small.items() if key in stroke.style}
            for flash in range(count):
                strength = 0.12 + 0.88 * (flash / max(1, count - 1)) ** 2
                artist = ink(axes, stroke, alpha=strength, **size)
                move(artist, stroke.path[between * flash])
        for flash in range(count) if drawn.solids else ():
            strength = 0.06 + 0.94 * (flash / max(1, count - 1)) ** 3
            Surfaces(axes, list(drawn.solids), strength).show(between * flash)
    return axes.figure
