"""Engines agree with CasADi to rounding; nothing is translated, shared or compiled twice."""

import os
import subprocess
import sys
from typing import Any

import casadi as ca
import mpmath
import numpy as np
import pytest
import sympy as sp

import stationary as st
from stationary.derive.from_sympy import FUNCTIONS, Translator
from stationary.lower import cache
from stationary.lower.engines.casadi import Numeric
from stationary.lower.engines.heyoka import Integrators, equations
from stationary.lower.kernel import kernel_of
from stationary.model.built_once import Shared
from tests.checks import assert_gradient

hy = pytest.importorskip("heyoka")

EPS = np.finfo(float).eps


# -- every engine from one graph ------------------------------------------------------------------


def pendulum():
    theta, (m, L, g) = st.coordinates("theta"), st.parameters(m=1.2, l=0.7, g=9.81)
    return st.particle(m, at=(L * st.sin(theta), -L * st.cos(theta)), gravity=g)


def links(n):
    q = st.coordinates("q", shape=n)
    places, x, y = [], sp.S.Zero, sp.S.Zero
    for i in range(n):
        x, y = x + st.sin(q[i]), y - st.cos(q[i])
        places.append((x, y))
    parts = sum((st.particle(1, at=p, gravity=9.81) for p in places), st.System())
    return st.System(kinetic=parts.kinetic, potential=parts.potential, coordinates=(q,))


def chain():
    r, k = st.coordinates("r", shape=(5, 2)), st.parameters(k=30.0)
    return st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda a, b: k * (st.norm(b - a) - 1) ** 2 / 2, r[:-1], r[1:]),
        dissipation=st.each(lambda v: v[0] ** 2 + v[1] ** 2, r.dot),
    )


def relativistic():
    x, (m, c) = st.coordinates("x"), st.parameters(m=1.0, c=5.0)
    return st.System(kinetic=-m * c**2 * st.sqrt(1 - x.dot**2 / c**2), potential=st.cosh(x))


def rheonomic():
    x, y = st.coordinates("x y")
    return st.System(
        kinetic=(x.dot**2 + (1 + x**2) * y.dot**2) / 2 + x.dot * st.sin(st.t) * y,
        potential=st.exp(-(x**2)) * st.cos(y - st.t),
        work=x * st.tanh(st.t),
        loads=[st.Load(-0.3 * x.dot * y**2, on=x * y)],
    )


def smooth_functions():
    x, y, z = st.coordinates("x y z")
    return st.System(
        kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2,
        potential=sp.atan2(x, 2 + y**2) + sp.asin(x / 9) + sp.acos(y / 9) + sp.atan(x * y)
        + sp.asinh(z) + sp.acosh(2 + z**2) + sp.atanh(x / 9) + sp.sinh(y) + sp.cosh(z)
        + sp.tanh(x) + sp.tan(z / 9) + sp.erf(y) + sp.log(2 + x**2) + sp.sqrt(2 + z**2)
        + (1 + x**2) ** sp.Rational(5, 2) + (2 + y**2) ** sp.Rational(1, 3) + (2 + z**2) ** sp.pi
        + x**7 / 100 + 1 / (2 + x**2) ** 3,
    )  # fmt: skip


def of_parameters():
    x, y = st.coordinates("x y")
    a, b, c, d = st.parameters(a=1.1, b=1.2, c=1.3, d=1.4)
    return st.System(
        kinetic=(a + b) * x.dot**2 / 2 + (a * b + st.sin(c)) * y.dot**2 + c * x.dot * y.dot / 9,
        potential=(a + b + c) * x**2 + st.sqrt(a * b + d) * st.cos(d * y) + (1 + x**2) ** (c + d)
        + (sp.Abs(a - b) + sp.Max(a, c)) * x * y / (a + b)
        + st.exp(-a) ** 2 * y + st.cosh(b / d) * st.sin(c + x),
    )  # fmt: skip


def turns():
    """Squares of sines and cosines in every order, with factors that agree and that do not."""
    x, y = st.coordinates("x y")
    a, b = st.parameters(a=1.1, b=1.2)
    (s, c), (s2, c2) = ((st.sin(e), st.cos(e)) for e in (x, a * x + y))
    body = a * (s**2 + 1 + c**2) + b * (2 + s2**2 * a + b * c**2) + b * a * c2**2 + b**2 * s**2
    return st.System(
        kinetic=(x.dot**2 + y.dot**2) * body / 2,
        potential=(3 * s**2 + y + 4 * c**2) ** 2 + (y - s**2) * (x - c**2) + (2 * y - s**2 - c**2),
    )


def evaluator(rhs):
    """Return heyoka's rates as a function of t, y, p, sizes of states and unit of time."""
    pairs, coefficients = equations(rhs)
    f = hy.cfunc([rate for _, rate in pairs], vars=[y for y, _ in pairs])
    numeric = Numeric(coefficients)

    def rates(t, y, p, sizes: Any = 1.0, unit=1.0):
        sizes = np.broadcast_to(sizes, y.shape)
        known = numeric(np.concatenate((p, sizes, (unit,))))[0][: f.nparams]
        scaled = f(
            y / sizes,
            **({"pars": known} if f.nparams else {}),
            **({"time": t / unit} if f.is_time_dependent else {}),
        )
        return scaled * sizes / unit

    return rates


@pytest.mark.parametrize(
    "make",
    [
        pendulum,
        lambda: links(2),
        lambda: links(4),
        chain,
        relativistic,
        rheonomic,
        smooth_functions,
        of_parameters,
        turns,
    ],
    ids=["pendulum", "double", "4 links", "chain", "relativistic", "rheonomic", "functions",
         "parameters", "turns"],
)  # fmt: skip
def test_heyoka_evaluates_what_casadi_evaluates(make):
    rhs = kernel_of(make(), ()).rhs
    f = evaluator(rhs)
    rng = np.random.default_rng(7)
    for _ in range(5):
        y, p, t = rng.normal(size=rhs.numel_in(1)), rng.uniform(1, 3, rhs.numel_in(2)), rng.normal()
        expected = np.asarray(rhs(t, y, p)).ravel()
        sizes, unit = 10.0 ** rng.uniform(-6, 6, y.shape), 10.0 ** rng.uniform(-6, 6)
        for found in (f(t, y, p), f(t, y, p, sizes, unit)):
            np.testing.assert_allclose(
                found, expected, rtol=0, atol=100 * EPS * np.abs(expected).max()
            )


def products(rhs):
    """Return the products of two series, and the quotients, that heyoka computes."""
    pairs, _ = equations(rhs)
    made = hy.taylor_adaptive(pairs, [0.0] * len(pairs), compact_mode=True, opt_level=0)
    lines = [str(line) for line, _ in made.decomposition]
    return [x for x in lines if x.count("u_") == 2 and (" * " in x or "div" in x)]


def test_what_depends_on_parameters_alone_multiplies_no_series():
    rhs = kernel_of(of_parameters(), ()).rhs
    pairs, _ = equations(rhs)
    made = hy.taylor_adaptive(pairs, [0.0] * len(pairs), compact_mode=True, opt_level=0)
    constants = [str(x) for x, _ in made.decomposition if "u_" not in str(x) and "p" in str(x)]
    assert constants == []
    assert kernel_of(of_parameters(), ()).kinks == []


def test_squares_of_sine_and_cosine_meet_wherever_they_stand():
    # M₁₁ and M₂₂ of the double pendulum are constant, so that nothing is divided but by det M.
    two = products(kernel_of(links(2), ()).rhs)
    assert sum("div" in line for line in two) == 1
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 2), ca.SX.sym("p", 1)
    s, c = ca.sin(y[0]), ca.cos(y[0])
    body = (y[1] + p * s * s) + (3 - y[0] + p * c * c)
    rhs = ca.Function("rhs", [t, y, p], [ca.vertcat(body, c)])
    assert products(rhs) == []
    assert evaluator(rhs)(0.0, np.array([0.3, 2.0]), np.array([5.0]))[0] == 2.0 + 3 - 0.3 + 5.0


def test_the_reference_engine_is_called_without_copies_and_without_aliases():
    rhs = kernel_of(links(2), ()).rhs
    numeric = Numeric(rhs)

    def f(t, y):
        return numeric(t, y, np.empty(0))[0]

    y1, y2 = np.array([0.1, 0.2, 0.3, 0.4]), np.array([1.0, 2.0, 3.0, 4.0])
    first = f(0.0, y1)
    second = f(0.0, y2)
    np.testing.assert_array_equal(first, np.asarray(rhs(0.0, y1, [])).ravel())
    np.testing.assert_array_equal(second, np.asarray(rhs(0.0, y2, [])).ravel())


def test_the_graph_of_two_links_has_the_accelerations_of_the_textbook():
    # θ̈ of the double pendulum with equal masses and lengths, as in Landau & Lifshitz, §5 problem 1.
    th1, th2, w1, w2, g = 0.7, -1.1, 0.4, 2.3, 9.81
    d = th1 - th2
    A = np.array([[2, np.cos(d)], [np.cos(d), 1]])
    b = np.array(
        [
            -(w2**2) * np.sin(d) - 2 * g * np.sin(th1),
            w1**2 * np.sin(d) - g * np.sin(th2),
        ]
    )
    found = st.compile(links(2)).acceleration([th1, th2], [w1, w2])
    np.testing.assert_allclose(found, np.linalg.solve(A, b), rtol=1e-14)


@pytest.mark.parametrize("q", [[0.1], [0.1, 0.2, 0.3], 0.1, [[0.1, 0.2]] * 2, ["a", "b"]], ids=str)
def test_a_state_of_another_size_is_refused(q):
    with pytest.raises(st.StatementError):
        st.compile(links(2)).potential(q)


@pytest.mark.parametrize("make", [chain, smooth_functions], ids=["chain", "functions"])
def test_derivatives_are_the_slopes_of_what_they_derive(make):
    numbers = st.compile(make())
    q = np.random.default_rng(5).normal(size=numbers.system.size)
    assert_gradient(numbers.potential, numbers.gradient, q)
    for i in range(len(q)):
        assert_gradient(
            lambda q, i=i: numbers.gradient(q)[i],
            lambda q, i=i: numbers.hessian(q).toarray()[i],
            q,
        )


# -- every function means what SymPy means --------------------------------------------------------

x, y, z = sp.symbols("x y z", real=True)
ANY = [-2.3, -0.4, 0.0, 0.7, 3.1]
UNIT = [-0.9, -0.3, 0.0, 0.5, 0.95]


def condition(relation):
    return sp.Piecewise((1, relation), (0, True))


# For every function of the translator: an expression, and values of x (and y, z) to try it at.
CASES = {
    sp.sin: (sp.sin(x), ANY),
    sp.cos: (sp.cos(x), ANY),
    sp.tan: (sp.tan(x), ANY),
    sp.asin: (sp.asin(x), UNIT),
    sp.acos: (sp.acos(x), UNIT),
    sp.atan: (sp.atan(x), ANY),
    sp.atan2: (sp.atan2(y, x), [(1, 2), (-1, 2), (-1, -2), (1, -2), (0, 1), (1, 0)]),
    sp.sinh: (sp.sinh(x), ANY),
    sp.cosh: (sp.cosh(x), ANY),
    sp.tanh: (sp.tanh(x), ANY),
    sp.asinh: (sp.asinh(x), ANY),
    sp.acosh: (sp.acosh(x), [1.0, 1.5, 7.0]),
    sp.atanh: (sp.atanh(x), UNIT),
    sp.exp: (sp.exp(x), ANY),
    sp.log: (sp.log(x), [0.1, 1.0, 7.3]),
    sp.Abs: (sp.Abs(x), ANY),
    sp.sign: (sp.sign(x), ANY),
    sp.erf: (sp.erf(x), ANY),
    sp.floor: (sp.floor(x), [*ANY, -1.0, 2.0]),
    sp.ceiling: (sp.ceiling(x), [*ANY, -1.0, 2.0]),
    sp.Min: (sp.Min(x, y, z), [(1, 2, 3), (3, 1, 2), (2, 3, 1), (1, 1, 2)]),
    sp.Max: (sp.Max(x, y, z), [(1, 2, 3), (3, 1, 2), (2, 3, 1), (2, 2, 1)]),
    sp.Heaviside: (sp.Heaviside(x), ANY),
    sp.cot: (sp.cot(x), [-2.3, 0.7, 3.1]),
    sp.sec: (sp.sec(x), ANY),
    sp.csc: (sp.csc(x), [-2.3, 0.7, 3.1]),
    sp.sinc: (sp.sinc(x), ANY),
    sp.StrictGreaterThan: (condition(x > y), [(1, 2), (2, 1), (1, 1)]),
    sp.GreaterThan: (condition(x >= y), [(1, 2), (2, 1), (1, 1)]),
    sp.StrictLessThan: (condition(x < y), [(1, 2), (2, 1), (1, 1)]),
    sp.LessThan: (condition(x <= y), [(1, 2), (2, 1), (1, 1)]),
    sp.Equality: (condition(sp.Eq(x, y)), [(1, 2), (1, 1)]),
    sp.Unequality: (condition(sp.Ne(x, y)), [(1, 2), (1, 1)]),
    sp.And: (condition((x > 0) & (y > 0) & (z > 0)), [(1, 1, 1), (1, -1, 1), (-1, -1, -1)]),
    sp.Or: (condition((x > 0) | (y > 0) | (z > 0)), [(1, 1, 1), (-1, -1, 1), (-1, -1, -1)]),
    sp.Not: (condition(sp.Not((x > 0) & (y > 0))), [(1, 1), (1, -1), (-1, -1)]),
}


def evaluated(e: sp.Expr, values) -> float:
    symbols = (x, y, z)[: len(values)]
    graph = [ca.SX.sym(s.name) for s in symbols]
    made = ca.Function("f", graph, [Translator(dict(zip(symbols, graph)))(e)])
    return float(made(*values))


def by_sympy(e: sp.Expr, values) -> float:
    exact = {s: sp.Rational(v) for s, v in zip((x, y, z), values)}
    return float(sp.N(e.subs(exact), 30))


def test_every_function_that_can_be_translated_is_tried():
    # What is shared stands for what it is made of: it is no function.
    assert set(CASES) == {f for f in FUNCTIONS if not issubclass(f, Shared)}


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_functions_mean_what_sympy_means(function):
    e, tries = CASES[function]
    for values in tries:
        values = values if isinstance(values, tuple) else (values,)
        assert evaluated(e, values) == pytest.approx(by_sympy(e, values), rel=4 * EPS, abs=1e-300)


POWERS = [1, 2, 3, 4, 5, 7, 10, -1, -2, -3, -5]
ROOTS = ["1/2", "3/2", "5/2", "7/2", "-1/2", "-3/2", "1/3", "5/3", "-2/3", "1/7"]


@pytest.mark.parametrize("power", [*map(sp.Integer, POWERS), *map(sp.Rational, ROOTS), sp.pi, y])
def test_powers_and_their_slopes_mean_what_sympy_means(power):
    bases = [-1.7, 0.3, 2.5] if power.is_Integer else [0.3, 2.5]
    for base in bases:
        values = (base, 1.9)
        for e in (x**power, sp.diff(x**power, x)):
            assert evaluated(e, values) == pytest.approx(by_sympy(e, values), rel=16 * EPS)
        graph = ca.SX.sym("x"), ca.SX.sym("y")
        slope = ca.gradient(Translator(dict(zip((x, y), graph)))(x**power), graph[0])
        found = float(ca.Function("f", graph, [slope])(*values))
        assert found == pytest.approx(by_sympy(sp.diff(x**power, x), values), rel=16 * EPS)


@pytest.mark.parametrize("power", [2, 3, 4, 5, 10])
def test_whole_powers_have_slopes_where_the_base_vanishes(power):
    graph = ca.SX.sym("x")
    slope = ca.gradient(Translator({x: graph})(x**power), graph)
    assert float(ca.Function("f", [graph], [slope])(0.0)) == 0.0


@pytest.mark.parametrize(
    "number", [sp.pi, sp.E, sp.Rational(1, 3), sp.GoldenRatio, sp.EulerGamma, sp.sqrt(2), sp.S(7)]
)
def test_exact_numbers_become_the_nearest_floating_point_ones(number):
    with mpmath.workdps(40):
        expected = float(sp.N(number, 40))
    assert evaluated(number + 0 * x, (0.0,)) == pytest.approx(expected, rel=EPS)


def test_pieces_are_taken_in_order_and_end_in_not_a_number():
    e = sp.Piecewise((1, x < 0), (x**2, x < 2), (sp.exp(-x), x < 3))
    for value in (-1.0, 0.0, 1.5, 2.0, 2.9):
        assert evaluated(e, (value,)) == pytest.approx(by_sympy(e, (value,)), rel=4 * EPS)
    assert np.isnan(evaluated(e, (3.5,)))


def test_a_piece_that_is_not_taken_does_not_spoil_the_slope():
    graph = ca.SX.sym("x")
    e = sp.Piecewise((0, x <= 0), (sp.sqrt(x), True))
    slope = ca.Function("f", [graph], [ca.gradient(Translator({x: graph})(e), graph)])
    assert float(slope(-1.0)) == 0.0
    assert float(slope(4.0)) == 0.25


# -- what is shared stays shared ------------------------------------------------------------------


def test_a_subexpression_is_translated_once():
    # As a tree this expression has more than 3⁸ nodes, as a graph four per level.
    q, e = st.coordinates("q"), st.coordinates("q")
    for _ in range(8):
        e = st.sin(e) + e * st.cos(e)
    system = st.System(kinetic=q.dot**2 / 2, potential=e)
    assert sp.count_ops(e) > 3**8
    assert kernel_of(system, ()).rhs.n_instructions() < 200


def test_the_work_of_a_chain_grows_in_proportion_to_its_length():
    def instructions(n):
        q = st.coordinates("q", shape=n)
        return kernel_of(
            st.System(
                kinetic=st.each(lambda v: v**2 / 2, q.dot),
                potential=st.each(lambda a, b: 1 - st.cos(b - a), q[:-1], q[1:]),
            ),
            (),
        ).rhs.n_instructions()

    short, long = instructions(25), instructions(100)
    assert long < 4.2 * short


def test_the_mass_matrix_is_factored_not_inverted():
    # A symbolic inverse of a full n × n matrix has n! terms; factoring takes n³/6 steps.
    count = kernel_of(links(8), ()).rhs.n_instructions()
    assert count < 2500


# -- what is compiled stays compiled --------------------------------------------------------------


@pytest.fixture
def compilations(monkeypatch):
    """Count how often heyoka compiles an integrator."""
    made = []
    original = hy.taylor_adaptive

    def counted(*args, **settings):
        made.append(settings)
        return original(*args, **settings)

    monkeypatch.setattr(hy, "taylor_adaptive", counted)
    return made


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    """Use an empty cache."""
    monkeypatch.setattr(cache, "folder", lambda: tmp_path)
    return tmp_path


def test_new_values_never_compile_again(compilations, own_cache):
    theta, F = st.coordinates("theta"), st.inputs("F")
    m, L, g = st.parameters(m=1.0, l=1.0, g=9.81)
    system = st.System(
        kinetic=m * L**2 * theta.dot**2 / 2,
        potential=-m * g * L * st.cos(theta),
        loads=[st.Load(F, on=L * st.sin(theta))],
        name="never compiled again",
    )
    ends = []
    for length in (1.0, 1.1, 2.0, 3.7):
        for force in (0.0, 0.25):
            motion = st.simulate(
                system, span=(0, 1), start={theta: 0.3}, params={L: length}, inputs={F: force}
            )
            assert motion.method == "Taylor"
            ends.append(motion[theta][-1])
    assert len(set(ends)) == 8
    assert len(compilations) == 1


def test_an_equal_statement_never_compiles_again(compilations, own_cache):
    for _ in range(3):
        w = st.coordinates("w")
        system = st.System(kinetic=w.dot**2 / 2, potential=1 - st.cos(w) ** 3)
        st.simulate(system, span=(0, 1), start={w: 1.0})
    assert len(compilations) == 1


SCRIPT = """
import heyoka as hy
made = []
original = hy.taylor_adaptive
hy.taylor_adaptive = lambda *a, **k: made.append(1) or original(*a, **k)
import stationary as st
u = st.coordinates("u")
system = st.System(kinetic=u.dot**2 / 2, potential=u**4 / 4 + st.cos(u) / 7)
motion = st.simulate(system, span=(0, 3), start={u: 0.5}, points=3)
print(len(made), motion.method, motion[u].tobytes().hex())
"""


@pytest.mark.slow
def test_a_second_process_uses_what_the_first_has_compiled(tmp_path):
    environment = os.environ | {"STATIONARY_CACHE": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}

    def run():
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        count, method, numbers = done.stdout.split()
        return int(count), method, numbers

    first, second = run(), run()
    assert first[:2] == (1, "Taylor") and second[:2] == (0, "Taylor")
    assert first[2] == second[2]


@pytest.mark.parametrize("damage", ["garbage", "truncated", "empty"])
def test_a_damaged_cache_is_mended(own_cache, compilations, damage):
    system = pendulum()
    rhs = kernel_of(system, ()).rhs
    Integrators(rhs).compile("quick")
    (file,) = own_cache.iterdir()
    good = file.read_bytes()
    bad = {"garbage": b"not a pickle", "truncated": good[: len(good) // 2], "empty": b""}
    file.write_bytes(bad[damage])
    compilations.clear()
    known = {"m": 1.2, "l": 0.7, "g": 9.81}
    code, mended = Integrators(rhs).integrator()
    assert len(compilations) == 1
    sizes, unit = [0.5, 4.0], 0.25
    code.set(mended, np.array([known[p.name] for p in system.parameters]), sizes, unit)
    mended.time, mended.state[:] = 0.0, [0.3 / sizes[0], 0.0]
    mended.propagate_until(0.5 / unit)
    theta, L, g = hy.expression("theta"), known["l"], known["g"]
    fresh = hy.taylor_adaptive(
        [(theta, hy.expression("w")), (hy.expression("w"), -g / L * hy.sin(theta))], [0.3, 0.0]
    )
    fresh.propagate_until(0.5)
    np.testing.assert_allclose(mended.state * sizes, fresh.state, rtol=0, atol=1e-14)
    compilations.clear()
    Integrators(rhs).integrator()
    assert compilations == []


def test_the_cache_drops_the_oldest_first(own_cache, monkeypatch):
    monkeypatch.setattr(cache, "_LARGEST", 250)
    for age, name in enumerate(("old", "middle", "new")):
        cache.keep(name, bytes(100))
        os.utime(own_cache / name, (age, age))
    cache.keep("newest", bytes(100))
    assert sorted(f.name for f in own_cache.iterdir()) == ["new", "newest"]


def test_a_cache_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    monkeypatch.setattr(cache, "folder", lambda: tmp_path / "missing")
    cache.keep("key", b"content")
    assert cache.load("key") is None


def test_optimized_code_computes_the_same_motion(own_cache, compilations):
    w = st.coordinates("w")
    system = st.System(kinetic=w.dot**2 / 2, potential=-st.cos(w), name="optimized")
    quick = st.simulate(system, span=(0, 10), start={w: 1.0}, points=11)
    st.compile(system).optimize()
    optimized = st.simulate(system, span=(0, 10), start={w: 1.0}, points=11)
    assert [c["opt_level"] for c in compilations] == [0, 3]
    np.testing.assert_allclose(optimized[w], quick[w], rtol=0, atol=1e-14)


def test_constant_factors_are_carried_along_and_multiply_no_series():
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 2), ca.SX.sym("p", 2)
    a, b = 2 * p[0] * y[0], p[0] * y[1] / 4
    rates = [
        (a + b) * (a - 2 * b) / (3 * p[0] ** 2),
        -(a * b) / (p[0] * p[1]) + p[1] - 2 * p[1] + 0 * y[0] + ca.sin(a / p[0]) / p[1],
    ]
    rhs = ca.Function("rhs", [t, y, p], [ca.vertcat(*rates)])
    compiled = evaluator(rhs)
    rng = np.random.default_rng(0)
    for _ in range(5):
        state, values = rng.standard_normal(2), rng.standard_normal(2)
        expected = np.asarray(rhs(0.0, state, values)).ravel()
        np.testing.assert_allclose(compiled(0.0, state, values), expected, rtol=1e-13)
    # Nothing but y0 + y1/8, y0 − y1/4 and their product moves in the first.
    first = ca.Function("first", [t, y, p], [ca.vertcat(rates[0], 0)])
    assert len(products(first)) == 1


def test_parameters_that_cancel_need_no_place_in_the_compiled_code():
    x = st.coordinates("x")
    c, m = st.parameters(c=1.0, m=2.0)
    fall = st.System(kinetic=m * x.dot**2 / 2, potential=m * x + c)
    motion = st.simulate(fall, span=(0, 2), params={m: 5.0, c: 3.0}, method=st.Taylor())
    assert motion[x][-1] == pytest.approx(-2.0, abs=1e-15)
