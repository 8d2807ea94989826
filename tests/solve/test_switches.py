"""What switches or peaks: in time it is known beforehand, in the state it is located."""

from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import stationary as st

x, y = st.coordinates("x y")
F = st.inputs("F")
t = st.t
free = st.System(kinetic=x.dot**2 / 2)

METHODS = {"auto": 1e-11, st.Runge(): 1e-9, st.BDF(): 3e-7}
methods = pytest.mark.parametrize(("method", "atol"), METHODS.items(), ids=str)

#: Where a force over time can be stated.
PLACES = {
    "work": lambda f: (free + st.System(work=x * f), {}),
    "potential": lambda f: (free + st.System(potential=-x * f), {}),
    "load": lambda f: (free + st.System(loads=[st.Load(f, on=x)]), {}),
    "input": lambda f: (free + st.System(loads=[st.Load(F, on=x)]), {F: f}),
    # What a light particle is made to do, a spring hands on.
    "constraint": lambda f: (
        st.System(
            kinetic=(x.dot**2 + y.dot**2) / 2,
            work=x * y,
            constraints=[st.Constraint(y - f)],
        ),
        {},
    ),
}
places = pytest.mark.parametrize("place", PLACES)


def pushed(place, force, *, span, **settings):
    system, inputs = PLACES[place](force)
    return st.simulate(system, span=span, inputs=inputs or None, points=7, **settings)


def rectangle(begin, width, height):
    return st.Piecewise((height, (t > begin) & (t < begin + width)), (0, True))


# -- switches in time ------------------------------------------------------------------------------


@methods
@pytest.mark.parametrize(
    ("place", "width"),
    [("work", 2.0**-10), ("potential", 2.0**-10), ("load", 2.0**-17), ("input", 2.0**-17)],
)
def test_a_rectangle_gives_its_impulse(place, width, method, atol):
    motion = pushed(place, rectangle(5, width, 1 / width), span=(0, 10), method=method)
    assert motion.status == "done"
    assert motion[x.dot][-1] == pytest.approx(1, abs=max(atol, 1e-15 * 5 / width))
    assert motion[x][-1] == pytest.approx(5 - width / 2, abs=10 * max(atol, 1e-15 * 5 / width))
    assert motion.residual["energy"] < 100 * atol


def ramp(a, b):
    return st.Piecewise((0, t < a), ((t - a) / (b - a), t < b), (1, True))


# A force over time from 0 to 10, its integral, and the integral of that.
TIMELY = {
    "sign of a sine": (st.sign(st.sin(50 * t)), None, None),
    "absolute value": (st.Abs(t - 3), 9 / 2 + 49 / 2, None),
    "a condition that is an absolute value": (
        st.Piecewise((1000, st.Abs(t - 5) < 2**-10), (0, True)), 1000 * 2**-9, None,
    ),
    "a condition that is a parabola": (
        st.Piecewise((1000, (t - 5) ** 2 < 2.0**-20), (0, True)), 1000 * 2**-9, None,
    ),
    "maximum": (st.Max(t - 5, 0), 12.5, 125 / 6),
    "minimum of three": (st.Min(t, 3, 10 - t), 9 / 2 + 12 + 9 / 2, None),
    "staircase": (sp.floor(t), 45, None),
    "ceiling": (sp.ceiling(t), 55, None),
    "sawtooth": (7 * t - sp.floor(7 * t), 5, None),
    "Heaviside's step": (sp.Heaviside(t - 5), 5, 12.5),
    "switch within a switch": (st.Abs(st.Abs(t - 5) - 1), 2 * (1 / 2 + 16 / 2), None),
    "a short part of a period": (
        st.Piecewise((1, st.sin(20 * t) > 0.9999), (0, True)), 64 * np.arccos(0.9999) / 20, None,
    ),
    "a step at its start": (st.Piecewise((1, t > 0), (7, True)), 10, 50),
    "a step at its end": (st.Piecewise((1, t < 10), (7, True)), 10, 50),
}  # fmt: skip


@pytest.mark.parametrize("kind", TIMELY)
def test_every_kind_of_switch_in_time_is_met(kind):
    force, speed, way = TIMELY[kind]
    motion = pushed("load", force, span=(0, 10))
    if kind == "sign of a sine":
        half = np.pi / 50
        whole = int(10 / half)
        speed = half * (whole % 2) + (-1) ** whole * (10 - whole * half)
    assert motion.method == "Taylor"
    assert motion[x.dot][-1] == pytest.approx(speed, abs=1e-11)
    if way is not None:
        assert motion[x][-1] == pytest.approx(way, abs=1e-10)


# -- peaks in time ---------------------------------------------------------------------------------


def peak(kind, at, width):
    """Return a peak, and its integral over all times."""
    z = (t - at) / width
    return {
        "Gauss": (st.exp(-(z**2)), np.sqrt(np.pi) * width),
        "sech": (1 / st.cosh(z), np.pi * width),
        "sech²": (1 / st.cosh(z) ** 2, 2 * width),
        "step up and down": ((st.tanh(z) - st.tanh(z - 100)) / 2, 100 * width),
        "by errors": ((sp.erf(z) - sp.erf(z - 100)) / 2, 100 * width),
        "flat": (st.exp(-(z**4)), 1.8128049541109543 * width),
        "squared Lorentz": (1 / (1 + z**2) ** 2, np.pi / 2 * width),
    }[kind]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("method", ["auto", st.Runge()], ids=str)
@pytest.mark.parametrize(
    "kind", ["Gauss", "sech", "sech²", "step up and down", "by errors", "flat", "squared Lorentz"]
)
@pytest.mark.parametrize("width", [1e-3, 1e-5])
def test_a_short_peak_gives_its_impulse(kind, width, method):
    form, area = peak(kind, 5.123, width)
    motion = pushed("work", form / area, span=(0, 10), method=method)
    # Time has 16 digits: a peak at 5 has 16 less those of its width.
    assert motion[x.dot][-1] == pytest.approx(1, abs=max(1e-9, 1e-14 * 5 / width))
    # Where terms cancel, only their last digits are left: no step is spent on these.
    assert motion.steps < 2000


@pytest.mark.parametrize("method", ["auto", st.Runge()], ids=str)
@pytest.mark.parametrize("length", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("width", [1e-3, 1e-5])
def test_a_force_that_acts_in_a_short_place_does_its_work(width, length, method):
    # The force is 1/(100 width) between two steps: from the speed 1 to √(1 + 2).
    z = (x / length - 5) / width
    force = length * (st.tanh(z) - st.tanh(z - 100)) / (200 * width)
    motion = st.simulate(
        free + st.System(loads=[st.Load(force, on=x)]), span=(0, 10), start={x.dot: length},
        points=7, method=method,
    )  # fmt: skip
    assert motion[x.dot][-1] / length == pytest.approx(np.sqrt(3), abs=1e-9)
    assert motion.steps < 2000


@places
@pytest.mark.parametrize("method", ["auto", st.Runge()], ids=str)
def test_a_peak_is_met_wherever_it_is_stated(place, method):
    form, area = peak("Gauss", 5.0, 1e-3)
    motion = pushed(place, form / area, span=(0, 10), method=method)
    assert motion[x.dot][-1] == pytest.approx(1, abs=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize("origin", [0.0, -3.0, 1000.0])
def test_switches_and_peaks_are_met_in_every_unit_of_time(unit, origin):
    begin = origin * unit
    span = (begin, begin + 10 * unit)
    digits = 1e-13 * max(abs(origin), 1)
    motion = pushed("work", rectangle(begin + unit, unit / 4, 1 / unit), span=span)
    assert motion[x.dot][-1] == pytest.approx(0.25, abs=10 * digits)
    form, area = peak("Gauss", begin + 5 * unit, 1e-3 * unit)
    motion = pushed("work", form / area, span=span)
    assert motion[x.dot][-1] == pytest.approx(1, abs=1e4 * digits)


@pytest.mark.parametrize("method", ["auto", st.Runge()], ids=str)
def test_peaks_that_repeat_are_all_met(method):
    # Ten maxima between 0 and 3, each the area 2π/20 · e⁻²⁰⁰⁰ I₀(2000). On the way to each of them
    # the force passes all the numbers that are hardly numbers any more.
    motion = pushed("work", st.exp(2000 * (st.sin(20 * t) - 1)), span=(0, 3), method=method)
    area = 2 * np.pi / 20 * 0.008921178276439672
    assert motion[x.dot][-1] == pytest.approx(10 * area, rel=1e-7)


def test_a_sampled_pulse_and_what_switches_with_it_are_met():
    pulse = ([0, 5, 5.001, 5.002, 10], [0, 0, -1000, 0, 0])
    system = free + st.System(loads=[st.Load(st.Max(st.Abs(F) - 500, 0), on=x)])
    motion = st.simulate(system, span=(0, 10), inputs={F: pulse})
    assert motion[x.dot][-1] == pytest.approx(0.25, abs=1e-11)


def test_more_switches_than_can_be_followed_are_refused():
    with pytest.raises(st.StatementError, match="switches in time more often"):
        pushed("work", st.sign(st.sin(3e5 * t)), span=(0, 1))


# -- what jumps in time ----------------------------------------------------------------------------


@methods
@pytest.mark.parametrize("stated", [t < 5, t <= 5])
def test_a_potential_that_jumps_does_work(method, atol, stated):
    stiffer = st.System(
        kinetic=x.dot**2 / 2, potential=st.Piecewise((1, stated), (4, True)) * x**2 / 2
    )
    motion = st.simulate(stiffer, span=(0, 10), start={x: 1.0}, points=11, method=method)
    # cos t, then oscillating twice as fast.
    end = np.cos(5) * np.cos(10) - np.sin(5) / 2 * np.sin(10)
    assert motion[x][-1] == pytest.approx(end, abs=atol)
    assert motion.energy[-1] - motion.energy[0] == pytest.approx(
        1.5 * np.cos(5) ** 2, abs=10 * atol
    )
    assert motion.residual["energy"] < 10 * atol


@pytest.mark.parametrize("stated", [t <= 0, t < 0, t < 10, t <= 10])
def test_a_potential_may_jump_at_the_first_or_last_instant(stated):
    system = free + st.System(potential=st.Piecewise((1, stated), (4, True)) * x**2 / 2)
    motion = st.simulate(system, span=(0, 10), start={x: 1.0}, points=11)
    rate = 2 if stated.rhs == 0 else 1
    np.testing.assert_allclose(motion[x], np.cos(rate * motion.t), rtol=0, atol=1e-12)
    assert motion.residual["energy"] < 1e-12


def test_a_mass_that_jumps_keeps_its_momentum():
    heavier = st.System(kinetic=st.Piecewise((1, t < 5), (4, True)) * x.dot**2 / 2)
    motion = st.simulate(heavier, span=(0, 10), start={x.dot: 1.0})
    assert motion[x][-1] == pytest.approx(5 + 5 / 4, abs=1e-12)


@pytest.mark.parametrize(("row", "mass"), [(1, 1e9), (1e-15, 1), (1e15, 1), (1e9, 1e-9)])
def test_a_momentum_that_jumps_is_shared_by_what_a_row_of_any_unit_holds_together(row, mass):
    # p = x.dot + y.dot, and one more from t = 1 on: both lose half of that.
    jumps = (x.dot**2 + y.dot**2) / 2 + st.Piecewise((0, t < 1), (1, True)) * x.dot
    pair = st.System(kinetic=mass * jumps, constraints=[row * (x - y)])
    motion = st.simulate(pair, span=(0, 2), start={x.dot: 1.0, y.dot: 1.0}, points=3)
    assert motion.v[-1] == pytest.approx([0.5, 0.5], abs=1e-12)


@pytest.mark.parametrize(
    ("method", "atol"),
    [("auto", 1e-12), (st.Runge(), 1e-8)],
    ids=["auto", "Runge"],
)
def test_a_constraint_that_moves_suddenly_takes_along_what_it_holds(method, atol):
    drawn = st.System(
        kinetic=x.dot**2 / 2 + y.dot**2 / 2,
        potential=(y - x) ** 2 / 2,
        constraints=[st.Constraint(x - st.Max(t - 5, 0))],
    )
    motion = st.simulate(drawn, span=(0, 10), points=11, method=method)
    later = np.maximum(motion.t - 5, 0)
    np.testing.assert_allclose(motion[x], later, rtol=0, atol=atol)
    np.testing.assert_allclose(motion[y], later - np.sin(later), rtol=0, atol=atol)
    assert motion.residual["energy"] < atol


def test_a_constraint_that_jumps_is_told_with_the_last_good_state():
    torn = free + st.System(constraints=[st.Constraint(x - st.Piecewise((0, t < 5), (1, True)))])
    with pytest.raises(st.DidNotConverge, match="jumps at t = 5: .* R goes from 0 to -1") as caught:
        st.simulate(torn, span=(0, 10))
    assert caught.value.status == "jump" and caught.value.solution.t[-1] == 5


# -- kinks and jumps in the state ------------------------------------------------------------------


def bouncing(stiffness):
    """A ball on a one-sided spring, and the time between two highest points of height 1."""
    g, rate = 9.81, np.sqrt(stiffness)
    speed = np.sqrt(2 * g)
    touching = 2 * (np.pi - np.arctan2(rate * speed, g)) / rate
    ball = free + st.System(potential=g * x + stiffness / 2 * st.Max(0, -x) ** 2)
    return ball, 2 * speed / g + touching


PERIODIC = {
    "edge": (free + st.System(potential=st.Abs(x)), 4 * np.sqrt(2)),
    "jump": (free + st.System(loads=[st.Load(-st.sign(x), on=x)]), 4 * np.sqrt(2)),
    "two springs": (
        free + st.System(potential=st.Piecewise((x**2 / 2, x > 0), (2 * x**2, True))), 1.5 * np.pi
    ),
    "bounce": bouncing(1e4),
    "stiff bounce": bouncing(1e8),
    # Free flight between two springs, |x| > ½: four quarters and two flights of 1 at speed ½.
    "play": (
        free + st.System(potential=(st.Abs(x) - 0.5) ** 2 / 2 * sp.Heaviside(st.Abs(x) - 0.5)),
        2 * np.pi + 4.0,
    ),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("kind", "method", "atol"),
    [
        *((kind, "auto", 1e-11) for kind in PERIODIC),
        *((kind, st.Runge(), 3e-8) for kind in PERIODIC),
        *((kind, st.BDF(), 3e-4) for kind in ("edge", "bounce")),
    ],
    ids=str,
)
def test_a_kink_in_a_coordinate_costs_no_accuracy(kind, method, atol):
    system, period = PERIODIC[kind]
    count = 3 if isinstance(method, st.BDF) else 10
    motion = st.simulate(
        system, span=(0, count * period), start={x: 1.0}, points=count + 1, method=method
    )
    np.testing.assert_allclose(motion[x], 1, rtol=0, atol=atol)
    np.testing.assert_allclose(motion[x.dot], 0, rtol=0, atol=100 * atol)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("length", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("origin", [0.0, 3.0])
def test_a_kink_is_located_in_every_unit_of_length(length, origin):
    place = x - origin * length
    system = free + st.System(potential=length * st.Abs(place))
    motion = st.simulate(
        system, span=(0, 40 * np.sqrt(2)), start={x: (origin + 1) * length}, points=11
    )
    np.testing.assert_allclose(motion[place] / length, 1, rtol=0, atol=1e-11)


def test_a_border_may_move():
    # A force of −1 above the moving level t/10 and +1 below it, seen from the level.
    motion = st.simulate(
        free + st.System(loads=[st.Load(-st.sign(x - t / 10), on=x)]),
        span=(0, 4 * np.sqrt(2)), start={x: 1.0, x.dot: 0.1},
    )  # fmt: skip
    np.testing.assert_allclose(motion[x][-1], 1 + 0.4 * np.sqrt(2), rtol=0, atol=1e-12)


def test_a_side_out_of_its_domain_does_not_matter_on_the_other():
    # √x and ln x exist on one side only.
    law = st.Piecewise((st.sqrt(x) + st.log(x) - 1, x > 1), (x - 1, True))
    system = free + st.System(potential=-law)
    motion = st.simulate(system, span=(0, 10), start={x: -5.0})
    assert motion.method == "Taylor" and motion.residual["energy"] < 1e-12
    assert motion[x][0] < 1 < motion[x][-1]


# -- staying on a border ---------------------------------------------------------------------------


@methods
def test_dry_friction_by_a_sign_comes_to_rest_and_stays(method, atol):
    rubbing = st.System(
        kinetic=x.dot**2 / 2, potential=x**2 / 2, loads=[st.Load(-0.3 * st.sign(x.dot), on=x)]
    )
    motion = st.simulate(rubbing, span=(0, 10), start={x: 1.0, x.dot: 1.0}, method=method)
    # Half circles about ∓0.3: every turn is 0.6 closer, from √(1.3² + 1) − 0.3.
    assert motion[x][-1] == pytest.approx(np.sqrt(2.69) - 1.5, abs=atol)
    still = motion.t > np.pi * 3
    assert np.abs(motion[x.dot][still]).max() < atol
    np.testing.assert_allclose(motion[x.ddot][still], 0, rtol=0, atol=atol)


@methods
def test_friction_by_a_sign_tells_its_digits_from_a_start_on_its_border(method, atol):
    rubbing = st.System(
        kinetic=x.dot**2 / 2, potential=x**2 / 2, loads=[st.Load(-0.3 * st.sign(x.dot), on=x)]
    )
    # The start that is disturbed to tell them leaves the border that it is beside at once.
    motion = st.simulate(rubbing, span=(0, 10), start={x: 1.3}, method=method)
    assert motion[x][-1] == pytest.approx(0.1, abs=atol)
    assert 8 < motion.digits <= 16


@methods
@pytest.mark.parametrize("stated", ["load", "dissipation"])
def test_what_sticks_slips_when_it_is_pushed_enough(method, atol, stated):
    law: Any = (
        {"loads": [st.Load(-st.sign(x.dot), on=x)]}
        if stated == "load"
        else {"dissipation": st.Abs(x.dot)}
    )
    motion = st.simulate(
        free + st.System(work=x * t / 5, **law), span=(0, 10), method=method, points=11
    )
    later = np.maximum(motion.t - 5, 0)
    np.testing.assert_allclose(motion[x], later**3 / 30, rtol=0, atol=30 * atol)


def test_two_blocks_stick_and_slip_each_in_its_time():
    pair = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2,
        work=t * (x + y / 2),
        dissipation=st.Abs(x.dot) + st.Abs(y.dot),
    )
    motion = st.simulate(pair, span=(0, 4), points=5)
    np.testing.assert_allclose(motion[x], np.maximum(motion.t - 1, 0) ** 3 / 6, rtol=0, atol=1e-13)
    np.testing.assert_allclose(motion[y], np.maximum(motion.t - 2, 0) ** 3 / 12, rtol=0, atol=1e-13)


def test_what_rests_on_an_edge_of_a_potential_stays_until_it_is_pushed():
    motion = st.simulate(
        free + st.System(potential=st.Abs(x), work=x * t / 5), span=(0, 10), points=11
    )
    later = np.maximum(motion.t - 5, 0)
    np.testing.assert_allclose(motion[x], later**3 / 30, rtol=0, atol=1e-12)


def test_a_belt_takes_a_block_along_until_its_spring_pulls_it_off():
    belt = st.System(
        kinetic=x.dot**2 / 2, potential=x**2 / 2, loads=[st.Load(-0.5 * st.sign(x.dot - 1), on=x)]
    )
    motion = st.simulate(belt, span=(0, 0.5), start={x.dot: 1.0}, points=11)
    np.testing.assert_allclose(motion[x], motion.t, rtol=0, atol=1e-14)
    later = st.simulate(belt, span=(0, 2), start={x.dot: 1.0}, points=5)
    # From x = ½ on it oscillates about ½, at speed 1.
    exact = np.where(later.t < 0.5, later.t, 0.5 + np.sin(later.t - 0.5))
    np.testing.assert_allclose(later[x], exact, rtol=0, atol=1e-12)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
def test_a_side_that_has_a_pole_behind_its_border_is_left_at_the_border(seed):
    # Friction v/(w + |v|): held on one side it has a pole at w beyond the border, at which an
    # implicit method finds a state to stay in.
    rng = np.random.default_rng(seed)
    width, belt, stiffness = 10.0 ** rng.uniform(-5, -3), rng.uniform(0.1, 0.5), rng.uniform(1, 3)
    start = rng.normal(size=2)
    slip = x.dot - belt
    system = st.System(
        kinetic=x.dot**2 / 2, potential=stiffness * x**2 / 2,
        loads=[st.Load(-0.1 * slip / (width + st.Abs(slip)), on=x)],
    )  # fmt: skip

    def rates(_, y):
        slip = y[1] - belt
        return [y[1], -stiffness * y[0] - 0.1 * slip / (width + abs(slip))]

    exact = solve_ivp(rates, (0, 4), start, "Radau", rtol=1e-12, atol=1e-13).y[:, -1]
    for method, atol in METHODS.items():
        settings: Any = {"span": (0, 4), "method": method, "points": 101}
        motion = st.simulate(system, start={x: start[0], x.dot: start[1]}, **settings)
        np.testing.assert_allclose(motion.y[-1, :2], exact, rtol=0, atol=max(30 * atol, 1e-9))


def test_forces_that_switch_ever_faster_are_told():
    # Coming to rest on an edge takes infinitely many passages, at times that pile up.
    ball = free + st.System(work=-9.81 * x)
    bounce = st.Event(x, direction=-1, action={x.dot: -0.5 * x.dot})
    with pytest.raises(st.DidNotConverge, match="ever faster near t = 1.35") as caught:
        st.simulate(ball, span=(0, 9), start={x: 1.0}, events=[bounce])
    # Falling takes √(2/g), all bounces together twice that.
    assert caught.value.status == "chatter"
    assert caught.value.solution.t[-1] == pytest.approx(3 * np.sqrt(2 / 9.81), abs=1e-4)


@pytest.mark.slow
def test_a_damped_mass_on_an_edge_is_given_up_before_its_passages_fill_the_span():
    # It falls at the speed 1/c, then swings ever smaller: the energy by exp(−2ct/3), the time from
    # passage to passage as the root of that. Ten thousand are not worth while.
    edge = free + st.System(potential=st.Abs(x), dissipation=10 * x.dot**2 / 2)
    with pytest.raises(st.DidNotConverge, match="switch ever faster") as caught:
        st.simulate(edge, span=(0, 20), start={x: 1.0}, points=3)
    found = caught.value.solution
    assert 10 < found.t[-1] < 13 and found.steps < 1000
    assert abs(found[x][-1]) < 1e-6 and found.residual["energy"] < 1e-12


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "method, unit", [("auto", 1e-6), ("auto", 1.0), ("auto", 1e6), (st.BDF(), 1e-6)]
)
def test_dry_friction_in_a_plane_brings_to_rest(method, unit):
    """−v/|v| has no value at rest: a straight way of v²/2, and then it stays."""
    x, y = st.coordinates("x y")
    speed = st.sqrt(x.dot**2 + y.dot**2)
    puck = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, dissipation=unit * speed)
    start = {x.dot: 0.6 * unit, y.dot: 0.8 * unit}
    motion = st.simulate(puck, span=(0, 3), start=start, method=method, points=31)
    np.testing.assert_allclose(motion.q[-1] / unit, [0.3, 0.4], rtol=0, atol=1e-7)
    np.testing.assert_allclose(motion.v[-1] / unit, 0, rtol=0, atol=1e-7)


def test_dry_friction_in_a_plane_holds_as_much_as_it_can_and_lets_go():
    """Pulled by a slowly growing force from the side, it slides again once that is enough."""
    x, y = st.coordinates("x y")
    speed = st.sqrt(x.dot**2 + y.dot**2)
    puck = st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2, dissipation=speed, work=st.t / 4 * y
    )  # fmt: skip
    motion = st.simulate(puck, span=(0, 6), start={x.dot: 1e-3}, points=61)
    # At rest from t = 1e-3 until the pull t/4 is 1; then ÿ = t/4 − 1.
    assert motion[y][40] == pytest.approx(0, abs=1e-6)
    assert motion[y][-1] == pytest.approx(2**3 / 24, abs=1e-6)


@pytest.mark.parametrize("unit", [1e-9, 1.0])
def test_a_pulse_of_two_logistic_functions_gives_all_its_momentum(unit):
    """Their exponentials are no numbers, and zero nearly everywhere as they are rewritten."""
    x = st.coordinates("x")
    width, begin = 1e-6 * unit, 0.3 * unit
    rises, falls = (1 + st.exp(s * 5 * (st.t - t) / width) for s, t in
                    ((-1, begin), (1, begin + width)))  # fmt: skip
    pushed = st.System(kinetic=x.dot**2 / 2, potential=-x / (rises * falls))
    motion = st.simulate(pushed, span=(0, unit))
    assert motion[x.dot][-1] == pytest.approx(width / (1 - np.exp(-5)), rel=1e-9)


@pytest.mark.parametrize("method", [st.Runge(), st.BDF()], ids=["Runge", "BDF"])
@pytest.mark.parametrize("width", [0.1, 0.0101])
def test_a_law_says_nothing_of_sizes_beyond_its_switch(method, width):
    """Before its peak exp(−|s|) is exp(s), which would go on to grow beyond all numbers."""
    x = st.coordinates("x")
    push = st.exp(-st.Abs(st.t - 3) / width) / (2 * width)
    pushed = st.System(kinetic=x.dot**2 / 2, work=x * push)
    motion = st.simulate(pushed, span=(0, 10), start={x: 0.5}, method=method)
    assert motion.method == type(method).__name__
    assert motion[x][-1] == pytest.approx(7.5, abs=1e-8)
    assert motion[x.dot][-1] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(
    "turned, energy",
    [
        (st.atan2(st.sin(x), st.cos(x)), lambda a: (np.mod(a + np.pi, 2 * np.pi) - np.pi) ** 2 / 2),
        (
            st.asin(st.sin(x)),
            lambda a: np.where(np.cos(a) > 0, 1, -1) * np.arcsin(np.sin(a)) ** 2 / 2
            + np.where(np.cos(a) > 0, 0, np.pi**2 / 4),
        ),
    ],
)  # fmt: skip
def test_an_angle_that_comes_round_pulls_back_from_the_other_side(turned, energy):
    # A series goes on beyond as if the force did not jump or turn there.
    servo = st.System(kinetic=x.dot**2 / 2, loads=[st.Load(-3 * turned, on=x)])
    motion = st.simulate(servo, span=(0, 4), start={x: 1.0, x.dot: 7.0}, points=101)
    kept = motion[x.dot] ** 2 / 2 + 3 * energy(motion[x])
    assert motion[x][-1] > 4 * np.pi
    assert abs(kept - kept[0]).max() < 1e-7 * kept[0]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("method", ["auto", st.BDF()], ids=["auto", "BDF"])
def test_what_starts_at_rest_is_slowed_by_a_broken_power_of_its_speed(method):
    """It leaves a border at once, in a piece of no length."""
    power = sp.Rational(3, 2)
    push = -x - 0.3 * st.sign(x.dot) * st.Abs(x.dot) ** power
    swing = st.System(kinetic=x.dot**2 / 2, loads=[st.Load(push, on=x)])
    motion = st.simulate(swing, span=(0, 10), start={x: 1.0}, points=101, method=method)

    def rates(t, y):
        return y[1], -y[0] - 0.3 * np.sign(y[1]) * abs(y[1]) ** float(power)

    apart = solve_ivp(rates, (0, 10), (1.0, 0.0), "Radau", rtol=1e-9, atol=1e-11, max_step=0.1)
    assert motion[x][-1] == pytest.approx(apart.y[0, -1], abs=1e-6)


@pytest.mark.parametrize("method", ["auto", st.Runge(), st.BDF()], ids=["auto", "Runge", "BDF"])
def test_borders_that_meet_are_passed_together(method):
    # Where x or its velocity passes zero, so does their product; what is added is nothing at all.
    nothing = st.Abs(x * x.dot) - st.Abs(x) * st.Abs(x.dot)
    spring = st.System(
        kinetic=x.dot**2 / 2, loads=[st.Load(-st.Abs(x) * x - 0.3 * nothing, on=x)]
    )  # fmt: skip
    motion = st.simulate(spring, span=(0, 20), start={x: 1.0}, points=101, method=method)
    kept = motion[x.dot] ** 2 / 2 + abs(motion[x]) ** 3 / 3
    assert abs(kept - 1 / 3).max() < 1e-7


@pytest.mark.parametrize("method", ["auto", st.Runge(), st.BDF()], ids=["auto", "Runge", "BDF"])
def test_a_kink_of_a_staircase_is_on_its_side_behind_each_step(method):
    # Of a row of equal hills: the way from the last step on is between 0 and 1.
    way = x - sp.floor(x)
    hills = st.System(kinetic=x.dot**2 / 2, loads=[st.Load(-st.Abs(way - 0.25), on=x)])
    motion = st.simulate(hills, span=(0, 1), start={x: 0.1, x.dot: 5.0}, points=41, method=method)

    def risen(x):
        left = np.mod(x, 1) - 0.25
        return np.floor(x) * (0.25**2 + 0.75**2) / 2 + left * abs(left) / 2

    kept = motion[x.dot] ** 2 / 2 + risen(motion[x])
    assert motion[x][-1] > 4
    assert abs(kept - kept[0]).max() < 1e-7 * kept[0]
