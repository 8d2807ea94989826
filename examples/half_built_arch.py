"""A half-built arch, and the tilt at which it collapses.

Not from the documents, but named in their introduction. Stones of a ring rest on each other by the
ends of their joints, which press and rub. Built up to an angle it stands like a cantilever, so that
the force through every joint follows from what is above: it falls at the first tilt at which
somewhere this force leaves the joint or its cone of friction.
"""

import numpy as np

import stationary as st
from examples import Row, save

QUESTION = "Where does it rest?"

INNER, OUTER, MU = 0.9, 1.1, 0.7
STONE = np.radians(10.0)  # opening of one stone

tilt = st.parameters(tilt=1.0)  # horizontal force per weight, towards the gap


def joint(k):
    """Return the ends of a joint, the inner one first, and its directions along and across."""
    along = np.array([np.cos(np.pi - k * STONE), np.sin(np.pi - k * STONE)])
    return INNER * along, OUTER * along, along, np.array([along[1], -along[0]])


def middles(stones):
    a = np.pi - (np.arange(stones) + 0.5) * STONE
    r = 2 / 3 * (OUTER**3 - INNER**3) / (OUTER**2 - INNER**2) * np.sin(STONE / 2) / (STONE / 2)
    return r * np.stack([np.cos(a), np.sin(a)], axis=1)


def system(stones):
    q = st.coordinates("q", shape=(stones, 3))  # small displacements and turns of the stones
    G = middles(stones)

    def moved(k, point):
        turn = q[k, 2] * (point - G[k])
        return np.array([q[k, 0] - turn[1], q[k, 1] + turn[0]]) if k >= 0 else np.zeros(2)

    contacts = []
    for k in range(stones):
        *ends, along, across = joint(k)
        for name, end in zip(("inner", "outer"), ends):
            apart = moved(k, end) - moved(k - 1, end)
            contacts.append(st.Contact(across @ apart, MU, along @ apart, f"{name} {k}"))
    x, y = (sum(q[k, i] for k in range(stones)) for i in (0, 1))
    return st.System(potential=y, loads=[st.Load(tilt, on=x)], contacts=contacts)


def exact(stones):
    """Return the smallest tilt at which some joint opens or slips, stone weights being one."""
    G, found = middles(stones), []
    for k in range(stones):
        inner, _, along, across = joint(k)
        arm = G[k:].mean(axis=0) - inner
        # Turning about the inner end: weight holds, tilt overturns.
        found.append((-arm[0] / arm[1], k))
        # Slipping inwards along the joint: (s, −1)·(μ across − along) grows to zero.
        cone = MU * across - along
        found.append((cone[1] / cone[0], k))
    return min(found)


def results():
    rows = []
    for stones in (2, 3, 4):
        found = st.limit_load(system(stones), load=tilt)
        value, at = exact(stones)
        speed = np.abs(found.mode).reshape(stones, 3).max(axis=1)
        moving = int(np.sum(speed > 1e-6 * speed.max()))
        rows += [
            Row(f"tilt that {stones} stones bear", value, found.factor, "statics", 1e-7),
            Row(f"its kinematic bound, {stones} stones", value, found.kinematic, "duality", 1e-7),
            Row(f"stones that move, of {stones}", stones - at, moving, "statics"),
        ]
    return rows


def pictures(folder):
    import matplotlib.pyplot as plt

    with st.look() as colors:
        figure, axes = plt.subplots(1, 3, figsize=(9, 3.8))
        for panel, stones in zip(axes, (2, 3, 4)):
            found = st.limit_load(system(stones), load=tilt)
            mode = np.asarray(found.mode).reshape(stones, 3) * 0.12 / np.abs(found.mode).max()
            for k, G in enumerate(middles(stones)):
                a = np.pi - (k + np.linspace(0, 1, 8)) * STONE
                ring = np.stack([np.cos(a), np.sin(a)], axis=1)
                shape = np.vstack([INNER * ring, OUTER * ring[::-1]])
                c, s = np.cos(mode[k, 2]), np.sin(mode[k, 2])
                fallen = (shape - G) @ [[c, s], [-s, c]] + G + mode[k, :2]
                panel.fill(*shape.T, fc="0.92", ec="0.6", ls="-", zorder=1)
                panel.fill(*fallen.T, fc=colors[0], ec="k", alpha=0.5, ls="-", zorder=2)
            panel.set(xlim=(-1.2, -0.3), ylim=(-0.05, 0.85), aspect="equal", xlabel="x (m)")
            panel.set_title(f"{stones} stones: tilt {found.factor:.3f}")
    save(figure, folder / "half_built_arch.png")
