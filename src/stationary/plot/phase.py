"""Phase portraits: velocity over coordinate."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.plot.fields import moving_places
from stationary.plot.style import COLORS, entitle, label, legend, look, words
from stationary.result.trajectory import AbstractMotion
from stationary.result.views import view

# Panels beside each other when nobody has chosen.
_MANY = 3


@view("motion", "phase")
def phase(motion: AbstractMotion, *coordinates: Any) -> Any:
    """Draw the velocity of each coordinate over the coordinate itself.

    Parameters
    ----------
    motion : Motion
    *coordinates : coordinates or their names
        Which ones; when left out the first three, those of an array that move
        most, or fields at three places.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib.pyplot as plt

    layout = motion.kernel.layout
    few = list(range(min(_MANY, motion.kernel.size)))
    if len(layout.offsets) == len(layout.arrays) == 1:
        # Entries of one array have one unit: those that move most say most.
        few = sorted(np.argsort(-np.ptp(motion.q, axis=0), kind="stable")[:_MANY].tolist())
    chosen = [(c, f"{c}.dot") for c in map(str, coordinates or (layout.name(i) for i in few))]
    if motion.system.fields and not coordinates:
        chosen = [(e, e.dot) for e in moving_places(motion)[-_MANY:]]
    with look():
        figure, row = plt.subplots(1, len(chosen), figsize=(3.8 * len(chosen), 3.6), squeeze=False)
        for axes, (place, rate) in zip(row[0], chosen):
            q, v = motion[place], motion[rate]
            axes.margins(0.05)
            axes.locator_params(axis="x", nbins=5)
            axes.plot(q, v)
            axes.plot(q[:1], v[:1], "o", color=COLORS[1], label="start")
            axes.plot(q[-1:], v[-1:], "s", color=COLORS[2], label="end")
            axes.set_xlabel(label(place, motion.unit(str(place))))
            axes.set_ylabel(label(rate, motion.unit(str(rate))))
            legend(axes)
        size = motion.kernel.size
        whole = coordinates or motion.system.fields or len(few) == size
        note = "" if whole else f"{len(few)} of {size} coordinates shown"
        if title := " · ".join(filter(None, (words(motion.system.name), note))):
            entitle(figure, title)
    return figure
