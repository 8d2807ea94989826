"""The error of leaving inertia out, over the speed."""

from __future__ import annotations

from typing import Any

from stationary.plot.style import look
from stationary.result.views import view


@view("speed limit", "plot")
def plot(found: Any) -> Any:
    """Draw the errors that were found, and where they pass the level."""
    import matplotlib.pyplot as plt

    with look():
        figure, axes = plt.subplots(figsize=(6.4, 4.2))
        axes.loglog(found.speeds, found.errors, "o-", color="0.15")
        axes.axhline(found.level, color="0.6", linestyle="--")
        axes.axvline(found.speed, color="0.6", linestyle="--")
        axes.set_xlabel(found.parameter)
        axes.set_ylabel("relative error")
        axes.set_title(f"{100 * found.level:g} % at {found.parameter} = {found.speed:.3g}")
    return figure
