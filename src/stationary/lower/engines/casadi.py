"""The reference engine: CasADi's own virtual machine, called without copies."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np


def caller(rhs: ca.Function, p: np.ndarray) -> Callable[[float, np.ndarray], np.ndarray]:
    """Return f(t, y) for fixed p, fast enough to sit inside an integrator's loop.

    The array that it returns is its own: the next call does not change it.
    """
    buffer, evaluate = rhs.buffer()
    time, state, values = np.zeros(1), np.zeros(rhs.numel_in(1)), np.array(p, dtype=float)
    result = np.zeros(rhs.numel_out(0))
    for k, array in enumerate((time, state, values)):
        buffer.set_arg(k, array.data)  # pyright: ignore[reportCallIssue]  # wrongly declared
    buffer.set_res(0, result.data)  # pyright: ignore[reportCallIssue]  # wrongly declared

    # The buffer holds addresses only: what it points to must live as long as the function.
    alive = (buffer, values)

    def f(t: float, y: np.ndarray, _alive=alive) -> np.ndarray:
        time[0] = t
        state[:] = y
        evaluate()
        return result.copy()

    return f
