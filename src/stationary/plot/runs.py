"""Runs of a sweep: curves over one axis, maps over two, pairs for samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.errors import StatementError, did_you_mean
from stationary.plot.style import entitle, label, legend, look, words
from stationary.result.views import view

# Panels of one picture, and lines of one panel, at most.
_MOST_PANELS = 6
_MOST_LINES = 7

# Room beside the first and the last point, as a share of the panel.
_EDGE = 0.02

# Values that are spread so far are read by their powers of ten.
_MANY_TIMES, _ONE_FACTOR = 50, 1e-6


@view("runs", "plot")
def plot(runs: Any, *names: str) -> Any:
    """Draw what was kept of runs; all of it, or what is named."""
    known = [n for n, rows in runs.kept.items() if rows.dtype.kind in "fc" and rows.ndim < 3]
    unknown = [n for n in names if n not in known]
    if unknown or not known:
        raise StatementError(
            f"'{str(unknown[0])[:60]}' cannot be drawn."
            if unknown
            else "there is nothing to draw.",
            f"What can be: {', '.join(known) or 'none'}."
            + (did_you_mean(str(unknown[0]), known) if unknown else ""),
            "Draw numbers that were kept of every run.",
        )
    series = _series(runs, names or tuple(known))[:_MOST_PANELS]
    axes = runs.design.axes
    columns = [(name, values) for axis in axes for name, values in axis.columns]
    with look():
        if len(axes) == 1 and len(axes[0].columns) > 1:
            return _pairs(columns, series)
        if len(axes) == 1:
            return _curves(runs, columns[0], series)
        return _maps(runs, columns, series)


def _series(runs: Any, names: tuple[str, ...]) -> list[tuple[str, np.ndarray]]:
    """Return what is drawn: its title, and one number per run."""
    series = []
    for name in names:
        rows = runs.kept[name]
        rows = np.abs(rows) if rows.dtype.kind == "c" else rows
        if rows.ndim == 1:
            series.append((words(name), rows))
        else:
            series += [(words(f"{name}[{k}]"), rows[:, k]) for k in range(rows.shape[1])]
    return series


def _places(values: Any) -> np.ndarray:
    """Return where values stand on an axis: at themselves, or one after the other."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "fiu":
        return values
    return np.arange(len(values), dtype=float)


def _is_geometric(places: np.ndarray) -> bool:
    """Tell whether values grow by one factor, to many times the first."""
    if len(places) < 3 or not np.all(places > 0) or places.max() < _MANY_TIMES * places.min():
        return False
    return float(np.ptp(np.diff(np.sort(np.log(places))))) < _ONE_FACTOR


def _curves(runs: Any, column: tuple[str, Any], series: list[tuple[str, np.ndarray]]) -> Any:
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        len(series), 1, sharex=True, squeeze=False, figsize=(7, 1.2 + 2.0 * len(series))
    )
    places = _places(column[1])
    order, failed = np.argsort(places, kind="stable"), ~runs.done.ravel()
    for axes, (title, rows) in zip(panels[:, 0], series):
        axes.plot(places[order], rows[order], ".-" if len(rows) < 60 else "-")
        axes.margins(x=_EDGE)
        axes.set_ylabel(title)
        if _is_geometric(places):
            axes.set_xscale("log")
            if np.all(rows > 0):
                axes.set_yscale("log")
        if failed.any():
            # Below the curve, where a run has no answer.
            axes.plot(places[failed], np.full(failed.sum(), 0.02), "x", color="0.6", ms=4,
                      transform=axes.get_xaxis_transform())  # fmt: skip
    panels[-1, 0].set_xlabel(_label(column[0]))
    return figure


def _maps(runs: Any, columns: list, series: list[tuple[str, np.ndarray]]) -> Any:
    import matplotlib.pyplot as plt

    wide, high, *fixed = range(len(runs.shape))
    if len(runs.shape) > 1 and runs.shape[1] <= _MOST_LINES and not fixed:
        return _families(runs, columns, series)
    across = min(3, len(series))
    down = -(-len(series) // across)
    figure, panels = plt.subplots(
        down, across, squeeze=False, figsize=(1 + 4 * across, 0.6 + 3.2 * down)
    )
    x, y = (_places(runs.design.axes[k].columns[0][1]) for k in (wide, high))
    right, up = (np.argsort(places, kind="stable") for places in (x, y))
    for axes, (title, rows) in zip(panels.ravel(), series):
        # Further axes are shown where they begin.
        grid = rows.reshape(runs.shape)[(slice(None), slice(None), *[0] * len(fixed))]
        drawn = axes.pcolormesh(
            x[right], y[up], grid[np.ix_(right, up)].T,
            shading="nearest", rasterized=True, cmap="viridis",
        )  # fmt: skip
        axes.set_facecolor("0.85")
        axes.grid(False)
        figure.colorbar(drawn, ax=axes, label=title)
        axes.set_xlabel(_label(runs.design.axes[wide].name))
        axes.set_ylabel(_label(runs.design.axes[high].name))
    for axes in panels.ravel()[len(series) :]:
        axes.set_visible(False)
    if fixed:
        said = ", ".join(
            f"{runs.design.axes[k].name} = {runs.design.axes[k].columns[0][1][0]}" for k in fixed
        )
        entitle(figure, words(said))
    return figure


def _families(runs: Any, columns: list, series: list[tuple[str, np.ndarray]]) -> Any:
    """Draw one curve for each of a few values of the second axis."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        len(series), 1, sharex=True, squeeze=False, figsize=(7, 1.4 + 2.0 * len(series))
    )
    x, lines = _places(columns[0][1]), runs.design.axes[1].columns[0]
    order = np.argsort(x, kind="stable")
    for axes, (title, rows) in zip(panels[:, 0], series):
        for k, value in enumerate(lines[1]):
            name = f"{_label(lines[0])} = {value:g}" if isinstance(value, float) else f"{k}"
            axes.plot(x[order], rows.reshape(runs.shape)[order, k], label=name)
        axes.set_ylabel(title)
    panels[-1, 0].set_xlabel(_label(runs.design.axes[0].name))
    legend(panels[0, 0])
    return figure


def _pairs(columns: list, series: list[tuple[str, np.ndarray]]) -> Any:
    """Draw everything that was kept against everything that varies."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        len(series), len(columns), sharex="col", sharey="row", squeeze=False,
        figsize=(1 + 2.6 * len(columns), 0.8 + 2.2 * len(series)),
    )  # fmt: skip
    count = len(series[0][1])
    small = 20.0 if count < 50 else 4.0 if count < 1000 else 0.7
    for row, (title, rows) in zip(panels, series):
        for axes, (_, values) in zip(row, columns):
            axes.scatter(_places(values), rows, s=small, linewidths=0, rasterized=True)
            axes.margins(2 * _EDGE)
        row[0].set_ylabel(title)
    for axes, (name, _) in zip(panels[-1], columns):
        axes.set_xlabel(_label(name))
    return figure


def _label(name: str) -> str:
    return label(name) if name.replace(".", "").replace("_", "").isalnum() else words(name)
