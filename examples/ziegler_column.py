"""A column that flutters: two links under a load that follows the second of them.

H. Ziegler, Die Stabilitätskriterien der Elastomechanik (1952); Herrmann and Jong (1965). Masses
2m and m, links l, springs k; units m = l = k = 1. The load has no potential, statics sees nothing
wrong up to any load, and yet the column flutters at P = 7/2 − √2. Damping in the joints, however
small, lowers that load to 41/28: P = 41/28 + c²/2.
"""

import numpy as np

import stationary as st
from examples import Row, film, legend, save

QUESTION = "Where does it rest?"

SOURCE = "Ziegler 1952, Herrmann and Jong 1965"

a, b = st.coordinates("alpha beta")
P, c = st.parameters(P=0.0, c=0.0)
joint = (st.sin(a), st.cos(a))
tip = (st.sin(a) + st.sin(b), st.cos(a) + st.cos(b))


def system():
    return st.System(
        kinetic=(3 * a.dot**2 + b.dot**2 + 2 * a.dot * b.dot * st.cos(a - b)) / 2,
        potential=(a**2 + (b - a) ** 2) / 2,
        dissipation=c * (a.dot**2 + (b.dot - a.dot) ** 2) / 2,
        loads=[st.Load((-P * st.sin(b), -P * st.cos(b)), on=tip, name="follower")],
        parts=(
            st.Part("rod", ((0, 0), joint)), st.Part("rod", (joint, tip)),
            st.Part("particle", (joint,)), st.Part("particle", (tip,)),
        ),
        name="Ziegler's column",
    )  # fmt: skip


def flutter(damping=0.0):
    """Return the point at which it starts to flutter."""
    found = st.continuation(system(), parameter=P, span=(0, 4), params={c: damping})
    (point,) = found.special
    return point


def results():
    rest = st.statics(system(), start={a: 0.1, b: -0.1}, params={P: 1.0})
    at_two = st.linearize(system(), at={}, params={P: 2.0})
    beyond = st.linearize(system(), at={}, params={P: 2.2})
    plain = flutter()
    return [
        Row("the load has an energy", False, rest.energy is not None, "it follows the link"),
        Row("special point is a Hopf point", True, plain.kind == "hopf", SOURCE),
        Row("flutter without damping", 3.5 - np.sqrt(2), plain.parameter, SOURCE, 1e-10),
        Row("flutter with c = 0.001", 41 / 28 + 5e-7, flutter(1e-3).parameter, SOURCE, 1e-10),
        Row("flutter with c = 0.5", 41 / 28 + 0.125, flutter(0.5).parameter, SOURCE, 1e-10),
        Row("flutter with c = 1", 41 / 28 + 0.5, flutter(1.0).parameter, SOURCE, 1e-10),
        Row("ω₁ at P = 2", np.sqrt(0.5), at_two.frequencies[0], SOURCE, 1e-12),
        Row("ω₂ at P = 2", 1.0, at_two.frequencies[1], SOURCE, 1e-12),
        Row(
            "unstable (flutter) at P = 2.2", True, beyond.stability == "unstable (flutter)", SOURCE
        ),
    ]


def pictures(folder):
    """Draw how frequencies meet and rates grow with the load, and a column that flutters."""
    import matplotlib.pyplot as plt

    loads = np.linspace(0, 4, 101)
    with st.look() as colors:
        figure, panels = plt.subplots(2, 1, figsize=(6.2, 4.8), sharex=True)
        for damping, color in zip((0.0, 0.1), colors):
            values = [
                st.linearize(system(), at={}, params={P: p, c: damping}).eigenvalues for p in loads
            ]
            style = {"color": color, "marker": ".", "ms": 2.5, "ls": "none"}
            for axes, part in zip(panels, (np.imag, np.real)):
                axes.plot(loads, part(values), **style)
            panels[0].plot([], [], color=color, ls="-", label=f"$c = {damping:g}$")
            panels[1].axvline(flutter(damping).parameter, color=color, lw=0.8, ls=":")
        panels[0].set_ylabel("frequency (rad/s)")
        panels[0].set_ylim(0, None)
        panels[1].set_ylabel("growth (1/s)")
        panels[1].set_xlabel("$P l / k$")
        legend(panels[0])
    save(figure, folder / "ziegler_column.png")
    moved = st.simulate(system(), span=(0, 60), start={a: 0.01}, params={P: 2.12}, points=900)
    film(moved, folder / "ziegler_column.gif")


def live():
    return {"system": system(), "start": {a: 0.01}, "params": {P: 2.12}, "span": (0, 60)}
