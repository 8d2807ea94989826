"""The gate believes why a slide ends early where the proof of it holds, and not otherwise."""

from dataclasses import replace

import numpy as np
import pytest

import stationary as st
from stationary.lower.kernel import graph_of
from stationary.solve.gate.early_end import Reason, reason
from stationary.solve.gate.state import State


def test_a_slide_that_ends_early_ends_for_its_reason():
    # Two links from a wall pulled beyond their reach; and a rod that runs away along a slope.
    x, y, s = st.coordinates("x y s")
    tie, hand = st.Constraint(st.norm((x, y)) - 1), st.Constraint(x - st.t, name="hand")
    bar = st.System(friction=[st.Friction(1.0, on=(x, y))], constraints=[tie, hand])
    slide = st.quasistatics(bar, span=(0, 2), start={x: 0, y: 1}, throw=False)
    assert slide.status == "jammed"
    state = State(slide.kernel.graph, 1.0, np.array([1.0, 0.0]), np.zeros(2), np.zeros(0),
                  np.zeros(0), np.zeros(2), span=2.0, travel=np.ones(2))  # fmt: skip
    at = (1.0, np.array([1.0, 0.0]), np.zeros(0))
    jams = Reason(*at, rows=np.array([1.0, -1.0]), gaps=np.zeros(0))
    assert all(f.holds for f in reason(jams, state))
    for weights in ([1.0, 1.0], [1.0, -0.5], [0.0, 1.0]):
        assert any(not f.holds for f in reason(replace(jams, rows=np.array(weights)), state))
    block = st.System(friction=[st.Friction(1.0, on=s)], loads=[st.Load(2.0 * st.t, on=s)])
    slope = State(graph_of(block), 0.6, np.zeros(1), np.zeros(1), np.zeros(0), np.zeros(0),
                  np.zeros(0), np.zeros(1), span=1.0, travel=np.ones(1))  # fmt: skip
    runs = Reason(0.6, np.zeros(1), np.zeros(0), ray=np.ones(1))
    assert all(f.holds for f in reason(runs, slope))
    for wrong in (replace(runs, ray=-np.ones(1)), replace(runs, t=0.4)):
        assert any(not f.holds for f in reason(wrong, slope))


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_friction_that_locks_is_believed_and_forces_that_do_not_are_not(unit):
    # A bead under a rod at 45°: the floor's friction needs as much as what presses, and has twice.
    x, y = st.coordinates("x y")

    def bead(mu, way=1.0):
        return st.System(
            friction=[st.Friction(1.0, on=(x, y), name="rub")],
            contacts=[st.Contact(y, friction=mu, slip=x, name="floor")],
            constraints=[st.Constraint((x - y) / np.sqrt(2) - way * unit * st.t, name="rod")],
        )

    def told(system, push=1.0, **other):
        size = np.sqrt(0.5)
        at = State(graph_of(system), 0.0, np.zeros(2), np.zeros(2), np.zeros(0), np.zeros(0),
                   np.zeros(2), np.zeros(3), span=1.0, travel=unit * np.ones(2))  # fmt: skip
        locks = Reason(0.0, np.zeros(2), np.zeros(0), rows=np.ones(1), gaps=np.array([push * size]),
                       locks=np.array([0.0, 0.0, size]))  # fmt: skip
        return all(f.holds for f in reason(replace(locks, **other), at))

    assert told(bead(2.0))
    assert not told(bead(0.9)) and not told(bead(2.0, way=-1.0)) and not told(bead(2.0), push=1.01)
    assert not told(bead(2.0), rows=-np.ones(1))
    assert not told(bead(2.0), locks=np.array([0.1, 0.0, np.sqrt(0.5)]))
