"""Systems: immutable, comparable, printable; they add; SymPy's dynamicsymbols are accepted."""

import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics import dynamicsymbols

import stationary as st


@pytest.fixture
def oscillator():
    x = st.coordinates("x")
    m, k = st.parameters(m=2.0, k=8.0)
    return st.System(kinetic=m * x.dot**2 / 2, potential=k * x**2 / 2)


def test_a_system_cannot_be_changed(oscillator):
    with pytest.raises(FrozenInstanceError):
        oscillator.kinetic = 0
    with pytest.raises(FrozenInstanceError):
        del oscillator.potential


def test_every_part_of_the_statement_is_immutable():
    x = st.coordinates("x")
    loads = [st.Load(1, on=x)]
    system = st.System(kinetic=x.dot**2, loads=loads)
    loads.append(st.Load(2, on=x))
    assert len(system.loads) == 1
    with pytest.raises(FrozenInstanceError):
        system.loads[0].force = (2,)


def test_equal_statements_are_equal_and_have_one_hash(oscillator):
    x = st.coordinates("x")
    m, k = st.parameters(m=2.0, k=8.0)
    again = st.System(potential=k * x**2 / 2, kinetic=m * x.dot**2 / 2)
    assert again == oscillator and hash(again) == hash(oscillator)
    assert len({again, oscillator}) == 1


@pytest.mark.parametrize("change", ["kinetic", "potential", "default", "load", "name", "order"])
def test_different_statements_are_different(change):
    x, y = st.coordinates("x y")
    m = st.parameters(m=2.0)

    def stated(what=None):
        mass = st.parameters(m=3.0) if what == "default" else m
        return st.System(
            kinetic=mass * (x.dot**2 + y.dot**2) / (3 if what == "kinetic" else 2),
            potential=x**2 if what == "potential" else x**4,
            loads=[st.Load(1, on=y if what == "load" else x)],
            name="other" if what == "name" else "",
            coordinates=(y, x) if what == "order" else (x, y),
        )

    assert stated() == stated()
    assert stated(change) != stated()


def test_a_system_survives_pickling(oscillator):
    assert pickle.loads(pickle.dumps(oscillator)) == oscillator
    q = st.coordinates("q", shape=3)
    chain = st.System(
        kinetic=st.each(lambda v: v**2, q.dot), friction=st.each(lambda z: st.Drag(1, 1, on=z), q)
    )
    assert pickle.loads(pickle.dumps(chain)) == chain


# -- addition -------------------------------------------------------------------------------------


def test_energies_and_terms_of_a_sum_are_those_of_its_parts():
    x, y = st.coordinates("x y")
    k = st.parameters("k")
    left = st.System(
        kinetic=x.dot**2 / 2, work=3 * x, dissipation=x.dot**2, loads=[st.Load(1, on=x)]
    )
    right = st.System(
        kinetic=y.dot**2, potential=k * (y - x) ** 2, loads=[st.Load(2, on=y)], name="right"
    )
    both = left + right
    assert both.kinetic == x.dot**2 / 2 + y.dot**2
    assert both.potential == k * (y - x) ** 2
    assert both.work == 3 * x and both.dissipation == x.dot**2
    assert [(load.force, load.on) for load in both.loads] == [((1,), (x,)), ((2,), (y,))]
    assert both.coordinates == (x, y) and both.name == "right"


def test_the_order_of_the_sum_is_the_order_of_the_coordinates():
    x, y, z = st.coordinates("x y z")
    left, right = st.System(kinetic=z.dot**2 + y.dot**2), st.System(kinetic=x.dot**2 + y.dot**2)
    assert (left + right).coordinates == (y, z, x)


def test_the_sum_function_adds_systems():
    q = st.coordinates("q1:5")
    parts = [st.System(kinetic=x.dot**2, potential=x**4) for x in q]
    total = sum(parts)
    assert isinstance(total, st.System)
    assert total.potential == sp.Add(*(x**4 for x in q))
    assert total == parts[0] + parts[1] + parts[2] + parts[3]


def test_numbered_terms_are_numbered_anew_and_named_ones_keep_their_names():
    x, y = st.coordinates("x y")
    left = st.System(constraints=[x - 1, st.Constraint(y - 1, name="wall")])
    right = st.System(constraints=[x - y])
    assert [c.name for c in left.constraints] == ["R1", "wall"]
    assert [c.name for c in (left + right).constraints] == ["R1", "wall", "R3"]


def test_a_default_declared_in_one_part_serves_the_other():
    x, y = st.coordinates("x y")
    with_default, without = st.parameters(k=8.0), st.parameters("k")
    total = st.System(kinetic=x.dot**2, potential=with_default * x**2) + st.System(
        kinetic=y.dot**2, potential=without * y**2
    )
    assert total.parameters == (with_default,)
    assert st.compile(total).potential([1.0, 1.0]) == 16.0


def test_a_default_declared_for_a_term_serves_the_energies():
    x = st.coordinates("x")
    system = st.System(
        potential=st.parameters("k") * x**2, loads=[st.Load(st.parameters(k=2.0), on=x)]
    )
    assert [p.default for p in system.parameters] == [2.0]


def test_arrays_of_one_name_are_one_array_in_a_sum():
    q = st.coordinates("q", shape=3)
    total = st.System(kinetic=st.each(lambda v: v**2, q.dot)) + st.System(potential=q[0] ** 2)
    assert total.coordinates == (q,) and total.size == 3


def test_only_systems_add_to_systems(oscillator):
    with pytest.raises(TypeError):
        _ = oscillator + 1
    with pytest.raises(TypeError):
        _ = 1 + oscillator


# -- what it is made of ---------------------------------------------------------------------------


def test_parameters_and_inputs_stand_in_the_order_in_which_they_occur():
    x = st.coordinates("x")
    b, a, unused = st.parameters("b a unused")
    F, G = st.inputs("F G")
    system = st.System(
        kinetic=a * x.dot**2, potential=b * x, loads=[st.Load(G, on=x), st.Load(F, on=x)]
    )
    assert system.parameters == (a, b) and system.inputs == (G, F)


def test_parameters_inside_a_repetition_are_found():
    q, k = st.coordinates("q", shape=3), st.parameters("k")
    assert st.System(potential=st.each(lambda z: k * z, q)).parameters == (k,)


def test_a_coordinate_that_no_energy_uses_may_be_listed():
    x, y = st.coordinates("x y")
    assert st.System(kinetic=x.dot**2, coordinates=(x, y)).size == 2


def test_entries_of_an_array_are_coordinates_without_a_repetition_too():
    r = st.coordinates("r", shape=(2, 2))
    system = st.System(kinetic=(r.dot[1, 0] ** 2 + r.dot[0, 0] ** 2) / 2, potential=r[1, 0] ** 2)
    assert system.coordinates == (r[0, 0], r[1, 0])
    np.testing.assert_array_equal(st.compile(system).gradient([5.0, 3.0]), [0.0, 6.0])


# -- SymPy's own mechanics ------------------------------------------------------------------------


@pytest.fixture
def pendulum_of_sympy():
    q, F = dynamicsymbols("q F")
    qd = dynamicsymbols("q", 1)
    m, L, g = sp.symbols("m l g")
    return st.System(
        kinetic=m * L**2 * qd**2 / 2,
        potential=-m * g * L * sp.cos(q),
        loads=[st.Load(F, on=L * sp.sin(q))],
    )


def test_a_statement_in_dynamicsymbols_equals_the_one_in_our_symbols(pendulum_of_sympy):
    q, F = st.coordinates("q"), st.inputs("F")
    m, L, g = st.parameters("m l g")
    assert pendulum_of_sympy == st.System(
        kinetic=m * L**2 * q.dot**2 / 2,
        potential=-m * g * L * st.cos(q),
        loads=[st.Load(F, on=L * st.sin(q))],
    )


def test_dynamicsymbols_serve_as_keys(pendulum_of_sympy):
    q, F = dynamicsymbols("q F")
    qd, qdd = dynamicsymbols("q", 1), dynamicsymbols("q", 2)
    m, L, g = sp.symbols("m l g")
    time = dynamicsymbols._t
    motion = st.simulate(
        pendulum_of_sympy,
        span=(0, 1),
        start={q: 0.3, qd: 0.1},
        params={m: 2.0, L: 0.5, g: 9.81},
        inputs={F: sp.cos(3 * time) * qd},
        points=11,
    )
    x = st.coordinates("q")
    by_name = st.simulate(
        pendulum_of_sympy,
        span=(0, 1),
        start={"q": 0.3, "q.dot": 0.1},
        params={"m": 2.0, "l": 0.5, "g": 9.81},
        inputs={"F": st.cos(3 * st.t) * x.dot},
        points=11,
    )
    np.testing.assert_allclose(motion[q], by_name["q"], rtol=0, atol=1e-14)
    np.testing.assert_allclose(motion[qd], by_name["q.dot"], rtol=0, atol=1e-13)
    np.testing.assert_allclose(motion[qdd], by_name["q.ddot"], rtol=0, atol=1e-12)
    np.testing.assert_array_equal(motion[F], np.cos(3 * motion.t) * motion[qd])
    np.testing.assert_allclose(
        motion[m * qd * sp.sin(time)], 2 * motion["q.dot"] * np.sin(motion.t), rtol=1e-15
    )


def test_functions_of_time_listed_as_coordinates_keep_their_order():
    a, b = dynamicsymbols("a b")
    ad, bd = dynamicsymbols("a b", 1)
    assert [c.name for c in st.System(kinetic=ad**2 + bd**2, coordinates=(b, a)).coordinates] == [
        "b",
        "a",
    ]


def test_a_plain_t_is_time():
    x = st.coordinates("x")
    system = st.System(kinetic=x.dot**2 / 2, work=x * sp.Symbol("t"))
    assert system.work == x * st.t


# -- how it reads ---------------------------------------------------------------------------------


def test_an_oscillator_prints_its_energies_and_constants(oscillator):
    assert str(oscillator) == (
        "System of 1 coordinate: x\n  T = m*x.dot**2/2\n  U = k*x**2/2\n  with m = 2, k = 8"
    )
    assert repr(oscillator) == str(oscillator)


def test_everything_that_can_be_stated_is_printed():
    x, y = st.coordinates("x y")
    F, (m, g) = st.inputs("F"), st.parameters("m g")
    system = st.System(
        name="all",
        kinetic=m * (x.dot**2 + y.dot**2) / 2,
        potential=g * m * y,
        work=x * st.t,
        dissipation=x.dot**2 / 2,
        loads=[st.Load(F, on=x)],
        friction=[st.Friction(g * m, on=(x, y), name="table"), st.Drag(m, 2, on=y)],
        constraints=[x - y],
        pfaffian=[st.Pfaffian(x * y.dot, name="edge")],
        contacts=[st.Contact(y, name="floor")],
    )
    assert str(system) == (
        "all of 2 coordinates: x, y\n"
        "  T = m*(x.dot**2 + y.dot**2)/2\n"
        "  U = g*m*y\n"
        "  W = t*x\n"
        "  D = x.dot**2/2\n"
        "  δW = F δ(x)\n"
        "  table: friction up to g*m against d/dt (x, y)\n"
        "  friction2: drag m |v|**2 against v = d/dt y\n"
        "  R1: x - y = 0\n"
        "  edge: x*y.dot = 0\n"
        "  floor: y ≥ 0\n"
        "  with m, g\n"
        "  driven by F"
    )


def test_a_chain_prints_as_sums():
    r, (m, g) = st.coordinates("r", shape=(4, 2)), st.parameters(m=0.5, g=9.81)
    chain = st.System(
        kinetic=st.each(lambda v: m * (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: g * m * p[1], r),
        constraints=st.each(lambda p: p[0] - p[1], r, name="link"),
    )
    assert str(chain) == (
        "System of 8 coordinates: r 4×2\n"
        "  T = Sum(m*(r[i,0].dot**2 + r[i,1].dot**2)/2; i = 0..3)\n"
        "  U = Sum(g*m*r[i,1]; i = 0..3)\n"
        "  link: r[i,0] - r[i,1] = 0  (i = 0..3)\n"
        "  with m = 0.5, g = 9.81"
    )


def test_a_notebook_shows_latex():
    theta, (m, L, g) = st.coordinates("theta"), st.parameters("m l g")
    pendulum = st.System(kinetic=m * L**2 * theta.dot**2 / 2, potential=-m * g * L * st.cos(theta))
    assert pendulum._repr_latex_() == (
        r"$$\begin{aligned}T &= \frac{l^{2} m \dot{\theta}^{2}}{2} \\ "
        r"U &= - g l m \cos{\left(\theta \right)}\end{aligned}$$"
    )


def test_numbers_print_as_they_were_typed():
    x = st.coordinates("x")
    assert str(st.Drag(0.1, 2, on=x)) == "drag 0.1 |v|**2 against v = d/dt x"
    assert (
        str(st.System(kinetic=0.05 * x.dot**2)) == "System of 1 coordinate: x\n  T = 0.05*x.dot**2"
    )
