"""Forces of constraint over time, and how well the constraints are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from stationary.plot.style import legend, look, words
from stationary.result.trajectory import AbstractMotion
from stationary.result.views import view

# A panel with more lines than this is no longer read.
_MANY = 7


@view("motion", "forces")
def forces(motion: AbstractMotion) -> Any:
    """Draw the multipliers, which are forces along ∂R/∂q, and the violation of the constraints.

    Returns
    -------
    matplotlib.figure.Figure
    """
    import matplotlib.pyplot as plt

    lam, names = np.asarray(motion.lam), motion.lam.names
    count = len(motion.kernel.layout.stated)
    shown = np.unique(np.linspace(0, count - 1, min(count, _MANY)).round().astype(int))
    floor = float(np.finfo(float).eps) / 10
    with look():
        figure, (upper, lower) = plt.subplots(2, 1, figsize=(7, 4.6), sharex=True)
        for k in shown:
            upper.plot(motion.t, lam[:, k], label=words(names[k]))
        upper.set_ylabel("λ (SI)")
        legend(upper)
        worst = np.abs(motion.violations).max(axis=1)
        lower.semilogy(motion.t, np.maximum(worst, floor), lw=0.9, label="largest |R|")
        lower.set_ylabel("violation (SI)")
        lower.set_xlabel("$t$ (s)")
        legend(lower)
        left = f" · {len(shown)} of {count} shown" if len(shown) < count else ""
        title = words(motion.system.name) or "forces of constraint"
        figure.suptitle(title + left, fontsize=11)
    return figure
