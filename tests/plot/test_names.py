"""Names are shown as they are written, in pictures and on terminals."""

from typing import Any

import matplotlib.pyplot as plt
import pytest

import stationary as st
from stationary.plot.style import label

NAMES = ["costs $5_{ and $6", r"50 % of \alpha_{ & <c>"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_no_mathematics(name, tmp_path):
    x, y = st.coordinates("x y")
    rod = st.System(constraints=[st.Constraint(x**2 + y**2 - 1, name=name)], name=name)
    system = st.particle(1.0, at=(x, y), gravity=9.81) + rod
    motion = st.simulate(system, span=(0, 0.2), start={x: 1.0}, points=5)
    for view in ("plot", "strobe", "phase", "forces"):
        figure = motion.plot() if view == "plot" else motion.show(view)
        title = figure._suptitle or figure.axes[0].title
        assert name.replace("$", r"\$") in title.get_text()
        figure.savefig(tmp_path / "names.png")
        plt.close(figure)
    motion.animate(tmp_path / "names.gif", fps=5)
    plt.close("all")


@pytest.mark.parametrize("name", ["\x1b[31mred", "two\nlines", "bell\a", "\x9b0m"])
def test_a_name_that_a_terminal_would_obey_is_refused(name):
    x = st.coordinates("x")
    both: Any = ({"name": name}, {"constraints": [st.Constraint(x, name=name)]})
    for system in both:
        with pytest.raises(st.StatementError) as caught:
            st.System(kinetic=x.dot**2, **system)
        assert_says_printable(caught.value)
    with pytest.raises(st.StatementError) as caught:
        st.System(kinetic=x.dot**2, coordinates=(x, name.replace("\n", "")))
    assert_says_printable(caught.value)


def assert_says_printable(error):
    lines = str(error).split("\n  ")
    assert len(lines) == 3 and all(line.isprintable() for line in lines)


def test_long_titles_and_powers_of_ten_hide_nothing():
    x = st.coordinates("x")
    name = "two very small masses with an exceptionally long name that goes beyond the page " * 2
    tiny = st.System(kinetic=1e-15 * x.dot**2 / 2, potential=1e-9 * x**2 / 2, name=name)
    motion = st.simulate(tiny, span=(0, 1e-2), start={x: 1e-9}, points=11)
    powers = 0
    for figure in (motion.plot(), motion.plot(x), motion.show("phase")):
        figure.canvas.draw()
        title = figure._suptitle.get_window_extent()
        assert title.x0 >= 0 and title.x1 <= figure.bbox.x1 and "beyond the page" in (
            " ".join(figure._suptitle.get_text().split()))  # fmt: skip
        named = [axes for axes in figure.axes if axes.get_legend()]
        power = [axes.yaxis.get_offset_text() for axes in named]
        powers += sum(bool(text.get_text()) for text in power)
        for axes, text in zip(named, power):
            above = axes.get_legend().get_window_extent()
            assert not text.get_text() or not above.overlaps(text.get_window_extent())
    assert powers >= 3


def test_letters_that_mathematics_has_not_are_set_as_text():
    from stationary.plot.style import label

    assert label("位置") == "位置" and label("位置.dot") == "位置.dot"
    assert label("скорость").startswith("$") and label("theta.dot") == r"$\dot{\theta}$"


def test_angular_velocities_and_axes_of_bodies_are_labelled_by_their_names():
    R = st.rotation("R")
    x = st.coordinates("x")
    assert [label(e) for e in R.omega] == [rf"$\omega_{{R {a}}}$" for a in "xyz"]
    assert label(3 * R.omega[1] ** 2) == r"$3 \omega_{R y}^{2}$"
    assert label(x * R.matrix[2][0]) == "$R_{zx} x$" and label(R.entries[0]) == "$R_{w}$"
