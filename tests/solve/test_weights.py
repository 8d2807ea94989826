"""Errors are weighed by the motion: no origin, no unit, no rest before it counts."""

import numpy as np
import pytest

import stationary as st
from tests.physics.mechanisms import ANDREWS_PUBLISHED, ANDREWS_START, andrews, assert_state

METHODS = [st.Runge(), st.BDF()]
x, y = st.coordinates("x y")


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_the_origin_takes_last_digits_and_no_others(unit, method):
    """x = a + cos t: the error is the same wherever a is, but for the rounding of a."""
    for away in (0.0, 1e3, -1e6):
        z = (x - away * unit) / unit
        spring = st.System(kinetic=(x.dot / unit) ** 2 / 2, potential=z**2 / 2)
        motion = st.simulate(
            spring, span=(0, 10), start={x: (away + 1) * unit}, points=11, method=method, rtol=1e-9
        )
        error = np.abs(motion[x] / unit - away - np.cos(motion.t)).max()
        assert error < 2e-6 * (isinstance(method, st.BDF) or 0.01) + 100 * np.spacing(abs(away))


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_what_is_pushed_later_has_a_size_from_the_start(unit, method):
    """Nothing moves at first: x = t³/6, and a metre beside an angle that does not move yet."""
    ramp = st.System(kinetic=x.dot**2 / 2, work=unit * st.t * x)
    motion = st.simulate(ramp, span=(0, 10), points=11, method=method)
    np.testing.assert_allclose(motion[x] / unit, motion.t**3 / 6, rtol=0, atol=1e-7)
    # Two equal inertias joined by a spring of frequency √2: x̃ = t/2 − sin(√2 t)/√8.
    joined = st.System(kinetic=(x.dot / unit) ** 2 / 2 + y.dot**2 / 2,
                       potential=(x / unit - y) ** 2 / 2)  # fmt: skip
    motion = st.simulate(joined, span=(0, 10), start={y.dot: 1.0}, points=11, method=method)
    expected = motion.t / 2 - np.sin(np.sqrt(2) * motion.t) / np.sqrt(8)
    np.testing.assert_allclose(motion[x] / unit, expected, rtol=0, atol=1e-6)


def test_what_is_rounding_has_no_size_of_its_own():
    """Work of a turning tube, which is none, and rates of angles at a dead centre, which are 0."""
    tube = st.particle(2.0, at=(x * st.cos(1.5 * st.t), x * st.sin(1.5 * st.t)))
    steps = set()
    for size in (1e-9, 1.0, 1e6):
        motion = st.simulate(tube, span=(0, 4), start={x: size}, points=9, method=st.Runge())
        np.testing.assert_allclose(motion[x], size * np.cosh(1.5 * motion.t), rtol=1e-9)
        steps.add(motion.steps)
    assert max(steps) <= min(steps) + 2
    mechanism = andrews()
    start = dict(zip(mechanism.coordinates, ANDREWS_START))
    motion = st.simulate(mechanism, span=(0, 0.03), start=start, points=4, method=st.Runge())
    assert_state(motion, 0.03, ANDREWS_PUBLISHED, within=1e-8)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("method", ["auto", *METHODS], ids=str)
@pytest.mark.parametrize("width", [1e-2, 1e-4, 1e-6])
def test_a_narrow_band_in_the_way_takes_its_work(width, method):
    """Of ½ it takes 0.3, however narrow it is, and throws back what has less than it takes."""
    for takes, left in ((0.3, np.sqrt(0.4)), (0.6, -1.0)):
        push = st.Piecewise((-takes / width, (x > 5) & (x < 5 + width)), (0, True))
        band = st.System(kinetic=x.dot**2 / 2, loads=[st.Load(push, on=x)])
        motion = st.simulate(band, span=(0, 10), start={x.dot: 1.0}, points=11, method=method)
        assert motion[x.dot][-1] == pytest.approx(left, abs=1e-8 + 1e-10 / width)


def test_a_force_too_stiff_for_runge_kutta_is_told_so_at_once():
    """Where friction holds, explicit steps are a few 1e-8 long; "auto" changes by itself."""
    rubbed = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2,
                       loads=[st.Load(-0.3 * st.tanh(1e8 * x.dot), on=x)])  # fmt: skip
    question = {"span": (0, 10), "start": {x: 1.0, x.dot: 1.0}, "points": 11}
    with pytest.raises(st.DidNotConverge) as told:
        st.simulate(rubbed, method=st.Runge(), **question)
    assert told.value.status == "stiff" and told.value.solution.steps < 20_000
    said = str(told.value)
    assert "stability limits steps to about" in said and 'Take method=st.BDF(), or "auto"' in said
    rest = st.simulate(rubbed, **question)
    # Half swings about ±0.3: from 0.3 − R on the left, R² = 1.3² + 1, to −0.3 + (R − 0.6), at rest.
    assert rest.method == "Taylor then BDF"
    assert rest[x][-1] == pytest.approx(np.hypot(1.3, 1.0) - 1.5, abs=1e-6)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("width", [1e-3, 1e-6, 1e-9])
def test_a_wall_as_thin_as_the_last_digits_allow_is_believed(width):
    """Thrown back or let through, with all digits that a place has beside the width of the wall."""
    s = (x - 5.3) / width
    for height, left in ((10, -1.0), (-10, 1.0), (0.1, 1.0)):
        for form in (st.exp(-(s**2)), 1 / (1 + s**2) ** 2):
            wall = st.System(kinetic=x.dot**2 / 2, potential=height * form)
            motion = st.simulate(wall, span=(0, 10), start={x.dot: 1.0}, points=101)
            assert motion[x.dot][-1] == pytest.approx(left, abs=1e-12 + 1e-13 / width)
