"""A flagellum in a viscous fluid, its base moved up and down: no inertia, no minimum of power.

Not from the documents, but the first example of their introduction. Beads at fixed distances bend
with a stiffness and are dragged, twice as much across as along. The drag is viscous, so that the
least dissipation decides. For a small swing every bead obeys ζẏ = −E y'''': the shape is a linear
response, solved here by one complex system. The steps of the motion are implicit, of length h,
which the response is told by iω → (1 − exp(−iωh))/h.
"""

from functools import cache

import numpy as np

import stationary as st
from examples import Row, film, save

QUESTION = "How does it slide?"

COUNT, BEND, ACROSS, ALONG, OMEGA, PER_CYCLE = 14, 0.03, 2.0, 1.0, 2 * np.pi, 30
h = 1.0 / (COUNT - 1)

r = st.coordinates("r", shape=(COUNT, 2))
swing = st.parameters(swing=0.01)


def rubbed(a, b, v):
    """Return the dissipation of a bead: viscous, along and across the way from a to b."""
    t = [(b[i] - a[i]) / st.norm(b - a) for i in (0, 1)]
    along = t[0] * v[0] + t[1] * v[1]
    across = t[0] * v[1] - t[1] * v[0]
    return h * (ALONG * along**2 + ACROSS * across**2) / 2


def system():
    lift = swing * st.sin(OMEGA * st.t)
    return st.System(
        potential=st.each(
            lambda a, b, c: BEND / h**3 * sum((a[i] - 2 * b[i] + c[i]) ** 2 for i in (0, 1)) / 2,
            r[:-2], r[1:-1], r[2:],
        ),
        dissipation=st.each(rubbed, r[:-2], r[2:], r.dot[1:-1])
        + st.each(rubbed, r[-2:-1], r[-1:], r.dot[-1:]),
        constraints=[
            st.each(lambda a, b: st.norm(b - a) - h, r[1:-1], r[2:], name="link"),
            st.Constraint(r[0, 0], name="x"), st.Constraint(r[0, 1] - lift, name="y"),
            st.Constraint(r[1, 0] - h, name="x next"), st.Constraint(r[1, 1] - lift, name="y next"),
        ],
        parts=(st.Part("rod", (r[:-1], r[1:])),),
        name="flagellum",
    )  # fmt: skip


def response():
    """Return the complex amplitudes of the beads for a unit swing of the first two."""
    D = np.diff(np.eye(COUNT), 2, axis=0)
    rate = (1 - np.exp(-1j * OMEGA / PER_CYCLE)) * PER_CYCLE
    Z = BEND / h**3 * D.T @ D + rate * h * ACROSS * np.eye(COUNT)
    return np.concatenate([[1, 1], -np.linalg.solve(Z[2:, 2:], Z[2:, :2].sum(axis=1))])


@cache
def beat(size, cycles):
    """Start with the shape of the linear response, so that nothing has to die out."""
    start = np.stack([h * np.arange(COUNT), size * response().imag], axis=1)
    return st.quasistatics(
        system(), span=(0, cycles), start={r: start}, params={swing: size},
        points=cycles * PER_CYCLE + 1, step=1 / PER_CYCLE,
    )  # fmt: skip


def results():
    moved = beat(0.0005, 1)
    # The part that swings with exp(iωt): y = Im(Y exp(iωt)).
    wave = np.exp(-1j * OMEGA * moved.t[1:])
    found = 2j * (moved[r][1:, :, 1] * wave[:, None]).mean(axis=0) / 0.0005
    exact = response()
    return [
        Row("swing of the tip", abs(exact[-1]), abs(found[-1]), "linear response", 1e-5),
        Row("delay of the tip (rad)", -np.angle(exact[-1]), -np.angle(found[-1]), "same", 1e-5),
        Row("largest difference of any bead", 0.0, np.abs(found - exact).max(), "same", 1e-5),
        Row("minimum power does not hold", True, not st.minimum_power_holds(system()), "viscous"),
        Row("largest change of a link", 0.0, moved.residual["R"], "rigid", 1e-12),
    ]


def pictures(folder):
    import matplotlib.pyplot as plt

    moved = beat(0.25, 1)
    with st.look() as colors:
        figure, axes = plt.subplots(figsize=(6.4, 4.2))
        for k in range(0, PER_CYCLE, 4):
            axes.plot(*moved[r][k].T, ls="-", color=colors[0], alpha=0.3 + 0.02 * k)
        axes.set(aspect="equal", xlabel="x", ylabel="y", title="shapes over one beat of the base")
    save(figure, folder / "flagellum.png")
    film(moved, folder / "flagellum.gif")
