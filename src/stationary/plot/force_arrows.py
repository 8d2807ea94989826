"""Arrows for the forces of contacts and friction, over time.

A statement says how far things are apart, not where they touch. The force of a contact is drawn at
the particle that it pushes, and on a body where it touches: there one force at a part, or one and
its opposite at two, does what the contact does to all coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import sympy as sp

from stationary.errors import StatementError, unknown
from stationary.model.arrays import Array
from stationary.model.drawing import Part
from stationary.model.symbols import Coordinate, require_expressions
from stationary.plot.scene import Scene, Stroke, along, parts_of
from stationary.result.touched import Touched
from stationary.result.trajectory import AbstractMotion

_ARROW = np.array([(0, 0), (1, 0), (0.75, 0.5), (1, 0), (0.75, -0.5)])
_COLOR = "black"

# The longest arrow, and half the width of its head, as parts of the picture and of its length.
_LONGEST, _HEAD = 0.25, 0.2

# Of forces that are longer than so many times the usual one, arrows are cut.
_USUAL = 3.0

# Of more contacts of one name, rows of arrays are drawn together, and others not.
_MANY = 50

# What a force at a part leaves of the force of a contact on coordinates, where it is that force.
_SAME = 1e-6


@dataclass(frozen=True)
class Arrows:
    """Where forces act at some times, and these: both of shape (times, arrows, dimension)."""

    at: np.ndarray
    force: np.ndarray


def pushed(drawn: Scene, motion: AbstractMotion, wanted: Any, every: int) -> tuple[Scene, str]:
    """Add the forces of contacts and friction to a scene; return it and what the arrows mean.

    Frames are every so many times of the motion; `asked` is True, or says where forces act by the
    names of contacts.
    """
    if not isinstance(motion, Touched):
        raise StatementError(
            "there are no forces of contact to draw.",
            "Found no contact and no dry friction in what was simulated.",
            "Leave forces= out.",
        )
    seen: Touched = motion.at(motion.t[::every])  # pyright: ignore[reportAssignmentType]
    forces = _ContactForces(seen, drawn.dimension)
    arrows = forces.arrows(wanted)
    if not arrows:
        return drawn, "nothing pushes"
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
    unseen = f", not shown: {', '.join(forces.unplaced)}" if forces.unplaced else ""
    return scene, f"longest arrow: {longest:.3g} N{cut}{unseen}"


class _ContactForces:
    """The forces of all contacts and rubs on the coordinates, and where they act."""

    def __init__(self, motion: Touched, dimension: int):
        self.motion, self.dimension = motion, dimension
        self.parts = [p for p in parts_of(motion.system) if p.kind in ("particle", "body")]
        names = map(motion.kernel.layout.name, range(motion.kernel.size))
        self.places = {name: i for i, name in enumerate(names)}
        #: What pushes nothing that is drawn.
        self.unplaced: list[str] = []

    def arrows(self, wanted: Any) -> list[Arrows]:
        """Return the arrows of everything that touches or rubs."""
        known = wanted if isinstance(wanted, Mapping) else {}
        for name in known:
            if name not in self.names:
                raise StatementError(unknown("the contact or friction", str(name), self.names))
        arrows, left = [], []
        for name in known or self.names:
            if name in known:
                arrows.append(self._given(name, known[name]))
                continue
            units = self._units(name)
            for rows in units:
                placed = self._placed(name, rows) if len(units) <= _MANY else []
                arrows += placed
                left += [] if placed else rows
                if not placed and name not in self.unplaced:
                    self.unplaced.append(name)
        if left and (on_arrays := self._of_arrays(left)):
            arrows += on_arrays
            self.unplaced.clear()
        if not arrows and (left or known):
            raise StatementError(
                "it is not known where the forces of contact act.",
                f"Found no particle or body that {', '.join(self.names)} pushes.",
                "Say where, as in animate(forces={'floor': (x, y)}).",
            )
        return arrows

    @property
    def names(self) -> list[str]:
        """The names of contacts and of dry friction."""
        layout = self.motion.kernel.layout
        return list(dict.fromkeys([*(r.name for r in layout.gaps), *self.motion.forces]))

    def _units(self, name: str) -> list[list[int]]:
        """Return the rows, gap and slips, of all contacts or rubs of one name that ever act."""
        layout, touch = self.motion.kernel.layout, self.motion.touching.touch
        gaps = [int(k) for r in layout.gaps if r.name == name for k in r.places.flat]
        rates = {int(k) for r in layout.slips if r.name == name for k in r.places.flat}
        slips: dict[int | None, list[list[int]]] = {}
        for rub in touch.rubs:
            if rates.issuperset(rub.rates):
                slips.setdefault(rub.gap, []).append([touch.gaps + k for k in rub.entries])
        units = [[i, *(row for rows in slips.get(i, []) for row in rows)] for i in gaps]
        acting = np.any(self.acting, axis=0)
        return [rows for rows in (*units, *slips.get(None, [])) if acting[rows].any()]

    @cached_property
    def acting(self) -> np.ndarray:
        """The forces of all contacts and rubs, shape (times, rows)."""
        return self.motion.acting[:, len(self.motion.kernel.rows) :]

    @cached_property
    def slopes(self) -> dict[int, Any]:
        """How gaps and slips change with coordinates, at times when something acts."""
        motion, touch = self.motion, self.motion.touching.touch
        sense = np.ones(touch.arguments[-1].numel())
        times = np.flatnonzero(self.acting.any(axis=1)).tolist()
        where = ((motion.t[k], motion.q[k], motion.v[k], motion.u[k]) for k in times)
        every = (touch.rows(*at, motion.params, sense)[3] for at in where)
        return {k: slope.sparse().tocsr() for k, slope in zip(times, every)}

    def _on_coordinates(self, rows: list[int]) -> np.ndarray:
        """Return the force of some rows on every coordinate, shape (times, coordinates)."""
        force = np.zeros(self.motion.q.shape)
        for k, slope in self.slopes.items():
            force[k] = slope[rows].T @ self.acting[k, rows]
        return force

    # -- where ----------------------------------------------------------------------------------

    def _given(self, name: str, point: Any) -> Arrows:
        """Return the force at a point that was named."""
        if not isinstance(point, (tuple, list, Array)):
            point = (point,)
        require_expressions("the point of a force", point)
        point = tuple(map(sp.sympify, point))
        Q = self._on_coordinates([row for rows in self._units(name) for row in rows])
        pairs = zip(self._slopes(point), Q)
        force = np.array([np.linalg.lstsq(j.T, q, rcond=None)[0] for j, q in pairs])
        return Arrows(self._where(point), self._padded(force)[:, None])

    def _placed(self, name: str, rows: list[int]) -> list[Arrows]:
        """Return the force at the point that rubs, or at one or two parts that it pushes."""
        term = next((f for f in self.motion.system.friction if f.name == name), None)
        on = () if term is None or term.table is not None else term.on
        if len(on) > 1 and len(on) == self.dimension:
            return [Arrows(self._where(on), self.motion.forces[name][:, None])]
        single = [p for p in self.parts if not isinstance(p.points[0], Array)]
        for parts in (*((p,) for p in single), *combinations(single, 2)):
            arrows = self._at(parts, rows)
            if arrows:
                return arrows
        return []

    def _at(self, parts: tuple[Part, ...], rows: list[int]) -> list[Arrows]:
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
        for t, slope in self.slopes.items():
            if not self.acting[t, rows].any():
                continue
            known = slope[rows].toarray()
            combined = np.linalg.lstsq(every[t].T, known.T, rcond=None)[0].T
            if np.abs(combined @ every[t] - known).max() > _SAME * np.abs(known).max():
                return []
            force[t, :wide] = self.acting[t, rows] @ combined[:, :wide]
            for place, k in enumerate(turning):
                # The arms of the gap and of the slip meet where it touches.
                across = (-1) ** k * combined[:, [wide - 1, 0]] * (1.0, -1.0)
                arm = np.linalg.lstsq(across, combined[:, wide + place], rcond=1e-9)[0]
                ats[k][t, 0, [0, wide - 1]] += arm
        return [Arrows(at, (-1) ** k * force[:, None]) for k, at in enumerate(ats)]

    def _of_arrays(self, rows: list[int]) -> list[Arrows]:
        """Return what all these rows together do to the points of arrays."""
        arrows, layout = [], self.motion.kernel.layout
        for point in (p.points[0] for p in self.parts):
            if isinstance(point, Array) and point.name in layout.arrays:
                force = self._on_coordinates(rows)[:, layout.place(point)]
                at = np.asarray(self.motion[point], dtype=float)
                arrows.append(Arrows(self._padded(at), self._padded(force)))
        return arrows

    # -- numbers --------------------------------------------------------------------------------

    def _where(self, point: Any) -> np.ndarray:
        points = np.asarray(self.motion[tuple(point)], dtype=float).reshape(len(self.motion.t), -1)
        return self._padded(points)[:, None].copy()

    def _padded(self, entries: np.ndarray) -> np.ndarray:
        more = self.dimension - entries.shape[-1]
        return np.pad(entries, [(0, 0)] * (entries.ndim - 1) + [(0, more)])

    def _slopes(self, point: Any) -> np.ndarray:
        """Return ∂point/∂q, shape (times, entries, coordinates)."""
        slopes = np.zeros((len(self.motion.t), len(point), self.motion.kernel.size))
        for k, entry in enumerate(point):
            for symbol in sp.sympify(entry, strict=True).free_symbols:
                if isinstance(symbol, Coordinate) and symbol.name in self.places:
                    slope = sp.diff(entry, symbol)
                    values = float(slope) if slope.is_number else self.motion[slope]
                    slopes[:, k, self.places[symbol.name]] = values
        return slopes
