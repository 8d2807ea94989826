"""What the parts of a system look like, at all times of a motion at once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sympy as sp
from sympy.functions.elementary.trigonometric import TrigonometricFunction

from stationary.errors import StatementError
from stationary.model.arrays import Array
from stationary.model.drawing import Part
from stationary.model.symbols import Coordinate, t
from stationary.model.system import System
from stationary.plot.solids import Solid, solids_of
from stationary.plot.style import COLORS
from stationary.result.trajectory import AbstractMotion

_INK = "0.3"
_NAN = (np.nan, np.nan)

# How a link is drawn from its first point to its second: the share of its length along it, and
# the distance to its side in units of its width. A line is broken at nan.
_TEETH = 12
_LINKS = {
    "rod": np.array([(0, 0), (1, 0)]),
    "spring": np.array(
        [
            (0, 0),
            (0.12, 0),
            *((0.12 + 0.76 * (k + 0.5) / _TEETH, (-1) ** k) for k in range(_TEETH)),
            (0.88, 0),
            (1, 0),
        ]
    ),
    "damper": np.array(
        [
            *((0, 0), (0.3, 0), _NAN),
            *((0.68, 1), (0.3, 1), (0.3, -1), (0.68, -1), _NAN),
            *((0.52, 0.75), (0.52, -0.75), _NAN),
            *((0.52, 0), (1, 0)),
        ]
    ),
}

# Beyond so many, springs are drawn as lines and particles in one colour, without trails.
_MANY = 20


@dataclass(frozen=True)
class Stroke:
    """A line, a set of dots or a filled outline over time; path has shape (times, points, 2|3)."""

    path: np.ndarray
    style: dict[str, Any] = field(default_factory=dict)
    filled: bool = False
    trail: bool = False


@dataclass(frozen=True)
class Scene:
    """Everything there is to draw of a motion, and the box around it."""

    t: np.ndarray
    strokes: tuple[Stroke, ...]
    low: np.ndarray
    high: np.ndarray
    flat: bool
    solids: tuple[Solid, ...] = ()

    @property
    def dimension(self) -> int:
        """2 for a picture in the plane (a line included), 3 for one in space."""
        return len(self.low)


def parts_of(system: System) -> list[Part]:
    """Return what can be drawn of a system: parts that are somewhere."""
    stated = [replace(p, points=tuple(map(_exact, p.points))) for p in system.parts]
    parts = [part for part in stated if part.points and _is_placed(part, stated)]
    # Rows of coordinates in a plane or in space are points by themselves.
    if not parts:
        arrays = [c for c in system.coordinates if isinstance(c, Array)]
        rows = [c for c in arrays if len(c.shape) == 2 and c.shape[1] in (2, 3)]
        parts = [Part("particle", (c,)) for c in rows]
    # So is what friction rubs in a plane or in space.
    if not parts:
        rubbed = [f for f in system.friction if f.table is None]
        where = [f.on for f in rubbed if len(f.on) in (2, 3) and not any(e.has(t) for e in f.on)]
        parts = [Part("particle", (on,)) for on in where]
    if not parts:
        raise StatementError(
            f"there is nothing to draw of {system.name or 'the system'}.",
            "Found no part with a position; energies alone do not say where things are.",
            "Build it from st.particle, st.body, st.spring and st.damper, or add what is to "
            "be seen: st.System(…, parts=[st.Part('particle', [(X, Y)])]), or [[drawing]] in "
            "a model file.",
        )
    return parts


def scene(motion: AbstractMotion) -> Scene:
    """Find where the parts of a system are and what they look like."""
    parts = parts_of(motion.system)
    dimension = max(2, *(width(point) for part in parts for point in part.points))
    solids = solids_of(motion, parts)
    parts = [part for part in parts if part.kind != "solid"]
    where = [[_positions(motion, point, dimension) for point in part.points] for part in parts]
    placed = [w for points in where for w in points] + [s.placed() for s in solids]
    everywhere = np.concatenate([w.reshape(-1, dimension) for w in placed])
    low, high = np.nanmin(everywhere, axis=0), np.nanmax(everywhere, axis=0)
    size = float(np.max(high - low)) or 1.0
    strokes = [
        *_links(parts, where, size),
        *_bodies(motion, parts, where, size),
        *_shapes(parts, where),
        *_supports(parts, where),
        *_particles(parts, where),
        *_centres(solids),
    ]
    if dimension == 3:
        strokes += _compass(len(motion.t), low, size)
    flat = bool(parts) and all(width(point) == 1 for part in parts for point in part.points)
    margin = 0.08 * size
    return Scene(motion.t, tuple(strokes), low - margin, high + margin, flat, tuple(solids))


# -- where things are -----------------------------------------------------------------------------


def _exact(point: Any) -> Any:
    return point if isinstance(point, Array) else tuple(map(sp.S, point))


def width(point: Any) -> int:
    """Return how many entries a point has."""
    return point.shape[-1] if isinstance(point, Array) else len(point)


def _positions(motion: AbstractMotion, point: Any, dimension: int) -> np.ndarray:
    """Return shape (times, points, dimension); the rows of an array are points."""
    positions = motion[point] if isinstance(point, Array) else motion[tuple(point)]
    positions = np.asarray(positions, dtype=float).reshape(len(motion.t), -1, width(point))
    return np.pad(positions, ((0, 0), (0, 0), (0, dimension - positions.shape[-1])))


def _is_placed(part: Part, parts: list[Part]) -> bool:
    """Tell a position from an angle: a spring may join two angles, which are nowhere."""
    if any(isinstance(p, Array) or len(p) > 1 for p in part.points):
        return True
    turning = {s for p in parts if p.angle is not None for s in p.angle.free_symbols}
    for other in parts:
        for e in (e for p in other.points if not isinstance(p, Array) for e in p):
            turning |= {s for f in e.atoms(TrigonometricFunction) for s in f.free_symbols}
    blind = sp.Dummy()
    for (e,) in part.points:
        bare = e.replace(lambda f: isinstance(f, TrigonometricFunction), lambda f: blind)
        if any(isinstance(s, Coordinate) and s in turning for s in bare.free_symbols):
            return False
    return True


# -- what they look like --------------------------------------------------------------------------


def _links(parts: list[Part], where: list[list[np.ndarray]], size: float) -> list[Stroke]:
    strokes = []
    alike = Counter(part.points for part in parts if part.kind in _LINKS)
    seen: Counter[Any] = Counter()
    for part, points in zip(parts, where):
        if part.kind not in _LINKS:
            continue
        P, Q = points
        shape = _LINKS["rod" if P.shape[1] > _MANY else part.kind]
        # Links between the same two points stand side by side.
        aside = 3.2 * (seen[part.points] - (alike[part.points] - 1) / 2)
        seen[part.points] += 1
        if aside:
            shape = np.array([(0, 0), *(shape + (0, aside)), (1, 0)])
        thick = 2.0 if part.kind == "rod" else 1.2
        style = {"color": _INK, "lw": thick, "ls": "-", "solid_joinstyle": "round", "zorder": 3}
        strokes.append(Stroke(along(shape, P, Q, 0.025 * size), style))
    return strokes


def along(shape: np.ndarray, P: np.ndarray, Q: np.ndarray, width: Any) -> np.ndarray:
    """Lay a shape along every line from P to Q, both of shape (times, links, dimension).

    The width is one for all, or of shape (times, links, 1, 1).
    """
    axis = Q - P
    length = np.linalg.norm(axis, axis=-1, keepdims=True)
    if axis.shape[-1] == 2:
        across = np.stack([-axis[..., 1], axis[..., 0]], axis=-1)
        side = np.divide(across, length, out=np.zeros_like(axis), where=length > 0)
    else:
        # Any direction across will do; take a level one unless the link stands upright.
        level = np.cross(axis, (0.0, 0.0, 1.0))
        upright = np.linalg.norm(level, axis=-1, keepdims=True) <= 1e-6 * length
        side = np.where(upright, (1.0, 0.0, 0.0), level)
        side = side / np.linalg.norm(side, axis=-1, keepdims=True)
    shape = np.vstack([shape, _NAN])
    share, offset = shape[:, :1], width * shape[:, 1:]
    paths = P[:, :, None] + share * axis[:, :, None] + offset * side[:, :, None]
    return paths.reshape(len(P), -1, axis.shape[-1])


def _bodies(
    motion: AbstractMotion, parts: list[Part], where: list[list[np.ndarray]], size: float
) -> list[Stroke]:
    strokes: list[Stroke] = []
    dots = sum(part.kind == "particle" for part in parts)
    corners = np.array([(-1, -0.6), (1, -0.6), (1, 0.6), (-1, 0.6), (-1, -0.6)]) * 0.04 * size
    for part, (centre, *_) in zip(parts, where):
        if part.kind != "body":
            continue
        angle = motion[part.angle] if part.angle is not None else np.zeros(len(motion.t))
        c, s = np.cos(angle)[:, None], np.sin(angle)[:, None]
        outline = np.zeros((len(motion.t), len(corners), centre.shape[-1]))
        # The plane of a body is that of its first and last axis: gravity pulls along the last.
        outline[..., 0] = c * corners[:, 0] - s * corners[:, 1]
        outline[..., -1] = s * corners[:, 0] + c * corners[:, 1]
        # Particles have the first colours.
        color = COLORS[(len(strokes) + dots) % len(COLORS)]
        style = {"facecolor": color, "edgecolor": "black", "lw": 1.0, "zorder": 2}
        strokes.append(Stroke(centre + outline, style, filled=True))
    return strokes


def _shapes(parts: list[Part], where: list[list[np.ndarray]]) -> list[Stroke]:
    """Draw the outlines of rigid parts, and the support points of those that have none."""
    strokes = []
    for part, points in zip(parts, where):
        corners = np.concatenate(points, axis=1)
        if part.kind == "outline":
            style = {
                "facecolor": COLORS[1],
                "edgecolor": "black",
                "lw": 1.0,
                "ls": "-",
                "zorder": 2,
            }
            closed = np.concatenate([corners, corners[:, :1]], axis=1)
            strokes.append(Stroke(closed, style, filled=True))
        elif part.kind == "points":
            style = {"ls": "none", "marker": "o", "ms": 3.5, "color": COLORS[1], "zorder": 4}
            strokes.append(Stroke(corners, style))
    return strokes


def _supports(parts: list[Part], where: list[list[np.ndarray]]) -> list[Stroke]:
    """Mark the ends of links that are fixed in space."""
    fixed = [
        w
        for part, points in zip(parts, where)
        for point, w in zip(part.points, points)
        if part.kind in _LINKS and not isinstance(point, Array) and _is_fixed(point)
    ]
    if not fixed:
        return []
    style = {"color": "black", "marker": "s", "ms": 6, "ls": "none", "zorder": 4}
    return [Stroke(np.concatenate(fixed, axis=1), style)]


def _is_fixed(point: tuple[sp.Expr, ...]) -> bool:
    return not any(isinstance(s, Coordinate) or s == t for e in point for s in e.free_symbols)


def _particles(parts: list[Part], where: list[list[np.ndarray]]) -> list[Stroke]:
    places = [points[0] for part, points in zip(parts, where) if part.kind == "particle"]
    if not places:
        return []
    dots = np.concatenate(places, axis=1)
    style: dict[str, Any] = {"ls": "none", "marker": "o", "zorder": 5}
    if dots.shape[1] > _MANY:
        return [Stroke(dots, style | {"color": COLORS[0], "ms": 3.5})]
    style |= {"ms": 11, "mec": "black", "mew": 0.8}
    return [
        Stroke(dots[:, [k]], style | {"color": COLORS[k % len(COLORS)]}, trail=True)
        for k in range(dots.shape[1])
    ]


def _centres(solids: list[Solid]) -> list[Stroke]:
    """Let the centres of solids leave trails."""
    if len(solids) > _MANY:
        return []
    style: dict[str, Any] = {"ls": "none", "marker": "none", "zorder": 1}
    return [Stroke(s.centre[:, None], style | {"color": s.color}, trail=True) for s in solids]


def _compass(times: int, corner: np.ndarray, size: float) -> list[Stroke]:
    """Draw the directions of space, x red, y green, z blue, in a corner of the picture."""
    strokes = []
    for axis, color in zip(np.eye(3), ("#c0392b", "#27865a", "#2d5fa8")):
        line = np.array([corner, corner + 0.15 * size * axis])
        style = {"color": color, "lw": 1.6, "ls": "-", "zorder": 1}
        strokes.append(Stroke(np.broadcast_to(line, (times, 2, 3)), style))
    return strokes


# -- putting it on a page -------------------------------------------------------------------------


def paper(drawn: Scene) -> tuple[float, float]:
    """Return a size of the figure, in inches, that suits the shape of the scene."""
    if drawn.dimension == 3:
        return 5.0, 5.0
    wide, high = drawn.high - drawn.low
    share = float(high / wide)
    # Labels and title take what is added to either side.
    return (5.5, max(0.5, 4.7 * share) + 1.0) if share < 1 else (max(2.4, 4.8 / share) + 0.8, 5.8)


def stage(figure: Any, drawn: Scene) -> Any:
    """Make axes that hold the whole scene, with equal scales."""
    if drawn.dimension == 3:
        axes = figure.add_subplot(projection="3d", proj_type="persp", focal_length=1.6)
        axes.view_init(elev=20, azim=-60)
        size = drawn.high - drawn.low
        # What stands tall leaves room below for the words of its axes.
        tall = float(size[2] / np.linalg.norm(size))
        axes.set_box_aspect(size, zoom=0.85 * min(1.0, 0.72 / tall))
        axes.set(xlim=_pair(drawn, 0), ylim=_pair(drawn, 1), zlim=_pair(drawn, 2))
        axes.set(xlabel="$x$ (m)", ylabel="$y$ (m)", zlabel="$z$ (m)")
        axes.tick_params(labelsize="small", pad=0)
        axes.locator_params(nbins=4)
        return axes
    axes = figure.add_subplot()
    axes.set_aspect("equal", anchor="N")
    axes.set(xlim=_pair(drawn, 0), ylim=_pair(drawn, 1), xlabel="$x$ (m)", ylabel="$y$ (m)")
    # A narrow side has room for one number.
    axes.locator_params(min_n_ticks=1)
    if drawn.flat:
        # Positions on a line: there is no second axis to read.
        axes.set(yticks=[], ylabel="")
        axes.spines["left"].set_visible(False)
    return axes


def _pair(drawn: Scene, axis: int) -> tuple[float, float]:
    return float(drawn.low[axis]), float(drawn.high[axis])


def ink(axes: Any, stroke: Stroke, **changes: Any) -> Any:
    """Make the artist of a stroke, without a place yet."""
    style = stroke.style | changes
    if stroke.filled and not hasattr(axes, "zaxis"):
        (artist,) = axes.fill([0], [0], **style)
    elif stroke.filled:
        edge = {"color": style["facecolor"], "lw": 2.0, "ls": "-"}
        (artist,) = axes.plot([], [], [], **edge)
    else:
        nothing: list[list[float]] = [[]] * (3 if hasattr(axes, "zaxis") else 2)
        (artist,) = axes.plot(*nothing, **style)
    return artist


def move(artist: Any, path: np.ndarray) -> None:
    """Put an artist where a stroke is at one time."""
    if hasattr(artist, "set_xy"):
        artist.set_xy(path)
    elif hasattr(artist, "set_data_3d"):
        artist.set_data_3d(*path.T)
    else:
        artist.set_data(*path.T)
