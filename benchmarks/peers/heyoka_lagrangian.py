"""heyoka's own `lagrangian`: symbolic derivation in C++ and the same Taylor integrator."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import pendulum
from benchmarks.peers import Peer

# Up to here the default mode, which unrolls everything, compiles within seconds.
UNROLL_UP_TO = 3


def _equations(n: int, values: list[Any]) -> Any:
    import heyoka as hy

    q = [hy.expression(f"q{k}") for k in range(n)]
    v = [hy.expression(f"v{k}") for k in range(n)]
    kinetic, potential = pendulum.energies(q, v, *values, hy.sin, hy.cos)
    return hy.lagrangian(kinetic - potential, q, v)


def derive(n: int) -> Any:
    import heyoka as hy

    return _equations(n, [hy.par[k] for k in range(len(pendulum.PARAMETERS))])


def derive_with_numbers(n: int) -> Any:
    return _equations(n, list(pendulum.PARAMETERS.values()))


def _compile(equations: Any, compact: bool, pars: list[float]):
    import heyoka as hy

    state = pendulum.start(len(equations) // 2)
    stepper = hy.taylor_adaptive(equations, state, pars=pars, compact_mode=compact)
    grid = pendulum.times()

    def run() -> np.ndarray:
        stepper.time = 0.0
        stepper.state[:] = state
        return stepper.propagate_grid(grid)[-1]

    return run


def default(equations: Any):
    return _compile(equations, False, list(pendulum.PARAMETERS.values()))


def compact(equations: Any):
    return _compile(equations, True, list(pendulum.PARAMETERS.values()))


def with_numbers(equations: Any):
    return _compile(equations, len(equations) // 2 > UNROLL_UP_TO, [])


PEERS = [
    Peer(
        "heyoka.lagrangian",
        ("heyoka",),
        derive,
        default,
        cached=True,
        note="default mode: everything unrolled; Taylor series to rounding",
    ),
    Peer(
        "heyoka.lagrangian, compact",
        ("heyoka",),
        derive,
        compact,
        cached=True,
        variant=True,
        note="compact mode: loops; Taylor series to rounding",
    ),
    Peer(
        "heyoka.lagrangian, numbers",
        ("heyoka",),
        derive_with_numbers,
        with_numbers,
        cached=True,
        variant=True,
        note="masses, length and gravity are compiled in: a new value needs a new compile; "
        f"default mode up to n = {UNROLL_UP_TO}, compact beyond",
    ),
]
