"""A motion without inertia: states over time, the forces along it, and the evidence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from stationary.errors import StatementError, spelled
from stationary.result.multipliers import Multipliers
from stationary.result.step import Forces
from stationary.result.trajectory import AbstractInstant, AbstractMotion
from stationary.result.views import found_once


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class Slide(AbstractMotion):
    """The motion of a system whose inertia is negligible: what `quasistatics` returns.

    Everything that a `Motion` offers, and the forces of friction. Velocities jump where something
    starts or stops to slide; ``events`` holds these times.

    Attributes
    ----------
    forces : dict
        The force of each friction term on the system over time, by name.
    dissipated : ndarray
        The rate at which friction takes energy, over time.
    lost : ndarray
        The energy that friction has taken since the start.
    residual : dict
        Largest |R| and |Ṙ|, unbalanced force, duality gap and violation of the energy balance;
        with increments of free length, what halving them changed in all.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> floor = st.Friction(2.0, on=x, name="floor")
    >>> block = st.System(friction=[floor], constraints=[x - st.t**2])
    >>> slide = st.quasistatics(block, span=(0, 3), start={x: 0})
    >>> print(f"{slide[x][-1]:.6f} {slide.lost[-1]:.6f} {slide.forces['floor'][-1]:.6f}")
    9.000000 18.000000 -2.000000
    """

    #: Columns: energy lost, energy supplied, power, friction forces, multipliers.
    more: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    evidence: dict[str, float] = field(default_factory=dict)

    @property
    def lost(self) -> np.ndarray:
        """The energy that friction has taken since the start."""
        return self.more[:, 0]

    @property
    def work(self) -> np.ndarray:
        """The energy that loads, pushers and conveyors have supplied since the start."""
        return self.more[:, 1]

    @property
    def dissipated(self) -> np.ndarray:
        """The rate at which friction takes energy."""
        return self.more[:, 2]

    @property
    def power(self) -> np.ndarray:
        """The rate at which friction takes energy, over time."""
        return self.dissipated

    @property
    def energy(self) -> np.ndarray:
        """U over time: without inertia there is no other energy."""
        return self.potential

    @property
    def kinetic(self) -> np.ndarray:
        """Nothing: inertia is left out."""
        return np.zeros(len(self.t))

    @property
    def balance(self) -> np.ndarray:
        """Change of energy, plus what friction took, minus what was supplied."""
        return self.energy - self.energy[0] + self.lost - self.lost[0] - self.work + self.work[0]

    @found_once
    def a(self) -> np.ndarray:
        """Refuse: velocities jump."""
        raise StatementError(
            "a motion without inertia has no accelerations.",
            "Velocities jump where something starts or stops to slide.",
            "Ask for velocities, or use st.simulate.",
        )

    @found_once
    def lam(self) -> Multipliers:
        """Multipliers of constraints, then of contacts, shape (times, rows)."""
        layout = self.kernel.layout
        first = 3 + layout.rates
        return Multipliers.of(self.more[:, first:], layout)

    @found_once
    def forces(self) -> dict[str, np.ndarray]:
        """The force of each friction term on the system, by name, shape (times, …)."""
        y = self.more[:, 3:]
        return Forces({r.name: -y[:, r.places] for r in self.kernel.layout.slips})

    @property
    def residual(self) -> dict[str, float]:
        """The evidence: |R|, |Ṙ|, unbalanced force, duality gap, energy balance."""
        evidence = self.measured
        # An increment has no velocity of its own: its average need not satisfy Ṙ = 0 at its end.
        if "increments" in self.method:
            del evidence["Rdot"]
        return evidence | self.evidence

    def _between(self, times: np.ndarray) -> np.ndarray:
        """Interpolate: between output times forces jump, and are not followed again."""
        table = np.hstack([self.y, self.more])
        return np.array([np.interp(times, self.t, column) for column in table.T]).T

    def _part(self, times: np.ndarray, states: np.ndarray) -> Slide:
        width = self.y.shape[1]
        return replace(self, t=times, y=states[:, :width], more=states[:, width:], events=())

    def _instant(self) -> Slid:
        return Slid(self)

    @property
    def digits(self) -> float:
        """Nothing tells: without inertia errors do not grow along the way."""
        return np.nan

    def _besides(self) -> list[tuple[str, np.ndarray]]:
        taken = [(name, getattr(self, name)) for name in ("power", "lost", "work")]
        return taken + self._named_forces("force", self.forces)

    def __repr__(self) -> str:
        evidence = self.residual
        return (
            f"{self._first_lines('Slide')}"
            f"  friction took   {self.lost[-1] - self.lost[0]:.6g}\n"
            f"  evidence        "
            + ", ".join(f"{name} {value:.1e}" for name, value in evidence.items())
        )


@dataclass(frozen=True, eq=False, repr=False)
class Slid(AbstractInstant):
    """A slide at one time: the same keys and forces, numbers instead of arrays over time."""

    motion: Slide

    @property
    def forces(self) -> dict[str, Any]:
        """The force of each friction term on the system, by name."""
        forces = self.motion.forces.items()
        return Forces({name: float(x[0]) if x.ndim == 1 else x[0] for name, x in forces})

    @property
    def power(self) -> float:
        """The rate at which friction takes energy."""
        return float(self.motion.power[0])

    @property
    def lost(self) -> float:
        """The energy that friction has taken since the start."""
        return float(self.motion.lost[0])
