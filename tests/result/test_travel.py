"""Results travel: to another process, by copy, and compare by value."""

import copy
import json
import pickle
import subprocess
import sys
from dataclasses import is_dataclass
from functools import cached_property
from importlib import import_module
from inspect import getattr_static
from pkgutil import iter_modules

import numpy as np
import pytest

import stationary as st
from stationary import result
from stationary.result.steps import Taken
from stationary.result.views import AbstractTravels, same, travelling

x, theta = st.coordinates("x theta")
k = st.parameters(k=2.0)
F = st.inputs("F")
r = st.coordinates("r", shape=(4, 2))
X = st.positions("X")
u = st.field("u", over=(X, 0, 1))
CART = st.System(
    kinetic=x.dot**2 / 2 + theta.dot**2 / 2 + x.dot * theta.dot * st.cos(theta) / 4,
    potential=k * x**2 / 2 - 9.81 * st.cos(theta),
    loads=[st.Load(F, on=x)],
    name="cart",
)
BOB = st.particle(1.0, at=(x, theta), gravity=9.81) + st.rod((0, 0), (x, theta), 1.0)
BLOCK = st.System(friction=[st.Friction(2.0, on=x, name="floor")], constraints=[x - st.t**2])
BAR = st.Continuum(kinetic=u.dot**2 / 2, potential=u.diff(X) ** 2 / 2, fixed={u.at(0): 0})
ROD = st.discretize(BAR, elements=4)
ROPE = st.System(
    kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
    potential=st.each(lambda p: 9.81 * p[1], r),
    constraints=st.each(lambda a, b: st.norm(b - a) - 1, r[:-1], r[1:], name="link"),
)
FLOOR = st.Contact(theta, friction=0.3, slip=x, name="floor")
FALLEN = st.particle(1.0, at=(x, theta), gravity=9.81) + st.System(contacts=[FLOOR])
PUSHED = st.System(loads=[st.Load(F, on=x)], friction=[st.Friction(3.0, on=x)])
FEET = np.array([(-0.9, -0.4), (0.9, -0.4), (0.9, 0.4)])
PART = st.slider(
    points=FEET, weight=0.6, centre=(0.2, -0.1),
    pusher=st.Pusher(point=(0.0, st.t - 0.4), edge=((-0.9, -0.4), (0.9, -0.4)), friction=0.2),
)  # fmt: skip
WELL = st.System(potential=x**4 / 4 - k * x**2 / 2)


def weighed():
    """Loads weighed by pushes that are computed."""
    pushes = []
    for j, angle in enumerate(np.linspace(0, 5, 5)):
        normal = np.array([np.cos(angle), np.sin(angle)])
        along = np.array([normal[1], -normal[0]])
        point = -1.2 * normal + 0.3 * (-1) ** j * along
        finger = st.Pusher(
            point=tuple(point + normal * st.t),
            edge=tuple(tuple(point + s * along) for s in (-3, 3)),
        )
        part = st.slider(points=FEET, weights=[0.2, 0.3, 0.1], pusher=finger)
        pushes.append(st.Push(point=point, normal=normal, motion=st.minimum_power(part).v))
    return st.fit_pressure(st.slider(points=FEET, weight=0.6), pushes=pushes)


def sped():
    m, V = st.parameters(m=1.0, V=1.0)
    wave = st.System(kinetic=m * x.dot**2 / 2, friction=[st.Friction(1.0, on=x)],
                     constraints=[x - st.sin(V * st.t)])  # fmt: skip
    return st.quasistatic_error(wave, speed=V, travel=1.5, within=(0.1, 1), count=12)


MAKE = {
    "system": lambda: CART,
    "repeated": lambda: ROPE,
    "discretized": lambda: ROD,
    "motion": lambda: st.simulate(
        CART, span=(0, 1), start={theta: 0.3}, inputs={F: st.sin(st.t)}, points=11
    ),
    "sampled": lambda: st.simulate(
        CART, span=(0, 1), inputs={F: ([0.0, 0.3, 1.0], [0.0, 2.0, 1.0])}, points=11
    ),
    "held": lambda: st.simulate(BOB, span=(0, 1), start={x: 1.0}, points=11),
    "bar": lambda: st.simulate(ROD, span=(0, 1), points=3),
    "stuck": lambda: st.simulate(
        st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2, loads=[st.Load(-st.sign(x.dot), on=x)]),
        span=(0, 9), start={x: 3.5}, points=19,
    ),
    "steps": lambda: st.simulate(
        FALLEN, span=(0, 1), start={theta: 0.2, x.dot: 1.0}, method=st.Moreau(step=0.02), points=11
    ),
    "rest": lambda: st.statics(BOB, start={x: 0.8, theta: -0.3}),
    "equilibria": lambda: st.equilibria(CART, within={x: (-1, 1), theta: (-3, 3.5)}),
    "linear": lambda: st.linearize(CART),
    "modes": lambda: st.modes(ROD, count=2),
    "diagram": lambda: st.continuation(
        st.System(potential=x**4 / 4 - k * x**2 / 2), parameter=k, span=(-1, 3), start={x: 0}
    ),
    "step": lambda: st.minimum_power(BLOCK, at={x: 1.0}, t=1.0),
    "slide": lambda: st.quasistatics(BLOCK, span=(0, 1), start={x: 0}, points=5),
    "limit": lambda: st.limit_load(PUSHED, load=F),
    "surface": lambda: st.limit_surface(st.slider(points=[(0, 0), (1, 0), (0, 1)], weights=1.0)),
    "state": lambda: st.consistent(BOB, {x: 1.1}),
    "touched": lambda: st.simulate(FALLEN, span=(0, 1), start={theta: 0.2, x.dot: 1.0}, points=11),
    "instant": lambda: st.simulate(BOB, span=(0, 1), start={x: 1.0}, points=3).at(0.3),
    "field in time": lambda: st.simulate(ROD, span=(0, 1), points=3).field(u),
    "field at rest": lambda: st.statics(ROD).field(u),
    "field of modes": lambda: st.modes(ROD, count=2).shapes.field(u),
    "branch": lambda: st.continuation(WELL, parameter=k, span=(-1, 3), start={x: 0}).branches[0],
    "special": lambda: st.continuation(WELL, parameter=k, span=(-1, 3), start={x: 0}).special[0],
    "multipliers": lambda: st.statics(BOB, start={x: 0.8, theta: -0.3}).lam,
    "pushed": lambda: st.minimum_power(
        st.slider(points=FEET, weights=0.1, pusher=st.Pusher(
            point=(0.0, st.t - 0.4), edge=((-0.9, -0.4), (0.9, -0.4)), friction=0.2)
        )
    ),
    "bounds": lambda: st.pressure_bounds(PART, of=PART.coordinates[2].dot),
    "weighed": weighed,
    "fitted surface": lambda: st.limit_surface(st.slider(points=FEET, weights=0.1)).fitted(),
    "speed": sped,
    "contact": lambda: st.limit_surface(st.slider(points=FEET, weights=0.1)).pushed(
        points=(0.0, -0.4), normal=(0, 1), friction=0.3
    ),
    "shapes": lambda: st.modes(ROD, count=2).shapes,
    "happened": lambda: st.simulate(
        BOB, span=(0, 3), start={x: 1.0}, events=[st.Event(x), st.Event(x.dot, name="turn")]
    ).events,
    "forces": lambda: st.minimum_power(st.slider(points=FEET, weights=0.1)).forces,
    "slid": lambda: st.quasistatics(BLOCK, span=(0, 1), start={x: 0}, points=5).at(0.3),
    "proven": lambda: st.pressure_bounds(PART, of=PART.coordinates[2].dot, prove=1e-3),
    "equations": lambda: st.equations(BOB),
    "balance at rest": lambda: st.equations(BOB, principle="statics"),
    "hamilton": lambda: st.hamilton(WELL + st.particle(1.0, at=(x, theta))),
    "field equations": lambda: st.equations(BAR),
    "check": lambda: st.check(BOB),
    "runs": lambda: st.sweep(st.statics, WELL, over={k: [1.0, 2.0]}, keep={"x": x}, start={x: 1}),
    "whole runs": lambda: st.sweep(
        st.statics, WELL, over={k: [1.0, 2.0]}, keep="whole", start={x: 1}
    ),
}  # fmt: skip


def kinds_in(value):
    """Yield the classes of a result, and of all that travels with it."""
    yield type(value)
    if is_dataclass(value) and isinstance(value, AbstractTravels):
        value = travelling(value)
    inside = value.values() if isinstance(value, dict) else value
    if isinstance(inside, (list, tuple, type({}.values()))):
        for part in inside:
            yield from kinds_in(part)


def test_every_kind_of_result_is_in_the_table(made):
    rooms = (import_module(f"stationary.result.{m.name}") for m in iter_modules(result.__path__))
    kinds = {
        kind for room in rooms for name, kind in vars(room).items()
        if isinstance(kind, type) and kind.__module__ == room.__name__
        and (is_dataclass(kind) or issubclass(kind, (np.ndarray, list, tuple, dict)))
        and not name.startswith("Abstract")
    }  # fmt: skip
    travel = {kind for value in made.values() for kind in kinds_in(value)}
    # Steps stay where they were taken.
    assert kinds - travel == {Taken}


@pytest.fixture(scope="session")
def made():
    results = {name: make() for name, make in MAKE.items()}
    # What printing finds out travels along.
    assert all(map(repr, results.values()))
    return results


def asked(results):
    """Return numbers that need the graph again."""
    motion, rest = results["motion"], results["rest"]
    return [
        motion.at(0.37)[x + theta.dot],
        motion[theta.ddot][-1],
        motion.residual["energy"] < 1e-9,
        results["sampled"].at(0.35)["x"],
        results["held"].lam[-1, 0],
        results["held"].at(0.41)["theta"],
        rest[x * theta],
        results["modes"].shapes.field(u)(0.5)[0],
        results["step"][x.dot],
        results["slide"].forces["floor"][-1],
        results["limit"].mode["x"],
        results["diagram"].branches[0][x**2 + k][-1],
        results["field in time"](0.5, 0.3),
        results["touched"].at(0.37)["theta"],
        results["runs"]["x"][1],
        results["motion"].system in {CART},
    ]


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("how", [copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])
def test_a_copy_is_equal_and_prints_the_same(made, name, how):
    there = how(made[name])
    assert np.all(there == made[name])
    assert repr(there) == repr(made[name])
    # Mappings, lists and arrays have no hash.
    unhashed = (
        "equilibria",
        "state",
        "multipliers",
        "shapes",
        "happened",
        "forces",
        "balance at rest",
        "check",
    )
    assert name in unhashed or hash(there) == hash(made[name])


def _all_told(value):
    """Return what a result tells by name, or refuses to tell."""
    answers = {}
    for key in dir(type(value)):
        named = getattr_static(type(value), key)
        if key[0] != "_" and isinstance(named, (property, cached_property)):
            try:
                answers[key] = getattr(value, key)
            except st.StationaryError as refused:
                answers[key] = str(refused)
    return answers


@pytest.mark.parametrize("name", MAKE)
def test_all_that_a_result_tells_is_told_where_it_arrives(made, name):
    here, there = (
        _all_told(value) for value in (made[name], pickle.loads(pickle.dumps(made[name])))
    )
    assert [key for key in here if not same(here[key], there[key])] == []


def test_a_motion_takes_along_the_digits_that_it_has_told(made, tmp_path):
    motion = MAKE["motion"]()
    st.save(motion, tmp_path / "untold.nc")
    untold = [pickle.loads(pickle.dumps(motion)), st.load(tmp_path / "untold.nc")]
    assert motion.digits > 12
    st.save(motion, tmp_path / "told.nc")
    told = [pickle.loads(pickle.dumps(motion)), st.load(tmp_path / "told.nc")]
    assert [there.digits for there in told] == [motion.digits] * 2
    assert all(np.isnan(there.digits) for there in untold)
    without = repr(motion).rsplit("\n  digits", 1)[0]
    assert [repr(there) for there in untold] == [without] * 2
    # What was asked of a motion is no part of it.
    assert all(there == motion for there in (*told, *untold))
    assert np.isnan(motion.at([0.2, 0.3]).digits)


def test_results_differ_where_a_number_does(made):
    assert made["motion"] != made["sampled"]
    assert made["motion"] != st.simulate(
        CART, span=(0, 1), start={theta: 0.3000001}, inputs={F: st.sin(st.t)}, points=11
    )


@pytest.mark.parametrize("name", MAKE)
def test_a_result_comes_back_from_its_file(made, name, tmp_path):
    path = tmp_path / "result.nc"
    st.save(made[name], path)
    there = st.load(path)
    assert type(there) is type(made[name])
    assert np.all(there == made[name])
    assert repr(there) == repr(made[name])


def test_results_answer_in_another_process_that_knows_nothing_of_them(made, tmp_path):
    (tmp_path / "there.pickle").write_bytes(pickle.dumps(made))
    names = ["motion", "sampled", "held", "rest", "modes", "step", "slide", "limit", "diagram",
             "field in time", "touched", "runs"]  # fmt: skip
    files = {name: str(tmp_path / f"{name}.{'zarr' if name == 'rest' else 'nc'}") for name in names}
    for name, path in files.items():
        st.save(made[name], path)
    # The other process declares other names first: what arrives keeps its own order.
    program = (
        "import pickle, sys, stationary as st\n"
        "theta, z, x = st.coordinates('theta z x')\n"
        "from tests.result.test_travel import asked\n"
        "pickled = pickle.load(open(sys.argv[1], 'rb'))\n"
        f"loaded = {{name: st.load(path) for name, path in {files}.items()}}\n"
        "print(repr([float(v) for there in (pickled, loaded) for v in asked(there)]))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "there.pickle")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    here = [float(v) for v in asked(made)]
    there = [float(v) for v in ran.stdout.strip("[]\n ").split(",")]
    # Between output times a motion that has travelled is integrated anew.
    np.testing.assert_allclose(there, here * 2, rtol=1e-9, atol=1e-11)


def _hostile(content):
    """Return files that are damaged, or mean harm."""
    text = json.dumps(content)
    yield "{"
    yield text[: len(text) // 2]
    yield json.dumps({**content, "version": 99})
    yield json.dumps({**content, "root": {"o": 10**9}})
    yield json.dumps({**content, "root": {"o": -1}})
    content = {**content, "root": {"o": 0}}
    yield json.dumps({**content, "objects": [{"is": "Popen", "with": {"args": ["ls"]}}]})
    yield json.dumps({**content, "objects": [{"is": "System", "with": {"__class__": 1}}]})
    yield json.dumps({**content, "root": {"e": 0}, "nodes": [["Add", 0]]})
    yield json.dumps({**content, "root": {"e": 0}, "nodes": [["sympify", "x"]]})
    yield json.dumps({**content, "root": {"e": 0}, "nodes": [["sin", "__import__('os')"]]})
    evil = "__import__('os').abort()"
    yield json.dumps({**content, "objects": [{"is": "System", "with": {"kinetic": evil}}]})
    point = ["symbol", "PointValue", {"t": ["u", {"t": []}, evil]}]
    yield json.dumps({**content, "root": {"e": 0}, "nodes": [point]})
    part = {"is": "Part", "with": {"kind": "rod", "points": {"t": [{"t": [evil]}]}}}
    yield json.dumps({**content, "objects": [part]})
    yield json.dumps({**content, "root": [[[]] * 3] * 3 + [{"e": "x"}]})
    yield json.dumps({**content, "root": {"dtype": "O", "shape": [1], "a": "t"}})
    yield "[" * 100_000


def test_a_hostile_file_is_refused_by_its_name(tmp_path):
    import xarray

    path = tmp_path / "motion.nc"
    st.save(MAKE["rest"](), path)
    with xarray.open_dataset(path, engine="scipy", decode_cf=False) as opened:
        content = json.loads(opened.attrs["stationary"])
    for k, text in enumerate(_hostile(content)):
        bad = tmp_path / f"bad{k}.nc"
        xarray.Dataset(attrs={"stationary": text}).to_netcdf(bad, engine="scipy")
        with pytest.raises(st.StatementError, match=f"bad{k}.nc"):
            st.load(bad)
    bytes_only = tmp_path / "bytes.nc"
    bytes_only.write_bytes(b"\x89HDF\r\n\x1a\n" + b"\0" * 100)
    for missing in (bytes_only, tmp_path / "none.nc"):
        with pytest.raises(st.StatementError, match=missing.name):
            st.load(missing)


def test_a_result_needs_a_name_that_says_what_file_it_is(made):
    with pytest.raises(st.StatementError, match=r"ends in \.nc or \.zarr"):
        st.save(made["rest"], "rest.txt")


def test_a_file_that_cannot_be_written_is_told_by_its_name(made, tmp_path):
    motion = made["motion"]
    ways = {"nc": lambda path: st.save(motion, path), "html": lambda path: st.live(motion, path),
            "toml": lambda path: st.save(motion.system, path)}  # fmt: skip
    for ending, write in ways.items():
        with pytest.raises(st.StatementError, match="cannot be written or read") as caught:
            write(tmp_path / "nowhere" / f"file.{ending}")
        assert f"file.{ending}" in str(caught.value) and caught.value.status == "missing"


def test_a_motion_that_has_travelled_rests_where_it_stuck_and_refuses_what_only_its_run_knew():
    x = st.coordinates("x")
    friction = [st.Load(-0.3 * st.sign(x.dot), on=x)]
    block = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2, loads=friction)
    motion = st.simulate(block, span=(0, 10), start={x: 1, x.dot: 1}, points=101)
    there = pickle.loads(pickle.dumps(motion))
    # Half turns about ∓0.3: three of them, and it sticks.
    assert there.at(9.03)[x] == pytest.approx(np.hypot(1.3, 1) - 1.5, abs=1e-9)
    assert there.at(9.03)[x.ddot] == there.a[-1] == motion.a[-1] == 0
    assert there.at(0.333)[x] == pytest.approx(motion.at(0.333)[x], abs=1e-9)
    bounce = st.simulate(
        st.System(kinetic=x.dot**2 / 2, potential=9.81 * x), span=(0, 1), start={x: 1}, points=3,
        events=[st.Event(x, action={x.dot: -x.dot})],
    )  # fmt: skip
    with pytest.raises(st.DidNotConverge, match="not known between these output times"):
        pickle.loads(pickle.dumps(bounce)).at(0.4)


def test_errors_travel_with_what_they_carry():
    gone = st.System(work=3 * x, friction=[st.Friction(2, on=x, name="floor")])
    runaway = st.System(kinetic=x.dot**2 / 2, potential=-(x**4) / 4)
    asked = {
        st.NoMotion: lambda: st.minimum_power(gone),
        st.DidNotConverge: lambda: st.simulate(runaway, span=(0, 10), start={x: 1.0}),
        st.StatementError: lambda: st.load("coordinates = ["),
        st.DerivationError: lambda: st.simulate(gone, span=(0, 1)),
    }
    for kind, ask in asked.items():
        with pytest.raises(kind) as caught:
            ask()
        error = caught.value
        for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert type(other) is type(error) and str(other) == str(error)
            for name, value in vars(error).items():
                np.testing.assert_equal(getattr(other, name), value)


def test_nobody_writes_into_what_evidence_was_measured_of():
    theta = st.coordinates("theta")
    swing = st.System(kinetic=theta.dot**2 / 2, potential=-st.cos(theta))
    motion = st.simulate(swing, span=(0, 1), start={theta: 1.0}, points=11)
    rest = st.statics(swing)
    found_out = [(motion, name) for name in ("a", "energy", "lam", "potential", "u")]
    for whole, name in ((motion, "q"), (motion, "t"), *found_out, (rest, "q"), (rest, "lam")):
        for each in (whole, pickle.loads(pickle.dumps(whole))):
            with pytest.raises(ValueError, match="read-only"):
                getattr(each, name)[0] = 5
    # What is asked for by name is one's own.
    degrees = motion[theta]
    degrees *= 180 / np.pi
    assert motion[theta][0] == 1.0 and motion.plot(theta).axes[0].lines[0].get_ydata()[0] == 1.0
