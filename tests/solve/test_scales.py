"""Sizes come from the statement: in every unit, and wherever the origin lies."""

import numpy as np
import pytest

import stationary as st
from stationary.lower.kernel import graph_of, kernel_of
from stationary.solve.motion.ode import Ode
from stationary.solve.motion.stabilize import natural_rate
from stationary.solve.scales import scales_of


def scales(system, q, **more):
    graph = graph_of(system)
    return scales_of(graph, graph.layout.values(None), 0.0, np.array(q, dtype=float), **more)


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1.0, 1e9])
@pytest.mark.parametrize("shift", [0.0, 1e6])
@pytest.mark.parametrize("angle", [0.0, 0.3, 1.5, 4.0])
def test_a_rod_is_as_long_as_it_is(unit, shift, angle):
    x, y = st.coordinates("x y")
    at = (shift * unit, -shift * unit)
    rod = st.particle(2.0, at=(x, y), gravity=9.81) + st.rod(at, (x, y), unit)
    found = scales(rod, [at[0] + unit * np.cos(angle), at[1] + unit * np.sin(angle)])
    # The radius of a circle, up to how it stands to the axes.
    assert np.all((0.5 < found.length / unit) & (found.length / unit < 2.0))


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_crank_has_its_radius_and_a_radian(unit):
    x, a = st.coordinates("x a")
    crank = st.System(kinetic=x.dot**2 / unit**2 + a.dot**2, constraints=[x - unit * st.sin(a)])
    length = scales(crank, [unit * np.sin(0.7), 0.7]).length
    # The sine bends by its own slope within cot a of a radian, and takes x along by its slope.
    bent = 1 / np.tan(0.7)
    np.testing.assert_allclose(length, [unit * bent * np.cos(0.7), bent], rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_what_is_straight_has_the_way_it_goes(unit):
    x = st.coordinates("x")
    free = st.System(kinetic=x.dot**2 / 2)
    assert scales(free, [1e6 * unit]).length[0] == 0
    driven = st.System(kinetic=x.dot**2 / 2, constraints=[x - 3 * unit * st.t])
    assert scales(driven, [0.0], span=2.0).length[0] == pytest.approx(6 * unit, rel=1e-6)
    gap = st.System(kinetic=x.dot**2 / 2, contacts=[st.Contact(x - 1e6 * unit)])
    assert scales(gap, [1e6 * unit + 0.5 * unit]).length[0] == pytest.approx(0.5 * unit)
    spring = st.System(potential=(x - 1e6 * unit) ** 2 / 2)
    assert scales(spring, [1e6 * unit + unit]).length[0] == pytest.approx(unit)


@pytest.mark.parametrize("unit", [1e-9, 1e11])
def test_the_rate_of_a_motion_is_the_same_in_every_unit(unit):
    # A spring pulls at a disc that turns: what it does to its place and to its angle count alike.
    def rate(unit):
        x, phi = st.coordinates("x phi")
        disc = st.System(
            kinetic=x.dot**2 / 2 + unit**2 * phi.dot**2 / 4, potential=30 * (x - unit * phi) ** 2
        )
        ode = Ode(kernel_of(disc, (), ()), np.zeros(0), 1e-10, 1e-10)
        return natural_rate(ode, 0.0, np.array([0.1 * unit, 0.3, 0.0, 0.2]), 100.0)

    assert rate(unit) == pytest.approx(rate(1.0), rel=1e-6)
