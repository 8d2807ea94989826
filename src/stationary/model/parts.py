"""Parts: particles, bodies, springs, dampers, rods and mechanisms. A part is a system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from stationary.errors import StatementError, spelled
from stationary.model.drawing import Part
from stationary.model.each import norm
from stationary.model.space.frames import Frame
from stationary.model.space.twist import rates, turned
from stationary.model.symbols import rate
from stationary.model.system import Mechanism, System
from stationary.model.terms import Constraint, Vector, expression, vector


@spelled
def particle(m: Any, *, at: Any, gravity: Any = 0, name: str = "") -> System:
    """Return a point mass.

    Parameters
    ----------
    m : expression
        Mass.
    at : expression or tuple
        Its position, as expressions of the coordinates.
    gravity : expression, optional
        Gravitational acceleration, pulling down along the last entry of `at`.
    name : str, optional

    Examples
    --------
    >>> theta = st.coordinates("theta")
    >>> m, l, g = st.parameters(m=1.0, l=0.5, g=9.81)
    >>> bob = st.particle(m, at=(l * st.sin(theta), -l * st.cos(theta)), gravity=g)
    >>> bob.potential
    -g*l*m*cos(theta)
    """
    place = _point(at, "the position of a particle")
    return System(
        kinetic=expression(m, "the mass of a particle") * _speed_squared(place) / 2,
        potential=m * expression(gravity, "gravity") * place[-1],
        parts=(Part("particle", (place,), name=name or None),),
    )


@spelled
def body(m: Any, *, inertia: Any, at: Any, angle: Any, gravity: Any = 0, name: str = "") -> System:
    """Return a rigid body moving in a plane.

    Parameters
    ----------
    m : expression
        Mass.
    inertia : expression
        Moment of inertia about the centre of mass.
    at : tuple
        Position of the centre of mass.
    angle : expression
        Its orientation.
    gravity : expression, optional
        Gravitational acceleration, pulling down along the last entry of `at`.
    name : str, optional

    Examples
    --------
    >>> x, y, phi = st.coordinates("x y phi")
    >>> st.body(2, inertia=0.1, at=(x, y), angle=phi).kinetic
    0.05*phi.dot**2 + x.dot**2 + y.dot**2
    """
    turn = expression(angle, "the angle of a body")
    if turn.is_Symbol and turn in (at if isinstance(at, (tuple, list)) else ()):
        raise StatementError(
            f"the angle '{turn}' of a body stands among the lengths of its position.",
            f"Found at={at}, expected the place of its centre of mass alone.",
            f"Leave '{turn}' out of at, as in at=(X, Y).",
        )
    point = particle(m, at=at, gravity=gravity)
    spin = expression(inertia, "the inertia of a body") * rate(turn) ** 2 / 2
    drawn = Part("body", point.parts[0].points, angle=turn, name=name or None)
    return System(
        kinetic=sp.expand_mul(point.kinetic + spin),
        potential=point.potential,
        parts=(drawn,),
    )


@spelled
def spring(k: Any, *, between: Any, rest: Any = 0, about: Any = None, name: str = "") -> System:
    """Return a linear spring between two points, angles or displacements, or turned frames.

    Parameters
    ----------
    k : expression
        Stiffness.
    between : pair
        Two points (tuples, or frames, which stand for their origins), or two scalars: then the
        elongation is second − first − rest.
    rest : expression, optional
        Length, or angle, at which it carries no force.
    about : "x", "y", "z", (ax, ay, az) or "all", optional
        Of two frames: it resists that the second turns against the first. About an axis, which
        both have in common, with k per radian for angles from −π to π; "all" resists every turn,
        with the moment k sin φ about the axis of a turn by φ.
    name : str, optional

    Examples
    --------
    >>> x, y = st.coordinates("x y")
    >>> st.spring(100, between=((0, 0), (x, y)), rest=1).potential
    50*(sqrt(x**2 + y**2) - 1)**2
    >>> a = st.coordinates("a")
    >>> st.spring(3, between=(st.Frame(), st.Frame().turn("z", a)), about="all").potential
    3 - 3*cos(a)
    """
    if about is not None:
        stiffness = expression(k, "the stiffness of a spring")
        angle = expression(rest, "the angle of rest of a spring")
        return System(potential=stiffness * turned(between, about, angle, "a spring") / 2)
    P, Q = _ends(between, "a spring")
    rest = expression(rest, "the rest length of a spring")
    if len(P) == 1:
        stretch_squared = (Q[0] - P[0] - rest) ** 2
    elif rest == 0:
        stretch_squared = sp.Add(*((q - p) ** 2 for p, q in zip(P, Q)))
    else:
        stretch_squared = (_distance(P, Q) - rest) ** 2
    return System(
        potential=expression(k, "the stiffness of a spring") * stretch_squared / 2,
        parts=(Part("spring", (P, Q), name=name or None),),
    )


@spelled
def damper(c: Any, *, between: Any, about: Any = None, name: str = "") -> System:
    """Return a viscous damper along the line between two points, or between two scalars.

    Of two frames, one about an axis, or "all", resists that the second turns against the first.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> st.damper(3, between=(0, x)).dissipation
    3*x.dot**2/2
    >>> st.damper(3, between=(st.Frame(), st.Frame().turn("z", x)), about="z").dissipation
    3*x.dot**2/2
    """
    if about is not None:
        speeds = sp.Add(*(w**2 for w in rates(between, about, "a damper")))
        return System(dissipation=expression(c, "the coefficient of a damper") * speeds / 2)
    P, Q = _ends(between, "a damper")
    elongation = Q[0] - P[0] if len(P) == 1 else _distance(P, Q)
    return System(
        dissipation=expression(c, "the coefficient of a damper") * rate(elongation) ** 2 / 2,
        parts=(Part("damper", (P, Q), name=name or None),),
    )


@spelled
def rod(P: Any, Q: Any, length: Any, *, name: str = "") -> System:
    """Return a massless rigid rod: a constraint that keeps two points at a distance.

    Examples
    --------
    >>> x, y = st.coordinates("x y")
    >>> print(st.rod((0, 0), (x, y), 2, name="rod").constraints[0])
    rod: sqrt(x**2 + y**2) - 2 = 0
    """
    P, Q = _ends((P, Q), "a rod")
    length = expression(length, "the length of a rod")
    if length.is_negative:
        raise StatementError(
            "the length of a rod is negative.", f"Found {length}.", "Give a length above zero."
        )
    gap = _distance(P, Q) - length
    return System(
        constraints=[Constraint(gap, name=name or None)],
        parts=(Part("rod", (P, Q), name=name or None),),
    )


@spelled
def mechanism(*, x: Sequence[Any], inertia: Sequence[Any], name: str = "") -> System:
    """Return a mechanism by its uncoupled coordinates x = L(θ) and their inertias.

    The kinetic co-energy is ½ vᵀ M v with v = J(θ) ω and M diagonal.

    Parameters
    ----------
    x : sequence of expressions
        Locations of mass centres and orientations of the members, in an inertial frame.
    inertia : sequence of expressions
        Mass or moment of inertia of each.
    name : str, optional

    Examples
    --------
    >>> theta, (m, l) = st.coordinates("theta"), st.parameters("m l")
    >>> arm = st.mechanism(x=[l * st.cos(theta), l * st.sin(theta)], inertia=[m, m])
    >>> st.equations(arm).M
    Matrix([[l**2*m]])
    """
    places = vector(x, "a coordinate of a mechanism")
    masses = vector(inertia, "an inertia of a mechanism")
    if len(places) != len(masses):
        raise StatementError(
            "a mechanism needs one inertia for each coordinate.",
            f"Found {len(places)} coordinates and {len(masses)} inertias.",
            "Give both lists the same length.",
        )
    energy = sp.Add(*(mass * rate(place) ** 2 / 2 for place, mass in zip(places, masses)))
    return System(kinetic=energy, mechanism=Mechanism(places, masses), name=name)


def _point(value: Any, what: str) -> Vector:
    if isinstance(value, Frame):
        value = value.origin[:2] if value.planar else value.origin
    place = vector(value, what)
    if not 1 <= len(place) <= 3:
        raise StatementError(
            f"{what} has 1, 2 or 3 entries.",
            f"Found {len(place)}.",
            "Give (X, Y) or (X, Y, Z).",
        )
    return place


def _ends(between: Any, what: str) -> tuple[Vector, Vector]:
    try:
        P, Q = between
    except (TypeError, ValueError):
        raise StatementError(
            f"{what} joins two points.",
            f"Found {str(between)[:60]}.",
            "Give between=(P, Q), each a tuple or a scalar.",
        ) from None
    flat = [isinstance(end, Frame) and end.planar for end in (P, Q)]
    P, Q = _point(P, f"an end of {what}"), _point(Q, f"an end of {what}")
    # A frame in the plane is at home in space, too.
    P, Q = (
        (*end, sp.S.Zero) if level and len(end) < len(other) else end
        for end, other, level in ((P, Q, flat[0]), (Q, P, flat[1]))
    )
    if len(P) != len(Q):
        raise StatementError(
            f"the two ends of {what} must live in one space.",
            f"Found {len(P)} and {len(Q)} entries.",
            "Give both as (X, Y), or both as (X, Y, Z).",
        )
    return P, Q


def _distance(P: Vector, Q: Vector) -> sp.Expr:
    return norm([q - p for p, q in zip(P, Q)])


def _speed_squared(place: Vector) -> sp.Expr:
    return sp.Add(*(sp.S(rate(x)) ** 2 for x in place))
