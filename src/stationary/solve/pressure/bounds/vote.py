"""Mason's vote: which way a pushed part turns, whatever its pressure.

At a translation along the push every point moves alike, and power changes with a rotation about
the contact by the lever of the centre alone: the same for every pressure. Power is convex, so its
minimum lies on the side to which it falls. A rough finger has three rays: its velocity, if it
sticks, and the two edges of its cone, if it slides.

Why the majority of the three decides. Whatever the force of the finger, the part moves as under a
smooth one with that force, and whatever the velocity of the contact, as under one that sticks and
goes there: it turns to the side of either ray. If both edges pass the centre on one side, so does
every force between them, and it turns to that side. If they differ and it sticks, it turns to the
side of the velocity. If it slides, the force is along the edge towards which the finger slides over
the part, and the velocity of the contact is on the side of that edge; that of the finger is the
same and more along the slip, still farther to that side. So the velocity has the vote of that edge.
"""

from __future__ import annotations

import numpy as np

from stationary.solve.pressure.region import Mode
from stationary.solve.pressure.support import REACH

#: The same, in short.
ROUGH_VOTE = (
    "It turns to the side of its force and of the velocity of the contact; forces between edges on "
    "one side are on that side, and a finger that slides pushes along the edge towards which it "
    "slides, so that its velocity is on the side of that edge, too: two of three rays agree with "
    "it. "
)


def votes_of(modes: list[Mode]) -> dict[str, float]:
    """Return the side on which each ray passes the centre: the lever, in sizes of the part."""
    levers: dict[str, float] = {}
    for mode in modes:
        if mode.force is not None:
            x, y, turn = mode.force
            levers["push" if mode.name == "holds" else f"edge, {mode.name}"] = float(
                turn / np.hypot(x, y)
            )
        elif mode.free.shape[1] == 1:
            # The finger carries one point with it: the ray from there along its velocity.
            turn = mode.free[:, 0]
            if abs(turn[2]) * REACH <= 1e-14 * np.hypot(*turn[:2]):
                continue
            point = np.array([-turn[1], turn[0]]) / turn[2]
            v = mode.base[:2] + mode.base[2] * np.array([-point[1], point[0]])
            levers["velocity"] = float((point[0] * v[1] - point[1] * v[0]) / np.hypot(*v))
    return levers


def verdict(votes: dict[str, float]) -> str:
    """Return which way the majority turns the part."""
    sides = [0 if abs(v) <= 1e-12 * REACH else int(np.sign(v)) for v in votes.values()]
    total = sum(sides)
    if not sides:
        return "either way"
    if total == 0:
        return "not at all"
    return "counterclockwise" if total > 0 else "clockwise"
