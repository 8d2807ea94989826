"""What is asked of a simulation: taken if it makes sense, refused by name if not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, lru_cache
from math import isfinite
from threading import current_thread, main_thread
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from stationary.errors import DerivationError, StatementError, spelled
from stationary.model.layout import number
from stationary.model.numbers import as_real, number_of
from stationary.model.system import System
from stationary.model.terms import Drag
from stationary.result.equilibrium import Equilibrium
from stationary.solve.motion.stabilize import Baumgarte, Projection

Question = TypeVar("Question", bound=Callable[..., Any])


def quiet(function: Question) -> Question:
    """Let a question say which argument is misspelled, and keep NumPy quiet and in one thread.

    What is not finite is found, and told in words, by the gate.
    """
    return spelled(_one_thread()(np.errstate(all="ignore")(function)))


@contextmanager
def _one_thread() -> Iterator[None]:
    """Hold BLAS to one thread: matrices are small or sparse, and threads wait for each other.

    Their number belongs to the process: questions beside each other would give back what another
    has set, so that the main thread alone sets it.
    """
    with _blas().limit(limits=1) if current_thread() is main_thread() else nullcontext():
        yield


@cache
def _blas() -> Any:
    return ThreadpoolController().select(user_api="blas")


def refuse_unsmooth(system: System, values: np.ndarray) -> None:
    """Refuse, by name, what cannot be honoured: a force left out is a wrong answer."""
    for term in system.friction:
        if isinstance(term, Drag) and _steep(term, dict(zip(system.parameters, values.tolist()))):
            raise DerivationError(
                f"simulate cannot honour friction '{term.name}'.",
                "It grows infinitely steep at rest (power below 1), as dry friction does: "
                f"{term.stated}.",
                "Choose coordinates that need no such term, or leave it out knowingly.",
            )


def touches(system: System) -> bool:
    """Tell whether a system has contacts or dry friction."""
    return bool(system.contacts) or any(not isinstance(x, Drag) for x in system.friction)


def _steep(drag: Any, values: dict) -> bool:
    """Tell whether the power of a drag, or of one row of it, is below 1."""
    if drag.table is not None and drag.power.free_symbols & drag.table.columns.keys():
        return any(_steep(row, values) for row in drag.written_out())
    return bool((drag.power.subs(values) - 1).is_negative)


def stabilization(stabilize: Any) -> Baumgarte | Projection:
    """Take a way of keeping to the constraints; none means one of our choice."""
    if stabilize is None:
        return Baumgarte()
    if isinstance(stabilize, (Baumgarte, Projection)):
        return stabilize
    raise StatementError(
        "stabilize must be Baumgarte() or Projection().",
        f"Found the class {stabilize.__name__}."
        if isinstance(stabilize, type)
        else f"Found {str(stabilize)[:60]}.",
        "Pass an object, as in stabilize=st.Baumgarte(alpha=50), or leave it out.",
    )


def tolerance(name: str, value: Any) -> float:
    """Take a positive number."""
    allowed = value if type(value) is float and isfinite(value) else number(value, name)
    if allowed <= 0:
        raise StatementError(
            f"{name} is not positive.", f"Found {allowed:g}.", "Give a small number, as 1e-10."
        )
    return allowed


def as_time(t: Any) -> float:
    """Return a time as a number."""
    time = number_of(t)
    if not np.isfinite(time):
        raise StatementError(
            "t is not a time.", f"Found {t!r}, expected a finite number.", "Give seconds."
        )
    return time


def require_own(rest: Equilibrium, system: System) -> None:
    """Refuse the equilibrium of another system."""
    # Equal statements are one, whatever else has been declared beside them.
    if rest.system.known_by_name.coordinates != system.known_by_name.coordinates:
        raise StatementError(
            "the equilibrium belongs to another system.",
            f"Found coordinates {rest.system.coordinates}, expected {system.coordinates}.",
            "Pass an equilibrium of this system.",
        )


# Steps of a span, and the square of it, are numbers.
_SHORTEST, _LONGEST = 1e-290, 1e150


def times(span: Any) -> tuple[float, float]:
    """Take a first and a last time."""
    try:
        first, last = as_real(span).tolist()
    except (TypeError, ValueError, OverflowError):
        raise StatementError(
            "span is not a pair of times.",
            f"Found {span!r}.",
            "Give the first and the last time, as in span=(0, 10).",
        ) from None
    finite = isfinite(first) and isfinite(last)
    if not finite or first >= last:
        kind = "not finite" if not finite else "reversed" if first > last else "empty"
        raise StatementError(
            f"span is {kind}.",
            f"Found ({first:g}, {last:g}), expected a first time before a last one.",
            "Give them in order, as in span=(0, 10)."
            if finite
            else "Give two finite times, as in span=(0, 10).",
        )
    if not _SHORTEST < last - first < _LONGEST:
        raise StatementError(
            f"span is too {'short' if last - first < 1 else 'long'} for numbers.",
            f"Found a length of {last - first:.3g}, expected {_SHORTEST:g} to {_LONGEST:g}.",
            "Measure time in another unit.",
        )
    return first, last


# A motion holds so many numbers at most: a gigabyte, and a few times that while it is examined.
_MOST_NUMBERS = 10**8


def count(points: Any, span: tuple[float, float], coordinates: int) -> int:
    """Take a number of output times of a motion."""
    if not isinstance(points, (int, np.integer)) or points < 2:
        raise StatementError(
            "points is not a number of output times.",
            f"Found {points!r}, expected a whole number, 2 or more.",
            "Give how many evenly spaced times to return, as in points=1001.",
        )
    # Places, velocities, and at each time a time, energies and works.
    most = _MOST_NUMBERS // (2 * coordinates + 6)
    if points > most:
        raise StatementError(
            "points are too many.",
            f"Found {points}, expected at most {most} for {coordinates} coordinate(s).",
            f"Ask for fewer, as in points={min(most, 1001)}.",
        )
    first, last = span
    instants = (last - first) / float(np.spacing(max(abs(first), abs(last))))
    if points - 1 > instants:
        raise StatementError(
            "span is too short beside the time at which it begins.",
            f"Found {points} points between {first:.17g} and {last:.17g}, which have numbers for "
            f"{instants:.0f} steps of time.",
            "Begin at time 0, or ask for fewer points.",
        )
    return int(points)


@lru_cache(maxsize=8)
def grid(first: float, last: float, points: int) -> np.ndarray:
    """Return the output times; motions copy them."""
    return np.linspace(first, last, points)
