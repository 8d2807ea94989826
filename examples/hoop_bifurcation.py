"""A bead on a hoop that turns at a constant rate: equilibria, their stability, the pitchfork.

D. Lee, Mechanical System Analysis, lectures 9–11 (slides, Seoul National University), "bead on a
hoop": θ̈ + sin θ (g/r − Ω² cos θ) = 0 rests at 0, at π and, once rΩ² ≥ g, at cos θ_e = g/(rΩ²).
The kinetic energy that is left at rest, ½m(rΩ sin θ)², turns the bottom from a minimum into a
maximum.
"""

import numpy as np

import stationary as st
from examples import Row, legend, save

QUESTION = "Where does it rest?"

SLIDES = "Lee, bead on a hoop"

theta = st.coordinates("theta")
m, r, g, Omega = st.parameters(m=0.1, r=0.5, g=9.81, Omega=6.0)
CRITICAL = np.sqrt(9.81 / 0.5)


def system():
    return st.System(
        kinetic=m * (r * theta.dot) ** 2 / 2 + m * (r * st.sin(theta) * Omega) ** 2 / 2,
        potential=m * g * r * (1 - st.cos(theta)),
        name="bead on a turning hoop",
    )


def diagram():
    return st.continuation(system(), parameter=Omega, span=(0, 12), params={Omega: 0.0})


def results():
    slow = st.equilibria(system(), within={theta: (-0.5, 3.5)}, params={Omega: 3.0})
    fast = st.equilibria(system(), within={theta: (-0.5, 3.5)})
    side = np.arccos(9.81 / (0.5 * 36))
    words = [st.linearize(system(), at=rest).stability for rest in fast]
    swings = st.linearize(system(), at=fast[1])
    branches = diagram().branches
    gap = max(
        np.abs(np.cos(b[theta]) - 9.81 / (0.5 * b.parameter**2)).max()
        for b in branches
        if np.abs(b[theta]).max() > 0.1
    )
    return [
        Row("equilibria, rΩ² < g", 2, len(slow), SLIDES),
        Row("equilibria, rΩ² > g", 3, len(fast), SLIDES),
        Row("θ_e at Ω = 6", side, fast[1][theta], SLIDES, 1e-14),
        Row("θ = 0 is stable, rΩ² < g", True, slow[0].stable, SLIDES),
        Row("θ = 0 is a saddle, rΩ² > g", True, words[0] == "unstable (saddle)", SLIDES),
        Row("θ_e is marginally stable", True, words[1] == "marginally stable", SLIDES),
        Row("θ = π is a saddle", True, words[2] == "unstable (saddle)", SLIDES),
        Row("frequency about θ_e", 6 * np.sin(side), swings.frequencies[0], SLIDES, 1e-12),
        Row("pitchfork at Ω", CRITICAL, diagram().special[0].parameter, "rΩ² = g", 1e-10),
        Row("cos θ − g/(rΩ²) on its sides", 0.0, gap, SLIDES, 1e-12),
    ]


def pictures(folder):
    """Draw the diagram, and the energy that the bead feels at four rates of turning."""
    import matplotlib.pyplot as plt

    save(diagram().plot(theta), folder / "hoop_bifurcation.png")
    angle = np.linspace(-np.pi, np.pi, 400)
    with st.look():
        figure, axes = plt.subplots(figsize=(6.2, 4.2))
        for rate in (0.0, 3.5, CRITICAL, 6.0, 8.0):
            inner = 0.4905 * (1 - np.cos(angle)) - 0.1 * (0.5 * rate * np.sin(angle)) ** 2 / 2
            axes.plot(angle, inner, label=rf"$\Omega = {rate:.3g}$")
        axes.set_xlabel(r"$\theta$ (rad)")
        axes.set_ylabel("$U - T_0$ (J)")
        legend(axes)
    save(figure, folder / "hoop_bifurcation_energy.png")
