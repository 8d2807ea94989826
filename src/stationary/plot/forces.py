"""Forces of constraint over time, and how well the constraints are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.plot.style import entitle, legend, look, words
from stationary.result.touched import Touched
from stationary.result.trajectory import AbstractMotion
from stationary.result.views import view

# A panel with more lines than this is no longer read.
_MANY = 7


@view("motion", "forces")
def forces(motion: AbstractMotion) -> Any:
    """Draw the multipliers, which are forces along ∂R/∂q, and the violation of the constraints.

    Of a motion that touches these are forces of contact and friction, and what they took.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib.pyplot as plt

    lines = _lines(motion)
    shown = np.unique(np.linspace(0, len(lines) - 1, min(len(lines), _MANY)).round().astype(int))
    floor = float(np.finfo(float).eps) / 10
    touched = isinstance(motion, Touched)
    with look():
        figure, (upper, lower) = plt.subplots(2, 1, figsize=(7, 4.6), sharex=True)
        for name, values in (lines[k] for k in shown):
            upper.plot(motion.t, values, label=words(name))
        upper.set_ylabel("force (SI)" if touched else "λ (SI)")
        legend(upper)
        if touched:
            lower.plot(motion.t, motion.heat, label="friction took")
            lower.plot(motion.t, motion.struck_off, label="impacts took")
            lower.set_ylabel("energy (J)")
        else:
            worst = np.abs(motion.violations).max(axis=1)
            lower.semilogy(motion.t, np.maximum(worst, floor), lw=0.9, label="largest |R|")
            lower.set_ylabel("violation (SI)")
        lower.set_xlabel("$t$ (s)")
        legend(lower)
        left = f" · {len(shown)} of {len(lines)} shown" if len(shown) < len(lines) else ""
        title = words(motion.system.name) or "forces of constraint"
        entitle(figure, title + left)
    return figure


def _lines(motion: AbstractMotion) -> list[tuple[str, np.ndarray]]:
    """Return the multipliers by name, and the forces of friction where something rubs."""
    lam, names = np.asarray(motion.lam), motion.lam.names
    lines = [(name, lam[:, k]) for k, name in enumerate(names)]
    if not isinstance(motion, Touched):
        return lines[: len(motion.kernel.layout.stated)]
    for name, values in motion.forces.items():
        flat = values.reshape(len(motion.t), -1)
        lines += [(f"friction of {name}", column) for column in flat.T]
    return lines
