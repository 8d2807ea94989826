"""Motions without inertia that are hard to follow: jams, ropes, visits of pushers."""

import numpy as np
import pytest
from scipy.optimize import brentq

import stationary as st
from tests.checks import assert_order
from tests.sliding.ladder import ladder

x, y, phi = st.coordinates("x y phi")


def finger(mu, way=(0.0, 1.0)):
    pusher = st.Pusher(
        point=(0.3 + way[0] * st.t, -0.5 + way[1] * st.t), edge=((-1, -0.5), (1, -0.5)), friction=mu
    )
    return st.slider(points=[(-1, 0), (1, 0), (0, 0.7)], weights=[0.4, 0.4, 0.2], pusher=pusher)


def snake(n=16):
    """A bent rope whose last particle is pulled along x."""
    angle = 1.2 * np.sin(np.linspace(0, 2 * np.pi, n - 1))
    legs = 0.1 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    place = np.vstack([[0, 0], np.cumsum(legs, axis=0)])
    r = st.coordinates("r", shape=(n, 2))
    rope = st.System(
        friction=st.each(lambda p: st.Friction(1.0 / n, on=p), r, name="ground"),
        constraints=[
            st.each(lambda a, b: st.norm(b - a) - 0.1, r[:-1], r[1:], name="link"),
            st.Constraint(r[n - 1, 0] - float(place[-1, 0]) - st.t, name="hand"),
            st.Constraint(r[n - 1, 1] - float(place[-1, 1]), name="level"),
        ],
    )
    return r, rope, place


def test_a_part_is_left_alone_until_the_pusher_comes_and_when_it_goes():
    # A wall at sin(t) − 0.5 pushes a block at 0: it moves from t = π/6 to π/2, then stays.
    wall = st.Contact(x - (st.sin(st.t) - 0.5), name="wall")
    block = st.System(friction=[st.Friction(2.0, on=x, name="floor")], contacts=[wall])
    slide = st.quasistatics(block, span=(0, 3), start={x: 0}, points=61)
    exact = np.maximum.accumulate(np.maximum(0, np.sin(np.minimum(slide.t, np.pi / 2)) - 0.5))
    np.testing.assert_allclose(slide[x], exact, atol=1e-7)
    times = slide.events[0]
    for event in (np.pi / 6, np.pi / 2):
        assert np.abs(times - event).min() < 1e-5
    moving = (slide.t > np.pi / 6 + 0.02) & (slide.t < np.pi / 2 - 0.02)
    np.testing.assert_allclose(slide.lam["wall"][moving], 2.0, atol=1e-9)
    away = slide.t > np.pi / 2 + 0.02
    np.testing.assert_allclose(slide.lam["wall"][away], 0.0, atol=1e-12)
    assert slide.lost[-1] == pytest.approx(2.0 * 0.5, abs=1e-6)


def test_a_sticking_finger_is_the_same_as_a_pinned_point():
    part = finger(5.0)
    px, py, turn = part.coordinates
    c, s = st.cos(turn), st.sin(turn)
    pinned = st.slider(points=[(-1, 0), (1, 0), (0, 0.7)], weights=[0.4, 0.4, 0.2]) + st.System(
        constraints=[px + 0.3 * c + 0.5 * s - 0.3, py + 0.3 * s - 0.5 * c + 0.5 - st.t]
    )
    np.testing.assert_allclose(st.minimum_power(part).v, st.minimum_power(pinned).v, atol=1e-9)
    long = {"span": (0, 1.0), "points": 11}
    a, b = st.quasistatics(part, **long), st.quasistatics(pinned, **long)
    for name in ("x", "y", "phi"):
        np.testing.assert_allclose(a[name], b[name], atol=1e-6)


def test_a_fence_turns_a_part_at_least_as_fast_as_the_tip_bound():
    # QS-PS-TIP: for no pressure within a radius a does a corner at a distance C take a longer push
    # from b = 10° to 60° than |[(a²/C) ln tan(b/2) − C cos b]| = 2.3717… for a = C = 1, where b is
    # the angle between the push and the arm of the corner.
    bound, start = 2.37174766239403058, np.radians(10)
    angle = 2 * np.pi * np.arange(60) / 60
    ring = st.slider(points=np.stack([np.cos(angle), np.sin(angle)], axis=1), weights=1 / 60)
    px, py, turn = ring.coordinates
    corner = py - st.cos(start - turn)
    fence = st.Contact(corner + np.cos(start) - st.t, name="fence")
    slide = st.quasistatics(
        ring + st.System(contacts=[fence]), span=(0, bound), points=11, step=bound / 50
    )
    b = np.degrees(start - slide[turn])
    assert b[-1] > 60 and np.all(np.diff(b) > 0)
    assert np.interp(60, b, slide.t) < bound


def test_a_snaked_rope_straightens_with_its_links_kept_at_rounding():
    r, rope, place = snake()
    slide = st.quasistatics(rope, span=(0, 4), start={r: place}, points=41, step=0.1)
    assert slide.residual["R"] < 1e-14
    assert slide.residual["gap"] < 1e-9
    # Particles of a pulled string trail the one in front: in the end it is straight along x.
    end = slide[r][-1]
    assert np.abs(np.diff(end[:, 1])).max() < 0.01
    # A rope can only pull back with its whole friction, and does so once straight.
    pull = slide.lam["hand"]
    assert pull.max() <= 1 + 1e-9
    assert pull[-1] == pytest.approx(1.0, abs=1e-3)
    # What the hand gives is what friction took.
    np.testing.assert_allclose(slide.work, slide.lost, atol=0.02 * slide.lost[-1])


def test_increments_of_a_rope_are_of_order_one():
    r, rope, place = snake(8)
    ends = {}
    for h in (0.06, 0.03, 0.015, 0.004):
        slide = st.quasistatics(
            rope, span=(0, 0.6), start={r: place}, points=2, method="increments", step=h
        )
        ends[h] = slide[r][-1]
    *steps, finest = ends
    errors = [np.abs(ends[h] - ends[finest]).max() for h in steps]
    assert errors[-1] < 0.01
    assert_order(steps, errors, 1, 0.3)


def test_a_link_that_gets_too_short_jams():
    bar = st.System(
        friction=[st.Friction(1.0, on=(x, y))],
        constraints=[
            st.Constraint(st.norm((x, y)) - 1, name="tie"), st.Constraint(x - st.t, name="hand"),
        ],
    )  # fmt: skip
    with pytest.raises(st.NoMotion, match="jammed") as caught:
        st.quasistatics(bar, span=(0, 2), start={x: 0, y: 1})
    slide = caught.value.solution
    assert set(caught.value.names) == {"tie", "hand"}
    assert slide.t[-1] == pytest.approx(1.0, abs=1e-6)
    assert slide.residual["R"] < 1e-9


def test_a_ladder_that_stands_sticks_and_one_that_does_not_accelerates():
    _, system = ladder(0.3, 0.0)
    for angle, word in ((61.0, "sticks"), (57.0, "accelerates")):
        a = np.radians(angle)
        at = {x: -np.cos(a) / 2, y: np.sin(a) / 2, phi: a}
        step = st.minimum_power(system, at=at, inputs={"P": 0.0}, throw=False)
        assert step.status == word


def test_what_leaps_lands_at_one_place_however_many_times_are_asked_for():
    # A part on one foot turns ever faster about it until the finger lets go of its edge.
    def landed(points):
        way = (0.53 - 0.26 * st.t, st.t - 0.543)
        pusher = st.Pusher(point=way, edge=((-1, -0.5), (1, -0.5)), friction=1.5)
        part = st.slider(points=[(0.09, 0.215)], weights=[1.0], pusher=pusher)
        slide = st.quasistatics(part, span=(0, 0.3), points=points)
        assert slide.method == "events, then increments"
        assert slide.residual["energy"] < 1e-6
        return slide.q[-1]

    assert landed(4) == pytest.approx(landed(11), abs=4e-4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_foot_that_a_turntable_carries_along_for_an_instant_ends_nothing(seed):
    # A hand leads a part over a turning table, under a load, until a foot goes as the table does:
    # there its friction turns round at once.
    rng = np.random.default_rng(seed)
    feet = np.array([(-0.139, -0.812), (-0.304, 0.243), (-0.957, 0.749), (0.708, -0.911)])
    feet = feet + rng.uniform(-0.003, 0.003, (4, 2))
    limits, turns, middle = np.array([0.842, 0.348, 0.756, 0.324]), 1.12, np.array([0.327, -0.673])
    hand, place, first = np.array([-0.21, -0.444]), np.array([-0.847, 0.46]), 0.491
    speed, rate = np.array([0.991, -1.507]), np.array([0.216, -0.108])
    aside, load = np.array([-0.173, 0.359]), np.array([0.062, 0.115])

    def turned(p, angle):
        c, s = np.cos(angle), np.sin(angle)
        return np.asarray(p) @ np.array([[c, s], [-s, c]])

    way = place + turned(hand, first)

    def balance(t, angle):
        """Return how fast it turns: moments about the hand balance, written out here."""
        arms, arm = turned(feet - hand, angle), turned(aside - hand, angle)
        there = way + speed * t + rate * t**2 / 2 + arms - middle
        goes = speed + rate * t - turns * there[:, ::-1] * [-1, 1]

        def moment(spin):
            slips = goes + spin * arms[:, ::-1] * [-1, 1]
            drags = limits[:, None] * slips / np.linalg.norm(slips, axis=1)[:, None]
            lost = arms[:, 0] * drags[:, 1] - arms[:, 1] * drags[:, 0]
            return arm[0] * load[1] - arm[1] * load[0] - lost.sum()

        return brentq(moment, -50, 50, xtol=1e-12)

    angle, h = first, 0.002
    for t in h * np.arange(500):
        angle += h * balance(t + h / 2, angle + h / 2 * balance(t, angle))
    c, s, C, S = st.cos(phi), st.sin(phi), st.cos(turns * st.t), st.sin(turns * st.t)

    def at(p):
        return x + c * p[0] - s * p[1], y + s * p[0] + c * p[1]

    table = []
    for k, p in enumerate(feet):
        X, Y = (a - m for a, m in zip(at(p), middle))
        table.append(st.Friction(limits[k], on=(C * X + S * Y, C * Y - S * X), name=f"foot {k}"))
    led = [a - w - v * st.t - r * st.t**2 / 2 for a, w, v, r in zip(at(hand), way, speed, rate)]
    part = st.System(friction=table, constraints=led, loads=[st.Load(tuple(load), on=at(aside))])
    start = {x: place[0], y: place[1], phi: first}
    slide = st.quasistatics(part, span=(0, 1), start=start, points=11)
    assert slide[phi][-1] == pytest.approx(angle, abs=2 * slide.residual["increments"])
