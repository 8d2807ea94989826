"""A coordinate that should be zero and is so but for dust changes no answer."""

import pytest

import stationary as st

x, y = st.coordinates("x y")
a = st.parameters(a=0.2)


def _post(unit, energy):
    """Return a post that rests at x = ½ and, by its mirror, at y = 0."""
    X, Y = x / unit, y / unit
    leans = X**4 / 4 + a * X**2 / 2 - 0.3 * X**3
    return st.System(
        kinetic=energy * (x.dot**2 + 2 * y.dot**2) / 2,
        potential=energy * (leans + Y**2 / 2 + 0.3 * X * Y**2 + Y**4 / 4),
    )


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dust", [1e-17, 1e-40, 1e-100])
@pytest.mark.parametrize(("unit", "energy"), [(1.0, 1.0), (1e-9, 1e-12), (1e12, 1.0)])
def test_dust_beside_a_state_of_rest_is_no_force(unit, energy, dust):
    post, at = _post(unit, energy), {x: 0.5 * unit, y: dust * unit}
    rest = st.statics(post, start=at)
    assert rest[x] == pytest.approx(0.5 * unit) and abs(rest[y]) <= dust * unit
    assert st.statics(post, start=rest).stable
    # ½ (3/4 − 9/10 + 1/5 … ) of the parabola: 3x² + a − 1.8 x = 0.05, and (1 + 0.6 x)/2 across.
    squares = st.modes(post, at=at).frequencies ** 2 * unit**2
    assert squares == pytest.approx([0.05, 0.65], rel=1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dust", [0.0, 1e-17, 1e-40])
@pytest.mark.parametrize(("unit", "energy"), [(1.0, 1.0), (1e-9, 1e-12), (1e12, 1.0)])
def test_branches_with_dust_reach_the_end_of_the_span_where_they_are_flat(unit, energy, dust):
    start = {x: 0.5 * unit, y: dust * unit}
    diagram = st.continuation(_post(unit, energy), parameter=a, span=(0, 0.3), start=start)
    assert {str(branch.status) for branch in diagram.branches} == {"span"}
    # x = 0.45 ± √(0.45² − a).
    assert [s.kind for s in diagram.special] == ["fold"]
    assert diagram.special[0].parameter == pytest.approx(0.45**2, rel=1e-9)
