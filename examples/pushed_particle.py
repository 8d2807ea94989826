"""A fence pushes a particle across a force: minimum power is right for dry friction only.

M. A. Peshkin and A. C. Sanderson, A Variational Principle for Quasistatic Mechanics (report
CMU-RI-TR-86-16, 1986), section 5: a fence imposes v_x, a force mg pulls down, a drag ηvⁿ opposes
the velocity. The balance of forces gives equation 29, the minimum of the power equation 32; they
agree for n = 0. With η < mg it accelerates.
"""

import numpy as np
from scipy.optimize import brentq

import stationary as st
from examples import Row, save

QUESTION = "How does it slide?"

x, y = st.coordinates("x y")
mg, eta, v_x = st.parameters(mg=1.0, eta=2.0, v_x=1.0)


def system(n):
    drag = st.Friction(eta, on=(x, y)) if n == 0 else st.Drag(eta, n, on=(x, y))
    return st.System(
        potential=mg * y,
        friction=[drag],
        constraints=[st.Constraint(x - v_x * st.t, name="fence")],
        name="pushed particle",
    )


def equation(n, times, ratio, speed=1.0):
    """Return the downward v_y of equation 29 (times = 1) or 32 (times = n + 1); ratio is η/mg."""

    def left(v):
        return v * (speed**2 + v**2) ** ((n - 1) / 2) - 1 / (ratio * times)

    return brentq(left, 0, 1e3, xtol=1e-15, rtol=1e-14)


def results():
    rows = []
    for n in (0, 1, 2):
        for ratio, speed in ((1.5, 1.0), (4.0, 0.3)):
            values = {eta: ratio, v_x: speed}
            right = st.newton(system(n), params=values)
            least = st.minimum_dissipation(system(n), params=values)
            power = st.minimum_power(system(n), params=values, refuse=False)
            case = f"n = {n}, η/mg = {ratio}, v_x = {speed}"
            exact = equation(n, 1, ratio, speed)
            rows += [
                Row(f"−v_y, balance: {case}", exact, -right[y.dot], "equation 29", 1e-10),
                Row(f"−v_y, dissipation: {case}", exact, -least[y.dot], "equation 29", 1e-10),
                Row(f"−v_y, power: {case}", equation(n, n + 1, ratio, speed),
                    -power[y.dot], "equation 32", 1e-10),
            ]  # fmt: skip
        holds = bool(st.minimum_power_holds(system(n)))
        rows.append(Row(f"the principle holds, n = {n}", n == 0, holds, "section 2.4"))
    falling = st.minimum_power(system(0), params={eta: 0.9}, throw=False)
    return [*rows, Row("η < mg accelerates", True, falling.status == "accelerates", "section 5")]


def pictures(folder):
    """Draw v_y over η for both principles."""
    import matplotlib.pyplot as plt

    ratios = np.linspace(1.02, 4, 60)
    with st.look() as colors:
        figure, axes = plt.subplots(figsize=(6.4, 4.0))
        for n, color in zip((0, 1, 2), colors):
            right = [-st.newton(system(n), params={eta: r})[y.dot] for r in ratios[::6]]
            axes.plot(ratios, [equation(n, 1, r) for r in ratios], color=color, ls="-",
                      label=f"n = {n}: Newton's law (29)")  # fmt: skip
            axes.plot(ratios[::6], right, "o", ls="", color=color, ms=4)
            if n:
                wrong = [
                    -st.minimum_power(system(n), params={eta: r}, refuse=False)[y.dot]
                    for r in ratios[::6]
                ]
                axes.plot(ratios, [equation(n, n + 1, r) for r in ratios], color=color,
                          label=f"n = {n}: minimum power (32)", ls="--")  # fmt: skip
                axes.plot(ratios[::6], wrong, "s", ls="", color=color, ms=4, mfc="white")
        axes.axvspan(0.8, 1, color="0.9", lw=0)
        axes.text(0.9, 1.25, "n = 0 accelerates", rotation=90, ha="center", va="center")
        axes.set(xlim=(0.8, 4), ylim=(0, 2.5), xlabel="η / mg", ylabel="−v_y / v_x")
        axes.legend()
    save(figure, folder / "pushed_particle.png")
