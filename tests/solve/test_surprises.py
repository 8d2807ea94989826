"""Motions that look harmless where they begin."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq
from scipy.special import beta

import stationary as st
from tests.solve.held import G, pendulum

x, y = st.coordinates("x y")
F, mu = st.inputs("F"), st.parameters(mu=1000.0)
pushed = st.System(kinetic=x.dot**2 / 2, loads=[st.Load(F, on=x)])


@pytest.mark.parametrize(
    ("width", "method"),
    [
        *((width, "auto") for width in (1.0, 0.3, 0.1, 0.03)),
        *(pytest.param(w, st.Runge(), marks=pytest.mark.slow) for w in (1.0, 0.3, 0.1)),
        (0.03, st.Runge()),
    ],
    ids=str,
)
def test_a_pulse_long_after_the_start_gives_its_impulse(width, method):
    # The Gaussian is zero to all digits for most of the time; its integral is width √π.
    pulse = st.exp(-(((st.t - 50.3) / width) ** 2))
    motion = st.simulate(pushed, span=(0, 100), inputs={F: pulse}, method=method)
    assert motion[x.dot][-1] == pytest.approx(width * np.sqrt(np.pi), rel=1e-9)


def test_a_power_that_is_flat_at_the_start_gives_its_impulse():
    motion = st.simulate(pushed, span=(0, np.pi), inputs={F: st.sin(st.t) ** 200})
    # Wallis: the integral of sin²ᵐ over half a turn is π (2m − 1)!! / (2m)!!.
    even = np.arange(2, 201, 2)
    assert motion[x.dot][-1] == pytest.approx(np.pi * np.prod((even - 1) / even), rel=1e-9)


@pytest.mark.parametrize(
    ("turns", "method"),
    [
        (16.0, "auto"),
        *(pytest.param(17.3, m, marks=pytest.mark.slow) for m in ("auto", st.Runge(), st.BDF())),
    ],
    ids=str,
)
def test_products_that_are_flat_at_their_zeros_give_their_impulse(turns, method):
    # No power is higher than 12, and every step of one turn begins and ends at a zero of order 36.
    push = st.sin(st.t) ** 12 * (1 - st.cos(st.t)) ** 12
    motion = st.simulate(pushed, span=(0, 2 * np.pi * turns), inputs={F: push}, method=method)
    # sin¹² (1 − cos)¹² = 4¹² s³⁶ c¹² in half angles: over a turn 2·4¹²·B(37/2, 13/2).
    whole = 2 * 4.0**12 * beta(18.5, 6.5)
    part = (
        2 * 4.0**12 * quad(lambda s: np.sin(s) ** 36 * np.cos(s) ** 12, 0, np.pi * (turns % 1))[0]
    )
    accurate = 1e-9 if method == "auto" else 3e-7
    assert motion[x.dot][-1] == pytest.approx(int(turns) * whole + part, rel=accurate)


def test_a_peak_of_many_cosines_throws_back():
    # Higher than the energy only where all three are one; none of them is a high power.
    wall = 2 * st.cos(x) ** 12 * st.cos(2 * x) ** 12 * st.cos(4 * x) ** 12
    system = st.System(kinetic=x.dot**2 / 2, potential=wall)
    motion = st.simulate(system, span=(0, 8), start={x: np.pi / 2, x.dot: 1.0})
    assert motion[x.dot][-1] == pytest.approx(-1, abs=1e-6) and motion[x].max() < np.pi


@pytest.mark.parametrize("method", [st.Runge(), st.BDF()], ids=str)
def test_forces_beyond_the_end_of_a_motion_have_no_say(method):
    # After t = 10 the force grows as t²⁴; until then its integral is Euler's beta function.
    push = st.t**12 * (10 - st.t) ** 12 / 5**24
    motion = st.simulate(pushed, span=(0, 10), inputs={F: push}, method=method)
    assert motion[x.dot][-1] == pytest.approx(10.0**25 * beta(13, 13) / 5.0**24, rel=3e-9)


def test_backward_differentiation_remembers_how_fast_a_charge_was():
    # It has turned so far that one velocity is nearly nothing at a chunk's end; forces do no work.
    B = 100 * st.sin(x) ** 12
    charge = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2,
        loads=[st.Load(B * y.dot, on=x), st.Load(-B * x.dot, on=y)],
    )  # fmt: skip
    motion, other = (
        st.simulate(charge, span=(0, 20), start={x.dot: 1.0}, method=method)
        for method in (st.BDF(), "auto")
    )
    np.testing.assert_allclose(motion.y[-1, :4], other.y[-1, :4], rtol=0, atol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_errors_of_backward_differentiation_are_a_few_tolerances(seed):
    # Oscillators and decays from slow to stiff, in closed form: thousands of steps add up.
    rng = np.random.default_rng(seed)
    m, k, c = 10.0 ** rng.uniform((-1, 0, -2), (1, 4, 3))
    system = st.System(
        kinetic=m * x.dot**2 / 2, potential=k * x**2 / 2, dissipation=c * x.dot**2 / 2
    )
    start, span = rng.uniform(-1, 1, 2), 10.0 ** rng.uniform(-1, 1)
    motion = st.simulate(
        system, span=(0, span), start={x: start[0], x.dot: start[1]}, points=41, method=st.BDF()
    )
    r, t = np.roots([m, c, k]).astype(complex), motion.t
    one, two = np.linalg.solve(np.array([[1, 1], r]), start)
    expected = (one * np.exp(r[0] * t) + two * np.exp(r[1] * t)).real
    assert np.abs(motion[x] - expected).max() < 3e-8 * np.abs(expected).max()


def test_a_wall_that_moves_in_hits_what_rests():
    # An elastic wall at speed −2 against a body at rest: in its frame the body comes with 2 and
    # goes with −2, provided that the wall is higher than 2²/2.
    wall = st.exp(-(((x - 100 + 2 * st.t) / 0.2) ** 2))
    body = st.System(kinetic=x.dot**2 / 2, potential=4 * wall)
    motion = st.simulate(body, span=(0, 100))
    assert motion[x.dot][-1] == pytest.approx(-4, rel=1e-10)


@pytest.mark.parametrize("width", [0.3, 0.1, 0.03])
def test_a_narrow_barrier_higher_than_the_energy_throws_back(width):
    barrier = st.System(kinetic=x.dot**2 / 2, potential=2 * st.exp(-((x / width) ** 2)))
    motion = st.simulate(barrier, span=(0, 100), start={x: -50.0, x.dot: 1.0})

    def rates(t, z):
        return [z[1], 4 * z[0] / width**2 * np.exp(-((z[0] / width) ** 2))]

    settings = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13, "max_step": 0.05}
    expected = solve_ivp(rates, (0, 100), [-50.0, 1.0], **settings).y[:, -1]
    np.testing.assert_allclose(motion.y[-1], expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_digits_know_what_rounding_takes_in_a_narrow_well(seed):
    """What passes it is as fast behind as before; far away its places have fewer digits."""
    rng = np.random.default_rng(seed)
    unit, speed, deep = 10.0 ** rng.integers(-9, 10), rng.uniform(0.5, 2), rng.uniform(2, 20)
    away, width = unit * rng.choice([0.0, 100.0]), 10 ** rng.uniform(-4, -3)
    u = ((x - away) / unit - 2) / width
    well = st.System(kinetic=x.dot**2 / 2, potential=-(unit**2) * deep / (1 + u**2))
    motion = st.simulate(well, span=(0, 10), start={x: away, x.dot: speed * unit}, points=11)
    behind = motion.at(10.0)[x] / unit - away / unit - 2
    left = deep / (1 + (2 / width) ** 2) - deep / (1 + (behind / width) ** 2)
    lost = abs(motion[x.dot][-1] / unit - np.sqrt(speed**2 - 2 * left)) / speed
    assert motion.digits < 0.5 - np.log10(max(lost, 1e-16))


@pytest.mark.parametrize("width", [1e-3, 1e-2])
def test_fixed_steps_are_shorter_in_pulses_and_know_what_they_miss(width):
    pulse, impulse = st.exp(-(((st.t - 5) / width) ** 2)), np.sqrt(np.pi) * width
    fixed = st.Variational(step=0.01)
    motion = st.simulate(pushed, span=(0, 10), inputs={F: pulse}, method=fixed, points=11)
    off = abs(motion[x.dot][-1] / impulse - 1)
    assert off < 5e-5 and motion.digits < 0.1 - np.log10(off)


def test_a_motion_ends_where_the_domain_of_its_force_ends():
    # The first trial step of Runge–Kutta leaves the domain at once; the motion does so at x = 1.
    edge = st.System(kinetic=x.dot**2 / 2, potential=(1 - x) ** 1.5)
    motion = st.simulate(
        edge, span=(0, 1), start={x: 0.999, x.dot: 1.0}, method=st.Runge(), throw=False
    )
    assert motion.status == "blow-up"
    assert motion.t[-1] == pytest.approx(1e-3, rel=1e-3)


def test_a_force_whose_strength_is_zero_ends_a_motion_at_worst():
    k = st.parameters(k=0.0)
    centre = st.System(kinetic=x.dot**2 / 2, potential=k / x)
    motion = st.simulate(centre, span=(0, 2), start={x: 1.0, x.dot: -1.0}, throw=False)
    np.testing.assert_allclose(motion[x], 1 - motion.t, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("error")
def test_series_beyond_all_numbers_are_left_to_another_method():
    # The twentieth derivative of cos(ωt) is ω²⁰.
    k = st.parameters(k=1.0)
    fast = st.System(kinetic=x.dot**2 / 2, potential=k * x**2 / 2)
    motion = st.simulate(fast, span=(0, 1e-19), start={x: 1.0}, params={k: 1e40})
    np.testing.assert_allclose(motion[x], np.cos(1e20 * motion.t), rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ["auto", st.Runge(), st.BDF(), st.Variational(step=0.1)])
def test_energies_beyond_all_numbers_prove_nothing(method):
    spring = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2)
    far = st.simulate(spring, span=(0, 1), start={x: 1e200}, method=method, throw=False)
    assert far.status == "inaccurate" and "larger units" in far.status.message


def test_a_relaxation_oscillator_is_believed():
    # While it snaps over it has 10⁵ times the energy that it has at all output times.
    relaxing = st.System(
        kinetic=x.dot**2 / 2, potential=x**2 / 2, loads=[st.Load(mu * (1 - x**2) * x.dot, on=x)]
    )
    motion = st.simulate(relaxing, span=(0, 2000), start={x: 2.0})

    def rates(t, z):
        return [z[1], 1000 * (1 - z[0] ** 2) * z[1] - z[0]]

    expected = solve_ivp(rates, (0, 2000), [2.0, 0.0], method="Radau", rtol=1e-9, atol=1e-11)
    assert motion[x][-1] == pytest.approx(expected.y[0, -1], abs=1e-6)


@pytest.mark.slow
def test_projection_serves_backward_differentiation_too(capfd):
    held = pendulum()
    motion = st.simulate(
        held, span=(0, 1), start={"x": 1.0}, method=st.BDF(), stabilize=st.Projection()
    )
    expected = solve_ivp(
        lambda t, z: [z[1], -G * np.sin(z[0])], (0, 1), [np.pi / 2, 0],
        method="DOP853", rtol=1e-12, atol=1e-12,
    ).y[0, -1]  # fmt: skip
    np.testing.assert_allclose(motion["x"][-1], np.sin(expected), rtol=0, atol=1e-6)
    assert motion.residual["R"] < 1e-14
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("method", ["auto", st.Runge(), st.BDF()], ids=str)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_what_stays_where_it_is_while_others_move_takes_no_digits(unit, method):
    # A circle in polar coordinates: the radius stays, θ = ωt with ω² = 1/r³.
    r, theta = st.coordinates("r theta")
    orbit = st.System(kinetic=(r.dot**2 + (r * theta.dot) ** 2) / 2, potential=-(unit**3) / r)
    rate = 1.7**-1.5
    start = {r: 1.7 * unit, theta.dot: rate}
    motion = st.simulate(orbit, span=(0, 20), start=start, points=11, method=method)
    assert motion[r][-1] == pytest.approx(1.7 * unit, rel=1e-11)
    assert motion[theta][-1] == pytest.approx(20 * rate, rel=1e-11)
    assert motion.digits >= (13 if method == "auto" else 10)


def test_what_symmetry_holds_still_is_measured_by_noise_that_knows_none():
    """A parallelogram near its flat position, where last digits of one crank turn the coupler."""
    a, b, c = st.coordinates("a b c")
    linkage = st.System(
        kinetic=(a.dot**2 + b.dot**2) / 6 + c.dot**2 / 2000,
        potential=4.905 * (st.sin(a) + st.sin(b)),
        constraints=[
            st.cos(a) + 2 * st.cos(c) - 2 - st.cos(b),
            st.sin(a) + 2 * st.sin(c) - st.sin(b),
        ],
    )
    start = {a: -3.1527773350907542, b: -3.1527773350907444, c: -4.96e-15}
    start |= {a.dot: -3.3024764349518327, b.dot: -3.3024764349547167, c.dot: 1.44e-12}
    motion = st.simulate(linkage, span=(0, 0.01), start=start, method=st.Runge(), points=3)
    assert motion.steps < 30


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("method", ["auto", st.Runge(), st.BDF()], ids=["auto", "Runge", "BDF"])
def test_what_falls_from_rest_in_a_plane_is_slowed_by_the_square_of_its_speed(method, unit):
    # A root to the third power has a slope where it vanishes: none.
    c = 0.1 / unit
    speed = st.sqrt(x.dot**2 + y.dot**2)
    stone = st.particle(1.0, at=(x, y), gravity=9.81 * unit)
    stone += st.System(dissipation=c * speed**3 / 3)
    motion = st.simulate(stone, span=(0, 4), points=11, method=method)
    fastest = np.sqrt(9.81 * unit / c)
    fallen = fastest * np.tanh(motion.t * 9.81 * unit / fastest)
    assert abs(motion[y.dot] + fallen).max() < 1e-8 * fastest
    assert not motion[x].any()


@pytest.mark.parametrize("power", ["half", 2.5], ids=str)
def test_a_ball_strikes_as_deep_as_its_energy_presses_it_by_hertz(power):
    power = sp.Rational(5, 2) if power == "half" else power
    pressed = 0.4 * 1e4 * st.Max(0, -x) ** power
    ball = st.System(kinetic=x.dot**2 / 2, potential=9.81 * x + pressed)
    deepest = st.Event(x.dot, direction=1, terminal=True)
    motion = st.simulate(ball, span=(0, 2), start={x: 1.0}, events=[deepest])
    deep = brentq(lambda d: 9.81 * (1 + d) - 0.4 * 1e4 * d**2.5, 0, 1, xtol=1e-15)
    assert motion[x][-1] == pytest.approx(-deep, rel=1e-8)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1.0, 1e-9])
@pytest.mark.parametrize(
    ("law", "small"),
    [
        (lambda u: {"push": st.sinh(u) / st.cosh(u)}, 1e-9),
        (lambda u: {"potential": st.log(2 * st.cosh(u))}, 1e-9),
        (lambda u: {"push": st.exp(u) / st.cosh(u) - 1}, 1e-2),
    ],
    ids=["sinh", "log", "exp"],
)
def test_hyperbolic_functions_beyond_all_numbers_are_told_by_what_stays_finite(law, small, unit):
    # All are the hyperbolic tangent, which has numbers everywhere, and digits where it is small.
    ends, digits = [], []
    for form in (law, lambda u: {"push": st.tanh(u)}):
        given = [form(900 * c / unit) for c in (x, y)]
        valleys = st.System(
            kinetic=(x.dot**2 + y.dot**2) / 2,
            potential=sum(unit**2 / 900 * e.get("potential", 0) for e in given),
            loads=[st.Load(-unit * e.get("push", 0), on=c) for c, e in zip((x, y), given)],
        )
        motion = st.simulate(valleys, span=(0, 4), start={x: unit, y: small * unit}, points=11)
        ends.append(motion.y[-1, :2] / (unit, small * unit))
        digits.append(motion.digits)
    assert np.abs(ends[0] - ends[1]).max() < 10 ** (1 - min(digits))
    assert min(digits) > 11.5
