"""Random friction systems: minimum power is the balance of forces, and proves its minimum."""

import numpy as np
import pytest
import scipy.sparse as sparse

import stationary as st


class Family:
    """Systems of one shape: the rates of friction, the constraints and the load are parameters.

    Friction on everything keeps the power bounded below: 3 |v| against a load of at most 2.5.
    """

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        n = self.n = int(rng.integers(2, 6))
        self.q = st.coordinates(" ".join(f"q{i}" for i in range(n)))
        self.widths = [int(rng.integers(1, 4)) for _ in range(rng.integers(1, 6))]
        self.rows = int(rng.integers(0, n))
        self.names = []
        B = [self._table(f"B{k}_", d, n) for k, d in enumerate(self.widths)]
        c = [self._table(f"c{k}_", 1, d)[0] for k, d in enumerate(self.widths)]
        limits = self._table("limit", 1, len(B))[0]
        A, b = self._table("A", self.rows, n), self._table("b", 1, self.rows)
        f = self._table("f", 1, n)[0]

        def along(row, drift=0):
            return sum(a * x for a, x in zip(row, self.q)) + drift * st.t

        self.system = st.System(
            work=along(f),
            friction=[
                *(
                    st.Friction(limit, on=tuple(map(along, M, move)))
                    for limit, M, move in zip(limits, B, c)
                ),
                st.Friction(3.0, on=self.q),
            ],
            constraints=list(map(along, A, b[0])),
            coordinates=self.q,
        )

    def _table(self, name, rows, columns):
        made = [[f"{name}{i}_{j}" for j in range(columns)] for i in range(rows)]
        self.names += [x for row in made for x in row]
        return [[st.Parameter(x, 1.0) for x in row] for row in made]

    def member(self, rng):
        """Return values of the parameters, and the same as matrices."""
        B = [rng.standard_normal((d, self.n)) for d in self.widths]
        c = [rng.standard_normal(d) * (rng.random() < 0.3) for d in self.widths]
        limits = rng.uniform(0.2, 2, size=len(B))
        A, b = rng.standard_normal((self.rows, self.n)), rng.standard_normal(self.rows)
        f = rng.standard_normal(self.n)
        f *= rng.uniform(0, 2.5) / np.linalg.norm(f)
        flat = np.concatenate([*(x.ravel() for x in (*B, *c)), limits, A.ravel(), b, f])
        full = [*B, np.eye(self.n)], [*c, np.zeros(self.n)], [*limits, 3.0], A, b, f
        return dict(zip(self.names, flat.tolist(), strict=True)), full


def power(v, B, c, limits, f):
    return sum(a * np.linalg.norm(M @ v + m) for a, M, m in zip(limits, B, c)) - f @ v


@pytest.mark.one_in(2)
@pytest.mark.parametrize("shape", range(10))
def test_minimum_power_and_newton_agree_on_random_systems_of_one_shape(shape):
    family = Family(shape)
    names = [term.name for term in family.system.friction]
    for seed in range(5 * shape, 5 * shape + 5):
        rng = np.random.default_rng(seed)
        values, (B, c, limits, A, b, f) = family.member(rng)
        least = st.minimum_power(family.system, params=values)
        balance = st.newton(family.system, params=values)
        size = max(1.0, float(np.abs(least.v).max()))
        assert np.abs(least.v - balance.v).max() <= 1e-9 * size, seed
        assert least.gap < 1e-9 and balance.gap < 1e-9, seed
        assert max(least.residual.values()) < 1e-9, (seed, least.residual)
        # Written out here: the velocity is allowed, and no neighbour takes less power.
        v = least.v
        assert np.abs(A @ v + b).max(initial=0.0) <= 1e-10 * size, seed
        assert least.power == pytest.approx(power(v, B, c, limits, f), abs=1e-10 * size), seed
        free = np.linalg.svd(A)[2][len(A) :] if len(A) else np.eye(len(v))
        for _ in range(20):
            other = v + free.T @ rng.standard_normal(len(free)) * 10 ** rng.uniform(-6, 0)
            assert power(other, B, c, limits, f) >= least.power - 1e-11 * size, seed
        # Forces: within their limits, opposed to what slides, balanced.
        total = f.copy()
        for name, M, m, limit in zip(names, B, c, limits):
            force = np.atleast_1d(least.forces[name])
            rate = M @ v + m
            assert np.linalg.norm(force) <= limit * (1 + 1e-9), seed
            if np.linalg.norm(rate) > 1e-7 * size:
                against = -limit * rate / np.linalg.norm(rate)
                np.testing.assert_allclose(force, against, atol=1e-7, err_msg=str(seed))
            total += M.T @ force
        np.testing.assert_allclose(total + A.T @ np.asarray(least.lam), 0, atol=1e-8)


@pytest.mark.parametrize("seed", range(200, 215))
def test_the_power_is_that_of_a_conic_solver_given_the_problem_by_hand(seed):
    clarabel = pytest.importorskip("clarabel")
    family = Family(seed % 5)
    values, (B, c, limits, A, b, f) = family.member(np.random.default_rng(seed))
    n, terms = len(f), len(B)
    # Unknowns v and one bound s_k ≥ |B_k v + c_k| for each term.
    cost = np.concatenate([-f, limits])
    blocks, rhs, cones = [np.hstack([A, np.zeros((len(A), terms))])], [-b], []
    if len(A):
        cones.append(clarabel.ZeroConeT(len(A)))
    for k, (M, m) in enumerate(zip(B, c)):
        block = np.zeros((len(m) + 1, n + terms))
        block[0, n + k] = -1
        block[1:, :n] = -M
        blocks.append(block)
        rhs.append(np.concatenate([[0], m]))
        cones.append(clarabel.SecondOrderConeT(len(m) + 1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    size = n + terms
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((size, size)), cost, sparse.csc_matrix(np.vstack(blocks)),
        np.concatenate(rhs), cones, settings,
    )  # fmt: skip
    judge = solver.solve()
    step = st.minimum_power(family.system, params=values)
    assert step.power == pytest.approx(judge.obj_val, abs=1e-8)
    np.testing.assert_allclose(step.v, np.array(judge.x)[:n], atol=1e-5)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(300, 312))
def test_random_mixtures_of_powers_agree_with_newton(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 5))
    q = st.coordinates(" ".join(f"q{i}" for i in range(n)))

    def along(row):
        return sum(float(a) * x for a, x in zip(row, q))

    friction: list = [st.Friction(0.5, on=q, name="dry")]
    for k, power_ in enumerate(rng.choice([0, 0.5, 1, 1.5, 2, 3], size=4)):
        rows = rng.standard_normal((int(rng.integers(1, 3)), n))
        on = tuple(along(row) for row in rows)
        friction.append(st.Drag(float(rng.uniform(0.3, 2)), float(power_), on=on, name=f"d{k}"))
    friction.append(st.Drag(1.0, 1, on=q, name="oil"))
    system = st.System(
        work=along(rng.standard_normal(n) * 2),
        constraints=[along(rng.standard_normal(n)) - st.t],
        friction=friction,
        coordinates=q,
    )
    least, balance = st.minimum_dissipation(system), st.newton(system)
    assert np.abs(least.v - balance.v).max() <= 1e-9 * max(1.0, float(np.abs(least.v).max()))
    assert least.gap < 1e-9


def test_a_warm_start_gives_the_same_answer_and_a_wrong_one_does_no_harm():
    family = Family(3)
    before = None
    for seed in range(400, 410):
        values, _ = family.member(np.random.default_rng(seed))
        cold = st.minimum_power(family.system, params=values)
        for guess in (cold, before):
            warm = st.minimum_power(family.system, params=values, guess=guess)
            np.testing.assert_allclose(warm.v, cold.v, atol=1e-9 * max(1, np.abs(cold.v).max()))
            assert warm.gap < 1e-9
        before = cold
