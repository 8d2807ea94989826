"""A pendulum at rest under a torque: the least of I = U − W.

S. Hirai, Analytical Mechanics: Variational Principles (slides, Ritsumeikan University), "simple
pendulum" in statics, with m = 0.01, l = 2, g = 9.8, τ = 0.1: fminbnd gives θ = 0.5354 and
I = −0.0261. Beyond τ = mgl no position holds the torque: there, rest ends in a fold.
"""

import numpy as np
import sympy as sp

import stationary as st
from examples import Row, legend, save

QUESTION = "Where does it rest?"

SLIDES = "Hirai, fminbnd"

theta = st.coordinates("theta")
m, l, g, tau = st.parameters(m=0.01, l=2.0, g=9.8, tau=0.1)  # noqa: E741 (l, as on the slides)


def system():
    return st.System(
        potential=m * g * l * (1 - st.cos(theta)), work=tau * theta, name="pendulum under a torque"
    )


def diagram():
    """Follow its rest as the torque grows; it would go round for ever."""
    return st.continuation(
        system(), parameter=tau, span=(-0.25, 0.25), params={tau: 0.0}, points=280
    )


def results():
    rest = st.statics(system())
    balance = st.equations(system(), principle="statics")
    exact = float(sp.asin(tau / (m * g * l)).subs({s: s.default for s in (m, l, g, tau)}))
    folds = [point for point in diagram().special if point.kind == "fold"]
    return [
        Row("δI/δθ", m * g * l * st.sin(theta) - tau, balance.equations[0].lhs, "Hirai, δI ≡ 0"),
        Row("θ", 0.5354, rest[theta], SLIDES, 5e-5),
        Row("I = U − W", -0.0261, rest.energy, SLIDES, 5e-5),
        Row("θ, exact", exact, rest[theta], "asin(τ/mgl), SymPy", 1e-15),
        Row("∂²I/∂θ²", 0.196 * np.cos(exact), rest.eigenvalues[0], "mgl cos θ", 1e-15),
        Row("stable", True, rest.stable, "a minimum"),
        Row("largest torque it can hold", 0.196, folds[-1].parameter, "mgl", 1e-10),
        Row("sin θ there", 1.0, float(np.sin(folds[-1][theta])), "θ = π/2", 1e-12),
    ]


def pictures(folder):
    """Draw I over θ for growing torques with the rest found, and the rest over the torque."""
    import matplotlib.pyplot as plt

    angle = np.linspace(-np.pi, np.pi, 400)
    with st.look() as colors:
        figure, axes = plt.subplots(figsize=(6.2, 4.2))
        for number, torque in enumerate((0.0, 0.05, 0.1, 0.15, 0.19)):
            color = colors[number]
            inner = 0.196 * (1 - np.cos(angle)) - torque * angle
            axes.plot(angle, inner, color=color, label=rf"$\tau = {torque:g}$")
            rest = st.statics(system(), params={tau: torque})
            axes.plot(rest[theta], rest.energy, "o", color=color, ms=5, ls="none")
        axes.set_xlabel(r"$\theta$ (rad)")
        axes.set_ylabel("$I = U - W$ (J)")
        axes.set_ylim(-0.5, 1.0)
        legend(axes)
    save(figure, folder / "pendulum_statics.png")
    save(diagram().plot(), folder / "pendulum_statics_torque.png")
