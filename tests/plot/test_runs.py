"""Pictures of sweeps: curves, families of them, maps and pairs."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import stationary as st

x = st.coordinates("x")
F, k, m = st.parameters(F=0.0, k=1.0, m=1.0)
SPRING = st.System(potential=k * x**2 / 2, work=m * F * x)


def drawn(over, *names):
    figure = st.sweep(st.statics, SPRING, over=over, keep={"x": x, "both": (x, k)}).plot(*names)
    figure.canvas.draw()
    panels = [a for a in figure.axes if a.get_label() != "<colorbar>"]
    plt.close(figure)
    return panels


@pytest.mark.slow
def test_one_axis_gives_curves_two_give_maps_and_samples_pairs():
    forces = np.linspace(0, 3, 5)
    curve = drawn({F: forces}, "x")
    assert len(curve) == 1
    np.testing.assert_allclose(curve[0].lines[0].get_ydata(), forces)
    family = drawn({F: forces, k: [1.0, 2.0]}, "x")
    assert len(family[0].lines) == 2
    many = drawn({F: forces, k: np.linspace(1, 2, 9)}, "x")
    np.testing.assert_allclose(
        many[0].collections[0].get_array().reshape(9, 5), forces / np.linspace(1, 2, 9)[:, None]
    )
    assert drawn({F: forces[:2], k: np.linspace(1, 2, 9), m: [1.0, 2.0]}, "x")[0].collections
    pairs = drawn(st.samples({F: (0, 3), k: (1, 2)}, count=8, seed=1))
    assert len(pairs) == 3 * 2 and len(pairs[0].collections[0].get_offsets()) == 8


def test_values_in_any_order_and_runs_without_an_answer_are_drawn():
    many = drawn({F: [3.0, 1.0, 2.0], k: np.linspace(2, 1, 9)}, "x")
    found = many[0].collections[0].get_array().reshape(9, 3)
    np.testing.assert_allclose(found, np.array([1.0, 2.0, 3.0]) / np.linspace(1, 2, 9)[:, None])
    curve = drawn({k: [1.0, -1.0, 2.0]}, "x")
    # There is no minimum at k < 0: a cross below says so.
    assert curve[0].lines[1].get_xdata().tolist() == [-1.0]


def test_what_was_not_kept_cannot_be_drawn():
    with pytest.raises(st.StatementError, match="'y' cannot be drawn.\n  What can be: x, both"):
        drawn({F: [1.0]}, "y")


def test_values_that_grow_by_a_factor_are_read_by_their_powers_of_ten():
    x = st.coordinates("x")
    spring = st.System(kinetic=x.dot**2 / 2, potential=x**2 / 2)
    starts = {"steps": np.linspace(1, 100, 12), "powers": np.geomspace(1e-6, 1e6, 13)}
    for name, scale in (("steps", "linear"), ("powers", "log")):
        runs = st.sweep(
            st.simulate, spring, over={x: starts[name]}, span=(0, 1), keep={"end": x}
        )  # fmt: skip
        (axes,) = runs.plot().axes
        assert axes.get_xscale() == axes.get_yscale() == scale
        # The first and the last point stand inside the panel.
        low, high = axes.get_xlim()
        assert low < starts[name][0] and starts[name][-1] < high
