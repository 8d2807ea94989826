"""Shapes of bodies: how their mass is spread, and what a picture shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import sympy as sp

from stationary.errors import StatementError, spelled
from stationary.model.space.vectors import direction, known
from stationary.model.terms import Vector, expression, vector


@dataclass(frozen=True)
class AbstractShape(ABC):
    """A solid of even density around its centre of mass."""

    @abstractmethod
    def inertia(self, m: sp.Expr) -> Vector:
        """Return its principal moments of inertia, in its own axes."""


@spelled
@dataclass(frozen=True)
class Box(AbstractShape):
    """A box with edges along x, y and z.

    Examples
    --------
    >>> st.body(12, shape=st.Box((1, 2, 3)), frame=st.Frame().turn(st.rotation("R"))).size
    4
    """

    size: Any

    def __post_init__(self):
        edges = tuple(_positive(e, "an edge of a box") for e in vector(self.size, "the box"))
        if len(edges) != 3:
            raise StatementError(
                "a box has three edges.", f"Found {len(edges)}.", "Give st.Box((a, b, c))."
            )
        object.__setattr__(self, "size", edges)

    def inertia(self, m: sp.Expr) -> Vector:
        """Return its moments of inertia about x, y and z."""
        a, b, c = (e**2 for e in self.size)
        return m * (b + c) / 12, m * (a + c) / 12, m * (a + b) / 12


@spelled
@dataclass(frozen=True)
class Sphere(AbstractShape):
    """A ball.

    Examples
    --------
    >>> st.Sphere(2).inertia(10)
    (16, 16, 16)
    """

    radius: Any

    def __post_init__(self):
        object.__setattr__(self, "radius", _positive(self.radius, "the radius of a sphere"))

    def inertia(self, m: sp.Expr) -> Vector:
        """Return its moments of inertia."""
        return (2 * m * self.radius**2 / 5,) * 3


@spelled
@dataclass(frozen=True)
class Cylinder(AbstractShape):
    """A solid cylinder or, if it is short, a disc, along an axis of the frame.

    Examples
    --------
    >>> st.Cylinder(1, 0).inertia(4)
    (1, 1, 2)
    """

    radius: Any
    length: Any = 0
    axis: str = "z"

    def __post_init__(self):
        direction(self.axis if isinstance(self.axis, str) else "?", "the axis of a cylinder")
        object.__setattr__(self, "radius", _positive(self.radius, "the radius of a cylinder"))
        long = _positive(self.length, "the length of a cylinder", zero=True)
        object.__setattr__(self, "length", long)

    def inertia(self, m: sp.Expr) -> Vector:
        """Return its moments of inertia about x, y and z."""
        across = m * (3 * self.radius**2 + self.length**2) / 12
        every = [across] * 3
        every["xyz".index(self.axis)] = m * self.radius**2 / 2
        return tuple(every)


@spelled
@dataclass(frozen=True)
class Rod(AbstractShape):
    """A thin rod along an axis of the frame, its middle at the centre of mass.

    Examples
    --------
    >>> st.Rod(2).inertia(3)
    (1, 1, 0)
    """

    length: Any
    axis: str = "z"

    def __post_init__(self):
        direction(self.axis if isinstance(self.axis, str) else "?", "the axis of a rod")
        object.__setattr__(self, "length", _positive(self.length, "the length of a rod"))

    def inertia(self, m: sp.Expr) -> Vector:
        """Return its moments of inertia about x, y and z."""
        every = [m * self.length**2 / 12] * 3
        every["xyz".index(self.axis)] = sp.S.Zero
        return tuple(every)


def _positive(value: Any, what: str, zero: bool = False) -> sp.Expr:
    length = expression(value, what)
    number = known(length)
    if number is not None and (number < 0 or (number == 0 and not zero)):
        raise StatementError(
            f"{what} is not positive.",
            f"Found {length}{'' if length.is_number else f' = {number:g}'}.",
            "Give a length greater than zero.",
        )
    return length
