"""Motions that are moved together agree with `simulate`, and with closed forms in every unit."""

import re

import numpy as np
import pytest

import stationary as st
from stationary.lower.engines import heyoka
from stationary.lower.kernel import kernel_of
from stationary.many import step_counts
from stationary.many.design import as_design
from stationary.many.engines import batches, plain
from stationary.many.fewer_operations import lighter
from stationary.many.keep import as_keeps
from stationary.many.motions import motions_of
from stationary.many.question import as_question
from tests.many.random_sweeps import question

pytestmark = pytest.mark.skipif(not heyoka.available(), reason="heyoka is not installed")

x, z = st.coordinates("x z")
k, m = st.parameters(k=4.0, m=1.0)
OSCILLATOR = st.System(kinetic=m * x.dot**2 / 2, potential=k * x**2 / 2)


@pytest.fixture
def quickly(monkeypatch):
    """Compile without unrolling: the same numbers to rounding, sooner."""
    monkeypatch.setattr(batches, "_UNROLL_UP_TO", 0)


def check(seed):
    asked = question(seed, events=False)
    if motions_of(asked).sampled:  # pyright: ignore[reportAttributeAccessIssue]
        return
    ours, theirs = batches.compute(asked, 0, 4), plain.compute(asked, 0, 1)
    assert ours.status == ["done"] * 4
    for name, rows in theirs.kept.items():
        np.testing.assert_allclose(ours.kept[name][:1], rows, rtol=1e-11, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("seed", [1, 3, 6, 7])
def test_batches_agree_with_simulate_on_random_systems(seed, quickly):
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("ten", range(4))
def test_batches_agree_with_simulate_on_more_random_systems(ten, quickly):
    for seed in range(10 * ten, 10 * ten + 10):
        check(seed)


def test_a_run_without_masses_is_refused_and_the_others_go_on():
    masses = np.linspace(1, 2, 300)
    masses[[5, 7]] = -1.0, 0.0
    runs = st.sweep(st.simulate, OSCILLATOR, over={m: masses}, start={x: 1.0}, span=(0, 1),
                    keep={"x": x})  # fmt: skip
    good = np.arange(300)[~np.isin(np.arange(300), [5, 7])]
    assert runs.engine == "batches" and runs.status[5] == runs.status[7] == "refused"
    np.testing.assert_allclose(runs["x"][good], np.cos(np.sqrt(4 / masses[good])), atol=1e-12)


@pytest.mark.parametrize(("length", "time"), [(1.0, 1.0), (1e-9, 1e6), (1e12, 1e-9)])
def test_reductions_are_those_of_the_closed_form_in_every_unit(length, time):
    amplitudes = length * np.linspace(0.5, 2, 300)
    runs = st.sweep(
        st.simulate, OSCILLATOR, over={x: amplitudes}, span=(0, 3 * time), params={k: 4 / time**2},
        keep={"end": x, "zero": st.first(x), "low": st.least(x), "top": st.most(abs(x.dot)),
              "near": st.least(abs(x)),
              "mean": st.mean(x**2), "way": st.values(x, at=[0.5 * time, 2.5 * time])},
    )  # fmt: skip
    assert runs.engine == "batches" and (runs.status == "done").all()
    exact = {
        "end": amplitudes * np.cos(6), "zero": np.full(300, np.pi / 4 * time), "low": -amplitudes,
        "top": 2 * amplitudes / time, "near": 0 * amplitudes,
        "mean": amplitudes**2 * (1 / 2 + np.sin(12) / 24),
        "way": amplitudes[:, None] * np.cos([1.0, 5.0]),
    }  # fmt: skip
    for name, values in exact.items():
        scale = np.abs(values).max() or length
        np.testing.assert_allclose(runs[name] / scale, values / scale, atol=1e-11, err_msg=name)


@pytest.mark.parametrize("keep", [{"z": z}, {"z": z, "low": st.least(z)}], ids=str)
def test_motions_that_leave_every_bound_do_not_hold_up_those_beside_them(keep):
    runaway = st.System(kinetic=(x.dot**2 + z.dot**2) / 2, potential=-(x**4) / 4 + z**2 / 2)
    start = np.full(300, 0.01)
    start[[3, 200]] = 1.0, 2.0
    runs = st.sweep(st.simulate, runaway, over={x: start}, start={z: 1.0}, span=(0, 3), keep=keep)
    assert runs.engine == "batches"
    assert np.flatnonzero(runs.status == "blow-up").tolist() == [3, 200]
    assert "1.854" in runs.status[3].message and np.isnan(runs["z"][[3, 200]]).all()
    np.testing.assert_allclose(np.delete(runs["z"], [3, 200]), np.cos(3), rtol=1e-13)


def test_a_tolerance_that_is_given_shortens_the_series():
    over, given = {x: np.linspace(0.5, 2, 300)}, {"span": (0, 3), "keep": {"x": x}}
    for rtol in (1e-12, 1e-8):
        runs = st.sweep(st.simulate, OSCILLATOR, over=over, rtol=rtol, **given)
        assert runs.engine == "batches" and (runs.status == "done").all()
        np.testing.assert_allclose(runs["x"], over[x] * np.cos(6), atol=100 * rtol)
    orders = [batches._Code(motions_of(asked)).stepper.order  # pyright: ignore[reportArgumentType]
              for asked in (_asked(rtol) for rtol in (1e-8, 1e-12, 2.3e-16))]  # fmt: skip
    assert orders == [11, 15, 20]


def _asked(rtol):
    design, keeps = as_design({x: [1.0, 2.0]}), as_keeps({"x": x}, "simulate", OSCILLATOR)
    return as_question(st.simulate, OSCILLATOR, design, keeps, {"span": (0, 1), "rtol": rtol})


def test_what_moves_beside_a_motion_changes_no_digit_of_it(monkeypatch, quickly):
    soft = st.System(kinetic=m * x.dot**2 / 2, potential=k * (x**2 / 2 + x**4 / 4))
    random = np.random.default_rng(3)
    over = {(x, k): (random.uniform(0.1, 3, 520), 10 ** random.uniform(-2, 2, 520))}
    keep, real, found = {"x": x, "top": st.most(x.dot)}, step_counts.Order.by, {}
    for way in ("given", "energy", "near"):
        monkeypatch.setattr(step_counts.Order, "by", lambda self, _, way=way: real(self, way))
        runs = st.sweep(st.simulate, soft, over=over, span=(0, 3), keep=keep, chunk=260)
        assert runs.engine == "batches" and (runs.status == "done").all()
        found[way] = runs["x"].tobytes() + runs["top"].tobytes()
    # Nor does it matter how many are moved at a time, so that their states fit.
    monkeypatch.setattr(batches, "_TOGETHER", 64)
    monkeypatch.setattr(batches, "_ROOM", 0)
    runs = st.sweep(st.simulate, soft, over=over, span=(0, 3), keep=keep, chunk=260)
    found["few"] = runs["x"].tobytes() + runs["top"].tobytes()
    assert found["given"] == found["energy"] == found["near"] == found["few"]


def test_motions_are_put_beside_those_that_take_as_many_steps():
    random = np.random.default_rng(0)
    springs, places = random.uniform(1, 100, 512), random.uniform(0, 1, 512)
    motions = motions_of(_asked(1e-12))
    y, p, span = np.zeros((512, 2)), np.ones((512, 2)), np.tile([0.0, 1.0], (512, 1))
    names = [q.name for q in motions.kernel.layout.system.parameters]  # pyright: ignore
    y[:, 0], p[:, names.index("k")] = places, springs
    order = step_counts.Order(motions, span, y, p, np.arange(512) != 7, 8)  # pyright: ignore
    for way in ("given", "energy", "near"):
        assert sorted(order.by(way)) == [*range(7), *range(8, 512)]
    energy = springs * places**2 / 2
    # As many as the energy; as the place of a run in the list; as a distance in all that varies.
    assert order.best(np.round(1000 * energy).astype(int)) == "energy"
    assert order.best(np.arange(512)) == "given"
    assert order.best(np.round(springs + 100 * places).astype(int)) == "near"
    few = step_counts.Order(motions, span, y, p, np.arange(512) < 100, 8)  # pyright: ignore
    assert few.best(np.arange(512)) is None


def test_a_double_pendulum_has_no_more_products_than_equations_by_hand():
    a, b = st.coordinates("a b")
    X, Y = st.sin(a), -st.cos(a)
    double = st.particle(1.0, at=(X, Y), gravity=9.81) + st.particle(
        1.0, at=(X + st.sin(b), Y - st.cos(b)), gravity=9.81
    )
    rhs = kernel_of(lighter(double), (), short=True).rhs
    pairs, _ = heyoka.equations(rhs)
    import heyoka as hy

    terms = hy.taylor_adaptive(pairs, [0.0] * 4, compact_mode=True, opt_level=0).decomposition
    text = " ".join(str(term) for term, _ in terms)
    # Sines and cosines of three angles; s ȧ², s ḃ², c r, c ä; c², ȧ², ḃ²; one quotient.
    assert len(re.findall(r"sin|cos", text)) == 6 and text.count("div") == 1
    assert len(re.findall(r"u_\d+ \* u_\d+", text)) <= 4 and text.count("**") <= 3
    given = np.array([0.7, -1.1, 1.3, 0.4])
    exact = kernel_of(double, ()).rhs(0.0, given, []).full()
    np.testing.assert_allclose(rhs(0.0, given, []).full(), exact, rtol=1e-13)


def test_spans_may_differ():
    ends = np.linspace(0.1, 4, 300)
    spans = st.sweep(st.simulate, OSCILLATOR, over={"span": [(0, e) for e in ends]},
                     start={x: 1.0}, keep={"x": x, "zero": st.first(x)})  # fmt: skip
    np.testing.assert_allclose(spans["x"], np.cos(2 * ends), atol=1e-11)
    zero = np.where(ends > np.pi / 4, np.pi / 4, np.nan)
    np.testing.assert_allclose(spans["zero"], zero, rtol=1e-11)


def test_a_span_for_which_there_are_no_numbers_stops_no_other():
    spans = [(0.0, 1.0)] * 300
    odd = [(-1e308, 1e308), (0, 1e200), (0, 5e-324), (1e16, 1e16 + 10), (0, np.inf), (1, 0)]
    spans[20 : 20 + len(odd)] = odd
    runs = st.sweep(st.simulate, OSCILLATOR, over={"span": spans}, start={x: 1.0},
                    keep={"x": x, "top": st.most(x)})  # fmt: skip
    there = np.r_[0:20, 26:300]
    assert runs.engine == "batches" and (runs.status[there] == "done").all()
    np.testing.assert_allclose(runs["x"][there], np.cos(2), rtol=1e-13)
    assert np.isnan(runs["x"][20:26]).all() and not runs.done[20:26].any()
    assert all(len(status.message.splitlines()) == 3 for status in runs.status[20:26])


@pytest.mark.parametrize("short", [5e-9, 1e-13])
def test_values_kept_close_to_the_ends_move_neither(short):
    places, at = np.linspace(1, 2, 300), np.array([short, 4.0, 10 - short])
    keep = {"x": x, "v": x.dot, "mean": st.mean(x), "some": st.values(x, at=at)}
    runs = st.sweep(st.simulate, OSCILLATOR, over={x: places}, span=(0, 10), keep=keep)
    assert runs.engine == "batches" and (runs.status == "done").all()
    close = {"rtol": 0, "atol": 2e-13}
    np.testing.assert_allclose(runs["x"], places * np.cos(20), **close)
    np.testing.assert_allclose(runs["v"], -2 * places * np.sin(20), **close)
    np.testing.assert_allclose(runs["mean"], places * np.sin(20) / 20, **close)
    np.testing.assert_allclose(runs["some"], places[:, None] * np.cos(2 * at), **close)


def test_a_crossing_at_the_start_and_a_touch_are_what_simulate_says():
    start = np.linspace(-1, 1, 301)
    keep = {"first": st.first(x - 0.5), "touch": st.first(x - 0.5 + 1e-9)}
    runs = st.sweep(st.simulate, OSCILLATOR, over={x: start}, span=(0, 3), keep=keep)
    for i in (0, 150, 225, 226):
        alone = st.sweep(st.simulate, OSCILLATOR, over={x: [start[i]]}, span=(0, 3), keep=keep)
        for name in keep:
            np.testing.assert_allclose(runs[name][i], alone[name][0], rtol=1e-9)


def test_what_touches_or_turns_in_space_is_asked_by_itself(monkeypatch):
    monkeypatch.setattr(batches, "_FEWEST", 2)
    ball = st.System(
        kinetic=x.dot**2 / 2, potential=9.81 * x, contacts=[st.Contact(x, restitution=0.5)]
    )
    # It falls in √(2h/g), and comes up again with half its speed.
    height, end = np.array([0.5, 1.0]), 0.6
    runs = st.sweep(st.simulate, ball, over={x: height}, span=(0, end), keep={"x": x})
    fall = np.sqrt(2 * height / 9.81)
    late = end - fall
    exact = 9.81 * fall / 2 * late - 9.81 * late**2 / 2
    assert runs.engine == "plain"
    np.testing.assert_allclose(runs["x"], exact, rtol=1e-9)
    R = st.rotation("R")
    top = st.body(1.0, inertia=(1.0, 1.0, 2.0), frame=st.Frame().turn(R))
    spins = [(0.0, 0.0, 1.0), (0.0, 0.0, 2.0)]
    turned = st.sweep(st.simulate, top, over={"R.omega": spins}, span=(0, 1),
                      keep={"angle": lambda motion: motion[R][-1].magnitude()})  # fmt: skip
    assert turned.engine == "plain"
    np.testing.assert_allclose(turned["angle"], [1.0, 2.0], rtol=1e-9)


@pytest.mark.parametrize(("length", "time"), [(1.0, 1.0), (1e-9, 1e6)])
def test_morses_oscillator_is_that_of_the_closed_form(length, time):
    a, D = st.parameters(a=1 / length, D=(length / time) ** 2)
    morse = st.System(kinetic=x.dot**2 / 2, potential=D * (1 - st.exp(-a * x)) ** 2)
    start = length * np.linspace(0.1, 2.5, 300)
    runs = st.sweep(st.simulate, morse, over={x: start}, span=(0, 10 * time),
                    keep={"x": x, "low": st.least(x)})  # fmt: skip
    assert runs.engine == "batches" and (runs.status == "done").all()
    part = 1 - np.exp(-start / length)
    rate = np.sqrt(2 * (1 - part**2))
    exact = np.log((1 + part * np.cos(10 * rate)) / (1 - part**2))
    np.testing.assert_allclose(runs["x"] / length, exact, atol=1e-11)
    reached = 10 * rate > np.pi
    np.testing.assert_allclose(
        (runs["low"] / length)[reached], -np.log(1 + part)[reached], atol=1e-11
    )


@pytest.mark.parametrize("width", [0.5, 0.1])
def test_friction_that_is_nearly_dry_takes_what_simulate_says(width):
    rubbed = OSCILLATOR + st.System(loads=[st.Load(-0.3 * st.tanh(x.dot / width), on=x)])
    start = np.linspace(0.5, 2, 300)
    keep = {"x": x, "v": x.dot, "mean": st.mean(x)}
    runs = st.sweep(st.simulate, rubbed, over={x: start}, span=(0, 5), keep=keep)
    assert runs.engine == "batches" and (runs.status == "done").all()
    for i in (3, 160, 299):
        alone = st.sweep(st.simulate, rubbed, over={x: start[[i]]}, span=(0, 5), keep=keep)
        for name in keep:
            np.testing.assert_allclose(runs[name][i], alone[name][0], atol=1e-11, err_msg=name)


def test_a_thin_wall_is_left_to_those_who_look_inside_steps():
    walled = OSCILLATOR + st.System(potential=10 * st.exp(-(((x + 0.3) / 0.001) ** 2)))
    design, keeps = as_design({x: np.linspace(0.5, 2, 300)}), as_keeps({"x": x}, "simulate", walled)
    asked = as_question(st.simulate, walled, design, keeps, {"span": (0, 3)})
    assert "too suddenly" in (batches.refuses(asked) or "")
    few = st.sweep(st.simulate, walled, over={x: [1.0]}, span=(0, 3), keep={"low": st.least(x)})
    assert few["low"][0] == pytest.approx(-0.298, abs=1e-3)
    assert few.facts["one by one"] == "there are few runs" and "one by one: " in repr(few)
