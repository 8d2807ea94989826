"""A compiled step is of order eight, and is no answer where its equations have none."""

import numpy as np
import pytest

import stationary as st
from stationary.solve.sliding.convex import reduced
from stationary.solve.sliding.over_time import power_equations
from stationary.solve.sliding.over_time.by_power import PowerFlow
from stationary.solve.sliding.problem.question import Question


def tractrix(t):
    """Where a foot is that is towed on a line of unit length, and what friction of 2 took."""
    return np.array([t - np.tanh(t), 1 / np.cosh(t), 2 * np.log(np.cosh(t))])


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e15])
def test_a_step_along_the_tractrix_is_of_order_eight(unit):
    x, y = st.coordinates("x y")
    line = st.Constraint(st.norm((x - unit * st.t, y)) - unit, name="line")
    foot = st.System(constraints=[line], friction=[st.Friction(2.0, on=(x, y))])
    flow = PowerFlow(Question(foot, span=(0.5, 4.0)), (0.5, 4.0), 1e-9)
    flow.begin(unit * tractrix(0.5)[:2])
    start, ends, between = np.append(flow.x[:2], [0.0, 0.0]), [], []
    for h in (0.6, 0.3):
        tried = flow.phase.tried(0.5, start, h)
        assert tried is not None and tried.converged and tried.margin >= 0
        for share, off in ((1.0, ends), (0.4, between)):
            moved = tried.along(share)[:3] / unit
            off.append(np.abs(moved - tractrix(0.5 + share * h) + tractrix(0.5)).max())
    # Errors of one step: h⁹ at its end, h⁸ between.
    assert ends[0] < 1e-6 and ends[1] < ends[0] / 2**7.5
    assert between[0] < 1e-5 and between[1] < between[0] / 2**6.5


def test_a_step_beyond_reach_is_not_taken():
    # A foot towed on a line towards a pin: beyond t = 1 nothing fits.
    x, y = st.coordinates("x y")
    held = st.Constraint((st.norm((x - st.t, y)) - 1, y - st.t), name="held")
    foot = st.System(constraints=[held], friction=[st.Friction(2.0, on=(x, y))])
    flow = PowerFlow(Question(foot, span=(0.0, 2.0)), (0.0, 2.0), 1e-9)
    flow.begin(np.array([1.0, 0.0]))
    beyond = flow.phase.tried(0.0, np.array([1.0, 0.0, 0.0, 0.0]), 2.0)
    assert beyond is None or beyond.error(2.0, np.ones(4)) >= 1
    slide = st.quasistatics(foot, span=(0, 2), start={x: 1, y: 0}, throw=False)
    assert not slide.success
    assert slide.t[-1] == pytest.approx(1, abs=1e-6)
    assert slide[y][-1] == pytest.approx(slide.t[-1], abs=1e-9)


def swung(hand, weights):
    """A part on four feet, held by a hand aside of its middle."""
    part = st.slider(points=[(-0.9, -0.4), (0.9, -0.4), (0.9, 0.4), (-0.9, 0.4)], weights=weights)
    x, y, phi = part.coordinates
    return part + st.System(constraints=[x + 0.3 * st.cos(phi), y + 0.3 * st.sin(phi) - hand])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["swung", "pushed"])
def test_a_search_at_every_stage_leads_where_compiled_equations_do(monkeypatch, request, kind):
    # Too many unknowns to be compiled: then velocities of least power are searched for.
    part = swung(st.sin(st.t), [0.2, 0.3, 0.1, 0.4])
    span = (0, 3) if kind == "swung" else (0, 0.4)
    if kind == "pushed":
        pusher = st.Pusher(
            point=(0.5 + 0.3 * st.t, st.t - 0.55), edge=((-1, -0.5), (1, -0.5)), friction=0.3
        )
        feet = [(-0.9, -0.4), (0.9, -0.4), (0.9, 0.4), (-0.9, 0.4), (0, 0.1)]
        part = st.slider(points=feet, weights=[0.2, 0.3, 0.1, 0.25, 0.15], pusher=pusher)
    start = {part.coordinates[0]: -0.3} if kind == "swung" else {}
    compiled = st.quasistatics(part, span=span, start=start, points=5)
    request.addfinalizer(power_equations.equations_of.cache_clear)
    monkeypatch.setattr(power_equations, "_MOST_UNKNOWNS", 0)
    power_equations.equations_of.cache_clear()
    searched = st.quasistatics(part, span=span, start=start, points=5)
    assert searched.method == compiled.method == "events"
    assert searched.y == pytest.approx(compiled.y, abs=2e-8)
    assert searched.lost == pytest.approx(compiled.lost, rel=2e-8)
    assert searched.events[0] == pytest.approx(compiled.events[0], abs=1e-7)


def pushed_by_a_rough_finger(unit):
    """Five feet that a finger reaches, sticks to, and slides along when one of them stops."""
    feet = np.array([(-0.9, -0.4), (0.9, -0.4), (0.9, 0.4), (-0.9, 0.4), (0, 0.1)])
    edge = ((-unit, -unit / 2), (unit, -unit / 2))
    place = ((0.5 + 0.3 * st.t) * unit, (st.t - 0.55) * unit)
    pusher = st.Pusher(point=place, edge=edge, friction=0.3)
    part = st.slider(points=feet * unit, weights=[0.2, 0.3, 0.1, 0.25, 0.15], pusher=pusher)
    return st.quasistatics(part, span=(0, 0.5), points=5)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1e-3, 1e3, 1e6])
def test_a_push_takes_as_much_work_in_every_unit(monkeypatch, unit):
    work = {"steps": 0, "factorizations": 0}

    def count(kind, owner, name):
        act = getattr(owner, name)

        def counted(*given):
            work[kind] += 1
            return act(*given)

        monkeypatch.setattr(owner, name, counted)

    count("steps", PowerFlow, "stretch")
    count("factorizations", reduced._Saddle, "take")
    slide, before = pushed_by_a_rough_finger(1.0), dict(work)
    again = pushed_by_a_rough_finger(unit)
    after = {kind: work[kind] - before[kind] for kind in work}
    assert after == pytest.approx(before, rel=0.15)
    assert again.events[0] == pytest.approx(slide.events[0], rel=1e-9)
    assert again.y[:, 2] == pytest.approx(slide.y[:, 2], abs=1e-11)
