"""Time series: coordinates, velocities, energies, and the balance of energy."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from stationary.model.fields import fields_in
from stationary.plot.fields import at_times, moving_places
from stationary.plot.style import entitle, label, legend, look, words
from stationary.result.slide import Slide
from stationary.result.touched import Touched
from stationary.result.trajectory import AbstractMotion
from stationary.result.views import show, view

#: A line of a panel: what it is called, and its values over time.
Line = tuple[str, np.ndarray]

# A panel with more lines than this is no longer read.
_MANY = 7
# How many rows of a large array, or how many of many coordinates, stand for all of them.
_FEW = 3
# So small a part of the largest entry of an array is rounding of it.
_ROUNDING = 1e-13
# Lines whose sizes differ by more than this do not share an axis, unless panels run out.
_APART = 20.0
_PANELS = 3
# Colours of changes where something touches, and how many of a kind are marked.
_KINDS = {"impact": "C3", "touch": "C2", "lift": "C4", "stick": "C7", "slip": "C1", "reverse": "C5"}
_MARKS = 200


@view("motion", "plot")
def plot(motion: AbstractMotion, *expressions: Any) -> Any:
    """Draw a motion over time.

    Parameters
    ----------
    motion : Motion
    *expressions : coordinates, velocities, arrays, names or expressions
        What to draw; when left out, coordinates, velocities, energies and the energy balance. A
        field is drawn over position and time.

    Returns
    -------
    matplotlib.figure.Figure
    """
    if len(expressions) == 1 and isinstance(expressions[0], sp.Basic) and fields_in(expressions[0]):
        return show("field", "plot")(motion.field(expressions[0]))
    with look():
        figure = _given(motion, expressions) if expressions else _overview(motion)
        if isinstance(motion, Touched):
            _mark(figure, motion)
        return figure


def _mark(figure: Any, motion: Touched) -> None:
    """Mark when something touched, struck, lifted, stuck or slid; say by which colour."""
    from matplotlib.lines import Line2D

    kinds = [kind for kind in _KINDS if kind in set(motion.changes.kind)]
    handles = []
    for kind in kinds:
        times = motion.changes.of(kind).t
        style: dict[str, Any] = {"color": _KINDS[kind], "lw": 0.6, "alpha": 0.5, "zorder": 0}
        # Of many the first say where they are.
        for axes in figure.axes:
            for t in times[:_MARKS]:
                axes.axvline(t, **style)
        more = f" (first {_MARKS} of {len(times)})" if len(times) > _MARKS else ""
        handles.append(Line2D([], [], color=_KINDS[kind], lw=1, label=kind + more))
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), fontsize=8)


def _given(motion: AbstractMotion, expressions: tuple[Any, ...]) -> Any:
    import matplotlib.pyplot as plt

    lines: list[Line] = []
    notes: list[str] = []
    for e in expressions:
        drawn, note = _lines_of(motion, e)
        lines += drawn
        notes += [note] if note else []
    groups = _by_size(lines)
    figure = plt.figure(figsize=(7, 1.2 + 2.3 * len(groups)))
    column = figure.add_gridspec(1, 1)[0]
    _stack(figure, column, motion.t, groups, "SI units" if len(lines) > 1 else lines[0][0])
    _title(figure, motion, notes)
    return figure


def _overview(motion: AbstractMotion) -> Any:
    import matplotlib.pyplot as plt

    if motion.system.fields:
        return _overview_of_fields(motion)
    entries, note = _representatives(motion)
    names = [motion.kernel.layout.name(i) for i in entries]
    rates = [f"{n}.dot" for n in names]
    q, v = steadied(motion, motion.q), steadied(motion, motion.v)
    places = _by_size([(_named(motion, n), q[:, i]) for n, i in zip(names, entries)])
    speeds = _by_size([(_named(motion, n), v[:, i]) for n, i in zip(rates, entries)])
    figure = plt.figure(figsize=(12, 1.0 + 1.7 * max(2, len(places), len(speeds))))
    columns = figure.add_gridspec(1, 3)
    _stack(figure, columns[0], motion.t, places, _all_of("coordinates", motion, names))
    _stack(figure, columns[1], motion.t, speeds, _all_of("velocities", motion, rates))
    _energy(figure, columns[2], motion)
    _title(figure, motion, [note] if note else [])
    return figure


def _overview_of_fields(motion: AbstractMotion) -> Any:
    """Draw fields over position at some times and over time at some places, instead of nodes."""
    import matplotlib.pyplot as plt

    fields = [f.field for f in motion.system.fields]
    places = moving_places(motion)
    nodes = {f.array.name for f in motion.system.fields if f.array is not None}
    beside = [c for c in motion.system.coordinates if c.name not in nodes]
    rows = len(fields) + bool(beside)
    figure = plt.figure(figsize=(12, 1.0 + 1.7 * max(2, 1.5 * rows)))
    cells = figure.add_gridspec(rows, 3)
    for row, f in enumerate(fields):
        at_times(figure.add_subplot(cells[row, 0]), motion.field(f))
        here = [(_named(motion, e), motion[e]) for e in places if e.stem == f.stem]
        what = label(f, motion.unit(str(f)))
        _stack(figure, cells[row, 1], motion.t, [here], what)
    for column, what, several in ((0, "coordinates", beside),
                                  (1, "velocities", [c.dot for c in beside])):  # fmt: skip
        lines = [line for e in several for line in _lines_of(motion, e)[0]]
        if lines:
            names = [str(e) for e in several]
            _stack(figure, cells[-1, column], motion.t, _by_size(lines),
                   _all_of(what, motion, names))  # fmt: skip
    _energy(figure, cells[:, 2], motion)
    _title(figure, motion, [])
    return figure


# -- what is shown --------------------------------------------------------------------------------


def _lines_of(motion: AbstractMotion, e: Any) -> tuple[list[Line], str]:
    """Return the lines of one thing that was asked for, and what was left out."""
    if isinstance(e, (tuple, list)):
        return [(_named(motion, x), motion[x]) for x in e], ""
    values = motion[e]
    if values.ndim == 1:
        return [(_named(motion, e), values)], ""
    places, order = motion.kernel.layout.resolve(e, "the plot")
    entries, note = _pick(places, f"entries of {label(e)}")
    columns = dict(zip(places.ravel().tolist(), values.reshape(len(values), -1).T))
    suffix = ("", ".dot", ".ddot")[order]
    names = {i: motion.kernel.layout.name(i) + suffix for i in entries}
    return [(_named(motion, name), columns[i]) for i, name in names.items()], note


def _named(motion: AbstractMotion, e: Any) -> str:
    """Write what is drawn as mathematics, with its unit where it has one."""
    return label(e, motion.unit(str(e)))


def _all_of(what: str, motion: AbstractMotion, names: list[str]) -> str:
    """Say the unit that all of these have; of several the legend tells which is whose."""
    units = {motion.unit(name) for name in names}
    if "" in units:
        return f"{what} (SI)"
    return f"{what} ({units.pop()})" if len(units) == 1 else what


def _representatives(motion: AbstractMotion) -> tuple[list[int], str]:
    """Choose the entries of q to draw; return them with a note when they are not all."""
    layout = motion.kernel.layout
    if motion.kernel.size <= _MANY:
        return list(range(motion.kernel.size)), ""
    if len(layout.offsets) == len(layout.arrays) == 1:
        return _pick(next(iter(layout.arrays.values())).index, "coordinates")
    return _pick(np.arange(motion.kernel.size), "coordinates")


def _pick(index: np.ndarray, what: str) -> tuple[list[int], str]:
    """Take all entries of an array if they are few, else the first, middle and last rows."""
    if index.size <= _MANY:
        return index.ravel().tolist(), ""
    rows = index.reshape(len(index), -1) if index.ndim > 1 else index[:, None]
    if rows.shape[1] > 3:
        rows = index.reshape(-1, 1)
    few = np.unique(np.linspace(0, len(rows) - 1, _FEW).round().astype(int))
    shown = rows[few].ravel().tolist()
    return shown, f"{len(shown)} of {index.size} {what} shown"


def steadied(motion: AbstractMotion, values: np.ndarray) -> np.ndarray:
    """Return courses of coordinates in which what is held stands still.

    What an entry of an array does is rounding if it is nothing beside the largest of that array;
    coordinates of their own have units of their own, and none to be compared with.
    """
    shown = values.copy()
    for array in motion.kernel.layout.arrays.values():
        entries = np.ravel(motion.kernel.layout.place(array))
        rounding = _ROUNDING * np.max(np.abs(values[:, entries]), initial=0.0)
        steady = entries[np.ptp(values[:, entries], axis=0) <= rounding]
        shown[:, steady] = values[0, steady] * (np.abs(values[0, steady]) > rounding)
    return shown


def _by_size(lines: list[Line]) -> list[list[Line]]:
    """Put lines of like size together: a panel has one scale."""
    groups: list[list[Line]] = []
    scales: list[float] = []
    for name, values in lines:
        finite = values[np.isfinite(values)]
        size = float(np.max(np.abs(finite), initial=0.0))
        ratios = [_ratio(size, scale) for scale in scales]
        near = int(np.argmin(ratios)) if ratios else -1
        if ratios and (ratios[near] <= _APART or len(groups) == _PANELS):
            groups[near].append((name, values))
            scales[near] = max(size, scales[near])
        else:
            groups.append([(name, values)])
            scales.append(size)
    return groups


def _ratio(a: float, b: float) -> float:
    # A line that stays at zero fits everywhere.
    return max(a, b) / min(a, b) if min(a, b) > 0 else 1.0


# -- how it is drawn ------------------------------------------------------------------------------


def _stack(figure: Any, place: Any, t: np.ndarray, groups: list[list[Line]], what: str) -> None:
    """Draw panels under each other, with one axis of time."""
    cells = place.subgridspec(len(groups), 1)
    first = None
    for k, lines in enumerate(groups):
        axes = figure.add_subplot(cells[k], sharex=first)
        first = first or axes
        for name, values in lines:
            axes.plot(t, values, label=name)
        axes.set_ylabel(what)
        if len(lines) > 1 or what != lines[0][0]:
            legend(axes)
        _time(axes, k == len(groups) - 1)


def _energy(figure: Any, place: Any, motion: AbstractMotion) -> None:
    cells = place.subgridspec(2, 1)
    upper = figure.add_subplot(cells[0])
    if isinstance(motion, Slide):
        courses = {"$U$": motion.potential, "supplied": motion.work, "lost": motion.lost}
    else:
        courses = {"$T$": motion.kinetic, "$U$": motion.potential, "$E$": motion.energy}
        courses |= {"work": motion.work} if motion.kernel.graph.fed else {}
    if isinstance(motion, Touched):
        taken = {"friction took": motion.heat, "impacts took": motion.struck_off}
        more = {"work": motion.work, **taken}
        courses |= {name: course for name, course in more.items() if np.any(course)}
    for name, course in courses.items():
        upper.plot(motion.t, course, label=name)
    upper.set_ylabel("energy (J)")
    legend(upper)
    _time(upper, False)
    balance(figure.add_subplot(cells[1], sharex=upper), motion)


def balance(axes: Any, motion: AbstractMotion) -> None:
    """Draw how far the energy is from balancing, as a share of the largest T, U or work."""
    largest = float(np.max(np.abs([motion.kinetic, motion.potential, motion.work])))
    rounding = float(np.finfo(float).eps)
    # An exact zero has no logarithm; it stands at the foot of the panel.
    error = np.maximum(np.abs(motion.balance) / (largest or 1.0), rounding / 10)
    lost = r" + \mathrm{taken}" if isinstance(motion, Touched) else ""
    axes.semilogy(motion.t, error, lw=0.9, label=rf"$|\Delta E - \mathrm{{work}}{lost}|$")
    axes.axhline(rounding, color="0.45", ls=(0, (1, 1.5)), label="rounding")
    axes.set_ylim(rounding / 12, max(100 * rounding, 10 * float(np.max(error))))
    axes.set_ylabel("relative error")
    legend(axes)
    _time(axes, True)


def _time(axes: Any, last: bool) -> None:
    if last:
        axes.set_xlabel("$t$ (s)")
    else:
        axes.tick_params(labelbottom=False)


def _title(figure: Any, motion: AbstractMotion, notes: list[str]) -> None:
    text = " · ".join(part for part in (words(motion.system.name), *notes) if part)
    if text:
        entitle(figure, text)
