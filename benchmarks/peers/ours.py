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


def derive_rods(n: int) -> tuple[Any, dict[Any, Any]]:
    """State the same pendulum as particles on rods: positions and constraints."""
    import stationary as st

    r = st.coordinates("r", shape=(n, 2))
    m, length, g = st.parameters(**pendulum.PARAMETERS)

    def rod(a, b):
        return (b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - length**2

    links = st.each(rod, r[:-1], r[1:], name="rod") if n > 1 else []
    system = st.System(
        kinetic=st.each(lambda v: m * (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: m * g * p[1], r),
        constraints=[rod((0, 0), (r[0, 0], r[0, 1]))] + links,
    )
    angles, speeds = np.split(pendulum.start(n), 2)
    arm = pendulum.PARAMETERS["l"] * np.column_stack([np.sin(angles), -np.cos(angles)])
    across = np.column_stack([-arm[:, 1], arm[:, 0]])
    begin = {r: np.cumsum(arm, axis=0), r.dot: np.cumsum(speeds[:, None] * across, axis=0)}
    st.compile(system).acceleration(begin[r].ravel(), begin[r.dot].ravel())
    return system, begin


def _angles(y: np.ndarray) -> np.ndarray:
    """Turn positions and velocities into angles and angular velocities."""
    count = y.shape[1] // 4
    arm, speed = (
        np.diff(half.reshape(len(y), count, 2), axis=1, prepend=0.0)
        for half in (y[:, : 2 * count], y[:, 2 * count : 4 * count])
    )
    turning = (arm[..., 0] * speed[..., 1] - arm[..., 1] * speed[..., 0]) / np.sum(arm**2, axis=2)
    return np.hstack([np.arctan2(arm[..., 0], -arm[..., 1]), turning])


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


def optimized_rods(derived: Any):
    run = optimized(derived)
    return lambda: _angles(run())


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
    Peer(
        "stationary, rods",
        ("stationary", "heyoka"),
        derive_rods,
        optimized_rods,
        cached=True,
        note="the same pendulum stated as particles on rods: positions and constraints",
    ),
]
