"""What a page draws of a system: points that move, and what is drawn at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp

from stationary.errors import StatementError
from stationary.lower.inputs import translate
from stationary.model.arrays import Array
from stationary.model.drawing import Part
from stationary.model.interpolation import Interpolation
from stationary.model.layout import Layout
from stationary.model.symbols import Coordinate, t
from stationary.model.system import System
from stationary.plot.scene import parts_of, scene, width
from stationary.plot.solids import solids_of
from stationary.plot.style import COLORS
from stationary.result.fields import matrix

# So many points show the course of a field.
_COURSE = 61


@dataclass(frozen=True, eq=False)
class Picture:
    """The parts of a system that are somewhere; of a continuum its first field.

    Attributes
    ----------
    parts : tuple of Part
    curve : Interpolation or None
        The field that is drawn over its position.
    values : dict
        Of parameters, by name: they say where the nodes of a field are.
    dimension : int
        2 or 3; 0 where nothing has a position.
    """

    parts: tuple[Part, ...]
    curve: Interpolation | None
    values: dict[str, float]
    dimension: int

    @classmethod
    def of(cls, system: System, values: dict[str, float]) -> Picture:
        """Find what can be drawn."""
        if system.fields and not system.parts:
            return cls((), system.fields[0], values, 2)
        try:
            parts = parts_of(system)
        except StatementError:
            return cls((), None, values, 0)
        dimension = max(2, *(width(p) for part in parts for p in part.points))
        return cls(tuple(parts), None, values, dimension)

    @property
    def count(self) -> int:
        """Number of points."""
        drawn = sum(_rows(point) for part in self.parts for point in part.points)
        return drawn + (_COURSE if self.curve is not None else 0)

    def lowered(self, layout: Layout, t_: Any, q: Any, v: Any, p: Any) -> tuple[Any, Any]:
        """Return all points, entry after entry, and the angles of bodies, as graphs."""
        entries: list[Any] = []
        for point in (point for part in self.parts for point in part.points):
            if isinstance(point, Array):
                places = np.asarray(layout.place(point)).reshape(-1, width(point))
                rows = [[q[int(k)] for k in row] for row in places]
            else:
                rows = [[translate(sp.S(e), layout, t_, q, v, p) for e in point]]
            for row in rows:
                entries += [*row, *[ca.SX(0)] * (self.dimension - len(row))]
        if self.curve is not None:
            X, w = self._course(layout, t_, q, v, p)
            entries += [e for k in range(_COURSE) for e in (ca.SX(X[k]), w[k])]
        angles = [translate(sp.S(part.angle), layout, t_, q, v, p) for part in self._turned]
        empty = ca.SX(0, 1)
        return (
            ca.vertcat(*entries) if entries else empty,
            ca.vertcat(*angles) if angles else empty,
        )

    def _course(self, layout: Layout, t_: Any, q: Any, v: Any, p: Any) -> tuple[Any, Any]:
        """Return places along the field, and its values there."""
        assert self.curve is not None
        nodes = self.curve.positions(self.values)
        X = np.linspace(nodes[0], nodes[-1], _COURSE)
        exprs = [self.curve.expression(k) for k in range(self.curve.size)]
        dofs = ca.vertcat(*(translate(sp.S(e), layout, t_, q, v, p) for e in exprs))
        return X, ca.mtimes(ca.DM(matrix(self.curve, 0, X, self.values)), dofs)

    @property
    def _turned(self) -> list[Part]:
        return [p for p in self.parts if p.kind == "body" and p.angle is not None]

    def frame(self, motion: Any) -> dict[str, Any]:
        """Return what is drawn, and the box that holds the first seconds of it."""
        if not self.dimension:
            return {"items": [], "low": [0, 0], "high": [1, 1], "equal": True}
        if self.curve is not None:
            f = motion.field(self.curve.field)
            first, last = f.ends
            spread = float(np.abs(np.asarray(f(np.linspace(first, last, 101)))).max()) or 1.0
            low, high = [first, -spread], [last, spread]
        else:
            drawn = scene(motion)
            low, high = (np.asarray(x, dtype=float).tolist() for x in (drawn.low, drawn.high))
        equal = self.curve is None
        return {"items": self.items(motion), "low": low, "high": high, "equal": equal}

    def items(self, motion: Any) -> list[dict[str, Any]]:
        """Return what is drawn, by the numbers of its points; sizes are those of a motion."""
        drawn, first, turned = [], 0, self._turned
        solids = iter(solids_of(motion, list(self.parts)))
        dots = 0
        for part in self.parts:
            at = []
            for point in part.points:
                at.append(list(range(first, first + _rows(point))))
                first += _rows(point)
            item: dict[str, Any] = {"kind": part.kind, "at": at}
            if part.kind == "solid":
                solid = next(solids)
                item |= {
                    "vertices": np.round(solid.vertices, 9).tolist(),
                    "faces": solid.faces,
                    "color": [round(255 * c) for c in solid.color],
                }
            if part.kind == "body":
                item["angle"] = turned.index(part) if part in turned else None
            if part.kind in ("particle", "body", "outline", "points"):
                item["color"] = COLORS[dots % len(COLORS)]
                dots += 1
            item["fixed"] = [not isinstance(p, Array) and _fixed(p) for p in part.points]
            drawn.append(item)
        if self.curve is not None:
            at = list(range(first, first + _COURSE))
            drawn.append({"kind": "curve", "at": [at], "color": COLORS[0], "fixed": [False]})
        return drawn


def _rows(point: Any) -> int:
    return int(np.prod(point.shape[:-1])) if isinstance(point, Array) else 1


def _fixed(point: Any) -> bool:
    free = {s for e in point for s in sp.S(e).free_symbols}
    return not any(isinstance(s, Coordinate) or s == t for s in free)
