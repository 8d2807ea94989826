"""Joints between frames, and moments on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from stationary.errors import StatementError, did_you_mean, spelled
from stationary.model.built_once import Shared
from stationary.model.contents import contents
from stationary.model.space.frames import Frame
from stationary.model.space.vectors import (
    IDENTITY,
    across,
    apply,
    cross,
    direction,
    dot,
    minus,
    transposed,
    triple,
)
from stationary.model.symbols import Coordinate
from stationary.model.system import System
from stationary.model.terms import Constraint, Load, Vector

#: Rows that hold the origin of b, and rows that hold its axes, over the axes of a.
Rows = tuple[list[sp.Expr], list[sp.Expr]]


class _Pair:
    """Two frames, the second seen from the first."""

    def __init__(self, a: Frame, b: Frame):
        self.a = a
        back = transposed(a.matrix)
        #: From the origin of a to that of b, in space and in the axes of a.
        self.gap = tuple(Shared(e) for e in minus(b.origin, a.origin))
        self.seen = tuple(Shared(e) for e in apply(back, self.gap))
        self._columns = tuple(zip(*b.matrix))
        self._back = back

    def axis(self, along: Vector) -> Vector:
        """Return an axis of b in the axes of a."""
        turned = tuple(dot(along, row) for row in zip(*self._columns))
        return tuple(Shared(e) for e in apply(self._back, turned))

    def place(self, along: tuple[Vector, ...]) -> list[sp.Expr]:
        """Return rows that hold the gap along directions of a."""
        return [Shared(dot(e, self.seen)) for e in along]

    def aligned(self, axis: Vector) -> list[sp.Expr]:
        """Return rows that keep an axis of b along that of a; their forces are moments."""
        one, two = across(axis)
        turned = self.axis(axis)
        return [Shared(-dot(two, turned)), Shared(dot(one, turned))]

    def turned_as_one(self) -> list[sp.Expr]:
        """Return rows that keep all axes parallel: their forces are moments about those of a."""
        x, y, z = (self.axis(e) for e in IDENTITY)
        return [y[2], z[0], x[1]]


def _ball(pair: _Pair, axis: Any) -> Rows:
    return list(pair.gap), []


def _hinge(pair: _Pair, axis: Any) -> Rows:
    return list(pair.gap), pair.aligned(axis)


def _slide(pair: _Pair, axis: Any) -> Rows:
    return pair.place(across(axis)), pair.turned_as_one()


def _cylinder(pair: _Pair, axis: Any) -> Rows:
    return pair.place(across(axis)), pair.aligned(axis)


def _universal(pair: _Pair, axis: Any) -> Rows:
    first, second = axis
    # Of this sign its force is the moment about first × second.
    return list(pair.gap), [Shared(-dot(first, pair.axis(second)))]


def _planar(pair: _Pair, axis: Any) -> Rows:
    return pair.place((axis,)), pair.aligned(axis)


def _weld(pair: _Pair, axis: Any) -> Rows:
    return list(pair.gap), pair.turned_as_one()


_KINDS: dict[str, Callable[[_Pair, Any], Rows]] = {
    "ball": _ball,
    "hinge": _hinge,
    "slide": _slide,
    "cylinder": _cylinder,
    "universal": _universal,
    "planar": _planar,
    "weld": _weld,
}


@spelled
def joint(kind: str, a: Frame, b: Frame, *, axis: Any = None, name: str = "") -> System:
    """Return a joint that holds one frame to another.

    Parameters
    ----------
    kind : str
        "ball": the origins are one. "hinge": and an axis is one. "universal": the origins are one,
        and an axis of a stays at a right angle to one of b. "slide": b moves along an axis of a and
        does not turn. "cylinder": it also turns about that axis. "planar": b stays in the plane at
        a right angle to the axis. "weld": both frames are one.
    a, b : Frame
        At the joint, one on each of the bodies; a new `Frame` is the ground.
    axis : "x", "y", "z" or (ax, ay, az), optional
        In both frames; "z" if left out. For "universal" a pair, the first in a, the second in b;
        ("x", "y") if left out.
    name : str, optional
        ``lam[name + ".force"]`` is then the force of a on b: in the axes of space where the origins
        are one, else along directions of a at right angles to the axis (for "planar" along it).
        ``lam[name + ".moment"]`` is the moment of a on b about the axes of a for "slide" and
        "weld", about two axes at a right angle to the axis for "hinge", "cylinder" and "planar",
        and about the product of the first with the second axis for "universal".

    Examples
    --------
    >>> x, y, z, R = *st.coordinates("x y z"), st.rotation("R")
    >>> wheel = st.Frame().move((x, y, z)).turn(R)
    >>> st.joint("hinge", st.Frame(), wheel, axis="y", name="axle").constraints[0].name
    'axle.force'
    """
    if kind not in _KINDS:
        raise StatementError(
            f"the joint '{kind}' is not known.",
            f"Known: {', '.join(_KINDS)}.{did_you_mean(str(kind), _KINDS)}",
            "Give one of them.",
        )
    label = f"joint '{name}'" if name else f"a {kind} joint"
    for frame in (a, b):
        if not isinstance(frame, Frame):
            raise StatementError(
                f"{label} holds two frames.",
                f"Found {type(frame).__name__}: {str(frame)[:60]}.",
                "Give frames, as st.Frame().move((x, y, z)).turn(R).",
            )
    if (a.origin, a.matrix) == (b.origin, b.matrix):
        raise StatementError(
            f"{label} holds a frame to itself.",
            "Found one place and one orientation for both.",
            "Give a frame on each of the two bodies.",
        )
    places, turns = _KINDS[kind](_Pair(a, b), _axes(kind, axis, label))
    held = []
    for suffix, rows in ((".force", places), (".moment", turns)):
        # What holds whatever moves, as heights in the plane, is no constraint.
        moving = tuple(_checked(row, label) for row in rows if row != 0)
        if moving:
            held.append(Constraint(moving, name=f"{name}{suffix}" if name else None))
    if not held:
        raise StatementError(
            f"{label} holds nothing.",
            "Found frames that satisfy it however they move.",
            "Leave it out: the coordinates allow no other motion.",
        )
    return System(constraints=held)


def _axes(kind: str, axis: Any, label: str) -> Any:
    if kind == "universal":
        pair = ("x", "y") if axis is None else axis
        if isinstance(pair, str) or len(pair) != 2:
            raise StatementError(
                f"{label} has two axes.",
                f"Found axis={axis!r}.",
                "Give one of a and one of b, as in axis=('x', 'y').",
            )
        return tuple(direction(e, f"an axis of {label}") for e in pair)
    return direction("z" if axis is None else axis, f"the axis of {label}")


def _checked(row: sp.Expr, label: str) -> sp.Expr:
    if not any(isinstance(s, Coordinate) for s in contents(row).symbols):
        raise StatementError(
            f"{label} cannot hold.",
            f"Found {row} = 0, which no coordinate changes.",
            "Give frames that meet, or coordinates that let them.",
        )
    return row


@spelled
def moment(value: Any, *, on: Frame, against: Frame | None = None, name: str = "") -> System:
    """Return a moment on a frame, by its virtual work M·δθ.

    Parameters
    ----------
    value : triple
        Components in the axes of space; ``on.axis("x")`` and the like turn with the body.
    on : Frame
        What it turns.
    against : Frame, optional
        What it reacts on; the ground if left out.
    name : str, optional

    Examples
    --------
    >>> a, tau = st.coordinates("a"), st.inputs("tau")
    >>> arm = st.Frame().turn("z", a)
    >>> st.equations(st.moment((0, 0, tau), on=arm) + st.body(1, inertia=(1, 1, 2), frame=arm)).Q
    Matrix([[tau]])
    """
    torque = triple(value, "a moment")
    for frame in (on, *([] if against is None else [against])):
        if not isinstance(frame, Frame):
            raise StatementError(
                "a moment turns a frame.", f"Found {str(frame)[:60]}.", "Give a frame."
            )
    pushes: list[sp.Expr] = []
    moved: list[sp.Expr] = []
    for sign, frame in ((1, on), (-1, against)):
        for axis in zip(*frame.matrix) if frame is not None else ():
            # δθ is half the sum of e × δe over the three axes e of a frame.
            for push, entry in zip(cross(torque, axis), axis):
                if any(isinstance(s, Coordinate) for s in contents(entry).symbols):
                    pushes.append(Shared(sign * push / 2))
                    moved.append(entry)
    if not moved:
        raise StatementError(
            f"the moment '{name or torque}' turns nothing.",
            "Found frames whose orientations no coordinate changes.",
            "Give on=…, a frame that is turned by a coordinate or a rotation.",
        )
    return System(loads=[Load(tuple(pushes), on=tuple(moved), name=name or None)])
