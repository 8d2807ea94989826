"""stationary itself, through its public door."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np

from benchmarks import pendulum
from benchmarks.peers import Peer


def statement(n: int) -> tuple[Any, dict[Any, float]]:
    """State the pendulum as a user would; return it with its start."""
    import stationary as st

    angles = [st.coordinates(f"theta{k}") for k in range(n)]
    m, length, g = st.parameters(**pendulum.PARAMETERS)
    x, y, parts = 0, 0, []
    for angle in angles:
        x, y = x + length * st.sin(angle), y - length * st.cos(angle)
        parts.append(st.particle(m, at=(x, y), gravity=g))
    state = pendulum.start(n)
    begin = {a: state[k] for k, a in enumerate(angles)}
    begin |= {a.dot: state[n + k] for k, a in enumerate(angles)}
    return reduce(add, parts), begin


def derive(n: int) -> tuple[Any, dict[Any, float]]:
    import stationary as st

    system, begin = statement(n)
    # Equations are derived when they are first needed: one evaluation makes sure that they are.
    st.compile(system).acceleration(*np.split(pendulum.start(n), 2))
    return system, begin


def _runner(derived: Any):
    import stationary as st

    system, begin = derived

    def run() -> np.ndarray:
        return st.simulate(system, span=(0.0, pendulum.LAST), start=begin, points=pendulum.POINTS).y

    return run


def optimized(derived: Any):
    import stationary as st

    st.compile(derived[0]).optimize()
    return _runner(derived)


def first(derived: Any):
    import stationary as st

    # The first run compiles; this one is so short that it does nothing else.
    st.simulate(derived[0], span=(0.0, 1e-6), start=derived[1], points=2)
    return _runner(derived)


PEERS = [
    Peer(
        "stationary",
        ("stationary", "heyoka"),
        derive,
        optimized,
        cached=True,
        note="st.compile(system).optimize(), then st.simulate with all its checks",
    ),
    Peer(
        "stationary, first code",
        ("stationary", "heyoka"),
        derive,
        first,
        cached=True,
        note="what a first run uses; optimized code replaces it in the background",
    ),
]
