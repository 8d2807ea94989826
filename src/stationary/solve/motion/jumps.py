"""What jumps at a switch in time: the energy, and velocities with momenta or constraints."""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np

from stationary.lower.engines.casadi import Numeric
from stationary.lower.kernel import AbstractKernel, numeric
from stationary.lower.switches import Course, Switches
from stationary.solve.linear import Rows
from stationary.solve.motion.ode import Stopped

# A jump of less than this part of its size is rounding.
_ROUNDING = 1e-12


def sides_at(
    switches: Switches, t: float, middle: float, y: np.ndarray, p: np.ndarray
) -> np.ndarray:
    """Return the sides of all borders at an instant: those in time as they are at another one."""
    sides = np.zeros(len(switches.borders))
    places = numeric(switches, "places")
    for _ in range(3):
        # Borders within borders: what the inner ones say counts for the outer ones.
        whole = np.concatenate([p, sides])
        now, then = (places(x, y, whole)[0][: len(sides)] for x in (t, middle))
        at = np.where(switches.timely, then, now)
        sides = np.where(switches.staircases, np.floor(at), at > 0).astype(float)
    return sides


class Jumps:
    """Energy, momenta and constraints of a kernel on both sides of an instant.

    A potential that jumps does work, a mass that jumps keeps its momentum, a constraint that
    starts to move suddenly takes velocities along.
    """

    def __init__(self, kernel: AbstractKernel):
        self._kernel = kernel
        self._n, self._rows = kernel.size, kernel.layout.multipliers
        t, y, p = kernel.arguments
        inner = kernel.inner
        parts = [kernel.graph.energies(*inner)[2], kernel.graph.momenta(*inner)[0]]
        parts += kernel.graph.constraints(*inner)[:2] if self._rows else []
        stated = ca.Function("stated", [t, y, p], [ca.densify(ca.vertcat(*parts))], {"cse": True})
        self._stated = Numeric(stated)
        self._switches = Switches(stated)

    @property
    def courses(self) -> list[Course]:
        """What depends on time alone in energies and constraints."""
        return [course for course in self._switches.courses if course.border]

    @cached_property
    def slopes(self) -> ca.Function:
        """How momenta and rates of constraints change with velocities."""
        t, y, p = arguments = self._switches.held.sx_in()
        stated = self._switches.held(*arguments)
        n, rows = self._n, self._rows
        moving = ca.vertcat(stated[1 : 1 + n], stated[1 + n + rows :])
        slope = ca.densify(ca.jacobian(moving, y[n : 2 * n]))
        return ca.Function("slopes", [t, y, p], [slope], {"cse": True})

    def over(
        self, t: float, middles: tuple[float, float], y: np.ndarray, p: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the state at an instant, as it is stated there, and the state after it.

        The instants before and after it tell on which sides the statement is.
        """
        if not self._switches.timely.any():
            return y, y
        sides = [sides_at(self._switches, t, x, y, p) for x in middles]
        before, after = (self._held(t, y, p, s) for s in sides)
        if not np.any(before != after):
            return y, y
        n, rows = self._n, self._rows
        size = np.maximum(np.abs(before), np.abs(after))
        jumps = np.abs(after - before) > _ROUNDING * size
        if jumps[1 + n : 1 + n + rows].any():
            row = int(np.argmax(jumps[1 + n : 1 + n + rows]))
            name, places = self._kernel.layout.row_name(row), (before, after)
            change = " to ".join(f"{x[1 + n + row]:.6g}" for x in places)
            raise Stopped(
                "jump",
                f"constraint '{name}' jumps at t = {t:.6g}: with the state there, R goes from "
                f"{change}, which no finite force follows",
                t,
            )
        later = y.copy()
        if jumps[1:].any():
            later[n : 2 * n] += self._taken_along(t, y, p, sides[1], before, after)
        # What is stated for the instant itself is what stands before it or after it.
        now = self._stated(t, y, p)[0]
        wait = np.all(np.abs(now - before) <= np.abs(now - after))
        shown = y.copy() if wait else later.copy()
        if self._kernel.graph.fed:
            shown[-1] += self._stated(t, shown, p)[0][0] - before[0]
            later[-1] += self._held(t, later, p, sides[1])[0] - before[0]
        return shown, later

    def extra(self, t: float, middle: float, y: np.ndarray, p: np.ndarray) -> float:
        """Return the energy stated for an instant itself beyond that of a time close to it."""
        if not self._switches.timely.any() or not self._kernel.graph.fed:
            return 0.0
        held = self._held(t, y, p, sides_at(self._switches, t, middle, y, p))
        return float(self._stated(t, y, p)[0][0] - held[0])

    def _held(self, t: float, y: np.ndarray, p: np.ndarray, sides: np.ndarray) -> np.ndarray:
        return numeric(self._switches, "held")(t, y, np.concatenate([p, sides]))[0]

    def _taken_along(
        self,
        t: float,
        y: np.ndarray,
        p: np.ndarray,
        sides: np.ndarray,
        before: np.ndarray,
        after: np.ndarray,
    ) -> np.ndarray:
        """Return by how much velocities jump: momenta stay, but for what constraints push."""
        n, rows = self._n, self._rows
        slopes = numeric(self, "slopes")(t, y, np.concatenate([p, sides]))[0]
        slopes = slopes.reshape(n + rows, n, order="F")
        M, A = slopes[:n], slopes[n:]
        # Moves that count alike are those of one energy: neither rows nor masses have a unit.
        masses = np.diag(M)
        some = masses[masses > 0].min(initial=np.inf)
        held = Rows(A, 1 / np.sqrt(np.where(masses > 0, masses, some)))
        jump, Z = held.correction(after[1 + n + rows :]), held.tangent
        push = before[1 : 1 + n] - after[1 : 1 + n] - M @ jump
        return jump + Z @ np.linalg.lstsq(Z.T @ M @ Z, Z.T @ push, rcond=None)[0]
