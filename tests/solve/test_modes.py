"""Modes with gyroscopic forces, under constraints, in every unit."""

import numpy as np
import pytest
from scipy.linalg import eigvalsh

import stationary as st

UNITS = [1e-9, 1.0, 1e9]
x, y, z = st.coordinates("x y z")
a, b = st.coordinates("alpha beta")


def foucault(turn, length, g=9.81, shift=0.0):
    """A pendulum by places and a rod, seen from a turning frame."""
    X, Y, Z = x - shift, y - shift, z - shift
    v = (x.dot - turn * Y, y.dot + turn * X, z.dot)
    return st.System(
        kinetic=sum(c**2 for c in v) / 2,
        potential=g * Z,
        constraints=[X**2 + Y**2 + Z**2 - length**2],
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("turn", [0.01, 0.3, 0.9, 1.1, 3.0])
def test_a_pendulum_seen_from_a_turning_frame_has_two_frequencies(turn, unit):
    """ω = |√(g/l) ± Ω|, below and above the speed at which the energy loses its minimum."""
    own = np.sqrt(9.81 / (2 * unit))
    bob = foucault(turn * own, 2 * unit)
    for at in ({z: -2 * unit}, st.statics(bob, start={z: -2 * unit}, kind="any")):
        found = st.modes(bob, at=at, count=2)
        expected = np.sort(own * np.abs([1 - turn, 1 + turn]))
        np.testing.assert_allclose(found.frequencies, expected, rtol=1e-10)
        # The bob goes round in circles: x and y are a quarter of a turn apart.
        for shape in found.vectors:
            np.testing.assert_allclose(
                shape[0] / shape[1], 1j * np.sign((shape[0] / shape[1]).imag)
            )
        assert found.gyroscopic and found.residual < 1e-10


def test_a_shifted_origin_changes_no_mode():
    found = st.modes(foucault(0.5, 2.0, shift=1e6), at={x: 1e6, y: 1e6, z: 1e6 - 2}, count=2)
    own = np.sqrt(9.81 / 2)
    np.testing.assert_allclose(found.frequencies, [own - 0.5, own + 0.5], rtol=1e-9)


@pytest.mark.parametrize("unit", UNITS)
def test_a_rotor_on_a_rigid_shaft_whirls_forward_and_backward(unit):
    """(I + mL²)ω² ∓ JΩω − kL² = 0, with the place of the disc held by constraints."""
    mass, length, disc, polar = 2.0, 0.7 * unit, 0.3 * unit**2, 0.5 * unit**2
    stiff, spin = 90.0, 40.0
    rotor = st.System(
        kinetic=mass * (x.dot**2 + y.dot**2) / 2
        + disc * (a.dot**2 + b.dot**2) / 2
        + polar * spin * a.dot * b,
        potential=stiff * (x**2 + y**2) / 2,
        constraints=[x - length * b, y + length * a],
    )
    found = st.modes(rotor, count=4)
    inertia, turn = disc + mass * length**2, polar * spin
    root = np.sqrt(turn**2 + 4 * inertia * stiff * length**2)
    expected = np.array([root - turn, root + turn]) / (2 * inertia)
    assert len(found) == 2
    np.testing.assert_allclose(found.frequencies, expected, rtol=1e-11)
    np.testing.assert_allclose(st.linearize(rotor).frequencies, expected, rtol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_random_turning_systems_under_constraints(seed):
    """The same frequencies as with the constraints solved by hand, by another route."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(4, 8)), int(rng.integers(1, 3))
    q = st.coordinates(" ".join(f"q{i}" for i in range(n)))
    v = np.array([c.dot for c in q])
    root = rng.standard_normal((2, n, n))
    M, K = (r @ r.T + 0.1 * np.eye(n) for r in root)
    G = rng.standard_normal((n, n))
    rows = rng.standard_normal((m, n))
    here = np.array(q)
    system = st.System(
        kinetic=v @ M @ v / 2 + v @ G @ here,
        potential=here @ K @ here / 2,
        constraints=[*(rows @ here), (rows[0] + rows[-1]) @ here],
        coordinates=q,
    )
    free = np.linalg.svd(rows)[2][m:].T
    M, K, C = (free.T @ X @ free for X in (M, K, G - G.T))
    k = n - m
    lead = np.block(
        [[np.zeros((k, k)), np.eye(k)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]]
    )
    expected = np.sort(np.abs(np.linalg.eigvals(lead).imag))[::2]
    found = st.modes(system, count=n)
    assert len(found) == k
    np.testing.assert_allclose(found.frequencies, expected, rtol=1e-8)


def test_free_motions_of_a_turning_system_are_zero_frequencies():
    """A charge in a field of force 2Ω and no spring: one turns at 2Ω, one rests."""
    charge = st.System(
        kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2 + 3.0 * x.dot * y, constraints=[z - x]
    )
    # On the plane z = x the mass along x is two.
    np.testing.assert_allclose(
        st.modes(charge, count=2).frequencies, [0, 3 / np.sqrt(2)], atol=1e-7
    )


def test_a_large_turning_system_under_constraints():
    """A turning string, its middle held by a constraint instead of a fixed end: ω = |kπc ± Ω|."""
    X = st.positions("X")
    turn = 0.5
    u, w = (st.field(name, over=(X, 0, 2)) for name in "uw")
    string = st.Continuum(
        kinetic=((u.dot - turn * w) ** 2 + (w.dot + turn * u) ** 2) / 2,
        potential=(u.diff(X) ** 2 + w.diff(X) ** 2) / 2,
        fixed={e.at(p): 0 for e in (u, w) for p in (0, 2)},
        parts=[st.System(constraints=[u.at(1), w.at(1)])],
    )
    found = st.modes(st.discretize(string, elements=120, degree=1), count=4)
    assert len(found.q) > 200
    expected = [np.pi - turn] * 2 + [np.pi + turn] * 2
    np.testing.assert_allclose(found.frequencies, expected, rtol=1e-3)


def test_modes_that_grow_are_refused():
    bob = foucault(0.1, 2.0)
    with pytest.raises(st.DerivationError, match="gyroscopic modes grow"):
        st.modes(bob, at={z: 2.0})


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_the_last_digits_of_a_place_are_no_forces(unit):
    """cos(π/2) is 6e-17: a bob that hangs there is at rest, one that hangs aside is not."""
    x, y = st.coordinates("x y")
    bob = st.particle(2, at=(x, y), gravity=9.81 * unit)
    bob += st.System(constraints=[x**2 + y**2 - unit**2])

    def at(angle):
        return {x: unit * np.cos(angle), y: unit * np.sin(angle)}

    np.testing.assert_allclose(st.modes(bob, at=at(-np.pi / 2)).frequencies, np.sqrt(9.81))
    with pytest.raises(st.StatementError, match="not at rest"):
        st.modes(bob, at=at(-np.pi / 2 + 1e-6))


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9, 1e15])
def test_lengths_beside_angles_keep_their_digits_in_every_unit(unit):
    # A bob on a crank, in both: (m l² + J) θ̈ = −m g l sin θ.
    x, y, theta = st.coordinates("x y theta")
    rows = [x - unit * st.sin(theta), y + unit * st.cos(theta)]
    bob = st.particle(1.0, at=(x, y), gravity=9.81 * unit)
    bob += st.System(kinetic=1e-3 * (unit * theta.dot) ** 2 / 2, constraints=rows)
    found = st.modes(bob, at={y: -unit})
    np.testing.assert_allclose(found.frequencies, np.sqrt(9.81 / 1.001), rtol=1e-13)
    np.testing.assert_allclose(found.shapes[0][0] / found.shapes[0][2], unit, rtol=1e-13)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6, 1e12])
def test_what_nothing_pushes_beside_what_swings_has_the_frequency_zero(unit):
    # A cart without a spring that carries a pendulum: ω² = 0 and (m1 + m2) g / (m1 l).
    x, theta = st.coordinates("x theta")
    bob = (x + unit * st.sin(theta) / 2, -unit * st.cos(theta) / 2)
    cart = st.particle(1.0, at=(x, 0)) + st.particle(0.2, at=bob, gravity=9.81 * unit)
    modes = st.modes(cart)
    assert modes.frequencies[0] == 0 and modes.residual < 1e-5
    np.testing.assert_allclose(modes.frequencies[1], np.sqrt(1.2 * 9.81 / 0.5), rtol=1e-12)
    assert abs(modes.shapes[0][1]) < 1e-12 * abs(modes.shapes[1][1])


@pytest.mark.parametrize("seed", range(4))
def test_every_motion_that_no_spring_resists_is_counted(seed):
    rng = np.random.default_rng(seed)
    n, free = 5, seed + 1
    q = st.coordinates("q0:5")
    M, G = rng.standard_normal((n, n)), rng.standard_normal((n - free, n))
    M = M @ M.T + np.eye(n)
    kinetic = sum(M[i, j] * q[i].dot * q[j].dot for i in range(n) for j in range(n)) / 2
    pulls = [sum(g * c for g, c in zip(row, q)) for row in G]
    modes = st.modes(st.System(kinetic=kinetic, potential=1e4 * sum(e**2 for e in pulls) / 2))
    assert np.sum(modes.frequencies == 0) == free and modes.stable
    exact = eigvalsh(1e4 * G @ np.linalg.solve(M, G.T))
    np.testing.assert_allclose(modes.frequencies[free:] ** 2, exact, rtol=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e9])
@pytest.mark.parametrize(
    "angle, second", [(0.7, 1.0), (-2.9, 1.0), (68.919, 567.0), (56.7, 2688.0)]
)
def test_what_is_in_balance_wherever_it_stands_neither_swings_nor_grows(angle, second, unit):
    # A seesaw: forces of its rods cancel within the stiffness, but for their last digits; beside
    # slow motions the unit of time is no frequency.
    a, ends = st.coordinates("a"), np.reshape(st.coordinates("x1 y1 x2 y2 x3 y3"), (3, 2))
    masses, arms = (0.3, 0.7, 0.1), (unit * 3.7, -unit * 1.3, -unit * 2.0)
    rods = [
        row
        for (x, y), arm in zip(ends, arms)
        for row in (x - arm * st.cos(a + 0.2), y - arm * st.sin(a + 0.2))
    ]
    energy = sum(m * (x.dot**2 + y.dot**2) / 2 for m, (x, y) in zip(masses, ends))
    weight = 9.81 * unit / second**2 * sum(m * y for m, (_, y) in zip(masses, ends))
    turned = [[arm * np.cos(angle + 0.2), arm * np.sin(angle + 0.2)] for arm in arms]
    at = {a: angle} | dict(zip(ends.ravel(), np.ravel(turned)))
    modes = st.modes(st.System(kinetic=energy, potential=weight, constraints=rods), at=at)
    assert modes.frequencies == pytest.approx([0.0], abs=0)
    assert modes.stable
