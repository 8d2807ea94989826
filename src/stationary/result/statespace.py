"""A linear system about an operating point, and what its eigenvalues say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stationary.errors import MissingExtra, say, spelled
from stationary.result.numbers import written
from stationary.result.stability import Stability, spectrum, word_of
from stationary.result.status import Status
from stationary.result.views import AbstractShown, found_once, show


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class StateSpace(AbstractShown):
    """ẋ = A x + B u, y = C x + D u: small motions about an equilibrium or a steady motion.

    Attributes
    ----------
    A, B, C, D : ndarray
    states, inputs, outputs : tuple of str
        Names; states are deviations of coordinates and velocities, and small turns of bodies.
    at : State
        The operating point: coordinates and velocities by symbol or by name.
    E : ndarray
        Descriptor form E ż = F z + G u over z = (δq, δv, δλ), with `F` and `G`.
    spin : ndarray
        How fast bodies turn, freedom by freedom, against the axes in which their small turns are
        told: zero where these are their own.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> spring = st.System(kinetic=x.dot**2 / 2, potential=2 * x**2, dissipation=x.dot**2 / 2)
    >>> lin = st.linearize(spring)
    >>> lin.stability, lin.frequencies.round(6)
    ('asymptotically stable', array([1.936492]))
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    E: np.ndarray
    F: np.ndarray
    G: np.ndarray
    judgement: Status | None = None
    rounding: np.ndarray | None = None
    at: Any = None
    spin: np.ndarray | None = None

    @found_once
    def _eigen(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        values, vectors, moved = spectrum(self.A, self.rounding)
        growth, swing = np.real(values), np.imag(values)
        # Rates that differ by rounding alone are one, and do not decide the order.
        digits = 1e-9 * max(np.abs(values).max(initial=0.0), 1e-300)
        order = np.lexsort((growth, np.abs(swing), -np.round(growth / digits)))
        return values[order], vectors[:, order], moved[order]

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of A, fastest growing first."""
        return self._eigen[0]

    @property
    def known_to(self) -> np.ndarray:
        """How far rounding may have moved each eigenvalue."""
        return self._eigen[2]

    @property
    def modes(self) -> np.ndarray:
        """Eigenvectors of A, one per column, in the order of the eigenvalues."""
        return self._eigen[1]

    @property
    def frequencies(self) -> np.ndarray:
        """Frequencies of the oscillating modes in rad/s, ascending, each once."""
        values, _, moved = self._eigen
        return np.sort(np.imag(values)[np.imag(values) > moved])

    @property
    def stability(self) -> Status:
        """What small motions do, in one of the words of `Stability`; its message says why.

        At rest it is the word that `statics` and `equilibria` give: eigenvalues decide, and the
        energy where they do not.
        """
        values, _, moved = self._eigen
        return word_of(values, moved) if self.judgement is None else self.judgement

    def plot(self, name: str = ""):
        """Draw the eigenvalues in the complex plane.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return show("state space", "plot")(self, name)

    def to_control(self):
        """Return the same as a `control.StateSpace`.

        It knows no systems without an input: those get one, ``"none"``, that moves nothing.
        """
        try:
            import control  # pyright: ignore[reportMissingImports]  # an extra
        except ImportError:
            message = say(
                "to_control needs python-control.",
                "It is not installed.",
                "Run: pip install 'stationary[control]'",
            )
            raise MissingExtra(message) from None
        B, D = (X if self.inputs else np.zeros((len(X), 1)) for X in (self.B, self.D))
        return control.ss(
            self.A, B, self.C, D, states=list(self.states), inputs=list(self.inputs) or ["none"],
            outputs=list(self.outputs),
        )  # fmt: skip

    def _point(self) -> str:
        """Return what of the operating point is not zero."""
        moved = {k: v for k, v in (self.at or {}).items() if v}
        some = ", ".join(f"{k} = {v:.6g}" for k, v in list(moved.items())[:8])
        return some + (", …" if len(moved) > 8 else "") if moved else "the origin, at rest"

    def __repr__(self) -> str:
        def shown(z: complex, moved: float) -> str:
            real = written(z.real, 4 if abs(z.imag) <= moved else 3, moved)
            return real if abs(z.imag) <= moved else f"{real}{z.imag:+.4g}i"

        values, _, moved = self._eigen
        word = self.stability
        # Eigenvalues do not say why they do not decide.
        why = f"  stability    {word.message}\n" if word == Stability.UNDECIDED else ""
        return (
            f"StateSpace of {len(self.states)} states, {word}\n"
            f"  states       {', '.join(self.states)}\n"
            f"  at           {self._point()}\n"
            f"{why}"
            f"  inputs       {', '.join(self.inputs) or 'none'}\n"
            f"  eigenvalues  {', '.join(map(shown, values[:8], moved[:8]))}"
            f"{', …' * (len(values) > 8)}"
        )


def names(values: Any) -> tuple[str, ...]:
    """Return names of symbols or expressions."""
    return tuple(str(v) for v in values)
