"""The loads of four feet, found by pushing the part and watching how it moves.

Not from the documents: the principle of minimum power read backwards. Once the motion is known,
friction is linear in the loads. Without noise the loads come back exactly; with errors of 0.1 mm
and 0.1° they lie within their intervals; one push alone does not tell them, and says so.
"""

from functools import cache

import numpy as np

import stationary as st
from examples import Row, save

QUESTION = "How does it slide?"

FEET = [(0.04, 0.02), (-0.04, 0.02), (-0.04, -0.02), (0.04, -0.02)]
LOADS = np.array([0.1, 0.2, 0.3, 0.4])
NOISE = (1e-4, np.radians(0.1))
PLACES = [((0.02, -0.03), (0, 1)), ((-0.03, -0.03), (0, 1)), ((0.05, 0.01), (-1, 0)),
          ((0.01, 0.03), (0, -1)), ((-0.05, -0.01), (1, 0)), ((-0.02, 0.03), (0, -1))]  # fmt: skip


@cache
def motions():
    """Return how the part moves when a finger advances 10 mm at each place."""
    part = st.slider(points=FEET, weights=LOADS)
    x, y, phi = part.coordinates
    found = []
    for (a, b), (p, q) in PLACES:
        gap = p * (x + st.cos(phi) * a - st.sin(phi) * b - a)
        gap += q * (y + st.sin(phi) * a + st.cos(phi) * b - b)
        step = st.minimum_power(part + st.System(constraints=[gap - 0.01 * st.t]))
        found.append([step[c.dot] for c in (x, y, phi)])
    return np.array(found)


def fit(count=6, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    moved = motions() + noise * rng.normal(size=(6, 3)) * [NOISE[0], NOISE[0], NOISE[1]]
    pushes = [
        st.Push(point=place, normal=normal, motion=motion)
        for (place, normal), motion in zip(PLACES[:count], moved)
    ]
    known = {"noise": NOISE} if noise else {}
    return st.fit_pressure(st.slider(points=FEET, weight=1.0, name="box"), pushes=pushes, **known)


def results():
    exact, noisy, one = fit(), fit(noise=1.0), fit(count=1)
    low, high = noisy.intervals.T
    inside = (low <= LOADS) & (LOADS <= high)
    rows = [Row(f"load of foot {k}", LOADS[k], exact.weights[k], "stated", 1e-8) for k in range(4)]
    return rows + [
        Row("with noise: within the intervals", True, bool(inside.sum() >= 3), "95 % of them"),
        Row("one push tells four feet", False, bool(one.identifiable), "it cannot"),
        Row("changes it does not notice", 1, len(one.identifiable.directions), "3 − 2 equations"),
    ]  # fmt: skip


def pictures(folder):
    """Draw the loads and their intervals."""
    save(fit(noise=1.0).plot(), folder / "weighed_by_pushing.png")
