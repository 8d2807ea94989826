"""Coordinates, velocities, parameters, inputs, time, and arrays of them."""

import pickle
import random
from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import stationary as st
from stationary.model.symbols import Acceleration, Coordinate, Input, Parameter, Velocity


def test_one_name_gives_one_symbol_and_several_a_tuple():
    assert isinstance(st.coordinates("x"), Coordinate)
    assert [s.name for s in st.coordinates("x theta")] == ["x", "theta"]
    assert [s.name for s in st.coordinates("x, theta")] == ["x", "theta"]
    assert isinstance(st.inputs("F"), Input)
    assert [s.name for s in st.inputs("F tau")] == ["F", "tau"]
    assert isinstance(st.parameters("k"), Parameter)
    assert [p.name for p in st.parameters("k c")] == ["k", "c"]
    assert isinstance(st.parameters(m=2), Parameter)
    assert [(p.name, p.default) for p in st.parameters("k", m=2)] == [("k", None), ("m", 2.0)]


def test_a_range_of_names_is_written_as_in_sympy():
    assert [q.name for q in st.coordinates("q1:4")] == ["q1", "q2", "q3"]


def test_dot_is_the_velocity_and_ddot_the_acceleration():
    x = st.coordinates("x")
    assert isinstance(x.dot, Velocity) and isinstance(x.ddot, Acceleration)
    assert x.dot.dot == x.ddot
    assert x.dot.of == x and x.ddot.of == x
    assert [str(s) for s in (x, x.dot, x.ddot)] == ["x", "x.dot", "x.ddot"]


def test_a_name_is_the_same_symbol_wherever_it_is_declared():
    assert st.coordinates("x") == st.coordinates("x z")[0]
    assert st.coordinates("x").dot == st.coordinates("x").dot


def test_symbols_of_one_name_and_different_kinds_differ():
    kinds = {st.coordinates("z"), st.parameters("z"), st.inputs("z"), sp.Symbol("z", real=True)}
    assert len(kinds) == 4


def test_all_symbols_are_real():
    x, k, F = st.coordinates("x"), st.parameters("k"), st.inputs("F")
    for s in (x, x.dot, x.ddot, k, F, st.t):
        assert s.is_real
        assert sp.sqrt(s**2) == sp.Abs(s)


def test_a_default_is_part_of_a_parameter():
    one, other, none = st.parameters(g=9.81), st.parameters(g=1.62), st.parameters("g")
    assert len({one, other, none}) == 3
    assert (one.default, other.default, none.default) == (9.81, 1.62, None)
    assert one == st.parameters(g=9.81)


@pytest.mark.parametrize(
    "make",
    [
        lambda: st.coordinates("x"),
        lambda: st.coordinates("x").dot,
        lambda: st.coordinates("x").ddot,
        lambda: st.inputs("F"),
        lambda: st.parameters("k"),
        lambda: st.parameters(k=3.5),
        lambda: st.coordinates("r", shape=(3, 2))[1:],
        lambda: st.each(lambda p: p[0] ** 2, st.coordinates("r", shape=(3, 2))),
    ],
)
def test_symbols_survive_pickling(make):
    assert pickle.loads(pickle.dumps(make())) == make()


def test_a_default_survives_pickling():
    assert pickle.loads(pickle.dumps(st.parameters(k=3.5))).default == 3.5


@pytest.mark.parametrize(
    ("name", "latex"),
    [
        ("x", "x"),
        ("x_1", "x_{1}"),
        ("x1", "x_{1}"),
        ("theta", r"\theta"),
        ("theta_1", r"\theta_{1}"),
        ("theta12", r"\theta_{12}"),
        ("Omega", r"\Omega"),
        ("m_c", "m_{c}"),
        ("x_alpha", r"x_{\alpha}"),
        ("crank", r"\operatorname{crank}"),
    ],
)
def test_names_read_as_latex(name, latex):
    assert sp.latex(st.coordinates(name)) == latex
    assert sp.latex(st.parameters(name)) == latex
    assert sp.latex(st.inputs(name)) == latex


@pytest.mark.parametrize(
    ("symbol", "latex"),
    [
        (Coordinate("theta").dot, r"\dot{\theta}"),
        (Coordinate("theta_1").dot, r"\dot{\theta}_{1}"),
        (Coordinate("x").ddot, r"\ddot{x}"),
        (Coordinate("x").dot ** 2, r"\dot{x}^{2}"),
        (st.coordinates("r", shape=(3, 2))[2, 0], "r_{2,0}"),
        (st.coordinates("r", shape=(3, 2)).dot[2, 0], r"\dot{r}_{2,0}"),
        (st.coordinates("r", shape=3)[1] ** 2, "r_{1}^{2}"),
    ],
)
def test_velocities_and_entries_read_as_latex(symbol, latex):
    assert sp.latex(symbol) == latex


def test_products_print_constants_before_coordinates():
    x, k, m = st.coordinates("x"), *st.parameters("k m")
    assert str(k * x**2 / 2) == "k*x**2/2"
    assert str(m * x.dot**2 / 2) == "m*x.dot**2/2"
    assert sp.latex(k * x**2 / 2) == r"\frac{k x^{2}}{2}"


def test_coordinates_are_found_in_the_order_of_their_declaration():
    z, b, y = st.coordinates("zeta beta upsilon")
    system = st.System(kinetic=y.dot**2 + b.dot**2 + z.dot**2)
    assert system.coordinates == (z, b, y)


def test_declaring_one_name_again_leaves_the_order_of_the_call_that_declared_both():
    x, theta = st.coordinates("x theta")
    alone = st.coordinates("theta")
    system = st.System(kinetic=x.dot**2 + theta.dot**2 + alone.dot * x.dot, potential=alone**2)
    assert system.coordinates == (x, theta)
    # What is declared alone is found by name, and the two are one coordinate.
    assert system.potential == theta**2
    motion = st.simulate(system, start={alone: 1.0}, span=(0, 1))
    assert np.array_equal(motion[alone * x], motion[theta * x])


def test_names_declared_one_by_one_stand_in_their_own_order():
    z, a = st.coordinates("z"), st.coordinates("a1")
    assert st.System(kinetic=z.dot**2 + a.dot**2).coordinates == (a, z)


@pytest.mark.parametrize("seed", range(20))
def test_equal_source_builds_equal_systems_whatever_else_is_declared(seed):
    chance = random.Random(seed)
    names = chance.sample(["x", "theta", "q2", "q10", "z", "a1", "Phi", "y_1", "y_2"], 5)
    split = chance.randrange(1, 5)
    constants = chance.sample(["m", "k", "g", "J", "l0"], 3)

    def unrelated():
        for maker in (st.coordinates, st.parameters, st.inputs):
            maker(" ".join(chance.sample([*names, *constants, "w"], chance.randrange(1, 6))))

    def source():
        first, rest = st.coordinates(" ".join(names[:split])), st.coordinates(
            " ".join(names[split:])
        )  # fmt: skip
        q = [*(first if split > 1 else (first,)), *(rest if split < 4 else (rest,))]
        p, F = st.parameters(" ".join(constants)), st.inputs("G F")
        unrelated()
        return st.System(
            kinetic=p[0] * sum(c.dot**2 for c in q) + p[2] * q[0].dot * q[3].dot * st.cos(q[1]),
            potential=sum(p[1] * (c - d) ** 2 for c, d in zip(q, q[1:])),
            loads=[st.Load(f, on=c) for f, c in zip(F, q)],
        )

    one = source()
    unrelated()
    other = source()
    assert one == other and hash(one) == hash(other)
    for each in (other, pickle.loads(pickle.dumps(one))):
        for kind in ("coordinates", "parameters", "inputs"):
            assert getattr(one, kind) == getattr(each, kind)
    # Names of one call stand in the order of that call.
    order = [c.name for c in one.coordinates]
    for call in (names[:split], names[split:]):
        assert [n for n in order if n in call] == call
    # An order that is given says the same as one that is declared.
    alone = {c.name: st.coordinates(c.name) for c in one.coordinates}
    swap = {c: alone[c.name] for c in one.coordinates}
    swap |= {c.dot: alone[c.name].dot for c in one.coordinates}
    stated: Any = one.apply(lambda e: e.xreplace(swap)) | {"coordinates": tuple(alone.values())}
    assert st.System(**stated) == one and hash(st.System(**stated)) == hash(one)


def test_numbered_coordinates_stand_in_the_order_of_their_numbers():
    q2, q10 = sp.Function("q2")(sp.Symbol("t")), sp.Function("q10")(sp.Symbol("t"))
    t = sp.Symbol("t")
    system = st.System(kinetic=q10.diff(t) ** 2 + q2.diff(t) ** 2)
    assert [q.name for q in system.coordinates] == ["q2", "q10"]


def test_coordinates_given_fix_the_order():
    x, y = st.coordinates("x y")
    assert st.System(kinetic=x.dot**2 + y.dot**2, coordinates=(y, x)).coordinates == (y, x)


def test_rate_is_the_derivative_that_sympy_takes_of_functions_of_time():
    x, y = st.coordinates("x y")
    L = st.parameters("l")
    X, Y = dynamicsymbols("x y")
    time = dynamicsymbols._t
    e = L * st.sin(x) * y**2 + st.t * x + y.dot * st.cos(y)
    E = e.subs({x: X, y: Y, y.dot: Y.diff(time), st.t: time})
    expected = E.diff(time)
    found = st.rate(e).subs({x.dot: X.diff(time), y.dot: Y.diff(time), y.ddot: Y.diff(time, 2)})
    found = found.subs({x: X, y: Y, st.t: time})
    assert sp.simplify(found - expected) == 0


def test_rate_of_a_tuple_is_the_tuple_of_rates():
    theta, L = st.coordinates("theta"), st.parameters("l")
    assert st.rate((L * st.sin(theta), -L * st.cos(theta))) == (
        L * theta.dot * st.cos(theta),
        L * theta.dot * st.sin(theta),
    )


def test_rate_of_a_constant_is_zero():
    assert st.rate(3) == 0
    assert st.rate(st.parameters("k")) == 0


# -- arrays ---------------------------------------------------------------------------------------

KEYS = [
    2,
    -1,
    (1, 0),
    (-1, -1),
    slice(None),
    slice(1, None),
    slice(None, -1),
    slice(None, None, -1),
    slice(None, None, 2),
    (slice(None), 1),
    (slice(1, 3), slice(None)),
    (slice(None), slice(None, None, -1)),
    ([2, 0, 2], 1),
    [3, 1],
    (Ellipsis, 0),
    np.array([True, False, True, False]),
    (slice(None), None, 0),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_an_array_is_indexed_as_in_numpy(key):
    r = st.coordinates("r", shape=(4, 2))
    names = np.array([[f"r[{i},{j}]" for j in range(2)] for i in range(4)], dtype=object)
    picked = r[key]
    assert np.array_equal(np.vectorize(str)(np.asarray(picked, dtype=object)), names[key])
    assert np.shape(picked) == np.shape(names[key])


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_velocities_of_a_view_are_the_view_of_the_velocities(key):
    r = st.coordinates("r", shape=(4, 2))
    assert r[key].dot == r.dot[key]


def test_an_index_outside_an_array_is_an_index_error():
    with pytest.raises(IndexError):
        st.coordinates("r", shape=(4, 2))[4, 0]


def test_a_view_of_a_view_is_a_view_of_the_whole():
    r = st.coordinates("r", shape=(6, 2))
    assert r[1:][1:, 0] == r[2:, 0]
    assert r[1:][::2].whole == r


def test_an_array_has_rows_to_go_through():
    r = st.coordinates("r", shape=(3, 2))
    assert len(r) == 3 and r.size == 6 and r.shape == (3, 2)
    assert [row[1] for row in r] == [r[0, 1], r[1, 1], r[2, 1]]


def test_an_array_of_one_axis_holds_symbols():
    q = st.coordinates("q", shape=3)
    assert q.shape == (3,)
    assert [str(s) for s in q] == ["q[0]", "q[1]", "q[2]"]
    assert [str(s) for s in q.dot] == ["q[0].dot", "q[1].dot", "q[2].dot"]


def test_an_entry_of_an_array_is_a_coordinate():
    r = st.coordinates("r", shape=(3, 2))
    assert isinstance(r[0, 1], Coordinate) and isinstance(r.dot[0, 1], Velocity)
    assert r.dot[0, 1] == r[0, 1].dot
    assert r.dot[0, 1].of == r[0, 1]


def test_velocities_of_velocities_are_accelerations_as_for_one_coordinate():
    r = st.coordinates("r", shape=(3, 2))
    assert r.dot.dot[0, 1] == r[0, 1].ddot


def test_arrays_print_by_name_and_views_by_shape():
    r = st.coordinates("r", shape=(4, 2))
    assert repr(r) == "r" and repr(r.dot) == "r.dot"
    assert repr(r[1:]) == "r[…] of shape (3, 2)"
