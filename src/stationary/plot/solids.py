"""Solid bodies: their surfaces, where they are over time, and how light falls on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from stationary.model.space.shapes import AbstractShape, Box, Cylinder, Rod, Sphere
from stationary.plot.style import COLORS
from stationary.result.trajectory import AbstractMotion

# How many sides a round surface has, and how thick a thin rod is drawn beside its length.
_ROUND, _THIN = 20, 0.02

# Where the light comes from, and how much there is everywhere.
_LIGHT = np.array([-0.35, -0.55, 0.76])
_AMBIENT = 0.6


@dataclass(frozen=True)
class Solid:
    """A surface in the axes of a body, and the body's pose over time.

    Attributes
    ----------
    centre : ndarray, shape (times, 3)
    axes : ndarray, shape (times, 3, 3)
        Axis k of the body in space is ``axes[:, k]``.
    vertices : ndarray, shape (points, 3)
    faces : tuple of tuple of int
        Seen from outside, their corners run against the clock.
    color : tuple of float
    """

    centre: np.ndarray
    axes: np.ndarray
    vertices: np.ndarray
    faces: tuple[tuple[int, ...], ...]
    color: tuple[float, float, float]

    def placed(self) -> np.ndarray:
        """Return the corners in space, shape (times, points, 3)."""
        return self.centre[:, None] + self.vertices @ self.axes


def solids_of(motion: AbstractMotion, parts: list[Any]) -> list[Solid]:
    """Return the solids among parts; those without a shape are boxes of a size that shows."""
    import matplotlib.colors

    bodies = [part for part in parts if part.kind == "solid"]
    poses = [[np.asarray(motion[tuple(point)], dtype=float) for point in p.points] for p in bodies]
    solids = []
    for number, (part, (centre, *axes)) in enumerate(zip(bodies, poses)):
        shape = part.shape or Box((_size(poses),) * 3)
        vertices, faces = _surface(shape, motion)
        color = matplotlib.colors.to_rgb(COLORS[number % len(COLORS)])
        solids.append(Solid(centre, np.stack(axes, axis=1), vertices, faces, color))
    return solids


def _size(poses: list[list[np.ndarray]]) -> float:
    """Return the edge of a box that stands for a body of unknown shape."""
    every = np.concatenate([pose[0] for pose in poses])
    return 0.08 * float(np.max(np.ptp(every, axis=0))) or 0.1


def _surface(shape: AbstractShape, motion: AbstractMotion) -> tuple[np.ndarray, tuple]:
    def number(e: Any) -> float:
        return float(motion[sp.S(e)][0])

    if isinstance(shape, Box):
        return _box(*(number(e) / 2 for e in shape.size))
    if isinstance(shape, Sphere):
        return _sphere(number(shape.radius))
    if isinstance(shape, Cylinder):
        radius, length = number(shape.radius), number(shape.length)
        return _cylinder(radius, length or 0.06 * radius, shape.axis)
    assert isinstance(shape, Rod)
    length = number(shape.length)
    return _cylinder(_THIN * length, length, shape.axis)


def _box(a: float, b: float, c: float) -> tuple[np.ndarray, tuple]:
    corners = np.array([(x, y, z) for x in (-a, a) for y in (-b, b) for z in (-c, c)])
    faces = ((0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3))
    return corners, faces


def _cylinder(radius: float, length: float, axis: str) -> tuple[np.ndarray, tuple]:
    turn = 2 * np.pi * np.arange(_ROUND) / _ROUND
    ring = np.column_stack([radius * np.cos(turn), radius * np.sin(turn), np.zeros(_ROUND)])
    corners = np.vstack([ring - (0, 0, length / 2), ring + (0, 0, length / 2)])
    n = _ROUND
    sides = [(k, (k + 1) % n, n + (k + 1) % n, n + k) for k in range(n)]
    faces = (tuple(reversed(range(n))), tuple(range(n, 2 * n)), *sides)
    # From z to another axis by a turn of all three, which keeps the sense of the faces.
    return np.roll(corners, {"z": 0, "x": 1, "y": 2}[axis], axis=1), faces


def _sphere(radius: float) -> tuple[np.ndarray, tuple]:
    rows, n = _ROUND // 2, _ROUND
    tilt = np.pi * np.arange(rows + 1) / rows
    turn = 2 * np.pi * np.arange(n) / n
    corners = radius * np.array(
        [(np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)) for a in tilt for b in turn]
    )
    faces = tuple(
        (i * n + k, (i + 1) * n + k, (i + 1) * n + (k + 1) % n, i * n + (k + 1) % n)
        for i in range(rows)
        for k in range(n)
    )
    return corners, faces


def shaded(corners: np.ndarray, faces: Any, colors: np.ndarray) -> np.ndarray:
    """Return the colours of faces in the light."""
    first, second, third = (corners[[face[k] for face in faces]] for k in (0, 1, 2))
    normal = np.cross(second - first, third - first)
    # At the poles of a sphere two corners are one.
    fourth = corners[[face[-1] for face in faces]]
    normal = normal + np.cross(third - first, fourth - first)
    size = np.linalg.norm(normal, axis=1, keepdims=True)
    normal = normal / np.where(size > 0, size, 1.0)
    light = _AMBIENT + (1 - _AMBIENT) * np.clip(normal @ _LIGHT, 0, 1)
    return np.clip(colors * light[:, None], 0, 1)


class Surfaces:
    """All solids as one artist: faces hide each other, whichever body they belong to."""

    def __init__(self, axes: Any, solids: list[Solid], alpha: float = 1.0):
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        self.places = np.concatenate([s.placed() for s in solids], axis=1)
        self.faces, colors, first = [], [], 0
        for solid in solids:
            self.faces += [tuple(first + k for k in face) for face in solid.faces]
            colors += [solid.color] * len(solid.faces)
            first += len(solid.vertices)
        self.colors, self.alpha = np.array(colors), alpha
        self.artist = Poly3DCollection([np.zeros((3, 3))], lw=0.2, zorder=2)
        axes.add_collection3d(self.artist, autolim=False)

    def show(self, k: int) -> None:
        """Move the faces to one time."""
        corners = self.places[k]
        self.artist.set_verts([corners[list(face)] for face in self.faces])
        shades = shaded(corners, self.faces, self.colors)
        self.artist.set_facecolor(np.column_stack([shades, np.full(len(shades), self.alpha)]))
        edges = np.column_stack([0.75 * shades, np.full(len(shades), self.alpha)])
        self.artist.set_edgecolor(edges)
        if getattr(self.artist.axes, "M", None) is not None:
            self.artist.do_3d_projection()
