"""Rolling without slip: what touches moves with what it rolls on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from stationary.errors import StatementError, did_you_mean, spelled
from stationary.model.built_once import Shared, Speed
from stationary.model.contents import contents
from stationary.model.space.frames import Frame
from stationary.model.space.vectors import (
    across,
    add,
    cross,
    direction,
    dot,
    known,
    minus,
    scale,
)
from stationary.model.symbols import Coordinate, Velocity
from stationary.model.system import System
from stationary.model.terms import Constraint, Pfaffian, Vector, expression

_SHAPES = ("sphere", "disc", "cylinder")

# A function is a distance if its slope is one to this many digits.
_DISTANCE = 1e-9


@spelled
def rolling(
    shape: str,
    frame: Frame,
    *,
    radius: Any,
    on: Any = None,
    axis: Any = "z",
    touch: Any = None,
    name: str = "",
) -> System:
    """Return the constraints of a body that rolls without slip.

    Parameters
    ----------
    shape : "sphere", "disc" or "cylinder"
        A disc touches with its edge; a cylinder lies along a line.
    frame : Frame
        Of the body, its origin at the centre.
    radius : expression
    on : Frame or function, optional
        A frame: its plane z = 0, with the body above; the ground if left out. A function of
        (X, Y, Z): the distance of a point from a surface, on the body's side, which a sphere or a
        disc rolls on.
    axis : "x", "y", "z" or (ax, ay, az)
        Of a disc or a cylinder, in its frame.
    touch : coordinate, optional
        Of a disc on a surface: the angle on its edge at which it touches, from x towards y for the
        axis z. It starts near where the disc is nearest to the surface.
    name : str, optional
        ``lam[name + ".normal"]`` is the force with which the surface pushes, and
        ``lam[name + ".roll"]`` are those along it; a cylinder's ``lam[name + ".flat"]`` is the
        moment that keeps it lying on its line.

    Examples
    --------
    >>> x, y, z, R = *st.coordinates("x y z"), st.rotation("R")
    >>> ball = st.Frame().move((x, y, z)).turn(R)
    >>> held = st.rolling("sphere", ball, radius=1, name="ball")
    >>> [c.name for c in (*held.constraints, *held.pfaffian)]
    ['ball.normal', 'R', 'ball.roll']
    """
    label = f"rolling '{name}'" if name else f"a rolling {shape}"
    _check(shape, frame, label)
    r = expression(radius, f"the radius of {label}")
    size = known(r)
    if size is not None and size <= 0:
        raise StatementError(
            f"the radius of {label} is not positive.",
            f"Found {r}.",
            "Give a length greater than zero.",
        )
    held: list[Any] = []
    if callable(on) and not isinstance(on, Frame) and shape == "disc":
        place, arm, ahead = _edge(frame, r, axis, touch, label)
        gap, normal, _, _ = _surface(on, place, label)
        carried = (sp.S.Zero,) * 3
        first, second = ahead, cross(normal, ahead)
        held.append(Constraint(Shared(dot(normal, ahead)), name=f"{name}.touch" if name else None))
    elif callable(on) and not isinstance(on, Frame):
        if shape != "sphere":
            raise StatementError(
                f"{label} touches a curved surface at a point that is not known.",
                f"Found a {shape}, expected a sphere or a disc.",
                "Give a frame for `on`: its plane z = 0.",
            )
        gap, normal, first, second = _surface(on, frame.origin, label)
        carried = (sp.S.Zero,) * 3
        arm = scale(-r, normal)
        gap = gap - r
    else:
        ground = Frame() if on is None else on
        if not isinstance(ground, Frame):
            raise StatementError(
                f"{label} has nothing to roll on.",
                f"Found {str(on)[:60]!r}.",
                "Give a frame, or a function that returns the distance from a surface.",
            )
        first, second, normal = (ground.axis(e) for e in "xyz")
        arm = _arm(shape, frame, normal, r, axis, label)
        touch = tuple(Shared(e) for e in add(frame.origin, arm))
        gap = dot(normal, minus(touch, ground.origin))
        # What moves with the plane at the point of touch.
        away = minus(touch, ground.origin)
        carried = add(ground.velocity(), cross(ground.spin(), away))
        if shape == "cylinder":
            lying = dot(normal, frame.axis(axis))
            held.append(Constraint(Shared(lying), name=f"{name}.flat" if name else None))
    slip = tuple(Speed(e) for e in minus(add(frame.velocity(), cross(frame.spin(), arm)), carried))
    rows = tuple(Speed(dot(e, slip)) for e in (first, second))
    rows = tuple(e for e in rows if any(isinstance(s, Velocity) for s in contents(e).symbols))
    if any(isinstance(s, Coordinate) for s in contents(gap).symbols):
        held.insert(0, Constraint(Shared(gap), name=f"{name}.normal" if name else None))
    if not rows:
        raise StatementError(
            f"{label} cannot move along what it rolls on.",
            "Found no velocity along the surface.",
            "Give its frame coordinates that let it roll.",
        )
    return System(
        constraints=held, pfaffian=[Pfaffian(rows, name=f"{name}.roll" if name else None)]
    )


def _check(shape: str, frame: Any, label: str) -> None:
    if shape not in _SHAPES:
        raise StatementError(
            f"'{shape}' does not roll.",
            f"Known: {', '.join(_SHAPES)}.{did_you_mean(str(shape), _SHAPES)}",
            "Give one of them.",
        )
    if not isinstance(frame, Frame):
        raise StatementError(
            f"{label} has no frame.",
            f"Found {str(frame)[:60]!r}.",
            "Give the frame of the body, as st.Frame().move((x, y, z)).turn(R).",
        )


def _arm(shape: str, frame: Frame, normal: Vector, r: Any, axis: Any, label: str) -> Vector:
    """Return the way from the centre to where it touches a plane."""
    if shape == "sphere":
        return scale(-r, normal)
    along = frame.axis(direction(axis, f"the axis of {label}"))
    if shape == "cylinder":
        # It lies on a line, at right angles to the normal.
        return scale(-r, normal)
    tilt = Shared(dot(normal, along))
    down = minus(normal, scale(tilt, along))
    size = Shared(sp.sqrt(1 - tilt**2))
    return tuple(Shared(-r * e / size) for e in down)


def _edge(frame: Frame, r: Any, axis: Any, touch: Any, label: str) -> tuple[Vector, Vector, Vector]:
    """Return a point of the edge of a disc, the way to it from the centre, and along the edge."""
    if not isinstance(touch, Coordinate):
        raise StatementError(
            f"{label} touches a curved surface at a point that is not known.",
            f"Found touch={str(touch)[:40]}, expected a coordinate: where on its edge it does.",
            "Give one, as in touch=st.coordinates('touch'), and start it near that angle.",
        )
    one, two = map(frame.axis, across(direction(axis, f"the axis of {label}")))
    c, s = sp.cos(touch), sp.sin(touch)
    arm = tuple(Shared(r * (c * x + s * y)) for x, y in zip(one, two))
    ahead = tuple(Shared(c * y - s * x) for x, y in zip(one, two))
    return tuple(Shared(e) for e in add(frame.origin, arm)), arm, ahead


def _surface(
    distance: Callable[..., Any], place: Vector, label: str
) -> tuple[sp.Expr, Vector, Vector, Vector]:
    """Return the distance of a place from a surface, its normal, and two directions along it."""
    point = sp.symbols("X Y Z", real=True)
    try:
        signed = distance(*point)
    except TypeError as error:
        raise StatementError(
            f"the surface of {label} is no function of (X, Y, Z).",
            f"Found: {str(error)[:80]}.",
            "Give one of three coordinates, as lambda X, Y, Z: Z.",
        ) from None
    gap = expression(signed, f"the distance from the surface of {label}")
    slopes = [gap.diff(s) for s in point]
    length = sp.lambdify(point, sp.sqrt(sum(e**2 for e in slopes)), "numpy")
    defaults = {s for s in gap.free_symbols if s not in point}
    if not defaults:
        rng = np.random.default_rng(1)
        sizes = [float(length(*p)) for p in rng.normal(size=(8, 3))]
        wrong = [s for s in sizes if np.isfinite(s) and abs(s - 1) > _DISTANCE]
        if wrong:
            raise StatementError(
                f"the surface of {label} is not given by a distance.",
                f"Found a slope of {wrong[0]:.6g}, expected 1 everywhere.",
                "Divide by the length of the gradient, as 1 - st.sqrt(X**2 + Y**2) for a tube.",
            )
    swap = dict(zip(point, place))
    normal = tuple(Shared(e.xreplace(swap)) for e in slopes)
    return gap.xreplace(swap), normal, *_along(slopes, swap)


def _along(slopes: list[sp.Expr], swap: dict) -> tuple[Vector, Vector]:
    """Return two directions along a surface, neither of them zero where it is likely to be."""
    steady = [k for k, e in enumerate(slopes) if e == 0]
    first = [sp.S.Zero] * 3
    if steady:
        # A direction in which the surface does not bend is one along it everywhere.
        first[steady[0]] = sp.S.One
        second = cross(slopes, first)
        return tuple(first), tuple(Shared(sp.S(e).xreplace(swap)) for e in second)
    one, two = across(tuple(slopes))
    return (
        tuple(Shared(sp.S(e).xreplace(swap)) for e in one),
        tuple(Shared(sp.S(e).xreplace(swap)) for e in two),
    )
