"""Runge–Kutta of order 8 from SciPy: the reference, and the choice for forces with kinks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stationary.solve.ode import AbstractIntegrator, BlowUp, Ode, Piece

# Steps between two looks at the clock and the keyboard.
_CHUNK = 100

# A hundred steps that cover less than this part of the whole way lead nowhere.
_SLOWEST = 1e-8

# A first step where none could be estimated, as a part of the whole way.
_SMALL = 1e-6

# SciPy takes no smaller relative tolerance.
_SMALLEST_RTOL = 2.3e-14


@dataclass(frozen=True)
class Runge(AbstractIntegrator):
    """Runge–Kutta of order 8 with adaptive steps, interpreted: no compiling, any force.

    References
    ----------
    E. Hairer, S. P. Nørsett, G. Wanner, Solving Ordinary Differential Equations I, section II.10.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> free = st.System(kinetic=x.dot**2 / 2)
    >>> st.simulate(free, span=(0, 2), start={x.dot: 3.0}, method=st.Runge())[x][-1].round(12)
    np.float64(6.0)
    """

    def pieces(
        self, ode: Ode, t: float, y: np.ndarray, end: float, *, grid: np.ndarray, dense: bool
    ) -> Iterator[Piece]:
        """Integrate; see `AbstractIntegrator`."""
        # Imported where it is used: SciPy's integrators take longer to load than this package.
        from scipy.integrate import DOP853, OdeSolution

        rtol = max(ode.rtol, _SMALLEST_RTOL)
        with np.errstate(all="ignore"):
            solver = DOP853(ode.f, t, y, end, rtol=rtol, atol=ode.atol, max_step=ode.longest)
        if not np.isfinite(solver.h_abs):
            # The trial step that was to tell a length has left the domain of a force.
            solver.h_abs = _SMALL * (end - t)
        stalled, stride = False, ode.stride or _CHUNK
        while solver.status == "running" and not stalled:
            times, inner, states = [solver.t], [], [solver.y]
            while solver.status == "running" and len(inner) < stride:
                with np.errstate(all="ignore"):
                    solver.step()
                if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
                    break
                times.append(solver.t)
                inner.append(solver.dense_output())
                states.append(solver.y)
            # At this pace the end is never reached: as before a singularity.
            stalled = len(inner) == _CHUNK and times[-1] - times[0] < _SLOWEST * (end - t)
            stride = min(2 * stride, _CHUNK)
            failed = stalled or solver.status == "failed" or not np.all(np.isfinite(solver.y))
            if inner:
                evaluate = _transposed(OdeSolution(times, inner))
                yield Piece(np.array(times), evaluate, states[-1], len(inner))
            if failed:
                raise BlowUp(solver.t)


def _transposed(solution: Any) -> Callable[[np.ndarray], np.ndarray]:
    return lambda times: solution(times).T
