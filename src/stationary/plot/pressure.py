"""A part whose pressure is not known: where it can turn about, and who attains the bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.plot.style import COLORS, entitle, look, words
from stationary.result.pressure import PressureBounds
from stationary.result.views import view
from stationary.result.weighed import FittedPressure


@view("pressure bounds", "plot")
def plot(bounds: PressureBounds) -> Any:
    """Draw the outline, the locus or the two centres, and the extreme pressures as discs."""
    import matplotlib.pyplot as plt

    if len(bounds.band):
        return _band(bounds)
    with look():
        every = np.vstack([bounds.outline, *([bounds.locus] if len(bounds.locus) else [])])
        wide, tall = np.ptp(every, axis=0)
        # As tall as what is drawn, and room for words.
        height = float(np.clip(5.2 * tall / max(wide, 1e-300), 1.5, 6.0)) + 1.6
        figure, axes = plt.subplots(figsize=(6.0, height))
        outline = np.vstack([bounds.outline, bounds.outline[:1]])
        axes.fill(*outline.T, color="0.93", zorder=0)
        axes.plot(*outline.T, color="0.4", ls="-", lw=1.2)
        axes.plot(*bounds.centre, "+", color="0.2", ms=9, mew=1.5, label="centre of the part")
        if len(bounds.locus):
            border = np.vstack([bounds.locus, bounds.locus[:1]])
            axes.fill(*border.T, color=COLORS[4], alpha=0.35, zorder=1)
            axes.plot(*border.T, color=COLORS[0], ls="-", lw=1.2, label="centres of rotation")
        size = float(np.ptp(bounds.outline, axis=0).max())
        shift = bounds.at[:2]
        c, s = np.cos(bounds.at[2]), np.sin(bounds.at[2])
        for k, (pressure, name) in enumerate(zip(bounds.pressures, ("low", "high"))):
            place = pressure.points @ np.array([[c, s], [-s, c]]) + shift
            share = pressure.weights / pressure.weights.sum()
            axes.scatter(*place.T, s=220 * share + 8, color=COLORS[k + 1], alpha=0.8, zorder=3,
                         marker="os"[k], label=f"pressure of the {name} end")  # fmt: skip
            vx, vy, turn = bounds.motions[k]
            speed = max(np.hypot(vx, vy), 1e-300)
            if abs(turn) * 20 * size > speed:
                q = bounds.at[:2] + np.array([-vy, vx]) / turn
                if np.hypot(*(q - bounds.centre)) < 4 * size:
                    axes.plot(*q, "x", color=COLORS[k + 1], ms=8, mew=2, zorder=4,
                              label="about which it turns then")  # fmt: skip
        axes.set(aspect="equal", xlabel="$x$ (m)", ylabel="$y$ (m)")
        axes.margins(0.06)
        name = words(bounds.system.name) or "the part"
        # Beside what is drawn: equal scales leave room above it.
        axes.set_title(f"{words(bounds.of)} of {name}: {bounds.low:.5g} … {bounds.high:.5g}",
                       fontsize=11)  # fmt: skip
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    return figure


def _band(bounds: PressureBounds) -> Any:
    """Draw the angles that a part can have while a fence advances."""
    import matplotlib.pyplot as plt

    if bounds.of != "advance":
        return _over_time(bounds)
    angle, early, late = bounds.band.T
    with look():
        figure, axes = plt.subplots(figsize=(6.0, 4.0))
        axes.fill_betweenx(np.degrees(angle), early, late, color=COLORS[4], alpha=0.35,
                           label="what some pressure may do")  # fmt: skip
        axes.plot(early, np.degrees(angle), color=COLORS[1], ls="-", label="fastest at every angle")
        axes.plot(late, np.degrees(angle), color=COLORS[0], ls="-", label="slowest at every angle")
        axes.set(xlabel="advance of the fence (m)", ylabel="angle of the part (°)")
        axes.set_xlim(left=0)
        name = words(bounds.system.name) or "the part"
        entitle(figure, f"{name} aligns after {bounds.low:.4g} … {bounds.high:.4g}")
        axes.legend(loc="best")
    return figure


def _over_time(bounds: PressureBounds) -> Any:
    """Draw what a coordinate can be while a finger pushes."""
    import matplotlib.pyplot as plt

    time, low, high = bounds.band.T
    with look():
        figure, axes = plt.subplots(figsize=(6.0, 4.0))
        axes.fill_between(time, low, high, color=COLORS[4], alpha=0.35,
                          label="within this under every pressure")  # fmt: skip
        axes.plot(time, low, color=COLORS[0], ls="-")
        axes.plot(time, high, color=COLORS[1], ls="-")
        axes.set(xlabel="$t$ (s)", ylabel=words(bounds.of))
        name = words(bounds.system.name) or "the part"
        entitle(figure, f"{words(bounds.of)} of {name} over a push")
        axes.legend(loc="best")
    return figure


@view("fitted pressure", "plot")
def loads(weighed: FittedPressure) -> Any:
    """Draw the loads on the part, and beside it their intervals."""
    import matplotlib.pyplot as plt

    with look():
        figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 4.0))
        if np.ptp(weighed.cells) > 0 or len(weighed.points) > 24:
            _over_area(weighed, left, right)
        else:
            _at_feet(weighed, left, right)
        if weighed.next is not None:
            way = 0.15 * np.ptp(weighed.points, axis=0).max() * np.array(weighed.next.normal)
            point = np.array(weighed.next.point)
            left.annotate("", point, point - way, arrowprops={"arrowstyle": "->", "lw": 2,
                          "color": COLORS[1]})  # fmt: skip
            left.plot(*(point - way)[:, None], color=COLORS[1], ls="-", label="push next")
        left.plot(*weighed.centre, "+", color="0.2", ms=9, mew=1.5, label="centre of pressure")
        left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
        left.set(aspect="equal", xlabel="$x$ (m)", ylabel="$y$ (m)")
        left.margins(0.15)
        name = words(weighed.system.name) or "the part"
        entitle(figure, f"{name}: {weighed.status}, {len(weighed.residuals)} pushes")
    return figure


def _at_feet(weighed: FittedPressure, left: Any, right: Any) -> None:
    """Draw discs as large as the loads, and a bar for each interval."""
    left.scatter(*weighed.points.T, s=400 * weighed.weights / weighed.weights.max() + 4,
                 color=COLORS[0], alpha=0.8)  # fmt: skip
    for k, place in enumerate(weighed.points):
        left.annotate(str(k), place, xytext=(6, 6), textcoords="offset points")
    places = np.arange(len(weighed.weights))
    right.errorbar(
        weighed.weights, places,
        xerr=np.abs(weighed.intervals - weighed.weights[:, None]).T,
        fmt="o", ms=5, color=COLORS[0], ecolor="0.5", capsize=3,
    )  # fmt: skip
    right.set(xlabel="load (N), with its 95 % interval", ylabel="foot")
    right.set_xlim(left=0)
    right.set_yticks(places)
    right.invert_yaxis()


def _over_area(weighed: FittedPressure, left: Any, right: Any) -> None:
    """Draw the pressure over an area, and how well it is known, both in mean pressures."""
    mean = weighed.cells * weighed.weights.sum() / weighed.cells.sum()
    half = np.diff(weighed.intervals, axis=1)[:, 0] / 2
    size = 13000 * weighed.cells / weighed.cells.sum()
    for axes, value, word in ((left, weighed.weights / mean, "pressure over its mean"),
                              (right, half / mean, "95 %: ± mean pressures")):  # fmt: skip
        drawn = axes.scatter(*weighed.points.T, s=size, c=value, cmap="viridis", marker="s",
                             vmin=0, vmax=max(float(np.quantile(value, 0.98)), 1e-9),
                             linewidths=0)  # fmt: skip
        axes.figure.colorbar(drawn, ax=axes, shrink=0.7, label=word)
        axes.locator_params(nbins=4)
    right.set(aspect="equal", xlabel="$x$ (m)", ylabel="$y$ (m)")
    right.margins(0.15)
