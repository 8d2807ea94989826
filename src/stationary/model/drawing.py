"""What pictures show of a system, and physics does not know of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from stationary.errors import StatementError, spelled, unknown
from stationary.model.arrays import Array
from stationary.model.symbols import require_expressions

#: What pictures can show, and of how many points; None where any number will do.
DRAWN: dict[str, int | None] = {
    "particle": 1,
    "body": 1,
    "rod": 2,
    "spring": 2,
    "damper": 2,
    "outline": None,
    "points": None,
    "solid": 4,
}

_COUNTS = {None: "", 2: "two", 4: "four"}


@dataclass(frozen=True)
class Support:
    """Where a rigid part may press on its table, when nobody knows how it does.

    Attributes
    ----------
    kind : str
        "outline", "disc" or "points".
    points : tuple of pairs
        Corners of the outline, or feet, in the frame of the part.
    radius : float
        Of a disc.
    weight : float
        Friction limit of the whole part: coefficient times normal force.
    centre : pair of float, or None
        Where the pressure has its resultant, in the frame of the part; None where that is not
        known either.
    """

    kind: str
    points: tuple[tuple[float, float], ...]
    radius: float
    weight: float
    centre: tuple[float, float] | None


@spelled
@dataclass(frozen=True)
class Part:
    """What a picture shows of a system: a kind of thing, and the points that it has.

    Parts built by `particle`, `spring` and their like bring their pictures; energies written by
    hand do not say where things are.

    Parameters
    ----------
    kind : str
        ``"particle"`` or ``"body"`` at one point, ``"rod"``, ``"spring"`` or ``"damper"`` between
        two, ``"outline"`` or ``"points"`` of as many as there are, ``"solid"`` in space by its
        centre and the directions of its three axes.
    points : tuple of points
        Each a tuple of expressions, or an array of coordinates whose rows are points.
    angle : expression, optional
        How far a body is turned.
    name : str, optional
    shape : Box, Cylinder, Sphere or Rod, optional
        Of a solid.
    support : Support, optional
        Of a slider whose pressure is left open: where it may rest.

    Examples
    --------
    >>> theta = st.coordinates("theta")
    >>> m, l, g = st.parameters(m=1.0, l=1.0, g=9.81)
    >>> bob = (l * st.sin(theta), -l * st.cos(theta))
    >>> pendulum = st.System(
    ...     kinetic=m * l**2 * theta.dot**2 / 2,
    ...     potential=m * g * l * (1 - st.cos(theta)),
    ...     parts=(st.Part("rod", ((0, 0), bob)), st.Part("particle", (bob,))),
    ... )
    >>> film = st.simulate(pendulum, span=(0, 1), start={theta: 1.0}).animate()
    """

    kind: str
    points: tuple[Any, ...]
    angle: Any = None
    name: str | None = None
    shape: Any = None
    support: Support | None = None

    def __post_init__(self):
        if self.kind not in DRAWN:
            raise StatementError(unknown("the kind of a part", str(self.kind), DRAWN))
        count = DRAWN[self.kind]
        points = self.points if isinstance(self.points, (tuple, list)) else ()
        several = all(isinstance(p, (tuple, list, Array)) for p in points)
        if not points or not several or len(points) != (count or len(points)):
            many = (
                "points"
                if count is None
                else "one point"
                if count == 1
                else f"{_COUNTS[count]} points"
            )
            shown = "((0, 0), (X, Y))" if count != 1 else "((X, Y),)"
            raise StatementError(
                f"a part of kind '{self.kind}' has no points to be drawn at.",
                f"Found {str(self.points)[:60]}; expected a tuple of {many}, each a tuple of "
                "expressions.",
                f"Write it as st.Part('{self.kind}', {shown}).",
            )
        for point in points:
            if not isinstance(point, Array):
                require_expressions(f"a point of a part of kind '{self.kind}'", point)
        turned = () if self.angle is None else (self.angle,)
        require_expressions("the angle of a part", turned)
        drawn = tuple(p if isinstance(p, Array) else tuple(p) for p in points)
        object.__setattr__(self, "points", drawn)

    def apply(self, change: Callable[[sp.Expr], sp.Expr]) -> Part:
        """Return the part with every expression changed."""
        points = tuple(
            point if isinstance(point, Array) else tuple(change(sp.S(e)) for e in point)
            for point in self.points
        )
        angle = None if self.angle is None else change(sp.S(self.angle))
        return replace(self, points=points, angle=angle)


def as_parts(given: Any) -> tuple[Part, ...]:
    """Return what pictures show as a tuple, or refuse what is not a part."""
    parts = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    for part in parts:
        if not isinstance(part, Part):
            raise StatementError(
                "parts has an entry that is not one.",
                f"Found {str(part)[:60]!r}, expected st.Part(…).",
                "Pass a list of parts; systems are joined by +.",
            )
    return parts
