"""The limit surface: what friction can take, over two forces and a moment."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.plot.style import look, words
from stationary.result.limits import LimitSurface
from stationary.result.views import view


@view("limit surface", "plot")
def plot(surface: LimitSurface) -> Any:
    """Draw the surface in space; colour is the moment."""
    import matplotlib.pyplot as plt
    from matplotlib import colormaps

    rows = round(np.sqrt(len(surface.wrenches) / 2))
    F = surface.wrenches.reshape(rows, -1, 3)
    top = np.abs(F[..., 2]).max() or 1.0
    with look():
        figure = plt.figure(figsize=(6.4, 5.6))
        axes: Any = figure.add_subplot(projection="3d")
        colours = colormaps["cividis"]((F[..., 2] / top + 1) / 2)
        axes.plot_surface(
            F[..., 0], F[..., 1], F[..., 2], facecolors=colours, rstride=1, cstride=1,
            linewidth=0.2, edgecolor="white", antialiased=True,
        )  # fmt: skip
        axes.set_xlabel("force along x")
        axes.set_ylabel("force along y")
        axes.set_zlabel("moment")
        axes.set_title(f"Limit surface of {words(surface.system.name) or 'the part'}")
        axes.set_box_aspect((1, 1, 0.9), zoom=0.9)
    return figure
