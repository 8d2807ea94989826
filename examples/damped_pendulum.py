"""A pendulum with viscous friction at its support: what energy it loses, friction has eaten.

S. Hirai, Analytical Mechanics: Variational Principles (slides, Ritsumeikan University),
"pendulum with viscous friction": a torque −b θ̇ joins the simple pendulum.
"""

import numpy as np

import stationary as st
from examples import Row, pendulum, save
from examples.pendulum import theta

QUESTION = "How does it move?"

SLIDES = "Hirai, viscous friction"

b = st.parameters(b=0.01)


def system():
    friction = st.System(dissipation=b * theta.dot**2 / 2, name="viscous friction")
    return pendulum.system() + friction


def swing(amplitude):
    return st.simulate(system(), span=(0, 20), start={theta: amplitude}, inputs={pendulum.tau: 0})


def eaten(motion):
    """Integrate the power of friction, b θ̇², by Gauss's rule: a path apart from our own."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    edges = np.linspace(motion.t[0], motion.t[-1], 41)
    half = np.diff(edges)[:, None] / 2
    times = edges[:-1, None] + half * (1 + nodes)
    power = 0.01 * motion.at(times.ravel())[theta.dot] ** 2
    return float(np.sum(half * weights * power.reshape(times.shape)))


def small(amplitude, t):
    """Return the linearized motion θ̈ + 2δθ̇ + ω²θ = 0 from rest."""
    delta, omega = 0.01 / (2 * 0.01 * 2.0**2), np.sqrt(9.8 / 2.0)
    ringing = np.sqrt(omega**2 - delta**2)
    wave = np.cos(ringing * t) + delta / ringing * np.sin(ringing * t)
    return amplitude * np.exp(-delta * t) * wave


def results():
    eq = st.equations(system())
    large, little = swing(2.5), swing(1e-4)
    lost = large.energy[0] - large.energy[-1]
    return [
        Row("Q", pendulum.tau - b * theta.dot, eq.Q[0], SLIDES),
        Row("energy lost in 20 s (J)", eaten(large), lost, "∫ b θ̇² dt by Gauss's rule", 1e-14),
        Row("work of friction (J)", -lost, large.work[-1], "energy lost", 1e-14),
        Row("small swing, θ(20)/θ(0)", small(1, 20.0), little[theta][-1] / 1e-4,
            "linearized closed form", 1e-9),
    ]  # fmt: skip


def pictures(folder):
    motion = swing(2.5)
    save(motion.plot(), folder / "damped_pendulum.png")
    save(motion.show("phase"), folder / "damped_pendulum_phase.png")


def live():
    return {"system": system(), "start": {theta: 2.0}, "inputs": {pendulum.tau: 0.0}}
