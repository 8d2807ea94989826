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
from benchmarks.chain import Chain
from benchmarks.chain_peers.ours import derive as benchmark_chain
from benchmarks.chain_reference import accelerations
from benchmarks.chain_reference import error as reference_error
from tests.physics.mechanisms import (  # noqa: F401  # fixtures
    A01,
    A02,
    ANDREWS,
    ANDREWS_PUBLISHED,
    CAR_AXIS,
    CAR_AXIS_PUBLISHED,
    CRANK_PUBLISHED,
    CRANK_START,
    HEAVY_TOP,
    assert_state,
    bob,
    cos,
    crank_start,
    driven,
    four_bars,
    heavy_top,
    sin,
    slider_crank,
    squeezed,
)

# Published digits beyond the tolerance of other methods.


def test_andrews_mechanism_ends_where_the_test_set_says(squeezed):
    assert_state(squeezed, 0.03, ANDREWS_PUBLISHED, within=5e-9)


@pytest.mark.parametrize("t", ANDREWS)
def test_andrews_mechanism_follows_the_converged_solution(squeezed, t):
    q, v, lam = ANDREWS[t]
    assert_state(squeezed, t, q, v, within=1e-12)
    k = int(np.argmin(np.abs(squeezed.t - t)))
    np.testing.assert_allclose(squeezed.lam[k], -np.array(lam), rtol=1e-11)


def test_andrews_mechanism_starts_with_the_published_accelerations_and_forces(squeezed):
    # Hairer & Wanner II, section VII.7.
    np.testing.assert_allclose(
        squeezed.a[0][:2], [14222.4439199541138706, -10666.8329399655854029], rtol=1e-12
    )
    lam = [98.5668703962410896, -6.12268834425566266, 0, 0, 0, 0]
    np.testing.assert_allclose(squeezed.lam[0], -np.array(lam), rtol=1e-12, atol=1e-12)


def test_andrews_mechanism_balances_its_energy_and_keeps_its_loops_closed(squeezed):
    assert squeezed.residual["energy"] < 1e-13
    assert squeezed.residual["R"] < 1e-15
    # Velocities are of order 1000.
    assert squeezed.residual["Rdot"] < 1e-12
    # IFToMM A03: T + U − torque·(β − β₀) is constant.
    beta = squeezed["beta"]
    total = squeezed.kinetic + squeezed.potential - 0.033 * (beta - beta[0])
    np.testing.assert_allclose(total, total[0], rtol=0, atol=1e-13)


def test_car_axis_ends_where_the_test_set_says(driven):
    q, v, lam = CAR_AXIS_PUBLISHED
    assert_state(driven, 3, q, within=1e-12)
    # The published velocities are good to 5e-12, as two settings in 80 bit show.
    assert_state(driven, 3, v=v, within=1e-11)
    np.testing.assert_allclose(driven.lam[-1], lam, rtol=0, atol=1e-12)


@pytest.mark.parametrize("t", CAR_AXIS)
def test_car_axis_follows_the_converged_solution(driven, t):
    left, right, left_rate, right_rate, lam = CAR_AXIS[t]
    assert_state(driven, t, left + right, left_rate + right_rate, within=2e-13)
    np.testing.assert_allclose(driven.lam[100 * t], lam, rtol=0, atol=1e-13)


def test_car_axis_needs_no_repair_and_balances_its_energy_with_the_road(driven):
    # The start of the test set is consistent: Ṙ of the wheel is x_b ẋ_l + ẏ_b y_l = −0.5 + 0.5.
    assert driven.repaired < 1e-15
    assert np.ptp(driven.energy) > 1e-3  # The road does work, by moving springs and the wheel.
    assert driven.residual["energy"] < 1e-14
    # Squares of lengths of 1: last digits of 2e-16 in a handful of terms, and ten times that.
    assert driven.residual["R"] < 1e-14
    assert driven.residual["Rdot"] < 1e-13


def test_slider_crank_ends_where_the_test_set_says():
    # The published start is rounded, so that it violates R = 0 by 2e-10 and Ṙ = 0 by 1.2e-8: more
    # than the stretch of the rod can bear. What depends on it is computed here to all digits.
    system = slider_crank()
    q, v = (list(x) for x in CRANK_START)
    q[2] = 0.15 + 0.30 + q[6]
    v[1], v[2] = -150 * 0.15 / (0.30 + q[6]), v[6]
    start = crank_start(system, q, v)
    motion = st.simulate(system, span=(0, 0.1), start=start, points=101, repair=False)
    np.testing.assert_allclose(motion.q[-1], CRANK_PUBLISHED, rtol=1e-7)
    assert motion.residual["R"] < 1e-14
    assert motion.residual["energy"] < 1e-13 * np.abs(motion.energy).max()


def test_slider_crank_says_that_its_published_start_was_inconsistent():
    system = slider_crank()
    start = crank_start(system, *CRANK_START)
    motion = st.simulate(system, span=(0, 0.1), start=start, points=2)
    assert 1e-10 < motion.repaired < 1e-8
    # The rigid motion does not mind; the stretch of the rod does, by what the start was wrong.
    np.testing.assert_allclose(motion.q[-1][:3], CRANK_PUBLISHED[:3], rtol=1e-8)
    np.testing.assert_allclose(motion.q[-1][3:], CRANK_PUBLISHED[3:], rtol=0, atol=1e-10)
    with pytest.raises(st.StatementError, match=r"'slider\[1\]' has R = "):
        st.simulate(system, span=(0, 0.1), start=start, repair=False)


@pytest.mark.parametrize("t", A01)
def test_iftomm_pendulum_follows_its_closed_form(bob, t):
    x, y, rate, tension = A01[t]
    assert_state(bob, t, [x, y], within=1e-12)
    now = bob.at(t)
    # φ is measured from the downward vertical: φ̇ = x ẏ − y ẋ for a unit length.
    x, y = st.coordinates("x y")
    assert now[x * y.dot - y * x.dot] == pytest.approx(rate, abs=1e-11)
    k = int(round(100 * t))
    assert -bob.lam["rod"][k] / 9.81 == pytest.approx(tension, abs=1e-12)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("windows", "points"), [(1, 1001), (2, 11)])
def test_a_row_of_four_bars_passes_its_singular_configurations(windows, points):
    system, start = four_bars(windows)
    motion = st.simulate(system, span=(0, 10), start=start, points=points)
    assert motion.kinetic[0] == pytest.approx((windows + 1) / 6 + windows / 2, rel=1e-14)
    for t in (4, 10):
        x, y, vx, vy = A02[windows, t]
        # The tolerance of the benchmark library.
        assert_state(motion, t, [x, y], [vx, vy], within=1e-6)
    assert motion.residual["energy"] < 1e-7


@pytest.mark.parametrize("windows", [1, 2])
def test_a_row_of_four_bars_follows_its_closed_form_up_to_the_singular_configuration(windows):
    # One degree of freedom: ((N+1)/3 + N) ȧ² / 2 + ((N+1)/2 + N) g cos a is constant, ȧ(0) = 1.
    system, start = four_bars(windows)
    motion = st.simulate(system, span=(0, 0.6), start=start, points=61)
    inertia, weight = (windows + 1) / 3 + windows, ((windows + 1) / 2 + windows) * 9.81
    x, y = motion["x0"], motion["y0"]
    rate = np.sqrt(1 + 2 * weight / inertia * (1 - y))
    np.testing.assert_allclose(motion["x0.dot"], rate * y, rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion["y0.dot"], -rate * x, rtol=0, atol=1e-12)
    for i in range(1, windows + 1):
        np.testing.assert_allclose(motion[f"x{i}"], x + i, rtol=0, atol=1e-13)


@pytest.mark.parametrize("windows", [1, 2])
def test_a_row_of_four_bars_goes_through_its_singular_configurations_by_variational_steps(windows):
    # Steps do not see how near they come; their error of order two is extrapolated away.
    system, start = four_bars(windows)
    coarse, fine = (
        st.simulate(system, span=(0, 10), start=start, points=6, method=st.Variational(step))
        for step in (0.004, 0.002)
    )
    for t in (4, 10):
        x, y, vx, vy = A02[windows, t]
        k = t // 2
        place = (4 * fine.q[k] - coarse.q[k])[:2] / 3
        velocity = (4 * fine.v[k] - coarse.v[k])[:2] / 3
        np.testing.assert_allclose(place, [x, y], rtol=0, atol=1e-6)
        np.testing.assert_allclose(velocity, [vx, vy], rtol=0, atol=1e-6)
    assert fine.residual["R"] < 1e-12


def test_the_heavy_top_in_euler_parameters_follows_the_benchmark():
    system, start, spin, centre = heavy_top()
    motion = st.simulate(system, span=(0, 2), start=start, points=11)
    for t, (q, position, rate) in HEAVY_TOP.items():
        k = int(round(5 * t))
        np.testing.assert_allclose(motion.q[k], q, rtol=0, atol=1e-9)
        np.testing.assert_allclose(motion[centre][k], position, rtol=0, atol=1e-9)
        np.testing.assert_allclose(motion[spin][k], rate, rtol=0, atol=1e-7)
    assert motion.residual["R"] < 1e-13
    assert motion.residual["energy"] < 1e-11 * np.abs(motion.energy).max()


# -- nonholonomic: knife edge, sleigh, rolling discs ----------------------------------------------


def test_a_knife_edge_on_an_incline_drifts_across_the_slope():
    # Bloch, Nonholonomic Mechanics and Control, section 1.6.
    x, y, phi = st.coordinates("x y phi")
    m, J, g, alpha, rate = 1.25, 0.13, 9.81, 0.6, 1.2
    edge = st.System(
        kinetic=m * (x.dot**2 + y.dot**2) / 2 + J * phi.dot**2 / 2,
        potential=-m * g * np.sin(alpha) * x,
        pfaffian=[st.Pfaffian(x.dot * sin(phi) - y.dot * cos(phi), name="edge")],
    )
    period = 2 * np.pi / rate
    motion = st.simulate(edge, span=(0, 3 * period), start={phi.dot: rate}, points=1001)
    angle, slope = rate * motion.t, g * np.sin(alpha)
    np.testing.assert_allclose(
        motion[x], slope / (2 * rate**2) * np.sin(angle) ** 2, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(
        motion[y],
        slope / (2 * rate**2) * (angle - np.sin(2 * angle) / 2),
        rtol=0,
        atol=1e-11,
    )
    # The lateral force: ours is along (sin φ, −cos φ), the book's along (−sin φ, cos φ).
    np.testing.assert_allclose(
        motion.lam["edge"], -2 * m * slope * np.sin(angle), rtol=0, atol=1e-11
    )
    at3 = motion.at(3.0)
    assert at3[x] == pytest.approx(0.37663158732221865515, abs=1e-12)
    assert at3[y] == pytest.approx(6.1606923012398170961, abs=1e-12)
    assert at3[x.dot] == pytest.approx(1.8317664690403295317, abs=1e-12)
    assert at3[y.dot] == pytest.approx(0.90391580957332477237, abs=1e-12)
    # Vakonomic mechanics, or a constraint put into T, would not drift like this.
    assert motion[y][-1] / 3 == pytest.approx(12.0845346530728035, abs=1e-11)


# -- chains ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("closed", [False, True])
def test_a_chain_accelerates_as_its_written_out_tensions_say(closed):
    # The tensions of a chain of point masses solve a tridiagonal system, written out by hand.
    chain = Chain(10, closed)
    system, start, _ = benchmark_chain(chain)
    motion = st.simulate(system, span=(0, 0.5), start=start, points=6)
    for q, v, a in zip(motion.q, motion.v, motion.a):
        places, speeds = q.reshape(-1, 2), v.reshape(-1, 2)
        expected = accelerations(chain, places, speeds)
        np.testing.assert_allclose(a.reshape(-1, 2), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("closed", [False, True])
def test_a_chain_ends_where_extrapolation_in_extended_precision_puts_it(closed):
    chain = Chain(3, closed)
    system, start, _ = benchmark_chain(chain)
    motion = st.simulate(system, span=(0, chain.last), start=start, points=2)
    assert reference_error(chain, motion.q[-1], motion.v[-1]) < 2e-14
    assert motion.residual["R"] < 1e-15
