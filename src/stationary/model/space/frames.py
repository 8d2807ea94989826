"""Frames: where something is, how it is turned, and how it moves."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import sympy as sp

from stationary.errors import StatementError, spelled
from stationary.model.built_once import Shared, Speed
from stationary.model.space.rotation import Orientation
from stationary.model.space.vectors import (
    IDENTITY,
    ZERO,
    Matrix,
    add,
    angle_of,
    apply,
    cross,
    direction,
    dot,
    place,
    product,
    righted,
    scale,
    total,
    transposed,
    turning,
)
from stationary.model.symbols import rate
from stationary.model.terms import Vector, vector


@spelled
@dataclass(frozen=True, repr=False, init=False)
class Frame:
    """A frame: an origin and three axes, made from the ground by moves and turns.

    Frames are immutable; every move and turn gives a new one. In the plane, points have two entries
    and frames are turned about z.

    Attributes
    ----------
    origin : tuple
        Where it is, in ground coordinates.
    matrix : tuple of tuple
        Rotation matrix, row by row: it takes components in the frame to those in space.
    omega : tuple
        The angular velocity, in the axes of the frame.
    drift : tuple
        The velocity of the origin, in the axes of the frame.

    Examples
    --------
    >>> a, h = st.coordinates("a"), st.parameters("h")
    >>> arm = st.Frame().move((0, 0, h)).turn("z", a)
    >>> arm.point((1, 0, 0))
    (cos(a), sin(a), h)
    >>> arm.omega
    (0, 0, a.dot)
    """

    origin: Vector
    matrix: Matrix
    omega: Vector
    drift: Vector
    #: The velocity of the origin in axes of its own, in which it is short.
    pace: Vector

    def __init__(self):
        self._set(ZERO, IDENTITY, ZERO, ZERO, ZERO)

    def _set(self, *values: Any) -> Frame:
        for field, value in zip(fields(self), values):
            object.__setattr__(self, field.name, value)
        return self

    def move(self, by: Any) -> Frame:
        """Return a frame whose origin is moved, by a vector in the axes of this one."""
        step = place(by, "the move of a frame")
        along = apply(self.matrix, step)
        origin = tuple(map(Shared, add(self.origin, along)))
        drift = add(add(self.drift, cross(self.omega, step)), rate(step))
        drift = tuple(map(Speed, drift))
        return Frame()._set(origin, self.matrix, self.omega, drift, drift)

    def turn(self, about: Any, angle: Any = None) -> Frame:
        """Return a frame that is turned about the origin of this one.

        Parameters
        ----------
        about : "x", "y", "z", (ax, ay, az), Orientation, matrix or SciPy's Rotation
            An axis in this frame, or the turn itself. An angle alone turns about z.
        angle : expression, optional
            In radians, for an axis.
        """
        if angle is None:
            if isinstance(about, Orientation):
                return self._turned(about.matrix, about.omega)
            if isinstance(about, (sp.Expr, int, float)) and not isinstance(about, bool):
                return self.turn("z", about)
            if isinstance(about, str):
                raise StatementError(
                    f"the turn about '{about}' has no angle.",
                    "Expected an axis and an angle, or a rotation.",
                    f"Give it, as in frame.turn('{about}', angle).",
                )
            return self._turned(turning(about, "the turn of a frame"), ZERO)
        axis = direction(about, "the axis of a turn")
        turned = angle_of(angle, "the angle of a turn")
        c, s = righted(sp.cos(turned)), righted(sp.sin(turned))
        spin = scale(rate(turned), axis)
        for k, e in enumerate(axis):
            # About an axis of its own, two of three entries change.
            if abs(e) == 1:
                rows = [list(row) for row in IDENTITY]
                i, j = (k + 1) % 3, (k + 2) % 3
                rows[i][i] = rows[j][j] = c
                rows[i][j], rows[j][i] = -e * s, e * s
                return self._turned(rows, spin)
        once = tuple(tuple(x * y for y in axis) for x in axis)
        skew = (
            (sp.S.Zero, -axis[2], axis[1]),
            (axis[2], sp.S.Zero, -axis[0]),
            (-axis[1], axis[0], sp.S.Zero),
        )
        rows = [
            [Shared(IDENTITY[i][j] * c + s * skew[i][j] + (1 - c) * once[i][j]) for j in range(3)]
            for i in range(3)
        ]
        return self._turned(rows, spin)

    def _turned(self, by: Any, spin: Any) -> Frame:
        """Turn by a matrix whose angular velocity, in the new axes, is given."""
        back = transposed(by)
        omega = tuple(Speed(e) for e in add(apply(back, self.omega), spin))
        drift = tuple(Speed(e) for e in apply(back, self.drift))
        return Frame()._set(self.origin, product(self.matrix, by), omega, drift, self.pace)

    # -- what it shows ----------------------------------------------------------------------------

    def point(self, at: Any = (0, 0, 0)) -> Vector:
        """Return the ground coordinates of a point that is given in this frame.

        A point of two entries has two: it is one of the plane.
        """
        flat = len(vector(at, "a point of a frame")) == 2
        if flat and not self.planar:
            raise StatementError(
                "a point of a frame in space has three entries.",
                f"Found {len(at)}, and a frame that leaves the plane.",
                "Give (x, y, z).",
            )
        along = apply(self.matrix, place(at, "a point of a frame"))
        ground = tuple(map(Shared, add(self.origin, along)))
        return ground[:2] if flat else ground

    def axis(self, along: Any) -> Vector:
        """Return the components in space of an axis, "x", "y" or "z", or of a direction."""
        axis = direction(along, "the axis of a frame")
        return tuple(Shared(e) for e in apply(self.matrix, axis))

    def velocity(self, at: Any = (0, 0, 0)) -> Vector:
        """Return the velocity in space of a point that is given in, and moves with, this frame."""
        return tuple(Shared(e) for e in apply(self.matrix, self.carried(at)))

    def spin(self) -> Vector:
        """Return the angular velocity in the axes of space."""
        return tuple(Shared(e) for e in apply(self.matrix, self.omega))

    def carried(self, at: Any) -> Vector:
        """Return the velocity of a point that moves with the frame, in its axes."""
        step = place(at, "a point of a frame")
        return tuple(Speed(e) for e in add(self.drift, cross(self.omega, step)))

    @property
    def planar(self) -> bool:
        """Whether it stays in the plane z = 0, turned about z alone."""
        flat = (*(self.matrix[i][2] for i in (0, 1)), *self.matrix[2][:2], self.origin[2])
        return all(e == 0 for e in flat) and self.matrix[2][2] == 1

    def __repr__(self) -> str:
        from stationary.model.graphs import LARGE, written_out

        every = [*self.origin, *(e for row in self.matrix for e in row)]
        if sum(map(written_out, every)) > LARGE // 10:
            return "Frame at a long chain of moves and turns"
        x, y, z = self.origin
        return f"Frame at ({x}, {y}, {z})"


def heights(frame: Frame, at: Vector) -> sp.Expr:
    """Return the height above ground of a point of a frame."""
    return Shared(total((frame.origin[2], dot(frame.matrix[2], at))))
