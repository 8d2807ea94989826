"""A statement made again, of coordinates declared beside others, is the same statement."""

import numpy as np
import pytest

import stationary as st

PENDULUM = [("angle",), ("a1", "angle"), ("z", "y", "angle")]


def pendulum(names):
    """Return an angle declared as the last of some names, its pendulum, its weight and a torque."""
    declared = st.coordinates(" ".join(names))
    angle = declared[-1] if len(names) > 1 else declared
    g, torque = st.parameters(g=9.81), st.inputs("torque")
    system = st.System(
        kinetic=angle.dot**2 / 2, potential=-g * st.cos(angle), loads=[st.Load(torque, on=angle)]
    )
    return angle, system, g, torque


def slid(names):
    """Return a coordinate declared so, and a block on a spring with dry friction."""
    declared = st.coordinates(" ".join(names))
    x = declared[-1] if len(names) > 1 else declared
    return x, st.System(potential=(x - 3 * st.t) ** 2, friction=[st.Friction(1, on=x)])


@pytest.mark.one_in(4)
@pytest.mark.parametrize("first", PENDULUM)
@pytest.mark.parametrize("then", PENDULUM)
def test_answers_about_one_serve_the_other(first, then):
    one, system, *_ = pendulum(first)
    other, again, g, torque = pendulum(then)
    assert system == again and hash(system) == hash(again)
    st.statics(system, start={one: 0.3}, inputs={"torque": 1.0})
    at_rest = st.statics(again, start={other: 0.3}, inputs={torque: 1.0})
    for angle, pendulum_ in ((one, system), (other, again)):
        assert at_rest[angle] == pytest.approx(np.arcsin(1 / 9.81), rel=1e-12)
        assert at_rest[9.81 * st.sin(angle)] == pytest.approx(1.0, rel=1e-12)
        omega = np.sqrt(9.81 * np.cos(at_rest[angle]))
        assert st.modes(pendulum_, at=at_rest).frequencies[0] == pytest.approx(omega, rel=1e-9)
        linear = st.linearize(pendulum_, at=at_rest)
        assert np.abs(linear.eigenvalues).max() == pytest.approx(omega, rel=1e-9)
        diagram = st.continuation(
            pendulum_, parameter="g", span=(5, 20), start=at_rest, inputs={torque: 1.0}
        )
        branch = diagram.branches[0]
        assert branch[angle] == pytest.approx(np.arcsin(1 / branch.parameter), rel=1e-8)
        event = st.Event(angle - 0.2, name="passes")
        motion = st.simulate(
            pendulum_, span=(0, 1), start=at_rest, inputs={torque: -angle}, events=[event]
        )
        assert len(motion.events["passes"]) <= 1
        energy = motion[angle.dot**2 / 2 - g * st.cos(angle) + angle**2 / 2]
        assert np.ptp(energy) < 1e-12
        further = st.simulate(pendulum_, span=(1, 2), start=motion.at(1.0), inputs={torque: 0})
        assert further[angle][0] == motion[one][-1] == motion[other][-1]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("first", PENDULUM)
@pytest.mark.parametrize("then", PENDULUM)
def test_slides_of_one_serve_the_other(first, then):
    one, system = slid(first)
    other, again = slid(then)
    st.quasistatics(system, span=(0, 1))
    slide = st.quasistatics(again, span=(0, 1))
    for x, block in ((one, system), (other, again)):
        assert slide[x][-1] == pytest.approx(2.5, rel=1e-12)
        further = st.quasistatics(block, span=(1, 2), start=slide.at(1.0))
        assert further[3 * x.dot][-1] == pytest.approx(9.0, rel=1e-9)
