"""Pictures of fields show the numbers of the results."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import QuadMesh
from PIL import Image

import stationary as st

X = st.positions("X")
u = st.field("u", over=(X, 0, 2))
STRING = st.Continuum(
    kinetic=u.dot**2 / 2,
    potential=u.diff(X) ** 2 / 2,
    fixed={u.at(0): 0, u.at(2): 0},
    name="string",
)


@pytest.fixture(scope="module")
def string():
    return st.discretize(STRING, elements=6, degree=2)


@pytest.fixture(scope="module")
def motion(string):
    return st.simulate(string, span=(0, 4), start={u: st.sin(st.pi * X / 2)}, points=81)


def test_space_and_time_are_drawn_in_the_colours_of_the_field(motion):
    figure = motion.plot(u)
    axes = figure.axes[0]
    (mesh,) = (c for c in axes.collections if isinstance(c, QuadMesh))
    x = np.asarray(mesh.get_coordinates())[0, :, 0]
    assert np.isin(motion.field(u).nodes, x).all()
    np.testing.assert_allclose(np.asarray(mesh.get_array()).T, motion.field(u)(x))
    low, high = mesh.get_clim()
    assert low == -high and high == pytest.approx(1.0, abs=1e-3)
    assert axes.get_xlim() == (0, 2) and axes.get_ylim() == (0, 4)
    assert figure.get_suptitle() == "string"


def test_a_motion_of_a_field_is_drawn_over_position_and_at_places_and_not_at_nodes(motion):
    courses, places, *_ = motion.plot().axes
    for line in courses.lines:
        x, y = line.get_data()
        # The slowest shape of a string of length 2 and of waves of speed 1 has the period 4.
        t = float(line.get_label().removesuffix(" s"))
        expected = np.sin(np.pi * x / 2) * np.cos(np.pi * t / 2)
        np.testing.assert_allclose(y, expected, atol=1e-2)
    # Five shapes of a whole period, none twice: all are a fifth of what they cover apart.
    heights = np.sort([np.interp(1.0, *line.get_data()) for line in courses.lines])
    assert len(heights) == 5 and np.diff(heights).min() > 0.4
    covered = courses.collections[0].get_paths()[0].vertices
    assert covered[:, 1].max() == pytest.approx(1, abs=1e-3)
    # Ends that are held say nothing.
    assert [line.get_label() for line in places.lines] == [
        r"$u(\frac{1}{2})$", "$u(1)$", r"$u(\frac{3}{2})$"
    ]  # fmt: skip
    for line, x in zip(places.lines, (0.5, 1, 1.5)):
        expected = np.sin(np.pi * x / 2) * np.cos(np.pi * motion.t / 2)
        np.testing.assert_allclose(line.get_ydata(), expected, atol=2e-3)
    portrait = motion.show("phase").axes[1].lines[0]
    np.testing.assert_allclose(portrait.get_ydata(), -np.pi / 2 * np.sin(np.pi * motion.t / 2),
                               atol=5e-3)  # fmt: skip


def test_coordinates_beside_a_field_have_a_panel_of_their_own():
    y, end = st.coordinates("y"), u.at(2)
    hung = st.Continuum(
        kinetic=u.dot**2 / 2,
        potential=u.diff(X) ** 2 / 2,
        fixed={u.at(0): 0},
        parts=[st.System(kinetic=y.dot**2 / 2, potential=(y - end) ** 2 / 2)],
    )
    found = st.simulate(st.discretize(hung, elements=2), span=(0, 1), start={y: 1.0}, points=5)
    labelled = {a.get_ylabel(): a for a in found.plot().axes}
    np.testing.assert_array_equal(labelled["coordinates (SI)"].lines[0].get_ydata(), found[y])
    np.testing.assert_array_equal(labelled["velocities (SI)"].lines[0].get_ydata(), found[y.dot])


def test_a_state_of_rest_is_drawn_as_a_line_with_its_nodes():
    loaded = st.Continuum(potential=u.diff(X) ** 2 / 2, work=u, fixed={u.at(0): 0, u.at(2): 0})
    rest = st.statics(st.discretize(loaded, elements=4, degree=2))
    line, nodes = rest.field(u).plot().axes[0].lines
    x, y = line.get_data()
    np.testing.assert_allclose(y, x * (2 - x) / 2, atol=1e-12)
    np.testing.assert_allclose(nodes.get_xdata(), [0, 0.5, 1, 1.5, 2])
    with pytest.raises(st.StatementError, match="stands still"):
        rest.field(u).animate()


def test_the_shape_moves_in_a_film(motion, tmp_path):
    path = tmp_path / "string.gif"
    film = motion.animate(path, fps=5)
    with Image.open(path) as image:
        assert getattr(image, "n_frames") == 21
    line, title = film._func(10)
    x, y = line.get_data()
    np.testing.assert_allclose(y, motion.field(u)(x, 2.0), atol=1e-12)
    assert "t = 2.00 s" in title.get_text()


def test_modes_are_drawn_with_their_frequencies(string):
    found = st.modes(string, count=3)
    axes = found.plot().axes[0]
    lines = [line for line in axes.lines if not line.get_label().startswith("_")]
    assert [line.get_label() for line in lines] == [f"{w:.5g} rad/s" for w in found.frequencies]
    x, y = lines[1].get_data()
    np.testing.assert_allclose(np.abs(y), np.abs(np.sin(np.pi * x)), atol=1e-2)


def test_modes_of_an_ordinary_system_are_bars():
    a, b = st.coordinates("a b")
    pair = st.System(kinetic=a.dot**2 + b.dot**2, potential=(a - b) ** 2 + a**2 + b**2)
    figure = st.modes(pair, count=2).plot()
    heights = [[bar.get_height() for bar in axes.patches] for axes in figure.axes]
    np.testing.assert_allclose(heights, [[1, 1], [1, -1]], atol=1e-12)
