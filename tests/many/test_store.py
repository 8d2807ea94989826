"""Stores: nothing computed is lost, whatever happens; what is resumed has the same bits."""

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import stationary as st
from stationary.many import store as stores
from stationary.many.engines import plain

pytest.importorskip("zarr")

x = st.coordinates("x")
k, F = st.parameters(k=1.0, F=0.0)
SPRING = st.System(
    kinetic=x.dot**2 / 2, potential=k * x**2 / 2 + x**4, work=F * x, name="hard spring"
)
DUFFING = {"over": {x: np.linspace(0.1, 2, 5), k: [1.0, 2.0]}, "span": (0, 2)}
KEEP = {"x": x, "top": st.most(x.dot), "way": st.values((x, x.dot), at=[1.0, 2.0])}


def rested(path, **more):
    over = more.pop("over", {F: np.linspace(0, 3, 10)})
    return st.sweep(st.statics, SPRING, over=over, store=str(path), chunk=3, **more)


def content(path):
    """Return every file of a store, by name."""
    return {str(p.relative_to(path)): p.read_bytes() for p in Path(path).rglob("*") if p.is_file()}


class Stop(BaseException):
    pass


@contextlib.contextmanager
def ending_at(first):
    """End the process, as far as Python can tell, when a chunk is asked for."""
    real = plain.compute

    def ends(question, a, b):
        if a == first:
            raise Stop
        return real(question, a, b)

    plain.compute = ends
    try:
        with pytest.raises(Stop):
            yield
    finally:
        plain.compute = real


def test_a_store_reads_back_what_was_computed(tmp_path):
    runs = rested(tmp_path / "runs.zarr")
    plain_runs = st.sweep(st.statics, SPRING, over={F: np.linspace(0, 3, 10)}, chunk=3)
    back = st.open(tmp_path / "runs.zarr")
    for name in ("x", "energy", "stable"):
        np.testing.assert_array_equal(back[name], runs[name])
        np.testing.assert_array_equal(back[name], plain_runs[name])
    assert back["x"].dims == ("F",) and back.status.tolist() == ["done"] * 10
    np.testing.assert_array_equal(back["F"], np.linspace(0, 3, 10))
    assert back.verb == "statics" and back.name == "hard spring" and back.complete
    assert back.facts["versions"]["stationary"] == st.__version__


@pytest.mark.parametrize(
    ("verb", "more"),
    [
        (st.simulate, DUFFING | {"keep": KEEP}),
        (st.statics, {"over": st.samples({F: (0, 3), k: (1, 2)}, count=10, seed=3)}),
        (st.modes, {"over": {F: np.linspace(0, 3, 10)}, "count": 1}),
    ],
)
def test_a_resumed_store_has_the_same_bits_as_one_that_was_never_interrupted(tmp_path, verb, more):
    st.sweep(verb, SPRING, store=str(tmp_path / "whole.zarr"), chunk=3, **more)
    with ending_at(6):
        st.sweep(verb, SPRING, store=str(tmp_path / "torn.zarr"), chunk=3, **more)
    half = st.open(tmp_path / "torn.zarr")
    assert np.sum(half.status == "pending") == 4 and not half.complete
    st.sweep(verb, SPRING, store=str(tmp_path / "torn.zarr"), chunk=3, **more)
    assert content(tmp_path / "whole.zarr") == content(tmp_path / "torn.zarr")


def test_what_is_there_is_not_computed_again(tmp_path, monkeypatch):
    rested(tmp_path / "runs.zarr")
    monkeypatch.setattr(plain, "compute", None)
    assert rested(tmp_path / "runs.zarr").complete


def hurt(file, others, random):
    """Damage a file in one of the ways in which disks and people do."""
    data = file.read_bytes()
    at = random.randrange(len(data))
    made = {
        "cut": data[:at], "changed": data[:at] + random.randbytes(1) + data[at + 1 :],
        "turned": data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :],
        "wiped": data[:at] + bytes(len(data) - at), "longer": data + random.randbytes(1),
        "another": random.choice(others).read_bytes(),
    }  # fmt: skip
    how = random.choice([*made, "gone", "folder"])
    if how in made:
        file.write_bytes(made[how])
        return how
    file.unlink()
    if how == "folder":
        file.mkdir()
    return how


def test_whatever_is_damaged_is_told_or_computed_again_and_never_believed(tmp_path):
    given: Any = {"over": {F: [0.0, 1.0, 2.0], k: [1.0, 2.0]}, "keep": {"x": x, "two": (x, -x)}}
    path, random = tmp_path / "hurt.zarr", Random(11)
    rested(tmp_path / "whole.zarr", **given)
    whole, known = content(tmp_path / "whole.zarr"), st.open(tmp_path / "whole.zarr")
    told = 0
    for name in sorted(whole):
        shutil.copytree(tmp_path / "whole.zarr", path)
        word = hurt(path / name, [path / other for other in sorted(whole)], random), name
        for ask in (st.open, lambda path: rested(path, **given)):
            try:
                runs = ask(path)
            except st.StatementError as error:
                assert "hurt.zarr' is" in str(error) and len(str(error).splitlines()) == 3, word
                told += 1
                continue
            done = runs.status == "done"
            assert set(runs.status.ravel()) <= {"done", "pending"}, word
            for kept in ("x", "two"):
                np.testing.assert_array_equal(runs[kept][done], known[kept][done], str(word))
            assert [*runs.design["F"], *runs.design["k"]] == [0, 1, 2, 1, 2], word
            if ask is not st.open:
                # Spaces in the text that describes all mean nothing.
                now = content(path) | {"zarr.json": whole["zarr.json"]}
                assert done.all() and now == whole, word
        shutil.rmtree(path)
    # What describes the store cannot be computed again.
    assert 0 < told < 2 * len(whole)


def test_a_store_of_another_statement_is_refused_by_name(tmp_path):
    rested(tmp_path / "runs.zarr", keep={"x": x})
    before = content(tmp_path / "runs.zarr")
    for more, named in (
        ({"over": {F: np.linspace(0, 4, 10)}}, "axis 'F' differs"),
        ({"over": {k: np.linspace(0, 3, 10)}}, "axis 'k' differs"),
        ({"keep": {"x": 2 * x}}, "keep 'x' differs"),
        ({"keep": {"x": x, "y": x}}, "keep 'y' differs"),
        ({"params": {k: 2.0}}, "argument 'params' differs"),
        ({"kind": "any"}, "argument 'kind' differs"),
    ):
        with pytest.raises(st.StatementError, match="holds another statement: " + named):
            rested(tmp_path / "runs.zarr", **({"keep": {"x": x}} | more))
    other = st.System(potential=k * x**2, work=F * x)
    with pytest.raises(st.StatementError, match="another statement: the system differs"):
        st.sweep(st.statics, other, over={F: np.linspace(0, 3, 10)}, keep={"x": x},
                 store=str(tmp_path / "runs.zarr"))  # fmt: skip
    assert content(tmp_path / "runs.zarr") == before


def test_what_is_no_store_is_refused(tmp_path):
    (tmp_path / "notes.zarr").mkdir()
    (tmp_path / "notes.zarr" / "mine.txt").write_text("mine")
    (tmp_path / "file.zarr").write_text("mine")
    for name, found in (("notes", "a folder with mine.txt"), ("file", "a file")):
        for ask in (rested, st.open):
            with pytest.raises(st.StatementError, match=f"no store of runs.\n  Found {found}"):
                ask(tmp_path / f"{name}.zarr")
    with pytest.raises(st.StatementError, match="no store of runs.\n  Found nothing"):
        st.open(tmp_path / "nowhere.zarr")
    with pytest.raises(st.StatementError, match="keeps whole results"):
        rested(tmp_path / "whole.zarr", keep="whole")
    with pytest.raises(st.StatementError, match="store is not a path"):
        st.sweep(st.statics, SPRING, over={F: [1.0]}, store=3)


def test_two_writers_are_refused(tmp_path):
    path = tmp_path / "runs.zarr"
    rested(path)
    with ending_at(3):
        rested(tmp_path / "other.zarr")
    handle = stores._lock(path)
    with pytest.raises(st.StatementError, match="is being written by another process"):
        rested(path)
    assert st.open(path).complete
    os.close(handle)
    assert rested(path).complete


def test_a_full_disk_is_told_and_loses_nothing(tmp_path, monkeypatch):
    real, count = stores._at_once, []

    def full(path, data):
        count.append(path)
        if len(count) == 3:
            raise OSError(28, "No space left on device")
        real(path, data)

    monkeypatch.setattr(stores, "_at_once", full)
    with pytest.raises(st.DidNotConverge, match="No space left on device") as caught:
        rested(tmp_path / "runs.zarr")
    assert np.sum(caught.value.solution.status == "done") == 6
    monkeypatch.undo()
    assert rested(tmp_path / "runs.zarr").complete


def test_as_many_equilibria_are_stored_as_runs_find_and_others_are_told(tmp_path, monkeypatch):
    # x⁴/4 − Fx²/2 has one rest for F < 0 and three for F > 0.
    double = st.System(potential=x**4 / 4 - F * x**2 / 2)
    given: Any = {
        "over": {F: [-1.0, 1.0, 4.0, -2.0]}, "within": {x: (-3, 3)}, "chunk": 2,
        "keep": {"x": x, "both": (x, -x), "count": len},
    }  # fmt: skip
    stored: Any = given | {"store": tmp_path / "a.zarr"}
    exact = np.array([[0, np.nan, np.nan], [-1, 0, 1], [-2, 0, 2], [0, np.nan, np.nan]])
    first = st.sweep(st.equilibria, double, **stored)
    stores._record(stored["store"], 1).unlink()
    for runs in (st.sweep(st.equilibria, double, **given), first,
                 st.sweep(st.equilibria, double, **stored), st.open(stored["store"])):  # fmt: skip
        assert runs["count"].tolist() == [1, 3, 3, 1]
        np.testing.assert_allclose(runs["x"], exact, atol=1e-9)
        np.testing.assert_allclose(runs["both"], np.stack([exact, -exact], -1), atol=1e-9)
    monkeypatch.setattr(stores, "_ROOM", 2)
    st.sweep(st.equilibria, double, **(stored | {"store": tmp_path / "b.zarr"}))
    told = st.open(tmp_path / "b.zarr").status.tolist()
    assert told == ["done", "too large", "too large", "done"]


PROGRAM = """
import os, random, signal, sys, time
import numpy as np, stationary as st
st.sweep  # what is imported late is imported before the first fork
x, F = st.coordinates("x"), st.parameters(F=0.0)
spring = st.System(kinetic=x.dot**2/2, potential=x**2/2 + x**4, work=F*x)

def run(path):
    child = os.fork()
    if child == 0:
        st.sweep(st.simulate, spring, over={F: np.linspace(0, 3, 40)}, span=(0, 5), chunk=1,
                 keep={"x": x}, store=path)
        os._exit(0)
    return child

def records(path):
    folder = os.path.join(path, ".done")
    return len(os.listdir(folder)) if os.path.isdir(folder) else 0

whole, torn = sys.argv[1:]
assert os.waitpid(run(whole), 0)[1] == 0
random, kept = random.Random(5), 0
for _ in range(20):
    child, enough = run(torn), min(kept + random.randint(0, 3), 40)
    while records(torn) < enough:
        time.sleep(1e-3)
    time.sleep(random.uniform(0, 0.03))  # somewhere inside a chunk
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert records(torn) >= kept
    kept = records(torn)
assert os.waitpid(run(torn), 0)[1] == 0
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are made by fork")
def test_a_process_killed_at_any_moment_loses_only_what_was_in_flight(tmp_path):
    whole, torn = tmp_path / "whole.zarr", tmp_path / "torn.zarr"
    subprocess.run([sys.executable, "-c", PROGRAM, str(whole), str(torn)], check=True, timeout=500)
    assert content(whole) == content(torn)
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []
    assert st.open(torn).complete
