"""Natural modes: frequencies, and the shapes in which a system moves at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp

from stationary.errors import StatementError, spelled
from stationary.lower.inputs import translate
from stationary.model.fields import Field, fields_in
from stationary.model.interpolation import Interpolation, interpolation_of, values_by_name
from stationary.model.layout import Layout
from stationary.model.space.rotation import Orientation
from stationary.model.system import System
from stationary.result.equilibrium import Equilibrium
from stationary.result.fields import checked, matrix
from stationary.result.views import AbstractShown, AbstractTravels, found_once, show

# Squares of frequencies within this many roundings of zero are zero.
_TO_SPARE = 4.0


class Shapes(np.ndarray):
    """Shapes of modes, one per row over all coordinates, scaled so that φᵀMφ = 1.

    ``shapes[k].field(u)(x)`` is the shape of a field anywhere, ``shapes.field(u)(x)`` has one
    column per mode. ``shapes[R]`` of an orientation are small turns about the axes of its body.
    """

    modes: Any

    @classmethod
    def of(cls, vectors: np.ndarray, modes: Modes) -> Shapes:
        """Wrap vectors, one per row, as shapes of modes."""
        shapes = vectors.view(cls)
        shapes.modes = modes
        return shapes

    def __reduce__(self) -> tuple:
        return Shapes.of, (np.asarray(self), self.modes)

    def __array_finalize__(self, other):
        self.modes = getattr(other, "modes", None)

    def field(self, u: Field) -> Any:
        """Return a field of these shapes as a function of position."""
        return ModeFunction(self.modes, np.asarray(self), u)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (str, sp.Basic, Orientation)):
            kinematics = self.modes.layout.kinematics
            if str(key) in kinematics.names:
                # Small turns about the axes of the body.
                turned = (
                    np.asarray(self) @ kinematics.speeds(self.modes.q, np.eye(len(self.modes.q))).T
                )
                first = kinematics.first(kinematics.names.index(str(key)))
                return turned[..., first : first + 3]
            places, _ = self.modes.layout.resolve(key, "the key")
            return np.asarray(self)[..., places]
        return super().__getitem__(key)


@dataclass(frozen=True, eq=False)
class ModeFunction(AbstractTravels):
    """A field of one mode, or of several, as a function of position."""

    modes: Modes
    shapes: np.ndarray
    expression: Any

    def __post_init__(self):
        e = checked(self.modes.layout, self.expression)
        jets = sorted(fields_in(e), key=str)
        slopes = [e.diff(f) for f in jets]
        linear = sp.expand(e - sp.Add(*(f * s for f, s in zip(jets, slopes)))) == 0
        if not linear or any(fields_in(s) for s in slopes) or any(f.rate for f in jets):
            raise StatementError(
                f"'{e}' is not linear in the fields: a mode has no size.",
                "Expected a field, its derivatives by position, or a sum of them.",
                "Ask for the fields, and compose what you need.",
            )

    def __call__(self, x: Any) -> Any:
        """Return values at positions; one column per mode, if there are several."""
        places = np.asarray(x, dtype=float)
        modes = self.modes
        named = values_by_name(modes.system, modes.values)
        total = np.zeros((places.size, len(np.atleast_2d(self.shapes))), dtype=self.shapes.dtype)
        for f in sorted(fields_in(self.expression), key=str):
            interpolation = interpolation_of(modes.system, f)
            values = (
                matrix(interpolation, f.order, places.ravel(), named) @ self._dofs(interpolation).T
            )
            factor = sp.S(self.expression).diff(f)
            factor = factor.xreplace(
                {s: sp.Float(named[s.name]) for s in factor.free_symbols if s.name in named}
            )
            weight = sp.lambdify([f.position], factor, "numpy")(places.ravel())
            total += np.broadcast_to(np.asarray(weight, dtype=float), places.size)[:, None] * values
        return total.reshape((*places.shape, *([] if self.shapes.ndim == 1 else [-1])))

    def _dofs(self, interpolation: Interpolation) -> np.ndarray:
        """Return the degrees of freedom of a field in each shape: what is held does not move."""
        layout, shapes = self.modes.layout, np.atleast_2d(self.shapes)
        degrees = np.zeros((len(shapes), interpolation.size), dtype=shapes.dtype)
        if interpolation.array is not None:
            degrees[:, interpolation.free] = shapes[:, layout.place(interpolation.array)]
        held = [k for k, e in interpolation.given.items() if e.free_symbols]
        if held:
            q, zero = ca.SX.sym("q", layout.system.size), np.zeros(layout.system.size)
            several = [
                translate(
                    interpolation.expression(k), layout, self.modes.t, q, zero, self.modes.values
                )
                for k in held
            ]
            slope = ca.Function("tie", [q], [ca.jacobian(ca.vertcat(*several), q)])
            degrees[:, held] = shapes @ np.asarray(ca.DM(slope(self.modes.q))).T
        return degrees


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class Modes(AbstractShown):
    """Natural modes of small motions about a state of rest.

    Attributes
    ----------
    squares : ndarray
        ω² in ascending order; negative where a mode grows instead of oscillating.
    shapes : Shapes
        One row per mode over all coordinates, scaled so that φᵀMφ = 1;
        ``modes.shapes[k].field(u)(x)`` for fields.
    q : ndarray
        The state of rest.
    residual : float
        Largest of |Kφ − ω²Mφ| relative to |Kφ|, over all modes.
    floor : ndarray
        Size of the changes of each ω² that rounding of the stiffness may make.
    damped : bool
        Whether there is dissipation, which the modes leave out.
    freedoms : int
        How many modes there are.

    Examples
    --------
    >>> x, y = st.coordinates("x y")
    >>> pair = st.System(
    ...     kinetic=(x.dot**2 + y.dot**2) / 2, potential=(x**2 + (x - y) ** 2 + y**2) / 2
    ... )
    >>> found = st.modes(pair, count=2)
    >>> found.frequencies.round(9), found.shapes[0].round(6).tolist()
    (array([1.        , 1.73205081]), [0.707107, 0.707107])
    """

    layout: Layout
    values: np.ndarray
    q: np.ndarray
    t: float
    squares: np.ndarray
    vectors: np.ndarray
    residual: float
    floor: np.ndarray
    damped: bool = False
    gyroscopic: bool = False
    rest: Equilibrium | None = None
    freedoms: int = 0

    def _moving(self) -> str:
        return show("modes", "live")(self)

    @property
    def system(self) -> System:
        """The system that moves."""
        return self.layout.system

    @property
    def frequencies(self) -> np.ndarray:
        """Natural frequencies in rad/s, ascending; zero where a mode does not oscillate."""
        return np.sqrt(np.where(self._rigid, 0.0, np.maximum(self.squares, 0.0)))

    @property
    def growth(self) -> np.ndarray:
        """Rates at which modes grow; zero where they oscillate."""
        return np.sqrt(np.where(self._rigid, 0.0, np.maximum(-self.squares, 0.0)))

    @property
    def _rigid(self) -> np.ndarray:
        """Which ω² cannot be told from zero."""
        return np.abs(self.squares) <= _TO_SPARE * self.floor

    @property
    def stable(self) -> bool:
        """Whether no mode grows."""
        return not np.any(self.growth)

    @property
    def rounding(self) -> float:
        """Bound on the relative error of ω², by rounding alone, of the modes that move.

        It grows with the square of the number of elements, for bending with the fourth power.
        """
        moving = ~self._rigid
        return float(np.max(self.floor[moving] / np.abs(self.squares[moving]), initial=0.0))

    @found_once
    def shapes(self) -> Shapes:
        """Shapes, one per row."""
        return Shapes.of(self.vectors, self)

    def field(self, u: Any) -> ModeFunction:
        """Return a field of all modes as a function of position, one column per mode.

        Parameters
        ----------
        u : Field or expression
            A field of the continuum, or a derivative of it by position.
        """
        return self.shapes.field(u)

    def __len__(self) -> int:
        return len(self.squares)

    def plot(self):
        """Draw the shapes of the modes over position.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return show("modes", "plot")(self)

    def __repr__(self) -> str:
        shown = ", ".join(f"{w:.6g}" for w in self.frequencies[:8])
        lines = [
            f"Modes of {self.system.name or 'a system'}: {len(self)} of {self.freedoms}",
            f"  frequencies  {shown}{' …' if len(self) > 8 else ''} rad/s",
        ]
        if not self.stable:
            grow = self.growth[self.growth > 0]
            lines.append(f"  unstable     {len(grow)} mode(s) grow, at {grow.max():.4g} per second")
        if self.damped:
            lines.append("  damping      left out; see st.linearize")
        if self.gyroscopic:
            lines.append("  gyroscopic   shapes are complex: points move out of phase")
        lines.append(
            f"  residual     {self.residual:.1e}; rounding below {self.rounding:.0e} of ω²"
        )
        return "\n".join(lines)
