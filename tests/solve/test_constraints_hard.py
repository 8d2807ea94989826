"""Motion under constraints: against other coordinates, closed forms and brute force."""

from typing import Any

import numpy as np
import pytest

import stationary as st
from stationary.lower.kernel import graph_of
from tests.solve.held import (
    G,
    ball_on_turntable,
    bricards_motion,
    cos,
    in_positions,
    nearest,
    parallelogram,
    pendulum,
    sin,
    slack,
    uneven,
)


def test_a_ball_on_a_turntable_goes_round_in_a_circle_at_two_sevenths_of_its_rate():
    # Earnshaw 1844; Milne, Vectorial Mechanics: v̇ = (2/7) Ω × v.
    motion = ball_on_turntable(3.0, 20.0)
    rate = 2 / 7 * 3.0
    z = motion["x"] + 1j * motion["y"]
    centre = 0.5 + 0.1j - (0.3 - 0.2j) / (1j * rate)
    expected = centre + (0.3 - 0.2j) / (1j * rate) * np.exp(1j * rate * motion.t)
    np.testing.assert_allclose(z, expected, rtol=0, atol=1e-12)
    assert motion.residual["Rdot"] < 1e-13
    assert motion.residual["energy"] < 1e-12


def test_a_ball_on_a_turntable_that_speeds_up_keeps_its_first_integral():
    # v − (2/7) Ω(t) × r is constant for any Ω(t).
    motion = ball_on_turntable(1 + st.t / 2 + sin(2 * st.t) / 3, 10.0)
    spin = 1 + motion.t / 2 + np.sin(2 * motion.t) / 3
    first = motion["x.dot"] + 2 / 7 * spin * motion["y"]
    second = motion["y.dot"] - 2 / 7 * spin * motion["x"]
    scale = np.abs(motion["x.dot"]).max()
    np.testing.assert_allclose(first, first[0], rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(second, second[0], rtol=0, atol=1e-12 * scale)
    # The table does work on the ball: energy changes, and is accounted for.
    assert np.ptp(motion.energy) > 0.1
    assert motion.residual["energy"] < 1e-12 * np.abs(motion.energy).max()


@pytest.mark.parametrize("seed", range(6))
def test_a_start_is_repaired_by_the_smallest_change_in_the_metric_of_the_masses(seed):
    q, system, M = uneven()
    rng = np.random.default_rng(seed)
    on_it = np.array([0.4, 0.08, 0.4 + 0.6, 0.08 - 0.8])
    given, rates = on_it + 0.05 * rng.normal(size=4), rng.normal(size=4)
    start = dict(zip(q, given)) | {c.dot: r for c, r in zip(q, rates)}
    state = st.consistent(system, start)
    best, R, A = nearest(given, M)
    np.testing.assert_allclose(R(state.q), 0, atol=1e-15)
    np.testing.assert_allclose(state.q, best, rtol=0, atol=1e-9)
    # Velocities: a linear problem, Δv = −M⁻¹Aᵀ(A M⁻¹Aᵀ)⁻¹ A v, at the repaired place.
    rows, inverse = A(state.q), np.linalg.inv(M)
    change = inverse @ rows.T @ np.linalg.solve(rows @ inverse @ rows.T, rows @ rates)
    np.testing.assert_allclose(state.v, rates - change, rtol=0, atol=1e-12)
    dq, dv = state.q - given, state.v - rates
    assert state.moved == pytest.approx(np.sqrt((dq @ M @ dq + dv @ M @ dv) / 2), rel=1e-12)


@pytest.mark.parametrize("seed", [1, 3])
def test_a_start_far_from_its_constraints_is_repaired_by_the_smallest_change_too(seed):
    q, system, M = uneven()
    on_it = np.array([0.4, 0.08, 0.4 + 0.6, 0.08 - 0.8])
    given = on_it + 0.15 * np.random.default_rng(seed).normal(size=4)
    state = st.consistent(system, dict(zip(q, given)))
    np.testing.assert_allclose(state.q, nearest(given, M)[0], rtol=0, atol=1e-7)


def test_a_heavy_mass_stays_where_it_is_put_and_a_light_one_yields():
    x, y = st.coordinates("x y")
    pair = st.particle(1e6, at=x) + st.particle(1.0, at=y) + st.rod(x, y, 1.0)
    state = st.consistent(pair, {x: 0.0, y: 1.5})
    # Lever rule: displacements are inverse to the masses.
    assert state[x] == pytest.approx(0.5 / (1e6 + 1), rel=1e-9)
    assert state[y] == pytest.approx(1.0 + 0.5 / (1e6 + 1), rel=1e-12)


def test_a_consistent_start_is_not_touched():
    x, y = st.coordinates("x y")
    start = {x: 0.6, y: -0.8, x.dot: 0.8, y.dot: 0.6}
    state = st.consistent(pendulum(), start)
    assert (state[x], state[y], state[x.dot], state[y.dot]) == pytest.approx(
        (0.6, -0.8, 0.8, 0.6), abs=1e-16
    )
    assert state.moved < 1e-15
    # A state can be passed on as a start.
    motion = st.simulate(pendulum(), span=(0, 1), start=state, points=3, repair=False)
    assert motion.repaired < 1e-15


def test_a_repaired_motion_says_by_how_much():
    x, y = st.coordinates("x y")
    motion = st.simulate(pendulum(m=2.0), span=(0, 1), start={x: 1.1, y.dot: 1.0}, points=3)
    # ½ m (0.1)², rooted; the velocity was tangential already.
    assert motion.repaired == pytest.approx(0.1, rel=1e-9)
    assert "the start was moved by 0.1" in repr(motion)


def test_a_moving_constraint_is_repaired_at_the_time_of_the_start():
    x, y = st.coordinates("x y")
    bob = st.particle(1.0, at=(x, y)) + st.rod((3 * st.t, 0), (x, y), 1.0)
    state = st.consistent(bob, {x: 7.0, y: 0.0}, t=2.0)
    assert (state[x], state[x.dot]) == pytest.approx((7.0, 3.0), abs=1e-12)


# -- redundant constraints ------------------------------------------------------------------------


def test_a_rod_stated_twice_is_named_shares_its_force_and_changes_nothing():
    x, y = st.coordinates("x y")
    twice = pendulum() + st.rod((0, 0), (x, y), 1.0, name="again")
    start = {x: np.sin(1.2), y: -np.cos(1.2)}
    one = st.simulate(pendulum(), span=(0, 10), start=start)
    two = st.simulate(twice, span=(0, 10), start=start)
    assert one.redundant == ()
    assert two.redundant == ("again",)
    assert "redundant       again" in repr(two)
    np.testing.assert_allclose(two.q, one.q, rtol=0, atol=1e-13)
    # Of all pairs with the same sum the smallest has equal entries.
    np.testing.assert_allclose(two.lam["rod"], one.lam["rod"] / 2, rtol=0, atol=1e-11)
    np.testing.assert_allclose(two.lam["again"], one.lam["rod"] / 2, rtol=0, atol=1e-11)
    assert two.residual["R"] < 1e-15


def test_a_parallelogram_with_a_third_link_moves_as_without_it():
    angle = 0.9
    start = {"x": np.sin(angle), "y": -np.cos(angle), "z": 2 + np.sin(angle), "w": -np.cos(angle)}
    start |= {n + ".dot": v for n, v in zip("xyzw", [np.cos(angle), np.sin(angle)] * 2)}
    plain = st.simulate(parallelogram(False), span=(0, 5), start=start, points=51)
    braced = st.simulate(parallelogram(True), span=(0, 5), start=start, points=51)
    assert plain.redundant == ()
    assert braced.redundant == ("third",)
    np.testing.assert_allclose(braced.q, plain.q, rtol=0, atol=1e-12)
    # The dropped link is monitored.
    assert braced.residual["R"] < 1e-14
    assert braced.residual["Rdot"] < 1e-13
    # Multipliers of minimum norm that do the same: against the pseudoinverse.
    graph = graph_of(parallelogram(True))
    for k in (0, 30, 41):
        A = np.asarray(graph.constraints(0, braced.q[k], braced.v[k], [], [])[2])
        force = graph.dynamics(0, braced.q[k], braced.v[k], [], [])
        needed = np.asarray(force[0]) @ braced.a[k] - np.asarray(force[1]).ravel()
        np.testing.assert_allclose(
            braced.lam[k], np.linalg.pinv(A.T, rcond=1e-9) @ needed, rtol=0, atol=1e-10
        )
    # The forces that the plain statement finds do the same work.
    both = np.array([braced.force(n) for n in ("left", "right", "coupler", "third")])
    one = np.array([plain.force(n) for n in ("left", "right", "coupler")])
    np.testing.assert_allclose(both.sum(axis=0), one.sum(axis=0), rtol=0, atol=1e-10)


@pytest.mark.parametrize("seed", [None, pytest.param(1, marks=pytest.mark.slow)])
def test_bricards_mechanism_moves_although_counting_says_that_it_cannot(seed):
    # Which row is dropped depends on the order of the statement; the motion does not.
    order = range(19) if seed is None else np.random.default_rng(seed).permutation(19)
    motion = bricards_motion(order)
    # By symmetry the bars swing back to the cube, and the mechanism is at rest there again.
    rest = np.argmin(motion.kinetic[5:]) + 5
    assert motion["py3"][rest] == pytest.approx(-1, abs=0.02)


@pytest.mark.slow
def test_a_redundant_row_is_found_in_a_long_chain_too():
    count = 250
    r, chain = in_positions(count)
    again = (r[1, 0] - r[0, 0]) ** 2 + (r[1, 1] - r[0, 1]) ** 2 - 1
    braced = chain + st.System(constraints=[st.Constraint(again, name="again")])
    a = 0.2 * np.sin(np.arange(count))
    start = {r: np.cumsum(np.stack([np.sin(a), -np.cos(a)], axis=-1), axis=0)}
    motion = st.simulate(braced, span=(0, 0.05), start=start, points=3)
    assert motion.redundant == ("again",)
    assert motion.residual["R"] < 1e-12


def test_a_row_that_is_redundant_only_where_the_motion_starts_is_not_forgotten():
    # Flat, the rods of a parallelogram lie in one line and the coupler says nothing new; a moment
    # later it does. Either the motion obeys it, or it is refused: nothing in between.
    system = parallelogram(False) + st.System(loads=[st.Load(5.0, on=st.coordinates("y"))])
    start = {"x": 1, "y": 0, "z": 3, "w": 0, "y.dot": -1, "w.dot": -1}
    motion = st.simulate(system, span=(0, 0.05), start=start, throw=False)
    if motion.success:
        assert motion.residual["R"] < 1e-9


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("power", [2, 3])
@pytest.mark.parametrize("angle", [0.0, 0.3])
def test_a_power_of_a_constraint_beside_it_changes_nothing(angle, power, unit):
    """Where R is zero its square has no slope, so that no length of a row tells how small it is."""
    x, y, a = st.coordinates("x y a")
    R = st.sqrt(x**2 + y**2) - unit
    bob = st.particle(1.0, at=(x, y), gravity=unit) + st.System(constraints=[R, R**power])
    pendulum = st.System(kinetic=a.dot**2 / 2, potential=st.sin(a))
    start = {x: unit * np.cos(angle), y: unit * np.sin(angle)}
    motion = st.simulate(bob, span=(0, 4), start=start, points=11)
    expected = st.simulate(pendulum, span=(0, 4), start={a: angle}, points=11)
    assert motion.redundant == ("R2",)
    np.testing.assert_allclose(motion[x], unit * np.cos(expected[a]), atol=1e-12 * unit)
    other = st.particle(1.0, at=(x, y), gravity=unit) + st.System(constraints=[R, (y + x) ** power])
    with pytest.raises((st.DidNotConverge, st.StatementError)):
        st.simulate(other, span=(0, 4), start={x: unit / np.sqrt(2), y: -unit / np.sqrt(2)})


@pytest.mark.one_in(3)
@pytest.mark.parametrize("strength", [1e-12, 1e6, 1e12])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("method", [st.Taylor(), st.Runge(), st.BDF()], ids=str)
def test_rows_that_are_stated_twice_may_be_as_strong_as_they_like(method, unit, strength):
    """A bob on a sphere, kept in a plane: a pendulum of 0.8. The sphere is stated by rates, too."""
    x, y, z, a = st.coordinates("x y z a")
    bob = st.particle(1.0, at=(x, y, z), gravity=9.81 * unit) + st.System(
        constraints=[st.sqrt(x**2 + y**2 + z**2) - unit, y - 0.6 * unit],
        pfaffian=[strength * (x * x.dot + y * y.dot + z * z.dot)],
    )
    pendulum = st.System(kinetic=a.dot**2 / 2, potential=9.81 / 0.8 * st.sin(a))
    start = {x: 0.8 * unit, y: 0.6 * unit, z.dot: 2.0 * unit}
    found = st.simulate(bob, span=(0, 1), start=start, points=11, method=method)
    expected = st.simulate(pendulum, span=(0, 1), start={a.dot: 2.5}, points=11)
    np.testing.assert_allclose(found[x] / unit, 0.8 * np.cos(expected[a]), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found[z] / unit, 0.8 * np.sin(expected[a]), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found[y] / unit, 0.6, rtol=0, atol=1e-12)
    # The plane takes what the sphere pushes sideways: 0.6 of a force of which 0.8 point inwards.
    inwards = (4.0 - 3 * 9.81 * found[z] / unit) / 0.8
    np.testing.assert_allclose(found.lam["R2"] / unit, 0.6 / 0.8 * inwards, rtol=0, atol=1e-6)


def test_constraints_that_part_after_the_start_are_refused_by_name():
    # x = sin t and x = t agree in place and velocity at t = 0, and never after.
    x, y = st.coordinates("x y")
    system = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2,
        constraints=[
            st.Constraint(x - sin(st.t), name="swing"),
            st.Constraint(x - st.t, name="march"),
        ],
    )
    with pytest.raises(st.StationaryError, match="march|swing"):
        st.simulate(system, span=(0, 3), start={x.dot: 1.0})


# -- coordinates without mass ---------------------------------------------------------------------


def test_a_massless_joint_of_two_rods_carries_its_load_as_a_truss():
    # The joint hangs on two rods and carries a bob on a third: the truss is at rest, the bob is a
    # pendulum, and the forces at the joint balance.
    x, y, z, w = st.coordinates("x y z w")
    joint = np.array([0.6, -0.8])
    side = np.array([1.5, 0.0])
    system = (
        st.rod((0, 0), (x, y), 1, name="upper")
        + st.rod(tuple(side), (x, y), float(np.hypot(*(joint - side))), name="side")
        + st.rod((x, y), (z, w), 1, name="lower")
        + st.particle(1.0, at=(z, w), gravity=G)
    )
    start = {x: 0.6, y: -0.8, z: 1.6, w: -0.8}
    motion = st.simulate(system, span=(0, 5), start=start)
    np.testing.assert_allclose(motion[x, y], [joint] * len(motion.t), rtol=0, atol=1e-13)
    tension = 3 * G * (joint[1] - motion[w])
    np.testing.assert_allclose(motion.lam["lower"], -tension, rtol=0, atol=1e-10)
    bob = st.simulate(pendulum(), span=(0, 5), start={"x": 1.0})
    np.testing.assert_allclose(motion[z] - joint[0], bob["x"], rtol=0, atol=1e-12)
    # Method of joints.
    directions = np.stack([joint / 1.0, (joint - side) / np.hypot(*(joint - side))], axis=1)
    pull = motion.lam["lower"][:, None] * (joint - motion[z, w])
    expected = np.linalg.solve(directions, -pull.T).T
    found = np.stack([motion.lam["upper"], motion.lam["side"]], axis=-1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("m", [1e-6, 1.0, 1e6])
def test_a_massless_joint_does_not_mind_the_units_of_mass(m):
    x, y, z, w = st.coordinates("x y z w")
    system = (
        st.rod((0, 0), (x, y), 1, name="upper")
        + st.rod((1.2, 0), (x, y), 1, name="side")
        + st.rod((x, y), (z, w), 1, name="lower")
        + st.particle(m, at=(z, w), gravity=G)
    )
    motion = st.simulate(system, span=(0, 5), start={x: 0.6, y: -0.8, z: 1.6, w: -0.8})
    tension = 3 * G * (-0.8 - motion[w])
    np.testing.assert_allclose(motion.lam["lower"] / m, -tension, rtol=0, atol=1e-10)
    assert motion.residual["R"] < 1e-13
    assert motion.residual["energy"] < 1e-13 * m * G


def test_rods_to_a_massless_joint_between_two_free_masses_carry_nothing():
    x, y, a, b, c, d = st.coordinates("x y a b c d")
    system = (
        st.particle(1.0, at=(a, b), gravity=G)
        + st.particle(2.0, at=(c, d), gravity=G)
        + st.rod((a, b), (x, y), 1.0, name="one")
        + st.rod((c, d), (x, y), 1.0, name="two")
    )
    start = {a: -0.6, b: 0.8, c: 0.8, d: 0.6, x: 0.0, y: 0.0}
    motion = st.simulate(system, span=(0, 1), start=start)
    np.testing.assert_allclose(motion.lam, 0, atol=1e-12)
    fallen = G * motion.t**2 / 2
    np.testing.assert_allclose(motion[b], 0.8 - fallen, rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion[y], -fallen, rtol=0, atol=1e-12)


def test_a_massless_joint_that_nothing_holds_sideways_is_refused():
    x, y, z, w = st.coordinates("x y z w")
    system = st.rod((0, 0), (x, y), 1, name="upper") + st.particle(1.0, at=(z, w), gravity=G)
    with pytest.raises(st.DerivationError, match="'x' has no inertia there"):
        st.simulate(system, span=(0, 1), start={x: 0.6, y: -0.8})


def test_a_bob_on_two_slack_rods_falls_freely():
    system, start = slack()
    motion = st.simulate(system, span=(0, 0.28), start=start)
    np.testing.assert_allclose(motion["w"], -0.8 - G * motion.t**2 / 2, rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion["z"], 1.6, rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion.lam, 0, atol=1e-9)


@pytest.mark.parametrize(
    "method",
    [
        st.Taylor(),
        "auto",
        st.Runge(),
        pytest.param(st.BDF(), marks=pytest.mark.slow),
        st.Variational(step=1e-4),
    ],
)
def test_a_motion_that_ends_in_a_singular_configuration_says_so_at_once(method):
    # The rods are straight when the bob has fallen by 0.4: √(1.6² + 1.2²) = 2. The joint's velocity
    # grows without bound there, and no motion follows.
    system, start = slack()
    with pytest.raises(st.DidNotConverge, match="singular") as stopped:
        st.simulate(system, span=(0, 1), start=start, points=11, method=method)
    # The last good state is kept, also between two output times.
    assert stopped.value.solution.t[-1] == pytest.approx(np.sqrt(0.8 / G), abs=1e-4)
    assert stopped.value.solution.steps < 5000


# -- more conditions than freedom -----------------------------------------------------------------


def test_a_truss_without_freedom_stands_still_and_reports_its_bar_forces():
    x, y = st.coordinates("x y")
    truss = pendulum() + st.rod((1, 0), (x, y), 1.0, name="second")
    motion = st.simulate(truss, span=(0, 1), start={x: 0.5, y: -np.sqrt(3) / 2}, points=11)
    np.testing.assert_allclose(motion.v, 0, atol=1e-14)
    np.testing.assert_allclose(motion.lam, -G / np.sqrt(3), rtol=1e-13)


def test_a_particle_dragged_along_a_path_needs_the_force_that_its_acceleration_needs():
    x, y = st.coordinates("x y")
    system = st.System(
        kinetic=3 * (x.dot**2 + y.dot**2) / 2,
        constraints=[
            st.Constraint((x - cos(2 * st.t), y - sin(2 * st.t)), name="hand"),
        ],
    )
    motion = st.simulate(system, span=(0, 5), start={x: 1.0, y.dot: 2.0})
    t = 2 * motion.t
    expected = -3 * 4 * np.stack([np.cos(t), np.sin(t)], axis=-1)
    np.testing.assert_allclose(motion.lam["hand"], expected, rtol=0, atol=1e-10)


def test_friction_by_load_and_dissipation_act_on_a_constrained_bob():
    # Linear viscous friction: m ẍ = −c ẋ + …; in the angle l²(m θ̈ + c θ̇) + m g l sin θ = 0.
    x, y, theta = st.coordinates("x y theta")
    c = 0.3
    damped = pendulum() + st.System(dissipation=c * (x.dot**2 + y.dot**2) / 2)
    loaded = pendulum() + st.System(loads=[st.Load((-c * x.dot, -c * y.dot), on=(x, y))])
    swung = st.System(
        kinetic=theta.dot**2 / 2, potential=-G * cos(theta), dissipation=c * theta.dot**2 / 2
    )
    exact = st.simulate(swung, span=(0, 10), start={theta: 1.0})
    for system in (damped, loaded):
        motion = st.simulate(system, span=(0, 10), start={x: np.sin(1.0), y: -np.cos(1.0)})
        np.testing.assert_allclose(motion[x], np.sin(exact[theta]), rtol=0, atol=1e-12)
        np.testing.assert_allclose(motion.work, exact.work, rtol=0, atol=1e-12)


def test_an_event_and_a_later_look_see_the_constrained_motion():
    x, y = st.coordinates("x y")
    motion = st.simulate(
        pendulum(), span=(0, 5), start={x: 1.0}, events=[st.Event(x, direction=-1)]
    )
    # A quarter of the period 2.367841947576237449 (IFToMM A01, elliptic integral).
    quarter = 2.367841947576237449303295 / 4
    assert motion.events[0][0] == pytest.approx(quarter, abs=1e-13)
    below = motion.at(quarter)
    assert (below[x], below[y]) == pytest.approx((0, -1), abs=1e-13)
    at: Any = motion.at(np.linspace(0.05, 4.9, 17))
    assert at.residual["R"] < 1e-15
    np.testing.assert_allclose(at.lam["rod"], 3 * G * at[y], rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    "method", [st.Taylor(), "auto", st.Runge(), st.BDF(), st.Variational(step=2e-3)]
)
def test_a_parallelogram_passes_its_flat_position_level_or_stops_there_and_says_so(method):
    # All links lie in one line at t = ½; there the coupler could also begin to turn over.
    a, b, c, d = st.coordinates("a b c d")
    linkage = (
        st.particle(1, at=(a, b)) + st.particle(1, at=(c, d))
        + st.rod((0, 0), (a, b), 1) + st.rod((a, b), (c, d), 2) + st.rod((2, 0), (c, d), 1)
    )  # fmt: skip
    place, speed = np.array([np.cos(0.5), np.sin(0.5)]), np.array([np.sin(0.5), -np.cos(0.5)])
    start = {a: place[0], b: place[1], c: 2 + place[0], d: place[1]}
    start |= dict(zip(("a.dot", "b.dot", "c.dot", "d.dot"), [*speed, *speed]))
    motion = st.simulate(linkage, span=(0, 2), start=start, method=method, points=21, throw=False)
    if motion.success:
        # Each crank turns at its rate, and the coupler stays level.
        np.testing.assert_allclose(motion["b"], np.sin(0.5 - motion.t), rtol=0, atol=2e-6)
        np.testing.assert_allclose(motion["d"], motion["b"], rtol=0, atol=1e-8)
    else:
        assert motion.status == "singular" and "singular near t = 0.5" in motion.status.message
        assert motion.t[-1] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("method", ["auto", st.Runge(), st.BDF()], ids=str)
@pytest.mark.parametrize("unit", [1.0, 3e-9])
def test_what_is_nailed_twice_at_the_origin_rests_there(method, unit):
    # Nothing moves or bends: last digits of what the nails hold are no motion and no length.
    x, y, z = st.coordinates("x y z")
    nails = [st.Constraint(x), st.Constraint(2 * x), st.Constraint(y)]
    mass = (x.dot**2 + y.dot**2 + z.dot**2) / 2
    nailed = st.System(kinetic=mass, potential=unit * (3 * x + 5 * y), constraints=nails)
    motion = st.simulate(nailed, span=(0, 1), points=3, method=method)
    assert motion.success and np.abs(motion.y).max() < 1e-15 * unit


@pytest.mark.one_in(2)
@pytest.mark.parametrize("row", [1e-9, 1e-6, 1.0, 1e9])
def test_a_row_of_any_unit_holds_beside_rows_that_say_the_same(row):
    x, y, z = st.coordinates("x y z")
    circle, mass = x**2 + z**2 - 1, (x.dot**2 + y.dot**2 + z.dot**2) / 2
    rows = [circle, 2 * circle, st.Constraint(row * y, name="level")]
    bead = st.System(kinetic=mass, potential=3 * x + 5 * y + z, constraints=rows)
    motion = st.simulate(bead, span=(0, 1), start={x: 0.6, z: 0.8}, points=3)
    assert np.abs(motion[y]).max() < 1e-14
    assert row * motion.lam["level"] == pytest.approx([5, 5, 5])
