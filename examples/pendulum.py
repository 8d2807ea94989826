"""A simple pendulum with a torque at its support.

S. Hirai, Analytical Mechanics: Variational Principles (slides, Ritsumeikan University), "simple
pendulum" in statics and in dynamics, with m = 0.01, l = 2, g = 9.8. The free swing is compared
with the elliptic integral: T = 4 √(l/g) K(sin²(θ₀/2)).
"""

import numpy as np
from scipy.optimize import brentq
from scipy.special import ellipk

import stationary as st
from examples import Row, film, save

QUESTION = "How does it move?"

SLIDES = "Hirai, simple pendulum"

theta = st.coordinates("theta")
m, l, g = st.parameters(m=0.01, l=2.0, g=9.8)  # noqa: E741 (l, as on the slides)
tau = st.inputs("tau")


def system():
    bob = (l * st.sin(theta), -l * st.cos(theta))
    return st.System(
        kinetic=m * l**2 * theta.dot**2 / 2,
        potential=m * g * l * (1 - st.cos(theta)),
        loads=[st.Load(tau, on=theta)],
        parts=(st.Part("rod", ((0, 0), bob)), st.Part("particle", (bob,))),
        name="pendulum",
    )


def swing(amplitude, span=(0, 10)):
    """Let it go at rest; note when it passes the lowest point to the right."""
    return st.simulate(
        system(),
        span=span,
        start={theta: amplitude},
        inputs={tau: 0},
        events=[st.Event(theta, direction=1)],
    )


def pushed(torque):
    """Push it from rest with a constant torque; note where it turns back."""
    return st.simulate(
        system(), span=(0, 10), inputs={tau: torque}, events=[st.Event(theta.dot, direction=-1)]
    )


def results():
    eq = st.equations(system())
    rows = [
        Row("M", l**2 * m, eq.M[0], SLIDES),
        Row("∂U/∂θ", m * g * l * st.sin(theta), eq.G[0], SLIDES),
        Row("Q", tau, eq.Q[0], SLIDES),
    ]

    # Under τ = 0.1 it rests where I = U − W is least.
    rest = st.statics(system(), start={theta: 0.5}, inputs={tau: 0.1})[theta]
    inner = 0.01 * 9.8 * 2.0 * (1 - np.cos(rest)) - 0.1 * rest
    rows += [
        Row("θ at rest under τ = 0.1", 0.5354, rest, "Hirai, fminbnd", 5e-5),
        Row("I = U − W there", -0.0261, inner, "Hirai, fminbnd", 5e-5),
    ]

    for degrees in (10, 90, 179):
        amplitude = np.radians(degrees)
        period = np.diff(swing(amplitude, (0, 25)).events[0])[0]
        exact = 4 * np.sqrt(2.0 / 9.8) * ellipk(np.sin(amplitude / 2) ** 2)
        # Near the top, a rounding of the start is worth more time.
        tolerance = 1e-13 * exact * (1 if degrees < 170 else 100)
        rows.append(Row(f"period from {degrees}°", exact, period, "elliptic integral", tolerance))

    # Pushed from rest it rises until the torque's work is stored: τθ = mgl(1 − cos θ).
    motion = pushed(0.1)
    top = brentq(lambda angle: 0.1 * angle - 0.196 * (1 - np.cos(angle)), 0.5, 2.0, xtol=1e-15)
    turn = motion.at(motion.events[0][0])[theta]
    rows.append(Row("highest θ under τ = 0.1", top, turn, "energy", 1e-13))
    return rows


def pictures(folder):
    save(pushed(0.1 * st.sin(st.t)).plot(), folder / "pendulum_torque.png")
    film(swing(np.radians(150), (0, 6)), folder / "pendulum.gif")


def live():
    return {"system": system(), "start": {theta: 2.5}, "inputs": {tau: 0.0}}
