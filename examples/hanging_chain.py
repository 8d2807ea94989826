"""A hanging chain of ten thousand links, and the catenary that it becomes.

Not from the documents. Beads on the inner joints of N rigid links between level supports: the
links have tan θ_k = (k − (N+1)/2)/h with Σ (S/N) cos θ_k = D, where h is the horizontal force in
weights of a link. As N grows, the sag tends to that of the catenary. Twenty thousand coordinates
and ten thousand constraints take a few Newton steps on a banded matrix.
"""

import time

import numpy as np
from scipy.optimize import brentq

import stationary as st
from examples import Row, legend, save

QUESTION = "Where does it rest?"

SPAN, LENGTH = 2.0, 3.0


def system(links):
    r = st.coordinates("r", shape=(links - 1, 2))
    w, h = st.parameters(w=1.0 / links, h=LENGTH / links)

    def stretch(a, b):
        return st.norm(b - a) - h

    ends = np.zeros(2), np.array([SPAN, 0.0])
    held = [
        st.Constraint(stretch(ends[0], r[0]), name="first"),
        st.each(stretch, r[:-1], r[1:], name="link"),
        st.Constraint(stretch(r[-1], ends[1]), name="last"),
    ]
    chain = st.each(lambda p: w * p[1], r)
    return r, st.System(potential=chain, constraints=held, name=f"chain of {links} links")


def rest(links):
    """Let it hang from a rough guess: a parabola of another length."""
    r, chain = system(links)
    s = np.arange(1, links) / links
    start = np.stack([SPAN * s, -3.2 * s * (1 - s)], axis=1)
    found = st.statics(chain, start={r: start})
    return found, found[r]


def exact(links):
    """Return the joints and the horizontal force of the closed form."""
    place = np.arange(1, links + 1) - (links + 1) / 2

    def excess(h):
        return LENGTH / links * np.sum(1 / np.hypot(1, place / h)) - SPAN

    h = brentq(excess, 1e-3 * links, 10 * links, xtol=1e-15, rtol=1e-15)
    angle = np.arctan(place / h)
    legs = LENGTH / links * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.cumsum(legs, axis=0)[:-1], h / links


def results():
    rows = []
    for links in (10, 10_000):
        began = time.process_time()
        found, joints = rest(links)
        spent = time.process_time() - began
        places, level = exact(links)
        pull = -found.lam["first"] * joints[0, 0] / (LENGTH / links)
        rows += [
            Row(f"joints, {links} links", 0.0, np.abs(joints - places).max(), "closed form", 1e-11),
            Row(f"horizontal force, {links} links", level, pull, "closed form", 1e-10),
            Row(f"unbalanced force, {links} links", 0.0, found.residual["force"], "rest", 1e-10),
            Row(f"fewer than 20 steps, {links} links", True, found.steps < 20, "work"),
        ]
    a = brentq(lambda a: 2 * a * np.sinh(SPAN / (2 * a)) - LENGTH, 0.1, 10, xtol=1e-15)
    sag = a * (np.cosh(SPAN / (2 * a)) - 1)
    rows.append(Row("sag, 10 000 links", -sag, joints[:, 1].min(), "catenary", 1e-7))
    rows.append(Row("seconds of work < 10", True, spent < 10, "2 cores"))
    return rows


def pictures(folder):
    """Draw chains of growing number, on the catenary."""
    import matplotlib.pyplot as plt

    with st.look():
        figure, axes = plt.subplots(figsize=(6.2, 4.0))
        _, smooth = rest(2000)
        axes.plot(*np.vstack([[0, 0], smooth, [SPAN, 0]]).T, color="0.7", lw=5, ls="-",
                  label="2000 links")  # fmt: skip
        for links, marker in ((4, "o"), (10, "s"), (20, ".")):
            joints = np.vstack([[0, 0], rest(links)[1], [SPAN, 0]])
            axes.plot(*joints.T, marker=marker, ms=5, label=f"{links} links", ls="-", lw=1.2)
        axes.set_aspect("equal")
        axes.margins(0.05)
        axes.set_xlabel("$x$ (m)")
        axes.set_ylabel("$y$ (m)")
        legend(axes)
    save(figure, folder / "hanging_chain.png")
