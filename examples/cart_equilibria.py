"""A cart with a pendulum: its two equilibria, wherever the cart stands, and its linearizations.

D. Lee, Mechanical System Analysis, lectures 9–11 (slides, Seoul National University), "equilibrium
and linearization": q_e = (x', 0) and (x', π) with x' arbitrary; about them
m₁m₂l²/(m₁+m₂) θ̈ ± m₂gl θ = 0, marginally stable and unstable (saddle).
"""

import numpy as np

import stationary as st
from examples import Row, legend, save

QUESTION = "Where does it rest?"

SLIDES = "Lee, linearization"

x, theta = st.coordinates("x theta")
m1, m2, l, g = st.parameters(m1=1.0, m2=0.2, l=0.5, g=9.81)  # noqa: E741 (l, as on the slides)
F = st.inputs("F")


def system():
    return st.System(
        kinetic=m1 * x.dot**2 / 2
        + m2 * (x.dot**2 + 2 * x.dot * theta.dot * l * st.cos(theta) + l**2 * theta.dot**2) / 2,
        potential=m2 * g * l * (1 - st.cos(theta)),
        loads=[st.Load(F, on=x + l * st.sin(theta))],
        coordinates=(x, theta),
        name="cart with pendulum",
    )


def rests():
    """Search all angles, and a stretch of the track."""
    found = st.equilibria(system(), within={x: (-1, 1), theta: (-1, 4)}, inputs={F: 0})
    return sorted(found, key=lambda rest: rest[theta])


def results():
    found = rests()
    down, up = found
    # (m₁m₂l²/(m₁+m₂)) θ̈ = ∓ m₂gl θ
    effective = 1.0 * 0.2 * 0.5**2 / 1.2
    pull = 0.2 * 9.81 * 0.5 / effective
    hanging, standing = (st.linearize(system(), at=rest) for rest in found)
    saddle = "unstable (saddle)"
    return [
        Row("number of equilibria", 2, len(found), SLIDES),
        Row("θ, downward", 0.0, down[theta], SLIDES, 1e-12),
        Row("θ, upward", np.pi, up[theta], SLIDES, 1e-12),
        Row("x is free", True, np.allclose(np.abs([down.free, up.free]), [[[1, 0]]] * 2), SLIDES),
        Row("θ̈/θ, downward", -pull, hanging.A[3, 1], SLIDES, 1e-12),
        Row("θ̈/θ, upward", pull, standing.A[3, 1], SLIDES, 1e-12),
        Row("ω, downward", np.sqrt(pull), hanging.frequencies[0], SLIDES, 1e-12),
        Row("marginally stable", True, hanging.stability == "marginally stable", SLIDES),
        Row("unstable (saddle)", True, standing.stability == saddle, SLIDES),
    ]


def pictures(folder):
    """Draw the eigenvalues of both linearizations, and motions that start beside the equilibria."""
    import matplotlib.pyplot as plt

    with st.look() as colors:
        figure, (plane, motions) = plt.subplots(1, 2, figsize=(8.6, 3.6))
        for rest, color, marker, name in zip(rests(), colors, "os", ("downward", "upward")):
            lin = st.linearize(system(), at=rest)
            words = f"{name}: {lin.stability}"
            values = lin.eigenvalues
            plane.plot(values.real, values.imag, marker, color=color, mfc="none", label=words)
            start = {theta: rest[theta] + 0.05}
            moved = st.simulate(system(), span=(0, 3), start=start, inputs={F: 0}, points=400)
            motions.plot(moved.t, moved[theta] - rest[theta], color=color, label=name)
        plane.axhline(0, color="0.7", lw=0.8, ls="-", zorder=0)
        plane.axvline(0, color="0.7", lw=0.8, ls="-", zorder=0)
        plane.margins(0.1)
        plane.set_xlabel("real part (1/s)")
        plane.set_ylabel("imaginary part (rad/s)")
        motions.set_xlabel("$t$ (s)")
        motions.set_ylabel(r"$\theta - \theta_e$ (rad)")
        motions.set_ylim(-0.2, 1.0)
        legend(plane)
        plane.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=1)
        legend(motions)
    save(figure, folder / "cart_equilibria.png")


def live():
    return {"system": system(), "start": {theta: 3.0}, "inputs": {F: 0.0}, "span": (0, 10)}
