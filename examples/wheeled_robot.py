"""A wheeled robot that cannot slip sideways: pushed by f, turned by τ, held by λ.

D. Lee, Mechanical System Analysis, lectures 9–11 (slides, Seoul National University), "wheeled
mobile robot": A(q) = (sin θ, −cos θ, 0) and λ = m(ẋ cos θ + ẏ sin θ)θ̇. There Aᵀλ stands on the left
side, here on the right: our λ has the other sign.
"""

import numpy as np
from scipy.special import fresnel

import stationary as st
from examples import Row, save

QUESTION = "How does it move?"

SLIDES = "Lee, wheeled robot"
m_, J_, f_, tau_ = 2.0, 0.5, 0.6, 0.25

x, y, theta = st.coordinates("x y theta")
m, J = st.parameters(m=m_, J=J_)
f, tau = st.inputs("f tau")

forward = x.dot * st.cos(theta) + y.dot * st.sin(theta)


def system():
    return st.System(
        kinetic=m * (x.dot**2 + y.dot**2) / 2 + J * theta.dot**2 / 2,
        loads=[
            st.Load((f * st.cos(theta), f * st.sin(theta)), on=(x, y), name="drive"),
            st.Load(tau, on=theta, name="steer"),
        ],
        pfaffian=[st.Pfaffian(x.dot * st.sin(theta) - y.dot * st.cos(theta), name="no slip")],
        name="wheeled robot",
    )


def drive(push, turn, start=None):
    return st.simulate(system(), span=(0, 10), start=start, inputs={f: push, tau: turn})


def spiral(t):
    """Return where a robot at constant speed v is when it is turned with τ from rest.

    θ = (τ/2J)t²: the path is a clothoid, x + iy = v ∫ exp(iθ) dt, by Fresnel's integrals.
    """
    scale = np.sqrt(np.pi * J_ / tau_)
    sine, cosine = fresnel(t / scale)
    return scale * cosine, scale * sine


def results():
    eq = st.equations(system())
    lam = eq.lam[0]
    rows = [
        Row("A", True, tuple(eq.A) == (st.sin(theta), -st.cos(theta), 0), SLIDES),
        Row("force on x", f * st.cos(theta) + lam * st.sin(theta), eq.Q[0] + eq.A[0] * lam, SLIDES),
        Row("force on y", f * st.sin(theta) - lam * st.cos(theta), eq.Q[1] + eq.A[1] * lam, SLIDES),
        Row("torque", tau, eq.Q[2] + eq.A[2] * lam, SLIDES),
        Row("λ, sign turned", m * forward * theta.dot, -eq.multipliers[0], SLIDES),
    ]
    # λ of the slides, along a drive with changing f and τ.
    motion = drive(f_ * st.cos(st.t), tau_ * st.sin(2 * st.t), {x.dot: 0.3})
    slides = m_ * motion[forward] * motion[theta.dot]
    off = float(np.abs(motion.lam["no slip"] + slides).max())
    rows += [
        Row("λ + m(ẋ cos θ + ẏ sin θ)θ̇", 0.0, off, SLIDES, 1e-13),
        Row("speed at 10 s", 0.3 + f_ / m_ * np.sin(10), motion[forward][-1], "∫ f/m dt", 1e-13),
        Row(
            "θ at 10 s", tau_ / J_ * (10 / 2 - np.sin(20) / 4), motion[theta][-1], "∬ τ/I dt", 1e-12
        ),
        Row("largest slip", 0.0, motion.residual["Rdot"], "no slip", 1e-14),
        Row("energy balance (J)", 0.0, motion.residual["energy"], "exact", 1e-13),
    ]
    # Turned at constant speed, it runs along a clothoid: that takes no work of λ.
    motion = drive(0, tau_, {x.dot: 1.0})
    for name, exact, found in zip("xy", spiral(10.0), (motion[x][-1], motion[y][-1])):
        rows.append(Row(f"clothoid, {name}(10)", exact, found, "Fresnel's integrals", 1e-12))
    turned = m_ / 2 + J_ / 2 * (tau_ / J_ * 10) ** 2
    return [*rows, Row("kinetic energy (J)", turned, motion.kinetic[-1], "exact", 1e-12)]


def pictures(folder):
    import matplotlib.pyplot as plt

    motion = drive(f_, tau_)
    with st.look():
        figure, (path, force) = plt.subplots(2, 1, figsize=(7, 6), layout="constrained")
        path.plot(motion[x], motion[y])
        path.set(xlabel="x (m)", ylabel="y (m)", aspect="equal", title="path of the robot")
        force.plot(motion.t, motion.lam["no slip"])
        force.set(xlabel="t (s)", ylabel="λ (N)", title="what keeps it from slipping")
    save(figure, folder / "wheeled_robot.png")
    save(motion.plot(x, y, theta, forward), folder / "wheeled_robot_motion.png")


def live():
    return {"system": system(), "inputs": {f: 0.3, tau: 0.02}}
