"""How one frame is turned against another: what springs and dampers between them resist."""

from __future__ import annotations

from typing import Any

import sympy as sp

from stationary.errors import StatementError
from stationary.model.built_once import Shared, Speed
from stationary.model.contents import contents
from stationary.model.space.frames import Frame
from stationary.model.space.vectors import Matrix, apply, direction, dot, minus, product, transposed
from stationary.model.symbols import Coordinate
from stationary.model.terms import Vector

#: Said of a spring or damper that resists every turn alike.
ALL = "all"


def _pair(between: Any, what: str) -> tuple[Frame, Frame]:
    """Take two frames of which one turns against the other."""
    pair = tuple(between) if isinstance(between, (tuple, list)) else ()
    if len(pair) != 2 or not all(isinstance(end, Frame) for end in pair):
        raise StatementError(
            f"{what} that resists turning joins two frames.",
            f"Found {str(between)[:60]}.",
            "Give between=(a, b), each a frame; a new st.Frame() is the ground.",
        )
    first, second = pair
    symbols = {s for e in _seen(first, second) for x in e for s in contents(x).symbols}
    if not any(isinstance(s, Coordinate) for s in symbols):
        raise StatementError(
            f"{what} has nothing to resist.",
            "Found frames whose orientations no coordinate changes.",
            "Give frames of which one is turned by a coordinate or a rotation.",
        )
    return first, second


def _seen(a: Frame, b: Frame) -> Matrix:
    """Return the axes of b in those of a, as columns."""
    return product(transposed(a.matrix), b.matrix)


def turned(between: Any, about: Any, rest: sp.Expr, what: str) -> sp.Expr:
    """Return the square of what a spring between frames is turned by; twice its energy over k.

    About an axis it is the angle from −π to π by which the second is turned about it; for all axes
    alike it is 2(1 − cos φ) of the turn by φ, which is smooth wherever the frames are.
    """
    a, b = _pair(between, what)
    seen = _seen(a, b)
    trace = Shared(seen[0][0] + seen[1][1] + seen[2][2])
    if about == ALL:
        if rest != 0:
            raise StatementError(
                f"{what} that resists every turn alike has no angle of rest.",
                f"Found rest={rest}.",
                "Turn one of the frames by it: between=(a.turn(axis, angle), b).",
            )
        return 3 - trace
    axis = direction(about, f"the axis of {what}")
    twist = (seen[2][1] - seen[1][2], seen[0][2] - seen[2][0], seen[1][0] - seen[0][1])
    if apply(seen, axis) == tuple(axis):
        # On a hinge sine and cosine tell: half a turn has no digits in the other formula.
        angle = sp.atan2(dot(axis, twist), trace - 1)
    else:
        angle = 2 * sp.atan2(dot(axis, twist), 1 + trace)
    return (Shared(angle) - rest) ** 2


def rates(between: Any, about: Any, what: str) -> Vector:
    """Return how fast the second of two frames turns against the first: about an axis, or all."""
    a, b = _pair(between, what)
    against = minus(b.omega, apply(transposed(b.matrix), a.spin()))
    if about == ALL:
        return tuple(Speed(e) for e in against)
    axis = direction(about, f"the axis of {what}")
    return (Speed(dot(axis, against)),)
