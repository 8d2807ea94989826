"""Systems whose mass matrix is definite only on the tangent of their constraints."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.special import ellipj

import stationary as st

a, b, c, d = QUATERNION = st.coordinates("a b c d")

METHODS = [st.Taylor(), st.Runge(), st.BDF(), st.Variational(step=0.002)]


def body_rates():
    """Angular velocity in the axes of the body, by the quaternion of its orientation."""
    A, B, C, D = (x.dot for x in QUATERNION)
    return (
        2 * (a * B - b * A - c * D + d * C),
        2 * (a * C + b * D - c * A - d * B),
        2 * (a * D - b * C + c * B - d * A),
    )


def body(inertia, potential=0):
    """A rigid body with a fixed point; M is singular along the quaternion itself."""
    kinetic = sum(i * w**2 for i, w in zip(inertia, body_rates())) / 2
    unit = a**2 + b**2 + c**2 + d**2 - 1
    return st.System(
        kinetic=kinetic, potential=potential, constraints=[unit], coordinates=QUATERNION
    )


def product(p, q):
    """The quaternion of one rotation after another."""
    (s, *x), (r, *y) = p, q
    return np.concatenate(
        [[s * r - np.dot(x, y)], s * np.array(y) + r * np.array(x) + np.cross(x, y)]
    )


def start(q, rates):
    """Coordinates and velocities of a body that stands at q and turns at these rates."""
    v = product(q, [0, *rates]) / 2
    return dict(zip(QUATERNION, q)) | {x.dot: y for x, y in zip(QUATERNION, v)}


def random_quaternion(seed):
    q = np.random.default_rng(seed).standard_normal(4)
    return q / np.linalg.norm(q)


# The height of the body's third axis over the horizontal plane.
UP = a**2 - b**2 - c**2 + d**2


@pytest.mark.one_in(2)
@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("seed", range(3))
def test_a_free_body_obeys_eulers_equations(method, seed):
    """L. D. Landau, E. M. Lifshitz, Mechanics, §37: the rates are elliptic functions."""
    I1, I2, I3 = inertia = 1.0, 2.0, 3.5
    first = np.array([0.7, 0.0, 1.1])
    twice, square = np.dot(inertia, first**2), np.dot(np.square(inertia), first**2)
    t = np.linspace(0, 6, 61)
    pace = np.sqrt((I3 - I2) * (square - twice * I1) / (I1 * I2 * I3))
    modulus = (I2 - I1) * (twice * I3 - square) / ((I3 - I2) * (square - twice * I1))
    sn, cn, dn, _ = ellipj(pace * t, modulus)
    sizes = np.sqrt([
        (twice * I3 - square) / (I1 * (I3 - I1)),
        (twice * I3 - square) / (I2 * (I3 - I2)),
        (square - twice * I1) / (I3 * (I3 - I1)),
    ])  # fmt: skip
    expected = sizes[:, None] * np.array([cn, sn, dn])
    q = random_quaternion(seed) if seed else np.array([1.0, 0, 0, 0])
    motion = st.simulate(
        body(inertia), span=(0, 6), points=61, start=start(q, first), method=method
    )
    found = np.array([motion[w] for w in body_rates()])
    tight = 1e-4 if isinstance(method, st.Variational) else 1e-6
    np.testing.assert_allclose(found, expected, atol=tight if method != st.Taylor() else 1e-12)
    assert motion.residual["R"] < 1e-14


@pytest.mark.one_in(3)
@pytest.mark.parametrize("method", METHODS[:3], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("tilt", [1e-100, 4e-15, 1e-8])
def test_a_body_that_hardly_leans_turns_as_one_that_stands_upright(method, tilt):
    """What a coordinate weighs at one place, here 1e-200 or nothing, is no size of a motion."""
    q, rates = np.array([1.0, tilt, tilt, -tilt]), (0.1, 1.0, 0.2)
    free, given = body((1.0, 2.0, 3.0)), {"span": (0, 3), "method": method, "points": 2}
    upright = st.simulate(free, start=start((1.0, 0.0, 0.0, 0.0), rates), **given)
    leaning = st.simulate(free, start=start(q / np.linalg.norm(q), rates), **given)
    turned = product([1, *q[1:]], upright.q[-1])
    assert np.abs(turned - leaning.q[-1]).max() < 1e-8
    assert leaning.steps < 2 * upright.steps and leaning.digits > 8


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_a_top_precesses_steadily(seed, unit):
    """I₁Ω²cos θ − I₃ω₃Ω + mgl = 0, whatever the size of the top and however it is turned."""
    mass, length, g = unit**3, unit, 9.81
    first, third = 0.5 * mass * unit**2, 0.3 * mass * unit**2
    tilt, precession = 0.4, 2.0 * np.sqrt(g / unit)
    spin = (first * precession**2 * np.cos(tilt) + mass * g * length) / (third * precession)
    top = body((first, first, third), mass * g * length * UP)
    turn = np.random.default_rng(seed).uniform(-3, 3)
    # Turned about the vertical, tilted, and turned about its own axis.
    q = product([np.cos(1), 0, 0, np.sin(1)], [np.cos(tilt / 2), np.sin(tilt / 2), 0, 0])
    q = product(q, [np.cos(turn / 2), 0, 0, np.sin(turn / 2)])
    across = precession * np.sin(tilt)
    rates = np.array([across * np.sin(turn), across * np.cos(turn), spin])
    span = (0, 10 / precession)
    motion = st.simulate(top, span=span, start=start(q, rates), points=51)
    np.testing.assert_allclose(motion[UP], np.cos(tilt), atol=1e-9)
    # The axis, seen from above, turns at the rate of precession.
    angle = np.unwrap(np.arctan2(motion[2 * (c * d - a * b)], motion[2 * (b * d + a * c)]))
    np.testing.assert_allclose(angle - angle[0], precession * motion.t, atol=1e-8)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_a_hanging_body_swings_at_its_own_frequencies(unit):
    """ω² = mgl/I about either horizontal axis, and none about the vertical."""
    inertia = np.array([1.0, 2.0, 3.0]) * unit
    hanging = body(inertia, -5.0 * unit * UP)
    rest = st.statics(hanging, start=dict(zip(QUATERNION, random_quaternion(5) + [1, 0, 0, 0])))
    assert abs(rest[b]) + abs(rest[c]) < 1e-9
    expected = np.sqrt([0.0, 5 / 2, 5 / 1])
    np.testing.assert_allclose(st.modes(hanging, at=rest, count=3).frequencies, expected, rtol=1e-9)
    lin = st.linearize(hanging, at=rest)
    np.testing.assert_allclose(lin.frequencies, expected[1:], rtol=1e-9)
    assert lin.stability == "marginally stable"


def test_a_start_off_the_unit_sphere_is_repaired_and_told():
    q = 1.1 * random_quaternion(2)
    state = st.consistent(body((1.0, 2.0, 3.0)), dict(zip(QUATERNION, q)))
    np.testing.assert_allclose([state[x] for x in QUATERNION], q / 1.1, atol=1e-12)
    assert state.moved > 0.1


def test_inertia_that_is_missing_on_the_tangent_is_told():
    thin = body((1.0, 1.0, 0.0))
    with pytest.raises(st.DerivationError, match="the mass matrix is singular at the start"):
        st.simulate(thin, span=(0, 1), start=start(random_quaternion(1), (1.0, 0.0, 0.0)))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(4))
def test_masses_may_stand_on_any_of_redundant_coordinates(seed):
    """A chain of rods by angles, by places, and by both with masses on either: one motion."""
    rng = np.random.default_rng(seed)
    count, unit = int(rng.integers(1, 4)), 10.0 ** rng.uniform(-6, 6)
    lengths, masses = unit * rng.uniform(0.5, 2, count), rng.uniform(0.5, 2, count)
    theta = st.coordinates(" ".join(f"theta{i}" for i in range(count + 1)))[:count]
    places = st.coordinates(" ".join(f"x{i} y{i}" for i in range(count)))
    X, Y = places[::2], places[1::2]
    sums = [
        (sum(r * st.sin(h) for r, h in zip(lengths[: i + 1], theta)),
         -sum(r * st.cos(h) for r, h in zip(lengths[: i + 1], theta)))
        for i in range(count)
    ]  # fmt: skip
    by_angles = sum((st.particle(m, at=p, gravity=9.81) for m, p in zip(masses, sums)), st.System())
    rows = [x - p for (x, y), s in zip(zip(X, Y), sums) for x, p in zip((x, y), s)]
    by_places = sum(
        (st.particle(m, at=p, gravity=9.81) for m, p in zip(masses, zip(X, Y))),
        st.System(constraints=rows),
    )
    angles, pace = rng.uniform(-1, 1, count), rng.uniform(-1, 1, count) * np.sqrt(9.81 / unit)
    begin = dict(zip(theta, angles)) | {h.dot: w for h, w in zip(theta, pace)}
    span = (0, 3 * np.sqrt(unit / 9.81))
    plain = st.simulate(by_angles, span=span, start=begin, points=31)
    for x, y, (px, py) in zip(X, Y, sums):
        for key, e in ((x, sp.S(px)), (y, sp.S(py))):
            begin[key] = plain[e][0]
            begin[key.dot] = plain[sum(e.diff(h) * h.dot for h in theta)][0]
    for system in (by_places, st.System(constraints=rows) + by_angles):
        held = st.simulate(system, span=span, start=begin, points=31)
        for h in theta:
            np.testing.assert_allclose(held[h], plain[h], atol=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit, time", [(1.0, 1.0), (1e9, 1e6), (1e-6, 1e-8)])
@pytest.mark.parametrize("slope", [0.4, 1.3])
@pytest.mark.parametrize("seed", range(3))
def test_a_mass_matrix_that_is_singular_on_the_way_is_passed(seed, slope, unit, time):
    """A bead passes the origin of polar coordinates, where θ has no inertia but a rate: w + e ṙ."""
    r, theta = st.coordinates("r theta")
    rng = np.random.default_rng(seed)
    w = rng.uniform(0.3, 2)
    speed = w + rng.uniform(0.1, 2)
    bead = st.System(
        kinetic=(r.dot**2 + r**2 * theta.dot**2) / 2,
        pfaffian=[theta.dot - w / time - slope * r.dot / unit],
    )
    motion = st.simulate(
        bead, span=(0, 1.5 * time), points=5,
        start={r: unit, r.dot: -speed * unit / time, theta.dot: (w - slope * speed) / time},
    )  # fmt: skip

    def rates(_, y):
        # r̈ − r θ̇² = −e λ with λ = d/dt r²θ̇.
        turn = w + slope * y[1]
        force = y[0] * turn**2 - 2 * slope * y[0] * y[1] * turn
        return [y[1], force / (1 + slope**2 * y[0] ** 2)]

    exact = solve_ivp(rates, (0, 1.5), [1, -speed], "DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
    assert exact[0] < 0
    assert motion[r][-1] / unit == pytest.approx(exact[0], abs=3e-11)
    assert motion[r.dot][-1] * time / unit == pytest.approx(exact[1], abs=3e-11)
    assert motion.digits > 12 and motion.method == "Taylor"
