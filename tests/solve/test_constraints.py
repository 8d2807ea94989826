"""Motion under constraints: against other coordinates, closed forms and brute force."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import stationary as st
from stationary.lower.kernel import graph_of

cos, sin, sqrt = st.cos, st.sin, st.sqrt

G = 9.81


def pendulum(length=1.0, m=1.0, name="rod"):
    x, y = st.coordinates("x y")
    return st.particle(m, at=(x, y), gravity=G) + st.rod((0, 0), (x, y), length, name=name)


# -- the same motion in other coordinates ---------------------------------------------------------


def in_angles(count):
    """A chain of unit masses on unit links, by its angles from the downward vertical."""
    names = st.coordinates(" ".join(f"a{i}" for i in range(count)))
    angles = names if count > 1 else (names,)
    chain, at = st.System(coordinates=angles), (0, 0)
    for a in angles:
        at = (at[0] + sin(a), at[1] - cos(a))
        chain = chain + st.particle(1, at=at, gravity=G)
    return angles, chain


def in_positions(count):
    """The same chain by the positions of its masses, with a constraint for each link."""
    r = st.coordinates("r", shape=(count, 2))
    links = [st.Constraint(st.norm(r[0]) - 1, name="first")]
    if count > 1:
        links.append(st.each(lambda a, b: st.norm(b - a) - 1, r[:-1], r[1:], name="link"))
    return r, st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: G * p[1], r),
        constraints=links,
    )


@pytest.mark.parametrize("count", range(1, 11))
def test_a_chain_moves_alike_in_angles_and_in_positions(count):
    angles, general = in_angles(count)
    r, cartesian = in_positions(count)
    rng = np.random.default_rng(count)
    # Long chains swing less, so that they do not become chaotic: see the sensitivity below.
    amplitude = 0.9 if count < 3 else 0.3
    a, w = rng.uniform(-amplitude, amplitude, count), rng.uniform(-0.3, 0.3, count)

    def swing(a):
        start = dict(zip(angles, a)) | {c.dot: rate for c, rate in zip(angles, w)}
        motion = st.simulate(general, span=(0, 10), start=start, points=101)
        return np.stack([motion[c] for c in angles], axis=-1)

    links = np.stack([np.sin(a), -np.cos(a)], axis=-1)
    turns = np.stack([np.cos(a), np.sin(a)], axis=-1) * w[:, None]
    start = {r: np.cumsum(links, axis=0), r.dot: np.cumsum(turns, axis=0)}
    motion = st.simulate(cartesian, span=(0, 10), start=start, points=101)
    found = swing(a)
    places = np.cumsum(np.stack([np.sin(found), -np.cos(found)], axis=-1), axis=1)
    np.testing.assert_allclose(motion[r], places, rtol=0, atol=1e-11)
    # A difference of 1e-11 would not mean much if rounding alone could grow to it.
    grown = np.abs(swing(a + 1e-9 * rng.choice([-1, 1], count)) - found).max() / 1e-9
    assert grown < 1e4
    assert motion.residual["R"] < 1e-13
    assert motion.residual["Rdot"] < 1e-13


def test_every_integrator_finds_the_same_constrained_motion():
    x, y = st.coordinates("x y")
    start = {x: np.sin(0.7), y: -np.cos(0.7)}
    exact = st.simulate(pendulum(), span=(0, 5), start=start, points=51)
    for method in (st.Runge(), st.BDF()):
        motion = st.simulate(pendulum(), span=(0, 5), start=start, points=51, method=method)
        np.testing.assert_allclose(motion.q, exact.q, rtol=0, atol=1e-7)
        assert motion.residual["R"] < 1e-15
        assert motion.residual["Rdot"] < 1e-14


def test_a_stiff_constrained_system_is_found_stiff_and_finished():
    # Two masses, one on a rod, joined by a stiff damped spring that is all but rigid: within what
    # the spring gives, a double pendulum.
    x, y, z, w = st.coordinates("x y z w")
    stiff = (
        pendulum()
        + st.particle(1, at=(z, w), gravity=G)
        + st.spring(1e7, between=((x, y), (z, w)), rest=1)
        + st.damper(1e6, between=((x, y), (z, w)))
    )
    start = {x: 0.6, y: -0.8, z: 0.6, w: -1.8}
    motion = st.simulate(stiff, span=(0, 3), start=start, points=31)
    rigid = pendulum() + st.particle(1, at=(z, w), gravity=G) + st.rod((x, y), (z, w), 1)
    expected = st.simulate(rigid, span=(0, 3), start=start, points=31)
    np.testing.assert_allclose(motion["z"], expected["z"], rtol=0, atol=1e-4)
    assert "BDF" in motion.method


# -- forces of constraint -------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "length"), [(1.0, 1.0), (0.2, 3.0), (7.0, 0.4)])
def test_a_rod_released_from_the_horizontal_pulls_with_three_times_the_weight_s_share(m, length):
    # Galilei, Huygens: tension = 3 m g cos φ.
    x, y = st.coordinates("x y")
    motion = st.simulate(pendulum(length, m), span=(0, 5), start={x: length})
    tension = 3 * m * G * -motion[y] / length
    np.testing.assert_allclose(motion.lam["rod"], -tension, rtol=0, atol=1e-11 * m * G)


def test_a_pendulum_has_the_multiplier_of_the_slides_with_our_sign():
    # A = (x, y), from R = (x² + y² − r²)/2: m ẍ + λx = 0 and m ÿ + mg + λy = 0 in the slides, so
    # that λ = m (ẋ² + ẏ² − g y)/r²; ours pushes along ∂R/∂q and has the other sign.
    x, y = st.coordinates("x y")
    m, r = 1.4, 0.8
    bob = st.particle(m, at=(x, y), gravity=G) + st.System(
        constraints=[st.Constraint((x**2 + y**2 - r**2) / 2, name="circle")]
    )
    start = {x: r * np.sin(1.1), y: -r * np.cos(1.1), x.dot: np.cos(1.1), y.dot: np.sin(1.1)}
    motion = st.simulate(bob, span=(0, 5), start=start, repair=False)
    slides = m * (motion[x.dot] ** 2 + motion[y.dot] ** 2 - G * motion[y]) / r**2
    np.testing.assert_allclose(motion.lam["circle"], -slides, rtol=1e-12)


def test_a_wheeled_robot_has_the_multiplier_of_the_slides_with_our_sign():
    # A = (sin θ, −cos θ, 0): λ = m (ẋ cos θ + ẏ sin θ) θ̇ in the slides.
    x, y, theta = st.coordinates("x y theta")
    m, J, f, tau = 2.0, 0.3, 0.7, 0.05
    robot = st.System(
        kinetic=m * (x.dot**2 + y.dot**2) / 2 + J * theta.dot**2 / 2,
        loads=[
            st.Load((f * cos(theta), f * sin(theta)), on=(x, y)),
            st.Load(tau, on=theta),
        ],
        pfaffian=[st.Pfaffian(x.dot * sin(theta) - y.dot * cos(theta), name="no slip")],
    )
    v0, w0 = 0.4, -0.3
    motion = st.simulate(robot, span=(0, 10), start={x.dot: v0, theta.dot: w0})
    t = motion.t
    speed, rate = v0 + f * t / m, w0 + tau * t / J
    along = motion[x.dot * cos(theta) + y.dot * sin(theta)]
    np.testing.assert_allclose(along, speed, rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion[theta], w0 * t + tau * t**2 / (2 * J), rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion.lam["no slip"], -m * speed * rate, rtol=0, atol=1e-11)
    # The path, by quadrature of the closed forms.
    exact = solve_ivp(
        lambda s, _: (v0 + f * s / m) * np.array([np.cos(w0 * s + tau * s**2 / (2 * J)),
                                                  np.sin(w0 * s + tau * s**2 / (2 * J))]),
        (0, 10), [0, 0], rtol=1e-12, atol=1e-13,
    )  # fmt: skip
    np.testing.assert_allclose([motion[x][-1], motion[y][-1]], exact.y[:, -1], atol=1e-10)
    assert motion.residual["energy"] < 1e-12


def test_the_force_of_a_rod_is_a_vector_along_it():
    x, y = st.coordinates("x y")
    motion = st.simulate(pendulum(m=2.0), span=(0, 3), start={x: 1.0})
    tension = 3 * 2.0 * G * -motion[y]
    expected = -tension[:, None] * np.stack([motion[x], motion[y]], axis=-1)
    np.testing.assert_allclose(motion.force("rod"), expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(motion.force("rod", on=(x, y)), expected, rtol=0, atol=1e-10)
    # Newton: what accelerates the bob is its weight and the rod.
    newton = 2.0 * np.stack([motion[x.ddot], motion[y.ddot] + G], axis=-1)
    np.testing.assert_allclose(newton, expected, rtol=0, atol=1e-10)


def test_the_force_at_a_point_is_found_from_coordinates_that_are_no_positions():
    # The bob in polar coordinates, its radius held: the vector of the force at its place.
    r, phi = st.coordinates("r phi")
    place = (r * sin(phi), -r * cos(phi))
    bob = st.particle(1.5, at=place, gravity=G) + st.System(
        constraints=[st.Constraint(r - 1, name="radius")]
    )
    motion = st.simulate(bob, span=(0, 3), start={r: 1.0, phi: np.pi / 2}, points=101)
    tension = 3 * 1.5 * G * np.cos(motion[phi])
    expected = tension[:, None] * np.stack([-np.sin(motion[phi]), np.cos(motion[phi])], axis=-1)
    np.testing.assert_allclose(motion.force("radius", on=place), expected, rtol=0, atol=1e-10)
    generalized = np.stack([-tension, np.zeros_like(tension)], axis=-1)
    np.testing.assert_allclose(motion.force("radius"), generalized, rtol=0, atol=1e-10)


def test_the_force_of_a_link_between_two_masses_acts_on_both():
    r, chain = in_positions(2)
    motion = st.simulate(chain, span=(0, 1), start={r: [[1, 0], [2, 0]]}, points=11)
    pull = motion.force("link").reshape(-1, 2, 2)
    np.testing.assert_allclose(pull[:, 0], -pull[:, 1], rtol=0, atol=1e-12)
    with pytest.raises(st.StatementError) as caught:
        motion.force("link", on=(r[1, 0], r[1, 1]))
    assert str(caught.value) == (
        "the force of 'link' does not act on that point alone.\n"
        "  Found a generalized force that no force at ('r[1,0]', 'r[1,1]') has.\n"
        "  Leave `on` out to get the generalized force."
    )


def test_multipliers_are_named_numbered_and_shaped_like_their_constraints():
    r, chain = in_positions(4)
    motion = st.simulate(chain, span=(0, 1), start={r: [[0, -i] for i in range(1, 5)]}, points=5)
    assert motion.lam.shape == (5, 4)
    assert motion.lam["first"].shape == (5,)
    assert motion.lam["link"].shape == (5, 3)
    # At rest every link carries what hangs below it.
    np.testing.assert_allclose(motion.lam, -G * np.array([[4, 3, 2, 1]] * 5), rtol=1e-13)
    with pytest.raises(st.StatementError, match="Did you mean 'link'"):
        motion.lam["lnk"]


# -- stabilization --------------------------------------------------------------------------------


def moving_systems():
    """Holonomic, moving, Pfaffian and driven Pfaffian constraints, over x, y and z."""
    x, y, z = st.coordinates("x y z")
    kinetic = (1 + x**2) * x.dot**2 / 2 + 1.3 * y.dot**2 / 2 + 0.7 * z.dot**2 + x.dot * y.dot / 5
    potential = x * y + y * z**2 + sin(x)
    return (
        {
            "holonomic": dict(constraints=[x**2 + y * z - 1]),
            "moving": dict(constraints=[x**2 + y * sin(z) - cos(2 * st.t)]),
            "pfaffian": dict(pfaffian=[x.dot * sin(z) - y.dot * cos(z)]),
            "driven": dict(pfaffian=[x.dot * y + z.dot - x * sin(st.t)]),
            "both": dict(
                constraints=[x**2 + y * z - st.t], pfaffian=[x.dot * y + z.dot - cos(st.t)]
            ),
        },
        kinetic,
        potential,
    )


@pytest.mark.parametrize("kind", ["holonomic", "moving", "pfaffian", "driven", "both"])
def test_baumgartes_equation_holds_exactly_at_every_state_however_violated(kind):
    kinds, kinetic, potential = moving_systems()
    system = st.System(kinetic=kinetic, potential=potential, **kinds[kind])
    graph, rng = graph_of(system), np.random.default_rng(5)
    rows = graph.layout.multipliers
    held = graph.held(tuple(range(rows)))
    for alpha in (0.0, 1.0, 30.0):
        q, v, t = rng.normal(size=3), rng.normal(size=3), rng.uniform(0, 3)
        a = np.asarray(held(t, q, v, [], [], alpha)[0]).ravel()

        # R̈ by differences along the parabola with this velocity and acceleration.
        def violated(s, q=q, v=v, a=a, t=t):
            place = q + s * v + s**2 * a / 2
            values = graph.constraints(t + s, place, v + s * a, [], [])
            return [np.asarray(x).ravel() for x in values[:2]]

        R, rate = violated(0.0)
        h = 1e-3
        slope = [violated(s)[1] for s in (-2 * h, -h, h, 2 * h)]
        second = (slope[0] - 8 * slope[1] + 8 * slope[2] - slope[3]) / (12 * h)
        left = second + 2 * alpha * rate + alpha**2 * R
        scale = 1 + np.abs(alpha**2 * R).max() + np.abs(a).max() ** 2
        np.testing.assert_allclose(left, 0, atol=1e-8 * scale)


def test_a_violation_decays_critically_damped():
    # R(t) = (R₀ + (Ṙ₀ + αR₀) t) e^{−αt}, whatever the motion; starts are repaired, so the
    # right-hand side is integrated from a violated state by SciPy.
    x, y = st.coordinates("x y")
    alpha = 4.0
    motion = st.simulate(
        pendulum(), span=(0, 1), start={x: 1.0}, stabilize=st.Baumgarte(alpha=alpha)
    )
    assert motion.alpha == alpha
    p = np.append(motion.params, alpha)
    rhs = motion.kernel.rhs
    found = solve_ivp(
        lambda t, s: np.asarray(rhs(t, s, p)).ravel(),
        (0, 2), [1.2, 0.1, -0.3, 0.5], rtol=1e-12, atol=1e-13, t_eval=np.linspace(0, 2, 41),
    )  # fmt: skip
    length = np.hypot(*found.y[:2])
    rate0 = (1.2 * -0.3 + 0.1 * 0.5) / length[0]
    R0, t = length[0] - 1, found.t
    expected = (R0 + (rate0 + alpha * R0) * t) * np.exp(-alpha * t)
    np.testing.assert_allclose(length - 1, expected, rtol=0, atol=1e-10)


def test_a_violated_pfaffian_row_decays_at_twice_the_rate():
    # Without an R there is Ä + 2αȦ = 0 alone: Ṙ(t) = Ṙ₀ e^{−2αt}.
    x, y, phi = st.coordinates("x y phi")
    row = x.dot * sin(phi) - y.dot * cos(phi)
    edge = st.System(kinetic=(x.dot**2 + y.dot**2 + phi.dot**2) / 2, pfaffian=[row])
    motion = st.simulate(edge, span=(0, 1), start={phi.dot: 1.0}, stabilize=st.Baumgarte(alpha=1.5))
    rhs, p = motion.kernel.rhs, np.array([1.5])
    found = solve_ivp(
        lambda t, s: np.asarray(rhs(t, s, p)).ravel(),
        (0, 2), [0, 0, 0.3, 1.0, 0.2, 1.1], rtol=1e-12, atol=1e-13, t_eval=np.linspace(0, 2, 21),
    )  # fmt: skip
    rate = found.y[3] * np.sin(found.y[2]) - found.y[4] * np.cos(found.y[2])
    np.testing.assert_allclose(rate, rate[0] * np.exp(-3 * found.t), rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("angle", "rate", "span"),
    [
        (0.5, 0.0, 1000),
        (np.pi / 2, 0.0, 1000),  # level: the rod does not pull at first
        (2.5, 0.0, 1000),
        (np.pi / 2, 0.0, 10_000),
        (np.pi / 2, 1e4, 10),  # whirled: a hundred thousand steps in ten seconds
    ],
)
def test_the_default_keeps_a_long_run_on_its_constraint_to_rounding(angle, rate, span):
    x, y = st.coordinates("x y")
    start = {x: np.sin(angle), y: -np.cos(angle)}
    start |= {x.dot: rate * np.cos(angle), y.dot: rate * np.sin(angle)}
    motion = st.simulate(pendulum(), span=(0, span), start=start, points=501)
    assert motion.residual["R"] <= 1e-13
    assert motion.residual["Rdot"] <= 1e-13 * max(1.0, rate)


def test_projection_puts_every_output_onto_the_constraints():
    x, y = st.coordinates("x y")
    start = {x: np.sin(0.7), y: -np.cos(0.7)}
    motion = st.simulate(
        pendulum(), span=(0, 20), start=start, points=201, stabilize=st.Projection()
    )
    assert motion.alpha == 0.0
    assert motion.residual["R"] < 1e-15
    assert motion.residual["Rdot"] < 1e-14
    default = st.simulate(pendulum(), span=(0, 20), start=start, points=201)
    np.testing.assert_allclose(motion.q, default.q, rtol=0, atol=1e-12)


def test_projection_serves_moving_and_rolling_constraints():
    kinds, kinetic, potential = moving_systems()
    system = st.System(kinetic=kinetic, potential=potential + sum(
        c**2 for c in st.coordinates("x y z")), **kinds["both"])  # fmt: skip
    start = {"x": 0.6, "y": 0.8, "z": -0.45}
    span = {"span": (0, 2), "start": start, "points": 41}
    motion = st.simulate(system, stabilize=st.Projection(), **span)
    default = st.simulate(system, **span)
    assert motion.residual["R"] < 1e-15
    assert motion.residual["Rdot"] < 1e-14
    np.testing.assert_allclose(motion.q, default.q, rtol=0, atol=1e-11)


def test_stabilization_does_not_change_a_motion_that_stays_on_its_constraints():
    x, y = st.coordinates("x y")
    start = {x: np.sin(0.7), y: -np.cos(0.7)}
    runs = [
        st.simulate(pendulum(), span=(0, 10), start=start, stabilize=s).q
        for s in (None, st.Baumgarte(alpha=0.0), st.Baumgarte(alpha=1.0), st.Baumgarte(alpha=100.0))
    ]
    for other in runs[1:]:
        np.testing.assert_allclose(other, runs[0], rtol=0, atol=1e-12)


# -- constraints that move ------------------------------------------------------------------------


def test_a_driven_pivot_feeds_the_energy_by_its_force_times_its_velocity():
    x, y = st.coordinates("x y")
    size, w = 0.2, 3.0
    pivot = size * sin(w * st.t)
    bob = st.particle(1.0, at=(x, y), gravity=G) + st.rod((pivot, 0), (x, y), 1.0, name="rod")
    start = {x: 0.0, y: -1.0, x.dot: 0.6}
    motion = st.simulate(bob, span=(0, 20), start=start)
    # The same, with the motion of the pivot inside T.
    theta = st.coordinates("theta")
    swung = st.particle(1.0, at=(pivot + sin(theta), -cos(theta)), gravity=G)
    other = st.simulate(swung, span=(0, 20), start={theta: 0.0, theta.dot: 0.0})
    np.testing.assert_allclose(motion[y], -np.cos(other[theta]), rtol=0, atol=1e-10)
    # The rod pulls the pivot with −λ (x − pivot, y); the hand that moves the pivot holds it.
    hand = motion.lam["rod"] * (motion[x] - size * np.sin(w * motion.t))
    velocity = size * w * np.cos(w * motion.t)
    np.testing.assert_allclose(motion.power, hand * velocity, rtol=0, atol=1e-10)
    assert np.ptp(motion.energy) > 1
    assert motion.residual["energy"] < 1e-11


def test_work_is_the_integral_of_power():
    x, y = st.coordinates("x y")
    bob = st.particle(1.0, at=(x, y), gravity=G) + st.rod((st.t / 5, 0), (x, y), 1.0)
    motion = st.simulate(bob, span=(0, 5), start={x: 0.0, y: -1.0, x.dot: 1.0}, points=20001)
    step = motion.t[1]
    simpson = step / 3 * (motion.power[:-2:2] + 4 * motion.power[1:-1:2] + motion.power[2::2])
    np.testing.assert_allclose(motion.work[2::2], np.cumsum(simpson), rtol=0, atol=1e-11)
    assert motion.residual["energy"] < 1e-12


def test_a_pivot_that_accelerates_evenly_tilts_the_vertical():
    # Einstein's lift: in the frame of the pivot the bob hangs at rest along g − a.
    x, y = st.coordinates("x y")
    a = 3.0
    bob = st.particle(1.0, at=(x, y), gravity=G) + st.rod((a * st.t**2 / 2, 0), (x, y), 1.0,
                                                          name="rod")  # fmt: skip
    hanging = np.array([-a, -G]) / np.hypot(a, G)
    motion = st.simulate(bob, span=(0, 2), start={x: hanging[0], y: hanging[1]})
    np.testing.assert_allclose(motion[x] - a * motion.t**2 / 2, hanging[0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(motion.lam["rod"], -np.hypot(a, G), rtol=1e-12)


def ball_on_turntable(spin, t_end):
    """A ball that rolls on a turntable; wx and wy stand for the integrals of its rates of turning.

    The inertia of a ball is the same about every axis, so that these quasi-coordinates will do.
    """
    x, y, wx, wy = st.coordinates("x y wx wy")
    m, r = 0.6, 0.25
    ball = st.System(
        kinetic=m * (x.dot**2 + y.dot**2) / 2 + 2 / 5 * m * r**2 * (wx.dot**2 + wy.dot**2) / 2,
        pfaffian=[
            st.Pfaffian(
                (x.dot - r * wy.dot + spin * y, y.dot + r * wx.dot - spin * x), name="rolling"
            )
        ],
    )
    start = {x: 0.5, y: 0.1, x.dot: 0.3, y.dot: -0.2}
    now = float(spin.subs(st.t, 0)) if hasattr(spin, "subs") else spin
    start |= {wy.dot: (0.3 + now * 0.1) / r, wx.dot: -(-0.2 - now * 0.5) / r}
    return st.simulate(ball, span=(0, t_end), start=start, repair=False)


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


# -- consistent starts ----------------------------------------------------------------------------


def uneven():
    """Two unequal masses with coupled inertia, on a link and a curve."""
    x, y, z, w = q = st.coordinates("x y z w")
    system = st.System(
        kinetic=0.5 * x.dot**2 + 2.0 * y.dot**2 + 0.1 * z.dot**2 + 1.5 * w.dot**2
        + 0.3 * x.dot * y.dot - 0.2 * z.dot * w.dot,
        constraints=[
            st.Constraint(sqrt((x - z) ** 2 + (y - w) ** 2) - 1, name="link"),
            st.Constraint(y - x**2 / 2, name="curve"),
        ],
    )  # fmt: skip
    M = np.array([[1, 0.3, 0, 0], [0.3, 4, 0, 0], [0, 0, 0.2, -0.2], [0, 0, -0.2, 3]])
    return q, system, M


def nearest(given, M):
    """The nearest state with R = 0 by brute force, and R and A of `uneven` as functions."""

    def R(p):
        return np.array([np.hypot(p[0] - p[2], p[1] - p[3]) - 1, p[1] - p[0] ** 2 / 2])

    def A(p):
        d = np.hypot(p[0] - p[2], p[1] - p[3])
        ex, ey = (p[0] - p[2]) / d, (p[1] - p[3]) / d
        return np.array([[ex, ey, -ex, -ey], [-p[0], 1, 0, 0]])

    found = minimize(
        lambda p: (p - given) @ M @ (p - given) / 2,
        given,
        jac=lambda p: M @ (p - given),
        constraints={"type": "eq", "fun": R, "jac": A},
        method="SLSQP",
        options={"ftol": 1e-16, "maxiter": 1000},
    )
    return found.x, R, A


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


def parallelogram(third):
    x, y, z, w = st.coordinates("x y z w")
    system = (
        st.particle(1, at=(x, y), gravity=G)
        + st.particle(2, at=(z, w), gravity=G)
        + st.rod((0, 0), (x, y), 1, name="left")
        + st.rod((2, 0), (z, w), 1, name="right")
        + st.rod((x, y), (z, w), 2, name="coupler")
    )
    if third:
        middle = (x + (z - x) / 4, y + (w - y) / 4)
        system = system + st.rod((0.5, 0), middle, 1, name="third")
    return system


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


CUBE = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float)


def bricard(order):
    """Bricard's mechanism: six unit bars along the edges of a cube, hinges along the third edge.

    A bar i joins the points i and i + 1; its hinges have unit axes, at right angles to the bar and
    to each other. Counting says that it is rigid: 24 unknowns, 24 conditions. It moves. The axes
    have no mass. Bar 0 is the ground.
    """
    edges = np.roll(CUBE, -1, axis=0) - CUBE
    points, axes = [tuple(CUBE[0]), tuple(CUBE[1])], []
    normals = [np.cross(edges[i - 1], edges[i]) for i in range(6)]
    axes = [tuple(normals[0]), tuple(normals[1])]
    start = {}
    for i in range(2, 6):
        points.append(st.coordinates(f"px{i} py{i} pz{i}"))
        axes.append(st.coordinates(f"ux{i} uy{i} uz{i}"))
        start |= dict(zip(points[-1], CUBE[i])) | dict(zip(axes[-1], normals[i]))

    def dot(a, b):
        return sum(p * q for p, q in zip(a, b))

    kinetic, potential, rows = 0, 0, []
    for i in range(1, 6):
        a, b, u, v = points[i], points[(i + 1) % 6], axes[i], axes[(i + 1) % 6]
        da, db = ([st.rate(c) if c in start else 0 for c in point] for point in (a, b))
        # A uniform bar of mass 1.
        kinetic = kinetic + (dot(da, da) + dot(da, db) + dot(db, db)) / 6
        potential = potential + G * (a[1] + b[1]) / 2
        bar = [q - p for p, q in zip(a, b)]
        rows += [(f"length {i}", dot(bar, bar) - 1), (f"square {i}", (dot(bar, u), dot(bar, v)))]
        rows += [(f"twist {i}", dot(u, v))]
    rows += [(f"unit {i}", dot(axes[i], axes[i]) - 1) for i in range(2, 6)]
    system = st.System(
        kinetic=kinetic,
        potential=potential,
        constraints=[st.Constraint(rows[k][1], name=rows[k][0]) for k in order],
    )
    return system, start


def bricards_motion(order):
    system, start = bricard(order)
    assert graph_of(system).layout.multipliers == system.size == 24
    motion = st.simulate(system, span=(0, 3), start=start, points=31)
    assert len(motion.redundant) == 1
    # All 24 conditions hold, the dropped one too; with one degree of freedom they and the energy
    # determine the motion.
    assert motion.residual["R"] < 1e-13
    assert motion.residual["Rdot"] < 1e-12
    assert motion.residual["energy"] < 1e-12
    assert np.ptp(motion["py3"]) > 0.7
    return motion


@pytest.mark.parametrize("seed", [None, 2, 1])
def test_bricards_mechanism_moves_although_counting_says_that_it_cannot(seed):
    # Which row is dropped depends on the order of the statement; the motion does not.
    order = range(19) if seed is None else np.random.default_rng(seed).permutation(19)
    motion = bricards_motion(order)
    # By symmetry the bars swing back to the cube, and the mechanism is at rest there again.
    rest = np.argmin(motion.kinetic[5:]) + 5
    assert motion["py3"][rest] == pytest.approx(-1, abs=0.02)


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
    motion = st.simulate(system, span=(0, 1), start=start, throw=False)
    if motion.success:
        assert motion.residual["R"] < 1e-9


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


def slack():
    """A bob on two rods with a massless joint between them: slack until they are straight."""
    x, y, z, w = st.coordinates("x y z w")
    return (
        st.rod((0, 0), (x, y), 1, name="upper")
        + st.rod((x, y), (z, w), 1, name="lower")
        + st.particle(1.0, at=(z, w), gravity=G)
    ), {x: 0.6, y: -0.8, z: 1.6, w: -0.8}


def test_a_bob_on_two_slack_rods_falls_freely():
    system, start = slack()
    motion = st.simulate(system, span=(0, 0.28), start=start)
    np.testing.assert_allclose(motion["w"], -0.8 - G * motion.t**2 / 2, rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion["z"], 1.6, rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion.lam, 0, atol=1e-9)


@pytest.mark.parametrize("method", [st.Taylor(), "auto"])
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
    motion = st.simulate(truss, span=(0, 10), start={x: 0.5, y: -np.sqrt(3) / 2}, points=11)
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
