"""A block on a belt, held by a spring: it sticks and slips.

The limit of friction at rest is larger than in motion. The block rides on the belt until the spring
pulls harder than it holds, runs back, and is caught again. With Δ the difference of the limits
and ω = √(k/m) the period is 2Δ/(kv) + (2/ω)(π − atan(Δω/(kv))).
"""

from functools import cache

import numpy as np

import stationary as st
from examples import Row, save

QUESTION = "How does it move?"

x = st.coordinates("x")
m, k, v, slides, holds = st.parameters(m=1.3, k=7.0, v=0.2, slides=1.1, holds=2.0)


def system():
    belt = st.Friction(slides, on=x - v * st.t, static=holds, name="belt")
    return st.System(
        kinetic=m * x.dot**2 / 2, potential=k * x**2 / 2, friction=[belt], name="block on a belt"
    )


@cache
def motion():
    moved = st.simulate(system(), span=(0, 20), start={x.dot: 0.2}, points=2001)
    assert isinstance(moved, st.Touched)
    return moved


def results():
    more, w = 2.0 - 1.1, np.sqrt(7.0 / 1.3)
    period = 2 * more / (7 * 0.2) + 2 / w * (np.pi - np.arctan(more * w / (7 * 0.2)))
    moved = motion()
    slips = moved.changes.of("slip", "belt").t
    return [
        Row("period (s)", period, np.diff(slips).mean(), "closed form", 1e-10),
        Row("pull of the spring when it slips (N)", 2.0, 7.0 * moved.at(slips[1])[x],
            "the limit at rest", 1e-10),
        Row("energy: work of the belt − heat − stored (J)", 0.0, np.abs(moved.balance).max(),
            "balance", 1e-11),
    ]  # fmt: skip


def pictures(folder):
    save(motion().plot(x, x.dot), folder / "stick_slip.png")
