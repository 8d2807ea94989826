"""Fields are symbols: they differentiate, compare, print and travel as symbols do."""

import pickle

import pytest
import sympy as sp

import stationary as st

X = st.positions("X")
L, E = st.parameters(L=2.0, E=3.0)
u = st.field("u", over=(X, 0, L))


def test_derivatives_have_names_and_orders():
    assert [str(f) for f in (u.dot, u.ddot, u.diff(X), u.diff(X, 2), u.diff(X).dot)] == [
        "u.dot",
        "u.ddot",
        "u'",
        "u''",
        "u'.dot",
    ]
    bend = u.diff(X, 2)
    assert (bend.order, bend.rate, bend.whole) == (2, 0, u)
    assert u.diff(X, X) == u.diff((X, 2)) == u.diff(X).diff(X) == sp.diff(u, X, 2) == bend


def test_expressions_differentiate_by_position_and_time_as_on_paper():
    assert (E * X * u**2).diff(X) == E * u**2 + 2 * E * X * u * u.diff(X)
    assert (u.diff(X) ** 2).diff(u.diff(X)) == 2 * u.diff(X)
    assert (u.diff(X) ** 2).diff(u) == 0
    assert u.diff(st.t) == u.dot and (u**2).diff(st.t) == 2 * u * u.dot
    assert st.rate(st.t * u**2) == u**2 + 2 * st.t * u * u.dot


def test_a_value_at_a_point_is_a_coordinate_and_its_rate_a_velocity():
    end, slope = u.at(L), u.diff(X).at(0)
    assert isinstance(end, st.Coordinate) and not isinstance(end, st.Velocity)
    assert isinstance(end.dot, st.Velocity) and not isinstance(end.dot, st.Coordinate)
    assert (str(end), str(end.dot), str(slope), str(slope.dot)) == (
        "u(L)",
        "u(L).dot",
        "u'(0)",
        "u'(0).dot",
    )
    assert end.dot.of == end and u.dot.at(L) == end.dot and u.ddot.at(L) == end.ddot
    assert st.rate(end**2) == 2 * end * end.dot


def test_an_ordinary_system_takes_a_value_at_a_point_as_its_coordinate():
    end = u.at(L)
    ball = st.System(kinetic=end.dot**2, potential=4 * end**2)
    assert ball.coordinates == (end,)
    assert st.modes(ball, count=1).frequencies[0] == pytest.approx(2.0)


def test_one_point_has_one_symbol_however_it_is_written():
    assert u.at(L) == u.at(2 * L - L) == u.at(L * 1)
    v = st.field("v", over=(X, 0, 2))
    assert v.at(2.0) == v.at(2) and v.at(0.0) == v.at(0)


def test_the_interval_is_part_of_a_fields_identity():
    other = st.field("u", over=(X, 0, 1))
    assert other != u and other.name == u.name and hash(other) != hash(u)
    assert st.field("u", over=(X, 0, L)) == u


@pytest.mark.parametrize("symbol", [u, u.diff(X).dot, u.at(L), u.at(L).dot, u.diff(X).at(0).ddot])
def test_symbols_survive_a_journey(symbol):
    back = pickle.loads(pickle.dumps(symbol))
    assert back == symbol and type(back) is type(symbol) and str(back) == str(symbol)


def test_they_are_written_as_mathematics():
    assert sp.latex(u.diff(X, 2)) == "u''"
    assert sp.latex(u.diff(X).dot ** 2) == r"\dot{u}'^{2}"
    assert sp.latex(u.diff(X).at(L)) == "u'(L)"
    assert sp.latex(u.diff(X, 2).at(L, "-")) == "u''(L^{-})"


def test_a_continuum_prints_as_it_was_stated():
    p, m = st.parameters(p=0.5, m=1.0)
    bar = st.Continuum(
        kinetic=u.dot**2 / 2,
        potential=E * u.diff(X) ** 2 / 2,
        loads=[st.Load(p * X, on=u), st.Load(p, on=u.at(L))],
        fixed={u.at(0): 0},
        parts=[st.System(kinetic=m * u.at(L).dot ** 2 / 2)],
        name="bar",
    )
    assert str(bar).splitlines() == [
        "bar of 1 field: u over X from 0 to L",
        "  T = ∫ u.dot**2/2 dX",
        "  U = ∫ E*u'**2/2 dX",
        "  δW = ∫ p*X δ(u) dX",
        "  δW = p δ(u(L))",
        "  u(0) = 0",
        "  and T = m*u(L).dot**2/2",
        "  with E = 3, p = 0.5, m = 1, L = 2",
    ]
