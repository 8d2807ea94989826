"""Rest of chains, linkages and nets of any size, from any start and in any unit."""

import numpy as np
import pytest
import scipy.sparse as sparse

import stationary as st
from stationary.derive.order import saddle_order
from stationary.solve.linear import Rows, Saddle, block_signs

G = 9.81


def hanging(links, length, shift=0.0):
    """A chain of beads of mass 1, nailed at one end."""
    r = st.coordinates("r", shape=(links, 2))

    def stretch(a, b):
        return (b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2 - length**2

    held = [st.Constraint(stretch(np.full(2, shift), r[0]), name="nail")]
    if links > 1:
        held.append(st.each(stretch, r[:-1], r[1:], name="link"))
    return r, st.System(potential=st.each(lambda p: G * p[1], r), constraints=held)


@pytest.mark.parametrize("start", ["horizontal", "random"])
@pytest.mark.parametrize(
    ("links", "length", "shift"),
    [(1, 1.0, 0.0), (2, 1e-6, 0.0), (3, 0.02, 0.0), (3, 1e6, 1e6), (5, 0.02, 7.0), (45, 1e-3, 0.0)],
)
def test_a_chain_hangs_from_any_start_in_any_unit(links, length, shift, start):
    r, system = hanging(links, length, shift)
    turn = np.random.default_rng(links).uniform(-1.2, 0.3, links) * (start == "random")
    legs = length * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    rest = st.statics(system, start={r: shift + np.cumsum(legs, axis=0)})
    straight = shift + length * np.outer(np.arange(1, links + 1), [0.0, -1.0])
    assert rest.stable and rest.inertia == (links, 0, 0)
    assert np.abs(rest[r] - straight).max() <= 1e-9 * links * length
    # The nail carries all of them: 2 ℓ λ = −n G.
    assert rest.lam["nail"] == pytest.approx(-links * G / (2 * length), rel=1e-8)


@pytest.mark.parametrize("cranks", [2, 3])
def test_a_platform_on_equal_cranks_comes_to_rest_at_the_bottom_of_its_circle(cranks):
    # With three cranks one condition is redundant all along, and two more at the flat positions.
    x, y, a = st.coordinates("x y a")
    turns = st.coordinates("t1 t2 t3")[:cranks]
    held = []
    for (bx, by), t in zip([(0, 0), (2, 0), (1, 0.5)], turns):
        px, py = x + bx * st.cos(a) - by * st.sin(a), y + bx * st.sin(a) + by * st.cos(a)
        held.append(st.Constraint((px - bx - st.cos(t), py - by - st.sin(t)), name=f"pin {t}"))
    weight = G * y + 0.3 * G * (y + st.sin(a) + 0.2 * st.cos(a))
    platform = st.System(potential=weight, constraints=held)
    for angle in 2 * np.pi * (np.arange(8) + 0.37) / 8:
        begin = {x: np.cos(angle), y: np.sin(angle)} | dict.fromkeys(turns, angle)
        rest = st.statics(platform, start=begin)
        assert rest.stable and rest[y] == pytest.approx(-1.0, abs=1e-9)
        # It falls on its own side, by less than half a turn.
        assert abs(rest[turns[0]] - angle) < np.pi + 1e-9


@pytest.mark.parametrize("start", [2.0, 3.0, 4.7, 5.0])
def test_a_pendulum_pulled_over_stops_in_the_next_hollow(start):
    theta, tau = st.coordinates("theta"), st.inputs("tau")
    pulled = st.System(potential=-G * st.cos(theta), loads=[st.Load(tau, on=theta)])
    for torque in (5.0, 9.0):
        rest = st.statics(pulled, start={theta: start}, inputs={tau: torque})
        hollow = np.arcsin(torque / G)
        hill = np.pi - hollow
        assert rest[theta] == pytest.approx(hollow + 2 * np.pi * (start > hill), abs=1e-9)


@pytest.mark.parametrize(
    ("nodes", "unit", "grown"),
    [(12, 1e-6, 1.0), (12, 1e6, 1.0), (20, 1.0, 1.01), (20, 1e-6, 1.01), (52, 1.0, 1.01)],
)
def test_a_ring_of_springs_that_floats_is_at_rest_and_free(nodes, unit, grown):
    # From rest itself, too, where no force and no way tell a length.
    r = st.coordinates("r", shape=(nodes, 2))
    h = 2 * unit * np.sin(np.pi / nodes)

    def spring(a, b):
        return 30 * (st.norm(b - a) - h) ** 2 / 2

    ring = st.System(potential=st.each(spring, r[:-1], r[1:]) + spring(r[-1], r[0]))
    angle = 2 * np.pi * np.arange(nodes) / nodes
    circle = unit * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rest = st.statics(ring, start={r: grown * circle})
    # As many springs as nodes: every other motion leaves their lengths alone.
    assert rest.stable and rest.inertia == (nodes, 0, nodes)
    assert len(rest.free) == nodes


# -- linear algebra --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_signs_of_sparse_saddle_points_are_those_of_their_eigenvalues(seed):
    rng = np.random.default_rng(seed)
    n, width = int(rng.integers(30, 150)), int(rng.integers(1, 5))
    m = int(rng.integers(0, n // 2))
    bands = [rng.standard_normal(n) for _ in range(width)]
    H = sparse.diags(bands, list(range(width)), shape=(n, n))
    H = ((H + H.T) * (seed % 4 > 0)).tolil()
    if seed % 3 == 0:
        H[0, n - 1] = H[n - 1, 0] = 1.0
        H[n // 2, :] = H[:, n // 2] = 0.3
    A = sparse.lil_matrix((m, n))
    for row, first in enumerate(np.sort(rng.choice(n - 3, m, replace=False))):
        A[row, first : first + 3] = rng.standard_normal(3)
    H, A = H.tocsc(), A.tocsc()
    K = sparse.bmat([[H, A.T], [A, None]], format="csc") if m else H
    order = saddle_order(H, A)
    values = np.linalg.eigvalsh(K.toarray())
    small = 1e-12 * np.abs(values).max()
    expected = [np.sum(values > small), np.sum(values < -small), np.sum(np.abs(values) <= small)]
    assert list(block_signs(K[order][:, order].tocsc())) == expected


@pytest.mark.parametrize("seed", range(6))
def test_the_smallest_eigenvalues_on_the_tangent_of_large_systems_are_dense_ones(seed):
    rng = np.random.default_rng(seed)
    n, m = 160, 50
    H = sparse.diags([rng.uniform(-1, 3, n), rng.standard_normal(n - 2)], [0, 2])
    H = (H + H.T).tocsc()
    A = sparse.lil_matrix((m, n))
    for row, first in enumerate(np.sort(rng.choice(n - 3, m, replace=False))):
        A[row, first : first + 3] = rng.standard_normal(3)
    saddle = Saddle(H, A.tocsc())
    values, vectors = saddle.smallest
    assert values == pytest.approx(saddle.tangent_eigenvalues[0][: len(values)], abs=1e-9)
    assert np.abs(A @ vectors).max() < 1e-9
    assert saddle.negative == np.sum(saddle.tangent_eigenvalues[0] < 0)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_rank_does_not_depend_on_units_and_redundant_rows_share(unit):
    lengths = np.array([unit, unit, 1.0])
    A = np.array([[1.0, 0.0, unit], [0.0, 1.0, 2 * unit], [1.0, 1.0, 3 * unit]])
    rows = Rows(A, lengths)
    assert rows.rank == 2
    assert np.abs(A @ rows.tangent).max() < 1e-12 * unit
    force = A.T @ np.array([1.0, 2.0, 3.0])
    assert A.T @ rows.multipliers(force) == pytest.approx(force, rel=1e-12)
