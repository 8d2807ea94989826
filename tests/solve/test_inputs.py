"""Inputs as numbers, as expressions of time and state, and as samples."""

import numpy as np
import pytest
import sympy as sp

import stationary as st

x, y = st.coordinates("x y")
F, G = st.inputs("F G")
m = st.parameters(m=2.0)
cart = st.System(kinetic=m * x.dot**2 / 2, loads=[st.Load(F, on=x)])


def run(value, **settings):
    settings = {"span": (0, 4), "points": 9} | settings
    return st.simulate(cart, inputs={F: value}, **settings)


@pytest.mark.parametrize(
    "value", [3, 3.0, np.float64(3), np.int64(3), sp.Integer(3), np.array(3.0)]
)
def test_a_number_is_a_constant_force(value):
    motion = run(value)
    np.testing.assert_allclose(motion[x], 3 * motion.t**2 / 4, rtol=1e-14)
    np.testing.assert_array_equal(motion[F], np.full(9, 3.0))


def test_an_expression_of_time_is_a_force_over_time():
    motion = run(st.sin(st.t))
    np.testing.assert_allclose(motion[x], (motion.t - np.sin(motion.t)) / 2, rtol=0, atol=1e-14)
    np.testing.assert_allclose(motion[F], np.sin(motion.t), rtol=1e-15)


def test_an_expression_of_the_state_is_feedback():
    motion = run(-8 * x - 4 * m * x.dot, start={x: 1.0})
    # ẍ + 4ẋ + 4x = 0, critically damped: x = (1 + 2t) e^(−2t).
    exact = (1 + 2 * motion.t) * np.exp(-2 * motion.t)
    np.testing.assert_allclose(motion[x], exact, rtol=0, atol=1e-14)
    np.testing.assert_allclose(
        motion[F], -8 * motion[x] - 8 * motion[x.dot], rtol=1e-13, atol=1e-14
    )


def test_a_law_brings_parameters_of_its_own():
    A, w = st.parameters(A=1.0, w=2.0)
    law = A * st.sin(w * st.t)
    for params, size, rate in (({}, 1, 2), ({"A": 3, w: 0.5}, 3, 0.5)):
        motion = run(law, params=params)
        exact = size * (motion.t / rate - np.sin(rate * motion.t) / rate**2) / 2
        np.testing.assert_allclose(motion[x], exact, rtol=0, atol=1e-13)
    held = st.System(potential=x**2, loads=[st.Load(F, on=x)])
    assert st.statics(held, inputs={F: 4 * A}, kind="any")[x] == pytest.approx(2, rel=1e-14)


def test_feedback_sees_a_parameter_at_its_value():
    motion = run(-m * x, start={x: 1.0}, params={m: 5.0})
    np.testing.assert_allclose(motion[x], np.cos(motion.t), rtol=0, atol=1e-14)


TIMES = np.array([0.0, 1.0, 2.5, 4.0])
FORCES = np.array([1.0, -2.0, 3.0, 0.0])


def exact(t):
    """Integrate a piecewise linear force twice, by hand, for a mass of 2."""
    position = velocity = 0.0
    for k in range(3):
        a = min(max(t - TIMES[k], 0.0), TIMES[k + 1] - TIMES[k])
        slope = (FORCES[k + 1] - FORCES[k]) / (TIMES[k + 1] - TIMES[k])
        position += velocity * a + (FORCES[k] * a**2 / 2 + slope * a**3 / 6) / 2
        velocity += (FORCES[k] * a + slope * a**2 / 2) / 2
    return position, velocity


@pytest.mark.parametrize(
    ("method", "atol"),
    [("auto", 1e-15), (st.Runge(), 1e-13), (st.BDF(), 1e-8)],
    ids=str,
)
def test_samples_are_a_piecewise_linear_force(method, atol):
    motion = run((TIMES, FORCES), points=17, method=method)
    expected = np.array([exact(t) for t in motion.t])
    np.testing.assert_allclose(motion[x], expected[:, 0], rtol=0, atol=atol)
    np.testing.assert_allclose(motion[x.dot], expected[:, 1], rtol=0, atol=atol)
    np.testing.assert_allclose(motion[F], np.interp(motion.t, TIMES, FORCES), rtol=0, atol=1e-15)
    assert motion.residual["energy"] < max(100 * atol, 1e-14)


def test_samples_are_known_between_output_times():
    motion = run((TIMES, FORCES), points=2)
    times = np.linspace(0, 4, 33)
    expected = np.array([exact(t) for t in times])
    np.testing.assert_allclose(motion.at(times)[x], expected[:, 0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(motion.at(times)[F], np.interp(times, TIMES, FORCES), atol=1e-15)
    assert motion.at(1.7)[F] == pytest.approx(np.interp(1.7, TIMES, FORCES), abs=1e-15)


def test_samples_alone_are_spread_over_the_span():
    alone = run([1.0, -2.0, 3.0], span=(1, 3))
    paired = run(([1.0, 2.0, 3.0], [1.0, -2.0, 3.0]), span=(1, 3))
    np.testing.assert_array_equal(alone[x], paired[x])


def test_samples_beyond_the_span_are_cut():
    motion = run((np.arange(-3, 10), np.full(13, 3.0)))
    np.testing.assert_allclose(motion[x], 3 * motion.t**2 / 4, rtol=1e-14)


def test_fine_samples_approach_their_closed_form_with_order_two():
    errors = []
    for count in (11, 21, 41):
        times = np.linspace(0, 4, count)
        errors.append(abs(run((times, np.sin(times)))[x][-1] - (4 - np.sin(4)) / 2))
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.05)


def test_two_inputs_of_different_kinds_act_together():
    system = cart + st.System(kinetic=m * y.dot**2 / 2, loads=[st.Load((G, F), on=(y, y))])
    motion = st.simulate(
        system, span=(0, 4), points=9, inputs={F: (TIMES, FORCES), G: -2 * y}, start={y: 1.0}
    )
    expected = np.array([exact(t) for t in motion.t])
    np.testing.assert_allclose(motion[x], expected[:, 0], rtol=0, atol=1e-14)
    np.testing.assert_allclose(motion[m * y.ddot], motion[G + F], rtol=0, atol=1e-14)
    # Without G, y would be 1 + x; with it, y − x obeys ÿ + y = x̃ …: compare with Runge–Kutta.
    again = st.simulate(
        system, span=(0, 4), points=9, inputs={F: (TIMES, FORCES), G: -2 * y}, start={y: 1.0},
        method=st.Runge(), rtol=1e-13, atol=1e-14,
    )  # fmt: skip
    np.testing.assert_allclose(motion[y], again[y], rtol=0, atol=1e-12)


def test_the_kind_of_an_input_may_change_from_run_to_run():
    ends = [run(value)[x][-1] for value in (1.0, st.sin(x) ** 2 + st.cos(x) ** 2, [1.0, 1.0])]
    np.testing.assert_allclose(ends, 4.0, rtol=1e-14)


def test_a_step_in_time_is_a_kink_that_auto_respects():
    motion = run(st.Piecewise((2.0, st.t < 1), (0.0, True)))
    expected = np.where(motion.t < 1, motion.t**2 / 2, motion.t - 0.5)
    np.testing.assert_allclose(motion[x], expected, rtol=0, atol=1e-9)


def carried(k, times, forces):
    """Go over samples of a force on ẍ + k x by Duhamel's integral between two of them."""
    place, speed, w = 0.3, 0.0, np.sqrt(k)
    lengths, forces = np.diff(times), forces[: len(times)]
    for h, a, slope in zip(lengths, forces, np.diff(forces) / lengths):
        c, s, versed = np.cos(w * h), np.sin(w * h) / w, 2 * np.sin(w * h / 2) ** 2 / k
        place, speed = (
            place * c + speed * s + a * versed + slope * (h - s) / k,
            speed * c - place * k * s + a * s + slope * versed,
        )
    return place, speed


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e9])
@pytest.mark.parametrize("sharp", [False, True])
def test_many_samples_are_met_without_a_new_beginning_at_each(unit, sharp, monkeypatch):
    rng = np.random.default_rng(3)
    times = np.append(0, rng.uniform(1e-4, 1e-2, 3000).cumsum())
    forces = rng.normal(size=3001)
    spring = st.System(
        kinetic=x.dot**2 / 2, loads=[st.Load(F / unit**2, on=x)],
        # What is steep far away has no force here, and every step is looked into for its sake.
        potential=(2 * x**2 + (st.exp(50 * (x - 99)) if sharp else 0)) / unit**2,
    )  # fmt: skip
    begun, pieces = [], st.Taylor.pieces
    monkeypatch.setattr(
        st.Taylor, "pieces", lambda *given, **more: (begun.append(0), pieces(*given, **more))[1]
    )
    motion = st.simulate(
        spring, span=(0, times[-1] * unit), start={x: 0.3}, inputs={F: (times * unit, forces)}
    )
    place, speed = carried(4.0, times, forces)
    assert motion[x][-1] == pytest.approx(place, abs=1e-12)
    assert motion[x.dot][-1] * unit == pytest.approx(speed, abs=1e-12)
    assert len(begun) == 1 and motion.steps < 3100
    # Between output times, too.
    k = 1234
    place, _ = carried(4.0, times[: k + 1], forces)
    assert motion.at(times[k] * unit)[x] == pytest.approx(place, abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_series_go_over_samples_whatever_their_times(seed):
    # Lengths that no sum of steps meets to the last digit, and times much closer than the motion.
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.uniform(-9, 0.3, 2))
    times = np.append(0, 10.0 ** rng.uniform(low, high, 12)).cumsum()
    forces = rng.normal(size=13)
    spring = st.System(kinetic=x.dot**2 / 2, potential=2 * x**2, loads=[st.Load(F, on=x)])
    motion = st.simulate(
        spring, span=(0, times[-1]), start={x: 0.3}, inputs={F: (times, forces)}, points=5
    )
    np.testing.assert_allclose(motion.y[-1, :2], carried(4.0, times, forces), rtol=0, atol=1e-12)
    assert motion.method == "Taylor"
