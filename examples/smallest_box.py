"""The box of given volume with the smallest surface: plain optimization by a multiplier.

S. Hirai, Analytical Mechanics: Variational Principles (slides, Ritsumeikan University), appendix
on the Lagrange multiplier method: minimize S = 2xy + 2yz + 2zx under xyz = a³. The answer is
x = y = z = a; from 2y + 2z = λyz follows λ = 4/a, the price of a little more volume: dS/da³.
"""

import numpy as np

import stationary as st
from examples import Row, legend, save

QUESTION = "Where does it rest?"

SLIDES = "Hirai, appendix"

x, y, z = st.coordinates("x y z")
a = st.parameters(a=2.0)


def system():
    return st.System(
        potential=2 * x * y + 2 * y * z + 2 * z * x,
        constraints=[st.Constraint(x * y * z - a**3, name="volume")],
        name="box",
    )


def results():
    balance = st.equations(system(), principle="statics")
    lam = balance.lam[0]
    rest = st.statics(system(), start={x: 1.0, y: 2.0, z: 5.0})
    other = st.statics(system(), start={x: 1.0, y: 2.0, z: 5.0}, params={a: 2.0 * 1.0001})
    price = (other.energy - rest.energy) / (8 * (1.0001**3 - 1))
    return [
        Row("∂I/∂x", 2 * y + 2 * z - lam * y * z, balance.equations[0].lhs, SLIDES),
        *(Row(str(edge), 2.0, rest[edge], SLIDES, 1e-14) for edge in (x, y, z)),
        Row("surface", 24.0, rest.energy, "6a²", 1e-13),
        Row("λ", 2.0, rest.lam["volume"], "4/a", 1e-14),
        Row("dS/da³, by difference", rest.lam["volume"], price, "λ is the price of volume", 1e-3),
        Row("stable", True, rest.stable, "a minimum under the constraint"),
    ]


def pictures(folder):
    """Draw the surface over two edges, the third given by the volume."""
    import matplotlib.pyplot as plt

    X, Y = np.meshgrid(np.linspace(0.8, 5, 200), np.linspace(0.8, 5, 200))
    surface = 2 * X * Y + 16 / X + 16 / Y
    rest = st.statics(system(), start={x: 1.0, y: 2.0, z: 5.0})
    with st.look() as colors:
        figure, axes = plt.subplots(figsize=(5.4, 4.8))
        lines = axes.contour(X, Y, surface, [24.2, 25, 26, 28, 31, 35, 40, 46, 53], cmap="viridis")
        axes.clabel(lines, fontsize=8)
        axes.plot(rest[x], rest[y], "o", color=colors[1], ms=8, label="$x = y = z = a$")
        axes.set_aspect("equal")
        axes.set_xlabel("$x$")
        axes.set_ylabel("$y$")
        axes.set_title("$S(x, y)$ with $z = a^3/xy$, $a = 2$", loc="right", fontsize=9)
        legend(axes)
    save(figure, folder / "smallest_box.png")
