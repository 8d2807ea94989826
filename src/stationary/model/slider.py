"""A rigid part on a rough table, and what pushes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from scipy.optimize import nnls

from stationary.errors import StatementError, spelled
from stationary.model.arrays import coordinates
from stationary.model.drawing import Part, Support
from stationary.model.each import each
from stationary.model.numbers import finite, number_of, numbers_of
from stationary.model.polygon import area, corners_of, polygon, triangles
from stationary.model.symbols import Coordinate
from stationary.model.system import System
from stationary.model.terms import Contact, Friction, expression, vector

# By how much of its length a point may be past the end of an edge and still touch it.
_END = 1e-6
# A part that goes less than this share of its depth beyond an edge is behind it.
_BEYOND = 0.05


@spelled
@dataclass(frozen=True)
class Pusher:
    """What pushes a slider: a moving point against an edge, or a moving fence against a corner.

    Parameters
    ----------
    point : tuple of expressions
        Where the pusher is: expressions of time (and coordinates), in the table's frame.
    edge : pair of points, optional
        Two points of the part, in its own frame, with its material to the left of the way from
        the first to the second: the edge that the point touches.
    corner : point, optional
        A point of the part, in its own frame, that a fence through `point` touches.
    normal : tuple of expressions, optional
        Direction in which the fence pushes, in the table's frame.
    friction : expression
        Coefficient at the contact. A point that slides forward goes from the first point of the
        edge to the second; a corner that does goes to the left of the normal.
    name : str

    Examples
    --------
    >>> finger = st.Pusher(point=(0.1, st.t - 0.5), edge=((-1, -0.5), (1, -0.5)), friction=0.3)
    >>> card = st.slider(points=[(-1, 0), (1, 0)], weights=[1, 1], pusher=finger)
    >>> st.minimum_power(card).modes
    {'pusher': 'sticks'}
    """

    point: Any
    edge: Any = None
    corner: Any = None
    normal: Any = None
    friction: Any = 0
    name: str = "pusher"

    def contact(self, x: sp.Expr, y: sp.Expr, phi: sp.Expr) -> Contact:
        """Return the contact with a part at (x, y) turned by phi."""
        X, Y = _plane(self.point, "the point of a pusher", "point=(0.1, st.t)")
        c, s = sp.cos(phi), sp.sin(phi)
        if (self.edge is None) == (self.corner is None):
            raise StatementError(
                "a pusher touches either an edge or a corner of the part.",
                f"Found {'both' if self.edge is not None else 'neither'}.",
                "Give edge=(P, Q) for a point pusher, or corner=P and normal=… for a fence.",
            )
        if self.edge is not None:
            P, Q = _ends(self.edge)
            long = np.linalg.norm(Q - P)
            if not long > 0:
                raise StatementError(
                    "the edge of a pusher has no length.",
                    f"Found twice the point ({P[0]:g}, {P[1]:g}).",
                    "Give two points of the part's outline.",
                )
            # Along an axis of the part, factors of one and zero have no place in what is read.
            along = [sp.Integer(a) if a == round(a) else sp.Float(a) for a in (Q - P) / long]
            # The pusher in the part's own frame, seen from the edge.
            ahead = c * (X - x) + s * (Y - y) - P[0], -s * (X - x) + c * (Y - y) - P[1]
            slip = along[0] * ahead[0] + along[1] * ahead[1]
            # Past either end there is no edge to touch; at the very end there still is.
            past = (slip - long * (1 + _END), -slip - long * _END)
            gap = sp.Max(along[1] * ahead[0] - along[0] * ahead[1], *past, evaluate=False)
        else:
            way = self.normal
            if way is not None:
                way = _plane(way, "the normal of a fence", "normal=(0, 1)")
            if way is None or all(n.is_zero for n in way):
                given = "a corner without normal=" if way is None else "a normal of zero"
                raise StatementError(
                    "a fence has no direction.",
                    f"Found {given}.",
                    "Give the direction in which the fence pushes, as in normal=(0, 1).",
                )
            a, b = _numbers(self.corner, (2,), "the corner of a pusher", "corner=(1, 0.5)")
            nx, ny = way
            size = sp.sqrt(nx**2 + ny**2)
            place = x + c * a - s * b - X, y + s * a + c * b - Y
            gap = (nx * place[0] + ny * place[1]) / size
            slip = (-ny * place[0] + nx * place[1]) / size
        mu = expression(self.friction, "the friction of a pusher")
        return Contact(gap, friction=mu, slip=None if mu.is_zero else slip, name=self.name)


@spelled
def slider(
    *,
    points: Any = None,
    weights: Any = None,
    outline: Any = None,
    radius: float | None = None,
    limit: Any = None,
    pressure: Callable[[np.ndarray, np.ndarray], Any] | None = None,
    weight: Any = None,
    centre: Any = None,
    count: int = 1000,
    pusher: Pusher | None = None,
    at: tuple[Coordinate, Coordinate, Coordinate] | None = None,
    name: str = "slider",
) -> System:
    """State a rigid part on a rough table.

    Its support is given by points and their weights, or spread over an outline. A point's weight
    is its friction limit: coefficient times normal force.

    Parameters
    ----------
    points : array, shape (count, 2)
        Support points in the part's own frame.
    weights : array, number or expression
        Friction limit of each point: numbers, or expressions of parameters.
    outline : array, shape (corners, 2)
        A simple polygon, in the part's own frame, that rests on the table.
    radius : float
        A disc instead of a polygon.
    limit : number or expression
        Friction limit of the whole outline or disc; 1 if left out.
    pressure : callable, optional
        Pressure over x and y, up to a factor; even if left out.
    weight : float
        Leaves the pressure open: the friction limit of the whole part, however it rests within
        its outline or on its points. Such a part answers `pressure_bounds` and `fit_pressure`.
    centre : tuple of two numbers, optional
        Where the open pressure has its resultant: below the centre of mass. In the part's own
        frame.
    count : int
        About how many points an outline or a disc is sampled by.
    pusher : Pusher, optional
        What pushes it; constraints and contacts can also be added as systems.
    at : tuple of three coordinates, optional
        Position and angle of the part's origin; ``x, y, phi`` if left out.
    name : str
        Name of the friction term.

    Returns
    -------
    System
        With coordinates x, y and phi; its inertia is left out.

    Examples
    --------
    A rod pushed at its end turns about a point at 1/√2 of its length from there:

    >>> rod = st.slider(points=[(i / 1000 - 0.4995, 0) for i in range(1000)], weights=1e-3)
    >>> x, y, phi = rod.coordinates
    >>> end = (x + st.cos(phi) / 2, y + st.sin(phi) / 2)
    >>> pushed = rod + st.System(constraints=[end[0] - 0.5, end[1] - st.t])
    >>> step = st.minimum_power(pushed)
    >>> round(1 / step[phi.dot], 2), round(step.power, 3)
    (0.71, 0.414)
    """
    given = [k for k, v in {"points": points, "outline": outline, "radius": radius}.items()
             if v is not None]  # fmt: skip
    if len(given) != 1:
        raise StatementError(
            "a slider rests on points, on an outline or on a disc.",
            f"Found {' and '.join(given) or 'none of them'}.",
            "Give exactly one of points=, outline= and radius=.",
        )
    if weight is not None or centre is not None:
        known = {"weights": weights, "limit": limit, "pressure": pressure}
        return _open(support_of(points, outline, radius, weight, centre, known), pusher, at, name)
    rests = "points" if points is not None else "an area"
    unused = {"limit": limit, "pressure": pressure} if points is not None else {"weights": weights}
    for word, value in unused.items():
        if value is not None:
            raise StatementError(
                f"{word}= does not belong to a slider on {rests}.",
                f"Found {word}={str(value)[:40]}.",
                "Points have weights=, an outline or a disc has limit= and pressure=.",
            )
    if pusher is not None and not isinstance(pusher, Pusher):
        raise _no_pusher(pusher)
    if points is not None:
        P, w, units = _points(points, weights)
        border = None
    else:
        P, w = _spread(outline, radius, count)
        if pressure is not None:
            w = w * _pressures(pressure, P)
        total = _total(limit)
        _require_weights(w)
        if isinstance(total, float):
            w, units = w * (total / w.sum()), (sp.S.One,)
        else:
            w, units = w / w.sum(), (total,)
        border = _border(outline, radius)
    x, y, phi = coordinates("x y phi") if at is None else _place(at)
    c, s = sp.cos(phi), sp.sin(phi)
    support = each(
        lambda p, size: Friction(
            sp.Add(*(a * unit for a, unit in zip(np.ravel(size), units))),
            on=(x + c * p[0] - s * p[1], y + s * p[0] + c * p[1]),
        ),
        P, w, name=name,
    )  # fmt: skip
    contacts = [] if pusher is None else [pusher.contact(x, y, phi)]
    if pusher is not None:
        _require_side(pusher, P, None if outline is None else border)
    shown = P if border is None else border
    if len(shown) > 64:
        shown = shown[:: len(shown) // 64 + 1]
    drawn = tuple((x + c * a - s * b, y + s * a + c * b) for a, b in shown)
    part = Part("outline" if border is not None else "points", drawn, phi, name)
    seen = (part,)
    if pusher is not None:
        where = _plane(pusher.point, "the point of a pusher", "point=(0.1, st.t)")
        seen = (part, Part("particle", (where,), None, pusher.name))
    return System(
        friction=[support], contacts=contacts, coordinates=(x, y, phi), name=name, parts=seen
    )


def _open(support: Support, pusher: Pusher | None, at: Any, name: str) -> System:
    """State a part whose pressure is left open: what pushes it, and where it may rest."""
    x, y, phi = coordinates("x y phi") if at is None else _place(at)
    c, s = sp.cos(phi), sp.sin(phi)
    shown = np.array(support.points) if support.points else _border(None, support.radius)
    drawn = tuple((x + c * a - s * b, y + s * a + c * b) for a, b in shown[:: len(shown) // 64 + 1])
    kind = "points" if support.kind == "points" else "outline"
    seen: tuple[Part, ...] = (Part(kind, drawn, phi, name, support=support),)
    contacts = []
    if pusher is not None:
        if not isinstance(pusher, Pusher):
            raise _no_pusher(pusher)
        contacts = [pusher.contact(x, y, phi)]
        _require_side(pusher, shown, shown if support.kind == "outline" else None)
        where = _plane(pusher.point, "the point of a pusher", "point=(0.1, st.t)")
        seen = (*seen, Part("particle", (where,), None, pusher.name))
    return System(contacts=contacts, coordinates=(x, y, phi), name=name, parts=seen)


def support_of(
    points: Any, outline: Any, radius: Any, weight: Any, centre: Any, known: dict
) -> Support:
    """Take where a part may rest when its pressure is left open."""
    for word, value in known.items():
        if value is not None:
            raise StatementError(
                f"{word}= does not belong to a slider whose pressure is left open.",
                f"Found weight= or centre= and {word}={str(value)[:40]}.",
                "Leave out weight= and centre=, or state nothing else about the pressure.",
            )
    total = number_of(1.0 if weight is None else weight)
    if not 0 < total < np.inf:
        raise StatementError(
            "the weight of a slider is not positive.",
            f"Found weight={str(weight)[:40]}.",
            "Give its friction limit as a number: coefficient times normal force.",
        )
    if radius is not None:
        _require_radius(radius)
        kind, corners = "disc", np.zeros((0, 2))
    elif points is not None:
        corners, _, _ = _points(points, 1.0)
        kind = "points"
    else:
        kind, corners = "outline", polygon(outline)
    middle = None
    if centre is not None:
        middle = _numbers(centre, (2,), "the centre of a slider", "centre=(0, 0)")
        _require_inside(kind, corners, radius, middle)
    return Support(
        kind, tuple((float(a), float(b)) for a, b in corners), float(radius or 0.0), total,
        None if middle is None else (float(middle[0]), float(middle[1])),
    )  # fmt: skip


def _require_inside(kind: str, corners: np.ndarray, radius: Any, centre: np.ndarray) -> None:
    """Refuse a centre that no pressure can have: it would need the table to pull."""
    if kind == "disc":
        off = float(np.hypot(*centre)) - float(radius)
        size = float(radius)
    else:
        size = float(np.ptp(corners, axis=0).max()) or 1.0
        # The nearest mixture of corners: the convex hull is all that the table can do.
        A = np.vstack([((corners - centre) / size).T, 1e3 * np.ones(len(corners))])
        _, off = nnls(A, np.array([0.0, 0.0, 1e3]))
        off *= size
    if off > 1e-9 * size:
        what = {"disc": "disc", "points": "points", "outline": "outline"}[kind]
        raise StatementError(
            f"the centre of a slider is outside its {what}.",
            f"Found ({centre[0]:g}, {centre[1]:g}), {off:.3g} away: no pressure has its "
            "resultant there, the part would tip over.",
            f"Give the point below its centre of mass, within the {what}, in the part's own frame.",
        )


def _no_pusher(pusher: Any) -> StatementError:
    return StatementError(
        "the pusher of a slider is not one.",
        f"Found {type(pusher).__name__}: {str(pusher)[:60]}.",
        "Pass st.Pusher(point=…, edge=…), or add constraints and contacts as a system.",
    )


def _plane(value: Any, what: str, example: str) -> tuple[sp.Expr, sp.Expr]:
    """Take two expressions: a place or a direction in the plane of the table."""
    entries = vector(value, what)
    if len(entries) != 2:
        raise StatementError(
            f"{what} is not in the plane of the table.",
            f"Found {len(entries)} expression{'s' * (len(entries) != 1)}, expected two.",
            f"Give x and y, as in {example}.",
        )
    return entries[0], entries[1]


def _numbers(value: Any, shape: tuple[int, ...], what: str, example: str) -> np.ndarray:
    """Take numbers in the frame of the part."""
    advice = f"Give places on the part, in its own frame, as in {example}."
    return finite(value, shape, f"{what} is not given by numbers.", advice)


def _ends(edge: Any) -> np.ndarray:
    return _numbers(edge, (2, 2), "the edge of a pusher", "edge=((-1, 0), (1, 0))")


def _place(at: Any) -> tuple[Coordinate, Coordinate, Coordinate]:
    """Take the coordinates of a part."""
    try:
        coordinates = tuple(at)
    except TypeError:
        coordinates = ()
    if len(coordinates) != 3 or not all(isinstance(q, Coordinate) for q in coordinates):
        raise StatementError(
            "a slider is placed by three coordinates.",
            f"Found at={str(at)[:60]}.",
            'Give position and angle, as in at=st.coordinates("x y phi").',
        )
    return coordinates


def _pressures(pressure: Any, P: np.ndarray) -> np.ndarray:
    """Evaluate a pressure at every point."""
    values = pressure
    if callable(pressure):
        values = pressure(P[:, 0], P[:, 1])
        try:
            return np.broadcast_to(np.asarray(values, dtype=float), len(P))
        except (TypeError, ValueError):
            pass
    raise StatementError(
        "the pressure of a slider is not a function of x and y.",
        f"Found {str(values)[:40]}{'' if values is pressure else ' as its values'}.",
        "Give a function of arrays that returns one of numbers, as in pressure=lambda x, y: 1 + x.",
    )


def _require_side(pusher: Pusher, support: np.ndarray, outline: np.ndarray | None = None) -> None:
    """Refuse an edge that has the part on its other side: it would be pulled, not pushed.

    An edge of an outline has the part where the outline has it, also in a notch. Of other edges it
    is known only that some of the support is beyond them.
    """
    if pusher.edge is None:
        return
    P, Q = _ends(pusher.edge)
    along = (Q - P) / np.linalg.norm(Q - P)
    ways = set() if outline is None else _ways_along(P, Q, outline)
    arms = support - P
    side = along[0] * arms[:, 1] - along[1] * arms[:, 0]
    behind = side.min() < -1e-9 * np.abs(arms).max() and side.max() <= -_BEYOND * side.min()
    if ways == {-1} or (behind and 1 not in ways):
        raise StatementError(
            "the edge of a pusher has the part on its wrong side.",
            f"Found the part to the right of the way from ({P[0]:g}, {P[1]:g})"
            f" to ({Q[0]:g}, {Q[1]:g}).",
            "Give the two points in the other order.",
        )


def _ways_along(P: np.ndarray, Q: np.ndarray, outline: np.ndarray) -> set[int]:
    """Return which ways the edges of an outline go that share a stretch with another edge.

    One is with it, so that the part is to its left, minus one against it.
    """
    ring = outline if area(outline) > 0 else outline[::-1]
    long = float(np.linalg.norm(Q - P))
    along = (Q - P) / long
    first, last = ring - P, np.roll(ring, -1, axis=0) - P
    off = np.abs([along[0] * x[:, 1] - along[1] * x[:, 0] for x in (first, last)]).max(axis=0)
    near = 1e-9 * max(long, float(np.abs(first).max()))
    a, b = first @ along, last @ along
    shared = np.minimum(np.maximum(a, b), long) - np.maximum(np.minimum(a, b), 0.0)
    on = (off <= near) & (shared > near)
    return {int(k) for k in np.sign(b - a)[on]}


def _points(points: Any, weights: Any) -> tuple[np.ndarray, np.ndarray, tuple[sp.Expr, ...]]:
    """Return points, how many of each unit they weigh, and the units: 1 or symbols."""
    P = numbers_of(points)
    if P.ndim != 2 or P.shape[1] != 2 or not len(P) or not np.all(np.isfinite(P)):
        raise StatementError(
            "the support points of a slider are not a table of x and y.",
            f"Found {str(points)[:60]}.",
            "Give one (x, y) for each point.",
        )
    if weights is None:
        raise StatementError(
            "the support points of a slider have no weights.",
            "Expected the friction limit of each: coefficient times normal force.",
            "Pass weights=.",
        )
    each_one = np.asarray(weights, dtype=object)
    if each_one.shape not in ((), (1,), (len(P),)):
        raise StatementError(
            "points and weights of a slider do not fit.",
            f"Found {len(P)} points and {np.size(weights)} weights.",
            "Give one weight for each point, or one for all.",
        )
    each_one = np.broadcast_to(each_one, (len(P),))
    if not any(isinstance(weight, (sp.Expr, str)) for weight in each_one):
        w = np.array(each_one, dtype=float)
        _require_weights(w)
        return P, w, (sp.S.One,)
    # A number in front belongs to the table: points share the rest of their expressions.
    units: dict[sp.Expr, np.ndarray] = {}
    for i, weight in enumerate(each_one):
        weighed = expression(weight, "a weight of a slider")
        number, unit = (weighed, sp.S.One) if weighed.is_zero else weighed.as_coeff_Mul()
        units.setdefault(unit, np.zeros(len(P)))[i] = float(number)
    _require_weights(units.get(sp.S.One, np.ones(1)), positive=len(units) == 1)
    table = np.stack(list(units.values()), axis=1)
    return P, table[:, 0] if len(units) == 1 else table, tuple(units)


def _total(limit: Any) -> float | sp.Expr:
    """Return a friction limit as a number or an expression of parameters."""
    if isinstance(limit, sp.Expr) and limit.free_symbols:
        return expression(limit, "the friction limit of a slider")
    total = 1.0 if limit is None else number_of(limit)
    if not 0 < total < np.inf:
        raise StatementError(
            "the friction limit of a slider is not positive.",
            f"Found limit={limit}.",
            "Give coefficient times normal force, as a number or an expression of parameters.",
        )
    return total


def _require_weights(w: np.ndarray, positive: bool = True) -> None:
    if not np.all(np.isfinite(w)) or w.min() < 0 or positive and w.max() <= 0:
        raise StatementError(
            "the weights of a slider's support are not all zero or more.",
            f"Found values from {w.min():.4g} to {w.max():.4g}.",
            "A table pushes, it does not pull: give friction limits, some of them positive.",
        )


def _border(outline: Any, radius: float | None) -> np.ndarray:
    if radius is None:
        return corners_of(outline)
    angle = np.linspace(0, 2 * np.pi, 49)[:-1]
    return float(radius) * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _require_radius(radius: Any) -> None:
    if not 0 < number_of(radius) < np.inf:
        raise StatementError(
            "the radius of a slider is not positive.",
            f"Found {radius}.",
            "Give the radius of the disc that rests on the table.",
        )


# As many points stand for an area at most: they answer in seconds, and files have the same limit.
_MOST_POINTS = 100_000


def _spread(outline: Any, radius: float | None, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Sample an area evenly: points and the area that each stands for."""
    if not 1 <= number_of(count) <= _MOST_POINTS:
        raise StatementError(
            "count is not a number of support points.",
            f"Found {str(count)[:60]}, expected 1 to {_MOST_POINTS}.",
            "Give how many points shall stand for the area, as in count=1000.",
        )
    if radius is not None:
        _require_radius(radius)
        return _disc(float(radius), int(count))
    corners = polygon(outline)
    cut = triangles(corners)
    areas = np.array([abs(area(t)) for t in cut])
    P, w, count = [], [], int(count)
    for corner, size in zip(cut, areas):
        # Each triangle is cut into k² alike, of the same area all over the polygon.
        k = max(1, round(np.sqrt(count * size / areas.sum())))
        centres = [
            ((3 * i + 1 + up) / (3 * k), (3 * j + 1 + up) / (3 * k))
            for up in (0, 1) for i in range(k) for j in range(k - i - up)
        ]  # fmt: skip
        ab = np.array(centres)
        P.append(
            corner[0] + ab[:, :1] * (corner[1] - corner[0]) + ab[:, 1:] * (corner[2] - corner[0])
        )
        w.append(np.full(len(ab), size / len(ab)))
    return np.concatenate(P), np.concatenate(w)


def _disc(radius: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Rings of equal width, each with points in proportion to its length.

    Points lie at the mean radius of their ring: the moment of a rotation about the middle is exact.
    """
    rings = max(1, round(np.sqrt(count / np.pi)))
    P, w = [], []
    for k in range(rings):
        inner, outer = radius * k / rings, radius * (k + 1) / rings
        number = max(3, round(2 * np.pi * (k + 0.5)))
        angle = 2 * np.pi * (np.arange(number) + 0.5 * (k % 2)) / number
        middle = 2 / 3 * (outer**3 - inner**3) / (outer**2 - inner**2)
        P.append(np.stack([middle * np.cos(angle), middle * np.sin(angle)], axis=1))
        w.append(np.full(number, np.pi * (outer**2 - inner**2) / number))
    return np.concatenate(P), np.concatenate(w)
