"""Which forces have a potential, which one, and around which loop the others do work."""

import numpy as np
import pytest
import sympy as sp

import stationary as st
from stationary.errors import StatementError
from tests.checks import assert_says

x, y, z, theta = st.coordinates("x y z theta")
m, g, k, l = st.parameters("m g k l")  # noqa: E741 (l, as on the slides)
F = st.inputs("F")
r = st.sqrt(x**2 + y**2 + z**2)


@pytest.mark.parametrize(
    ("force", "on", "potential"),
    [
        # The slides: gravity and a spring.
        ((0, -m * g), (x, y), m * g * y),
        (-k * (x - l), x, k * (x - l) ** 2 / 2),
        ((-2 * x * y, -(x**2)), (x, y), x**2 * y),
        ((y * z, x * z, x * y), (x, y, z), -x * y * z),
        (tuple(-k * s / r**3 for s in (x, y, z)), (x, y, z), -k / r),
        ((st.sin(x) * st.exp(y), -st.cos(x) * st.exp(y)), (x, y), st.cos(x) * st.exp(y)),
        (
            tuple(-k * (st.sqrt(x**2 + y**2) - l) * s / st.sqrt(x**2 + y**2) for s in (x, y)),
            (x, y),
            k * (st.sqrt(x**2 + y**2) - l) ** 2 / 2,
        ),
    ],
)
def test_a_conservative_force_has_the_potential_that_is_known(force, on, potential):
    found = st.potential_of(force, on=on)
    assert found and found.conservative and found.curl == {} and found.loop == ()
    # Potentials are known up to a constant.
    gap = sp.simplify(found.potential - potential)
    assert not gap.free_symbols & {x, y, z}


def test_a_constant_load_on_a_point_of_a_mechanism_has_a_potential():
    found = st.potential_of(st.Load(F, on=x + l * st.sin(theta)))
    assert sp.simplify(found.potential + F * (x + l * st.sin(theta))) == 0


def work_around(loop, force, on):
    """The work along the edges of a polygon, by quadrature."""
    f = sp.lambdify(on, force, "numpy")
    nodes, weights = np.polynomial.legendre.leggauss(30)
    corners = [np.array([float(point[c]) for c in on]) for point in loop]
    total = 0.0
    for a, b in zip(corners, [*corners[1:], corners[0]]):
        for node, weight in zip(nodes, weights):
            place = a + (b - a) * (node + 1) / 2
            total += weight / 2 * np.dot(np.array(f(*place), dtype=float), b - a)
    return total


@pytest.mark.parametrize(
    ("force", "on"),
    [
        ((-y, x), (x, y)),
        ((y * z, x * z, -x * y), (x, y, z)),
        (((x**2 - 1) * y**3, 0), (x, y)),
        ((st.sin(y), 0), (x, y)),
        # The curl is not zero, but vanishes on the square at the origin in the mean.
        (((y - sp.Rational(1, 2)) ** 2, 0), (x, y)),
    ],
)
def test_a_force_without_a_potential_does_work_around_a_loop(force, on):
    found = st.potential_of(force, on=on)
    assert not found and found.potential is None
    for (a, b), e in found.curl.items():
        components = dict(zip(on, force))
        assert sp.simplify(sp.diff(components[a], b) - sp.diff(components[b], a) - e) == 0
    assert float(found.work) == pytest.approx(work_around(found.loop, force, on), rel=1e-12)
    assert abs(float(found.work)) > 1e-6


def test_a_follower_force_has_no_potential():
    a, b = st.coordinates("a b")
    tip = (st.cos(a) + st.cos(b), st.sin(a) + st.sin(b))
    found = st.potential_of(st.Load((-st.cos(b), -st.sin(b)), on=tip))
    assert not found
    # Q = (sin(a − b), 0): its curl is −cos(a − b).
    assert sp.simplify(found.curl[a, b] + st.cos(a - b)) == 0


def test_a_force_that_depends_on_velocity_is_not_conservative():
    assert not st.potential_of((x.dot, 0), on=(x, y))


def test_the_work_of_a_counterexample_is_finite():
    found = st.potential_of((y / x, 0), on=(x, y))
    assert not found and found.work.is_finite


def test_what_was_found_reads_as_a_sentence():
    assert str(st.potential_of((-2 * x * y, -(x**2)), on=(x, y))) == "conservative; U = x**2*y"
    assert str(st.potential_of((-y, x), on=(x, y))) == (
        "not conservative: ∂F_x/∂y − ∂F_y/∂x = -2; work 2 around a square in the plane of x and y"
    )


def test_a_force_needs_something_to_work_on():
    assert_says(
        StatementError,
        "potential_of needs to know what the force works on.\n"
        "  Found components without coordinates.\n"
        "  Pass on=(x, y), or a Load.",
        lambda: st.potential_of((x, y)),
    )


def test_a_force_has_one_component_for_each_coordinate():
    assert_says(
        StatementError,
        "a force and what it works on must have the same number of entries.\n"
        "  Found 2 and 1.\n"
        "  Give one component for each coordinate.",
        lambda: st.potential_of((x, y), on=(x,)),
    )


# -- holes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("centre", [(0, 0), (1, -2)])
def test_a_vortex_has_no_curl_and_does_work_around_its_centre(centre):
    X, Y = x - centre[0], y - centre[1]
    found = st.potential_of((-Y / (X**2 + Y**2), X / (X**2 + Y**2)), on=(x, y))
    assert not found and found.curl == {} and found.potential is None
    assert found.work == 2 * sp.pi
    assert found.hole == {x: centre[0], y: centre[1]}
    corners = np.array([[float(p[x] - centre[0]), float(p[y] - centre[1])] for p in found.loop])
    angles = np.unwrap(np.arctan2(corners[:, 1], corners[:, 0]))
    # The loop goes round the centre, three quarters of it to the last corner.
    assert angles[-1] - angles[0] == pytest.approx(1.5 * np.pi)
    assert "the work around the hole" in str(found) and "2*pi" in str(found)


def test_vortices_that_turn_against_each_other_are_told_apart():
    near, far = (1 / ((x - place) ** 2 + y**2) for place in (0, 0.1))
    found = st.potential_of((y * (near - far), (x - 0.1) * far - x * near), on=(x, y))
    assert not found and abs(float(found.work)) == pytest.approx(2 * np.pi)


def test_decimals_are_the_fractions_that_they_write():
    found = st.potential_of((-0.1 * y - 0.2 * y, -0.3 * x), on=(x, y))
    assert found and found.potential == 0.3 * x * y


def test_the_circulation_of_a_vortex_is_its_strength():
    Gamma, a = st.parameters(Gamma=1.0, a=2.0)
    X = x - a
    scale = Gamma / (2 * sp.pi * (X**2 + y**2))
    assert st.potential_of((-y * scale, X * scale), on=(x, y)).work == Gamma


def test_a_vortex_line_in_space_is_found_in_its_plane():
    z = st.coordinates("z")
    r2 = y**2 + z**2
    found = st.potential_of((2 * x, -z / r2, y / r2), on=(x, y, z))
    assert not found and found.work == 2 * sp.pi


@pytest.mark.parametrize(
    ("force", "potential"),
    [
        ((-x / (x**2 + y**2), -y / (x**2 + y**2)), sp.log(x**2 + y**2) / 2),
        (
            (-x / (x**2 + y**2) ** sp.Rational(3, 2), -y / (x**2 + y**2) ** sp.Rational(3, 2)),
            -1 / sp.sqrt(x**2 + y**2),
        ),
        ((1 / x, 1 / y), -sp.log(x) - sp.log(y)),
    ],
    ids=["line charge", "gravity", "two walls"],
)
def test_a_hole_around_which_no_work_is_done_does_no_harm(force, potential):
    found = st.potential_of(force, on=(x, y))
    assert found and sp.simplify(found.potential - potential) == 0
