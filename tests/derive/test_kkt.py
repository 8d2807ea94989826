"""The saddle-point system inside the graph: its order, its cost, its solution, its derivation."""

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.sparse as sparse
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as some

import stationary as st
from stationary.derive.elimination_order import saddle_order
from stationary.lower.kernel import graph_of

cos, sin = st.cos, st.sin

# -- order ----------------------------------------------------------------------------------------


@some.composite
def patterns(draw):
    """A symmetric H with a full diagonal or without, and an A in which every row has an entry."""
    n, m = draw(some.integers(1, 12)), draw(some.integers(0, 10))
    seed, density = draw(some.integers(0, 2**31)), draw(some.floats(0, 1))
    rng = np.random.default_rng(seed)
    H = rng.random((n, n)) < density
    H = H | H.T
    if draw(some.booleans()):
        H |= np.eye(n, dtype=bool)
    A = rng.random((m, n)) < density
    A[np.arange(m), rng.integers(0, n, m)] = True
    return sparse.csr_matrix(H.astype(float)), sparse.csr_matrix(A.astype(float))


@settings(deadline=None, max_examples=100)
@given(patterns())
def test_every_multiplier_comes_behind_all_its_coordinates(pattern):
    H, A = pattern
    n, m = H.shape[0], A.shape[0]
    order = saddle_order(H, A)
    assert sorted(order) == list(range(n + m))
    place = np.argsort(order)
    for row in range(m):
        coordinates = A.indices[A.indptr[row] : A.indptr[row + 1]]
        assert np.all(place[coordinates] < place[n + row])


@settings(deadline=None, max_examples=100)
@given(patterns(), some.integers(0, 2**31))
def test_no_pivot_vanishes_in_that_order(pattern, seed):
    # M is positive definite; every multiplier comes behind its coordinates, so that each leading
    # block is a saddle-point matrix of its own and its last pivot at least σ²/μ, with the smallest
    # singular value σ of A and the largest eigenvalue μ of M.
    H, A = (x.toarray() for x in pattern)
    n, m = len(H), len(A)
    rng = np.random.default_rng(seed)
    rows = A * rng.uniform(0.5, 2, size=A.shape) * rng.choice([-1, 1], size=A.shape)
    M = H * rng.normal(size=(n, n))
    M = (M + M.T) / 2 + np.diag(1 + 2 * np.abs(M).sum(axis=1))
    smallest = np.linalg.svd(rows, compute_uv=False)[-1] if 0 < m <= n else 0.0 if m else 1.0
    if smallest < 0.05:
        return
    bound = min(np.linalg.eigvalsh(M)[0], smallest**2 / np.linalg.eigvalsh(M)[-1])
    order = saddle_order(sparse.csr_matrix(H), sparse.csr_matrix(A))
    K = np.block([[M, rows.T], [rows, np.zeros((m, m))]])[np.ix_(order, order)]
    for k in range(n + m):
        assert abs(K[k, k]) > 0.99 * bound
        K[k + 1 :, k + 1 :] -= np.outer(K[k + 1 :, k], K[k, k + 1 :]) / K[k, k]


def chain(count, closed=False):
    r = st.coordinates("r", shape=(count, 2))
    links = [
        st.Constraint(st.norm(r[0]) - 1, name="first"),
        st.each(lambda a, b: st.norm(b - a) - 1, r[:-1], r[1:], name="link"),
    ]
    if closed:
        end = (r[count - 1, 0] - count / 2) ** 2 + r[count - 1, 1] ** 2 - 1
        links.append(st.Constraint(end, name="last"))
    return st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: 9.81 * p[1], r),
        constraints=links,
    )


def instructions(system):
    graph = graph_of(system)
    return graph.held(tuple(range(graph.layout.multipliers))).n_instructions()


@pytest.mark.parametrize("closed", [False, True])
def test_the_work_for_a_chain_grows_with_its_length_and_no_faster(closed):
    work = {n: instructions(chain(n, closed)) for n in (10, 100, 1000)}
    # About 64 operations per link: two coordinates, one constraint, their factors.
    for n, count in work.items():
        assert count < 80 * n
    assert work[1000] - work[100] == pytest.approx(10 * (work[100] - work[10]), rel=0.02)


def test_the_order_in_which_links_are_stated_does_not_matter_to_the_work():
    # A chain written out mass by mass, its links shuffled.
    count, rng = 60, np.random.default_rng(0)
    points = [st.coordinates(f"x{i} y{i}") for i in range(count)]
    ends = [((0, 0), points[0]), *zip(points[:-1], points[1:])]
    parts = [st.particle(1, at=p, gravity=9.81) for p in points]
    links = [
        st.Constraint((Q[0] - P[0]) ** 2 + (Q[1] - P[1]) ** 2 - 1, name=f"link {k}")
        for k, (P, Q) in enumerate(ends)
    ]
    masses = sum((p.kinetic for p in parts), sp.S.Zero)
    weights = sum((p.potential for p in parts), sp.S.Zero)
    counts = []
    for order in (range(count), rng.permutation(count)):
        system = st.System(
            kinetic=masses,
            potential=weights,
            constraints=[links[k] for k in order],
            coordinates=[c for k in order for c in points[k]],
        )
        counts.append(instructions(system))
    assert counts[1] < 1.3 * counts[0]
    assert counts[1] < 80 * count


# -- solution -------------------------------------------------------------------------------------


def random_system(rng):
    """Energies, loads and constraints of every kind, in two to four coordinates."""
    n = int(rng.integers(2, 5))
    m = int(rng.integers(1, n))
    q = st.coordinates(" ".join(f"q{i}" for i in range(n)))
    v = [c.dot for c in q]

    def wave():
        i, j = rng.integers(0, n, 2)
        a, b = rng.normal(size=2).round(3)
        return [a * q[i] * q[j], a * sin(q[i] + b * q[j]), a * q[i] + b * q[j] ** 2][
            int(rng.integers(3))
        ]

    B = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.5)
    kinetic = sum(
        (v[i] + sum(B[i, j] * cos(q[j]) * v[j] for j in range(i))) ** 2 for i in range(n)
    ) / 2  # fmt: skip
    potential = wave() + wave() + sin(st.t) * wave()
    holonomic, rolling = [], []
    for _ in range(m):
        if rng.random() < 0.6:
            moving = cos(2 * st.t) if rng.random() < 0.3 else 0
            holonomic.append(wave() + wave() + sum(rng.normal(size=n) * np.array(q)) + moving)
        else:
            row = sum((float(rng.normal()) + wave()) * u for u in v)
            rolling.append(row + (wave() + sin(st.t) if rng.random() < 0.4 else 0))
    loads = [st.Load(v[0] * wave() - v[-1], on=wave() + q[0])]
    return st.System(
        kinetic=kinetic, potential=potential, loads=loads, constraints=holonomic,
        pfaffian=rolling, dissipation=v[0] ** 2 / 3, coordinates=q,
    )  # fmt: skip


def slope(f, at, direction):
    """The derivative of a function along a direction, by central differences in 60 digits."""
    h = mpmath.mpf(10) ** -15
    up, down = (f(*(x + s * h * d for x, d in zip(at, direction))) for s in (1, -1))
    return (up - down) / (2 * h)


def by_hand(system, t, q, v, alpha):
    """a and λ from the definition: differences in 60 digits, and NumPy's dense solve."""
    n = system.size
    symbols = [st.t, *system.coordinates, *(c.dot for c in system.coordinates)]
    load = system.loads[0]
    L, D, on, push, *rows = (
        sp.lambdify(symbols, e, "mpmath")
        for e in (
            system.kinetic - system.potential,
            system.dissipation,
            load.on[0],
            load.force[0],
            *(c.R[0] for c in system.constraints),
            *(c.expr[0] for c in system.pfaffian),
        )
    )
    with mpmath.workdps(60):
        here = [mpmath.mpf(float(x)) for x in (t, *q, *v)]
        unit = np.eye(2 * n + 1, dtype=int).tolist()
        by_q, by_v = unit[1 : n + 1], unit[n + 1 :]
        along = [mpmath.mpf(1), *here[n + 1 :], *[0] * n]

        def momentum(i):
            return lambda *at: slope(L, at, by_v[i])

        M = [[slope(momentum(i), here, e) for e in by_v] for i in range(n)]
        force = [
            slope(L, here, by_q[i]) - slope(D, here, by_v[i])
            + push(*here) * slope(on, here, by_q[i]) - slope(momentum(i), here, along)
            for i in range(n)
        ]  # fmt: skip
        A, wanted = [], []
        for k, row in enumerate(rows):
            held = k < len(system.constraints)
            A.append([slope(row, here, e) for e in (by_q if held else by_v)])

            def rate(*at, row=row, held=held):
                return slope(row, at, [1, *at[n + 1 :], *[0] * n]) if held else row(*at)

            R = row(*here) if held else 0
            gamma = slope(rate, here, along)
            wanted.append(-(gamma + 2 * alpha * rate(*here) + alpha**2 * R))
    M, A, force, wanted = (np.array(x, dtype=float) for x in (M, A, force, wanted))
    K = np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]])
    found = np.linalg.solve(K, np.append(force, wanted))
    return found[:n], found[n:], np.linalg.cond(K)


@pytest.mark.slow
def test_the_graph_solves_what_a_dense_solver_solves():
    for seed in range(24):
        rng = np.random.default_rng(seed)
        system = random_system(rng)
        graph = graph_of(system)
        n, m = system.size, graph.layout.multipliers
        t, alpha = rng.uniform(0, 3), float(rng.choice([0.0, 2.0]))
        q, v = rng.normal(size=n), rng.normal(size=n)
        a, lam, condition = by_hand(system, t, q, v, alpha)
        found = graph.held(tuple(range(m)))(t, q, v, [], [], alpha)
        scale = max(1.0, np.abs(a).max(), np.abs(lam).max())
        for one, other in ((found[0], a), (found[1], lam)):
            np.testing.assert_allclose(
                np.asarray(one).ravel(), other, rtol=0, atol=1e-15 * condition * scale * 10,
                err_msg=f"seed {seed}",
            )  # fmt: skip


def test_some_of_the_rows_can_hold_alone():
    # Independent rows of a redundant set; the names of the multipliers stay with their rows.
    x, y = st.coordinates("x y")
    three = st.System(
        kinetic=(x.dot**2 + 2 * y.dot**2) / 2,
        constraints=[
            st.Constraint(x + y, name="one"),
            st.Constraint(2 * (x + y), name="double"),
            st.Constraint(x - y, name="other"),
        ],
    )
    graph = graph_of(three)
    a, lam, _ = graph.held((0, 2))(0, [0, 0], [0, 0], [], [], 0)
    np.testing.assert_allclose(np.asarray(a).ravel(), 0, atol=1e-15)
    assert np.asarray(lam).size == 2


def test_rows_that_depend_on_each_other_hold_together_what_one_of_them_holds():
    # All rows at once, one of them stated twice and one three times as strong.
    q = st.coordinates("q0 q1 q2 q3")
    rng = np.random.default_rng(7)
    once = [q[0] * q[1] - q[2], q[3] ** 2 + q[0]]
    kinetic = sum((1 + i) * c.dot**2 for i, c in enumerate(q)) / 2
    potential = sum(c * w for c, w in zip(q, rng.normal(size=4)))
    plain = st.System(kinetic=kinetic, potential=potential, constraints=once)
    more = [*once, once[0], 3 * once[1]]
    again = st.System(kinetic=kinetic, potential=potential, constraints=more)
    for _ in range(20):
        state = (0, rng.normal(size=4), rng.normal(size=4), [], [], 1.5)
        a, lam, _ = graph_of(plain).held((0, 1))(*state)
        b, shared, _ = graph_of(again).held((0, 1, 2, 3), (0, 0, 0, 1))(*state)
        scale = 1 + np.abs(np.asarray(a)).max() + np.abs(np.asarray(lam)).max()
        np.testing.assert_allclose(np.asarray(b), np.asarray(a), rtol=0, atol=1e-12 * scale)
        # Together they pull as hard; how they share it is settled by the motion.
        x, y, z, w = np.asarray(shared).ravel()
        np.testing.assert_allclose(
            [x + z, y + 3 * w], np.asarray(lam).ravel(), rtol=0, atol=1e-12 * scale
        )


def test_inertia_is_needed_only_where_the_constraints_leave_freedom():
    # T = ½ (a·q̇)² + ½ (b·q̇)² in three coordinates is singular along c; the constraint holds c.
    # The saddle-point matrix is regular, and its solution is the one that a dense solver finds.
    q = st.coordinates("q0 q1 q2")
    rng = np.random.default_rng(2)
    for _ in range(20):
        basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        along, across, _ = basis @ np.array([c.dot for c in q])
        system = st.System(
            kinetic=along**2 / 2 + across**2,
            potential=sum(c * w for c, w in zip(q, rng.normal(size=3))),
            constraints=[(basis[2] @ np.array(q))],
        )
        graph = graph_of(system)
        M = basis.T @ np.diag([1, 2, 0]) @ basis
        K = np.block([[M, -basis[2][:, None]], [basis[2][None, :], np.zeros((1, 1))]])
        force = np.asarray(graph.dynamics(0, [0] * 3, [0] * 3, [], [])[1]).ravel()
        expected = np.linalg.solve(K, np.append(force, 0))
        held = graph.held((0,), sizes=(0, 0, 0))
        a, lam, _ = held(0, [0] * 3, [0] * 3, [], [], 0)
        found = np.append(np.asarray(a).ravel(), np.asarray(lam).ravel())
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_a_compiled_system_accelerates_under_its_constraints_or_refuses():
    # A bob on a rod, level and at rest: the rod does not pull, and at 45° below it does.
    x, y = st.coordinates("x y")
    bob = st.particle(1.0, at=(x, y), gravity=9.81) + st.rod((0, 0), (x, y), 1.0)
    c = np.sqrt(0.5)
    try:
        found = st.compile(bob).acceleration([c, -c], [0, 0])
    except st.StationaryError:
        return
    np.testing.assert_allclose(found, [-9.81 / 2, -9.81 / 2], rtol=1e-12)


# -- derivation -----------------------------------------------------------------------------------


def test_the_rates_of_two_constraints_in_four_coordinates_have_gradient_and_hessian():
    # Report 2: Ṙ = J q̇ and R̈ = J q̈ + [q̇ᵀH₁q̇; q̇ᵀH₂q̇].
    q = st.coordinates("q1 q2 q3 q4")
    q1, q2, q3, q4 = q
    v, a = sp.Matrix([c.dot for c in q]), sp.Matrix([c.ddot for c in q])
    R = [
        sp.sqrt(q1**2 + (q2 - q3) ** 2) * sin(q4) - q3 * q1,
        sp.exp(q1 * q2) + cos(q3 - q4) * q2**3 - q4,
    ]
    J = sp.Matrix(R).jacobian(q)
    rates = sp.Matrix([st.rate(e) for e in R])
    assert (rates - J * v).applyfunc(sp.expand) == sp.zeros(2, 1)
    second = sp.Matrix([st.rate(st.rate(e)) for e in R])
    curved = sp.Matrix([(v.T * sp.hessian(e, q) * v)[0] for e in R])
    assert (second - J * a - curved).applyfunc(sp.expand) == sp.zeros(2, 1)

    # The same from the equations to read, and from the graph to run.
    system = st.System(kinetic=sum(c.dot**2 for c in q) / 2, constraints=R, coordinates=q)
    eq: Any = st.equations(system)
    assert (eq.A - J).applyfunc(sp.simplify) == sp.zeros(2, 4)
    rng = np.random.default_rng(4)
    for _ in range(10):
        place, speed = rng.uniform(0.5, 1.5, size=4), rng.normal(size=4)
        at = dict(zip(q, place)) | dict(zip(v, speed))
        _, Rdot, A, gamma, _ = graph_of(system).constraints(0, place, speed, [], [])
        for found, exact in ((Rdot, J * v), (A, J), (gamma, curved)):
            expected = np.array(exact.subs(at).evalf(25).tolist(), dtype=float)
            np.testing.assert_allclose(
                np.asarray(found).ravel(), expected.ravel(), rtol=1e-12, atol=1e-13
            )


def test_generic_constraints_have_the_same_rates():
    # The identity itself, for undetermined functions of four coordinates that depend on time.
    t = sp.Symbol("t")
    q = [sp.Function(f"q{i}")(t) for i in range(1, 5)]
    s = sp.symbols("s1:5")
    back = dict(zip(s, q))
    for name in ("R1", "R2"):
        R = sp.Function(name)(*s)
        moving = R.subs(back)
        v, a = sp.Matrix([c.diff(t) for c in q]), sp.Matrix([c.diff(t, 2) for c in q])
        g, H = sp.Matrix([R]).jacobian(s), sp.hessian(R, s)
        values = {c: sp.Symbol(f"x{i}") for i, c in enumerate(q)}
        rates = {c.diff(t): sp.Symbol(f"v{i}") for i, c in enumerate(q)}
        curves = {c.diff(t, 2): sp.Symbol(f"a{i}") for i, c in enumerate(q)}

        def plain(e, curves=curves, rates=rates, values=values):
            return e.subs(curves).subs(rates).subs(values).doit()

        first = moving.diff(t) - (g.subs(back).doit() * v)[0]
        assert sp.expand(plain(first.doit())) == 0
        second = (g.subs(back).doit() * a)[0] + (v.T * H.subs(back).doit() * v)[0]
        assert sp.expand(plain((moving.diff(t, 2) - second).doit())) == 0


def test_moving_constraints_add_their_rates_in_time():
    # R̈ = J q̈ + q̇ᵀHq̇ + 2 q̇·∂²R/∂q∂t + ∂²R/∂t².
    x, y = q = st.coordinates("x y")
    R = x**2 * sin(st.t) + y * sp.exp(-st.t) * x
    system = st.System(kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[R], coordinates=q)
    v = sp.Matrix([x.dot, y.dot])
    gradient = sp.Matrix([R]).jacobian(q)
    exact = {
        1: (gradient * v)[0] + R.diff(st.t),
        3: (v.T * sp.hessian(R, q) * v)[0] + 2 * (gradient.diff(st.t) * v)[0] + R.diff(st.t, 2),
        4: R.diff(st.t),
    }
    place, speed, now = [0.3, -0.7], [1.1, 0.4], 0.9
    found = graph_of(system).constraints(now, place, speed, [], [])
    at = dict(zip(q, place)) | {x.dot: speed[0], y.dot: speed[1], st.t: now}
    for k, e in exact.items():
        assert float(found[k]) == pytest.approx(float(e.subs(at)), rel=1e-13)
