"""Equilibria that are proven to be all: counted where mathematics knows how many there are."""

from itertools import permutations, product

import numpy as np
import pytest

import stationary as st

x, y, z, theta = st.coordinates("x y z theta")


def places(found, *coordinates):
    return np.array([[rest[c] for c in coordinates] for rest in found])


# -- known counts ----------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_weakly_coupled_duffing_oscillators_rest_in_all_combinations(n):
    # Three places each, which a coupling of 0.04 moves by less than 0.1.
    q = st.coordinates(" ".join(f"q{i}" for i in range(n)))
    coupling = sum((a - b) ** 2 for a, b in zip(q, q[1:])) / 50
    system = st.System(potential=sum(c**4 / 4 - c**2 / 2 for c in q) + coupling)
    found = st.equilibria(system, within={c: (-2, 2) for c in q})
    assert found.complete and len(found) == 3**n
    near = np.round(places(found, *q)).astype(int)
    assert sorted(map(tuple, near)) == sorted(product((-1, 0, 1), repeat=n))
    assert sum(rest.stable for rest in found) == 2**n


@pytest.mark.parametrize("coupling", [0.05, 0.3, 0.8])
def test_three_coupled_pendulums_come_with_their_mirror_images(coupling):
    a, b, c = st.coordinates("a b c")
    energy = -st.cos(a) - st.cos(b) - st.cos(c) + coupling / 2 * ((a - b) ** 2 + (b - c) ** 2)
    found = st.equilibria(st.System(potential=energy), within={q: (-3.5, 3.5) for q in (a, b, c)})
    assert found.complete
    here = places(found, a, b, c)
    for image in (-here, here[:, ::-1], -here[:, ::-1]):
        apart = np.abs(image[:, None] - here[None]).max(axis=2).min(axis=1)
        assert apart.max() < 1e-9


@pytest.mark.one_in(2)
@pytest.mark.parametrize("ratio", [1e-6, 1e-3, 0.012, 0.5])
def test_three_bodies_have_five_points_of_libration(ratio):
    system = st.System(
        kinetic=((x.dot - y) ** 2 + (y.dot + x) ** 2) / 2,
        potential=-(1 - ratio) / st.sqrt((x + ratio) ** 2 + y**2)
        - ratio / st.sqrt((x - 1 + ratio) ** 2 + y**2),
    )
    found = st.equilibria(system, within={x: (-1.6, 1.5), y: (-1.4, 1.5)})
    assert len(found) == 5 and (found.complete or ratio < 1e-5)
    triangles = [rest for rest in found if abs(rest[y]) > 0.5]
    line = sorted(rest[x] for rest in found if abs(rest[y]) < 1e-9)
    assert places(triangles, x, y) == pytest.approx(
        np.array([[0.5 - ratio, -np.sqrt(0.75)], [0.5 - ratio, np.sqrt(0.75)]]), abs=1e-7
    )
    assert len(line) == 3 and all(not rest.stable for rest in found if abs(rest[y]) < 1e-9)
    # L. Euler (1767): on the line forces balance, each point between its neighbours.
    for place in line:
        left, right = place + ratio, place - 1 + ratio
        pull = (1 - ratio) * left / abs(left) ** 3 + ratio * right / abs(right) ** 3
        assert place == pytest.approx(pull, rel=1e-7)
    assert line[0] < -ratio < line[1] < 1 - ratio < line[2]


@pytest.mark.parametrize(("n", "m"), [(4, 3), (5, 6)])
def test_sums_of_chebyshev_polynomials_rest_on_a_grid(n, m):
    # Tₙ has its n − 1 extrema at cos(kπ/n).
    polynomials = [np.polynomial.chebyshev.cheb2poly([0] * k + [1]) for k in (n, m)]
    energy = sum(c * q**k for p, q in zip(polynomials, (x, y)) for k, c in enumerate(p.tolist()))
    found = st.equilibria(st.System(potential=energy), within={x: (-1, 1), y: (-1, 1)})
    grid = [
        (np.cos(i * np.pi / n), np.cos(j * np.pi / m)) for i in range(1, n) for j in range(1, m)
    ]
    assert found.complete and len(found) == len(grid)
    assert np.sort(places(found, x, y), axis=0) == pytest.approx(
        np.sort(np.array(grid), axis=0), abs=1e-9
    )


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(4))
def test_random_waves_on_a_torus_add_up_to_nothing(seed):
    # M. Morse: minima − saddles + maxima is the Euler characteristic, zero for the torus.
    rng = np.random.default_rng(seed)
    a, b = st.coordinates("a b")
    energy = sum(
        float(rng.normal()) * st.cos(k * a + j * b + float(rng.uniform(0, 6)))
        for k in range(3)
        for j in range(-2, 3)
    )
    # A corner that no equilibrium comes close to.
    low = rng.uniform(0, 6, 2)
    turn = 2 * np.pi
    found = st.equilibria(
        st.System(potential=energy),
        within={a: (low[0], low[0] + turn), b: (low[1], low[1] + turn)},
    )
    assert found.complete and len(found) >= 4
    assert sum((-1) ** rest.inertia[1] for rest in found) == 0


@pytest.mark.parametrize("seed", range(2))
def test_random_bowls_add_up_to_one(seed):
    rng = np.random.default_rng(100 + seed)
    q = (x, y, z)
    bumps = sum(
        float(rng.normal(0, 3)) * st.exp(-sum((c - float(m)) ** 2 for c, m in zip(q, centre)))
        for centre in rng.uniform(-1.5, 1.5, (5, 3))
    )
    system = st.System(potential=sum(c**2 for c in q) / 4 + bumps)
    found = st.equilibria(system, within={c: (-5, 5) for c in q})
    assert found.complete and sum((-1) ** rest.inertia[1] for rest in found) == 1


def test_on_a_sphere_they_add_up_to_two():
    rng = np.random.default_rng(8)
    quadratic = rng.normal(size=(3, 3))
    q = (x, y, z)
    energy = sum(float(quadratic[i, j]) * q[i] * q[j] for i in range(3) for j in range(3)) + sum(
        float(c) * a for c, a in zip(rng.normal(0, 0.2, 3), q)
    )
    ball = st.Constraint(x**2 + y**2 + z**2 - 1, name="ball")
    found = st.equilibria(
        st.System(potential=energy, constraints=[ball]), within={c: (-1.3, 1.2) for c in q}
    )
    assert found.complete and len(found) == 6
    assert sum((-1) ** rest.inertia[1] for rest in found) == 2


@pytest.mark.parametrize(("power", "stable"), [(3, False), (4, True), (5, False)])
def test_a_point_without_stiffness_is_one(power, stable):
    found = st.equilibria(
        st.System(potential=(x - 0.3) ** power + (y + 0.1) ** 2), within={x: (-2, 2), y: (-2, 2)}
    )
    assert found.complete and places(found, x, y) == pytest.approx(
        np.array([[0.3, -0.1]]), abs=1e-6
    )
    assert found[0].stable is stable


def test_pendulums_at_their_bifurcation_are_listed_once():
    # At a coupling of one the state with all three upright is a triple zero.
    a, b, c = st.coordinates("a b c")
    energy = -st.cos(a) - st.cos(b) - st.cos(c) + ((a - b) ** 2 + (b - c) ** 2) / 2
    found = st.equilibria(st.System(potential=energy), within={q: (-3.5, 3.5) for q in (a, b, c)})
    assert found.complete and places(found, a, b, c) == pytest.approx(
        np.pi * np.array([[-1, -1, -1], [0, 0, 0], [1, 1, 1]]), abs=1e-5
    )


@pytest.fixture
def little_work(monkeypatch):
    """Give a proof up early: what is found must not depend on it."""
    monkeypatch.setattr("stationary.solve.rest.subdivision._MOST_WORK", 1e6)


# -- families --------------------------------------------------------------------------------------


@pytest.mark.one_in(2)
@pytest.mark.parametrize("order", list(permutations((x, y, z))))
def test_the_equator_of_a_sphere_is_one_family_in_any_order(order):
    ball = st.Constraint(x**2 + y**2 + z**2 - 1, name="ball")
    system = st.System(potential=z**2, constraints=[ball])
    found = st.equilibria(system, within={c: (-1.5, 1.5) for c in order})
    assert found.complete and len(found) == 3
    (equator,) = [rest for rest in found if rest.family]
    assert equator.family == 1 and equator.stable
    assert places([equator], x, y, z) == pytest.approx(np.array([[1, 0, 0]]), abs=1e-6)
    assert "family of dimension 1" in repr(found) and "family" in repr(equator)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("energy", "dimensions"),
    [
        ((x**2 + y**2 - 1) ** 2, [0, 1]),
        ((x**2 / 4 + y**2 - 1) ** 2, [0, 1]),
        ((y - x**2) ** 2, [1]),
        ((x - y) ** 2, [1]),
        (((x**2 + y**2 - 1) * (x**2 + y**2 - 2)) ** 2, [0, 1, 1, 1]),
    ],
)
def test_curves_of_equilibria_are_families(energy, dimensions, little_work):
    found = st.equilibria(st.System(potential=energy), within={x: (-2.5, 2.5), y: (-2.5, 2.5)})
    assert sorted(rest.family for rest in found) == dimensions
    for rest in found:
        if rest.family:
            assert abs(rest.residual["force"]) < 1e-9


@pytest.mark.slow
def test_surfaces_of_equilibria_are_families(little_work):
    found = st.equilibria(
        st.System(potential=(x**2 + y**2 + z**2 - 1) ** 2), within={c: (-2, 2) for c in (x, y, z)}
    )
    assert sorted(rest.family for rest in found) == [0, 2]
    loose = st.System(kinetic=x.dot**2 + y.dot**2)
    (everywhere,) = st.equilibria(loose, within={x: (-1, 1), y: (2, 3)})
    assert everywhere.family == 2 and places([everywhere], x, y).tolist() == [[0.0, 2.0]]


# -- what is said ----------------------------------------------------------------------------------


def test_a_box_that_is_too_large_is_said_to_be_searched_and_not_proven():
    q = st.coordinates(" ".join(f"p{i}" for i in range(9)))
    system = st.System(potential=sum((c**2 - 1) ** 2 for c in q[:1]) + sum(c**2 for c in q[1:]))
    found = st.equilibria(system, within={c: (-2, 2) for c in q})
    assert not found.complete and len(found) == 3
    assert "not proven complete" in repr(found) and "too many for a proof" in found.searched


def test_a_coordinate_without_an_interval_is_named():
    found = st.equilibria(st.System(potential=x**2 + (y - x) ** 2), within={x: (-1, 1)})
    assert not found.complete and len(found) == 1 and "within says nothing of 'y'" in found.searched


def test_the_result_is_a_list():
    found = st.equilibria(st.System(potential=-st.cos(theta)), within={theta: (-1, 4)})
    assert isinstance(found, list) and found[:1] == [found[0]] and len(list(found)) == 2
    assert found.complete is True


# -- units and origin ------------------------------------------------------------------------------


@pytest.mark.one_in(3)
@pytest.mark.parametrize("mass", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("length", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("shift", [0.0, 1e3])
def test_counts_are_the_same_in_every_unit_and_from_every_origin(length, mass, shift):
    X, Y = x / length - shift, y / length
    hat = st.System(
        kinetic=mass * (x.dot**2 + y.dot**2) / 2,
        potential=mass * length**2 * ((X**2 + Y**2 - 1) ** 2 + X / 3),
    )
    within = {x: ((shift - 2) * length, (shift + 2) * length), y: (-2 * length, 2 * length)}
    found = st.equilibria(hat, within=within)
    # On the axis 4 X³ − 4 X + 1/3 = 0.
    exact = np.sort(np.roots([4, 0, -4, 1 / 3]).real)
    assert found.complete and len(found) == 3
    assert places(found, x)[:, 0] / length - shift == pytest.approx(exact, abs=1e-8)
    assert [rest.stable for rest in found] == [True, False, False]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("length", [1e-9, 3e-4, 1.0, 7e5, 1e9])
def test_curves_of_least_energy_are_level_in_every_unit(length):
    # At their minimum, where nothing is left of energies but squares of last digits.
    X, Y = x / length, y / length
    within = {x: (-3 * length, 3 * length), y: (-3 * length, 3 * length)}
    for energy, dimensions in (((X**2 + Y**2 - 1) ** 2, [0, 1]), ((X * Y - 1) ** 2, [0, 1, 1])):
        found = st.equilibria(st.System(potential=energy), within=within)
        assert found.complete and sorted(rest.family for rest in found) == dimensions


@pytest.mark.one_in(6)
@pytest.mark.parametrize("unit", [1e-6, 1.0])
@pytest.mark.parametrize("stiffness", [1e6, 1e10, 1e12])
def test_a_pendulum_on_a_stiff_spring_hangs_or_stands(stiffness, unit):
    # Along the ring forces are next to nothing beside those across it: it is no family.
    energy = stiffness * (st.sqrt(x**2 + y**2) / unit - 1) ** 2 / 2 + y / unit
    box = {x: (-2 * unit, 2 * unit), y: (-2 * unit, 2.1 * unit)}
    rests = st.equilibria(st.System(potential=energy), within=box)
    assert [rest.family for rest in rests] == [0, 0]
    expected = [(0, -1 - 1 / stiffness), (0, 1 - 1 / stiffness)]
    np.testing.assert_allclose([rest.q / unit for rest in rests], expected, atol=1e-6)
    assert [rest.stable for rest in rests] == [True, False]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "energy, dimensions",
    [
        ((x * y) ** 2, [1]),
        (((x - y) * (x + y - 0.5)) ** 2, [1]),
        (((x**2 + y**2) ** 2 - (x**2 - y**2)) ** 2, [0, 1, 0]),
        ((x * y * z) ** 2, [2]),
    ],
    ids=str,
)
def test_families_that_cross_in_the_middle_of_the_box_have_their_own_dimension(
    energy, dimensions, little_work
):
    within = {c: (-2, 2) for c in (x, y, z) if energy.has(c)}
    rests = st.equilibria(st.System(potential=energy), within=within)
    assert [rest.family for rest in rests] == dimensions


@pytest.mark.one_in(2)
@pytest.mark.parametrize("stiffness", [1e3, 1e5])
def test_two_stiff_springs_do_not_rest_where_they_have_no_length(stiffness):
    # There the stiffness is without bounds and the force is that of the springs.
    a, b = st.coordinates("a b")
    energy = stiffness * (st.sqrt(x**2 + y**2) - 1) ** 2 / 2 + y + b
    energy += stiffness * (st.sqrt((a - x) ** 2 + (b - y) ** 2) - 1) ** 2 / 2
    box = {x: (-1.5, 1.5), y: (-1.5, 1.6), a: (-2.5, 2.5), b: (-2.5, 2.6)}
    rests = st.equilibria(st.System(potential=energy), within=box)
    # Each hangs or stands: stretched by what it carries, or pressed.
    first, second = 2 / stiffness, 1 / stiffness
    expected = [(p - first, p + q - first - second) for p in (-1, 1) for q in (-1, 1)]
    assert places(rests, y, b) == pytest.approx(np.array(expected), abs=1e-9)
    assert np.abs(places(rests, x, a)).max() < 1e-9


@pytest.mark.one_in(4)
@pytest.mark.parametrize("stiff, unit", [(1e6, 1.0), (1e10, 1.0), (1e12, 1e-6), (1e13, 1.0)])
def test_what_rests_in_a_stiff_valley_is_found(stiff, unit):
    # A valley may leave the box beside its corners; what pushes along it is less than last digits
    # of places make of the forces across.
    X, Y = x / unit, y / unit
    for steep, off in ((1, 0.0), (2, 0.3)):
        energy = stiff * (Y - steep * X - off) ** 2 / 2 + X**4 / 4 - X**2 / 2
        within = {x: (-3 * unit, 3 * unit), y: (-7 * unit, 7 * unit)}
        found = st.equilibria(st.System(potential=energy), within=within)
        assert [rest[x] / unit for rest in found] == pytest.approx([-1, 0, 1], abs=1e-5)
        assert [rest.stable for rest in found] == [True, False, True]
        assert not any(rest.family for rest in found)
