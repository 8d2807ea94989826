"""A bifurcation diagram: branches of equilibria and the points where they turn and cross."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp

from stationary.errors import StatementError, spelled
from stationary.lower.expressions import expression_of
from stationary.model.layout import Layout
from stationary.model.symbols import Coordinate, Parameter, from_dynamicsymbols
from stationary.model.system import System
from stationary.result.multipliers import Multipliers
from stationary.result.stability import Stability
from stationary.result.status import Status
from stationary.result.views import AbstractShown, AbstractTravels, show


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class Branch(AbstractTravels):
    """A curve of equilibria, in the order in which it was followed.

    ``branch[x]`` is a coordinate along it, ``branch[expression]`` any expression of coordinates and
    parameters.

    Attributes
    ----------
    parameter : ndarray
    params : dict
        Values of the other parameters.
    q : ndarray, shape (points, coordinates)
    stable : ndarray of bool
    unstable : ndarray of int
        Number of growing modes at every point; −1 where that is not decided.
    status : Status
        Why it ends: at a limit of the span, closed, at the bound on steps.
    """

    layout: Layout
    name: str
    params: dict[str, float]
    parameter: np.ndarray
    q: np.ndarray
    lam: np.ndarray
    unstable: np.ndarray
    status: Status

    @property
    def stable(self) -> np.ndarray:
        """Whether each point is stable; nowhere, where that is not decided."""
        return self.unstable == 0

    @property
    def decided(self) -> bool:
        """Whether growing modes were counted.

        They are not where the statement changes with time, or where rounding hides what grows.
        """
        return not np.any(self.unstable < 0)

    @property
    def told(self) -> str:
        """How much of it is stable, in words."""
        return f"{np.mean(self.stable):.0%} stable" if self.decided else str(Stability.UNDECIDED)

    def forces(self) -> Multipliers:
        """Return the multipliers along the branch, by name."""
        return Multipliers.of(self.lam, self.layout)

    def __getitem__(self, key: Any) -> Any:
        turned = self.layout.looked_up(key, self.q)
        if turned is not None:
            return turned
        if isinstance(key, str) and key == self.name or isinstance(key, Parameter):
            key = sp.Mul(1, Parameter(str(key)), evaluate=False)
        if isinstance(key, sp.Expr) and not isinstance(key, sp.Symbol):
            value = along(key, self.layout, self.name, self.params)
            return np.asarray(value(self.q.T, self.parameter[None, :])).ravel()
        places, _ = self.layout.resolve(key, "the key")
        return self.q[:, places]

    def __len__(self) -> int:
        return len(self.parameter)

    def __repr__(self) -> str:
        low, high = self.parameter.min(), self.parameter.max()
        return f"Branch of {len(self)} points, {low:.6g} … {high:.6g}, {self.told}"


def along(e: Any, layout: Layout, name: str, params: Mapping[str, float]) -> ca.Function:
    """Lower an expression to a function of q and of the parameter that moves."""
    e = layout.as_declared(from_dynamicsymbols(e))
    known = {p.name: p for p in layout.system.parameters}
    for s in sorted(e.free_symbols, key=str):
        if isinstance(s, Coordinate):
            layout.resolve(s, "the expression")
        elif str(s) not in known:
            raise StatementError(
                f"'{s}' has no value along the branches.",
                f"Known: {', '.join([*layout.offsets, *known])}.",
                "Replace it by its value, with e.subs.",
            )
    q, mu = ca.SX.sym("q", layout.system.size), ca.SX.sym("mu")
    values = ca.vertcat(*(mu if p == name else ca.SX(params[p]) for p in known))
    return ca.Function("along", [q, mu], [expression_of(layout, e)(0.0, q, 0.0, values)])


@spelled
@dataclass(frozen=True, eq=False)
class Special(AbstractTravels):
    """A point where something happens: "fold", "pitchfork", "branch" or "hopf"."""

    kind: str
    parameter: float
    q: np.ndarray
    layout: Layout
    frequency: float | None = None

    def __getitem__(self, key: Any) -> Any:
        turned = self.layout.looked_up(key, self.q)
        if turned is not None:
            return turned
        places, _ = self.layout.resolve(key, "the key")
        value = self.q[places]
        return float(value) if np.ndim(value) == 0 else value

    def __repr__(self) -> str:
        more = f", frequency {self.frequency:.6g} rad/s" if self.frequency else ""
        return f"{self.kind} at {self.parameter:.12g}{more}"


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class Diagram(AbstractShown):
    """Branches of equilibria over a parameter.

    Attributes
    ----------
    branches : list of Branch
    special : list of Special
        Folds, pitchforks and other branch points, Hopf points, ordered by parameter.
    params : dict
        Values of the other parameters.
    frozen : str or None
        What changes as time goes on, and at which time it is taken; the branches are then those
        of one instant.
    left_out : int
        How many more branches begin at special points, and were not followed.
    unclear : int
        At how many special points several modes give way together, in directions that are not told
        apart: of the branches that begin there, or of a family of them, some are followed.
    units : dict
        Units of the parameter and the coordinates by name, where a model file has them.

    Examples
    --------
    >>> x, a = st.coordinates("x"), st.parameters(a=1.0)
    >>> fold = st.System(potential=x**3 / 3 - a * x)
    >>> diagram = st.continuation(fold, parameter=a, span=(-1, 2), start={x: 1.0})
    >>> diagram.special
    [fold at ...]
    """

    system: System
    parameter: str
    branches: list[Branch]
    special: list[Special]
    params: dict[str, float]
    frozen: str | None = None
    left_out: int = 0
    unclear: int = 0
    units: dict[str, str] = field(default_factory=dict)

    def plot(self, *expressions: Any):
        """Draw the diagram: stable solid, unstable dashed, special points marked.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return show("diagram", "plot")(self, *expressions)

    def _moving(self) -> str:
        return show("diagram", "live")(self)

    def __repr__(self) -> str:
        held = ", ".join(f"{name} = {value:.6g}" for name, value in self.params.items())
        lines = [
            f"Diagram over {self.parameter}: {len(self.branches)} branch(es)"
            + (f"; {held}" if held else "")
        ]
        if self.frozen:
            lines.append(f"  {self.frozen}")
        lines += [f"  {branch}; ended: {branch.status.message}" for branch in self.branches]
        lines += [f"  {point}" for point in self.special]
        if self.left_out:
            lines.append(
                f"  {self.left_out} more branch(es) begin at these points and were not followed: "
                "ask about a shorter span, or from a start on one of them"
            )
        if self.unclear:
            lines.append(
                f"  at {self.unclear} of these points several modes give way alike, in whichever "
                "direction: more branches, or a family of them, may begin there"
            )
        return "\n".join(lines)
