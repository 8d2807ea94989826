"""Nothing to tune: each number that decides in solve/touch, ten times larger and smaller."""

import numpy as np
import pytest

import stationary as st
from tests.checks import ten_times

G = 9.81
x, y, phi = st.coordinates("x y phi")

DECIDE = {
    "begin": ["_RESOLVED", "_ENDED"],
    "crossings": ["_RESOLVED", "_DIP", "_FAR"],
    "driver": ["_STOPS", "_TOGETHER", "_BREAKS"],
    "facts": ["_DIGITS"],
    "laws": ["ROUNDING", "RANK", "FREE", "_NEARLY", "_TURNED"],
    "margins": ["ROUNDINGS"],
    "sieve": ["_CLEARLY"],
    "simulate": ["_ZERO", "_BALANCE", "_ROUNDING"],
    "start": ["_WAY"],
    "zeno": ["_AGREE", "_LEFT", "_APART", "_ROUGH"],
}


def systems():
    belt = st.Friction(1.1, on=x - 0.2 * st.t, static=2.0, name="belt")
    yield st.System(kinetic=x.dot**2 / 2, potential=7 * x**2 / 2, friction=[belt]), {x.dot: 0.2}, 9
    floor = st.Contact(y, restitution=0.5, name="floor")
    yield st.System(kinetic=y.dot**2 / 2, potential=G * y, contacts=[floor]), {y: 1.0}, 2
    ice = st.Friction(2.0, static=2.6, on=(x, y), name="ice")
    pull = st.Load((st.t, 0.2 * st.t**2), on=(x, y))
    mass = 1.3 * x.dot**2 / 2 + 0.4 * x.dot * y.dot + 0.7 * y.dot**2 / 2
    yield st.System(kinetic=mass, friction=[ice], loads=[pull]), {}, 4
    feet = [
        st.Contact(y + s * st.sin(phi), friction=0.4, slip=x + s * st.cos(phi), name=f"{s}")
        for s in (-1, 0.2, 1)
    ]
    bar = st.System(kinetic=x.dot**2 + y.dot**2 + 0.15 * phi.dot**2, potential=2 * G * y,
                    loads=[st.Load(9.0 * st.t, on=x)], contacts=feet)  # fmt: skip
    yield bar, {}, 0.9
    b, h, a = 0.2, 0.6, 0.05
    corners = [
        (x + s * b * st.cos(phi) + h * st.sin(phi), y + s * b * st.sin(phi) - h * st.cos(phi))
        for s in (-1, 1)
    ]
    block = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2 + (b**2 + h**2) / 3 * phi.dot**2 / 2, potential=G * y,
        contacts=[st.Contact(up, friction=0.9, slip=across, name=f"{k}")
                  for k, (across, up) in enumerate(corners)],
    )  # fmt: skip
    start = {phi: a, x: b * np.cos(a) - h * np.sin(a), y: b * np.sin(a) + h * np.cos(a)}
    yield block, start, 0.8


def answers(every):
    made = []
    for system, start, end in every:
        motion = st.simulate(system, span=(0, end), start=start, points=3)
        assert isinstance(motion, st.Touched)
        first = motion.changes.t[:12]
        made.append(np.concatenate([first / end, motion.q[-1] / (np.abs(motion.q).max() or 1)]))
    return made


@pytest.mark.slow
def test_no_answer_depends_on_a_number_that_decides(monkeypatch):
    every = list(systems())
    known = answers(every)
    for room, names in DECIDE.items():
        # The bar is slow, and asks how forces are shared.
        some = [k for k in range(len(every)) if k != 3 or room in ("facts", "laws", "margins")]
        for name in names:
            for factor in ten_times(monkeypatch, "stationary.solve.touch", room, name):
                for k, new in zip(some, answers([every[k] for k in some])):
                    same = pytest.approx(known[k], rel=1e-9, abs=1e-9)
                    assert new == same, (room, name, factor)
