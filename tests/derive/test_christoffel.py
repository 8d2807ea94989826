"""Forces of inertia by Christoffel's symbols are those of Lagrange's equations."""

import casadi as ca
import numpy as np
import pytest

import stationary as st
from stationary.lower.kernel import graph_of


def random_system(seed):
    """Energies with a mass matrix of q and t, velocities by themselves, or of no square."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 5))
    q = st.coordinates("a b c d")[:n]
    e = [st.sin, st.cos, lambda z: z, lambda z: z**2]

    def some():
        f, g = random.choice(4, 2)
        i, j = random.integers(0, n, 2)
        return e[f](q[i] - q[j] / 2) * e[g](q[j]) + int(random.integers(1, 4))

    T = sum(5 * z.dot**2 for z in q)
    for _ in range(3):
        i, j = random.integers(0, n, 2)
        T += some() * q[i].dot * q[j].dot * (1 if seed % 2 else 1 + st.t)
    if seed % 3 == 0:
        T += some() * q[0].dot + some()
    if seed % 5 == 0:
        T += q[0].dot ** 4 / 10
    return st.System(kinetic=T, potential=some(), dissipation=q[0].dot ** 2), n


@pytest.mark.parametrize("seed", range(12))
def test_forces_in_few_operations_are_the_same(seed):
    system, n = random_system(seed)
    plain, short = graph_of(system).dynamics, graph_of(system, short=True).dynamics
    random = np.random.default_rng(100 + seed)
    for _ in range(3):
        given = (random.uniform(0, 1), random.normal(size=n), random.normal(size=n), [], [])
        for one, other in zip(plain(*given), short(*given)):
            ours, theirs = ca.DM(other).full(), ca.DM(one).full()
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    assert short.n_instructions() <= plain.n_instructions() + 2


def test_many_coordinates_are_left_as_they_are():
    q = [st.coordinates(f"q{k}") for k in range(20)]
    T = sum(a.dot**2 + a.dot * b.dot * st.cos(a - b) / 4 for a, b in zip(q[1:], q))
    graphs = [graph_of(st.System(kinetic=T), short=short).dynamics for short in (False, True)]
    assert graphs[0].n_instructions() == graphs[1].n_instructions()
