"""Linkages that pass singular configurations, and such that may not."""

import numpy as np
import pytest

import stationary as st
from tests.physics.mechanisms import four_bars

METHODS = [st.Taylor(), st.Runge(), st.BDF()]


def one_angle(windows):
    """The same row of four-bars by the angle of its cranks."""
    a = st.coordinates("a")
    inertia, weight = (windows + 1) / 3 + windows, ((windows + 1) / 2 + windows) * 9.81
    return st.System(kinetic=inertia * a.dot**2 / 2, potential=weight * st.sin(a)), a


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_every_method_passes_where_the_motion_is_determined(method):
    """Two times flat in 1.5 s: places as by one angle, with which nothing is singular."""
    system, start = four_bars(1)
    plain, a = one_angle(1)
    expected = st.simulate(plain, span=(0, 1.5), start={a: np.pi / 2, a.dot: -1.0}, points=151)
    found = st.simulate(system, span=(0, 1.5), start=start, points=151, method=method)
    np.testing.assert_allclose(found["x0"], np.cos(expected[a]), atol=1e-6)
    np.testing.assert_allclose(found["y1"], np.sin(expected[a]), atol=1e-6)
    assert found.residual["energy"] < 1e-6 and found.residual["R"] < 1e-8


def test_a_row_of_ten_loses_ten_rows_at_once_and_goes_on():
    system, start = four_bars(10)
    plain, a = one_angle(10)
    expected = st.simulate(plain, span=(0, 1.5), start={a: np.pi / 2, a.dot: -1.0}, points=31)
    found = st.simulate(system, span=(0, 1.5), start=start, points=31)
    np.testing.assert_allclose(found["x10"] - 10, np.cos(expected[a]), atol=1e-8)


@pytest.mark.parametrize("method", [*METHODS, st.Variational(step=0.01)], ids=str)
def test_what_arrives_without_speed_is_not_determined(method):
    """Thrown up from below so that it just reaches its flat position: two motions go on."""
    system, _ = four_bars(1)
    speed = np.sqrt(2 * 2 * 9.81 / (5 / 3))
    start = {"y0": -1, "x1": 1, "y1": -1, "x0.dot": speed, "x1.dot": speed}
    with pytest.raises(st.DidNotConverge, match="become singular"):
        st.simulate(system, span=(0, 3), start=start, method=method)


@pytest.mark.parametrize("method", [*METHODS, st.Variational(step=0.01)])
def test_a_start_at_rest_where_motions_part_is_refused(method):
    system, _ = four_bars(1)
    with pytest.raises(st.StatementError) as told:
        st.simulate(system, span=(0, 1), start={"x0": 1, "x1": 2}, method=method)
    assert str(told.value) == (
        "the start is a singular configuration: several motions begin there.\n"
        "  Found that 'coupler 0' says nothing new there, and does nearby; nothing moves that "
        "would choose one of them.\n"
        "  Start a little aside, or with a velocity."
    )


@pytest.mark.parametrize("seed", range(4))
def test_a_random_parallelogram_turns_over_and_over(seed):
    """Any ratio of its sides, any size: the angle obeys the pendulum's equation throughout."""
    rng = np.random.default_rng(seed)
    unit = 10.0 ** rng.uniform(-3, 3)
    crank, base = unit * rng.uniform(0.5, 2, 2)
    m1, m2, g = *rng.uniform(0.5, 2, 2), 9.81
    x, y, z, w = st.coordinates("x y z w")
    linkage = (
        st.particle(m1, at=(x, y), gravity=g)
        + st.particle(m2, at=(z, w), gravity=g)
        + st.rod((0, 0), (x, y), crank)
        + st.rod((base, 0), (z, w), crank)
        + st.rod((x, y), (z, w), base)
    )
    a = st.coordinates("a")
    rate = rng.uniform(2.5, 4) * np.sqrt(g / crank)
    span = (0, 2.5 * np.sqrt(crank / g))
    pendulum = st.System(kinetic=a.dot**2 / 2, potential=g / crank * st.sin(a))
    begin = {a: rng.uniform(0.5, 2.5), a.dot: rate}
    expected = st.simulate(pendulum, span=span, start=begin, points=41)
    c, s = crank * np.cos(begin[a]), crank * np.sin(begin[a])
    start = {x: c, y: s, z: base + c, w: s}
    start |= {x.dot: -rate * s, y.dot: rate * c, z.dot: -rate * s, w.dot: rate * c}
    found = st.simulate(linkage, span=span, start=start, points=41)
    np.testing.assert_allclose(found[x], crank * np.cos(expected[a]), atol=1e-7 * crank)
    np.testing.assert_allclose(found[w], crank * np.sin(expected[a]), atol=1e-7 * crank)
