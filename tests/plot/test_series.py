"""Time series and phase portraits: what they show and how it is called."""

import subprocess
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import sympy as sp

import stationary as st
from stationary.plot.phase import phase
from stationary.plot.series import plot
from stationary.plot.style import COLORS, DASHES, label


@pytest.fixture(scope="module")
def cart():
    x, theta = st.coordinates("x theta")
    system = st.particle(1.0, at=x) + st.particle(
        0.2, at=(x + st.sin(theta), -st.cos(theta)), gravity=9.81
    )
    return st.simulate(system, span=(0, 2), start={"theta": 1.0}, points=101)


@pytest.fixture(scope="module")
def rope():
    r = st.coordinates("r", shape=(50, 2))
    system = st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: 9.81 * p[1], r),
        name="rope",
    )
    start = {r.dot: np.ones((50, 2))}
    return r, st.simulate(system, span=(0, 1), start=start, points=11, method=st.Runge())


def names(axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_an_overview_names_coordinates_velocities_energies_and_their_balance(cart):
    figure = plot(cart)
    panels = {axes.get_ylabel(): axes for axes in figure.axes}
    assert set(panels) == {"coordinates (SI)", "velocities (SI)", "energy (J)", "relative error"}
    assert names(panels["coordinates (SI)"]) == ["$x$", r"$\theta$"]
    assert names(panels["velocities (SI)"]) == [r"$\dot{x}$", r"$\dot{\theta}$"]
    assert names(panels["energy (J)"]) == ["$T$", "$U$", "$E$"]
    assert panels["relative error"].get_yscale() == "log"
    assert panels["coordinates (SI)"].get_xlabel() == "$t$ (s)"


def test_an_overview_draws_the_motion_itself(cart):
    x = plot(cart).axes[0].lines[0]
    np.testing.assert_array_equal(x.get_xdata(), cart.t)
    np.testing.assert_array_equal(x.get_ydata(), cart["x"])


def test_the_balance_stays_at_rounding(cart):
    (axes,) = (a for a in plot(cart).axes if a.get_ylabel() == "relative error")
    assert np.max(axes.lines[0].get_ydata()) < 1e-13


def test_work_is_drawn_where_something_is_fed(cart):
    x = st.coordinates("x")
    damped = st.System(kinetic=x.dot**2 / 2, dissipation=x.dot**2 / 2)
    figure = plot(st.simulate(damped, span=(0, 1), start={x.dot: 1.0}, points=11))
    assert names(figure.axes[2]) == ["$T$", "$U$", "$E$", "work"]


def test_given_expressions_are_drawn_instead(cart):
    theta = st.coordinates("theta")
    figure = plot(cart, st.sin(theta), "theta.dot")
    (axes,) = figure.axes
    assert names(axes) == [r"$\sin{\left(\theta \right)}$", r"$\dot{\theta}$"]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), np.sin(cart["theta"]))


def test_one_expression_names_the_axis(cart):
    (axes,) = plot(cart, "theta").axes
    assert axes.get_ylabel() == r"$\theta$"
    assert axes.get_legend() is None


def test_lines_of_unlike_size_have_panels_of_their_own(cart):
    theta = st.coordinates("theta")
    figure = plot(cart, theta, 1000 * theta, theta.dot)
    assert [len(axes.lines) for axes in figure.axes] == [2, 1]


def test_a_large_array_is_represented_by_a_few_rows_and_the_picture_says_so(rope):
    _, motion = rope
    figure = plot(motion)
    assert figure.get_suptitle() == "rope · 6 of 100 coordinates shown"
    shown = [name for axes in figure.axes[:-2] for name in names(axes)]
    assert "$r_{0,0}$" in shown and "$r_{49,1}$" in shown
    assert len(shown) == 12


def test_an_array_that_was_asked_for_is_represented_too(rope):
    r, motion = rope
    figure = plot(motion, r[:, 1])
    assert figure.get_suptitle() == "rope · 3 of 50 entries of $r$ shown"
    assert names(figure.axes[0]) == ["$r_{0,1}$", "$r_{24,1}$", "$r_{49,1}$"]
    np.testing.assert_allclose(figure.axes[0].lines[2].get_ydata(), motion[r][:, 49, 1])


def test_lines_differ_in_dashes_as_well_as_in_colour(cart):
    lines = plot(cart).axes[0].lines
    assert len({line.get_color() for line in lines}) == len(lines)
    assert len({str(line.get_linestyle()) for line in lines}) == len(lines)
    assert len(COLORS) == len(DASHES) == len(set(map(str, DASHES)))


def test_the_look_is_left_behind_in_no_other_picture(cart):
    before = mpl.rcParams.copy()
    plot(cart)
    assert mpl.rcParams == before


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        ("theta", r"$\theta$"),
        ("theta_1.dot", r"$\dot{\theta}_{1}$"),
        ("r[3,0]", "$r_{3,0}$"),
        ("speed", r"$\operatorname{speed}$"),
        (2 * sp.Symbol("omega"), r"$2 \omega$"),
    ],
)
def test_names_are_set_as_mathematics(thing, text):
    assert label(thing) == text


def test_what_cannot_be_set_stays_plain():
    x = sp.Symbol("x")
    assert label(sp.Piecewise((x, x > 0), (0, True))) == "Piecewise((x, x > 0), (0, True))"
    assert label(sum(sp.symbols("a:40"))).endswith("…")


def test_a_phase_portrait_draws_velocity_over_coordinate(cart):
    figure = phase(cart, "theta")
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == (r"$\theta$", r"$\dot{\theta}$")
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), cart["theta"])
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), cart["theta.dot"])
    assert names(axes) == ["start", "end"]


def test_importing_the_package_does_not_import_matplotlib():
    code = "import sys, stationary, stationary.plot; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_held_stands_still_in_pictures_of_an_array():
    r = st.coordinates("r", shape=(10, 2))
    held = st.System(
        kinetic=st.each(lambda v: (v[0] ** 2 + v[1] ** 2) / 2, r.dot),
        potential=st.each(lambda p: 9.81 * p[1], r),
        constraints=st.each(lambda a, b: st.norm(b - a) - 0.1, r[:-1], r[1:], name="link")
        + [st.Constraint((r[0, 0], r[0, 1]), name="nail")],
    )
    level = np.column_stack([0.1 * np.arange(10), np.zeros(10)])
    motion = st.simulate(held, span=(0, 0.05), start={r: level}, points=21)
    drawn = {line.get_label(): line.get_ydata() for a in plot(motion).axes[:-2] for line in a.lines}
    for name in ("$r_{0,0}$", "$r_{0,1}$", r"$\dot{r}_{0,0}$", r"$\dot{r}_{0,1}$"):
        np.testing.assert_array_equal(drawn[name], 0)
    np.testing.assert_array_equal(drawn["$r_{9,1}$"], motion[r[9, 1]])
    # Those that move most have portraits: the free end falls.
    shown = [a.get_xlabel() for a in phase(motion).axes]
    assert shown == ["$r_{7,1}$", "$r_{8,1}$", "$r_{9,1}$"]
