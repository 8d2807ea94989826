"""Ten thousand particles: everything stays sparse, and work grows in proportion to size."""

import numpy as np
import pytest
import scipy.sparse as sparse

import stationary as st
from stationary.derive.graph import Graph


def rope(n):
    """Return n particles in a plane with n springs, one of them to a wall; and their positions."""
    r = st.coordinates("r", shape=(n, 2))
    m, k, h, g = st.parameters(m=0.1, k=50.0, h=1.0, g=9.81)
    wall = st.spring(k, between=((0, 0), r[0]), rest=h)
    return st.System(
        kinetic=st.each(lambda v: m * (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=wall.potential
        + st.each(lambda a, b: k * (st.norm(b - a) - h) ** 2 / 2, r[:-1], r[1:])
        + st.each(lambda p: m * g * p[1], r),
    ), r


def shape(n):
    """Return a rope drawn as a wave, every spring at its own length."""
    s = np.arange(1, n + 1)
    return np.column_stack([0.9 * s, 0.5 * np.sin(0.01 * s) + 0.1 * np.cos(s)])


@pytest.fixture(scope="module")
def large():
    n = 10_000
    system, _ = rope(n)
    return st.compile(system), shape(n)


def by_numpy(places):
    """Energy and gradient of the rope, with NumPy."""
    ends = np.vstack([[0.0, 0.0], places])
    steps = np.diff(ends, axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    energy = 50 * np.sum((lengths - 1) ** 2) / 2 + 0.1 * 9.81 * np.sum(places[:, 1])
    pull = 50 * ((lengths - 1) / lengths)[:, None] * steps
    gradient = pull + [0, 0.1 * 9.81]
    gradient[:-1] -= pull[1:]
    return energy, gradient.ravel()


def test_energy_and_gradient_of_ten_thousand_springs_are_those_of_numpy(large):
    numbers, places = large
    energy, gradient = by_numpy(places)
    assert numbers.potential(places.ravel()) == pytest.approx(energy, rel=1e-13)
    np.testing.assert_allclose(numbers.gradient(places.ravel()), gradient, rtol=0, atol=1e-11)


def test_the_hessian_of_ten_thousand_springs_is_sparse_and_the_slope_of_the_gradient(large):
    numbers, places = large
    q = places.ravel()
    n = len(places)
    H = numbers.hessian(q)
    assert sparse.issparse(H) and H.shape == (2 * n, 2 * n)
    # A 2 × 2 block for every particle, and two for every spring between neighbours.
    assert H.nnz == 4 * n + 8 * (n - 1)
    assert abs(H - H.T).max() == 0
    direction = np.random.default_rng(3).normal(size=2 * n)
    step = 1e-4

    def slope(h):
        return (by_numpy((q + h * direction).reshape(-1, 2))[1]
                - by_numpy((q - h * direction).reshape(-1, 2))[1]) / (2 * h)  # fmt: skip

    # Central differences of NumPy's gradient, extrapolated to fourth order.
    expected = (4 * slope(step / 2) - slope(step)) / 3
    np.testing.assert_allclose(H @ direction, expected, rtol=0, atol=1e-7 * np.abs(expected).max())


def test_the_mass_of_ten_thousand_particles_is_diagonal(large):
    numbers, places = large
    M = numbers.mass(places.ravel())
    assert M.nnz == M.shape[0] == 2 * len(places)
    np.testing.assert_allclose(M.diagonal(), 0.1, rtol=1e-15)


def test_ten_thousand_particles_accelerate_by_newtons_law(large):
    numbers, places = large
    _, gradient = by_numpy(places)
    found = numbers.acceleration(places.ravel(), np.zeros(places.size))
    np.testing.assert_allclose(found, -gradient / 0.1, rtol=0, atol=1e-10)


def test_the_graph_of_an_element_does_not_grow_with_the_number_of_rows():
    def nodes(n):
        graph = Graph(rope(n)[0])
        return [f.n_nodes() for f in (graph.energies, graph.internal, graph.stiffness)]

    # Beyond what is written out for engines, the graph holds elements, not rows.
    assert nodes(20_000) == nodes(10_000)
    assert max(nodes(10_000)) < 200


def test_memory_grows_in_proportion_to_the_number_of_rows():
    def size(n):
        graph = Graph(rope(n)[0])
        return graph.stiffness.nnz_out(0), len(graph.stiffness.serialize())

    short, long = size(5_000), size(20_000)
    assert long[0] == pytest.approx(4 * short[0], rel=1e-3)
    assert long[1] < 4.5 * short[1]


def test_the_statement_is_as_long_for_ten_thousand_as_for_ten():
    assert len(str(rope(10_000)[0])) < len(str(rope(10)[0])) + 20


def test_a_thousand_particles_move_as_a_wave():
    # A chain of masses and springs, fixed at both ends: its lowest mode swings at
    # 2√(k/m) sin(π/(2(n + 1))) and keeps its shape.
    n = 1000
    x = st.coordinates("x", shape=n)
    m, k = 0.1, 50.0
    chain = st.System(
        kinetic=st.each(lambda v: m * v**2 / 2, x.dot),
        potential=st.each(lambda a, b: k * (b - a) ** 2 / 2, x[:-1], x[1:])
        + k * (x[0] ** 2 + x[n - 1] ** 2) / 2,
    )
    mode = np.sin(np.pi * np.arange(1, n + 1) / (n + 1))
    omega = 2 * np.sqrt(k / m) * np.sin(np.pi / (2 * (n + 1)))
    motion = st.simulate(chain, span=(0, 5), start={x: mode}, points=6)
    exact = np.cos(omega * motion.t)[:, None] * mode
    np.testing.assert_allclose(motion[x], exact, rtol=0, atol=1e-8)
