"""Answers are the same in nanometres and in millions of kilometres, and wherever the origin is."""

import numpy as np
import pytest

import stationary as st

x, y, phi = st.coordinates("x y phi")


@pytest.mark.parametrize("length", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("origin", [0.0, 1e5])
def test_a_gap_is_closed_when_it_is_closed(length, origin):
    # A finger that begins 9 thousandths of its travel away takes as much less.
    pusher = st.Contact(x - (origin + st.t) * length, name="finger")
    particle = st.System(friction=[st.Friction(1.0, on=(x, y))], contacts=[pusher])
    start = {x: (origin + 0.009) * length, y: 0.0}
    slide = st.quasistatics(particle, span=(0, 1), start=start, points=3)
    assert slide.lost[-1] / length == pytest.approx(0.991, abs=1e-8)
    assert slide.events[0] == pytest.approx([0.009], abs=1e-8)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_what_rolls_loses_nothing(seed, unit):
    # A cart whose wheels are driven as fast as it goes: slip is the rounding of what cancels.
    x, y, phi, left, right = st.coordinates("x y phi left right")
    chance = np.random.default_rng(seed)
    length, width, speed, limit = chance.uniform(0.1, 1.0, 4) * [unit, unit, unit, 30.0]
    wheels = []
    for a, b, rim in (
        (length, width, left),
        (-length, width, left),
        (length, -width, right),
        (-length, -width, right),
    ):
        c, s = st.cos(phi), st.sin(phi)
        place = (x + a * c - b * s - rim, y + a * s + b * c)
        wheels.append(st.Friction(limit, on=place))
    motors = [st.Constraint(rim - speed * st.t) for rim in (left, right)]
    step = st.minimum_power(st.System(friction=wheels, constraints=motors))
    assert step[x.dot] == pytest.approx(speed, rel=1e-12)
    assert abs(step[phi.dot]) * length < 1e-12 * speed
    assert abs(step.power) < 1e-11 * limit * speed
