"""Orientations by unit quaternions: three freedoms, and q and −q are one place."""

import pickle

import numpy as np
import pytest

import stationary as st
from stationary.model.kinematics import unit_quaternion
from stationary.model.layout import Layout
from tests.physics.test_tangent_inertia import QUATERNION, UP, body_rates, random_quaternion, start

a, b, c, d = QUATERNION

# What the body's own axes have in common with those of space.
ALIGNED = (a**2 + b**2 - c**2 - d**2, a**2 - b**2 + c**2 - d**2, UP)


def body(inertia, potential=0):
    """A rigid body with a fixed point, its orientation known as one."""
    kinetic = sum(i * w**2 for i, w in zip(inertia, body_rates())) / 2
    return st.System(
        kinetic=kinetic,
        potential=potential,
        constraints=[unit_quaternion(QUATERNION, "R")],
        coordinates=QUATERNION,
    )


def held(k, inertia=(1.0, 2.0, 3.5), push=0):
    """A body whose axes are drawn to those of space: it rests there and turned by half turns."""
    energy = push * UP - sum(stiffness * axis for stiffness, axis in zip(k, ALIGNED))
    return body(inertia, energy)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_every_orientation_at_rest_is_found_once(unit):
    """tr(K R) is stationary where K R is symmetric: unturned, and after three half turns."""
    k = np.array([1.0, 2.0, 4.0]) * unit
    found = st.equilibria(held(k, unit * np.array([1.0, 2.0, 3.5])))
    assert found.complete
    np.testing.assert_allclose([rest.q for rest in found], np.eye(4)[::-1], atol=1e-12)
    assert [rest.stable for rest in found] == [False, False, False, True]
    assert all(sum(rest.inertia) == 3 and not rest.inertia[2] for rest in found)
    # Per rad²: the stiffnesses of the other two axes, which a half turn about one turns round.
    for place, rest in zip((3, 2, 1, 0), found):
        turned = np.where([place in (0, i + 1) for i in range(3)], k, -k)
        np.testing.assert_allclose(rest.eigenvalues, np.sort(turned.sum() - turned), rtol=1e-9)


@pytest.mark.parametrize("place", range(4))
def test_small_motions_are_told_in_three_freedoms(place):
    """Turned by δ about one axis, a body draws back by the stiffness of the other two."""
    k, inertia = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.5])
    # A half turn about an axis turns the other two round.
    turned = np.where([place in (0, i + 1) for i in range(3)], k, -k)
    squares = (turned.sum() - turned) / inertia
    at = dict(zip(QUATERNION, -np.eye(4)[place]))
    lin = st.linearize(held(k), at=at)
    assert lin.states == ("R.x", "R.y", "R.z", "R.omega.x", "R.omega.y", "R.omega.z")
    np.testing.assert_allclose(lin.A[:3, 3:], np.eye(3), atol=1e-14)
    np.testing.assert_allclose(lin.A[3:, :3], -np.diag(squares), atol=1e-12)
    found = st.modes(held(k), at=at)
    assert len(found.squares) == 3
    np.testing.assert_allclose(found.squares, np.sort(squares), rtol=1e-12)
    assert "3 of 3" in repr(found)
    # Each turns the body about one of its axes, with unit inertia.
    turns = np.diag(1 / np.sqrt(inertia))[np.argsort(squares)]
    np.testing.assert_allclose(np.abs(found.shapes["R"]), turns, atol=1e-12)


def test_what_an_orientation_holds_itself_by_is_no_force():
    R, x = st.rotation("R"), st.coordinates("x")
    frame = st.Frame().move((x, 0, 0)).turn(R)
    pull = st.Constraint(x - (R @ (0, 0, 1))[2], name="cord")
    system = st.body(2.0, inertia=(1.0, 2.0, 2.5), frame=frame) + st.System(
        potential=3 * x - 5 * (R @ (1, 0, 0))[0] - 4 * (R @ (0, 1, 0))[1], constraints=[pull]
    )
    rest = st.statics(system)
    assert rest.lam.keys() == ["cord"] == rest.lam.names and rest.lam.shape == (1,)
    assert rest.lam["cord"] == pytest.approx(3.0) and "R " not in rest.lam.text()
    assert (2 * rest.lam)["cord"] == pytest.approx(6.0)
    motion = st.simulate(system, span=(0, 0.1), start={x: 1.0}, points=3)
    assert motion.lam.shape == (3, 1) and motion.at(0.1).lam["cord"] == motion.lam["cord"][-1]
    with pytest.raises(st.StatementError, match="'R'"):
        motion.lam["R"]
    # It is there for those who examine the answer.
    assert rest.lam.every.shape == (2,) and pickle.loads(pickle.dumps(rest.lam)).shape == (1,)
    assert st.equilibria(held((1.0, 2.0, 4.0))).complete
    with pytest.raises(st.StatementError, match="within says nothing of 'x'"):
        st.equilibria(system)


def test_a_branch_that_comes_back_with_the_other_sign_is_closed():
    """Under a moment μ about z a body rests where sin φ = μ, once round and once only."""
    R, mu = st.rotation("R"), st.parameters(mu=0.3)
    frame = st.Frame().turn(R)
    system = st.body(1, inertia=(1, 2, 2.5), frame=frame) + st.moment((0, 0, mu), on=frame)
    system += st.System(potential=-5 * (R @ (0, 0, 1))[2] - (R @ (1, 0, 0))[0])
    (branch,) = (diagram := st.continuation(system, parameter=mu, span=(-2, 2))).branches
    assert branch.status == "closed"
    assert sorted(s.parameter for s in diagram.special) == pytest.approx([-1, 1], abs=1e-9)
    angle = np.unwrap(2 * np.arctan2(branch.q[:, 3], branch.q[:, 0]))
    assert np.ptp(angle) == pytest.approx(2 * np.pi, rel=1e-9)
    np.testing.assert_allclose(np.sin(angle), branch.parameter, atol=1e-9)


def test_continuation_finds_where_an_orientation_gives_way():
    """About y the stiffnesses of x and z hold, and one more: beyond, cos θ = P − 5."""
    P = st.parameters(P=5.0)
    system = held((1.0, 2.0, 4.0), push=P) + st.System(potential=-(UP**2) / 2)
    diagram = st.continuation(system, parameter=P, span=(5, 6.5))
    (fork,) = diagram.special
    assert fork.kind == "pitchfork" and abs(fork.parameter - 6) < 1e-9
    _, one, other = diagram.branches
    assert not any("claims" in branch.status.message for branch in diagram.branches)
    for branch in (one, other):
        angle = 2 * np.arctan2(branch.q[:, 2], branch.q[:, 0])
        np.testing.assert_allclose(np.cos(angle), branch.parameter - 5, atol=1e-9)
    np.testing.assert_allclose(one.q[-1, 2], -other.q[-1, 2], atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("axis", range(3))
def test_a_free_body_turns_stably_about_two_of_its_axes(seed, axis):
    """Euler: growth ω √((I−I')(I''−I)/(I'I'')) about the middle axis, else a frequency."""
    inertia = np.array([1.0, 2.0, 3.5])
    spin = np.zeros(3)
    spin[axis] = 2.0
    begin = start(random_quaternion(seed), spin)
    lin = st.linearize(body(tuple(inertia)), at=begin)
    one, other = np.delete(inertia, axis)
    square = 4.0 * (inertia[axis] - one) * (other - inertia[axis]) / (one * other)
    # As seen from the body, space turns.
    expected = [0.0, *np.emath.sqrt([square]) * 1, *-np.emath.sqrt([square]), 2j, -2j]
    found = lin.eigenvalues
    key = [(round(x.real, 6), round(x.imag, 6)) for x in map(complex, expected)]
    same = [(round(x.real, 6) + 0.0, round(x.imag, 6) + 0.0) for x in map(complex, found)]
    np.testing.assert_allclose(sorted(same), sorted(key), atol=1e-6)
    assert (lin.stability == "unstable (saddle)") == (axis == 1)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize("turn", [0.0, 1.3])
def test_a_sleeping_top_falls_below_its_spin(turn, unit):
    """ω² = 4 m g l I₁/I₃², however far it has turned and whatever its size."""
    first, third, moment = 0.5 * unit, 0.3 * unit, 2.0 * unit
    top = body((first, first, third), moment * UP)
    limit = np.sqrt(4 * moment * first) / third
    upright = np.array([np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2)])
    words = [
        st.linearize(top, at=start(upright, (0.0, 0.0, share * limit))).stability
        for share in (0.999, 1.001)
    ]
    assert words == ["unstable (flutter)", "marginally stable"]


def test_a_spin_that_finds_other_forces_as_it_turns_is_no_steady_motion():
    with pytest.raises(st.StatementError, match="'R.z' moves at the operating point and is not"):
        st.linearize(held((1.0, 1.0, 4.0)), at=start(np.array([1.0, 0, 0, 0]), (0.0, 0.0, 2.0)))


@pytest.mark.parametrize("seed", range(3))
def test_both_signs_of_a_start_lead_to_one_motion_on_the_sphere(seed):
    q, rates = random_quaternion(seed), np.array([0.3, -0.2, 0.5])
    top = held((1.0, 2.0, 4.0))
    one, other = (
        st.simulate(top, span=(0, 5), points=41, start=start(sign * q, rates)) for sign in (1, -1)
    )
    np.testing.assert_allclose(one.q, -other.q, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(one.q, axis=1), 1.0, atol=4e-16)
    kinematics = Layout(top).kinematics
    np.testing.assert_allclose(kinematics.difference(one.q, other.q), 0.0, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_rates_retraction_and_difference_fit_each_other(seed):
    """q̇ = G(q) v and its inverse; a small move goes where its rate says; q and −q are one."""
    rng = np.random.default_rng(seed)
    x, y = st.coordinates("x y")
    system = body((1.0, 2.0, 3.0)) + st.System(kinetic=x.dot**2 + y.dot**2, coordinates=(x, y))
    kinematics = Layout(system).kinematics
    q = np.append(random_quaternion(seed), rng.standard_normal(2))
    w, G = rng.standard_normal(5), kinematics.rates(q)
    assert G.shape == (6, 5) and len(kinematics.freedoms) == 5
    np.testing.assert_allclose(kinematics.speeds(q, G @ w), w, atol=1e-14)
    np.testing.assert_allclose(q[:4] @ (G @ w)[:4], 0.0, atol=1e-15)
    there = kinematics.retract(q, 1e-6 * G @ w)
    np.testing.assert_allclose((there - q) / 1e-6, G @ w, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(there[:4]), 1.0, atol=4e-16)
    minus = np.append(-q[:4], q[4:])
    np.testing.assert_array_equal(kinematics.difference(minus, q), 0.0)
    np.testing.assert_array_equal(kinematics.canonical(minus), kinematics.canonical(q))


def test_a_quaternion_is_kept_by_its_own_constraint():
    with pytest.raises(st.StatementError, match="does not keep it at length one"):
        st.Constraint(a**2 + b**2 - 1, name="R", quaternion=QUATERNION)


def test_orientations_travel(tmp_path):
    rest = st.statics(held((1.0, 2.0, 4.0)))
    st.save(rest, tmp_path / "rest.nc")
    other = st.load(tmp_path / "rest.nc")
    assert other.system == rest.system
    assert not other.graph.layout.kinematics.plain
