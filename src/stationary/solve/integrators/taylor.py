"""Taylor series of high order, compiled by heyoka: the default for smooth motions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from math import isfinite
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

# The step over the reach of the series, as an integrator chooses it (Jorba & Zou).
_LONGEST = np.exp(-2.0)

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
        first = engine.lock.acquire(blocking=False)
        try:
            stepper = engine.integrator(ode.p, alone=first)
            short = _first_step(stepper, t, y)
            walk = _between_steps if dense else _on_grid
            yield from walk(stepper, end, grid, ode.longest, short)
        finally:
            if first:
                engine.lock.release()

    def first_steps(self, ode: Ode, t: float, y: np.ndarray) -> float:
        """Return the length of the shortest of the first few steps."""
        self._require(ode)
        engine, lengths = ode.kernel.engine, [ode.longest]
        with engine.lock:
            stepper = engine.integrator(ode.p)
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
    start is often such an instant, so that here the whole second half of the series has a say.
    """
    stepper.time, stepper.state[:] = t, y
    stepper.step(write_tc=True)
    step, series = stepper.last_h, np.abs(stepper.tc)
    stepper.time, stepper.state[:] = t, y
    roots, size = _roots(series.shape[1]), series[:, 0].max() or 1.0
    growth = ((series[:, -len(roots) :] / size) ** roots).max()
    # Coefficients beyond all numbers tell no length; the integrator will find that out itself.
    return _LONGEST / growth if 0 < growth < np.inf and growth * step > _DECAY else np.inf


@cache
def _roots(count: int) -> np.ndarray:
    """Return one over the orders in the second half of so many coefficients."""
    return 1 / np.arange(count // 2, count)


def _on_grid(
    stepper: Any, end: float, grid: np.ndarray, longest: float, short: float
) -> Iterator[Piece]:
    """Walk to the end and note the states at the output times on the way."""
    time = stepper.time
    while time < end:
        first, state = time, stepper.state.copy()
        reached, found, steps = [], [], 0
        while time < end and steps < _CHUNK:
            until, short = min(end, time + short), np.inf
            ahead = grid if until == end else grid[: grid.searchsorted(until, "right")]
            before = () if len(ahead) and ahead[0] == time else (time,)
            after = () if len(ahead) and ahead[-1] == until else (until,)
            times = np.concatenate((before, ahead, after)) if before or after else ahead
            outcome, smallest, _, taken, _, states = stepper.propagate_grid(
                times, max_steps=_CHUNK, max_delta_t=longest
            )
            time = stepper.time
            if _failed(stepper, outcome, smallest, end):
                # Again from where all was well, keeping every step: the last good one is wanted.
                stepper.time, stepper.state[:] = first, state
                yield from _between_steps(stepper, end, grid, longest, np.inf)
                return
            skip = len(before)
            count = min(len(states) - skip, len(ahead))
            reached.append(ahead[:count])
            found.append(states[skip : count + skip])
            grid, steps = grid[count:], steps + taken
        state = stepper.state.copy()
        lookup = _lookup(_joined(reached), _joined(found), state)
        yield Piece(np.array([first, time]), lookup, state, steps, False)


def _between_steps(
    stepper: Any, end: float, grid: np.ndarray, longest: float, short: float
) -> Iterator[Piece]:
    """Walk to the end and keep the series of every step."""
    while stepper.time < end:
        before = stepper.time
        until, short = min(end, before + short), np.inf
        outcome, smallest, _, steps, dense, _ = stepper.propagate_until(
            until, max_steps=_CHUNK, max_delta_t=longest, c_output=True
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


@cache
def _lost() -> Any:
    """Return what heyoka says of a state that is not finite."""
    from heyoka import taylor_outcome

    return taylor_outcome.err_nf_state


def _failed(stepper: Any, outcome: Any, smallest: float, end: float) -> bool:
    stalled = smallest < _STALLED * np.spacing(abs(stepper.time)) and stepper.time < end
    return stalled or outcome == _lost() or not isfinite(stepper.state.sum())


def _copied(dense: Any) -> Callable[[np.ndarray], np.ndarray]:
    return lambda times: np.array(dense(times))


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _lookup(
    times: np.ndarray, states: np.ndarray, end: np.ndarray
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the states at some of the noted times, or at the end of the walk."""

    def evaluate(wanted: np.ndarray) -> np.ndarray:
        # Nothing else is asked for: as many, with the same ends, are the same.
        if len(wanted) == len(times) and wanted[0] == times[0] and wanted[-1] == times[-1]:
            return states
        whole = np.vstack([states, end])
        return whole[np.searchsorted(times, wanted)]

    return evaluate
