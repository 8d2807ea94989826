"""Constrained motions against published end states, closed forms and peers' own checks.

Every number comes from outside: from the Test Set for IVP Solvers (Bari; its R port rforge/bvpsolve
@78c711b, pkg/deTestSet), from the IFToMM multibody benchmark library, from textbooks, or from the
test suites of SymPy (@e950d31) and EXUDYN (@e44aca1). Digits marked "80 bit" were converged in
extended precision from the same statement, by an integrator that is not ours.

Multipliers: ours is the force along ∂R/∂q, in M q̈ + C q̇ + G = Q + Aᵀλ.
"""

import numpy as np
import pytest

import stationary as st
from tests.physics.mechanisms import FEKETE_PUBLISHED, cos, fekete, fekete_start, sin


def test_chaplygins_sleigh_turns_over_as_its_closed_form_says():
    x, y, phi = st.coordinates("x y phi")
    m, J, a, V = 1.0, 0.1, 0.1, 1.0
    centre = (x + a * cos(phi), y + a * sin(phi))
    sleigh = st.body(m, inertia=J, at=centre, angle=phi) + st.System(
        pfaffian=[st.Pfaffian(y.dot * cos(phi) - x.dot * sin(phi), name="knife")]
    )
    v0, w0 = -0.96402758007581688395, 0.80142387407529779613
    motion = st.simulate(sleigh, span=(0, 5), start={x.dot: v0, phi.dot: w0}, points=501)
    k, W = m * a * V / (J + m * a**2), V * np.sqrt(m / (J + m * a**2))
    along = motion[x.dot * cos(phi) + y.dot * sin(phi)]
    np.testing.assert_allclose(along, V * np.tanh(k * motion.t - 2), rtol=0, atol=1e-13)
    np.testing.assert_allclose(motion[phi.dot], W / np.cosh(k * motion.t - 2), rtol=0, atol=1e-13)
    assert motion[phi][-1] == pytest.approx(9.0079609550260665968, abs=1e-12)
    assert motion[x][-1] == pytest.approx(-0.7739205057395824, abs=1e-12)
    assert motion[y][-1] == pytest.approx(0.4426651761438863, abs=1e-12)
    assert motion.residual["energy"] < 1e-14


def test_a_vertical_disc_rolls_in_a_circle():
    # Bloch, section 1.4.
    x, y, turn, heading = st.coordinates("x y turn heading")
    m, J, D, R = 1.3, 0.2, 0.1, 0.4
    disc = st.System(
        kinetic=m * (x.dot**2 + y.dot**2) / 2 + J * turn.dot**2 / 2 + D * heading.dot**2 / 2,
        pfaffian=[
            st.Pfaffian(
                (x.dot - R * turn.dot * cos(heading), y.dot - R * turn.dot * sin(heading)),
                name="rolling",
            )
        ],
    )
    w, spin, p0 = 0.7, 3.0, 0.3
    start = {
        heading: p0, heading.dot: w, turn.dot: spin,
        x.dot: R * spin * np.cos(p0), y.dot: R * spin * np.sin(p0),
    }  # fmt: skip
    motion = st.simulate(disc, span=(0, 20), start=start)
    angle, radius = w * motion.t + p0, R * spin / w
    np.testing.assert_allclose(motion[x], radius * (np.sin(angle) - np.sin(p0)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        motion[y], -radius * (np.cos(angle) - np.cos(p0)), rtol=0, atol=1e-12
    )
    # The ground turns the momentum: the force is m times the centripetal acceleration.
    speed = R * spin
    np.testing.assert_allclose(
        motion.lam["rolling"],
        m * speed * w * np.stack([-np.sin(angle), np.cos(angle)], axis=-1),
        rtol=0,
        atol=1e-12,
    )


def test_a_leaning_disc_obeys_the_equations_that_kanes_method_gives():
    # SymPy, test_kane.py::test_rolling_disc: yaw q1, lean q2, spin q3 and the rates u along the
    # axes that lean with the disc.
    x, y, z, q1, q2, q3 = st.coordinates("x y z q1 q2 q3")
    m, r, g = 0.7, 0.3, 9.81
    u1, u2, u3 = q2.dot, q3.dot + sin(q2) * q1.dot, cos(q2) * q1.dot
    # The centre is r L_z above the contact; the material point there does not move: v = ω × r L_z
    # with ω = u1 L_x + u2 L_y + u3 L_z, so v = r (u2 L_x − u1 L_y).
    Lx = (cos(q1), sin(q1), 0)
    Ly = (-sin(q1) * cos(q2), cos(q1) * cos(q2), sin(q2))
    rolling = [c.dot - r * (u2 * a - u1 * b) for c, a, b in zip((x, y, z), Lx, Ly)]
    disc = st.System(
        kinetic=m * (x.dot**2 + y.dot**2 + z.dot**2) / 2
        + m * r**2 * (u1**2 / 4 + u2**2 / 2 + u3**2 / 4) / 2,
        potential=m * g * z,
        pfaffian=[st.Pfaffian(tuple(rolling), name="rolling")],
    )
    rng = np.random.default_rng(3)
    for _ in range(5):
        lean = rng.uniform(-1, 1)
        start = {q1: rng.uniform(-3, 3), q2: lean, q3: rng.uniform(-3, 3), z: r * np.cos(lean)}
        rates = rng.normal(size=3)
        # Starts are mended in the metric of the masses; this one is consistent by itself.
        yaw = start[q1]
        w1, w2, w3 = rates[1], rates[2] + np.sin(lean) * rates[0], np.cos(lean) * rates[0]
        velocity = r * (
            w2 * np.array([np.cos(yaw), np.sin(yaw), 0])
            - w1 * np.array([-np.sin(yaw) * np.cos(lean), np.cos(yaw) * np.cos(lean), np.sin(lean)])
        )
        start |= dict(zip((q1.dot, q2.dot, q3.dot, x.dot, y.dot, z.dot), [*rates, *velocity]))
        motion = st.simulate(disc, span=(0, 0.01), start=start, points=2, repair=False)
        a1, a2, a3 = (motion[c.ddot][0] for c in (q1, q2, q3))
        du = (
            a2,
            a3 + np.sin(lean) * a1 + np.cos(lean) * rates[1] * rates[0],
            np.cos(lean) * a1 - np.sin(lean) * rates[1] * rates[0],
        )
        by_kane = (
            (6 * w2 * w3 * r - w3**2 * r * np.tan(lean) + 4 * g * np.sin(lean)) / (5 * r),
            -2 * w1 * w3 / 3,
            w1 * (-2 * w2 + w3 * np.tan(lean)),
        )
        np.testing.assert_allclose(du, by_kane, rtol=1e-11, atol=1e-11)


# -- peers' checks --------------------------------------------------------------------------------


def test_a_four_bar_has_the_accelerations_of_sympys_joints_method():
    # SymPy, test_jointsmethod.py::test_four_bar_linkage_with_manual_constraints.
    q1, q2, q3 = st.coordinates("q1 q2 q3")
    l1, l2, l3, l4, rho = 0.13, 0.24, 0.21, 0.34, 997
    angles = (q1, q1 + q2, q1 + q2 + q3)
    joint, total = (l1, 0), st.System()
    for length, angle in zip((l2, l3, l4), angles):
        half = (length / 2 * cos(angle), length / 2 * sin(angle))
        centre = (joint[0] + half[0], joint[1] + half[1])
        joint = (centre[0] + half[0], centre[1] + half[1])
        total = total + st.body(rho * length, inertia=rho * length**3 / 12, at=centre, angle=angle)
    total = total + st.System(constraints=[st.Constraint(joint, name="loop")])
    start = {q1: 2.1, q2: 0.6655470375077588, q3: 2.527408138024188}
    rates = [0.2, -0.17963733938852067, 0.1309060540601612]
    start |= dict(zip((q1.dot, q2.dot, q3.dot), rates))
    motion = st.simulate(total, span=(0, 1), start=start, points=2, repair=False)
    expected = [0.004875813576771052, -0.019901808571750258, 0.012180573114075468]
    np.testing.assert_allclose(motion.a[0], expected, rtol=0, atol=1e-10)
    assert motion.kinetic[0] == pytest.approx(0.5000613449916262, rel=1e-12)


def test_a_pendulum_in_too_many_coordinates_has_sympys_multiplier():
    # SymPy, test_lagrange.py::test_nonminimal_pendulum: m q̈₁ − 9.8 m + 2λq₁ = 0, so λ has the
    # other sign; gravity points along q₁.
    q1, q2 = st.coordinates("q1 q2")
    m, length = 1.7, 0.9
    system = st.System(
        kinetic=m * (q1.dot**2 + q2.dot**2) / 2,
        work=9.8 * m * q1,
        constraints=[st.Constraint(q1**2 + q2**2 - length**2, name="circle")],
    )
    start = {q1: length * np.cos(0.4), q2: length * np.sin(0.4)}
    start |= {q1.dot: -1.3 * np.sin(0.4), q2.dot: 1.3 * np.cos(0.4)}
    motion = st.simulate(system, span=(0, 5), start=start)
    speed = motion[q1.dot] ** 2 + motion[q2.dot] ** 2
    theirs = m * (19.6 * motion[q1] + 2 * speed) / (4 * length**2)
    np.testing.assert_allclose(motion.lam["circle"], -theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_cart_whose_bob_is_kept_on_the_vertical_obeys_sympys_equation(seed):
    # SymPy, test_system_class.py::TestSystemExamples.
    qp, qc = st.coordinates("qp qc")
    g, length, mc, mp, k = st.parameters("g length mc mp k")
    F = st.inputs("F")
    bob = (qc + length * sin(qp), -length * cos(qp))
    system = (
        st.particle(mc, at=(qc, 0))
        + st.particle(mp, at=bob, gravity=g)
        + st.System(
            loads=[st.Load(F, on=qc), st.Load(k * qp, on=qp)],
            constraints=[st.Constraint(bob[0], name="vertical")],
        )
    )
    rng = np.random.default_rng(seed)
    values = dict(zip(("g", "length", "mc", "mp", "k"), rng.uniform(0.5, 2, size=5)))
    angle, rate, force = rng.uniform(-1, 1), rng.normal(), rng.normal()
    g, length, mc, mp, k = values.values()
    start = {qp: angle, qc: -length * np.sin(angle)}
    start |= {qp.dot: rate, qc.dot: -length * np.cos(angle) * rate}
    motion = st.simulate(
        system, span=(0, 0.1), start=start, params=values, inputs={F: force}, points=2,
        repair=False,
    )  # fmt: skip
    c, s, s2 = np.cos(angle), np.sin(angle), np.sin(2 * angle)
    expected = (
        -g * mp * s + k * angle / length + length * (mc - mp) * s2 * rate**2 / 2 - force * c
    ) / (length * (mc * c**2 + mp * s**2))
    assert motion[qp.ddot][0] == pytest.approx(expected, rel=1e-12, abs=1e-12)
    # Horizontally the bob does not accelerate: the constraint and the rod cancel on it, and
    # (mc + mp) q̈c + … = F + λ gives mc q̈c = F + λ.
    assert motion.lam["vertical"][0] == pytest.approx(
        mc * motion[qc.ddot][0] - force, rel=1e-11, abs=1e-11
    )


@pytest.mark.slow
def test_twenty_repelling_particles_on_a_sphere_come_to_rest_at_fekete_points():
    p, system = fekete()
    motion = st.simulate(system, span=(0, 1000), start={p: fekete_start()}, points=101)
    for i, point in FEKETE_PUBLISHED.items():
        np.testing.assert_allclose(motion[p][-1, i], point, rtol=0, atol=1e-7)
    assert motion.potential[-1] == pytest.approx(-54.0111299745842, abs=1e-10)
    # At rest every force is radial: λ = −(N − 1)/4 with the force 2λp.
    np.testing.assert_allclose(motion.lam["sphere"][-1], -4.75, rtol=0, atol=1e-8)
