"""Ropes, where a great many points stick and slip: right, with bounded work, and said in words."""

import numpy as np
import pytest
from scipy.optimize import minimize

import stationary as st
from stationary.result.status import Status
from stationary.solve.sliding.over_time import evolution, increment, increment_newton, strides
from stationary.solve.sliding.problem.question import sliding_of
from tests.checks import assert_order

x, y = st.coordinates("x y")


def rope(count, start, limits=None):
    """A rope of links as long as at the start, one end drawn along x."""
    r = st.coordinates("r", shape=(count, 2))
    limits = np.full(count, 1 / count) if limits is None else limits
    lengths = np.linalg.norm(np.diff(start, axis=0), axis=1)
    return r, st.System(
        friction=[st.Friction(a, on=(r[i, 0], r[i, 1]), name=f"p{i}") for i, a in enumerate(limits)]
        if count < 20
        else st.each(lambda p: st.Friction(1 / count, on=p), r, name="ground"),
        constraints=[
            st.each(lambda a, b: st.norm(b - a) - float(lengths[0]), r[:-1], r[1:], name="link"),
            st.Constraint(r[count - 1, 0] - float(start[-1, 0]) - st.t, name="hand"),
            st.Constraint(r[count - 1, 1] - float(start[-1, 1]), name="level"),
        ],
    )


def snaked(count, swing=1.3):
    angle = swing * np.sin(4 * np.pi * (np.arange(count - 1) + 0.5) / (count - 1))
    legs = np.stack([np.cos(angle), np.sin(angle)], axis=1) / (count - 1)
    return np.vstack([[0.0, 0.0], np.cumsum(legs, axis=0)])


@pytest.mark.parametrize("way", [0.05, 0.2, 0.6])
def test_an_increment_is_the_least_way_times_friction_of_all_chains_that_reach_the_hand(way):
    # Three links: their angles say it all, and a search without derivatives finds the least.
    start = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])
    limits = np.array([0.3, 0.25, 0.2, 0.1])
    r, chain = rope(4, start, limits)
    end = st.quasistatics(chain, span=(0, way), start={r: start}, points=2, step=way)[r][-1]

    def placed(angles):
        legs = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        hand = start[-1] + [way, 0.0]
        return np.vstack([hand - np.cumsum(legs[::-1], axis=0)[::-1], hand])

    def cost(angles):
        return float(limits @ np.linalg.norm(placed(angles) - start, axis=1))

    guess, options = np.array([np.pi / 2, 0.0, -np.pi / 2]), {"xatol": 1e-11, "fatol": 1e-14}
    found = guess
    for _ in range(4):
        found = minimize(cost, found, method="Nelder-Mead", options=options).x
    legs = np.diff(end, axis=0)
    assert cost(np.arctan2(legs[:, 1], legs[:, 0])) <= cost(found) + 1e-12
    np.testing.assert_allclose(end, placed(found), atol=1e-6)


def counted(monkeypatch, count, step, points):
    """Follow a rope; return the steps of Newton's method for every increment."""
    work, once, whole = [], increment_newton._Way.step, increment.end_of_increment
    monkeypatch.setattr(
        increment_newton._Way, "step", lambda *a: (work.__setitem__(-1, work[-1] + 1), once(*a))[1]
    )
    monkeypatch.setattr(
        increment, "end_of_increment", lambda *a, **b: (work.append(0), whole(*a, **b))[1]
    )
    start = snaked(count)
    r, system = rope(count, start)
    slide = st.quasistatics(
        system, span=(0, step * (points - 1)), start={r: start}, points=points, step=step
    )
    monkeypatch.undo()
    return slide, work


def test_the_work_of_an_increment_does_not_grow_with_the_rope(monkeypatch):
    median = []
    for count in (60, 240):
        slide, work = counted(monkeypatch, count, 0.01, 21)
        # Every increment was found at once.
        assert len(work) == 20
        assert slide.residual["R"] < 5e-15
        assert slide.residual["gap"] < 1e-9 and slide.residual["force"] < 1e-9
        median.append(np.median(work))
        saddle = increment_newton._saddle(sliding_of(slide.system))
        # The cost of one step is that of a band as wide for any length.
        assert saddle._narrow and saddle._below <= 12
    assert max(median) <= 15


@pytest.mark.slow
def test_a_long_rope_is_followed_by_increments_from_the_start():
    start = snaked(80)
    r, system = rope(80, start)
    slide = st.quasistatics(system, span=(0, 0.05), start={r: start}, points=3)
    assert slide.method == "increments"
    # The tail has not felt the hand yet, exactly.
    assert np.abs(slide[r][-1, :5] - start[:5]).max() < 1e-14


@pytest.mark.slow
def test_what_events_have_found_stays_where_increments_take_over(monkeypatch):
    start = snaked(6)
    r, system = rope(6, start)
    whole = st.quasistatics(system, span=(0, 0.6), start={r: start}, points=25, method="events")
    follow = evolution._Run.follow
    monkeypatch.setattr(evolution._Run, "follow", lambda run, q, way, _: follow(run, q, way, 1))
    both = st.quasistatics(system, span=(0, 0.6), start={r: start}, points=25)
    assert both.method == "events, then increments" and both.success
    changed = float(whole.events[0][1])
    kept = int(np.searchsorted(whole.t, changed))
    assert 1 < kept < 24
    np.testing.assert_allclose(both[r][:kept], whole[r][:kept], atol=1e-12)
    np.testing.assert_allclose(both.lost[:kept], whole.lost[:kept], atol=1e-12)
    np.testing.assert_allclose(both[r], whole[r], atol=5e-3)
    assert both.lost[-1] == pytest.approx(whole.lost[-1], rel=5e-3)
    assert f"events up to t = {changed:.6g}, then increments" in repr(both)
    early, late = both.at(whole.t[kept - 1] / 3), both.at(0.59)
    np.testing.assert_allclose(early[r], whole.at(whole.t[kept - 1] / 3)[r], atol=1e-12)
    np.testing.assert_allclose(late[r], whole.at(0.59)[r], atol=5e-3)


def test_changes_that_will_be_far_too_many_are_foreseen(monkeypatch):
    # One wall meets forty beads on a line in the first twenty-fifth of its way.
    seen, changed = [], evolution._Run._changed
    beads = st.coordinates("b", shape=(40,))
    row = st.System(
        friction=[st.Friction(1.0, on=b, name=f"f{i}") for i, b in enumerate(beads)],
        contacts=[st.Contact(b - st.t, name=f"c{i}") for i, b in enumerate(beads)],
    )
    monkeypatch.setattr(
        evolution._Run, "_changed", lambda f, t, *a: (seen.append(t), changed(f, t, *a))[1]
    )
    monkeypatch.setattr(
        evolution._Run, "_increments", lambda run, *a: run.ways.append("increments")
    )
    start = {beads: 1e-3 * np.arange(1, 41)}
    slide = st.quasistatics(row, span=(0, 1), start=start, points=3)
    # Ten changes tell, and not the fortieth.
    assert slide.method == "events, then increments" and len(seen) <= 13


@pytest.mark.parametrize("count", [7, 8])
@pytest.mark.slow
def test_a_rope_is_followed_event_by_event_to_its_end(count):
    # What rests is held by many forces: it begins to slide where the last of them are at their
    # limit, not where some are. Increments, which do not locate, come to the same end.
    start = snaked(count)
    r, system = rope(count, start)
    slide = st.quasistatics(system, span=(0, 0.4), start={r: start}, points=5, method="events")
    assert slide.status == "done" and len(slide.events[0]) < count
    assert slide.residual["energy"] < 1e-9 and slide.residual["force"] < 1e-9
    limits = np.stack([np.linalg.norm(slide.forces[f"p{i}"], axis=1) for i in range(count)])
    assert limits.max() < (1 + 1e-8) / count
    steps = st.quasistatics(system, span=(0, 0.4), start={r: start}, points=5, step=0.01)
    np.testing.assert_allclose(steps[r][-1], slide[r][-1], atol=5e-3)


# -- how accurate ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_increments_of_free_length_are_of_order_two_where_nothing_changes():
    # The tractrix away from its kink; so large a tolerance takes the kept times as steps.
    link = st.Constraint(st.norm((x - st.t, y)) - 1)
    bead = st.System(friction=[st.Friction(1.0, on=(x, y))], constraints=[link])
    start = {x: 0.5 - np.tanh(0.5), y: 1 / np.cosh(0.5)}
    steps, errors, losses = [], [], []
    for points in (101, 201):
        slide = st.quasistatics(
            bead, span=(0.5, 2), start=start, points=points, method="increments", rtol=1.0
        )
        # The first moment tells what slides.
        assert slide.steps == 2 + 2 * (points - 1)
        assert slide.residual["R"] < 5e-15
        steps.append(1.5 / (points - 1))
        errors.append(np.hypot(slide[x][-1] - (2 - np.tanh(2)), slide[y][-1] - 1 / np.cosh(2)))
        losses.append(abs(slide.lost[-1] - np.log(np.cosh(2) / np.cosh(0.5))))
    assert_order(steps, errors, 2, 0.1)
    assert_order(steps, losses, 2, 0.1)


@pytest.mark.slow
def test_what_halving_changed_in_all_is_more_than_the_error():
    link = st.Constraint(st.norm((x - st.t, y)) - 1)
    bead = st.System(friction=[st.Friction(1.0, on=(x, y))], constraints=[link])
    for rtol in (1e-4, 1e-3):
        slide = st.quasistatics(
            bead, span=(0, 2), start={x: 0, y: 1}, points=11, method="increments", rtol=rtol
        )
        exact = np.stack([slide.t - np.tanh(slide.t), 1 / np.cosh(slide.t)], axis=1)
        error = np.abs(slide.q - exact).max()
        assert error < slide.residual["increments"] < 100 * rtol
        assert error < rtol
    # A rope of six against the events, one by one.
    start = snaked(6)
    r, system = rope(6, start)
    whole = st.quasistatics(system, span=(0, 0.6), start={r: start}, points=5, method="events")
    slide = st.quasistatics(system, span=(0, 0.6), start={r: start}, points=5, method="increments")
    assert np.abs(slide[r] - whole[r]).max() < slide.residual["increments"] < 1e-2


# -- other systems by the same steps ---------------------------------------------------------------


def test_a_wall_pushes_a_block_from_where_it_touches():
    wall = st.Contact(x - st.t, name="wall")
    block = st.System(friction=[st.Friction(2.0, on=(x, y), name="floor")], contacts=[wall])
    slide = st.quasistatics(
        block, span=(0, 1), start={x: 0.5, y: 0}, points=11, step=0.1, method="increments"
    )
    np.testing.assert_allclose(slide[x], np.maximum(0.5, slide.t), atol=1e-12)
    np.testing.assert_allclose(slide.lam["wall"][7:], 2.0, rtol=1e-9)
    np.testing.assert_allclose(slide.lam["wall"][1:5], 0.0, atol=1e-12)


def test_springs_and_friction_in_many_directions_have_the_minimum_of_every_increment():
    # Back and forth: all slide, some stick, all stick. U is convex: forces that balance, stay
    # within their limits and point along what slid prove the minimum.
    rng = np.random.default_rng(3)
    for _ in range(10):
        q = np.array(st.coordinates("a b c"))
        K = rng.normal(size=(3, 3))
        pull = K.T @ (q - st.sin(2 * st.t))
        rows, limits = rng.normal(size=(3, 2, 3)), rng.uniform(0.1, 1, size=3)
        system = st.System(
            potential=sum(z**2 for z in pull) / 2,
            friction=[
                st.Friction(float(a), on=tuple((B @ q).tolist()), name=f"f{i}")
                for i, (a, B) in enumerate(zip(limits, rows))
            ],
        )
        slide = st.quasistatics(system, span=(0, 1.5), points=16, step=0.1)
        assert slide.steps == 15
        off = slide.q - np.sin(2 * slide.t)[:, None]
        forces = -off @ (K @ K.T)
        for i, (a, B) in enumerate(zip(limits, rows)):
            rubs, slips = slide.forces[f"f{i}"][1:], np.diff(slide.q, axis=0) @ B.T
            forces[1:] += rubs @ B
            assert np.linalg.norm(rubs, axis=1).max() <= a * (1 + 1e-9)
            way = np.linalg.norm(slips, axis=1)
            np.testing.assert_allclose(np.sum(rubs * slips, axis=1), -a * way, atol=1e-9)
        np.testing.assert_allclose(forces[1:], 0, atol=1e-9)


@pytest.mark.parametrize("power", [1, 2, 3])
def test_drag_of_any_power_holds_a_body_that_is_drawn_at_a_steady_force(power):
    body = st.System(work=2.0 * x, friction=[st.Drag(0.5, power, on=(x, y))])
    slide = st.quasistatics(body, span=(0, 1), start={x: 0, y: 0}, step=0.25, points=5)
    np.testing.assert_allclose(slide[x], 4.0 ** (1 / power) * slide.t, atol=1e-9)


# -- said in words ---------------------------------------------------------------------------------


def test_a_step_that_was_asked_for_and_cut_is_said(monkeypatch):
    block = st.System(friction=[st.Friction(1.0, on=x)], constraints=[x - st.t])
    whole = strides.stable

    def short(question, t, h, *more):
        if h > 0.03:
            raise increment.Failed("too many steps")
        return whole(question, t, h, *more)

    monkeypatch.setattr(strides, "stable", short)
    slide = st.quasistatics(block, span=(0, 0.2), start={x: 0}, points=3, step=0.1)
    assert slide.success and slide.steps > 2
    said = "an increment of step=0.1 was not found and was cut, "
    assert said in slide.status.message and said in repr(slide)
    np.testing.assert_allclose(slide[x], slide.t, atol=1e-12)
    monkeypatch.undo()
    slide = st.quasistatics(block, span=(0, 0.2), start={x: 0}, points=3, step=0.1)
    assert slide.steps == 2 and slide.status.message == "reached the end of the span"


def test_a_long_run_shows_how_far_it_has_come(monkeypatch):
    shown = []
    monkeypatch.setattr(evolution.Progress, "show", lambda self, done: shown.append(done))
    link = st.Constraint(st.norm((x - st.t, y)) - 1)
    bead = st.System(friction=[st.Friction(1.0, on=(x, y))], constraints=[link])
    for method, step in (("events", None), ("increments", 0.02)):
        shown.clear()
        st.quasistatics(bead, span=(0, 0.2), start={x: 0, y: 1}, points=3, method=method, step=step)
        # After every step, not only at the times that are kept.
        assert len(shown) >= 6 and np.all(np.diff(shown) >= 0) and shown[-1] > 0.9
