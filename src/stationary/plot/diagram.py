"""Bifurcation diagrams: stable branches solid, unstable ones dashed, special points marked."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from stationary.errors import StatementError
from stationary.model.arrays import Array
from stationary.plot.style import COLORS, entitle, label, legend, look, words
from stationary.result.diagram import Branch, Diagram, Special, along
from stationary.result.stability import Stability
from stationary.result.views import view

# The marker of each kind of special point, and of any other.
MARKERS = {"fold": "s", "pitchfork": "o", "branch": "D", "hopf": "^"}
_OTHER = "P"

# Panels that are drawn when nothing is asked for, and those that stand in a row.
_PANELS, _ROW = 6, 3
# The width of a number beside a fold, in points.
_WRITING = 42
# Special points with their values written beside them; more would hide each other.
_WORDS = 10


@view("diagram", "plot")
def plot(diagram: Diagram, *expressions: Any) -> Any:
    """Draw a bifurcation diagram, one panel for each quantity.

    Parameters
    ----------
    diagram : Diagram
    *expressions : coordinates, arrays, names or expressions
        What to draw over the parameter; all coordinates when left out. An expression may hold
        coordinates and parameters.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib.pyplot as plt

    panels, note = _panels(diagram, expressions)
    columns = 2 if len(panels) == 4 else min(_ROW, len(panels))
    rows = -(-len(panels) // columns)
    size = (6.2, 4.2) if len(panels) == 1 else (1.0 + 3.8 * columns, 0.6 + 3.2 * rows)
    with look():
        figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, sharex=True)
        cells = grid.ravel()
        for k, axes in enumerate(cells):
            if k < len(panels):
                _draw(axes, diagram, *panels[k])
                _name_axes(axes, diagram, panels[k][0], bottom=k + columns >= len(panels))
            else:
                axes.remove()
        _explain(cells[0], diagram)
        text = " · ".join(part for part in (words(diagram.system.name), note) if part)
        if text:
            entitle(figure, text)
    return figure


# -- what is shown --------------------------------------------------------------------------------

#: What a panel shows: its name, and either an entry of q or a function of q and the parameters.
Panel = tuple[str, Any]


def _panels(diagram: Diagram, expressions: tuple[Any, ...]) -> tuple[list[Panel], str]:
    layout = diagram.branches[0].layout
    if expressions:
        return [panel for e in expressions for panel in _asked_for(diagram, e)], ""
    size = layout.system.size
    shown = range(size)
    if size > _PANELS:
        shown = np.unique(np.linspace(0, size - 1, _ROW).round().astype(int))
    note = f"{len(shown)} of {size} coordinates shown" if len(shown) < size else ""
    return [(_named(diagram, layout.name(int(i))), int(i)) for i in shown], note


def _named(diagram: Diagram, name: str) -> str:
    """Write a coordinate or the parameter with its unit, where it is known."""
    return label(name, diagram.units.get(name.partition("[")[0], ""))


def _asked_for(diagram: Diagram, e: Any) -> list[Panel]:
    layout = diagram.branches[0].layout
    if isinstance(e, sp.Expr) and not isinstance(e, sp.Symbol):
        return [(label(e), along(e, layout, diagram.parameter, diagram.params))]
    places, order = layout.resolve(e, "the plot")
    if order:
        raise StatementError(
            f"a diagram of equilibria has no velocity '{e}'.",
            "Expected coordinates, or expressions of them.",
            "Draw a coordinate, or the velocity of a motion.",
        )
    if isinstance(e, Array) or np.ndim(places):
        return [(_named(diagram, layout.name(int(i))), int(i)) for i in np.ravel(places)]
    return [(_named(diagram, layout.name(int(places))), int(places))]


def _values(what: Any, q: np.ndarray, parameter: np.ndarray) -> np.ndarray:
    """Return what a panel shows at several points, q with one row each."""
    if isinstance(what, int):
        return q[:, what]
    return np.asarray(what(q.T, parameter[None, :])).ravel()


# -- how it is drawn ------------------------------------------------------------------------------


def _draw(axes: Any, diagram: Diagram, name: str, what: Any) -> None:
    # Room at the sides for what is written beside folds, in points as the writing.
    folds = any(point.kind == "fold" for point in diagram.special)
    wide = axes.get_window_extent().width * 72 / axes.figure.dpi
    side = min(_WRITING / wide, 0.2) if folds else 0.07
    axes.margins(x=side / (1 - 2 * side), y=0.05)
    for branch in diagram.branches:
        q, parameter, stable = _with_special(branch, diagram.special)
        values = _values(what, q, parameter)
        for piece, solid in _pieces(stable):
            axes.plot(
                parameter[piece], values[piece],
                color=COLORS[0], ls="-" if solid else (0, (4, 2.2)), lw=1.7 if solid else 1.2,
            )  # fmt: skip
    written = set()
    for point in diagram.special:
        height = float(_values(what, point.q[None, :], np.array([point.parameter]))[0])
        _mark(axes, point.kind, [point.parameter], [height])
        # Points that one panel cannot tell apart share their words.
        place = (f"{point.parameter:.4g}", f"{height:.4g}")
        if len(diagram.special) <= _WORDS and place not in written:
            written.add(place)
            _write(axes, diagram, point, height)


def _with_special(
    branch: Branch, special: list[Special]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return q, the parameter and stability along a branch with its special points put in.

    Stability is 1 or 0, and NaN at special points, where it changes.
    """
    z = np.column_stack([branch.q, branch.parameter])
    stable = branch.stable.astype(float)
    for point in special:
        target = np.append(point.q, point.parameter)
        if len(z) < 2:
            break
        leg = np.diff(z, axis=0)
        length = np.maximum(np.linalg.norm(leg, axis=1), 1e-30)
        share = np.clip(((target - z[:-1]) * leg).sum(axis=1) / length**2, 0, 1)
        apart = np.linalg.norm(z[:-1] + share[:, None] * leg - target, axis=1) / length
        k = int(np.argmin(apart))
        if apart[k] > 0.5:
            continue
        near = [i for i in (k, k + 1) if np.linalg.norm(z[i] - target) < 1e-6 * length[k]]
        if near:
            stable[near[0]] = np.nan
        else:
            z, stable = np.insert(z, k + 1, target, axis=0), np.insert(stable, k + 1, np.nan)
    return z[:, :-1], z[:, -1], stable


def _pieces(stable: np.ndarray) -> list[tuple[slice, bool]]:
    """Cut a branch where its stability changes; neighbours share the point of the change."""
    # A leg is stable if all that is known of its ends is.
    ends = np.stack([stable[:-1], stable[1:]])
    legs = np.where(np.isnan(ends), 1.0, ends).min(axis=0) > 0
    unknown = np.isnan(ends).all(axis=0)
    for k in np.flatnonzero(unknown):
        legs[k] = legs[k - 1] if k else legs[min(k + 1, len(legs) - 1)]
    cuts = [0, *(np.flatnonzero(np.diff(legs)) + 1).tolist(), len(legs)]
    return [(slice(a, b + 1), bool(legs[a])) for a, b in zip(cuts[:-1], cuts[1:]) if b > a]


def _mark(axes: Any, kind: str, across: list[float], height: list[float], **more: Any) -> None:
    axes.plot(
        across, height, MARKERS.get(kind, _OTHER), color=COLORS[1], mfc="white", mew=1.4, ms=6,
        ls="none", zorder=4, clip_on=False, **more,
    )  # fmt: skip


def _write(axes: Any, diagram: Diagram, point: Special, height: float) -> None:
    """Write the value of the parameter beside a special point, where no branch is expected."""
    low, high = axes.get_xlim()
    left = point.parameter > low + 0.15 * (high - low)
    if point.kind == "fold":
        # The branch has turned back: beyond the fold there is none.
        left = point.parameter < _near(diagram, point)
    axes.annotate(
        f"{point.parameter:.4g}".replace("-", "−"), (point.parameter, height),
        xytext=(-6 if left else 6, 5), textcoords="offset points", fontsize=8, color="0.25",
        ha="right" if left else "left", va="bottom", zorder=5,
        bbox={"fc": "white", "ec": "none", "alpha": 0.75, "pad": 0.6},
    )  # fmt: skip


def _near(diagram: Diagram, point: Special) -> float:
    """Return the mean parameter of the branches near a special point."""
    q = np.vstack([branch.q for branch in diagram.branches])
    parameter = np.concatenate([branch.parameter for branch in diagram.branches])
    apart = np.linalg.norm(np.column_stack([q - point.q, parameter - point.parameter]), axis=1)
    return float(np.mean(parameter[np.argsort(apart)[:4]]))


def _name_axes(axes: Any, diagram: Diagram, name: str, bottom: bool) -> None:
    axes.set_ylabel(name)
    axes.tick_params(labelbottom=bottom)
    if bottom:
        axes.set_xlabel(_named(diagram, diagram.parameter))


def _explain(axes: Any, diagram: Diagram) -> None:
    """Name line styles and markers, each once."""
    every = np.concatenate([branch.stable for branch in diagram.branches])
    if every.any():
        axes.plot([], [], color=COLORS[0], ls="-", lw=1.7, label="stable")
    if not every.all():
        decided = all(branch.decided for branch in diagram.branches)
        dashed = "unstable" if decided else str(Stability.UNDECIDED)
        axes.plot([], [], color=COLORS[0], ls=(0, (4, 2.2)), lw=1.2, label=dashed)
    for kind in dict.fromkeys(point.kind for point in diagram.special):
        _mark(axes, kind, [], [], label=kind)
    legend(axes)
