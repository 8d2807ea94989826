"""An equilibrium: where a system rests, what holds it there, and whether it stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from stationary.derive.graph import Graph
from stationary.errors import StatementError, spelled
from stationary.lower.expressions import at_state
from stationary.model.interpolation import along
from stationary.model.symbols import from_dynamicsymbols
from stationary.model.symbols import t as time
from stationary.model.system import System
from stationary.result.fields import FieldFunction, at_points, checked
from stationary.result.multipliers import Multipliers
from stationary.result.numbers import eigenvalues, evidence, written
from stationary.result.stability import Stability
from stationary.result.status import Status
from stationary.result.views import AbstractShown, show


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class Equilibrium(AbstractShown):
    """A state of rest.

    ``rest[x]`` is a coordinate, ``rest[expression]`` any expression of coordinates and parameters.

    Attributes
    ----------
    system : System
    q : ndarray
    inputs : dict
        What was given for the inputs, numbers or expressions of coordinates.
    lam : Multipliers
        Multipliers of constraints and contacts, by name: the forces along ∂R/∂q and ∂gap/∂q.
    energy : float or None
        U − W, loads of constant force included; None where the loads have no potential.
    eigenvalues : ndarray
        Of the Hessian on the tangent space of the constraints, in ascending order; for large
        systems the smallest few. Orientations count by their angles.
    inertia : tuple of int
        Positive, negative and zero eigenvalues of that Hessian.
    stability : Status
        What small motions do, in one of the words of `Stability`, the same that `linearize` gives;
        ``rest.stability.message`` says why. The linearized motion decides, with gyroscopic,
        damping and follower forces, and the minimum of the energy where that decides.
    free : ndarray
        Directions in which the system can be moved and still rests, one per row.
    frozen : str or None
        What changes as time goes on; the rest is then one at time t alone.
    residual : dict
        Largest unbalanced force, violation of constraints and of contacts.
    redundant : tuple of str
        Constraints that say nothing new.
    status : Status
    steps : int
    known_to : ndarray
        How far the forces that are left unbalanced may push each coordinate.

    Examples
    --------
    >>> theta, tau = st.coordinates("theta"), st.parameters(tau=1.0)
    >>> rest = st.statics(st.System(potential=-2 * st.cos(theta), work=tau * theta))
    >>> round(rest[theta], 9), rest.stable, rest.eigenvalues.round(6)
    (0.523598776, True, array([1.732051]))
    """

    system: System
    graph: Graph
    q: np.ndarray
    params: np.ndarray
    u: np.ndarray
    inputs: dict[str, Any]
    t: float
    lam: Multipliers
    energy: float | None
    eigenvalues: np.ndarray
    inertia: tuple[int, int, int]
    stability: Status
    free: np.ndarray
    residual: dict[str, float]
    redundant: tuple[str, ...]
    status: Status
    steps: int
    known_to: np.ndarray
    frozen: str | None = None

    def _moving(self) -> str:
        return show("equilibrium", "live")(self)

    @property
    def stable(self) -> bool | None:
        """Whether no small motion grows; None where that is not decided."""
        return Stability(str(self.stability)).stable

    @property
    def family(self) -> int:
        """Dimension of the family of equilibria to which it belongs; 0 for one by itself.

        Of large systems whose directions without stiffness are too many to be tried, at least that.
        """
        return len(self.free)

    @property
    def _dimension(self) -> str:
        more = self.inertia[2] > len(self.eigenvalues)
        return f"of dimension {self.family}" + (" or more" if more else "")

    @property
    def _none(self) -> str:
        many = sum(self.inertia)
        return f"none of {many} found, {self.inertia[2]} are 0" if many else "none: all is held"

    def __getitem__(self, key: Any) -> Any:
        turned = self.graph.layout.looked_up(key, self.q)
        if turned is not None:
            return turned
        if isinstance(key, (tuple, list)):
            return np.array([self[k] for k in key])
        key = at_points(self.system, key, self.params)
        if isinstance(key, (str, sp.Symbol)):
            symbols = (*self.system.parameters, *self.system.inputs)
            values = {s.name: float(x) for s, x in zip(symbols, (*self.params, *self.u))}
            if str(key) in values:
                return values[str(key)]
        if isinstance(key, sp.Expr) and not isinstance(key, sp.Symbol):
            at_rest, e = (
                np.zeros_like(self.q),
                self.graph.layout.as_declared(from_dynamicsymbols(key)),
            )
            e = e.xreplace({sp.Symbol("t"): time})
            e = e.xreplace(dict(zip(self.system.inputs, map(sp.Float, self.u))))
            return at_state(self.graph.layout, e, self.t, self.q, at_rest, self.params)
        places, order = self.graph.layout.resolve(key, "the key")
        if order:
            return 0.0 if np.ndim(places) == 0 else np.zeros(np.shape(places))
        value = self.q[places]
        return float(value) if np.ndim(value) == 0 else value

    def field(self, u: Any) -> FieldFunction:
        """Return a field, or an expression of fields, as a function of position.

        Parameters
        ----------
        u : Field or expression
            A field of the continuum that was discretized, a derivative of it, or an expression of
            them such as ``E*A*u.diff(X)``.

        Returns
        -------
        FieldFunction
            ``rest.field(u)(x)`` for positions x; ``rest.field(u).integral()``.
        """
        return FieldFunction(self, checked(self.graph.layout, u), moves=False)

    def as_start(self) -> dict[str, float]:
        """Return the coordinates by name, to be passed on as ``start=``."""
        return self.graph.layout.named(self.q)

    @property
    def along(self) -> dict[sp.Expr, float]:
        """Values of fields along their intervals; what is nothing but rounding is zero."""
        values = {e: float(self[e]) for e in along(self.system)}
        # What no force decides, and what is nothing beside the largest of its kind.
        beside = float(np.finfo(float).eps) * max(map(abs, values.values()), default=0.0)
        off = max(float(np.max(self.known_to, initial=0.0)), beside)
        return {e: 0.0 if written(value, known_to=off) == "0" else value
                for e, value in values.items()}  # fmt: skip

    @property
    def told(self) -> str:
        """What kind of rest it is, in words."""
        return str(self.stability) + (f", family {self._dimension}" if self.family else "")

    def __repr__(self) -> str:
        layout = self.graph.layout
        names = [f"{layout.name(i)} = {written(x, known_to=off)}"
                 for i, (x, off) in enumerate(zip(self.q[:8], self.known_to))]  # fmt: skip
        more = " …" if len(self.q) > 8 else ""
        if fields := self.along:
            names, more = [f"{e} = {written(x)}" for e, x in fields.items()], ""
        name = self.system.name or "a system"
        energy = (
            "none: the loads have no potential" if self.energy is None else written(self.energy)
        )
        values = eigenvalues(self.eigenvalues)
        lines = [
            f"Equilibrium of {name}, {self.told}: {', '.join(names)}{more}",
            f"  status       {self.status}: {self.status.message}",
            f"  energy       {energy}",
            f"  stability    {self.stability.message}",
            f"  eigenvalues  {', '.join(values[:6]) or self._none}{', …' * (len(values) > 6)}",
        ]
        if self.lam.size:
            lines.append(f"  forces       {self.lam.text()}")
        if self.inputs:
            given = (f"{name} = {_short(value)}" for name, value in self.inputs.items())
            lines.append(f"  inputs       {', '.join(given)}; taken at t = {self.t:g}")
        elif self.frozen:
            lines.append(f"  time         {self.frozen} changes with it; taken at t = {self.t:g}")
        if self.family:
            lines.append(f"  family       {self._dimension}: it can be moved and rests")
        if self.redundant:
            lines.append(f"  redundant    {', '.join(self.redundant)}")
        lines.append(
            "  residual     "
            + ", ".join(f"{name} {evidence(value)}" for name, value in self.residual.items())
        )
        return "\n".join(lines)


class Equilibria(list):
    """Equilibria in the order of their coordinates, and whether they are all.

    Attributes
    ----------
    complete : bool
        Whether it is proven that the box holds no others, but such as are closer to one of these
        than a millionth of the box.
    searched : str
        How they were found, and what the proof lacks if there is none.
    """

    complete: bool = False
    searched: str = ""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, (str, sp.Basic)):
            raise StatementError(
                f"'{str(key)[:60]}' is looked up in one equilibrium, not in a list of them.",
                f"Found {len(self)}.",
                "Take them one by one, as in [rest[theta] for rest in equilibria].",
            )
        return super().__getitem__(key)

    @property
    def told(self) -> str:
        """Whether they are all, and how that is known."""
        return f"{'complete' if self.complete else 'not proven complete'}; {self.searched}"

    def __repr__(self) -> str:
        one = len(self) == 1
        lines = [f"{len(self)} {'equilibrium' if one else 'equilibria'}, {self.told}"]
        for rest in self:
            first = repr(rest).splitlines()[0]
            lines.append("  " + first.split(", ", 1)[1])
        return "\n".join(lines)
