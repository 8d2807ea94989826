"""The scalar example of the inertial note: one mass behind one joint.

N. Hogan, Inertial Mechanics (note), "a scalar example": x = L(θ), v = J(θ)ω, η = J(θ)p, and
dη/dt = τ + ∂E*/∂θ: a force is not the rate of its momentum. L(θ) = r sin θ is a Scotch yoke.
"""

import numpy as np

import stationary as st
from examples import Row, save

QUESTION = "How does it move?"

NOTE = "Hogan, scalar example"

theta = st.coordinates("theta")
m, r = st.parameters(m=2.0, r=0.5)


def system():
    return st.mechanism(x=[r * st.sin(theta)], inertia=[m], name="Scotch yoke")


def coasting():
    """Turn it without torque: the mass goes on uniformly, the momentum η does not."""
    return st.simulate(system(), span=(0, 1.5), start={theta: -1.0, theta.dot: 1.0})


def results():
    h = st.hamilton(system())
    J = r * st.cos(theta)
    energy = system().kinetic
    motion = coasting()
    eta = h.momenta[0]
    change = motion[st.rate(eta)][0]
    # Without torque the slider keeps its speed, so that θ = arcsin(x/r) is known.
    speed = 0.5 * np.cos(1.0)
    angle = np.arcsin((0.5 * np.sin(-1.0) + speed * 1.5) / 0.5)
    return [
        Row("J = ∂L/∂θ", J, h.J[0], NOTE),
        Row("I(θ) = m J²", m * J**2, h.inertia[0], NOTE),
        Row("η = J p", J * m * J * theta.dot, eta, NOTE),
        Row("∂E*/∂θ = m J ω² ∂J/∂θ", m * J * theta.dot**2 * J.diff(theta),
            energy.diff(theta), NOTE),
        Row("θ(1.5), τ = 0", angle, motion[theta][-1], "uniform motion of the mass", 1e-13),
        Row("dη/dt at the start, τ = 0", motion[energy.diff(theta)][0], change, NOTE, 1e-14),
    ]  # fmt: skip


def pictures(folder):
    h = st.hamilton(system())
    (folder / "scotch_yoke.md").write_text(h.table() + "\n", encoding="utf-8")
    motion = coasting()
    figure = motion.plot(theta, r * st.sin(theta), h.momenta[0])
    save(figure, folder / "scotch_yoke.png")


def live():
    return {"system": system(), "start": {theta: -1.0, theta.dot: 1.0}, "span": (0, 5)}
