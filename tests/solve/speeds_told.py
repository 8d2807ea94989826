"""A speed up to which inertia may be left out, and answers with one number wrong."""

from dataclasses import replace

import numpy as np

import stationary as st


def towed_speed(unit):
    """Ask of a particle on a string round a bend; return the answer, wrong ones, and its range."""
    x, y = st.coordinates("x y")
    V, m = st.parameters(V=1.0, m=2.0)
    turn = V * st.t / unit
    hand = (unit * st.cos(turn), unit * st.sin(turn))
    towed = st.System(
        kinetic=m * (x.dot**2 + y.dot**2) / 2, friction=[st.Friction(1.0, on=(x, y))],
        constraints=[st.norm((x - hand[0], y - hand[1])) - unit / 2],
    )  # fmt: skip
    within = (0.03 * np.sqrt(unit), np.sqrt(unit))
    found = st.quasistatic_error(
        towed, speed=V, travel=unit, start={x: unit, y: -unit / 2}, within=within, count=20
    )
    beside, wrong = found.beside, []
    sizes = {"t": beside.t[-1], "q": unit, "v": np.abs(beside.v).max(), "forces": 1.0,
             "still": np.abs(beside.still).max(), "holding": 1.0}  # fmt: skip
    for name, size in sizes.items():
        told = getattr(beside, name)
        for place in zip(*(k.tolist() for k in np.unravel_index([7, told.size - 1], told.shape))):
            other = told.copy()
            other[place] += 1e-5 * size
            wrong.append(((name, place), replace(found, beside=replace(beside, **{name: other}))))
    for much in (0.97, 1.03):
        wrong.append((("speed", much), replace(found, speed=found.speed * much)))
        wrong.append((("level", much), replace(found, level=found.level * much)))
        wrong.append((("errors", much), replace(found, errors=found.errors * much)))
    more = replace(beside, error=beside.error * (1 + 1e-5))
    wrong.append(("error", replace(found, beside=more)))
    wrong.append(("never", replace(found, speed=np.inf)))
    return found, wrong, {"within": within}
