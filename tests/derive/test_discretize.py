"""Elements and shapes: what they are made of, and how fast they converge."""

import numpy as np
import pytest
import sympy as sp

import stationary as st
from tests.checks import assert_order

X = st.positions("X")
L = st.parameters(L=1.0)
u = st.field("u", over=(X, 0, L))
w = st.field("w", over=(X, 0, L))
FREE = dict(kinetic=u.dot**2 / 2, potential=u.diff(X) ** 2 / 2)
FINE = np.linspace(0, 1, 4001)


def bar(**more):
    return st.Continuum(**FREE, fixed={u.at(0): 0}, **more)


def beam(**more):
    clamped = {w.at(0): 0, w.diff(X).at(0): 0}
    return st.Continuum(
        kinetic=w.dot**2 / 2, potential=w.diff(X, 2) ** 2 / 2, fixed=clamped, **more
    )


def norm(values):
    return float(np.sqrt(np.trapezoid(values**2, FINE)))


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_mass_and_stiffness_of_an_element_are_those_of_exact_integration(degree):
    system = st.discretize(st.Continuum(**FREE), elements=1, degree=degree)
    s = sp.Symbol("s")
    nodes = [sp.Rational(i, degree) for i in range(degree + 1)]
    shapes = [sp.prod([(s - b) / (a - b) for b in nodes if b != a]) for a in nodes]
    numbers = st.compile(system)
    zero = np.zeros(degree + 1)
    for found, order in ((numbers.mass(zero), 0), (numbers.hessian(zero), 1)):
        exact = [
            [sp.integrate(a.diff(s, order) * b.diff(s, order), (s, 0, 1)) for b in shapes]
            for a in shapes
        ]
        np.testing.assert_allclose(found.toarray(), np.array(exact, dtype=float), atol=1e-13)


def test_stiffness_of_a_beam_element_is_that_of_the_textbooks():
    # M. Petyt, Introduction to finite element vibration analysis, section 3.5.
    free = st.Continuum(kinetic=w.dot**2 / 2, potential=w.diff(X, 2) ** 2 / 2)
    numbers = st.compile(st.discretize(free, elements=1), params={L: 2.0})
    h = 2.0
    K = np.array(
        [
            [12, 6 * h, -12, 6 * h],
            [6 * h, 4 * h**2, -6 * h, 2 * h**2],
            [-12, -6 * h, 12, -6 * h],
            [6 * h, 2 * h**2, -6 * h, 4 * h**2],
        ]
    )
    M = np.array(
        [
            [156, 22 * h, 54, -13 * h],
            [22 * h, 4 * h**2, 13 * h, -3 * h**2],
            [54, 13 * h, 156, -22 * h],
            [-13 * h, -3 * h**2, -22 * h, 4 * h**2],
        ]
    )
    np.testing.assert_allclose(numbers.hessian(np.zeros(4)).toarray(), K / h**3, rtol=1e-13)
    np.testing.assert_allclose(numbers.mass(np.zeros(4)).toarray(), M * h / 420, rtol=1e-13)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_lagrange_elements_converge_at_their_rates(degree):
    # −u″ = p with u = sin(3x)·x: order p + 1 in the field, p in its derivative.
    exact = sp.sin(3 * X) * X
    loaded = bar(
        loads=[
            st.Load(-exact.diff(X, 2), on=u),
            st.Load(float(exact.diff(X).subs(X, 1)), on=u.at(L)),
        ]
    )
    sizes = [4, 8, 16]
    errors = {0: [], 1: []}
    for n in sizes:
        rest = st.statics(st.discretize(loaded, elements=n, degree=degree))
        for order, found in errors.items():
            true = sp.lambdify(X, exact.diff(X, order))(FINE)
            found.append(norm(rest.field(u.diff(X, order) if order else u)(FINE) - true))
    assert_order([1 / n for n in sizes], errors[0], degree + 1, 0.15)
    assert_order([1 / n for n in sizes], errors[1], degree, 0.15)


def test_hermite_cubics_converge_at_their_rates():
    # w″″ = q with w = x² cos 2x: order 4 in the field, 3 in the slope, 2 in the moment.
    exact = X**2 * sp.cos(2 * X)
    end = {k: float(exact.diff(X, k).subs(X, 1)) for k in (2, 3)}
    loaded = beam(
        loads=[
            st.Load(exact.diff(X, 4), on=w),
            st.Load(-end[3], on=w.at(L)),
            st.Load(end[2], on=w.diff(X).at(L)),
        ]
    )
    sizes = [4, 8, 16]
    errors = {0: [], 1: [], 2: []}
    for n in sizes:
        rest = st.statics(st.discretize(loaded, elements=n))
        for order, found in errors.items():
            true = sp.lambdify(X, exact.diff(X, order))(FINE)
            found.append(norm(rest.field(w.diff(X, order) if order else w)(FINE) - true))
    for order, found in errors.items():
        assert_order([1 / n for n in sizes], found, 4 - order, 0.15)


@pytest.mark.parametrize(("degree", "order"), [(1, 2), (2, 4), (3, 6)])
def test_frequencies_converge_at_twice_the_degree(degree, order):
    sizes = [4, 8, 16]
    errors = []
    for n in sizes:
        found = st.modes(st.discretize(bar(), elements=n, degree=degree), count=2).frequencies
        errors.append(found[1] / (1.5 * np.pi) - 1)
    assert_order([1 / n for n in sizes], errors, order, 0.2)


def test_frequencies_of_hermite_cubics_converge_at_order_four():
    # Relative error (βh)⁴/1440 in ω, half of that in ω².
    sizes = [4, 8, 16]
    errors = []
    for n in sizes:
        found = st.modes(st.discretize(beam(), elements=n), count=2).frequencies
        errors.append(found[1] / 4.694091132974174576436**2 - 1)
    assert_order([1 / n for n in sizes], errors, 4, 0.2)
    assert errors[-1] == pytest.approx((4.694091132974 / 16) ** 4 / 1440, rel=0.02)


def test_the_length_stays_a_parameter():
    rod = st.discretize(bar(loads=[st.Load(2.0, on=u.at(L))]), elements=7)
    for length in (1.0, 3.0):
        rest = st.statics(rod, params={L: length})
        assert rest.field(u)(length) == pytest.approx(2 * length, rel=1e-13)
        found = st.modes(rod, count=1, params={L: length}).frequencies[0]
        assert found == pytest.approx(np.pi / 2 / length, rel=5e-3)


def test_points_named_in_the_statement_are_nodes_wherever_parameters_put_them():
    a = st.parameters(a=0.3)
    rod = st.discretize(bar(loads=[st.Load(1.0, on=u.at(a))]), elements=5)
    for place in (0.3, 0.77):
        rest = st.statics(rod, params={a: place})
        assert rest[u.at(a)] == pytest.approx(place, rel=1e-12)
        x = np.array([place / 2, place, (1 + place) / 2, 1.0])
        np.testing.assert_allclose(rest.field(u)(x), np.minimum(x, place), rtol=1e-12)


def test_piecewise_coefficients_put_a_node_where_they_jump():
    stiff = st.Piecewise((4.0, X < 0.37), (1.0, True))
    stepped = st.Continuum(
        potential=stiff * u.diff(X) ** 2 / 2, fixed={u.at(0): 0}, loads=[st.Load(1.0, on=u.at(L))]
    )
    rest = st.statics(st.discretize(stepped, elements=4))
    assert rest.field(u)(1.0) == pytest.approx(0.37 / 4 + 0.63, rel=1e-13)
    assert rest.field(u)(0.2) == pytest.approx(0.05, rel=1e-13)


def test_a_support_that_moves_is_put_in_place_of_its_coordinate():
    # u(0) = d sin Ωt: the bar is driven as by its inertia in the frame of the support.
    d, Omega = 0.01, 3.0
    moving = st.Continuum(**FREE, fixed={u.at(0): d * st.sin(Omega * st.t)})
    still = st.Continuum(
        **FREE,
        fixed={u.at(0): 0},
        loads=[st.Load(d * Omega**2 * st.sin(Omega * st.t), on=u)],
    )
    one = st.discretize(moving, elements=6, degree=2)
    two = st.discretize(still, elements=6, degree=2)
    a = st.simulate(one, span=(0, 4), start={u.dot: d * Omega}, points=41)
    b = st.simulate(two, span=(0, 4), points=41)
    carried = d * np.sin(Omega * a.t)
    x = np.array([0.0, 0.21, 0.5, 1.0])
    np.testing.assert_allclose(a.field(u)(x), b.field(u)(x) + carried, atol=1e-12)
    assert a.field(u.dot)(0.0, 1.0) == pytest.approx(d * Omega * np.cos(Omega), rel=1e-12)


def test_bars_joined_by_a_tie_are_one_bar():
    one, two = st.field("u1", over=(X, 0, 0.5)), st.field("u2", over=(X, 0.5, 1))
    tied = st.Continuum(
        kinetic=(one.dot**2 + two.dot**2) / 2,
        potential=(one.diff(X) ** 2 + two.diff(X) ** 2) / 2,
        fixed={one.at(0): 0, two.at(0.5): one.at(0.5)},
    )
    found = st.modes(st.discretize(tied, elements=8, degree=2), count=4)
    whole = st.modes(st.discretize(bar(), elements=16, degree=2), count=4)
    np.testing.assert_allclose(found.frequencies, whole.frequencies, rtol=1e-10)
    x = np.linspace(0.5, 1, 7)
    np.testing.assert_allclose(np.abs(found.field(two)(x)), np.abs(whole.field(u)(x)), rtol=1e-8)


def test_ritz_with_the_modes_of_a_bar_gives_its_frequencies():
    shapes = [st.sin((2 * k - 1) * st.pi * X / (2 * L)) for k in (1, 2, 3)]
    found = st.modes(st.ritz(bar(), shapes=shapes), count=3, params={L: 2.0})
    np.testing.assert_allclose(found.frequencies, np.pi / 4 * np.array([1, 3, 5]), rtol=1e-12)


def test_ritz_bounds_the_frequency_of_a_cantilever_from_above():
    # Lord Rayleigh's bound with w = x²: ω² = 20; with x², x³ to five digits below (Meirovitch).
    one = st.modes(st.ritz(beam(), shapes=[X**2]), count=1).squares
    assert one[0] == pytest.approx(20.0, rel=1e-12)
    two = st.modes(st.ritz(beam(), shapes=[X**2, X**3]), count=1).frequencies
    assert 1.875104068711961**2 < two[0] < np.sqrt(20)
    assert two[0] == pytest.approx(3.5327, abs=1e-4)


def test_shapes_that_miss_a_condition_are_held_to_it_by_a_constraint():
    # u = a + b x with u(0) = 0 under a force at the end: the multiplier is minus the support.
    rod = st.ritz(bar(loads=[st.Load(3.0, on=u.at(L))]), shapes=[sp.S(1), X])
    rest = st.statics(rod)
    assert rest.field(u)(0.5) == pytest.approx(1.5, rel=1e-12)
    assert rest.lam["u(0)"] == pytest.approx(-3.0, rel=1e-12)


def test_ten_thousand_elements_keep_everything_sparse():
    rod = st.discretize(bar(), elements=10_000)
    numbers = st.compile(rod)
    zero = np.zeros(rod.size)
    assert numbers.hessian(zero).nnz == numbers.mass(zero).nnz == 3 * rod.size - 2
    assert st.discretize(bar(), elements=10_000) == rod


@pytest.mark.slow
def test_ten_thousand_elements_rest_and_swing_as_the_bar_does():
    rod = st.discretize(bar(loads=[st.Load(1.0, on=u.at(L))]), elements=10_000)
    assert st.statics(rod).field(u)(0.37) == pytest.approx(0.37, rel=1e-9)
    found = st.modes(rod, count=50).frequencies
    np.testing.assert_allclose(found, (np.arange(50) + 0.5) * np.pi, rtol=5e-4)
