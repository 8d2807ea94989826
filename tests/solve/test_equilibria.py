"""All equilibria in a box: counted where mathematics knows how many there are."""

import numpy as np
import pytest

import stationary as st

x, y, z, theta = st.coordinates("x y z theta")
m, l, g = st.parameters(m=1.0, l=1.0, g=9.81)  # noqa: E741 (l, as on the slides)


def places(found, *coordinates):
    return [tuple(rest[c] for c in coordinates) for rest in found]


# -- the documents ---------------------------------------------------------------------------------


def test_a_cart_with_a_pendulum_has_two_equilibria_and_x_is_free():
    # D. Lee, lectures 9–11: q_e = (x', 0) and (x', π), x' arbitrary.
    m1, m2 = st.parameters(m1=1.0, m2=0.2)
    cart = st.System(
        kinetic=m1 * x.dot**2 / 2
        + m2 * (x.dot**2 + 2 * x.dot * theta.dot * l * st.cos(theta) + l**2 * theta.dot**2) / 2,
        potential=m2 * g * l * (1 - st.cos(theta)),
    )
    found = st.equilibria(cart, within={x: (-2, 2), theta: (-1, 4)})
    down, up = sorted(found, key=lambda rest: rest[theta])
    assert (down[theta], up[theta]) == pytest.approx((0.0, np.pi), abs=1e-12)
    assert down.stable and not up.stable
    for rest in (down, up):
        along = dict(zip(rest.as_start(), np.abs(rest.free[0])))
        assert len(rest.free) == 1 and along == pytest.approx({"x": 1.0, "theta": 0.0}, abs=1e-9)
    assert found.complete and "subdivision" in found.searched


OMEGA = st.parameters(Omega=5.0)
hoop = st.System(
    kinetic=m * l**2 * (theta.dot**2 + OMEGA**2 * st.sin(theta) ** 2) / 2,
    potential=m * g * l * (1 - st.cos(theta)),
)


def test_a_bead_on_a_fast_hoop_has_three_equilibria_and_their_mirror_images():
    found = st.equilibria(hoop, within={theta: (-3.2, 3.2)})
    side = np.arccos(9.81 / 25)
    assert [rest[theta] for rest in found] == pytest.approx(
        [-np.pi, -side, 0, side, np.pi], abs=1e-12
    )
    assert [rest.stable for rest in found] == [False, True, False, True, False]
    half = st.equilibria(hoop, within={theta: (-0.5, 3.5)})
    assert [rest[theta] for rest in half] == pytest.approx([0, side, np.pi], abs=1e-12)


def test_a_bead_on_a_slow_hoop_has_two_equilibria():
    found = st.equilibria(hoop, within={theta: (-0.5, 3.5)}, params={OMEGA: 3.0})
    assert [rest[theta] for rest in found] == pytest.approx([0, np.pi], abs=1e-12)
    assert [rest.stable for rest in found] == [True, False]


# -- functions whose critical points are known -----------------------------------------------------


def test_the_nine_critical_points_of_himmelblaus_function_are_found():
    # D. M. Himmelblau, Applied Nonlinear Programming (1972): four minima of value zero, one
    # maximum of value 181.617, four saddles.
    system = st.System(potential=(x**2 + y - 11) ** 2 + (x + y**2 - 7) ** 2)
    found = st.equilibria(system, within={x: (-5, 5), y: (-5, 5)})
    assert len(found) == 9
    minima = [rest for rest in found if rest.stable]
    published = [(-3.779310, -3.283186), (-2.805118, 3.131312), (3.0, 2.0), (3.584428, -1.848126)]
    assert np.array(places(minima, x, y)) == pytest.approx(np.array(published), abs=1e-6)
    assert [rest.energy for rest in minima] == pytest.approx([0.0] * 4, abs=1e-20)
    maxima = [rest for rest in found if rest.inertia == (0, 2, 0)]
    assert places(maxima, x, y) == [pytest.approx((-0.270845, -0.923039), abs=1e-6)]
    assert maxima[0].energy == pytest.approx(181.617, abs=1e-3)
    assert sum(rest.inertia == (1, 1, 0) for rest in found) == 4
    # Morse: minima − saddles + maxima is what a bowl has.
    assert len(minima) - 4 + len(maxima) == 1


def test_a_cartesian_pendulum_hangs_or_stands():
    rod = st.Constraint(x**2 + y**2 - l**2, name="rod")
    system = st.System(potential=m * g * y, constraints=[rod])
    found = st.equilibria(system, within={x: (-2, 2), y: (-2, 2)})
    assert sorted(places(found, y)) == [pytest.approx((-1.0,)), pytest.approx((1.0,))]
    hangs = min(found, key=lambda rest: rest[y])
    assert hangs.stable and hangs.lam["rod"] == pytest.approx(-9.81 / 2)
    assert not max(found, key=lambda rest: rest[y]).stable


def test_a_double_pendulum_has_four_equilibria_modulo_a_turn():
    a, b = st.coordinates("a b")
    double = st.System(potential=-2 * g * st.cos(a) - g * st.cos(b))
    found = st.equilibria(double, within={a: (-1, 4), b: (-1, 4)})
    expected = [(0, 0), (0, np.pi), (np.pi, 0), (np.pi, np.pi)]
    assert len(found) == 4
    for place in expected:
        assert any(np.allclose(place, p, atol=1e-10) for p in places(found, a, b))
    assert [rest.inertia[1] for rest in sorted(found, key=lambda r: r.energy)] == [0, 1, 1, 2]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(8))
def test_all_roots_of_a_random_polynomial_are_found(seed):
    rng = np.random.default_rng(seed)
    # Roots with gaps of 0.15 or more, so that numpy knows them to rounding.
    roots = np.sort(rng.uniform(-2.5, 2.5, 40))
    roots = roots[np.insert(np.diff(roots) > 0.15, 0, True)]
    roots = np.sort(rng.choice(roots, size=min(len(roots), int(rng.integers(2, 7))), replace=False))
    coefficients = np.poly(roots)
    energy = sum(c * x ** (n + 1) / (n + 1) for n, c in enumerate(coefficients[::-1]))
    found = st.equilibria(st.System(potential=energy), within={x: (-3, 3)})
    exact = np.sort(np.roots(coefficients).real)
    assert [rest[x] for rest in found] == pytest.approx(exact, abs=1e-8)
    # Minima and maxima alternate, and a rising slope is a minimum.
    rises = [np.polyval(np.polyder(coefficients), root) > 0 for root in roots]
    assert [rest.stable for rest in found] == rises


def test_equilibria_of_a_product_of_polynomials_are_all_pairs():
    # ∂/∂x vanishes at −1, 0, 1 and ∂/∂y at −2, 1: six pairs.
    energy = (x**4 / 4 - x**2 / 2) + (y**3 / 3 + y**2 / 2 - 2 * y)
    found = st.equilibria(st.System(potential=energy), within={x: (-3, 3), y: (-3, 3)})
    expected = [(a, b) for a in (-1, 0, 1) for b in (-2, 1)]
    assert np.array(sorted(np.round(places(found, x, y), 9).tolist())) == pytest.approx(
        np.array(expected), abs=1e-9
    )
    assert sum(rest.stable for rest in found) == 2


# -- families and limits ---------------------------------------------------------------------------


def test_a_ring_of_equilibria_counts_as_one_family():
    # A marble in the rim of a Mexican hat: the top, and the ring x² + y² = 1.
    hat = st.System(potential=(x**2 + y**2 - 1) ** 2 / 4)
    found = st.equilibria(hat, within={x: (-2, 2), y: (-2, 2)})
    assert len(found) == 2
    ring = next(rest for rest in found if len(rest.free))
    assert ring[x**2 + y**2] == pytest.approx(1.0) and ring.stable
    assert float(ring.free[0] @ [ring[x], ring[y]]) == pytest.approx(0.0, abs=1e-9)
    assert not next(rest for rest in found if not len(rest.free)).stable


def test_families_are_represented_by_their_member_nearest_to_zero():
    free = st.System(kinetic=x.dot**2 + y.dot**2 + theta.dot**2, potential=-st.cos(theta))
    found = st.equilibria(free, within={x: (-2, 2), y: (1, 3), theta: (-1, 7)})
    expected = [(0, 1, angle) for angle in (0, np.pi, 2 * np.pi)]
    assert np.array(places(found, x, y, theta)) == pytest.approx(np.array(expected), abs=1e-9)
    assert all(len(rest.free) == 2 for rest in found)


def test_a_ring_about_zero_is_represented_by_its_point_on_the_first_axis():
    hat = st.System(potential=(x**2 + y**2 - 1) ** 2 / 4)
    found = st.equilibria(hat, within={x: (-2, 2), y: (-2, 2)})
    assert places(found, x, y) == [
        pytest.approx((0, 0), abs=1e-9), pytest.approx((1, 0), abs=1e-9)
    ]  # fmt: skip


def test_a_point_without_stiffness_is_listed_once_and_in_its_place():
    # The slope (x + 1) x² has a double root.
    found = st.equilibria(st.System(potential=x**4 / 4 + x**3 / 3), within={x: (-3, 3)})
    assert [rest[x] for rest in found] == pytest.approx([-1.0, 0.0], abs=1e-9)
    assert [rest.stable for rest in found] == [True, False]


def test_inputs_that_feed_back_shift_the_equilibria():
    push = st.inputs("push")
    system = st.System(potential=x**2 / 2, loads=[st.Load(push, on=x)])
    found = st.equilibria(system, within={x: (-3, 3)}, inputs={push: 2 * x - x**3})
    assert [rest[x] for rest in found] == pytest.approx([-1, 0, 1], abs=1e-10)
    assert [rest.stable for rest in found] == [True, False, True]


@pytest.mark.parametrize("length", [1e-9, 1.0, 1e9])
def test_angles_are_shown_beside_lengths_of_any_size(length):
    y, p, other = st.coordinates("y p other")
    rows = [y + length * st.cos(p), other - length * st.sin(p)]
    crank = st.System(potential=2 * y, constraints=rows)
    within = {y: (-2 * length, 2 * length), other: (-2 * length, 2 * length), p: (-1, 4)}
    top, bottom = sorted(st.equilibria(crank, within=within), key=lambda rest: -rest[p])
    assert "p = 3.14159, " in repr(top) and "p = 0, " in repr(bottom)
    assert f"y = {length:g}, " in repr(top) and f"y = {-length:g}, " in repr(bottom)


@pytest.mark.parametrize("away", [1e4, 1e8, 1e11, 1e12])
def test_what_has_too_few_digits_is_not_missed_in_a_complete_list(away):
    # A crank of a nanometre: its lowest and its highest place, 10 µm to 1 km away from the origin.
    y, p, other = st.coordinates("y p other")
    r, o = 1e-9, 1e-9 * away
    rows = [y - o + r * st.cos(p), other - o - r * st.sin(p)]
    within = {y: (o - 2 * r, o + 2 * r), other: (o - 2 * r, o + 2 * r), p: (-1, 4)}
    rests = st.equilibria(st.System(potential=2 * y, constraints=rows), within=within)
    assert [rest.stable for rest in rests] == [True, False] or not rests.complete
    assert rests.complete or "too few digits" in repr(rests)


def test_nothing_outside_the_box_is_listed():
    found = st.equilibria(st.System(potential=-st.cos(theta)), within={theta: (-1, 1)})
    assert [rest[theta] for rest in found] == pytest.approx([0.0], abs=1e-13)


def test_equilibria_on_the_edge_of_the_box_are_in_it():
    found = st.equilibria(st.System(potential=-st.cos(theta)), within={theta: (0, np.pi)})
    assert [rest[theta] for rest in found] == pytest.approx([0.0, np.pi], abs=1e-12)


def test_a_system_that_never_rests_has_none():
    assert list(st.equilibria(st.System(potential=x + y**2), within={x: (-1, 1)})) == []


def test_a_search_says_how_hard_it_looked_and_lists_what_it_found():
    found = st.equilibria(st.System(potential=-st.cos(theta)), within={theta: (-1, 4)})
    text = repr(found)
    assert text.startswith("2 equilibria, complete; interval subdivision of")
    assert "  stable: theta = " in text and "  unstable (saddle): theta = 3.14159" in text


def test_where_families_cross_their_dimension_is_that_of_each():
    # At the origin both axes are flat, and what lies between them is not.
    crossed = st.statics(st.System(potential=(x * y) ** 2))
    assert crossed.family == 1


@pytest.mark.slow
@pytest.mark.parametrize("turned", [False, True])
def test_families_that_cross_are_told_with_their_dimension(turned):
    energy = (x**2 - y**2) ** 2 if turned else (x * y) ** 2
    found = st.equilibria(st.System(potential=energy), within={x: (-1, 1.1), y: (-1, 1.1)})
    assert [rest.family for rest in found] == [1]
