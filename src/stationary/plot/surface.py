"""The limit surface: what friction can take, over two forces and a moment."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.plot.style import COLORS, entitle, look, words
from stationary.result.limits import LimitSurface, Pushed
from stationary.result.views import view


@view("limit surface", "plot")
def plot(surface: LimitSurface) -> Any:
    """Draw the surface in space, colour is the moment; beside it two sections with smooth fits."""
    import matplotlib.pyplot as plt
    from matplotlib import colormaps
    from matplotlib.ticker import MaxNLocator

    rows = round(np.sqrt(len(surface.wrenches) / 2))
    F = surface.wrenches.reshape(rows, -1, 3)
    top = np.abs(F[..., 2]).max() or 1.0
    with look():
        figure = plt.figure(figsize=(9.6, 5.2))
        axes: Any = figure.add_subplot(1, 2, 1, projection="3d")
        colours = colormaps["cividis"]((F[..., 2] / top + 1) / 2)
        axes.plot_surface(
            F[..., 0], F[..., 1], F[..., 2], facecolors=colours, rstride=1, cstride=1,
            linewidth=0.2, edgecolor="white", antialiased=True,
        )  # fmt: skip
        axes.set_xlabel("force along x (N)", labelpad=6)
        axes.set_ylabel("force along y (N)", labelpad=8)
        axes.set_zlabel("moment (N m)")
        for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
            axis.set_major_locator(MaxNLocator(3))
        axes.set_box_aspect((1, 1, 0.9), zoom=0.85)
        _section(figure.add_subplot(1, 2, 2), surface)
        entitle(figure, f"Limit surface of {words(surface.system.name) or 'the part'}")
    return figure


def _section(axes: Any, surface: LimitSurface) -> None:
    """Draw what friction takes of a moment and a force along y, exactly and by smooth fits."""
    force, moment = np.abs(surface.wrenches[:, 1]).max(), np.abs(surface.wrenches[:, 2]).max()
    angle = np.linspace(0, 2 * np.pi, 241)
    ways = np.stack([0 * angle, force * np.cos(angle), (moment or 1.0) * np.sin(angle)], axis=1)
    exact = np.array([surface.factor(way) for way in ways])[:, None] * ways
    axes.fill(exact[:, 1], exact[:, 2], color="0.93")
    axes.plot(exact[:, 1], exact[:, 2], color="0.2", ls="-", lw=1.4, label="exact")
    for k, (kind, dash) in enumerate((("ellipsoid", "--"), ("quartic", "-."))):
        fitted = ways / surface.fitted(kind).value(ways)[:, None]
        axes.plot(fitted[:, 1], fitted[:, 2], color=COLORS[k], ls=dash, lw=1.4, label=kind)
    axes.set(xlabel="force along y (N), none along x", ylabel="moment (N m)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)


@view("pushed", "plot")
def contact(pushed: Pushed) -> Any:
    """Draw a contact: its cone of friction, its motion cone, and centres of stable rotations."""
    import matplotlib.pyplot as plt

    surface, ends = pushed.surface, pushed.points
    size = np.ptp(np.vstack([surface.points, ends]), axis=0).max()
    with look():
        figure, axes = plt.subplots(figsize=(6.4, 4.6))
        share = surface.weights / surface.weights.max()
        most = 120 if len(share) <= 24 else 10
        axes.scatter(*surface.points.T, s=most * share + 2, color="0.6", label="loads")
        stable = pushed.centres(61)
        if len(stable):
            axes.scatter(*stable.T, s=5, color=COLORS[2], alpha=0.6, lw=0,
                         label="turns about here keep the part")  # fmt: skip
        for j, point in enumerate(ends):
            for k, (edges, name) in enumerate(
                ((pushed.friction_cone, "cone of friction"), (pushed.cones[j], "motion cone"))
            ):
                for i, way in enumerate(edges):
                    end = point + 0.5 * size * way / max(np.hypot(*way), 1e-300)
                    axes.plot(*np.stack([point, end]).T, color=COLORS[k], ls=("--", "-")[k],
                              lw=1.4, label=name if i == j == 0 else None)  # fmt: skip
        axes.plot(*ends.T, color="0.1", marker="o", ms=5, ls="-", lw=2.5, label="contact")
        axes.set(aspect="equal", xlabel="$x$ (m)", ylabel="$y$ (m)")
        # Centres go on to either side; the part and its cones are to be seen.
        low, high = surface.points.min(axis=0), surface.points.max(axis=0)
        axes.set_xlim(low[0] - 1.5 * size, high[0] + 1.5 * size)
        axes.set_title(f"Pushing {words(surface.system.name) or 'the part'}", fontsize=11)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    return figure
