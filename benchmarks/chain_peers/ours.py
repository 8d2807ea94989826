"""stationary itself, through its public door."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.chain import GRAVITY, POINTS, Chain
from benchmarks.peers import Peer


def derive(chain: Chain) -> tuple[Any, dict, Chain]:
    import stationary as st

    r = st.coordinates("r", shape=(chain.masses, 2))
    m, length = st.parameters(m=chain.mass, l=chain.link)

    def link(a, b):
        return st.norm((b[0] - a[0], b[1] - a[1])) - length

    links: list[Any] = [st.Constraint(link((0, 0), r[0]), name="first")]
    links.append(st.each(link, r[:-1], r[1:], name="link"))
    if chain.closed:
        links.append(st.Constraint(link(r[-1], chain.support()), name="last"))
    system = st.System(
        kinetic=st.each(lambda v: m * (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: -m * (GRAVITY[0] * p[0] + GRAVITY[1] * p[1]), r),
        constraints=links,
    )
    start = {r: chain.start()}
    # Equations are derived when they are first needed: one evaluation makes sure that they are.
    st.compile(system).force(chain.start().ravel())
    return system, start, chain


def _runner(derived: Any):
    import stationary as st

    system, start, chain = derived

    def run() -> np.ndarray:
        motion = st.simulate(system, span=(0.0, chain.last), start=start, points=POINTS)
        run.steps = motion.steps  # pyright: ignore[reportFunctionMemberAccess]
        return np.hstack([motion.q, motion.v])

    return run


def optimized(derived: Any):
    import stationary as st

    st.compile(derived[0]).optimize()
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
]
