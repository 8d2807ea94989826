"""Rigid bodies in space, and in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from stationary.errors import StatementError, spelled
from stationary.model import parts
from stationary.model.drawing import Part
from stationary.model.space.frames import Frame, heights
from stationary.model.space.rotation import Orientation
from stationary.model.space.shapes import AbstractShape
from stationary.model.space.vectors import Matrix, known, place, plain
from stationary.model.system import System
from stationary.model.terms import expression, vector

# Moments of inertia that users round still satisfy the triangle inequality to this share.
_ROUNDED = 1e-6


@spelled
def body(
    m: Any,
    *,
    inertia: Any = None,
    at: Any = None,
    angle: Any = None,
    frame: Any = None,
    shape: Any = None,
    gravity: Any = 0,
    name: str = "",
) -> System:
    """Return a rigid body, in space or in a plane.

    Parameters
    ----------
    m : expression
        Mass.
    inertia : expression, triple or 3 × 3 matrix, optional
        Moments of inertia about the centre of mass, in the axes of the frame: (Ixx, Iyy, Izz), or
        the whole symmetric matrix. One moment of inertia states a body in the plane. Left out, it
        follows from the shape.
    at : tuple, optional
        Centre of mass in the frame; its origin if left out. Without a frame, in ground coordinates.
    angle : expression, optional
        Orientation of a body in the plane.
    frame : Frame or Orientation, optional
        What it moves with.
    shape : Box, Cylinder, Sphere or Rod, optional
        What a picture shows.
    gravity : expression, optional
        Gravitational acceleration, pulling down along z; in the plane, along the last entry of
        `at`.
    name : str, optional

    Examples
    --------
    >>> x, y, phi = st.coordinates("x y phi")
    >>> st.body(2, inertia=0.1, at=(x, y), angle=phi).kinetic
    0.05*phi.dot**2 + x.dot**2 + y.dot**2
    >>> a, b = st.coordinates("a b")
    >>> rotor = st.Frame().turn("z", a).turn("x", b)
    >>> st.body(1, inertia=(1, 2, 3), frame=rotor).kinetic
    a.dot**2*sin(b)**2 + 3*a.dot**2*cos(b)**2/2 + b.dot**2/2
    """
    if isinstance(frame, Orientation):
        ground = Frame() if at is None else Frame().move(at)
        return body(m, inertia=inertia, frame=ground.turn(frame), shape=shape, gravity=gravity,
                    name=name)  # fmt: skip
    if frame is None and angle is not None:
        _require(inertia is not None and at is not None, "a body in the plane", inertia, at)
        return parts.body(m, inertia=inertia, at=at, angle=angle, gravity=gravity, name=name)
    single = (
        inertia is not None and np.ndim(inertia) == 0 and not isinstance(inertia, sp.MatrixBase)
    )
    if frame is None and single:
        raise StatementError(
            "a body in the plane needs its angle.",
            f"Found inertia={str(inertia)[:40]}, and nothing that turns.",
            "Give angle=phi, or state what does not turn as st.particle.",
        )
    if frame is None:
        frame, at = Frame().move((0, 0, 0) if at is None else at), None
    if not isinstance(frame, Frame) or angle is not None:
        raise StatementError(
            "a body has a frame, or a place and an angle.",
            f"Found frame={str(frame)[:40]} and angle={str(angle)[:40]}.",
            "Give frame=st.Frame().move(…).turn(…), or at=(x, y) and angle=phi in the plane.",
        )
    mass = expression(m, "the mass of a body")
    if inertia is None and shape is not None:
        inertia = _shape(shape).inertia(mass)
    _require(inertia is not None, "a body", inertia, at)
    assert inertia is not None
    if single:
        return _flat(mass, inertia, frame, at, gravity, name)
    tensor = _tensor(inertia)
    _check_mass(mass)
    centre = (0, 0, 0) if at is None else place(at, "the centre of mass of a body")
    moving = rigid(mass, tensor, frame, centre, expression(gravity, "gravity"))
    axes = tuple(zip(*frame.matrix))
    drawn = Part("solid", (frame.point(centre), *axes), name=name or None,
                 shape=None if shape is None else _shape(shape))  # fmt: skip
    return moving + System(parts=(drawn,))


def rigid(m: sp.Expr, tensor: Any, frame: Frame, centre: Any, gravity: Any) -> System:
    """Return the energies of a rigid body by its moments of inertia about its centre of mass."""
    centre = tuple(map(plain, centre))
    tensor = [[plain(e) for e in row] for row in tensor]
    # What is turned keeps its length.
    speed = frame.carried(centre) if any(centre) else frame.pace
    moved = m * sp.Add(*(e**2 for e in speed)) / 2
    omega = frame.omega
    turned = sp.Add(
        *(
            tensor[i][j] * omega[i] * omega[j] / (2 if i == j else 1)
            for i in range(3)
            for j in range(i, 3)
        )
    )
    return System(kinetic=moved + turned, potential=m * gravity * heights(frame, centre))


def _flat(m: Any, inertia: Any, frame: Frame, at: Any, gravity: Any, name: str) -> System:
    """Return a body in the plane, by its frame."""
    if not frame.planar:
        raise StatementError(
            "a body in space has three moments of inertia.",
            f"Found one, {inertia}, and a frame that leaves the plane.",
            "Give inertia=(Ixx, Iyy, Izz) or a 3 × 3 matrix.",
        )
    centre = (0, 0) if at is None else at
    speed = frame.carried(centre)
    spin = expression(inertia, "the inertia of a body") * frame.omega[2] ** 2 / 2
    X, Y = frame.point(tuple(place(centre, "the centre of mass of a body")[:2]))
    angle = sp.atan2(frame.matrix[1][0], frame.matrix[0][0])
    return System(
        kinetic=m * sp.Add(*(e**2 for e in speed)) / 2 + spin,
        potential=m * expression(gravity, "gravity") * Y,
        parts=(Part("body", ((X, Y),), angle=angle, name=name or None),),
    )


def _require(given: bool, what: str, inertia: Any, at: Any) -> None:
    if not given:
        missing = "inertia" if inertia is None else "place"
        raise StatementError(
            f"{what} needs its {missing}.",
            f"Found inertia={inertia}, at={at}.",
            "Give inertia=(Ixx, Iyy, Izz), or a shape that has one, as st.Box((a, b, c)).",
        )


def _shape(shape: Any) -> AbstractShape:
    if not isinstance(shape, AbstractShape):
        raise StatementError(
            "the shape of a body is not known.",
            f"Found {str(shape)[:60]!r}.",
            "Give st.Box((a, b, c)), st.Cylinder(r, l), st.Sphere(r) or st.Rod(l).",
        )
    return shape


def _check_mass(m: sp.Expr) -> None:
    number = known(m)
    if number is not None and number < 0:
        raise StatementError(
            "the mass of a body is negative.", f"Found {m}.", "Give a mass of zero or more."
        )


def _tensor(value: Any) -> Matrix:
    """Take moments of inertia: three numbers, or a symmetric matrix."""
    rows = value.tolist() if isinstance(value, (np.ndarray, sp.MatrixBase)) else list(value)
    if len(rows) == 3 and all(np.ndim(r) == 0 for r in rows):
        tensor = [[sp.S.Zero] * 3 for _ in range(3)]
        for k, e in enumerate(vector(rows, "the inertia of a body")):
            tensor[k][k] = plain(e)
    else:
        tensor = [list(map(plain, vector(r, "the inertia of a body"))) for r in rows]
        if len(tensor) != 3 or any(len(r) != 3 for r in tensor):
            raise StatementError(
                "the inertia of a body has three moments, or 3 × 3 entries.",
                f"Found {str(value)[:60]}.",
                "Give (Ixx, Iyy, Izz) or [[Ixx, Ixy, Ixz], …].",
            )
    _check_moments(tensor)
    return tuple(map(tuple, tensor))  # pyright: ignore[reportReturnType]


def _check_moments(tensor: list[list[sp.Expr]]) -> None:
    """Refuse moments of inertia that no body has, as far as their values are known."""
    values = [[known(e) for e in row] for row in tensor]
    if any(x is None for row in values for x in row):
        return
    matrix = np.array(values, dtype=float)
    size = np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > _ROUNDED * size:
        raise StatementError(
            "the inertia of a body is not symmetric.",
            f"Found {matrix.tolist()}.",
            "Give Ixy = Iyx, Ixz = Izx and Iyz = Izy.",
        )
    wrong = impossible(matrix)
    if wrong and ("negative" in wrong or size == 0):
        raise StatementError(
            "the inertia of a body is not positive.",
            f"Found {wrong}.",
            "Give positive ones; what has none is a particle: st.particle(m, at=…).",
        )
    if wrong:
        raise StatementError(
            "no body has such moments of inertia.",
            f"Found {wrong}.",
            "Check that they are about the centre of mass, and in kg m².",
        )


def impossible(matrix: np.ndarray) -> str:
    """Say what is wrong with moments of inertia; nothing where a body may have them."""
    moments, size = np.linalg.eigvalsh((matrix + matrix.T) / 2), np.abs(matrix).max()
    shown = "principal moments " + ", ".join(f"{x:.6g}" for x in moments)
    if moments[0] < -_ROUNDED * size or size == 0:
        return f"{shown}, {'all zero' if size == 0 else 'of which one is negative'}"
    if moments[0] + moments[1] < moments[2] * (1 - _ROUNDED):
        return f"{shown}: the largest exceeds the sum of the others"
    return ""
