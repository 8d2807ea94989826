"""Bifurcation diagrams: what is solid, what is dashed, what is marked, and how it is named."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import stationary as st
from stationary.errors import StatementError
from tests.checks import assert_says

theta, x = st.coordinates("theta x")
Omega, g = st.parameters(Omega=1.0, g=9.81)
CRITICAL = np.sqrt(9.81)


@pytest.fixture(scope="module")
def bead():
    hoop = st.System(
        kinetic=(theta.dot**2 + Omega**2 * st.sin(theta) ** 2) / 2,
        potential=g * (1 - st.cos(theta)),
        name="bead on a hoop",
    )
    return st.continuation(hoop, parameter=Omega, span=(0, 8))


@pytest.fixture(scope="module")
def truss():
    P = st.parameters(P=0.0)
    wide = np.cos(np.pi / 6)
    system = st.System(potential=(wide / st.cos(theta) - 1) ** 2, work=-P * wide * st.tan(theta))
    return st.continuation(system, parameter=P, span=(-0.1, 0.1), start={theta: np.pi / 6})


def curves(axes):
    """The branches as drawn: pairs of data and whether solid; markers have none."""
    drawn = [
        line for line in axes.lines if line.get_linestyle() != "None" and len(line.get_xdata())
    ]
    return [(line.get_xydata(), line.get_linestyle() == "-") for line in drawn]


def markers(axes):
    return [
        (line.get_marker(), *line.get_xydata()[0])
        for line in axes.lines
        if line.get_linestyle() == "None" and len(line.get_xdata())
    ]


def words(figure):
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_stable_is_solid_and_unstable_dashed(bead):
    (axes,) = bead.plot().axes
    for data, solid in curves(axes):
        bottom = np.abs(data[:, 1]).max() < 1e-9
        if bottom and solid:
            assert data[:, 0].max() <= CRITICAL + 1e-9
        elif bottom:
            assert data[:, 0].min() >= CRITICAL - 1e-9
        else:
            assert solid
    # The change is drawn at the special point, not at the nearest step.
    ends = [data[-1, 0] for data, solid in curves(axes) if solid and np.all(data[:, 1] == 0)]
    assert ends == pytest.approx([CRITICAL], abs=1e-9)


def test_every_branch_is_drawn_whole(bead):
    (axes,) = bead.plot().axes
    drawn = np.vstack([data for data, _ in curves(axes)])
    for branch in bead.branches:
        for point in np.column_stack([branch.parameter, branch[theta]])[::7]:
            assert np.abs(drawn - point).max(axis=1).min() < 1e-12


def test_special_points_are_marked_and_named(bead):
    figure = bead.plot()
    (axes,) = figure.axes
    assert markers(axes) == [("o", pytest.approx(CRITICAL), pytest.approx(0.0, abs=1e-9))]
    assert words(figure) == ["stable", "unstable", "pitchfork"]
    assert "3.132" in [text.get_text() for text in axes.texts]


def test_folds_are_squares_and_the_branch_between_them_is_dashed(truss):
    figure = truss.plot()
    (axes,) = figure.axes
    assert sorted(kind for kind, *_ in markers(axes)) == ["s", "s"]
    assert words(figure) == ["stable", "unstable", "fold"]
    styles = [solid for _, solid in curves(axes)]
    assert styles == [True, False, True]
    inner = next(data for data, solid in curves(axes) if not solid)
    assert np.abs(inner[[0, -1], 0]) == pytest.approx(np.full(2, 0.055300901358315112697), rel=1e-9)


def test_a_hopf_point_has_a_marker_of_its_own():
    a, b = st.coordinates("a b")
    P = st.parameters(P=0.0)
    column = st.System(
        kinetic=(3 * a.dot**2 + b.dot**2 + 2 * a.dot * b.dot * st.cos(a - b)) / 2,
        potential=(a**2 + (b - a) ** 2) / 2,
        loads=[st.Load((-P * st.cos(b), -P * st.sin(b)),
                       on=(st.cos(a) + st.cos(b), st.sin(a) + st.sin(b)))],
    )  # fmt: skip
    figure = st.continuation(column, parameter=P, span=(0, 4)).plot()
    assert len(figure.axes) == 2
    assert [kind for kind, *_ in markers(figure.axes[0])] == ["^"]


def test_names_are_written_as_mathematics(bead):
    figure = bead.plot()
    assert figure.axes[0].get_xlabel() == r"$\Omega$"
    assert figure.axes[0].get_ylabel() == r"$\theta$"
    assert figure.get_suptitle() == "bead on a hoop"


def test_units_of_a_file_stand_on_axes():
    model = st.load("""
[coordinates]
x = "m"
[parameters]
k = "1 N/m"
[energies]
potential = "k*x^2/2"
""")
    axes = model.ask("continue", parameter="k", span=(1, 2)).plot().axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("$k$ (N/m)", "$x$ (m)")


def test_expressions_of_coordinates_and_the_parameter_have_panels_of_their_own(bead):
    height = 1 - st.cos(theta)
    figure = bead.plot("theta", height, Omega**2 * st.sin(theta))
    assert len(figure.axes) == 3
    assert figure.axes[1].get_ylabel() == r"$1 - \cos{\left(\theta \right)}$"
    side = [data for data, solid in curves(figure.axes[1]) if solid and data[-1, 1] > 0.1]
    for data in side:
        # cos θ = g/Ω² on the side branches.
        assert data[1:, 1] == pytest.approx(1 - 9.81 / data[1:, 0] ** 2, abs=1e-12)


def test_many_coordinates_are_represented_by_a_few():
    P = st.parameters(P=0.0)
    a = [st.coordinates(f"a{i}") for i in range(8)]
    chain = st.System(potential=sum((c**2) for c in a) / 2 - P * a[0])
    figure = st.continuation(chain, parameter=P, span=(0, 1)).plot()
    assert len(figure.axes) == 3
    assert figure.get_suptitle() == "3 of 8 coordinates shown"


def test_an_array_has_a_panel_for_each_entry():
    P, r = st.parameters(P=0.0), st.coordinates("r", shape=(2, 2))
    springs = st.System(potential=st.each(lambda p: (p[0] ** 2 + p[1] ** 2) / 2, r) - P * r[1, 1])
    figure = st.continuation(springs, parameter=P, span=(0, 1)).plot(r)
    assert len({axes.get_ylabel() for axes in figure.axes}) == len(figure.axes) == 4


def test_a_figure_can_be_saved(bead, tmp_path):
    path = tmp_path / "hoop.png"
    bead.plot().savefig(path)
    assert path.stat().st_size > 5000


def test_other_parameters_have_the_values_of_the_diagram(bead):
    figure = bead.plot(g * st.cos(theta) - Omega**2 * st.cos(theta) ** 2)
    side = [data for data, solid in curves(figure.axes[0]) if solid and data[0, 0] > 3]
    assert side and all(data[1:, 1] == pytest.approx(0.0, abs=1e-9) for data in side)


def test_a_value_that_is_not_known_along_the_branches_is_refused(bead):
    height = st.parameters(height=1.0)
    with pytest.raises(StatementError) as caught:
        bead.plot(height * theta)
    what, known, remedy = str(caught.value).split("\n  ")
    assert what == "'height' has no value along the branches."
    assert known == "Known: theta, Omega, g."
    assert remedy == "Replace it by its value, with e.subs."


def test_a_velocity_is_refused(bead):
    assert_says(
        StatementError,
        "a diagram of equilibria has no velocity 'theta.dot'.\n"
        "  Expected coordinates, or expressions of them.\n"
        "  Draw a coordinate, or the velocity of a motion.",
        lambda: bead.plot(theta.dot),
    )


def test_a_name_that_is_no_coordinate_is_refused(bead):
    with pytest.raises(StatementError, match="'thetta'"):
        bead.plot("thetta")


def test_numbers_beside_folds_stand_inside_the_axes():
    x, tau = st.coordinates("x"), st.parameters(tau=0.0)
    pulled = st.System(potential=-0.2 * st.cos(x) / 1.02 - tau * x)
    figure = st.continuation(pulled, parameter=tau, span=(-1, 1), start={x: 0.0}).plot()
    figure.canvas.draw()
    (axes,) = figure.axes
    inside, numbers = axes.get_window_extent(), [t for t in axes.texts if t.get_text()]
    assert {t.get_text() for t in numbers} == {"0.1961", "−0.1961"}
    for text in numbers:
        box = text.get_window_extent()
        assert inside.x0 <= box.x0 and box.x1 <= inside.x1


def test_eigenvalues_that_rounding_moves_stand_on_their_axes():
    """A spring pendulum without damping swings: its exact eigenvalues are imaginary."""
    x, theta = st.coordinates("x theta")
    cart = 1e-9 * ((x.dot + theta.dot * st.cos(theta)) ** 2 + (theta.dot * st.sin(theta)) ** 2)
    swing = st.System(kinetic=1e-9 * x.dot**2 + cart, potential=1e-9 * (3 * x**2 - st.cos(theta)))
    axes = st.linearize(swing, at={x: 0.0, theta: 0.0}).plot().axes[0]
    (points,) = (line for line in axes.lines if line.get_label() == "does not grow")
    assert list(points.get_xdata()) == [0.0] * 4
    assert axes.get_xlim()[1] > 0.1 and min(abs(points.get_ydata())) > 0.1
