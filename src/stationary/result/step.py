"""How it slides at one instant: velocities, forces, and the evidence that they belong together."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

from stationary.derive.graph import Graph
from stationary.errors import StatementError, spelled, unknown
from stationary.lower.expressions import at_state
from stationary.model.symbols import Acceleration, Coordinate, Velocity, from_dynamicsymbols
from stationary.model.system import System
from stationary.result.multipliers import Multipliers
from stationary.result.status import Status
from stationary.result.views import AbstractShown, same, show


class Forces(dict):
    """Forces by the names of friction terms; another name is refused with the known ones."""

    def __missing__(self, name: Any) -> Any:
        """Refuse a name that no friction term has."""
        raise StatementError(unknown("friction term", str(name), self))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and same(dict(self), dict(other))


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class Step(AbstractShown):
    """The velocity of a system without inertia, and the forces that go with it.

    ``step[x.dot]`` is a velocity, ``step[x]`` the coordinate there, ``step[expression]`` any
    expression of both.

    Attributes
    ----------
    system : System
    power : float
        What friction takes minus what the loads give; for `minimum_dissipation` the dissipation
        potential minus that.
    dissipated : float
        The rate at which friction takes energy.
    lam : Multipliers
        What each constraint and contact pushes with, by name: the forces along ∂R/∂q, ∂gap/∂q.
        Where contacts with friction leave several, the smallest; the status says so.
    forces : dict
        The force of each friction term on the system, by name: of its limit where it slides,
        within it where it sticks.
    limits : dict
        The limit of each dry friction, by name, as large as what presses a contact makes it; of
        drag nan.
    rests : dict
        Whether each dry friction is at rest, by name.
    modes : dict
        For every contact "open", "opens", "sticks", "slides forward" or "slides back" (its slip
        grows or falls; "slides" in a plane), or, without friction, "holds".
    unique : bool or None
        Whether no other velocity does as well. None where nobody knows: without an answer, and at
        contacts with friction that are many, slip in a plane, are pushed in several ways at once,
        or were started from a guess.
    free : ndarray
        Directions in which the velocity may change at no cost, one per row; this is the smallest.
    others : ndarray
        Other velocities that Coulomb's law allows at contacts with friction, one per row; of what
        rests, directions.
    margin : float
        For a system that sticks: how many times larger all loads may grow before it slips;
        nan where that was not asked, as by `newton` or beside a conveyor.
    gap : float
        Duality gap relative to the power at work: what the forces prove about the minimum.
    residual : dict
        Unbalanced force, violated rates, excess of friction; relative.
    status : Status
        "moves", "sticks", "accelerates" or "jammed".

    Examples
    --------
    >>> x, y = st.coordinates("x y")
    >>> sled = st.System(
    ...     friction=[st.Friction(2.0, on=(x, y), name="snow")], constraints=[x - 3 * st.t]
    ... )
    >>> step = st.minimum_power(sled, at={x: 0, y: 0})
    >>> step[x.dot], step.power, step.forces["snow"]
    (3.0, 6.0, array([-2.,  0.]))
    """

    system: System
    graph: Graph
    t: float
    q: np.ndarray
    v: np.ndarray
    params: np.ndarray
    u: np.ndarray
    power: float
    dissipated: float
    lam: Multipliers
    forces: dict[str, Any]
    limits: dict[str, Any]
    rests: dict[str, Any]
    modes: dict[str, Any]
    unique: bool | None
    free: np.ndarray
    margin: float
    gap: float
    residual: dict[str, float]
    status: Status
    method: str = ""
    others: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, sp.Expr) and key.has(Acceleration):
            raise _without_accelerations(key)
        if isinstance(key, sp.Expr) and not isinstance(key, (Coordinate, Velocity)):
            e = key if isinstance(key, sp.Symbol) else from_dynamicsymbols(key)
            return at_state(self.graph.layout, e, self.t, self.q, self.v, self.params)
        places, order = self.graph.layout.resolve(key, "the key")
        if order > 1:
            raise _without_accelerations(key)
        value = (self.q, self.v)[order][places]
        return float(value) if np.ndim(value) == 0 else value

    def centre(self, part: System) -> tuple[float, float]:
        """Return the centre of rotation of a rigid part: the point of its plane that is at rest.

        That of a translation is at infinity: (inf, inf).

        Parameters
        ----------
        part : System
            What `slider` returned: its first three coordinates are x, y and the angle.
        """
        placed = getattr(part, "coordinates", ())[:3]
        if len(placed) < 3:
            raise StatementError(
                "a centre of rotation belongs to a rigid part in a plane.",
                f"Found {type(part).__name__} with {len(placed)} coordinates.",
                "Pass what st.slider returned.",
            )
        x, y, phi = placed
        rate = self[phi.dot]
        vx, vy = self[x.dot], self[y.dot]
        # A turn that moves no point of the part by more than rounding is none.
        if rate == 0 or 0 < abs(rate) * _extent(part) <= 1e-12 * np.hypot(vx, vy):
            return (float("inf"), float("inf"))
        return self[x] - vy / rate, self[y] + vx / rate

    def plot(self):
        """Draw the force of every dry friction as a share of its limit: what sticks and slides.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return show("step", "plot")(self)

    def as_start(self) -> dict[str, float]:
        """Return coordinates and velocities by name, to be passed on as ``start=`` or ``at=``."""
        return self.graph.layout.named(self.q, self.v)

    def __repr__(self) -> str:
        layout = self.graph.layout
        names = [f"{layout.name(i)}.dot = {x:.6g}" for i, x in enumerate(self.v[:8])]
        more = " …" if len(self.v) > 8 else ""
        lines = [
            f"Step of {self.system.name or 'a system'}: {', '.join(names)}{more}",
            f"  status       {self.status}: {self.status.message}",
            f"  power        {self.power:.6g}, of which friction takes {self.dissipated:.6g}",
        ]
        if self.lam.size:
            lines.append(f"  forces       {self.lam.text()}")
        shown = [
            f"{name} {value:.5g}" if np.ndim(value) == 0
            else f"{name} ({', '.join(f'{x:.4g}' for x in np.ravel(value))})" if np.size(value) <= 3
            else f"{name} {len(value)} forces"
            for name, value in list(self.forces.items())[:6]
        ]  # fmt: skip
        if shown:
            more = ", …" * (len(self.forces) > len(shown))
            lines.append(f"  friction     {', '.join(shown)}{more}")
        if len(self.others):
            lines.append(f"  not unique   {len(self.others)} other motion(s) satisfy Coulomb's law")
        if self.unique is None:
            lines.append("  unique       not examined")
        if len(self.free):
            lines.append(f"  not unique   {len(self.free)} free direction(s); this is the smallest")
        lines.append(
            f"  evidence     duality gap {self.gap:.1e}, "
            + ", ".join(f"{name} {value:.1e}" for name, value in self.residual.items())
        )
        return "\n".join(lines)


def _extent(part: System) -> float:
    """Return how far the support points of a part are from its origin, at most."""
    far = 0.0
    for entry in part.friction:
        columns = getattr(getattr(entry, "table", None), "columns", {})
        numbers = [c for c in columns.values() if isinstance(c, np.ndarray) and c.ndim == 1]
        if len(numbers) >= 2:
            far = max(far, float(np.hypot(numbers[0], numbers[1]).max()))
    return far


def _without_accelerations(key: Any) -> StatementError:
    return StatementError("a step has no accelerations.", f"Found {key}.", "Ask for a velocity.")
