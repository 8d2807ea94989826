"""A cart that carries a pendulum, pushed by a force on the bob.

D. Lee, Mechanical System Analysis, lectures 9–11 (slides, Seoul National University): Lagrange
equation, forced Lagrange equation, correctness checks, linearization. The slides' intermediate
equation is garbled in print; M, C and ∂V/∂q are re-derived from their T and V.
"""

import numpy as np

import stationary as st
from examples import Row, film, save

QUESTION = "How does it move?"

SLIDES = "Lee, cart with pendulum"

x, theta = st.coordinates("x theta")
m1, m2, l, g = st.parameters(m1=1.0, m2=0.2, l=0.5, g=9.81)  # noqa: E741 (l, as on the slides)
F = st.inputs("F")

bob = (x + l * st.sin(theta), -l * st.cos(theta))


def system():
    parts = (
        st.Part("body", ((x, 0),), angle=0 * x),
        st.Part("rod", ((x, 0), bob)),
        st.Part("particle", (bob,)),
    )
    return st.System(
        kinetic=m1 * x.dot**2 / 2
        + m2 * (x.dot**2 + 2 * x.dot * theta.dot * l * st.cos(theta) + l**2 * theta.dot**2) / 2,
        potential=m2 * g * l * (1 - st.cos(theta)),
        loads=[st.Load(F, on=bob[0])],
        parts=parts,
        name="cart with pendulum",
    )


def motion(force, **start):
    event = st.Event(theta, direction=1)
    return st.simulate(system(), span=(0, 10), start=start, inputs={F: force}, events=[event])


def results():
    eq = st.equations(system())
    swing = m2 * l * st.cos(theta)
    report = st.check(system())
    rows = [
        Row("M[x,x]", m1 + m2, eq.M[0, 0], SLIDES),
        Row("M[x,θ]", swing, eq.M[0, 1], SLIDES),
        Row("M[θ,θ]", m2 * l**2, eq.M[1, 1], SLIDES),
        Row("C[x,θ]", -m2 * l * st.sin(theta) * theta.dot, eq.C[0, 1], SLIDES),
        Row("C[x,x], C[θ,x], C[θ,θ]", 0, eq.C[0, 0] + eq.C[1, 0] + eq.C[1, 1], SLIDES),
        Row("∂V/∂θ", m2 * g * l * st.sin(theta), eq.G[1], SLIDES),
        Row("τ of x", F, eq.Q[0], SLIDES),
        Row("τ of θ", F * l * st.cos(theta), eq.Q[1], SLIDES),
    ]
    for name in ("symmetric", "positive definite", "skew", "gradient"):
        rows.append(Row(f"check: {name}", True, bool(report[name]), SLIDES))

    # Linearized about the downward position: m1 m2 l²/(m1 + m2) θ̈ + m2 g l θ = 0.
    period = np.diff(motion(0, theta=1e-5).events[0])[0]
    exact = 2 * np.pi / np.sqrt(1.2 * 9.81 / 0.5)
    rows.append(Row("period of small swings (s)", exact, period, SLIDES, 1e-9))

    # Nothing but F pushes the whole system along x: momentum is the integral of the force.
    driven = motion(st.sin(st.t), theta=2.0)
    momentum = driven[(m1 + m2) * x.dot + swing * theta.dot]
    gained = momentum[-1] - momentum[0]
    rows.append(Row("∂L/∂ẋ gained under F = sin t", 1 - np.cos(10), gained, "∫F dt", 1e-13))
    return rows


def pictures(folder):
    driven = motion(2 * st.sin(4 * st.t), theta=1.0)
    save(driven.plot(), folder / "cart_pendulum.png")
    film(driven, folder / "cart_pendulum.gif")


def live():
    return {"system": system(), "start": {theta: 1.0}, "inputs": {F: 0.0}, "span": (0, 10)}
