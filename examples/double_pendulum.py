"""A double pendulum: chaos that can be trusted, because the energy balances to rounding.

Not from the documents. The end states are compared with Taylor series of order 44 in 200-bit
arithmetic: masses and rods of 1, g = 9.81, both arms horizontal at the start.

``python -m examples double_pendulum`` draws gallery/double_pendulum.png; the README shows it as
docs/pendulum.png.
"""

import numpy as np

import stationary as st
from examples import Row, film, legend, save

QUESTION = "How does it move?"

# How much a change of the start has grown by then, and the state.
PRECISE = {
    5.0: (13, (-0.62718670506653073, -1.3013155502098117)),
    10.0: (143, (-0.56847466401595019, -0.52639372793240470)),
    20.0: (935845, (0.74876097547918183, -25.832461998893777)),
}

theta1, theta2 = st.coordinates("theta1 theta2")
m, l, g = st.parameters(m=1.0, l=1.0, g=9.81)  # noqa: E741 (l, as on the slides)


first = (l * st.sin(theta1), -l * st.cos(theta1))
second = (first[0] + l * st.sin(theta2), first[1] - l * st.cos(theta2))


def system():
    rods = (st.Part("rod", ((0, 0), first)), st.Part("rod", (first, second)))
    return (
        st.System(parts=rods, name="double pendulum")
        + st.particle(m, at=first, gravity=g)
        + st.particle(m, at=second, gravity=g)
    )


def motion(end, angles=(np.pi / 2, np.pi / 2)):
    return st.simulate(system(), span=(0, end), start=dict(zip((theta1, theta2), angles)))


def results():
    moved = motion(20)
    rows = []
    for t, (growth, state) in PRECISE.items():
        for name, angle, exact in zip("12", (theta1, theta2), state):
            source = "Taylor series, 200 bits"
            # Our own rounding, 1e-14 or so, grows as everything does.
            rows.append(Row(f"θ{name}({t:g})", exact, moved.at(t)[angle], source, 1e-13 * growth))
    size = np.max(np.abs(moved.potential))
    worst = moved.residual["energy"] / size
    rows.append(Row("energy balance, 20 s, relative", 0, worst, "conservation", 1e-13))
    return rows


def pictures(folder):
    import matplotlib.pyplot as plt

    start = (2.5, 1.5)
    long, short = motion(20, start), motion(2.4, start)
    flashes = short.at(np.linspace(0, 2.4, 41))
    with st.look() as colors:
        figure = plt.figure(figsize=(10, 4.4))
        left, right = figure.add_gridspec(1, 2, width_ratios=(1, 1.15))
        axes = figure.add_subplot(left, aspect="equal", xlabel="$x$ (m)", ylabel="$y$ (m)")
        axes.set_title("the first 2.4 seconds", fontsize=10)
        for bob, color in zip((first, second), colors):
            axes.plot(*short[bob].T, color=color, ls="-", lw=1, alpha=0.5)
        for k, (one, two) in enumerate(zip(flashes[first], flashes[second])):
            shade = 0.12 + 0.88 * (k / 40) ** 2
            axes.plot(*np.transpose([(0, 0), one, two]), color="0.15", ls="-", lw=1, alpha=shade)
            for place, color in zip((one, two), colors):
                axes.plot(*place, "o", color=color, mec="k", ms=6, alpha=shade)
        upper, lower = right.subgridspec(2, 1)
        axes = figure.add_subplot(upper, ylabel="angle (rad)")
        axes.plot(long.t, long[theta1], label=r"$\theta_1$")
        axes.plot(long.t, long[theta2], label=r"$\theta_2$")
        axes.tick_params(labelbottom=False)
        legend(axes)
        error = np.maximum(np.abs(long.balance) / np.max(np.abs(long.potential)), 1e-17)
        axes = figure.add_subplot(lower, sharex=axes, xlabel="$t$ (s)", ylabel="relative error")
        axes.semilogy(long.t, error, lw=0.9, label=r"$|\Delta E|$")
        axes.axhline(np.finfo(float).eps, color="0.45", ls=":", label="rounding")
        axes.set_ylim(1e-17, 1e-12)
        legend(axes)
    save(figure, folder / "double_pendulum.png")
    film(motion(8, start), folder / "double_pendulum.gif")


def live():
    return {"system": system(), "start": {theta1: 2.5, theta2: 1.5}, "span": (0, 20)}
