"""Thousands of coordinates, most of them without stiffness: fast, or refused by name."""

import numpy as np
import pytest
import scipy.sparse as sparse

import stationary as st
from stationary.solve.factors import block_signs

N = 4000


def _row(stiff, k):
    """Return masses 2 of which the first have springs k to the ground, and their coordinates."""
    q = st.coordinates("q", shape=(N,))
    springs = {"potential": st.each(lambda x: k * x**2 / 2, q[:stiff])} if stiff else {}
    return st.System(kinetic=st.each(lambda v: v**2, q.dot), **springs), q


def test_what_is_coupled_to_nothing_does_not_wait_for_the_rest(monkeypatch):
    sizes, eigh = [], np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda F: (sizes.append(len(F)), eigh(F))[1])
    # Pairs (x − y)² in every unit have one zero each, beside coordinates that have nothing.
    pairs = sparse.kron(sparse.eye(N // 4), np.array([[3.0, -3.0], [-3.0, 3.0]]))
    K = sparse.block_diag([pairs, sparse.csc_matrix((N // 2, N // 2))]).tocsc()
    assert block_signs(K) == (N // 4, 0, 3 * N // 4)
    assert max(sizes) <= 48


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("stiff", "k"), [(0, 1.0), (N // 2, 3e-9), (9, -3e15)])
def test_coordinates_without_stiffness_are_counted_and_move_by_themselves(stiff, k, capfd):
    system, _ = _row(stiff, k)
    rest = st.statics(system, kind="any")
    signs = (stiff, 0) if k > 0 else (0, stiff)
    assert rest.inertia == (*signs, N - stiff)
    if k > 0:
        assert "or more" in str(rest)
    few = st.modes(system, count=3)
    assert np.allclose(few.squares, k / 2 if k < 0 else 0.0, rtol=1e-9, atol=0)
    assert capfd.readouterr() == ("", "")


def test_a_soft_falling_mass_comes_before_those_that_nothing_pushes():
    few = st.modes(_row(1, -8.0)[0], count=3)
    assert np.allclose(few.squares, [-4.0, 0, 0], rtol=1e-12, atol=0)
    assert np.allclose(2 * few.vectors @ few.vectors.T, np.eye(3), rtol=0, atol=1e-14)


def test_masses_that_two_coordinates_share_are_no_inertia_of_each():
    q = st.coordinates("q", shape=(N,))
    shared = st.System(kinetic=st.each(lambda a, b: (a + b) ** 2, q.dot[::2], q.dot[1::2]))
    with pytest.raises(st.DerivationError, match="some motion has no inertia"):
        st.modes(shared)


def test_what_needs_dense_matrices_is_refused_with_its_limit():
    system, q = _row(N, 1.0)
    with pytest.raises(st.StatementError, match="Found 4000, expected 1000 at most"):
        st.linearize(system)
    with pytest.raises(st.DerivationError, match="Found 4000, expected 500 or fewer"):
        st.equilibria(system, within={q[i]: (-1, 1) for i in range(N)})


@pytest.mark.slow
def test_a_pull_on_what_is_stiff_is_balanced_beside_what_is_free():
    q = st.coordinates("q", shape=(N,))
    springs = st.each(lambda x: 4e-6 * x**2 / 2, q[: N // 2])
    rest = st.statics(st.System(potential=springs - 3e-6 * q[5], coordinates=[q]))
    assert rest[q[5]] == pytest.approx(0.75, rel=1e-12)
    assert rest.inertia == (N // 2, 0, N // 2)


@pytest.mark.slow
def test_pairs_that_are_free_are_counted_where_no_eigenvalue_is_told_from_the_others():
    q = st.coordinates("q", shape=(N,))
    springs = st.each(lambda a, b: 1e9 * (a - b) ** 2, q[::2], q[1::2])
    assert st.statics(st.System(potential=springs)).inertia == (N // 2, 0, N // 2)


@pytest.mark.slow
@pytest.mark.parametrize("falling", [1234, N - 1])
def test_what_falls_among_thousands_without_stiffness_is_no_minimum(falling):
    q = st.coordinates("q", shape=(N,))
    flat = st.System(potential=st.each(lambda a: a**4, q))
    assert st.statics(flat).stable
    with pytest.raises(st.DidNotConverge, match="less energy beside it"):
        st.statics(flat + st.System(potential=-2 * q[falling] ** 4))
