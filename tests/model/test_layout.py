"""Where every name stands in q, p and u, and what a user's key means."""

import numpy as np
import pytest
import sympy as sp

import stationary as st
from stationary.model.layout import Layout


@pytest.fixture
def net():
    x, y = st.coordinates("x y")
    r = st.coordinates("r", shape=(3, 2))
    k, c = st.parameters(k=4.0), st.parameters("c")
    return st.System(
        kinetic=x.dot**2 + y.dot**2 + st.each(lambda v: v[0] ** 2 + v[1] ** 2, r.dot),
        potential=k * x**2 + c * y**2,
        coordinates=(x, r, y),
    )


def test_entries_stand_one_after_the_other_rows_of_arrays_first(net):
    layout = Layout(net)
    names = ["x", "r[0,0]", "r[0,1]", "r[1,0]", "r[1,1]", "r[2,0]", "r[2,1]", "y"]
    assert [layout.name(i) for i in range(8)] == names
    assert [s.name for s in net.scalars()] == names


def test_the_place_of_a_name_has_that_name(net):
    layout = Layout(net)
    for symbol in net.scalars():
        assert layout.name(int(layout.place(symbol))) == symbol.name


def test_there_is_no_name_beyond_the_last(net):
    with pytest.raises(IndexError):
        Layout(net).name(8)


def test_a_view_stands_at_the_entries_that_it_shows(net):
    r = st.coordinates("r", shape=(3, 2))
    layout = Layout(net)
    np.testing.assert_array_equal(layout.place(r), [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(layout.place(r[::-1, 1]), [6, 4, 2])


@pytest.mark.parametrize(
    ("key", "places", "order"),
    [
        ("x", 0, 0),
        ("x.dot", 0, 1),
        ("x.ddot", 0, 2),
        (st.coordinates("y"), 7, 0),
        (st.coordinates("y").dot, 7, 1),
        (st.coordinates("y").ddot, 7, 2),
        (sp.Symbol("y"), 7, 0),
        ("r[1,0]", 3, 0),
        ("r[1,0].dot", 3, 1),
        ("r.dot", [[1, 2], [3, 4], [5, 6]], 1),
        (st.coordinates("r", shape=(3, 2)).dot, [[1, 2], [3, 4], [5, 6]], 1),
        (st.coordinates("r", shape=(3, 2))[-1], [5, 6], 0),
        (st.coordinates("r", shape=(3, 2))[-1, 0].dot, 5, 1),
    ],
    ids=str,
)
def test_keys_are_symbols_views_or_names(net, key, places, order):
    found, derivative = Layout(net).resolve(key, "the key")
    np.testing.assert_array_equal(found, places)
    assert derivative == order


@pytest.mark.parametrize("key", ["r[3,0]", "r[0]", "r[0,0,0]", "z", "x.dott", "r[a]"])
def test_other_names_are_refused(net, key):
    with pytest.raises(st.StatementError, match="is not a coordinate or a velocity"):
        Layout(net).resolve(key, "the key")


def test_values_are_the_given_ones_then_the_defaults(net):
    c = st.parameters("c")
    np.testing.assert_array_equal(Layout(net).values({"c": 3}), [4.0, 3.0])
    np.testing.assert_array_equal(Layout(net).values({c: 3, "k": 1}), [1.0, 3.0])
    # A parameter is known by its name, whatever its default was.
    np.testing.assert_array_equal(Layout(net).values({c: 3, st.parameters("k"): 1}), [1.0, 3.0])


def test_a_start_fills_in_what_is_given_and_leaves_the_rest_zero(net):
    r = st.coordinates("r", shape=(3, 2))
    start = {"x": 1, r: np.arange(6).reshape(3, 2), r.dot[:, 1]: 7.0, "r[2,0].dot": -1, "y.dot": 2}
    q, v = Layout(net).state(start)
    np.testing.assert_array_equal(q, [1, 0, 1, 2, 3, 4, 5, 0])
    np.testing.assert_array_equal(v, [0, 0, 7, 0, 7, -1, 7, 2])


def test_one_number_fills_a_whole_array(net):
    r = st.coordinates("r", shape=(3, 2))
    q, _ = Layout(net).state({r: 2.5})
    np.testing.assert_array_equal(q, [0, 2.5, 2.5, 2.5, 2.5, 2.5, 2.5, 0])


def test_an_array_of_another_shape_is_refused(net):
    r = st.coordinates("r", shape=(3, 2))
    with pytest.raises(st.StatementError, match="expected shape"):
        Layout(net).state({r: np.zeros((2, 3))})


def test_an_array_of_another_shape_under_the_same_name_is_refused(net):
    with pytest.raises(st.StatementError):
        Layout(net).state({st.coordinates("r", shape=(4, 2)): 0.0})


def test_a_motion_gives_arrays_back_in_their_shape(net):
    r = st.coordinates("r", shape=(3, 2))
    rows = np.arange(6.0).reshape(3, 2)
    motion = st.simulate(net, span=(0, 1), start={r: rows}, params={"c": 1.0}, points=3)
    assert motion[r].shape == (3, 3, 2)
    np.testing.assert_array_equal(motion[r][0], rows)
    np.testing.assert_array_equal(motion[r[1:, 0]][0], [2.0, 4.0])
    np.testing.assert_array_equal(motion["r[2,1]"][0], 5.0)
    assert motion.at(0.5)[r].shape == (3, 2)
