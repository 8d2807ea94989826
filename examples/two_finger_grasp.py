"""A part held between two fingers, and how the grasp fails as a load grows.

Not from the documents, but named in their introduction. One finger stands still, the other
presses with a force N; both are rough. A load P at the angle α through the middle is held up to
P = min(2μN/|sin α|, μN/(|sin α|/2 + μ cos α), N/cos α): the part slips in both fingers, in the
one that it is pulled away from, or leaves it. Off the middle it also turns about the nearer finger.
"""

import numpy as np

import stationary as st
from examples import Row, save

QUESTION = "How does it slide?"

MU, PRESS, HALF = 0.4, 10.0, 0.03

x, y, phi, X = st.coordinates("x y phi X")  # the part, and the finger that presses
alpha, reach = st.parameters(alpha=0.0, reach=0.0)
P = st.inputs("P")


def system():
    c, s = st.cos(phi), st.sin(phi)
    sides = [(x + sign * HALF * c, y + sign * HALF * s) for sign in (-1, 1)]
    held = (x + reach * c, y + reach * s)
    return st.System(
        work=-PRESS * X,
        loads=[st.Load((P * st.cos(alpha), P * st.sin(alpha)), on=held, name="load")],
        contacts=[
            st.Contact(sides[0][0] + HALF, friction=MU, slip=sides[0][1], name="standing"),
            st.Contact(X - sides[1][0] + HALF, friction=MU, slip=sides[1][1], name="pressing"),
        ],
        coordinates=[x, y, phi, X],
        name="two-finger grasp",
    )


def strength(angle, offset=0.0):
    return st.limit_load(system(), load=P, params={alpha: angle, reach: offset})


def exact(angle):
    """Return the closed form for a load through the middle."""
    s, c = abs(np.sin(angle)), np.cos(angle)
    bounds = [2 * MU * PRESS / s if s > 1e-12 else np.inf]
    if s / 2 + MU * c > 0:
        bounds.append(MU * PRESS / (s / 2 + MU * c))
    return min(bounds) if c <= 1e-12 else min(*bounds, PRESS / c)


def results():
    rows = []
    for degrees in (-90, -45, 0, 60, 150):
        found = strength(np.radians(degrees))
        rows.append(
            Row(
                f"strength at {degrees}°", exact(np.radians(degrees)), found.factor, "balance", 1e-7
            )
        )
    down = strength(-np.pi / 2)
    # Off the middle by d: the nearer finger carries (1 + d/a)/2 of the load.
    turning = strength(-np.pi / 2, 0.5 * HALF)
    mode = turning.mode
    return [
        *rows,
        Row("static − kinematic bound", 0.0, down.static - down.kinematic, "duality", 1e-6),
        Row("pulled down, it moves down", True, bool(down.mode[y] < 0), "its mode"),
        Row("strength, half-way to a finger", 2 * MU * PRESS / 1.5, turning.factor, "lever", 1e-7),
        Row("there it turns about the other", 0.0,
            (mode[y] - HALF * mode[phi]) / abs(mode[y]), "its mode", 1e-5),
        Row("held towards the standing finger", True,
            bool(np.isinf(strength(np.pi).factor)), "it only presses"),
    ]  # fmt: skip


def pictures(folder):
    """Draw the strength over the direction of the load, and how it fails."""
    import matplotlib.pyplot as plt

    angles = np.radians(np.arange(-168, 169, 8))
    with st.look() as colors:
        figure = plt.figure(figsize=(6, 5.2))
        axes = figure.add_subplot(projection="polar")
        for offset, color in ((0.0, colors[0]), (0.5, colors[1])):
            found = [min(strength(a, offset * HALF).factor, 30) for a in angles]
            axes.plot(angles, found, color=color, ls="-",
                      label=f"{offset:g} of the way to a finger")  # fmt: skip
        axes.plot(angles, [min(exact(a), 30) for a in angles], "k:", lw=1, label="closed form")
        axes.set_rmax(20)
        axes.set_title("load that the grasp holds (N), over its direction")
        figure.legend(loc="outside lower center", ncols=3)
    save(figure, folder / "two_finger_grasp.png")
