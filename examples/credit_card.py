"""A credit card pushed by a finger: it turns away under an even pressure.

Not from the documents, but the example of their introduction. At an instant the card turns so that
∫ |v| dA is least, which is compared with Gauss quadrature and a search over the rate of turning.
Over time the finger sticks to the edge until the card has turned out of its way. Inertia changes
that by 10 % at roughly 10 cm/s, as the introduction says.
"""

from functools import cache

import numpy as np
from scipy.optimize import minimize_scalar

import stationary as st
from examples import Row, film, save

QUESTION = "How does it slide?"

LONG, WIDE = 0.0856, 0.0540  # ISO/IEC 7810 ID-1
WEIGHT, ROUGH, GRIP, WAY = 0.005 * 9.81, 0.3, 0.8, 0.045
OFF = 0.02  # of the finger from the middle of the long edge
CORNERS = [(-LONG / 2, -WIDE / 2), (LONG / 2, -WIDE / 2), (LONG / 2, WIDE / 2),
           (-LONG / 2, WIDE / 2)]  # fmt: skip


def card(count=400, speed=1):
    way = speed * st.t - WIDE / 2
    finger = st.Pusher((OFF, way), edge=(CORNERS[0], CORNERS[1]), friction=GRIP, name="finger")
    return st.slider(outline=CORNERS, limit=ROUGH * WEIGHT, count=count, pusher=finger, name="card")


def fastest():
    """Return the speed of the finger at which inertia counts for 10 %."""
    V = st.parameters(V=0.1)
    part = card(60, V)
    x, y, phi = part.coordinates
    turning = (LONG**2 + WIDE**2) / 12 * phi.dot**2
    mass = st.System(kinetic=WEIGHT / 9.81 * (x.dot**2 + y.dot**2 + turning) / 2)
    return st.quasistatic_error(part + mass, speed=V, travel=WAY, within=(0.01, 2), count=60).speed


def turning():
    """Return the rate of turning, per way pushed, of a card whose edge sticks to the finger."""
    node, weight = np.polynomial.legendre.leggauss(120)
    X, Y = np.meshgrid(node * LONG / 2 - OFF, node * WIDE / 2 + WIDE / 2)
    share = np.outer(weight, weight) / 4

    def taken(omega):
        return float(np.sum(share * np.hypot(omega * Y, 1 + omega * X)))

    found = minimize_scalar(taken, bounds=(0, 60), method="bounded", options={"xatol": 1e-10})
    return found.x, found.fun


@cache
def push():
    return st.quasistatics(card(count=150), span=(0, WAY), points=61, step=WAY / 60)


def results():
    omega, power = turning()
    step = st.minimum_power(card(count=2000))
    balance = st.newton(card(count=200))
    same = st.minimum_power(card(count=200))
    moved = push()
    return [
        Row("turning per metre pushed (rad/m)", omega, step["phi.dot"], "quadrature", 2e-2),
        Row("force of the finger / friction", power, step.dissipated / ROUGH / WEIGHT,
            "quadrature", 1e-4),
        Row("the finger sticks", True, step.modes["finger"] == "sticks", "its cone"),
        Row("turning by the balance of forces", same["phi.dot"], balance["phi.dot"],
            "Newton's law", 1e-7),
        Row("duality gap", 0.0, step.gap, "certificate", 1e-9),
        Row("speed for an error of 10 % (m/s)", 0.1, fastest(), "the report: roughly", 0.06),
        Row("work − what friction took, of it", 0.0, moved.residual["energy"] / moved.lost[-1],
            "balance", 2e-2),
        Row("it turns by more than 30°", True, np.degrees(moved["phi"][-1]) > 30, "it does"),
    ]  # fmt: skip


def pictures(folder):
    """Draw the card on its way, with the centres of rotation, and a film."""
    import matplotlib.pyplot as plt

    moved = push()
    with st.look() as colors:
        figure, axes = plt.subplots(figsize=(6.0, 4.6))
        for k in range(0, len(moved.t), 12):
            c, s = np.cos(moved["phi"][k]), np.sin(moved["phi"][k])
            shape = np.array(CORNERS + CORNERS[:1]) @ [[c, s], [-s, c]]
            at = 1000 * (shape + [moved["x"][k], moved["y"][k]])
            axes.plot(*at.T, color=colors[0], ls="-", alpha=0.25 + 0.7 * k / len(moved.t))
            axes.plot(1000 * OFF, 1000 * (moved.t[k] - WIDE / 2), "o", color=colors[1], ms=5)
        axes.set(aspect="equal", xlabel="x (mm)", ylabel="y (mm)")
        axes.margins(0.05)
        axes.set_title("a card pushed by a finger, every 9 mm")
    save(figure, folder / "credit_card.png")
    film(moved, folder / "credit_card.gif")
