"""What is known about a part whose pressure is not: bounds, with who attains them and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from stationary.errors import spelled
from stationary.model.system import System
from stationary.result.status import Status
from stationary.result.views import AbstractShown, AbstractTravels, show


@spelled
@dataclass(frozen=True, eq=False)
class Pressure(AbstractTravels):
    """A pressure of a few atoms: ``points, weights = pressure``.

    ``st.slider(points=p.points, weights=p.weights)`` is a part that rests on the table like that.

    Attributes
    ----------
    points : ndarray, shape (count, 2)
        In the frame of the part.
    weights : ndarray
        Friction limit of each point; together the weight of the part.

    Examples
    --------
    >>> dipod = st.Pressure(points=[(0, -1), (0, 1)], weights=[0.5, 0.5])
    >>> points, weights = dipod
    >>> st.slider(points=points, weights=weights).size
    3
    """

    points: np.ndarray
    weights: np.ndarray

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter((self.points, self.weights))


@dataclass(frozen=True, eq=False)
class Dual(AbstractTravels):
    """Why a bound holds: f(x) = λ₀ + λ·x + w(x)·v̂(x) is nowhere negative on the support.

    v̂(x) is the direction in which x moves, w a rigid motion on which the finger does no work. The
    mean of f over a pressure is λ₀ + λ·centre + its unbalanced force along w; at the atoms of the
    pressure that attains the bound f is zero. Lengths are in sizes of the part, from its centre.

    Attributes
    ----------
    affine : ndarray
        λ₀, λx, λy.
    witness : ndarray
        w as (wx, wy, ω) at the centre.
    lowest : float
        What f is nowhere below on the support, relative to its multipliers: bounded over the whole
        of it, not sampled, and zero up to rounding. Not a number where there is no dual.
    residual : float
        By how much the pressure of the end misses its centre and balance, bears load where f is not
        zero, and the motion is not stationary: evaluated, relative to the multipliers.
    mode : str
        What the finger does: "holds", "sticks", "slides forward" or "slides back".
    scope : str
        "every pressure" or "small changes" of it: what the dual is a proof for; empty where the end
        is not certified.
    how : str
        What is proven, or how the end was bounded instead.
    several : ndarray, shape (count, 2, 3)
        Where the part turns about a corner, a foot or a place of an edge that bears load: λ and w
        for each of some ranges of directions in which that begins to move. One dual says nothing
        there, and is zero.
    """

    affine: np.ndarray
    witness: np.ndarray
    lowest: float
    residual: float
    mode: str
    scope: str = ""
    how: str = ""
    several: np.ndarray = field(default_factory=lambda: np.zeros((0, 2, 3)))

    @property
    def certified(self) -> bool:
        """Whether the dual proves what `how` says."""
        return bool(self.scope)


@dataclass(frozen=True, eq=False)
class Cover(AbstractTravels):
    """Duals along a line of motions that together prove a bound.

    Attributes
    ----------
    value : float
        No pressure goes beyond.
    proven : bool
    angles, affine, witness : ndarray
        The motions of the line, and λ and W there.
    margin : float
        The least g that is left after everything that was subtracted.
    """

    value: float
    proven: bool
    angles: np.ndarray
    affine: np.ndarray
    witness: np.ndarray
    margin: float


@dataclass(frozen=True, eq=False)
class Proof(AbstractTravels):
    """The duals of both ends, and Mason's vote on the sense of turning.

    Attributes
    ----------
    low, high : Dual
    votes : dict
        On which side of the centre each ray passes: +1 turns the part counterclockwise.
    turns : str
        "counterclockwise", "clockwise", "not at all" or "either way".
    text : str
    covers : tuple of Cover
        Where it was asked for: what proves that no pressure goes beyond either end.
    """

    low: Dual | None
    high: Dual | None
    votes: dict[str, float]
    turns: str
    text: str
    covers: tuple[Cover, ...] = ()

    def uncertified(self, how: str) -> Proof:
        """Return the vote alone, with how the ends were bounded."""
        vote = self.text[self.text.find("The vote") :]
        return Proof(None, None, self.votes, self.turns, f"Not certified: {how}.\n{vote}")

    def __str__(self) -> str:
        return self.text


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class PressureBounds(AbstractShown):
    """What a part does under every pressure that it may have.

    Attributes
    ----------
    of : str
        What is bounded.
    low, high : float
        The whole interval; of a centre of rotation the smallest and largest distance from the
        centre of the part.
    pressures : tuple of Pressure
        Those that attain the lower and the upper end.
    motions : ndarray, shape (2, 3)
        Velocities (ẋ, ẏ, φ̇) at both ends.
    locus : ndarray, shape (count, 2)
        Where the centre of rotation can be, as a polygon in the frame of the table; empty unless
        it was asked for.
    proof : Proof
        The dual of each end, and which way the part turns.
    status : Status
        "attained": both ends are, and no pressure beside theirs goes further; that none at all does
        is searched for, not proven. "proven": none does, by more than `prove=` allows.
        "conservative" where the ends are not attained. "searched" for a locus: neither proven nor
        certified, to about one in a thousand.
    outer : tuple of two numbers, optional
        What no pressure goes beyond: proven, where that was asked for.
    band : ndarray, shape (count, 3)
        Of a push by a fence: angles of the part, and how far the fence has advanced there at least
        and at most. Of a coordinate over a span: times, and what it is at least and at most. Empty
        otherwise.

    Examples
    --------
    A disc that a finger pushes at half its radius turns, however it rests, about a point at most
    two radii from its centre (a²/c, the tip line of Peshkin and Sanderson):

    >>> finger = st.Pusher(point=(0.5, st.t - 1), edge=((-1, -1), (1, -1)))
    >>> disc = st.slider(radius=1.0, weight=1.0, centre=(0, 0), pusher=finger)
    >>> bounds = st.pressure_bounds(disc, of=disc.coordinates[2].dot)
    >>> round(bounds.low, 10), round(bounds.high, 10), bounds.proof.turns
    (0.4, 3.3333333333, 'counterclockwise')
    """

    system: System
    of: str
    low: float
    high: float
    pressures: tuple[Pressure, ...]
    motions: np.ndarray
    proof: Proof
    status: Status
    at: np.ndarray
    outline: np.ndarray
    centre: np.ndarray
    locus: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    outer: tuple[float, float] | None = None
    band: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))

    def plot(self):
        """Draw the part, the pressures that attain the ends, and where it can turn about.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return show("pressure bounds", "plot")(self)

    def __repr__(self) -> str:
        lines = [
            f"Bounds of {self.of} of {self.system.name or 'a part'}: "
            f"{self.low:.8g} … {self.high:.8g}",
            f"  status       {self.status}: {self.status.message}",
            f"  turns        {self.proof.turns}",
        ]
        if self.outer is not None:
            lines.append(f"  proven       {self.outer[0]:.8g} … {self.outer[1]:.8g}")
        if len(self.locus):
            lines.append(f"  locus        a polygon of {len(self.locus)} corners")
        for name, dual in (("low", self.proof.low), ("high", self.proof.high)):
            if dual is not None:
                shown = f"certified for {dual.scope}" if dual.scope else "not certified"
                shown += f"; dual ≥ {dual.lowest:.1e}" if np.isfinite(dual.lowest) else ""
                lines.append(
                    f"  {name:12s} finger {dual.mode}; {shown}, conditions {dual.residual:.1e}"
                )
        return "\n".join(lines)
