"""A part whose pressure is not known: where it can turn about, and who attains the bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.plot.style import COLORS, look, words
from stationary.result.pressure import PressureBounds
from stationary.result.views import view


@view("pressure bounds", "plot")
def plot(found: PressureBounds) -> Any:
    """Draw the outline, the locus or the two centres, and the extreme pressures as discs."""
    import matplotlib.pyplot as plt

    with look():
        figure, axes = plt.subplots(figsize=(6.0, 5.2))
        outline = np.vstack([found.outline, found.outline[:1]])
        axes.fill(*outline.T, color="0.93", zorder=0)
        axes.plot(*outline.T, color="0.4", ls="-", lw=1.2)
        axes.plot(*found.centre, "+", color="0.2", ms=9, mew=1.5, label="centre of the part")
        if len(found.locus):
            border = np.vstack([found.locus, found.locus[:1]])
            axes.fill(*border.T, color=COLORS[4], alpha=0.35, zorder=1)
            axes.plot(*border.T, color=COLORS[0], ls="-", lw=1.2, label="centres of rotation")
        size = float(np.ptp(found.outline, axis=0).max())
        shift = found.at[:2]
        c, s = np.cos(found.at[2]), np.sin(found.at[2])
        for k, (pressure, name) in enumerate(zip(found.pressures, ("low", "high"))):
            place = pressure.points @ np.array([[c, s], [-s, c]]) + shift
            share = pressure.weights / pressure.weights.sum()
            axes.scatter(*place.T, s=220 * share + 8, color=COLORS[k + 1], alpha=0.8, zorder=3,
                         marker="os"[k], label=f"pressure of the {name} end")  # fmt: skip
            vx, vy, turn = found.motions[k]
            speed = max(np.hypot(vx, vy), 1e-300)
            if abs(turn) * 20 * size > speed:
                q = found.at[:2] + np.array([-vy, vx]) / turn
                if np.hypot(*(q - found.centre)) < 4 * size:
                    axes.plot(*q, "x", color=COLORS[k + 1], ms=8, mew=2, zorder=4)
        axes.set(aspect="equal", xlabel="x", ylabel="y")
        axes.margins(0.06)
        name = words(found.system.name) or "the part"
        figure.suptitle(f"{words(found.of)} of {name}: {found.low:.5g} … {found.high:.5g}",
                        fontsize=11)  # fmt: skip
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2)
    return figure
