"""Motions against closed forms, conserved quantities, and one another."""

import threading

import mpmath
import numpy as np
import pytest
import sympy as sp

import stationary as st
from stationary.solve.progress import Progress
from tests.checks import assert_conserved, assert_order

x, y, theta = st.coordinates("x y theta")
oscillator = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2)
pendulum = st.System(kinetic=theta.dot**2 / 2, potential=-st.cos(theta))
METHODS = [st.Taylor(), st.Runge(), st.BDF()]


def snap(method) -> str:
    return type(method).__name__


# -- to rounding ----------------------------------------------------------------------------------


@pytest.mark.parametrize("degrees", [10, 30, 60, 90, 120, 150, 170])
def test_pendulum_period_matches_elliptic_integral(degrees):
    start = np.radians(degrees)
    turn = st.Event(theta.dot, direction=-1, terminal=True)
    motion = st.simulate(pendulum, span=(0, 100), start={theta: start}, events=[turn])
    with mpmath.workdps(30):
        period = 4 * mpmath.ellipk(mpmath.sin(mpmath.mpf(start) / 2) ** 2)
        assert abs(motion.t[-1] / period - 1) < 1e-13


def test_a_run_may_end_where_all_energies_vanish():
    # A pendulum released level is level and at rest again after one period: T = U = 0 at both ends.
    period = 4 * mpmath.ellipk(0.5)
    motion = st.simulate(pendulum, span=(0, float(period)), start={theta: np.pi / 2}, points=2)
    assert motion.status == "done"
    assert abs(motion[theta][-1] - np.pi / 2) < 1e-13


def test_a_tenth_power_started_where_its_series_has_gaps():
    # From the bottom of U = x¹⁰ nine derivatives of the force vanish: x(t) = vt + O(t¹¹).
    # Half a period is ∫ dx/√(2(E − x¹⁰)) over the well: a B(1/10, 1/2)/(5 √(2E)).
    well = st.System(kinetic=x.dot**2 / 2, potential=x**10)
    motion = st.simulate(well, span=(0, 10), start={x.dot: 1.0}, events=[st.Event(x)], points=11)
    with mpmath.workdps(30):
        half = mpmath.mpf(0.5) ** mpmath.mpf(0.1) * mpmath.beta(mpmath.mpf(1) / 10, 0.5) / 5
    expected = [float(k * half) for k in (1, 2, 3, 4)]
    np.testing.assert_allclose(motion.events[0], expected, rtol=1e-13)


def test_the_double_pendulum_released_level_is_right_to_rounding():
    # Both arms level at rest: only every fourth coefficient of the series at the start is there.
    # End state: references.md, CLS-DPEND A (two Taylor orders at 200 bits).
    a, b = st.coordinates("a b")
    level = st.System(
        kinetic=a.dot**2 + b.dot**2 / 2 + st.cos(a - b) * a.dot * b.dot,
        potential=-2 * 9.81 * st.cos(a) - 9.81 * st.cos(b),
    )
    motion = st.simulate(level, span=(0, 1), start={a: np.pi / 2, b: np.pi / 2}, points=2)
    expected = [
        -6.2508769980639062995413e-01, -1.0345850856800123406123e00,
        -3.9222795728879766168735e00, -1.3030992486963312433228e00,
    ]  # fmt: skip
    np.testing.assert_allclose(motion.y[-1], expected, rtol=0, atol=5e-15)


@pytest.mark.parametrize("power", [2, 10, 20, 25])
def test_a_load_that_sets_in_smoothly_from_rest_is_not_overlooked(power):
    # ẍ = tⁿ from rest: every derivative of the force up to order n − 1 vanishes at the start.
    F = st.inputs("F")
    pushed = st.System(kinetic=x.dot**2 / 2, loads=[st.Load(F, on=x)])
    motion = st.simulate(pushed, span=(0, 2), inputs={F: st.t**power}, points=5)
    expected = motion.t ** (power + 2) / ((power + 1) * (power + 2))
    digits = 1e-13
    np.testing.assert_allclose(motion[x], expected, rtol=digits, atol=digits * expected[-1])


def gimbal_lock():
    """A fast top in angles that fail along the vertical, which its axis all but reaches."""
    turn, tilt, spin = st.coordinates("turn tilt spin")
    top = st.System(
        kinetic=15.234375 * (turn.dot**2 * st.cos(tilt) ** 2 + tilt.dot**2) / 2
        + 0.46875 * (spin.dot + turn.dot * st.sin(tilt)) ** 2 / 2,
        potential=15 * 9.81 * st.sin(tilt),
    )
    return top, {turn.dot: -4.61538, spin.dot: 150.0}, (0, 2)


def steep_well(power):
    """A well so flat at its bottom that a series there sees nothing of its walls."""
    return st.System(kinetic=x.dot**2 / 2, potential=x**power), {x.dot: 1.0}, (0, 10)


@pytest.mark.parametrize(
    "case",
    [gimbal_lock, lambda: steep_well(22), lambda: steep_well(30)],
    ids=["gimbal lock", "x**22", "x**30"],
)
def test_a_motion_by_series_keeps_its_energy_or_is_not_given_out(case):
    system, start, span = case()
    try:
        motion = st.simulate(system, span=span, start=start)
    except st.DidNotConverge as error:
        assert error.status == "inaccurate"
        return
    assert motion.residual["energy"] < 1e-9 * np.max(np.abs(motion.kinetic))


def test_a_system_at_rest_stays_at_rest():
    for system, start in ((oscillator, {}), (st.System(kinetic=x.dot**2 / 2), {x: 1.0})):
        motion = st.simulate(system, span=(0, 3), start=start, points=5)
        np.testing.assert_array_equal(motion[x], np.full(5, start.get(x, 0.0)))
        assert motion.status == "done"


@pytest.mark.parametrize("method", ["auto", st.Runge(), st.BDF()], ids=str)
def test_rest_beside_the_origin_is_rest(method):
    place = st.parameters("place")
    well = st.System(kinetic=x.dot**2 / 2, potential=(x - place) ** 2 / 2)
    for at in (1e-9, 0.1, -1e6):
        motion = st.simulate(well, span=(0, 1), start={x: at}, params={place: at}, method=method)
        assert motion.status == "done" and np.all(motion[x] == at) and not motion[x.dot].any()


def test_a_relativistic_particle_under_constant_force():
    # T = −mc²√(1 − v²/c²): p = Ft, x = (mc²/F)(√(1 + (Ft/mc)²) − 1).
    F, (m, c) = st.inputs("F"), st.parameters(m=1.5, c=2.0)
    particle = st.System(kinetic=-m * c**2 * st.sqrt(1 - x.dot**2 / c**2), loads=[st.Load(F, on=x)])
    motion = st.simulate(particle, span=(0, 10), inputs={F: 3.0}, points=11)
    w = 3 * motion.t / (1.5 * 2)
    np.testing.assert_allclose(motion[x], 1.5 * 4 / 3 * (np.sqrt(1 + w**2) - 1), rtol=1e-14)
    np.testing.assert_allclose(motion[x.dot], 2 * w / np.sqrt(1 + w**2), rtol=1e-14)
    # The energy is γmc² (here without a potential): its change is the work F x.
    np.testing.assert_allclose(motion.energy, 6 * np.sqrt(1 + w**2), rtol=1e-12)
    np.testing.assert_allclose(motion.work, 3 * motion[x], rtol=1e-13)


def test_a_bead_in_a_rotating_tube_runs_away_as_cosh():
    # r̈ = Ω²r, stated with time in T through the position of the bead.
    r, (m, Omega) = st.coordinates("r"), st.parameters(m=2.0, Omega=1.5)
    tube = st.particle(m, at=(r * st.cos(Omega * st.t), r * st.sin(Omega * st.t)))
    motion = st.simulate(tube, span=(0, 4), start={r: 0.2}, points=9)
    np.testing.assert_allclose(motion[r], 0.2 * np.cosh(1.5 * motion.t), rtol=1e-14)
    # ṙ∂T/∂ṙ − T counts the motor's work: m(ṙ² − Ω²r²)/2 is kept, T itself is not.
    jacobi = 2.0 * (motion[r.dot] ** 2 - (1.5 * motion[r]) ** 2) / 2
    assert_conserved(jacobi, float(np.max(motion.kinetic)), 1e-15)
    assert motion.residual["energy"] < 1e-14 * np.max(motion.kinetic)


def test_a_growing_mass_slows_down_as_its_momentum_stays():
    # T = (1 + t)v²/2: p is kept, so that x = log(1 + t).
    growing = st.System(kinetic=(1 + st.t) * x.dot**2 / 2)
    motion = st.simulate(growing, span=(0, 4), start={x.dot: 1.0}, points=9)
    np.testing.assert_allclose(motion[x], np.log(1 + motion.t), rtol=0, atol=1e-15)
    np.testing.assert_allclose(motion.energy, 0.5 / (1 + motion.t), rtol=1e-14)
    assert motion.residual["energy"] < 1e-15


# -- work and energy ------------------------------------------------------------------------------


def test_a_damped_oscillator_loses_what_its_damper_takes():
    m, c, k = 2.0, 0.3, 5.0
    damped = st.System(
        kinetic=m * x.dot**2 / 2, potential=k * x**2 / 2, dissipation=c * x.dot**2 / 2
    )
    motion = st.simulate(damped, span=(0, 10), start={x: 1.0}, points=101)
    delta, omega = c / (2 * m), np.sqrt(k / m - (c / (2 * m)) ** 2)
    t = motion.t
    exact = np.exp(-delta * t) * (np.cos(omega * t) + delta / omega * np.sin(omega * t))
    np.testing.assert_allclose(motion[x], exact, rtol=0, atol=1e-14)
    np.testing.assert_allclose(motion.work, motion.energy - motion.energy[0], rtol=0, atol=1e-14)
    assert np.all(np.diff(motion.work) < 0)
    assert motion.residual["energy"] < 1e-14


@pytest.mark.parametrize("power", [1, 2, 3])
def test_a_fall_with_drag_follows_its_closed_form(power):
    # m v̇ = mg − ηvⁿ from rest; for n = 1 and 2 in closed form, for n = 3 the distance covered while
    # the speed grows: x = ∫ v dv/(g − ηv³).
    g, eta = 9.81, 0.5
    fall = st.System(kinetic=x.dot**2 / 2, potential=-g * x, friction=[st.Drag(eta, power, on=x)])
    motion = st.simulate(fall, span=(0, 1), points=6, rtol=1e-12, atol=1e-14)
    v = motion[x.dot]
    if power == 1:
        np.testing.assert_allclose(v, g / eta * (1 - np.exp(-eta * motion.t)), rtol=0, atol=1e-11)
    elif power == 2:
        np.testing.assert_allclose(
            v, np.sqrt(g / eta) * np.tanh(np.sqrt(g * eta) * motion.t), rtol=0, atol=1e-11
        )
    else:
        distance = mpmath.quad(lambda s: s / (g - eta * s**3), [0, v[-1]])
        assert abs(motion[x][-1] - distance) < 1e-11


def test_a_fall_with_quadratic_drag_in_the_plane_starts_from_rest():
    fall = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2, potential=9.81 * y, friction=[st.Drag(0.5, 2, on=(x, y))]
    )
    motion = st.simulate(fall, span=(0, 1), points=6)
    exact = -np.sqrt(9.81 / 0.5) * np.tanh(np.sqrt(9.81 * 0.5) * motion.t)
    np.testing.assert_allclose(motion[y.dot], exact, rtol=0, atol=1e-8)


def test_the_work_of_a_load_is_the_integral_of_its_power():
    F = st.inputs("F")
    driven = oscillator + st.System(loads=[st.Load(F, on=x)])
    motion = st.simulate(driven, span=(0, 6), inputs={F: st.cos(st.t)}, points=7)
    # Resonance from rest: x = t sin(t)/2; the work is ∫ cos t · ẋ dt.
    t = motion.t
    np.testing.assert_allclose(motion[x], t * np.sin(t) / 2, rtol=0, atol=1e-14)
    work = [mpmath.quad(lambda s: mpmath.cos(s) * (mpmath.sin(s) + s * mpmath.cos(s)) / 2, [0, e])
            for e in t]  # fmt: skip
    np.testing.assert_allclose(motion.work, np.array(work, dtype=float), rtol=0, atol=1e-13)
    np.testing.assert_allclose(motion.power, np.cos(t) * motion[x.dot], rtol=0, atol=1e-14)
    assert motion.residual["energy"] < 1e-13


def test_work_of_position_counts_as_work_and_not_as_energy():
    pulled = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2, work=3 * x)
    motion = st.simulate(pulled, span=(0, 5), points=11)
    np.testing.assert_allclose(motion[x], 3 * (1 - np.cos(motion.t)), rtol=0, atol=1e-14)
    np.testing.assert_allclose(motion.work, 3 * motion[x], rtol=0, atol=1e-13)
    np.testing.assert_allclose(motion.potential, motion[x] ** 2 / 2, rtol=1e-14)


def test_two_conserved_quantities_of_a_central_force():
    planet = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, potential=-1 / st.norm((x, y)))
    motion = st.simulate(planet, span=(0, 50), start={x: 0.4, y.dot: 2.0}, points=501)
    assert_conserved(motion.energy, float(np.max(np.abs(motion.potential))), 1e-14)
    assert_conserved(motion[x * y.dot - y * x.dot], 0.8, 1e-13)
    # The Runge–Lenz vector points to the perihelion for ever.
    lenz = motion[y.dot * (x * y.dot - y * x.dot) - x / st.norm((x, y))]
    assert_conserved(lenz, 0.6, 1e-12)


# -- methods --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "atol"), [(st.Taylor(), 2e-15), (st.Runge(), 1e-9), (st.BDF(), 5e-8)], ids=str
)
def test_every_method_finds_the_closed_form(method, atol):
    motion = st.simulate(oscillator, span=(0, 10), start={x: 1.0}, method=method, points=101)
    np.testing.assert_allclose(motion[x], np.cos(motion.t), rtol=0, atol=atol)
    np.testing.assert_allclose(motion[x.dot], -np.sin(motion.t), rtol=0, atol=atol)
    assert motion.method == snap(method)


def test_methods_agree_on_a_driven_damped_nonlinear_system():
    F = st.inputs("F")
    system = st.System(
        kinetic=(x.dot**2 + (1 + x**2) * y.dot**2) / 2,
        potential=x**4 / 4 + y**2 + st.cos(x - y),
        dissipation=(x.dot**2 + y.dot**2) / 10,
        loads=[st.Load(F, on=x * y)],
    )
    ends = [
        st.simulate(
            system,
            span=(0, 10),
            start={x: 1.0, y.dot: 0.5},
            inputs={F: st.sin(2 * st.t)},
            points=11,
            method=method,
            rtol=1e-12,
            atol=1e-14,
        ).y[-1]
        for method in METHODS
    ]
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(ends[2], ends[0], rtol=0, atol=1e-8)


def test_runge_kutta_converges_with_order_eight():
    # An error of order h⁸ per unit of time lets steps grow as the eighth root of the tolerance.
    exact = st.simulate(pendulum, span=(0, 20), start={theta: 2.0}, points=201)
    tolerances = [10.0**-e for e in range(5, 13)]
    lengths, errors = [], []
    for rtol in tolerances:
        motion = st.simulate(
            pendulum,
            span=(0, 20),
            start={theta: 2.0},
            points=201,
            method=st.Runge(),
            rtol=rtol,
            atol=rtol,
        )
        lengths.append(20 / motion.steps)
        errors.append(float(np.max(np.abs(motion[theta] - exact[theta]))))
    assert_order(lengths, tolerances, 8, within=1.0)
    assert_order(tolerances, errors, 1, within=0.15)


def test_tolerances_bound_the_work_as_well_as_the_error():
    loose, tight = (
        st.simulate(
            pendulum, span=(0, 20), start={theta: 2.0}, method=st.Runge(), rtol=r, atol=r
        ).steps
        for r in (1e-6, 1e-12)
    )
    # Order 8: six digits more cost 10^(6/8) ≈ 5.6 times the steps.
    assert 3 * loose < tight < 10 * loose
    assert st.simulate(pendulum, span=(0, 20), start={theta: 2.0}).steps < 110


def test_auto_takes_taylor_series_between_kinks():
    kinked = st.System(kinetic=x.dot**2 / 2, potential=st.Abs(x))
    motion = st.simulate(kinked, span=(0, 8), start={x: 1.0}, points=9)
    assert motion.method == "Taylor" and motion.steps < 25
    # Parabolas, one after the other: period 4√2, and x(√2) = 0.
    quarter = np.sqrt(2)
    phase = motion.t % (4 * quarter)
    exact = np.where(
        phase < quarter,
        1 - phase**2 / 2,
        np.where(
            phase < 3 * quarter,
            (phase - 2 * quarter) ** 2 / 2 - 1,
            1 - (phase - 4 * quarter) ** 2 / 2,
        ),
    )
    np.testing.assert_allclose(motion[x], exact, rtol=0, atol=1e-13)


def test_auto_changes_to_bdf_where_a_system_turns_out_stiff():
    # An overdamped creep: rates 10⁵ and 10⁻⁵, over 10⁵ time units.
    creep = st.System(kinetic=x.dot**2 / 2, dissipation=1e5 * x.dot**2 / 2, potential=x**2 / 2)
    motion = st.simulate(creep, span=(0, 1e5), start={x: 1.0}, points=11)
    assert motion.method == "Taylor then BDF"
    assert motion.steps < 5000
    fast, slow = np.roots([1, 1e5, 1])
    exact = (slow * np.exp(fast * motion.t) - fast * np.exp(slow * motion.t)) / (slow - fast)
    np.testing.assert_allclose(motion[x], exact, rtol=0, atol=1e-7)


@pytest.mark.parametrize("rtol", [0.0, -1e-6, float("nan"), "tight"])
def test_a_tolerance_that_is_not_a_positive_number_is_refused(rtol):
    with pytest.raises(st.StatementError):
        st.simulate(oscillator, span=(0, 1e-3), start={x: 1.0}, rtol=rtol)


@pytest.mark.parametrize("what", [3, None, x, "oscillator"])
def test_what_is_no_system_cannot_be_simulated(what):
    with pytest.raises(st.StatementError):
        st.simulate(what, span=(0, 1))


def test_a_system_without_coordinates_is_refused():
    with pytest.raises(st.StationaryError):
        st.simulate(st.System(), span=(0, 1))


# -- between output times -------------------------------------------------------------------------


@pytest.mark.parametrize("points", [2, 11, 1001])
@pytest.mark.parametrize(
    ("method", "atol"), [(st.Taylor(), 2e-15), (st.Runge(), 1e-9), (st.BDF(), 1e-7)], ids=str
)
def test_a_motion_is_known_between_its_output_times(method, atol, points):
    motion = st.simulate(oscillator, span=(0, 10), start={x: 1.0}, points=points, method=method)
    times = np.linspace(0, 10, 77)
    between = motion.at(times)
    np.testing.assert_allclose(between[x], np.cos(times), rtol=0, atol=atol)
    np.testing.assert_allclose(between[x.dot], -np.sin(times), rtol=0, atol=atol)
    np.testing.assert_allclose(between[x.ddot], -np.cos(times), rtol=0, atol=atol)


def test_one_time_gives_numbers_and_several_give_arrays_in_their_order():
    motion = st.simulate(oscillator, span=(0, 10), start={x: 1.0}, points=3)
    instant = motion.at(3.2)
    assert isinstance(instant[x], float) and instant.t == 3.2
    assert instant[x] == pytest.approx(np.cos(3.2), abs=1e-15)
    assert instant.energy == pytest.approx(0.5, abs=1e-15)
    assert instant[x**2 + x.dot**2] == pytest.approx(1.0, abs=1e-15)
    times = [7.0, 0.0, 10.0, 3.3, 3.3]
    np.testing.assert_allclose(motion.at(times)[x], np.cos(times), rtol=0, atol=2e-15)
    np.testing.assert_array_equal(motion.at(times).t, times)


def test_output_times_are_evenly_spaced_and_end_exactly():
    motion = st.simulate(oscillator, span=(-5, 5), start={x: 1.0}, points=101)
    np.testing.assert_array_equal(motion.t, np.linspace(-5, 5, 101))
    np.testing.assert_allclose(motion[x], np.cos(motion.t + 5), rtol=0, atol=2e-15)


# -- motions that end early -----------------------------------------------------------------------

# U = −x⁴/4 from x = 1 at rest: x = 1/cn(t | 1/2), infinite at t = K(1/2).
runaway = st.System(kinetic=x.dot**2 / 2, potential=-(x**4) / 4)
BLOW_UP = float(mpmath.ellipk(0.5))


def exact_runaway(times):
    return np.array([float(1 / mpmath.ellipfun("cn", t, m=0.5)) for t in times])


def test_the_time_of_the_blow_up_is_a_complete_elliptic_integral():
    assert BLOW_UP == pytest.approx(1.8540746773013719, abs=1e-15)


@pytest.mark.parametrize("method", ["auto", st.Runge()], ids=str)
def test_a_motion_that_blows_up_stops_with_its_last_good_state(method):
    with pytest.raises(st.DidNotConverge) as caught:
        st.simulate(runaway, span=(0, 10), start={x: 1.0}, method=method)
    motion = caught.value.solution
    assert motion.status == "blow-up" and not motion.success
    assert 1.85 <= motion.t[-1] < BLOW_UP + 1e-9
    assert np.all(np.isfinite(motion.y))
    early = motion.t < 1.8
    assert np.sum(early) == 180
    exact = exact_runaway(motion.t[early])
    np.testing.assert_allclose(motion[x][early], exact, rtol=1e-12 if method == "auto" else 1e-7)
    assert motion.at(motion.t[-1])[x] == motion[x][-1]


def test_the_last_good_state_does_not_depend_on_the_output_times():
    motion = st.simulate(runaway, span=(0, 10), start={x: 1.0}, points=2, throw=False)
    assert motion.status == "blow-up"
    assert 1.85 < motion.t[-1] < BLOW_UP
    assert motion[x][-1] == pytest.approx(exact_runaway(motion.t[-1:])[0], rel=1e-6)


def test_a_motion_that_blows_up_is_returned_where_that_is_asked_for():
    motion = st.simulate(runaway, span=(0, 10), start={x: 1.0}, throw=False)
    assert motion.status == "blow-up"
    assert "1.85407" in motion.status.message


def test_a_start_at_a_singularity_says_so_and_not_that_time_is_nan():
    orbit = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, potential=-1 / st.norm((x, y)))
    with pytest.raises(st.StationaryError) as caught:
        st.simulate(orbit, span=(0, 1))
    assert "nan" not in str(caught.value)


def test_ctrl_c_returns_what_there_is(monkeypatch):
    seen = []

    def interrupt(self, fraction):
        seen.append(fraction)
        if len(seen) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "show", interrupt)
    motion = st.simulate(oscillator, span=(0, 1e5), start={x: 1.0}, points=100_001)
    assert motion.status == "interrupted"
    assert "keyboard" in motion.status.message
    assert 0 < motion.t[-1] < 1e4
    assert len(motion.t) == len(motion[x]) == len(motion.energy) > 100
    np.testing.assert_allclose(motion[x], np.cos(motion.t), rtol=0, atol=1e-11)
    assert motion.at(motion.t[-1] / 2)[x] == pytest.approx(np.cos(motion.t[-1] / 2), abs=1e-11)


# -- two at once ----------------------------------------------------------------------------------


def test_two_threads_may_simulate_the_same_system_at_once():
    starts = [0.5, 1.0, 1.5, 2.0]
    settings = {"span": (0, 200), "points": 21}
    alone = {a: st.simulate(pendulum, start={theta: a}, **settings)[theta] for a in starts}
    together: dict[float, list] = {a: [] for a in starts}

    def run(a):
        for _ in range(8):
            together[a].append(st.simulate(pendulum, start={theta: a}, **settings)[theta])

    threads = [threading.Thread(target=run, args=(a,)) for a in starts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for a in starts:
        assert len(together[a]) == 8
        for found in together[a]:
            np.testing.assert_array_equal(found, alone[a])


# -- what a motion gives back ---------------------------------------------------------------------


def test_a_motion_evaluates_expressions_of_everything_it_knows():
    m, F = st.parameters(m=2.0), st.inputs("F")
    system = st.System(kinetic=m * x.dot**2 / 2, loads=[st.Load(F, on=x)])
    motion = st.simulate(
        system, span=(0, 3), start={x.dot: 1.0}, params={m: 4.0}, inputs={F: st.t}, points=7
    )
    t = motion.t
    np.testing.assert_allclose(motion[x], t + t**3 / 24, rtol=1e-14)
    np.testing.assert_allclose(motion[m * x.dot - F * st.t], 4 + t**2 / 2 - t**2, atol=1e-13)
    np.testing.assert_allclose(motion[x.ddot], t / 4, rtol=1e-14)
    np.testing.assert_allclose(motion[m * x.ddot - F], 0, atol=1e-14)
    np.testing.assert_array_equal(motion["F"], t)
    np.testing.assert_array_equal(motion["m"], np.full(7, 4.0))
    np.testing.assert_array_equal(motion[(x, x.dot)], np.stack([motion[x], motion[x.dot]], -1))
    np.testing.assert_array_equal(motion[st.t], t)
    np.testing.assert_array_equal(motion[(x - x, 2)], np.tile([0.0, 2.0], (7, 1)))


def test_a_motion_prints_its_evidence():
    motion = st.simulate(oscillator, span=(0, 1), start={x: 1.0}, points=3)
    first, status, energy, digits = str(motion).splitlines()
    assert first.startswith("Motion of a system: t = 0 … 1, 3 times, Taylor, ")
    assert status == "  status          done: reached the end of the span"
    assert energy.startswith("  energy balance  ")
    assert digits == f"  digits left at the end: {int(motion.digits)}"


def test_a_motion_becomes_a_table_and_a_dataset():
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    r = st.coordinates("r", shape=(3, 2))
    system = st.System(
        kinetic=x.dot**2 / 2 + st.each(lambda v: v[0] ** 2 + v[1] ** 2, r.dot),
        potential=x**2 / 2,
        coordinates=(x, r),
    )
    start = {x: 1.0, r: np.arange(6).reshape(3, 2), r.dot: 1.0}
    motion = st.simulate(system, span=(0, 1), start=start, points=5)
    frame, data = motion.to_dataframe(), motion.to_xarray()
    assert isinstance(frame, pandas.DataFrame) and isinstance(data, xarray.Dataset)
    np.testing.assert_array_equal(frame["r[2,1]"], motion[r[2, 1]])
    np.testing.assert_array_equal(frame["x.dot"], motion[x.dot])
    np.testing.assert_array_equal(frame.index, motion.t)
    np.testing.assert_array_equal(data["r"], motion[r])
    np.testing.assert_array_equal(data["t"], motion.t)
    assert data["r.dot"].shape == (5, 3, 2)


def test_results_serve_as_starts():
    # A motion goes on from where it was; a body in space, in nine numbers, too.
    whole = st.simulate(pendulum, span=(0, 4), start={theta: 1.0}, points=5)
    rest = st.simulate(pendulum, span=(2, 4), start=whole.at(2.0), points=2)
    np.testing.assert_allclose(rest.y[-1], whole.y[-1], rtol=1e-11)
    turn = st.rotation("turn")
    w = turn.omega
    top = st.System(kinetic=(w[0] ** 2 + 2 * w[1] ** 2 + 3 * w[2] ** 2) / 2)
    whole = st.simulate(top, span=(0, 4), start={w: (0.1, 1, 0.2)}, points=3)
    rest = st.simulate(top, span=(2, 4), start=whole.at(2.0), points=2)
    np.testing.assert_allclose(rest.y[-1], whole.y[-1], rtol=1e-10, atol=1e-12)
    # And rest is where a search, or a motion, begins.
    down = st.statics(pendulum, start={theta: 0.1})
    assert st.statics(pendulum, start=down)[theta] == down[theta]
    still = st.simulate(pendulum, span=(0, 1), start=down, points=2)
    assert abs(still[theta][-1]) < 1e-15


def test_sympy_numbers_serve_as_starts():
    motion = st.simulate(pendulum, span=(0, 1), start={theta: sp.pi / 3}, points=2)
    assert motion[theta][0] == float(sp.pi / 3)
