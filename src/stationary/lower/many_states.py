"""A function of time, state and values at any number of states, a block of them in one call."""

from __future__ import annotations

from functools import lru_cache

import casadi as ca
import numpy as np

from stationary.lower.engines.casadi import Numeric

# States of a block: of what is small so many, that a call costs little beside them, and many times
# as many where there are that many; of what is large so few, that those that fill up the last block
# cost little; of graphs of matrices one.
_SMALL, _BLOCK, _FEW, _MANY = 1000, 64, 8, 8


def at_states(one: ca.Function, t: np.ndarray, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return what a function of t, y and p gives at times and states, one row each.

    Values p are the same for all, or one row each, too.
    """
    block = _block(one)
    if block > 1 and len(t) > (_MANY - 1) * block:
        block *= _MANY
    values, mapped = np.empty((len(t), one.numel_out(0))), _mapped(one, block, p.ndim == 1)
    for first in range(0, len(t), block):
        here = slice(first, first + block)
        times, states, params = t[here], y[here], p if p.ndim == 1 else p[here]
        n = len(times)
        if n < block:
            padded = np.minimum(np.arange(block), n - 1)
            times, states = times[padded], states[padded]
            params = params if p.ndim == 1 else params[padded]
        looked = mapped(times, states.ravel(), params.ravel())[0]
        values[here] = looked.reshape(block, -1)[:n]
    return values


@lru_cache(maxsize=256)
def _block(one: ca.Function) -> int:
    if not one.is_a("SXFunction"):
        return 1
    return _BLOCK if one.n_instructions() < _SMALL else _FEW


@lru_cache(maxsize=256)
def _mapped(one: ca.Function, block: int, shared: bool) -> Numeric:
    """Return a function of t, y and p at several states at once, which may share p."""
    return Numeric(one.map(one.name(), "serial", block, [2] if shared else [], []))
