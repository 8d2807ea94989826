"""How near each friction is to its limit, and the way in which a structure gives way: as bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.errors import StatementError
from stationary.plot.style import COLORS, entitle, label, legend, look, words
from stationary.result.limits import LimitLoad
from stationary.result.step import Step
from stationary.result.views import view

# More bars than this are no longer read.
_MANY = 24


@view("step", "plot")
def step(friction: Step) -> Any:
    """Draw the forces of dry friction as shares of their limits."""
    import matplotlib.pyplot as plt

    names, share, slides = _shares(friction)
    many = len(share) > _MANY
    with look():
        figure, axes = plt.subplots(figsize=(6.4, 4.2 if many else _height(len(share))))
        kinds = (("sticks", ~slides, COLORS[0], "o"), ("slides", slides, COLORS[1], "s"))
        for word, which, color, marker in kinds:
            if not which.any():
                continue
            places = np.flatnonzero(which)
            if many:
                axes.plot(places, share[which], marker, color=color, ms=3, label=word)
            else:
                axes.barh(places, share[which], 0.7, color=color, label=word)
        if many:
            axes.axhline(1, color="0.6", linestyle="--", zorder=0)
            axes.set(ylim=(0, 1.08), xlabel="friction term", ylabel="force / limit")
            axes.margins(x=0.02)
        else:
            axes.axvline(1, color="0.6", linestyle="--", zorder=0)
            axes.set(xlim=(0, 1.08), xlabel="force of friction / its limit")
            _named(axes, names)
        legend(axes)
        title = f"{friction.system.name or 'Friction'}: {friction.status}"
        entitle(figure, words(title))
    return figure


def _shares(at: Step) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return names of friction terms, forces as shares of limits, and which of them slide."""
    names, shares, rests = [], [np.zeros(0)], [np.zeros(0, dtype=bool)]
    for name, limit in at.limits.items():
        limit, force = np.ravel(limit), np.ravel(at.forces[name])
        dry = limit > 0
        force = np.linalg.norm(force.reshape(len(limit), -1), axis=1)
        named = [f"{words(name)}[{i}]" for i in range(len(limit))]
        names += [n for n, kept in zip(named if len(limit) > 1 else [words(name)], dry) if kept]
        shares.append(force[dry] / limit[dry])
        rests.append(np.ravel(at.rests[name])[dry])
    known = bool(np.all(np.isfinite(at.v)))
    if not known or not names:
        lacks = ", and no dry friction with a limit above zero" if known else ""
        raise StatementError(
            "there is no force of friction to draw.",
            f"Found a step that ended as '{at.status}'{lacks}.",
            "Ask a system with dry friction, where there is a motion or rest.",
        )
    share = np.concatenate(shares)
    # What is held back within its limit is at rest.
    return names, share, ~np.concatenate(rests) & (share > 1 - 1e-6)


@view("limit load", "plot")
def limit_load(limit: LimitLoad) -> Any:
    """Draw the velocities of the collapse by name."""
    import matplotlib.pyplot as plt

    rates = np.asarray(limit.mode)
    top = np.abs(rates).max(initial=0.0)
    moving = np.flatnonzero(np.abs(rates) > 1e-9 * top)
    if not len(moving):
        raise StatementError(
            "there is no failure to draw.",
            f"Found a load that is {limit.status}.",
            "Ask about one that friction does not hold whatever its size.",
        )
    largest = moving[np.argsort(-np.abs(rates[moving]), kind="stable")[:_MANY]]
    shown = np.sort(largest)
    names = [label(f"{limit.graph.layout.name(int(i))}.dot") for i in shown]
    with look():
        figure, axes = plt.subplots(figsize=(6.4, _height(len(shown))))
        axes.barh(np.arange(len(shown)), rates[shown] / top, 0.7, color=COLORS[0])
        axes.axvline(0, color="0.3", lw=0.8, ls="-")
        axes.set(xlim=(-1.08, 1.08), xlabel="velocity / the largest")
        _named(axes, names)
        left = f" · {len(shown)} of {len(moving)} shown" if len(shown) < len(moving) else ""
        name = words(limit.system.name) or "It"
        entitle(figure, f"{name} gives way at {limit.factor:.4g} times the load{left}")
    return figure


def _height(bars: int) -> float:
    return 1.5 + 0.27 * bars


def _named(axes: Any, names: list[str]) -> None:
    """Name the bars, the first on top."""
    axes.set_yticks(np.arange(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
