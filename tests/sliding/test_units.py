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


def behind_a_spring(length, force, origin):
    """A particle in a plane behind a spring whose end goes round."""
    hand = [(origin + f) * length for f in (1.3 * st.sin(st.t), st.cos(st.t) - 1)]
    energy = force / length * ((x - hand[0]) ** 2 + (y - hand[1]) ** 2)
    system = st.System(potential=energy, friction=[st.Friction(force, on=(x, y))])
    return system, {x: (0.0, length), y: (0.0, length)}, 0.6


def in_oil(length, force, origin):
    """A spring that relaxes in oil, with dry friction."""
    rubs = [st.Drag(4 * force / length, 1, on=x), st.Friction(0.5 * force, on=x)]
    energy = force / length * (x - origin * length) ** 2
    return st.System(potential=energy, friction=rubs), {x: (1.0, length)}, 1.0


def towed(length, force, origin):
    """A bead behind a link, which begins across it."""
    link = st.norm((x - (st.t + origin) * length, y - origin * length)) - length
    bead = st.System(friction=[st.Friction(force, on=(x, y))], constraints=[st.Constraint(link)])
    return bead, {x: (0.0, length), y: (1.0, length)}, 0.4


def raised(length, force, origin):
    """A rod whose top is raised along a line, on a rough floor: metres and radians."""
    c, s = st.cos(phi), st.sin(phi)
    foot = (x - s * length / 2, y - origin * length - c * length / 2)
    top = (x + s * length / 2, y - origin * length + c * length / 2)
    rod = st.System(
        potential=force * y,
        contacts=[st.Contact(foot[1], friction=0.4, slip=foot[0], name="floor")],
        constraints=[top[1] - (0.5 + st.t) * length, top[0] - origin * length],
    )
    lean = np.arccos(0.5)
    return rod, {x: (-np.sin(lean) / 2, length), y: (0.25, length), phi: (lean, 1.0)}, 0.2


@pytest.mark.parametrize(
    "make, method",
    [(behind_a_spring, "auto"), (in_oil, "auto"), (in_oil, "increments"), (towed, "auto"),
     (towed, "increments"), (raised, "increments")],
)  # fmt: skip
def test_every_way_of_following_is_the_same_in_all_units(make, method):
    runs = []
    for length, force, origin in [(1.0, 1.0, 0.0), (1e-9, 1e3, 0.0), (1e6, 1e-9, 1e3)]:
        system, start, end = make(length, force, origin)
        moved = {k: origin * length if size == length else 0.0 for k, (_, size) in start.items()}
        at = {k: value * size + moved[k] for k, (value, size) in start.items()}
        slide = st.quasistatics(system, span=(0, end), start=at, points=4, method=method)
        places = [(slide[k] - moved[k]) / size for k, (_, size) in start.items()]
        runs.append((np.array(places), slide.lost / (force * length), slide.steps))
    (known, lost, steps), *others = runs
    for places, taken, count in others:
        np.testing.assert_allclose(places, known, atol=1e-7)
        np.testing.assert_allclose(taken, lost, atol=1e-7)
        assert abs(count - steps) <= 2
