"""A rope of fifty particles and springs that swings down: repetition stated once.

Not from the documents. One particle and one spring are stated, `each` repeats them. Inner forces
cancel in pairs, so that the whole obeys Newton's law under its weight and the pull of the support.
"""

import numpy as np

import stationary as st
from examples import Row, film, save

QUESTION = "How does it move?"

COUNT, LENGTH = 50, 1.0

r = st.coordinates("r", shape=(COUNT, 2))
m, g, k, c, h = st.parameters(m=0.01, g=9.81, k=3000.0, c=0.2, h=LENGTH / COUNT)


def stretched(a, b):
    """Return the energy of one spring."""
    return k * (st.norm(b - a) - h) ** 2 / 2


def system():
    first = r[0]
    return st.System(
        kinetic=st.each(lambda v: m * (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: m * g * p[1], r)
        + st.each(stretched, r[:-1], r[1:])
        + stretched(np.zeros(2), np.array([first[0], first[1]])),
        dissipation=st.each(
            lambda u, v: c * ((v[0] - u[0]) ** 2 + (v[1] - u[1]) ** 2) / 2, r.dot[:-1], r.dot[1:]
        ),
        parts=(
            st.Part("rod", ((0, 0), (first[0], first[1]))),
            st.Part("rod", (r[:-1], r[1:])),
            st.Part("particle", (r,)),
        ),
        name="rope",
    )


def swing(end=3.0):
    """Let it go from a slack, nearly level line."""
    along = np.arange(1, COUNT + 1) * LENGTH / COUNT
    start = np.stack([along * np.cos(0.3), along * np.sin(0.3)], axis=1)
    return st.simulate(system(), span=(0, end), start={r: start})


def results():
    moved = swing()
    # Newton's law of the whole: Σ m a = pull of the support + weight.
    momentum_rate = 0.01 * moved[r.dot.dot].sum(axis=1)
    first = moved[r][:, 0]
    distance = np.linalg.norm(first, axis=1, keepdims=True)
    pull = -3000.0 * (1 - LENGTH / COUNT / distance) * first
    weight = np.array([0, -0.01 * 9.81 * COUNT])
    gap = np.max(np.abs(momentum_rate - pull - weight)) / np.max(np.abs(pull))
    balance = moved.residual["energy"] / np.max(moved.kinetic)
    return [
        Row("Σ m a − pull − weight, relative", 0, gap, "Newton's law of the whole", 1e-12),
        Row("energy balance, relative", 0, balance, "conservation", 1e-12),
    ]


def pictures(folder):
    moved = swing(4.0)
    save(moved.plot(), folder / "rope.png")
    film(moved, folder / "rope.gif")


def live():
    along = np.arange(1, COUNT + 1) * LENGTH / COUNT
    return {
        "system": system(),
        "start": {r: np.stack([along * np.cos(0.3), along * np.sin(0.3)], axis=1)},
        "span": (0, 5),
    }
