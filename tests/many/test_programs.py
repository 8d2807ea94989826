"""Programs of trajectories, in C and in CUDA, agree with `simulate` and with closed forms."""

import numpy as np
import pytest

import stationary as st
from stationary.lower.engines import c
from stationary.many import chunk
from stationary.many.design import as_design
from stationary.many.engines import compiled, cuda, plain
from stationary.many.keep import as_keeps
from stationary.many.question import as_question
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


@pytest.fixture
def quickly(monkeypatch):
    """Compile without optimizing: the same numbers, sooner."""
    monkeypatch.setattr(compiled, "_OPTIONS", ("-std=c99", "-O0", "-shared", "-fPIC", "-w"))


def check(seed):
    asked = question(seed, rtol=1e-12, atol=1e-13)
    assert compiled.refuses_program(asked) is None
    runs = sorted({0, seed % 4})
    for run in runs:
        ours, theirs = (engine.compute(asked, run, run + 1) for engine in (compiled, plain))
        agree(ours, theirs, 1e-9)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(8))
def test_a_program_agrees_with_simulate_on_random_systems(seed, quickly):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("ten", range(20))
def test_a_program_agrees_with_simulate_on_two_hundred_random_systems(ten, quickly):
    for seed in range(10 * ten, 10 * ten + 10):
        check(seed)


@pytest.mark.parametrize("seed", range(8))
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


def swept(system, steps=None, **asked):
    """Ask the program itself: with steps of a fixed length, or adaptive ones."""
    keep = asked.pop("keep")
    over = as_design(asked.pop("over"))
    given = asked if steps is None else asked | {"method": st.RK4(step=steps)}
    made = as_question(st.simulate, system, over, as_keeps(keep, "simulate", system), given)
    assert compiled.refuses_program(made) is None, compiled.refuses_program(made)
    return compiled.compute(made, 0, len(over))


@pytest.mark.parametrize(("steps", "tolerance"), [(None, 1e-11), (0.05, 1e-13)])
def test_inputs_are_interpolated_between_samples_of_every_run(steps, tolerance, quickly):
    u = st.inputs("u")
    pushed = st.System(kinetic=x.dot**2 / 2, loads=[st.Load(u, on=x)])
    # A ramp, the same with a knot in between, a roof, and a constant push.
    inputs = [([0, 2], [0.0, 2.0]), ([0, 0.777, 2], [0.0, 0.777, 2.0]), [0.0, 1.0, 0.0], [1.0, 1.0]]
    found = swept(
        pushed, steps, over={u: inputs}, span=(0, 2), keep={"x": x, "top": st.most(x.dot)}
    )
    assert found.status == ["done"] * 4
    # ∫(2 − s) u(s) ds: of s it is 4/3, of the roof 1, of one 2; the speed is the area below u.
    np.testing.assert_allclose(found.kept["x"], [4 / 3, 4 / 3, 1.0, 2.0], rtol=tolerance)
    np.testing.assert_allclose(found.kept["top"], [2.0, 2.0, 1.0, 2.0], rtol=tolerance)
    shared = swept(pushed, steps, over={x: [0.0, 5.0]}, span=(0, 2), keep={"x": x},
                   inputs={u: [0.0, 1.0, 0.0]})  # fmt: skip
    np.testing.assert_allclose(shared.kept["x"], [1.0, 6.0], rtol=tolerance)


@pytest.mark.parametrize(("steps", "tolerance"), [(None, 1e-10), (0.01, 1e-11)])
def test_actions_change_the_state_where_events_happen(steps, tolerance, quickly):
    ball = st.System(kinetic=x.dot**2 / 2, potential=9.81 * x)
    bounce = st.Event(x, direction=-1, action={x.dot: -0.8 * x.dot})
    height = np.array([0.5, 1.0])
    found = swept(ball, steps, over={x: height}, span=(0, 1.4), events=[bounce], keep={
        "x": x, "top": st.most(x.dot), "low": st.least(x)})  # fmt: skip
    # It falls in √(2h/g); every bounce leaves 0.8 of the speed, and takes twice that time.
    fall = np.sqrt(2 * height / 9.81)
    speed, late = 9.81 * fall * 0.8, 1.4 - fall
    for k in range(2):
        while late[k] > 2 * speed[k] / 9.81:
            late[k], speed[k] = late[k] - 2 * speed[k] / 9.81, 0.8 * speed[k]
    np.testing.assert_allclose(found.kept["x"], speed * late - 9.81 * late**2 / 2, atol=tolerance)
    np.testing.assert_allclose(found.kept["top"], 9.81 * fall * 0.8, rtol=tolerance)
    np.testing.assert_allclose(found.kept["low"], 0.0, atol=tolerance)
    # Slowed at every passage, upwards and downwards: the period stays, of the energy 0.81 is left.
    slow = st.Event(x, action={x.dot: 0.9 * x.dot})
    found = swept(OSCILLATOR, steps, over={x: [1.0, 2.0]}, span=(0, 2.0), events=[slow],
                  keep={"x": x})  # fmt: skip
    near = 1e-9 if steps is None else 1e-7  # (2 · 0.01)⁴, a step's own error
    np.testing.assert_allclose(found.kept["x"], 0.9 * np.cos(4) * np.array([1, 2]), rtol=near)


def test_a_motion_that_acts_ever_faster_is_asked_by_itself(quickly):
    ball = st.System(kinetic=x.dot**2 / 2, potential=9.81 * x)
    bounce = st.Event(x, direction=-1, action={x.dot: -0.5 * x.dot})
    found = swept(ball, over={x: [1.0]}, span=(0, 3), events=[bounce], keep={"x": x})
    # All bounces together take three falls: 1.35 s.
    assert found.status == ["chatter"] and "1.35" in found.said[found.codes[0]].message


def test_a_passage_through_a_singular_place_is_asked_by_itself(quickly, monkeypatch):
    # A parallelogram that turns evenly; when all bars lie on one line, their rods lose a row.
    a, b, z, w = st.coordinates("a b z w")
    bars = st.rod((0, 0), (a, b), 1.0) + st.rod((2, 0), (z, w), 1.0) + st.rod((a, b), (z, w), 2.0)
    linkage = st.particle(1.0, at=(a, b)) + st.particle(1.0, at=(z, w)) + bars
    s, c = np.sin(1.0), np.cos(1.0)
    start = {a: c, b: s, z: 2 + c, w: s, b.dot: -c, z.dot: s, w.dot: -c}
    alone, real = [], chunk.one
    monkeypatch.setattr(chunk, "one", lambda *given: alone.append(given) or real(*given))
    found = swept(linkage, over={"span": [(0, 0.5), (0, 1.5)]}, start=start | {a.dot: s},
                  keep={"b": b})  # fmt: skip
    np.testing.assert_allclose(found.kept["b"], [np.sin(0.5), -np.sin(0.5)], atol=1e-10)
    assert [run for _, run in alone] == [1]


def test_two_rods_stated_by_places_are_a_double_pendulum(quickly):
    a, b, z, w = st.coordinates("a b z w")
    one, two = st.coordinates("one two")
    masses = st.particle(1.0, at=(a, b), gravity=9.81) + st.particle(1.0, at=(z, w), gravity=9.81)
    rods = masses + st.rod((0, 0), (a, b), 1.0) + st.rod((a, b), (z, w), 1.0)
    s, c = (st.sin(one), st.sin(one) + st.sin(two)), (st.cos(one), st.cos(one) + st.cos(two))
    angles = st.particle(1.0, at=(s[0], -c[0]), gravity=9.81) + st.particle(
        1.0, at=(s[1], -c[1]), gravity=9.81
    )
    tilt = np.array([0.4, 0.9])
    start = {(a, b, z, w): (np.sin(tilt), -np.cos(tilt), 2 * np.sin(tilt), -2 * np.cos(tilt))}
    found = swept(rods, over=start, span=(0, 3), keep={"z": z})
    other = swept(angles, over={(one, two): (tilt, tilt)}, span=(0, 3), keep={"z": s[1]})
    assert found.status == ["done", "done"]
    np.testing.assert_allclose(found.kept["z"], other.kept["z"], atol=1e-9)


def test_a_body_turns_in_space_as_euler_says(quickly):
    R = st.rotation("R")
    top = st.body(1.0, inertia=(1.0, 1.0, 2.0), frame=st.Frame().turn(R))
    spins = [(0.3, 0.0, 1.0), (0.0, 0.5, 2.0)]
    found = swept(top, over={"R.omega": spins}, span=(0, 3), keep={"omega": R.omega})
    # ω₃ stays, and ω₁ + iω₂ turns by (I₃ − I₁)/I₁ ω₃ t.
    exact = [(v[0] + 1j * v[1]) * np.exp(1j * v[2] * 3) for v in spins]
    omega = found.kept["omega"]
    np.testing.assert_allclose(omega[:, 0] + 1j * omega[:, 1], exact, atol=1e-10)
    np.testing.assert_allclose(omega[:, 2], [1.0, 2.0], atol=1e-11)


REFUSED = [
    (st.System(kinetic=x.dot**2 / 2, potential=x, contacts=[st.Contact(x)]), "has contacts"),
    (st.System(kinetic=x.dot**2 / 2 + y.dot**2 / 2, constraints=[x - y, 2 * x - 2 * y]),
     "constraints are redundant"),
    (st.System(kinetic=x.dot**2 / 2, loads=[st.Load(-st.tanh(x.dot), on=x)]), "may be sharp"),
]  # fmt: skip


@pytest.mark.parametrize(("system", "why"), REFUSED)
def test_a_gpu_says_what_it_cannot_do_and_who_can(system, why, monkeypatch):
    monkeypatch.setattr(cuda, "require", lambda: None)
    with pytest.raises(st.StatementError, match="a GPU cannot compute this sweep") as caught:
        st.sweep(st.simulate, system, over={x: [0.0]}, span=(0, 1), keep={"x": x}, on="cuda")
    assert why in str(caught.value) and 'on="cpu"' in str(caught.value)


def test_what_a_program_cannot_do_is_refused_by_name():
    with pytest.raises(st.StatementError, match="length of a step is not positive"):
        st.RK4(step=0)
    if cuda.available():
        with pytest.raises(st.StatementError, match="a GPU cannot compute this sweep"):
            st.sweep(st.statics, OSCILLATOR, over={k: [1.0]}, on="cuda")
    else:
        with pytest.raises(st.MissingExtra, match='on="cuda" needs'):
            st.sweep(st.statics, OSCILLATOR, over={k: [1.0]}, on="cuda")
