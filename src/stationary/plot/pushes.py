"""Arrows for the forces of contacts and friction, over time.

A statement says how far things are apart, not where they touch. The force of a contact is drawn at
the particle that it pushes, and on a body where it touches: there one force at a part, or one and
its opposite at two, does what the contact does to all coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import sympy as sp

from stationary.errors import StatementError, say, unknown
from stationary.model.arrays import Array
from stationary.model.drawing import Part
from stationary.model.symbols import Coordinate
from stationary.plot.scene import Scene, Stroke, along, parts_of
from stationary.result.touched import Touched
from stationary.result.trajectory import AbstractMotion

_ARROW = np.array([(0, 0), (1, 0), (0.75, 0.5), (1, 0), (0.75, -0.5)])
_COLOR = "black"

# The longest arrow, and half the width of its head, as parts of the picture and of its length.
_LONGEST, _HEAD = 0.25, 0.2

# Of forces that are longer than so many times the usual one, arrows are cut.
_USUAL = 3.0

# What a force at a part leaves of the force of a contact on coordinates, where it is that force.
_SAME = 1e-6


@dataclass(frozen=True)
class Arrows:
    """Where forces act at some times, and these: both of shape (times, arrows, dimension)."""

    at: np.ndarray
    force: np.ndarray


def pushed(drawn: Scene, motion: AbstractMotion, asked: Any, every: int) -> tuple[Scene, str]:
    """Add the forces of contacts and friction to a scene; return it and what the arrows mean.

    Frames are every so many times of the motion; `asked` is True, or says where forces act by the
    names of contacts.
    """
    if not isinstance(motion, Touched):
        raise StatementError(
            say(
                "there are no forces of contact to draw.",
                "Found no contact and no dry friction in what was simulated.",
                "Leave forces= out.",
            )
        )
    seen: Touched = motion.at(motion.t[::every])  # pyright: ignore[reportAssignmentType]
    found = _Found(seen, drawn.dimension)
    arrows = found.arrows(asked)
    at = np.concatenate([a.at for a in arrows], axis=1)
    force = np.concatenate([a.force for a in arrows], axis=1)
    sizes = np.linalg.norm(force, axis=-1)
    acting = sizes[sizes > 0]
    size = float(np.max(drawn.high - drawn.low))
    if not len(acting):
        return drawn, "nothing pushes"
    longest = min(float(acting.max()), _USUAL * float(np.median(acting)))
    shown = force * (np.minimum(sizes, longest) / np.maximum(sizes, 1e-300) / longest)[..., None]
    shown = np.where(sizes[..., None] > 0, _LONGEST * size * shown, np.nan)
    head = _HEAD * np.linalg.norm(shown, axis=-1)[..., None, None]
    path = along(_ARROW, at, at + shown, head)
    style = {"color": _COLOR, "lw": 1.8, "ls": "-", "solid_joinstyle": "miter", "zorder": 6}
    fine = np.repeat(path, every, axis=0)[: len(motion.t)]
    ends, margin = path.reshape(-1, drawn.dimension), 0.03 * size
    scene = replace(
        drawn, strokes=(*drawn.strokes, Stroke(fine, style)),
        low=np.minimum(drawn.low, np.nanmin(ends, axis=0) - margin),
        high=np.maximum(drawn.high, np.nanmax(ends, axis=0) + margin),
    )  # fmt: skip
    cut = " or more" if longest < acting.max() else ""
    return scene, f"longest arrow: {longest:.3g} N{cut}"


class _Found:
    """The forces of all contacts and rubs on the coordinates, and where they act."""

    def __init__(self, motion: Touched, dimension: int):
        self.motion, self.dimension = motion, dimension
        self.parts = [p for p in parts_of(motion.system) if p.kind in ("particle", "body")]
        names = map(motion.kernel.layout.name, range(motion.kernel.size))
        self.places = {name: i for i, name in enumerate(names)}

    def arrows(self, asked: Any) -> list[Arrows]:
        """Return the arrows of everything that touches or rubs."""
        known = asked if isinstance(asked, Mapping) else {}
        for name in known:
            if name not in self.names:
                raise StatementError(unknown("the contact or friction", str(name), self.names))
        made, left = [], []
        for name in self.names:
            if isinstance(asked, Mapping) and name not in known:
                continue
            placed = self._given(name, known[name]) if name in known else self._placed(name)
            made += placed
            left += [] if placed else [name]
        if left:
            made += self._rows(left)
        if not made:
            raise StatementError(
                say(
                    "it is not known where the forces of contact act.",
                    f"Found no particle or body that {', '.join(left) or 'a contact'} pushes.",
                    "Say where, as in animate(forces={'floor': (x, y)}).",
                )
            )
        return made

    @property
    def names(self) -> list[str]:
        """The names of contacts and of dry friction."""
        layout = self.motion.kernel.layout
        return list(dict.fromkeys([*(r.name for r in layout.gaps), *self.motion.forces]))

    def _rows_of(self, names: list[str]) -> tuple[np.ndarray, dict[int, Any]]:
        """Return the forces of some contacts and rubs, and, at times when they act, their slopes.

        Forces have shape (times, rows); slopes are matrices (rows, coordinates).
        """
        motion = self.motion
        touch, layout, kernel = motion.touching.touch, motion.kernel.layout, motion.kernel
        rows = [int(k) for r in layout.gaps if r.name in names for k in r.places.flat]
        rates = {int(k) for r in layout.slips if r.name in names for k in r.places.flat}
        rows += [touch.gaps + k for k, rate in enumerate(touch.dry) if rate in rates]
        acting = motion.acting[:, len(kernel.rows) :][:, rows]
        sense, slopes = np.ones(touch.arguments[-1].numel()), {}
        for k in np.flatnonzero(np.any(acting != 0, axis=1)).tolist():
            where = (motion.t[k], motion.q[k], motion.v[k], motion.u[k], motion.params, sense)
            slopes[k] = touch.rows(*where)[3].sparse().tocsr()[rows]
        return acting, slopes

    def _on_coordinates(self, names: list[str]) -> np.ndarray:
        """Return the force of some contacts and rubs on every coordinate, (times, coordinates)."""
        acting, slopes = self._rows_of(names)
        made = np.zeros(self.motion.q.shape)
        for k, slope in slopes.items():
            made[k] = slope.T @ acting[k]
        return made

    # -- where ----------------------------------------------------------------------------------

    def _given(self, name: str, point: Any) -> list[Arrows]:
        """Return the force at a point that was named."""
        point = tuple(map(sp.sympify, point))
        J, Q = self._slopes(point), self._on_coordinates([name])
        force = np.array([np.linalg.lstsq(j.T, q, rcond=None)[0] for j, q in zip(J, Q)])
        return [Arrows(self._where(point), force[:, None])]

    def _placed(self, name: str) -> list[Arrows]:
        """Return the force at the point that rubs, or at one or two parts that it pushes."""
        term = next((f for f in self.motion.system.friction if f.name == name), None)
        on = () if term is None or term.table is not None else term.on
        if len(on) > 1 and len(on) == self.dimension:
            return [Arrows(self._where(on), self.motion.forces[name][:, None])]
        acting, slopes = self._rows_of([name])
        single = [p for p in self.parts if not isinstance(p.points[0], Array)]
        for parts in (*((p,) for p in single), *combinations(single, 2)) if slopes else ():
            made = self._at(parts, acting, slopes)
            if made:
                return made
        return []

    def _at(
        self, parts: tuple[Part, ...], acting: np.ndarray, slopes: dict[int, Any]
    ) -> list[Arrows]:
        """Return a force at a part, or one and its opposite at two, if rows act as these do."""
        points = [p.points[0] for p in parts]
        J = self._slopes(points[0])
        if len(parts) > 1:
            J = J - self._slopes(points[1])
        wide = J.shape[1]
        turning = [k for k, p in enumerate(parts) if p.angle is not None]
        every = np.concatenate([J, *(self._slopes((parts[k].angle,)) for k in turning)], axis=1)
        ats = [self._where(point) for point in points]
        force = np.zeros((len(every), self.dimension))
        for t, slope in slopes.items():
            known = slope.toarray()
            found = np.linalg.lstsq(every[t].T, known.T, rcond=None)[0].T
            if np.abs(found @ every[t] - known).max() > _SAME * np.abs(known).max():
                return []
            force[t, :wide] = acting[t] @ found[:, :wide]
            for place, k in enumerate(turning):
                # The arms of the gap and of the slip meet where it touches.
                across = (-1) ** k * found[:, [wide - 1, 0]] * (1.0, -1.0)
                arm = np.linalg.lstsq(across, found[:, wide + place], rcond=1e-9)[0]
                ats[k][t, 0, [0, wide - 1]] += arm
        return [Arrows(at, (-1) ** k * force[:, None]) for k, at in enumerate(ats)]

    def _rows(self, names: list[str]) -> list[Arrows]:
        """Return what all these contacts together do to the rows of arrays of points."""
        made, Q = [], None
        for part in self.parts:
            point = part.points[0]
            if not isinstance(point, Array) or point.name not in self.motion.kernel.layout.arrays:
                continue
            Q = self._on_coordinates(names) if Q is None else Q
            force = Q[:, self.motion.kernel.layout.place(point)]
            at = np.asarray(self.motion[point], dtype=float)
            made.append(Arrows(self._padded(at), self._padded(force)))
        return made

    # -- numbers --------------------------------------------------------------------------------

    def _where(self, point: Any) -> np.ndarray:
        found = np.asarray(self.motion[tuple(point)], dtype=float).reshape(len(self.motion.t), -1)
        return self._padded(found)[:, None].copy()

    def _padded(self, found: np.ndarray) -> np.ndarray:
        more = self.dimension - found.shape[-1]
        return np.pad(found, [(0, 0)] * (found.ndim - 1) + [(0, more)])

    def _slopes(self, point: Any) -> np.ndarray:
        """Return ∂point/∂q, shape (times, entries, coordinates)."""
        made = np.zeros((len(self.motion.t), len(point), self.motion.kernel.size))
        for k, entry in enumerate(point):
            for symbol in sp.sympify(entry).free_symbols:
                if isinstance(symbol, Coordinate) and symbol.name in self.places:
                    slope = sp.diff(entry, symbol)
                    values = float(slope) if slope.is_number else self.motion[slope]
                    made[:, k, self.places[symbol.name]] = values
        return made
