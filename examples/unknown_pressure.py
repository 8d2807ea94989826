"""A box pushed by a finger when nobody knows how it rests: bounds, and where it can turn about.

Not from the documents, but the question that Peshkin and Sanderson asked next (1988): over all
pressures with the same centre, a disc of radius a pushed at the distance c turns about a point at
most a²/c away. Extreme pressures have a few atoms; a part that rests on them moves as bounded.
"""

from functools import cache

import numpy as np

import stationary as st
from examples import Row, save

QUESTION = "How does it slide?"

BOX = [(-0.05, -0.03), (0.05, -0.03), (0.05, 0.03), (-0.05, 0.03)]
FINGER = st.Pusher(point=(0.02, st.t - 0.03), edge=(BOX[0], BOX[1]))
C = 0.5


@cache
def box(of):
    part = st.slider(outline=BOX, weight=2.0, centre=(0, 0), pusher=FINGER, name="box")
    return st.pressure_bounds(part, of=of, count=120)


@cache
def disc(of):
    finger = st.Pusher(point=(C, st.t - 1), edge=((-1, -1), (1, -1)))
    return st.pressure_bounds(
        st.slider(radius=1.0, weight=1.0, centre=(0, 0), pusher=finger), of=of
    )


def results():
    found, even = box("phi.dot"), st.slider(outline=BOX, limit=2.0, pusher=FINGER, count=400)
    ends = []
    for points, weights in found.pressures:
        known = st.slider(points=points, weights=weights, pusher=FINGER)
        ends.append(st.minimum_power(known)["phi.dot"])
    rate = st.minimum_power(even)["phi.dot"]
    power = disc("power")
    return [
        Row("slowest rate of a disc", C / (1 + C**2), disc("phi.dot").low, "tip line a²/c", 1e-9),
        Row("fastest rate of a disc", (2 + C) / (C * (1 + C)), disc("phi.dot").high,
            "two atoms, one at rest", 1e-9),
        Row("greatest power of a disc", np.hypot(1, 1 / C) / (1 / C + C), power.high,
            "the slowest pressure", 1e-6),
        Row("slowest rate of the box (rad/m)", found.low, ends[0], "its pressure",
            1e-6 * found.low),
        Row("fastest rate of the box (rad/m)", found.high, ends[1], "its pressure",
            1e-5 * found.high),
        Row("an even pressure is between", True, found.low < rate < found.high, "it is one"),
        Row("turns counterclockwise", True, found.proof.turns == "counterclockwise", "the vote"),
    ]  # fmt: skip


def pictures(folder):
    """Draw the locus in the box."""
    save(box("centre").plot(), folder / "unknown_pressure.png")
