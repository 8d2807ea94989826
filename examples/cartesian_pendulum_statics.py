"""A pendulum in Cartesian coordinates at rest under a force: the least of U − W under R = 0.

S. Hirai, Analytical Mechanics: Variational Principles (slides, Ritsumeikan University), "pendulum
in Cartesian coordinates" in statics, with m = 0.01, l = 2, g = 9.8, f = (0.1, 0.2): fmincon gives
(x, y) = (1.4001, 3.4281) and I = −0.4897. The multiplier λ is the force of the rod.
"""

import numpy as np
import sympy as sp

import stationary as st
from examples import Row, legend, save

QUESTION = "Where does it rest?"

SLIDES = "Hirai, fmincon"

x, y = st.coordinates("x y")
m, l, g = st.parameters(m=0.01, l=2.0, g=9.8)  # noqa: E741 (l, as on the slides)
fx, fy = st.parameters(f_x=0.1, f_y=0.2)
R = st.sqrt(x**2 + (y - l) ** 2) - l


def system():
    return st.System(
        potential=m * g * y,
        work=fx * x + fy * y,
        constraints=[st.Constraint(R, name="rod")],
        name="pendulum in Cartesian coordinates",
    )


def results():
    balance, rest = st.equations(system(), principle="statics"), st.statics(system())
    lam = balance.lam[0]
    # Three equations for x, y and λ, solved by SymPy to thirty digits.
    values = {s: sp.Rational(str(s.default)) for s in (m, l, g, fx, fy)}
    rows = [equation.lhs.subs(values) for equation in balance.equations]
    exact = [float(e) for e in sp.nsolve(rows, (x, y, lam), (1, 3, -0.1), prec=30)]
    # The rod pulls against the sum of the force and the weight.
    pull = -np.hypot(0.1, 0.2 - 0.01 * 9.8)
    return [
        Row("δI/δx", -fx - lam * R.diff(x), balance.equations[0].lhs, "Hirai, δI ≡ 0"),
        Row("δI/δy", m * g - fy - lam * R.diff(y), balance.equations[1].lhs, "Hirai, δI ≡ 0"),
        # The slide cuts 3.42815 off after four digits.
        Row("x", 1.4001, rest[x], SLIDES, 5e-5),
        Row("y", 3.4281, rest[y], SLIDES, 1e-4),
        Row("I = U − W", -0.4897, rest.energy, SLIDES, 5e-5),
        Row("λ", pull, rest.lam["rod"], "−|f − mg|", 1e-15),
        Row("x, exact", exact[0], rest[x], "SymPy, thirty digits", 1e-14),
        Row("y, exact", exact[1], rest[y], "SymPy, thirty digits", 1e-14),
        Row("λ, exact", exact[2], rest.lam["rod"], "SymPy, thirty digits", 1e-14),
        Row("stable", True, rest.stable, "a minimum on R = 0"),
    ]


def pictures(folder):
    """Draw the level lines of U − W, the circle R = 0, and the forces where it rests."""
    import matplotlib.pyplot as plt

    rest = st.statics(system())
    X, Y = np.meshgrid(np.linspace(-2.6, 3.2, 60), np.linspace(-0.6, 5.0, 60))
    weight, force = np.array([0, -0.098]), np.array([0.1, 0.2])
    place = np.array([rest[x], rest[y]])
    rod = rest.lam["rod"] * (place - [0, 2]) / 2
    with st.look() as colors:
        figure, axes = plt.subplots(figsize=(5.6, 5.2))
        axes.contour(X, Y, 0.098 * Y - 0.1 * X - 0.2 * Y, 18, colors="0.8", linestyles="solid")
        turn = np.linspace(0, 2 * np.pi, 200)
        axes.plot(2 * np.sin(turn), 2 + 2 * np.cos(turn), color="0.3", ls="-", label="$R = 0$")
        axes.plot([0, place[0]], [2, place[1]], color="0.3", lw=3, ls="-")
        axes.plot(*place, "o", color="k", ms=9)
        names = ("gravity", "external", r"rod: $\lambda\,\partial R/\partial q$")
        for arrow, name, color in zip((weight, force, rod), names, colors):
            axes.quiver(*place, *(7 * arrow), color=color, angles="xy", scale_units="xy", scale=1,
                        width=0.008, label=name, zorder=3)  # fmt: skip
        axes.set_aspect("equal")
        axes.set_xlabel("$x$ (m)")
        axes.set_ylabel("$y$ (m)")
        legend(axes)
    save(figure, folder / "cartesian_pendulum_statics.png")
