"""Moving pictures of any system whose parts have positions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from stationary.errors import StatementError, say
from stationary.plot.scene import Scene, Stroke, ink, move, scene, stage
from stationary.plot.style import look
from stationary.result.motion import Motion
from stationary.result.views import view

# A film runs in real time if it is neither shorter nor longer than this, in seconds.
_SHORTEST, _LONGEST = 2.0, 20.0

# A trail is as long as the last second of the film, and fades in so many pieces.
_TRAIL, _PIECES = 1.0, 6

# What matplotlib takes from another server, as characters that every browser has.
_ICONS = {
    "minus": "−",
    "fast-backward": "⏮",
    "step-backward": "◂",
    "play fa-flip-horizontal": "◀",
    "pause": "⏸",
    "play": "▶",
    "step-forward": "▸",
    "fast-forward": "⏭",
    "plus": "+",
}


@view("motion", "animate")
def animate(motion: Motion, path: Any = None, *, fps: int = 25) -> Any:
    """Draw the parts of a system moving.

    Particles are dots with a fading trail, bodies boxes, springs zigzags, dampers dashpots and
    rods lines; a position with one entry lies on a horizontal line. The film runs in real time
    where that takes between 2 and 20 seconds; else it says how much faster or slower it is.

    Parameters
    ----------
    motion : Motion
    path : str or Path, optional
        Where to save it; ``.gif`` or ``.html`` (one file that needs no other).
    fps : int
        Frames per second.

    Returns
    -------
    matplotlib.animation.FuncAnimation
    """
    ending = _ending(path)
    times, speed = _frames(motion, fps)
    drawn = scene(motion.at(times))  # pyright: ignore[reportArgumentType]
    film = _film(drawn, motion.system.name, speed, fps)
    if ending == ".gif":
        from matplotlib.animation import PillowWriter

        film.save(path, writer=PillowWriter(fps=fps), dpi=90)
    elif ending == ".html":
        Path(path).write_text(_page(film, motion.system.name or "motion", fps), encoding="utf-8")
    return film


def _ending(path: Any) -> str:
    if path is None:
        return ""
    ending = Path(path).suffix.lower()
    if ending in (".gif", ".html"):
        return ending
    raise StatementError(
        say(
            f"an animation cannot be saved as '{Path(path).name}'.",
            f"Found the ending '{ending}', expected '.gif' or '.html'.",
            "Rename the file, or call save() of the animation that animate() returns.",
        )
    )


def _frames(motion: Motion, fps: float) -> tuple[np.ndarray, float]:
    """Return evenly spaced times, and how much faster than the motion the film runs."""
    if not fps > 0:
        raise StatementError(
            say(
                "fps is not a number of frames per second.",
                f"Found {fps!r}, expected a positive number.",
                "Give it as in animate(fps=25).",
            )
        )
    first, last = float(motion.t[0]), float(motion.t[-1])
    length = float(np.clip(last - first, _SHORTEST, _LONGEST))
    return np.linspace(first, last, round(length * fps) + 1), (last - first) / length


def _film(drawn: Scene, name: str, speed: float, fps: float) -> Any:
    import matplotlib.pyplot as plt
    from matplotlib.animation import FuncAnimation

    with look():
        figure = plt.figure(figsize=_paper(drawn))
        axes = stage(figure, drawn)
        trails = [_trail(axes, s, fps) for s in drawn.strokes if s.trail]
        artists = [(ink(axes, s), s.path) for s in drawn.strokes]
        digits = max(0, 2 - int(np.floor(np.log10(drawn.t[-1] - drawn.t[0] or 1.0))))
        pace = "" if np.isclose(speed, 1) else f"  (×{speed:.3g})"
        title = figure.suptitle("", fontsize=10, family="monospace")

    def show(k: int) -> list[Any]:
        for artist, path in artists:
            move(artist, path[k])
        for trail in trails:
            trail(k)
        clock = f"t = {drawn.t[k]:.{digits}f} s{pace}"
        title.set_text(f"{name}\n{clock}" if name else clock)
        return [artist for artist, _ in artists]

    film = FuncAnimation(figure, show, frames=len(drawn.t), interval=1000 / fps)  # pyright: ignore[reportArgumentType]
    # The film lives as long as its figure, and shows itself in a notebook.
    setattr(figure, "film", film)
    setattr(film, "_repr_html_", lambda: _page(film, name, fps))
    return film


def _paper(drawn: Scene) -> tuple[float, float]:
    """Return a size of the figure that suits the shape of the scene."""
    if drawn.dimension == 3:
        return 5.0, 5.0
    wide, high = drawn.high - drawn.low
    return 5.5, float(np.clip(5.0 * high / wide, 1.2, 5.5)) + 1.0


def _trail(axes: Any, stroke: Stroke, fps: float) -> Any:
    """Return a function that draws the recent past of a particle."""
    lasts = max(2, round(_TRAIL * fps))
    edges = np.linspace(0, lasts, _PIECES + 1).round().astype(int)
    color, past = stroke.style["color"], stroke.path[:, 0]
    line = Stroke(stroke.path, {"color": color, "lw": 1.6, "ls": "-", "zorder": 1})
    pieces = [ink(axes, line, alpha=0.8 * (1 - k / _PIECES)) for k in range(_PIECES)]

    def show(k: int) -> None:
        for piece, young, old in zip(pieces, edges[:-1], edges[1:]):
            move(piece, past[max(0, k - old) : max(0, k - young) + 1])

    return show


def _page(film: Any, name: str, fps: float) -> str:
    """Write one file that plays the film, without a server."""
    import matplotlib as mpl

    with mpl.rc_context({"animation.embed_limit": 200.0, "savefig.dpi": 90}):
        player = film.to_jshtml(fps=fps, embed_frames=True, default_mode="loop")
    player = re.sub(r"<link[^>]*>", "", player)
    player = re.sub(r'<i class="fa fa-([^"]*)"></i>', lambda m: _ICONS.get(m[1], m[1]), player)
    head = f'<!doctype html>\n<html><head><meta charset="utf-8"><title>{name}</title></head>'
    return f"{head}\n<body>{player}</body></html>\n"
