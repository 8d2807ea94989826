"""Motion under constraints: against other coordinates, closed forms and brute force."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stationary as st
from stationary.lower.kernel import graph_of
from tests.solve.held import G, cos, in_angles, in_positions, moving_systems, pendulum, sin


@pytest.mark.one_in(3)
@pytest.mark.parametrize("count", [1, 3, 10])
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
    # Rounding grows as a small change of the start does.
    grown = np.abs(swing(a + 1e-9 * rng.choice([-1, 1], count)) - found).max() / 1e-9
    assert grown < 1e4
    np.testing.assert_allclose(motion[r], places, rtol=0, atol=1e-13 * max(grown, 10))
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


@pytest.mark.parametrize("unit", [1.0, 1e-12, 1e9])
def test_a_force_has_a_moment_about_the_centre_in_every_unit(unit):
    x, y, a = st.coordinates("x y a")
    pin = (x - unit * st.cos(a), y - unit * st.sin(a))
    bar = st.body(1.0, inertia=unit**2, at=(x, y), angle=a, gravity=9.81 * unit)
    held = bar + st.System(constraints=[st.Constraint(pin, name="pin")])
    motion = st.simulate(held, span=(0, 0.5), start={x: unit}, points=3)
    # The pin alone accelerates the centre.
    expected = motion.a[:, :2] + [0.0, 9.81 * unit]
    np.testing.assert_allclose(motion.force("pin", on=pin), expected, rtol=0, atol=1e-12 * unit)
    with pytest.raises(st.StatementError, match="does not act on that point alone"):
        motion.force("pin", on=(x, y))


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


@pytest.mark.parametrize("kind", ["holonomic", "moving", "pfaffian", "driven", "both"])
def test_baumgartes_equation_holds_exactly_at_every_state_however_violated(kind):
    kinds, kinetic, potential = moving_systems()
    rows: Any = kinds[kind]
    system = st.System(kinetic=kinetic, potential=potential, **rows)
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


@pytest.mark.slow
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
    assert motion.residual["R"] < 1e-14
    assert motion.residual["Rdot"] < 1e-14
    default = st.simulate(pendulum(), span=(0, 20), start=start, points=201)
    np.testing.assert_allclose(motion.q, default.q, rtol=0, atol=1e-12)


def test_projection_serves_moving_and_rolling_constraints():
    kinds, kinetic, potential = moving_systems()
    rows: Any = kinds["both"]
    system = st.System(kinetic=kinetic, potential=potential + sum(
        c**2 for c in st.coordinates("x y z")), **rows)  # fmt: skip
    start = {"x": 0.6, "y": 0.8, "z": -0.45}
    span = {"span": (0, 2), "start": start, "points": 41}
    motion = st.simulate(system, stabilize=st.Projection(), **span)
    default = st.simulate(system, **span)
    assert motion.residual["R"] < 1e-14
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


def test_multipliers_and_forces_of_one_instant_are_asked_for_by_name():
    x, y = st.coordinates("x y")
    motion = st.simulate(pendulum(), span=(0, 2), start={x: 1.0}, points=21)
    now, k = motion.at(motion.t[7]), 7
    assert now.lam["rod"] == pytest.approx(motion.lam["rod"][k], abs=1e-12)
    assert now.lam.shape == (1,)
    np.testing.assert_allclose(now.force("rod"), motion.force("rod")[k], atol=1e-12)
    between = motion.at(0.4321)
    pull = -(between[x.dot] ** 2 + between[y.dot] ** 2 - G * between[y])
    assert between.lam["rod"] == pytest.approx(pull, abs=1e-12)


@pytest.mark.parametrize("held", [False, True])
def test_bdf_counts_its_own_steps_not_the_output_times(held):
    x, y = st.coordinates("x y")
    free = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, potential=x**2 / 2 + y)
    system, start = (pendulum(), {x: 1.0}) if held else (free, {x: 1.0})
    counts = [
        st.simulate(system, span=(0, 5), start=start, method=st.BDF(), points=n).steps
        for n in (2, 51)
    ]
    # As many steps as the tolerance asks for: neither 1 nor 50.
    assert min(counts) > 200 and max(counts) < 2 * min(counts)


def test_bdf_under_constraints_is_as_accurate_as_its_tolerance():
    x, y = st.coordinates("x y")
    exact = st.simulate(pendulum(), span=(0, 5), start={x: 1.0}, points=51)
    errors = []
    for rtol in (1e-6, 1e-9):
        found = st.simulate(
            pendulum(), span=(0, 5), start={x: 1.0}, points=51, method=st.BDF(),
            rtol=rtol, atol=rtol / 100,
        )  # fmt: skip
        errors.append(np.abs(found.y - exact.y).max())
        assert found.residual["R"] < 1e-15 and found.residual["Rdot"] < 1e-14
        np.testing.assert_allclose(found.lam, exact.lam, atol=1e4 * rtol)
    assert errors[0] < 1e-3 and errors[1] < 1e-6


@pytest.mark.parametrize("method", [st.Taylor(), st.BDF(), st.Runge()])
@pytest.mark.parametrize("points", [2, 2501])
def test_a_constrained_event_is_found_by_every_method_however_many_outputs(method, points):
    x, y = st.coordinates("x y")
    lowest = st.Event(x, terminal=True)
    motion = st.simulate(
        pendulum(), span=(0, 5), start={x: 1.0}, events=[lowest], method=method, points=points
    )
    # A quarter of the period of a swing from the horizontal: K(sin 45°)·√(l/g).
    assert motion.t[-1] == pytest.approx(1.8540746773013719 / np.sqrt(G), abs=1e-8)
    assert motion.residual["R"] < 1e-14
