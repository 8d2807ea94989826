"""Nothing to tune: each number that decides in solve/touch, ten times larger and smaller."""

import numpy as np
import pytest

import stationary as st
from stationary.solve.touch import impulses
from tests.checks import ten_times
from tests.physics.test_touch_many import discs

G = 9.81
x, y, phi = st.coordinates("x y phi")

DECIDE = {
    "slip_onset": ["_RESOLVED", "_ENDED", "_ROUGH", "_LONG"],
    "crossings": ["_RESOLVED", "_SOON", "_DIP", "_FAR"],
    "driver": ["_STOPS", "_TOGETHER", "_BREAKS", "_DECAYS"],
    "at_state": ["DIGITS", "RANK", "_COMPUTED", "_SHARED"],
    "laws": ["ROUNDING", "FREE", "_NEARLY", "_TURNED"],
    "margins": ["ROUNDINGS"],
    "mode": ["_LEFT"],
    "mode_sieve": ["_CLEARLY", "_GIVE", "_STRONG"],
    "simulate": ["_ZERO", "_BALANCE_OF_SERIES", "_BALANCE", "_ROUNDING"],
    "start": ["_TYPED", "_WAY"],
    "zeno": ["_AGREE", "_LEFT", "_APART", "_ROUGH"],
}

# Of free flights, and of walls that close on one.
DECIDE_REBOUNDS = {
    "mode": ["_LEFT"],
    "rebound": ["_CLEAR", "_GRAZES"],
    "record": ["_MOST", "_OF_A_PIECE"],
    "closing_walls": ["_CLOSE_TO_END"],
    "zeno": ["_AGREE", "_LEFT", "_APART", "_ROUGH", "_MANY", "_NOW_AND_THEN", "_NEAR"],
}

# Of steps of one length.
DECIDE_STEPS = {
    "cones": ["_CLOSE", "_FLAT", "_GIVE"],
    "impulses": ["_KEPT", "_POLISHED", "_ROUGHLY", "_CHANGED", "_POINTS", "_POLISH", "_AGREE",
                 "_ENOUGH", "_CLOSELY", "_NEARLY", "_ROUNDING", "_TOLD_APART", "_TURNED"],
    "moreau": ["_PUSHED", "_STRAIGHT", "_BELOW", "_HARD", "_MISSED", "_TOLD", "_DIGITS", "_STILL"],
    "nearby": ["_ASIDE", "_PULLED", "_WIDER"],
    "proximal": ["_NEAR", "_FIRST", "_LESS", "_MORE", "_LEAST", "_MOST"],
    "step_law": ["GIVE"],
}  # fmt: skip


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
        some = [k for k in range(len(every)) if k != 3 or room in ("at_state", "laws", "margins")]
        for name in names:
            for factor in ten_times(monkeypatch, "stationary.solve.touch", room, name):
                for k, new in zip(some, answers([every[k] for k in some])):
                    same = pytest.approx(known[k], rel=1e-9, abs=1e-9)
                    assert new == same, (room, name, factor)


def flights():
    walls = [st.Contact(x, restitution=1, name="left"), st.Contact(1 - x, restitution=1, name="r")]
    fast = st.System(kinetic=x.dot**2 / 2, potential=0.2 * x, contacts=walls)
    yield fast, {x: 0.3, x.dot: 1.0}, 30
    walls = [
        st.Contact(y + 0.3 * x, restitution=0.95, name="floor"),
        st.Contact(1 - x, restitution=0.9, name="right"),
        st.Contact(1 + x - 0.2 * st.t, restitution=1, name="left"),
    ]
    mass = (x.dot**2 + 1.3 * y.dot**2 + 0.4 * x.dot * y.dot) / 2
    yield st.System(kinetic=mass, potential=G * y, contacts=walls), {y: 1.0, x.dot: 0.7}, 3
    closes = st.Contact(1 - x - 0.1 * st.t - 0.02 * st.t**2, restitution=1, name="right")
    walls = [st.Contact(x, restitution=1, name="left"), closes]
    yield st.System(kinetic=x.dot**2 / 2, contacts=walls), {x: 0.3, x.dot: 2.0}, 30


@pytest.mark.slow
def test_no_rebound_depends_on_a_number_that_decides(monkeypatch):
    every = list(flights())

    def answers():
        for system, start, end in every:
            motion = st.simulate(system, span=(0, end), start=start, points=3, throw=False)
            assert isinstance(motion, st.Touched)
            assert motion.residual["penetration"] < 1e-11
            yield motion.status.message, motion.changes.t[:200] / end

    known = list(answers())
    assert "left, right leave no room at t = 5:" in known[-1][0]
    for room, names in DECIDE_REBOUNDS.items():
        for name in names:
            for factor in ten_times(monkeypatch, "stationary.solve.touch", room, name):
                for (said, times), (words, new) in zip(known, answers()):
                    assert words == said, (room, name, factor)
                    assert new == pytest.approx(times, rel=1e-12), (room, name, factor)


@pytest.mark.slow
def test_no_step_depends_on_a_number_that_decides(monkeypatch):
    every = [discs(9, 0.4, rough=0.3), discs(7, 0.36)]

    def answers():
        for box, r, places in every:
            motion = st.simulate(
                box, span=(0, 0.2), start={r: places}, points=3, method=st.Moreau(step=5e-3)
            )
            yield motion[r]

    known = list(answers())
    # From here on as with many rows, whose sets are not searched but told by programs.
    monkeypatch.setattr(impulses, "_FEW", 0)
    monkeypatch.setattr(impulses, "_TRIES", 1)
    for room, names in DECIDE_STEPS.items():
        for name in names:
            for factor in ten_times(monkeypatch, "stationary.solve.touch", room, name):
                for places, new in zip(known, answers()):
                    assert np.abs(new - places).max() < 1e-6, (room, name, factor)


@pytest.mark.parametrize("swings", [False, True])
def test_what_would_take_hours_is_told_where_contacts_touch(swings, monkeypatch):
    # Many steps tell the pace: few of them do here, where all are alike.
    monkeypatch.setattr("stationary.solve.motion.stiffness._LONG", 2000)
    x, y = st.coordinates("x y")
    system, start = st.System(kinetic=x.dot**2 / 2), {x: 0.5, x.dot: 1.0}
    if swings:
        # Beside what rubs, a spring turns 1.6e7 times.
        rubs = st.Friction(0.1, on=y, name="rubs")
        system += st.System(kinetic=y.dot**2 / 2, potential=1e16 * x**2 / 2, friction=[rubs])
        start = {x: 1.0, y.dot: 1.0}
    else:
        walls = st.Contact(x, restitution=1), st.Contact(1 - x, restitution=1)
        system += st.System(contacts=list(walls))
    motion = st.simulate(system, span=(0, 1e8 ** (not swings)), start=start, points=3, throw=False)
    assert motion.status == "endless" and 1000 < motion.steps < 10_000
    t = motion.t[-1]
    # To and fro in a gap, or about the middle; until then all is as it should be.
    there = np.cos(1e8 * t) if swings else 1 - abs((t + 0.5) % 2 - 1)
    assert motion[x][-1] == pytest.approx(there, abs=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "begin, method",
    [(0.0, "auto"), (1e3, "auto"), (1e6, "auto"), (0.0, st.BDF()), (1e3, st.BDF()),
     (1e6, st.Runge())],
)  # fmt: skip
def test_a_wall_that_moves_by_pieces_pushes_at_any_time(begin, method):
    # At rest, faster and faster from 1 s to 2 s, then steadily: a spring holds the mass to it.
    x = st.coordinates("x")
    t = st.t - begin
    way = st.Piecewise((0, t < 1), ((t - 1) ** 2 / 2, t < 2), (t - 1.5, True))
    wall = st.Contact(x - way, name="wall")
    system = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 4, contacts=[wall])
    motion = st.simulate(system, span=(begin, begin + 5), points=11, method=method)
    expected = np.select([motion.t - begin < 1, motion.t - begin < 2],
                         [0, (motion.t - begin - 1)**2 / 2], motion.t - begin - 1.5)  # fmt: skip
    # Seen through the last digits of time, the wall trembles.
    np.testing.assert_allclose(motion[x], expected, rtol=0, atol=1e-9 + 1e-13 * begin)
    assert motion.lam["wall"][-1] == pytest.approx(3.5 / 2, abs=1e-8)
