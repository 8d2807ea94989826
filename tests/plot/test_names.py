"""Names are shown as they are written, in pictures and on terminals."""

from typing import Any

import matplotlib.pyplot as plt
import pytest

import stationary as st

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
