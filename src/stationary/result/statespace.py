"""A linear system about an operating point, and what its eigenvalues say."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stationary.errors import MissingExtra, say
from stationary.result.views import AbstractShown, show

# Real parts smaller than this, relative to the fastest mode, are rounding.
_RELATIVE = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class StateSpace(AbstractShown):
    """ẋ = A x + B u, y = C x + D u: small motions about an equilibrium or a steady motion.

    Attributes
    ----------
    A, B, C, D : ndarray
    states, inputs, outputs : tuple of str
        Names; states are deviations of coordinates and velocities.
    E : ndarray
        Descriptor form E ż = F z + G u over z = (δq, δv, δλ), with `F` and `G`.

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

    @cached_property
    def _eigen(self) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eig(self.A)
        growth, swing = np.real(values), np.imag(values)
        order = np.lexsort((growth, np.abs(swing), -np.round(growth, 9)))
        return values[order], vectors[:, order]

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of A, fastest growing first."""
        return self._eigen[0]

    @property
    def modes(self) -> np.ndarray:
        """Eigenvectors of A, one per column, in the order of the eigenvalues."""
        return self._eigen[1]

    @property
    def frequencies(self) -> np.ndarray:
        """Frequencies of the oscillating modes in rad/s, ascending, each once."""
        found = np.imag(self.eigenvalues)
        return np.sort(found[found > self._tiny])

    @property
    def _tiny(self) -> float:
        # A double zero, as of a free coordinate, spreads as the root of rounding.
        scale = max(np.abs(self.eigenvalues).max(initial=0.0), 1e-300)
        return _RELATIVE * scale + 4 * np.sqrt(np.finfo(float).eps) * min(1.0, scale)

    @property
    def stability(self) -> str:
        """In words: asymptotically stable, marginally stable, unstable (saddle) or (flutter)."""
        rates = np.real(self.eigenvalues)
        growing = self.eigenvalues[rates > self._tiny]
        if len(growing):
            fastest = growing[np.argmax(np.real(growing))]
            return f"unstable ({'flutter' if abs(fastest.imag) > self._tiny else 'saddle'})"
        decaying = np.all(rates < -self._tiny) and len(rates)
        return "asymptotically stable" if decaying else "marginally stable"

    def plot(self, name: str = ""):
        """Draw the eigenvalues in the complex plane.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return show("state space", "plot")(self, name)

    def to_control(self):
        """Return the same as a `control.StateSpace`."""
        try:
            import control  # pyright: ignore[reportMissingImports]  # an extra
        except ImportError:
            message = say(
                "to_control needs python-control.",
                "It is not installed.",
                "Run: pip install 'stationary[control]'",
            )
            raise MissingExtra(message) from None
        return control.ss(
            self.A, self.B, self.C, self.D, states=list(self.states),
            inputs=list(self.inputs) or None, outputs=list(self.outputs),
        )  # fmt: skip

    def __repr__(self) -> str:
        def shown(z: complex) -> str:
            return f"{z.real:.4g}" if abs(z.imag) <= self._tiny else f"{z.real:.3g}{z.imag:+.4g}i"

        return (
            f"StateSpace of {len(self.states)} states, {self.stability}\n"
            f"  states       {', '.join(self.states)}\n"
            f"  inputs       {', '.join(self.inputs) or 'none'}\n"
            f"  eigenvalues  {', '.join(shown(z) for z in self.eigenvalues[:8])}"
        )


def names(values: Any) -> tuple[str, ...]:
    """Return names of symbols or expressions."""
    return tuple(str(v) for v in values)
