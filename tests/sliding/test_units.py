"""Answers are the same in nanometres and in millions of kilometres, and wherever the origin is."""

import numpy as np
import pytest

import stationary as st

x, y, phi = st.coordinates("x y phi")
FEET = np.array([(-0.9, -0.4), (0.9, -0.4), (0.9, 0.4), (-0.9, 0.4), (0.0, 0.1)])
WEIGHTS = np.array([0.2, 0.3, 0.1, 0.25, 0.15])
UNITS = [(1e-9, 1.0, 0.0), (1e-6, 1e9, 0.0), (1e9, 1e-9, 0.0), (1.0, 1e-9, 1e4)]


def pushed(length, force, origin, ahead=0.0):
    """A part on five feet that a rough finger pushes at its lower edge, `ahead` of it at first."""
    finger = st.Pusher(
        point=(0.5 * length + origin, (st.t - 0.5 - ahead) * length),
        edge=((-length, -0.5 * length), (length, -0.5 * length)),
        friction=0.3,
    )
    return st.slider(points=FEET * length, weights=WEIGHTS * force, pusher=finger)


@pytest.mark.parametrize("length, force, origin", UNITS)
@pytest.mark.parametrize("find", [st.minimum_power, st.newton])
def test_a_rough_push_is_the_same_in_all_units(find, length, force, origin):
    known = find(pushed(1.0, 1.0, 0.0))
    step = find(pushed(length, force, origin), at={x: origin})
    assert step.modes == known.modes and step.unique == known.unique
    scale = np.array([length, length, 1.0])
    np.testing.assert_allclose(step.v / scale, known.v, rtol=1e-9, atol=1e-9)
    assert step.power / (force * length) == pytest.approx(known.power, rel=1e-9)
    assert step.lam["pusher"] / force == pytest.approx(known.lam["pusher"], rel=1e-8)


@pytest.mark.parametrize("length, force, origin", UNITS)
def test_a_push_over_time_is_the_same_in_all_units(length, force, origin):
    runs = [
        st.quasistatics(pushed(*scale, 0.009), span=(0, 0.2), start={x: scale[2]}, points=5)
        for scale in ((1.0, 1.0, 0.0), (length, force, origin))
    ]
    known, slide = runs
    np.testing.assert_allclose(slide.events[0], known.events[0], rtol=1e-6)
    for part, size, shift in ((x, length, origin), (y, length, 0.0), (phi, 1.0, 0.0)):
        np.testing.assert_allclose((slide[part] - shift) / size, known[part], atol=1e-7)
    assert slide.lost[-1] / (force * length) == pytest.approx(known.lost[-1], rel=1e-6)


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
