"""Branches that leave where several modes give way at once."""

import numpy as np
import pytest

import stationary as st

x, y, P = *st.coordinates("x y"), st.parameters("P")


def _post(softening, sides, unit, origin):
    """Return a post that leans alike to as many sides: r² s/2 + r⁴/4 + rⁿ cos(nθ)/10."""
    a, b = (x - origin) / unit, (y - origin) / unit
    a, b = 0.8 * a - 0.6 * b, 0.6 * a + 0.8 * b
    wave = {4: a**4 - 6 * a**2 * b**2 + b**4, 6: a**6 - 15 * a**4 * b**2 + 15 * a**2 * b**4 - b**6}
    r2 = a**2 + b**2
    return st.System(
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=unit**2 * (softening * r2 / 2 + r2**2 / 4 + wave[sides] / 10),
    )


def _angles(branch, unit, origin):
    a, b = (branch["x"] - origin) / unit, (branch["y"] - origin) / unit
    a, b = 0.8 * a - 0.6 * b, 0.6 * a + 0.8 * b
    far = np.hypot(a, b) > 0.1
    return np.degrees(np.arctan2(b, a))[far] % 360


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("sides", "unit", "origin"), [(4, 1e9, 0.0), (6, 1e-9, 3e-9)])
def test_all_branches_leave_a_post_that_leans_alike_to_many_sides(sides, unit, origin):
    # cos(nθ) is ±1 on 2n rays; those on which it is −1 have the lower energy.
    found = st.continuation(
        _post(1 - P, sides, unit, origin), parameter=P, span=(0, 1.3), params={P: 0.0},
        start={x: origin, y: origin},
    )  # fmt: skip
    assert [(s.kind, s.parameter) for s in found.special] == [("pitchfork", pytest.approx(1.0))]
    rays = {}
    for branch in found.branches[1:]:
        angles = _angles(branch, unit, origin)
        ray = round(float(angles[-1]) * sides / 180) % (2 * sides)
        assert abs((angles - ray * 180 / sides + 180) % 360 - 180).max() < 1e-6
        rays[ray] = bool(branch.stable[-1])
    assert len(found.branches) == 1 + len(rays)
    assert rays == {ray: ray % 2 == 1 for ray in range(2 * sides)}


def test_a_branch_on_which_one_mode_gives_way_as_another_holds_again_meets_all_others():
    # r² P/2 + r³ cos(3θ)/3 + r⁴/4: along y = 0, P = −x − x², stiff by x + 2x² along and −3x across.
    a, b = 0.8 * x - 0.6 * y, 0.6 * x + 0.8 * y
    energy = P * (a**2 + b**2) / 2 + a**3 / 3 - a * b**2 + (a**2 + b**2) ** 2 / 4
    found = st.continuation(
        st.System(potential=energy), parameter=P, span=(-0.1, 0.05), params={P: -0.09},
        start={x: 0.066, y: -0.05},
    )  # fmt: skip
    assert [(s.kind, s.parameter) for s in found.special] == [
        ("branch", pytest.approx(0, abs=1e-12))
    ]
    # The post upright, before and after, and both sides of the two other rays.
    assert len(found.branches) == 1 + 2 + 4


@pytest.mark.slow
@pytest.mark.parametrize(("at", "straight"), [((0.0, 0.0), 1), ((0.8, -0.6), 2)])
def test_rings_through_two_crossings_are_listed_once(at, straight):
    # The post is soft between P = 1 and P = 3 alone: four rings pass through both. Met from one of
    # them, what is upright begins at one crossing to either side.
    found = st.continuation(
        _post((P - 1) * (P - 3), 4, 1.0, 0.0), parameter=P, span=(0.8, 3.2),
        params={P: 2.0 if any(at) else 0.8}, start=dict(zip((x, y), at)),
    )  # fmt: skip
    assert [s.parameter for s in found.special] == pytest.approx([1.0, 3.0], rel=1e-9)
    assert not {s.kind for s in found.special} & {"fold", "hopf"}
    assert sorted(b.status for b in found.branches) == 4 * ["closed"] + straight * ["span"]


def test_augustis_column_of_equal_springs_leans_along_and_across_them():
    # G. Augusti (1964): P sin a cos a = a √(1 − m sin²a), m = 1 along a spring and 2 across both.
    height = st.sqrt(1 - st.sin(x) ** 2 - st.sin(y) ** 2)
    column = st.System(potential=(x**2 + y**2) / 2 + P * height)
    found = st.continuation(column, parameter=P, span=(0.5, 1.3), params={P: 0.5})
    ways = set()
    for branch in found.branches[1:]:
        a, b, p = branch[x][-1], branch[y][-1], branch.parameter[-1]
        ways.add((round(np.sign(a) * (abs(a) > 1e-9)), round(np.sign(b) * (abs(b) > 1e-9))))
        lean = max(abs(a), abs(b))
        both = 2 if min(abs(a), abs(b)) > 1e-9 else 1
        root = np.sqrt(1 - both * np.sin(lean) ** 2)
        assert p * np.sin(lean) * np.cos(lean) == pytest.approx(lean * root, rel=1e-9)
    assert ways == {(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)} - {(0, 0)}


@pytest.mark.parametrize("wave", [0.0, 1e-13])
def test_a_post_that_leans_alike_to_every_side_says_that_more_may_begin_there(wave):
    # Its branches are a circle, or fourteen whose energies no number tells apart.
    r2, seven = x**2 + y**2, x**7 - 21 * x**5 * y**2 + 35 * x**3 * y**4 - 7 * x * y**6
    post = st.System(potential=(1 - P) * r2 / 2 + r2**2 / 4 + wave * seven)
    diagram = st.continuation(post, parameter=P, span=(0, 1.5), start={x: 0, y: 0})
    assert diagram.unclear == 1 and "a family of them, may begin there" in str(diagram)
    apart = st.System(potential=(1 - P) * r2 / 2 + y**2 / 4 + r2**2 / 4)
    asked = {"parameter": P, "span": (0, 1.2), "start": {x: 0, y: 0}}
    assert st.continuation(apart, **asked).unclear == 0
