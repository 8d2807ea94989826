"""Repetition stated once equals the same system written out, row by row."""

import numpy as np
import pytest
import sympy as sp

import stationary as st
from stationary.model.system import written_out
from tests.checks import assert_same_system


def distance(a, b):
    return st.sqrt((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2)


def compare(repeated: st.System, by_hand: st.System, u=()) -> None:
    """Both have the same numbers at random states."""
    same_order = by_hand.apply(lambda e: e) | {"coordinates": repeated.coordinates}
    assert_same_system(st.compile(repeated), st.compile(st.System(**same_order)), u=u)


def test_the_function_is_called_exactly_once():
    calls = []
    r = st.coordinates("r", shape=(1000, 2))

    def energy(p):
        calls.append(p)
        return p[0] ** 2

    system = st.System(kinetic=st.each(lambda v: v[0] ** 2, r.dot), potential=st.each(energy, r))
    st.compile(system).gradient(np.zeros(2000))
    assert len(calls) == 1
    assert np.shape(calls[0]) == (2,)


def test_springs_masses_and_gravity_equal_the_written_out_chain():
    n = 5
    r = st.coordinates("r", shape=(n, 2))
    m, k, h, g = st.parameters(m=0.3, k=12.0, h=0.7, g=9.81)
    repeated = st.System(
        kinetic=st.each(lambda v: m * (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda a, b: k * (st.norm(b - a) - h) ** 2 / 2, r[:-1], r[1:])
        + st.each(lambda p: m * g * p[1], r),
    )
    by_hand = st.System(
        kinetic=sum(m * (r.dot[i, 0] ** 2 + r.dot[i, 1] ** 2) / 2 for i in range(n)),
        potential=sum(k * (distance(r[i], r[i + 1]) - h) ** 2 / 2 for i in range(n - 1))
        + sum(m * g * r[i, 1] for i in range(n)),
    )
    compare(repeated, by_hand)


def test_loads_drag_and_dissipation_equal_the_written_out_ones():
    n = 4
    r = st.coordinates("r", shape=(n, 2))
    F, c, eta = st.inputs("F"), *st.parameters(c=0.4, eta=0.2)
    repeated = st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        loads=[st.each(lambda p, v: st.Load((F * p[1], -v[0] * st.t), on=p), r, r.dot)],
        friction=st.each(lambda p: st.Drag(eta, 2, on=p), r),
        dissipation=st.each(
            lambda a, b: c * ((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2) / 2, r.dot[:-1], r.dot[1:]
        ),
    )
    by_hand = st.System(
        kinetic=sum((r.dot[i, 0] ** 2 + r.dot[i, 1] ** 2) / 2 for i in range(n)),
        loads=[
            st.Load((F * r[i, 1], -r.dot[i, 0] * st.t), on=(r[i, 0], r[i, 1])) for i in range(n)
        ],
        dissipation=sum(
            c * ((v[1][0] - v[0][0]) ** 2 + (v[1][1] - v[0][1]) ** 2) / 2
            for v in ((r.dot[i], r.dot[i + 1]) for i in range(n - 1))
        )
        # The potential whose slope is η|v|²: a hand-made cube of the speed.
        + sum(
            eta * (r.dot[i, 0] ** 2 + r.dot[i, 1] ** 2) ** sp.Rational(3, 2) / 3 for i in range(n)
        ),
    )
    compare(repeated, by_hand, u=[0.7])


def test_numbers_that_differ_from_row_to_row_equal_the_written_out_ones():
    n = 5
    rng = np.random.default_rng(1)
    masses, anchors = rng.uniform(1, 2, n), rng.normal(size=(n, 2))
    r = st.coordinates("r", shape=(n, 2))
    k = st.parameters(k=3.0)
    repeated = st.System(
        kinetic=st.each(lambda v, m: m * (v[0] ** 2 + v[1] ** 2) / 2, r.dot, masses),
        potential=st.each(lambda p, a: k * st.norm(p - a) ** 4, r, anchors),
    )
    by_hand = st.System(
        kinetic=sum(masses[i] * (r.dot[i, 0] ** 2 + r.dot[i, 1] ** 2) / 2 for i in range(n)),
        potential=sum(
            k * ((r[i, 0] - anchors[i, 0]) ** 2 + (r[i, 1] - anchors[i, 1]) ** 2) ** 2
            for i in range(n)
        ),
    )
    compare(repeated, by_hand)


def test_a_scalar_coordinate_inside_the_element_is_shared_by_all_rows():
    n = 4
    X, r = st.coordinates("X"), st.coordinates("r", shape=(n, 2))
    k = st.parameters(k=2.0)
    repeated = st.System(
        kinetic=X.dot**2 / 2
        + st.each(lambda v: ((v[0] + X.dot * st.cos(X)) ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: k * st.cos(p[0] - X) * p[1], r) + X**4,
        coordinates=(X, r),
    )
    by_hand = st.System(
        kinetic=X.dot**2 / 2
        + sum(((r.dot[i, 0] + X.dot * st.cos(X)) ** 2 + r.dot[i, 1] ** 2) / 2 for i in range(n)),
        potential=sum(k * st.cos(r[i, 0] - X) * r[i, 1] for i in range(n)) + X**4,
    )
    compare(repeated, by_hand)


def test_an_entry_of_the_array_inside_the_element_is_shared_by_all_rows():
    n = 4
    q = st.coordinates("q", shape=n)
    repeated = st.System(
        kinetic=st.each(lambda v: v**2 / 2, q.dot),
        potential=st.each(lambda x: (x - q[1]) ** 4 + x**2 * q[1], q),
    )
    by_hand = st.System(
        kinetic=sum(q.dot[i] ** 2 / 2 for i in range(n)),
        potential=sum((q[i] - q[1]) ** 4 + q[i] ** 2 * q[1] for i in range(n)),
    )
    compare(repeated, by_hand)


def test_rows_may_name_the_same_entry_twice_and_in_any_order():
    n = 5
    ends = np.array([[0, 1], [3, 1], [4, 4], [2, 0], [3, 1]])
    q = st.coordinates("q", shape=n)
    repeated = st.System(
        kinetic=st.each(lambda v: v**2 / 2, q.dot),
        potential=st.each(lambda a, b: st.sin(a) * b**2, q[ends[:, 0]], q[ends[:, 1]]),
    )
    by_hand = st.System(
        kinetic=sum(q.dot[i] ** 2 / 2 for i in range(n)),
        potential=sum(st.sin(q[int(i)]) * q[int(j)] ** 2 for i, j in ends),
    )
    compare(repeated, by_hand)


def test_two_arrays_stand_in_one_element():
    n = 3
    a, b = st.coordinates("a", shape=(n, 2)), st.coordinates("b", shape=n)
    repeated = st.System(
        kinetic=st.each(
            lambda u, w, x: (u[0] ** 2 + u[1] ** 2 + (2 + st.sin(x)) * w**2) / 2, a.dot, b.dot, b
        ),
        potential=st.each(lambda p, x: p[0] * p[1] * st.exp(x), a, b),
        coordinates=(a, b),
    )
    by_hand = st.System(
        kinetic=sum(
            (a.dot[i, 0] ** 2 + a.dot[i, 1] ** 2 + (2 + st.sin(b[i])) * b.dot[i] ** 2) / 2
            for i in range(n)
        ),
        potential=sum(a[i, 0] * a[i, 1] * st.exp(b[i]) for i in range(n)),
    )
    compare(repeated, by_hand)


def test_sums_scale_add_and_subtract_with_plain_terms():
    n = 4
    q, x = st.coordinates("q", shape=n), st.coordinates("x")
    k = st.parameters(k=3.0)
    squares, steps = st.each(lambda z: z**2, q), st.each(lambda a, b: (b - a) ** 4, q[:-1], q[1:])
    repeated = st.System(
        kinetic=st.each(lambda v: v**2 / 2, q.dot) + x.dot**2 / 2,
        potential=k * squares / 2 - x * steps + st.cos(x),
        work=2 * squares,
        coordinates=(q, x),
    )
    by_hand = st.System(
        kinetic=sum(q.dot[i] ** 2 / 2 for i in range(n)) + x.dot**2 / 2,
        potential=k * sum(q[i] ** 2 for i in range(n)) / 2
        - x * sum((q[i + 1] - q[i]) ** 4 for i in range(n - 1))
        + st.cos(x),
        work=2 * sum(q[i] ** 2 for i in range(n)),
    )
    compare(repeated, by_hand)


def test_a_factor_before_a_bracket_of_sums_multiplies_both():
    q, k = st.coordinates("q", shape=3), st.parameters(k=3.0)
    squares, steps = st.each(lambda z: z**2, q), st.each(lambda a, b: a * b, q[:-1], q[1:])
    system = st.compile(st.System(potential=k * (squares + steps)))
    assert system.potential([1.0, 2.0, 3.0]) == 3 * (1 + 4 + 9 + 2 + 6)


def test_a_sum_of_constants_counts_every_row():
    q, k = st.coordinates("q", shape=4), st.parameters(k=2.5)
    system = st.System(
        kinetic=st.each(lambda v: v**2 / 2, q.dot), potential=st.each(lambda z: k, q)
    )
    assert st.compile(system).potential(np.zeros(4)) == 4 * 2.5


def test_a_product_of_two_sums_is_refused_when_it_is_stated():
    q = st.coordinates("q", shape=3)
    squares, steps = st.each(lambda z: z**2, q), st.each(lambda a, b: a * b, q[:-1], q[1:])
    with pytest.raises(st.StatementError):
        st.System(potential=squares * steps)


def test_the_written_out_system_has_the_same_numbers():
    r = st.coordinates("r", shape=(3, 2))
    k = st.parameters(k=4.0)
    net = st.System(
        kinetic=st.each(lambda v: v[0] ** 2 + v[1] ** 2, r.dot),
        potential=st.each(lambda a, b: k * st.norm(b - a) ** 2 / 2, r[:-1], r[1:]),
        loads=[st.each(lambda p: st.Load(k, on=p[1]), r)],
    )
    assert_same_system(st.compile(net), st.compile(written_out(net)))


def test_the_written_out_system_has_every_term():
    n = 3
    r = st.coordinates("r", shape=(n, 2))
    k, mu = st.parameters("k mu")
    net = st.System(
        potential=st.each(lambda a, b: k * st.norm(b - a) ** 2 / 2, r[:-1], r[1:]),
        loads=[st.each(lambda p: st.Load(k, on=p[1]), r)],
        friction=st.each(lambda p: st.Friction(mu, on=p), r),
        constraints=st.each(lambda a, b: st.norm(b - a) - 1, r[:-1], r[1:], name="link"),
    )
    plain = written_out(net)
    assert plain.potential == sp.Add(
        *(
            k * ((r[i + 1, 0] - r[i, 0]) ** 2 + (r[i + 1, 1] - r[i, 1]) ** 2) / 2
            for i in range(n - 1)
        )
    )
    assert plain.coordinates == tuple(np.asarray(r).ravel())
    assert [load.on for load in plain.loads] == [(r[i, 1],) for i in range(n)]
    assert [f.on for f in plain.friction] == [(r[i, 0], r[i, 1]) for i in range(n)]
    assert [c.name for c in plain.constraints] == ["link[0]", "link[1]"]
    assert plain.constraints[1].R == (
        st.sqrt((r[2, 0] - r[1, 0]) ** 2 + (r[2, 1] - r[1, 1]) ** 2) - 1,
    )


def test_a_sum_differentiates_as_the_written_out_one():
    q = st.coordinates("q", shape=3)
    assert st.each(lambda z: z**2, q).diff(q[1]) == 2 * q[1]


def test_a_tuple_states_several_constraints_per_row():
    r = st.coordinates("r", shape=(3, 2))
    pinned = st.System(constraints=st.each(lambda p: (p[0], p[1] - 1), r, name="pin"))
    assert [c.R for c in written_out(pinned).constraints] == [
        (r[i, 0], r[i, 1] - 1) for i in range(3)
    ]


def test_plain_terms_and_repeated_ones_mix_by_addition():
    r, x = st.coordinates("r", shape=(3, 2)), st.coordinates("x")
    links = st.each(lambda a, b: st.norm(b - a) - 1, r[:-1], r[1:], name="link")
    grip = st.each(lambda p: st.Friction(1, on=p), r, name="grip")
    for constraints in ([x - 1] + links, links + [x - 1]):
        assert len(written_out(st.System(constraints=constraints)).constraints) == 3
    for friction in ([st.Friction(1, on=x)] + grip, grip + [st.Friction(1, on=x)]):
        assert len(written_out(st.System(friction=friction)).friction) == 4


def test_a_repetition_reads_as_a_sum():
    r, (m, k) = st.coordinates("r", shape=(4, 2)), st.parameters("m k")
    masses = st.each(lambda v: m * (v[0] ** 2 + v[1] ** 2) / 2, r.dot)
    links = st.each(lambda a, b: k * (b[0] - a[0]) ** 2, r[:-1], r[1:])
    assert str(masses) == "Sum(m*(r[i,0].dot**2 + r[i,1].dot**2)/2; i = 0..3)"
    assert sp.latex(masses) == (
        r"\sum_{i=0}^{3} "
        r"\left(\frac{m \left(\dot{r}_{i,0}^{2} + \dot{r}_{i,1}^{2}\right)}{2}\right)"
    )
    assert str(links) in (
        "Sum(k*(r[i+1,0] - r[i,0])**2; i = 0..2)",
        "Sum(k*(-r[i,0] + r[i+1,0])**2; i = 0..2)",
    )


def test_equal_repetitions_are_equal_and_different_tables_are_not():
    q = st.coordinates("q", shape=4)
    f = lambda z: z**2  # noqa: E731
    assert st.each(f, q) == st.each(f, q)
    assert hash(st.each(f, q)) == hash(st.each(f, q))
    assert st.each(f, q[1:]) != st.each(f, q[:-1])
    assert st.each(lambda z, d: d * z, q, np.arange(4)) != st.each(
        lambda z, d: d * z, q, np.arange(4) + 1
    )


def test_two_sums_over_different_tables_do_not_cancel():
    q = st.coordinates("q", shape=4)
    f = lambda z: z**2  # noqa: E731
    difference = st.each(f, q[1:]) - st.each(f, q[:-1])
    assert st.compile(st.System(potential=difference)).potential([1.0, 2.0, 3.0, 4.0]) == 15.0


def test_a_repeated_motion_equals_the_written_out_motion():
    n = 3
    q = st.coordinates("q", shape=n)
    k = st.parameters(k=5.0)
    chain = st.System(
        kinetic=st.each(lambda v: v**2 / 2, q.dot),
        potential=st.each(lambda a, b: k * (b - a) ** 2 / 2, q[:-1], q[1:]) + k * q[0] ** 2 / 2,
    )
    motion = st.simulate(chain, span=(0, 3), start={q: [0.1, 0.2, 0.3]}, points=7)
    # Normal modes of a chain fixed at one end: ω = 2√k sin((2j−1)π/(2(2n+1))).
    K = 5.0 * np.array([[2, -1, 0], [-1, 2, -1], [0, -1, 1]])
    squares, shapes = np.linalg.eigh(K)
    expected = 2 * np.sqrt(5.0) * np.sin((2 * np.arange(1, n + 1) - 1) * np.pi / (2 * (2 * n + 1)))
    np.testing.assert_allclose(np.sqrt(squares), expected, rtol=1e-13)
    weights = shapes.T @ np.array([0.1, 0.2, 0.3])
    exact = (weights * np.cos(np.sqrt(squares) * motion.t[:, None])) @ shapes.T
    np.testing.assert_allclose(motion[q], exact, rtol=0, atol=1e-14)


def test_norm_is_the_euclidean_length():
    x, y, z = st.coordinates("x y z")
    assert st.norm((x, y, z)) == st.sqrt(x**2 + y**2 + z**2)
    assert st.norm([3, 4]) == 5
    r = st.coordinates("r", shape=(2, 2))
    assert st.norm(r[1]) == st.sqrt(r[1, 0] ** 2 + r[1, 1] ** 2)


def test_rows_of_an_array_add_and_scale_as_vectors():
    r, m = st.coordinates("r", shape=(3, 2)), st.parameters("m")
    x0, y0, x1, y1 = r[0, 0], r[0, 1], r[1, 0], r[1, 1]
    assert list(r[1] - r[0]) == [x1 - x0, y1 - y0]
    assert list(m * r[0]) == list(r[0] * m) == [m * x0, m * y0]
    assert list(-r.dot[0] / 2) == [-x0.dot / 2, -y0.dot / 2]
    assert r.dot[0] @ r.dot[0] == x0.dot**2 + y0.dot**2
    assert st.norm(r[1] - (1, 2)) == st.sqrt((x1 - 1) ** 2 + (y1 - 2) ** 2)
    assert (r[:2] - r[1:]).shape == (2, 2)
    # Arrays still compare as a whole: they are keys.
    assert r[0] == r[0] and r[0] != r[1] and {r[0]: 1}[r[0]] == 1


def test_tables_of_many_rows_move_as_their_sum_and_are_not_written_out():
    # Springs of stiffness w to places w, all on one mass: ẍ = Σw² − x Σw.
    x, w = st.coordinates("x"), np.random.default_rng(5).uniform(0.5, 1.5, 20_000) / 20_000
    many = st.System(
        kinetic=x.dot**2 / 2,
        potential=st.each(lambda k: k * (x - 20_000 * k) ** 2 / 2, w),
        loads=[st.Load(-0.1 * x.dot, on=x)],
    )
    stiff, middle = w.sum(), 20_000 * (w**2).sum() / w.sum()
    motion = st.simulate(many, span=(0, 3), start={x: 2.0}, points=31)
    swing, t = np.sqrt(stiff - 0.05**2), motion.t
    decayed = np.exp(-0.05 * t) * (np.cos(swing * t) + 0.05 / swing * np.sin(swing * t))
    np.testing.assert_allclose(motion[x], middle + (2 - middle) * decayed, rtol=1e-9)
    assert st.statics(many)[x] == pytest.approx(middle, rel=1e-12)
    with pytest.raises(st.StationaryError, match="rows written out, expected at most 20000"):
        st.equations(many)
    assert st.check(many).passed
