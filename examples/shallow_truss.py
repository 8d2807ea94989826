"""Two bars that snap through: a shallow truss under a load on its apex.

Von Mises' truss (1923). Bars of natural length l₀ and stiffness k rise at the angle α; a load P
presses their common joint down. In equilibrium P = 2kl₀ (sin θ − cos α tan θ); it snaps where
cos³θ = cos α, at P = 2kl₀ sin³θ. The load is the parameter, and two folds bound the jump.
"""

import numpy as np

import stationary as st
from examples import Row, legend, save

QUESTION = "Where does it rest?"

SOURCE = "closed form (EQ-VONMISES)"
ALPHA = np.pi / 6

theta = st.coordinates("theta")
k, bar, P = st.parameters(k=1.0, l_0=1.0, P=0.0)


def system():
    half = bar * np.cos(ALPHA)  # the supports do not move
    return st.System(
        potential=k * (half / st.cos(theta) - bar) ** 2,
        work=-P * half * st.tan(theta),
        name="shallow truss",
    )


def diagram():
    return st.continuation(system(), parameter=P, span=(-0.1, 0.1), start={theta: ALPHA})


def results():
    found = diagram()
    lower, upper = found.special
    limit = np.arccos(np.cos(ALPHA) ** (1 / 3))
    load = 2 * np.sin(limit) ** 3
    branch = found.branches[0]
    exact = 2 * (np.sin(branch[theta]) - np.cos(ALPHA) * np.tan(branch[theta]))
    # Pressed a little less than it can bear, and a little more: it ends on the other side.
    before = st.statics(system(), start={theta: ALPHA}, params={P: 0.999 * load})
    after = st.statics(system(), start=before.as_start(), params={P: 1.001 * load})
    return [
        Row("both special points are folds", True, {lower.kind, upper.kind} == {"fold"}, SOURCE),
        Row("load at which it snaps", load, upper.parameter, SOURCE, 1e-10),
        Row("θ there", limit, upper[theta], SOURCE, 1e-7),
        Row("load at which it snaps back", -load, lower.parameter, SOURCE, 1e-10),
        Row(
            "P − 2kl₀(sin θ − cos α tan θ)",
            0.0,
            np.abs(branch.parameter - exact).max(),
            SOURCE,
            1e-12,
        ),  # fmt: skip
        Row(
            "unstable between the folds",
            True,
            bool(np.all(branch.stable == (np.abs(branch[theta]) > limit))),
            SOURCE,
        ),  # fmt: skip
        Row("θ > 0 just below the load", True, before[theta] > 0, "it holds"),
        Row("θ < 0 just above the load", True, after[theta] < 0, "it has snapped"),
    ]


def pictures(folder):
    """Draw the diagram, and the truss before and after it snaps."""
    import matplotlib.pyplot as plt

    found = diagram()
    save(found.plot(theta), folder / "shallow_truss.png")
    half = np.cos(ALPHA)
    load = found.special[1].parameter
    with st.look() as colors:
        figure, axes = plt.subplots(figsize=(6.2, 3.4))
        cases = (("no load", 0.0, ALPHA), ("just before", 0.999 * load, ALPHA),
                 ("just after", 1.001 * load, -ALPHA))  # fmt: skip
        for (name, value, start), color in zip(cases, ("0.6", *colors)):
            rest = st.statics(system(), start={theta: start}, params={P: value})
            apex = half * np.tan(rest[theta])
            axes.plot([-half, 0, half], [0, apex, 0], "o-", color=color, lw=2.2, label=name)
        axes.set_aspect("equal")
        axes.margins(0.06)
        axes.set_xlabel("$x / l_0$")
        axes.set_ylabel("$y / l_0$")
        legend(axes)
    save(figure, folder / "shallow_truss_shapes.png")
