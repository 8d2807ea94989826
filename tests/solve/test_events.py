"""Events: located to rounding, terminal or not, in either direction."""

from typing import Any

import numpy as np
import pytest

import stationary as st

x, y = st.coordinates("x y")
g = st.parameters(g=9.81)
ball = st.System(kinetic=x.dot**2 / 2, potential=g * x)
oscillator = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2)


def test_a_fall_ends_on_the_floor():
    floor = st.Event(x, terminal=True, direction=-1)
    motion = st.simulate(ball, span=(0, 9), start={x: 1.0}, events=[floor])
    assert motion.status == "event" and motion.success
    assert motion.t[-1] == pytest.approx(np.sqrt(2 / 9.81), abs=1e-13)
    assert abs(motion[x][-1]) < 1e-14
    assert motion[x.dot][-1] == pytest.approx(-np.sqrt(2 * 9.81), rel=1e-14)
    np.testing.assert_array_equal(motion.events[0], motion.t[-1:])
    # Output times of the span up to the event, then the event itself.
    np.testing.assert_array_equal(motion.t[:-1], np.linspace(0, 9, 1001)[: len(motion.t) - 1])


def test_events_are_located_to_rounding_and_reported_in_the_order_given():
    events = [st.Event(x.dot), st.Event(x - 1.5), st.Event(st.t - 0.25)]
    motion = st.simulate(ball, span=(0, 2), start={x: 1.0, x.dot: 5.0}, events=events, points=5)
    root = np.sqrt(25 - 2 * 9.81 * 0.5)
    expected = [[5 / 9.81], [(5 - root) / 9.81, (5 + root) / 9.81], [0.25]]
    for found, exact in zip(motion.events, expected):
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-13)
    assert motion.status == "done" and len(motion.t) == 5


@pytest.mark.parametrize(
    ("direction", "expected"),
    [(0, [0.5, 1.5, 2.5]), (1, [1.5]), (-1, [0.5, 2.5])],
)
def test_a_direction_selects_the_passages(direction, expected):
    motion = st.simulate(
        oscillator, span=(0, 9), start={x: 1.0}, events=[st.Event(x, direction=direction)]
    )
    np.testing.assert_allclose(motion.events[0], np.pi * np.array(expected), rtol=0, atol=1e-13)


def test_a_terminal_event_in_the_other_direction_does_not_end_the_motion():
    rising = st.Event(x - 1.5, terminal=True, direction=-1)
    motion = st.simulate(ball, span=(0, 2), start={x: 1.0, x.dot: 5.0}, events=[rising])
    assert motion.t[-1] == pytest.approx((5 + np.sqrt(25 - 9.81)) / 9.81, abs=1e-13)


def test_the_first_of_several_terminal_events_ends_the_motion():
    events = [st.Event(x, terminal=True), st.Event(st.t - 0.3, terminal=True), st.Event(st.t - 0.4)]
    motion = st.simulate(ball, span=(0, 2), start={x: 1.0}, events=events)
    assert motion.t[-1] == pytest.approx(0.3, abs=1e-15)
    assert [len(times) for times in motion.events] == [0, 1, 0]


@pytest.mark.parametrize(
    "expr, expected",
    [(st.sqrt(y - 0.5), [np.pi / 3]), (st.acos(2 * y), [5 * np.pi / 3]), (st.log(y - 0.5), [])],
)
def test_what_is_no_number_beyond_its_zero_happens_at_it(expr, expected):
    # y = cos t. A logarithm ends too, far from zero.
    swing = st.System(kinetic=y.dot**2 / 2, potential=y**2 / 2)
    motion = st.simulate(swing, span=(0, 6), start={y: 1}, events=[st.Event(expr, name="end")])
    assert motion.events["end"] == pytest.approx(expected, rel=1e-12)


def test_a_start_on_an_event_is_not_the_event():
    motion = st.simulate(ball, span=(0, 3), start={x.dot: 3.0}, events=[st.Event(x, terminal=True)])
    assert motion.t[-1] == pytest.approx(6 / 9.81, abs=1e-13)
    # A start that is disturbed to tell digits is on the event, too.
    assert motion.digits > 13


def test_an_event_of_parameters_takes_their_values():
    motion = st.simulate(
        ball, span=(0, 3), start={x: 1.0}, params={g: 2.0}, events=[st.Event(x.dot + g * g)]
    )
    np.testing.assert_allclose(motion.events[0], [2.0], rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("method", "atol"), [(st.Taylor(), 1e-13), (st.Runge(), 1e-9), (st.BDF(), 1e-7)], ids=str
)
@pytest.mark.parametrize("points", [2, 101])
def test_every_method_locates_events_whatever_the_output_times(method, atol, points):
    motion = st.simulate(
        oscillator, span=(0, 9), start={x: 1.0}, events=[st.Event(x)], method=method, points=points
    )
    assert len(motion.events[0]) == 3
    np.testing.assert_allclose(motion.events[0], np.pi * np.arange(0.5, 3), rtol=0, atol=atol)


def test_events_and_sampled_inputs_go_together():
    F = st.inputs("F")
    driven = st.System(kinetic=x.dot**2 / 2, loads=[st.Load(F, on=x)])
    # Force 1 until t = 1, falling to −1 at t = 3: v = t, then v = 1 + s − s²/2 with s = t − 1.
    samples = ([0, 1, 3, 9], [1, 1, -1, -1])
    motion = st.simulate(
        driven, span=(0, 9), inputs={F: samples}, events=[st.Event(x.dot, terminal=True)]
    )
    assert motion.t[-1] == pytest.approx(4.0, abs=1e-13)
    assert motion[x.dot].max() == pytest.approx(1.5, abs=1e-4)


def test_a_motion_cut_short_by_an_event_is_known_up_to_it():
    motion = st.simulate(
        ball, span=(0, 9), start={x: 1.0}, events=[st.Event(x, terminal=True)], points=2
    )
    assert motion.at(0.3)[x] == pytest.approx(1 - 9.81 * 0.3**2 / 2, abs=1e-14)
    with pytest.raises(st.StatementError):
        motion.at(0.5)


def test_dynamicsymbols_serve_in_events():
    from sympy.physics.mechanics import dynamicsymbols

    motion = st.simulate(
        oscillator, span=(0, 2), start={x: 1.0}, events=[st.Event(dynamicsymbols("x"))]
    )
    np.testing.assert_allclose(motion.events[0], [np.pi / 2], rtol=0, atol=1e-13)


@pytest.mark.parametrize("events", [[x], st.Event(x), ["x"], [3]], ids=["x", "bare", "text", "3"])
def test_what_is_no_list_of_events_is_refused_or_understood(events):
    try:
        motion = st.simulate(oscillator, span=(0, 2), start={x: 1.0}, events=events)
    except st.StatementError:
        return
    np.testing.assert_allclose(motion.events[0], [np.pi / 2], rtol=0, atol=1e-13)


@pytest.mark.parametrize("rate", [200.0, 1000.0, 2 * np.pi * 160])
def test_an_event_far_faster_than_the_steps_is_never_missed(rate):
    fast = st.Event(st.sin(rate * st.t + 0.1))
    motion = st.simulate(oscillator, span=(0, 10), start={x: 1.0}, events=[fast])
    exact = (np.arange(1, int(rate * 10 / np.pi) + 2) * np.pi - 0.1) / rate
    exact = exact[exact <= 10]
    assert len(motion.events[0]) == len(exact) > motion.steps * 12
    np.testing.assert_allclose(motion.events[0], exact, rtol=0, atol=1e-14)


def test_ripples_on_a_passage_make_as_many_passages_as_they_do():
    # |ẋ| = √3/2 at x = ½ is less than the ripple's 20: the passage happens forth and back.
    ripple = x - 0.5 + 1e-3 * st.sin(20000 * st.t)
    motion = st.simulate(oscillator, span=(0, 3), start={x: 1.0}, events=[st.Event(ripple)])
    t = np.linspace(0, 3, 3_000_001)
    values = np.cos(t) - 0.5 + 1e-3 * np.sin(20000 * t)
    assert len(motion.events[0]) == np.sum(values[1:] * values[:-1] < 0)


@pytest.mark.parametrize("depth", [1e-3, 1e-6, 1e-9])
def test_a_grazing_passage_is_found_on_both_sides(depth):
    grazing = st.Event(x - (1 - depth))
    motion = st.simulate(oscillator, span=(0, 3), start={x.dot: 1.0}, events=[grazing])
    half = np.arccos(1 - depth)
    # The cosine is flat there: its rounding is divided by the slope √(2·depth).
    expected = [np.pi / 2 - half, np.pi / 2 + half]
    np.testing.assert_allclose(motion.events[0], expected, rtol=0, atol=1e-15 / np.sqrt(depth))
    missed = st.Event(x - (1 + depth))
    motion = st.simulate(oscillator, span=(0, 3), start={x.dot: 1.0}, events=[missed])
    assert len(motion.events[0]) == 0


# -- the start, the end, one instant --------------------------------------------------------------


@pytest.mark.parametrize("method", ["auto", st.Runge(), st.BDF(), st.Variational(0.01)], ids=str)
@pytest.mark.parametrize(
    ("system", "start", "event", "ends"),
    [
        (ball, {}, st.Event(x, terminal=True), True),
        (ball, {}, st.Event(x, terminal=True, direction=-1), True),
        (ball, {}, st.Event(x, terminal=True, direction=1), False),
        (oscillator, {}, st.Event(x, terminal=True, direction=1), True),
        (oscillator, {x: 1.0}, st.Event(x - 1, terminal=True), True),
        (oscillator, {x: 1.0}, st.Event(x - 1, terminal=True, direction=1), False),
        (oscillator, {x: 1.0}, st.Event(x.dot, terminal=True), False),
    ],
)
def test_an_event_that_is_not_left_at_once_happens_at_the_start(system, start, event, ends, method):
    motion = st.simulate(system, span=(0, 3), start=start, events=[event], method=method)
    assert (motion.t[-1] == 0) == ends
    assert motion.status == ("event" if ends else "done")
    np.testing.assert_array_equal(motion.events[0], [0.0] if ends else [])


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_start_on_an_event_is_told_in_every_unit(unit):
    place = x - 7 * unit
    fall = st.System(kinetic=x.dot**2 / 2, potential=unit * x)
    settings = {"span": (0, 3), "events": [st.Event(place, terminal=True)]}
    assert st.simulate(fall, start={x: 7 * unit}, **settings).t[-1] == 0
    thrown = st.simulate(fall, start={x: 7 * unit, x.dot: unit}, **settings)
    assert thrown.t[-1] == pytest.approx(2, abs=1e-12)


def test_events_at_one_instant_and_at_the_end_are_all_noted():
    events = [st.Event(x), st.Event(x**3), st.Event(-x, terminal=True), st.Event(x, direction=1)]
    motion = st.simulate(oscillator, span=(0, 9), start={x: 1.0}, events=events)
    assert [len(times) for times in motion.events] == [1, 1, 1, 0]
    motion = st.simulate(oscillator, span=(0, 9), events=[st.Event(st.t - 9)], start={x: 1.0})
    np.testing.assert_array_equal(motion.events[0], [9.0])


def test_an_event_has_a_name():
    events = [st.Event(x), st.Event(x.dot, name="turn")]
    motion = st.simulate(oscillator, span=(0, 7), start={x: 1.0}, events=events)
    np.testing.assert_allclose(motion.events["turn"], [np.pi, 2 * np.pi], rtol=0, atol=1e-12)
    assert motion.events["turn"] is motion.events[1] and len(motion.events) == 2
    with pytest.raises(st.StatementError, match="Did you mean 'turn'"):
        motion.events["tur"]


# -- actions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "atol"), [("auto", 1e-12), (st.Runge(), 1e-9), (st.BDF(), 1e-6)], ids=str
)
def test_a_ball_bounces_with_less_and_less_speed(method, atol):
    bounce = st.Event(x, direction=-1, name="bounce", action={x.dot: -0.8 * x.dot})
    motion = st.simulate(ball, span=(0, 3), start={x: 1.0}, events=[bounce], method=method)
    first = np.sqrt(2 / 9.81)
    exact = first * (1 + 2 * np.append(0, np.cumsum(0.8 ** np.arange(1, 6))))
    np.testing.assert_allclose(motion.events["bounce"], exact, rtol=0, atol=10 * atol)
    assert "events          bounce 6×\n" in str(motion)
    # Each bounce takes 1 − 0.8² of the energy.
    assert motion.energy[-1] == pytest.approx(9.81 * 0.64**6, abs=100 * atol)
    assert motion.residual["energy"] < 100 * atol
    assert motion.at(exact[0] + 0.8 * first)[x] == pytest.approx(0.64, abs=100 * atol)


def test_an_action_changes_all_values_at_once():
    swap = st.Event(x, direction=-1, action={x: x + 1, x.dot: -2 * x})
    motion = st.simulate(oscillator, span=(0, 10), start={x: 1.0}, events=[swap])
    np.testing.assert_allclose(motion.events[0], np.pi / 2 * np.arange(1, 7), rtol=0, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_an_action_happens_once_at_every_passage(scale):
    # Slowed where it passes, by a tenth: upwards, downwards or both; the period stays 2π.
    for direction, times in ((0, [0.5, 1.5, 2.5]), (-1, [0.5, 2.5]), (1, [1.5])):
        slow = st.Event(x, direction=direction, action={x.dot: 0.9 * x.dot})
        motion = st.simulate(oscillator, span=(0, 9), start={x: scale}, events=[slow])
        np.testing.assert_allclose(motion.events[0], np.pi * np.array(times), rtol=1e-12)
        energy = 0.81 ** len(times) * scale**2 / 2
        assert motion.energy[-1] == pytest.approx(energy, rel=1e-12)
    # Pushed where it turns: from ẋ = 1 at x = −1 it turns that way again 7π/4 later.
    push = st.Event(x.dot, direction=1, action={x.dot: scale})
    motion = st.simulate(oscillator, span=(0, 9), start={x: scale}, events=[push])
    np.testing.assert_allclose(motion.events[0], np.pi * np.array([1, 2.75]), rtol=1e-12)


def test_an_action_keeps_to_the_constraints():
    bob = st.particle(1.0, at=(x, y), gravity=9.81) + st.rod((0, 0), (x, y), 1.0)
    wall = st.Event(x, direction=-1, action={x.dot: -x.dot})
    motion = st.simulate(bob, span=(0, 3), start={x: 0.6, y: -0.8}, events=[wall])
    assert motion.residual["R"] < 1e-13 and motion.residual["energy"] < 1e-12
    assert motion[x].min() > -1e-12 and len(motion.events[0]) == 3


@pytest.mark.parametrize("place", [1.0, "half", "other side"])
@pytest.mark.parametrize("scale", [1.0, 1e-9])
def test_an_action_at_a_turning_point_that_leaves_the_velocity_at_zero_happens_once(place, scale):
    z = st.coordinates("z")
    spring = st.System(kinetic=z.dot**2 / 2, potential=4 * z**2 / 2)
    put = {"half": z / 2, "other side": -z}.get(place, scale)
    motion = st.simulate(
        spring, span=(0, 10), start={z: scale, z.dot: 0.3 * scale}, points=3,
        events=[st.Event(z.dot, direction=-1, action={z: put}, name="top")],
    )  # fmt: skip
    first = np.arctan(0.15) / 2
    # From the other side it swings over to the next top in half of a period.
    again = np.pi / 2 if place == "other side" else np.pi
    known = np.arange(first, 10, again)
    assert motion.events["top"] == pytest.approx(known, rel=1e-12)


@pytest.mark.parametrize("length, time", [(1.0, 1.0), (1e9, 1e3), (1e-15, 1e-8)])
def test_what_is_zero_where_it_touches_happens_there_once(length, time):
    x, y = st.coordinates("x y")
    pull, kick = 9.81 * length / time**2, length / time
    fall = np.sqrt(2 * 0.5 * length / pull)
    for e, expected in ((1, 2 * np.arange(5) + 1), (0, [1])):
        floor = st.Contact(y, restitution=e, friction=0.1, slip=x, name="floor")
        kinetic = (x.dot**2 + y.dot**2) / 2
        ball = st.System(kinetic=kinetic, potential=pull * y, contacts=[floor])
        asked: Any = {"span": (0, 9.3 * fall), "start": {y: 0.5 * length}, "points": 3}
        ways = [st.Event(y, direction=d) for d in (0, -1, 1)]
        noted = st.simulate(ball, events=ways, **asked).events
        for times, told in zip(noted, (expected, expected, [])):
            assert times / fall == pytest.approx(np.array(told), rel=1e-12)
        kicked = st.Event(y, action={x.dot: x.dot + kick})
        assert len(st.simulate(ball, events=[kicked], **asked).events[0]) == len(expected)
        last = st.simulate(ball, events=[st.Event(y, terminal=True)], **asked)
        assert last.status == "event" and last.t[-1] / fall == pytest.approx(1, rel=1e-12)


RUBBING = st.System(kinetic=y.dot**2 / 2, friction=[st.Friction(0.3, on=y)])


@pytest.mark.one_in(4)
@pytest.mark.parametrize("begin", [0.0, 1e6])
@pytest.mark.parametrize("origin", [0.0, 1e3])
@pytest.mark.parametrize("part", [0.25, 0.01])
@pytest.mark.parametrize("beside", [st.System(kinetic=y.dot**2 / 2), RUBBING])
def test_what_bounces_does_not_fall_through(part, origin, begin, beside):
    # All bounces together take √(2h/g)·(1 + e)/(1 − e), however few they are.
    fall = st.System(kinetic=x.dot**2 / 2, potential=g * (x - origin)) + beside
    bounce = st.Event(x - origin, direction=-1, action={x.dot: -part * x.dot})
    span = (begin, begin + 3)
    with pytest.raises(st.DidNotConverge, match="ever faster") as caught:
        st.simulate(fall, span=span, start={x: origin + 1}, events=[bounce])
    last = np.sqrt(2 / 9.81) * (1 + part) / (1 - part)
    assert caught.value.solution.t[-1] - begin == pytest.approx(last, abs=1e-4)
    # What lies on the floor does so at once.
    with pytest.raises(st.DidNotConverge, match="ever faster"):
        st.simulate(fall, span=span, start={x: origin}, events=[bounce])


@pytest.mark.parametrize("beside", [st.System(kinetic=y.dot**2 / 2), RUBBING], ids=["", "rubs"])
@pytest.mark.parametrize("speed", [-1.0, 0.0, 2.0])
def test_events_at_one_instant_happen_once_whatever_their_actions(speed, beside):
    free = st.System(kinetic=x.dot**2 / 2) + beside
    events = [
        st.Event(x - 1, name="there"),
        st.Event(x - 1, name="pushed", action={x.dot: speed}),
        st.Event(2 * x - 2, action={y.dot: y.dot + 1.0}),
        st.Event(3 * x - 3, action={x.dot: speed}),
    ]
    for some in (events, events[::-1]):
        motion = st.simulate(free, span=(0, 3), start={x.dot: 1.0}, events=some, points=3)
        assert motion.events["there"] == motion.events["pushed"] == pytest.approx([1.0])
        assert motion[x][-1] == pytest.approx(1 + 2 * speed, abs=1e-12)
        assert motion[y][-1] == pytest.approx(
            2 - 0.3 * 2**2 / 2 if beside is RUBBING else 2, abs=1e-12
        )


@pytest.mark.parametrize("beside", [st.System(kinetic=y.dot**2 / 2), RUBBING], ids=["", "rubs"])
@pytest.mark.parametrize("action", [{x.dot: 3.0}, {x: 0.5}, {x: 0.5, x.dot: 3.0}], ids=str)
def test_an_action_at_the_start_is_part_of_the_balance(action, beside):
    system = ball + beside
    kick = st.Event(x, direction=-1, action={**action, y.dot: 1.0})
    motion = st.simulate(system, span=(0, 0.3), events=[kick], points=4)
    at, speed = action.get(x, 0.0), action.get(x.dot, 0.0)
    np.testing.assert_allclose(
        motion[x], at + speed * motion.t - 9.81 * motion.t**2 / 2, rtol=0, atol=1e-12
    )
    assert motion.at(0.05)[x] == pytest.approx(at + 0.05 * speed - 9.81 * 0.05**2 / 2, abs=1e-12)
    assert motion.residual["energy"] < 1e-12
    np.testing.assert_array_equal(motion.events[0], [0.0])


def test_actions_that_contradict_each_other_are_refused():
    kick = st.Event(st.t - np.sqrt(2 / 9.81), name="kick", action={x.dot: x.dot + 1})
    bounce = st.Event(x, direction=-1, action={x.dot: -x.dot / 2})
    with pytest.raises(st.StatementError) as caught:
        st.simulate(ball, span=(0, 1), start={x: 1.0}, events=[kick, bounce])
    what, found, remedy = str(caught.value).splitlines()
    assert what == "two events happen at t = 0.451524 and give 'x.dot' different values."
    assert found == "  Found -3.42945 by kick and 2.21472 by number 2."
    assert remedy.startswith("  Give one of them an action that holds for both")
