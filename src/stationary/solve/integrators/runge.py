"""Runge–Kutta of order 8 from SciPy: the reference, and the choice for forces with kinks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stationary.errors import spelled
from stationary.solve.integrators.between_ends import unseen
from stationary.solve.motion.ode import AbstractIntegrator, BlowUp, Ode, Piece
from stationary.solve.motion.stabilize import sizes

# Steps between two looks at the clock and the keyboard.
_CHUNK = 100

# Chunks that cover less than this part of the whole way, and the square of their number times as
# much, lead nowhere, unless all before were as slow as that, by a factor.
_SLOWEST = 1e-8
_CHUNKS = (1, 10, 100, 1000)
_SLOWED = 1e3

# A first step where none could be estimated, as a part of the whole way.
_SMALL = 1e-6

# Steps of a few last digits of time lead nowhere.
_STALLED = 4.0

# Sizes that have grown by this much let longer steps pass, and not again and again: those of what
# runs away grow for ever.
_COARSER = 2.0
_REGROWN = 2

# SciPy takes no smaller relative tolerance.
_SMALLEST_RTOL = 2.3e-14


@spelled
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
        from scipy.integrate import DOP853

        size, origin = sizes(ode, t, y, end)
        rtol, atol = max(ode.rtol, _SMALLEST_RTOL), ode.atol * size

        def f(t: float, since: np.ndarray) -> np.ndarray:
            return ode.f(t, origin + since)

        longest, stride, begun = ode.longest, ode.stride or _CHUNK, t
        stalled = failed = False
        reached, regrown = [t], 0
        while t < end and not failed:
            with np.errstate(all="ignore"):
                solver = DOP853(f, t, y - origin, end, rtol=rtol, atol=atol, max_step=longest)
            if not np.isfinite(solver.h_abs):
                # The trial step that was to tell a length has left the domain of a force.
                solver.h_abs = _SMALL * (end - t)
            missed = None
            while solver.status == "running" and not failed and missed is None:
                times, inner, states = [solver.t], [], [y]
                while solver.status == "running" and len(inner) < stride:
                    with np.errstate(all="ignore"):
                        solver.step()
                    if solver.status == "failed" or not np.all(np.isfinite(solver.y)):
                        break
                    times.append(solver.t)
                    inner.append(solver.dense_output())
                    states.append(origin + solver.y)
                    solver.max_step = longest = min(2 * longest, ode.longest)
                full, stride = len(inner) == _CHUNK, min(2 * stride, _CHUNK)
                failed = solver.status == "failed" or not np.all(np.isfinite(solver.y))
                if inner:
                    taken = _taken(times, inner, origin)
                    missed = unseen(ode, taken.t, taken.evaluate, known=(size, origin))
                    count = len(inner) if missed is None else missed[0]
                    if count:
                        taken = taken if missed is None else taken.first(count)
                        yield Piece(
                            taken.t, taken.evaluate, states[count], count, sizes=(size, origin),
                            middles=taken.middles,
                        )  # fmt: skip
                    t, y = float(times[count]), states[count]
                    if full:
                        reached.append(t)
                        stalled = _stalled(reached, end - begun, missed is not None)
                        failed = failed or stalled
            if failed and t < end and regrown < _REGROWN:
                # Where forces are rounding, errors as small as before are not to be had.
                larger = sizes(ode, t, y, end)[0]
                if np.any(larger > _COARSER * size) and np.all(np.isfinite(larger)):
                    size, regrown = np.maximum(size, larger), regrown + 1
                    atol, failed, missed = ode.atol * size, False, None
                    continue
            if missed is not None:
                # Again from before it, in steps as narrow as that is.
                longest, narrowest = missed[1], _STALLED * np.spacing(abs(t))
                failed = stalled or not missed[1] > narrowest
        if failed:
            raise BlowUp(t, y)


def _stalled(reached: list[float], way: float, again: bool) -> bool:
    """Tell whether the end is never reached at the pace of the last chunks: a singularity is near.

    One chunk may be as short as what lies there is narrow, or be gone over again; many may not.
    """
    for k in _CHUNKS[again : sum(k < len(reached) for k in _CHUNKS)]:
        ahead = reached[-1] - reached[-1 - k]
        if ahead < _SLOWEST * k**2 * way:
            before = np.diff(reached[: len(reached) - k])
            return k == 1 or bool(ahead * _SLOWED < k * before.max(initial=0.0))
    return False


def _taken(times: list[float], inner: list[Any], origin: np.ndarray) -> _Steps:
    terms = np.stack([one.F for one in inner], axis=1)
    return _Steps(np.array(times), origin + np.array([one.y_old for one in inner]), terms)


@dataclass(frozen=True, eq=False)
class _Steps:
    """Consecutive steps: their ends, the states where they begin, and terms of polynomials.

    A polynomial is x (F₀ + (1 − x) (F₁ + x (F₂ + (1 − x) (…)))) in the part x of its step.
    """

    t: np.ndarray
    y: np.ndarray
    terms: np.ndarray

    def first(self, count: int) -> _Steps:
        """Return some steps, from the first on."""
        return _Steps(self.t[: count + 1], self.y[:count], self.terms[:, :count])

    def evaluate(self, times: np.ndarray) -> np.ndarray:
        """Return states at times."""
        step = np.clip(self.t.searchsorted(times) - 1, 0, len(self.y) - 1)
        x = ((times - self.t[step]) / (self.t[step + 1] - self.t[step]))[:, None]
        way = np.zeros((len(times), self.y.shape[1]))
        for k in range(len(self.terms) - 1, -1, -1):
            way += self.terms[k, step]
            way *= 1 - x if k % 2 else x
        return self.y[step] + way

    def middles(self) -> tuple[np.ndarray, np.ndarray]:
        """Return states in the middles of steps, and rates there."""
        halves = 0.5 ** np.arange(1, len(self.terms) + 1)
        # Products of x and 1 − x in turn: where both are one half, half of them cancel.
        slopes = 2 * halves * (np.arange(1, len(self.terms) + 1) % 2)
        way, rate = (np.tensordot(x, self.terms, 1) for x in (halves, slopes))
        return self.y + way, rate / np.diff(self.t)[:, None]
