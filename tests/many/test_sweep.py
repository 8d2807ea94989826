"""One question asked many times gives what closed forms say, by name; failures are data."""

import copy
import multiprocessing
import os
import pickle
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import stationary as st
from stationary.errors import StationaryError
from stationary.lower.engines import heyoka
from stationary.many import crew
from stationary.many.design import as_design
from stationary.many.engines import batches, plain
from stationary.many.keep import as_keeps
from stationary.many.question import as_question

x, y = st.coordinates("x y")
k, m, F = st.parameters(k=4.0, m=1.0, F=0.0)
u = st.inputs("u")
OSCILLATOR = st.System(kinetic=m * x.dot**2 / 2, potential=k * x**2 / 2, name="oscillator")
PUSHED = st.System(kinetic=m * x.dot**2 / 2, loads=[st.Load(u, on=x)])
SPRING = st.System(potential=k * x**2 / 2, work=F * x)
RUNAWAY = st.System(kinetic=x.dot**2 / 2, potential=-(x**4) / 4)


def test_a_grid_has_one_axis_per_name_and_reductions_are_those_of_the_closed_form():
    amplitudes, stiffness = np.array([0.5, 1.0, 2.0]), np.array([1.0, 4.0])
    runs = st.sweep(
        st.simulate, OSCILLATOR, over={x: amplitudes, k: stiffness}, span=(0, 3),
        keep={"end": (x, x.dot), "zero": st.first(x), "up": st.first(x.dot - 0.3, direction=1),
              "top": st.most(abs(x.dot)), "low": st.least(x), "mean": st.mean(x**2),
              "way": st.values(x, at=[0.5, 2.5])},
    )  # fmt: skip
    a, w = amplitudes[:, None], np.sqrt(stiffness)
    assert runs.shape == (3, 2) and runs["zero"].dims == ("x", "k")
    assert runs["end"].dims == ("x", "k", "end_0") and (runs.status == "done").all()
    np.testing.assert_allclose(runs["end"][..., 0], a * np.cos(3 * w), atol=1e-11)
    np.testing.assert_allclose(runs["end"][..., 1], -a * w * np.sin(3 * w), atol=1e-11)
    np.testing.assert_allclose(runs["zero"], 0 * a + np.pi / 2 / w, rtol=1e-12)
    # ẋ = −aω sin ωt rises through 0.3 after half a turn, if it ever does.
    share = 0.3 / (a * w)
    rise = (np.pi + np.arcsin(np.where(share < 1, share, np.nan))) / w
    np.testing.assert_allclose(runs["up"], np.where(rise < 3, rise, np.nan), rtol=1e-11)
    top = a * w * np.where(3 * w >= np.pi / 2, 1.0, np.sin(3 * w))
    np.testing.assert_allclose(runs["top"], top, rtol=1e-10)
    low = a * np.where(3 * w >= np.pi, -1.0, np.cos(3 * w))
    np.testing.assert_allclose(runs["low"], low, rtol=1e-10)
    mean = a**2 * (1 / 2 + np.sin(6 * w) / (12 * w))
    np.testing.assert_allclose(runs["mean"], mean, rtol=1e-9)
    np.testing.assert_allclose(
        runs["way"], a[..., None] * np.cos(w[:, None] * [0.5, 2.5]), atol=1e-11
    )
    np.testing.assert_array_equal(runs[x], amplitudes)
    found = runs.to_xarray()
    assert found["zero"].sel(x=1.0, k=4.0) == runs["zero"][1, 1]
    assert "6 done" in repr(runs)


def test_lists_pair_runs_are_stated_one_by_one_and_spans_and_inputs_vary():
    keep = {"x": x}
    paired = st.sweep(st.simulate, OSCILLATOR, span=(0, 1), keep=keep,
                      over={(x, k): ([1.0, 2.0, 3.0], [1.0, 4.0, 9.0])})  # fmt: skip
    exact = np.array([1.0, 2.0, 3.0]) * np.cos([1.0, 2.0, 3.0])
    np.testing.assert_allclose(paired["x"], exact, atol=1e-12)
    stated = [{x: 1.0, "k": 1.0}, {x: 2.0, "k": 4.0}, {x: 3.0, "k": 9.0}]
    listed = st.sweep(st.simulate, OSCILLATOR, span=(0, 1), keep=keep, over=stated)
    np.testing.assert_array_equal(listed["x"], paired["x"])
    spans = st.sweep(st.simulate, OSCILLATOR, over={"span": [(0, 1), (0, 2)]}, keep=keep,
                     start={x: 1.0})  # fmt: skip
    np.testing.assert_allclose(spans["x"], np.cos([2.0, 4.0]), atol=1e-12)
    pushes = st.sweep(st.simulate, PUSHED, over={u: [2.0, st.t, [0.0, 6.0], ([0, 1], [1.0, 1.0])]},
                      span=(0, 1), keep=keep)  # fmt: skip
    np.testing.assert_allclose(pushes["x"], [1.0, 1 / 6, 1.0, 0.5], atol=1e-12)
    speeds = st.sweep(st.simulate, OSCILLATOR, over={x.dot: [1.0, 2.0]}, span=(0, 1), keep=keep)
    np.testing.assert_allclose(speeds["x"], np.sin(2) / 2 * np.array([1, 2]), atol=1e-12)


VERBS = {
    "statics": (SPRING, {"keep": None}, lambda r: r["x"], np.array([1.0, 2.0, 3.0]) / 4),
    "equilibria": (SPRING, {"within": {x: (-2, 2)}}, lambda r: r["x"][:, 0], [0.25, 0.5, 0.75]),
    "minimum_power": (
        st.System(friction=[st.Friction(F + 1, on=x)], constraints=[x - 2 * st.t]), {},
        lambda r: r["power"], [4.0, 6.0, 8.0],
    ),
    "quasistatics": (
        st.System(potential=k * (x - st.t) ** 2 / 2, friction=[st.Friction(F, on=x)]),
        {"span": (0, 2), "points": 9, "keep": {"x": x, "begins": st.first(x - 0.5)}},
        lambda r: np.stack([r["x"], r["begins"]], -1),
        [[1.75, 0.75], [1.5, 1.0], [1.25, 1.25]],
    ),
    "limit_load": (
        st.System(work=2 * m * x, friction=[st.Friction(F, on=x)]), {"load": m},
        lambda r: r["factor"], [0.5, 1.0, 1.5],
    ),
    "modes": (
        st.System(kinetic=x.dot**2 / 2, potential=F * x**2 / 2), {"count": 1},
        lambda r: r["frequencies"][:, 0], np.sqrt([1.0, 2.0, 3.0]),
    ),
    "linearize": (
        st.System(kinetic=x.dot**2 / 2, potential=F * x**2 / 2), {},
        lambda r: np.abs(r["eigenvalues"]).max(axis=1), np.sqrt([1.0, 2.0, 3.0]),
    ),
    "continuation": (
        st.System(potential=k * x**2 / 2 - m * F * x),
        {"parameter": m, "span": (1, 2), "start": {x: 0.25}, "keep": {"x": x, "most": st.most(x)}},
        lambda r: r["most"], [0.5, 1.0, 1.5],
    ),
}  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_can_be_asked_many_times(verb):
    system, given, read, exact = VERBS[verb]
    runs = st.sweep(getattr(st, verb), system, over={F: [1.0, 2.0, 3.0]}, **given)
    assert (runs.status == "done").all(), [s.message for s in runs.status]
    np.testing.assert_allclose(read(runs), exact, rtol=1e-7)


def test_a_run_that_fails_is_not_a_number_and_says_why():
    asked = {"over": {x: [0.1, 1.0, 2.0]}, "span": (0, 3), "keep": {"x": x, "top": st.most(x)}}
    runs = st.sweep(st.simulate, RUNAWAY, **asked)
    assert runs.status.tolist() == ["done", "blow-up", "blow-up"]
    assert np.isfinite(runs["x"][0]) and np.isnan(runs["x"][1:]).all()
    # The runaway from rest at 1 ends at K(1/2)/√2 = 1.85407….
    assert "1.854" in runs.status[1].message
    assert runs.done.tolist() == [True, False, False] and runs.complete
    with pytest.raises(st.DidNotConverge, match="run 1 fails: blow-up, at x = 1.0") as caught:
        st.sweep(st.simulate, RUNAWAY, throw=True, chunk=1, **asked)
    assert caught.value.solution.status.tolist() == ["done", "blow-up", "pending"]
    masked = st.sweep(st.statics, SPRING, over={F: np.ma.array([1.0, 2.0], mask=[False, True])})
    assert masked.status.tolist() == ["done", "refused"] and np.isnan(masked["x"][1])
    # A chunk of which all fail comes before or after others with several values.
    vibrating = st.System(kinetic=x.dot**2 / 2, potential=F * x**2 / 2)
    nans = [np.nan, np.nan, 4.0, 9.0, np.nan, np.nan]
    for size in (1, 2, 6):
        several = st.sweep(st.modes, vibrating, over={F: nans}, chunk=size)["frequencies"]
        np.testing.assert_allclose(several[:, 0], np.sqrt(nans))
    broken = st.sweep(
        st.statics, SPRING, over={F: [0.0, 2.0]}, keep={"x": lambda r: 1 / int(4 * r[x])}
    )
    assert broken.status.tolist() == ["error", "done"] and broken["x"][1] == 0.5
    assert str(broken.status[0].message).splitlines() == [
        "run 0 of statics ended with an error, at F = 0.0.",
        "  Found ZeroDivisionError: division by zero.",
        "  Look whether its values, or what is kept, make sense; asked by itself it says where.",
    ]


def test_a_run_that_ended_otherwise_than_asked_says_so():
    branches = {"n": lambda diagram: len(diagram.branches)}
    for seconds, word in ((0, "time"), (600, "done")):
        runs = st.sweep(
            st.continuation, SPRING, over={k: [1.0, 2.0]}, parameter=F, span=(0, 1),
            seconds=seconds, keep=branches,
        )  # fmt: skip
        assert runs.status.tolist() == [word] * 2 and (runs.done == (word == "done")).all()
        assert (runs["n"] == 1).all()


def test_attributes_functions_and_whole_results_are_kept():
    keep = {"energy": "energy", "twice": lambda rest: 2 * rest[x], "x": "x"}
    runs = st.sweep(st.statics, SPRING, over={F: [1.0, 2.0]}, keep=keep)
    np.testing.assert_allclose(runs["energy"], [-1 / 8, -1 / 2])
    np.testing.assert_allclose(runs["twice"], 2 * runs["x"])
    whole = st.sweep(st.simulate, OSCILLATOR, over={x: [1.0, 2.0]}, span=(0, 1), keep="whole")
    assert [motion[x][0] for motion in whole["whole"]] == [1.0, 2.0]


def test_an_interrupted_sweep_returns_what_there_is(monkeypatch):
    real = plain.compute

    def stops(question, first, last):
        if first == 2:
            raise KeyboardInterrupt
        return real(question, first, last)

    monkeypatch.setattr(plain, "compute", stops)
    runs = st.sweep(st.statics, SPRING, over={F: [1.0, 2.0, 3.0]}, chunk=1)
    assert runs.status.tolist() == ["done", "done", "pending"] and not runs.complete
    assert np.isnan(runs["x"][2]) and runs["x"][1] == 0.5


class Pressed:
    """A function of a result that sends what Ctrl-C does, when it is called for the third time."""

    def __init__(self):
        self.calls = 0

    def __call__(self, rest):
        self.calls += 1
        if self.calls == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return rest[x]


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as in POSIX")
def test_ctrl_c_returns_what_there_is(monkeypatch, tmp_path):
    # What runs in the background of a shell ignores Ctrl-C: it is heard here wherever this runs.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        _presses(monkeypatch, tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)


def _presses(monkeypatch, tmp_path):
    runs = st.sweep(st.statics, SPRING, over={F: np.arange(6.0)}, chunk=1, keep={"x": Pressed()})
    assert runs.status.tolist()[:2] == ["done"] * 2 and runs.status[-1] == "pending"
    assert runs["x"][1] == 0.25 and np.isnan(runs["x"][-1])
    # While a first run tells what a store has to hold, nothing is there yet.
    sooner, place = Pressed(), tmp_path / "runs.zarr"
    sooner.calls = 2
    runs = st.sweep(st.statics, SPRING, over={F: [1.0, 2.0]}, keep={"x": sooner}, store=place)
    assert (runs.status == "pending").all() and not place.exists()
    if not heyoka.available():
        return
    # Threads finish the motions that they have in hand; the chunk before them is there.
    real, calls = batches._Move, []

    def pressed(*given):
        calls.append(given)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return real(*given)

    monkeypatch.setattr(batches, "_Move", pressed)
    runs = st.sweep(st.simulate, OSCILLATOR, over={x: np.linspace(1, 2, 300)}, span=(0, 1),
                    keep={"x": x}, chunk=100)  # fmt: skip
    assert (runs.status[:100] == "done").all() and (runs.status[200:] == "pending").all()


def asked(scale):
    """Ask on three engines, in whatever thread or process."""
    values = scale * np.linspace(0.5, 1, 300)
    moved = st.sweep(st.simulate, OSCILLATOR, over={x: values}, span=(0, 1), keep={"x": x})
    ended = st.sweep(st.simulate, OSCILLATOR, over={x: values}, span=(0, 9), keep={"t": st.t},
                     events=[st.Event(x, terminal=True)])  # fmt: skip
    rested = st.sweep(st.statics, SPRING, over={F: values})
    alone = st.simulate(OSCILLATOR, span=(0, 1), start={x: scale})[x]
    return [np.asarray(r) for r in (moved["x"], ended["t"], rested["x"], alone)]


def test_threads_share_a_system():
    alone = [asked(scale) for scale in (1.0, 2.0, 3.0)]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(asked, (1.0, 2.0, 3.0)))
    for ours, theirs in zip(together, alone):
        for a, b in zip(ours, theirs):
            np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_processes_of_the_user_ask_and_send_back(how):
    if how not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {how} here")
    here = asked(1.0)
    with multiprocessing.get_context(how).Pool(1) as pool:
        there = pool.map_async(asked, [1.0]).get(120)[0]
    for a, b in zip(here, there):
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-15)


def test_what_varies_and_what_is_kept_may_share_a_name():
    runs = st.sweep(st.statics, SPRING, over={F: [1.0, 2.0]}, keep={"F": x, "status": 2 * x})
    table = runs.to_xarray()
    np.testing.assert_allclose(table["F"], [0.25, 0.5])
    np.testing.assert_allclose(table["F_given"], [1.0, 2.0])
    np.testing.assert_allclose(table["status"], [0.5, 1.0])
    points = st.sweep(st.simulate, OSCILLATOR, over={"points": [11, 21]}, span=(0, 1),
                      start={x: 1.0}, keep={"n": lambda motion: len(motion.t)})  # fmt: skip
    assert points["n"].tolist() == [11, 21]


def test_runs_travel():
    runs = st.sweep(st.statics, SPRING, over={F: [1.0, 2.0]})
    for other in (copy.deepcopy(runs), pickle.loads(pickle.dumps(runs))):
        np.testing.assert_array_equal(other["x"], runs["x"])
        assert other["x"].dims == ("F",) and other.status[0].message == runs.status[0].message


@pytest.mark.parametrize("kind", ["sobol", "latin", "random", "halton"])
def test_samples_lie_in_their_ranges_and_follow_their_seed(kind):
    ranges = {F: (0, 10), "k": st.normal(5.0, 0.5), m: (1, 2)}
    one, two, other = (st.samples(ranges, count=1000, kind=kind, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one["F"], two["F"])
    assert not np.array_equal(one["F"], other["F"])
    assert 0 <= one["F"].min() and one["F"].max() <= 10
    tolerance = 5 / np.sqrt(1000)
    assert one["F"].mean() == pytest.approx(5, abs=2.9 * tolerance)
    assert one[k].mean() == pytest.approx(5, abs=0.5 * tolerance)
    assert one[k].std() == pytest.approx(0.5, rel=0.15)
    runs = st.sweep(st.statics, SPRING, over=st.samples({F: (0, 10), k: (1, 2)}, count=3, seed=1))
    np.testing.assert_allclose(runs["x"], runs["F"] / runs["k"])
    assert runs["x"].dims == ("sample",)


BAD = [
    (lambda: st.sweep("simulat", SPRING, over={F: [1]}), "Did you mean 'simulate'"),
    (lambda: st.sweep(st.statics, SPRING, over={"G": [1]}),
     "the axis 'G' is not a name of the statement.\n  Names: k, F, x"),
    (lambda: st.sweep(st.simulate, OSCILLATOR, over={"xx": [1]}, span=(0, 1), keep={"x": x}),
     "Did you mean 'x'"),
    (lambda: st.sweep(st.equilibria, SPRING, over={x: [1]}, within={x: (0, 1)}),
     "equilibria has no start"),
    (lambda: st.sweep(st.statics, SPRING, over={(F, k): ([1, 2], [1, 2, 3])}),
     "the lists of F, k do not pair.\n  Found 2 of F, 3 of k values"),
    (lambda: st.sweep(st.statics, SPRING, over=[{F: 1}, {k: 1}]), "do not pair"),
    (lambda: st.sweep(st.statics, SPRING, over={F: []}), "the axis 'F' has no values"),
    (lambda: st.sweep(st.statics, SPRING, over={F: 3.0}), "the axis 'F' has no values"),
    (lambda: st.sweep(st.statics, SPRING, over={}), "over does not say what varies"),
    (lambda: st.sweep(st.statics, SPRING, over={F: [1], "F": [1]}), "varies along two axes"),
    (lambda: st.sweep(st.simulate, OSCILLATOR, over={k: [1]}, span=(0, 1)),
     "there is nothing to keep"),
    (lambda: st.sweep(st.statics, SPRING, over={F: [1]}, keep={}), "there is nothing to keep"),
    (lambda: st.sweep(st.statics, SPRING, over={F: [1]}, keep={"a": y}), "keep 'a' uses 'y'"),
    (lambda: st.sweep(st.statics, SPRING, over={F: [1]}, keep={"a": object()}), "nothing that can"),
    (lambda: st.sweep(st.statics, SPRING, over={F: [1]}, spam=(0, 1)), "no argument 'spam'"),
    (lambda: st.sweep(st.statics, SPRING, over={F: [1]}, params={"kk": 1}), "Did you mean 'k'"),
    (lambda: st.sweep(st.statics, SPRING, over={F: [1]}, on="gpus"), "nothing computes on 'gpus'"),
    (lambda: st.sweep(st.statics, SPRING, over={F: [1]}, on=3), "nothing computes on '3'"),
    (lambda: st.sweep(st.statics, SPRING, over={F: [1]}, chunk=0), "chunk is not a number of runs"),
    (lambda: st.sweep(st.statics, None, over={F: [1]}), "System"),  # pyright: ignore[reportArgumentType]
    (lambda: st.samples({F: (1, 0)}, count=8), "the range of 'F' is not one"),
    (lambda: st.samples({F: (0, 1)}, count=0), "count is not a number of samples"),
    (lambda: st.samples({F: (0, 1)}, count=8, kind="sobel"), "Did you mean 'sobol'"),
    (lambda: st.samples({F: (0, 1), k: (0, 1)}, count=8, kind="grid"), "4, 9 or 16"),
    (lambda: st.samples({}, count=8), "the samples have no ranges"),
    (lambda: st.first(x, direction=2), "the direction of a crossing"),
    (lambda: st.sweep(st.statics, SPRING, over={F: [1]}, keep={"x": st.first(x)}),
     "keep 'x' asks for times, and statics has none"),
    (lambda: st.sweep(st.modes, OSCILLATOR, over={x: [1]}, keep={"x": st.values(x, at=[1.0])}),
     "keep 'x' asks for times, and modes has none"),
    (lambda: st.sweep(st.continuation, SPRING, over={k: [1]}, parameter=F, span=(0, 1),
                      keep={"x": st.mean(x)}),
     "keep 'x' asks for times, and continuation has none"),
    (lambda: st.sweep(st.statics, SPRING, over={F: np.array(1.0)}), "the axis 'F' has no values"),
    (lambda: st.samples({x: (0, 1), "x": (0, 1)}, count=8), "'x' has two ranges"),
    (lambda: st.sweep(st.simulate, OSCILLATOR, over={x: [1]}, keep={"x": x}),
     "simulate needs the argument 'span'"),
    (lambda: st.sweep(st.simulate, OSCILLATOR, over={"x.ddot": [1]}, span=(0, 1), keep={"x": x}),
     "the axis 'x.ddot' is not a name"),
    (lambda: st.sweep(st.simulate, PUSHED, over={x: [1]}, span=(0, 1), keep={"x": x}),
     "input 'u' has no value"),
    (lambda: st.sweep(st.statics, SPRING, over=dict.fromkeys((F, k, "t"), np.ones(10**6))),
     "do not fit into memory"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(BAD)))
def test_bad_input_is_refused_by_name(case):
    ask, words = BAD[case]
    with pytest.raises(st.StatementError) as caught:
        ask()
    assert words in str(caught.value)


def deadly(rest):
    if abs(rest[x] - 0.5) < 1e-9:
        os.kill(os.getpid(), signal.SIGKILL)
    return rest[x]


@pytest.mark.slow
def test_a_process_that_dies_loses_its_own_chunk_alone(monkeypatch):
    monkeypatch.setattr(crew, "measured", lambda q, e, todo: crew.processes(q, e, todo, 2))
    runs = st.sweep(st.statics, SPRING, over={F: [1.0, 2.0, 3.0, 4.0]}, chunk=1,
                    keep={"x": deadly})  # fmt: skip
    assert runs.status.tolist() == ["done", "crashed", "done", "done"]
    np.testing.assert_allclose(runs["x"], [0.25, np.nan, 0.75, 1.0])
    assert "signal 9" in runs.status[1].message


FREE = st.parameters("free")
SPRUNG = st.System(kinetic=m * x.dot**2 / 2, potential=FREE * x**2 / 2)


@pytest.mark.parametrize("count", [3, 300])
@pytest.mark.parametrize(
    ("verb", "shared", "word"),
    [
        (st.simulate, {"rtol": -1}, "rtol is not positive"),
        (st.simulate, {"method": "taylr"}, "method must be"),
        (st.simulate, {"span": (1, 0)}, "span is reversed"),
        (st.simulate, {"points": 1}, "points is not a number"),
        (st.simulate, {"start": {x: "a"}}, "start of 'x'"),
        (st.simulate, {"params": {m: -1.0}}, "not convex"),
        (st.simulate, {"nonsense": 1}, "no argument 'nonsense'"),
        (st.statics, {"kind": "most"}, "kind must be"),
        (st.statics, {"t": "a"}, "t is not a time"),
        (st.modes, {"count": 0}, "count is not"),
        (st.linearize, {"states": ["y"]}, "states names 'y'"),
        (st.quasistatics, {"rtol": -1}, "cannot|drag|friction|rtol"),
        (st.continuation, {"points": 0}, "points is not"),
    ],
)
def test_what_all_runs_share_is_refused_before_any_of_them_starts(
    verb, shared, word, count, tmp_path
):
    keep: Any = {"x": x} if verb in (st.simulate, st.statics, st.quasistatics) else {"n": len}
    given: dict[str, Any] = {"span": (0, 1)} if verb in (st.simulate, st.quasistatics) else {}
    if verb is st.continuation:
        given = {"span": (0.5, 2), "parameter": m}
    store = tmp_path / "runs.zarr"
    with pytest.raises(StationaryError, match=word) as caught:
        over = {FREE: np.linspace(1, 2, count)}
        st.sweep(verb, SPRUNG, over=over, keep=keep, store=store, **(given | shared))
    assert len(str(caught.value).splitlines()) == 3 and not store.exists()


@pytest.mark.parametrize(
    ("over", "refused"),
    [({m: [-1.0, 1.0, -2.0]}, [0, 2]), ({m: [-1.0, -1.0]}, [0, 1]), ({"rtol": [-1, 1e-8]}, [0]),
     ({"span": [(1, 0), (0, 1)]}, [0])],
)  # fmt: skip
def test_what_varies_is_refused_run_by_run(over, refused):
    span: dict[str, Any] = {} if "span" in over else {"span": (0, 1)}
    runs = st.sweep(st.simulate, SPRUNG, over=over, params={FREE: 1.0}, keep={"x": x}, **span)
    assert np.flatnonzero(runs.status == "refused").tolist() == refused


@pytest.mark.slow
def test_processes_that_are_no_longer_needed_begin_nothing_new(tmp_path):
    def noted(motion):
        (tmp_path / f"{float(motion.params[1]):.9g}").touch()
        return 1.0

    over = {k: np.linspace(1, 2, 200)}
    asked = as_question(
        st.simulate, OSCILLATOR, as_design(over),
        as_keeps({"n": noted}, "simulate", OSCILLATOR), {"span": (0, 1)},
    )  # fmt: skip
    chunks: Any = crew.processes(asked, "plain", [(i, i + 1) for i in range(200)], 2)
    next(chunks)
    chunks.close()
    assert 1 <= len(list(tmp_path.iterdir())) < 100
