"""What lies next to a crossing of branches: folds, and other crossings."""

import numpy as np
import pytest

import stationary as st

x, y, z = st.coordinates("x y z")
mu = st.parameters("mu")


def _followed(energy, unit=1.0):
    """Return branches of a system in other units of length, from the trunk before it gives way."""
    swap = {c: c / unit for c in (x, y, z)}
    system = st.System(potential=energy.xreplace(swap))
    return st.continuation(system, parameter=mu, span=(-1, 1), start={x: 0}, params={mu: -0.5})


@pytest.mark.one_in(3)
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("near", [0.03, 0.01, 0.002])
def test_a_branch_that_turns_next_to_its_crossing_folds_there(near, unit):
    # −x (μ + 2 n x − x²) = 0: beside x = 0 rests μ = x² − 2 n x, which turns at x = n.
    diagram = _followed(-(mu * x**2 / 2 + 2 * near * x**3 / 3 - x**4 / 4), unit)
    assert [s.kind for s in diagram.special] == ["fold", "branch"]
    assert diagram.special[0].parameter == pytest.approx(-(near**2), rel=1e-9)
    assert diagram.special[0][x] / unit == pytest.approx(near, rel=1e-6)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("near", [0.03, pytest.param(0.02, marks=pytest.mark.slow), 0.01])
def test_branches_of_two_modes_that_turn_next_to_their_crossing_fold_there(near):
    # Along both axes μ = r⁴ − 2 n² r², along both diagonals μ = r⁴ − 3/2 n² r².
    square, bend = x**2 + y**2, 2 * near**2
    diagram = _followed(
        -(mu * square / 2 + bend * square**2 / 4 - square**3 / 6) + bend * x**2 * y**2 / 4
    )
    folds = sorted(s.parameter for s in diagram.special if s.kind == "fold")
    expected = [-(near**4)] * 4 + [-((0.75 * near**2) ** 2)] * 4
    np.testing.assert_allclose(folds, expected, rtol=1e-7)
    assert len(diagram.special) == 9


@pytest.mark.slow
@pytest.mark.parametrize("apart", [0.03, -0.01, 1e-3, 1e-4])
def test_a_mode_that_gives_way_next_to_two_others_is_not_taken_for_them(apart):
    # Of three posts that lean by themselves two give way together, and each rests in three ways.
    leans = [-m * c**2 / 2 + c**4 / 4 for c, m in ((x, mu), (y, mu - apart), (z, mu - apart))]
    across = 0.3 * x**2 * y**2 + 0.2 * x**2 * z**2 + 0.25 * y**2 * z**2
    diagram = _followed(sum(leans) + across)
    upright = [s.parameter for s in diagram.special if max(map(abs, s.q)) < 1e-9]
    np.testing.assert_allclose(upright, sorted([0.0, apart]), atol=1e-12)
    assert len(diagram.branches) + diagram.left_out == 3**3


@pytest.mark.one_in(2)
@pytest.mark.parametrize("apart", [1e-5, -1e-5])
def test_posts_that_give_way_almost_together_lean_in_every_combination(apart):
    diagram = _followed(-mu * x**2 / 2 - (mu - apart) * y**2 / 2 + (x**4 + y**4) / 4 + x**2 * y**2)
    at_end = [tuple(np.sign(np.round(b.q[-1], 6))) for b in diagram.branches]
    assert len(set(at_end) | {(0.0, 0.0)}) == 9
    assert len(diagram.branches) == 9


@pytest.mark.parametrize("beside", [0, (y - z) ** 2 / 2])
def test_a_branch_that_turns_while_something_is_free_folds_there(beside):
    # x³/3 − μ x rests at ±√μ, wherever y is, or y and z together.
    system = st.System(potential=x**3 / 3 - mu * x + beside, kinetic=x.dot**2 + y.dot**2)
    diagram = st.continuation(system, parameter=mu, span=(-1, 2), start={x: 1}, params={mu: 1})
    assert [(s.kind, s.parameter) for s in diagram.special] == [("fold", 0.0)]
    (branch,) = diagram.branches
    assert branch.status.message.endswith("no point of it has mu below 0")
