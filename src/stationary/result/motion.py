"""A motion: states over time, whatever can be computed from them, and the evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

from stationary.errors import MissingExtra, StatementError, did_you_mean, say
from stationary.lower.inputs import Drives
from stationary.lower.kernel import Kernel, numeric
from stationary.model.arrays import Array
from stationary.model.graphs import renamed
from stationary.model.interpolation import in_coordinates
from stationary.model.symbols import (
    Acceleration,
    Coordinate,
    Input,
    Parameter,
    Velocity,
    from_dynamicsymbols,
)
from stationary.model.symbols import t as time
from stationary.model.system import System
from stationary.model.terms import vector
from stationary.result.fields import FieldFunction, States, checked
from stationary.result.multipliers import Multipliers
from stationary.result.status import Status
from stationary.result.views import STAYS, AbstractShown, show

# Printing a motion of more steps, times entries of its state, does not integrate it again.
_SECOND_RUN_UP_TO = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class Motion(AbstractShown):
    """The motion of a system.

    ``motion[x]``, ``motion[x.dot]``, ``motion["x"]`` and ``motion[expression]`` are arrays over
    ``motion.t``; an array of coordinates gives shape (times, …).

    Attributes
    ----------
    system : System
    t : ndarray, shape (times,)
    status : Status
        "done", "event", "interrupted", "blow-up", "singular" (constraints lose rank), "violated" or
        "inaccurate" (the evidence says so); ``status.message`` says it in a sentence.
    steps : int
        Steps that the integrator took.
    method : str
        What integrated it.
    events : tuple of ndarray
        Times at which each event happened, in the order in which the events were given, and
        ``motion.events["name"]`` of one with a name.
    struck : tuple of pairs of float
        When actions of events changed the state, and by how much the energy.
    repaired : float
        By how much a start was moved to satisfy the constraints, in the metric of the masses.
    redundant : tuple of str
        Rows of constraints that say nothing new at the start.
    crossed : float
        How much, relative to its size, is unknown of it behind singular configurations.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> motion = st.simulate(
    ...     st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2), span=(0, 3.141592653589793),
    ...     start={x: 1.0}, points=3,
    ... )
    >>> motion[x].round(12) + 0.0
    array([ 1.,  0., -1.])
    """

    system: System
    t: np.ndarray
    y: np.ndarray
    params: np.ndarray
    kernel: Kernel
    drives: Drives
    status: Status
    steps: int = 0
    method: str = ""
    events: Any = ()
    struck: tuple[tuple[float, float], ...] = ()
    alpha: float = 0.0
    repaired: float = 0.0
    redundant: tuple[str, ...] = ()
    crossed: float = 0.0
    dense: Callable[[np.ndarray], np.ndarray] | None = field(default=None, metadata=STAYS)
    again: Callable[[Motion], float] | None = field(default=None, metadata=STAYS)
    told: float | None = field(default=None, compare=False)
    rates: Callable[..., np.ndarray] | None = field(default=None, metadata=STAYS)

    # -- states ---------------------------------------------------------------------------------

    @property
    def q(self) -> np.ndarray:
        """Coordinates, shape (times, coordinates)."""
        return self.y[:, : self.kernel.size]

    @property
    def v(self) -> np.ndarray:
        """Velocities, shape (times, coordinates)."""
        return self.y[:, self.kernel.size : 2 * self.kernel.size]

    @cached_property
    def a(self) -> np.ndarray:
        """Accelerations, shape (times, coordinates), from the equations of motion."""
        if self.rates is not None:
            return self.rates(self.t, self.y)[:, self.kernel.size : 2 * self.kernel.size]
        if not self.kernel.rows:
            return self._evaluate(self.kernel.graph.acceleration)
        return self._held[0]

    # -- forces of constraint -------------------------------------------------------------------

    @cached_property
    def _held(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Accelerations, multipliers of the enforced rows, and the power that these supply."""
        arguments = (self.t[None, :], self.q.T, self.v.T, self.u.T, self.params, self.alpha)
        a, lam, power = self.kernel.held(*arguments)
        return self._columns(a), self._columns(lam), self._columns(power)

    def _columns(self, values: ca.DM) -> np.ndarray:
        """Turn one column per time into one row per time."""
        return np.asarray(values).reshape(-1, len(self.t)).T

    @cached_property
    def _constraints(self) -> tuple[np.ndarray, np.ndarray]:
        """R and Ṙ of all rows, shape (times, rows)."""
        arguments = (self.t[None, :], self.q.T, self.v.T, self.u.T, self.params)
        R, Rdot, *_ = self.kernel.graph.constraints(*arguments)
        return self._columns(R), self._columns(Rdot)

    @property
    def violations(self) -> np.ndarray:
        """R of all rows over time, redundant ones included, shape (times, rows)."""
        return self._constraints[0]

    def _rows(self, k: int) -> Any:
        """Return A at one time."""
        arguments = (self.t[k], self.q[k], self.v[k], self.u[k], self.params)
        return numeric(self.kernel.graph, "constraints")(*arguments)[2].tocsr()

    @cached_property
    def lam(self) -> Multipliers:
        """Multipliers, shape (times, rows): the forces along ∂R/∂q.

        ``motion.lam["rod"]`` are those of one constraint. Where constraints are redundant these
        are the smallest that do the same.
        """
        layout = self.kernel.layout
        full = np.zeros((len(self.t), layout.multipliers))
        if self.kernel.rows:
            full[:, list(self.kernel.rows)] = self._held[1]
        if self.redundant:
            for k in range(len(self.t)):
                A = self._rows(k).toarray()
                full[k] = np.linalg.lstsq(A.T, A.T @ full[k], rcond=1e-9)[0]
        return Multipliers.of(full, layout)

    def force(self, name: str, *, on: Any = None) -> np.ndarray:
        """Return the force of one constraint.

        Parameters
        ----------
        name : str
            Name of the constraint.
        on : tuple of expressions, optional
            A point: the force as a vector there, for a constraint that acts on this point alone.

        Returns
        -------
        ndarray
            Generalized forces, shape (times, coordinates), or vectors, shape (times, entries).
        """
        places = self.lam.places(name).ravel()
        forces = np.array(
            [self._rows(k)[places].T @ self.lam[k, places] for k in range(len(self.t))]
        )
        if on is None:
            return forces
        point = vector(on, "the point of a force")
        found = np.empty((len(self.t), len(point)))
        slopes = self._slopes(point)
        for k in range(len(self.t)):
            found[k], *_ = np.linalg.lstsq(slopes[k].T, forces[k], rcond=1e-12)
            left = np.abs(slopes[k].T @ found[k] - forces[k]).max()
            if left > 1e-9 * max(1.0, np.abs(forces[k]).max()):
                raise StatementError(
                    say(
                        f"the force of '{name}' does not act on that point alone.",
                        f"Found a generalized force that no force at {tuple(map(str, point))} has.",
                        "Leave `on` out to get the generalized force.",
                    )
                )
        return found

    def _slopes(self, point: tuple[sp.Expr, ...]) -> np.ndarray:
        """∂point/∂q at all times, shape (times, entries, coordinates)."""
        made = np.zeros((len(self.t), len(point), self.kernel.size))
        for i, e in enumerate(point):
            for s in e.free_symbols:
                if isinstance(s, Coordinate):
                    made[:, i, int(self.kernel.layout.place(s))] = self[e.diff(s)]
        return made

    def __getitem__(self, key: Any) -> Any:
        if self.system.fields and isinstance(key, (sp.Basic, str)):
            key = in_coordinates(self.system, key)
        turned = self.kernel.layout.looked_up(key, self.q, self.v)
        if turned is not None:
            return turned
        if isinstance(key, (Array, str)) or isinstance(key, (Coordinate, Velocity, Acceleration)):
            return self._named(key)
        if isinstance(key, (tuple, list)):
            return np.stack([self[k] for k in key], axis=-1)
        if isinstance(key, (sp.Expr, int, float)):
            controls = frozenset(u.name for u in self.system.inputs)
            return self._expression(from_dynamicsymbols(sp.S(key), controls))
        raise StatementError(
            say(
                f"{str(key)[:60]!r} cannot be looked up in a motion.",
                f"Found {type(key).__name__}.",
                "Ask for a coordinate, a velocity, a name or an expression of them.",
            )
        )

    def _named(self, key: Any) -> np.ndarray:
        names = {s.name: s for s in (*self.system.inputs, *self.system.parameters)}
        if isinstance(key, str) and key in names:
            return self._expression(names[key])
        places, order = self.kernel.layout.resolve(key, "the key")
        return (self.q, self.v, self.a if order == 2 else None)[order][:, places]  # pyright: ignore[reportOptionalSubscript]

    def _expression(self, e: sp.Expr) -> np.ndarray:
        """Evaluate an expression at all times."""
        known = {s.name: s for s in self.system.parameters}
        inputs = {s.name: i for i, s in enumerate(self.system.inputs)}
        swap: dict[sp.Basic, sp.Basic] = {sp.Symbol("t"): time}
        extra: dict[sp.Symbol, np.ndarray] = {}
        for s in sorted(e.free_symbols, key=str):
            if isinstance(s, Acceleration):
                extra[s] = self._named(s)
            elif isinstance(s, Input) and s.name in inputs:
                extra[s] = self.u[:, inputs[s.name]]
            elif isinstance(s, (Coordinate, Velocity)):
                self.kernel.layout.resolve(s, "the expression")
            elif isinstance(s, (Parameter, sp.Symbol)) and s.name in known:
                swap[s] = known[s.name]
            elif str(s) != "t":
                choices = [*known, *self.kernel.layout.offsets, *inputs]
                raise StatementError(
                    say(
                        f"the expression uses '{s}', which this motion does not know.",
                        f"Known: {', '.join(choices)}.{did_you_mean(str(s), choices)}",
                        "Use coordinates, velocities, parameters and inputs of the system.",
                    )
                )
        # Accelerations and inputs are known at the times of the motion alone: they enter as data.
        f = self.kernel.expression(renamed(e, swap), tuple(extra))  # pyright: ignore[reportArgumentType]
        data = np.array([extra[s] for s in extra]).reshape(len(extra), len(self.t))
        values = f(self.t[None, :], self.y.T, self.params, data)
        return np.broadcast_to(np.asarray(values).ravel(), (len(self.t),)).copy()

    @cached_property
    def u(self) -> np.ndarray:
        """Inputs, shape (times, inputs)."""
        return self.inputs_at(self.t, self.y)

    def inputs_at(self, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the inputs at times and states, shape (times, inputs)."""
        count = len(self.system.inputs)
        if count == 0:
            return np.zeros((len(t), 0))
        last = [self.alpha] if self.kernel.rows else []
        p = np.array([[*self.params, *self.drives.slots(x), *last] for x in t]).T
        return np.asarray(self.kernel.inputs(t[None, :], y.T, p)).reshape(count, -1).T

    def _evaluate(self, f: ca.Function) -> np.ndarray:
        """Evaluate a function of the graph at all times; shape (times, entries)."""
        return self._columns(f(self.t[None, :], self.q.T, self.v.T, self.u.T, self.params))

    def field(self, u: Any) -> FieldFunction:
        """Return a field, or an expression of fields, as a function of position and time.

        Parameters
        ----------
        u : Field or expression
            A field of the continuum that was discretized, a derivative of it, or an expression of
            them such as ``E*A*u.diff(X)``.

        Returns
        -------
        FieldFunction
            ``motion.field(u)(x, t)`` has one row per position and one column per time.
        """
        layout = self.kernel.layout
        return FieldFunction(layout, checked(layout, u), self.params, self._states, True,
                             self.system.name)  # fmt: skip

    def _states(self, t: np.ndarray | None) -> States:
        motion = self if t is None else self.at(t)
        assert isinstance(motion, Motion)
        return motion.t, motion.q, motion.v

    # -- energy and evidence --------------------------------------------------------------------

    @cached_property
    def _energies(self) -> np.ndarray:
        return self._evaluate(self.kernel.graph.energies)

    @property
    def kinetic(self) -> np.ndarray:
        """T over time."""
        return self._energies[:, 0]

    @property
    def potential(self) -> np.ndarray:
        """U over time."""
        return self._energies[:, 1]

    @property
    def energy(self) -> np.ndarray:
        """The energy q̇·∂T/∂q̇ − T + U over time; it is T + U where T is quadratic in q̇."""
        return self._energies[:, 2]

    @property
    def power(self) -> np.ndarray:
        """What loads, W, dissipation and explicit time feed into the energy, over time."""
        supplied = self._held[2][:, 0] if self.kernel.rows else 0.0
        return self._energies[:, 3] + supplied

    @property
    def work(self) -> np.ndarray:
        """The time integral of `power`, integrated with the motion, and what events have done."""
        fed = self.y[:, -1] if self.kernel.graph.fed else np.zeros(len(self.t))
        if not self.struck:
            return fed
        times, energies = np.array(self.struck).T
        done = np.append(0.0, np.cumsum(energies))
        return fed + done[np.searchsorted(times, self.t, "right")]

    @property
    def balance(self) -> np.ndarray:
        """Change of energy minus work done: zero, but for the error of the integration."""
        return self.energy - self.energy[0] - (self.work - self.work[0])

    @property
    def residual(self) -> dict[str, float]:
        """The evidence: largest violation of the energy balance, |R| and |Ṙ| along the motion."""
        found = {"energy": float(np.max(np.abs(self.balance))), "R": 0.0, "Rdot": 0.0}
        if self.kernel.layout.multipliers:
            R, Rdot = self._constraints
            found |= {"R": float(np.abs(R).max()), "Rdot": float(np.abs(Rdot).max())}
        return found

    @property
    def digits(self) -> float:
        """How many digits of the last state can be trusted, or nan where nothing can tell.

        Errors of the steps grow along the way: little where a motion is regular, by a factor in
        every interval of time where it is chaotic, whatever the energy balance says. The motion is
        integrated a second time, when this is first asked for, from a start with such errors in it;
        the digits are those of places over the way that each coordinate goes, and of velocities.
        A motion that travels takes along what it has told, and cannot be asked where it arrives.
        """
        told = self.told
        if told is None:
            ask = self.again if self.success and len(self.t) > 1 else None
            told = np.nan if ask is None else ask(self)
            object.__setattr__(self, "told", told)
        return told

    @property
    def success(self) -> bool:
        """Whether the run ended as asked: at the end of the span or at a terminal event."""
        return self.status in ("done", "event")

    # -- other times ----------------------------------------------------------------------------

    def at(self, t: Any) -> Motion | Instant:
        """Return the motion at other times: `motion.at(3.2)[theta]` is a number.

        Parameters
        ----------
        t : float or array
            Times inside the motion's span.
        """
        times = np.atleast_1d(np.asarray(t, dtype=float))
        first, last = self.t[0], self.t[-1]
        if times.ndim != 1 or not np.all((times >= first) & (times <= last)):
            raise StatementError(
                say(
                    "the motion is not known at that time.",
                    f"Found {np.asarray(t)!r}, expected times from {first:g} to {last:g}.",
                    "Simulate a longer span.",
                )
            )
        order = np.argsort(times, kind="stable")
        states = (self.dense or self._between)(times[order])
        part = self._part(times, states[np.argsort(order)])
        return part if np.ndim(t) else part._instant()

    def _between(self, times: np.ndarray) -> np.ndarray:
        """Integrate from the output time before each of these, sorted times."""
        before = np.searchsorted(self.t, times, "right") - 1
        made = np.empty((len(times), self.y.shape[1]))
        for k in np.unique(before):
            made[before == k] = self._followed(int(k), times[before == k])
        return made

    def _followed(self, k: int, times: np.ndarray) -> np.ndarray:
        """Return states at times from output time k on."""
        if times[-1] <= self.t[k]:
            return np.tile(self.y[k], (len(times), 1))
        rhs, last = numeric(self.kernel, "rhs"), [self.alpha] if self.kernel.rows else []
        p = np.concatenate([self.params, self.drives.slots(float(self.t[k])), last])
        found = solve_ivp(
            lambda t, y: rhs(t, y, p)[0], (self.t[k], times[-1]), self.y[k], method="DOP853",
            t_eval=times, rtol=1e-12, atol=1e-14 * np.abs(self.y).max(axis=0) + 1e-300,
        )  # fmt: skip
        return found.y.T

    def continued(self) -> np.ndarray:
        """Return where each output state but the last is at the next output time.

        Integrated anew, whatever method made the motion: this is evidence.
        """
        ends = [self._followed(k, self.t[k + 1 : k + 2])[0] for k in range(len(self.t) - 1)]
        return np.array(ends).reshape(len(self.t) - 1, self.y.shape[1])

    def _part(self, times: np.ndarray, states: np.ndarray) -> Motion:
        """Return the same motion at other times, from its states there."""
        return replace(self, t=times, y=states, events=(), again=None, told=None)

    def _instant(self) -> Instant:
        return Instant(self)

    # -- other forms ----------------------------------------------------------------------------

    def to_xarray(self):
        """Return an `xarray.Dataset` with one variable per coordinate and velocity."""
        try:
            import xarray
        except ImportError:
            raise MissingExtra(_missing("to_xarray", "xarray")) from None
        variables: dict[str, Any] = {}
        for c in self.system.coordinates:
            axes = [f"{c.name}_{k}" for k in range(len(c.base))] if isinstance(c, Array) else []
            variables[c.name] = (("t", *axes), self[c])
            variables[c.name + ".dot"] = (("t", *axes), self[c.dot])
        for name in ("kinetic", "potential", "energy", "balance"):
            variables[name] = ("t", getattr(self, name))
        facts = {"system": self.system.name, "status": str(self.status), "method": self.method}
        facts |= {p.name: v for p, v in zip(self.system.parameters, self.params.tolist())}
        return xarray.Dataset(variables, coords={"t": self.t}, attrs=facts)

    def to_dataframe(self):
        """Return a `pandas.DataFrame` indexed by time, one column per coordinate and velocity."""
        try:
            import pandas
        except ImportError:
            raise MissingExtra(_missing("to_dataframe", "pandas")) from None
        names = [self.kernel.layout.name(i) for i in range(self.kernel.size)]
        columns = names + [n + ".dot" for n in names]
        frame = pandas.DataFrame(
            self.y[:, : 2 * self.kernel.size], columns=columns, index=pandas.Index(self.t, name="t")
        )
        frame["energy"] = self.energy
        return frame

    def plot(self, *expressions: Any):
        """Draw the motion over time: all coordinates and the energy, or the given expressions.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return show("motion", "plot")(self, *expressions)

    def show(self, view: str) -> Any:
        """Draw a picture of another kind.

        Parameters
        ----------
        view : str
            ``"phase"``, ``"strobe"`` or ``"forces"``, a figure each; ``"player"``, a film for a
            page.
        """
        return show("motion", view)(self)

    def animate(self, path: Any = None, *, fps: int = 25):
        """Draw the parts of the system moving; save as GIF or HTML if a path is given.

        Returns
        -------
        matplotlib.animation.FuncAnimation
        """
        return show("motion", "animate")(self, path, fps=fps)

    def __repr__(self) -> str:
        scale = max(float(np.max(np.abs(self._energies[:, :2]))), 1e-300)
        drift = self.residual["energy"]
        return (
            f"Motion of {self.system.name or 'a system'}: t = {self.t[0]:g} … {self.t[-1]:g}, "
            f"{len(self.t)} times, {self.method}, {self.steps} steps\n"
            f"  status          {self.status}: {self.status.message}\n"
            f"  energy balance  {drift:.1e} ({drift / scale:.1e} of the largest T or U)"
            + self._constraints_text()
            + self._digits_text()
        )

    def _digits_text(self) -> str:
        large = self.steps * self.y.shape[1] > _SECOND_RUN_UP_TO
        if self.told is None and self.again is not None and self.success and large:
            return "\n  digits left at the end: motion.digits runs it again to tell"
        return "" if np.isnan(self.digits) else f"\n  digits left at the end: {int(self.digits)}"

    def _constraints_text(self) -> str:
        if not self.kernel.layout.multipliers:
            return ""
        text = (
            f"\n  constraints     |R| ≤ {self.residual['R']:.1e}, |Ṙ| ≤ {self.residual['Rdot']:.1e}"
        )
        if self.repaired > 1e-12:
            text += f"; the start was moved by {self.repaired:.2g}"
        if self.redundant:
            text += f"\n  redundant       {', '.join(self.redundant)}"
        return text


@dataclass(frozen=True, eq=False)
class Instant:
    """A motion at one time: the same keys, numbers instead of arrays over time."""

    motion: Motion

    @property
    def t(self) -> float:
        """The time."""
        return float(self.motion.t[0])

    @property
    def energy(self) -> float:
        """The energy at this time."""
        return float(self.motion.energy[0])

    @property
    def lam(self) -> Multipliers:
        """Multipliers, one per row of constraints; ``lam["rod"]`` by name."""
        return Multipliers.of(self.motion.lam[0], self.motion.kernel.layout)

    def force(self, name: str, *, on: Any = None) -> np.ndarray:
        """Return the force of one constraint at this time; see `Motion.force`."""
        return self.motion.force(name, on=on)[0]

    def field(self, u: Any) -> FieldFunction:
        """Return a field, or an expression of fields, as a function of position."""
        return replace(self.motion.field(u), moves=False)

    def __getitem__(self, key: Any) -> Any:
        value = self.motion[key][0]
        return float(value) if np.ndim(value) == 0 else value


def _missing(what: str, package: str) -> str:
    return say(
        f"{what} needs {package}.", "It is not installed.", "Run: pip install 'stationary[tables]'"
    )
