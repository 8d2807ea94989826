"""Every step that is kept has been looked at; what fails is told, and by us alone."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.linalg import eigh
from scipy.special import ellipk

import stationary as st

x, y = st.coordinates("x y")

# Forces on a free mass that is at rest and without force at t = 0: law, place at t = 4 (unit mass).
PUSHES = {
    "ramp": (st.t, 4**3 / 6),
    "sine": (st.sin(st.t), 4 - np.sin(4)),
    "step": (st.Piecewise((0, st.t < 1), (1, True)), 4.5),
    "late pulse": (st.Piecewise((0, st.t < 2), (st.sin(np.pi * (st.t - 2)), st.t < 3), (0, True)),
                   2 / np.pi * 1.5),
}  # fmt: skip


@pytest.mark.parametrize("name", PUSHES)
@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e9])
def test_a_variational_step_moves_what_rests(name, unit):
    law, end = PUSHES[name]
    system = st.System(kinetic=x.dot**2 / 2, work=unit * law * x)
    for step, order in ((0.1, 1e-1), (0.01, 1e-3)):
        motion = st.simulate(system, span=(0, 4), method=st.Variational(step=step))
        assert motion[x][-1] / unit == pytest.approx(end, abs=order)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e9])
def test_a_variational_step_moves_what_rests_on_a_constraint(unit):
    # Two masses held together at the origin, one of them pulled by a ramp.
    system = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[st.Constraint(x - y)], work=unit * st.t * x
    )
    motion = st.simulate(system, span=(0, 4), method=st.Variational(step=0.01))
    assert motion[x][-1] / unit == pytest.approx(4**3 / 12, rel=1e-4)
    assert abs(motion[x] - motion[y]).max() <= 1e-12 * unit


def test_a_sampled_push_moves_what_rests():
    push = st.inputs("push")
    system = st.System(kinetic=x.dot**2 / 2, work=push * x)
    motion = st.simulate(
        system, span=(0, 4), inputs={push: ([0, 1, 2, 4], [0, 0, 1, 1])},
        method=st.Variational(step=0.01),
    )  # fmt: skip
    # A ramp from 1 to 2, then one: the momentum 1/2 + 2, the place ∫∫.
    assert motion[x][-1] == pytest.approx(1 / 6 + 0.5 * 2 + 2, rel=1e-4)


@pytest.mark.slow
def test_no_library_writes_to_the_terminal(capfd):
    runaway = st.System(kinetic=x.dot**2 / 2, potential=-(x**4))
    lost = st.System(kinetic=x.dot**2 / 2, potential=2 * st.sqrt(1 - x))
    held = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2, potential=x - x**4,
        constraints=[st.Constraint(x**2 - y, "parabola")],
    )  # fmt: skip
    methods = (st.Variational(step=0.1), st.BDF(), st.Runge(), "auto")
    for system in (runaway, lost, held):
        for method in methods:
            for start in ({x: 0.5, y: 0.25}, {x.dot: 1.0}):
                start = {k: v for k, v in start.items() if system is held or k != y}
                motion = st.simulate(system, span=(0, 9), start=start, method=method, throw=False)
                assert motion.status
    # Without a lowest point the search for rest asks every solver it knows.
    with pytest.raises(st.DidNotConverge):
        st.statics(st.System(potential=x**3 - 3 * st.log(y)), start={x: -1.0, y: 1.0})
    written = capfd.readouterr()
    assert (written.out, written.err) == ("", "")


# -- sharp features -------------------------------------------------------------------------------


def reference(f, y0, end):
    """Integrate ẏ = f by an implicit method of its own steps, none longer than 1e-3 of the way."""
    found = solve_ivp(f, (0, end), y0, method="LSODA", rtol=1e-10, atol=1e-13, max_step=end / 1000)
    return found.y[:, -1]


@pytest.mark.parametrize("sharpness", [1e2, 1e4])
def test_regularized_friction_comes_out_right(sharpness):
    system = st.System(
        kinetic=x.dot**2 / 2, potential=x**2 / 2,
        loads=[st.Load(-0.3 * st.tanh(sharpness * x.dot), on=x)],
    )  # fmt: skip
    expected = reference(
        lambda t, y: [y[1], -y[0] - 0.3 * np.tanh(sharpness * y[1])], [1.0, 1.0], 10
    )
    for method in ("auto", st.Runge(), st.BDF()):
        motion = st.simulate(system, span=(0, 10), start={x: 1.0, x.dot: 1.0}, method=method)
        np.testing.assert_allclose(motion.y[-1, :2], expected, rtol=0, atol=1e-6)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("case", range(12))
def test_no_wall_is_thin_enough_to_be_passed(case):
    # A wall higher than the energy throws back, whatever its width, its place, its shape, the units
    # of length and time; a mass that comes back arrives at its start with its speed.
    rng = np.random.default_rng(case)
    length, time = 10.0 ** rng.uniform(-9, 9), 10.0 ** rng.uniform(-6, 6)
    width = 10.0 ** rng.uniform(-5, -2)
    place = rng.uniform(2, 9)
    X = (x / length - place) / width
    shape = [
        st.exp(-(X**2)),
        1 - st.tanh(X) ** 2,
        st.exp(-(X**4)),
        (st.tanh(X + 1) - st.tanh(X - 1)) / 1.5,
    ][case % 4]
    speed = length / time
    system = st.System(kinetic=x.dot**2 / 2, potential=2 * speed**2 * shape)
    motion = st.simulate(system, span=(0, 2 * place * time), start={x.dot: speed})
    assert motion[x.dot][-1] == pytest.approx(-speed, rel=1e-9)
    assert abs(motion[x]).max() < place * length
    # The way inside the wall saves or costs no more than a few widths.
    assert abs(motion[x][-1]) < 20 * width * length


def test_a_wall_lower_than_the_energy_is_passed_and_felt():
    # Slower inside: the time lost is ∫ (1/√(v² − 2U) − 1/v) dx.
    width, height = 1e-3, 0.4
    system = st.System(kinetic=x.dot**2 / 2, potential=height * st.exp(-(((x - 5.3) / width) ** 2)))
    lost = width * quad(lambda s: 1 / np.sqrt(1 - 2 * height * np.exp(-(s**2))) - 1, -9, 9)[0]
    motion = st.simulate(system, span=(0, 10), start={x.dot: 1.0})
    assert 10 - motion[x][-1] == pytest.approx(lost, abs=2e-11)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_a_short_pulse_gives_all_its_momentum(unit):
    width = 1e-3 * unit
    pulse = st.exp(-(((st.t - 5 * unit) / width) ** 2)) / (np.sqrt(np.pi) * width)
    system = st.System(kinetic=x.dot**2 / 2, work=x * pulse)
    motion = st.simulate(system, span=(0, 10 * unit))
    assert motion[x.dot][-1] == pytest.approx(1.0, rel=1e-10)


def test_short_ranges_are_no_blow_up():
    between = st.System(kinetic=x.dot**2 / 2, potential=st.exp(-200 * x) + st.exp(-200 * (1 - x)))
    floor = st.System(kinetic=x.dot**2 / 2, potential=G * x + st.log(1 + st.exp(-x / 0.001)))
    for system, start in ((between, {x: 0.5, x.dot: 1.0}), (floor, {x: 1.0})):
        motion = st.simulate(system, span=(0, 3), start=start)
        other = st.simulate(system, span=(0, 3), start=start, method=st.Runge(), rtol=1e-13)
        assert motion.method == "Taylor" and abs(motion.balance).max() < 1e-13 * G
        np.testing.assert_allclose(motion.y[-1], other.y[-1], rtol=0, atol=1e-9)


def test_what_rests_beside_short_ranges_costs_them_no_digits():
    # What a step that has gone astray makes of a velocity is no size to be exact beside.
    between = st.exp(-200 * x) + st.exp(-200 * (1 - x))
    system = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, potential=between)
    motion = st.simulate(system, span=(0, 10), start={x: 0.5, x.dot: 1.0})
    assert motion.method == "Taylor" and abs(motion.balance).max() < 1e-13


@pytest.mark.parametrize("length", [1e-12, 1.0, 1e9])
@pytest.mark.parametrize("time", [1e-15, 1.0, 1e9])
def test_series_are_as_accurate_in_every_unit(length, time):
    # Two springs that pull at each other, one a thousand times weaker and softer than the other.
    system = st.System(
        kinetic=(x.dot**2 + 1e-6 * y.dot**2) / 2,
        potential=(x**2 + 1e-3 * (y / 10) ** 2 + 1e-7 * (x - y) ** 2) / (2 * time**2),
    )
    start = {x: length, y: 1e-4 * length}
    motion = st.simulate(system, span=(0, 20 * time), start=start, points=3)
    M = np.diag([1, 1e-6])
    K = np.array([[1 + 1e-7, -1e-7], [-1e-7, 1e-5 + 1e-7]])
    squares, shapes = eigh(K, M)
    parts = shapes.T @ M @ [1, 1e-4]
    expected = shapes @ (parts * np.cos(20 * np.sqrt(squares)))
    np.testing.assert_allclose(motion.q[-1] / length, expected, rtol=0, atol=2e-13)


@pytest.mark.parametrize("unit", [1e-9, 1.0])
@pytest.mark.parametrize("method", [st.Runge(), st.BDF()], ids=["runge", "bdf"])
def test_no_method_passes_a_thin_wall(method, unit):
    wall = 10 * unit**2 * st.exp(-(((x / unit - 5.3) / 0.001) ** 2))
    system = st.System(kinetic=x.dot**2 / 2, potential=wall)
    expected = st.simulate(system, span=(0, 10), start={x.dot: unit})[x][-1] / unit
    assert expected == pytest.approx(0.6, abs=0.01)
    for points in (11, 1001):
        motion = st.simulate(
            system, span=(0, 10), start={x.dot: unit}, method=method, points=points
        )
        assert motion[x][-1] / unit == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("width", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("method", [st.Runge(), st.BDF()], ids=["runge", "bdf"])
def test_a_wall_that_is_thinner_than_a_tolerance_is_none_to_pass(method, width):
    # It goes back from where it came, up to what the tolerance makes of the speed.
    wall = st.System(kinetic=x.dot**2 / 2, potential=10 * st.exp(-(((x - 5.3) / width) ** 2)))
    for rtol in (1e-7, 1e-5, 1e-3):
        motion = st.simulate(
            wall, span=(0, 10), start={x.dot: 1.0}, method=method, rtol=rtol, atol=rtol / 100
        )
        assert motion[x.dot][-1] == pytest.approx(-1, abs=300 * rtol)


def test_what_last_digits_of_a_place_take_at_a_thin_wall_is_no_failure():
    """They are 1e-11 of the energy there, which the run loses between two of the times told."""
    wall = 1e-11 * st.exp(-((31468065389.4123 * x - 81828.1205458769) ** 2))
    system = st.System(kinetic=x.dot**2 / 2, potential=wall)
    motion = st.simulate(system, span=(0, 10), start={x.dot: 1.34526622736491e-06}, points=11)
    assert motion[x.dot][-1] == pytest.approx(-1.34526622736491e-06, rel=1e-9)


@pytest.mark.parametrize(
    "method", ["auto", st.Runge(), pytest.param(st.BDF(), marks=pytest.mark.slow)], ids=str
)
def test_pulses_and_walls_of_a_billionth_are_met(method):
    # Last digits of time and place are a millionth of them: so much is known of what they do.
    width = 1e-9
    pulse = st.exp(-(((st.t - 5) / width) ** 2)) / (np.sqrt(np.pi) * width)
    motion = st.simulate(
        st.System(kinetic=x.dot**2 / 2, work=x * pulse), span=(0, 10), method=method
    )
    assert motion[x.dot][-1] == pytest.approx(1, abs=3e-6)
    wall = st.System(kinetic=x.dot**2 / 2, potential=10 * st.exp(-(((x - 5.3) / width) ** 2)))
    motion = st.simulate(wall, span=(0, 10), start={x.dot: 1.0}, method=method)
    assert motion[x.dot][-1] == pytest.approx(-1, abs=3e-5)


@pytest.mark.parametrize("place", [1.69955897885941, 5.3])
@pytest.mark.parametrize("method", ["auto", st.Runge(), st.BDF()], ids=str)
def test_a_thin_well_is_not_jumped_over_where_steps_fail_in_it(method, place):
    """Nothing but the time of the passage tells of it: far away all is as it was."""
    width, depth = 1.16e-5, 3.0
    shape = st.exp(-(((x - place) / width) ** 2))
    well = st.System(kinetic=x.dot**2 / 2, potential=-depth * shape / 2)
    motion = st.simulate(well, span=(0, 10), start={x.dot: 1.0}, method=method, rtol=1e-8)
    s = np.linspace(-9, 9, 2001)
    gained = width * np.trapezoid(1 - 1 / np.sqrt(1 + depth * np.exp(-(s**2))), s)
    assert motion[x][-1] - 10 == pytest.approx(gained, abs=3e-7)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("width", [1e-9, 1e-7, 1e-5])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_fixed_steps_in_short_pulses_are_refuted_by_no_last_digits_of_time(width, unit):
    """Lengths of steps are differences of times; at its feet a pulse changes with each of these."""
    pulse = st.exp(-(((st.t / unit - 5) / width) ** 2)) / (np.sqrt(np.pi) * width * unit)
    system = st.System(kinetic=x.dot**2 / 2, work=x * pulse)
    motion = st.simulate(system, span=(0, 10 * unit), method=st.Variational(step=0.1 * unit))
    assert motion[x.dot][-1] == pytest.approx(1.0, abs=1e-3)


def test_a_fixed_step_over_a_thin_wall_is_told():
    system = st.System(kinetic=x.dot**2 / 2, potential=10 * st.exp(-(((x - 5.3) / 0.001) ** 2)))
    with pytest.raises(st.DidNotConverge, match="jumps over") as caught:
        st.simulate(system, span=(0, 10), start={x.dot: 1.0}, method=st.Variational(step=0.01))
    assert caught.value.status == "inaccurate"
    assert 5.2 < caught.value.solution[x][-1] < 5.31


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("method", [st.Runge(), st.BDF()], ids=["runge", "bdf"])
def test_tolerances_are_those_of_the_motion_s_own_size(method, unit):
    # Duffing's spring: from rest at 1 its period is 4 K(1/4)/√2.
    spring = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2 + x**4 / unit**2 / 4)
    period = 4 * ellipk(0.25) / np.sqrt(2)
    motion = st.simulate(spring, span=(0, period), start={x: unit}, method=method, points=5)
    assert motion[x][-1] / unit == pytest.approx(1.0, abs=1e-8)
    assert motion[x.dot][-1] / unit == pytest.approx(0.0, abs=1e-6)


EDGES = {
    "'1 - x' reaches zero, where its root ends": 2 * st.sqrt(1 - x),
    "'2 - x' reaches zero, where its logarithm ends": st.log(2 - x),
    "'x + 1' reaches zero, by which is divided": -1 / (x + 1),
    "'1 - x**2' reaches zero, where asin ends": -st.asin(x),
}


@pytest.mark.parametrize("told", EDGES)
@pytest.mark.parametrize(
    "method", ["auto", pytest.param(st.BDF(), marks=pytest.mark.slow)], ids=["auto", "bdf"]
)
def test_the_end_of_a_domain_is_told_by_name(told, method):
    system = st.System(kinetic=x.dot**2 / 2, potential=EDGES[told])
    with pytest.raises(st.DidNotConverge, match="throw=False") as caught:
        st.simulate(system, span=(0, 10), start={x: 0.5}, method=method)
    assert told in str(caught.value)
    assert np.isfinite(caught.value.solution.y).all()


# -- how far the end can be trusted ---------------------------------------------------------------

a, b = st.coordinates("a b")
G = 9.81


def double_pendulum():
    return st.System(
        kinetic=a.dot**2 + b.dot**2 / 2 + a.dot * b.dot * st.cos(a - b),
        potential=-G * (2 * st.cos(a) + st.cos(b)),
    )


def in_positions():
    u, v = st.coordinates("u v")
    masses = st.particle(1, at=(x, y), gravity=G) + st.particle(1, at=(u, v), gravity=G)
    rods = st.rod((0, 0), (x, y), 1, name="upper") + st.rod((x, y), (u, v), 1, name="lower")
    return masses + rods, u, v


@pytest.mark.one_in(3)
@pytest.mark.parametrize("method", ["auto", st.Runge(), st.BDF()], ids=["series", "runge", "bdf"])
def test_digits_left_are_those_that_another_statement_of_the_same_motion_shares(method):
    # A double pendulum in angles, and in positions on rods by series: errors of their own.
    system, u, v = in_positions()
    more, ends = [], []
    # Each from another start: on one motion errors of different sign may meet by chance for long.
    runs = (2, 2.0, 1.0), (6, 1.6, 2.1), (8, 2.3, 1.3), (10, 1.3, 1.7), (30, 2.0, 1.0)
    for end, up, low in runs:
        start = {x: np.sin(up), y: -np.cos(up)}
        start |= {u: np.sin(up) + np.sin(low), v: -np.cos(up) - np.cos(low)}
        one = st.simulate(double_pendulum(), span=(0, end), start={a: up, b: low}, method=method)
        other = st.simulate(system, span=(0, end), start=start)
        places = [st.sin(a), -st.cos(a), st.sin(a) + st.sin(b), -st.cos(a) - st.cos(b)]
        missed = max(abs(one[e][-1] - other[s][-1]) for e, s in zip(places, (x, y, u, v)))
        shared = np.clip(-np.log10(max(missed, 1e-16)), 0, 16)
        # The difference holds the error of either. Digits that are told are there at every end.
        more.append(shared - min(one.digits, other.digits))
        assert more[-1] > -1.5
        ends.append(one)
    assert np.median(more) < 2.5
    assert ends[-1].digits < 1
    assert f"digits left at the end: {int(ends[-1].digits)}" in repr(ends[-1])


def test_regular_motions_keep_their_digits():
    spring = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2)
    assert st.simulate(spring, span=(0, 100), start={x: 1.0}).digits > 12
    orbit = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, potential=-1 / st.sqrt(x**2 + y**2))
    assert st.simulate(orbit, span=(0, 60), start={x: 1.0, y.dot: 0.9}).digits > 11
    rod = st.particle(1, at=(x, y), gravity=G) + st.rod((0, 0), (x, y), 1)
    assert st.simulate(rod, span=(0, 10), start={x: 1.0}).digits > 12


def well(u):
    return -1 / (1 + st.exp(u))


def slope(u):
    return st.log(1 + st.exp(u)) / 1000


def valley(u):
    return st.log(st.exp(u) + st.exp(-2 * u)) / 1000


@pytest.mark.one_in(3)
# Each with an equal that has no exponentials to overflow: exp(u) is no number beyond u = 709.
@pytest.mark.parametrize(
    ("law", "equal"),
    [
        (well, lambda u: -(1 - st.tanh(u / 2)) / 2),
        (slope, lambda u: (st.Max(u, 0) + st.log(1 + st.exp(-abs(u)))) / 1000),
        (valley, lambda u: (st.Max(u, -2 * u) + st.log(1 + st.exp(-3 * abs(u)))) / 1000),
    ],
)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_what_stays_finite_does_not_overflow(law, equal, unit):
    start = {x: 2.0 * unit, x.dot: -0.3 * unit}
    for method, error in (("auto", 1e-12), (st.Runge(), 1e-8)):
        ends = [
            st.simulate(
                st.System(kinetic=x.dot**2 / (2 * unit**2), potential=f(1000 * (x / unit - 0.1))),
                span=(0, 7), start=start, method=method,
            ).y[-1]
            for f in (law, equal)
        ]  # fmt: skip
        np.testing.assert_allclose(*ends, rtol=0, atol=error * abs(ends[1]).max())


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_forces_of_exponentials_do_not_overflow(unit):
    u = 1000 * x.dot / unit
    friction = (st.exp(u) - st.exp(-u)) / (st.exp(u) + st.exp(-u))
    push = st.inputs("push")
    ends = []
    for f, given in ((friction, 1 / (1 + st.exp(1000 * (1 - st.t)))),
                     (st.tanh(u), (1 - st.tanh(500 * (1 - st.t))) / 2)):  # fmt: skip
        system = st.System(
            kinetic=x.dot**2 / 2, potential=x**2 / 2, loads=[st.Load((push - 0.3 * f) * unit, on=x)]
        )
        start = {x: unit, x.dot: unit}
        ends.append(st.simulate(system, span=(0, 5), start=start, inputs={push: given}).y[-1, :2])
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-9 * unit)


@pytest.mark.parametrize("case", range(8))
def test_what_time_has_no_digits_for_is_not_claimed(case):
    # A push of 1 by a rectangle: its two instants are known to the last digits of time.
    rng = np.random.default_rng(case)
    unit, begin, width = 10.0 ** rng.uniform(-9, 9), rng.uniform(1, 9), 10.0 ** rng.uniform(-9, -4)
    begin, end = begin * unit, (begin + width) * unit
    push = st.Piecewise((0, st.t < begin), (1 / (width * unit), st.t < end), (0, True))
    motion = st.simulate(st.System(kinetic=x.dot**2 / 2, work=push * x), span=(0, 10 * unit))
    error, last = abs(motion[x.dot][-1] - 1), np.spacing(end) / (width * unit)
    assert error <= 4 * 10**-motion.digits and error <= 4 * last
    assert 10**-motion.digits <= 100 * last + 1e-13


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_digits_left_do_not_depend_on_units_or_origin(unit):
    # Hénon and Heiles' star in a chaotic orbit; the place of the origin is not a length.
    far = 3.0 * unit
    X, Y = (x - far) / unit, y / unit
    star = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=unit**2 * ((X**2 + Y**2) / 2 + X**2 * Y - Y**3 / 3),
    )
    start = {x: far, y: -0.25 * unit, x.dot: 0.42 * unit}
    digits = [st.simulate(star, span=(0, end), start=start).digits for end in (20, 300)]
    assert 11.5 < digits[0] < 15.9
    assert 4 < digits[1] < 10


@pytest.mark.one_in(2)
@pytest.mark.parametrize("array", [False, True], ids=["symbols", "array"])
@pytest.mark.parametrize(("unit", "place"), [(1.0, 0.0), (1e-9, 7e-8), (1e6, -3e7)])
def test_masses_that_a_wave_has_not_reached_take_no_digits(unit, place, array):
    # A straight chain that falls from one end: along it, masses far from there move by rounding.
    n = 50
    if array:
        r = st.coordinates("r", shape=(n, 2))
        u, v = list(r[:, 0]), list(r[:, 1])
    else:
        u, v = ([*st.coordinates(" ".join(f"{c}{i}" for i in range(n)))] for c in "uv")
    ends = zip([*u], [*v], [place, *u[:-1]], [place, *v[:-1]])
    springs = (500 * (st.sqrt((a - c) ** 2 + (b - d) ** 2) - unit) ** 2 for a, b, c, d in ends)
    chain = st.System(
        kinetic=sum(c.dot**2 / 2 for c in (*u, *v)),
        potential=sum(9.81 * unit * c for c in v) + sum(springs),
    )
    start = {c: place + (i + 1) * unit for i, c in enumerate(u)} | dict.fromkeys(v, place)
    motion = st.simulate(chain, span=(0, 0.1), start=start, points=11)
    assert motion.digits > 9
    # The last mass falls freely, as nothing has reached it: errors are as small as is told.
    fallen = abs(motion[v[-1]][-1] - place + 9.81 * unit * 0.005) / (0.04905 * unit)
    assert fallen < 10 ** (1 - motion.digits)


@pytest.mark.parametrize("end", [1.0, 100.0])
@pytest.mark.parametrize("place", [0.0, 3.0, 1e6, 1e-9])
def test_rest_has_no_digits_but_the_fall_from_it_has(place, end):
    well = st.System(kinetic=x.dot**2 / 2, potential=(x - place) ** 2 / 2)
    rest = st.simulate(well, span=(0, end), start={x: place})
    assert np.isnan(rest.digits) and "digits" not in repr(rest)
    assert st.simulate(well, span=(0, end), start={x: place + 1}).digits > 8


def test_a_motion_does_not_depend_on_the_sizes_of_the_one_before():
    law = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2 + x**4 / 4)
    first = st.simulate(law, span=(0, 5), start={x: 1.0})
    for size in (0.0, 1e-310, 1e-200, 1e-60, 1e-20, 1e8):
        other = st.simulate(law, span=(0, 1e-3), start={x: size})
        # The force is that of the spring alone where x is small.
        if size < 1:
            assert other[x][-1] == pytest.approx(size * np.cos(1e-3), rel=1e-13)
        here = st.simulate(law, span=(0, 5), start={x: 1.0})
        np.testing.assert_allclose(here.y, first.y, rtol=0, atol=1e-13)


def test_large_motions_are_not_run_again_by_printing(monkeypatch):
    spring = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2)
    motion = st.simulate(spring, span=(0, 10), start={x: 1.0})
    monkeypatch.setattr("stationary.result.motion._SECOND_RUN_UP_TO", 10)
    assert "motion.digits runs it again to tell" in repr(motion) and motion.told is None
    assert motion.digits > 12
    assert f"digits left at the end: {int(motion.digits)}" in repr(motion)


def test_a_motion_that_ends_early_has_no_digits():
    runaway = st.System(kinetic=x.dot**2 / 2, potential=-(x**4))
    motion = st.simulate(runaway, span=(0, 9), start={x: 1.0}, throw=False)
    assert np.isnan(motion.digits) and "digits" not in repr(motion)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e9])
@pytest.mark.parametrize("amplitude", [1e-7, 1e-5, 1e-3])
def test_energy_that_is_a_difference_of_large_terms_is_judged_by_its_rounding(amplitude, unit):
    # A cart with a pendulum: m₁ l θ̈ / (m₁ + m₂) + g θ = 0 for small swings, and 1 − cos θ keeps
    # few digits of its own. Nothing does any work.
    x, theta = st.coordinates("x theta")
    force = st.inputs("F")
    length, g = 0.5 * unit, 9.81 * unit
    cart = st.System(
        kinetic=x.dot**2 / 2
        + (x.dot**2 + 2 * x.dot * theta.dot * length * st.cos(theta) + (length * theta.dot) ** 2)
        / 10,
        potential=g * length / 5 * (1 - st.cos(theta)),
        loads=[st.Load(force, on=x)],
    )
    motion = st.simulate(
        cart, span=(0, 10), start={theta: amplitude}, inputs={force: 0}, points=101
    )
    swing = amplitude * np.cos(np.sqrt(1.2 * 9.81 / 0.5) * motion.t)
    np.testing.assert_allclose(
        motion[theta], swing, rtol=0, atol=50 * amplitude**3 + 1e-11 * amplitude
    )
    assert motion.digits > 11


# Friction that is regularized, by laws that are steep and not flat: each tends to ∓1.
REGULAR = {
    "tanh": lambda v: st.tanh(v),
    "root": lambda v: v / st.sqrt(v**2 + 1),
    "atan": lambda v: 2 / np.pi * st.atan(v),
}


def sticking(law):
    """A mass on a spring with friction that all but sticks."""
    force = -0.3 * REGULAR[law](x.dot / 1e-10)
    return st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2, loads=[st.Load(force, on=x)])


@pytest.mark.parametrize("law", REGULAR)
def test_steep_friction_stops_where_dry_friction_does(law):
    """Half turns about ∓0.3 in the phase plane: three of them, and the mass sticks."""
    motion = st.simulate(sticking(law), span=(0, 10), start={x: 1, x.dot: 1}, points=101)
    assert motion[x][-1] == pytest.approx(np.hypot(1.3, 1) - 1.5, abs=1e-6)
    # Explicit steps come as far as that, and say why they do not go on.
    end = np.arctan2(1, 1.3) + 2 * np.pi
    explicit = st.simulate(
        sticking(law), span=(0, 10), start={x: 1, x.dot: 1}, method=st.Runge(), throw=False
    )
    if law == "root":
        # A root is rounded off instead, by another method than was asked for.
        assert explicit.method == "Runge then BDF" and "rounded off" in explicit.status.message
        assert explicit[x][-1] == pytest.approx(motion[x][-1], abs=1e-7)
        return
    assert explicit.status == "stiff" and f"near t = {end:.5g} stability" in explicit.status.message
    assert explicit.t[-1] == pytest.approx(end, abs=1e-4)
    assert explicit[x][-1] == pytest.approx(motion[x][-1], abs=1e-7)


@pytest.mark.parametrize("method", ["auto", st.Runge(), st.BDF()])
def test_a_wall_far_from_the_origin_is_not_lost_in_its_own_constant(method):
    """exp(1000 x − 5000) is no product with exp(−5000), which no number holds."""
    wall = st.System(kinetic=x.dot**2 / 2, potential=st.exp(1000.0 * (x - 5.0)))
    motion = st.simulate(wall, span=(0, 10), start={x.dot: 1}, method=method)
    # x = turn − (2/k) log cosh(k (t − t₀)/2), whose asymptotes are straight.
    turn, bend = 5 + np.log(0.5) / 1000, 2 * np.log(2) / 1000
    assert motion[x][-1] == pytest.approx(2 * (turn + bend) - 10, abs=1e-6)
    assert motion[x.dot][-1] == pytest.approx(-1, abs=1e-6)


def test_backward_differentiation_sees_a_step_before_it_is_on_it():
    """A step of the potential between two outputs, whose flank reaches over many of them."""
    ledge = st.System(kinetic=x.dot**2 / 2, potential=0.15 * (1 + st.tanh((x - 5.3) / 0.01)))
    motion = st.simulate(ledge, span=(0, 12), start={x.dot: 1}, method=st.BDF())
    assert motion[x.dot][-1] == pytest.approx(np.sqrt(0.4), abs=1e-6)


@pytest.mark.parametrize("level", [0.0, 1e6, -1e9])
def test_evidence_does_not_depend_on_where_energy_is_counted_from(level):
    quartic = st.System(kinetic=x.dot**2 / 2, potential=level + 25 * x**4)
    told = [
        st.simulate(quartic, span=(0, 10), start={x: 1}, method=method, throw=False).status
        for method in (st.Variational(step=0.15), st.Variational(step=0.01), "auto")
    ]
    assert told == ["inaccurate", "done", "done"]


@pytest.mark.parametrize("width", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("way", [1, -1])
def test_a_narrow_hyperbolic_hill_is_a_number_far_away(width, way):
    """Turned back by V/cosh²((x − ½)/w), what comes from afar is w log(V/E − 1) further."""
    hill = st.System(kinetic=x.dot**2 / 2, potential=10 / st.cosh((x - 0.5) / width) ** 2)
    begin = (1 - way) / 2
    motion = st.simulate(hill, span=(0, 1), start={x: begin, x.dot: way})
    assert way * (begin - motion[x][-1]) == pytest.approx(width * np.log(19), abs=1e-10)
    assert motion[x.dot][-1] == pytest.approx(-way, abs=1e-8)


def test_what_grows_with_its_divisor_is_not_cut_off():
    # exp(x)/cosh(x) is 2 wherever x is large, and (1 + tanh x) throughout.
    for place in (0.3, 5.0, 340.0):
        pulled = st.System(kinetic=x.dot**2 / 2, work=x * st.exp(x) / st.cosh(x))
        motion = st.simulate(pulled, span=(0, 1), start={x: place})
        expected = solve_ivp(
            lambda t, y: [y[1], 1 + np.tanh(y[0]) + y[0] * (1 - np.tanh(y[0]) ** 2)],
            (0, 1), [place, 0], rtol=1e-11, atol=1e-11,
        )  # fmt: skip
        assert motion[x][-1] == pytest.approx(expected.y[0, -1], rel=1e-8)
