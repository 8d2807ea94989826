"""A two-link arm, in inertial and in generalized coordinates.

N. Hogan, Inertial Mechanics (note): the members' places and orientations x = L(θ), their diagonal
inertia M, and what becomes of them at the joints: J, I(θ) = JᵀMJ, η = I(θ)ω, dη/dt = τ + ∂E*/∂θ.
"""

import numpy as np
import sympy as sp

import stationary as st
from examples import Row, film, save

QUESTION = "How does it move?"

NOTE = "Hogan, I = JᵀMJ"

theta1, theta2 = st.coordinates("theta1 theta2")  # of the shoulder, and of the elbow against it
m1, m2, l1, l2, I1, I2 = st.parameters(m1=2.0, m2=1.5, l1=0.4, l2=0.3, I1=0.03, I2=0.015)
tau1, tau2 = st.inputs("tau1 tau2")


def ray(length, angle):
    return np.array([length * st.cos(angle), length * st.sin(angle)])


def system():
    elbow = ray(l1, theta1)
    hand = elbow + ray(l2, theta1 + theta2)
    arm = st.mechanism(
        x=[*elbow / 2, theta1, *(elbow + hand) / 2, theta1 + theta2],
        inertia=[m1, m1, I1, m2, m2, I2],
    )
    members = (
        st.Part("rod", ((0, 0), tuple(elbow))),
        st.Part("rod", (tuple(elbow), tuple(hand))),
        st.Part("particle", (tuple(elbow),)),
        st.Part("particle", (tuple(hand),)),
    )
    drives = [st.Load(tau1, on=theta1), st.Load(tau2, on=theta2)]
    return arm + st.System(loads=drives, parts=members, name="two-link arm")


def motion():
    return st.simulate(
        system(),
        span=(0, 6),
        start={theta1: 0.3, theta2: 0.8},
        inputs={tau1: 0.4 * st.cos(st.t), tau2: -0.2 * st.cos(2 * st.t)},
    )


def results():
    h = st.hamilton(system())
    energy = system().kinetic
    reach = m2 * l1 * l2 * st.cos(theta2) / 2
    elbow = I2 + m2 * l2**2 / 4
    shoulder = I1 + m1 * l1**2 / 4 + m2 * l1**2 + elbow
    omega1, omega2 = theta1.dot, theta2.dot
    push = -m2 * l1 * l2 * st.sin(theta2) * omega1 * (omega1 + omega2) / 2
    rows = [
        Row("J[hand's mass centre, elbow]", -l2 * st.sin(theta1 + theta2) / 2, h.J[3, 1], NOTE),
        Row("I[1,1]", shoulder + 2 * reach, h.inertia[0, 0], NOTE),
        Row("I[1,2]", elbow + reach, h.inertia[0, 1], NOTE),
        Row("I[2,2]", elbow, h.inertia[1, 1], NOTE),
        Row("η of the elbow", (elbow + reach) * omega1 + elbow * omega2, h.momenta[1], NOTE),
        Row("∂E*/∂θ of the shoulder", 0, sp.simplify(energy.diff(theta1)), NOTE),
        Row("∂E*/∂θ of the elbow", push, sp.simplify(energy.diff(theta2)), NOTE),
    ]
    driven = motion()
    t = driven.t[-1]
    first, second = (driven[st.rate(eta)][-1] for eta in h.momenta)
    rows += [
        Row("dη/dt − τ, shoulder, t = 6", 0, first - 0.4 * np.cos(t), NOTE, 1e-13),
        Row("dη/dt − τ, elbow, t = 6", driven[push][-1], second + 0.2 * np.cos(2 * t), NOTE, 1e-13),
        Row("∫τ dt of the shoulder, 6 s", 0.4 * np.sin(t), driven[h.momenta[0]][-1],
            "η of the shoulder", 1e-13),
    ]  # fmt: skip
    return rows


def pictures(folder):
    table = st.hamilton(system()).table()
    (folder / "two_link_arm.md").write_text(table + "\n", encoding="utf-8")
    save(motion().plot(), folder / "two_link_arm.png")
    film(motion(), folder / "two_link_arm.gif")


def live():
    return {
        "system": system(),
        "start": {theta1: 0.3, theta2: 0.8},
        "inputs": {tau1: 0.4 * st.cos(st.t), tau2: -0.2 * st.cos(2 * st.t)},
    }
