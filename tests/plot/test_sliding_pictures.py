"""Pictures of friction near its limits, and of how a structure gives way."""

import pickle

import matplotlib.pyplot as plt
import numpy as np
import pytest

import stationary as st

x, y = st.coordinates("x y")


def bars(axes):
    """Return the names of the bars from above, and how long each is."""
    names = [text.get_text() for text in axes.get_yticklabels()]
    found = {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for bar in axes.patches}
    return names, [found[i] for i in range(len(names))]


def test_a_step_is_drawn_as_shares_of_its_limits():
    # QS-TRIPOD: pushed beyond its end, a bar turns about its heavier support, which carries
    # 0.5 · 0.2 / 1.5 of its 0.8; drag has no limit, and is not drawn.
    part = st.slider(points=[(0, 0), (1, 0)], weights=[0.8, 0.2], name="bar")
    X, Y, turn = part.coordinates
    hand = (X + 1.5 * st.cos(turn) - 1.5, Y + 1.5 * st.sin(turn) - st.t)
    step = st.minimum_power(part + st.System(constraints=hand))
    assert list(step.rests["bar"]) == [True, False]
    np.testing.assert_allclose(step.limits["bar"], [0.8, 0.2], rtol=1e-15)
    # As one that comes from another process.
    figure = pickle.loads(pickle.dumps(step)).plot()
    names, shares = bars(figure.axes[0])
    assert names == ["bar[0]", "bar[1]"]
    np.testing.assert_allclose(shares, [0.5 * 0.2 / 1.5 / 0.8, 1.0], rtol=1e-9)
    words = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert words == ["sticks", "slides"]
    assert "<img" in step._repr_html_()


def test_friction_at_contacts_is_drawn_beside_mu_times_what_presses():
    # Pressed with 10 at μ = 0.4 the floor could take 4; it takes the load of 3.
    held = st.System(
        potential=10 * y,
        work=3 * x,
        contacts=[st.Contact(y, friction=0.4, slip=x, name="floor")],
        friction=[st.Drag(1.0, 1, on=x, name="air")],
    )
    for ask in (st.minimum_dissipation, st.newton):
        names, shares = bars(ask(held).plot().axes[0])
        assert names == ["floor"] and shares == pytest.approx([0.75], abs=1e-8)


def test_many_points_are_drawn_as_points():
    part = st.slider(radius=1.0, count=100)
    X, Y, turn = part.coordinates
    step = st.minimum_power(part + st.System(constraints=[X - st.t, Y, turn]))
    (points, limit) = step.plot().axes[0].lines
    assert len(points.get_ydata()) == len(step.forces["slider"])
    np.testing.assert_allclose(points.get_ydata(), 1.0, rtol=1e-12)


def test_without_forces_there_is_nothing_to_draw():
    pulled = st.System(work=3 * x, friction=[st.Friction(2.0, on=x)])
    step = st.minimum_power(pulled, throw=False)
    with pytest.raises(st.StatementError, match="no force of friction to draw.\n  .*accelerates"):
        step.plot()
    assert "<img" not in step._repr_html_()
    wet = st.System(work=x, friction=[st.Drag(2.0, 1, on=x)])
    with pytest.raises(st.StatementError, match="no dry friction with a limit above zero"):
        st.minimum_dissipation(wet).plot()


def test_a_limit_load_is_drawn_as_the_velocities_of_its_mode():
    # Two blocks tied by a lever of 1 : 2: as the load moves x by two, y goes back by one.
    P = st.inputs("P")
    lever = st.System(
        loads=[st.Load(P, on=x)],
        friction=[st.Friction(1.0, on=x), st.Friction(4.0, on=y)],
        constraints=[x + 2 * y],
        name="lever",
    )
    found = st.limit_load(lever, load=P)
    figure = found.plot()
    names, lengths = bars(figure.axes[0])
    assert names == [r"$\dot{x}$", r"$\dot{y}$"]
    np.testing.assert_allclose(lengths, [1, -0.5], atol=1e-7)
    # Power for x by one: 1 + 4/2.
    assert figure.get_suptitle() == "lever gives way at 3 times the load"


def test_a_load_that_everything_holds_has_no_failure_to_draw():
    P = st.inputs("P")
    wall = st.System(
        loads=[st.Load(-P, on=x)], contacts=[st.Contact(x)], friction=[st.Friction(1.0, on=y)]
    )
    with pytest.raises(st.StatementError, match="no failure to draw.\n  .*unlimited"):
        st.limit_load(wall, load=P).plot()
