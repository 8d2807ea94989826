"""How far loads can grow: the strength of what friction holds, and the forces that it can give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stationary.derive.graph import Graph
from stationary.errors import StatementError, say
from stationary.model.layout import Layout
from stationary.model.system import System
from stationary.result.multipliers import Multipliers
from stationary.result.status import Status
from stationary.result.views import AbstractShown, show


class Velocities(np.ndarray):
    """Velocities as an array that also takes coordinates, velocities and names as keys."""

    layout: Layout

    @classmethod
    def of(cls, values: Any, layout: Layout) -> Velocities:
        """Wrap an array over the coordinates."""
        made = np.asarray(values, dtype=float).view(cls)
        made.layout = layout
        return made

    def __array_finalize__(self, other):
        self.layout = getattr(other, "layout", None)  # pyright: ignore[reportAttributeAccessIssue]

    def __getitem__(self, key: Any) -> Any:
        plain = np.asarray(self)
        if isinstance(key, (int, slice, np.ndarray, tuple, list, np.integer)) or key is None:
            return plain[key]
        places, _ = self.layout.resolve(key, "the key")
        value = plain[places]
        return float(value) if np.ndim(value) == 0 else value


@dataclass(frozen=True, eq=False, repr=False)
class LimitLoad(AbstractShown):
    """How far a load can grow before anything slides, and how it fails.

    Attributes
    ----------
    factor : float
        What the load can be multiplied by; infinite if friction holds any.
    static, kinematic : float
        The two bounds of limit analysis: from forces that balance within their limits, and from
        the power that the mode takes. They bracket the factor, and here agree.
    mode : Velocities
        The velocities of the collapse, for a power of one of the load. Where friction follows
        pressure, by Coulomb's law: what slips does not lift, unless the status says so.
    forces : dict
        Friction forces at collapse, by name.
    lam : Multipliers
        Forces of constraints and contacts at collapse, by name.
    safe : float
        Nothing slides below this factor, however it was loaded. Without friction that follows
        pressure this is the factor itself; with it, the least at which Coulomb's law allows a
        motion, or nan where contacts are too many to tell.
    status : Status

    Examples
    --------
    >>> x, F = st.coordinates("x"), st.inputs("F")
    >>> block = st.System(loads=[st.Load(F, on=x)], friction=[st.Friction(3.0, on=x, name="floor")])
    >>> found = st.limit_load(block, load=F)
    >>> round(found.factor, 8), round(found.mode[x], 8), round(found.forces["floor"], 8)
    (3.0, 1.0, -3.0)
    """

    system: System
    graph: Graph
    factor: float
    static: float
    kinematic: float
    mode: Velocities
    forces: dict[str, Any]
    lam: Multipliers
    safe: float
    status: Status

    @property
    def exact(self) -> bool:
        """Whether nothing below the factor slides, as nothing above it holds."""
        return bool(self.safe >= self.factor * (1 - 1e-6 * np.sign(self.factor)))

    def plot(self):
        """Draw the mode in which it fails: the velocities by name, the largest as one.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return show("limit load", "plot")(self)

    def __repr__(self) -> str:
        layout = self.graph.layout
        order = np.argsort(-np.abs(np.asarray(self.mode)))[:6]
        rates = np.asarray(self.mode)
        least = 1e-9 * np.abs(rates).max(initial=0.0)
        mode = ", ".join(
            f"{layout.name(int(i))}.dot {rates[i]:+.3g}" for i in order if abs(rates[i]) > least
        )
        return (
            f"Limit load of {self.system.name or 'a system'}: factor {self.factor:.8g}\n"
            f"  status       {self.status}: {self.status.message}\n"
            f"  bounds       static {self.static:.10g}, kinematic {self.kinematic:.10g}; "
            f"safe {'not known' if np.isnan(self.safe) else f'{self.safe:.10g}'}\n"
            f"  mode         {mode or 'none'}"
        )


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
        try:
            given = np.asarray(twist, dtype=float)
        except (TypeError, ValueError):
            given = np.zeros(0)
        if given.shape[-1:] != (3,) or not np.all(np.isfinite(given)):
            raise StatementError(
                say(
                    "a twist is two velocities and a rate of turning.",
                    f"Found {str(twist)[:60]}.",
                    "Give (vx, vy, omega), or an array of such rows.",
                )
            )
        return wrench(self.points, self.weights, given)

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


def wrench(points: np.ndarray, weights: np.ndarray, twist: np.ndarray) -> np.ndarray:
    """Return what friction at points resists a twist with; a point at rest resists with nothing."""
    flat = twist.reshape(-1, 3)
    # So many twists at a time that tables of twists and points stay small.
    some = max(1, 200_000 // len(points))
    made = [_wrench(points, weights, flat[i : i + some]) for i in range(0, len(flat), some)]
    return np.concatenate(made).reshape(twist.shape) if made else np.zeros(twist.shape)


def _wrench(points: np.ndarray, weights: np.ndarray, twist: np.ndarray) -> np.ndarray:
    vx = twist[:, :1] - twist[:, 2:] * points[:, 1]
    vy = twist[:, 1:2] + twist[:, 2:] * points[:, 0]
    speed = np.hypot(vx, vy)
    share = np.divide(weights, speed, out=np.zeros_like(speed), where=speed > 0)
    vx *= share
    vy *= share
    return np.stack([vx.sum(1), vy.sum(1), vy @ points[:, 0] - vx @ points[:, 1]], axis=1)
