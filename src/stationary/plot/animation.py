"""Moving pictures of any system whose parts have positions."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from stationary.errors import StatementError
from stationary.plot.force_arrows import pushed
from stationary.plot.scene import Scene, Stroke, ink, move, paper, scene, stage
from stationary.plot.solids import Surfaces
from stationary.plot.style import look, markup, words
from stationary.plot.turntable import turntable
from stationary.result.touched import Touched
from stationary.result.trajectory import AbstractMotion
from stationary.result.views import show, view

# A film runs in real time if it is neither shorter nor longer than this, in seconds.
SHORTEST, LONGEST = 2.0, 20.0

# A trail is as long as the last second of the film, fades in so many pieces, and is sampled more
# finely than the frames so that a fast one is round.
_TRAIL, _PIECES, _FINE = 1.0, 6, 4


@view("motion", "animate")
def animate(motion: AbstractMotion, path: Any = None, *, fps: int = 25, forces: Any = False) -> Any:
    """Draw the parts of a system moving.

    Particles are dots with a fading trail, bodies boxes, springs zigzags, dampers dashpots and
    rods lines; bodies in space are solids in the light, seen in perspective. A position with one
    entry lies on a horizontal line. The film runs in real time
    where that takes between 2 and 20 seconds; else it says how much faster or slower it is. A
    continuum without parts is drawn by its first field, over position.

    Parameters
    ----------
    motion : Motion
    path : str or Path, optional
        Where to save it: ``.gif``, or ``.html`` (one file that needs no other; what moves in space
        is turned there by dragging).
    fps : int
        Frames per second.
    forces : bool or dict
        Whether to draw the forces of contacts and dry friction as arrows; or where they act, by
        name, as in ``{"floor": (x, y)}``.

    Returns
    -------
    matplotlib.animation.FuncAnimation
    """
    if motion.system.fields and not motion.system.parts:
        # A continuum is seen by its first field.
        field = motion.field(motion.system.fields[0].field)
        return show("field", "animate")(field, path, fps=fps)
    save = saver(path)
    times, speed = _times(motion, fps * _FINE)
    seen: Any = motion.at(times)
    drawn, caption = scene(seen), ""
    if forces:
        drawn, caption = pushed(drawn, seen, forces, _FINE)
    film = _film(drawn, motion.system.name, speed, fps, caption)
    if save is not None:
        Path(path).write_bytes(save(film, fps))
    return playing(film, fps)


def _times(motion: AbstractMotion, rate: float) -> tuple[np.ndarray, float]:
    """Return evenly spaced times, and how much faster than the motion the film runs."""
    if not rate > 0:
        raise StatementError(
            "fps is not a number of frames per second.",
            f"Found {rate / _FINE:g}, expected a positive number.",
            "Give it as in animate(fps=25).",
        )
    first, last = float(motion.t[0]), float(motion.t[-1])
    length = float(np.clip(last - first, SHORTEST, LONGEST))
    return np.linspace(first, last, _FINE * round(length * rate / _FINE) + 1), (
        last - first
    ) / length


# -- the film -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Film:
    """A figure, what moves in it, and the function that moves it to a frame."""

    figure: Any
    artists: list[Any]
    show: Callable[[int], list[Any]]
    frames: int
    name: str
    scene: Scene | None = None

    def __post_init__(self):
        # Find places for everything once; frames that each did so would shake, and take long.
        self.show(0)
        self.figure.draw_without_rendering()
        self.figure.set_layout_engine("none")


def _film(drawn: Scene, name: str, speed: float, fps: float, caption: str = "") -> Film:
    import matplotlib.pyplot as plt

    with look():
        wide, high = paper(drawn)
        # Every line of the title takes its own height.
        figure = plt.figure(figsize=(wide, high + 0.2 * bool(caption)))
        axes = stage(figure, drawn)
        title = figure.suptitle("", fontsize=10)
        trails = [_Trail.behind(axes, s, fps * _FINE) for s in drawn.strokes if s.trail]
        strokes = [(ink(axes, s), s.path) for s in drawn.strokes]
        surfaces = Surfaces(axes, list(drawn.solids)) if drawn.solids else None
    written = title_at(name, drawn.t, speed, caption)
    moving = [*(p for trail in trails for p in trail.pieces), *(a for a, _ in strokes), title]
    moving += [surfaces.artist] if surfaces else []

    def show(k: int) -> list[Any]:
        for artist, path in strokes:
            move(artist, path[_FINE * k])
        for trail in trails:
            trail.show(_FINE * k)
        if surfaces:
            surfaces.show(_FINE * k)
        title.set_text(written(drawn.t[_FINE * k]))
        return moving

    return Film(figure, moving, show, len(drawn.t[::_FINE]), name, drawn)


def title_at(name: str, t: np.ndarray, speed: float, caption: str = "") -> Callable[[float], str]:
    """Return what writes the title of a film at a time: its name, its clock and its pace."""
    digits = max(0, 2 - int(np.floor(np.log10(t[-1] - t[0] or 1.0))))
    pace = "" if np.isclose(speed, 1) else f"   (film runs ×{speed:.2g})"
    above, below = f"{words(name)}\n" if name else "", f"\n{caption}" if caption else ""
    return lambda now: f"{above}t = {now:.{digits}f} s{pace}{below}"


@dataclass(frozen=True)
class _Trail:
    """The recent past of a particle, in pieces that fade."""

    past: np.ndarray
    pieces: list[Any]
    edges: np.ndarray

    @classmethod
    def behind(cls, axes: Any, stroke: Stroke, rate: float) -> _Trail:
        line = Stroke(
            stroke.path, {"color": stroke.style["color"], "lw": 1.6, "ls": "-", "zorder": 1}
        )
        pieces = [ink(axes, line, alpha=0.8 * (1 - k / _PIECES)) for k in range(_PIECES)]
        edges = np.linspace(0, max(_PIECES, _TRAIL * rate), _PIECES + 1).round().astype(int)
        return cls(stroke.path[:, 0], pieces, edges)

    def show(self, k: int) -> None:
        for piece, young, old in zip(self.pieces, self.edges[:-1], self.edges[1:]):
            move(piece, self.past[max(0, k - old) : max(0, k - young) + 1])


def playing(film: Film, fps: float) -> Any:
    """Return the film as an animation that plays in a window and in a notebook."""
    from matplotlib.animation import FuncAnimation

    animation = FuncAnimation(film.figure, film.show, frames=film.frames, interval=1000 / fps)  # pyright: ignore[reportArgumentType]
    # It lives as long as its figure, whether or not the caller keeps it.
    setattr(film.figure, "film", animation)
    setattr(animation, "_repr_html_", lambda: _html(film, fps).decode())
    film.figure.canvas.draw()
    return animation


# -- files ----------------------------------------------------------------------------------------


def saver(path: Any) -> Callable[[Film, float], bytes] | None:
    """Return the function that writes a film in the format of a file's ending."""
    if path is None:
        return None
    ending = Path(path).suffix.lower()
    savers = {".gif": _gif, ".html": _html}
    if ending not in savers:
        raise StatementError(
            f"an animation cannot be saved as '{Path(path).name}'.",
            f"Found the ending '{ending}', expected {' or '.join(map(repr, savers))}.",
            "Rename the file, or call save() of the animation that animate() returns.",
        )
    return savers[ending]


def _images(film: Film) -> list[Any]:
    """Draw all frames: what stands still once, what moves on top of it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    figure, window = film.figure, film.figure.canvas
    canvas = FigureCanvasAgg(figure)
    for artist in film.artists:
        artist.set_animated(True)
    canvas.draw()
    background = canvas.copy_from_bbox(figure.bbox)
    images = []
    for k in range(film.frames):
        canvas.restore_region(background)
        for artist in sorted(film.show(k), key=lambda artist: artist.get_zorder()):
            figure.draw_artist(artist)
        images.append(Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3]))
    for artist in film.artists:
        artist.set_animated(False)
    figure.set_canvas(window)
    # All frames share the colours of the last, in which every trail has its full length.
    palette = images[-1].quantize(256)
    colors = np.reshape(palette.getpalette(), (-1, 3))
    colors[colors.min(axis=1) > 245] = 255  # the nearest of many whites is not always white
    palette.putpalette(colors.ravel().tolist())
    return [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]


def _gif(film: Film, fps: float) -> bytes:
    first, *more = _images(film)
    data = io.BytesIO()
    first.save(
        data, "GIF", save_all=True, append_images=more, duration=1000 / fps, loop=0, disposal=1
    )
    return data.getvalue()


def _html(film: Film, fps: float) -> bytes:
    """Write a page that plays the film by itself."""
    title = escape(film.name or "motion")
    return markup("film").replace("TITLE", title).replace("FILM", _player(film, fps)).encode()


@view("motion", "player")
def player(motion: AbstractMotion, *, fps: int = 20) -> str:
    """Return the film of a motion as a piece of HTML that plays by itself, and let go of it.

    Forces of contact are shown where it is known where they act.
    """
    import matplotlib.pyplot as plt

    times, speed = _times(motion, fps * _FINE)
    seen: Any = motion.at(times)
    drawn, caption = scene(seen), ""
    if isinstance(seen, Touched):
        with suppress(StatementError):
            drawn, caption = pushed(drawn, seen, True, _FINE)
    film = _film(drawn, motion.system.name, speed, fps, caption)
    html = _player(film, fps)
    plt.close(film.figure)
    return html


def _player(film: Film, fps: float) -> str:
    if film.scene is not None and film.scene.dimension == 3:
        return turntable(film.scene, film.name, fps, _FINE)
    frames = []
    for image in _images(film):
        data = io.BytesIO()
        image.save(data, "PNG")
        frames.append("data:image/png;base64," + b64encode(data.getvalue()).decode())
    sources = ",\n".join(f'"{frame}"' for frame in frames)
    html = markup("player").replace("TITLE", escape(film.name or "motion", quote=True))
    return html.replace("INTERVAL", f"{1000 / fps:g}").replace("FRAMES", sources)
