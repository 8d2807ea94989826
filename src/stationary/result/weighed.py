"""Loads of a part, weighed by pushing it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stationary.errors import spelled
from stationary.model.push import Push
from stationary.model.system import System
from stationary.result.status import Status
from stationary.result.views import AbstractShown, AbstractTravels, show

# Loads few enough to be printed one by one.
_FEW = 12


@dataclass(frozen=True, eq=False)
class Identifiable(AbstractTravels):
    """Which loads the pushes tell: true if all, an entry for each, and the directions they miss.

    Attributes
    ----------
    loads : ndarray of bool
    directions : ndarray, shape (count, loads)
        Changes of the loads that no push notices, one per row.
    """

    loads: np.ndarray
    directions: np.ndarray

    def __bool__(self) -> bool:
        return bool(np.all(self.loads))

    def __getitem__(self, k: Any) -> Any:
        return self.loads[k]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.loads)

    def __len__(self) -> int:
        return len(self.loads)

    def all(self) -> bool:
        """Tell whether every load is told."""
        return bool(self)


@spelled
@dataclass(frozen=True, eq=False, repr=False)
class FittedPressure(AbstractShown):
    """The loads under a part, found from how it moved when it was pushed.

    Attributes
    ----------
    points : ndarray, shape (count, 2)
        The feet, or samples of the outline.
    weights : ndarray
        Their loads: friction limits.
    intervals : ndarray, shape (count, 2)
        95 % intervals of the loads.
    identifiable : Identifiable
        Which loads the pushes tell, and which changes of them they do not.
    finger : float
        Friction of the finger; nan where the pushes do not tell it.
    finger_interval : tuple of float
    covariance : ndarray
        Of the parameters: the loads of feet, or of the smooth shapes over an outline.
    scatter : float
        Root mean square of what is left of the motions, in standard errors of the noise.
    residuals : ndarray
        One for each push; nan for those that were left out.
    next : Push
        The push after which the errors of all loads would be least, with the motion expected of it.
    status : Status
        "fitted", "undetermined" where some loads are not told, or "scatters" where the motions miss
        the fit by more than the stated noise.
    left_out : tuple of int
        Pushes that tell nothing or contradict all others: at most a quarter of them.
    cells : ndarray
        The share of the outline that each sample stands for; ones for feet.
    centre : ndarray, shape (2,)
        The centre of pressure, in the frame of the part.
    centre_interval : ndarray, shape (2, 2)
        95 % intervals, of x and of y each on its own; infinite where the pushes do not tell it. A
        stated centre has none.
    untold : str
        In which other ways the record may have been seen that would fit as well, with other loads:
        a part that looks the same in a mirror, or turned, does not tell. Empty where there is none.

    Examples
    --------
    >>> feet, loads = [(0, 0), (1, 0), (0, 1)], [0.5, 0.3, 0.2]
    >>> known = st.slider(points=feet, weights=loads)
    >>> pushes = []
    >>> for x, way in ((0.2, 1), (0.7, 1), (0.5, -1)):
    ...     y, phi = known.coordinates[1:]
    ...     finger = st.System(constraints=[y + x * phi - way * st.t])
    ...     step = st.minimum_power(known + finger)
    ...     motion = [step[c.dot] for c in known.coordinates]
    ...     pushes.append(st.Push(point=(x, 0), normal=(0, way), motion=motion))
    >>> fit = st.fit_pressure(st.slider(points=feet, weight=1.0), pushes=pushes)
    >>> fit.weights.round(8)
    array([0.5, 0.3, 0.2])
    """

    system: System
    points: np.ndarray
    weights: np.ndarray
    intervals: np.ndarray
    identifiable: Identifiable
    finger: float
    finger_interval: tuple[float, float]
    covariance: np.ndarray
    scatter: float
    residuals: np.ndarray
    next: Push | None
    status: Status
    left_out: tuple[int, ...]
    cells: np.ndarray
    centre: np.ndarray
    centre_interval: np.ndarray
    untold: str = ""

    def plot(self):
        """Draw the loads on the part, with their intervals.

        Returns
        -------
        matplotlib.figure.Figure
        """
        return show("fitted pressure", "plot")(self)

    def __repr__(self) -> str:
        lines = [
            f"Loads of {self.system.name or 'a part'} from {len(self.residuals)} pushes",
            f"  status       {self.status}: {self.status.message}",
        ]
        few = len(self.weights) <= _FEW
        for k, w in enumerate(self.weights if few else []):
            low, high = self.intervals[k]
            x, y = self.points[k]
            doubt = "" if self.identifiable.loads[k] else "  not told"
            lines.append(f"  ({x:.4g}, {y:.4g})  {w:.6g}  in {low:.4g} … {high:.4g}{doubt}")
        if not few:
            off = np.diff(self.intervals, axis=1)[:, 0] / 2 / np.maximum(self.weights, 1e-300)
            known = f"known to {100 * np.median(off):.2g} % mostly"
            # Shapes of an area are fewer than its points.
            if len(self.covariance) < len(self.weights):
                known += ", if no hump is narrower than half of the part"
            lines.append(f"  pressure     at {len(off)} points, {known}")
        off = np.diff(self.centre_interval, axis=1)[:, 0] / 2
        size = float(np.ptp(self.points, axis=0).max())
        # Without noise the centre has all of its digits.
        near = " ± ({:.2g}, {:.2g})".format(*off) if off.max() > 1e-9 * size else ""
        x, y = np.where(np.abs(self.centre) > 1e-12 * size, self.centre, 0.0)
        lines.append(f"  centre       ({x:.4g}, {y:.4g}){near}")
        if len(self.covariance) < len(self.weights) and off.max() > 0:
            lines.append(
                "  frame        as given: one that is turned or shifted only centre= can tell"
            )
        if self.untold:
            lines.append(f"  not told     {self.untold}")
        if np.isfinite(self.finger):
            lines.append("  finger       friction {:.4g} in {:.4g} … {:.4g}".format(
                self.finger, *self.finger_interval))  # fmt: skip
        lines.append(f"  evidence     scatter {self.scatter:.3g} of the noise")
        return "\n".join(lines)
