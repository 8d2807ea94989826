"""Motions of every kind: states over time, and whatever can be looked up in them."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp

from stationary.errors import MissingExtra, StatementError, did_you_mean, say
from stationary.lower.inputs import Drives
from stationary.lower.kernel import AbstractKernel, numeric
from stationary.model.arrays import Array
from stationary.model.graphs import renamed
from stationary.model.numbers import numbers_of
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
from stationary.result.fields import FieldFunction, at_points, checked
from stationary.result.multipliers import Multipliers
from stationary.result.status import Status
from stationary.result.views import (
    STAYS,
    AbstractShown,
    AbstractTravels,
    found_once,
    show,
    writable,
)


@dataclass(frozen=True, eq=False, repr=False)
class AbstractMotion(AbstractShown):
    """States of a system over time; how they came about is for its kinds to say.

    ``motion[x]``, ``motion[x.dot]``, ``motion["x"]`` and ``motion[expression]`` are arrays over
    ``motion.t``; an array of coordinates gives shape (times, …).
    """

    system: System
    t: np.ndarray
    y: np.ndarray
    params: np.ndarray
    kernel: AbstractKernel
    drives: Drives
    status: Status
    steps: int = 0
    method: str = ""
    events: Any = ()
    struck: tuple[tuple[float, float], ...] = ()
    #: Names of events that have actions, whether they happened or not.
    actions: tuple[str, ...] = ()
    alpha: float = 0.0
    repaired: float = 0.0
    redundant: tuple[str, ...] = ()
    crossed: float = 0.0
    dense: Callable[[np.ndarray], np.ndarray] | None = field(default=None, metadata=STAYS)
    again: Callable[[Any], float] | None = field(default=None, metadata=STAYS)
    #: The digits, where they were told before it came here.
    told: float | None = field(default=None, compare=False, metadata={"kept as": "_digits"})
    #: Accelerations where it may stick, which its equations alone do not tell; and what tells them
    #: between its times.
    stuck: np.ndarray | None = None
    rates: Callable[..., np.ndarray] | None = field(default=None, metadata=STAYS)
    # By which law, of those that a statement switches between, states were followed.
    law: Callable[..., np.ndarray] | None = field(default=None, metadata=STAYS)
    units: dict[str, str] = field(default_factory=dict)

    def unit(self, name: str) -> str:
        """Return the unit of a column of a table, "" where nobody has told any."""
        return self.units.get(re.sub(r"\[.*\]", "", name), "")

    @property
    def fixed_step(self) -> bool:
        """Whether its steps have a given length, so that no tolerance bounds their errors."""
        used = (name.split(" (")[0] for name in self.method.split(" then "))
        return not {"Variational", "Moreau"}.isdisjoint(used)

    @found_once
    @abstractmethod
    def a(self) -> np.ndarray:
        """Accelerations, shape (times, coordinates)."""

    @found_once
    @abstractmethod
    def lam(self) -> Multipliers:
        """Multipliers, shape (times, rows)."""

    @property
    @abstractmethod
    def kinetic(self) -> np.ndarray:
        """T over time."""

    @property
    @abstractmethod
    def energy(self) -> np.ndarray:
        """The energy over time."""

    @property
    @abstractmethod
    def work(self) -> np.ndarray:
        """What was fed into the energy since the start."""

    @property
    @abstractmethod
    def balance(self) -> np.ndarray:
        """Change of energy less what was fed into it: zero, but for errors."""

    @property
    @abstractmethod
    def residual(self) -> dict[str, float]:
        """The evidence, by name."""

    @property
    @abstractmethod
    def digits(self) -> float:
        """How many digits of the last state can be trusted, or nan where nothing can tell."""

    @abstractmethod
    def _between(self, times: np.ndarray) -> np.ndarray:
        """Return states at sorted times, and whatever belongs to them."""

    @abstractmethod
    def _part(self, times: np.ndarray, states: np.ndarray) -> Any:
        """Return the same motion at other times, from its states there."""

    @abstractmethod
    def _instant(self) -> AbstractInstant:
        """Return a motion of one time as numbers."""

    @abstractmethod
    def _besides(self) -> list[tuple[str, np.ndarray]]:
        """Return what tables list besides states and energies, by name."""

    def _named_forces(self, word: str, forces: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """Return forces of friction and multipliers, under names that no coordinate has."""
        rows = (*self.kernel.layout.rows, *self.kernel.layout.gaps)
        named = [(f"{word} of {name}", values) for name, values in forces.items()]
        return named + [(f"lam of {r.name}", self.lam[r.name]) for r in rows]

    @property
    def q(self) -> np.ndarray:
        """Coordinates, shape (times, coordinates)."""
        return self.y[:, : self.kernel.size]

    @property
    def v(self) -> np.ndarray:
        """Velocities, shape (times, coordinates)."""
        return self.y[:, self.kernel.size : 2 * self.kernel.size]

    def _columns(self, values: ca.DM) -> np.ndarray:
        """Turn one column per time into one row per time."""
        return np.asarray(values).reshape(-1, len(self.t)).T

    @found_once
    def _constraints(self) -> tuple[np.ndarray, np.ndarray]:
        """R and Ṙ of all rows, shape (times, rows)."""
        arguments = (self.t[None, :], self.q.T, self.v.T, self.u.T, self.params)
        R, Rdot, *_ = self.kernel.graph.constraints(*arguments)
        return self._columns(R), self._columns(Rdot)

    @property
    def measured(self) -> dict[str, float]:
        """Largest violation of the energy balance, |R| and |Ṙ| along the motion."""
        largest = {"energy": float(np.max(np.abs(self.balance))), "R": 0.0, "Rdot": 0.0}
        if self.kernel.layout.multipliers:
            R, Rdot = self._constraints
            largest |= {"R": float(np.abs(R).max()), "Rdot": float(np.abs(Rdot).max())}
        return largest

    @property
    def violations(self) -> np.ndarray:
        """R of all rows over time, redundant ones included, shape (times, rows)."""
        return self._constraints[0]

    def _rows(self, k: int) -> Any:
        """Return A at one time."""
        arguments = (self.t[k], self.q[k], self.v[k], self.u[k], self.params)
        return numeric(self.kernel.graph, "constraints")(*arguments)[2].tocsr()

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
        lam = self.lam.every
        forces = np.array([self._rows(k)[places].T @ lam[k, places] for k in range(len(self.t))])
        if on is None:
            return forces
        point = vector(on, "the point of a force")
        forces_there = np.empty((len(self.t), len(point)))
        slopes = self._slopes(point)
        for k in range(len(self.t)):
            # Each coordinate by what rows push on it: a moment in nanometres is no small force.
            work, size = abs(self._rows(k)[places]).T @ np.abs(lam[k, places]), np.abs(slopes[k])
            reach = size.max(axis=0, initial=0.0)
            some = (work > 0) & (reach > 0)
            pull = np.median(work[some] / reach[some]) if some.any() else 1.0
            each = 1 / np.maximum(np.maximum(work, pull * reach), 1e-300)
            there = np.linalg.lstsq((slopes[k] * each).T, forces[k] * each, rcond=1e-12)[0]
            left, forces_there[k] = np.abs(slopes[k].T @ there - forces[k]), there
            if np.any(left > 1e-9 * (work + size.T @ np.abs(there))):
                raise StatementError(
                    f"the force of '{name}' does not act on that point alone.",
                    f"Found a generalized force that no force at {tuple(map(str, point))} has.",
                    "Leave `on` out to get the generalized force.",
                )
        return forces_there

    def _slopes(self, point: tuple[sp.Expr, ...]) -> np.ndarray:
        """∂point/∂q at all times, shape (times, entries, coordinates)."""
        slopes = np.zeros((len(self.t), len(point), self.kernel.size))
        for i, e in enumerate(point):
            for s in e.free_symbols:
                if isinstance(s, Coordinate):
                    slopes[:, i, int(self.kernel.layout.place(s))] = self[e.diff(s)]
        return slopes

    def __getitem__(self, key: Any) -> Any:
        return writable(self._looked_up(key))

    def _looked_up(self, key: Any) -> Any:
        if self.system.fields and isinstance(key, (sp.Basic, str)):
            key = at_points(self.system, key, self.params)
        turned = self.kernel.layout.looked_up(key, self.q, self.v)
        if turned is not None:
            return turned
        if isinstance(key, (Array, str)) or isinstance(key, (Coordinate, Velocity, Acceleration)):
            return self._named(key)
        if isinstance(key, (tuple, list)) and len(key):
            # The coordinates of a point may be numbers.
            entries = [sp.S(k) if isinstance(k, (int, float)) else k for k in key]
            return np.stack([self[k] for k in entries], axis=-1)
        if isinstance(key, sp.Expr):
            controls = frozenset(u.name for u in self.system.inputs)
            return self._expression(from_dynamicsymbols(key, controls))
        raise StatementError(
            f"{str(key)[:60]!r} cannot be looked up in a motion.",
            f"Found {type(key).__name__}.",
            "Ask for a coordinate, a velocity, a name or an expression of them; motion.at(t) is "
            "the state at a time.",
        )

    def _named(self, key: Any) -> np.ndarray:
        names = {s.name: s for s in (*self.system.inputs, *self.system.parameters)}
        if isinstance(key, str) and key in names:
            return self._expression(names[key])
        places, order = self.kernel.layout.resolve(key, "the key")
        return (self.q, self.v, self.a if order == 2 else None)[order][:, places]  # pyright: ignore[reportOptionalSubscript]

    def _expression(self, e: sp.Expr) -> np.ndarray:
        """Evaluate an expression at all times."""
        e = self.kernel.layout.as_declared(e)
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
                    f"the expression uses '{s}', which this motion does not know.",
                    f"Known: {', '.join(choices)}.{did_you_mean(str(s), choices)}",
                    "Use coordinates, velocities, parameters and inputs of the system.",
                )
        # Accelerations and inputs are known at the times of the motion alone: they enter as data.
        f = self.kernel.expression(renamed(e, swap), tuple(extra))  # pyright: ignore[reportArgumentType]
        data = np.array([extra[s] for s in extra]).reshape(len(extra), len(self.t))
        values = f(self.t[None, :], self.y.T, self.params, data)
        return np.broadcast_to(np.asarray(values).ravel(), (len(self.t),)).copy()

    @found_once
    def u(self) -> np.ndarray:
        """Inputs, shape (times, inputs)."""
        return self.inputs_at(self.t, self.y)

    def inputs_at(self, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the inputs at times and states, shape (times, inputs)."""
        count = len(self.system.inputs)
        if count == 0:
            return np.zeros((len(t), 0))
        last = [self.alpha] if self.kernel.rows else []
        ends = (np.tile(x, (len(t), 1)) for x in (self.params, last))
        p = np.hstack([next(ends), self.drives.every(t), next(ends)]).T
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
        return FieldFunction(self, checked(self.kernel.layout, u))

    @found_once
    def _energies(self) -> np.ndarray:
        return self._evaluate(self.kernel.graph.energies)

    @property
    def potential(self) -> np.ndarray:
        """U over time."""
        return self._energies[:, 1]

    @property
    def success(self) -> bool:
        """Whether the run ended as asked: at the end of the span or at a terminal event."""
        return self.status in ("done", "event")

    def at(self, t: Any) -> Any:
        """Return the motion at other times: `motion.at(3.2)[theta]` is a number.

        Parameters
        ----------
        t : float or array
            Times inside the motion's span.
        """
        times = np.atleast_1d(numbers_of(t))
        first, last = self.t[0], self.t[-1]
        inside = (times >= first) & (times <= last)
        if times.ndim != 1 or not times.size or not np.all(inside):
            raise StatementError(
                "the motion is not known at that time.",
                f"Found {str(t)[:60]}, expected times from {first:g} to {last:g}.",
                "Give times inside the span, or simulate a longer one.",
            )
        order = np.argsort(times, kind="stable")
        states = (self.dense or self._between)(times[order])
        part = self._part(times, states[np.argsort(order)])
        return part if np.ndim(t) else part._instant()

    def to_xarray(self):
        """Return an `xarray.Dataset`: coordinates, velocities, energies, forces where it slides."""
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
        for name, values in self._besides():
            axes = [f"{name}_{k}" for k in range(values.ndim - 1)]
            variables[name] = (("t", *axes), values)
        facts = {"system": self.system.name, "status": str(self.status), "method": self.method}
        facts |= {p.name: v for p, v in zip(self.system.parameters, self.params.tolist())}
        data = xarray.Dataset(variables, coords={"t": self.t}, attrs=facts)
        for name in data.variables:
            if self.unit(str(name)):
                data[name].attrs["units"] = self.unit(str(name))
        return data

    def to_dataframe(self):
        """Return a `pandas.DataFrame` indexed by time: the same, one column per component."""
        try:
            import pandas
        except ImportError:
            raise MissingExtra(_missing("to_dataframe", "pandas")) from None
        names = [self.kernel.layout.name(i) for i in range(self.kernel.size)]
        columns = names + [n + ".dot" for n in names]
        frame = pandas.DataFrame(
            self.y[:, : 2 * self.kernel.size], columns=columns, index=pandas.Index(self.t, name="t")
        )
        besides = {"energy": self.energy}
        for name, values in self._besides():
            for i in np.ndindex(values.shape[1:]):
                besides[name + "".join(f"[{k}]" for k in i)] = values[(slice(None), *i)]
        return frame.assign(**besides)

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

    def animate(self, path: Any = None, *, fps: int = 25, forces: Any = False):
        """Draw the parts of the system moving; save as GIF or HTML if a path is given.

        With ``forces=True`` those of contacts and dry friction are arrows;
        ``forces={"floor": (x, y)}`` says where they act.

        Returns
        -------
        matplotlib.animation.FuncAnimation
        """
        return show("motion", "animate")(self, path, fps=fps, forces=forces)

    def _first_lines(self, kind: str) -> str:
        """Say what it is, and how it ended."""
        return (
            f"{kind} of {self.system.name or 'a system'}: t = {self.t[0]:g} … {self.t[-1]:g}, "
            f"{len(self.t)} times, {self.method}, {self.steps} steps\n"
            f"  status          {self.status}: {self.status.message}\n"
        )

    def _balance_text(self) -> str:
        """Say how well the energy balances and constraints hold."""
        scale, drift = max(float(np.max(np.abs(self._energies[:, :2]))), 1e-300), self.residual
        share = drift["energy"] / scale
        first = f"  energy balance  {drift['energy']:.1e} ({share:.1e} of the largest T or U)"
        return first + self._constraints_text()

    def _constraints_text(self) -> str:
        if not self.kernel.layout.multipliers:
            return ""
        text = (
            f"\n  constraints     |R| ≤ {self.residual['R']:.1e}, |Ṙ| ≤ {self.residual['Rdot']:.1e}"
        )
        if self.repaired > 1e-12 * np.abs(self.q).max():
            text += f"; the start was moved by {self.repaired:.2g}"
        if self.redundant:
            text += f"\n  redundant       {', '.join(self.redundant)}"
        return text


@dataclass(frozen=True, eq=False, repr=False)
class AbstractInertial(AbstractMotion):
    """A motion of masses, in which events and impacts change energies at once."""

    @property
    def kinetic(self) -> np.ndarray:
        """T over time."""
        return self._energies[:, 0]

    @property
    def energy(self) -> np.ndarray:
        """The energy q̇·∂T/∂q̇ − T + U over time; it is T + U where T is quadratic in q̇."""
        return self._energies[:, 2]

    def _events_text(self) -> str:
        """Say how often each event happened."""
        names = getattr(self.events, "names", (None,) * len(self.events))
        counted = [f"{name or f'events[{k}]'} {len(times)}×"
                   for k, (name, times) in enumerate(zip(names, self.events))]  # fmt: skip
        return f"  events          {', '.join(counted)}\n" if counted else ""

    def _since(self, jumps: Any) -> np.ndarray:
        """Return the sum of pairs (time, energy) up to every time."""
        at, energies = np.reshape(jumps, (-1, 2)).T
        return np.append(0.0, np.cumsum(energies))[np.searchsorted(at, self.t, "right")]


@dataclass(frozen=True, eq=False)
class AbstractInstant(AbstractTravels):
    """A motion at one time: the same keys, numbers instead of arrays over time."""

    motion: Any

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
        return Multipliers.of(self.motion.lam.every[0], self.motion.kernel.layout)

    def as_start(self) -> dict[str, float]:
        """Return coordinates and velocities by name, to be passed on as ``start=`` or ``at=``."""
        motion, n = self.motion, self.motion.kernel.size
        return motion.kernel.layout.named(motion.y[0, :n], motion.y[0, n : 2 * n])

    def __repr__(self) -> str:
        motion, n = self.motion, self.motion.kernel.size
        names = [motion.kernel.layout.name(i) for i in range(n)]
        values = zip([*names, *(f"{name}.dot" for name in names)], motion.y[0])
        shown = ", ".join(f"{name} = {value:.6g}" for name, value in islice(values, 8))
        return f"{motion.system.name or 'A system'} at t = {self.t:g}: {shown}" + " …" * (n > 4)

    def force(self, name: str, *, on: Any = None) -> np.ndarray:
        """Return the force of one constraint at this time; see `Motion.force`."""
        return self.motion.force(name, on=on)[0]

    def field(self, u: Any) -> FieldFunction:
        """Return a field, or an expression of fields, as a function of position."""
        return replace(self.motion.field(u), moves=False)

    def __getitem__(self, key: Any) -> Any:
        value = self.motion[key][0]
        return float(value) if isinstance(value, (float, np.generic)) else value


def _missing(what: str, package: str) -> str:
    return say(
        f"{what} needs {package}.", "It is not installed.", "Run: pip install 'stationary[tables]'"
    )
