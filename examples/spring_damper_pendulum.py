"""A pendulum held by a horizontal spring and damper at half its length.

D. Lee, Mechanical System Analysis, lectures 9–11 (slides, Seoul National University), "pendulum
with spring/damper": both act horizontally only, on the displacement x = (l/2) sin θ.
"""

import numpy as np
import sympy as sp

import stationary as st
from examples import Row, film, save

QUESTION = "How does it move?"

SLIDES = "Lee, spring/damper"

theta = st.coordinates("theta")
m, l, g, k, c = st.parameters(m=1.0, l=1.0, g=9.81, k=40.0, c=2.0)  # noqa: E741 (l, as on the slides)
tau = st.inputs("tau")

WALL = sp.Rational(-3, 5)  # where spring and damper begin; they are slack at θ = 0


def system():
    # Heights are measured from the spring, so that the picture hangs together.
    half, bob = ((s * l * st.sin(theta), l / 2 - s * l * st.cos(theta)) for s in (sp.S.Half, 1))
    across = (WALL, half[0])
    return (
        st.particle(m, at=bob, gravity=g)
        + st.spring(k, between=across, rest=-WALL)
        + st.damper(c, between=across)
        + st.System(
            loads=[st.Load(tau, on=theta)],
            parts=(st.Part("rod", ((0, l / 2), bob)),),
            name="pendulum with spring and damper",
        )
    )


def swing(amplitude):
    return st.simulate(system(), span=(0, 5), start={theta: amplitude}, inputs={tau: 0})


def small(t):
    """Return the decay of ml²θ̈ + (cl²/4)θ̇ + (kl²/4 + mgl)θ = 0 from θ = 1 at rest."""
    delta, omega = 2.0 / 8, np.sqrt(40.0 / 4 + 9.81)
    ringing = np.sqrt(omega**2 - delta**2)
    wave = np.cos(ringing * t) + delta / ringing * np.sin(ringing * t)
    return np.exp(-delta * t) * wave


def results():
    eq = st.equations(system())
    s, co = st.sin(theta), st.cos(theta)
    rows = [
        Row("M", m * l**2, eq.M[0], SLIDES),
        Row("∂V/∂θ", k * l**2 * s * co / 4 + m * g * l * s, eq.G[0], SLIDES),
        Row("τ − damping", tau - c * l**2 * co**2 * theta.dot / 4, eq.Q[0], SLIDES),
    ]
    # The slide's linear equation is the slope of ours at rest.
    still = {theta: 0, theta.dot: 0}
    stiffness = eq.G[0].diff(theta).subs(still)
    rows += [
        Row("stiffness at θ = 0", k * l**2 / 4 + m * g * l, stiffness, SLIDES),
        Row("damping at θ = 0", c * l**2 / 4, -eq.Q[0].diff(theta.dot).subs(still), SLIDES),
    ]
    motion = swing(1e-4)
    for t in (1.0, 5.0):
        ratio = motion.at(t)[theta] / 1e-4
        rows.append(Row(f"small swing, θ({t:g})/θ(0)", small(t), ratio, "closed form", 1e-8))
    return rows


def pictures(folder):
    motion = swing(1.2)
    save(motion.plot(), folder / "spring_damper_pendulum.png")
    film(motion, folder / "spring_damper_pendulum.gif")


def live():
    return {"system": system(), "start": {theta: 0.8}, "inputs": {tau: 0.0}, "span": (0, 5)}
