"""A bead on a hoop that a torque spins about its upright diameter.

D. Lee, Mechanical System Analysis, lectures 9–11 (slides, Seoul National University), "bead on a
hoop". The control τ = 2mr² sinθ cosθ φ̇ θ̇ + mr² sin²θ [Ω̇ − b(φ̇ − Ω)] makes φ̇ follow Ω. The
slide prints (φ − Ω) and θ_e = g/(rΩ²); φ̇ − Ω and cos θ_e are meant.
"""

import numpy as np

import stationary as st
from examples import Row, film, save

QUESTION = "How does it move?"

SLIDES = "Lee, bead on a hoop"

theta, phi = st.coordinates("theta phi")
m, r, g, b = st.parameters(m=0.1, r=0.5, g=9.81, b=1.5)
tau = st.inputs("tau")


def on_hoop(angle):
    """Return the point of the hoop at an angle from its lowest point."""
    across = r * st.sin(angle)
    return (across * st.cos(phi), across * st.sin(phi), -r * st.cos(angle))


def system():
    corners = [on_hoop(2 * st.pi * k / 36) for k in range(37)]
    hoop = tuple(st.Part("rod", pair) for pair in zip(corners[:-1], corners[1:]))
    return st.System(
        kinetic=m * (r * theta.dot) ** 2 / 2 + m * (r * st.sin(theta) * phi.dot) ** 2 / 2,
        potential=m * g * r * (1 - st.cos(theta)),
        loads=[st.Load(tau, on=phi)],
        parts=(*hoop, st.Part("particle", (on_hoop(theta),))),
        name="bead on a hoop",
    )


def law(wanted):
    """Return the slide's control for a wanted rate of turning Ω(t)."""
    s, c = st.sin(theta), st.cos(theta)
    pull = wanted.diff(st.t) - b * (phi.dot - wanted)
    return 2 * m * r**2 * s * c * phi.dot * theta.dot + m * r**2 * s**2 * pull


def turned(wanted, start, span=(0, 6)):
    # b is no parameter of the system: only the control knows it.
    control = law(wanted + 0 * st.t).subs(b, b.default)
    lowest = np.arccos(9.81 / (0.5 * 36))
    event = st.Event(theta - lowest, direction=1)
    return st.simulate(system(), span=span, start=start, inputs={tau: control}, events=[event])


def results():
    eq = st.equations(system())
    s, c = st.sin(theta), st.cos(theta)
    flow = [sum(eq.C[i, j] * v for j, v in enumerate(eq.velocities)) for i in range(2)]
    rows = [
        Row("M[θ,θ]", m * r**2, eq.M[0, 0], SLIDES),
        Row("M[φ,φ]", m * r**2 * s**2, eq.M[1, 1], SLIDES),
        Row("(C q̇) of θ", -m * r**2 * s * c * phi.dot**2, flow[0], SLIDES),
        Row("(C q̇) of φ", 2 * m * r**2 * s * c * phi.dot * theta.dot, flow[1], SLIDES),
        Row("∂V/∂θ", m * g * r * s, eq.G[0], SLIDES),
    ]
    # φ̇ − Ω decays as exp(−bt), whatever the bead does and however Ω changes.
    wanted = 8 + st.sin(2 * st.t)
    motion = turned(wanted, {theta: 1.0, phi.dot: 6.0})
    for t in (1.0, 6.0):
        exact = float(wanted.subs(st.t, t)) - 2 * np.exp(-1.5 * t)
        rows.append(Row(f"φ̇({t:g}), Ω = 8 + sin 2t", exact, motion.at(t)[phi.dot],
                        "Ω − (Ω(0) − φ̇(0)) exp(−bt)", 1e-12))  # fmt: skip
    # At φ̇ = Ω = 6 it rests at cos θ_e = g/(rΩ²), and swings about it with Ω sin θ_e.
    rest = np.arccos(9.81 / (0.5 * 36))
    still = turned(6 + 0 * st.t, {theta: rest, phi.dot: 6.0})
    close = turned(6 + 0 * st.t, {theta: rest - 1e-5, phi.dot: 6.0})
    period = np.diff(close.events[0])[0]
    rows += [
        Row("θ after 6 s from θ_e", rest, still[theta][-1], SLIDES, 1e-12),
        Row("period about θ_e (s)", 2 * np.pi / (6 * np.sin(rest)), period, SLIDES, 1e-8),
    ]
    return rows


def pictures(folder):
    motion = turned(6 + 0 * st.t, {theta: 0.8, phi.dot: 4.5})
    save(motion.plot(theta, phi.dot, tau), folder / "bead_on_hoop.png")
    film(motion, folder / "bead_on_hoop.gif")


def live():
    return {"system": system(), "start": {theta: 0.8}, "inputs": {tau: 0.0}}
