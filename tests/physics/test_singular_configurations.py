"""Linkages that pass singular configurations, and such that may not."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import stationary as st
from tests.physics.mechanisms import four_bars

METHODS = [st.Taylor(), st.Runge(), st.BDF()]


def one_angle(windows):
    """The same row of four-bars by the angle of its cranks."""
    a = st.coordinates("a")
    inertia, weight = (windows + 1) / 3 + windows, ((windows + 1) / 2 + windows) * 9.81
    return st.System(kinetic=inertia * a.dot**2 / 2, potential=weight * st.sin(a)), a


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_every_method_passes_where_the_motion_is_determined(method):
    """Two times flat in 1.5 s: places as by one angle, with which nothing is singular."""
    system, start = four_bars(1)
    plain, a = one_angle(1)
    expected = st.simulate(plain, span=(0, 1.5), start={a: np.pi / 2, a.dot: -1.0}, points=151)
    found = st.simulate(system, span=(0, 1.5), start=start, points=151, method=method)
    np.testing.assert_allclose(found["x0"], np.cos(expected[a]), atol=1e-6)
    np.testing.assert_allclose(found["y1"], np.sin(expected[a]), atol=1e-6)
    assert found.residual["energy"] < 1e-6 and found.residual["R"] < 1e-8


@pytest.mark.slow
def test_a_row_of_ten_loses_ten_rows_at_once_and_goes_on():
    system, start = four_bars(10)
    plain, a = one_angle(10)
    expected = st.simulate(plain, span=(0, 1.5), start={a: np.pi / 2, a.dot: -1.0}, points=31)
    found = st.simulate(system, span=(0, 1.5), start=start, points=31)
    np.testing.assert_allclose(found["x10"] - 10, np.cos(expected[a]), atol=1e-8)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("method", [*METHODS, st.Variational(step=0.01)], ids=str)
def test_what_arrives_without_speed_is_not_determined(method):
    """Thrown up from below so that it just reaches its flat position: two motions go on."""
    system, _ = four_bars(1)
    speed = np.sqrt(2 * 2 * 9.81 / (5 / 3))
    start = {"y0": -1, "x1": 1, "y1": -1, "x0.dot": speed, "x1.dot": speed}
    with pytest.raises(st.DidNotConverge, match="become singular"):
        st.simulate(system, span=(0, 3), start=start, method=method)


@pytest.mark.parametrize("method", [*METHODS, st.Variational(step=0.01)])
def test_a_start_at_rest_where_motions_part_is_refused(method):
    system, _ = four_bars(1)
    with pytest.raises(st.StatementError) as told:
        st.simulate(system, span=(0, 1), start={"x0": 1, "x1": 2}, method=method)
    assert str(told.value) == (
        "the start is a singular configuration: several motions begin there.\n"
        "  Found that 'coupler 0' says nothing new there, and does nearby; nothing moves that "
        "would choose one of them.\n"
        "  Start a little aside, or with a velocity."
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(4))
def test_a_random_parallelogram_turns_over_and_over(seed):
    """Any ratio of its sides and masses, any size: the angle obeys the pendulum's equation."""
    rng = np.random.default_rng(seed)
    unit = 10.0 ** rng.uniform(-3, 3)
    crank, base = unit * rng.uniform(0.5, 2, 2)
    m1, m2, g = *rng.uniform(0.5, 2, 2) * (1, 100.0**-seed), 9.81
    x, y, z, w = st.coordinates("x y z w")
    linkage = (
        st.particle(m1, at=(x, y), gravity=g)
        + st.particle(m2, at=(z, w), gravity=g)
        + st.rod((0, 0), (x, y), crank)
        + st.rod((base, 0), (z, w), crank)
        + st.rod((x, y), (z, w), base)
    )
    a = st.coordinates("a")
    rate = rng.uniform(2.5, 4) * np.sqrt(g / crank)
    span = (0, 2.5 * np.sqrt(crank / g))
    pendulum = st.System(kinetic=a.dot**2 / 2, potential=g / crank * st.sin(a))
    begin = {a: rng.uniform(0.5, 2.5), a.dot: rate}
    expected = st.simulate(pendulum, span=span, start=begin, points=41)
    c, s = crank * np.cos(begin[a]), crank * np.sin(begin[a])
    start = {x: c, y: s, z: base + c, w: s}
    start |= {x.dot: -rate * s, y.dot: rate * c, z.dot: -rate * s, w.dot: rate * c}
    found = st.simulate(linkage, span=span, start=start, points=41)
    np.testing.assert_allclose(found[x], crank * np.cos(expected[a]), atol=1e-7 * crank)
    np.testing.assert_allclose(found[w], crank * np.sin(expected[a]), atol=1e-7 * crank)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", METHODS[:2], ids=lambda m: type(m).__name__)
def test_units_of_single_coordinates_make_no_place_singular(method, seed):
    """Two rods as a double pendulum, the first of them upright: nothing is passed, in any units."""
    X, units = st.coordinates("x y z w"), 10.0 ** np.random.default_rng(seed).integers(-6, 7, 4)
    x, y, z, w = (unit * c for unit, c in zip(units, X))
    rods = [(x, y), (z - x, w - y)]
    pendulum = st.System(
        kinetic=sum((unit * c.dot) ** 2 for unit, c in zip(units, X)) / 2,
        potential=9.81 * (y + w),
        constraints=[a**2 + b**2 - 1 if seed % 2 else st.sqrt(a**2 + b**2) - 1 for a, b in rods],
    )
    p, q = st.coordinates("p q")
    by_angles = st.System(
        kinetic=p.dot**2 + q.dot**2 / 2 + p.dot * q.dot * st.cos(p - q),
        potential=-9.81 * (2 * st.cos(p) + st.cos(q)),
    )
    given = {"span": (0, 1), "points": 11, "method": method}
    exact = st.simulate(by_angles, start={q: 0.5, p.dot: 8.0, q.dot: -3.0}, **given)
    s, c = np.sin(0.5), np.cos(0.5)
    place, speed = np.array([0, -1, s, -1 - c]) / units, np.array([8, 0, 8 - 3 * c, -3 * s]) / units
    start = dict(zip(X, place)) | {coordinate.dot: v for coordinate, v in zip(X, speed)}
    found = st.simulate(pendulum, start=start, **given)
    assert found.crossed == 0 and found.steps < 2 * exact.steps
    turned = np.sin(exact[p]) + np.sin(exact[q])
    np.testing.assert_allclose(units[2] * found[X[2]], turned, rtol=0, atol=1e-8)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "method, slow",
    [
        *((METHODS[0], slow) for slow in (0.3, 0.01)),
        *((METHODS[1], slow) for slow in (0.1, 0.01)),
        *(pytest.param(METHODS[2], slow, marks=pytest.mark.slow) for slow in (0.3, 0.1)),
    ],
    ids=str,
)
def test_what_turns_shortly_behind_its_flat_position_comes_back_over_it(method, slow):
    """Thrown up from below, it passes with this part of √(gL): as by one angle."""
    windows, low, g = 2, -0.6, 9.81
    system, _ = four_bars(windows)
    plain, a = one_angle(windows)
    rate = ((windows + 1) / 2 + windows) * g / ((windows + 1) / 3 + windows)
    speed = np.sqrt(slow**2 * g - 2 * rate * np.sin(low))
    expected = st.simulate(plain, span=(0, 0.8), start={a: low, a.dot: speed}, points=41)
    c, s = np.cos(low), np.sin(low)
    start = {}
    for i in range(windows + 1):
        start |= {f"x{i}": i + c, f"y{i}": s, f"x{i}.dot": -speed * s, f"y{i}.dot": speed * c}
    found = st.simulate(system, span=(0, 0.8), start=start, points=41, method=method)
    np.testing.assert_allclose(found["y0"], np.sin(expected[a]), atol=2e-8)
    np.testing.assert_allclose(found["x2"] - 2, np.cos(expected[a]), atol=2e-8)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("method", [*METHODS, st.Variational(step=0.005)], ids=str)
def test_an_antiparallelogram_stays_one(method):
    """Through its flat positions the half angles keep their ratio, (r − d)/(r + d)."""
    x, y, z, w = st.coordinates("x y z w")
    linkage = (
        st.particle(1.0, at=(x, y)) + st.particle(1.0, at=(z, w)) + st.rod((0, 0), (x, y), 1.0)
        + st.rod((2, 0), (z, w), 1.0) + st.rod((x, y), (z, w), 2.0)
    )  # fmt: skip
    a, ratio = 1.2, -1 / 3
    b = 2 * np.arctan(np.tan(a / 2) / ratio)
    # d/dt of tan(a/2) = ratio tan(b/2).
    va = -2.0
    vb = va / ratio * (np.cos(b / 2) / np.cos(a / 2)) ** 2
    start = {x: np.cos(a), y: np.sin(a), z: 2 + np.cos(b), w: np.sin(b)}
    start |= {x.dot: -va * np.sin(a), y.dot: va * np.cos(a)}
    start |= {z.dot: -vb * np.sin(b), w.dot: vb * np.cos(b)}
    found = st.simulate(linkage, span=(0, 3), start=start, points=61, method=method)
    A, B = np.arctan2(found[y], found[x]) / 2, np.arctan2(found[w], found[z] - 2) / 2
    assert np.ptp(np.unwrap(2 * A)) > 4
    np.testing.assert_allclose(np.sin(A) * np.cos(B), ratio * np.cos(A) * np.sin(B), atol=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_a_slider_crank_of_equal_rods_passes_under_its_pivot(method):
    x, y, s, a = st.coordinates("x y s a")
    crank = (
        st.particle(1.0, at=(x, y), gravity=9.81) + st.particle(1.0, at=(s, 0))
        + st.rod((0, 0), (x, y), 1.0) + st.rod((x, y), (s, 0), 1.0)
    )  # fmt: skip
    plain = st.System(
        kinetic=(a.dot**2 + (2 * st.sin(a) * a.dot) ** 2) / 2, potential=9.81 * st.sin(a)
    )
    expected = st.simulate(plain, span=(0, 0.5), start={a: 0.4, a.dot: 7.0}, points=41)
    c, b = np.cos(0.4), np.sin(0.4)
    start = {x: c, y: b, s: 2 * c, x.dot: -7 * b, y.dot: 7 * c, s.dot: -14 * b}
    found = st.simulate(crank, span=(0, 0.5), start=start, points=41, method=method)
    np.testing.assert_allclose(found[y], np.sin(expected[a]), atol=1e-7)
    np.testing.assert_allclose(found[s], 2 * np.cos(expected[a]), atol=1e-7)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "method", [*METHODS[:2], pytest.param(METHODS[2], marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.slow), 1, 2])
def test_a_loop_in_angles_turns_over_and_over(method, seed):
    """Flat, the row of lengths vanishes altogether; the cranks obey the pendulum's equation.

    The coupler may be as light as it likes: what holds it is small, and no less determined.
    """
    rng = np.random.default_rng(seed)
    unit, mass = (1.0, 1e-6, 1e6)[seed], (1.0, 1e-9, 1e9)[seed]
    crank, base, g = unit * rng.uniform(0.5, 2), unit * rng.uniform(0.5, 2), (0.0, 1.0, 0.3)[seed]
    p, q, r = st.coordinates("p q r")
    loop = [
        crank * f(p) + base * f(r) - crank * f(q) - end for f, end in ((st.cos, base), (st.sin, 0))
    ]
    inertia, coupler = mass * crank**2, (0.3, 1e-6, 0.01)[seed]
    linkage = st.System(
        kinetic=inertia * (p.dot**2 + q.dot**2 + coupler * r.dot**2) / 2,
        potential=inertia * g * (st.sin(p) + st.sin(q)),
        constraints=loop,
    )
    a = st.coordinates("a")
    pendulum = st.System(kinetic=a.dot**2 / 2, potential=g * st.sin(a))
    begin, rate = rng.uniform(0.2, 1), rng.uniform(2, 3)
    expected = st.simulate(pendulum, span=(0, 5), start={a: begin, a.dot: rate}, points=21)
    start = {p: begin, q: begin, p.dot: rate, q.dot: rate}
    found = st.simulate(linkage, span=(0, 5), start=start, points=21, method=method)
    assert expected[a][-1] > 3 * np.pi
    for angle in (p, q):
        np.testing.assert_allclose(found[angle], expected[a], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found[r], 0, atol=1e-8)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("crank, coupler", [(6e-3, 600.0), (1.0, 1e4)])
def test_a_heavy_coupler_makes_no_angle_small(crank, coupler):
    """It hardly turns: that is no length of its own, by which to judge what is known of it."""
    p, q, r, a = st.coordinates("p q r a")
    loop = [st.cos(p) + st.cos(r) - st.cos(q) - 1, st.sin(p) + st.sin(r) - st.sin(q)]
    linkage = st.System(
        kinetic=(p.dot**2 + crank * q.dot**2) / 2
        + coupler * (p.dot**2 + p.dot * r.dot * st.cos(p - r) + r.dot**2 / 3) / 2,
        potential=st.sin(p) + crank * st.sin(q) + coupler * (st.sin(p) + st.sin(r) / 2),
        constraints=loop,
    )
    pendulum = st.System(kinetic=a.dot**2 / 2, potential=st.sin(a))
    begin = {a: -1.2, a.dot: -2.3}
    expected = st.simulate(pendulum, span=(0, 4), start=begin, points=11)
    start = {p: -1.2, q: -1.2, p.dot: -2.3, q.dot: -2.3}
    found = st.simulate(linkage, span=(0, 4), start=start, points=11)
    assert expected[a][-1] < -2 * np.pi
    np.testing.assert_allclose(found[p], expected[a], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found[q], expected[a], rtol=0, atol=1e-8)


@pytest.mark.parametrize("coupler", [1.0, 1e-5])
def test_steps_may_become_short_before_a_light_coupler_lies_flat(coupler):
    """Cranks of different inertia, one of them damped, and a body between them by its four rows."""
    p, q, x, y, r, a = st.coordinates("p q x y r a")
    base, light, slow = 0.919, 0.32, 1.0
    rows = [
        f(p) * (1 - side) + f(q) * side + base * side * (f is st.cos) - z
        for side in (0, 1)
        for f, z in (
            (st.cos, x + (side - 0.5) * base * st.cos(r)),
            (st.sin, y + (side - 0.5) * base * st.sin(r)),
        )
    ]
    linkage = st.System(
        kinetic=(p.dot**2 + light * q.dot**2) / 2
        + coupler * (x.dot**2 + y.dot**2 + base**2 * r.dot**2 / 12) / 2,
        dissipation=slow * p.dot**2 / 2,
        constraints=rows,
    )
    inertia = 1 + light + coupler
    expected = st.simulate(
        st.System(kinetic=inertia * a.dot**2 / 2, dissipation=slow * a.dot**2 / 2),
        span=(0, 0.2), start={a: -0.37, a.dot: 4.4}, points=11,
    )  # fmt: skip
    c, s = np.cos(-0.37), np.sin(-0.37)
    start = {p: -0.37, q: -0.37, p.dot: 4.4, q.dot: 4.4, x: base / 2 + c, y: s}
    start |= {x.dot: -4.4 * s, y.dot: 4.4 * c}
    found = st.simulate(linkage, span=(0, 0.2), start=start, points=11, method=st.Runge())
    assert expected[a][-1] > 0.3
    np.testing.assert_allclose(found[p], expected[a], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found[q], expected[a], rtol=0, atol=1e-9)


def by_one_row(potential):
    """A parallelogram in its two angles: flat, the gradient of its only row vanishes."""
    p, q, a = st.coordinates("p q a")
    linkage = st.System(
        kinetic=(p.dot**2 + q.dot**2) / 2,
        potential=potential(p) + potential(q),
        constraints=[
            st.Constraint(
                (1.7 + st.cos(q) - st.cos(p)) ** 2 + (st.sin(q) - st.sin(p)) ** 2 - 1.7**2,
                name="coupler",
            )
        ],
    )
    return linkage, st.System(kinetic=a.dot**2 / 2, potential=potential(a)), (p, q, a)


# The first starts where forces all but balance: that says nothing about where rows bend.
@pytest.mark.parametrize("begin, seed", [(np.pi / 2 + 1e-4, 0), (0.4, 1)])
@pytest.mark.parametrize("method", METHODS[:2], ids=lambda m: type(m).__name__)
def test_a_single_row_may_lose_its_gradient(method, begin, seed):
    g = np.random.default_rng(seed).uniform(1, 9)
    linkage, pendulum, (p, q, a) = by_one_row(lambda a: g * st.sin(a))
    expected = st.simulate(pendulum, span=(0, 1), start={a: begin, a.dot: 6.0}, points=21)
    start = {p: begin, q: begin, p.dot: 6.0, q.dot: 6.0}
    found = st.simulate(linkage, span=(0, 1), start=start, points=21, method=method)
    assert expected[a][-1] > np.pi
    for angle in (p, q):
        np.testing.assert_allclose(found[angle], expected[a], rtol=0, atol=1e-8)


@pytest.mark.parametrize("aside", [1e-2, 1e-4, 1e-5])
def test_a_start_beside_the_place_where_the_only_row_vanishes_is_understood(aside):
    """What the row is summed from leaves more of it than it can mend there.

    Its first steps are short, and those that follow are not.
    """
    linkage, pendulum, (p, q, a) = by_one_row(lambda a: 9.81 * st.sin(a))
    expected = st.simulate(pendulum, span=(0, 0.4), start={a: aside, a.dot: 4.0}, points=11)
    start = {p: aside, q: aside, p.dot: 4.0, q.dot: 4.0}
    found = st.simulate(linkage, span=(0, 0.4), start=start, points=11)
    np.testing.assert_allclose(found[p], expected[a], rtol=0, atol=1e-11)
    np.testing.assert_allclose(found[q], expected[a], rtol=0, atol=1e-11)
    assert found.steps < 200


@pytest.mark.one_in(3)
@pytest.mark.parametrize("low, g", [(-0.9, 9.81), (-0.5, 3.0), (-1.2, 7.0)])
@pytest.mark.parametrize("method", [*METHODS, st.Variational(step=0.002)], ids=str)
def test_what_arrives_without_speed_where_the_only_row_vanishes_is_not_determined(method, low, g):
    linkage, _, (p, q, _) = by_one_row(lambda a: g * st.sin(a))
    speed = np.sqrt(-2 * g * np.sin(low))
    start = {p: low, q: low, p.dot: speed, q.dot: speed}
    with pytest.raises(st.DidNotConverge, match="become singular"):
        st.simulate(linkage, span=(0, 1.5), start=start, method=method)


@pytest.mark.parametrize("slow", [0.3, 0.1, 0.03])
def test_what_turns_between_two_singular_configurations_is_not_led_astray(slow):
    """It lands beside the first, and the second lies ahead before rows are regular again."""
    linkage, pendulum, (p, q, a) = by_one_row(lambda a: 9.81 * st.sin(a))
    low = -0.9
    speed = np.sqrt(9.81 * (slow**2 - 2 * np.sin(low)))
    expected = st.simulate(pendulum, span=(0, 1), start={a: low, a.dot: speed}, points=41)
    start = {p: low, q: low, p.dot: speed, q.dot: speed}
    found = st.simulate(linkage, span=(0, 1), start=start, points=41)
    np.testing.assert_allclose(found[p], expected[a], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found[q], expected[a], rtol=0, atol=1e-8)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("near", [0.02, 0.003, -0.1])
@pytest.mark.parametrize("method", METHODS[:2], ids=lambda m: type(m).__name__)
def test_what_swings_back_all_but_to_its_flat_position_turns_there(method, near):
    """A damped oscillation, closed form: let go beyond, it comes back to this angle before it."""
    linkage, _, (p, q, _) = by_one_row(lambda a: 2 * (a - 1) ** 2)
    decay = np.log(2 / (1 - near)) / (2 * np.pi)
    rate = 2 / np.sqrt(1 + decay**2)
    linkage += st.System(dissipation=decay * rate * (p.dot**2 + q.dot**2))
    motion = st.simulate(
        linkage, span=(0, 3 * np.pi / rate), start={p: -1.0, q: -1.0}, points=41, method=method
    )
    phase = rate * motion.t
    exact = 1 - 2 * np.exp(-decay * phase) * (np.cos(phase) + decay * np.sin(phase))
    np.testing.assert_allclose(motion[p], exact, rtol=0, atol=2e-9)
    np.testing.assert_allclose(motion[q], exact, rtol=0, atol=2e-9)


@pytest.mark.parametrize("method", METHODS[:2], ids=lambda m: type(m).__name__)
def test_kinks_and_blows_before_a_singular_configuration_lead_to_it(method):
    """Nothing that is known from before them says how it goes on behind them."""
    linkage, pendulum, (p, q, a) = by_one_row(lambda a: 5 * st.sin(a) + 3 * abs(st.sin(a) - 0.3))
    blow = st.Event(st.t - 0.25, action={v.dot: 1.3 * v.dot for v in (p, q)})
    start, faster = {a: 1.0, a.dot: 6.0}, st.Event(st.t - 0.25, action={a.dot: 1.3 * a.dot})
    expected = st.simulate(pendulum, span=(0, 1), start=start, points=21, events=[faster])
    begin = {p: 1.0, q: 1.0, p.dot: 6.0, q.dot: 6.0}
    found = st.simulate(linkage, span=(0, 1), start=begin, points=21, method=method, events=[blow])
    np.testing.assert_allclose(found[p], expected[a], rtol=0, atol=1e-8)


def test_a_kink_in_a_singular_configuration_is_refused():
    linkage, _, (p, q, _) = by_one_row(lambda a: abs(st.sin(a)))
    start = {p: 1.0, q: 1.0, p.dot: 6.0, q.dot: 6.0}
    with pytest.raises(st.DidNotConverge, match="become singular"):
        st.simulate(linkage, span=(0, 1), start=start)


def test_a_start_where_the_only_row_vanishes_is_told():
    linkage, _, (p, q, _) = by_one_row(st.sin)
    with pytest.raises(st.StatementError) as told:
        st.simulate(linkage, span=(0, 1), start={p.dot: 3.0, q.dot: 3.0})
    assert str(told.value) == (
        "the start is a singular configuration: it cannot be told how it goes on.\n"
        "  Found that 'coupler' holds nothing there, whichever way it moves.\n"
        "  Start a little aside, with the velocities that belong to it."
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("unit", [1.0, 1e-6])
def test_a_kite_in_angles_folds_and_opens_again(unit):
    """Crank and ground of one length: each time they lie on each other the rockers are free."""
    p, q, r = st.coordinates("p q r")
    long = 1.3
    loop = [
        unit * (f(p) + long * f(q) - long * f(r) - end) for f, end in ((st.cos, 1), (st.sin, 0))
    ]
    kite = st.System(kinetic=(p.dot**2 + 0.8 * q.dot**2 + 0.6 * r.dot**2) / 2, constraints=loop)
    # Half of the angle between the long sides has the sine of half the crank's over their length.
    a = st.coordinates("a")
    half = st.asin(st.sin(a / 2) / long)
    rates = [1, 0.5 - half.diff(a), 0.5 + half.diff(a)]
    turning = sum(w * rate**2 for w, rate in zip((1, 0.8, 0.6), rates))
    expected = st.simulate(
        st.System(kinetic=turning * a.dot**2 / 2), span=(0, 6), start={a: -1.3, a.dot: 2.5}
    )
    at = np.sin(-0.65) / long
    turn = np.arcsin(at)
    slope = np.cos(-0.65) / 2 / long / np.sqrt(1 - at**2)
    start = {p: -1.3, q: -0.65 - turn, r: -0.65 + turn}
    start |= {p.dot: 2.5, q.dot: 2.5 * (0.5 - slope), r.dot: 2.5 * (0.5 + slope)}
    found = st.simulate(kite, span=(0, 6), start=start)
    assert expected[a][-1] > 2 * np.pi
    np.testing.assert_allclose(found[p], expected[a], rtol=0, atol=1e-7)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize("seed", range(4))
def test_a_four_bar_at_grashof_s_limit_folds_and_goes_on(seed, unit):
    # Crank and coupler are as long as base and rocker together: once in a turn all lie on a line,
    # where it could go on in two ways. Its own is smooth, so that what comes is the mirror image of
    # what was, backwards.
    rng = np.random.default_rng(seed)
    a, b, c = st.coordinates("a b c")
    base, rocker = rng.uniform(1.2, 3, 2)
    coupler = base + rocker - 1
    loop = [
        unit * (st.cos(a) + coupler * st.cos(b) - base - rocker * st.cos(c)),
        unit * (st.sin(a) + coupler * st.sin(b) - rocker * st.sin(c)),
    ]
    m = rng.uniform(0.5, 2, 3)
    system = st.System(
        kinetic=unit**2 * (m[0] * a.dot**2 + m[1] * b.dot**2 + m[2] * c.dot**2) / 2,
        constraints=loop,
    )
    # Two circles meet where the coupler and the rocker do.
    angle = rng.uniform(4.0, 5.5)
    tip, pivot = np.exp(1j * angle), complex(base)
    apart = abs(pivot - tip)
    along = (apart**2 + coupler**2 - rocker**2) / (2 * apart)
    aside = np.sqrt(coupler**2 - along**2) * rng.choice([-1, 1])
    joint = tip + (along + 1j * aside) * (pivot - tip) / apart
    start = {a: angle, b: np.angle(joint - tip), c: np.angle(joint - pivot), a.dot: 1.0}
    flat = st.Event(a - 2 * np.pi, name="flat")
    motion = st.simulate(system, span=(0, 10), start=start, events=[flat])
    (there,) = motion.events["flat"]
    since = np.linspace(0.05, min(there, 10 - there), 7)
    before, after = motion.at(there - since[::-1]), motion.at(there + since)
    turned = np.array([before[x][::-1] for x in (a, b, c)])
    now = np.array([after[x] for x in (a, b, c)])
    wound = 2 * np.pi * np.round((now + turned)[:, :1] / (2 * np.pi))
    np.testing.assert_allclose(now, wound - turned, rtol=0, atol=1e-7)
    assert abs(motion.balance).max() <= 1e-9 * motion.kinetic.max()


@pytest.mark.parametrize("until", [0.95, 0.98, 0.99, 1.0, 1.02])
@pytest.mark.parametrize("closely", [1e-4, 3e-4])
def test_a_motion_may_end_where_it_comes_near_a_singular_configuration(closely, until):
    # Along x y = c, past the crossing of the axes, at constant speed.
    x, y = st.coordinates("x y")
    bead = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[x * y - closely])
    length = np.hypot(1, closely)
    start = {x: 1, y: closely, x.dot: -1 / length, y.dot: closely / length}
    motion = st.simulate(bead, span=(0, until), start=start, points=3)
    way = solve_ivp(
        lambda _, z: [-1 / np.hypot(1, closely / z[0] ** 2)], (0, until), [1.0], "Radau",
        rtol=1e-12, atol=1e-14,
    )  # fmt: skip
    assert motion[x][-1] == pytest.approx(way.y[0, -1], abs=1e-10)
