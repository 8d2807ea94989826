"""How far loads can grow: the strength of what friction holds, and the forces that it can give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stationary.derive.graph import Graph
from stationary.errors import StatementError, say, spelled
from stationary.model.layout import Layout
from stationary.model.numbers import as_real, finite, numbers_of
from stationary.model.system import System
from stationary.result.least_power import motions
from stationary.result.line_contact import edges, keeps, motion_cone
from stationary.result.multipliers import Multipliers
from stationary.result.quadrics import FittedSurface, fit_limit_surface
from stationary.result.status import Status
from stationary.result.views import AbstractShown, AbstractTravels, show


class Velocities(np.ndarray):
    """Velocities as an array that also takes coordinates, velocities and names as keys."""

    layout: Layout

    @classmethod
    def of(cls, values: Any, layout: Layout) -> Velocities:
        """Wrap an array over the coordinates."""
        velocities = np.asarray(values, dtype=float).view(cls)
        velocities.layout = layout
        return velocities

    def __reduce__(self) -> tuple:
        return Velocities.of, (np.asarray(self), self.layout)

    def __array_finalize__(self, other):
        self.layout = getattr(other, "layout", None)  # pyright: ignore[reportAttributeAccessIssue]

    def __getitem__(self, key: Any) -> Any:
        plain = np.asarray(self)
        if isinstance(key, (int, slice, np.ndarray, tuple, list, np.integer)) or key is None:
            return plain[key]
        places, _ = self.layout.resolve(key, "the key")
        value = plain[places]
        return float(value) if np.ndim(value) == 0 else value


@dataclass(frozen=True, eq=False)
class LimitEnd(AbstractTravels):
    """One end of the load factors at which a system rests.

    Attributes
    ----------
    factor : float
        The last factor at which it rests; infinite where friction holds any.
    static, kinematic : float
        The two bounds of limit analysis: from forces that balance within their limits, and from
        the power that the mode takes. They bracket the factor, and here agree.
    mode : Velocities
        The velocities of the collapse, for a power of one of what the load changes by beyond the
        end (where it has none, up to one). Where friction follows pressure, by Coulomb's law: what
        slips does not lift, unless the theorem says so.
    forces : dict
        Friction forces at collapse, by name.
    lam : Multipliers
        Forces of constraints and contacts at collapse, by name.
    safe : float
        From here inwards Coulomb's law allows no motion; nan where contacts are too many to tell,
        or where it allows one at every factor. Without friction that follows pressure this is the
        factor itself.
    theorem : str
        What the end rests on.
    """

    factor: float
    static: float
    kinematic: float
    mode: Velocities
    forces: dict[str, Any]
    lam: Multipliers
    safe: float
    theorem: str

    @property
    def exact(self) -> bool:
        """Whether what is next to the factor on its inner side is safe."""
        if np.isinf(self.factor):
            return self.safe == self.factor
        return bool(abs(self.safe - self.factor) <= 1e-6 * abs(self.factor))


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class LimitLoad(AbstractShown):
    """The load factors at which a system rests, and how it fails at both ends.

    ``factor``, ``static``, ``kinematic``, ``mode``, ``forces``, ``lam`` and ``safe`` are those of
    the upper end.

    Attributes
    ----------
    low, high : LimitEnd
        Both ends, each with its bounds, its mode, its forces and its theorem.
    interval : tuple of float
        Their factors: nothing rests below the first or above the second.
    safe_interval : tuple of float
        Between these Coulomb's law allows no motion, however it was loaded; (nan, nan) where
        contacts are too many to tell, or where it allows one everywhere.
    exact : bool
        Whether both are the same: inside it rests, outside it does not.
    status : Status
        "collapses", or "unlimited" where no upper end exists.

    Examples
    --------
    >>> x, F = st.coordinates("x"), st.inputs("F")
    >>> block = st.System(
    ...     work=x, loads=[st.Load(F, on=x)], friction=[st.Friction(3.0, on=x, name="floor")]
    ... )
    >>> found = st.limit_load(block, load=F)
    >>> low, high = found.interval
    >>> round(low, 8), round(high, 8), round(found.mode[x], 8), round(found.forces["floor"], 8)
    (-4.0, 2.0, 1.0, -3.0)
    """

    system: System
    graph: Graph
    low: LimitEnd
    high: LimitEnd
    status: Status

    @property
    def interval(self) -> tuple[float, float]:
        """The factors between which it rests."""
        return self.low.factor, self.high.factor

    @property
    def safe_interval(self) -> tuple[float, float]:
        """The factors between which Coulomb's law allows no motion."""
        return self.low.safe, self.high.safe

    @property
    def exact(self) -> bool:
        """Whether nothing slides inside the interval, as nothing holds outside."""
        return self.low.exact and self.high.exact

    @property
    def factor(self) -> float:
        """What the load can be multiplied by at most; infinite if friction holds any."""
        return self.high.factor

    @property
    def static(self) -> float:
        """The factor by forces that balance within their limits."""
        return self.high.static

    @property
    def kinematic(self) -> float:
        """The factor by the power that the mode takes."""
        return self.high.kinematic

    @property
    def mode(self) -> Velocities:
        """The velocities of the collapse, for a power of one of the load."""
        return self.high.mode

    @property
    def forces(self) -> dict[str, Any]:
        """Friction forces at collapse, by name."""
        return self.high.forces

    @property
    def lam(self) -> Multipliers:
        """Forces of constraints and contacts at collapse, by name."""
        return self.high.lam

    @property
    def safe(self) -> float:
        """Up to here, from the lower safe factor on, Coulomb's law allows no motion."""
        return self.high.safe

    def plot(self):
        """Draw the mode in which it fails: the velocities by name, the largest as one.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return show("limit load", "plot")(self)

    def __repr__(self) -> str:
        known = not np.any(np.isnan(self.safe_interval))
        safe = "{:.10g} … {:.10g}".format(*self.safe_interval) if known else "not known"
        lines = [
            f"Limit load of {self.system.name or 'a system'}: factor {self.factor:.8g}",
            f"  status       {self.status}: {self.status.message}",
            "  rests        {:.8g} … {:.8g}; safe {}".format(*self.interval, safe),
        ]
        for name, end in (("upper end", self.high), ("lower end", self.low)):
            if np.isfinite(end.factor):
                bounds = f"static {end.static:.10g}, kinematic {end.kinematic:.10g}"
                lines.append(f"  {name}    {bounds}; mode {self._mode(end) or 'none'}")
        return "\n".join(lines)

    def _mode(self, end: LimitEnd) -> str:
        rates = np.asarray(end.mode)
        order = np.argsort(-np.abs(rates))[:6]
        name = self.graph.layout.name
        return ", ".join(f"{name(int(i))}.dot {rates[i]:+.3g}" for i in order if rates[i])


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class LimitSurface(AbstractShown):
    """The forces and moments that friction can take up while a part slides.

    Attributes
    ----------
    twists : ndarray, shape (count, 3)
        Velocities (ẋ, ẏ, φ̇) of the part's origin.
    wrenches : ndarray, shape (count, 3)
        What must push it so: two forces and a moment about the origin.

    Examples
    --------
    >>> ring = st.slider(points=[(1, 0), (0, 1), (-1, 0), (0, -1)], weights=0.25)
    >>> st.limit_surface(ring).wrench((1, 0, 0)) + 0.0
    array([1., 0., 0.])
    """

    system: System
    twists: np.ndarray
    wrenches: np.ndarray
    weights: np.ndarray
    points: np.ndarray

    def wrench(self, twist: Any) -> np.ndarray:
        """Return force and moment for one twist, or for many (…, 3)."""
        given = numbers_of(twist)
        if given.shape[-1:] != (3,) or not np.all(np.isfinite(given)):
            raise StatementError(
                "a twist is two velocities and a rate of turning.",
                f"Found {str(twist)[:60]}.",
                "Give (vx, vy, omega), or an array of such rows.",
            )
        return wrench(self.points, self.weights, given)

    def support(self, twist: Any) -> Any:
        """Return the power that friction takes at a twist: how far the surface reaches along it."""
        given = as_real(twist)
        return (self.wrench(given) * given).sum(axis=-1)

    def twist(self, wrench: Any) -> np.ndarray:
        """Return the twist with which a part slides under a wrench, for a power of one.

        The motion of least power among those on which the wrench does work of one.
        """
        force = _wrench_of(wrench)
        base, free, size = self._against(force)
        z, _ = motions(self.points / size, self.weights, base[None], free[None])
        return (base + free @ z[0]) / np.array([1, 1, size])

    def factor(self, wrench: Any) -> float:
        """Return by how much a wrench can be multiplied until the part slides."""
        return float(self.support(self.twist(wrench)))

    def holds(self, wrench: Any) -> bool:
        """Tell whether friction takes a wrench up: whether it is inside the surface."""
        return not np.any(_wrench_of(wrench)) or self.factor(wrench) >= 1

    def motion_cone(self, point: Any, normal: Any, friction: float) -> np.ndarray:
        """Return the velocities of a contact at which its friction cone ends, one per row.

        A finger at `point`, in the part's own frame, sticks if its velocity is between the two.
        """
        return motion_cone(self.twist, point, normal, friction)

    def sticks(self, twist: Any, points: Any, normal: Any, friction: float) -> bool:
        """Tell whether a line contact that moves with a twist keeps the part: a stable push.

        The wrench of the twist is a sum of forces within the cones of friction at the contact's
        `points`, its ends (Lynch and Mason 1996).
        """
        return keeps(self.wrench(twist), self._size, points, normal, friction)

    def pushed(self, points: Any, normal: Any, friction: float) -> Pushed:
        """Return what a contact at points, one or both ends of a line, can do to the part."""
        ends = np.atleast_2d(np.asarray(points, dtype=float))
        cones = np.array([self.motion_cone(point, normal, friction) for point in ends])
        return Pushed(self, ends, np.asarray(normal, dtype=float), float(friction), cones)

    def fitted(self, kind: str = "ellipsoid") -> FittedSurface:
        """Return a smooth convex surface near this one: an "ellipsoid" or a "quartic"."""
        return fit_limit_surface(wrenches=self.wrenches, twists=self.twists, kind=kind)

    @property
    def _size(self) -> float:
        return float(np.hypot(*self.points.T).max()) or 1.0

    def _against(self, force: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        size = self._size
        row = force / np.array([1, 1, size])
        if not np.any(row):
            raise StatementError(
                say("a wrench of zero moves nothing.", "Found (0, 0, 0).",
                    "Give two forces and a moment.")
            )  # fmt: skip
        return row / (row @ row), np.linalg.svd(row[None])[2][1:].T, size

    def plot(self):
        """Draw the surface over the two forces and the moment.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return show("limit surface", "plot")(self)

    def __repr__(self) -> str:
        force, moment = np.abs(self.wrenches[:, :2]).max(), np.abs(self.wrenches[:, 2]).max()
        return (
            f"Limit surface of {self.system.name or 'a part'}: {len(self.twists)} twists, "
            f"forces up to {force:.5g}, moments up to {moment:.5g}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Pushed(AbstractShown):
    """A contact with a part on a table: where it sticks, and which motions keep the part.

    Attributes
    ----------
    points : ndarray, shape (1 or 2, 2)
        The contact, or both ends of a line.
    cones : ndarray, shape (points, 2, 2)
        Motion cones: velocities of each point between which it sticks, if it pushes alone.
    """

    surface: LimitSurface
    points: np.ndarray
    normal: np.ndarray
    friction: float
    cones: np.ndarray

    @property
    def friction_cone(self) -> np.ndarray:
        """The forces between which friction holds, one per row."""
        return edges(self.points[0], self.normal, self.friction)[:, :2]

    def keeps(self, twist: Any) -> bool:
        """Tell whether the part goes along with a contact that moves with a twist."""
        return self.surface.sticks(twist, self.points, self.normal, self.friction)

    def centres(self, count: int = 41) -> np.ndarray:
        """Return centres of rotation that keep the part: those of stable pushes, of a grid."""
        places = np.vstack([self.surface.points, self.points])
        middle, wide = places.mean(axis=0), 3 * np.ptp(places, axis=0).max()
        side = np.linspace(-wide, wide, count)
        centres = []
        for x, y in ((middle[0] + a, middle[1] + b) for a in side for b in side):
            if self.keeps((y, -x, 1.0)) or self.keeps((-y, x, -1.0)):
                centres.append((x, y))
        return np.array(centres).reshape(-1, 2)

    def plot(self):
        """Draw the cone of friction, the motion cones and the centres of stable pushes.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return show("pushed", "plot")(self)

    def __repr__(self) -> str:
        turns = [np.degrees(np.arctan2(*way[::-1])) for cone in self.cones for way in cone]
        ends = "; ".join(f"{a:.4g}° … {b:.4g}°" for a, b in zip(turns[::2], turns[1::2]))
        return f"Contact at {len(self.points)} points: sticks while it moves along {ends}"


def _wrench_of(wrench: Any) -> np.ndarray:
    advice = "Give (fx, fy, moment) about the part's origin."
    return finite(wrench, (3,), "a wrench is two forces and a moment.", advice)


def wrench(points: np.ndarray, weights: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Return what friction at points resists a twist with; a point at rest resists with nothing."""
    flat = twist.reshape(-1, 3)
    # So many twists at a time that tables of twists and points stay small.
    some = max(1, 200_000 // len(points))
    wrenches = [_wrench(points, weights, flat[i : i + some]) for i in range(0, len(flat), some)]
    return np.concatenate(wrenches).reshape(twist.shape) if wrenches else np.zeros(twist.shape)


def _wrench(points: np.ndarray, weights: np.ndarray, twist: np.ndarray) -> np.ndarray:
    vx = twist[:, :1] - twist[:, 2:] * points[:, 1]
    vy = twist[:, 1:2] + twist[:, 2:] * points[:, 0]
    speed = np.hypot(vx, vy)
    share = np.divide(weights, speed, out=np.zeros_like(speed), where=speed > 0)
    vx *= share
    vy *= share
    return np.stack([vx.sum(1), vy.sum(1), vy @ points[:, 0] - vx @ points[:, 1]], axis=1)
