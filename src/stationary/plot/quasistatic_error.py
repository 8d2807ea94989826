"""The error of leaving inertia out, over the speed."""

from __future__ import annotations

from typing import Any

from stationary.plot.style import look
from stationary.result.views import view


@view("speed limit", "plot")
def plot(limit: Any) -> Any:
    """Draw the errors that were found, and where they pass the level."""
    import matplotlib.pyplot as plt

    with look():
        figure, axes = plt.subplots(figsize=(6.4, 4.2))
        axes.loglog(limit.speeds, limit.errors, "o-", color="0.15")
        axes.axhline(limit.level, color="0.6", linestyle="--")
        axes.axvline(limit.speed, color="0.6", linestyle="--")
        axes.set_xlabel(limit.parameter)
        axes.set_ylabel("relative error")
        axes.set_title(f"{100 * limit.level:g} % at {limit.parameter} = {limit.speed:.3g}")
    return figure
