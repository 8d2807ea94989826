"""A rope that lies snaked on the ground straightens as one end is pulled.

Not from the documents, but the example of their introduction: particles at fixed distances, dry
friction under each, and the end drawn along x: a hundred of them, and a thousand. Pulled
far it lies straight behind the hand, which then works against all of the friction; on its way the
particles trail like a bead on a link, the tractrix of two particles being exact.
"""

from functools import cache

import numpy as np

import stationary as st
from examples import Row, film, save

QUESTION = "How does it slide?"

LENGTH, FRICTION = 1.0, 1.0


def system(count, hand):
    r = st.coordinates("r", shape=(count, 2))
    h = st.parameters(h=LENGTH / (count - 1))
    return r, st.System(
        friction=st.each(lambda p: st.Friction(FRICTION / count, on=p), r, name="ground"),
        constraints=[
            st.each(lambda a, b: st.norm(b - a) - h, r[:-1], r[1:], name="link"),
            st.Constraint(r[count - 1, 0] - float(hand[0]) - st.t, name="hand"),
            st.Constraint(r[count - 1, 1] - float(hand[1]), name="level"),
        ],
        name=f"rope of {count} particles",
    )


def snaked(count, bends=2.0, swing=1.3):
    s = (np.arange(count - 1) + 0.5) / (count - 1)
    angle = swing * np.sin(2 * np.pi * bends * s)
    legs = LENGTH / (count - 1) * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.vstack([[0.0, 0.0], np.cumsum(legs, axis=0)])


@cache
def pull(count, way=0.9, points=46):
    start = snaked(count)
    r, rope = system(count, start[-1])
    return r, st.quasistatics(rope, span=(0, way), start={r: start}, points=points,
                               step=way / (points - 1))  # fmt: skip


def results():
    start = snaked(100)
    r, rope = system(100, start[-1])
    first = st.minimum_power(rope, at={r: start})
    # A straight rope: every link carries the friction of all that is behind it.
    s = np.stack([np.linspace(0, LENGTH, 100), np.zeros(100)], axis=1)
    line, straight = system(100, s[-1])
    drawn = st.minimum_power(straight, at={line: s})
    behind = np.abs(-drawn.lam["link"] - FRICTION * np.arange(1, 100) / 100).max()
    r, moved = pull(100)
    gaps = np.linalg.norm(np.diff(moved[r], axis=1), axis=2)
    fine, finer = pull(1000)
    links = np.linalg.norm(np.diff(finer[fine], axis=1), axis=2)
    # Two particles: the other follows the tractrix (−tanh s, sech s), seen from the hand.
    two, bead = system(2, (0.0, 0.0))
    tail = {two: [[-np.tanh(0.5), 1 / np.cosh(0.5)], [0.0, 0.0]]}
    trail = st.quasistatics(bead, span=(0, 1.5), start=tail, points=4)
    return [
        Row("tension along a straight rope", 0.0, behind, "friction behind", 1e-7),
        Row("pull on a straight rope", FRICTION, drawn.lam["hand"], "all of it", 1e-8),
        Row("pull on the snaked rope is less", True, bool(first.lam["hand"] < FRICTION), "it is"),
        Row("duality gap", 0.0, first.gap, "certificate", 1e-9),
        Row("largest change of a link", 0.0, np.abs(gaps * 99 / LENGTH - 1).max(), "rigid", 1e-12),
        Row("a thousand: change of a link", 0.0, np.abs(links * 999 / LENGTH - 1).max(), "rigid",
            1e-12),
        Row("a thousand: friction took as much", moved.lost[-1], finer.lost[-1], "a hundred",
            2e-4),
        Row("a thousand: pull at the end", FRICTION, finer.lam["hand"][-1], "all of it", 1e-3),
        Row("a rope of two: y of its tail", 1 / np.cosh(2), trail[two][-1, 0, 1], "tractrix", 1e-8),
    ]  # fmt: skip


def pictures(folder):
    """Draw the rope on its way, and a film."""
    import matplotlib.pyplot as plt

    r, moved = pull(100)
    with st.look() as colors:
        figure, (axes, force) = plt.subplots(2, 1, figsize=(7, 4.6), height_ratios=(1, 1))
        for k in range(0, len(moved.t), 9):
            shade = 0.2 + 0.8 * k / len(moved.t)
            axes.plot(*moved[r][k].T, color=colors[0], ls="-", lw=2, alpha=shade)
            axes.plot(*moved[r][k, -1], "o", color=colors[1], ms=5)
        axes.set(aspect="equal", xlabel="x (m)", ylabel="y (m)")
        axes.margins(0.03)
        force.plot(moved.t[1:], moved.lam["hand"][1:])
        force.axhline(FRICTION, color="0.5", ls=":")
        force.set(xlabel="way of the hand (m)", ylabel="pull / friction", ylim=(0, 1.1))
    save(figure, folder / "rope_pulled.png")
    film(moved, folder / "rope_pulled.gif")
