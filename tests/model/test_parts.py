"""Parts against energies written by hand."""

from typing import Any, cast

import numpy as np
import pytest
import sympy as sp

import stationary as st


@pytest.fixture
def xyz():
    return st.coordinates("x y z")


def test_a_particle_has_half_m_v_squared_and_m_g_y(xyz):
    x, y, z = xyz
    m, g = st.parameters("m g")
    flat, space = st.particle(m, at=(x, y), gravity=g), st.particle(m, at=(x, y, z), gravity=g)
    assert sp.expand(flat.kinetic - m * (x.dot**2 + y.dot**2) / 2) == 0
    assert flat.potential == m * g * y
    assert sp.expand(space.kinetic - m * (x.dot**2 + y.dot**2 + z.dot**2) / 2) == 0
    assert space.potential == m * g * z
    assert st.particle(m, at=(x, y)).potential == 0


def test_a_particle_on_a_line_has_one_velocity(xyz):
    x, m = xyz[0], st.parameters("m")
    assert st.particle(m, at=x).kinetic == m * x.dot**2 / 2


def test_a_bob_on_a_rod_has_the_energies_of_a_pendulum():
    theta, (m, L, g) = st.coordinates("theta"), st.parameters("m l g")
    bob = st.particle(m, at=(L * st.sin(theta), -L * st.cos(theta)), gravity=g)
    assert sp.simplify(bob.kinetic - m * L**2 * theta.dot**2 / 2) == 0
    assert bob.potential == -m * g * L * st.cos(theta)


def test_a_particle_carried_along_feels_the_motion_of_its_support():
    theta, L = st.coordinates("theta"), st.parameters("l")
    support = st.sin(3 * st.t)
    bob = st.particle(1, at=(support + L * st.sin(theta), -L * st.cos(theta)))
    by_hand = (
        9 * st.cos(3 * st.t) ** 2
        + 6 * st.cos(3 * st.t) * L * st.cos(theta) * theta.dot
        + L**2 * theta.dot**2
    ) / 2
    assert sp.simplify(bob.kinetic - by_hand) == 0


def test_the_cart_with_pendulum_is_two_particles():
    x, theta = st.coordinates("x theta")
    m1, m2, L, g = st.parameters("m1 m2 l g")
    cart = st.particle(m1, at=(x, 0)) + st.particle(
        m2, at=(x + L * st.sin(theta), -L * st.cos(theta)), gravity=g
    )
    by_hand = (
        m1 * x.dot**2 / 2
        + m2 * (x.dot**2 + 2 * x.dot * theta.dot * L * st.cos(theta) + L**2 * theta.dot**2) / 2
    )
    assert sp.simplify(cart.kinetic - by_hand) == 0
    assert cart.coordinates == (x, theta)


def test_a_body_adds_the_energy_of_its_spin(xyz):
    x, y, phi = xyz
    m, inertia, g = st.parameters("m J g")
    part = st.body(m, inertia=inertia, at=(x, y), angle=2 * phi, gravity=g)
    by_hand = m * (x.dot**2 + y.dot**2) / 2 + inertia * (2 * phi.dot) ** 2 / 2
    assert sp.expand(part.kinetic - by_hand) == 0
    assert part.potential == m * g * y


def test_a_physical_pendulum_obeys_steiners_rule():
    theta, (m, L, inertia) = st.coordinates("theta"), st.parameters("m l J")
    part = st.body(m, inertia=inertia, at=(L * st.sin(theta), -L * st.cos(theta)), angle=theta)
    assert sp.simplify(part.kinetic - (inertia + m * L**2) * theta.dot**2 / 2) == 0


def test_a_spring_stores_half_k_times_the_square_of_its_elongation(xyz):
    x, y, z = xyz
    k, r = st.parameters("k r")
    stretched = st.spring(k, between=((1, 2), (x, y)), rest=r)
    assert stretched.potential == k * (st.sqrt((x - 1) ** 2 + (y - 2) ** 2) - r) ** 2 / 2
    assert st.spring(k, between=(x, y), rest=r).potential == k * (y - x - r) ** 2 / 2
    assert st.spring(k, between=(0, z)).potential == k * z**2 / 2
    space = st.spring(k, between=((0, 0, 0), (x, y, z)), rest=r)
    assert space.potential == k * (st.sqrt(x**2 + y**2 + z**2) - r) ** 2 / 2


def test_a_spring_without_rest_length_is_smooth_where_it_has_no_length(xyz):
    x, y, _ = xyz
    system = st.spring(3.0, between=((0, 0), (x, y))) + st.particle(1, at=(x, y))
    np.testing.assert_array_equal(st.compile(system).acceleration([0.0, 0.0]), [0.0, 0.0])


def test_a_damper_eats_half_c_times_the_square_of_its_rate(xyz):
    x, y, _ = xyz
    c = st.parameters("c")
    assert st.damper(c, between=(x, y)).dissipation == c * (y.dot - x.dot) ** 2 / 2
    plane = st.damper(c, between=((0, 0), (x, y)))
    by_hand = c * (x * x.dot + y * y.dot) ** 2 / (x**2 + y**2) / 2
    assert sp.simplify(plane.dissipation - by_hand) == 0


def test_a_damper_pulls_along_its_line_alone(xyz):
    x, y, _ = xyz
    system = st.particle(1, at=(x, y)) + st.damper(2.0, between=((0, 0), (x, y)))
    # At (3, 4) moving across the line nothing is felt; along it, −c v.
    numbers = st.compile(system)
    np.testing.assert_allclose(numbers.force([3, 4], [-4, 3]), [0, 0], atol=1e-15)
    np.testing.assert_allclose(numbers.force([3, 4], [3, 4]), [-6, -8], rtol=1e-15)


def test_a_rod_keeps_a_distance(xyz):
    x, y, _ = xyz
    L = st.parameters("l")
    rod = st.rod((1, 0), (x, y), L, name="crank")
    assert rod.constraints == (st.Constraint(st.sqrt((x - 1) ** 2 + y**2) - L, name="crank"),)


def test_points_may_be_rows_of_an_array():
    r, k = st.coordinates("r", shape=(2, 2)), st.parameters("k")
    assert (
        st.spring(k, between=(r[0], r[1])).potential
        == sp.sympify(k) * ((r[1, 0] - r[0, 0]) ** 2 + (r[1, 1] - r[0, 1]) ** 2) / 2
    )


def test_a_mechanism_has_the_inertia_of_its_jacobian():
    # A two-link arm: I(θ) = Jᵀ M J, with J by hand.
    a, b = st.coordinates("a b")
    l1, l2, m1, m2, j2 = st.parameters("l1 l2 m1 m2 j2")
    places = [
        l1 * st.cos(a), l1 * st.sin(a),
        l1 * st.cos(a) + l2 * st.cos(b), l1 * st.sin(a) + l2 * st.sin(b),
        b,
    ]  # fmt: skip
    inertia = [m1, m1, m2, m2, j2]
    arm = st.mechanism(x=places, inertia=inertia)
    J = sp.Matrix(
        [
            [-l1 * st.sin(a), 0],
            [l1 * st.cos(a), 0],
            [-l1 * st.sin(a), -l2 * st.sin(b)],
            [l1 * st.cos(a), l2 * st.cos(b)],
            [0, 1],
        ]
    )
    omega = sp.Matrix([a.dot, b.dot])
    by_hand = (omega.T * J.T * sp.diag(*inertia) * J * omega)[0] / 2
    assert sp.simplify(arm.kinetic - by_hand) == 0
    assert arm.mechanism is not None
    assert arm.mechanism.x == tuple(places) and arm.mechanism.inertia == tuple(inertia)


def test_parts_remember_what_a_picture_needs(xyz):
    x, y, phi = xyz
    system = (
        st.body(1, inertia=1, at=(x, y), angle=phi, name="block")
        + st.spring(1, between=((0, 0), (x, y)))
        + st.rod((0, 0), (x, y), 1)
    )
    assert [(p.kind, p.points) for p in system.parts] == [
        ("body", ((x, y),)),
        ("spring", ((0, 0), (x, y))),
        ("rod", ((0, 0), (x, y))),
    ]
    assert system.parts[0].angle == phi and system.parts[0].name == "block"


def test_two_particles_and_a_spring_keep_their_centre_of_mass():
    x, y = st.coordinates("x y")
    m1, m2, k = st.parameters(m1=1.0, m2=3.0, k=7.0)
    pair = st.particle(m1, at=x) + st.particle(m2, at=y) + st.spring(k, between=(x, y), rest=1)
    motion = st.simulate(pair, span=(0, 5), start={x: 0.0, y: 1.5, x.dot: 0.4}, points=51)
    centre = (motion[x] + 3 * motion[y]) / 4
    np.testing.assert_allclose(centre, centre[0] + 0.1 * motion.t, rtol=0, atol=2e-15)
    # The distance swings about the rest length at ω² = k (1/m₁ + 1/m₂).
    omega = np.sqrt(7 * (1 + 1 / 3))
    exact = 1 + 0.5 * np.cos(omega * motion.t) - 0.4 / omega * np.sin(omega * motion.t)
    np.testing.assert_allclose(motion[y - x], exact, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda x: st.Part("rope", ((0, 0), (x, 0))), "Known: particle, body, rod,"),
        (lambda x: st.Part("rod", ((0, 0),)), "expected a tuple of two points"),
        (lambda x: st.Part("particle", (x, 0)), "expected a tuple of one point"),
        (lambda x: st.Part("outline", ()), "expected a tuple of points"),
        (lambda x: st.System(parts=cast(Any, [(x, 0)])), "expected st.Part(…)"),
        (lambda x: st.System(parts=(st.Part("points", ((x, 0),), name="\x1b"),)), "can be printed"),
        (lambda x: st.Continuum(name="a\nb"), "can be printed"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_or_printed_is_refused(make, found):
    with pytest.raises(st.StatementError) as caught:
        make(st.coordinates("x"))
    assert found in str(caught.value)


def test_parts_are_given_in_a_list_or_a_tuple():
    x = st.coordinates("x")
    kinds: tuple[Any, ...] = (tuple, list)
    one, other = (
        st.System(potential=x, parts=kind([st.Part("particle", kind([(x, 0)]))])) for kind in kinds
    )
    assert one.parts == other.parts


def test_a_rod_has_no_negative_length(xyz):
    x, y, _ = xyz
    with pytest.raises(st.StatementError, match="the length of a rod is negative.\n  Found -2"):
        st.rod((0, 0), (x, y), -2)


@pytest.mark.parametrize("edge", [((-1, 0), (1, 0)), ((0, 2), (0, -2)), ((3, 1), (-3, 1))])
def test_an_edge_along_an_axis_is_read_without_factors_of_one(edge):
    pusher = st.Pusher(point=(0.3, st.t), edge=edge)
    part = st.slider(points=[(0, 0), (1, 0), (0, 1)], weights=1.0, pusher=pusher)
    assert "1.0*" not in str(part) and "0*" not in str(part)
