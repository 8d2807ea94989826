"""Branches where several modes give way at once, and beside places where forces have no bound."""

import numpy as np
import pytest

import stationary as st
from stationary.solve.continuation.roots import common_roots

x, y, z = st.coordinates("x y z")
mu, V = st.parameters("mu V")


def followed(energy, unit, parameter=mu, span=(0.0, 2.0), at=0.2):
    """Return branches of a system in other units of length."""
    swap = {c: c / unit for c in energy.free_symbols if c in (x, y, z)}
    system = st.System(potential=energy.xreplace(swap))
    rest = st.statics(system, params={parameter: at}, kind="any")
    return st.continuation(system, parameter=parameter, span=span, start=rest)


def ends(diagram, unit):
    return sorted(tuple(np.round(b.q[-1] / unit, 6) + 0.0) for b in diagram.branches[1:])


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("turned", "unit"), [(0.0, 1.0), (0.4, 1e-9)])
def test_three_branches_cross_in_the_middle_of_three_magnets(turned, unit):
    # U = (1 − μ) r²/2 + r³ cos 3φ/3 + r⁴/4: along its three mirrors μ = 1 + r + r², folded at 3/4.
    a, b = (np.cos(turned) * x + np.sin(turned) * y, np.cos(turned) * y - np.sin(turned) * x)
    square = x**2 + y**2
    energy = (1 - mu) * square / 2 + (a**3 - 3 * a * b**2) / 3 + square**2 / 4
    diagram = followed(energy, unit)
    kinds = sorted((s.kind, round(s.parameter, 9)) for s in diagram.special)
    assert kinds == [("branch", 1.0)] + [("fold", 0.75)] * 3
    radii = np.roots([1, 1, -1])
    angles = turned + 2 * np.pi / 3 * np.arange(3)[:, None]
    expected = np.stack([radii * np.cos(angles), radii * np.sin(angles)], axis=-1).reshape(-1, 2)
    np.testing.assert_allclose(ends(diagram, unit), sorted(map(tuple, expected)), atol=2e-6)
    assert all(b.status == "span" for b in diagram.branches)


def test_a_square_column_gives_way_both_ways_and_does_not_swing():
    # A third mode swings all the while: two that give way together are no Hopf point.
    # Each of x and y is 0 or ±√(μ − 1).
    energy = (1 - mu) * (x**2 + y**2) / 2 + (x**4 + y**4) / 4 + 8 * z**2
    column = st.System(kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2, potential=energy)
    rest = st.statics(column, params={mu: 0.2})
    diagram = st.continuation(column, parameter=mu, span=(0, 2), start=rest)
    assert [(s.kind, s.parameter) for s in diagram.special] == [("pitchfork", pytest.approx(1))]
    leaning = [(i, j, 0) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
    assert ends(diagram, 1.0) == leaning


@pytest.mark.slow
def test_seven_branches_cross_where_three_modes_meet():
    # Along the axes μ = 1 + r², along the four diagonals of a cube μ = 1 ± r/√3 + r².
    square = x**2 + y**2 + z**2
    diagram = followed((1 - mu) * square / 2 + x * y * z + square**2 / 4, 1.0)
    assert len(diagram.branches) == 15
    crossing = [s.parameter for s in diagram.special if s.kind == "branch"]
    folds = [s.parameter for s in diagram.special if s.kind == "fold"]
    assert crossing == pytest.approx([1.0]) and folds == pytest.approx([11 / 12] * 4)


@pytest.mark.slow
def test_springs_that_snap_alike_cross_where_they_fold():
    # Of two links in series each carries μ = e³ − e: where both fold, e₁ = e₂ and e₁ = −2e ∓ e₂.
    energy = sum((e**2 - 1) ** 2 / 4 for e in (x, y - x)) - mu * y
    system = st.System(potential=energy)
    rest = st.statics(system, start={x: -1, y: -2}, params={mu: 0.0})
    diagram = st.continuation(system, parameter=mu, span=(-0.6, 0.6), start=rest)
    top = 2 / 3**1.5
    crossings = sorted(s.parameter for s in diagram.special if s.kind == "branch")
    assert crossings == pytest.approx([-top, top])
    assert all(abs(abs(s.parameter) - top) < 1e-9 for s in diagram.special)
    assert len(diagram.branches) == 2 and diagram.branches[1].status == "closed"


def test_roots_that_quadratic_forms_share_are_found_where_they_stand_alone():
    # a² = b² = c² holds along the four diagonals of a cube; a b = a c = 0 along a whole plane.
    squares = [np.diag([1.0, -1.0, 0.0]), np.diag([0.0, 1.0, -1.0])]
    found = common_roots(squares)
    assert len(found) == 4 and np.allclose(np.abs(found), 1 / np.sqrt(3))
    planes = np.zeros((2, 3, 3))
    planes[0, 0, 1] = planes[0, 1, 0] = planes[1, 0, 2] = planes[1, 2, 0] = 1.0
    assert common_roots(list(planes)) == []
    assert common_roots([np.eye(2)]) == []


@pytest.mark.parametrize(("span", "unit"), [((0.0, 0.4), 1.0), ((-0.4, 0.4), 1e-6)])
def test_a_plate_that_is_pulled_in_ends_where_it_touches(span, unit):
    # V = 2x(1 − x)² folds at x = 1/3; at x = 1 the plates touch, and there is no way through.
    diagram = followed(x**2 / 2 - V / (2 * (1 - x)), unit, V, span, at=0.05)
    (branch,) = diagram.branches
    assert [(s.kind, s.parameter) for s in diagram.special] == [("fold", pytest.approx(8 / 27))]
    assert 0.99 < branch.q.max() / unit < 1 and branch.parameter.max() < 0.2963
    assert branch.status in ("stalled", "span")


def test_a_hanging_chain_that_was_found_from_lying_is_followed():
    # It hangs at x = 0 but for some 1e-23 of a link, from which nothing may be measured.
    r, h = st.coordinates("r", shape=(3, 2)), st.parameters(h=0.02)
    chain = st.System(
        potential=st.each(lambda p: 3 * p[1], r),
        constraints=st.each(lambda a, b: st.norm(b - a) - h, r[:-1], r[1:], name="link"),
    ) + st.System(constraints=[st.Constraint((r[0, 0], r[0, 1]), name="nail")])
    start = 0.02 * np.array([[0, 0], [1, 0], [2, 0]])
    diagram = st.continuation(chain, parameter=h, span=(0.015, 0.03), start={r: start})
    (branch,) = diagram.branches
    assert not diagram.special and set(np.ravel(branch.stable)) == {True}
    assert [branch.parameter.min(), branch.parameter.max()] == [0.015, 0.03]
    hanging = -np.multiply.outer(branch.parameter, [0, 1, 2])
    assert np.abs(branch[r][..., 1] - hanging).max() < 1e-12


def test_branches_that_are_not_followed_are_counted(monkeypatch):
    # A pitchfork has two beside the trunk.
    pitchfork = st.System(potential=(1 - mu) * x**2 / 2 + x**4 / 4)
    asked = {"parameter": mu, "span": (0, 2), "start": {x: 0}}
    assert st.continuation(pitchfork, **asked).left_out == 0
    monkeypatch.setattr("stationary.solve.continuation.arclength._MOST_BRANCHES", 2)
    diagram = st.continuation(pitchfork, **asked)
    assert len(diagram.branches) == 2 and diagram.left_out == 1
    assert "1 more branch(es) begin at these points and were not followed" in str(diagram)
