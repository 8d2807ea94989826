"""A robot with coupled wheels, which must slip on a turn.

Not from the documents, but named in their introduction. Four wheels at (±a, ±b); those of a side
share a shaft, and a motor turns each shaft. Turning on the spot with rim speeds ±u the wheels
scrub sideways: friction takes least at φ̇ = u b/(a² + b²), not at u/b as without slip. On a
wider turn the least of two unknowns is compared with a direct search.
"""

import numpy as np
from scipy.optimize import minimize

import stationary as st
from examples import Row, save

QUESTION = "How does it slide?"

A, B, LIMIT = 0.20, 0.15, 5.0  # half wheelbase and half track (m), friction limit of a wheel (N)

x, y, phi, left, right = st.coordinates("x y phi left right")  # way of the rims on each side
u_left, u_right = st.parameters(u_left=-0.5, u_right=0.5)


def system():
    """State it where it stands at φ = 0: the rims run along x."""
    wheels = []
    for a, b, rim in ((A, B, left), (-A, B, left), (A, -B, right), (-A, -B, right)):
        c, s = st.cos(phi), st.sin(phi)
        place = (x + a * c - b * s - rim, y + a * s + b * c)
        name = f"{'front' if a > 0 else 'rear'} {'left' if b > 0 else 'right'}"
        wheels.append(st.Friction(LIMIT, on=place, name=name))
    motors = [
        st.Constraint(left - u_left * st.t, name="left motor"),
        st.Constraint(right - u_right * st.t, name="right motor"),
    ]
    return st.System(
        friction=wheels, constraints=motors, coordinates=[x, y, phi, left, right], name="robot"
    )


def turn(ul, ur):
    return st.minimum_power(system(), params={u_left: ul, u_right: ur})


def search(ul, ur):
    """Return ẋ and φ̇ of least friction by a search of another kind; ẏ = 0 by symmetry."""

    def taken(z):
        vx, w = z
        return sum(2 * np.hypot(vx - b * w - u, A * w) for b, u in ((B, ul), (-B, ur)))

    start = (ul + ur) / 2, (ur - ul) * B / 2 / (A**2 + B**2)
    options = {"xatol": 1e-12, "fatol": 1e-15, "maxiter": 4000}
    return minimize(taken, start, method="Nelder-Mead", options=options).x


def results():
    spin = turn(-0.5, 0.5)
    exact = 0.5 * B / (A**2 + B**2)
    slip = np.hypot(0.5 - B * exact, A * exact)
    torque = 2 * LIMIT * (0.5 - B * exact) / slip
    wide, (vx, w) = turn(0.2, 0.5), search(0.2, 0.5)
    return [
        Row("turning on the spot (rad/s)", exact, spin[phi.dot], "least friction", 1e-10),
        Row("without slip it would be", True, spin[phi.dot] < 0.5 / B, "0.5 / b"),
        Row("power of the motors (W)", 4 * LIMIT * slip, spin.power, "least friction", 1e-10),
        Row("pull of a shaft (N)", torque, spin.lam["right motor"], "balance", 1e-9),
        Row("wide turn: speed ahead (m/s)", vx, wide[x.dot], "search", 1e-7),
        Row("wide turn: turning (rad/s)", w, wide[phi.dot], "search", 1e-7),
        Row("duality gap", 0.0, wide.gap, "certificate", 1e-9),
        Row("straight on it loses nothing", 0.0, turn(0.4, 0.4).power, "rolling", 1e-12),
    ]


def pictures(folder):
    """Draw the paths for several speeds of the left side, with and without slip."""
    import matplotlib.pyplot as plt

    def path(ahead, turning):
        s = np.linspace(0, 3, 200)
        angle = turning * s
        return ahead * np.sin(angle) / turning, ahead * (1 - np.cos(angle)) / turning

    with st.look() as colors:
        figure, axes = plt.subplots(figsize=(7.4, 3.6))
        for ul, color in zip((0.4, 0.2, 0.0), colors):
            step = turn(ul, 0.5)
            axes.plot(*path(step[x.dot], step[phi.dot]), color=color, ls="-",
                      label=f"rims {ul:g} and 0.5 m/s")  # fmt: skip
            axes.plot(*path((ul + 0.5) / 2, (0.5 - ul) / 2 / B), color=color, ls=":")
        axes.plot([], [], color="0.4", ls=":", label="if no wheel slipped")
        axes.set(aspect="equal", xlabel="x (m)", ylabel="y (m)", title="three seconds of a turn")
        axes.margins(0.05)
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    save(figure, folder / "skidding_robot.png")
