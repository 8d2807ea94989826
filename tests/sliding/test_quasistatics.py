"""Motion over time without inertia: closed forms, orders, events, constraints at rounding."""

import numpy as np
import pytest
from scipy.optimize import brentq

import stationary as st
from tests.checks import assert_order

x, y, phi = st.coordinates("x y phi")


# -- the tractrix (QS-TRACTRIX) --------------------------------------------------------------------


def bead():
    link = st.Constraint(st.norm((x - st.t, y)) - 1, name="link")
    return st.System(friction=[st.Friction(1.0, on=(x, y), name="floor")], constraints=[link])


EXACT = (1.0359724199241831161, 0.26580222883407969212, 1.3250027473578644309)


def test_a_dragged_bead_follows_the_tractrix():
    slide = st.quasistatics(bead(), span=(0, 2), start={x: 0, y: 1})
    # The start is a kink: the bead is at rest for an instant.
    X = slide.t
    np.testing.assert_allclose(slide[x], X - np.tanh(X), atol=1e-8)
    np.testing.assert_allclose(slide[y], 1 / np.cosh(X), atol=1e-8)
    np.testing.assert_allclose(slide.lost, np.log(np.cosh(X)), atol=1e-8)
    assert (slide[x][-1], slide[y][-1], slide.lost[-1]) == pytest.approx(EXACT, abs=1e-8)
    # The link pulls with the friction limit from the first moment on.
    np.testing.assert_allclose(np.abs(slide.lam["link"][1:]), 1.0, atol=1e-6)
    assert slide.residual["R"] < 5e-15
    assert slide.residual["energy"] < 1e-8
    assert slide.residual["gap"] < 1e-8


def test_the_error_of_the_events_path_follows_its_tolerance():
    for rtol in (1e-5, 1e-7, 1e-9, 1e-11):
        slide = st.quasistatics(bead(), span=(0, 2), start={x: 0, y: 1}, rtol=rtol, points=3)
        error = max(abs(slide[x][-1] - EXACT[0]), abs(slide[y][-1] - EXACT[1]))
        assert error < 100 * rtol + 2e-14


def test_increments_are_of_order_one_and_keep_the_constraint_at_rounding():
    steps, errors = [0.1, 0.05, 0.025, 0.0125], []
    for h in steps:
        slide = st.quasistatics(
            bead(), span=(0, 2), start={x: 0, y: 1}, method="increments", step=h, points=3
        )
        errors.append(np.hypot(slide[x][-1] - EXACT[0], slide[y][-1] - EXACT[1]))
        assert slide.residual["R"] < 5e-15
    assert_order(steps, errors, 1, 0.1)


def test_between_the_kept_times_the_motion_is_as_accurate():
    slide = st.quasistatics(bead(), span=(0, 2), start={x: 0, y: 1}, points=5)
    X = np.array([0.123, 0.777, 1.9])
    part = slide.at(X)
    assert isinstance(part, st.Slide)
    np.testing.assert_allclose(part[y], 1 / np.cosh(X), atol=1e-8)
    np.testing.assert_allclose(part[x.dot], np.tanh(X) ** 2, atol=1e-6)
    np.testing.assert_allclose(part.lost, np.log(np.cosh(X)), atol=1e-8)
    assert slide.at(1.0)[y] == pytest.approx(1 / np.cosh(1.0), abs=1e-8)


def test_time_runs_faster_and_the_path_stays_the_same():
    # Dry friction knows no speed: dragged as t², the same path.
    link = st.Constraint(st.norm((x - st.t**2, y)) - 1, name="link")
    bead = st.System(friction=[st.Friction(1.0, on=(x, y))], constraints=[link])
    slide = st.quasistatics(bead, span=(0, np.sqrt(2)), start={x: 0, y: 1}, points=3)
    assert (slide[x][-1], slide[y][-1], slide.lost[-1]) == pytest.approx(EXACT, abs=1e-8)


# -- springs and friction (QS-SPRINGSLIDER) --------------------------------------------------------

k_, f_, A_ = 2.0, 0.6, 1.0


def dragged(motion):
    floor = st.Friction(f_, on=x, name="floor")
    return st.System(potential=k_ * (motion - x) ** 2 / 2, friction=[floor])


def play(drive, gap):
    """The play operator: x follows u within ± f/k."""
    x = [0.0]
    for u in drive[1:]:
        x.append(min(max(x[-1], u - gap), u + gap))
    return np.array(x)


def test_a_block_behind_a_spring_is_the_play_operator():
    block = dragged(A_ * st.sin(st.t))
    slide = st.quasistatics(block, span=(0, 4 * np.pi), start={x: 0}, points=161)
    # The play operator on a fine grid that contains the turning points.
    fine = np.linspace(0, 4 * np.pi, 160 * 100 + 1)
    exact = play(A_ * np.sin(fine), f_ / k_)[::100]
    np.testing.assert_allclose(slide[x], exact, atol=2e-5)
    # Work per closed cycle: 4 f (A − f/k).
    cycle = slide.lost[-1] - slide.lost[len(slide.t) // 2]
    assert cycle == pytest.approx(4 * f_ * (A_ - f_ / k_), rel=1e-4)
    # It sticks within a dead zone of 2 f/k: the spring's force is within its limit throughout.
    assert np.abs(slide.forces["floor"]).max() <= f_ * (1 + 1e-9)


@pytest.mark.parametrize(("seed", "L"), [(0, 1e-9), (1, 1.0), (2, 1e12)])
def test_energies_add_up_behind_a_spring_that_hardens(seed, L):
    """A block behind F = k d + c d³ follows as a play does: friction takes F times its way."""
    rng = np.random.default_rng(seed)
    k, c, size = rng.uniform([1, 5, 0.5], [3, 20, 1])
    first, second = rng.uniform(0.3, 1.0, 2)
    d = x / L - first * st.sin(st.t) - second * st.sin(2.5 * st.t)
    block = st.System(potential=k * d**2 / 2 + c * d**4 / 4, friction=[st.Friction(size / L, on=x)])
    slide = st.quasistatics(block, span=(0, 9), points=31)
    gap = brentq(lambda d: k * d + c * d**3 - size, 0, size / k, xtol=1e-15)

    def slope(t):
        return first * np.cos(t) + 2.5 * second * np.cos(2.5 * t)

    t = np.linspace(0, 9, 901)
    turns = np.flatnonzero(slope(t[:-1]) * slope(t[1:]) < 0)
    t = np.array([0.0, *(brentq(slope, t[i], t[i + 1], xtol=1e-14) for i in turns), 9.0])
    drive = first * np.sin(t) + second * np.sin(2.5 * t)
    places = play(drive, gap)
    lost, left = size * np.abs(np.diff(places)).sum(), places[-1] - drive[-1]
    assert slide[x][-1] / L == pytest.approx(places[-1], abs=1e-12)
    assert slide.lost[-1] == pytest.approx(lost, rel=1e-8)
    stored = k * left**2 / 2 + c * left**4 / 4
    assert slide.work[-1] == pytest.approx(lost + stored, rel=1e-8)


def test_a_block_pulled_up_stays_until_the_spring_is_strong_enough():
    slide = st.quasistatics(dragged(st.t), span=(0, A_), start={x: 0}, points=51)
    np.testing.assert_allclose(slide[x], np.maximum(0, slide.t - f_ / k_), atol=1e-9)
    assert slide.lost[-1] == pytest.approx(f_ * (A_ - f_ / k_), abs=1e-9)


def test_elements_in_parallel_yield_one_after_the_other():
    # Iwan: Jenkins elements with limits f_j yield at u = f_j / k; force = Σ min(k u, f_j).
    limits = [0.1, 0.3, 0.5]
    q = st.coordinates("a b c")
    iwan = st.System(
        potential=sum((st.t - z) ** 2 for z in q) / 2,
        friction=[st.Friction(f, on=z, name=str(z)) for f, z in zip(limits, q)],
    )
    slide = st.quasistatics(iwan, span=(0, 1), start={}, points=41)
    total = sum(-slide.forces[str(z)] for z in q)
    exact = sum(np.minimum(slide.t, f) for f in limits)
    np.testing.assert_allclose(total, exact, atol=1e-9)


# -- belts -----------------------------------------------------------------------------------------


def test_a_block_on_a_conveyor_goes_with_it_and_across_it_at_an_angle():
    # The belt runs along x with speed 2; a rail pushes across with speed 1.
    belt = st.Friction(3.0, on=(x - 2 * st.t, y), name="belt")
    block = st.System(friction=[belt], constraints=[st.Constraint(y - st.t, name="rail")])
    step = st.minimum_power(block)
    # Along the belt nothing holds it: it rides, and the rail takes all of the friction.
    np.testing.assert_allclose(step.v, [2, 1], atol=1e-12)
    assert step.lam["rail"] == pytest.approx(3.0, rel=1e-12)
    # Held against the belt by a force of 1.8, it slides back: slope 1.8/3 → 3 : 4 : 5.
    held = block + st.System(work=-1.8 * x)
    step = st.minimum_power(held)
    assert step[x.dot] == pytest.approx(2 - 1.8 / 2.4, rel=1e-11)
    assert step.lam["rail"] == pytest.approx(2.4, rel=1e-9)


def test_a_block_on_a_belt_behind_a_spring_stops_where_the_spring_is_strong_enough():
    block = st.System(potential=5 * x**2 / 2, friction=[st.Friction(2.0, on=x - st.t, name="belt")])
    slide = st.quasistatics(block, span=(0, 1), start={x: 0}, points=41)
    np.testing.assert_allclose(slide[x], np.minimum(slide.t, 0.4), atol=1e-9)
    # After that the belt rubs with its limit at the speed of the belt.
    assert slide.lost[-1] == pytest.approx(2.0 * 0.6, rel=1e-3)


# -- pushers ---------------------------------------------------------------------------------------


def finger(mu, way=(0.0, 1.0)):
    pusher = st.Pusher(
        point=(0.3 + way[0] * st.t, -0.5 + way[1] * st.t), edge=((-1, -0.5), (1, -0.5)), friction=mu
    )
    return st.slider(points=[(-1, 0), (1, 0), (0, 0.7)], weights=[0.4, 0.4, 0.2], pusher=pusher)


@pytest.mark.parametrize("mu, way, mode", [
    (0.0, (0.0, 1.0), "holds"), (2.0, (0.0, 1.0), "sticks"), (0.2, (2.0, 1.0), "slides forward"),
    (0.2, (-2.0, 1.0), "slides back"), (0.3, (0.0, -1.0), "opens"),
])  # fmt: skip
def test_a_finger_holds_sticks_slides_on_either_edge_or_leaves(mu, way, mode):
    part = finger(mu, way)
    if mode == "opens":
        step = st.minimum_power(part)
        assert step.modes["pusher"] in ("opens", "open") and not np.any(np.abs(step.v) > 1e-12)
        return
    step, balance = st.minimum_power(part), st.newton(part)
    assert step.modes["pusher"] == mode
    np.testing.assert_allclose(step.v, balance.v, atol=1e-9)
    normal = step.lam["pusher"]
    assert normal == pytest.approx(balance.lam["pusher"], rel=1e-8)
    if mode.startswith("slides"):
        # On the edge of the cone, dragging the part the way the finger goes.
        drag = float(np.atleast_1d(step.forces["pusher"])[0])
        assert abs(drag) == pytest.approx(mu * normal, rel=1e-9)
    if mode == "sticks":
        # The material point at the finger moves with the finger.
        hand = [step["x.dot"] + 0.5 * step["phi.dot"], step["y.dot"] + 0.3 * step["phi.dot"]]
        np.testing.assert_allclose(hand, way, atol=1e-9)


# -- ropes -----------------------------------------------------------------------------------------


def test_a_rope_pulled_along_its_line_moves_as_a_whole_and_every_link_carries_what_is_behind():
    n = 12
    r = st.coordinates("r", shape=(n, 2))
    rope = st.System(
        friction=st.each(lambda p: st.Friction(0.5, on=p), r, name="ground"),
        constraints=[
            st.each(lambda a, b: st.norm(b - a) - 0.1, r[:-1], r[1:], name="link"),
            st.Constraint(r[n - 1, 0] - 0.1 * (n - 1) - st.t, name="hand"),
        ],
    )
    start = np.stack([0.1 * np.arange(n), np.zeros(n)], axis=1)
    step = st.minimum_power(rope, at={r: start})
    np.testing.assert_allclose(step[r.dot], np.tile([1.0, 0.0], (n, 1)), atol=1e-9)
    np.testing.assert_allclose(-step.lam["link"], 0.5 * np.arange(1, n), atol=1e-8)
    assert step.lam["hand"] == pytest.approx(0.5 * n, rel=1e-9)


# -- bounds ----------------------------------------------------------------------------------------


def test_a_motion_that_starts_to_accelerate_ends_there_with_what_is_known():
    # The load grows until friction cannot take it: at t = 2.
    sled = st.System(work=st.t * x, friction=[st.Friction(2.0, on=x)])
    with pytest.raises(st.NoMotion) as caught:
        st.quasistatics(sled, span=(0, 3), start={x: 0})
    assert caught.value.kind == "accelerates"
    slide = caught.value.solution
    assert slide.t[-1] == pytest.approx(2.0, abs=0.02)
    np.testing.assert_allclose(slide[x], 0.0, atol=1e-9)
    same = st.quasistatics(sled, span=(0, 3), start={x: 0}, throw=False)
    assert same.status == "accelerates"


def test_a_viscous_body_relaxes_exponentially():
    oil = st.System(potential=3 * x**2 / 2, friction=[st.Drag(2.0, 1, on=x)])
    steps, errors = [0.04, 0.02, 0.01], []
    for h in steps:
        slide = st.quasistatics(oil, span=(0, 1), start={x: 1}, step=h, points=3)
        errors.append(abs(slide[x][-1] - np.exp(-1.5)))
    assert_order(steps, errors, 1, 0.1)


def test_a_motion_without_inertia_is_a_motion_with_tables_and_no_accelerations():
    slide = st.quasistatics(bead(), span=(0, 1), start={x: 0, y: 1}, points=5)
    assert isinstance(slide, st.Slide) and not isinstance(slide, st.Motion)
    assert slide[st.norm((x - st.t, y))] == pytest.approx(np.ones(5))
    with pytest.raises(st.StatementError, match="no accelerations"):
        slide[x.dot.dot]
    assert "friction took" in repr(slide)


def test_a_start_that_nothing_holds_is_no_quasistatic_motion():
    x, y = st.coordinates("x y")
    sprung = st.System(potential=(x - 1) ** 2 / 2, friction=[st.Friction(0.4, on=x, name="rail")])
    with pytest.raises(st.NoMotion) as caught:
        st.quasistatics(sprung, span=(0, 1), start={x: 0.0})
    assert caught.value.kind == "accelerates"
    assert len(caught.value.solution.t) == 1
    held = st.quasistatics(sprung, span=(0, 1), start={x: 0.7})
    assert np.ptp(held[x]) == 0.0


def test_what_follows_its_rest_without_friction_needs_no_exact_start():
    x = st.coordinates("x")
    led = st.System(potential=(x - st.t) ** 2 / 2)
    slide = st.quasistatics(led, span=(0, 1), start={x: 1e-9}, points=11)
    np.testing.assert_allclose(slide[x][1:], slide.t[1:], rtol=0, atol=1e-12)


@pytest.mark.parametrize("steep", [5.0, 50.0])
def test_increments_follow_a_limit_that_grows_faster_than_the_spring_pulls(steep):
    # t - x = 1 + steep * x where it slides.
    held = st.Friction(1 + steep * x, on=x)
    block = st.System(potential=(x - st.t) ** 2 / 2, friction=[held])
    slide = st.quasistatics(block, span=(0, 3), points=4, step=0.1)
    assert slide.steps == 30 and "cut" not in slide.status.message
    np.testing.assert_allclose(slide[x], np.maximum(slide.t - 1, 0) / (1 + steep), atol=1e-12)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_place_that_hardly_moves_is_no_contradiction(unit):
    # Three feet, pushed along two of them: turning about the third, so that y stays to its digits.
    feet = [(0, 0), (unit, 0), (0, unit)]
    part = st.slider(points=feet, weights=[1.0, 1.0, 1.0])
    x, y, phi = part.coordinates
    push = st.System(constraints=[st.Constraint(x - unit * st.t, name="push")])
    slide = st.quasistatics(part + push, span=(0, 1), points=5)
    assert np.abs(slide[y]).max() < 1e-12 * unit
    assert slide[phi][-1] == pytest.approx(np.pi / 4, rel=1e-9)
