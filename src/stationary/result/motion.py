"""A motion with inertia: states over time, energies, and the evidence."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
from scipy.integrate import solve_ivp

from stationary.errors import DidNotConverge, say, spelled
from stationary.lower.kernel import numeric
from stationary.result.changes import Changes
from stationary.result.multipliers import Multipliers
from stationary.result.trajectory import AbstractInertial, AbstractInstant
from stationary.result.views import found_once, show

# Printing a motion of more steps, times entries of its state, does not integrate it again.
_SECOND_RUN_UP_TO = 100_000

# Between two outputs rates are asked for so often at most, and lead from one to the other up to
# this part of the whole motion.
_MOST_ASKED = 20_000
_LED = 1e-6


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class Motion(AbstractInertial):
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

    def _moving(self) -> str:
        return show("motion", "live")(self)

    @property
    def changes(self) -> Changes:
        """What happened where something touches or rubs: nothing, where nothing does."""
        return Changes()

    @found_once
    def a(self) -> np.ndarray:
        """Accelerations, shape (times, coordinates), from the equations of motion."""
        if self.stuck is not None:
            return self.stuck
        if not self.kernel.rows:
            return self._evaluate(self.kernel.graph.acceleration)
        return self._held[0]

    @found_once
    def _held(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Accelerations, multipliers of the enforced rows, and the power that these supply."""
        # Forces hold the motion; what brings a violation back would add α²R, which over a short
        # span is larger than any force.
        arguments = (self.t[None, :], self.q.T, self.v.T, self.u.T, self.params, 0.0)
        a, lam, power = self.kernel.held(*arguments)
        return self._columns(a), self._columns(lam), self._columns(power)

    @found_once
    def lam(self) -> Multipliers:
        """Multipliers, shape (times, rows that were stated): the forces along ∂R/∂q.

        ``motion.lam["rod"]`` are those of one constraint. Where constraints are redundant these
        are the smallest that do the same.
        """
        layout = self.kernel.layout
        full = np.zeros((len(self.t), layout.multipliers))
        if self.kernel.rows:
            full[:, list(self.kernel.rows)] = self._held[1]
        if self.redundant:
            for k in range(len(self.t)):
                # Which rows are sums of which is told by rows of one size, whatever their units.
                A = self._rows(k).toarray()
                sizes = np.linalg.norm(A, axis=1, keepdims=True)
                sizes = np.where(sizes > 0, sizes, 1.0)
                left, values, _ = np.linalg.svd(A / sizes)
                idle = left[:, int(np.sum(values > 1e-9 * values[0])) :] / sizes
                full[k] -= idle @ np.linalg.lstsq(idle, full[k], rcond=None)[0]
        return Multipliers.of(full, layout)

    @property
    def power(self) -> np.ndarray:
        """What loads, W, dissipation and explicit time feed into the energy, over time."""
        supplied = self._held[2][:, 0] if self.kernel.rows else 0.0
        return self._energies[:, 3] + supplied

    @property
    def work(self) -> np.ndarray:
        """The time integral of `power`, integrated with the motion, and what events have done."""
        fed = self.y[:, -1] if self.kernel.graph.fed else np.zeros(len(self.t))
        return fed + self._since(self.struck)

    @property
    def balance(self) -> np.ndarray:
        """Change of energy minus work done: zero, but for the error of the integration."""
        return self.energy - self.energy[0] - (self.work - self.work[0])

    @property
    def residual(self) -> dict[str, float]:
        """The evidence: largest violation of the energy balance, |R| and |Ṙ| along the motion."""
        return self.measured

    @property
    def digits(self) -> float:
        """How many digits of the last state can be trusted, or nan where nothing can tell.

        Errors of the steps grow along the way: little where a motion is regular, by a factor in
        every interval of time where it is chaotic, whatever the energy balance says. The motion is
        integrated again, when this is first asked for, from a start with such errors in it, those
        of forces included that are differences of what is larger by far, with steps of other
        lengths and with switches that come a last digit of time late. The digits are those of
        places over the way that coordinates added to each other go, and of velocities, and at most
        one more than a tolerance promises. A motion that travels takes along what it has told, and
        cannot be asked where it arrives.
        """
        return self._digits

    @found_once
    def _digits(self) -> float:
        if self.told is not None:
            return self.told
        ask = self.again if self.success and len(self.t) > 1 else None
        return np.nan if ask is None else ask(self)

    def _between(self, times: np.ndarray) -> np.ndarray:
        """Integrate from the output time before each of these, sorted times."""
        before = np.searchsorted(self.t, times, "right") - 1
        states = np.empty((len(times), self.y.shape[1]))
        for k in np.unique(before):
            here = before == k
            inside = times[here] > self.t[k]
            states[here] = self.y[k]
            if inside.any():
                # As far as the next output, which tells whether the law held so long.
                way = np.append(times[here][inside], self.t[k + 1])
                states[np.flatnonzero(here)[inside]] = self._led(int(k), way)[:-1]
        return states

    def _led(self, k: int, times: np.ndarray) -> np.ndarray:
        """Return states that lead from one output to the next, if the equations do, or if it rests.

        Where it sticks, is struck or switches, only the run itself knows them.
        """
        states, n = self._followed(k, times), self.kernel.size
        rounding = 64 * np.spacing(np.abs(self.y).max(axis=0))
        if states is not None:
            off = np.abs(states[-1] - self.y[k + 1])
            if self.fixed_step or np.all(off <= _LED * np.ptp(self.y, 0) + rounding):
                return states
        if np.all((np.abs(self.y[k + 1] - self.y[k]) <= rounding)[: 2 * n]):
            return np.tile(self.y[k], (len(times), 1))
        raise DidNotConverge(
            say(
                "a motion that was saved or copied is not known between these output times.",
                f"Found that its equations do not lead from t = {self.t[k]:g} to "
                f"{self.t[k + 1]:g} by themselves: it sticks, is struck or switches there.",
                "Ask for states between output times before it is saved, or simulate with more "
                "points.",
            ),
            status="inaccurate",
            solution=self,
        )

    def _followed(self, k: int, times: np.ndarray) -> np.ndarray | None:
        """Return states at times from output time k on; None where that would take for ever."""
        if times[-1] <= self.t[k]:
            return np.tile(self.y[k], (len(times), 1))
        rhs, last = numeric(self.kernel, "rhs"), [self.alpha] if self.kernel.rows else []
        p = np.concatenate([self.params, self.drives.slots(float(self.t[k])), last])
        evaluations = itertools.count()

        def rates(t: float, y: np.ndarray) -> np.ndarray:
            # What is not finite ends it.
            return rhs(t, y, p)[0] if next(evaluations) < _MOST_ASKED else np.full_like(y, np.nan)

        with np.errstate(all="ignore"):
            followed = solve_ivp(
                rates, (self.t[k], times[-1]), self.y[k], method="DOP853", t_eval=times,
                rtol=1e-12, atol=1e-14 * np.abs(self.y).max(axis=0) + 1e-300,
            )  # fmt: skip
        return followed.y.T if followed.success and next(evaluations) < _MOST_ASKED else None

    def continued(self) -> np.ndarray:
        """Return where each output state but the last is at the next output time.

        Integrated anew, whatever method made the motion: this is evidence.
        """
        ends = np.full((len(self.t) - 1, self.y.shape[1]), np.nan)
        for k in range(len(ends)):
            followed = self._followed(k, self.t[k + 1 : k + 2])
            if followed is not None:
                ends[k] = followed[0]
        return ends

    def _part(self, times: np.ndarray, states: np.ndarray) -> Motion:
        """Return the same motion at other times, from its states there."""
        part = replace(self, t=times, y=states, events=(), again=None, told=None, stuck=None)
        if self.stuck is None:
            return part
        n = self.kernel.size
        if self.rates is not None:
            return replace(part, stuck=self.rates(times, states)[:, n : 2 * n])
        # Where it has arrived, it follows its equations between outputs, or it rests.
        before = np.searchsorted(self.t, times, "right") - 1
        rests = np.all(states[:, : 2 * n] == self.y[before, : 2 * n], axis=1)
        return replace(part, stuck=np.where(rests[:, None], self.stuck[before], part.a))

    def _instant(self) -> Instant:
        return Instant(self)

    def __repr__(self) -> str:
        first = self._first_lines("Motion") + self._events_text()
        return first + self._balance_text() + self._digits_text()

    def _digits_text(self) -> str:
        large = self.steps * self.y.shape[1] > _SECOND_RUN_UP_TO
        known = self.told is not None or "_digits" in vars(self)
        if not known and self.again is not None and self.success and large:
            return "\n  digits left at the end: motion.digits runs it again to tell"
        return "" if np.isnan(self.digits) else f"\n  digits left at the end: {int(self.digits)}"

    def _besides(self) -> list[tuple[str, np.ndarray]]:
        return []


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class Instant(AbstractInstant):
    """A motion at one time: the same keys, numbers instead of arrays over time."""
