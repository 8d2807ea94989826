"""Rests found together are those that `statics` finds one by one."""

import numpy as np
import pytest

import stationary as st
from stationary.many.design import as_design
from stationary.many.engines import on_arrays, plain, rests
from stationary.many.keep import as_keeps
from stationary.many.question import as_question

x, y = st.coordinates("x y")
F, k = st.parameters(F=0.1, k=1.0)


def bar(a, b, length):
    return k * (st.sqrt((x - a) ** 2 + (y - b) ** 2) - length) ** 2 / 2


TRUSS = st.System(
    potential=bar(-1, 1, st.sqrt(2)) + bar(0, 1, 1) + bar(1, 1, st.sqrt(2)), work=F * x - F * y / 2
)


def ask(system, over, keep=None, **given):
    return as_question(
        st.statics, system, as_design(over), as_keeps(keep, "statics", system), given
    )


def test_a_truss_rests_where_statics_says():
    over = st.samples({F: (0, 0.3), k: (1, 2)}, count=100, seed=1)
    keep = {"x": x, "both": (x, y - k), "energy": "energy", "stable": "stable",
            "eigenvalues": "eigenvalues"}  # fmt: skip
    asked = ask(TRUSS, over, keep)
    assert rests.refuses(asked) is None
    together, alone = rests.compute(asked, 0, 20), plain.compute(asked, 0, 20)
    assert together.status == alone.status == ["done"] * 20
    for name, rows in alone.kept.items():
        np.testing.assert_allclose(together.kept[name], rows, rtol=1e-9, atol=1e-12, err_msg=name)
    runs = st.sweep(st.statics, TRUSS, over=over)
    assert runs.engine == "rests" and runs["x"].shape == (100,)


@pytest.mark.parametrize("length", [1e-9, 1.0, 1e12])
def test_the_answer_is_the_same_in_every_unit(length):
    # ∂/∂x of k x²/2 + k x⁴/(4 L²) − F x: x/L = u with u + u³ = F/(k L).
    spring = st.System(potential=k * x**2 / 2 + k * x**4 / (4 * length**2), work=F * x)
    runs = st.sweep(st.statics, spring, over={F: length * np.linspace(-3, 3, 101)})
    assert runs.engine == "rests"
    u = runs["x"] / length
    np.testing.assert_allclose(u + u**3, np.linspace(-3, 3, 101), atol=1e-13)


def test_what_does_not_go_straight_down_is_asked_by_itself(monkeypatch):
    monkeypatch.setattr(on_arrays, "_FEWEST", 2)
    # Two wells: what starts on the hill between them, or has none, is no plain case.
    wells = st.System(potential=x**4 / 4 - k * x**2 / 2)
    over = {k: np.array([0.5, 1.5]), x: np.linspace(-2, 2, 5)}
    runs = st.sweep(st.statics, wells, over=over)
    assert runs.engine == "rests"
    for i, j in ((0, 0), (0, 2), (1, 1), (1, 4)):
        given = {k: runs.axes["k"][i]}
        alone = st.statics(wells, params=given, start={x: runs.axes["x"][j]}, throw=False)
        if alone.status != "balanced":
            assert np.isnan(runs["x"][i, j])
            continue
        assert runs["x"][i, j] == pytest.approx(alone[x], abs=1e-9)
    away = st.System(potential=-k * x)
    none = st.sweep(st.statics, away, over={k: np.array([1.0, 2.0])})
    assert (none.status != "done").all() and np.isnan(none["x"]).all()


def test_what_is_no_minimum_of_an_energy_is_asked_by_itself():
    held = st.System(potential=k * x**2, constraints=[x - y])
    assert "constraints" in str(rests.refuses(ask(held, {k: np.linspace(1, 2, 64)})))
    kinked = st.System(potential=k * abs(x) + x**2)
    assert "not smooth" in str(rests.refuses(ask(kinked, {k: np.linspace(1, 2, 64)})))
