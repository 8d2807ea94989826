"""Rest does not depend on the units in which it is stated."""

import numpy as np
import pytest

import stationary as st

x, y = st.coordinates("x y")
UNITS = [1e-9, 1e-3, 1.0, 1e6, 1e10]


def wells(length, energy=1e-3):
    """Two wells at x = ±length, a hill between them."""
    a = st.parameters(a=length)
    return st.System(potential=energy * (x**2 / a**2 - 1) ** 2 + energy * y**2 / a**2)


@pytest.mark.parametrize("length", UNITS)
@pytest.mark.parametrize("energy", [1e-18, 1.0, 1e9])
def test_a_well_is_found_in_any_unit_of_length_and_energy(length, energy):
    rest = st.statics(wells(length, energy), start={x: 0.3 * length, y: 0.1 * length})
    assert (rest[x], rest[y]) == pytest.approx((length, 0.0), rel=1e-12, abs=1e-12 * length)
    assert rest.stable and rest.inertia == (2, 0, 0)


@pytest.mark.parametrize("length", UNITS)
def test_all_wells_are_found_in_any_unit_of_length(length):
    box = (-2 * length, 2 * length)
    found = st.equilibria(wells(length), within={x: box, y: box})
    assert [rest[x] / length for rest in found] == pytest.approx([-1, 0, 1], abs=1e-9)
    assert [rest.stable for rest in found] == [True, False, True]


@pytest.mark.parametrize("length", UNITS)
@pytest.mark.parametrize("power", [1, 2])
def test_a_rod_is_held_in_any_unit_of_length(length, power):
    # The same circle as a length and as a ratio of squares.
    rod = {1: st.sqrt(x**2 + y**2) - length, 2: (x**2 + y**2) / length**2 - 1}[power]
    system = st.System(potential=3 * y, constraints=[st.Constraint(rod, name="rod")])
    rest = st.statics(system, start={x: 0.7 * length, y: 0.7 * length})
    assert (rest[x], rest[y]) == pytest.approx((0, -length), rel=1e-12, abs=1e-9 * length)
    slope = {1: 1.0, 2: 2 / length}[power]
    assert rest.lam["rod"] == pytest.approx(-3 / slope, rel=1e-9)
    assert rest.stable


@pytest.mark.parametrize("length", UNITS)
def test_a_contact_closes_in_any_unit_of_length(length):
    floor = st.Contact(y + length, name="floor")
    system = st.System(potential=2 * y + 5 / length * x**2, contacts=[floor])
    rest = st.statics(system, start={x: length, y: length})
    assert rest[y] == pytest.approx(-length, rel=1e-12)
    assert rest.lam["floor"] == pytest.approx(2.0, rel=1e-12)


def test_a_small_coordinate_beside_a_large_one_is_as_exact():
    # Nanometres beside radians: the lever holds a spring that gives way by 1e-9.
    theta = st.coordinates("theta")
    system = st.System(potential=1e9 * (x - 1e-9 * st.cos(theta)) ** 2 - st.cos(theta - 1))
    rest = st.statics(system, start={x: 3e-9, theta: 0.5})
    assert rest[x] == pytest.approx(1e-9 * np.cos(rest[theta]), rel=1e-9)
    assert rest[theta] == pytest.approx(1.0, rel=1e-9)
