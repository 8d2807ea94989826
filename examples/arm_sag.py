"""A robot arm sags under a load and does not come back: joints with springs and dry friction.

Not from the documents, but named in their introduction. Two links are held by servos of stiffness
k and rub with a torque f in every joint. As the load at the tip grows, a joint stays until the
torque in it exceeds f, then gives way by (torque − f)/k; unloaded, it comes back to within f/k.
The torques depend on the shape, so that the sag is the root of two equations, found apart.
"""

from functools import cache

import numpy as np
from scipy.optimize import fsolve

import stationary as st
from examples import Row, film, save

QUESTION = "Where does it rest?"

LINK, STIFF, DRY, LOAD = 0.4, (60.0, 40.0), (1.2, 0.8), 12.0
REST = np.radians([35.0, -50.0])  # of the first link, and of the second against it

a, b = st.coordinates("a b")
P = LOAD * (1 - st.Abs(st.t - 1))  # grows and goes
elbow = (LINK * st.cos(a), LINK * st.sin(a))
tip = (elbow[0] + LINK * st.cos(a + b), elbow[1] + LINK * st.sin(a + b))


def system():
    servos = sum(k * (q - float(r)) ** 2 / 2 for k, q, r in zip(STIFF, (a, b), REST))
    return st.System(
        potential=servos,
        loads=[st.Load(-P, on=tip[1], name="load")],
        friction=[st.Friction(f, on=q, name=str(q)) for f, q in zip(DRY, (a, b))],
        parts=(
            st.Part("rod", ((0, 0), elbow)),
            st.Part("rod", (elbow, tip)),
            st.Part("particle", (tip,)),
        ),
        name="robot arm",
    )


@cache
def loading():
    return st.quasistatics(
        system(), span=(0, 2), start={a: float(REST[0]), b: float(REST[1])}, points=81, step=0.0125
    )


def torques(q, load):
    reach = LINK * np.cos(q[0]), LINK * np.cos(q[0] + q[1])
    return -load * np.array([reach[0] + reach[1], reach[1]])


def sagged():
    """Return the shape under the full load: every joint carries its torque but for f."""
    return fsolve(lambda q: torques(q, LOAD) + DRY - np.array(STIFF) * (q - REST), REST, xtol=1e-13)


def left(full):
    """Return the shape once unloaded: a joint comes back to f/k, if it had gone further."""
    return REST + np.clip(full - REST, -np.array(DRY) / STIFF, np.array(DRY) / STIFF)


def height(q):
    return LINK * (np.sin(q[0]) + np.sin(q[0] + q[1]))


def results():
    moved = loading()
    full, after = sagged(), left(sagged())
    middle = len(moved.t) // 2
    under, free = ([moved[q][k] for q in (a, b)] for k in (middle, -1))
    sag, lasting = (1000 * (height(REST) - height(q)) for q in (under, free))
    return [
        Row("a under load", full[0], under[0], "balance of torques", 1e-8),
        Row("b under load", full[1], under[1], "balance of torques", 1e-8),
        Row("sag under load (mm)", 1000 * (height(REST) - height(full)), sag, "balance", 1e-4),
        Row("a afterwards", after[0], free[0], "f/k", 1e-8),
        Row("b afterwards", after[1], free[1], "f/k", 1e-8),
        Row("lasting sag (mm)", 1000 * (height(REST) - height(after)), lasting, "f/k", 1e-4),
    ]


def pictures(folder):
    """Draw the load over the sag of the tip, and a film."""
    import matplotlib.pyplot as plt

    moved = loading()
    sag = 1000 * (height(REST) - moved[tip[1]])
    with st.look() as colors:
        figure, axes = plt.subplots(figsize=(5.6, 4.0))
        axes.plot(sag, LOAD * (1 - np.abs(moved.t - 1)), color=colors[0], ls="-")
        axes.plot(1000 * (height(REST) - height(left(sagged()))), 0, "o", color=colors[1])
        axes.set(xlabel="sag of the tip (mm)", ylabel="load (N)", title="up and down again")
        axes.margins(0.05)
    save(figure, folder / "arm_sag.png")
    film(moved, folder / "arm_sag.gif")
