"""What a question about sliding refuses, since its answer would be wrong."""

import pytest

import stationary as st

x = st.coordinates("x")
k = st.parameters(k=1.0)


def test_drag_holds_nothing_at_rest():
    # Under the slightest load a damper gives way: only the dry friction of 3 counts.
    both = st.System(work=k * x, friction=[st.Friction(3, on=x), st.Drag(1, 1, on=x)])
    assert st.limit_load(both, load=k).factor == pytest.approx(3, abs=1e-8)
    wet = st.System(work=k * x, friction=[st.Drag(1, 1, on=x)])
    assert st.limit_load(wet, load=k).factor == pytest.approx(0, abs=1e-8)


def test_a_limit_load_is_asked_at_rest():
    belt = st.System(work=k * x, friction=[st.Friction(3, on=x - st.t)])
    with pytest.raises(st.StatementError, match="already moving"):
        st.limit_load(belt, load=k)


@pytest.mark.parametrize(
    "ask", [st.minimum_dissipation, lambda s: st.quasistatics(s, span=(0, 1), points=3)]
)
def test_dissipation_that_feeds_a_motion_is_refused(ask):
    with pytest.raises(st.DerivationError, match="not convex"):
        ask(st.System(work=x, dissipation=-(x.dot**2)))


def test_drag_that_falls_with_speed_is_refused():
    with pytest.raises(st.StatementError, match="power of drag 'air' is negative"):
        st.minimum_dissipation(st.System(work=x, friction=[st.Drag(1, -1, on=x, name="air")]))


@pytest.mark.parametrize("ask", [lambda s: st.limit_load(s, load="F"), st.limit_surface])
def test_what_is_no_system_is_refused(ask):
    with pytest.raises(st.StatementError, match="not a system"):
        ask("x")
