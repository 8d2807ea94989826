"""Programs of trajectories, in C and in CUDA, agree with `simulate` and with closed forms."""

import numpy as np
import pytest

import stationary as st
from stationary.lower.engines import c
from stationary.many.engines import compiled, cuda, plain
from tests.many.random_sweeps import question

pytestmark = pytest.mark.skipif(not c.available(), reason="there is no C compiler")

x, y = st.coordinates("x y")
k = st.parameters(k=4.0)
OSCILLATOR = st.System(kinetic=x.dot**2 / 2, potential=k * x**2 / 2)


def agree(ours, theirs, tolerance):
    assert ours.status == theirs.status
    for name, rows in theirs.kept.items():
        np.testing.assert_allclose(
            ours.kept[name], rows, rtol=tolerance, atol=tolerance, err_msg=name
        )


def check(seed):
    asked = question(seed, rtol=1e-12, atol=1e-13)
    assert compiled.refuses_program(asked) is None
    agree(compiled.compute(asked, 0, 4), plain.compute(asked, 0, 4), 1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_a_program_agrees_with_simulate_on_random_systems(seed):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3, 15))
def test_a_program_agrees_with_simulate_on_more_random_systems(seed):
    check(seed)


@pytest.mark.parametrize("seed", range(2))
def test_a_gpu_agrees_with_the_program_in_c(seed):
    if not cuda.available():
        pytest.skip("there is no GPU here")
    asked = question(seed, rtol=1e-12, atol=1e-13)
    agree(cuda.compute(asked, 0, 4), compiled.compute(asked, 0, 4), 1e-8)


def test_fixed_steps_converge_with_order_four():
    def error(step):
        runs = st.sweep(st.simulate, OSCILLATOR, over={x: [1.0, 2.0]}, span=(0, 3),
                        method=st.RK4(step=step),
                        keep={"x": x, "zero": st.first(x), "low": st.least(x),
                              "way": st.values(x, at=[1.0, 2.01])})  # fmt: skip
        assert runs.engine == "compiled"
        exact = [np.cos(6), np.pi / 4, -1.0, np.cos(2), np.cos(4.02)]
        found = [runs["x"][0], runs["zero"][0], runs["low"][0], *runs["way"][0]]
        return np.abs(np.subtract(found, exact))

    coarse, fine = error(0.1), error(0.05)
    order = np.log2(coarse / fine)
    assert np.all(order > 3.5), order
    assert np.all(error(0.001) < 1e-10)


def test_single_precision_has_seven_digits():
    runs = st.sweep(st.simulate, OSCILLATOR, over={k: [1.0, 4.0]}, span=(0, 1), start={x: 1.0},
                    method=st.RK4(step=0.01, single=True), keep={"x": x})  # fmt: skip
    np.testing.assert_allclose(runs["x"], np.cos([1.0, 2.0]), rtol=0, atol=2e-6)
    assert not np.allclose(runs["x"], np.cos([1.0, 2.0]), rtol=0, atol=1e-12)


def test_states_that_nobody_asks_for_are_left_out():
    # Lorenz' equations, stated as loads on velocities: places are never needed.
    z = st.coordinates("z")
    rho = st.parameters(rho=28.0)
    u, v, w = x.dot, y.dot, z.dot
    lorenz = st.System(
        kinetic=(u**2 + v**2 + w**2) / 2,
        loads=[st.Load(10 * (v - u), on=x), st.Load(u * (rho - w) - v, on=y),
               st.Load(u * v - 8 * w / 3, on=z)],
    )  # fmt: skip
    asked = {"over": {rho: [0.5, 10.0]}, "start": {u: 1.0, v: 1.0, w: 1.0}, "span": (0, 40)}
    runs = st.sweep(st.simulate, lorenz, method=st.RK4(step=0.01), keep={"x": u}, **asked)
    # Below ρ = 1 all comes to rest, above it at ±√(β(ρ − 1)).
    np.testing.assert_allclose(runs["x"], [0.0, np.sqrt(8 / 3 * 9)], atol=1e-8)


def test_a_motion_that_is_lost_says_why():
    runaway = st.System(kinetic=x.dot**2 / 2, potential=-(x**4) / 4)
    runs = st.sweep(st.simulate, runaway, over={x: [0.1, 1.0]}, span=(0, 3), keep={"x": x},
                    method=st.RK4(step=0.001))  # fmt: skip
    assert runs.status.tolist() == ["done", "blow-up"] and np.isnan(runs["x"][1])


def test_what_a_program_cannot_do_is_refused_by_name():
    with pytest.raises(st.StatementError, match="length of a step is not positive"):
        st.RK4(step=0)
    if cuda.available():
        with pytest.raises(st.StatementError, match="a GPU cannot compute this sweep"):
            st.sweep(st.statics, OSCILLATOR, over={k: [1.0]}, on="cuda")
    else:
        with pytest.raises(st.MissingExtra, match='on="cuda" needs'):
            st.sweep(st.statics, OSCILLATOR, over={k: [1.0]}, on="cuda")
