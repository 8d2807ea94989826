"""Deciding what SymPy cannot: expressions at random states, in more digits than they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import mpmath
import numpy as np
import sympy as sp
from sympy.simplify.cse_main import tree_cse

from stationary.derive.readable import tidy
from stationary.model.symbols import Parameter, Velocity

#: States at which an expression is evaluated where SymPy cannot decide.
STATES = 20


def sampled(expressions: Sequence[sp.Expr], count: int = STATES) -> Iterator[list[Any]]:
    """Evaluate expressions at random states, where they are real; what vanishes is exactly 0.

    Parameters take their defaults, or random positive values.
    """
    symbols = sorted(set().union(*(e.free_symbols for e in expressions)), key=str)
    function = compiled(symbols, expressions, "mpmath")
    random = np.random.default_rng(1)
    drawn = [random_state(symbols, random) for _ in range(5 * count)]
    # Of many roots and logarithms one is always undefined, unless everything is positive.
    signed = (Parameter, Velocity)
    positive = (
        [x if isinstance(s, signed) else abs(x) for s, x in zip(symbols, state)] for state in drawn
    )
    for state in chain(drawn, positive):
        values = _evaluated(function, state)
        if values is not None:
            yield values
            count -= 1
        if count == 0:
            return


def compiled(symbols: Sequence[Any], expressions: Any, module: str) -> Callable[..., Any]:
    """Return a function of numbers; what occurs twice is evaluated once."""

    def shared(several: Any) -> Any:
        # Subexpressions are found in one walk; SymPy's search for common factors takes far longer.
        return tree_cse(several, sp.numbered_symbols(), order="none")

    return sp.lambdify(symbols, list(expressions), module, cse=shared)


def _evaluated(function: Callable[..., list], state: list[float]) -> list[Any] | None:
    """Evaluate to 30 and to 60 digits: a number that is zero shrinks, every other one stays."""
    try:
        with mpmath.workdps(30):
            coarse = [mpmath.mpmathify(value) for value in function(*map(mpmath.mpf, state))]
        with mpmath.workdps(60):
            fine = [mpmath.mpmathify(value) for value in function(*map(mpmath.mpf, state))]
    except (ZeroDivisionError, ValueError):
        return None
    if not all(mpmath.isfinite(value) and mpmath.im(value) == 0 for value in fine):
        return None
    return [value if abs(value - approximate) < 1e-6 * abs(value) else mpmath.mpf(0)
            for value, approximate in zip(fine, coarse)]  # fmt: skip


def random_state(symbols: Iterable[Any], random: np.random.Generator) -> list[float]:
    """Return values of coordinates, velocities and parameters."""
    return [_random_value(s, random) for s in symbols]


def _random_value(symbol: sp.Basic, random: np.random.Generator) -> float:
    if isinstance(symbol, Parameter) or symbol.is_positive:
        given = getattr(symbol, "default", None)
        return random.uniform(1, 2) if given is None else given
    # Small velocities keep a particle with a limiting speed below it.
    size = 0.5 if isinstance(symbol, Velocity) else 2.0
    return random.uniform(-size, size)


def vanish(expressions: Iterable[sp.Expr]) -> tuple[bool, str]:
    """Tell whether all expressions are zero for every state, and how that was found out."""
    left = [e for e in expressions if e != 0]
    # One state where they do not vanish is cheaper than a proof that they do.
    if left and any(any(values) for values in sampled(left, 1)):
        return False, "sampled at 1 state"
    left = [e for e in map(tidy, left) if e != 0]
    if not left:
        return True, "exact"
    states = list(sampled(left))
    return len(states) > 0 and not any(map(any, states)), f"sampled at {states_of(len(states))}"


def vanishes(e: sp.Expr) -> bool:
    """Tell whether an expression is zero for every state."""
    return vanish((e,))[0]


def states_of(count: int) -> str:
    """Write how many states there were."""
    return f"{count} state{'' if count == 1 else 's'}"
