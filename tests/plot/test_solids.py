"""Pictures of bodies in space."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import stationary as st
from stationary.plot.scene import scene

R = st.rotation("R")
SHAPES = [st.Box((1, 2, 3)), st.Sphere(0.5), st.Cylinder(0.5, 2, "x"), st.Rod(2, "y"),
          st.Cylinder(1, 0)]  # fmt: skip


@pytest.fixture(scope="module")
def motion():
    x, y, z = st.coordinates("x y z")
    frame = st.Frame().move((x, y, z)).turn(R)
    parts = [st.body(1, shape=s, frame=frame.move((0, 3 * k, 0))) for k, s in enumerate(SHAPES)]
    parts.append(st.body(1, inertia=(1, 1, 1), frame=frame))
    start = {R.omega: (0.3, 0.2, 1.0), x.dot: 1.0}
    return st.simulate(sum(parts[1:], parts[0]), span=(0, 1), start=start, points=5)


def test_surfaces_are_closed_and_look_outward(motion):
    for solid in scene(motion).solids:
        volume = 0.0
        for face in solid.faces:
            corners = solid.vertices[list(face)]
            for b, c in zip(corners[1:-1], corners[2:]):
                volume += np.linalg.det(np.array([corners[0], b, c])) / 6
            middle = corners.mean(axis=0)
            around = np.cross(corners[2] - corners[0], corners[-1] - corners[1])
            assert around @ middle > 0
        box = np.ptp(solid.vertices, axis=0).prod()
        assert 0.4 * box < volume <= box * (1 + 1e-12)
        edges = [(f[k - 1], f[k]) for f in solid.faces for k in range(len(f))]
        # The poles of a sphere are many corners in one place.
        if len(solid.vertices) != 220:
            assert sorted(edges) == sorted((b, a) for a, b in edges)


def test_solids_move_with_their_bodies(motion):
    drawn = scene(motion)
    place = np.column_stack([motion["x"], motion["y"], motion["z"]])
    for k, solid in enumerate(drawn.solids[: len(SHAPES)]):
        expected = place + motion[R].apply([0, 3 * k, 0])
        assert solid.centre == pytest.approx(expected, abs=1e-12)
        corner = expected + motion[R].apply(solid.vertices[0])
        assert solid.placed()[:, 0] == pytest.approx(corner, abs=1e-12)
    assert drawn.dimension == 3
    everything = np.concatenate([s.placed().reshape(-1, 3) for s in drawn.solids])
    assert np.all(everything > drawn.low) and np.all(everything < drawn.high)


def test_a_film_in_space_is_turned_in_a_page_that_needs_no_other(motion, tmp_path):
    motion.animate(tmp_path / "film.html", fps=2)
    page = (tmp_path / "film.html").read_text()
    assert "<canvas" in page and "onpointermove" in page
    assert "http" not in page
    motion.animate(tmp_path / "film.gif", fps=2)
    assert (tmp_path / "film.gif").read_bytes()[:3] == b"GIF"
    figure = motion.show("strobe")
    assert any(type(c).__name__ == "Poly3DCollection" for c in figure.axes[0].collections)
    plt.close("all")
