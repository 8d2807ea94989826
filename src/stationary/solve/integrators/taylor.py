"""Taylor series of high order, compiled by heyoka: the default for smooth motions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stationary.errors import MissingExtra, StatementError, say
from stationary.lower.engines import heyoka
from stationary.solve.ode import AbstractIntegrator, BlowUp, Ode, Piece, trusted

# Steps between two looks at the clock and the keyboard.
_CHUNK = 500

# Each term of the series should be about e⁻² times the one before it; beyond this ratio the
# remainder is no longer below rounding.
_DECAY = 0.2

# Steps whose length tells how fast a motion is.
_FIRST_FEW = 6

# A step this many times smaller than the spacing of floating point numbers leads nowhere.
_STALLED = 4.0


@dataclass(frozen=True)
class Taylor(AbstractIntegrator):
    """Taylor series to rounding, whatever the tolerances: order and step adapt to the motion.

    Needs heyoka and smooth forces. Fastest for all but stiff systems.

    References
    ----------
    F. Biscani, D. Izzo, Revisiting high-order Taylor methods for astrodynamics and celestial
    mechanics, MNRAS 504 (2021) 2614, section 2.

    Examples
    --------
    >>> x = st.coordinates("x")
    >>> free = st.System(kinetic=x.dot**2 / 2)
    >>> st.simulate(free, span=(0, 2), start={x.dot: 3.0}, method=st.Taylor())[x][-1]
    np.float64(6.0)
    """

    def pieces(
        self, ode: Ode, t: float, y: np.ndarray, end: float, *, grid: np.ndarray, dense: bool
    ) -> Iterator[Piece]:
        """Integrate; see `AbstractIntegrator`."""
        self._require(ode)
        engine = ode.kernel.engine
        # Copying takes longer than a short run: only a second motion at the same time needs to.
        first = engine.lock.acquire(blocking=False)
        try:
            stepper = engine.integrator() if first else copy.copy(engine.integrator())
            stepper.pars[:] = ode.p
            short = _first_step(stepper, t, y)
            walk = _between_steps if dense else _on_grid
            if t + short < end:
                inside = grid[grid <= t + short]
                yield from walk(stepper, t + short, inside, ode.longest)
                t, grid = t + short, grid[len(inside) :]
            yield from walk(stepper, end, grid, ode.longest)
        finally:
            if first:
                engine.lock.release()

    def first_steps(self, ode: Ode, t: float, y: np.ndarray) -> float:
        """Return the length of the shortest of the first few steps."""
        self._require(ode)
        engine, lengths = ode.kernel.engine, [ode.longest]
        with engine.lock:
            stepper = engine.integrator()
            stepper.pars[:] = ode.p
            stepper.time, stepper.state[:] = t, y
            for _ in range(_FIRST_FEW):
                stepper.step(ode.longest)
                if not np.isfinite(stepper.last_h) or not np.all(np.isfinite(stepper.state)):
                    break
                lengths.append(stepper.last_h)
        return min(x for x in lengths if x > 0)

    @staticmethod
    def _require(ode: Ode) -> None:
        if not heyoka.available():
            raise MissingExtra(
                say(
                    "st.Taylor() needs heyoka.",
                    "It is not installed; wheels exist for Linux on x86-64.",
                    'Use method="auto", st.Runge() or st.BDF().',
                )
            )
        if not ode.kernel.graph.scalar:
            raise StatementError(
                say(
                    "st.Taylor() cannot compile a system of this size.",
                    f"Found {ode.kernel.size} coordinates.",
                    'Use method="auto", st.Runge() or st.BDF().',
                )
            )
        if ode.kernel.kinks:
            raise StatementError(
                say(
                    "st.Taylor() needs smooth forces.",
                    f"Found {', '.join(ode.kernel.kinks)} in the equations: a series does not see "
                    "past a kink or a jump.",
                    'Use method="auto", st.Runge() or st.BDF().',
                )
            )


def _first_step(stepper: Any, t: float, y: np.ndarray) -> float:
    """Put the integrator at the start; return how long its first step may be, at most.

    The step is chosen from the last two coefficients of the series (Jorba & Zou 2005, section 3.2).
    At a symmetric instant these can vanish while those before them do not, and the step comes out
    too long: a double pendulum released with both arms level has only every fourth coefficient. A
    start is often such an instant, so that here all coefficients have a say.
    """
    stepper.time, stepper.state[:] = t, y
    stepper.step(write_tc=True)
    step, series = stepper.last_h, np.abs(stepper.tc)
    stepper.time, stepper.state[:] = t, y
    size = series[:, 0].max()
    if not np.isfinite(step) or size == 0 or not np.all(np.isfinite(series)):
        size = max(size, 1.0)
    orders = np.arange(2, series.shape[1])
    growth = ((series[:, 2:].max(axis=0) / size) ** (1 / orders)).max()
    return np.exp(-2.0) / growth if growth > 0 and growth * step > _DECAY else np.inf


def _on_grid(stepper: Any, end: float, grid: np.ndarray, longest: float) -> Iterator[Piece]:
    """Walk to the end and note the states at the output times on the way."""
    while stepper.time < end:
        before, state = stepper.time, stepper.state.copy()
        last = [] if len(grid) and grid[-1] == end else [end]
        times = np.concatenate([[before], grid, last])
        outcome, smallest, _, steps, _, states = stepper.propagate_grid(
            times, max_steps=_CHUNK, max_delta_t=longest
        )
        if _failed(stepper, outcome, smallest, end):
            # Again from where all was well, keeping every step: the last good one is wanted.
            stepper.time, stepper.state[:] = before, state
            yield from _between_steps(stepper, end, grid, longest)
            return
        reached = times[: len(states)]
        grid = grid[len(reached) - 1 :]
        ends = np.array([before, stepper.time])
        yield Piece(ends, _lookup(reached, states), stepper.state.copy(), steps, False)


def _between_steps(stepper: Any, end: float, grid: np.ndarray, longest: float) -> Iterator[Piece]:
    """Walk to the end and keep the series of every step."""
    while stepper.time < end:
        before = stepper.time
        outcome, smallest, _, steps, dense, _ = stepper.propagate_until(
            end, max_steps=_CHUNK, max_delta_t=longest, c_output=True
        )
        failed = _failed(stepper, outcome, smallest, end)
        if dense is None:
            raise BlowUp(before)
        times, evaluate = np.array(dense.times), _copied(dense)
        if failed:
            states = evaluate(times)
            finite = np.append(np.all(np.isfinite(states), axis=1), False)
            last = min(trusted(times), int(np.argmin(finite))) - 1
            if last > 0:
                yield Piece(times[: last + 1], evaluate, states[last], last)
            ended = stepper.time if np.isfinite(stepper.time) else times[max(last, 0)]
            raise BlowUp(float(ended))
        yield Piece(times, evaluate, stepper.state.copy(), steps)


def _failed(stepper: Any, outcome: Any, smallest: float, end: float) -> bool:
    stalled = smallest < _STALLED * np.spacing(abs(stepper.time)) and stepper.time < end
    return stalled or "nf_state" in str(outcome) or not np.all(np.isfinite(stepper.state))


def _copied(dense: Any) -> Callable[[np.ndarray], np.ndarray]:
    return lambda times: np.array(dense(times))


def _lookup(times: np.ndarray, states: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda wanted: states[np.searchsorted(times, wanted)]
