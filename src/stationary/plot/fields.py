"""Pictures of fields: over position, over position and time, moving, and as natural modes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from stationary.errors import StatementError
from stationary.model.interpolation import along
from stationary.plot.animation import LONGEST, SHORTEST, Film, playing, saver, title_at
from stationary.plot.style import COLORS, DASHES, entitle, label, legend, look, words
from stationary.result.fields import FieldFunction
from stationary.result.modes import Modes
from stationary.result.trajectory import AbstractMotion
from stationary.result.views import view

# Positions and times at which a picture samples a field, at most.
_PLACES, _TIMES = 401, 601

# Times at which a picture shows a moving field.
_FLASHES = 5
# Shapes that differ by less than this share of all that is covered look the same.
_ALIKE = 0.02

# What moves by less than this part of a whole field is held.
_HELD = 1e-9

# Modes in one panel, at most: more are not told apart.
_MANY = 5


@view("field", "plot")
def plot(field: FieldFunction) -> Any:
    """Draw a field over position, or, if it moves, over position and time.

    Parameters
    ----------
    field : FieldFunction

    Returns
    -------
    matplotlib.figure.Figure
    """
    with look():
        return _space_time(field) if field.moves else _course(field)


def _places(field: Any) -> np.ndarray:
    """Return positions that show all nodes if they are few, and are many in any case."""
    low, high = field.ends
    even = np.linspace(low, high, _PLACES)
    return np.union1d(even, field.nodes) if len(field.nodes) <= _PLACES else even


def _course(field: FieldFunction) -> Any:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.2, 3.4))
    x = _places(field)
    axes.plot(x, field(x))
    if len(field.nodes) <= 41:
        axes.plot(field.nodes, field(field.nodes), ls="", marker="o", ms=3.5, color=COLORS[0])
    axes.set_xlabel(_position(field))
    axes.set_ylabel(label(field.expression))
    _titled(figure, field)
    return figure


def _space_time(field: FieldFunction) -> Any:
    """Draw position to the right, time upwards, and values as colours with zero in the middle."""
    import matplotlib.pyplot as plt

    x, t = _places(field), field.of.t
    kept = np.unique(np.linspace(0, len(t) - 1, min(len(t), _TIMES)).astype(int))
    values = field(x)[:, kept]
    largest = float(np.abs(values).max()) or 1.0
    figure, axes = plt.subplots(figsize=(6.2, 4.4))
    picture = axes.pcolormesh(
        x, t[kept], values.T, cmap="RdBu_r", vmin=-largest, vmax=largest, shading="gouraud",
        rasterized=True,
    )  # fmt: skip
    axes.grid(False)
    axes.set_xlabel(_position(field))
    axes.set_ylabel("$t$ (s)")
    figure.colorbar(picture, ax=axes, label=label(field.expression))
    _titled(figure, field)
    return figure


def at_times(axes: Any, field: FieldFunction) -> None:
    """Draw a field at the few times at which it differs most, the earlier the fainter."""
    x, t = _places(field), field.of.t
    values = field(x)
    axes.fill_between(x, values.min(axis=1), values.max(axis=1), color="0.94", lw=0)
    shown = _flashes(values)
    for strength, k in zip(np.linspace(0.25, 1, len(shown)), shown):
        axes.plot(x, values[:, k], color=COLORS[0], ls="-", alpha=strength,
                  label=f"{t[k]:.3g} s")  # fmt: skip
    axes.set_xlabel(_position(field))
    axes.set_ylabel(label(field.expression, field.of.unit(str(field.expression))))
    legend(axes)


def _flashes(values: np.ndarray) -> list[int]:
    """Return the few columns that differ most: what comes round again is not drawn twice."""
    shown, apart = [0], np.full(values.shape[1], np.inf)
    for _ in range(_FLASHES - 1):
        apart = np.minimum(apart, np.abs(values - values[:, shown[-1:]]).max(axis=0))
        if apart.max() <= _ALIKE * np.ptp(values):
            break
        shown.append(int(apart.argmax()))
    return sorted(shown)


def moving_places(motion: AbstractMotion) -> list[Any]:
    """Return values of fields along their intervals, without those that are held."""
    moved = {e: float(np.ptp(motion[e])) for e in along(motion.system)}
    most = {e.stem: max(x for other, x in moved.items() if other.stem == e.stem) for e in moved}
    return [e for e, x in moved.items() if x > _HELD * most[e.stem]] or list(moved)


@view("field", "animate")
def animate(field: FieldFunction, path: Any = None, *, fps: int = 25) -> Any:
    """Draw the course of a field moving, with the range that it has covered behind it.

    Parameters
    ----------
    field : FieldFunction
        Of a motion.
    path : str or Path, optional
        Where to save it: ``.gif`` or ``.html``.
    fps : int
        Frames per second.

    Returns
    -------
    matplotlib.animation.FuncAnimation
    """
    import matplotlib.pyplot as plt

    if not field.moves:
        raise StatementError(
            f"the field '{field.expression}' stands still.",
            "Found that of a state of rest.",
            "Use plot(), or animate the field of a motion.",
        )
    save = saver(path)
    t = field.of.t
    first, last = float(t[0]), float(t[-1])
    length = float(np.clip(last - first, SHORTEST, LONGEST))
    times = np.linspace(first, last, round(length * fps) + 1)
    x = _places(field)
    values = field(x, times)
    with look():
        figure, axes = plt.subplots(figsize=(6.2, 3.4))
        low, high = values.min(), values.max()
        room = 0.08 * (high - low or 1.0)
        axes.set_ylim(low - room, high + room)
        axes.fill_between(x, values.min(axis=1), values.max(axis=1), color="0.94", lw=0)
        (line,) = axes.plot(x, values[:, 0], lw=2)
        axes.set_xlabel(_position(field))
        axes.set_ylabel(label(field.expression))
        title = figure.suptitle("", fontsize=10)
    written = title_at(field.name, times, (last - first) / length)

    def show(k: int) -> list[Any]:
        line.set_ydata(values[:, k])
        title.set_text(written(times[k]))
        return [line, title]

    film = Film(figure, [line, title], show, len(times), field.name)
    if save is not None:
        Path(path).write_bytes(save(film, fps))
    return playing(film, fps)


@view("modes", "plot")
def plot_modes(modes: Modes) -> Any:
    """Draw the shapes of the slowest modes over position, a panel for every field.

    Shapes are scaled so that the largest value of each mode, over all fields, is one.

    Parameters
    ----------
    modes : Modes

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib.pyplot as plt

    fields = [f.field for f in modes.system.fields]
    if not fields:
        return _bars(modes)
    count = min(len(modes), _MANY)
    named = {p.name: float(v) for p, v in zip(modes.system.parameters, modes.values)}
    nodes = [f.positions(named) for f in modes.system.fields]
    places = [np.linspace(x[0], x[-1], _PLACES) for x in nodes]
    shapes = [np.real(modes.field(f)(x))[:, :count] for f, x in zip(fields, places)]
    largest = np.max([np.abs(s).max(axis=0) for s in shapes], axis=0)
    with look():
        figure, several = plt.subplots(
            len(fields), 1, figsize=(6.2, 1.0 + 2.4 * len(fields)), squeeze=False
        )
        for axes, f, x, values in zip(several[:, 0], fields, places, shapes):
            for k in range(count):
                axes.plot(
                    x, values[:, k] / (largest[k] or 1.0), color=COLORS[k], ls=DASHES[k],
                    label=f"{modes.frequencies[k]:.5g} rad/s",
                )  # fmt: skip
            axes.axhline(0, color="0.6", lw=0.8, ls="-", zorder=0)
            axes.set_xlabel(f"{label(f.position)} (m)")
            axes.set_ylabel(f"{label(f)} of each mode")
        legend(several[0, 0])
        if modes.system.name:
            entitle(figure, words(modes.system.name))
    return figure


def _bars(modes: Modes) -> Any:
    """Draw the shapes of a system without fields, coordinate by coordinate."""
    import matplotlib.pyplot as plt

    count, n = min(len(modes), _MANY), modes.system.size
    with look():
        figure, several = plt.subplots(
            count, 1, figsize=(6.2, 0.8 + 1.2 * count), sharex=True, squeeze=False
        )
        for k, axes in enumerate(several[:, 0]):
            shape = np.real(np.asarray(modes.shapes)[k])
            axes.bar(np.arange(n), shape / (np.abs(shape).max() or 1.0), color=COLORS[k])
            axes.set_ylabel(f"{modes.frequencies[k]:.4g} rad/s")
        if n <= 20:
            several[-1, 0].set_xticks(range(n), [label(modes.layout.name(i)) for i in range(n)])
        else:
            several[-1, 0].set_xlabel("coordinate")
        if modes.system.name:
            entitle(figure, words(modes.system.name))
    return figure


def _position(field: FieldFunction) -> str:
    return f"{label(field.position)} (m)"


def _titled(figure: Any, field: FieldFunction) -> None:
    if field.name:
        entitle(figure, words(field.name))
