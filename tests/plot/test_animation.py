"""Moving pictures: their frames, their files, what parts look like, and what is refused."""

import re
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image, ImageSequence

import stationary as st
from stationary.errors import StatementError
from stationary.model.system import Part
from stationary.plot.animation import animate
from stationary.plot.force_arrows import pushed
from stationary.plot.scene import scene
from stationary.plot.strobe import strobe


def run(system, end=2.0, **start):
    return st.simulate(system, span=(0, end), start=start, points=21, method=st.Runge())


def pendulum():
    theta = st.coordinates("theta")
    bob = st.particle(1.0, at=(st.sin(theta), -st.cos(theta)), gravity=9.81)
    return bob + st.System(name="bob")


def oscillator():
    x = st.coordinates("x")
    wall = st.spring(10.0, between=(-1, x), rest=1) + st.damper(0.1, between=(-1, x))
    return st.particle(1.0, at=x) + wall


def frames(path) -> list[bytes]:
    with Image.open(path) as film:
        return [frame.convert("RGB").tobytes() for frame in ImageSequence.Iterator(film)]


def test_a_gif_has_a_frame_for_every_instant_and_they_differ(tmp_path):
    path = tmp_path / "pendulum.gif"
    animate(run(pendulum(), theta=1.0), path, fps=10)
    found = frames(path)
    assert len(found) == 2 * 10 + 1
    assert len(set(found)) > 15
    with Image.open(path) as film:
        assert film.info["duration"] == 100
        assert film.info["loop"] == 0
        assert film.convert("RGB").getpixel((2, 2)) == (255, 255, 255)


def test_a_page_plays_by_itself(tmp_path):
    path = tmp_path / "pendulum.html"
    animate(run(pendulum(), theta=1.0), path, fps=5)
    page = path.read_text(encoding="utf-8")
    assert page.count('"data:image/png;base64,') == 11
    assert "<title>bob</title>" in page
    # Nothing is fetched: not a script, not a style, not a font.
    assert not re.search(r"https?:|<link|src=|@import", page)


def test_the_animation_is_returned_and_shows_itself_in_a_notebook():
    film = animate(run(pendulum(), theta=1.0), fps=5)
    assert type(film).__name__ == "FuncAnimation"
    assert film._repr_html_().startswith("<!doctype html>")


def test_short_and_long_motions_say_how_fast_the_film_runs():
    slow = animate(run(pendulum(), 0.02, theta=1.0), fps=5)
    assert "×0.01" in slow._fig.get_suptitle()
    fast = animate(run(pendulum(), 200, theta=1.0), fps=5)
    assert "×10" in fast._fig.get_suptitle()
    real = animate(run(pendulum(), 5, theta=1.0), fps=5)
    assert real._fig.get_suptitle() == "bob\nt = 0.00 s"


def test_a_particle_is_where_its_position_says():
    motion = run(pendulum(), theta=1.0)
    (dot,) = scene(motion).strokes
    expected = np.stack([np.sin(motion["theta"]), -np.cos(motion["theta"])], axis=1)
    np.testing.assert_allclose(dot.path[:, 0], expected)


def test_a_position_with_one_entry_lies_on_a_level_line():
    drawn = scene(run(oscillator(), x=0.5))
    assert drawn.flat
    assert np.all(drawn.strokes[-1].path[..., 1] == 0)


def test_links_end_where_their_points_are():
    motion = run(oscillator(), x=0.5)
    spring, damper, support, dot = scene(motion).strokes
    for link in (spring, damper):
        first, last = link.path[:, 0], link.path[:, -2]  # a break ends every link
        np.testing.assert_allclose(first, [[-1, 0]] * len(motion.t))
        np.testing.assert_allclose(last, dot.path[:, 0])
    np.testing.assert_array_equal(support.path[:, 0], [[-1, 0]] * len(motion.t))


def test_links_between_the_same_points_stand_side_by_side():
    spring, damper, *_ = scene(run(oscillator(), x=0.5)).strokes
    assert np.nanmax(spring.path[..., 1]) < np.nanmin(damper.path[:, 1:-2, 1])


def test_a_spring_between_angles_is_nowhere():
    theta = st.coordinates("theta")
    coil = st.spring(1.0, between=(0, theta))
    assert len(scene(run(pendulum() + coil, theta=1.0)).strokes) == 1


def test_a_body_turns_with_its_angle():
    x, y, phi = st.coordinates("x y phi")
    box = st.body(1.0, inertia=0.1, at=(x, y), angle=phi)
    motion = run(box, **{"x.dot": 1.0, "phi.dot": 1.0})
    (drawn,) = scene(motion).strokes
    edge = drawn.path[:, 1] - drawn.path[:, 0]
    turned = np.unwrap(np.arctan2(edge[:, 1], edge[:, 0]))
    np.testing.assert_allclose(turned, motion["phi"], atol=1e-12)
    assert drawn.filled
    animate(motion, fps=2)


def test_points_in_space_have_axes_in_space():
    r = st.coordinates("x y z")
    ball = st.particle(1.0, at=r, gravity=9.81) + st.spring(1.0, between=((0, 0, 0), r))
    motion = run(ball, **{"x": 1.0, "y.dot": 1.0})
    (axes,) = animate(motion, fps=2)._fig.axes
    assert axes.name == "3d"
    assert axes.get_zlabel() == "$z$ (m)"


def test_the_rows_of_an_array_are_points():
    r = st.coordinates("r", shape=(30, 2))
    system = st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        parts=(Part("spring", (r[:-1], r[1:])), Part("particle", (r,))),  # pyright: ignore[reportArgumentType]  # rows of an array are points
    )
    motion = st.simulate(
        system, span=(0, 2), start={r: np.random.default_rng(1).normal(size=(30, 2))},
        points=5, method=st.Runge(),
    )  # fmt: skip
    links, dots = scene(motion).strokes
    assert links.path.shape == (5, 29 * 3, 2)
    np.testing.assert_array_equal(dots.path, motion[r])


def test_a_stroboscope_draws_every_flash():
    figure = strobe(run(pendulum(), theta=1.0), 5)
    (axes,) = figure.axes
    assert len(axes.lines) == 1 + 5


@pytest.mark.parametrize("height", [0.42, 2.0, 5.0])
def test_numbers_at_the_axes_of_narrow_pictures_do_not_overlap(height):
    y = st.coordinates("y")
    ball = st.particle(1.0, at=(0, y), gravity=2 * height)
    figure = strobe(st.simulate(ball, span=(0, 1), start={y: height}, points=21))
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    for axis in (figure.axes[0].xaxis, figure.axes[0].yaxis):
        low, high = sorted(axis.get_view_interval())
        boxes = [
            tick.label1.get_window_extent(renderer)
            for tick in axis.get_major_ticks()
            if low <= tick.get_loc() <= high
        ]
        assert boxes and not any(a.overlaps(b) for a, b in zip(boxes, boxes[1:]))
    plt.close(figure)


def test_a_system_without_positions_is_refused():
    x = st.coordinates("x")
    motion = run(st.System(kinetic=x.dot**2 / 2, name="abstract"))
    with pytest.raises(StatementError) as refusal:
        animate(motion)
    what, found, remedy = str(refusal.value).split("\n  ")
    assert what == "there is nothing to draw of abstract."
    assert found.startswith("Found no part with a position")
    assert "st.particle" in remedy


def test_an_unknown_ending_is_refused_before_anything_is_drawn():
    before = plt.get_fignums()
    with pytest.raises(StatementError) as refusal:
        animate(run(pendulum(), theta=1.0), "films/bob.mp4")
    assert str(refusal.value).split("\n  ") == [
        "an animation cannot be saved as 'bob.mp4'.",
        "Found the ending '.mp4', expected '.gif' or '.html'.",
        "Rename the file, or call save() of the animation that animate() returns.",
    ]
    assert plt.get_fignums() == before


def test_a_film_without_frames_is_refused():
    with pytest.raises(StatementError, match="fps is not a number of frames per second"):
        animate(run(pendulum(), theta=1.0), fps=0)


# -- forces of contact ----------------------------------------------------------------------------


def arrows(motion, forces: Any = True):
    """Where arrows begin and end, at every time of a motion, and what is said of them."""
    drawn, told = pushed(scene(motion), motion, forces, 1)
    path = drawn.strokes[-1].path.reshape(len(motion.t), -1, 6, drawn.dimension)
    return path[:, :, 0], path[:, :, 1] - path[:, :, 0], told


def test_a_force_of_contact_is_an_arrow_from_where_it_touches():
    x, y, phi = st.coordinates("x y phi")
    R, slope = 0.3, 0.2
    ball = st.body(2.0, inertia=0.8 * R**2, at=(x, y), angle=phi)
    down = st.System(
        potential=2 * 9.81 * (y * np.cos(slope) - x * np.sin(slope)),
        contacts=[st.Contact(y - R, friction=0.5, slip=x + R * phi, name="slope")],
    )
    motion = st.simulate(ball + down, span=(0, 1), start={y: R}, points=5)
    at, along, told = arrows(motion)
    assert at[:, 0] == pytest.approx(np.column_stack([motion[x], 0 * motion.t]), abs=1e-9)
    # A solid ball that rolls is held back by 2/7 of the pull.
    push = 2 * 9.81 * np.array([-2 / 7 * np.sin(slope), np.cos(slope)])
    assert along[:, 0] / np.linalg.norm(along[0, 0]) == pytest.approx(
        np.tile(push / np.linalg.norm(push), (5, 1)), abs=1e-6
    )
    assert told == f"longest arrow: {np.linalg.norm(push):.3g} N"


def test_bodies_that_touch_push_each_other_apart_and_arrays_by_rows():
    a, b = st.coordinates("a b")
    pair = st.particle(1.0, at=(a, 0)) + st.particle(1.0, at=(b, 0)) + st.System(
        loads=[st.Load(3.0, on=a), st.Load(-3.0, on=b)], contacts=[st.Contact(b - a, name="both")]
    )  # fmt: skip
    at, along, told = arrows(st.simulate(pair, span=(0, 1), points=3))
    assert np.all(along[:, 0, 0] < 0) and np.all(along[:, 1, 0] > 0)
    assert told == "longest arrow: 3 N"
    r = st.coordinates("r", shape=(3, 2))
    coins = st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: 2 * p[1], r),
        contacts=[st.each(lambda p: st.Contact(p[1]), r, name="floor")],
    )
    start = {r: [[0, 0], [1, 0], [2, 1e-3]]}
    at, along, told = arrows(st.simulate(coins, span=(0, 1), start=start, points=3))
    assert along[-1] == pytest.approx(np.tile(along[-1, 0], (3, 1)))
    assert along[-1, 0, 0] == 0 and along[-1, 0, 1] > 0
    assert told == "longest arrow: 2 N"


def test_where_forces_act_is_said_or_asked_for():
    theta = st.coordinates("theta")
    tip = (st.sin(theta), -st.cos(theta))
    # The stop is at half the rod, where nothing is drawn.
    stop = st.Contact(st.sin(theta) / 2, name="stop")
    pulled = st.System(contacts=[stop], loads=[st.Load(-2.0, on=theta)])
    rod = st.particle(1.0, at=tip, gravity=9.81) + pulled
    motion = st.simulate(rod, span=(0, 2), start={theta: 0.5}, points=9)
    at, along, told = arrows(motion, {"stop": (st.sin(theta) / 2, -st.cos(theta) / 2)})
    assert at[-1, 0] == pytest.approx([0, -0.5], abs=1e-9) and told == "longest arrow: 4 N"
    with pytest.raises(StatementError, match="the contact or friction 'wall' is not known"):
        motion.animate(forces={"wall": tip})
    with pytest.raises(StatementError, match="there are no forces of contact to draw"):
        run(pendulum(), theta=1.0).animate(forces=True)


def test_what_pushes_nothing_that_is_drawn_is_named():
    x, z = st.coordinates("x z")
    hidden = st.System(
        kinetic=z.dot**2 / 2, loads=[st.Load(-3.0, on=x), st.Load(-5.0, on=z)],
        contacts=[st.Contact(x, name="wall"), st.Contact(z, name="stop")],
    )  # fmt: skip
    motion = st.simulate(st.particle(1.0, at=(x, 0)) + hidden, span=(0, 1), points=3)
    assert arrows(motion)[2] == "longest arrow: 3 N, not shown: stop"


def test_contacts_of_one_name_push_each_their_own_parts():
    y = st.coordinates("y", shape=(3,))
    parts = st.System(parts=tuple(Part("particle", ((0, y[k]),)) for k in range(3)))
    pile = parts + st.System(
        kinetic=st.each(lambda v: v**2 / 2, y.dot), potential=st.each(lambda p: 10 * p, y),
        contacts=[st.Contact(y[0], name="floor"),
                  st.each(lambda a, b: st.Contact(b - a - 1), y[:-1], y[1:], name="pair")],
    )  # fmt: skip
    at, along, told = arrows(st.simulate(pile, span=(0, 1), start={y: [0, 1, 2]}, points=3))
    # The floor bears all, the lower pair two of three, the upper pair one.
    sizes = along[-1, :, 1] / np.abs(along[-1, :, 1]).max() * 30
    assert sizes == pytest.approx([30, -20, 20, -10, 10]) and told == "longest arrow: 30 N"
