"""Random systems: two derivations agree, and what nothing feeds keeps its energy."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some

import stationary as st
from stationary.derive.graph import Graph
from stationary.derive.lagrange import equations


def random(count):
    """Return the settings that try this many systems, the same ones in every run."""
    return settings(
        max_examples=count,
        deadline=None,
        database=None,
        # A failure is reported as it was found: shrinking a system takes minutes.
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


COORDINATES = st.coordinates("q1:5")

coefficients = some.integers(1, 8).map(lambda k: sp.Rational(k, 8))
signed = some.tuples(coefficients, some.sampled_from([-1, 1])).map(lambda pair: pair[0] * pair[1])


@some.composite
def waves(draw, q, time=False):
    """A bounded function of the coordinates: c sin(q₁), c cos(q₁ − 2q₂ + 1), …"""
    wave = draw(some.sampled_from([st.sin, st.cos]))
    inside = draw(some.sampled_from(q))
    if draw(some.booleans()):
        inside += draw(some.sampled_from([-2, 1])) * draw(some.sampled_from(q))
    if time:
        inside += draw(some.sampled_from([0, 1, 2])) * st.t
    return draw(signed) * wave(inside + draw(some.integers(0, 2)))


@some.composite
def polynomials(draw, q):
    """A term such as c q₁ q₂²."""
    powers = draw(some.lists(some.sampled_from(q), min_size=1, max_size=3))
    return draw(signed) * sp.Mul(*powers)


@some.composite
def kinetic_energies(draw, q, entries, free):
    """½ v'(B'B + I)v, written as a sum of squares, sometimes with more that is convex in v."""
    v = [x.dot for x in q]
    T = sp.Add(*(w**2 for w in v)) / 2
    for _ in range(draw(some.integers(0, len(q)))):
        row = draw(some.lists(entries, min_size=len(q), max_size=len(q)))
        T += sp.Add(*(b * w for b, w in zip(row, v))) ** 2 / 2
    kind = draw(some.sampled_from(["quadratic", "linear", "relativistic", "quartic"]))
    if kind == "linear":
        T += draw(entries) * draw(some.sampled_from(v))
    elif kind == "relativistic":
        T += draw(coefficients) * st.sqrt(1 + draw(some.sampled_from(v)) ** 2)
    elif kind == "quartic" and free:
        T += draw(coefficients) * draw(some.sampled_from(v)) ** 4
    return T


@some.composite
def any_system(draw, n):
    """A system with everything that a free system can have."""
    q = list(COORDINATES[:n])
    v = [x.dot for x in q]
    entries = some.one_of(waves(q, time=True), polynomials(q), signed)
    positions = some.one_of(waves(q, time=True), polynomials(q))
    sums = some.lists(positions, max_size=3).map(lambda terms: sp.Add(*terms))
    loads = []
    for _ in range(draw(some.integers(0, 2))):
        force = draw(positions) + draw(signed) * draw(some.sampled_from(v)) * draw(positions)
        loads.append(st.Load(force, on=draw(some.one_of(waves(q), polynomials(q)))))
    dissipation = sp.Add(
        *(
            draw(coefficients) * (1 + draw(waves(q)) ** 2) * sp.Add(*draw(some.lists(
                some.sampled_from(v), min_size=1, max_size=2))) ** 2
            for _ in range(draw(some.integers(0, 2)))
        )
    )  # fmt: skip
    return st.System(
        kinetic=draw(kinetic_energies(q, entries, free=True)),
        potential=draw(sums),
        work=draw(sums),
        loads=loads,
        dissipation=dissipation,
        coordinates=tuple(q),
    )


@some.composite
def kept_system(draw, n):
    """A system whose energy nothing feeds, and whose motion stays finite."""
    q = list(COORDINATES[:n])
    U = sp.Add(*draw(some.lists(waves(q), min_size=1, max_size=3)))
    if draw(some.booleans()):
        U += sp.Add(*(draw(coefficients) * x**2 for x in q))
    T = draw(kinetic_energies(q, waves(q), free=False))
    return st.System(kinetic=T, potential=U, coordinates=tuple(q))


def lagranges_equations(system: st.System) -> tuple[list, sp.Matrix, sp.Matrix]:
    """Return M and the rest of d/dt ∂L/∂v − ∂L/∂q − Q = M a + rest, by plain SymPy."""
    q = list(system.coordinates)
    v = [x.dot for x in q]
    L = system.kinetic - system.potential + system.work
    rest = []
    for x, w in zip(q, v):
        p = sp.diff(L, w)
        moving = sum(sp.diff(p, y) * y.dot for y in q) + sp.diff(p, st.t)
        force = sum(
            f * sp.diff(on, x) for load in system.loads for f, on in zip(load.force, load.on)
        ) - sp.diff(system.dissipation, w)
        rest.append(moving - sp.diff(L, x) - force)
    M = sp.Matrix(len(q), len(q), lambda i, j: sp.diff(L, v[i], v[j]))
    return [st.t, *q, *v], M, sp.Matrix(rest)


def numeric(symbols, *matrices):
    """Return the function that evaluates matrices of expressions."""
    f = sp.lambdify(symbols, [list(m) for m in matrices], "math", cse=True)
    shapes = [m.shape for m in matrices]
    return lambda t, q, v: [np.reshape(m, s) for m, s in zip(f(t, *q, *v), shapes)]


def states(count: int, n: int):
    rng = np.random.default_rng(n)
    return [(rng.uniform(0, 3), rng.normal(size=n), rng.normal(size=n)) for _ in range(count)]


def assert_close(found, expected, scale, what):
    __tracebackhide__ = True
    worst = float(np.max(np.abs(found - expected))) / max(float(np.max(np.abs(scale))), 1e-300)
    assert worst < 1e-10, f"{what} differs by {worst:.1e}"


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("n", "count"), [(1, 8), (2, 5), (3, 3), (4, 1)])
def test_the_graph_has_the_equations_of_plain_sympy(n, count):
    @random(count)
    @given(any_system(n))
    def agree(system):
        symbols, M, rest = lagranges_equations(system)
        exact = numeric(symbols, M, rest)
        graph = Graph(system)
        for t, q, v in states(3, n):
            mass, remainder = exact(t, q, v)
            found, force = (np.asarray(e, dtype=float) for e in graph.dynamics(t, q, v, [], []))
            assert_close(found, mass, mass, "M")
            assert_close(force, -remainder, np.append(remainder, 1.0), "force")
            a = np.asarray(graph.acceleration(t, q, v, [], []), dtype=float)
            assert_close(mass @ a, -remainder, np.append(np.abs(mass) @ np.abs(a), 1.0), "M a")

    agree()


@pytest.mark.parametrize(("n", "count"), [(1, 30), (2, 20), (3, 5)])
@pytest.mark.slow
def test_the_equations_to_read_are_the_equations_to_run(n, count):
    @random(count)
    @given(any_system(n))
    def agree(system):
        eq = equations(system)
        graph = Graph(system)
        symbols = [st.t, *system.coordinates, *(x.dot for x in system.coordinates)]
        matrices = numeric(symbols, eq.M, eq.C, eq.G, eq.Q)
        for t, q, v in states(2, n):
            M, C, G, Q = matrices(t, q, v)
            a = np.asarray(graph.acceleration(t, q, v, [], []), dtype=float)
            terms = M @ a, C @ v[:, None], G, -Q
            scale = np.sum([np.abs(term) for term in terms], axis=0) + 1.0
            assert_close(sum(terms), 0.0, scale, "M a + C v + G − Q")

    agree()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("n", "count"), [(1, 20), (2, 15), (3, 8), (4, 5)])
def test_energy_is_kept_when_nothing_feeds_it(n, count):
    @random(count)
    @given(kept_system(n), some.integers(0, 1000))
    def kept(system, seed):
        rng = np.random.default_rng(seed)
        start = {x: rng.normal() for x in system.coordinates}
        start |= {x.dot: rng.normal() for x in system.coordinates}
        motion = st.simulate(system, span=(0, 10), start=start, points=41)
        scale = max(np.max(np.abs(motion.kinetic)), np.max(np.abs(motion.potential)))
        drift = float(np.max(np.abs(motion.energy - motion.energy[0])))
        assert drift < 1e-12 * scale, f"energy drifts by {drift / scale:.1e} of the largest T or U"

    kept()
